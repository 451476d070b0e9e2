//! Delimiters that take the beginning of others.
//!
//! Texts in which one delimiter stands right behind another, or begins within it, are read as the
//! parser reads them. Where the first takes what the second begins with, the second is lost.

use crate::markers;
use crate::response::pattern::{Meter, TooCostly};
use crate::response::{DelimiterKind, Example, Hit, Watch};

use super::subject::Subject;
use super::{Complaints, Lint, quoted};

/// So many texts are tried at the most; templates in use make some hundreds.
const MAX_TRIALS: usize = 20_000;

/// One delimiter, and another that is on watch when it has fired.
#[derive(Clone, Copy)]
struct Neighbours {
    /// The field whose region is open before.
    state: Option<usize>,
    first: Watch,
    second: Watch,
}

/// A text in which the second is lost.
struct Loss {
    text: String,
    /// What the first takes.
    taken: String,
    /// What of that belongs to the second as well.
    shared: String,
}

pub(super) fn check(subject: &Subject<'_>, complaints: &mut Complaints) {
    let mut trials = Trials {
        subject,
        left: MAX_TRIALS,
        meter: Meter::new(1 << 16),
    };
    for pair in neighbours(subject) {
        // What can't be tried within the budget is not complained of.
        let Ok(loss) = trials.loss(pair) else {
            break;
        };
        if let Some(loss) = loss {
            let (first, second) = (
                subject.describe(&pair.first),
                subject.describe(&pair.second),
            );
            let [text, taken, shared] = [&loss.text, &loss.taken, &loss.shared].map(|t| quoted(t));
            complaints.add(
                Lint::DelimitersOverlap,
                subject.delimiter_pointer(&pair.first),
                format!(
                    "in {text}, {first} takes {taken}, and {second}, which needs {shared} of it, \
                     is not found any more"
                ),
                format!(
                    "let the one take less, for example by a lookahead for what the other needs, \
                     or let the other do without {shared}"
                ),
            );
        }
    }
}

/// All pairs that can come one after the other, each once. There may be many: they are made as they
/// are needed.
fn neighbours(subject: &Subject<'_>) -> impl Iterator<Item = Neighbours> {
    let inner = subject.inner();
    let explicit = (0..inner.fields.len()).filter(|&field| Some(field) != inner.implicit);
    let firsts = explicit.map(Some).chain([None]).flat_map(|state| {
        let first = inner.watches(state).iter();
        first.map(move |&first| (state, first))
    });
    firsts.flat_map(|(state, first)| {
        let next = match first.kind {
            DelimiterKind::Open => Some(first.field),
            DelimiterKind::Close => inner.implicit,
        };
        let seconds = inner.watches(next).iter();
        let others = seconds.filter(move |second| second.delimiter != first.delimiter);
        others.map(move |&second| Neighbours {
            state,
            first,
            second,
        })
    })
}

struct Trials<'s> {
    subject: &'s Subject<'s>,
    left: usize,
    meter: Meter,
}

impl Trials<'_> {
    /// A text in which the first delimiter makes the second one lost.
    fn loss(&mut self, pair: Neighbours) -> Result<Option<Loss>, TooCostly> {
        let subject = self.subject;
        for first in subject.examples(&pair.first) {
            if first.matched().is_empty() {
                continue;
            }
            for second in subject.examples(&pair.second) {
                if let Some(loss) = self.loss_of(pair, first, second)? {
                    return Ok(Some(loss));
                }
            }
        }
        Ok(None)
    }

    /// Tries all texts in which two examples overlap or follow each other.
    fn loss_of(
        &mut self,
        pair: Neighbours,
        first: &Example,
        second: &Example,
    ) -> Result<Option<Loss>, TooCostly> {
        if first.matched().trim() == second.matched().trim() {
            // Each may stand for the other.
            return Ok(None);
        }
        let (before, wanted) = (&first.text[..first.found.end], second.text.as_str());
        for shared in overlaps(first.matched(), wanted) {
            let text = [before, &wanted[shared..]].concat();
            let from = before.len() - shared + second.found.start;
            let expected = from..from + second.found.len();
            if let Some(loss) = self.try_text(pair, text, expected, before.len())? {
                return Ok(Some(loss));
            }
        }
        Ok(None)
    }

    /// Reads a text in which the second delimiter lies at `expected`.
    fn try_text(
        &mut self,
        pair: Neighbours,
        text: String,
        expected: std::ops::Range<usize>,
        alone: usize,
    ) -> Result<Option<Loss>, TooCostly> {
        self.left = self.left.checked_sub(1).ok_or(TooCostly)?;
        let inner = self.subject.inner();
        let pattern = inner.delimiter(&pair.second).compiled();
        let Some(hit) = inner.first_hit(pair.state, &text, 0, &mut self.meter)? else {
            return Ok(None);
        };
        if hit.watch.delimiter != pair.first.delimiter || !hurts(pair, &hit, &expected, alone) {
            return Ok(None);
        }
        let own = pattern.find(&text, expected.start, &mut self.meter)?;
        if own != Some(expected.clone()) {
            return Ok(None);
        }
        let state = inner.after(&hit);
        let next = inner.first_hit(state, &text, hit.end, &mut self.meter)?;
        let is_found = next.is_some_and(|next| next.watch.delimiter == pair.second.delimiter);
        Ok((!is_found).then(|| Loss {
            taken: text[hit.start..hit.end].to_owned(),
            shared: text[expected.start..hit.end.min(expected.end)].to_owned(),
            text,
        }))
    }
}

/// How much the end of one text and the beginning of another may share: nothing, the whole of
/// either, or whole markers and white space, since models write markers whole.
fn overlaps<'t>(first: &'t str, second: &'t str) -> impl Iterator<Item = usize> + 't {
    let shares =
        |shared: usize| second.is_char_boundary(shared) && first.ends_with(&second[..shared]);
    let longest = first.len().min(second.len());
    (0..=longest).filter(move |&shared| {
        let at_seams = || is_seam(first, first.len() - shared) && is_seam(second, shared);
        shares(shared) && (shared == first.len() || at_seams())
    })
}

/// Whether no marker is cut in two at a position.
fn is_seam(text: &str, at: usize) -> bool {
    let (before, after) = text.split_at(at);
    let is_space = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let mut end = 0;
    is_space(before.chars().next_back())
        || is_space(after.chars().next())
        || markers::pieces(text).any(|piece| {
            end += piece.len();
            end == at
        })
}

/// Whether it matters that a hit takes something of what is expected.
fn hurts(pair: Neighbours, hit: &Hit, expected: &std::ops::Range<usize>, alone: usize) -> bool {
    let begins_inside = hit.start <= expected.start && expected.start < hit.end;
    let goes_beyond = expected.end > hit.end;
    let begins_together = expected.start == hit.start;
    let of_one_field = pair.first.field == pair.second.field;
    match (pair.first.kind, pair.second.kind) {
        // What opens a region may well look like what closes it.
        (DelimiterKind::Open, _) if of_one_field => {
            begins_inside && !begins_together && (goes_beyond || hit.end > alone)
        }
        // A region that never opens is lost, also if all of what opens it is taken.
        (_, DelimiterKind::Open) => begins_inside && (goes_beyond || !begins_together),
        _ => begins_inside && goes_beyond,
    }
}
