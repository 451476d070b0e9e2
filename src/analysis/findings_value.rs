//! Findings as JSON, for programs.

use crate::value::{Object, Value};

use super::call_shape::CallShape;
use super::findings::Findings;
use super::probe::{object, with};
use super::reasoning::ReasoningShape;

impl Findings {
    /// All of it for programs.
    pub fn to_value(&self) -> Value {
        let texts = |texts: &[String]| -> Value {
            texts
                .iter()
                .map(|text| Value::from(text.as_str()))
                .collect::<Vec<_>>()
                .into()
        };
        let mut turn = object([
            ("headers", texts(&self.turn.headers)),
            ("ends", texts(&self.turn.ends)),
            ("prompts", texts(&self.prompt_remainders)),
        ]);
        // What is seldom so is said only if it is.
        if let Some(header) = &self.turn.next_header {
            turn = with(turn, "next_header", header.as_str());
        }
        if let Some(marker) = &self.turn.answer_marker {
            turn = with(turn, "answer_marker", marker.as_str());
        }
        let content = object([
            ("open", optional(self.content.open.as_deref())),
            ("close", texts(&self.content.close)),
            ("beside_reasoning", texts(&self.content.beside_reasoning)),
        ]);
        let reasoning = self.reasoning.as_ref().map(reasoning_value);
        let calls = self.calls.as_ref().map(calls_value);
        let mut value = object([
            ("turn", turn),
            ("reasoning", reasoning.unwrap_or_default()),
            ("content", content),
            ("calls", calls.unwrap_or_default()),
            ("calls_refused", optional(self.calls_refused.as_deref())),
        ]);
        if self.is_silent {
            value = with(value, "is_silent", true);
        }
        if !self.assumed.is_empty() {
            let assumed = self.assumed.iter();
            let assumed = assumed.map(|one| (one.name.as_str(), one.value.to_value()));
            value = with(value, "assumed", assumed.collect::<Object>());
        }
        if !self.missing_tokens.is_empty() {
            let names = self.missing_tokens.iter().map(|token| token.name.clone());
            value = with(value, "missing_tokens", texts(&names.collect::<Vec<_>>()));
        }
        value
    }
}

fn optional(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::from)
}

pub(super) fn reasoning_value(shape: &ReasoningShape) -> Value {
    object([
        ("certainty", shape.certainty.key().into()),
        (
            "keys",
            shape
                .keys
                .iter()
                .map(|key| Value::from(key.as_str()))
                .collect::<Vec<_>>()
                .into(),
        ),
        ("open", optional(shape.open.as_deref())),
        ("close", optional(shape.close.as_deref())),
        ("cut_from_content", shape.cut_from_content.into()),
        ("in_last_turn", shape.in_last_turn.into()),
        ("in_past_turns", shape.in_past_turns.into()),
        ("beside_calls", shape.beside_calls.into()),
        ("opened_by_prompt", shape.opened_by_prompt.into()),
        ("closed_by_prompt", shape.closed_by_prompt.into()),
    ])
}

pub(super) fn calls_value(shape: &CallShape) -> Value {
    object([
        ("certainty", shape.certainty.key().into()),
        ("section_open", shape.section_open.as_str().into()),
        ("section_close", shape.section_close.as_str().into()),
        ("calls", shape.node.to_value()),
    ])
}
