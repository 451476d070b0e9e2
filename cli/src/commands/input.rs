//! Files and streams that commands read.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::printing;
use crate::tokenizer::Tokenizer;
use unjinja::chat_template::{ChatTemplate, LoadOptions, Source};
use unjinja::check::{Reader, is_fixture};
use unjinja::profile::Target;
use unjinja::response_schema::{ResponseSchema, SchemaError};
use unjinja::{Diagnostic, ResponseTemplate, TemplateError, Tools, Value, files, json};

use crate::incoming::Incoming;

use super::Failure;

/// Files that are read whole may be this large; templates and prompts are far smaller.
const MAX_FILE: u64 = 256 << 20;

/// Reads a whole file of text; `-` is standard input.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    let read = match path == Path::new("-") {
        true => files::read_all(io::stdin(), MAX_FILE)
            .map_err(|fault| format!("standard input: {fault}")),
        false => files::read_text(path, MAX_FILE).map_err(|error| error.to_string()),
    };
    read.map_err(Failure::Input)
}

/// Whether a file holds outputs by its name, one JSON object per line.
pub(crate) fn holds_lines(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| ["jsonl", "ndjson"].contains(&extension))
}

/// What a file is called in messages.
pub(crate) fn name(path: &Path) -> String {
    match path == Path::new("-") {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    }
}

/// Reads a file of JSON, which must not be empty.
fn read_json_text(path: &Path) -> Result<String, Failure> {
    let text = read_text(path)?;
    if text.trim().is_empty() {
        return Err(Failure::Input(format!(
            "{}: the file is empty, and JSON was expected",
            path.display()
        )));
    }
    Ok(json::without_byte_order_mark(&text).to_owned())
}

/// The messages of a conversation and its tools, which are in a file of their own, or beside the messages in a whole request as it
/// goes to a server.
pub(crate) fn conversation(
    messages: &Path,
    tools: Option<&Path>,
) -> Result<(Value, Value), Failure> {
    let given = read_json(messages, "messages")?;
    let list_of_messages = list(&given, messages, "messages")?;
    if let Some(fault) = not_messages(&list_of_messages) {
        let fault = format!("{}: {fault}", messages.display());
        return Err(Failure::Input(fault));
    }
    let tools = match tools {
        Some(path) => list(&read_json(path, "tools")?, path, "tools")?,
        None => given.get("tools").cloned().unwrap_or_default(),
    };
    Ok((list_of_messages, tools))
}

/// Which item of a list is no message, if one is none. What roles there are is up to the chat template.
pub(crate) fn not_messages(list: &Value) -> Option<String> {
    let items = list.as_array().unwrap_or_default();
    let (index, other) = items
        .iter()
        .enumerate()
        .find(|(_, item)| item.as_object().is_none())?;
    Some(format!(
        "messages[{index}]: expected an object, found {}: write it as {{\"role\": \"user\", \"content\": …}}",
        other.type_name()
    ))
}

/// A list that a file holds, or that stands in a whole request as it goes to a server.
fn list(value: &Value, path: &Path, what: &str) -> Result<Value, Failure> {
    let list = value
        .get(what)
        .filter(|list| !list.is_null())
        .unwrap_or(value);
    match list.as_array() {
        Some(_) => Ok(list.clone()),
        None => Err(Failure::Input(format!(
            "{}: expected a list of {what}, found {}",
            path.display(),
            list.type_name()
        ))),
    }
}

/// Reads a JSON file that is to hold a list, or a request with one.
fn read_json(path: &Path, what: &str) -> Result<Value, Failure> {
    let text = read_json_text(path)?;
    json::read(&text).map_err(|error| {
        Failure::Input(format!(
            "{}:{}:{}: this is not JSON: {}: give a JSON list of {what}, or a request with `{what}`",
            path.display(),
            error.line(),
            error.column(),
            error.kind()
        ))
    })
}

/// The tokenizer of `--tokens`, if it is given.
pub(crate) fn tokenizer(path: Option<&Path>) -> Result<Option<Tokenizer>, Failure> {
    let tokenizer = path.map(Tokenizer::load).transpose();
    tokenizer.map_err(|error| match cfg!(feature = "tokenizers") {
        true => Failure::Input(error),
        false => Failure::Input(format!("--tokens: {error}")),
    })
}

/// Reads the tools that a prompt offered.
pub(crate) fn read_tools(path: &Path) -> Result<Tools, Failure> {
    let value = read_json(path, "tools")?;
    let (tools, remark) =
        tools(&value).map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
    if let Some(remark) = remark {
        printing::tell(format_args!("warning: {}: {remark}\n", path.display()));
    }
    Ok(tools)
}

/// The tools in a value, and what of them types nothing, if anything. What is no list of any is refused.
pub(crate) fn tools(value: &Value) -> Result<(Tools, Option<String>), String> {
    let tools = Tools::from_value(value);
    let complaints = Tools::complaints(value);
    let remark = complaints.first().map(|first| match complaints.len() {
        1 => first.to_string(),
        count => format!("{first} (and {} more like that)", count - 1),
    });
    let is_list = value.as_array().is_some() || !tools.as_list().is_empty();
    match remark {
        Some(error) if !is_list => Err(error),
        remark => Ok((tools, remark)),
    }
}

/// A JSON document that holds a response template.
pub(crate) struct TemplateDocument {
    /// What messages call it.
    pub(crate) name: String,
    pub(crate) text: String,
    /// Where in it the template stands.
    pub(crate) pointer: &'static str,
    /// The token that ends a turn, if it stands beside the template.
    pub(crate) eos_token: Option<String>,
}

impl TemplateDocument {
    /// Finds a response template in a file of its own, in a tokenizer's configuration, or in a
    /// model's folder.
    pub(crate) fn find(path: &Path) -> Result<TemplateDocument, Failure> {
        let file = config_in(path)?;
        TemplateDocument::find_in(&file, read_json_text(&file)?, path)
    }

    /// The same in a document that has been read: what was given may be the folder that it stands in.
    fn find_in(path: &Path, text: String, given: &Path) -> Result<TemplateDocument, Failure> {
        // One of JSON may have a response template in it, as a configuration has.
        let is_written_out = |value: Value| value.get("response_template")?.as_object().map(|_| ());
        if is_fixture(path) && json::read(&text).ok().and_then(is_written_out).is_none() {
            return Err(Failure::Input(format!(
                "{}: this is a fixture: check it with `unjinja check`, and give the response template \
                 that it names here",
                path.display()
            )));
        }
        let name = path.display().to_string();
        let pointer = ResponseTemplate::find_in(&text).map_err(|error| {
            // What is to be done about a response schema, the error says.
            let remedy = match ResponseSchema::find_in(&text) {
                Some(_) => None,
                None => derive_remedy(given),
            };
            let remedy = remedy.map_or_else(String::new, |how| format!(": {how}"));
            Failure::Input(format!("{}{remedy}", error.in_file(name.as_str())))
        })?;
        let document = json::read(&text).ok();
        let eos_token = document.as_ref().and_then(|d| d.get("eos_token"));
        let eos_token = eos_token.and_then(|token| token.get("content").unwrap_or(token).as_str());
        Ok(TemplateDocument {
            eos_token: eos_token.map(str::to_owned),
            name,
            text,
            pointer,
        })
    }

    pub(crate) fn template(&self) -> Result<ResponseTemplate, TemplateError> {
        ResponseTemplate::from_json_at(&self.text, self.pointer)
    }
}

/// What to do about a file or folder without a response template that has a chat template.
fn derive_remedy(path: &Path) -> Option<String> {
    let source = Source::Path(path.to_owned());
    let is_file = path.try_exists().unwrap_or(false);
    let loaded = is_file.then(|| ChatTemplate::load(&source, &LoadOptions::default()));
    loaded?.ok()?;
    Some(format!(
        "derive one from the chat template in it, with `unjinja derive {} -o \
         response_template.json`",
        path.display()
    ))
}

/// A JSON document that holds what outputs are read with.
pub(crate) enum ReaderDocument {
    Template(TemplateDocument),
    Schema(SchemaDocument),
}

impl ReaderDocument {
    /// Finds a response template or a response schema in a file of its own, in a tokenizer's
    /// configuration, or in a model's folder.
    pub(crate) fn find(path: &Path) -> Result<ReaderDocument, Failure> {
        let file = config_in(path)?;
        let text = read_json_text(&file)?;
        if let Some(pointer) = ResponseSchema::find_in(&text) {
            let name = file.display().to_string();
            return Ok(ReaderDocument::Schema(SchemaDocument {
                name,
                text,
                pointer,
            }));
        }
        TemplateDocument::find_in(&file, text, path).map(ReaderDocument::Template)
    }
}

/// The file itself, or the configuration in a model's folder.
fn config_in(path: &Path) -> Result<PathBuf, Failure> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let in_folder = path.join("tokenizer_config.json");
    if matches!(in_folder.try_exists(), Ok(false)) {
        let message = "there is no tokenizer_config.json in this folder";
        let remedy = derive_remedy(path)
            .unwrap_or_else(|| "name the file of the response template".to_owned());
        return Err(Failure::Input(format!(
            "{}: {message}: {remedy}",
            path.display()
        )));
    }
    Ok(in_folder)
}

/// A JSON document that holds a response schema.
pub(crate) struct SchemaDocument {
    /// What messages call it.
    pub(crate) name: String,
    pub(crate) text: String,
    /// Where in it the schema stands.
    pub(crate) pointer: &'static str,
}

impl SchemaDocument {
    pub(crate) fn load(&self) -> Result<ResponseSchema, SchemaError> {
        ResponseSchema::from_json_at(&self.text, self.pointer)
    }

    /// Reads the schema, and says what of it has no effect.
    pub(crate) fn schema(&self) -> Result<ResponseSchema, Failure> {
        let schema = self
            .load()
            .map_err(|error| Failure::Input(error.in_file(self.name.as_str()).to_string()))?;
        print_warnings(&self.name, schema.warnings());
        Ok(schema)
    }
}

fn print_warnings(name: &str, warnings: &[Diagnostic]) {
    for warning in warnings {
        printing::tell(format_args!("warning: {name}:{warning}\n"));
    }
}

/// Reads what outputs are to be read with, from a file of its own or from where models keep it, and says
/// what of it has no effect.
pub(crate) fn read_reader(path: &Path) -> Result<Reader, Failure> {
    match ReaderDocument::find(path)? {
        ReaderDocument::Schema(document) => document.schema().map(Reader::Schema),
        ReaderDocument::Template(document) => loaded(&document).map(Reader::Template),
    }
}

/// The same as the version of the language says that a target has; the newest without one.
pub(crate) fn read_reader_for(path: &Path, target: Option<Target>) -> Result<Reader, Failure> {
    let reader = read_reader(path)?;
    let language = target.map(Target::language).unwrap_or_default();
    let name = path.display().to_string();
    reader
        .in_language(language)
        .map_err(|error| Failure::Input(error.in_file(name.as_str()).to_string()))
}

/// Reads a response template, or one that stands in a tokenizer's configuration, and says what of
/// it has no effect.
pub(crate) fn read_template(path: &Path) -> Result<ResponseTemplate, Failure> {
    loaded(&TemplateDocument::find(path)?)
}

fn loaded(document: &TemplateDocument) -> Result<ResponseTemplate, Failure> {
    let name = &document.name;
    let template = document
        .template()
        .map_err(|error| Failure::Input(error.in_file(name.as_str()).to_string()))?;
    print_warnings(name, template.warnings());
    Ok(template)
}

/// An output may have so many bytes, as a line of a batch may; those of models have some thousands.
const MAX_OUTPUT: usize = 64 << 20;

/// How a text that came in has ended.
pub(crate) enum Ended {
    /// As it should.
    Whole,
    /// In its middle, and why.
    Broken(String),
}

/// Reads text as it comes in, and hands it on at once, piece by piece. Where bytes are no character it ends,
/// or goes on with U+FFFD in their place if it may. What never ends is refused.
pub(crate) fn read_stream(
    name: &str,
    source: impl Read,
    is_lossy: bool,
    mut take: impl FnMut(&str) -> Result<(), Failure>,
) -> Result<Ended, Failure> {
    let mut incoming = Incoming::new(source);
    let mut is_reported = false;
    let mut length = 0;
    loop {
        let piece = match incoming.next() {
            Ok(Some(piece)) => piece,
            Ok(None) => return Ok(Ended::Whole),
            Err(error) => return Ok(Ended::Broken(format!("{name}: {error}"))),
        };
        length += piece.text.len();
        if length > MAX_OUTPUT {
            return Err(Failure::Input(format!(
                "{name}: the output is larger than {} MiB: give that of one turn, or many with `--jsonl`",
                MAX_OUTPUT >> 20
            )));
        }
        match piece.fault {
            Some(fault) if !is_lossy => {
                take(&piece.text[..fault.in_piece])?;
                let offset = fault.offset;
                return Ok(Ended::Broken(format!(
                    "{name}: byte {offset} is not valid UTF-8: save the text as UTF-8, or read on with \
                     `--lossy`"
                )));
            }
            Some(fault) if !is_reported => {
                is_reported = true;
                let offset = fault.offset;
                printing::tell(format_args!(
                    "warning: {name}: byte {offset} is not valid UTF-8: it is read as U+FFFD, as are all \
                     that follow\n"
                ));
            }
            _ => {}
        }
        take(&piece.text)?;
    }
}
