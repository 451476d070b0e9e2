//! The renderings that findings were made from, two and two.

use crate::value::{Value, object};

use super::assistant_turn::AssistantTurn;
use super::call_probe::example_turns;
use super::certainty::Certainty;
use super::findings::Findings;
use super::reasoning::ReasoningShape;
use super::statement::Subject;
use super::turn_prober::{PrecedingMessages, ThinkingMode, TurnProber};

/// Two renderings whose difference shows a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Evidence {
    /// What the finding is about.
    pub subject: Subject,
    /// What was rendered first.
    pub without: EvidenceRendering,
    /// What was rendered then.
    pub with: EvidenceRendering,
}

/// One of the two renderings that show a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EvidenceRendering {
    /// What was rendered, in words, such as `a question`.
    pub title: String,
    /// The rendering.
    pub text: String,
}

/// What is rendered, in words, and the rendering, if there is one.
type Titled = (&'static str, Option<String>);

/// Renders once more what shows the findings.
pub(super) fn collect(prober: &TurnProber<'_>, findings: &Findings) -> Vec<Evidence> {
    let mut all = Vec::new();
    let mut put = |subject, without: Titled, with: Titled| {
        if let ((title, Some(text)), (other_title, Some(other_text))) = (without, with)
            // Two renderings that are equal show nothing.
            && text != other_text
        {
            all.push(Evidence {
                subject,
                without: EvidenceRendering::new(title, text),
                with: EvidenceRendering::new(other_title, other_text),
            });
        }
    };
    let mode = ThinkingMode::Unset;
    let [answer, other_answer] = ["An answer.", "Something else."].map(AssistantTurn::content);
    let question = prober.no_prompt(PrecedingMessages::Question, mode).ok();
    let question = question.map(|turn| turn.text().to_owned());
    put(
        Subject::Turn,
        ("a question", question.clone()),
        ("the same as a prompt", prompt(prober, mode)),
    );
    put(
        Subject::Turn,
        ("a question", question),
        ("the same and an answer", turn(prober, &answer, mode)),
    );
    if let Some(shape) = &findings.reasoning {
        for (without, with) in reasoning(shape, prober, &answer) {
            put(Subject::Reasoning, without, with);
        }
    }
    put(
        Subject::Content,
        ("an answer", turn(prober, &answer, mode)),
        ("another answer", turn(prober, &other_answer, mode)),
    );
    if findings.calls.is_some() {
        let [one, other, two] = example_turns().map(|example| turn(prober, &example, mode));
        put(
            Subject::Calls,
            ("a call", one.clone()),
            ("a call of another tool", other),
        );
        put(Subject::Calls, ("a call", one), ("two calls", two));
    }
    all
}

impl Evidence {
    /// For programs: an object of `subject`, `without` and `with`, of which the latter two are
    /// objects of `conversation` and `rendering`.
    pub fn to_value(&self) -> Value {
        object! {
            "subject": self.subject.key(),
            "without": self.without.to_value(),
            "with": self.with.to_value(),
        }
        .into()
    }
}

impl EvidenceRendering {
    fn to_value(&self) -> Value {
        object! {"conversation": &self.title, "rendering": &self.text}.into()
    }

    fn new(title: &str, text: String) -> EvidenceRendering {
        EvidenceRendering {
            title: title.to_owned(),
            text,
        }
    }
}

fn turn(prober: &TurnProber<'_>, assistant: &AssistantTurn, mode: ThinkingMode) -> Option<String> {
    let turn = prober
        .turn(PrecedingMessages::Question, assistant, mode)
        .ok()?;
    Some(turn.text().to_owned())
}

fn prompt(prober: &TurnProber<'_>, mode: ThinkingMode) -> Option<String> {
    let prompt = prober.prompt(PrecedingMessages::Question, mode).ok()?;
    Some(prompt.text().to_owned())
}

/// Reasoning shows in a turn, or in the prompts with thinking on and off.
fn reasoning(
    shape: &ReasoningShape,
    prober: &TurnProber<'_>,
    answer: &AssistantTurn,
) -> Vec<(Titled, Titled)> {
    let mut all = Vec::new();
    // A thought that no turn shows is shown by prompts alone.
    if shape.certainty == Certainty::Seen {
        let [call, ..] = example_turns();
        // Some templates write thoughts beside calls, and nowhere else.
        let (title, bare) = match shape.in_last_turn {
            true => ("an answer", answer),
            false => ("a call", &call),
        };
        let thoughtful = bare.clone().with_reasoning("A thought.");
        // A switch may be needed for the thought to come out.
        let render = |assistant| turn(prober, assistant, ThinkingMode::On);
        all.push((
            (title, render(bare)),
            ("the same after a thought", render(&thoughtful)),
        ));
    }
    let prompt = |mode| prompt(prober, mode);
    all.push((
        ("a prompt with thinking off", prompt(ThinkingMode::Off)),
        ("a prompt with thinking on", prompt(ThinkingMode::On)),
    ));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::template;
    use crate::chat_template::RenderInput;

    #[test]
    fn two_renderings_show_a_finding_where_they_differ() {
        for (assistant, expected) in [
            (
                "{{ m.content }}",
                "turn: a prompt, an answer; content: another answer",
            ),
            (
                "<m>{{ m.reasoning_content }}</m>{{ m.content }}",
                "turn: a prompt, an answer; reasoning: a thought; content: another answer",
            ),
            (
                "{{ m.content }}{% for c in m.tool_calls %}<call>{{ c.function | tojson }}{% endfor %}",
                "turn: a prompt, an answer; content: another answer; calls: another tool, two calls",
            ),
            // One call is all that a turn has: two show the same.
            (
                "{{ m.content }}{% if m.tool_calls %}<call>{{ m.tool_calls[0].function | tojson }}{% endif %}",
                "turn: a prompt, an answer; content: another answer; calls: another tool",
            ),
            ("", "turn: a prompt, an answer"),
        ] {
            let (_, evidence) =
                Findings::with_evidence(&template(assistant), &RenderInput::default())
                    .expect("it renders a question");
            let mut text = String::new();
            let mut last = None;
            for shown in &evidence {
                text += match last == Some(shown.subject) {
                    true => ", ",
                    false if last.is_none() => "",
                    false => "; ",
                };
                if last != Some(shown.subject) {
                    text += &format!("{}: ", shown.subject);
                }
                last = Some(shown.subject);
                text += match shown.with.title.as_str() {
                    "the same as a prompt" => "a prompt",
                    "the same and an answer" => "an answer",
                    "the same after a thought" => "a thought",
                    "a call of another tool" => "another tool",
                    title => title,
                };
            }
            assert_eq!(text, expected, "{assistant}");
        }
    }
}
