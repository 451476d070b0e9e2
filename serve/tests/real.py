"""Asks a real llama.cpp, whose model has weights by chance: whatever it says, calls and JSON are held by the grammar.

    pip install xllamacpp gguf
    python serve/tests/real.py [--requests 1000]

`UNJINJA` names the program, if it is not the one that was built last.
"""

import argparse
import collections
import contextlib
import http.client
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import gguf
import numpy
from conftest import JINJA, PROGRAM

MARKERS = ["<think>", "</think>", "<call>", "</call>", "<end>", "<assistant>", "<user>", "<tool>", "<system>", "<tools>"]
TOOLS = {
    "switch": {
        "type": "object",
        "properties": {"room": {"enum": ["kitchen", "hall"]}, "on": {"type": "boolean"}},
        "required": ["room", "on"],
        "additionalProperties": False,
    },
    "wait": {
        "type": "object",
        "properties": {"seconds": {"type": "integer", "minimum": 0, "maximum": 99}},
        "required": ["seconds"],
        "additionalProperties": False,
    },
    "note": {
        "type": "object",
        "properties": {"text": {"type": "string", "maxLength": 8}},
        "required": ["text"],
        "additionalProperties": False,
    },
}


def make_model(path, seed):
    """Writes a model of two layers."""
    chance = numpy.random.default_rng(seed)
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL] + [gguf.TokenType.BYTE] * 256
    printable = ["▁"] + [chr(code) for code in range(33, 127)]
    tokens += printable + MARKERS
    kinds += [gguf.TokenType.NORMAL] * len(printable) + [gguf.TokenType.USER_DEFINED] * len(MARKERS)
    width, inner, layers = 64, 128, 2
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(4096)
    writer.add_embedding_length(width)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(4)
    writer.add_head_count_kv(4)
    writer.add_rope_dimension_count(width // 4)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(JINJA)

    def add(name, *shape):
        values = chance.normal(0, 0.3, shape) if len(shape) > 1 else numpy.ones(shape)
        writer.add_tensor(name, values.astype(numpy.float32))

    add("token_embd.weight", len(tokens), width)
    for layer in range(layers):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"blk.{layer}.{name}.weight", width, width)
        add(f"blk.{layer}.attn_norm.weight", width)
        add(f"blk.{layer}.ffn_norm.weight", width)
        add(f"blk.{layer}.ffn_gate.weight", inner, width)
        add(f"blk.{layer}.ffn_up.weight", inner, width)
        add(f"blk.{layer}.ffn_down.weight", width, inner)
    add("output_norm.weight", width)
    add("output.weight", len(tokens), width)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


# The server of llama.cpp itself, in a process of its own.
SERVER = """
import sys, time, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = 4096
params.n_parallel = 1
params.warmup = False
params.port = 0
# Several wait for each other, which takes long where others are at work, too.
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
time.sleep(10**6)
"""


@contextlib.contextmanager
def llama_cpp(model, log):
    process = subprocess.Popen([sys.executable, "-c", SERVER, model], stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        for line in process.stdout:
            if line.startswith("http"):
                yield line.strip()
                return
        sys.exit("llama.cpp does not begin: see its log")
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def serving(*arguments):
    command = [PROGRAM, "serve", *arguments, "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().split("//")[-1].strip()
    finally:
        process.terminate()
        process.wait()


def ask(address, **request):
    connection = http.client.HTTPConnection(address, timeout=120)
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}], "temperature": 1.0, **request})
    connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    if answer.status != 200:
        sys.exit(f"{answer.status}: {text}")
    if not request["stream"]:
        choice = json.loads(text)["choices"][0]
        return choice["message"], choice["finish_reason"]
    message, reason = {"content": None, "tool_calls": []}, None
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line]
    assert lines.pop() == "[DONE]"
    for chunk in map(json.loads, lines):
        assert "error" not in chunk, chunk
        for choice in chunk["choices"]:
            delta, reason = choice["delta"], choice["finish_reason"]
            if "content" in delta:
                message["content"] = (message["content"] or "") + delta["content"]
            for call in delta.get("tool_calls", []):
                if "id" in call:
                    message["tool_calls"].append(call)
                else:
                    message["tool_calls"][call["index"]]["function"]["arguments"] += call["function"]["arguments"]
    return message, reason


def read(text):
    """The JSON in a text, or the text."""
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text


def is_of(schema, value):
    """Whether a value is of one of the schemas above."""
    if "enum" in schema:
        return value in schema["enum"]
    match schema["type"]:
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            is_number = isinstance(value, int) and not isinstance(value, bool)
            return is_number and schema["minimum"] <= value <= schema["maximum"]
        case "string":
            # Bytes that are no UTF-8 are signs for llama.cpp, of which only it knows how many.
            return isinstance(value, str) and ("\ufffd" in value or len(value) <= schema["maxLength"])
    if not isinstance(value, dict):
        return False
    of_each = (key in schema["properties"] and is_of(schema["properties"][key], inner) for key, inner in value.items())
    return set(schema["required"]) <= value.keys() and all(of_each)


def check(request, message, reason):
    """What is wrong with an answer; with what was in it."""
    calls = message.get("tool_calls") or []
    # A call that a stream has begun, and that was cut off.
    whole = calls[:-1] if request["stream"] and reason == "length" else calls
    for call in whole:
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        if name not in TOOLS or not is_of(TOOLS[name], read(arguments)):
            return f"of {len(calls)} calls, {name}({arguments!r}) is not valid; {reason}"
    choice = request.get("tool_choice")
    if reason != "length":
        if choice == "required" and not calls:
            return "there is no call"
        if isinstance(choice, dict) and {call["function"]["name"] for call in calls} != {"wait"}:
            return "it is not the call that was asked for"
        if "response_format" in request and not is_of(TOOLS["switch"], read(message["content"])):
            return f"{message['content']!r} is not of the schema"
    return None


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--requests", type=int, default=1000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments = arguments.parse_args()
    chance = random.Random(arguments.seed)
    tools = [{"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in TOOLS.items()]
    named = {"type": "function", "function": {"name": "wait"}}
    schema = {"type": "json_schema", "json_schema": {"name": "switch", "schema": TOOLS["switch"]}}
    kinds = {
        "auto": {"tools": tools},
        "required": {"tools": tools, "tool_choice": "required"},
        "one required": {"tools": tools, "tool_choice": "required", "parallel_tool_calls": False},
        "named": {"tools": tools, "tool_choice": named},
        "schema": {"response_format": schema},
    }
    counts, wrong = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder, "model.gguf")
        make_model(model, arguments.seed)
        with open(pathlib.Path(folder, "log"), "wb") as log, llama_cpp(model, log) as upstream:
            begun = time.time()
            for more, requests in [([], arguments.requests), (["--no-grammar", "--best-effort"], arguments.requests // 10)]:
                with serving("--upstream", upstream, *more) as address:
                    for number in range(requests):
                        kind = list(kinds)[number % len(kinds)]
                        request = kinds[kind] | {"stream": number % 2 == 0, "max_tokens": 160, "seed": chance.randrange(10**6)}
                        # What ends a text comes sooner than by chance.
                        request["logit_bias"] = [["<call>", 4.0], ["</think>", 4.0], ["<end>", 4.0], ['"', 4.0]]
                        message, reason = ask(address, **request)
                        held = "held" if not more else "not held"
                        counts[held, kind, reason] += 1
                        counts[held, kind, "calls"] += len(message.get("tool_calls") or [])
                        fault = check(request, message, reason) if not more else None
                        if fault:
                            wrong.append((kind, request["seed"], fault))
            print(f"{arguments.requests} requests held by grammars, and {arguments.requests // 10} not, in {time.time() - begun:.0f} s")
    for (held, kind, what), count in sorted(counts.items()):
        print(f"{held:9} {kind:13} {what:11} {count}")
    for fault in wrong[:10]:
        print("wrong:", *fault)
    print(f"{len(wrong)} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
