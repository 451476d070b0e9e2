"""A tokenizer of the transformers library, made from nothing, attached, saved, loaded, and used."""

import pytest

import unjinja


@pytest.fixture
def tokenizer(jinja):
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    specials = ["<unk>", "<user>", "<assistant>", "<end>", "<think>", "</think>", "<call>", "</call>"]
    letters = [chr(code) for code in range(32, 127)] + ["\n"]
    vocabulary = {token: index for index, token in enumerate(specials + letters)}
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    backend.add_special_tokens(specials)
    backend.decoder = tokenizers.decoders.Fuse()
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", eos_token="<end>")
    made.chat_template = jinja
    return made


def test_what_is_attached_is_saved_loaded_and_used_by_the_library(tokenizer, tmp_path):
    transformers = pytest.importorskip("transformers")
    if not hasattr(tokenizer, "parse_response"):
        pytest.skip("tokenizers of this transformers library do not parse")
    derivation = unjinja.attach(tokenizer)
    assert tokenizer.response_template == derivation.template
    assert unjinja.attach(tokenizer) is None
    tokenizer.save_pretrained(tmp_path)
    loaded = transformers.AutoTokenizer.from_pretrained(tmp_path)
    prompt = loaded.apply_chat_template(
        [{"role": "user", "content": "Hi"}], tokenize=False, add_generation_prompt=True
    )
    output = '<think>Why?</think>So.<call>{"name": "f", "arguments": {"n": 1}}</call><end>'
    message = loaded.parse_response(output, prefix=prompt)
    assert message["content"] == "So."
    assert message["thinking"] == "Why?"
    assert message["tool_calls"][0]["function"] == {"name": "f", "arguments": {"n": 1}}
    assert message == unjinja.parse_response(output, loaded.response_template, prefix=prompt)


def test_token_masks_are_those_of_the_library(tokenizer):
    conversation = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "And?"},
        {"role": "assistant", "content": "That is all."},
    ]
    ours = unjinja.mask_tokens(tokenizer, [conversation])
    theirs = tokenizer.apply_chat_template(
        conversation,
        chat_template=unjinja.tagged(tokenizer),
        return_dict=True,
        return_assistant_tokens_mask=True,
    )
    assert ours["input_ids"][0] == list(theirs["input_ids"])
    assert ours["assistant_masks"][0] == list(theirs["assistant_masks"])


def test_ids_of_the_next_turn_are_put_behind_those_so_far(tokenizer):
    conversation = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "And?"},
    ]
    ids = tokenizer.apply_chat_template(conversation[:1], add_generation_prompt=True, return_dict=False)
    output = tokenizer.encode("Hello!<end>", add_special_tokens=False)
    bridge = unjinja.bridge(tokenizer)
    whole = tokenizer.apply_chat_template(conversation, add_generation_prompt=True, return_dict=False)
    assert [*ids, *output, *bridge.ids(conversation, output)] == list(whole)
    # As engines have it, which leave out the token that ends a turn.
    assert [*ids, *output[:-1], *bridge.ids(conversation, output[:-1])] == list(whole)
    assert bridge.text(conversation, "Hello!<end>") == tokenizer.decode(bridge.ids(conversation, output))
    with pytest.raises(TypeError, match="no tokenizer"):
        unjinja.bridge(tokenizer.chat_template).ids(conversation, "Hello!<end>")


def test_one_of_several_templates_is_taken(jinja):
    class Several:
        chat_template = {"default": jinja, "tool_use": jinja.replace("<end>", "<stop>")}

    assert "<stop>" in unjinja.render(Several(), [{"role": "user", "content": "Hi"}])
    assert "<end>" in unjinja.render(Several(), [{"role": "user", "content": "Hi"}], variant="default")
    with pytest.raises(unjinja.LoadError, match="default, tool_use"):
        unjinja.chat_template(Several(), variant="other")
