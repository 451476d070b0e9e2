// The module without a page: what it derives is what the program prints, which `derived/` holds.

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
    const { template } = ask({ do: "derive", now: "2026-01-01T00:00:00", chat_template: { name, jinja } });
    return template !== printed;
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

test("whatever nests or never ends, the module answers", () => {
  const around = (before, inner, behind, times) => before.repeat(times) + inner + behind.repeat(times);
  const jinjas = [
    "{% for a in range(90000) %}{% for b in range(90000) %}{{ b }}{% endfor %}{% endfor %}",
    `{{ ${"'a' + ".repeat(950)}'b' }}`,
    `{{ a${".b".repeat(950)} }}`,
    `{% if a %}${"{% elif b %}x".repeat(1900)}{% endif %}`,
    `{{ ${around("(", "1", ")", 500)} }}`,
    "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
    "{{ strftime_now('%Y') }}",
  ];
  const templates = [
    around("[", "", "]", 990),
    around('{"a":', "1", "}", 980),
    JSON.stringify({ start_anchor: "a", fields: { content: { close_pattern: around("(", "a", ")", 249) } } }),
  ];
  const ask = load();
  for (const jinja of jinjas) {
    const derive = () => ask({ do: "derive", chat_template: { jinja } });
    assert.throws(derive, { kind: "argument" }, jinja.slice(0, 60));
  }
  for (const template of templates) assert.ok(ask({ do: "check", template }), template.slice(0, 60));
});
