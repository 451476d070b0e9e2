// How long people wait: figures are printed, and nothing is asserted of them, since machines differ.

import { after, before, describe, test } from "node:test";

import { isThere, start } from "./browser.js";

describe("figures", { skip: isThere ? false : "there is no Chromium, or no page: build it with `playground/build`", concurrency: false }, () => {
  let setting;
  before(async () => {
    setting = await start();
  });
  after(() => setting?.stop());

  test("from opening the page to the first derived template", async () => {
    const opened = [];
    for (let times = 0; times < 5; times++) {
      const context = await setting.browser.newContext();
      const page = await context.newPage();
      const start = performance.now();
      await page.goto(setting.address);
      await page.waitForFunction(() => /^✓|^✗/.test(document.querySelector("#proven")?.textContent ?? ""), undefined, { polling: "raf" });
      opened.push(performance.now() - start);
      await context.close();
    }
    console.log(`  from opening the page to the first derived template: ${opened.map((time) => time.toFixed(0)).join(", ")} ms`);
  });

  test("a key amid a megabyte", async () => {
    const page = await setting.browser.newPage();
    await page.goto(setting.address);
    await page.waitForFunction(() => "ready" in document.documentElement.dataset);
    await page.evaluate(() => {
      document.querySelector("#own-button").click();
      const paragraph = "The tide rises and falls twice a day, and nobody <calls> it back.\n";
      document.querySelector("#own-output").value = paragraph.repeat(Math.ceil((1 << 20) / paragraph.length));
      document.querySelector("#chunking").value = "character";
      document.querySelector("#chunking").dispatchEvent(new Event("change"));
      document.querySelector('.own button[type="submit"]').click();
    });
    await page.waitForFunction(() => / byte \d+ of 10\d{5}/.test(document.querySelector(".place").textContent));
    await page.keyboard.press("End");
    await page.waitForFunction(() => /at the end/.test(document.querySelector(".place").textContent), undefined, { timeout: 120_000 });
    const times = await page.evaluate(async () => {
      const slider = document.querySelector("#slider");
      slider.focus();
      const place = document.querySelector(".place");
      const times = [];
      const press = (act) =>
        new Promise((done) => {
          const start = performance.now();
          const observer = new MutationObserver(() => {
            observer.disconnect();
            // The text is laid out and about to be drawn.
            requestAnimationFrame(() => {
              document.body.offsetHeight;
              times.push(performance.now() - start);
              done();
            });
          });
          observer.observe(place, { childList: true, characterData: true, subtree: true });
          act();
        });
      const key = (key) => press(() => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })));
      const to = (part) =>
        press(() => {
          slider.value = String(Math.floor(Number(slider.max) * part));
          slider.dispatchEvent(new Event("input"));
        });
      for (const part of [0.1, 0.9, 0.5, 0.49, 0.7, 0.3]) {
        await to(part);
        for (const name of ["ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft", ".", ","]) await key(name);
      }
      return times;
    });
    times.sort((a, b) => a - b);
    const at = (part) => times[Math.floor((times.length - 1) * part)].toFixed(1);
    console.log(`  a key amid a megabyte, by character: median ${at(0.5)} ms, slowest of ${times.length} ${at(1)} ms`);
  });
});
