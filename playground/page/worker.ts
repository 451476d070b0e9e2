// The library, in a thread of its own: requests come in, answers go out, one after the other.

import { library, use } from "../../npm/dist/library.js";

export interface Asked {
  id: number;
  request: object;
  file?: ArrayBuffer;
}

const scope = self as unknown as DedicatedWorkerGlobalScope;

scope.onmessage = ({ data }: MessageEvent<WebAssembly.Module | Asked>) => {
  if (data instanceof WebAssembly.Module) use(data);
  else scope.postMessage({ id: data.id, ...answered(data) });
};

function answered({ request, file }: Asked): object {
  try {
    return { ok: answer(request, new Uint8Array(file ?? new ArrayBuffer(0))) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

function answer(request: object, file: Uint8Array): unknown {
  const lib = library();
  const text = lib.call((wasm) => {
    const length = lib.write(JSON.stringify(request));
    const fileLength = lib.write(file, length);
    return lib.take(wasm.unjinja_answer!(lib.text, length, lib.text + length, fileLength, lib.error));
  });
  return JSON.parse(text);
}
