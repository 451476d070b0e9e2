//! Reading a pattern character by character.

use crate::white_space::is_space;

/// A place in a pattern. In verbose mode white space and comments are skipped,
/// even within escapes and quantifiers, as the `regex` module does.
#[derive(Clone)]
pub(super) struct PatternReader<'p> {
    pattern: &'p str,
    at: usize,
    pub verbose: bool,
}

impl<'p> PatternReader<'p> {
    pub fn new(pattern: &'p str) -> Self {
        PatternReader {
            pattern,
            at: 0,
            verbose: false,
        }
    }

    /// The byte offset.
    pub fn at(&self) -> usize {
        self.at
    }

    /// What is left of the pattern.
    pub fn rest(&self) -> &'p str {
        self.pattern.get(self.at..).unwrap_or_default()
    }

    /// Moves to an offset that [`PatternReader::at`] gave earlier.
    pub fn go_back(&mut self, at: usize) {
        self.at = at;
    }

    /// The next character, of any kind, without moving.
    pub fn raw_peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The next character, of any kind.
    pub fn raw_next(&mut self) -> Option<char> {
        let c = self.raw_peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Whether `text` comes next, and then moves past it; skips nothing.
    pub fn raw_eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// The next character that counts; moves only past what doesn't.
    pub fn peek(&mut self) -> Option<char> {
        self.skip();
        self.raw_peek()
    }

    /// The next character that counts.
    pub fn next(&mut self) -> Option<char> {
        self.skip();
        self.raw_next()
    }

    /// Whether `c` comes next, and then moves past it.
    pub fn eat(&mut self, c: char) -> bool {
        let before = self.at;
        let found = self.next() == Some(c);
        if !found {
            self.at = before;
        }
        found
    }

    /// Reads ASCII digits of a base, at most `limit` of them.
    pub fn digits(&mut self, base: u32, limit: usize) -> String {
        let mut digits = String::new();
        while digits.len() < limit {
            let before = self.at;
            match self.next() {
                Some(c) if c.is_digit(base) => digits.push(c),
                _ => {
                    self.at = before;
                    break;
                }
            }
        }
        digits
    }

    fn skip(&mut self) {
        if !self.verbose {
            return;
        }
        while let Some(c) = self.raw_peek() {
            if c == '#' {
                let comment = self.rest();
                self.at += comment.find('\n').unwrap_or(comment.len());
            } else if is_space(c) {
                self.at += c.len_utf8();
            } else {
                break;
            }
        }
    }
}
