//! Taking the terminal, and giving it back whatever happens.

use std::cell::Cell;
use std::io::{self, Stdout, Write};
use std::mem::ManuallyDrop;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Position, Rect};

use crate::printing;

/// Text is not to be turned round by the terminal, since every character has its cell; and later it
/// is again.
const KEEP_ORDER: &[u8] = b"\x1b[8l";
const TURN_ROUND: &[u8] = b"\x1b[8h";

/// Whether the terminal is the workbench's. There is one terminal for a program.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The panics beside the workbench, to be reported when there is a terminal to report them in.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The first ones say enough.
const MAX_PANICS: usize = 10;

thread_local! {
    /// Whether this thread shows the workbench: when it ends, so does that.
    static SHOWS: Cell<bool> = const { Cell::new(false) };
}

/// The terminal, as long as it is the workbench's.
pub(super) struct TerminalGuard {
    /// It is not dropped: it would print that it can't show the cursor of a terminal that has gone, and panic
    /// where the standard error goes there, too.
    pub(super) terminal: ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>,
}

impl TerminalGuard {
    pub(super) fn take() -> io::Result<TerminalGuard> {
        watch_for_panics();
        SHOWS.set(true);
        enter()?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()));
        terminal
            .map(|terminal| TerminalGuard {
                terminal: ManuallyDrop::new(terminal),
            })
            .inspect_err(|_| give_back())
    }

    /// Gives the terminal back for a while.
    pub(super) fn lend<T>(&mut self, borrow: impl FnOnce() -> T) -> io::Result<T> {
        give_back();
        let result = borrow();
        enter()?;
        self.wipe()?;
        Ok(result)
    }

    /// Has the terminal keep a text as what was copied.
    pub(super) fn copy(&mut self, text: &str) -> io::Result<()> {
        let mut out = io::stdout();
        write!(out, "\x1b]52;c;{}\x07", base64(text.as_bytes()))?;
        out.flush()
    }

    /// Wipes the screen, of which nobody knows any more what it shows. All of it is drawn next time.
    pub(super) fn wipe(&mut self) -> io::Result<()> {
        let size = self.terminal.size()?;
        // To have it cleared would ask the terminal where its cursor is, which not every one answers.
        self.terminal.resize(Rect::from((Position::ORIGIN, size)))
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        give_back();
        SHOWS.set(false);
    }
}

/// Bytes as terminals take them.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |index: usize| u32::from(three.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63] as char;
            out.push(if place <= three.len() { letter } else { '=' });
        }
    }
    out
}

fn enter() -> io::Result<()> {
    IS_TAKEN.store(true, Ordering::SeqCst);
    let entered = enable_raw_mode().and_then(|()| {
        let mut out = io::stdout();
        execute!(
            out,
            EnterAlternateScreen,
            Clear(ClearType::All),
            EnableMouseCapture,
            EnableBracketedPaste,
            cursor::Hide
        )?;
        out.write_all(KEEP_ORDER)?;
        out.flush()
    });
    entered.inspect_err(|_| give_back())
}

/// Leaves the terminal as it was, if that has not been done. It may be gone already, and then there is
/// nothing to be reported.
fn give_back() {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    let _gone = out.write_all(TURN_ROUND);
    let _gone = execute!(
        out,
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        cursor::Show
    );
    let _gone = disable_raw_mode();
    let panics = std::mem::take(&mut *PANICS.lock().unwrap_or_else(PoisonError::into_inner));
    for panic in panics {
        printing::tell(format_args!("{panic}"));
    }
}

fn tell_later(panic: String) {
    let mut panics = PANICS.lock().unwrap_or_else(PoisonError::into_inner);
    if panics.len() < MAX_PANICS {
        panics.push(panic);
    }
}

/// A panic gives the terminal back before it is reported. One in another thread does not end the
/// workbench, and must not be written into its screen.
fn watch_for_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if SHOWS.get() {
                give_back();
            }
            match IS_TAKEN.load(Ordering::SeqCst) {
                true => tell_later(panic.to_string()),
                false => before(panic),
            }
        }));
    });
}

#[cfg(all(test, unix))]
mod tests {
    use std::env;
    use std::io::Read;
    use std::thread;

    use portable_pty::{CommandBuilder, PtySize, native_pty_system};

    use super::*;

    /// Runs another test of this module in a terminal of its own. Returns all it wrote.
    fn written_by(test: &str) -> String {
        let pair = native_pty_system().openpty(PtySize::default()).unwrap();
        let mut command = CommandBuilder::new(env::current_exe().unwrap());
        command.args(["--exact", "--ignored", "--nocapture"]);
        command.arg(format!("tui::terminal::guard::tests::{test}"));
        let mut child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut source = pair.master.try_clone_reader().unwrap();
        let mut written = Vec::new();
        // Linux says the end of a terminal as an error.
        let _end = source.read_to_end(&mut written);
        assert!(child.wait().unwrap().success());
        String::from_utf8(written).unwrap()
    }

    /// Where each of these is found, the first time.
    fn places<const N: usize>(text: &str, parts: [&str; N]) -> [usize; N] {
        parts.map(|part| {
            let place = text.find(part);
            place.unwrap_or_else(|| panic!("{part:?} is not in {text:?}"))
        })
    }

    #[test]
    fn bytes_are_written_as_terminals_take_them() {
        for (bytes, written) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("\u{7f}é?>", "f8OpPz4="),
        ] {
            assert_eq!(base64(bytes.as_bytes()), written);
        }
    }

    #[test]
    fn a_panic_is_reported_when_the_terminal_has_been_given_back() {
        let written = written_by("panics");
        let [entered, left, reported] =
            places(&written, ["\x1b[?1049h", "\x1b[?1049l", "on purpose"]);
        assert!(entered < left && left < reported, "{written:?}");
    }

    #[test]
    fn a_panic_in_another_thread_is_reported_in_the_end() {
        let written = written_by("goes_on_while_another_thread_panics");
        let parts = ["still there", "\x1b[?1049l", "on purpose"];
        let [there, left, reported] = places(&written, parts);
        assert!(there < left && left < reported, "{written:?}");
    }

    #[test]
    #[ignore = "needs a terminal of its own"]
    #[should_panic = "on purpose"]
    fn panics() {
        let _guard = TerminalGuard::take().unwrap();
        panic!("on purpose");
    }

    #[test]
    #[ignore = "needs a terminal of its own"]
    fn goes_on_while_another_thread_panics() {
        let guard = TerminalGuard::take().unwrap();
        let panicked = thread::spawn(|| panic!("on purpose")).join();
        assert!(panicked.is_err());
        println!("still there");
        drop(guard);
    }
}
