"""A list of chat templates into one survey, on many machines, with Ray Data.

    python survey_ray.py SOURCES SURVEY [--workers 2] [--program unjinja]

SOURCES is a list as `unjinja survey` takes it: a source a line, or an object. SURVEY is the file of rows. The program has to be there on
each machine, and what the list names: model ids, or paths of a file system that all of them have.

Ray spreads the list. Each worker runs the program, which surveys what stands on its standard input; in the end the program makes
one survey of all rows, in the order of the list, in which each template has its details once.
"""

import argparse
import os
import pathlib
import subprocess
import tempfile

import pyarrow
import ray


class Survey:
    """What a worker does with the lines that it is given."""

    def __init__(self, program):
        # The workers are the cores, so each has one.
        self.command = [program, "survey", "-", "-o", "-", "--threads", "1"]

    def __call__(self, lines: pyarrow.Table) -> pyarrow.Table:
        given = "\n".join(lines["line"].to_pylist()) + "\n"
        done = subprocess.run(self.command, input=given, capture_output=True, text=True, encoding="utf-8")
        if done.returncode:
            raise RuntimeError(done.stderr)
        # The rows of this batch as one text: lines may have several, or share a template.
        return pyarrow.table({"rows": [done.stdout]})


def survey(sources, out, *, program="unjinja", workers=2, batch=64):
    """Surveys all sources of a list."""
    lines = [line for line in pathlib.Path(sources).read_text(encoding="utf-8").splitlines() if line.strip()]
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    table = ray.data.from_arrow(pyarrow.table({"line": lines})).repartition(max(1, len(lines) // batch))
    done = table.map_batches(
        Survey,
        fn_constructor_args=(os.path.abspath(program) if os.path.sep in program else program,),
        batch_format="pyarrow",
        batch_size=batch,
        compute=ray.data.ActorPoolStrategy(size=workers),
    )
    with tempfile.TemporaryDirectory() as folder:
        rows = pathlib.Path(folder) / "rows.jsonl"
        with open(rows, "w", encoding="utf-8") as file:
            for part in done.iter_rows():
                file.write(part["rows"])
        subprocess.run([program, "survey", rows, "-q", "-o", out], check=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("sources")
    arguments.add_argument("survey")
    arguments.add_argument("--workers", type=int, default=2)
    arguments.add_argument("--program", default="unjinja")
    given = arguments.parse_args()
    # On a cluster, `address="auto"` in place of these: each worker takes one core.
    ray.init(num_cpus=given.workers + 1, include_dashboard=False)
    survey(given.sources, given.survey, program=given.program, workers=given.workers)


if __name__ == "__main__":
    main()
