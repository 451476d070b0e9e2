//! Findings in words, for people.

use std::fmt;

use crate::format::{Dialect, Node, Row, shown};
use crate::value::{Value, object};

use super::call_parts::{CallKeys, CallParts};
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
        if !self.content.before_calls.is_empty() {
            let around = all_shown(&self.content.before_calls);
            let text = format!("before calls also {around}");
            add(Subject::Content, Certainty::Seen, text);
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
    let varied = shape.varied_headers();
    let begins = match (shape.headers.as_slice(), varied.as_slice()) {
        ([], _) => "nothing tells where it begins".to_owned(),
        (headers, []) => format!("begins after {}", all_shown(headers)),
        (_, varied) => format!(
            "begins after {}, whatever stands for `…`",
            all_shown(varied)
        ),
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
    let varied_by = shape.varied_by();
    if !varied_by.is_empty() {
        all.push(format!(
            "opened or closed otherwise for other values of {}",
            all_shown(&varied_by)
        ));
    }
    all
}

fn of_calls(calls: &CallParts<'_>) -> Vec<String> {
    let body = match calls.body {
        Node::Object(..) => "{…}",
        Node::Array(_) => "[…]",
        _ => "ARGUMENTS",
    };
    let (open, close) = (calls.open.in_words(), calls.close.in_words());
    let mut all = vec![
        of_body(calls),
        format!("a call is {}", shown(&format!("{open}{body}{close}"))),
    ];
    all.extend(of_section(
        &calls.section_open.in_words(),
        &calls.section_close.in_words(),
    ));
    all.push(match (calls.several, calls.separator.is_empty()) {
        (false, _) => "one call a turn".to_owned(),
        (true, true) => "several calls a turn".to_owned(),
        (true, false) => format!(
            "several calls a turn, with {} between them{}",
            shown(&calls.separator.in_words()),
            match calls.several_in_brackets {
                true => ", and a list's brackets around them",
                false => "",
            }
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
            let first = |rows: &[Row]| rows.first().map(Row::in_words).unwrap_or_default();
            let (open, close) = (first(&arguments.opens), first(&arguments.closes));
            let between: Vec<&str> = arguments.between.iter().map(|text| &**text).collect();
            let between = between.join("|");
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
            let opens: Vec<String> = opens.map(|open| shown(&open.in_words())).collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::{found, template};

    #[test]
    fn turns_are_told_by_what_they_begin_and_end_with() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        for (headers, ends, next, answer, expected) in [
            (
                &["<bot>"][..],
                &["<end>"][..],
                false,
                false,
                "begins after `<bot>`, ends with `<end>`",
            ),
            (
                &["<bot>\n", "<tag>"],
                &["<a>", "<b>"],
                false,
                false,
                "begins after `<bot>⏎`, `<tag>`, ends with `<a>`, `<b>`",
            ),
            (
                &[],
                &[],
                false,
                false,
                "nothing tells where it begins, nothing tells where it ends",
            ),
            (
                &["<bot>"],
                &["<end>"],
                true,
                true,
                "begins after `<bot>`, ends with `<end>`, or with the `<|found|>` before a tool's answer, \
                 and the next turn's header always follows",
            ),
        ] {
            let shape = TurnShape {
                headers: texts(headers),
                ends: texts(ends),
                next_header: next.then(|| "<bot>".to_owned()),
                answer_marker: answer.then(|| "<|found|>".to_owned()),
                ..TurnShape::default()
            };
            assert_eq!(of_turn(&shape), expected);
        }
    }

    #[test]
    fn what_varies_in_a_header_is_left_out() {
        let shape = TurnShape {
            headers: vec!["<bot n=3>".to_owned()],
            varied_headers: vec![format!("<bot n={}>", crate::markers::VARIABLE_SLOT)],
            ends: vec!["<end>".to_owned()],
            ..TurnShape::default()
        };
        let expected = "begins after `<bot n=…>`, whatever stands for `…`, ends with `<end>`";
        assert_eq!(of_turn(&shape), expected);
    }

    #[test]
    fn reasoning_is_told_by_its_markers_and_places() {
        for (open, close, places, expected) in [
            (
                "<m>",
                "</m>",
                "lp",
                "between `<m>` and `</m>`; rendered in the last turn, in past turns",
            ),
            (
                "",
                "</m>",
                "l",
                "from the start of the turn up to `</m>`; rendered in the last turn",
            ),
            (
                "Mull:",
                "",
                "c",
                "from `Mull:` up to what opens the next part; rendered only beside calls",
            ),
            (
                "<m>",
                "</m>",
                "",
                "between `<m>` and `</m>`; never rendered",
            ),
            (
                "<m>",
                "</m>",
                "lc",
                "between `<m>` and `</m>`; rendered in the last turn, beside calls",
            ),
            (
                "<m>",
                "</m>",
                "kxoz",
                "between `<m>` and `</m>`; never rendered; read from `mull`; \
                 cut out of the content of past turns; a prompt opens it; \
                 a prompt closes it at once when thinking is off",
            ),
        ] {
            let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            let shape = ReasoningShape {
                keys: places
                    .contains('k')
                    .then(|| "mull".to_owned())
                    .into_iter()
                    .collect(),
                open: text(open),
                close: text(close),
                certainty: Certainty::Seen,
                in_last_turn: places.contains('l'),
                in_past_turns: places.contains('p'),
                beside_calls: places.contains('c'),
                cut_from_content: places.contains('x'),
                opened_by_prompt: places.contains('o'),
                closed_by_prompt: places.contains('z'),
                variants: Vec::new(),
            };
            assert_eq!(of_reasoning(&shape).join("; "), expected);
        }
    }

    #[test]
    fn sections_are_told_by_what_stands_before_and_after_all_calls() {
        for (open, close, expected) in [
            (
                "<a>",
                "</a>",
                Some("all calls of a turn are between `<a>` and `</a>`"),
            ),
            (
                "<a>\n",
                "\n",
                Some("`<a>⏎` stands before all calls of a turn"),
            ),
            ("", "</a>", Some("`</a>` stands after all calls of a turn")),
            ("\n", "", None),
        ] {
            assert_eq!(
                of_section(open, close).as_deref(),
                expected,
                "{open}{close}"
            );
        }
    }

    #[test]
    fn calls_are_told_by_their_bodies_and_what_stands_around_them() {
        for (each, expected) in [
            (
                "<do>{{ f | tojson }}</do>",
                "each a JSON object: name under `name`, arguments under `arguments`; a call is `<do>{…}</do>`; several calls a turn",
            ),
            (
                "<do>{{ {'name': f.name, 'args': f.arguments | tojson, 'id': c.id} | tojson }}</do>",
                "each a JSON object: name under `name`, arguments under `args` as text, id under `id`; a call is `<do>{…}</do>`; several calls a turn",
            ),
            (
                "<do {{ f.name }}>{{ f.arguments }}</do>",
                "the name in what opens a call, the arguments a JSON object; a call is `<do NAME>ARGUMENTS</do>`; several calls a turn",
            ),
            (
                "{{ f.name }}({% for k, v in f.arguments.items() %}{{ k }}={{ v | tojson }}{{ ', ' if not loop.last }}{% endfor %})\n",
                "written as calls in Python; a call is `NAME(ARGUMENTS)`; several calls a turn, with `⏎` between them",
            ),
            (
                "{{ '<do>' if loop.first }}{{ '[' if loop.first and not loop.last }}{{ f | tojson }}{{ ', ' if not loop.last else ']</do>' if not loop.first else '</do>' }}",
                "each a JSON object: name under `name`, arguments under `arguments`; a call is `{…}`; all calls of a turn are between `<do>` and `</do>`; several calls a turn, with `, ` between them, and a list's brackets around them",
            ),
            (
                "<do_{{ loop.index }} {{ f.name }}>{% for k, v in f.arguments.items() %}<{{ k }}>{{ v }}</{{ k }}>{% endfor %}</do>\n",
                "each argument as `<KEY>VALUE</KEY>`; a call is `<do_NUMBER NAME>ARGUMENTS</do>`; several calls a turn, with `⏎` between them",
            ),
            (
                "<do {{ f.name }}>{% for k, v in f.arguments.items() %}<{{ 'str ' if v is string else 'any ' }}{{ k }}>{{ v | tojson }}</>{% endfor %}</do>\n",
                "each argument as `<str KEY>VALUE</>`, the value as JSON, of other types behind `<any `; a call is `<do NAME>ARGUMENTS</do>`; several calls a turn, with `⏎` between them",
            ),
            (
                "<do {{ f.name }}>{% for k, v in f.arguments.items() %}<{{ k }}>{{ '<q>' + v + '<q>' if v is string else v | tojson }}</>{% endfor %}</do>\n",
                "each argument as `<KEY>VALUE</>`, a text as `<q>VALUE<q>`; a call is `<do NAME>ARGUMENTS</do>`; several calls a turn, with `⏎` between them",
            ),
        ] {
            let jinja = format!(
                "{{{{ m.content }}}}{{% for c in m.tool_calls %}}{{% set f = c.function %}}{each}{{% endfor %}}"
            );
            let statements = found(&template(&jinja)).statements();
            let calls = statements
                .iter()
                .filter(|one| one.subject == Subject::Calls);
            let calls: Vec<&str> = calls.map(|one| one.text.as_str()).collect();
            assert_eq!(calls.join("; "), expected, "{each}");
        }
    }

    #[test]
    fn what_stands_around_a_text_before_calls_is_told() {
        let jinja = template(
            "{{ '<note>' if m.tool_calls }}{{ m.content }}{% if m.tool_calls %}</note>\
             {% for c in m.tool_calls %}{{ c.function | tojson }}{% endfor %}{% endif %}",
        );
        let statements = found(&jinja).statements();
        let mut texts = statements.iter().map(|one| one.text.as_str());
        assert!(texts.any(|text| text == "before calls also `<note>`, `</note>`"));
    }

    #[test]
    fn what_stands_beside_reasoning_is_as_sure_as_that_is() {
        for (certainty, expected) in [(Some(Certainty::Guessed), "guessed"), (None, "seen")] {
            let mut findings = found(&template("<m>{{ m.reasoning_content }}</m>{{ m.content }}"));
            findings.content.beside_reasoning = vec!["<so>".to_owned()];
            match (certainty, &mut findings.reasoning) {
                (Some(certainty), Some(shape)) => shape.certainty = certainty,
                (_, reasoning) => *reasoning = None,
            }
            let statements = findings.statements();
            let beside = statements
                .iter()
                .find(|one| one.text == "beside reasoning also `<so>`");
            assert_eq!(beside.expect("it is told").certainty.key(), expected);
        }
    }
}
