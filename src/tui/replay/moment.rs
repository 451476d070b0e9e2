//! What is the case at a place: the message, and what the parser waits for.

use std::ops::Range;

use crate::{Event, Object, Value};

use super::agreement::Agreement;
use super::log::What;
use super::{Place, Replay};

/// What the parser waits for at some place.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waiting {
    /// The field that the next text belongs to.
    pub(crate) field: Option<String>,
    /// From where on text is held back.
    pub(crate) held: Range<usize>,
    pub(crate) awaited: Vec<AwaitedDelimiter>,
}

/// A delimiter on watch.
#[derive(Debug, Clone)]
pub(crate) struct AwaitedDelimiter {
    pub(crate) field: String,
    pub(crate) opens: bool,
    /// How it is spelled: literals, or a regular expression.
    pub(crate) spellings: Vec<String>,
    pub(crate) is_pattern: bool,
    /// What of the text may be its beginning.
    pub(crate) begun: Option<String>,
}

/// A field of the message as it is at some place.
#[derive(Debug)]
pub(crate) struct Said<'r> {
    pub(crate) field: &'r str,
    pub(crate) value: SaidValue<'r>,
}

/// What has been said in a field.
#[derive(Debug)]
pub(crate) enum SaidValue<'r> {
    One(&'r Value),
    /// The values of a field that repeats.
    Many(Vec<&'r Value>),
    /// Texts that were put together.
    Joined(String),
}

impl Replay {
    /// The field whose region is open, and its text so far.
    pub(crate) fn open_region(&self, place: Place) -> Option<(u16, Range<usize>)> {
        let told = self.told(place);
        let last = told.last()?;
        let end = last.span().end;
        let start = match last.what {
            What::Open(_) => end,
            What::Chunk { .. } => self.segment_at(last.span().start)?.1.start,
            What::Close(_) | What::Malformed(_) => return None,
        };
        Some((last.field, start..end))
    }

    /// The message at a place.
    pub(crate) fn message(&self, place: Place) -> Vec<Said<'_>> {
        if let (true, Some(Ok(message))) = (self.is_end(place), &self.outcome) {
            let said = message.iter().map(|(field, value)| Said {
                field: field.as_str().unwrap_or_default(),
                value: SaidValue::One(value),
            });
            return said.collect();
        }
        let defaults = self.template.defaults().iter().map(|(field, value)| Said {
            field: field.as_str().unwrap_or_default(),
            value: SaidValue::One(value),
        });
        let mut message: Vec<Said<'_>> = defaults.collect();
        for (field, value) in self.log.closes(place.told) {
            self.put(&mut message, field, value);
        }
        message
    }

    fn put<'r>(&'r self, message: &mut Vec<Said<'r>>, number: u16, value: &'r Value) {
        let Some(field) = self.template.fields().get(number as usize) else {
            return;
        };
        let known = message.iter_mut().find(|said| said.field == field.name());
        let Some(said) = known else {
            let value = match field.repeats() && field.join().is_none() {
                true => SaidValue::Many(vec![value]),
                false => SaidValue::One(value),
            };
            message.push(Said {
                field: field.name(),
                value,
            });
            return;
        };
        match (&mut said.value, field.join()) {
            (SaidValue::Joined(text), Some(join)) => {
                text.push_str(join);
                text.push_str(&text_of(value));
            }
            (SaidValue::One(before), Some(join)) if !before.is_null() => {
                let joined = format!("{}{join}{}", text_of(before), text_of(value));
                said.value = SaidValue::Joined(joined);
            }
            (SaidValue::Many(values), None) => values.push(value),
            (SaidValue::One(Value::Array(values)), None) if field.repeats() => {
                let values = values.iter().chain([value]);
                said.value = SaidValue::Many(values.collect());
            }
            _ => said.value = SaidValue::One(value),
        }
    }

    /// The numbers of the events that close a field with a value.
    pub(crate) fn closes_of(&self, field: &str) -> Vec<usize> {
        let number = self.number(field);
        number.map_or(Vec::new(), |number| self.log.closes_of(number as u16))
    }

    fn number(&self, field: &str) -> Option<usize> {
        let mut fields = self.template.fields().iter();
        fields.position(|known| known.name() == field)
    }

    /// How many items of a field's list are as expected, from the first on, when all has been read.
    pub(crate) fn agreeing(&self, field: &str) -> usize {
        let number = self.number(field);
        number.map_or(0, |number| self.agreement.of_field(number))
    }

    /// From here on another message is expected.
    pub(crate) fn expect(&mut self, expected: Object) {
        let mut agreement = Agreement::new(&self.template, expected);
        for (number, value) in self.log.closes(usize::MAX) {
            let field = self.field(number);
            let span = None;
            agreement.take(&self.template, &Event::Close { field, value, span });
        }
        self.agreement = agreement;
    }

    /// What the parser waits for at a place, if it has come there: not within a chunk, and not
    /// when it has ended.
    pub(crate) fn waiting(&mut self, place: Place) -> Option<Waiting> {
        if self.is_within_chunk(place) || place.fed > self.ends.len() {
            return None;
        }
        self.bring_parser_to(place.fed)?;
        let (_, parser) = self.at_place.as_mut()?;
        let outlook = parser.outlook();
        let awaited = outlook.awaited.iter().map(|awaited| AwaitedDelimiter {
            field: awaited.field.to_owned(),
            opens: awaited.opens,
            spellings: match (awaited.delimiter.literals(), awaited.delimiter.pattern()) {
                (Some(literals), _) => literals.to_vec(),
                (None, pattern) => pattern.map(str::to_owned).into_iter().collect(),
            },
            is_pattern: awaited.delimiter.pattern().is_some(),
            begun: awaited.begun.map(str::to_owned),
        });
        Some(Waiting {
            field: outlook.field.map(str::to_owned),
            held: outlook.position..outlook.position + outlook.held_back.len(),
            awaited: awaited.collect(),
        })
    }

    /// Takes the parser at hand, or the nearest one that was kept, to a place.
    fn bring_parser_to(&mut self, fed: usize) -> Option<()> {
        let kept = self.kept.partition_point(|&(at, _)| at <= fed);
        let (kept_at, kept) = self.kept.get(kept.checked_sub(1)?)?;
        let at_hand = self.at_place.as_ref().map(|&(at, _)| at);
        if !at_hand.is_some_and(|at| (*kept_at..=fed).contains(&at)) {
            self.at_place = Some((*kept_at, kept.clone()));
        }
        let (at, mut parser) = self.at_place.take()?;
        for number in at + 1..=fed {
            parser
                .feed_with(&self.text[self.chunk(number)], |_| {})
                .ok()?;
        }
        self.at_place = Some((fed, parser));
        Some(())
    }
}

fn text_of(value: &Value) -> String {
    let text = value.as_text();
    text.map(|text| text.to_string_lossy().into_owned())
        .unwrap_or_default()
}
