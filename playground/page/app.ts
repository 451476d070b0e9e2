// What the page knows, and what happens when something changes. Views draw; they change nothing but through here.

import { Engine, Refused, Stopped } from "./engine";
import { type Case, type ChatTemplate, type State, empty } from "./state";

export interface ProofRow {
  name: string;
  prefix: string;
  output: string;
  message: object;
  recovery: { kind: string; lost?: string[]; difference?: string; other?: object };
}

/** What was worked out of a chat template. */
export interface Derived {
  template: string;
  is_whole: boolean;
  recovered: number;
  missing_tokens: string[];
  proof: ProofRow[];
  refused: { name: string; why: string }[];
  damage: { damage: string; recovered: number; lost: number; total: number }[];
  drafts: number;
  statements: { subject: string; certainty: string; text: string }[];
  /** The renderings that show the findings; they are asked for when the rest is there. */
  evidence?: { subject: string; without: Rendering; with: Rendering }[];
  cases: Case[];
}

interface Rendering {
  conversation: string;
  rendering: string;
}

/** What is wrong with the response template, at its place in units of UTF-16. */
export interface Fault {
  level: "error" | "warning" | "note";
  code?: string;
  name?: string;
  message: string;
  remedy?: string | null;
  pointer: string;
  from: number;
  to: number;
}

/** What is wrong with the chat template, and the conversation that shows it. */
export interface Flaw extends Fault {
  line: number;
  shown?: { messages: unknown; text: string | null; marked: [number, number] | null };
}

/** What came of a fault that was to be mended. */
export interface Outcome {
  fault: string;
  verdict: "absent" | "mended" | "left";
  conversations: number;
  changes?: { line: number; before: string; after: string }[];
  line?: number | null;
  why?: string;
}

interface Opened {
  kind: string;
  chat_templates: ChatTemplate[];
  response_template: string | null;
  cases: Case[];
  fixture: string | null;
}

/** Whether a text is read as expected: nobody has tried it yet, or nothing is expected, or what is wrong. */
export type Verdict = "untried" | "unexpected" | "right" | string[];

/** What has changed, so that views know what to draw anew. */
export type Change = "format" | "evidence" | "flaws" | "template" | "samples" | "sample" | "place" | "sheet";

/** This much of a GGUF file is read at first; more, if its head is longer. */
const FIRST_HEAD = 4 << 20;
const LONGEST_HEAD = 512 << 20;
/** Other files may be this large. */
const LARGEST = 64 << 20;
/** So long after the last key the template is read, in milliseconds. */
const PATIENCE = 120;

export class App {
  state: State = empty();
  derived: Derived | null = null;
  /** Why there is nothing derived. */
  underivable: string | null = null;
  /** The response template in use: the last one that loads. */
  good: string | null = null;
  /** What stands in the editor. */
  text = "";
  faults: Fault[] = [];
  /** Why the chat template could not be asked about it. */
  unchecked: string | null = null;
  /** What is wrong with the chat template; nothing while that is being found out. */
  flaws: Flaw[] | null = null;
  /** Why that could not be found out. */
  unlinted: string | null = null;
  verdicts = new Map<string, Verdict>();
  /** For work that takes a while, so that replaying never waits for it. */
  readonly thinker: Engine;
  readonly replayer: Engine;

  private listeners: ((change: Change) => void)[] = [];
  /** Counts what was opened, and what was to be checked, so that late answers are known as such. */
  private turn = 0;
  private opening = 0;
  private checking = 0;
  private timer = 0;
  private trying = 0;
  private isExample = false;

  constructor(
    onBusy: (busy: boolean) => void,
    /** Says something to the person; `true` if it is bad news. */
    readonly say: (text: string, bad?: boolean) => void,
  ) {
    this.thinker = new Engine(onBusy);
    this.replayer = new Engine(onBusy);
  }

  listen(listener: (change: Change) => void) {
    this.listeners.push(listener);
  }

  changed(change: Change) {
    for (const listener of this.listeners) listener(change);
  }

  /** The texts that can be replayed: those of the chat template, and then those that were brought. */
  get samples(): Case[] {
    return [...(this.derived?.cases ?? []), ...this.state.cases];
  }

  get sample(): Case | null {
    const samples = this.samples;
    return samples.find(({ name }) => name === this.state.sample) ?? samples[0] ?? null;
  }

  /** What all requests about the chat template have in common. */
  about(): object {
    let variables: unknown = {};
    try {
      variables = JSON.parse(this.state.variables || "{}");
    } catch {
      // The field says so itself.
    }
    const now = new Date();
    const local = new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
    return { chat_template: this.state.chat, variables, now: local };
  }

  /** Shows a state, whatever was shown before; an example gives way to whatever is opened. */
  async show(state: State, isExample = false) {
    this.isExample = isExample;
    this.opening++;
    const turn = ++this.turn;
    this.state = state;
    this.derived = null;
    this.flaws = null;
    this.unlinted = null;
    this.underivable = null;
    this.good = null;
    this.faults = [];
    this.verdicts.clear();
    this.text = state.template ?? "";
    this.changed("format");
    if (state.chat) await this.derive(turn);
    if (turn !== this.turn) return;
    this.text = state.template ?? (this.derived as Derived | null)?.template ?? "";
    this.changed("format");
    await this.check();
    await this.showEvidence(turn);
    await this.lint(turn);
  }

  private async derive(turn: number) {
    try {
      const derived = await this.thinker.ask<Derived>({ do: "derive", ...this.about() });
      if (turn === this.turn) this.derived = derived;
    } catch (error) {
      if (turn !== this.turn) return;
      this.underivable = reason(error);
      this.say(`No response template was derived: ${this.underivable}`, true);
    }
  }

  private async showEvidence(turn: number) {
    const { derived } = this;
    if (!derived) return;
    try {
      derived.evidence = await this.thinker.ask({ do: "evidence", ...this.about() });
      if (turn === this.turn) this.changed("evidence");
    } catch (error) {
      if (turn === this.turn) this.say(reason(error), true);
    }
  }

  private async lint(turn: number) {
    if (!this.state.chat || turn !== this.turn) return;
    // It was stopped before it began.
    if (this.unlinted !== null) return this.changed("flaws");
    try {
      const flaws = await this.thinker.ask<Flaw[]>({ do: "lint", ...this.about() });
      if (turn !== this.turn) return;
      this.flaws = flaws;
    } catch (error) {
      if (turn !== this.turn) return;
      this.unlinted = reason(error);
    }
    this.changed("flaws");
  }

  /** Mends faults of the chat template, which takes the place of the one that was shown. */
  async mend(faults: string[]): Promise<Outcome[]> {
    const turn = this.turn;
    const { jinja, outcomes } = await this.thinker.ask<{ jinja: string; outcomes: Outcome[] }>({ do: "mend", ...this.about(), faults });
    const { chat } = this.state;
    if (turn === this.turn && chat && chat.jinja !== jinja) {
      this.state.chat = { ...chat, jinja };
      void this.rederive();
    }
    return outcomes;
  }

  /** Someone has changed the chat template, its tokens or its variables. */
  async rederive() {
    const turn = ++this.turn;
    const own = this.state.template;
    this.derived = null;
    this.flaws = null;
    this.unlinted = null;
    this.underivable = null;
    if (this.state.chat) await this.derive(turn);
    if (turn !== this.turn) return;
    this.text = own ?? (this.derived as Derived | null)?.template ?? "";
    this.changed("format");
    await this.check();
    await this.showEvidence(turn);
    await this.lint(turn);
  }

  /** Someone types in the editor. */
  edit(text: string) {
    if (text === this.text) return;
    this.text = text;
    this.state.template = text === this.derived?.template || text === "" ? null : text;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.check(), PATIENCE);
  }

  /** Takes the derived template again. */
  async revert() {
    this.state.template = null;
    this.text = this.derived?.template ?? "";
    this.changed("format");
    await this.check();
  }

  private async check() {
    const checking = ++this.checking;
    if (!this.text.trim()) {
      this.faults = [];
      this.unchecked = null;
      this.good = null;
      this.changed("template");
      this.changed("samples");
      this.changed("sample");
      return;
    }
    try {
      const request = { do: "check", template: this.text, ...this.about() };
      const { loads, faults, remark } = await this.thinker.ask<{ loads: boolean; faults: Fault[]; remark: string | null }>(request);
      if (checking !== this.checking) return;
      this.faults = faults;
      this.unchecked = remark;
      if (loads) this.good = this.text;
    } catch (error) {
      if (checking !== this.checking) return;
      this.faults = [{ level: "error", message: `it could not be checked: ${reason(error)}`, pointer: "", from: 0, to: 0 }];
      this.unchecked = null;
    }
    this.changed("template");
    if (this.faults.some(({ level }) => level === "error") && this.good !== this.text) return;
    this.changed("samples");
    this.changed("sample");
    await this.tryAll();
  }

  /** Tries every text in all the ways in which it may be cut. */
  async tryAll() {
    const trying = ++this.trying;
    const template = this.good;
    this.verdicts.clear();
    this.changed("samples");
    if (!template) return;
    for (const sample of this.samples) {
      let verdict: Verdict = "unexpected";
      try {
        if (sample.message || sample.error) {
          const request = { do: "try", template, case: sample };
          const { failures } = await this.thinker.ask<{ failures: string[] }>(request);
          verdict = failures.length ? failures : "right";
        }
      } catch (error) {
        if (error instanceof Stopped) return;
        verdict = [reason(error)];
      }
      if (trying !== this.trying) return;
      this.verdicts.set(sample.name, verdict);
      this.changed("samples");
    }
  }

  select(name: string) {
    this.state.sample = name;
    this.state.place = { fed: 0, events: 0 };
    this.state.chunking.cuts = [];
    this.changed("samples");
    this.changed("sample");
  }

  /** A text of one's own; it is shown at once. */
  bring(sample: Case) {
    const names = new Set(this.samples.map(({ name }) => name));
    let name = sample.name;
    for (let number = 2; names.has(name); number++) name = `${sample.name} (${number})`;
    this.state.cases.push({ ...sample, name });
    this.select(name);
    void this.tryAll();
  }

  /** From now on a message is expected of the text that is shown; of a rendered one, a copy is made. */
  expect(message: object) {
    const sample = this.sample;
    if (!sample) return;
    const own = this.state.cases.find(({ name }) => name === sample.name);
    if (!own) return this.bring({ ...sample, message, error: null });
    own.message = message;
    own.error = null;
    this.changed("sample");
    void this.tryAll();
  }

  go(sheet: string) {
    this.state.sheet = sheet;
    this.changed("sheet");
  }

  /** Opens a file by its content, unless something else was opened by the time it has been read. */
  async open(file: File) {
    const opening = ++this.opening;
    this.say(`Opening ${file.name}…`);
    let opened: Opened;
    try {
      opened = await this.read(file);
    } catch (error) {
      if (opening === this.opening) this.say(reason(error), true);
      return;
    }
    if (opening === this.opening) await this.take(file.name, opened);
  }

  private async read(file: File): Promise<Opened> {
    const magic = new TextDecoder().decode(await file.slice(0, 4).arrayBuffer());
    if (magic !== "GGUF") {
      if (file.size > LARGEST) throw new Refused(`${file.name}: it is larger than ${LARGEST >> 20} MiB`);
      return this.thinker.ask({ do: "open", name: file.name }, await file.arrayBuffer());
    }
    for (let length = FIRST_HEAD; ; length *= 4) {
      const head = await file.slice(0, length).arrayBuffer();
      try {
        return await this.thinker.ask({ do: "open", name: file.name, length: file.size }, head);
      } catch (error) {
        if (!(error instanceof Refused) || error.message !== "more" || length >= LONGEST_HEAD) throw error;
      }
    }
  }

  /** What was opened takes the place of what it is: a response template goes with the chat template that is there. */
  private async take(name: string, opened: Opened) {
    const [chat = null] = opened.chat_templates;
    const state = empty();
    state.name = name;
    if (chat) {
      state.chat = chat;
      state.template = opened.response_template;
    } else {
      // What holds no chat template is about the one that is shown, unless that is an example.
      const known = this.isExample ? null : this.state.chat;
      state.chat = known;
      state.name = known ? `${this.state.name} + ${name}` : name;
      if (known) state.variables = this.state.variables;
      state.template = opened.response_template;
      state.cases = opened.cases;
      state.sample = opened.cases[0]?.name ?? null;
    }
    const others = opened.chat_templates.length - 1;
    this.say(
      others > 0
        ? `${name}: ${chat!.variant ?? "the first"} of ${others + 1} chat templates was taken.`
        : `${name}: a ${opened.kind === "gguf" ? "GGUF file, of which only the head was read" : opened.kind}.`,
    );
    await this.show(state);
  }

  /** Stops whatever takes too long, and what would have come next. */
  stop() {
    if (!this.flaws) this.unlinted = "it was stopped";
    this.thinker.stop("it was stopped");
    this.replayer.stop("it was stopped");
  }
}

export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
