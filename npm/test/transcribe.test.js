// What the package makes of outputs at all cuts is what the library makes of them; `capi/examples/transcribe.rs` has the cases, and does the same.
// Where an output is cut between characters, its pieces are texts; else they are bytes.
import { execFileSync } from "node:child_process";
import assert from "node:assert/strict";
import { test } from "node:test";

import { ResponseParser, ResponseTemplate } from "unjinja/parser";

const cargo = ["run", "--quiet", "--package", "unjinja-capi", "--example", "transcribe", "--"];
const run = (options, input) =>
  execFileSync("cargo", [...cargo, ...options], { input, maxBuffer: 1 << 28, stdio: ["pipe", "pipe", "inherit"] });

const encoder = new TextEncoder();

/** The parser, with the values of regions as the JSON that they are written in. */
class Plain extends ResponseParser {
  value(json) {
    return json;
  }
}

class Checksum {
  sum = 0x811c9dc5;

  add(bytes) {
    for (const byte of bytes) this.sum = Math.imul(this.sum ^ byte, 0x01000193);
  }

  /** A text behind its length. */
  say(text) {
    const bytes = encoder.encode(text);
    this.add(encoder.encode(`${bytes.length}:`));
    this.add(bytes);
  }

  event(event) {
    this.say(`${event.dirty ? "dirty " : ""}${event.type.slice("region_".length)}`);
    this.say(event.field);
    for (const [name, text] of Object.entries(event.captures ?? {})) {
      this.say(name);
      this.say(text);
    }
    for (const key of ["text", "value", "raw", "error"]) if (key in event) this.say(event[key]);
    if (event.span) this.say(event.span.join(" "));
  }
}

function* cases(bytes) {
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(10, at);
    const lengths = bytes.subarray(at, end).toString().split(" ").map(Number);
    at = end + 1;
    yield lengths.map((length) => bytes.subarray(at, (at += length)));
  }
}

const CAMEL = { on_malformed: "onMalformed" };

function transcribe([template, prefix, options, output]) {
  const sum = new Checksum();
  let read;
  try {
    read = new ResponseTemplate(template.toString());
  } catch (error) {
    sum.say(error.message);
    return sum.sum;
  }
  const given = Object.entries(JSON.parse(options.toString())).map(([key, value]) => [CAMEL[key] ?? key, value]);
  const named = Object.fromEntries(given);
  const begins = (at) => at === output.length || (output[at] & 0xc0) !== 0x80;
  const reading = (ends) => {
    try {
      const parser = new Plain(read, prefix.toString(), named);
      const hear = (events) => events.forEach((event) => sum.event(event));
      hear(parser.initialEvents);
      let at = 0;
      for (const end of ends) {
        const piece = output.subarray(at, end);
        hear(parser.feed(begins(at) && begins(end) ? piece.toString() : piece));
        at = end;
      }
      const { message, events } = parser.finalize();
      hear(events);
      sum.say(message);
    } catch (error) {
      error.events.forEach((event) => sum.event(event));
      sum.say(error.message);
    }
  };
  const step = 1 + Math.floor(output.length / 1000) * 63;
  for (let cut = 0; cut <= output.length; cut += step) reading([cut, output.length]);
  reading(Array.from(output, (_, i) => i + 1));
  return sum.sum;
}

test("the events and messages are those of the library, at all cuts", () => {
  const written = run(["cases", process.env.EVERY ?? "8"], "");
  const expected = run([], written).toString().trimEnd().split("\n");
  let number = 0;
  for (const parts of cases(written)) {
    const found = (transcribe(parts) >>> 0).toString(16).padStart(8, "0");
    assert.equal(found, expected[number], `case ${number}: ${parts[3]}\n${parts[0]}`);
    number += 1;
  }
  assert.equal(number, expected.length);
});
