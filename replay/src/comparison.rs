//! A message and the one that was expected, part by part.

use unjinja::{JsonString, Object, Value, json};

use crate::preview::preview;
use crate::replay::{Against, EventKind, Place, Replay};

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
}

/// The message at a place beside another: the one that was expected, or that of the whole text.
pub fn pairs(
    replay: &Replay,
    place: Place,
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
    let message = replay.message(place);
    let growing = growing(replay, place);
    let grows = |field: &str| growing.as_ref().filter(|growing| growing.field == field);
    let of_field = |field: &str| expected.and_then(|expected| expected.get(field));
    for (field, value) in &message {
        let field = field.to_string_lossy();
        comparison.field(&field, value, of_field(&field), grows(&field));
    }
    if let Some(growing) = growing
        .as_ref()
        .filter(|growing| !message.contains_key(growing.field))
    {
        comparison.growing(growing, of_field(growing.field));
    }
    for (field, value) in expected.into_iter().flatten() {
        let label = field.to_string_lossy();
        if message.get_json_string(field).is_none() && grows(&label).is_none() {
            comparison.missing(0, &label, value);
        }
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

fn growing(replay: &Replay, place: Place) -> Option<Growing<'_>> {
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
        value: &Value,
        expected: Option<&Value>,
        growing: Option<&Growing<'_>>,
    ) {
        match (value, growing) {
            // What was there before goes when the region closes.
            (_, Some(growing)) if !growing.repeats => self.growing(growing, expected),
            // What is empty in the end goes.
            (_, None) if expected.is_none() && !self.is_end && value.is_empty() => {
                self.push(0, field, Some(shown(value)), None, Mark::Same);
            }
            (Value::Array(items), growing) if growing.is_some() || !items.is_empty() => {
                self.list(0, field, items, expected, growing)
            }
            (_, growing) => {
                self.value(0, field, value, expected);
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
                let side = |text, eye| {
                    let (text, at) = around(text, Some(eye));
                    Some(Shown::Text(text, (!is_right_so_far).then_some(at)))
                };
                self.push(
                    0,
                    growing.field,
                    side(text, eye),
                    side(expected, agree),
                    mark,
                );
            }
            _ => {
                self.push(
                    0,
                    growing.field,
                    Some(Shown::Text(around(text, Some(text.len())).0, None)),
                    expected.map(shown),
                    Mark::ToCome,
                );
            }
        }
    }

    /// The text of a region that will be an item of a list.
    fn grown(&mut self, depth: usize, label: &str, growing: &Growing<'_>, other: Option<&Value>) {
        let text = around(growing.text, Some(growing.text.len())).0;
        let text = Some(Shown::Text(text, None));
        self.push(depth, label, text, other.map(shown), Mark::ToCome);
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
                self.push(
                    depth,
                    label,
                    Some(Shown::Parts),
                    Some(Shown::Parts),
                    Mark::Same,
                );
                self.object(depth + 1, actual, expected);
            }
            (Value::Array(items), Value::Array(_)) if depth < DEEPEST => {
                self.list(depth, label, items, Some(expected), None);
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
        items: &[Value],
        expected: Option<&Value>,
        growing: Option<&Growing<'_>>,
    ) {
        let others = expected.and_then(Value::as_array);
        let mark = match (expected, others) {
            (Some(_), None) => Mark::Other,
            (None, None) if self.compares => Mark::Extra,
            _ => Mark::Same,
        };
        let (actual, expected) = match mark {
            Mark::Other => (Shown::Typed(String::new(), "array"), expected.map(typed)),
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
        let side = |text: &str| {
            if is_blank(text) {
                return Some(in_quotes(text));
            }
            let (text, at) = around(text, Some(agree));
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

/// The text around a place of it, and where the place is in what is left.
fn around(text: &str, at: Option<usize>) -> (String, usize) {
    if text.len() <= 3 * AROUND {
        return (text.to_owned(), at.unwrap_or(0));
    }
    let at = at.unwrap_or(0);
    let from = text.floor_char_boundary(at.saturating_sub(AROUND));
    let to = text.ceil_char_boundary((at + AROUND).min(text.len()));
    let (from, start) = match from <= AROUND {
        true => (0, String::new()),
        false => (
            from,
            format!("{}…", &text[..text.floor_char_boundary(AROUND / 4)]),
        ),
    };
    let place = start.len() + at - from;
    let end = match text.len() - to {
        0 => String::new(),
        left => format!("… ({left} bytes more)"),
    };
    (format!("{start}{}{end}", &text[from..to]), place)
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

/// Whether nothing of a text would be seen.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn in_quotes(text: &str) -> Shown {
    Shown::Text(preview(&Value::from(text), TYPED), None)
}

fn shown_text(text: &str) -> Shown {
    match is_blank(text) {
        true => in_quotes(text),
        false => Shown::Text(around(text, None).0, None),
    }
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
