//! The field for a text that is read by whatever stands around it.

use crate::analysis::markers;
use crate::derive::regex::{any_of, loose};
use crate::derive::surroundings::Around;
use crate::value::Object;

use super::drafter::{Drafter, literals};

/// Behind the quote that ends a string of JSON.
const BEHIND_STRING: &str = r#"(?<=[^\\]")\s*"#;

impl Drafter<'_> {
    /// The field for a text that stands between these others.
    pub(super) fn as_seen(&self, around: &Around) -> Object {
        let mut field = Object::new();
        let mut closes = around.closes.clone();
        closes.extend(self.turn_ends());
        markers::dedup(&mut closes);
        if around.is_json {
            field.insert(
                "open_pattern",
                format!("{}\\s*(?=\")", self.openers(around)),
            );
            let closers = any_of(&closers(around, &closes));
            field.insert("close_pattern", format!("{BEHIND_STRING}{closers}"));
            field.insert("content", "json");
            return field;
        }
        match around.opens.iter().all(|open| is_marker(open)) {
            true => field.insert("open", literals(&around.opens)),
            false => field.insert("open_pattern", self.openers(around)),
        };
        if !around.ahead.is_empty() || !closes.iter().all(|close| is_marker(close)) {
            field.insert("close_pattern", closers(around, &closes).join("|"));
        } else if !closes.is_empty() {
            field.insert("close", literals(&closes));
        }
        field
    }

    fn openers(&self, around: &Around) -> String {
        let opens = around.opens.iter().map(|open| match open.as_str() {
            "" => self.start(),
            open => loose(open),
        });
        any_of(&opens.collect::<Vec<_>>())
    }

    /// The beginning of a turn that does not begin with what opens any other part than reasoning.
    fn start(&self) -> String {
        let content = self.around.and_then(|around| around.content.as_ref());
        let mut others = self.call_openers();
        others.extend(
            content
                .iter()
                .flat_map(|content| content.opens.iter().cloned()),
        );
        let others: Vec<String> = others.iter().map(|open| loose(open)).collect();
        match others.is_empty() {
            true => "\\A".to_owned(),
            false => format!("\\A(?!\\s*{})", any_of(&others)),
        }
    }
}

/// Whether a text is one that only stands where it has its meaning, and has no white space in it.
fn is_marker(text: &str) -> bool {
    markers::markers(text).next().is_some() && !text.contains(char::is_whitespace)
}

/// The expressions for what closes a text: these texts, and the places before what opens the next part. Words have to stand
/// at the beginning of a line, if that is where they were seen.
fn closers(around: &Around, closes: &[String]) -> Vec<String> {
    let own = closes.iter().map(|close| {
        let is_line = close.starts_with('\n') && markers::is_wordy(close);
        let line = if is_line { "\\n\\s*" } else { "" };
        format!("{line}{}", loose(close.trim()))
    });
    let ahead = around.ahead.iter().map(|next| {
        let line = if next.starts_with('\n') {
            "\\n\\s*"
        } else {
            ""
        };
        format!("{line}(?={})", loose(next.trim()))
    });
    let mut closers = own.chain(ahead).collect();
    markers::dedup(&mut closers);
    closers
}
