//! Texts that are put together from a schema's own patterns.

use std::collections::HashSet;

use crate::response_schema::ResponseSchema;
use crate::value::Value;

use super::plan::{Plan, Planned};
use super::sample::sample;

/// So many whole texts are tried at the most.
const MAX_WHOLE: usize = 60;
/// So many ways are tried to put one together.
const MAX_WAYS: usize = 500;
/// About so many times a field is looked for in the characters of all whole texts together: where there are
/// more fields, fewer texts are tried.
const MAX_SEARCHES: usize = 4_000_000;

/// A text, and what the schema makes of it.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) text: String,
    /// What was done to it, if it was.
    pub(super) damage: Option<&'static str>,
    pub(super) by_schema: Result<Value, String>,
}

/// Texts of which the schema makes something, and the same damaged.
pub(super) fn texts(schema: &ResponseSchema, plan: &Plan) -> Vec<Text> {
    let read = |text: String, damage| Text {
        by_schema: schema.read(&text).map_err(|error| error.to_string()),
        text,
        damage,
    };
    let mut known = HashSet::new();
    let whole = ways(plan).take(MAX_WAYS).flatten();
    let whole = whole.filter(|text| known.insert(text.clone()));
    let mut left = MAX_SEARCHES / plan.fields.len().max(1);
    let whole = whole.take_while(|text| {
        let may_be_tried = left > 0;
        left = left.saturating_sub(text.len());
        may_be_tried
    });
    let whole = whole.map(|text| read(text, None));
    let is_read = |text: &Text| text.by_schema.as_ref().is_ok_and(|made| !made.is_null());
    let mut texts: Vec<Text> = whole.filter(is_read).take(MAX_WHOLE).collect();
    let damaged = texts.iter().flat_map(|text| damaged(&text.text));
    let damaged = damaged.filter(|(text, _)| known.insert(text.clone()));
    let damaged: Vec<Text> = damaged.map(|(text, what)| read(text, Some(what))).collect();
    texts.extend(damaged);
    texts
}

/// All that each field may hold, in every combination, with what is optional and without.
fn ways(plan: &Plan) -> impl Iterator<Item = Option<String>> {
    // Each field with one of its texts, or without any.
    let fields = plan.fields.iter();
    let choices: Vec<Vec<Option<String>>> = fields
        .map(|field| {
            field
                .samples()
                .into_iter()
                .map(Some)
                .chain([None])
                .collect()
        })
        .collect();
    // Combinations are counted as an odometer counts, each wheel with the choices of a field.
    let mut chosen = Some(vec![0; choices.len()]);
    let combinations = std::iter::from_fn(move || {
        let current = chosen.take()?;
        let next = (0..current.len()).find(|&i| current[i] + 1 < choices[i].len());
        chosen = next.map(|next| {
            let mut following = current.clone();
            following[..next].fill(0);
            following[next] += 1;
            following
        });
        let texts = current.iter().zip(&choices);
        Some(
            texts
                .map(|(&at, of)| of[at].clone())
                .collect::<Vec<Option<String>>>(),
        )
    });
    combinations.flat_map(|texts| [false, true].map(|lavish| put_together(plan, &texts, lavish)))
}

/// What happens to texts on their way, and models do to them.
fn damaged(text: &str) -> [(String, &'static str); 4] {
    let half = text.floor_char_boundary(text.len() / 2);
    let most = text.floor_char_boundary(text.len() * 9 / 10);
    [
        (text[..half].to_owned(), "cut in half"),
        (text[..most].to_owned(), "cut near its end"),
        (format!("{text}\n"), "a newline more"),
        (format!("{text}more"), "more text behind it"),
    ]
}

/// One text, given what each field holds.
fn put_together(plan: &Plan, texts: &[Option<String>], lavish: bool) -> Option<String> {
    let fields = || plan.fields.iter().zip(texts);
    if let Some(root) = &plan.root {
        let fill = |index: usize| {
            let found = fields().find(|(field, _)| field.group == Some(index));
            found.and_then(|(_, text)| text.clone())
        };
        return sample(&root.node, &fill, lavish);
    }
    let of_field = |(field, text): (&Planned, &Option<String>)| match (text, &field.own) {
        (None, _) => Some(String::new()),
        (Some(text), Some(own)) if !field.is_list() => {
            sample(&own.node, &|_| Some(text.clone()), lavish)
        }
        (Some(text), _) => Some(text.clone()),
    };
    fields().map(of_field).collect()
}
