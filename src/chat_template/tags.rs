//! A template, cut at its tags.

use std::ops::Range;

use minijinja::machinery::Token;

use super::render::tokens::tokens as tokens_of;

/// What stands within a tag, each with its place.
pub(super) type Tokens<'t> = Vec<(Token<'t>, Range<usize>)>;

/// What a template consists of.
pub(super) enum TemplatePart<'t> {
    /// Text that is written as it stands.
    Text(Range<usize>),
    /// What is printed: the place from the opening delimiter to the closing one, and what stands between them.
    Print(Range<usize>, Tokens<'t>),
    /// A tag, likewise.
    Tag(Range<usize>, Tokens<'t>),
}

/// The parts of a template, without its comments.
///
/// # Errors
///
/// If it can't be cut into tokens.
pub(super) fn parts(jinja: &str) -> Result<Vec<TemplatePart<'_>>, String> {
    let mut parts = Vec::new();
    let mut tokens = Vec::new();
    let mut start = 0;
    for token in tokens_of(jinja) {
        let (token, range) = token.map_err(|error| error.message)?;
        match token {
            Token::TemplateData(data) => {
                parts.push(TemplatePart::Text(range.start..range.start + data.len()));
            }
            Token::VariableStart | Token::BlockStart => {
                start = range.start;
                tokens.clear();
            }
            Token::VariableEnd => {
                parts.push(TemplatePart::Print(
                    start..range.end,
                    std::mem::take(&mut tokens),
                ));
            }
            Token::BlockEnd => {
                parts.push(TemplatePart::Tag(
                    start..range.end,
                    std::mem::take(&mut tokens),
                ));
            }
            token => tokens.push((token, range)),
        }
    }
    Ok(parts)
}
