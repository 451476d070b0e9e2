"""The server between clients and a scripted engine.

    cargo build -p unjinja-cli --features serve && pytest serve/tests

`UNJINJA` names the program, if it is not the one that was built last.
"""

import contextlib
import os
import pathlib
import signal
import subprocess

import pytest
from upstream import Engine

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("UNJINJA", ROOT / "target" / "debug" / "unjinja"))

JINJA = (
    "{% if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}"
    "{% for m in messages %}{{ '<' + m.role + '>' }}"
    "{% if m.role == 'judge' %}{{ raise_exception('there are no judges') }}{% endif %}"
    "{% if m.reasoning_content %}{{ '<think>' + m.reasoning_content + '</think>' }}{% endif %}"
    "{% if m.content %}{{ m.content }}{% endif %}"
    "{% for c in m.tool_calls or [] %}{{ '<call>' + c.function | tojson + '</call>' }}{% endfor %}"
    "{{ '<end>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant>' }}{% if loud %}!{% endif %}{% endif %}"
)
PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
THOUGHT = "<think>Is it 東京? 🌧</think>"
CALLS = (
    '<call>{"name": "forecast", "arguments": {"city": "東京", "days": 2}}</call>'
    '<call>{"name": "forecast", "arguments": {"city": "Ber\\ngen"}}</call>'
)


class Address(str):
    """Where a server listens, and its process."""

    process = None


@contextlib.contextmanager
def serving(*arguments, told=None, signal=signal.SIGTERM, **environment):
    """Runs the server, and gives its address. What it has told is in the list in the end."""
    command = [PROGRAM, "serve", *map(str, arguments), "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | environment)
    line = process.stdout.readline()
    if not line:
        pytest.fail(process.stderr.read())
    address = Address(line.split()[-1])
    address.process = process
    try:
        yield address
    finally:
        process.send_signal(signal)
        _, errors = process.communicate(timeout=40)
        if told is not None:
            told.extend(errors.splitlines())


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    """A file with the chat template."""
    source = tmp_path_factory.mktemp("model") / "chat_template.jinja"
    source.write_text(JINJA, encoding="utf-8")
    return source


@pytest.fixture(scope="session")
def llama():
    return Engine("llama.cpp", JINJA)


@pytest.fixture(scope="session")
def plain():
    return Engine("openai")


@pytest.fixture(scope="session")
def llama_address(llama):
    """In front of an engine that takes grammars, and tells its chat template."""
    with serving("--upstream", llama.url) as address:
        yield address


@pytest.fixture(scope="session")
def plain_address(plain, source):
    """In front of one that takes none."""
    with serving("--upstream", f"{plain.url}/v1", "--model", source) as address:
        yield address


@pytest.fixture
def engine(llama):
    llama.reset()
    return llama


@pytest.fixture
def plain_engine(plain):
    plain.reset()
    return plain
