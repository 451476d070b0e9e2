//! Chat templates that lack a fault, and are otherwise as they were.
//!
//! ```
//! use unjinja::chat_template::{ChatTemplate, RenderInput};
//! use unjinja::mend::{Fault, Verdict, mend};
//!
//! let template = ChatTemplate::from_jinja(
//!     "{% for m in messages %}<{{ m.role }}>\
//!      {% if m.reasoning_content and loop.last %}<think>{{ m.reasoning_content }}</think>{% endif %}\
//!      {{ m.content }}<end>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}",
//! );
//! let mended = mend(&template, &RenderInput::default(), &[Fault::Questions])?;
//! assert!(mended.jinja.contains("{% if m.reasoning_content %}<think>"));
//! let Verdict::Mended { changes, .. } = &mended.outcomes[0].verdict else { unreachable!() };
//! assert_eq!(changes[0].line, 1);
//! # Ok::<(), unjinja::chat_template::RenderError>(())
//! ```
//!
//! Conversations of all kinds are rendered, and those looked for that show the fault. Small changes of the template's
//! text are tried: a condition that always holds, a part of one that does not count any more, a text that is not cut. They are
//! kept if no conversation shows the fault any more, and if all that showed none are rendered to the same texts.

mod candidates;
mod case;
mod deciding;
mod fault;
mod prefix;
mod search;

use crate::analysis::analyze;
use crate::analysis::conversations::conversations;
use crate::chat_template::expressions::statements;
use crate::chat_template::{ChatTemplate, RenderError, RenderInput};

use candidates::{Edit, apply};
use case::{Case, Patience};
use deciding::deciding;
use search::{Failed, search};

pub use fault::{Fault, UnknownFault};

/// A template that was mended as far as can be.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Mended {
    /// The template. If nothing was changed, it is as it was.
    pub jinja: String,
    /// What came of each fault, in the order in which they were looked for.
    pub outcomes: Vec<Outcome>,
}

/// What came of a fault.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The fault.
    pub fault: Fault,
    /// What came of it.
    pub verdict: Verdict,
}

/// What can come of a fault.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// None of so many conversations shows it.
    Absent {
        /// How many conversations were looked at.
        conversations: usize,
    },
    /// It is mended, and that is proved by rendering.
    Mended {
        /// What was changed, from the beginning of the template.
        changes: Vec<Change>,
        /// How many conversations showed the fault, and do not any more.
        mended: usize,
        /// How many conversations showed none, and render to the same text.
        same: usize,
    },
    /// It is there, and is left as it was.
    Left {
        /// How many conversations show it.
        conversations: usize,
        /// Why nothing was changed.
        why: String,
    },
}

/// A change of the template's text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The line, counted from 1.
    pub line: usize,
    /// What stood there.
    pub before: String,
    /// What stands there now.
    pub after: String,
}

/// Mends faults of a template, as far as it can be proved. `base` holds what all conversations have in common: the tokens,
/// and the time.
///
/// # Errors
///
/// If the template is not valid, or does not even render a question of the user.
pub fn mend(
    template: &ChatTemplate,
    base: &RenderInput,
    faults: &[Fault],
) -> Result<Mended, RenderError> {
    let mut current = template.clone();
    let mut outcomes = Vec::new();
    for fault in Fault::ALL
        .into_iter()
        .filter(|fault| faults.contains(fault))
    {
        let verdict = mend_one(&mut current, base, fault)?;
        outcomes.push(Outcome { fault, verdict });
    }
    Ok(Mended {
        jinja: current.jinja,
        outcomes,
    })
}

/// The variables that every template is given, and that switch nothing.
const CONVERSATION: [&str; 5] = [
    "messages",
    "tools",
    "add_generation_prompt",
    "bos_token",
    "eos_token",
];

fn mend_one(
    template: &mut ChatTemplate,
    base: &RenderInput,
    fault: Fault,
) -> Result<Verdict, RenderError> {
    let patience = Patience::begin();
    let cases = cases(template, base, fault, patience)?;
    let faulty = cases.iter().filter(|case| case.is_faulty()).count();
    if faulty == 0 {
        return Ok(Verdict::Absent {
            conversations: cases.len(),
        });
    }
    let left = |why: String| Verdict::Left {
        conversations: faulty,
        why,
    };
    let statements = match statements(&template.jinja) {
        Ok(statements) => statements,
        Err(why) => return Ok(left(why)),
    };
    let deciding = deciding(&template.jinja, &statements, &cases, patience);
    let prepared = template.prepare();
    let variables = prepared.variables().iter().map(|(name, _)| name.as_str());
    let variables: Vec<&str> = variables
        .filter(|name| !CONVERSATION.contains(name))
        .collect();
    let candidates = candidates::keeping(&template.jinja, &statements, &variables, &deciding);
    let edits = match search(&template.jinja, &cases, &candidates, patience) {
        Ok(edits) => edits.into_iter().cloned().collect::<Vec<Edit>>(),
        Err(Failed::NoChange) => {
            return Ok(left(
                "no small change mends it and keeps all else".to_owned(),
            ));
        }
        Err(Failed::NoTime) => {
            return Ok(left("to try changes takes too long".to_owned()));
        }
    };
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| edit.range.start);
    let changes = edits
        .iter()
        .map(|edit| Change::of(&template.jinja, edit))
        .collect();
    template.jinja = apply(&template.jinja, &edits);
    Ok(Verdict::Mended {
        changes,
        mended: faulty,
        same: cases.len() - faulty,
    })
}

fn cases(
    template: &ChatTemplate,
    base: &RenderInput,
    fault: Fault,
    patience: Patience,
) -> Result<Vec<Case>, RenderError> {
    let prepared = template.prepare();
    prepared.renderer()?;
    let analysis = analyze(template, &prepared, base, &[])?;
    let renderer = prepared.renderer()?;
    let follower = match fault {
        Fault::Results => prefix::Follower::Tool,
        Fault::Questions => prefix::Follower::User,
    };
    let conversations = conversations(&analysis.prober);
    let cases = conversations
        .iter()
        .filter_map(|conversation| prefix::case(conversation, follower, &renderer, patience));
    Ok(cases.collect())
}

impl Change {
    fn of(jinja: &str, edit: &Edit) -> Change {
        let before = jinja.get(..edit.range.start).unwrap_or_default();
        Change {
            line: before.matches('\n').count() + 1,
            before: jinja.get(edit.range.clone()).unwrap_or_default().to_owned(),
            after: edit.text.clone(),
        }
    }
}
