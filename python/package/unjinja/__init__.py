"""unjinja reads a language model's raw output back into a structured message, and streams it while it is
written.

    >>> import unjinja
    >>> template = {
    ...     "start_anchor": "<bot>",
    ...     "fields": {
    ...         "thinking": {"open": "<think>", "close": "</think>"},
    ...         "content": {"close": "<end>"},
    ...     },
    ... }
    >>> unjinja.parse_response("<think>Be kind.</think>Hello!<end>", template, prefix="<user>Hi<bot>")
    {'thinking': 'Be kind.', 'content': 'Hello!'}

Reading outputs: `parse_response`, `ResponseParser`, `Completion`, `ResponseTemplate`.
Working out how: `derive`, `attach`, `convert`, `port`, `lint`, `check`, `grammar`.
Chat templates themselves: `caps`, `lint_chat_template`, `mend`.
Whole conversations: `render`, `read`, `mask`, `mask_tokens`, `tagged`, `role_boundaries`, `bridge`.

Chat templates are named by a *source*: a tokenizer that has one, a file, a folder or an id of a model, a
`ChatTemplate`, or the text of the template itself, which is known by its `{%` or `{{`.

Errors are exceptions that say what the program says. All are `ValueError`s; see `Error`.
"""

from ._api import (
    Bridge,
    Derivation,
    Masked,
    Mended,
    Ported,
    attach,
    bridge,
    caps,
    chat_template,
    check,
    convert,
    derive,
    grammar,
    lint,
    lint_chat_template,
    mask,
    mask_tokens,
    mend,
    parse_response,
    port,
    read,
    render,
    role_boundaries,
    tagged,
    Completion,
    ResponseParser,
)
from ._errors import (
    BridgeError,
    ConvertError,
    DeriveError,
    Error,
    GrammarError,
    InternalError,
    LoadError,
    MaskError,
    MendError,
    ParseError,
    ReadError,
    RenderError,
    TemplateError,
)
from ._native import ChatTemplate, ResponseTemplate, __version__

__all__ = [
    "Bridge",
    "BridgeError",
    "ChatTemplate",
    "Completion",
    "ConvertError",
    "Derivation",
    "DeriveError",
    "Error",
    "GrammarError",
    "InternalError",
    "LoadError",
    "MaskError",
    "Masked",
    "MendError",
    "Mended",
    "ParseError",
    "Ported",
    "ReadError",
    "RenderError",
    "ResponseParser",
    "ResponseTemplate",
    "TemplateError",
    "__version__",
    "attach",
    "bridge",
    "caps",
    "chat_template",
    "check",
    "convert",
    "derive",
    "grammar",
    "lint",
    "lint_chat_template",
    "mask",
    "mask_tokens",
    "mend",
    "parse_response",
    "port",
    "read",
    "render",
    "role_boundaries",
    "tagged",
]
