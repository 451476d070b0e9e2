"""What `unjinja serve` does, as one would write it in Python: for `serve/benches/compare`, which starts it.

The prompt is rendered as transformers renders it, the output is read by the streaming parser of transformers, and what comes of it is sent
as chunks of Chat Completions. There are no grammars, no limits and no other interfaces.
"""

import argparse
import json
import time

import aiohttp
import uvloop
from aiohttp import web
from transformers.utils.chat_parsing import ResponseParser
from transformers.utils.chat_template_utils import render_jinja_template

# That of `load.rs`, and a response template that reads it.
CHAT_TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}>"
    "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}<end>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
RESPONSE_TEMPLATE = {
    "start_anchor": "<assistant>",
    "fields": {
        "reasoning_content": {"open": "<think>", "close": "</think>"},
        "tool_calls": {
            "open": "<call>",
            "close": "</call>",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close": "<end>"},
    },
}


class Answer:
    """The chunks of one answer."""

    def __init__(self, number, model):
        self.frame = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": int(time.time()), "model": model}
        self.calls = 0

    def chunk(self, delta, reason=None):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        data = json.dumps(self.frame | {"choices": [choice]}, separators=(",", ":"), ensure_ascii=False)
        return f"data: {data}\n\n"

    def chunks(self, events):
        """What is sent for what the parser reports. Calls are sent when they are whole."""
        for event in events:
            field = event["field"]
            if event["type"] == "region_chunk" and field != "tool_calls":
                yield self.chunk({field: event["text"]})
            elif event["type"] == "region_close" and field == "tool_calls":
                function = event["value"]["function"]
                arguments = json.dumps(function["arguments"], ensure_ascii=False)
                call = {
                    "index": self.calls,
                    "id": f"call_{self.calls}",
                    "type": "function",
                    "function": {"name": function["name"], "arguments": arguments},
                }
                self.calls += 1
                yield self.chunk({"tool_calls": [call]})


class Proxy:
    def __init__(self, upstream):
        self.upstream = upstream
        self.answered = 0

    async def begin(self, app):
        connector = aiohttp.TCPConnector(limit=0, force_close=True)
        self.session = aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None))
        yield
        await self.session.close()

    async def answer(self, request):
        asked = await request.json()
        tools = asked.get("tools")
        prompts, _ = render_jinja_template(
            [asked["messages"]], tools=tools, chat_template=CHAT_TEMPLATE, add_generation_prompt=True
        )
        question = {key: value for key, value in asked.items() if key not in ("messages", "tools")}
        parser = ResponseParser(RESPONSE_TEMPLATE, prefix=prompts[0], tools=tools)
        self.answered += 1
        answer = Answer(self.answered, asked["model"])
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(answer.chunk({"role": "assistant"}).encode())
        reason = "stop"
        async with self.session.post(f"{self.upstream}/v1/completions", json=question | {"prompt": prompts[0]}) as coming:
            async for line in coming.content:
                if not line.startswith(b"data: ") or line == b"data: [DONE]\n":
                    continue
                choice = json.loads(line[6:])["choices"][0]
                reason = choice["finish_reason"] or reason
                sent = "".join(answer.chunks(parser.feed(choice["text"])))
                if sent:
                    await response.write(sent.encode())
        _, events = parser.finalize()
        ending = "".join(answer.chunks(events))
        reason = "tool_calls" if answer.calls and reason == "stop" else reason
        await response.write((ending + answer.chunk({}, reason) + "data: [DONE]\n\n").encode())
        return response


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--upstream", required=True)
    arguments.add_argument("--port", type=int, required=True)
    given = arguments.parse_args()
    proxy = Proxy(given.upstream)
    app = web.Application()
    app.cleanup_ctx.append(proxy.begin)
    app.router.add_post("/v1/chat/completions", proxy.answer)
    uvloop.install()
    web.run_app(app, host="127.0.0.1", port=given.port, print=None, access_log=None)


if __name__ == "__main__":
    main()
