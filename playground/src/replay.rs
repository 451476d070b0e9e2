//! A text that is replayed: what there is to see at each place of it.

use std::ops::Range;

use unjinja::check::Case;
use unjinja::{Object, Value};
use unjinja_replay::comparison::{Mark, Pair, Shown, pairs};
use unjinja_replay::{
    Against, AwaitedDelimiter, Chunking, EventKind, LoggedEvent, Position, Replay, SegmentKind,
    preview,
};

use crate::request::Request;
use crate::template::loaded;

/// So much of the text is shown around the place, in bytes.
const BEFORE: usize = 3 << 10;
const BEHIND: usize = 2 << 10;
/// So many rows of events.
const EVENTS: usize = 40;
/// Of a delimiter, a value or a capture, no more than this.
const SHOWN: usize = 400;
/// In so many parts the whole of the text is shown on one line.
const STRIPES: usize = 240;

/// A text that is replayed, and the message that is expected of it.
#[derive(Debug)]
pub(crate) struct Replayed {
    replay: Replay,
    expected: Option<Object>,
}

/// Begins to replay a text, cut as the request says.
pub(crate) fn begin(request: &Request<'_>) -> Result<Replayed, String> {
    let template = loaded(request)?;
    let case = request.case()?;
    let chunking = match request.text("chunking")? {
        "token" => Chunking::Tokens,
        "character" => Chunking::Characters,
        "bytes" => Chunking::Bytes(request.number("bytes")?.max(1)),
        "random" => Chunking::Random {
            mean: request.number("bytes")?.max(1),
            seed: request.number("seed")? as u64,
        },
        "whole" => Chunking::Whole,
        "own" => {
            let cuts = request
                .get("cuts")
                .and_then(Value::as_array)
                .unwrap_or_default();
            let cuts = cuts.iter().filter_map(|cut| cut.as_number()?.as_i64());
            let mut cuts: Vec<usize> = cuts.filter_map(|cut| usize::try_from(cut).ok()).collect();
            cuts.sort_unstable();
            let replay = Replay::of_places(&template, &case, cuts.into_iter());
            return Ok(Replayed::new(replay, case));
        }
        other => return Err(format!("no text is cut `{other}`")),
    };
    Ok(Replayed::new(Replay::new(&template, &case, chunking), case))
}

impl Replayed {
    fn new(replay: Replay, case: Case) -> Replayed {
        Replayed {
            replay,
            expected: case.expected.message,
        }
    }
}

/// What is known of the text before it has been read: how much there is of it.
pub(crate) fn overview(Replayed { replay, .. }: &Replayed) -> Value {
    let fields = replay.template().fields().iter();
    Object::from_iter([
        ("chunks", Value::from(replay.chunks())),
        ("bytes", replay.text().len().into()),
        ("output", replay.output().into()),
        ("fields", fields.map(|field| field.name()).collect()),
    ])
    .into()
}

/// Reads on for so many bytes. When all has been read, the answer has what the whole text looks like.
pub(crate) fn read_on(
    Replayed { replay, .. }: &mut Replayed,
    request: &Request<'_>,
) -> Result<Value, String> {
    let has_more = replay.read_on(request.number("budget")?, true);
    let mut answer = Object::from_iter([
        ("more", Value::from(has_more)),
        ("read", replay.read().into()),
    ]);
    if !has_more {
        answer.insert("stripes", stripes(replay));
        answer.insert("last", place_value(replay.last()));
        answer.insert("fails", matches!(replay.outcome(), Some(Err(_))));
    }
    Ok(answer.into())
}

/// The fields along the text, from its beginning to its end.
fn stripes(replay: &Replay) -> Value {
    let length = replay.text().len();
    let count = length.min(STRIPES);
    let stripes = (0..count).map(|index| {
        let segment = replay.segment_at(index * length / count);
        let field = segment.and_then(|(segment, _)| segment.field);
        field.map_or(Value::Null, |field| usize::from(field).into())
    });
    stripes.collect()
}

/// What there is to see at a place, or at another that is found from there.
pub(crate) fn look(
    Replayed { replay, expected }: &mut Replayed,
    request: &Request<'_>,
) -> Result<Value, String> {
    let expected = expected.as_ref();
    // The request may be about a replay that has been cut otherwise since.
    let last = replay.last();
    let from = Position {
        fed: request.number("fed")?.min(last.fed),
        events: request.number("events")?.min(last.events),
    };
    let by = || request.number("by");
    let place = match request.text("step")? {
        "stay" => from,
        "first" => replay.first(),
        "last" => replay.last(),
        "next chunk" => replay.next_chunk(from),
        "previous chunk" => replay.previous_chunk(from),
        "next event" => replay.next_event(from),
        "previous event" => replay.previous_event(from),
        "next region" => replay.next_region(from),
        "previous region" => replay.previous_region(from),
        "byte" => replay.at_byte(by()?),
        "fed" => replay.at_fed_bytes(by()?),
        "event" => replay.at_event(by()?),
        "chunk" => {
            let chunk = by()?;
            match chunk > replay.chunks() {
                true => replay.last(),
                false => replay.at_fed_bytes(replay.fed_bytes(chunk)),
            }
        }
        "difference" => difference(replay, expected)?,
        other => return Err(format!("nobody can go to the `{other}`")),
    };
    let place = place.clamp(replay.first(), last);
    let pairs = pairs(replay, place, expected, Against::Expected);
    let mut answer = place_value(place).into_object();
    answer.insert("looked", replay.looked(place));
    answer.insert("is_end", replay.is_end(place));
    answer.insert("text", text(replay, place));
    answer.insert("events_shown", events(replay, place));
    answer.insert("why", why(replay, place));
    answer.insert("message", pairs.iter().map(pair_value).collect::<Value>());
    if replay.is_end(place) {
        if let Some(Err(error)) = replay.outcome() {
            answer.insert("error", error.to_string());
        }
        if let Some(whole) = replay.whole() {
            let whole = match whole {
                Ok(message) => preview(&message.clone().into(), SHOWN),
                Err(error) => error.to_string(),
            };
            answer.insert("whole", whole);
        }
    }
    Ok(answer.into())
}

/// The message that comes out in the end.
pub(crate) fn outcome(Replayed { replay, .. }: &Replayed) -> Result<Value, String> {
    match replay.outcome() {
        Some(Ok(message)) => Ok(Object::from_iter([("message", message.clone())]).into()),
        Some(Err(error)) => Err(format!("no message comes out: {error}")),
        None => Err("the text has yet to be read to its end".to_owned()),
    }
}

fn place_value(place: Position) -> Value {
    Object::from_iter([("fed", place.fed), ("events", place.events)]).into()
}

/// The first chunk after which the message can't become the one that is expected any more; or the end.
fn difference(replay: &Replay, expected: Option<&Object>) -> Result<Position, String> {
    let expected = expected.ok_or("nothing is expected of this text")?;
    let differs = |place: Position| {
        let pairs = pairs(replay, place, Some(expected), Against::Expected);
        pairs
            .iter()
            .any(|pair| matches!(pair.mark, Mark::Other | Mark::Extra | Mark::Missing))
    };
    // A message that has gone wrong does not become right again.
    let (mut right, mut wrong) = (0, replay.last().events);
    if !differs(replay.last()) {
        return Err("the message is what was expected".to_owned());
    }
    while right < wrong {
        let middle = right.midpoint(wrong);
        let place = match middle {
            0 => replay.first(),
            events => replay.at_event(events - 1),
        };
        match differs(place) {
            true => wrong = middle,
            false => right = middle + 1,
        }
    }
    Ok(match right {
        0 => replay.first(),
        events => replay.at_event(events - 1).min(replay.last()),
    })
}

/// The text around the place, in pieces that are each of one kind.
fn text(replay: &mut Replay, place: Position) -> Value {
    let all = replay.text();
    let looked = replay.looked(place);
    let from = line_start(all, all.floor_char_boundary(looked.saturating_sub(BEFORE)));
    let to = all.ceil_char_boundary((looked + BEHIND).min(all.len()));
    let held = replay
        .waiting(place)
        .map(|waiting| waiting.held)
        .unwrap_or(looked..looked);
    let borders = [replay.output(), held.start, held.end, looked];
    let mut pieces = Vec::new();
    let mut at = from;
    while at < to {
        let (kind, field, end) = match replay.segment_at(at) {
            Some((segment, range)) => {
                (part_key(segment.part), segment.field, range.end.max(at + 1))
            }
            None => ("unread", None, to),
        };
        let next = borders.iter().copied().filter(|border| *border > at).min();
        let end = end.min(to).min(next.unwrap_or(to));
        let end = replay.text().ceil_char_boundary(end);
        let state = match at {
            at if held.contains(&at) && at < looked => "held",
            at if at >= looked => "to come",
            at if at < replay.output() => "prefilled",
            _ => "read",
        };
        let mut piece = Object::from_iter([
            ("at", Value::from(at)),
            ("kind", kind.into()),
            ("state", state.into()),
            ("text", replay.text()[at..end].into()),
        ]);
        if let Some(field) = field {
            piece.insert("field", usize::from(field));
        }
        pieces.push(Value::from(piece));
        at = end;
    }
    Object::from_iter([
        ("from", Value::from(from)),
        ("to", to.into()),
        ("pieces", pieces.into()),
    ])
    .into()
}

/// The beginning of the line, if that is near.
fn line_start(text: &str, at: usize) -> usize {
    let start = text[..at].rfind('\n').map_or(0, |before| before + 1);
    match at - start < BEFORE {
        true => start,
        false => at,
    }
}

fn part_key(part: SegmentKind) -> &'static str {
    match part {
        SegmentKind::Open => "open",
        SegmentKind::Body => "body",
        SegmentKind::Close => "close",
        SegmentKind::Skipped => "skipped",
    }
}

/// The last rows of what has been reported; the chunks of a region share one.
fn events(replay: &Replay, place: Position) -> Value {
    let reported = replay.events(place);
    let firsts = replay.event_rows();
    let firsts = &firsts[..firsts.partition_point(|&first| (first as usize) < reported.len())];
    let from = firsts.len().saturating_sub(EVENTS);
    let rows = firsts[from..].iter().enumerate().map(|(index, &first)| {
        let next = firsts.get(from + index + 1);
        let next = next.map_or(reported.len(), |&next| next as usize);
        event_value(replay, &reported[first as usize..next], next - 1)
    });
    rows.collect()
}

fn event_value(replay: &Replay, events: &[LoggedEvent], last_index: usize) -> Value {
    let (Some(first), Some(last)) = (events.first(), events.last()) else {
        return Value::Null;
    };
    let (kind, shown) = match last.what {
        EventKind::Open(_) => {
            let captures = replay.captures(last).iter();
            let captures = captures.map(|capture| format!(" {}={}", capture.name, capture.text));
            (
                "open",
                format!(
                    "{}{}",
                    &replay.text()[last.span()],
                    captures.collect::<String>()
                ),
            )
        }
        EventKind::Chunk { .. } => {
            let text = &replay.text()[first.span().start..last.span().end];
            ("chunk", text.to_owned())
        }
        EventKind::Close(_) => {
            let value = replay.value(last);
            (
                "close",
                value.map_or(String::new(), |value| preview(value, SHOWN)),
            )
        }
        EventKind::Malformed(_) => (
            "malformed",
            replay.error(last).unwrap_or_default().to_owned(),
        ),
    };
    Object::from_iter([
        ("kind", Value::from(kind)),
        ("field", usize::from(last.field).into()),
        ("index", last_index.into()),
        ("chunk", replay.chunk_of_event(last_index).into()),
        ("count", events.len().into()),
        ("text", shortened(&shown).into()),
    ])
    .into()
}

/// Which delimiter was found last, where the next text goes, what is held back, and which delimiters are waited for.
fn why(replay: &mut Replay, place: Position) -> Value {
    let mut answer = Object::new();
    let is_delimiter = |event: &&LoggedEvent| !matches!(event.what, EventKind::Chunk { .. });
    if let Some(last) = replay.events(place).iter().rfind(is_delimiter) {
        let captures = replay
            .captures(last)
            .iter()
            .map(|capture| Object::from_iter([("name", &capture.name), ("text", &capture.text)]));
        let kind = match last.what {
            EventKind::Open(_) => "opened",
            EventKind::Close(_) => "closed",
            _ => "malformed",
        };
        let last = Object::from_iter([
            ("field", Value::from(usize::from(last.field))),
            ("kind", kind.into()),
            ("text", shortened(&replay.text()[last.span()]).into()),
            ("at", last.span().start.into()),
            ("captures", captures.map(Value::from).collect()),
        ]);
        answer.insert("last", last);
    }
    match replay.waiting(place) {
        Some(waiting) => {
            answer.insert(
                "next",
                waiting.field.as_deref().map_or(Value::Null, Value::from),
            );
            answer.insert("held", held(replay, waiting.held));
            let watch = waiting.awaited.iter().map(awaited_value);
            answer.insert("watch", watch.collect::<Value>());
        }
        None if replay.is_within_chunk(place) => {
            let left = replay.next_chunk(place).events - place.events;
            answer.insert("left", left);
        }
        None => {}
    }
    if replay.is_end(place) {
        let waits = replay.waits().map(|(field, wait)| {
            Object::from_iter([
                ("field", usize::from(field)),
                ("bytes", wait.bytes),
                ("chunks", wait.chunks),
            ])
        });
        answer.insert("waits", waits.map(Value::from).collect::<Value>());
    }
    answer.into()
}

fn held(replay: &Replay, held: Range<usize>) -> Value {
    Object::from_iter([
        ("at", Value::from(held.start)),
        ("bytes", held.len().into()),
        ("text", shortened(&replay.text()[held]).into()),
    ])
    .into()
}

fn awaited_value(awaited: &AwaitedDelimiter) -> Value {
    let optional = |text: Option<&str>| text.map_or(Value::Null, |text| shortened(text).into());
    let spellings = awaited.spellings.iter();
    Object::from_iter([
        ("field", Value::from(&awaited.field)),
        ("opens", awaited.opens.into()),
        ("is_pattern", awaited.is_pattern.into()),
        ("spellings", spellings.map(|text| shortened(text)).collect()),
        ("has", optional(awaited.prefix.as_deref())),
        ("lacks", optional(awaited.lacks())),
    ])
    .into()
}

fn pair_value(pair: &Pair) -> Value {
    let mark = match pair.mark {
        Mark::Same => "same",
        Mark::Other => "other",
        Mark::Extra => "extra",
        Mark::Missing => "missing",
        Mark::ToCome => "to come",
    };
    let side = |shown: &Option<Shown>| shown.as_ref().map_or(Value::Null, shown_value);
    Object::from_iter([
        ("depth", Value::from(pair.depth)),
        ("label", Value::from(&pair.label)),
        ("mark", mark.into()),
        ("actual", side(&pair.actual)),
        ("expected", side(&pair.expected)),
    ])
    .into()
}

fn shown_value(shown: &Shown) -> Value {
    let object = match shown {
        Shown::Parts => Object::from_iter([("parts", true)]),
        // It has yet to come, which its sign says.
        Shown::NothingYet => Object::new(),
        Shown::Text(text, None) => Object::from_iter([("text", text)]),
        Shown::Text(text, Some(from)) => {
            let (same, other) = text.split_at(text.floor_char_boundary(*from));
            Object::from_iter([("text", same), ("other", other)])
        }
        Shown::Typed(text, type_name) => {
            Object::from_iter([("text", text.as_str()), ("type", *type_name)])
        }
        Shown::Left(count) => Object::from_iter([("left", *count)]),
    };
    object.into()
}

fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(SHOWN)]
}
