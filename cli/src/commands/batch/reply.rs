//! What comes of the rows of a batch.

use std::ops::Range;

use unjinja::{Object, Value, json};

/// The members of an object, as they are written.
#[derive(Default)]
pub(crate) struct Members {
    json: String,
    /// Each key, and where its value stands.
    places: Vec<(String, Range<usize>)>,
}

impl Members {
    /// Adds a member, of which there is none yet.
    pub(crate) fn insert(&mut self, key: &str, value: impl Into<Value>) {
        let value = value.into();
        self.write(key, |out| {
            json::write_into(out, &value, &json::Style::COMPACT);
        });
    }

    /// The same with a value that is written already.
    pub(crate) fn insert_written(&mut self, key: &str, value: &str) {
        self.write(key, |out| out.push_str(value));
    }

    /// Adds the members of an object.
    pub(crate) fn extend(&mut self, object: Object) {
        for (key, value) in object {
            self.insert(&key.to_string_lossy(), value);
        }
    }

    /// A value, as it is written.
    #[cfg_attr(
        not(feature = "parquet"),
        expect(dead_code, reason = "lines are written whole")
    )]
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let (_, place) = self.places.iter().find(|(known, _)| known == key)?;
        self.json.get(place.clone())
    }

    /// All members, with commas between them.
    pub(crate) fn json(&self) -> &str {
        &self.json
    }

    fn write(&mut self, key: &str, value: impl FnOnce(&mut String)) {
        if !self.json.is_empty() {
            self.json.push(',');
        }
        json::write_str(&mut self.json, key, false);
        self.json.push(':');
        let start = self.json.len();
        value(&mut self.json);
        self.places.push((key.to_owned(), start..self.json.len()));
    }
}

/// What comes of a row.
#[derive(Default)]
pub(crate) struct Reply {
    pub(crate) answer: Members,
    /// What the command would warn of, were the row all that it is given.
    pub(crate) warnings: Vec<String>,
}

impl Reply {
    /// Of a row that can't be read, why not.
    pub(super) fn of_fault(fault: impl Into<Value>) -> Reply {
        let mut reply = Reply::default();
        reply.answer.insert("error", fault);
        reply
    }
}

/// What came of some rows that follow each other.
pub(crate) struct Answers<A> {
    pub(crate) answers: A,
    /// How many rows there were.
    pub(crate) rows: u64,
    /// Where in the input they end.
    pub(crate) end: u64,
    /// Rows that are none, each with its place and the reason.
    pub(crate) faults: Vec<String>,
    /// Each with the number of its row.
    pub(crate) warnings: Vec<(u64, String)>,
}
