//! How a model writes its turn: a typed tree, from which readers and grammars of any kind can be
//! written.
//!
//! A [`Format`] is found by lining up renderings. Of each it is known which words went in and where they
//! came out, so it is a row of texts and slots; what a call consists of is the same in all rows. The tree
//! knows nothing of chat templates, response templates or grammars.
//!
//! ```
//! use unjinja::chat_template::{ChatTemplate, RenderInput};
//! use unjinja::format::{Format, Slot};
//!
//! let template = ChatTemplate::from_jinja(
//!     "{% for m in messages %}<{{ m.role }}>\
//!      {% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}\
//!      {{ m.content }}<end>{% endfor %}\
//!      {% if add_generation_prompt %}<assistant>{% endif %}",
//! );
//! let format = Format::of(&template, &RenderInput::default())?;
//! assert_eq!(format.begins_after, ["<assistant>"]);
//! assert_eq!(format.ways[0].to_string(), "CONTENT, `<end>`");
//! assert_eq!(format.ways[1].to_string(), "`<think>` REASONING `</think>` CONTENT, `<end>`");
//!
//! // The tree reads what the model writes.
//! let reading = format.read("<think>Noon?</think>At noon.<end>").expect("it is a turn");
//! let texts: Vec<_> = reading.slots.iter().map(|found| (found.slot, found.text)).collect();
//! assert_eq!(texts, [(Slot::Reasoning, "Noon?"), (Slot::Content, "At noon.")]);
//! # Ok::<(), unjinja::chat_template::RenderError>(())
//! ```

mod calls;
mod conversation;
mod dialect;
mod node;
mod reading;
mod row;
mod value;
mod wording;
mod words;

use crate::markers::{self, lexicon::Lexicon};

pub use conversation::{ConversationFormat, ConversationSlot, Definitions, Passage, Piece};
pub use node::{Dialect, Entry, Node, Repetition, Slot, ValueForm, ValueType, ValueWriting};
pub use reading::{FoundSlot, NotATurn, Reading};
pub use wording::Wording;

pub(crate) use calls::{ArgumentView, CallView};
pub(crate) use dialect::unescaped;
pub(crate) use reading::NodeReader;
pub(crate) use row::{Row, SLOTS};
pub(crate) use wording::{
    Holds, Kinds, Members, ParameterKind, ToolParameters, Unescaped, WordingEntry, WordingList,
    WordingPiece, WordingSlot, json_at,
};
pub(crate) use words::shown;

/// How a model writes its turn.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Format {
    /// The texts after which a turn begins.
    pub begins_after: Vec<String>,
    /// What prompts write of the turn itself, such as what opens reasoning.
    pub prompts: Vec<String>,
    /// The ways in which the parts of a turn follow each other, the plainest first.
    pub ways: Vec<Way>,
    /// The calls of a turn, which stand in the ways where [`Node::Calls`] does; `None` if no way has any.
    pub calls: Option<Node>,
    /// The texts of a turn that are not written as they are: the template escapes signs in them, as JSON does.
    pub escaped: Vec<Slot>,
    /// Those of them that are written as they would be within a string of JSON.
    pub json_strings: Vec<Slot>,
    /// What is known to be written in a way that the tree does not hold, in words.
    pub gaps: Vec<String>,
    /// What markers begin with that consist of several parts.
    pub(crate) lexicon: Lexicon,
    /// The marker before a tool's answer, if that is what ends turns that nothing else ends: a model is stopped there.
    pub(crate) answer_marker: Option<String>,
}

/// One way in which the parts of a turn follow each other.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Way {
    /// The turn from behind its header on.
    pub node: Node,
    /// What ends it, which may be missing: engines cut off the token that ends a turn. With the first
    /// text of it, the turn has ended.
    pub end: Node,
    /// Whether it was seen rendered. If not, it is what a prompt begins.
    pub is_seen: bool,
}

impl Format {
    /// What a prompt has written of the turn that it is a prompt for. That is nothing where it ends before
    /// the turn's header: the last turn in it has ended, or there is none.
    pub fn begun_by<'p>(&self, prompt: &'p str) -> &'p str {
        let begun = after_headers(&self.begins_after, prompt);
        let mut ends = self.ways.iter().filter_map(|way| way.end.first_literal());
        let has_ended = ends.any(|end| begun.contains(end));
        let has_header = begun.len() < prompt.len();
        match (has_header || self.begins_turn(prompt)) && !has_ended {
            true => begun,
            false => &prompt[prompt.len()..],
        }
    }

    /// The markers of the turn that a tokenizer has to leave whole, and an engine to write out: what its parts open and close with.
    ///
    /// ```
    /// use unjinja::chat_template::{ChatTemplate, RenderInput};
    /// use unjinja::format::Format;
    ///
    /// let template = ChatTemplate::from_jinja(
    ///     "{% for m in messages %}<|{{ m.role }}|>\
    ///      {% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}\
    ///      {{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
    /// );
    /// let format = Format::of(&template, &RenderInput::default())?;
    /// assert_eq!(format.preserved_tokens(), ["</think>", "<think>", "<|end|>"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn preserved_tokens(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut note = |node: &Node| {
            let pieces = node.as_literal().into_iter().flat_map(markers::pieces);
            all.extend(
                pieces
                    .filter(|piece| markers::is_token(piece))
                    .map(str::to_owned),
            );
        };
        for way in &self.ways {
            way.node.visit(&mut note);
            way.end.visit(&mut note);
        }
        if let Some(calls) = &self.calls {
            calls.visit(&mut note);
        }
        all.sort();
        all.dedup();
        all
    }

    /// Whether a prompt is given from behind the header on.
    fn begins_turn(&self, prompt: &str) -> bool {
        let is_known = |known: &String| known.trim() == prompt.trim();
        let begins = |way: &Way| {
            let first = way.node.parts().first().and_then(Node::as_literal);
            first.is_some_and(|text| prompt.starts_with(text))
        };
        self.prompts.iter().any(is_known) || self.ways.iter().any(begins)
    }

    /// The same with the brackets around [markers that consist of several parts](crate::markers::lexicon).
    #[cfg(feature = "grammar")]
    pub(crate) fn marked(&self) -> Format {
        let mut format = self.clone();
        let mut mark = |node: &mut Node| {
            if let Node::Literal(text) = node {
                *text = self.lexicon.mark(text);
            }
        };
        for way in &mut format.ways {
            way.node.visit_mut(&mut mark);
            way.end.visit_mut(&mut mark);
        }
        if let Some(calls) = &mut format.calls {
            calls.visit_mut(&mut mark);
        }
        if let Some(marker) = &mut format.answer_marker {
            *marker = self.lexicon.mark(marker);
        }
        format
    }

    /// The version of what [`to_value`](Self::to_value) writes.
    pub const VERSION: u32 = 1;

    /// A JSON Schema of what [`to_value`](Self::to_value) writes.
    pub const JSON_SCHEMA: &str = include_str!("../../schema/format.schema.json");
}

/// The part of a prompt that stands after the last of these headers.
pub(crate) fn after_headers<'p, 'h>(
    headers: impl IntoIterator<Item = &'h String>,
    prompt: &'p str,
) -> &'p str {
    let ends = headers
        .into_iter()
        .filter_map(|header| Some(prompt.rfind(header.as_str())? + header.len()));
    &prompt[ends.max().unwrap_or(0)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A format without calls of these ways: the texts of each turn, with `R` for reasoning and `C` for content, and what
    /// ends it.
    pub(super) fn format(ways: &[(&str, &str)]) -> Format {
        let way = |(turn, end): &(&str, &str)| {
            let parts = turn.split_inclusive(['R', 'C']).flat_map(|part| {
                let text = part.trim_end_matches(['R', 'C']);
                let slot = match part.chars().next_back() {
                    Some('R') => Some(Slot::Reasoning),
                    Some('C') => Some(Slot::Content),
                    _ => None,
                };
                Node::texts(text).into_iter().chain(slot.map(Node::Slot))
            });
            Way {
                node: Node::Sequence(parts.collect()),
                end: Node::sequence(Node::texts(end)),
                is_seen: true,
            }
        };
        Format {
            begins_after: vec!["<bot>\n".to_owned()],
            prompts: vec!["<m>\n".to_owned()],
            ways: ways.iter().map(way).collect(),
            calls: None,
            escaped: Vec::new(),
            json_strings: Vec::new(),
            gaps: Vec::new(),
            lexicon: Lexicon::default(),
            answer_marker: None,
        }
    }

    #[test]
    fn a_prompt_has_begun_what_stands_behind_its_header_if_the_turn_goes_on() {
        let format = format(&[("<m>\nR</m>C", "<end>"), ("C", "<end>")]);
        for (prompt, expected) in [
            ("<user>Hi<bot>\n<m>\n", "<m>\n"),
            ("<user>Hi<bot>\n", ""),
            ("<bot>\nHi<end><bot>\nSo", "So"),
            // The last turn in it has ended, or there is none.
            ("<bot>\nHi<end>\n", ""),
            ("<user>Hi", ""),
            // It is given from behind the header on.
            ("<m>\n", "<m>\n"),
            ("<m>\nHm", "<m>\nHm"),
        ] {
            assert_eq!(format.begun_by(prompt), expected, "{prompt:?}");
        }
        // No turn that was rendered begins as prompts do.
        let format = self::format(&[("C", "<end>")]);
        for (prompt, expected) in [("\n<m>", "\n<m>"), ("<n>", "")] {
            assert_eq!(format.begun_by(prompt), expected, "{prompt:?}");
        }
    }

    #[test]
    fn headers_end_where_the_last_of_them_does() {
        let headers = ["<bot>".to_owned(), "<tag>".to_owned()];
        for (prompt, expected) in [
            ("<bot>a<tag>b", "b"),
            ("<tag>b<bot>a", "a"),
            ("<bot>a<bot>", ""),
            ("a", "a"),
        ] {
            assert_eq!(after_headers(&headers, prompt), expected, "{prompt}");
        }
    }

    #[test]
    fn markers_without_white_space_are_preserved() {
        for (turn, end, expected) in [
            ("<m>R</m>C", "<end>\n", "</m> <end> <m>"),
            ("<m>R<m>C", "", "<m>"),
            // It has a blank in it, or is a word.
            ("<m a>R</m>C", "Over.", "</m>"),
        ] {
            let found = format(&[(turn, end)]).preserved_tokens();
            assert_eq!(found.join(" "), expected, "{turn}");
        }
    }
}
