"""Asks those who read response templates whether `unjinja lint --for` is right about them.

    python engines/readers.py --unjinja target/release/unjinja [--packages FOLDER] [--only NAME]

The packages are those that `unjinja port --list` names, at the versions that it names: the one that was looked at, and those
with which a rule or the language changed. A package that reads with the transformers library has that beside it, as it was looked
at. Each is fetched as a wheel without what it depends on, and of it only the modules that load, check and hand on are run; whatever else they import
is a stand-in that does nothing. So no model, no GPU and no server is needed, but `regex`, `jinja2` and `packaging` are.
Each template of a table is shown to the package, with an output that it reads, and what comes of it has to be what
`unjinja lint --for` says.
"""

import argparse
import ast
import importlib.abc
import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import types
import zipfile

ANCHOR = "<bot>"
CALL = '<call f>{"x": 1}</call>'
NESTED = {"type": "function", "function": {"name": "{n}", "arguments": "{content}"}}
FLAT = {"name": "{n}", "arguments": "{content}"}


def template(fields, **keys):
    return {"start_anchor": ANCHOR, **keys, "fields": fields}


def calls(**keys):
    field = {
        "open_pattern": r"<call (?P<n>\w+)>",
        "close": "</call>",
        "repeats": True,
        "content": "json",
        "transform": NESTED,
    }
    field.update(keys)
    return {"tool_calls": {key: value for key, value in field.items() if value is not None}}


THINK = {"open": "<think>", "close": "</think>"}
CONTENT = {"content": {"close": "<end>"}}
TEXT = "<think>Why?</think>So."

# A name, a template, and an output that shows what it is about.
TABLE = [
    ("all in order", template({"thinking": THINK, **calls(), **CONTENT}), TEXT + CALL),
    ("reasoning_content", template({"reasoning_content": THINK, **CONTENT}), TEXT),
    ("reasoning", template({"reasoning": THINK, **CONTENT}), TEXT),
    ("another field", template({"notes": THINK, **CONTENT}), TEXT),
    ("the role", template(CONTENT, defaults={"role": "assistant"}), "So."),
    ("another default", template(CONTENT, defaults={"role": "assistant", "kind": "x"}), "So."),
    ("content as JSON", template({"content": {"content": "json"}}), '{"a": 1}'),
    ("content as a number", template({"content": {"content": "int"}}), "1"),
    ("a transform of thoughts", template({"thinking": {**THINK, "transform": "{content}"}}), TEXT),
    ("joined thoughts", template({"thinking": {**THINK, "repeats": True, "join": ""}}), TEXT),
    ("repeated thoughts", template({"thinking": {**THINK, "repeats": True}, **CONTENT}), "So."),
    ("thoughts without an opener", template({"thinking": {"close": "</think>"}, "content": {"open": "<say>"}}), "So"),
    ("both with openers", template({"thinking": THINK, "content": {"open": "<say>"}}), "<say>So"),
    ("calls without an opener", template({"tool_calls": {"content": "json", "repeats": True, "transform": {
        "type": "function", "function": "{content}"}}}), '{"name": "f", "arguments": {}}'),
    ("a flat call", template({**calls(transform=FLAT), **CONTENT}), CALL),
    ("a call without arguments", template(calls(transform={"function": {"name": "{n}"}})), CALL),
    ("a call that is text", template(calls(content="text", transform=None, open_pattern=None, open="<call f>")), CALL),
    ("a function as it is written", template(calls(transform={"type": "function", "function": "{content}"},
        open_pattern=None, open="<call f>")), '<call f>{"name": "f", "arguments": {}}</call>'),
    ("one call only", template(calls(repeats=None)), CALL),
    ("calls in a list", template(calls(repeats=None, transform_each=True, transform={"type": "function", "function": {
        "name": "{n}", "arguments": "{x}"}})), '<call f>[{"x": {}}]</call>'),
    ("lists of flat calls", template(calls(repeats=None, transform_each=True, transform={
        "name": "{n}", "arguments": "{x}"})), '<call f>[{"x": {}}]</call>'),
    ("calls in a list of Python", template(calls(repeats=None, open_pattern=None, open="<call f>", content="python-call-list",
        transform_each=True, transform={"type": "function", "function": {
            "name": "{name}", "arguments": "{arguments}"}})), "<call f>[f(x=1)]</call>"),
    ("a placeholder with a dot", template(calls(transform={"type": "function", "function": {
        "name": "{n}", "arguments": "{content.x}"}})), '<call f>{"x": {}}</call>'),
]


# ---- what stands in for all that is not asked --------------------------------------------------------------------


class Anything(type):
    """A class that has every attribute, can be called with anything, and be the base of anything."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing

    def __or__(cls, other):
        return cls

    __ror__ = __or__

    def __getitem__(cls, key):
        return cls


class Nothing(metaclass=Anything):
    def __init_subclass__(cls, **keys):
        pass

    def __init__(self, *arguments, **keys):
        self.__dict__.update(keys)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing

    def __call__(self, *arguments, **keys):
        return Nothing()


class StandIn(types.ModuleType):
    __path__ = []
    __version__ = "0.0"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules that are asked in the package, and a stand-in for all else in it or that is missing."""

    def __init__(self, folder, tops, real):
        self.folder, self.tops, self.real = folder, tops, real

    def find_spec(self, name, path=None, target=None):
        if any(name == one or name.startswith(one + ".") for one in self.real):
            file = self.folder.joinpath(*name.split("."))
            place = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
            parts = [str(file)] if file.is_dir() else None
            loader = importlib.machinery.SourceFileLoader(name, str(place))
            return importlib.util.spec_from_file_location(name, place, loader=loader, submodule_search_locations=parts)
        if name.split(".")[0] in self.tops:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


# ---- what each of them makes of a template ------------------------------------------------------------------------


def events_of(parsing, spec, output):
    parser = parsing.ResponseParser(spec, prefix=ANCHOR)
    events = parser.feed(output)
    message, last = parser.finalize()
    return message, events + last


def constant(file, name):
    """What a module assigns to a name, without the module being run; nothing if it does not."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return ast.literal_eval(node.value)
    return None


def folder_of(name):
    """The folder with the modules of a package that is asked."""
    folders = [one.folder for one in sys.meta_path if isinstance(one, Finder) and one.folder]
    return next(folder for folder in folders if folder.name.startswith(f"{name}-"))


def version_of(name):
    return folder_of(name).name.rsplit("-", 1)[1]


class Transformers:
    real = ["transformers.utils.chat_parsing", "transformers.cli.serving.utils"]
    absent = ["huggingface_hub", "tqdm"]

    def __init__(self):
        import transformers.utils.chat_template_utils as utils

        # A tuple in a module that is not asked, since it needs much else. Older versions have none.
        fields = constant(folder_of("transformers") / "transformers/utils/chat_template_utils.py", "_REASONING_FIELDS")
        if fields is not None:
            utils._REASONING_FIELDS = fields
        import transformers.utils.chat_parsing as parsing
        import transformers.cli.serving.utils as serve

        self.parsing, self.serve = parsing, serve

    def effect(self, spec, output):
        try:
            self.parsing.response_templates.load_response_template(spec)
        except ValueError:
            return "refused"
        message, events = events_of(self.parsing, spec, output)
        if "{content." in json.dumps(message):
            return "fails"

        if not hasattr(self.serve, "parse_assistant_message"):
            return None  # `transformers serve` of these versions does not read by the template.

        class Tokenizer:
            response_template = spec

            def decode(tokenizer, ids):
                return ANCHOR

            def parse_response(tokenizer, text, template, prefix=None, tools=None):
                return message

        try:
            content, thoughts, found = self.serve.parse_assistant_message(Tokenizer(), None, output, [])
            chunks = self.serve.response_events_to_chunks(events)
        except (TypeError, KeyError):
            return "limits"
        if len(message.get("tool_calls") or []) != len(found or []):
            return "limits"
        texts = [chunk for chunk in chunks if isinstance(chunk, str)]
        sent = bool(content) + bool(thoughts) + bool(found)
        asked = [key for key, value in message.items() if value and key not in spec.get("defaults", {})]
        streamed = bool(texts) or not (content or thoughts)
        return None if sent == len(asked) and streamed else "limits"


class Vllm:
    real = ["vllm.parser.chat_parsing", "vllm.parser.response_template"]
    absent = ["openai"]

    def __init__(self):
        import vllm.parser.chat_parsing as parsing
        import vllm.parser.response_template as serving

        self.parsing, self.serving = parsing, serving

    def effect(self, spec, output):
        try:
            self.serving.validate_response_template_for_serving(spec)
            streaming = self.serving._streaming_template(spec)
        except ValueError:
            return "refused"
        _, events = events_of(self.parsing, streaming, output)
        values = [e["value"] for e in events if e["type"] == "region_close" and e["field"] == "tool_calls"]
        return None if all(self.serving._to_tool_calls(value) for value in values) else "fails"


class Sglang:
    real = ["sglang.srt.parser.chat_parsing", "sglang.srt.parser.response_template"]
    absent = ["msgspec"]

    def __init__(self):
        import sglang.srt.parser.chat_parsing as parsing
        import sglang.srt.parser.response_template as serving

        self.parsing, self.serving = parsing, serving

    def effect(self, spec, output):
        try:
            self.serving.validate_response_template_for_serving(spec)
            streaming = self.serving._streaming_template(spec)
        except ValueError:
            return "refused"
        _, events = events_of(self.parsing, streaming, output)
        values = [e["value"] for e in events if e["type"] == "region_close" and e["field"] == "tool_calls"]
        values = [one for value in values for one in (value if isinstance(value, list) else [value])]
        to_call = self.serving.ResponseTemplateToolDetector._to_tool_call
        return None if all(to_call(None, value, {"f": 0}) for value in values) else "fails"


class Trl:
    real = ["trl.chat_template_utils", "transformers.utils.chat_parsing"]
    absent = []

    def __init__(self):
        import transformers

        # What it goes by to know whether that reads templates.
        transformers.__version__ = version_of("transformers")
        import transformers.utils.chat_parsing as parsing
        import trl.chat_template_utils as utils

        self.parsing, self.utils = parsing, utils

    def effect(self, spec, output):
        parsing = self.parsing

        class Tokenizer:
            response_template = spec
            eos_token = "<eos>"

            def decode(tokenizer, ids, **keys):
                return ids

            def parse_response(tokenizer, text, prefix=None, tools=None):
                return parsing.parse_response(text, spec, prefix=prefix, tools=tools)

        message = self.utils.parse_response(Tokenizer(), output, prefix=ANCHOR)
        return "fails" if message.get("content") == output and "tool_calls" in spec["fields"] else None


READERS = {"transformers": Transformers, "vllm": Vllm, "sglang": Sglang, "trl": Trl}
# Those that read with the transformers library as it is installed beside them.
BESIDE_TRANSFORMERS = {"trl"}


# ---- asking them ---------------------------------------------------------------------------------------------------


def fetched(packages, name, version):
    """The folder with the modules of a package, fetched if it is not there yet."""
    folder = packages / f"{name}-{version}"
    if not (folder / "done").exists():
        download = packages / "wheels"
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
             "--only-binary", ":all:", "--dest", str(download), f"{name}=={version}"],
            check=True,
        )
        (wheel,) = download.glob(f"{name}-{version}-*.whl")
        with zipfile.ZipFile(wheel) as files:
            wanted = [file for file in files.namelist() if file.endswith((".py", ".jinja"))]
            files.extractall(folder, wanted)
        wheel.unlink()
        (folder / "done").touch()
    return folder


def ask(folders, name):
    """Asks a package about all templates, in a process of its own."""
    reader = READERS[name]
    tops = {"transformers", "trl", "vllm", "sglang", *reader.absent}
    for folder in folders:
        mine = folder.name.rsplit("-", 1)[0]
        real = [one for one in reader.real if one.startswith(mine + ".")]
        sys.meta_path.insert(0, Finder(folder, (), real))
    sys.meta_path.insert(len(folders), Finder(None, tops, []))
    asked = reader()
    return [asked.effect(spec, output) for _, spec, output in TABLE]


def worst(unjinja, packages, target):
    """What `unjinja lint --for` says of each template."""
    said = []
    for at, (_, spec, _) in enumerate(TABLE):
        place = packages / f"template-{at}.json"
        place.write_text(json.dumps(spec), encoding="utf-8")
        ran = subprocess.run(
            [unjinja, "lint", str(place), "--for", target, "--format", "json"], capture_output=True, text=True
        )
        found = [one for one in json.loads(ran.stdout) if one["code"] == "U017"]
        # Its level and its words are all that is said; the worst counts.
        effects = [
            "refused" if " refuses the template" in one["message"] else
            "fails" if one["level"] == "error" else "limits"
            for one in found
        ]
        said.append(next((effect for effect in ("refused", "fails", "limits") if effect in effects), None))
    return said


def versions(profile):
    """The versions that are named in a profile: its own, the first that reads templates, and those of languages, rules and their
    sources."""
    asked = [profile["version"], profile["since"]]
    asked += [turn["since"] for turn in profile["languages"]]
    asked += [rule[key] for rule in profile["rules"] for key in ("since", "until") if rule[key]]
    asked += [rule["source"]["version"] for rule in profile["rules"]]
    return sorted(set(asked), key=lambda version: [int(part) for part in version.split(".")])


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--unjinja", default="target/release/unjinja")
    options.add_argument("--packages", type=pathlib.Path, default=pathlib.Path("target/readers"))
    options.add_argument("--only")
    options.add_argument("--ask", nargs="+", help=argparse.SUPPRESS)
    options = options.parse_args()
    if options.ask:
        name, *folders = options.ask
        print(json.dumps(ask([pathlib.Path(folder) for folder in folders], name)))
        return 0
    options.packages.mkdir(parents=True, exist_ok=True)
    listed = subprocess.run(
        [options.unjinja, "port", "--list", "--format", "json"], capture_output=True, text=True, check=True
    )
    differences = asked = 0
    profiles = json.loads(listed.stdout)
    (beside,) = (profile["version"] for profile in profiles if profile["name"] == "transformers")
    for profile in profiles:
        name = profile["name"]
        if options.only not in (None, name):
            continue
        for version in versions(profile):
            folders = [fetched(options.packages, name, version)]
            if name in BESIDE_TRANSFORMERS:
                folders.append(fetched(options.packages, "transformers", beside))
            ran = subprocess.run(
                [sys.executable, __file__, "--ask", name, *map(str, folders)], capture_output=True, text=True
            )
            if ran.returncode:
                print(ran.stderr, file=sys.stderr)
                return 2
            theirs = json.loads(ran.stdout)
            ours = worst(options.unjinja, options.packages, f"{name}@{version}")
            wrong = [(row[0], said, done) for row, said, done in zip(TABLE, ours, theirs) if said != done]
            asked += len(TABLE)
            differences += len(wrong)
            print(f"{name} {version}: {len(TABLE) - len(wrong)} of {len(TABLE)} templates as it is said")
            for what, said, done in wrong:
                print(f"  {what}: lint says {said or 'taken'}, and it is {done or 'taken'}")
    print(f"{asked - differences} of {asked}")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
