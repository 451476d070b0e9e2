//! What closes a call.

use crate::analysis::markers::{self, is_distinctive};
use crate::analysis::{CallBody, CallShape, Slot};
use crate::derive::regex::{any_of, exact, loose};
use crate::value::Object;

use super::opening::{json_head, opens_clearly};
use super::{Drafter, push};

impl Drafter<'_> {
    pub(super) fn close_calls(&self, shape: &CallShape, field: &mut Object) {
        let (close, _) = split_close(&shape.close);
        let close = close.trim();
        let section = shape.section_close.trim();
        let mut closers = Vec::new();
        let mut ahead = Vec::new();
        if is_distinctive(close) {
            closers.push(close.to_owned());
            if is_distinctive(section) {
                push(&mut closers, section);
            }
        } else {
            // What closes a call could as well stand in its arguments: what follows tells.
            let both = [loose(close), loose(section)].join("\\s*");
            if is_distinctive(section) {
                ahead.push(format!("{both}\\s*"));
            } else if !close.is_empty() || !section.is_empty() {
                let mut ends: Vec<String> = self.turn_ends().iter().map(|end| exact(end)).collect();
                // The next call, even if what opens it is nothing special.
                if let Some(Slot::Text(text)) = shape.open.first()
                    && shape.several
                    && !text.trim().is_empty()
                    && section.is_empty()
                {
                    ends.push(loose(text.trim()));
                }
                ends.push("\\Z".to_owned());
                let end = any_of(&ends);
                ahead.push(format!("{both}\\s*(?={end})"));
            }
            ahead.extend(self.next_after(shape, close));
        }
        closers.extend(self.turn_ends());
        closers.extend(markers::markers(&shape.separator).map(str::to_owned));
        if self.choices.next_call_closes {
            let heads: Vec<String> = self.call_heads().iter().map(|head| exact(head)).collect();
            if !heads.is_empty() {
                let separator = shape.separator.trim();
                if !separator.is_empty() && !is_distinctive(separator) {
                    ahead.push(format!("{}\\s*(?={})", loose(separator), any_of(&heads)));
                }
                ahead.push(format!("(?={})", any_of(&heads)));
            }
        }
        let ahead = (!ahead.is_empty()).then(|| ahead.join("|"));
        self.close(field, &closers, ahead);
    }

    /// What closes a call when another follows and nothing clear stands between.
    fn next_after(&self, shape: &CallShape, close: &str) -> Option<String> {
        if !shape.several || matches!(shape.body, CallBody::Array(..)) || opens_clearly(shape) {
            return None;
        }
        let head = match &shape.body {
            CallBody::Object(keys, _) | CallBody::Array(keys, _) => json_head(&shape.body, keys),
            _ => self.opening(&shape.open, false),
        };
        let behind = match close.is_empty() {
            true => "(?<=[}\\])])".to_owned(),
            false => loose(close),
        };
        let separator = match shape.separator.trim().is_empty() {
            true => "\\s+".to_owned(),
            false => loose(&shape.separator),
        };
        Some(format!("{behind}(?={separator}{head})"))
    }
}

/// What closes a call, cut into its first marker and the rest.
pub(super) fn split_close(close: &str) -> (&str, &str) {
    let pieces = markers::pieces(close);
    let first = pieces.iter().position(|piece| markers::is_marker(piece));
    let Some(first) = first else {
        return (close, "");
    };
    let length = pieces[..=first].iter().map(|piece| piece.len()).sum();
    close.split_at(length)
}
