//! GGUF files: the metadata, never the weights.
//!
//! A file begins with `GGUF`, its version, the number of tensors, and the number of entries of
//! metadata. An entry is a key, a type, and a value. A text is its length and its bytes; an array
//! is the type of its items, their number, and the items. Little endian, unless the version says
//! otherwise.

use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::ChatTemplate;
use super::config::{Extras, Token};
use super::error::{GgufFault, LoadError};
use super::load::{LoadOptions, MAX_TEXT, file_name};
use super::variant::Templates;

pub(super) const MAGIC: &[u8] = b"GGUF";

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
/// Files have a few dozen entries.
const MAX_ENTRIES: u64 = 64 << 10;
/// All items that can't be skipped at once, throughout the metadata. The largest vocabularies have
/// fewer than a million.
const MAX_ITEMS: u64 = 32 << 20;
/// Arrays in arrays are allowed, but nobody writes them.
const MAX_DEPTH: u32 = 4;

pub(super) fn load(
    mut file: File,
    metadata: &Metadata,
    path: &Path,
    options: &LoadOptions<'_>,
) -> Result<ChatTemplate, LoadError> {
    let name = path.display().to_string();
    let fail = |trouble: Trouble| trouble.in_file(&name);
    if !metadata.is_file() {
        return Err(fail(Trouble::fault(0, GgufFault::Pipe)));
    }
    file.rewind().map_err(|error| fail(error.into()))?;
    let (model, mut reader) = Model::read(file, metadata.len()).map_err(fail)?;

    let file = file_name(path);
    let origin = |key: &str| format!("{file}: {key}");
    let mut templates = Templates::default();
    for (key, template) in model.templates {
        let variant = key
            .strip_prefix(TEMPLATE)
            .and_then(|rest| rest.strip_prefix('.'));
        templates.add(variant.map(str::to_owned), template, origin(&key));
    }
    let chosen = templates.choose(options.variant.as_deref(), &name, || nothing_here(&file))?;

    let mut extras = Extras::default();
    if let Some(tokens) = model.tokens {
        let wanted = [model.bos, model.eos];
        let found = tokens
            .read(&mut reader, model.token_types, wanted)
            .map_err(fail)?;
        let [bos, eos] = found.wanted;
        let token = |token: Option<String>, key| match token {
            Some(token) => Token::Is(token, origin(key)),
            None => Token::Absent,
        };
        extras.bos_token = token(bos, BOS);
        extras.eos_token = token(eos, EOS);
        extras.take_special(found.control, &origin(TOKEN_TYPES));
    }
    Ok(extras.with(name, chosen))
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
    kind: Kind,
}

impl Model {
    fn read<R: Read + Seek>(source: R, length: u64) -> Result<(Self, Reader<R>), Trouble> {
        let mut reader = Reader::new(source, length);
        let entries = reader.header()?;
        let mut model = Self::default();
        for _ in 0..entries {
            model.read_entry(&mut reader)?;
        }
        Ok((model, reader))
    }

    /// Of equal keys, which there should not be, the first counts.
    fn read_entry<R: Read + Seek>(&mut self, reader: &mut Reader<R>) -> Result<(), Trouble> {
        let key = reader.text(MAX_KEY, "a key")?;
        let place = reader.position;
        let kind = reader.kind()?;
        let wrong = |expected| {
            Trouble::fault(
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
                if kind != Kind::Text {
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
                if kind != Kind::Text {
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
        reader: &mut Reader<R>,
        types: Option<TokenTypes>,
        wanted: [Option<u64>; 2],
    ) -> Result<Found, Trouble> {
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
        reader: &mut Reader<R>,
        tokens: u64,
    ) -> Result<HashSet<u64>, Trouble> {
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

/// The types of values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Whole numbers of so many bytes.
    Integer(u64),
    /// Floats and booleans of so many bytes, which nothing is made of here.
    Other(u64),
    Text,
    Array,
}

impl Kind {
    fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 | 1 => Self::Integer(1),
            2 | 3 => Self::Integer(2),
            4 | 5 => Self::Integer(4),
            6 => Self::Other(4),
            7 => Self::Other(1),
            8 => Self::Text,
            9 => Self::Array,
            10 | 11 => Self::Integer(8),
            12 => Self::Other(8),
            _ => return None,
        })
    }

    fn integer_size(self) -> Option<u64> {
        match self {
            Self::Integer(size) => Some(size),
            _ => None,
        }
    }

    /// The fewest bytes a value has.
    fn least_size(self) -> u64 {
        match self {
            Self::Integer(size) | Self::Other(size) => size,
            Self::Text => 8,
            Self::Array => 4 + 8,
        }
    }
}

/// Reads numbers and texts one after the other, and never past the end.
struct Reader<R: Read + Seek> {
    source: BufReader<R>,
    position: u64,
    length: u64,
    is_big_endian: bool,
    /// How many more items may be gone through one by one.
    items_left: u64,
    /// How many more bytes of text may be kept.
    text_left: u64,
}

impl<R: Read + Seek> Reader<R> {
    fn new(source: R, length: u64) -> Self {
        Self {
            source: BufReader::with_capacity(64 << 10, source),
            position: 0,
            length,
            is_big_endian: false,
            items_left: MAX_ITEMS,
            text_left: MAX_TEXT,
        }
    }

    /// Reads what comes before the metadata, and gives the number of its entries.
    fn header(&mut self) -> Result<u64, Trouble> {
        let is_gguf = self.length >= 4 && self.bytes::<4>()? == MAGIC;
        if !is_gguf {
            return Err(Trouble::fault(0, GgufFault::NotGguf));
        }
        let place = self.position;
        let mut version = u32::from_le_bytes(self.bytes()?);
        // No version is that high, so the bytes are the other way round.
        if version != 0 && version & 0xFFFF == 0 {
            self.is_big_endian = true;
            version = version.swap_bytes();
        }
        match version {
            1 => return Err(Trouble::fault(place, GgufFault::TooOld)),
            2 | 3 => {}
            _ => return Err(Trouble::fault(place, GgufFault::UnknownVersion(version))),
        }
        let _tensors = self.number()?;
        let place = self.position;
        let entries = self.number()?;
        limit(place, entries, MAX_ENTRIES, "a number of entries")?;
        Ok(entries)
    }

    /// Fails unless that many bytes follow.
    fn need(&self, needed: u64) -> Result<(), Trouble> {
        let left = self.length.saturating_sub(self.position);
        if needed > left {
            let fault = GgufFault::CutShort { needed, left };
            return Err(Trouble::fault(self.position, fault));
        }
        Ok(())
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Trouble> {
        self.need(N as u64)?;
        let mut bytes = [0; N];
        self.source.read_exact(&mut bytes)?;
        self.position += N as u64;
        Ok(bytes)
    }

    /// A length or count.
    fn number(&mut self) -> Result<u64, Trouble> {
        let bytes = self.bytes()?;
        Ok(if self.is_big_endian {
            u64::from_be_bytes(bytes)
        } else {
            u64::from_le_bytes(bytes)
        })
    }

    fn kind(&mut self) -> Result<Kind, Trouble> {
        let place = self.position;
        let bytes = self.bytes()?;
        let number = if self.is_big_endian {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        };
        let unknown = || Trouble::fault(place, GgufFault::UnknownType(number));
        Kind::from_number(number).ok_or_else(unknown)
    }

    /// A whole number of a few bytes. Negative ones come out very large.
    fn integer(&mut self, kind: Kind) -> Result<u64, Trouble> {
        let is_big_endian = self.is_big_endian;
        let widen = |bytes: &[u8]| {
            let add = |number, byte: &u8| number << 8 | u64::from(*byte);
            if is_big_endian {
                bytes.iter().fold(0, add)
            } else {
                bytes.iter().rev().fold(0, add)
            }
        };
        Ok(match kind {
            Kind::Integer(1) => widen(&self.bytes::<1>()?),
            Kind::Integer(2) => widen(&self.bytes::<2>()?),
            Kind::Integer(4) => widen(&self.bytes::<4>()?),
            _ => widen(&self.bytes::<8>()?),
        })
    }

    fn text(&mut self, most: u64, what: &'static str) -> Result<String, Trouble> {
        let place = self.position;
        let length = self.number()?;
        self.need(length)?;
        limit(place, length, most, what)?;
        let start = self.position;
        let mut bytes = Vec::new();
        let read = self.source.by_ref().take(length).read_to_end(&mut bytes)?;
        self.position += read as u64;
        if read as u64 != length {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to() as u64;
            Trouble::fault(start + valid, GgufFault::NotUtf8)
        })
    }

    /// A text that stays in memory, of which all together must not be too much.
    fn kept_text(&mut self, most: u64, what: &'static str) -> Result<String, Trouble> {
        let text = self.text(most.min(self.text_left), what)?;
        self.text_left -= text.len() as u64;
        Ok(text)
    }

    fn skip(&mut self, length: u64) -> Result<(), Trouble> {
        self.need(length)?;
        let step = i64::try_from(length).map_err(io::Error::other)?;
        self.source.seek_relative(step)?;
        self.position += length;
        Ok(())
    }

    fn skip_text(&mut self) -> Result<(), Trouble> {
        let length = self.number()?;
        self.skip(length)
    }

    fn go_to(&mut self, position: u64) -> Result<(), Trouble> {
        self.source.seek(SeekFrom::Start(position))?;
        self.position = position;
        Ok(())
    }

    /// The type and number of the items of an array that comes next, if it is one.
    fn array_of(&mut self, kind: Kind) -> Result<Option<(Kind, u64)>, Trouble> {
        if kind != Kind::Array {
            return Ok(None);
        }
        let kind = self.kind()?;
        let count = self.number()?;
        Ok(Some((kind, count)))
    }

    fn skip_value(&mut self, kind: Kind, depth: u32) -> Result<(), Trouble> {
        match kind {
            Kind::Integer(size) | Kind::Other(size) => self.skip(size),
            Kind::Text => self.skip_text(),
            Kind::Array => {
                let place = self.position;
                let depth = depth + 1;
                limit(place, depth.into(), MAX_DEPTH.into(), "a nesting of arrays")?;
                let kind = self.kind()?;
                let count = self.number()?;
                self.skip_items(kind, count, depth)
            }
        }
    }

    /// Skips the items of an array. Those of one size are skipped all at once.
    fn skip_items(&mut self, kind: Kind, count: u64, depth: u32) -> Result<(), Trouble> {
        let place = self.position;
        let least = count.saturating_mul(kind.least_size());
        self.need(least)?;
        if let Kind::Integer(_) | Kind::Other(_) = kind {
            return self.skip(least);
        }
        limit(place, count, self.items_left, "a number of items")?;
        self.items_left -= count;
        for _ in 0..count {
            self.skip_value(kind, depth)?;
        }
        Ok(())
    }
}

fn limit(place: u64, size: u64, limit: u64, what: &'static str) -> Result<(), Trouble> {
    if size > limit {
        return Err(Trouble::fault(
            place,
            GgufFault::TooMuch { what, size, limit },
        ));
    }
    Ok(())
}

/// What goes wrong, before the name of the file is known.
enum Trouble {
    Fault { offset: u64, fault: GgufFault },
    Read(io::Error),
}

impl Trouble {
    fn fault(offset: u64, fault: GgufFault) -> Self {
        Self::Fault { offset, fault }
    }

    fn in_file(self, name: &str) -> LoadError {
        let name = name.to_owned();
        match self {
            Self::Fault { offset, fault } => LoadError::Gguf {
                name,
                offset,
                fault,
            },
            Self::Read(error) => LoadError::Read { name, error },
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}
