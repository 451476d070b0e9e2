//! Text that comes in as bytes, piece by piece.

use std::io::{self, ErrorKind, Read};

/// How much is read at a time.
const BLOCK: usize = 64 << 10;

/// Reads a text while it comes in. A character that comes in two pieces is put together.
pub(crate) struct Incoming<R> {
    source: R,
    block: Vec<u8>,
    /// The block begins with this many bytes of a character that is not complete.
    kept: usize,
    /// How many bytes have been handed on.
    offset: usize,
    is_over: bool,
}

/// What has come in since the last time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The text, with U+FFFD where bytes are no character.
    pub(crate) text: String,
    /// The first place where they are none.
    pub(crate) fault: Option<Fault>,
}

/// A place where bytes are no character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault {
    /// How many bytes of the whole come before it.
    pub(crate) offset: usize,
    /// How many bytes of the piece's text come before it.
    pub(crate) in_piece: usize,
}

impl<R: Read> Incoming<R> {
    pub(crate) fn new(source: R) -> Incoming<R> {
        Incoming {
            source,
            block: vec![0; BLOCK],
            kept: 0,
            offset: 0,
            is_over: false,
        }
    }

    /// Waits for the next piece; there is none when the text has ended.
    pub(crate) fn next(&mut self) -> io::Result<Option<Piece>> {
        while !self.is_over {
            let read = match self.source.read(&mut self.block[self.kept..]) {
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.is_over = read == 0;
            let piece = self.take(self.kept + read);
            if !piece.text.is_empty() {
                return Ok(Some(piece));
            }
        }
        Ok(None)
    }

    /// Takes so many bytes of the block, but for those that may begin a character.
    fn take(&mut self, length: usize) -> Piece {
        let bytes = &self.block[..length];
        let mut piece = Piece {
            text: String::new(),
            fault: None,
        };
        let mut taken = 0;
        for chunk in bytes.utf8_chunks() {
            piece.text.push_str(chunk.valid());
            taken += chunk.valid().len();
            let invalid = chunk.invalid();
            let may_go_on = || std::str::from_utf8(invalid).is_err_and(|e| e.error_len().is_none());
            let is_last = taken + invalid.len() == length;
            if invalid.is_empty() || (is_last && !self.is_over && may_go_on()) {
                continue;
            }
            piece.fault.get_or_insert(Fault {
                offset: self.offset + taken,
                in_piece: piece.text.len(),
            });
            piece.text.push(char::REPLACEMENT_CHARACTER);
            taken += invalid.len();
        }
        self.block.copy_within(taken..length, 0);
        self.kept = length - taken;
        self.offset += taken;
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source that gives away a few bytes at a time.
    struct Slow<'b>(&'b [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
            let taken = self.1.min(self.0.len()).min(block.len());
            block[..taken].copy_from_slice(&self.0[..taken]);
            self.0 = &self.0[taken..];
            Ok(taken)
        }
    }

    #[test]
    fn characters_are_put_together_and_other_bytes_are_reported() {
        for (bytes, expected, fault) in [
            ("aé日😀\u{301}z".as_bytes(), "aé日😀\u{301}z", None),
            (b"", "", None),
            (b"ab\xffcd", "ab\u{fffd}cd", Some(2)),
            (b"\xe6\x97x", "\u{fffd}x", Some(0)),
            (b"\xc3\xa9\xe6\x97", "é\u{fffd}", Some(2)),
            (b"a\xff\xffb\xff", "a\u{fffd}\u{fffd}b\u{fffd}", Some(1)),
        ] {
            for step in 1..8 {
                let mut incoming = Incoming::new(Slow(bytes, step));
                let (mut text, mut first) = (String::new(), None);
                while let Some(piece) = incoming.next().expect("it can be read") {
                    if let Some(fault) = piece.fault {
                        let rest = &piece.text[fault.in_piece..];
                        assert!(rest.starts_with(char::REPLACEMENT_CHARACTER), "{rest:?}");
                        first.get_or_insert(fault.offset);
                    }
                    text.push_str(&piece.text);
                }
                assert_eq!(
                    (text.as_str(), first),
                    (expected, fault),
                    "{bytes:?} by {step}"
                );
            }
        }
    }
}
