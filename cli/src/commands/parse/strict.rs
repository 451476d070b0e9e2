//! Reading outputs strictly, by the format of a chat template and the tools of a request.

use crate::printing;
use unjinja::grammar::{Delta, Fault, FaultKind, Grammar, Stream};
use unjinja::{Object, Tools, Value, json};

use super::{Args, Cutter, EMPTY, Ended, Failure, Reply, chunks, input, warn};
use crate::commands::request::Formats;

/// Reads the output by the grammar of a chat template, and prints its message.
pub(super) fn run(args: &Args, source: &str) -> Result<(), Failure> {
    let template = args.options.load(source)?;
    let formats = Formats::new(&args.options, template);
    if let Some(batch) = args.batch()? {
        return batch.run(|case| answer(args, &formats, case));
    }
    let tools = match &args.tools {
        Some(path) => input::read_tools(path)?,
        None => Tools::none(),
    };
    let grammar = formats.grammar(&args.request, &tools, args.prefix()?)?;
    grammar.warnings.iter().for_each(|warning| warn(warning));
    parse(args, &grammar)
}

fn parse(args: &Args, grammar: &Grammar) -> Result<(), Failure> {
    let name = match &args.output {
        Some(path) => input::name(path),
        None => "standard input".to_owned(),
    };
    let mut stream = grammar.stream();
    let mut cutter = Cutter::new(args.chunk);
    let mut text = String::new();
    let mut feed = |piece: &str| {
        text.push_str(piece);
        let deltas = stream.feed(piece);
        let deltas = deltas.map_err(|fault| wrong(&name, &text, &fault))?;
        print(args.events, &deltas)
    };
    let ended = args.read(|piece| cutter.cut(piece, &mut feed))?;
    cutter.finish(&mut feed)?;
    if let Ended::Broken(why) = ended {
        return Err(Failure::Input(why));
    }
    if text.is_empty() {
        warn(EMPTY);
    }
    let finished = stream.finish();
    let (deltas, message) = finished.map_err(|fault| wrong(&name, &text, &fault))?;
    print(args.events, &deltas)?;
    if args.events {
        let last = [
            ("type", Value::from("message")),
            ("message", message.into()),
        ];
        return printing::print(json::write(&Object::from_iter(last).into()) + "\n");
    }
    printing::print(json::write_styled(&message.into(), &json::Style::pretty(2)) + "\n")
}

/// A fault with its place, what could have stood there, and what does.
fn wrong(name: &str, text: &str, fault: &Fault) -> Failure {
    let place = fault.position(text);
    let (line, column) = place.line_column();
    let found = match fault.kind {
        FaultKind::Unexpected => format!(", found {}", found(&text[place.offset..])),
        _ => String::new(),
    };
    Failure::Wrong(format!("{name}:{line}:{column}: {}{found}", fault.reason()))
}

/// So many characters of what stands at a fault are shown.
const SHOWN: usize = 24;

/// The beginning of what stands at a fault, up to the end of its line.
fn found(rest: &str) -> String {
    let line = rest.split_inclusive('\n').next().unwrap_or_default();
    match line.chars().take(SHOWN).collect::<String>() {
        shown if shown.is_empty() => "the end of the text".to_owned(),
        shown => json::write(&shown.into()),
    }
}

/// Prints differences as lines, if they are wanted.
fn print(are_wanted: bool, deltas: &[Delta]) -> Result<(), Failure> {
    if !are_wanted || deltas.is_empty() {
        return Ok(());
    }
    let lines = deltas.iter();
    let lines: String = lines
        .map(|delta| json::write(&delta.to_value()) + "\n")
        .collect();
    printing::stream(lines)
}

/// Answers one case of a batch.
fn answer(args: &Args, formats: &Formats<'_>, case: &Object) -> Reply {
    let mut reply = Reply::default();
    let grammar = match formats.grammar_of_case(&args.request, case) {
        Ok(grammar) => grammar,
        Err(error) => {
            reply.answer.insert("load_error", error);
            return reply;
        }
    };
    reply.warnings = grammar.warnings.clone();
    let pieces = match chunks(case) {
        Ok(pieces) => pieces,
        Err((error, place)) => {
            reply.answer.insert("error", error);
            reply.answer.insert("error_at", place);
            return reply;
        }
    };
    let mut events = Vec::new();
    let ended = replay(grammar.stream(), &pieces, &mut events);
    if args.gives_events() {
        reply.answer.insert("events", events);
    }
    match ended {
        Ok((last, message)) => {
            if args.gives_events() {
                reply.answer.insert("final_events", values(&last));
            }
            reply.answer.insert("message", message);
        }
        Err(fault) => {
            let place = fault.position(&pieces.concat());
            let expected = fault.expected.iter().map(String::as_str);
            reply.answer.insert("error", fault.reason());
            reply.answer.insert("error_at", place.to_value());
            reply.answer.insert("expected", expected.collect::<Value>());
        }
    }
    reply
}

fn values(deltas: &[Delta]) -> Value {
    deltas.iter().map(Delta::to_value).collect()
}

/// What is new with each piece, up to a fault; then with the end, and the message.
fn replay(
    mut stream: Stream<'_>,
    pieces: &[String],
    events: &mut Vec<Value>,
) -> Result<(Vec<Delta>, Object), Fault> {
    for piece in pieces {
        events.push(values(&stream.feed(piece)?));
    }
    stream.finish()
}
