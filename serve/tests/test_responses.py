"""Responses, by the official client."""

import json

import pytest
from conftest import CALLS, PARAMETERS, THOUGHT

openai = pytest.importorskip("openai")

TOOLS = [{"type": "function", "name": "forecast", "parameters": PARAMETERS}]


@pytest.fixture
def client(llama_address):
    return openai.OpenAI(base_url=f"{llama_address}/v1", api_key="key", max_retries=0, timeout=20)


def ask(client, **more):
    return client.responses.create(**{"model": "small", "input": "Rain?", **more})


def items(response):
    """What is in a response, without ids."""
    found = []
    for item in response.output:
        match item.type:
            case "reasoning":
                found.append(("thought", item.content[0].text))
            case "message":
                found.append(("text", item.content[0].text))
            case "function_call":
                found.append((item.name, json.loads(item.arguments)))
    return found


@pytest.mark.parametrize(
    "text, finish_reason, expected, status",
    [
        ("Perhaps.<end>", "stop", [("text", "Perhaps.")], "completed"),
        (THOUGHT + "Yes 🌧.", "stop", [("thought", "Is it 東京? 🌧"), ("text", "Yes 🌧.")], "completed"),
        (
            "Let me see." + CALLS,
            "stop",
            [
                ("text", "Let me see."),
                ("forecast", {"city": "東京", "days": 2}),
                ("forecast", {"city": "Ber\ngen"}),
            ],
            "completed",
        ),
        (THOUGHT + "Yes, bec", "length", [("thought", "Is it 東京? 🌧"), ("text", "Yes, bec")], "incomplete"),
        (
            CALLS[: CALLS.index("</call>") + 50],
            "length",
            [("forecast", {"city": "東京", "days": 2})],
            "incomplete",
        ),
        ("", "stop", [], "completed"),
    ],
)
def test_a_text_becomes_the_same_response_streamed_and_whole(client, engine, text, finish_reason, expected, status):
    engine.text, engine.finish_reason = text, finish_reason
    whole = ask(client, tools=TOOLS)
    events = list(ask(client, tools=TOOLS, stream=True))
    streamed = events[-1].response
    assert events[-1].type == f"response.{status}"
    assert (whole.status, streamed.status) == (status, status)
    assert items(whole) == items(streamed) == expected
    assert whole.usage.total_tokens == streamed.usage.total_tokens == 8
    if status == "incomplete":
        assert whole.incomplete_details.reason == "max_output_tokens"


def test_the_events_of_a_stream_follow_each_other_as_clients_expect(client, engine):
    engine.text = THOUGHT + "Let me see." + CALLS
    events = list(ask(client, tools=TOOLS, stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    kinds = []
    for event in events:
        kind = event.type.removeprefix("response.")
        if not kinds or kinds[-1] != kind:
            kinds.append(kind)
    call = ["output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"]
    assert kinds == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "reasoning_text.delta",
        "reasoning_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        *call,
        *call,
        "completed",
    ]
    # The deltas of each item are what it is in the end, under one id.
    for done in [event for event in events if event.type == "response.output_item.done"]:
        mine = [event for event in events if getattr(event, "item_id", None) == done.item.id]
        text = "".join(event.delta for event in mine if event.type.endswith(".delta"))
        whole = done.item.arguments if done.item.type == "function_call" else done.item.content[0].text
        assert text == whole
        assert {event.output_index for event in mine} == {done.output_index}


def test_the_helper_of_the_client_reads_streams(client, engine):
    engine.text = "Let me see." + CALLS
    with client.responses.stream(model="small", input="Rain?", tools=TOOLS) as stream:
        for _ in stream:
            pass
        response = stream.get_final_response()
    assert response.output_text == "Let me see."
    assert [item.type for item in response.output] == ["message", "function_call", "function_call"]


def test_a_conversation_of_items_is_rendered(client, engine):
    engine.text = "Dry."
    ask(
        client,
        instructions="Be dry.",
        input=[
            {"role": "user", "content": [{"type": "input_text", "text": "Rain?"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Wait."}]},
            {"type": "function_call", "call_id": "a", "name": "forecast", "arguments": '{"days": 2}'},
            {"type": "function_call_output", "call_id": "a", "output": "dry"},
        ],
        tools=TOOLS,
        max_output_tokens=9,
    )
    asked = engine.asked[-1][2]
    tools = [{"type": "function", "function": {"name": "forecast", "parameters": PARAMETERS}}]
    assert asked["prompt"] == (
        f"<tools>{json.dumps(tools)}</tools><system>Be dry.<end><user>Rain?<end>"
        '<assistant><think>Hm.</think>Wait.<call>{"name": "forecast", "arguments": {"days": 2}}</call><end>'
        "<tool>dry<end><assistant>"
    )
    assert asked["n_predict"] == 9


@pytest.mark.parametrize("choice", ["auto", "required", {"type": "function", "name": "forecast"}])
def test_choices_of_tools_are_held(client, engine, choice):
    engine.text = CALLS
    response = ask(client, tools=[TOOLS[0] | {"strict": True}], tool_choice=choice, parallel_tool_calls=False)
    assert "grammar" in engine.asked[-1][2]
    assert items(response) == [("forecast", {"city": "東京", "days": 2})]


def test_an_answer_of_a_schema_is_parsed(client, engine):
    pydantic = pytest.importorskip("pydantic")

    class Place(pydantic.BaseModel):
        city: str

    engine.text = '{"city": "Oslo"}'
    response = client.responses.parse(model="small", input="Where?", text_format=Place)
    assert response.output_parsed == Place(city="Oslo")
    assert "city" in engine.asked[-1][2]["grammar"]


@pytest.mark.parametrize(
    "more, param, expected",
    [
        ({"input": []}, "input", "expected a string or a list of items"),
        ({"previous_response_id": "resp_1"}, "previous_response_id", "nothing is kept here"),
        ({"background": True}, "background", "an answer is given at once"),
        ({"tools": [{"type": "web_search"}]}, "tools[0]", "only functions are"),
        ({"input": [{"type": "image"}]}, "input[0]", "`image` is not passed on"),
        ({"max_output_tokens": 0}, "max_output_tokens", "a whole number from 1 on"),
    ],
)
def test_bad_requests_are_refused_by_name(client, engine, more, param, expected):
    with pytest.raises(openai.BadRequestError, match=expected) as raised:
        ask(client, **more)
    assert raised.value.param == param
    assert engine.asked == []


def test_a_stream_that_breaks_off_says_so(client, engine):
    engine.text, engine.cut_after = "A long answer, which nobody will see.", 3
    events = list(ask(client, stream=True))
    assert events[-1].type == "response.failed"
    assert "stopped within its answer" in events[-1].response.error.message
