//! Tokens that stand in turns of the assistant, and that nobody has given.

use std::fmt;

use crate::remedy::Remedy;

use super::advice::how_to_give;
use super::sample_turns::SampleTurns;
use super::turn;
use super::turn_headers::TurnHeaders;
use super::turn_prober::{PrecedingMessages, ThinkingMode, TurnProber};

/// A token that the chat template writes into a turn of the assistant or at its end, and that nobody
/// has given: what the model really writes is not known without it.
///
/// A token that makes no difference to turns, such as one at the beginning of a prompt, is not
/// missed. Nor is one of which the model's configuration says that there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingToken {
    /// The name of the variable: `eos_token`.
    pub name: String,
}

impl MissingToken {
    /// A token of this name.
    pub(crate) fn named(name: &str) -> MissingToken {
        MissingToken {
            name: name.to_owned(),
        }
    }

    /// The message, with names of the caller for what it advises to make use of.
    pub fn explain(&self, words: impl Fn(Remedy) -> &'static str) -> String {
        format!(
            "the chat template writes `{}` into the assistant's turn, but it is not set, so what is \
             found is not what the model writes: {}",
            self.name,
            how_to_give(&self.name, words)
        )
    }
}

impl fmt::Display for MissingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.explain(Remedy::name))
    }
}

/// The tokens that the template reads, was not given, and writes into a turn or at its
/// end, in alphabetical order.
///
/// A token that stands anywhere else, such as at the very beginning of a prompt, is none of them: what
/// it is makes no difference to what the model writes. Nor is one for which the template has a text of
/// its own.
pub(super) fn find(
    prober: &mut TurnProber<'_>,
    names: &[String],
    turns: &SampleTurns,
    content_close: &[String],
) -> Vec<MissingToken> {
    let mut missing: Vec<MissingToken> = Vec::new();
    for name in names {
        // Other variables get plain values; for a token there is no plain one.
        let is_assumed = prober.assumed.iter().any(|one| one.name == *name);
        if !name.ends_with("_token") || (prober.knows(name) && !is_assumed) {
            continue;
        }
        let written = |prober: &TurnProber<'_>| written(prober, turns, content_close);
        let without = written(prober);
        // In brackets, so that it counts as a marker where it ends a turn.
        let token = format!("<|{}|>", prober.word("token"));
        let with = prober.given(name, token.as_str(), written);
        let mut pairs = without.iter().zip(&with);
        if pairs.any(|(without, with)| is_missed(without.as_deref(), with.as_deref(), &token)) {
            missing.push(MissingToken::named(name));
        }
    }
    missing.sort_by(|one, other| one.name.cmp(&other.name));
    missing
}

/// All turns as they are written, as far as they are, and what ends a turn.
fn written(
    prober: &TurnProber<'_>,
    turns: &SampleTurns,
    content_close: &[String],
) -> Vec<Option<String>> {
    let mut texts = Vec::new();
    for turn in turns.all() {
        for mode in ThinkingMode::ALL {
            let rendered = prober.turn(PrecedingMessages::Question, &turn, mode).ok();
            texts.push(rendered.map(|turn| turn.tail().to_owned()));
        }
    }
    let shape = turn::find(
        prober,
        &TurnHeaders::default(),
        &turns.plain,
        &turns.word,
        content_close,
        false,
    );
    // A token behind the turn may be cut off with the next message; as an end of turns it shows.
    texts.push(Some(shape.ends.concat()));
    texts
}

/// Whether a text is not what it would be with the token, and has nothing in the token's place.
fn is_missed(without: Option<&str>, with: Option<&str>, token: &str) -> bool {
    match (without, with) {
        // `{{ eos_token or '</s>' }}` writes one of its own: nothing is missed.
        (Some(without), Some(with)) => without != with && !has_stand_in(without, with, token),
        (without, with) => without.is_none() && with.is_some(),
    }
}

/// Whether a text is another one with some text of its own wherever that one has the token.
fn has_stand_in(text: &str, with: &str, token: &str) -> bool {
    let Some((before, _)) = with.split_once(token) else {
        return false;
    };
    let places = with.matches(token).count();
    let others = with.len() - places * token.len();
    let length = text.len().saturating_sub(others) / places;
    match text.get(before.len()..before.len() + length) {
        Some(stand_in) => !stand_in.trim().is_empty() && with.replace(token, stand_in) == text,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::found;
    use crate::chat_template::ChatTemplate;

    #[test]
    fn a_stand_in_is_in_all_places_of_the_token() {
        let with = "a TOKEN b TOKEN";
        for (text, has) in [
            ("a </s> b </s>", true),
            ("a  b ", false),
            ("a \n b \n", false),
            ("a </s> b </p>", false),
            ("a </s> b ", false),
            ("", false),
        ] {
            assert_eq!(has_stand_in(text, with, "TOKEN"), has, "{text:?}");
        }
        assert!(!has_stand_in("a", "b", "TOKEN"));
        assert!(is_missed(None, Some("a TOKEN"), "TOKEN"));
        assert!(!is_missed(None, None, "TOKEN"));
    }

    #[test]
    fn a_token_is_missed_that_turns_are_written_with() {
        for (turn, expected) in [
            ("{{ m.content }}{{ eos_token }}", "eos_token"),
            (
                "{{ m.content }}{{ end_token }}{{ eos_token }}",
                "end_token eos_token",
            ),
            // It stands at the end of the prompt, or before all else.
            (
                "{{ bos_token if loop.first and m.role == 'user' }}{{ m.content }}<end>",
                "",
            ),
            // The next message cuts it off, and it ends turns.
            (
                "{{ m.content }}{{ eos_token if m.role == 'assistant' and not loop.last }}",
                "eos_token",
            ),
            // The template has a text of its own for it, but nothing is no text.
            ("{{ m.content }}{{ eos_token or '</s>' }}", ""),
            ("{{ m.content }}{{ eos_token or '' }}", "eos_token"),
            // Other variables get plain values.
            ("{{ m.content }}{{ suffix }}", ""),
            ("{{ m.content }}<end>", ""),
        ] {
            let jinja = format!(
                "{{% for m in messages %}}{{{{ m.role }}}}: {turn}{{% endfor %}}\
                 {{% if add_generation_prompt %}}assistant: {{% endif %}}"
            );
            let mut template = ChatTemplate::from_jinja(jinja);
            let missing = found(&template).missing_tokens;
            let names: Vec<&str> = missing.iter().map(|token| token.name.as_str()).collect();
            assert_eq!(names.join(" "), expected, "{turn}");
            // None is missed that is known.
            template.eos_token = Some("</s>".to_owned());
            let missing = found(&template).missing_tokens;
            let mut names = missing.iter().map(|token| token.name.as_str());
            assert!(names.all(|name| name != "eos_token"), "{turn}");
        }
    }
}
