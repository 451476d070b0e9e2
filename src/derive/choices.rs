//! What is left open when a draft is written.

/// What findings leave open, and trials decide.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Choices {
    /// Whether reasoning is opened only if it is closed later.
    pub(super) thinking_if_closed: bool,
    pub(super) thinking_end: ThinkingEnd,
    pub(super) content: ContentPlace,
    /// Whether a call that nothing closes ends where the next begins.
    pub(super) next_call_closes: bool,
    /// Whether calls that nothing clear opens may begin within a text.
    pub(super) calls_anywhere: bool,
    /// Whether calls close a text that nothing else has closed.
    pub(super) calls_close_content: bool,
    /// Whether what stands between a name and the arguments may be anything.
    pub(super) loose_header: bool,
    /// Whether the first of several markers that open a call may be left out.
    pub(super) optional_lead: bool,
    /// Whether a text may follow what closes calls, however unclear that is.
    pub(super) text_follows: bool,
    /// Whether a tag that closes itself is a call without arguments.
    pub(super) tag_closes_itself: bool,
    /// What stands around texts in some renderings, and is no part of them.
    pub(super) dropped: Vec<String>,
    /// Whether texts begin and end with what stands around them in any way of the format, and not
    /// only with their markers.
    pub(super) as_seen: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) enum ThinkingEnd {
    /// Only its marker closes it.
    #[default]
    Marker,
    /// The end of the turn closes it, too.
    OrTurn,
    /// So does a call.
    OrCall,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) enum ContentPlace {
    /// Whatever is nothing else.
    #[default]
    Leftover,
    /// What its markers enclose.
    Marked,
}

impl Choices {
    /// What a draft with these choices does otherwise than one with others.
    pub(super) fn differences(&self, other: &Choices) -> Vec<&'static str> {
        let choices = OPEN_CHOICES.iter();
        let answers = choices.map(|choice| ((choice.describe)(self), (choice.describe)(other)));
        answers
            .filter(|(own, other)| own != other)
            .map(|(own, _)| own)
            .collect()
    }
}

/// One thing that is to be chosen.
pub(super) struct OpenChoice {
    /// What a draft does in which this is chosen so. No two choices are described alike.
    describe: fn(&Choices) -> &'static str,
    /// Chooses this as others do.
    pub(super) adopt: fn(&mut Choices, &Choices),
}

/// All that is to be chosen.
pub(super) const OPEN_CHOICES: [OpenChoice; 12] = [
    OpenChoice {
        describe: |choices| match choices.thinking_if_closed {
            true => "a marker opens reasoning only if it is closed later",
            false => "a marker opens reasoning, whether or not it is closed later",
        },
        adopt: |choices, other| choices.thinking_if_closed = other.thinking_if_closed,
    },
    OpenChoice {
        describe: |choices| match choices.thinking_end {
            ThinkingEnd::Marker => "only its marker closes reasoning",
            ThinkingEnd::OrTurn => "the end of the turn closes reasoning, and calls do not",
            ThinkingEnd::OrCall => "a call closes reasoning, and so does the end of the turn",
        },
        adopt: |choices, other| choices.thinking_end = other.thinking_end,
    },
    OpenChoice {
        describe: |choices| match choices.content {
            ContentPlace::Leftover => "text is whatever is nothing else",
            ContentPlace::Marked => "text stands between its markers only",
        },
        adopt: |choices, other| choices.content = other.content,
    },
    OpenChoice {
        describe: |choices| match choices.calls_close_content {
            true => "a call closes a text that is never closed",
            false => "a call does not close a text",
        },
        adopt: |choices, other| choices.calls_close_content = other.calls_close_content,
    },
    OpenChoice {
        describe: |choices| match choices.next_call_closes {
            true => "the next call closes one that is never closed",
            false => "the next call does not close one that is never closed",
        },
        adopt: |choices, other| choices.next_call_closes = other.next_call_closes,
    },
    OpenChoice {
        describe: |choices| match choices.calls_anywhere {
            true => "calls may begin within a text",
            false => "calls can't begin within a text",
        },
        adopt: |choices, other| choices.calls_anywhere = other.calls_anywhere,
    },
    OpenChoice {
        describe: |choices| match choices.loose_header {
            true => "anything may stand between a call's name and its arguments",
            false => "only what the format writes stands between a call's name and its arguments",
        },
        adopt: |choices, other| choices.loose_header = other.loose_header,
    },
    OpenChoice {
        describe: |choices| match choices.optional_lead {
            true => "the first marker of a call may be left out",
            false => "the first marker of a call has to be there",
        },
        adopt: |choices, other| choices.optional_lead = other.optional_lead,
    },
    OpenChoice {
        describe: |choices| match choices.text_follows {
            true => "a text may follow calls",
            false => "the turn ends after calls that nothing clear closes",
        },
        adopt: |choices, other| choices.text_follows = other.text_follows,
    },
    OpenChoice {
        describe: |choices| match choices.tag_closes_itself {
            true => "a tag that closes itself is a call without arguments",
            false => "the tag of a call does not close itself",
        },
        adopt: |choices, other| choices.tag_closes_itself = other.tag_closes_itself,
    },
    OpenChoice {
        describe: |choices| match choices.dropped.is_empty() {
            true => "all that is nothing else is text",
            false => "what stands around texts in some renderings is dropped",
        },
        adopt: |choices, other| choices.dropped.clone_from(&other.dropped),
    },
    OpenChoice {
        describe: |choices| match choices.as_seen {
            true => "texts stand between whatever was rendered around them",
            false => "texts stand between the markers that open and close them",
        },
        adopt: |choices, other| choices.as_seen = other.as_seen,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// One that has nothing in common with the plainest.
    fn opposite() -> Choices {
        Choices {
            thinking_if_closed: true,
            thinking_end: ThinkingEnd::OrTurn,
            content: ContentPlace::Marked,
            next_call_closes: true,
            calls_anywhere: true,
            calls_close_content: true,
            loose_header: true,
            optional_lead: true,
            text_follows: true,
            tag_closes_itself: true,
            dropped: vec!["<say>".to_owned()],
            as_seen: true,
        }
    }

    #[test]
    fn all_that_is_chosen_is_described_and_can_be_adopted() {
        let (plain, opposite) = (Choices::default(), opposite());
        assert_eq!(plain.differences(&plain), Vec::<&str>::new());
        assert_eq!(opposite.differences(&plain).len(), OPEN_CHOICES.len());
        let mut adopting = plain.clone();
        for (at, choice) in OPEN_CHOICES.iter().enumerate() {
            (choice.adopt)(&mut adopting, &opposite);
            assert_eq!(adopting.differences(&plain).len(), at + 1);
            assert_eq!(
                adopting.differences(&plain)[at],
                opposite.differences(&plain)[at]
            );
        }
        assert_eq!(adopting, opposite);
    }

    #[test]
    fn no_two_choices_are_described_alike() {
        let plain = Choices::default();
        let ends = [ThinkingEnd::OrTurn, ThinkingEnd::OrCall];
        let ends = ends.map(|thinking_end| Choices {
            thinking_end,
            ..plain.clone()
        });
        for (at, one) in ends.iter().enumerate() {
            for other in ends[..at].iter().chain([&plain]) {
                assert_eq!(one.differences(other).len(), 1, "{one:?} {other:?}");
            }
        }
    }
}
