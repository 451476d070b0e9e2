//! What a call consists of: a JSON object, tagged arguments, or a call as in Python.

use std::ops::Range;

use crate::format::{Dialect, Entry, Node, Slot};
use crate::json;
use crate::value::Value;

use super::arguments::{self, Quoting};
use super::call_parts::keys_of;
use super::call_probe::CallWords;
use super::call_renderings::{ArgumentSpan, CallRenderings};
use super::call_shape::{array_of, nodes, numbered};
use super::delimiters::Delimiters;
use crate::markers::{NAME_SLOT, is_slot};

/// The body of the call in the rendering of one call, and where it stands.
pub(super) struct LocatedBody {
    pub(super) body: Node,
    pub(super) range: Range<usize>,
}

impl LocatedBody {
    pub(super) fn find(renderings: &CallRenderings<'_, '_>) -> Option<LocatedBody> {
        let span = renderings.string_span()?;
        let quoting = arguments::quoting(renderings, &span);
        let quoted = quoting
            .as_ref()
            .and_then(|quoting| quoted_body(renderings, &span, quoting));
        if quoted.is_some() {
            return quoted;
        }
        // No object holds them: values stand between markers, be they raw or JSON.
        let (body, range) = arguments::tagged(renderings, &span, quoting.as_ref())?;
        Some(LocatedBody { body, range })
    }
}

fn quoted_body(
    renderings: &CallRenderings<'_, '_>,
    span: &ArgumentSpan,
    quoting: &Quoting,
) -> Option<LocatedBody> {
    let text = renderings.one_call.as_str();
    if quoting.is_python_call {
        let end = span.value.end + quoting.close.len();
        let between = &text[span.key.end..span.value.start - quoting.open.len()];
        // Where no call with two arguments is rendered, it is taken to be Python's.
        let separator = separator(renderings, quoting);
        let around = Delimiters::separator(separator.as_deref().unwrap_or(", "));
        return Some(LocatedBody {
            body: arguments::one_by_one(renderings, &around, between, quoting.wrapped()),
            range: span.key.start..end,
        });
    }
    let arguments = quoting.object_range(text, span)?;
    let dialect = quoting.dialect();
    // The outermost comes first: in `{"type": "function", "function": {...}}` the inner object is no whole call.
    for (range, value) in quoting.containers(text, &arguments) {
        let ahead = &text[range.start..arguments.start];
        // A reader of one dialect would refuse the name or the arguments; with the name as an opener, it reads both.
        if value.as_object().is_some() && has_other_quotes(ahead, &dialect) {
            continue;
        }
        let (call, is_list) = match &value {
            Value::Array(calls) => (calls.first(), true),
            call => (Some(call), false),
        };
        let call = call.map(|call| with_parts(call, &renderings.words, &dialect));
        let Some(call) = call.filter(|call| keys_of(call).is_some()) else {
            continue;
        };
        let body = match is_list {
            // `[{...}]` may stand around each call, and then a turn with two has two lists.
            true if !calls_share_list(renderings, quoting) => continue,
            true => array_of(call),
            false => call,
        };
        return Some(LocatedBody { body, range });
    }
    // No object around them has the name: it stands before, as in `<call>f {...}`, or behind.
    are_keys_read(renderings, quoting).then_some(LocatedBody {
        body: Node::Arguments(dialect),
        range: arguments,
    })
}

/// Whether a name in quotes of JSON stands before arguments that have others, as in
/// `{"name": "f", "arguments": {'x': 'y'}}`: no dialect is that of both.
fn has_other_quotes(ahead: &str, dialect: &Dialect) -> bool {
    let own = dialect.string_delimiters.as_ref();
    let is_other = own.is_some_and(|(open, _)| !ahead.contains(open.as_str()));
    is_other && ahead.contains('"') && ahead.contains(NAME_SLOT)
}

/// Whether keys are read as such: without quotes they are only where no white space stands before them.
fn are_keys_read(renderings: &CallRenderings<'_, '_>, quoting: &Quoting) -> bool {
    let text = renderings.two_arguments.as_deref();
    let Some(text) = text.filter(|_| !quoting.keys) else {
        return true;
    };
    let arguments = [
        renderings.first_argument(text),
        renderings.second_argument(text),
    ];
    let mut keys = arguments.into_iter().flatten();
    // `f({a: 1, b: 2})`: the blank before `b` would belong to a key without quotes.
    keys.all(|span| text[..span.key.start].ends_with(['{', ',']))
}

/// What stands between two arguments of a Python call.
fn separator(renderings: &CallRenderings<'_, '_>, quoting: &Quoting) -> Option<String> {
    let text = renderings.two_arguments.as_deref()?;
    let (first, second) = (
        renderings.first_argument(text)?,
        renderings.second_argument(text)?,
    );
    let between = text.get(first.value.end..second.key.start)?;
    Some(between.strip_prefix(quoting.close.as_str())?.to_owned())
}

/// Whether two calls stand in one list, as far as two were rendered.
fn calls_share_list(renderings: &CallRenderings<'_, '_>, quoting: &Quoting) -> bool {
    let Some(text) = renderings.two_calls.as_deref() else {
        return true;
    };
    let first = renderings.first_argument(text);
    let Some(range) = first.and_then(|first| quoting.object_range(text, &first)) else {
        return false;
    };
    let second = renderings.words.values[1].as_str();
    let mut containers = quoting.containers(text, &range).into_iter();
    containers.any(|(range, value)| value.as_array().is_some() && text[range].contains(second))
}

/// A JSON value in which a call may be, with the call's parts as nodes.
fn with_parts(value: &Value, words: &CallWords, dialect: &Dialect) -> Node {
    let string = |node| Node::JsonString(Box::new(node), dialect.clone());
    match value {
        Value::Object(entries) if entries.contains_key(&words.keys[0]) => {
            Node::Arguments(dialect.clone())
        }
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| Entry {
                key: key.to_string_lossy().into_owned(),
                value: with_parts(value, words, dialect),
            });
            Node::Object(entries.collect(), dialect.clone())
        }
        Value::String(text) => {
            // `"functions.f:0"` has the name and the number of a call in one string.
            let text = numbered(&text.to_string_lossy());
            match text.contains(words.keys[0].as_str()) {
                // `"{\"k\": \"v\"}"`: arguments that are JSON in a string.
                true => string(Node::Arguments(Dialect::default())),
                false if text.contains(is_slot) => string(Node::sequence(nodes(&text))),
                false => Node::Constant(value.clone()),
            }
        }
        // `"index": 0` counts calls, and is 1 in the next.
        Value::Number(_) if numbered(&json::write(value)).starts_with(is_slot) => {
            Node::Slot(Slot::Index)
        }
        other => Node::Constant(other.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::{calls, words};

    #[test]
    fn a_name_in_quotes_of_json_is_not_read_with_arguments_in_others() {
        let python = Dialect::python();
        for (ahead, dialect, expected) in [
            ("{\"name\": \"N\", \"arguments\": ", &python, true),
            ("{'name': 'N', 'arguments': ", &python, false),
            (
                "{\"name\": \"N\", \"arguments\": ",
                &Dialect::default(),
                false,
            ),
            ("{name: N, arguments: ", &python, false),
            ("{'name': \"N\", 'arguments': ", &python, false),
            // The name stands elsewhere.
            ("{\"arguments\": ", &python, false),
        ] {
            let ahead = ahead.replace('N', &NAME_SLOT.to_string());
            assert_eq!(has_other_quotes(&ahead, dialect), expected, "{ahead}");
        }
    }

    #[test]
    fn values_of_a_call_become_its_parts() {
        let words = words();
        for (value, expected) in [
            (r#"{"ka": "va"}"#, "ARGUMENTS"),
            (
                r#"{"f": "N", "a": {"ka": "va"}}"#,
                "{f: string(NAME), a: ARGUMENTS}",
            ),
            (r#"{"a": "{\"ka\": \"va\"}"}"#, "{a: string(ARGUMENTS)}"),
            (
                r#"{"id": "functions.N:0"}"#,
                "{id: string(`functions.` NAME `:` INDEX)}",
            ),
            // It counts calls, and such a number as these does not.
            (
                r#"{"index": 0, "version": 7}"#,
                "{index: INDEX, version: 7}",
            ),
            (
                r#"{"type": "function", "x": null}"#,
                "{type: \"function\", x: null}",
            ),
        ] {
            let json = value.replace('N', &NAME_SLOT.to_string());
            let json: Value = json.parse().expect("it is JSON");
            let found = with_parts(&json, &words, &Dialect::default());
            assert_eq!(found.to_string(), expected, "{value}");
        }
    }

    #[test]
    fn a_call_is_an_object_or_a_list_of_them_or_has_its_name_before_its_arguments() {
        for (assistant, expected) in [
            // The outermost object is the call.
            (
                "EACH<do>{{ c | tojson }}</do>DONE",
                "call(`<do>` {id: string(ID), type: \"function\", function: {name: string(NAME), arguments: ARGUMENTS}} `</do>`)+",
            ),
            (
                "EACH<do>{{ c.function | tojson }}</do>DONE",
                "call(`<do>` {name: string(NAME), arguments: ARGUMENTS} `</do>`)+",
            ),
            (
                "EACH<do>{{ f.name }}{{ f.arguments | tojson }}</do>DONE",
                "call(`<do>` NAME ARGUMENTS `</do>`)+",
            ),
            // Given as a text, arguments are JSON as the rest of the call is.
            (
                "EACH<do>{\"name\": \"{{ f.name }}\", \"arguments\": {{ f.arguments }}}</do>DONE",
                "call(`<do>` {name: string(NAME), arguments: ARGUMENTS} `</do>`)+",
            ),
            (
                "EACH<do>{{ f }}</do>DONE",
                "call(`<do>` {name: string(NAME), arguments: ARGUMENTS<strings between `'` and `'`, literals as in Python>}<strings between `'` and `'`, literals as in Python> `</do>`)+",
            ),
            // Of an object the arguments are as in Python, and the name is as in JSON: each is read by itself.
            (
                "EACH<do>{\"name\": \"{{ f.name }}\", \"arguments\": {{ dict(f.arguments) }}}</do>DONE",
                "call(`<do>{\"name\": \"` NAME `\", \"arguments\":` ` ` ARGUMENTS<strings between `'` and `'`, literals as in Python> `}</do>`)+",
            ),
            // One list holds all calls, or each has one of its own.
            (
                "{% if m.tool_calls %}<do>[EACH{{ ', ' if not loop.first }}{{ f | tojson }}DONE]{% endif %}",
                "`<do>` [call({name: string(NAME), arguments: ARGUMENTS})+]",
            ),
            (
                "EACH<do>[{{ f | tojson }}]</do>DONE",
                "call(`<do>[` {name: string(NAME), arguments: ARGUMENTS} `]</do>`)+",
            ),
            // A call of Python; and keys without quotes are read as such where no blank stands before them.
            (
                "EACH{{ f.name }}({% for k, v in f.arguments.items() %}{{ k }}={{ v | tojson }}{{ ', ' if not loop.last }}{% endfor %})\nDONE",
                "call(NAME `(` argument(KEY `=` VALUE[string, integer, number, boolean, null, array, object as JSON])(…`,` ` `)* `)`)(…`⏎`)+ `⏎`",
            ),
            (
                "EACH{{ f.name }}({{ '{' }}{% for k, v in f.arguments.items() %}{{ k }}: {{ v | tojson }}{{ ', ' if not loop.last }}{% endfor %}{{ '}' }})\nDONE",
                "call(NAME `({` argument(KEY `:` ` ` VALUE[string, integer, number, boolean, null, array, object as JSON])(…`,` ` `)* `})`)(…`⏎`)+ `⏎`",
            ),
            (
                "EACH{{ f.name }}({{ '{' }}{% for k, v in f.arguments.items() %}{{ k }}: {{ v | tojson }}{{ ',' if not loop.last }}{% endfor %}{{ '}' }})\nDONE",
                "call(NAME `(` ARGUMENTS<keys without quotes> `)`)(…`⏎`)+ `⏎`",
            ),
        ] {
            let jinja = assistant.replace(
                "EACH",
                "{% for c in m.tool_calls %}{% set f = c.function %}",
            );
            let jinja = jinja.replace("DONE", "{% endfor %}");
            assert_eq!(
                calls(&format!("{{{{ m.content }}}}{jinja}")),
                expected,
                "{assistant}"
            );
        }
    }
}
