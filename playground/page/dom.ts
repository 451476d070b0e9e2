// Elements of the page. Texts are always put in as text, and never as markup.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

/** Makes an element. Keys that begin with `on` are listeners; `true` is an attribute without a value. */
export function el<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key.slice(2), value as EventListener);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, String(value));
  }
  put(element, ...children);
  return element;
}

/** Puts children into an element, after those that it has. */
export function put(element: Element, ...children: Child[]) {
  for (const child of children) if (child !== null && child !== undefined && child !== false) element.append(child);
}

/** Puts other children in place of those that an element has. */
export function replace(element: Element, ...children: Child[]) {
  element.replaceChildren();
  put(element, ...children);
}

export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element as T;
}

// What turns text round, or can't be seen: controls, but for tabs and ends of lines, and what has no width.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/;

/** A text as nodes in which everything can be seen: ends of lines and tabs have a sign before them. `at` is the byte at
 * which the text begins; each stretch knows its own. */
export function visible(text: string, at = 0): Node[] {
  const nodes: Node[] = [];
  let plain = "";
  let plainAt = at;
  const flush = () => {
    if (plain) nodes.push(el("span", { "data-at": plainAt }, plain));
    plain = "";
  };
  for (const character of text) {
    if (character === "\n" || character === "\t") {
      const sign = character === "\n" ? "⏎" : "→";
      flush();
      nodes.push(el("span", { class: "sign", "data-sign": sign, "data-at": at, "data-whole": true }, character));
    } else if (UNSEEN.test(character)) {
      flush();
      const code = character.codePointAt(0)!.toString(16);
      nodes.push(el("span", { class: "stand-in", "data-at": at, "data-whole": true }, `\\u{${code}}`));
    } else {
      if (!plain) plainAt = at;
      plain += character;
    }
    at += bytes(character);
  }
  flush();
  return nodes;
}

const encoder = new TextEncoder();

/** How many bytes a text has. */
export function bytes(text: string): number {
  return encoder.encode(text).length;
}

/** A text in one line, in which ends of lines are signs. */
export function oneLine(text: string): string {
  return text.replaceAll("\n", "⏎").replaceAll("\t", "→");
}

/** Offers a text as a file. */
export function download(name: string, text: string) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  const link = el("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
