"""What the package offers: the native parts, given what people have at hand in Python."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Union

from . import _native
from ._errors import LoadError
from ._native import ChatTemplate, Completion, ResponseParser, ResponseTemplate

Message = Mapping[str, Any]
Tool = Union[Mapping[str, Any], Callable[..., Any]]
Template = Union[Mapping[str, Any], ResponseTemplate, str]
Source = Union[str, "os.PathLike[str]", ChatTemplate, Any]


# ---------------------------------------------------------------------------------------------- outputs


def _listed(name: str, given: Iterable[Any]) -> list[Any]:
    """The given items as a list. A text does not count as a list of its characters."""
    if isinstance(given, (str, bytes, bytearray)):
        raise TypeError(f"`{name}`: expected a list, found {type(given).__name__}")
    return list(given)


def _tools(tools: Iterable[Tool] | Mapping[str, Any] | None) -> Any:
    """The tools as JSON: functions are described as the transformers library describes them."""
    if tools is None or isinstance(tools, Mapping):
        return tools

    def described(tool: Tool) -> Any:
        if inspect.isfunction(tool) or inspect.ismethod(tool):
            from transformers.utils import get_json_schema

            return get_json_schema(tool)
        return tool

    return [described(tool) for tool in _listed("tools", tools)]


def parse_response(
    text: str,
    response_template: Template,
    *,
    prefix: str | None = None,
    tools: Iterable[Tool] | None = None,
) -> dict[str, Any]:
    """Parses a whole output, and returns the message.

    It takes the arguments of the transformers function of this name. `prefix` is the prompt that
    came before the output: templates often write the beginning of the message there. `prefix=""` says
    that the output is the whole message. `tools` type the arguments of calls.
    """
    return _native.parse_response(text, response_template, prefix=prefix, tools=_tools(tools))


# --------------------------------------------------------------------------------------- chat templates


def chat_template(
    source: Source,
    *,
    variant: str | None = None,
    offline: bool = False,
    bos_token: str | None = None,
    eos_token: str | None = None,
    now: str | None = None,
    variables: Mapping[str, Any] | None = None,
) -> ChatTemplate:
    """Loads a chat template.

    Args:
        source: A tokenizer that has one; a .jinja file, a tokenizer_config.json, a model's folder, a GGUF
            file, or a model id such as org/name[@revision]; or the template itself, as text.
        variant: Which of several templates to take, such as `tool_use`.
        offline: Look for model ids in the cache only.
        bos_token: The token that begins a prompt, if it does not come with the template.
        eos_token: The token that ends a turn, if it does not come with the template.
        now: The time that the template takes for the current one, such as `2026-01-15T12:00:00`.
        variables: Further variables of the template.
    """
    if isinstance(source, ChatTemplate):
        given = {"variant": variant, "bos_token": bos_token, "eos_token": eos_token, "now": now, "variables": variables}
        for name in [name for name, value in given.items() if value is not None]:
            raise TypeError(f"`{name}` comes too late for a ChatTemplate: pass it when the template is loaded")
        return source
    options = {"now": now, "variables": variables}
    if isinstance(source, (str, os.PathLike)):
        text = os.fspath(source)
        if "{%" in text or "{{" in text:
            return ChatTemplate.from_jinja(text, bos_token=bos_token, eos_token=eos_token, **options)
        return ChatTemplate.load(
            text, variant=variant, offline=offline, bos_token=bos_token, eos_token=eos_token, **options
        )
    template = getattr(source, "chat_template", None)
    if isinstance(template, Mapping):
        name = variant or ("tool_use" if "tool_use" in template else "default")
        if name not in template:
            raise LoadError(f"there is no chat template `{name}`: there are {', '.join(template)}")
        template = template[name]
    if not isinstance(template, str):
        raise LoadError(
            f"this {type(source).__name__} has no chat template: give one that has, or the name of a file"
        )
    return ChatTemplate.from_jinja(
        template,
        bos_token=bos_token or getattr(source, "bos_token", None),
        eos_token=eos_token or getattr(source, "eos_token", None),
        **options,
    )


# For functions with an argument of that name.
_load = chat_template
_LOADING = frozenset(inspect.signature(chat_template).parameters) - {"source"}


@dataclass(frozen=True)
class Derivation:
    """A response template, and how it was found."""

    template: dict[str, Any]
    """The response template."""
    is_whole: bool
    """Whether all that the chat template writes is recovered, and no token is missing."""
    report: dict[str, Any]
    """What is known of it: `findings`, `proof` and how many renderings of it are `recovered`, `refused`, `damage`, `outputs`, `missing_tokens`."""

    def __repr__(self) -> str:
        recovered, proof = self.report["recovered"], self.report["proof"]
        return f"Derivation(fields={list(self.template['fields'])}, {recovered} of {len(proof)} renderings recovered)"


def derive(
    source: Source,
    *,
    reasoning_field: str | None = None,
    profile: str | Sequence[str] = (),
    ids: bool = False,
    guess_types: bool = False,
    outputs: Sequence[str | Mapping[str, Any]] = (),
    **options: Any,
) -> Derivation:
    """Works out the response template of a chat template.

    Args:
        source: Where the chat template is; see `chat_template`, which takes the other options, too.
        reasoning_field: The field for reasoning; if none is named, the one that suits those of `profile`, or else
            `thinking`.
        profile: Whom the template is for: `transformers`, `vllm`, `sglang` or `trl`, each with a version if it
            matters, as in `transformers@5.20`; several of them; or `all`. All have to take it; if none is named, all
            that there are. Whether they take it is in the report under `for`.
        ids: Whether calls keep their ids.
        guess_types: Whether values that are written raw are read as JSON where they are JSON.
        outputs: Outputs of the model, texts or dicts with `output`, `prefix`, `message` and `tools`: evidence
            of what the chat template does not show.
    """
    profiles = _profiles(profile)
    reasoning = reasoning_field or _native.reasoning_name(profiles) or "thinking"
    report = chat_template(source, **options).derive(
        reasoning_field=reasoning,
        ids=ids,
        guess_types=guess_types,
        outputs=_listed("outputs", outputs),
        profiles=profiles,
    )
    template = report.pop("template")
    report["for"] = _native.verdicts(template, profiles)
    return Derivation(template=template, is_whole=report["is_whole"], report=report)


def attach(tokenizer: Any, *, overwrite: bool = False, **options: Any) -> Derivation | None:
    """Derives a response template from a tokenizer's chat template, and sets it as `response_template`.

    A tokenizer that has one keeps it, unless `overwrite`; then nothing is derived, and nothing returned.
    The other options are those of `derive`.

        >>> unjinja.attach(tokenizer)                                       # doctest: +SKIP
        >>> tokenizer.parse_response(output, prefix=prompt)                 # doctest: +SKIP
    """
    if getattr(tokenizer, "response_template", None) is not None and not overwrite:
        return None
    derivation = derive(tokenizer, **options)
    tokenizer.response_template = derivation.template
    return derivation


def render(
    source: Source,
    messages: Sequence[Message],
    *,
    tools: Iterable[Tool] | None = None,
    add_generation_prompt: bool = False,
    **options: Any,
) -> str:
    """Renders a conversation.

    Options are those of `chat_template`; all others are variables of the template, as `apply_chat_template` takes them.

        >>> unjinja.render(tokenizer, messages, enable_thinking=False)      # doctest: +SKIP
    """
    loading = {name: options.pop(name) for name in _LOADING & options.keys()}
    template = chat_template(source, **loading)
    messages = _listed("messages", messages)
    return template.render(messages, tools=_tools(tools), add_generation_prompt=add_generation_prompt, **options)


def caps(source: Source, **options: Any) -> dict[str, Any]:
    """Shows what a chat template renders, refuses, or silently drops, and whether it keeps what was said when a conversation
    continues; see `chat_template` for the options."""
    return chat_template(source, **options).caps()


def read(source: Source, text: str, *, proof: bool = True, **options: Any) -> dict[str, Any]:
    """Reads a conversation back from the text that a chat template rendered.

    Returns a dict of the `messages` and the `tools`; the `variables` that the text shows to be set;
    `is_open`, whether the conversation continues; `is_proved`, whether what was read renders to the same
    text; and `remarks`.
    """
    return chat_template(source, **options).read(text, proof=proof)


# ------------------------------------------------------------------------------------------------ masks


@dataclass(frozen=True)
class Masked:
    """The text of a conversation, and which part of it the model writes."""

    text: str
    """The text."""
    spans: list[tuple[int, int]]
    """What the model writes, from and to, in characters."""
    warnings: list[str]
    """What a training on these spans would miss."""

    def tokens(self, offsets: Iterable[tuple[int, int]]) -> list[int]:
        """The mask of tokens with these offsets in the text: 1 for those that hold anything the model writes.

            >>> Masked("<user>Hi<bot>Hello<end>", [(13, 23)], []).tokens([(0, 6), (6, 13), (13, 18), (18, 23)])
            [0, 0, 1, 1]
        """
        mask = []
        at = 0
        for start, end in offsets:
            # Offsets go up, and so do spans: neither is gone through twice.
            while at < len(self.spans) and self.spans[at][1] <= start:
                at += 1
            mask.append(int(start < end and at < len(self.spans) and self.spans[at][0] < end))
        return mask


def mask(
    source: Source,
    conversations: Sequence[Any],
    *,
    tools: Iterable[Tool] | None = None,
    ending: bool = True,
    white_space: bool = False,
    prefilled: bool = False,
    header: bool | None = None,
    **options: Any,
) -> Masked | list[Masked]:
    """Shows which part of a conversation the model writes: for one list of messages, or for each of many.

    Args:
        source: Where the chat template is; see `chat_template`, which takes the other options, too.
        conversations: The messages; or a list of conversations, each a list of messages or a dict of
            `messages` and `tools`.
        tools: The tools of conversations that have none of their own.
        ending: Whether the token that ends the turn is in the mask.
        white_space: Whether white space behind it is.
        prefilled: Whether what a prompt writes of the turn is, such as an opened `<think>`.
        header: Whether the header is that the turn begins with. By default, it is if no turn of the template
            goes on from the prompt for it: then no prompt has written it.
    """
    is_one = _is_conversation(conversations)
    given = _tools(tools)
    all_of_them = [conversations] if is_one else _listed("conversations", conversations)
    template = chat_template(source, **options)
    masked = template.mask(
        [_messages_and_tools(conversation, given) for conversation in all_of_them],
        ending=ending,
        white_space=white_space,
        prefilled=prefilled,
        header=header,
    )
    result = [
        Masked(one["text"], [(start, end) for start, end in one["spans"]], one["warnings"]) for one in masked
    ]
    return result[0] if is_one else result


def _is_conversation(given: Any) -> bool:
    if isinstance(given, Mapping):
        return True
    return bool(given) and isinstance(given[0], Mapping) and "messages" not in given[0]


def _messages_and_tools(conversation: Any, tools: Any) -> tuple[Any, Any]:
    if isinstance(conversation, Mapping):
        if "messages" not in conversation:
            keys = ", ".join(f"`{key}`" for key in conversation) or "nothing"
            raise ValueError(f"a conversation: expected a dict with `messages`, found one with {keys}")
        own = conversation.get("tools")
        return conversation["messages"], tools if own is None else _tools(own)
    return conversation, tools


def mask_tokens(
    source: Source,
    conversations: Sequence[Any],
    *,
    tokenizer: Any = None,
    **options: Any,
) -> dict[str, list[list[int]]]:
    """Token masks of many conversations, as trainers and their collators take them.

    Returns columns: `input_ids`, `attention_mask`, `assistant_masks` with 1 for each token that holds
    anything the model writes, and `labels`, which are the ids of these tokens and -100 elsewhere.

    Args:
        source: Where the chat template is; a tokenizer with one, as a rule.
        conversations: As `mask` takes them.
        tokenizer: The tokenizer, if it is not the source. It has to give offsets, as all fast ones do.

    The other options are those of `mask`.
    """
    tokenizer = source if tokenizer is None else tokenizer
    masked = mask(source, [conversations] if _is_conversation(conversations) else conversations, **options)
    columns: dict[str, list[list[int]]] = {
        "input_ids": [],
        "attention_mask": [],
        "assistant_masks": [],
        "labels": [],
    }
    for one in masked:
        # The text has its special tokens already.
        encoded = tokenizer(one.text, add_special_tokens=False, return_offsets_mapping=True)
        ids = list(encoded["input_ids"])
        tokens = one.tokens(encoded["offset_mapping"])
        columns["input_ids"].append(ids)
        columns["attention_mask"].append([1] * len(ids))
        columns["assistant_masks"].append(tokens)
        columns["labels"].append([token if masked else -100 for token, masked in zip(ids, tokens)])
    return columns


def tagged(source: Source, **options: Any) -> str:
    """The chat template with `{% generation %}` tags around what the model writes."""
    return chat_template(source, **options).tagged()


def role_boundaries(source: Source, **options: Any) -> list[dict[str, Any]]:
    """The literals between which the assistant's turns lie, as axolotl's `role_boundaries` take them. A `MaskError` says why
    there are none, as where a turn ends with one marker or another."""
    return chat_template(source, **options).role_boundaries()


# ------------------------------------------------------------------------------------- turn after turn


class Bridge(_native.Bridge):
    """The way from one turn of the model to the next: what to append to a prompt and the output that
    followed it, so that the model continues. Nothing that it wrote is rendered or tokenized again."""

    tokenizer: Any

    def __new__(cls, template: ChatTemplate, tokenizer: Any = None) -> Bridge:
        self = super().__new__(cls, template)
        self.tokenizer = tokenizer
        return self

    def text(
        self,
        messages: Sequence[Message],
        output: str,
        *,
        tools: Iterable[Tool] | None = None,
        add_generation_prompt: bool = True,
    ) -> str:
        """The text to append to the prompt and the output.

        Args:
            messages: The conversation: up to the message of the output, and what was said after it.
            output: What the model wrote, as it wrote it. The token that ends its turn may be missing.
            tools: The tools that are offered.
            add_generation_prompt: Whether the model is to speak next.
        """
        messages = _listed("messages", messages)
        return super().text(
            messages, output, tools=_tools(tools), add_generation_prompt=add_generation_prompt
        )

    def ids(self, messages: Sequence[Message], output: str | Sequence[int], **options: Any) -> list[int]:
        """The ids of that text, to append to those of the prompt and the output. The output may be ids, too."""
        if self.tokenizer is None:
            raise TypeError("there is no tokenizer: give one to `bridge`, as its source or with `tokenizer=`")
        if not isinstance(output, str):
            output = self.tokenizer.decode(list(output), skip_special_tokens=False)
        text = self.text(messages, output, **options)
        # The text has its special tokens already.
        return list(self.tokenizer.encode(text, add_special_tokens=False))


def bridge(source: Source, *, tokenizer: Any = None, **options: Any) -> Bridge:
    """Finds out what a chat template writes between one turn of the model and the next.

    Args:
        source: Where the chat template is; a tokenizer with one, as a rule. See `chat_template`, which takes
            the other options, too.
        tokenizer: The tokenizer, if it is not the source, and if ids are wanted.

        >>> bridge = unjinja.bridge(tokenizer)                              # doctest: +SKIP
        >>> ids += output_ids + bridge.ids(messages, output_ids)            # doctest: +SKIP
    """
    if tokenizer is None and hasattr(source, "encode") and not isinstance(source, str):
        tokenizer = source
    return Bridge(chat_template(source, **options), tokenizer)


@dataclass(frozen=True)
class Mended:
    """A chat template that was mended, as far as this could be proved."""

    template: str
    """The template. If nothing was changed, it is as it was."""
    outcomes: list[dict[str, Any]]
    """What came of each fault: `fault`, and `verdict`, which is `absent`, `mended` or `left`. A mended one has its
    `changes`, one that was left the line and the reason."""


def mend(source: Source, faults: str | Sequence[str], **options: Any) -> Mended:
    """Removes faults from a chat template, and changes nothing else.

    Args:
        source: Where the chat template is; see `chat_template`, which takes the other options, too.
        faults: What to mend: `results`, `questions`, `prefix` for both of them, `json`, `arguments`, `content`,
            `dates`, `generation`.
    """
    named = [faults] if isinstance(faults, str) else _listed("faults", faults)
    return Mended(*chat_template(source, **options).mend(named))


# --------------------------------------------------------------------------------- grammars and checks


def grammar(
    source: Source,
    tools: Iterable[Tool] | None = None,
    *,
    format: Literal["gbnf", "lark", "structural-tag", "regex"] = "gbnf",
    tool_choice: str = "auto",
    reasoning: Literal["auto", "on", "off"] = "auto",
    parallel: bool = True,
    prefix: str = "",
    best_effort: bool = False,
    **options: Any,
) -> str | dict[str, Any]:
    """The grammar of what a model may write, for an engine: text, or a dict for `structural-tag`.

    What the grammar can't express of the tools is warned of. `tool_choice` is `auto`, `required`, `none`, or the
    name of a tool; `prefix` is the prompt, which may have begun the turn. A schema that is beyond a limit, such as a very deep one,
    is refused with a `GrammarError` that names the tool and the place in it; with `best_effort`, any value is allowed there.
    """
    written, remarks = chat_template(source, **options).grammar(
        _tools(tools),
        format=format,
        tool_choice=tool_choice,
        reasoning=reasoning,
        parallel=parallel,
        prefix=prefix,
        best_effort=best_effort,
    )
    for remark in remarks:
        warnings.warn(remark, stacklevel=2)
    return written


def check(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    filter: str | None = None,
    seed: int | None = None,
) -> dict[str, Any]:
    """Checks response templates against fixtures: files, or folders of them. Returns the report: how many cases
    have `passed` and `failed`, how many files were `unreadable`, and what is known of each of the `files`."""
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    return _native.check([os.fspath(path) for path in paths], filter=filter, seed=seed)


def lint(
    response_template: Template,
    *,
    chat_template: Source | None = None,
    profile: str | Sequence[str] = (),
    **options: Any,
) -> list[dict[str, Any]]:
    """Warns about problems of a response template, though it is valid; about more of them with its chat template.

    With a `profile`, as `derive` takes it, what these packages do not accept is reported, too, each with
    the name of the profile under `for`.
    """
    profiles = _profiles(profile)
    if chat_template is None:
        return _native.lint_template(response_template, profiles=profiles)
    return _load(chat_template, **options).lint(response_template, profiles=profiles)


def lint_chat_template(source: Source, **options: Any) -> list[dict[str, Any]]:
    """What is wrong with a chat template: each complaint with its `line` and `column` in the Jinja, and the conversation
    that shows it under `shown`."""
    return chat_template(source, **options).lint_itself()


def _profiles(profile: str | Sequence[str]) -> list[str]:
    return [profile] if isinstance(profile, str) else list(profile)


@dataclass(frozen=True)
class Ported:
    """A response template that was rewritten for a package."""

    template: dict[str, Any]
    """The response template."""
    changes: list[dict[str, Any]]
    """What was changed: each a `pointer` to where it was, and what it `says`."""
    objections: list[dict[str, Any]]
    """What the package still does not accept: each has a `pointer`, a `message` and a `remedy`."""


def port(response_template: Template, profile: str) -> Ported:
    """Rewrites a response template for a package, as far as possible: names of fields, defaults, what texts must not
    have, and the shape of calls."""
    return Ported(**_native.port_template(response_template, profile))


def convert(schema: Mapping[str, Any] | str, *, streaming: bool = False) -> dict[str, Any]:
    """Works out the response template that reads as a response schema does, the older language.

    Returns a dict of the `template`; of how many `trials` it was tried on; and how many of these the two
    read differently: `differ` of whole texts, and `differ_damaged` of damaged ones. `streaming` makes one that looks no
    further ahead than it has to.
    """
    return _native.convert(schema, streaming)
