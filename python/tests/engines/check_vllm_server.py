"""vLLM's server answers with unjinja: its HTTP layer on a CPU, before an engine that writes what a test says."""

import json

import cases
import pytest
from vllm_asked import TestClient, ask, tokenizer

# What stands in for a GPU has to stand first.
import vllm_server
from tags import NAMED, STRICT, allows, compiled
from vllm.exceptions import VLLMValidationError


@pytest.mark.parametrize("stream", [False, True])
def test_the_server_answers_with_what_was_meant(stream):
    message, reason, engine = ask(cases.THOUGHTS + "Well." + cases.CALL, stream=stream)
    assert message == ("Why not?", "Well.", [("weather", {"city": "Brest", "days": 2})])
    assert reason == "tool_calls"
    assert engine.asked.structured_outputs is None and not engine.asked.skip_special_tokens


@pytest.mark.parametrize("stream", [False, True])
def test_the_server_answers_where_a_value_holds_half_of_a_pair(stream):
    message, _, _ = ask(cases.CALL.replace("Brest", "\\ud83d"), stream=stream)
    assert message[2] == [("weather", {"city": "\ud83d", "days": 2})]


def test_the_server_says_that_a_call_was_cut_off():
    message, reason, _ = ask(cases.CALL + cases.OTHER[:30], stop=None)
    assert message[2] == [("weather", {"city": "Brest", "days": 2})]
    assert reason == "length"


@pytest.mark.parametrize(
    "asked",
    [{"tool_choice": "required"}, {"tool_choice": NAMED}, {"parallel_tool_calls": False}, {"tools": STRICT}],
    ids=["required", "named", "single", "strict"],
)
@pytest.mark.parametrize("stream", [False, True])
def test_the_server_hands_the_engine_a_tag_that_vllm_takes(asked, stream):
    message, _, engine = ask(cases.CALL, stream=stream, **asked)
    assert message[2] == [("weather", {"city": "Brest", "days": 2})]
    tag = compiled(json.loads(engine.asked.structured_outputs.structural_tag))
    assert allows(tag, cases.CALL) and not allows(tag, cases.CALL + cases.OTHER[:30])


def test_the_server_refuses_what_can_not_be_held():
    plain = "{% for m in messages %}{{ '<' + m.role + '>' + m.content + '<end>' }}{% endfor %}<assistant>"
    app, _ = vllm_server.served(tokenizer(plain), "Well.", "<end>")
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": cases.TOOLS}
    with pytest.raises(VLLMValidationError, match="can't guarantee required tool choice"):
        TestClient(app).post("/v1/chat/completions", json={**body, "tool_choice": "required"})
