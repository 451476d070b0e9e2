/**
 * The streaming parser alone: reads a model's output by a response template.
 *
 * ```js
 * import { ResponseParser } from "unjinja/parser";
 *
 * const parser = new ResponseParser(template, prompt);
 * for await (const event of parser.read(tokens)) {
 *   if (event.type === "region_chunk" && event.field === "content") process.stdout.write(event.text);
 * }
 * console.log(parser.message);
 * ```
 *
 * @module
 */
import { load } from "./library.js";

export type { Json } from "./json.js";
export { UnjinjaError } from "./library.js";
export * from "./reading.js";

await load(new URL("./parser.wasm", import.meta.url));
