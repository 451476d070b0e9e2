//! What can go wrong with a chat template.

use std::borrow::Cow;
use std::fmt;

use super::tokens::TokenError;

/// A chat template could not be compiled or rendered.
///
/// It prints as the line of the template with a caret below the place:
///
/// ```
/// use unjinja::chat_template::{ChatTemplate, RenderInput};
///
/// let template = ChatTemplate::from_jinja("Hi\n{{ messages[0].content + 1 }}");
/// let messages = unjinja::json::read(r#"[{"role": "user", "content": "x"}]"#)?;
/// let input = RenderInput { messages, ..RenderInput::default() };
/// let error = template.render(&input).unwrap_err();
/// assert_eq!(error.line(), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderError {
    message: String,
    line: Option<usize>,
    /// Where it happened, in bytes of the template that was rendered.
    place: Option<usize>,
    /// The line's text, and where in it the error lies, in characters.
    excerpt: Option<Box<(String, usize, usize)>>,
    raised: bool,
    is_invalid: bool,
    is_exhausted: bool,
    undefined: Option<String>,
}

/// How much of a long line is shown on either side of the place.
const CONTEXT: usize = 60;

impl RenderError {
    /// `original` is the template as it was given, and where in it a place stands of what was compiled.
    pub(super) fn new(
        error: &minijinja::Error,
        original: &str,
        original_place: impl Fn(usize) -> usize,
    ) -> RenderError {
        let mut message = match (error.detail(), error.kind()) {
            (Some(detail), _) => detail.to_owned(),
            (None, minijinja::ErrorKind::OutOfFuel) => super::budget::too_many_steps(),
            (None, kind) => kind.to_string(),
        };
        let mut cause = std::error::Error::source(error);
        while let Some(error) = cause {
            message.push_str(": ");
            message.push_str(&error.to_string());
            cause = error.source();
        }
        let raised = message.starts_with(RAISED);
        RenderError {
            raised,
            is_invalid: error.kind() == minijinja::ErrorKind::SyntaxError,
            is_exhausted: error.kind() == minijinja::ErrorKind::OutOfFuel,
            undefined: undefined_in(&message)
                .filter(|_| !raised)
                .map(str::to_owned),
            message: message.trim_start_matches(RAISED).to_owned(),
            line: error.line(),
            place: error.range().map(|range| range.start),
            excerpt: error
                .range()
                .map(|range| original_place(range.start)..original_place(range.end))
                .and_then(|range| excerpt(original, range.start, range.end))
                .map(Box::new),
        }
    }

    /// A template that can't be cut into tokens.
    pub(super) fn of_token(error: TokenError, original: &str) -> RenderError {
        let before = error
            .place
            .as_ref()
            .and_then(|place| original.get(..place.start));
        RenderError {
            message: error.message,
            line: before.map(|before| 1 + before.matches('\n').count()),
            excerpt: error
                .place
                .clone()
                .and_then(|place| excerpt(original, place.start, place.end))
                .map(Box::new),
            place: error.place.map(|place| place.start),
            raised: false,
            is_invalid: true,
            is_exhausted: false,
            undefined: None,
        }
    }

    /// A rendering that is not worth going on with.
    pub(crate) fn given_up(why: impl Into<String>) -> RenderError {
        RenderError {
            message: why.into(),
            line: None,
            place: None,
            excerpt: None,
            raised: false,
            is_invalid: false,
            is_exhausted: true,
            undefined: None,
        }
    }

    /// Where in the prepared template it happened.
    pub(crate) fn place(&self) -> Option<usize> {
        self.place
    }

    /// Whether the rendering came to the end of what it may take.
    pub fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }

    /// What went wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The meaning of the error where a template was asked a question: that it is not valid, takes too much, or can't even
    /// render a question.
    ///
    /// ```
    /// use unjinja::chat_template::{ChatTemplate, RenderInput};
    ///
    /// for (jinja, meaning) in [
    ///     ("{% if %}", "this is not a valid chat template"),
    ///     ("{{ 1 + '' }}", "not even a question can be rendered"),
    ///     ("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
    ///      "this chat template takes too much to be asked"),
    /// ] {
    ///     let error = ChatTemplate::from_jinja(jinja).render(&RenderInput::default()).unwrap_err();
    ///     assert_eq!(error.of_question(), meaning);
    /// }
    /// ```
    pub fn of_question(&self) -> &'static str {
        match (self.is_invalid, self.is_exhausted) {
            (true, _) => "this is not a valid chat template",
            (false, true) => "this chat template takes too much to be asked",
            (false, false) => "not even a question can be rendered",
        }
    }

    /// The line of the template, from 1.
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// What the template needed and was not given, as the template writes it: `bos_token`, or
    /// `messages[0].name`.
    ///
    /// ```
    /// use unjinja::chat_template::{ChatTemplate, RenderInput};
    ///
    /// let template = ChatTemplate::from_jinja("{{ bos_token + 'Hi' }}");
    /// let error = template.render(&RenderInput::default()).unwrap_err();
    /// assert_eq!(error.undefined(), Some("bos_token"));
    /// ```
    pub fn undefined(&self) -> Option<&str> {
        self.undefined.as_deref()
    }

    /// Whether the template itself refused its input, by `raise_exception`.
    pub fn is_raised(&self) -> bool {
        self.raised
    }
}

/// The expression that an error of minijinja says to be undefined: it has no other place for it than
/// its detail, which is "`bos_token` is undefined", or ends in "(`bos_token` is undefined)".
fn undefined_in(detail: &str) -> Option<&str> {
    let start = match detail.strip_prefix('`') {
        Some(rest) => rest,
        None => detail.rsplit_once("(`")?.1,
    };
    let (expression, rest) = start.split_once('`')?;
    rest.starts_with(" is undefined").then_some(expression)
}

/// An operation that its values do not allow.
pub(super) fn invalid(detail: impl Into<Cow<'static, str>>) -> minijinja::Error {
    minijinja::Error::new(minijinja::ErrorKind::InvalidOperation, detail)
}

/// Begins the detail of an error that a template raised.
pub(super) const RAISED: &str = "\u{0}";

fn excerpt(jinja: &str, start: usize, end: usize) -> Option<(String, usize, usize)> {
    let before = jinja.get(..start)?;
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let rest = &jinja[line_start..];
    let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
    let column = jinja[line_start..start].chars().count();
    let width = jinja.get(start..end.min(line_start + line.len()).max(start))?;
    let width = width.chars().count().max(1);
    let skipped = column.saturating_sub(CONTEXT);
    let shown: String = line.chars().skip(skipped).take(2 * CONTEXT).collect();
    let width = width.min(
        shown
            .chars()
            .count()
            .saturating_sub(column - skipped)
            .max(1),
    );
    Some((shown.replace('\t', " "), column - skipped, width))
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let Some(line) = self.line else {
            return Ok(());
        };
        write!(f, " (line {line} of the template)")?;
        if let Some((text, column, width)) = self.excerpt.as_deref() {
            let number = line.to_string();
            let margin = " ".repeat(number.len());
            write!(f, "\n {margin} |\n {number} | {text}\n {margin} | ")?;
            write!(f, "{}{}", " ".repeat(*column), "^".repeat(*width))?;
        }
        Ok(())
    }
}

impl std::error::Error for RenderError {}
