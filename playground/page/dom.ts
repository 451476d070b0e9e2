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

// Ends of lines and tabs; and what turns text round, or can't be seen: other controls, and what has no width.
const SIGNS = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** A text as nodes in which everything can be seen: ends of lines and tabs have a sign before them. `at` is the byte at
 * which the text begins; each stretch knows its own. */
export function visible(text: string, at = 0): Node[] {
  const nodes: Node[] = [];
  let from = 0;
  const plain = (to: number) => {
    if (to === from) return;
    const stretch = text.slice(from, to);
    nodes.push(el("span", { "data-at": at }, stretch));
    at += bytes(stretch);
  };
  for (const { 0: character, index } of text.matchAll(SIGNS)) {
    plain(index);
    from = index + 1;
    if (character === "\n" || character === "\t") {
      nodes.push(el("span", { class: "sign", "data-sign": character === "\n" ? "⏎" : "→", "data-at": at, "data-whole": true }, character));
    } else {
      nodes.push(el("span", { class: "stand-in", "data-at": at, "data-whole": true }, `\\u{${character.charCodeAt(0).toString(16)}}`));
    }
    at += bytes(character);
  }
  plain(text.length);
  return nodes;
}

/** How many bytes a text has in UTF-8. */
export function bytes(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    // The two halves of a pair have four bytes together.
    count += code < 0x80 ? 1 : code < 0x800 || (code >= 0xd800 && code < 0xe000) ? 2 : 3;
  }
  return count;
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
