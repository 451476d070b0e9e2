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
    match remedy(name) {
        Remedy::Variable => format!("give it with {}", words(Remedy::Variable)),
        token => format!(
            "give it with {}, or put the model's tokenizer_config.json beside the template",
            words(token)
        ),
    }
}

/// The means to give a token or a variable.
pub(super) fn remedy(name: &str) -> Remedy {
    match name {
        "bos_token" => Remedy::BosToken,
        "eos_token" => Remedy::EosToken,
        _ => Remedy::Variable,
    }
}

/// Whether an expression is a mere name.
pub(crate) fn is_name(expression: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    expression.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat_template::{ChatTemplate, RenderInput};

    #[test]
    fn what_nobody_can_give_is_not_advised_to_be_given() {
        for (jinja, expected) in [
            ("{{ 'a' + suffix }}", Some("give it with `variables`")),
            (
                "{{ 'a' + eos_token }}",
                Some(
                    "give it with `eos_token`, or put the model's tokenizer_config.json beside the template",
                ),
            ),
            (
                "{{ 'a' + bos_token }}",
                Some(
                    "give it with `bos_token`, or put the model's tokenizer_config.json beside the template",
                ),
            ),
            // No option gives a key of a message, or what a template sets itself.
            ("{% set m = {} %}{{ 'a' + m.name }}", None),
            ("{{ raise_exception('suffix is undefined') }}", None),
        ] {
            let template = ChatTemplate::from_jinja(jinja);
            let error = template.render(&RenderInput::default()).expect_err(jinja);
            assert_eq!(advice(&error, Remedy::name).as_deref(), expected, "{jinja}");
        }
    }

    #[test]
    fn names_have_letters_digits_and_underscores() {
        for (expression, expected) in [
            ("eos_token", true),
            ("n2", true),
            ("m.name", false),
            ("m['name']", false),
            ("a + b", false),
        ] {
            assert_eq!(is_name(expression), expected, "{expression}");
        }
    }
}
