//! Conversations that say the same in several forms, and are to be written alike.

use jiff::ToSpan;
use jiff::civil::DateTime;

use crate::analysis::conversations::ProbeConversation;
use crate::chat_template::{RenderInput, Renderer};
use crate::json;
use crate::value::Value;

use super::case::{Case, Rendered, rendered};

/// A conversation with the arguments of its calls as objects, and as texts. The first form is the one in which the
/// template is known to take them.
pub(super) fn arguments(conversation: &ProbeConversation, renderer: &Renderer<'_>) -> Option<Case> {
    let own = conversation.input.clone();
    let mut other = own.clone();
    let mut is_other = false;
    for message in messages(&mut other) {
        let calls = message.as_object_mut()?.get_mut("tool_calls");
        for call in calls.and_then(Value::as_array_mut).into_iter().flatten() {
            let function = call.as_object_mut()?.get_mut("function")?.as_object_mut()?;
            let given = function.get_mut("arguments")?;
            *given = other_form(given)?;
            is_other = true;
        }
    }
    let inputs = vec![own, other];
    let before = texts(&inputs, renderer)?;
    before[0].as_ref()?;
    let case = Case::new(inputs, before.clone());
    if !is_other || before[0] == before[1] {
        return Some(case);
    }
    let own = before[0].clone();
    let judge = move |after: &[Rendered]| after.iter().all(|text| *text == own);
    Some(case.judged(Box::new(judge)).faulty([0, 1]))
}

fn other_form(arguments: &Value) -> Option<Value> {
    match arguments.as_str() {
        Some(text) => json::read(text).ok(),
        None => Some(written(arguments).into()),
    }
}

/// JSON as `tojson` writes it.
fn written(value: &Value) -> String {
    json::write_styled(value, &json::Style::PYTHON.ensure_ascii(false))
}

/// A conversation with arguments and tools that are encoded once, or twice.
pub(super) fn twice(conversation: &ProbeConversation, renderer: &Renderer<'_>) -> Option<Case> {
    let input = conversation.input.clone();
    let mut values: Vec<Value> = vec![input.tools.clone()];
    values.extend(input.tools.as_array().into_iter().flatten().cloned());
    for message in input.messages.as_array()? {
        let calls = message.get("tool_calls").and_then(Value::as_array);
        let arguments = calls
            .into_iter()
            .flatten()
            .filter_map(|call| call.pointer("/function/arguments"));
        values.extend(arguments.cloned());
    }
    values.retain(|value| value.as_str().is_none() && !value.is_empty());
    let text = rendered(renderer, &input)??;
    let mut expected = text.clone();
    for value in &values {
        let once = written(value);
        let twice = written(&once.as_str().into());
        expected = expected.replace(&twice, &once);
    }
    if expected == text {
        return Some(Case::new(vec![input], vec![Some(text)]));
    }
    // Beside what it is, what it should be.
    let case = Case::new(
        vec![input.clone(), input],
        vec![Some(text), Some(expected.clone())],
    );
    let judge = move |after: &[Rendered]| after[0].as_deref() == Some(expected.as_str());
    Some(case.judged(Box::new(judge)).faulty([0, 1]))
}

/// A conversation with what has no content as empty texts, as null, and without the key.
pub(super) fn content(conversation: &ProbeConversation, renderer: &Renderer<'_>) -> Option<Case> {
    let form = |change: &dyn Fn(&mut Value) -> bool| {
        let mut input = conversation.input.clone();
        let changed = messages(&mut input).map(change).filter(|changed| *changed);
        (changed.count() > 0).then_some(input)
    };
    let given = |content: Value| {
        move |message: &mut Value| match has_only_calls(message) {
            true => {
                let object = message.as_object_mut();
                object.is_some_and(|object| {
                    object.insert("content", content.clone());
                    true
                })
            }
            false => false,
        }
    };
    let absent = |message: &mut Value| {
        has_only_calls(message)
            && message.as_object_mut().is_some_and(|object| {
                object.remove("content");
                true
            })
    };
    let inputs = vec![
        form(&given("".into()))?,
        form(&given(Value::Null))?,
        form(&absent)?,
    ];
    let before = texts(&inputs, renderer)?;
    let says_none = |text: &str| text.matches("None").count() + text.matches("Undefined").count();
    let least = before.iter().flatten().map(|text| says_none(text)).min()?;
    let is_right = |text: &Rendered| text.as_deref().is_some_and(|text| says_none(text) == least);
    let right: Vec<bool> = before.iter().map(is_right).collect();
    let case = Case::new(inputs, before.clone());
    let (Some(good), Some(bad)) = (
        right.iter().position(|right| *right),
        right.iter().position(|right| !right),
    ) else {
        return Some(case);
    };
    let judge = move |after: &[Rendered]| {
        let mut all = after.iter().zip(&before).zip(&right);
        all.all(|((after, before_itself), is_right)| match is_right {
            true => after == before_itself,
            false => right
                .iter()
                .zip(&before)
                .any(|(is_right, text)| *is_right && text == after),
        })
    };
    Some(case.judged(Box::new(judge)).faulty([good, bad]))
}

/// Whether a message of the assistant says nothing beside its calls.
fn has_only_calls(message: &Value) -> bool {
    let content = message.get("content");
    let is_empty = content.is_none_or(|content| content.is_null() || content.as_str() == Some(""));
    is_empty && message.get("tool_calls").is_some()
}

/// A conversation at two times of a day, and on another day.
pub(super) fn dates(conversation: &ProbeConversation, renderer: &Renderer<'_>) -> Option<Case> {
    let morning = DateTime::constant(2026, 3, 14, 9, 26, 53, 0);
    let times = [
        morning,
        morning
            .checked_add(11.hours().minutes(17).seconds(5))
            .ok()?,
        morning.checked_add(1.month().days(3)).ok()?,
    ];
    let inputs = times.map(|now| RenderInput {
        now: Some(now),
        ..conversation.input.clone()
    });
    let inputs = Vec::from(inputs);
    let before = texts(&inputs, renderer)?;
    before[0].as_ref()?;
    let case = Case::new(inputs, before.clone());
    if before[0] == before[1] {
        return Some(case);
    }
    let judge = move |after: &[Rendered]| {
        let (Some(first), Some(day)) = (&after[0], &after[2]) else {
            return false;
        };
        after[0] == after[1] && first != day && differs_in_one_place(before[0].as_deref(), first)
    };
    Some(case.judged(Box::new(judge)).faulty([0, 1]))
}

/// How much of a text may be gone with the time of the day.
const MAX_TIME: usize = 32;

/// Whether a text lacks a few characters of another one, all in one place.
fn differs_in_one_place(before: Option<&str>, after: &str) -> bool {
    let Some(before) = before else {
        return false;
    };
    let shared = crate::markers::common_prefix(before, after);
    let gone = before.len().saturating_sub(after.len());
    let behind = before.get(shared + gone..);
    gone <= MAX_TIME && behind.is_some_and(|behind| after.get(shared..) == Some(behind))
}

fn messages(input: &mut RenderInput) -> impl Iterator<Item = &mut Value> {
    input.messages.as_array_mut().into_iter().flatten()
}

fn texts(inputs: &[RenderInput], renderer: &Renderer<'_>) -> Option<Vec<Rendered>> {
    inputs
        .iter()
        .map(|input| rendered(renderer, input))
        .collect()
}
