//! `unjinja parse`: an output into a message, or into events.

mod by_schema;
mod many;
mod openai;
mod strict;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::ValueEnum;

use crate::printing;
use unjinja::check::Reader;
use unjinja::files::ReadFault;
use unjinja::profile::Target;
use unjinja::response::Language;
use unjinja::response_schema::ResponseSchema;
use unjinja::{
    Event, EventWriter, Object, OnMalformed, OnUnread, ParseError, ParserOptions, ResponseParser,
    ResponseTemplate, Tools, Unfinished, Value, json,
};

use super::batch::{BatchFormat, Reply};
use super::input::Ended;
use super::request::RequestArgs;
use super::source::SourceOptions;
use super::target::one;
use super::unknown_tools::Unknown;
use super::{Failure, input};

/// The keys of a case for what it is read with.
const TEMPLATE: &str = "response_template";
const SCHEMA: &str = "response_schema";
/// What is said of an output without text.
const EMPTY: &str = "the output is empty";

/// Parse a model's output with a response template or a response schema
#[derive(Debug, Clone, clap::Args)]
#[command(mut_group("RequestArgs", |group| group.requires("strict")))]
#[command(mut_group("SourceOptions", |group| group.requires("strict")))]
#[command(after_help = "Examples:
  The message that an output means:
    unjinja parse -t template.json output.txt

  With the prompt, since templates often begin the message there:
    unjinja parse -t tokenizer_config.json --prefix prompt.txt output.txt

  Every event, while a model is writing:
    model | unjinja parse -t template.json --events

  With the arguments of calls typed by the tools' schemas:
    unjinja parse -t template.json --tools tools.json output.txt

  As clients of a server expect it: a chat.completion, or its chunks while a model is writing:
    unjinja parse -t template.json --openai output.txt
    model | unjinja parse -t template.json --openai --events

  As an older release of transformers, or an engine with a copy of one, reads it:
    unjinja parse -t template.json --for transformers@5.23 output.txt

  An output that reached the token limit, without the call that is cut off:
    unjinja parse -t template.json --unfinished drop output.txt

  Without losing anything of what a call contains: if a part of it can't be read, all of its text is
  content, and is in an event
    unjinja parse -t template.json --on-unread malformed --on-malformed text output.txt

  Even if some of it is not UTF-8:
    model | unjinja parse -t template.json --events --lossy

  With a response schema, the older language: it reads whole texts, so there are no events:
    unjinja parse -t response_schema.json output.txt

  Strictly, as the chat template and the tools of the request allow it: an unknown tool, or an
  argument that is missing or of the wrong type, is a fault with its place:
    unjinja parse --strict -t chat_template.jinja --tools tools.json output.txt
    model | unjinja parse --strict -t model/ --tools tools.json --prefix prompt.txt --events

  Many outputs at once, one JSON object per line, each with `id`, `prefix`, `text` or `chunks`,
  and, unless `-t` gives it, `response_template` or `response_schema`:
    unjinja parse -t template.json --jsonl outputs.jsonl > messages.jsonl
  With `--strict`, each line may also have `tools`, `tool_choice`, `parallel` and `reasoning`:
    unjinja parse --strict -t model/ --jsonl outputs.jsonl > messages.jsonl

  A long log with other names for outputs and prompts: messages without events, with the user they
  belong to. If it is interrupted, the same command continues where it stopped:
    unjinja parse -t template.json --jsonl log.jsonl --column text=output \\
      --column prefix=prompt --keep user --no-events -o messages.jsonl

  The same from one Parquet file to another, with the columns id, user, message, error and
  error_at; messages are JSON texts, and rows that fail are kept, with their error:
    unjinja parse -t template.json --format parquet log.parquet --column text=output \\
      --keep user -o messages.parquet

An output may have at most 64 MiB, by itself and in a batch.

Exit codes:
  0  the output is parsed, or every line of the batch has its answer
  1  the output is not what its template expects; with `--strict`, it is not what the chat template and
     the tools allow, or there is no grammar for them
  2  the template is refused, or the input can't be read: what has come in of an output by then is
     still parsed and printed")]
pub(crate) struct Args {
    /// The response template or response schema, a tokenizer_config.json that has one, or a model's
    /// folder. With `--strict`, the chat template: any source that `unjinja grammar` takes
    #[arg(short, long, value_name = "FILE", required_unless_present = "batch")]
    template: Option<PathBuf>,

    /// Read the template in the version of the language that this package has: transformers, vllm, sglang or
    /// trl, with a version if it matters, as in transformers@5.23
    #[arg(long = "for", value_name = "PROFILE", value_parser = one, conflicts_with = "strict")]
    target: Option<Target>,

    /// Accept only what the format of a chat template and the tools allow
    #[arg(long, requires = "template", conflicts_with_all = ["on_malformed", "on_unread", "unknown_tools", "unfinished", "spans", "body_aware_close"])]
    strict: bool,

    /// The prompt: what follows its last anchor belongs to the message
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prefix_text", "batch"])]
    prefix: Option<PathBuf>,

    /// The prompt, as text on the command line
    #[arg(long, value_name = "TEXT", conflicts_with = "batch")]
    prefix_text: Option<String>,

    /// The tools of the prompt, as chat templates take them, or a request with `tools`: they type the
    /// arguments of calls
    #[arg(long, value_name = "FILE", conflicts_with = "batch")]
    tools: Option<PathBuf>,

    /// Feed the output to the parser in pieces of N characters
    #[arg(long, value_name = "N", conflicts_with = "batch", value_parser = clap::value_parser!(u32).range(1..))]
    chunk: Option<u32>,

    /// Print every event as a line of JSON, as soon as it happens, and the message last
    #[arg(long, conflicts_with = "batch")]
    events: bool,

    /// Print a chat.completion instead of the message, and its chunks instead of events
    #[arg(long, conflicts_with = "spans")]
    openai: bool,

    /// What to do with a region whose text does not parse [default: fail; with `--openai`, text]
    #[arg(long, value_name = "WHAT")]
    on_malformed: Option<Malformed>,

    /// What to do when a call contains text that no key and no value takes [default: pass, as the language
    /// does; with `--openai`, malformed]
    #[arg(long, value_name = "WHAT")]
    on_unread: Option<Unread>,

    /// What to do with calls of tools that `--tools` does not have
    #[arg(long, value_name = "WHAT", default_value = "keep")]
    unknown_tools: Unknown,

    /// What to do with a call that the end of the output cuts off [default: keep, as the language does; with
    /// `--openai`, drop]. With `--openai`, it also says that the model reached the token limit
    #[arg(long, value_name = "WHAT")]
    unfinished: Option<CutOff>,

    /// Add to events where delimiters are, and what they captured
    #[arg(long)]
    spans: bool,

    /// Ignore closing delimiters inside the strings of JSON regions
    #[arg(long)]
    body_aware_close: bool,

    /// Read bytes that are not UTF-8 as U+FFFD, instead of stopping there
    #[arg(long)]
    lossy: bool,

    /// Parse a batch: one JSON object per line (`-` is standard input)
    #[arg(long, value_name = "FILE", conflicts_with = "output", group = "batch")]
    jsonl: Option<PathBuf>,

    /// Parse a batch: OUTPUT is a file with many outputs in this format
    #[arg(long, group = "batch")]
    format: Option<BatchFormat>,

    #[command(flatten, next_help_heading = "Batches")]
    many: many::ManyArgs,

    #[command(flatten, next_help_heading = "The request, with --strict")]
    request: RequestArgs,

    #[command(flatten, next_help_heading = "The chat template, with --strict")]
    options: SourceOptions,

    /// The output to parse [default: `-`, standard input]
    #[arg(value_name = "OUTPUT")]
    output: Option<PathBuf>,
}

/// What to do with a region whose text does not parse.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Malformed {
    /// End with an error
    Fail,
    /// Report it in an event, and continue without the region
    Event,
    /// Report it, and add its text to the content
    Text,
}

impl Malformed {
    fn policy(self) -> OnMalformed {
        match self {
            Malformed::Fail => OnMalformed::Fail,
            Malformed::Event => OnMalformed::Event,
            Malformed::Text => OnMalformed::Text,
        }
    }
}

/// What to do when a call contains text that nothing takes.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Unread {
    /// Ignore the text
    Pass,
    /// Treat the call as one that does not parse
    Malformed,
}

impl Unread {
    fn policy(self) -> OnUnread {
        match self {
            Unread::Pass => OnUnread::Pass,
            Unread::Malformed => OnUnread::Malformed,
        }
    }
}

/// What to do with a call that is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CutOff {
    /// Treat it as complete
    Keep,
    /// Add the key `unfinished` to it
    Mark,
    /// Leave it out
    Drop,
}

impl CutOff {
    fn policy(self) -> Unfinished {
        match self {
            CutOff::Keep => Unfinished::Keep,
            CutOff::Mark => Unfinished::Mark,
            CutOff::Drop => Unfinished::Drop,
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.check_standard_input()?;
    if let (true, Some(source)) = (args.strict, &args.template) {
        return strict::run(args, &source.to_string_lossy());
    }
    if let Some(batch) = args.batch()? {
        let readers = Readers {
            usual: args
                .template
                .as_deref()
                .map(|path| input::read_reader_for(path, args.target))
                .transpose()?,
            language: args.target.map(Target::language).unwrap_or_default(),
            recent: Mutex::default(),
        };
        return batch.run(|case| answer(args, &readers, case));
    }
    let Some(path) = &args.template else {
        return Err(Failure::Input(
            "give a response template with `-t`, or a batch with `--jsonl`".into(),
        ));
    };
    let template = match input::read_reader_for(path, args.target)? {
        Reader::Template(template) => template,
        Reader::Schema(_) if args.openai => return Err(Failure::Input(openai::NO_SCHEMA.into())),
        Reader::Schema(schema) => return by_schema::run(args, &schema),
    };
    let tools = match &args.tools {
        Some(path) => input::read_tools(path)?,
        None => Tools::none(),
    };
    let prefix = args.prefix()?;
    for warning in missing_anchor(&template, &prefix).map_err(wrong)? {
        warn(&warning);
    }
    if args.openai {
        let reading = openai::Reading::new(args, &template, &prefix, args.options(tools))?;
        return args.parse(reading);
    }
    let parser = ResponseParser::new(&template, &prefix, args.options(tools)).map_err(wrong)?;
    let mut printer = Printer::new(args, &template);
    for event in parser.initial_events() {
        printer.event(&event.as_event());
    }
    printer.flush()?;
    args.parse(Events { parser, printer })
}

/// What an output becomes while it comes in.
trait Reading {
    /// Takes the next piece, and prints what comes of it.
    fn feed(&mut self, text: &str) -> Result<(), Failure>;

    /// Prints what comes out in the end.
    fn finish(self) -> Result<(), Failure>;
}

/// Events, and the message.
struct Events<'t> {
    parser: ResponseParser,
    printer: Printer<'t>,
}

impl Reading for Events<'_> {
    fn feed(&mut self, text: &str) -> Result<(), Failure> {
        let printer = &mut self.printer;
        let result = self.parser.feed_with(text, |event| printer.event(&event));
        let printed = printer.flush();
        // What is wrong counts, even if nobody is left to see what came before it.
        result.map_err(wrong)?;
        printed
    }

    fn finish(self) -> Result<(), Failure> {
        let Events {
            parser,
            mut printer,
        } = self;
        let ended = parser.finalize_with(|event| printer.event(&event));
        let printed = printer.flush();
        let message = ended.map_err(wrong)?;
        printed?;
        if printer.events {
            printer.message(message);
            return printer.flush();
        }
        let text = json::write_styled(&message.into(), &json::Style::pretty(2)) + "\n";
        printing::print(text)?;
        printer.losses.warnings().iter().for_each(|loss| warn(loss));
        Ok(())
    }
}

fn warn(text: &str) {
    printing::tell(format_args!("warning: {text}\n"));
}

/// What is to be said of a prompt in which the message does not begin.
fn missing_anchor(template: &ResponseTemplate, prefix: &str) -> Result<Vec<String>, ParseError> {
    if prefix.is_empty() || template.after_anchor(prefix)?.is_some() {
        return Ok(Vec::new());
    }
    let anchor = template.start_anchor();
    let anchor = match (anchor.literals(), anchor.pattern()) {
        (Some(literals), _) => literals
            .iter()
            .map(|l| format!("{l:?}"))
            .collect::<Vec<_>>()
            .join(" or "),
        (None, pattern) => format!("{:?}", pattern.unwrap_or_default()),
    };
    let mut warnings = vec![format!(
        "the template's anchor, {anchor}, is not in the prefix, so all of it is parsed as part of the message"
    )];
    if prefix.contains("\r\n") {
        warnings.push("the prefix has Windows line ends, which may be why".into());
    }
    Ok(warnings)
}

fn wrong(error: ParseError) -> Failure {
    Failure::Wrong(error.to_string())
}

impl Args {
    fn unfinished(&self) -> Unfinished {
        self.unfinished.map_or(Unfinished::Keep, CutOff::policy)
    }

    /// Standard input can be read only once.
    fn check_standard_input(&self) -> Result<(), Failure> {
        let stdin = Path::new("-");
        let files = [
            &self.template,
            &self.prefix,
            &self.tools,
            &self.jsonl,
            &self.output,
        ];
        let named = files.into_iter().flatten().filter(|path| *path == stdin);
        let implied = self.output.is_none() && self.jsonl.is_none();
        if named.count() + usize::from(implied) > 1 {
            return Err(Failure::Input(
                "only one thing can come from standard input: give files for the others".into(),
            ));
        }
        Ok(())
    }

    /// The prompt.
    fn prefix(&self) -> Result<String, Failure> {
        match (&self.prefix, &self.prefix_text) {
            (Some(path), _) => input::read_text(path),
            (None, text) => Ok(text.clone().unwrap_or_default()),
        }
    }

    fn options(&self, tools: Tools) -> ParserOptions {
        ParserOptions::default()
            .tools(tools)
            .on_malformed(
                self.on_malformed
                    .map_or(OnMalformed::Fail, Malformed::policy),
            )
            .on_unread(self.on_unread.map_or(OnUnread::Pass, Unread::policy))
            .unknown_tools(self.unknown_tools.policy())
            .unfinished(self.unfinished())
            .spans(self.spans)
            .stripped_chunks(self.events)
            .body_aware_close(self.body_aware_close)
    }

    /// Reads the output, and prints what comes of it.
    fn parse(&self, mut reading: impl Reading) -> Result<(), Failure> {
        let mut is_empty = true;
        let mut feed = |text: &str| reading.feed(text);
        let mut cutter = Cutter::new(self.chunk);
        let take = |text: &str| {
            is_empty = false;
            cutter.cut(text, &mut feed)
        };
        let ended = self.read(take)?;
        // What has come in is read to its end, however it ended.
        let finished = cutter.finish(&mut feed);
        if is_empty && finished.is_ok() {
            warn(EMPTY);
        }
        let finished = finished.and_then(|()| reading.finish());
        let Ended::Broken(why) = ended else {
            return finished;
        };
        if let Err(failure @ Failure::Wrong(_)) = finished {
            printing::tell(format_args!("error: {failure}\n"));
        }
        Err(Failure::Input(why))
    }

    /// Reads the output, and hands it on piece by piece.
    fn read(&self, take: impl FnMut(&str) -> Result<(), Failure>) -> Result<Ended, Failure> {
        let path = self.output.as_deref().unwrap_or(Path::new("-"));
        if path == Path::new("-") {
            return input::read_stream("standard input", io::stdin().lock(), self.lossy, take);
        }
        let name = path.display().to_string();
        let file = File::open(path)
            .map_err(|error| Failure::Input(format!("{name}: {}", ReadFault::from(error))))?;
        input::read_stream(&name, file, self.lossy, take)
    }
}

/// Cuts a text that comes in any pieces into pieces of so many characters, or leaves them as they
/// are.
struct Cutter {
    characters: Option<usize>,
    /// What is not yet enough for a piece.
    pending: String,
}

impl Cutter {
    fn new(characters: Option<u32>) -> Cutter {
        Cutter {
            characters: characters.map(|count| count as usize),
            pending: String::new(),
        }
    }

    fn cut(
        &mut self,
        text: &str,
        feed: &mut impl FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Some(characters) = self.characters else {
            return feed(text);
        };
        let mut rest = text;
        while !rest.is_empty() {
            let missing = characters - self.pending.chars().count();
            let end = rest.char_indices().nth(missing).map(|(at, _)| at);
            let (piece, others) = rest.split_at(end.unwrap_or(rest.len()));
            self.pending.push_str(piece);
            rest = others;
            if self.pending.chars().count() == characters {
                feed(&std::mem::take(&mut self.pending))?;
            }
        }
        Ok(())
    }

    fn finish(self, feed: &mut impl FnMut(&str) -> Result<(), Failure>) -> Result<(), Failure> {
        match self.pending.as_str() {
            "" => Ok(()),
            pending => feed(pending),
        }
    }
}

/// Prints events as lines, if they are wanted.
struct Printer<'t> {
    events: bool,
    writer: EventWriter,
    text: String,
    losses: Losses<'t>,
}

impl<'t> Printer<'t> {
    fn new(args: &Args, template: &'t ResponseTemplate) -> Printer<'t> {
        Printer {
            events: args.events,
            writer: EventWriter::new(),
            text: String::new(),
            losses: Losses::new(template, args),
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        self.losses.note(event);
        if self.events {
            self.text.push_str(self.writer.write(event));
            if event.is_at_end() {
                self.text.pop();
                self.text.push_str(",\"at_end\":true}");
            }
            self.text.push('\n');
        }
    }

    /// The message, which is the last that happens.
    fn message(&mut self, message: Object) {
        let kind = ("type", Value::from("message"));
        self.line(&Object::from_iter([kind, ("message", message.into())]).into());
    }

    fn line(&mut self, value: &Value) {
        json::write_into(&mut self.text, value, &json::Style::COMPACT);
        self.text.push('\n');
    }

    fn flush(&mut self) -> Result<(), Failure> {
        if self.text.is_empty() {
            return Ok(());
        }
        printing::stream(std::mem::take(&mut self.text))
    }
}

/// What a message does not show of the text that it was made of.
struct Losses<'t> {
    template: &'t ResponseTemplate,
    /// Fields whose value a later one has replaced, though it was not empty.
    replaced: Vec<String>,
    /// Fields with a region that could not be parsed.
    malformed: Vec<String>,
    /// The field with a region that is cut off, where such are left out.
    cut_off: Option<String>,
    unfinished: Unfinished,
    /// Whether the text of regions that could not be parsed is put behind other text, which it then does not replace.
    gives_back: bool,
    closed: Vec<String>,
}

impl<'t> Losses<'t> {
    fn new(template: &'t ResponseTemplate, args: &Args) -> Losses<'t> {
        let is_text = matches!(args.on_malformed, Some(Malformed::Text));
        Losses {
            template,
            replaced: Vec::new(),
            malformed: Vec::new(),
            cut_off: None,
            unfinished: args.unfinished(),
            gives_back: is_text || args.unknown_tools == Unknown::Text,
            closed: Vec::new(),
        }
    }

    fn note(&mut self, event: &Event<'_>) {
        let add = |fields: &mut Vec<String>, field: &str| {
            if !fields.iter().any(|known| known == field) {
                fields.push(field.to_owned());
            }
        };
        match event {
            Event::Close { field, value, .. } => {
                let is_behind = self.gives_back && !self.malformed.is_empty();
                if !is_behind && self.closed.iter().any(|closed| closed == field) {
                    add(&mut self.replaced, field);
                }
                let repeats = self
                    .template
                    .field(field)
                    .is_none_or(|field| field.repeats());
                if !repeats && value.as_str() != Some("") {
                    add(&mut self.closed, field);
                }
            }
            Event::Malformed { field, at_end, .. } => {
                match *at_end && self.unfinished == Unfinished::Drop {
                    true => self.cut_off = Some((*field).to_owned()),
                    false => add(&mut self.malformed, field),
                }
            }
            _ => {}
        }
    }

    fn warnings(&self) -> Vec<String> {
        let replaced = self.replaced.iter().map(|field| {
            format!(
                "`{field}` was closed more than once, and the last value counts: add `repeats`, or let its close take the white space after it"
            )
        });
        let malformed = self
            .malformed
            .iter()
            .map(|field| format!("a region of `{field}` could not be parsed; `--events` shows it"));
        let cut_off = self.cut_off.iter();
        let cut_off = cut_off.map(|field| {
            format!("a region of `{field}` is cut off and left out; `--events` shows it")
        });
        replaced.chain(malformed).chain(cut_off).collect()
    }
}

/// The response templates and schemas that a batch has used last, since batches use few of them again and
/// again.
struct Readers {
    /// The one for lines that have none of their own.
    usual: Option<Reader>,
    /// What those of lines are read in.
    language: Language,
    /// Each with the JSON that it was read from, since the order of keys counts.
    recent: Mutex<Vec<(String, Reader)>>,
}

impl Readers {
    const KEPT: usize = 16;

    /// The one for a case: its own, or the usual one. What is to be warned of is of its own one only: that
    /// of the other is reported once.
    fn of_case(&self, case: &Object) -> Result<(Reader, Vec<String>), String> {
        for key in [TEMPLATE, SCHEMA] {
            let Some(value) = case.get(key).filter(|value| !value.is_null()) else {
                continue;
            };
            let reader = self.load(key, value)?;
            let warnings = reader.warnings().iter();
            let warnings = warnings.map(|warning| format!("/{key}{warning}")).collect();
            return Ok((reader, warnings));
        }
        match &self.usual {
            Some(usual) => Ok((usual.clone(), Vec::new())),
            None => Err(format!(
                "there is neither `{TEMPLATE}` nor `{SCHEMA}`, and `-t` gives none"
            )),
        }
    }

    fn load(&self, key: &str, value: &Value) -> Result<Reader, String> {
        let written = format!("{key}: {}", json::write(value));
        let known = self.recent.lock().ok().and_then(|recent| {
            let known = recent.iter().find(|(json, _)| *json == written);
            known.map(|(_, reader)| reader.clone())
        });
        if let Some(reader) = known {
            return Ok(reader);
        }
        let reader = match key {
            SCHEMA => ResponseSchema::from_value(value)
                .map(Reader::Schema)
                .map_err(|error| error.to_string())?,
            _ => ResponseTemplate::from_value(value)
                .and_then(|template| template.in_language(self.language))
                .map(Reader::Template)
                .map_err(|error| error.to_string())?,
        };
        if let Ok(mut recent) = self.recent.lock() {
            recent.truncate(Self::KEPT - 1);
            recent.insert(0, (written, reader.clone()));
        }
        Ok(reader)
    }
}

/// Answers one case of a batch.
fn answer(args: &Args, readers: &Readers, case: &Object) -> Reply {
    let mut reply = Reply::default();
    let reader = match readers.of_case(case) {
        Ok((reader, warnings)) => {
            reply.warnings = warnings;
            reader
        }
        Err(error) => {
            reply.answer.insert("load_error", error);
            return reply;
        }
    };
    let template = match reader {
        Reader::Template(template) => template,
        Reader::Schema(_) if args.openai => {
            reply.answer.insert("load_error", openai::NO_SCHEMA);
            return reply;
        }
        Reader::Schema(schema) => {
            match by_schema::message(&schema, case) {
                Ok(message) => reply.answer.insert("message", message),
                Err(error) => reply.answer.insert("error", error),
            };
            return reply;
        }
    };
    if let Err((error, place)) = replay(args, &template, case, &mut reply) {
        reply.answer.insert("error", error);
        reply.answer.insert("error_at", place);
    }
    reply
}

/// Parses a case's text, and adds to the answer what happens, up to a failure: its message, and
/// where it happened.
fn replay(
    args: &Args,
    template: &ResponseTemplate,
    case: &Object,
    Reply { answer, warnings }: &mut Reply,
) -> Result<(), (String, Value)> {
    let tools = match case.get("tools") {
        None | Some(Value::Null) => Tools::none(),
        Some(tools) => {
            let fail = |error| (format!("`tools`: {error}"), "tools".into());
            let (tools, remark) = input::tools(tools).map_err(fail)?;
            warnings.extend(remark.map(|remark| format!("`tools`: {remark}")));
            tools
        }
    };
    let prefix = match case.get("prefix") {
        None | Some(Value::Null) => "",
        Some(prefix) => prefix
            .as_str()
            .ok_or_else(|| ("`prefix` is not a text".to_owned(), "prefix".into()))?,
    };
    let fail = |error: ParseError| (error.to_string(), "prefix".into());
    warnings.extend(missing_anchor(template, prefix).map_err(fail)?);
    if args.openai {
        let completion = openai::completion(args, template, prefix, args.options(tools), case);
        let (completed, remarks) = completion.map_err(fail).and_then(|mut completion| {
            feed_chunks(case, warnings, |chunk| completion.feed_with(chunk, |_| {}))?;
            openai::finish(completion, case)
        })?;
        answer.insert("completion", completed);
        warnings.extend(remarks);
        return Ok(());
    }
    let mut losses = Losses::new(template, args);
    let mut parser = ResponseParser::new(template, prefix, args.options(tools)).map_err(fail)?;
    if !args.gives_events() {
        for event in parser.initial_events() {
            losses.note(&event.as_event());
        }
        feed_chunks(case, warnings, |chunk| {
            parser.feed_with(chunk, |event| losses.note(&event))
        })?;
        let message = parser.finalize_with(|event| losses.note(&event));
        answer.insert("message", message.map_err(at_the_end)?);
        warnings.extend(losses.warnings());
        return Ok(());
    }
    let mut initial = List::default();
    for event in parser.initial_events() {
        initial.event(&event.as_event(), &mut losses);
    }
    answer.insert_written("initial_events", &initial.ended());
    let mut of_chunks = List::default();
    let fed = feed_chunks(case, warnings, |chunk| {
        let mut of_chunk = List::default();
        parser.feed_with(chunk, |event| of_chunk.event(&event, &mut losses))?;
        of_chunks.item(|out| out.push_str(&of_chunk.ended()));
        Ok(())
    });
    answer.insert_written("events", &of_chunks.ended());
    fed?;
    let mut last = List::default();
    let message = parser
        .finalize_with(|event| last.event(&event, &mut losses))
        .map_err(at_the_end)?;
    answer.insert_written("final_events", &last.ended());
    answer.insert("message", message);
    warnings.extend(losses.warnings());
    Ok(())
}

fn at_the_end(error: ParseError) -> (String, Value) {
    (error.to_string(), "finalize".into())
}

/// Feeds the chunks of a case one by one, up to a failure.
fn feed_chunks(
    case: &Object,
    warnings: &mut Vec<String>,
    mut feed: impl FnMut(&str) -> Result<(), ParseError>,
) -> Result<(), (String, Value)> {
    let chunks = chunks(case)?;
    if chunks.iter().all(|chunk| chunk.is_empty()) {
        warnings.push(EMPTY.into());
    }
    for (index, chunk) in chunks.iter().enumerate() {
        feed(chunk).map_err(|error| (error.to_string(), Value::from(index)))?;
    }
    Ok(())
}

/// A list in JSON, written item by item.
#[derive(Default)]
struct List {
    items: String,
}

impl List {
    fn item(&mut self, write: impl FnOnce(&mut String)) {
        self.items
            .push(if self.items.is_empty() { '[' } else { ',' });
        write(&mut self.items);
    }

    fn event(&mut self, event: &Event<'_>, losses: &mut Losses<'_>) {
        losses.note(event);
        self.item(|out| event.write_json(out));
    }

    fn ended(mut self) -> String {
        if self.items.is_empty() {
            self.items.push('[');
        }
        self.items.push(']');
        self.items
    }
}

fn chunks(case: &Object) -> Result<Vec<String>, (String, Value)> {
    let fail = |message: &str| (message.to_owned(), Value::from(0));
    match (case.get("chunks"), case.get("text")) {
        (Some(Value::Array(chunks)), _) => {
            joined_pairs(chunks).ok_or_else(|| fail("a chunk is not valid text"))
        }
        (None | Some(Value::Null), Some(text)) => {
            let text = text
                .as_str()
                .ok_or_else(|| fail("`text` is not valid text"))?;
            Ok(vec![text.to_owned()])
        }
        _ => Err(fail("there are neither `chunks` nor `text`")),
    }
}

/// Chunks as text, where a character that is cut in two, as a pair of surrogates, comes with its second
/// half; `None` if there are other halves.
fn joined_pairs(chunks: &[Value]) -> Option<Vec<String>> {
    let mut texts = Vec::new();
    let mut first_half = None;
    for chunk in chunks {
        let mut bytes = chunk.as_json_string()?.as_wtf8();
        let mut text = String::new();
        if let Some(first) = first_half.filter(|_| !bytes.is_empty()) {
            let (start, rest) = bytes.split_at_checked(3)?;
            let both = [first, surrogate(start)?];
            text.push(char::decode_utf16(both).next()?.ok()?);
            (first_half, bytes) = (None, rest);
        }
        if let Some((rest, end)) = bytes.len().checked_sub(3).map(|at| bytes.split_at(at))
            && let Some(half) = surrogate(end)
        {
            (first_half, bytes) = (Some(half), rest);
        }
        text.push_str(std::str::from_utf8(bytes).ok()?);
        texts.push(text);
    }
    first_half.is_none().then_some(texts)
}

/// The half of a pair that three bytes of WTF-8 stand for.
fn surrogate(bytes: &[u8]) -> Option<u16> {
    match *bytes {
        [0xed, second @ 0xa0..=0xbf, third] => {
            Some(0xd000 | u16::from(second & 0x3f) << 6 | u16::from(third & 0x3f))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use unjinja::{Value, json};

    use super::joined_pairs;

    #[test]
    fn characters_that_chunks_cut_in_two_are_put_together() {
        for (chunks, expected) in [
            (r#"["a", "", "é"]"#, Some(&["a", "", "é"][..])),
            (r#"["a\ud83d", "\ude00b"]"#, Some(&["a", "😀b"])),
            (
                r#"["\ud83d", "", "\ude00\ud83d", "\ude00"]"#,
                Some(&["", "", "😀", "😀"]),
            ),
            (r#"["a\ud83d", "b"]"#, None),
            (r#"["a\ud83d", "bcde"]"#, None),
            (r#"["a\ud83d"]"#, None),
            (r#"["\ude00"]"#, None),
            (r#"["\ud83db"]"#, None),
            (r#"["a", 1]"#, None),
        ] {
            let Ok(Value::Array(all)) = json::read(chunks) else {
                panic!("{chunks} is a list");
            };
            let texts = joined_pairs(&all);
            let texts = texts
                .as_ref()
                .map(|texts| texts.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(texts.as_deref(), expected, "{chunks}");
        }
    }
}
