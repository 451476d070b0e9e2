//! What it costs that text is held back: people who serve models ask for it.

use unjinja::ResponseTemplate;

/// How much text was held back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wait {
    /// The most bytes at once.
    pub bytes: usize,
    /// The most chunks in a row after which some were.
    pub chunks: usize,
}

/// The longest waits of each field.
#[derive(Debug)]
pub(super) struct Waits {
    of_fields: Vec<Wait>,
    /// The field of which text is held back, and for how many chunks in a row.
    now: Option<(u16, usize)>,
}

impl Waits {
    pub(super) fn new(template: &ResponseTemplate) -> Waits {
        Waits {
            of_fields: vec![Wait::default(); template.fields().len()],
            now: None,
        }
    }

    /// After a chunk, so many bytes are held back of the field whose region is open.
    pub(super) fn take(&mut self, field: Option<u16>, held: usize) {
        let Some(field) = field.filter(|_| held > 0) else {
            self.now = None;
            return;
        };
        let chunks = match self.now {
            Some((before, chunks)) if before == field => chunks + 1,
            _ => 1,
        };
        self.now = Some((field, chunks));
        if let Some(wait) = self.of_fields.get_mut(field as usize) {
            wait.bytes = wait.bytes.max(held);
            wait.chunks = wait.chunks.max(chunks);
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (u16, Wait)> + '_ {
        let all = (0..).zip(self.of_fields.iter().copied());
        all.filter(|(_, wait)| wait.bytes > 0)
    }
}
