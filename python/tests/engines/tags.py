"""Structural tags, compiled by the grammar engine that the engines compile them with."""

import collections

import cases
import pytest
import xgrammar

_BYTES = xgrammar.TokenizerInfo(
    [bytes([byte]) for byte in range(256)] + ["</s>"], vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[256]
)
_COMPILER = xgrammar.GrammarCompiler(_BYTES)

STRICT = [{**tool, "function": {**tool["function"], "strict": True}} for tool in cases.TOOLS]
WRONG = cases.CALL.replace('"days": 2', '"days": "two"')
UNKNOWN = cases.CALL.replace("weather", "news")
NAMED = {"type": "function", "function": {"name": "weather"}}


def compiled(tag):
    return _COMPILER.compile_structural_tag(tag)


def allows(grammar, text):
    matcher = xgrammar.GrammarMatcher(grammar, terminate_without_stop_token=False)
    return matcher.accept_string(text) and matcher.accept_token(256)


def hold_recorded(rows, ready, refusals):
    """Of each format, one call and two are asked for in all ways: tags have to allow what was written, and to refuse what is wrong.

    `ready` makes of a conversation the output that tags are for, and what compiles a request's tag, which may raise `refusals`.
    """
    chosen = cases.with_calls(rows)
    if not chosen:
        pytest.skip("the recorded round trips are not here")
    faults = collections.defaultdict(list)
    for case in chosen:
        output, grammar_of = ready(case)
        for what, keys, is_right, wrong in cases.variations(case, output):
            try:
                grammar = grammar_of(keys)
            except refusals as error:
                faults[case["template"]].append((what, repr(error)))
                continue
            if (allows(grammar, output) or allows(grammar, output.rstrip())) != is_right:
                faults[case["template"]].append((what, case["prefix"][-60:], output))
            faults[case["template"]] += [(what, text) for text in wrong if allows(grammar, text)]
    faults = {name: found for name, found in faults.items() if found}
    formats = {case["template"] for case in chosen}
    print(f"{len(formats) - len(faults)} of {len(formats)} formats are held without a fault")
    assert len(faults) <= len(formats) * 0.05, faults
