//! The message as it grows, and beside it what was expected.

use ratatui::style::Style;
use ratatui::text::Line;

use crate::tui::sample::Verdict;
use crate::tui::state::Workbench;
use unjinja::check::Failure;
use unjinja_replay::Against;
use unjinja_replay::comparison::{Mark, Pair, Shown, alone, pairs};
use unjinja_replay::with_ends;

use super::paper::{Paper, Sheet, side_by_side};
use super::samples;

/// From this width on the two stand beside each other.
const ROOM_FOR_BOTH: u16 = 50;

pub(super) fn summary(workbench: &Workbench) -> String {
    let expected = &workbench.sample().case.expected;
    match (&expected.message, &expected.error) {
        (Some(_), _) => "│ what was expected".into(),
        (None, Some(_)) => "an error is expected".into(),
        (None, None) => "nothing is expected".into(),
    }
}

pub(super) fn sheet(workbench: &Workbench, width: u16) -> Sheet {
    let styles = workbench.styles;
    let mut head = Paper::new(width);
    samples::verdict(workbench, &mut head);
    let says_it =
        |failure: &Failure| matches!(failure, Failure::NotParsed(_) | Failure::OtherError { .. });
    let is_said = match &workbench.sample().verdict {
        Verdict::Failed(failures) => failures.iter().any(says_it),
        _ => false,
    };
    if workbench.replay.is_end(workbench.at)
        && let Some(Err(error)) = workbench.replay.outcome()
        && !is_said
    {
        head.line(&error.to_string(), styles.bad());
    }
    let mut sheet = head.finish();
    let expected = workbench.sample().case.expected.message.as_ref();
    let pairs = pairs(&workbench.replay, workbench.at, expected, Against::Expected);
    put_pairs(workbench, &pairs, expected.is_some(), width, &mut sheet);
    if workbench.replay.is_end(workbench.at) {
        whole(workbench, width, &mut sheet);
        remarks(workbench, width, &mut sheet);
    }
    sheet
}

/// What else is known of the sample, which should be seen where nothing is wrong.
fn remarks(workbench: &Workbench, width: u16, sheet: &mut Sheet) {
    for remark in &workbench.sample().remarks {
        let mut paper = Paper::new(width);
        paper.end_line();
        if !workbench.sample().fails() {
            sheet.eye = Some(sheet.lines.len() + 1);
        }
        paper.line(&remark.words(), workbench.styles.warning());
        sheet.lines.extend(paper.finish().lines);
        let lost = alone(&workbench.replay, &remark.lost);
        let lines = lost
            .iter()
            .flat_map(|pair| side(workbench, pair, pair.actual.as_ref(), width).lines);
        sheet.lines.extend(lines);
    }
}

/// What the text means as a whole, beside what the stream has made of it, where these differ.
fn whole(workbench: &Workbench, width: u16, sheet: &mut Sheet) {
    let styles = workbench.styles;
    let Some(whole) = workbench.replay.whole() else {
        return;
    };
    let mut paper = Paper::new(width);
    paper.end_line();
    paper.line(
        "Read as a whole, the text means something else, as stands on the right:",
        styles.bad(),
    );
    if let Err(error) = whole {
        paper.line(&error.to_string(), styles.plain());
    }
    sheet.lines.extend(paper.finish().lines);
    if let Ok(message) = whole {
        let pairs = pairs(
            &workbench.replay,
            workbench.at,
            Some(message),
            Against::Whole,
        );
        let eye = sheet.eye;
        put_pairs(workbench, &pairs, true, width, sheet);
        sheet.eye = eye.or(sheet.eye);
    }
}

/// What comes out, which is about to be expected, beside what was expected before.
pub(super) fn acceptance(workbench: &Workbench, width: u16) -> Sheet {
    let styles = workbench.styles;
    let replay = &workbench.replay;
    let mut head = Paper::new(width);
    match replay.outcome() {
        Some(Err(error)) => {
            head.line(
                "What comes out is an error: that the text can't be parsed would be expected.",
                styles.bad(),
            );
            head.line(&error.to_string(), styles.plain());
        }
        _ => head.line("What comes out is a message:", styles.strong()),
    }
    let before = &workbench.sample().case.expected;
    if let Some(error) = &before.error {
        let words = format!("An error was expected that says {error:?}.");
        head.line(&words, styles.strong());
    }
    if before.events.is_some() {
        head.line(
            "Events are expected: those that came take their place.",
            styles.strong(),
        );
    }
    let mut sheet = head.finish();
    let expected = before.message.as_ref();
    let pairs = pairs(replay, replay.last(), expected, Against::Expected);
    put_pairs(workbench, &pairs, expected.is_some(), width, &mut sheet);
    sheet
}

fn put_pairs(
    workbench: &Workbench,
    pairs: &[Pair],
    has_other: bool,
    width: u16,
    sheet: &mut Sheet,
) {
    let eye = eye(pairs);
    let is_beside = has_other && width >= ROOM_FOR_BOTH;
    let mut number = 0;
    for group in groups(pairs) {
        if eye.is_some_and(|eye| (number..number + group.len()).contains(&eye)) {
            sheet.eye = Some(sheet.lines.len() + eye.map_or(0, |eye| eye - number));
        }
        number += group.len();
        let lines = match is_beside {
            true => beside(workbench, group, width),
            false => below(workbench, group, width),
        };
        sheet.lines.extend(lines);
    }
}

/// The first difference, or what has come last.
fn eye(pairs: &[Pair]) -> Option<usize> {
    let wrong = |pair: &Pair| matches!(pair.mark, Mark::Other | Mark::Extra | Mark::Missing);
    let last = || pairs.iter().rposition(|pair| pair.actual.is_some());
    pairs.iter().position(wrong).or_else(last)
}

fn sign(mark: Mark) -> &'static str {
    match mark {
        Mark::Same => " ",
        Mark::Other => "≠",
        Mark::Extra => "+",
        Mark::Missing => "-",
        Mark::ToCome => "·",
    }
}

fn style(workbench: &Workbench, mark: Mark) -> Style {
    match mark {
        Mark::Same => workbench.styles.plain(),
        Mark::Other | Mark::Missing => workbench.styles.bad(),
        Mark::Extra => workbench.styles.added(),
        Mark::ToCome => workbench.styles.faint(),
    }
}

/// The pairs, each with the parts below it that only the expected one has: they need not wait for all
/// lines of the other.
fn groups(pairs: &[Pair]) -> impl Iterator<Item = &[Pair]> {
    pairs.chunk_by(|first, next| {
        let only_expected = |pair: &Pair| pair.actual.is_none();
        only_expected(next) && (only_expected(first) || next.depth > first.depth)
    })
}

/// Both on the same lines.
fn beside(workbench: &Workbench, group: &[Pair], width: u16) -> Vec<Line<'static>> {
    let left = width / 2;
    let right = width - left - 2;
    let actual = group
        .iter()
        .flat_map(|pair| side(workbench, pair, pair.actual.as_ref(), left).lines);
    let expected = group
        .iter()
        .flat_map(|pair| side(workbench, pair, pair.expected.as_ref(), right).lines);
    side_by_side(
        actual.collect(),
        expected.collect(),
        left,
        workbench.styles.faint(),
    )
}

/// The one below the other, where they differ.
fn below(workbench: &Workbench, group: &[Pair], width: u16) -> Vec<Line<'static>> {
    let lines = group.iter().flat_map(|pair| {
        let is_same = pair.mark == Mark::Same && pair.actual.is_some();
        let mut lines = side(workbench, pair, pair.actual.as_ref(), width).lines;
        if let Some(expected) = pair.expected.as_ref().filter(|_| !is_same) {
            let mut shown = pair.clone();
            if pair.actual.is_some() {
                shown.label = "expected".into();
            }
            lines.extend(side(workbench, &shown, Some(expected), width).lines);
        }
        lines
    });
    lines.collect()
}

fn side(workbench: &Workbench, pair: &Pair, shown: Option<&Shown>, width: u16) -> Sheet {
    let styles = workbench.styles;
    let mut paper = Paper::new(width);
    let Some(shown) = shown else {
        return paper.finish();
    };
    let style = style(workbench, pair.mark);
    paper.put(sign(pair.mark), style);
    paper.tab_to(2 + pair.depth.min(width as usize / 4) * 2);
    paper.indent(4 + pair.depth.min(width as usize / 4) * 2);
    let field = workbench
        .template
        .fields()
        .iter()
        .position(|field| field.name() == pair.label);
    let label = match field.filter(|_| pair.depth == 0) {
        Some(field) => styles.field(field as u16),
        None => styles.strong(),
    };
    paper.put(&with_ends(&pair.label), label);
    paper.put(" ", style);
    match shown {
        Shown::Parts => {}
        Shown::Left(count) => paper.put(&format!("{count} more"), styles.faint()),
        Shown::NothingYet => paper.put("nothing yet", styles.faint()),
        Shown::Typed(json, kind) => {
            if !json.is_empty() {
                paper.put(&format!("{json} "), style);
            }
            paper.put_together(&[(&format!("({kind})"), styles.differs())]);
        }
        Shown::Text(text, None) => paper.put(text, style),
        Shown::Text(text, Some(at)) => {
            let (same, other) = text.split_at((*at).min(text.len()));
            paper.put(same, styles.plain());
            paper.put(other, styles.differs());
        }
    }
    paper.finish()
}
