//! Which place of a template wrote something, or decided that it be otherwise.

use std::ops::Range;

use crate::chat_template::program::{Statement, StatementKind, What};
use crate::chat_template::steps::{Act, Writing};

use super::stage::{Stage, Traced, Ways};
use super::talk::Talk;

/// A place in a template.
pub(super) type SourceRange = Range<usize>;

/// The place that wrote what stands somewhere in a rendering, be it in a macro.
pub(super) fn written(stage: &Stage<'_>, talk: &Talk, at: usize) -> Option<SourceRange> {
    let traced = stage.trace(talk);
    let step = *writing(&traced, at)?.steps.last()?;
    Some(traced.steps.place(&traced.steps.all()[step]))
}

/// The same, or the place that called the macro.
pub(super) fn written_outside(stage: &Stage<'_>, talk: &Talk, at: usize) -> Option<SourceRange> {
    let traced = stage.trace(talk);
    let steps = writing(&traced, at)?.steps.iter();
    let mut places = steps.map(|step| traced.steps.place(&traced.steps.all()[*step]));
    // What stands in `{% call %}` is written where it stands.
    let is_called = |place: &SourceRange| {
        let statement = stage.program.at(place);
        statement.is_some_and(|statement| statement.kind != StatementKind::Tag("call"))
    };
    places.find(is_called)
}

/// What was written somewhere in a rendering, or last.
fn writing(traced: &Traced, at: usize) -> Option<&Writing> {
    let mut all = traced.writings.iter();
    let found = all.find(|writing| writing.range.contains(&at));
    found.or_else(|| traced.writings.last().filter(|_| at >= traced.text.len()))
}

/// The first place where a text was made that holds something which stands neither in the template nor in the
/// conversation.
pub(super) fn origin(stage: &Stage<'_>, talk: &Talk, sign: &str) -> Option<SourceRange> {
    let place = first(stage, talk, |text| text.contains(sign))?;
    (!stage.source_at(&place).contains(sign)).then_some(place)
}

/// The first place where a text was made of which something is so.
pub(super) fn first(
    stage: &Stage<'_>,
    talk: &Talk,
    is_so: impl Fn(&str) -> bool,
) -> Option<SourceRange> {
    let traced = stage.trace(talk);
    let mut steps = traced.steps.all().iter();
    let first = steps.find(|step| match &step.act {
        Act::Made(text) | Act::Wrote(text) => is_so(text),
        Act::Tested(_) => false,
    });
    first.map(|step| traced.steps.place(step))
}

/// Whether a run came to a statement: all conditions around it went its way.
pub(super) fn reaches(stage: &Stage<'_>, ways: &Ways, statement: &Statement) -> bool {
    stage.program.around(statement).all(|block| {
        let opener = &stage.program.statements[block.opened_by];
        opener.kind != StatementKind::If || ways.tested(opener, block.branch == 0)
    })
}

/// The loop over what stands under a key that a run came to, and never went through.
pub(super) fn idle_loop(stage: &Stage<'_>, talk: &Talk, keys: &[&str]) -> Option<SourceRange> {
    let traced = stage.trace(talk);
    let steps = || {
        traced
            .steps
            .all()
            .iter()
            .map(|step| traced.steps.place(step))
    };
    let mut loops = stage.readers(keys).filter(|statement| {
        statement.kind == StatementKind::For && reaches(stage, &traced.ways, statement)
    });
    let is_within = |opener: &Statement, place: &SourceRange| {
        let statement = stage.program.at(place);
        statement.is_some_and(|statement| {
            let mut around = stage.program.around(statement);
            around.any(|block| {
                block.branch == 0 && stage.program.statements[block.opened_by].place == opener.place
            })
        })
    };
    let idle = loops.find(|opener| !steps().any(|place| is_within(opener, &place)))?;
    Some(idle.place.clone())
}

/// The statement that picks some of what stands under a key, or else goes through all of it.
pub(super) fn picking(stage: &Stage<'_>, keys: &[&str]) -> Option<SourceRange> {
    let picks = |statement: &&Statement| {
        let uses = stage.program.uses_of(statement);
        uses.iter().any(|used| match &used.what {
            What::Part | What::Slice => true,
            What::Filter(name, _) => matches!(
                name.as_str(),
                "first" | "last" | "slice" | "batch" | "random"
            ),
            _ => false,
        })
    };
    let all: Vec<&Statement> = stage.readers(keys).collect();
    let picking = all.iter().copied().find(|statement| {
        matches!(statement.kind, StatementKind::For | StatementKind::Set(_)) && picks(statement)
    });
    // A condition on the turn of the loop picks, too.
    let loops = all
        .iter()
        .copied()
        .find(|statement| statement.kind == StatementKind::For);
    let number = loops.map(|loops| loops.number);
    let on_turn = stage.program.statements.iter().find(|statement| {
        let within = stage
            .program
            .around(statement)
            .next()
            .is_some_and(|block| Some(block.opened_by) == number);
        statement.kind == StatementKind::If
            && within
            && stage.reads(statement, &["loop"])
            && stage.encloses_calls(statement)
    });
    let place = picking.or(on_turn).or(loops)?.place.clone();
    Some(place)
}

/// Whether a statement compares something with a text.
pub(super) fn compares(stage: &Stage<'_>, statement: &Statement, text: &str) -> bool {
    let uses = stage.program.uses_of(statement);
    uses.iter().any(|used| match &used.what {
        What::Comparison(comparison) => comparison.texts.iter().any(|known| known == text),
        _ => false,
    })
}

/// The roles that templates mostly tell apart.
pub(super) const ROLES: [&str; 4] = ["system", "user", "assistant", "tool"];

/// The place that decided that two renderings differ from somewhere on: the condition that parts what wrote
/// the one from what wrote the other, or what wrote both.
pub(super) fn parted(
    stage: &Stage<'_>,
    one: &Talk,
    other: &Talk,
    at: usize,
) -> Option<SourceRange> {
    let first = written_outside(stage, one, at)?;
    let Some(second) = written_outside(stage, other, at) else {
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
    let conditions = |path: &[(usize, usize)]| -> Vec<&Statement> {
        let openers = path[shared..]
            .iter()
            .map(|(opener, _)| &program.statements[*opener]);
        openers
            .filter(|opener| opener.kind == StatementKind::If)
            .collect()
    };
    let (own, others) = match a.place.start <= b.place.start {
        true => (conditions(&left), conditions(&right)),
        false => (conditions(&right), conditions(&left)),
    };
    // Of several, it is the one that came out otherwise.
    let traces = [stage.trace(one), stage.trace(other)];
    let differs = |opener: &&&Statement| {
        let outcomes = traces
            .each_ref()
            .map(|traced| [true, false].map(|way| traced.ways.tested(opener, way)));
        outcomes[0] != outcomes[1]
    };
    let all: Vec<&Statement> = own.iter().chain(&others).copied().collect();
    // Or what was written chooses by itself.
    let chooses = |statement: &&&Statement| {
        let mut uses = program.uses_of(statement).iter();
        uses.any(|used| used.is_chosen)
    };
    let writers = [a, b];
    // Conditions on roles differ wherever there is one more message.
    let is_of_role = |opener: &&&Statement| ROLES.iter().any(|role| compares(stage, opener, role));
    let deciding = all
        .iter()
        .filter(differs)
        .find(|opener| !is_of_role(opener));
    let deciding = deciding
        .or_else(|| writers.iter().find(chooses))
        .or_else(|| all.iter().find(differs))
        .or(all.first());
    deciding.map(|opener| opener.place.clone()).or(Some(first))
}

/// The last condition before two runs part that came out one way in the one and another way in the other.
fn decided(stage: &Stage<'_>, one: &Talk, other: &Talk) -> Option<SourceRange> {
    let (one, other) = (stage.trace(one), stage.trace(other));
    let tests = |traced: &Traced| -> Vec<(SourceRange, bool)> {
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
    let statement = stage.program.at(place);
    Some(statement.map_or(place.clone(), |statement| statement.place.clone()))
}
