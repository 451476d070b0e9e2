//! The texts around a call, and what can be taken for one of them.

use crate::analysis::{CallKeys, CallParts};
use crate::derive::pattern::{
    NOTHING, Pattern, SPACE, any_of, char_between, exact, ignoring_space, none_of, one_of,
};
use crate::format::Slot;
use crate::markers::{self, dedup, is_untyped, reads_like_prose, unlikely_in_prose};

/// What stands before a marker that is only mentioned.
// As in `the <call> tag`, `"<call>"` and `(<call>)`.
pub(super) fn spoken() -> Pattern {
    one_of(" `\"'(")
}

/// The markers with which a call begins.
pub(super) fn call_openers(calls: &CallParts<'_>) -> Vec<String> {
    let mut openers = Vec::new();
    let section = calls.section_open.trim();
    if unlikely_in_prose(section) {
        openers.push(section.to_owned());
    }
    if unlikely_in_prose(calls.first_text()) {
        let (lead, rest) = split_last_marker(calls);
        // Markers before the last may be left out, so either of the two may begin a call.
        openers.extend([lead, rest].map(|text| text.trim().to_owned()));
    }
    openers.retain(|head| !head.is_empty());
    dedup(&mut openers);
    openers
}

/// The text that opens a call, cut into the markers that may be left out, and the rest.
pub(super) fn split_last_marker<'a>(calls: &'a CallParts<'_>) -> (&'a str, &'a str) {
    let text = calls.first_text();
    if !calls.open.has_slots() {
        return ("", text);
    }
    match markers::split_last_marker(text) {
        // What is left would open anything.
        (_, rest) if rest.trim().chars().count() < 2 => ("", text),
        split => split,
    }
}

/// Whether a text consists of words that have a line of their own.
pub(super) fn is_line_of_words(text: &str) -> bool {
    let is_line = text.starts_with('\n') || text.ends_with('\n');
    is_line && reads_like_prose(text) && unlikely_in_prose(text)
}

/// What opens a call, if it is the same text for all, and not such as stands in prose as well.
pub(super) fn literal_open(calls: &CallParts<'_>) -> Option<String> {
    let text = &*calls.open;
    let is_marker = unlikely_in_prose(text) && !reads_like_prose(text) && !calls.open.has_slots();
    // Words have to have JSON behind them, which no literal can ask for.
    (is_marker && json_behind_words(calls).is_none()).then(|| text.trim().to_owned())
}

/// Whether the name of a call stands behind its arguments.
pub(super) fn is_named_behind(calls: &CallParts<'_>) -> bool {
    !calls.is_array() && calls.keys().is_none() && !calls.open.has(Slot::Name)
}

/// What stands before a name, cut where the last marker ends: what follows it is the id's.
pub(super) fn split_at_id(text: &str) -> (&str, &str) {
    let pieces: Vec<&str> = markers::pieces(text).collect();
    let own = |piece: &&&str| !markers::is_marker(piece) && !piece.trim().is_empty();
    let own = pieces.iter().rev().take_while(own);
    let length: usize = own.map(|piece| piece.len()).sum();
    text.split_at(text.len() - length)
}

/// The expression for what stands between two calls.
pub(super) fn between_calls(calls: &CallParts<'_>) -> Pattern {
    let separator = ignoring_space(&calls.separator);
    // Models put each call of a list on a line of its own.
    separator + SPACE.when(calls.is_list() && !calls.separator.ends_with(char::is_whitespace))
}

/// A bracket of the list that several calls are and one is not: `<call>{…}</call>`, and `<call>[{…}, {…}]</call>`.
pub(super) fn bracket_of_several(calls: &CallParts<'_>, bracket: &str) -> Pattern {
    let bracket = (exact(bracket) + SPACE).or_nothing();
    bracket.when(calls.several_in_brackets)
}

/// Whether what opens a call can't be taken for anything else.
pub(super) fn opens_unambiguously(calls: &CallParts<'_>) -> bool {
    calls.open.texts().any(unlikely_in_prose)
}

/// How a list of calls in JSON begins: with a call, or it has none.
pub(super) fn json_list_start() -> Pattern {
    exact("[") + SPACE + one_of("{]")
}

/// Words that open calls do so where JSON follows them: `toolbox[…]` is a call, and `toolbox.open()` is none.
/// The expression for how it begins, if nothing but words, and perhaps a name, opens a call.
pub(super) fn json_behind_words(calls: &CallParts<'_>) -> Option<Pattern> {
    let texts = || calls.open.texts();
    let is_words =
        |text: &str| markers::markers(text).next().is_none() && !text.contains(is_untyped);
    let mut letters = texts().flat_map(str::chars).filter(|c| c.is_alphabetic());
    let is_said = letters.next().is_some() && texts().all(is_words);
    match calls.is_array() {
        _ if !is_said || calls.dialect().is_none() => None,
        true => Some(json_list_start()),
        false => Some(exact("{")),
    }
}

/// How a JSON object begins that is a call, whose name may have to be without a sign.
pub(super) fn json_call_start(
    calls: &CallParts<'_>,
    keys: &CallKeys<'_>,
    sign: Option<char>,
) -> Pattern {
    let Some(dialect) = calls.dialect() else {
        return NOTHING;
    };
    let quote = match (&dialect.string_delimiters, dialect.unquoted_keys) {
        (_, true) => "",
        (Some((open, _)), false) if open == "'" => "'",
        _ => "\"",
    };
    let quoted = |text: Pattern| exact(quote) + text + quote;
    let key = |key: &str| quoted(exact(key)) + SPACE + ":" + SPACE;
    let head = (exact("[") + SPACE).when(calls.is_array()) + "{" + SPACE;
    let flat = keys.name.len() == 1 && keys.arguments.len() == 1;
    match keys.all.as_slice() {
        // With the first key alone, any `{"name": "Brest"}` in an answer would be a call.
        [first, second, ..] if flat && *first == keys.name[0] && !quote.is_empty() => {
            let name = sign.into_iter().fold(none_of(quote), Pattern::nor);
            let name = quoted(name.many());
            head + key(first) + name + SPACE + "," + SPACE + key(second)
        }
        [first, ..] => {
            // What would be escaped may be so in several ways.
            let is_plain = |text: &&str| {
                let mut chars = text.chars();
                chars.all(|c| matches!(c, ' '..='~') && !"\"'\\".contains(c))
            };
            let text = keys.first_text.filter(is_plain);
            let text = text.filter(|_| !quote.is_empty());
            let text = text.map(|text| quoted(exact(text)));
            head + key(first) + text.unwrap_or_default()
        }
        [] => head,
    }
}

/// How the arguments of a Python call begin: with a key, unless there are none. Code in a string calls functions, too,
/// as in `max(1, 2), min(3, 4)`, and mostly without keys.
pub(super) fn python_argument(calls: &CallParts<'_>) -> Option<Pattern> {
    let arguments = calls.single_arguments()?;
    let between = arguments.first_between().trim();
    // Whatever quote stands around values, a model may write another one, or none.
    let between = match arguments.raw_quote {
        Some(quote) => between.trim_end_matches(quote).trim_end(),
        None => between,
    };
    let is_keyed = arguments.in_python && !between.is_empty();
    is_keyed.then(|| {
        let key = char_between(&[], &[between, "(", ")", ",", "\"", "'"]).some();
        SPACE + any_of([exact(")"), key + SPACE + between])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::invented;

    const TAGGED: &str = "<call=NAME>«<arg=KEY>RAW</arg>»</call>";
    const PYTHON: &str = "NAME(«KEY=QUOTED·, »)";

    /// What is said of calls that are written so.
    fn of<T>(calls: [&str; 4], ask: impl FnOnce(&CallParts<'_>) -> T) -> T {
        let findings = invented::with_calls(calls);
        ask(&findings.call_parts().expect("there are calls"))
    }

    #[test]
    fn a_call_begins_with_any_marker_that_may_come_first() {
        for (calls, expected) in [
            (
                ["<calls>\n", "<call>ARGUMENTS</call>", "", ""],
                vec!["<calls>", "<call>"],
            ),
            // Of these, the first may be left out.
            (
                ["", "<do><with>NAMEARGUMENTS</do>", "", ""],
                vec!["<do>", "<with>"],
            ),
            // What is left behind the first would open anything.
            (["", "<do><NAME>ARGUMENTS</do>", "", ""], vec!["<do><"]),
            // Nothing varies in it, so all of it is one text.
            (["", "<do><with>ARGUMENTS</do>", "", ""], vec!["<do><with>"]),
            (["[", PYTHON, ", ", "]"], vec![]),
            (["Calls:\n", PYTHON, ", ", ""], vec!["Calls:"]),
        ] {
            assert_eq!(of(calls, call_openers), expected, "{calls:?}");
        }
    }

    #[test]
    fn only_a_marker_is_a_literal_that_opens_calls() {
        for (call, expected) in [
            ("<call>ARGUMENTS</call>", Some("<call>")),
            ("\n@@call@@\nARGUMENTS", Some("@@call@@")),
            (TAGGED, None),
            // `toolbox.open()` may stand in an answer, `TOOLBOX` in one about tools.
            ("toolbox ARGUMENTS", None),
            ("TOOLBOX ARGUMENTS", None),
            ("[ARGUMENTS]", None),
        ] {
            let found = of(["", call, "", ""], literal_open);
            assert_eq!(found.as_deref(), expected, "{call}");
        }
    }

    #[test]
    fn some_calls_are_named_behind_their_arguments() {
        for (call, is_behind) in [
            ("<call>ARGUMENTS<by>NAME</by>", true),
            ("<call>NAME ARGUMENTS</call>", false),
            ("<call>OBJECT</call>", false),
            ("LIST", false),
        ] {
            assert_eq!(of(["", call, "", ""], is_named_behind), is_behind, "{call}");
        }
    }

    #[test]
    fn an_id_begins_behind_the_last_marker() {
        for (text, expected) in [
            ("<call>functions.", ("<call>", "functions.")),
            ("<call>\nfn:", ("<call>\n", "fn:")),
            ("<call>", ("<call>", "")),
            ("call ", ("call ", "")),
        ] {
            assert_eq!(split_at_id(text), expected, "{text:?}");
        }
    }

    #[test]
    fn calls_of_a_list_may_each_have_a_line() {
        for (separator, expected) in [
            (", ", r",\s*"),
            (",", r",\s*"),
            ("\n", r"\s*"),
            ("<sep>", "<sep>"),
            (" and", r"\s*and"),
        ] {
            let found = of(["", PYTHON, separator, ""], between_calls);
            assert_eq!(found, expected, "{separator:?}");
        }
    }

    #[test]
    fn words_open_calls_before_json_alone() {
        for (call, expected) in [
            ("toolbox ARGUMENTS", Some(r"\{")),
            ("call NAME: ARGUMENTS", Some(r"\{")),
            ("toolboxLIST", Some(r"\[\s*[{\]]")),
            ("<call>ARGUMENTS</call>", None),
            // No JSON follows these.
            ("toolbox NAME «KEY=RAW·, »", None),
            // Nothing is said before this one.
            ("#ARGUMENTS", None),
            ("OBJECT", None),
        ] {
            let found = of(["", call, "", ""], json_behind_words);
            let found = found.map(|json| json.to_string());
            assert_eq!(found.as_deref(), expected, "{call}");
        }
    }

    #[test]
    fn a_call_of_json_is_told_by_its_first_keys() {
        let object = r#"\{\s*"name"\s*:\s*"[^"]*"\s*,\s*"arguments"\s*:\s*"#;
        for (call, expected) in [
            ("OBJECT", object.to_owned()),
            ("LIST", format!(r"\[\s*{object}")),
        ] {
            let found = of(["", call, "", ""], |calls| {
                json_call_start(calls, &calls.keys().expect("it has keys"), None)
            });
            assert_eq!(found, expected, "{call}");
        }
    }

    #[test]
    fn a_call_of_python_is_told_by_its_first_key() {
        for (call, expected) in [
            (PYTHON, Some(r#"\s*(?:\)|[^\s=(),"']+\s*=)"#)),
            (TAGGED, None),
            // Without a bracket it is no Python.
            ("<call NAME>«KEY=QUOTED·, »", None),
            ("OBJECT", None),
        ] {
            let found = of(["", call, "", ""], python_argument);
            let found = found.map(|start| start.to_string());
            assert_eq!(found.as_deref(), expected, "{call}");
        }
    }
}
