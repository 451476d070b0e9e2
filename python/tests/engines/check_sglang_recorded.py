"""Recorded round trips of many models through SGLang's server, and the tags that it hands to the engine."""

import collections

import cases
import pytest
from sglang_asked import ask, grammar_of, tokenizer

# What stands in for a GPU has to stand first.
from tags import compiled, hold_recorded
from sglang.srt.parser import response_template as theirs

import unjinja

RECORDED = cases.recorded()
TOKENIZERS = {}


def tokenizer_of(case):
    key = (case["template"], case["bos_token"], case["eos_token"])
    if key not in TOKENIZERS:
        tok = tokenizer(case["jinja"], case["bos_token"], case["eos_token"])
        TOKENIZERS[key] = tok, cases.ends_of(unjinja.chat_template(tok))
    return TOKENIZERS[key]


def test_the_server_answers_recorded_round_trips():
    if not RECORDED:
        pytest.skip("the recorded round trips are not here")
    wrong = collections.Counter()
    for at, case in enumerate(RECORDED):
        tok, ends = tokenizer_of(case)
        output, stop = cases.without_end(case["output"], ends)
        # A model without calls is served without their parser, and so without tools.
        has_calls = "tool_calls" in theirs.resolve_response_template(tok)["fields"]
        message, _, _ = ask(
            output, stop=stop or case["eos_token"], tok=tok, tools=case["tools"] if has_calls else None,
            input_ids=[tok.token(case["prefix"])], stream=at % 2 == 0, chat_template_kwargs=case["kwargs"] or {},
        )
        wrong[case["template"]] += not cases.alike(message, cases.expected(case["expect"]))
    print(f"{len(RECORDED) - sum(wrong.values())} of {len(RECORDED)} round trips over HTTP", dict(+wrong))
    assert sum(wrong.values()) <= len(RECORDED) / 100, +wrong


def test_the_tags_that_the_server_hands_to_the_engine_hold_calls():
    def ready(case):
        tok, ends = tokenizer_of(case)
        output = cases.turn(case, ends)
        given = {"tok": tok, "input_ids": [tok.token(case["prefix"])], "chat_template_kwargs": case["kwargs"] or {}}

        def compiled_for(keys):
            _, _, engine = ask(output, **given, **keys)
            tag, from_start = grammar_of(engine)
            assert from_start
            return compiled(tag)

        return output, compiled_for

    hold_recorded(RECORDED, ready, (AssertionError, ValueError, RuntimeError))
