//! What opens and closes the fields of a draft, as values. Here alone they become literals and expressions.

use std::cmp::Reverse;

use crate::markers::lexicon::unmarked;
use crate::markers::{dedup, is_slot};
use crate::value::{Object, Value};

use super::pattern::{Pattern, SPACE, any_of, either, exact, ignoring_space};

/// One alternative of what opens or closes a field.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Delimiter {
    /// A text as it stands, white space too.
    Exact(String),
    /// A text, whatever white space there is in the place of its own.
    IgnoringSpace(String),
    /// An expression, for what is known by more than its text: a place, a name in it, what follows.
    Expression(Pattern),
}

impl Delimiter {
    /// The literal that says the same, if there is one.
    pub(super) fn literal(&self) -> Option<&str> {
        match self {
            Delimiter::Exact(text) => (!text.contains(is_slot)).then_some(text),
            Delimiter::IgnoringSpace(text) => {
                (!text.contains(char::is_whitespace) && !text.contains(is_slot)).then_some(text)
            }
            Delimiter::Expression(_) => None,
        }
    }

    /// The expression that matches it and nothing else.
    pub(super) fn expression(&self) -> Pattern {
        match self {
            Delimiter::Exact(text) => exact(text),
            Delimiter::IgnoringSpace(text) => ignoring_space(text),
            Delimiter::Expression(expression) => expression.clone(),
        }
    }

    /// Whether it looks at what stands before it, or behind it.
    pub(super) fn looks_around(&self) -> bool {
        matches!(self, Delimiter::Expression(expression) if expression.looks_around())
    }

    /// Whether what it looks at may change as more text comes behind it: that nothing follows, or not what is meant.
    pub(super) fn looks_at_end(&self) -> bool {
        matches!(self, Delimiter::Expression(expression) if expression.looks_at_end())
    }

    /// A text without which it stands nowhere, if that is easily found.
    pub(super) fn needed_text(&self) -> Option<String> {
        self.expression().needed_text().map(unmarked)
    }
}

/// All alternatives of what opens or closes a field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Delimiters {
    pub(super) alternatives: Vec<Delimiter>,
    /// Whether the white space behind texts goes with them.
    pub(super) takes_space: bool,
}

impl Delimiters {
    /// One alternative alone.
    pub(super) fn one(delimiter: Delimiter) -> Delimiters {
        Delimiters {
            alternatives: vec![delimiter],
            takes_space: false,
        }
    }

    /// Texts with whatever white space is in them, and expressions, each once.
    pub(super) fn ignoring_space(
        texts: &[String],
        expressions: Vec<Pattern>,
        takes_space: bool,
    ) -> Delimiters {
        let mut texts = texts.to_vec();
        dedup(&mut texts);
        let texts = texts.into_iter().map(Delimiter::IgnoringSpace);
        let expressions = expressions.into_iter().map(Delimiter::Expression);
        Delimiters {
            alternatives: texts.chain(expressions).collect(),
            takes_space,
        }
    }

    /// Puts them into a field, under the key `open` or `close`: as literals where all are, else as one expression.
    pub(super) fn put_into(&self, field: &mut Object, key: &str) {
        if self.alternatives.is_empty() {
            return;
        }
        match self.literals() {
            Some(literals) => field.insert(key, literals),
            None => field.insert(format!("{key}_pattern"), self.expression()),
        };
    }

    /// Whether literals say all that is meant.
    pub(super) fn is_literal(&self) -> bool {
        self.literals().is_some()
    }

    /// As a person reads it: the literals, or the expression.
    pub(super) fn shown(&self) -> String {
        let literals = || self.alternatives.iter().map(Delimiter::literal);
        let literals: Option<Vec<&str>> = (!self.takes_space)
            .then(literals)
            .and_then(Iterator::collect);
        let text = literals.map_or_else(
            || self.expression().to_string(),
            |literals| literals.join("|"),
        );
        unmarked(&text)
    }

    /// One literal as itself, several as a list; none if only an expression says what is meant.
    fn literals(&self) -> Option<Value> {
        // No literal takes along white space that varies.
        if self.takes_space {
            return None;
        }
        let literals: Option<Vec<&str>> =
            self.alternatives.iter().map(Delimiter::literal).collect();
        Some(match literals?.as_slice() {
            [one] => (*one).into(),
            several => several.iter().copied().collect(),
        })
    }

    /// The expression for all of them, of texts the longest first: what begins with another has to be tried before it.
    fn expression(&self) -> Pattern {
        let mut texts: Vec<(usize, Pattern)> = Vec::new();
        let mut expressions: Vec<Pattern> = Vec::new();
        for delimiter in &self.alternatives {
            let expression = delimiter.expression();
            match delimiter {
                Delimiter::Exact(text) | Delimiter::IgnoringSpace(text) => {
                    texts.push((text.len(), expression));
                }
                Delimiter::Expression(_) => expressions.push(expression),
            }
        }
        texts.sort_by_key(|(length, _)| Reverse(*length));
        let space = SPACE.when(self.takes_space);
        let texts = (!texts.is_empty()).then(|| {
            let texts = texts.into_iter().map(|(_, text)| text);
            any_of(texts) + space
        });
        either(texts.into_iter().chain(expressions))
    }
}

/// A field of a draft, with what opens and closes it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FieldDraft {
    pub(super) name: String,
    pub(super) open: Delimiters,
    pub(super) close: Delimiters,
    /// All else that the field says.
    pub(super) rest: Object,
}

impl FieldDraft {
    pub(super) fn new(name: &str) -> FieldDraft {
        FieldDraft {
            name: name.to_owned(),
            open: Delimiters::default(),
            close: Delimiters::default(),
            rest: Object::new(),
        }
    }

    fn to_value(&self) -> Object {
        let mut field = Object::new();
        self.open.put_into(&mut field, "open");
        self.close.put_into(&mut field, "close");
        for (key, value) in self.rest.iter() {
            field.insert(key.clone(), value.clone());
        }
        field
    }
}

/// A response template that is not written yet.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Draft {
    /// All but the fields.
    pub(super) head: Object,
    pub(super) fields: Vec<FieldDraft>,
}

impl Draft {
    /// The response template.
    pub(super) fn to_value(&self) -> Value {
        let mut template = self.head.clone();
        let fields = self.fields.iter();
        let fields: Object = fields
            .map(|field| (field.name.clone(), field.to_value()))
            .collect();
        template.insert("fields", fields);
        without_brackets(template.into())
    }
}

/// The value without the brackets around markers that consist of several parts.
fn without_brackets(value: Value) -> Value {
    match value {
        Value::String(text) => unmarked(&text.to_string_lossy()).into(),
        Value::Array(values) => values.into_iter().map(without_brackets).collect(),
        Value::Object(object) => {
            let pairs = object.into_iter();
            let pairs = pairs.map(|(key, value)| (key, without_brackets(value)));
            pairs.collect::<Object>().into()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::pattern::{END, START, ahead, behind, named, not_ahead, not_behind};
    use crate::json;
    use crate::markers::{NAME_SLOT, UNIT_CLOSE, UNIT_OPEN, VARIABLE_SLOT};

    fn as_it_is(text: &str) -> Delimiter {
        Delimiter::Exact(text.to_owned())
    }

    fn spaced(text: &str) -> Delimiter {
        Delimiter::IgnoringSpace(text.to_owned())
    }

    #[test]
    fn only_what_stands_there_alike_each_time_is_a_literal() {
        for (delimiter, literal, pattern) in [
            (as_it_is("<a>\n"), Some("<a>\n"), r"<a>\n"),
            (spaced("<a>"), Some("<a>"), "<a>"),
            // `</a></b>` means the same.
            (spaced("</a>\n</b>"), None, r"</a>\s*</b>"),
            // A variable shows in it.
            (
                as_it_is(&format!("<t n=\"{VARIABLE_SLOT}\">")),
                None,
                r#"<t n="[^\s<>]*?">"#,
            ),
            // `</read>` closes a call as `</knock>` does.
            (spaced(&format!("</{NAME_SLOT}>")), None, r"</[^\s<>]*?>"),
            (Delimiter::Expression(START + "<a>"), None, r"\A<a>"),
        ] {
            assert_eq!(delimiter.literal(), literal, "{delimiter:?}");
            assert_eq!(delimiter.expression(), pattern, "{delimiter:?}");
        }
    }

    #[test]
    fn what_follows_may_undo_a_match() {
        for (expression, looks) in [
            (exact("<a>") + not_ahead(exact("x")), true),
            (exact("<a>") + END, true),
            (exact("<a>") + ahead(either([exact("<b>"), END])), true),
            // What stands before it stays, and so does what has been found ahead.
            (not_behind(exact(" ")) + "<a>", false),
            (exact("<a>") + ahead(exact("<b>")), false),
            (exact("(?!x)"), false),
        ] {
            let delimiter = Delimiter::Expression(expression);
            assert_eq!(delimiter.looks_at_end(), looks, "{delimiter:?}");
        }
    }

    #[test]
    fn looks_ahead_and_behind_are_seen() {
        for (expression, looks) in [
            (ahead(exact("<a>")), true),
            (behind(exact("<a>")), true),
            (not_behind(exact(" ")) + "<a>", true),
            (exact("<a>").or_nothing() + "<b>", false),
            (named("name", exact("a")), false),
            (exact("(?="), false),
        ] {
            let delimiter = Delimiter::Expression(expression);
            assert_eq!(delimiter.looks_around(), looks, "{delimiter:?}");
        }
    }

    #[test]
    fn alternatives_are_literals_or_one_expression() {
        for (alternatives, takes_space, value, shown) in [
            (vec![], false, "{}", ""),
            (vec![as_it_is("<a>")], false, r#"{"close":"<a>"}"#, "<a>"),
            (
                vec![as_it_is("<a>"), spaced("<b>")],
                false,
                r#"{"close":["<a>","<b>"]}"#,
                "<a>|<b>",
            ),
            // No literal takes along white space that varies.
            (
                vec![as_it_is("<a>")],
                true,
                r#"{"close_pattern":"<a>\\s*"}"#,
                r"<a>\s*",
            ),
            // Tried first, `<a>` would leave `<b>` to the text.
            (
                vec![as_it_is("<a>"), spaced("<a>\n<b>")],
                false,
                r#"{"close_pattern":"(?:<a>\\s*<b>|<a>)"}"#,
                r"(?:<a>\s*<b>|<a>)",
            ),
            (
                vec![Delimiter::Expression(ahead(exact("<c>"))), as_it_is("<a>")],
                true,
                r#"{"close_pattern":"<a>\\s*|(?=<c>)"}"#,
                r"<a>\s*|(?=<c>)",
            ),
        ] {
            let delimiters = Delimiters {
                alternatives,
                takes_space,
            };
            let mut field = Object::new();
            delimiters.put_into(&mut field, "close");
            assert_eq!(json::write(&field.into()), value);
            assert_eq!(delimiters.shown(), shown);
        }
    }

    #[test]
    fn the_same_text_is_one_alternative() {
        let texts = ["<a>", "", "<b>", "<a>"].map(str::to_owned);
        let found = Delimiters::ignoring_space(&texts, vec![ahead(exact("<c>"))], true);
        let expected = [
            spaced("<a>"),
            spaced("<b>"),
            Delimiter::Expression(ahead(exact("<c>"))),
        ];
        assert_eq!(found.alternatives, expected);
    }

    #[test]
    fn brackets_around_markers_of_several_parts_are_gone_from_templates() {
        let mut field = FieldDraft::new("content");
        let unit = |text: &str| format!("{UNIT_OPEN}{text}{UNIT_CLOSE}");
        field.open = Delimiters::one(as_it_is(&unit("<|go|>say<|x|>")));
        field.rest.insert("tags", vec![Value::from(unit("%END%"))]);
        let draft = Draft {
            head: Object::from_iter([("start_anchor", unit("<|go|>"))]),
            fields: vec![field],
        };
        assert_eq!(
            json::write(&draft.to_value()),
            r#"{"start_anchor":"<|go|>","fields":{"content":{"open":"<|go|>say<|x|>","tags":["%END%"]}}}"#
        );
    }
}
