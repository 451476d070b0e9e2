// What the page of the playground asks of a module that is built for it. The package has neither.

import type { Library } from "./library.js";

interface Page {
  unjinja_answer(request: number, length: number, file: number, fileLength: number, error: number): number;
}

/** The answer to a request, which may be about the bytes of a file. */
export function answer(lib: Library, request: object, file: Uint8Array): unknown {
  const text = lib.call((wasm) => {
    const length = lib.write(JSON.stringify(request));
    const fileLength = lib.write(file, length);
    return lib.take((wasm as unknown as Page).unjinja_answer(lib.text, length, lib.text + length, fileLength, lib.error));
  });
  return JSON.parse(text);
}
