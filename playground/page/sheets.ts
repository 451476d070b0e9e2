// What is known of the format, a sheet each: the response template, its proof, the findings, the chat template, conversations
// and grammars.

import { type App, type Derived, type Flaw, type Outcome, reason } from "./app";
import { bytes, download, el, put, replace, visible } from "./dom";
import { editor } from "./editor";

const SHEETS: [string, string, (app: App) => HTMLElement][] = [
  ["template", "Template", template],
  ["proof", "Proof", proof],
  ["findings", "Findings", findings],
  ["chat", "Chat template", chat],
  ["conversation", "Conversation", conversation],
  ["grammar", "Grammar", grammar],
];

export function sheets(app: App, room: HTMLElement) {
  const tabs = SHEETS.map(([key, words]) =>
    el("button", { type: "button", role: "tab", id: `tab-${key}`, "aria-controls": `sheet-${key}`, onclick: () => app.go(key) }, words),
  );
  const list = el("div", { role: "tablist", "aria-label": "The format", onkeydown: (event: KeyboardEvent) => along(event, tabs) }, ...tabs);
  const panels = SHEETS.map(([key, , make]) => el("div", { role: "tabpanel", id: `sheet-${key}`, "aria-labelledby": `tab-${key}`, class: "sheet" }, make(app)));
  put(room, list, ...panels);
  const show = () => {
    const known = SHEETS.findIndex(([key]) => key === app.state.sheet);
    const shown = Math.max(known, 0);
    tabs.forEach((tab, index) => {
      tab.setAttribute("aria-selected", String(index === shown));
      tab.tabIndex = index === shown ? 0 : -1;
      panels[index].hidden = index !== shown;
    });
  };
  app.listen((change) => {
    if (change === "sheet" || change === "format") show();
  });
  show();
}

/** The arrows go along the tabs, as people who work with keys expect. */
function along(event: KeyboardEvent, tabs: HTMLElement[]) {
  const at = tabs.indexOf(event.target as HTMLElement);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const tab = tabs.at(to % tabs.length)!;
  tab.focus();
  tab.click();
}

function template(app: App): HTMLElement {
  const proven = el("p", { class: "proven", id: "proven", "aria-live": "polite" });
  const save = el("button", { type: "button", onclick: () => download("response_template.json", app.text) }, "Download");
  app.listen((change) => {
    if (change === "format") replace(proven, ...standing(app));
  });
  return el("div", {}, proven, editor(app), el("div", { class: "bar" }, save));
}

function standing(app: App): Node[] {
  const { derived, underivable, state } = app;
  if (underivable) return [el("span", { class: "bad" }, `Nothing was derived from ${state.chat?.name}: ${underivable}`)];
  if (!derived) return [el("span", {}, state.chat ? `Deriving from ${state.name}…` : "")];
  const sign = derived.is_whole ? "✓ proven" : "✗ not whole";
  return [
    el("b", { class: derived.is_whole ? "good" : "bad" }, sign),
    el("span", {}, ` ${state.name}: ${derived.recovered} of ${derived.proof.length} renderings recovered, ${derived.drafts} ${derived.drafts === 1 ? "draft" : "drafts"} tried`),
  ];
}

function proof(app: App): HTMLElement {
  const room = el("div", {});
  app.listen((change) => {
    if (change === "format") replace(room, ...proofOf(app));
  });
  return room;
}

function proofOf(app: App): Node[] {
  const { derived } = app;
  if (!derived) return [el("p", {}, app.underivable ?? "Without a chat template there is no proof.")];
  const open = (name: string) => () => app.select(name);
  const rows = derived.proof.map((row) => {
    const isRecovered = row.recovery.kind === "recovered" || row.recovery.kind === "lost by the chat template";
    const why = row.recovery.lost ? `the chat template leaves out ${row.recovery.lost.join(", ")}` : (row.recovery.difference ?? "");
    const sample = derived.cases.find(({ output, prefix }) => output === row.output && prefix === row.prefix);
    const name = sample ? el("button", { type: "button", onclick: open(sample.name) }, row.name) : row.name;
    return el("tr", { class: isRecovered ? "" : "bad" }, el("td", {}, isRecovered ? "✓" : "✗"), el("th", { scope: "row" }, name), el("td", {}, row.recovery.kind), el("td", {}, why));
  });
  const head = el("tr", {}, el("th", {}, el("span", { class: "unseen" }, "Sign")), el("th", {}, "conversation"), el("th", {}, "came back"), el("th", {}, "why"));
  return [
    el("p", {}, ...standing(app)),
    ...derived.missing_tokens.map((why) => el("p", { class: "bad" }, why)),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Proof" }, el("table", { class: "rows" }, el("thead", {}, head), el("tbody", {}, ...rows))),
    ...damage(derived),
    ...(derived.refused.length ? [el("h3", {}, "Refused by the chat template"), el("ul", {}, ...derived.refused.map(({ name, why }) => el("li", {}, `${name}: ${why}`)))] : []),
  ];
}

function damage({ damage }: Derived): Node[] {
  const sum = (of: "recovered" | "lost" | "total") => damage.reduce((sum, row) => sum + row[of], 0);
  if (!damage.length) return [];
  const partly = damage.filter(({ recovered, total }) => recovered < total);
  return [
    el("h3", {}, "Damaged texts"),
    el("p", {}, `${sum("recovered")} of ${sum("total")} damaged texts recovered, ${sum("lost")} lost in silence.`),
    el("ul", {}, ...partly.map((row) => el("li", {}, `${row.recovered} of ${row.total}: ${row.damage}`))),
  ];
}

function findings(app: App): HTMLElement {
  const room = el("div", {});
  app.listen((change) => {
    if (change === "format" || change === "evidence") replace(room, ...findingsOf(app));
  });
  return room;
}

function findingsOf({ derived, underivable }: App): Node[] {
  if (!derived) return [el("p", {}, underivable ?? "Findings are about chat templates: open one.")];
  const subjects = [...new Set(derived.statements.map(({ subject }) => subject))];
  return subjects.map((subject) =>
    el(
      "section",
      { class: "finding" },
      el("h3", {}, subject),
      el("ul", {}, ...derived.statements.filter((one) => one.subject === subject).map(({ text, certainty }) => el("li", {}, text, certainty === "seen" ? "" : el("small", {}, ` ${certainty}`)))),
      ...(derived.evidence ?? []).filter((one) => one.subject === subject).map((one) => {
        const [first, second] = apart(one.without.rendering, one.with.rendering);
        return el(
          "details",
          {},
          el("summary", {}, `${one.without.conversation}, and ${one.with.conversation}`),
          el("div", { class: "pair" }, rendering(one.without.conversation, first), rendering(one.with.conversation, second)),
        );
      }),
    ),
  );
}

type Apart = [same: string, other: string, same: string];

/** Two texts, and what stands between their common beginning and their common end. */
function apart(first: string, second: string): [Apart, Apart] {
  const [a, b] = [[...first], [...second]];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const parts = (all: string[]): Apart => [all.slice(0, start).join(""), all.slice(start, all.length - end).join(""), all.slice(all.length - end).join("")];
  return [parts(a), parts(b)];
}

function rendering(title: string, [before, other, behind]: Apart): HTMLElement {
  const differs = other ? [el("mark", {}, "⟦", ...visible(other), "⟧")] : [el("mark", { class: "none" }, "⟦⟧")];
  return el("figure", {}, el("figcaption", {}, title), el("pre", { tabindex: 0, role: "region", "aria-label": `Rendering of ${title}` }, ...visible(before), ...differs, ...visible(behind)));
}

function chat(app: App): HTMLElement {
  const source = el("textarea", { id: "jinja", rows: 18, spellcheck: "false", wrap: "off" });
  const bos = el("input", { id: "bos", spellcheck: "false" });
  const eos = el("input", { id: "eos", spellcheck: "false" });
  const variables = el("textarea", { id: "variables", rows: 2, spellcheck: "false" });
  const wrong = el("p", { class: "bad", role: "alert" });
  let timer = 0;
  const changed = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      wrong.textContent = "";
      try {
        JSON.parse(variables.value || "{}");
      } catch (error) {
        wrong.textContent = `The variables are no JSON: ${reason(error)}`;
        return;
      }
      const known = app.state.chat;
      app.state.chat = {
        name: known?.name ?? "chat template",
        variant: known?.variant ?? null,
        jinja: source.value,
        bos_token: bos.value || null,
        eos_token: eos.value || null,
        special_tokens: known?.special_tokens ?? [],
        added_tokens: known?.added_tokens ?? [],
      };
      app.state.name ||= "chat template";
      app.state.variables = variables.value || "{}";
      void app.rederive();
    }, 400);
  };
  for (const field of [source, bos, eos, variables]) field.addEventListener("input", changed);
  app.listen((change) => {
    if (change !== "format") return;
    const given: [HTMLInputElement | HTMLTextAreaElement, string][] = [
      [source, app.state.chat?.jinja ?? ""],
      [bos, app.state.chat?.bos_token ?? ""],
      [eos, app.state.chat?.eos_token ?? ""],
      [variables, app.state.variables],
    ];
    // What someone is typing in stays as it is.
    for (const [field, value] of given) if (document.activeElement !== field) field.value = value;
  });
  return el(
    "div",
    { class: "form" },
    wrong,
    el("label", { for: "jinja" }, "Chat template, which may be changed here"),
    source,
    flaws(app, source),
    mending(app),
    el("label", { for: "bos" }, "Token that begins a text"),
    bos,
    el("label", { for: "eos" }, "Token that ends a turn"),
    eos,
    el("label", { for: "variables" }, "Variables, as a JSON object"),
    variables,
    el("div", { class: "bar" }, el("button", { type: "button", onclick: () => download("chat_template.jinja", source.value) }, "Download")),
  );
}

/** What is wrong with the chat template. */
function flaws(app: App, source: HTMLTextAreaElement): HTMLElement {
  const summary = el("p", { class: "summary", id: "chat-summary", "aria-live": "polite" });
  const list = el("ul", { class: "faults", "aria-label": "What is wrong with the chat template" });
  app.listen((change) => {
    if (change !== "flaws" && change !== "format") return;
    const found = app.flaws ?? [];
    const rank = { error: 0, warning: 1, note: 2 };
    const sorted = [...found].sort((one, other) => rank[one.level] - rank[other.level]);
    const waits = app.state.chat ? "Looking for what is wrong with it…" : "";
    const words = found.length ? `${found.length} ${found.length === 1 ? "complaint" : "complaints"} about it` : "Nothing is wrong with it.";
    summary.textContent = app.unlinted ? `It could not be looked at: ${app.unlinted}` : app.flaws ? words : waits;
    summary.classList.toggle("bad", app.unlinted !== null || found.some(({ level }) => level === "error"));
    replace(list, ...sorted.map((flaw) => flawRow(flaw, source)));
  });
  return el("div", {}, summary, list);
}

function flawRow(flaw: Flaw, source: HTMLTextAreaElement): HTMLElement {
  const go = () => {
    source.focus();
    source.setSelectionRange(flaw.from, flaw.to);
    source.scrollTop = (source.scrollHeight / source.value.split("\n").length) * (flaw.line - 4);
  };
  const { shown } = flaw;
  const text = shown?.text ? [...shown.text] : [];
  const [start, end] = shown?.marked ?? [text.length, text.length];
  return el(
    "li",
    { class: flaw.level },
    el("button", { type: "button", onclick: go }, `line ${flaw.line}`),
    el("strong", {}, [flaw.level, flaw.code, flaw.name].filter(Boolean).join(" ")),
    el("span", {}, flaw.remedy ? `${flaw.message}: ${flaw.remedy}` : flaw.message),
    ...(shown
      ? [
          el(
            "details",
            {},
            el("summary", {}, "a conversation that shows it"),
            example("The messages", JSON.stringify(shown.messages, null, 1)),
            ...(shown.text ? [example("Their rendering", ...visible(text.slice(0, start).join("")), el("mark", {}, ...visible(text.slice(start, end).join(""))), ...visible(text.slice(end).join("")))] : []),
          ),
        ]
      : []),
  );
}

function example(label: string, ...shown: (Node | string)[]): HTMLElement {
  return el("pre", { class: "example", tabindex: 0, role: "region", "aria-label": label }, ...shown);
}

const MENDED: [string, string][] = [
  ["prefix", "what was rendered stays as it is when a conversation goes on"],
  ["json", "JSON is encoded once"],
  ["arguments", "arguments of calls as text and as objects"],
  ["content", "messages without content"],
  ["dates", "dates by the day"],
  ["generation", "{% generation %} around what the model writes"],
];

/** Mends the chat template, and says what has come of it. */
function mending(app: App): HTMLElement {
  const boxes = MENDED.map(([name, words]) => {
    const box = el("input", { type: "checkbox", id: `mend-${name}`, value: name });
    box.checked = name === "prefix";
    return { box, label: el("label", { for: `mend-${name}` }, box, ` ${words}`) };
  });
  const result = el("ul", { "aria-live": "polite", id: "mended" });
  const mend = async () => {
    button.disabled = true;
    try {
      const outcomes = await app.mend(boxes.filter(({ box }) => box.checked).map(({ box }) => box.value));
      replace(result, ...outcomes.map((outcome) => el("li", { class: outcome.verdict === "left" ? "bad" : "" }, outcomeInWords(outcome))));
    } catch (error) {
      replace(result, el("li", { class: "bad" }, reason(error)));
    }
    button.disabled = false;
  };
  const button = el("button", { type: "button", id: "mend", onclick: () => void mend() }, "Mend");
  return el("fieldset", {}, el("legend", {}, "Mend"), ...boxes.map(({ label }) => el("div", {}, label)), button, result);
}

function outcomeInWords({ fault, verdict, conversations, changes = [], line, why }: Outcome): string {
  if (verdict === "absent") return `${fault}: it has no such fault.`;
  if (verdict === "left") return `${fault}: left as it was${line ? `, line ${line}` : ""}: ${why}`;
  return `${fault}: mended in ${conversations} conversations: ${changes.map((change) => `line ${change.line}: ${change.before} is ${change.after} now`).join("; ")}`;
}

const MESSAGES = [
  { role: "user", content: "What is the tide in Brest?" },
  { role: "assistant", content: "I'll look it up.", tool_calls: [{ type: "function", id: "call00001", function: { name: "read_tide", arguments: { harbour: "Brest" } } }] },
  { role: "tool", tool_call_id: "call00001", name: "read_tide", content: "4.2 m" },
  { role: "assistant", content: "It stands at 4.2 m." },
];

const TOOLS = [
  {
    type: "function",
    function: {
      name: "read_tide",
      description: "Reads how high the tide stands",
      parameters: { type: "object", properties: { harbour: { type: "string" }, hour: { type: "integer" } }, required: ["harbour"] },
    },
  },
];

interface Written {
  pieces: { text: string; slot: string | null; written: boolean }[];
  remarks: string[];
}

function conversation(app: App): HTMLElement {
  const messages = el("textarea", { id: "messages", rows: 10, spellcheck: "false", oninput: () => (app.state.messages = messages.value) });
  const tools = toolsField(app, "conversation-tools");
  const prompt = el("input", { type: "checkbox", id: "prompt" });
  const result = el("div", { "aria-live": "polite" });
  const render = async () => {
    try {
      const request = { do: "render", ...app.about(), messages: JSON.parse(messages.value), tools: parsedTools(tools), add_generation_prompt: prompt.checked };
      const { pieces, remarks } = await app.thinker.ask<Written>(request);
      const shown = pieces.map(({ text, slot, written }) =>
        el("span", { class: `said ${slot ? `slot-${slot.split(" ")[0]}` : "marker"} ${written ? "written" : ""}`, title: [slot ?? "written by the chat template", written ? "the model writes it" : ""].filter(Boolean).join("; ") }, ...visible(text)),
      );
      const slots = [...new Set(pieces.flatMap(({ slot }) => (slot ? [slot] : [])))];
      replace(
        result,
        ...remarks.map((remark) => el("p", { class: "remark" }, remark)),
        el("ul", { class: "legend" }, ...slots.map((slot) => el("li", { class: `slot-${slot.split(" ")[0]}` }, slot)), el("li", { class: "written" }, "underlined: the model writes it")),
        el("pre", { class: "text", tabindex: 0, role: "region", "aria-label": "The rendered conversation" }, ...shown),
        el("p", {}, `${bytes(pieces.map(({ text }) => text).join(""))} bytes.`),
      );
    } catch (error) {
      replace(result, el("p", { class: "bad" }, reason(error)));
    }
  };
  app.listen((change) => {
    if (change !== "format") return;
    messages.value = app.state.messages || JSON.stringify(MESSAGES, null, 1);
    tools.value = app.state.tools || JSON.stringify(TOOLS, null, 1);
  });
  return el(
    "form",
    {
      class: "form",
      onsubmit: (event: Event) => {
        event.preventDefault();
        void render();
      },
    },
    el("label", { for: "messages" }, "Messages, as a JSON list"),
    messages,
    el("label", { for: "conversation-tools" }, "Tools, as a JSON list"),
    tools,
    el("div", { class: "bar" }, el("label", { for: "prompt" }, prompt, " a prompt behind it"), el("button", { type: "submit" }, "Render")),
    result,
  );
}

function toolsField(app: App, id: string): HTMLTextAreaElement {
  const field = el("textarea", { id, rows: 6, spellcheck: "false", oninput: () => (app.state.tools = field.value) });
  return field;
}

function parsedTools(field: HTMLTextAreaElement): unknown {
  return field.value.trim() ? JSON.parse(field.value) : null;
}

function grammar(app: App): HTMLElement {
  const tools = toolsField(app, "grammar-tools");
  const language = el(
    "select",
    { id: "language", onchange: () => (app.state.language = language.value) },
    ...["gbnf", "lark", "structural-tag", "regex"].map((value) => el("option", { value }, value)),
  );
  const result = el("div", { "aria-live": "polite" });
  const write = async () => {
    try {
      const request = { do: "grammar", ...app.about(), tools: parsedTools(tools), format: language.value };
      const { text, warnings } = await app.thinker.ask<{ text: string; warnings: string[] }>(request);
      replace(
        result,
        ...warnings.map((warning) => el("p", { class: "remark" }, warning)),
        el("pre", { class: "text", tabindex: 0, role: "region", "aria-label": "The grammar" }, text),
        el("button", { type: "button", onclick: () => download(`grammar.${language.value}`, text) }, "Download"),
      );
    } catch (error) {
      replace(result, el("p", { class: "bad" }, reason(error)));
    }
  };
  app.listen((change) => {
    if (change !== "format") return;
    tools.value = app.state.tools || JSON.stringify(TOOLS, null, 1);
    language.value = app.state.language;
  });
  return el(
    "form",
    {
      class: "form",
      onsubmit: (event: Event) => {
        event.preventDefault();
        void write();
      },
    },
    el("label", { for: "grammar-tools" }, "Tools, as a JSON list"),
    tools,
    el("div", { class: "bar" }, el("label", { for: "language" }, "Language ", language), el("button", { type: "submit" }, "Write the grammar")),
    result,
  );
}
