//! What was changed in a template's text, line by line.

use crate::value::{Object, Value};

/// Lines that were changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The number of the first of them, counted from 1, in the template as it was.
    pub line: usize,
    /// The lines as they were, without what is the same before and behind.
    pub before: String,
    /// The lines as they are now, without the same.
    pub after: String,
}

impl Change {
    /// For programs: an object of `line`, `before` and `after`.
    pub fn to_value(&self) -> Value {
        let mut out = Object::from_iter([("line", self.line)]);
        out.insert("before", self.before.as_str());
        out.insert("after", self.after.as_str());
        out.into()
    }

    /// The changes between two texts with the same lines, or but for a few.
    pub(super) fn lines(before: &str, after: &str) -> Vec<Change> {
        let (old, new): (Vec<&str>, Vec<&str>) =
            (before.lines().collect(), after.lines().collect());
        if old.len() == new.len() {
            let both = old.iter().zip(&new).enumerate();
            let differing = both.filter(|(_, (old, new))| old != new);
            return differing
                .map(|(index, (old, new))| Change::of(index + 1, old, new))
                .collect();
        }
        let same = old
            .iter()
            .zip(&new)
            .take_while(|(old, new)| old == new)
            .count();
        let rest = old.len().min(new.len()) - same;
        let tail = old.iter().rev().zip(new.iter().rev()).take(rest);
        let tail = tail.take_while(|(old, new)| old == new).count();
        let [old, new] = [&old, &new].map(|lines| lines[same..lines.len() - tail].join("\n"));
        vec![Change::of(same + 1, &old, &new)]
    }

    fn of(line: usize, before: &str, after: &str) -> Change {
        Change {
            line,
            before: before.trim().to_owned(),
            after: after.trim().to_owned(),
        }
    }
}
