"""The server itself: whom it answers, what it does when others misbehave, and how it ends."""

import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import termios
import threading
import time
import urllib.error
import urllib.request

import pytest
from conftest import CALLS, PARAMETERS, PROGRAM, THOUGHT, serving
from upstream import Engine

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")

TOOLS = [{"type": "function", "function": {"name": "forecast", "parameters": PARAMETERS}}]
QUESTION = {"model": "small", "messages": [{"role": "user", "content": "Rain?"}], "max_tokens": 99}
PATHS = {"/v1/chat/completions": QUESTION, "/v1/responses": {"model": "small", "input": "Rain?"}, "/v1/messages": QUESTION}


@pytest.fixture
def client(llama_address):
    return openai.OpenAI(base_url=f"{llama_address}/v1", api_key="key", max_retries=0, timeout=20)


def ask(client, **more):
    return client.chat.completions.create(**QUESTION, **more)


def post(address, path, body, headers=None):
    """The status and the JSON of an answer."""
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    headers = {"content-type": "application/json", **(headers or {})}
    request = urllib.request.Request(address + path, body, {k: v for k, v in headers.items() if v is not None})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.loads(answer.read()), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read()), error.headers


def get(address, path):
    with urllib.request.urlopen(address + path, timeout=20) as answer:
        return answer.read().decode()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"3", b"\xff", b"[" * 100_000, b'{"messages": 3}', b'{"input": {}}'])
def test_what_is_no_request_is_refused_in_the_shape_of_the_interface(llama_address, engine, path, body):
    status, answer, _ = post(llama_address, path, body)
    assert status == 400
    assert answer["error"]["type"] == "invalid_request_error"
    assert (answer.get("type") == "error") == (path == "/v1/messages")
    assert engine.asked == []


def test_what_is_not_there_says_what_is(llama_address):
    status, answer, _ = post(llama_address, "/v1/embeddings", {})
    assert status == 404
    assert "/v1/chat/completions, /v1/responses, /v1/messages" in answer["error"]["message"]
    with pytest.raises(urllib.error.HTTPError, match="405"):
        get(llama_address, "/v1/messages")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "headers, status",
    [
        ({}, 200),
        ({"content-type": "application/json; charset=utf-8"}, 200),
        ({"host": "localhost:80"}, 200),
        ({"host": "[::1]:80"}, 200),
        # What a form or a script of any page may send.
        ({"content-type": "text/plain"}, 415),
        ({"origin": "https://elsewhere.example"}, 403),
        ({"origin": "null"}, 403),
        # A name of somebody else that leads here.
        ({"host": "rebound.example"}, 421),
        ({"host": "127.0.0.1.rebound.example:80"}, 421),
    ],
)
def test_pages_in_a_browser_are_not_answered(engine, llama_address, path, headers, status):
    found, _, answered = post(llama_address, path, PATHS[path], headers)
    assert found == status
    assert bool(engine.asked) == (status == 200)
    assert not [name for name in answered if name.lower().startswith("access-control")]


def test_a_request_that_is_too_large_is_refused(source, plain_engine):
    with serving("--upstream", plain_engine.url, "--model", source, "--max-body", 1000) as address:
        for path, question in PATHS.items():
            status, answer, _ = post(address, path, question | {"padding": "x" * 2000})
            assert status == 413
            assert "1000 bytes: see `--max-body`" in answer["error"]["message"]


def test_more_requests_than_there_is_room_for_are_told_to_come_again(source):
    engine = Engine("openai")
    engine.text, engine.waits = "Slowly, slowly.", 0.3
    with serving("--upstream", engine.url, "--model", source, "--max-requests", 1) as address:
        slow = threading.Thread(target=post, args=(address, "/v1/messages", QUESTION))
        slow.start()
        while not engine.asked:
            time.sleep(0.01)
        status, _, headers = post(address, "/v1/chat/completions", QUESTION)
        assert (status, headers["retry-after"]) == (503, "1")
        status, answer, _ = post(address, "/v1/messages", QUESTION)
        assert (status, answer["error"]["type"]) == (529, "overloaded_error")
        slow.join()
        assert post(address, "/v1/messages", QUESTION)[0] == 200


def test_an_upstream_does_not_send_prompts_elsewhere(client, engine, llama_address):
    engine.refusal, engine.elsewhere = (307, ""), f"{llama_address}/elsewhere"
    with pytest.raises(openai.InternalServerError, match="the upstream answers 307"):
        ask(client)
    assert len(engine.asked) == 1


def test_an_error_without_an_end_is_read_up_to_a_limit(client, engine):
    engine.refusal, engine.endless = (500, "no "), True
    with pytest.raises(openai.InternalServerError, match="the upstream answers 500 Internal Server Error: no x"):
        ask(client)
    assert engine.left.wait(20), "the engine is not left alone"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "status, text, error, expected",
    [
        (429, '{"error": {"message": "too many", "type": "rate", "code": "r"}}', openai.RateLimitError, "too many"),
        (400, '{"error": "too long"}', openai.BadRequestError, "too long"),
        (500, "<html>", openai.InternalServerError, "the upstream answers 500 Internal Server Error: <html>"),
        (401, '{"error": {"message": "no key"}}', openai.AuthenticationError, "no key"),
    ],
)
def test_what_the_upstream_refuses_is_passed_on(client, engine, status, text, error, expected, stream):
    engine.refusal = (status, text)
    with pytest.raises(error) as raised:
        ask(client, stream=stream)
    assert expected in raised.value.message


GARBAGE = {
    "no JSON": (b"data: {\n\n", "the upstream sends something other than JSON"),
    "another type": (b'data: {"content": 3}\n\n', "the upstream sends a number at /content"),
    "a list": (b"data: []\n\n", "the upstream stopped within its answer"),
    "nothing": (b"", "the upstream stopped within its answer"),
    "an error": (b'data: {"error": {"message": "out of memory"}}\n\n', "out of memory"),
    "an error as an event": (b'error: {"message": "out of memory"}\n\n', "out of memory"),
    "an event named so": (b'event: error\ndata: {"message": "out of memory"}\n\n', "out of memory"),
    "an event named so that is not JSON": (b"event: error\ndata: out of memory\n\n", "502 Bad Gateway: out of memory"),
    "an error in place of events": (b'{"error": {"message": "out of memory"}}', "out of memory"),
    "half of a line": (b'data: {"content": "Ye', "the upstream sends something other than JSON"),
    "bytes": (b"\xff\xfe\x00" * 50, "the upstream stopped within its answer"),
}


@pytest.mark.parametrize("raw, expected", GARBAGE.values(), ids=GARBAGE)
def test_whatever_an_upstream_sends_is_an_error_that_says_so(llama_address, engine, raw, expected):
    engine.raw = raw
    for path, question in PATHS.items():
        status, answer, _ = post(llama_address, path, question)
        assert status == 502
        assert expected in answer["error"]["message"]


def test_lines_are_read_however_they_are_cut(client, engine):
    for raw in [
        b'data: {"content": "Yes"}\r\n\r\ndata: {"content": "", "stop_type": "eos"}\r\n\r\n',
        b'data:{"content": "Yes", "stop_type": "eos"}',
        b'event: error\n\ndata: {"content": "Yes", "stop_type": "eos"}\n\n',
        b': waiting\n\nevent: piece\ndata: {"content": "Yes"}\ndata: {"stop_type": "eos"}\n\n',
        b'\xef\xbb\xbfdata: {"content": "Yes", "stop_type": ""}\n\ndata: {"content": "", "stop_type": "eos"}\n\n',
    ]:
        engine.raw = raw
        assert ask(client).choices[0].message.content == "Yes"


def test_an_upstream_that_breaks_off_is_an_error(client, engine):
    engine.text, engine.cut_after = "A long answer, which nobody will see.", 3
    with pytest.raises(openai.InternalServerError, match="the upstream stopped within its answer"):
        ask(client)
    stream, text = ask(client, stream=True), ""
    with pytest.raises(openai.APIError, match="the upstream stopped within its answer"):
        for chunk in stream:
            text += chunk.choices[0].delta.content or ""
    assert engine.text.startswith(text) and text


def test_an_upstream_that_says_nothing_is_waited_for_only_so_long(source):
    engine = Engine("openai")
    engine.text, engine.waits = "Never.", 5
    with serving("--upstream", engine.url, "--model", source, "--timeout", 1) as address:
        status, answer, _ = post(address, "/v1/messages", QUESTION)
        assert status == 504
        assert "the upstream takes too long" in answer["error"]["message"]


def test_an_upstream_that_is_not_there_is_an_error(source):
    with serving("--upstream", "http://127.0.0.1:1/v1", "--engine", "openai", "--model", source) as address:
        for path, question in PATHS.items():
            status, answer, _ = post(address, path, question)
            assert status == 502
            assert "the upstream can't be reached: " in answer["error"]["message"]
        with pytest.raises(urllib.error.HTTPError, match="503"):
            get(address, "/health")


def run(*arguments):
    return subprocess.run([PROGRAM, "serve", *map(str, arguments)], capture_output=True, text=True, timeout=60)


def test_what_keeps_it_from_beginning_is_told(source, plain_engine, llama, tmp_path):
    for arguments, expected in [
        (["--upstream", "http://127.0.0.1:1", "--model", source], "With `--engine NAME` it is not asked what it is"),
        (["--upstream", plain_engine.url], "reports no chat template, as llama.cpp does: give the model with `--model SOURCE`"),
        (["--upstream", "nowhere", "--model", source], "nowhere: this is not an address: write it as http://127.0.0.1:8080"),
        (["--upstream", "https://127.0.0.1:1", "--model", source], "127.0.0.1:1: "),
        (["--upstream", llama.url, "--listen", "127.0.0.1:99999"], "can't listen at 127.0.0.1:99999"),
        (["--upstream", llama.url, "--record", tmp_path], str(tmp_path)),
        (["--upstream", llama.url, "--engine", "none"], "invalid value 'none' for '--engine <NAME>'"),
    ]:
        ended = run(*arguments)
        assert ended.returncode == 2
        assert expected in ended.stderr, ended.stderr


def test_the_configuration_is_printed(llama, source):
    ended = run("--upstream", llama.url, "--print-config")
    config = json.loads(ended.stdout)
    assert (config["engine"], config["grammars"], config["listen"]) == ("llama.cpp", "Gbnf", "127.0.0.1:8787")
    assert config["paths"] == list(PATHS)
    assert "thinking" in config["response_template"]["fields"]
    assert {"<call>", "</call>"} <= set(config["preserved_tokens"])


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_away_ends_the_request(client, engine, stream):
    engine.endless = True
    if stream:
        answer = ask(client, stream=True)
        assert any(chunk.choices[0].delta.content for chunk in answer)
        answer.close()
    else:
        with pytest.raises(openai.APITimeoutError):
            ask(client.with_options(timeout=1))
    assert engine.left.wait(20), "the engine is not left alone"


def unjinja(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, env=os.environ | {"COLUMNS": "200"})


def test_what_is_recorded_has_no_keys_and_is_evidence_for_derive(source, tmp_path):
    engine, record = Engine("openai"), tmp_path / "outputs.jsonl"
    engine.text = THOUGHT + CALLS
    with serving("--upstream", engine.url, "--model", source, "--record", record) as address:
        post(address, "/v1/chat/completions", QUESTION | {"tools": TOOLS}, {"authorization": "Bearer secret"})
        post(address, "/v1/messages", QUESTION, {"x-api-key": "secret"})
    text = record.read_text()
    assert "secret" not in text
    first, second = map(json.loads, text.splitlines())
    assert first["text"] == second["text"] == THOUGHT + CALLS
    assert first["tools"] == TOOLS and "tools" not in second
    assert first["prefix"].endswith("<assistant>") and first["finish_reason"] == "stop"
    derived = unjinja("derive", source, "--outputs", record)
    assert derived.returncode == 0, derived.stderr
    template = tmp_path / "template.json"
    template.write_text(derived.stdout)
    parsed = unjinja("parse", "-t", template, "--jsonl", record, "--no-events")
    messages = [json.loads(line)["message"] for line in parsed.stdout.splitlines()]
    assert [len(message["tool_calls"]) for message in messages] == [2, 2]


def test_what_is_recorded_is_checked_and_stepped_through(source, tmp_path):
    engine, record = Engine("openai"), tmp_path / "outputs.jsonl"
    with serving("--upstream", engine.url, "--model", source, "--record", record) as address:
        for text, reason, more in [
            (THOUGHT + CALLS, "stop", {}),
            # There was no room for the rest of the call.
            (CALLS[:40], "length", {}),
            # Of two calls, one is wanted, and the second is not read to its end.
            (CALLS, "stop", {"parallel_tool_calls": False}),
            # A tool that there is not.
            (CALLS.replace("forecast", "wait"), "stop", {}),
        ]:
            engine.text, engine.finish_reason = text, reason
            post(address, "/v1/chat/completions", QUESTION | {"tools": TOOLS} | more)
    lines = list(map(json.loads, record.read_text().splitlines()))
    assert [line["finish_reason"] for line in lines] == ["stop", "length", "length", "stop"]
    # No output that was cut off is taken for one that is read wrongly.
    derived = unjinja("derive", source, "--outputs", record)
    assert (derived.returncode, "4 of 4 outputs" in derived.stderr) == (0, True), derived.stderr
    template = tmp_path / "template.json"
    template.write_text(derived.stdout)
    for reader in (source, template):
        checked = unjinja("check", "-t", reader, record)
        assert checked.returncode == 1, checked.stderr
        assert checked.stdout.startswith(f"FAIL {record}:4:1: {lines[3]['id']}\n  a call names `wait`")
        assert "3 of 4 cases passed" in checked.stdout
        screen = on_terminal("tui", reader, record) if reader == source else on_terminal("tui", "-t", reader, record)
        assert all(line["id"][-12:] in screen for line in lines), screen


def all_of(terminal):
    """What was written to a terminal whose other end is closed. One read may give the first part alone."""
    told = b""
    try:
        while part := os.read(terminal, 65536):
            told += part
    except OSError:  # Linux says so that there is no more; macOS gives an empty part.
        pass
    os.close(terminal)
    return told


def on_terminal(*arguments):
    """What the workbench has written to a terminal until it is left."""
    own, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    process = subprocess.Popen([PROGRAM, *arguments], stdin=other, stdout=other, stderr=other, start_new_session=True)
    os.close(other)
    screen, late = b"", time.monotonic() + 30
    while process.poll() is None and time.monotonic() < late:
        if select.select([own], [], [], 0.5)[0]:
            with contextlib.suppress(OSError):
                screen += os.read(own, 65536)
        else:
            os.write(own, b"q")
    process.kill()
    process.wait()
    return (screen + all_of(own)).decode()


@pytest.mark.parametrize("path", PATHS)
def test_what_happens_is_explained(source, path):
    engine, told = Engine("openai"), []
    engine.text = "<think>Rain\x1b[2J</think>Yes."
    with serving("--upstream", engine.url, "--model", source, "--explain", told=told) as address:
        post(address, path, PATHS[path])
        engine.endless = True
        client = openai.OpenAI(base_url=f"{address}/v1", api_key="key", max_retries=0, timeout=20)
        stream = ask(client, stream=True)
        next(iter(stream))
        stream.close()
        assert engine.left.wait(20)
    text = "\n".join(told)
    for expected in [
        f" for {path}\n",
        '#1 prompt   "<user>Rain?<end><assistant>"\n',
        's "<"\n#1   holds  "<" back\n',
        '#1   opens  thinking "<think>"\n',
        '#1   sends  reasoning "R',
        '#1   closes thinking "</think>"\n',
        '#1   opens  content\n',
        '#1   sends  content "Y',
        "s the model was done\n",
        "#2 begins   chatcmpl-",
        "s the client has gone",
    ]:
        assert expected in text, text
    assert "\x1b" not in text


@pytest.mark.parametrize("more, has_colours", [({}, True), ({"NO_COLOR": "1"}, False)])
def test_on_a_terminal_regions_have_colours(source, more, has_colours):
    engine = Engine("openai")
    engine.text = "<think>Rain.</think>Yes."
    own, other = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "CLICOLOR_FORCE")} | more
    command = [PROGRAM, "serve", "--upstream", engine.url, "--model", source, "--explain", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=other, text=True, env=environment)
    post(process.stdout.readline().split()[-1], "/v1/chat/completions", QUESTION)
    process.terminate()
    process.communicate(timeout=40)
    os.close(other)
    told = all_of(own).decode()
    opens = "\x1b[36mopens\x1b[0m" if has_colours else "opens"
    assert f"   {opens}  thinking" in told and "the model was done" in told
    assert ("\x1b" in told) == has_colours


def test_keys_are_told_nobody(source):
    engine, told = Engine("openai"), []
    engine.refusal = (401, '{"error": "no"}')
    with serving("--upstream", engine.url, "--model", source, "--explain", told=told) as address:
        post(address, "/v1/chat/completions", QUESTION, {"authorization": "Bearer secret"})
        assert "secret" not in get(address, "/metrics")
    assert engine.asked[0][1]["authorization"] == "Bearer secret"
    assert "secret" not in "\n".join(told)


def test_health_models_and_metrics(llama_address, engine):
    engine.text = "Yes."
    assert json.loads(get(llama_address, "/health")) == {"status": "ok"}
    assert json.loads(get(llama_address, "/v1/models"))["data"][0]["object"] == "model"
    post(llama_address, "/v1/messages", QUESTION)
    post(llama_address, "/v1/messages", {})
    metrics = get(llama_address, "/metrics")
    assert 'unjinja_requests_total{path="/v1/messages",status="200"}' in metrics
    assert 'unjinja_requests_total{path="/v1/messages",status="400"}' in metrics
    deadline = time.time() + 20
    while "\nunjinja_requests_open 0\n" not in get(llama_address, "/metrics"):
        assert time.time() < deadline, "all requests have ended"
        time.sleep(0.1)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_what_has_begun_is_answered_before_it_ends(source, end):
    engine = Engine("openai")
    engine.text, engine.waits, found = "Slowly, slowly.", 0.3, []
    with serving("--upstream", engine.url, "--model", source, signal=end) as address:
        slow = threading.Thread(target=lambda: found.append(post(address, "/v1/messages", QUESTION)))
        slow.start()
        while not engine.asked:
            time.sleep(0.01)
    slow.join()
    assert found[0][1]["content"][0]["text"] == "Slowly, slowly."


def test_streams_at_once_are_not_mixed_up(source):
    engine = Engine("openai")
    engine.echo = True
    with serving("--upstream", engine.url, "--model", source) as address:
        found = {}

        def one(number):
            client = anthropic.Anthropic(base_url=address, api_key="key", max_retries=0, timeout=60)
            question = QUESTION | {"messages": [{"role": "user", "content": f"I am number {number}."}]}
            with client.messages.stream(**question) as stream:
                found[number] = stream.get_final_message().content[0].text

        threads = [threading.Thread(target=one, args=(number,)) for number in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {number: f"I am number {number}." for number in range(40)}


def test_headers_that_do_not_come_in_end_the_connection(source, plain_engine):
    with serving("--upstream", plain_engine.url, "--model", source, "--client-timeout", 1) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: local")
            assert connection.recv(1000) in (b"", b"HTTP/1.1 408 Request Timeout\r\n\r\n")


def test_a_client_that_takes_nothing_is_left_alone(source):
    engine = Engine("openai")
    engine.endless = True
    body = json.dumps(QUESTION | {"stream": True}).encode()
    with serving("--upstream", engine.url, "--model", source, "--client-timeout", 1) as address:
        host, port = address.removeprefix("http://").split(":")
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((host, int(port)))
        head = f"POST /v1/messages HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert engine.left.wait(30), "the engine is not left alone"
        connection.close()
