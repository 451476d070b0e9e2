"""vLLM's HTTP layer on a CPU: its routes, serving code and renderer of requests, before an engine that writes what a test says."""

import types

import cases
from fastapi import FastAPI
from vllm.entrypoints.openai.chat_completion.api_router import attach_router
from vllm.entrypoints.openai.chat_completion.serving import OpenAIServingChat
from vllm.inputs import tokens_input
from vllm.outputs import CompletionOutput, RequestOutput
from vllm.renderers.online_renderer import OnlineRenderer
from vllm.v1.structured_output.backend_xgrammar import validate_xgrammar_grammar

import unjinja


class Renderer:
    """Renders prompts by the chat template, unless one is given. vLLM's own needs the configuration of a model."""

    def __init__(self, tokenizer, prompt):
        self.tokenizer, self.prompt = tokenizer, prompt

    def get_tokenizer(self):
        return self.tokenizer

    async def render_chat_async(self, conversations, chat_params, tok_params, **options):
        (messages,) = conversations
        tools = (chat_params.chat_template_kwargs or {}).get("tools")
        prompt = self.prompt or unjinja.render(self.tokenizer, messages, tools=tools, add_generation_prompt=True)
        return [messages], [tokens_input([self.tokenizer.token(prompt)])]


class Engine:
    """An engine whose model writes one output, and ends it with a token without text, or is cut off."""

    errored, dead_error, input_processor = False, None, None

    def __init__(self, renderer, model_config, output, stop):
        self.renderer, self.model_config = renderer, model_config
        self.output, self.stop = output, stop
        self.asked = None

    def check_admission(self, count):
        pass

    async def is_tracing_enabled(self):
        return False

    async def generate(self, prompt, sampling_params, request_id, **options):
        if sampling_params.structured_outputs is not None:
            validate_xgrammar_grammar(sampling_params)
        self.asked = sampling_params
        tok = self.renderer.tokenizer
        steps = [(text, [tok.token(piece)]) for text, piece in cases.tokens(self.output, 5)]
        steps.append(("", [tok.token(self.stop)] if self.stop else []))
        if sampling_params.output_kind.name == "FINAL_ONLY":
            steps = [("".join(text for text, _ in steps), [id for _, ids in steps for id in ids])]
        for at, (text, ids) in enumerate(steps):
            is_last = at == len(steps) - 1
            reason = ("stop" if self.stop else "length") if is_last else None
            yield RequestOutput(
                request_id=request_id,
                prompt=None,
                prompt_token_ids=prompt["prompt_token_ids"],
                prompt_logprobs=None,
                outputs=[CompletionOutput(0, text, ids, None, None, finish_reason=reason)],
                finished=is_last,
            )


class Models:
    """The one model that is served."""

    lora_requests = {}

    def model_name(self, lora_request=None):
        return "m"

    def is_base_model(self, name):
        return name == "m"


def served(tokenizer, output, stop, prompt=None, parser="unjinja"):
    """An application with the routes of vLLM, and the engine behind it."""
    model_config = types.SimpleNamespace(
        model="m",
        tokenizer="m",
        hf_config=types.SimpleNamespace(model_type="llama"),
        hf_text_config=types.SimpleNamespace(model_type="llama"),
        max_model_len=100_000,
        multimodal_config=None,
        is_multimodal_model=False,
        is_encoder_decoder=False,
        enable_prompt_embeds=False,
        generation_config="vllm",
        override_generation_config={},
        logits_processors=None,
        get_diff_sampling_param=dict,
    )
    renderer = Renderer(tokenizer, prompt)
    parsers = {"enable_auto_tools": True, "tool_parser": parser, "reasoning_parser": parser}
    texts = {"chat_template": None, "chat_template_content_format": "auto"}
    online = OnlineRenderer(model_config, renderer, request_logger=None, **texts, **parsers)
    engine = Engine(renderer, model_config, output, stop)
    app = FastAPI()
    attach_router(app)
    app.state.openai_serving_chat = OpenAIServingChat(
        engine, Models(), "assistant", online_renderer=online, request_logger=None, **texts, **parsers
    )
    return app, engine
