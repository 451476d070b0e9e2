// A browser with the page in it.

import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname } from "node:path";

import { chromium } from "playwright-core";

const dist = new URL("../dist/", import.meta.url);
const kinds = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };

/** Where Chromium is. */
export const executable = process.env.CHROMIUM ?? "/usr/bin/chromium";
export const isThere = existsSync(executable) && existsSync(new URL("index.html", dist));

/** Serves the page that was built, and opens a browser. What the page asks for is noted in `asked`. */
export async function start() {
  const asked = [];
  const server = createServer((request, response) => {
    const name = new URL(request.url, "http://localhost").pathname.slice(1) || "index.html";
    asked.push(name);
    const file = new URL(name, dist);
    if (!file.href.startsWith(dist.href) || !existsSync(file)) return response.writeHead(404).end();
    response.writeHead(200, { "Content-Type": kinds[extname(name)] ?? "application/octet-stream" }).end(readFileSync(file));
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
  const browser = await chromium.launch({ executablePath: executable, args: flags });
  return {
    browser,
    asked,
    address: `http://127.0.0.1:${server.address().port}/`,
    async stop() {
      await browser.close();
      server.close();
    },
  };
}
