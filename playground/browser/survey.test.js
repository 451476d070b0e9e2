// The page of a survey, opened from a file as people do, over the gallery. It is no part of the playground, but needs the same browser.
//
// Figures of a larger survey are printed if SURVEY names its page.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

import { executable } from "./browser.js";
import { root } from "./module.js";

const programs = [process.env.UNJINJA, ...["debug", "release"].map((profile) => fileURLToPath(new URL(`target/${profile}/unjinja`, root)))];
const program = programs.find((path) => path && existsSync(path));
const skip = existsSync(executable) && program ? false : "there is no Chromium, or no program: build it with `cargo build`";
const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

describe("the page of a survey", { skip, concurrency: false }, () => {
  let browser, folder, address;
  let faults;
  beforeEach(() => {
    faults = [];
  });
  afterEach(() => assert.deepEqual(faults, [], "the page has failed"));
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "survey-"));
    const [rows, page] = ["rows.jsonl", "page.html"].map((name) => join(folder, name));
    execFileSync(program, ["survey", "chat_templates", "-q", "-o", rows, "--html", page], { cwd: fileURLToPath(root) });
    address = pathToFileURL(page).href;
    browser = await chromium.launch({ executablePath: executable, args: ["--no-sandbox", "--disable-gpu"] });
  });
  after(async () => {
    await browser?.close();
    if (folder) rmSync(folder, { recursive: true });
  });

  async function fresh(options = {}, hash = "", from = address) {
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, reducedMotion: "reduce", ...options });
    const page = await context.newPage();
    page.on("pageerror", (error) => faults.push(String(error)));
    page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
    page.on("request", (request) => /^(file|data):/.test(request.url()) || faults.push(`asks for ${request.url()}`));
    await page.goto(from + hash);
    await page.waitForFunction(() => "ready" in document.documentElement.dataset);
    return page;
  }

  const names = (page) => page.locator("tbody tr td:first-child").allTextContents();

  test("what is typed is looked for in names, markers and lints, and what is chosen is all that is shown", async () => {
    const page = await fresh();
    const all = await names(page);
    assert.equal(all.length, 35);
    await page.fill("#find", "tool_calls_section_begin");
    assert.deepEqual(await names(page), ["chat_templates/numbered-call-ids.jinja"]);
    assert.equal(await page.textContent("#count"), "1 of 35 sources");
    await page.fill("#find", "");
    await page.selectOption("#standing", "partly");
    assert.deepEqual(await names(page), ["chat_templates/python-dict-calls.jinja"]);
    await page.selectOption("#standing", "");
    await page.selectOption("#lint", "J009");
    assert.equal((await names(page)).length, 2);
  });

  test("the titles of columns sort, and their families come and go", async () => {
    const page = await fresh();
    const first = (await names(page))[0];
    await page.click("thead button:has-text('source')");
    assert.notEqual((await names(page))[0], first);
    assert.equal(await page.getAttribute("thead th", "aria-sort"), "descending");
    const before = await page.locator("thead th").count();
    await page.check("#family-capabilities");
    assert.equal(await page.locator("thead th").count(), before + 14);
  });

  test("a format has its explanation, tree, response template and proof, and an address of its own", async () => {
    const page = await fresh();
    await page.click("tbody button:has-text('xml-calls.jinja')");
    await page.waitForSelector("#format:not([hidden])");
    const titles = await page.locator("#format h3").allTextContents();
    for (const title of ["Explanation", "Tree", "Response template", "Why each delimiter is there", "Proof"]) assert.ok(titles.includes(title), title);
    const shown = JSON.parse(await page.textContent("#format pre[aria-label='The response template']"));
    const derived = JSON.parse(readFileSync(new URL("derived/xml-calls.json", root), "utf8"));
    assert.deepEqual(shown, derived);
    assert.equal(await page.evaluate(() => document.activeElement.id), "format");
    const again = await fresh({}, new URL(page.url()).hash);
    await again.waitForSelector("#format:not([hidden])");
    assert.equal(await again.textContent("#format-title"), "chat_templates/xml-calls.jinja");
  });

  test("the picture leads to formats, and markers that formats share stand in one row", async () => {
    const page = await fresh();
    await page.waitForSelector("#matrix svg");
    const markers = await page.locator("#matrix text").allTextContents();
    assert.ok(markers.indexOf("<think>") < 6, markers.join(" "));
    await page.focus("#matrix a");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#format:not([hidden])");
  });

  test("all of it goes by the keyboard", async () => {
    const page = await fresh();
    await page.keyboard.press("/");
    await page.keyboard.type("plain-turns");
    assert.equal((await names(page)).length, 1);
    for (let times = 0; times < 40; times++) {
      await page.keyboard.press("Tab");
      if (await page.evaluate(() => document.activeElement.closest("tbody") !== null)) break;
    }
    await page.keyboard.press("Enter");
    await page.waitForSelector("#format:not([hidden])");
    assert.equal(await page.textContent("#format-title"), "chat_templates/plain-turns.jinja");
  });

  test("axe-core finds nothing to object to, in light and in the dark, in a window of any width", async () => {
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [1400, 420]) {
        const page = await fresh({ colorScheme, viewport: { width, height: 900 }, bypassCSP: true });
        await page.click("tbody button >> nth=0");
        await page.waitForSelector("#format:not([hidden])");
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        const shown = violations.map(({ id, nodes }) => `${id}: ${nodes[0].html} ${nodes[0].failureSummary}`);
        assert.deepEqual(shown, [], `${colorScheme}, ${width}`);
        await page.context().close();
      }
    }
  });

  test("figures", async () => {
    const from = process.env.SURVEY ? pathToFileURL(process.env.SURVEY).href : address;
    const opened = [];
    const filtered = [];
    for (let times = 0; times < 5; times++) {
      const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
      const page = await context.newPage();
      await page.addInitScript(() => {
        new MutationObserver((_, observer) => {
          if ("ready" in (document.documentElement?.dataset ?? {})) {
            observer.disconnect();
            requestAnimationFrame(() => setTimeout(() => (window.seen = performance.now())));
          }
        }).observe(document, { attributes: true, childList: true, subtree: true });
      });
      await page.goto(from);
      await page.waitForFunction(() => window.seen);
      opened.push(await page.evaluate(() => [window.seen, performance.getEntriesByType("navigation")[0].loadEventEnd]));
      filtered.push(...(await page.evaluate(async () => {
        const times = [];
        for (const word of ["x", "xm", "xml", "j012", ""]) {
          const field = document.getElementById("find");
          field.value = word;
          const start = performance.now();
          field.dispatchEvent(new Event("input"));
          document.body.offsetHeight;
          times.push(performance.now() - start);
        }
        return times;
      })));
      await context.close();
    }
    const rounded = (times) => times.map((time) => time.toFixed(0)).join(", ");
    console.log(`  from opening the file to the table on the screen: ${rounded(opened.map(([seen]) => seen))} ms; to the end of the file: ${rounded(opened.map(([, end]) => end))} ms`);
    console.log(`  what is typed, filtered and laid out: ${rounded(filtered)} ms`);
  });

  test("the picture for the documents", { skip: process.env.PICTURES ? false : "PICTURES names no folder" }, async () => {
    const page = await fresh({ viewport: { width: 1400, height: 950 }, colorScheme: "light" });
    await page.waitForSelector("#matrix svg");
    await page.screenshot({ path: join(process.env.PICTURES, "survey.png") });
    await page.locator("#relations").screenshot({ path: join(process.env.PICTURES, "survey-relations.png") });
  });
});
