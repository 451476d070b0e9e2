//! What a chat template renders, refuses, or silently drops.

mod answer;
mod generation_prompt;
mod prefix;
mod questions;

use crate::budget::Budget;
use crate::chat_template::{ChatTemplate, PreparedTemplate, RenderError, RenderInput};
use crate::value::{Object, Value, object};

use super::probe::Prober;
use super::variables::{self, Variable};
use questions::Questions;

pub use answer::{Answer, Outcome, Topic};
pub use generation_prompt::{GenerationPrompt, Thinking};
pub use prefix::{Departure, Follower, PrefixKept};

/// What a chat template can do, found by rendering probes.
///
/// ```
/// use unjinja::analysis::{Capabilities, Outcome, Topic};
/// use unjinja::chat_template::{ChatTemplate, RenderInput};
///
/// let template = ChatTemplate::from_jinja(
///     "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system!') }}\
///      {% endif %}{{ m.role }}: {{ m.content }}\n{% endfor %}\
///      {% if add_generation_prompt %}assistant:{% endif %}",
/// );
/// let can = Capabilities::of(&template, &RenderInput::default())?;
/// assert_eq!(can.outcome(Topic::UserTurnsInARow), Some(&Outcome::Rendered));
/// assert_eq!(can.outcome(Topic::Tools), Some(&Outcome::Dropped));
/// assert!(matches!(can.outcome(Topic::SystemMessage), Some(Outcome::Refused(_))));
/// assert_eq!(can.generation_prompt.map(|prompt| prompt.text).as_deref(), Some("assistant:"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Capabilities {
    /// The answers, in the order of [`Topic`].
    pub answers: Vec<Answer>,
    /// The variables that the template reads beside the conversation.
    pub variables: Vec<Variable>,
    /// Whether it has `{% generation %}`, which marks what of a conversation the model wrote.
    pub marks_generation: bool,
    /// What a prompt writes of the assistant's turn; `None` if no prompt can be rendered.
    pub generation_prompt: Option<GenerationPrompt>,
    /// Whether what was rendered stays as it is when a conversation goes on behind a turn of the assistant.
    pub prefix_kept: Vec<PrefixKept>,
}

impl Capabilities {
    /// Asks a template. `base` holds what all renderings have in common: tokens, the time, and
    /// variables; its messages and tools are not used.
    ///
    /// # Errors
    ///
    /// If the template is not valid, or does not even render a question of the user.
    pub fn of(template: &ChatTemplate, base: &RenderInput) -> Result<Capabilities, RenderError> {
        let prepared = template.prepare_within(&Budget::of_question());
        Capabilities::within(template, &prepared, base)
    }

    /// The same for a template that is prepared, within its budget.
    pub(crate) fn within(
        template: &ChatTemplate,
        prepared: &PreparedTemplate,
        base: &RenderInput,
    ) -> Result<Capabilities, RenderError> {
        let mut prober = Prober::new(template, prepared.renderer()?, base);
        prober.try_question()?;
        let variables = variables::find(&prober, prepared.variables());
        let capabilities = Capabilities {
            answers: Questions::new(&prober).ask_all(),
            marks_generation: prepared.marks_generation(),
            generation_prompt: generation_prompt::find(&prober),
            prefix_kept: prefix::find(&prober, &variables),
            variables,
        };
        // A question that took too much is not answered, and not refused either.
        prober.gave_up()?;
        Ok(capabilities)
    }

    /// What the template does with something.
    pub fn outcome(&self, topic: Topic) -> Option<&Outcome> {
        let answer = self.answers.iter().find(|answer| answer.topic == topic)?;
        Some(&answer.outcome)
    }

    /// All of it for programs.
    pub fn to_value(&self) -> Value {
        let mut answers = Object::new();
        for answer in &self.answers {
            let mut outcome = object! {"outcome": answer.outcome.key()};
            if let Outcome::Refused(why) = &answer.outcome {
                outcome.insert("error", why.as_str());
            }
            if let Some(note) = &answer.note {
                outcome.insert("note", note.as_str());
            }
            answers.insert(answer.topic.key(), outcome);
        }
        let mut variables = Object::new();
        for variable in &self.variables {
            let switch = variable.switch.as_ref().map(|switch| {
                object! {"on": &switch.on, "off": &switch.off, "absent": &switch.absent}
            });
            variables.insert(variable.name.as_str(), switch);
        }
        let prompt = self.generation_prompt.as_ref().map(|prompt| {
            object! {"text": &prompt.text, "thinking": prompt.thinking.map(Thinking::key)}
        });
        let mut kept = Object::new();
        for prefix in &self.prefix_kept {
            let departure = prefix.counterexample.as_ref().map(|departure| {
                object! {
                    "messages": departure.messages.clone(),
                    "before": &departure.before,
                    "after": &departure.after,
                    "mended_by": departure.mended_by.as_ref().map(|(name, value)| {
                        Object::from_iter([(name.as_str(), *value)])
                    }),
                }
            });
            let outcome = object! {"kept": departure.is_none(), "counterexample": departure};
            kept.insert(prefix.follower.key(), outcome);
        }
        object! {
            "capabilities": answers,
            "variables": variables,
            "marks_generation": self.marks_generation,
            "generation_prompt": prompt,
            "prefix_kept": kept,
        }
        .into()
    }
}
