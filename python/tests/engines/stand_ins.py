"""The engines' own modules without a GPU: what they import of PyTorch, and of themselves, that is not asked, stands in.

The engines' wheels have to be installed, `pip install --no-deps vllm==0.33.0 sglang==0.5.23` with what `engines.txt` names; their
Python files suffice. What is asked is run as it is published: their parsers, protocols, serving code and grammar engine.
"""

import abc
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types

import unjinja


class Anything(abc.ABCMeta):
    """A class that has every attribute, and can be the base of anything."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing

    def __or__(cls, other):
        return cls

    __ror__ = __or__

    def __getitem__(cls, key):
        return cls

    # Without it, Python would ask for one item after the other, without an end.
    def __iter__(cls):
        return iter(())


class Nothing(metaclass=Anything):
    def __init_subclass__(cls, **keys):
        pass

    def __init__(self, *arguments, **keys):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing

    def __call__(self, *arguments, **keys):
        return Nothing()

    def __iter__(self):
        return iter(())


class Range:
    """The limits of a type of numbers, of which the engines' protocols make limits of parameters."""

    def __init__(self, kind):
        self.min, self.max = -(2**63), 2**63 - 1


class StandIn(types.ModuleType):
    __path__ = []
    __version__ = "2.14.0"
    iinfo = finfo = Range

    def __getattr__(self, name):
        place = f"{self.__name__}.{name}"
        if name.startswith("__") or place in ABSENT:
            raise AttributeError(name)
        return StandIn(place) if place in PARTS else ON_A_CPU.get(place, Nothing)


# PyTorch as it is on a CPU: by this, engines decide which of their modules they import.
ABSENT = {"torch.npu", "torch.hpu"}
PARTS = {"torch.version", "torch.cuda", "torch.mps", "torch.xpu"}
ON_A_CPU = {f"torch.version.{name}": None for name in ("cuda", "hip", "xpu")}
ON_A_CPU |= {f"torch.{name}.is_available": lambda: False for name in ("cuda", "mps", "xpu")}


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        if any(name == one or name.startswith(one + ".") for one in self.names):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


# What needs a GPU, or is compiled for one, and that no parser looks at.
NEED_A_GPU = {
    "vllm": ["vllm.distributed", "vllm.model_executor", "vllm.config", "vllm._C"],
    "sglang": ["sglang.kernels", "sglang.srt.distributed", "sglang.srt.layers"],
}


def stand_in(engine):
    """Makes an engine's modules importable, or says what is missing."""
    if importlib.util.find_spec(engine) is None:
        return f"the wheel of {engine} is not here"
    names = list(NEED_A_GPU[engine])
    names += [name for name in ("torch", "torchvision", "triton") if importlib.util.find_spec(name) is None]
    sys.meta_path.insert(0, Finder(names))
    return None


class Tokenizer:
    """A tokenizer for tests: a text is cut in pieces of some bytes, each a token of its own; specials are one each."""

    name_or_path = "test/model"

    def __init__(self, chat_template, bos_token, eos_token, specials=()):
        self.chat_template, self.bos_token, self.eos_token = chat_template, bos_token, eos_token
        self.pieces, self.ids = [], {}
        self.all_special_ids = [self.token(text) for text in dict.fromkeys([bos_token, eos_token, *specials]) if text]
        self.eos_token_id = self.ids.get(self._key(eos_token))

    @staticmethod
    def _key(text):
        return (text or "").encode()

    def token(self, text):
        """The token of a text, or of some bytes."""
        piece = text if isinstance(text, bytes) else text.encode()
        if piece not in self.ids:
            self.ids[piece] = len(self.pieces)
            self.pieces.append(piece)
        return self.ids[piece]

    def encode(self, text, add_special_tokens=False):
        return [self.token(text)] if text else []

    def decode(self, ids, **options):
        ids = [ids] if isinstance(ids, int) else ids
        return b"".join(self.pieces[id] for id in ids).decode(errors="replace")

    def apply_chat_template(self, messages, tokenize=False, return_dict=False, **options):
        text = unjinja.render(self, messages, **options)
        return self.encode(text) if tokenize else text

    def get_vocab(self):
        return {piece.decode(errors="replace"): id for piece, id in self.ids.items()}
