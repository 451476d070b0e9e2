"""What docs/serve.md says is so."""

import re
import subprocess

import pytest
from conftest import PROGRAM, ROOT
from upstream import ENGINES

PAGE = (ROOT / "docs" / "serve.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def help():
    return subprocess.run([PROGRAM, "serve", "--help"], capture_output=True, text=True).stdout


def test_the_options_are_those_that_there_are(help):
    # What concerns the chat template is the same for all commands.
    shared = {"--help", "--variant", "--offline", "--bos-token", "--eos-token", "--now", "--var"}
    own = set(re.findall(r"^ {2,6}(?:-\w, )?(--[\w-]+)", help, re.M)) - shared
    of_others = {"--outputs", "--jsonl", "--path", "--features", "--body-aware-close"}
    assert set(re.findall(r"--[a-z][\w-]+", PAGE)) - of_others == own


def test_the_engines_are_those_that_there_are(help):
    rows = re.findall(r"^\| `([\w.-]+)` \| `(/[^`]+)`", PAGE, re.M)
    listed = re.search(r"--engine <NAME>.*?Possible values:\n(.*?)\n\n", help, re.S)[1]
    assert [name for name, _ in rows] == re.findall(r"^ +- ([\w.-]+):", listed, re.M)
    for name, path in rows:
        assert ENGINES.get(name, ENGINES["openai"])[0] == path
