//! All keys, and what the signs mean.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Block, Widget};

use crate::tui::keys::GROUPS;
use crate::tui::layout::{Areas, inner};
use crate::tui::state::Workbench;

use super::paper::{Paper, Sheet, side_by_side};

const SIGNS: &[(&str, &str)] = &[
    ("▸ ◂", "a delimiter that opens a field, or closes it"),
    (":", "the text of a field"),
    ("×", "text that belongs to no field"),
    (
        "━ ╋ ╌",
        "on the line below the title: text of a field, a delimiter, neither",
    ),
    (
        "underlined",
        "text that is held back: it may be a part of a delimiter",
    ),
    ("faint", "text that has yet to come in"),
    ("italic", "text that the prompt has written already"),
    ("┃", "in a conversation: text that the model writes"),
    (
        "✓ ✗ · …",
        "a sample passes, fails, has no expectation, is being tried",
    ),
    (
        "~",
        "a sample passes, but the chat template has left something out of it",
    ),
    (
        "≠ - +",
        "another value than expected, a missing one, one too many",
    ),
];

pub(super) fn draw(workbench: &Workbench, scrolled: usize, areas: &Areas, buffer: &mut Buffer) {
    let area = super::clear(areas, areas.body, buffer);
    let block = Block::bordered()
        .border_style(workbench.styles.border(true))
        .title(" Help: ↑↓ scroll, Esc back ");
    block.render(area, buffer);
    let area = inner(area);
    let sheet = sheet(workbench, area.width);
    super::put_scrolled(workbench, &sheet.lines, scrolled, area, buffer);
}

/// How many lines there are, and how many are seen.
pub(in crate::tui) fn extent(workbench: &Workbench) -> (usize, usize) {
    let area: Rect = inner(workbench.areas().body);
    let lines = sheet(workbench, area.width).lines.len();
    (lines, area.height as usize)
}

/// A column takes so much width at the least.
const COLUMN: u16 = 46;

fn sheet(workbench: &Workbench, width: u16) -> Sheet {
    let count = (width / COLUMN).clamp(1, 3);
    // Two cells stand between columns.
    let each = width.saturating_sub(2 * (count - 1)) / count;
    let lens = (0..=GROUPS.len())
        .map(|number| part(workbench, number, each.saturating_sub(1)).lines.len());
    let lens: Vec<usize> = lens.collect();
    let total: usize = lens.iter().sum();
    let mut columns = vec![Vec::new(); count as usize];
    let mut before = 0;
    for (number, len) in lens.iter().enumerate() {
        // A group goes to the column in which its middle would be if groups could be cut.
        let column = (before + len / 2) * columns.len() / total.max(1);
        columns[column].extend(part(workbench, number, each.saturating_sub(1)).lines);
        before += len;
    }
    let beside = |left, right| side_by_side(left, right, each, workbench.styles.faint());
    let lines = columns
        .into_iter()
        .rev()
        .reduce(|right, left| beside(left, right));
    Sheet {
        lines: lines.unwrap_or_default(),
        eye: None,
    }
}

/// A group of keys; behind the last of them comes what the signs mean.
fn part(workbench: &Workbench, number: usize, width: u16) -> Sheet {
    let styles = workbench.styles;
    let mut paper = Paper::new(width);
    match GROUPS.get(number) {
        Some(group) => {
            paper.line(group.title, styles.strong());
            for binding in group.bindings {
                entry(workbench, binding.names, binding.words, &mut paper);
            }
        }
        None => {
            paper.line("What is seen", styles.strong());
            for (sign, words) in SIGNS {
                entry(workbench, sign, words, &mut paper);
            }
            let words = "click a text, an event, a sample, a pane; drag along the timeline";
            entry(workbench, "mouse", words, &mut paper);
        }
    }
    paper.end_line();
    paper.finish()
}

fn entry(workbench: &Workbench, name: &str, words: &str, paper: &mut Paper) {
    paper.put("  ", workbench.styles.plain());
    paper.put(name, workbench.styles.strong());
    paper.tab_to(14);
    paper.indent(14);
    paper.line(words, workbench.styles.plain());
    paper.indent(0);
}
