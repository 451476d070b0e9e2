//! What is the case at a place: the message, and what the parser waits for.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use unjinja::{Event, JsonString, Object, Value};

use super::agreement::Agreement;
use super::log::EventKind;
use super::{Against, Position, Replay};

/// What the parser waits for at some place.
#[derive(Debug, Clone, Default)]
pub struct Waiting {
    /// The field that the next text belongs to.
    pub field: Option<String>,
    /// From where on text is held back.
    pub held: Range<usize>,
    /// The delimiters on watch.
    pub awaited: Vec<AwaitedDelimiter>,
}

/// A delimiter on watch.
#[derive(Debug, Clone)]
pub struct AwaitedDelimiter {
    /// The field that it opens or closes.
    pub field: String,
    /// Whether it opens it.
    pub opens: bool,
    /// How it is spelled: literals, or a regular expression.
    pub spellings: Vec<String>,
    /// Whether it is a regular expression.
    pub is_pattern: bool,
    /// What of the text may be its beginning.
    pub prefix: Option<String>,
    /// Whether that is a delimiter already, which may only become longer.
    pub is_found: bool,
}

impl AwaitedDelimiter {
    /// What has yet to come of it, where it is a literal of which a beginning has come.
    pub fn lacks(&self) -> Option<&str> {
        let prefix = self.prefix.as_deref().filter(|_| !self.is_pattern)?;
        let mut spellings = self.spellings.iter();
        spellings.find_map(|spelling| spelling.strip_prefix(prefix))
    }
}

/// The value of a field, as it is looked at.
#[derive(Debug)]
pub enum Seen<'r> {
    /// A list.
    Items(Vec<&'r Value>),
    /// Something else, or a short list.
    Value(Cow<'r, Value>),
}

impl<'r> Seen<'r> {
    fn of(value: &'r Value) -> Seen<'r> {
        match value.as_array() {
            Some(items) => Seen::Items(items.iter().collect()),
            None => Seen::Value(Cow::Borrowed(value)),
        }
    }
}

impl Replay {
    /// The field whose region is open, and its text so far.
    pub fn open_region(&self, place: Position) -> Option<(u16, Range<usize>)> {
        let events = self.events(place);
        let last = events.last()?;
        let end = last.span().end;
        let start = match last.what {
            EventKind::Open(_) => end,
            EventKind::Chunk { .. } => self.segment_at(last.span().start)?.1.start,
            EventKind::Close(_) | EventKind::Malformed(_) => return None,
        };
        Some((last.field, start..end))
    }

    /// The message at a place: what the stream has made by then.
    pub fn message(&self, place: Position) -> Object {
        if let (true, Some(Ok(message))) = (self.is_end(place), &self.outcome) {
            return message.clone();
        }
        let mut message = self.template.defaults().clone();
        for (number, value) in self.log.closes(place.events) {
            if let Some(field) = self.template.fields().get(number as usize) {
                // What has no place in the message did not close with a value.
                let _has_a_place = field.put(&mut message, value.clone());
            }
        }
        message
    }

    /// The same, field by field, without a copy of its lists: they may be long, and are looked at in every frame.
    pub fn fields(&self, place: Position) -> Vec<(JsonString, Seen<'_>)> {
        if let (true, Some(Ok(message))) = (self.is_end(place), &self.outcome) {
            let fields = message.iter();
            let fields = fields.map(|(name, value)| (name.clone(), Seen::of(value)));
            return fields.collect();
        }
        let mut rest = self.template.defaults().clone();
        let mut lists: HashMap<&str, Vec<&Value>> = HashMap::new();
        for (number, value) in self.log.closes(place.events) {
            let Some(field) = self.template.fields().get(number as usize) else {
                continue;
            };
            if !field.repeats() || field.join().is_some() {
                let _has_a_place = field.put(&mut rest, value.clone());
                continue;
            }
            let list = lists.entry(field.name()).or_insert_with(|| {
                let before = self.template.defaults().get(field.name());
                before
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                    .collect()
            });
            list.push(value);
            if !rest.contains_key(field.name()) {
                rest.insert(field.name(), Value::Null);
            }
        }
        let fields = rest.into_iter().map(|(name, value)| {
            let seen = match lists.remove(name.to_string_lossy().as_ref()) {
                Some(items) => Seen::Items(items),
                None => Seen::Value(Cow::Owned(value)),
            };
            (name, seen)
        });
        fields.collect()
    }

    /// The numbers of the events that close a field with a value.
    pub fn closes_of(&self, field: &str) -> Vec<usize> {
        let number = self.number(field);
        number.map_or(Vec::new(), |number| self.log.closes_of(number as u16))
    }

    fn number(&self, field: &str) -> Option<usize> {
        let mut fields = self.template.fields().iter();
        fields.position(|known| known.name() == field)
    }

    /// How many items of a field's list are those of another message, from the first on, when all has
    /// been read.
    pub fn agreeing(&self, field: &str, against: Against) -> usize {
        let agreement = match (against, &self.whole) {
            (Against::Expected, _) => &self.agreement,
            (Against::Whole, Some(whole)) => &whole.agreement,
            (Against::Whole, None) => return 0,
        };
        let number = self.number(field);
        number.map_or(0, |number| agreement.of_field(number))
    }

    /// From here on another message is expected.
    pub fn expect(&mut self, expected: Object) {
        self.agreement = self.agreement_with(expected);
    }

    /// How far the lists are those of another message.
    pub(super) fn agreement_with(&self, expected: Object) -> Agreement {
        let mut agreement = Agreement::new(&self.template, expected);
        for (number, value) in self.log.closes(usize::MAX) {
            let field = self.field(number);
            let close = Event::Close {
                field,
                value,
                span: None,
                at_end: false,
            };
            agreement.take(&self.template, &close);
        }
        agreement
    }

    /// What the parser waits for at a place, if it has come there: not within a chunk, and not
    /// when it has ended.
    pub fn waiting(&mut self, place: Position) -> Option<Waiting> {
        if self.is_within_chunk(place) || place.fed > self.ends.len() {
            return None;
        }
        self.bring_lookout_to(place.fed)?;
        let (_, lookout) = self.at_place.as_mut()?;
        let outlook = lookout.outlook();
        let awaited = outlook.watched.iter().map(|awaited| AwaitedDelimiter {
            field: awaited.field.to_owned(),
            opens: awaited.opens,
            spellings: match (awaited.delimiter.literals(), awaited.delimiter.pattern()) {
                (Some(literals), _) => literals.to_vec(),
                (None, pattern) => pattern.map(str::to_owned).into_iter().collect(),
            },
            is_pattern: awaited.delimiter.pattern().is_some(),
            prefix: awaited.partial.map(str::to_owned),
            is_found: awaited.is_found,
        });
        Some(Waiting {
            field: outlook.field.map(str::to_owned),
            held: outlook.position..outlook.position + outlook.held_back.len(),
            awaited: awaited.collect(),
        })
    }

    /// Takes the lookout at hand, or the nearest one that was kept, to a place.
    fn bring_lookout_to(&mut self, fed: usize) -> Option<()> {
        let kept = self.kept.partition_point(|&(at, _)| at <= fed);
        let (kept_at, kept) = self.kept.get(kept.checked_sub(1)?)?;
        let at_hand = self.at_place.as_ref().map(|&(at, _)| at);
        if !at_hand.is_some_and(|at| (*kept_at..=fed).contains(&at)) {
            self.at_place = Some((*kept_at, kept.clone()));
        }
        let (at, mut lookout) = self.at_place.take()?;
        for number in at + 1..=fed {
            lookout.feed(&self.text[self.chunk(number)]).ok()?;
        }
        self.at_place = Some((fed, lookout));
        Some(())
    }
}
