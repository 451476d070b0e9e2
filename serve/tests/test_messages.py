"""Messages, by the official client."""

import json

import pytest
from conftest import CALLS, PARAMETERS, THOUGHT

anthropic = pytest.importorskip("anthropic")

TOOLS = [{"name": "forecast", "description": "The weather.", "input_schema": PARAMETERS}]


@pytest.fixture
def client(llama_address):
    return anthropic.Anthropic(base_url=llama_address, api_key="key", max_retries=0, timeout=20)


def request(**more):
    return {"model": "small", "max_tokens": 99, "messages": [{"role": "user", "content": "Rain?"}], **more}


def blocks(message):
    """What is in a message, without ids."""
    found = []
    for block in message.content:
        match block.type:
            case "thinking":
                found.append(("thought", block.thinking))
            case "text":
                found.append(("text", block.text))
            case "tool_use":
                found.append((block.name, block.input))
    return found


@pytest.mark.parametrize(
    "text, finish_reason, expected, reason",
    [
        ("Perhaps.<end>", "stop", [("text", "Perhaps.")], "end_turn"),
        (THOUGHT + "Yes 🌧.", "stop", [("thought", "Is it 東京? 🌧"), ("text", "Yes 🌧.")], "end_turn"),
        (
            THOUGHT + "Let me see." + CALLS,
            "stop",
            [
                ("thought", "Is it 東京? 🌧"),
                ("text", "Let me see."),
                ("forecast", {"city": "東京", "days": 2}),
                ("forecast", {"city": "Ber\ngen"}),
            ],
            "tool_use",
        ),
        ("Yes, bec", "length", [("text", "Yes, bec")], "max_tokens"),
        ("", "stop", [], "end_turn"),
    ],
)
def test_a_text_becomes_the_same_message_streamed_and_whole(client, engine, text, finish_reason, expected, reason):
    engine.text, engine.finish_reason = text, finish_reason
    whole = client.messages.create(**request(tools=TOOLS))
    with client.messages.stream(**request(tools=TOOLS)) as stream:
        streamed = stream.get_final_message()
    for message in (whole, streamed):
        assert blocks(message) == expected
        assert message.stop_reason == reason
        assert (message.usage.input_tokens, message.usage.output_tokens) == (3, 5)
        assert message.id.startswith("msg_")
    ids = [block.id for block in whole.content if block.type == "tool_use"]
    assert len(set(ids)) == len(ids)


def test_the_events_of_a_stream_follow_each_other_as_clients_expect(client, engine):
    engine.text = THOUGHT + CALLS
    events = list(client.messages.create(**request(tools=TOOLS), stream=True))
    kinds = []
    for event in events:
        if not kinds or kinds[-1] != event.type:
            kinds.append(event.type)
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert kinds == ["message_start", *block, *block, *block, "message_delta", "message_stop"]
    assert [event.index for event in events if event.type == "content_block_start"] == [0, 1, 2]


def test_a_call_that_is_cut_off_is_not_handed_out(client, engine):
    engine.text, engine.finish_reason = CALLS[: CALLS.index("</call>") + 50], "length"
    message = client.messages.create(**request(tools=TOOLS))
    assert blocks(message) == [("forecast", {"city": "東京", "days": 2})]
    assert message.stop_reason == "max_tokens"


def test_a_conversation_of_blocks_is_rendered(client, engine):
    engine.text = "Dry."
    client.messages.create(
        **request(
            system=[{"type": "text", "text": "Be dry."}],
            messages=[
                {"role": "user", "content": "Rain?"},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "Hm.", "signature": ""},
                        {"type": "text", "text": "Wait."},
                        {"type": "tool_use", "id": "a", "name": "forecast", "input": {"days": 2}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "dry"}]},
                        {"type": "text", "text": "So?"},
                    ],
                },
            ],
            stop_sequences=["!"],
            extra_body={"top_k": 4},
        )
    )
    path, headers, asked = engine.asked[-1]
    assert asked["prompt"] == (
        "<system>Be dry.<end><user>Rain?<end>"
        '<assistant><think>Hm.</think>Wait.<call>{"name": "forecast", "arguments": {"days": 2}}</call><end>'
        "<tool>dry<end><user>So?<end><assistant>"
    )
    assert (asked["stop"], asked["top_k"], asked["n_predict"]) == (["!"], 4, 99)
    assert headers["authorization"] == "Bearer key"


def test_the_text_that_has_stopped_the_model_is_named(plain_address, plain_engine):
    client = anthropic.Anthropic(base_url=plain_address, api_key="key", max_retries=0)
    plain_engine.text, plain_engine.stop_reason = "Yes", "!"
    message = client.messages.create(**request(stop_sequences=["!"]))
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", "!")


@pytest.mark.parametrize(
    "choice, held, calls",
    [
        ({"type": "auto"}, True, 2),
        ({"type": "any"}, True, 2),
        ({"type": "any", "disable_parallel_tool_use": True}, True, 1),
        ({"type": "tool", "name": "forecast"}, True, 2),
        ({"type": "none"}, True, 0),
    ],
)
def test_each_choice_of_tools_is_held(client, engine, choice, held, calls):
    engine.text = CALLS
    message = client.messages.create(**request(tools=TOOLS, tool_choice=choice))
    assert ("grammar" in engine.asked[-1][2]) == held
    assert len(message.content) == calls


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}


@pytest.mark.parametrize(
    "more, expected",
    [
        ({"messages": []}, "`messages`: expected a list with at least one message"),
        ({"messages": [{"role": "user", "content": [IMAGE]}]}, "`image` is not passed on"),
        ({"messages": [{"role": "bird", "content": "x"}]}, "expected user or assistant, found bird"),
        (
            {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]},
            "answers can't be begun for the model here",
        ),
        ({"max_tokens": 0}, "`max_tokens`: expected a whole number from 1 on, found 0"),
        ({"tools": [{"type": "web_search_20250305", "name": "w"}]}, "only the client's own are"),
    ],
)
def test_bad_requests_are_refused_by_name(client, engine, more, expected):
    with pytest.raises(anthropic.BadRequestError) as raised:
        client.messages.create(**request(**more))
    assert expected in raised.value.message
    assert raised.value.body["error"]["type"] == "invalid_request_error"
    assert engine.asked == []


@pytest.mark.parametrize(
    "status, error, kind",
    [
        (401, anthropic.AuthenticationError, "authentication_error"),
        (429, anthropic.RateLimitError, "rate_limit_error"),
        (500, anthropic.InternalServerError, "api_error"),
    ],
)
def test_what_the_upstream_refuses_is_told_in_this_interfaces_shape(client, engine, status, error, kind):
    engine.refusal = (status, json.dumps({"error": {"message": "no", "type": "other"}}))
    with pytest.raises(error) as raised:
        client.messages.create(**request())
    assert raised.value.body == {"type": "error", "error": {"type": kind, "message": "no"}}


def test_a_stream_that_breaks_off_is_an_error(client, engine):
    engine.text, engine.cut_after = "A long answer, which nobody will see.", 3
    with pytest.raises(anthropic.APIStatusError, match="stopped within its answer"):
        for _ in client.messages.create(**request(), stream=True):
            pass
