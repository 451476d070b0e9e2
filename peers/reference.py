"""Times the reference implementation on one message: reads a request, prints seconds a chunk and seconds whole."""

import json
import sys
import time

from transformers.utils.chat_parsing import ResponseParser, parse_response
from transformers.utils.chat_parsing.response_templates import load_response_template

request = json.load(sys.stdin)
template, prefix = load_response_template(request["template"]), request["prefix"]


def least(runs, run):
    """The least time of several runs, without that of the first, which compiles what is then kept."""
    run()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def stream():
    parser = ResponseParser(template, prefix)
    for chunk in request["chunks"]:
        parser.feed(chunk)
    parser.finalize()


streamed = least(3, stream) / len(request["chunks"])
whole = least(10, lambda: parse_response(request["whole"], template, prefix=prefix))
json.dump([streamed, whole], sys.stdout)
