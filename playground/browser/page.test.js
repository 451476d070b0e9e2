// The page as people use it, in a browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { deflateRawSync } from "node:zlib";

import { isThere, start } from "./browser.js";
import { root } from "./module.js";

const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

describe("the page", { skip: isThere ? false : "there is no Chromium, or no page: build it with `playground/build`", concurrency: false }, () => {
  let setting;
  let faults;
  beforeEach(() => {
    faults = [];
  });
  afterEach(() => assert.deepEqual(faults, [], "the page has failed"));
  before(async () => {
    setting = await start();
  });
  after(() => setting?.stop());

  /** A page in a profile of its own. */
  async function fresh(options = {}, path = "", prepare = async () => {}) {
    const context = await setting.browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", acceptDownloads: true, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    page.on("pageerror", (error) => faults.push(String(error)));
    await prepare(page);
    await page.goto(setting.address + path);
    await page.waitForFunction(() => "ready" in document.documentElement.dataset);
    return page;
  }

  async function openGallery(page, name) {
    await page.click("#open-button");
    await page.click(`.gallery button:text-is("${name}")`);
    await page.waitForFunction((name) => document.querySelector("#proven").textContent.includes(` ${name}:`), name);
    await page.waitForFunction(() => document.querySelector(".place").textContent.startsWith("chunk "));
  }

  const template = (page) => page.evaluate(() => document.querySelector(".cm-content").cmTile?.view?.state.doc.toString() ?? document.querySelector(".cm-content").cmView.view.state.doc.toString());
  const text = (page, selector) => page.textContent(selector);

  /** Types over the whole of the editor. */
  async function write(page, content) {
    await page.click(".cm-content");
    await page.keyboard.press("Control+a");
    await page.evaluate((content) => {
      const data = new DataTransfer();
      data.setData("text/plain", content);
      document.querySelector(".cm-content").dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    }, content);
  }

  async function step(page, key, times = 1) {
    for (let time = 0; time < times; time++) {
      const before = await text(page, ".place");
      await page.keyboard.press(key);
      await page.waitForFunction((before) => document.querySelector(".place").textContent !== before, before);
    }
  }

  test("a template of the gallery is opened, proven, scrubbed, broken, mended and shared", async () => {
    const page = await fresh();
    await openGallery(page, "xml-calls");
    assert.match(await text(page, "#proven"), /^✓ proven xml-calls: (\d+) of \1 renderings recovered/);
    const derived = readFileSync(new URL("derived/xml-calls.json", root), "utf8");
    assert.equal(await template(page), derived);

    // To the first call.
    const samples = await page.locator("#samples option").evaluateAll((all) => all.map(({ value }) => value));
    const call = samples.find((name) => name.includes("call"));
    await page.selectOption("#samples", call);
    await page.waitForFunction(() => document.querySelector(".place").textContent.startsWith("chunk 0 "));
    await page.focus("pre.text");
    await step(page, "]");
    assert.match(await text(page, ".why"), /tool_calls opened/);
    await step(page, "ArrowRight");
    assert.match(await text(page, "table.message"), /tool_calls/);
    // Character by character, until something is held back.
    // The place is where it was, and counted in characters once the text has been cut anew.
    await step(page, "c");
    assert.equal(await page.inputValue("#chunking"), "character");
    // And then far into a delimiter.
    const held = () => page.evaluate(() => document.querySelector(".why code.held")?.textContent ?? "");
    for (let times = 0; (await held()).length < 6; times++) {
      assert.ok(times < 400, "nothing is ever held back for long");
      await step(page, "ArrowRight");
    }
    await draw(page, "playground.png");

    // Broken: an unknown key is underlined where it stands.
    const broken = derived.replace('"close_pattern"', '"close_patern"');
    assert.notEqual(broken, derived);
    await write(page, broken);
    await page.waitForSelector(".cm-lintRange-error");
    const [underlined, fault] = [await text(page, ".cm-lintRange-error"), await text(page, ".faults .error")];
    const line = broken.slice(0, broken.indexOf('"close_patern"')).split("\n").length;
    assert.match(fault, new RegExp(`line ${line}`), fault);
    assert.match(underlined + fault, /close_patern/);
    await draw(page, "playground-fault.png");

    // Mended, otherwise than it was.
    const mended = `${derived}\n`;
    await write(page, mended);
    await page.waitForSelector(".cm-lintRange-error", { state: "detached" });
    await page.waitForFunction(() => /^Written by hand/.test(document.querySelector("#template-summary").textContent));

    // Shared, and opened where nobody has been before.
    await page.click("#share-button");
    await page.waitForSelector("#share[open]");
    const link = await page.inputValue("#link");
    const shown = async (page) => ({
      template: await template(page),
      proven: await text(page, "#proven"),
      place: await text(page, ".place"),
      sample: await page.inputValue("#samples"),
      chunking: await page.inputValue("#chunking"),
      message: await text(page, "table.message"),
      events: await text(page, ".events"),
    });
    const expected = await shown(page);
    const other = await fresh({}, link.slice(setting.address.length));
    await other.waitForFunction((place) => document.querySelector(".place").textContent === place, expected.place);
    assert.deepEqual(await shown(other), expected);
    await other.context().close();
    await page.context().close();
  });

  test("a link of another version says why it is not opened", async () => {
    const page = await fresh({}, "#999.abc");
    assert.match(await text(page, "#status"), /version 999 .* reads version 1/);
    await page.context().close();
    for (const data of ["abc", deflateRawSync('{"name": "a').toString("base64url")]) {
      const damaged = await fresh({}, `#1.${data}`);
      assert.match(await text(damaged, "#status"), /damaged/);
      assert.match(await text(damaged, "#proven"), /^✓/, "an example is shown");
      await damaged.context().close();
    }
  });

  test("a module that could not be fetched is fetched again", async () => {
    const page = await fresh({}, "", (page) => page.route("**/module.wasm", (route) => route.abort()));
    assert.match(await text(page, "#status"), /No response template was derived/);
    await page.unroute("**/module.wasm");
    await openGallery(page, "channels");
    assert.match(await text(page, "#proven"), /^✓ proven channels/);
    await page.context().close();
  });

  /** Drops a file in the middle of the page. */
  const drop = (page, name, content) =>
    page.evaluate(
      ([name, content]) => {
        const data = new DataTransfer();
        data.items.add(new File([content], name));
        const event = (kind) => new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true });
        const target = document.querySelector("main") ?? document.body;
        target.dispatchEvent(event("dragover"));
        const marked = document.body.classList.contains("dropping");
        const left = target.dispatchEvent(event("drop"));
        return { marked, still: document.body.classList.contains("dropping"), left };
      },
      [name, content],
    );

  test("a file that is dropped on the page is opened", async () => {
    const page = await fresh();
    const jinja = readFileSync(new URL("examples/chat_template.jinja", root), "utf8");
    const dropped = await drop(page, "dropped.jinja", jinja);
    assert.deepEqual(dropped, { marked: true, still: false, left: false }, "the browser must not open it in place of the page");
    await page.waitForFunction(() => document.querySelector("#proven").textContent.includes(" dropped.jinja:"));
    assert.equal(await text(page, "#status"), "dropped.jinja: a chat template.");
    assert.equal(await page.inputValue("#jinja"), jinja);
    await page.context().close();
  });

  test("a file that is read late does not take the place of what was opened since", async () => {
    const page = await fresh();
    const jinja = readFileSync(new URL("examples/chat_template.jinja", root), "utf8");
    // The first file is read no further until it may be.
    await page.evaluate(() => {
      const read = Blob.prototype.arrayBuffer;
      const gate = new Promise((opened) => {
        window.release = opened;
      });
      Blob.prototype.arrayBuffer = async function () {
        const isFirst = !window.isHeld;
        if (isFirst) {
          window.isHeld = true;
          await gate;
        }
        return read.call(this);
      };
    });
    await drop(page, "late.jinja", jinja);
    await page.waitForFunction(() => window.isHeld);
    await openGallery(page, "channels");
    await page.evaluate(() => window.release());
    await page.waitForTimeout(500);
    assert.match(await text(page, "#proven"), /^✓ proven channels/);
    assert.equal(await text(page, "#status"), "");
    await page.context().close();
  });

  test("a template that never ends is stopped, and the page still answers", async () => {
    const page = await fresh();
    // Each rendering stays within what is counted, and there is no clock: all of them together take long.
    const loops = "{% for a in range(600) %}{% for b in range(600) %}{% if a == b %}{% endif %}{% endfor %}{% endfor %}";
    await page.evaluate((jinja) => {
      const field = document.querySelector("#jinja");
      field.value = jinja;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }, `${loops}{% for m in messages %}{{ m.role }}{{ m.content }}{% endfor %}`);
    await page.waitForSelector("#stop");
    // The page answers meanwhile.
    await page.click("#tab-findings");
    assert.equal(await page.getAttribute("#tab-findings", "aria-selected"), "true");
    await page.click("#stop");
    await page.waitForFunction(() => /stopped/.test(document.querySelector("#status").textContent));
    // Nothing else is begun with it.
    await page.waitForTimeout(1500);
    assert.match(await text(page, "#status"), /stopped/);
    await openGallery(page, "channels");
    await page.click("#tab-template");
    assert.match(await text(page, "#proven"), /^✓ proven channels/);
    await page.context().close();
  });

  test("an output full of markup shows as text", async () => {
    const page = await fresh();
    const output = `<img src=x onerror="window.broken=1"><script>window.broken=1</script><b>bold</b>\u202eturned<svg onload="window.broken=1">`;
    await page.click("#own-button");
    await page.fill("#own-output", output);
    await page.click('.own button[type="submit"]');
    await page.waitForFunction(() => document.querySelector("#samples").value === "typed");
    await page.focus("pre.text");
    await page.keyboard.press("End");
    await page.waitForFunction(() => /at the end/.test(document.querySelector(".place").textContent));
    const shown = await text(page, "pre.text");
    assert.ok(shown.includes(`onerror="window.broken=1"`), shown);
    assert.ok(shown.includes("\\u{202e}"), "what turns text round is shown by its number");
    assert.equal(await page.locator("pre.text img, pre.text script, pre.text b, pre.text svg, table.message img, .events img").count(), 0);
    assert.equal(await page.evaluate(() => window.broken), undefined);
    await page.context().close();
  });

  test("files of every kind are opened, and nothing leaves the browser", async () => {
    const page = await fresh();
    const jinja = readFileSync(new URL("examples/chat_template.jinja", root), "utf8");
    const responses = readFileSync(new URL("examples/template.json", root), "utf8");
    const fixture = ["response_template: {start_anchor: <bot>, fields: {content: {close: <end>}}}", "cases:", "  - {name: a greeting, output: Hello!<end>, message: {content: Hello!}}", ""].join("\n");
    const files = [
      ["chat_template.jinja", jinja, /a chat template/],
      ["tokenizer_config.json", JSON.stringify({ chat_template: jinja, eos_token: "<|end|>" }), /a configuration/],
      ["template.json", responses, /a response template/],
      ["greeting.fixture.yaml", fixture, /a fixture/],
      ["model.gguf", gguf(jinja), /only the head was read/],
    ];
    for (const [name, content, news] of files) {
      await page.click("#open-button");
      await page.setInputFiles("#file", { name, mimeType: "application/octet-stream", buffer: Buffer.from(content) });
      await page.waitForFunction(([name, news]) => document.querySelector("#status").textContent.startsWith(name) && new RegExp(news).test(document.querySelector("#status").textContent), [name, news.source]);
    }
    assert.equal((await page.locator("#samples option").allTextContents()).filter((name) => name.includes("greeting")).length, 0, "another chat template begins anew");
    await page.click("#open-button");
    await page.setInputFiles("#file", { name: "odd.json", mimeType: "application/json", buffer: Buffer.from("[1]") });
    await page.waitForFunction(() => /none of what can be opened/.test(document.querySelector("#status").textContent));
    const own = new Set(["index.html", "index.js", "index.css", "worker.js", "module.wasm", "dom.js"]);
    assert.deepEqual(setting.asked.filter((name) => !own.has(name)), []);
    await page.context().close();
  });

  test("conversations are rendered with their roles and masks, and grammars are written", async () => {
    const page = await fresh();
    await openGallery(page, "chatml-json-calls");
    await page.click("#tab-conversation");
    await page.click('#sheet-conversation button[type="submit"]');
    await page.waitForSelector("#sheet-conversation .slot-user");
    assert.match((await page.locator("#sheet-conversation .written").allTextContents()).join(""), /read_tide/);
    await draw(page, "playground-conversation.png");
    await page.click("#tab-grammar");
    await page.click('#sheet-grammar button[type="submit"]');
    await page.waitForSelector("#sheet-grammar pre");
    assert.match(await text(page, "#sheet-grammar pre"), /^root ::=/m);
    await page.context().close();
  });

  for (const colorScheme of ["light", "dark"])
    for (const width of [1280, 360])
      test(`nobody is kept out, where it is ${colorScheme} and ${width} pixels wide`, async () => {
        const page = await fresh({ colorScheme, viewport: { width, height: 800 } });
        await openGallery(page, "xml-calls");
        await page.focus("pre.text");
        await step(page, "]");
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.ok(overflow <= 0, `the page is ${overflow} pixels too wide`);
        await page.evaluate(axe);
        for (const tab of ["template", "proof", "findings", "chat", "conversation", "grammar"]) {
          await page.click(`#tab-${tab}`);
          const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
          const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
          assert.deepEqual(serious.map(({ id, nodes }) => [tab, id, nodes[0].html, nodes[0].failureSummary]), []);
        }
        await page.click("#tab-template");
        await page.context().close();
      });

  test("the editor completes by the schema", async () => {
    const page = await fresh();
    await write(page, '{"start_anchor": "a", "fields": {"content": {}}}');
    await page.keyboard.press("End");
    for (let times = 0; times < 3; times++) await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Control+Space");
    await page.waitForSelector(".cm-tooltip-autocomplete");
    const offered = await page.locator(".cm-tooltip-autocomplete li").allTextContents();
    for (const key of ["close", "open_pattern", "content_args"]) assert.ok(offered.some((text) => text.includes(`"${key}"`)), offered.join());
    await page.context().close();
  });

  test("a click goes to its place, and cuts where cuts are one's own", async () => {
    const page = await fresh();
    await page.click("#own-button");
    await page.fill("#own-output", "Hello, Brest!");
    await page.fill("#own-prefix", "");
    await page.click('.own button[type="submit"]');
    // Asked for at once, since the text is drawn anew as it is read.
    const found = await page.waitForFunction(() => {
      const shown = [...document.querySelectorAll("pre.text [data-at]")].find(({ textContent }) => textContent.includes("Brest"));
      return shown?.getBoundingClientRect().toJSON();
    });
    const box = await found.jsonValue();
    const at = (letter) => [box.x + (box.width / 13) * letter + 1, box.y + box.height / 2];
    await page.mouse.click(...at(7));
    await page.waitForFunction(() => /byte (7|8|9|1\d) of 13/.test(document.querySelector(".place").textContent));
    await page.selectOption("#chunking", "own");
    await page.waitForFunction(() => /of 1,/.test(document.querySelector(".place").textContent));
    await page.mouse.click(...at(7));
    await page.waitForFunction(() => document.querySelector("#own-cuts").value === "7");
    await page.waitForFunction(() => /of 2,/.test(document.querySelector(".place").textContent));
    await page.fill("#own-cuts", "2, 5");
    await page.press("#own-cuts", "Enter");
    await page.waitForFunction(() => /of 3,/.test(document.querySelector(".place").textContent));
    await page.context().close();
  });

  test("all can be reached by keys alone", async () => {
    const page = await fresh();
    const reached = new Set();
    for (let times = 0; times < 120; times++) {
      await page.keyboard.press("Tab");
      reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.className || document.activeElement.textContent));
    }
    for (const control of ["open-button", "share-button", "keys-button", "tab-template", "samples", "slider", "play", "chunking"]) assert.ok(reached.has(control), `${control} of ${[...reached].join(", ")}`);
    await page.context().close();
  });
});

/** Draws a picture, where a folder for them is named. */
async function draw(page, name) {
  const folder = process.env.PICTURES;
  if (folder) await page.screenshot({ path: `${folder}/${name}` });
}

/** A GGUF file with a chat template in its metadata, and weights of which nothing is to be read. */
function gguf(template) {
  const number = (value, size) => {
    const bytes = Buffer.alloc(size);
    if (size === 8) bytes.writeBigUInt64LE(BigInt(value));
    else bytes.writeUInt32LE(value);
    return bytes;
  };
  const string = (value) => Buffer.concat([number(Buffer.byteLength(value), 8), Buffer.from(value)]);
  const head = [Buffer.from("GGUF"), number(3, 4), number(0, 8), number(1, 8), string("tokenizer.chat_template"), number(8, 4), string(template)];
  return Buffer.concat([...head, Buffer.alloc(6 << 20)]);
}
