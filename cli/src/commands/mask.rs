//! `unjinja mask`: what of a conversation the model writes.

mod tokens;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::printing;
use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::conversation::{
    ConversationReader, HeaderSide, Marking, MaskError, MaskPolicy, Masked, RoleBoundary, Unmasked,
    role_boundaries,
};
use unjinja::{Object, Value, json};

use super::batch::Reply;
use super::output::Output;
use super::report::ReportFormat;
use super::source::SourceOptions;
use super::{Failure, batch, input, into_source, output, render};
use crate::tokenizer::Tokenizer;
use tokens::masked_tokens;

/// Show which part of a conversation the model writes, or mark it in the chat template
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  The part of a conversation that the model writes, between ⟦ and ⟧:
    unjinja mask chat_template.jinja --messages messages.json

  The same for a logged text, which is read first:
    unjinja mask model/ --text conversation.txt

  The text, and the spans in characters, for programs:
    unjinja mask model/ --messages messages.json --format json

  Many at once, one JSON object per line, each with `id` and `messages`:
    unjinja mask model/ --jsonl conversations.jsonl > masks.jsonl

  The same with the ids of tokens and their mask, as trainers take them:
    unjinja mask model/ --jsonl conversations.jsonl --tokens model/tokenizer.json

  The chat template with {% generation %} around what the model writes, for trainers that get
  the mask from the tokenizer:
    unjinja mask chat_template.jinja --tag > training_template.jinja

  The same, into the file that the chat template came from:
    unjinja mask model/ --tag --write

  The literals that the assistant's turns lie between, as axolotl's configuration takes them:
    unjinja mask model/ --boundaries >> axolotl.yaml

  Without the token that ends the turn:
    unjinja mask model/ --messages messages.json --ending out

The model writes what follows the prompt, up to the token that ends its turn. Which part of the
chat template writes that is found by rendering conversations. Tags are printed only if all
conversations render to the same text with them, and if they enclose what the model writes, and
nothing else.

Exit codes:
  0  the mask or the chat template is printed, or every line of the batch has its answer
  1  the mask is empty, the chat template refuses the messages or would not write the text, or it
     can't be tagged
  2  the input can't be read")]
pub(crate) struct Args {
    /// The chat template: a .jinja file, a tokenizer_config.json, a model's folder, a GGUF file,
    /// a model id such as org/name[@revision], or `-` for standard input
    #[arg(value_name = "SOURCE")]
    source: String,

    #[command(flatten)]
    options: SourceOptions,

    /// The conversation: a JSON list of messages, or a request with `messages` and `tools`
    #[arg(
        short,
        long,
        value_name = "FILE",
        required_unless_present_any = ["text", "jsonl", "tag", "boundaries"],
        conflicts_with_all = ["text", "jsonl", "tag", "boundaries"]
    )]
    messages: Option<PathBuf>,

    /// Instead of messages: the text that the chat template rendered (`-` is standard input)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["jsonl", "tag", "boundaries"])]
    text: Option<PathBuf>,

    /// The tools that are offered: a JSON list
    #[arg(long, value_name = "FILE", conflicts_with_all = ["text", "jsonl", "tag", "boundaries"])]
    tools: Option<PathBuf>,

    /// End with the beginning of the assistant's turn
    #[arg(long, conflicts_with_all = ["text", "jsonl", "tag", "boundaries"])]
    add_generation_prompt: bool,

    /// Mask a batch: one JSON object per line (`-` is standard input)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tag", "boundaries"])]
    jsonl: Option<PathBuf>,

    /// Print the chat template with tags around what the model writes
    #[arg(long)]
    tag: bool,

    /// Print the literals that the assistant's turns lie between, as YAML that axolotl takes for `role_boundaries`
    #[arg(long, conflicts_with_all = ["tag", "tokens", "ending", "white_space", "prefilled", "header"])]
    boundaries: bool,

    /// With `--tag`: write it to a file (`-` is standard output)
    #[arg(
        short,
        long,
        value_name = "FILE",
        requires = "tag",
        conflicts_with = "write"
    )]
    output: Option<PathBuf>,

    /// With `--tag`: write it into the file that the chat template came from
    #[arg(long, requires = "tag")]
    write: bool,

    /// Replace the existing file of `-o`
    #[arg(long, requires = "output")]
    force: bool,

    /// Whether the token that ends the turn is in the mask
    #[arg(long, value_name = "SIDE", default_value = "in")]
    ending: Side,

    /// Whether white space after that token is in the mask
    #[arg(long, value_name = "SIDE", default_value = "out")]
    white_space: Side,

    /// Whether the part of the turn that a prompt writes is in the mask, such as an opened <think>
    #[arg(long, value_name = "SIDE", default_value = "out")]
    prefilled: Side,

    /// Whether the header of the turn is in the mask
    #[arg(long, value_name = "SIDE", default_value = "auto")]
    header: Header,

    /// Also mask the tokens of the text, by a tokenizer.json. A token is in the mask if the model writes
    /// part of it
    #[arg(long, value_name = "FILE", conflicts_with = "tag")]
    tokens: Option<PathBuf>,

    /// How to print the mask
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: ReportFormat,
}

/// On which side of a border something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Side {
    /// The model writes it
    In,
    /// It is not the model's
    Out,
}

/// On which side headers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Header {
    /// Out where prompts write it; in if no turn of the chat template goes on from the prompt for it
    Auto,
    /// The model writes it
    In,
    /// It is not the model's
    Out,
}

impl Args {
    fn policy(&self) -> MaskPolicy {
        let mut policy = MaskPolicy::default();
        policy.ending = self.ending == Side::In;
        policy.white_space = self.white_space == Side::In;
        policy.prefilled = self.prefilled == Side::In;
        policy.header = match self.header {
            Header::Auto => HeaderSide::Auto,
            Header::In => HeaderSide::In,
            Header::Out => HeaderSide::Out,
        };
        policy
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let tokenizer = input::tokenizer(args.tokens.as_deref())?;
    let template = args.options.load(&args.source)?;
    if let Some(path) = &args.jsonl {
        let markings = Markings {
            template: &template,
            policy: args.policy(),
            tokenizer: tokenizer.as_ref(),
            known: Mutex::default(),
        };
        return batch::answer_lines(path, false, |case| answer(&args.options, &markings, case));
    }
    let failed = |error: MaskError| Failure::Wrong(format!("{}: {error}", template.name));
    if args.boundaries {
        let boundaries = role_boundaries(&template, &args.options.base()).map_err(failed)?;
        return printing::print(in_yaml(&boundaries));
    }
    let marking = Marking::of(&template, &args.options.base(), args.policy());
    let marking = marking.map_err(|error| match error {
        MaskError::Render(error) => Failure::Wrong(format!(
            "{}: {}: {error}",
            template.name,
            error.of_question()
        )),
        error => failed(error),
    })?;
    if args.header == Header::Auto && marking.no_header_is_prompted() {
        printing::tell(format_args!(
            "note: {}: no turn continues the prompt for it, so headers are in the mask; `--header out` leaves \
             them out\n",
            template.name
        ));
    }
    if args.tag {
        return tag(args, &template, &marking);
    }
    let (path, masked) = match (&args.text, &args.messages) {
        (Some(path), _) => (path, of_text(args, &template, &marking, path)?),
        (None, Some(path)) => {
            let masked = marking.mask(&conversation(args, path)?).map_err(failed)?;
            (path, masked)
        }
        (None, None) => {
            let usage = "give a conversation with `--messages`, or its text with `--text`";
            return Err(Failure::Input(usage.to_owned()));
        }
    };
    let answer = Answer::of(&masked, tokenizer.as_ref());
    let answer =
        answer.map_err(|error| Failure::Wrong(format!("{}: {error}", input::name(path))))?;
    for warning in &answer.warnings {
        printing::tell(format_args!("warning: {}: {warning}\n", input::name(path)));
    }
    printing::print(match args.format {
        ReportFormat::Human => shown(&masked) + &answer.count,
        ReportFormat::Json => output::pretty(&answer.value().into()),
    })?;
    match masked.spans.is_empty() {
        true => Err(Failure::Reported(1)),
        false => Ok(()),
    }
}

/// Boundaries as YAML, of which texts in JSON are a part.
fn in_yaml(boundaries: &[RoleBoundary]) -> String {
    let written = |text: &str| json::write(&text.into());
    let entries = boundaries.iter().map(|boundary| {
        let include_start = match boundary.include_start {
            true => "    include_start: true\n",
            false => "",
        };
        format!(
            "  - role: {}\n    start: {}\n{include_start}    end: {}\n",
            boundary.role,
            written(&boundary.start),
            written(&boundary.end)
        )
    });
    format!("role_boundaries:\n{}", entries.collect::<String>())
}

/// The conversation of a file.
fn conversation(args: &Args, path: &Path) -> Result<RenderInput, Failure> {
    let (messages, tools) = input::conversation(path, args.tools.as_deref())?;
    Ok(RenderInput {
        messages,
        tools,
        add_generation_prompt: args.add_generation_prompt,
        ..args.options.base()
    })
}

/// The mask of a text that the template has written.
fn of_text(
    args: &Args,
    template: &ChatTemplate,
    marking: &Marking,
    path: &Path,
) -> Result<Masked, Failure> {
    let text = input::read_text(path)?;
    let reader = ConversationReader::new(template, &args.options.base());
    let reader = reader.map_err(|error| {
        Failure::Wrong(format!(
            "{}: {}: {error}",
            template.name,
            error.of_question()
        ))
    })?;
    marking
        .mask_text(&reader, &text)
        .map_err(|error| Failure::Wrong(format!("{}: {error}", input::name(path))))
}

/// The text with its spans between brackets.
fn shown(masked: &Masked) -> String {
    let mut out = String::new();
    let mut spans = masked.spans.ranges().iter().peekable();
    for (at, c) in masked.text.chars().enumerate() {
        if spans.next_if(|span| span.end == at).is_some() {
            out.push('⟧');
        }
        if spans.peek().is_some_and(|span| span.start == at) {
            out.push('⟦');
        }
        out.push(c);
    }
    if spans.next().is_some() {
        out.push('⟧');
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// What is said of a conversation.
struct Answer {
    /// The text, its mask and that of its tokens.
    found: Object,
    /// How many tokens there are.
    count: String,
    warnings: Vec<String>,
}

impl Answer {
    fn of(masked: &Masked, tokenizer: Option<&Tokenizer>) -> Result<Answer, String> {
        let mut answer = Answer {
            found: Object::from_iter([
                ("text", Value::from(masked.text.as_str())),
                ("spans", masked.spans.to_value()),
            ]),
            count: String::new(),
            warnings: masked.unmasked.iter().map(Unmasked::to_string).collect(),
        };
        if let Some(tokenizer) = tokenizer {
            let tokens = masked_tokens(tokenizer, masked)?;
            answer.found.extend(tokens.value);
            answer.count = format!(
                "{} of {} tokens are the model's\n",
                tokens.masked, tokens.count
            );
            answer.warnings.extend(tokens.warnings);
        }
        Ok(answer)
    }

    /// All of it for programs.
    fn value(self) -> Object {
        let mut value = self.found;
        if !self.warnings.is_empty() {
            value.insert("warnings", self.warnings.into_iter().collect::<Value>());
        }
        value
    }
}

/// The tokens that begin and end texts.
type Tokens = (Option<String>, Option<String>);

/// The markings of one template, for each pair of tokens that it is used with.
struct Markings<'t> {
    template: &'t ChatTemplate,
    policy: MaskPolicy,
    tokenizer: Option<&'t Tokenizer>,
    known: Mutex<HashMap<Tokens, Arc<Result<Marking, String>>>>,
}

impl Markings<'_> {
    fn find(&self, options: &SourceOptions, input: &RenderInput) -> Arc<Result<Marking, String>> {
        let tokens = (input.bos_token.clone(), input.eos_token.clone());
        // Nobody has to find out what another thread is finding out.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(marking) = known.get(&tokens) {
            return marking.clone();
        }
        let base = RenderInput {
            bos_token: input.bos_token.clone(),
            eos_token: input.eos_token.clone(),
            now: input.now,
            ..options.base()
        };
        let marking = Marking::of(self.template, &base, self.policy);
        let marking = Arc::new(marking.map_err(|error| error.to_string()));
        known.insert(tokens, marking.clone());
        marking
    }
}

/// Answers one conversation of a batch.
fn answer(options: &SourceOptions, markings: &Markings<'_>, case: &Object) -> Reply {
    let mut reply = Reply::default();
    let masked = render::conversation(options, case).and_then(|input| {
        let marking = markings.find(options, &input);
        let marking = marking.as_ref().as_ref().map_err(String::clone)?;
        let masked = marking.mask(&input).map_err(|error| error.to_string())?;
        Answer::of(&masked, markings.tokenizer)
    });
    match masked {
        Ok(answer) => {
            reply.warnings.clone_from(&answer.warnings);
            reply.answer.extend(answer.value());
        }
        Err(error) => {
            reply.answer.insert("error", error);
        }
    }
    reply
}

/// Prints or writes the template with tags.
fn tag(args: &Args, template: &ChatTemplate, marking: &Marking) -> Result<(), Failure> {
    if args.write {
        into_source::write(&args.source, template, marking.tagged())?;
    } else {
        let output = Output::of_sources([args.source.as_str()], args.force);
        let path = args.output.as_deref().unwrap_or(Path::new("-"));
        output.write(path, marking.tagged())?;
    }
    let proof = marking.proof();
    match marking.was_tagged() {
        true => printing::tell(format_args!("{}: it has tags already\n", template.name)),
        false => printing::tell(format_args!(
            "{}: {} conversations render to the same text with tags; in {} of {} the tags enclose \
             exactly what the model writes{}\n",
            template.name,
            proof.same_text,
            proof.same_spans,
            proof.known,
            match proof.with_more {
                0 => String::new(),
                count => format!(", and in {count} more of the same messages"),
            }
        )),
    }
    Ok(())
}
