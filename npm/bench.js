// How long a chunk of four bytes takes, with its events, beside the parser of the transformers library in the same run.
//
//   node npm/bench.js [PYTHON]
//
// PYTHON is a python3 with transformers; without it, the package is measured alone.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

import { ResponseParser, ResponseTemplate } from "unjinja/parser";

const read = (name) => readFileSync(new URL(`../examples/${name}`, import.meta.url), "utf8");
const template = read("template.json");
const prompt = read("prompt.txt");
const [thought, rest] = read("output.txt").split("</think>");
// A long answer, as most are.
const output = `${thought.repeat(400)}</think>${rest.replace("Let me", "Let me look. ".repeat(1200) + "Let me")}`;
const chunks = output.match(/[^]{1,4}/g);

function once(parserOf) {
  const parser = parserOf();
  let events = 0;
  // Of the processor's time, since other programs may run beside.
  const begun = process.cpuUsage();
  for (const chunk of chunks) events += parser.feed(chunk).length;
  events += parser.finalize().events.length;
  const { user, system } = process.cpuUsage(begun);
  return { time: ((user + system) * 1000) / chunks.length, events };
}

const known = new ResponseTemplate(template);
const runs = Array.from({ length: 100 }, () => once(() => new ResponseParser(known, prompt)));
const best = Math.min(...runs.map((run) => run.time));
const median = runs.map((run) => run.time).sort((a, b) => a - b)[50];
console.log(`${chunks.length} chunks of 4 bytes, ${runs[0].events} events`);
console.log(`unjinja in Node ${process.version}: ${best.toFixed(0)} ns a chunk, ${median.toFixed(0)} in the median of ${runs.length}`);

const [, , python] = process.argv;
if (python) {
  const program = `
import json, sys, time
from transformers.utils.chat_parsing import ResponseParser
given = json.load(sys.stdin)
best = None
for _ in range(5):
    parser = ResponseParser(given["template"], prefix=given["prompt"])
    begun = time.process_time_ns()
    for chunk in given["chunks"]:
        parser.feed(chunk)
    parser.finalize()
    took = (time.process_time_ns() - begun) / len(given["chunks"])
    best = took if best is None else min(best, took)
print(best)
`;
  const input = JSON.stringify({ template: JSON.parse(template), prompt, chunks });
  const reference = Number(execFileSync(python, ["-c", program], { input, stdio: ["pipe", "pipe", "ignore"] }).toString());
  console.log(`transformers in Python: ${reference.toFixed(0)} ns a chunk, ${(reference / best).toFixed(0)} times as long`);
}

for (const name of ["parser.wasm", "unjinja.wasm"]) {
  const bytes = readFileSync(new URL(`dist/${name}`, import.meta.url));
  console.log(`${name}: ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} with gzip`);
}
