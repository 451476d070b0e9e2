//! What becomes of the items of a list: calls.

use crate::value::{Object, Value};

use super::json_item;
use super::part::{Found, Subschema};
use super::parts;

/// How an item of a list is read.
#[derive(Debug, Default)]
pub(super) struct Item {
    /// What it begins with, behind what the iterator wants before it.
    pub(super) open: String,
    /// What ends it, before what the iterator wants after it.
    pub(super) close: String,
    pub(super) content: &'static str,
    pub(super) content_args: Object,
    pub(super) transform: Value,
    /// Texts of such items.
    pub(super) samples: Vec<String>,
}

/// How items are read that have this schema.
pub(super) fn item(part: &Subschema<'_>) -> Found<Item> {
    if part.has("x-parser") {
        json_item::item(part)
    } else if part.has("properties") {
        parts::item(part)
    } else {
        Err(part.refused("items that are neither JSON nor objects of parts have no counterpart"))
    }
}
