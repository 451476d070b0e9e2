// Asks the library, which runs in a worker. What takes too long is stopped, and the worker begins anew.

import moduleUrl from "./module.wasm?url";

let compiling: Promise<WebAssembly.Module> | undefined;

/** The module is fetched and compiled once, whatever becomes of the workers; and again if that has failed. */
function compiled(): Promise<WebAssembly.Module> {
  compiling ??= WebAssembly.compileStreaming(fetch(moduleUrl)).catch((error) => {
    compiling = undefined;
    throw error;
  });
  return compiling;
}

/** Why there is no answer. */
export class Refused extends Error {}
/** It was stopped, by someone or because it took too long. */
export class Stopped extends Refused {}

/** So long it may take, if nobody stops it before. */
const LONGEST = 20_000;

interface Pending {
  resolve(answer: never): void;
  reject(error: Error): void;
  timer: number;
}

export class Engine {
  private worker: Promise<Worker> | undefined;
  private pending = new Map<number, Pending>();
  private next = 0;

  /** `onBusy` hears when there is something to wait for, and when there isn't. */
  constructor(private readonly onBusy: (busy: boolean) => void = () => {}) {}

  /** Asks for something; `file` is handed over. */
  async ask<T>(request: object, file?: ArrayBuffer): Promise<T> {
    this.worker ??= this.start();
    const starting = this.worker;
    const worker = await starting.catch((error) => {
      // The next request starts another one.
      if (this.worker === starting) this.worker = undefined;
      throw error;
    });
    // It may have been stopped while it was started.
    if (this.worker !== starting) throw new Stopped("it was stopped");
    const id = this.next++;
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => this.stop(`it took longer than ${LONGEST / 1000} seconds, and was stopped`), LONGEST);
      this.pending.set(id, { resolve, reject, timer } as Pending);
      if (this.pending.size === 1) this.onBusy(true);
      worker.postMessage({ id, request, file }, file ? [file] : []);
    });
  }

  private async start(): Promise<Worker> {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }) => this.take(data);
    worker.onerror = (event) => this.stop(`the worker has failed: ${event.message}`);
    try {
      worker.postMessage(await compiled());
    } catch (error) {
      worker.terminate();
      throw error;
    }
    return worker;
  }

  private take({ id, ok, error }: { id: number; ok?: never; error?: string }) {
    const pending = this.pending.get(id);
    if (!pending) return;
    this.pending.delete(id);
    clearTimeout(pending.timer);
    if (!this.pending.size) this.onBusy(false);
    if (error === undefined) pending.resolve(ok as never);
    else pending.reject(new Refused(error));
  }

  /** Stops whatever is under way. The next request goes to a new worker. */
  stop(why: string) {
    const worker = this.worker;
    this.worker = undefined;
    // One that never started has nothing to end.
    worker?.then(
      (worker) => worker.terminate(),
      () => {},
    );
    const pending = [...this.pending.values()];
    this.pending.clear();
    if (pending.length) this.onBusy(false);
    for (const { reject, timer } of pending) {
      clearTimeout(timer);
      reject(new Stopped(why));
    }
  }
}
