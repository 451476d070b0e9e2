//! Whether a position of a JSON body lies inside of a string.

/// Follows the strings of a body while it grows.
#[derive(Debug, Clone, Default)]
pub struct StringGuard {
    /// How much of the body has been read.
    at: usize,
    inside: Option<Inside>,
}

#[derive(Debug, Clone, Copy)]
enum Inside {
    Quotes,
    /// Between the markers of this number.
    Markers(usize),
}

impl StringGuard {
    /// Reads what has been added to the body; `delims` are the markers that stand for quotes.
    pub fn read(&mut self, body: &str, delims: &[(String, String)]) {
        while let Some(inside) = self.inside {
            match string_end(&body[self.at..], inside, delims) {
                Ok(length) => {
                    self.at += length;
                    self.inside = None;
                }
                Err(read) => {
                    self.at += read;
                    return;
                }
            }
            self.enter(body, delims);
        }
        self.enter(body, delims);
        if self.inside.is_some() {
            self.read(body, delims);
        }
    }

    /// Looks for the beginning of the next string.
    fn enter(&mut self, body: &str, delims: &[(String, String)]) {
        let rest = &body[self.at..];
        let quote = memchr::memchr(b'"', rest.as_bytes()).map(|at| (at, 1, Inside::Quotes));
        let markers = delims.iter().enumerate().filter_map(|(number, (open, _))| {
            let at = rest.find(open.as_str())?;
            Some((at, open.len(), Inside::Markers(number)))
        });
        let first = markers
            .chain(quote)
            .min_by_key(|&(at, length, _)| (at, std::cmp::Reverse(length)));
        if let Some((at, length, inside)) = first {
            self.at += at + length;
            self.inside = Some(inside);
        } else {
            let longest = delims.iter().map(|(open, _)| open.len()).max().unwrap_or(1);
            self.at += unfinished_from(rest, longest);
        }
    }

    /// Whether the body ends inside of a string.
    pub fn is_inside(&self) -> bool {
        self.inside.is_some()
    }
}

/// The length of a string's rest with what ends it, or else how much of the text need not be read
/// again when more of it is there.
fn string_end(text: &str, inside: Inside, delims: &[(String, String)]) -> Result<usize, usize> {
    match inside {
        Inside::Markers(number) => {
            let close = &delims[number].1;
            text.find(close.as_str())
                .map(|at| at + close.len())
                .ok_or_else(|| unfinished_from(text, close.len()))
        }
        Inside::Quotes => {
            let bytes = text.as_bytes();
            let mut at = 0;
            while let Some(offset) = memchr::memchr2(b'"', b'\\', &bytes[at..]) {
                at += offset;
                if bytes[at] == b'"' {
                    return Ok(at + 1);
                }
                let Some(escaped) = text[at + 1..].chars().next() else {
                    return Err(at);
                };
                at += 1 + escaped.len_utf8();
            }
            Err(text.len())
        }
    }
}

/// From where on a text could end in the beginning of a marker of this length.
fn unfinished_from(text: &str, marker: usize) -> usize {
    text.floor_char_boundary(text.len().saturating_sub(marker.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishes_positions_inside_of_strings() {
        let markers = vec![("<|q|>".to_owned(), "<|q|>".to_owned())];
        for (body, delims, inside) in [
            (r#"{"a"#, &[][..], true),
            (r#"{"a":"#, &[], false),
            (r#"{"a\""#, &[], true),
            (r#"{"a\\""#, &[], false),
            (r#"{"a\"#, &[], true),
            ("{a:<|q|>it's \"", &markers, true),
            ("{a:<|q|>it's<|q|>", &markers, false),
            ("{a:<|q|>it's<|q", &markers, true),
        ] {
            let mut whole = StringGuard::default();
            whole.read(body, delims);
            assert_eq!(whole.is_inside(), inside, "{body}");
            let mut pieces = StringGuard::default();
            for (end, _) in body.char_indices() {
                pieces.read(&body[..end], delims);
            }
            pieces.read(body, delims);
            assert_eq!(pieces.is_inside(), inside, "{body} in pieces");
        }
    }
}
