//! Which place of a template wrote something, dropped it, or decided that it be otherwise.

use std::ops::Range;

use crate::chat_template::program::{Kind, Statement, What};
use crate::chat_template::steps::Act;

use super::stage::{Stage, Traced};
use super::talk::Talk;

/// A place in a template.
pub(super) type Place = Range<usize>;

/// The place that wrote what stands somewhere in a rendering.
pub(super) fn written(stage: &Stage<'_>, talk: &Talk, at: usize) -> Option<Place> {
    let traced = stage.trace(talk);
    let writing = traced
        .writings
        .iter()
        .find(|writing| writing.range.contains(&at));
    let last = traced.writings.last().filter(|_| at >= traced.text.len());
    let writing = writing.or(last)?;
    Some(traced.steps.place(&traced.steps.all()[writing.step]))
}

/// The first place where a text was made that holds something which stands neither in the template nor in the
/// conversation.
pub(super) fn origin(stage: &Stage<'_>, talk: &Talk, sign: &str) -> Option<Place> {
    let place = first(stage, talk, |text| text.contains(sign))?;
    (!stage.source_at(&place).contains(sign)).then_some(place)
}

/// The first place where a text was made of which something is so.
pub(super) fn first(stage: &Stage<'_>, talk: &Talk, is_so: impl Fn(&str) -> bool) -> Option<Place> {
    let traced = stage.trace(talk);
    let mut steps = traced.steps.all().iter();
    let first = steps.find(|step| match &step.act {
        Act::Made(text) | Act::Wrote(text) => is_so(text),
        Act::Tested(_) => false,
    });
    first.map(|step| traced.steps.place(step))
}

/// Whether a run came to a statement: all conditions around it went its way.
pub(super) fn reaches(stage: &Stage<'_>, traced: &Traced, statement: &Statement) -> bool {
    stage.program.around(statement).all(|block| {
        let opener = &stage.program.statements[block.opened_by];
        opener.kind != Kind::If || taken(stage, traced, opener) == Some(block.branch == 0)
    })
}

/// Which branch of a statement was taken last, if it was come to.
fn taken(stage: &Stage<'_>, traced: &Traced, statement: &Statement) -> Option<bool> {
    let steps = traced.steps.all().iter().rev();
    let mut tests = steps.filter_map(|step| match step.act {
        Act::Tested(outcome) => Some((traced.steps.place(step), outcome)),
        _ => None,
    });
    tests.find_map(|(place, outcome)| {
        let of = stage.program.at(&place)?;
        (of.place == statement.place).then_some(outcome)
    })
}

/// The place at which a word was lost that stands under a key: the last to look at it, or the condition that
/// kept those from it that would have written it.
pub(super) fn dropped(
    stage: &Stage<'_>,
    talk: &Talk,
    word: &str,
    keys: &[&str],
    role: &str,
) -> Option<Place> {
    let traced = stage.trace(talk);
    let steps = traced.steps.all();
    let last_read = steps.iter().rposition(|step| match &step.act {
        Act::Made(text) | Act::Wrote(text) => text.contains(word),
        Act::Tested(_) => false,
    });
    if let Some(last) = last_read {
        let place = traced.steps.place(&steps[last]);
        let statement = stage.program.at(&place)?;
        let name = match &statement.kind {
            Kind::Set(name) => name.rsplit('.').next(),
            _ => None,
        };
        // It was kept for another statement, which was not come to.
        let kept = name.and_then(|name| barrier(stage, &traced, &[name], ""));
        return Some(kept.unwrap_or_else(|| statement.place.clone()));
    }
    if let Some(place) = barrier(stage, &traced, keys, role) {
        return Some(place);
    }
    // Nothing would have written it. Where is the speaker known?
    let of_role = stage.program.statements.iter().find(|statement| {
        statement.kind == Kind::If
            && compares(stage, statement, role)
            && taken(stage, &traced, statement) == Some(true)
    });
    let loops = || {
        stage
            .readers(&["messages"])
            .find(|statement| statement.kind == Kind::For)
    };
    let reader = || stage.readers(keys).next();
    of_role
        .or_else(reader)
        .or_else(loops)
        .map(|statement| statement.place.clone())
}

/// Whether a statement compares something with a text.
pub(super) fn compares(stage: &Stage<'_>, statement: &Statement, text: &str) -> bool {
    let uses = stage.program.uses_of(statement);
    uses.iter().any(|used| match &used.what {
        What::Comparison(comparison) => comparison.texts.iter().any(|known| known == text),
        _ => false,
    })
}

/// The condition that kept the template from a statement that reads one of these names; one about the role is
/// preferred, then the innermost.
fn barrier(stage: &Stage<'_>, traced: &Traced, names: &[&str], role: &str) -> Option<Place> {
    let mut best: Option<(bool, usize, Place)> = None;
    for statement in stage.readers(names) {
        if !matches!(statement.kind, Kind::Print | Kind::Set(_) | Kind::For) {
            continue;
        }
        let around: Vec<_> = stage.program.around(statement).collect();
        let mut about_role = false;
        // From the outside in: the first condition that went the other way.
        for (depth, block) in around.iter().rev().enumerate() {
            let opener = &stage.program.statements[block.opened_by];
            if opener.kind != Kind::If {
                continue;
            }
            about_role |= !role.is_empty() && block.branch == 0 && compares(stage, opener, role);
            let needed = block.branch == 0;
            match taken(stage, traced, opener) {
                Some(outcome) if outcome == needed => {}
                Some(_) => {
                    let rank = (about_role, depth, opener.place.clone());
                    if best
                        .as_ref()
                        .is_none_or(|best| (best.0, best.1) < (rank.0, rank.1))
                    {
                        best = Some(rank);
                    }
                    break;
                }
                None => break,
            }
        }
    }
    best.map(|(.., place)| place)
}

/// The place that decided that two renderings differ from somewhere on: the condition that parts what wrote
/// the one from what wrote the other, or what wrote both.
pub(super) fn parted(stage: &Stage<'_>, one: &Talk, other: &Talk, at: usize) -> Option<Place> {
    let first = written(stage, one, at)?;
    let Some(second) = written(stage, other, at) else {
        return Some(first);
    };
    let program = &stage.program;
    let (Some(a), Some(b)) = (program.at(&first), program.at(&second)) else {
        return Some(first);
    };
    if a.place == b.place {
        return Some(decided(stage, one, other).unwrap_or(first));
    }
    let path = |statement: &Statement| -> Vec<(usize, usize)> {
        let around = program.around(statement);
        let mut path: Vec<(usize, usize)> = around
            .map(|block| (block.opened_by, block.branch))
            .collect();
        path.reverse();
        path
    };
    let (left, right) = (path(a), path(b));
    let shared = left.iter().zip(&right).take_while(|(l, r)| l == r).count();
    // The outermost condition that only the earlier of the two stands in, or both in different branches.
    let conditions = |path: &[(usize, usize)]| {
        let openers = path[shared..]
            .iter()
            .map(|(opener, _)| &program.statements[*opener]);
        openers
            .filter(|opener| opener.kind == Kind::If)
            .map(|opener| opener.place.clone())
            .next()
    };
    let (own, others) = match a.place.start <= b.place.start {
        true => (conditions(&left), conditions(&right)),
        false => (conditions(&right), conditions(&left)),
    };
    own.or(others).or(Some(first))
}

/// The last condition before two runs part that came out one way in the one and another way in the other.
fn decided(stage: &Stage<'_>, one: &Talk, other: &Talk) -> Option<Place> {
    let (one, other) = (stage.trace(one), stage.trace(other));
    let tests = |traced: &Traced| -> Vec<(Place, bool)> {
        let steps = traced.steps.all().iter();
        let tests = steps.filter_map(|step| match step.act {
            Act::Tested(outcome) => Some((traced.steps.place(step), outcome)),
            _ => None,
        });
        tests.collect()
    };
    let (left, right) = (tests(&one), tests(&other));
    let mut pairs = left.iter().zip(&right);
    let (place, _) = pairs.find(|(l, r)| l != r).filter(|(l, r)| l.0 == r.0)?.0;
    Some(
        stage
            .program
            .at(place)
            .map_or(place.clone(), |statement| statement.place.clone()),
    )
}
