//! What a derived template makes of the chat template's own renderings, and of damaged ones.

use crate::response::ResponseTemplate;
use crate::value::{Object, Value};

use super::damage::Damaged;
use super::sample::{Origin, Samples};
use super::trial::TrialReader;

/// What a response template makes of a rendering.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Row {
    /// What the conversation is about.
    pub name: String,
    /// The prompt.
    pub prefix: String,
    /// What the model would write.
    pub output: String,
    /// What was said, as far as the chat template has written it, as a message.
    pub message: Object,
    /// What came back of it.
    pub recovery: Recovery,
}

/// What came back of what was said in a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recovery {
    /// All of it.
    Whole,
    /// All that the chat template has written: it has left these out.
    LostByTemplate(Vec<String>),
    /// Not all that was written, and how the message differs. None of the drafts that were tried
    /// has done better.
    NotExpressed(String),
}

impl Row {
    /// For programs: an object of `name`, `prefix`, `output`, `message` and `recovery`, which is
    /// what [`Recovery::to_value`] gives.
    pub fn to_value(&self) -> Value {
        Object::from_iter([
            ("name", Value::from(&self.name)),
            ("prefix", Value::from(&self.prefix)),
            ("output", Value::from(&self.output)),
            ("message", self.message.clone().into()),
            ("recovery", self.recovery.to_value()),
        ])
        .into()
    }
}

impl Recovery {
    /// A name for programs.
    pub fn key(&self) -> &'static str {
        match self {
            Recovery::Whole => "recovered",
            Recovery::LostByTemplate(_) => "lost by the chat template",
            Recovery::NotExpressed(_) => "not expressible",
        }
    }

    /// For programs: an object of `kind`, which is the [`key`](Self::key), and of what was `lost`
    /// or how the message differs, the `difference`.
    pub fn to_value(&self) -> Value {
        let mut out = Object::from_iter([("kind", self.key())]);
        match self {
            Recovery::Whole => None,
            Recovery::LostByTemplate(lost) => out.insert("lost", lost.iter().collect::<Value>()),
            Recovery::NotExpressed(difference) => out.insert("difference", difference),
        };
        out.into()
    }
}

/// What a response template makes of a damaged rendering.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DamagedText {
    /// What was done to it.
    pub damage: String,
    /// The part of the prompt that belongs to the turn.
    pub prefix: String,
    /// What the model would write.
    pub output: String,
    /// Whether all that is left of what was said came back.
    pub is_recovered: bool,
}

/// How many texts with one kind of damage are recovered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DamageRow {
    /// What was done to the texts.
    pub damage: String,
    /// How many are recovered.
    pub recovered: usize,
    /// How many there are.
    pub total: usize,
}

impl DamagedText {
    /// For programs: an object of `damage`, `prefix`, `output`, and whether it is `recovered`.
    pub fn to_value(&self) -> Value {
        Object::from_iter([
            ("damage", Value::from(&self.damage)),
            ("prefix", Value::from(&self.prefix)),
            ("output", Value::from(&self.output)),
            ("recovered", self.is_recovered.into()),
        ])
        .into()
    }
}

impl DamageRow {
    /// For programs: an object of `damage`, and of how many texts are `recovered` of a `total`.
    pub fn to_value(&self) -> Value {
        Object::from_iter([
            ("damage", Value::from(&self.damage)),
            ("recovered", self.recovered.into()),
            ("total", self.total.into()),
        ])
        .into()
    }
}

/// What a template makes of the chat template's own renderings.
pub(super) fn rows(template: &ResponseTemplate, field: &str, samples: &Samples) -> Vec<Row> {
    let reader = TrialReader::new(field, &samples.tools);
    let rendered = samples
        .all
        .iter()
        .filter(|sample| sample.origin == Origin::Rendered);
    let rows = rendered.map(|sample| {
        let difference =
            reader.difference(template, &sample.prefix, &sample.output, &sample.written);
        let lost = sample.lost();
        Row {
            name: sample.name.to_owned(),
            prefix: sample.prefix.clone(),
            output: sample.output.clone(),
            message: sample.written.to_message(field),
            recovery: match difference {
                Some(difference) => Recovery::NotExpressed(difference),
                None if lost.is_empty() => Recovery::Whole,
                None => Recovery::LostByTemplate(lost.into_iter().map(str::to_owned).collect()),
            },
        }
    });
    rows.collect()
}

/// What a template makes of damaged renderings.
pub(super) fn damaged_texts(
    template: &ResponseTemplate,
    field: &str,
    samples: &Samples,
    damaged: &[Damaged],
) -> Vec<DamagedText> {
    let reader = TrialReader::new(field, &samples.tools);
    let texts = damaged.iter().map(|text| {
        let difference = reader.difference(template, &text.prefilled, &text.output, &text.expected);
        DamagedText {
            damage: text.damage.to_owned(),
            prefix: text.prefilled.clone(),
            output: text.output.clone(),
            is_recovered: difference.is_none(),
        }
    });
    texts.collect()
}

/// The texts counted by what was done to them.
pub(super) fn damage_rows(texts: &[DamagedText]) -> Vec<DamageRow> {
    let mut rows: Vec<DamageRow> = Vec::new();
    for text in texts {
        let at = rows.iter().position(|row| row.damage == text.damage);
        let at = at.unwrap_or_else(|| {
            rows.push(DamageRow {
                damage: text.damage.clone(),
                recovered: 0,
                total: 0,
            });
            rows.len() - 1
        });
        rows[at].recovered += usize::from(text.is_recovered);
        rows[at].total += 1;
    }
    rows
}
