//! The text that a parser keeps from one chunk to the next.

use crate::response::pattern::Window;

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

    /// Keeps the part of a chunk behind `position`, up to where it has been dealt with; all of it
    /// if patterns look behind.
    pub(super) fn keep(&mut self, chunk: &Window<'_>, position: usize, looks_behind: bool) {
        let from = if looks_behind { chunk.base } else { position };
        self.before = chunk.char_before(from);
        self.from = from;
        self.text.push_str(chunk.slice(from, chunk.end()));
    }

    /// Lets go of the text before `position`, when there is more of it than of the rest: moving the
    /// rest to the front then costs no more than has been read.
    pub(super) fn release(&mut self, position: usize, looks_behind: bool) {
        let done = position - self.from;
        if looks_behind || done < self.text.len() - done {
            return;
        }
        self.before = self.text[..done].chars().next_back().or(self.before);
        self.from = position;
        self.text.drain(..done);
    }
}
