"""SGLang's server answers with unjinja: its HTTP layer on a CPU, before an engine that writes what a test says."""

import json

import cases
import pytest
from sglang_asked import ask, grammar_of, post, tokenizer

# What stands in for a GPU has to stand first.
from tags import NAMED, STRICT, UNKNOWN, WRONG, allows, compiled

WEATHER = ("weather", {"city": "Brest", "days": 2})


@pytest.mark.parametrize("stream", [False, True])
def test_the_server_answers_with_what_was_meant(stream):
    message, reason, engine = ask(cases.THOUGHTS + "Well." + cases.CALL, stream=stream)
    assert message == ("Why not?", "Well.", [WEATHER])
    assert reason == "tool_calls"
    asked = engine.asked.sampling_params
    assert "structural_tag" not in asked and not asked["skip_special_tokens"]


@pytest.mark.parametrize("stream", [False, True])
def test_the_server_answers_where_a_value_holds_half_of_a_pair(stream):
    message, _, _ = ask(cases.CALL.replace("Brest", "\\ud83d"), stream=stream)
    assert message[2] == [("weather", {"city": "\ud83d", "days": 2})]


def test_the_server_streams_arguments_while_they_are_written():
    answer, _ = post(cases.CALL, stream=True)
    lines = [json.loads(line[len("data: ") :]) for line in answer.text.splitlines() if line.startswith("data: {")]
    pieces = [choice["delta"].get("tool_calls") for line in lines for choice in line["choices"]]
    assert sum(bool(piece and piece[0]["function"]["arguments"]) for piece in pieces) > 2


def test_the_server_says_that_a_call_was_cut_off():
    message, reason, _ = ask(cases.CALL + cases.OTHER[:30], stop=None)
    assert message[2] == [WEATHER]
    assert reason == "length"


@pytest.mark.parametrize(
    ("asked", "right", "wrong"),
    [
        ({"tool_choice": "required"}, [cases.CALL, cases.CALL + cases.OTHER, WRONG], ["Well.", UNKNOWN, ""]),
        ({"tool_choice": NAMED}, [cases.CALL], ["Well.", cases.OTHER, cases.CALL + cases.CALL]),
        ({"parallel_tool_calls": False}, [cases.CALL, "Well.", WRONG], [cases.CALL + cases.OTHER]),
        ({"tools": STRICT}, [cases.CALL, cases.CALL + cases.OTHER, "Well."], [WRONG, UNKNOWN]),
    ],
    ids=["required", "named", "single", "strict"],
)
@pytest.mark.parametrize("stream", [False, True])
def test_the_server_hands_the_engine_a_tag_that_holds_the_request(asked, right, wrong, stream):
    message, _, engine = ask(cases.CALL, stream=stream, **asked)
    assert message[2] == [WEATHER]
    tag, from_start = grammar_of(engine)
    assert from_start
    tag = compiled(tag)
    for text in right:
        assert allows(tag, text) and allows(tag, cases.THOUGHTS + text), text
    for text in wrong:
        assert not allows(tag, text) and not allows(tag, cases.THOUGHTS + text), text


def test_the_server_refuses_what_can_not_be_held():
    plain = "{% for m in messages %}{{ '<' + m.role + '>' + m.content + '<end>' }}{% endfor %}<assistant>"
    answer, engine = post("Well.", tok=tokenizer(plain), tool_choice="required")
    assert answer.status_code == 400, answer.text
    assert "tool_calls" in answer.json()["message"] and engine.asked is None


@pytest.mark.parametrize("begun", ["<think>", cases.THOUGHTS, "Well"])
def test_a_tag_begins_where_the_prompt_ends(begun):
    """Here SGLang does not know that the model thinks, and nothing waits for an end of thoughts."""
    tok = tokenizer()
    output = (cases.THOUGHTS + cases.CALL).removeprefix(begun) if begun != "Well" else "." + cases.CALL
    message, _, engine = ask(output, tok=tok, input_ids=[tok.token(cases.PROMPT + begun)], tools=STRICT)
    assert message[2] == [WEATHER]
    tag, from_start = grammar_of(engine)
    tag = compiled(tag)
    assert from_start and allows(tag, output)
    assert not allows(tag, output.replace(cases.CALL, WRONG))
