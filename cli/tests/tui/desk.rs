//! A workbench at which a test presses keys.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::support::root::root;
use crate::tui::keyboard::key;
use unjinja_cli::tui::{Effect, EffectRunner, Message, Sample, Target, Workbench, render};

/// A workbench, and what does its work.
pub struct Desk {
    pub workbench: Workbench,
    runner: EffectRunner,
    receiver: Receiver<Message>,
    /// The files that it wanted to have opened in an editor.
    pub edited: Vec<PathBuf>,
    /// What was copied last.
    pub copied: String,
    pub has_quit: bool,
    size: (u16, u16),
    /// How many loads have yet to come back.
    loads: usize,
}

impl Desk {
    pub fn open(source: &str) -> Desk {
        Desk::with(source, Vec::new())
    }

    pub fn with(source: &str, samples: Vec<Sample>) -> Desk {
        Desk::at(Target::new(source), samples)
    }

    /// With a conversation that the chat template has rendered.
    pub fn conversation(source: &str, path: impl Into<PathBuf>) -> Desk {
        let mut opening = Target::new(source);
        opening.conversation = Some(path.into());
        Desk::at(opening, Vec::new())
    }

    fn at(opening: Target, samples: Vec<Sample>) -> Desk {
        // Sources are named as people name them at the top of the repository.
        std::env::set_current_dir(root()).unwrap();
        let loaded = opening
            .load(None)
            .unwrap_or_else(|trouble| panic!("{trouble}"));
        let size = (140, 45);
        let (sender, receiver) = mpsc::channel();
        let mut desk = Desk {
            workbench: Workbench::new(loaded, samples, size),
            runner: EffectRunner::new(opening, sender),
            receiver,
            edited: Vec::new(),
            copied: String::new(),
            has_quit: false,
            loads: 0,
            size,
        };
        desk.settle();
        desk
    }

    /// The same in a terminal of another size.
    pub fn sized(mut self, width: u16, height: u16) -> Desk {
        self.size = (width, height);
        self.send(Message::Resize(width, height));
        self
    }

    /// Something happens, and all that follows from it is done.
    pub fn send(&mut self, message: Message) {
        let effects = self.workbench.update(message);
        self.perform(effects);
        self.settle();
    }

    pub fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            self.loads += usize::from(matches!(effect, Effect::Load { .. }));
            match self.runner.perform(effect) {
                Some(Effect::Edit(path, _)) => self.edited.push(path),
                Some(Effect::Copy(text)) => self.copied = text,
                Some(Effect::Quit) => self.has_quit = true,
                _ => {}
            }
        }
    }

    /// Waits until nothing happens any more by itself.
    pub fn settle(&mut self) {
        loop {
            let effects = self.workbench.update(Message::Tick(Duration::ZERO));
            self.perform(effects);
            if self.workbench.rest() == Some(Duration::ZERO) {
                continue;
            }
            let pause = match self.workbench.is_judging() || self.loads > 0 {
                true => Duration::from_secs(10),
                false => Duration::from_millis(1),
            };
            match self.receiver.recv_timeout(pause) {
                Ok(message) => {
                    let is_load = matches!(message, Message::Loaded(_) | Message::NotLoaded(_));
                    self.loads -= usize::from(is_load);
                    let effects = self.workbench.update(message);
                    self.perform(effects);
                }
                Err(_) => return,
            }
        }
    }

    /// Presses keys, one for each character.
    pub fn press(&mut self, keys: &str) -> &mut Desk {
        for sign in keys.chars() {
            self.send(Message::Key(key(sign).into()));
        }
        self
    }

    /// Presses a key, and waits for nothing.
    pub fn press_only(&mut self, sign: char) {
        let effects = self.workbench.update(Message::Key(key(sign).into()));
        self.perform(effects);
    }

    /// Presses a letter together with the control key.
    pub fn control(&mut self, letter: char) {
        let key = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
        self.send(Message::Key(key));
    }

    pub fn buffer(&self) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, self.size.0, self.size.1));
        render(&self.workbench, &mut buffer);
        buffer
    }

    /// What is seen, without colours.
    pub fn screen(&self) -> String {
        let buffer = self.buffer();
        let mut screen = String::new();
        for y in 0..buffer.area.height {
            let mut line = String::new();
            let mut skip = 0;
            for x in 0..buffer.area.width {
                let symbol = buffer[(x, y)].symbol();
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                line.push_str(symbol);
                skip = unicode_width::UnicodeWidthStr::width(symbol).saturating_sub(1);
            }
            screen.push_str(line.trim_end());
            screen.push('\n');
        }
        screen
    }

    /// The lines of a pane, without its borders.
    pub fn pane(&self, title: &str) -> Vec<String> {
        let screen = self.screen();
        let lines: Vec<Vec<char>> = screen.lines().map(|line| line.chars().collect()).collect();
        let title: Vec<char> = title.chars().collect();
        let corner = |c: char| matches!(c, '┌' | '┏');
        let (top, left) = (0..lines.len())
            .flat_map(|y| (0..lines[y].len()).map(move |x| (y, x)))
            .find(|&(y, x)| corner(lines[y][x]) && lines[y][x + 2..].starts_with(&title))
            .unwrap_or_else(|| panic!("no pane is called so:\n{screen}"));
        let right = (left + 1..lines[top].len()).find(|&x| matches!(lines[top][x], '┐' | '┓'));
        let right = right.expect("the pane has a corner");
        let inside = lines[top + 1..]
            .iter()
            .take_while(|line| !matches!(line[left], '└' | '┗'));
        let inside = inside.map(|line| line[left + 1..right].iter().collect::<String>());
        inside.map(|line| line.trim_end().to_owned()).collect()
    }

    /// How the text is cut, and where the stream is.
    pub fn title(&self) -> String {
        let screen = self.screen();
        let title = screen.lines().next().unwrap_or_default();
        title.rsplit("  ").next().unwrap_or_default().to_owned()
    }

    /// Some time goes by, in milliseconds.
    pub fn elapse(&mut self, milliseconds: u64) {
        self.send(Message::Tick(Duration::from_millis(milliseconds)));
    }

    /// Answers the question for a file.
    pub fn write_to(&mut self, path: &Path) {
        self.control('u');
        self.press(&path.display().to_string()).press("⏎");
    }

    /// Goes to the sample of a name.
    pub fn select(&mut self, name: &str) {
        self.press("1g");
        let screen = |desk: &Desk| desk.screen().lines().next().unwrap_or_default().to_owned();
        for _ in 0..100 {
            let title = screen(self).replace(" ✗  ", "  ");
            if title.contains(&format!("  {name}  ")) {
                return;
            }
            self.press("↓");
        }
        panic!("no sample is called so:\n{}", self.screen());
    }
}
