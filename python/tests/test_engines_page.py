"""The scripts of `docs/engines.md`, each with the package that it is for, where that is installed."""

import ast
import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

import unjinja
from test_tokenizer import tokenizer  # noqa: F401

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "engines.md"
MESSAGES = [{"role": "user", "content": "Hi"}]
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
OUTPUT = '<think>Why?</think>So.<call>{"name": "f", "arguments": {"n": 1}}</call><end>'
CALL = [{"type": "function", "function": {"name": "f", "arguments": {"n": 1}}}]


def run(package, **given):
    """Runs the script for a package, and returns its variables."""
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    (script,) = re.findall(rf"```python\n# {package}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(script, str(PAGE), "exec"), given)
    return given


def test_transformers_serve_reads_with_what_is_saved(tokenizer, tmp_path):  # noqa: F811
    serving = pytest.importorskip("transformers.cli.serving.utils", reason="transformers serve is not here")
    if not hasattr(serving, "parse_assistant_message"):
        pytest.skip("transformers serve of this version does not read by response templates")
    tokenizer.save_pretrained(tmp_path)
    run("transformers", path=tmp_path)
    loaded = importlib.import_module("transformers").AutoTokenizer.from_pretrained(tmp_path)
    prompt = loaded.apply_chat_template(MESSAGES, add_generation_prompt=True)["input_ids"]
    ids = loaded.encode(OUTPUT, add_special_tokens=False)
    content, thoughts, calls = serving.parse_assistant_message(loaded, None, ids, prompt)
    assert (content, thoughts) == ("So.", "Why?")
    assert [(call.name, call.arguments) for call in calls] == [("f", '{"n": 1}')]


def test_trl_reads_calls_and_needs_no_copy_of_the_chat_template(tokenizer):  # noqa: F811
    given = run("trl", tokenizer=tokenizer)
    utils = importlib.import_module("trl.chat_template_utils")
    prompt = tokenizer.apply_chat_template(MESSAGES, add_generation_prompt=True)["input_ids"]
    ids = tokenizer.encode(OUTPUT, add_special_tokens=False)
    message = utils.parse_response(given["tokenizer"], ids, prefix=prompt, tools=TOOLS)
    assert message == {"role": "assistant", "content": "So.", message_key(message): "Why?", "tool_calls": CALL}
    assert utils.has_generation_markers(tokenizer.chat_template)
    assert utils.get_training_chat_template(tokenizer) is None


def message_key(message):
    """The key of thoughts, which depends on whom a template is for."""
    (key,) = message.keys() - {"role", "content", "tool_calls"}
    return key


def test_mlx_lm_makes_served_messages(tokenizer, tmp_path):  # noqa: F811
    if importlib.util.find_spec("mlx") is None:
        pytest.skip("mlx is not installed")
    save_small_model(tokenizer, tmp_path)
    sent = []
    given = run("mlx_lm", path=str(tmp_path), messages=MESSAGES, tools=TOOLS, send=sent.extend)
    deltas = [chunk["choices"][0]["delta"] for chunk in sent]
    content = "".join(delta.get("content") or "" for delta in deltas)
    message = given["whole"]["choices"][0]["message"]
    # What it writes is chance, for its weights are.
    assert content == (message["content"] or "")
    assert given["whole"]["choices"][0]["finish_reason"] in ("length", "stop", "tool_calls")


def save_small_model(tokenizer, folder):  # noqa: F811
    """A model with weights by chance, as mlx-lm loads it."""
    import json

    mlx = pytest.importorskip("mlx.core")
    utils = pytest.importorskip("mlx.utils")
    llama = pytest.importorskip("mlx_lm.models.llama", reason="mlx-lm is not installed")
    config = {
        "model_type": "llama",
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "intermediate_size": 32,
        "num_attention_heads": 2,
        "rms_norm_eps": 1e-5,
        "vocab_size": len(tokenizer),
    }
    model = llama.Model(llama.ModelArgs(**config))
    mlx.save_safetensors(str(folder / "model.safetensors"), dict(utils.tree_flatten(model.parameters())))
    (folder / "config.json").write_text(json.dumps(config))
    tokenizer.save_pretrained(folder)


def test_the_shortest_story_is_true(tokenizer, tmp_path):  # noqa: F811
    readme = PAGE.parents[1] / "python" / "README.md"
    (script,) = re.findall(r"python -c '\n(.*?)' FOLDER", readme.read_text(encoding="utf-8"), re.DOTALL)
    tokenizer.save_pretrained(tmp_path)
    ran = subprocess.run([sys.executable, "-c", script, tmp_path], input=OUTPUT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    message = ast.literal_eval(ran.stdout)
    assert (message["reasoning_content"], message["content"]) == ("Why?", "So.")
    assert message["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"n": 1}'}


def test_axolotl_is_told_where_the_assistant_writes(jinja):
    (script,) = re.findall(r"```python\n# axolotl\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    given = {"tokenizer": jinja}
    exec(compile(script, str(PAGE), "exec"), given)
    assert given["role_boundaries"] == [{"role": "assistant", "start": "<assistant>", "end": "<end>"}]
    conversation = [*MESSAGES, {"role": "assistant", "content": "Hello!"}]
    masked = unjinja.mask(jinja, conversation)
    (boundary,) = given["role_boundaries"]
    start = masked.text.index(boundary["start"]) + len(boundary["start"])
    end = masked.text.index(boundary["end"], start) + len(boundary["end"])
    assert masked.spans == [(start, end)]
