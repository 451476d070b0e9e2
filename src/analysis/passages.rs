//! Lining up whole conversations: what stands between the slots of all messages.
//!
//! Conversations of every kind are rendered, each text in them a word that occurs nowhere else. What stands
//! between two words is a passage from one slot to another. Passages that were seen make a
//! [`ConversationFormat`](crate::format::ConversationFormat), whichever conversation showed them.

use crate::format::{
    ConversationSlot, Definitions, Entry, FoundSlot, Node, Passage, Piece, Slot, Wording,
};
use crate::value::Value;

use super::call_probe::CallWords;
use super::conversations::{LabeledConversation, shapes};
use super::definitions;
use super::infer_format::calls_at;
use super::turn_prober::{ThinkingMode, TurnProber};

/// A slot in a rendering.
#[derive(Debug, Clone, Copy)]
struct Found {
    slot: ConversationSlot,
    /// The number of the message, if it is one.
    message: Option<usize>,
    start: usize,
    end: usize,
}

/// The rows of a template's conversations.
pub(super) struct PassageFinder<'a, 't> {
    prober: &'a mut TurnProber<'t>,
    words: CallWords,
    /// Definitions that are no values, and how many they are.
    tool_texts: Vec<(usize, String)>,
    found: Passages,
}

/// What rows have shown.
#[derive(Debug, Default)]
pub(super) struct Passages {
    pub(super) passages: Vec<Passage>,
    /// The calls, which may have ids.
    pub(super) calls: Option<Node>,
    /// How definitions of tools are written, if they are values.
    pub(super) definitions: Option<Definitions>,
    /// How they are written if they are none.
    pub(super) wording: Option<Wording>,
}

impl PassageFinder<'_, '_> {
    /// Looks at conversations of every kind.
    pub(super) fn of(
        prober: &mut TurnProber<'_>,
        words: CallWords,
        calls: Option<Node>,
    ) -> Passages {
        let mut rows = PassageFinder {
            prober,
            words,
            tool_texts: Vec::new(),
            found: Passages {
                calls,
                ..Passages::default()
            },
        };
        rows.add_all();
        let mut found = rows.found;
        found.passages = with_indices(found.passages);
        found
    }

    fn script(&self, shape: &str) -> LabeledConversation {
        LabeledConversation::of(self.prober, &self.words, shape)
    }

    /// A question, behind a system's text where only that shows the tools that are offered.
    fn question(&self) -> LabeledConversation {
        let shows_tools = |question: &LabeledConversation| {
            let text = self.prober.plain(&question.messages);
            text.is_some_and(|text| self.holds_tool_words(&text))
        };
        // `{% if m.role == 'system' and tools %}`: a question alone shows no tools there.
        let (plain, with_system) = (self.script("u"), self.script("su"));
        match !shows_tools(&plain) && shows_tools(&with_system) {
            true => with_system,
            false => plain,
        }
    }

    /// Finds out how definitions of tools are written.
    fn find_definitions(&mut self, tools: &[Value]) {
        let question = self.question();
        let calls = self.found.calls.as_ref();
        self.found.definitions = definitions::values(self.prober, &question, calls);
        if self.found.definitions.is_some() {
            let offered = self.prober.tools().to_vec();
            // Two tools: what stands between them may hold words as well.
            self.prober.offer(tools.to_vec());
            if !self.are_all(&question) {
                self.found.wording = definitions::wording(self.prober, &question, &self.words);
            }
            // ``Use `f` to find:`` and then JSON: the words read the JSON, too, and the JSON does not read the words.
            if self.found.wording.is_some() {
                self.found.definitions = None;
            }
            self.prober.offer(offered);
        }
    }

    /// Whether definitions that are values are all that a template writes of tools: names and descriptions may also
    /// stand apart from them, and descriptions may be changed.
    fn are_all(&self, question: &LabeledConversation) -> bool {
        let Some(text) = self.prober.plain(&question.messages) else {
            return true;
        };
        let Some(row) = self.slots_in_order(&text, question, None) else {
            return false;
        };
        let mut at = 0;
        let mut values = row.iter();
        let are_plain =
            values.all(|found| {
                let gap = &text[at..found.start];
                at = found.end;
                let names = self.words.names.iter();
                let names: usize = names.map(|name| gap.matches(name.as_str()).count()).sum();
                let value = &text[found.start..found.end];
                let is_described = definitions::hold_descriptions(gap, self.prober.tools());
                // A value may stand behind its name: `## f`, then `{"parameters": ...}`. What is named twice is told
                // in words.
                names <= usize::from(found.slot == ConversationSlot::Tool)
                    && !is_described
                    && self.found.definitions.as_ref().is_none_or(|form| {
                        definitions::are_described(value, form, self.prober.tools())
                    })
            });
        are_plain && !self.holds_tool_words(&text[at..])
    }

    /// Takes calls to have ids where they have been answered, if they are not understood otherwise.
    fn find_ids(&mut self) {
        let Some(calls) = self.found.calls.clone() else {
            return;
        };
        let script = self.script("uko");
        let Some(text) = self.prober.plain(&script.messages) else {
            return;
        };
        if self.slots_in_order(&text, &script, None).is_none() {
            // The tree was made of calls that nobody answers. An answer may be what makes a template write `"id":
            // "1"`.
            self.found.calls = Some(Node::choice(vec![with_id(calls.clone()), calls.clone()]));
            if self.slots_in_order(&text, &script, None).is_none() {
                self.found.calls = Some(calls);
            }
        }
    }

    fn add_all(&mut self) {
        // Without a switch, all modes are the same conversation.
        let modes: &[ThinkingMode] = match self.prober.switches.is_empty() {
            true => &[ThinkingMode::Unset],
            false => &ThinkingMode::ALL,
        };
        let tools = self.words.tools();
        // Without tools their section may be left out, or hold a word such as `none`; two show what stands between
        // them.
        for offered in [0, 1, 2] {
            self.prober.offer(tools[..offered].to_vec());
            if offered == 1 {
                self.find_definitions(&tools);
                self.find_ids();
            }
            for shape in shapes(offered > 0) {
                // One tool is enough to see how it stands alone.
                if offered == 1 && shape.len() > 2 {
                    continue;
                }
                // Where no system speaks, a template may have a text of its own.
                for system in ["", "s"] {
                    for &mode in modes {
                        // A prompt may begin more than a turn that is written out, such as `<think>`.
                        for is_prompt in [false, true] {
                            self.add(&format!("{system}{shape}"), mode, is_prompt);
                        }
                    }
                }
            }
        }
        // This takes long, and nothing else needs it.
        if self.found.definitions.is_none() && self.found.wording.is_none() {
            let question = self.question();
            self.found.wording = definitions::wording(self.prober, &question, &self.words);
        }
    }

    /// Adds the passages of a conversation, as far as it is understood.
    fn add(&mut self, shape: &str, mode: ThinkingMode, is_prompt: bool) {
        let script = self.script(shape);
        let messages = script.messages.clone();
        // Some refuse two answers in a row: then there is no such passage to be read either.
        let Ok(text) = self.prober.conversation(messages, mode, is_prompt) else {
            return;
        };
        let is_opaque = !self.prober.tools().is_empty() && self.found.definitions.is_none();
        let definitions = match is_opaque {
            true => self.tool_text(&text, &script, mode, is_prompt),
            false => None,
        };
        let Some(found) = self.slots_in_order(&text, &script, definitions) else {
            return;
        };
        let mut before: Option<Found> = None;
        let mut last = None;
        for slot in found.iter().map(Some).chain([None]) {
            let start = before.map_or(0, |before| before.end);
            let end = slot.map_or(text.len(), |slot| slot.start);
            let is_within = match (&before, slot) {
                (Some(before), Some(slot)) => {
                    before.message.is_some() && before.message == slot.message
                }
                _ => false,
            };
            let answers = |found: Option<&Found>| {
                let message = &script.messages[found?.message?];
                message.get("tool_call_id")?.as_str().map(str::to_owned)
            };
            let ids = (answers(before.as_ref()), answers(slot));
            let pieces = self.pieces(&text[start..end], ids);
            let number = |found: Option<&Found>| found.and_then(|found| found.message);
            let next = match slot {
                Some(slot) => slot.message,
                None => Some(script.messages.len()),
            };
            last = number(before.as_ref()).or(last);
            // A turn of which nothing comes out, as one with a call alone may, has left no slot between these two.
            let skips = matches!((last, next), (Some(last), Some(next)) if next > last + 1);
            let passage = pieces.map(|pieces| Passage {
                from: before.map(|before| before.slot),
                to: slot.map(|slot| slot.slot),
                pieces,
                is_within,
                skips,
                is_prompt: is_prompt && slot.is_none(),
            });
            if let Some(passage) = passage.filter(|passage| !self.found.passages.contains(passage))
            {
                self.found.passages.push(passage);
            }
            before = slot.copied();
        }
    }

    /// Where definitions of tools stand that are no values.
    fn tool_text(
        &mut self,
        text: &str,
        script: &LabeledConversation,
        mode: ThinkingMode,
        is_prompt: bool,
    ) -> Option<(usize, usize)> {
        // The same tools are written alike everywhere.
        let offered = self.prober.tools().len();
        for (_, known) in self.tool_texts.iter().filter(|(of, _)| *of == offered) {
            let mut places = text.match_indices(known.as_str());
            // Tools may be written with every question. Which of two places is meant, a text does not tell.
            if let (Some((at, _)), None) = (places.next(), places.next()) {
                return Some((at, at + known.len()));
            }
        }
        let words = &self.words;
        let (start, end) =
            definitions::tool_text(self.prober, words, (text, script), (mode, is_prompt))?;
        self.tool_texts.push((offered, text[start..end].to_owned()));
        Some((start, end))
    }

    /// The slots of a rendering, in the order of the text. `None` if not all is understood.
    fn slots_in_order(
        &self,
        text: &str,
        script: &LabeledConversation,
        definitions: Option<(usize, usize)>,
    ) -> Option<Vec<Found>> {
        let mut texts = said(text, script)?;
        texts.extend(definitions.map(|(start, end)| Found {
            slot: ConversationSlot::ToolText,
            message: None,
            start,
            end,
        }));
        texts.sort_by_key(|found| found.start);
        let mut calls = script.calls.iter();
        let mut row = Vec::new();
        let mut at = 0;
        for next in texts.iter().map(Some).chain([None]) {
            let end = next.map_or(text.len(), |next| next.start);
            if end < at {
                // What is taken for definitions reaches over a message: tools are written more than once.
                return None;
            }
            while self.holds_tool_words(&text[at..end]) {
                let gap = &text[at..end];
                let known = self.found.definitions.as_ref();
                let tools = self.prober.tools();
                let found = known.and_then(|known| definitions::values_in(gap, at, known, tools));
                if let Some(found) = found {
                    at = found.last()?.1.end;
                    row.extend(found.into_iter().map(|(slot, range)| Found {
                        slot,
                        message: None,
                        start: range.start,
                        end: range.end,
                    }));
                    continue;
                }
                if !script.values().any(|value| gap.contains(value)) {
                    // The name of a tool that answers.
                    break;
                }
                let (number, count) = *calls.next()?;
                // Some templates write only the first of several.
                let mut counts = (1..=count).rev();
                let (start, length) = counts.find_map(|count| self.calls_in(gap, script, count))?;
                row.push(Found {
                    slot: ConversationSlot::Calls,
                    message: Some(number),
                    start: at + start,
                    end: at + start + length,
                });
                at += start + length;
            }
            if let Some(next) = next {
                row.push(*next);
                at = next.end;
            }
        }
        Some(row)
    }

    fn holds_tool_words(&self, text: &str) -> bool {
        let (names, keys) = (self.words.names.iter(), self.words.keys.iter());
        names.chain(keys).any(|word| text.contains(word.as_str()))
    }

    /// Where so many calls stand in a text.
    fn calls_in(
        &self,
        text: &str,
        script: &LabeledConversation,
        count: usize,
    ) -> Option<(usize, usize)> {
        let calls = self.found.calls.as_ref()?;
        let names = self.words.names.iter().chain(&self.words.keys);
        let first = names.filter_map(|word| text.find(word.as_str())).min()?;
        let (start, end, slots) = calls_at(calls, self.prober, text, first, |end| {
            let values = script.values().filter(|value| text[..end].contains(value));
            values.count() >= count
        })?;
        let found = slots
            .iter()
            .filter_map(|slot: &FoundSlot<'_>| slot.call)
            .max()?;
        // A reading of fewer calls has words of the others in its arguments, as raw values allow.
        (found + 1 == count).then_some((start, end - start))
    }

    /// The pieces of what stands between two slots. `None` if it has words in it that are not
    /// understood.
    fn pieces(
        &self,
        text: &str,
        (before, after): (Option<String>, Option<String>),
    ) -> Option<Vec<Piece>> {
        let mut pieces = Vec::new();
        let names = &self.words.names;
        let mut words = Vec::new();
        words.extend(
            before
                .filter(|id| after.as_ref() != Some(id))
                .map(|id| (id, Piece::IdBefore)),
        );
        words.extend(after.map(|id| (id, Piece::Id)));
        words.extend(names.iter().map(|name| (name.clone(), Piece::Name)));
        let mut rest = text;
        loop {
            let found = words
                .iter()
                .filter_map(|(word, piece)| Some((rest.find(word.as_str())?, word.len(), piece)));
            // An id may have a name in it.
            let Some((at, length, piece)) =
                found.min_by_key(|(at, length, _)| (*at, usize::MAX - length))
            else {
                break;
            };
            if at > 0 {
                pieces.push(Piece::Text(rest[..at].to_owned()));
            }
            pieces.push(piece.clone());
            rest = &rest[at + length..];
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        // A word in a passage stands for something that no slot holds: the next conversation has another one there.
        let texts = pieces.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text),
            _ => None,
        });
        let mut texts = texts;
        (!texts.any(|text| self.prober.holds_words(text))).then_some(pieces)
    }
}

/// What is said in a text, but for calls. `None` if something is said twice.
fn said(text: &str, script: &LabeledConversation) -> Option<Vec<Found>> {
    let mut found = Vec::new();
    let words = script.words.iter();
    for (word, slot, number) in words.filter(|word| word.1 != ConversationSlot::Calls) {
        let mut places = text.match_indices(word.as_str());
        let Some((start, _)) = places.next() else {
            continue;
        };
        // A question that is repeated in the last turn has two places, and a text that is read has one slot for it.
        if places.next().is_some() {
            return None;
        }
        found.push(Found {
            slot: *slot,
            message: Some(*number),
            start,
            end: start + word.len(),
        });
    }
    Some(found)
}

/// Calls that are objects, with an id as the last entry of each.
fn with_id(mut calls: Node) -> Node {
    calls.visit_mut(&mut |node| {
        let Node::Call(call) = node else { return };
        let parts = match &mut **call {
            Node::Sequence(parts) => parts.as_mut_slice(),
            part => std::slice::from_mut(part),
        };
        for part in parts {
            if let Node::Object(entries, dialect) = part {
                let id = Box::new(Node::Slot(Slot::Id));
                entries.push(Entry {
                    key: "id".to_owned(),
                    value: Node::JsonString(id, dialect.clone()),
                });
            }
        }
    });
    calls
}

/// Passages that differ in nothing but numbers become one, in which these count.
fn with_indices(passages: Vec<Passage>) -> Vec<Passage> {
    let mut groups: Vec<(Vec<Piece>, Vec<Passage>)> = Vec::new();
    for mut passage in passages {
        let runs = passage.pieces.iter().flat_map(|piece| match piece {
            Piece::Text(text) => runs_of_digits(text),
            other => vec![other.clone()],
        });
        let runs: Vec<Piece> = runs.collect();
        let is_number = |piece: &Piece| matches!(piece, Piece::Text(text) if is_number(text));
        // `<turn 1>` and `<turn 2>` are one passage, in which the number counts.
        let skeleton = runs.iter().map(|piece| match is_number(piece) {
            true => Piece::Index,
            false => piece.clone(),
        });
        let skeleton: Vec<Piece> = skeleton.collect();
        passage.pieces = runs;
        let is_same = |other: &Passage| {
            let mut other = other.clone();
            other.pieces = passage.pieces.clone();
            other == passage
        };
        let group = groups
            .iter_mut()
            .find(|(known, group)| *known == skeleton && group.first().is_some_and(is_same));
        match group {
            Some((_, group)) => group.push(passage),
            None => groups.push((skeleton, vec![passage])),
        }
    }
    let merged = groups.into_iter().filter_map(|(skeleton, group)| {
        let mut passage = group.first()?.clone();
        let pieces = skeleton.into_iter().enumerate().map(|(at, piece)| {
            let first = &passage.pieces[at];
            // A digit that never changes, as in `<h2>`, counts nothing.
            match group.iter().all(|other| other.pieces[at] == *first) {
                true => first.clone(),
                false => piece,
            }
        });
        passage.pieces = joined(pieces.collect());
        Some(passage)
    });
    merged.collect()
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// A text as runs of digits and what stands between them.
fn runs_of_digits(text: &str) -> Vec<Piece> {
    let mut runs = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let digits = is_number(rest);
        let end = rest.find(|c: char| c.is_ascii_digit() != digits);
        let (run, after) = rest.split_at(end.unwrap_or(rest.len()));
        runs.push(Piece::Text(run.to_owned()));
        rest = after;
    }
    runs
}

/// Pieces of which texts that follow each other are one.
fn joined(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut all: Vec<Piece> = Vec::new();
    for piece in pieces {
        match (all.last_mut(), piece) {
            (Some(Piece::Text(before)), Piece::Text(text)) => before.push_str(&text),
            (_, piece) => all.push(piece),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Dialect;

    fn passage(text: &str, to: ConversationSlot) -> Passage {
        Passage {
            from: Some(ConversationSlot::User),
            to: Some(to),
            pieces: vec![Piece::Text(text.to_owned())],
            is_within: false,
            skips: false,
            is_prompt: false,
        }
    }

    #[test]
    fn passages_that_differ_in_numbers_only_are_one_in_which_these_count() {
        use ConversationSlot::{Content, Result};
        for (passages, expected) in [
            (
                vec![("<turn 1>", Content), ("<turn 2>", Content)],
                &["`<turn ` INDEX `>`"][..],
            ),
            (
                vec![("<turn 9>", Content), ("<turn 10>", Content)],
                &["`<turn ` INDEX `>`"],
            ),
            // A digit that never changes counts nothing.
            (
                vec![("<h2 1>", Content), ("<h2 2>", Content)],
                &["`<h2 ` INDEX `>`"],
            ),
            (vec![("<h2>", Content)], &["`<h2>`"]),
            (
                vec![("<turn 1>", Content), ("<turn 1>", Content)],
                &["`<turn 1>`"],
            ),
            // What they lead to tells them apart, and so does any other text.
            (vec![("<1>", Content), ("<2>", Result)], &["`<1>`", "`<2>`"]),
            (
                vec![("<a 1>", Content), ("<b 2>", Content)],
                &["`<a 1>`", "`<b 2>`"],
            ),
        ] {
            let passages = passages.into_iter().map(|(text, to)| passage(text, to));
            let found = with_indices(passages.collect());
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn texts_are_cut_around_digits_and_joined_again() {
        for (text, expected) in [
            ("<turn 12>", &["<turn ", "12", ">"][..]),
            ("1a2", &["1", "a", "2"]),
            ("no", &["no"]),
            ("", &[]),
        ] {
            let runs = runs_of_digits(text);
            let texts = expected.iter().map(|run| Piece::Text((*run).to_owned()));
            assert_eq!(runs, texts.collect::<Vec<_>>(), "{text}");
            let whole = (!text.is_empty()).then(|| Piece::Text(text.to_owned()));
            assert_eq!(
                joined(runs),
                whole.into_iter().collect::<Vec<_>>(),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_said_once_has_a_slot_and_what_is_said_twice_has_none() {
        let script = LabeledConversation {
            words: vec![
                ("w1".to_owned(), ConversationSlot::User, 0),
                ("w2".to_owned(), ConversationSlot::Content, 1),
                ("w3".to_owned(), ConversationSlot::Calls, 1),
            ],
            ..LabeledConversation::default()
        };
        for (text, expected) in [
            ("<u>w1<a>w2", Some("user 3 content 8")),
            // A template may drop what was said; calls are looked for by their tree.
            ("<u>w1<a>w3", Some("user 3")),
            ("", Some("")),
            ("<u>w1<a>w2 (to w1)", None),
            ("<u>w1<a>w3w3", Some("user 3")),
        ] {
            let found = said(text, &script).map(|found| {
                let found = found.iter();
                let found = found.map(|found| format!("{} {}", found.slot.key(), found.start));
                found.collect::<Vec<_>>().join(" ")
            });
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn ids_are_the_last_entries_of_calls_that_are_objects() {
        let name = || Entry {
            key: "name".to_owned(),
            value: Node::Slot(Slot::Name),
        };
        let object = || Node::Object(vec![name()], Dialect::default());
        let tag = || Node::Literal("<do>".to_owned());
        for (call, expected) in [
            (object(), "call({name: NAME, id: string(ID)})"),
            (
                Node::Sequence(vec![tag(), object()]),
                "call(`<do>` {name: NAME, id: string(ID)})",
            ),
            (
                Node::Sequence(vec![tag(), Node::Slot(Slot::Name)]),
                "call(`<do>` NAME)",
            ),
        ] {
            let found = with_id(Node::Call(Box::new(call)));
            assert_eq!(found.to_string(), expected);
        }
        // What is no call has no id.
        assert_eq!(with_id(object()), object());
    }
}
