// What can be opened: files, what is pasted, and the gallery.

import type { App } from "./app";
import { byId, el, put } from "./dom";
import { type State, empty } from "./state";

const templates = import.meta.glob<string>("../../chat_templates/*.jinja", { query: "?raw", import: "default", eager: true });

/** The names of the gallery's chat templates. */
export const gallery = Object.keys(templates).map((path) => path.replace(/^.*\/|\.jinja$/g, "")).sort();

function ofJinja(name: string, jinja: string): State {
  return { ...empty(), name, chat: { name, variant: null, jinja, bos_token: null, eos_token: null, special_tokens: [], added_tokens: [] } };
}

export function ofGallery(name: string): State {
  const found = Object.entries(templates).find(([path]) => path.endsWith(`/${name}.jinja`));
  if (!found) throw new Error(`the gallery has no ${name}`);
  return ofJinja(name, found[1]);
}

/** What is shown before anything was opened: the first of the gallery. */
export function example(): State {
  return ofGallery(gallery[0]);
}

export function opening(app: App) {
  const room = byId("opening");
  const button = byId<HTMLButtonElement>("open-button");
  const toggle = (open: boolean) => {
    room.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
  };
  button.onclick = () => {
    toggle(Boolean(room.hidden));
    if (!room.hidden) room.querySelector("button")?.focus();
  };
  const file = el("input", { type: "file", id: "file", class: "unseen", tabindex: -1, "aria-label": "A file", onchange: () => void take(file.files?.[0]) });
  const take = async (given: File | undefined) => {
    if (!given) return;
    toggle(false);
    await app.open(given);
    file.value = "";
  };
  const pasted = el("textarea", { id: "pasted", rows: 4, spellcheck: "false", placeholder: "{% for message in messages %}…" });
  const show = (state: State) => {
    toggle(false);
    app.say("");
    void app.show(state);
    button.focus();
  };
  put(
    room,
    el(
      "div",
      { class: "ways" },
      el(
        "div",
        {},
        el("h2", {}, "Your own"),
        el("p", {}, "A chat template, a tokenizer_config.json, a response template, a fixture, or a GGUF file, of which only the head is read. It may be dropped anywhere on the page, too."),
        el("button", { type: "button", onclick: () => file.click() }, "Choose a file…"),
        file,
        el("label", { for: "pasted" }, "Or paste it"),
        pasted,
        el("button", { type: "button", id: "open-pasted", onclick: () => void take(new File([pasted.value], "pasted")) }, "Open what was pasted"),
      ),
      el(
        "div",
        {},
        el("h2", {}, "The gallery"),
        el("p", {}, "Chat templates, one for each family of formats."),
        el("div", { class: "gallery" }, ...gallery.map((name) => el("button", { type: "button", onclick: () => show(ofGallery(name)) }, name))),
      ),
    ),
  );
  room.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    toggle(false);
    button.focus();
  });
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  for (const name of ["dragleave", "drop"]) document.addEventListener(name, () => document.body.classList.remove("dropping"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    const given = event.dataTransfer?.files[0];
    const text = event.dataTransfer?.getData("text/plain");
    void take(given ?? (text ? new File([text], "dropped") : undefined));
  });
  document.addEventListener("paste", (event) => {
    const target = event.target as HTMLElement;
    if (target.closest?.("input, textarea, .cm-editor")) return;
    const given = event.clipboardData?.files[0];
    const text = event.clipboardData?.getData("text/plain");
    void take(given ?? (text ? new File([text], "pasted") : undefined));
  });
}
