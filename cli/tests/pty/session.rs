//! A terminal with the real program in it.

use std::io::{ErrorKind, Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use portable_pty::{
    Child, CommandBuilder, ExitStatus, MasterPty, PtySize, SlavePty, native_pty_system,
};
use vt100::{MouseProtocolMode, Parser, Screen};

/// Whatever is waited for comes within this time, on the slowest of machines.
const LIMIT: Duration = Duration::from_secs(20);

const UNJINJA: &str = env!("CARGO_BIN_EXE_unjinja");

/// The title that a shell gives the terminal when it has run its lines.
const OVER: &str = "over";

/// A program in a terminal.
pub struct Session {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    shown: Arc<Shown>,
    reader: Option<JoinHandle<()>>,
    is_shell: bool,
}

/// What the terminal shows.
struct Shown {
    parser: Mutex<Parser<Strange>>,
    changed: Condvar,
}

/// What a program should never send.
#[derive(Default)]
pub struct Strange {
    pub seen: Vec<String>,
    /// Whether a shell has run its lines.
    is_over: bool,
}

impl vt100::Callbacks for Strange {
    fn audible_bell(&mut self, _: &mut Screen) {
        self.seen.push("a bell".into());
    }

    fn set_window_title(&mut self, _: &mut Screen, title: &[u8]) {
        match String::from_utf8_lossy(title) {
            title if title == OVER => self.is_over = true,
            title => self.seen.push(format!("the title {title}")),
        }
    }

    fn copy_to_clipboard(&mut self, _: &mut Screen, _: &[u8], _: &[u8]) {
        self.seen.push("something for the clipboard".into());
    }

    fn unhandled_char(&mut self, _: &mut Screen, character: char) {
        self.seen.push(format!("the character {character:?}"));
    }

    fn unhandled_control(&mut self, _: &mut Screen, byte: u8) {
        self.seen.push(format!("the control character {byte:#x}"));
    }
}

impl Session {
    /// Runs the workbench in a folder, with a terminal of so many columns and rows.
    pub fn workbench(folder: &Path, arguments: &[&str], size: (u16, u16)) -> Session {
        let mut command = CommandBuilder::new(UNJINJA);
        command.arg("tui");
        command.args(arguments);
        Session::run(command, folder, size)
    }

    /// Runs lines of a shell, where `$unjinja` is the program.
    ///
    /// When the first process of a terminal ends, what it wrote last may be thrown away before anybody has read it. So
    /// the shell waits for a key behind its lines.
    pub fn shell(folder: &Path, script: &str) -> Session {
        let waits =
            format!(r"status=$?; printf '\033]2;{OVER}\007'; read -r _ < /dev/tty; exit $status");
        let mut command = CommandBuilder::new("sh");
        command.args(["-c", &format!("{script}\n{waits}")]);
        let mut session = Session::run(command, folder, (140, 45));
        session.is_shell = true;
        session
    }

    /// Runs the workbench in a terminal that goes away when this has come. How it has ended.
    pub fn hung_up(folder: &Path, arguments: &[&str], awaited: &str) -> ExitStatus {
        let mut command = CommandBuilder::new(UNJINJA);
        command.arg("tui");
        command.args(arguments);
        command.cwd(folder);
        command.env("TERM", "xterm-256color");
        let pair = native_pty_system().openpty(size_of(140, 45)).unwrap();
        let mut child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut source = pair.master.try_clone_reader().unwrap();
        let mut written = Vec::new();
        let mut block = [0; 4096];
        while !String::from_utf8_lossy(&written).contains(awaited) {
            let read = source.read(&mut block).unwrap();
            written.extend_from_slice(&block[..read]);
        }
        // Whoever reads holds the terminal open, too.
        drop((source, pair.master));
        let start = Instant::now();
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < LIMIT, "it goes on without a terminal");
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn run(mut command: CommandBuilder, folder: &Path, (columns, rows): (u16, u16)) -> Session {
        command.cwd(folder);
        command.env("unjinja", UNJINJA);
        command.env("TERM", "xterm-256color");
        command.env("EDITOR", "sh editor.sh");
        for name in ["VISUAL", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        let pair = native_pty_system().openpty(size_of(columns, rows)).unwrap();
        let slave: Box<dyn SlavePty + Send> = pair.slave;
        let child = slave.spawn_command(command).unwrap();
        // Otherwise the terminal would never come to its end.
        drop(slave);
        let (rows, columns) = (count(rows), count(columns));
        let parser = Parser::new_with_callbacks(rows, columns, 0, Strange::default());
        let shown = Arc::new(Shown {
            parser: Mutex::new(parser),
            changed: Condvar::new(),
        });
        let source = pair.master.try_clone_reader().unwrap();
        Session {
            reader: Some(thread::spawn({
                let shown = Arc::clone(&shown);
                move || shown.read(source)
            })),
            writer: pair.master.take_writer().unwrap(),
            master: pair.master,
            child,
            shown,
            is_shell: false,
        }
    }

    /// Presses keys: these bytes are what the terminal makes of them.
    pub fn press(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    /// Types into what is asked, in place of what stands there.
    pub fn answer(&mut self, text: &str) {
        self.press(&format!("\u{15}{text}\r"));
    }

    /// What the terminal shows, line by line.
    pub fn screen(&self) -> String {
        self.shown.parser().screen().contents()
    }

    /// Waits until the terminal shows something.
    pub fn wait_for(&self, text: &str) {
        self.wait_until(text, |screen| screen.contents().contains(text));
    }

    /// Waits until the terminal shows something no more.
    pub fn wait_without(&self, text: &str) {
        self.wait_until(&format!("no {text}"), |screen| {
            !screen.contents().contains(text)
        });
    }

    /// Waits until something is true of the terminal.
    pub fn wait_until(&self, what: &str, is_true: impl Fn(&Screen) -> bool) {
        self.wait_while(what, |parser| !is_true(parser.screen()));
    }

    fn wait_while(&self, what: &str, waits: impl Fn(&mut Parser<Strange>) -> bool) {
        let parser = self.shown.parser();
        let waited = self.shown.changed.wait_timeout_while(parser, LIMIT, waits);
        let (parser, result) = waited.unwrap();
        assert!(
            !result.timed_out(),
            "this was waited for: {what}\n{}",
            parser.screen().contents()
        );
    }

    /// What came that no program should send.
    pub fn strange(&self) -> Vec<String> {
        self.shown.parser().callbacks().seen.clone()
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        let mut parser = self.shown.parser();
        parser.set_size(count(rows), count(columns));
        self.master.resize(size_of(columns, rows)).unwrap();
    }

    /// Wipes what is shown, so that what comes then is new.
    pub fn blank(&self) {
        self.shown.parser().process(b"\x1b[2J");
    }

    /// Sends a signal to the program.
    pub fn signal(&self, name: &str) {
        let id = self.child.process_id().unwrap().to_string();
        let status = Command::new("kill").args(["-s", name, &id]).status();
        assert!(status.unwrap().success());
    }

    /// Whether the terminal is as programs want to find it.
    pub fn is_given_back(screen: &Screen) -> bool {
        !screen.alternate_screen()
            && !screen.hide_cursor()
            && !screen.bracketed_paste()
            && screen.mouse_protocol_mode() == MouseProtocolMode::None
    }

    /// Waits until the program has ended, and all it wrote is shown.
    pub fn wait_exit(&mut self) -> ExitStatus {
        if self.is_shell {
            self.wait_while("the end of the lines", |parser| !parser.callbacks().is_over);
            self.press("\r");
        }
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < LIMIT, "no end\n{}", self.screen());
            thread::sleep(Duration::from_millis(5));
        };
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        status
    }

    /// Waits until the program has ended well, with the terminal given back.
    pub fn wait_end(&mut self) {
        let status = self.wait_exit();
        assert!(status.success(), "{status:?}\n{}", self.screen());
        let parser = self.shown.parser();
        assert!(Session::is_given_back(parser.screen()));
    }
}

impl Shown {
    fn parser(&self) -> MutexGuard<'_, Parser<Strange>> {
        self.parser.lock().unwrap()
    }

    /// Reads until the terminal has no other end any more.
    fn read(&self, mut source: Box<dyn Read + Send>) {
        let mut block = [0; 4096];
        loop {
            match source.read(&mut block) {
                Ok(read @ 1..) => self.parser().process(&block[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // Linux reports an error where no other end is left.
                Ok(0) | Err(_) => break,
            }
            self.changed.notify_all();
        }
    }
}

fn count(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

fn size_of(columns: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols: columns,
        ..PtySize::default()
    }
}
