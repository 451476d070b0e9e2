//! What the chat template says, with the renderings that show it, the other drafts, and what is wrong with it.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Block, Widget};

use crate::difference::{self, Change};
use crate::tui::layout::{Areas, inner};
use crate::tui::loaded::LoadedFormat;
use crate::tui::sample::LEFT_OUT;
use crate::tui::state::{Screen, Workbench};
use unjinja::analysis::{Certainty, Evidence};
use unjinja::derive::Candidate;
use unjinja::json;
use unjinja::lint::Level;

use super::paper::{Paper, Sheet, one_line, side_by_side};

/// From this width on two renderings stand side by side.
const ROOM_FOR_BOTH: u16 = 60;

/// Of what two renderings have in common, no more than this is shown at a stretch.
const SHARED: usize = 160;

/// How many rows can be chosen: the findings, the candidates, the texts that are out of line, and the complaints.
pub(in crate::tui) fn rows(workbench: &Workbench) -> usize {
    let format = workbench.format.as_deref();
    format.map_or(0, |format| {
        let drafts = format.statements.len() + format.candidates.len();
        drafts + format.outliers.len() + format.complaints.len()
    })
}

/// The list, and the details of the row that is chosen.
fn halves(areas: &Areas) -> [Rect; 2] {
    let body = areas.timeline.union(areas.body);
    match body.width >= 110 {
        true => Layout::horizontal([Constraint::Percentage(42), Constraint::Fill(1)]).areas(body),
        false => Layout::vertical([Constraint::Percentage(45), Constraint::Fill(1)]).areas(body),
    }
}

/// How many lines of details there are, and how many are seen.
pub(in crate::tui) fn extent(workbench: &Workbench) -> (usize, usize) {
    let area = inner(halves(&workbench.areas())[1]);
    (
        details(workbench, area.width).lines.len(),
        area.height as usize,
    )
}

fn top(workbench: &Workbench, list: &Sheet, area: Rect) -> usize {
    let Screen::Findings { .. } = workbench.screen else {
        return 0;
    };
    let height = area.height as usize;
    let last = list.lines.len().saturating_sub(height);
    list.eye.unwrap_or(0).saturating_sub(height / 2).min(last)
}

/// The row at a place of the screen.
pub(in crate::tui) fn row_at(workbench: &Workbench, position: Position) -> Option<usize> {
    let area = inner(halves(&workbench.areas())[0]);
    if !area.contains(position) {
        return None;
    }
    let (list, rows) = list(workbench, area.width);
    let line = top(workbench, &list, area) + (position.y - area.y) as usize;
    rows.get(line).copied().flatten()
}

pub(super) fn draw(workbench: &Workbench, areas: &Areas, buffer: &mut Buffer) {
    let Screen::Findings { scrolled, .. } = workbench.screen else {
        return;
    };
    let styles = workbench.styles;
    let [left, right] = halves(areas);
    let titles = [
        " Findings, candidates, texts out of line, complaints ",
        " What shows it ",
    ];
    for (area, title) in [left, right].into_iter().zip(titles) {
        let title = one_line(title, area.width.saturating_sub(2), styles.strong());
        let block = Block::bordered().border_style(styles.border(false));
        block.title(Line::from(title)).render(area, buffer);
    }
    let area = inner(left);
    let (list, _) = list(workbench, area.width);
    super::put_lines(&list.lines, top(workbench, &list, area), area, buffer);
    let area = inner(right);
    let details = details(workbench, area.width);
    super::put_scrolled(workbench, &details.lines, scrolled, area, buffer);
}

/// The lines of the list, and the row that each belongs to.
fn list(workbench: &Workbench, width: u16) -> (Sheet, Vec<Option<usize>>) {
    let styles = workbench.styles;
    let (Some(format), Screen::Findings { row: chosen, .. }) =
        (&workbench.format, workbench.screen)
    else {
        return (Sheet::default(), Vec::new());
    };
    let mut sheet = Sheet::default();
    let mut rows = Vec::new();
    let mut add = |row: Option<usize>, lines: Vec<Line<'static>>| {
        if row == Some(chosen) {
            sheet.eye = Some(sheet.lines.len());
        }
        rows.extend(lines.iter().map(|_| row));
        sheet.lines.extend(lines);
    };
    let mark = |row: usize, style: Style| {
        if row == chosen {
            styles.chosen()
        } else {
            style
        }
    };
    for (row, statement) in format.statements.iter().enumerate() {
        let mut paper = Paper::new(width);
        paper.put(statement.subject.key(), mark(row, styles.strong()));
        paper.tab_to(11);
        paper.indent(11);
        paper.put(
            &statement.text.replace('\n', " "),
            mark(row, styles.plain()),
        );
        if statement.certainty != Certainty::Seen {
            paper.put(
                &format!("  ({})", statement.certainty.key()),
                styles.faint(),
            );
        }
        add(Some(row), paper.finish().lines);
    }
    add(None, vec![Line::default()]);
    for (number, candidate) in format.candidates.iter().enumerate() {
        let row = format.statements.len() + number;
        let in_use = if workbench.candidate == Some(number) {
            "in use"
        } else {
            ""
        };
        let mut paper = Paper::new(width);
        paper.put(
            &format!("candidate {:<2}", number + 1),
            mark(row, styles.strong()),
        );
        paper.indent(11);
        paper.put(
            &format!(" {} ", scores(candidate)),
            mark(row, styles.plain()),
        );
        paper.put_together(&[(in_use, styles.good())]);
        add(Some(row), paper.finish().lines);
    }
    if !format.outliers.is_empty() {
        add(None, vec![Line::default()]);
    }
    for (number, outlier) in format.outliers.iter().enumerate() {
        let row = format.statements.len() + format.candidates.len() + number;
        let style = match outlier.kind {
            "not recovered" => styles.bad(),
            _ => styles.strong(),
        };
        let mut paper = Paper::new(width);
        paper.put(outlier.kind, mark(row, style));
        paper.indent(11);
        paper.put(
            &format!(" {}", outlier.case.name),
            mark(row, styles.plain()),
        );
        add(Some(row), paper.finish().lines);
    }
    if !format.complaints.is_empty() {
        add(None, vec![Line::default()]);
    }
    let before = format.statements.len() + format.candidates.len() + format.outliers.len();
    for (number, complaint) in format.complaints.iter().enumerate() {
        let row = before + number;
        let style = match complaint.level {
            Level::Error => styles.bad(),
            _ => styles.strong(),
        };
        let mut paper = Paper::new(width);
        paper.put(complaint.level.key(), mark(row, style));
        paper.tab_to(11);
        paper.indent(11);
        let place = complaint.diagnostic.position;
        let line = place.map_or_else(String::new, |place| format!(", line {}", place.line));
        let words = format!("{} {}{line}", complaint.lint.code(), complaint.lint.name());
        paper.put(&words, mark(row, styles.plain()));
        add(Some(row), paper.finish().lines);
    }
    (sheet, rows)
}

/// How many texts of each kind it recovers, where there are any.
fn scores(candidate: &Candidate) -> String {
    let kinds = [
        ("rendered", candidate.rendered),
        ("made up", candidate.synthetic),
        ("damaged", candidate.damaged),
    ];
    let kinds = kinds.iter().filter(|(_, tally)| tally.total > 0);
    let kinds = kinds.map(|(kind, tally)| format!("{kind} {}/{}", tally.recovered, tally.total));
    kinds.collect::<Vec<String>>().join(", ")
}

fn details(workbench: &Workbench, width: u16) -> Sheet {
    let (Some(format), Screen::Findings { row, .. }) = (&workbench.format, workbench.screen) else {
        return Sheet::default();
    };
    match format.statements.get(row) {
        Some(statement) => {
            let shows = |evidence: &&Evidence| evidence.subject == statement.subject;
            let shown: Vec<&Evidence> = format.evidence.iter().filter(shows).collect();
            evidence(workbench, &shown, width)
        }
        None => {
            let number = row - format.statements.len();
            let Some(number) = number.checked_sub(format.candidates.len()) else {
                return candidate(workbench, format, number, width);
            };
            match number.checked_sub(format.outliers.len()) {
                Some(number) => complaint(workbench, format, number, width),
                None => outlier(workbench, format, number, width),
            }
        }
    }
}

/// What shows what is chosen, as text.
pub(in crate::tui) fn copied(workbench: &Workbench) -> String {
    super::text_of(&details(workbench, super::COPIED))
}

/// Renderings two by two, side by side.
fn evidence(workbench: &Workbench, all: &[&Evidence], width: u16) -> Sheet {
    let styles = workbench.styles;
    let mut sheet = Sheet::default();
    if all.is_empty() {
        let mut paper = Paper::new(width);
        paper.line("no rendering shows it", styles.faint());
        return paper.finish();
    }
    for evidence in all {
        let (without, with) = (&evidence.without, &evidence.with);
        let changes = difference::words(&without.text, &with.text);
        let is_beside = width >= ROOM_FOR_BOTH;
        let half = if is_beside { width / 2 - 1 } else { width };
        let first = rendering(workbench, &without.title, &changes, half, |change| {
            change.before
        });
        let second = rendering(workbench, &with.title, &changes, half, |change| {
            change.after
        });
        match is_beside {
            true => sheet.lines.extend(side_by_side(
                first.lines,
                second.lines,
                half,
                styles.faint(),
            )),
            false => sheet
                .lines
                .extend(first.lines.into_iter().chain(second.lines)),
        }
        sheet.lines.push(Line::default());
    }
    sheet
}

/// One of two renderings, with what only it has marked.
fn rendering(
    workbench: &Workbench,
    name: &str,
    changes: &[Change<'_>],
    width: u16,
    side: impl for<'t> Fn(&Change<'t>) -> &'t str,
) -> Sheet {
    let styles = workbench.styles;
    let mut paper = Paper::new(width);
    paper.line(name, styles.strong());
    for (number, change) in changes.iter().enumerate() {
        let text = side(change);
        if !change.is_equal() {
            if !text.is_empty() {
                paper.put("⟦", styles.changed());
                paper.put(text, styles.changed());
                paper.put("⟧", styles.changed());
            }
            continue;
        }
        let (is_first, is_last) = (number == 0, number + 1 == changes.len());
        shared(&mut paper, text, is_first, is_last, styles.plain());
    }
    paper.finish()
}

/// What both have, as much of it as is needed around what differs.
fn shared(paper: &mut Paper, text: &str, is_first: bool, is_last: bool, style: Style) {
    let (start, end) = (
        text.floor_char_boundary(SHARED),
        text.ceil_char_boundary(text.len().saturating_sub(SHARED)),
    );
    let is_long = end > start;
    if is_long && !is_first {
        paper.put(&text[..start], style);
    }
    if is_long {
        paper.put("…", style);
    }
    match (is_long, is_last) {
        (true, true) => {}
        (true, false) => paper.put(&text[end..], style),
        (false, _) => paper.put(text, style),
    }
}

/// A text that is out of line, why, and what was said.
fn outlier(workbench: &Workbench, format: &LoadedFormat, number: usize, width: u16) -> Sheet {
    let styles = workbench.styles;
    let mut paper = Paper::new(width);
    let Some(outlier) = format.outliers.get(number) else {
        return paper.finish();
    };
    paper.line(&outlier.why, styles.strong());
    paper.line(
        "Enter opens it as a sample, which is tried on every template from then on.",
        styles.faint(),
    );
    let lost = outlier.remark.iter().map(|remark| &remark.lost);
    for lost in lost.filter(|lost| !lost.is_empty()) {
        paper.end_line();
        paper.line("this was said, and is not in the text:", styles.strong());
        let lost = json::write_styled(&lost.clone().into(), &json::Style::pretty(2));
        lost.lines()
            .for_each(|line| paper.line(line, styles.plain()));
    }
    paper.end_line();
    paper.line("the text:", styles.strong());
    paper.put(&outlier.case.output, styles.plain());
    paper.end_line();
    if let Some(message) = &outlier.case.expected.message {
        paper.end_line();
        let title = match outlier.kind {
            LEFT_OUT => "what is expected of it:",
            _ => "what was said, and is expected of it:",
        };
        paper.line(title, styles.strong());
        let message = json::write_styled(&message.clone().into(), &json::Style::pretty(2));
        message
            .lines()
            .for_each(|line| paper.line(line, styles.plain()));
    }
    paper.finish()
}

/// What is wrong with the chat template, and a conversation that shows it.
fn complaint(workbench: &Workbench, format: &LoadedFormat, number: usize, width: u16) -> Sheet {
    let styles = workbench.styles;
    let mut paper = Paper::new(width);
    let Some(complaint) = format.complaints.get(number) else {
        return paper.finish();
    };
    paper.line(&complaint.diagnostic.message, styles.strong());
    if let Some(remedy) = &complaint.diagnostic.remedy {
        paper.line(remedy, styles.plain());
    }
    let Some(shown) = &complaint.shown else {
        return paper.finish();
    };
    paper.end_line();
    paper.line("this conversation shows it:", styles.strong());
    let messages = json::write_styled(&shown.messages, &json::Style::pretty(2));
    messages
        .lines()
        .for_each(|line| paper.line(line, styles.plain()));
    let Some(text) = &shown.text else {
        return paper.finish();
    };
    paper.end_line();
    paper.line("the rendering:", styles.strong());
    let marked = shown.marked.clone().unwrap_or(text.len()..text.len());
    let parts = (
        text.get(..marked.start),
        text.get(marked.clone()),
        text.get(marked.end..),
    );
    if let (Some(before), Some(marked), Some(behind)) = parts {
        paper.put(before, styles.plain());
        paper.put("⟦", styles.changed());
        paper.put(marked, styles.changed());
        paper.put("⟧", styles.changed());
        paper.put(behind, styles.plain());
    }
    paper.finish()
}

/// What a draft does, and how it differs from the one in use.
fn candidate(workbench: &Workbench, format: &LoadedFormat, number: usize, width: u16) -> Sheet {
    let styles = workbench.styles;
    let mut paper = Paper::new(width);
    let Some(candidate) = format.candidates.get(number) else {
        return paper.finish();
    };
    paper.line(&scores(candidate), styles.strong());
    for choice in &candidate.differences {
        paper.put("- ", styles.plain());
        paper.indent(2);
        paper.line(choice, styles.plain());
        paper.indent(0);
    }
    paper.end_line();
    let pretty = |value| json::write_styled(value, &json::Style::pretty(2)) + "\n";
    let (used, this) = (
        pretty(workbench.template.as_value()),
        pretty(candidate.template.as_value()),
    );
    if used == this {
        paper.line("it is in use:", styles.good());
    }
    for change in difference::lines(&used, &this) {
        let is_same = change.is_equal();
        if !is_same {
            put_json(&mut paper, "-", change.before, styles.plain());
        }
        let (sign, style) = if is_same {
            (" ", styles.faint())
        } else {
            ("+", styles.added())
        };
        put_json(&mut paper, sign, change.after, style);
    }
    paper.finish()
}

/// Lines of JSON, each behind a sign; what goes on on another line is indented further.
fn put_json(paper: &mut Paper, sign: &str, json: &str, style: Style) {
    for line in json.lines() {
        let depth = line.len() - line.trim_start().len();
        paper.put(&format!("{sign} "), style);
        paper.indent(depth + 4);
        paper.json_line(line, style);
        paper.indent(0);
    }
}
