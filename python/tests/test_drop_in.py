"""The parser does what that of the transformers library does: on all recorded cases, event for event."""

import copy
import json
import signal

import pytest
from conftest import recorded

import unjinja

FILES = ["response_template.jsonl", "response_template_lookaround.jsonl", "response_template_refused.jsonl"]

# Where the other parser fails by accident, in the middle of its own work, it raises these. Here it is a
# `ParseError` as always.
ACCIDENTS = (AttributeError, TypeError)


def run(parser_class, case):
    """All that a parser says of a case, up to what it raises."""
    said = []
    try:
        parser = parser_class(
            copy.deepcopy(case["response_template"]), prefix=case["prefix"], tools=case.get("tools")
        )
        said.append(copy.deepcopy(parser.initial_events))
        for chunk in case["chunks"]:
            said.append(copy.deepcopy(parser.feed(chunk)))
        message, events = parser.finalize()
        said += [events, list(message.items())]
    except Exception as error:  # noqa: BLE001
        return said, error
    return said, None


def late(*_):
    raise TimeoutError


@pytest.mark.parametrize("file", FILES)
def test_both_parsers_say_the_same(file, reference):
    differences = []
    cases = recorded(file)
    signal.signal(signal.SIGALRM, late)
    for case in cases:
        signal.alarm(20)
        theirs, their_error = run(reference.ResponseParser, case)
        signal.alarm(0)
        ours, our_error = run(unjinja.ResponseParser, case)
        if isinstance(their_error, ACCIDENTS):
            alike = isinstance(our_error, unjinja.ParseError)
        elif their_error is None:
            alike = our_error is None
        else:
            alike = isinstance(our_error, type(their_error))
        if json.dumps(ours) != json.dumps(theirs) or not alike:
            differences.append((case["id"], ours, our_error, theirs, their_error))
    assert not differences, f"{len(differences)} of {len(cases)} differ, as {differences[0]}"


def test_whole_texts_are_parsed_alike(reference):
    differences = []
    for case in recorded(FILES[0]):
        results = []
        for parse in (reference.parse_response, unjinja.parse_response):
            try:
                results.append(
                    parse(
                        "".join(case["chunks"]),
                        copy.deepcopy(case["response_template"]),
                        prefix=case["prefix"],
                        tools=case.get("tools"),
                    )
                )
            except Exception as error:  # noqa: BLE001
                results.append("error" if isinstance(error, (ValueError, *ACCIDENTS, KeyError)) else error)
        if json.dumps(results[0]) != json.dumps(results[1]):
            differences.append((case["id"], results))
    assert not differences, f"{len(differences)} differ, as {differences[0]}"


def test_functions_are_tools(reference, template):
    def wait(seconds: int):
        """
        Waits.

        Args:
            seconds: How long
        """

    text = '<call wait>{"seconds": "3"}</call>'
    messages = [
        parse(text, template, prefix="", tools=[wait])
        for parse in (reference.parse_response, unjinja.parse_response)
    ]
    assert messages[0] == messages[1]
    assert messages[1]["tool_calls"][0]["function"]["arguments"] == {"seconds": 3}
