"""vLLM reads with unjinja: its own plug-in loading, parsers, protocol and grammar engine, without a model."""

import collections
import json
import logging

import pytest
import stand_ins

missing = stand_ins.stand_in("vllm")
if missing:
    pytest.skip(missing, allow_module_level=True)

import cases  # noqa: E402
import vllm_server  # noqa: E402
import xgrammar  # noqa: E402
from fastapi.testclient import TestClient  # noqa: E402
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest  # noqa: E402
from vllm.entrypoints.generate.base.protocol import DeltaMessage  # noqa: E402
from vllm.exceptions import VLLMValidationError  # noqa: E402
from vllm.parser import ParserManager  # noqa: E402
from vllm.parser import response_template as hf  # noqa: E402
from vllm.plugins import load_general_plugins  # noqa: E402
from vllm.reasoning import ReasoningParserManager  # noqa: E402
from vllm.tool_parsers import ToolParserManager  # noqa: E402

import unjinja.engines  # noqa: E402
from unjinja.engines import served  # noqa: E402

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

BYTES = xgrammar.TokenizerInfo(
    [bytes([byte]) for byte in range(256)] + ["</s>"], vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[256]
)
COMPILER = xgrammar.GrammarCompiler(BYTES)


def grammar(made, asked):
    """What a request is held to, compiled."""
    asked = made.adjust_request(asked)
    assert asked._grammar_from_parser
    return COMPILER.compile_structural_tag(json.loads(asked.structured_outputs.structural_tag))


def allows(compiled, text):
    matcher = xgrammar.GrammarMatcher(compiled, terminate_without_stop_token=False)
    return matcher.accept_string(text) and matcher.accept_token(256)


STRICT = [{**tool, "function": {**tool["function"], "strict": True}} for tool in cases.TOOLS]
WRONG = cases.CALL.replace('"days": 2', '"days": "two"')
UNKNOWN = cases.CALL.replace("weather", "news")
NAMED = {"type": "function", "function": {"name": "weather"}}


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
    tok, before = tokenizer(), served._tag.cache_info()
    for question in ("Hi", "And then?", "<assistant>?"):
        asked = request(tool_choice="required")
        grammar(parser(tok, asked, prompt=f"<user>{question}<end><assistant>"), asked)
    after = served._tag.cache_info()
    assert after.hits + after.misses - before.hits - before.misses == 3
    assert after.misses - before.misses <= 1


def test_what_can_not_be_held_is_refused():
    plain = "{% for m in messages %}{{ '<' + m.role + '>' + m.content + '<end>' }}{% endfor %}<assistant>"
    tok, asked = tokenizer(plain), request(tool_choice="required")
    with pytest.raises(VLLMValidationError, match="can't guarantee required tool choice"):
        parser(tok, asked).adjust_request(asked)


# ---- over HTTP


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


@pytest.mark.parametrize("stream", [False, True])
def test_the_server_answers_with_what_was_meant(stream):
    message, reason, engine = ask(cases.THOUGHTS + "Well." + cases.CALL, stream=stream)
    assert message == ("Why not?", "Well.", [("weather", {"city": "Brest", "days": 2})])
    assert reason == "tool_calls"
    assert engine.asked.structured_outputs is None and not engine.asked.skip_special_tokens


def test_the_server_says_that_a_call_was_cut_off():
    message, reason, _ = ask(cases.CALL + cases.OTHER[:30], stop=None)
    assert message[2] == [("weather", {"city": "Brest", "days": 2})]
    assert reason == "length"


@pytest.mark.parametrize(
    "asked",
    [{"tool_choice": "required"}, {"tool_choice": NAMED}, {"parallel_tool_calls": False}, {"tools": STRICT}],
    ids=["required", "named", "single", "strict"],
)
@pytest.mark.parametrize("stream", [False, True])
def test_the_server_hands_the_engine_a_tag_that_vllm_takes(asked, stream):
    message, _, engine = ask(cases.CALL, stream=stream, **asked)
    assert message[2] == [("weather", {"city": "Brest", "days": 2})]
    compiled = COMPILER.compile_structural_tag(json.loads(engine.asked.structured_outputs.structural_tag))
    assert allows(compiled, cases.CALL) and not allows(compiled, cases.CALL + cases.OTHER[:30])


def test_the_server_refuses_what_can_not_be_held():
    plain = "{% for m in messages %}{{ '<' + m.role + '>' + m.content + '<end>' }}{% endfor %}<assistant>"
    app, _ = vllm_server.served(tokenizer(plain), "Well.", "<end>")
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": cases.TOOLS}
    with pytest.raises(VLLMValidationError, match="can't guarantee required tool choice"):
        TestClient(app).post("/v1/chat/completions", json={**body, "tool_choice": "required"})


# ---- recorded round trips of many models

RECORDED = cases.recorded()
TOKENIZERS = {}


def tokenizer_of(case):
    key = (case["template"], case["bos_token"], case["eos_token"])
    if key not in TOKENIZERS:
        tok = tokenizer(case["jinja"], case["bos_token"], case["eos_token"])
        ends = cases.ends_of(unjinja.chat_template(tok))
        specials = [end for end in ends if end]
        TOKENIZERS[key] = tokenizer(case["jinja"], case["bos_token"], case["eos_token"], specials), ends
    return TOKENIZERS[key]


def test_deltas_of_recorded_round_trips_are_the_message():
    if not RECORDED:
        pytest.skip("the recorded round trips are not here")
    wrong, other = collections.Counter(), []
    for seed, case in enumerate(RECORDED):
        tok, ends = tokenizer_of(case)
        asked = request(case["tools"])
        output, stop = cases.without_end(case["output"], ends)
        given = steps(tok, output, stop or case["eos_token"], seed)
        make = lambda: parser(tok, asked, prompt=case["prefix"], kwargs=case["kwargs"])  # noqa: E731
        deltas = put_together(streamed(make(), asked, given))
        if deltas != at_once(make(), asked, given):
            other.append(case["id"])
        wrong[case["template"]] += not cases.alike(deltas, cases.expected(case["expect"]))
    print(f"{len(RECORDED) - sum(wrong.values())} of {len(RECORDED)} round trips", dict(+wrong))
    assert not other
    assert sum(wrong.values()) <= len(RECORDED) / 100, +wrong


def test_vllms_own_parser_reads_recorded_round_trips():
    """With `--tool-call-parser hf --reasoning-parser hf`, each where the model has it."""
    if not RECORDED:
        pytest.skip("the recorded round trips are not here")
    wrong, read = collections.Counter(), 0
    for seed, case in enumerate(RECORDED):
        tok, ends = tokenizer_of(case)
        fields = hf.resolve_response_template(tok)["fields"]
        names = {"tools": "hf" if "tool_calls" in fields else None, "reasoning": "hf" if "thinking" in fields else None}
        if not any(names.values()):
            continue
        read += 1
        asked = request(case["tools"])
        output, stop = cases.without_end(case["output"], ends)
        made = parser(tok, asked, prompt=case["prefix"], kwargs=case["kwargs"], **names)
        message = put_together(streamed(made, asked, steps(tok, output, stop or case["eos_token"], seed)))
        wrong[case["template"]] += not cases.alike(message, cases.expected(case["expect"]))
    print(f"{read - sum(wrong.values())} of {read} round trips with vLLM's own parser", dict(+wrong))
    assert sum(wrong.values()) <= read / 100, +wrong


def test_the_server_answers_recorded_round_trips():
    if not RECORDED:
        pytest.skip("the recorded round trips are not here")
    wrong = collections.Counter()
    for at, case in enumerate(RECORDED):
        tok, ends = tokenizer_of(case)
        output, stop = cases.without_end(case["output"], ends)
        message, _, _ = ask(
            output, stop or case["eos_token"], tok, case["prefix"], case["tools"], stream=at % 2 == 0,
            chat_template_kwargs=case["kwargs"] or {},
        )
        wrong[case["template"]] += not cases.alike(message, cases.expected(case["expect"]))
    print(f"{len(RECORDED) - sum(wrong.values())} of {len(RECORDED)} round trips over HTTP", dict(+wrong))
    assert sum(wrong.values()) <= len(RECORDED) / 100, +wrong


def test_tags_of_recorded_formats_hold_calls():
    """Of each format, one call and two: how many formats are without a fault."""
    chosen = cases.with_calls(RECORDED)
    if not chosen:
        pytest.skip("the recorded round trips are not here")
    faults = collections.defaultdict(list)
    for case in chosen:
        tok, ends = tokenizer_of(case)
        output = cases.turn(case, ends)
        for what, keys, is_right, wrong in cases.variations(case, output):
            asked = request(**keys)
            try:
                compiled = grammar(parser(tok, asked, prompt=case["prefix"], kwargs=case["kwargs"]), asked)
            except (VLLMValidationError, RuntimeError) as error:
                faults[case["template"]].append((what, str(error)))
                continue
            if (allows(compiled, output) or allows(compiled, output.rstrip())) != is_right:
                faults[case["template"]].append((what, output))
            faults[case["template"]] += [(what, text) for text in wrong if allows(compiled, text)]
    faults = {name: found for name, found in faults.items() if found}
    formats = {case["template"] for case in chosen}
    print(f"{len(formats) - len(faults)} of {len(formats)} formats are held without a fault")
    assert len(faults) <= len(formats) * 0.05, faults
