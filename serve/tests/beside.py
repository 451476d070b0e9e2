"""What runs beside the tests in a process of its own, so that what is measured is the server, and not who else has to wait in one Python.

    python beside.py engine            an engine that takes as much as it is sent; tells its address
    python beside.py client ADDRESS    a client that asks for a little, again and again, until its input ends; tells how long each answer took
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


LAST = b'data: {"content": "", "stop_type": "eos", "tokens_evaluated": 3, "tokens_predicted": 5}\n\n'


async def pieces(name):
    """What a model of this name writes."""
    match name:
        case "large":
            for _ in range(10):
                yield event("x" * MEGABYTE)
        case "endless":
            while True:
                yield event("on and on ") * 100
        case "line":
            yield b'data: {"content": "'
            while True:
                yield b"x" * MEGABYTE
        case "nested":
            yield b'data: {"content": "", "more": [' + b"[]," * 5 * MEGABYTE + b"0]}\n\n"
        case _:
            yield event("No.")
    yield LAST


async def answer(reader, writer):
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = int(head.lower().partition("content-length: ")[2].split()[0])
        first = await reader.read(min(length, 4096))
        left = length - len(first)
        while left:
            left -= len(await reader.readexactly(min(left, 1 << 20)))
        writer.write(HEAD)
        async for piece in pieces(first.partition(b'"model":"')[2].partition(b'"')[0].decode()):
            writer.write(piece)
            await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def engine():
    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=1 << 20, backlog=2048)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def client(address):
    host = address.removeprefix("http://")
    body, found = json.dumps(QUESTION).encode(), []
    while not select.select([sys.stdin], [], [], 0.02)[0]:
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
