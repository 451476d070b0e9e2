//! Up and down, in the pane that has the focus.

use crossterm::event::KeyEvent;
use ratatui::layout::Rect;

use crate::tui::keys::{self, Action};
use crate::tui::layout::Pane;
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
        if let Screen::Conversation { number, top } = self.screen {
            let top = view::conversation::scrolled(self, number, top, by);
            self.screen = Screen::Conversation { number, top };
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
        let height = self
            .area_of(self.focus)
            .map_or(1, |area| area.height.max(2) - 1);
        self.scroll_by(pages * height as isize);
    }

    /// Where a pane shows what it has, if it is seen.
    fn area_of(&self, pane: Pane) -> Option<Rect> {
        let areas = self.areas();
        areas.pane(pane).map(|area| areas.inside(area))
    }

    /// Scrolls a pane by so many rows.
    pub(super) fn scroll_pane(&mut self, pane: Pane, by: isize) {
        let Some(area) = self.area_of(pane) else {
            return;
        };
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

    /// A key while lines are shown in front of the screen: how far they are scrolled then, or none if
    /// they go.
    pub(super) fn scroll_key(
        &self,
        key: KeyEvent,
        scrolled: usize,
        (len, height): (usize, usize),
    ) -> Option<usize> {
        let page = height.max(2) as isize - 1;
        let by = match keys::action(key) {
            Some(Action::Up) => -1,
            Some(Action::Down) => 1,
            Some(Action::PageUp) => -page,
            Some(Action::PageDown) => page,
            Some(Action::HalfPageUp) => -page / 2,
            Some(Action::HalfPageDown) => page / 2,
            Some(Action::Top | Action::First) => isize::MIN,
            Some(Action::Bottom | Action::Last) => isize::MAX,
            Some(Action::Quit | Action::Back | Action::Help | Action::News) => return None,
            _ => 0,
        };
        Some(moved(scrolled, by, (len + 1).saturating_sub(height)))
    }

    /// To the first or the last of a list; in the text, to its start or its end.
    pub(super) fn scroll_to_an_end(&mut self, is_last: bool) {
        let by = if is_last { isize::MAX } else { isize::MIN };
        match (self.screen, self.focus) {
            (Screen::Replay, Pane::Text) => self.step(match is_last {
                true => Action::Last,
                false => Action::First,
            }),
            _ => self.scroll_by(by),
        }
    }

    /// Half of a page, in the pane that has the focus.
    pub(super) fn scroll_half_page(&mut self, pages: isize) {
        let height = self
            .area_of(self.focus)
            .map_or(2, |area| area.height.max(2));
        self.scroll_by(pages * (height / 2) as isize);
    }

    /// To the next sample that fails, or to the one before; from the last to the first.
    pub(super) fn select_failure(&mut self, forward: bool) {
        let fails = |&number: &usize| self.samples[number].fails();
        let (count, at) = (self.samples.len(), self.selected);
        let next = (1..=count).map(|step| match forward {
            true => (at + step) % count,
            false => (at + count - step) % count,
        });
        match next.into_iter().find(fails) {
            Some(number) if number == at => self.notify("no other sample fails"),
            Some(number) => {
                self.screen = Screen::Replay;
                self.select_sample(number);
            }
            None if self.is_judging() => self.notify("no sample fails that has been tried so far"),
            None => self.notify("no sample fails"),
        }
    }
}

/// A number that has been moved, among so many.
fn moved(number: usize, by: isize, count: usize) -> usize {
    number
        .saturating_add_signed(by)
        .min(count.saturating_sub(1))
}
