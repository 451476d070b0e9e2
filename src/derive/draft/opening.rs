//! The expression that opens a call.

use crate::analysis::{CallParts, ReasoningShape};
use crate::derive::choices::Choice;
use crate::derive::pattern::{
    ANYTHING, NOTHING, Pattern, SOME_SPACE, SPACE, START, WORD, ahead, any_of, before_any_of,
    behind, char_until, exact, ignoring_space, letter_or, not_behind, one_of, word_or,
};
use crate::format::{Node, Row};
use crate::markers::{self, dedup, unlikely_in_prose};

use super::call_texts::{
    between_calls, bracket_of_several, is_line_of_words, json_behind_words, json_call_start,
    opens_unambiguously, python_argument, split_last_marker,
};
use super::drafter::Drafter;
use super::variants::past_first_key;

impl Drafter<'_> {
    /// The expressions that open a call whose name stands in it, or that nothing clear opens: the one that the format asks
    /// for, and one that does without its first marker.
    pub(super) fn open_patterns(&self, calls: &CallParts<'_>) -> Vec<Pattern> {
        let (lead, rest) = split_last_marker(calls);
        let open = &calls.open.behind(lead.len());
        let lead_is_skipped = !lead.is_empty();
        let own = match self.self_closing_tag(calls) {
            Some(tag) => self.slots_pattern(&tag, true) + tag_end(),
            None => {
                let own = self.slots_pattern(open, true);
                match json_behind_words(calls) {
                    // `toolbox` opens a call before a bracket alone.
                    Some(json) => own.trim_end() + SPACE + ahead(json),
                    None => own,
                }
            }
        };
        let section = calls.section_open.trim();
        if lead_is_skipped || opens_unambiguously(calls) {
            // Of `<do><with>read`, models leave out the first marker.
            let loose_own = with_optional_lead(rest, &own);
            let before = match lead.trim() {
                "" => NOTHING,
                lead => (ignoring_space(lead) + SPACE).or_nothing(),
            };
            let all = [own].into_iter().chain(loose_own);
            let all = all.map(
                |own| match section.is_empty() || unlikely_in_prose(section) {
                    true => own,
                    // Where it does not stand before a call, it is text.
                    false => (ignoring_space(section) + SPACE + &before).or_nothing() + own,
                },
            );
            return all.collect();
        }
        let own = self.chained(calls, open, &NOTHING, None);
        // Behind `<calls>`, calls may begin with any key. A section that begins with a letter might begin within a name.
        let is_marked = calls.several && !calls.is_array() && unlikely_in_prose(section);
        let is_marked = is_marked && !section.starts_with(char::is_alphanumeric);
        let first = past_first_key(calls).filter(|_| is_marked);
        let loose = first.map(|first| self.chained(calls, open, &NOTHING, Some(first)));
        [own].into_iter().chain(loose).collect()
    }

    /// The expressions that open calls which a common sign opens, where that stands at the beginning of the turn, or of a
    /// line: `Write [read()] first` is said.
    pub(super) fn open_patterns_at_start(&self, calls: &CallParts<'_>) -> Vec<Pattern> {
        let (lead, _) = split_last_marker(calls);
        let section = calls.section_open.trim();
        let is_sign = !section.is_empty() && !section.contains(char::is_alphanumeric);
        if !is_sign || !lead.is_empty() || opens_unambiguously(calls) || unlikely_in_prose(section)
        {
            return Vec::new();
        }
        let mut places = vec![self.turn_start(None)];
        if calls.section_open.contains('\n') {
            places.push(self.turn_start(Some(exact("\n"))));
        }
        let opens = places.iter();
        let opens = opens.map(|place| self.chained(calls, &calls.open, place, None));
        opens.collect()
    }

    /// The expression that opens a call whose name stands behind its arguments: what opens a call is all that captures.
    pub(super) fn open_before_name(&self, calls: &CallParts<'_>) -> Pattern {
        let open = self.slots_pattern(&calls.open, false);
        let end = match calls.body {
            // A text in the arguments may look like what stands around the name, but not with their last brace before
            // it.
            Node::Arguments(_) => exact("}") + SPACE,
            _ => NOTHING,
        };
        open + ahead(ANYTHING + end + self.slots_pattern(&calls.close, true))
    }

    /// The tag of a call that may close itself, up to its end.
    pub(super) fn self_closing_tag(&self, calls: &CallParts<'_>) -> Option<Row> {
        calls
            .unclosed_tag()
            .filter(|_| self.chosen(Choice::TagClosesItself))
    }

    /// Where a turn begins, apart from reasoning, or at another place.
    fn turn_start(&self, other: Option<Pattern>) -> Pattern {
        let reasoning = self.findings.reasoning.as_ref();
        let closes = reasoning.map_or_else(Vec::new, ReasoningShape::closes);
        let thought = any_of(closes.iter().map(|close| exact(close))) + SPACE;
        let thought = (!closes.is_empty()).then(|| behind(thought));
        any_of([START].into_iter().chain(other).chain(thought)) + SPACE
    }

    /// Whether calls that nothing clear opens may begin within a text: only those that look ahead for
    /// all of a call's keys, or for what begins the arguments behind a name that has a text of its own
    /// before it.
    pub(super) fn begins_anywhere(&self, calls: &CallParts<'_>) -> bool {
        // A brace alone stands in any code, so more of a call has to be ahead.
        let is_keyed = calls.keys().is_some()
            || !calls.first_text().trim().is_empty()
                && (calls.dialect().is_some() || self.arguments_ahead(calls).is_some());
        calls.section_open.trim().is_empty() && self.chosen(Choice::CallsAnywhere) && is_keyed
    }

    /// The place before arguments between markers, or before what closes a call that has none; `None` if both
    /// could as well be prose.
    pub(super) fn arguments_ahead(&self, calls: &CallParts<'_>) -> Option<Pattern> {
        let arguments = calls.single_arguments()?;
        // `run(x=1)` stands in many an answer about code.
        if arguments.in_python {
            return None;
        }
        let close = &calls.close;
        let is_clear = |text: &&str| !text.trim().is_empty();
        let mut places: Vec<Pattern> = match arguments.open().trim() {
            // Where nothing opens an argument, what stands behind its key shows that it is one.
            "" => {
                let between = arguments.between.iter();
                let between = between.map(|text| &**text).filter(is_clear);
                between
                    .map(|text| SPACE + char_until(text).some() + text)
                    .collect()
            }
            _ => vec![exact(arguments.open())],
        };
        match close.trim() {
            "" if places.is_empty() => return None,
            "" => places.extend(
                self.turn_ends()
                    .iter()
                    .map(|end| ignoring_space(&format!(" {end}"))),
            ),
            _ => places.push(exact(close)),
        }
        Some(before_any_of(places))
    }

    /// The expression for calls that nothing clear opens: the first is known by what opens them
    /// all, or by the start of the turn, and the next by standing behind it. What opens them all may have to stand at a
    /// place, and of several calls, less may have to follow it than opens the next.
    fn chained(
        &self,
        calls: &CallParts<'_>,
        open: &Row,
        place: &Pattern,
        first: Option<Pattern>,
    ) -> Pattern {
        let section = calls.section_open.trim();
        let follows = |sign: Option<char>| match calls.keys() {
            Some(keys) => ahead(json_call_start(calls, &keys, sign)),
            // A name is a word like any other until its arguments begin.
            None if calls.dialect().is_some() => ahead(exact("{")),
            None if calls.is_array() => ahead(python_list_start()),
            None if self.begins_anywhere(calls) => self.arguments_ahead(calls).unwrap_or_default(),
            // Where a mere sign opens calls, `[max(1, 2)]` is code, and `[read(key=` a call.
            None if !unlikely_in_prose(section) => {
                python_argument(calls).map(ahead).unwrap_or_default()
            }
            None => NOTHING,
        };
        let is_json = calls.is_bare_object() || begins_with_json(calls);
        let token = token_before_call().when(is_json && section.is_empty());
        let head = token + self.slots_pattern(open, true) + self.not_another_marker(calls, open);
        let own = head.clone() + follows(None);
        // Before several calls, the first may have a bracket or a number as well: `(1) read{}` and `(2) knock{}` for `read{}`.
        let counted = between_calls(calls).trim_start().or_nothing();
        let of_several = bracket_of_several(calls, "[") + counted.when(calls.separator.has_slots());
        let start = match section {
            // Code in an answer, at which a fence stands, is no call.
            _ if self.begins_anywhere(calls) && begins_with_json(calls) => {
                return not_behind(exact("```") + WORD + SPACE) + own;
            }
            _ if self.begins_anywhere(calls) => return own,
            "" => self.turn_start(None),
            // What was said before a line of words ends with the white space before it.
            _ if is_line_of_words(&calls.section_open) => {
                SPACE + ignoring_space(section) + SPACE + of_several
            }
            _ => place.clone() + ignoring_space(section) + SPACE + of_several,
        };
        // Where a turn has one call, or all of them in one list, no other follows it.
        if !calls.several || calls.is_array() {
            return start + own;
        }
        // A call that is opened by nothing at all must not begin where another just has.
        let is_space = !calls.separator.is_empty() && calls.separator.trim().is_empty();
        let separator = match open.is_empty() && is_space {
            true => SOME_SPACE,
            false => between_calls(calls),
        };
        // That all calls have been opened is looked up last, since it goes back through the whole text: only
        // where a call seems to begin.
        let (next, opened) = match (unlikely_in_prose(&calls.separator), section.is_empty()) {
            // A separator that is clear begins the next call by itself.
            (true, _) => (separator, NOTHING),
            // A comma separates calls only behind a bracket, which ends one: `Yes, read{` in an answer begins none.
            (false, true) => (behind(one_of("})") + SPACE) + separator, NOTHING),
            (false, false) => {
                // In `[f(a='x, g(')]` a comma stands in a string, and no `)` before it.
                let is_python = calls
                    .single_arguments()
                    .is_some_and(|arguments| arguments.in_python);
                let opened = behind(place.clone() + ignoring_space(section) + ANYTHING);
                let close = match unlikely_in_prose(&calls.close) {
                    true => behind(ignoring_space(calls.close.trim()) + SPACE),
                    false if is_python => behind(exact(")")),
                    false => NOTHING,
                };
                (close + separator, opened)
            }
        };
        match first {
            // If a name of the next might hold what begins the section, the first could be found in it in one chunk, and not
            // in another.
            Some(first) => {
                let own = head + follows(section.chars().next());
                any_of([start + ahead(first), next + own + opened])
            }
            None => any_of([start, next]) + own + opened,
        }
    }

    /// The expression for the place behind what opens a call by a sign that others begin with, too: where `<NAME>` does,
    /// `<end>` and `</NAME>` do not.
    fn not_another_marker(&self, calls: &CallParts<'_>, open: &str) -> Pattern {
        let (first, last) = (open.trim().chars().next(), open.trim().chars().next_back());
        let (Some(first), Some(last)) = (first, last) else {
            return NOTHING;
        };
        let content = &self.findings.content;
        let texts = content.open.iter().chain(&content.close).cloned();
        let reasoning = self.findings.reasoning.iter();
        let reasoning = reasoning.flat_map(|shape| shape.open.iter().chain(&shape.close));
        let mut others: Vec<String> = texts
            .chain(reasoning.cloned())
            .chain(self.turn_ends())
            .collect();
        let around = [&calls.section_open, &calls.section_close, &*calls.close];
        others.extend(around.map(str::to_owned));
        let others = others.iter().map(|text| text.trim());
        let mut others: Vec<Pattern> = others
            .filter(|text| text.starts_with(first) && text.ends_with(last) && *text != open.trim())
            .map(ignoring_space)
            .collect();
        dedup(&mut others);
        let is_sign = !first.is_alphanumeric() && !markers::is_slot(first);
        match is_sign && first != last && !others.is_empty() {
            true => not_behind(any_of(others) + SPACE),
            false => NOTHING,
        }
    }
}

/// How a list of calls begins as Python writes it.
fn python_list_start() -> Pattern {
    exact("[") + SPACE + letter_or("_") + word_or(".-").many() + "("
}

/// How a tag ends that may close itself.
pub(super) fn tag_end() -> Pattern {
    any_of([exact(">"), closed_tag()])
}

/// The place before the end of one that does.
pub(super) fn closed_tag() -> Pattern {
    ahead(SPACE + "/>")
}

/// A token with which some models say that a call follows, though no chat template writes it.
fn token_before_call() -> Pattern {
    (exact("<|") + WORD + "|>" + SPACE).or_nothing()
}

/// Whether what opens a call begins with the brace of its JSON, before the arguments in it.
fn begins_with_json(calls: &CallParts<'_>) -> bool {
    calls.dialect().is_some() && calls.first_text().trim_start().starts_with('{')
}

/// The expression, which begins with a marker, also without it if another one follows.
fn with_optional_lead(text: &str, own: &Pattern) -> Option<Pattern> {
    let text = text.trim_start();
    let rest = markers::without_first(text)?;
    let lead = ignoring_space(&text[..text.len() - rest.len()]);
    let rest = own.without_start(&lead)?;
    Some(lead.or_nothing() + rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::draft::drafter::asked;
    use crate::derive::invented;

    const PYTHON: &str = "NAME(«KEY=QUOTED·, »)";
    const HEAD: &str = r#"\{\s*"name"\s*:\s*"[^"]*"\s*,\s*"arguments"\s*:\s*"#;

    #[test]
    fn a_call_is_opened_by_what_can_be_told_from_a_text() {
        let anywhere = &[Choice::CallsAnywhere][..];
        let closing = &[Choice::TagClosesItself][..];
        for (calls, chosen, expected) in [
            // Of two markers, the first may be missing.
            (
                ["", "<do><with>NAMEARGUMENTS</do>", "", ""],
                &[][..],
                vec![r"<with>(?:\s*\n\s*)?(?P<name>[^\s{<]+)".to_owned()],
            ),
            (
                ["[", "<call>NAMEARGUMENTS</call>", ", ", "]"],
                &[],
                vec![r"(?:\[\s*)?<call>(?:\s*\n\s*)?(?P<name>[^\s{<]+)".to_owned()],
            ),
            // `toolbox` opens a call before a bracket alone.
            (
                ["", "toolbox NAME\nARGUMENTS", "", ""],
                &[],
                vec![r"toolbox\s+(?P<name>[^\s{<]+)\s*(?=\{)".to_owned()],
            ),
            (
                ["", r#"<call name="NAME">ARGUMENTS</call>"#, "", ""],
                closing,
                vec![r#"<call\s*name="(?P<name>[^\s"]+)"(?:>|(?=\s*/>))"#.to_owned()],
            ),
            // A bracket of a list has a call behind it that has a key.
            (
                ["[", PYTHON, ", ", "]"],
                &[],
                vec![
                    r#"(?:\[\s*|(?<=\)),\s*)(?P<name>[^\s("')\]}\[]+)\((?=\s*(?:\)|[^\s=(),"']+\s*=))(?<=\[.*?)"#
                        .to_owned(),
                ],
            ),
            // Code in an answer, at which a fence stands, is no call.
            (
                ["", "{\"name\": \"NAME\", \"arguments\": ARGUMENTS}", "\n", ""],
                anywhere,
                vec![
                    r#"(?<!```\w+\s*)(?:<\|\w+\|>\s*)?\{\s*"name":\s*"(?P<name>[^\s"'()\]}]+)",\s*"arguments":\s*(?=\{)"#
                        .to_owned(),
                ],
            ),
            // Behind what opens them all, a key is enough; the next is known by its keys, and holds no such opener in its name.
            (
                ["<calls>", "OBJECT", "\n", "</calls>"],
                &[],
                vec![
                    r#"(?:<calls>\s*|\s+)(?=HEAD)(?<=<calls>.*?)"#.replace("HEAD", HEAD),
                    r#"(?:<calls>\s*(?=\{\s*"[^"]*"\s*:\s*["{])|\s+(?=HEAD)(?<=<calls>.*?))"#
                        .replace("HEAD", &HEAD.replace("[^\"]", "[^\"<]")),
                ],
            ),
            (
                ["CALLS:\n", "OBJECT", "\n", "\nEND_OF_CALLS"],
                &[],
                vec![r#"(?:CALLS:\s*|\s+)(?=HEAD)(?<=CALLS:.*?)"#.replace("HEAD", HEAD)],
            ),
            // Several calls are numbered, and one alone is not.
            (
                ["<calls>", "NAMEARGUMENTS", "\n(INDEX) ", ""],
                &[],
                vec![
                    r"(?:<calls>\s*(?:\([^\s<>]*?\)\s*)?|\s*\([^\s<>]*?\)\s*)".to_owned()
                        + r#"(?P<name>[^\s{<"'()\]},`>]+)(?=\{)(?<=<calls>.*?)"#,
                ],
            ),
            // Calls follow each other in one list, which is opened once.
            (
                ["", "LIST", "", ""],
                &[],
                vec![format!(r"\A\s*(?=\[\s*{HEAD})")],
            ),
        ] {
            let findings = invented::with_calls(calls);
            let found = asked(&findings, chosen, |drafter| {
                drafter.open_patterns(drafter.calls.expect("there are calls"))
            });
            assert_eq!(found, expected, "{calls:?}");
        }
    }

    #[test]
    fn a_bracket_may_stand_before_the_first_of_several_calls() {
        for (call, expected) in [
            ("OBJECT", r"(?:<calls>\s*(?:\[\s*)?|,\s*)(?="),
            (PYTHON, r"(?:<calls>\s*(?:\[\s*)?|(?<=\)),\s*)(?P<name>"),
        ] {
            let findings = invented::with_calls_in_brackets(call);
            let found = asked(&findings, &[], |drafter| {
                drafter.open_patterns(drafter.calls.expect("there are calls"))
            });
            assert!(found[0].to_string().starts_with(expected), "{}", found[0]);
        }
    }

    #[test]
    fn a_common_sign_opens_calls_at_the_start_of_turns_or_of_lines() {
        for (calls, expected) in [
            (
                ["[", PYTHON, ", ", "]"],
                vec![r"(?:(?:\A|(?<=</t>\s*))\s*\[\s*|"],
            ),
            (
                ["\n[", PYTHON, ", ", "]"],
                vec![
                    r"(?:(?:\A|(?<=</t>\s*))\s*\[\s*|",
                    r"(?:(?:\A|\n|(?<=</t>\s*))\s*\[\s*|",
                ],
            ),
            // Words and markers have their own rules, and so has what nothing opens.
            (["Calls: ", PYTHON, ", ", ""], vec![]),
            (["<calls>", PYTHON, ", ", "</calls>"], vec![]),
            (["[", "<call>NAMEARGUMENTS</call>", ", ", "]"], vec![]),
            (["", "OBJECT", "\n", ""], vec![]),
        ] {
            let findings = invented::findings(["<t>", "</t>"], [""; 2], calls);
            let found = asked(&findings, &[], |drafter| {
                drafter.open_patterns_at_start(drafter.calls.expect("there are calls"))
            });
            let found: Vec<String> = found.iter().map(Pattern::to_string).collect();
            let starts = found.iter().map(|open| {
                let end = open.find("(?<=\\)),").expect("another call may follow");
                &open[..end]
            });
            assert_eq!(starts.collect::<Vec<_>>(), expected, "{calls:?}");
        }
    }

    #[test]
    fn a_name_behind_arguments_is_looked_for_from_their_beginning() {
        let findings = invented::with_calls(["", "<call>ARGUMENTS<by>NAME</by>", "", ""]);
        let found = asked(&findings, &[], |drafter| {
            drafter.open_before_name(drafter.calls.expect("there are calls"))
        });
        // A text in the arguments may look like what stands around the name, but not with their last brace before it.
        assert_eq!(found, r"<call>(?=.*?\}\s*<by>\s*(?P<name>[^\s<]+)\s*</by>)");
    }

    #[test]
    fn calls_begin_anywhere_only_with_more_than_a_sign() {
        for (calls, expected) in [
            (["", "OBJECT", "\n", ""], true),
            (["", "run NAME ARGUMENTS", "\n", ""], true),
            (["", "run NAME «--KEY RAW· »;", "\n", ""], true),
            // `run(x=1)` stands in many an answer about code.
            (["", PYTHON, "\n", ""], false),
            (["", "NAME ARGUMENTS", "\n", ""], false),
            (["[", "OBJECT", ", ", "]"], false),
        ] {
            let findings = invented::with_calls(calls);
            for (chosen, expected) in [(&[][..], false), (&[Choice::CallsAnywhere], expected)] {
                let found = asked(&findings, chosen, |drafter| {
                    drafter.begins_anywhere(drafter.calls.expect("there are calls"))
                });
                assert_eq!(found, expected, "{calls:?}");
            }
        }
    }

    #[test]
    fn what_others_begin_with_opens_a_call_only_where_none_of_them_stands() {
        for (content, call, expected) in [
            // `<end>` and `</call>` begin and end alike.
            ("", "<NAME>ARGUMENTS</call>", r"(?<!(?:<end>|</call>)\s*)"),
            ("<say>", "<NAME>ARGUMENTS", r"(?<!(?:<say>|<end>)\s*)"),
            // A sign on both sides is a marker of its own.
            ("@say@", "@NAME@ARGUMENTS</call>", ""),
            ("", "call NAMEARGUMENTS", ""),
        ] {
            let findings = invented::findings([""; 2], [content, ""], ["", call, "", ""]);
            let found = asked(&findings, &[], |drafter| {
                let calls = drafter.calls.expect("there are calls");
                drafter.not_another_marker(calls, &calls.open)
            });
            assert_eq!(found, expected, "{call}");
        }
    }

    #[test]
    fn a_first_marker_may_be_left_out_where_another_one_follows() {
        for (text, own, expected) in [
            ("<do><with>", exact("<do><with>"), Some("(?:<do>)?<with>a+")),
            (
                "<do>\n<with>",
                exact("<do>") + SPACE + "<with>",
                Some(r"(?:<do>)?\s*<with>a+"),
            ),
            ("<do>", exact("<do>"), None),
            ("do <with>", exact("do <with>"), None),
        ] {
            let found = with_optional_lead(text, &(own + exact("a").some()));
            let found = found.map(|own| own.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
