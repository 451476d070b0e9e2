//! The terminal: what happens in it goes to the workbench, and what that wants is done.

mod editor;
mod guard;
mod keyboard;
mod signals;
mod watched;

use std::env;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use super::effects::EffectRunner;
use super::message::{Effect, Message};
use super::state::Workbench;
use super::target::Target;

use editor::edit;
use guard::TerminalGuard;
use keyboard::Keyboard;
use signals::Signals;
use watched::Watched;

/// Messages are taken in for so long before they are shown, and nothing is shown more often, but for
/// what a key has done.
const A_FRAME: Duration = Duration::from_millis(16);

/// Where nothing goes on, signals and files are looked for this often.
const IDLE: Duration = Duration::from_millis(200);

/// Why the workbench can't be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TerminalError {
    /// There is no terminal.
    #[error(
        "there is no terminal to show the workbench in: {0}: run it in one, or use `unjinja parse --events`"
    )]
    None(&'static str),
    /// The terminal fails.
    #[error("the terminal fails: {0}")]
    Io(#[from] io::Error),
}

/// Tells whether there is a terminal, for the screen and for the keys.
///
/// # Errors
///
/// If there is none.
pub fn check_terminal() -> Result<(), TerminalError> {
    if !io::stdout().is_terminal() {
        return Err(TerminalError::None("the standard output goes elsewhere"));
    }
    if env::var_os("TERM").is_some_and(|term| term == "dumb") {
        return Err(TerminalError::None(
            "this one, by `TERM`, can't move its cursor",
        ));
    }
    if !io::stdin().is_terminal() && keyboard::device().is_none() {
        return Err(TerminalError::None("no keys can be read"));
    }
    Ok(())
}

/// Shows the workbench until the person has had enough. Other messages may come in by the channel,
/// such as those of a live text.
///
/// ```no_run
/// use unjinja_cli::tui::{Target, Workbench, run};
///
/// let opening = Target::new("chat_template.jinja");
/// let workbench = Workbench::new(opening.load(None)?, Vec::new(), (80, 24));
/// run(workbench, opening, std::sync::mpsc::channel())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If there is no terminal, or it fails.
pub fn run(
    workbench: Workbench,
    opening: Target,
    (sender, receiver): (Sender<Message>, Receiver<Message>),
) -> Result<(), TerminalError> {
    check_terminal()?;
    let signals = Signals::watch()?;
    let mut guard = TerminalGuard::take()?;
    let now = Instant::now();
    let mut show = Show {
        workbench,
        keyboard: Keyboard::listen(sender.clone()),
        runner: EffectRunner::new(opening, sender),
        receiver,
        watched: Watched::default(),
        ticked: now,
        drawn: now,
        unseen: Unseen::ByKey,
    };
    let ended = show.until_the_end(&mut guard, &signals);
    drop(guard);
    // Whoever sent a signal is to see that it has worked.
    signals.obey();
    ended.map_err(TerminalError::from)
}

/// The workbench while it is shown.
struct Show {
    workbench: Workbench,
    keyboard: Keyboard,
    runner: EffectRunner,
    receiver: Receiver<Message>,
    watched: Watched,
    /// When the workbench last got to know the time.
    ticked: Instant,
    /// When the screen was drawn last.
    drawn: Instant,
    unseen: Unseen,
}

/// Whether there is something that the screen does not show yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Unseen {
    Nothing,
    ByItself,
    /// Someone waits for it.
    ByKey,
}

/// Whether it goes on.
enum Next {
    GoOn,
    Quit,
}

impl Show {
    fn until_the_end(&mut self, guard: &mut TerminalGuard, signals: &Signals) -> io::Result<()> {
        let size = guard.terminal.size()?;
        self.watched.remember(self.files());
        let resized = Message::Resize(size.width, size.height);
        self.take_in(resized, guard, signals)?;
        while signals.none_came() {
            if signals.was_continued() {
                self.lend(guard, || ())?;
            }
            self.follow_size(guard, signals)?;
            self.draw(guard)?;
            if let Next::Quit = self.take_in_all(guard, signals)? {
                break;
            }
            self.look_around()?;
        }
        Ok(())
    }

    /// Tells the workbench the size of the terminal, if that is another.
    fn follow_size(&mut self, guard: &mut TerminalGuard, signals: &Signals) -> io::Result<()> {
        let size = guard.terminal.size()?;
        if self.unseen != Unseen::Nothing && self.workbench.size != (size.width, size.height) {
            let resized = Message::Resize(size.width, size.height);
            self.take_in(resized, guard, signals)?;
        }
        Ok(())
    }

    /// Shows what has changed, if it is time.
    fn draw(&mut self, guard: &mut TerminalGuard) -> io::Result<()> {
        if self.to_next_frame().is_some_and(|left| left.is_zero()) {
            let screen = &mut guard.terminal;
            screen.draw(|frame| super::draw(&self.workbench, frame))?;
            self.drawn = Instant::now();
            self.unseen = Unseen::Nothing;
        }
        Ok(())
    }

    /// How long it takes until the screen is to be drawn, if it is.
    fn to_next_frame(&self) -> Option<Duration> {
        match self.unseen {
            Unseen::Nothing => None,
            Unseen::ByItself => Some(A_FRAME.saturating_sub(self.drawn.elapsed())),
            Unseen::ByKey => Some(Duration::ZERO),
        }
    }

    /// Takes in what has happened, after a pause if nothing has.
    fn take_in_all(&mut self, guard: &mut TerminalGuard, signals: &Signals) -> io::Result<Next> {
        let pauses = [self.workbench.rest(), self.to_next_frame()];
        let pause = pauses.into_iter().flatten().fold(IDLE, Duration::min);
        let mut next = self.next(pause)?;
        let start = Instant::now();
        while let Some(message) = next {
            if let Next::Quit = self.take_in(message, guard, signals)? {
                return Ok(Next::Quit);
            }
            if start.elapsed() >= A_FRAME {
                break;
            }
            next = self.next(Duration::ZERO)?;
        }
        // Whoever has pressed a key sees first what it has done.
        if self.unseen != Unseen::ByKey {
            self.tick();
        }
        Ok(Next::GoOn)
    }

    /// What happens next, keys before all else.
    fn next(&self, pause: Duration) -> io::Result<Option<Message>> {
        match self.keyboard.next()? {
            None => Ok(self.receiver.recv_timeout(pause).ok()),
            pressed => Ok(pressed),
        }
    }

    fn take_in(
        &mut self,
        message: Message,
        guard: &mut TerminalGuard,
        signals: &Signals,
    ) -> io::Result<Next> {
        self.unseen = self.unseen.max(match message {
            // This wakes up only.
            Message::Tick(_) => Unseen::Nothing,
            Message::Key(_) | Message::Mouse(_) | Message::Paste(_) | Message::Resize(..) => {
                Unseen::ByKey
            }
            _ => Unseen::ByItself,
        });
        if let Message::Resize(..) = message {
            // One that was small for a moment has lost what it showed, though its size is the same.
            guard.wipe()?;
        }
        let is_loaded = matches!(message, Message::Loaded(_));
        let effects = self.workbench.update(message);
        if is_loaded {
            self.watched.watch(&self.files());
        }
        for effect in effects {
            if let Next::Quit = self.perform(effect, guard, signals)? {
                return Ok(Next::Quit);
            }
        }
        Ok(Next::GoOn)
    }

    /// Tells the workbench how much time has gone by.
    fn tick(&mut self) {
        let elapsed = self.ticked.elapsed();
        self.ticked = Instant::now();
        if let Some(rest) = self.workbench.rest() {
            if rest <= elapsed {
                self.unseen = self.unseen.max(Unseen::ByItself);
            }
            for effect in self.workbench.update(Message::Tick(elapsed)) {
                let _not_for_the_terminal = self.runner.perform(effect);
            }
        }
    }

    /// Does what the workbench wants.
    fn perform(
        &mut self,
        effect: Effect,
        guard: &mut TerminalGuard,
        signals: &Signals,
    ) -> io::Result<Next> {
        if let Effect::Load { .. } = effect {
            // What changes while it is being read has changed.
            self.watched.remember(self.files());
        }
        match self.runner.perform(effect) {
            Some(Effect::Quit) => return Ok(Next::Quit),
            Some(Effect::Redraw) => guard.wipe()?,
            Some(Effect::Suspend) => {
                if let Err(error) = self.lend(guard, || signals.suspend())? {
                    let words = format!("the shell can't be gone back to: {error}");
                    self.workbench.update(Message::Failed(words));
                }
            }
            Some(Effect::Copy(text)) => guard.copy(&text)?,
            Some(Effect::Edit(path, field)) => {
                if let Err(error) = self.lend(guard, || edit(&path, field.as_deref()))? {
                    self.workbench.update(Message::Failed(error));
                }
                self.watched.remember(self.files());
                self.load();
            }
            _ => {}
        }
        Ok(Next::GoOn)
    }

    /// Lets someone else have the terminal for a while, which may have another size then.
    fn lend<T>(&mut self, guard: &mut TerminalGuard, borrow: impl FnOnce() -> T) -> io::Result<T> {
        let result = self.keyboard.lend(|| guard.lend(borrow))?;
        // What is being played has not gone on meanwhile.
        self.ticked = Instant::now();
        self.unseen = Unseen::ByKey;
        Ok(result)
    }

    /// Loads anew what has changed.
    ///
    /// # Errors
    ///
    /// If the terminal has gone. Its reader gets no error, but finds nothing to read for ever.
    fn look_around(&mut self) -> io::Result<()> {
        if self.watched.have_changed() {
            self.load();
        }
        match io::stdout().is_terminal() {
            true => Ok(()),
            false => Err(io::Error::other("it has gone")),
        }
    }

    fn load(&mut self) {
        let effect = Effect::Load {
            template: self.workbench.adopted().map(Path::to_owned),
        };
        let _nothing_for_the_terminal = self.runner.perform(effect);
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files = self.workbench.files().to_owned();
        files.extend(self.workbench.adopted().map(Path::to_owned));
        files
    }
}
