//! The expression that opens a call.

use crate::analysis::lexicon::unmarked;
use crate::analysis::markers::{self, dedup, is_distinctive};
use crate::analysis::{CallParts, text_with_slots};
use crate::derive::regex::{any_of, char_between, char_until, exact, loose};
use crate::format::{Node, Slot};

use super::call_texts::{
    json_behind_words, json_call_start, opens_clearly, python_argument, split_at_id, split_lead,
    unclosed_tag,
};
use super::drafter::Drafter;

impl Drafter<'_> {
    /// The expression that opens a call whose name stands in it, or that nothing clear opens.
    pub(super) fn open_pattern(&self, calls: &CallParts<'_>) -> String {
        let (lead, rest) = split_lead(calls);
        let mut slots = calls.open.clone();
        if let Some(Node::Literal(text)) = slots.first_mut() {
            rest.clone_into(text);
        }
        let lead_is_skipped = !lead.is_empty();
        let own = match unclosed_tag(calls).filter(|_| self.choices.tag_closes_itself) {
            Some(tag) => format!("{}(?:>|(?=\\s*/>))", self.slots_pattern(&tag, true)),
            None => {
                let own = self.slots_pattern(&slots, true);
                match json_behind_words(calls) {
                    Some(json) => format!("{}\\s*(?={json})", own.trim_end_matches("\\s*")),
                    None => own,
                }
            }
        };
        let section = calls.section_open.trim();
        if lead_is_skipped || opens_clearly(calls) {
            let own = match self.choices.optional_lead {
                true => with_optional_lead(rest, own),
                false => own,
            };
            let before = match lead.trim() {
                "" => String::new(),
                lead => format!("(?:{}\\s*)?", loose(lead)),
            };
            return match section.is_empty() || is_distinctive(section) {
                true => own,
                // Where it does not stand before a call, it is text.
                false => format!("(?:{}\\s*{before})?{own}", loose(section)),
            };
        }
        self.chained(calls, &slots)
    }

    /// The expression that opens a call whose name stands behind its arguments: what opens a call is all that captures.
    pub(super) fn open_before_name(&self, calls: &CallParts<'_>) -> String {
        let open = self.slots_pattern(&calls.open, false);
        let end = match calls.body {
            Node::Arguments(_) => "\\}\\s*",
            _ => "",
        };
        format!(
            "{open}(?=.*?{end}{})",
            self.slots_pattern(&calls.close, true)
        )
    }

    /// The expression for slots in a row, with groups for name and id if they are to be captured.
    pub(super) fn slots_pattern(&self, slots: &[Node], named: bool) -> String {
        let last_name = slots.iter().rposition(is(Slot::Name));
        // Where calls are numbered, name and number make an id together.
        let numbered = named && self.options.ids && !slots.iter().any(is(Slot::Id));
        let number = last_name.and_then(|name| {
            let after = slots[name..].iter().position(is(Slot::Index))?;
            numbered.then_some(name + after)
        });
        let before_name = |at: usize| match at.checked_sub(1).map(|before| &slots[before]) {
            None => self.before_name(),
            // Markers may hold the same sign: in `@@end@@@name{`, the name begins behind the last.
            Some(Node::Literal(text)) if !is_distinctive(text) => vec![text.as_str()],
            Some(_) => Vec::new(),
        };
        // Models leave out ids that have a marker of their own.
        let is_before_id = |at: usize| match slots.get(at..).unwrap_or_default() {
            [
                Node::Literal(own),
                Node::Slot(Slot::Id),
                Node::Literal(next),
                ..,
            ] => {
                let first = |text: &str| text.trim_start().chars().next();
                at > 0
                    && !self.options.ids
                    && markers::markers(own).next().is_some()
                    && first(own) == first(next)
            }
            _ => false,
        };
        let is_json = self.calls.is_some_and(|calls| calls.dialect().is_some());
        let mut out = String::new();
        for (at, slot) in slots.iter().enumerate() {
            let next = match slots.get(at + 1) {
                Some(Node::Literal(text)) => text.as_str(),
                _ => "",
            };
            let is_name = Some(at) == last_name;
            match slot {
                Node::Literal(text) => {
                    let text = if at == 0 { text.trim_start() } else { text };
                    let json = json_spaced(text);
                    let text = if is_json { json.as_str() } else { text };
                    let after_name = at > 0 && last_name.is_some_and(|name| name < at);
                    if is_before_id(at) {
                        out.push_str("(?:");
                    }
                    if number.is_some() && Some(at + 1) == last_name {
                        let (marker, own) = split_at_id(text);
                        out.push_str(&format!("{}(?P<id>{}", loose(marker), loose(own)));
                    } else {
                        // Models put white space between a name and a marker that names don't have.
                        let pieces = markers::pieces(text);
                        let is_marker = |piece: Option<&&str>| {
                            piece.is_some_and(|text| markers::is_closed(text))
                        };
                        if after_name && is_marker(pieces.first()) {
                            out.push_str("\\s*");
                        }
                        out.push_str(&self.between_name_and_body(text, after_name));
                        if Some(at + 1) == last_name && is_marker(pieces.last()) {
                            let behind = match slots.get(at + 2) {
                                Some(Node::Literal(text)) => {
                                    markers::first_piece(text.trim_start())
                                }
                                _ => None,
                            };
                            // A name behind a blank is a word: `The <call> tag opens calls.`
                            out.push_str(match is_marker(behind.as_ref()) {
                                true => "\\s*",
                                false => "(?:\\s*\\n\\s*)?",
                            });
                        }
                        if next.is_empty() && self.goes_on_around_calls(text) {
                            out = with_space(out);
                        }
                    }
                }
                Node::Slot(Slot::Name) => {
                    if is_name && number.is_some() && at == 0 {
                        out.push_str("(?P<id>");
                    }
                    let name = format!("{}+", self.name_class(&before_name(at), next));
                    out.push_str(&match is_name && named {
                        true => format!("(?P<name>{name})"),
                        false => name,
                    });
                }
                Node::Slot(Slot::Id) => {
                    let id = format!("{}*", self.id_class(next));
                    out.push_str(&match self.options.ids && named {
                        true => format!("(?P<id>{id})"),
                        false => id,
                    });
                    if at > 0 && is_before_id(at - 1) {
                        out.push_str(")?");
                    }
                }
                Node::Slot(Slot::Index) if Some(at) == number => out.push_str("\\d+)"),
                Node::Slot(Slot::Index) => out.push_str("\\d+"),
                Node::Slot(_) => out.push_str(&format!("{}+", char_until(next))),
                _ => {}
            }
        }
        out
    }

    /// Whether the expression that opens calls captures an id.
    pub(super) fn captures_id(&self, calls: &CallParts<'_>) -> bool {
        let last = |slot| calls.open.iter().rposition(is(slot));
        let name = last(Slot::Name);
        let is_numbered = name.is_some() && last(Slot::Index) > name;
        self.options.ids && (last(Slot::Id).is_some() || is_numbered)
    }

    /// What an id consists of, which has this text behind it.
    fn id_class(&self, next: &str) -> String {
        match next.is_empty() {
            true => self.name_class(&[], next),
            false => char_until(next),
        }
    }

    /// What a name consists of, which has texts around it that it must not be taken for.
    fn name_class(&self, before: &[&str], next: &str) -> String {
        let arguments = self.calls.and_then(CallParts::single_arguments);
        match (next.trim().is_empty(), self.calls, arguments) {
            // The body follows at once; where there are no arguments, what closes the call.
            (true, Some(calls), Some(arguments)) => {
                let close = calls.close_text();
                let ends = self.turn_ends();
                let mut after = vec![arguments.open(), markers::split_close(&close).0];
                if close.trim().is_empty() {
                    let next = [calls.first_text(), calls.section_close.as_str()];
                    let next = next.into_iter().chain(ends.iter().map(String::as_str));
                    // Names have letters, whatever words may follow.
                    after.extend(
                        next.filter(|text| !text.trim_start().starts_with(char::is_alphanumeric)),
                    );
                }
                char_between(before, &after)
            }
            (true, ..) => char_between(before, &["{", "<"]),
            // Only its name tells a call: it is no part of what stands before it, in quotes or in brackets.
            (false, Some(calls), _) if !opens_clearly(calls) => {
                char_between(before, &[next, "\"", "'", "(", ")", "]", "}"])
            }
            (false, ..) => char_between(before, &[next]),
        }
    }

    /// What may stand right before a name that an expression begins with. A match is the leftmost:
    /// it would begin in these texts, and in the word before them.
    fn before_name(&self) -> Vec<&str> {
        let Some(calls) = self.calls else {
            return Vec::new();
        };
        let is_anchored = !calls.separator.trim().is_empty() && !opens_clearly(calls);
        match is_anchored {
            // A marker before the calls may begin as what opens them does.
            true => vec![calls.section_open.as_str()],
            false => vec![calls.section_open.as_str(), calls.separator.as_str()],
        }
    }

    /// Whether a marker around all calls begins as a text does that white space ends, and its word goes on, as
    /// `<calls>` does where a call is `<call NAME>`.
    fn goes_on_around_calls(&self, text: &str) -> bool {
        let word = text.trim_end();
        let around = self
            .calls
            .map(|calls| [calls.section_open.as_str(), calls.section_close.as_str()]);
        let mut around = around.into_iter().flatten();
        let goes_on = |marker: &str| {
            let mut places = marker.match_indices(word);
            places.any(|(at, _)| marker[at + word.len()..].starts_with(char::is_alphanumeric))
        };
        word.len() < text.len() && word.ends_with(char::is_alphanumeric) && around.any(goes_on)
    }

    fn between_name_and_body(&self, text: &str, after_name: bool) -> String {
        // What may stand before the last piece is anything, also where it is one marker with it.
        let unmarked = unmarked(text);
        let pieces = markers::pieces(&unmarked);
        let last = pieces.iter().rposition(|piece| markers::is_marker(piece));
        match last {
            Some(last) if after_name && self.choices.loose_header && last > 0 => {
                let marker: String = pieces[last..].concat();
                format!("[^{{]*?{}", loose(&marker))
            }
            _ => loose(text),
        }
    }

    /// Where a turn begins, apart from reasoning.
    fn turn_start(&self) -> String {
        let reasoning = self.findings.reasoning.as_ref();
        match reasoning.and_then(|shape| shape.close.as_deref()) {
            Some(close) => format!("(?:\\A|(?<={}\\s*))\\s*", exact(close.trim())),
            None => "\\A\\s*".to_owned(),
        }
    }

    /// Whether calls that nothing clear opens may begin within a text: only those that look ahead for
    /// all of a call's keys, or for what begins the arguments behind a name that has a text of its own
    /// before it.
    pub(super) fn begins_anywhere(&self, calls: &CallParts<'_>) -> bool {
        let is_keyed = calls.keys().is_some()
            || !calls.first_text().trim().is_empty()
                && (calls.dialect().is_some() || self.arguments_ahead(calls).is_some());
        calls.section_open.trim().is_empty() && self.choices.calls_anywhere && is_keyed
    }

    /// The place before arguments between markers, or before what closes a call that has none; `None` if both
    /// could as well be prose.
    fn arguments_ahead(&self, calls: &CallParts<'_>) -> Option<String> {
        let arguments = calls.single_arguments()?;
        if arguments.in_python {
            return None;
        }
        let close = calls.close_text();
        let is_clear = |text: &&str| !text.trim().is_empty();
        let mut places: Vec<String> = match arguments.open().trim() {
            // Where nothing opens an argument, what stands behind its key shows that it is one.
            "" => {
                let between = arguments
                    .between
                    .iter()
                    .map(String::as_str)
                    .filter(is_clear);
                between
                    .map(|text| format!("\\s*{}+{}", char_until(text), exact(text)))
                    .collect()
            }
            _ => vec![exact(arguments.open())],
        };
        match close.trim() {
            "" if places.is_empty() => return None,
            "" => places.extend(self.turn_ends().iter().map(|end| loose(&format!(" {end}")))),
            _ => places.push(exact(&close)),
        }
        Some(format!("(?={})", any_of(&places)))
    }

    /// The expression for calls that nothing clear opens: the first is known by what opens them
    /// all, or by the start of the turn, and the next by standing behind it.
    fn chained(&self, calls: &CallParts<'_>, slots: &[Node]) -> String {
        let section = calls.section_open.trim();
        let ahead = match calls.keys() {
            Some(keys) => format!("(?={})", json_call_start(calls, &keys)),
            None if calls.dialect().is_some() => "(?=\\{)".to_owned(),
            None if self.begins_anywhere(calls) => self.arguments_ahead(calls).unwrap_or_default(),
            None if !is_distinctive(section) => {
                let ahead = python_argument(calls).map(|start| format!("(?={start})"));
                ahead.unwrap_or_default()
            }
            None => String::new(),
        };
        let own = self.slots_pattern(slots, true);
        let own = format!("{own}{}{ahead}", self.not_another_marker(calls, slots));
        let start = match section {
            // Code in an answer, at which a fence stands, is no call.
            _ if self.begins_anywhere(calls) && begins_with_json(calls) => {
                return format!("(?<!```\\w+\\s*){own}");
            }
            _ if self.begins_anywhere(calls) => return own,
            "" => self.turn_start(),
            _ => format!("{}\\s*", loose(section)),
        };
        if !calls.several || calls.is_array() {
            return format!("{start}{own}");
        }
        let separator = loose(&calls.separator);
        // That all calls have been opened is looked up last, since it goes back through the whole text: only
        // where a call seems to begin.
        let (next, behind) = match (is_distinctive(&calls.separator), section.is_empty()) {
            (true, _) => (separator, String::new()),
            (false, true) => (format!("(?<=[}})]\\s*){separator}"), String::new()),
            (false, false) => {
                let is_python = calls
                    .single_arguments()
                    .is_some_and(|arguments| arguments.in_python);
                let bracket = if is_python { "(?<=\\))" } else { "" };
                let behind = format!("(?<={}.*?)", loose(section));
                let close = calls.close_text();
                match is_distinctive(&close) {
                    true => (
                        format!("(?<={}\\s*){separator}", loose(close.trim())),
                        behind,
                    ),
                    false => (format!("{bracket}{separator}"), behind),
                }
            }
        };
        // A call that is opened by nothing at all must not begin where another just has.
        let is_space = !calls.separator.is_empty() && calls.separator.trim().is_empty();
        let next = match slots.is_empty() && is_space {
            true => next.replace("\\s*", "\\s+"),
            false => next,
        };
        format!("(?:{start}|{next}){own}{behind}")
    }

    /// The expression for the place behind what opens a call by a sign that others begin with, too: where `<NAME>` does,
    /// `<end>` and `</NAME>` do not.
    fn not_another_marker(&self, calls: &CallParts<'_>, slots: &[Node]) -> String {
        let open = text_with_slots(slots);
        let (first, last) = (open.trim().chars().next(), open.trim().chars().next_back());
        let (Some(first), Some(last)) = (first, last) else {
            return String::new();
        };
        let content = &self.findings.content;
        let texts = content.open.iter().chain(&content.close).cloned();
        let reasoning = self.findings.reasoning.iter();
        let reasoning = reasoning.flat_map(|shape| shape.open.iter().chain(&shape.close));
        let mut others: Vec<String> = texts
            .chain(reasoning.cloned())
            .chain(self.turn_ends())
            .collect();
        others.extend([&calls.section_open, &calls.section_close].map(String::clone));
        others.push(calls.close_text());
        let others = others.iter().map(|text| text.trim());
        let mut others: Vec<String> = others
            .filter(|text| text.starts_with(first) && text.ends_with(last) && *text != open.trim())
            .map(loose)
            .collect();
        dedup(&mut others);
        let is_sign = !first.is_alphanumeric() && !markers::is_slot(first);
        match is_sign && first != last && !others.is_empty() {
            true => format!("(?<!{}\\s*)", any_of(&others)),
            false => String::new(),
        }
    }
}

/// A text with JSON in it, with a blank where JSON may have white space before a key.
fn json_spaced(text: &str) -> String {
    text.replace("{\"", "{ \"")
}

/// Whether what opens a call begins with the brace of its JSON, before the arguments in it.
fn begins_with_json(calls: &CallParts<'_>) -> bool {
    calls.dialect().is_some() && calls.first_text().trim_start().starts_with('{')
}

/// Whether a node is this slot.
fn is(slot: Slot) -> impl Fn(&Node) -> bool {
    move |node| *node == Node::Slot(slot)
}

/// The expression, which begins with a marker, also without it if another one follows.
fn with_optional_lead(text: &str, own: String) -> String {
    let text = text.trim_start();
    let Some(rest) = markers::without_first(text) else {
        return own;
    };
    let lead = loose(&text[..text.len() - rest.len()]);
    match own.strip_prefix(lead.as_str()) {
        Some(rest) => format!("(?:{lead})?{rest}"),
        None => own,
    }
}

/// The expression with the white space at its end required.
fn with_space(pattern: String) -> String {
    match pattern.strip_suffix("\\s*") {
        Some(start) => format!("{start}\\s+"),
        None => pattern,
    }
}
