//! How far the work is, on the standard error.

use crate::printing;
use std::time::{Duration, Instant};

/// What there is to do, and where it begins.
pub(crate) struct Extent {
    /// What rows are called.
    pub(crate) unit: &'static str,
    /// How many rows were done before.
    pub(crate) rows: u64,
    /// Where in the input the work begins.
    pub(crate) start: u64,
    /// Where it ends, if that is known.
    pub(crate) end: Option<u64>,
}

/// A line that says how far the work is.
pub(crate) struct Progress {
    extent: Extent,
    rows: u64,
    position: u64,
    began: Instant,
    shown: Option<Instant>,
    style: Style,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Off,
    /// One line that changes; in the end it goes, or stays if it was asked for.
    Terminal {
        stays: bool,
    },
    /// A new line now and then.
    Lines,
}

impl Style {
    fn every(self) -> Duration {
        match self {
            Style::Off | Style::Terminal { .. } => Duration::from_millis(100),
            Style::Lines => Duration::from_secs(10),
        }
    }
}

impl Progress {
    /// Progress is shown on a terminal, unless answers go there, which are progress enough; or wherever it
    /// is asked for.
    pub(crate) fn new(extent: Extent, answers_are_printed: bool, is_asked_for: bool) -> Progress {
        let answers_are_seen = answers_are_printed && printing::results_are_seen();
        let style = match (printing::errors_are_seen(), is_asked_for) {
            (true, stays) if stays || !answers_are_seen => Style::Terminal { stays },
            (false, true) => Style::Lines,
            _ => Style::Off,
        };
        let began = Instant::now();
        Progress {
            rows: extent.rows,
            position: extent.start,
            extent,
            began,
            // Where lines stay, the first one has something to say.
            shown: (style == Style::Lines).then_some(began),
            style,
        }
    }

    pub(crate) fn add(&mut self, rows: u64, position: u64) {
        self.rows += rows;
        self.position = position;
        let due = self
            .shown
            .is_none_or(|shown| shown.elapsed() >= self.style.every());
        if self.style == Style::Off || !due {
            return;
        }
        let line = self.line(self.began.elapsed());
        match self.style {
            Style::Terminal { .. } => printing::tell_over(&line),
            _ => printing::tell(format_args!("{line}\n")),
        }
        self.shown = Some(Instant::now());
    }

    /// Makes room for something else.
    pub(crate) fn clear(&mut self) {
        if matches!(self.style, Style::Terminal { .. }) && self.shown.take().is_some() {
            printing::clear_line();
        }
    }

    pub(crate) fn end(&mut self) {
        self.clear();
        if matches!(self.style, Style::Terminal { stays: true } | Style::Lines) {
            let line = self.line(self.began.elapsed());
            printing::tell(format_args!("{line}\n"));
        }
    }

    /// What is known after so much time: `2500 rows, 25%, 1000 rows/s, 0:08 left`.
    fn line(&self, elapsed: Duration) -> String {
        let unit = self.extent.unit;
        let mut line = format!("{} {unit}", self.rows);
        if let Some(end) = self.extent.end.filter(|end| *end > 0) {
            let percent = u128::from(self.position) * 100 / u128::from(end);
            line += &format!(", {percent}%");
        }
        let seconds = elapsed.as_secs_f64();
        if seconds < 0.001 {
            return line;
        }
        let rate = (self.rows - self.extent.rows) as f64 / seconds;
        line += &format!(", {rate:.0} {unit}/s");
        let done = self.position.saturating_sub(self.extent.start);
        if let Some(left) = self
            .extent
            .end
            .and_then(|end| end.checked_sub(self.position))
            && left > 0
            && done > 0
        {
            let left = (left as f64 / done as f64 * seconds).ceil() as u64;
            line += &match left {
                0..3600 => format!(", {}:{:02} left", left / 60, left % 60),
                _ => format!(
                    ", {}:{:02}:{:02} left",
                    left / 3600,
                    left / 60 % 60,
                    left % 60
                ),
            };
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_what_is_known() {
        let line = |(rows, position): (u64, u64), (before, start, end), seconds| {
            let extent = Extent {
                unit: "rows",
                rows: before,
                start,
                end,
            };
            let mut progress = Progress::new(extent, false, false);
            (progress.rows, progress.position) = (rows, position);
            progress.line(Duration::from_secs(seconds))
        };
        for (at, extent, seconds, expected) in [
            ((500, 500), (0, 0, None), 0, "500 rows"),
            ((500, 500), (0, 0, None), 10, "500 rows, 50 rows/s"),
            ((0, 0), (0, 0, Some(1000)), 10, "0 rows, 0%, 0 rows/s"),
            (
                (25, 250),
                (0, 0, Some(1000)),
                10,
                "25 rows, 25%, 2 rows/s, 0:30 left",
            ),
            (
                (50, 500),
                (25, 250, Some(1000)),
                100,
                "50 rows, 50%, 0 rows/s, 3:20 left",
            ),
            (
                (10, 10),
                (0, 0, Some(100_000)),
                1,
                "10 rows, 0%, 10 rows/s, 2:46:39 left",
            ),
            ((9, 1000), (0, 0, Some(1000)), 3, "9 rows, 100%, 3 rows/s"),
            // The file has grown meanwhile.
            ((9, 1100), (0, 0, Some(1000)), 3, "9 rows, 110%, 3 rows/s"),
            ((0, 0), (0, 0, Some(0)), 3, "0 rows, 0 rows/s"),
        ] {
            assert_eq!(line(at, extent, seconds), expected);
        }
    }
}
