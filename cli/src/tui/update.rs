//! What happens to the workbench changes its state, and nothing else does. There is no terminal here,
//! no file and no clock: what has to be done outside comes out as [`Effect`]s.

mod asking;
mod judging;
mod keeping;
mod mouse;
mod scrolling;
mod searching;
mod stepping;

use crossterm::event::KeyEvent;

pub(super) use searching::fold;

use super::keys::{self, Action};
use super::layout::Pane;
use super::loaded::{Outlier, TemplatePlace};
use super::message::{Effect, Message};
use super::sample::{Origin, Sample};
use super::state::{About, Confirm, Overlay, Question, Screen, Weight, Workbench};
use super::view;
use unjinja::check::free_name;

impl Workbench {
    /// Takes in something that has happened. Returns what is to be done because of it.
    pub fn update(&mut self, message: Message) -> Vec<Effect> {
        let is_tick = matches!(message, Message::Tick(_));
        let is_by_hand = matches!(
            message,
            Message::Key(_) | Message::Mouse(_) | Message::Paste(_)
        );
        self.is_untouched &= !is_by_hand;
        match message {
            Message::Key(key) => self.key(key),
            Message::Mouse(event) => self.mouse(event),
            Message::Paste(text) => self.paste(&text),
            Message::Resize(width, height) => self.size = (width, height),
            Message::Tick(elapsed) => self.tick(elapsed),
            Message::Loaded(loaded) => self.take_loaded(*loaded),
            Message::NotLoaded(trouble) => {
                let words = format!(
                    "the last good one stays in use: {}",
                    first_line(&trouble.message)
                );
                self.announce(words, Weight::Error);
                self.trouble = Some(trouble);
            }
            Message::Judged {
                generation,
                sample,
                failures,
            } => self.judged(generation, sample, failures),
            Message::NotJudged {
                generation,
                sample,
                why,
            } => self.not_judged(generation, sample, why),
            Message::Live(text, at) => self.take_live(&text, at),
            Message::LiveEnded(error) => self.end_live(error),
            Message::Kept(keep, done) => self.kept(&keep, done),
            // What is being typed is not to be lost to a question.
            Message::Unconfirmed(keep, doubt) => {
                let confirm = Confirm::about(keep, doubt);
                match self.overlay {
                    None => self.overlay = Some(Overlay::Confirm(confirm)),
                    Some(_) => self.warn(format!("nothing was written: {}", confirm.question)),
                }
            }
            Message::Failed(error) => self.announce(error, Weight::Error),
        }
        // What is freed first can be had again.
        let has_time = is_tick && self.outworn.take().is_none();
        self.read_on(has_time);
        std::mem::take(&mut self.effects)
    }

    fn key(&mut self, key: KeyEvent) {
        // These leave alone whatever is being asked.
        match keys::action(key) {
            Some(Action::Suspend) => return self.effects.push(Effect::Suspend),
            Some(Action::Redraw) => return self.effects.push(Effect::Redraw),
            _ => {}
        }
        match self.overlay.take() {
            Some(Overlay::Ask(question)) => self.answer(question, key),
            Some(Overlay::Confirm(confirm)) => self.confirm(confirm, key),
            Some(Overlay::Help(scrolled)) => {
                let scrolled = self.scroll_key(key, scrolled, view::help::extent(self));
                self.overlay = scrolled.map(Overlay::Help);
            }
            Some(Overlay::News(scrolled)) => {
                let scrolled = self.scroll_key(key, scrolled, view::news::extent(self));
                self.overlay = scrolled.map(Overlay::News);
            }
            None => {
                // What is behind the screen at the front stays as it is.
                let known = |action: &Action| keys::is_known(*action, self.screen);
                if let Some(action) = keys::action(key).filter(known) {
                    self.notice = None;
                    self.is_leaving &= action == Action::Quit;
                    self.act(action);
                }
            }
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Help => self.overlay = Some(Overlay::Help(0)),
            Action::News => self.overlay = Some(Overlay::News(0)),
            Action::Undo => self.undo(),
            Action::NextFailure => self.select_failure(true),
            Action::PreviousFailure => self.select_failure(false),
            Action::Top => self.scroll_to_an_end(false),
            Action::Bottom => self.scroll_to_an_end(true),
            Action::HalfPageUp => self.scroll_half_page(-1),
            Action::HalfPageDown => self.scroll_half_page(1),
            Action::Quit => self.quit(),
            Action::Back => self.back(),
            Action::Findings => self.show_findings(),
            Action::Conversation => self.show_conversation(),
            Action::Choose => self.choose(),
            Action::Up => self.scroll_by(-1),
            Action::Down => self.scroll_by(1),
            Action::PageUp => self.scroll_page(-1),
            Action::PageDown => self.scroll_page(1),
            Action::NextSample => self.go_along(1),
            Action::PreviousSample => self.go_along(-1),
            Action::NextPane => self.focus_next(1),
            Action::PreviousPane => self.focus_next(Pane::ALL.len() - 1),
            Action::Show(pane) => self.focus_on(pane),
            Action::Zoom => self.zoomed = !self.zoomed,
            Action::Search => {
                self.before_search = Some((self.at, self.search.take()));
                self.ask(About::Search, String::new());
            }
            Action::GoToByte => self.ask(About::Byte, String::new()),
            Action::Copy => self.copy(),
            Action::EditCopy => self.edit_copy(),
            Action::Unfold => self.unfolded = !self.unfolded,
            Action::ChunksOfBytes => self.ask(About::Length, String::new()),
            Action::NextMatch => self.go_to_match(true),
            Action::PreviousMatch => self.go_to_match(false),
            Action::Type => self.ask(About::Text, String::new()),
            Action::Edit => self.edit(),
            Action::Save => self.save(),
            Action::Accept => self.accept(),
            Action::Write => {
                let about = About::TemplateFile { then_edit: false };
                self.ask(about, self.template_file());
            }
            step => self.step(step),
        }
    }

    /// Leaves; at the second time only, if something would be lost.
    fn quit(&mut self) {
        let unsaved = self
            .samples
            .iter()
            .filter(|sample| sample.is_unsaved)
            .count();
        if unsaved == 0 || self.is_leaving {
            return self.effects.push(Effect::Quit);
        }
        self.is_leaving = true;
        let what = match unsaved {
            1 => "a text or an expectation is".to_owned(),
            count => format!("{count} texts or expectations are"),
        };
        self.warn(format!(
            "{what} in no fixture yet: `s` saves, `q` again leaves"
        ));
    }

    fn back(&mut self) {
        self.playing = false;
        match self.screen {
            Screen::Findings { .. } | Screen::Conversation { .. } => self.screen = Screen::Replay,
            Screen::Replay if self.zoomed => self.zoomed = false,
            Screen::Replay => self.search = None,
        }
    }

    fn focus_next(&mut self, steps: usize) {
        let next = (self.focus.number() + steps) % Pane::ALL.len();
        self.focus_on(Pane::ALL[next]);
    }

    pub(super) fn focus_on(&mut self, pane: Pane) {
        self.screen = Screen::Replay;
        self.focus = pane;
        if pane != Pane::Text {
            self.other = pane;
        }
    }

    fn show_findings(&mut self) {
        if self.format.is_none() {
            return self.warn("there is no chat template: its findings would stand here");
        }
        self.screen = match self.screen {
            Screen::Findings { .. } => Screen::Replay,
            _ => Screen::Findings {
                row: 0,
                scrolled: 0,
            },
        };
    }

    fn show_conversation(&mut self) {
        if self.conversations.is_empty() {
            return self.warn(
                "no conversation was opened: `--conversation FILE` opens one, and so does a fixture",
            );
        }
        match self.screen {
            Screen::Conversation { .. } => self.screen = Screen::Replay,
            _ => self.show_first_conversation(),
        }
    }

    /// To the sample or the conversation that comes next, or to the one before.
    fn go_along(&mut self, by: isize) {
        match self.screen {
            Screen::Conversation { number, .. } => {
                let last = self.conversations.len().saturating_sub(1);
                let to = number.saturating_add_signed(by).min(last);
                if to != number {
                    self.screen = Screen::Conversation { number: to, top: 0 };
                }
            }
            _ => self.select_sample(self.selected.saturating_add_signed(by)),
        }
    }

    /// Takes the candidate that is chosen among the findings.
    fn choose(&mut self) {
        let Screen::Findings { row, .. } = self.screen else {
            return;
        };
        let Some(format) = self.format.clone() else {
            return;
        };
        let Some(number) = row.checked_sub(format.statements.len()) else {
            return self.warn("a finding can't be taken: go down to the candidates");
        };
        if let Some(outlier) = number.checked_sub(format.candidates.len()) {
            return self.open_outlier(format.outliers.get(outlier));
        }
        let Some(candidate) = format.candidates.get(number) else {
            return;
        };
        self.remember_verdicts(format!("read with candidate {}", number + 1));
        self.template = candidate.template.clone();
        self.candidate = Some(number);
        self.place = TemplatePlace::Derived;
        self.adopted = None;
        self.trouble = None;
        self.judge();
        self.replay_again();
        self.notify(format!(
            "candidate {} is in use; `w` writes it to a file",
            number + 1
        ));
    }

    /// Opens a text that is out of line as a sample, which outlives other templates.
    fn open_outlier(&mut self, outlier: Option<&Outlier>) {
        let Some(outlier) = outlier else {
            return;
        };
        self.screen = Screen::Replay;
        let case = &outlier.case;
        let is_it = |sample: &Sample| {
            sample.case.output == case.output && sample.case.prefix == case.prefix
        };
        let number = self.samples.iter().position(is_it).unwrap_or_else(|| {
            let mut case = case.clone();
            let is_taken = |name: &str| self.samples.iter().any(|other| other.case.name == name);
            case.name = free_name(&case.name, is_taken);
            self.samples.push(Sample {
                remarks: outlier.remark.iter().cloned().collect(),
                ..Sample::new(Origin::Given, case)
            });
            self.judge_one(self.samples.len() - 1);
            self.samples.len() - 1
        });
        self.select_sample(number);
        // What is remarked of it stands there.
        self.other = Pane::Message;
        self.notify(format!("{}: {}", outlier.kind, outlier.why));
    }

    fn ask(&mut self, about: About, text: String) {
        self.overlay = Some(Overlay::Ask(Question {
            about,
            cursor: text.len(),
            text,
        }));
    }
}

pub(super) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
