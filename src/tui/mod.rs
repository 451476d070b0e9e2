//! The workbench: a text goes through the streaming parser, step by step, before one's eyes.

mod glyphs;
#[cfg_attr(not(test), expect(dead_code, reason = "what draws rows comes next"))]
mod rows;
