//! All that can be found out about a chat template, as a row of a table.
//!
//! A [`Survey`] of a chat template is what was derived from it, with its proof; what the linter says of it; and what
//! it can do. Whoever keeps many templates right wants one table of them, and two such tables show what has changed.
//!
//! ```
//! use unjinja::chat_template::{ChatTemplate, RenderInput};
//! use unjinja::survey::{DerivationStatus, Survey};
//!
//! let template = ChatTemplate::from_jinja(
//!     "{% for m in messages %}<{{ m.role }}>\
//!      {% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}\
//!      {{ m.content }}<end>{% endfor %}\
//!      {% if add_generation_prompt %}<assistant>{% endif %}",
//! );
//! let survey = Survey::of(&template, &RenderInput::default());
//! assert_eq!(survey.status(), DerivationStatus::Proved);
//!
//! let row = survey.to_value();
//! assert_eq!(row.get("format"), Some(&"`<think>` REASONING `</think>` CONTENT, `<end>`".into()));
//! assert_eq!(row.pointer("/capabilities/tools"), Some(&"dropped".into()));
//! assert_eq!(row.pointer("/targets/vllm"), Some(&"taken".into()));
//! ```

mod details;

use std::collections::BTreeMap;
use std::fmt;

use crate::analysis::{Capabilities, Certainty};
use crate::budget::Budget;
use crate::chat_template::{ChatTemplate, RenderError, RenderInput};
use crate::derive::{Derivation, DeriveError, DeriveOptions, derive_within};
use crate::format::{Format, Node, Way};
use crate::lint::{Complaint, LintOptions, lint_within};
use crate::profile::{Effect, Target};
use crate::remedy::Remedy;
use crate::value::{Object, Value, object};

/// What there is to know of a chat template.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Survey {
    /// What was derived, or why nothing was.
    pub derivation: Result<Derivation, DeriveError>,
    /// How the model writes its turn, if anything was derived.
    pub format: Option<Format>,
    /// What the linter says of the chat template, or why it can't.
    pub complaints: Result<Vec<Complaint>, RenderError>,
    /// What the chat template can do, or why it renders nothing.
    pub capabilities: Result<Capabilities, RenderError>,
}

/// How a chat template stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DerivationStatus {
    /// A response template is derived, and recovers all that the chat template writes.
    Proved,
    /// One is derived, and does not recover all of it; or a token is missing.
    Partly,
    /// Nothing can be derived.
    Failed,
}

impl DerivationStatus {
    /// A name for programs.
    pub fn key(self) -> &'static str {
        match self {
            DerivationStatus::Proved => "proved",
            DerivationStatus::Partly => "partly",
            DerivationStatus::Failed => "failed",
        }
    }
}

/// Its [`key`](Self::key).
impl fmt::Display for DerivationStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

impl Survey {
    /// Surveys a chat template. `base` holds what all renderings have in common: tokens, the time, and variables.
    ///
    /// Two surveys can be compared if they have the same time: templates may write it.
    pub fn of(template: &ChatTemplate, base: &RenderInput) -> Survey {
        let prepared = template.prepare_within(&Budget::of_question());
        let derive_options = DeriveOptions::default().base(base.clone());
        let derivation = derive_within(template, &prepared, &derive_options);
        let format = match &derivation {
            Ok(_) => Format::within(template, &prepared, base).ok(),
            Err(_) => None,
        };
        let options = LintOptions::default().base(base.clone());
        Survey {
            derivation,
            format,
            complaints: lint_within(template, &prepared, &options),
            capabilities: Capabilities::within(template, &prepared, base),
        }
    }

    /// Whether a response template is derived, and proved.
    pub fn status(&self) -> DerivationStatus {
        match &self.derivation {
            Ok(derivation) if derivation.is_whole() => DerivationStatus::Proved,
            Ok(_) => DerivationStatus::Partly,
            Err(_) => DerivationStatus::Failed,
        }
    }

    /// The reason why nothing is derived, with names of the caller for what it advises to make use of.
    ///
    /// ```
    /// use unjinja::Remedy;
    /// use unjinja::chat_template::{ChatTemplate, RenderInput};
    /// use unjinja::survey::Survey;
    ///
    /// let survey = Survey::of(&ChatTemplate::from_jinja("{% if %}"), &RenderInput::default());
    /// let error = survey.error(Remedy::name).expect("it is no template");
    /// assert!(error.starts_with("this is not a valid chat template: "));
    /// ```
    pub fn error(&self, words: impl Fn(Remedy) -> &'static str) -> Option<String> {
        let error = self.derivation.as_ref().err()?;
        Some(error.explain(words))
    }

    /// For programs: an object of the `standing`; the `error`, if nothing is derived; how many renderings are
    /// `recovered`, of how many; the names of `missing_tokens`; the `format` in a line; how sure `reasoning` and
    /// `calls` are, and how `arguments` are written, if there are any; the `markers` of the format; how often each of the
    /// `lints` complains; whether `targets` take the response template (`taken`, or the worst that becomes of it); and
    /// the outcome of each of the `capabilities`. What a table has no room for is in `details`: among it the
    /// `response_template`, the `ways` of a turn in words, the `tree` of the format, the `findings` in words, the `reasons`
    /// for delimiters, the `proof` with its texts, and the `complaints`.
    pub fn to_value(&self) -> Value {
        let derivation = self.derivation.as_ref().ok();
        let findings = derivation.map(|derivation| &derivation.findings);
        let reasoning = findings.and_then(|findings| findings.reasoning.as_ref());
        let calls = findings.and_then(|findings| findings.calls.as_ref());
        let sure = |certainty: Option<Certainty>| Value::from(certainty.map(Certainty::key));
        let missing = derivation.map(|derivation| derivation.missing_tokens.iter());
        let missing = missing.into_iter().flatten().map(|token| &token.name);
        object! {
            "standing": self.status().key(),
            "error": self.error(Remedy::name),
            "recovered": derivation.map(Derivation::recovered),
            "renderings": derivation.map(|derivation| derivation.proof.len()),
            "missing_tokens": missing.collect::<Value>(),
            "format": self.line(),
            "reasoning": sure(reasoning.map(|shape| shape.certainty)),
            "calls": sure(calls.map(|shape| shape.certainty)),
            "arguments": self.format.as_ref().and_then(arguments),
            "markers": self.format.as_ref().map(|format| Value::from_iter(format.preserved_tokens())),
            "lints": self.complaints.as_deref().ok().map(counts),
            "targets": derivation.map(targets),
            "capabilities": self.capabilities.as_ref().ok().map(outcomes),
            "details": self.details(),
        }
        .into()
    }

    /// The format in a line: the way of a turn with the most parts, in which calls are written out.
    pub fn line(&self) -> Option<String> {
        let format = self.format.as_ref()?;
        let parts = |way: &&Way| {
            let (mut slots, mut is_with_calls) = (0, false);
            way.node.visit(&mut |node| {
                slots += usize::from(matches!(node, Node::Slot(_)));
                is_with_calls |= *node == Node::Calls;
            });
            (is_with_calls, slots)
        };
        // Of several that have as many, the plainest.
        let way = format.ways.iter().rev().max_by_key(parts)?;
        let line = way.to_string();
        Some(match &format.calls {
            Some(calls) => line.replace("CALLS", &calls.to_string()),
            None => line,
        })
    }
}

/// How the arguments of calls are written, in words.
fn arguments(format: &Format) -> Option<String> {
    let mut found = None;
    format.calls.as_ref()?.visit(&mut |node| match node {
        Node::Arguments(dialect) if dialect.is_json() => found = Some("JSON".to_owned()),
        Node::Arguments(dialect) => found = Some(dialect.in_words()),
        Node::Argument(_) => found = Some("one by one".to_owned()),
        _ => {}
    });
    found
}

/// How often each lint complains, by code.
fn counts(complaints: &[Complaint]) -> Object {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for complaint in complaints {
        *counts.entry(complaint.lint.code()).or_default() += 1;
    }
    counts.into_iter().collect()
}

/// What becomes of the response template in each package.
fn targets(derivation: &Derivation) -> Object {
    let targets = Target::all().into_iter();
    let effects = targets.map(|target| {
        let worst = target.verdict(&derivation.template).worst;
        (target.profile.name(), worst.map_or("taken", Effect::key))
    });
    effects.collect()
}

/// The outcome of each question.
fn outcomes(capabilities: &Capabilities) -> Object {
    let answers = capabilities.answers.iter();
    answers
        .map(|answer| (answer.topic.key(), answer.outcome.key()))
        .collect()
}
