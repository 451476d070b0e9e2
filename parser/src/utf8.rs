//! Text out of bytes that come in pieces.

use std::borrow::Cow;

/// Makes text of bytes that come in pieces, as the tokens of models do: one character may be cut into several tokens.
///
/// What of a character has come in is kept until the rest of it comes. Bytes that are no character are U+FFFD, one for each
/// longest beginning of a character, as in [`String::from_utf8_lossy`]. Pieces without such cuts are handed on as they are,
/// without being copied.
///
/// ```
/// use unjinja::Utf8Decoder;
///
/// let mut decoder = Utf8Decoder::new();
/// let tokens: [&[u8]; 4] = [b"8 ", b"\xc2", b"\xb0C, ", b"\xe2\x98\x80"];
/// let pieces: Vec<String> = tokens.iter().map(|token| decoder.push(token).into_owned()).collect();
/// assert_eq!(pieces, ["8 ", "", "°C, ", "☀"]);
/// assert_eq!(decoder.finish(), "");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Utf8Decoder {
    /// The beginning of a character.
    kept: [u8; LONGEST],
    length: usize,
}

/// So many bytes of a character may be there without its being whole.
const LONGEST: usize = 3;

impl Utf8Decoder {
    /// A decoder to which nothing has come yet.
    pub fn new() -> Utf8Decoder {
        Utf8Decoder::default()
    }

    /// Whether all that has come was whole: nothing of a character is kept.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Takes the next bytes, and returns the text that is complete with them.
    #[inline]
    pub fn push<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, str> {
        if self.length == 0
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            return Cow::Borrowed(text);
        }
        self.put_together(bytes)
    }

    #[cold]
    fn put_together<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, str> {
        // Mostly it is the end alone that is no character, and only the beginning of one.
        match std::str::from_utf8(bytes) {
            Err(error) if self.length == 0 && error.error_len().is_none() => {
                let (text, beginning) = bytes.split_at(error.valid_up_to());
                self.keep(beginning);
                return String::from_utf8_lossy(text);
            }
            _ => {}
        }
        let mut joined = self.kept[..self.length].to_vec();
        self.length = 0;
        joined.extend_from_slice(bytes);
        let mut text = String::with_capacity(joined.len());
        let mut taken = 0;
        for chunk in joined.utf8_chunks() {
            text.push_str(chunk.valid());
            let invalid = chunk.invalid();
            taken += chunk.valid().len() + invalid.len();
            let may_go_on = || std::str::from_utf8(invalid).is_err_and(|e| e.error_len().is_none());
            match invalid {
                [] => {}
                beginning if taken == joined.len() && may_go_on() => self.keep(beginning),
                _ => text.push(char::REPLACEMENT_CHARACTER),
            }
        }
        Cow::Owned(text)
    }

    fn keep(&mut self, beginning: &[u8]) {
        self.kept[..beginning.len()].copy_from_slice(beginning);
        self.length = beginning.len();
    }

    /// Ends the bytes: what has come of a character, and is not whole, is U+FFFD. The decoder begins anew.
    pub fn finish(&mut self) -> &'static str {
        match std::mem::take(&mut self.length) {
            0 => "",
            _ => "\u{fffd}",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_mean_the_same_however_they_are_cut() {
        for bytes in [
            "aé日😀\u{301}z".as_bytes(),
            b"",
            b"ab\xffcd",
            b"\xe6\x97x",
            b"\xc3\xa9\xe6\x97",
            b"a\xff\xffb\xff",
            b"\xf0\x9f\x98",
            b"\xf0\x9f\x98\xe6\xf0\x9f\x98\x80\xed\xa0\x80",
            b"\xef\xbb\xbfa",
        ] {
            let whole = String::from_utf8_lossy(bytes);
            for step in 1..=bytes.len().max(1) {
                let mut decoder = Utf8Decoder::new();
                let mut text = String::new();
                for piece in bytes.chunks(step) {
                    text.push_str(&decoder.push(piece));
                }
                text.push_str(decoder.finish());
                assert_eq!(text, whole, "{bytes:?} by {step}");
            }
        }
    }

    #[test]
    fn a_character_comes_with_its_last_byte() {
        let mut decoder = Utf8Decoder::new();
        let pieces = "é☀😀".as_bytes().chunks(1);
        let lengths: Vec<usize> = pieces.map(|byte| decoder.push(byte).len()).collect();
        assert_eq!(lengths, [0, 2, 0, 0, 3, 0, 0, 0, 4]);
    }
}
