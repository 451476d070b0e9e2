//! Answers that are written to a file, whole or not at all, by runs that may be interrupted.
//!
//! Beside the file `OUT` stands the folder `OUT.partial` until all is done. It has the answers in parts, each
//! of them whole, and in `state.json` what they are answers to, how many parts count, and where in the input they
//! end. A run that finds such a folder goes on from there. In the end the parts are joined.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use crate::printing;
use unjinja::files::ReadFault;
use unjinja::{Object, Value, json};

use crate::commands::{Failure, output};
use crate::{files, signals};

use super::reply::Answers;

/// A part is whole when it has so many rows or bytes.
const PART_ROWS: u64 = 1 << 16;
const PART_BYTES: usize = 64 << 20;

/// How answers are written into files.
pub(crate) trait AnswerFile {
    type Answers;
    /// A file that is being written.
    type Part;

    fn begin(&self, file: File) -> Result<Self::Part, String>;
    /// Returns how large the part is by now.
    fn write(&self, part: &mut Self::Part, answers: Self::Answers) -> Result<usize, String>;
    fn end(&self, part: Self::Part) -> Result<File, String>;
    /// Writes into one file what is in several, which may be none.
    ///
    /// There may be more of them than files may be open, so each is opened when its turn comes.
    fn join(
        &self,
        parts: impl Iterator<Item = io::Result<File>>,
        out: &mut File,
    ) -> Result<(), String>;
}

/// How far the work is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Done {
    /// How many rows are answered.
    pub(crate) rows: u64,
    /// Where in the input these end.
    pub(crate) end: u64,
    /// How many of them were none.
    pub(crate) faults: u64,
}

/// A part that is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Whole {
    /// How far the work is with this part and all before it.
    done: Done,
    /// What its file holds.
    sum: Sum,
}

/// What is known of the bytes of a file: files that disks or people have changed have another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sum {
    bytes: u64,
    crc32: u32,
}

impl Sum {
    /// Of a file's first bytes, up to so many.
    fn of(path: &Path, at_most: u64) -> io::Result<Sum> {
        let mut file = File::open(path)?.take(at_most);
        let mut sum = crc32fast::Hasher::new();
        let mut buffer = vec![0; 1 << 16];
        let mut bytes = 0;
        loop {
            let count = file.read(&mut buffer)?;
            if count == 0 {
                let crc32 = sum.finalize();
                return Ok(Sum { bytes, crc32 });
            }
            sum.update(&buffer[..count]);
            bytes += count as u64;
        }
    }
}

/// What becomes of parts that are there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Earlier {
    /// Those of the same task count. Those of another one are a reason to refuse.
    Kept,
    /// Those of the same task count. Those of another one go.
    KeptOrDiscarded,
    /// They go, since the input can't be read from the middle.
    Discarded,
}

/// A folder of parts.
pub(crate) struct Parts<F: AnswerFile> {
    folder: PathBuf,
    format: F,
    /// What the parts are answers to.
    task: Value,
    /// The parts that count.
    whole: Vec<Whole>,
    /// The part that is being written, with all that it would add to what is done.
    open: Option<(F::Part, Done)>,
    part_rows: u64,
    /// How long a part is written at the most, if it may be ended for that.
    part_time: Option<Duration>,
    /// When the part at hand was begun.
    begun: Instant,
    /// As long as it is open, no other run writes here.
    _lock: File,
}

/// The folder in which the parts of a file stand.
fn folder_of(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}

fn fail(place: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::Input(format!("{}: {error}", place.display()))
}

impl<F: AnswerFile> Parts<F> {
    /// Opens the folder beside a file, where parts may be already.
    pub(crate) fn open(
        out: &Path,
        task: Value,
        earlier: Earlier,
        format: F,
    ) -> Result<Parts<F>, Failure> {
        let folder = folder_of(out);
        fs::create_dir_all(&folder).map_err(|error| fail(&folder, error))?;
        let lock = File::create(folder.join("lock")).map_err(|error| fail(&folder, error))?;
        if let Err(fs::TryLockError::WouldBlock) = lock.try_lock() {
            return Err(fail(
                &folder,
                "another run writes here: wait for it, or choose another file with `-o FILE`",
            ));
        }
        let whole = match read_state(&folder)? {
            None => Vec::new(),
            Some(_) if earlier == Earlier::Discarded => Vec::new(),
            Some((known, whole)) if known == task => whole,
            Some(_) if earlier == Earlier::KeptOrDiscarded => Vec::new(),
            Some((known, _)) => {
                let other = difference(&known, &task);
                return Err(fail(
                    &folder,
                    format_args!(
                        "an interrupted run wrote here with different {other}: repeat its command to continue, or \
                         start over with `--force`"
                    ),
                ));
            }
        };
        let mut parts = Parts {
            folder,
            format,
            task,
            whole,
            open: None,
            part_rows: PART_ROWS,
            part_time: None,
            begun: Instant::now(),
            _lock: lock,
        };
        parts.forget_what_has_changed();
        // In this order: a state never counts parts that are gone.
        parts.keep_state()?;
        parts.remove_after(parts.whole.len());
        Ok(parts)
    }

    /// Keeps the parts up to the first that is not as it was left, and says so. Answers come in the order of their rows, so all
    /// behind it is done again, too.
    fn forget_what_has_changed(&mut self) {
        let is_as_left = |(number, part): (usize, &Whole)| {
            let sum = Sum::of(&self.part(number), part.sum.bytes + 1);
            sum.is_ok_and(|sum| sum == part.sum)
        };
        let kept = self.whole.iter().enumerate();
        let kept = kept.take_while(|&part| is_as_left(part)).count();
        if kept < self.whole.len() {
            let all = self.done().rows;
            self.whole.truncate(kept);
            printing::tell(format_args!(
                "warning: {}: this has changed since the run stopped: {} rows are done again\n",
                self.part(kept).display(),
                all - self.done().rows,
            ));
        }
    }

    /// What has been done, by this run and those before it.
    pub(crate) fn done(&self) -> Done {
        self.whole.last().map(|part| part.done).unwrap_or_default()
    }

    /// Lets parts end when they have been written for so long, where rows take their time.
    pub(crate) fn end_after(&mut self, time: Duration) {
        self.part_time = Some(time);
    }

    /// The files of the parts that count.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        (0..self.whole.len())
            .map(|number| self.part(number))
            .collect()
    }

    pub(crate) fn write(&mut self, answers: Answers<F::Answers>) -> Result<(), Failure> {
        let before = self.done();
        let path = self.part(self.whole.len());
        let (mut part, mut done) = match self.open.take() {
            Some(open) => open,
            None => {
                let file = File::create(&path).map_err(|error| fail(&path, error))?;
                self.begun = Instant::now();
                let part = self.format.begin(file);
                (part.map_err(|error| fail(&path, error))?, before)
            }
        };
        done.rows += answers.rows;
        done.end = answers.end;
        done.faults += answers.faults.len() as u64;
        let size = self
            .format
            .write(&mut part, answers.answers)
            .map_err(|error| fail(&path, error))?;
        let is_due = self
            .part_time
            .is_some_and(|time| self.begun.elapsed() >= time);
        let is_whole = done.rows - before.rows >= self.part_rows || size >= PART_BYTES || is_due;
        self.open = Some((part, done));
        if is_whole {
            self.end_part()?;
        }
        Ok(())
    }

    /// Ends the part that is being written. From now on it counts.
    fn end_part(&mut self) -> Result<(), Failure> {
        let Some((part, done)) = self.open.take() else {
            return Ok(());
        };
        let path = self.part(self.whole.len());
        let file = self.format.end(part).map_err(|error| fail(&path, error))?;
        file.sync_all().map_err(|error| fail(&path, error))?;
        let sum = Sum::of(&path, u64::MAX).map_err(|error| fail(&path, error))?;
        self.whole.push(Whole { done, sum });
        self.keep_state()
    }

    /// All has been answered: joins the parts to the file, and clears away.
    pub(crate) fn finish(mut self, out: &Path) -> Result<(), Failure> {
        self.end_part()?;
        let parts = (0..self.whole.len()).map(|number| {
            // The file that is begun goes, the parts stay.
            if signals::has_come() {
                return Err(io::Error::other("the run was interrupted"));
            }
            let path = self.part(number);
            File::open(&path)
                .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))
        });
        output::change_with(out, |file| {
            self.format.join(parts, file).map_err(io::Error::other)
        })?;
        // The file is there; what is left over would do no harm, as long as the state counts no parts that
        // are gone.
        self.whole.clear();
        if self.keep_state().is_err() {
            return Ok(());
        }
        self.remove_after(0);
        for name in ["state.json", "lock"] {
            let _ = fs::remove_file(self.folder.join(name));
        }
        let _ = fs::remove_dir(&self.folder);
        Ok(())
    }

    fn part(&self, number: usize) -> PathBuf {
        self.folder.join(format!("{number}.part"))
    }

    /// Removes all parts but so many. That one can't be removed is no reason to stop: it doesn't count.
    fn remove_after(&self, parts: usize) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_suffix(".part"));
            let number = number.and_then(|number| number.parse::<usize>().ok());
            if number.is_some_and(|number| number >= parts) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn keep_state(&self) -> Result<(), Failure> {
        let parts: Vec<Value> = self.whole.iter().map(|whole| whole.to_value()).collect();
        let state = Object::from_iter([("task", self.task.clone()), ("parts", parts.into())]);
        let text = output::pretty(&state.into());
        files::write_whole(&self.folder.join("state.json"), &text)
            .map(drop)
            .map_err(|error| Failure::Input(error.to_string()))
    }
}

/// The names of a part's numbers, in the order in which they are written.
const NUMBERS: [&str; 5] = ["rows", "end", "faults", "bytes", "crc32"];

impl Whole {
    fn to_value(self) -> Value {
        let Whole { done, sum } = self;
        let numbers = [
            done.rows,
            done.end,
            done.faults,
            sum.bytes,
            u64::from(sum.crc32),
        ];
        let members = NUMBERS.into_iter().zip(numbers);
        let part: Object = members
            .map(|(name, number)| (name, i64::try_from(number).unwrap_or(i64::MAX)))
            .collect();
        part.into()
    }

    fn from_value(value: &Value) -> Option<Whole> {
        let number = |name| json::write(value.get(name)?).parse::<u64>().ok();
        let [rows, end, faults, bytes, crc32] = NUMBERS.map(number);
        Some(Whole {
            done: Done {
                rows: rows?,
                end: end?,
                faults: faults?,
            },
            sum: Sum {
                bytes: bytes?,
                crc32: crc32?.try_into().ok()?,
            },
        })
    }
}

/// The task of the runs before, and the parts that are whole.
fn read_state(folder: &Path) -> Result<Option<(Value, Vec<Whole>)>, Failure> {
    let path = folder.join("state.json");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let is_ours = |name: &str| name == "lock" || name.starts_with(".unjinja-");
            let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
            if entries.all(|entry| is_ours(&entry.file_name().to_string_lossy())) {
                return Ok(None);
            }
            return Err(fail(
                folder,
                "this folder has other files: choose another file with `-o FILE`",
            ));
        }
        Err(error) => return Err(fail(&path, error)),
    };
    let read = || {
        let state = json::read(&text).ok()?;
        let parts = state.get("parts")?.as_array()?;
        let parts = parts.iter().map(Whole::from_value).collect::<Option<_>>()?;
        Some((state.get("task")?.clone(), parts))
    };
    match read() {
        Some(state) => Ok(Some(state)),
        None => Err(fail(
            &path,
            "this is not the state of an interrupted run: delete the folder to start over",
        )),
    }
}

/// In what two tasks differ, in words.
fn difference(known: &Value, task: &Value) -> String {
    let keys = task.as_object().into_iter().flat_map(|task| task.keys());
    let others: Vec<String> = keys
        .map(|key| key.to_string_lossy())
        .filter(|key| known.get(key) != task.get(key))
        .map(|key| key.into_owned())
        .collect();
    match others.is_empty() {
        true => "task".to_owned(),
        false => others.join(", "),
    }
}

/// What a file was when it was looked at: another size or another time of change is another file.
pub(crate) fn stamp(path: &Path) -> Result<Value, Failure> {
    let metadata = fs::metadata(path).map_err(|error| fail(path, ReadFault::from(error)))?;
    let changed = metadata.modified().map_err(|error| fail(path, error))?;
    let changed = changed.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut stamp = format!(
        "{} of {} bytes, changed {}.{:09} s after 1970 began",
        path.display(),
        metadata.len(),
        changed.as_secs(),
        changed.subsec_nanos(),
    );
    if metadata.is_dir() {
        let entries = fs::read_dir(path).map_err(|error| fail(path, error))?;
        let entries = entries.flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
        files.sort();
        for file in files {
            stamp += &format!("; {}", self::stamp(&file)?.as_str().unwrap_or_default());
        }
    }
    Ok(stamp.into())
}

#[cfg(test)]
mod tests {
    use tempfile::tempdir;

    use super::*;
    use crate::commands::batch::lines::LinesFormat;

    fn answers(text: &str, end: u64, faults: usize) -> Answers<String> {
        Answers {
            answers: text.to_owned(),
            rows: 1,
            end,
            faults: vec![String::new(); faults],
            warnings: Vec::new(),
        }
    }

    fn open(out: &Path, task: &str, earlier: Earlier) -> Result<Parts<LinesFormat>, String> {
        let task = Object::from_iter([("input", "a"), ("options", task)]);
        let parts = Parts::open(out, task.into(), earlier, LinesFormat);
        parts
            .map(|mut parts| {
                parts.part_rows = 2;
                parts
            })
            .map_err(|failure| failure.to_string())
    }

    #[test]
    fn what_is_whole_counts_for_the_next_run() {
        let folder = tempdir().expect("a folder");
        let out = folder.path().join("deep/out");
        let mut parts = open(&out, "a", Earlier::Kept).expect("is opened");
        for (text, end) in [
            ("a\n", 10),
            ("b\n", 20),
            ("c\n", 30),
            ("d\n", 40),
            ("e\n", 50),
        ] {
            parts.write(answers(text, end, 1)).expect("is written");
        }
        // The fifth is in no part that is whole.
        drop(parts);
        assert!(!out.exists());

        let mut parts = open(&out, "a", Earlier::Kept).expect("is opened");
        let done = parts.done();
        assert_eq!((done.rows, done.end, done.faults), (4, 40, 4));
        parts.write(answers("E\n", 50, 0)).expect("is written");
        parts.finish(&out).expect("is finished");
        let text = fs::read_to_string(&out).expect("is there");
        assert_eq!(text, "a\nb\nc\nd\nE\n");
        assert!(!folder_of(&out).exists());
    }

    /// What is left of five parts when one of them is changed, how many rows count then, and the file that comes of it.
    fn gone_on_with(change: impl FnOnce(&Path)) -> (u64, String) {
        let folder = tempdir().expect("a folder");
        let out = folder.path().join("out");
        let lines = ["a\n", "b\n", "c\n", "d\n", "e\n", "f\n"];
        let mut parts = open(&out, "a", Earlier::Kept).expect("is opened");
        for (text, end) in lines.into_iter().zip(1..) {
            parts.write(answers(text, end, 0)).expect("is written");
        }
        drop(parts);
        change(&folder_of(&out));
        let mut parts = open(&out, "a", Earlier::Kept).expect("is opened");
        let done = parts.done();
        for (text, end) in lines.into_iter().zip(1..).skip(done.end as usize) {
            parts.write(answers(text, end, 0)).expect("is written");
        }
        parts.finish(&out).expect("is finished");
        (done.rows, fs::read_to_string(&out).expect("is there"))
    }

    #[test]
    fn a_part_that_is_not_as_it_was_left_is_done_again_with_all_behind_it() {
        let overwrite = |name: &'static str, text: &'static str| {
            move |folder: &Path| fs::write(folder.join(name), text).expect("is written")
        };
        let all = "a\nb\nc\nd\ne\nf\n".to_owned();
        assert_eq!(gone_on_with(|_| ()), (6, all.clone()));
        for (name, text, kept) in [
            ("0.part", "a\n", 0),
            ("0.part", "", 0),
            ("1.part", "c\nD\n", 2),
            ("1.part", "c\nd\n\n", 2),
            ("2.part", "e\nf\nmore than was there", 4),
        ] {
            let found = gone_on_with(overwrite(name, text));
            assert_eq!(found, (kept, all.clone()), "{name}: {text:?}");
        }
        let gone = gone_on_with(|folder| {
            fs::remove_file(folder.join("1.part")).expect("is removed");
        });
        assert_eq!(gone, (2, all));
    }

    #[test]
    fn a_task_without_rows_is_an_empty_file() {
        let folder = tempdir().expect("a folder");
        let out = folder.path().join("out");
        let parts = open(&out, "a", Earlier::Kept).expect("is opened");
        parts.finish(&out).expect("is finished");
        assert_eq!(fs::read_to_string(&out).expect("is there"), "");
    }

    #[test]
    fn another_task_needs_force() {
        let folder = tempdir().expect("a folder");
        let out = folder.path().join("out");
        let mut parts = open(&out, "a", Earlier::Kept).expect("is opened");
        for text in ["a\n", "b\n"] {
            parts.write(answers(text, 10, 0)).expect("is written");
        }
        drop(parts);
        let refusal = open(&out, "b", Earlier::Kept).err().expect("is refused");
        assert!(refusal.contains("different options: repeat"), "{refusal}");
        let parts = open(&out, "b", Earlier::KeptOrDiscarded).expect("is opened");
        assert_eq!(parts.done(), Done::default());
        let refusal = open(&out, "b", Earlier::KeptOrDiscarded)
            .err()
            .expect("is locked");
        assert!(refusal.contains("another run writes here"), "{refusal}");
    }

    #[test]
    fn what_can_not_be_gone_on_with_is_begun_anew() {
        let folder = tempdir().expect("a folder");
        let out = folder.path().join("out");
        let mut parts = open(&out, "a", Earlier::Discarded).expect("is opened");
        for text in ["a\n", "b\n"] {
            parts.write(answers(text, 10, 0)).expect("is written");
        }
        drop(parts);
        let mut parts = open(&out, "a", Earlier::Discarded).expect("is opened");
        assert_eq!(parts.done(), Done::default());
        parts.write(answers("c\n", 10, 0)).expect("is written");
        parts.finish(&out).expect("is finished");
        assert_eq!(fs::read_to_string(&out).expect("is there"), "c\n");
    }

    #[test]
    fn parts_that_do_not_count_go() {
        let folder = tempdir().expect("a folder");
        let out = folder.path().join("out");
        let mut parts = open(&out, "a", Earlier::Kept).expect("is opened");
        for text in ["a\n", "b\n", "c\n", "d\n", "e\n"] {
            parts.write(answers(text, 10, 0)).expect("is written");
        }
        drop(parts);
        let theirs = folder_of(&out).join("theirs");
        fs::write(&theirs, "").expect("is written");

        let parts = open(&out, "b", Earlier::KeptOrDiscarded).expect("is opened");
        assert!((0..3).all(|number| !parts.part(number).exists()));
        // A run that was ended while it cleared away, as the first part went before the others.
        fs::write(parts.part(2), "c\n").expect("is written");
        drop(parts);
        let mut parts = open(&out, "b", Earlier::Kept).expect("is opened");
        parts.write(answers("f\n", 10, 0)).expect("is written");
        parts.finish(&out).expect("is finished");
        assert_eq!(fs::read_to_string(&out).expect("is there"), "f\n");
        let left = fs::read_dir(folder_of(&out)).expect("is there");
        let left: Vec<PathBuf> = left.flatten().map(|entry| entry.path()).collect();
        assert_eq!(left, [theirs]);
    }

    #[test]
    fn folders_of_others_stay_as_they_are() {
        let folder = tempdir().expect("a folder");
        let out = folder.path().join("out");
        fs::create_dir(folder_of(&out)).expect("a folder");
        let theirs = folder_of(&out).join("0.part");
        fs::write(&theirs, "mine").expect("is written");
        let refusal = open(&out, "a", Earlier::KeptOrDiscarded)
            .err()
            .expect("is refused");
        assert!(refusal.contains("has other files"), "{refusal}");
        assert_eq!(fs::read_to_string(&theirs).expect("is there"), "mine");

        let state = folder_of(&out).join("state.json");
        fs::write(state, "{}").expect("is written");
        let refusal = open(&out, "a", Earlier::KeptOrDiscarded)
            .err()
            .expect("is refused");
        assert!(refusal.contains("delete the folder"), "{refusal}");
    }
}
