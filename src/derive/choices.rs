//! What is left open when a draft is written.

use super::trial::MessagePart;

/// One thing that findings leave open, and trials decide. What its answers mean stands in [`CHOICES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    ContentMarked,
    CallsAnywhere,
    SplitObjects,
    PythonList,
    LooseHeader,
    TextFollows,
    TagClosesItself,
    DiscardedText,
    OnlyAsRendered,
}

/// A choice, and what can be answered.
pub(super) struct ChoiceInfo {
    pub(super) choice: Choice,
    /// The part of messages that it concerns.
    pub(super) part: MessagePart,
    /// What a draft does that goes by each answer, the plainest first. No two are described alike.
    pub(super) answers: &'static [&'static str],
}

/// All that is to be chosen, in the order of [`Choice`].
pub(super) const CHOICES: [ChoiceInfo; 9] = [
    ChoiceInfo {
        // Some templates write `<say>Yes.</say>` in all turns, some beside calls only.
        choice: Choice::ContentMarked,
        part: MessagePart::Content,
        answers: &[
            "text is everything else",
            "text stands between its markers only",
        ],
    },
    ChoiceInfo {
        // In `So: {"name": …, "arguments": …}` nothing but the keys shows that a call begins.
        choice: Choice::CallsAnywhere,
        part: MessagePart::Calls,
        answers: &[
            "calls can't begin within a text",
            "calls may begin within a text",
        ],
    },
    ChoiceInfo {
        // Where nothing stands around calls, an example of one in a fence stays a text only so.
        choice: Choice::SplitObjects,
        part: MessagePart::Calls,
        answers: &[
            "a call is read as one JSON object",
            "a call's name and its arguments are read one by one",
        ],
    },
    ChoiceInfo {
        // The parser for `[f(a='it\'s'), g()]` knows escapes, but refuses a text that stands there as it is:
        // `'it's'`.
        choice: Choice::PythonList,
        part: MessagePart::Calls,
        answers: &[
            "calls as Python writes them are read one by one",
            "a list of calls as Python writes them is read as a whole",
        ],
    },
    ChoiceInfo {
        // Models write more before the last marker of a header than any rendering has, as in `<call>read to all<args>`.
        choice: Choice::LooseHeader,
        part: MessagePart::Calls,
        answers: &[
            "headers hold only what the format writes",
            "headers may hold more than the format writes",
        ],
    },
    ChoiceInfo {
        // Where texts were seen behind calls, `} Done.` ends one; elsewhere such a brace may be JSON's own.
        choice: Choice::TextFollows,
        part: MessagePart::Calls,
        answers: &[
            "the turn ends after calls that nothing clear closes",
            "a text may follow calls",
        ],
    },
    ChoiceInfo {
        // `<call name="read"/>`, where renderings have `<call name="read">…</call>`.
        choice: Choice::TagClosesItself,
        part: MessagePart::Calls,
        answers: &[
            "the tag of a call does not close itself",
            "a tag that closes itself is a call without arguments",
        ],
    },
    ChoiceInfo {
        // As `<say>` that is written beside calls only, or `Remark:` before a text.
        choice: Choice::DiscardedText,
        part: MessagePart::Content,
        answers: &[
            "everything else is text",
            "what stands around texts in some renderings is dropped",
        ],
    },
    ChoiceInfo {
        // `Thought: … Answer: …` has words for markers, and a thought may be a string of JSON.
        choice: Choice::OnlyAsRendered,
        part: MessagePart::Content,
        answers: &[
            "texts stand between the markers that open and close them",
            "texts stand between whatever was rendered around them",
        ],
    },
];

/// What is chosen; by default the plainest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Choices {
    /// The places of the answers in [`CHOICES`].
    answers: [usize; CHOICES.len()],
    /// What stands around texts in some renderings, and is no part of them.
    dropped: Vec<String>,
}

impl Choices {
    /// Whether the answer is not the plainest.
    pub(super) fn has(&self, choice: Choice) -> bool {
        self.answers[choice as usize] > 0
    }

    /// What is no part of texts, though it stands around them.
    pub(super) fn dropped(&self) -> &[String] {
        &self.dropped
    }

    /// The same with another answer.
    pub(super) fn with(mut self, choice: Choice, answer: usize) -> Choices {
        self.answers[choice as usize] = answer;
        self
    }

    /// The same with these texts dropped.
    pub(super) fn with_dropped(mut self, dropped: Vec<String>) -> Choices {
        let answer = usize::from(!dropped.is_empty());
        self.dropped = dropped;
        self.with(Choice::DiscardedText, answer)
    }

    /// The same with one thing chosen as others do.
    pub(super) fn with_answer_of(self, other: &Choices, choice: Choice) -> Choices {
        match choice {
            Choice::DiscardedText => self.with_dropped(other.dropped.clone()),
            _ => self.with(choice, other.answers[choice as usize]),
        }
    }

    /// What a draft with these choices does otherwise than one with others.
    pub(super) fn differences(&self, other: &Choices) -> Vec<&'static str> {
        let answers = self.answers.iter().zip(&other.answers).zip(&CHOICES);
        answers
            .filter(|((own, other), _)| own != other)
            .map(|((own, _), open)| open.answers[*own])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_choice_has_answers_that_are_described_otherwise_than_all_others() {
        let mut seen = HashSet::new();
        for (at, open) in CHOICES.iter().enumerate() {
            assert_eq!(open.choice as usize, at);
            assert!(open.answers.len() > 1);
            assert!(open.answers.iter().all(|answer| seen.insert(answer)));
        }
    }

    #[test]
    fn all_that_is_chosen_is_described_and_can_be_adopted() {
        let plain = Choices::default();
        let opposite = CHOICES
            .iter()
            .fold(plain.clone(), |choices, open| choices.with(open.choice, 1))
            .with_dropped(vec!["<say>".to_owned()]);
        assert_eq!(plain.differences(&plain), Vec::<&str>::new());
        let mut adopting = plain.clone();
        for (at, open) in CHOICES.iter().enumerate() {
            adopting = adopting.with_answer_of(&opposite, open.choice);
            assert_eq!(adopting.differences(&plain).len(), at + 1);
        }
        assert_eq!(adopting, opposite);
    }
}
