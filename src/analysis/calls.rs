//! How calls of tools are written: their bodies, and the texts around them.

use crate::format::{Node, NodeReader, Slot};

use super::call_body::LocatedBody;
use super::call_renderings::CallRenderings;
use super::call_shape::{CallShape, calls_of, nodes, numbered, row_of};
use super::delimiters::Delimiters;
use super::reasoning::ReasoningShape;
use super::turn_headers::TurnHeaders;
use crate::markers::{
    INDEX_SLOT, NAME_SLOT, boundaries, common_prefix, common_suffix, is_pair, is_slot, markers,
    says_end, shared_end,
};

/// What is known of the turn around the calls.
pub(super) struct CallSurroundings<'a> {
    /// What stands between the message before a turn and the turn.
    pub(super) headers: &'a TurnHeaders,
    /// What follows the content of a turn that comes last.
    pub(super) after_content: &'a str,
    /// How reasoning is written.
    pub(super) reasoning: Option<&'a ReasoningShape>,
    /// What opens a text in every turn.
    pub(super) text_open: Option<&'a str>,
}

/// Calls that are understood.
pub(super) struct FoundCalls {
    /// How they are written.
    pub(super) shape: CallShape,
    /// What opens a text and what closes it, if that stands before calls alone.
    pub(super) around_text: Vec<String>,
}

/// How calls are written.
pub(super) fn find(
    renderings: &CallRenderings<'_, '_>,
    surroundings: &CallSurroundings<'_>,
) -> Option<FoundCalls> {
    let located = LocatedBody::find(renderings)?;
    let before = before_call(renderings, &located, surroundings);
    let shape = with_surroundings(renderings, located, before.opens, surroundings);
    // Calls whose name stands in no known place can't be read: what has been found is something else.
    let has_name = shape.parts().is_some_and(|parts| {
        let mut around = [&parts.open, &parts.close].into_iter();
        parts.keys().is_some() || around.any(|row| row.has(Slot::Name))
    });
    has_name.then_some(FoundCalls {
        shape,
        around_text: before.around_text,
    })
}

/// Finds what stands around the calls, from a turn with one and a turn with two.
fn with_surroundings(
    renderings: &CallRenderings<'_, '_>,
    located: LocatedBody,
    before: String,
    surroundings: &CallSurroundings<'_>,
) -> CallShape {
    let pair = match located.body {
        // One array holds all calls, and JSON separates them.
        Node::Array(_) => None,
        _ => Pair::of(renderings, &located, &before),
    };
    let several_in_brackets = pair.as_ref().is_some_and(|pair| pair.in_brackets);
    let after = match &pair {
        Some(pair) => pair.after.clone(),
        None => numbered(&renderings.one_call[located.range.end..]),
    };
    // `<end>` behind a text and behind calls is the turn's.
    let turn_end = end_of_turn(&after, surroundings.after_content);
    let own = &after[..after.len() - turn_end];
    let delimiters = match &pair {
        Some(pair) => match run_together(&before, own, &pair.between) {
            Some([close, open]) => Delimiters::split(&pair.between, close, open),
            None => between_calls(&before, &after, &pair.between),
        },
        None => {
            Delimiters {
                open: before.clone(),
                // Where calls end with other white space than texts do, the two have no end in common, and still the
                // same marker.
                close: up_to_turn_end(own, surroundings.after_content).to_owned(),
                ..Delimiters::default()
            }
        }
    };
    // White space around a call belongs to what stands there.
    let open = delimiters.open.trim_start();
    let space = &delimiters.open[..delimiters.open.len() - open.len()];
    let section = before.len() - delimiters.open.len().min(before.len());
    let close = delimiters.close.trim_end();
    let rest = &after[close.len()..];
    let around = Delimiters {
        open: open.to_owned(),
        close: close.to_owned(),
        separator: pair.map_or_else(String::new, |pair| {
            pair.between[close.len()..pair.between.len() - open.len()].to_owned()
        }),
    };
    let ahead = numbered(&renderings.one_call[..located.range.start]);
    // `args: {}` in place of a line for each argument: only a rendering shows it.
    let bare = bare_call(renderings, &ahead[..ahead.len() - open.len()], rest);
    let mut node = calls_of(&around, located.body, renderings.are_several());
    if let Some(bare) = bare {
        add_bare_call(&mut node, &bare);
    }
    CallShape {
        certainty: renderings.certainty,
        section_open: row_of(&[&before[..section], space].concat()),
        section_close: row_of(&rest[..rest.len().saturating_sub(turn_end)]),
        several_in_brackets,
        node,
    }
}

/// A call without arguments, between what stands before calls and behind them.
fn bare_call(renderings: &CallRenderings<'_, '_>, before: &str, behind: &str) -> Option<String> {
    let text = numbered(renderings.no_arguments.as_deref()?);
    let call = text.strip_prefix(before)?.strip_suffix(behind)?;
    // Without its name, that is no call: the template dropped it.
    call.contains(NAME_SLOT).then(|| call.to_owned())
}

/// Adds how a call without arguments is written, if that is not how others are: `args: {}` where arguments
/// stand on lines of their own behind `args:`.
fn add_bare_call(calls: &mut Node, bare: &str) {
    // The tree of calls reads texts, and in slots none stands yet.
    let example: String = bare
        .chars()
        .map(|c| match c {
            INDEX_SLOT => '0',
            slot if is_slot(slot) => 'x',
            c => c,
        })
        .collect();
    let is_whole = |rest: &str| rest.is_empty();
    let reader = NodeReader::new(calls);
    if reader.read_at(&example, 0, is_whole).is_some() {
        return;
    }
    if let Node::Repetition(repetition) = calls
        && let Node::Call(call) = &mut repetition.item
    {
        **call = Node::Choice(vec![(**call).clone(), Node::sequence(nodes(bare))]);
    }
}

/// What stands before calls.
struct BeforeCall {
    /// What opens them.
    opens: String,
    /// What opens a text there and what closes it, if that stands before calls alone.
    around_text: Vec<String>,
}

/// What stands before the body of a call with a text before it and without, behind reasoning, or within it
/// where calls stand there. A text may stand amid what opens calls: `<say></say><do>` is what opens them
/// after `<say>` and a text, and so is `Note: ⏎Do: ` after `Note: ` and a text.
fn before_call(
    renderings: &CallRenderings<'_, '_>,
    located: &LocatedBody,
    surroundings: &CallSurroundings<'_>,
) -> BeforeCall {
    let reasoning = surroundings.reasoning;
    let before = numbered(&renderings.one_call[..located.range.start]);
    // Behind a text as well, the body begins so far before its first key.
    let lead = renderings.string_span();
    let lead = lead.map_or(0, |span| span.key.start - located.range.start);
    let beside = renderings.between_text_and_body(lead).map(numbered);
    let close = reasoning.and_then(|shape| shape.close.as_deref());
    let open = reasoning.and_then(|shape| shape.open.as_deref());
    let last_of = |marker: &str| Some(before.rfind(marker)? + marker.len());
    // What closes reasoning may open calls as well, as a fence does, and then it stands behind a text, too.
    let opens_calls = |end: &usize| {
        let is_opened = open.is_none_or(|open| before.contains(open));
        let shared = beside
            .as_deref()
            .map(|between| common_suffix(&before, between));
        let opens = match shared {
            Some(shared) => before.len() - shared < *end,
            // No text is written beside calls. Then a marker that says that something ends is the thought's.
            None => !close.is_some_and(says_end),
        };
        !is_opened && opens
    };
    // What closes the thought comes before the calls; calls within a thought have only its opener before them.
    let reasoning_end = close.and_then(last_of).or_else(|| open.and_then(last_of));
    let reasoning_end = reasoning_end.filter(|end| !opens_calls(end));
    let alone = &before[reasoning_end.unwrap_or(0)..];
    // `<say></say><do>` with an empty text and `</say><do>` behind one: they share what opens calls.
    let shared = beside.as_deref().map(|between| shared_end(alone, between));
    let ahead = renderings.around_text().map(|(ahead, _)| ahead.trim());
    let ahead = ahead.filter(|ahead| !ahead.is_empty());
    let stands_amid = |shared: &str| {
        let rest = alone[..alone.len() - shared.len()].trim();
        ahead.is_some_and(|ahead| ahead == rest) && !shared.trim().is_empty()
    };
    // Or a template has words of its own where no text is given.
    // `Something has to be done.\nDo: f` without a text, and `\nDo: f` behind one.
    let is_line = |shared: &str| {
        let is_all = beside.as_deref() == Some(shared);
        is_all && shared.starts_with('\n') && !shared.trim().is_empty()
    };
    let is_known =
        |shared: &&str| markers(shared).next().is_some() || stands_amid(shared) || is_line(shared);
    let shared = match shared {
        Some(shared) if is_known(&shared) => Some(shared),
        // `{"calls": ` with and without a text before it: nothing else of the turn is in it, such as an empty thought.
        Some(shared) if shared.trim() == alone.trim() => Some(shared),
        Some(shared) => key_at_end(shared),
        None => None,
    };
    let found = shared.unwrap_or(alone);
    let around_text = around_text(renderings, surroundings, found);
    // An object with its keys is known without a marker before it.
    let is_known = matches!(located.body, Node::Object(..));
    let stands_empty = around_text.is_some_and(|[open, close]| {
        is_known && alone.trim_start().starts_with(open) && found.trim() == close
    });
    BeforeCall {
        opens: if stands_empty { "" } else { found }.to_owned(),
        around_text: around_text.map_or_else(Vec::new, |around| around.map(str::to_owned).into()),
    }
}

/// What opens a text and what closes it before calls alone. What stands between the text and the calls may begin with that, or
/// be it.
fn around_text<'t>(
    renderings: &'t CallRenderings<'_, '_>,
    surroundings: &CallSurroundings<'_>,
    between: &'t str,
) -> Option<[&'t str; 2]> {
    let (ahead, behind) = renderings.around_text()?;
    let reasoning = surroundings.reasoning;
    let others = [
        surroundings.text_open,
        reasoning.and_then(|shape| shape.open.as_deref()),
    ];
    let is_other = |text: &str| others.iter().flatten().any(|other| other.trim() == text);
    let open = Some(ahead.trim()).filter(|open| !is_other(open))?;
    let mut closes = [between.trim()].into_iter().chain(markers(behind).next());
    Some([open, closes.find(|close| is_pair(open, close))?])
}

/// The key of JSON with which a text ends: in an object that is the whole turn, a text or nothing stands before it.
/// A key that is a tool's name is the call's own.
fn key_at_end(text: &str) -> Option<&str> {
    let (before, key) = text
        .trim_end()
        .strip_suffix(':')?
        .trim_end()
        .strip_suffix('"')?
        .rsplit_once('"')?;
    let is_entry = before.trim_end().is_empty() || before.trim_end().ends_with(['{', ',']);
    // `[{"f": {...}}]`: the name is the key.
    let is_fixed = !key.contains(is_slot);
    (is_entry && is_fixed).then(|| &text[before.len()..])
}

/// What closes a call, without the markers that end any turn.
fn up_to_turn_end<'a>(after: &'a str, after_content: &str) -> &'a str {
    // `</call>` alone closes it; `<end>` behind a text shows up here as well.
    let ends = markers(after_content).filter_map(|marker| after.find(marker));
    &after[..ends.min().unwrap_or(after.len())]
}

/// The texts around the bodies of two calls.
struct Pair {
    /// What stands between them.
    between: String,
    /// What stands after the second, without the bracket of a list.
    after: String,
    /// Whether a list's brackets are around both: `<call>{…}</call>` and `<call>[{…}, {…}]</call>`.
    in_brackets: bool,
}

impl Pair {
    /// Of the turn with two calls, where this opens all of a turn.
    fn of(renderings: &CallRenderings<'_, '_>, located: &LocatedBody, opens: &str) -> Option<Pair> {
        let text = renderings.two_calls.as_deref()?;
        let first = renderings.first_argument(text)?;
        let second = renderings.second_argument(text)?;
        // The bodies are as long as in the turn with one call, counted from key and value.
        let alone = renderings.string_span()?;
        let lead = alone.key.start - located.range.start;
        let trail = located.range.end - alone.value.end;
        // `</call>\n<call>` is all that stands between two bodies; who has what is found from the ends of the turn.
        let between = text.get(first.value.end + trail..second.key.start.checked_sub(lead)?)?;
        let between = numbered(between);
        let after = numbered(text.get(second.value.end + trail..)?);
        let before = numbered(text.get(..first.key.start.checked_sub(lead)?)?);
        let one = &renderings.one_call;
        let before_one = numbered(&one[..located.range.start]);
        let after_one = numbered(&one[located.range.end..]);
        // What opens the calls stands before the bracket: a bare `[` is known by what follows it alone.
        let head = before_one.len().saturating_sub(opens.len());
        let bracket = added("[", &before_one, &before);
        let section = bracket.and_then(|at| before_one.get(head..at));
        let is_opened = section.is_some_and(|section| !section.trim().is_empty());
        let in_brackets = is_opened && added("]", &after_one, &after).is_some();
        Some(Pair {
            between,
            after: if in_brackets { after_one } else { after },
            in_brackets,
        })
    }
}

/// Where a sign stands amid a text, with or without white space around it, if that is all that makes it another.
fn added(sign: &str, text: &str, longer: &str) -> Option<usize> {
    let start = common_prefix(text, longer);
    let end = common_suffix(&text[start..], &longer[start..]);
    let is_space = text[start..text.len() - end].trim().is_empty();
    let is_added = is_space && longer[start..longer.len() - end].trim() == sign;
    is_added.then_some(start)
}

/// Splits what stands between two calls. All that opens the second may as well close the first, and then it
/// does.
fn between_calls(before: &str, after: &str, between: &str) -> Delimiters {
    // White space neither closes nor opens: `{...}\n{...}`.
    if between.trim().is_empty() {
        return Delimiters::separator(between);
    }
    // `</call>, <call>` between two, `</call></calls>` behind the last: `</call>` closes each.
    let mut close = common_prefix(between, after);
    let open = common_suffix(before, between);
    let shared = (close + open).saturating_sub(between.len());
    // What is only the beginning of that which opens every call is no part of what closes one.
    // `%` begins `%CALL%` and `%END%`, and closes no call.
    if open == before.len() && shared < open {
        close -= shared;
    }
    Delimiters::split(between, close, open.min(between.len() - close))
}

/// How much of what follows calls ends a turn of text as well: `@@END`, also where a sign before it runs together with its
/// own, as in `CALLS@@@@END`.
fn end_of_turn(after: &str, after_content: &str) -> usize {
    let is_amid_run = |at: usize| {
        let before = after[..at].chars().next_back();
        let is_sign = |c: char| !c.is_alphanumeric() && !c.is_whitespace();
        before.is_some_and(is_sign) && after[at..].chars().next() == before
    };
    let ends = boundaries(after_content).into_iter();
    let mut ends = ends.map(|at| &after_content[at..]);
    let in_run = ends.find(|end| after.ends_with(end) && is_amid_run(after.len() - end.len()));
    let whole = common_suffix(after, after_content);
    in_run.map_or(whole, |end| end.len().max(whole))
}

/// How long the texts are that close a call and open the next, where no piece ends between them: `@@` closes
/// and `@@f@@` opens, and together they begin with `@@@@`.
fn run_together(before: &str, after: &str, between: &str) -> Option<[usize; 2]> {
    let closes = boundaries(after);
    let own = boundaries(between);
    let mut opens = boundaries(before).into_iter().map(|at| &before[at..]);
    opens.find_map(|open| {
        let close = between.strip_suffix(open)?;
        let is_cut = closes.contains(&close.len()) && !own.contains(&close.len());
        (is_cut && after.starts_with(close)).then_some([close.len(), open.len()])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::{calls, found, template};

    #[test]
    fn a_key_of_an_entry_opens_calls_and_a_name_does_not() {
        let name = format!("[{{\"{NAME_SLOT}\": ");
        for (text, expected) in [
            (r#""say": "", "do": "#, Some(r#""do": "#)),
            (r#"{"do":"#, Some(r#""do":"#)),
            (r#""do" :"#, Some(r#""do" :"#)),
            // It stands within a text.
            (r#"so "do":"#, None),
            (r#"{"do""#, None),
            ("do:", None),
            (name.as_str(), None),
        ] {
            assert_eq!(key_at_end(text), expected, "{text}");
        }
    }

    #[test]
    fn what_ends_any_turn_closes_no_call() {
        for (after, after_content, expected) in [
            ("</call>\n<end>", "<end>", "</call>\n"),
            ("</call></calls>", "<end>", "</call></calls>"),
            ("</call><b><a>", "<a><b>", "</call>"),
            ("</call>", "", "</call>"),
        ] {
            assert_eq!(up_to_turn_end(after, after_content), expected, "{after}");
        }
    }

    #[test]
    fn a_sign_is_added_amid_a_text() {
        for (text, longer, expected) in [
            ("<call>", "<call>[", Some(6)),
            ("<call>\n", "<call>\n[\n", Some(7)),
            ("<call>N(", "<call>[N(", Some(6)),
            ("<call>", "[<call>", Some(0)),
            ("", "[", Some(0)),
            ("<call>", "<call>", None),
            ("<call>", "<calls>[", None),
            ("<call>", "<call>[[", None),
            ("<call>{", "<call>[", None),
        ] {
            assert_eq!(added("[", text, longer), expected, "{longer:?}");
        }
    }

    #[test]
    fn several_calls_may_have_the_brackets_of_a_list_that_one_has_not() {
        let opens = "{{ '<do>' if loop.first }}{{ '[' if loop.first and not loop.last }}";
        let closes = "{{ ', ' if not loop.last else ']</do>' if not loop.first else '</do>' }}";
        let each = |call: &str| {
            format!(
                "{{{{ m.content }}}}{{% for c in m.tool_calls %}}{{% set f = c.function %}}{opens}{call}{closes}{{% endfor %}}"
            )
        };
        let python = "{{ f.name }}({% for k, v in f.arguments.items() %}{{ k }}={{ v | tojson }}{{ ', ' if not loop.last }}{% endfor %})";
        for (assistant, in_brackets) in [
            (each("{{ f | tojson }}"), true),
            (each(python), true),
            // Nothing stands before the bracket.
            (each("{{ f | tojson }}").replace("<do>", ""), false),
            // Each has its own, and none has one alone.
            (each("{{ f | tojson }}").replace(", ", "]</do><do>["), true),
            (each("{{ f | tojson }}").replace("]", ""), false),
            // A list that one call is as well.
            (
                each("{{ f | tojson }}")
                    .replace(" and not loop.last", "")
                    .replace("if not loop.first else '</do>'", ""),
                false,
            ),
        ] {
            let shape = found(&template(&assistant)).calls.expect("there are calls");
            assert_eq!(shape.several_in_brackets, in_brackets, "{assistant}");
        }
    }

    #[test]
    fn what_stands_between_two_calls_is_cut_by_what_stands_around_them() {
        for (before, after, between, expected) in [
            (
                "<calls><call>",
                "</call></calls>",
                "</call>, <call>",
                ["<call>", "</call>", ", "],
            ),
            (
                "<call>",
                "</call>\n<end>",
                "</call>\n<call>",
                ["<call>", "</call>\n", ""],
            ),
            ("<calls>", "</calls>", ",", ["", "", ","]),
            // White space neither closes nor opens.
            ("\n", "\n", "\n", ["", "", "\n"]),
            // `%` begins what opens calls and what ends turns, and closes no call.
            ("%CALL%", "%END%", "%CALL%", ["%CALL%", "", ""]),
            // All that opens the second may as well close the first.
            ("~~~", "~~~<end>", "~~~", ["", "~~~", ""]),
        ] {
            let found = between_calls(before, after, between);
            let found = [found.open, found.close, found.separator];
            assert_eq!(found, expected, "{between}");
        }
    }

    #[test]
    fn a_sign_that_closes_one_call_may_run_together_with_what_follows() {
        for (before, after, between, expected) in [
            ("@@f@@", "@@", "@@@@f@@", Some(["@@", "@@f@@"])),
            (
                "<calls>%%f%%",
                "%%</calls>",
                "%%%%f%%",
                Some(["%%", "%%f%%"]),
            ),
            // A piece ends between them.
            ("<call>", "</call>", "</call><call>", None),
            ("~~~", "~~~", "~~~", None),
            ("@@f@@", "@@", "@@ @@f@@", None),
        ] {
            let found = run_together(before, after, between);
            let found = found.map(|[close, open]| {
                let (first, rest) = between.split_at(close);
                assert_eq!(rest.len(), open, "{between}");
                [first, rest]
            });
            assert_eq!(found, expected, "{between}");
        }
        for (after, after_content, expected) in [
            ("</call><end>", "<end>", "<end>"),
            (" CALLS@@@@END\n", "@@END\n", "@@END\n"),
            ("####STOP", "##STOP", "##STOP"),
            ("</call>\n", "\n", "\n"),
            // A word is not cut.
            ("NONSTOP", "STOP", ""),
            ("</call>", "<end>", ""),
        ] {
            let found = end_of_turn(after, after_content);
            assert_eq!(&after[after.len() - found..], expected, "{after}");
        }
    }

    #[test]
    fn texts_around_calls_are_the_section_s_the_call_s_or_the_turn_s() {
        let json = "call(`<call>` {name: string(NAME), arguments: ARGUMENTS} `</call>`)";
        for (assistant, expected) in [
            ("{{ m.content }}EACH<call>{{ c.function | tojson }}</call>DONE", format!("{json}+")),
            (
                "{{ m.content }}\n\nEACH<call>{{ c.function | tojson }}</call>\nDONE",
                format!("`⏎⏎` {json}(…`⏎`)+"),
            ),
            (
                "{{ m.content }}{% if m.tool_calls %}<calls>EACH{{ ', ' if not loop.first }}\
                 <call>{{ c.function | tojson }}</call>DONE</calls>{% endif %}",
                format!("`<calls>` {json}(…`,` ` `)+ `</calls>`"),
            ),
            // The turn's end closes no call.
            (
                "{{ m.content }}EACH<call>{{ c.function | tojson }}DONE",
                "call(`<call>` {name: string(NAME), arguments: ARGUMENTS})+".to_owned(),
            ),
            (
                "{{ m.content }}{% if m.tool_calls %}<call>{{ m.tool_calls[0].function | tojson }}</call>{% endif %}",
                json.to_owned(),
            ),
            // Numbers that count calls, and a name behind the arguments.
            (
                "{{ m.content }}EACH<call_{{ loop.index0 }}>{{ c.function.arguments | tojson }}@{{ c.function.name }}DONE",
                "call(`<call_` INDEX `>` ARGUMENTS `@` NAME)+".to_owned(),
            ),
            // What closes an empty text and one that is none belongs to what opens calls.
            (
                "<say>{{ m.content }}</say>EACH<call>{{ c.function | tojson }}</call>DONE",
                format!("`</say>` {json}+"),
            ),
            // Unless it stands there before calls alone.
            (
                "{{ '<say>' if m.tool_calls }}{{ m.content }}{{ '</say>' if m.tool_calls }}EACH{{ c.function | tojson }}DONE",
                "call({name: string(NAME), arguments: ARGUMENTS})+".to_owned(),
            ),
            // Behind reasoning, calls begin behind what closes that.
            (
                "<mull>{{ m.reasoning_content }}</mull>{{ m.content }}EACH<call>{{ c.function | tojson }}</call>DONE",
                format!("{json}+"),
            ),
            // An object is the whole turn: the key before the calls opens them.
            (
                "{\"say\": {{ m.content | tojson }}{% if m.tool_calls %}, \"do\": [EACH{{ ', ' if not loop.first }}\
                 {{ c.function | tojson }}DONE]{% endif %}}",
                "`\", \"do\":` ` ` [call({name: string(NAME), arguments: ARGUMENTS})+] `}`".to_owned(),
            ),
            (
                "{{ '{' }}{% if m.content %}\"say\": {{ m.content | tojson }}, {% endif %}\
                 {% if m.tool_calls %}\"do\": [EACH{{ ', ' if not loop.first }}{{ c.function | tojson }}DONE]{% endif %}}",
                "`\"do\":` ` ` [call({name: string(NAME), arguments: ARGUMENTS})+] `}`".to_owned(),
            ),
            // A call without arguments is written otherwise.
            (
                "{{ m.content }}EACH<do>{{ c.function.name }}\n{% if c.function.arguments %}args:\n\
                 {% for k, v in c.function.arguments.items() %}- {{ k }}: {{ v | tojson }}\n{% endfor %}\
                 {% else %}args: none\n{% endif %}</do>DONE",
                "call((`<do>` NAME `⏎` `args:` argument(`⏎` `-` ` ` KEY `:` ` ` VALUE[string, integer, number, \
                 boolean, null, array, object as JSON])* `⏎` `</do>` | `<do>` NAME `⏎` `args: none` `⏎` `</do>`))+"
                    .to_owned(),
            ),
            // Without arguments nothing of a call is left, and that is no way to write one.
            (
                "{{ m.content }}EACH<do>{% if c.function.arguments %}{{ c.function.name }}\
                 {{ c.function.arguments | tojson }}{% endif %}</do>DONE",
                "call(`<do>` NAME ARGUMENTS `</do>`)+".to_owned(),
            ),
            // What closes a thought opens calls as well.
            (
                "{% if m.reasoning_content %}<m>{{ m.reasoning_content }}%%%{% endif %}{{ m.content }}\
                 EACH%%%{{ c.function | tojson }}%%%\nDONE",
                "call(`%%%` {name: string(NAME), arguments: ARGUMENTS} `%%%`)(…`⏎`)+ `⏎`".to_owned(),
            ),
            // The template has words of its own where no text is given.
            (
                "{{ m.content or 'Something has to be done.' }}EACH{{ '\nDo: ' }}{{ c.function.name }}\
                 {{ c.function.arguments | tojson }}DONE",
                "`⏎` call(`Do:` ` ` NAME ARGUMENTS)(…`⏎`)+".to_owned(),
            ),
            // Calls without their names are none.
            ("{{ m.content }}EACH<do>{{ c.function.arguments | tojson }}</do>DONE", String::new()),
            ("{{ m.content }}", String::new()),
        ] {
            let jinja = assistant.replace("EACH", "{% for c in m.tool_calls %}");
            let jinja = jinja.replace("DONE", "{% endfor %}");
            assert_eq!(calls(&jinja), expected, "{assistant}");
        }
    }
}
