//! Stretches of a text that the model writes.

use std::ops::Range;

use crate::value::Value;

/// The stretches of a text that the model writes, in characters (Unicode scalar values), in order and apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spans(Vec<Range<usize>>);

impl Spans {
    /// The same stretches, those that touch put together, without the empty ones.
    pub(super) fn of(mut ranges: Vec<Range<usize>>) -> Spans {
        ranges.retain(|range| !range.is_empty());
        ranges.sort_by_key(|range| range.start);
        let mut spans: Vec<Range<usize>> = Vec::new();
        for range in ranges {
            match spans.last_mut() {
                Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
                _ => spans.push(range),
            }
        }
        Spans(spans)
    }

    /// These and one more, which is one with the last if that goes up to `near` at least.
    pub(super) fn with(mut self, near: usize, more: Range<usize>) -> Spans {
        match self.0.last_mut() {
            Some(last) if last.end >= near => last.end = more.end,
            _ if more.is_empty() => {}
            _ => self.0.push(more),
        }
        self
    }

    /// The stretches up to a character.
    pub(super) fn up_to(self, end: usize) -> Spans {
        let cut = self.0.into_iter().map(|span| span.start..span.end.min(end));
        Spans(cut.filter(|span| !span.is_empty()).collect())
    }

    /// The stretches.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.0
    }

    /// Whether the model writes nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What stands in them.
    pub fn texts<'t>(&'t self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let mut places = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        let mut next = 0;
        let mut place = move |number: usize| {
            let at = places.nth(number.checked_sub(next)?);
            next = number + 1;
            at
        };
        let mut known = (0, 0);
        self.0.iter().map(move |span| {
            let mut at = |number: usize| {
                if known.0 != number || number == 0 {
                    known = (number, place(number).unwrap_or(known.1));
                }
                known.1
            };
            let start = at(span.start);
            &text[start..at(span.end).max(start)]
        })
    }

    /// The mask of tokens, of which it is known which characters each stands for. A token is in the mask if the
    /// model writes a part of it, as `apply_chat_template` of the transformers library has it; one that stands for
    /// no character, if the model writes what follows it.
    ///
    /// ```
    /// use unjinja::chat_template::{ChatTemplate, RenderInput};
    /// use unjinja::conversation::{MaskPolicy, Marking};
    /// use unjinja::json;
    ///
    /// let template = ChatTemplate::from_jinja(
    ///     "{% for m in messages %}{{ '<' + m.role + '>' + m.content + '<end>' }}{% endfor %}\
    ///      {% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}",
    /// );
    /// let marking = Marking::of(&template, &RenderInput::default(), MaskPolicy::default())?;
    /// let conversation = RenderInput {
    ///     messages: json::read(r#"[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho!"}]"#)?,
    ///     ..RenderInput::default()
    /// };
    /// let masked = marking.mask(&conversation)?;
    /// assert_eq!(masked.text, "<user>Hi<end><assistant>Ho!<end>");
    ///
    /// // `<assistant`, `>Ho`, `!` and `<end>` are the last four.
    /// let tokens = [0..6, 6..8, 8..13, 13..23, 23..26, 26..27, 27..32];
    /// let found = masked.spans.of_tokens(&tokens);
    /// assert_eq!(found.mask, [false, false, false, false, true, true, true]);
    /// assert_eq!(found.across, [4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_tokens(&self, tokens: &[Range<usize>]) -> TokenMask {
        let mut found = TokenMask::default();
        for (number, token) in tokens.iter().enumerate() {
            let next = self.0.partition_point(|span| span.end <= token.start);
            let span = self.0.get(next).filter(|span| match token.is_empty() {
                true => span.start <= token.start,
                false => span.start < token.end,
            });
            found.mask.push(span.is_some());
            if span.is_some_and(|span| token.start < span.start || span.end < token.end) {
                found.across.push(number);
            }
        }
        found
    }

    /// As JSON: a list of pairs.
    pub fn to_value(&self) -> Value {
        let number = |at: usize| Value::from(i64::try_from(at).unwrap_or(i64::MAX));
        let pairs = self.0.iter();
        let pairs = pairs.map(|span| Value::from(vec![number(span.start), number(span.end)]));
        pairs.collect::<Vec<Value>>().into()
    }
}

/// Which tokens of a text the model writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenMask {
    /// For each token, whether it is in the mask.
    pub mask: Vec<bool>,
    /// The numbers of the tokens that lie across a border: the model writes a part of each, and they are in the mask.
    pub across: Vec<usize>,
}

/// What counts as written by the model where people differ.
///
/// By default, it is what the model is asked to write when it is prompted: from where the prompt ends up to the
/// token that ends the turn, and this token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct MaskPolicy {
    /// The token that ends the turn.
    pub ending: bool,
    /// White space behind it.
    pub white_space: bool,
    /// What a prompt writes of the turn behind its header, such as an opened `<think>`.
    pub prefilled: bool,
    /// What the turn begins with.
    pub header: HeaderSide,
}

/// On which side the header of a turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HeaderSide {
    /// Out, since prompts write it. But there are templates of which no turn goes on from the prompt for it:
    /// the prompt ends with `<assistant><think>`, and what is said is written as `<assistant>` with no thought
    /// behind it. There, no prompt has written the header of any turn, and it is in.
    #[default]
    Auto,
    /// The model writes it.
    In,
    /// It is not the model's.
    Out,
}

impl Default for MaskPolicy {
    fn default() -> Self {
        MaskPolicy {
            ending: true,
            white_space: false,
            prefilled: false,
            header: HeaderSide::Auto,
        }
    }
}
