// The library, in a thread of its own: requests come in, answers go out, one after the other.

import { library, use } from "../../npm/dist/library.js";
import { answer } from "../../npm/dist/page.js";

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
    return { ok: answer(library(), request, new Uint8Array(file ?? new ArrayBuffer(0))) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
