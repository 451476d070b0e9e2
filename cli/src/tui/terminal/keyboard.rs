//! The keyboard and the mouse, which are listened to beside everything else: so that no key waits for
//! what else goes on.

use std::fs::File;
use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crossterm::event::{self, Event, KeyEventKind};

use crate::tui::message::Message;

/// After so long it is looked whether to go on listening. It must not be zero, or nothing is read.
const AT_A_TIME: Duration = Duration::from_millis(100);

/// So long is waited for the last key before someone else may listen. Half an escape sequence keeps
/// the terminal's reader waiting for the rest.
const TO_COME_TO_REST: Duration = Duration::from_secs(1);

/// The terminal itself, for keys, where the standard input is something else.
pub(super) fn device() -> Option<File> {
    match cfg!(unix) {
        true => File::open("/dev/tty").ok(),
        false => None,
    }
}

/// Listens to the keyboard until it is dropped.
#[derive(Debug)]
pub(super) struct Keyboard {
    events: Receiver<io::Result<Event>>,
    ear: Arc<Ear>,
}

/// What the listening thread gets, and what it sends.
#[derive(Debug, Default)]
struct Ear {
    state: Mutex<Listening>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Listening {
    /// Whether someone else is to have the keyboard.
    may_not: bool,
    /// Whether nothing is being read.
    rests: bool,
    is_over: bool,
}

impl Keyboard {
    /// Begins to listen. For each event a message that says nothing wakes up whoever waits for those.
    pub(super) fn listen(wake: Sender<Message>) -> Keyboard {
        let (sender, events) = mpsc::channel();
        let ear = Arc::new(Ear::default());
        let its = Arc::clone(&ear);
        thread::spawn(move || {
            while its.may_listen() {
                let heard = match next() {
                    Ok(None) => continue,
                    Ok(Some(event)) => Ok(event),
                    Err(error) => Err(error),
                };
                let has_failed = heard.is_err();
                let is_heard = sender.send(heard).is_ok();
                let is_awake = wake.send(Message::Tick(Duration::ZERO)).is_ok();
                if has_failed || !is_heard || !is_awake {
                    break;
                }
            }
            its.end();
        });
        Keyboard { events, ear }
    }

    /// What was done last, if it matters.
    pub(super) fn next(&self) -> io::Result<Option<Message>> {
        for event in self.events.try_iter() {
            if let Some(message) = message(event?) {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    /// Lets someone else have the keyboard for a while.
    pub(super) fn lend<T>(&self, borrow: impl FnOnce() -> T) -> T {
        self.ear.state().may_not = true;
        let busy = |state: &mut Listening| !state.rests;
        let waited = self
            .ear
            .changed
            .wait_timeout_while(self.ear.state(), TO_COME_TO_REST, busy);
        drop(waited);
        let result = borrow();
        self.ear.state().may_not = false;
        self.ear.changed.notify_all();
        result
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.ear.state().is_over = true;
        self.ear.changed.notify_all();
    }
}

impl Ear {
    fn state(&self) -> MutexGuard<'_, Listening> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while someone else has the keyboard. Tells whether to listen then.
    fn may_listen(&self) -> bool {
        let mut state = self.state();
        while state.may_not && !state.is_over {
            state.rests = true;
            self.changed.notify_all();
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.rests = false;
        !state.is_over
    }

    /// Nobody listens any more.
    fn end(&self) {
        self.state().rests = true;
        self.changed.notify_all();
    }
}

fn next() -> io::Result<Option<Event>> {
    match event::poll(AT_A_TIME)? {
        true => event::read().map(Some),
        false => Ok(None),
    }
}

fn message(event: Event) -> Option<Message> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => Some(Message::Key(key)),
        Event::Mouse(mouse) => Some(Message::Mouse(mouse)),
        Event::Paste(text) => Some(Message::Paste(text)),
        Event::Resize(width, height) => Some(Message::Resize(width, height)),
        _ => None,
    }
}
