"""The transformers library's own tests of response parsing pass with our parser in place of theirs.

Nothing of them is kept here: they are taken from the source distribution of the version that is installed, where it has any.
"""

import importlib.metadata
import pathlib
import subprocess
import sys
import tarfile
import textwrap

import pytest

# Files of the distribution that test response parsing.
NAMED = ("test_chat_parsing.py", "test_response_parser.py", "test_response_templates.py")

# Puts ours in place of theirs before any test imports it.
STANDS_IN = """
    import transformers.utils.chat_parsing as theirs
    import transformers.utils.chat_parsing.response_parser as parsers

    import unjinja

    profile = "transformers@" + __import__("transformers").__version__


    def read(template):
        return unjinja.ResponseTemplate(template, profile=profile)


    def ResponseParser(response_template, *args, **options):
        return unjinja.ResponseParser(read(response_template), *args, **options)


    def parse_response(text, response_template, *args, **options):
        return unjinja.parse_response(text, read(response_template), *args, **options)


    for module in (theirs, parsers):
        module.ResponseParser = ResponseParser
        module.parse_response = parse_response
"""


def distribution(folder):
    """The source distribution of the installed version; the test is skipped where it can't be had."""
    pytest.importorskip("transformers.utils.chat_parsing", reason="this transformers library has no response parser")
    version = importlib.metadata.version("transformers")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "transformers"]
    command += ["--disable-pip-version-check", "--dest", str(folder), f"transformers=={version}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    archives = sorted(pathlib.Path(folder).glob("transformers-*.tar.gz"))
    if done.returncode or not archives:
        pytest.skip("the source distribution of transformers can't be had")
    return archives[0]


def test_their_tests_pass_with_ours(tmp_path):
    archive = distribution(tmp_path)
    with tarfile.open(archive) as files:
        found = [file for file in files if pathlib.PurePosixPath(file.name).name in NAMED and "/tests/" in file.name]
        if not found:
            pytest.skip(f"{archive.name} has no tests of response parsing")
        files.extractall(tmp_path, members=found, filter="data")
    (tmp_path / "conftest.py").write_text(textwrap.dedent(STANDS_IN), encoding="utf-8")
    tests = [str(tmp_path / file.name) for file in found]
    command = [sys.executable, "-m", "pytest", "--quiet", "--import-mode=importlib", "--rootdir", str(tmp_path)]
    done = subprocess.run([*command, *tests], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
