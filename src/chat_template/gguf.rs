//! GGUF files: the metadata, never the weights.
//!
//! A file begins with `GGUF`, its version, the number of tensors, and the number of entries of
//! metadata. An entry is a key, a type, and a value. A text is its length and its bytes; an array
//! is the type of its items, their number, and the items. Little endian, unless the version says
//! otherwise.

mod reader;

use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::io::{Read, Seek};
use std::path::Path;

use super::error::{GgufFault, LoadError};
use super::extras::Extras;
use super::folder;
use super::options::LoadOptions;
use super::template::ChatTemplate;
use super::text_file::{MAX_TEXT, file_name};
use super::token::Token;
use super::variant::{Chosen, Templates};

pub(super) use reader::MAGIC;
use reader::{GgufReader, ReadFailure, ValueType};

const TEMPLATE: &str = "tokenizer.chat_template";
const TOKENS: &str = "tokenizer.ggml.tokens";
const TOKEN_TYPES: &str = "tokenizer.ggml.token_type";
const BOS: &str = "tokenizer.ggml.bos_token_id";
const EOS: &str = "tokenizer.ggml.eos_token_id";

/// In [`TOKEN_TYPES`], those that control the model and are no text.
const CONTROL: u64 = 3;

/// Keys may have this many bytes, by the specification.
const MAX_KEY: u64 = u16::MAX as u64;
/// Tokens are far shorter.
const MAX_TOKEN: u64 = 64 << 10;

pub(super) fn load(
    mut file: File,
    metadata: &Metadata,
    path: &Path,
    options: &LoadOptions<'_>,
) -> Result<Vec<ChatTemplate>, LoadError> {
    let name = path.display().to_string();
    let fail = |failure: ReadFailure| failure.in_file(&name);
    if !metadata.is_file() {
        return Err(fail(ReadFailure::fault(0, GgufFault::Pipe)));
    }
    file.rewind().map_err(|error| fail(error.into()))?;
    let (all, mut extras) = read(file, metadata.len(), &name, &file_name(path), options)?;
    folder::take_beside(&mut extras, Some(path))?;
    Ok(extras.with_all(&name, all))
}

/// Reads the head of what is so many bytes long: the templates, and the tokens that it names.
pub(super) fn read(
    input: impl Read + Seek,
    length: u64,
    name: &str,
    file: &str,
    options: &LoadOptions<'_>,
) -> Result<(Vec<Chosen>, Extras), LoadError> {
    let fail = |failure: ReadFailure| failure.in_file(name);
    let (model, mut reader) = Model::read(input, length).map_err(fail)?;

    let origin = |key: &str| format!("{file}: {key}");
    let mut templates = Templates::default();
    for (key, template) in model.templates {
        let variant = key
            .strip_prefix(TEMPLATE)
            .and_then(|rest| rest.strip_prefix('.'));
        templates.add(variant.map(str::to_owned), template, origin(&key));
    }
    let all = templates.choose(options.variant.as_deref(), name, || nothing_here(file))?;

    let mut extras = Extras::default();
    if let Some(tokens) = model.tokens {
        let wanted = [model.bos, model.eos];
        let found = tokens
            .read(&mut reader, model.token_types, wanted)
            .map_err(fail)?;
        let [bos, eos] = found.wanted;
        let token = |token: Option<String>, key| match token {
            Some(token) => Token::Is(token, origin(key)),
            None => Token::Unsaid,
        };
        extras.bos_token = token(bos, BOS);
        extras.eos_token = token(eos, EOS);
        extras.take_special(found.control, &origin(TOKEN_TYPES));
    }
    Ok((all, extras))
}

fn nothing_here(file: &str) -> String {
    let is_later_part = file.rsplit_once("-of-").is_some_and(|(start, _)| {
        let number = start
            .rsplit_once('-')
            .map(|(_, number)| number.parse::<u32>());
        matches!(number, Some(Ok(2..)))
    });
    if is_later_part {
        return "this is a later part of a model: give the first part, `…-00001-of-…`".to_owned();
    }
    format!("its metadata has no `{TEMPLATE}`: give the template as a file of its own")
}

/// What the metadata says.
#[derive(Default)]
struct Model {
    /// By the whole key.
    templates: Vec<(String, String)>,
    bos: Option<u64>,
    eos: Option<u64>,
    tokens: Option<Tokens>,
    token_types: Option<TokenTypes>,
}

/// Where the texts of the tokens stand.
#[derive(Clone, Copy)]
struct Tokens {
    start: u64,
    count: u64,
}

/// Where the types of the tokens stand.
#[derive(Clone, Copy)]
struct TokenTypes {
    start: u64,
    count: u64,
    kind: ValueType,
}

impl Model {
    fn read<R: Read + Seek>(file: R, length: u64) -> Result<(Self, GgufReader<R>), ReadFailure> {
        let mut reader = GgufReader::new(file, length);
        let entries = reader.header()?;
        let mut model = Self::default();
        for _ in 0..entries {
            model.read_entry(&mut reader)?;
        }
        Ok((model, reader))
    }

    /// Of equal keys, which there should not be, the first counts.
    fn read_entry<R: Read + Seek>(
        &mut self,
        reader: &mut GgufReader<R>,
    ) -> Result<(), ReadFailure> {
        let key = reader.text(MAX_KEY, "a key")?;
        let place = reader.position;
        let kind = reader.kind()?;
        let wrong = |expected| {
            ReadFailure::fault(
                place,
                GgufFault::WrongType {
                    key: key.clone(),
                    expected,
                },
            )
        };
        match key.as_str() {
            BOS | EOS => {
                let id = match kind.integer_size() {
                    Some(_) => reader.integer(kind)?,
                    None => return Err(wrong("a whole number")),
                };
                let slot = if key == BOS {
                    &mut self.bos
                } else {
                    &mut self.eos
                };
                slot.get_or_insert(id);
            }
            TOKENS => {
                let (kind, count) = reader
                    .array_of(kind)?
                    .ok_or_else(|| wrong("a list of texts"))?;
                if kind != ValueType::Text {
                    return Err(wrong("a list of texts"));
                }
                let start = reader.position;
                self.tokens.get_or_insert(Tokens { start, count });
                reader.skip_items(kind, count, 0)?;
            }
            TOKEN_TYPES => {
                let expected = "a list of whole numbers";
                let (kind, count) = reader.array_of(kind)?.ok_or_else(|| wrong(expected))?;
                if kind.integer_size().is_none() {
                    return Err(wrong(expected));
                }
                let start = reader.position;
                self.token_types
                    .get_or_insert(TokenTypes { start, count, kind });
                reader.skip_items(kind, count, 0)?;
            }
            _ if is_template(&key) => {
                if kind != ValueType::Text {
                    return Err(wrong("a text"));
                }
                let template = reader.kept_text(MAX_TEXT, "a chat template")?;
                if !self.templates.iter().any(|(other, _)| *other == key) {
                    self.templates.push((key, template));
                }
            }
            _ => reader.skip_value(kind, 0)?,
        }
        Ok(())
    }
}

/// `tokenizer.chat_template`, or `tokenizer.chat_template.tool_use`.
fn is_template(key: &str) -> bool {
    let rest = key.strip_prefix(TEMPLATE);
    rest.is_some_and(|rest| rest.is_empty() || (rest.starts_with('.') && rest.len() > 1))
}

/// The texts of some tokens.
struct Found {
    wanted: [Option<String>; 2],
    control: Vec<String>,
}

impl Tokens {
    /// Reads those wanted by number, and all that control the model. The numbers of models that
    /// lack a token may be out of range.
    fn read<R: Read + Seek>(
        self,
        reader: &mut GgufReader<R>,
        types: Option<TokenTypes>,
        wanted: [Option<u64>; 2],
    ) -> Result<Found, ReadFailure> {
        let control = match types {
            Some(types) => types.control(reader, self.count)?,
            None => HashSet::new(),
        };
        let mut found = Found {
            wanted: [None, None],
            control: Vec::new(),
        };
        let highest = control.iter().copied().chain(wanted.into_iter().flatten());
        let Some(last) = highest.filter(|id| *id < self.count).max() else {
            return Ok(found);
        };
        reader.go_to(self.start)?;
        for id in 0..=last {
            let is_control = control.contains(&id);
            if !is_control && !wanted.contains(&Some(id)) {
                reader.skip_text()?;
                continue;
            }
            let token = reader.kept_text(MAX_TOKEN, "a token")?;
            for (wanted, slot) in wanted.iter().zip(&mut found.wanted) {
                if *wanted == Some(id) {
                    *slot = Some(token.clone());
                }
            }
            if is_control {
                found.control.push(token);
            }
        }
        Ok(found)
    }
}

impl TokenTypes {
    /// The numbers of the tokens that control the model.
    fn control<R: Read + Seek>(
        self,
        reader: &mut GgufReader<R>,
        tokens: u64,
    ) -> Result<HashSet<u64>, ReadFailure> {
        reader.go_to(self.start)?;
        let mut control = HashSet::new();
        for id in 0..self.count.min(tokens) {
            if reader.integer(self.kind)? == CONTROL {
                control.insert(id);
            }
        }
        Ok(control)
    }
}
