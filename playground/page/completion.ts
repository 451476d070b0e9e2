// Keys and values of response templates, by their JSON Schema.

import type { CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { syntaxTree } from "@codemirror/language";
import type { EditorState } from "@codemirror/state";
import type { SyntaxNode } from "@lezer/common";

import schema from "../../parser/schema/response-template.schema.json";

interface Schema {
  $ref?: string;
  description?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema | boolean;
  enum?: unknown[];
  const?: unknown;
  type?: string | string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}

const root = schema as unknown as Schema;

/** A schema and all that it is made of. */
function parts(given: Schema | boolean | undefined, depth = 0): Schema[] {
  if (typeof given !== "object" || depth > 16) return [];
  const all = [given];
  if (given.$ref?.startsWith("#/")) {
    const found = given.$ref.slice(2).split("/").reduce<unknown>((at, key) => (at as Record<string, unknown>)?.[key], root);
    all.push(...parts(found as Schema, depth + 1));
  }
  for (const one of [...(given.anyOf ?? []), ...(given.oneOf ?? []), ...(given.allOf ?? [])]) all.push(...parts(one, depth + 1));
  return all;
}

function below(schemas: Schema[], key: string): Schema[] {
  return schemas.flatMap((one) => {
    const known = one.properties?.[key];
    if (known) return parts(known);
    return parts(/^\d+$/.test(key) && one.items ? one.items : one.additionalProperties);
  });
}

function keyOf(property: SyntaxNode, state: EditorState): string | null {
  const name = property.getChild("PropertyName");
  if (!name) return null;
  try {
    return JSON.parse(state.sliceDoc(name.from, name.to));
  } catch {
    return null;
  }
}

/** The keys on the way to a node. */
function path(node: SyntaxNode, state: EditorState): string[] {
  const keys: string[] = [];
  for (let at: SyntaxNode | null = node; at; at = at.parent) {
    if (at.name === "Property") keys.unshift(keyOf(at, state) ?? "");
    else if (at.parent?.name === "Array") keys.unshift("0");
  }
  return keys;
}

export function complete(context: CompletionContext): CompletionResult | null {
  const { state, pos } = context;
  let node = syntaxTree(state).resolveInner(pos, -1);
  // Brackets and commas stand for what they are in, and so does what is no JSON yet.
  while (!/^[A-Z]\w+$/.test(node.name) && node.parent) node = node.parent;
  const word = context.matchBefore(/"?[\w.-]*/);
  if (!context.explicit && (!word || word.from === word.to)) return null;
  const isName = node.name === "PropertyName" || (node.name === "Object" && !/[:]\s*"?[\w-]*$/.test(state.sliceDoc(state.doc.lineAt(pos).from, pos)));
  const inText = node.name === "String" || node.name === "PropertyName";
  const from = inText ? node.from : (word?.from ?? pos);
  const to = inText ? node.to : pos;
  const keys = path(node.name === "PropertyName" ? node.parent!.parent! : node, state);
  const schemas = keys.reduce(below, parts(root));
  if (isName) {
    const object = node.name === "Object" ? node : node.parent?.parent;
    const present = new Set((object?.getChildren("Property") ?? []).filter((one) => one !== node.parent).map((one) => keyOf(one, state)));
    const options = schemas.flatMap((one) => Object.entries(one.properties ?? {}));
    const hasValue = node.name === "PropertyName" && /^\s*:/.test(state.sliceDoc(to, to + 20));
    return {
      from,
      to,
      options: unique(options.map(([key]) => key)).filter((key) => !present.has(key)).map((key) => ({
        label: JSON.stringify(key),
        apply: hasValue ? JSON.stringify(key) : `${JSON.stringify(key)}: `,
        type: "property",
        info: options.find(([name]) => name === key)?.[1].description,
      })),
    };
  }
  const values = schemas.flatMap((one) => {
    const own = "const" in one ? [one.const] : (one.enum ?? []);
    return [one.type].flat().includes("boolean") ? [...own, true, false] : own;
  });
  if (!values.length) return null;
  return { from, to, options: unique(values.map((value) => JSON.stringify(value))).map((label) => ({ label, type: "enum" })) };
}

function unique<T>(items: T[]): T[] {
  return [...new Set(items)];
}
