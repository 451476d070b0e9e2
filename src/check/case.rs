//! Checking one case.

use std::fmt;

use crate::markers::{common_prefix, common_suffix};
use crate::remedy::Remedy;
use crate::response::{ParseError, ResponseTemplate};
use crate::value::{Object, Value};

use super::cuts::Cut;
use super::fixture::{Case, Expected};
use super::shrink::smallest;
use super::trace::EventTrace;

/// What is wrong with a case.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Failure {
    /// The message is another.
    Message {
        /// What was expected.
        expected: Object,
        /// What came out, with its keys in the order of what was expected.
        actual: Object,
    },
    /// The events are others.
    Events {
        /// What was expected.
        expected: Vec<Value>,
        /// What happened.
        actual: Vec<Value>,
    },
    /// The text can't be parsed, which was not expected.
    NotParsed(ParseError),
    /// The text can't be parsed, and another reason was expected.
    OtherError {
        /// What the error should say.
        expected: String,
        /// What it says.
        actual: ParseError,
    },
    /// The text should not have been parsed.
    Parsed {
        /// What the error should have said.
        expected: String,
        /// What came out.
        actual: Object,
    },
    /// A marker of the format is left in a text of which nobody has said what it means.
    MarkerLeft {
        /// The field of the message.
        field: String,
        /// The marker.
        marker: String,
    },
    /// A call names a tool that was not offered.
    UnknownTool(String),
    /// Something that the model has written is read by nothing: what, and where.
    Unread(String),
    /// The prompt has no anchor, so that all of it was read as part of the message.
    NoAnchor,
    /// The case says nothing of what it expects.
    NothingExpected(EventTrace),
    /// Something else is read of the conversation.
    Reads {
        /// What was expected.
        expected: Object,
        /// What was read, with its keys in the order of what was expected.
        actual: Object,
    },
    /// The model writes something else of the conversation.
    Written {
        /// What was expected.
        expected: Vec<String>,
        /// What it writes.
        actual: Vec<String>,
    },
    /// The chat template renders something else.
    Renders {
        /// What was expected.
        expected: String,
        /// What it renders.
        actual: String,
    },
    /// The chat template does not render it: why.
    NotRendered(String),
    /// The conversation can't be read: why.
    NotRead(String),
    /// It can't be told what of the conversation the model writes: why.
    NotMasked(String),
    /// The case says nothing of what it expects of a conversation.
    NoConversationExpected {
        /// What it could be expected under.
        key: &'static str,
        /// What comes out.
        actual: Value,
    },
    /// The text means something else when it arrives in pieces.
    Cut {
        /// How it was cut when this showed.
        cut: Cut,
        /// The fewest places at which it has to be cut, in bytes.
        places: Vec<usize>,
        /// What it means as a whole.
        whole: EventTrace,
        /// What it means in these pieces.
        pieces: EventTrace,
    },
}

impl Failure {
    /// A name for programs.
    pub fn key(&self) -> &'static str {
        match self {
            Failure::Message { .. } => "message",
            Failure::Events { .. } => "events",
            Failure::NotParsed(_) => "not parsed",
            Failure::OtherError { .. } => "other error",
            Failure::Parsed { .. } => "parsed",
            Failure::MarkerLeft { .. } => "marker left",
            Failure::UnknownTool(_) => "unknown tool",
            Failure::Unread(_) => "unread",
            Failure::NoAnchor => "no anchor",
            Failure::NothingExpected(_) | Failure::NoConversationExpected { .. } => {
                "nothing expected"
            }
            Failure::Reads { .. } => "reads",
            Failure::Written { .. } => "written",
            Failure::Renders { .. } => "renders",
            Failure::NotRendered(_) => "not rendered",
            Failure::NotRead(_) => "not read",
            Failure::NotMasked(_) => "not masked",
            Failure::Cut { .. } => "cut",
        }
    }

    /// What is wrong, in one line.
    pub fn headline(&self) -> String {
        self.explain(Remedy::name)
    }

    /// The [`headline`](Self::headline), with names of the caller for what it advises to make use of.
    pub fn explain(&self, words: impl Fn(Remedy) -> &'static str) -> String {
        match self {
            Failure::Message { .. } => "the message is not what was expected".into(),
            Failure::Events { .. } => "the events are not what was expected".into(),
            Failure::NotParsed(error) => format!("the output can't be parsed: {error}"),
            Failure::OtherError { expected, actual } => {
                format!("the error should say {expected:?}, and says: {actual}")
            }
            Failure::Parsed { expected, .. } => {
                format!("the output can be parsed, where an error was expected: {expected:?}")
            }
            Failure::MarkerLeft { field, marker } => format!(
                "{marker:?} is left in `{field}`: mend the template, or, if this was said, write the `message`"
            ),
            Failure::UnknownTool(name) => {
                format!("a call names `{name}`, which is none of the tools that were offered")
            }
            Failure::Unread(what) => {
                format!(
                    "something is lost: {what}: mend the template, or, if nothing is missing, write the `message`"
                )
            }
            Failure::NoAnchor => {
                "the template's anchor is not in the prompt, so all of it is read \
                 as part of the message: fix one of them, or leave out `prefix`"
                    .into()
            }
            Failure::NothingExpected(_) => format!(
                "the case says nothing of what it expects: write a `message`, or let {} write \
                 what comes out",
                words(Remedy::Update)
            ),
            Failure::Reads { .. } => "the conversation is not read as expected".into(),
            Failure::Written { .. } => {
                "the model writes another part of the conversation than expected".into()
            }
            Failure::Renders { expected, actual } => difference(expected, actual),
            Failure::NotRendered(why) => format!("the chat template does not render this: {why}"),
            Failure::NotRead(why) => format!("the conversation can't be read: {why}"),
            Failure::NotMasked(why) => {
                format!("it can't be told which part of the conversation the model writes: {why}")
            }
            Failure::NoConversationExpected { key, .. } => format!(
                "the case says nothing of what it expects: write `{key}`, or let {} write what comes \
                 out",
                words(Remedy::Update)
            ),
            Failure::Cut { cut, .. } => {
                format!("the output means something else when it arrives {cut}")
            }
        }
    }
}

/// How a text differs from the one that was expected: from the first piece that does to the last.
fn difference(expected: &str, actual: &str) -> String {
    let start = common_prefix(expected, actual);
    let end = common_suffix(&expected[start..], &actual[start..]);
    let shown = |text: &str| {
        let text = &text[start..text.len() - end];
        match text.char_indices().nth(MAX_SHOWN) {
            Some((at, _)) => format!("{:?}…", &text[..at]),
            None => format!("{text:?}"),
        }
    };
    let place = expected[..start].chars().count();
    let (old, new) = (shown(expected), shown(actual));
    match (old.as_str(), new.as_str()) {
        (old, "\"\"") => {
            format!("the chat template does not render {old} any more, at character {place}")
        }
        ("\"\"", new) => {
            format!("the chat template renders {new}, which is new, at character {place}")
        }
        (old, new) => {
            format!("the chat template rendered {old}, and renders {new} now, at character {place}")
        }
    }
}

/// So many characters are shown of what differs.
const MAX_SHOWN: usize = 80;

/// What is wrong, in one line.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline())
    }
}

impl Case {
    /// Everything that is wrong with the case, as [`check`](super::check) finds it: the output is
    /// read whole and in pieces, of which some are cut by chance, which the seed decides.
    ///
    /// ```
    /// use unjinja::check::{Case, Expected};
    /// use unjinja::{ResponseTemplate, Tools};
    ///
    /// let template = ResponseTemplate::from_json(
    ///     r#"{"start_anchor": "<bot>", "fields": {"content": {"close_pattern": "<end>|$"}}}"#)?;
    /// let mut expected = Expected::default();
    /// expected.message = Some([("content", "Hello!")].into_iter().collect());
    /// let case = Case::new("a greeting", "", "Hello!<end>", Tools::none(), expected);
    ///
    /// let failures = case.check(&template, 0);
    /// assert_eq!(
    ///     failures[0].headline(),
    ///     "the output means something else when it arrives byte by byte",
    /// );
    /// # Ok::<(), unjinja::TemplateError>(())
    /// ```
    pub fn check(&self, template: &ResponseTemplate, seed: u64) -> Vec<Failure> {
        let whole = self.read(template, &Cut::whole());
        let is_other = |places: &[usize]| !is_same_trace(&self.read_at(template, places), &whole);
        let mut cuts = Cut::all(&self.output, &self.name, seed);
        let other = cuts.find(|cut| is_other(cut.places()));
        let other = other.map(|cut| (smallest(cut.places(), is_other), cut));
        // Only now, since a long text has long failures.
        let mut failures = self.differences(template, &whole);
        failures.extend(other.map(|(places, cut)| Failure::Cut {
            pieces: self.read_at(template, &places),
            places,
            cut,
            whole,
        }));
        failures
    }

    /// What happens while the output is read, when it arrives cut in a way.
    pub fn read(&self, template: &ResponseTemplate, cut: &Cut) -> EventTrace {
        self.read_at(template, cut.places())
    }

    fn read_at(&self, template: &ResponseTemplate, places: &[usize]) -> EventTrace {
        let options = self.parser_options();
        EventTrace::read(template, options, &self.prefix, &self.output, places)
    }

    /// What the case did not expect of what its output means as a whole.
    ///
    /// ```
    /// use unjinja::check::{Case, Cut, Expected};
    /// use unjinja::{ResponseTemplate, Tools};
    ///
    /// let template = ResponseTemplate::from_json(
    ///     r#"{"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}}"#)?;
    /// let mut expected = Expected::default();
    /// expected.message = Some([("content", "Bye!")].into_iter().collect());
    /// let case = Case::new("a greeting", "", "Hello!<end>", Tools::none(), expected);
    ///
    /// let trace = case.read(&template, &Cut::whole());
    /// let differences = case.differences(&template, &trace);
    /// assert_eq!(differences[0].headline(), "the message is not what was expected");
    /// # Ok::<(), unjinja::TemplateError>(())
    /// ```
    pub fn differences(&self, template: &ResponseTemplate, trace: &EventTrace) -> Vec<Failure> {
        // An anchor that takes too long to look for fails wherever the prompt is read.
        if !self.prefix.is_empty() && template.after_anchor(&self.prefix) == Ok(None) {
            return vec![Failure::NoAnchor];
        }
        if self.expected.is_nothing() {
            return vec![Failure::NothingExpected(trace.clone())];
        }
        let outcome = self.expected.other_outcome(trace);
        outcome
            .into_iter()
            .chain(self.expected.other_events(trace))
            .collect()
    }
}

impl Expected {
    /// What was not expected of how a text ends.
    fn other_outcome(&self, trace: &EventTrace) -> Option<Failure> {
        match (&trace.outcome, &self.error, &self.message) {
            (Err(actual), Some(expected), _) => {
                let is_other = !actual.to_string().contains(expected.as_str());
                is_other.then(|| Failure::OtherError {
                    expected: expected.clone(),
                    actual: actual.clone(),
                })
            }
            (Err(actual), None, _) => Some(Failure::NotParsed(actual.clone())),
            (Ok(actual), Some(expected), _) => Some(Failure::Parsed {
                expected: expected.clone(),
                actual: actual.clone(),
            }),
            (Ok(actual), None, Some(expected)) => {
                (!expected.total_eq(actual)).then(|| Failure::Message {
                    actual: in_order_of(expected, actual),
                    expected: expected.clone(),
                })
            }
            (Ok(_), None, None) => None,
        }
    }

    /// What was not expected of what happens on the way.
    fn other_events(&self, trace: &EventTrace) -> Option<Failure> {
        let expected = self.events.as_ref()?;
        let actual = trace.events_as_values();
        (!same_events(expected, &actual)).then(|| Failure::Events {
            expected: expected.clone(),
            actual,
        })
    }
}

fn is_same_trace(a: &EventTrace, b: &EventTrace) -> bool {
    let same_outcome = || match (&a.outcome, &b.outcome) {
        (Ok(a), Ok(b)) => a.total_eq(b),
        (a, b) => a == b,
    };
    // Numbers that are no numbers are not equal to themselves, hence the second look.
    a == b || (same_outcome() && same_events(&a.events_as_values(), &b.events_as_values()))
}

fn same_events(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.total_eq(b))
}

/// An object with its keys in the order of another, so that a difference shows no order.
pub(super) fn in_order_of(model: &Object, object: &Object) -> Object {
    let known = model
        .keys()
        .filter_map(|key| object.get_json_string(key).map(|value| (key, value)));
    let new = object
        .iter()
        .filter(|(key, _)| model.get_json_string(key).is_none());
    let ordered = known.chain(new).map(|(key, value)| {
        let value = match model.get_json_string(key) {
            Some(model) => value_in_order_of(model, value),
            None => value.clone(),
        };
        (key.clone(), value)
    });
    ordered.collect()
}

fn value_in_order_of(model: &Value, value: &Value) -> Value {
    match (model, value) {
        (Value::Object(model), Value::Object(object)) => in_order_of(model, object).into(),
        (Value::Array(models), Value::Array(values)) => {
            let ordered = values.iter().enumerate().map(|(index, value)| {
                let model = models.get(index);
                model.map_or_else(|| value.clone(), |model| value_in_order_of(model, value))
            });
            Value::Array(ordered.collect())
        }
        _ => value.clone(),
    }
}
