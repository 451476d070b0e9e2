"""The published suite on how engines read calls, with the adapter of `conformance/`."""

import pathlib
import subprocess
import sys

import pytest

CONFORMANCE = pathlib.Path(__file__).resolve().parents[1] / "conformance"


def test_the_fixtures_of_canitoolcall_pass_but_for_those_that_are_named():
    pytest.importorskip("canitoolcall", reason="canitoolcall is not installed: pip install canitoolcall jsonschema")
    sys.path.insert(0, str(CONFORMANCE))
    import adapter

    if not any(adapter.UnjinjaAdapter().supports("", model) for model in adapter.MODELS):
        pytest.skip(f"the chat templates are not here: none in {adapter.FOLDER}")
    ran = subprocess.run(
        [sys.executable, str(CONFORMANCE / "run.py"), "--fail-on-difference"], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_recorded_tokens_are_known_by_the_vocabulary_in_which_they_are_the_text(monkeypatch):
    sys.path.insert(0, str(CONFORMANCE))
    import vocabularies

    one, other = {1: b"a", 2: b"b"}, {1: b"b", 2: b"a", 3: "é".encode()[:1], 4: "é".encode()[1:], 5: b"<reserved>"}
    monkeypatch.setattr(vocabularies, "_vocabularies", lambda: [one.get, other.get])
    assert vocabularies.pieces([1, 2], "ab", ()) == [b"a", b"b"]
    assert vocabularies.pieces([1, 3, 4], "bé", ()) == [b"b", b"\xc3", b"\xa9"]
    # Markers that have been added to a vocabulary, in the place of another token or behind all.
    assert vocabularies.pieces([5, 2, 9], "<call>a</call>", ("<call>", "</call>")) == [b"<call>", b"a", b"</call>"]
    # The text has to be all that the tokens are.
    assert vocabularies.pieces([1], "ab", ()) is None and vocabularies.pieces([1, 2, 2], "ab", ()) is None
