// Chat templates, and what is worked out of them.

import { type Json, options as named, read } from "./json.js";
import { library, type Library, type Place, UnjinjaError } from "./library.js";
import { type Message, type ParserOptions, parseResponse, type Template, templateOf, type Tool } from "./reading.js";

/** What comes with a chat template. */
export interface ChatTemplateOptions {
  /** What errors call it. */
  name?: string;
  /** The token that begins a prompt. */
  bosToken?: string;
  /** The token that ends a turn. */
  eosToken?: string;
  /** All special tokens. */
  specialTokens?: string[];
  /** What the template takes for the current time, as `2026-01-15T12:00:00`; the clock's, if it is not set. */
  now?: string;
  /** Further variables of the template. */
  variables?: { [name: string]: Json };
}

/** A tokenizer, as that of transformers.js is one: whatever has a chat template. */
export interface Tokenizer {
  chat_template?: unknown;
  bos_token?: unknown;
  eos_token?: unknown;
  all_special_tokens?: unknown;
  config?: unknown;
  response_template?: unknown;
}

/** Where a chat template is: its Jinja text, a tokenizer that has one, or one that has been made of these. */
export type Source = string | Tokenizer | ChatTemplate;

const token = (given: unknown): string | undefined => {
  if (typeof given === "string") return given;
  const content = (given as { content?: unknown } | null | undefined)?.content;
  return typeof content === "string" ? content : undefined;
};

/** A chat template with its tokens, and with what all of its renderings have in common. */
export class ChatTemplate {
  /** @internal */
  readonly library: Library;
  /** @internal */
  readonly place: Place;
  /** The Jinja text. */
  readonly jinja: string;

  constructor(source: Source, options: ChatTemplateOptions = {}) {
    const lib = (this.library = library());
    if (source instanceof ChatTemplate) throw new UnjinjaError("this is a ChatTemplate already", "argument");
    const tokenizer: Tokenizer = typeof source === "string" ? {} : source;
    const config = (tokenizer.config ?? {}) as Tokenizer;
    this.jinja = typeof source === "string" ? source : jinjaOf(source);
    const special = tokenizer.all_special_tokens;
    const known = {
      bosToken: token(tokenizer.bos_token) ?? token(config.bos_token),
      eosToken: token(tokenizer.eos_token) ?? token(config.eos_token),
      specialTokens: Array.isArray(special) ? special.filter((text) => typeof text === "string") : undefined,
      // The library has no clock of its own here.
      now: new Date().toISOString().slice(0, 19),
    };
    const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
    const { variables, ...rest } = { ...known, ...given } as ChatTemplateOptions;
    // The names of variables are the template's.
    const all = JSON.stringify({ ...JSON.parse(named(rest)), variables });
    this.place = lib.call((wasm) => {
      const length = lib.write(this.jinja);
      const optionsLength = lib.write(all, length);
      if (!wasm.unjinja_chat_template_new) throw new UnjinjaError("only the parser is loaded: import `unjinja`", "load");
      return lib.made(wasm.unjinja_chat_template_new(lib.text, length, lib.text + length, optionsLength, lib.error));
    });
    const { place } = this;
    lib.freeAfter(this, () => lib.exports.unjinja_chat_template_free!(place));
  }

  /** @internal Frees it, when nobody uses it any more. */
  free() {
    this.library.free(this, () => this.library.exports.unjinja_chat_template_free!(this.place));
  }

  /** @internal Gives JSON to one of the functions that take a chat template. */
  ask(what: "unjinja_render" | "unjinja_derive" | "unjinja_grammar", request: string): string {
    const lib = this.library;
    return lib.call((wasm) => {
      const length = lib.write(request);
      return lib.take(wasm[what]!(this.place, lib.text, length, lib.error));
    });
  }
}

/** The chat template of a tokenizer; of several the one for tools, as transformers.js has it. */
function jinjaOf(tokenizer: Tokenizer): string {
  let given = tokenizer.chat_template;
  if (Array.isArray(given)) given = Object.fromEntries(given.map(({ name, template }) => [name, template]));
  if (given && typeof given === "object") {
    const variants = given as { [name: string]: unknown };
    given = variants["tool_use"] ?? variants["default"];
  }
  if (typeof given === "string") return given;
  throw new UnjinjaError("there is no chat template: give its Jinja text, or a tokenizer whose `chat_template` is set", "load");
}

/** The chat template that somewhere is. */
export function chatTemplate(source: Source, options: ChatTemplateOptions = {}): ChatTemplate {
  return source instanceof ChatTemplate ? source : new ChatTemplate(source, options);
}

/** Uses the chat template that somewhere is. One that is made for that is freed at once. */
function using<T>(source: Source, use: (template: ChatTemplate) => T): T {
  const template = chatTemplate(source);
  try {
    return use(template);
  } finally {
    if (template !== source) template.free();
  }
}

/** How a response template is derived. */
export interface DeriveOptions {
  /** The field for reasoning, `thinking` if it is not set. */
  reasoningField?: string;
  /** Whether calls keep their ids. */
  ids?: boolean;
  /** Whether values that are written raw are read as JSON where they are JSON. */
  guessTypes?: boolean;
  /** What the model has written: evidence of what the chat template does not show. */
  outputs?: (string | { output: string; prefix?: string; message?: Message; tools?: Tool[] })[];
  /** Those who have to take the template, as `"transformers@5.24"` or `"vllm"`. */
  profiles?: string[];
}

/** A response template, and how it was found. */
export interface Derivation {
  /** The response template, as parsers take it. */
  template: { [key: string]: Json };
  /** Whether all that the chat template writes is recovered, and no token is missing. */
  isWhole: boolean;
  /** What is known of it: `findings`, `proof`, `refused`, `damage`, `outputs`, `missing_tokens`. */
  report: { [key: string]: Json };
}

/**
 * Works out the response template of a chat template, and proves it. It takes some milliseconds, so keep the result.
 *
 * ```js
 * const { template } = derive(tokenizer);
 * ```
 */
export function derive(source: Source, options: DeriveOptions = {}): Derivation {
  const report = read(using(source, (chat) => chat.ask("unjinja_derive", named(options)))) as { [key: string]: Json };
  const { response_template, ...rest } = report;
  return { template: response_template as Derivation["template"], isWhole: report["is_whole"] === true, report: rest };
}

/**
 * Derives the response template of a tokenizer, and sets it as its `response_template`. A tokenizer without `parse_response` is given
 * that, too: it parses an output by the template.
 *
 * ```js
 * attach(tokenizer);
 * const message = tokenizer.parse_response(output, { prefix: prompt });
 * ```
 *
 * @returns the derivation; nothing, if the tokenizer had a response template, which it keeps unless `overwrite` is set
 */
export function attach<T extends Tokenizer>(
  tokenizer: T,
  { overwrite = false, ...options }: DeriveOptions & { overwrite?: boolean } = {},
): Derivation | undefined {
  const given = tokenizer as Tokenizer & { parse_response?: unknown };
  const known = given.response_template ?? null;
  const derivation = known === null || overwrite ? derive(tokenizer, options) : undefined;
  if (derivation) given.response_template = derivation.template;
  given.parse_response ??= (text: string, how: ParserOptions & { prefix: string }) =>
    parseResponse(text, given.response_template as object, how);
  return derivation;
}

/** What else a conversation is rendered with. */
export interface RenderOptions {
  tools?: Tool[];
  /** Whether the prompt is to end with the beginning of the assistant's turn. */
  addGenerationPrompt?: boolean;
  /** Further variables of the template, as `{ enable_thinking: false }`. */
  variables?: { [name: string]: Json };
}

/** Renders a conversation: the prompt. */
export function render(source: Source, messages: object[], options: RenderOptions = {}): string {
  const { tools, addGenerationPrompt, variables } = options;
  const request = { messages, tools, add_generation_prompt: addGenerationPrompt, variables };
  return using(source, (chat) => chat.ask("unjinja_render", JSON.stringify(request)));
}

/** Something that will hurt, with its place and what helps. */
export interface Complaint {
  lint: string;
  code: string;
  level: string;
  message: string;
  [key: string]: Json;
}

/** What will hurt about a response template, though it is valid; with the chat template that it belongs to, more of it is found. */
export function lint(template: Template, source?: Source): Complaint[] {
  const { library: lib, place } = templateOf(template);
  const lint = (chat?: ChatTemplate) => lib.call((wasm) => lib.take(wasm.unjinja_lint!(place, chat?.place ?? 0, lib.error)));
  return read(source === undefined ? lint() : using(source, lint)) as Json as Complaint[];
}

/** What is wrong with a chat template. */
export function lintChatTemplate(source: Source): Complaint[] {
  const lint = ({ library: lib, place }: ChatTemplate) => lib.call((wasm) => lib.take(wasm.unjinja_lint_chat_template!(place, lib.error)));
  return read(using(source, lint)) as Json as Complaint[];
}

/** What a grammar is to allow, and how it is written. */
export interface GrammarOptions {
  tools?: Tool[];
  format?: "gbnf" | "lark" | "structural-tag" | "regex";
  /** Whether a tool may, has to, or may not be called; or which one has to. */
  toolChoice?: "auto" | "required" | "none" | (string & {});
  reasoning?: "auto" | "on" | "off";
  /** Whether there may be several calls. */
  parallel?: boolean;
  /** The prompt. */
  prefix?: string;
}

/** A grammar of what the model may write: a text, or an object for a structural tag. */
export function grammar(source: Source, options: GrammarOptions = {}): { grammar: Json; warnings: string[] } {
  return read(using(source, (chat) => chat.ask("unjinja_grammar", named(options)))) as { grammar: Json; warnings: string[] };
}
