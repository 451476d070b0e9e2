"""What Python expects of any library: Ctrl-C is heard, a text is no list, and what is read once can be pickled."""

import concurrent.futures
import multiprocessing
import os
import pickle
import signal
import threading
import time

import pytest

import unjinja

# Trying response templates on what this one writes takes as long as it may: five seconds.
LONG = (
    "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ '[' * 900 }}"
    "{{ c.function | tojson }}{{ ']' * 900 }}{% endfor %}{% endfor %}"
)

TEMPLATE = {"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}}


@pytest.mark.skipif(os.name == "nt", reason="a process can't send this to itself there")
def test_an_interruption_is_heard():
    # Whoever starts the tests in the background may have it ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    interruption = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])
    begun = time.monotonic()
    interruption.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            unjinja.derive(LONG)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begun < 3


@pytest.mark.parametrize(
    "call",
    [
        lambda jinja, text: unjinja.derive(jinja, outputs=text),
        lambda jinja, text: unjinja.parse_response(text, TEMPLATE, prefix="<bot>", tools=text),
        lambda jinja, text: unjinja.render(jinja, text),
        lambda jinja, text: unjinja.render(jinja, [], tools=text),
    ],
)
def test_a_text_is_no_list_of_its_characters(call, jinja):
    with pytest.raises(TypeError, match="expected a list, found str"):
        call(jinja, "x" * 10_000_000)


def test_templates_can_be_pickled(template, jinja):
    older = unjinja.ResponseTemplate(template, profile="transformers@5.20")
    assert older.language != unjinja.ResponseTemplate(template).language
    restored = pickle.loads(pickle.dumps(older))
    assert (restored, restored.language) == (older, older.language)

    options = {"bos_token": "<s>", "now": "2026-01-15T12:00:00", "variables": {"x": [1, {"y": None}]}}
    chat_template = unjinja.chat_template(jinja + "{{ x }}{{ strftime_now('%d') }}{{ bos_token }}", **options)
    messages = [{"role": "user", "content": "Hello"}]
    restored = pickle.loads(pickle.dumps(chat_template))
    assert pickle.dumps(restored) == pickle.dumps(chat_template)
    assert unjinja.render(restored, messages) == unjinja.render(chat_template, messages)


def answer_of(given):
    template, output = given
    return unjinja.parse_response(output, template, prefix="<bot>")["content"]


def test_other_processes_take_templates():
    template = unjinja.ResponseTemplate(TEMPLATE)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        assert list(pool.map(answer_of, [(template, "Yes.<end>")])) == ["Yes."]
