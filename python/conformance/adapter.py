"""The adapter for `canitoolcall`, the published suite on how engines read calls: `canitoolcall run --engine adapter:UnjinjaAdapter`.

It follows the suite's contract for adapters. A model's response template is derived from its chat template, which is looked for in
the folder that `UNJINJA_CHAT_TEMPLATES` names, as `models.json` says; where that variable is `hub`, it is loaded from the hub at the
revision that the fixture names, for which unjinja has to be built with `--features hub`.

Chunks are groups of tokens. Where the model's tokenizer can't be loaded, the text is cut into pieces like tokens: a marker is one,
and words are cut in pieces of up to six letters.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, ClassVar

from canitoolcall.adapters.base import Adapter, AdapterUnavailable, ReplayInput, Support, ToolSpec
from canitoolcall.results import ParseResult, StreamAccumulator

HERE = pathlib.Path(__file__).resolve().parent
MODELS = json.loads((HERE / "models.json").read_text(encoding="utf-8"))
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
            "tokens": "the model's" if self._tokenizer(raw) else "pieces like tokens",
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
            self._derived[raw.model] = chat, unjinja.derive(chat).template
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

    def _pieces(self, raw: ReplayInput) -> list[str]:
        """The text, token by token."""
        tokenizer = self._tokenizer(raw)
        if tokenizer is not None and raw.token_ids is not None:
            from tokenizers.decoders import DecodeStream

            decoder = DecodeStream([], skip_special_tokens=False)
            return [decoder.step(tokenizer._tokenizer, int(id)) or "" for id in raw.token_ids]
        return [match.group() for match in PIECE.finditer(raw.text)]

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


def _lenient(template: dict[str, Any]) -> dict[str, Any]:
    fields = {name: {**field, "optional": True} for name, field in template["fields"].items()}
    return {**template, "fields": fields}
