//! Texts that are put together from a schema's own patterns.

use crate::response_schema::ResponseSchema;

use super::draft::{Plan, group_of};
use super::pattern::sample;

/// So many texts are tried at the most.
const MAX_TEXTS: usize = 120;

/// Texts that the schema reads, as they should be and damaged: each with what was done to it.
pub(super) fn texts(schema: &ResponseSchema, plan: &Plan) -> Vec<(String, Option<&'static str>)> {
    let mut whole: Vec<String> = Vec::new();
    // Each field with one of its texts, or without any.
    let samples: Vec<Vec<Option<String>>> = plan
        .fields
        .iter()
        .map(|field| {
            let samples = field.samples().into_iter().map(Some);
            samples.chain([None]).collect()
        })
        .collect();
    let mut chosen = vec![0; samples.len()];
    loop {
        let texts: Vec<Option<&str>> = chosen
            .iter()
            .zip(&samples)
            .map(|(&at, of)| of[at].as_deref())
            .collect();
        for lavish in [false, true] {
            if let Some(text) = put_together(plan, &texts, lavish)
                && whole.len() < MAX_TEXTS / 2
                && !whole.contains(&text)
                && schema.read(&text).is_ok_and(|message| !message.is_null())
            {
                whole.push(text);
            }
        }
        // The next choice, as an odometer goes on.
        let Some(next) = (0..chosen.len()).find(|&i| chosen[i] + 1 < samples[i].len()) else {
            break;
        };
        chosen[..next].fill(0);
        chosen[next] += 1;
    }
    let damaged = whole.iter().flat_map(|text| {
        let half = text.floor_char_boundary(text.len() / 2);
        let most = text.floor_char_boundary(text.len() * 9 / 10);
        [
            (text[..half].to_owned(), "cut in half"),
            (text[..most].to_owned(), "cut near its end"),
            (format!("{text}\n"), "a newline more"),
            (format!("{text}more"), "more text behind it"),
        ]
    });
    let damaged: Vec<(String, Option<&'static str>)> = damaged
        .filter(|(text, _)| !whole.contains(text))
        .map(|(text, damage)| (text, Some(damage)))
        .take(2 * MAX_TEXTS)
        .collect();
    whole
        .into_iter()
        .map(|text| (text, None))
        .chain(damaged)
        .collect()
}

/// One text, given what each field holds.
fn put_together(plan: &Plan, texts: &[Option<&str>], lavish: bool) -> Option<String> {
    let fields = || plan.fields.iter().zip(texts);
    if let Some(root) = &plan.root {
        let fill = |index: usize| {
            let found = fields().find(|(field, _)| {
                group_of(root, &field.name).is_some_and(|(group, _)| group == index)
            });
            found.and_then(|(_, text)| text.map(str::to_owned))
        };
        return sample(&root.node, &fill, lavish);
    }
    let of_field = |(field, text): (&super::draft::Planned, &Option<&str>)| match (text, &field.own)
    {
        (None, _) => Some(String::new()),
        (Some(text), Some(own)) if !field.is_list() => {
            sample(&own.node, &|_| Some((*text).to_owned()), lavish)
        }
        (Some(text), _) => Some((*text).to_owned()),
    };
    fields().map(of_field).collect()
}
