//! Trying a response template on texts whose message is known.

use crate::analysis::assistant_turn::{AssistantTurn, ToolCall};
use crate::json;
use crate::response::{
    Delimiter, ParseError, ParserOptions, ResponseParser, ResponseTemplate, Tools, parse,
};
use crate::value::{Object, Value};

/// How many characters are fed at a time where texts are read in pieces: fewer than most tokens have.
const PIECE: usize = 3;

/// Reads texts with a response template, and compares what comes of them with what was meant.
pub(super) struct TrialReader<'a> {
    template: &'a ResponseTemplate,
    reasoning_field: &'a str,
    tools: &'a Tools,
}

impl<'a> TrialReader<'a> {
    pub(super) fn new(
        template: &'a ResponseTemplate,
        reasoning_field: &'a str,
        tools: &'a Tools,
    ) -> TrialReader<'a> {
        TrialReader {
            template,
            reasoning_field,
            tools,
        }
    }

    /// What is wrong with what comes of a text, if anything is: when it comes as a whole, and when it
    /// comes in pieces.
    pub(super) fn difference(
        &self,
        prefix: &str,
        output: &str,
        expected: &AssistantTurn,
    ) -> Option<String> {
        let whole = self.whole_difference(prefix, output, expected);
        whole.or_else(|| match self.depends_on_pieces() {
            true => self.pieces_difference(prefix, output, expected),
            false => None,
        })
    }

    /// The same where the text comes as a whole.
    pub(super) fn whole_difference(
        &self,
        prefix: &str,
        output: &str,
        expected: &AssistantTurn,
    ) -> Option<String> {
        self.difference_in(self.read(prefix, output), expected)
    }

    /// The same where it comes in pieces.
    pub(super) fn pieces_difference(
        &self,
        prefix: &str,
        output: &str,
        expected: &AssistantTurn,
    ) -> Option<String> {
        let difference = self.difference_in(self.read_pieces(prefix, output), expected)?;
        Some(format!("read piece by piece, {difference}"))
    }

    /// Whether what comes of a text may depend on where it is cut into pieces.
    pub(super) fn depends_on_pieces(&self) -> bool {
        delimiters(self.template).any(may_depend_on_pieces)
    }

    fn difference_in(
        &self,
        read: Result<AssistantTurn, ParseError>,
        expected: &AssistantTurn,
    ) -> Option<String> {
        match read {
            Ok(read) => self.difference_to(&read, expected),
            Err(error) => Some(error.to_string()),
        }
    }

    /// What comes of a text.
    pub(super) fn read(&self, prefix: &str, output: &str) -> Result<AssistantTurn, ParseError> {
        Ok(self.turn(&parse(self.template, prefix, output, self.options())?))
    }

    /// What comes of a text that is fed in small pieces.
    fn read_pieces(&self, prefix: &str, output: &str) -> Result<AssistantTurn, ParseError> {
        let mut parser = ResponseParser::new(self.template, prefix, self.options())?;
        let mut rest = output;
        while let Some((last, c)) = rest.char_indices().take(PIECE).last() {
            let (piece, after) = rest.split_at(last + c.len_utf8());
            parser.feed_with(piece, |_| {})?;
            rest = after;
        }
        Ok(self.turn(&parser.finalize_with(|_| {})?))
    }

    fn options(&self) -> ParserOptions {
        ParserOptions {
            tools: self.tools.clone(),
            ..ParserOptions::default()
        }
    }

    /// What a message says.
    pub(super) fn turn(&self, message: &Object) -> AssistantTurn {
        let text = |key: &str| {
            let text = message.get(key).and_then(Value::as_str).unwrap_or_default();
            Some(text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let calls = message.get("tool_calls").and_then(Value::as_array);
        AssistantTurn {
            reasoning: text(self.reasoning_field),
            content: text("content"),
            calls: calls.unwrap_or_default().iter().map(tool_call).collect(),
        }
    }

    /// How what was read differs from what was expected.
    pub(super) fn difference_to(
        &self,
        read: &AssistantTurn,
        expected: &AssistantTurn,
    ) -> Option<String> {
        let trimmed = |text: &Option<String>| text.as_deref().unwrap_or_default().trim().to_owned();
        let texts = [
            (self.reasoning_field, &read.reasoning, &expected.reasoning),
            ("content", &read.content, &expected.content),
        ];
        for (field, read, expected) in texts {
            let (read, expected) = (trimmed(read), trimmed(expected));
            if read != expected {
                return Some(format!("{field} is {read:?}, not {expected:?}"));
            }
        }
        (read.calls != expected.calls).then(|| {
            let calls: Vec<String> = read
                .calls
                .iter()
                .map(|c| format!("{}({})", c.name, json::write(&c.arguments.clone().into())))
                .collect();
            format!("the calls are [{}]", calls.join(", "))
        })
    }
}

/// All that opens or closes the fields of a template.
pub(super) fn delimiters(template: &ResponseTemplate) -> impl Iterator<Item = &Delimiter> {
    let fields = template.fields().iter();
    fields
        .flat_map(|field| [field.open(), field.close()])
        .flatten()
}

/// Whether where a delimiter is found may depend on where the text is cut into pieces.
pub(super) fn may_depend_on_pieces(delimiter: &Delimiter) -> bool {
    delimiter.is_chunk_dependent() != Some(false)
}

/// A call as it stands in a message.
fn tool_call(call: &Value) -> ToolCall {
    let function = call.get("function");
    let name = function.and_then(|function| function.get("name")?.as_str());
    let arguments = match function.and_then(|function| function.get("arguments")) {
        Some(Value::Object(arguments)) => arguments.clone(),
        // Some formats carry arguments as text.
        Some(Value::String(text)) => {
            let value = json::read(&text.to_string_lossy()).ok();
            value
                .and_then(|value| value.as_object().cloned())
                .unwrap_or_default()
        }
        _ => Object::new(),
    };
    ToolCall {
        name: name.unwrap_or_default().to_owned(),
        arguments,
    }
}
