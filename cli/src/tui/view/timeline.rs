//! The whole text on one line, with the place where the stream is.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::state::Workbench;
use unjinja_replay::SegmentKind;

/// Where in the text a column of the timeline is.
pub(in crate::tui) fn byte_at(workbench: &Workbench, column: u16, width: u16) -> usize {
    let width = width.max(2) as usize - 1;
    let replay = &workbench.replay;
    let length = replay.text().len() - replay.output();
    let column = (column as usize).min(width);
    replay.output() + (length as u128 * column as u128 / width as u128) as usize
}

/// The column where a byte of the text is.
fn column_of(workbench: &Workbench, byte: usize, width: u16) -> u16 {
    let replay = &workbench.replay;
    let length = (replay.text().len() - replay.output()).max(1) as u128;
    let done = byte.saturating_sub(replay.output()) as u128;
    (done * (width.max(2) as u128 - 1) / length) as u16
}

/// Whether something that can't be parsed closes in a column, which begins at a byte.
fn is_malformed(workbench: &Workbench, byte: usize, column: u16, width: u16) -> bool {
    let all = workbench.replay.malformed_at();
    let first = all.partition_point(|&at| (at as usize) < byte);
    let first = all.get(first);
    first.is_some_and(|&at| column_of(workbench, at as usize, width) == column)
}

pub(super) fn draw(workbench: &Workbench, area: Rect, buffer: &mut Buffer) {
    let styles = workbench.styles;
    let replay = &workbench.replay;
    let fed = replay.looked(workbench.at);
    let cursor = column_of(workbench, fed, area.width);
    for column in 0..area.width {
        let byte = byte_at(workbench, column, area.width);
        let segment = replay.segment_at(byte.min(replay.text().len().saturating_sub(1)));
        let (symbol, style) = match segment {
            _ if is_malformed(workbench, byte, column, area.width) => ("✗", styles.bad()),
            _ if column == cursor => ("█", styles.strong()),
            _ if byte > fed => ("·", styles.faint()),
            Some((segment, _)) => match (segment.part, segment.field) {
                (SegmentKind::Body, Some(field)) => ("━", styles.field(field)),
                (SegmentKind::Open | SegmentKind::Close, Some(field)) => ("╋", styles.field(field)),
                _ => ("╌", styles.faint()),
            },
            None => ("╌", styles.faint()),
        };
        buffer.set_string(area.x + column, area.y, symbol, style);
    }
}
