"""The adapter for `canitoolcall`, the published suite on how engines read calls: `canitoolcall run --engine adapter:UnjinjaAdapter`.

It follows the suite's contract for adapters. A model's response template is derived from its chat template, which is looked for in
the folder that `UNJINJA_CHAT_TEMPLATES` names, as `models.json` says; where that variable is `hub`, it is loaded from the hub at the
revision that the fixture names, for which unjinja has to be built with `--features hub`.

Chunks are groups of tokens: those that the fixture records, if the model's tokenizer can be loaded, or its vocabulary comes in a
package that is installed (`vocabularies.py`). Otherwise the text is cut into pieces like tokens: a marker is one, and words are cut
in pieces of up to six letters.
"""

from __future__ import annotations

import codecs
import functools
import json
import os
import pathlib
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, ClassVar

from canitoolcall.adapters.base import Adapter, AdapterUnavailable, ReplayInput, Support, ToolSpec
from canitoolcall.fixtures import load_family
from canitoolcall.results import ParseResult, StreamAccumulator

import vocabularies

HERE = pathlib.Path(__file__).resolve().parent
MODELS = json.loads((HERE / "models.json").read_text(encoding="utf-8"))
# A folder of response templates to read with instead, named as the chat templates are: those of another derivation, or written by hand.
TEMPLATES = os.environ.get("UNJINJA_RESPONSE_TEMPLATES")
FOLDER = os.environ.get("UNJINJA_CHAT_TEMPLATES") or str(HERE.parents[1].parent / "shared" / "templates")
# Whether calls are sent when they are whole, as `ResponseParser` has them, or their arguments while they are written, as `Completion` has
# them: then a call that is cut off has been begun to be sent.
CALLS = os.environ.get("UNJINJA_CALLS", "whole")

MARKER = re.compile(r"<[^<>\s]{1,40}>|\[[A-Z_/]+\]|[^\s\w]+[|｜][^<>]{1,40}[|｜]>")
PIECE = re.compile(rf"({MARKER.pattern})| ?\w{{1,6}}|\s+|.", re.DOTALL)


class UnjinjaAdapter(Adapter):
    name: ClassVar[str] = "unjinja"
    pinned_version: ClassVar[str] = "0.1.0"
    supports_text_deltas: ClassVar[bool] = True

    def __init__(self) -> None:
        self._derived: dict[str, tuple[Any, dict[str, Any]]] = {}
        self._tokenizers: dict[str, Any] = {}

    def version(self) -> str:
        try:
            import unjinja
        except ImportError as error:
            raise AdapterUnavailable(f"unjinja is not installed: {error}") from error
        return unjinja.__version__

    def supports(self, family: str, model: str) -> Support:
        if FOLDER == "hub":
            return Support(True)
        known = MODELS.get(model)
        if known is None or not pathlib.Path(FOLDER, known["template"]).exists():
            return Support(False, f"the chat template of {model} is not at hand: there is none in {FOLDER}")
        return Support(True)

    def parser_config(self, raw: ReplayInput) -> dict[str, Any]:
        chat, template = self._format(raw)
        return {
            "response_template": template,
            "chat_template": chat.name,
            "prefix": self._prefix(raw),
            "tokens": "recorded" if self.tokens(raw) else "pieces like tokens",
        }

    # ---- what the model is

    def _format(self, raw: ReplayInput) -> tuple[Any, dict[str, Any]]:
        import unjinja

        if raw.model not in self._derived:
            if FOLDER == "hub":
                chat = unjinja.chat_template(f"{raw.model}@{raw.revision}")
            else:
                known = MODELS[raw.model]
                path = pathlib.Path(FOLDER, known["template"])
                chat = unjinja.chat_template(path, bos_token=known["bos_token"], eos_token=known["eos_token"])
            self._derived[raw.model] = chat, _given(raw.model) or unjinja.derive(chat).template
        return self._derived[raw.model]

    def _prefix(self, raw: ReplayInput) -> str:
        """The prompt. The fixture says how it ends. Where the chat template at hand is another revision, which reads that as an answer,
        the prompt is as it has it."""
        import unjinja

        chat, template = self._format(raw)
        asked = raw.generation_prompt
        if asked is not None and not unjinja.parse_response("", _lenient(template), prefix=asked).get("content"):
            return asked
        variables = {} if raw.thinking is None else {"enable_thinking": raw.thinking, "thinking": raw.thinking}
        tokens = {"bos_token": chat.bos_token, "eos_token": chat.eos_token}
        asks = unjinja.chat_template(chat.jinja, variables=variables, **tokens)
        return asks.render([{"role": "user", "content": "Hi"}], add_generation_prompt=True)

    def _tokenizer(self, raw: ReplayInput) -> Any:
        """The model's tokenizer, if it is here."""
        pin = raw.tokenizer
        if pin is None or pin.mode != "hf":
            return None
        key = f"{pin.repo}@{pin.revision}"
        if key not in self._tokenizers:
            try:
                from transformers import AutoTokenizer

                made = AutoTokenizer.from_pretrained(
                    pin.repo, revision=pin.revision, local_files_only=FOLDER != "hub"
                )
                self._tokenizers[key] = made if getattr(made, "_tokenizer", None) else None
            except (ImportError, OSError, ValueError):
                self._tokenizers[key] = None
        return self._tokenizers[key]

    # ---- tokens

    def tokens(self, raw: ReplayInput) -> list[str] | None:
        """What is shown of the text with each token that the fixture records, if its tokens are known."""
        if raw.token_ids is None:
            return None
        tokenizer = self._tokenizer(raw)
        if tokenizer is not None:
            from tokenizers.decoders import DecodeStream

            decoder = DecodeStream([], skip_special_tokens=False)
            return [decoder.step(tokenizer._tokenizer, int(id)) or "" for id in raw.token_ids]
        return _recorded(raw.token_ids, raw.text, raw.family)

    def _pieces(self, raw: ReplayInput) -> list[str]:
        """The text, token by token."""
        tokens = self.tokens(raw)
        return [match.group() for match in PIECE.finditer(raw.text)] if tokens is None else tokens

    def units(self, raw: ReplayInput) -> list[int]:
        return list(range(len(self._pieces(raw))))

    def special_token_ids(self, raw: ReplayInput) -> Collection[int]:
        tokenizer = self._tokenizer(raw)
        if tokenizer is not None and raw.token_ids is not None:
            added = tokenizer.added_tokens_decoder
            return {at for at, id in enumerate(raw.token_ids) if id in added and added[id].special}
        return {at for at, piece in enumerate(self._pieces(raw)) if MARKER.fullmatch(piece)}

    # ---- reading

    def parse(self, raw: ReplayInput, tools: Sequence[ToolSpec]) -> ParseResult:
        return self.parse_stream_text(raw, [raw.text], tools)

    def parse_stream(
        self, raw: ReplayInput, chunks: Sequence[Sequence[int]], tools: Sequence[ToolSpec]
    ) -> ParseResult:
        pieces = self._pieces(raw)
        return self.parse_stream_text(raw, ["".join(pieces[at] for at in chunk) for chunk in chunks], tools)

    def parse_stream_text(self, raw: ReplayInput, deltas: Iterable[str], tools: Sequence[ToolSpec]) -> ParseResult:
        import unjinja

        made = StreamAccumulator()
        _, template = self._format(raw)
        # What can't be read and what is cut off is left out, and no delimiter counts within a string of JSON.
        options = {"tools": [dict(tool) for tool in tools], "on_malformed": "event", "body_aware_close": True}
        try:
            completion = unjinja.Completion(template, self._prefix(raw), **options)
            unfinished = "drop" if raw.truncated else "keep"
            parser = unjinja.ResponseParser(template, self._prefix(raw), unfinished=unfinished, **options)
            chunks = list(completion.initial_chunks)
            for delta in deltas:
                chunks += completion.feed(delta)
                parser.feed(delta)
            chunks += completion.finish(cut_off=raw.truncated)[0]
            message, _ = parser.finalize()
        except ValueError as error:
            return made.result(exception=f"{type(error).__name__}: {error}")
        for chunk in chunks:
            delta = dict(chunk["choices"][0]["delta"])
            if CALLS == "whole":
                delta.pop("tool_calls", None)
            made.add_openai_delta(delta)
        if CALLS == "whole":
            for call in message.get("tool_calls") or ():
                function = call["function"]
                made.append_tool_call(function["name"], json.dumps(function["arguments"], ensure_ascii=False))
        return made.result()


def _given(model: str) -> dict[str, Any] | None:
    """The response template of `UNJINJA_RESPONSE_TEMPLATES`."""
    if TEMPLATES is None:
        return None
    return json.loads(pathlib.Path(TEMPLATES, MODELS[model]["template"]).with_suffix(".json").read_text(encoding="utf-8"))


@functools.lru_cache(maxsize=16)
def _recorded(ids: tuple[int, ...], text: str, family: str) -> list[str] | None:
    """What is shown of the text with each of its tokens, by a vocabulary that is installed. Characters that tokens cut come with the last."""
    tokens = vocabularies.pieces(ids, text, load_family(family).markers)
    shown = codecs.getincrementaldecoder("utf-8")()
    return None if tokens is None else [shown.decode(token) for token in tokens]


def _lenient(template: dict[str, Any]) -> dict[str, Any]:
    fields = {name: {**field, "optional": True} for name, field in template["fields"].items()}
    return {**template, "fields": fields}
