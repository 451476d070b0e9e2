"""A table of raw outputs into one of messages, on many machines, with Ray Data.

    python ray_data.py TEMPLATE OUTPUTS MESSAGES [--workers 2] [--column output]

TEMPLATE is a response template, OUTPUTS a file or folder of Parquet, and MESSAGES a folder, into which the workers write
files of Parquet. All columns are kept. A message is JSON in a text; a row that fails has its error.

Ray reads, spreads and writes. Of unjinja it takes one class, which each worker makes once.
"""

import argparse
import json

import pyarrow
import ray

import unjinja


class Parse:
    """What a worker does with the rows that it is given."""

    def __init__(self, template, column):
        self.template = unjinja.ResponseTemplate(template)
        self.column = column

    def __call__(self, rows: pyarrow.Table) -> pyarrow.Table:
        messages, errors = [], []
        for text in rows[self.column].to_pylist():
            try:
                message = unjinja.parse_response(text, self.template, prefix="")
                messages.append(json.dumps(message, ensure_ascii=False))
                errors.append(None)
            except (unjinja.ParseError, TypeError) as error:
                messages.append(None)
                errors.append(str(error))
        rows = rows.append_column("message", pyarrow.array(messages, pyarrow.string()))
        return rows.append_column("error", pyarrow.array(errors, pyarrow.string()))


def parse(template, outputs, messages, *, workers=2, column="output"):
    """Parses all outputs; `template` is JSON text."""
    ray.data.read_parquet(outputs).map_batches(
        Parse,
        fn_constructor_args=(template, column),
        batch_format="pyarrow",
        batch_size=4096,
        compute=ray.data.ActorPoolStrategy(size=workers),
    ).write_parquet(messages)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("template")
    arguments.add_argument("outputs")
    arguments.add_argument("messages")
    arguments.add_argument("--workers", type=int, default=2)
    arguments.add_argument("--column", default="output")
    given = arguments.parse_args()
    with open(given.template, encoding="utf-8") as file:
        template = file.read()
    # On a cluster, `address="auto"` in place of these: each worker takes one core.
    ray.init(num_cpus=given.workers + 1, include_dashboard=False)
    parse(template, given.outputs, given.messages, workers=given.workers, column=given.column)


if __name__ == "__main__":
    main()
