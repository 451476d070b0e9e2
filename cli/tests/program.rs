//! The program, as people and scripts meet it: one set of tests, which is linked once and keeps both cores busy.
//!
//! `cargo test --test program lint` runs what is in `lint.rs`.

mod authoring;
mod batch;
mod check;
mod cli;
mod convert;
mod derive;
mod gallery;
mod grammar;
mod habits;
mod lint;
mod mask;
mod pictures;
#[cfg(feature = "playground")]
mod playground;
#[cfg(unix)]
mod pty;
mod read;
mod support;
mod survey;
mod tui;
