//! Steps in the text, and how it is cut.

use std::time::Duration;

use crate::tui::difference::{departure_from_whole, first_difference};
use crate::tui::keys::Action;
use crate::tui::layout::Pane;
use crate::tui::sample::{Sample, Verdict};
use crate::tui::state::{
    Goal, READ_AT_ONCE, READ_BY_THE_WAY, SPEEDS, Weight, Workbench, chunking_of,
};
use unjinja_replay::Chunking;
use unjinja_replay::{Position, Spot};

/// No more steps are played between two frames.
const STEPS_AT_ONCE: u32 = 1000;

/// Pieces of a chosen length are no longer than this.
const LONGEST: usize = 1 << 16;

const STILL_COMING: &str = "the text is still coming in: it can be cut otherwise when it has ended";

impl Workbench {
    pub(super) fn step(&mut self, step: Action) {
        if self.goal.is_some() && self.replay.has_unread() && self.step_ahead(step) {
            return;
        }
        let (replay, at) = (&self.replay, self.at);
        let to = match step {
            Action::NextChunk => replay.next_chunk(at),
            Action::PreviousChunk => replay.previous_chunk(at),
            Action::NextEvent => replay.next_event(at),
            Action::PreviousEvent => replay.previous_event(at),
            Action::NextRegion => replay.next_region(at),
            Action::PreviousRegion => replay.previous_region(at),
            Action::First => replay.first(),
            Action::Last => return self.head_for(Goal::End),
            Action::FirstDifference => return self.go_to_difference(),
            Action::Play => return self.play(),
            Action::Faster => return self.change_speed(self.speed + 1),
            Action::Slower => return self.change_speed(self.speed.saturating_sub(1)),
            Action::NextChunking => return self.cut_otherwise(true),
            Action::PreviousChunking => return self.cut_otherwise(false),
            Action::LongerChunks => return self.change_length(self.length.saturating_mul(2)),
            Action::ShorterChunks => return self.change_length(self.length / 2),
            Action::NewSeed => return self.change_seed(),
            _ => return,
        };
        self.playing = false;
        self.go_to(to);
    }

    /// A step from a place that has yet to be read. Chunks are known before; of all else nothing is.
    /// Tells whether there is nothing more to be done.
    fn step_ahead(&mut self, step: Action) -> bool {
        let fed = self.fed();
        let fed = match step {
            Action::NextChunk => fed + 1,
            Action::PreviousChunk => fed.saturating_sub(1),
            Action::NextEvent
            | Action::PreviousEvent
            | Action::NextRegion
            | Action::PreviousRegion
            | Action::Play => {
                self.warn("the text has not been read so far yet");
                return true;
            }
            _ => return false,
        };
        self.stay = None;
        self.goal = Some(Goal::Spot(Spot::at(self.replay.fed_bytes(fed))));
        true
    }

    /// Goes to a place.
    pub(in crate::tui) fn go_to(&mut self, place: Position) {
        self.goal = None;
        self.stay = None;
        self.arrive(place);
    }

    fn arrive(&mut self, place: Position) {
        self.at = place;
        self.waiting = self.replay.waiting(place);
        for pane in [
            Pane::Text,
            Pane::Template,
            Pane::Why,
            Pane::Events,
            Pane::Message,
        ] {
            self.scrolled[pane.number()] = None;
        }
    }

    /// Goes to where a byte of the text has come in.
    pub(super) fn go_to_byte(&mut self, byte: usize) {
        let last = self.replay.text().len();
        if byte > last {
            return self.warn(format!("the text has {last} bytes"));
        }
        match byte > self.replay.read() {
            true => self.head_for(Goal::Spot(Spot::at(byte))),
            false => {
                self.playing = false;
                self.go_to(self.replay.at_byte(byte));
            }
        }
    }

    fn head_for(&mut self, goal: Goal) {
        self.stay = None;
        self.playing = false;
        self.goal = Some(goal);
    }

    /// Reads on a bit, and goes where it was meant to go as soon as that has been read.
    pub(in crate::tui) fn read_on(&mut self, has_time: bool) {
        let has_more = match has_time {
            true => self.replay.read_on(READ_AT_ONCE, true),
            false => self.replay.read_on(READ_BY_THE_WAY, false),
        };
        let place = match self.goal {
            Some(Goal::End) if !has_more => self.replay.last(),
            // What happens there without any text shows with the text behind it.
            Some(Goal::Spot(spot)) if !has_more || self.replay.read() > spot.byte => {
                self.replay.at_spot(spot)
            }
            _ => return,
        };
        self.arrive(place);
        // A live text goes on, and so does who follows it.
        if !(self.goal == Some(Goal::End) && self.replay.is_live()) {
            self.goal = None;
        }
    }

    /// Replays the sample from scratch, and stays where it is in the text.
    pub(in crate::tui) fn replay_again(&mut self) {
        let was_at_end = self.goal == Some(Goal::End) || self.replay.is_end(self.at);
        let spot = match self.goal {
            Some(Goal::Spot(spot)) => spot,
            _ => self.stay.unwrap_or_else(|| self.replay.spot(self.at)),
        };
        self.start_replay();
        self.stay = Some(spot);
        self.goal = Some(match was_at_end {
            true => Goal::End,
            false => Goal::Spot(spot),
        });
    }

    fn start_replay(&mut self) {
        self.stay = None;
        self.before_search = None;
        self.chunking = chunking_of(self.sample(), self.chunking);
        let replay = self
            .sample()
            .replay(&self.template, self.chunking, &self.tokens);
        self.outworn = Some(std::mem::replace(&mut self.replay, replay));
        self.at = self.replay.first();
        self.waiting = None;
    }

    pub(in crate::tui) fn select_sample(&mut self, number: usize) {
        if number >= self.samples.len() || number == self.selected {
            return;
        }
        self.selected = number;
        self.playing = false;
        self.scrolled = [None; 6];
        self.start_replay();
        self.goal = Some(Goal::End);
    }

    fn play(&mut self) {
        if self.replay.is_live() {
            return self.head_for(Goal::End);
        }
        if !self.playing && self.replay.is_end(self.at) {
            self.go_to(self.replay.first());
        }
        self.playing = !self.playing;
        self.goal = None;
        self.since_step = Duration::ZERO;
    }

    fn change_speed(&mut self, speed: usize) {
        self.speed = speed.min(SPEEDS.len() - 1);
        self.notify(format!("{} chunks a second", self.chunks_a_second()));
    }

    pub(super) fn tick(&mut self, elapsed: Duration) {
        if !self.playing {
            return;
        }
        let pause = Duration::from_secs(1) / self.chunks_a_second();
        self.since_step += elapsed;
        let mut place = self.at;
        for _ in 0..STEPS_AT_ONCE {
            let Some(left) = self.since_step.checked_sub(pause) else {
                break;
            };
            self.since_step = left;
            place = self.replay.next_chunk(place);
        }
        if place != self.at {
            self.stay = None;
            self.arrive(place);
        }
        if self.replay.is_end(place) {
            self.playing = false;
        }
    }

    /// Cuts the text in another of the ways there are.
    fn cut_otherwise(&mut self, is_forward: bool) {
        if self.replay.is_live() {
            return self.warn(STILL_COMING);
        }
        let ways = self.ways_to_cut();
        let kind =
            |way: &Chunking| std::mem::discriminant(way) == std::mem::discriminant(&self.chunking);
        let next = match ways.iter().position(kind) {
            Some(now) => ways[(now + if is_forward { 1 } else { ways.len() - 1 }) % ways.len()],
            None => ways[0],
        };
        self.cut_by(next);
    }

    /// The ways in which the text can be cut.
    fn ways_to_cut(&self) -> Vec<Chunking> {
        let mut ways = vec![
            Chunking::Tokens,
            Chunking::Characters,
            Chunking::Bytes(self.length),
            Chunking::Random {
                mean: self.length,
                seed: self.seed,
            },
            Chunking::Whole,
        ];
        let others = [Chunking::AsItCame, Chunking::AsItFails].into_iter();
        ways.extend(others.filter(|way| chunking_of(self.sample(), *way) == *way));
        ways
    }

    fn cut_by(&mut self, chunking: Chunking) {
        self.playing = false;
        self.chunking = chunking;
        self.notify(format!("cut {chunking}"));
        self.replay_again();
    }

    pub(super) fn cut_by_bytes(&mut self, length: usize) {
        if self.replay.is_live() {
            return self.warn(STILL_COMING);
        }
        self.length = length.clamp(1, LONGEST);
        self.cut_by(Chunking::Bytes(self.length));
    }

    fn change_length(&mut self, length: usize) {
        let length = length.clamp(1, LONGEST);
        let chunking = match self.chunking {
            Chunking::Bytes(_) => Chunking::Bytes(length),
            Chunking::Random { seed, .. } => Chunking::Random { mean: length, seed },
            _ => {
                return self
                    .warn("the length can be chosen for pieces of bytes and random ones: `c`");
            }
        };
        self.length = length;
        self.cut_by(chunking);
    }

    fn change_seed(&mut self) {
        if self.replay.is_live() {
            return self.warn(STILL_COMING);
        }
        if matches!(self.chunking, Chunking::Random { .. }) {
            self.seed = self.seed.wrapping_add(1);
        }
        self.cut_by(Chunking::Random {
            mean: self.length,
            seed: self.seed,
        });
    }

    fn go_to_difference(&mut self) {
        if self.replay.outcome().is_none() {
            return self.warn("the text has not been read to its end yet");
        }
        // Where it can only be seen in other pieces, it is cut into those.
        if self.difference().is_none() && self.sample().verdict.failing_places().is_some() {
            self.cut_by(Chunking::AsItFails);
            self.replay.read_on(READ_AT_ONCE, true);
        }
        if let Some((place, words)) = self.difference() {
            self.playing = false;
            self.go_to(place);
            return self.notify(words);
        }
        match &self.sample().verdict {
            Verdict::Failed(_) => self.warn("it is wrong, and shows at no place: `6` says how"),
            Verdict::Passed => self.notify("all is as expected, however the text is cut"),
            Verdict::Pending => {
                self.notify("no difference, cut like this; the other ways are still being tried");
            }
            Verdict::Unknown(why) => {
                let why = format!("the text can't be tried: {why}");
                self.warn(why);
            }
            Verdict::Open => self
                .warn("nothing is expected of this text: `a` makes what comes out the expectation"),
        }
    }

    /// The first place where something is wrong, and what.
    fn difference(&self) -> Option<(Position, &'static str)> {
        let expected = &self.sample().case.expected;
        let words = match expected.is_nothing() {
            true => "here the text can't be parsed",
            false => "the first difference from what was expected",
        };
        let from_expected = first_difference(&self.replay, expected).map(|place| (place, words));
        let from_whole = || {
            let words = "from here on the stream means something else than the whole text";
            departure_from_whole(&self.replay).map(|place| (place, words))
        };
        from_expected.or_else(from_whole)
    }

    pub(super) fn take_live(&mut self, text: &str, at: Duration) {
        let Some(number) = self.samples.iter().position(|sample| sample.is_live) else {
            return;
        };
        let sample = &mut self.samples[number];
        sample.case.output.push_str(text);
        sample.arrivals.push((sample.case.output.len(), at));
        sample.is_unsaved = true;
        if number == self.selected {
            self.replay.push(text, at);
        }
    }

    pub(super) fn end_live(&mut self, error: Option<String>) {
        let Some(number) = self.samples.iter().position(|sample| sample.is_live) else {
            return;
        };
        self.samples[number].is_live = false;
        if number == self.selected {
            self.replay.end_live();
        }
        if self.samples[number].case.output.is_empty() && error.is_none() {
            return self.drop_empty(number);
        }
        self.judge_one(number);
        match error {
            Some(error) => self.announce(error, Weight::Error),
            None => self.notify("the text has ended"),
        }
    }

    /// Nothing has come in by the pipe: what else there is is shown.
    fn drop_empty(&mut self, number: usize) {
        self.samples.remove(number);
        if self.samples.is_empty() {
            self.samples.push(Sample::stand_in());
        }
        let was_shown = number == self.selected;
        if number < self.selected || self.selected == self.samples.len() {
            self.selected -= 1;
        }
        if was_shown {
            self.start_replay();
            self.goal = Some(Goal::End);
            self.is_untouched = true;
        }
        // What is being tried goes by numbers, and these have changed.
        self.judge();
        self.announce(
            "nothing came in by the standard input: does the command before `|` write anything? `t` takes a text",
            Weight::Error,
        );
    }
}
