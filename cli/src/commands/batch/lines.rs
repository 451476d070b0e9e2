//! JSON lines: one object a line in, one a line out.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::string::FromUtf8Error;

use unjinja::files::ReadFault;
use unjinja::{Object, Value, json};

use crate::commands::{Failure, input};

use super::columns::Columns;
use super::parts::AnswerFile;
use super::reply::{Answers, Members, Reply};

/// How many lines a thread takes at a time, unless they are long.
const BATCH_LINES: usize = 32;
/// How many bytes a batch has at the most, unless a single line has more.
const BATCH_BYTES: usize = 1 << 20;
/// The longest line that is read.
const MAX_LINE: u64 = 64 << 20;

/// A file of lines, or the standard input.
pub(crate) struct Lines {
    source: BufReader<Box<dyn Read + Send>>,
    name: String,
    is_lossy: bool,
    /// The number of the next line, from 1.
    line: u64,
    /// Where it begins.
    position: u64,
    /// How many bytes there are, if that is known.
    pub(super) size: Option<u64>,
}

/// Lines that follow each other.
pub(super) struct Batch {
    /// The number of the first line.
    first_line: u64,
    lines: Vec<Result<String, LineFault>>,
    /// Where the last one ends.
    end: u64,
}

/// Why a line can't be read as text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LineFault {
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

impl Lines {
    /// Opens a file, behind what was read before: so many lines, and so many bytes.
    pub(crate) fn open(
        path: &Path,
        is_lossy: bool,
        (lines, bytes): (u64, u64),
    ) -> Result<Lines, Failure> {
        let name = input::name(path);
        let fail = |error: io::Error| Failure::Input(format!("{name}: {}", ReadFault::from(error)));
        let mut size = None;
        let source: Box<dyn Read + Send> = if path == Path::new("-") {
            Box::new(io::stdin())
        } else {
            let mut file = File::open(path).map_err(fail)?;
            let metadata = file.metadata().map_err(fail)?;
            size = metadata.is_file().then_some(metadata.len());
            if bytes > 0 {
                file.seek(SeekFrom::Start(bytes)).map_err(fail)?;
            }
            Box::new(file)
        };
        Ok(Lines {
            source: BufReader::with_capacity(256 << 10, source),
            name,
            is_lossy,
            line: lines + 1,
            position: bytes,
            size,
        })
    }

    pub(super) fn next_batch(&mut self) -> Result<Option<Batch>, Failure> {
        let first_line = self.line;
        let mut lines = Vec::new();
        let mut size = 0;
        while lines.len() < BATCH_LINES && size < BATCH_BYTES {
            let Some(line) = self.next_line()? else {
                break;
            };
            size += line.as_ref().map_or(0, String::len);
            lines.push(line);
            // What has come is answered before more is waited for.
            if !self.source.buffer().contains(&b'\n') {
                break;
            }
        }
        let end = self.position;
        Ok((!lines.is_empty()).then_some(Batch {
            first_line,
            lines,
            end,
        }))
    }

    /// How many lines a file has.
    pub(crate) fn count(path: &Path) -> Result<u64, Failure> {
        let name = path.display();
        let fail = |error: io::Error| Failure::Input(format!("{name}: {}", ReadFault::from(error)));
        let mut file = File::open(path).map_err(fail)?;
        let mut buffer = vec![0; 256 << 10];
        let (mut lines, mut last) = (0, b'\n');
        loop {
            let length = file.read(&mut buffer).map_err(fail)?;
            let Some(&end) = buffer[..length].last() else {
                return Ok(lines + u64::from(last != b'\n'));
            };
            last = end;
            lines += memchr::memchr_iter(b'\n', &buffer[..length]).count() as u64;
        }
    }

    /// What the line that was read last is called.
    pub(crate) fn place(&self) -> String {
        format!("{}:{}", self.name, self.line - 1)
    }

    /// The next line.
    pub(crate) fn next_line(&mut self) -> Result<Option<Result<String, LineFault>>, Failure> {
        let (line, length) = read_line(&mut self.source, self.is_lossy, self.line == 1)
            .map_err(|error| Failure::Input(format!("{}: {error}", self.name)))?;
        self.line += u64::from(line.is_some());
        self.position += length;
        Ok(line)
    }
}

/// The next line, if there is one, and how many bytes it takes with its end.
fn read_line(
    source: &mut impl BufRead,
    is_lossy: bool,
    is_first: bool,
) -> io::Result<(Option<Result<String, LineFault>>, u64)> {
    let mut line = Vec::new();
    let mut limited = source.by_ref().take(MAX_LINE + 1);
    let mut length = limited.read_until(b'\n', &mut line)? as u64;
    if length == 0 {
        return Ok((None, 0));
    }
    if length > MAX_LINE {
        if line.last() != Some(&b'\n') {
            length += source.skip_until(b'\n')? as u64;
        }
        return Ok((Some(Err(LineFault::TooLong)), length));
    }
    while line.pop_if(|byte| matches!(byte, b'\n' | b'\r')).is_some() {}
    // Some editors begin files with it.
    if is_first && line.starts_with("\u{feff}".as_bytes()) {
        line.drain(.."\u{feff}".len());
    }
    if is_lossy {
        let line = String::from_utf8_lossy(&line).into_owned();
        return Ok((Some(Ok(line)), length));
    }
    let text = String::from_utf8(line);
    let fault = |error: FromUtf8Error| LineFault::NotUtf8(error.utf8_error().valid_up_to());
    Ok((Some(text.map_err(fault)), length))
}

/// What each line of a batch is answered with.
pub(super) struct Answering<'a, W> {
    pub(super) name: &'a str,
    pub(super) columns: &'a Columns,
    /// Whether lines that are no objects have an answer, too.
    pub(super) keeps_faults: bool,
    pub(super) work: W,
}

impl<W: Fn(&Object) -> Reply> Answering<'_, W> {
    pub(super) fn answer(&self, batch: &Batch) -> Answers<String> {
        let mut answers = Answers {
            answers: String::new(),
            rows: batch.lines.len() as u64,
            end: batch.end,
            faults: Vec::new(),
            warnings: Vec::new(),
        };
        for (line, number) in batch.lines.iter().zip(batch.first_line..) {
            let line = match line {
                Ok(line) if line.trim().is_empty() => continue,
                Ok(line) => object(line),
                Err(fault) => Err((None, fault.to_string())),
            };
            match line {
                Ok(object) => self.answer_object(object, number, &mut answers),
                Err((column, fault)) => {
                    let name = self.name;
                    let place = column.map_or_else(String::new, |column| format!(":{column}"));
                    let fault = format!("{number}{place}: {fault}");
                    if self.keeps_faults {
                        let mut at = Members::default();
                        at.insert("id", Value::Null);
                        at.insert("line", i64::try_from(number).unwrap_or(i64::MAX));
                        push(&mut answers.answers, &at, &Reply::of_fault(fault.as_str()));
                    }
                    answers.faults.push(format!("{name}:{fault}"));
                }
            }
        }
        answers
    }

    fn answer_object(&self, mut object: Object, number: u64, answers: &mut Answers<String>) {
        let (kept, missing) = self.columns.apply(&mut object);
        let reply = match missing {
            Some(missing) => Reply::of_fault(missing),
            None => (self.work)(&object),
        };
        push(&mut answers.answers, &kept, &reply);
        let warnings = reply.warnings.into_iter();
        answers
            .warnings
            .extend(warnings.map(|warning| (number, warning)));
    }
}

/// The object in a line; or else in which column it is wrong, and why.
fn object(line: &str) -> Result<Object, (Option<usize>, String)> {
    match json::read(line) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(other) => {
            let kind = other.type_name();
            Err((None, format!("expected an object, found {kind}")))
        }
        Err(error) => {
            let fault = format!("this is not JSON: {}", error.kind());
            Err((Some(error.column()), fault))
        }
    }
}

fn push(out: &mut String, kept: &Members, reply: &Reply) {
    for part in ["{", kept.json(), ",", reply.answer.json(), "}\n"] {
        out.push_str(part);
    }
}

/// How parts of lines are written.
pub(crate) struct LinesFormat;

impl AnswerFile for LinesFormat {
    type Answers = String;
    type Part = (BufWriter<File>, usize);

    fn begin(&self, file: File) -> Result<Self::Part, String> {
        Ok((BufWriter::new(file), 0))
    }

    fn write(&self, (out, size): &mut Self::Part, answers: String) -> Result<usize, String> {
        out.write_all(answers.as_bytes())
            .map_err(|error| error.to_string())?;
        *size += answers.len();
        Ok(*size)
    }

    fn end(&self, (out, _): Self::Part) -> Result<File, String> {
        out.into_inner().map_err(|error| error.to_string())
    }

    fn join(
        &self,
        parts: impl Iterator<Item = io::Result<File>>,
        out: &mut File,
    ) -> Result<(), String> {
        for part in parts {
            part.and_then(|mut part| io::copy(&mut part, out))
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_opened_one_after_the_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        let mut out = File::create(&path).expect("is made");
        let part = folder.path().join("0.part");
        std::fs::write(&part, "a\n").expect("is written");
        let parts = (0..3).map(|number| {
            let written = std::fs::read_to_string(&path).expect("is there");
            assert_eq!(written, "a\n".repeat(number));
            File::open(&part)
        });
        LinesFormat.join(parts, &mut out).expect("is joined");
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over() {
        let long = io::repeat(b'x').take(MAX_LINE + 100);
        let mut source = BufReader::new(long.chain("\n{}\n".as_bytes()));
        let mut next = || read_line(&mut source, false, true).map_err(|_| ());
        let length = MAX_LINE + 101;
        assert_eq!(next(), Ok((Some(Err(LineFault::TooLong)), length)));
        assert_eq!(next(), Ok((Some(Ok("{}".to_owned())), 3)));
        assert_eq!(next(), Ok((None, 0)));
    }
}
