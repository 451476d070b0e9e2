// The library as WebAssembly: texts go into its memory, and what it makes of them is read from there. `capi/` has the functions, and
// `capi/include/unjinja.h` says what each of them does.

import type { ResponseEvent } from "./reading.js";

/** A place in the library's memory; 0 is none. */
export type Place = number;

interface Exports {
  memory: WebAssembly.Memory;
  unjinja_room(length: number): Place;
  unjinja_room_free(): void;
  unjinja_keeper(): Place;
  unjinja_error_kind(error: Place): number;
  unjinja_error_message(error: Place): Place;
  unjinja_error_free(error: Place): void;
  unjinja_text_start(text: Place): Place;
  unjinja_text_length(text: Place): number;
  unjinja_text_free(text: Place): void;
  unjinja_value_json(value: Place): Place;
  unjinja_template_new(json: Place, length: number, error: Place): Place;
  unjinja_template_warnings(template: Place): Place;
  unjinja_template_free(template: Place): void;
  unjinja_events_new(): Place;
  unjinja_events_start(events: Place): Place;
  unjinja_events_count(events: Place): number;
  unjinja_events_clear(events: Place): void;
  unjinja_events_free(events: Place): void;
  unjinja_parser_new(template: Place, prefix: Place, prefixLength: number, options: Place, optionsLength: number, error: Place): Place;
  unjinja_parser_feed(parser: Place, text: Place, length: number, keeper: Place, events: Place, error: Place): number;
  unjinja_parser_finish(parser: Place, keeper: Place, events: Place, error: Place): Place;
  unjinja_parser_free(parser: Place): void;
  unjinja_completion_new(template: Place, prefix: Place, prefixLength: number, options: Place, optionsLength: number, error: Place): Place;
  unjinja_completion_feed(completion: Place, text: Place, length: number, error: Place): Place;
  unjinja_completion_finish(completion: Place, isCutOff: number, error: Place): Place;
  unjinja_completion_free(completion: Place): void;
  // Not in the parser alone.
  unjinja_chat_template_new?(jinja: Place, jinjaLength: number, options: Place, optionsLength: number, error: Place): Place;
  unjinja_chat_template_free?(template: Place): void;
  unjinja_render?(template: Place, request: Place, length: number, error: Place): Place;
  unjinja_derive?(template: Place, options: Place, length: number, error: Place): Place;
  unjinja_lint?(template: Place, chatTemplate: Place, error: Place): Place;
  unjinja_lint_chat_template?(template: Place, error: Place): Place;
  unjinja_grammar?(template: Place, request: Place, length: number, error: Place): Place;
}

/** What an error is about, in the order of `UnjinjaErrorKind`. */
const KINDS = ["argument", "template", "parse", "load", "render", "derive", "grammar", "internal"] as const;

/** Why something has failed: the message names the place, the cause and what helps. */
export class UnjinjaError extends Error {
  override readonly name = "UnjinjaError";
  /** What a parser has read of a piece, up to the place where it failed. */
  events: ResponseEvent[] = [];

  constructor(
    message: string,
    /**
     * What it is about: `template` is a response template with faults, `parse` an output that can't be read by one, `argument` what a
     * function can't take; of `internal`, please report what was given.
     */
    readonly kind: (typeof KINDS)[number],
  ) {
    super(message);
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Before the texts in the room, the library writes where an error is. */
const ERROR_BYTES = 8;
/** A longer room is given back when it has been used. */
const ROOM_KEPT = 1 << 20;
/** So short texts are written and compared byte by byte, which takes less than to ask the browser. */
const SHORT = 48;

/** One instance of the library, with its memory. */
export class Library {
  readonly exports: Exports;
  /** The function that keeps events. */
  readonly keeper: Place;
  private view!: Uint8Array;
  private words!: Uint32Array;
  private room: Place;
  private roomLength = 4096;
  private hasFailed = false;
  private readonly left: FinalizationRegistry<() => void>;

  constructor(readonly module: WebAssembly.Module) {
    this.exports = new WebAssembly.Instance(module).exports as unknown as Exports;
    this.keeper = this.exports.unjinja_keeper();
    this.room = this.exports.unjinja_room(this.roomLength);
    this.left = new FinalizationRegistry((free) => this.hasFailed || free());
  }

  /** The memory in bytes. It moves when it grows, after which no view of it has any bytes. */
  get bytes(): Uint8Array {
    if (!this.view?.length) this.look();
    return this.view;
  }

  /** The memory in words. */
  get u32(): Uint32Array {
    if (!this.words?.length) this.look();
    return this.words;
  }

  private look() {
    this.view = new Uint8Array(this.exports.memory.buffer);
    this.words = new Uint32Array(this.exports.memory.buffer);
  }

  /** Frees something of the library when `owner` is gone. */
  freeAfter(owner: object, free: () => void) {
    this.left.register(owner, free, owner);
  }

  /** It has been freed, or given away. */
  isFree(owner: object) {
    this.left.unregister(owner);
  }

  /** Frees something before its owner is gone, which nobody uses any more. In a loop without a pause, nothing is ever gone. */
  free(owner: object, free: () => void) {
    this.isFree(owner);
    if (!this.hasFailed) free();
  }

  /** Where the library writes an error to. */
  get error(): Place {
    return this.room;
  }

  /** Where the first text is written to. */
  get text(): Place {
    return this.room + ERROR_BYTES;
  }

  /** Writes a text for the next call, behind `at` bytes of others, for which the room may move. Returns its length in bytes. */
  write(text: string | Uint8Array, at = 0): number {
    const most = at + (typeof text === "string" ? text.length * 3 : text.length) + ERROR_BYTES;
    if (most > this.roomLength) this.grow(most, at);
    const { bytes } = this;
    const start = this.text + at;
    if (typeof text !== "string") {
      bytes.set(text, start);
      return text.length;
    }
    if (text.length <= SHORT) {
      let i = 0;
      for (; i < text.length; i++) {
        const code = text.charCodeAt(i);
        if (code > 127) break;
        bytes[start + i] = code;
      }
      if (i === text.length) return i;
    }
    return encoder.encodeInto(text, bytes.subarray(start)).written;
  }

  private grow(length: number, used: number) {
    const before = this.bytes.slice(this.room, this.text + used);
    this.room = this.exports.unjinja_room(length);
    this.roomLength = length;
    this.bytes.set(before, this.room);
  }

  private shrink() {
    if (this.roomLength <= ROOM_KEPT) return;
    this.exports.unjinja_room_free();
    this.roomLength = 4096;
    this.room = this.exports.unjinja_room(this.roomLength);
  }

  /** Calls functions of the library. After a fault its memory is not to be trusted. */
  call<T>(work: (exports: Exports) => T): T {
    if (this.hasFailed) throw new UnjinjaError("unjinja has failed before, and this was made then: make it anew", "internal");
    try {
      return work(this.exports);
    } catch (fault) {
      if (fault instanceof UnjinjaError) throw fault;
      this.hasFailed = true;
      replace(this);
      throw new UnjinjaError(`unjinja has failed here: ${fault}. Please report what it was given`, "internal");
    } finally {
      this.shrink();
    }
  }

  /** What a function has made; none is an error. */
  made(place: Place): Place {
    if (!place) throw this.failure();
    return place;
  }

  /** The error that has been written. */
  failure(): UnjinjaError {
    const { exports } = this;
    const error = this.u32[this.error >> 2]!;
    const start = exports.unjinja_error_message(error);
    const message = this.decode(start, this.bytes.indexOf(0, start) - start);
    const kind = KINDS[exports.unjinja_error_kind(error) - 1] ?? "internal";
    exports.unjinja_error_free(error);
    return new UnjinjaError(message, kind);
  }

  decode(start: Place, length: number): string {
    return decoder.decode(this.bytes.subarray(start, start + length));
  }

  /** Whether this text stands there: so most texts that come out are the ones that went in. */
  isAt(text: string, start: Place, length: number): boolean {
    if (text.length !== length || length > SHORT) return false;
    const { bytes } = this;
    for (let i = 0; i < length; i++) if (bytes[start + i] !== text.charCodeAt(i)) return false;
    return true;
  }

  /** The text that a function has made, which is freed. */
  take(text: Place): string {
    const { exports } = this;
    this.made(text);
    const taken = this.decode(exports.unjinja_text_start(text), exports.unjinja_text_length(text));
    exports.unjinja_text_free(text);
    return taken;
  }
}

let current: Library | undefined;

/** The library that new things are made with. */
export function library(): Library {
  if (!current) throw new UnjinjaError("unjinja is not loaded yet", "internal");
  return current;
}

/** From now on another instance is used in place of one that has failed. */
function replace(failed: Library) {
  if (current === failed) current = new Library(failed.module);
}

/** Loads the library from a file beside the sources. */
export async function load(url: URL) {
  use(await compile(url));
}

/** New things are made with this module. One that has chat templates, too, is kept. */
export function use(module: WebAssembly.Module) {
  if (!current?.exports.unjinja_derive) current = new Library(module);
}

async function compile(url: URL): Promise<WebAssembly.Module> {
  if (url.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return WebAssembly.compile(await readFile(url));
  }
  const answer = await fetch(url);
  if (!answer.ok) throw new UnjinjaError(`${url}: the server answers ${answer.status}: serve the .wasm files of the package, too`, "load");
  return WebAssembly.compile(await answer.arrayBuffer());
}
