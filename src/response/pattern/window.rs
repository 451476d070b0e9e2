//! The piece of a text that is searched.

/// A piece of the text since the anchor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window<'t> {
    pub(crate) text: &'t str,
    /// Where in the text since the anchor this piece begins.
    pub(crate) base: usize,
    /// The character before it.
    pub(crate) before: Option<char>,
}

impl<'t> Window<'t> {
    /// A window on a whole text.
    pub(crate) fn whole(text: &'t str) -> Window<'t> {
        Window {
            text,
            base: 0,
            before: None,
        }
    }

    pub(crate) fn end(&self) -> usize {
        self.base + self.text.len()
    }

    /// The text between two positions.
    pub(crate) fn slice(&self, from: usize, to: usize) -> &'t str {
        &self.text[from - self.base..to - self.base]
    }

    /// The nearest position at or before this one that does not cut a character in two.
    pub(crate) fn floor(&self, position: usize) -> usize {
        self.base + self.text.floor_char_boundary(position - self.base)
    }

    pub(crate) fn char_at(&self, position: usize) -> Option<char> {
        self.text[position - self.base..].chars().next()
    }

    pub(crate) fn char_before(&self, position: usize) -> Option<char> {
        match position.checked_sub(self.base) {
            Some(0) | None => self.before.filter(|_| position == self.base),
            Some(offset) => self.text[..offset].chars().next_back(),
        }
    }
}
