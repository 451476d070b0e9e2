// The official clients for JavaScript. What each has seen is printed as JSON.
//
//     node clients.mjs FOLDER ADDRESS CASE

import { createRequire } from "node:module";
import path from "node:path";

const [folder, address, name] = process.argv.slice(2);
const require = createRequire(path.join(folder, "package.json"));
const { default: OpenAI } = require("openai");
const { default: Anthropic } = require("@anthropic-ai/sdk");

const openai = new OpenAI({ baseURL: `${address}/v1`, apiKey: "key", maxRetries: 0, timeout: 20_000 });
const anthropic = new Anthropic({ baseURL: address, apiKey: "key", maxRetries: 0, timeout: 20_000 });

const parameters = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city"],
};
const chat = {
  model: "small",
  messages: [{ role: "user", content: "Rain?" }],
  tools: [{ type: "function", function: { name: "forecast", parameters } }],
};
const response = { model: "small", input: "Rain?", tools: [{ type: "function", name: "forecast", parameters, strict: false }] };
const message = {
  model: "small",
  max_tokens: 99,
  messages: [{ role: "user", content: "Rain?" }],
  tools: [{ name: "forecast", input_schema: parameters }],
};

// What a message has, whichever interface it has come by: thoughts, text, and calls.
const ofChat = ({ message, finish_reason }) => ({
  thought: message.reasoning_content ?? "",
  text: message.content ?? "",
  calls: (message.tool_calls ?? []).map((call) => [call.function.name, JSON.parse(call.function.arguments)]),
  reason: finish_reason,
});
const ofResponse = ({ output, status }) => ({
  thought: output.filter((item) => item.type === "reasoning").map((item) => item.content[0].text).join(""),
  text: output.filter((item) => item.type === "message").map((item) => item.content[0].text).join(""),
  calls: output.filter((item) => item.type === "function_call").map((item) => [item.name, JSON.parse(item.arguments)]),
  reason: status,
});
const ofMessage = ({ content, stop_reason }) => ({
  thought: content.filter((block) => block.type === "thinking").map((block) => block.thinking).join(""),
  text: content.filter((block) => block.type === "text").map((block) => block.text).join(""),
  calls: content.filter((block) => block.type === "tool_use").map((block) => [block.name, block.input]),
  reason: stop_reason,
});

const cases = {
  chat: async (more) => ofChat((await openai.chat.completions.create({ ...chat, ...more })).choices[0]),
  "chat-stream": async () => {
    // Of fields that it does not know, the client's helper keeps the last delta alone.
    let thought = "";
    const stream = openai.chat.completions.stream(chat);
    for await (const { choices } of stream) thought += choices[0]?.delta.reasoning_content ?? "";
    return { ...ofChat((await stream.finalChatCompletion()).choices[0]), thought };
  },
  responses: async (more) => ofResponse(await openai.responses.create({ ...response, ...more })),
  "responses-stream": async () => ofResponse(await openai.responses.stream(response).finalResponse()),
  messages: async (more) => ofMessage(await anthropic.messages.create({ ...message, ...more })),
  "messages-stream": async () => ofMessage(await anthropic.messages.stream(message).finalMessage()),
  "chat-cancel": async () => {
    for await (const _ of await openai.chat.completions.create({ ...chat, stream: true })) break;
    return "left";
  },
  "messages-cancel": async () => {
    for await (const _ of await anthropic.messages.create({ ...message, stream: true })) break;
    return "left";
  },
};
const more = JSON.parse(process.argv[5] ?? "{}");
try {
  console.log(JSON.stringify(await cases[name](more)));
} catch (error) {
  console.log(JSON.stringify({ error: error.constructor.name, status: error.status, message: error.message }));
}
