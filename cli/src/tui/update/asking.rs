//! What is asked, and the answers.

use std::path::PathBuf;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

use crate::tui::keys::is_control;
use crate::tui::layout::Pane;
use crate::tui::message::{Effect, Keep, Kept};
use crate::tui::sample::{Origin, Sample};
use crate::tui::state::{About, Confirm, Overlay, Question, Screen, Workbench};
use crate::tui::view::{self, overlay};
use unjinja::check::{Case, Expected};
use unjinja::{Value, json};

/// Texts that are typed or pasted may be this long.
const MAX_TYPED: usize = 64 << 20;

impl Workbench {
    /// A key while something is being asked.
    pub(super) fn answer(&mut self, mut question: Question, key: KeyEvent) {
        if key.kind == KeyEventKind::Release {
            self.overlay = Some(Overlay::Ask(question));
            return;
        }
        let has_lines = question.about == About::Text;
        let has_preview = matches!(question.about, About::Expectation | About::CaseName);
        if has_preview && self.scroll_preview(key) {
            self.overlay = Some(Overlay::Ask(question));
            return;
        }
        match key.code {
            _ if is_control(key, 'c') => return self.leave(&question),
            KeyCode::Esc => return self.leave(&question),
            _ if has_lines && is_control(key, 'd') => return self.answered(question),
            KeyCode::Enter if has_lines => question.insert("\n"),
            KeyCode::Enter => return self.answered(question),
            KeyCode::Tab if has_lines => question.insert("\t"),
            _ if is_control(key, 'u') => question.clear(),
            KeyCode::Char(letter) if !is_control(key, letter) => {
                question.insert(letter.encode_utf8(&mut [0; 4]))
            }
            KeyCode::Backspace => question.remove_before(),
            KeyCode::Delete => question.remove_behind(),
            KeyCode::Left => question.cursor = question.before(),
            KeyCode::Right => question.cursor = question.behind(),
            KeyCode::Home => question.cursor = 0,
            KeyCode::End => question.cursor = question.text.len(),
            _ => {}
        }
        if question.about == About::Search {
            self.preview_search(&question.text);
        }
        self.overlay = Some(Overlay::Ask(question));
    }

    /// Scrolls what is about to be expected, if the key does that.
    fn scroll_preview(&mut self, key: KeyEvent) -> bool {
        let by = match key.code {
            _ if key.kind == KeyEventKind::Release => return false,
            KeyCode::Up => -1,
            KeyCode::Down => 1,
            KeyCode::PageUp => -10,
            KeyCode::PageDown => 10,
            _ => return false,
        };
        let last = overlay::acceptance_rows(self).saturating_sub(1);
        self.preview_scrolled = self.preview_scrolled.saturating_add_signed(by).min(last);
        true
    }

    /// Leaves a question without an answer.
    fn leave(&mut self, question: &Question) {
        self.copied_from = None;
        if question.about == About::Search {
            self.leave_search();
        }
    }

    /// A text that is pasted goes to what is being asked, or else is one to be replayed.
    pub(super) fn paste(&mut self, text: &str) {
        // Terminals paste lines as if each had been typed, with the key that ends it.
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        match &mut self.overlay {
            Some(Overlay::Ask(question)) => question.insert(&text),
            Some(Overlay::Confirm(_)) => {}
            Some(Overlay::Help(_) | Overlay::News(_)) | None => {
                let mut question = Question {
                    about: About::Text,
                    text: String::new(),
                    cursor: 0,
                };
                question.insert(&text);
                self.overlay = Some(Overlay::Ask(question));
            }
        }
    }

    fn answered(&mut self, question: Question) {
        let text = question.text;
        match question.about {
            About::Search => self.search_for(text),
            About::Length => match text.trim().parse() {
                Ok(length) => self.cut_by_bytes(length),
                Err(_) => self.warn("that is no number of bytes: nothing was changed"),
            },
            About::Byte => match text.trim().parse() {
                Ok(byte) => self.go_to_byte(byte),
                Err(_) => self.warn("that is no byte of the text: nothing was changed"),
            },
            About::Text => self.add_text(text),
            About::TemplateFile { then_edit } => self.keep(
                text,
                Kept::Template {
                    template: self.template.clone(),
                    then_edit,
                },
            ),
            About::Expectation => self.expect(&text),
            About::CaseName => {
                self.saving_as = text;
                self.ask(About::FixtureFile, self.fixture_file());
            }
            About::FixtureFile => self.save_case(text),
        }
    }

    /// Asks for a text that begins as the one that is shown, and answers the same prompt.
    pub(super) fn edit_copy(&mut self) {
        let case = &self.sample().case;
        let text = case.output.clone();
        self.copied_from = Some(case.prefix.clone());
        self.ask(About::Text, text);
    }

    /// Copies what is shown where the focus is.
    pub(super) fn copy(&mut self) {
        let pretty = |value: &Value| json::write_styled(value, &json::Style::pretty(2)) + "\n";
        let (what, text) = match (self.screen, self.focus) {
            (Screen::Conversation { number, .. }, _) => {
                let conversation = self.conversations.get(number);
                let text = conversation.map(|conversation| conversation.text.clone());
                ("the conversation", text.unwrap_or_default())
            }
            (Screen::Findings { .. }, _) => ("what shows it", view::findings::copied(self)),
            (Screen::Replay, Pane::Samples) => ("the samples", view::copied(self, Pane::Samples)),
            (Screen::Replay, Pane::Text) => ("the text", self.replay.text().to_owned()),
            (Screen::Replay, Pane::Template) => {
                ("the response template", pretty(self.template.as_value()))
            }
            (Screen::Replay, Pane::Why) => ("why", view::copied(self, Pane::Why)),
            (Screen::Replay, Pane::Events) => {
                let events = self.replay.events(self.at).iter();
                let lines =
                    events.map(|event| json::write(&self.replay.event_value(&[*event])) + "\n");
                ("the events", lines.collect())
            }
            (Screen::Replay, Pane::Message) => {
                let message = Value::from(self.replay.message(self.at));
                ("the message", pretty(&message))
            }
        };
        self.notify(format!("copied, as far as the terminal allows it: {what}"));
        self.effects.push(Effect::Copy(text));
    }

    fn add_text(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        // Those of rendered conversations are the prober's own.
        let tools = match self.sample().origin {
            Origin::Rendered => self.tools.clone(),
            _ if self.sample().is_stand_in() => self.tools.clone(),
            _ => self.sample().case.tools.clone(),
        };
        let prefix = self.copied_from.take().unwrap_or_default();
        let had_none = self.samples.iter().any(Sample::is_stand_in);
        self.samples.retain(|sample| !sample.is_stand_in());
        let typed = self
            .samples
            .iter()
            .filter(|sample| sample.origin == Origin::Typed);
        let name = format!("typed {}", typed.count() + 1);
        let case = Case::new(name, prefix, text, tools, Expected::default());
        self.samples.push(Sample {
            is_unsaved: true,
            ..Sample::new(Origin::Typed, case)
        });
        self.screen = Screen::Replay;
        let number = self.samples.len() - 1;
        match had_none {
            // What is being tried goes by numbers, and these have changed.
            true => self.judge(),
            false => self.judge_one(number),
        }
        self.selected = usize::MAX;
        self.select_sample(number);
    }

    fn save_case(&mut self, path: String) {
        let mut case = self.sample().case.clone();
        match self.saving_as.trim() {
            "" => {}
            name => case.name = name.to_owned(),
        }
        case.expected = Expected::default();
        match self.replay.outcome() {
            None => return self.warn("the text has not been read to its end yet"),
            Some(Ok(message)) => case.expected.message = Some(message.clone()),
            Some(Err(error)) => case.expected.error = Some(error.to_string()),
        }
        let template = self.template.clone();
        let case = Box::new(case);
        self.keep(path, Kept::Case { case, template });
    }

    fn keep(&mut self, path: String, what: Kept) {
        if path.trim().is_empty() {
            return self.warn("nothing was written: there was no name of a file");
        }
        self.effects.push(Effect::Keep(Keep {
            path: PathBuf::from(path.trim()),
            is_confirmed: false,
            what,
        }));
    }

    /// A key while the person is asked for yes or no.
    pub(super) fn confirm(&mut self, confirm: Confirm, key: KeyEvent) {
        if self.scroll_preview(key) {
            self.overlay = Some(Overlay::Confirm(confirm));
            return;
        }
        match key.code {
            _ if key.kind == KeyEventKind::Release => {
                self.overlay = Some(Overlay::Confirm(confirm));
            }
            KeyCode::Char('y' | 'Y') => self.effects.push(Effect::Keep(confirm.keep)),
            KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc => self.notify("nothing was changed"),
            _ if is_control(key, 'c') => self.notify("nothing was changed"),
            _ => self.overlay = Some(Overlay::Confirm(confirm)),
        }
    }
}

impl Question {
    fn before(&self) -> usize {
        let before = self.text[..self.cursor].char_indices();
        before.last().map_or(0, |(at, _)| at)
    }

    fn behind(&self) -> usize {
        let next = self.text[self.cursor..].chars().next();
        self.cursor + next.map_or(0, char::len_utf8)
    }

    fn insert(&mut self, text: &str) {
        let text = match self.about {
            About::Text => text,
            // What has a line of its own.
            _ => text.lines().next().unwrap_or_default(),
        };
        if self.text.len() + text.len() <= MAX_TYPED {
            self.text.insert_str(self.cursor, text);
            self.cursor += text.len();
        }
    }

    fn remove_before(&mut self) {
        let before = self.before();
        self.text.drain(before..self.cursor);
        self.cursor = before;
    }

    fn remove_behind(&mut self) {
        let behind = self.behind();
        self.text.drain(self.cursor..behind);
    }

    fn clear(&mut self) {
        self.text.clear();
        self.cursor = 0;
    }
}
