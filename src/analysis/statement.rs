//! Findings in words, for people.

use std::fmt;

use crate::format::{Dialect, Node, Slot, shown};
use crate::value::{Value, object};

use super::call_parts::{CallKeys, CallParts};
use super::call_shape::slot_sequence;
use super::certainty::Certainty;
use super::content::ContentShape;
use super::findings::Findings;
use super::reasoning::ReasoningShape;
use super::turn::TurnShape;

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// Where a turn begins and ends.
    Turn,
    /// How reasoning is written.
    Reasoning,
    /// How text is written.
    Content,
    /// How calls are written.
    Calls,
}

impl Subject {
    /// A name for programs.
    pub fn key(self) -> &'static str {
        match self {
            Subject::Turn => "turn",
            Subject::Reasoning => "reasoning",
            Subject::Content => "content",
            Subject::Calls => "calls",
        }
    }
}

/// A finding in words.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statement {
    /// What it is about.
    pub subject: Subject,
    /// What was found.
    pub text: String,
    /// How sure it is.
    pub certainty: Certainty,
}

impl Statement {
    /// For programs: an object of `subject`, `certainty` and `text`.
    pub fn to_value(&self) -> Value {
        object! {
            "subject": self.subject.key(),
            "certainty": self.certainty.key(),
            "text": &self.text,
        }
        .into()
    }
}

show_by_key!(Subject);

/// What was found.
impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn all_shown(texts: &[String]) -> String {
    let shown: Vec<String> = texts.iter().map(|text| shown(text)).collect();
    shown.join(", ")
}

impl Findings {
    /// The findings in words.
    ///
    /// ```
    /// use unjinja::analysis::Findings;
    /// use unjinja::chat_template::{ChatTemplate, RenderInput};
    ///
    /// let template = ChatTemplate::from_jinja(
    ///     "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
    ///      {% if add_generation_prompt %}<assistant>{% endif %}",
    /// );
    /// let found = Findings::of(&template, &RenderInput::default())?;
    /// assert_eq!(found.statements()[0].text, "begins after `<assistant>`, ends with `<end>`");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn statements(&self) -> Vec<Statement> {
        let mut all = Vec::new();
        let mut add = |subject, certainty, text: String| {
            all.push(Statement {
                subject,
                text,
                certainty,
            });
        };
        add(Subject::Turn, Certainty::Seen, of_turn(&self.turn));
        match &self.reasoning {
            None => add(Subject::Reasoning, Certainty::Seen, "none".to_owned()),
            Some(shape) => {
                for text in of_reasoning(shape) {
                    add(Subject::Reasoning, shape.certainty, text);
                }
            }
        }
        add(Subject::Content, Certainty::Seen, of_content(&self.content));
        if !self.content.beside_reasoning.is_empty() {
            let around = all_shown(&self.content.beside_reasoning);
            let reasoning = self.reasoning.as_ref();
            // What stands beside reasoning is as sure as that is.
            let certainty = reasoning.map_or(Certainty::Seen, |shape| shape.certainty);
            let text = format!("beside reasoning also {around}");
            add(Subject::Content, certainty, text);
        }
        match (&self.calls, &self.calls_refused) {
            (Some(shape), _) => {
                let parts = shape.parts();
                for text in parts.iter().flat_map(of_calls) {
                    add(Subject::Calls, shape.certainty, text);
                }
            }
            (None, Some(why)) => add(Subject::Calls, Certainty::Seen, format!("none: {why}")),
            (None, None) => add(Subject::Calls, Certainty::Seen, "none".to_owned()),
        }
        all
    }
}

fn of_turn(shape: &TurnShape) -> String {
    let begins = match shape.headers.as_slice() {
        [] => "nothing tells where it begins".to_owned(),
        headers => format!("begins after {}", all_shown(headers)),
    };
    let ends = match shape.ends.as_slice() {
        [] => "nothing tells where it ends".to_owned(),
        ends => format!("ends with {}", all_shown(ends)),
    };
    let next = match &shape.next_header {
        Some(_) => ", and the next turn's header always follows",
        None => "",
    };
    let answer = match &shape.answer_marker {
        Some(marker) => format!(", or with the {} before a tool's answer", shown(marker)),
        None => String::new(),
    };
    format!("{begins}, {ends}{answer}{next}")
}

fn of_content(shape: &ContentShape) -> String {
    match &shape.open {
        Some(open) => format!("between {} and {}", shown(open), all_shown(&shape.close)),
        None => "bare".to_owned(),
    }
}

fn of_reasoning(shape: &ReasoningShape) -> Vec<String> {
    let begin = match &shape.open {
        Some(open) => shown(open),
        None => "the start of the turn".to_owned(),
    };
    let markers = match (&shape.open, &shape.close) {
        (Some(_), Some(close)) => format!("between {begin} and {}", shown(close)),
        (None, Some(close)) => format!("from {begin} up to {}", shown(close)),
        (_, None) => format!("from {begin} up to what opens the next part"),
    };
    let mut places = Vec::new();
    for (is, place) in [
        (shape.in_last_turn, "in the last turn"),
        (shape.in_past_turns, "in past turns"),
        (shape.beside_calls, "beside calls"),
    ] {
        if is {
            places.push(place);
        }
    }
    let mut all = vec![markers];
    all.push(match places.as_slice() {
        [] => "never rendered".to_owned(),
        ["beside calls"] => "rendered only beside calls".to_owned(),
        places => format!("rendered {}", places.join(", ")),
    });
    if !shape.keys.is_empty() {
        all.push(format!("read from {}", all_shown(&shape.keys)));
    }
    if shape.cut_from_content {
        all.push("cut out of the content of past turns".to_owned());
    }
    if shape.opened_by_prompt {
        all.push("a prompt opens it".to_owned());
    }
    if shape.closed_by_prompt {
        all.push("a prompt closes it at once when thinking is off".to_owned());
    }
    all
}

fn of_calls(calls: &CallParts<'_>) -> Vec<String> {
    let body = match calls.body {
        Node::Object(..) => "{…}",
        Node::Array(_) => "[…]",
        _ => "ARGUMENTS",
    };
    let (open, close) = (in_words(&calls.open), in_words(&calls.close));
    let mut all = vec![
        of_body(calls),
        format!("a call is {}", shown(&format!("{open}{body}{close}"))),
    ];
    all.extend(of_section(&calls.section_open, &calls.section_close));
    all.push(match (calls.several, calls.separator.is_empty()) {
        (false, _) => "one call a turn".to_owned(),
        (true, true) => "several calls a turn".to_owned(),
        (true, false) => format!(
            "several calls a turn, with {} between them",
            shown(&calls.separator)
        ),
    });
    all
}

fn of_body(calls: &CallParts<'_>) -> String {
    let dialect = calls.dialect().map(of_dialect).unwrap_or_default();
    match (calls.keys(), calls.single_arguments()) {
        (Some(keys), _) => {
            let json = match calls.is_array() {
                true => "one JSON array for all",
                false => "each a JSON object",
            };
            format!("{json}{dialect}: {}", of_keys(&keys))
        }
        (None, Some(arguments)) if arguments.in_python => "written as calls in Python".to_owned(),
        (None, Some(arguments)) => {
            let (open, close) = (in_words(arguments.open()), in_words(arguments.close()));
            let between = arguments.between.join("|");
            let values = match arguments.has_json_texts() {
                true => ", the value as JSON",
                false => "",
            };
            let argument = shown(&format!("{open}KEY{between}VALUE{close}"));
            let wrapping = arguments.wrapping().map(|(open, close)| {
                let value = shown(&format!("{open}VALUE{close}"));
                let which = match arguments.quotes() {
                    Some(_) => "a text",
                    None => "a value with signs of markers in it",
                };
                format!(", {which} as {value}")
            });
            let opens = arguments.opens.iter().skip(1);
            let opens: Vec<String> = opens.map(|open| shown(&in_words(open))).collect();
            let by_type = match opens.is_empty() {
                true => String::new(),
                false => format!(", of other types behind {}", opens.join(", ")),
            };
            format!(
                "each argument as {argument}{values}{by_type}{}",
                wrapping.unwrap_or_default()
            )
        }
        (None, None) => {
            format!("the name in what opens a call, the arguments a JSON object{dialect}")
        }
    }
}

/// What stands around all calls of a turn, if anything does.
fn of_section(open: &str, close: &str) -> Option<String> {
    match (open.trim().is_empty(), close.trim().is_empty()) {
        (true, true) => None,
        (false, true) => Some(format!("{} stands before all calls of a turn", shown(open))),
        (true, false) => Some(format!("{} stands after all calls of a turn", shown(close))),
        (false, false) => Some(format!(
            "all calls of a turn are between {} and {}",
            shown(open),
            shown(close)
        )),
    }
}

/// Slots as words in a text.
fn in_words(text: &str) -> String {
    let words = slot_sequence(text).into_iter().map(|node| match node {
        Node::Literal(text) => text,
        Node::Slot(Slot::Index) => "NUMBER".to_owned(),
        node => node.to_string(),
    });
    words.collect()
}

fn of_dialect(dialect: &Dialect) -> String {
    match dialect.in_words() {
        words if words.is_empty() => words,
        words => format!(" with {words}"),
    }
}

fn of_keys(keys: &CallKeys<'_>) -> String {
    let mut text = format!(
        "name under {}, arguments under {}",
        shown(&keys.name.join(".")),
        shown(&keys.arguments.join("."))
    );
    if keys.arguments_as_text {
        text.push_str(" as text");
    }
    if let Some(id) = &keys.id {
        text.push_str(&format!(", id under {}", shown(&id.join("."))));
    }
    text
}
