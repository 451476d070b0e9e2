//! Whether a conversation is rendered as it was when it goes on.

use crate::lint::{Level, Lint};
use crate::markers::{boundary, common_prefix};

use super::blame;
use super::stage::Stage;
use super::talk::{Talk, Word, WordKind};
use super::{Fault, Report};

/// Conversations that go on with a result.
const WITH_RESULT: [&str; 5] = ["uco", "uko", "uqo", "ubo", "uruqo"];
/// Conversations that go on with a question.
const WITH_QUESTION: [&str; 7] = ["utu", "uru", "sutu", "ututu", "ururu", "ucotu", "uqoru"];

/// So many characters are shown of what differs.
const SHOWN: usize = 24;

pub(super) fn check(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    if stage.takes_calls {
        let remedy = "keep the thoughts of all turns behind the last question, and write nothing that depends on what \
                      follows; otherwise caches are lost, and training step by step sees other texts than the model had";
        of_kind(
            stage,
            report,
            Lint::PrefixBeforeResult,
            &WITH_RESULT,
            "a result",
            remedy,
        );
    }
    let remedy = "write nothing in a turn that depends on what follows it, such as `loop.last`; where thoughts are to be \
                  left out of earlier turns, let a variable decide, so that those who train can keep them";
    of_kind(
        stage,
        report,
        Lint::PrefixBeforeQuestion,
        &WITH_QUESTION,
        "a question",
        remedy,
    );
}

fn of_kind(
    stage: &Stage<'_>,
    report: &mut Report<'_, '_>,
    lint: Lint,
    shapes: &[&str],
    follower: &str,
    remedy: &str,
) {
    for shape in shapes {
        let after = stage.talk(shape);
        if !stage.takes_calls && shape.contains(['c', 'q', 'k', 'b']) {
            continue;
        }
        let mut before = after.before_last();
        before.tools.clone_from(&after.tools);
        let Some(departure) = departure(stage, &before, &after) else {
            continue;
        };
        let Departure { at, was, is, lost } = departure;
        let mends = mending(stage, &before, &after);
        let loses = match &lost {
            Some(word) => format!(", and {} is lost", word.text),
            None => String::new(),
        };
        let mut message = format!(
            "once {follower} follows, what was said before renders differently from character {} on: {was:?} becomes \
             {is:?}{loses}",
            at.characters + 1,
        );
        message += &match mends {
            Some((name, value)) => format!("; not so with `{name}={value}`"),
            None => String::new(),
        };
        let level = match &lost {
            Some(word) if word.kind != WordKind::Thought => Level::Warning,
            _ => lint.level(),
        };
        report.add(
            Fault::new(lint, message, remedy)
                .level(level)
                .at(blame::parted(stage, &before, &after, at.bytes))
                .shown_by(&after)
                .marked(at.bytes..at.bytes + is.len()),
        );
    }
}

struct At {
    bytes: usize,
    characters: usize,
}

/// Where a text does not begin as it was.
struct Departure {
    at: At,
    was: String,
    is: String,
    /// What was said before and is not any more.
    lost: Option<Word>,
}

fn departure(stage: &Stage<'_>, before: &Talk, after: &Talk) -> Option<Departure> {
    let (old, new) = (stage.text(before)?, stage.text(after)?);
    let comes_out =
        |word: &&Word| word.message + 1 < after.messages.len() || new.contains(&word.text);
    if after
        .words
        .iter()
        .filter(|word| word.kind != WordKind::Id)
        .any(|word| !comes_out(&word))
    {
        return None;
    }
    let shared = common_prefix(&old, &new);
    if shared == old.len() {
        return None;
    }
    // What stands behind the last turn may belong to the turn that is to come.
    let shared = boundary(&old, shared).min(boundary(&new, shared));
    let shown = |text: &str| text[shared..].chars().take(SHOWN).collect();
    let lost = before
        .words
        .iter()
        .find(|word| old.contains(&word.text) && !new.contains(&word.text));
    Some(Departure {
        at: At {
            bytes: shared,
            characters: old[..shared].chars().count(),
        },
        was: shown(&old),
        is: shown(&new),
        lost: lost.cloned(),
    })
}

/// A variable with which the text stays as it is.
fn mending(stage: &Stage<'_>, before: &Talk, after: &Talk) -> Option<(String, bool)> {
    stage.variables().find_map(|name| {
        [true, false].into_iter().find_map(|value| {
            let [before, after] =
                [before, after].map(|talk| talk.clone().with_variable(&name, value));
            let texts = (stage.text(&before)?, stage.text(&after)?);
            let said = |talk: &Talk, text: &str| {
                talk.words
                    .iter()
                    .filter(|word| text.contains(&word.text))
                    .count()
            };
            let is_kept = texts.1.starts_with(&texts.0) && said(&before, &texts.0) > 1;
            is_kept.then(|| (name.clone(), value))
        })
    })
}
