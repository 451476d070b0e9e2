"""unjinja in SGLang: response templates for tokenizers that have none, for the parsers `response_template` of calls and thoughts.

A name of our own would come too late for the command line. SGLang's parsers read; what they can't do with a template that was
derived is added: tags of the model's own format for strict and single calls, and for those that are required or named; what closes
thoughts, where the template has a pattern for it; and calls that only the end of the turn closes. Templates that a tokenizer
has are read as they were, as are those that other parsers bring.
"""

from __future__ import annotations

from typing import Any

from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser import response_template as theirs
from sglang.srt.parser.reasoning_parser import ReasoningParser
from sglang.srt.plugins.hook_registry import HookRegistry, HookType

from .._api import ResponseParser
from .._errors import Error
from .served import Served, lenient, served

NAME = "response_template"
MODULE = "sglang.srt.parser.response_template"


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
        if format is not None:
            start, end = format.thoughts or ("", getattr(tokenizer, "eos_token", None) or "")
            self.think_start_token = self.think_start_token or start
            self.think_end_token = self.think_end_token or end


class ToolDetector(theirs.ResponseTemplateToolDetector):
    """Makes tags of the model's own format, and takes calls for whole that say themselves where they end."""

    def __init__(self, tokenizer: Any = None, response_template: dict | None = None, **options: Any) -> None:
        super().__init__(tokenizer, response_template, **options)
        self._format = _derived(tokenizer, self.response_template)
        # That of the base was made before the format was known.
        self._adapter = self._new_adapter()

    def _new_adapter(self) -> Any:
        adapter = super()._new_adapter()
        format = getattr(self, "_format", None)
        if format is not None:
            is_unusable = adapter._is_unusable_tool_end
            adapter._is_unusable_tool_end = lambda event: is_unusable(event) and not _is_whole(format, adapter, event)
        return adapter

    def supports_structural_tag(self) -> bool:
        # Calls that are required or named are then read as the model writes them.
        return self.get_structural_tag(self._tools, "required") is not None

    def get_structural_tag(
        self,
        tools: list[Any] | None = None,
        tool_choice: Any = "auto",
        thinking_mode: bool = False,
        parallel_tool_calls: bool = True,
        message_start: bool = False,
    ) -> Any:
        """The tag for what comes behind thoughts, or at the `message_start` for all of the output."""
        if self._format is None or not tools or tool_choice == "none":
            return None
        choice = tool_choice if isinstance(tool_choice, str) else tool_choice.function.name
        try:
            tag = self._format.structural_tag(
                [tool.model_dump() for tool in tools],
                choice=choice,
                # One call of a tool that is named is all that is asked for.
                parallel=parallel_tool_calls and choice in ("auto", "required"),
                prefix="" if message_start else self._format.past_thoughts,
            )
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


def _is_whole(format: Served, adapter: Any, event: dict) -> bool:
    """Whether a call that the end of the output closes is whole all the same, as JSON says itself."""
    if event["type"] != "region_close":
        return False
    parser = ResponseParser(lenient(format.template), prefix="", unfinished="drop", on_malformed="event")
    last = parser.feed(adapter._parser.input_text) + parser.finalize()[1]
    ends = [event["type"] for event in last if event["field"] == "tool_calls" and event["type"] != "region_chunk"]
    return ends[-1:] == ["region_close"]
