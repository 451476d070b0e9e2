//! What is asked in front of the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::widgets::{Block, Widget};

use crate::tui::layout::{Areas, inner};
use crate::tui::message::Kept;
use crate::tui::state::{About, Confirm, Found, Question, Workbench};

use super::message;
use super::paper::Paper;

/// Of a text that is typed, this much before the place where letters go is shown.
const SHOWN: usize = 4096;

pub(super) fn ask(workbench: &Workbench, question: &Question, areas: &Areas, buffer: &mut Buffer) {
    let (title, height) = match question.about {
        About::Search => (
            " Search the text, its events and the names of samples: Enter stays, Esc leaves ",
            3,
        ),
        About::Byte => (" To which byte of the text? Enter goes, Esc leaves ", 3),
        About::Length => (" Pieces of how many bytes? Enter cuts, Esc leaves ", 3),
        About::Text => (" A text to replay: Ctrl-D ends it, Esc leaves ", 12),
        About::TemplateFile { .. } => (
            " Write the response template to: Enter writes, Esc leaves ",
            3,
        ),
        About::Expectation => (
            " Expect this of the sample of this name: Enter accepts, Esc leaves ",
            u16::MAX,
        ),
        About::CaseName => (
            " Save this as a case of this name: Enter goes on to the file, Esc leaves ",
            u16::MAX,
        ),
        About::FixtureFile => (
            " Save the text and its message in the fixture: Enter saves, Esc leaves ",
            3,
        ),
    };
    let styles = workbench.styles;
    let found = found(workbench, question);
    let title = found.as_deref().unwrap_or(title);
    let area = frame(workbench, title, height, areas, buffer);
    let area = match question.about {
        About::Expectation | About::CaseName => acceptance(workbench, area, 1, buffer),
        _ => area,
    };
    let mut paper = Paper::new(area.width);
    let (before, behind) = question.text.split_at(question.cursor);
    let from = before.ceil_char_boundary(before.len().saturating_sub(SHOWN));
    paper.put(&before[from..], styles.plain());
    paper.look_here();
    let mut rest = behind.chars();
    match rest.next() {
        Some(next) if next != '\n' => paper.put(next.encode_utf8(&mut [0; 4]), styles.cursor()),
        Some(_) => paper.put("\n", styles.cursor()),
        None => paper.put(" ", styles.cursor()),
    }
    let rest = rest.as_str();
    paper.put(&rest[..rest.floor_char_boundary(SHOWN)], styles.plain());
    let sheet = paper.finish();
    let eye = sheet.eye.unwrap_or(0) + 1;
    let top = eye.saturating_sub(area.height as usize);
    super::put_lines(&sheet.lines, top, area, buffer);
}

/// What has been found of what is being typed, if that is searched for.
fn found(workbench: &Workbench, question: &Question) -> Option<String> {
    if question.about != About::Search || question.text.is_empty() {
        return None;
    }
    let Found {
        places,
        shown,
        names,
    } = workbench.found;
    Some(match (places, names) {
        (0, 0) => " nothing: Esc leaves ".to_owned(),
        // Names are gone to where there is no place.
        (0, 1) => " no place, but the name of a sample: Enter goes there, Esc leaves ".to_owned(),
        (0, _) => {
            format!(" no place, but the names of {names} samples: Enter goes there, Esc leaves ")
        }
        (1, _) => " 1 place: Enter stays, Esc leaves ".to_owned(),
        _ => format!(" {shown} of {places} places: Enter stays, Esc leaves "),
    })
}

pub(super) fn confirm(
    workbench: &Workbench,
    confirm: &Confirm,
    areas: &Areas,
    buffer: &mut Buffer,
) {
    let styles = workbench.styles;
    let is_expectation = matches!(confirm.keep.what, Kept::Expectation { .. });
    let height = if is_expectation { u16::MAX } else { 4 };
    let area = frame(workbench, " y does it, n leaves it ", height, areas, buffer);
    let area = match is_expectation {
        true => acceptance(workbench, area, 2, buffer),
        false => area,
    };
    let mut paper = Paper::new(area.width);
    paper.line(&confirm.question, styles.strong());
    super::put_lines(&paper.finish().lines, 0, area, buffer);
}

/// Shows what would be expected from now on, and leaves so many rows below it.
fn acceptance(workbench: &Workbench, area: Rect, rows: u16, buffer: &mut Buffer) -> Rect {
    let [above, below] =
        Layout::vertical([Constraint::Fill(1), Constraint::Length(rows)]).areas(area);
    let sheet = message::acceptance(workbench, above.width);
    let last = sheet.lines.len().saturating_sub(above.height as usize);
    let top = workbench.preview_scrolled.min(last);
    super::put_scrolled(workbench, &sheet.lines, top, above, buffer);
    below
}

/// How many rows there are of what is about to be expected.
pub(in crate::tui) fn acceptance_rows(workbench: &Workbench) -> usize {
    let width = workbench.areas().body.width.saturating_sub(2);
    message::acceptance(workbench, width).lines.len()
}

/// A frame at the bottom of the screen; what is left within it.
fn frame(
    workbench: &Workbench,
    title: &str,
    height: u16,
    areas: &Areas,
    buffer: &mut Buffer,
) -> Rect {
    let body = areas.body;
    let height = height.min(body.height);
    let area = Rect {
        y: body.bottom() - height,
        height,
        ..body
    };
    let area = super::clear(areas, area, buffer);
    let block = Block::bordered().border_style(workbench.styles.border(true));
    let room = area.width.saturating_sub(2);
    let title = super::paper::one_line(title, room, workbench.styles.strong());
    block
        .title(ratatui::text::Line::from(title))
        .render(area, buffer);
    inner(area)
}
