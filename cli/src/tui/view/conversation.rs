//! A conversation: who says what, and what of it the model writes.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Widget};
use unjinja::format::ConversationSlot;

use crate::tui::conversation::{OpenedConversation, Stretch};
use crate::tui::layout::{Areas, inner};
use crate::tui::rows::{Row, Rows};
use crate::tui::state::{Screen, Workbench};

use super::paper::one_line;

/// How many columns stand before the text: who speaks, and a sign at what the model writes.
const GUTTER: u16 = 16;

/// In a narrower place the text stands alone, but for the sign.
const ROOM_FOR_NAMES: u16 = 40;

const SIGN: &str = "┃ ";

pub(super) fn draw(workbench: &Workbench, areas: &Areas, buffer: &mut Buffer) {
    let Screen::Conversation { number, top } = workbench.screen else {
        return;
    };
    let all = &workbench.conversations;
    let Some(conversation) = all.get(number).map(Arc::as_ref) else {
        return;
    };
    let styles = workbench.styles;
    let area = whole(areas);
    let which = match all.len() {
        1 => "Conversation".to_owned(),
        count => format!("Conversation {} of {count}", number + 1),
    };
    let sign = match conversation.passed {
        Some(true) => " ✓",
        Some(false) => " ✗",
        None => "",
    };
    let title = format!(" {which}: {}{sign} ", conversation.name);
    let title = one_line(&title, area.width.saturating_sub(2), styles.strong());
    let block = Block::bordered().border_style(styles.border(true));
    block.title(Line::from(title)).render(area, buffer);
    for (note, y) in conversation.notes.iter().zip(inner(area).y..) {
        let line = Line::from(one_line(note, inner(area).width, styles.bad()));
        buffer.set_line(inner(area).x, y, &line, inner(area).width);
    }
    let area = text_area(conversation, areas);
    let rows = rows_from(conversation, area, top, area.height as usize);
    let mut before = None;
    for ((number, row), y) in rows.into_iter().zip(area.y..area.bottom()) {
        let stretch = &conversation.stretches[number];
        let mut line = Vec::new();
        if area.width >= ROOM_FOR_NAMES {
            let name = match before == Some(number) {
                true => String::new(),
                false => name(stretch),
            };
            let room = GUTTER - SIGN.chars().count() as u16;
            line.extend(one_line(&name, room - 1, styles.strong()));
            let width = Line::from(line.clone()).width() as u16;
            line.push(Span::raw(" ".repeat((room - width) as usize)));
        }
        before = Some(number);
        let sign = match stretch.is_written {
            true => SIGN,
            false => "  ",
        };
        line.push(Span::styled(sign, styles.good()));
        let style = style(workbench, stretch);
        let shown: String = row
            .glyphs
            .iter()
            .map(|placed| placed.glyph.shown.as_ref())
            .collect();
        line.push(Span::styled(shown, style));
        buffer.set_line(area.x, y, &Line::from(line), area.width);
    }
}

/// All between the title and the bottom.
fn whole(areas: &Areas) -> Rect {
    areas.timeline.union(areas.body)
}

/// Where the text stands: below what is to be said of it.
fn text_area(conversation: &OpenedConversation, areas: &Areas) -> Rect {
    let area = inner(whole(areas));
    let notes = conversation.notes.len().min(area.height as usize / 2) as u16;
    Rect {
        y: area.y + notes,
        height: area.height - notes,
        ..area
    }
}

/// Who says it.
fn name(stretch: &Stretch) -> String {
    let Some((slot, message)) = stretch.part else {
        return String::new();
    };
    let who = match slot {
        ConversationSlot::System => "system",
        ConversationSlot::User => "user",
        ConversationSlot::Reasoning => "reasoning",
        ConversationSlot::Content => "assistant",
        ConversationSlot::Calls => "calls",
        ConversationSlot::Result => "tool",
        _ => "tools",
    };
    match message {
        Some(number) => format!("{number} {who}"),
        None => who.to_owned(),
    }
}

fn style(workbench: &Workbench, stretch: &Stretch) -> Style {
    let styles = workbench.styles;
    let style = match stretch.part {
        Some(_) => styles.plain(),
        // The template's own.
        None => styles.faint(),
    };
    match stretch.is_written {
        true => style.patch(styles.good()).add_modifier(Modifier::BOLD),
        false => style,
    }
}

fn rows_of<'c>(conversation: &'c OpenedConversation, area: Rect, number: usize) -> Rows<'c> {
    let gutter = match area.width >= ROOM_FOR_NAMES {
        true => GUTTER,
        false => SIGN.chars().count() as u16,
    };
    let range = conversation.stretches[number].range.clone();
    Rows::new(&conversation.text[range], area.width.saturating_sub(gutter))
}

/// So many rows from the one on that holds a byte, each with the number of its stretch.
fn rows_from(
    conversation: &OpenedConversation,
    area: Rect,
    byte: usize,
    count: usize,
) -> Vec<(usize, Row<'_>)> {
    let mut found = Vec::new();
    let first = conversation.stretch_at(byte);
    for (number, stretch) in conversation.stretches.iter().enumerate().skip(first) {
        let rows = rows_of(conversation, area, number);
        let mut next = Some(rows.row_of(byte.saturating_sub(stretch.range.start)));
        while let Some(row) = next.filter(|_| found.len() < count) {
            next = rows.next(&row);
            found.push((number, row));
        }
        if found.len() >= count {
            break;
        }
    }
    found
}

/// The byte at the top when the text is scrolled by so many rows.
pub(in crate::tui) fn scrolled(
    workbench: &Workbench,
    number: usize,
    top: usize,
    by: isize,
) -> usize {
    let Some(conversation) = workbench.conversations.get(number).map(Arc::as_ref) else {
        return 0;
    };
    let is_up = by < 0;
    let area = text_area(conversation, &workbench.areas());
    let place = |(number, row): &(usize, Row<'_>)| {
        conversation.stretches[*number].range.start + row.span.start
    };
    let row_of = |byte: usize| {
        rows_from(conversation, area, byte, 1)
            .first()
            .map_or(0, place)
    };
    let up = |top: usize, by: usize| match by < top {
        true => (0..by).fold(top, |top, _| row_of(top.saturating_sub(1))),
        // Each row has a byte at least.
        false => 0,
    };
    let length = conversation.text.len();
    match by.unsigned_abs() {
        by if is_up => up(top, by),
        // To the end, where a page is full.
        by if by >= length => {
            let rows = area.height.saturating_sub(1).into();
            up(row_of(length.saturating_sub(1)), rows).max(top)
        }
        by => {
            let rows = rows_from(conversation, area, top, by + 1);
            rows.last().map_or(top, place)
        }
    }
}

/// How many rows are seen.
pub(in crate::tui) fn height(workbench: &Workbench) -> usize {
    inner(whole(&workbench.areas())).height as usize
}
