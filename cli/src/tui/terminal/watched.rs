//! Files of which changes are noticed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// How often it is looked whether a file has changed.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// What a file is known by: when it was changed last, and how long it is. Nothing, if it is not there.
type Stamp = Option<(SystemTime, u64)>;

/// Files of which changes are noticed.
#[derive(Debug, Default)]
pub(super) struct Watched {
    files: Vec<PathBuf>,
    /// How they were when this was reported last.
    reported: Vec<Stamp>,
    /// How they were at the last look.
    seen: Vec<Stamp>,
    looked: Option<Instant>,
}

impl Watched {
    /// Watches these files from now on. Those that were watched before go on being so: what has
    /// become of them since it was looked last is still reported.
    pub(super) fn watch(&mut self, files: &[PathBuf]) {
        for file in files {
            if !self.files.contains(file) {
                self.files.push(file.clone());
                self.reported.push(stamp(file));
                self.seen.push(stamp(file));
            }
        }
    }

    /// Watches these files alone, as they are now.
    pub(super) fn remember(&mut self, files: Vec<PathBuf>) {
        self.reported = stamps(&files);
        self.seen.clone_from(&self.reported);
        self.files = files;
    }

    /// Whether one of the files is another than it was, looking now and then. A file that is only
    /// just being written, or is replaced by another, has to come to rest first.
    pub(super) fn have_changed(&mut self) -> bool {
        let was_just_now = |looked: Instant| looked.elapsed() < BETWEEN_LOOKS;
        if self.looked.is_some_and(was_just_now) {
            return false;
        }
        self.looked = Some(Instant::now());
        self.look()
    }

    fn look(&mut self) -> bool {
        let now = stamps(&self.files);
        let is_settled = now == self.seen;
        let has_changed = is_settled && now != self.reported;
        if has_changed {
            self.reported.clone_from(&now);
        }
        self.seen = now;
        has_changed
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Stamp> {
    files.iter().map(|file| stamp(file)).collect()
}

fn stamp(path: &Path) -> Stamp {
    let known = fs::metadata(path).ok()?;
    Some((known.modified().ok()?, known.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks until all has come to rest, and counts how often a change is reported.
    fn changes(watched: &mut Watched) -> usize {
        (0..3).filter(|_| watched.look()).count()
    }

    #[test]
    fn every_change_is_reported_once_however_the_file_is_written() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let (file, other) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&file, "one")?;
        let mut watched = Watched::default();
        watched.remember(vec![file.clone()]);
        assert_eq!(changes(&mut watched), 0, "nothing was done");
        fs::write(&file, "one more")?;
        assert_eq!(changes(&mut watched), 1, "it was written");
        fs::write(&other, "by renaming")?;
        fs::rename(&other, &file)?;
        assert_eq!(changes(&mut watched), 1, "another took its place");
        fs::remove_file(&file)?;
        assert_eq!(changes(&mut watched), 1, "it has vanished");
        fs::write(&file, "again")?;
        assert_eq!(changes(&mut watched), 1, "it has come back");
        Ok(())
    }

    #[test]
    fn what_is_watched_besides_takes_no_change_away() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let (file, other) = (folder.path().join("a"), folder.path().join("b"));
        let mut watched = Watched::default();
        watched.remember(vec![file.clone()]);
        fs::write(&file, "one")?;
        watched.watch(&[file, other.clone()]);
        assert_eq!(changes(&mut watched), 1);
        fs::write(&other, "two")?;
        assert_eq!(changes(&mut watched), 1);
        Ok(())
    }

    #[test]
    fn a_file_that_is_away_between_two_looks_has_not_vanished() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("a");
        fs::write(&file, "one")?;
        let mut watched = Watched::default();
        watched.remember(vec![file.clone()]);
        fs::remove_file(&file)?;
        assert!(!watched.look());
        fs::write(&file, "another")?;
        assert_eq!(changes(&mut watched), 1);
        Ok(())
    }
}
