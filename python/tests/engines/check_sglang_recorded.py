"""Recorded round trips of many models through SGLang's server, and the tags that it hands to the engine."""

import cases
from sglang_asked import ask, grammar_of, tokenizer

# What stands in for a GPU has to stand first.
from tags import compiled, hold_recorded
from sglang.srt.parser import response_template as theirs


def test_the_server_answers_recorded_round_trips():
    def message_of(number, case):
        tok, ends = cases.tokenizer_of(case, tokenizer)
        output, stop = cases.without_end(case["output"], ends)
        # A model without calls is served without their parser, and so without tools.
        has_calls = "tool_calls" in theirs.resolve_response_template(tok)["fields"]
        return ask(
            output, stop=stop or case["eos_token"], tok=tok, tools=case["tools"] if has_calls else None,
            input_ids=[tok.token(case["prefix"])], stream=number % 2 == 0, chat_template_kwargs=case["kwargs"] or {},
        )[0]

    cases.hold_round_trips("over HTTP", message_of)


def test_the_tags_that_the_server_hands_to_the_engine_hold_calls():
    def ready(case):
        tok, ends = cases.tokenizer_of(case, tokenizer)
        output = cases.turn(case, ends)
        given = {"tok": tok, "input_ids": [tok.token(case["prefix"])], "chat_template_kwargs": case["kwargs"] or {}}

        def compiled_for(keys):
            _, _, engine = ask(output, **given, **keys)
            tag, from_start = grammar_of(engine)
            assert from_start
            return compiled(tag)

        return output, compiled_for

    hold_recorded(cases.RECORDED, ready, (AssertionError, ValueError, RuntimeError))
