// The library, in a thread of its own: requests come in, answers go out, one after the other.

/** What the module exports. */
interface Module {
  memory: WebAssembly.Memory;
  request_room(length: number): number;
  file_room(length: number): number;
  answer(): number;
  answer_start(): number;
}

export interface Asked {
  id: number;
  request: object;
  file?: ArrayBuffer;
}

let compiled: WebAssembly.Module | undefined;
let module: Module | undefined;
const scope = self as unknown as DedicatedWorkerGlobalScope;

scope.onmessage = ({ data }: MessageEvent<WebAssembly.Module | Asked>) => {
  if (data instanceof WebAssembly.Module) {
    compiled = data;
    return;
  }
  scope.postMessage({ id: data.id, ...answered(data) });
};

function answered({ request, file }: Asked): object {
  try {
    // After a fault the memory is not to be trusted, so each begins with a new one.
    module ??= new WebAssembly.Instance(compiled!).exports as unknown as Module;
    const text = new TextEncoder().encode(JSON.stringify(request));
    write(module.request_room(text.length), text);
    const bytes = new Uint8Array(file ?? new ArrayBuffer(0));
    write(module.file_room(bytes.length), bytes);
    const length = module.answer();
    const answer = new Uint8Array(module.memory.buffer, module.answer_start(), length);
    return JSON.parse(new TextDecoder().decode(answer));
  } catch (error) {
    module = undefined;
    const why = error instanceof Error ? error.message : String(error);
    return { fault: true, error: `unjinja has failed here: ${why}. It begins anew; please report what was opened` };
  }
}

function write(at: number, bytes: Uint8Array) {
  new Uint8Array(module!.memory.buffer).set(bytes, at);
}
