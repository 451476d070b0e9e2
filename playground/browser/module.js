// The module without a page.

import { readFileSync } from "node:fs";

import { Library } from "../../npm/dist/library.js";
import { answer } from "../../npm/dist/page.js";

/** The root of the repository. */
export const root = new URL("../../", import.meta.url);

/** Loads the module that was built, and gives a function that asks it. */
export function load() {
  const lib = new Library(new WebAssembly.Module(readFileSync(new URL("../page/module.wasm", import.meta.url))));
  return (request, file = new Uint8Array()) => answer(lib, request, file);
}
