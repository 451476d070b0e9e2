//! Removing a fault from a chat template, and changing nothing else.
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
//! Conversations of all kinds are rendered, to find those that show the fault. Small changes of the template's
//! text are tried: a condition that always holds, a part of one that no longer counts, a text that is not cut. They are
//! kept if no conversation shows the fault any more, and if all others render to the same texts as before.

mod candidates;
mod case;
mod change;
mod deciding;
mod fault;
mod forms;
mod prefix;
mod search;

use crate::analysis::analyze;
use crate::analysis::conversations::{ProbeConversation, conversations};
use crate::budget::{Budget, MENDING_ONE};
use crate::chat_template::expressions::statements;
use crate::chat_template::{ChatTemplate, RenderError, RenderInput};
use crate::conversation::{Marking, MaskError, MaskPolicy};
use crate::value::{Object, Value};

use candidates::apply;
use case::Case;
use deciding::Decision;
use prefix::Follower;
use search::search;

pub use change::Change;
pub use deciding::FaultLocation;
pub use fault::{Fault, UnknownFault};

impl Outcome {
    /// For programs: an object of the `fault`, of the `verdict`, which is `absent`, `mended` or `left`, and of what is known
    /// with it: of how many `conversations`, the `changes`, or the `line` and `why`.
    pub fn to_value(&self) -> Value {
        let mut out = Object::from_iter([("fault", self.fault.key())]);
        match &self.verdict {
            Verdict::Absent { conversations } => {
                out.insert("verdict", "absent");
                out.insert("conversations", *conversations);
            }
            Verdict::Mended {
                changes,
                mended,
                same,
            } => {
                out.insert("verdict", "mended");
                out.insert("conversations", *mended);
                out.insert("same", *same);
                out.insert(
                    "changes",
                    changes.iter().map(Change::to_value).collect::<Value>(),
                );
            }
            Verdict::Left {
                conversations,
                place,
                why,
            } => {
                out.insert("verdict", "left");
                out.insert("conversations", *conversations);
                out.insert("line", place.as_ref().map(|place| place.line));
                out.insert("why", why.as_str());
            }
        }
        out.into()
    }
}

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
        /// Where in the template the fault shows first, if that is known.
        place: Option<FaultLocation>,
        /// Why nothing was changed.
        why: String,
    },
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
    let budget = &Budget::of_mending();
    let mut current = template.clone();
    let mut outcomes = Vec::new();
    for fault in Fault::ALL
        .into_iter()
        .filter(|fault| faults.contains(fault))
    {
        let verdict = match fault {
            Fault::Generation => generation(&mut current, base, budget)?,
            _ => mend_one(&mut current, base, fault, budget)?,
        };
        outcomes.push(Outcome { fault, verdict });
    }
    Ok(Mended {
        jinja: current.jinja,
        outcomes,
    })
}

/// Writes tags around what the model writes.
fn generation(
    template: &mut ChatTemplate,
    base: &RenderInput,
    budget: &Budget,
) -> Result<Verdict, RenderError> {
    let prepared = template.prepare_within(budget);
    let marking = match Marking::within(template, &prepared, base, MaskPolicy::default()) {
        Ok(marking) => marking,
        Err(MaskError::Render(error)) => return Err(error),
        Err(error) => {
            return Ok(Verdict::Left {
                conversations: 0,
                place: None,
                why: error.to_string(),
            });
        }
    };
    if marking.was_tagged() {
        return Ok(Verdict::Absent { conversations: 0 });
    }
    let changes = Change::lines(&template.jinja, marking.tagged());
    template.jinja = marking.tagged().to_owned();
    let proof = marking.proof();
    Ok(Verdict::Mended {
        changes,
        mended: proof.known,
        same: proof.same_text,
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
    budget: &Budget,
) -> Result<Verdict, RenderError> {
    let budget = &budget.part(MENDING_ONE);
    let cases = cases(template, base, fault, budget)?;
    let faulty = cases.iter().filter(|case| case.is_faulty()).count();
    if faulty == 0 {
        return Ok(Verdict::Absent {
            conversations: cases.len(),
        });
    }
    let jinja = template.jinja.as_str();
    let (statements, unread) = match statements(jinja) {
        Ok(statements) => (statements, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    let decision = Decision::of(jinja, &statements, &cases, budget);
    let candidates = match fault {
        Fault::Json => candidates::less_json(jinja, &statements),
        Fault::Arguments => candidates::either_form(jinja, &statements),
        Fault::Content => candidates::no_content(jinja, &statements),
        Fault::Dates => candidates::days(&statements),
        _ => {
            let prepared = template.prepare();
            let variables = prepared.variables().iter().map(|(name, _)| name.as_str());
            let variables = variables.filter(|name| !CONVERSATION.contains(name));
            let variables: Vec<&str> = variables.collect();
            candidates::keeping(jinja, &statements, &variables, &decision.tags)
        }
    };
    let edits = match search(jinja, &cases, &candidates, budget) {
        Ok(edits) => edits,
        Err(failed) => {
            return Ok(Verdict::Left {
                conversations: faulty,
                place: decision.place,
                why: unread.unwrap_or_else(|| failed.to_string()),
            });
        }
    };
    let mended = apply(jinja, &edits);
    let verdict = Verdict::Mended {
        changes: Change::lines(jinja, &mended),
        mended: faulty,
        same: cases.len() - faulty,
    };
    template.jinja = mended;
    Ok(verdict)
}

fn cases(
    template: &ChatTemplate,
    base: &RenderInput,
    fault: Fault,
    budget: &Budget,
) -> Result<Vec<Case>, RenderError> {
    let prepared = template.prepare_within(budget);
    prepared.renderer()?;
    let analysis = analyze(template, &prepared, base, &[])?;
    let renderer = prepared.renderer()?;
    let case = |conversation: &ProbeConversation| match fault {
        Fault::Results => prefix::case(conversation, Follower::Tool, &renderer),
        Fault::Questions => prefix::case(conversation, Follower::User, &renderer),
        Fault::Json => forms::twice(conversation, &renderer),
        Fault::Arguments => forms::arguments(conversation, &renderer),
        Fault::Content => forms::content(conversation, &renderer),
        Fault::Dates => forms::dates(conversation, &renderer),
        Fault::Generation => None,
    };
    Ok(conversations(&analysis.prober)
        .iter()
        .filter_map(case)
        .collect())
}
