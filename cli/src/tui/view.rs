//! What is seen. Nothing here changes the state.

pub(super) mod conversation;
pub(super) mod events;
pub(super) mod findings;
pub(super) mod help;
mod message;
pub(super) mod news;
pub(super) mod overlay;
mod paper;
pub(super) mod samples;
pub(super) mod tabs;
pub(super) mod template;
pub(super) mod text;
pub(super) mod timeline;
mod why;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Widget};

use super::keys;
use super::layout::{Areas, Pane};
use super::state::{About, Overlay, Screen, Workbench};

use paper::Sheet;

/// The name of a sample takes so many columns at the least.
const LEAST_OF_A_SAMPLE: u16 = 8;

/// In fewer columns and rows nothing can be seen.
const SMALLEST: (u16, u16) = (20, 6);

/// Draws the workbench.
pub fn draw(workbench: &Workbench, frame: &mut Frame<'_>) {
    render(workbench, frame.buffer_mut());
}

/// Draws the workbench into a buffer that is as large as the terminal.
pub fn render(workbench: &Workbench, buffer: &mut Buffer) {
    // The terminal may have another size already than the workbench knows of.
    let size = (buffer.area.width, buffer.area.height);
    let areas = workbench.areas_of(size);
    if size.0 < SMALLEST.0 || size.1 < SMALLEST.1 {
        let room = Rect {
            height: size.1.min(1),
            ..buffer.area
        };
        let words = paper::one_line("more room, please", size.0, workbench.styles.plain());
        return put_lines(&[Line::from(words)], 0, room, buffer);
    }
    title(workbench, areas.title, buffer);
    match workbench.screen {
        Screen::Replay => {
            timeline::draw(workbench, areas.timeline, buffer);
            tabs::draw(workbench, &areas, buffer);
            for &(pane, area) in &areas.panes {
                draw_pane(workbench, pane, &areas, area, buffer);
            }
        }
        Screen::Findings { .. } => findings::draw(workbench, &areas, buffer),
        Screen::Conversation { .. } => conversation::draw(workbench, &areas, buffer),
    }
    notice(workbench, areas.notice, buffer);
    bottom(workbench, areas.keys, buffer);
    match &workbench.overlay {
        Some(Overlay::Help(scrolled)) => help::draw(workbench, *scrolled, &areas, buffer),
        Some(Overlay::News(scrolled)) => news::draw(workbench, *scrolled, &areas, buffer),
        Some(Overlay::Ask(question)) => overlay::ask(workbench, question, &areas, buffer),
        Some(Overlay::Confirm(confirm)) => overlay::confirm(workbench, confirm, &areas, buffer),
        None => {}
    }
}

/// What is open, the sample, how it is cut, and where the stream is.
fn title(workbench: &Workbench, area: Rect, buffer: &mut Buffer) {
    let styles = workbench.styles;
    let mut name = format!("unjinja {}", workbench.name);
    if let Some(number) = workbench.candidate.filter(|number| *number > 0) {
        name.push_str(&format!(" (candidate {})", number + 1));
    }
    if let Some(path) = &workbench.adopted {
        name.push_str(&format!(" with {}", path.display()));
    }
    let base_name = workbench
        .name
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or_default();
    let sample = workbench.sample();
    // A conversation is no sample.
    let (sample, sign, mut place) = match workbench.screen {
        Screen::Conversation { .. } => (String::new(), "", String::new()),
        _ => (
            format!("  {}", sample.case.name),
            if sample.fails() { " ✗" } else { "" },
            format!("  {}", place(workbench)),
        ),
    };
    let width = |text: &str| Line::raw(text).width() as u16;
    let least = width(base_name) + width(&sample) + width(sign);
    if !place.is_empty() && least + width(&place) > area.width {
        place = format!("  {}", short_place(workbench));
    }
    // Where the stream is matters more than the sample, and that more than in which folder the file is. Of each
    // there is a sign at least.
    let of_sample = width(&sample).min(LEAST_OF_A_SAMPLE);
    let rest = area.width.saturating_sub(1 + of_sample + width(sign));
    let of_place = width(&place).min(rest);
    let rest = area.width.saturating_sub(1 + of_place + width(sign));
    let of_sample = width(&sample).min(rest);
    let of_name = area
        .width
        .saturating_sub(of_sample + of_place + width(sign));
    let name = match width(&name) <= of_name {
        true => name.as_str(),
        false => base_name,
    };
    let style = match sign {
        "" => styles.faint(),
        _ => styles.bad(),
    };
    let mut line = paper::one_line(name, of_name, styles.strong());
    line.extend(paper::one_line_with_end(&sample, of_sample, style));
    line.push(Span::styled(sign, style));
    line.extend(paper::one_line(&place, of_place, styles.faint()));
    buffer.set_line(area.x, area.y, &Line::from(line), area.width);
}

/// Where the stream is, where there is little room.
fn short_place(workbench: &Workbench) -> String {
    let (fed, chunks) = (workbench.fed(), workbench.replay.chunks());
    let end = if fed > chunks { " end" } else { "" };
    format!("{}/{chunks}{end}", fed.min(chunks))
}

fn place(workbench: &Workbench) -> String {
    let replay = &workbench.replay;
    let (fed, chunks) = (workbench.fed(), replay.chunks());
    // Not all that the chunk brings about has been reported.
    let within = match workbench.goal.is_none() && replay.is_within_chunk(workbench.at) {
        true => "within ",
        false => "",
    };
    let mut place = format!(
        "{}, {within}chunk {} of {chunks}",
        workbench.chunking,
        fed.min(chunks)
    );
    if fed > chunks {
        place.push_str(", the end");
    }
    if replay.is_live() {
        place.push_str(", live");
    } else if workbench.goal.is_some() {
        let read = 100 * replay.read() / replay.text().len().max(1);
        place.push_str(&format!(", read {read}%"));
    }
    if workbench.playing {
        place.push_str(&format!(
            ", playing {} a second",
            workbench.chunks_a_second()
        ));
    }
    place
}

fn draw_pane(workbench: &Workbench, pane: Pane, areas: &Areas, area: Rect, buffer: &mut Buffer) {
    if areas.has_frames {
        frame(workbench, pane, area, buffer);
    }
    let area = areas.inside(area);
    match pane {
        Pane::Text => text::draw(workbench, area, buffer),
        Pane::Events => events::draw(workbench, area, buffer),
        pane => {
            let sheet = sheet(workbench, pane, area.width);
            let top = top(workbench, pane, &sheet, area);
            put_lines(&sheet.lines, top, area, buffer);
        }
    }
}

/// The frame of a pane, with its title.
fn frame(workbench: &Workbench, pane: Pane, area: Rect, buffer: &mut Buffer) {
    let has_focus = workbench.focus == pane;
    let styles = workbench.styles;
    let title = format!(" {} {} ", pane.number() + 1, pane.title());
    let title = match has_focus {
        true => Line::styled(title, styles.chosen()),
        false => Line::styled(title, styles.strong()),
    };
    let mut block = Block::bordered()
        .border_type(if has_focus {
            BorderType::Thick
        } else {
            BorderType::Plain
        })
        .border_style(styles.border(has_focus))
        .title(title);
    if let Some(more) = subtitle(workbench, pane).filter(|more| !more.is_empty()) {
        // Beside the title there are two corners, the number, and blanks.
        let room = area.width.saturating_sub(pane.title().len() as u16 + 7);
        let more = format!(" {more} ");
        block = block.title(Line::from(paper::one_line(&more, room, styles.faint())));
    }
    block.render(area, buffer);
}

/// What stands behind the title of a pane.
fn subtitle(workbench: &Workbench, pane: Pane) -> Option<String> {
    match pane {
        Pane::Samples => Some(samples::summary(workbench)),
        Pane::Text => text::summary(workbench),
        Pane::Events => Some(events::summary(workbench)),
        Pane::Message => Some(message::summary(workbench)),
        Pane::Template => Some(template::summary(workbench)),
        Pane::Why => None,
    }
}

/// What stands in a pane that is made of lines.
fn sheet(workbench: &Workbench, pane: Pane, width: u16) -> Sheet {
    match pane {
        Pane::Samples => samples::sheet(workbench, width),
        Pane::Template => template::sheet(workbench, width),
        Pane::Why => why::sheet(workbench, width),
        Pane::Message => message::sheet(workbench, width),
        Pane::Text | Pane::Events => Sheet::default(),
    }
}

/// The line at the top of a pane: where it was scrolled to, or one from which what matters shows.
fn top(workbench: &Workbench, pane: Pane, sheet: &Sheet, area: Rect) -> usize {
    let height = area.height as usize;
    let last = sheet.lines.len().saturating_sub(height);
    match workbench.scrolled[pane.number()] {
        Some(top) => top.min(last),
        None => {
            let eye = sheet.eye.unwrap_or(0);
            eye.saturating_sub(height / 2).min(last)
        }
    }
}

/// The row at the top of a pane, and how many there are.
pub(super) fn extent(workbench: &Workbench, pane: Pane, area: Rect) -> (usize, usize) {
    match pane {
        Pane::Events => events::extent(workbench, area),
        pane => {
            let sheet = sheet(workbench, pane, area.width);
            (top(workbench, pane, &sheet, area), sheet.lines.len())
        }
    }
}

/// So many columns are enough for what is copied.
const COPIED: u16 = 120;

/// What stands in a pane that is made of lines, as text.
pub(super) fn copied(workbench: &Workbench, pane: Pane) -> String {
    text_of(&sheet(workbench, pane, COPIED))
}

fn text_of(sheet: &Sheet) -> String {
    let lines = sheet.lines.iter();
    lines
        .map(|line| format!("{}\n", line.to_string().trim_end()))
        .collect()
}

fn put_lines(lines: &[Line<'static>], top: usize, area: Rect, buffer: &mut Buffer) {
    for (line, y) in lines.iter().skip(top).zip(area.y..area.bottom()) {
        buffer.set_line(area.x, y, line, area.width);
    }
}

fn notice(workbench: &Workbench, area: Rect, buffer: &mut Buffer) {
    let Some(notice) = &workbench.notice else {
        return;
    };
    let style = news::style(workbench, notice.weight);
    let is_cut = paper::width_of(&notice.text) > area.width as usize;
    let hint = match is_cut && workbench.overlay.is_none() {
        true => format!(" {} all of it", keys::name(keys::Action::News)),
        false => String::new(),
    };
    let room = area.width.saturating_sub(hint.len() as u16);
    let mut line = paper::one_line(&notice.text, room, style);
    line.push(Span::styled(hint, workbench.styles.strong()));
    buffer.set_line(area.x, area.y, &Line::from(line), area.width);
}

/// Lines from one on; where not all of them fit, the last row says how many more there are, and which key leads
/// there.
fn put_scrolled(
    workbench: &Workbench,
    lines: &[Line<'static>],
    top: usize,
    area: Rect,
    buffer: &mut Buffer,
) {
    put_lines(lines, top, area, buffer);
    let below = lines.len().saturating_sub(top + area.height as usize);
    if below == 0 || area.height < 2 {
        return;
    }
    // Its own row hides one, too.
    let more = format!("↓ {} rows more: PgDn", below + 1);
    let room = area.width as usize;
    let more = paper::one_line(
        &format!("{more:<room$}"),
        area.width,
        workbench.styles.strong(),
    );
    buffer.set_line(area.x, area.bottom() - 1, &Line::from(more), area.width);
}

/// The keys that matter most.
fn bottom(workbench: &Workbench, area: Rect, buffer: &mut Buffer) {
    let styles = workbench.styles;
    let mut spans = Vec::new();
    let mut width = 0;
    for (name, words) in keys_at_the_bottom(workbench) {
        let words = format!(" {words}  ");
        width += name.chars().count() + words.chars().count();
        if width > area.width as usize {
            break;
        }
        spans.push(Span::styled(name, styles.strong()));
        spans.push(Span::styled(words, styles.faint()));
    }
    buffer.set_line(area.x, area.y, &Line::from(spans), area.width);
}

fn keys_at_the_bottom(workbench: &Workbench) -> Vec<(&'static str, &'static str)> {
    match &workbench.overlay {
        Some(Overlay::Ask(question)) if question.about == About::Text => {
            return vec![("Ctrl-D", "done"), ("Esc", "leave")];
        }
        Some(Overlay::Ask(_)) => {
            return vec![
                ("Enter", "done"),
                ("Esc", "leave"),
                ("Ctrl-U", "empty the line"),
            ];
        }
        Some(Overlay::Confirm(_)) => {
            return vec![("y", "yes"), ("n", "no"), ("↑↓", "scroll")];
        }
        Some(Overlay::Help(_) | Overlay::News(_)) => {
            return vec![("↑↓", "scroll"), ("g G", "to the ends"), ("Esc", "back")];
        }
        None => {}
    }
    if matches!(workbench.screen, Screen::Findings { .. }) {
        return vec![
            ("?", "help"),
            ("Esc", "back"),
            ("↑↓", "choose"),
            ("Enter", "take it, or open it"),
            ("PgUp PgDn", "go through what shows it"),
        ];
    }
    if matches!(workbench.screen, Screen::Conversation { .. }) {
        let mut keys = vec![
            ("?", "help"),
            ("Esc", "back"),
            ("↑↓ PgUp PgDn", "go through it"),
        ];
        if workbench.conversations.len() > 1 {
            keys.push(("} {", "another"));
        }
        keys.push(("┃", "the model writes this"));
        return keys;
    }
    // How to learn more and how to get out have to be there in any case.
    let first = [(keys::Action::Help, "help"), (keys::Action::Quit, "quit")];
    let all = first.iter().chain(keys::of_pane(workbench.focus));
    all.map(|(action, words)| (keys::name(*action), *words))
        .collect()
}

/// Fills an area, so that what was drawn there before does not show.
fn clear(areas: &Areas, area: Rect, buffer: &mut Buffer) -> Rect {
    let area = area.intersection(Rect {
        y: areas.title.y,
        ..*buffer.area()
    });
    ratatui::widgets::Clear.render(area, buffer);
    area
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::Target;

    #[test]
    fn a_terminal_that_has_become_smaller_is_drawn_as_it_is_before_that_is_reported() {
        let loaded = Target::new("../examples/chat_template.jinja").load(None);
        let workbench = Workbench::new(loaded.unwrap(), Vec::new(), (140, 45));
        for (width, height) in [(139, 45), (140, 44), (200, 60), (30, 10), (1, 1), (0, 0)] {
            let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
            render(&workbench, &mut buffer);
            let drawn = buffer.content().iter().any(|cell| cell.symbol() != " ");
            assert_eq!(drawn, width > 0, "{width}x{height}");
        }
    }
}
