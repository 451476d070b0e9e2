"""SGLang's HTTP layer on a CPU: its application, serving code and template manager, before an engine that writes what a test says."""

import functools
import types

import cases
from fastapi import BackgroundTasks
from sglang.srt.entrypoints.http_server import app
from sglang.srt.entrypoints.openai.serving_chat import OpenAIServingChat
from sglang.srt.parser.response_template import tool_close_token_ids
from sglang.srt.parser.template_manager import TemplateManager
from sglang.srt.runtime_context import get_context

# As `--tool-call-parser response_template --reasoning-parser response_template` sets it for the process.
PARSER = "response_template"
get_context().override_server_args(
    tool_call_parser=PARSER, reasoning_parser=PARSER, grammar_backend="xgrammar", served_model_name="m"
).install()


class Engine:
    """What stands where SGLang has its tokenizer manager: its model writes one output, and ends it with a token, or is cut off."""

    model_path = served_model_name = "m"
    server_args, processor = None, None
    request_logger = types.SimpleNamespace(log_requests=False)
    model_config = types.SimpleNamespace(
        hf_config=types.SimpleNamespace(model_type="llama", architectures=["LlamaForCausalLM"]),
        is_multimodal=False,
        get_default_sampling_params=dict,
    )

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.output = self.stop = self.asked = None

    def config_value(self, name):
        return get_context().config_leaf(name)

    def create_abort_task(self, asked):
        return BackgroundTasks()

    async def generate_request(self, asked, raw_request):
        self.asked = asked
        texts = [text for text, _ in cases.tokens(self.output, 5)] if asked.stream else [self.output]
        reason = {"type": "length", "length": len(texts)}
        if self.stop:
            token = self.tokenizer.token(self.stop)
            reason = {"type": "stop", "matched": token}
            # Of a token that stops, SGLang keeps the text if it closes a call.
            texts.append(self.stop if token in tool_close_token_ids(PARSER, self.tokenizer) else "")
        for at in range(len(texts)) if asked.stream else [len(texts) - 1]:
            meta = {"id": "1", "finish_reason": reason if at == len(texts) - 1 else None}
            yield {"text": "".join(texts[: at + 1]), "meta_info": {**meta, "prompt_tokens": 1, "completion_tokens": at + 1, "weight_version": "1"}}


def served(tokenizer, output, stop):
    """SGLang's application, whose routes serve this model now, and the engine behind it."""
    engine, app.state.openai_serving_chat = _serving(tokenizer)
    engine.output, engine.stop, engine.asked = output, stop, None
    return app, engine


@functools.lru_cache(maxsize=4)
def _serving(tokenizer):
    """A model's engine and serving code, which reads a chat template again and again before it serves."""
    engine, templates = Engine(tokenizer), TemplateManager()
    templates.load_chat_template(engine, None, engine.model_path)
    return engine, OpenAIServingChat(engine, templates)
