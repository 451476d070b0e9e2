//! Where a message begins to be another than was expected.

use unjinja::check::Expected;
use unjinja::response::Field;
use unjinja::{Object, Value};

use unjinja_replay::{Against, EventKind, Position, Replay};

/// The first place where it shows that what comes out is not what was expected; none if it is.
pub(crate) fn first_difference(replay: &Replay, expected: &Expected) -> Option<Position> {
    let events = expected.events.as_ref();
    let by_events = events.and_then(|events| {
        let other = other_event(replay, events)?;
        Some(match other.first == other.end {
            true => replay.last(),
            false => replay.at_event(other.first),
        })
    });
    let by_outcome = match (replay.outcome()?, &expected.message, &expected.error) {
        (Ok(message), Some(expected), _) => {
            first_other_field(replay, message, expected, Against::Expected)
        }
        (Err(error), _, Some(text)) if error.to_string().contains(text.as_str()) => None,
        (Ok(_), None, None) => None,
        _ => Some(first_malformed(replay)),
    };
    [by_events, by_outcome].into_iter().flatten().min()
}

/// The place from which on the stream means something else than the whole text; none if it never does.
pub(crate) fn departure_from_whole(replay: &Replay) -> Option<Position> {
    if let Some(byte) = replay.departs_at() {
        return Some(replay.at_byte(byte));
    }
    let place = match (replay.outcome()?, replay.whole()?) {
        (Ok(message), Ok(whole)) => first_other_field(replay, message, whole, Against::Whole),
        _ => Some(first_malformed(replay)),
    };
    place.or(Some(replay.last()))
}

fn first_malformed(replay: &Replay) -> Position {
    let all = replay.events(replay.last());
    let malformed = all
        .iter()
        .position(|event| matches!(event.what, EventKind::Malformed(_)));
    malformed.map_or(replay.last(), |index| replay.at_event(index))
}

fn first_other_field(
    replay: &Replay,
    message: &Object,
    expected: &Object,
    against: Against,
) -> Option<Position> {
    let new = message
        .keys()
        .filter(|key| expected.get_json_string(key).is_none());
    let keys = expected.keys().chain(new);
    let places = keys.filter_map(|key| {
        let field = key.to_string_lossy();
        place_in_field(
            replay,
            &field,
            message.get_json_string(key),
            expected.get_json_string(key),
            against,
        )
    });
    places.min()
}

/// The place where the value of a field begins to differ, if it does.
fn place_in_field(
    replay: &Replay,
    field: &str,
    actual: Option<&Value>,
    expected: Option<&Value>,
    against: Against,
) -> Option<Position> {
    let closes = replay.closes_of(field);
    let repeats = |field: &Field| field.repeats() && field.join().is_none();
    if replay.template().field(field).is_some_and(repeats) {
        let len = |value: Option<&Value>| value.and_then(Value::as_array).map_or(0, <[Value]>::len);
        let (items, agree) = (len(actual), replay.agreeing(field, against));
        // The first items may be defaults.
        let defaults = items.saturating_sub(closes.len());
        let close = closes.get(agree.saturating_sub(defaults));
        let is_same =
            actual.is_some() == expected.is_some() && agree == items && agree == len(expected);
        return (!is_same).then(|| close.map_or(replay.last(), |&close| replay.at_event(close)));
    }
    let (actual, expected) = match (actual, expected) {
        (Some(actual), Some(expected)) if actual.total_eq(expected) => return None,
        (actual, expected) => (actual, expected),
    };
    let Some(&last) = closes.last() else {
        return Some(replay.last());
    };
    let byte = actual
        .and_then(Value::as_str)
        .zip(expected.and_then(Value::as_str))
        .and_then(|(actual, expected)| byte_of_difference(replay, last, actual, expected));
    Some(byte.map_or(replay.at_event(last), |byte| replay.at_byte(byte)))
}

/// Where in the text of a region that has closed its value begins to differ.
fn byte_of_difference(
    replay: &Replay,
    close: usize,
    actual: &str,
    expected: &str,
) -> Option<usize> {
    let end = replay.events(replay.last()).get(close)?.span().start;
    let (_, body) = replay.segment_at(end.checked_sub(1)?)?;
    let from = body.start + replay.text()[body.clone()].find(actual)?;
    let pairs = actual.chars().zip(expected.chars());
    let agree = pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8());
    let agree: usize = agree.sum();
    (agree < actual.len()).then_some(from + agree)
}

/// The first event that is another than was expected, where chunks that follow each other count as one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OtherEvent<'e> {
    /// The numbers of the events that came in its place, from the first to behind the last: none, if no more came.
    pub(crate) first: usize,
    pub(crate) end: usize,
    /// What was expected; none, if no more was.
    pub(crate) expected: Option<&'e Value>,
}

/// The first event that is another than was expected, if there is one in what has been read.
pub(crate) fn other_event<'e>(replay: &Replay, expected: &'e [Value]) -> Option<OtherEvent<'e>> {
    let all = replay.events(replay.last());
    let mut expected = expected.iter();
    let mut first = 0;
    loop {
        let together = match all.get(first).map(|event| event.what) {
            Some(EventKind::Chunk { .. }) => {
                let rest = all[first..].iter();
                rest.take_while(|next| {
                    (next.what, next.field) == (all[first].what, all[first].field)
                })
                .count()
            }
            Some(_) => 1,
            None => 0,
        };
        let end = first + together;
        let expected = expected.next();
        match expected {
            None if together == 0 => return None,
            Some(expected) if replay.event_value(&all[first..end]).total_eq(expected) => {
                first = end
            }
            expected => {
                return Some(OtherEvent {
                    first,
                    end,
                    expected,
                });
            }
        }
    }
}
