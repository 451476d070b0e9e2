//! Up and down, in the pane that has the focus.

use crate::tui::layout::{Pane, inner};
use crate::tui::state::{Screen, Workbench};
use crate::tui::view;

impl Workbench {
    pub(super) fn scroll_by(&mut self, by: isize) {
        if let Screen::Findings { row, .. } = self.screen {
            let rows = view::findings::rows(self);
            let row = moved(row, by, rows);
            self.screen = Screen::Findings { row, scrolled: 0 };
            return;
        }
        if let Screen::Conversation { top } = self.screen {
            let top = view::conversation::scrolled(self, top, by);
            self.screen = Screen::Conversation { top };
            return;
        }
        match self.focus {
            Pane::Samples => self.select_sample(moved(self.selected, by, self.samples.len())),
            pane => self.scroll_pane(pane, by),
        }
    }

    pub(super) fn scroll_page(&mut self, pages: isize) {
        if let Screen::Findings { row, scrolled } = self.screen {
            let (len, height) = view::findings::extent(self);
            let by = pages * (height.max(2) as isize - 1);
            let scrolled = moved(scrolled, by, (len + 1).saturating_sub(height));
            self.screen = Screen::Findings { row, scrolled };
            return;
        }
        if let Screen::Conversation { .. } = self.screen {
            let height = view::conversation::height(self);
            return self.scroll_by(pages * (height.max(2) as isize - 1));
        }
        let area = self.areas().pane(self.focus);
        let height = area.map_or(1, |area| inner(area).height.max(2) - 1);
        self.scroll_by(pages * height as isize);
    }

    /// Scrolls a pane by so many rows.
    pub(super) fn scroll_pane(&mut self, pane: Pane, by: isize) {
        let Some(area) = self.areas().pane(pane) else {
            return;
        };
        let area = inner(area);
        let top = match pane {
            Pane::Text => view::text::scrolled(self, area, by),
            Pane::Samples => {
                return self.select_sample(moved(self.selected, by, self.samples.len()));
            }
            pane => {
                let (top, len) = view::extent(self, pane, area);
                moved(top, by, (len + 1).saturating_sub(area.height as usize))
            }
        };
        self.scrolled[pane.number()] = Some(top);
    }

    pub(super) fn scroll_help(&mut self, scrolled: usize, by: isize) -> usize {
        let (len, height) = view::help::extent(self);
        moved(scrolled, by, (len + 1).saturating_sub(height))
    }
}

/// A number that has been moved, among so many.
fn moved(number: usize, by: isize, count: usize) -> usize {
    number
        .saturating_add_signed(by)
        .min(count.saturating_sub(1))
}
