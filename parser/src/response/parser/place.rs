//! Where a parser is in a message.

use crate::response::template::Inner;

use super::region::Region;

/// Where the next text goes, unless a delimiter comes first.
///
/// For a template with `thinking` between tags and an implicit field `content`, the text
/// `Hm.<think>Why?</think>` leads a parser through
///
/// ```text
/// Implicit(content)     nothing has come yet
/// Region(content)       "Hm."
/// Region(thinking)      <think>
/// Implicit(content)     </think>
/// ```
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// No region is open, and the template has no implicit field: text is dropped.
    Outside,
    /// No region is open. The region of this field, which is the implicit one, opens with the next
    /// character; if none comes it makes no events.
    Implicit(usize),
    /// A region is open.
    Region(Region),
}

impl Place {
    /// Where a message begins, and where it goes on when a region has closed.
    pub(super) fn between_regions(inner: &Inner) -> Place {
        match inner.implicit {
            Some(field) => Place::Implicit(field),
            None => Place::Outside,
        }
    }

    /// The field that the next text belongs to.
    pub(super) fn field(&self) -> Option<usize> {
        match self {
            Place::Outside => None,
            Place::Implicit(field) => Some(*field),
            Place::Region(region) => Some(region.field),
        }
    }

    /// The region that is open.
    pub(super) fn region(&self) -> Option<&Region> {
        match self {
            Place::Region(region) => Some(region),
            Place::Outside | Place::Implicit(_) => None,
        }
    }
}
