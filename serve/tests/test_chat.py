"""Chat Completions, by the official client."""

import json

import pytest
from conftest import CALLS, PARAMETERS, THOUGHT

openai = pytest.importorskip("openai")

TOOLS = [{"type": "function", "function": {"name": "forecast", "parameters": PARAMETERS}}]
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.fixture
def client(llama_address):
    return openai.OpenAI(base_url=f"{llama_address}/v1", api_key="key", max_retries=0, timeout=20)


def ask(client, **more):
    request = {"model": "small", "messages": [{"role": "user", "content": "Rain?"}], **more}
    return client.chat.completions.create(**request)


def put_together(chunks):
    """The message and the reason of a stream, as clients put them together."""
    message, calls, reason = {"content": None, "reasoning_content": None}, [], None
    for chunk in chunks:
        for choice in chunk.choices:
            assert reason is None, "nothing comes after the reason"
            reason = choice.finish_reason
            for key in message:
                if (text := getattr(choice.delta, key, None)) is not None:
                    message[key] = (message[key] or "") + text
            for call in choice.delta.tool_calls or []:
                if call.index == len(calls):
                    calls.append({"id": call.id, "name": call.function.name, "arguments": ""})
                calls[call.index]["arguments"] += call.function.arguments or ""
    return message, calls, reason


def taken_apart(answer, choice=0):
    """The same of a whole answer."""
    message = answer.choices[choice].message
    texts = {key: getattr(message, key, None) for key in ("content", "reasoning_content")}
    calls = [
        {"id": call.id, "name": call.function.name, "arguments": call.function.arguments}
        for call in message.tool_calls or []
    ]
    return texts, calls, answer.choices[choice].finish_reason


def without_ids(answer):
    message, calls, reason = answer
    return message, [(call["name"], call["arguments"]) for call in calls], reason


@pytest.mark.parametrize(
    "text, finish_reason, expected",
    [
        ("Perhaps.<end>", "stop", ("Perhaps.", None, [], "stop")),
        (THOUGHT + "Yes 🌧.", "stop", ("Yes 🌧.", "Is it 東京? 🌧", [], "stop")),
        (
            THOUGHT + CALLS + "<end>",
            "stop",
            (
                None,
                "Is it 東京? 🌧",
                [("forecast", {"city": "東京", "days": 2}), ("forecast", {"city": "Ber\ngen"})],
                "tool_calls",
            ),
        ),
        (THOUGHT + "Yes, bec", "length", ("Yes, bec", "Is it 東京? 🌧", [], "length")),
        ("<think>Is it", "length", (None, "Is it", [], "length")),
        ("", "stop", (None, None, [], "stop")),
    ],
)
def test_a_text_becomes_the_same_answer_streamed_and_whole(client, engine, text, finish_reason, expected):
    engine.text, engine.finish_reason = text, finish_reason
    streamed = without_ids(put_together(ask(client, tools=TOOLS, stream=True)))
    assert streamed == without_ids(taken_apart(ask(client, tools=TOOLS)))
    message, calls, reason = streamed
    content, reasoning, expected_calls, expected_reason = expected
    assert message == {"content": content, "reasoning_content": reasoning}
    assert [(name, json.loads(arguments)) for name, arguments in calls] == expected_calls
    assert reason == expected_reason


def test_arguments_come_while_they_are_written(client, engine):
    engine.text = CALLS
    chunks = list(ask(client, tools=TOOLS, stream=True))
    deltas = [call for chunk in chunks for choice in chunk.choices for call in choice.delta.tool_calls or []]
    pieces = [delta for delta in deltas if delta.function.arguments]
    assert len(pieces) > 6
    assert all(delta.function.name is None for delta in pieces)
    assert len({delta.id for delta in deltas if delta.id}) == 2
    assert len({chunk.id for chunk in chunks}) == 1


def test_what_some_take_for_ends_of_lines_is_none(client, engine):
    engine.text = "a\u2028b\u2029c\x85d\x0be\rf\ng"
    message, _, _ = put_together(ask(client, stream=True))
    assert message["content"] == engine.text
    with client.chat.completions.with_streaming_response.create(
        model="small", messages=[{"role": "user", "content": "Rain?"}], stream=True
    ) as answer:
        # Such as those who read lines as Python does.
        lines = [line for line in answer.iter_lines() if line]
    assert all(line.startswith("data: ") for line in lines)


def test_a_call_that_is_cut_off_is_not_handed_out(client, engine):
    engine.text, engine.finish_reason = CALLS[: CALLS.index("</call>") + 50], "length"
    _, calls, reason = taken_apart(ask(client, tools=TOOLS))
    assert [json.loads(call["arguments"]) for call in calls] == [{"city": "東京", "days": 2}]
    assert reason == "length"


@pytest.mark.parametrize("stream", [True, False])
def test_arguments_may_hold_what_ends_calls_and_turns(client, engine, stream):
    city = "a<end>b</call>c<think>d"
    engine.text = f'<call>{{"name": "forecast", "arguments": {{"city": "{city}"}}}}</call><end>'
    answer = ask(client, tools=TOOLS, stream=stream)
    _, calls, reason = put_together(answer) if stream else taken_apart(answer)
    assert [json.loads(call["arguments"]) for call in calls] == [{"city": city}]
    assert reason == "tool_calls"


def test_the_prompt_is_what_the_chat_template_renders(client, engine):
    engine.text = "Yes."
    calls = [{"id": "a", "type": "function", "function": {"name": "forecast", "arguments": '{"days": 2}'}}]
    messages = [
        {"role": "developer", "content": "Be dry."},
        {"role": "user", "content": [{"type": "text", "text": "Ra"}, {"type": "text", "text": "in?"}]},
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "dry"},
    ]
    ask(
        client,
        messages=messages,
        tools=TOOLS,
        temperature=0.5,
        max_completion_tokens=9,
        extra_body={"chat_template_kwargs": {"loud": True}, "top_k": 4},
    )
    path, headers, asked = engine.asked[-1]
    assert path == "/completion"
    assert headers["authorization"] == "Bearer key"
    assert asked["prompt"] == (
        f"<tools>{json.dumps(TOOLS)}</tools><system>Be dry.<end><user>Rain?<end>"
        '<assistant><call>{"name": "forecast", "arguments": {"days": 2}}</call><end><tool>dry<end><assistant>!'
    )
    assert (asked["temperature"], asked["n_predict"], asked["top_k"], asked["stream"]) == (0.5, 9, 4, True)
    assert {"<call>", "</call>", "<think>", "</think>"} <= set(asked["preserved_tokens"])
    assert not {"messages", "tools", "chat_template_kwargs", "max_completion_tokens"} & asked.keys()


@pytest.mark.parametrize(
    "choice, held, offered",
    [
        ("auto", True, True),
        ("required", True, True),
        ({"type": "function", "function": {"name": "forecast"}}, True, True),
        ("none", True, False),
    ],
)
def test_each_choice_of_tools_is_held_by_a_grammar(client, engine, choice, held, offered):
    engine.text = CALLS
    answer = ask(client, tools=TOOLS, tool_choice=choice)
    asked = engine.asked[-1][2]
    assert ("grammar" in asked) == held
    assert ("<tools>" in asked["prompt"]) == offered
    calls = answer.choices[0].message.tool_calls or []
    assert len(calls) == (2 if offered else 0), "what was not to be called is not handed out"


def test_without_tools_and_schemas_there_is_no_grammar(client, engine):
    engine.text = "Yes."
    ask(client)
    assert "grammar" not in engine.asked[-1][2]


@pytest.mark.parametrize("stream", [True, False])
def test_one_call_is_one_call(client, engine, stream):
    engine.text = CALLS
    answer = ask(client, tools=TOOLS, parallel_tool_calls=False, stream=stream)
    _, calls, reason = put_together(answer) if stream else taken_apart(answer)
    assert [json.loads(call["arguments"]) for call in calls] == [{"city": "東京", "days": 2}]
    assert reason == "tool_calls"


def test_an_answer_of_a_schema_is_held_by_a_grammar(client, engine):
    engine.text = '{"city": "Oslo"}<end>'
    format = {"type": "json_schema", "json_schema": {"name": "place", "strict": True, "schema": SCHEMA}}
    answer = ask(client, response_format=format)
    assert json.loads(answer.choices[0].message.content) == {"city": "Oslo"}
    assert "city" in engine.asked[-1][2]["grammar"]
    ask(client, response_format={"type": "json_object"})
    assert "grammar" in engine.asked[-1][2]


def test_what_the_server_says_to_the_engine_is_not_the_clients(client, engine):
    engine.text = "Yes."
    ask(client, extra_body={"prompt": "Another.", "cache_prompt": False, "top_k": 4})
    asked = engine.asked[-1][2]
    assert asked["prompt"].endswith("<assistant>") and asked["cache_prompt"] and asked["top_k"] == 4


def test_several_answers_are_not_mixed_up(client, engine):
    engine.texts = [f"Answer {number}." + CALLS for number in "abc"]
    answer = ask(client, tools=TOOLS, n=3, seed=7)
    assert [choice.index for choice in answer.choices] == [0, 1, 2]
    contents = {choice.message.content for choice in answer.choices}
    assert contents == {"Answer a.", "Answer b.", "Answer c."}
    assert sorted(asked["seed"] for _, _, asked in engine.asked) == [7, 8, 9]
    assert answer.usage.completion_tokens == 15
    ids = [call.id for choice in answer.choices for call in choice.message.tool_calls]
    assert len(set(ids)) == 6
    engine.texts = ["One.", "Two."]
    texts = {0: "", 1: ""}
    for chunk in ask(client, n=2, stream=True):
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
    assert set(texts.values()) == {"One.", "Two."}


def test_usage_is_passed_on(client, engine):
    engine.text = "Yes."
    assert ask(client).usage.total_tokens == 8
    chunks = list(ask(client, stream=True, stream_options={"include_usage": True}))
    assert chunks[-1].usage.total_tokens == 8 and chunks[-1].choices == []
    assert all(chunk.usage is None for chunk in ask(client, stream=True))


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}


@pytest.mark.parametrize(
    "more, param, expected",
    [
        ({"messages": []}, "messages", "expected a list with at least one message"),
        ({"messages": [{"role": "judge", "content": "x"}]}, "messages", "there are no judges"),
        ({"messages": [{"role": "user", "content": [IMAGE]}]}, "messages[0].content[0]", "`image_url` is not passed on"),
        ({"messages": [{"role": "user", "content": 3}]}, "messages[0].content", "expected a string or a list of parts"),
        ({"messages": ["x"]}, "messages[0]", "expected an object"),
        ({"n": 0}, "n", "expected a whole number from 1 on, found 0"),
        ({"n": 1000}, "n", "there may be 128 at most"),
        ({"tool_choice": "perhaps"}, "tool_choice", "expected auto, none, required or"),
        ({"tool_choice": "required"}, "tool_choice", "there are no tools"),
        (
            {"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "sleep"}}},
            "tool_choice",
            "the tools are `forecast`",
        ),
        ({"response_format": {"type": "xml"}}, "response_format.type", "found xml"),
        ({"logprobs": True}, "logprobs", "there are none"),
        ({"extra_body": {"echo": True}}, "echo", "is not passed on"),
        ({"extra_body": {"tools": "forecast"}}, "tools", "expected a list"),
        ({"tools": [{"type": "retrieval"}]}, "tools[0]", "only functions are"),
        ({"extra_body": {"chat_template_kwargs": 3}}, "chat_template_kwargs", "expected an object"),
        ({"extra_body": {"stream_options": 3}}, "stream_options", "expected an object"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_bad_requests_are_refused_by_name(client, engine, more, param, expected, stream):
    with pytest.raises(openai.BadRequestError) as raised:
        ask(client, stream=stream, **more)
    assert expected in raised.value.message
    assert (raised.value.type, raised.value.param) == ("invalid_request_error", param)
    assert engine.asked == []


def test_what_an_engine_without_grammars_can_not_hold_is_refused(plain_address, plain_engine):
    client = openai.OpenAI(base_url=f"{plain_address}/v1", api_key="key", max_retries=0, timeout=20)
    strict = [{"type": "function", "function": TOOLS[0]["function"] | {"strict": True}}]
    for more, param in [
        ({"tools": TOOLS, "tool_choice": "required"}, "tool_choice"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"tools": strict}, "tools"),
    ]:
        with pytest.raises(openai.BadRequestError, match="takes no grammars.*--best-effort") as raised:
            ask(client, **more)
        assert raised.value.param == param
    plain_engine.text = CALLS
    assert len(ask(client, tools=TOOLS).choices[0].message.tool_calls) == 2
    assert ask(client, tools=TOOLS, tool_choice="none").choices[0].message.tool_calls is None
