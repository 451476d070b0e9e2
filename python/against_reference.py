"""Holds the parser against that of the transformers library which is installed: random templates, random texts, cut anywhere.

    python against_reference.py --program ../target/release/unjinja --seed 1 --count 10000

Each case is a template, a prompt, an output in chunks, and tools. The program reads the template for the version of the
language that the library has (`--for transformers@…`), and has to report the same events for each chunk, the same message, or
an error at the same chunk. Cases on which the two part are printed, and the exit code is 1.
"""

import argparse
import collections
import copy
import json
import random
import subprocess
import sys

# So many cases are made at once, so that a million take no more memory than these.
AT_ONCE = 20_000

PARSERS = {
    "text": [{}, {"strip": False}],
    "int": [{}],
    "float": [{}],
    "bool": [{}],
    "json": [
        {},
        {"unquoted_keys": True},
        {"unquoted_keys": True, "allow_non_json": True},
        {"allow_non_json": True},
        {"string_delims": [["<q>", "</q>"]], "unquoted_keys": True},
        {"string_delims": [["'", "'"]]},
    ],
    "xml-inline": [
        {"tag_pattern": "<(?P<key>\\w)>(?P<value>.*?)</\\w>"},
        {"tag_pattern": "<(?P<key>\\w)>(?P<value>.*?)</\\w>", "merge_duplicates": True},
        {
            "tag_pattern": "<(?P<key>\\w)>(?P<value>.*?)</\\w>",
            "merge_duplicates": True,
            "value_parser": {"name": "json", "args": {"allow_non_json": True}},
        },
        {"tag_pattern": "(?P<key>\\w)=(?P<value>[^;]*);?", "value_parser": {"name": "text"}},
    ],
    "kv-lines": [{}, {"line_sep": ";", "kv_sep": "="}, {"value_parser": {"name": "json", "args": {"allow_non_json": True}}}],
    "python-call-list": [{}],
}

# What opens takes some text, so that no two delimiters match nothing for ever.
OPENERS = ["<a>", "<b>", "[", "<a", "\n<c>", "#"]
OPENER_PATTERNS = [
    "<a>\\s*",
    "<(?P<n>\\w+)>",
    "<(?:(?P<n>a)|(?P<m>b))>?",
    "#+(?=\\s*<)",
    "\\s*<c>",
    "<a>$",
    "(?P<n>#)(?=\\s*\\Z|<)",
    "(?:<a>|<b>)(?!x)",
    "(?i:<A>)",
    "[#~]$|~",
    "<(?P<n>a|b)(?=(?P<m>\\s)?)",
    "(?<=x)<a>",
    "~\\b",
]
CLOSERS = ["</a>", "</b>", "]", "</a", "</c>\n", ".", "<end>"]
CLOSER_PATTERNS = [
    "</(?P<n>\\w)>",
    "</(?P<m>\\w)>\\s*",
    "</a>$",
    "\\s*</a>|\\Z",
    "\\.(?=\\s*\\Z)",
    "\\.(?=\\n|$)",
    "(?:\\.|</a>)(?=\\s*(?:<|\\Z))",
    "</(?P<n>a)(?:>|$)",
    "\\s+</b>",
    "]$|</a>",
    "$",
    "\\n$",
    "(?=<a>|<b>)",
    "\\.(?P<n>\\w)?(?P<m>\\s)?",
    "</[ab]>(?:\\n|$)",
    "(?<=\\d)\\.\\s*$",
]
# Only backtracking runs these: where text is held back, chunks may be cut elsewhere.
BACKTRACKING = ["(?>\\s*)</a>", "\\.(?=\\s*$)(?=\\s)", "(?<!b)\\.++(?=\\s*\\Z)", "(?>#+)(?=\\s*$|<)"]

PIECES = OPENERS + CLOSERS + ["</a>", "</b>", "<end>", "~", "\n", "\n", " ", " ", "x", "b", "1", ".", "é", "日", "", ">", "<", "<"]
BODIES = [
    '{"a": 1}',
    '{a: 1, "b": "c,d:e"}',
    '{ a : [1, {b :2}], c:"{x:1}" }',
    '{a: "b\\\n,c:1"}',
    "{a:<q>it's \"x\" b,c:</q>, b :2}",
    "['x', 'y']",
    "<a>1</a><a>[2]</a><b>x</b>",
    "<a>[1]</a><b>[]</b><a>2</a><a>[3]</a><b>1</b>",
    "a=1;b=x; c = [1];a=2",
    "a: 1\nb: [2]\n: \nc",
    " 12 ",
    "1.50",
    "true",
    "1e3",
    "-0",
]
ATOMS = [
    "1", "-0", "1.5", "1e3", "01", "1.", "-", "9007199254740991", "9007199254740992", "-9007199254740992", "1e999", "0.0",
    "True", "true", "False", "false", "None", "null", "Null", "True-x", "'x'", '"y"', "'it\\'s'", '"q\\"q"', "'\\u00e9'",
    "'\\ud83d\\ude00'", "'\\ud83d'", "'\\ude00'", "'\\ud83d\\u0041'", "'\\x41'", "'a\\nb'", "'a\nb'", "'日'", "'\\/'", "''",
    "x", "(1)", "[1,]", "''''",
]  # fmt: skip
NAMES = ["f", "get_x", "a.b", "a-b", "_", "f1", "1f", "a.", "a..b", "a.1", "é", "f g", "a-_"]
SCHEMAS = [
    {"type": "integer"},
    {"type": "number"},
    {"type": "boolean"},
    {"type": ["null", "string"]},
    {"type": "array"},
    {"anyOf": [{"type": "integer"}, {"type": "object"}]},
    {"oneOf": [{"type": "number"}]},
    {"type": "string"},
    {"type": ["integer", "array"]},
    {},
]


class Maker:
    """Makes cases, the same ones for the same seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def case(self):
        template = self.template()
        chunks = self.chunks(self.output(template))
        case = {"response_template": template, "prefix": self.choose(["", "", "u:A:", "A:<a>", "A:x ", "none"]), "chunks": chunks}
        if self.once_in(3):
            properties = {key: self.choose(SCHEMAS) for key in "abc"}
            function = {"name": self.choose(["f", "a"]), "parameters": {"type": "object", "properties": properties}}
            case["tools"] = [{"type": "function", "function": function}]
        return case

    def choose(self, items):
        return self.random.choice(items)

    def once_in(self, times):
        return self.random.randrange(times) == 0

    def template(self):
        fields = {}
        for name in self.random.sample(["thinking", "tool_calls", "x"], self.random.randint(1, 3)):
            fields[name] = self.field(name, opens=True)
        if not self.once_in(4):
            fields["content"] = self.field("content", opens=False)
        names = list(fields)
        self.random.shuffle(names)
        template = {"start_anchor": "A:", "fields": {name: fields[name] for name in names}}
        if self.once_in(4):
            template["defaults"] = {"role": "assistant", "x": []}
        return template

    def field(self, name, opens):
        field = {}
        if opens:
            self.delimiter(field, "open", OPENERS, OPENER_PATTERNS)
        if not self.once_in(5):
            self.delimiter(field, "close", CLOSERS, CLOSER_PATTERNS)
        parser = self.choose(list(PARSERS)) if name == "tool_calls" or self.once_in(3) else "text"
        if parser != "text" or self.once_in(3):
            field["content"] = parser
            args = self.choose(PARSERS[parser])
            if args or self.once_in(3):
                field["content_args"] = copy.deepcopy(args)
        if self.once_in(3):
            field["repeats"] = True
            if parser == "text" and self.once_in(2):
                field["join"] = self.choose(["", "\n"])
        groups = [group for key in ("open_pattern", "close_pattern") for group in "nm" if f"(?P<{group}>" in field.get(key, "")]
        if groups or name == "tool_calls" and self.once_in(2):
            self.transform(field, parser, groups)
        return field

    def delimiter(self, field, key, literals, patterns):
        kind = self.random.randrange(8)
        if kind < 3:
            field[key] = self.choose(literals)
        elif kind == 3:
            field[key] = self.random.sample(literals, self.random.randint(1, 3))
        else:
            field[key + "_pattern"] = self.choose(BACKTRACKING if self.once_in(12) else patterns)

    def transform(self, field, parser, groups):
        if parser == "python-call-list" and not self.once_in(3):
            field["transform_each"] = True
            content = self.choose(["{arguments}", "{arguments.a}"]) if self.once_in(8) else "{arguments}"
            name = self.choose(["{name}"] + [f"{{{group}}}" for group in groups])
        else:
            content = self.choose(["{content}"] * 6 + ["{content.a}"])
            name = self.choose([f"{{{group}}}" for group in groups] + ["f"])
        call = {"name": name, "arguments": content}
        field["transform"] = self.choose([{"type": "function", "function": call}, call, {"a": content, "n": name}])

    def output(self, template):
        """Markers of the template and others, with what parsers read between them."""
        markers = []
        for field in template["fields"].values():
            for key in ("open", "close"):
                literals = field.get(key, [])
                markers += [literals] if isinstance(literals, str) else literals
        parts = []
        for _ in range(self.random.randint(1, 9)):
            kind = self.random.randrange(10)
            if kind < 3 and markers:
                parts.append(self.choose(markers))
            elif kind < 5:
                parts.append(self.choose(BODIES))
            elif kind == 5:
                parts.append(self.calls())
            else:
                parts.append(self.choose(PIECES))
        return "".join(parts)

    def calls(self):
        calls = [self.call() for _ in range(self.random.randint(0, 3))]
        return self.space() + "[" + self.joined(calls) + self.space() + self.choose(["]"] * 12 + ["", ",]", "]x"])

    def call(self):
        name = self.choose(NAMES) if self.once_in(3) else "f"
        keys = self.random.sample(["a", "b", "c", "d.e"], self.random.randint(0, 3))
        if self.once_in(12):
            keys += self.choose([["a"], ["1"], [""]])
        equals = self.choose(["="] * 9 + [" = ", ":"])
        arguments = [key + equals + self.value(0) for key in keys]
        return name + self.choose(["("] * 9 + [" (", ""]) + self.joined(arguments) + self.space() + self.choose([")"] * 15 + ["", ",)"])

    def value(self, depth):
        kind = self.random.randrange(8)
        if kind == 0 and depth < 3:
            return "[" + self.joined([self.value(depth + 1) for _ in range(self.random.randint(0, 3))]) + self.space() + "]"
        if kind == 1 and depth < 3:
            keys = [self.choose(["'k'", '"l"', "'m n'", "k", "1"]) for _ in range(self.random.randint(0, 3))]
            return "{" + self.joined([key + self.choose([":", ": ", " :"]) + self.value(depth + 1) for key in keys]) + "}"
        return self.choose(ATOMS) if self.once_in(3) else self.choose(["1", "'x'", "\"it's\"", "None", "2.5", "'</a>'"])

    def joined(self, items):
        return self.choose([",", ", ", " ,\n"]).join(items)

    def space(self):
        return self.choose(["", "", "", " ", "\n", "\t", "\u00a0"]) if self.once_in(4) else ""

    def chunks(self, text):
        kind = self.random.randrange(4)
        if kind == 0:
            return [text]
        if kind == 1:
            return list(text)
        chunks = []
        while text:
            size = self.random.randint(1, 7)
            chunks.append(text[:size])
            text = text[size:]
        return chunks


def answer(parsing, case):
    """What the library makes of a case, as the program writes it."""
    try:
        template = parsing.load_response_template(copy.deepcopy(case["response_template"]))
    except Exception:
        return {"load_error": True}
    out = {"events": []}
    place = "prefix"
    try:
        parser = parsing.ResponseParser(template, prefix=case["prefix"], tools=case.get("tools"))
        out["initial_events"] = parser.initial_events
        for place, chunk in enumerate(case["chunks"]):
            out["events"].append(parser.feed(chunk))
        place = "finalize"
        out["message"], out["final_events"] = parser.finalize()
    except Exception as error:
        return {"error": str(error), "error_at": place}
    return out


def joined(answer):
    """The events without the places where chunks are cut."""
    events = answer["initial_events"] + [event for chunk in answer["events"] for event in chunk] + answer["final_events"]
    out = []
    for event in events:
        if out and event["type"] == out[-1]["type"] == "region_chunk" and event["field"] == out[-1]["field"]:
            out[-1] = {**out[-1], "text": out[-1]["text"] + event["text"]}
        else:
            out.append(event)
    return out


def difference(case, ours, theirs):
    """How two answers part, if they do."""
    if ours is None:
        return "no answer"
    if "load_error" in theirs or "load_error" in ours:
        return None if "load_error" in theirs and "load_error" in ours else "one of them refuses the template"
    is_exact = not any(pattern in json.dumps(case["response_template"]) for pattern in map(lambda p: json.dumps(p)[1:-1], BACKTRACKING))
    if "error" in theirs or "error" in ours:
        if "error" not in theirs or "error" not in ours:
            return "one of them fails"
        return None if not is_exact or ours["error_at"] == theirs["error_at"] else "they fail at different chunks"
    written = lambda value: json.dumps(value, ensure_ascii=False)  # noqa: E731
    if written(ours["message"]) != written(theirs["message"]):
        return "the messages differ"
    if not is_exact:
        return None if written(joined(ours)) == written(joined(theirs)) else "the events differ"
    same = all(written(ours[key]) == written(theirs[key]) for key in ("initial_events", "events", "final_events"))
    return None if same else "the events differ"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--program", default="unjinja", help="the program `unjinja` [default: the one on the path]")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--count", type=int, default=10_000)
    arguments.add_argument("--shown", type=int, default=5, help="so many of the differences are printed")
    asked = arguments.parse_args()

    import transformers
    from transformers.utils import chat_parsing
    from transformers.utils.chat_parsing import response_templates

    chat_parsing.load_response_template = response_templates.load_response_template
    version = transformers.__version__
    maker = Maker(asked.seed)
    command = [asked.program, "parse", "--jsonl", "-", "--for", f"transformers@{version}"]
    parts, kinds = collections.Counter(), collections.Counter()
    for first in range(0, asked.count, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, asked.count))
        cases = [{"id": number, **maker.case()} for number in numbers]
        written = "".join(json.dumps(case) + "\n" for case in cases)
        done = subprocess.run(command, input=written, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            sys.exit(done.stderr)
        ours = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
        for case in cases:
            theirs = answer(chat_parsing, case)
            kinds["refused" if "load_error" in theirs else "failed" if "error" in theirs else "read"] += 1
            what = difference(case, ours.get(case["id"]), theirs)
            if what is None:
                continue
            parts[what] += 1
            if sum(parts.values()) <= asked.shown:
                own = json.dumps(ours.get(case["id"]))
                print(f"{what}:\n  {json.dumps(case)}\n  ours   {own}\n  theirs {json.dumps(theirs)}", flush=True)
    counted = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    print(f"transformers {version}, seed {asked.seed}: {asked.count} cases ({counted}), {sum(parts.values())} differences {dict(parts)}")
    sys.exit(bool(parts))


if __name__ == "__main__":
    main()
