"""SGLang's own modules, without a model: its plug-ins are loaded, and its server is asked as it is in serving."""

import json

import pytest
import stand_ins

missing = stand_ins.stand_in("sglang")
if missing:
    pytest.skip(missing, allow_module_level=True)

import cases  # noqa: E402
from sglang.srt.plugins import load_plugins  # noqa: E402

load_plugins()

import sglang_server  # noqa: E402
from fastapi.testclient import TestClient  # noqa: E402
from sglang.srt.sampling.sampling_params import REQUEST_REASONING_IN_GRAMMAR_KEY  # noqa: E402


def tokenizer(jinja=cases.JINJA, bos="<s>", eos="<end>", specials=()):
    return stand_ins.Tokenizer(jinja, bos, eos, specials)


def post(output, stop="<end>", tok=None, tools=cases.TOOLS, **keys):
    """A request to SGLang's server, whose model writes this output: its answer, and the engine."""
    app, engine = sglang_server.served(tok or tokenizer(), output, stop)
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **keys}
    return TestClient(app).post("/v1/chat/completions", json={**body, "tools": tools} if tools else body), engine


def ask(output, **keys):
    """The message of an answer, why it ended, and the engine. A stream is put together."""
    answer, engine = post(output, **keys)
    assert answer.status_code == 200, answer.text
    if not keys.get("stream"):
        (choice,) = answer.json()["choices"]
        message = choice["message"]
        calls = [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or ()]
        return cases.message_of(message.get("reasoning_content"), message.get("content"), calls), choice["finish_reason"], engine
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    assert lines.pop() == "[DONE]"
    choices = [choice for line in lines for choice in json.loads(line)["choices"]]
    return put_together([choice["delta"] for choice in choices]), choices[-1]["finish_reason"], engine


def put_together(deltas):
    """The message of a stream. Of a call that was cut off, what was sent is its arguments."""
    thoughts = "".join(delta.get("reasoning_content") or "" for delta in deltas)
    content = "".join(delta.get("content") or "" for delta in deltas)
    calls = {}
    for piece in (piece for delta in deltas for piece in delta.get("tool_calls") or ()):
        name, arguments = calls.get(piece["index"], ("", ""))
        function = piece["function"]
        calls[piece["index"]] = (name + (function["name"] or ""), arguments + (function["arguments"] or ""))
    return cases.message_of(thoughts, content, calls.values())


def grammar_of(engine):
    """What a request is held to, as the engine is told; and whether from its first token, or behind what ends thoughts."""
    asked = engine.asked.sampling_params
    in_grammar = (asked.get("custom_params") or {}).get(REQUEST_REASONING_IN_GRAMMAR_KEY, False)
    return json.loads(asked["structural_tag"]), in_grammar or not engine.asked.require_reasoning
