"""Chat templates: deriving, rendering, reading, masking, grammars, checks."""

import json
import pathlib

import pytest
from conftest import ROOT

import unjinja

MESSAGES = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello!"},
]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "wait",
            "description": "Waits",
            "parameters": {
                "type": "object",
                "properties": {"seconds": {"type": "integer"}},
                "required": ["seconds"],
            },
        },
    }
]


def test_what_is_derived_reads_what_is_rendered(jinja):
    derivation = unjinja.derive(jinja)
    assert derivation.is_whole
    assert set(derivation.template["fields"]) == {"thinking", "tool_calls", "content"}
    count = len(derivation.report["proof"])
    assert repr(derivation).endswith(f", {count} of {count} renderings recovered)")
    call = {"type": "function", "function": {"name": "wait", "arguments": {"seconds": 3}}}
    prompt = unjinja.render(jinja, MESSAGES[:1], tools=TOOLS, add_generation_prompt=True)
    whole = unjinja.render(
        jinja, [MESSAGES[0], {"role": "assistant", "content": "So.", "tool_calls": [call]}], tools=TOOLS
    )
    message = unjinja.parse_response(whole[len(prompt) :], derivation.template, prefix=prompt)
    assert message["content"] == "So."
    assert message["tool_calls"] == [call]


@pytest.mark.parametrize("name", ["chatml-json-calls", "channels", "key-value-pairs"])
def test_the_gallery_is_derived_as_by_the_program(name):
    derivation = unjinja.derive(ROOT / "chat_templates" / f"{name}.jinja")
    written = (ROOT / "derived" / f"{name}.json").read_text(encoding="utf-8")
    assert json.dumps(derivation.template) == json.dumps(json.loads(written))


def test_conversations_are_read_back(jinja):
    text = unjinja.render(jinja, MESSAGES)
    read = unjinja.read(jinja, text)
    assert read["messages"] == MESSAGES
    assert read["is_proved"] and not read["is_open"]
    with pytest.raises(unjinja.ReadError, match="character 0"):
        unjinja.read(jinja, "something else")


def test_masks_say_what_the_model_writes(jinja):
    masked = unjinja.mask(jinja, MESSAGES)
    assert [masked.text[start:end] for start, end in masked.spans] == ["Hello!<end>"]
    both = unjinja.mask(jinja, [MESSAGES, {"messages": MESSAGES[:1]}])
    assert both[0] == masked
    assert both[1].spans == [] and "nothing of the conversation" in both[1].warnings[0]
    without_end = unjinja.mask(jinja, MESSAGES, ending=False)
    assert [without_end.text[start:end] for start, end in without_end.spans] == ["Hello!"]
    assert "{% generation %}" in unjinja.tagged(jinja)
    with pytest.raises(ValueError, match="expected a dict with `messages`, found one with `text`"):
        unjinja.mask(jinja, {"text": "Hello!"})


class Characters:
    """A tokenizer whose tokens are pairs of characters."""

    def __init__(self, chat_template):
        self.chat_template = chat_template

    def __call__(self, text, add_special_tokens, return_offsets_mapping):
        assert not add_special_tokens and return_offsets_mapping
        offsets = [(at, min(at + 2, len(text))) for at in range(0, len(text), 2)]
        return {"input_ids": [ord(text[start]) for start, _ in offsets], "offset_mapping": offsets}


def test_token_masks_are_ready_for_a_collator(jinja):
    tokenizer = Characters(jinja)
    columns = unjinja.mask_tokens(tokenizer, [MESSAGES, MESSAGES * 2])
    assert set(columns) == {"input_ids", "attention_mask", "assistant_masks", "labels"}
    assert [len(column) for column in columns.values()] == [2] * 4
    for ids, attention, mask, labels in zip(*columns.values()):
        assert len(ids) == len(attention) == len(mask) == len(labels)
        assert labels == [token if masked else -100 for token, masked in zip(ids, mask)]
        assert set(mask) == {0, 1}


def test_tokens_that_hold_anything_of_the_model_count():
    masked = unjinja.Masked("0123456789", [(2, 4), (6, 7)], [])
    offsets = [(0, 2), (2, 3), (3, 5), (5, 6), (6, 6), (6, 8), (8, 10)]
    assert masked.tokens(offsets) == [0, 1, 1, 0, 0, 1, 0]


def test_grammars_are_written_for_engines(jinja):
    gbnf = unjinja.grammar(jinja, TOOLS, tool_choice="required")
    assert "root ::=" in gbnf and "seconds" in gbnf
    assert isinstance(unjinja.grammar(jinja, TOOLS, format="structural-tag"), dict)
    with pytest.raises(unjinja.GrammarError, match="no_such_tool"):
        unjinja.grammar(jinja, TOOLS, tool_choice="no_such_tool")
    with pytest.raises(ValueError, match="`format`: expected gbnf"):
        unjinja.grammar(jinja, TOOLS, format="bnf")


def test_what_a_chat_template_leaves_out_is_no_failure_of_what_was_derived():
    derivation = unjinja.derive(ROOT / "chat_templates" / "xml-calls.jinja")
    kinds = [row["recovery"]["kind"] for row in derivation.report["proof"]]
    assert "lost by the chat template" in kinds
    assert derivation.is_whole and f" {len(kinds)} of {len(kinds)} renderings" in repr(derivation)


def test_variables_are_given_as_apply_chat_template_takes_them():
    template = (
        "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
        "{% if add_generation_prompt %}assistant: {{ '' if enable_thinking else '<think></think>' }}{% endif %}"
    )
    question = MESSAGES[:1]
    for source in (template, unjinja.chat_template(template)):
        prompt = unjinja.render(source, question, add_generation_prompt=True, enable_thinking=True)
        assert prompt == "user: Hi\nassistant: "
        prompt = unjinja.render(source, question, add_generation_prompt=True, enable_thinking=False)
        assert prompt == "user: Hi\nassistant: <think></think>"
    loaded = unjinja.chat_template(template, variables={"enable_thinking": True})
    assert loaded.render(question, add_generation_prompt=True).endswith("assistant: ")
    assert loaded.render(question, add_generation_prompt=True, enable_thinking=False).endswith("</think>")
    with pytest.raises(TypeError, match="`now` comes too late"):
        unjinja.render(loaded, question, now="2026-01-15T12:00:00")


def test_what_a_chat_template_can_do_is_told(jinja):
    caps = unjinja.caps(jinja)
    assert caps["capabilities"]["tool_calls"]["outcome"] == "rendered"


def test_chat_templates_are_linted():
    complaints = unjinja.lint_chat_template("{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>\n{% endfor %}")
    none = next(complaint for complaint in complaints if complaint["name"] == "none-printed")
    assert (none["code"], none["line"], none["column"]) == ("J001", 1, 41)
    with pytest.raises(unjinja.RenderError, match="unexpected end of input"):
        unjinja.lint_chat_template("{% for m in messages %}")


def test_templates_are_linted(template):
    template["fields"]["tool_calls"]["open_pattern"] = "\n<call (?P<name>\\w+)>"
    template["fields"]["thinking"]["close"] = "</think>\n"
    complaints = unjinja.lint(template)
    assert any(complaint["code"] == "U001" for complaint in complaints)


def test_lints_of_a_chat_template_go_further(jinja):
    template = {**unjinja.derive(jinja).template, "start_anchor": "<nobody>"}
    alone, beside = unjinja.lint(template), unjinja.lint(template, chat_template=jinja)
    assert {complaint["code"] for complaint in alone} < {complaint["code"] for complaint in beside}


def test_fixtures_are_checked():
    report = unjinja.check(ROOT / "derived" / "chatml-json-calls.fixture.yaml")
    assert report["passed"] > 5 and report["failed"] == report["unreadable"] == 0


def test_fixtures_are_found_in_folders(tmp_path):
    report = unjinja.check([ROOT / "derived"])
    assert report["passed"] > 100 and report["failed"] == report["unreadable"] == 0
    with pytest.raises(ValueError, match="no fixture"):
        unjinja.check([tmp_path])


def test_a_derivation_is_a_template_too(jinja):
    derived = unjinja.derive(jinja)
    message = unjinja.parse_response("Hello!<end>", derived, prefix="")
    assert message == unjinja.parse_response("Hello!<end>", derived.template, prefix="")
    assert message["content"] == "Hello!"


def test_schemas_are_converted():
    schema = {
        "type": "object",
        "x-regex": "^(?:<think>(?P<thinking>.*?)</think>)?(?P<content>.*?)(?:<end>|$)",
        "properties": {
            "role": {"const": "assistant"},
            "thinking": {"type": "string"},
            "content": {"type": "string"},
        },
    }
    converted = unjinja.convert(schema, streaming=True)
    assert converted["trials"] > 0 and converted["differ"] == 0
    message = unjinja.parse_response("<think>a</think>b<end>", converted["template"], prefix="")
    assert message == {"role": "assistant", "thinking": "a", "content": "b"}


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: unjinja.derive("no/such/file.jinja"), unjinja.LoadError, "no/such/file.jinja"),
        (lambda: unjinja.derive("{% for %}{{ x }}"), unjinja.DeriveError, "line 1"),
        (lambda: unjinja.render("{{ raise_exception('no') }}", []), unjinja.RenderError, "no"),
        (lambda: unjinja.derive(object()), unjinja.LoadError, "has no chat template"),
        (lambda: unjinja.render("{{ x }}", [], now="soon"), ValueError, "write it as 2026-01-15T12:00:00"),
        (lambda: unjinja.render("{{ x }}", [], variables=[1]), TypeError, "`variables`"),
        (lambda: unjinja.convert({"type": "object"}), unjinja.Error, ""),
    ],
)
def test_errors_name_the_place_and_the_remedy(call, error, text):
    with pytest.raises(error) as raised:
        call()
    assert text in str(raised.value)


def test_the_wheel_brings_the_program(capfd, jinja, tmp_path):
    from unjinja import _native

    path = tmp_path / "chat_template.jinja"
    path.write_text(jinja, encoding="utf-8")
    assert _native.run(["unjinja", "derive", str(path)]) == 0
    assert json.loads(capfd.readouterr().out) == unjinja.derive(jinja).template
    assert _native.run(["unjinja", "no-such-command"]) == 2
    assert _native.run(["unjinja", "--version"]) == 0
    assert unjinja.__version__ in capfd.readouterr().out


def test_the_entry_point_is_installed():
    import subprocess
    import sys

    program = pathlib.Path(sys.executable).parent / "unjinja"
    ran = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == f"unjinja {unjinja.__version__}"


FAULTY = (
    "{% for m in messages %}<{{ m.role }}>"
    "{% if m.reasoning_content and loop.last %}<think>{{ m.reasoning_content }}</think>{% endif %}"
    "{{ m.content }}<end>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)


def test_a_chat_template_is_linted_and_mended():
    codes = {complaint["code"]: complaint for complaint in unjinja.lint_chat_template(FAULTY)}
    assert codes["J019"]["line"] == 1 and codes["J019"]["shown"]["messages"][0]["role"] == "user"
    mended = unjinja.mend(FAULTY, "prefix")
    assert mended.template == FAULTY.replace(" and loop.last", "")
    verdicts = {outcome["fault"]: outcome["verdict"] for outcome in mended.outcomes}
    # What mends the one mends the other.
    assert "mended" in verdicts.values() and "left" not in verdicts.values()
    assert "J019" not in {complaint["code"] for complaint in unjinja.lint_chat_template(mended.template)}
    with pytest.raises(ValueError, match="there is no fault `thoughts`"):
        unjinja.mend(FAULTY, ["thoughts"])


def test_what_stands_between_turns_is_no_matter_of_what_the_model_wrote():
    conversation = [*MESSAGES, {"role": "user", "content": "Noon?"}]
    bridge = unjinja.bridge(FAULTY)
    assert bridge.text(conversation, " Hello!<end>") == "<user>Noon?<end><assistant>"
    with pytest.raises(unjinja.BridgeError, match="no turn to continue"):
        bridge.text(MESSAGES[:1], "")
