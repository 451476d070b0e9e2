//! The expression that opens a call.

use crate::analysis::lexicon::unmarked;
use crate::analysis::markers::{self, is_distinctive};
use crate::analysis::{CallBody, CallShape, Slot};
use crate::derive::regex::{any_of, char_between, char_until, exact, loose};

use super::call_texts::{json_call_start, opens_clearly, split_at_id, split_close, split_lead};
use super::drafter::Drafter;

impl Drafter<'_> {
    /// The expression that opens a call whose name stands in it, or that nothing clear opens.
    pub(super) fn open_pattern(&self, shape: &CallShape) -> String {
        let (lead, rest) = split_lead(shape);
        let mut slots = shape.open.clone();
        if let Some(Slot::Text(text)) = slots.first_mut() {
            rest.clone_into(text);
        }
        let lead_is_skipped = !lead.is_empty();
        let own = self.slots_pattern(&slots, true);
        if lead_is_skipped || opens_clearly(shape) {
            return match self.choices.optional_lead {
                true => with_optional_lead(rest, own),
                false => own,
            };
        }
        self.chained(shape, &slots)
    }

    /// The expression for slots in a row, with groups for name and id if they are to be captured.
    pub(super) fn slots_pattern(&self, slots: &[Slot], named: bool) -> String {
        let last_name = slots.iter().rposition(|slot| *slot == Slot::Name);
        // Where calls are numbered, name and number make an id together.
        let numbered = named && self.options.ids && !slots.contains(&Slot::Id);
        let number = last_name.and_then(|name| {
            let after = slots[name..].iter().position(|slot| *slot == Slot::Index)?;
            numbered.then_some(name + after)
        });
        let before_name = |at: usize| match at.checked_sub(1).map(|before| &slots[before]) {
            None => self.before_name(),
            // Markers may hold the same sign: in `@@end@@@name{`, the name begins behind the last.
            Some(Slot::Text(text)) if !is_distinctive(text) => vec![text.as_str()],
            Some(_) => Vec::new(),
        };
        let mut out = String::new();
        for (at, slot) in slots.iter().enumerate() {
            let next = match slots.get(at + 1) {
                Some(Slot::Text(text)) => text.as_str(),
                _ => "",
            };
            let is_name = Some(at) == last_name;
            match slot {
                Slot::Text(text) => {
                    let text = if at == 0 { text.trim_start() } else { text };
                    let after_name = at > 0 && last_name.is_some_and(|name| name < at);
                    if number.is_some() && Some(at + 1) == last_name {
                        let (marker, own) = split_at_id(text);
                        out.push_str(&format!("{}(?P<id>{}", loose(marker), loose(own)));
                    } else {
                        out.push_str(&self.between_name_and_body(text, after_name));
                    }
                }
                Slot::Name if is_name && named => {
                    if number.is_some() && at == 0 {
                        out.push_str("(?P<id>");
                    }
                    out.push_str(&format!(
                        "(?P<name>{}+)",
                        self.name_class(&before_name(at), next)
                    ));
                }
                Slot::Name => {
                    out.push_str(&format!("{}+", self.name_class(&before_name(at), next)))
                }
                Slot::Id if self.options.ids && named => {
                    out.push_str(&format!("(?P<id>{}*)", self.id_class(next)));
                }
                Slot::Id => out.push_str(&format!("{}*", self.id_class(next))),
                Slot::Index if Some(at) == number => out.push_str("\\d+)"),
                Slot::Index => out.push_str("\\d+"),
                Slot::Key => out.push_str(&format!("{}+", char_until(next))),
            }
        }
        out
    }

    /// Whether the expression that opens calls captures an id.
    pub(super) fn captures_id(&self, shape: &CallShape) -> bool {
        let has = |slot: &Slot| shape.open.contains(slot);
        let name = shape.open.iter().rposition(|slot| *slot == Slot::Name);
        let index = shape.open.iter().rposition(|slot| *slot == Slot::Index);
        self.options.ids && (has(&Slot::Id) || name.zip(index).is_some_and(|(name, at)| name < at))
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
        let shape = self.findings.calls.as_ref();
        match (
            next.trim().is_empty(),
            shape.map(|shape| (&shape.body, shape)),
        ) {
            // The body follows at once; where there are no arguments, what closes the call.
            (true, Some((CallBody::Tagged(tagged), shape))) => {
                let close = shape.close_text();
                char_between(before, &[&tagged.open, split_close(&close).0])
            }
            (true, _) => char_between(before, &["{", "<"]),
            // Only its name tells a call: it is no part of what stands before it, in quotes or in brackets.
            (false, Some((_, shape))) if !opens_clearly(shape) => {
                char_between(before, &[next, "\"", "'", "(", ")", "]", "}"])
            }
            (false, _) => char_between(before, &[next]),
        }
    }

    /// What may stand right before a name that an expression begins with. A match is the leftmost:
    /// it would begin in these texts, and in the word before them.
    fn before_name(&self) -> Vec<&str> {
        let Some(shape) = &self.findings.calls else {
            return Vec::new();
        };
        let is_anchored = !shape.separator.trim().is_empty() && !opens_clearly(shape);
        match is_anchored {
            // A marker before the calls may begin as what opens them does.
            true => vec![shape.section_open.as_str()],
            false => vec![shape.section_open.as_str(), shape.separator.as_str()],
        }
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
    pub(super) fn begins_anywhere(&self, shape: &CallShape) -> bool {
        let is_keyed = match shape.body {
            CallBody::Object(..) | CallBody::Array(..) => true,
            CallBody::Arguments(_) => !shape.first_text().trim().is_empty(),
            CallBody::Tagged(_) => {
                !shape.first_text().trim().is_empty() && arguments_ahead(shape).is_some()
            }
            CallBody::Python(_) => false,
        };
        shape.section_open.trim().is_empty() && self.choices.calls_anywhere && is_keyed
    }

    /// The expression for calls that nothing clear opens: the first is known by what opens them
    /// all, or by the start of the turn, and the next by standing behind it.
    fn chained(&self, shape: &CallShape, slots: &[Slot]) -> String {
        let section = shape.section_open.trim();
        let own = match (&shape.body, slots.is_empty()) {
            (CallBody::Object(keys, _) | CallBody::Array(keys, _), _) => {
                format!(
                    "{}(?={})",
                    self.slots_pattern(slots, true),
                    json_call_start(&shape.body, keys)
                )
            }
            (CallBody::Arguments(_), _) => format!("{}(?=\\{{)", self.slots_pattern(slots, true)),
            _ if self.begins_anywhere(shape) => {
                let ahead = arguments_ahead(shape).unwrap_or_default();
                format!("{}{ahead}", self.slots_pattern(slots, true))
            }
            _ => self.slots_pattern(slots, true),
        };
        let start = match section {
            _ if self.begins_anywhere(shape) => return own,
            "" => self.turn_start(),
            _ => format!("{}\\s*", loose(section)),
        };
        if !shape.several || matches!(shape.body, CallBody::Array(..)) {
            return format!("{start}{own}");
        }
        let separator = loose(&shape.separator);
        // That all calls have been opened is looked up last, since it goes back through the whole text: only
        // where a call seems to begin.
        let (next, behind) = match (is_distinctive(&shape.separator), section.is_empty()) {
            (true, _) => (separator, String::new()),
            (false, true) => (format!("(?<=[}})]){separator}"), String::new()),
            (false, false) => (separator, format!("(?<={}.*?)", loose(section))),
        };
        // A call that is opened by nothing at all must not begin where another just has.
        let is_space = !shape.separator.is_empty() && shape.separator.trim().is_empty();
        let next = match slots.is_empty() && is_space {
            true => next.replace("\\s*", "\\s+"),
            false => next,
        };
        format!("(?:{start}|{next}){own}{behind}")
    }
}

/// The place before arguments between markers, or before what closes a call that has none; `None` if both
/// could as well be prose.
fn arguments_ahead(shape: &CallShape) -> Option<String> {
    let CallBody::Tagged(tagged) = &shape.body else {
        return None;
    };
    let close = shape.close_text();
    let texts = [tagged.open.as_str(), &close].into_iter();
    let texts: Vec<String> = texts
        .filter(|text| !text.trim().is_empty())
        .map(exact)
        .collect();
    (!texts.is_empty()).then(|| format!("(?={})", any_of(&texts)))
}

/// The expression, which begins with a marker, also without it if another one follows.
fn with_optional_lead(text: &str, own: String) -> String {
    let text = text.trim_start();
    let first = markers::pieces(text).into_iter().next().unwrap_or_default();
    if !markers::is_marker(first) || markers::markers(text).count() < 2 {
        return own;
    }
    let lead = loose(first);
    match own.strip_prefix(lead.as_str()) {
        Some(rest) => format!("(?:{lead})?{rest}"),
        None => own,
    }
}
