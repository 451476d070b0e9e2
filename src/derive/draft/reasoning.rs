//! The field for reasoning.

use crate::derive::choices::{ThinkingEnd, ThinkingOpen};
use crate::derive::regex::{any_of, exact};
use crate::value::Object;

use super::drafter::Drafter;

impl Drafter<'_> {
    /// The field for reasoning, if the model reasons.
    pub(super) fn thinking(&self) -> Option<Object> {
        let shape = self.findings.reasoning.as_ref()?;
        let close = shape.close.trim();
        let mut field = Object::new();
        match (
            self.choices.thinking_open,
            shape.open.as_deref().map(str::trim),
        ) {
            (ThinkingOpen::Marker, Some(open)) => {
                field.insert("open", open);
            }
            (ThinkingOpen::MarkerIfClosed, Some(open)) => {
                // The white space makes it as long as what would skip the marker.
                let pattern = format!("{}\\s*(?=.*?{})", exact(open), exact(close));
                field.insert("open_pattern", pattern);
            }
            _ => {
                field.insert("open_pattern", format!("\\A(?=.*?{})", exact(close)));
            }
        }
        let mut closers = vec![close.to_owned()];
        if self.choices.thinking_end != ThinkingEnd::Marker {
            closers.extend(self.turn_ends());
        }
        let ahead = match self.choices.thinking_end {
            ThinkingEnd::Marker | ThinkingEnd::OrTurn => Vec::new(),
            ThinkingEnd::OrCall | ThinkingEnd::OrCallUnlessClosed => self.call_openers(),
        };
        let ahead = (!ahead.is_empty()).then(|| {
            let openers: Vec<String> = ahead.iter().map(|head| exact(head)).collect();
            match self.choices.thinking_end {
                ThinkingEnd::OrCallUnlessClosed => {
                    format!("(?={}(?!.*?{}))", any_of(&openers), exact(close))
                }
                _ => format!("(?={})", any_of(&openers)),
            }
        });
        self.close(&mut field, &closers, ahead);
        Some(field)
    }
}
