//! The values of a GGUF file, one after the other, and never past its end.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

use crate::chat_template::error::{GgufFault, LoadError};
use crate::chat_template::text_file::MAX_TEXT;

/// What every file begins with.
pub(in crate::chat_template) const MAGIC: &[u8] = b"GGUF";

/// Files have a few dozen entries.
const MAX_ENTRIES: u64 = 64 << 10;
/// All items that can't be skipped at once, throughout the metadata. The largest vocabularies have
/// fewer than a million.
const MAX_ITEMS: u64 = 32 << 20;
/// Arrays in arrays are allowed, but nobody writes them.
const MAX_DEPTH: u32 = 4;

/// The types of values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueType {
    /// Whole numbers of so many bytes.
    Integer(u64),
    /// Floats and booleans of so many bytes, which nothing is made of here.
    Other(u64),
    Text,
    Array,
}

impl ValueType {
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

    pub(super) fn integer_size(self) -> Option<u64> {
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
pub(super) struct GgufReader<R: Read + Seek> {
    input: BufReader<R>,
    pub(super) position: u64,
    length: u64,
    is_big_endian: bool,
    /// How many more items may be gone through one by one.
    items_left: u64,
    /// How many more bytes of text may be kept.
    text_left: u64,
}

impl<R: Read + Seek> GgufReader<R> {
    pub(super) fn new(input: R, length: u64) -> Self {
        Self {
            input: BufReader::with_capacity(64 << 10, input),
            position: 0,
            length,
            is_big_endian: false,
            items_left: MAX_ITEMS,
            text_left: MAX_TEXT,
        }
    }

    /// Reads what comes before the metadata, and gives the number of its entries.
    pub(super) fn header(&mut self) -> Result<u64, ReadFailure> {
        let is_gguf = self.length >= 4 && self.bytes::<4>()? == MAGIC;
        if !is_gguf {
            return Err(ReadFailure::fault(0, GgufFault::NotGguf));
        }
        let place = self.position;
        let mut version = u32::from_le_bytes(self.bytes()?);
        // No version is that high, so the bytes are the other way round.
        if version != 0 && version & 0xFFFF == 0 {
            self.is_big_endian = true;
            version = version.swap_bytes();
        }
        match version {
            1 => return Err(ReadFailure::fault(place, GgufFault::TooOld)),
            2 | 3 => {}
            _ => {
                return Err(ReadFailure::fault(
                    place,
                    GgufFault::UnknownVersion(version),
                ));
            }
        }
        let _tensors = self.number()?;
        let place = self.position;
        let entries = self.number()?;
        limit(place, entries, MAX_ENTRIES, "a number of entries")?;
        Ok(entries)
    }

    /// Fails unless that many bytes follow.
    fn need(&self, needed: u64) -> Result<(), ReadFailure> {
        let left = self.length.saturating_sub(self.position);
        if needed > left {
            let fault = GgufFault::CutShort { needed, left };
            return Err(ReadFailure::fault(self.position, fault));
        }
        Ok(())
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], ReadFailure> {
        self.need(N as u64)?;
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes)?;
        self.position += N as u64;
        Ok(bytes)
    }

    /// A length or count.
    fn number(&mut self) -> Result<u64, ReadFailure> {
        let bytes = self.bytes()?;
        Ok(if self.is_big_endian {
            u64::from_be_bytes(bytes)
        } else {
            u64::from_le_bytes(bytes)
        })
    }

    pub(super) fn kind(&mut self) -> Result<ValueType, ReadFailure> {
        let place = self.position;
        let bytes = self.bytes()?;
        let number = if self.is_big_endian {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        };
        let unknown = || ReadFailure::fault(place, GgufFault::UnknownType(number));
        ValueType::from_number(number).ok_or_else(unknown)
    }

    /// A whole number of a few bytes. Negative ones come out very large.
    pub(super) fn integer(&mut self, kind: ValueType) -> Result<u64, ReadFailure> {
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
            ValueType::Integer(1) => widen(&self.bytes::<1>()?),
            ValueType::Integer(2) => widen(&self.bytes::<2>()?),
            ValueType::Integer(4) => widen(&self.bytes::<4>()?),
            _ => widen(&self.bytes::<8>()?),
        })
    }

    pub(super) fn text(&mut self, most: u64, what: &'static str) -> Result<String, ReadFailure> {
        let place = self.position;
        let length = self.number()?;
        self.need(length)?;
        limit(place, length, most, what)?;
        let start = self.position;
        let mut bytes = Vec::new();
        let read = self.input.by_ref().take(length).read_to_end(&mut bytes)?;
        self.position += read as u64;
        if read as u64 != length {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to() as u64;
            ReadFailure::fault(start + valid, GgufFault::NotUtf8)
        })
    }

    /// A text that stays in memory, of which all together must not be too much.
    pub(super) fn kept_text(
        &mut self,
        most: u64,
        what: &'static str,
    ) -> Result<String, ReadFailure> {
        let text = self.text(most.min(self.text_left), what)?;
        self.text_left -= text.len() as u64;
        Ok(text)
    }

    fn skip(&mut self, length: u64) -> Result<(), ReadFailure> {
        self.need(length)?;
        let step = i64::try_from(length).map_err(io::Error::other)?;
        self.input.seek_relative(step)?;
        self.position += length;
        Ok(())
    }

    pub(super) fn skip_text(&mut self) -> Result<(), ReadFailure> {
        let length = self.number()?;
        self.skip(length)
    }

    pub(super) fn go_to(&mut self, position: u64) -> Result<(), ReadFailure> {
        self.input.seek(SeekFrom::Start(position))?;
        self.position = position;
        Ok(())
    }

    /// The type and number of the items of an array that comes next, if it is one.
    pub(super) fn array_of(
        &mut self,
        kind: ValueType,
    ) -> Result<Option<(ValueType, u64)>, ReadFailure> {
        if kind != ValueType::Array {
            return Ok(None);
        }
        let kind = self.kind()?;
        let count = self.number()?;
        Ok(Some((kind, count)))
    }

    pub(super) fn skip_value(&mut self, kind: ValueType, depth: u32) -> Result<(), ReadFailure> {
        match kind {
            ValueType::Integer(size) | ValueType::Other(size) => self.skip(size),
            ValueType::Text => self.skip_text(),
            ValueType::Array => {
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
    pub(super) fn skip_items(
        &mut self,
        kind: ValueType,
        count: u64,
        depth: u32,
    ) -> Result<(), ReadFailure> {
        let place = self.position;
        let least = count.saturating_mul(kind.least_size());
        self.need(least)?;
        if let ValueType::Integer(_) | ValueType::Other(_) = kind {
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

fn limit(place: u64, size: u64, limit: u64, what: &'static str) -> Result<(), ReadFailure> {
    if size > limit {
        return Err(ReadFailure::fault(
            place,
            GgufFault::TooMuch { what, size, limit },
        ));
    }
    Ok(())
}

/// What goes wrong, before the name of the file is known.
pub(super) enum ReadFailure {
    Fault { offset: u64, fault: GgufFault },
    Read(io::Error),
}

impl ReadFailure {
    pub(super) fn fault(offset: u64, fault: GgufFault) -> Self {
        Self::Fault { offset, fault }
    }

    pub(super) fn in_file(self, name: &str) -> LoadError {
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

impl From<io::Error> for ReadFailure {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}
