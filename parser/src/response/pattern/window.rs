//! The piece of a text that is searched.

use std::ops::Range;

/// A character that stands for whatever may follow a text: it ends no line, and no pattern is likely to name it.
pub(super) const BEYOND: char = '\0';

/// A piece of the text since the anchor.
#[derive(Debug, Clone, Copy)]
pub struct Window<'t> {
    pub text: &'t str,
    /// Where in the text since the anchor this piece begins.
    pub base: usize,
    /// The character before it.
    pub before: Option<char>,
}

impl<'t> Window<'t> {
    /// A window on a whole text.
    pub fn whole(text: &'t str) -> Window<'t> {
        Window {
            text,
            base: 0,
            before: None,
        }
    }

    pub fn end(&self) -> usize {
        self.base + self.text.len()
    }

    /// The text between two positions.
    pub fn slice(&self, from: usize, to: usize) -> &'t str {
        &self.text[from - self.base..to - self.base]
    }

    /// The nearest position at or before this one that does not cut a character in two.
    pub fn floor(&self, position: usize) -> usize {
        self.base + self.text.floor_char_boundary(position - self.base)
    }

    /// Whether groups with these bounds have the same texts as those with others, which may reach beyond the end.
    pub(super) fn same_texts(&self, groups: &[usize], others: &[usize]) -> bool {
        let text = |bounds: &[usize], index: usize| -> Option<Option<&'t str>> {
            let Some(Range { start, end }) = super::group(bounds, index) else {
                return Some(None);
            };
            (end <= self.end()).then(|| Some(self.slice(start, end)))
        };
        (0..groups.len() / 2).all(|index| {
            let other = text(others, index);
            other.is_some() && other == text(groups, index)
        })
    }

    pub fn char_at(&self, position: usize) -> Option<char> {
        self.text[position - self.base..].chars().next()
    }

    pub fn char_before(&self, position: usize) -> Option<char> {
        match position.checked_sub(self.base) {
            Some(0) | None => self.before.filter(|_| position == self.base),
            Some(offset) => self.text[..offset].chars().next_back(),
        }
    }
}
