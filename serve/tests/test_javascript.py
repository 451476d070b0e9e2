"""The official clients for JavaScript: `JAVASCRIPT_CLIENTS` names the folder that has them in its `node_modules`."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest
from conftest import CALLS, THOUGHT

FOLDER = os.environ.get("JAVASCRIPT_CLIENTS")
HERE = pathlib.Path(__file__).resolve().parent

pytestmark = [
    pytest.mark.skipif(not shutil.which("node"), reason="there is no node"),
    pytest.mark.skipif(not FOLDER, reason="JAVASCRIPT_CLIENTS names no folder"),
]

FOUND = {
    "thought": "Is it 東京? 🌧",
    "text": "Let me see.",
    "calls": [["forecast", {"city": "東京", "days": 2}], ["forecast", {"city": "Ber\ngen"}]],
}
REASONS = {"chat": "tool_calls", "responses": "completed", "messages": "tool_use"}


def run(address, case, **more):
    command = ["node", HERE / "clients.mjs", FOLDER, address, case, json.dumps(more)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.parametrize("stream", ["", "-stream"])
@pytest.mark.parametrize("api", REASONS)
def test_an_answer_is_read_whole_and_streamed(llama_address, engine, api, stream):
    engine.text = THOUGHT + "Let me see." + CALLS
    assert run(llama_address, api + stream) == FOUND | {"reason": REASONS[api]}


@pytest.mark.parametrize("api, choice", [("chat", "required"), ("responses", "required"), ("messages", {"type": "any"})])
def test_a_call_that_is_required_is_held(llama_address, engine, api, choice):
    engine.text = CALLS
    assert len(run(llama_address, api, tool_choice=choice)["calls"]) == 2
    assert "grammar" in engine.asked[-1][2]


@pytest.mark.parametrize("api", ["chat", "messages"])
def test_a_client_that_goes_away_ends_the_request(llama_address, engine, api):
    engine.endless = True
    assert run(llama_address, f"{api}-cancel") == "left"
    assert engine.left.wait(20), "the engine is not left alone"


@pytest.mark.parametrize("api", REASONS)
@pytest.mark.parametrize("status, error", [(400, "BadRequestError"), (429, "RateLimitError"), (500, "InternalServerError")])
def test_errors_are_those_of_the_client(llama_address, engine, api, status, error):
    engine.refusal = (status, json.dumps({"error": {"message": "no"}}))
    found = run(llama_address, api)
    assert (found["error"], found["status"]) == (error, status)
    assert "no" in found["message"]
