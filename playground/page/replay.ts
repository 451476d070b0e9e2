// A text on its way through the parser: its regions, events, what is held back and why, and the message as it grows.

import { type App, type Verdict, reason } from "./app";
import { bytes, download, el, oneLine, put, replace, visible } from "./dom";
import { Refused } from "./engine";
import type { Chunking, Place } from "./state";

interface Overview {
  chunks: number;
  bytes: number;
  output: number;
  fields: string[];
}

interface ReadOn {
  more: boolean;
  read: number;
  stripes?: (number | null)[];
  last?: Place;
  fails?: boolean;
}

interface Shown {
  parts?: true;
  text?: string;
  other?: string;
  type?: string;
  left?: number;
}

interface Look extends Place {
  looked: number;
  is_end: boolean;
  text: { from: number; to: number; pieces: Piece[] };
  events_shown: EventRow[];
  why: Why;
  message: { depth: number; label: string; mark: string; actual: Shown | null; expected: Shown | null }[];
  error?: string;
  whole?: string;
}

interface Piece {
  at: number;
  kind: "open" | "body" | "close" | "skipped" | "unread";
  state: "read" | "held" | "to come" | "prefilled";
  text: string;
  field?: number;
}

interface EventRow {
  kind: "open" | "chunk" | "close" | "malformed";
  field: number;
  index: number;
  chunk: number;
  count: number;
  text: string;
}

interface Why {
  last?: { field: number; kind: string; text: string; at: number; captures: { name: string; text: string }[] };
  next?: string | null;
  held?: { at: number; bytes: number; text: string };
  watch?: { field: string; opens: boolean; is_pattern: boolean; spellings: string[]; has: string | null; lacks: string | null }[];
  left?: number;
  waits?: { field: number; bytes: number; chunks: number }[];
}

const SIGNS = { open: "▸", chunk: "│", close: "◂", malformed: "×" };
const MARKS: Record<string, string> = { same: "", other: "≠", extra: "+", missing: "-", "to come": "·" };
const MARK_WORDS: Record<string, string> = {
  same: "as expected",
  other: "not what was expected",
  extra: "not expected",
  missing: "missing",
  "to come": "yet to come",
};
/** So many bytes are read before keys are looked at again. */
const BUDGET = 1 << 18;
/** How long a step takes when it plays, in milliseconds. */
const TEMPO = 80;

/** The keys of the workbench, as far as they make sense here: what each does, and how. */
export interface Key {
  keys: string[];
  does: string;
  act(): void;
}

export class ReplayView {
  readonly keys: Key[];
  private overview: Overview = { chunks: 0, bytes: 0, output: 0, fields: [] };
  private looked: Look | null = null;
  private turn = 0;
  private playing = 0;
  private announcing = 0;
  private isReading = false;
  /** Whether someone wants to be at the end, which has yet to be read. */
  private wantsEnd = false;
  /** The step that waits for its turn: of many keys in a row, the last counts. */
  private waiting: { step: string; by?: number } | null = null;
  private isLooking = false;

  private readonly samples = el("select", { id: "samples", onchange: () => this.app.select(this.samples.value) });
  private readonly verdict = el("p", { class: "verdict" });
  private readonly slider = el("input", { type: "range", min: 0, id: "slider", "aria-label": "Chunks fed", oninput: () => this.go("chunk", Number(this.slider.value)) });
  private readonly stripes = el("div", { class: "stripes", "aria-hidden": "true" });
  private readonly place = el("output", { class: "place", for: "slider" });
  private readonly how = el("select", { id: "chunking", onchange: () => this.cut({ how: this.how.value as Chunking["how"] }) });
  private readonly length = el("input", { type: "number", min: 1, max: 4096, id: "chunk-bytes", onchange: () => this.cut({ bytes: Math.max(1, Math.floor(Number(this.length.value)) || 1) }) });
  private readonly lengthLabel = el("label", { for: "chunk-bytes" }, "bytes ", this.length);
  private readonly otherSeed = el("button", { type: "button", onclick: () => this.cut({ seed: this.app.state.chunking.seed + 1 }) }, "Other pieces");
  private readonly ownCuts = el("input", { id: "own-cuts", inputmode: "numeric", onchange: () => this.cut({ cuts: numbers(this.ownCuts.value) }) });
  private readonly ownLabel = el("label", { for: "own-cuts" }, "cuts, in bytes of the output ", this.ownCuts);
  private readonly text = el("pre", { class: "text", tabindex: 0, "aria-label": "Text, with its regions", onclick: (event: MouseEvent) => this.click(event) });
  private readonly legend = el("ul", { class: "legend", "aria-label": "Fields" });
  private readonly why = el("dl", { class: "why" });
  private readonly events = el("ol", { class: "events", tabindex: 0, "aria-label": "Events" });
  private readonly message = el("table", { class: "message" });
  private readonly outcome = el("p", { class: "outcome", "aria-live": "polite" });
  private readonly play = el("button", { type: "button", id: "play", title: "Space" }, "Play");
  private readonly announced = el("p", { class: "unseen", role: "status" });

  constructor(
    private readonly app: App,
    room: HTMLElement,
  ) {
    const go = (step: string) => () => this.go(step);
    this.keys = [
      { keys: ["ArrowRight"], does: "one chunk on", act: go("next chunk") },
      { keys: ["ArrowLeft"], does: "one chunk back", act: go("previous chunk") },
      { keys: ["."], does: "one event on", act: go("next event") },
      { keys: [","], does: "one event back", act: go("previous event") },
      { keys: ["]"], does: "to where the next region opens", act: go("next region") },
      { keys: ["["], does: "to where the region before opens", act: go("previous region") },
      { keys: ["Home"], does: "to the start", act: go("first") },
      { keys: ["End"], does: "to the end", act: go("last") },
      { keys: ["d"], does: "to the first difference from what was expected", act: go("difference") },
      { keys: [" "], does: "play, and stop playing", act: () => this.toggle() },
      { keys: ["c"], does: "cut the text in another way", act: () => this.nextCut(1) },
      { keys: ["C"], does: "the same, backwards", act: () => this.nextCut(-1) },
      { keys: ["}"], does: "the next text", act: () => this.nextSample(1) },
      { keys: ["{"], does: "the text before", act: () => this.nextSample(-1) },
      { keys: ["x"], does: "the next text that is not read as expected", act: () => this.nextFailing(1) },
      { keys: ["X"], does: "the one before", act: () => this.nextFailing(-1) },
      { keys: ["t"], does: "a text of your own", act: () => this.openOwn() },
      { keys: ["a"], does: "expect what comes out", act: () => void this.accept() },
    ];
    this.play.onclick = () => this.toggle();
    for (const [value, words] of CHUNKINGS) put(this.how, el("option", { value }, words));
    put(room, ...this.laidOut());
    document.addEventListener("keydown", (event) => this.key(event));
    app.listen((change) => {
      if (change === "samples" || change === "format") this.listSamples();
      if (change === "sample") void this.begin();
    });
  }

  private laidOut(): HTMLElement[] {
    const step = (label: string, name: string, step: string, key: string) =>
      el("button", { type: "button", title: `${name} (${key})`, "aria-label": name, onclick: () => this.go(step) }, label);
    return [
      el("h2", { class: "unseen" }, "Replay"),
      el(
        "div",
        { class: "bar" },
        el("label", { for: "samples" }, "Text "),
        this.samples,
        el("button", { type: "button", id: "own-button", onclick: () => this.openOwn() }, "Your own…"),
        el("button", { type: "button", id: "expect-button", onclick: () => void this.accept() }, "Expect what comes out"),
        el("button", { type: "button", id: "fixture-button", onclick: () => void this.saveFixture() }, "Save as a fixture"),
      ),
      this.verdict,
      this.own,
      el("div", { class: "track" }, this.stripes, this.slider),
      el(
        "div",
        { class: "bar steps", role: "group", "aria-label": "Steps" },
        step("⇤", "Start", "first", "Home"),
        step("[", "Region before", "previous region", "["),
        step("‹", "Event before", "previous event", ","),
        step("←", "Chunk before", "previous chunk", "←"),
        this.play,
        step("→", "Next chunk", "next chunk", "→"),
        step("›", "Next event", "next event", "."),
        step("]", "Next region", "next region", "]"),
        step("⇥", "End", "last", "End"),
        this.place,
      ),
      el("div", { class: "bar" }, el("label", { for: "chunking" }, "Cut "), this.how, this.lengthLabel, this.otherSeed, this.ownLabel),
      el("div", { class: "pane" }, el("h3", {}, "Text"), this.legend, this.text),
      el("div", { class: "pane" }, el("h3", {}, "Message"), this.outcome, el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Message" }, this.message)),
      el("div", { class: "pane" }, el("h3", {}, "Why"), this.why),
      el("div", { class: "pane" }, el("h3", {}, "Events"), this.events),
      this.announced,
    ];
  }

  // A text of one's own.

  private readonly ownOutput = el("textarea", { id: "own-output", rows: 5, spellcheck: "false" });
  private readonly ownPrefix = el("textarea", { id: "own-prefix", rows: 2, spellcheck: "false" });
  private readonly ownTools = el("textarea", { id: "own-tools", rows: 2, spellcheck: "false" });
  private readonly own: HTMLFormElement = el(
    "form",
    { class: "own", hidden: true, onsubmit: (event: Event) => this.bringOwn(event) },
    el("label", { for: "own-output" }, "What the model writes"),
    this.ownOutput,
    el("label", { for: "own-prefix" }, "The prompt before it, if there is one"),
    this.ownPrefix,
    el("label", { for: "own-tools" }, "Its tools, as a JSON list"),
    this.ownTools,
    el("div", { class: "bar" }, el("button", { type: "submit" }, "Replay it"), el("button", { type: "button", onclick: () => this.closeOwn() }, "Close")),
  );

  openOwn() {
    const sample = this.app.sample;
    this.own.hidden = false;
    if (!this.ownOutput.value && sample) {
      this.ownPrefix.value = sample.prefix;
      this.ownTools.value = sample.tools ? JSON.stringify(sample.tools) : "";
    }
    this.ownOutput.focus();
  }

  private closeOwn() {
    this.own.hidden = true;
    this.text.focus();
  }

  private bringOwn(event: Event) {
    event.preventDefault();
    let tools: unknown = null;
    try {
      tools = this.ownTools.value.trim() ? JSON.parse(this.ownTools.value) : null;
    } catch (error) {
      return this.app.say(`The tools are no JSON: ${reason(error)}`, true);
    }
    this.app.bring({ name: "typed", prefix: this.ownPrefix.value, output: this.ownOutput.value, tools, message: null, error: null });
    this.closeOwn();
  }

  private async accept() {
    try {
      const { message } = await this.app.replayer.ask<{ message: object }>({ do: "outcome" });
      this.app.expect(message);
      this.app.say("This message is expected from now on.");
    } catch (error) {
      this.app.say(reason(error), true);
    }
  }

  private async saveFixture() {
    const { sample, good } = this.app;
    if (!sample || !good) return this.app.say("There is nothing to save yet.", true);
    try {
      const { text } = await this.app.thinker.ask<{ text: string }>({ do: "fixture", template: good, case: sample });
      download(`${sample.name.replaceAll(/[^\w.-]+/g, "-")}.fixture.yaml`, text);
    } catch (error) {
      this.app.say(reason(error), true);
    }
  }

  // Samples.

  private listSamples() {
    const { samples, sample } = this.app;
    const options = samples.map(({ name }) => {
      const verdict = this.app.verdicts.get(name) ?? "untried";
      return el("option", { value: name, selected: name === sample?.name }, `${sign(verdict)} ${name}`);
    });
    replace(this.samples, ...options);
    this.samples.disabled = !samples.length;
    const verdict = (sample && this.app.verdicts.get(sample.name)) ?? "untried";
    replace(this.verdict, ...(sample ? [words(verdict)] : []));
    this.verdict.classList.toggle("bad", Array.isArray(verdict));
  }

  private nextSample(by: number) {
    const { samples, sample } = this.app;
    const next = samples[samples.findIndex(({ name }) => name === sample?.name) + by];
    if (next) this.app.select(next.name);
  }

  private nextFailing(by: number) {
    const { samples, sample, verdicts } = this.app;
    const from = samples.findIndex(({ name }) => name === sample?.name);
    const ahead = by > 0 ? samples.slice(from + 1) : samples.slice(0, Math.max(from, 0)).reverse();
    const next = ahead.find(({ name }) => Array.isArray(verdicts.get(name)));
    if (next) this.app.select(next.name);
    else this.app.say("No other text there is read otherwise than expected.");
  }

  // Chunks.

  private cut(change: Partial<Chunking>) {
    // The place in the text stays the same.
    const looked = this.looked?.looked;
    Object.assign(this.app.state.chunking, change);
    void this.begin(looked);
  }

  private nextCut(by: number) {
    const kinds = CHUNKINGS.map(([value]) => value);
    const next = kinds.at((kinds.indexOf(this.app.state.chunking.how) + by) % kinds.length)!;
    this.cut({ how: next });
  }

  private showCuts() {
    const { how, bytes, cuts } = this.app.state.chunking;
    this.how.value = how;
    this.length.value = String(bytes);
    this.lengthLabel.hidden = how !== "bytes" && how !== "random";
    this.otherSeed.hidden = how !== "random";
    this.ownLabel.hidden = how !== "own";
    this.ownCuts.value = cuts.join(", ");
    this.text.classList.toggle("cutting", how === "own");
  }

  /** Goes to where someone has clicked; or cuts there, or not any more. */
  private click(event: MouseEvent) {
    if (!this.looked || getSelection()?.isCollapsed === false) return;
    const at = byteAt(event);
    if (at === null) return;
    if (this.app.state.chunking.how !== "own") return this.go("byte", at);
    const cut = at - this.overview.output;
    if (cut <= 0) return;
    const cuts = new Set(this.app.state.chunking.cuts);
    if (!cuts.delete(cut)) cuts.add(cut);
    this.cut({ cuts: [...cuts].sort((a, b) => a - b) });
  }

  // Reading and looking.

  /** Begins to replay the text that is shown, at the place of the state or at a byte. */
  private async begin(byte?: number) {
    const turn = ++this.turn;
    this.showCuts();
    const { sample, good, state } = this.app;
    if (!sample || !good) {
      this.looked = null;
      this.clear(good ? "There is no text yet: bring one of your own." : "");
      return;
    }
    this.isReading = true;
    this.wantsEnd = false;
    try {
      const chunking = state.chunking;
      const request = { do: "replay", template: good, case: sample, chunking: chunking.how, bytes: chunking.bytes, seed: chunking.seed, cuts: chunking.cuts };
      const overview = await this.app.replayer.ask<Overview>(request);
      if (turn !== this.turn) return;
      this.overview = overview;
      this.slider.max = String(overview.chunks + 1);
      this.drawLegend();
      const place = state.place;
      const isStart = byte === undefined && place.fed === 0;
      if (isStart) this.go("first");
      for (let more = true; more; ) {
        const read = await this.app.replayer.ask<ReadOn>({ do: "read", budget: BUDGET });
        if (turn !== this.turn) return;
        more = read.more;
        if (read.stripes) this.drawStripes(read.stripes);
      }
      this.isReading = false;
      if (this.wantsEnd) this.go("last");
      else if (byte !== undefined) this.go("fed", byte);
      else if (!isStart) this.go("stay", undefined, place);
      else this.go("stay");
    } catch (error) {
      if (turn !== this.turn) return;
      this.isReading = false;
      this.looked = null;
      this.clear(reason(error));
    }
  }

  private clear(why: string) {
    this.overview = { chunks: 0, bytes: 0, output: 0, fields: [] };
    for (const element of [this.text, this.why, this.events, this.message, this.legend, this.stripes]) replace(element);
    this.place.textContent = "";
    this.outcome.textContent = why;
  }

  /** Goes to a place, as soon as what is under way is done. */
  go(step: string, by?: number, from?: Place) {
    if (from) this.app.state.place = from;
    this.waiting = { step, by };
    this.wantsEnd = this.isReading && step === "last";
    if (!this.isLooking) void this.look();
  }

  private async look() {
    this.isLooking = true;
    try {
      while (this.waiting) {
        const { step, by } = this.waiting;
        this.waiting = null;
        const sample = this.app.sample;
        if (!sample || !this.app.good) break;
        const turn = this.turn;
        const look = await this.app.replayer.ask<Look>({ do: "look", step, by, ...this.app.state.place });
        if (turn !== this.turn) continue;
        this.looked = look;
        this.app.state.place = { fed: look.fed, events: look.events };
        this.draw(look);
      }
    } catch (error) {
      if (error instanceof Refused) this.app.say(reason(error), true);
      else throw error;
    } finally {
      this.isLooking = false;
    }
  }

  private toggle() {
    if (this.playing) {
      clearInterval(this.playing);
      this.playing = 0;
    } else if (this.looked) {
      if (this.looked.is_end) this.go("first");
      this.playing = setInterval(() => {
        if (this.looked?.is_end && this.looked.fed > 0 && !this.isLooking) this.toggle();
        else this.go("next chunk");
      }, TEMPO);
    }
    this.play.textContent = this.playing ? "Stop" : "Play";
  }

  private key(event: KeyboardEvent) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) return;
    const target = event.target as HTMLElement;
    // Where keys mean something already, they go on to mean that.
    if (target.closest("input:not([type=range]), textarea, select, .cm-editor, [role=tablist]")) return;
    if (event.key === " " && target.closest("button, a, summary")) return;
    const key = this.keys.find(({ keys }) => keys.includes(event.key));
    if (!key) return;
    event.preventDefault();
    key.act();
  }

  // Drawing.

  private drawLegend() {
    const items = this.overview.fields.map((field, number) => el("li", { class: colour(number) }, field));
    replace(this.legend, ...items);
  }

  private drawStripes(stripes: (number | null)[]) {
    replace(this.stripes, ...stripes.map((field) => el("i", { class: field === null ? "" : colour(field) })));
  }

  private draw(look: Look) {
    this.slider.value = String(look.is_end && !this.isReading ? this.overview.chunks + 1 : look.fed);
    const fed = Math.min(look.fed, this.overview.chunks);
    const place = `chunk ${fed} of ${this.overview.chunks}, byte ${look.looked} of ${this.overview.bytes}${look.is_end ? ", at the end" : ""}`;
    this.place.textContent = place;
    this.slider.setAttribute("aria-valuetext", place);
    this.announce(place, look);
    this.drawText(look);
    this.drawEvents(look.events_shown);
    this.drawWhy(look);
    this.drawMessage(look);
  }

  /** Tells those who listen where they are, when they have come to rest. */
  private announce(place: string, { why }: Look) {
    clearTimeout(this.announcing);
    this.announcing = setTimeout(() => {
      const last = why.last ? `, ${this.overview.fields[why.last.field] ?? ""} ${why.last.kind}` : "";
      const held = why.held?.bytes ? `, held back: ${why.held.text}` : "";
      this.announced.textContent = place + last + held;
    }, 400);
  }

  private drawText({ text, looked }: Look) {
    const nodes: Node[] = [];
    const cuts = new Set(this.app.state.chunking.how === "own" ? this.app.state.chunking.cuts : []);
    const caret = el("span", { class: "caret", "aria-hidden": "true" });
    let hasCaret = false;
    if (text.from > 0) nodes.push(el("span", { class: "left-out" }, `… ${text.from} bytes before\n`));
    for (const piece of text.pieces) {
      if (!hasCaret && piece.at >= looked) {
        nodes.push(caret);
        hasCaret = true;
      }
      const field = piece.field === undefined ? "" : colour(piece.field);
      const name = piece.field === undefined ? "" : this.overview.fields[piece.field];
      const title = piece.kind === "body" ? name : piece.kind === "skipped" ? "belongs to no field" : name && `${piece.kind}s ${name}`;
      const state = piece.state.replace(" ", "-");
      // A cut stands between two stretches.
      let rest = piece.text;
      let at = piece.at;
      const inside = [...cuts].map((cut) => cut + this.overview.output).filter((cut) => cut > at && cut < at + bytes(rest)).sort((a, b) => a - b);
      for (const cut of [...inside, Infinity]) {
        const [head, tail] = cut === Infinity ? [rest, ""] : splitAt(rest, cut - at);
        nodes.push(el("span", { class: `piece ${piece.kind} ${state} ${field}`, title: title || false }, ...visible(head, at)));
        if (cut !== Infinity) nodes.push(el("span", { class: "cut", title: "a cut of yours" }));
        at += bytes(head);
        rest = tail;
      }
      if (cuts.has(piece.at + bytes(piece.text) - this.overview.output)) nodes.push(el("span", { class: "cut", title: "a cut of yours" }));
    }
    if (!hasCaret) nodes.push(caret);
    const behind = this.overview.bytes - text.to;
    if (behind > 0) nodes.push(el("span", { class: "left-out" }, `\n… ${behind} bytes behind`));
    replace(this.text, ...nodes);
    // Only the pane scrolls, never the page.
    const top = caret.offsetTop - this.text.offsetTop;
    if (top < this.text.scrollTop || top > this.text.scrollTop + this.text.clientHeight - 40) this.text.scrollTop = top - this.text.clientHeight / 2;
  }

  private drawEvents(rows: EventRow[]) {
    const items = rows.map(({ kind, field, index, chunk, count, text }) =>
      el(
        "li",
        { class: kind },
        el("button", { type: "button", tabindex: -1, title: "Go there", onclick: () => this.go("event", index) }, String(chunk)),
        el("span", { class: `what ${colour(field)}` }, `${SIGNS[kind]} ${kind} `, el("b", {}, this.overview.fields[field] ?? ""), count > 1 ? ` ×${count}` : ""),
        el("code", {}, oneLine(text)),
      ),
    );
    replace(this.events, ...items);
    this.events.scrollTop = this.events.scrollHeight;
  }

  private drawWhy({ why, is_end, error }: Look) {
    const code = (text: string) => el("code", {}, oneLine(text));
    const fieldName = (name: string) => el("b", { class: colour(this.overview.fields.indexOf(name)) }, name);
    const rows: [string, (Node | string)[]][] = [];
    const { last } = why;
    if (!last) rows.push(["last", ["no delimiter yet"]]);
    else {
      const name = this.overview.fields[last.field] ?? "";
      const captures = last.captures.flatMap((capture) => [` ${capture.name} = `, code(capture.text)]);
      const by = last.text ? [code(last.text), ` from byte ${last.at} on`] : ["without a delimiter"];
      rows.push(["last", [fieldName(name), ` ${last.kind} `, ...by, ...captures]]);
    }
    if (why.watch) {
      rows.push(["next", why.next ? ["text goes to ", fieldName(why.next)] : ["text goes nowhere"]]);
      if (why.held?.bytes) {
        const then = why.next ? ["; if it is no delimiter, it goes to ", fieldName(why.next)] : ["; if it is no delimiter, it goes nowhere"];
        rows.push(["held", [el("code", { class: "held" }, oneLine(why.held.text)), ` ${why.held.bytes} from byte ${why.held.at} on`, ...then]]);
      } else rows.push(["held", ["nothing"]]);
      const watch = why.watch.map((awaited) => {
        const spellings = awaited.spellings.flatMap((spelling) => [" ", code(awaited.is_pattern ? `/${spelling}/` : spelling)]);
        const has = awaited.has === null ? [] : [" has ", el("code", { class: "held" }, oneLine(awaited.has)), ...(awaited.lacks === null ? [" and may go on"] : [" lacks ", code(awaited.lacks)])];
        return el("div", {}, awaited.opens ? "▸ " : "◂ ", fieldName(awaited.field), ...spellings, ...has);
      });
      rows.push(["watch", watch.length ? watch : ["nothing: all text goes the same way"]]);
    } else if (why.left !== undefined) {
      rows.push(["next", [`${why.left} more ${why.left === 1 ? "event" : "events"} of this chunk; what is waited for shows when all are reported`]]);
    } else if (is_end) rows.push(["next", [error ? "nothing: the text has ended, and can't be parsed" : "nothing: the text has ended"]]);
    for (const { field, bytes, chunks } of why.waits ?? [])
      rows.push(["waits", [fieldName(this.overview.fields[field]), ` held back ${plural(bytes, "byte")} at most, for ${plural(chunks, "chunk")}`]]);
    replace(this.why, ...rows.flatMap(([term, words]) => [el("dt", {}, term), el("dd", {}, ...words)]));
  }

  private drawMessage({ message, error, whole, is_end }: Look) {
    const expects = Boolean(this.app.sample?.message);
    const head = el("thead", {}, el("tr", {}, el("th", {}, el("span", { class: "unseen" }, "Sign")), el("th", {}, "key"), el("th", {}, "so far"), expects && el("th", {}, "expected")));
    const rows = message.map(({ depth, label, mark, actual, expected }) => {
      const key = el("th", { scope: "row", style: `padding-inline-start:${depth + 0.4}em` }, label);
      const sign = el("td", { class: "mark" }, el("span", { "aria-hidden": "true" }, MARKS[mark] ?? ""), expects && mark !== "same" && el("span", { class: "unseen" }, MARK_WORDS[mark] ?? ""));
      return el("tr", { class: mark.replace(" ", "-") }, sign, key, el("td", {}, ...shown(actual)), expects && el("td", { class: "expected" }, ...shown(expected)));
    });
    replace(this.message, head, el("tbody", {}, ...rows));
    this.outcome.textContent = error ? `It can't be parsed: ${error}` : whole !== undefined ? `Read as a whole, the text means something else: ${whole}` : is_end && !message.length ? "The message is empty." : "";
    this.outcome.classList.toggle("bad", Boolean(error));
  }
}

const CHUNKINGS: [Chunking["how"], string][] = [
  ["token", "by token"],
  ["character", "by character"],
  ["bytes", "by bytes"],
  ["random", "random"],
  ["whole", "whole"],
  ["own", "by your clicks"],
];

function colour(field: number): string {
  return field < 0 ? "" : `field-${field % 6}`;
}

function sign(verdict: Verdict): string {
  if (Array.isArray(verdict)) return "✗";
  return { untried: "…", unexpected: "·", right: "✓" }[verdict];
}

function words(verdict: Verdict): string {
  if (Array.isArray(verdict)) return `✗ ${verdict.join("; ")}`;
  return { untried: "… It has yet to be tried.", unexpected: "· Nothing is expected of it.", right: "✓ It is read as expected, however it is cut." }[verdict];
}

function plural(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? "" : "s"}`;
}

function shown(side: Shown | null): (Node | string)[] {
  if (!side || side.parts) return [];
  if (side.left !== undefined) return [`… ${side.left} more`];
  const type = side.type ? [el("small", {}, ` ${side.type}`)] : [];
  const other = side.other === undefined ? [] : [el("u", {}, side.other)];
  return [side.text ?? "", ...other, ...type];
}

function numbers(text: string): number[] {
  return text.split(/[\s,]+/).map(Number).filter((number) => Number.isSafeInteger(number) && number > 0);
}

function splitAt(text: string, at: number): [string, string] {
  let count = 0;
  let index = 0;
  for (const character of text) {
    if (count >= at) break;
    count += bytes(character);
    index += character.length;
  }
  return [text.slice(0, index), text.slice(index)];
}

/** The byte of the text at which someone has clicked. */
function byteAt(event: MouseEvent): number | null {
  const stretch = (event.target as HTMLElement).closest<HTMLElement>("[data-at]");
  if (!stretch) return null;
  const start = Number(stretch.dataset.at);
  if ("whole" in stretch.dataset) return start;
  const position = document.caretPositionFromPoint?.(event.clientX, event.clientY);
  if (!position || !stretch.contains(position.offsetNode)) return start;
  return start + bytes((stretch.textContent ?? "").slice(0, position.offset));
}
