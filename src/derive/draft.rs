//! Writing a response template from findings.

mod body;
mod closing;
mod opening;

use crate::analysis::markers::{self, is_distinctive};
use crate::analysis::{CallBody, Findings, Slot, dedup, slotted};
use crate::value::{Object, Value};

use super::DeriveOptions;
use super::choices::{Choices, ContentPlace, ThinkingEnd, ThinkingOpen};
use super::regex::{any_of, exact, loose};
use closing::split_close;

/// A response template for findings, with some choices made.
pub(super) fn draft(
    findings: &Findings,
    cut_markers: &[(String, String)],
    choices: &Choices,
    options: &DeriveOptions,
) -> Value {
    let split = choices.split_objects.then(|| split_objects(findings));
    let findings = split.as_ref().unwrap_or(findings);
    let drafter = Drafter {
        findings,
        cut_markers,
        choices,
        options,
    };
    let mut template = Object::new();
    template.insert("version", 1);
    template.insert("defaults", Object::from_iter([("role", "assistant")]));
    let headers = &findings.turn.headers;
    match headers.as_slice() {
        // Nothing of the prompt belongs to the turn.
        [] => template.insert("start_anchor_pattern", "\\Z"),
        [one] => template.insert("start_anchor", one.as_str()),
        several => template.insert("start_anchor", texts(several)),
    };
    let mut fields = Object::new();
    if let Some(thinking) = drafter.thinking() {
        fields.insert(options.reasoning_field.as_str(), thinking);
    }
    if let Some(calls) = drafter.calls() {
        fields.insert("tool_calls", calls);
    }
    fields.insert("content", drafter.content());
    template.insert("fields", fields);
    template.into()
}

/// The findings as if what stands around the arguments in a call's JSON were markers.
fn split_objects(findings: &Findings) -> Findings {
    let mut split = findings.clone();
    let Some(shape) = &mut split.calls else {
        return split;
    };
    if let CallBody::Object(keys, dialect) = &shape.body
        && let ([name], [arguments], 2) = (
            keys.name.as_slice(),
            keys.arguments.as_slice(),
            keys.all.len(),
        )
        && keys.all.first() == Some(name)
        && dialect.is_json()
    {
        shape.open.extend([
            Slot::Text(format!("{{\"{name}\": \"")),
            Slot::Name,
            Slot::Text(format!("\", \"{arguments}\": ")),
        ]);
        shape.close.insert(0, Slot::Text("}".to_owned()));
        shape.body = CallBody::Arguments(dialect.clone());
    }
    split
}

fn texts(texts: &[String]) -> Vec<Value> {
    texts.iter().map(|text| text.as_str().into()).collect()
}

/// One literal as itself, several as a list.
fn literals(literals: &[String]) -> Value {
    match literals {
        [one] => one.as_str().into(),
        several => texts(several).into(),
    }
}

struct Drafter<'a> {
    findings: &'a Findings,
    /// Markers, and what is left of them where a prompt ends like they begin.
    cut_markers: &'a [(String, String)],
    choices: &'a Choices,
    options: &'a DeriveOptions,
}

impl Drafter<'_> {
    fn thinking(&self) -> Option<Object> {
        let shape = self.findings.reasoning.as_ref()?;
        let close = shape.close.trim();
        let mut field = Object::new();
        match (
            self.choices.thinking_open,
            shape.open.as_deref().map(str::trim),
        ) {
            (ThinkingOpen::Marker, Some(open)) => {
                self.open(&mut field, &[open.to_owned()]);
            }
            (ThinkingOpen::MarkerIfClosed, Some(open)) => {
                // The white space makes it as long as what would skip the marker.
                let pattern = format!("{}\\s*(?=.*?{})", exact(open), exact(close));
                field.insert("open_pattern", pattern);
            }
            _ => {
                field.insert("open_pattern", format!("\\A(?=.*?{})", exact(close)));
            }
        }
        let mut closers = vec![close.to_owned()];
        if self.choices.thinking_end != ThinkingEnd::Marker {
            closers.extend(self.turn_ends());
        }
        let ahead = match self.choices.thinking_end {
            ThinkingEnd::Marker | ThinkingEnd::OrTurn => Vec::new(),
            ThinkingEnd::OrCall | ThinkingEnd::OrCallUnlessClosed => self.call_heads(),
        };
        let ahead = (!ahead.is_empty()).then(|| {
            let heads: Vec<String> = ahead.iter().map(|head| exact(head)).collect();
            match self.choices.thinking_end {
                ThinkingEnd::OrCallUnlessClosed => {
                    format!("(?={}(?!.*?{}))", any_of(&heads), exact(close))
                }
                _ => format!("(?={})", any_of(&heads)),
            }
        });
        self.close(&mut field, &closers, ahead);
        Some(field)
    }

    /// Puts in what closes a region: literals where they do, a pattern where white space has to go
    /// with them or something is to be looked for ahead.
    fn close(&self, field: &mut Object, closers: &[String], ahead: Option<String>) {
        let mut closers = closers.to_vec();
        dedup(&mut closers);
        let has_slots = closers
            .iter()
            .any(|closer| closer.contains(markers::is_slot));
        if self.choices.content == ContentPlace::Marked && ahead.is_none() && !has_slots {
            if !closers.is_empty() {
                field.insert("close", literals(&closers));
            }
            return;
        }
        let space = match self.choices.content {
            ContentPlace::Leftover => "\\s*",
            ContentPlace::Marked => "",
        };
        let mut alternatives = Vec::new();
        if !closers.is_empty() {
            let loose: Vec<String> = longest_first(&closers).iter().map(|c| loose(c)).collect();
            alternatives.push(format!("{}{space}", any_of(&loose)));
        }
        alternatives.extend(ahead);
        if !alternatives.is_empty() {
            field.insert("close_pattern", alternatives.join("|"));
        }
    }

    fn content(&self) -> Object {
        let mut field = Object::new();
        let shape = &self.findings.content;
        if let (ContentPlace::Marked, Some(open)) = (self.choices.content, &shape.open) {
            if is_distinctive(open) {
                let mut opens = vec![open.trim().to_owned()];
                opens.extend(self.sisters(open.trim()));
                self.open(&mut field, &opens);
            } else {
                field.insert(
                    "open_pattern",
                    format!("{}{}", self.part_start(), exact(open)),
                );
            }
            let mut closers = shape.close.clone();
            closers.extend(self.turn_ends());
            let ahead = self
                .choices
                .calls_close_content
                .then(|| self.calls_ahead())
                .flatten();
            self.close(&mut field, &closers, ahead);
        } else {
            let skipped = self.skipped();
            let broken: Vec<String> = skipped
                .iter()
                .flat_map(|marker| self.broken(marker))
                .collect();
            let broken = (!broken.is_empty()).then(|| format!("{}\\s*", any_of(&broken)));
            self.close(&mut field, &skipped, broken);
        }
        field
    }

    /// Where a part of the turn may begin that nothing clear opens: at its start, or after what
    /// separates parts.
    fn part_start(&self) -> String {
        let separator = self
            .findings
            .calls
            .as_ref()
            .map_or("", |shape| shape.separator.as_str());
        match is_distinctive(separator) {
            true => format!("(?:\\A\\s*|{})", loose(separator)),
            false => "\\A\\s*".to_owned(),
        }
    }

    /// The place before a call.
    fn calls_ahead(&self) -> Option<String> {
        let shape = self.findings.calls.as_ref()?;
        let heads: Vec<String> = match self.call_heads() {
            heads if heads.is_empty() && is_distinctive(&shape.separator) => {
                vec![exact(shape.separator.trim())]
            }
            heads => heads.iter().map(|head| exact(head)).collect(),
        };
        (!heads.is_empty()).then(|| format!("(?={})", any_of(&heads)))
    }

    /// Other texts that open content as well: where a marker names what follows, and calls name
    /// something that is neither content nor reasoning.
    fn sisters(&self, open: &str) -> Vec<String> {
        let pieces = markers::pieces(open);
        let (Some(calls), [marker, word, rest @ ..]) = (&self.findings.calls, pieces.as_slice())
        else {
            return Vec::new();
        };
        if !markers::is_marker(marker)
            || !word.chars().all(char::is_alphanumeric)
            || rest.is_empty()
        {
            return Vec::new();
        }
        let mut sisters = Vec::new();
        for slot in &calls.open {
            let Slot::Text(text) = slot else { continue };
            let pieces = markers::pieces(text);
            for pair in pieces.windows(2) {
                let other = pair[1];
                if pair[0] == *marker && other != *word && other.chars().all(char::is_alphanumeric)
                {
                    sisters.push(format!("{marker}{other}{}", rest.concat()));
                }
            }
        }
        let thinking = self
            .findings
            .reasoning
            .as_ref()
            .and_then(|shape| shape.open.as_deref());
        sisters.retain(|sister| thinking.map(str::trim) != Some(sister.as_str()));
        sisters
    }

    /// The markers that stand between fields and belong to none. What is nothing else ends with
    /// each of them, and they are dropped.
    fn skipped(&self) -> Vec<String> {
        let findings = self.findings;
        let mut skipped = self.turn_ends();
        // A header of mere words may as well stand in what a model says.
        let headers = findings.turn.headers.iter();
        for header in headers.filter(|header| !markers::is_wordy(header)) {
            push(&mut skipped, header);
        }
        if let Some(shape) = &findings.reasoning {
            if !markers::is_wordy(&shape.close) {
                push(&mut skipped, &shape.close);
            }
            if self.choices.thinking_open != ThinkingOpen::Marker {
                push(&mut skipped, shape.open.as_deref().unwrap_or_default());
            }
        }
        let content = &findings.content;
        for marker in content
            .open
            .iter()
            .chain(&content.close)
            .chain(&content.beside_reasoning)
        {
            push(&mut skipped, marker);
        }
        if let Some(shape) = &findings.calls {
            for text in [&shape.section_open, &shape.section_close, &shape.separator] {
                push(&mut skipped, text);
            }
            push(&mut skipped, self.lead(shape).0);
            let close = slotted(&shape.close);
            // Also the first, which has closed a call when it comes: some models write it twice.
            let (first, rest) = split_close(&close);
            push(&mut skipped, first);
            push(&mut skipped, rest);
        }
        dedup(&mut skipped);
        let opens = findings
            .calls
            .as_ref()
            .and_then(|shape| self.literal_open(shape));
        skipped.retain(|marker| opens.as_deref() != Some(marker.as_str()));
        skipped
    }

    fn turn_ends(&self) -> Vec<String> {
        let ends = self
            .findings
            .turn
            .ends
            .iter()
            .map(|end| end.trim().to_owned());
        ends.filter(|end| end.chars().count() > 1).collect()
    }

    /// Puts in what opens a region: a literal, or an expression if some prompt may have taken the
    /// beginning of it.
    fn open(&self, field: &mut Object, markers: &[String]) {
        let broken: Vec<String> = markers
            .iter()
            .flat_map(|marker| self.broken(marker))
            .collect();
        if broken.is_empty() {
            field.insert("open", literals(markers));
            return;
        }
        let mut all: Vec<String> = markers.iter().map(|marker| exact(marker)).collect();
        all.extend(broken);
        field.insert("open_pattern", any_of(&all));
    }

    /// What may be left of a marker where a prompt ends like it begins, as expressions: it is only
    /// known at the start of the turn, and where reasoning has just been closed.
    fn broken(&self, marker: &str) -> Vec<String> {
        if !self.choices.broken_markers {
            return Vec::new();
        }
        let close = self
            .findings
            .reasoning
            .as_ref()
            .map(|shape| exact(shape.close.trim()));
        let behind = match close {
            Some(close) => format!("(?<=(?:\\A|{close})\\s*)"),
            None => "(?<=\\A\\s*)".to_owned(),
        };
        let cut = self.cut_markers.iter();
        let rests = cut.filter_map(|(whole, rest)| {
            let after = marker.strip_prefix(whole.as_str())?;
            Some(format!("{behind}{}", loose(&format!("{rest}{after}"))))
        });
        rests.collect()
    }
}

/// Adds the markers of a text, or the text itself if it is not markers alone, unless it could as
/// well be prose or JSON.
fn push(into: &mut Vec<String>, text: &str) {
    let units = markers::units(text)
        .into_iter()
        .filter(|unit| is_distinctive(unit));
    into.extend(units.map(str::to_owned));
}

fn longest_first(texts: &[String]) -> Vec<String> {
    let mut sorted = texts.to_vec();
    sorted.sort_by_key(|text| std::cmp::Reverse(text.len()));
    sorted
}
