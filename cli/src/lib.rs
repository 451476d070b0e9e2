//! The program `unjinja`: its commands, and its workbench in the terminal.
//!
//! All that it knows of formats comes from the library of that name. What is public here is what its own
//! tests and benchmarks need; nothing of it is promised to stay.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod commands;
pub mod difference;
pub mod files;
mod incoming;
mod options;
mod printable;
mod printing;
mod private;
mod signals;
mod tokenizer;
pub mod tui;

pub use commands::{main, run};
pub use printable::printable;
