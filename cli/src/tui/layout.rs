//! Where everything stands on the screen.

use ratatui::layout::{Constraint, Layout, Position, Rect};

/// A part of the screen that shows one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pane {
    /// The texts that can be replayed.
    Samples,
    /// The text, region by region.
    Text,
    /// The response template.
    Template,
    /// What the parser waits for, and why.
    Why,
    /// The events.
    Events,
    /// The message.
    Message,
}

impl Pane {
    /// All of them, in the order in which they are gone through.
    pub(crate) const ALL: [Pane; 6] = [
        Pane::Samples,
        Pane::Text,
        Pane::Template,
        Pane::Why,
        Pane::Events,
        Pane::Message,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Pane::Samples => "Samples",
            Pane::Text => "Text",
            Pane::Template => "Template",
            Pane::Why => "Why",
            Pane::Events => "Events",
            Pane::Message => "Message",
        }
    }

    pub(crate) fn number(self) -> usize {
        Pane::ALL.iter().position(|pane| *pane == self).unwrap_or(0)
    }
}

/// From this size on all panes are shown at once.
const ROOM_FOR_ALL: (u16, u16) = (120, 34);

/// And from this size on panes have frames.
const ROOM_FOR_FRAMES: (u16, u16) = (44, 16);

/// Where everything stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Areas {
    pub(crate) title: Rect,
    pub(crate) timeline: Rect,
    /// All between the timeline and the bottom.
    pub(crate) body: Rect,
    /// The panes that are shown.
    pub(crate) panes: Vec<(Pane, Rect)>,
    /// Where there is no room for all panes: the line that names those that share a place.
    pub(crate) tabs: Option<Rect>,
    /// Whether panes have frames.
    pub(crate) has_frames: bool,
    pub(crate) notice: Rect,
    pub(crate) keys: Rect,
}

impl Areas {
    /// The areas of a screen. Where there is no room for all panes, the text is shown with one other.
    /// Where there is hardly any, one is shown, and frames go before what is in them.
    pub(crate) fn of(
        (width, height): (u16, u16),
        zoomed: Option<Pane>,
        focus: Pane,
        other: Pane,
    ) -> Areas {
        let screen = Rect::new(0, 0, width, height);
        let [title, timeline, body, notice, keys] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Fill(1),
            Constraint::Length(1),
            Constraint::Length(1),
        ])
        .areas(screen);
        let has_frames = width >= ROOM_FOR_FRAMES.0 && height >= ROOM_FOR_FRAMES.1;
        let (panes, tabs) = match zoomed {
            None if !has_frames => alone(body, focus),
            Some(pane) => (vec![(pane, body)], None),
            None if width >= ROOM_FOR_ALL.0 && height >= ROOM_FOR_ALL.1 => (all(body), None),
            None => folded(body, other),
        };
        Areas {
            title,
            timeline,
            body,
            panes,
            tabs,
            has_frames,
            notice,
            keys,
        }
    }

    /// What of a pane's area is left for what it shows.
    pub(crate) fn inside(&self, area: Rect) -> Rect {
        match self.has_frames {
            true => inner(area),
            false => area,
        }
    }

    /// Where a pane is shown, if it is.
    pub(crate) fn pane(&self, pane: Pane) -> Option<Rect> {
        let mut panes = self.panes.iter();
        panes
            .find(|(known, _)| *known == pane)
            .map(|(_, area)| *area)
    }

    /// The pane at a place of the screen.
    pub(crate) fn pane_at(&self, position: Position) -> Option<(Pane, Rect)> {
        let mut panes = self.panes.iter();
        panes.find(|(_, area)| area.contains(position)).copied()
    }
}

fn all(body: Rect) -> Vec<(Pane, Rect)> {
    let [top, bottom] =
        Layout::vertical([Constraint::Percentage(52), Constraint::Fill(1)]).areas(body);
    let [samples, text, template] = Layout::horizontal([
        Constraint::Percentage(22),
        Constraint::Fill(1),
        Constraint::Percentage(33),
    ])
    .areas(top);
    let [why, events, message] = Layout::horizontal([
        Constraint::Percentage(27),
        Constraint::Percentage(29),
        Constraint::Fill(1),
    ])
    .areas(bottom);
    let areas = [samples, text, template, why, events, message];
    Pane::ALL.into_iter().zip(areas).collect()
}

fn alone(body: Rect, pane: Pane) -> (Vec<(Pane, Rect)>, Option<Rect>) {
    let [tabs, below] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(body);
    (vec![(pane, below)], Some(tabs))
}

fn folded(body: Rect, other: Pane) -> (Vec<(Pane, Rect)>, Option<Rect>) {
    let [text, tabs, below] = Layout::vertical([
        Constraint::Percentage(45),
        Constraint::Length(1),
        Constraint::Fill(1),
    ])
    .areas(body);
    let other = match other {
        Pane::Text => Pane::Message,
        other => other,
    };
    (vec![(Pane::Text, text), (other, below)], Some(tabs))
}

/// What is left of an area within its borders.
pub(crate) fn inner(area: Rect) -> Rect {
    Rect {
        x: area.x.saturating_add(1).min(area.right()),
        y: area.y.saturating_add(1).min(area.bottom()),
        width: area.width.saturating_sub(2),
        height: area.height.saturating_sub(2),
    }
}
