//! Answers and thoughts that speak of the markers of their own format, and have to come back whole.

use crate::analysis::assistant_turn::AssistantTurn;
use crate::analysis::{CallParts, Findings, ReasoningShape, SingleArguments};
use crate::format::Dialect;
use crate::json;
use crate::markers::lexicon::unmarked;
use crate::markers::{self, INDEX_SLOT, KEY_SLOT, NAME_SLOT, dedup, is_slot, unlikely_in_prose};
use crate::value::{Object, Value};

use super::conversations::{ANSWER, THOUGHT, tide_call};
use super::sample::{Origin, Sample};

/// How many markers are mentioned. Formats have some ten; a chat template that is written to have thousands has to end, too.
const MAX_MARKERS: usize = 48;

/// How many bytes of a call that the prompt shows may stand between its markers.
const MAX_SHOWN: usize = 400;

/// What is said of a marker, and in which way it stands in that.
// A blank or a quote before it, or a comma behind it, shows that a marker is only spoken of. On a line of its own it
// looks like a real one, so only what follows can tell.
const SAID: [(&str, &str); 6] = [
    ("in code", "Put `%` behind the last line, and all is well."),
    (
        "in quotes",
        "The sign \"%\" means that a part is over, they say.",
    ),
    (
        "bare",
        "What comes before % is read first, as everybody knows.",
    ),
    (
        "before a comma",
        "Nobody minds %, or so it is said (**%** stands in bold).",
    ),
    ("in a fence", "Here it is:\n\n```\n%\n```\n\nThat is all."),
    ("on a line", "It goes on like this:\n%\nAnd there it ends."),
];

/// What is thought of one.
const THOUGHT_OF: [(&str, &str); 2] = [
    (
        "in a thought",
        "There could be `%` now, though nobody needs it.\nThe answer is plain.",
    ),
    (
        "on a line of a thought",
        "It begins so:\n%\nBut the answer is plain.",
    ),
];

/// What stands in a value with one.
// It has a line of its own, so that a closer which goes by the line break before it finds one.
const VALUE: &str = "First line\n%\nlast line";

/// A text that mentions a marker.
#[derive(Debug, Clone)]
pub(super) struct Mention {
    pub(super) marker: String,
    /// How it is mentioned.
    pub(super) manner: &'static str,
    pub(super) prefilled: String,
    pub(super) output: String,
    pub(super) expected: AssistantTurn,
}

/// All texts that speak of a format's markers, which are whole where they are marked, put in the place of what was said in renderings.
pub(super) fn all(findings: &Findings, marked: &Findings, samples: &[Sample]) -> Vec<Mention> {
    let markers = mentionable(marked);
    let all = markers.iter();
    let mut all: Vec<Mention> = all
        .flat_map(|marker| of(marker, findings, samples))
        .collect();
    let (said, thought) = (said(samples), plain(samples, Some(THOUGHT)));
    // A value may hold what ends turns, or separates two calls, as code about chat templates does.
    let ends = marked.turn.all_ends().map(|end| end.trim());
    let calls = marked.call_parts();
    let separator = calls.as_ref().map_or("", |calls| &*calls.separator);
    let ends = ends.chain(markers::markers(separator));
    let ends = ends.filter(|end| end.chars().count() > 1).map(unmarked);
    let ends = ends.filter(|end| !markers.contains(end));
    all.extend(ends.filter_map(|end| in_value(findings, samples, &end)));
    // A thought tries out calls as a whole, `<call>{…}</call>`, and speaks of more than their first marker.
    if let (Some(sample), Some(call)) = (thought, whole_call(findings, samples)) {
        let sentence = format!("I could write this:\n{call}\nBut no, the answer is plain.");
        all.extend(in_place(sample, &call, "in a thought", THOUGHT, &sentence));
    }
    // Where a common sign opens calls, an answer about code quotes what looks like one: `[read(key=1)]`. So it does where calls
    // have nothing but their section for a marker, as `tools.read(key=1)`.
    let code = [
        common_call(findings, samples),
        unmarked_call(findings, samples),
        empty_section(findings),
    ];
    for call in code.into_iter().flatten() {
        let sentence = format!("Then write `{call}` behind it.");
        all.extend(said.and_then(|sample| in_place(sample, &call, "in code", ANSWER, &sentence)));
    }
    // An answer quotes what the prompt says of calls.
    if let (Some(sample), Some((marker, shown))) = (said, shown_call(findings, samples)) {
        let sentence = format!("Calls are written so:\n{shown}\nThat is all.");
        all.extend(in_place(
            sample,
            &marker,
            "as the prompt shows it",
            ANSWER,
            &sentence,
        ));
    }
    all
}

/// Texts that speak of markers that a draft drops, if no known text speaks of them already.
pub(super) fn of_dropped(
    texts: &[String],
    known: &[Mention],
    findings: &Findings,
    samples: &[Sample],
) -> Vec<Mention> {
    let mut markers: Vec<String> = texts.iter().flat_map(|text| mention_texts(text)).collect();
    dedup(&mut markers);
    let ends = &findings.turn.ends;
    markers.retain(|marker| {
        let is_end = ends.iter().any(|end| end.contains(marker.as_str()));
        !is_end && known.iter().all(|mention| mention.marker != *marker)
    });
    markers.truncate(MAX_MARKERS);
    let all = markers.iter();
    all.flat_map(|marker| of(marker, findings, samples))
        .collect()
}

/// The texts that speak of one marker.
fn of(marker: &str, findings: &Findings, samples: &[Sample]) -> Vec<Mention> {
    let mut all = Vec::new();
    // Behind a line break, nothing tells what ends turns there from a real end.
    let is_end = findings.turn.ends.iter().any(|end| end == marker);
    let is_told = |(_, sentence): &(&str, &str)| !is_end || !sentence.contains("\n%");
    if let Some(sample) = said(samples) {
        for (manner, sentence) in SAID.into_iter().filter(is_told) {
            let sentence = sentence.replace('%', marker);
            all.extend(in_place(sample, marker, manner, ANSWER, &sentence));
        }
    }
    let thought = plain(samples, Some(THOUGHT));
    if let Some(sample) = thought.filter(|_| !closes_thoughts(findings, marker)) {
        for (manner, sentence) in THOUGHT_OF.into_iter().filter(is_told) {
            let sentence = sentence.replace('%', marker);
            all.extend(in_place(sample, marker, manner, THOUGHT, &sentence));
        }
    }
    all.extend(in_value(findings, samples, marker));
    all
}

/// A rendering of an answer with a thought or without one.
fn plain<'s>(samples: &'s [Sample], thought: Option<&str>) -> Option<&'s Sample> {
    samples.iter().find(|sample| is_plain(sample, thought))
}

/// A rendering of an answer.
fn said(samples: &[Sample]) -> Option<&Sample> {
    // Some models never answer without a thought.
    plain(samples, None).or_else(|| plain(samples, Some(THOUGHT)))
}

/// How a prompt that offers tools shows a call of JSON to the model, with the marker that it begins with: `<call>{"name": <the tool's name>}</call>`, where what is in it is
/// no JSON. If it were, nothing would tell it from a call.
fn shown_call(findings: &Findings, samples: &[Sample]) -> Option<(String, String)> {
    let calls = findings.call_parts()?;
    let is_json = calls.dialect().is_some_and(Dialect::is_json);
    calls.keys().filter(|_| is_json && !calls.is_array())?;
    let (open, close) = (calls.first_text().trim(), calls.close.trim());
    if !unlikely_in_prose(open) || !unlikely_in_prose(close) {
        return None;
    }
    let prompt = plain_call(samples)?.prefix.as_str();
    let longest = MAX_SHOWN + close.len();
    // Of many openers, none is looked behind for longer.
    let behind = prompt.match_indices(open).map(|(at, _)| {
        let rest = &prompt[at + open.len()..];
        &rest[..rest.floor_char_boundary(longest)]
    });
    let mut within = behind.filter_map(|rest| rest.split_once(close).map(|(within, _)| within));
    let within = within.find(|within| {
        let is_object = within.trim_start().starts_with('{') && !within.contains(open);
        is_object && json::read(within).is_err()
    })?;
    Some((open.to_owned(), format!("{open}{within}{close}")))
}

/// A whole call, as the chat template writes it.
fn whole_call(findings: &Findings, samples: &[Sample]) -> Option<String> {
    let calls = findings.call_parts()?;
    let own = findings.turn.without_ends(&plain_call(samples)?.output);
    let head = match calls.section_open.trim() {
        "" => calls.first_text().trim(),
        section => section,
    };
    // With no marker before it, nothing tells where the call begins.
    let start = own.find(head).filter(|_| !head.is_empty())?;
    Some(own[start..].trim().to_owned())
}

/// A whole call, where nothing but a common sign opens it.
fn common_call(findings: &Findings, samples: &[Sample]) -> Option<String> {
    let calls = findings.call_parts()?;
    let section = calls.section_open.trim();
    let is_sign = !section.is_empty() && !section.contains(char::is_alphanumeric);
    let is_common =
        is_sign && !unlikely_in_prose(section) && !unlikely_in_prose(calls.first_text());
    whole_call(findings, samples).filter(|_| is_common)
}

/// A call without its section, where no marker is left of it then.
fn unmarked_call(findings: &Findings, samples: &[Sample]) -> Option<String> {
    let calls = findings.call_parts()?;
    let (open, close) = (calls.section_open.trim(), calls.section_close.trim());
    if !unlikely_in_prose(open) || markers::markers(calls.first_text()).next().is_some() {
        return None;
    }
    let whole = whole_call(findings, samples)?;
    let call = whole.strip_prefix(open)?;
    let call = call.strip_suffix(close).unwrap_or(call).trim();
    (!call.is_empty()).then(|| call.to_owned())
}

/// What opens a turn's calls and what closes them, with no call between.
fn empty_section(findings: &Findings) -> Option<String> {
    Some(findings.call_parts()?.section_markers()?.concat())
}

/// A sample of one plain call and nothing else. Some models never call without a thought.
fn plain_call(samples: &[Sample]) -> Option<&Sample> {
    let is_call = |sample: &Sample| {
        sample.origin == Origin::Rendered
            && sample.written.content.is_none()
            && sample.written.calls == [tide_call()]
    };
    let calls = || samples.iter().filter(|sample| is_call(sample));
    let mut alone = calls().filter(|sample| sample.written.reasoning.is_none());
    alone.next().or_else(|| calls().next())
}

/// A call with a marker on a line of a value: unless it closes values there, or has to be written otherwise.
fn in_value(findings: &Findings, samples: &[Sample], marker: &str) -> Option<Mention> {
    let calls = findings.call_parts()?;
    let arguments = calls.single_arguments();
    let has_json_texts = arguments
        .as_ref()
        .is_some_and(SingleArguments::has_json_texts);
    let has_json_strings = |dialect: &Dialect| dialect.string_delimiters.is_none();
    let is_json = has_json_texts || calls.dialect().is_some_and(has_json_strings);
    let closes = match &arguments {
        // Between quotes, the marker's signs would have to be escaped in the way of the format.
        Some(arguments) if arguments.in_python => return None,
        Some(_) if has_json_texts => false,
        Some(arguments) => {
            let mut closes = arguments.closes.iter();
            arguments.quotes().is_some()
                // Where nothing closes a value, what may follow it does, whoever wrote it.
                || arguments.close().trim().is_empty()
                || closes.any(|close| close.contains(marker))
        }
        None if is_json => false,
        None => {
            let raw = calls.dialect().and_then(Dialect::raw_delimiters);
            // Between other quotes, it would have to be escaped in the way of the format.
            raw.is_none_or(|(_, close)| close.contains(marker) || marker.contains(close))
        }
    };
    // What closes calls or ends turns does so there, too, unless it does so only behind a bracket of JSON or an argument that has
    // ended. If several markers close calls, those behind the first are no more than texts.
    let first = markers::split_close(&calls.close).0;
    let ends = findings.turn.all_ends().map(String::as_str);
    let is_told = |text: &str| {
        calls.closes_behind_bracket(text)
            || calls.closes_behind_argument()
            || calls.closes_behind_line_break() && calls.close.trim() == text
    };
    let mut around = [first, &calls.separator]
        .into_iter()
        .chain(ends)
        .map(str::trim);
    let closes = closes || around.any(|text| text.contains(marker) && !is_told(text));
    // JSON escapes these signs, so the marker would not stand there as it is; a line break is escaped below.
    let is_escaped = |c: char| "\"\\'".contains(c) || c < ' ' && c != '\n';
    let is_escaped = is_json && marker.contains(is_escaped);
    if closes || is_escaped {
        return None;
    }
    let sample = plain_call(samples)?;
    let value = VALUE.replace('%', marker);
    // Arguments may be JSON in a string of JSON.
    let is_text = !has_json_texts
        && (calls.keys().is_some_and(|keys| keys.arguments_as_text) || !calls.ends_with_bracket());
    let written = match (is_json, is_text) {
        (true, true) => value.replace('\n', "\\\\n"),
        (true, false) => value.replace('\n', "\\n"),
        (false, _) => value.clone(),
    };
    let mut call = tide_call();
    call.arguments.insert("harbour", value);
    let (before, behind) = sample.output.split_once("Brest")?;
    Some(Mention {
        marker: marker.to_owned(),
        manner: "on a line of a value",
        prefilled: sample.prefilled.clone(),
        output: format!("{before}{written}{behind}"),
        expected: AssistantTurn {
            calls: vec![call],
            ..sample.written.clone()
        },
    })
}

/// Whether nothing but this is said in a sample, and written.
fn is_plain(sample: &Sample, thought: Option<&str>) -> bool {
    sample.origin == Origin::Rendered
        && sample.written.calls.is_empty()
        && sample.written.reasoning.as_deref() == thought
        && sample.written.content.as_deref() == Some(ANSWER)
}

/// The sample with a sentence in the place of what was said.
fn in_place(
    sample: &Sample,
    marker: &str,
    manner: &'static str,
    said: &str,
    sentence: &str,
) -> Option<Mention> {
    let (before, behind) = sample.output.split_once(said)?;
    let turn = &sample.written;
    Some(Mention {
        marker: marker.to_owned(),
        manner,
        prefilled: sample.prefilled.clone(),
        output: format!("{before}{sentence}{behind}"),
        expected: match said == ANSWER {
            true => turn.clone().with_content(sentence),
            false => turn.clone().with_reasoning(sentence),
        },
    })
}

/// Whether a thought can't hold this marker, which closes it.
fn closes_thoughts(findings: &Findings, marker: &str) -> bool {
    let shape = findings.reasoning.as_ref();
    let closes = shape.map_or_else(Vec::new, ReasoningShape::closes);
    closes.iter().any(|close| close.contains(marker))
}

/// The markers that can be mentioned: all but those that end a turn, behind which nothing is read, unless answers may hold one.
fn mentionable(findings: &Findings) -> Vec<String> {
    let ends = &findings.turn.ends;
    let is_end = |marker: &str| ends.iter().any(|end| end.contains(marker));
    let mut found: Vec<String> = Vec::new();
    if let Some(calls) = findings.call_parts() {
        found.extend(around_calls(&calls));
    }
    if let Some(shape) = &findings.reasoning {
        let texts = shape.open.iter().chain(&shape.close);
        found.extend(texts.flat_map(|text| mention_texts(text)));
    }
    let content = &findings.content;
    let texts = content.open.iter().chain(&content.close);
    let texts = texts.chain(content.beside().into_iter().flatten());
    found.extend(texts.flat_map(|text| mention_texts(text)));
    if let Some(shape) = &findings.reasoning {
        let texts = shape.opens().into_iter().chain(shape.closes());
        // Whatever shows in a marker, it is one.
        let texts = texts.map(|text| text.replace(is_slot, "1"));
        found.extend(texts.flat_map(|text| mention_texts(&text)));
    }
    // What opens an answer and what closes it are spoken of together, so that the one is no sign of the other.
    for around in content.beside() {
        if let [open, close] = around {
            found.push(format!("{open} and {close}"));
        }
    }
    // What begins turns is spoken of as a whole: `<bot>assistant`.
    let headers = findings.turn.headers.iter().map(|header| header.trim());
    let headers = headers.filter(|header| unlikely_in_prose(header) && !header.contains(is_slot));
    found.extend(headers.map(str::to_owned));
    found.retain(|marker| !is_end(marker));
    // `=====` behind a line break ends turns, and answers hold it elsewhere.
    let signs = findings.behind_line_breaks.iter();
    found.extend(signs.filter(|sign| ends.contains(sign)).cloned());
    let mut found: Vec<String> = found.iter().map(|marker| unmarked(marker)).collect();
    dedup(&mut found);
    found.truncate(MAX_MARKERS);
    found
}

/// The markers around calls and arguments, with a tool's name and a key in the place of their slots.
fn around_calls(calls: &CallParts<'_>) -> Vec<String> {
    let call = tide_call();
    let key = call.arguments.iter().next();
    let key = key.map_or_else(String::new, |(key, _)| key.to_string_lossy().into_owned());
    let filled = |text: &str| {
        let text = text.replace(NAME_SLOT, &call.name).replace(KEY_SLOT, &key);
        text.replace(INDEX_SLOT, "0").replace(is_slot, "x1")
    };
    let mut texts = vec![
        filled(&calls.section_open),
        filled(&calls.open),
        filled(&calls.close),
        filled(&calls.section_close),
    ];
    if let Some(arguments) = calls.single_arguments() {
        let (open, between) = (arguments.open(), arguments.first_between());
        texts.push(filled(&format!("{open}{KEY_SLOT}{between}")));
        texts.push(filled(arguments.close()));
    }
    let parts = texts.iter().flat_map(|text| mention_texts(text));
    // All that opens a call may be named at once, as `<tool>read_tide<args>` or `<call>read_tide:0`.
    let whole = filled(&calls.open).trim().to_owned();
    let first = markers::markers(&whole).next();
    let has_more = first.is_some_and(|first| first != whole);
    let whole = has_more.then_some(whole);
    // So may what opens a list of them, as `<calls>[`.
    let list = [calls.section_open.trim(), calls.open.trim()];
    let list = list
        .into_iter()
        .find(|text| calls.is_array() && markers::is_marker(text))
        .map(|marker| format!("{marker}["));
    parts.chain(whole).chain(list).collect()
}

/// What is mentioned of a text of the format: its markers, or words and signs that are none, as `CALL:`.
fn mention_texts(text: &str) -> Vec<String> {
    let found: Vec<String> = markers::markers(text).map(str::to_owned).collect();
    match found.is_empty() && unlikely_in_prose(text) {
        true => vec![text.trim().to_owned()],
        false => found,
    }
}

/// What a response template makes of an answer or a thought that mentions a marker.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MentionText {
    /// The marker.
    pub marker: String,
    /// How it is mentioned: `in code`, `in quotes`, `bare`, `before a comma`, `in a fence`, `on a line`, `in a thought`,
    /// `on a line of a thought`, `on a line of a value`, or `as the prompt shows it`: a whole call with placeholders in it.
    pub manner: String,
    /// The part of the prompt that belongs to the turn.
    pub prefix: String,
    /// What the model would write.
    pub output: String,
    /// Whether it comes back whole.
    pub is_recovered: bool,
}

impl MentionText {
    /// For programs: an object of `marker`, `manner`, `prefix` and `output`, and whether it is `recovered`.
    pub fn to_value(&self) -> Value {
        Object::from_iter([
            ("marker", Value::from(&self.marker)),
            ("manner", Value::from(&self.manner)),
            ("prefix", Value::from(&self.prefix)),
            ("output", Value::from(&self.output)),
            ("recovered", self.is_recovered.into()),
        ])
        .into()
    }
}

/// What a response template makes of such texts.
pub(super) fn texts(mentions: &[Mention], is_recovered: &[bool]) -> Vec<MentionText> {
    let texts = mentions.iter().zip(is_recovered);
    texts
        .map(|(text, is_recovered)| MentionText {
            marker: text.marker.clone(),
            manner: text.manner.to_owned(),
            prefix: text.prefilled.clone(),
            output: text.output.clone(),
            is_recovered: *is_recovered,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::invented;

    const TIDE: &str = r#"{"harbour": "Brest", "scale": "metres"}"#;

    #[test]
    fn markers_are_mentioned_and_what_tells_as_much() {
        for (text, expected) in [
            ("<a>\n<b>", vec!["<a>", "<b>"]),
            ("\nCALL: ", vec!["CALL:"]),
            ("Calls follow: <a>", vec!["<a>"]),
            // Nobody could say of a bracket that it is a marker.
            ("[", vec![]),
            ("\n", vec![]),
        ] {
            assert_eq!(mention_texts(text), expected, "{text:?}");
        }
    }

    #[test]
    fn all_markers_but_those_that_end_turns_can_be_mentioned() {
        let thought = ["<t>", "</t>"];
        for (findings, expected) in [
            (
                invented::findings(
                    thought,
                    ["<say>", "<end>"],
                    [
                        "<calls>",
                        "<call=NAME>«<arg=KEY>RAW</arg>»</call>",
                        "",
                        "</calls>",
                    ],
                ),
                vec![
                    "<calls>",
                    "<call=read_tide>",
                    "</call>",
                    "</calls>",
                    "<arg=harbour>",
                    "</arg>",
                    "<t>",
                    "</t>",
                    "<say>",
                    // What begins turns, too.
                    "<assistant>",
                ],
            ),
            // All that opens a call may be named at once.
            (
                invented::with_calls(["", "<do>NAME<with>ARGUMENTS</do>", "", ""]),
                vec![
                    "<do>",
                    "<with>",
                    "</do>",
                    "<do>read_tide<with>",
                    "<assistant>",
                ],
            ),
            (
                invented::with_calls(["", "<do>NAME\nARGUMENTS</do>", "", ""]),
                vec!["<do>", "</do>", "<do>read_tide", "<assistant>"],
            ),
            // So may what opens a list of them.
            (
                invented::with_calls(["<calls>", "LIST", "", "</calls>"]),
                vec!["<calls>", "</calls>", "<calls>[", "<assistant>"],
            ),
            (
                invented::with_calls(["", "LIST", "", ""]),
                vec!["<assistant>"],
            ),
            (
                invented::with_calls(["", "OBJECT", "", ""]),
                vec!["<assistant>"],
            ),
        ] {
            assert_eq!(mentionable(&findings), expected);
        }
    }

    #[test]
    fn a_thought_holds_no_marker_that_closes_it() {
        let findings = invented::findings(["<t>", "</t>\n<say>"], [""; 2], [""; 4]);
        for (marker, closes) in [("</t>", true), ("<say>", true), ("<t>", false)] {
            assert_eq!(closes_thoughts(&findings, marker), closes, "{marker}");
        }
        let without = invented::with_calls([""; 4]);
        assert!(!closes_thoughts(&without, "</t>"));
    }

    #[test]
    fn values_hold_markers_that_do_not_close_them() {
        let json = ["", "<call>NAMEARGUMENTS</call><next>", "", ""];
        let bracket = ["", "<call>NAMEARGUMENTS}</call>", "", ""];
        let tagged = ["", "<call=NAME>«<arg=KEY>RAW</arg>»</call>", "", ""];
        let quoted = ["", "NAME(«KEY=QUOTED·, »)", "", ""];
        let lines = ["", "<call=NAME>«KEY: RAW\n»</call>", "", ""];
        let open = ["", "<call=NAME>«<arg=KEY>RAW»</call>", "", ""];
        let json_lines = ["", "[call] NAME\n«KEY = JSON·\n»\n[/call]", "", ""];
        for (format, written, marker, expected) in [
            (json, TIDE, "<t>", Some(r"First line\n<t>\nlast line")),
            // What closes calls stands behind a bracket of JSON, and what stands behind it is a text.
            (
                json,
                TIDE,
                "</call>",
                Some(r"First line\n</call>\nlast line"),
            ),
            // Behind a bracket of its own, no other tells it from a real one.
            (bracket, TIDE, "}</call>", None),
            (json, TIDE, "<next>", Some(r"First line\n<next>\nlast line")),
            // So does what ends the turn.
            (json, TIDE, "<end>", Some(r"First line\n<end>\nlast line")),
            // It would be escaped.
            (json, TIDE, r#"<t="a">"#, None),
            (json, TIDE, "\u{2}end\u{3}", None),
            (
                tagged,
                "<arg=harbour>Brest</arg>",
                "<t>",
                Some("First line\n<t>\nlast line"),
            ),
            (tagged, "<arg=harbour>Brest</arg>", "</arg>", None),
            // In tags, it is not.
            (
                tagged,
                "<arg=harbour>Brest</arg>",
                r#"<t="a">"#,
                Some("First line\n<t=\"a\">\nlast line"),
            ),
            // What closes such calls stands behind an argument that has ended.
            (
                tagged,
                "<arg=harbour>Brest</arg>",
                "</call>",
                Some("First line\n</call>\nlast line"),
            ),
            (
                tagged,
                "<arg=harbour>Brest</arg>",
                "<end>",
                Some("First line\n<end>\nlast line"),
            ),
            // Nothing stands before what closes a line.
            (lines, "harbour: Brest\n", "<end>", None),
            (quoted, "harbour='Brest'", "<t>", None),
            // What may follow such a value ends it.
            (open, "<arg=harbour>Brest", "<t>", None),
            // No text of JSON holds a line break, and what closes these calls stands behind one.
            (
                json_lines,
                "harbour = \"Brest\"\n[/call]",
                "[/call]",
                Some(r"First line\n[/call]\nlast line"),
            ),
            (json_lines, "harbour = \"Brest\"\n[/call]", "<end>", None),
        ] {
            let findings = invented::with_calls(format);
            let sample = invented::sample(written, AssistantTurn::calls([tide_call()]));
            let found = in_value(&findings, &[sample], marker);
            let found = found.map(|found| found.output);
            let expected = expected.map(|value| written.replace("Brest", value));
            assert_eq!(found, expected, "{marker} in {written}");
        }
    }

    #[test]
    fn a_value_speaks_of_what_ends_the_turn_and_an_answer_does_not() {
        let findings = invented::with_calls(["", "<call>NAMEARGUMENTS</call>", "", ""]);
        let call = invented::sample(TIDE, AssistantTurn::calls([tide_call()]));
        let answer = AssistantTurn::default().with_content(ANSWER);
        let answer = invented::sample(&format!("{ANSWER}<end>"), answer);
        let all = all(&findings, &findings, &[call, answer]);
        let ends = all.iter().filter(|mention| mention.marker == "<end>");
        let manners: Vec<&str> = ends.map(|mention| mention.manner).collect();
        assert_eq!(manners, ["on a line of a value"]);
    }

    #[test]
    fn code_in_an_answer_looks_like_a_call_whose_section_alone_has_markers() {
        for (format, written, expected) in [
            (
                ["<code>", "tools.NAME(ARGUMENTS)", "\n", "</code>"],
                format!("<code>\ntools.read_tide({TIDE})\n</code>"),
                Some(format!("tools.read_tide({TIDE})")),
            ),
            // It has a marker of its own, or none at all.
            (
                ["<calls>", "<call>NAMEARGUMENTS</call>", "", "</calls>"],
                format!("<calls><call>read_tide{TIDE}</call></calls>"),
                None,
            ),
            (
                ["", "tools.NAME(ARGUMENTS)", "\n", ""],
                format!("tools.read_tide({TIDE})"),
                None,
            ),
        ] {
            let findings = invented::with_calls(format);
            let sample = invented::sample(&written, AssistantTurn::calls([tide_call()]));
            assert_eq!(unmarked_call(&findings, &[sample]), expected, "{written}");
        }
    }

    #[test]
    fn an_answer_quotes_the_call_that_the_prompt_shows() {
        let call = ["", "<call>OBJECT</call>", "", ""];
        for (format, prompt, expected) in [
            (
                call,
                "Call within <call></call>:\n<call>{\"name\": <a tool>}</call>",
                Some("<call>{\"name\": <a tool>}</call>"),
            ),
            // Words stand for markers.
            (
                ["", "callbeginsOBJECTcallends", "", ""],
                "callbegins{\"name\": <a tool>}callends",
                Some("callbegins{\"name\": <a tool>}callends"),
            ),
            // Nothing tells it from a call.
            (call, "<call>{\"name\": \"tool\"}</call>", None),
            (call, "<call>the call</call>", None),
            (["", "OBJECT", "", ""], "{\"name\": <a tool>}", None),
        ] {
            let findings = invented::with_calls(format);
            let mut sample = invented::sample("", AssistantTurn::calls([tide_call()]));
            sample.prefix = prompt.to_owned();
            let found = shown_call(&findings, &[sample]).map(|(_, shown)| shown);
            assert_eq!(found.as_deref(), expected, "{prompt}");
        }
    }

    #[test]
    fn a_model_that_always_thinks_calls_behind_a_thought() {
        let call = || AssistantTurn::calls([tide_call()]);
        let thinking = invented::sample("<t>Hm.</t>[]", call().with_reasoning("Hm."));
        let spoken = invented::sample("Yes.[]", call().with_content("Yes."));
        let alone = invented::sample("[]", call());
        for (samples, expected) in [
            (vec![spoken.clone(), thinking.clone(), alone], Some("[]")),
            (vec![spoken.clone(), thinking], Some("<t>Hm.</t>[]")),
            (vec![spoken], None),
        ] {
            let found = plain_call(&samples).map(|sample| sample.output.as_str());
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_whole_call_is_tried_out_where_a_marker_tells_its_beginning() {
        for (format, output, expected) in [
            (
                ["", "<call>NAMEARGUMENTS</call>", "", ""],
                "\n<call>read_tide{}</call>\n<end>",
                Some("<call>read_tide{}</call>"),
            ),
            (
                ["<calls>", "<call>NAMEARGUMENTS</call>", "", "</calls>"],
                "<calls><call>read_tide{}</call></calls><end>",
                Some("<calls><call>read_tide{}</call></calls>"),
            ),
            (["", "OBJECT", "", ""], "{}<end>", None),
        ] {
            let findings = invented::with_calls(format);
            let sample = invented::sample(output, AssistantTurn::calls([tide_call()]));
            let found = whole_call(&findings, &[sample]);
            assert_eq!(found.as_deref(), expected, "{output}");
        }
    }

    #[test]
    fn a_call_that_a_common_sign_opens_is_quoted_in_an_answer() {
        const PYTHON: &str = "NAME(«KEY=QUOTED·, »)";
        for (format, output, expected) in [
            (
                ["[", PYTHON, ", ", "]"],
                "[read_tide()]<end>",
                Some("[read_tide()]"),
            ),
            // A marker opens these, or nothing does.
            (
                ["<calls>", PYTHON, ", ", "</calls>"],
                "<calls>read_tide()</calls>",
                None,
            ),
            (
                ["[", "<call>NAMEARGUMENTS</call>", ", ", "]"],
                "[<call>read_tide{}</call>]",
                None,
            ),
            (["", "OBJECT", "", ""], "{}<end>", None),
        ] {
            let findings = invented::with_calls(format);
            let sample = invented::sample(output, AssistantTurn::calls([tide_call()]));
            let found = common_call(&findings, &[sample]);
            assert_eq!(found.as_deref(), expected, "{output}");
        }
    }

    #[test]
    fn markers_that_vary_with_a_variable_are_mentioned_as_the_usual_ones() {
        let variants = "{% set t = 'glance' if effort == 'low' else 'mull' %}\
                        {% if m.reasoning_content %}<{{ t }}>{{ m.reasoning_content }}</{{ t }}>{% endif %}{{ m.content }}";
        let input = invented::search_input(variants);
        let found = mentionable(&input.marked);
        for marker in ["<mull>", "</mull>", "<glance>", "</glance>"] {
            assert!(found.iter().any(|found| found == marker), "{marker}");
        }
        assert!(closes_thoughts(&input.findings, "</glance>"));
        // Thoughts are tried with the other value, too.
        let samples = input.samples.all.iter();
        let mut outputs = samples.map(|sample| sample.output.as_str());
        assert!(outputs.any(|output| output.starts_with("<glance>")));
    }

    #[test]
    fn what_was_said_gives_way_to_what_is_said_of_a_marker() {
        let said = AssistantTurn::content(ANSWER);
        let thought = said.clone().with_reasoning(THOUGHT);
        let samples = [
            invented::sample(&format!("{ANSWER}<end>"), said),
            invented::sample(&format!("<t>{THOUGHT}</t>{ANSWER}<end>"), thought),
        ];
        let findings = invented::findings(["<t>", "</t>"], [""; 2], [""; 4]);
        let all = all(&findings, &findings, &samples);
        let of = |marker: &str, manner: &str| {
            let mut found = all.iter();
            found.find(|one| (one.marker.as_str(), one.manner) == (marker, manner))
        };
        let quoted = of("<t>", "in quotes").expect("an answer mentions it");
        let sentence = "The sign \"<t>\" means that a part is over, they say.";
        assert_eq!(quoted.output, format!("{sentence}<end>"));
        assert_eq!(quoted.expected, AssistantTurn::content(sentence));
        assert!(of("<t>", "in a thought").is_some());
        assert!(of("</t>", "in a thought").is_none());
    }
}
