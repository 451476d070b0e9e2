//! What the library makes of outputs at all cuts, for the libraries in other languages to be compared with.
//!
//! `transcribe cases N` writes every Nth of the cases: of the engine's tests, of the gallery's fixtures, and of recorded cases where these lie
//! beside the project.
//! `transcribe` reads cases and writes a line for each: a checksum of all that is reported, with the output cut at each byte, and
//! byte by byte. `capi/tests/transcribe.c` and `npm/test/transcribe.test.js` do the same.

use std::error::Error;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use unjinja::check::{Fixture, find};
use unjinja::{
    Event, Object, OnMalformed, ParseError, ParserOptions, ResponseParser, ResponseTemplate, Tools,
    Utf8Decoder, Value, json,
};

type Failed = Box<dyn Error>;

fn main() -> Result<(), Failed> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    match std::env::args().nth(1).as_deref() {
        Some("cases") => {
            let every = std::env::args().nth(2).as_deref().unwrap_or("1").parse()?;
            for (number, case) in cases()?.iter().enumerate().step_by(every) {
                case.write(number, &mut out)?;
            }
        }
        None => {
            let mut input = std::io::stdin().lock();
            while let Some(parts) = read_parts(&mut input)? {
                writeln!(out, "{:08x}", transcribe(&parts)?)?;
            }
        }
        Some(other) => return Err(format!("there is no `{other}`: there is `cases`").into()),
    }
    Ok(out.flush()?)
}

/// An output of so many bytes is long.
const LONG: usize = 1000;

/// An output with all that it is read by.
struct Case {
    template: String,
    prefix: String,
    tools: Value,
    output: String,
}

impl Case {
    /// A line with the lengths of the parts, and the parts.
    fn write(&self, number: usize, out: &mut impl Write) -> std::io::Result<()> {
        let mut options = Object::from_iter([("spans", Value::from(true))]);
        // Every other one of those that are written, however many these are.
        if number / 3 % 2 == 1 {
            options.insert("on_malformed", "event");
        }
        if !self.tools.is_null() {
            options.insert("tools", self.tools.clone());
        }
        let options = json::write(&options.into());
        let parts = [&self.template, &self.prefix, &options, &self.output];
        let lengths = parts.map(|part| part.len().to_string());
        writeln!(out, "{}", lengths.join(" "))?;
        parts
            .iter()
            .try_for_each(|part| out.write_all(part.as_bytes()))
    }
}

fn cases() -> Result<Vec<Case>, Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut cases = Vec::new();
    let mut files: Vec<PathBuf> = std::fs::read_dir(root.join("tests/engine"))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.sort();
    for file in files {
        let read = json::read(&std::fs::read_to_string(&file)?)?;
        cases.extend(
            read.as_array()
                .unwrap_or_default()
                .iter()
                .filter_map(of_engine),
        );
    }
    for path in find(&[root.join("derived")]) {
        let fixture =
            Fixture::load(&path).map_err(|error| format!("{}: {error:?}", path.display()))?;
        cases.extend(fixture.cases().iter().map(|case| Case {
            template: json::write(fixture.template().as_value()),
            prefix: case.prefix.clone(),
            tools: case.tools.as_value().clone(),
            output: case.output.clone(),
        }));
    }
    let recorded = root.join("../shared/cases").join("response_template.jsonl");
    match std::fs::read_to_string(&recorded) {
        Ok(lines) => {
            for line in lines.lines() {
                cases.extend(of_recorded(&json::read(line)?));
            }
        }
        Err(_) => eprintln!("skipped: there are no recorded cases beside the project"),
    }
    eprintln!("{} cases", cases.len());
    Ok(cases)
}

/// A case of the engine's tests, if it has a template and a text.
fn of_engine(case: &Value) -> Option<Case> {
    let text = |key| case.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(Case {
        template: json::write(case.get("template")?),
        prefix: text("prefix").unwrap_or_default(),
        tools: case.get("tools").cloned().unwrap_or(Value::Null),
        output: text("text")?,
    })
}

fn of_recorded(case: &Value) -> Option<Case> {
    let chunks = case.get("chunks")?.as_array()?.iter();
    let chunks: Option<String> = chunks.map(Value::as_str).collect();
    Some(Case {
        template: json::write(case.get("response_template")?),
        prefix: case.get("prefix")?.as_str()?.to_owned(),
        tools: case.get("tools").cloned().unwrap_or(Value::Null),
        output: chunks?,
    })
}

fn read_parts(input: &mut impl BufRead) -> Result<Option<[Vec<u8>; 4]>, Failed> {
    let mut lengths = String::new();
    if input.read_line(&mut lengths)? == 0 {
        return Ok(None);
    }
    let mut parts: [Vec<u8>; 4] = Default::default();
    for (part, length) in parts.iter_mut().zip(lengths.split_whitespace()) {
        part.resize(length.parse()?, 0);
        input.read_exact(part)?;
    }
    Ok(Some(parts))
}

/// FNV-1a of all that is said.
struct Checksum(u32);

impl Checksum {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        }
    }

    /// A text behind its length.
    fn say(&mut self, text: &str) {
        self.add(format!("{}:", text.len()).as_bytes());
        self.add(text.as_bytes());
    }

    fn event(&mut self, event: &Event<'_>) {
        let span = match event {
            Event::Open { opening, .. } => opening.as_ref().map(|opening| opening.span.clone()),
            Event::Close { span, .. } | Event::Malformed { span, .. } => span.clone(),
            _ => None,
        };
        let flags = match event {
            Event::Open { .. } => "open",
            Event::Chunk { dirty: false, .. } => "chunk",
            Event::Chunk { .. } => "dirty chunk",
            Event::Close { .. } => "close",
            Event::Malformed { .. } => "malformed",
            _ => "unknown",
        };
        self.say(flags);
        self.say(event.field());
        match event {
            Event::Open { opening, .. } => {
                for capture in opening.iter().flat_map(|opening| opening.captures.iter()) {
                    self.say(&capture.name);
                    self.say(&capture.text);
                }
            }
            Event::Chunk { text, .. } => self.say(text),
            Event::Close { value, .. } => self.say(&json::write(value)),
            Event::Malformed { raw, error, .. } => {
                self.say(raw);
                self.say(error);
            }
            _ => {}
        }
        if let Some(span) = span {
            self.say(&format!("{} {}", span.start, span.end));
        }
    }
}

fn transcribe(parts: &[Vec<u8>; 4]) -> Result<u32, Failed> {
    let [template, prefix, options, output] = parts;
    let mut sum = Checksum(0x811c_9dc5);
    let template = match ResponseTemplate::from_config(std::str::from_utf8(template)?) {
        Ok(template) => template,
        Err(error) => {
            sum.say(&error.to_string());
            return Ok(sum.0);
        }
    };
    let prefix = std::str::from_utf8(prefix)?;
    let options = options_of(&json::read(std::str::from_utf8(options)?)?);
    let mut read = |pieces: &[&[u8]]| match reading(&template, prefix, &options, pieces, &mut sum) {
        Ok(message) => sum.say(&json::write(&message.into())),
        Err(error) => sum.say(&error.to_string()),
    };
    // All cuts but of long outputs, which are there for their length.
    let step = 1 + output.len() / LONG * 63;
    for cut in (0..=output.len()).step_by(step) {
        let (before, after) = output.split_at(cut);
        read(&[before, after]);
    }
    read(&output.chunks(1).collect::<Vec<_>>());
    Ok(sum.0)
}

fn options_of(options: &Value) -> ParserOptions {
    ParserOptions::default()
        .spans(true)
        .on_malformed(match options.get("on_malformed") {
            Some(_) => OnMalformed::Event,
            None => OnMalformed::Fail,
        })
        .tools(
            options
                .get("tools")
                .map_or(Tools::none(), Tools::from_value),
        )
}

fn reading(
    template: &ResponseTemplate,
    prefix: &str,
    options: &ParserOptions,
    pieces: &[&[u8]],
    sum: &mut Checksum,
) -> Result<Object, ParseError> {
    let mut decoder = Utf8Decoder::new();
    let mut hear = |event: Event<'_>| sum.event(&event);
    let mut parser = ResponseParser::new(template, prefix, options.clone())?;
    parser
        .initial_events()
        .iter()
        .for_each(|event| hear(event.as_event()));
    for piece in pieces {
        parser.feed_with(&decoder.push(piece), &mut hear)?;
    }
    parser.feed_with(decoder.finish(), &mut hear)?;
    parser.finalize_with(&mut hear)
}
