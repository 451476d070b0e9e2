"""Parsing and completions: what goes in, what comes out, and what happens to those who do otherwise."""

import collections.abc
import gc
import json
import pathlib
import subprocess
import sys
import threading
import weakref

import pytest

import unjinja

TEXT = '<think>Why?</think>Hm.<call f>{"n": [1, 2.5, null, true, "é"], "big": 12345678901234567890}</call><end>'


def test_a_message_is_made_of_plain_values(template):
    message = unjinja.parse_response(TEXT, template, prefix="<bot>")
    assert message == {
        "thinking": "Why?",
        "content": "Hm.",
        "tool_calls": [
            {
                "type": "function",
                "function": {
                    "name": "f",
                    "arguments": {"n": [1, 2.5, None, True, "é"], "big": 12345678901234567890},
                },
            }
        ],
    }
    assert list(message) == ["thinking", "content", "tool_calls"]


def test_a_template_can_be_text_or_read_once(template):
    text = json.dumps(template)
    read = unjinja.ResponseTemplate(template)
    assert read.to_dict() == template
    assert read == unjinja.ResponseTemplate(text)
    for given in (template, text, read):
        assert unjinja.parse_response("Hi<end>", given, prefix="")["content"] == "Hi"


def test_events_come_as_the_text_does(template):
    parser = unjinja.ResponseParser(template, "<bot><think>W")
    assert [event["type"] for event in parser.initial_events] == ["region_open", "region_chunk"]
    assert parser.feed("hy?</th") == [
        {"type": "region_chunk", "field": "thinking", "text": "hy?", "dirty": False}
    ]
    assert parser.feed("ink>") == [{"type": "region_close", "field": "thinking", "value": "Why?"}]
    message, events = parser.finalize()
    assert (message, events) == ({"thinking": "Why?"}, [])


def test_a_message_has_the_values_of_its_events(template):
    parser = unjinja.ResponseParser(template, "<bot><think>Why?</think>")
    events = [event for piece in ["Hm.<call f>{}</call><call g>", '{"n": [1]}</call>'] for event in parser.feed(piece)]
    message, last = parser.finalize()
    values = {"tool_calls": []}
    for event in parser.initial_events + events + last:
        if event["type"] == "region_close" and event["field"] == "tool_calls":
            values["tool_calls"].append(event["value"])
        elif event["type"] == "region_close":
            values[event["field"]] = event["value"]
    assert message == values
    assert all(one is other for one, other in zip(message["tool_calls"], values["tool_calls"]))
    assert message["content"] is values["content"] and message["thinking"] is values["thinking"]


def test_a_message_has_defaults_and_joined_texts_beside_the_values_of_events():
    template = {
        "start_anchor": "<bot>",
        "defaults": {"role": "assistant", "calls": [0]},
        "fields": {
            "calls": {"open": "<c>", "close": "</c>", "repeats": True},
            "said": {"open": "<s>", "close": "</s>", "repeats": True, "join": "+"},
            "last": {"open": "<l>", "close": "</l>"},
        },
    }
    parser = unjinja.ResponseParser(template, "", spans=True)
    parser.feed("<c>1</c><s>a</s><l>x</l><s>b</s><c>2</c><l>y</l>")
    assert parser.finalize()[0] == {"role": "assistant", "calls": [0, "1", "2"], "said": "a+b", "last": "y"}


def test_options_go_beyond_the_other_parser(template):
    parser = unjinja.ResponseParser(template, "", on_malformed="event", spans=True)
    events = parser.feed("<call f>{</call>")
    assert events[0]["captures"] == {"name": "f"}
    assert events[-1]["type"] == "region_malformed"


# ------------------------------------------------------------------------------------------------ errors


def test_a_parser_that_has_ended_says_so(template):
    parser = unjinja.ResponseParser(template, "")
    parser.finalize()
    for use in (lambda: parser.feed("x"), parser.finalize):
        with pytest.raises(RuntimeError, match="^ResponseParser already finalized$"):
            use()


def test_a_parser_that_has_failed_stays_failed(template):
    parser = unjinja.ResponseParser(template, "")
    with pytest.raises(unjinja.ParseError, match="this is not JSON"):
        parser.feed("<call f>{</call>")
    for use in (lambda: parser.feed("x"), parser.finalize):
        for _ in range(2):
            with pytest.raises(unjinja.ParseError, match="failed"):
                use()


def test_an_event_holds_plain_texts(template):
    class Token(str):
        pass

    parser = unjinja.ResponseParser(template, "")
    events = parser.feed(Token("Hi"))
    assert [type(event["text"]) for event in events if "text" in event] == [str]


def test_without_a_prefix_nothing_is_parsed(template):
    for use in (
        lambda: unjinja.parse_response("Hi", template),
        lambda: unjinja.ResponseParser(template),
        lambda: unjinja.Completion(template),
    ):
        with pytest.raises(ValueError, match="`prefix` is missing"):
            use()


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ({"start_anchor": "A:", "fields": {"x": {"opne": "<x>"}}}, "did you mean `open`"),
        ({}, "fields"),
        (["fields"], "object"),
        ("{", "^1:2: this is not JSON"),
        ({"start_anchor": "A:", "fields": {"x": {"open_pattern": "("}}}, "/fields/x/open_pattern"),
    ],
)
def test_a_template_is_refused_with_the_place_of_its_fault(template, text):
    with pytest.raises(unjinja.TemplateError, match=text):
        unjinja.ResponseTemplate(template)


@pytest.mark.parametrize("wrong", [3, {1: 2}, {"start_anchor": object()}, {"a": {1, 2}}, b"x", None])
def test_what_json_can_not_say_is_no_template(wrong):
    with pytest.raises((TypeError, ValueError)):
        unjinja.ResponseTemplate(wrong)


def test_lists_that_hold_themselves_are_refused():
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="holds itself"):
        unjinja.ResponseTemplate({"start_anchor": endless})


def test_halves_of_characters_are_refused_as_texts(template):
    with pytest.raises(UnicodeEncodeError):
        unjinja.parse_response("\ud83d", template, prefix="")
    message = unjinja.parse_response('<call f>{"x": "\\ud83d"}</call>', template, prefix="")
    assert message["tool_calls"][0]["function"]["arguments"] == {"x": "\ud83d"}


def test_errors_say_what_the_program_says(template, tmp_path, capfd):
    path = tmp_path / "template.json"
    path.write_text(json.dumps(template), encoding="utf-8")
    output = tmp_path / "output.txt"
    output.write_text("<call f>{</call>", encoding="utf-8")
    from unjinja import _native

    assert _native.run(["unjinja", "parse", "-t", str(path), str(output)]) == 1
    said = capfd.readouterr().err
    with pytest.raises(unjinja.ParseError) as raised:
        unjinja.parse_response(output.read_text(encoding="utf-8"), template, prefix="")
    assert said == f"error: {raised.value}\n"


def test_a_parse_error_is_what_others_catch(template):
    with pytest.raises(KeyError):
        unjinja.parse_response("<call f>{</call>", template, prefix="")
    assert issubclass(unjinja.ParseError, unjinja.Error) and issubclass(unjinja.Error, ValueError)


# ----------------------------------------------------------------------------------------------- threads


def test_threads_may_share_a_parser(template):
    parser = unjinja.ResponseParser(template, "")
    piece = "Hello, you. " * 50

    def feed():
        for _ in range(200):
            parser.feed(piece)

    threads = [threading.Thread(target=feed) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    message, _ = parser.finalize()
    assert message["content"] == (piece * 800).strip()


def test_others_run_while_a_text_is_parsed(template):
    text = "<think>" + "Why? " * 200_000 + "</think>Hm.<end>"
    gate, ran = threading.Lock(), []

    def wait():
        with gate:
            ran.append(True)

    gate.acquire()
    thread = threading.Thread(target=wait)
    thread.start()
    # Nobody is made to let another thread run: it only does if the lock of Python is released.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1_000_000)
    try:
        gate.release()
        for _ in range(2_000):
            unjinja.parse_response(text, template, prefix="")
            if ran:
                break
        assert ran
    finally:
        sys.setswitchinterval(interval)
        thread.join()


def test_a_parser_may_be_dropped_in_the_middle(template):
    for end in range(0, len(TEXT), 7):
        parser = unjinja.ResponseParser(template, "")
        parser.feed(TEXT[:end])
        del parser


def test_a_completion_that_stands_in_what_it_has_made_is_freed():
    completion = unjinja.Completion({"start_anchor": "<bot>", "fields": {"content": {}}}, "")
    completion.initial_chunks.append(completion)
    freed = weakref.ref(completion)
    del completion
    gc.collect()
    assert freed() is None


def test_a_dict_may_change_while_it_is_read():
    class Changing(collections.abc.Mapping):
        def __getitem__(self, key):
            return {}

        def __iter__(self):
            return iter(["content"])

        def __len__(self):
            return 1

        def items(self):
            template.clear()
            template.update((str(number), 1) for number in range(100))
            return [("content", {})]

    template = {"start_anchor": "<bot>", "fields": Changing(), "defaults": {}}
    assert unjinja.ResponseParser(template, "").finalize() == ({}, [])


def test_finalizers_may_make_parsers_while_templates_are_compared():
    # In a process of its own, which would hang.
    code = """
import gc, unjinja
template = {"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}}
unjinja.ResponseParser(dict(template), "")
class Finalized:
    def __init__(self):
        self.own = self
    def __del__(self):
        unjinja.ResponseParser(dict(template), "")
gc.set_threshold(1)
for number in range(50):
    Finalized()
    try:
        unjinja.ResponseParser(dict(template, start_anchor="\\ud800"), "")
    except unjinja.TemplateError:
        pass
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("put_into", ["a value", "its attributes"])
def test_a_parser_that_stands_in_what_it_has_made_is_freed(put_into):
    template = {"start_anchor": "<bot>", "fields": {"tool_calls": {"open": "<c>", "close": "</c>", "repeats": True, "content": "json"}}}
    parser = unjinja.ResponseParser(template, "")
    events = parser.feed('<c>{"n": 1}</c>')
    if put_into == "a value":
        events[-1]["value"]["parser"] = parser
    else:
        parser.own = parser
    freed = weakref.ref(parser)
    del parser, events
    gc.collect()
    assert freed() is None


def test_the_collector_may_run_while_parsers_are_made():
    # In a process of its own, which would end with this one.
    code = """
import gc, unjinja
template = unjinja.ResponseTemplate({"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}})
class Own(unjinja.ResponseParser):
    pass
kept = []
gc.set_threshold(1)
for number in range(100):
    for make in (unjinja.ResponseParser, Own, unjinja.Completion):
        kept.append([make(template, ""), number])
print(len(kept))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "300\n"), ran.stderr


# ------------------------------------------------------------------------------------------- completions


def put_together(chunks):
    """Puts chunks together as clients do."""
    message = {}
    for chunk in chunks:
        delta = chunk["choices"][0]["delta"]
        for key, more in delta.items():
            if key != "tool_calls":
                message[key] = message[key] + more if isinstance(message.get(key), str) else more
                continue
            calls = message.setdefault("tool_calls", [])
            for call in more:
                if call["index"] == len(calls):
                    calls.append({"id": call["id"], "type": call["type"], "function": dict(call["function"])})
                else:
                    calls[call["index"]]["function"]["arguments"] += call["function"]["arguments"]
    return message


@pytest.mark.parametrize("length", [1, 3, 1000])
def test_chunks_put_together_are_the_completion(template, length):
    completion = unjinja.Completion(template, "", id="chatcmpl-7", model="small", created=3)
    chunks = list(completion.initial_chunks)
    for at in range(0, len(TEXT), length):
        chunks += completion.feed(TEXT[at : at + length])
    last, whole = completion.finish()
    chunks += last
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"
    message = whole["choices"][0]["message"]
    assert put_together(chunks) == message
    assert message["reasoning_content"] == "Why?"
    assert message["tool_calls"][0]["id"] == "call_7_0"
    assert (whole["id"], whole["model"], whole["created"]) == ("chatcmpl-7", "small", 3)


def test_a_completion_that_has_ended_says_so(template):
    completion = unjinja.Completion(template, "")
    _, whole = completion.finish(cut_off=True)
    assert whole["choices"][0]["finish_reason"] == "length"
    with pytest.raises(RuntimeError, match="^Completion already finalized$"):
        completion.feed("x")


def test_what_can_not_be_parsed_is_named(template):
    completion = unjinja.Completion(template, "", on_malformed="event")
    completion.feed("<call f>{</call>Hm.")
    completion.finish()
    assert completion.malformed == ["tool_calls"]


@pytest.mark.parametrize(
    ("options", "output", "content", "names"),
    [
        ({}, "<call f>{</call>Hm.", "<call f>{</call>Hm.", []),
        ({"on_malformed": "event"}, "<call f>{</call>Hm.", "Hm.", []),
        ({}, "<call f>{}</call>Hm.", "Hm.", ["f"]),
        ({"unknown_tools": "text"}, "<call f>{}</call>Hm.", "<call f>{}</call>Hm.", []),
        ({"unknown_tools": "drop"}, "<call f>{}</call>Hm.", "Hm.", []),
    ],
)
def test_calls_that_can_not_be_read_or_made(template, options, output, content, names):
    completion = unjinja.Completion(template, "", tools=[{"name": "g"}], **options)
    completion.feed(output)
    message = completion.finish()[1]["choices"][0]["message"]
    assert message["content"] == content
    assert [call["function"]["name"] for call in message.get("tool_calls", [])] == names


@pytest.mark.parametrize("option", ["on_malformed", "on_unread", "unknown_tools"])
def test_what_becomes_of_calls_is_one_of_few_words(template, option):
    for kind in (unjinja.ResponseParser, unjinja.Completion):
        with pytest.raises(ValueError, match=f"`{option}`: expected"):
            kind(template, "", **{option: "no"})


def test_the_package_is_typed():
    folder = pathlib.Path(unjinja.__file__).parent
    assert (folder / "py.typed").exists()
    assert (folder / "_native.pyi").exists()


@pytest.mark.parametrize(("unfinished", "names", "reason"), [("keep", ["f"], "length"), ("mark", ["f"], "length"), ("drop", [], "length")])
def test_a_call_for_which_there_was_no_room(template, unfinished, names, reason):
    completion = unjinja.Completion(template, "", unfinished=unfinished, on_malformed="event")
    completion.feed('<call f>{"a": "Once upon a ti')
    _, whole = completion.finish(cut_off=True)
    choice = whole["choices"][0]
    calls = choice["message"].get("tool_calls", [])
    assert [call["function"]["name"] for call in calls] == names
    assert choice["finish_reason"] == reason
    assert [call.get("unfinished", False) for call in calls] == [unfinished == "mark"] * len(names)


def test_a_parser_drops_what_is_cut_off(template):
    parser = unjinja.ResponseParser(template, "", unfinished="drop")
    parser.feed('<call f>{"a": "Once upon a ti')
    message, events = parser.finalize()
    assert "tool_calls" not in message
    assert events[-1]["type"] == "region_malformed"
    with pytest.raises(ValueError, match="unfinished"):
        unjinja.ResponseParser(template, "", unfinished="half")
