//! Lining up whole conversations: what stands between the slots of all messages.
//!
//! Conversations of every kind are rendered, each text in them a word that occurs nowhere else. What stands
//! between two words is a passage from one slot to another. Passages that were seen make a
//! [`ConversationFormat`], whichever conversation showed them.

use crate::chat_template::{ChatTemplate, REASONING_KEYS, RenderError, RenderInput};
use crate::format::{
    ConversationFormat, ConversationSlot, Definitions, Dialect, Entry, FoundSlot, Node, Passage,
    Piece, Repetition, Slot, Wording, unescaped,
};
use crate::json;
use crate::value::Value;

use super::analyze::analyze;
use super::assistant_turn::AssistantTurn;
use super::call_probe::CallWords;
use super::input_form::InputForm;
use super::line_up::{calls_at, line_up};
use super::markers;
use super::probe::{message, result, with};
use super::turn_prober::{ThinkingMode, TurnProber};
use super::wording;

/// What is known of how a template is to be given conversations, and how it writes them.
#[derive(Debug)]
pub(crate) struct ConversationShape {
    pub(crate) format: ConversationFormat,
    pub(crate) form: InputForm,
    /// The key of a message under which the template takes reasoning.
    pub(crate) reasoning_key: &'static str,
    /// The roles in whose messages content is given as a list of parts.
    pub(crate) in_parts: Vec<&'static str>,
    /// The variables that switch thinking.
    pub(crate) switches: Vec<String>,
    /// What all renderings have in common.
    pub(crate) base: RenderInput,
    /// What is given for tools where there are none.
    pub(crate) no_tools: Value,
    /// What is given for tools that are there and can't be read.
    pub(crate) stand_in_tools: Value,
}

impl ConversationShape {
    /// Finds out how a template writes conversations.
    pub(crate) fn of(
        template: &ChatTemplate,
        base: &RenderInput,
    ) -> Result<ConversationShape, RenderError> {
        let prepared = template.prepare();
        let mut analysis = analyze(template, &prepared, base, &[])?;
        let mut turn = line_up(&mut analysis);
        let prober = &mut analysis.prober;
        let words = CallWords::new(prober);
        let stand_in_tools = words.tools().into();
        let mut rows = Rows {
            calls: turn.calls.clone(),
            words,
            prober,
            definitions: None,
            wording: None,
            passages: Vec::new(),
        };
        rows.add_all();
        let definitions = rows.definitions.take().unwrap_or_default();
        let wording = rows.wording.take();
        turn.calls = rows.calls.take();
        let passages = with_indices(rows.passages);
        let escapes_results = escapes_results(prober);
        let ends = ends(&passages, &turn.ways);
        Ok(ConversationShape {
            format: ConversationFormat {
                turn,
                passages,
                ends,
                escapes_results,
                definitions,
                wording,
            },
            reasoning_key: reasoning_key(&analysis.prober),
            form: analysis.prober.input_form(),
            in_parts: analysis.prober.in_parts().to_vec(),
            switches: analysis.prober.switches().to_vec(),
            base: analysis.prober.base().clone(),
            no_tools: analysis.prober.no_tools().clone(),
            stand_in_tools,
        })
    }
}

/// What the assistant says in a message of a probe.
#[derive(Debug, Clone, Copy)]
struct Says {
    reasons: bool,
    speaks: bool,
    calls: usize,
}

/// A message of a probe. What tools answer follows their calls.
#[derive(Debug, Clone, Copy)]
enum Said {
    System,
    User,
    Assistant(Says),
    /// The answers to all calls of the message before.
    Results,
}

/// A probe, and the words in it.
struct Script {
    messages: Vec<Value>,
    /// The words, their slots, and the numbers of their messages.
    texts: Vec<(String, ConversationSlot, usize)>,
    /// The numbers of the messages with calls, and how many they are.
    calls: Vec<(usize, usize)>,
}

/// A slot in a rendering.
#[derive(Debug, Clone, Copy)]
struct Found {
    slot: ConversationSlot,
    /// The number of the message, if it is one.
    message: Option<usize>,
    start: usize,
    end: usize,
}

const SPEAKS: Says = Says {
    reasons: false,
    speaks: true,
    calls: 0,
};
const THINKS: Says = Says {
    reasons: true,
    ..SPEAKS
};

/// The conversations that probes are made of, without a system's text and tools.
fn conversations(with_calls: bool) -> Vec<Vec<Said>> {
    use Said::{Assistant, Results, User};
    let (speaks, thinks) = (Assistant(SPEAKS), Assistant(THINKS));
    let mut all = vec![vec![User], vec![User, User, speaks]];
    for says in [speaks, thinks] {
        all.push(vec![User, says]);
        all.push(vec![User, says, User]);
        all.push(vec![User, says, User, speaks]);
        all.push(vec![User, speaks, User, says, User, says]);
        all.push(vec![User, says, says]);
    }
    if !with_calls {
        return all;
    }
    let kinds = [
        (false, false, 1),
        (false, true, 1),
        (true, false, 1),
        (true, true, 1),
        (false, false, 2),
        (false, true, 2),
    ];
    for (reasons, speaks_too, calls) in kinds {
        let call = Assistant(Says {
            reasons,
            speaks: speaks_too,
            calls,
        });
        all.push(vec![User, call]);
        all.push(vec![User, call, Results]);
        all.push(vec![User, call, User, speaks]);
        all.push(vec![User, call, Results, User]);
        for says in [speaks, thinks] {
            all.push(vec![User, call, Results, says]);
            all.push(vec![User, call, Results, says, User, says]);
            all.push(vec![User, says, User, call, Results, call, Results, says]);
            all.push(vec![User, call, Results, call, Results, says, User, says]);
        }
    }
    all
}

/// The rows of a template's conversations.
struct Rows<'a, 't> {
    prober: &'a mut TurnProber<'t>,
    calls: Option<Node>,
    words: CallWords,
    /// How definitions of tools are written, if they are values.
    definitions: Option<Definitions>,
    /// How they are written if they are none.
    wording: Option<Wording>,
    passages: Vec<Passage>,
}

impl Rows<'_, '_> {
    /// Takes calls to have ids where they have been answered, if they are not understood otherwise.
    fn find_ids(&mut self) {
        let Some(calls) = self.calls.clone() else {
            return;
        };
        let call = Said::Assistant(Says { calls: 1, ..SPEAKS });
        let script = self.script(&[Said::User, call, Said::Results]);
        let messages = script.messages.clone();
        let text = self
            .prober
            .conversation(messages, ThinkingMode::Unset, false);
        let Ok(text) = text else {
            return;
        };
        if self.row(&text, &script, None).is_none() {
            self.calls = Some(Node::choice(vec![with_id(&calls), calls.clone()]));
            if self.row(&text, &script, None).is_none() {
                self.calls = Some(calls);
            }
        }
    }

    fn add_all(&mut self) {
        let modes: &[ThinkingMode] = match self.prober.switches().is_empty() {
            true => &[ThinkingMode::Unset],
            false => &ThinkingMode::ALL,
        };
        let tools = self.words.tools();
        for offered in [0, 1, 2] {
            self.prober.offer(tools[..offered].to_vec());
            if offered == 1 {
                self.definitions = self.find_definitions();
                if self.definitions.is_none() {
                    self.wording = self.find_wording();
                }
                self.find_ids();
            }
            for conversation in conversations(offered > 0) {
                // One tool is enough to see how it stands alone.
                if offered == 1 && conversation.len() > 2 {
                    continue;
                }
                for has_system in [false, true] {
                    let mut said = Vec::new();
                    said.extend(has_system.then_some(Said::System));
                    said.extend(&conversation);
                    for &mode in modes {
                        for is_prompt in [false, true] {
                            self.add(&said, mode, is_prompt);
                        }
                    }
                }
            }
        }
    }

    /// Adds the passages of a conversation, as far as it is understood.
    fn add(&mut self, said: &[Said], mode: ThinkingMode, is_prompt: bool) {
        let script = self.script(said);
        let messages = script.messages.clone();
        let Ok(text) = self.prober.conversation(messages, mode, is_prompt) else {
            return;
        };
        let is_opaque = !self.prober.tools().is_empty() && self.definitions.is_none();
        let definitions = match is_opaque {
            true => self.tool_text(&text, &script, mode, is_prompt),
            false => None,
        };
        let Some(found) = self.row(&text, &script, definitions) else {
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
            let skips = matches!((last, next), (Some(last), Some(next)) if next > last + 1);
            let passage = pieces.map(|pieces| Passage {
                from: before.map(|before| before.slot),
                to: slot.map(|slot| slot.slot),
                pieces,
                is_within,
                skips,
                is_prompt: is_prompt && slot.is_none(),
            });
            if let Some(passage) = passage.filter(|passage| !self.passages.contains(passage)) {
                self.passages.push(passage);
            }
            before = slot.copied();
        }
    }

    fn script(&self, said: &[Said]) -> Script {
        let mut script = Script {
            messages: Vec::new(),
            texts: Vec::new(),
            calls: Vec::new(),
        };
        let mut open_calls = 0..0;
        for said in said {
            let number = script.messages.len();
            let mut word = |slot| {
                let word = self.prober.word("said");
                script.texts.push((word.clone(), slot, number));
                word
            };
            match said {
                Said::System => {
                    let word = word(ConversationSlot::System);
                    script.messages.push(message("system", &word));
                }
                Said::User => {
                    let word = word(ConversationSlot::User);
                    script.messages.push(message("user", &word));
                }
                Said::Assistant(says) => {
                    let mut turn = AssistantTurn::default();
                    if says.reasons {
                        turn = turn.with_reasoning(&word(ConversationSlot::Reasoning));
                    }
                    if says.speaks {
                        turn = turn.with_content(&word(ConversationSlot::Content));
                    }
                    open_calls = open_calls.end..open_calls.end + says.calls;
                    if says.calls > 0 {
                        let calls = (0..says.calls).map(|which| {
                            let words = &self.words;
                            words.call(which % 2, &[(which % 2, words.string(which % 2))])
                        });
                        turn.calls = calls.collect();
                        script.calls.push((number, says.calls));
                    }
                    let message = self.prober.message(&turn);
                    let ids = open_calls
                        .clone()
                        .map(|number| self.id(number, open_calls.start));
                    script.messages.push(with_ids(message, ids));
                }
                Said::Results => {
                    for call in open_calls.clone() {
                        let which = call - open_calls.start;
                        let word = self.prober.word("said");
                        let number = script.messages.len();
                        script
                            .texts
                            .push((word.clone(), ConversationSlot::Result, number));
                        let name = &self.words.names[which % 2];
                        let id = self.id(call, open_calls.start);
                        script.messages.push(result(&id, name, &word));
                    }
                }
            }
        }
        script
    }

    /// The id of a call, by its number in the conversation and that of the first of its message.
    fn id(&self, number: usize, first: usize) -> String {
        let name = &self.words.names[(number - first) % 2];
        self.prober.id_shape().id(name, number)
    }

    /// The slots of a rendering, in the order of the text. `None` if not all is understood.
    fn row(
        &self,
        text: &str,
        script: &Script,
        definitions: Option<(usize, usize)>,
    ) -> Option<Vec<Found>> {
        let mut texts = Vec::new();
        for (word, slot, number) in &script.texts {
            let mut places = text.match_indices(word.as_str());
            let Some((start, _)) = places.next() else {
                continue;
            };
            if places.next().is_some() {
                return None;
            }
            texts.push(Found {
                slot: *slot,
                message: Some(*number),
                start,
                end: start + word.len(),
            });
        }
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
            while self.holds_tool_words(&text[at..end]) {
                let gap = &text[at..end];
                let definitions = self.definitions_in(gap, at);
                if let Some(found) = definitions {
                    at = found.last()?.end;
                    row.extend(found);
                    continue;
                }
                if !self.holds_values(gap) {
                    // The name of a tool that answers.
                    break;
                }
                let (number, count) = *calls.next()?;
                // Some templates write only the first of several.
                let mut counts = (1..=count).rev();
                let (start, length) = counts.find_map(|count| self.calls_in(gap, count))?;
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

    fn holds_values(&self, text: &str) -> bool {
        self.words
            .values
            .iter()
            .any(|word| text.contains(word.as_str()))
    }

    /// Where so many calls stand in a text.
    fn calls_in(&self, text: &str, count: usize) -> Option<(usize, usize)> {
        let calls = self.calls.as_ref()?;
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let names = self.words.names.iter().chain(&self.words.keys);
        let first = names.filter_map(|word| text.find(word.as_str())).min()?;
        let (start, end, slots) = calls_at(calls, self.prober, text, first, |end| {
            let (before, rest) = text.split_at(end);
            let cuts = rest.starts_with(is_word) && before.ends_with(is_word);
            !cuts && self.is_whole(before, count)
        })?;
        let found = slots
            .iter()
            .filter_map(|slot: &FoundSlot<'_>| slot.call)
            .max()?;
        (found + 1 == count).then_some((start, end - start))
    }

    /// Whether the values of so many calls stand in a text.
    fn is_whole(&self, text: &str, count: usize) -> bool {
        let values = self.words.values.iter();
        let found: usize = values.map(|word| text.matches(word.as_str()).count()).sum();
        found >= count
    }

    /// How definitions of tools are written, if they are values.
    fn find_definitions(&self) -> Option<Definitions> {
        let script = self.script(&[Said::User]);
        let text = self
            .prober
            .conversation(script.messages, ThinkingMode::Unset, false)
            .ok()?;
        let mut known = vec![Dialect::default(), Dialect::python()];
        if let Some(calls) = &self.calls {
            dialects(calls, &mut known);
        }
        let mut forms = known.into_iter().flat_map(|dialect| {
            [false, true].map(|has_capital_types| Definitions {
                dialect: dialect.clone(),
                has_capital_types,
            })
        });
        forms.find(|form| self.values_in(&text, 0, form).is_some())
    }

    /// How definitions of tools are written in words.
    fn find_wording(&mut self) -> Option<Wording> {
        let script = self.script(&[Said::User]);
        let messages = script.messages.clone();
        let mode = ThinkingMode::Unset;
        let text = self.prober.conversation(messages, mode, false).ok()?;
        let (start, end) = self.tool_text(&text, &script, mode, false)?;
        wording::find(
            self.prober,
            &script.messages,
            (&text[..start], &text[end..]),
        )
    }

    /// The definitions of tools in what stands between two texts.
    fn definitions_in(&self, gap: &str, offset: usize) -> Option<Vec<Found>> {
        self.values_in(gap, offset, self.definitions.as_ref()?)
    }

    /// The definitions of tools as values in a text.
    fn values_in(&self, gap: &str, offset: usize, form: &Definitions) -> Option<Vec<Found>> {
        let tools = self.prober.tools();
        let mut found = Vec::new();
        let mut from = 0;
        for (at, _) in gap.char_indices().filter(|(_, c)| "[{".contains(*c)) {
            if at < from {
                continue;
            }
            let Some((value, length)) = form.read_start(&gap[at..]) else {
                continue;
            };
            let slot = match &value {
                Value::Array(items) => {
                    let all = items.len() == tools.len();
                    let are = items
                        .iter()
                        .zip(tools)
                        .all(|(item, tool)| defines(item, tool));
                    (all && are).then_some(ConversationSlot::ToolList)
                }
                item => {
                    let tool = tools.get(found.len())?;
                    defines(item, tool).then_some(ConversationSlot::Tool)
                }
            };
            let Some(slot) = slot else {
                continue;
            };
            found.push(Found {
                slot,
                message: None,
                start: offset + at,
                end: offset + at + length,
            });
            from = at + length;
            if slot == ConversationSlot::ToolList || found.len() == tools.len() {
                return Some(found);
            }
        }
        None
    }

    /// The part of a text that is another one with other tools. What else stands there is always the same.
    fn tool_text(
        &mut self,
        text: &str,
        script: &Script,
        mode: ThinkingMode,
        is_prompt: bool,
    ) -> Option<(usize, usize)> {
        let offered = self.prober.tools().to_vec();
        let (mut start, mut end) = (text.len(), 0);
        for tools in self.words.other_tools() {
            self.prober.offer(tools);
            let other = self
                .prober
                .conversation(script.messages.clone(), mode, is_prompt);
            if let Ok(other) = other {
                let same = text.char_indices().zip(other.chars());
                let same = same.take_while(|((_, a), b)| a == b).count();
                start = start.min(
                    text.char_indices()
                        .nth(same)
                        .map_or(text.len(), |(at, _)| at),
                );
                let behind = text.chars().rev().zip(other.chars().rev());
                let behind: usize = behind
                    .take_while(|(a, b)| a == b)
                    .map(|(a, _)| a.len_utf8())
                    .sum();
                end = end.max(text.len() - behind);
            }
        }
        self.prober.offer(offered);
        // Words of probes begin alike.
        let word = text[..end].find(self.words.names[0].as_str())?;
        let start = start.min(word);
        // And what they end with may be alike, too.
        let rest = &text[end..];
        let cut = match text[..end].ends_with(char::is_alphanumeric) {
            true => rest.find(|c: char| !c.is_alphanumeric()),
            false => Some(0),
        };
        let end = end + cut.unwrap_or(rest.len());
        (start < end).then_some((start, end))
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
        let texts = pieces.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text),
            _ => None,
        });
        let mut texts = texts;
        (!texts.any(|text| self.prober.holds_words(text))).then_some(pieces)
    }
}

/// Calls that are objects, with an id as the last entry of each.
fn with_id(node: &Node) -> Node {
    let all = |nodes: &[Node]| nodes.iter().map(with_id).collect();
    let each = |repetition: &Repetition| {
        let mut repetition = repetition.clone();
        repetition.item = with_id(&repetition.item);
        Box::new(repetition)
    };
    match node {
        Node::Object(entries, dialect) => {
            let id = Node::Slot(Slot::Id);
            let mut entries = entries.clone();
            entries.push(Entry {
                key: "id".to_owned(),
                value: Node::JsonString(Box::new(id), dialect.clone()),
            });
            Node::Object(entries, dialect.clone())
        }
        Node::Sequence(nodes) => Node::Sequence(all(nodes)),
        Node::Choice(nodes) => Node::Choice(all(nodes)),
        Node::Repetition(repetition) => Node::Repetition(each(repetition)),
        Node::Array(repetition) => Node::Array(each(repetition)),
        Node::Call(node) => Node::Call(Box::new(with_id(node))),
        other => other.clone(),
    }
}

/// A message with these ids for its calls.
fn with_ids(mut message: Value, ids: impl Iterator<Item = String>) -> Value {
    let calls = message
        .as_object_mut()
        .and_then(|message| message.get_mut("tool_calls")?.as_array_mut());
    for (call, id) in calls.into_iter().flatten().zip(ids) {
        *call = with(std::mem::take(call), "id", id);
    }
    message
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

/// Whether a value is the definition of a tool, or what stands in it under `function`, or that without the
/// name, which then stands before it; and what else the template writes.
fn defines(value: &Value, tool: &Value) -> bool {
    let function = |value: &Value| value.get("function").unwrap_or(value).clone();
    let (value, tool) = (function(value), function(tool));
    let is_named = match value.get("name") {
        None => value.get("parameters").is_some(),
        name => name == tool.get("name"),
    };
    is_named && value.get("parameters") == tool.get("parameters")
}

/// The dialects in which calls have values.
fn dialects(node: &Node, found: &mut Vec<Dialect>) {
    match node {
        Node::Arguments(dialect) => found.push(dialect.clone()),
        Node::Object(entries, dialect) => {
            found.push(dialect.clone());
            entries
                .iter()
                .for_each(|entry| dialects(&entry.value, found));
        }
        Node::Sequence(nodes) | Node::Choice(nodes) => {
            nodes.iter().for_each(|node| dialects(node, found));
        }
        Node::Repetition(repetition) | Node::Array(repetition) => dialects(&repetition.item, found),
        Node::Optional(node) | Node::Call(node) | Node::Argument(node) => dialects(node, found),
        _ => {}
    }
}

/// The key under which a template takes reasoning, the most common first.
fn reasoning_key(prober: &TurnProber<'_>) -> &'static str {
    let (asked, thought) = (prober.word("asked"), prober.word("thought"));
    let turn = AssistantTurn::default().with_reasoning(&thought);
    let is_read = |key: &&str| {
        let answer = prober.input_form().message_for_reading(&turn, key);
        let messages = vec![message("user", &asked), answer];
        let text = prober.conversation(messages, ThinkingMode::Unset, false);
        text.is_ok_and(|text| text.contains(&thought))
    };
    let mut keys = REASONING_KEYS.into_iter();
    keys.find(is_read).unwrap_or(REASONING_KEYS[0])
}

/// Whether the template writes what tools answer as in a JSON string.
fn escapes_results(prober: &TurnProber<'_>) -> bool {
    let words = CallWords::new(prober);
    let (asked, one) = (prober.word("asked"), prober.word("one"));
    let awkward = format!("{one}\n\"{one}\"");
    let id = prober.id_shape().id(&words.names[0], 0);
    let call = AssistantTurn::calls([words.call(0, &[(0, words.string(0))])]);
    let messages = vec![
        message("user", &asked),
        prober.message(&call),
        result(&id, &words.names[0], &awkward),
    ];
    let text = prober.conversation(messages, ThinkingMode::Unset, false);
    let written = json::write(&Value::from(awkward.as_str()));
    text.is_ok_and(|text| {
        let escaped = written.trim_matches('"');
        !text.contains(&awkward) && (text.contains(escaped) || unescaped_contains(&text, &awkward))
    })
}

fn unescaped_contains(text: &str, awkward: &str) -> bool {
    text.lines()
        .filter_map(unescaped)
        .any(|line| line.contains(awkward))
}

/// The markers that end messages, which no text in a slot has in it.
fn ends(passages: &[Passage], ways: &[crate::format::Way]) -> Vec<(ConversationSlot, String)> {
    let mut ends: Vec<(ConversationSlot, String)> = Vec::new();
    let slots = [
        ConversationSlot::System,
        ConversationSlot::User,
        ConversationSlot::Content,
        ConversationSlot::Result,
    ];
    for slot in slots {
        let leaving = passages
            .iter()
            .filter(|passage| passage.from == Some(slot) && !passage.is_within);
        for passage in leaving {
            let piece = markers::first_piece(passage.first_text().trim_start());
            let end = piece.filter(|piece| markers::is_marker(piece));
            let end = end.map(|end| (slot, end.to_owned()));
            ends.extend(end.filter(|end| !ends.contains(end)));
        }
    }
    let all: Vec<String> = ends.iter().map(|(_, end)| end.clone()).collect();
    for slot in slots {
        if ends.iter().all(|(own, _)| *own != slot) {
            ends.extend(all.iter().map(|end| (slot, end.clone())));
        }
    }
    for way in ways {
        let literal = way.end.parts().iter().find_map(|node| match node {
            Node::Literal(text) if markers::is_marker(text) => Some(text.clone()),
            _ => None,
        });
        for slot in [ConversationSlot::Content, ConversationSlot::Reasoning] {
            let end = literal.clone().map(|text| (slot, text));
            ends.extend(end.filter(|end| !ends.contains(end)));
        }
    }
    // A thought does not end a turn, and stands before what does.
    let of_content = ends
        .iter()
        .filter(|(slot, _)| *slot == ConversationSlot::Content);
    let of_reasoning: Vec<(ConversationSlot, String)> = of_content
        .map(|(_, end)| (ConversationSlot::Reasoning, end.clone()))
        .filter(|end| !ends.contains(end))
        .collect();
    ends.extend(of_reasoning);
    ends
}
