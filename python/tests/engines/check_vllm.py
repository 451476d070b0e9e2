"""vLLM reads with unjinja: its own plug-in loading, parsers, protocol and grammar engine, without a model."""

import json
import logging

import cases
import pytest
from vllm_asked import (
    at_once,
    grammar,
    parser,
    parser_class,
    put_together,
    request,
    steps,
    streamed,
    tokenizer,
)

# What stands in for a GPU has to stand first.
from tags import NAMED, STRICT, UNKNOWN, WRONG, allows
from vllm.exceptions import VLLMValidationError
from vllm.parser import response_template as hf
from vllm.reasoning import ReasoningParserManager
from vllm.tool_parsers import ToolParserManager

import unjinja.engines
from unjinja.engines import served


# ---- a tokenizer without a response template


def test_vllms_own_parser_is_served_with_what_is_derived():
    tok, asked = tokenizer(), request()
    given = steps(tok, cases.THOUGHTS + "Well." + cases.CALL, "<end>")
    made = parser(tok, asked, tools="hf", reasoning="hf")
    assert type(made).__mro__[1] is hf.ResponseTemplateParser
    want = ("Why not?", "Well.", [("weather", {"city": "Brest", "days": 2})])
    assert put_together(streamed(made, asked, given)) == want


def test_a_response_template_that_is_there_is_kept():
    tok = tokenizer()
    tok.response_template = {"start_anchor": "<assistant>", "fields": {"content": {}}}
    assert hf.resolve_response_template(tok) == tok.response_template


def test_one_line_tells_what_was_proved(caplog):
    served._known.clear()
    with caplog.at_level(logging.INFO, logger="vllm.unjinja"):
        hf.resolve_response_template(tokenizer())
        hf.resolve_response_template(tokenizer())
    (line,) = [record.getMessage() for record in caplog.records if record.name == "vllm.unjinja"]
    assert "with thinking, tool_calls, content: " in line and "renderings recovered" in line


@pytest.mark.parametrize("jinja", ["{% for m in messages %}{{ m.content }", "{{ raise_exception('no') }}"])
def test_a_chat_template_of_no_use_is_a_line_in_the_log_and_vllms_own_error(caplog, jinja):
    with caplog.at_level(logging.WARNING, logger="vllm.unjinja"):
        assert hf.resolve_response_template(tokenizer(jinja)) is None
        with pytest.raises(TypeError, match="requires `response_template` metadata"):
            parser_class(tokenizer(jinja), tools="hf", reasoning="hf")
    assert len({record.getMessage() for record in caplog.records if "no response template" in record.getMessage()}) == 1


def test_without_a_chat_template_vllm_is_as_it_was():
    with pytest.raises(TypeError, match="requires `response_template` metadata"):
        parser_class(tokenizer(None), tools="hf", reasoning="hf")


@pytest.mark.parametrize("way", ["--chat-template", "--chat_template=", "UNJINJA_CHAT_TEMPLATE"])
def test_the_chat_template_of_the_command_line_counts(monkeypatch, tmp_path, way):
    path = tmp_path / "other.jinja"
    path.write_text(cases.JINJA.replace("<think>", "<muse>").replace("</think>", "</muse>"), encoding="utf-8")
    if way.startswith("UNJINJA"):
        monkeypatch.setenv(way, str(path))
    else:
        given = [way + str(path)] if way.endswith("=") else [way, str(path)]
        monkeypatch.setattr("sys.argv", ["vllm", "serve", "model", *given])
    assert "muse" in json.dumps(hf.resolve_response_template(tokenizer())["fields"]["thinking"])


def test_the_switch_turns_it_off(monkeypatch):
    monkeypatch.setenv("UNJINJA_ENGINES", "off")
    called = []
    monkeypatch.setattr("unjinja.engines.vllm.register", lambda: called.append(1))
    unjinja.engines._register("vllm")
    assert not called
    monkeypatch.setenv("UNJINJA_ENGINES", "on")
    unjinja.engines._register("vllm")
    assert called


def test_a_vllm_that_is_not_as_expected_is_a_line_in_the_log(monkeypatch, caplog):
    def fail():
        raise AttributeError("no such registry")

    monkeypatch.setattr("unjinja.engines.vllm.register", fail)
    unjinja.engines._register("vllm")
    assert "no such registry" in caplog.text


def test_the_command_line_knows_the_name():
    assert "unjinja" in ToolParserManager.list_registered()
    assert "unjinja" in ReasoningParserManager.list_registered()


# ---- the parser `unjinja`


def test_arguments_are_streamed_while_they_are_written():
    tok, asked = tokenizer(), request()
    deltas = streamed(parser(tok, asked), asked, steps(tok, cases.CALL, "<end>"))
    pieces = [piece.function for delta in deltas for piece in delta.tool_calls]
    assert pieces[0].name == "weather"
    assert len([piece for piece in pieces if piece.arguments]) > 3


def test_models_without_thoughts_or_calls_are_served():
    plain = "{% for m in messages %}{{ '<' + m.role + '>' + m.content + '<end>' }}{% endfor %}<assistant>"
    tok, asked = tokenizer(plain), request(tools=None)
    given = steps(tok, "Hello!", "<end>")
    assert put_together(streamed(parser(tok, asked), asked, given)) == ("", "Hello!", [])


def test_what_the_prompt_has_begun_is_minded():
    tok, asked = tokenizer(), request()
    given = steps(tok, "Why not?</think>Well.", "<end>")
    made = parser(tok, asked, prompt=cases.PROMPT + "<think>")
    assert put_together(streamed(made, asked, given)) == ("Why not?", "Well.", [])


@pytest.mark.parametrize("cut", [1, 8, 30, len(cases.OTHER) - 8])
def test_a_call_that_is_cut_off_is_not_handed_out(cut):
    tok, asked = tokenizer(), request()
    given = steps(tok, cases.CALL + cases.OTHER[:cut])
    whole = at_once(parser(tok, asked), asked, given)
    assert whole[2] == [("weather", {"city": "Brest", "days": 2})]
    pieces = [piece for delta in streamed(parser(tok, asked), asked, given) for piece in delta.tool_calls]
    begun = "".join(piece.function.arguments or "" for piece in pieces if piece.index == 1)
    # What is sent can't be taken back; the reason why it ends tells.
    assert begun in '{"city": "Brest"}'


def test_a_call_that_only_the_end_of_the_turn_closes_is_whole():
    tok, asked = tokenizer(specials=["<end>"]), request()
    for stop, calls in (("<end>", 1), (None, 1)):
        # JSON says itself where it ends.
        given = steps(tok, cases.CALL[: -len("</call>")], stop)
        assert len(at_once(parser(tok, asked), asked, given)[2]) == calls


def test_a_marker_that_is_one_token_does_not_end_the_turn():
    # The last value is closed, and there was no room for what comes behind it.
    tags = (
        "{% for m in messages %}{{ '<' + m.role + '>' }}{% if m.content %}{{ m.content }}{% endif %}"
        "{% for c in m.tool_calls or [] %}{{ '<call>' + c.function.name }}"
        "{% for key, value in c.function.arguments.items() %}{{ '<arg>' + key + '<is>' + value + '</arg>' }}{% endfor %}"
        "{{ '</call>' }}{% endfor %}{{ '<end>' }}{% endfor %}{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
    )
    tok, asked = tokenizer(tags, specials=["</arg>"]), request()
    cut = "<call>weather<arg>city<is>Brest</arg>"
    given = [(cut[: -len("</arg>")], [tok.token(cut[: -len("</arg>")])]), ("</arg>", [tok.token("</arg>")])]
    assert at_once(parser(tok, asked), asked, given)[2] == []
    assert at_once(parser(tok, asked), asked, given + [("</call>", [tok.token("</call>")])])[2] == [
        ("weather", {"city": "Brest"})
    ]


def test_a_call_that_can_not_be_read_is_left_out():
    tok, asked = tokenizer(), request()
    given = steps(tok, "Well." + cases.CALL.replace("}</call>", "</call>") + cases.OTHER, "<end>")
    assert at_once(parser(tok, asked), asked, given) == ("", "Well.", [("tides", {"city": "Brest"})])


def test_what_closes_a_call_is_text_in_a_string():
    tok, asked = tokenizer(), request()
    given = steps(tok, cases.CALL.replace("Brest", "a </call> b"), "<end>")
    want = ("", "", [("weather", {"city": "a </call> b", "days": 2})])
    assert at_once(parser(tok, asked), asked, given) == put_together(streamed(parser(tok, asked), asked, given)) == want


def test_without_tools_to_be_parsed_calls_are_text():
    tok, asked = tokenizer(), request(tool_choice="none")
    given = steps(tok, "Well." + cases.CALL, "<end>")
    assert put_together(streamed(parser(tok, asked), asked, given)) == ("", "Well." + cases.CALL, [])


def test_thoughts_are_left_out_where_a_request_wants_none():
    tok, asked = tokenizer(), request(include_reasoning=False)
    given = steps(tok, cases.THOUGHTS + "Well.", "<end>")
    assert put_together(streamed(parser(tok, asked), asked, given)) == ("", "Well.", [])


def test_the_engine_knows_where_thoughts_end():
    tok = tokenizer()
    reasoner = parser_class(tok).reasoning_parser_cls(tok)
    ids, ended = [tok.token(cases.PROMPT)], []
    assert not reasoner.is_reasoning_end(ids)
    for _, piece in cases.tokens("<think>Why not, é?</think>Well.", 3):
        ids = ids + [tok.token(piece)]
        ended.append(reasoner.is_reasoning_end_streaming(ids, ids[-1:]))
    text = b"".join(tok.pieces[id] for id in ids[1:])
    at = next(at for at in range(len(ids)) if b"</think>" in b"".join(tok.pieces[id] for id in ids[1 : at + 2]))
    assert ended == [False] * at + [True] * (len(ended) - at), text
    # Drafts of a speculation that are taken back count for nothing.
    assert not reasoner.is_reasoning_end_streaming(ids[:2], ids[1:2])


# ---- grammars


@pytest.mark.parametrize(
    ("asked", "right", "wrong"),
    [
        (dict(tool_choice="required"), [cases.CALL, cases.CALL + cases.OTHER, WRONG], ["Well.", UNKNOWN, ""]),
        (dict(tool_choice=NAMED), [cases.CALL], ["Well.", cases.OTHER, cases.CALL + cases.CALL]),
        (dict(tools=STRICT), [cases.CALL, cases.CALL + cases.OTHER, "Well."], [WRONG, UNKNOWN]),
        (dict(tools=STRICT, tool_choice="required"), [cases.CALL], ["Well.", WRONG]),
        (dict(parallel_tool_calls=False), [cases.CALL, "Well.", WRONG], [cases.CALL + cases.OTHER]),
        (dict(tool_choice="required", parallel_tool_calls=False), [cases.CALL], ["Well.", cases.CALL + cases.OTHER]),
    ],
    ids=["required", "named", "strict", "strict and required", "single", "one that is required"],
)
@pytest.mark.parametrize("prompt", ["", "<think>"])
def test_a_request_is_held_to_what_it_asks_for(asked, right, wrong, prompt):
    tok = tokenizer()
    asked = request(**asked)
    compiled = grammar(parser(tok, asked, prompt=cases.PROMPT + prompt), asked)
    thoughts = cases.THOUGHTS.removeprefix(prompt)
    for text in right:
        assert allows(compiled, thoughts + text), text
    for text in wrong:
        assert not allows(compiled, thoughts + text), text


def test_nothing_is_held_where_nothing_is_asked_for():
    tok = tokenizer()
    for asked in (request(), request(tool_choice="none"), request(tools=None)):
        assert parser(tok, asked).adjust_request(asked).structured_outputs is None


def test_a_tag_is_made_once_for_conversations_with_the_same_tools():
    tok, before = tokenizer(), served._tags.made
    for question in ("Hi", "And then?", "<assistant>?"):
        asked = request(tool_choice="required")
        grammar(parser(tok, asked, prompt=f"<user>{question}<end><assistant>"), asked)
    assert served._tags.made - before <= 1


def nested(depth):
    """A strict tool whose argument is lists within lists."""
    schema = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    parameters = {"type": "object", "properties": {"deep": schema}, "required": ["deep"], "additionalProperties": False}
    return {"type": "function", "function": {"name": "digger", "parameters": parameters, "strict": True}}


def test_a_schema_beyond_a_limit_is_refused_by_its_place_or_loosened(monkeypatch):
    tok, asked = tokenizer(), request(tools=[nested(480)], tool_choice="required")
    with pytest.raises(VLLMValidationError, match="(?s)/properties/deep/.*digger.*UNJINJA_BEST_EFFORT=1"):
        parser(tok, asked).adjust_request(asked)
    monkeypatch.setenv("UNJINJA_BEST_EFFORT", "1")
    assert parser(tok, asked).adjust_request(asked).structured_outputs is not None


def test_what_can_not_be_held_is_refused():
    plain = "{% for m in messages %}{{ '<' + m.role + '>' + m.content + '<end>' }}{% endfor %}<assistant>"
    tok, asked = tokenizer(plain), request(tool_choice="required")
    with pytest.raises(VLLMValidationError, match="can't guarantee required tool choice"):
        parser(tok, asked).adjust_request(asked)
