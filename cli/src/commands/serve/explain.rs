//! `--explain`: what happens to answers, line by line, in the colours of the workbench.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use unjinja::completion::Delta;
use unjinja::json;
use unjinja_replay::{EventKind, LoggedEvent, Replay, SegmentKind, preview};
use unjinja_serve::{Begun, Explain, Explanation};

use crate::printing::{self, Painted};
use crate::tui::{Styles, escape_code};

/// So much of the prompt is shown before the turn, in characters.
const SHOWN: usize = 60;

/// Beside the colours of the workbench.
const BOLD: &str = "1";
const FAINT: &str = "2";

/// The widths of what lines begin with, behind the answer's number: of those of an answer, and of those about what came last.
const OUTER: usize = 8;
const INNER: usize = 6;

/// So much of a value is shown, in bytes.
const MAX_VALUE: usize = 100;

/// Tells on the standard error what happens to answers, which have numbers, since their lines stand among each other.
#[derive(Default)]
pub(super) struct Explainer {
    begun: AtomicUsize,
}

impl Explain for Explainer {
    fn begin(&self, begun: &Begun<'_>) -> Box<dyn Explanation> {
        let number = self.begun.fetch_add(1, Relaxed) + 1;
        let mut answer = Answer::new(number, begun, Painted::for_errors());
        answer.tell();
        Box::new(Told {
            answer,
            since: Instant::now(),
        })
    }
}

/// An answer of which people are told while it comes.
struct Told {
    answer: Answer,
    since: Instant,
}

impl Explanation for Told {
    fn came(&mut self, text: &str) {
        self.answer.came(text, self.since.elapsed());
        self.answer.tell();
    }

    fn sent(&mut self, deltas: &[Delta]) {
        self.answer.sent(deltas);
        self.answer.tell();
    }

    fn ended(&mut self, how: &str) {
        self.answer.ended(how, self.since.elapsed());
        self.answer.tell();
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        if !self.answer.has_ended {
            let how = "the client has gone";
            self.answer.ended(how, self.since.elapsed());
            self.answer.tell();
        }
    }
}

/// What is said of an answer.
struct Answer {
    /// What its lines begin with.
    name: String,
    replay: Replay,
    /// How many events have been told of.
    events: usize,
    /// Up to where the text has been told of that belongs to no field.
    divided: usize,
    has_ended: bool,
    /// What has yet to be told.
    out: Painted,
}

impl Answer {
    fn new(number: usize, begun: &Begun<'_>, out: Painted) -> Answer {
        let replay = Replay::live(begun.template, begun.prompt, begun.options.clone());
        let mut answer = Answer {
            name: format!("#{number}"),
            replay,
            events: 0,
            divided: 0,
            has_ended: false,
            out,
        };
        let choice = match begun.choice {
            0 => String::new(),
            choice => format!(", answer {}", choice + 1),
        };
        let what = format!("{} for {}{choice}", begun.id, begun.path);
        answer.line("begins", &what);
        answer.prompt(begun.prompt);
        answer.regions();
        answer
    }

    /// The end of the prompt: what the template reads of it looks as the output does.
    fn prompt(&mut self, prompt: &str) {
        let length = self.replay.text().len();
        let before = &prompt[..prompt.len().saturating_sub(length)];
        let from = before.char_indices().rev().nth(SHOWN - 1);
        let from = from.map_or(0, |(at, _)| at);
        self.start("prompt");
        self.out.push(if from > 0 { "…\"" } else { "\"" });
        self.paint_text(&before[from..], FAINT);
        self.text_between(0, length);
        self.out.push("\"\n");
    }

    fn came(&mut self, text: &str, at: Duration) {
        let from = self.replay.text().len();
        self.replay.push(text, at);
        self.replay.read_on(usize::MAX, true);
        self.start("came");
        self.out.push(&format!("{:>7.3} s \"", at.as_secs_f64()));
        self.text_between(from, self.replay.text().len());
        self.out.push("\"\n");
        self.regions();
        let held = self.replay.divided()..self.replay.text().len();
        if !held.is_empty() {
            let held = quoted(&self.replay.text()[held]);
            let code = escape_code(Styles { colours: true }.held());
            self.detail("holds", &code, &format!("{held} back"));
        }
    }

    fn sent(&mut self, deltas: &[Delta]) {
        for delta in deltas {
            let what = match delta {
                Delta::Role(role) => format!("role {}", quoted(role)),
                Delta::Content(text) => format!("content {}", quoted(text)),
                Delta::Reasoning(text) => format!("reasoning {}", quoted(text)),
                Delta::Call { index, id, name } => {
                    format!("call {index} of {}, {id}", quoted(name))
                }
                Delta::Arguments { index, text } => {
                    format!("arguments of call {index} {}", quoted(text))
                }
                Delta::Field { name, value } => {
                    format!("field {} {}", quoted(name), preview(value, MAX_VALUE))
                }
                // The library may come to know more kinds than there are words for here.
                _ => continue,
            };
            self.detail("sends", BOLD, &what);
        }
    }

    fn ended(&mut self, how: &str, at: Duration) {
        self.replay.end_live();
        self.replay.read_on(usize::MAX, true);
        self.regions();
        self.has_ended = true;
        self.line("ends", &format!("{:>7.3} s {how}", at.as_secs_f64()));
    }

    /// The regions that have begun and ended since the last time, and what belongs to none.
    fn regions(&mut self) {
        let styles = Styles { colours: true };
        let mut lines = Vec::new();
        let divided = self.replay.divided();
        while let Some((segment, span)) = self.replay.segment_at(self.divided)
            && self.divided < divided
        {
            let text = &self.replay.text()[self.divided..span.end];
            if segment.part == SegmentKind::Skipped && !text.trim().is_empty() {
                lines.push((self.divided, "drops", FAINT.to_owned(), quoted(text)));
            }
            self.divided = span.end;
        }
        let all = self.replay.events(self.replay.last());
        for event in &all[self.events..] {
            let (what, words) = match event.what {
                EventKind::Open(_) => ("opens", self.opening(event)),
                EventKind::Close(_) => ("closes", self.closing(event)),
                EventKind::Malformed(_) => ("fails", self.failing(event)),
                EventKind::Chunk { .. } => continue,
            };
            let code = escape_code(styles.field(event.field));
            lines.push((event.span().start, what, code, words));
        }
        self.events = all.len();
        lines.sort_by_key(|(at, ..)| *at);
        for (_, what, code, words) in lines {
            self.detail(what, &code, &words);
        }
    }

    fn opening(&self, event: &LoggedEvent) -> String {
        let mut words = self.delimiter(event);
        for capture in self.replay.captures(event) {
            words.push_str(&format!(", {} = {}", capture.name, quoted(&capture.text)));
        }
        words
    }

    fn closing(&self, event: &LoggedEvent) -> String {
        let words = self.delimiter(event);
        match self.replay.value(event) {
            // Texts have been seen as they came.
            Some(value) if value.as_str().is_none() => {
                format!("{words}: {}", preview(value, MAX_VALUE))
            }
            _ => words,
        }
    }

    fn failing(&self, event: &LoggedEvent) -> String {
        let error = self.replay.error(event).unwrap_or_default();
        format!("{}: {error}", self.delimiter(event))
    }

    /// The field of an event, and the text that stands for it.
    fn delimiter(&self, event: &LoggedEvent) -> String {
        let field = self.replay.field(event.field);
        match &self.replay.text()[event.span()] {
            "" => field.to_owned(),
            text => format!("{field} {}", quoted(text)),
        }
    }

    /// A part of the text, with its regions in their colours.
    fn text_between(&mut self, from: usize, to: usize) {
        let styles = Styles { colours: true };
        let text = self.replay.text()[from..to].to_owned();
        let mut at = from;
        while at < to {
            let (end, style) = match self.replay.segment_at(at) {
                Some((segment, span)) if at < self.replay.divided() => {
                    (span.end, styles.part(segment.part, segment.field))
                }
                _ => (to, styles.held()),
            };
            let end = end.clamp(at + 1, to);
            self.paint_text(&text[at - from..end - from], &escape_code(style));
            at = end;
        }
    }

    fn paint_text(&mut self, text: &str, code: &str) {
        let quoted = quoted(text);
        if !text.is_empty() {
            self.out.paint(&quoted[1..quoted.len() - 1], code);
        }
    }

    fn line(&mut self, what: &str, words: &str) {
        self.start(what);
        self.out.push(&format!("{words}\n"));
    }

    fn start(&mut self, what: &str) {
        self.out.paint(&self.name, BOLD);
        self.out.push(&format!(" {what:<OUTER$} "));
    }

    /// A line about what came last, of which the first word has a colour.
    fn detail(&mut self, what: &str, code: &str, words: &str) {
        let width = INNER.saturating_sub(what.len());
        self.out.paint(&self.name, BOLD);
        self.out.push("   ");
        self.out.paint(what, code);
        self.out.push(&format!("{:width$} {words}\n", ""));
    }

    fn tell(&mut self) {
        printing::tell_report(&self.out);
        self.out.clear();
    }
}

/// A text in quotes, on one line.
fn quoted(text: &str) -> String {
    json::write(&text.into())
}

#[cfg(test)]
mod tests;
