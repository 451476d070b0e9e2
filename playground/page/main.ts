import "./style.css";

import { App, reason } from "./app";
import { byId, el, put, replace } from "./dom";
import { example, opening } from "./opening";
import { ReplayView } from "./replay";
import { sheets } from "./sheets";
import { BadLink, fromFragment, toFragment } from "./state";

/** Work that is done sooner is not spoken of, in milliseconds. */
const SOON = 400;

const status = byId("status");
let busy = 0;
let busyTimer = 0;
let isSlow = false;
/** What was said last, which stands there again when slow work is done. */
let said: Node[] = [];

function onBusy(isBusy: boolean) {
  busy += isBusy ? 1 : -1;
  if (busy && !busyTimer && !isSlow) {
    busyTimer = setTimeout(() => {
      busyTimer = 0;
      isSlow = true;
      replace(status, "Working… ", el("button", { type: "button", id: "stop", onclick: () => app.stop() }, "Stop"));
    }, SOON);
  } else if (!busy) {
    clearTimeout(busyTimer);
    busyTimer = 0;
    if (isSlow && status.querySelector("#stop")) status.replaceChildren(...said);
    isSlow = false;
  }
}

function say(text: string, bad = false) {
  said = [el("span", { class: bad ? "bad" : "" }, text)];
  replace(status, ...said);
}

const app = new App(onBusy, say);
sheets(app, byId("sheets"));
const replay = new ReplayView(app, byId("replay"));
opening(app);
keys();
share();
void start();
addEventListener("hashchange", () => void start());

/** Shows the state of the link, or else an example. */
async function start() {
  const fragment = location.hash.slice(1);
  try {
    if (fragment) await app.show(await fromFragment(fragment));
    else await app.show(example(), true);
  } catch (error) {
    if (!(error instanceof BadLink)) throw error;
    await app.show(example(), true);
    say(`${reason(error)} An example is shown in its place.`, true);
  }
  document.documentElement.dataset.ready = "";
}

function keys() {
  const dialog = byId<HTMLDialogElement>("keys");
  const names: Record<string, string> = { " ": "Space", ArrowRight: "→", ArrowLeft: "←" };
  const rows = replay.keys.map(({ keys, does }) => el("tr", {}, el("th", { scope: "row" }, ...keys.map((key) => el("kbd", {}, names[key] ?? key))), el("td", {}, does)));
  put(
    dialog,
    el("h2", { id: "keys-title" }, "Keys"),
    el("p", {}, "They are those of the workbench, wherever no text is typed."),
    el("table", {}, el("tbody", {}, ...rows, el("tr", {}, el("th", { scope: "row" }, el("kbd", {}, "?")), el("td", {}, "these keys")))),
    el("button", { type: "button", onclick: () => dialog.close() }, "Close"),
  );
  byId("keys-button").onclick = () => dialog.showModal();
  document.addEventListener("keydown", (event) => {
    if (event.key !== "?" || (event.target as HTMLElement).closest("input, textarea, select, .cm-editor, dialog")) return;
    event.preventDefault();
    dialog.showModal();
  });
}

function share() {
  const dialog = byId<HTMLDialogElement>("share");
  const link = el("textarea", { id: "link", readonly: true, rows: 4, "aria-label": "Link" });
  const size = el("p", {});
  put(
    dialog,
    el("h2", { id: "share-title" }, "Share"),
    el("p", {}, "All that is shown stands in this link, and nowhere else: who opens it sees the same. Texts in it can be read by whoever has it."),
    link,
    size,
    el(
      "div",
      { class: "bar" },
      el("button", { type: "button", id: "copy", onclick: () => void copy() }, "Copy"),
      el("button", { type: "button", onclick: () => dialog.close() }, "Close"),
    ),
  );
  const copy = async () => {
    link.select();
    try {
      await navigator.clipboard.writeText(link.value);
      size.textContent = "It was copied.";
    } catch {
      size.textContent = "The browser does not let the page copy it: copy what is selected.";
    }
  };
  byId("share-button").onclick = async () => {
    const url = new URL(location.href);
    url.hash = await toFragment(app.state);
    history.replaceState(null, "", url);
    link.value = url.href;
    const length = url.href.length;
    size.textContent = `${length} characters${length > 8000 ? ": some programs cut links of this length off" : ""}.`;
    dialog.showModal();
    link.select();
  };
}
