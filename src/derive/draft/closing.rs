//! What closes a call.

use crate::analysis::markers::{self, is_distinctive};
use crate::analysis::{CallBody, CallShape};
use crate::derive::regex::{any_of, exact, loose};
use crate::value::Object;

use super::call_texts::{json_call_start, opens_clearly, split_close};
use super::drafter::{Drafter, push_markers};

impl Drafter<'_> {
    /// Puts in what closes a call.
    pub(super) fn close_calls(&self, shape: &CallShape, field: &mut Object) {
        let close = shape.close_text();
        let (close, _) = split_close(&close);
        let close = close.trim();
        let section = shape.section_close.trim();
        let mut closers = Vec::new();
        let mut ahead = Vec::new();
        if is_distinctive(close) {
            closers.push(close.to_owned());
            if is_distinctive(section) {
                push_markers(&mut closers, section);
            }
        } else {
            ahead.extend(self.unclear_close(shape, close, section));
            ahead.extend(self.next_after(shape, close));
        }
        closers.extend(self.turn_ends());
        if opens_clearly(shape) {
            closers.extend(markers::markers(&shape.separator).map(str::to_owned));
        }
        if self.choices.next_call_closes {
            ahead.extend(self.next_openers(shape, close));
        }
        let ahead = (!ahead.is_empty()).then(|| ahead.join("|"));
        self.close(field, &closers, ahead);
    }

    /// What closes a call and could as well stand in its arguments: what follows decides.
    fn unclear_close(&self, shape: &CallShape, close: &str, section: &str) -> Option<String> {
        let own = unclear(shape, close);
        let both = match section {
            "" => own,
            section => format!("{own}\\s*{}", loose(section)),
        };
        if is_distinctive(section) {
            return Some(format!("{both}\\s*"));
        }
        if closes_behind_bracket(shape, close) {
            // Strings of JSON hold no such thing but by chance, and nothing has to be looked for ahead.
            return Some(format!("(?<=[}}\\]])\\s*{both}\\s*"));
        }
        if close.is_empty() && section.is_empty() {
            return None;
        }
        if self.choices.text_follows {
            return Some(format!("{both}\\s*"));
        }
        let mut ends: Vec<String> = self.turn_ends().iter().map(|end| exact(end)).collect();
        ends.push("\\Z".to_owned());
        Some(format!("{both}\\s*(?={})", any_of(&ends)))
    }

    /// The places before the markers with which a next call begins. What closes a call and separates
    /// it from the next goes along, if it is there.
    fn next_openers(&self, shape: &CallShape, close: &str) -> Vec<String> {
        let openers: Vec<String> = self.call_openers().iter().map(|head| loose(head)).collect();
        if openers.is_empty() {
            return Vec::new();
        }
        let openers = any_of(&openers);
        let own = (!is_distinctive(close)).then(|| unclear(shape, close));
        let separator = shape.separator.trim();
        let separator = (!is_distinctive(separator)).then(|| loose(separator));
        let mut places = Vec::new();
        for parts in [[&own, &separator], [&own, &None], [&None, &separator]] {
            let parts = parts.into_iter().flatten();
            let between: Vec<&str> = parts
                .map(String::as_str)
                .filter(|part| !part.is_empty())
                .collect();
            if !between.is_empty() {
                places.push(format!("{}\\s*(?={openers})", between.join("\\s*")));
            }
        }
        // Behind a blank, a marker is only spoken of, or stands in a text, unless calls are indented.
        places.push(format!("(?<! )(?={openers})"));
        let line = shape.separator.rfind('\n');
        let indent = line.map_or("", |at| &shape.separator[at..]);
        if indent.ends_with(' ') && indent.trim().is_empty() {
            places.push(format!("{}(?={openers})", exact(indent)));
        }
        places
    }

    /// What closes a call when another follows and nothing clear stands between.
    fn next_after(&self, shape: &CallShape, close: &str) -> Option<String> {
        let is_clear = close.is_empty() && opens_clearly(shape);
        if !shape.several || is_clear || matches!(shape.body, CallBody::Array(..)) {
            return None;
        }
        let mut head = self.slots_pattern(&shape.open, false);
        match &shape.body {
            CallBody::Object(keys, _) => head.push_str(&json_call_start(&shape.body, keys)),
            CallBody::Arguments(_) if !close.is_empty() => head.push_str("\\{"),
            _ => {}
        }
        // Where each call is a line of its own, so is the next.
        if let (CallBody::Tagged(_), true, true) = (
            &shape.body,
            close.is_empty(),
            shape.separator.contains('\n'),
        ) {
            return Some(format!("{}(?={head})", exact(&shape.separator)));
        }
        let behind = match close.is_empty() {
            true => "(?<=[}\\])])".to_owned(),
            false => unclear(shape, close),
        };
        let separator = loose(&shape.separator);
        Some(
            match (shape.separator.trim().is_empty(), shape.open.is_empty()) {
                // Where nothing at all opens a call, it must not end where it begins.
                (true, true) if !separator.is_empty() => format!("{behind}(?=\\s+{head})"),
                // White space goes along, unless the next call wants to see it.
                (true, is_bare)
                    if opens_clearly(shape) || (!is_bare && self.begins_anywhere(shape)) =>
                {
                    format!("{behind}\\s*(?={head})")
                }
                _ => format!("{behind}(?={separator}{head})"),
            },
        )
    }
}

/// Whether a call is JSON, which ends with a bracket, and what closes it is none.
fn closes_behind_bracket(shape: &CallShape, close: &str) -> bool {
    let is_json = matches!(
        shape.body,
        CallBody::Object(..) | CallBody::Array(..) | CallBody::Arguments(_)
    );
    is_json && close.starts_with(|c| !"{}[]()\"',".contains(c))
}

/// The expression for what closes a call and could as well stand in its arguments. The bracket behind those
/// of a Python call stays with them: it shows where the last of them ends.
fn unclear(shape: &CallShape, close: &str) -> String {
    match (&shape.body, close.strip_prefix(')')) {
        (CallBody::Python(_), Some(rest)) => format!("(?<=\\)){}", loose(rest)),
        _ => loose(close),
    }
}
