"""A table of raw outputs into one of messages, with the `datasets` library.

    python hf_datasets.py TEMPLATE OUTPUTS MESSAGES [--workers 2] [--column output]

TEMPLATE is a response template, OUTPUTS a file of Parquet, and MESSAGES a folder, from which `datasets.load_from_disk` reads
the result. All columns are kept. A message is JSON in a text; a row that fails has its error.
"""

import argparse
import json
import os

import datasets

import unjinja


def parse(rows, template, column):
    """The columns that are added to some rows. The template is loaded once in each process."""
    if template not in LOADED:
        LOADED[template] = unjinja.ResponseTemplate(template)
    messages, errors = [], []
    for text in rows[column]:
        try:
            message = unjinja.parse_response(text, LOADED[template], prefix="")
            messages.append(json.dumps(message, ensure_ascii=False))
            errors.append(None)
        except (unjinja.ParseError, TypeError) as error:
            messages.append(None)
            errors.append(str(error))
    return {"message": messages, "error": errors}


LOADED = {}


def parsed(dataset, template, *, workers=2, column="output"):
    """The dataset with messages; `template` is JSON text."""
    features = dataset.features.copy()
    features["message"] = features["error"] = datasets.Value("string")
    return dataset.map(
        parse,
        batched=True,
        batch_size=1000,
        fn_kwargs={"template": template, "column": column},
        features=features,
        num_proc=workers if workers > 1 else None,
    )


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
    dataset = datasets.load_dataset("parquet", data_files=os.fspath(given.outputs), split="train")
    parsed(dataset, template, workers=given.workers, column=given.column).save_to_disk(given.messages)


if __name__ == "__main__":
    main()
