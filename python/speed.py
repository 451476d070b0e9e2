"""How fast the package parses, beside the parser of the transformers library, in one run.

    python speed.py

For each format and size, whole texts and chunks of four bytes: the best of several runs, one after the
other, so that both have the same machine. Chunks are cut before the clock starts, as tokens come to an
engine. What takes longer than a minute is left out.

    python speed.py 1000

does so for texts of these sizes alone.
"""

import sys
import time

import unjinja

try:
    from transformers.utils import chat_parsing as reference
except ImportError as error:
    raise SystemExit(f"there is nothing to compare with: {error}")

TEMPLATES = {
    "text": (
        {
            "start_anchor": "<bot>",
            "fields": {
                "thinking": {"open": "<think>", "close": "</think>"},
                "content": {"close": "<end>"},
            },
        },
        lambda size: "<think>Hm.</think>" + ("The tide comes in at noon, and goes out at six. " * (size // 47 + 1))[:size] + "<end>",
    ),
    "pattern": (
        {
            "start_anchor": "<bot>",
            "fields": {
                "thinking": {"open_pattern": "<think>\\s*", "close_pattern": "\\s*</think>\\s*"},
                "content": {"close_pattern": "<end>\\s*|$"},
            },
        },
        lambda size: "<think>\nHm.\n</think>\n" + ("The tide comes in at noon, and goes out at six. " * (size // 47 + 1))[:size] + "<end>",
    ),
    "calls": (
        {
            "start_anchor": "<bot>",
            "fields": {
                "tool_calls": {
                    "open": "<tool_call>",
                    "close": "</tool_call>",
                    "repeats": True,
                    "content": "json",
                    "transform": {"type": "function", "function": "{content}"},
                },
                "content": {"close": "<end>"},
            },
        },
        lambda size: '<tool_call>{"name": "read_tide", "arguments": {"harbour": "Brest", "days": [1, 2, 3]}}</tool_call>\n'
        * (size // 98 + 1)
        + "<end>",
    ),
}
if "python-call-list" in getattr(reference.content_parsers, "CONTENT_PARSERS", ()):
    TEMPLATES["calls in Python"] = (
        {
            "start_anchor": "<bot>",
            "fields": {
                "tool_calls": {
                    "open": "<calls>",
                    "close": "</calls>",
                    "content": "python-call-list",
                    "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{arguments}"}},
                    "transform_each": True,
                },
                "content": {"close": "<end>"},
            },
        },
        lambda size: "<calls>[" + ", ".join(['read_tide(harbour="Brest", days=[1, 2, 3])'] * (size // 44 + 1)) + "]</calls><end>",
    )

SIZES = [1_000, 10_000, 100_000, 1_000_000]
LONGEST = 60.0


def parse(library, template, text):
    """Parses a text as a whole."""
    return library.parse_response(text, template, prefix="")


def stream(library, template, chunks):
    """Parses a text in chunks."""
    parser = library.ResponseParser(template, prefix="")
    for chunk in chunks:
        parser.feed(chunk)
    return parser.finalize()[0]


def best(task, *arguments):
    """The best time of as many runs as fit into half a second, but of one at least."""
    times = []
    while not times or (sum(times) < 0.5 and len(times) < 50):
        begun = time.perf_counter()
        task(*arguments)
        times.append(time.perf_counter() - begun)
    return min(times)


def main():
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    print("| format | bytes | given as | transformers, µs | unjinja, µs | times as fast |")
    print("|---|---:|---|---:|---:|---:|")
    for name, (template, make) in TEMPLATES.items():
        for task, label in [(parse, "a whole"), (stream, "chunks of 4")]:
            theirs = 0.0
            for size in sizes:
                text = make(size)
                given = text if task is parse else [text[at : at + 4] for at in range(0, len(text), 4)]
                ours = best(task, unjinja, template, given)
                row = f"| {name} | {len(text)} | {label} |"
                # Ten times the text takes it at least ten times as long.
                if theirs * 10 > LONGEST:
                    print(f"{row} over a minute | {ours * 1e3:.3f} ms | |", flush=True)
                    continue
                theirs = best(task, reference, template, given)
                times = f"{theirs * 1e6:.1f} | {ours * 1e6:.1f} | {theirs / ours:.1f}"
                print(f"{row} {times} |", flush=True)


if __name__ == "__main__":
    main()
