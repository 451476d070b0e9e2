//! How variables can be given that a rendering has missed.

use crate::chat_template::RenderError;
use crate::remedy::Remedy;

/// How the variable can be given that a rendering has missed, if that is what is wrong with it.
pub(crate) fn advice(
    error: &RenderError,
    words: impl Fn(Remedy) -> &'static str,
) -> Option<String> {
    // `m.content.text` may be undefined, and nobody can give that.
    let name = error.undefined().filter(|expression| is_name(expression))?;
    Some(how_to_give(name, words))
}

/// How a token or a variable can be given.
pub(super) fn how_to_give(name: &str, words: impl Fn(Remedy) -> &'static str) -> String {
    let remedy = match name {
        "bos_token" => Remedy::BosToken,
        "eos_token" => Remedy::EosToken,
        _ => return format!("give it with {}", words(Remedy::Variable)),
    };
    format!(
        "give it with {}, or put the model's tokenizer_config.json beside the template",
        words(remedy)
    )
}

/// Whether an expression is a mere name.
pub(crate) fn is_name(expression: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    expression.chars().all(is_part)
}
