//! Choosing among drafts by trying them, and mending the best by what it fails on.

use std::cmp::Reverse;

use foldhash::HashSet;
use indexmap::IndexSet;

use crate::json;
use crate::markers::dedup;
use crate::response::{Patterns, ResponseTemplate, TemplateError};
use crate::value::Value;

use super::PYTHON_LISTS;
use super::choices::{CHOICES, Choice, Choices};
use super::draft::draft;
use super::options::DeriveOptions;
use super::reason::Reason;
use super::score::{Outcome, Score, Trials};
use super::search_input::SearchInput;
use super::surroundings::Surroundings;
use super::trial::MessagePart;

/// The template that was chosen.
pub(super) struct Chosen {
    pub(super) template: ResponseTemplate,
    pub(super) choices: Choices,
    /// The choices of all drafts that were tried, in order.
    pub(super) tried: IndexSet<Choices>,
    /// How many different drafts these made.
    pub(super) drafts: usize,
    /// How many texts they have read.
    pub(super) trials: usize,
    /// Set if more drafts could have been tried with more work.
    pub(super) ended_early: bool,
    /// Of each damaged text, whether it is recovered.
    pub(super) recovered_damage: Vec<bool>,
    /// Of each text that mentions a marker, the same.
    pub(super) recovered_mentions: Vec<bool>,
    /// Why each of its delimiters is there.
    pub(super) reasons: Vec<Reason>,
    /// Whether it recovers all that was rendered.
    pub(super) is_whole: bool,
    pub(super) score: Score,
}

/// A draft that was tried to the end.
struct Tried {
    template: ResponseTemplate,
    choices: Choices,
    outcome: Outcome,
}

/// What has been made so far.
struct Drafts {
    /// The choices of all drafts that were tried, in order.
    tried: IndexSet<Choices>,
    /// The drafts as JSON: many choices change nothing.
    written: HashSet<String>,
    patterns: Patterns,
}

pub(super) struct Search<'a> {
    search_input: &'a SearchInput,
    options: &'a DeriveOptions,
    pub(super) trials: Trials<'a>,
}

impl<'a> Search<'a> {
    pub(super) fn new(search_input: &'a SearchInput, options: &'a DeriveOptions) -> Search<'a> {
        Search {
            search_input,
            options,
            trials: Trials::new(search_input, &options.reasoning_field),
        }
    }

    /// Returns `true` if no more drafts may be tried.
    pub(super) fn is_over(&self) -> bool {
        self.search_input.trying.is_spent()
    }

    /// Goes from the simplest draft to better ones, one choice at a time, until none is better. What a draft
    /// fails on says what is to be chosen otherwise first.
    ///
    /// # Errors
    ///
    /// If not even the simplest drafts are response templates.
    pub(super) fn best(&self) -> Result<Chosen, TemplateError> {
        let mut drafts = Drafts {
            tried: IndexSet::new(),
            written: HashSet::default(),
            patterns: Patterns::default(),
        };
        let mut best = self.first(&mut drafts)?;
        while let Some(better) = self.mended(&best, &mut drafts) {
            best = better;
        }
        Ok(Chosen {
            is_whole: best.outcome.failures.in_rendered() == 0,
            recovered_mentions: Vec::new(),
            reasons: Vec::new(),
            recovered_damage: self.trials.recovered_damage(&best.template, &best.outcome),
            score: best.outcome.score,
            template: best.template,
            choices: best.choices,
            tried: drafts.tried,
            drafts: drafts.written.len(),
            trials: self.trials.read(),
            ended_early: self.is_over(),
        })
    }

    /// The first draft that is better than this one and differs from it in one choice. Choices that concern
    /// the parts of messages that it misreads come first.
    fn mended(&self, best: &Tried, drafts: &mut Drafts) -> Option<Tried> {
        let mut mends = self.mends(best);
        mends.sort_by_key(|(part, _)| Reverse(best.outcome.failures.of(*part)));
        mends
            .into_iter()
            .find_map(|(_, choices)| match self.is_over() {
                true => None,
                // What is no template is no better.
                false => self
                    .better(choices, Some(best.outcome.score), drafts)
                    .ok()?,
            })
    }

    /// Where to begin: text is what is left over; or, where no such template is valid, what stands between
    /// its markers, or whatever was seen around it.
    fn first(&self, drafts: &mut Drafts) -> Result<Tried, TemplateError> {
        let plain = Choices::default();
        let marked = plain.clone().with(Choice::ContentMarked, 1);
        let around = self.search_input.surroundings.as_ref();
        let as_rendered = around.map(|around| with_texts_as_rendered(&plain, around));
        let starts = [plain, marked].into_iter().chain(as_rendered);
        let mut refusal = None;
        for start in starts {
            match self.better(start, None, drafts) {
                Ok(Some(first)) => return Ok(first),
                // The same draft as before, which is not valid.
                Ok(None) => {}
                Err(error) => drop(refusal.get_or_insert(error)),
            }
        }
        Err(refusal.expect("the first start is no draft of before"))
    }

    /// The choices that differ in one thing, with the part of messages that it concerns.
    fn mends(&self, best: &Tried) -> Vec<(MessagePart, Choices)> {
        let from = &best.choices;
        let mut all = self.other_answers(from, MessagePart::Reasoning);
        if let Some(around) = &self.search_input.surroundings {
            // It is about both texts, so it comes with the one that is misread.
            let part = match best.outcome.failures.of(MessagePart::Reasoning)[0] {
                0 => MessagePart::Content,
                _ => MessagePart::Reasoning,
            };
            all.push((part, with_texts_as_rendered(from, around)));
            all.push((part, from.clone().with(Choice::OnlyAsRendered, 0)));
        }
        all.extend(self.other_answers(from, MessagePart::Content));
        // A text that has markers ends at its own closer: nothing around it needs to be dropped.
        let is_left_over = !from.has(Choice::ContentMarked);
        if is_left_over && best.outcome.failures.of(MessagePart::Content)[0] > 0 {
            let mut dropped = from.dropped().to_vec();
            dropped.extend(self.trials.around_texts(&best.template));
            dedup(&mut dropped);
            all.push((MessagePart::Content, from.clone().with_dropped(dropped)));
        }
        all.extend(self.other_answers(from, MessagePart::Calls));
        if self.has_bare_objects() {
            // Neither helps alone where calls follow upon a text, and upon each other.
            let split = from.clone().with(Choice::SplitObjects, 1);
            all.push((MessagePart::Calls, split.with(Choice::CallsAnywhere, 1)));
        }
        all.retain(|(_, next)| next != from);
        all
    }

    /// The choices with other answers to what concerns a part of messages.
    fn other_answers(&self, from: &Choices, part: MessagePart) -> Vec<(MessagePart, Choices)> {
        let open = CHOICES.iter().filter(|open| open.part == part);
        open.filter(|open| self.is_open(open.choice))
            .flat_map(|open| (0..open.answers.len()).map(|answer| (open.choice, answer)))
            .map(|(choice, answer)| (part, from.clone().with(choice, answer)))
            .collect()
    }

    /// Whether another answer to this by itself may make another draft.
    fn is_open(&self, choice: Choice) -> bool {
        let findings = &self.search_input.findings;
        match choice {
            Choice::ContentMarked => findings.content.open.is_some(),
            Choice::CallsAnywhere | Choice::LooseHeader => findings.calls.is_some(),
            // Where nothing stands around calls, an example of one in a fence stays a text only if calls are read in
            // parts.
            Choice::SplitObjects => self.has_bare_objects(),
            // A reader without that parser would refuse the whole response template.
            Choice::PythonList => self.options.language >= PYTHON_LISTS && self.has_python_list(),
            // Elsewhere a mere `}` closes a call only where the turn ends behind it, since arguments have braces,
            // too.
            Choice::TextFollows => findings.calls.is_some() && self.has_text_behind_calls(),
            Choice::TagClosesItself => self.calls_are_tags(),
            // What stands around texts has to be looked for first.
            Choice::DiscardedText | Choice::OnlyAsRendered => false,
        }
    }

    pub(super) fn draft(&self, choices: &Choices) -> Value {
        draft(self.search_input, choices, self.options).to_value()
    }

    /// A draft, if it is new and beats the score that there is. What can't beat it any more is not
    /// tried to the end.
    fn better(
        &self,
        choices: Choices,
        to_beat: Option<Score>,
        drafts: &mut Drafts,
    ) -> Result<Option<Tried>, TemplateError> {
        if !drafts.tried.insert(choices.clone()) {
            return Ok(None);
        }
        let draft = self.draft(&choices);
        if !drafts.written.insert(json::write(&draft)) {
            return Ok(None);
        }
        let template = ResponseTemplate::with_patterns(&draft, &mut drafts.patterns)?;
        // Something has to come out, however late it is.
        let goes_on = || to_beat.is_none() || !self.is_over();
        let outcome = self.trials.score(&template, to_beat, goes_on);
        Ok(outcome.map(|outcome| Tried {
            template,
            choices,
            outcome,
        }))
    }

    /// Whether calls begin with a tag.
    fn calls_are_tags(&self) -> bool {
        let calls = self.search_input.marked.call_parts();
        calls.is_some_and(|calls| calls.unclosed_tag().is_some())
    }

    /// Whether calls are JSON objects and nothing else.
    fn has_bare_objects(&self) -> bool {
        let calls = self.search_input.findings.call_parts();
        calls.is_some_and(|calls| calls.is_bare_object())
    }

    /// Whether calls are a list as Python writes one.
    fn has_python_list(&self) -> bool {
        let calls = self.search_input.findings.call_parts();
        calls.is_some_and(|calls| calls.around_python_list().is_some())
    }

    /// Whether the chat template writes a turn's text behind its calls.
    fn has_text_behind_calls(&self) -> bool {
        let mut samples = self.search_input.samples.all.iter();
        samples.any(|sample| {
            let content = sample.written.content.as_deref().unwrap_or_default();
            let call = sample.written.calls.first();
            let place = |text: &str| sample.output.find(text);
            let name = call.and_then(|call| place(&call.name));
            !content.is_empty()
                && name.is_some_and(|name| place(content).is_some_and(|at| name < at))
        })
    }
}

/// These choices, with texts between what was seen around them.
fn with_texts_as_rendered(choices: &Choices, around: &Surroundings) -> Choices {
    let is_marked = usize::from(around.content.is_some());
    choices
        .clone()
        .with(Choice::OnlyAsRendered, 1)
        .with(Choice::ContentMarked, is_marked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::invented;

    #[test]
    fn only_what_makes_another_draft_is_open() {
        use Choice::{
            CallsAnywhere, ContentMarked, LooseHeader, PythonList, SplitObjects, TagClosesItself,
            TextFollows,
        };
        let each = |call: &str| format!("{{% for c in m.tool_calls or [] %}}{call}{{% endfor %}}");
        let tag = each(
            r#"<call name="{{ c.function.name }}">{{ c.function.arguments | tojson }}</call>"#,
        );
        let object = each("{{ c.function | tojson }}");
        let python = "{% if m.tool_calls %}[{% for c in m.tool_calls %}{{ c.function.name }}(\
             {% for key, value in c.function.arguments.items() %}{{ key }}={{ value | tojson }}\
             {{ '' if loop.last else ', ' }}{% endfor %}){{ '' if loop.last else ', ' }}{% endfor %}]{% endif %}";
        for (assistant, expected) in [
            ("{{ m.content }}".to_owned(), vec![]),
            ("<say>{{ m.content }}</say>".to_owned(), vec![ContentMarked]),
            (
                format!("{{{{ m.content }}}}{tag}"),
                vec![CallsAnywhere, LooseHeader, TagClosesItself],
            ),
            (
                format!("{tag}{{{{ m.content }}}}"),
                vec![CallsAnywhere, LooseHeader, TextFollows, TagClosesItself],
            ),
            // Where nothing stands around calls, an example of one in a fence is one, too.
            (
                format!("{{{{ m.content }}}}{object}"),
                vec![CallsAnywhere, SplitObjects, LooseHeader],
            ),
            (
                format!("{{{{ m.content }}}}{python}"),
                vec![CallsAnywhere, PythonList, LooseHeader],
            ),
        ] {
            let search_input = invented::search_input(&assistant);
            let options = DeriveOptions::default().language(PYTHON_LISTS);
            let search = Search::new(&search_input, &options);
            let open = CHOICES.iter().map(|open| open.choice);
            let open: Vec<Choice> = open.filter(|choice| search.is_open(*choice)).collect();
            assert_eq!(open, expected, "{assistant}");
            // A reader of before has no parser for lists of Python.
            let options = DeriveOptions::default();
            let search = Search::new(&search_input, &options);
            assert!(!search.is_open(PythonList), "{assistant}");
        }
    }

    #[test]
    fn mends_differ_in_one_thing_from_what_they_mend() {
        let search_input = invented::search_input("<say>{{ m.content }}</say>");
        let options = DeriveOptions::default();
        let search = Search::new(&search_input, &options);
        let mut drafts = Drafts {
            tried: IndexSet::new(),
            written: HashSet::default(),
            patterns: Patterns::default(),
        };
        let first = search
            .first(&mut drafts)
            .expect("it is a response template");
        assert_eq!(first.choices, Choices::default());
        let mends = search.mends(&first);
        let mends: Vec<_> = mends
            .iter()
            .map(|(part, choices)| (*part, choices.differences(&first.choices)))
            .collect();
        let marked = "text stands between its markers only";
        assert_eq!(mends, [(MessagePart::Content, vec![marked])]);
        // What was tried before is no other draft.
        let again = search.better(Choices::default(), None, &mut drafts);
        assert!(again.is_ok_and(|again| again.is_none()));
    }
}
