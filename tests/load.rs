//! Loading chat templates from everywhere they are kept.

mod files;
mod folders;
mod gguf;
#[cfg(feature = "hub")]
mod hub;
#[cfg(feature = "hub")]
mod server;
mod support;
