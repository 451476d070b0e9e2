"""unjinja in SGLang: response templates for tokenizers that have none, for the parsers `response_template` of calls and thoughts.

A name of our own would come too late for the command line. SGLang's parsers read; what they can't do with a template that was
derived is added: arguments streamed while they are written; tags of the model's own format for strict and single calls, and for
those that are required or named; what closes thoughts, where the template has a pattern for it; and calls that only the end of the turn
closes. Templates that a tokenizer has are read as they were, as are those that other parsers bring.
"""

from __future__ import annotations

import contextvars
from typing import Any

from sglang.srt.environ import envs
from sglang.srt.function_call.core_types import StreamingParseResult, ToolCallItem
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser import response_template as theirs
from sglang.srt.parser.reasoning_parser import ReasoningParser
from sglang.srt.plugins.hook_registry import HookRegistry, HookType

from .._api import Completion, ResponseParser
from .._errors import Error
from .served import BeyondLimit, Served, lenient, sendable, served

NAME = "response_template"
MODULE = "sglang.srt.parser.response_template"

# The prompt of the request that a tag is made for. SGLang asks the detector of thoughts about it, and next the one of calls for the tag.
_prompt: contextvars.ContextVar[str] = contextvars.ContextVar("prompt", default="")


def register() -> None:
    """Registers what is added, of which SGLang itself sees to it that it is added once."""
    HookRegistry.register(f"{MODULE}.resolve_response_template", _resolve, HookType.AROUND)
    HookRegistry.register(f"{MODULE}._load_serving_templates", _load, HookType.AROUND)
    FunctionCallParser.ToolCallParserEnum[NAME] = ToolDetector
    ReasoningParser.DetectorMap[NAME] = ReasoningDetector


def _format(tokenizer: Any) -> Served | None:
    return served(tokenizer, "sglang", theirs.validate_response_template_for_serving)


def _resolve(original: Any, tokenizer: Any | None, template: dict | None = None) -> dict | None:
    """The response template that SGLang finds, or else one that is derived."""
    found = original(tokenizer, template)
    if found is None and tokenizer is not None:
        format = _format(tokenizer)
        return None if format is None else format.template
    return found


def _load(original: Any, tokenizer: Any | None, template: dict | None, fallback: dict | None) -> Any:
    """A parser that brings a template of its own keeps it, where the tokenizer has none."""
    if fallback is not None and template is None and _own(tokenizer) is None:
        template = fallback
    return original(tokenizer, template, fallback)


def _own(tokenizer: Any | None) -> dict | None:
    """The response template that a tokenizer has itself."""
    known = getattr(tokenizer, "init_kwargs", None) or {}
    for template in (getattr(tokenizer, "response_template", None), known.get("response_template")):
        if isinstance(template, dict):
            return template
    return None


def _derived(tokenizer: Any | None, template: dict) -> Served | None:
    """The format whose template this is, if it was derived."""
    if tokenizer is None or _own(tokenizer) is not None:
        return None
    format = _format(tokenizer)
    return format if format is not None and format.template == template else None


class ReasoningDetector(theirs.ResponseTemplateReasoningDetector):
    """Knows what closes thoughts, where the template has a pattern for it: the engine's grammars begin there. For a model without thoughts
    that is the end of its turn, since SGLang needs something; the parser takes the markers around answers out of those, too."""

    # The signature tells SGLang that it takes a tokenizer.
    def __init__(self, stream_reasoning: bool = True, tokenizer: Any = None, **options: Any) -> None:
        super().__init__(stream_reasoning, tokenizer, **options)
        format = _derived(tokenizer, self.response_template)
        self._is_derived = format is not None
        if format is not None:
            start, end = format.thoughts or ("", getattr(tokenizer, "eos_token", None) or "")
            self.think_start_token = self.think_start_token or start
            self.think_end_token = self.think_end_token or end

    def starts_message(self, prefix: str) -> bool:
        """Whether a tag describes the output from its first token. It always does, whatever of the message the prompt has begun: what ends
        thoughts may never come, and whether a model thinks SGLang only knows of models that it knows."""
        _prompt.set(prefix)
        return self._is_derived or super().starts_message(prefix)

    def answer_opener(self, prefix: str) -> str:
        return super().answer_opener(prefix) if super().starts_message(prefix) else ""


class ToolDetector(theirs.ResponseTemplateToolDetector):
    """Streams arguments while they are written, makes tags of the model's own format, and takes calls for whole that say themselves
    where they end."""

    def __init__(self, tokenizer: Any = None, response_template: dict | None = None, **options: Any) -> None:
        super().__init__(tokenizer, response_template, **options)
        self._format = _derived(tokenizer, self.response_template)
        # That of the base was made before the format was known.
        self._adapter = self._new_adapter()
        self._completion: Completion | None = None
        self._text, self._written = "", 0
        # What the reader holds back of the prompt, as long as it may come out as text, and how much of that has.
        self._of_prompt, self._begun = "", ""
        # The calls that are passed on, by their place among all that the model writes.
        self._indices: dict[int, int] = {}

    def _new_adapter(self) -> Any:
        adapter = super()._new_adapter()
        format = getattr(self, "_format", None)
        if format is not None:
            is_unusable = adapter._is_unusable_tool_end
            adapter._is_unusable_tool_end = lambda event: is_unusable(event) and not (
                event["type"] == "region_close" and all(_regions(format, "", adapter._parser.input_text)[-1:])
            )
        return adapter

    def _to_tool_call_items(self, *args: Any) -> list[ToolCallItem]:
        items = super()._to_tool_call_items(*args)
        for item in items:
            item.name, item.parameters = sendable(item.name), sendable(item.parameters)
        return items

    def parse_streaming_increment(self, new_text: str, tools: list[Any]) -> StreamingParseResult:
        # Where a grammar holds calls or an answer, what comes behind the answer's opener is not read.
        if self._format is None or self._ends_at_answer:
            return super().parse_streaming_increment(new_text, tools)
        self._text += new_text
        return self._pass_on(self._reader(tools).feed(new_text))

    def finish(self, tools: list[Any]) -> StreamingParseResult:
        if self._format is None or self._ends_at_answer:
            return super().finish(tools)
        # Nobody says why the output ended; a call that says itself where it ends is whole all the same.
        result = self._pass_on(self._reader(tools).finish(cut_off=True)[0])
        self.incomplete_tool_call_indices = self._incomplete()
        return result

    def _incomplete(self) -> set[int]:
        """Those of the calls that are passed on that are cut off, or can't be read."""
        regions = _regions(self._format, self._prefix, self._text)
        # Of regions that hold no call, so many have begun to be passed on.
        begun = self._written - sum(regions)
        incomplete, at = set(), 0
        for calls in regions:
            if not calls and begun > 0:
                incomplete.add(self._indices.get(at))
                begun -= 1
                at += 1
            at += calls
        return incomplete - {None}

    def _reader(self, tools: list[Any]) -> Completion:
        """The reader of this output, whose thoughts are taken out already."""
        if self._completion is None:
            template = lenient(self._format.template)
            template["fields"].pop("thinking", None)
            template["fields"]["content"] = {}
            declared = [tool.model_dump() for tool in tools]
            self._completion = Completion(template, self._prefix, tools=declared, body_aware_close=True)
            self._of_prompt = _held_back(template, self._prefix)
        return self._completion

    def _pass_on(self, chunks: list[dict[str, Any]]) -> StreamingParseResult:
        """What is new of an output, and what SGLang keeps of its calls."""
        normal, items = "", []
        for chunk in chunks:
            delta = chunk["choices"][0]["delta"]
            normal += self._without_prompt(delta)
            for call in delta.get("tool_calls") or ():
                at, name, arguments = call["index"], call["function"].get("name"), call["function"].get("arguments") or ""
                if name:
                    self._written = at + 1
                    self._begin(at, name)
                index = self._indices.get(at)
                if index is not None:
                    items.append(ToolCallItem(tool_index=index, name=name or None, parameters=arguments))
                    self.streamed_args_for_tool[index] += arguments
                    self.prev_tool_call_arr[index]["arguments"] = self.streamed_args_for_tool[index]
        return StreamingParseResult(normal_text=normal, calls=items)

    def _without_prompt(self, delta: dict[str, Any]) -> str:
        """The text of a delta, without what the prompt ends with: `<think>` may begin a call, and is text when none follows."""
        text = delta.get("content") or ""
        if "tool_calls" in delta:
            # It belonged to the call.
            self._of_prompt = self._begun = ""
            return text
        text, expected = self._begun + text, self._of_prompt
        if len(text) < len(expected) and expected.startswith(text):
            self._begun = text
            return ""
        self._of_prompt = self._begun = ""
        return text.removeprefix(expected)

    def _begin(self, at: int, name: str) -> None:
        known = {tool.function.name for tool in self._tools or ()}
        if name not in known and not envs.SGLANG_FORWARD_UNKNOWN_TOOLS.get():
            theirs.logger.warning("unjinja: the model has called %r, which is no tool of the request", name)
            return
        index = self._indices[at] = len(self._indices)
        self.current_tool_id = index
        self.prev_tool_call_arr.append({"name": name, "arguments": ""})
        self.streamed_args_for_tool.append("")
        self.incomplete_tool_call_indices.add(index)

    def supports_structural_tag(self) -> bool:
        # Calls that are required or named are then read as the model writes them.
        try:
            return self.get_structural_tag(self._tools, "required") is not None
        except ValueError:
            # Who asks for one is told why there is none.
            return True

    def get_structural_tag(
        self,
        tools: list[Any] | None = None,
        tool_choice: Any = "auto",
        thinking_mode: bool = False,
        parallel_tool_calls: bool = True,
        message_start: bool = False,
    ) -> Any:
        """The tag for what comes behind thoughts, or at the `message_start` for all that comes behind the prompt. Where a schema is beyond a
        limit, it is a `ValueError`, which SGLang answers as the request's fault."""
        if self._format is None or not tools or tool_choice == "none":
            return None
        choice = tool_choice if isinstance(tool_choice, str) else tool_choice.function.name
        try:
            tag = self._format.structural_tag(
                [tool.model_dump() for tool in tools],
                choice=choice,
                # One call of a tool that is named is all that is asked for.
                parallel=parallel_tool_calls and choice in ("auto", "required"),
                prefix=_prompt.get() if message_start else self._format.past_thoughts,
            )
        except BeyondLimit as error:
            raise ValueError(f"unjinja can't hold calls to these tools: {error}") from error
        except Error:
            return None
        from xgrammar import StructuralTag

        return StructuralTag.model_validate(tag)

    def validate_structure_constraint_request(
        self,
        tool_choice: Any,
        parallel_tool_calls: bool,
        strict_requested: bool,
        *,
        tools: list[Any],
        thinking_mode: bool = False,
    ) -> Any:
        """The tag for a request, or an error where it asks for what can't be held."""
        is_free = tool_choice == "auto" and parallel_tool_calls and not strict_requested
        tag = None if is_free else self.get_structural_tag(tools, tool_choice, thinking_mode, parallel_tool_calls)
        if tag is None:
            return super().validate_structure_constraint_request(
                tool_choice, parallel_tool_calls, strict_requested, tools=tools, thinking_mode=thinking_mode
            )
        return tag


def _held_back(template: dict[str, Any], prefix: str) -> str:
    """What is text of a prompt only if nothing follows."""
    _, last = ResponseParser(template, prefix, on_malformed="event", body_aware_close=True).finalize()
    held = "".join(event["text"] for event in last if event["type"] == "region_chunk" and event["field"] == "content")
    # Completions leave out the white space before a text.
    return held.lstrip()


def _regions(format: Served, prefix: str, text: str) -> list[int]:
    """How many calls each region of calls holds: none if it can't be read, or is cut off. The last may be whole though the output ends before what
    closes it, as JSON says itself."""
    parser = ResponseParser(lenient(format.template), prefix, unfinished="drop", on_malformed="event", on_unread="malformed")
    events = [event for event in parser.feed(text) + parser.finalize()[1] if event["field"] == "tool_calls"]
    closed = [event.get("value") for event in events if event["type"] in ("region_close", "region_malformed")]
    return [len(value) if isinstance(value, list) else int(value is not None) for value in closed]
