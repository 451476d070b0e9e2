/**
 * Reads a language model's raw output back into a structured message, and works out how from the model's chat template.
 *
 * ```js
 * import { derive, render, ResponseParser } from "unjinja";
 *
 * const { template } = derive(tokenizer);
 * const prompt = render(tokenizer, messages, { addGenerationPrompt: true });
 * const parser = new ResponseParser(template, prompt);
 * for await (const event of parser.read(tokens)) console.log(event);
 * console.log(parser.message);
 * ```
 *
 * Programs that need no more than the parser import `unjinja/parser`, which is a quarter of the size.
 *
 * @module
 */
import { load } from "./library.js";

export * from "./chat.js";
export type { Json } from "./json.js";
export { UnjinjaError } from "./library.js";
export * from "./reading.js";

await load(new URL("./unjinja.wasm", import.meta.url));
