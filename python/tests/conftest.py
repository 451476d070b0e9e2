"""What all tests have at hand: the gallery, and the recorded cases where they are."""

import json
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = ROOT.parent / "shared" / "cases"


def recorded(name):
    """The recorded cases of a file; the test is skipped where they are not."""
    path = CASES / name
    if not path.exists():
        pytest.skip(f"{path.name} is not here")
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture
def reference():
    """The response parser of the transformers library."""
    return pytest.importorskip(
        "transformers.utils.chat_parsing", reason="this transformers library has no response parser"
    )


@pytest.fixture
def template():
    """A response template with everything in it."""
    return {
        "start_anchor": "<bot>",
        "fields": {
            "thinking": {"open": "<think>", "close": "</think>"},
            "tool_calls": {
                "open_pattern": "<call (?P<name>\\w+)>",
                "close": "</call>",
                "repeats": True,
                "content": "json",
                "transform": {
                    "type": "function",
                    "function": {"name": "{name}", "arguments": "{content}"},
                },
            },
            "content": {"close": "<end>"},
        },
    }


JINJA = (
    "{% for m in messages %}{{ '<' + m.role + '>' }}"
    "{% if m.reasoning_content %}{{ '<think>' + m.reasoning_content + '</think>' }}{% endif %}"
    "{% if m.content %}{{ m.content }}{% endif %}"
    "{% for c in m.tool_calls or [] %}{{ '<call>' + c.function | tojson + '</call>' }}{% endfor %}"
    "{{ '<end>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
)


@pytest.fixture
def jinja():
    """A small chat template."""
    return JINJA
