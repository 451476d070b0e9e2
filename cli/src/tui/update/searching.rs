//! Finding words in the text and in the events.

use memchr::memmem;

use unjinja::response::Capture;

use crate::tui::replay::{EventKind, LoggedEvent, Place, Replay};
use crate::tui::state::Workbench;

impl Workbench {
    pub(super) fn search_for(&mut self, words: String) {
        self.search = (!words.is_empty()).then_some(words);
        if self.search.is_some() {
            self.go_to_match(true);
        }
    }

    /// Goes to the next match, or to the one before; from the last to the first.
    pub(super) fn go_to_match(&mut self, forward: bool) {
        let Some(words) = &self.search else {
            return self.warn("nothing has been searched for yet: `/`");
        };
        let matches = matches(&self.replay, words);
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
            let words = format!("`{words}` is neither in the text nor in the events");
            return self.warn(words);
        };
        let number = matches.partition_point(|place| *place < next) + 1;
        let words = format!("`{words}`: {number} of {} places", matches.len());
        self.playing = false;
        self.go_to(next);
        self.notify(words);
    }
}

/// The places where words have come in, or have been reported; each once, in their order. Words without
/// capitals also stand for those with capitals.
fn matches(replay: &Replay, words: &str) -> Vec<Place> {
    let any_case = !words.chars().any(char::is_uppercase);
    let fold = |text: &str| match any_case {
        // Only letters of one byte, so that places stay the same.
        true => text.to_ascii_lowercase(),
        false => text.to_owned(),
    };
    let finder = memmem::Finder::new(words);
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
