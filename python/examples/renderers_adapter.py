"""A renderer for the package `renderers`, of any tokenizer with a chat template.

    from renderers_adapter import TemplateRenderer

    renderer = TemplateRenderer(tokenizer)
    prompt = renderer.render_ids(messages, tools=tools, add_generation_prompt=True)
    parsed = renderer.parse_response(completion, prompt_ids=prompt, tools=tools)
    bridged = renderer.bridge_to_next_turn(prompt, completion, [{"role": "tool", "content": "4.2 m"}], tools=tools)

Those who train turn after turn keep the ids that the model has written. The package has a renderer by hand for each family of
models, and for all others one that renders everything anew. This one works out of the chat template what a renderer by
hand knows: how outputs are read, what ends a turn, and what stands between two turns.
"""

import renderers

import unjinja


class TemplateRenderer:
    """Messages into token ids and back, as the protocol `renderers.Renderer` has it."""

    # Whether a template keeps what it has written depends on more than anybody could try.
    is_prefix_stable = False

    def __init__(self, tokenizer, **options):
        """The options are those of `unjinja.chat_template`, such as `variables`."""
        self.tokenizer = tokenizer
        self.template = unjinja.chat_template(tokenizer, **options)
        derivation = unjinja.derive(self.template, reasoning_field="reasoning_content")
        self.response_template = derivation.template
        self.ends = [end for end in derivation.report["findings"]["turn"]["ends"] if end.strip()]
        self.bridge = unjinja.bridge(self.template, tokenizer=tokenizer)

    def render(self, messages, *, tools=None, add_generation_prompt=False):
        text = self._text(messages, tools, add_generation_prompt)
        ends = [self._text(messages[: number + 1], tools) for number in range(len(messages))]
        ids, indices, places = self._attributed(text, ends)
        sampled = unjinja.mask(self.template, [messages], tools=tools)[0]
        # The mask is that of the conversation without a prompt behind it.
        mask = [bool(one) for one in sampled.tokens(places)] if text.startswith(sampled.text) else []
        return self._rendered(ids, indices, messages, sampled_mask=mask)

    def render_ids(self, messages, *, tools=None, add_generation_prompt=False):
        return self._ids(self._text(messages, tools, add_generation_prompt))

    def parse_response(self, token_ids, *, tools=None, prompt_ids=None):
        message = self._message(token_ids, tools, prompt_ids)
        calls = []
        for call in message.get("tool_calls", []):
            function = call.get("function", call)
            name, arguments = function.get("name"), function.get("arguments")
            calls.append(renderers.ParsedToolCall(raw="", name=name, arguments=arguments, id=call.get("id")))
        return renderers.ParsedResponse(
            content=message.get("content") or "",
            reasoning_content=message.get("reasoning_content"),
            tool_calls=calls,
            # A response template does not tell whether a thought was closed.
            reasoning_complete=None,
        )

    def get_stop_token_ids(self):
        ids = [self._ids(end) for end in self.ends]
        stops = {one[0] for one in ids if len(one) == 1}
        if self.tokenizer.eos_token_id is not None:
            stops.add(self.tokenizer.eos_token_id)
        return sorted(stops)

    def bridge_to_next_turn(self, previous_prompt_ids, previous_completion_ids, new_messages, *, tools=None):
        """The ids so far with those of what comes next behind them; `None` where all is to be rendered anew."""
        # What the model has written is never rendered.
        if not new_messages or any(message.get("role") == "assistant" for message in new_messages):
            return None
        try:
            before = unjinja.read(self.template, self._decoded(previous_prompt_ids))
            said = self._message(previous_completion_ids, tools, previous_prompt_ids)
            conversation = [*before["messages"], said, *new_messages]
            output = self._decoded(previous_completion_ids)
            tools = before["tools"] if tools is None else tools
            text = self.bridge.text(conversation, output, tools=tools)
            counts = range(len(conversation) - len(new_messages) + 1, len(conversation) + 1)
            ends = [
                self.bridge.text(conversation[:count], output, tools=tools, add_generation_prompt=False)
                for count in counts
            ]
        except unjinja.Error:
            return None
        ids, indices, _ = self._attributed(text, ends)
        previous = [*previous_prompt_ids, *previous_completion_ids]
        indices = [-1] * len(previous) + indices
        return self._rendered([*previous, *ids], indices, new_messages, sampled_mask=[False] * len(indices))

    def _message(self, token_ids, tools, prompt_ids):
        """The message of a completion."""
        if prompt_ids:
            prefix = self._decoded(prompt_ids)
        else:
            prefix = self._text([{"role": "user", "content": "Hi"}], tools, True)
        message = unjinja.parse_response(
            self._decoded(token_ids), self.response_template, prefix=prefix, tools=tools
        )
        return {"role": "assistant", "content": "", **message}

    def _text(self, messages, tools, add_generation_prompt=False):
        return unjinja.render(
            self.template, messages, tools=tools, add_generation_prompt=add_generation_prompt
        )

    def _ids(self, text):
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def _decoded(self, ids):
        return self.tokenizer.decode(list(ids), skip_special_tokens=False)

    def _attributed(self, text, ends):
        """The ids of a text, for each the number of the message that it belongs to, and where it stands. `ends` are the
        texts up to the end of each message."""
        encoded = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        places = [tuple(place) for place in encoded["offset_mapping"]]
        ends = [_shared(text, end) for end in ends]
        indices = []
        for start, _ in places:
            numbers = (number for number, end in enumerate(ends) if start < end)
            indices.append(next(numbers, -1))
        return list(encoded["input_ids"]), indices, places

    def _rendered(self, ids, indices, messages, *, sampled_mask):
        return renderers.RenderedTokens(
            token_ids=ids,
            message_indices=indices,
            sampled_mask=sampled_mask,
            message_roles=[message.get("role") or "" for message in messages],
            message_tool_names=renderers.extract_message_tool_names(messages),
        )


def _shared(text, other):
    """How many characters two texts have in common at their beginning."""
    pairs = enumerate(zip(text, other))
    differing = (number for number, (one, another) in pairs if one != another)
    return next(differing, min(len(text), len(other)))
