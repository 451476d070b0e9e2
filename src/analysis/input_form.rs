//! The forms in which a template may want to be given a message of the assistant.

use crate::json;
use crate::value::{Value, object};

use super::assistant_turn::{AssistantTurn, ToolCall};
use super::probe::{call, with};

/// How a message without content says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EmptyContent {
    EmptyText,
    Null,
    Absent,
}

/// How reasoning is given to a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReasoningForm {
    /// Beside the content, under all the names that most templates read.
    Field,
    /// Beside the content, under another name.
    Named(&'static str),
    /// As a part of the content, with its text under `thinking`.
    Part,
}

/// The shape of the ids of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdShape {
    /// Nine letters and digits.
    Nine,
    /// With a prefix, as most services have them.
    Prefixed,
    /// `functions.NAME:INDEX`.
    Named,
}

impl IdShape {
    pub(crate) fn id(self, name: &str, index: usize) -> String {
        match self {
            IdShape::Nine => format!("zqid{:05}", 70_001 + index),
            IdShape::Prefixed => format!("call_zqid{:05}", 70_001 + index),
            IdShape::Named => format!("functions.{name}:{index}"),
        }
    }
}

/// The form in which a template takes messages of the assistant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InputForm {
    pub(crate) empty_content: EmptyContent,
    pub(crate) arguments_as_text: bool,
    pub(crate) id_shape: IdShape,
    /// Whether calls come out only when they have been answered.
    pub(crate) needs_answers: bool,
    pub(crate) reasoning: ReasoningForm,
}

impl Default for InputForm {
    fn default() -> Self {
        InputForm {
            empty_content: EmptyContent::EmptyText,
            arguments_as_text: false,
            id_shape: IdShape::Nine,
            needs_answers: false,
            reasoning: ReasoningForm::Field,
        }
    }
}

impl InputForm {
    /// The forms to be tried for a turn, the most common first. What the turn has no use for stays
    /// as it is. Reasoning may have some other names.
    pub(crate) fn alternatives(
        self,
        turn: &AssistantTurn,
        other_keys: &[&'static str],
    ) -> Vec<InputForm> {
        let named = other_keys.iter().map(|key| ReasoningForm::Named(key));
        let reasoning = match turn.reasoning {
            // A list of parts comes last: templates that know no parts print it as it is.
            Some(_) => [ReasoningForm::Field]
                .into_iter()
                .chain(named)
                .chain([ReasoningForm::Part])
                .collect(),
            None => vec![self.reasoning],
        };
        let empty_content = match turn.content {
            Some(_) => vec![self.empty_content],
            None => vec![
                EmptyContent::EmptyText,
                EmptyContent::Null,
                EmptyContent::Absent,
            ],
        };
        let (id_shapes, texts, answers) = match turn.calls.is_empty() {
            true => (
                vec![self.id_shape],
                vec![self.arguments_as_text],
                vec![self.needs_answers],
            ),
            false => (
                vec![IdShape::Nine, IdShape::Prefixed, IdShape::Named],
                vec![false, true],
                vec![false, true],
            ),
        };
        let mut forms = Vec::new();
        // Without answers first: behind a call that comes out by itself nothing has to be cut off.
        for &needs_answers in &answers {
            for &id_shape in &id_shapes {
                for &arguments_as_text in &texts {
                    for &empty_content in &empty_content {
                        forms.extend(reasoning.iter().map(|&reasoning| InputForm {
                            empty_content,
                            arguments_as_text,
                            id_shape,
                            needs_answers,
                            reasoning,
                        }));
                    }
                }
            }
        }
        forms
    }

    /// The turn as a message in this form. The note goes along with reasoning that is a part of the
    /// content: a template that knows nothing of parts prints it with all the rest.
    pub(crate) fn message(&self, turn: &AssistantTurn, note: &str) -> Value {
        let content = match (&turn.content, self.empty_content) {
            (Some(content), _) => Some(content.into()),
            (None, EmptyContent::EmptyText) => Some("".into()),
            (None, EmptyContent::Null) => Some(Value::Null),
            // `{% if m.content is defined %}` wants it absent, `is not none` wants null.
            (None, EmptyContent::Absent) => None,
        };
        let mut message = Value::from(object! {"role": "assistant"});
        if let Some(content) = content {
            message = with(message, "content", content);
        }
        if let Some(reasoning) = &turn.reasoning {
            message = match self.reasoning {
                // The renderer adds the other names that templates read, as the transformers
                // library does; this one is not among those that it adds.
                ReasoningForm::Field => with(message, "reasoning", reasoning.as_str()),
                ReasoningForm::Named(key) => with(message, key, reasoning.as_str()),
                ReasoningForm::Part => {
                    let parts = content_parts(reasoning, turn.content.as_deref(), note);
                    with(message, "content", parts)
                }
            };
        }
        if !turn.calls.is_empty() {
            let calls = turn.calls.iter().enumerate();
            let calls = calls.map(|(index, tool_call)| self.call(tool_call, index));
            message = with(message, "tool_calls", calls.collect::<Value>());
        }
        message
    }

    /// The turn as a message that is read back from a text, with reasoning under a key.
    pub(crate) fn message_for_reading(&self, turn: &AssistantTurn, reasoning_key: &str) -> Value {
        let mut message = self.message(turn, "");
        if let Value::Object(object) = &mut message {
            let own = match self.reasoning {
                ReasoningForm::Named(key) => key,
                ReasoningForm::Field | ReasoningForm::Part => "reasoning",
            };
            if let Some(reasoning) = object.remove(own) {
                object.insert(reasoning_key, reasoning);
            }
            let parts = object.get_mut("content").and_then(Value::as_array_mut);
            for part in parts.into_iter().flatten() {
                if let Value::Object(part) = part {
                    // The note is there to find out whether parts are understood, and no part of any message.
                    part.remove("note");
                }
            }
        }
        message
    }

    fn call(&self, tool_call: &ToolCall, index: usize) -> Value {
        let arguments = Value::from(tool_call.arguments.clone());
        let arguments = match self.arguments_as_text {
            // As most write it, and as `tojson` does.
            true => json::write_styled(&arguments, &json::Style::PYTHON.ensure_ascii(false)).into(),
            false => arguments,
        };
        let id = self.id_shape.id(&tool_call.name, index);
        call(&id, &tool_call.name, arguments)
    }
}

/// Content as a list of parts, of which the first is reasoning with a note.
fn content_parts(reasoning: &str, content: Option<&str>, note: &str) -> Value {
    let reasoning = object! {"type": "thinking", "thinking": reasoning, "note": note};
    let text = content.map(|text| object! {"type": "text", "text": text});
    [reasoning].into_iter().chain(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(letters: &str) -> AssistantTurn {
        let mut turn = AssistantTurn::default();
        for letter in letters.chars() {
            match letter {
                'r' => turn = turn.with_reasoning("Hm."),
                't' => turn = turn.with_content("Yes."),
                _ => turn
                    .calls
                    .push(ToolCall::new("f", [("a".to_owned(), "é".into())])),
            }
        }
        turn
    }

    #[test]
    fn only_what_a_turn_has_use_for_is_tried_in_other_forms() {
        for (letters, expected) in [
            ("t", 1),
            ("", 3),
            ("r", 6),
            ("rt", 2),
            ("tc", 12),
            ("c", 36),
            ("rc", 72),
        ] {
            let forms = InputForm::default().alternatives(&turn(letters), &[]);
            assert_eq!(forms.len(), expected, "{letters}");
            // What is most common comes first.
            assert_eq!(forms[0], InputForm::default(), "{letters}");
        }
    }

    #[test]
    fn messages_are_written_as_a_form_says() {
        let plain = InputForm::default();
        let with = |empty_content| InputForm {
            empty_content,
            ..plain
        };
        let in_parts = InputForm {
            reasoning: ReasoningForm::Part,
            ..plain
        };
        let named = InputForm {
            reasoning: ReasoningForm::Named("thought"),
            ..plain
        };
        let as_text = InputForm {
            arguments_as_text: true,
            id_shape: IdShape::Named,
            ..with(EmptyContent::Absent)
        };
        for (form, letters, expected) in [
            (plain, "", r#"{"role": "assistant", "content": ""}"#),
            (
                named,
                "rt",
                r#"{"role": "assistant", "content": "Yes.", "thought": "Hm."}"#,
            ),
            (
                with(EmptyContent::Null),
                "",
                r#"{"role": "assistant", "content": null}"#,
            ),
            (with(EmptyContent::Absent), "", r#"{"role": "assistant"}"#),
            (
                with(EmptyContent::Absent),
                "t",
                r#"{"role": "assistant", "content": "Yes."}"#,
            ),
            (
                plain,
                "rt",
                r#"{"role": "assistant", "content": "Yes.", "reasoning": "Hm."}"#,
            ),
            (
                in_parts,
                "rt",
                r#"{"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "note": "N"}, {"type": "text", "text": "Yes."}]}"#,
            ),
            (
                in_parts,
                "r",
                r#"{"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "note": "N"}]}"#,
            ),
            (
                plain,
                "c",
                r#"{"role": "assistant", "content": "", "tool_calls": [{"id": "zqid70001", "type": "function", "function": {"name": "f", "arguments": {"a": "é"}}}]}"#,
            ),
            // Ids count; a text of JSON has no escapes that a model would not write.
            (
                as_text,
                "cc",
                r#"{"role": "assistant", "tool_calls": [{"id": "functions.f:0", "type": "function", "function": {"name": "f", "arguments": "{\"a\": \"é\"}"}}, {"id": "functions.f:1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": \"é\"}"}}]}"#,
            ),
        ] {
            let message = form.message(&turn(letters), "N");
            let expected: Value = expected.parse().expect("it is JSON");
            assert_eq!(message, expected, "{letters}");
        }
    }

    #[test]
    fn messages_that_are_read_back_have_reasoning_under_its_key_and_no_note() {
        let in_parts = InputForm {
            reasoning: ReasoningForm::Part,
            ..InputForm::default()
        };
        for (form, expected) in [
            (
                InputForm::default(),
                r#"{"role": "assistant", "content": "Yes.", "mull": "Hm."}"#,
            ),
            (
                in_parts,
                r#"{"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes."}]}"#,
            ),
        ] {
            let message = form.message_for_reading(&turn("rt"), "mull");
            let expected: Value = expected.parse().expect("it is JSON");
            assert_eq!(message, expected);
        }
    }
}
