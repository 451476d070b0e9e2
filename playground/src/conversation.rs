//! Conversations as a chat template writes them: who says what, and what of it the model writes.

use std::ops::Range;

use unjinja::chat_template::RenderInput;
use unjinja::conversation::{ConversationReader, Marking, MaskPolicy};
use unjinja::{Object, Value};

use crate::request::Request;

/// Renders a conversation. The answer has the text in `pieces`, each with the role that says it, where that is
/// known, and whether the model writes it; and `remarks` on what could not be found out.
pub(crate) fn render(request: &Request<'_>) -> Result<Value, String> {
    let template = request
        .chat_template()?
        .ok_or("there is no chat template")?;
    let base = request.base()?;
    let nothing = Value::Null;
    let messages = request.get("messages").ok_or("there are no messages")?;
    let input = RenderInput {
        messages: messages.clone(),
        tools: request.get("tools").unwrap_or(&nothing).clone(),
        add_generation_prompt: request.is("add_generation_prompt"),
        ..base.clone()
    };
    let text = template
        .render(&input)
        .map_err(|error| error.to_string())?
        .text;
    let mut remarks = Vec::new();
    let masked = Marking::of(&template, &base, MaskPolicy::default())
        .and_then(|marking| marking.mask(&input));
    let written: Vec<Range<usize>> = match &masked {
        Ok(masked) => masked.spans.ranges().to_vec(),
        Err(error) => {
            remarks.push(format!("what the model writes is not known: {error}"));
            Vec::new()
        }
    };
    let said = ConversationReader::new(&template, &base)
        .map_err(|error| error.to_string())
        .and_then(|reader| reader.read(&text).map_err(|error| error.to_string()));
    let slots: Vec<(Range<usize>, &'static str)> = match &said {
        Ok(conversation) => {
            let slots = conversation.parts.iter();
            slots
                .map(|slot| (slot.range.clone(), slot.slot.key()))
                .collect()
        }
        Err(error) => {
            remarks.push(format!("who says what is not known: {error}"));
            Vec::new()
        }
    };
    Ok(Object::from_iter([
        ("pieces", pieces(&text, &written, &slots)),
        ("remarks", remarks.iter().map(String::as_str).collect()),
    ])
    .into())
}

fn pieces(text: &str, written: &[Range<usize>], slots: &[(Range<usize>, &'static str)]) -> Value {
    let mut borders: Vec<usize> = vec![0, text.len()];
    let ranges = written.iter().chain(slots.iter().map(|(range, _)| range));
    borders.extend(ranges.flat_map(|range| [range.start, range.end]));
    borders.sort_unstable();
    borders.dedup();
    let pieces = borders.windows(2).map(|pair| {
        let (from, to) = (pair[0], pair[1]);
        let slot = slots.iter().find(|(range, _)| range.contains(&from));
        Object::from_iter([
            ("text", Value::from(&text[from..to])),
            ("slot", slot.map_or(Value::Null, |(_, key)| (*key).into())),
            (
                "written",
                written.iter().any(|range| range.contains(&from)).into(),
            ),
        ])
    });
    pieces.map(Value::from).collect()
}
