//! The workbench without any terminal: keys go in, and screens come out.

pub(crate) mod desk;
mod keeping;
pub(crate) mod keyboard;
mod samples;
mod stepping;
mod tour;
mod views;
