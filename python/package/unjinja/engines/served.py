"""What is known of the format of a model that is served: found once for each chat template."""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._api import Derivation, chat_template, derive
from .._errors import GrammarError
from .._native import ChatTemplate

CHAT_TEMPLATE = "UNJINJA_CHAT_TEMPLATE"
BEST_EFFORT = "UNJINJA_BEST_EFFORT"

MOST_TAGS = 64 << 20
"""So many bytes of structural tags are kept."""


class BeyondLimit(GrammarError):
    """A schema is beyond a limit of grammars. The message names the tool and the place."""


@dataclass(frozen=True)
class Served:
    """The format of a model that is served."""

    chat: ChatTemplate
    """Its chat template."""
    template: dict[str, Any]
    """The response template that was derived from it."""
    thoughts: tuple[str, str] | None
    """What opens and closes thoughts, if the model writes any."""
    past_thoughts: str
    """What stands before the output where there are none, or they are over."""

    def structural_tag(
        self,
        tools: Sequence[Mapping[str, Any]],
        *,
        choice: str,
        parallel: bool,
        prefix: str,
    ) -> dict[str, Any]:
        """What the model may write after the prompt `prefix` as a structural tag. Arguments of tools that are not strict are free.

        `choice` is `auto`, `required`, or the name of a tool. Raises a `GrammarError` where the format has no calls, or can't hold those of
        a tool; a `BeyondLimit` where a schema is too much, unless `UNJINJA_BEST_EFFORT` is set.
        """
        asked = _Asked(self.chat, tools, choice, parallel, self._turn(prefix))
        return _tags.get(asked.key, asked.tag)

    def _turn(self, prompt: str) -> str:
        """What of a prompt belongs to the turn: so much of it matters, and conversations have it in common."""
        anchors = self.template.get("start_anchor") or ()
        starts = [prompt.rfind(anchor) for anchor in ([anchors] if isinstance(anchors, str) else anchors)]
        return prompt[max([0, *starts]) :]


def sendable(text: str) -> str:
    """A text that a response can hold: halves of pairs, which a model may write as escapes in JSON, stay such escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


class _Asked:
    """What a structural tag is made of."""

    def __init__(self, chat: ChatTemplate, tools: Sequence[Mapping[str, Any]], choice: str, parallel: bool, prefix: str) -> None:
        self._chat, self._tools, self._choice, self._parallel, self._prefix = chat, tools, choice, parallel, prefix
        # The order of keys counts, since arguments may have to come in it.
        text = json.dumps([list(tools), choice, parallel, prefix])
        self.key = (chat, hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())

    def tag(self) -> dict[str, Any]:
        if os.environ.get(BEST_EFFORT):
            return self._made(best_effort=True)
        try:
            return self._made(best_effort=False)
        except GrammarError as error:
            # What there is a tag for when schemas are loosened was beyond a limit.
            if not self._can_be_loosened():
                raise
            raise BeyondLimit(str(error).replace("`best_effort=True`", f"`{BEST_EFFORT}=1`")) from error

    def _can_be_loosened(self) -> bool:
        try:
            return bool(self._made(best_effort=True))
        except GrammarError:
            return False

    def _made(self, *, best_effort: bool) -> dict[str, Any]:
        tag, _ = self._chat.grammar(
            [tool if _is_strict(tool) else _loosened(tool) for tool in self._tools],
            format="structural-tag",
            tool_choice=self._choice,
            parallel=self._parallel,
            prefix=self._prefix,
            best_effort=best_effort,
        )
        return tag


class _Tags:
    """Structural tags, up to so many bytes: large ones take a second, and agents ask for the same again and again. The one goes first that
    was not asked for the longest."""

    def __init__(self, most: int) -> None:
        self._most, self._bytes = most, 0
        self._known: OrderedDict[Any, tuple[dict[str, Any], int]] = OrderedDict()
        self._lock = threading.Lock()
        self.made = 0
        """How many were made."""

    def get(self, key: Any, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key][0]
        tag = make()
        size = len(json.dumps(tag))
        with self._lock:
            self.made += 1
            if size <= self._most // 4 and key not in self._known:
                self._known[key] = (tag, size)
                self._bytes += size
                while self._bytes > self._most:
                    self._bytes -= self._known.popitem(last=False)[1][1]
        return tag


_tags = _Tags(MOST_TAGS)


_known: dict[str, Served | None] = {}
_said: set[tuple[str, str]] = set()
_deriving = threading.Lock()


def served(tokenizer: Any, engine: str, validate: Callable[[dict[str, Any]], Any]) -> Served | None:
    """The format of a tokenizer's model; nothing if it has no chat template, none can be derived from it, or the engine does not
    take it, of which `validate` raises an error. The log says so, once."""
    log = logging.getLogger(f"{engine}.unjinja")
    try:
        chat = _chat_template(tokenizer)
        if chat is None:
            return None
        key = _digest(engine, chat)
        with _deriving:
            if key not in _known:
                # What fails once is not tried again with each request.
                _known[key] = None
                derivation = derive(chat, profile=engine)
                validate(derivation.template)
                _known[key] = Served(chat, derivation.template, *_thoughts(derivation))
                level = logging.INFO if derivation.is_whole else logging.WARNING
                log.log(level, "%s", _proved(derivation, _name(tokenizer), chat, key))
            return _known[key]
    except Exception as error:
        said = f"unjinja: no response template for {_name(tokenizer)}: {error}"
        if (engine, said) not in _said:
            _said.add((engine, said))
            log.warning("%s", said)
        return None


def _chat_template(tokenizer: Any) -> ChatTemplate | None:
    """The chat template that the engine renders prompts with, if it has one."""
    own = getattr(tokenizer, "chat_template", None)
    given = os.environ.get(CHAT_TEMPLATE) or _argument("chat-template", sys.argv)
    tokens = {name: getattr(tokenizer, name, None) for name in ("bos_token", "eos_token")}
    if given and isinstance(own, Mapping) and given in own:
        return chat_template(tokenizer, variant=given)
    if given:
        return chat_template(given, **tokens)
    if own:
        return chat_template(tokenizer)
    return None


def _argument(name: str, arguments: Sequence[str]) -> str | None:
    """The value of an option of the engine's command line, which its processes have from it."""
    spellings = {f"--{name}", f"--{name.replace('-', '_')}"}
    for at, argument in enumerate(arguments):
        option, equals, value = argument.partition("=")
        if option in spellings:
            if equals:
                return value
            return arguments[at + 1] if at + 1 < len(arguments) else None
    return None


def _digest(engine: str, chat: ChatTemplate) -> str:
    what = json.dumps([engine, chat.jinja, chat.bos_token, chat.eos_token])
    return hashlib.sha256(what.encode("utf-8", "surrogatepass")).hexdigest()


def _thoughts(derivation: Derivation) -> tuple[tuple[str, str] | None, str]:
    """What is around thoughts, and how a turn begins that is past them."""
    findings = derivation.report["findings"]
    header = next(iter(findings["turn"]["headers"]), "")
    found = findings.get("reasoning") or {}
    start, end = found.get("open") or "", found.get("close") or ""
    around = (start.strip(), end.strip())
    return (around if all(around) else None), header + start + end


def _name(tokenizer: Any) -> str:
    return str(getattr(tokenizer, "name_or_path", None) or type(tokenizer).__name__)


def _proved(derivation: Derivation, name: str, chat: ChatTemplate, key: str) -> str:
    """One line on what is known of a response template."""
    report = derivation.report
    lost = [row["name"] for row in report["proof"] if row["recovery"]["kind"].startswith("not ")]
    damaged = [(row["recovered"], row["total"]) for row in report["damage"]]
    # One that is given as text has no name of its own.
    source = "its chat template" if chat.name == "chat template" else chat.name
    line = (
        f"unjinja: response template for {name} derived from {source} ({key[:12]}), with "
        f"{', '.join(derivation.template['fields'])}: {report['recovered']} of {len(report['proof'])} "
        f"renderings recovered, {sum(got for got, _ in damaged)} of {sum(all for _, all in damaged)} damaged ones"
    )
    if lost:
        line += f"; not recovered: {'; '.join(dict.fromkeys(lost))}"
    if report["missing_tokens"]:
        line += f"; tokens that are missing: {', '.join(report['missing_tokens'])}"
    return line


def lenient(template: Mapping[str, Any]) -> dict[str, Any]:
    """The response template for texts that may lack anything, as where a model had no room: no field has to be there, and what no field
    claims is content."""
    result = copy.deepcopy(dict(template))
    fields = result["fields"]
    if "content" not in fields and all("open" in field or "open_pattern" in field for field in fields.values()):
        fields["content"] = {}
    for field in fields.values():
        field["optional"] = True
    return result


def _is_strict(tool: Mapping[str, Any]) -> bool:
    function = tool.get("function")
    return bool(tool.get("strict") or (isinstance(function, Mapping) and function.get("strict")))


def _loosened(tool: Mapping[str, Any]) -> dict[str, Any]:
    """The tool with arguments of any kind. Their names are kept, since some formats can't hold others."""
    result = copy.deepcopy(dict(tool))
    function = result.get("function", result)
    declared = (function.get("parameters") or {}).get("properties") or {}
    function["parameters"] = {"type": "object", "properties": {name: {} for name in declared}, "additionalProperties": True}
    return result
