// All that a link carries. What is shown follows from it.

/** A chat template, as the module gives it. */
export interface ChatTemplate {
  name: string;
  variant: string | null;
  jinja: string;
  bos_token: string | null;
  eos_token: string | null;
  special_tokens: string[];
  added_tokens: string[];
}

/** A text, and what is expected of it. */
export interface Case {
  name: string;
  prefix: string;
  output: string;
  tools: unknown;
  message: object | null;
  error: string | null;
}

/** How a text comes in. */
export interface Chunking {
  how: "token" | "character" | "bytes" | "random" | "whole" | "own";
  bytes: number;
  seed: number;
  /** The places of `own`, in bytes of the output. */
  cuts: number[];
}

export interface Place {
  fed: number;
  events: number;
}

export interface State {
  /** What the page calls what was opened. */
  name: string;
  chat: ChatTemplate | null;
  /** The variables of the chat template, as JSON. */
  variables: string;
  /** The response template, where it is not the one that is derived. */
  template: string | null;
  /** Texts that are not those of the chat template. */
  cases: Case[];
  /** The name of the text that is shown. */
  sample: string | null;
  chunking: Chunking;
  place: Place;
  sheet: string;
  /** A conversation of one's own, and its tools, as JSON. */
  messages: string;
  tools: string;
  language: string;
}

export function empty(): State {
  return {
    name: "",
    chat: null,
    variables: "{}",
    template: null,
    cases: [],
    sample: null,
    chunking: { how: "token", bytes: 8, seed: 0, cuts: [] },
    place: { fed: 0, events: 0 },
    sheet: "template",
    messages: "",
    tools: "",
    language: "gbnf",
  };
}

/** The version of links. Another one is given whenever the members of a state come to mean something else. */
const VERSION = "1";

/** The state as the fragment of a link: the version, a point, and the state as JSON, deflated, in Base64 for addresses. */
export async function toFragment(state: State): Promise<string> {
  const stream = new Blob([JSON.stringify(state)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return `${VERSION}.${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** Why a link can't be opened. */
export class BadLink extends Error {}

/** A link may become this much, so that a small one can't fill the memory. */
const MOST = 64 << 20;

export async function fromFragment(fragment: string): Promise<State> {
  const [, version, data] = /^([0-9]+)\.([A-Za-z0-9_-]*)$/.exec(fragment) ?? [];
  if (version === undefined) throw new BadLink("This link is no state of the playground: it may have been cut off.");
  if (version !== VERSION)
    throw new BadLink(
      `This link was made by version ${version} of the playground's links, and this page reads version ${VERSION}: ` +
        "open it with the page that it was made by, or ask for the files.",
    );
  let given: unknown;
  try {
    const bytes = Uint8Array.from(atob(data.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    given = JSON.parse(await inflated(bytes));
  } catch {
    throw new BadLink("This link is damaged: it may have been cut off when it was copied.");
  }
  if (typeof given !== "object" || given === null) throw new BadLink("This link holds no state of the playground.");
  return filled(given as Record<string, unknown>);
}

async function inflated(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length > MOST) throw new Error("too large");
  }
}

/** Links come from anyone: each member is taken if it is of the type that it has to be, and else left as it is at first. */
function filled(given: Record<string, unknown>): State {
  const state = empty() as unknown as Record<string, unknown>;
  const fits = (value: unknown, model: unknown): boolean =>
    Array.isArray(model) ? Array.isArray(value) : typeof value === typeof model && value !== null;
  for (const key of ["name", "variables", "sheet", "messages", "tools", "language"])
    if (typeof given[key] === "string") state[key] = given[key];
  for (const key of ["template", "sample"]) if (typeof given[key] === "string") state[key] = given[key];
  for (const key of ["chunking", "place"]) {
    const part = given[key];
    if (typeof part !== "object" || part === null) continue;
    const model = state[key] as Record<string, unknown>;
    for (const [name, value] of Object.entries(part)) if (name in model && fits(value, model[name])) model[name] = value;
  }
  const text = (value: unknown) => (typeof value === "string" ? value : null);
  const texts = (value: unknown) => (Array.isArray(value) ? value.filter((item) => typeof item === "string") : []);
  const chat = given.chat as Record<string, unknown> | null | undefined;
  if (chat && typeof chat.jinja === "string")
    state.chat = {
      name: text(chat.name) ?? "chat template",
      variant: text(chat.variant),
      jinja: chat.jinja,
      bos_token: text(chat.bos_token),
      eos_token: text(chat.eos_token),
      special_tokens: texts(chat.special_tokens),
      added_tokens: texts(chat.added_tokens),
    } satisfies ChatTemplate;
  if (Array.isArray(given.cases))
    state.cases = given.cases
      .filter((item) => typeof item?.output === "string" && typeof item?.name === "string")
      .map((item) => ({
        name: item.name,
        prefix: text(item.prefix) ?? "",
        output: item.output,
        tools: item.tools ?? null,
        message: typeof item.message === "object" ? item.message : null,
        error: text(item.error),
      }));
  const { how, cuts } = (state as unknown as State).chunking;
  if (!["token", "character", "bytes", "random", "whole", "own"].includes(how)) (state as unknown as State).chunking.how = "token";
  (state as unknown as State).chunking.cuts = cuts.filter((cut) => Number.isSafeInteger(cut) && cut >= 0);
  return state as unknown as State;
}
