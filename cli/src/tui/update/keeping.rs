//! Mending a template, keeping what was found, and what the files say when they have changed.

use crate::options::option_name;
use crate::tui::loaded::{Loaded, TemplatePlace};
use crate::tui::message::{Done, Doubt, Effect, Keep, Kept};
use crate::tui::sample::{Origin, Sample, Verdict};
use crate::tui::state::{About, Confirm, Overlay, Screen, Undo, Workbench};
use crate::tui::tokens::ModelTokens;
use crate::tui::view;
use unjinja::Object;
use unjinja::check::{Case, Expected, Failure, free_name};

/// The ends of names that say what kind of file it is; other dots are parts of names.
const ENDINGS: &[&str] = &["jinja", "jinja2", "json", "yaml", "yml", "gguf", "txt"];

impl Workbench {
    /// Opens the response template in the editor. One that is in no file yet needs one first.
    pub(super) fn edit(&mut self) {
        match self.place.file() {
            Some(path) => {
                let field = view::template::field_at_work(self).map(|(field, _)| field);
                self.effects.push(Effect::Edit(path.clone(), field));
            }
            None => {
                let about = About::TemplateFile { then_edit: true };
                self.ask(about, self.template_file());
            }
        }
    }

    pub(super) fn accept(&mut self) {
        if let Some(why) = self.why_in_doubt() {
            return self.warn(why);
        }
        self.preview_scrolled = 0;
        if let (Origin::Fixture, TemplatePlace::Fixture { path, .. }) =
            (self.sample().origin, &self.place)
        {
            let name = self.sample().case.name.clone();
            self.overlay = Some(Overlay::Confirm(Confirm {
                question: format!("Expect what comes out of `{name}` in {}?", path.display()),
                keep: Keep {
                    path: path.clone(),
                    is_confirmed: true,
                    what: Kept::Expectation { case: name },
                },
            }));
            return;
        }
        self.ask(About::Expectation, self.sample().case.name.clone());
    }

    /// Why it is not certain what comes out of the sample.
    fn why_in_doubt(&self) -> Option<String> {
        if self.sample().is_stand_in() {
            return Some("there is no text yet: `t` takes one".to_owned());
        }
        if self.replay.outcome().is_none() {
            return Some("the text has not been read to its end yet".to_owned());
        }
        let failures = match &self.sample().verdict {
            Verdict::Failed(failures) => failures.as_slice(),
            _ => &[],
        };
        let is_cut = |failure: &Failure| matches!(failure, Failure::Cut { .. });
        if self.replay.whole().is_some() || failures.iter().any(is_cut) {
            let why = "what comes out depends on how the text is cut: mend the template first; `d` shows where";
            return Some(why.to_owned());
        }
        let no_anchor = failures
            .iter()
            .find(|failure| matches!(failure, Failure::NoAnchor));
        no_anchor.map(|failure| failure.explain(option_name))
    }

    /// Expects what comes out of the sample, which is called like this from now on.
    pub(super) fn expect(&mut self, name: &str) {
        let Some(outcome) = self.replay.outcome().cloned() else {
            return self.warn("the text has not been read to its end yet");
        };
        let name = match name.trim() {
            "" => self.sample().case.name.clone(),
            name => name.to_owned(),
        };
        let others = self.samples.iter().enumerate();
        let others: Vec<&str> = others
            .filter(|(number, _)| *number != self.selected)
            .map(|(_, sample)| sample.case.name.as_str())
            .collect();
        let name = free_name(&name, |name| others.contains(&name));
        let sample = &mut self.samples[self.selected];
        self.done.push(Undo::Expectation {
            name: name.clone(),
            case: Box::new(sample.case.clone()),
            was_unsaved: sample.is_unsaved,
        });
        sample.is_unsaved = true;
        sample.case.name = name;
        sample.case.expected = Expected::default();
        let what = match outcome {
            Ok(message) => {
                sample.case.expected.message = Some(message.clone());
                self.replay.expect(message);
                "this message is expected"
            }
            Err(error) => {
                sample.case.expected.error = Some(error.to_string());
                self.replay.expect(Object::new());
                "this error is expected"
            }
        };
        self.notify(format!(
            "{what} from now on; `s` saves it in a fixture, `u` takes it back"
        ));
        self.judge_again();
    }

    /// The sample that is shown is tried anew.
    fn judge_again(&mut self) {
        match self.sample().verdict == Verdict::Pending {
            // It is being tried as it was, and what comes of that must not count.
            true => self.judge(),
            false => self.judge_one(self.selected),
        }
    }

    /// Takes back what was done last.
    pub(super) fn undo(&mut self) {
        match self.done.pop() {
            None => self.notify("there is nothing to take back"),
            Some(Undo::File { change, case }) => self.effects.push(Effect::Keep(Keep {
                path: change.path.clone(),
                is_confirmed: true,
                what: Kept::Undone { change, case },
            })),
            Some(Undo::Expectation {
                name,
                case,
                was_unsaved,
            }) => {
                let is_it = |sample: &Sample| sample.case.name == name;
                let Some(number) = self.samples.iter().position(is_it) else {
                    return self.warn(format!("`{name}` is there no more"));
                };
                self.notify(format!("of `{}` the same is expected as before", case.name));
                let sample = &mut self.samples[number];
                sample.case = *case;
                sample.is_unsaved = was_unsaved;
                self.selected = number;
                self.replay_again();
                self.judge_again();
            }
        }
    }

    /// Begins to save the sample: asks for its name, and then for the file.
    pub(super) fn save(&mut self) {
        if let Some(why) = self.why_in_doubt() {
            return self.warn(why);
        }
        self.preview_scrolled = 0;
        self.ask(About::CaseName, self.sample().case.name.clone());
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
        self.conversations = loaded.conversations;
        if let Screen::Conversation { number, .. } = self.screen {
            // The one of this number, or the last of those that are left.
            self.screen = match self.conversations.len().checked_sub(1) {
                Some(last) => Screen::Conversation {
                    number: number.min(last),
                    top: 0,
                },
                None => Screen::Replay,
            };
        }
        self.tokens = ModelTokens::new(&loaded.tokens, loaded.tokenizer);
        let cause = self.why_loaded.take();
        self.remember_verdicts(cause.unwrap_or_else(|| "read anew".to_owned()));
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
    pub(super) fn kept(&mut self, keep: &Keep, done: Done) {
        let is_of_files = self.files.contains(&keep.path);
        if let Kept::Expectation { .. } = &keep.what {
            self.why_loaded = Some(done.words.clone());
        }
        let saved = match &keep.what {
            Kept::Case { case, .. } => Some(case.clone()),
            _ => None,
        };
        let undo = |change| Undo::File {
            change,
            case: saved,
        };
        self.done.extend(done.change.map(undo));
        match &keep.what {
            Kept::Undone { change, case } => {
                if let Some(case) = case {
                    self.same_texts(case)
                        .for_each(|sample| sample.is_unsaved = true);
                }
                if change.before.is_none() && self.fixture.as_ref() == Some(&keep.path) {
                    self.fixture = None;
                }
                if is_of_files {
                    self.why_loaded = Some(done.words.clone());
                    self.load();
                }
            }
            Kept::Template { then_edit, .. } => {
                self.adopted = Some(keep.path.clone());
                self.load();
                if *then_edit {
                    self.effects.push(Effect::Edit(keep.path.clone(), None));
                }
            }
            Kept::Expectation { .. } => self.load(),
            Kept::Case { case, .. } => {
                self.same_texts(case)
                    .for_each(|sample| sample.is_unsaved = false);
                self.fixture = Some(keep.path.clone());
                if is_of_files {
                    self.load();
                }
            }
        }
        self.notify(done.words);
    }

    /// The samples that are saved with a case.
    fn same_texts<'w>(&'w mut self, case: &'w Case) -> impl Iterator<Item = &'w mut Sample> {
        let samples = self.samples.iter_mut();
        samples.filter(|sample| {
            sample.case.output == case.output
                && sample.case.prefix == case.prefix
                && sample.case.tools == case.tools
        })
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
            _ => self.beside("response_template.json"),
        }
    }

    pub(super) fn fixture_file(&self) -> String {
        if let Some(path) = &self.fixture {
            return path.display().to_string();
        }
        match &self.place {
            TemplatePlace::Fixture { path, .. } => path.display().to_string(),
            _ => self.beside("fixture.yaml"),
        }
    }

    /// A name for a new file, in the folder of what was opened.
    fn beside(&self, ending: &str) -> String {
        let name = self.name.trim_end_matches(['/', '\\']);
        let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
        let stem = match name.rsplit_once('.') {
            Some((stem, end)) if ENDINGS.contains(&end) => stem,
            _ => name,
        };
        let stem = match stem.trim_start_matches('.') {
            "" | "-" => "unjinja",
            stem => stem,
        };
        let name = format!("{stem}.{ending}");
        let folder = self.files.first().and_then(|file| file.parent());
        folder.map_or(name.clone(), |folder| {
            folder.join(&name).display().to_string()
        })
    }
}

impl Confirm {
    /// Asks before a file is written of which there is a doubt.
    pub(super) fn about(keep: Keep, doubt: Doubt) -> Confirm {
        let path = keep.path.display();
        let question = match doubt {
            Doubt::NoFolder => {
                let folder = keep.path.parent().unwrap_or(&keep.path).display();
                format!("there is no folder {folder} yet. Make it?")
            }
            Doubt::IsThere if keep.path.ends_with("tokenizer_config.json") => {
                format!("{path} already exists. Put the response template into it?")
            }
            Doubt::IsThere => format!("{path} already exists. Replace it?"),
        };
        Confirm {
            question,
            keep: Keep {
                is_confirmed: true,
                ..keep
            },
        }
    }
}
