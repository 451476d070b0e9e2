//! The workbench without any terminal: keys go in, and screens come out.

mod desk;
mod keeping;
mod keyboard;
#[path = "../support/root.rs"]
mod root;
mod samples;
mod stepping;
mod tour;
mod views;
