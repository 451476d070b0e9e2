//! All keys, and what the signs mean.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Block, Widget};

use crate::tui::keys::GROUPS;
use crate::tui::layout::{Areas, inner};
use crate::tui::state::Workbench;

use super::paper::{Paper, Sheet, side_by_side};

const SIGNS: &[(&str, &str)] = &[
    ("▸ ◂", "a delimiter that opens a field, or closes it"),
    ("│", "the text of a field"),
    ("×", "text that belongs to no field"),
    (
        "underlined",
        "text that is held back: it may be a part of a delimiter",
    ),
    ("faint", "text that has yet to come in"),
    ("italic", "text that the prompt has written already"),
    (
        "✓ ✗ · …",
        "a sample passes, fails, has no expectation, is being tried",
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
    super::put_lines(&sheet(workbench, area.width).lines, scrolled, area, buffer);
}

/// How many lines there are, and how many are seen.
pub(in crate::tui) fn extent(workbench: &Workbench) -> (usize, usize) {
    let area: Rect = inner(workbench.areas().body);
    let lines = sheet(workbench, area.width).lines.len();
    (lines, area.height as usize)
}

/// From this width on there are two columns.
const ROOM_FOR_TWO: u16 = 110;

fn sheet(workbench: &Workbench, width: u16) -> Sheet {
    let parts = GROUPS.len() + 1;
    if width < ROOM_FOR_TWO {
        return part(workbench, 0..parts, width);
    }
    let left = width / 2;
    let lines = |range: Range<usize>| part(workbench, range, left - 2).lines;
    // As many on the one side as on the other, as far as groups allow.
    let total = lines(0..parts).len();
    let middle = (1..parts).find(|&middle| lines(0..middle).len() * 2 >= total);
    let middle = middle.unwrap_or(1);
    let [first, second] = [lines(0..middle), lines(middle..parts)];
    Sheet {
        lines: side_by_side(first, second, left, workbench.styles.faint()),
        eye: None,
    }
}

/// Some of the groups of keys; behind the last of them comes what the signs mean.
fn part(workbench: &Workbench, range: Range<usize>, width: u16) -> Sheet {
    let styles = workbench.styles;
    let mut paper = Paper::new(width);
    for number in range {
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
    }
    paper.finish()
}

fn entry(workbench: &Workbench, name: &str, words: &str, paper: &mut Paper) {
    paper.put("  ", workbench.styles.plain());
    paper.put(name, workbench.styles.strong());
    paper.tab_to(14);
    paper.indent(14);
    paper.words(words, workbench.styles.plain());
    paper.indent(0);
}
