"""Conversations for the engines: recorded round trips where they are, and those of a small chat template."""

import codecs
import collections
import functools
import json
import pathlib
import random
import sys

import pytest

import unjinja

ROOT = pathlib.Path(__file__).resolve().parents[3]
SHARED = ROOT.parent / "shared"

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from conftest import JINJA  # noqa: E402, F401

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["city"],
            },
        },
    }
    for name in ("weather", "tides")
]

PROMPT = "<user>Hi<end><assistant>"
THOUGHTS = "<think>Why not?</think>"
CALL = '<call>{"name": "weather", "arguments": {"city": "Brest", "days": 2}}</call>'
OTHER = '<call>{"name": "tides", "arguments": {"city": "Brest"}}</call>'


def recorded():
    """The recorded round trips, each with the text of its chat template; none where they are not."""
    path = SHARED / "cases" / "roundtrip.jsonl"
    if not path.exists():
        return []
    templates = {}
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    for row in rows:
        name = row["template"]
        if name not in templates:
            templates[name] = (SHARED / "templates" / f"{name}.jinja").read_text(encoding="utf-8")
        row["jinja"] = templates[name]
    # Of what a template refuses to render, nothing is recorded.
    return [row for row in rows if row["expect"] is not None]


RECORDED = recorded()


def tokenizer_of(case, make):
    """The tokenizer of a recorded round trip, made of a chat template, the tokens that begin and end a text, and its special tokens, which
    are those that end a turn; and these."""
    return _tokenizer_of(case["jinja"], case["bos_token"], case["eos_token"], make)


@functools.cache
def _tokenizer_of(jinja, bos, eos, make):
    ends = ends_of(unjinja.chat_template(make(jinja, bos, eos)))
    return make(jinja, bos, eos, tuple(filter(None, ends))), ends


def hold_round_trips(what, message_of, rows=RECORDED):
    """Of recorded round trips all come back but for one in a hundred: `message_of` makes one's message, given its number, too."""
    if not rows:
        pytest.skip("the recorded round trips are not here")
    wrong = collections.Counter()
    for number, case in enumerate(rows):
        wrong[case["template"]] += not alike(message_of(number, case), expected(case["expect"]))
    print(f"{len(rows) - sum(wrong.values())} of {len(rows)} round trips {what}", dict(+wrong))
    assert sum(wrong.values()) <= len(rows) / 100, +wrong


def without_end(output, ends):
    """The output without what ends its turn, as an engine hands it on, and that end."""
    text = output.rstrip()
    for end in sorted(filter(None, ends), key=len, reverse=True):
        if text.endswith(end):
            return text[: -len(end)], end
    return output, None


def ends_of(chat):
    """What ends a turn of a chat template."""
    return unjinja.derive(chat).report["findings"]["turn"]["ends"]


def tokens(text, seed):
    """A text in tokens of 1 to 12 bytes: what of it can be shown with each, as an engine shows it, and the bytes."""
    choose = random.Random(seed)
    decoder = codecs.getincrementaldecoder("utf-8")()
    data, at = text.encode(), 0
    while at < len(data):
        piece = data[at : at + choose.randint(1, 12)]
        at += len(piece)
        yield decoder.decode(piece), piece


def message_of(thoughts, content, calls):
    """A message in a form to be compared, calls as pairs of name and arguments."""
    return (thoughts or "", content or "", [(name, json.loads(arguments)) for name, arguments in calls])


def expected(expect):
    calls = [(call["name"], call["arguments"]) for call in expect.get("tool_calls") or []]
    return expect.get("reasoning") or "", expect.get("content") or "", calls


def alike(one, other):
    """Whether two messages are alike but for white space around their texts."""
    return [part.strip() for part in one[:2]] == [part.strip() for part in other[:2]] and one[2] == other[2]


def with_calls(rows):
    """Of each format, a conversation with one call and one with two."""
    chosen = {}
    for row in rows:
        if row["scenario"] in ("call", "parallel") and "tool_calls" in row["expect"]:
            chosen.setdefault((row["template"], row["scenario"]), row)
    return list(chosen.values())


def turn(row, ends):
    """The output up to what ends the turn behind its calls: what comes behind that is no longer the model's."""
    output, name = row["output"], row["expect"]["tool_calls"][-1]["name"]
    ends = [output.find(end, output.rfind(name)) for end in ends if end]
    return output[: min((at for at in ends if at >= 0), default=len(output))]


def variations(row, output):
    """What may be asked for with the calls of a conversation: the request, whether it allows the output, and texts that it refuses."""
    calls, tools = row["expect"]["tool_calls"], row["tools"]
    strict = [{**tool, "function": {**tool["function"], "strict": True}} for tool in tools]
    bare, single, name = "content" not in row["expect"], len(calls) == 1, calls[0]["name"]
    at = output.find(name)
    wrong = ["I would rather not.", output[:at] + "no_such_tool" + output[at + len(name) :]]
    yield "strict", {"tools": strict}, True, []
    if bare:
        yield "required", {"tools": tools, "tool_choice": "required"}, True, wrong
    if bare and single:
        named = {"type": "function", "function": {"name": name}}
        yield "named", {"tools": tools, "tool_choice": named}, True, wrong
    yield "single", {"tools": tools, "parallel_tool_calls": False}, single, []
