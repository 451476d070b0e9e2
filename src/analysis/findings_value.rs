//! Findings as JSON, for programs.

use crate::value::{Object, Value, object};

use super::call_shape::CallShape;
use super::findings::Findings;
use super::reasoning::ReasoningShape;

impl Findings {
    /// All of it for programs.
    pub fn to_value(&self) -> Value {
        let mut turn = object! {
            "headers": Value::from_iter(&self.turn.headers),
            "ends": Value::from_iter(&self.turn.ends),
            "prompts": Value::from_iter(&self.prompt_remainders),
        };
        // What is seldom so is said only if it is.
        if let Some(header) = &self.turn.next_header {
            turn.insert("next_header", header);
        }
        let varied = self.turn.varied_headers();
        if !varied.is_empty() {
            turn.insert("varied_headers", Value::from_iter(&varied));
        }
        if let Some(marker) = &self.turn.answer_marker {
            turn.insert("answer_marker", marker);
        }
        let mut value = object! {
            "turn": turn,
            "reasoning": self.reasoning.as_ref().map(reasoning_value),
            "content": object! {
                "open": self.content.open.as_deref(),
                "close": Value::from_iter(&self.content.close),
                "beside_reasoning": Value::from_iter(&self.content.beside_reasoning),
                "before_calls": Value::from_iter(&self.content.before_calls),
            },
            "calls": self.calls.as_ref().map(calls_value),
            "calls_refused": self.calls_refused.as_deref(),
        };
        if self.drops_all_said {
            value.insert("drops_all_said", true);
        }
        if !self.assumed.is_empty() {
            let assumed = self.assumed.iter();
            let assumed = assumed.map(|one| (one.name.as_str(), one.value.to_value()));
            value.insert("assumed", assumed.collect::<Object>());
        }
        if !self.missing_tokens.is_empty() {
            let names = self.missing_tokens.iter().map(|token| &token.name);
            value.insert("missing_tokens", names.collect::<Value>());
        }
        value.into()
    }
}

pub(super) fn reasoning_value(shape: &ReasoningShape) -> Value {
    let mut value = object! {
        "certainty": shape.certainty.key(),
        "keys": Value::from_iter(&shape.keys),
        "open": shape.open.as_deref(),
        "close": shape.close.as_deref(),
        "cut_from_content": shape.cut_from_content,
        "in_last_turn": shape.in_last_turn,
        "in_past_turns": shape.in_past_turns,
        "beside_calls": shape.beside_calls,
        "opened_by_prompt": shape.opened_by_prompt,
        "closed_by_prompt": shape.closed_by_prompt,
    };
    let varied_by = shape.varied_by();
    if !varied_by.is_empty() {
        value.insert("varied_by", Value::from_iter(&varied_by));
    }
    value.into()
}

pub(super) fn calls_value(shape: &CallShape) -> Value {
    let mut value = object! {
        "certainty": shape.certainty.key(),
        "section_open": shape.section_open(),
        "section_close": shape.section_close(),
        "calls": shape.node.to_value(),
    };
    if shape.several_in_brackets {
        value.insert("several_in_brackets", true);
    }
    value.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::assumed::{AssumedVariable, PlainValue};
    use crate::analysis::missing_tokens::MissingToken;

    #[test]
    fn what_is_seldom_so_is_said_only_if_it_is() {
        type Change = fn(&mut Findings);
        let changes: [(&str, Change); 5] = [
            ("/drops_all_said", |found| found.drops_all_said = true),
            ("/turn/next_header", |found| {
                found.turn.next_header = Some("<bot>".to_owned())
            }),
            ("/turn/answer_marker", |found| {
                found.turn.answer_marker = Some("<|found|>".to_owned())
            }),
            ("/assumed/brief", |found| {
                found.assumed = vec![AssumedVariable {
                    name: "brief".to_owned(),
                    value: PlainValue::False,
                }];
            }),
            ("/missing_tokens/0", |found| {
                found.missing_tokens = vec![MissingToken::named("eos_token")]
            }),
        ];
        let plain = Findings::default().to_value();
        for (pointer, change) in changes {
            assert!(plain.pointer(pointer).is_none(), "{pointer}");
            let mut findings = Findings::default();
            change(&mut findings);
            assert!(findings.to_value().pointer(pointer).is_some(), "{pointer}");
        }
    }
}
