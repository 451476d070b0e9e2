// What the package offers beside the library: in which ways pieces come, what is given wrongly, chat templates and tokenizers.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import {
  attach,
  ChatTemplate,
  Completion,
  derive,
  grammar,
  lint,
  lintChatTemplate,
  parseResponse,
  render,
  ResponseParser,
  ResponseTemplate,
  UnjinjaError,
} from "unjinja";

const TEMPLATE = {
  defaults: { role: "assistant" },
  start_anchor: "<bot>",
  fields: {
    thinking: { open: "<think>", close: "</think>" },
    tool_calls: {
      open_pattern: "<call (?P<name>\\w+)>",
      close: "</call>",
      repeats: true,
      content: "json",
      transform: { function: { name: "{name}", arguments: "{content}" } },
    },
    content: { close: "<end>" },
  },
};
const example = (name) => readFile(new URL(`../../examples/${name}`, import.meta.url), "utf8");
const failing = (kind, message) => (error) => error instanceof UnjinjaError && error.kind === kind && message.test(error.message);

test("a thought that the prompt has opened is the first that is heard of, in all ways", async () => {
  const pieces = ["A greet", "ing.</th", "ink>Hel", "lo!<end>"];
  const fed = new ResponseParser(TEMPLATE, "<bot><think>");
  const events = [...fed.initialEvents, ...pieces.flatMap((piece) => fed.feed(piece))];
  const { message, events: last } = fed.finalize();
  events.push(...last);
  assert.deepEqual(events, [
    { type: "region_open", field: "thinking" },
    { type: "region_chunk", field: "thinking", text: "A greet", dirty: false },
    { type: "region_chunk", field: "thinking", text: "ing.", dirty: false },
    { type: "region_close", field: "thinking", value: "A greeting." },
    { type: "region_open", field: "content" },
    { type: "region_chunk", field: "content", text: "Hel", dirty: false },
    { type: "region_chunk", field: "content", text: "lo!", dirty: false },
    { type: "region_close", field: "content", value: "Hello!" },
  ]);
  assert.deepEqual(message, { role: "assistant", thinking: "A greeting.", content: "Hello!" });

  const read = new ResponseParser(TEMPLATE, "<bot><think>");
  assert.deepEqual(await collected(read.read(pieces)), events);
  assert.deepEqual(read.message, message);

  const piped = new ResponseParser(TEMPLATE, "<bot><think>");
  const bytes = ReadableStream.from(pieces).pipeThrough(new TextEncoderStream());
  assert.deepEqual(await collected(bytes.pipeThrough(piped.transform())), events);
  assert.deepEqual(piped.message, message);
});

async function collected(source) {
  const all = [];
  for await (const one of source) all.push(one);
  return all;
}

test("characters are put together, of halves and of bytes", () => {
  for (const [pieces, content] of [
    [["a\ud83d", "\ude00b<end>"], "a😀b"],
    [["\ud83d"], "\ufffd"],
    [["a\ud83d", "b"], "a\ufffdb"],
    [[new Uint8Array([0xf0, 0x9f]), new Uint8Array([0x98, 0x80])], "😀"],
    [["\ufeffé"], "\ufeffé"],
    [["x".repeat(100_000), "é".repeat(2_000_000), "<end>"], "x".repeat(100_000) + "é".repeat(2_000_000)],
  ]) {
    const parser = new ResponseParser(TEMPLATE, "<bot>");
    const texts = pieces.flatMap((piece) => parser.feed(piece)).map((event) => event.text ?? "");
    const { message, events } = parser.finalize();
    texts.push(...events.map((event) => event.text ?? ""));
    assert.equal(message.content, content);
    assert.equal(texts.join(""), content);
  }
});

test("numbers that JSON does not have are read", () => {
  const output = '<call f>{"a": NaN, "b": [-Infinity, 1e3], "c": "NaN: \\"Infinity\\""}</call>';
  const message = parseResponse(output, TEMPLATE, { prefix: "<bot>" });
  const expected = { a: NaN, b: [-Infinity, 1000], c: 'NaN: "Infinity"' };
  assert.deepEqual(message.tool_calls[0].function.arguments, expected);
});

test("what nests as deeply as it may is read, and deeper it is an error", () => {
  const nested = (depth) => `<call f>${"[".repeat(depth)}${"]".repeat(depth)}</call>`;
  assert.ok(parseResponse(nested(990), TEMPLATE, { prefix: "<bot>" }).tool_calls);
  assert.throws(() => parseResponse(nested(100_000), TEMPLATE, { prefix: "<bot>" }), failing("parse", /nested|deep/));
});

test("what is given wrongly is an error that says what helps", () => {
  assert.throws(() => new ResponseTemplate({ start_anchor: "A", fields: { x: { opn: "<" } } }), failing("template", /did you mean `open`\?/));
  assert.throws(() => new ResponseParser(TEMPLATE), failing("argument", /`prefix` is missing/));
  assert.throws(() => parseResponse("", TEMPLATE), failing("argument", /`prefix` is missing/));
  assert.throws(() => new ResponseParser(TEMPLATE, "", { span: true }), failing("argument", /no option `span`/));
  assert.throws(() => new ResponseParser(TEMPLATE, "", { onMalformed: "no" }), failing("argument", /expected one of fail, event/));
  const parser = new ResponseParser(TEMPLATE, "<bot>");
  assert.throws(() => parser.feed("<call f>{</call>"), failing("parse", /tool_calls/));
  assert.throws(() => parser.feed("a"), failing("parse", /failed/));
  const ended = new ResponseParser(TEMPLATE, "");
  ended.finalize();
  assert.throws(() => ended.feed("a"), failing("argument", /has ended/));
  assert.throws(() => ended.finalize(), failing("argument", /has ended/));
  assert.throws(() => derive({}), failing("load", /no chat template/));
});

test("chunks put together are the message", async () => {
  const completion = new Completion(TEMPLATE, "<bot><think>", { id: "chatcmpl-7", model: "small", created: 3 });
  const chunks = await collected(completion.read(["Rain?</think>", '<call weather>{"city": "Ber', 'gen"}</call><end>']));
  assert.ok(chunks.every((chunk) => chunk.object === "chat.completion.chunk" && chunk.id === "chatcmpl-7" && chunk.model === "small"));
  const deltas = chunks.map((chunk) => chunk.choices[0].delta);
  assert.deepEqual(deltas[0], { role: "assistant" });
  assert.deepEqual(deltas[1], { reasoning_content: "Rain?" });
  const texts = deltas.flatMap((delta) => delta.tool_calls ?? []).map((call) => call.function.arguments);
  assert.equal(texts.join(""), '{"city": "Bergen"}');
  assert.equal(chunks.at(-1).choices[0].finish_reason, "tool_calls");
  assert.equal(completion.completion.choices[0].message.tool_calls[0].function.arguments, '{"city": "Bergen"}');
});

test("a chat template is derived, rendered, linted, and made a grammar of", async () => {
  const jinja = await example("chat_template.jinja");
  const { template, isWhole, report } = derive(jinja);
  assert.ok(report.proof.length > 0 && typeof isWhole === "boolean");
  const prompt = render(jinja, [{ role: "user", content: "Hello!" }], { addGenerationPrompt: true });
  assert.equal(prompt, "<|user|>\nHello!<|end|>\n<|assistant|>\n<think>\n");
  const off = { addGenerationPrompt: true, variables: { enable_thinking: false } };
  assert.ok(render(jinja, [{ role: "user", content: "Hello!" }], off).endsWith("</think>\n\n"));
  const output = await example("output.txt");
  const message = parseResponse(output, template, { prefix: await example("prompt.txt"), tools: JSON.parse(await example("tools.json")) });
  assert.deepEqual(message.tool_calls[0].function, { name: "forecast", arguments: { city: "Oslo", days: 2 } });
  assert.ok(Array.isArray(lint(template, jinja)) && Array.isArray(lintChatTemplate(jinja)));
  assert.match(grammar(jinja, { tools: JSON.parse(await example("tools.json")) }).grammar, /^root ::=/m);
  assert.equal(typeof grammar(jinja, { format: "structural-tag" }).grammar, "object");
  assert.throws(() => render("{{ nothing.at_all }}", []), failing("render", /nothing/));
  assert.match(render(new ChatTemplate("{{ strftime_now('%Y') }}", { now: "2031-02-03T04:05:06" }), []), /^2031$/);
});

test("the gallery is derived as the program derives it", async () => {
  const { readdir } = await import("node:fs/promises");
  const names = (await readdir(new URL("../../chat_templates/", import.meta.url))).filter((name) => name.endsWith(".jinja"));
  assert.ok(names.length > 30);
  for (const name of names) {
    const jinja = await readFile(new URL(`../../chat_templates/${name}`, import.meta.url), "utf8");
    const expected = await readFile(new URL(`../../derived/${name.replace(".jinja", ".json")}`, import.meta.url), "utf8");
    assert.equal(JSON.stringify(derive(jinja).template), JSON.stringify(JSON.parse(expected)), name);
  }
});

test("a tokenizer is given what it lacks", async () => {
  const tokenizer = { chat_template: { default: "{{ no }}", tool_use: await example("chat_template.jinja") }, eos_token: "<|end|>" };
  const derivation = attach(tokenizer);
  assert.equal(tokenizer.response_template, derivation.template);
  const message = tokenizer.parse_response(await example("output.txt"), { prefix: await example("prompt.txt") });
  assert.equal(message.thinking, "Two days should be enough to tell.");
  assert.equal(attach(tokenizer), undefined);
  assert.ok(attach(tokenizer, { overwrite: true }));
});

test("after a fault of the library, what is made anew works", () => {
  const template = new ResponseTemplate(TEMPLATE);
  const { library } = template;
  assert.throws(() => library.call(() => { throw new WebAssembly.RuntimeError("unreachable"); }), failing("internal", /unreachable/));
  assert.throws(() => new ResponseParser(template, "<bot>"), failing("internal", /failed before/));
  assert.equal(parseResponse("Hello!", TEMPLATE, { prefix: "<bot>" }).content, "Hello!");
});

test("the page's first program prints what it says", async () => {
  const page = await readFile(new URL("../../docs/javascript.md", import.meta.url), "utf8");
  const program = page.split("```js\n")[1].split("```")[0];
  const printed = execFileSync(process.execPath, ["--input-type=module", "--eval", program], { cwd: new URL("..", import.meta.url) });
  assert.equal(
    printed.toString(),
    "thinking: A greet\nthinking: ing.\ncontent: Hel\ncontent: lo!\n{ thinking: 'A greeting.', content: 'Hello!' }\n",
  );
});

test("the module's memory is as large after many requests as after some, also in a loop without a pause", async () => {
  const { library } = await import("../dist/library.js");
  const jinja = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
  const requests = (count) => {
    for (let at = 0; at < count; at++) {
      const own = `${jinja}{# ${at} ${"x".repeat(4096)} #}`;
      render(own, [{ role: "user", content: "Hi" }]);
      parseResponse("Hello!<end>", { ...TEMPLATE, start_anchor: `<bot ${at}>` }, { prefix: `<bot ${at}>` });
    }
    return library().exports.memory.buffer.byteLength;
  };
  const some = requests(100);
  assert.ok(requests(10_000) <= some + 2 ** 20, `${library().exports.memory.buffer.byteLength} bytes, ${some} before`);
});
