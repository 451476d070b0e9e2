//! Mending a template, keeping what was found, and what the files say when they have changed.

use crate::tui::loaded::{Loaded, TemplatePlace};
use crate::tui::message::{Effect, Keep, Kept};
use crate::tui::sample::{Origin, Sample, Verdict};
use crate::tui::state::{About, Confirm, Overlay, Screen, Workbench};

impl Workbench {
    /// Opens the response template in the editor. One that is in no file yet needs one first.
    pub(super) fn edit(&mut self) {
        match self.place.file() {
            Some(path) => self.effects.push(Effect::Edit(path.clone())),
            None => {
                let about = About::TemplateFile { then_edit: true };
                self.ask(about, self.template_file());
            }
        }
    }

    pub(super) fn accept(&mut self) {
        if self.sample().is_stand_in() {
            return self.warn("there is no text yet: `t` takes one");
        }
        let Some(outcome) = self.replay.outcome() else {
            return self.warn("the text has not been read to its end yet");
        };
        if let (Origin::Fixture, TemplatePlace::Fixture { path, .. }) =
            (self.sample().origin, &self.place)
        {
            let name = self.sample().case.name.clone();
            self.overlay = Some(Overlay::Confirm(Confirm {
                question: format!("Expect what comes out of `{name}` in {}?", path.display()),
                keep: Keep {
                    path: path.clone(),
                    replace: true,
                    what: Kept::Expectation { case: name },
                },
            }));
            return;
        }
        match outcome.clone() {
            Ok(message) => {
                self.samples[self.selected].is_unsaved = true;
                let case = &mut self.samples[self.selected].case;
                case.expected = unjinja::check::Expected::default();
                case.expected.message = Some(message.clone());
                self.replay.expect(message);
                self.notify("this message is expected from now on; `s` saves it in a fixture");
                match self.sample().verdict == Verdict::Pending {
                    // It is being tried as it was, and what comes of that must not count.
                    true => self.judge(),
                    false => self.judge_one(self.selected),
                }
            }
            Err(error) => self.warn(format!("there is no message to expect: {error}")),
        }
    }

    /// What the files that were opened say now.
    pub(super) fn take_loaded(&mut self, loaded: Loaded) {
        if self.trouble.take().is_some() {
            self.notice = None;
        }
        match self.candidate_again(&loaded) {
            Some(number) => self.candidate = Some(number),
            None => {
                self.candidate = (loaded.place == TemplatePlace::Derived).then_some(0);
                self.template = loaded.template;
            }
        }
        self.name = loaded.name;
        self.place = loaded.place;
        self.files = loaded.files;
        self.format = loaded.format;
        self.conversation = loaded.conversation;
        if matches!(self.screen, Screen::Conversation { .. }) {
            self.screen = Screen::Conversation { top: 0 };
        }
        self.remember_verdicts();
        self.take_samples(loaded.samples);
        self.judge();
        self.replay_again();
    }

    /// The candidate in use among those that there are now: whoever has chosen it means to keep it.
    fn candidate_again(&self, loaded: &Loaded) -> Option<usize> {
        self.candidate.filter(|&number| number > 0)?;
        let format = loaded.format.as_ref();
        let format = format.filter(|_| loaded.place == TemplatePlace::Derived)?;
        let mut candidates = format.candidates.iter();
        candidates.position(|candidate| candidate.template == self.template)
    }

    /// Puts the samples of files in the place of those that were there before.
    fn take_samples(&mut self, of_files: Vec<Sample>) {
        let (origin, name) = (self.sample().origin, self.sample().case.name.clone());
        let accepted = self
            .samples
            .iter()
            .filter(|sample| sample.is_unsaved)
            .cloned();
        let accepted: Vec<Sample> = accepted.collect();
        self.samples.retain(|sample| {
            let is_of_files = matches!(sample.origin, Origin::Rendered | Origin::Fixture);
            !is_of_files && !sample.is_stand_in()
        });
        self.samples.extend(of_files.into_iter().map(|mut sample| {
            let is_same =
                |old: &&Sample| old.origin == sample.origin && old.case.name == sample.case.name;
            if let Some(old) = accepted.iter().find(is_same) {
                sample.case.expected = old.case.expected.clone();
                sample.is_unsaved = true;
            }
            sample
        }));
        if self.samples.is_empty() {
            self.samples.push(Sample::stand_in());
        }
        let is_selected = |sample: &Sample| sample.origin == origin && sample.case.name == name;
        let place = self.samples.iter().position(is_selected);
        self.selected = place.unwrap_or(0);
    }

    /// Something has been kept in a file.
    pub(super) fn kept(&mut self, keep: &Keep, words: String) {
        self.notify(words);
        match &keep.what {
            Kept::Template { then_edit, .. } => {
                self.adopted = Some(keep.path.clone());
                self.load();
                if *then_edit {
                    self.effects.push(Effect::Edit(keep.path.clone()));
                }
            }
            Kept::Expectation { .. } => self.load(),
            Kept::Case { case, .. } => {
                let is_saved = |sample: &&mut Sample| sample.case.name == case.name;
                if let Some(sample) = self.samples.iter_mut().find(is_saved) {
                    sample.is_unsaved = false;
                }
                self.fixture = Some(keep.path.clone());
                if self.files.contains(&keep.path) {
                    self.load();
                }
            }
        }
    }

    pub(super) fn load(&mut self) {
        self.effects.push(Effect::Load {
            template: self.adopted.clone(),
        });
    }

    /// The file that a response template is written to unless another is named.
    pub(super) fn template_file(&self) -> String {
        match &self.place {
            TemplatePlace::File(path) => path.display().to_string(),
            _ => format!("{}.response_template.json", self.stem()),
        }
    }

    pub(super) fn fixture_file(&self) -> String {
        if let Some(path) = &self.fixture {
            return path.display().to_string();
        }
        match &self.place {
            TemplatePlace::Fixture { path, .. } => path.display().to_string(),
            _ => format!("{}.fixture.yaml", self.stem()),
        }
    }

    fn stem(&self) -> String {
        let name = self.name.rsplit(['/', '\\']).next().unwrap_or_default();
        let stem = name.split('.').next().unwrap_or_default();
        match stem {
            "" | "-" => "unjinja".into(),
            stem => stem.into(),
        }
    }
}

/// Asks before a file is replaced.
pub(super) fn replacing(keep: Keep) -> Confirm {
    let path = keep.path.display();
    let is_config = keep.path.ends_with("tokenizer_config.json");
    let question = match is_config {
        true => format!("{path} is there already. Put the response template into it?"),
        false => format!("{path} is there already. Replace it?"),
    };
    Confirm {
        question,
        keep: Keep {
            replace: true,
            ..keep
        },
    }
}
