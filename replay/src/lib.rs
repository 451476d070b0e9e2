//! One text on its way through the parser: what the workbench and the playground have in common.
//!
//! [`Replay`] reads a text once, chunk by chunk as a [`Chunking`] cuts it, and knows of each [`Position`] what was reported, which
//! part of the text belongs to which field, what the parser waits for, and the message so far. [`comparison`] sets that message
//! beside the one that was expected. Nothing here knows of terminals, files or browsers.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod cases;
mod chunking;
pub mod comparison;
mod preview;
mod replay;

pub use chunking::Chunking;
pub use preview::{preview, with_ends};
pub use replay::{
    Against, AwaitedDelimiter, EventKind, LoggedEvent, Position, Replay, Seen, Segment,
    SegmentKind, Spot, Wait, Waiting,
};
