"""Nothing that clients, engines and chat templates send makes the server take more than it may, or keeps it from answering others.

Each attack has a quick client beside it, all of whose requests have to be answered. How long they took, and how much memory the server had
before, at most and afterwards, stands in the table that is printed in the end (`pytest -s`).
"""

import collections
import concurrent.futures
import contextlib
import http.client
import json
import pathlib
import re
import select
import socket
import statistics
import subprocess
import sys
import time
import urllib.request

import pytest
from conftest import JINJA, PROGRAM, serving
from upstream import Engine

if not pathlib.Path("/proc/self/status").exists():
    pytest.skip("only Linux tells what a process takes", allow_module_level=True)

BESIDE = pathlib.Path(__file__).with_name("beside.py")
CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
HEADERS = {"content-type": "application/json"}
MEBIBYTE = 1 << 20

# The server may have so much more memory, at most and afterwards: what requests may hold, what reading them takes, and what allocators
# keep. Without limits, each of these attacks takes gigabytes, or has no end.
AT_MOST = 1500 * MEBIBYTE
AFTERWARDS = 400 * MEBIBYTE
# In so many seconds all has to be given back.
TO_GIVE_BACK = 20


@pytest.fixture(scope="module")
def rows():
    """What is printed in the end."""
    rows = []
    yield rows
    heads = ("attack", "status", "seconds", "MiB before", "at most", "after", "others", "most ms beside", "median ms more")
    table = [heads, *rows]
    widths = [max(len(str(row[at])) for row in table) for at in range(len(heads))]
    print()
    for row in table:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())


@pytest.fixture(scope="module")
def upstream():
    with subprocess.Popen([sys.executable, BESIDE, "engine"], stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().strip()
        process.kill()


class Attacked:
    """A server, and who has asked it."""

    def __init__(self, address, process, rows):
        self.address, self.rows, self.files = address, rows, pathlib.Path(f"/proc/{process.pid}/fd")
        self.status = pathlib.Path(f"/proc/{process.pid}/status")
        self.references = pathlib.Path(f"/proc/{process.pid}/clear_refs")
        self.host, port = address.removeprefix("http://").split(":")
        self.port = int(port)
        # What is made once is made.
        assert self.post(question("short", tools=[tool()]))[0] == 200
        self.alone = self.beside(lambda: time.sleep(0.5))[1]

    def memory(self, key):
        return int(re.search(rf"^{key}:\s*(\d+) kB", self.status.read_text(), re.M)[1]) << 10

    def open_files(self):
        return len(list(self.files.iterdir()))

    def metric(self, name):
        with urllib.request.urlopen(f"{self.address}/metrics", timeout=60) as answer:
            return int(re.search(rf"^{name} (\d+)$", answer.read().decode(), re.M)[1])

    def post(self, body, path=CHAT):
        """The status and the text of an answer."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=100)
        with contextlib.closing(connection):
            connection.request("POST", path, body if isinstance(body, bytes) else json.dumps(body).encode(), HEADERS)
            response = connection.getresponse()
            return response.status, response.read().decode()

    def begin(self, body, length=None, path=CHAT, buffer=None):
        """A connection on which a body begins, and nothing is read."""
        connection = socket.socket()
        if buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.settimeout(60)
        connection.connect((self.host, self.port))
        length = len(body) if length is None else length
        head = f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        connection.sendall(head.encode() + body)
        return connection

    def beside(self, work):
        """What comes of work, and how long others had to wait meanwhile."""
        command = [sys.executable, BESIDE, "client", self.address]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
            try:
                assert client.stdout.readline() == "ready\n"
                done = work()
            finally:
                told, _ = client.communicate("\n", timeout=100)
        found = json.loads(told)
        assert found and {status for _, status in found} == {"answered"}, collections.Counter(status for _, status in found)
        return done, [1000 * taken for taken, _ in found]

    def attack(self, name, work):
        """Runs an attack, which gives the statuses of its answers, and sees to it that nothing is left of it."""
        before, files = self.memory("VmRSS"), self.open_files()
        self.references.write_text("5")
        begun = time.monotonic()
        statuses, taken = self.beside(work)
        seconds = time.monotonic() - begun
        most, end = self.memory("VmHWM"), time.monotonic() + TO_GIVE_BACK
        while time.monotonic() < end and (self.open_files() > files + 4 or self.metric("unjinja_requests_open")):
            time.sleep(0.05)
        after = self.memory("VmRSS")
        statuses = collections.Counter(statuses)
        told = ", ".join(f"{count} × {status}" for status, count in statuses.items())
        more = statistics.median(taken) - statistics.median(self.alone)
        sizes = [f"{bytes / MEBIBYTE:.0f}" for bytes in (before, most, after)]
        self.rows.append((name, told, f"{seconds:.1f}", *sizes, len(taken), f"{max(taken):.0f}", f"{more:.1f}"))
        assert most - before < AT_MOST
        assert after - before < AFTERWARDS
        assert self.open_files() <= files + 4
        assert self.metric("unjinja_requests_open") == 0
        assert self.metric("unjinja_held_bytes") == 0
        return set(statuses)


@contextlib.contextmanager
def attacked(upstream, source, rows, *arguments, **environment):
    with serving("--upstream", upstream, "--engine", "llama.cpp", "--model", source, *arguments, **environment) as address:
        yield Attacked(address, address.process, rows)


@pytest.fixture(scope="module")
def server(upstream, source, rows):
    with attacked(upstream, source, rows) as server:
        yield server


def tool(parameters=None, name="steer", **more):
    parameters = parameters or {"type": "object", "properties": {"to": {"type": "string"}}}
    return {"type": "function", "function": {"name": name, "parameters": parameters, **more}}


def question(model="short", content="Rain?", **more):
    return {"model": model, "messages": [{"role": "user", "content": content}], "max_tokens": 9, **more}


def argument(schema, **definitions):
    parameters = {"type": "object", "properties": {"to": schema}, "required": ["to"]}
    return parameters | ({"$defs": definitions} if definitions else {})


def lists(depth):
    schema = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


def tree(depth):
    """Definitions of which each refers to the next twice."""
    leaves = {f"n{at}": {"type": "object", "properties": {key: {"$ref": f"#/$defs/n{at + 1}"} for key in "ab"}} for at in range(depth)}
    return leaves | {f"n{depth}": {"type": "string"}}


PATTERNS = ["(a+)+$", "(a|a)*b", "(.*a){25}", "^(([a-z])+.)+[A-Z]([a-z])+$", "(a{1,9}){1,99}", "[\\s\\S]*" * 50, "(?:" * 99 + "a" + ")*" * 99]

# For each schema, what it is answered with: with its tool's name and the place in it, if it is refused.
SCHEMAS = {
    "lists 480 deep": (argument(lists(480)), 400),
    "lists 100 deep": (argument(lists(100)), 200),
    "a $ref to itself": (argument({"$ref": "#/$defs/n"}, n={"$ref": "#/$defs/n"}), 200),
    "lists of themselves": (argument({"$ref": "#/$defs/n"}, n={"type": "array", "items": {"$ref": "#/$defs/n"}}), 200),
    "a tree of 10^12 leaves": (argument({"$ref": "#/$defs/n0"}, **tree(40)), 200),
    "allOf of anyOf": (
        argument({"allOf": [{"anyOf": [{"properties": {f"{a}{b}": {"type": "string"}}} for b in range(9)]} for a in range(9)]}),
        200,
    ),
    "patterns": ({"type": "object", "properties": {str(at): {"type": "string", "pattern": at} for at in PATTERNS}}, 200),
    "counts of 10^9": (
        {
            "type": "object",
            "properties": {
                "text": {"type": "string", "minLength": 10**9, "maxLength": 2 * 10**9},
                "list": {"type": "array", "items": {"type": "string"}, "minItems": 10**9},
                "pattern": {"type": "string", "pattern": "^(a{1000000000}){1000000000}$"},
                "number": {"type": "integer", "minimum": -(10**300), "maximum": 10**300},
            },
        },
        200,
    ),
    "an enum of 100,000": (argument({"enum": [f"word {at}" for at in range(100_000)]}), 400),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas(server, name):
    schema, expected = SCHEMAS[name]
    paths = {
        CHAT: question(tools=[tool(), tool(schema, "hostile")], tool_choice="required"),
        RESPONSES: {"input": "Rain?", "tools": [{"type": "function", "name": "hostile", "parameters": schema}], "tool_choice": "required"},
        MESSAGES: question(tools=[{"name": "hostile", "input_schema": schema}], tool_choice={"type": "any"}),
    }

    def work():
        answers = [server.post(body, path) for path, body in paths.items()]
        for status, text in answers:
            if status == 400:
                message = json.loads(text)["error"]["message"]
                assert "`hostile`" in message and "/properties/to" in message, message
                assert json.loads(text)["error"].get("param", "tools") == "tools"
        return [status for status, _ in answers]

    assert server.attack(name, work) == {expected}


def test_schemas_beyond_the_limits_are_let_pass_where_that_is_wanted(upstream, source, rows):
    with attacked(upstream, source, rows, "--best-effort") as server:
        for name, (schema, _) in SCHEMAS.items():
            assert server.post(question(tools=[tool(schema, "hostile")], tool_choice="required"))[0] == 200, name


def at_once(server, bodies, path=CHAT):
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        return [status for status, _ in pool.map(lambda body: server.post(body, path), bodies)]


@pytest.mark.parametrize(("count", "expected"), [(1000, 200), (2000, 400)])
def test_thousands_of_large_tools(server, count, expected):
    properties = {f"argument_{at}": {"type": "string", "description": "x" * 50} for at in range(20)}
    tools = [tool({"type": "object", "properties": properties}, f"tool_{at}") for at in range(count)]
    name = f"{count} large tools, twice"
    assert server.attack(name, lambda: at_once(server, [question(tools=tools)] * 2)) == {expected}


def test_a_large_text_with_many_answers(server):
    body = json.dumps(question(content="x" * 10_000_000, n=128)).encode()
    assert server.attack("10 MB of text with n 128", lambda: at_once(server, [body])) == {200}


def large_tools(at):
    """A request with tools of 9 MB, which are not those of others."""
    tools = [tool(name=f"tool_{at}_{number}", description="x" * 90_000) for number in range(100)]
    return json.dumps(question(tools=tools)).encode()


def test_large_tools_in_many_requests(server):
    bodies = [large_tools(at) for at in range(20)]
    assert server.attack("tools of 9 MB in twenty requests", lambda: at_once(server, bodies)) == {200}


def test_new_variables_in_each_request(server):
    bodies = [question(tools=[tool()], chat_template_kwargs={f"variable_{at}": at}) for at in range(100)]
    large = question(tools=[tool()], chat_template_kwargs={"loud": "x" * 100_000})
    assert server.attack("a new variable in each request", lambda: at_once(server, bodies)) == {200}
    status, text = server.post(large)
    assert (status, json.loads(text)["error"]["param"]) == (400, "chat_template_kwargs")


def test_many_small_values(server):
    body = b'{"messages": [' + b"{}," * 3_000_000 + b"{}]}"
    assert server.attack("three million values, ten times", lambda: at_once(server, [body] * 10)) == {400}


def test_what_is_kept_does_not_grow_with_requests(upstream, source, rows):
    # With one place that memory is allocated from, what is kept is not what the allocator keeps of each.
    with attacked(upstream, source, rows, MALLOC_ARENA_MAX="1") as server:
        kept = []
        for round in range(5):
            bodies = [large_tools((round, at)) for at in range(3)]
            bodies += [question(tools=[tool(name=f"tool_{round}_{at}")], chat_template_kwargs={f"v{round}_{at}": at}) for at in range(30)]
            assert server.attack(f"large tools and new variables, time {round + 1}", lambda: at_once(server, bodies)) == {200}
            kept.append(server.memory("VmRSS"))
        # A single copy of what was sent meanwhile would be more.
        assert kept[4] - kept[1] < 60 * MEBIBYTE, [size // MEBIBYTE for size in kept]


def test_more_answers_than_there_may_be(upstream, source, rows):
    with attacked(upstream, source, rows, "--max-requests", 4) as server:
        status, text = server.post(question(n=5))
        assert (status, json.loads(text)["error"]["param"]) == (400, "n")
        assert server.post(question(n=4))[0] == 200


def status_of(connection):
    """The status that a connection is answered with; nothing if it is closed."""
    try:
        head = connection.recv(4096).decode()
    except ConnectionError:
        head = ""
    return int(head.split()[1]) if head else "closed"


def test_bodies_that_come_in_slowly(upstream, source, rows):
    body = json.dumps(question()).encode()
    with attacked(upstream, source, rows, "--max-requests", 8) as server:

        def work():
            # More of them than there may be connections.
            slow = [server.begin(body[:10], len(body)) for _ in range(200)]
            for byte in body[10:20]:
                for connection in slow:
                    with contextlib.suppress(ConnectionError):
                        connection.send(bytes([byte]))
                time.sleep(0.05)
            # Who is still there is answered, or has had to go.
            found = []
            for connection in slow:
                with contextlib.closing(connection):
                    with contextlib.suppress(ConnectionError):
                        connection.send(body[20:])
                    found.append(status_of(connection))
            return found

        found = server.attack("200 slow bodies, with room for 8 requests", work)
        assert 200 in found and found <= {200, 503, "closed"}


def test_large_bodies_that_do_not_go_on(upstream, source, rows):
    whole = json.dumps(question(content="x" * 4 * MEBIBYTE)).encode()
    with attacked(upstream, source, rows, "--max-held", 40 * MEBIBYTE) as server:

        def work():
            slow = [server.begin(whole[: 3 * MEBIBYTE], len(whole)) for _ in range(20)]
            # Those who began first make room for who comes now.
            found = [server.post(whole)[0]]
            for connection in slow:
                connection.close()
            return found

        assert server.attack("20 large bodies that do not go on", work) == {200}


@pytest.mark.parametrize(
    ("name", "count", "asked", "seconds"),
    [
        ("64 streams that are not read", 64, question("endless", stream=True), 2),
        ("4 answers of 10 MB that are not read", 4, question("large"), 1),
    ],
)
def test_clients_that_read_nothing(server, name, count, asked, seconds):
    body = json.dumps(asked).encode()

    def work():
        slow = [server.begin(body, buffer=4096) for _ in range(count)]
        # Whatever is to pile up has begun to come.
        select.select(slow, [], [], 60)
        time.sleep(seconds)
        found = [status_of(connection) for connection in slow]
        for connection in slow:
            connection.close()
        return found

    assert server.attack(name, work) == {200}


def test_clients_that_leave_at_once(server):
    body = json.dumps(question(content="x" * 3_000_000, tools=[tool()])).encode()

    def work():
        for _ in range(40):
            server.begin(body).close()
        return []

    assert server.attack("40 large requests whose clients have left", work) == set()


@pytest.mark.parametrize(
    "model, more, expected",
    [
        ("line", {"n": 4}, "there is no room for more: see `--max-held`"),
        ("endless", {"n": 8}, "there is no room for more: see `--max-held`"),
        # This one alone has room.
        ("nested", {}, "more than 1000000 values"),
    ],
)
def test_engines_without_an_end(upstream, source, rows, model, more, expected):
    with attacked(upstream, source, rows, "--max-held", 20 * MEBIBYTE) as server:

        def work():
            status, text = server.post(question(model, **more))
            assert expected in json.loads(text)["error"]["message"]
            return [status]

        assert server.attack(f"an engine: {model}", work) <= {502, 503}


# Chat templates that an engine tells, and what each does when it is rendered with the word.
WORD = "{% if messages[-1].content == 'now' %}"
LOOPS = "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}{% endfor %}"
DOUBLES = "{% set n = namespace(t='xxxxxxxx') %}{% for a in range(99) %}{% set n.t = n.t + n.t %}{% endfor %}{{ n.t }}"
RECURS = "{% macro again(t) %}{{ again(t + t) }}{% endmacro %}{{ again('x') }}"


@pytest.mark.parametrize("name, attack", {"loops": LOOPS, "doubles": DOUBLES, "recurs": RECURS}.items())
def test_chat_templates_without_an_end(rows, name, attack):
    # One that never ends is refused at the start.
    engine = Engine("llama.cpp", attack + JINJA)
    ended = subprocess.run([PROGRAM, "serve", "--upstream", engine.url, "--print-config"], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2, ended.stderr
    # One that ends for all but some requests refuses these.
    engine = Engine("llama.cpp", WORD + attack + "{% endif %}" + JINJA)
    engine.text = "No."
    with serving("--upstream", engine.url) as address:
        server = Attacked(address, address.process, rows)

        def work():
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                answers = list(pool.map(lambda _: server.post(question(content="now")), range(8)))
            assert all("the chat template refuses them" in text for _, text in answers), answers
            return [status for status, _ in answers]

        assert server.attack(f"a chat template that {name}", work) == {400}
