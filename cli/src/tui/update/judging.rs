//! Whether samples are read as expected.

use crate::tui::message::Effect;
use crate::tui::sample::{Sample, Verdict};
use crate::tui::state::{Before, Weight, Workbench};
use unjinja::check::Failure;

impl Workbench {
    /// Lets all samples be tried anew.
    pub(in crate::tui) fn judge(&mut self) {
        self.generation += 1;
        let live = |sample: &&mut Sample| !sample.is_live;
        for sample in self.samples.iter_mut().filter(live) {
            sample.verdict = Verdict::Pending;
        }
        let cases = self
            .samples
            .iter()
            .enumerate()
            .filter(|(_, sample)| !sample.is_live);
        let cases = cases
            .map(|(number, sample)| (number, sample.case.clone()))
            .collect();
        self.effects.push(Effect::Judge {
            generation: self.generation,
            template: self.template.clone(),
            cases,
        });
    }

    /// Lets one sample be tried.
    pub(in crate::tui) fn judge_one(&mut self, number: usize) {
        let sample = &mut self.samples[number];
        sample.verdict = Verdict::Pending;
        self.effects.push(Effect::Judge {
            generation: self.generation,
            template: self.template.clone(),
            cases: vec![(number, sample.case.clone())],
        });
    }

    /// What is known of the samples before a template takes another's place, and by what that comes.
    pub(in crate::tui) fn remember_verdicts(&mut self, cause: String) {
        let known = self.samples.iter().filter_map(|sample| {
            let passed = sample.verdict.passed()?;
            Some((sample.case.name.clone(), passed))
        });
        let passed: Vec<(String, bool)> = known.collect();
        // While samples are being tried, what was known before them counts.
        let passed = match (self.is_judging(), self.before.take()) {
            (true, Some(before)) => before.passed,
            _ => passed,
        };
        self.before = Some(Before { cause, passed });
    }

    pub(in crate::tui) fn judged(
        &mut self,
        generation: u64,
        number: usize,
        failures: Vec<Failure>,
    ) {
        let is_late = generation != self.generation;
        let Some(sample) = self.samples.get_mut(number).filter(|_| !is_late) else {
            return;
        };
        sample.verdict = Verdict::of(failures);
        self.tell_changes_at_last();
    }

    /// A sample could not be tried.
    pub(in crate::tui) fn not_judged(&mut self, generation: u64, number: usize, why: String) {
        let is_late = generation != self.generation;
        let Some(sample) = self.samples.get_mut(number).filter(|_| !is_late) else {
            return;
        };
        let words = format!("`{}` can't be tried: {why}", sample.case.name);
        sample.verdict = Verdict::Unknown(why);
        self.announce(words, Weight::Error);
        self.tell_changes_at_last();
    }

    /// Tells what has become of the samples, when all have been tried.
    fn tell_changes_at_last(&mut self) {
        if self.is_judging() {
            return;
        }
        self.open_on_a_failure();
        let Some(Before { cause, passed }) = self.before.take() else {
            return;
        };
        if passed.is_empty() {
            return;
        }
        let count = |was: bool, is: bool| {
            let changed = passed.iter().filter(|(name, had_passed)| {
                let now = self.samples.iter().find(|sample| sample.case.name == *name);
                *had_passed == was && now.is_some_and(|now| now.verdict.passed() == Some(is))
            });
            changed.count()
        };
        let (fixed, broken) = (count(false, true), count(true, false));
        let changes = match (fixed, broken) {
            (0, 0) => "every sample is read as well as before".to_owned(),
            (fixed, 0) => format!("{fixed} fixed"),
            (0, broken) => format!("{broken} broken"),
            (fixed, broken) => format!("{fixed} fixed, {broken} broken"),
        };
        let weight = match (fixed, broken) {
            (0, 0) => Weight::Aside,
            (_, 0) => Weight::News,
            _ => Weight::Warning,
        };
        self.announce(format!("{cause}: {changes}"), weight);
    }

    /// Shows what fails, where nobody has asked for anything else yet.
    fn open_on_a_failure(&mut self) {
        let first = self.samples.iter().position(Sample::fails);
        if let Some(first) = first.filter(|_| self.is_untouched && !self.sample().fails()) {
            self.select_sample(first);
        }
        self.is_untouched = false;
    }
}
