//! A region of calls that is open: what can be said of its calls so far.

use crate::json;
use crate::response::{Capture, Entries, Field, Language, Parser, Tools};
use crate::value::Value;

use super::calls::{Plan, Source, arguments_text, calls_of, id_of};
use super::json_calls::JsonCalls;
use super::json_dialect::JsonDialect;

/// What is known of a call: of each part nothing as long as it may still come, and then what it is.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// The name, if it is a text.
    pub(super) name: Option<Option<String>>,
    /// The id, if there is one.
    pub(super) id: Option<Option<String>>,
}

/// A piece of a region's calls.
#[derive(Debug)]
pub(super) enum CallPiece {
    /// The next call of the region has begun.
    Begin { name: String, id: Option<String> },
    /// More of the arguments of a call, counted within the region.
    Arguments { call: usize, text: String },
}

/// The pieces that one piece of text has brought.
#[derive(Debug, Default)]
pub(super) struct CallPieces(pub(super) Vec<CallPiece>);

impl CallPieces {
    pub(super) fn begin(&mut self, name: &str, id: Option<String>) {
        self.0.push(CallPiece::Begin {
            name: name.to_owned(),
            id,
        });
    }

    pub(super) fn arguments(&mut self, call: usize, text: &str) {
        match self.0.last_mut() {
            // What comes at once is sent at once.
            Some(CallPiece::Arguments {
                call: last,
                text: before,
            }) if *last == call => before.push_str(text),
            _ => self.0.push(CallPiece::Arguments {
                call,
                text: text.to_owned(),
            }),
        }
    }
}

/// A region of calls that is open.
#[derive(Debug, Clone)]
pub(super) struct CallRegion {
    way: Way,
}

/// How the arguments come out of the text.
#[derive(Debug, Clone)]
enum Way {
    /// The text is JSON, or becomes JSON.
    Json {
        calls: Box<JsonCalls>,
        dialect: Option<Box<JsonDialect>>,
    },
    /// Of one call, entry by entry.
    Entries {
        entries: Box<Entries>,
        tool: String,
        /// What types the arguments, if they are typed.
        typing: Option<(Tools, Language)>,
        is_empty: bool,
        /// An entry could not be read: nothing more of the text will be of use.
        has_failed: bool,
    },
    /// They are the text of one call.
    Text,
    /// When the region has closed; so many calls have begun, one or none.
    AtClose { begun: usize },
}

impl CallRegion {
    /// A region has opened.
    pub(super) fn open(
        field: &Field,
        captures: &[Capture],
        typing: (&Tools, Language),
        out: &mut CallPieces,
    ) -> CallRegion {
        let way = match Plan::of(field) {
            Some(plan) => Way::of(field, plan, captures, typing, out),
            None => Way::AtClose { begun: 0 },
        };
        CallRegion { way }
    }

    /// Takes more of its text.
    pub(super) fn feed(&mut self, field: &Field, text: &str, out: &mut CallPieces) {
        match &mut self.way {
            Way::Json {
                calls,
                dialect: None,
            } => calls.feed(text, out),
            Way::Json {
                calls,
                dialect: Some(dialect),
            } => calls.feed(&dialect.feed(text), out),
            Way::Text => out.arguments(0, text),
            Way::Entries { .. } => self.read_entries(field, text, false, out),
            Way::AtClose { .. } => {}
        }
    }

    /// How many calls have begun, and whether all has come of the last.
    fn progress(&self) -> (usize, bool) {
        match &self.way {
            Way::Json { calls, .. } => calls.progress(),
            Way::Entries { .. } => (1, false),
            Way::Text => (1, true),
            Way::AtClose { begun } => (*begun, false),
        }
    }

    /// The call of which something has come and something may be missing, now that the text has ended.
    pub(super) fn open_call(&self) -> Option<usize> {
        let (begun, last_is_complete) = self.progress();
        let is_text = matches!(self.way, Way::Text);
        begun
            .checked_sub(1)
            .filter(|_| !last_is_complete || is_text)
    }

    /// The region has closed with a value: what has not come yet.
    pub(super) fn close(&mut self, field: &Field, value: &Value, out: &mut CallPieces) {
        if let Way::Json {
            calls,
            dialect: Some(dialect),
        } = &mut self.way
        {
            calls.feed(&dialect.end(), out);
        }
        let calls = calls_of(value);
        let (begun, last_is_complete) = self.progress();
        if let (false, Some(last)) = (last_is_complete, begun.checked_sub(1)) {
            let arguments = calls.get(last).and_then(|call| call.arguments);
            match &mut self.way {
                Way::Json { calls, .. } => calls.close(arguments, out),
                Way::Entries { .. } => {
                    self.read_entries(field, "", true, out);
                    self.end_entries(out);
                }
                Way::Text => {}
                Way::AtClose { .. } => {
                    out.arguments(last, &arguments_text(arguments));
                }
            }
        }
        for (call, whole) in calls.into_iter().enumerate().skip(begun) {
            out.begin(&whole.name, whole.id);
            out.arguments(call, &arguments_text(whole.arguments));
        }
    }

    fn read_entries(&mut self, field: &Field, text: &str, is_last: bool, out: &mut CallPieces) {
        let Way::Entries {
            entries,
            tool,
            typing,
            is_empty,
            has_failed,
        } = &mut self.way
        else {
            return;
        };
        if *has_failed {
            return;
        }
        let read = entries.read(&field.content, text, is_last, |key, mut value| {
            if let Some((tools, language)) = typing {
                let cast = tools.argument_cast(tool, &key.into(), *language);
                cast.apply(&mut value);
            }
            let mut entry = String::from(if *is_empty { "{" } else { "," });
            *is_empty = false;
            json::write_str(&mut entry, key, false);
            entry.push(':');
            json::write_into(&mut entry, &value, &json::Style::COMPACT);
            out.arguments(0, &entry);
        });
        *has_failed = read.is_err();
    }

    fn end_entries(&mut self, out: &mut CallPieces) {
        if let Way::Entries { is_empty, .. } = &self.way {
            out.arguments(0, if *is_empty { "{}" } else { "}" });
        }
    }
}

impl Way {
    fn of(
        field: &Field,
        plan: Plan,
        captures: &[Capture],
        typing: (&Tools, Language),
        out: &mut CallPieces,
    ) -> Way {
        let known = plan.known_at_open(captures);
        let path = match &plan.arguments {
            Some(Source::Path(path)) => Some(path),
            _ => None,
        };
        let is_content = path.is_some_and(|path| path.is_empty() && !plan.each);
        if let (Parser::Json(args), Some(_)) = (&field.content.parser, path)
            && let dialect = JsonDialect::of(args)
            && (args.is_plain() || dialect.is_some())
            // Text that is taken with the white space before it is only known in the end.
            && (field.content.strip || !args.allow_non_json || !is_content)
        {
            let may_be_text = args.allow_non_json && is_content;
            let mut calls = JsonCalls::new(plan, known, typing, may_be_text);
            calls.open(out);
            return Way::Json {
                calls: Box::new(calls),
                dialect: dialect.map(Box::new),
            };
        }
        let (false, Some(Some(tool)), Some(id)) = (plan.each, known.name, known.id) else {
            return Way::AtClose { begun: 0 };
        };
        out.begin(&tool, id);
        if !is_content {
            return Way::AtClose { begun: 1 };
        }
        match (&field.content.parser, Entries::new(&field.content)) {
            (Parser::Text, _) => Way::Text,
            (_, Some(entries)) => Way::Entries {
                entries: Box::new(entries),
                tool,
                typing: plan.is_typed.then(|| (typing.0.clone(), typing.1)),
                is_empty: true,
                has_failed: false,
            },
            _ => Way::AtClose { begun: 1 },
        }
    }
}

impl Plan {
    fn known_at_open(&self, captures: &[Capture]) -> Known {
        let text = |value: Value| {
            let text = value.as_json_string();
            text.map(|text| text.to_string_lossy().into_owned())
        };
        Known {
            name: self.name.at_open(captures).map(text),
            id: match &self.id {
                None => Some(None),
                Some(source) => source.at_open(captures).map(|id| id_of(&id)),
            },
        }
    }
}
