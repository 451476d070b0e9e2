"""Inside of the engines, as their wheels have them. Each is asked in a process of its own, since what stands in for a GPU there would
mislead other tests."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent / "engines"


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_an_engine_that_is_installed_serves_with_unjinja(engine):
    if importlib.util.find_spec(engine) is None:
        pytest.skip(f"{engine} is not installed: see tests/engines/README.md")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-r", "s", "-p", "no:cacheprovider", *map(str, sorted(HERE.glob(f"check_{engine}*.py")))],
        capture_output=True,
        text=True,
        cwd=HERE,
    )
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
