"""The examples do what the program does, on two workers."""

import json
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
TEMPLATE = {
    "start_anchor": "<bot>",
    "fields": {
        "thinking": {"open": "<think>", "close": "</think>"},
        "n": {"open": "<n>", "close": "</n>", "content": "int"},
        "content": {"close": "<end>"},
    },
}
ROWS = 5000


def outputs(pyarrow):
    """Every hundredth fails, and one is none."""
    texts = [f"<think>{number}</think>It is {number}.<end>" for number in range(ROWS)]
    texts[::100] = ["<n>many</n>"] * (ROWS // 100)
    return pyarrow.table({"id": range(ROWS), "output": [*texts[:7], None, *texts[8:]]})


def run(example, tmp_path):
    """Runs an example as people do, and returns the place of its result."""
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    pyarrow = sys.modules["pyarrow"]
    (tmp_path / "template.json").write_text(json.dumps(TEMPLATE))
    parquet.write_table(outputs(pyarrow), tmp_path / "outputs.parquet", row_group_size=1000)
    command = [sys.executable, HERE / example, "template.json", "outputs.parquet", "messages"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=300)
    return tmp_path / "messages"


def check(rows):
    """All rows are there, each with its message or its error."""
    rows = sorted(rows, key=lambda row: row["id"])
    assert [row["id"] for row in rows] == list(range(ROWS))
    for row in rows:
        number = row["id"]
        if number == 7:
            assert row["message"] is None and "str" in row["error"]
        elif number % 100 == 0:
            assert row["message"] is None and '"many" is not a whole number' in row["error"]
        else:
            assert row["error"] is None
            assert json.loads(row["message"]) == {"thinking": str(number), "content": f"It is {number}."}


def test_ray_data(tmp_path):
    pytest.importorskip("ray.data", reason="ray is not installed")
    from pyarrow import parquet

    check(parquet.read_table(run("ray_data.py", tmp_path)).to_pylist())


def test_hf_datasets(tmp_path):
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    check(datasets.load_from_disk(str(run("hf_datasets.py", tmp_path))).to_list())


def test_survey(tmp_path):
    """A list of the gallery, surveyed by two workers, is the survey that the program makes of it."""
    pytest.importorskip("ray.data", reason="ray is not installed")
    root = HERE.parent.parent
    programs = [root / "target" / profile / "unjinja" for profile in ("debug", "release")]
    program = next((path for path in programs if path.is_file()), None)
    if program is None:
        pytest.skip("there is no program: build it with `cargo build`")
    templates = sorted((root / "chat_templates").glob("*.jinja"))[:8]
    (tmp_path / "list.txt").write_text("".join(f"{path}\n" for path in [*templates, templates[0], "none.jinja"]))
    spread = [sys.executable, HERE / "survey_ray.py", "list.txt", "spread.jsonl", "--program", program]
    subprocess.run(spread, cwd=tmp_path, check=True, timeout=300)
    subprocess.run([program, "survey", "list.txt", "-q", "-o", "alone.jsonl"], cwd=tmp_path, check=True)
    assert (tmp_path / "spread.jsonl").read_text() == (tmp_path / "alone.jsonl").read_text()
