"""The server between the official client of the interface and a stand-in for a model.

    cargo build && pytest

The model is a small server, too: it streams a text that each test chooses, in odd pieces.
"""

import contextlib
import http.server
import json
import os
import pathlib
import subprocess
import threading

import pytest

openai = pytest.importorskip("openai")

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = pathlib.Path(os.environ.get("UNJINJA_SERVER", HERE / "target" / "debug" / "unjinja-server"))
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
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "forecast",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            },
        },
    }
]
JSON = {"content-type": "application/json"}
THOUGHT = "<think>Is it 東京? 🌧</think>"
CALLS = (
    '<call>{"name": "forecast", "arguments": {"city": "東京", "days": 2}}</call>'
    '<call>{"name": "forecast", "arguments": {"city": "Ber\\ngen"}}</call>'
)


class FakeModel(http.server.ThreadingHTTPServer):
    """A completion endpoint that streams what it is told to."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.text = ""
        self.finish_reason = "stop"
        self.cut_after = None  # so many pieces are sent, and then the connection is closed
        self.refusal = None  # a status and a text in place of an answer
        self.elsewhere = None  # where a refusal sends whoever has asked
        self.endless = False
        self.asked = []
        self.left = threading.Event()  # whoever was listening has gone


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        model = self.server
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        model.asked.append((self.path, dict(self.headers), asked))
        if model.refusal:
            status, text = model.refusal
            self.send_response(status)
            if model.elsewhere:
                self.send_header("location", model.elsewhere)
            self.end_headers()
            try:
                self.wfile.write(text.encode())
                while model.endless:
                    self.wfile.write(b"x" * 65536)
            except (BrokenPipeError, ConnectionResetError):
                model.left.set()
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        try:
            self.stream(model)
        except (BrokenPipeError, ConnectionResetError):
            model.left.set()

    def stream(self, model):
        pieces = [model.text[at : at + size] for at, size in odd(len(model.text))]
        while model.endless:
            self.event({"choices": [{"index": 0, "text": "on and on ", "finish_reason": None}]})
        for piece in pieces[: model.cut_after]:
            self.event({"choices": [{"index": 0, "text": piece, "finish_reason": None}]})
        if model.cut_after is not None:
            return
        self.event({"choices": [{"index": 0, "text": "", "finish_reason": model.finish_reason}]})
        self.event({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}})
        self.write(b"data: [DONE]\n\n")

    def event(self, event):
        self.write(b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n")

    def write(self, data):
        # Characters and lines are cut in two.
        for at in range(0, len(data), 37):
            self.wfile.write(data[at : at + 37])
            self.wfile.flush()


def odd(length):
    """Places and sizes of pieces, none of which is where anything ends."""
    at, sizes = 0, [1, 7, 2, 5, 3, 11]
    while at < length:
        size = sizes[at % len(sizes)]
        yield at, size
        at += size


@pytest.fixture(scope="module")
def model():
    model = FakeModel()
    threading.Thread(target=model.serve_forever, daemon=True).start()
    yield model
    model.shutdown()


@contextlib.contextmanager
def serving(source, upstream):
    command = [PROGRAM, source, "--upstream", upstream, "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().split()[-1] + "/v1"
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def address(model, tmp_path_factory):
    source = tmp_path_factory.mktemp("model") / "chat_template.jinja"
    source.write_text(JINJA, encoding="utf-8")
    with serving(source, f"http://127.0.0.1:{model.server_port}/v1") as address:
        yield address


@pytest.fixture
def client(address, model):
    model.__dict__.update(
        text="", finish_reason="stop", cut_after=None, refusal=None, elsewhere=None, endless=False, asked=[]
    )
    model.left.clear()
    return openai.OpenAI(base_url=address, api_key="key", max_retries=0, timeout=20)


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


def taken_apart(answer):
    """The same of a whole answer."""
    message = answer.choices[0].message
    texts = {key: getattr(message, key, None) for key in ("content", "reasoning_content")}
    calls = [
        {"id": call.id, "name": call.function.name, "arguments": call.function.arguments}
        for call in message.tool_calls or []
    ]
    return texts, calls, answer.choices[0].finish_reason


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
def test_a_text_becomes_the_same_answer_streamed_and_whole(client, model, text, finish_reason, expected):
    model.text, model.finish_reason = text, finish_reason
    streamed = without_ids(put_together(ask(client, tools=TOOLS, stream=True)))
    assert streamed == without_ids(taken_apart(ask(client, tools=TOOLS)))
    message, calls, reason = streamed
    content, reasoning, expected_calls, expected_reason = expected
    assert message == {"content": content, "reasoning_content": reasoning}
    assert [(name, json.loads(arguments)) for name, arguments in calls] == expected_calls
    assert reason == expected_reason


def test_arguments_come_while_they_are_written(client, model):
    model.text = CALLS
    chunks = list(ask(client, tools=TOOLS, stream=True))
    deltas = [call for chunk in chunks for choice in chunk.choices for call in choice.delta.tool_calls or []]
    pieces = [delta for delta in deltas if delta.function.arguments]
    assert len(pieces) > 6
    assert all(delta.function.name is None for delta in pieces)
    ids = [delta.id for delta in deltas if delta.id]
    assert len(set(ids)) == 2


def test_a_call_that_is_cut_stays_as_far_as_it_was_written(client, model):
    model.text, model.finish_reason = CALLS[: CALLS.index("2}") + 1], "length"
    message, calls, reason = put_together(ask(client, tools=TOOLS, stream=True))
    assert [(call["name"], call["arguments"]) for call in calls] == [("forecast", '{"city": "東京", "days": 2')]
    assert reason == "length"


def test_the_prompt_is_what_the_chat_template_renders(client, model):
    model.text = "Yes."
    calls = [
        {"id": "a", "type": "function", "function": {"name": "forecast", "arguments": '{"days": 2}'}}
    ]
    messages = [
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
    (path, headers, asked) = model.asked[-1]
    assert path == "/v1/completions"
    assert headers["authorization"] == "Bearer key"
    assert asked["prompt"] == (
        f"<tools>{json.dumps(TOOLS)}</tools><user>Rain?<end>"
        '<assistant><call>{"name": "forecast", "arguments": {"days": 2}}</call><end><tool>dry<end><assistant>!'
    )
    assert (asked["temperature"], asked["max_tokens"], asked["top_k"], asked["stream"]) == (0.5, 9, 4, True)
    assert not {"messages", "tools", "chat_template_kwargs", "max_completion_tokens"} & asked.keys()
    ask(client, tools=TOOLS, tool_choice="none")
    assert model.asked[-1][2]["prompt"] == "<user>Rain?<end><assistant>"


def test_usage_is_passed_on(client, model):
    model.text = "Yes."
    assert ask(client).usage.total_tokens == 8
    chunks = list(ask(client, stream=True, stream_options={"include_usage": True}))
    assert chunks[-1].usage.total_tokens == 8 and chunks[-1].choices == []
    assert all(chunk.usage is None for chunk in ask(client, stream=True))


@pytest.mark.parametrize(
    "more, expected",
    [
        ({"messages": []}, "`messages`: expected a list with at least one message"),
        ({"messages": [{"role": "judge", "content": "x"}]}, "there are no judges"),
        ({"n": 2}, "`n`: only one answer at a time"),
        ({"tool_choice": "required", "tools": TOOLS}, "`tool_choice`: only `auto` and `none`"),
        ({"response_format": {"type": "json_object"}}, "`response_format`: only text"),
        ({"logprobs": True}, "`logprobs`: there are none"),
        ({"extra_body": {"tools": "forecast"}}, "`tools`: expected a list"),
        ({"extra_body": {"chat_template_kwargs": 3}}, "`chat_template_kwargs`: expected an object"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_bad_requests_are_refused(client, model, more, expected, stream):
    with pytest.raises(openai.BadRequestError) as raised:
        ask(client, stream=stream, **more)
    assert expected in raised.value.message
    assert raised.value.type == "invalid_request_error"
    assert model.asked == []


def test_what_is_no_request_is_refused(client, address):
    http = client._client
    for body in [b"{", b"[]", b"\xff"]:
        answer = http.post(f"{address}/chat/completions", content=body, headers=JSON)
        assert answer.status_code == 400
        assert answer.json()["error"]["type"] == "invalid_request_error"
    with pytest.raises(openai.NotFoundError) as raised:
        client.models.list()
    assert "there is only `POST /v1/chat/completions`" in raised.value.message


@pytest.mark.parametrize(
    "headers, status",
    [
        ({}, 200),
        ({"content-type": "application/json; charset=utf-8"}, 200),
        ({"host": "localhost:80"}, 200),
        ({"host": "[::1]:80"}, 200),
        # What a form or a script of any page may send.
        ({"content-type": "text/plain"}, 415),
        ({"content-type": ""}, 415),
        ({"origin": "https://elsewhere.example"}, 403),
        ({"origin": "null"}, 403),
        # A name of somebody else that leads here.
        ({"host": "rebound.example"}, 421),
        ({"host": "127.0.0.1.rebound.example:80"}, 421),
    ],
)
def test_pages_in_a_browser_are_not_answered(client, model, address, headers, status):
    body = {"model": "small", "messages": [{"role": "user", "content": "Rain?"}]}
    answer = client._client.post(f"{address}/chat/completions", content=json.dumps(body), headers=JSON | headers)
    assert answer.status_code == status
    assert bool(model.asked) == (status == 200)
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_an_upstream_does_not_send_prompts_elsewhere(client, model, address):
    model.refusal, model.elsewhere = (307, ""), f"{address}/elsewhere"
    with pytest.raises(openai.InternalServerError, match="the upstream answers 307"):
        ask(client)
    assert len(model.asked) == 1


def test_an_error_without_an_end_is_read_up_to_a_limit(client, model):
    model.refusal, model.endless = (500, "no "), True
    with pytest.raises(openai.InternalServerError, match="the upstream answers 500 Internal Server Error: no x"):
        ask(client)
    assert model.left.wait(20), "the model is not left alone"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "status, text, error, expected",
    [
        (429, '{"error": {"message": "too many", "type": "rate", "code": "r"}}', openai.RateLimitError, "too many"),
        (400, '{"error": "too long"}', openai.BadRequestError, "too long"),
        (500, "<html>", openai.InternalServerError, "the upstream answers 500 Internal Server Error: <html>"),
    ],
)
def test_what_the_upstream_refuses_is_passed_on(client, model, status, text, error, expected, stream):
    model.refusal = (status, text)
    with pytest.raises(error) as raised:
        ask(client, stream=stream)
    assert expected in raised.value.message


def test_an_upstream_that_breaks_off_is_an_error(client, model):
    model.text, model.cut_after = "A long answer, which nobody will see.", 3
    with pytest.raises(openai.InternalServerError, match="the upstream has ended amid its answer"):
        ask(client)
    stream, text = ask(client, stream=True), ""
    with pytest.raises(openai.APIError, match="the upstream has ended amid its answer"):
        for chunk in stream:
            text += chunk.choices[0].delta.content or ""
    assert model.text.startswith(text) and text


def test_an_upstream_that_is_not_there_is_an_error(client, tmp_path):
    source = tmp_path / "chat_template.jinja"
    source.write_text(JINJA, encoding="utf-8")
    with serving(source, "http://127.0.0.1:1/v1") as address:
        with pytest.raises(openai.InternalServerError, match="the upstream can't be reached"):
            ask(client.with_options(base_url=address))


def test_a_client_that_goes_away_ends_the_request(client, model):
    model.endless = True
    stream = ask(client, stream=True)
    assert any(chunk.choices[0].delta.content for chunk in stream)
    stream.close()
    assert model.left.wait(20), "the model is not left alone"
    model.left.clear()
    with pytest.raises(openai.APITimeoutError):
        ask(client.with_options(timeout=1))
    assert model.left.wait(20), "the model is not left alone"
