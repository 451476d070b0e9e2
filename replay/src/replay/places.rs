//! Places in a text that is replayed, and the steps between them.

use std::time::Duration;

use super::Replay;
use super::log::{EventKind, LoggedEvent};

/// Where a replay is: so many chunks have been fed, and so much has been reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// How many chunks have been fed; one more than there are says that the text has ended.
    pub fed: usize,
    /// How many events have been reported, those of the last chunk up to one of them.
    pub events: usize,
}

/// A place by what does not depend on how the text is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    /// Up to where the parser has looked at the text.
    pub byte: usize,
    /// How many regions have opened and closed; none if that does not matter.
    pub told: Option<usize>,
}

impl Spot {
    /// Where so much of the text has come in.
    pub fn at(byte: usize) -> Spot {
        Spot { byte, told: None }
    }
}

impl Replay {
    /// How many bytes of the text have been fed with the chunk of a number.
    pub fn fed_bytes(&self, fed: usize) -> usize {
        match fed {
            0 => self.output,
            _ => self
                .ends
                .get(fed - 1)
                .map_or(self.text.len(), |&end| end as usize),
        }
    }

    /// Where all of what a chunk makes the parser report has been reported.
    fn after(&self, fed: usize) -> Position {
        let fed = fed.min(self.marks.len() - 1);
        Position {
            fed,
            events: self.marks[fed] as usize,
        }
    }

    /// Where so much has been reported, and nothing more.
    fn after_event(&self, events: usize) -> Position {
        let fed = self.marks.partition_point(|&mark| (mark as usize) < events);
        match fed < self.marks.len() {
            true => Position { fed, events },
            false => self.last(),
        }
    }

    /// Before anything has been fed.
    pub fn first(&self) -> Position {
        self.after(0)
    }

    /// As far as the text has been read.
    pub fn last(&self) -> Position {
        self.after(usize::MAX)
    }

    /// Whether a place is the end of a text that has been read to its end.
    pub fn is_end(&self, place: Position) -> bool {
        self.outcome.is_some() && place == self.last()
    }

    /// Whether some events of the place's last chunk have yet to be reported.
    pub fn is_within_chunk(&self, place: Position) -> bool {
        place.events < self.after(place.fed).events
    }

    /// Up to where the parser has looked at the text, as far as has been reported.
    pub fn looked(&self, place: Position) -> usize {
        match self.is_within_chunk(place) {
            true => self
                .events(place)
                .last()
                .map_or(0, |event| event.span().end),
            false => self.fed_bytes(place.fed),
        }
    }

    /// Where the chunk that holds a byte has been fed.
    pub fn at_byte(&self, offset: usize) -> Position {
        match offset < self.output {
            true => self.first(),
            false => self.after(self.ends.partition_point(|&end| end as usize <= offset) + 1),
        }
    }

    /// The same for many bytes, in their order: no chunk is looked at twice.
    pub fn at_bytes(&self, offsets: impl Iterator<Item = usize>) -> Vec<Position> {
        let mut before = 0;
        let places = offsets.map(|offset| match offset < self.output {
            true => self.first(),
            false => {
                let rest = self.ends[before..].iter();
                before += rest.take_while(|end| **end as usize <= offset).count();
                self.after(before + 1)
            }
        });
        places.collect()
    }

    /// How many chunks have been fed when a text has been up to an offset, or a little more.
    pub fn chunks_up_to(&self, offset: usize) -> usize {
        match offset <= self.output {
            true => 0,
            false => self.ends.partition_point(|&end| (end as usize) < offset) + 1,
        }
    }

    /// The place where a text has been fed up to an offset, or a little more, as at a change of its
    /// chunks.
    pub fn at_fed_bytes(&self, offset: usize) -> Position {
        self.after(self.chunks_up_to(offset))
    }

    /// A place as it is whatever way the text is cut.
    pub fn spot(&self, place: Position) -> Spot {
        Spot {
            byte: self.looked(place),
            told: Some(self.told(place)),
        }
    }

    /// The place that is a spot of the text: within a chunk, if something that was reported ends there; or else where
    /// a little more has been fed.
    pub fn at_spot(&self, spot: Spot) -> Position {
        let mut place = self.at_looked(spot.byte);
        let Some(wanted) = spot.told else {
            return place;
        };
        let mut told = self.told(place);
        // A delimiter may be reported with the text behind it only, and regions open and close without any text, too.
        let is_due = |event: &LoggedEvent| !is_chunk(event) && event.span().end <= spot.byte;
        while told < wanted && self.log.events.get(place.events).is_some_and(is_due) {
            place = self.after_event(place.events + 1);
            told += 1;
        }
        let is_without_text = |event: &LoggedEvent| event.span() == (spot.byte..spot.byte);
        while told > wanted && self.events(place).last().is_some_and(is_without_text) {
            place = self.after_event(place.events - 1);
            told -= 1;
        }
        place
    }

    /// How many regions have opened and closed, which does not depend on how the text is cut.
    fn told(&self, place: Position) -> usize {
        self.log.turns(place.events)
    }

    /// Where the parser has looked at a text up to an offset, or a little more.
    fn at_looked(&self, offset: usize) -> Position {
        let after = self.at_fed_bytes(offset);
        let Some(before) = after.fed.checked_sub(1) else {
            return after;
        };
        let before = self.after(before).events;
        let told = &self.log.events[before..after.events];
        let count = told.partition_point(|event| event.span().end <= offset);
        let last = count.checked_sub(1).map(|last| told[last].span().end);
        match last == Some(offset) {
            true => Position {
                fed: after.fed,
                events: before + count,
            },
            false => after,
        }
    }

    /// One chunk on.
    pub fn next_chunk(&self, place: Position) -> Position {
        match self.is_within_chunk(place) {
            true => self.after(place.fed),
            false => self.after(place.fed + 1),
        }
    }

    /// One chunk back.
    pub fn previous_chunk(&self, place: Position) -> Position {
        self.after(place.fed.saturating_sub(1))
    }

    /// One event on.
    pub fn next_event(&self, place: Position) -> Position {
        match place.events < self.log.events.len() {
            true => self.after_event(place.events + 1),
            false => self.last(),
        }
    }

    /// One event back.
    pub fn previous_event(&self, place: Position) -> Position {
        // Text may have been fed after the last event.
        let last = self.after_event(place.events);
        match place.events {
            _ if last < place => last.max(self.first()),
            events if events <= self.first().events => self.first(),
            events => self.after_event(events - 1),
        }
    }

    /// Where the next region has just opened, or the end.
    pub fn next_region(&self, place: Position) -> Position {
        let rest = self.log.events.iter().skip(place.events);
        match rest.clone().position(is_open) {
            Some(index) => self.after_event(place.events + index + 1),
            None => self.last(),
        }
    }

    /// Where the region before, or this one, has just opened; or the start.
    pub fn previous_region(&self, place: Position) -> Position {
        let events = self.events(place);
        let before = &events[..events.len().saturating_sub(1)];
        match before.iter().rposition(is_open) {
            Some(index) if index + 1 > self.first().events => self.after_event(index + 1),
            _ => self.first(),
        }
    }

    /// Where an event has just been reported.
    pub fn at_event(&self, index: usize) -> Position {
        self.after_event(index + 1)
    }

    /// When a chunk came in, if that is known. The end comes with the last of them.
    pub fn arrival(&self, fed: usize) -> Option<Duration> {
        let last = self.arrivals.len().checked_sub(1)?;
        self.arrivals.get(fed.checked_sub(1)?.min(last)).copied()
    }

    /// The number of the chunk that made the parser report an event.
    pub fn chunk_of_event(&self, index: usize) -> usize {
        self.marks.partition_point(|&mark| mark as usize <= index)
    }
}

fn is_chunk(event: &LoggedEvent) -> bool {
    matches!(event.what, EventKind::Chunk { .. })
}

fn is_open(event: &LoggedEvent) -> bool {
    matches!(event.what, EventKind::Open(_))
}

#[cfg(test)]
mod tests {
    use unjinja::check::{Case, Expected};
    use unjinja::{ResponseTemplate, Tools};

    use super::*;
    use crate::Chunking;

    #[test]
    fn from_a_place_behind_the_end_every_step_leads_to_a_place_of_the_text() {
        let template = r#"{"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}}"#;
        let template = ResponseTemplate::from_json(template).expect("it is valid");
        let case = Case::new(
            "a",
            "<bot>",
            "Hello!<end>",
            Tools::none(),
            Expected::default(),
        );
        let mut replay = Replay::new(&template, &case, Chunking::Characters);
        replay.read_on(usize::MAX, false);
        let last = replay.last();
        for (fed, events) in [(0, 1000), (1, 1000), (last.fed, 1000), (1000, 1000)] {
            let place = Position { fed, events };
            for found in [
                replay.next_chunk(place),
                replay.previous_chunk(place),
                replay.next_event(place),
                replay.previous_event(place),
                replay.next_region(place),
                replay.previous_region(place),
            ] {
                assert!(found <= last, "{found:?} from {place:?}");
                assert!(found.events <= last.events, "{found:?} from {place:?}");
            }
        }
    }
}
