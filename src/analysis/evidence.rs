//! The renderings that findings were made from, two and two.

use super::asking::{Asking, Mode, Said, Scene};
use super::findings::{Analysis, Findings};
use super::statement::{Certainty, Subject};

/// Two renderings whose difference shows a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Evidence {
    /// What the finding is about.
    pub subject: Subject,
    /// What was rendered first, in words, and the rendering.
    pub without: (String, String),
    /// What was rendered then, and the rendering.
    pub with: (String, String),
}

impl Analysis<'_> {
    /// Renders once more what shows the findings.
    pub(crate) fn evidence(&self) -> Vec<Evidence> {
        let asking = &self.asking;
        let mut all = Vec::new();
        let mut put = |subject, without: (&str, Option<String>), with: (&str, Option<String>)| {
            if let ((what, Some(text)), (other, Some(rendered))) = (without, with)
                && text != rendered
            {
                all.push(Evidence {
                    subject,
                    without: (what.to_owned(), text),
                    with: (other.to_owned(), rendered),
                });
            }
        };
        let answer = Said::content("An answer.");
        let turn = |said: &Said, mode| {
            let turn = asking.turn(Scene::Question, said, mode).ok()?;
            Some(turn.text().to_owned())
        };
        put(
            Subject::Turn,
            ("a question", question(asking, false)),
            ("the same as a prompt", question(asking, true)),
        );
        put(
            Subject::Turn,
            ("a question", question(asking, false)),
            ("the same and an answer", turn(&answer, Mode::Unset)),
        );
        for (without, with) in reasoning(&self.findings, asking, &answer) {
            put(Subject::Reasoning, (without.0, without.1), (with.0, with.1));
        }
        put(
            Subject::Content,
            ("an answer", turn(&answer, Mode::Unset)),
            (
                "another answer",
                turn(&Said::content("Something else."), Mode::Unset),
            ),
        );
        if self.findings.calls.is_some() {
            let [one, other, two] = super::calls::examples();
            put(
                Subject::Calls,
                ("a call", turn(&one, Mode::Unset)),
                ("a call of another tool", turn(&other, Mode::Unset)),
            );
            put(
                Subject::Calls,
                ("a call", turn(&one, Mode::Unset)),
                ("two calls", turn(&two, Mode::Unset)),
            );
        }
        all
    }
}

fn question(asking: &Asking<'_>, prompt: bool) -> Option<String> {
    let turn = match prompt {
        true => asking.prompt(Scene::Question, Mode::Unset),
        false => asking.no_prompt(Scene::Question, Mode::Unset),
    };
    Some(turn.ok()?.text().to_owned())
}

type Side<'a> = (&'a str, Option<String>);

/// Reasoning shows in a turn, or in the prompts with thinking on and off.
fn reasoning<'a>(
    findings: &Findings,
    asking: &Asking<'_>,
    answer: &Said,
) -> Vec<(Side<'a>, Side<'a>)> {
    let Some(shape) = &findings.reasoning else {
        return Vec::new();
    };
    let text = |said: &Said| {
        let turn = asking.turn(Scene::Question, said, Mode::On).ok()?;
        Some(turn.text().to_owned())
    };
    let prompt = |mode| Some(asking.prompt(Scene::Question, mode).ok()?.text().to_owned());
    let mut all = Vec::new();
    if shape.certainty == Certainty::Seen && shape.in_last_turn {
        let thoughtful = answer.clone().reasoning("A thought.");
        all.push((
            ("an answer", text(answer)),
            ("the same after a thought", text(&thoughtful)),
        ));
    } else if shape.certainty == Certainty::Seen {
        let [call, ..] = super::calls::examples();
        let thoughtful = call.clone().reasoning("A thought.");
        all.push((
            ("a call", text(&call)),
            ("the same after a thought", text(&thoughtful)),
        ));
    }
    all.push((
        ("a prompt with thinking off", prompt(Mode::Off)),
        ("a prompt with thinking on", prompt(Mode::On)),
    ));
    all
}
