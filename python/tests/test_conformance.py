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
