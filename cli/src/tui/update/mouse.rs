//! The mouse: a click shows a place, dragging along the timeline goes through the text.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use crate::tui::keys::Action;
use crate::tui::layout::Pane;
use crate::tui::state::{Screen, Workbench};
use crate::tui::view;

/// So many rows go by at a turn of the wheel.
const WHEEL: isize = 3;

impl Workbench {
    pub(super) fn mouse(&mut self, event: MouseEvent) {
        if self.overlay.is_some() {
            return;
        }
        let position = Position::new(event.column, event.row);
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => self.click(position),
            MouseEventKind::Drag(MouseButton::Left) => self.drag(position),
            MouseEventKind::ScrollUp => self.wheel(position, -WHEEL),
            MouseEventKind::ScrollDown => self.wheel(position, WHEEL),
            _ => {}
        }
    }

    fn click(&mut self, position: Position) {
        let areas = self.areas();
        // They stand where the timeline would.
        if matches!(self.screen, Screen::Findings { .. }) {
            if let Some(row) = view::findings::row_at(self, position) {
                self.screen = Screen::Findings { row, scrolled: 0 };
            }
            return;
        }
        if areas.timeline.contains(position) {
            return self.scrub(position);
        }
        if let Some(pane) = view::tabs::pane_at(&areas, position) {
            return self.focus_on(pane);
        }
        let Some((pane, area)) = areas.pane_at(position) else {
            return;
        };
        self.focus_on(pane);
        let area = areas.inside(area);
        if !area.contains(position) {
            return;
        }
        match pane {
            Pane::Text => {
                if let Some(byte) = view::text::byte_at(self, area, position) {
                    self.playing = false;
                    self.go_to(self.replay.at_byte(byte));
                }
            }
            Pane::Events => {
                if let Some(event) = view::events::event_at(self, area, position) {
                    self.playing = false;
                    self.go_to(self.replay.at_event(event));
                }
            }
            Pane::Samples => {
                if let Some(sample) = view::samples::sample_at(self, area, position) {
                    self.select_sample(sample);
                }
            }
            _ => {}
        }
    }

    fn drag(&mut self, position: Position) {
        // The hand may leave the line while it goes along it.
        if self.screen == Screen::Replay && position.y <= self.areas().timeline.y + 1 {
            self.scrub(position);
        }
    }

    fn scrub(&mut self, position: Position) {
        let width = self.areas().timeline.width;
        let byte = view::timeline::byte_at(self, position.x, width);
        if byte >= self.replay.text().len() {
            return self.step(Action::Last);
        }
        self.playing = false;
        self.go_to(self.replay.at_fed_bytes(byte));
    }

    fn wheel(&mut self, position: Position, by: isize) {
        match self.screen {
            Screen::Findings { .. } => self.scroll_by(by.signum()),
            Screen::Replay => {
                if let Some((pane, _)) = self.areas().pane_at(position) {
                    self.scroll_pane(pane, by);
                }
            }
        }
    }
}
