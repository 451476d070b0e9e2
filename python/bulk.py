"""Measures how many raw outputs a second become messages, and the memory that takes.

    python bulk.py FOLDER [--rows 1000000] [--program ../target/release/unjinja]

makes a log of outputs in the folder, as JSON lines and as Parquet, unless it is there; reads it in each way on
one core and on two, and prints the table of docs/bulk.md. What is not installed is left out, and said so.

Peak memory is that of all processes together, with shared pages counted once, looked at every 50 ms; so is the time that they spend
on cores, which is nearly the same on a busy machine. Both of Ray have its own services, and what stands in its store of objects; the memory of
`datasets` has the pages of files that it maps.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
TEMPLATE = HERE.parent / "derived" / "chatml-think-json-calls.json"
WORDS = "rain snow wind tide harbour ferry bridge umbrella morning evening cloud kettle north seven café naïve 東京 🌧".split()


def output(random):
    """A thought, an answer, and now and then calls; one in a thousand is cut off."""

    def text(low, high):
        return " ".join(random.choices(WORDS, k=random.randint(low, high)))

    parts = [f"<think>\n{text(20, 60)}\n</think>\n\n", text(10, 40)]
    for _ in range(random.choice([0, 0, 0, 1, 1, 2])):
        call = {"name": random.choice(["forecast", "search"]), "arguments": {"city": text(1, 2), "days": 3}}
        parts.append(f"\n<tool_call>\n{json.dumps(call, ensure_ascii=False)}\n</tool_call>")
    whole = "".join(parts) + "<|im_end|>"
    return whole[: len(whole) // 2] if random.random() < 0.001 else whole


def make(folder, rows):
    """The log, as JSON lines and as Parquet."""
    import pyarrow
    import pyarrow.parquet

    lines, table = folder / "outputs.jsonl", folder / "outputs.parquet"
    if lines.exists() and table.exists():
        return lines, table
    folder.mkdir(parents=True, exist_ok=True)
    seeded = random.Random(7)
    schema = pyarrow.schema([("id", pyarrow.int64()), ("user", pyarrow.string()), ("output", pyarrow.string())])
    with lines.open("w", encoding="utf-8") as out, pyarrow.parquet.ParquetWriter(table, schema) as parquet:
        for start in range(0, rows, 50_000):
            batch = [
                {"id": number, "user": f"user-{number % 977}", "output": output(seeded)}
                for number in range(start, min(start + 50_000, rows))
            ]
            out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in batch)
            parquet.write_table(pyarrow.Table.from_pylist(batch, schema=schema))
    return lines, table


def descendants(pid):
    """A process and all that it has started."""
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        found.append(one)
        for task in pathlib.Path(f"/proc/{one}/task").glob("*/children"):
            try:
                todo += [int(child) for child in task.read_text().split()]
            except OSError:
                pass
    return found


def memory(pids):
    """The bytes that processes have, shared pages divided among those that have them."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as lines:
                total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
        except OSError:
            pass
    return total


def spent(pid):
    """The seconds that a process has spent on cores."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(command, cores, cache):
    """How many seconds a command takes on so many cores, how many these work, and the bytes it has at the most."""
    began = time.perf_counter()
    # What was worked out before must not come out of a cache.
    environment = {**os.environ, "HF_DATASETS_CACHE": str(cache)}
    child = subprocess.Popen(["taskset", "-c", f"0-{cores - 1}", *map(str, command)], env=environment)
    peak, on_cores, ended = [0], {}, threading.Event()

    def look():
        while not ended.wait(0.05):
            pids = descendants(child.pid)
            peak[0] = max(peak[0], memory(pids))
            for pid in pids:
                on_cores[pid] = spent(pid) or on_cores.get(pid, 0)

    looking = threading.Thread(target=look)
    looking.start()
    code = child.wait()
    seconds = time.perf_counter() - began
    ended.set()
    looking.join()
    if code not in (0, None):
        sys.exit(f"{command}: ended with {code}")
    return seconds, sum(on_cores.values()), peak[0]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--program", type=pathlib.Path, default=HERE.parent / "target" / "release" / "unjinja")
    arguments.add_argument("--only", default="", help="only the ways whose name has this in it")
    given = arguments.parse_args()
    lines, table = make(given.folder, given.rows)
    size = lines.stat().st_size >> 20
    print(f"{given.rows} rows, {size} MiB as JSON lines, {table.stat().st_size >> 20} MiB as Parquet\n")
    print("| way | cores | seconds | rows/s | seconds on cores | rows in one of these | peak memory, MiB |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    options = ["parse", "-t", TEMPLATE, "--column", "text=output", "--keep", "user", "--no-events", "--force"]
    ways = {
        "`--jsonl`": [given.program, *options, "--jsonl", lines, "-o", given.folder / "messages.jsonl"],
        "`--format parquet`": [
            given.program, *options, "--format", "parquet", table, "-o", given.folder / "messages.parquet",
        ],
    }  # fmt: skip
    for name, example in {"Ray Data": "ray_data.py", "`datasets.map`": "hf_datasets.py"}.items():
        package = "ray" if "ray" in example else "datasets"
        if importlib.util.find_spec(package) is None:
            print(f"skipped: {package} is not installed", file=sys.stderr)
            continue
        ways[name] = [sys.executable, HERE / "examples" / example, TEMPLATE, table, given.folder / package]
    for name, command in ways.items():
        for cores in (1, 2) if given.only in name else ():
            cache = given.folder / "cache"
            for left in (given.folder / "ray", given.folder / "datasets", cache):
                shutil.rmtree(left, ignore_errors=True)
            own = name.startswith(("Ray", "`datasets"))
            more = ["--workers", cores] if own else ["--threads", cores]
            seconds, on_cores, peak = measured([*command, *more], cores, cache)
            print(
                f"| {name} | {cores} | {seconds:.1f} | {given.rows / seconds:.0f} "
                f"| {on_cores:.1f} | {given.rows / on_cores:.0f} | {peak >> 20} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
