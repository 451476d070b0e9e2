//! A message and the one that was expected, part by part.

use std::collections::HashSet;

use unjinja::{JsonString, Object, Value, json};

use crate::preview::{needs_quotes, preview};
use crate::replay::{Against, EventKind, Position, Replay, Seen};

/// Of a text, this much is shown around what matters.
const AROUND: usize = 240;

/// Of a list, so many items are shown around what matters.
const ITEMS: usize = 8;

/// And of an object, so many members.
const MEMBERS: usize = 40;

/// Lists in lists and objects in objects are shown no deeper.
const DEEPEST: usize = 24;

/// A line of the message, and the same line of the one that was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// How deep it stands in the message.
    pub depth: usize,
    /// The field, the key, or the number in a list.
    pub label: String,
    /// What the stream has made.
    pub actual: Option<Shown>,
    /// What was expected.
    pub expected: Option<Shown>,
    /// How the two stand to each other.
    pub mark: Mark,
}

/// How a part of a message stands to what was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It is the same, or nothing was expected.
    Same,
    /// It is another.
    Other,
    /// It was not expected.
    Extra,
    /// It is missing.
    Missing,
    /// It has yet to come.
    ToCome,
}

/// A value as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// Its parts stand on the lines below.
    Parts,
    /// The text, and from where on it is not what was expected.
    Text(String, Option<usize>),
    /// A value of another type than the one beside it: as JSON, and its type.
    Typed(String, &'static str),
    /// Some items of a list, or members of an object, that are not shown.
    Left(usize),
    /// The text of a region that has opened, of which nothing has come.
    NothingYet,
}

/// The message at a place beside another: the one that was expected, or that of the whole text.
pub fn pairs(
    replay: &Replay,
    place: Position,
    expected: Option<&Object>,
    against: Against,
) -> Vec<Pair> {
    let is_end = replay.is_end(place);
    let mut comparison = Comparison {
        replay,
        pairs: Vec::new(),
        is_end,
        compares: expected.is_some(),
        against,
    };
    let message = replay.fields(place);
    let growing = growing(replay, place);
    let grows = |field: &str| growing.as_ref().filter(|growing| growing.field == field);
    let of_field = |field: &str| expected.and_then(|expected| expected.get(field));
    let mut names = HashSet::new();
    for (field, value) in &message {
        let field = field.to_string_lossy();
        comparison.field(&field, value, of_field(&field), grows(&field));
        names.insert(field.into_owned());
    }
    if let Some(growing) = growing
        .as_ref()
        .filter(|growing| !names.contains(growing.field))
    {
        comparison.growing(growing, of_field(growing.field));
        names.insert(growing.field.to_owned());
    }
    for (field, value) in expected.into_iter().flatten() {
        let label = field.to_string_lossy();
        if !names.contains(label.as_ref()) {
            comparison.missing(0, &label, value);
        }
    }
    comparison.pairs
}

/// A message by itself.
pub fn alone(replay: &Replay, message: &Object) -> Vec<Pair> {
    let mut comparison = Comparison {
        replay,
        pairs: Vec::new(),
        is_end: true,
        compares: false,
        against: Against::Expected,
    };
    for (field, value) in message {
        comparison.one_sided(0, &field.to_string_lossy(), value, Mark::Same);
    }
    comparison.pairs
}

/// The text of the region that is open.
struct Growing<'r> {
    field: &'r str,
    text: &'r str,
    /// Whether it has yet to be parsed.
    dirty: bool,
    /// Whether it will be an item of a list.
    repeats: bool,
}

fn growing(replay: &Replay, place: Position) -> Option<Growing<'_>> {
    let (number, span) = replay.open_region(place)?;
    let field = replay.template().fields().get(number as usize)?;
    let last = replay.events(place).last()?;
    Some(Growing {
        field: field.name(),
        text: &replay.text()[span],
        dirty: matches!(last.what, EventKind::Chunk { dirty: true }),
        repeats: field.repeats() || field.join().is_some(),
    })
}

struct Comparison<'r> {
    replay: &'r Replay,
    pairs: Vec<Pair>,
    /// Whether nothing more will come.
    is_end: bool,
    /// Whether anything is expected.
    compares: bool,
    against: Against,
}

impl Comparison<'_> {
    fn push(
        &mut self,
        depth: usize,
        label: &str,
        actual: Option<Shown>,
        expected: Option<Shown>,
        mark: Mark,
    ) {
        self.pairs.push(Pair {
            depth,
            label: label.to_owned(),
            actual,
            expected,
            mark,
        });
    }

    fn field(
        &mut self,
        field: &str,
        value: &Seen<'_>,
        expected: Option<&Value>,
        growing: Option<&Growing<'_>>,
    ) {
        let of_list;
        let items = match value {
            Seen::Items(items) => Some(items),
            Seen::Value(value) => {
                of_list = value.as_array().map(|items| items.iter().collect());
                of_list.as_ref()
            }
        };
        match (value, growing) {
            // What was there before goes when the region closes.
            (_, Some(growing)) if !growing.repeats => self.growing(growing, expected),
            (_, growing) if items.is_some_and(|items| growing.is_some() || !items.is_empty()) => {
                let items = items.map_or(&[][..], Vec::as_slice);
                self.list(0, field, items, expected, growing);
            }
            (value, growing) => {
                let value = match value {
                    Seen::Items(_) => &Value::Array(Vec::new()),
                    Seen::Value(value) => value,
                };
                match growing {
                    // What is empty in the end goes.
                    None if expected.is_none() && !self.is_end && value.is_empty() => {
                        self.push(0, field, Some(shown(value)), None, Mark::Same);
                    }
                    _ => self.value(0, field, value, expected),
                }
                if let Some(growing) = growing {
                    self.grown(1, "…", growing, None);
                }
            }
        }
    }

    fn growing(&mut self, growing: &Growing<'_>, expected: Option<&Value>) {
        if growing.repeats {
            return self.list(0, growing.field, &[], expected, Some(growing));
        }
        let text = growing.text.trim_start();
        match expected.and_then(Value::as_str) {
            Some(expected) if !growing.dirty => {
                let agree = agreement(text, expected);
                // White space at the end may go.
                let is_right_so_far = text[agree..].trim_end().is_empty();
                let eye = if is_right_so_far { text.len() } else { agree };
                let mark = match is_right_so_far {
                    true => Mark::ToCome,
                    false => Mark::Other,
                };
                let side = |text, eye, quotes| {
                    let (text, at) = around(text, eye, quotes);
                    Shown::Text(text, (!is_right_so_far).then_some(at))
                };
                let actual = match text.is_empty() {
                    true => Shown::NothingYet,
                    false => side(text, eye, false),
                };
                let expected = side(expected, agree, needs_quotes(expected));
                self.push(0, growing.field, Some(actual), Some(expected), mark);
            }
            _ => {
                let (actual, expected) = (grown_text(text), expected.map(shown));
                self.push(0, growing.field, Some(actual), expected, Mark::ToCome);
            }
        }
    }

    /// The text of a region that will be an item of a list.
    fn grown(&mut self, depth: usize, label: &str, growing: &Growing<'_>, other: Option<&Value>) {
        let text = grown_text(growing.text);
        self.push(depth, label, Some(text), other.map(shown), Mark::ToCome);
        if let Some(other) = other {
            self.parts(depth, other, Mark::ToCome);
        }
    }

    /// What is expected, and has not come.
    fn missing(&mut self, depth: usize, label: &str, value: &Value) {
        let mark = if self.is_end {
            Mark::Missing
        } else {
            Mark::ToCome
        };
        self.one_sided(depth, label, value, mark);
    }

    /// A value that only one of the two has.
    fn one_sided(&mut self, depth: usize, label: &str, value: &Value, mark: Mark) {
        let (actual, expected) = side(shown(value), mark);
        self.push(depth, label, actual, expected, mark);
        self.parts(depth, value, mark);
    }

    /// The parts of a value that only one of the two has.
    fn parts(&mut self, depth: usize, value: &Value, mark: Mark) {
        match value {
            _ if depth >= DEEPEST => {}
            Value::Object(object) => {
                for (key, value) in object.iter().take(MEMBERS) {
                    self.one_sided(depth + 1, &key.to_string_lossy(), value, mark);
                }
                self.one_side_left(depth + 1, object.len().saturating_sub(MEMBERS), mark);
            }
            Value::Array(items) => {
                for (index, item) in items.iter().take(ITEMS).enumerate() {
                    self.one_sided(depth + 1, &(index + 1).to_string(), item, mark);
                }
                self.one_side_left(depth + 1, items.len().saturating_sub(ITEMS), mark);
            }
            _ => {}
        }
    }

    /// So many parts of a value that only one of the two has are not shown.
    fn one_side_left(&mut self, depth: usize, count: usize, mark: Mark) {
        if count > 0 {
            let (actual, expected) = side(Shown::Left(count), mark);
            self.push(depth, "…", actual, expected, mark);
        }
    }

    fn value(&mut self, depth: usize, label: &str, actual: &Value, expected: Option<&Value>) {
        let Some(expected) = expected else {
            let mark = if self.compares {
                Mark::Extra
            } else {
                Mark::Same
            };
            return self.one_sided(depth, label, actual, mark);
        };
        match (actual, expected) {
            (Value::Object(actual), Value::Object(expected)) if depth < DEEPEST => {
                let parts = |object: &Object| match object.is_empty() {
                    true => shown(&Value::from(Object::new())),
                    false => Shown::Parts,
                };
                let sides = (parts(actual), parts(expected));
                let mark = match actual.is_empty() == expected.is_empty() {
                    true => Mark::Same,
                    false => Mark::Other,
                };
                self.push(depth, label, Some(sides.0), Some(sides.1), mark);
                self.object(depth + 1, actual, expected);
            }
            (Value::Array(items), Value::Array(_)) if depth < DEEPEST => {
                let items: Vec<&Value> = items.iter().collect();
                self.list(depth, label, &items, Some(expected), None);
            }
            (Value::String(actual), Value::String(expected)) => {
                self.texts(depth, label, actual, expected)
            }
            _ => {
                let mark = if actual.total_eq(expected) {
                    Mark::Same
                } else {
                    Mark::Other
                };
                let (actual, expected) = match type_of(actual) == type_of(expected) {
                    true => (shown(actual), shown(expected)),
                    false => (typed(actual), typed(expected)),
                };
                self.push(depth, label, Some(actual), Some(expected), mark);
            }
        }
    }

    /// The members of two objects: all of them, or those around the first that differ.
    fn object(&mut self, depth: usize, actual: &Object, expected: &Object) {
        let agree = agreeing_members(actual, expected);
        let are_same = agree == actual.len() && agree == expected.len();
        let is_short = actual.len().max(expected.len()) <= MEMBERS;
        let from = match are_same || is_short {
            true => 0,
            false => agree.saturating_sub(MEMBERS / 2),
        };
        self.left(depth, from, from);
        let known = expected.iter().skip(from).take(MEMBERS);
        let (mut actual_left, mut expected_left) = (actual.len() - from, expected.len() - from);
        let mut room = MEMBERS;
        for (key, other) in known {
            let label = key.to_string_lossy();
            match actual.get_json_string(key) {
                Some(value) => {
                    self.value(depth, &label, value, Some(other));
                    actual_left = actual_left.saturating_sub(1);
                }
                // An object comes as a whole, so what is not there will not come.
                None => self.one_sided(depth, &label, other, Mark::Missing),
            }
            expected_left -= 1;
            room -= 1;
        }
        let is_new = |(key, _): &(&JsonString, &Value)| expected.get_json_string(key).is_none();
        for (key, value) in actual.iter().skip(from).filter(is_new).take(room) {
            self.one_sided(depth, &key.to_string_lossy(), value, Mark::Extra);
            actual_left = actual_left.saturating_sub(1);
        }
        self.left(depth, actual_left, expected_left);
    }

    /// The items of a list, and the one that is being read.
    fn list(
        &mut self,
        depth: usize,
        label: &str,
        items: &[&Value],
        expected: Option<&Value>,
        growing: Option<&Growing<'_>>,
    ) {
        let others = expected.and_then(Value::as_array);
        let mark = match (expected, others) {
            (Some(_), None) => Mark::Other,
            (None, None) if self.compares => Mark::Extra,
            _ => Mark::Same,
        };
        let is_empty = items.is_empty() && growing.is_none();
        let (actual, expected) = match mark {
            Mark::Other if is_empty => (Shown::Typed("[]".into(), "array"), expected.map(typed)),
            Mark::Other => (Shown::Typed(String::new(), "array"), expected.map(typed)),
            _ if is_empty => (Shown::Text("[]".into(), None), expected.map(shown)),
            _ => (Shown::Parts, expected.map(shown)),
        };
        self.push(depth, label, Some(actual), expected, mark);
        let others = others.unwrap_or_default();
        let pairs = items.iter().zip(others);
        // What differs matters; or else what has come last.
        let eye = match depth {
            // Of the lists of the message itself it is known.
            0 => self.replay.agreeing(label, self.against).min(items.len()),
            _ => pairs
                .take_while(|(item, other)| item.total_eq(other))
                .count(),
        };
        let eye = if others.is_empty() { items.len() } else { eye };
        let count = items.len() + usize::from(growing.is_some());
        let from = eye.saturating_sub(ITEMS / 2);
        let to = (from + ITEMS).min(count.max(others.len()));
        self.left(depth + 1, items.len().min(from), others.len().min(from));
        for index in from..to {
            let label = (index + 1).to_string();
            match (items.get(index), others.get(index)) {
                (Some(item), other) => self.value(depth + 1, &label, item, other),
                (None, other) if index == items.len() && growing.is_some() => {
                    growing
                        .into_iter()
                        .for_each(|growing| self.grown(depth + 1, &label, growing, other));
                }
                (None, Some(other)) => self.missing(depth + 1, &label, other),
                (None, None) => {}
            }
        }
        self.left(
            depth + 1,
            items.len().saturating_sub(to),
            others.len().saturating_sub(to),
        );
    }

    /// So many items or members are not shown.
    fn left(&mut self, depth: usize, actual: usize, expected: usize) {
        let shown = |count: usize| (count > 0).then_some(Shown::Left(count));
        if actual + expected > 0 {
            self.push(depth, "…", shown(actual), shown(expected), Mark::Same);
        }
    }

    fn texts(&mut self, depth: usize, label: &str, actual: &JsonString, expected: &JsonString) {
        if actual == expected {
            let shown = shown_text(&actual.to_string_lossy());
            return self.push(depth, label, Some(shown.clone()), Some(shown), Mark::Same);
        }
        let (actual, expected) = (actual.to_string_lossy(), expected.to_string_lossy());
        let agree = agreement(&actual, &expected);
        // Both in the same way, so that they can be compared.
        let quotes = needs_quotes(&actual) || needs_quotes(&expected);
        let side = |text: &str| {
            let (text, at) = around(text, agree, quotes);
            Some(Shown::Text(text, Some(at)))
        };
        self.push(depth, label, side(&actual), side(&expected), Mark::Other);
    }
}

/// The side of the one that has it.
fn side(shown: Shown, mark: Mark) -> (Option<Shown>, Option<Shown>) {
    match mark {
        Mark::Missing | Mark::ToCome => (None, Some(shown)),
        Mark::Same | Mark::Other | Mark::Extra => (Some(shown), None),
    }
}

/// How many members two objects have in common, in the same order, from the first on.
fn agreeing_members(a: &Object, b: &Object) -> usize {
    let pairs = a.iter().zip(b);
    let same =
        pairs.take_while(|((key, value), (other, beside))| key == other && value.total_eq(beside));
    same.count()
}

/// How many bytes two texts have in common at their beginnings.
fn agreement(a: &str, b: &str) -> usize {
    let pairs = a.bytes().zip(b.bytes());
    let same = pairs.take_while(|(a, b)| a == b).count();
    a.floor_char_boundary(same).min(b.floor_char_boundary(same))
}

/// The text around a place of it, and where the place is in what is left. It stands in quotes as in JSON where
/// it would look like something else without.
fn around(text: &str, at: usize, quotes: bool) -> (String, usize) {
    let written = |part: &str| match quotes {
        true => {
            let mut out = String::new();
            json::write_str(&mut out, part, false);
            out[1..out.len() - 1].to_owned()
        }
        false => part.to_owned(),
    };
    let quote = if quotes { "\"" } else { "" };
    let (mut from, mut to) = (0, text.len());
    if text.len() > 3 * AROUND {
        from = text.floor_char_boundary(at.saturating_sub(AROUND));
        to = text.ceil_char_boundary((at + AROUND).min(text.len()));
        from = if from <= AROUND { 0 } else { from };
    }
    let mut shown = quote.to_owned();
    if from > 0 {
        shown += &written(&text[..text.floor_char_boundary(AROUND / 4)]);
        shown.push('…');
    }
    shown += &written(&text[from..at]);
    let place = shown.len();
    shown += &written(&text[at..to]);
    match text.len() - to {
        0 => shown += quote,
        left => shown += &format!("… ({left} bytes more)"),
    }
    (shown, place)
}

/// The text of a region that is open.
fn grown_text(text: &str) -> Shown {
    match text.is_empty() {
        true => Shown::NothingYet,
        false => Shown::Text(around(text, text.len(), false).0, None),
    }
}

/// So much is shown of a value that stands where one of another type should.
const TYPED: usize = 120;

/// A value with its type.
fn typed(value: &Value) -> Shown {
    Shown::Typed(preview(value, TYPED), type_of(value))
}

/// The type of a value, without its article.
fn type_of(value: &Value) -> &'static str {
    let name = value.type_name();
    name.split_once(' ').map_or(name, |(_, name)| name)
}

fn shown_text(text: &str) -> Shown {
    Shown::Text(around(text, 0, needs_quotes(text)).0, None)
}

/// A value by itself.
fn shown(value: &Value) -> Shown {
    match value {
        Value::String(text) => shown_text(&text.to_string_lossy()),
        Value::Array(items) if !items.is_empty() => Shown::Parts,
        Value::Object(object) if !object.is_empty() => Shown::Parts,
        other => Shown::Text(json::write(other), None),
    }
}
