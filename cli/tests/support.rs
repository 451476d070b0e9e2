//! What tests share.

pub(crate) mod program;
pub(crate) mod root;
