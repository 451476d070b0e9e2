// What the module derives is what the program prints, and `derived/` holds.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { load, root } from "./module.js";

const names = readdirSync(new URL("chat_templates/", root))
  .filter((name) => name.endsWith(".jinja"))
  .map((name) => name.replace(".jinja", ""));

test("the module derives byte for byte what the program prints, over the whole gallery", () => {
  assert.ok(names.length >= 24, `there are ${names.length}`);
  const ask = load();
  const others = names.filter((name) => {
    const jinja = readFileSync(new URL(`chat_templates/${name}.jinja`, root), "utf8");
    const printed = readFileSync(new URL(`derived/${name}.json`, root), "utf8");
    const { ok, error } = ask({ do: "derive", now: "2026-01-01T00:00:00", chat_template: { name, jinja } });
    assert.equal(error, undefined, name);
    return ok.template !== printed;
  });
  assert.deepEqual(others, []);
  console.log(`  ${names.length} templates of the gallery are derived alike`);
});

test("the module is less than 2 MB when it is compressed", () => {
  const bytes = readFileSync(new URL("../page/module.wasm", import.meta.url));
  const compressed = gzipSync(bytes, { level: 9 }).length;
  console.log(`  the module has ${bytes.length} bytes, ${compressed} when it is compressed`);
  assert.ok(compressed < 2_000_000, String(compressed));
});

test("the module asks for nothing: no files, no clock, no threads", () => {
  const bytes = readFileSync(new URL("../page/module.wasm", import.meta.url));
  assert.deepEqual(WebAssembly.Module.imports(new WebAssembly.Module(bytes)), []);
});

test("a template that never ends comes to an end, or its thread can be ended", () => {
  const ask = load();
  const jinja = "{% for a in range(90000) %}{% for b in range(90000) %}{{ b }}{% endfor %}{% endfor %}";
  const { error } = ask({ do: "derive", chat_template: { jinja } });
  assert.match(error, /./);
});
