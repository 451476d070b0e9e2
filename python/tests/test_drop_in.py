"""The parser does what that of the transformers library does: on all recorded cases, event for event."""

import copy
import json
import signal

import against_reference
import pytest
from conftest import recorded

import unjinja

FILES = ["response_template.jsonl", "response_template_lookaround.jsonl", "response_template_refused.jsonl"]



def as_installed(template):
    """The template as the version of the transformers library reads it that is installed."""
    from transformers import __version__ as version

    return unjinja.ResponseTemplate(template, profile=f"transformers@{version}")


def our_parser(template, **options):
    return unjinja.ResponseParser(as_installed(template), **options)


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
        ours, our_error = run(our_parser, case)
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
        for parse, read in ((reference.parse_response, dict), (unjinja.parse_response, as_installed)):
            try:
                results.append(
                    parse(
                        "".join(case["chunks"]),
                        read(copy.deepcopy(case["response_template"])),
                        prefix=case["prefix"],
                        tools=case.get("tools"),
                    )
                )
            except Exception as error:  # noqa: BLE001
                results.append("error" if isinstance(error, (ValueError, *ACCIDENTS, KeyError)) else error)
        if json.dumps(results[0]) != json.dumps(results[1]):
            differences.append((case["id"], results))
    assert not differences, f"{len(differences)} differ, as {differences[0]}"


def test_random_templates_are_read_alike(reference):
    maker = against_reference.Maker(seed=5)
    for _ in range(2000):
        case = maker.case()
        theirs, their_error = run(reference.ResponseParser, case)
        ours, our_error = run(our_parser, case)
        if any(json.dumps(pattern)[1:-1] in json.dumps(case) for pattern in against_reference.BACKTRACKING):
            # Chunks may be cut elsewhere.
            ours, theirs = ours[-1:], theirs[-1:]
        assert json.dumps(ours) == json.dumps(theirs) and bool(our_error) == bool(their_error), json.dumps(case)


def test_a_template_is_read_for_a_profile():
    template = {"start_anchor": "A:", "fields": {"tool_calls": {"content": "python-call-list"}}}
    assert unjinja.ResponseTemplate(template).language == "5.24"
    calls = unjinja.parse_response("[f(a=1)]", template, prefix="")
    assert calls == {"tool_calls": [{"name": "f", "arguments": {"a": 1}}]}
    for profile in ("transformers@5.23", "vllm"):
        with pytest.raises(unjinja.TemplateError, match="not in version 5.20 of the language"):
            unjinja.ResponseTemplate(template, profile=profile)
    with pytest.raises(ValueError, match="no profile"):
        unjinja.ResponseTemplate(template, profile="vlm")


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
