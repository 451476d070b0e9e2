//! The text that a parser keeps from one chunk to the next.

use crate::response::pattern::{Reach, Window};

/// So much text may stay though it is not needed any more, where other text is left behind it.
const SLACK: usize = 256;

/// Text that may yet be a part of a delimiter, or that patterns may look back at.
#[derive(Debug, Clone, Default)]
pub(super) struct Held {
    pub(super) text: String,
    /// Where it begins in the text since the anchor.
    pub(super) from: usize,
    /// The character before it.
    pub(super) before: Option<char>,
}

impl Held {
    /// The held text as it is searched.
    pub(super) fn window(&self) -> Window<'_> {
        self.window_on(&self.text)
    }

    /// The same with a text in place of the one that is held.
    pub(super) fn window_on<'t>(&self, text: &'t str) -> Window<'t> {
        Window {
            text,
            base: self.from,
            before: self.before,
        }
    }

    /// Where it ends in the text since the anchor.
    pub(super) fn end(&self) -> usize {
        self.from + self.text.len()
    }

    /// Takes a chunk that has been dealt with, up to a position.
    #[inline]
    pub(super) fn append(&mut self, chunk: &str, position: usize, reach: Reach) {
        if reach == Reach::Nothing && self.text.is_empty() {
            self.before = chunk.chars().next_back().or(self.before);
            self.from = position;
        } else {
            self.text.push_str(chunk);
            self.release(position, reach);
        }
    }

    /// Keeps the part of a chunk behind `position`, up to where it has been dealt with, and as much of
    /// the text before as delimiters may look back at.
    pub(super) fn keep(&mut self, chunk: &Window<'_>, position: usize, reach: Reach) {
        let from = chunk.floor(reach.before(position, chunk.base));
        self.before = chunk.char_before(from);
        self.from = from;
        self.text.push_str(chunk.slice(from, chunk.end()));
    }

    /// Lets go of the text before `position` that no delimiter may look back at, when there is more of
    /// it than of the rest: moving the rest to the front then costs no more than has been read.
    pub(super) fn release(&mut self, position: usize, reach: Reach) {
        let done = reach.before(position, self.from) - self.from;
        let left = self.text.len() - done;
        if done < left || (left > 0 && done < SLACK) {
            return;
        }
        let done = self.text.floor_char_boundary(done);
        self.before = self.text[..done].chars().next_back().or(self.before);
        self.from += done;
        self.text.drain(..done);
    }
}
