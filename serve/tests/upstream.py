"""An engine whose model writes what it is told to: a scripted upstream, which misbehaves if that is wanted."""

import http.server
import json
import threading
import time


def odd(text):
    """Pieces of a text, none of which ends where anything else does."""
    pieces, at, sizes = [], 0, [1, 7, 2, 5, 3, 11]
    while at < len(text):
        size = sizes[at % len(sizes)]
        pieces.append(text[at : at + size])
        at += size
    return pieces


def completions(piece, reason):
    return {"choices": [{"index": 0, "text": piece, "finish_reason": reason}]}


def llama_cpp(piece, reason):
    answer = {"index": 0, "content": piece, "stop": reason is not None, "tokens_evaluated": 3, "tokens_predicted": 5}
    return answer if reason is None else answer | {"stop_type": {"stop": "eos", "length": "limit"}.get(reason, reason)}


def ollama(piece, reason):
    answer = {"model": "small", "response": piece, "done": reason is not None}
    if reason is not None:
        answer |= {"done_reason": reason, "prompt_eval_count": 3, "eval_count": 5}
    return answer


def tgi(piece, reason):
    details = reason and {"finish_reason": reason, "generated_tokens": 5, "input_length": 3}
    return {"token": {"id": 1, "text": piece, "special": False}, "generated_text": None, "details": details}


# For each engine: where it is asked, what its pieces are, whether they are events, and what it tells of itself.
ENGINES = {
    "openai": ("/v1/completions", completions, True, {}),
    "llama.cpp": (
        "/completion",
        llama_cpp,
        True,
        {"/props": {"default_generation_settings": {}, "chat_template": None, "bos_token": "<s>", "eos_token": "</s>"}},
    ),
    "ollama": ("/api/generate", ollama, False, {"/api/version": {"version": "1"}}),
    "tgi": ("/generate_stream", tgi, True, {"/info": {"model_id": "small"}}),
    "sglang": ("/v1/completions", completions, True, {"/get_model_info": {"model_path": "small"}}),
    "vllm": ("/v1/completions", completions, True, {"/v1/models": {"data": [{"owned_by": "vllm"}]}}),
    "llama-cpp-python": ("/v1/completions", completions, True, {"/v1/models": {"data": [{"owned_by": "me"}]}}),
}


class Engine(http.server.ThreadingHTTPServer):
    """What is asked of it is kept in `asked`."""

    daemon_threads = True
    request_queue_size = 2048

    def __init__(self, name="openai", chat_template=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.name = name
        self.chat_template = chat_template
        self.reset()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def reset(self):
        self.text = ""
        self.texts = []  # one for each request, in the place of `text`
        self.finish_reason = "stop"
        self.stop_reason = None
        self.cut_after = None  # so many pieces are sent, and then the connection is closed
        self.refusal = None  # a status and a text in place of an answer
        self.elsewhere = None  # where a refusal sends whoever has asked
        self.raw = None  # bytes in place of an answer's own
        self.endless = False
        self.echo = False  # the last question is the answer
        self.waits = 0  # seconds before each piece
        self.asked = []
        self.left = threading.Event()  # whoever was listening has gone

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        self.close_connection = True

    def do_GET(self):
        told = ENGINES[self.server.name][3].get(self.path)
        if told and "chat_template" in told:
            told = told | {"chat_template": self.server.chat_template or ""}
        if self.path == "/health":
            told = {}
        body = json.dumps(told).encode()
        self.send_response(404 if told is None else 200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        engine = self.server
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        engine.asked.append((self.path, dict(self.headers), asked))
        try:
            self.answer(engine, asked)
        except (BrokenPipeError, ConnectionResetError):
            engine.left.set()

    def answer(self, engine, asked):
        path, piece, is_events, _ = ENGINES[engine.name]
        self.close_connection = True
        if self.path != path:
            engine.refusal = (404, "there is nothing here")
        if engine.refusal:
            status, text = engine.refusal
            self.send_response(status)
            if engine.elsewhere:
                self.send_header("location", engine.elsewhere)
            self.end_headers()
            self.wfile.write(text.encode())
            while engine.endless:
                self.wfile.write(b"x" * 65536)
            return
        self.send_response(200)
        self.send_header("connection", "close")
        self.send_header("content-type", "text/event-stream" if is_events else "application/x-ndjson")
        self.end_headers()
        if engine.raw is not None:
            self.wfile.write(engine.raw)
            return

        def send(value):
            data = json.dumps(value, ensure_ascii=False).encode()
            self.write(b"data: " + data + b"\n\n" if is_events else data + b"\n")

        while engine.endless:
            send(piece("on and on ", None))
        text = engine.texts.pop(0) if engine.texts else engine.text
        if engine.echo:
            text = asked["prompt"].rpartition("<user>")[2].partition("<end>")[0]
        for part in odd(text)[: engine.cut_after]:
            time.sleep(engine.waits)
            send(piece(part, None))
        if engine.cut_after is not None:
            return
        last = piece("", engine.finish_reason)
        if engine.stop_reason and "choices" in last:
            last["choices"][0]["stop_reason"] = engine.stop_reason
        send(last)
        if piece is completions:
            send({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}})
            self.write(b"data: [DONE]\n\n")

    def write(self, data):
        # Characters and lines are cut in two.
        for at in range(0, len(data), 37):
            self.wfile.write(data[at : at + 37])
            self.wfile.flush()
