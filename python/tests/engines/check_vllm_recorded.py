"""Recorded round trips of many models through vLLM: its parsers, its server, and tags."""

import cases
from vllm_asked import ask, at_once, grammar, parser, put_together, request, steps, streamed, tokenizer

# What stands in for a GPU has to stand first.
from tags import hold_recorded
from vllm.exceptions import VLLMValidationError
from vllm.parser import response_template as hf


def test_deltas_of_recorded_round_trips_are_the_message():
    other = []

    def message_of(seed, case):
        tok, ends = cases.tokenizer_of(case, tokenizer)
        asked = request(case["tools"])
        output, stop = cases.without_end(case["output"], ends)
        given = steps(tok, output, stop or case["eos_token"], seed)
        make = lambda: parser(tok, asked, prompt=case["prefix"], kwargs=case["kwargs"])  # noqa: E731
        deltas = put_together(streamed(make(), asked, given))
        if deltas != at_once(make(), asked, given):
            other.append(case["id"])
        return deltas

    cases.hold_round_trips("by its parsers", message_of)
    assert not other


def own_parsers(case):
    """The parsers of vLLM's own that a model has something for."""
    fields = hf.resolve_response_template(cases.tokenizer_of(case, tokenizer)[0])["fields"]
    return {"tools": "hf" if "tool_calls" in fields else None, "reasoning": "hf" if "thinking" in fields else None}


def test_vllms_own_parser_reads_recorded_round_trips():
    """With `--tool-call-parser hf --reasoning-parser hf`, each where the model has it."""

    def message_of(seed, case):
        tok, ends = cases.tokenizer_of(case, tokenizer)
        asked = request(case["tools"])
        output, stop = cases.without_end(case["output"], ends)
        made = parser(tok, asked, prompt=case["prefix"], kwargs=case["kwargs"], **own_parsers(case))
        return put_together(streamed(made, asked, steps(tok, output, stop or case["eos_token"], seed)))

    rows = [case for case in cases.RECORDED if any(own_parsers(case).values())]
    cases.hold_round_trips("with vLLM's own parser", message_of, rows)


def test_the_server_answers_recorded_round_trips():
    def message_of(number, case):
        tok, ends = cases.tokenizer_of(case, tokenizer)
        output, stop = cases.without_end(case["output"], ends)
        return ask(
            output, stop or case["eos_token"], tok, case["prefix"], case["tools"], stream=number % 2 == 0,
            chat_template_kwargs=case["kwargs"] or {},
        )[0]

    cases.hold_round_trips("over HTTP", message_of)


def test_tags_of_recorded_formats_hold_calls():
    def ready(case):
        tok, ends = cases.tokenizer_of(case, tokenizer)

        def grammar_of(keys):
            asked = request(**keys)
            return grammar(parser(tok, asked, prompt=case["prefix"], kwargs=case["kwargs"]), asked)

        return cases.turn(case, ends), grammar_of

    hold_recorded(cases.RECORDED, ready, (VLLMValidationError, RuntimeError))
