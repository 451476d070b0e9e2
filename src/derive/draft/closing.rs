//! What closes a call.

use crate::analysis::{CallParts, SingleArguments};
use crate::derive::choices::Choice;
use crate::derive::delimiter::{Delimiter, Delimiters};
use crate::derive::pattern::{
    CAPITAL, END, NOTHING, Pattern, SOME_SPACE, SPACE, ahead, any_of, before_any_of, behind,
    either, exact, ignoring_space, joined, no_space_nor, none_of, not_behind, one_of,
};
use crate::markers::lexicon::unmarked;
use crate::markers::{self, reads_like_prose, unlikely_in_prose};

use super::call_texts::{
    between_calls, bracket_of_several, json_behind_words, json_call_start, opens_unambiguously,
    python_argument, spoken,
};
use super::drafter::{Drafter, push_markers};

/// The place behind JSON that has ended. In its strings there are such places as well, before markers only by chance.
pub(super) fn behind_bracket() -> Pattern {
    behind(one_of("}]")) + SPACE
}

impl Drafter<'_> {
    /// What closes a call.
    pub(super) fn close_calls(&self, calls: &CallParts<'_>) -> Delimiters {
        let close = own_close(calls);
        let close = close.as_str();
        let section = calls.section_close.trim();
        let mut closers = Vec::new();
        let mut expressions = Vec::new();
        // `</see>` closes a call as `</at>` closes an argument in it: what stands before it tells which it is.
        if let Some(element) = self.close_of_element(calls) {
            expressions.push(element);
            push_markers(&mut closers, section);
        } else if unlikely_in_prose(close) {
            closers.push(close.to_owned());
            // A call whose `</call>` was left out ends at `</calls>`.
            if unlikely_in_prose(section) {
                push_markers(&mut closers, section);
            }
        } else {
            expressions.extend(self.unclear_close(calls, close, section));
            expressions.extend(self.next_after(calls, close));
            expressions.extend(self.next_openers(calls, close));
            expressions.extend(self.next_text(calls, close));
        }
        // What closes an argument as well closes no call by itself.
        let arguments = calls.single_arguments();
        let argument = arguments.as_ref().map_or("", SingleArguments::close).trim();
        let ends = self.turn_ends().into_iter();
        closers.extend(ends.filter(|end| argument.is_empty() || !end.starts_with(argument)));
        closers.extend(self.markers_between(calls));
        // Models put a blank before the end of such a tag: `<call name="read" />`.
        if let Some(tag) = self.self_closing_tag(calls) {
            expressions.push(behind(self.slots_pattern(&tag, false)) + SPACE + "/>" + SPACE);
        }
        self.closers(&closers, expressions)
    }

    /// What closes a call where what closes it has been left out: the next call.
    pub(super) fn other_closes_of_calls(&self, calls: &CallParts<'_>) -> Vec<Delimiter> {
        let close = own_close(calls);
        let next = self.next_openers(calls, &close).into_iter();
        next.map(Delimiter::Expression).collect()
    }

    /// What closes a call behind an argument that has ended, or behind what opens a call that has none: a value that
    /// speaks of `</call>` goes on. One that nothing closes may end with it, too, but behind a word.
    pub(super) fn closes_behind_argument(&self, calls: &CallParts<'_>) -> Vec<Delimiter> {
        let Some(arguments) = calls.single_arguments() else {
            return Vec::new();
        };
        if !calls.closes_behind_argument() {
            return Vec::new();
        }
        let close = markers::markers_or_whole(calls.close.trim()).join(" ");
        let ended = self.behind_argument(calls, &arguments, &close);
        let own = ignoring_space(&close);
        let ends = self.turn_ends().into_iter();
        let ends = ends.map(|end| ignoring_space(&end));
        let any = any_of([own.clone()].into_iter().chain(ends));
        let mut closes = vec![
            behind(ended.clone()) + &own + SPACE,
            behind(ended.clone()) + any + SPACE,
        ];
        closes.dedup();
        // Behind a blank, a line break or a quote, `</call>` is only spoken of.
        let between = arguments.first_between().trim();
        let value = markers::markers(between)
            .last()
            .and_then(|value| Some((value, unmarked(value).chars().next()?)));
        if let Some((value, sign)) = value.filter(|(value, _)| between.ends_with(value)) {
            let word = no_space_nor(sign).nor("`\"'");
            let open = exact(value) + none_of(sign).many() + word;
            closes.push(behind(either([ended, open])) + own + SPACE);
        }
        closes.into_iter().map(Delimiter::Expression).collect()
    }

    /// What stands before the end of a call with arguments between markers: what closes one of these, or what opens the call.
    fn behind_argument(
        &self,
        calls: &CallParts<'_>,
        arguments: &SingleArguments<'_>,
        close: &str,
    ) -> Pattern {
        let (head, rest) = calls.open.split_at(calls.first_text().len());
        // Of what opens a call, the beginning is enough where nothing in it looks like what closes one.
        let sign = unmarked(close).chars().next();
        let is_plain = |sign: &char| {
            let mut rest = rest.trim().chars();
            !head.trim().is_empty() && !rest.any(|c| c == *sign || c.is_whitespace())
        };
        let open = match sign.filter(is_plain) {
            // A name has no white space: between `<call>` and `</call>` none is called.
            Some(sign) => ignoring_space(head) + no_space_nor(sign).many(),
            None => self.slots_pattern(&calls.open, false).trim_end(),
        };
        let ends = arguments.closes.iter().filter(|end| !end.is_empty());
        let ends = ends.map(|end| end.trim()).chain(arguments.key_close());
        let ends = ends.map(ignoring_space);
        either(ends.chain([open]).map(|end| end + SPACE))
    }

    /// What closes a call of JSON behind its last bracket where what ends an answer may do so as well, and where all that ends a turn
    /// or separates calls may.
    pub(super) fn close_or_end(&self, calls: &CallParts<'_>) -> Vec<Delimiter> {
        let close = last_close(calls.close.trim(), calls.section_close.trim());
        if !unlikely_in_prose(close) || !calls.closes_behind_bracket(close) {
            return Vec::new();
        }
        let of_answers = self.findings.content.close.iter();
        let of_answers = of_answers.map(|end| end.trim().to_owned());
        let section = [calls.section_close.trim().to_owned()].into_iter();
        let own = of_answers.chain(section);
        let own: Vec<String> = own.filter(|end| unlikely_in_prose(end)).collect();
        let of_calls = [self.turn_ends(), self.markers_between(calls)].concat();
        let ways = [self.text_ends(), of_calls].map(|ends| {
            // A sign such as `==` stands behind a bracket in code, too.
            let ends = ends
                .iter()
                .filter(|end| !self.stands_behind_line_break(end));
            let ends = own.iter().chain(ends).filter(|end| *end != close);
            let mut ends: Vec<Pattern> = ends.map(|end| ignoring_space(end)).collect();
            markers::dedup(&mut ends);
            let own = [ignoring_space(close)].into_iter();
            let place = behind_bracket() + bracket_of_several(calls, "]");
            (!ends.is_empty()).then(|| place + any_of(own.chain(ends)) + SPACE)
        });
        let mut ways: Vec<Pattern> = ways.into_iter().flatten().collect();
        ways.dedup();
        ways.into_iter().map(Delimiter::Expression).collect()
    }

    /// What closes a call whose last markers may be left out: of `}</a></b>`, a model writes `}</a>` or `}`, and the turn ends.
    pub(super) fn closes_cut_short(&self, calls: &CallParts<'_>) -> Vec<Delimiter> {
        if calls.close.has_slots() || !calls.has_brackets() {
            return Vec::new();
        }
        let (close, section) = (calls.close.trim(), calls.section_close.trim());
        let (mut brackets, mut rest) = split_brackets(close);
        let mut place = unclear(calls, brackets.trim());
        if rest.is_empty() {
            (brackets, rest) = split_brackets(section);
            if !brackets.trim().is_empty() {
                place = place + SPACE + ignoring_space(brackets.trim());
            }
        }
        let parts = markers::pieces(rest).map(str::trim);
        let parts = parts.filter(|part| !part.is_empty()).map(ignoring_space);
        let parts: Vec<Pattern> = parts.collect();
        let place = place.trim_start();
        // Strings hold a `)` with a fence behind it, too.
        let is_clear = unlikely_in_prose(rest) || place.is_empty() && rest.len() >= 3;
        let Some((last, before)) = parts.split_last().filter(|_| is_clear) else {
            return Vec::new();
        };
        let before = before.iter().rev();
        let before = before.fold(NOTHING, |rest, part| {
            (part.clone() + SPACE + rest).or_nothing()
        });
        let ends = self.turn_ends();
        let ends = ends.iter().map(|end| ignoring_space(end));
        // What closes all calls closes the last of them, too, if it is not what that ends with.
        let of_all = ignoring_space(split_brackets(section).1);
        let is_other = unlikely_in_prose(section) && !parts.contains(&of_all);
        let of_all = is_other.then_some(of_all);
        let any = any_of([last.clone()].into_iter().chain(of_all).chain(ends.clone()));
        // As the draft has it.
        let own = match unlikely_in_prose(close) {
            true => Some(Delimiter::IgnoringSpace(own_close(calls))),
            false => self
                .unclear_close(calls, close, section)
                .map(Delimiter::Expression),
        };
        let is_json = place.is_empty();
        let place = if is_json {
            behind_bracket()
        } else {
            place + SPACE
        };
        let place = place + bracket_of_several(calls, "]");
        let cut_short = place.clone() + before.clone() + any + SPACE;
        let ways = match is_json {
            true => [
                place + joined(parts.iter().cloned(), &SPACE) + SPACE,
                cut_short,
            ],
            false => {
                let alone = before_any_of(ends.chain([END]));
                let closed = before + last + SPACE;
                [cut_short, place + any_of([closed, alone])]
            }
        };
        let ways = ways.into_iter().map(Delimiter::Expression);
        own.into_iter().chain(ways).collect()
    }

    /// The markers between calls that close one by themselves.
    pub(super) fn markers_between(&self, calls: &CallParts<'_>) -> Vec<String> {
        let ends = self.turn_ends();
        let markers = markers::markers(&calls.separator).map(str::to_owned);
        markers
            .filter(|marker| opens_unambiguously(calls) || ends.contains(marker))
            .collect()
    }

    /// What closes a call whose arguments are closed alike, as in `<NAME><KEY>VALUE</KEY></NAME>`, or in
    /// `<call NAME><KEY>VALUE</></>`: what stands behind an argument that has ended, or behind what opens the call.
    /// How far it is indented tells it from what closes an argument with elements in it.
    fn close_of_element(&self, calls: &CallParts<'_>) -> Option<Pattern> {
        let arguments = calls.single_arguments()?;
        // `</see>` of a call and `</at>` of an argument are alike: either names what it closes.
        let any = |text: &str| text.replace(markers::is_slot, "*");
        let is_alike = |call: &str, argument: &str| any(call.trim()) == any(argument.trim());
        let (text, argument) = (&*calls.close, arguments.close());
        let close = text.trim();
        if !unlikely_in_prose(close) || !is_alike(close, argument) {
            return None;
        }
        let space = &text[..text.len() - text.trim_start().len()];
        // What white space stands behind it is told below.
        let open = self.slots_pattern(&calls.open, false).trim_end();
        let (close, argument) = (ignoring_space(close), ignoring_space(argument.trim()));
        // In one line, only what stands before it tells which of them it is; on a line of its own, its indent does.
        if space.is_empty() {
            let mut keys = arguments.between.iter();
            let key = |between: &str| [arguments.open(), "*", between].concat();
            let rest = match keys.any(|between| is_alike(&calls.open, &key(between))) {
                // An argument may be empty, too.
                true => ahead(SPACE + self.behind_calls(calls)),
                false => SPACE,
            };
            let alone = behind(open) + &close + rest;
            return Some(either([behind(argument + SPACE) + close + SPACE, alone]));
        }
        let space = exact(space);
        let between = match text.trim_start_matches('\n').starts_with([' ', '\t']) {
            true => space.clone(),
            false => SPACE,
        };
        Some(behind(either([argument + between, open + space])) + close + SPACE)
    }

    /// The expression for what stands behind a turn's last call.
    fn behind_calls(&self, calls: &CallParts<'_>) -> Pattern {
        let section = Some(calls.section_close.trim().to_owned());
        let section = section.filter(|section| !section.is_empty());
        let ends = section.into_iter().chain(self.turn_ends());
        any_of(ends.map(|end| ignoring_space(&end)).chain([END]))
    }

    /// What closes a call and could as well stand in its arguments: what follows decides.
    fn unclear_close(&self, calls: &CallParts<'_>, close: &str, section: &str) -> Option<Pattern> {
        let own = unclear(calls, close) + SPACE + bracket_of_several(calls, "]");
        // A turn may end without the marker of its end.
        let is_end = self.turn_ends().iter().any(|end| end == section);
        let both = match section {
            "" => own,
            _ if is_end && calls.closes_behind_bracket(close) => own,
            section => own + ignoring_space(section) + SPACE,
        };
        // Strings of JSON hold no such thing but by chance, and nothing has to be looked for ahead.
        if calls.closes_behind_bracket(last_close(close, section)) {
            return Some(behind_bracket() + both.trim_start());
        }
        // `)]` may stand in a text; with `</calls>` behind it, it ends the calls.
        if unlikely_in_prose(section) {
            return Some(both);
        }
        if close.is_empty() && section.is_empty() {
            return None;
        }
        if self.chosen(Choice::TextFollows) {
            return Some(both);
        }
        // A mere `)` may stand in an argument, as in `a=(1)`: the end of the turn has to follow, or a sentence, as it does upon no
        // code.
        let ends = self.turn_ends();
        let ends = ends.iter().map(|end| exact(end)).chain([END]);
        let arguments = calls.single_arguments();
        let in_quotes = arguments.is_some_and(|arguments| arguments.raw_quote.is_some());
        let sentence = (in_quotes && !section.is_empty()).then_some(CAPITAL);
        Some(both + before_any_of(ends.chain(sentence)))
    }

    /// The places before the markers with which a next call begins. What closes a call and separates
    /// it from the next goes along, if it is there.
    fn next_openers(&self, calls: &CallParts<'_>, close: &str) -> Vec<Pattern> {
        let openers = self.call_openers();
        if openers.is_empty() {
            return Vec::new();
        }
        let json = json_behind_words(calls);
        let next = match &json {
            // Words may stand in a string of JSON as well, and the beginning of a call does not.
            Some(json) => {
                let head = self.slots_pattern(&calls.open, false).trim_end();
                let start = calls.keys().map(|keys| json_call_start(calls, &keys, None));
                ahead(head + SPACE + start.as_ref().unwrap_or(json))
            }
            None => before_any_of(openers.iter().map(|head| ignoring_space(head))),
        };
        // A closer that is clear needs no next call behind it.
        let own = (!unlikely_in_prose(close)).then(|| unclear(calls, close));
        let separator = calls.separator.trim();
        // Markers close calls by themselves.
        let has_marker = markers::markers(separator).next().is_some();
        let separator = (!has_marker).then(|| ignoring_space(separator));
        let mut places = Vec::new();
        // Models leave out either of them before the next call.
        for parts in [[&own, &separator], [&own, &None], [&None, &separator]] {
            let parts = parts.into_iter().flatten().cloned();
            let between = joined(parts.filter(|part| !part.is_empty()), &SPACE);
            let place = between.clone() + SPACE + &next;
            if !between.is_empty() && !places.contains(&place) {
                places.push(place);
            }
        }
        // Behind a blank, a marker is only mentioned, or stands in a text. So it is behind a quote, unless nothing
        // but the next call shows that an argument has ended.
        let behind_json = behind_bracket() + &next;
        match (json, close) {
            (Some(_), _) => places.push(behind_json),
            // JSON does not end within one of its texts.
            (None, "") if calls.ends_with_bracket() => places.push(behind_json),
            (None, "") => places.push(not_behind(exact(" ")) + &next),
            (None, _) => places.push(not_behind(spoken()) + &next),
        }
        // But calls may be indented, or a blank may be all that stands between them.
        let line = calls.separator.rfind('\n').unwrap_or(0);
        let indent = &calls.separator[line..];
        if indent.ends_with(' ') && indent.trim().is_empty() {
            places.push(exact(indent) + next);
        }
        places
    }

    /// The place behind a call's JSON that nothing closes, where a text follows that has an opener of its own.
    fn next_text(&self, calls: &CallParts<'_>, close: &str) -> Option<Pattern> {
        let open = self.findings.content.open.as_deref().map(str::trim);
        let open = open.filter(|open| close.is_empty() && unlikely_in_prose(open))?;
        let is_json = calls.dialect().is_some();
        is_json.then(|| behind_bracket() + ahead(ignoring_space(open)))
    }

    /// What closes a call when another follows and nothing clear stands between.
    fn next_after(&self, calls: &CallParts<'_>, close: &str) -> Option<Pattern> {
        // Then what opens the next call is enough to end this one, and `next_openers` has it.
        let is_clear = close.is_empty() && unlikely_in_prose(calls.first_text());
        if !calls.several || is_clear || calls.is_array() {
            return None;
        }
        let ended = match close.is_empty() {
            // Arguments end with a bracket, be it JSON's or Python's.
            true => behind(one_of("}])")),
            false => unclear(calls, close),
        };
        // A marker that closes a call by itself does so before more of the next one has come.
        let marker = self.markers_between(calls).into_iter();
        let mut marker =
            marker.filter(|marker| calls.separator.trim_start().starts_with(marker.as_str()));
        if let Some(marker) = marker.next() {
            return Some(ended + SPACE + ahead(ignoring_space(&marker)));
        }
        let start = match calls.keys() {
            Some(keys) => json_call_start(calls, &keys, None),
            None if calls.dialect().is_some() => exact("{"),
            None => python_argument(calls).unwrap_or_default(),
        };
        let head = self.slots_pattern(&calls.open, false) + start;
        // Where each call is a line of its own, so is the next.
        let is_line = close.is_empty() && calls.separator.contains('\n');
        if is_line && calls.dialect().is_none() {
            return Some(exact(&calls.separator) + ahead(head));
        }
        let separator = between_calls(calls);
        Some(
            match (calls.separator.trim().is_empty(), calls.open.is_empty()) {
                // Where nothing at all opens a call, it must not end where it begins.
                (true, true) if !separator.is_empty() => ended + ahead(SOME_SPACE + head),
                // White space goes along, unless the next call wants to see it.
                (true, is_bare)
                    if opens_unambiguously(calls) || (!is_bare && self.begins_anywhere(calls)) =>
                {
                    ended + SPACE + ahead(head)
                }
                // Words between two calls go with the first of them, or they would be a text.
                (false, _) if opens_unambiguously(calls) && reads_like_prose(&calls.separator) => {
                    ended + separator + ahead(head)
                }
                // Behind JSON, white space means nothing.
                (false, _) if calls.dialect().is_some() => {
                    ended + SPACE + ahead(separator.trim_start() + head)
                }
                // No string of JSON holds a line break as it is: only a call begins a line with its name.
                _ if is_line && calls.keys().is_none() => {
                    ended + ahead(SPACE + "\n" + SPACE + head)
                }
                _ => ended + ahead(separator + head),
            },
        )
    }
}

/// What closes a call of JSON behind its last bracket: a string that speaks of `</call>` goes on.
pub(super) fn close_behind_bracket(calls: &CallParts<'_>) -> Option<Delimiter> {
    let close = calls.close.trim();
    let is_clear = unlikely_in_prose(close) && !calls.close.has_slots();
    (is_clear && calls.closes_behind_bracket(close)).then(|| {
        let close = ignoring_space(&markers::markers_or_whole(close).join(" "));
        Delimiter::Expression(behind_bracket() + close + SPACE)
    })
}

/// The brackets that a text begins with.
fn split_brackets(text: &str) -> (&str, &str) {
    let is_bracket = |c: char| c.is_whitespace() || "}])".contains(c);
    text.split_at(text.len() - text.trim_start_matches(is_bracket).len())
}

/// What closes a call on a line of its own: an argument that speaks of `[/call]` has that amid a line.
pub(super) fn close_behind_line_break(calls: &CallParts<'_>) -> Option<Delimiter> {
    let close = ignoring_space(calls.close.trim());
    calls
        .closes_behind_line_break()
        .then(|| Delimiter::Expression(exact("\n") + SPACE + close + SPACE))
}

/// What closes the last call: its own closer, or else the marker that closes all. Mere signs, such as `===`, stand behind brackets in
/// code, too.
fn last_close<'t>(close: &'t str, section: &'t str) -> &'t str {
    let has_marker = || markers::markers(section).next().is_some();
    match close.is_empty() && has_marker() {
        true => section,
        false => close,
    }
}

/// The text that closes a call by itself, without white space around it.
fn own_close(calls: &CallParts<'_>) -> String {
    let (first, rest) = markers::split_close(&calls.close);
    let (first, rest) = (first.trim(), rest.trim());
    let is_arguments_own = markers::is_wildcard_tag(first) && calls.single_arguments().is_some();
    match is_arguments_own && unlikely_in_prose(rest) {
        // An argument may be closed by the first alone. White space may stand between the two.
        true => format!("{first} {rest}"),
        false if calls.dialect().is_some() => with_space_behind_bracket(first),
        false => first.to_owned(),
    }
}

/// A text that closes JSON, with a blank between its last bracket and a marker, where models put white space.
fn with_space_behind_bracket(close: &str) -> String {
    let brackets = close.len() - close.trim_start_matches(['}', ']']).len();
    match close.split_at(brackets) {
        ("", _) | (_, "") => close.to_owned(),
        (brackets, marker) => format!("{brackets} {}", marker.trim_start()),
    }
}

/// The expression for what closes a call and could as well stand in its arguments. The bracket behind those
/// of a Python call stays with them: it shows where the last of them ends.
fn unclear(calls: &CallParts<'_>, close: &str) -> Pattern {
    let arguments = calls.single_arguments();
    let in_python = arguments.is_some_and(|arguments| arguments.in_python);
    match close.strip_prefix(')') {
        Some(rest) if in_python => behind(exact(")")) + ignoring_space(rest),
        _ => ignoring_space(close),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::draft::drafter::asked;
    use crate::derive::invented;

    const PYTHON: &str = "NAME(«KEY=QUOTED·, »)";
    const HEAD: &str = r#"\{\s*"name"\s*:\s*"[^"]*"\s*,\s*"arguments"\s*:\s*"#;

    #[test]
    fn a_call_is_closed_by_what_stands_behind_it_or_by_what_follows() {
        for (calls, expected) in [
            (
                ["", "<call>NAMEARGUMENTS</call>", "", ""],
                r"(?:</call>|<end>)\s*".to_owned(),
            ),
            // A call whose `</call>` was left out ends at `</calls>`.
            (
                ["<calls>", "<call>NAMEARGUMENTS</call>", "", "</calls>"],
                r"(?:</calls>|</call>|<end>)\s*".to_owned(),
            ),
            (
                ["", "<call>NAMEARGUMENTS</call>", "<sep>", ""],
                r"(?:</call>|<end>|<sep>)\s*".to_owned(),
            ),
            // A mere bracket may stand in an argument: the end of the turn has to follow, or the next call.
            (
                ["[", PYTHON, ", ", "]"],
                r#"<end>\s*|(?<=\))\s*\]\s*(?=<end>|\Z)|(?<=\))(?=,\s*[^\s("')\]}\[]+\(\s*(?:\)|[^\s=(),"']+\s*=))"#
                    .to_owned(),
            ),
            // Behind it, `</calls>` tells that the bracket is none of an argument.
            (
                ["<calls>", PYTHON, "\n", "</calls>"],
                r#"<end>\s*|(?<=\))\s*</calls>\s*|(?<=\))(?=\s*[^\s("')\]}>]+\(\s*(?:\)|[^\s=(),"']+\s*=))|(?<=\))\s*(?=<calls>)|(?<![ `"'(])(?=<calls>)"#
                    .to_owned(),
            ),
            // So it does behind JSON, and the name of the next call, with its JSON.
            (
                ["<calls>", "NAME\nARGUMENTS", "\n", "</calls>"],
                r#"<end>\s*|(?<=[}\]])\s*</calls>\s*|(?<=[}\])])(?=\s*\n\s*[^\s{<"'()\]},`>]+\s*\{)|(?<=[}\]])\s*(?=<calls>)"#
                    .to_owned(),
            ),
            // A sign behind the bracket of JSON needs nothing behind it.
            (
                ["", "<call>NAMEARGUMENTS#", "", ""],
                r#"<end>\s*|(?<=[}\]])\s*#\s*|#\s*(?=<call>(?:\s*\n\s*)?[^\s{<]+\{)|#\s*(?=<call>)|(?<![ `"'(])(?=<call>)"#
                    .to_owned(),
            ),
            (
                ["", "OBJECT", "\n", ""],
                format!(r"<end>\s*|(?<=[}}\])])(?=\s+{HEAD})"),
            ),
        ] {
            let findings = invented::with_calls(calls);
            let found = asked(&findings, &[], |drafter| {
                let calls = drafter.calls.expect("there are calls");
                drafter.close_calls(calls).shown()
            });
            assert_eq!(found, expected, "{calls:?}");
        }
    }

    #[test]
    fn a_call_that_is_closed_like_its_arguments_ends_behind_one_of_them() {
        for (call, expected) in [
            (
                "<NAME><in>«<KEY>RAW</KEY>»</NAME>",
                Some(r"(?<=</[^\s<>]*?>\s*)</[^\s<>]*?>\s*|(?<=<[^\s><]+><in>)</[^\s<>]*?>\s*"),
            ),
            // On a line of its own, its indent tells it.
            (
                "<NAME>«\n  <KEY>RAW</KEY>»\n</NAME>",
                Some(r#"(?<=</[^\s<>]*?>\s*|<[^\s>"'()\]}<]+>\n)</[^\s<>]*?>\s*"#),
            ),
            ("<NAME>«<arg=KEY>RAW</arg>»</NAME>", None),
            ("<NAME>ARGUMENTS</NAME>", None),
        ] {
            let findings = invented::with_calls(["", call, "", ""]);
            let found = asked(&findings, &[], |drafter| {
                drafter.close_of_element(drafter.calls.expect("there are calls"))
            });
            let found = found.map(|close| close.to_string());
            assert_eq!(found.as_deref(), expected, "{call}");
        }
    }

    #[test]
    fn the_next_call_closes_one_that_is_not_closed() {
        for (calls, close, expected) in [
            // Behind a blank or a quote it is only mentioned.
            (
                ["", "<call>NAMEARGUMENTS</call>", "", ""],
                "</call>",
                vec![r#"(?<![ `"'(])(?=<call>)"#],
            ),
            // But calls may be indented.
            (
                ["", "<call>NAMEARGUMENTS</call>", "\n  ", ""],
                "</call>",
                vec![r#"(?<![ `"'(])(?=<call>)"#, r"\n  (?=<call>)"],
            ),
            (
                ["", "<call>NAMEARGUMENTS}", ",", ""],
                "}",
                vec![
                    r"\}\s*,\s*(?=<call>)",
                    r"\}\s*(?=<call>)",
                    r",\s*(?=<call>)",
                    r#"(?<![ `"'(])(?=<call>)"#,
                ],
            ),
            (["[", PYTHON, ", ", "]"], ")", vec![]),
        ] {
            let findings = invented::with_calls(calls);
            let found = asked(&findings, &[], |drafter| {
                drafter.next_openers(drafter.calls.expect("there are calls"), close)
            });
            assert_eq!(found, expected, "{calls:?}");
        }
    }

    #[test]
    fn white_space_may_stand_between_the_brackets_of_json_and_a_marker() {
        for (close, expected) in [
            ("}</call>", "} </call>"),
            ("}}\n</call>", "}} </call>"),
            ("}", "}"),
            ("</call>", "</call>"),
        ] {
            assert_eq!(with_space_behind_bracket(close), expected, "{close:?}");
        }
    }

    #[test]
    fn a_call_is_closed_by_its_first_marker() {
        for (call, expected) in [
            ("<call>NAMEARGUMENTS\n</args></call>", "</args>"),
            ("<call>{\"with\": ARGUMENTS}</call>", "} </call>"),
            // An argument may be closed by the first alone.
            ("<NAME>«<KEY>RAW</KEY>»</NAME></call>", "</NAME> </call>"),
            (PYTHON, ")"),
        ] {
            let findings = invented::with_calls(["", call, "", ""]);
            let calls = findings.call_parts().expect("there are calls");
            let found = own_close(&calls).replace(markers::NAME_SLOT, "NAME");
            assert_eq!(found, expected, "{call}");
        }
    }

    #[test]
    fn a_bracket_may_stand_behind_several_calls() {
        for (call, expected) in [
            ("OBJECT", r"(?<=[}\]])\s*(?:\]\s*)?</calls>\s*"),
            (PYTHON, r"(?<=\))\s*(?:\]\s*)?</calls>\s*"),
        ] {
            let findings = invented::with_calls_in_brackets(call);
            let found = asked(&findings, &[], |drafter| {
                let calls = drafter.calls.expect("there are calls");
                drafter.unclear_close(calls, &own_close(calls), "</calls>")
            });
            let found = found.expect("it is closed").to_string();
            assert_eq!(found, expected, "{call}");
        }
    }

    #[test]
    fn a_call_of_json_ends_behind_its_bracket() {
        for (call, expected) in [
            (
                "<call>NAMEARGUMENTS</call>",
                Some(r"(?<=[}\]])\s*</call>\s*"),
            ),
            (
                "<call>NAMEARGUMENTS\n</args></call>",
                Some(r"(?<=[}\]])\s*</args>\s*</call>\s*"),
            ),
            ("<call>NAMEARGUMENTS}</call>", None),
            ("<call>NAMEARGUMENTS</NAME>", None),
            ("<call>NAMEARGUMENTS;", None),
            // What is written in tags may end with anything.
            ("<call=NAME>«<arg=KEY>RAW</arg>»</call>", None),
        ] {
            let findings = invented::with_calls(["", call, "", ""]);
            let calls = findings.call_parts().expect("there are calls");
            let found = close_behind_bracket(&calls).map(|close| close.expression().to_string());
            assert_eq!(found.as_deref(), expected, "{call}");
        }
    }

    #[test]
    fn a_call_in_tags_ends_behind_an_argument_that_has_ended() {
        for (call, expected) in [
            (
                "<call=NAME>«<arg=KEY>RAW</arg>»</call>",
                vec![
                    r"(?<=</arg>\s*|<call=[^\s<]*\s*)</call>\s*",
                    r"(?<=</arg>\s*|<call=[^\s<]*\s*)(?:</call>|<end>)\s*",
                ],
            ),
            // What opens it has a tag in it.
            (
                "<call><name>NAME</name>«<arg=KEY>RAW</arg>»</call>",
                vec![
                    r"(?<=</arg>\s*|<call><name>\s*[^\s<]+\s*</name>\s*)</call>\s*",
                    r"(?<=</arg>\s*|<call><name>\s*[^\s<]+\s*</name>\s*)(?:</call>|<end>)\s*",
                ],
            ),
            // Where a marker opens a value, one that nothing closes is known by it.
            (
                "<call>NAME«<k>KEY</k><v>RAW</v>»</call>",
                vec![
                    r"(?<=</v>\s*|</k>\s*|<call>[^\s<]*\s*)</call>\s*",
                    r"(?<=</v>\s*|</k>\s*|<call>[^\s<]*\s*)(?:</call>|<end>)\s*",
                    r#"(?<=</v>\s*|</k>\s*|<call>[^\s<]*\s*|<v>[^<]*[^\s<`"'])</call>\s*"#,
                ],
            ),
            ("<call=NAME>«<arg=KEY>RAW</>»</>", vec![]),
        ] {
            let findings = invented::with_calls(["", call, "", ""]);
            let found = asked(&findings, &[], |drafter| {
                drafter.closes_behind_argument(drafter.calls.expect("there are calls"))
            });
            let found: Vec<Pattern> = found.iter().map(Delimiter::expression).collect();
            assert_eq!(found, expected, "{call}");
        }
    }

    #[test]
    fn a_call_whose_arguments_are_json_ends_on_a_line_of_its_own() {
        for (call, expected) in [
            (
                "[call] NAME\n«KEY = JSON·\n»\n[/call]",
                Some(r"\n\s*\[/call\]\s*"),
            ),
            // A text that is written raw has line breaks, too.
            ("[call] NAME\n«KEY = RAW·\n»\n[/call]", None),
            ("[call] NAME\n«KEY = JSON·\n»[/call]", None),
        ] {
            let findings = invented::with_calls(["", call, "", ""]);
            let calls = findings.call_parts().expect("there are calls");
            let found = close_behind_line_break(&calls).map(|one| one.expression().to_string());
            assert_eq!(found.as_deref(), expected, "{call}");
        }
    }

    #[test]
    fn a_call_of_json_may_end_as_answers_and_turns_do() {
        let alone = ["", "<call>ARGUMENTS</call>", "", ""];
        let separated = ["", "<call>ARGUMENTS</call>", "<next>", ""];
        for (content, calls, expected) in [
            (
                ["<say>", "</say>"],
                alone,
                vec![r"(?<=[}\]])\s*(?:</call>|</say>|<end>)\s*"],
            ),
            (["", ""], alone, vec![r"(?<=[}\]])\s*(?:</call>|<end>)\s*"]),
            (
                ["", ""],
                separated,
                vec![
                    r"(?<=[}\]])\s*(?:</call>|<end>)\s*",
                    r"(?<=[}\]])\s*(?:</call>|<end>|<next>)\s*",
                ],
            ),
            // What closes all calls is all that closes the last.
            (
                ["", ""],
                ["<calls>", "NAME\nARGUMENTS", "\n", "</calls>"],
                vec![r"(?<=[}\]])\s*(?:</calls>|<end>)\s*"],
            ),
            (
                ["", ""],
                ["<calls>", "<call>ARGUMENTS</call>", "", "</calls>"],
                vec![r"(?<=[}\]])\s*(?:</call>|</calls>|<end>)\s*"],
            ),
            (["", ""], ["", "<call>ARGUMENTS<end>", "", ""], vec![]),
            // In a value, `</say>` may be meant.
            (
                ["<say>", "</say>"],
                ["", "<call=NAME>«<arg=KEY>RAW</arg>»</call>", "", ""],
                vec![],
            ),
        ] {
            let findings = invented::findings([""; 2], content, calls);
            let found = asked(&findings, &[], |drafter| {
                drafter.close_or_end(drafter.calls.expect("there are calls"))
            });
            let found: Vec<Pattern> = found.iter().map(Delimiter::expression).collect();
            assert_eq!(found, expected, "{content:?} {calls:?}");
        }
    }

    #[test]
    fn the_last_markers_of_a_calls_end_may_be_left_out() {
        let listed = ["<calls>[", PYTHON, ", ", "]</calls>"];
        for (calls, expected) in [
            // Behind JSON, any of them closes the call.
            (
                ["", "<do><with>ARGUMENTS</with></do>", "", ""],
                vec![
                    r"</with>",
                    r"(?<=[}\]])\s*</with>\s*</do>\s*",
                    r"(?<=[}\]])\s*(?:</with>\s*)?(?:</do>|<end>)\s*",
                ],
            ),
            // So does what closes all calls.
            (
                ["<calls>", "<do><with>ARGUMENTS</with></do>", "", "</calls>"],
                vec![
                    r"</with>",
                    r"(?<=[}\]])\s*</with>\s*</do>\s*",
                    r"(?<=[}\]])\s*(?:</with>\s*)?(?:</do>|</calls>|<end>)\s*",
                ],
            ),
            // A bracket of the call's own is written.
            (
                ["", "<call>{\"NAME\": ARGUMENTS}</call>", "", ""],
                vec![
                    r"\}\s*</call>",
                    r"\}\s*(?:</call>|<end>)\s*",
                    r"\}\s*(?:</call>\s*|(?=<end>|\Z))",
                ],
            ),
            (
                listed,
                vec![
                    r"(?<=\))\s*\]</calls>\s*",
                    r"(?<=\))\s*\]\s*(?:</calls>|<end>)\s*",
                    r"(?<=\))\s*\]\s*(?:</calls>\s*|(?=<end>|\Z))",
                ],
            ),
            // A text holds such signs, and a value between markers may be anything.
            (["[", PYTHON, ", ", "]"], vec![]),
            (
                ["", "<call=NAME>«<arg=KEY>RAW</arg>»</call></do>", "", ""],
                vec![],
            ),
        ] {
            let findings = invented::with_calls(calls);
            let found = asked(&findings, &[], |drafter| {
                drafter.closes_cut_short(drafter.calls.expect("there are calls"))
            });
            let found: Vec<Pattern> = found.iter().map(Delimiter::expression).collect();
            assert_eq!(found, expected, "{calls:?}");
        }
    }
}
