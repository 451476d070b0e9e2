// JSON as Python writes it, which knows NaN and infinite numbers.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const OUTSIDE_OF_STRINGS = /"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/g;
// No text begins so by chance, and if one did it would begin with a mark more.
const MARK = "\u0000number:";

/** Reads JSON of the library. Integers beyond 2^53 lose their last digits, as ever in JavaScript. */
export function read(text: string): Json {
  try {
    return JSON.parse(text);
  } catch (fault) {
    if (!/NaN|Infinity/.test(text)) throw fault;
  }
  const marked = text.replace(OUTSIDE_OF_STRINGS, (found) => (found[0] === '"' ? found : JSON.stringify(MARK + found)));
  return JSON.parse(marked, (_, value) =>
    typeof value === "string" && value.startsWith(MARK) ? Number(value.slice(MARK.length)) : value,
  );
}

/** The members that are set, under the names that the library has for them. */
export function options(given: object): string {
  const members = Object.entries(given).filter(([, value]) => value !== undefined);
  if (!members.length) return "";
  const name = (key: string) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return JSON.stringify(Object.fromEntries(members.map(([key, value]) => [name(key), value])));
}
