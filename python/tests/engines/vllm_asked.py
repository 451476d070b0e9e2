"""vLLM's own modules, without a model: its plug-ins are loaded, and its parsers, requests and server are asked as they are in serving."""

import json

import pytest
import stand_ins

missing = stand_ins.stand_in("vllm")
if missing:
    pytest.skip(missing, allow_module_level=True)

import cases  # noqa: E402
import vllm_server  # noqa: E402
from tags import compiled  # noqa: E402
from fastapi.testclient import TestClient  # noqa: E402
from vllm.entrypoints.generate.base.protocol import DeltaMessage  # noqa: E402
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest  # noqa: E402
from vllm.parser import ParserManager  # noqa: E402
from vllm.plugins import load_general_plugins  # noqa: E402

load_general_plugins()


def tokenizer(jinja=cases.JINJA, bos="<s>", eos="<end>", specials=()):
    return stand_ins.Tokenizer(jinja, bos, eos, specials)


def parser_class(tok, tools="unjinja", reasoning="unjinja"):
    return ParserManager.get_parser(
        tool_parser_name=tools, reasoning_parser_name=reasoning, enable_auto_tools=True, tokenizer=tok
    )


def request(tools=cases.TOOLS, **keys):
    if tools:
        keys = {"tool_choice": "auto", "tools": tools, **keys}
    return ChatCompletionRequest(model="m", messages=[{"role": "user", "content": "Hi"}], **keys)


def parser(tok, asked, prompt=cases.PROMPT, kwargs=None, **names):
    made = parser_class(tok, **names)(tok, asked.tools, chat_template_kwargs=kwargs or {})
    made.set_prompt_token_ids([tok.token(prompt)])
    return made


def steps(tok, output, stop=None, seed=7):
    """The output as the engine hands it on: texts, and tokens. What ends a turn is a token without text."""
    made = [(text, [tok.token(piece)]) for text, piece in cases.tokens(output, seed)]
    return made + [("", [tok.token(stop)] if stop else [])]


def streamed(made, asked, given):
    """The deltas of an output."""
    deltas = []
    for at, (text, ids) in enumerate(given):
        deltas.append(made.parse_delta(text, ids, asked, finished=at == len(given) - 1))
    return [delta for delta in deltas if delta is not None]


def put_together(deltas):
    thoughts = "".join(delta.reasoning or "" for delta in deltas)
    content = "".join(delta.content or "" for delta in deltas)
    calls = {}
    for piece in (piece for delta in deltas for piece in delta.tool_calls):
        name, arguments = calls.get(piece.index, ("", ""))
        calls[piece.index] = (name + (piece.function.name or ""), arguments + (piece.function.arguments or ""))
    return cases.message_of(thoughts, content, calls.values())


def at_once(made, asked, given):
    ids = [id for _, ids in given for id in ids]
    thoughts, content, calls = made.parse("".join(text for text, _ in given), asked, True, ids)
    return cases.message_of(thoughts, content, [(call.name, call.arguments) for call in calls or ()])


def grammar(made, asked):
    """What a request is held to, compiled."""
    asked = made.adjust_request(asked)
    assert asked._grammar_from_parser
    return compiled(json.loads(asked.structured_outputs.structural_tag))


def ask(output, stop="<end>", tok=None, prompt=None, tools=cases.TOOLS, **keys):
    """A request to vLLM's server, whose model writes this output: the message, and why it ended. A stream is put together."""
    app, engine = vllm_server.served(tok or tokenizer(), output, stop, prompt)
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **keys}
    answer = TestClient(app).post("/v1/chat/completions", json={**body, "tools": tools} if tools else body)
    assert answer.status_code == 200, answer.text
    if not keys.get("stream"):
        (choice,) = answer.json()["choices"]
        message = choice["message"]
        calls = [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or ()]
        return cases.message_of(message.get("reasoning"), message["content"], calls), choice["finish_reason"], engine
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    assert lines.pop() == "[DONE]"
    choices = [choice for line in lines for choice in json.loads(line)["choices"]]
    deltas = [DeltaMessage(**choice["delta"]) for choice in choices]
    return put_together(deltas), choices[-1]["finish_reason"], engine
