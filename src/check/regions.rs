//! Which part of a text belongs to which field.

use std::collections::HashSet;
use std::ops::Range;

use crate::response::{
    OnMalformed, OwnedEvent, ParserOptions, ResponseParser, ResponseTemplate, Tools,
};

/// A piece of a text, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Region {
    /// What it is to its field.
    pub kind: RegionKind,
    /// The field, if it belongs to one.
    pub field: Option<String>,
    /// The bytes that it takes in the text since the anchor.
    pub span: Range<usize>,
    /// Whether it begins the value of a field that has one already, and does not repeat: what was
    /// there before is gone.
    pub replaces: bool,
}

/// What a piece of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegionKind {
    /// What opens a field.
    Open,
    /// The text of a field.
    Body,
    /// What closes a field.
    Close,
    /// It belongs to no field, and goes.
    Skipped,
}

/// A text, and which part of it belongs to which field.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MarkedText {
    /// The text since the anchor.
    pub text: String,
    /// Where the output begins in it; what stands before was written by the prompt.
    pub output: usize,
    /// Its pieces from the first to the last. Where the text can't be parsed, they end.
    pub regions: Vec<Region>,
}

/// Finds which part of a text belongs to which field.
pub fn regions(
    template: &ResponseTemplate,
    tools: &Tools,
    prefix: &str,
    output: &str,
) -> MarkedText {
    let prefilled = template
        .after_anchor(prefix)
        .ok()
        .flatten()
        .unwrap_or(prefix);
    let text = format!("{prefilled}{output}");
    let options = ParserOptions::default()
        .tools(tools.clone())
        .on_malformed(OnMalformed::Event)
        .spans(true);
    let mut map = Map::new(template);
    let mut events = Vec::new();
    if let Ok(mut parser) = ResponseParser::new(template, "", options) {
        let fed = parser.feed_with(&text, |event| events.push(event.into_owned()));
        if fed.is_ok() {
            // What is wrong with the message is reported elsewhere.
            let _error = parser.finalize_with(|event| events.push(event.into_owned()));
        }
    }
    for event in events {
        map.take(event);
    }
    let is_complete = map.open.is_none();
    map.skip_to(if is_complete { text.len() } else { map.at });
    MarkedText {
        output: prefilled.len(),
        regions: map.regions,
        text,
    }
}

/// The pieces so far.
struct Map<'t> {
    template: &'t ResponseTemplate,
    regions: Vec<Region>,
    at: usize,
    open: Option<String>,
    /// The fields that have been closed.
    closed: HashSet<String>,
}

impl Map<'_> {
    fn new(template: &ResponseTemplate) -> Map<'_> {
        Map {
            template,
            regions: Vec::new(),
            at: 0,
            open: None,
            closed: HashSet::new(),
        }
    }

    fn take(&mut self, event: OwnedEvent) {
        match event {
            OwnedEvent::Open { field, opening } => {
                let span = opening.map_or(self.at..self.at, |opening| opening.span);
                self.skip_to(span.start);
                self.push(RegionKind::Open, Some(field.clone()), span.end);
                self.open = Some(field);
            }
            OwnedEvent::Chunk { field, text, .. } => {
                self.push(RegionKind::Body, Some(field), self.at + text.len());
            }
            OwnedEvent::Close { field, span, .. } | OwnedEvent::Malformed { field, span, .. } => {
                let end = span.map_or(self.at, |span| span.end);
                self.push(RegionKind::Close, Some(field.clone()), end);
                self.open = None;
                self.closed.insert(field);
            }
            // Whatever other events there may be, they end no region.
            _ => {}
        }
    }

    fn replaces(&self, field: Option<&str>) -> bool {
        let field = field.and_then(|name| self.template.field(name));
        field.is_some_and(|field| !field.repeats() && self.closed.contains(field.name()))
    }

    fn skip_to(&mut self, to: usize) {
        self.push(RegionKind::Skipped, None, to);
    }

    fn push(&mut self, kind: RegionKind, field: Option<String>, to: usize) {
        let from = self.at;
        self.at = to.max(from);
        if to <= from {
            return;
        }
        match self.regions.last_mut() {
            Some(last) if last.kind == kind && last.field == field && kind == RegionKind::Body => {
                last.span.end = to;
            }
            _ => self.regions.push(Region {
                kind,
                replaces: kind == RegionKind::Body && self.replaces(field.as_deref()),
                field,
                span: from..to,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_place() {
        let template = ResponseTemplate::from_json(
            r#"{"start_anchor": "<bot>", "fields": {
                "thinking": {"open": "<think>", "close": "</think>"},
                "tool_calls": {"open": "<call>", "close": "</call>", "content": "json", "repeats": true},
                "content": {"close": "<end>"}}}"#,
        )
        .expect("a template");
        let output = "no</think><end>Hi<call>{}</call><end>x<call>broken</call><call>[";
        let marked = regions(&template, &Tools::none(), "<u>q<bot><think>", output);
        let (text, regions) = (marked.text, marked.regions);
        assert_eq!(marked.output, "<think>".len());
        let shown: Vec<String> = regions
            .iter()
            .map(|region| {
                let field = region.field.as_deref().unwrap_or("-");
                let again = if region.replaces { " again" } else { "" };
                let text = &text[region.span.clone()];
                format!("{field} {:?}{again} {text}", region.kind)
            })
            .collect();
        assert_eq!(
            shown,
            [
                "thinking Open <think>",
                "thinking Body no",
                "thinking Close </think>",
                "- Skipped <end>",
                "content Body Hi",
                "tool_calls Open <call>",
                "tool_calls Body {}",
                "tool_calls Close </call>",
                "- Skipped <end>",
                "content Body again x",
                "tool_calls Open <call>",
                "tool_calls Body broken",
                "tool_calls Close </call>",
                "tool_calls Open <call>",
                "tool_calls Body [",
            ]
        );
    }
}
