//! The texts that can be replayed, and whether each is read as expected.

use ratatui::layout::{Position, Rect};

use crate::options::option_name;
use crate::tui::layout::Pane;
use crate::tui::sample::Verdict;
use crate::tui::state::Workbench;
use crate::tui::update::fold;

use super::paper::{self, Paper, Sheet};

pub(super) fn summary(workbench: &Workbench) -> String {
    let count = |passed: bool| {
        let samples = workbench.samples.iter();
        samples
            .filter(|sample| sample.verdict.passed() == Some(passed))
            .count()
    };
    match (count(true), count(false)) {
        (0, 0) => String::new(),
        (passed, 0) => format!("{passed} pass"),
        (passed, failed) => format!("{failed} fail, {passed} pass"),
    }
}

/// One line for each.
pub(super) fn sheet(workbench: &Workbench, width: u16) -> Sheet {
    let styles = workbench.styles;
    let mut sheet = Sheet {
        eye: Some(workbench.selected),
        ..Sheet::default()
    };
    let words = workbench.search.as_deref().map(fold);
    for (number, sample) in workbench.samples.iter().enumerate() {
        let (sign, style) = match &sample.verdict {
            Verdict::Passed if sample.is_left_out() => ("~ ", styles.warning()),
            Verdict::Passed => ("✓ ", styles.good()),
            Verdict::Failed(_) => ("✗ ", styles.bad()),
            Verdict::Pending => ("… ", styles.faint()),
            Verdict::Open => ("· ", styles.faint()),
            Verdict::Unknown(_) => ("? ", styles.bad()),
        };
        let is_selected = number == workbench.selected;
        let is_hit = || {
            words
                .as_ref()
                .is_some_and(|words| fold(&sample.case.name).contains(words))
        };
        let text = match is_selected {
            true => styles.chosen(),
            false if is_hit() => styles.hit(styles.plain()),
            false => styles.plain(),
        };
        let mut line = paper::one_line(sign, 2, style);
        line.extend(paper::one_line_with_end(
            &sample.case.name,
            width.saturating_sub(2),
            text,
        ));
        sheet.lines.push(line.into());
    }
    sheet
}

/// What is wrong with the sample that is selected, in short.
pub(super) fn verdict(workbench: &Workbench, paper: &mut Paper) {
    let styles = workbench.styles;
    let sample = workbench.sample();
    match &sample.verdict {
        Verdict::Failed(failures) => {
            for failure in failures {
                paper.line(&failure.explain(option_name), styles.bad());
            }
        }
        Verdict::Passed => {
            // What is not seen yet is not said as if it were.
            let words = match workbench.replay.is_end(workbench.at) {
                true => "as expected, however it is cut",
                false => "at its end, all is as expected, however it is cut",
            };
            paper.line(words, styles.good());
        }
        Verdict::Open => paper.line("nothing is expected of this text", styles.faint()),
        Verdict::Unknown(why) => paper.line(&format!("can't be tried: {why}"), styles.bad()),
        Verdict::Pending if sample.is_live => {
            paper.line("the text is still coming in", styles.faint())
        }
        Verdict::Pending => paper.line("being tried …", styles.faint()),
    }
}

/// The sample at a place of the screen.
pub(in crate::tui) fn sample_at(
    workbench: &Workbench,
    area: Rect,
    position: Position,
) -> Option<usize> {
    let (top, len) = super::extent(workbench, Pane::Samples, area);
    let number = top + (position.y - area.y) as usize;
    (number < len).then_some(number)
}
