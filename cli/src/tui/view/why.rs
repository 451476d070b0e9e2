//! What the parser waits for, and what it did last.

use crate::tui::state::Workbench;
use unjinja_replay::with_ends;
use unjinja_replay::{AwaitedDelimiter, EventKind, LoggedEvent};

use super::paper::{Paper, Sheet};

/// Of a delimiter, a capture or a held text no more than this is shown.
const SHOWN: usize = 400;

pub(super) fn sheet(workbench: &Workbench, width: u16) -> Sheet {
    let mut paper = Paper::new(width);
    fired(workbench, &mut paper);
    match &workbench.waiting {
        Some(_) => waiting(workbench, &mut paper),
        None => not_waiting(workbench, &mut paper),
    }
    if workbench.replay.is_end(workbench.at) {
        waits(workbench, &mut paper);
    }
    paper.finish()
}

fn label(workbench: &Workbench, paper: &mut Paper, text: &str) {
    paper.indent(0);
    paper.put(text, workbench.styles.strong());
    paper.tab_to(7);
    paper.indent(7);
}

fn waiting(workbench: &Workbench, paper: &mut Paper) {
    let (styles, replay) = (workbench.styles, &workbench.replay);
    let Some(waiting) = &workbench.waiting else {
        return;
    };
    label(workbench, paper, "next");
    match &waiting.field {
        Some(field) => {
            paper.put("text goes to ", styles.plain());
            paper.line(field, field_style(workbench, field));
        }
        None => paper.line("text goes nowhere", styles.plain()),
    }
    label(workbench, paper, "held");
    match waiting.held.len() {
        0 => paper.line("nothing", styles.faint()),
        count => {
            let held = shortened(&replay.text()[waiting.held.clone()]);
            paper.put(&with_ends(held), styles.held());
            let place = format!(" {count} from byte {} on", waiting.held.start);
            paper.put_together(&[(&place, styles.plain())]);
            paper.end_line();
            let words = match &waiting.field {
                Some(field) => format!("if it is no delimiter, it goes to {field}"),
                None => "if it is no delimiter, it goes nowhere".to_owned(),
            };
            paper.line(&words, styles.faint());
        }
    }
    label(workbench, paper, "watch");
    if waiting.awaited.is_empty() {
        paper.line("nothing: all text goes the same way", styles.faint());
    }
    for awaited in &waiting.awaited {
        watch(workbench, awaited, paper);
    }
}

/// What it has cost to wait for delimiters.
fn waits(workbench: &Workbench, paper: &mut Paper) {
    let styles = workbench.styles;
    let mut is_first = true;
    for (field, wait) in workbench.replay.waits() {
        if std::mem::take(&mut is_first) {
            label(workbench, paper, "delay");
        }
        let count = |count: usize, one: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {one}s"),
        };
        paper.put(workbench.replay.field(field), styles.field(field));
        let words = format!(
            " was held back: {} at the most, for {} at the longest",
            count(wait.bytes, "byte"),
            count(wait.chunks, "chunk")
        );
        paper.line(&words, styles.plain());
    }
}

fn watch(workbench: &Workbench, awaited: &AwaitedDelimiter, paper: &mut Paper) {
    let styles = workbench.styles;
    let verb = if awaited.opens { "▸ " } else { "◂ " };
    paper.put(verb, styles.plain());
    paper.put(&awaited.field, field_style(workbench, &awaited.field));
    for spelling in &awaited.spellings {
        paper.put(" ", styles.plain());
        let prefix = awaited.prefix.as_deref().unwrap_or_default();
        match spelling.strip_prefix(prefix) {
            Some(rest) if !awaited.is_pattern => {
                let rest = shortened(rest);
                paper.put_together(&[(prefix, styles.held()), (rest, styles.plain())]);
            }
            _ => {
                let sign = if awaited.is_pattern { "/" } else { "" };
                let spelling = format!("{sign}{}{sign}", shortened(spelling));
                paper.put_together(&[(&spelling, styles.plain())]);
            }
        }
    }
    if let Some(prefix) = &awaited.prefix {
        let has = with_ends(shortened(prefix));
        let has = (has.as_ref(), styles.held());
        paper.put_together(&[(" has ", styles.faint()), has]);
        match awaited.lacks() {
            _ if awaited.is_found => {
                paper.put(", which is all of it or more to come", styles.faint())
            }
            Some(lacks) => {
                let lacks = with_ends(shortened(lacks));
                let lacks = (lacks.as_ref(), styles.plain());
                paper.put_together(&[(" lacks ", styles.faint()), lacks]);
            }
            None => paper.put(" lacks the rest", styles.faint()),
        }
    }
    paper.end_line();
}

fn not_waiting(workbench: &Workbench, paper: &mut Paper) {
    let (styles, replay, at) = (workbench.styles, &workbench.replay, workbench.at);
    label(workbench, paper, "next");
    let after = replay.next_chunk(at).events;
    match replay.is_within_chunk(at) {
        true => {
            let left = after - at.events;
            let events = if left == 1 { "event" } else { "events" };
            let words = format!(
                "{left} more {events} of this chunk; what is waited for is shown after the last of them"
            );
            paper.line(&words, styles.plain());
        }
        false => match replay.outcome() {
            Some(Err(_)) => paper.line(
                "nothing: the text has ended, and can't be parsed",
                styles.bad(),
            ),
            Some(Ok(_)) => paper.line("nothing: the text has ended", styles.plain()),
            None => paper.line("the text is being read", styles.faint()),
        },
    }
}

/// The delimiter that was found last, and what it captured.
fn fired(workbench: &Workbench, paper: &mut Paper) {
    let (styles, replay) = (workbench.styles, &workbench.replay);
    label(workbench, paper, "last");
    let events = replay.events(workbench.at);
    let delimiter = |event: &&LoggedEvent| !matches!(event.what, EventKind::Chunk { .. });
    let Some(last) = events.iter().rfind(delimiter) else {
        return paper.line("no delimiter yet", styles.faint());
    };
    let (verb, style) = match last.what {
        EventKind::Open(_) => ("opened", styles.plain()),
        EventKind::Close(_) => ("closed", styles.plain()),
        _ => ("malformed", styles.bad()),
    };
    paper.put(replay.field(last.field), styles.field(last.field));
    paper.put(&format!(" {verb} "), style);
    let span = last.span();
    match span.is_empty() {
        true => paper.put_together(&[("without a delimiter", styles.plain())]),
        false => {
            let delimiter = shortened(&replay.text()[span.clone()]);
            paper.put_together(&[(&with_ends(delimiter), styles.strong())]);
            let place = format!(" bytes {}–{}", span.start, span.end);
            paper.put_together(&[(&place, styles.faint())]);
        }
    }
    paper.end_line();
    for capture in replay.captures(last) {
        paper.put(&format!("{} = ", capture.name), styles.faint());
        paper.line(&with_ends(shortened(&capture.text)), styles.strong());
    }
}

fn field_style(workbench: &Workbench, name: &str) -> ratatui::style::Style {
    let fields = workbench.template.fields();
    let number = fields.iter().position(|field| field.name() == name);
    workbench.styles.field(number.unwrap_or(0) as u16)
}

fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(SHOWN)]
}
