//! Which place of a template lost a text.

use crate::chat_template::program::{Statement, StatementKind, Use, What};
use crate::chat_template::steps::{Act, Step};
use crate::markers::common_prefix;
use crate::value::Value;

use super::blame::{ROLES, SourceRange, compares, written};
use super::stage::{Stage, Traced, Ways};
use super::talk::Talk;

/// The place at which a word was lost that stands under a key, in a message of a role: the last to look at it, or
/// the condition that kept those from it that would have written it.
pub(super) fn dropped(
    stage: &Stage<'_>,
    talk: &Talk,
    word: &str,
    keys: &[&str],
    role: &str,
) -> Option<SourceRange> {
    let traced = stage.trace(talk);
    let steps = traced.steps.all();
    let is_of = |step: &Step| holds(step, word);
    // Under which names it was kept.
    let kept = steps.iter().filter(|step| is_of(step)).filter_map(|step| {
        let statement = stage.program.at(&traced.steps.place(step))?;
        match &statement.kind {
            StatementKind::Set(name) => name.rsplit('.').next(),
            _ => None,
        }
    });
    let mut names: Vec<&str> = kept.collect();
    names.dedup();
    names.extend(keys);
    // Something would have written it, and chose not to.
    let undecided = || {
        let mut readers = stage
            .readers(&names)
            .filter(|reader| reader.kind == StatementKind::Print);
        readers.find(|reader| {
            let own = |step: &&Step| {
                let place = traced.steps.place(step);
                stage
                    .program
                    .at(&place)
                    .is_some_and(|at| at.place == reader.place)
            };
            let mut own = steps.iter().filter(own);
            let chooses = own.clone().any(|step| matches!(step.act, Act::Tested(_)));
            chooses && !own.any(is_of) && stage.stands_under(reader, role)
        })
    };
    if let Some(reader) = undecided() {
        return Some(reader.place.clone());
    }
    let whole = &traced.ways;
    let own = ways_of(stage, talk, word);
    let run = |ways| Run {
        stage,
        traced: &traced,
        ways,
        role,
    };
    // If no condition looked at the message, it was left out before.
    let cut = || match own {
        None => slicing(stage),
        Some(_) => None,
    };
    let (own, whole) = (run(own.as_ref().unwrap_or(whole)), run(whole));
    lost_in(&own, talk, word, keys, &names)
        .or_else(cut)
        .or_else(|| lost_in(&whole, talk, word, keys, &names))
        .or_else(|| untaken(&own))
        .or_else(|| written_instead(stage, talk))
        .or_else(|| {
            let mut loops = stage.readers(&["messages"]);
            let first = loops.find(|statement| statement.kind == StatementKind::For);
            first.map(|statement| statement.place.clone())
        })
}

/// Whether a step made or wrote a text that holds a word.
fn holds(step: &Step, word: &str) -> bool {
    match &step.act {
        Act::Made(text) | Act::Wrote(text) => text.contains(word),
        Act::Tested(_) => false,
    }
}

/// Where a word was lost in what was done with its message.
fn lost_in(
    run: &Run<'_, '_>,
    talk: &Talk,
    word: &str,
    keys: &[&str],
    names: &[&str],
) -> Option<SourceRange> {
    let Run {
        stage,
        traced,
        ways,
        role,
    } = *run;
    // Something else was written in its stead.
    let instead = misnamed(run, talk).or_else(|| behind_condition(run, keys, names));
    if instead.is_some() {
        return instead;
    }
    let steps = traced.steps.all().iter();
    let holders = steps.filter(|step| holds(step, word));
    let mut holders = holders.filter_map(|step| stage.program.at(&traced.steps.place(step)));
    // It was kept under a name that nothing reads.
    let is_forgotten = |statement: &&Statement| match &statement.kind {
        StatementKind::Set(name) => {
            let name = [name.rsplit('.').next().unwrap_or(name)];
            let mut readers = stage.readers(&name);
            readers.all(|reader| reader.place == statement.place)
        }
        _ => false,
    };
    if let Some(statement) = holders.clone().find(is_forgotten) {
        return Some(statement.place.clone());
    }
    if let Some(statement) = holders.next_back() {
        // Or what would have written it was not come to.
        let place = barrier(run, names);
        return Some(place.unwrap_or_else(|| statement.place.clone()));
    }
    // What would have written it was not come to, or the branch that such messages take writes other things.
    let barrier = barrier(run, keys);
    let is_of_role = |place: &&SourceRange| {
        let statement = stage.program.at(place);
        statement.is_some_and(|statement| takes_only(stage, statement, role))
    };
    let of_role = barrier.as_ref().filter(is_of_role).cloned();
    let place = of_role.or_else(|| silent_branch(run, names)).or(barrier);
    // Macros see to parts of messages, as a rule.
    let taken = stage
        .program
        .statements
        .iter()
        .filter(|statement| takes(stage, statement, 0, role) && ways.tested(statement, true));
    let branch = taken.min_by_key(|statement| is_in_macro(stage, statement));
    place.or_else(|| branch.map(|statement| statement.place.clone()))
}

/// The last condition on roles that a message did not satisfy.
fn untaken(run: &Run<'_, '_>) -> Option<SourceRange> {
    let mut conditions = run.stage.program.statements.iter().filter(|statement| {
        statement.kind == StatementKind::If && run.stage.reads(statement, &["role"])
    });
    let last = conditions
        .rfind(|statement| run.ways.tested(statement, false) && !run.ways.tested(statement, true));
    last.map(|statement| statement.place.clone())
}

/// What cuts the list of messages.
fn slicing(stage: &Stage<'_>) -> Option<SourceRange> {
    let mut readers = stage.readers(&["messages"]);
    let slice = readers.find(|statement| {
        let mut uses = stage.program.uses_of(statement).iter();
        matches!(statement.kind, StatementKind::Set(_) | StatementKind::For)
            && uses.any(|used| used.what == What::Slice)
    });
    slice.map(|statement| statement.place.clone())
}

/// What the last message of a conversation was rendered to, if nothing would have written it.
fn written_instead(stage: &Stage<'_>, talk: &Talk) -> Option<SourceRange> {
    let mut without = talk.clone();
    without.messages.pop();
    let (with, without) = (stage.text(talk)?, stage.text(&without)?);
    let at = common_prefix(&with, &without);
    (at < with.len())
        .then(|| written(stage, talk, at))
        .flatten()
}

/// What was done with a message of a role.
struct Run<'r, 't> {
    stage: &'r Stage<'t>,
    traced: &'r Traced,
    /// The ways that conditions went for this message alone, where that can be told.
    ways: &'r Ways,
    role: &'r str,
}

impl Run<'_, '_> {
    /// Whether a condition went a way: for this message, or for all alike.
    fn went(&self, opener: &Statement, way: bool) -> bool {
        self.ways.tested(opener, way)
            || self.ways.is_untested(opener) && self.traced.ways.tested(opener, way)
    }

    /// Whether all conditions around a statement went its way.
    fn reaches(&self, statement: &Statement) -> bool {
        let program = &self.stage.program;
        program.around(statement).all(|block| {
            let opener = &program.statements[block.opened_by];
            opener.kind != StatementKind::If || self.went(opener, block.branch == 0)
        })
    }

    /// Whether a statement wrote or kept something that is not all white space.
    fn makes(&self, statement: &Statement) -> bool {
        statement.makes()
            && self.reaches(statement)
            && !is_blank(self.stage, self.traced, statement)
    }
}

/// The ways that conditions went for the message in which a word stands: those that they do not go without it, if there
/// are any.
fn ways_of(stage: &Stage<'_>, talk: &Talk, word: &str) -> Option<Ways> {
    let all = || Some(stage.trace(talk).ways.clone());
    let Some(word) = talk.words.iter().find(|known| known.text == word) else {
        return all();
    };
    let cut = |count: usize| {
        let mut talk = talk.clone();
        talk.messages.truncate(count);
        talk
    };
    let mut removed = talk.clone();
    let others = talk.messages.iter().enumerate();
    let others = others.filter(|(number, _)| *number != word.message);
    removed.messages = others.map(|(_, message)| message.clone()).collect();
    let pairs = [
        (cut(word.message + 1), cut(word.message)),
        (talk.clone(), removed),
    ];
    let told = pairs.into_iter().find(|(with, without)| {
        let is_lost = |text: String| !text.contains(&word.text);
        !without.messages.is_empty()
            && stage.text(with).is_some_and(is_lost)
            && stage.text(without).is_some()
    });
    told.map_or_else(all, |(with, without)| {
        stage.trace(&with).ways.beyond(&stage.trace(&without).ways)
    })
}

/// Whether messages of a role take a branch of a condition.
fn takes(stage: &Stage<'_>, opener: &Statement, branch: usize, role: &str) -> bool {
    let mut uses = stage.program.uses_of(opener).iter();
    opener.kind == StatementKind::If
        && uses.any(|used| match &used.what {
            What::Comparison(comparison) => {
                let is_of = comparison.texts.iter().any(|text| text == role);
                is_of && usize::from(comparison.is_negated) == branch
            }
            _ => false,
        })
}

/// Whether messages of a role, and of no other, satisfy a condition.
fn takes_only(stage: &Stage<'_>, opener: &Statement, role: &str) -> bool {
    let others = ROLES.iter().filter(|other| **other != role);
    takes(stage, opener, 0, role) && !{ others }.any(|other| takes(stage, opener, 0, other))
}

/// Whether a statement stands in the branch that messages of a role take.
fn in_branch(stage: &Stage<'_>, statement: &Statement, role: &str) -> bool {
    stage.program.around(statement).any(|block| {
        let opener = &stage.program.statements[block.opened_by];
        takes(stage, opener, block.branch, role)
    })
}

/// Whether a statement stands in a macro, or in another block whose text is kept.
fn is_in_macro(stage: &Stage<'_>, statement: &Statement) -> bool {
    let mut around = stage.program.around(statement);
    around.next().is_some_and(|block| block.is_kept)
}

/// Whether all that a statement wrote in a run is white space.
fn is_blank(stage: &Stage<'_>, traced: &Traced, statement: &Statement) -> bool {
    let steps = traced.steps.all().iter();
    let own = steps.filter(|step| {
        let at = stage.program.at(&traced.steps.place(step));
        at.is_some_and(|at| at.place == statement.place)
    });
    let mut wrote = own.filter_map(|step| match &step.act {
        Act::Wrote(text) => Some(text.trim().is_empty()),
        Act::Made(_) | Act::Tested(_) => None,
    });
    wrote
        .next()
        .is_some_and(|first| first && wrote.all(|blank| blank))
}

/// What was written or kept under a key that nothing in the conversation has, in the branch that messages of a role take.
fn misnamed(run: &Run<'_, '_>, talk: &Talk) -> Option<SourceRange> {
    let Run { stage, role, .. } = *run;
    let program = &stage.program;
    let looks_first = |used: &Use| {
        matches!(&used.what, What::Test(_))
            || matches!(&used.what, What::Filter(name, _) if name == "default")
    };
    let is_nowhere = |used: &Use| match &used.what {
        What::Key(name) => {
            !program.own_names.contains(name)
                && !has_key(&talk.messages, name)
                && !has_key(&talk.tools, name)
        }
        _ => false,
    };
    let made = program.statements.iter().filter(|statement| {
        statement.makes() && in_branch(stage, statement, role) && run.reaches(statement)
    });
    for statement in made {
        let uses = program.uses_of(statement);
        let of_loop = uses
            .iter()
            .any(|used| matches!(&used.what, What::Variable(name) if name == "loop"));
        if of_loop || uses.iter().any(looks_first) {
            continue;
        }
        if let Some(used) = uses.iter().find(|used| is_nowhere(used)) {
            return Some(used.place.clone());
        }
    }
    None
}

/// What was written behind a condition on a text, where nothing behind it reads the text, nor behind its `else`:
/// `{% if thought %}` stands before what writes the thought, as a rule.
///
/// ```jinja
/// {% if thought %}{{ '<think>' + '</think>' }}{% endif %}
/// ```
fn behind_condition(run: &Run<'_, '_>, keys: &[&str], names: &[&str]) -> Option<SourceRange> {
    let Run {
        stage, ways, role, ..
    } = *run;
    let own: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| !keys.contains(name))
        .collect();
    let openers = stage.readers(names).filter(|opener| {
        opener.kind == StatementKind::If
            && (in_branch(stage, opener, role)
                || compares(stage, opener, role)
                || stage.reads(opener, &own))
    });
    let reads = |body: &[&Statement]| {
        let mut all = body.iter();
        all.any(|statement| stage.may_read(statement, names))
    };
    let mut bodies = openers.flat_map(|opener| {
        let branches = [0, 1].map(|branch| stage.program.within(opener, branch));
        let is_read = branches.iter().any(|body| reads(body));
        let taken = [true, false].map(|way| ways.tested(opener, way));
        let taken = branches.into_iter().zip(taken);
        taken.filter_map(move |(body, is_taken)| (is_taken && !is_read).then_some(body))
    });
    bodies.find_map(|body| {
        let mut made = body.iter().filter(|statement| run.makes(statement));
        made.next().map(|statement| statement.place.clone())
    })
}

/// What was written in the branch that messages of a role take, where nothing in it reads a text of theirs.
fn silent_branch(run: &Run<'_, '_>, names: &[&str]) -> Option<SourceRange> {
    let Run {
        stage, ways, role, ..
    } = *run;
    let mut openers = stage.program.statements.iter().filter(|opener| {
        takes(stage, opener, 0, role)
            && ways.tested(opener, true)
            && !in_branch(stage, opener, role)
            && !is_in_macro(stage, opener)
    });
    let (opener, body) = openers.find_map(|opener| {
        let body = stage.program.within(opener, 0);
        let is_read = body
            .iter()
            .any(|statement| stage.may_read(statement, names));
        (!is_read && !body.is_empty()).then_some((opener, body))
    })?;
    // What is always written there comes first.
    let depth = |statement: &Statement| stage.program.around(statement).count();
    let written = body
        .iter()
        .filter(|statement| statement.kind == StatementKind::Print && run.makes(statement));
    let first = written.min_by_key(|statement| depth(statement));
    Some(first.map_or(opener, |statement| *statement).place.clone())
}

/// Whether one of several values has a key, however deep.
fn has_key(values: &[Value], name: &str) -> bool {
    values.iter().any(|value| match value {
        Value::Object(object) => object
            .iter()
            .any(|(key, value)| key == name || has_key(std::slice::from_ref(value), name)),
        Value::Array(array) => has_key(array, name),
        _ => false,
    })
}

/// The condition that kept the template from a statement that reads one of these names: it never went that way. One
/// that stands under a role's branch is preferred, then the innermost.
fn barrier(run: &Run<'_, '_>, names: &[&str]) -> Option<SourceRange> {
    let Run {
        stage, ways, role, ..
    } = *run;
    let mut best: Option<([bool; 4], usize, SourceRange)> = None;
    for statement in stage.readers(names) {
        if !statement.makes() && statement.kind != StatementKind::For {
            continue;
        }
        let around: Vec<_> = stage.program.around(statement).collect();
        let mut about_role = role.is_empty();
        let mut of_others = false;
        // From the outside in.
        for (depth, block) in around.iter().rev().enumerate() {
            let opener = &stage.program.statements[block.opened_by];
            if opener.kind != StatementKind::If {
                continue;
            }
            let needed = block.branch == 0;
            about_role |= takes(stage, opener, block.branch, role);
            of_others |= ROLES
                .iter()
                .any(|other| takes(stage, opener, block.branch, other));
            if run.went(opener, needed) {
                continue;
            }
            if ways.tested(opener, !needed) {
                // What another role's messages would have been written by is not missing, unless the condition asks for
                // the text as well.
                let is_of_others = !about_role && of_others;
                let rank = [
                    about_role,
                    !is_of_others,
                    !is_in_macro(stage, statement),
                    statement.kind == StatementKind::Print,
                ];
                let counts = !is_of_others || stage.reads(opener, names);
                let is_better =
                    |known: &([bool; 4], usize, SourceRange)| (known.0, known.1) < (rank, depth);
                if counts && best.as_ref().is_none_or(is_better) {
                    best = Some((rank, depth, opener.place.clone()));
                }
            }
            break;
        }
    }
    best.map(|(.., place)| place)
}
