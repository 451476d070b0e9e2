// The module without a page.

import { readFileSync } from "node:fs";

/** The root of the repository. */
export const root = new URL("../../", import.meta.url);

/** Loads the module that was built, and gives a function that asks it. */
export function load() {
  const bytes = readFileSync(new URL("../page/module.wasm", import.meta.url));
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes));
  const write = (at, bytes) => new Uint8Array(exports.memory.buffer).set(bytes, at);
  return (request, file = new Uint8Array()) => {
    const text = new TextEncoder().encode(JSON.stringify(request));
    write(exports.request_room(text.length), text);
    write(exports.file_room(file.length), file);
    const length = exports.answer();
    const answer = new Uint8Array(exports.memory.buffer, exports.answer_start(), length);
    return JSON.parse(new TextDecoder().decode(answer));
  };
}
