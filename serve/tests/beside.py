"""What runs beside the tests in a process of its own, so that what is measured is the server, and not who else has to wait in one Python.

    python beside.py engine            an engine that takes as much as it is sent; tells its address
    python beside.py client ADDRESS    a client that asks for a little, again and again, until there is something to read; tells how long each answer took
"""

import asyncio
import http.client
import json
import select
import sys
import time

QUESTION = {"model": "short", "messages": [{"role": "user", "content": "Rain?"}]}
HEAD = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n"
MEGABYTE = 1_000_000


def event(text):
    return b"data: " + json.dumps({"content": text}).encode() + b"\n\n"


LARGE = event("x" * MEGABYTE)
ON_AND_ON = event("on and on " * 10) * 20
LAST = b'data: {"content": "", "stop_type": "eos", "tokens_evaluated": 3, "tokens_predicted": 5}\n\n'


async def pieces(name):
    """What a model of this name writes."""
    match name:
        case "large":
            for _ in range(10):
                yield LARGE
        case "endless":
            while True:
                yield ON_AND_ON
                await asyncio.sleep(0)
        case "line":
            yield b'data: {"content": "'
            while True:
                yield b"x" * MEGABYTE
        case "nested":
            yield b'data: {"content": "", "more": [' + b"[]," * 5 * MEGABYTE + b"0]}\n\n"
        case _:
            yield event("No.")
    yield LAST


class Asked(asyncio.BufferedProtocol):
    """A request, of which nothing is kept but its beginning."""

    buffer = bytearray(1 << 20)

    def connection_made(self, transport):
        self.transport, self.first, self.left, self.goes_on = transport, b"", None, asyncio.Event()
        self.goes_on.set()

    def get_buffer(self, _):
        return self.buffer

    def buffer_updated(self, count):
        if self.left is None:
            self.first += self.buffer[:count]
            head, _, body = self.first.partition(b"\r\n\r\n")
            if not body:
                return
            self.left = int(head.lower().partition(b"content-length: ")[2].split()[0]) - len(body)
        else:
            self.left -= count
        if self.left == 0:
            self.answering = asyncio.ensure_future(self.answer())

    def pause_writing(self):
        self.goes_on.clear()

    def resume_writing(self):
        self.goes_on.set()

    def connection_lost(self, _):
        if self.left == 0:
            self.answering.cancel()

    async def answer(self):
        self.transport.write(HEAD)
        async for piece in pieces(self.first.partition(b'"model":"')[2].partition(b'"')[0].decode()):
            await self.goes_on.wait()
            if self.transport.is_closing():
                return
            self.transport.write(piece)
        self.transport.close()


async def engine():
    server = await asyncio.get_running_loop().create_server(Asked, "127.0.0.1", 0, backlog=2048)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def client(address):
    host = address.removeprefix("http://")
    body, found = json.dumps(QUESTION).encode(), []
    print("ready", flush=True)
    is_over = False
    while not is_over:
        # The last one is asked when what is beside it has ended, so that there is one.
        is_over = bool(select.select([sys.stdin], [], [], 0.02)[0])
        begun = time.monotonic()
        connection = http.client.HTTPConnection(host, timeout=60)
        connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
        response = connection.getresponse()
        text = response.read()
        is_answer = response.status == 200 and json.loads(text)["choices"][0]["message"]["content"] == "No."
        found.append((time.monotonic() - begun, response.status if not is_answer else "answered"))
        connection.close()
    print(json.dumps(found))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["engine"]:
            asyncio.run(engine())
        case ["client", address]:
            client(address)
