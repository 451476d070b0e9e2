//! The drafts that were tried, for those who want to choose otherwise.

use crate::response::ResponseTemplate;
use crate::value::{Object, Value};

use super::choices::{CHOICES, Choices};
use super::options::Lenience;
use super::score::{KINDS, Outcome, Score, Tally};
use super::search::{Chosen, Search};

/// What each lenience does.
const LENIENCES: [(Lenience, &str); 3] = [
    (Lenience::None, "no damage is tolerated"),
    (
        Lenience::Usual,
        "damage is tolerated where no answer is lost",
    ),
    (Lenience::All, "all damage is tolerated"),
];

/// How many drafts are kept.
const MAX_CANDIDATES: usize = 24;

/// A draft that was tried while a response template was derived, and how it did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// The response template.
    pub template: ResponseTemplate,
    /// Whether it is the one that was chosen.
    pub is_chosen: bool,
    /// What it does otherwise than the one that was chosen, a short statement for each difference:
    /// `a call does not close a text`. The one that was chosen has none.
    pub differences: Vec<&'static str>,
    /// What it recovers of what the chat template renders, and of the model's outputs whose message is
    /// known.
    pub rendered: Tally,
    /// What it recovers of renderings whose beginning the prompt has taken from within a marker,
    /// and of synthetic texts, which the chat template never writes.
    pub synthetic: Tally,
    /// What it recovers of damaged texts.
    pub damaged: Tally,
}

impl Candidate {
    fn new(
        template: ResponseTemplate,
        differences: Vec<&'static str>,
        [rendered, synthetic, damaged]: [Tally; KINDS],
    ) -> Candidate {
        Candidate {
            template,
            is_chosen: differences.is_empty(),
            differences,
            rendered,
            synthetic,
            damaged,
        }
    }

    /// For programs: an object of the `template`, whether it was `chosen`, its `differences`, and
    /// how many texts that are `rendered`, `synthetic` and `damaged` it has recovered.
    pub fn to_value(&self) -> Value {
        Object::from_iter([
            ("template", self.template.as_value().clone()),
            ("chosen", self.is_chosen.into()),
            ("differences", self.differences.iter().copied().collect()),
            ("rendered", self.rendered.to_value()),
            ("synthetic", self.synthetic.to_value()),
            ("damaged", self.damaged.to_value()),
        ])
        .into()
    }
}

/// The one that was chosen, and the best of the others that could be tried with the work that is left, best first: what was tried otherwise, and
/// what another lenience makes of it. `thin` searches the delimiters for choices and a lenience.
pub(super) fn candidates(
    search: &Search<'_>,
    chosen: &Chosen,
    lenience: Lenience,
    thin: impl Fn(&Choices, Lenience) -> Option<ResponseTemplate>,
) -> Vec<Candidate> {
    let is_late = || search.is_over();
    let mut others: Vec<(Score, Candidate)> = Vec::new();
    let mut seen = vec![chosen.template.clone()];
    let leniences = LENIENCES.iter().filter(|(other, _)| *other != lenience);
    let leniences = leniences.map(|(other, what)| (chosen.choices.clone(), *other, vec![*what]));
    let drafts = distinct(search, chosen, is_late).into_iter();
    let drafts = drafts.map(|choices| {
        let differences = choices.differences(&chosen.choices);
        (choices, lenience, differences)
    });
    for (choices, lenience, differences) in leniences.chain(drafts) {
        if is_late() {
            break;
        }
        // What is no valid template is nothing to choose.
        let Some(template) = thin(&choices, lenience).filter(|new| !seen.contains(new)) else {
            continue;
        };
        seen.push(template.clone());
        let measured = search
            .trials
            .score(&template, None, || !is_late())
            .zip(search.trials.tally_while(&template, || !is_late()));
        let Some((Outcome { score, .. }, tallies)) = measured else {
            break;
        };
        others.push((score, Candidate::new(template, differences, tallies)));
    }
    others.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    // Whoever asks for candidates gets the one that was chosen, however late it is.
    let tallies = search.trials.tally_while(&chosen.template, || true);
    let first = tallies.map(|tallies| Candidate::new(chosen.template.clone(), Vec::new(), tallies));
    let others = others.into_iter().map(|(_, candidate)| candidate);
    first
        .into_iter()
        .chain(others)
        .take(MAX_CANDIDATES)
        .collect()
}

/// The drafts that are not the one that was chosen, each once, and those first that differ in the
/// least from it.
fn distinct(search: &Search<'_>, chosen: &Chosen, is_late: impl Fn() -> bool) -> Vec<Choices> {
    let own = search.draft(&chosen.choices);
    let mut drafts: Vec<(Choices, Value)> = Vec::new();
    for choices in chosen.tried.iter().take_while(|_| !is_late()) {
        let value = search.draft(choices);
        if value != own {
            drafts.push((nearest(search, choices, &value, &chosen.choices), value));
        }
    }
    drafts.sort_by_key(|(choices, _)| choices.differences(&chosen.choices).len());
    let mut distinct: Vec<(Choices, Value)> = Vec::new();
    for (choices, value) in drafts {
        if distinct.iter().all(|(_, other)| *other != value) {
            distinct.push((choices, value));
        }
    }
    distinct.into_iter().map(|(choices, _)| choices).collect()
}

/// The choices without those that change nothing of the draft, compared with the one that was
/// chosen.
fn nearest(search: &Search<'_>, choices: &Choices, value: &Value, chosen: &Choices) -> Choices {
    let mut nearest = choices.clone();
    for open in &CHOICES {
        let nearer = nearest.clone().with_answer_of(chosen, open.choice);
        if nearer != nearest && search.draft(&nearer) == *value {
            nearest = nearer;
        }
    }
    nearest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::choices::Choice;
    use crate::derive::invented;
    use crate::derive::options::DeriveOptions;

    #[test]
    fn what_changes_nothing_of_a_draft_is_no_difference() {
        let search_input = invented::search_input("<say>{{ m.content }}</say>");
        let options = DeriveOptions::default();
        let search = Search::new(&search_input, &options);
        let chosen = Choices::default();
        let marked = chosen.clone().with(Choice::ContentMarked, 1);
        for (choices, expected) in [
            (chosen.clone(), vec![]),
            // There are no calls that could begin anywhere.
            (chosen.clone().with(Choice::CallsAnywhere, 1), vec![]),
            (marked.clone(), vec!["text stands between its markers only"]),
            (
                marked.with(Choice::LooseHeader, 1),
                vec!["text stands between its markers only"],
            ),
        ] {
            let value = search.draft(&choices);
            let nearest = nearest(&search, &choices, &value, &chosen);
            assert_eq!(nearest.differences(&chosen), expected, "{choices:?}");
        }
    }

    #[test]
    fn each_lenience_is_told_by_what_it_does() {
        for lenience in [Lenience::None, Lenience::Usual, Lenience::All] {
            let told = LENIENCES.iter().filter(|(known, _)| *known == lenience);
            assert_eq!(told.count(), 1, "{lenience:?}");
        }
    }
}
