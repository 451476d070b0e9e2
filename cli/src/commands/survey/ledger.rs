//! The rows in the order of their sources, each template whole once.
//!
//! Two sources may have the same template, and whichever a thread comes to first is surveyed. Its results go to the source
//! that was given first all the same, so that a survey does not depend on who was quicker.

use std::collections::{HashMap, VecDeque};

use unjinja::{Object, Value, json};

use super::super::batch::Members;
use super::row::{Answer, Body, Found, Key, from_hex};

/// What of a row is about its source alone.
const OF_SOURCE: [&str; 6] = ["source", "base", "variant", "text", "details", "same_as"];

/// What has been written, and what waits.
#[derive(Default)]
pub(crate) struct Ledger {
    written: HashMap<Key, Written>,
    /// What came for sources behind the next one, and may belong to an earlier one.
    fresh: HashMap<Key, Body>,
    waiting: VecDeque<Vec<Answer>>,
}

/// A template whose first row is written.
struct Written {
    /// The source of that row.
    source: String,
    brief: String,
}

impl Ledger {
    /// Takes note of a row that is written already.
    pub(crate) fn note(&mut self, row: Object) {
        let text = |key: &str| row.get(key).and_then(Value::as_str);
        let key = text("input").and_then(from_hex);
        if let (Some(key), Some(source)) = (key, text("source"))
            && row.contains_key("details")
        {
            let source = source.to_owned();
            let members = row.into_iter();
            let own = members.filter(|(key, _)| !OF_SOURCE.iter().any(|name| *key == **name));
            let mut brief = Members::default();
            brief.extend(own.collect());
            let brief = brief.json().to_owned();
            self.written.insert(key, Written { source, brief });
        }
    }

    /// The templates that are written.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Key> {
        self.written.keys().copied()
    }

    /// Takes what came of the next item.
    pub(crate) fn take(&mut self, mut answers: Vec<Answer>) {
        for answer in &mut answers {
            if let Found::Fresh(key, _) = answer.found
                && let Found::Fresh(key, body) =
                    std::mem::replace(&mut answer.found, Found::Known(key))
            {
                self.fresh.insert(key, body);
            }
        }
        self.waiting.push_back(answers);
    }

    /// The lines of the next item, unless it waits for a template that is still being surveyed.
    pub(crate) fn next(&mut self, is_taken: impl Fn(&Key) -> bool) -> Option<String> {
        let waits = |answer: &Answer| match &answer.found {
            Found::Known(key) => {
                !self.written.contains_key(key) && !self.fresh.contains_key(key) && is_taken(key)
            }
            _ => false,
        };
        if self.waiting.front()?.iter().any(waits) {
            return None;
        }
        let answers = self.waiting.pop_front()?;
        Some(
            answers
                .into_iter()
                .map(|answer| self.line(answer))
                .collect(),
        )
    }

    fn line(&mut self, answer: Answer) -> String {
        let mut head = Members::default();
        head.extend(answer.head);
        let head = head.json();
        let unreadable = |why: &str| {
            let why = json::write(&why.into());
            format!("{{{head},\"standing\":\"unreadable\",\"error\":{why}}}\n")
        };
        let key = match answer.found {
            Found::Unreadable(why) => return unreadable(&why),
            Found::Fresh(key, _) | Found::Known(key) => key,
        };
        if let Some(Written { source, brief }) = self.written.get(&key) {
            let source = json::write(&source.as_str().into());
            return format!("{{{head},{brief},\"same_as\":{source}}}\n");
        }
        let Some(Body { brief, details }) = self.fresh.remove(&key) else {
            return unreadable("the row of the source that has the same template is missing");
        };
        let line = format!("{{{head},{brief},\"details\":{details}}}\n");
        let source = answer.name;
        self.written.insert(key, Written { source, brief });
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(name: &str, found: Found) -> Vec<Answer> {
        vec![Answer {
            name: name.to_owned(),
            head: Object::from_iter([("source", name)]),
            found,
        }]
    }

    fn fresh(key: Key) -> Found {
        let [brief, details] = [r#""standing":"proved""#, "{}"].map(str::to_owned);
        Found::Fresh(key, Body { brief, details })
    }

    /// Nobody is surveying anything any more.
    fn nobody(_: &Key) -> bool {
        false
    }

    #[test]
    fn the_first_source_has_the_details_whoever_was_quicker() {
        let key = [7; 32];
        let mut ledger = Ledger::default();
        ledger.take(answer("a", Found::Known(key)));
        assert_eq!(ledger.next(|_| true), None);
        ledger.take(answer("b", fresh(key)));
        let lines: Vec<String> = std::iter::from_fn(|| ledger.next(|_| true)).collect();
        assert_eq!(
            lines,
            [
                "{\"source\":\"a\",\"standing\":\"proved\",\"details\":{}}\n",
                "{\"source\":\"b\",\"standing\":\"proved\",\"same_as\":\"a\"}\n",
            ]
        );
    }

    #[test]
    fn what_is_written_is_known_to_the_next_run() {
        let key = [7; 32];
        let hex = super::super::row::hex(&key);
        let row = format!(
            "{{\"source\":\"a\",\"text\":\"t\",\"input\":\"{hex}\",\"standing\":\"proved\",\"details\":{{}}}}"
        );
        let mut ledger = Ledger::default();
        ledger.note(json::read(&row).unwrap().into_object());
        assert_eq!(ledger.keys().collect::<Vec<_>>(), [key]);
        ledger.take(answer("b", Found::Known(key)));
        let expected = format!(
            "{{\"source\":\"b\",\"input\":\"{hex}\",\"standing\":\"proved\",\"same_as\":\"a\"}}\n"
        );
        assert_eq!(ledger.next(nobody), Some(expected));
    }

    #[test]
    fn a_row_whose_first_one_is_missing_is_no_row() {
        let mut ledger = Ledger::default();
        ledger.take(answer("b", Found::Known([7; 32])));
        let line = ledger.next(nobody).unwrap();
        assert!(line.contains("\"standing\":\"unreadable\""), "{line}");
    }
}
