//! What `str.format` may make.

use minijinja::{Error, Value};

use crate::chat_template::render::error::invalid;
use crate::chat_template::render::{budget, items, printing};

/// Widths with more digits than this are refused.
const MAX_WIDTH_DIGITS: usize = 4;

/// Sees to it that `str.format` makes no more than may be spent, before it is done.
pub(in crate::chat_template::render) fn check_format(
    template: &Value,
    args: &[Value],
) -> Result<(), Error> {
    let template = template.as_str().unwrap_or_default();
    let is_long = |digits: &str| digits.len() > MAX_WIDTH_DIGITS;
    if template.split(|c: char| !c.is_ascii_digit()).any(is_long) {
        return Err(invalid("a number in the format is too large"));
    }
    let mut longest = None;
    for value in args {
        // minijinja prints it by going into all that it holds, however deep.
        items::count_all(value)?;
        longest = longest.max(Some(printing::str(value)?.len()));
    }
    let fields = template.matches('{').count();
    let padding = 10_usize.pow(MAX_WIDTH_DIGITS as u32);
    let padded = if template.contains(':') { padding } else { 0 };
    let most = fields.saturating_mul(longest.unwrap_or(0).saturating_add(padded));
    budget::spend(template.len().saturating_add(most))
}
