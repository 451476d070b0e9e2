//! One text on its way through the parser: what is reported at which place, and how to come from one
//! place to another.
//!
//! The text is read once, a bit at a time, and what is reported is kept. So a place is a number, and a
//! step is another one. Only what the parser waits for can't be kept for every place: for that, a
//! lookout is kept every now and then, and goes on from there.

mod agreement;
mod log;
mod moment;
mod places;
mod waits;

use std::ops::Range;
use std::time::Duration;

use unjinja::check::{Case, Cut};
use unjinja::response::{Capture, Lookout};
use unjinja::{
    Event, Object, OnMalformed, OnUnread, ParseError, ParserOptions, ResponseParser,
    ResponseTemplate, Value,
};

use crate::chunking::Chunking;

use agreement::Agreement;
pub use log::{EventKind, LoggedEvent, Segment, SegmentKind};
use log::{Log, short};
pub use moment::{AwaitedDelimiter, Seen, Waiting};
pub use places::{Position, Spot};
pub use waits::Wait;
use waits::Waits;

/// Feeding a chunk costs about as much as reading so many bytes.
const COST_OF_CHUNK: usize = 32;

/// A lookout is kept whenever so much has been read.
const BETWEEN_KEPT: usize = 1 << 20;

/// A lookout holds so many bytes for each delimiter, and the text that is held back.
const ROOM_PER_DELIMITER: usize = 1 << 10;

/// So many times as much is read before the next one is kept, so that they do not fill the memory.
const READ_PER_KEPT: usize = 8;

/// What a text means that comes as a whole.
#[derive(Debug)]
struct WholeReading {
    outcome: Result<Object, ParseError>,
    agreement: Agreement,
    /// The first byte that is something else there than in the stream.
    departs_at: Option<usize>,
}

/// What the message of a stream is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    /// The message that was expected.
    Expected,
    /// The message of the same text, read as a whole.
    Whole,
}

/// A text that is replayed.
#[derive(Debug)]
pub struct Replay {
    template: ResponseTemplate,
    /// How it is read.
    options: ParserOptions,
    /// The text since the anchor.
    text: String,
    /// Where the output begins in it; what stands before was written by the prompt.
    output: usize,
    /// Where each chunk ends.
    ends: Vec<u32>,
    /// When each came in, for those that did so live.
    arrivals: Vec<Duration>,
    /// Whether more of the text may come.
    is_live: bool,
    log: Log,
    agreement: Agreement,
    /// How many events have been reported when nothing has been fed but the prompt, when the first chunk
    /// has, and so on.
    marks: Vec<u32>,
    /// The longest waits of each field.
    waits: Waits,
    /// The parser that reads on; none when it can't.
    parser: Option<ResponseParser>,
    /// What came of it in the end.
    outcome: Option<Result<Object, ParseError>>,
    /// What the text means as a whole, where that is something else.
    whole: Option<WholeReading>,
    /// Lookouts on the way: how many chunks each has been fed.
    kept: Vec<(usize, Lookout)>,
    since_kept: usize,
    /// The lookout at the place that was looked at last.
    at_place: Option<(usize, Lookout)>,
}

impl Replay {
    /// Begins to replay a text.
    pub fn new(template: &ResponseTemplate, case: &Case, chunking: Chunking) -> Replay {
        let output = &case.output;
        match chunking {
            // There are too many of them to be listed before.
            Chunking::Characters => {
                let places = output.char_indices().map(|(at, _)| at);
                Replay::of_places(template, case, places)
            }
            Chunking::Tokens => Replay::of_places(template, case, Cut::token_places(output)),
            chunking => {
                let cut = chunking.cut(output).unwrap_or_else(Cut::whole);
                Replay::of_places(template, case, cut.places().iter().copied())
            }
        }
    }

    /// A text that is cut at places, in bytes.
    pub fn of_places(
        template: &ResponseTemplate,
        case: &Case,
        places: impl Iterator<Item = usize>,
    ) -> Replay {
        let mut replay = Replay::of_case(template, case);
        replay.is_live = false;
        replay.text.push_str(&case.output);
        // Places are in bytes, and a character stays whole.
        let ends = places.chain([usize::MAX]);
        let ends = ends.map(|end| case.output.floor_char_boundary(end));
        let ends = ends.filter(|end| *end > 0);
        replay.ends = ends.map(|end| short(replay.output + end)).collect();
        replay.ends.dedup();
        replay
    }

    /// A text that came in live, with the chunks that are known of it.
    pub fn of_arrivals(
        template: &ResponseTemplate,
        case: &Case,
        arrivals: &[(usize, Duration)],
        is_live: bool,
    ) -> Replay {
        let mut replay = Replay::of_case(template, case);
        let mut from = 0;
        for &(end, at) in arrivals {
            replay.push(&case.output[from..end], at);
            from = end;
        }
        replay.is_live = is_live;
        replay
    }

    /// A text of which nothing has come in yet, behind a prompt. It is read with these options, and goes on behind what can't be
    /// parsed.
    pub fn live(template: &ResponseTemplate, prefix: &str, options: ParserOptions) -> Replay {
        Replay::begin(template, prefix, options, Object::new())
    }

    fn of_case(template: &ResponseTemplate, case: &Case) -> Replay {
        let expected = case.expected.message.clone().unwrap_or_default();
        let options = match case.expected.is_nothing() {
            // Nobody has said that what nothing reads may be lost.
            true => case.parser_options().on_unread(OnUnread::Malformed),
            false => case.parser_options(),
        };
        Replay::begin(template, &case.prefix, options, expected)
    }

    fn begin(
        template: &ResponseTemplate,
        prefix: &str,
        strict: ParserOptions,
        expected: Object,
    ) -> Replay {
        let prefilled = template.after_anchor(prefix).ok().flatten();
        let text = prefilled.unwrap_or(prefix).to_owned();
        let options = (strict.clone())
            .on_malformed(OnMalformed::Event)
            .spans(true);
        let mut log = Log::default();
        let mut agreement = Agreement::new(template, expected);
        let begun_parser = begin(template, &text, options, |event| {
            log.take(template, &event);
            agreement.take(template, &event);
        });
        let (parser, outcome) = match begun_parser {
            Ok(parser) => (Some(parser), None),
            Err(error) => (None, Some(Err(error))),
        };
        Replay {
            template: template.clone(),
            options: strict,
            output: text.len(),
            text,
            ends: Vec::new(),
            arrivals: Vec::new(),
            is_live: true,
            marks: vec![short(log.events.len())],
            waits: Waits::new(template),
            log,
            agreement,
            kept: parser.iter().map(|parser| (0, parser.lookout())).collect(),
            parser,
            outcome,
            whole: None,
            since_kept: 0,
            at_place: None,
        }
    }

    /// More of a live text.
    pub fn push(&mut self, piece: &str, at: Duration) {
        if !piece.is_empty() {
            self.text.push_str(piece);
            self.ends.push(short(self.text.len()));
            self.arrivals.push(at);
        }
    }

    /// Nothing more comes of a live text.
    pub fn end_live(&mut self) {
        self.is_live = false;
    }

    /// Whether more of the text may come.
    pub fn is_live(&self) -> bool {
        self.is_live
    }

    /// Reads on for so many bytes at the most, or else for one chunk if it has to get on. Tells
    /// whether there is more to be read.
    pub fn read_on(&mut self, budget: usize, has_to: bool) -> bool {
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
    pub fn has_unread(&self) -> bool {
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
        self.marks.push(short(self.log.events.len()));
        let held = self.fed_bytes(number).saturating_sub(self.log.divided());
        self.waits.take(self.log.open_field(), held);
        if let Err(error) = fed {
            return self.fail(error);
        }
        self.since_kept += cost;
        let room = ROOM_PER_DELIMITER * self.template.fields().len() + held;
        if self.since_kept > BETWEEN_KEPT.max(READ_PER_KEPT * room) {
            self.since_kept = 0;
            let lookout = self.parser.as_ref().map(ResponseParser::lookout);
            self.kept.extend(lookout.map(|lookout| (number, lookout)));
        }
    }

    fn finish(&mut self) {
        let Some(parser) = self.parser.take() else {
            return;
        };
        let fed = self.ends.len();
        self.kept.push((fed, parser.lookout()));
        let (log, agreement) = (&mut self.log, &mut self.agreement);
        let template = &self.template;
        let finished = parser.finalize_with(|event| {
            log.take(template, &event);
            agreement.take(template, &event);
        });
        self.log.end(self.text.len());
        self.marks.push(short(self.log.events.len()));
        let outcome = match self.log.has_errors() {
            // The replay goes on behind what can't be parsed; elsewhere that is the end.
            true => self.strictly_read((1..=fed).map(|number| self.chunk(number))),
            false => finished,
        };
        self.whole = self.whole_reading(&outcome);
        self.outcome = Some(outcome);
    }

    /// What the text means as a whole, if that is something else than what came of the stream.
    fn whole_reading(&self, streamed: &Result<Object, ParseError>) -> Option<WholeReading> {
        // Where no delimiter depends on the cutting, nothing does, and a long text need not be read again.
        let fields = self.template.fields().iter();
        let mut delimiters = fields
            .flat_map(|field| [field.open(), field.close()])
            .flatten();
        if delimiters.all(|delimiter| delimiter.is_chunk_dependent() == Some(false)) {
            return None;
        }
        let outcome = self.strictly_read(std::iter::once(self.output..self.text.len()));
        let is_same = match (streamed, &outcome) {
            (Ok(streamed), Ok(whole)) => streamed.total_eq(whole),
            (Err(streamed), Err(whole)) => streamed.to_string() == whole.to_string(),
            _ => false,
        };
        (!is_same).then(|| WholeReading {
            agreement: self.agreement_with(outcome.clone().unwrap_or_default()),
            departs_at: self.log.departs_from(&self.log_of_whole()),
            outcome,
        })
    }

    /// What is reported of the text where it comes as a whole.
    fn log_of_whole(&self) -> Log {
        let options = (self.options.clone())
            .on_malformed(OnMalformed::Event)
            .spans(true);
        let mut log = Log::default();
        let mut take = |event: Event<'_>| log.take(&self.template, &event);
        let (prefilled, output) = self.text.split_at(self.output);
        if let Ok(mut parser) = begin(&self.template, prefilled, options, &mut take)
            && parser.feed_with(output, &mut take).is_ok()
        {
            // What can't be finished has been reported as far as it goes.
            let _as_far_as_it_goes = parser.finalize_with(&mut take);
        }
        log.end(self.text.len());
        log
    }

    /// What comes of the text in such chunks, where the first region that can't be parsed is the end.
    fn strictly_read(
        &self,
        mut chunks: impl Iterator<Item = Range<usize>>,
    ) -> Result<Object, ParseError> {
        let options = self.options.clone();
        let prefilled = &self.text[..self.output];
        let mut parser = begin(&self.template, prefilled, options, |_| {})?;
        chunks.try_for_each(|chunk| parser.feed_with(&self.text[chunk], |_| {}))?;
        parser.finalize_with(|_| {})
    }

    fn fail(&mut self, error: ParseError) {
        self.parser = None;
        self.outcome = Some(Err(error));
    }

    /// The bytes of a chunk, of which the first has the number 1.
    fn chunk(&self, number: usize) -> Range<usize> {
        let end = |number: usize| self.ends.get(number - 1).map(|&end| end as usize);
        let start = match number {
            0 | 1 => self.output,
            _ => end(number - 1).unwrap_or(self.text.len()),
        };
        match number {
            0 => 0..self.output,
            _ => start..end(number).unwrap_or(start),
        }
    }

    /// What reads the text.
    pub fn template(&self) -> &ResponseTemplate {
        &self.template
    }

    /// The text since the anchor.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where the output begins in the text.
    pub fn output(&self) -> usize {
        self.output
    }

    /// How many chunks there are.
    pub fn chunks(&self) -> usize {
        self.ends.len()
    }

    /// How far the text has been read, in bytes.
    pub fn read(&self) -> usize {
        self.fed_bytes(self.marks.len() - 1)
    }

    /// What came of it in the end, if the end has been read.
    pub fn outcome(&self) -> Option<&Result<Object, ParseError>> {
        self.outcome.as_ref()
    }

    /// What the text means as a whole, if the stream has come to its end and to something else.
    pub fn whole(&self) -> Option<&Result<Object, ParseError>> {
        self.whole.as_ref().map(|whole| &whole.outcome)
    }

    /// The fields of which text was held back, each with the most bytes at once, and the most chunks in a
    /// row.
    pub fn waits(&self) -> impl Iterator<Item = (u16, Wait)> + '_ {
        self.waits.all()
    }

    /// The first byte that is something else in the stream than in the whole text.
    pub fn departs_at(&self) -> Option<usize> {
        self.whole.as_ref()?.departs_at
    }

    /// Where regions that can't be parsed begin to close, in bytes and in their order.
    pub fn malformed_at(&self) -> &[u32] {
        self.log.malformed_at()
    }

    /// The numbers of the events that begin a row where the chunks of a region share one.
    pub fn event_rows(&self) -> &[u32] {
        self.log.rows()
    }

    /// What has been reported up to a place.
    pub fn events(&self, place: Position) -> &[LoggedEvent] {
        &self.log.events[..place.events.min(self.log.events.len())]
    }

    /// The piece of the text that holds a byte, with its bytes.
    pub fn segment_at(&self, offset: usize) -> Option<(Segment, Range<usize>)> {
        self.log.segment_at(offset)
    }

    /// How much of the text is divided into segments.
    pub fn divided(&self) -> usize {
        self.log.divided()
    }

    /// The name of a field.
    pub fn field(&self, number: u16) -> &str {
        let field = self.template.fields().get(number as usize);
        field.map_or("", |field| field.name())
    }

    /// What an opening delimiter captured.
    pub fn captures(&self, event: &LoggedEvent) -> &[Capture] {
        match event.what {
            EventKind::Open(Some(number)) => self.log.captures(number),
            _ => &[],
        }
    }

    /// The value that a region closed with.
    pub fn value(&self, event: &LoggedEvent) -> Option<&Value> {
        match event.what {
            EventKind::Close(number) => Some(self.log.value(number)),
            _ => None,
        }
    }

    /// An event as it is exchanged; several chunks that follow each other are one.
    pub fn event_value(&self, events: &[LoggedEvent]) -> Value {
        let (Some(first), Some(last)) = (events.first(), events.last()) else {
            return Value::Null;
        };
        let field = self.field(first.field);
        let text = &self.text[first.span().start..last.span().end];
        let event = match first.what {
            EventKind::Open(_) => Event::Open {
                field,
                opening: None,
            },
            EventKind::Chunk { dirty } => Event::Chunk { field, text, dirty },
            EventKind::Close(number) => Event::Close {
                field,
                value: self.log.value(number),
                span: None,
                at_end: false,
            },
            EventKind::Malformed(number) => Event::Malformed {
                field,
                raw: "",
                error: self.log.error(number),
                span: None,
                at_end: false,
            },
        };
        event.to_value()
    }

    /// What is wrong with a region.
    pub fn error(&self, event: &LoggedEvent) -> Option<&str> {
        match event.what {
            EventKind::Malformed(number) => Some(self.log.error(number)),
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
