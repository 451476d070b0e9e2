//! Writing a response template from findings.

// Each builds on those above it.
mod call_texts;

mod drafter;

mod slots;

mod closing;
mod opening;

mod arguments;
mod as_rendered;
mod between;
mod calls;
mod content;
mod reasoning;

mod variants;

use crate::analysis::{CallParts, with_any_numbers};
use crate::format::{Node, Repetition, Row, Slot};
use crate::markers::{INDEX_SLOT, VARIABLE_SLOT, dedup, is_slot, unlikely_in_prose};
use crate::value::Object;

use super::choices::{Choice, Choices};
use super::delimiter::Draft;
use super::options::DeriveOptions;
use super::pattern::{
    ANY_OR_LINE_BREAK, END, NUMBER, Pattern, any_of, either, exact, joined, none_of, not_ahead,
};
use super::search_input::SearchInput;
use super::surroundings::Surroundings;
use drafter::{Drafter, texts};
pub(super) use variants::Variants;

/// A response template for what is known of a format, with some choices made.
pub(super) fn draft(
    search_input: &SearchInput,
    choices: &Choices,
    options: &DeriveOptions,
) -> Draft {
    with_drafter(search_input, choices, options, |drafter| {
        write(search_input, drafter)
    })
}

/// The same, with the other ways of opening and closing its fields.
pub(super) fn draft_with_variants(
    search_input: &SearchInput,
    choices: &Choices,
    options: &DeriveOptions,
) -> (Draft, Variants) {
    with_drafter(search_input, choices, options, |drafter| {
        let draft = write(search_input, drafter);
        let variants = drafter.variants(&draft);
        (draft, variants)
    })
}

fn with_drafter<T>(
    search_input: &SearchInput,
    choices: &Choices,
    options: &DeriveOptions,
    write: impl FnOnce(&Drafter<'_>) -> T,
) -> T {
    let findings = &search_input.marked;
    let around = search_input
        .surroundings
        .as_ref()
        .filter(|_| choices.has(Choice::OnlyAsRendered));
    let mut calls = findings.call_parts();
    let list = calls
        .as_ref()
        .filter(|_| choices.has(Choice::PythonList))
        .and_then(python_list);
    if let (Some(calls), Some(around)) = (&mut calls, around) {
        stand_as_rendered(calls, around);
    }
    if let (Some(calls), Some((list, [open, close]))) = (&mut calls, &list) {
        *calls = CallParts {
            section_open: Row::default(),
            section_close: Row::default(),
            several_in_brackets: false,
            separator: Row::default(),
            open: open.as_str().into(),
            body: list,
            close: close.as_str().into(),
            several: true,
        };
    }
    if let Some(calls) = &mut calls {
        // No transform takes a part of a string.
        if choices.has(Choice::SplitObjects) || has_text_around_name(calls) {
            split_objects(calls);
        }
        leave_turn_end_out(calls, &findings.turn.ends);
    }
    write(&Drafter {
        findings,
        around,
        calls: calls.as_ref(),
        choices,
        options,
    })
}

fn write(search_input: &SearchInput, drafter: &Drafter<'_>) -> Draft {
    let mut template = Object::new();
    template.insert("version", 1);
    template.insert("defaults", Object::from_iter([("role", "assistant")]));
    let anchors = anchors(search_input);
    let turn = &search_input.marked.turn;
    let seams = turn.before_seams.iter().chain(&turn.answer_within);
    let seams: Vec<String> = seams.cloned().collect();
    match anchors.as_slice() {
        anchors if !seams.is_empty() => {
            template.insert("start_anchor_pattern", anchors_at_seams(anchors, &seams))
        }
        // Nothing of the prompt belongs to the turn.
        [] => template.insert("start_anchor_pattern", END),
        several if several.iter().any(|one| one.contains(is_slot)) => {
            template.insert("start_anchor_pattern", any_anchor(several))
        }
        [one] => template.insert("start_anchor", one.as_str()),
        several => template.insert("start_anchor", texts(several)),
    };
    let fields = drafter.thinking().into_iter().chain(drafter.calls());
    Draft {
        fields: fields.chain([drafter.content()]).collect(),
        head: template,
    }
}

/// So many headers are known that prompts alone have. What is another in each conversation is in no template.
const MAX_HEADERS_OF_PROMPTS: usize = 4;

/// The texts behind which a turn begins: what stands before it, with more in prompts than in conversations, and a thought that prompts
/// write as a whole: the model has not written it.
fn anchors(search_input: &SearchInput) -> Vec<String> {
    let turn = &search_input.marked.turn;
    let mut anchors = match turn.varied_headers.as_slice() {
        [] => turn.headers.clone(),
        varied => varied.to_vec(),
    };
    let reasoning = search_input.findings.reasoning.as_ref();
    let open = reasoning.and_then(|shape| shape.open.as_deref());
    let close = reasoning.and_then(|shape| shape.close.as_deref());
    if let (Some(open), Some(close), false) = (open, close, anchors.is_empty()) {
        let is_thought = |prefilled: &str| {
            let behind = prefilled.trim().strip_prefix(open.trim());
            let thought = behind.and_then(|text| text.strip_suffix(close.trim()));
            thought.is_some_and(|thought| !thought.trim().is_empty())
        };
        let prefilled = search_input.samples.all.iter();
        let prefilled = prefilled.map(|sample| sample.prefilled.trim());
        let thoughts = prefilled.filter(|prefilled| is_thought(prefilled));
        let mut thoughts: Vec<String> = thoughts.map(str::to_owned).collect();
        dedup(&mut thoughts);
        // What is another in each conversation is in no template.
        if let [thought] = thoughts.as_slice() {
            anchors.push(thought.clone());
        }
    }
    let samples = search_input.samples.all.iter();
    let of_prompts = samples.filter_map(|sample| sample.header_of_prompt.clone());
    let mut of_prompts: Vec<String> = of_prompts.collect();
    dedup(&mut of_prompts);
    // A prompt may count messages.
    let mut of_prompts = with_any_numbers(&of_prompts);
    dedup(&mut of_prompts);
    if of_prompts.len() <= MAX_HEADERS_OF_PROMPTS {
        // First, since an expression takes the first that matches.
        anchors.splice(..0, of_prompts);
    }
    anchors
}

/// The expression for what a turn begins behind, whatever stands in the slots.
fn any_anchor(anchors: &[String]) -> Pattern {
    any_of(anchors.iter().map(|anchor| {
        let texts = anchor.split(VARIABLE_SLOT);
        let texts = texts.map(|text| joined(text.split(INDEX_SLOT).map(exact), &NUMBER));
        joined(texts, &none_of("\n").few())
    }))
}

/// The expression for what a turn begins behind; or for all of a message behind which a model writes the header itself.
fn anchors_at_seams(anchors: &[String], before_seams: &[String]) -> Pattern {
    let before = any_of(before_seams.iter().map(|marker| exact(marker)));
    let anchors = any_anchor(anchors);
    let message = (not_ahead(anchors.clone()) + ANY_OR_LINE_BREAK).many();
    either([anchors, before + message + END])
}

/// All calls of a turn as one value, if they are a list as Python writes one, and what stands around it.
fn python_list(calls: &CallParts<'_>) -> Option<(Node, [String; 2])> {
    let around = calls.around_python_list()?.map(str::to_owned);
    let call = Node::sequence(vec![
        Node::Slot(Slot::Name),
        Node::Literal("(".to_owned()),
        calls.body.clone(),
        Node::Literal(")".to_owned()),
    ]);
    let list = Repetition {
        item: Node::Call(Box::new(call)),
        separator: Node::Literal(", ".to_owned()),
        at_least: 1,
        at_most: None,
    };
    Some((Node::Array(Box::new(list)), around))
}

/// Takes what was seen around calls for what stands there.
fn stand_as_rendered(calls: &mut CallParts<'_>, around: &Surroundings) {
    if around.quote_opens_calls && calls.first_text().starts_with('"') {
        calls.open = calls.open.behind(1);
    }
    if !around.behind_calls.is_empty() {
        calls.section_close = around.behind_calls.as_str().into();
    }
}

/// Takes what ends a turn out of what opens a call. Where a call has a turn of its own, as in
/// `…<end>call:`, the end is dropped wherever it stands, and what has closed a call can't be missed by the next.
fn leave_turn_end_out(calls: &mut CallParts<'_>, ends: &[String]) {
    let text = calls.first_text().trim_start();
    let mut ends = ends
        .iter()
        .map(|end| end.trim())
        .filter(|end| !end.is_empty());
    let own = ends.find_map(|end| text.strip_prefix(end));
    // With a mere sign that ends turns, as `#`, a short word may still open a call, as `#do`.
    if let Some(own) = own.filter(|own| unlikely_in_prose(own)) {
        let end = calls.first_text().len() - own.trim_start().len();
        calls.open = calls.open.behind(end);
    }
}

/// Takes what stands around the arguments in a call's JSON for markers.
fn split_objects(calls: &mut CallParts<'_>) {
    let (Some(keys), Some(dialect)) = (calls.keys(), calls.dialect()) else {
        return;
    };
    let ([name], [arguments], [first, _]) = (&keys.name[..], &keys.arguments[..], &keys.all[..])
    else {
        return;
    };
    // Only a name that comes first is known before the arguments: behind them, the opener can't capture it.
    if first != name || !dialect.is_json() {
        return;
    }
    if calls.is_array() {
        // What stands around the array stands around all calls.
        let [open, close] = ["[", "]"].map(|bracket| [Node::Literal(bracket.to_owned())]);
        let opens = [calls.section_open.nodes(), calls.open.nodes(), &open];
        let closes = [&close, calls.close.nodes(), calls.section_close.nodes()];
        calls.section_open = Row::of(opens.into_iter().flatten());
        calls.section_close = Row::of(closes.into_iter().flatten());
        calls.separator = " , ".into();
        (calls.open, calls.close) = (Row::default(), Row::default());
    }
    // White space may stand wherever JSON has it, whatever the template writes.
    let before_name = Node::Literal(format!("{{ \"{name}\" : \""));
    let before_arguments = Node::Literal(format!("\" , \"{arguments}\" : "));
    let open = calls.open.nodes().iter().chain([&before_name]);
    let open = open.chain(keys.name_row).chain([&before_arguments]);
    calls.open = Row::of(open);
    let bracket = Node::Literal("}".to_owned());
    calls.close = Row::of([&bracket].into_iter().chain(calls.close.nodes()));
    calls.body = keys.body;
}

/// Whether a call's JSON has more than the name under the key of the name.
fn has_text_around_name(calls: &CallParts<'_>) -> bool {
    calls.keys().is_some_and(|keys| keys.name_row.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::invented;
    use crate::markers::NAME_SLOT;

    #[test]
    fn a_model_may_write_the_header_itself_behind_a_seam() {
        let texts = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| (*text).to_owned())
                .collect::<Vec<_>>()
        };
        let found = anchors_at_seams(&texts(&["<a>\n"]), &texts(&["<done>"]));
        assert_eq!(found, r"<a>\n|<done>(?:(?!<a>\n)[\s\S])*\Z");
        let found = anchors_at_seams(&texts(&["<a>", "<b>"]), &texts(&["<x>", "<y>"]));
        assert_eq!(
            found,
            r"(?:<a>|<b>)|(?:<x>|<y>)(?:(?!(?:<a>|<b>))[\s\S])*\Z"
        );
    }

    #[test]
    fn the_end_of_a_turn_opens_no_call() {
        for (open, ends, expected) in [
            ("<end>\ncall:NAME", ["<end>"], "call:NAME"),
            ("\n<end>call:NAME", [" <end>"], "call:NAME"),
            // A mere sign that ends turns may be a part of what opens a call.
            ("#do NAME", ["#"], "#do NAME"),
            ("#<call>NAME", ["#"], "<call>NAME"),
            ("<call>NAME", ["<end>"], "<call>NAME"),
            ("call<end>NAME", ["<end>"], "call<end>NAME"),
            ("<call>NAME", [""], "<call>NAME"),
        ] {
            let findings = invented::with_calls(["", &format!("{open}ARGUMENTS"), "", ""]);
            let mut calls = findings.call_parts().expect("there are calls");
            leave_turn_end_out(&mut calls, &ends.map(str::to_owned));
            assert_eq!(calls.open.replace(NAME_SLOT, "NAME"), expected, "{open}");
        }
    }

    #[test]
    fn json_around_arguments_becomes_markers_where_the_name_comes_first() {
        for (call, expected) in [
            (
                "<call>OBJECT</call>",
                [
                    "",
                    r#"<call>{ "name" : "NAME" , "arguments" : "#,
                    "}</call>",
                    "",
                ],
            ),
            (
                "<calls>LIST</calls>",
                [
                    "<calls>[",
                    r#"{ "name" : "NAME" , "arguments" : "#,
                    "}",
                    "]</calls>",
                ],
            ),
            // These are no parts of an object.
            (
                "<call>NAMEARGUMENTS</call>",
                ["", "<call>NAME", "</call>", ""],
            ),
        ] {
            // An array of all calls has what stands around it within itself.
            let findings = match call.contains("LIST") {
                true => {
                    let mut findings = invented::with_calls(["", "LIST", "", ""]);
                    let shape = findings.calls.as_mut().expect("there are calls");
                    shape.node = Node::row(call);
                    findings
                }
                false => invented::with_calls(["", call, "", ""]),
            };
            let mut calls = findings.call_parts().expect("there are calls");
            split_objects(&mut calls);
            let found = [
                &*calls.section_open,
                &calls.open,
                &calls.close,
                &calls.section_close,
            ];
            let found = found.map(|text| text.replace(NAME_SLOT, "NAME"));
            assert_eq!(found, expected, "{call}");
        }
    }

    #[test]
    fn an_object_is_left_as_it_is_where_its_name_comes_last_or_it_is_no_json() {
        type Change = fn(&mut Vec<crate::format::Entry>, &mut crate::format::Dialect);
        let changes: [Change; 2] = [
            |entries, _| entries.reverse(),
            |_, dialect| dialect.unquoted_keys = true,
        ];
        for change in changes {
            let mut findings = invented::with_calls(["", "OBJECT", "", ""]);
            let shape = findings.calls.as_mut().expect("there are calls");
            shape.node.visit_mut(&mut |node| {
                if let Node::Object(entries, dialect) = node {
                    change(entries, dialect);
                }
            });
            let mut calls = findings.call_parts().expect("there are calls");
            split_objects(&mut calls);
            assert_eq!((&*calls.open, &*calls.close), ("", ""));
        }
    }

    #[test]
    fn a_turn_begins_behind_any_of_its_headers_whatever_varies_in_them() {
        let number = format!("<turn {INDEX_SLOT} bot>");
        let value = format!("<bot n={VARIABLE_SLOT}>");
        for (anchors, expected) in [
            (vec![value.as_str()], r"<bot n=[^\n]*?>"),
            (vec![&number, "[tool]"], r"(?:<turn \d+ bot>|\[tool\])"),
        ] {
            let anchors: Vec<String> = anchors.into_iter().map(str::to_owned).collect();
            assert_eq!(any_anchor(&anchors), expected);
            let at_seam = format!(r"{expected}|<end>(?:(?!{expected})[\s\S])*\Z");
            assert_eq!(anchors_at_seams(&anchors, &["<end>".to_owned()]), at_seam);
        }
    }

    #[test]
    fn a_list_of_python_is_read_as_a_whole_with_what_stands_around_it() {
        let call = "NAME(«KEY=QUOTED·, »)";
        for (calls, expected) in [
            (
                ["<calls>[", call, ", ", "]</calls>"],
                Some(["<calls>", "</calls>"]),
            ),
            (["[", call, ", ", "]"], Some(["", ""])),
            // No parser for Python reads these.
            (["", call, "\n", ""], None),
            (["[", "NAME(«KEY: QUOTED·, »)", ", ", "]"], None),
            (["[", "<NAME>«KEY=QUOTED·, »</>", ", ", "]"], None),
        ] {
            let findings = invented::with_calls(calls);
            let parts = findings.call_parts().expect("there are calls");
            let found = python_list(&parts).map(|(_, around)| around);
            assert_eq!(
                found,
                expected.map(|around| around.map(str::to_owned)),
                "{calls:?}"
            );
        }
    }
}
