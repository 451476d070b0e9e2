//! What can go wrong while an output is parsed.

use std::ops::Range;

use thiserror::Error;

/// An output could not be parsed.
///
/// Positions are bytes of the text since the anchor.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The text of a region is not what its field's parser or transform expects.
    #[error("field `{field}`, bytes {} to {} of the text since the anchor: {error}", span.start, span.end)]
    Region {
        /// The field.
        field: String,
        /// Where the region's text lies.
        span: Range<usize>,
        /// What is wrong with it.
        error: RegionError,
    },
    /// Fields that are not optional never matched.
    #[error(
        "the output lacks {}: make it `\"optional\": true` if a message may do without",
        list(fields)
    )]
    Missing {
        /// The fields.
        fields: Vec<String>,
    },
    /// A region opens and closes at the same place without taking any text, for ever.
    #[error(
        "field `{field}` opens and closes again and again at byte {position} of the text since the anchor: \
         let one of its delimiters match some text"
    )]
    Stuck {
        /// The field.
        field: String,
        /// Where it opens.
        position: usize,
    },
    /// The patterns have used up the steps that the length of the text allows them.
    #[error(
        "a pattern of `{field}` takes too many steps from byte {position} of the text since the anchor on: \
         replace its lookaround, its large repeats, or what makes it read the same text again"
    )]
    TooCostly {
        /// The field, or `start_anchor`.
        field: String,
        /// From where on it was searched for.
        position: usize,
    },
    /// The parser has failed before.
    #[error("this parser has failed before and can't go on: start a new one")]
    AfterFailure,
}

/// What is wrong with the text of a region.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RegionError {
    /// The content parser could not read it.
    #[error("{0}")]
    Content(ContentError),
    /// The transform could not be filled in.
    #[error("{0}")]
    Transform(String),
    /// The message can't take the value.
    #[error("{0}")]
    Store(String),
    /// Something stands in it that nothing reads (only with [`OnUnread::Malformed`](crate::OnUnread::Malformed)).
    #[error("{0}")]
    Unread(String),
    /// It is a call of a tool that was not offered (only where [`UnknownTools`](crate::UnknownTools) says so).
    #[error("{0}")]
    UnknownTool(String),
    /// The value would make the message many times as long as its text.
    #[error("{0}")]
    TooLarge(String),
}

/// A text is not what a content parser reads.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ContentError {
    message: String,
}

impl ContentError {
    pub(crate) fn new(message: impl Into<String>) -> ContentError {
        ContentError {
            message: message.into(),
        }
    }
}

fn list(fields: &[String]) -> String {
    let quoted: Vec<String> = fields.iter().map(|field| format!("`{field}`")).collect();
    quoted.join(", ")
}
