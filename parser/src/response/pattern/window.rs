//! The piece of a text that is searched.

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
