//! Answers with several texts, as before a call and behind it, for packages that join them.

use crate::response::{ParserOptions, ResponseTemplate, parse};
use crate::value::Value;

use super::search_input::SearchInput;

/// The text between two others, where a call has stood.
const BETWEEN: &str = "\n";

/// The template with a content of all texts of an answer, and not of the last one alone; nothing if a text that it is known to read would be
/// another message.
pub(super) fn joining(
    template: &ResponseTemplate,
    search_input: &SearchInput,
    recovered_damage: &[bool],
) -> Option<ResponseTemplate> {
    let mut document = template.as_value().clone();
    let fields = document.as_object_mut()?.get_mut("fields")?;
    let content = fields.as_object_mut()?.get_mut("content")?;
    let content = content.as_object_mut()?;
    content.insert("repeats", true);
    content.insert("join", BETWEEN);
    let joining = ResponseTemplate::from_value(&document).ok()?;
    let samples = search_input.samples.all.iter();
    let samples = samples.map(|sample| (&sample.prefilled, &sample.output));
    let mentions = search_input.mentions.iter();
    let mentions = mentions.map(|mention| (&mention.prefilled, &mention.output));
    let damaged = search_input.damaged.iter().zip(recovered_damage);
    let damaged = damaged.filter(|(_, is_recovered)| **is_recovered);
    let damaged = damaged.map(|(damaged, _)| (&damaged.prefilled, &damaged.output));
    let mut texts = samples.chain(mentions).chain(damaged);
    let is_same = texts.all(|(prefix, output)| {
        let read = |template| {
            let options = ParserOptions::default().tools(search_input.samples.tools.clone());
            parse(template, prefix, output, options)
                .ok()
                .map(Value::from)
        };
        read(template) == read(&joining)
    });
    is_same.then_some(joining)
}
