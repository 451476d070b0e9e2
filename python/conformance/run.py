"""Runs the suite `canitoolcall` with unjinja, and prints the table of `results.md`.

    python conformance/run.py [--fail-on-difference]

The chat templates and the tokens are looked for as `adapter.py` says. Each fixture is read as a whole, in one chunk, token by token, cut at markers, in
groups of tokens, and character by character; the suite's own checks judge. With the option, the exit code is 1 if other fixtures
fail than `reasons.json` names.
"""

import collections
import json
import pathlib
import sys

from adapter import UnjinjaAdapter
from canitoolcall import __version__
from canitoolcall.adapters.base import ReplayInput
from canitoolcall.adapters.worker import replay
from canitoolcall.chunking import DEFAULT_STRATEGIES, ChunkStrategy
from canitoolcall.fixtures import load_fixtures
from canitoolcall.runner import evaluate, family_for

STRATEGIES = [*DEFAULT_STRATEGIES, ChunkStrategy.parse("char:0"), ChunkStrategy.parse("char:1")]
REASONS = pathlib.Path(__file__).with_name("reasons.json")

# What the suite publishes in its description, of its run of September 2026.
PUBLISHED = [
    ("vLLM 0.30.0", 469, 268, 86, 115),
    ("SGLang 0.5.20", 448, 189, 62, 197),
    ("llama.cpp a25c9865", 438, 278, 46, 114),
    ("Ollama 7af39318", 261, 224, 10, 27),
    ("transformers 5.17.0", 48, 33, 7, 8),
]


def judged(adapter):
    """Each fixture and what came of it."""
    families = {}
    for fixture in load_fixtures():
        family = family_for(fixture, families)
        # Characters count, too, though no engine cuts so.
        yield fixture, evaluate(fixture, family, replay(adapter, fixture, family, STRATEGIES), "none", frozenset())


def table(results):
    """By family: how many fixtures are supported, pass, pass but for white space, fail, and have no chat template at hand."""
    counts = collections.defaultdict(collections.Counter)
    for fixture, case in results:
        counts[fixture.family][case.status.value] += 1
    head = ["family", "fixtures", "pass", "but for white space", "fail", "no chat template at hand"]
    yield head
    total = collections.Counter()
    for family, count in [*sorted(counts.items()), ("all", total)]:
        if count is not total:
            total.update(count)
        tried = sum(count.values()) - count["unsupported"]
        yield [family, tried, count["pass"], count["soft_pass"], count["fail"] + count["error"], count["unsupported"]]


def recorded(adapter, results):
    """By vocabularies, of how many fixtures the recorded tokens are known, in a sentence."""
    tried = [fixture for fixture, case in results if case.status.value != "unsupported"]
    known = sum(adapter.tokens(ReplayInput.from_fixture(fixture)) is not None for fixture in tried)
    return f"The tokens are those that the fixture records for {known} of {len(tried)}, and pieces like tokens for the others."


def write(rows):
    rows = [[str(cell) for cell in row] for row in rows]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "|".join(["---"] + ["---:"] * (len(rows[0]) - 1)) + "|")
    return "\n".join(lines)


def main():
    adapter = UnjinjaAdapter()
    results = list(judged(adapter))
    reasons = json.loads(REASONS.read_text(encoding="utf-8"))
    failed = {fixture.id for fixture, case in results if case.status.value in ("fail", "error")}
    tried = {fixture.id for fixture, case in results if case.status.value != "unsupported"}
    print(f"canitoolcall {__version__}, with calls when they are whole:\n")
    print(write(table(results)))
    print(f"\n{recorded(adapter, results)}")
    print("\nWhat the suite publishes of engines, with parsers written by hand for each family:\n")
    print(write([["engine", "fixtures", "pass", "but for white space", "fail"], *PUBLISHED]))
    print("\nWhat does not pass:\n")
    print(write([["fixture", "why"], *((one, reasons.get(one, "?")) for one in sorted(failed))]).replace("---:", "---"))
    unexpected = sorted((failed - reasons.keys()) | ((reasons.keys() & tried) - failed))
    if unexpected:
        print(f"\nother than reasons.json says: {', '.join(unexpected)}", file=sys.stderr)
    return int(bool(unexpected) and "--fail-on-difference" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
