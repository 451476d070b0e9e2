"""Each engine is recognized, asked as it wants to be, and read."""

import pytest
from conftest import CALLS, PARAMETERS, JINJA, THOUGHT, serving
from upstream import ENGINES, Engine

openai = pytest.importorskip("openai")

TOOLS = [{"type": "function", "function": {"name": "forecast", "parameters": PARAMETERS}}]

# Where each takes the limit of tokens and a grammar, with the kind of the latter.
PLACES = {
    "openai": ("max_tokens", None, None),
    "llama.cpp": ("n_predict", "grammar", "GBNF"),
    "ollama": ("options.num_predict", None, None),
    "tgi": ("parameters.max_new_tokens", None, None),
    "sglang": ("max_tokens", "response_format.type", "tag"),
    "vllm": ("max_tokens", "structured_outputs.structural_tag", "text of a tag"),
    "llama-cpp-python": ("max_tokens", "grammar", "GBNF"),
}


def at(value, path):
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_is_recognized_asked_and_read(name, source):
    engine = Engine(name, JINJA)
    engine.text = THOUGHT + CALLS
    limit, grammar, kind = PLACES[name]
    with serving("--upstream", engine.url, "--model", source, "--upstream-model", "there") as address:
        client = openai.OpenAI(base_url=f"{address}/v1", api_key="key", max_retries=0, timeout=20)
        messages = [{"role": "user", "content": "Rain?"}]
        answer = client.chat.completions.create(model="small", messages=messages, tools=TOOLS, max_tokens=9)
    message = answer.choices[0].message
    assert message.reasoning_content == "Is it 東京? 🌧"
    assert len(message.tool_calls) == 2
    assert answer.choices[0].finish_reason == "tool_calls"
    assert answer.model == "small"
    assert answer.usage.total_tokens == 8
    path, _, asked = engine.asked[-1]
    assert path == ENGINES[name][0]
    assert at(asked, limit) == 9
    assert asked.get("prompt", asked.get("inputs")).startswith("<tools>")
    if name != "tgi":
        assert asked["model"] == "there"
    begins = {"GBNF": "root ::= ", "tag": "structural_tag", "text of a tag": '{"type":"structural_tag"', None: None}
    assert grammar is None or at(asked, grammar).startswith(begins[kind])


def test_a_json_schema_goes_to_ollama_as_it_is(source):
    engine = Engine("ollama")
    engine.text = '{"city": "Oslo"}'
    format = {"type": "json_schema", "json_schema": {"name": "place", "schema": PARAMETERS}}
    with serving("--upstream", engine.url, "--model", source) as address:
        client = openai.OpenAI(base_url=f"{address}/v1", api_key="key", max_retries=0, timeout=20)
        messages = [{"role": "user", "content": "Where?"}]
        client.chat.completions.create(model="small", messages=messages, response_format=format)
        assert engine.asked[-1][2]["format"] == PARAMETERS
        with pytest.raises(openai.BadRequestError, match="hold no calls beside an answer"):
            client.chat.completions.create(model="small", messages=messages, response_format=format, tools=TOOLS)


def test_the_token_that_begins_texts_stands_there_once(source, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "chat_template.jinja").write_text("{{ bos_token }}" + JINJA, encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"bos_token": "<s>"}', encoding="utf-8")
    for name, begins in [("llama.cpp", "<user>"), ("vllm", "<s><user>")]:
        engine = Engine(name)
        engine.text = "Yes."
        with serving("--upstream", engine.url, "--model", folder) as address:
            client = openai.OpenAI(base_url=f"{address}/v1", api_key="key", max_retries=0, timeout=20)
            messages = [{"role": "user", "content": "Rain?"}]
            answer = client.chat.completions.create(model="small", messages=messages)
        assert engine.asked[-1][2]["prompt"].startswith(begins)
        assert answer.choices[0].message.content == "Yes."
