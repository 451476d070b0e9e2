//! What is wrong with a chat template, found by rendering conversations with it and by reading it.
//!
//! Each file here asks one kind of question. All of them share one [`Stage`], where each conversation is rendered
//! once; [`blame`] knows which place of the template is behind what they find.

mod blame;
mod calls;
mod crashes;
mod dropped;
mod elsewhere;
mod engines;
mod lost;
mod names;
mod prefix;
mod printed;
mod prompt;
mod rewritten;
mod stage;
mod talk;
#[cfg(test)]
mod tests;
mod thoughts;
mod time;
mod words;

use std::ops::Range;

use crate::budget::Budget;
use crate::chat_template::{ChatTemplate, PreparedTemplate, RenderError, RenderInput};
use crate::diagnostic::Diagnostic;
use crate::markers::common_prefix;
use crate::position::Position;
use crate::value::{Object, Value, object};

use super::{Complaint, Complaints, Level, Lint, LintOptions};

pub use elsewhere::refused_by_transformers;

use blame::SourceRange;
use stage::Stage;
use talk::Talk;

/// A conversation that shows what is wrong, and what a chat template makes of it.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Demonstration {
    /// The conversation.
    pub messages: Value,
    /// The tools that are offered; null if none are.
    pub tools: Value,
    /// The template's variables that are given.
    pub variables: Object,
    /// Whether it is a prompt.
    pub add_generation_prompt: bool,
    /// What it renders to; `None` if it is not rendered.
    pub text: Option<String>,
    /// What of the text is wrong, in bytes.
    pub marked: Option<Range<usize>>,
}

impl Demonstration {
    fn of(talk: &Talk) -> Demonstration {
        let tools = (!talk.tools.is_empty()).then(|| talk.tools.iter().cloned().collect());
        Demonstration {
            messages: talk.messages.iter().cloned().collect(),
            tools: tools.unwrap_or_default(),
            variables: talk.variables.clone(),
            add_generation_prompt: talk.prompt,
            text: None,
            marked: None,
        }
    }

    /// For programs: the conversation as a template is given it, the `text`, and what is `marked` in it, as start and
    /// end in characters.
    pub fn to_value(&self) -> Value {
        let characters = |at: usize| {
            let text = self.text.as_deref().unwrap_or_default();
            text.get(..at).unwrap_or(text).chars().count()
        };
        let marked = self.marked.as_ref();
        let marked =
            marked.map(|range| Value::from_iter([characters(range.start), characters(range.end)]));
        object! {
            "messages": self.messages.clone(),
            "tools": self.tools.clone(),
            "variables": self.variables.clone(),
            "add_generation_prompt": self.add_generation_prompt,
            "text": self.text.as_deref(),
            "marked": marked,
        }
        .into()
    }
}

/// Reports what is wrong with a chat template, in the order in which it stands there.
///
/// Of the options, the [time and variables](LintOptions::base) and the [rulings](LintOptions::rulings) count.
///
/// ```
/// use unjinja::chat_template::ChatTemplate;
/// use unjinja::lint::{Lint, LintOptions, lint_chat_template};
///
/// let template = ChatTemplate::from_jinja(
///     "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>\n{% endfor %}",
/// );
/// let complaints = lint_chat_template(&template, &LintOptions::default())?;
/// let none = complaints.iter().find(|complaint| complaint.lint == Lint::NonePrinted);
/// let none = none.expect("content may be null");
/// assert_eq!(none.diagnostic.position.map(|at| (at.line, at.column)), Some((1, 41)));
/// # Ok::<(), unjinja::chat_template::RenderError>(())
/// ```
///
/// # Errors
///
/// If the template is not valid, does not even render a question, or takes too long.
pub fn lint_chat_template(
    template: &ChatTemplate,
    options: &LintOptions<'_>,
) -> Result<Vec<Complaint>, RenderError> {
    let prepared = template.prepare_within(&Budget::of_question());
    lint_within(template, &prepared, options)
}

/// The same for a template that is prepared, within its budget.
pub(crate) fn lint_within(
    template: &ChatTemplate,
    prepared: &PreparedTemplate,
    options: &LintOptions<'_>,
) -> Result<Vec<Complaint>, RenderError> {
    let base = with_tokens(template, &options.base);
    let (stage, error) = Stage::new(template, prepared, &base)?;
    let mut report = Report {
        stage: &stage,
        complaints: Complaints::default(),
    };
    if let Some(error) = error {
        if error.is_exhausted() {
            return Err(error);
        }
        report.add(question_crashes(&stage, &error));
    } else {
        for check in RENDERING {
            check(&stage, &mut report);
        }
    }
    for check in READING {
        check(&stage, &mut report);
    }
    for other in &options.others {
        differs(&stage, &mut report, other);
    }
    match stage.gave_up() {
        Some(error) => Err(error),
        None => Ok(report.complaints.ruled(&options.rulings, None)),
    }
}

/// What all renderings have in common, with tokens of no model's where it is not known which begin and end texts: whoever
/// renders has them beside the template.
fn with_tokens(template: &ChatTemplate, base: &RenderInput) -> RenderInput {
    let mut base = base.clone();
    let origins = &template.origins;
    if template.bos_token.is_none() && origins.bos_token.is_none() {
        base.bos_token.get_or_insert_with(|| "<bos>".to_owned());
    }
    if template.eos_token.is_none() && origins.eos_token.is_none() {
        base.eos_token.get_or_insert_with(|| "<eos>".to_owned());
    }
    base
}

fn question_crashes<'f>(stage: &Stage<'_>, error: &RenderError) -> Fault<'f> {
    Fault::new(
        Lint::QuestionCrashes,
        format!("not even a question can be rendered: {}", error.message()),
        "mend this first: all else that is found out by rendering waits for it",
    )
    .at(stage.place_of(error))
}

/// Another template of the same model should be the same.
fn differs(stage: &Stage<'_>, report: &mut Report<'_, '_>, other: &ChatTemplate) {
    // Nobody sees how lines end, and whether the last one does.
    let plain = |jinja: &str| jinja.replace("\r\n", "\n").trim_end().to_owned();
    let (own, others) = (plain(stage.source()), plain(&other.jinja));
    if own == others {
        return;
    }
    let shared = common_prefix(&own, &others);
    report.add(
        Fault::new(
            Lint::OtherTemplateBeside,
            format!(
                "{} has another chat template, which differs from here on: whose instructions a model gets depends on \
                 which file is loaded",
                other.name
            ),
            "look at what differs, and keep one: `unjinja render` shows what each writes",
        )
        .at(shared..shared),
    );
}

type Check = fn(&Stage<'_>, &mut Report<'_, '_>);

/// What is checked by rendering: one file a kind of question.
const RENDERING: &[Check] = &[
    printed::check,
    crashes::check,
    dropped::check,
    calls::check,
    thoughts::check,
    prefix::check,
    prompt::check,
    rewritten::check,
    names::without_effect,
    time::check,
    words::markers,
];

/// What is checked by reading the template.
const READING: &[Check] = &[names::misspelled, elsewhere::check, words::check];

/// So many complaints of a kind are made.
const MAX_OF_A_KIND: usize = 8;

/// What has been found so far.
struct Report<'s, 't> {
    stage: &'s Stage<'t>,
    complaints: Complaints,
}

/// Something that was found.
struct Fault<'f> {
    lint: Lint,
    level: Level,
    place: Option<SourceRange>,
    message: String,
    remedy: &'f str,
    /// The conversation that shows it.
    talk: Option<&'f Talk>,
    /// What of its rendering is wrong.
    marked: Option<Range<usize>>,
}

impl Fault<'_> {
    fn new<'f>(lint: Lint, message: impl Into<String>, remedy: &'f str) -> Fault<'f> {
        Fault {
            lint,
            level: lint.level(),
            place: None,
            message: message.into(),
            remedy,
            talk: None,
            marked: None,
        }
    }
}

impl<'f> Fault<'f> {
    fn level(mut self, level: Level) -> Fault<'f> {
        self.level = level;
        self
    }

    fn at(mut self, place: impl Into<Option<SourceRange>>) -> Fault<'f> {
        self.place = place.into();
        self
    }

    fn shown_by(mut self, talk: &'f Talk) -> Fault<'f> {
        self.talk = Some(talk);
        self
    }

    fn marked(mut self, marked: impl Into<Option<Range<usize>>>) -> Fault<'f> {
        self.marked = marked.into();
        self
    }
}

impl Report<'_, '_> {
    /// Whether a kind of fault has been found.
    fn has(&self, lint: Lint) -> bool {
        self.complaints.0.iter().any(|known| known.lint == lint)
    }

    /// Adds what was found, unless the same was found at the same place, or too often already.
    fn add(&mut self, fault: Fault<'_>) {
        let place = fault.place.as_ref().map_or(0, |place| place.start);
        let position = self.stage.position(place);
        let known = &mut self.complaints.0;
        let of_kind = known
            .iter()
            .filter(|known| known.lint == fault.lint)
            .count();
        let here = known
            .iter_mut()
            .find(|known| known.lint == fault.lint && known.diagnostic.position == Some(position));
        match here {
            // The worst of several at a place counts.
            Some(here) if here.level < fault.level => {
                *here = complaint_of(self.stage, fault, position);
                return;
            }
            Some(_) => return,
            None if of_kind >= MAX_OF_A_KIND => return,
            None => {}
        }
        let complaint = complaint_of(self.stage, fault, position);
        self.complaints.0.push(complaint);
    }
}

fn complaint_of(stage: &Stage<'_>, fault: Fault<'_>, position: Position) -> Complaint {
    let diagnostic = Diagnostic::new(fault.message).with_remedy(fault.remedy);
    Complaint {
        lint: fault.lint,
        level: fault.level,
        diagnostic: diagnostic.at_position(position),
        target: None,
        shown: fault.talk.map(|talk| {
            let text = stage.text(talk);
            let is_there = |range: &Range<usize>| {
                text.as_ref()
                    .is_some_and(|text| text.get(range.clone()).is_some())
            };
            let marked = fault.marked.filter(is_there);
            Demonstration {
                marked,
                text,
                ..Demonstration::of(talk)
            }
        }),
    }
}
