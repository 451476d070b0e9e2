//! Batches: one JSON object a line in, one a line out, in the same order, on all cores.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal, Read, Write};
use std::path::Path;
use std::string::FromUtf8Error;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use unjinja::{Object, Value, json};

use super::{Failure, input};

/// How many lines a thread takes at a time, unless they are long.
const BATCH_LINES: usize = 32;
/// How many bytes a batch has at the most, unless a single line has more.
const BATCH_BYTES: usize = 1 << 20;
/// The longest line that is read.
const MAX_LINE: u64 = 64 << 20;
/// How many batches are in memory for each thread: that bounds what is held of a long input.
const BATCHES_PER_THREAD: usize = 4;

struct Batch {
    number: usize,
    /// The number of the first line, from 1.
    first_line: usize,
    lines: Vec<Result<String, LineFault>>,
}

/// Why a line can't be read as text.
#[derive(Debug, PartialEq, Eq)]
enum LineFault {
    /// Where its bytes are no characters.
    NotUtf8(usize),
    /// It is longer than any line that is read.
    TooLong,
}

impl fmt::Display for LineFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineFault::NotUtf8(offset) => {
                write!(f, "byte {offset} of the line is not valid UTF-8")
            }
            LineFault::TooLong => {
                write!(f, "the line is longer than {} MiB", MAX_LINE >> 20)
            }
        }
    }
}

/// The members of an object, as they are written.
#[derive(Default)]
pub(crate) struct Members {
    json: String,
}

impl Members {
    /// Adds a member, of which there is none yet.
    pub(crate) fn insert(&mut self, key: &str, value: impl Into<Value>) {
        json::write_into(self.begin(key), &value.into(), &json::Style::COMPACT);
    }

    /// The same with a value that is written already.
    pub(crate) fn insert_written(&mut self, key: &str, value: &str) {
        self.begin(key).push_str(value);
    }

    /// Adds the members of an object.
    pub(crate) fn extend(&mut self, object: Object) {
        for (key, value) in object {
            self.insert(&key.to_string_lossy(), value);
        }
    }

    fn begin(&mut self, key: &str) -> &mut String {
        if !self.json.is_empty() {
            self.json.push(',');
        }
        json::write_str(&mut self.json, key, false);
        self.json.push(':');
        &mut self.json
    }
}

/// What comes of a line.
#[derive(Default)]
pub(crate) struct Reply {
    pub(crate) answer: Members,
    /// What the command would warn of, were the line all that it is given.
    pub(crate) warnings: Vec<String>,
}

/// Answers every line of a file (`-` is standard input) with a line.
///
/// `work` answers one line's object; what it returns is written with the line's `id`. A line that
/// is no JSON object is reported on standard error, and makes the batch a failure in the end.
///
/// Warnings are reported with their line. One that comes again is counted, and the count is reported in the
/// end.
pub(crate) fn run(
    path: &Path,
    is_lossy: bool,
    work: impl Fn(&Object) -> Reply + Sync,
) -> Result<(), Failure> {
    let source: Box<dyn Read + Send> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        let file = std::fs::File::open(path)
            .map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
        Box::new(file)
    };
    let name = input::name(path);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let window = threads * BATCHES_PER_THREAD;
    let (batch_sender, batches) = sync_channel::<Batch>(window);
    let (answer_sender, answers) = sync_channel::<(usize, Answers)>(window);
    // A batch is read for a ticket, and the ticket comes back when its answers are written.
    let (ticket_sender, tickets) = sync_channel::<()>(window);
    for _ in 0..window {
        let _ = ticket_sender.send(());
    }
    let batches = Mutex::new(batches);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| read_batches(source, (&name, is_lossy), tickets, batch_sender));
        for _ in 0..threads {
            let answer_sender = answer_sender.clone();
            let (batches, name, work) = (&batches, &name, &work);
            scope.spawn(move || {
                while let Some(batch) = next(batches) {
                    let answers = answer(name, &batch, work);
                    if answer_sender.send((batch.number, answers)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(answer_sender);
        let written = write_answers(answers, ticket_sender, &name);
        let read = reader
            .join()
            .map_err(|_| Failure::Input(format!("{name}: reading it failed")))?;
        let faults = written?;
        read?;
        match faults {
            0 => Ok(()),
            1 => Err(Failure::Input(format!("{name}: a line could not be read"))),
            faults => Err(Failure::Input(format!(
                "{name}: {faults} lines could not be read"
            ))),
        }
    })
}

fn next(batches: &Mutex<Receiver<Batch>>) -> Option<Batch> {
    batches.lock().ok()?.recv().ok()
}

fn read_batches(
    source: impl Read,
    (name, is_lossy): (&str, bool),
    tickets: Receiver<()>,
    batches: SyncSender<Batch>,
) -> Result<(), Failure> {
    let mut source = BufReader::with_capacity(256 << 10, source);
    let (mut number, mut line_number) = (0, 1);
    while tickets.recv().is_ok() {
        let mut batch = Batch {
            number,
            first_line: line_number,
            lines: Vec::new(),
        };
        let mut size = 0;
        let mut ended = false;
        while batch.lines.len() < BATCH_LINES && size < BATCH_BYTES {
            let Some(line) = read_line(&mut source, (name, is_lossy), line_number)? else {
                ended = true;
                break;
            };
            size += line.as_ref().map_or(0, String::len);
            line_number += 1;
            batch.lines.push(line);
            // What has come is answered before more is waited for.
            if !source.buffer().contains(&b'\n') {
                break;
            }
        }
        number += 1;
        if (!batch.lines.is_empty() && batches.send(batch).is_err()) || ended {
            break;
        }
    }
    Ok(())
}

fn read_line(
    source: &mut impl BufRead,
    (name, is_lossy): (&str, bool),
    number: usize,
) -> Result<Option<Result<String, LineFault>>, Failure> {
    let mut line = Vec::new();
    let fail = |error| Failure::Input(format!("{name}: {error}"));
    let mut limited = source.by_ref().take(MAX_LINE + 1);
    match limited.read_until(b'\n', &mut line) {
        Err(error) => Err(fail(error)),
        Ok(0) => Ok(None),
        Ok(read) if read as u64 > MAX_LINE => {
            if line.last() != Some(&b'\n') {
                source.skip_until(b'\n').map_err(fail)?;
            }
            Ok(Some(Err(LineFault::TooLong)))
        }
        Ok(_) => {
            while line.pop_if(|byte| matches!(byte, b'\n' | b'\r')).is_some() {}
            // Some editors begin files with it.
            if number == 1 && line.starts_with("\u{feff}".as_bytes()) {
                line.drain(.."\u{feff}".len());
            }
            if is_lossy {
                return Ok(Some(Ok(String::from_utf8_lossy(&line).into_owned())));
            }
            let text = String::from_utf8(line);
            let fault = |error: FromUtf8Error| LineFault::NotUtf8(error.utf8_error().valid_up_to());
            Ok(Some(text.map_err(fault)))
        }
    }
}

/// What came of a batch.
struct Answers {
    text: String,
    lines: usize,
    /// Lines that are no JSON object, each with the reason.
    faults: Vec<String>,
    /// Each with the number of its line.
    warnings: Vec<(usize, String)>,
}

fn answer(name: &str, batch: &Batch, work: &impl Fn(&Object) -> Reply) -> Answers {
    let mut answers = Answers {
        text: String::new(),
        lines: batch.lines.len(),
        faults: Vec::new(),
        warnings: Vec::new(),
    };
    for (index, line) in batch.lines.iter().enumerate() {
        let place = batch.first_line + index;
        let line = match line {
            Ok(line) if line.trim().is_empty() => continue,
            Ok(line) => line,
            Err(fault) => {
                answers.faults.push(format!("{name}:{place}: {fault}"));
                continue;
            }
        };
        let object = match json::read(line) {
            Ok(Value::Object(object)) => object,
            Ok(other) => {
                let kind = other.type_name();
                let fault = format!("{name}:{place}: expected an object, found {kind}");
                answers.faults.push(fault);
                continue;
            }
            Err(error) => {
                let (column, kind) = (error.column(), error.kind());
                let fault = format!("{name}:{place}:{column}: this is not JSON: {kind}");
                answers.faults.push(fault);
                continue;
            }
        };
        let mut id = Members::default();
        id.insert("id", object.get("id").cloned().unwrap_or_default());
        let reply = work(&object);
        let warnings = reply.warnings.into_iter();
        answers
            .warnings
            .extend(warnings.map(|warning| (place, warning)));
        for part in ["{", &id.json, ",", &reply.answer.json, "}\n"] {
            answers.text.push_str(part);
        }
    }
    answers
}

/// Writes answers in the order of their lines; returns how many lines could not be read.
fn write_answers(
    answers: Receiver<(usize, Answers)>,
    tickets: SyncSender<()>,
    name: &str,
) -> Result<usize, Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    let mut faults = 0;
    let mut progress = Progress::new();
    let mut warnings = Warnings::default();
    loop {
        let received = match answers.try_recv() {
            Ok(received) => Some(received),
            Err(TryRecvError::Disconnected) => None,
            Err(TryRecvError::Empty) => {
                // Nobody is kept waiting for what is answered.
                if has_gone(out.flush())? {
                    return Ok(faults);
                }
                answers.recv().ok()
            }
        };
        let Some((number, batch)) = received else {
            break;
        };
        waiting.insert(number, batch);
        while let Some(answers) = waiting.remove(&next) {
            next += 1;
            let written = out.write_all(answers.text.as_bytes());
            for fault in &answers.faults {
                progress.clear();
                super::print_error(format_args!("error: {fault}\n"));
            }
            faults += answers.faults.len();
            for (line, warning) in answers.warnings {
                if warnings.is_new(line, &warning) {
                    progress.clear();
                    super::print_error(format_args!("warning: {name}:{line}: {warning}\n"));
                }
            }
            if has_gone(written)? {
                return Ok(faults);
            }
            progress.add(answers.lines);
            // Nobody takes the ticket when all has been read.
            let _ = tickets.send(());
        }
    }
    progress.clear();
    has_gone(out.flush())?;
    warnings.report_repeated(name);
    Ok(faults)
}

/// The warnings that have been reported: batches are long, and their lines alike.
#[derive(Default)]
struct Warnings {
    /// Each with its first line, and how often it has come again.
    known: BTreeMap<String, (usize, usize)>,
}

impl Warnings {
    /// So many different ones are counted. Of others each is reported.
    const COUNTED: usize = 1000;

    fn is_new(&mut self, line: usize, warning: &str) -> bool {
        if let Some((_, again)) = self.known.get_mut(warning) {
            *again += 1;
            return false;
        }
        if self.known.len() < Self::COUNTED {
            self.known.insert(warning.to_owned(), (line, 0));
        }
        true
    }

    fn report_repeated(&self, name: &str) {
        let known = self.known.iter();
        let known = known.map(|(warning, (line, again))| (line, again, warning));
        let mut repeated: Vec<_> = known.filter(|(_, again, _)| **again > 0).collect();
        repeated.sort();
        for (line, again, warning) in repeated {
            let lines = match again {
                1 => "1 more line".to_owned(),
                count => format!("{count} more lines"),
            };
            super::print_error(format_args!(
                "warning: {name}: {lines} as line {line}: {warning}\n"
            ));
        }
    }
}

/// Whether the reader of the answers has gone. Nobody wants more of them, and what was found until then
/// counts.
fn has_gone(written: io::Result<()>) -> Result<bool, Failure> {
    match written.map_err(Failure::printing) {
        Err(Failure::Closed) => Ok(true),
        written => written.map(|()| false),
    }
}

/// A line on the terminal that says how far the work is.
struct Progress {
    lines: usize,
    shown: Option<Instant>,
    is_terminal: bool,
}

impl Progress {
    const EVERY: Duration = Duration::from_millis(100);

    fn new() -> Progress {
        Progress {
            lines: 0,
            shown: None,
            // Where the answers go to the terminal, they are progress enough.
            is_terminal: io::stderr().is_terminal() && !io::stdout().is_terminal(),
        }
    }

    fn add(&mut self, lines: usize) {
        self.lines += lines;
        let due = self
            .shown
            .is_none_or(|shown| shown.elapsed() >= Self::EVERY);
        if self.is_terminal && due {
            super::print_error(format_args!("\r{} lines", self.lines));
            self.shown = Some(Instant::now());
        }
    }

    fn clear(&mut self) {
        if self.shown.take().is_some() {
            super::print_error(format_args!("\r\x1b[K"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_passed_over() {
        let long = io::repeat(b'x').take(MAX_LINE + 100);
        let mut source = BufReader::new(long.chain("\n{}\n".as_bytes()));
        let mut next = || read_line(&mut source, ("", false), 1).map_err(|_| ());
        assert_eq!(next(), Ok(Some(Err(LineFault::TooLong))));
        assert_eq!(next(), Ok(Some(Ok("{}".to_owned()))));
        assert_eq!(next(), Ok(None));
    }
}
