// Response templates, the parser, and completions.

import { type Json, options as named, read } from "./json.js";
import { library, type Library, type Place, UnjinjaError } from "./library.js";

/** A message: its `role`, its `content`, and what else the template has fields for, such as `thinking` and `tool_calls`. */
export type Message = { [field: string]: Json };

/** A tool as chat templates take it, or as any of the usual interfaces does. */
export type Tool = object;

/** Where a delimiter lies: from and to, in bytes of the text since the anchor, as UTF-8. */
export type Span = [from: number, to: number];

/** Something that happened in the text; the names are those of the transformers library. */
export type ResponseEvent =
  | {
      /** A region has begun: the model begins to think, to answer, or to call a tool. */
      type: "region_open";
      /** The field of the message that it belongs to. */
      field: string;
      span?: Span;
      /** What the named groups of the delimiter's pattern have matched. */
      captures?: { [name: string]: string };
    }
  | {
      /** More text of the region that is open. */
      type: "region_chunk";
      field: string;
      text: string;
      /** Whether the text has yet to be parsed, as JSON has: it is no part of the value as it stands. */
      dirty: boolean;
    }
  | {
      /** A region has ended, and this is its value. */
      type: "region_close";
      field: string;
      value: Json;
      span?: Span;
    }
  | {
      /** A region has ended, and its text can't be parsed. Only with `onMalformed` or `unfinished`. */
      type: "region_malformed";
      field: string;
      raw: string;
      error: string;
      span?: Span;
    };

/** What a parser does beyond the reference. */
export interface ParserOptions {
  /** The tools that the prompt offered: the arguments of calls are typed by their schemas. */
  tools?: Tool[];
  /** `"event"` makes an event of a region that can't be parsed, in place of an error; `"text"` puts its text behind the content as well. */
  onMalformed?: "fail" | "event" | "text";
  /** `"malformed"` takes a call for one that can't be parsed if it holds something that nothing reads. */
  onUnread?: "pass" | "malformed";
  /** What becomes of calls of tools that are not among `tools`: they are kept, given back as text, or dropped. */
  unknownTools?: "keep" | "text" | "drop";
  /** What becomes of a call that the end of the output has cut off: it is kept, kept with the key `unfinished`, or dropped. */
  unfinished?: "keep" | "mark" | "drop";
  /** Whether a thought that nothing closes ends where calls begin in it, if nothing else follows. */
  callsEndThoughts?: boolean;
  /** Whether events say where delimiters lie, and what they have captured. */
  spans?: boolean;
  /** Whether delimiters are ignored inside of the strings of JSON. */
  bodyAwareClose?: boolean;
  /** Whether chunks have no white space that their value does not have: joined, they are the value. */
  strippedChunks?: boolean;
}

/** A response template that has been read: parsers that are given it need not read it again. */
export class ResponseTemplate {
  /** @internal */
  readonly library: Library;
  /** @internal */
  readonly place: Place;

  /**
   * @param template the template, as an object or as JSON; also a tokenizer_config.json that has one
   * @throws {UnjinjaError} that names every fault, if it has any
   */
  constructor(template: object | string) {
    const json = typeof template === "string" ? template : JSON.stringify(template);
    const lib = (this.library = library());
    this.place = lib.call((wasm) => {
      const length = lib.write(json);
      return lib.made(wasm.unjinja_template_new(lib.text, length, lib.error));
    });
    const { place } = this;
    lib.freeAfter(this, () => lib.exports.unjinja_template_free(place));
  }

  /** @internal Frees it, when nothing is made of it any more. */
  free() {
    this.library.free(this, () => this.library.exports.unjinja_template_free(this.place));
  }

  /** What the template holds that has no effect. */
  get warnings(): string[] {
    const lib = this.library;
    return read(lib.call((wasm) => lib.take(wasm.unjinja_template_warnings(this.place)))) as string[];
  }
}

/** A response template, read or not. */
export type Template = ResponseTemplate | object | string;

/** The templates that have been read last, by their JSON: most programs give the same one again and again. */
const recent = new Map<string, ResponseTemplate>();
const KEPT = 16;

/** @internal */
export function templateOf(template: Template): ResponseTemplate {
  if (template instanceof ResponseTemplate) return template;
  const json = typeof template === "string" ? template : JSON.stringify(template);
  let known = recent.get(json);
  // One of another instance is of no use to this one.
  if (known?.library !== library()) {
    known?.free();
    known = new ResponseTemplate(json);
  }
  recent.delete(json);
  recent.set(json, known!);
  if (recent.size > KEPT) {
    // Nobody else has it, and what has been made of it goes on.
    const [oldest, left] = recent.entries().next().value!;
    recent.delete(oldest);
    left.free();
  }
  return known!;
}

/** What reads one output behind a prompt, as a function of the library makes it. */
function begun(make: "unjinja_parser_new" | "unjinja_completion_new", template: Template, prefix: string, options: ParserOptions) {
  const { library: lib, place } = templateOf(template);
  const made = lib.call((wasm) => {
    const prefixLength = lib.write(prefixOf(prefix));
    const optionsLength = lib.write(named(options), prefixLength);
    return lib.made(wasm[make](place, lib.text, prefixLength, lib.text + prefixLength, optionsLength, lib.error));
  });
  return { library: lib, place: made };
}

function prefixOf(prefix: string | undefined): string {
  if (typeof prefix === "string") return prefix;
  throw new UnjinjaError(
    "`prefix` is missing: give the prompt that came before the output, of which templates often write the beginning of the message; " +
      'or "", if the output is all of it',
    "argument",
  );
}

/** Pieces of text: JavaScript may cut them between the halves of a pair. */
class Pieces {
  private half = "";

  /** The piece with what is left of the one before, without what is to be left for the next one. */
  next(piece: string | Uint8Array): string | Uint8Array {
    if (typeof piece !== "string") return piece;
    const last = piece.charCodeAt(piece.length - 1);
    if (!this.half && !(last >= 0xd800 && last < 0xdc00)) return piece;
    let text = this.half + piece;
    this.half = "";
    if (last >= 0xd800 && last < 0xdc00) {
      this.half = text.slice(-1);
      text = text.slice(0, -1);
    }
    return text;
  }

  last(): string {
    return this.half;
  }
}

/** What makes something of pieces of an output, in one of the ways in which these come. */
abstract class Reader<Out> {
  /** What there is before any piece has come. */
  protected abstract first(): Out[];
  /** Reads the next piece of the output: text, or UTF-8 bytes that may be cut anywhere. */
  abstract feed(piece: string | Uint8Array): Out[];
  protected abstract end(): Out[];

  /**
   * Reads pieces as they come, and gives what comes of them. It ends the output when there are no more.
   *
   * @param pieces an array, a generator, a stream of texts or bytes
   */
  async *read(pieces: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>): AsyncGenerator<Out, void, undefined> {
    yield* this.first();
    for await (const piece of pieces) yield* this.feed(piece);
    yield* this.end();
  }

  /** A stream to pipe through: pieces go in, and what comes of them goes out. It ends the output when the pieces end. */
  transform(): TransformStream<string | Uint8Array, Out> {
    const all = (controller: TransformStreamDefaultController<Out>, made: Out[]) => made.forEach((one) => controller.enqueue(one));
    return new TransformStream({
      start: (controller) => all(controller, this.first()),
      transform: (piece, controller) => all(controller, this.feed(piece)),
      flush: (controller) => all(controller, this.end()),
    });
  }
}

/** An event in the memory: the words that its members are, as `UnjinjaEvent` has them. */
const EVENT = { words: 13, field: 2, text: 4, error: 6, value: 8, from: 9, to: 10, captures: 11, captureCount: 12 };
const OPEN = 1;
const CHUNK = 2;
const CLOSE = 3;

/**
 * Reads the output of a model while it is written, event by event.
 *
 * What was fed comes back in pieces that belong to fields, without any delay but that of a text that may become a delimiter.
 * A parser that has failed stays failed.
 */
export class ResponseParser extends Reader<ResponseEvent> {
  /** What the prefix has written into the message: where a prompt opens a thought, its opening. */
  readonly initialEvents: ResponseEvent[];
  private readonly library: Library;
  private readonly events: Place;
  private readonly pieces = new Pieces();
  private place: Place;
  /** The names of fields, by where they stand. */
  private readonly fields = new Map<Place, string>();
  private read_: Message | undefined;

  /**
   * @param template what the output is read by
   * @param prefix the prompt that came before the output; `""` says that the output is the whole message
   */
  constructor(template: Template, prefix: string, options: ParserOptions = {}) {
    super();
    const { library: lib, place } = begun("unjinja_parser_new", template, prefix, options);
    this.library = lib;
    this.place = place;
    this.events = lib.exports.unjinja_events_new();
    const { place: parser, events } = this;
    lib.freeAfter(this, () => {
      lib.exports.unjinja_parser_free(parser);
      lib.exports.unjinja_events_free(events);
    });
    this.initialEvents = this.feed("");
  }

  /** The message, once the output has ended. */
  get message(): Message | undefined {
    return this.read_;
  }

  protected override first() {
    return this.initialEvents;
  }

  protected override end() {
    return this.finalize().events;
  }

  override feed(piece: string | Uint8Array): ResponseEvent[] {
    const lib = this.library;
    this.check();
    const text = this.pieces.next(piece);
    return lib.call((wasm) => {
      const length = lib.write(text);
      const fed = typeof text === "string" ? text : "";
      if (!wasm.unjinja_parser_feed(this.place, lib.text, length, lib.keeper, this.events, lib.error)) this.fail(fed);
      return this.take(fed);
    });
  }

  /** Ends the output: what is still open is closed. Returns the message, and the last events. */
  finalize(): { message: Message; events: ResponseEvent[] } {
    const lib = this.library;
    this.check();
    const half = this.pieces.last();
    const events = half ? this.feed(encoder.encode(half)) : [];
    lib.call((wasm) => {
      const finished = wasm.unjinja_parser_finish(this.place, lib.keeper, this.events, lib.error);
      if (!finished) this.fail("");
      this.read_ = this.value(lib.take(finished)) as Message;
      events.push(...this.take(""));
      lib.isFree(this);
      wasm.unjinja_parser_free(this.place);
      wasm.unjinja_events_free(this.events);
      this.place = 0;
    });
    return { message: this.read_!, events };
  }

  /** Throws the error, with what has happened before it. */
  private fail(fed: string): never {
    const error = this.library.failure();
    error.events = this.take(fed);
    throw error;
  }

  private check() {
    if (!this.place) throw new UnjinjaError("the parser has ended: make a new one", "argument");
  }

  /** The events that have been kept. All of them may well be the text that was fed. */
  private take(fed: string): ResponseEvent[] {
    const lib = this.library;
    const { exports } = lib;
    const count = exports.unjinja_events_count(this.events);
    if (!count) return [];
    const events = new Array<ResponseEvent>(count);
    const start = exports.unjinja_events_start(this.events) >> 2;
    for (let i = 0; i < count; i++) events[i] = this.event(start + i * EVENT.words, fed);
    exports.unjinja_events_clear(this.events);
    return events;
  }

  private event(at: number, fed: string): ResponseEvent {
    const lib = this.library;
    const words = lib.u32;
    const kind = words[at];
    // Three truth values, in a byte each: whether it is dirty, at the end, and has a span.
    const flags = words[at + 1]!;
    const field = this.field(words[at + EVENT.field]!, words[at + EVENT.field + 1]!);
    if (kind === CHUNK) {
      const from = words[at + EVENT.text]!;
      const length = words[at + EVENT.text + 1]!;
      const text = lib.isAt(fed, from, length) ? fed : lib.decode(from, length);
      return { type: "region_chunk", field, text, dirty: (flags & 0xff) !== 0 };
    }
    const hasSpan = (flags & 0xff0000) !== 0;
    const span: { span?: Span } = hasSpan ? { span: [words[at + EVENT.from]!, words[at + EVENT.to]!] } : {};
    if (kind === OPEN) {
      return { type: "region_open", field, ...span, ...(hasSpan && { captures: this.captures(at) }) };
    }
    if (kind === CLOSE) {
      const value = this.value(lib.take(lib.exports.unjinja_value_json(words[at + EVENT.value]!)));
      return { type: "region_close", field, value, ...span };
    }
    return { type: "region_malformed", field, raw: this.slice(at + EVENT.text), error: this.slice(at + EVENT.error), ...span };
  }

  /** A value, or the message, of its JSON. Whoever wants the JSON itself overrides this. */
  protected value(json: string): Json {
    return read(json);
  }

  private field(place: Place, length: number): string {
    let field = this.fields.get(place);
    if (field === undefined) this.fields.set(place, (field = this.library.decode(place, length)));
    return field;
  }

  private slice(at: number): string {
    const words = this.library.u32;
    return this.library.decode(words[at]!, words[at + 1]!);
  }

  private captures(at: number): { [name: string]: string } {
    const words = this.library.u32;
    const first = words[at + EVENT.captures]! >> 2;
    const captures = Array.from({ length: words[at + EVENT.captureCount]! }, (_, i) => [
      this.slice(first + i * 4),
      this.slice(first + i * 4 + 2),
    ]);
    return Object.fromEntries(captures);
  }
}

const encoder = new TextEncoder();

/**
 * Parses a whole output, and returns the message.
 *
 * ```js
 * const message = parseResponse("It rains.<end>", template, { prefix: prompt });
 * ```
 */
export function parseResponse(text: string, template: Template, options: ParserOptions & { prefix: string }): Message {
  const { prefix, ...rest } = options ?? {};
  const parser = new ResponseParser(template, prefixOf(prefix), rest);
  parser.feed(text);
  return parser.finalize().message;
}

/** What a completion says of itself, and how it is read: `onMalformed` is `"text"` unless it is given, and `onUnread` is `"malformed"`. */
export interface CompletionOptions extends Pick<ParserOptions, "tools" | "onMalformed" | "onUnread" | "unknownTools" | "unfinished" | "bodyAwareClose"> {
  /** Its id. Calls to which the model gives no id have it in theirs. */
  id?: string;
  /** The name of the model. */
  model?: string;
  /** When it began, in seconds since 1970. */
  created?: number;
  /** The key of the reasoning, `reasoning_content` unless clients expect another one. */
  reasoning?: string;
}

/** A `chat.completion.chunk`, as clients of servers expect it. */
export interface CompletionChunk {
  id: string;
  object: "chat.completion.chunk";
  created: number;
  model: string;
  choices: { index: 0; delta: { [key: string]: Json }; finish_reason: "stop" | "tool_calls" | "length" | null }[];
}

/** A `chat.completion`. */
export interface ChatCompletion {
  id: string;
  object: "chat.completion";
  created: number;
  model: string;
  choices: { index: 0; message: Message; finish_reason: "stop" | "tool_calls" | "length" }[];
}

/** Turns an output into a chat completion while it is written. What has been sent is never taken back. */
export class Completion extends Reader<CompletionChunk> {
  /** What is to be sent first: the role, and what the prefix has written into the message. */
  readonly initialChunks: CompletionChunk[];
  private readonly library: Library;
  private readonly pieces = new Pieces();
  private place: Place;
  private whole: ChatCompletion | undefined;

  constructor(template: Template, prefix: string, options: CompletionOptions = {}) {
    super();
    const { library: lib, place } = begun("unjinja_completion_new", template, prefix, options);
    this.library = lib;
    this.place = place;
    const { place: completion } = this;
    lib.freeAfter(this, () => lib.exports.unjinja_completion_free(completion));
    this.initialChunks = this.feed("");
  }

  /** The whole, once the output has ended. */
  get completion(): ChatCompletion | undefined {
    return this.whole;
  }

  protected override first() {
    return this.initialChunks;
  }

  protected override end() {
    return this.finish().chunks;
  }

  override feed(piece: string | Uint8Array): CompletionChunk[] {
    const lib = this.library;
    this.check();
    const text = this.pieces.next(piece);
    const lines = lib.call((wasm) => {
      const length = lib.write(text);
      return lib.take(wasm.unjinja_completion_feed(this.place, lib.text, length, lib.error));
    });
    return this.lines(lines) as unknown as CompletionChunk[];
  }

  /** Ends the output. `cutOff` says that the model had no room for more. */
  finish({ cutOff = false } = {}): { chunks: CompletionChunk[]; completion: ChatCompletion } {
    const lib = this.library;
    this.check();
    const half = this.pieces.last();
    const chunks = half ? this.feed(encoder.encode(half)) : [];
    const lines = lib.call((wasm) => lib.take(wasm.unjinja_completion_finish(this.place, Number(cutOff), lib.error)));
    lib.isFree(this);
    lib.exports.unjinja_completion_free(this.place);
    this.place = 0;
    const last = this.lines(lines);
    this.whole = last.pop() as unknown as ChatCompletion;
    return { chunks: [...chunks, ...(last as unknown as CompletionChunk[])], completion: this.whole };
  }

  private lines(lines: string): Json[] {
    return lines ? lines.trimEnd().split("\n").map(read) : [];
  }

  private check() {
    if (!this.place) throw new UnjinjaError("the completion has ended: make a new one", "argument");
  }
}
