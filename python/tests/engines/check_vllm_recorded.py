"""Recorded round trips of many models through vLLM: its parsers, its server, and tags."""

import collections

import cases
import pytest
from vllm_asked import ask, at_once, grammar, parser, put_together, request, steps, streamed, tokenizer

# What stands in for a GPU has to stand first.
from tags import hold_recorded
from vllm.exceptions import VLLMValidationError
from vllm.parser import response_template as hf

import unjinja

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
    def ready(case):
        tok, ends = tokenizer_of(case)

        def grammar_of(keys):
            asked = request(**keys)
            return grammar(parser(tok, asked, prompt=case["prefix"], kwargs=case["kwargs"]), asked)

        return cases.turn(case, ends), grammar_of

    hold_recorded(RECORDED, ready, (VLLMValidationError, RuntimeError))
