//! The line that names the panes that share a place.

use ratatui::buffer::Buffer;
use ratatui::layout::Position;

use crate::tui::layout::{Areas, Pane};
use crate::tui::sample::Sample;
use crate::tui::state::Workbench;

use super::samples;

/// Where there is no room for frames, there is none for the names of panes that are not shown.
fn label(areas: &Areas, pane: Pane) -> String {
    match areas.has_frames || areas.pane(pane).is_some() {
        true => format!(" {} {} ", pane.number() + 1, pane.title()),
        false => format!(" {} ", pane.number() + 1),
    }
}

/// The panes, each with the columns that its name takes.
fn places(areas: &Areas) -> impl Iterator<Item = (Pane, u16, u16)> + '_ {
    let mut x = areas.tabs.map_or(0, |area| area.x);
    let panes = Pane::ALL.into_iter();
    let panes = panes.filter(|pane| *pane != Pane::Text || !areas.has_frames);
    panes.map(move |pane| {
        let start = x;
        x += label(areas, pane).len() as u16;
        (pane, start, x)
    })
}

pub(super) fn draw(workbench: &Workbench, areas: &Areas, buffer: &mut Buffer) {
    let Some(area) = areas.tabs else {
        return;
    };
    for (pane, start, end) in places(areas) {
        let style = match areas.pane(pane) {
            Some(_) => workbench.styles.chosen(),
            None => workbench.styles.faint(),
        };
        let room = area.right().saturating_sub(start).min(end - start);
        buffer.set_stringn(start, area.y, label(areas, pane), room as usize, style);
    }
    // How the samples fare has to be seen though their list is not.
    let end = places(areas).last().map_or(area.x, |(_, _, end)| end);
    let summary = samples::summary(workbench);
    let width = summary.chars().count() as u16;
    if end + width <= area.right() && areas.pane(Pane::Samples).is_none() {
        let (x, styles) = (area.right() - width, workbench.styles);
        buffer.set_string(x, area.y, &summary, styles.faint());
        if workbench.samples.iter().any(Sample::fails) {
            let failed = summary.split(',').next().unwrap_or_default();
            buffer.set_string(x, area.y, failed, styles.bad());
        }
    }
}

/// The pane whose name stands at a place.
pub(in crate::tui) fn pane_at(areas: &Areas, position: Position) -> Option<Pane> {
    if !areas.tabs?.contains(position) {
        return None;
    }
    let mut places = places(areas);
    let found = places.find(|(_, start, end)| (*start..*end).contains(&position.x));
    found.map(|(pane, ..)| pane)
}
