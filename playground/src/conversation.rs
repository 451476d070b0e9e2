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

/// Ranges and slots are in the order of the text, so that nothing is looked at twice.
fn pieces(text: &str, written: &[Range<usize>], slots: &[(Range<usize>, &'static str)]) -> Value {
    let mut borders: Vec<usize> = vec![0, text.len()];
    let ranges = written.iter().chain(slots.iter().map(|(range, _)| range));
    borders.extend(ranges.flat_map(|range| [range.start, range.end]));
    borders.sort_unstable();
    borders.dedup();
    let mut written = written.iter().peekable();
    let mut slots = slots.iter().peekable();
    let pieces = borders.windows(2).map(|pair| {
        let (from, to) = (pair[0], pair[1]);
        while slots.next_if(|(range, _)| range.end <= from).is_some() {}
        while written.next_if(|range| range.end <= from).is_some() {}
        let slot = slots.peek().filter(|(range, _)| range.contains(&from));
        Object::from_iter([
            ("text", Value::from(&text[from..to])),
            ("slot", slot.map_or(Value::Null, |(_, key)| (*key).into())),
            (
                "written",
                written
                    .peek()
                    .is_some_and(|range| range.contains(&from))
                    .into(),
            ),
        ])
    });
    pieces.map(Value::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_piece_has_its_slot_and_its_writer() {
        let pieces = pieces(
            "<s>Hi</s>Hello",
            &[9..11, 11..14],
            &[(3..5, "user"), (5..5, "tool"), (9..14, "content")],
        );
        let pieces = pieces.as_array().expect("a list").iter().map(|piece| {
            let text = |key| piece.get(key).and_then(Value::as_str);
            let is_written = piece.get("written").and_then(Value::as_bool);
            (text("text").unwrap_or_default(), text("slot"), is_written)
        });
        assert_eq!(
            pieces.collect::<Vec<_>>(),
            [
                ("<s>", None, Some(false)),
                ("Hi", Some("user"), Some(false)),
                ("</s>", None, Some(false)),
                ("He", Some("content"), Some(true)),
                ("llo", Some("content"), Some(true)),
            ]
        );
    }

    #[test]
    fn the_time_grows_with_the_length_of_a_conversation() {
        let turns = 50_000;
        let ranges: Vec<Range<usize>> = (0..turns).map(|turn| 2 * turn..2 * turn + 1).collect();
        let slots: Vec<_> = ranges
            .iter()
            .map(|range| (range.clone(), "content"))
            .collect();
        let pieces = pieces(&"ab".repeat(turns), &ranges, &slots);
        assert_eq!(pieces.as_array().map(<[Value]>::len), Some(2 * turns));
    }
}
