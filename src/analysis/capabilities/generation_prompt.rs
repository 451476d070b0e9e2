//! What a prompt writes of the assistant's turn, and what it does about thinking.

use crate::analysis::probe::{Probe, Prober, message, with};
use crate::chat_template::REASONING_KEYS;
use crate::markers::same_start;
use crate::value::Value;

/// Whether a prompt begins the model's thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Thinking {
    /// The model has to begin it, if it thinks.
    LeftToTheModel,
    /// The prompt opens it: the output begins amid the thinking.
    Opened,
    /// The prompt opens it and closes it again: the model is not to think.
    Closed,
}

impl Thinking {
    /// A name for programs.
    pub fn key(self) -> &'static str {
        match self {
            Thinking::LeftToTheModel => "left to the model",
            Thinking::Opened => "opened",
            Thinking::Closed => "opened and closed",
        }
    }
}

/// What a prompt writes of the assistant's turn.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GenerationPrompt {
    /// What `add_generation_prompt` adds.
    pub text: String,
    /// What it does about thinking; `None` if the template renders no reasoning to compare with.
    pub thinking: Option<Thinking>,
}

/// What a prompt of the template writes of the assistant's turn.
pub(super) fn find(prober: &Prober<'_>) -> Option<GenerationPrompt> {
    let asked = message("user", &prober.word("asked"));
    let open = prober.render(&Probe::of([asked.clone()])).ok()?;
    let prompt = prober.render(&Probe::of([asked.clone()]).prompt()).ok()?;
    // What stands there without a prompt is no part of it, also where it begins the turn already.
    let common = same_start(&open, &prompt);
    Some(GenerationPrompt {
        text: prompt[common..].to_owned(),
        thinking: thinking(prober, &asked, &prompt),
    })
}

/// What a prompt does about thinking, judged by what stands before a thought and after it in a turn
/// that is written out.
fn thinking(prober: &Prober<'_>, asked: &Value, prompt: &str) -> Option<Thinking> {
    let (thought, content) = (prober.word("thought"), prober.word("content"));
    let plain = message("assistant", &content);
    let thinking = with(plain, REASONING_KEYS[0], thought.as_str());
    let written = prober.render(&Probe::of([asked.clone(), thinking])).ok()?;
    // Where no thought is rendered, there is nothing to judge the prompt by.
    let start = written.find(&thought)?;
    let end = start + thought.len();
    let closing = written[end..]
        .find(&content)
        .map(|at| &written[end..end + at])?;
    let before = &written[..start];
    let shared = same_start(before, prompt);
    let (opening, extra) = (before[shared..].trim(), prompt[shared..].trim());
    if opening.is_empty() {
        // All that stands before the thought stands in the prompt already.
        return Some(match extra.is_empty() || !extra.contains(closing.trim()) {
            true => Thinking::Opened,
            false => Thinking::Closed,
        });
    }
    Some(Thinking::LeftToTheModel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::asked;
    use crate::chat_template::ChatTemplate;

    #[test]
    fn a_prompt_opens_a_thought_as_turns_do() {
        for (turn, prompt, expected) in [
            ("<bot><m>T</m>C", "<bot>", "<bot>: left to the model"),
            ("<bot><m>T</m>C", "<bot><m>\n", "<bot><m>\n: opened"),
            (
                "<bot><m>T</m>C",
                "<bot><m></m>",
                "<bot><m></m>: opened and closed",
            ),
            // The turn just begins with its thought.
            ("<bot>T</m>C", "<bot>", "<bot>: opened"),
            ("<bot>T</m>C", "<bot></m>", "<bot></m>: opened and closed"),
            // Without a thought, there is nothing to judge by.
            ("<bot>C", "<bot><m>", "<bot><m>: -"),
            ("<bot>C", "", ": -"),
        ] {
            let turn = turn
                .replace('T', "{{ m.reasoning_content }}")
                .replace('C', "{{ m.content }}");
            let jinja = format!(
                "{{% for m in messages %}}{{% if m.role == 'assistant' %}}{turn}{{% else %}}\
                 <user>{{{{ m.content }}}}{{% endif %}}{{% endfor %}}\
                 {{% if add_generation_prompt %}}{prompt}{{% endif %}}"
            );
            let found = asked(&ChatTemplate::from_jinja(jinja), |prober| find(prober));
            let found = found.expect("it renders prompts");
            let thinking = found.thinking.map_or("-", Thinking::key);
            assert_eq!(
                format!("{}: {thinking}", found.text),
                expected,
                "{turn} {prompt}"
            );
        }
    }
}
