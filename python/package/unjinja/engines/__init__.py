"""unjinja beside the engines that serve models: what their plug-in entry points name.

Where unjinja is installed beside vLLM or SGLang, they load it by themselves. A model whose tokenizer has no
`response_template` is then served with one that is derived from its chat template; vLLM has a parser `unjinja` besides. The
environment variable `UNJINJA_ENGINES=off` turns it off.

Nothing here imports an engine before the engine asks for it, and whatever fails is a line in its log: it goes on as if
unjinja were not there.
"""

from __future__ import annotations

import importlib
import logging
import os

SWITCH = "UNJINJA_ENGINES"


def vllm() -> None:
    """Registers with vLLM; of the entry point group `vllm.general_plugins`."""
    _register("vllm")


def sglang() -> None:
    """Registers with SGLang; of the entry point group `sglang.srt.plugins`."""
    _register("sglang")


def _register(engine: str) -> None:
    # The engine's own logger: it may show no others.
    log = logging.getLogger(f"{engine}.unjinja")
    if os.environ.get(SWITCH, "").strip().lower() in ("off", "0", "false", "no"):
        log.info("unjinja: off, as %s says", SWITCH)
        return
    try:
        importlib.import_module(f"{__name__}.{engine}").register()
    except Exception as error:
        log.warning("unjinja: not registered, since this %s is not as expected: %r", engine, error)
