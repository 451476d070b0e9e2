// The response template in an editor, with its faults at their places.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { HighlightStyle, bracketMatching, foldGutter, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

import type { App, Fault } from "./app";
import { complete } from "./completion";
import { el, replace } from "./dom";

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--code-key)" },
  { tag: tags.string, color: "var(--code-text)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-value)" },
]);

export function editor(app: App): HTMLElement {
  const faults = el("ul", { class: "faults", "aria-label": "Faults" });
  const summary = el("p", { class: "summary", id: "template-summary", "aria-live": "polite" });
  const revert = el("button", { type: "button", onclick: () => void app.revert() }, "Take the derived one again");
  const view = new EditorView({
    state: EditorState.create({
      extensions: [
        lineNumbers(),
        foldGutter(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        autocompletion({ override: [complete] }),
        highlightActiveLine(),
        json(),
        syntaxHighlighting(colours),
        lintGutter(),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": "Response template", "aria-describedby": "template-summary" }),
        // Tab goes on to the next control: who works with keys alone must be able to leave.
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) app.edit(view.state.doc.toString());
        }),
      ],
    }),
  });
  app.listen((change) => {
    if (change === "format" && view.state.doc.toString() !== app.text) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: app.text } });
    }
    if (change !== "template" && change !== "format") return;
    view.dispatch(setDiagnostics(view.state, app.faults.map((fault) => diagnostic(fault, view.state.doc.length))));
    revert.hidden = !app.derived || app.state.template === null;
    summary.textContent = summarized(app);
    summary.classList.toggle("bad", app.faults.some(({ level }) => level === "error") || app.unchecked !== null);
    replace(faults, ...app.faults.map((fault) => row(fault, view)));
  });
  return el("div", { class: "editor" }, summary, view.dom, faults, revert);
}

function summarized(app: App): string {
  if (!app.text) return app.state.chat ? "" : "There is no response template yet: open a chat template, or write one here.";
  const count = (level: string, one: string, many: string) => {
    const number = app.faults.filter((fault) => fault.level === level).length;
    return number ? [`${number} ${number === 1 ? one : many}`] : [];
  };
  const found = [...count("error", "error", "errors"), ...count("warning", "warning", "warnings"), ...count("note", "note", "notes")];
  const origin = app.derived && app.state.template === null ? "Derived from the chat template" : "Written by hand";
  const remark = app.unchecked ? ` The chat template could not be asked: ${app.unchecked}` : "";
  return `${origin}${found.length ? `: ${found.join(", ")}` : "; nothing is wrong with it"}.${remark}`;
}

function diagnostic(fault: Fault, length: number): Diagnostic {
  const from = Math.min(fault.from, length);
  return {
    from,
    to: Math.min(Math.max(fault.to, from), length),
    severity: fault.level === "note" ? "info" : fault.level,
    source: fault.code ?? "",
    message: sentence(fault),
  };
}

function sentence({ message, remedy }: Fault): string {
  return remedy ? `${message}: ${remedy}` : message;
}

function row(fault: Fault, view: EditorView): HTMLElement {
  const go = () => {
    const anchor = Math.min(fault.from, view.state.doc.length);
    view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: "center" }) });
    view.focus();
  };
  const line = view.state.doc.lineAt(Math.min(fault.from, view.state.doc.length)).number;
  return el(
    "li",
    { class: fault.level },
    el("button", { type: "button", onclick: go }, `line ${line}`),
    el("strong", {}, [fault.level, fault.code, fault.name].filter(Boolean).join(" ")),
    el("span", {}, fault.pointer ? `${fault.pointer}: ${sentence(fault)}` : sentence(fault)),
  );
}
