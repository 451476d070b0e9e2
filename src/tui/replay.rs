//! One text on its way through the parser: what is told at which place, and how to come from one
//! place to another.
//!
//! The text is read once, a bit at a time, and what is told is kept. So a place is a number, and a
//! step is another one. Only what the parser waits for can't be kept for every place: for that, a
//! parser is kept every now and then, and goes on from there.

mod agreement;
mod log;

use std::ops::Range;
use std::time::Duration;

use crate::check::Case;
use crate::{
    Capture, Event, Object, OnMalformed, ParseError, ParserOptions, ResponseParser,
    ResponseTemplate, Tools, Value, parse,
};

use super::chunking::Chunking;

use agreement::Agreement;
use log::Log;
pub(crate) use log::{Part, Segment, Told, What};

/// Feeding a chunk costs about as much as reading so many bytes.
const COST_OF_CHUNK: usize = 32;

/// A parser is kept whenever so much has been read.
const BETWEEN_KEPT: usize = 1 << 20;

/// Where a replay is: so many chunks have been fed, and so much has been told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// How many chunks have been fed; one more than there are says that the text has ended.
    pub(crate) fed: usize,
    /// How many events have been told, those of the last chunk up to one of them.
    pub(crate) told: usize,
}

/// A text that is replayed.
#[derive(Debug)]
pub(crate) struct Replay {
    template: ResponseTemplate,
    tools: Tools,
    /// The text since the anchor.
    text: String,
    /// Where the output begins in it; what stands before was written by the prompt.
    output: usize,
    /// Where each chunk ends.
    ends: Vec<usize>,
    /// When each came in, for those that did so live.
    arrivals: Vec<Duration>,
    /// Whether more of the text may come.
    is_live: bool,
    log: Log,
    agreement: Agreement,
    /// How many events have been told when nothing has been fed but the prompt, when the first chunk
    /// has, and so on.
    marks: Vec<usize>,
    /// The parser that reads on; none when it can't.
    parser: Option<ResponseParser>,
    /// What came of it in the end.
    outcome: Option<Result<Object, ParseError>>,
    /// Parsers on the way: how many chunks each has been fed.
    kept: Vec<(usize, ResponseParser)>,
    since_kept: usize,
    /// The parser at the place that was looked at last.
    at_place: Option<(usize, ResponseParser)>,
}

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
    /// Begins to replay a text.
    pub(crate) fn new(template: &ResponseTemplate, case: &Case, chunking: Chunking) -> Replay {
        let cut = chunking
            .cut(&case.output)
            .unwrap_or_else(crate::check::Cut::whole);
        let mut at = 0;
        let ends = cut
            .pieces(&case.output)
            .filter(|piece| !piece.is_empty())
            .map(|piece| {
                at += piece.len();
                at
            });
        let ends: Vec<usize> = ends.collect();
        let mut replay = Replay::live(template, case);
        replay.is_live = false;
        replay.text.push_str(&case.output);
        replay.ends = ends.into_iter().map(|end| replay.output + end).collect();
        replay
    }

    /// A text that came in live, with the chunks that are known of it.
    pub(crate) fn of_arrivals(
        template: &ResponseTemplate,
        case: &Case,
        arrivals: &[(usize, Duration)],
        is_live: bool,
    ) -> Replay {
        let mut replay = Replay::live(template, case);
        let mut from = 0;
        for &(end, at) in arrivals {
            replay.push(&case.output[from..end], at);
            from = end;
        }
        replay.is_live = is_live;
        replay
    }

    fn live(template: &ResponseTemplate, case: &Case) -> Replay {
        let begun = template.after_anchor(&case.prefix).ok().flatten();
        let text = begun.unwrap_or(&case.prefix).to_owned();
        let options = ParserOptions {
            tools: case.tools.clone(),
            on_malformed: OnMalformed::Event,
            spans: true,
            ..ParserOptions::default()
        };
        let mut log = Log::default();
        let expected = case.expected.message.clone().unwrap_or_default();
        let mut agreement = Agreement::new(template, expected);
        let begun = begin(template, &text, options, |event| {
            log.take(template, &event);
            agreement.take(template, &event);
        });
        let (parser, outcome) = match begun {
            Ok(parser) => (Some(parser), None),
            Err(error) => (None, Some(Err(error))),
        };
        Replay {
            template: template.clone(),
            tools: case.tools.clone(),
            output: text.len(),
            text,
            ends: Vec::new(),
            arrivals: Vec::new(),
            is_live: true,
            marks: vec![log.told.len()],
            log,
            agreement,
            kept: parser.iter().map(|parser| (0, parser.clone())).collect(),
            parser,
            outcome,
            since_kept: 0,
            at_place: None,
        }
    }

    /// More of a live text.
    pub(crate) fn push(&mut self, piece: &str, at: Duration) {
        if !piece.is_empty() {
            self.text.push_str(piece);
            self.ends.push(self.text.len());
            self.arrivals.push(at);
        }
    }

    /// Nothing more comes of a live text.
    pub(crate) fn end_live(&mut self) {
        self.is_live = false;
    }

    pub(crate) fn is_live(&self) -> bool {
        self.is_live
    }

    /// Reads on for so many bytes at the most, or else for one chunk if it has to get on. Tells
    /// whether there is more to be read.
    pub(crate) fn read_on(&mut self, budget: usize, has_to: bool) -> bool {
        let mut left = budget;
        while self.has_unread() {
            let cost = self.chunk(self.marks.len()).len() + COST_OF_CHUNK;
            if cost > left && !(has_to && left == budget) {
                break;
            }
            left = left.saturating_sub(cost);
            self.read_chunk(cost);
        }
        if !self.is_live && self.outcome.is_none() && self.marks.len() > self.ends.len() {
            self.finish();
        }
        self.has_unread()
    }

    /// Whether there is more to be read.
    pub(crate) fn has_unread(&self) -> bool {
        self.outcome.is_none() && self.marks.len() <= self.ends.len()
    }

    fn read_chunk(&mut self, cost: usize) {
        let number = self.marks.len();
        let chunk = self.chunk(number);
        let Some(parser) = &mut self.parser else {
            return;
        };
        let (log, agreement) = (&mut self.log, &mut self.agreement);
        let template = &self.template;
        let fed = parser.feed_with(&self.text[chunk], |event| {
            log.take(template, &event);
            agreement.take(template, &event);
        });
        self.marks.push(self.log.told.len());
        if let Err(error) = fed {
            return self.fail(error);
        }
        self.since_kept += cost;
        if self.since_kept > BETWEEN_KEPT {
            self.since_kept = 0;
            self.kept
                .extend(self.parser.clone().map(|parser| (number, parser)));
        }
    }

    fn finish(&mut self) {
        let Some(parser) = self.parser.take() else {
            return;
        };
        let fed = self.ends.len();
        self.kept.push((fed, parser.clone()));
        let (log, agreement) = (&mut self.log, &mut self.agreement);
        let template = &self.template;
        let finished = parser.finalize_with(|event| {
            log.take(template, &event);
            agreement.take(template, &event);
        });
        self.log.end(self.text.len());
        self.marks.push(self.log.told.len());
        self.outcome = Some(match self.log.has_errors() {
            // The replay goes on behind what can't be parsed; elsewhere that is the end.
            true => self.strictly_parsed(),
            false => finished,
        });
    }

    fn strictly_parsed(&self) -> Result<Object, ParseError> {
        let options = ParserOptions {
            tools: self.tools.clone(),
            ..ParserOptions::default()
        };
        parse(&self.template, "", &self.text, options)
    }

    fn fail(&mut self, error: ParseError) {
        self.parser = None;
        self.outcome = Some(Err(error));
    }

    /// The bytes of a chunk, of which the first has the number 1.
    fn chunk(&self, number: usize) -> Range<usize> {
        let start = match number {
            0 | 1 => self.output,
            _ => self.ends[number - 2],
        };
        match number {
            0 => 0..self.output,
            _ => start..self.ends.get(number - 1).copied().unwrap_or(start),
        }
    }

    pub(crate) fn template(&self) -> &ResponseTemplate {
        &self.template
    }

    /// The text since the anchor.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Where the output begins in the text.
    pub(crate) fn output(&self) -> usize {
        self.output
    }

    /// How many chunks there are.
    pub(crate) fn chunks(&self) -> usize {
        self.ends.len()
    }

    /// How far the text has been read, in bytes.
    pub(crate) fn read(&self) -> usize {
        self.fed_bytes(self.marks.len() - 1)
    }

    /// What came of it in the end, if the end has been read.
    pub(crate) fn outcome(&self) -> Option<&Result<Object, ParseError>> {
        self.outcome.as_ref()
    }

    /// What has been told up to a place.
    pub(crate) fn told(&self, place: Place) -> &[Told] {
        &self.log.told[..place.told.min(self.log.told.len())]
    }

    pub(crate) fn segment_at(&self, offset: usize) -> Option<(Segment, Range<usize>)> {
        self.log.segment_at(offset)
    }

    /// How much of the text is divided into segments.
    pub(crate) fn divided(&self) -> usize {
        self.log.divided()
    }

    pub(crate) fn field(&self, number: u16) -> &str {
        let field = self.template.fields().get(number as usize);
        field.map_or("", |field| field.name())
    }

    /// What an opening delimiter captured.
    pub(crate) fn captures(&self, told: &Told) -> &[Capture] {
        match told.what {
            What::Open(Some(number)) => self.log.captures(number),
            _ => &[],
        }
    }

    /// The value that a region closed with.
    pub(crate) fn value(&self, told: &Told) -> Option<&Value> {
        match told.what {
            What::Close(number) => Some(self.log.value(number)),
            _ => None,
        }
    }

    /// An event as it is exchanged; several chunks that follow each other are one.
    pub(crate) fn event_value(&self, told: &[Told]) -> Value {
        let (Some(first), Some(last)) = (told.first(), told.last()) else {
            return Value::Null;
        };
        let field = self.field(first.field);
        let text = &self.text[first.span().start..last.span().end];
        let event = match first.what {
            What::Open(_) => Event::Open {
                field,
                opening: None,
            },
            What::Chunk { dirty } => Event::Chunk { field, text, dirty },
            What::Close(number) => Event::Close {
                field,
                value: self.log.value(number),
                span: None,
            },
            What::Malformed(number) => Event::Malformed {
                field,
                raw: "",
                error: self.log.error(number),
                span: None,
            },
        };
        event.to_value()
    }

    /// What is wrong with a region.
    pub(crate) fn error(&self, told: &Told) -> Option<&str> {
        match told.what {
            What::Malformed(number) => Some(self.log.error(number)),
            _ => None,
        }
    }
}

/// A parser that has read what of the prompt belongs to the message.
fn begin(
    template: &ResponseTemplate,
    text: &str,
    options: ParserOptions,
    on_event: impl FnMut(Event<'_>),
) -> Result<ResponseParser, ParseError> {
    let mut parser = ResponseParser::new(template, "", options)?;
    if !text.is_empty() {
        parser.feed_with(text, on_event)?;
    }
    Ok(parser)
}

/// Places, and the steps between them.
impl Replay {
    /// How many bytes of the text have been fed with the chunk of a number.
    pub(crate) fn fed_bytes(&self, fed: usize) -> usize {
        match fed {
            0 => self.output,
            _ => self.ends.get(fed - 1).copied().unwrap_or(self.text.len()),
        }
    }

    /// Where all of what a chunk makes the parser tell has been told.
    fn after(&self, fed: usize) -> Place {
        let fed = fed.min(self.marks.len() - 1);
        Place {
            fed,
            told: self.marks[fed],
        }
    }

    /// Where so much has been told, and nothing more.
    fn after_event(&self, told: usize) -> Place {
        let fed = self.marks.partition_point(|&mark| mark < told);
        match fed < self.marks.len() {
            true => Place { fed, told },
            false => self.last(),
        }
    }

    /// Before anything has been fed.
    pub(crate) fn first(&self) -> Place {
        self.after(0)
    }

    /// As far as the text has been read.
    pub(crate) fn last(&self) -> Place {
        self.after(usize::MAX)
    }

    /// Whether a place is the end of a text that has been read to its end.
    pub(crate) fn is_end(&self, place: Place) -> bool {
        self.outcome.is_some() && place == self.last()
    }

    /// Whether some events of the place's last chunk have yet to be told.
    pub(crate) fn is_within_chunk(&self, place: Place) -> bool {
        place.told < self.after(place.fed).told
    }

    /// Up to where the parser has looked at the text, as far as has been told.
    pub(crate) fn looked(&self, place: Place) -> usize {
        match self.is_within_chunk(place) {
            true => self.told(place).last().map_or(0, |told| told.span().end),
            false => self.fed_bytes(place.fed),
        }
    }

    /// Where the chunk that holds a byte has been fed.
    pub(crate) fn at_byte(&self, offset: usize) -> Place {
        match offset < self.output {
            true => self.first(),
            false => self.after(self.ends.partition_point(|&end| end <= offset) + 1),
        }
    }

    /// The same for many bytes, in their order: no chunk is looked at twice.
    pub(crate) fn at_bytes(&self, offsets: impl Iterator<Item = usize>) -> Vec<Place> {
        let mut before = 0;
        let places = offsets.map(|offset| match offset < self.output {
            true => self.first(),
            false => {
                let rest = self.ends[before..].iter();
                before += rest.take_while(|end| **end <= offset).count();
                self.after(before + 1)
            }
        });
        places.collect()
    }

    /// How many chunks have been fed when a text has been up to an offset, or a little more.
    pub(crate) fn chunks_up_to(&self, offset: usize) -> usize {
        match offset <= self.output {
            true => 0,
            false => self.ends.partition_point(|&end| end < offset) + 1,
        }
    }

    /// The place where a text has been fed up to an offset, or a little more, as at a change of its
    /// chunks.
    pub(crate) fn at_fed_bytes(&self, offset: usize) -> Place {
        self.after(self.chunks_up_to(offset))
    }

    pub(crate) fn next_chunk(&self, place: Place) -> Place {
        match self.is_within_chunk(place) {
            true => self.after(place.fed),
            false => self.after(place.fed + 1),
        }
    }

    pub(crate) fn previous_chunk(&self, place: Place) -> Place {
        self.after(place.fed.saturating_sub(1))
    }

    pub(crate) fn next_event(&self, place: Place) -> Place {
        match place.told < self.log.told.len() {
            true => self.after_event(place.told + 1),
            false => self.last(),
        }
    }

    pub(crate) fn previous_event(&self, place: Place) -> Place {
        // Text may have been fed after the last event.
        let last = self.after_event(place.told);
        match place.told {
            _ if last < place => last.max(self.first()),
            told if told <= self.first().told => self.first(),
            told => self.after_event(told - 1),
        }
    }

    /// Where the next region has just opened, or the end.
    pub(crate) fn next_region(&self, place: Place) -> Place {
        let rest = self.log.told.iter().skip(place.told);
        match rest.clone().position(is_open) {
            Some(index) => self.after_event(place.told + index + 1),
            None => self.last(),
        }
    }

    /// Where the region before, or this one, has just opened; or the start.
    pub(crate) fn previous_region(&self, place: Place) -> Place {
        let before = &self.log.told[..place.told.saturating_sub(1)];
        match before.iter().rposition(is_open) {
            Some(index) if index + 1 > self.first().told => self.after_event(index + 1),
            _ => self.first(),
        }
    }

    /// Where an event has just been told.
    pub(crate) fn at_event(&self, index: usize) -> Place {
        self.after_event(index + 1)
    }

    /// When a chunk came in, if that is known. The end comes with the last of them.
    pub(crate) fn arrival(&self, fed: usize) -> Option<Duration> {
        let last = self.arrivals.len().checked_sub(1)?;
        self.arrivals.get(fed.checked_sub(1)?.min(last)).copied()
    }

    /// The number of the chunk that made the parser tell an event.
    pub(crate) fn chunk_of_event(&self, index: usize) -> usize {
        self.marks.partition_point(|&mark| mark <= index)
    }
}

fn is_open(told: &Told) -> bool {
    matches!(told.what, What::Open(_))
}

/// What is the case at a place.
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
