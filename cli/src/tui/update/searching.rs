//! Finding words in the text and in the events.

use memchr::memmem;

use unjinja::response::Capture;

use crate::tui::sample::Sample;
use crate::tui::state::{Found, Workbench};
use unjinja_replay::{EventKind, LoggedEvent, Position, Replay};

impl Workbench {
    /// Ends the search that was typed: what it has found is where the stream is already.
    pub(super) fn search_for(&mut self, words: String) {
        let before = self.before_search.take();
        self.search = (!words.is_empty()).then_some(words);
        if self.search.is_some() {
            if let Some((place, _)) = before {
                self.go_to(place);
            }
            self.go_to_match(true);
        }
    }

    /// Shows the first match of what has been typed so far.
    pub(super) fn preview_search(&mut self, words: &str) {
        let Some((place, _)) = self.before_search else {
            return;
        };
        self.search = (!words.is_empty()).then(|| words.to_owned());
        let found = matches(&self.replay, words);
        let next = found.iter().position(|found| *found > place).unwrap_or(0);
        let folded = fold(words);
        let is_named = |sample: &&Sample| fold(&sample.case.name).contains(&folded);
        self.found = Found {
            places: found.len(),
            shown: next + 1,
            names: self.samples.iter().filter(is_named).count(),
        };
        self.go_to(found.get(next).copied().unwrap_or(place));
    }

    /// Goes back to where the stream was before the search was typed.
    pub(super) fn leave_search(&mut self) {
        if let Some((place, search)) = self.before_search.take() {
            self.search = search;
            self.go_to(place);
        }
    }

    /// Goes to the next match, or to the one before; from the last to the first. Where there is none in
    /// the text and its events, to the next sample of such a name.
    pub(super) fn go_to_match(&mut self, forward: bool) {
        let Some(words) = self.search.clone() else {
            return self.warn("nothing has been searched for yet: `/`");
        };
        let matches = matches(&self.replay, &words);
        let next = match forward {
            true => matches
                .iter()
                .find(|place| **place > self.at)
                .or(matches.first()),
            false => matches
                .iter()
                .rfind(|place| **place < self.at)
                .or(matches.last()),
        };
        let Some(&next) = next else {
            return self.go_to_name(&words, forward);
        };
        let number = matches.partition_point(|place| *place < next) + 1;
        let words = match matches.len() {
            1 => format!("`{words}`: the only place"),
            count => format!("`{words}`: {number} of {count} places"),
        };
        self.playing = false;
        self.go_to(next);
        self.notify(words);
    }

    /// Goes to the next sample in whose name words are, or to the one before.
    fn go_to_name(&mut self, words: &str, forward: bool) {
        let folded = fold(words);
        let (count, at) = (self.samples.len(), self.selected);
        let mut numbers = (1..=count).map(|step| match forward {
            true => (at + step) % count,
            false => (at + count - step) % count,
        });
        let named = numbers.find(|&number| fold(&self.samples[number].case.name).contains(&folded));
        match named {
            Some(number) => {
                self.select_sample(number);
                self.notify(format!("`{words}` is in the name of this sample"));
            }
            None => self.warn(format!(
                "`{words}` is neither in the text, nor in its events, nor in the name of a sample"
            )),
        }
    }
}

/// A text without regard to case. All characters keep their places: those that take another number of
/// bytes in the other case stay as they are.
pub(in crate::tui) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let folded = text.chars().map(|letter| {
        let mut lower = letter.to_lowercase();
        match (lower.next(), lower.next()) {
            (Some(lower), None) if lower.len_utf8() == letter.len_utf8() => lower,
            _ => letter,
        }
    });
    folded.collect()
}

/// The places where words have come in, or have been reported; each once, in their order, without regard
/// to case.
fn matches(replay: &Replay, words: &str) -> Vec<Position> {
    let words = fold(words);
    if words.is_empty() {
        return Vec::new();
    }
    let finder = memmem::Finder::new(&words);
    let is_found = |text: &str| finder.find(fold(text).as_bytes()).is_some();
    let text = fold(replay.text());
    let ends = finder
        .find_iter(text.as_bytes())
        .map(|at| at + words.len() - 1);
    let mut places = replay.at_bytes(ends);
    // There may be a million events, and there are but few fields.
    let fields = replay.template().fields().iter();
    let of_fields: Vec<(bool, bool)> = fields
        .map(|field| ["open", "close"].map(|verb| is_found(&format!("{verb} {}", field.name()))))
        .map(|[opens, closes]| (opens, closes))
        .collect();
    let of_field = |event: &LoggedEvent| of_fields.get(event.field as usize).copied();
    let is_match = |event: &LoggedEvent| match event.what {
        // Their text is in the text.
        EventKind::Chunk { .. } => false,
        EventKind::Open(_) => {
            let captures = || replay.captures(event).iter();
            let is_captured =
                |capture: &Capture| is_found(&format!("{}={}", capture.name, capture.text));
            of_field(event).is_some_and(|(opens, _)| opens) || captures().any(is_captured)
        }
        EventKind::Close(_) => of_field(event).is_some_and(|(_, closes)| closes),
        EventKind::Malformed(_) => {
            let error = replay.error(event).unwrap_or_default();
            is_found(&format!("malformed {} {error}", replay.field(event.field)))
        }
    };
    let all = replay.events(replay.last()).iter().enumerate();
    let events = all.filter(|(_, event)| is_match(event));
    places.extend(events.map(|(index, _)| replay.at_event(index)));
    places.sort();
    places.dedup();
    places
}
