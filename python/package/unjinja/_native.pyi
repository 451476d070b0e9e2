"""The native parts; see `unjinja` for how to use them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

__version__: str

class ResponseTemplate:
    """A response template that has been read: parsers that are given it need not read it again."""

    def __new__(
        cls, template: Mapping[str, Any] | ResponseTemplate | str, *, profile: str | None = None
    ) -> ResponseTemplate: ...
    @property
    def language(self) -> str:
        """The version of the language that it is read in, as the first release of transformers that has it."""
    def to_dict(self) -> dict[str, Any]:
        """The template as a dict."""
    @property
    def warnings(self) -> list[str]:
        """What the template holds that has no effect."""

class ResponseParser:
    """Reads the output of a model while it is written, event by event."""

    initial_events: list[dict[str, Any]]
    """What the prefix has written into the message."""

    def __new__(
        cls,
        response_template: Mapping[str, Any] | ResponseTemplate | str,
        prefix: str | None = None,
        *,
        tools: Iterable[Mapping[str, Any] | Callable[..., Any]] | None = None,
        on_malformed: Literal["fail", "event", "text"] = "fail",
        on_unread: Literal["pass", "malformed"] = "pass",
        unknown_tools: Literal["keep", "text", "drop"] = "keep",
        unfinished: Literal["keep", "mark", "drop"] = "keep",
        calls_end_thoughts: bool = False,
        spans: bool = False,
        body_aware_close: bool = False,
    ) -> ResponseParser: ...
    def feed(self, text: str) -> list[dict[str, Any]]:
        """Reads the next piece of the output, and returns the events in it."""
    def finalize(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Ends the output. Returns the message and the last events."""

class Completion:
    """Turns an output into a chat completion while it is written."""

    initial_chunks: list[dict[str, Any]]
    """What is to be sent first: the role, and what the prefix has written into the message."""

    def __new__(
        cls,
        response_template: Mapping[str, Any] | ResponseTemplate | str,
        prefix: str | None = None,
        *,
        tools: Iterable[Mapping[str, Any] | Callable[..., Any]] | None = None,
        id: str = "",
        model: str = "",
        created: int = 0,
        reasoning: str = "reasoning_content",
        on_malformed: Literal["fail", "event", "text"] = "text",
        on_unread: Literal["pass", "malformed"] = "malformed",
        unknown_tools: Literal["keep", "text", "drop"] = "keep",
        unfinished: Literal["keep", "mark", "drop"] = "drop",
        body_aware_close: bool = False,
    ) -> Completion: ...
    def feed(self, text: str) -> list[dict[str, Any]]:
        """Reads the next piece of the output, and returns the chunks that are to be sent."""
    @property
    def malformed(self) -> list[str]:
        """In the end, the fields with regions that could not be parsed, where these are let pass."""
    def finish(self, *, cut_off: bool = False) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Ends the output. Returns the last chunks, and the whole `chat.completion`."""

class ChatTemplate:
    """A chat template with its tokens, and with what all of its renderings have in common."""

    @staticmethod
    def load(
        source: str,
        *,
        variant: str | None = None,
        offline: bool = False,
        bos_token: str | None = None,
        eos_token: str | None = None,
        now: str | None = None,
        variables: Mapping[str, Any] | None = None,
    ) -> ChatTemplate:
        """Loads a template from wherever models keep them."""
    @staticmethod
    def from_jinja(
        jinja: str,
        *,
        bos_token: str | None = None,
        eos_token: str | None = None,
        now: str | None = None,
        variables: Mapping[str, Any] | None = None,
    ) -> ChatTemplate:
        """A template that is given as its Jinja text."""
    @property
    def jinja(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def bos_token(self) -> str | None: ...
    @property
    def eos_token(self) -> str | None: ...
    def render(
        self, messages: Any, *, tools: Any = None, add_generation_prompt: bool = False, **variables: Any
    ) -> str: ...
    def caps(self) -> dict[str, Any]: ...
    def derive(
        self,
        *,
        reasoning_field: str = "thinking",
        ids: bool = False,
        guess_types: bool = False,
        outputs: Sequence[Any] | None = None,
        profiles: Sequence[str] = (),
    ) -> dict[str, Any]: ...
    def read(self, text: str, *, proof: bool = True) -> dict[str, Any]: ...
    def mask(
        self,
        conversations: Sequence[tuple[Any, Any]],
        *,
        ending: bool = True,
        white_space: bool = False,
        prefilled: bool = False,
        header: bool | None = None,
    ) -> list[dict[str, Any]]: ...
    def tagged(self) -> str: ...
    def role_boundaries(self) -> list[dict[str, Any]]: ...
    def grammar(
        self,
        tools: Any = None,
        *,
        format: str = "gbnf",
        tool_choice: str = "auto",
        reasoning: str = "auto",
        parallel: bool = True,
        prefix: str = "",
        best_effort: bool = False,
    ) -> tuple[Any, list[str]]: ...
    def lint(self, template: Any, *, profiles: Sequence[str] = ...) -> list[dict[str, Any]]: ...
    def lint_itself(self) -> list[dict[str, Any]]: ...
    def mend(self, faults: Sequence[str]) -> tuple[str, list[dict[str, Any]]]: ...

class Bridge:
    """What is to be put behind a prompt and the output that followed it."""

    def __new__(cls, template: ChatTemplate) -> Bridge: ...
    def text(
        self,
        messages: Any,
        output: str,
        *,
        tools: Any = None,
        add_generation_prompt: bool = True,
    ) -> str: ...

def parse_response(
    text: str,
    response_template: Mapping[str, Any] | ResponseTemplate | str,
    *,
    prefix: str | None = None,
    tools: Any = None,
) -> dict[str, Any]: ...
def parse_by_schema(text: str, schema: Mapping[str, Any] | str) -> Any: ...
def lint_template(template: Any, *, profiles: Sequence[str] = ...) -> list[dict[str, Any]]: ...
def reasoning_name(profiles: Sequence[str]) -> str | None: ...
def verdicts(template: Any, profiles: Sequence[str]) -> list[dict[str, Any]]: ...
def port_template(template: Any, profile: str) -> dict[str, Any]: ...
def check(paths: Sequence[str], *, filter: str | None = None, seed: int | None = None) -> dict[str, Any]: ...
def convert(schema: Mapping[str, Any] | str, streaming: bool) -> dict[str, Any]: ...
def run(arguments: Sequence[str]) -> int: ...
