//! All that stood at the bottom, the last of it first.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Block, Widget};

use crate::tui::layout::{Areas, inner};
use crate::tui::state::{Weight, Workbench};

use super::paper::{Paper, Sheet};

pub(super) fn style(workbench: &Workbench, weight: Weight) -> Style {
    let styles = workbench.styles;
    match weight {
        Weight::Aside => styles.faint(),
        Weight::News => styles.strong(),
        Weight::Warning => styles.warning(),
        Weight::Error => styles.bad(),
    }
}

pub(super) fn draw(workbench: &Workbench, scrolled: usize, areas: &Areas, buffer: &mut Buffer) {
    let area = super::clear(areas, areas.body, buffer);
    let block = Block::bordered()
        .border_style(workbench.styles.border(true))
        .title(" News, the last first: ↑↓ scroll, Esc back ");
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

fn sheet(workbench: &Workbench, width: u16) -> Sheet {
    let mut paper = Paper::new(width);
    if workbench.news.is_empty() {
        paper.line("nothing yet", workbench.styles.faint());
    }
    for notice in workbench.news.iter().rev() {
        let sign = match notice.weight {
            Weight::Aside | Weight::News => "  ",
            Weight::Warning => "! ",
            Weight::Error => "✗ ",
        };
        let style = style(workbench, notice.weight);
        paper.put(sign, style);
        paper.indent(2);
        paper.line(&notice.text, style);
        paper.indent(0);
    }
    paper.finish()
}
