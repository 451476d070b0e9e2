"""The adapter is a renderer of the package `renderers`, and keeps its contract."""

import pytest

renderers = pytest.importorskip("renderers", reason="renderers is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

from renderers_adapter import TemplateRenderer  # noqa: E402

import unjinja  # noqa: E402

JINJA = (
    "{%- for m in messages %}{{ '<' + m.role + '>' }}"
    "{%- if m.reasoning_content and loop.last %}{{ '<think>' + m.reasoning_content + '</think>' }}{% endif %}"
    "{{- m.content | trim }}"
    "{%- for c in m.tool_calls or [] %}"
    "{{- '<call>' + {'name': c.function.name, 'arguments': c.function.arguments} | tojson + '</call>' }}"
    "{%- endfor %}{{- '<end>' }}{% endfor %}"
    "{%- if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
)
QUESTION = {"role": "user", "content": "What is the tide?"}
OUTPUT = '<think>Look it up.</think> Well.<call>{"name": "tide", "arguments": {"at":"Brest"}}</call><end>'
RESULT = {"role": "tool", "name": "tide", "content": "4.2 m"}


@pytest.fixture(scope="module")
def tokenizer():
    import tokenizers
    import transformers

    markers = ["<user>", "<assistant>", "<tool>", "<end>", "<think>", "</think>", "<call>", "</call>"]
    letters = [chr(code) for code in range(32, 127)] + ["\n"]
    vocabulary = {token: index for index, token in enumerate(["<unk>", *markers, *letters])}
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    backend.add_special_tokens(markers)
    backend.decoder = tokenizers.decoders.Fuse()
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", eos_token="<end>")
    made.chat_template = JINJA
    return made


@pytest.fixture(scope="module")
def renderer(tokenizer):
    return TemplateRenderer(tokenizer)


def ids(tokenizer, text):
    return tokenizer.encode(text, add_special_tokens=False)


def test_it_is_a_renderer(renderer, tokenizer):
    assert isinstance(renderer, renderers.Renderer)
    assert renderer.get_stop_token_ids() == ids(tokenizer, "<end>")


def test_ids_are_those_of_the_library(renderer, tokenizer):
    theirs = tokenizer.apply_chat_template([QUESTION], add_generation_prompt=True, return_dict=False)
    assert renderer.render_ids([QUESTION], add_generation_prompt=True) == list(theirs)
    rendered = renderer.render([QUESTION, {"role": "assistant", "content": "High."}])
    written = [token for token, sampled in zip(rendered.token_ids, rendered.sampled_mask) if sampled]
    assert tokenizer.decode(written) == "High.<end>"
    assert set(rendered.message_indices) == {0, 1}


def test_a_completion_is_parsed(renderer, tokenizer):
    prompt = renderer.render_ids([QUESTION], add_generation_prompt=True)
    parsed = renderer.parse_response(ids(tokenizer, OUTPUT), prompt_ids=prompt)
    assert (parsed.reasoning_content, parsed.content) == ("Look it up.", "Well.")
    assert [(call.name, call.arguments) for call in parsed.tool_calls] == [("tide", {"at": "Brest"})]


def test_nothing_the_model_wrote_is_tokenized_anew(renderer, tokenizer):
    prompt = renderer.render_ids([QUESTION], add_generation_prompt=True)
    completion = ids(tokenizer, OUTPUT)
    bridged = renderer.bridge_to_next_turn(prompt, completion, [RESULT])
    before = [*prompt, *completion]
    assert bridged.token_ids[: len(before)] == before
    more = bridged.token_ids[len(before) :]
    assert tokenizer.decode(more) == "<tool>4.2 m<end><assistant>"
    # Rendered anew, it would have been otherwise: the thought is dropped, and JSON has other blanks.
    message = {"role": "assistant", **unjinja.parse_response(OUTPUT, renderer.response_template, prefix="<assistant>")}
    anew = renderer.render_ids([QUESTION, message, RESULT], add_generation_prompt=True)
    assert bridged.token_ids != anew
    of_result = [token for token, index in zip(bridged.token_ids, bridged.message_indices) if index == 0]
    assert tokenizer.decode(of_result) == "<tool>4.2 m<end>"
    # The token that ends the turn may be missing.
    cut = renderer.bridge_to_next_turn(prompt, completion[:-1], [RESULT])
    assert cut.token_ids == bridged.token_ids


def test_what_the_assistant_says_is_never_bridged(renderer, tokenizer):
    prompt = renderer.render_ids([QUESTION], add_generation_prompt=True)
    assert renderer.bridge_to_next_turn(prompt, ids(tokenizer, OUTPUT), [{"role": "assistant", "content": "No."}]) is None
