//! The response template, with the field at work.

use ratatui::style::Modifier;

use crate::tui::loaded::TemplatePlace;
use crate::tui::state::Workbench;
use unjinja::json;
use unjinja_replay::EventKind;

use super::paper::{Paper, Sheet};

pub(super) fn summary(workbench: &Workbench) -> String {
    match &workbench.place {
        TemplatePlace::Derived => "derived".into(),
        place => {
            let name = place.file().and_then(|path| path.file_name());
            name.unwrap_or_default().to_string_lossy().into_owned()
        }
    }
}

pub(super) fn sheet(workbench: &Workbench, width: u16) -> Sheet {
    let styles = workbench.styles;
    let mut paper = Paper::new(width);
    trouble(workbench, &mut paper);
    let at_work = field_at_work(workbench);
    let text = json::write_styled(workbench.template.as_value(), &json::Style::pretty(2));
    let mut field = None;
    let mut in_fields = false;
    let mut in_fired_list = false;
    let found = delimiter_found(workbench);
    for line in text.lines() {
        let depth = line.len() - line.trim_start().len();
        match depth {
            0..=2 => in_fields = line.trim_start().starts_with("\"fields\": {"),
            4 if in_fields => {
                let name = name_of(line);
                field = name
                    .filter(|name| at_work.as_ref().is_some_and(|(at_work, _)| at_work == name));
            }
            _ => {}
        }
        let is_at_work = in_fields && depth >= 4 && field.is_some();
        let key = name_of(line).unwrap_or_default();
        let fired = at_work.as_ref().and_then(|(_, key)| *key);
        let is_fired =
            is_at_work && depth == 6 && fired.is_some_and(|fired| key.starts_with(fired));
        match depth {
            6 => in_fired_list = is_fired && line.ends_with('['),
            ..6 => in_fired_list = false,
            _ => {}
        }
        // Of a list, the element that was found.
        let has_fired = match in_fired_list {
            true => depth == 8 && line.trim().trim_end_matches(',') == found,
            false => is_fired,
        };
        if is_at_work && depth == 4 && field.is_some() && !line.trim_start().starts_with('}') {
            paper.look_here();
        }
        let named = match depth {
            4 if in_fields => number_of(workbench, &key),
            _ => None,
        };
        let style = match (has_fired, is_at_work) {
            (true, _) => styles.chosen(),
            _ if named.is_some() => styles
                .field(named.unwrap_or(0))
                .add_modifier(Modifier::BOLD),
            (_, true) => styles.strong(),
            _ => styles.faint(),
        };
        paper.put(if is_at_work { "┃" } else { " " }, styles.strong());
        paper.indent(depth + 3);
        paper.json_line(line, style);
        paper.indent(0);
    }
    let mut sheet = paper.finish();
    if workbench.trouble.is_some() {
        sheet.eye = None;
    }
    sheet
}

/// Of a line of a file with a fault, no more than this is shown on each side of it: some files are one
/// long line.
const SHOWN: usize = 160;

/// The key that a line of the template begins with.
fn name_of(line: &str) -> Option<String> {
    let rest = line.trim_start().strip_prefix('"')?;
    let (name, _) = rest.split_once("\":")?;
    Some(name.to_owned())
}

/// The field that the last event is about, or that takes the next text, and which of its keys has
/// just done something.
pub(in crate::tui) fn field_at_work(
    workbench: &Workbench,
) -> Option<(String, Option<&'static str>)> {
    let replay = &workbench.replay;
    let last = replay.events(workbench.at).last();
    let of_last = |key| last.map(|last| (replay.field(last.field).to_owned(), key));
    match last.map(|last| last.what) {
        Some(EventKind::Open(_)) => of_last(Some("open")),
        Some(EventKind::Close(_)) => of_last(Some("close")),
        Some(EventKind::Malformed(_)) => of_last(Some("content")),
        Some(EventKind::Chunk { .. }) => of_last(None),
        None => {
            let field = workbench.waiting.as_ref()?.field.clone()?;
            Some((field, None))
        }
    }
}

/// The number of a field, which has its colour.
fn number_of(workbench: &Workbench, name: &str) -> Option<u16> {
    let mut fields = workbench.template.fields().iter();
    let number = fields.position(|field| field.name() == name);
    number.map(|number| number as u16)
}

/// The delimiter that the last event is about, as it is written in JSON.
fn delimiter_found(workbench: &Workbench) -> String {
    let replay = &workbench.replay;
    let last = replay.events(workbench.at).last();
    let text = last.map_or("", |last| &replay.text()[last.span()]);
    let text = &text[..text.floor_char_boundary(SHOWN)];
    json::write(&text.into())
}

/// What is wrong with the file, at its place.
fn trouble(workbench: &Workbench, paper: &mut Paper) {
    let styles = workbench.styles;
    let Some(trouble) = &workbench.trouble else {
        return;
    };
    // Where it is matters more than what else is wrong.
    let mut faults = trouble.message.lines();
    paper.line(faults.next().unwrap_or_default(), styles.bad());
    let place = trouble.place.as_ref().map(|(_, place)| *place);
    for (number, line) in &trouble.excerpt {
        paper.put(&format!("{number:>4} "), styles.faint());
        paper.indent(5);
        let column = place.filter(|(line, _)| line == number);
        let at = column.map(|(_, column)| byte_of_column(line, column));
        let (before, behind) = line.split_at(at.unwrap_or(0));
        paper.put(shortened_start(before), styles.plain());
        let next = behind.chars().next().filter(|_| at.is_some());
        let (marked, rest) = behind.split_at(next.map_or(0, char::len_utf8));
        paper.put(marked, styles.cursor());
        paper.line(&rest[..rest.floor_char_boundary(SHOWN)], styles.plain());
        paper.indent(0);
    }
    faults.for_each(|fault| paper.line(fault, styles.bad()));
    paper.line("the last good one stays in use:", styles.strong());
}

fn byte_of_column(line: &str, column: usize) -> usize {
    let mut places = line.char_indices().map(|(at, _)| at);
    places.nth(column.saturating_sub(1)).unwrap_or(line.len())
}

fn shortened_start(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(SHOWN))..]
}
