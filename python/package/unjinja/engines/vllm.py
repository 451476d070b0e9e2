"""unjinja in vLLM: response templates for tokenizers that have none, and the parser `unjinja`.

`--tool-call-parser hf --reasoning-parser hf` read with vLLM's own parser. `unjinja` goes further: arguments are streamed while they are
written; `required`, named and strict tools and `parallel_tool_calls=false` are held by a grammar of the model's own
format; models without thoughts or without calls are served, too; a call that is cut off is not handed out whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from vllm import envs
from vllm.entrypoints.generate.base.protocol import (
    DeltaFunctionCall,
    DeltaMessage,
    DeltaToolCall,
    FunctionCall,
)
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.exceptions import VLLMValidationError
from vllm.logger import init_logger
from vllm.parser import response_template as hf
from vllm.reasoning import ReasoningParserManager
from vllm.sampling_params import StructuredOutputsParams
from vllm.tool_parsers import ToolParserManager
from vllm.tool_parsers.structural_tag_registry import resolve_tool_strictness

from .._api import Completion, ResponseParser
from .._errors import Error
from .served import Served, lenient, sendable, served

NAME = "unjinja"

logger = init_logger("vllm.unjinja")


def register() -> None:
    """Registers the parser, and gives vLLM's own one what it asks for. May be called several times."""
    ToolParserManager.register_module(NAME, module=UnjinjaToolParser)
    ReasoningParserManager.register_module(NAME, module=UnjinjaReasoningParser)
    if hf.resolve_response_template is not resolve:
        hf.resolve_response_template = resolve
        hf.validate_tokenizer_response_template = validate


_resolve = hf.resolve_response_template
_validate = hf.validate_tokenizer_response_template


def resolve(tokenizer: Any | None, template: dict[str, Any] | None = None) -> dict[str, Any] | None:
    """The response template that vLLM finds, or else one that is derived."""
    found = _resolve(tokenizer, template)
    if found is None and tokenizer is not None:
        format = _format(tokenizer)
        return None if format is None else format.template
    return found


def _format(tokenizer: Any) -> Served | None:
    return served(tokenizer, "vllm", hf.validate_response_template_for_serving)


def validate(tokenizer: Any, *, reasoning_parser: str | None, tool_parser: str | None) -> None:
    """As vLLM's own, but that `unjinja` needs neither thoughts nor calls."""
    _validate(
        tokenizer,
        reasoning_parser=None if reasoning_parser == NAME else reasoning_parser,
        tool_parser=None if tool_parser == NAME else tool_parser,
    )


class UnjinjaReasoningParser(hf.ResponseTemplateReasoningParser):
    """Tells the engine where thoughts end, token by token."""

    @classmethod
    def unified_parser_cls(cls) -> type[hf.ResponseTemplateParser]:
        return UnjinjaParser

    def __init__(self, tokenizer: Any, *args: Any, response_template: Any = None, **kwargs: Any) -> None:
        super().__init__(tokenizer, *args, response_template=response_template, **kwargs)
        self._given = response_template
        self._watch: _Watch | None = None

    @property
    def reasoning_start_str(self) -> str | None:
        return super().reasoning_start_str or self._around(0)

    @property
    def reasoning_end_str(self) -> str | None:
        return super().reasoning_end_str or self._around(1)

    def _around(self, end: int) -> str | None:
        """What opens or closes thoughts, where the response template has a pattern for it."""
        format = _format(self.model_tokenizer) if hf.THINKING_FIELD in self.response_template.fields else None
        return format.thoughts[end] if format and format.thoughts else None

    def is_reasoning_end_streaming(self, input_ids: Sequence[int], delta_ids: Iterable[int]) -> bool:
        if hf.THINKING_FIELD not in self.response_template.fields:
            return True
        if self._watch is None or not self._watch.goes_on(input_ids):
            template = resolve(self.model_tokenizer, self._given)
            self._watch = _Watch(template, self.model_tokenizer, input_ids, len(list(delta_ids)))
        return self._watch.ended(input_ids)


class _Watch:
    """An output on its way through a parser, as far as it matters whether the thoughts have ended."""

    # So many tokens are compared to know whether tokens are those of before, or another draft of a speculation.
    TAIL = 16

    def __init__(self, template: dict[str, Any], tokenizer: Any, input_ids: Sequence[int], new: int) -> None:
        self._tokenizer = tokenizer
        self._read = len(input_ids) - new
        self._tail: list[int] = []
        self._pending: list[int] = []
        prefix = hf._decode(tokenizer, list(input_ids[: self._read]))
        self._parser = ResponseParser(lenient(template), prefix=prefix, on_malformed="event")
        self._ended = False
        self._thinks = False
        self._take(self._parser.initial_events)

    def goes_on(self, input_ids: Sequence[int]) -> bool:
        """Whether these tokens begin with those that have been read."""
        start = self._read - len(self._tail)
        return len(input_ids) >= self._read and list(input_ids[start : self._read]) == self._tail

    def ended(self, input_ids: Sequence[int]) -> bool:
        new = list(input_ids[self._read :])
        self._read = len(input_ids)
        self._tail = (self._tail + new)[-self.TAIL :]
        # A character may be written in several tokens.
        self._pending += new
        text = hf._decode(self._tokenizer, self._pending)
        if not self._ended and not text.endswith("\ufffd"):
            self._pending = []
            self._take(self._parser.feed(text))
        return self._ended

    def _take(self, events: Iterable[dict[str, Any]]) -> None:
        for event in events:
            if event["type"] == "region_open":
                self._thinks = event["field"] == hf.THINKING_FIELD
                self._ended |= not self._thinks
            elif event["type"] in ("region_close", "region_malformed"):
                self._ended |= self._thinks


class UnjinjaToolParser(hf.ResponseTemplateToolParser):
    """Selects `UnjinjaParser` for calls."""

    @classmethod
    def unified_parser_cls(cls) -> type[hf.ResponseTemplateParser]:
        return UnjinjaParser


class UnjinjaParser(hf.ResponseTemplateParser):
    """Reads thoughts, answers and calls while they are written, and holds calls to a grammar where that is asked for."""

    reasoning_parser_cls = UnjinjaReasoningParser
    tool_parser_cls = UnjinjaToolParser

    def __init__(self, tokenizer: Any, tools: Any = None, *, response_template: Any = None, **kwargs: Any) -> None:
        super().__init__(tokenizer, tools, response_template=response_template, **kwargs)
        self._template = lenient(resolve(tokenizer, response_template))
        self._stop_ids = _stop_ids(tokenizer)
        self._is_stopped = False

    # ---- grammars

    def _constrain_request(self, request: Any) -> Any:
        asked = self._asked(request)
        if asked is None:
            return request
        guarantee, parameter, choice, parallel, tools = asked
        own = request.extract_structured_outputs()
        if own is not None and choice == "auto":
            logger.warning_once("unjinja: %s can't be held beside a structured output of the request's own.", guarantee)
            return request
        format = _format(self.model_tokenizer)
        try:
            if format is None:
                raise Error("the tokenizer has no chat template that shows how the model writes calls")
            tag = format.structural_tag(tools, choice=choice, parallel=parallel, prefix=self._prefix)
        except Error as error:
            raise VLLMValidationError(
                f"unjinja can't guarantee {guarantee} with this model: {error}", parameter=parameter
            ) from error
        held = StructuredOutputsParams(structural_tag=json.dumps(tag))
        if isinstance(request, ChatCompletionRequest):
            request.structured_outputs = held
            request.response_format = None
        else:
            request._parser_structured_outputs = held
        # The tag begins where the prompt ends, with the thoughts.
        request._grammar_from_parser = True
        return request

    def _asked(self, request: Any) -> tuple[str, str, str, bool, list[dict[str, Any]]] | None:
        """What is asked of the calls, if anything has to be held: the guarantee, the parameter that asks for it, the choice of tools,
        whether there may be several calls, and the tools."""
        if self._tool_parser is None or not request.tools or request.tool_choice == "none":
            return None
        parallel = getattr(request, "parallel_tool_calls", True) is not False
        choice = _choice(request)
        level = self.tool_strict_level
        if level is None:
            level = self._tool_parser.default_tool_strict_level
        if choice == "auto" and not hf._tool_parsing_enabled(request, enable_auto_tools=self._enable_auto_tools):
            return None
        tools = resolve_tool_strictness(request.tools, choice, level)
        if choice != "auto":
            named = choice != "required"
            guarantee = ("named tool choice" if named else "required tool choice", "tool_choice")
            # One call of a tool that is named is all that is asked for.
            return *guarantee, choice, parallel and not named, hf._as_tool_dicts(tools)
        if tools is not None and envs.VLLM_ENFORCE_STRICT_TOOL_CALLING:
            return "strict tools", "tools", choice, parallel, hf._as_tool_dicts(tools)
        if not parallel:
            return "parallel_tool_calls=False", "parallel_tool_calls", choice, False, hf._as_tool_dicts(request.tools)
        return None

    # ---- reading

    def parse(
        self,
        model_output: str,
        request: Any,
        enable_auto_tools: bool = False,
        model_output_token_ids: Sequence[int] = (),
    ) -> tuple[str | None, str | None, list[FunctionCall] | None]:
        self._is_stopped = self._stops(model_output, model_output_token_ids)
        if not self._reads_calls(request, enable_auto_tools):
            return super().parse(model_output, request, enable_auto_tools, model_output_token_ids)
        self._initialize_history_tool_call_cnt(request)
        delta = self._stream_of(sends_thoughts=True, new_id=str).feed(model_output, finished=True)
        calls = [
            FunctionCall(id=self._new_tool_call_id(name), name=name, arguments=arguments)
            for name, arguments in self._whole_calls(model_output)
        ]
        return (delta.reasoning, delta.content, calls or None) if delta else (None, None, calls or None)

    def _whole_calls(self, output: str) -> list[tuple[str, str]]:
        """Names and arguments of the calls that can be read and are not cut off. While they are written, that can't be known of them."""
        unfinished = "keep" if self._is_stopped else "drop"
        thoughts = {"calls_end_thoughts": self._is_stopped}
        parser = ResponseParser(self._template, self._prefix, unfinished=unfinished, **thoughts, **self._reading())
        events = parser.feed(output) + parser.finalize()[1]
        closed = [event for event in events if event["type"] == "region_close" and event["field"] == hf.TOOL_FIELD]
        calls = [call for event in closed for call in hf._to_tool_calls(event["value"])]
        return [(sendable(name), sendable(arguments)) for name, arguments in calls]

    def parse_delta(self, delta_text: str, delta_token_ids: list[int], *args: Any, **kwargs: Any) -> DeltaMessage | None:
        if delta_token_ids:
            self._is_stopped = self._stops(delta_text, delta_token_ids)
        return super().parse_delta(delta_text, delta_token_ids, *args, **kwargs)

    def _new_stream(self, request: Any, *, enable_auto_tools: bool, include_reasoning: bool) -> Any:
        if not self._reads_calls(request, enable_auto_tools):
            return super()._new_stream(
                request, enable_auto_tools=enable_auto_tools, include_reasoning=include_reasoning
            )
        return self._stream_of(sends_thoughts=include_reasoning, new_id=self._new_tool_call_id)

    def _stream_of(self, *, sends_thoughts: bool, new_id: Callable[[str], str]) -> _Stream:
        return _Stream(
            Completion(self._template, self._prefix, reasoning="reasoning", **self._reading()),
            parses_thoughts=self._reasoning_parser is not None,
            sends_thoughts=sends_thoughts,
            new_id=new_id,
            is_cut_off=lambda: not self._is_stopped,
        )

    def _reading(self) -> dict[str, Any]:
        """Nobody is served an error for what a model wrote: a call that can't be read is text. No delimiter counts in a string of JSON."""
        return {"tools": self._tools, "on_malformed": "text", "on_unread": "malformed", "body_aware_close": True}

    def _reads_calls(self, request: Any, enable_auto_tools: bool) -> bool:
        """Whether calls are read as calls. If not they are text, as vLLM's own parser has it."""
        if hf.TOOL_FIELD not in self.response_template.fields:
            return True
        return self._tool_parser is not None and hf._tool_parsing_enabled(request, enable_auto_tools=enable_auto_tools)

    def _stops(self, text: str, ids: Sequence[int]) -> bool:
        """Whether the model has ended its turn with the last of these tokens, and has not been cut off: the engine takes that token out of the
        text, and no other."""
        if not ids or ids[-1] not in self._stop_ids:
            return False
        return not text.endswith(hf._decode(self.model_tokenizer, [ids[-1]]))


class _Stream:
    """An output on its way, as vLLM's deltas."""

    def __init__(
        self,
        completion: Completion,
        *,
        parses_thoughts: bool,
        sends_thoughts: bool,
        new_id: Callable[[str], str],
        is_cut_off: Callable[[], bool],
    ) -> None:
        self._completion = completion
        self._parses_thoughts, self._sends_thoughts = parses_thoughts, sends_thoughts
        self._new_id, self._is_cut_off = new_id, is_cut_off
        self._is_finished = self._has_text = False
        self._sent: set[int] = set()

    def feed(self, text: str, *, finished: bool) -> DeltaMessage | None:
        if self._is_finished:
            return None
        self._has_text |= bool(text)
        chunks, whole_calls = self._completion.feed(text), None
        if finished:
            self._is_finished = True
            if self._has_text:
                last, whole = self._completion.finish(cut_off=self._is_cut_off())
                chunks += last
                whole_calls = len(whole["choices"][0]["message"].get("tool_calls") or ())
                for field in self._completion.malformed:
                    logger.warning("unjinja: what was written of %s can't be read, and is left out", field)
        return self._delta(chunks, whole_calls)

    def _delta(self, chunks: Iterable[dict[str, Any]], whole_calls: int | None) -> DeltaMessage | None:
        """The chunks as one delta. Of a call that is cut off, which comes after the whole ones, nothing more is begun to be sent."""
        reasoning, content, calls = "", "", {}
        for chunk in chunks:
            delta = chunk["choices"][0]["delta"]
            thoughts = delta.get("reasoning") or ""
            content += delta.get("content") or ""
            if not self._parses_thoughts:
                content += thoughts
            elif self._sends_thoughts:
                reasoning += thoughts
            for call in delta.get("tool_calls") or ():
                if whole_calls is None or call["index"] < whole_calls or call["index"] in self._sent:
                    self._add(calls, call)
        self._sent |= calls.keys()
        fields = {"reasoning": reasoning, "content": content, "tool_calls": list(calls.values())}
        fields = {name: value for name, value in fields.items() if value}
        return DeltaMessage(**fields) if fields else None

    def _add(self, calls: dict[int, DeltaToolCall], call: dict[str, Any]) -> None:
        """Adds a piece of a call to what is sent of it now."""
        function = call["function"]
        sent = calls.get(call["index"])
        if sent is None:
            sent = calls[call["index"]] = DeltaToolCall(index=call["index"], function=DeltaFunctionCall())
        if function.get("name"):
            sent.id, sent.type = self._new_id(function["name"]), "function"
            sent.function.name = function["name"]
        sent.function.arguments = (sent.function.arguments or "") + (function.get("arguments") or "")


def _choice(request: Any) -> str:
    """`auto`, `required`, or the name of a tool."""
    choice = request.tool_choice
    if not hf._is_named_tool_choice(request):
        return choice if isinstance(choice, str) else "auto"
    return getattr(choice, "name", None) or choice.function.name


def _stop_ids(tokenizer: Any) -> frozenset[int]:
    """The tokens that may end a turn: all that are special."""
    ids = set(getattr(tokenizer, "all_special_ids", None) or ())
    added = getattr(tokenizer, "added_tokens_decoder", None) or {}
    ids.update(id for id, token in added.items() if getattr(token, "special", False))
    return frozenset(ids)
