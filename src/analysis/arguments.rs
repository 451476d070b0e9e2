//! How the arguments of a call are written: quoted as in JSON, or raw between markers.

use std::ops::Range;

use crate::format::{Dialect, Node, Repetition, Slot, ValueWriting};
use crate::value::Value;

use super::call_renderings::{ArgumentSpan, CallRenderings};
use super::call_shape::nodes;
use super::delimiters::Delimiters;
use super::written_values::{self, PairDelimiters};
use crate::markers::{NAME_SLOT, common_prefix, common_suffix, is_marker, pieces};

/// How many brackets before the arguments are looked at.
// Each is read as JSON up to its end, and a text before calls may hold many.
const MAX_DEPTH: usize = 24;

/// How strings are quoted.
pub(super) struct Quoting {
    pub(super) open: String,
    pub(super) close: String,
    /// Whether keys are quoted, too.
    pub(super) keys: bool,
    /// Whether literals are Python's.
    pub(super) python_literals: bool,
    pub(super) is_python_call: bool,
}

/// How strings are distinguished from numbers; `None` if they aren't.
pub(super) fn quoting(
    renderings: &CallRenderings<'_, '_>,
    string: &ArgumentSpan,
) -> Option<Quoting> {
    let text = renderings.one_call.as_str();
    let (other, number) = renderings.number_span()?;
    let before = &text[string.key.end..string.value.start];
    let before_number = &other[number.key.end..number.value.start];
    // `"k": "x"` and `"k": 7`: what a text has more is its quote. Nothing more, and values are raw.
    let open = before
        .strip_prefix(before_number)
        .filter(|open| !open.is_empty())?;
    let (after, after_number) = (&text[string.value.end..], &other[number.value.end..]);
    // Behind the value, the rest may hang on it; most quotes close as they open.
    let close = after.strip_suffix(after_number).unwrap_or(open);
    let ahead = &text[..string.key.start];
    Some(Quoting {
        open: open.to_owned(),
        close: close.to_owned(),
        keys: ahead.ends_with(open) || ahead.ends_with(['"', '\'']),
        python_literals: renderings.has_python_literals(),
        is_python_call: before_number.trim_end().ends_with('=') && ahead.contains('('),
    })
}

impl Quoting {
    /// How texts are written with these quotes, if there are no escapes.
    pub(super) fn wrapped(&self) -> ValueWriting {
        ValueWriting::Wrapped {
            open: self.open.clone(),
            close: self.close.clone(),
            always: true,
        }
    }

    /// Where the object of arguments stands.
    pub(super) fn object_range(&self, text: &str, span: &ArgumentSpan) -> Option<Range<usize>> {
        let ahead = text[..span.key.start].trim_end_matches(['"', '\'', '\\']);
        let ahead = ahead
            .strip_suffix(self.open.as_str())
            .unwrap_or(ahead)
            .trim_end();
        let mut start = ahead
            .len()
            .checked_sub(1)
            .filter(|_| ahead.ends_with('{'))?;
        let after = &text[span.value.end..];
        let rest = after.strip_prefix(self.close.as_str())?.trim_start();
        let rest = rest.strip_prefix('}')?;
        let mut end = text.len() - rest.len();
        // `"arguments": "{\"k\": \"v\"}"`: the object stands in a string, and the quotes of that belong to it.
        if self.open == "\\\"" && text[..start].ends_with('"') && rest.starts_with('"') {
            start -= 1;
            end += 1;
        }
        Some(start..end)
    }

    /// The dialect of JSON with these quotes.
    pub(super) fn dialect(&self) -> Dialect {
        let is_json = matches!(self.open.as_str(), "\"" | "\\\"");
        Dialect {
            unquoted_keys: !self.keys,
            string_delimiters: (!is_json).then(|| (self.open.clone(), self.close.clone())),
            python_literals: self.python_literals,
        }
    }

    /// The objects and lists around a range, the outermost first.
    pub(super) fn containers(
        &self,
        text: &str,
        inner: &Range<usize>,
    ) -> Vec<(Range<usize>, Value)> {
        let dialect = self.dialect();
        let starts = text[..inner.start]
            .rmatch_indices(['{', '['])
            .take(MAX_DEPTH);
        // A `{` in a text before the call opens nothing that goes on up to the arguments' end.
        let mut containers: Vec<(Range<usize>, Value)> = starts
            .filter_map(|(start, _)| {
                let (value, length) = dialect.read_start(&text[start..])?;
                (start + length >= inner.end).then_some((start..start + length, value))
            })
            .collect();
        containers.reverse();
        containers
    }
}

/// How arguments stand between markers, and where they do in a turn with one. If values have quotes
/// there, the quotes are theirs.
pub(super) fn tagged(
    renderings: &CallRenderings<'_, '_>,
    string: &ArgumentSpan,
    quoting: Option<&Quoting>,
) -> Option<(Node, Range<usize>)> {
    let text = renderings.one_call.as_str();
    // Quotes of JSON are the value's own. Others stand around it.
    let (quoting, quotes) = match quoting {
        Some(quoting) if quoting.open != "\"" => (None, Some(quoting)),
        quoting => (quoting, None),
    };
    let string = &with_quotes(string, quoting)?;
    let delimiters =
        two_arguments(renderings, quoting).or_else(|| one_argument(renderings, string))?;
    let Delimiters {
        open,
        close,
        separator,
    } = delimiters;
    let mut between = &text[string.key.end..string.value.start];
    let mut close = close.as_str();
    let mut quote = "";
    let mut writing = match quoting {
        Some(_) => ValueWriting::Json(Dialect::default()),
        None => ValueWriting::Raw,
    };
    if let Some(quotes) = quotes
        && let Some(before) = between.strip_suffix(quotes.open.as_str())
        && let Some(rest) = close.strip_prefix(quotes.close.as_str())
    {
        // `<q>a<q>` for texts and `7` for numbers: the quotes are a part of how texts are written, and no part of the
        // markers.
        (between, close, quote) = (before, rest, quotes.close.as_str());
        writing = quotes.wrapped();
    }
    // What was found from two arguments must hold for one as well.
    let after = text.get(string.value.end..)?.strip_prefix(quote)?;
    // `a=1, b=2` seems to be opened by `, `, and `a=1` alone is not.
    if !text[..string.key.start].ends_with(&open) || !after.starts_with(close) {
        return None;
    }
    let start = string.key.start - open.len();
    let range = start..string.value.end + quote.len() + close.len();
    text.get(range.clone())?;
    let around = Delimiters {
        open,
        close: close.to_owned(),
        separator,
    };
    Some((one_by_one(renderings, &around, between, writing), range))
}

/// Arguments that stand one by one, of which this stands between key and value where the value is a text, which is
/// written so.
pub(super) fn one_by_one(
    renderings: &CallRenderings<'_, '_>,
    around: &Delimiters,
    between: &str,
    writing: ValueWriting,
) -> Node {
    let text = PairDelimiters {
        open: around.open.clone(),
        between: between.to_owned(),
        close: around.close.clone(),
    };
    let ways = written_values::find(renderings, text, writing)
        .into_iter()
        .map(|values| {
            let PairDelimiters {
                open,
                between,
                close,
            } = &values.around;
            let (key, value) = (vec![Node::Slot(Slot::Key)], vec![Node::Value(values.forms)]);
            Node::Sequence([nodes(open), key, nodes(between), value, nodes(close)].concat())
        });
    Node::Repetition(Box::new(Repetition {
        item: Node::Argument(Box::new(Node::choice(ways.collect()))),
        separator: Node::Sequence(nodes(&around.separator)),
        at_least: 0,
        at_most: None,
    }))
}

/// The span with the quotes around its value.
fn with_quotes(span: &ArgumentSpan, quoting: Option<&Quoting>) -> Option<ArgumentSpan> {
    let (open, close) = match quoting {
        Some(quoting) => (quoting.open.len(), quoting.close.len()),
        None => (0, 0),
    };
    Some(ArgumentSpan {
        key: span.key.clone(),
        value: span.value.start.checked_sub(open)?..span.value.end + close,
    })
}

/// What opens, closes and separates arguments, from a call with two.
fn two_arguments(
    renderings: &CallRenderings<'_, '_>,
    quoting: Option<&Quoting>,
) -> Option<Delimiters> {
    let text = renderings.two_arguments.as_deref()?;
    let first = renderings.first_argument(text)?;
    let second = renderings.second_argument(text)?;
    // `dictsort` may put the second argument first.
    let (first, second) = match first.key.start < second.key.start {
        true => (
            with_quotes(&first, quoting)?,
            with_quotes(&second, quoting)?,
        ),
        false => (
            with_quotes(&second, quoting)?,
            with_quotes(&first, quoting)?,
        ),
    };
    let between = text.get(first.value.end..second.key.start)?;
    // What opens an argument stands behind the name: `<f a=` has no `<` of its own for `a`.
    let ahead = after_name(&text[..first.key.start]);
    let after = text.get(second.value.end..)?;
    // A call without arguments lacks what opens and closes them, and has what belongs to the call.
    let empty = renderings.no_arguments.as_deref().map(after_name);
    if between.trim().is_empty() {
        // What a call without arguments lacks stands before each of them, and not between two.
        let bare = ahead
            .strip_suffix(between)
            .map(|ahead| ahead.to_owned() + after);
        return Some(match bare.is_some() && bare.as_deref() == empty {
            true => Delimiters::split(between, 0, between.len()),
            false => Delimiters::separator(between),
        });
    }
    let mut open = common_suffix(ahead, between);
    // A quote behind a value closes it, if one stands before it, also where it stands before the first key.
    let quotes = ['"', '\''].into_iter();
    let mut quotes = quotes.filter(|quote| text[..first.value.start].ends_with(*quote));
    let closes = quotes.any(|quote| between.starts_with(quote) && after.starts_with(quote));
    // `name="f" k="a" j="b"`: `" ` stands before each key, and its quote closes what stands before.
    if closes && open == between.len() {
        open -= 1;
    }
    // What opens goes first where both could have it, as `\n` between lines.
    let close = common_prefix(between, after).min(between.len() - open);
    if let Some(empty) = empty {
        let bare = [&ahead[..ahead.len() - open], &after[close..]].concat();
        if empty != bare {
            // White space that a call without arguments has as well belongs to the call.
            let blank = between[between.len() - open..].trim_start().len();
            open = open.min((ahead.len() - common_prefix(ahead, empty)).max(blank));
        }
    }
    Some(Delimiters::split(between, close, open))
}

/// What opens and closes an argument, if only turns with one are at hand.
fn one_argument(renderings: &CallRenderings<'_, '_>, string: &ArgumentSpan) -> Option<Delimiters> {
    let text = renderings.one_call.as_str();
    let mut open = after_name(&text[..string.key.start]);
    if let Some(empty) = renderings.no_arguments.as_deref() {
        // What a call without arguments has as well belongs to the call.
        open = &open[common_prefix(open, after_name(empty))..];
    }
    let pieces: Vec<&str> = pieces(text.get(string.value.end..)?).collect();
    let marker = pieces.iter().position(|piece| is_marker(piece));
    Some(Delimiters {
        open: open.to_owned(),
        // With one argument, nothing is known but that a marker stands there: `</arg></call>` may be cut behind the
        // first.
        close: marker.map_or_else(String::new, |at| pieces[..=at].concat()),
        ..Delimiters::default()
    })
}

/// What follows the last name in a text.
fn after_name(text: &str) -> &str {
    let name = text.rfind(NAME_SLOT);
    &text[name.map_or(0, |at| at + NAME_SLOT.len_utf8())..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::calls;

    fn quoting(quote: &str) -> Quoting {
        Quoting {
            open: quote.to_owned(),
            close: quote.to_owned(),
            keys: true,
            python_literals: false,
            is_python_call: false,
        }
    }

    #[test]
    fn the_object_of_arguments_reaches_from_brace_to_brace() {
        for (quote, text, expected) in [
            ("\"", r#"f{"k": "v"}"#, Some(r#"{"k": "v"}"#)),
            ("\"", "f{\n  \"k\": \"v\"\n}", Some("{\n  \"k\": \"v\"\n}")),
            ("'", "f{'k': 'v'}", Some("{'k': 'v'}")),
            ("<q>", "f{<q>k<q>: <q>v<q>}", Some("{<q>k<q>: <q>v<q>}")),
            ("<q>", "f{k:<q>v<q>}", Some("{k:<q>v<q>}")),
            // The object stands in a string, whose quotes belong to it.
            (
                "\\\"",
                r#"{"a": "{\"k\": \"v\"}"}"#,
                Some(r#""{\"k\": \"v\"}""#),
            ),
            ("\"", r#"f("k": "v")"#, None),
            ("\"", r#"f{"k": "v""#, None),
            ("'", r#"f{"k": "v"}"#, None),
        ] {
            let span = ArgumentSpan::find(text, "k", "v").expect("it has an argument");
            let range = quoting(quote).object_range(text, &span);
            assert_eq!(range.map(|range| &text[range]), expected, "{text}");
        }
    }

    #[test]
    fn quotes_of_json_make_json_also_in_strings() {
        for (quote, expected) in [("\"", true), ("\\\"", true), ("'", false), ("<q>", false)] {
            assert_eq!(quoting(quote).dialect().is_json(), expected, "{quote}");
        }
    }

    #[test]
    fn objects_and_lists_around_arguments_come_with_the_outermost_first() {
        for (text, expected) in [
            (
                r#"[{"a": {"k": 1}}]"#,
                &[r#"[{"a": {"k": 1}}]"#, r#"{"a": {"k": 1}}"#][..],
            ),
            // What stands beside them is not around them.
            (r#"{"b": [1]}{"k": 1}"#, &[]),
            (r#"{so {"k": 1}}"#, &[]),
        ] {
            let start = text.rfind('{').expect("it is there");
            let inner = start..start + r#"{"k": 1}"#.len();
            let found = quoting("\"").containers(text, &inner);
            let found: Vec<&str> = found.into_iter().map(|(range, _)| &text[range]).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn arguments_stand_behind_the_last_name() {
        for (text, expected) in [("<f=N><a=", "><a="), ("N N(", "("), ("<a=", "<a=")] {
            let text = text.replace('N', &NAME_SLOT.to_string());
            assert_eq!(after_name(&text), expected, "{text}");
        }
    }

    /// How values are written without a filter, and with `tojson`.
    const PLAIN: &str = "VALUE[string as it is; integer, number as JSON; \
                         boolean, null, array, object as in Python]";
    const JSON: &str = "VALUE[string, integer, number, boolean, null, array, object as JSON]";

    #[test]
    fn arguments_are_found_between_markers_of_their_own() {
        for (each, expected) in [
            (
                "<do {{ f.name }}>EACH<arg {{ k }}>{{ v }}</arg>DONE</do>",
                "call(`<do` ` ` NAME `>` argument(`<arg` ` ` KEY `>` V `</arg>`)* `</do>`)+",
            ),
            (
                "<do {{ f.name }}>\nEACH<arg {{ k }}>{{ v }}</arg>\nDONE</do>",
                "call(`<do` ` ` NAME `>` argument(`⏎` `<arg` ` ` KEY `>` V `</arg>`)* `⏎` `</do>`)+",
            ),
            (
                "<do {{ f.name }}>\nEACH{{ k }}: {{ v | tojson }}\nDONE</do>",
                "call(`<do` ` ` NAME `>` argument(`⏎` KEY `:` ` ` J)* `⏎` `</do>`)+",
            ),
            (
                "<{{ f.name }}>EACH<{{ k }}>{{ v }}</{{ k }}>DONE</{{ f.name }}>",
                "call(`<` NAME `>` argument(`<` KEY `>` V `</` KEY `>`)* `</` NAME `>`)+",
            ),
            // A quote closes what stands before it, and opens no argument.
            (
                "<do name=\"{{ f.name }}\"EACH {{ k }}=\"{{ v }}\"DONE/>",
                "call(`<do name=\"` NAME `\"` argument(` ` KEY `=\"` V `\"`)* `/>`)+",
            ),
            // Which comes first makes no difference.
            (
                "<do {{ f.name }}>SORTED<arg {{ k }}>{{ v }}</arg>DONE</do>",
                "call(`<do` ` ` NAME `>` argument(`<arg` ` ` KEY `>` V `</arg>`)* `</do>`)+",
            ),
            (
                "{{ f.name }}(EACH{{ k }}={{ v | tojson }}{{ ', ' if not loop.last }}DONE)\n",
                "call(NAME `(` argument(KEY `=` J)(…`,` ` `)* `)`)(…`⏎`)+ `⏎`",
            ),
            (
                "<do {{ f.name }}>EACH<{{ k }}>{{ '<q>' + v + '<q>' if v is string else v | tojson }}</>DONE</do>",
                "call(`<do` ` ` NAME `>` argument(`<` KEY `>` VALUE[string between `<q>` and `<q>`; integer, number, boolean, null, array, object as JSON] `</>`)* `</do>`)+",
            ),
            (
                "<do {{ f.name }}>SORTED<arg {{ k }}>{{ v }}</arg>{{ ', ' if not loop.last }}DONE</do>",
                "call(`<do` ` ` NAME `>` argument(`<arg` ` ` KEY `>` V `</arg>`)(…`,` ` `)* `</do>`)+",
            ),
            // A line break that a call without arguments has as well belongs to the call.
            (
                "<do {{ f.name }}>\nEACH<arg {{ k }}>{{ v }}</arg>\n{% else %}none\nDONE</do>",
                "call((`<do` ` ` NAME `>` `⏎` argument(`<arg` ` ` KEY `>` V `</arg>`)(…`⏎`)* `⏎` `</do>` | `<do` ` ` NAME `>` `⏎` `none` `⏎` `</do>`))+",
            ),
            // What stands around a value may be another text for each type.
            (
                "<do {{ f.name }}>EACH<{{ v | string | length }} {{ k }}>{{ v }}</>DONE</do>",
                "call(`<do` ` ` NAME `>` argument((`<10` ` ` KEY `>` VALUE[string as it is] `</>` | `<9` ` ` KEY `>` VALUE[integer as JSON] `</>` | `<7` ` ` KEY `>` VALUE[number as JSON] `</>` | `<4` ` ` KEY `>` VALUE[boolean, null as in Python] `</>` | `<13` ` ` KEY `>` VALUE[array, object as in Python] `</>`))* `</do>`)+",
            ),
        ] {
            let jinja = each.replace("EACH", "{% for k, v in f.arguments.items() %}");
            let jinja = jinja.replace(
                "SORTED",
                "{% for k, v in f.arguments | dictsort(reverse=true) %}",
            );
            let jinja = jinja.replace("DONE", "{% endfor %}");
            let jinja = format!(
                "{{{{ m.content }}}}{{% for c in m.tool_calls %}}{{% set f = c.function %}}{jinja}{{% endfor %}}"
            );
            let found = calls(&jinja).replace(PLAIN, "V").replace(JSON, "J");
            assert_eq!(found, expected, "{each}");
        }
    }
}
