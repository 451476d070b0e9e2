//! Checking many fixtures, or files of outputs, on all cores.

use std::collections::VecDeque;
use std::iter::FusedIterator;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::position::Position;
use crate::response::ResponseTemplate;

use super::case::Failure;
use super::fixture::{Case, Fixture, FixtureError};
use super::outputs::{OutputReader, outputs};
use super::regions::{MarkedText, regions};
use super::stopwatch::Stopwatch;

/// How fixtures are to be checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckOptions {
    /// What random cuts go by.
    pub seed: u64,
    /// Checks only cases of which `FILE: NAME` has this text in it.
    pub filter: Option<String>,
    /// Begins no further case when one has failed.
    pub fail_fast: bool,
}

impl CheckOptions {
    /// Sets what random cuts go by.
    pub fn seed(mut self, seed: u64) -> CheckOptions {
        self.seed = seed;
        self
    }

    /// Checks only cases of which `FILE: NAME` has this text in it.
    pub fn filter(mut self, filter: impl Into<String>) -> CheckOptions {
        self.filter = Some(filter.into());
        self
    }

    /// Sets whether no further case begins when one has failed.
    pub fn fail_fast(mut self, fail_fast: bool) -> CheckOptions {
        self.fail_fast = fail_fast;
        self
    }

    /// Whether a case is to be checked.
    pub(super) fn selects(&self, path: &Path, name: &str) -> bool {
        let Some(filter) = &self.filter else {
            return true;
        };
        format!("{}: {name}", path.display()).contains(filter.as_str())
    }
}

/// What came of checking some fixtures.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Each file of which something was checked, in the order in which they were given.
    pub files: Vec<FileReport>,
    /// What random cuts went by.
    pub seed: u64,
    /// How long it took.
    pub elapsed: Duration,
}

/// What came of one file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FileReport {
    /// The file.
    pub path: PathBuf,
    /// Its cases, those that were checked, or why it could not be read.
    pub cases: Result<Vec<CaseReport>, FixtureError>,
}

/// What came of one case.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CaseReport {
    /// Its name.
    pub name: String,
    /// Where it stands in its file.
    pub position: Position,
    /// Where each key stands under which something is expected.
    pub expectations: Vec<(&'static str, Position)>,
    /// All that is wrong with it.
    pub failures: Vec<Failure>,
    /// Where something is wrong with an output: the text, region by region.
    pub text: Option<MarkedText>,
    /// How long it took.
    pub elapsed: Duration,
}

impl Report {
    /// The files that could not be read.
    pub fn unreadable(&self) -> Unreadable<'_> {
        Unreadable(self.files.iter())
    }

    /// All cases that were checked, with their files.
    pub fn cases(&self) -> CheckedCases<'_> {
        CheckedCases {
            files: self.files.iter(),
            current: None,
        }
    }

    /// How many cases failed.
    pub fn failed(&self) -> usize {
        self.cases().filter(|(_, case)| !case.passed()).count()
    }
}

/// The files of a report that could not be read: see [`Report::unreadable`].
#[derive(Debug, Clone)]
pub struct Unreadable<'r>(slice::Iter<'r, FileReport>);

impl<'r> Iterator for Unreadable<'r> {
    type Item = &'r FixtureError;

    fn next(&mut self) -> Option<&'r FixtureError> {
        self.0.find_map(|file| file.cases.as_ref().err())
    }
}

impl FusedIterator for Unreadable<'_> {}

/// The cases of a report, with their files: see [`Report::cases`].
#[derive(Debug, Clone)]
pub struct CheckedCases<'r> {
    /// The files that come next.
    files: slice::Iter<'r, FileReport>,
    /// The file that has begun, and the cases that are left of it.
    current: Option<(&'r FileReport, slice::Iter<'r, CaseReport>)>,
}

impl<'r> Iterator for CheckedCases<'r> {
    type Item = (&'r FileReport, &'r CaseReport);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((file, cases)) = &mut self.current
                && let Some(case) = cases.next()
            {
                return Some((file, case));
            }
            let file = self.files.next()?;
            self.current = Some((file, file.cases.as_deref().unwrap_or_default().iter()));
        }
    }
}

impl FusedIterator for CheckedCases<'_> {}

impl CaseReport {
    /// Where that stands which a failure is about: the expectation that is not met, or the case.
    pub fn position_of(&self, failure: &Failure) -> Position {
        let keys: &[&str] = match failure {
            Failure::Events { .. } => &["events"],
            Failure::Message { .. } | Failure::NotParsed(_) => &["message", "events"],
            Failure::Parsed { .. } | Failure::OtherError { .. } => &["error"],
            Failure::Reads { .. } | Failure::NotRead(_) => &["reads"],
            Failure::Written { .. } | Failure::NotMasked(_) => &["written"],
            _ => &[],
        };
        let mut places = keys.iter().filter_map(|key| {
            let all = self.expectations.iter();
            all.filter(|(known, _)| known == key)
                .map(|(_, place)| *place)
                .next()
        });
        places.next().unwrap_or(self.position)
    }

    /// Whether all is as expected.
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }

    /// What has become of an output, with its regions, if something is wrong.
    fn of_output(case: &Case, template: &ResponseTemplate, failures: Vec<Failure>) -> CaseReport {
        let text = (!failures.is_empty())
            .then(|| regions(template, &case.tools, &case.prefix, &case.output));
        CaseReport {
            name: case.name.clone(),
            position: case.position,
            expectations: case.expectations.clone(),
            failures,
            text,
            elapsed: Duration::ZERO,
        }
    }
}

/// Checks all cases of some fixtures, each many times: whole, byte by byte, character by
/// character, and in random pieces.
///
/// ```
/// use unjinja::check::{CheckOptions, check};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("greeting.fixture.yaml");
/// std::fs::write(&path, "
/// response_template: {start_anchor: <bot>, fields: {content: {close: <end>}}}
/// cases:
///   - {name: right, output: Hello!<end>, message: {content: Hello!}}
///   - {name: wrong, output: Hello!<end>, message: {content: Goodbye!}}
/// ")?;
/// let report = check(&[path], &CheckOptions::default());
/// assert_eq!(report.cases().count(), 2);
/// assert_eq!(report.failed(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(paths: &[PathBuf], options: &CheckOptions) -> Report {
    checked(paths, None, options)
}

/// Checks all cases of some files, on all cores: of fixtures, or of outputs, if there is a reader for them.
pub(super) fn checked(
    paths: &[PathBuf],
    reader: Option<&OutputReader>,
    options: &CheckOptions,
) -> Report {
    let start = Stopwatch::start();
    let work = Work::new(paths, reader, options);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| work.work());
        }
    });
    Report {
        files: work.into_reports(),
        seed: options.seed,
        elapsed: start.elapsed(),
    }
}

/// A file that has been read.
enum Loaded<'w> {
    Fixture(Box<Fixture>),
    Outputs(&'w OutputReader, Vec<Case>),
}

impl Loaded<'_> {
    /// The names of all cases, and which they are.
    fn names(&self) -> Vec<(&str, Which)> {
        match self {
            Loaded::Fixture(fixture) => {
                let outputs = (0..fixture.cases().len()).map(Which::Output);
                let conversations = (0..fixture.conversations().len()).map(Which::Conversation);
                let all = fixture.names().zip(outputs.chain(conversations));
                all.map(|((name, _), which)| (name, which)).collect()
            }
            Loaded::Outputs(_, cases) => {
                let all = cases.iter().enumerate();
                all.map(|(at, case)| (case.name.as_str(), Which::Output(at)))
                    .collect()
            }
        }
    }

    /// The number of a case in its file, and what has become of it.
    fn report(&self, which: Which, seed: u64) -> (usize, CaseReport) {
        match (self, which) {
            (Loaded::Fixture(fixture), Which::Output(index)) => {
                let (case, template) = (&fixture.cases()[index], fixture.template());
                let failures = case.check(template, seed);
                (case.number, CaseReport::of_output(case, template, failures))
            }
            (Loaded::Outputs(reader, cases), Which::Output(index)) => {
                let case = &cases[index];
                let failures = reader.failures(case, seed);
                (
                    case.number,
                    CaseReport::of_output(case, reader.template(), failures),
                )
            }
            (Loaded::Fixture(fixture), Which::Conversation(index)) => {
                let case = &fixture.conversations()[index];
                let report = CaseReport {
                    name: case.name.clone(),
                    position: case.position,
                    expectations: case.expectations.clone(),
                    failures: fixture.check_conversation(case),
                    text: None,
                    elapsed: Duration::ZERO,
                };
                (case.number, report)
            }
            (Loaded::Outputs(..), Which::Conversation(_)) => {
                unreachable!("`names` has no conversations for outputs")
            }
        }
    }
}

/// What there is to be done. Cases go before files, so that few files are in memory at a time.
struct Work<'w> {
    paths: &'w [PathBuf],
    /// What reads outputs; without it, the files are fixtures.
    reader: Option<&'w OutputReader>,
    options: &'w CheckOptions,
    state: Mutex<State<'w>>,
    changed: Condvar,
}

#[derive(Default)]
struct State<'w> {
    /// Cases to be checked: the number of the file, the file, and the case.
    cases: VecDeque<(usize, Arc<Loaded<'w>>, Which)>,
    /// The number of the file that is to be read next.
    next_file: usize,
    /// How many files are being read.
    reading: usize,
    has_failed: bool,
    unreadable: Vec<(usize, FixtureError)>,
    /// With the numbers of the file and of the case.
    checked: Vec<(usize, usize, CaseReport)>,
}

enum Task<'w> {
    Read(usize),
    Check(usize, Arc<Loaded<'w>>, Which),
}

/// A case of a file.
#[derive(Clone, Copy)]
enum Which {
    Output(usize),
    Conversation(usize),
}

/// A file that is being read. The others wait until it is, whatever comes of it.
struct Reading<'w, 'p>(&'w Work<'p>);

impl Drop for Reading<'_, '_> {
    fn drop(&mut self) {
        self.0.state().reading -= 1;
        self.0.changed.notify_all();
    }
}

impl<'w> Work<'w> {
    fn new(
        paths: &'w [PathBuf],
        reader: Option<&'w OutputReader>,
        options: &'w CheckOptions,
    ) -> Work<'w> {
        Work {
            paths,
            reader,
            options,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<'w>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        while let Some(task) = self.next_task() {
            match task {
                Task::Read(file) => self.read(file),
                Task::Check(file, loaded, case) => self.check(file, &loaded, case),
            }
        }
    }

    /// What is to be done next; nothing if all is done.
    fn next_task(&self) -> Option<Task<'w>> {
        let mut state = self.state();
        loop {
            if state.has_failed && self.options.fail_fast {
                return None;
            }
            if let Some((file, loaded, case)) = state.cases.pop_front() {
                return Some(Task::Check(file, loaded, case));
            }
            if state.next_file < self.paths.len() {
                state.next_file += 1;
                state.reading += 1;
                return Some(Task::Read(state.next_file - 1));
            }
            if state.reading == 0 {
                return None;
            }
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn read(&self, file: usize) {
        let _reading = Reading(self);
        let path = &self.paths[file];
        let read = match self.reader {
            Some(reader) => outputs(path).map(|cases| Loaded::Outputs(reader, cases)),
            None => Fixture::load(path).map(|fixture| Loaded::Fixture(Box::new(fixture))),
        };
        let mut state = self.state();
        match read {
            Ok(loaded) => {
                let loaded = Arc::new(loaded);
                let selected = loaded.names().into_iter();
                let selected = selected.filter(|(name, _)| self.options.selects(path, name));
                let cases = selected.map(|(_, case)| (file, Arc::clone(&loaded), case));
                state.cases.extend(cases);
            }
            Err(error) => {
                state.unreadable.push((file, error));
                state.has_failed = true;
            }
        }
    }

    fn check(&self, file: usize, loaded: &Loaded<'_>, which: Which) {
        let start = Stopwatch::start();
        let (number, mut report) = loaded.report(which, self.options.seed);
        report.elapsed = start.elapsed();
        let mut state = self.state();
        state.has_failed |= !report.passed();
        state.checked.push((file, number, report));
        if state.has_failed {
            self.changed.notify_all();
        }
    }

    fn into_reports(self) -> Vec<FileReport> {
        let state = self
            .state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let report = |path: &PathBuf| FileReport {
            path: path.clone(),
            cases: Ok(Vec::new()),
        };
        let mut files: Vec<FileReport> = self.paths.iter().map(report).collect();
        let mut checked = state.checked;
        checked.sort_by_key(|(file, case, _)| (*file, *case));
        for (file, _, report) in checked {
            if let Ok(cases) = &mut files[file].cases {
                cases.push(report);
            }
        }
        for (file, error) in state.unreadable {
            files[file].cases = Err(error);
        }
        // Of some files no case was wanted, or they were never start.
        files.retain(|file| !file.cases.as_ref().is_ok_and(Vec::is_empty));
        files
    }
}
