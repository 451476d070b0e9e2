//! Where a parser looked for which delimiters while it read a text, and what it found. As long as another template finds the same
//! there, it reads the text as before, and that need not be tried.
//!
//! Of `<t>Is it <end>?</t>Yes.<end>`, the stretches are
//!
//! ```text
//! <t>                     what opens any field, and what closes the text that is left over
//! Is it <end>?</t>        what closes the thought
//! Yes.<end>               as before
//! ```
//!
//! and one more, behind the last `<end>`. So where `<end>(?!\?)` closes the text instead of `<end>`, nothing changes: in the
//! thought, nobody looks for it.

use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::fast::FixedState;

use crate::response::pattern::{self, Meter, Pattern, Verdict, Window};
use crate::response::{Event, ParseError, ParserOptions, ResponseParser, ResponseTemplate};
use crate::value::Object;

/// What opens a field, or closes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Side {
    pub(super) field: usize,
    pub(super) opens: bool,
}

/// A delimiter that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    side: Side,
    span: Range<usize>,
    /// A fingerprint of the names and texts of its groups, if it opens a field.
    groups: u64,
}

/// A stretch of a text in which a parser looked for the same delimiters, up to the first that counted.
#[derive(Debug, PartialEq, Eq)]
struct Stretch {
    /// The field of which it looked for what closes it. Where none is open but that of the text that is left over, it looks for
    /// what opens any, and for what closes that text.
    field: Option<usize>,
    from: usize,
    /// None was found before the text ends, or before it could not be read any further.
    found: Option<Found>,
}

/// All stretches of a text, in their order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stretches {
    all: Vec<Stretch>,
    /// The field of the text that is left over.
    implicit: Option<usize>,
}

impl Stretches {
    /// Whether it is known that the same is found where what opens or closes a field is another pattern than before. The text
    /// begins where a parser begins to look.
    pub(super) fn are_same(
        &self,
        text: &str,
        side: Side,
        [before, now]: [Option<&Pattern>; 2],
    ) -> bool {
        let is_left_over = self.implicit == Some(side.field);
        let mut looked_for = self.all.iter().filter(|stretch| match stretch.field {
            Some(open) => !side.opens && open == side.field,
            None => side.opens || is_left_over,
        });
        looked_for.all(|stretch| {
            let end = stretch.found.as_ref().map(|found| found.span.start);
            let first_of = |pattern: Option<&Pattern>, from| match pattern {
                Some(pattern) => first(pattern, text, from, end),
                None => Ok(None),
            };
            // What takes too long to look for may be anywhere.
            let Ok(mut found) = first_of(now, stretch.from) else {
                return false;
            };
            if !side.opens && is_left_over {
                // Where no text is left over, nothing is closed, and what would close it is passed over.
                let mut from = stretch.from;
                while let Some((span, _)) = &found {
                    if first_of(before, from) != Ok(found.clone()) || span.is_empty() {
                        return false;
                    }
                    from = span.end;
                    found = match first_of(now, from) {
                        Ok(found) => found,
                        Err(()) => return false,
                    };
                }
                return first_of(before, from) == Ok(None);
            }
            match &stretch.found {
                // What the groups of closers were is not in events.
                Some(was) if was.side == side && !side.opens && has_groups(before) => false,
                Some(was) if was.side == side => found == Some((was.span.clone(), was.groups)),
                Some(_) => found.is_none(),
                // Up to the end, or to the delimiter behind which it failed.
                None => first_of(before, stretch.from) == Ok(found),
            }
        })
    }
}

fn has_groups(pattern: Option<&Pattern>) -> bool {
    pattern.is_some_and(|pattern| !pattern.groups().is_empty())
}

/// Where a pattern matches first from a place on and begins up to another, with the fingerprint of its groups.
fn first(
    pattern: &Pattern,
    text: &str,
    from: usize,
    to: Option<usize>,
) -> Result<Option<(Range<usize>, u64)>, ()> {
    let window = Window::whole(text);
    let mut meter = Meter::new(text.len());
    let mut search = pattern.search();
    search.start(&window, from);
    let read = search.advance(pattern, &window, text.len(), &mut meter);
    let verdict = read.and_then(|()| search.verdict(pattern, &window, true, &mut meter));
    let found = verdict.map_err(|_| ()).map(|verdict| match verdict {
        Verdict::Found { start, end } if to.is_none_or(|to| start <= to) => {
            let bounds = match pattern.groups() {
                [] => &[][..],
                _ => search.groups(pattern),
            };
            let groups = pattern.groups().iter().enumerate();
            let groups = groups.filter_map(|(index, name)| {
                let range = pattern::group(bounds, index)?;
                Some((name.as_str(), &text[range]))
            });
            Some((start..end, fingerprint(groups)))
        }
        Verdict::Found { .. } | Verdict::Partial { .. } | Verdict::Nothing => None,
    });
    pattern.give_back(search);
    found
}

fn fingerprint<'g>(groups: impl Iterator<Item = (&'g str, &'g str)>) -> u64 {
    groups.fold(0, |known, group| {
        FixedState::default().hash_one((known, group))
    })
}

/// Notes the stretches while a text is read.
struct Noting<'t> {
    template: &'t ResponseTemplate,
    stretches: Stretches,
    /// The field that is open, but for that of the text that is left over.
    open: Option<usize>,
    from: usize,
    /// Where the text that is left over was closed and nothing taken: there another field opens, or a closer takes nothing.
    left: Option<usize>,
}

impl Noting<'_> {
    fn note(&mut self, event: &Event<'_>) {
        match event {
            Event::Open { field, opening } => {
                let Some(field) = self.number(field) else {
                    return;
                };
                match opening {
                    Some(opening) if Some(field) != self.stretches.implicit => {
                        self.left.take_if(|left| *left == opening.span.start);
                        self.close_left();
                        let groups = opening.captures.iter();
                        let groups = groups.map(|group| (&*group.name, &*group.text));
                        self.find(field, true, &opening.span, fingerprint(groups));
                        self.open = Some(field);
                    }
                    _ => self.close_left(),
                }
            }
            Event::Close { span, at_end, .. } | Event::Malformed { span, at_end, .. } => {
                self.close_left();
                match (span, self.open.take(), self.stretches.implicit) {
                    (Some(_), open, _) if *at_end => self.open = open,
                    (Some(span), Some(open), _) => {
                        self.open = Some(open);
                        self.find(open, false, span, 0);
                        self.open = None;
                    }
                    (Some(span), None, _) if span.is_empty() => self.left = Some(span.start),
                    (Some(span), None, Some(implicit)) => self.find(implicit, false, span, 0),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// Ends a stretch where the text that is left over was closed by a delimiter that takes nothing.
    fn close_left(&mut self) {
        if let (Some(at), Some(implicit)) = (self.left.take(), self.stretches.implicit) {
            self.find(implicit, false, &(at..at), 0);
        }
    }

    /// Ends a stretch at a delimiter.
    fn find(&mut self, field: usize, opens: bool, span: &Range<usize>, groups: u64) {
        let span = span.clone();
        let from = std::mem::replace(&mut self.from, span.end);
        self.stretches.all.push(Stretch {
            field: self.open,
            from,
            found: Some(Found {
                side: Side { field, opens },
                span,
                groups,
            }),
        });
    }

    fn number(&self, name: &str) -> Option<usize> {
        let mut fields = self.template.fields().iter();
        fields.position(|field| field.name() == name)
    }
}

/// What comes of a text, and where which delimiters were looked for, if reading has not become too costly. The prefix has no
/// anchor.
pub(super) fn read(
    template: &ResponseTemplate,
    prefix: &str,
    output: &str,
    options: ParserOptions,
) -> (Result<Object, ParseError>, Option<Stretches>) {
    let mut noting = Noting {
        template,
        stretches: Stretches {
            all: Vec::new(),
            implicit: None,
        },
        open: None,
        from: 0,
        left: None,
    };
    let implicit = template.implicit_field();
    noting.stretches.implicit = implicit.and_then(|field| noting.number(field.name()));
    let options = options.spans(true);
    let message = ResponseParser::new_with(template, prefix, options, |event| noting.note(&event))
        .and_then(|mut parser| {
            parser.feed_with(output, |event| noting.note(&event))?;
            parser.finalize_with(|event| noting.note(&event))
        });
    noting.close_left();
    noting.stretches.all.push(Stretch {
        field: noting.open,
        from: noting.from,
        found: None,
    });
    let is_known = matches!(message, Ok(_) | Err(ParseError::Region { .. }));
    (message, is_known.then_some(noting.stretches))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    const WHY: usize = 0;
    const CALLS: usize = 1;
    const CONTENT: usize = 2;

    fn stretches(prefix: &str, output: &str) -> Stretches {
        let fields = r#"{
            "why": {"open": "<t>", "close": "</t>"},
            "calls": {
                "open_pattern": "<call(?P<name> \\w+)?>", "close": "</call>",
                "content": "json", "transform": {"name": "{name}", "arguments": "{content}"}
            },
            "content": {"close_pattern": "<end>|(?=<say>)"}
        }"#;
        let text = format!(r#"{{"version": 1, "start_anchor": "<a>", "fields": {fields}}}"#);
        let value = json::read(&text).expect("it is JSON");
        let template = ResponseTemplate::from_value(&value).expect("it is a response template");
        let (_, stretches) = read(&template, prefix, output, ParserOptions::default());
        stretches.expect("it is not costly")
    }

    #[test]
    fn what_is_looked_for_ends_at_what_is_found() {
        let all = |text: &str, stretches: &Stretches| {
            let name = |field| ["why", "calls", "content"][field];
            let all = stretches.all.iter().map(|stretch| {
                let looked_for = stretch.field.map_or("any", name);
                let found = stretch.found.as_ref().map_or("nothing", |found| {
                    match (&text[found.span.clone()], name(found.side.field)) {
                        ("", field) => field,
                        (text, _) => text,
                    }
                });
                format!("{looked_for} from {}: {found}", stretch.from)
            });
            all.collect::<Vec<_>>().join(", ")
        };
        for (prefix, output, expected) in [
            ("", "", "any from 0: nothing"),
            ("", "Yes.", "any from 0: nothing"),
            (
                "",
                "<t>Is it <end>?</t>Yes.<end>",
                "any from 0: <t>, why from 3: </t>, any from 19: <end>, any from 28: nothing",
            ),
            // The text is closed where the call opens.
            (
                "<t>",
                "Hm.</t>So:<call a>{}</call>",
                "any from 0: <t>, why from 3: </t>, any from 10: <call a>, calls from 21: </call>, any from 30: nothing",
            ),
            // Nothing takes note of what closes nothing, and a delimiter may take nothing.
            ("", "<end>Yes", "any from 0: nothing"),
            (
                "",
                "Yes<say><t>",
                "any from 0: content, any from 3: nothing",
            ),
            // Where reading fails, more was looked for than is known.
            (
                "",
                "<call>{</call><t>",
                "any from 0: <call>, calls from 6: nothing",
            ),
        ] {
            let text = format!("{prefix}{output}");
            let found = all(&text, &stretches(prefix, output));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn what_finds_the_same_where_it_is_looked_for_makes_no_difference() {
        let text = "<t>Is it <end>?</t>Yes.<call a>{}</call><end>\n";
        let stretches = stretches("", text);
        let closes = |field| Side {
            field,
            opens: false,
        };
        let opens = |field| Side { field, opens: true };
        let (end, call) = ("<end>|(?=<say>)", r"<call(?P<name> \w+)?>");
        for (side, before, now, expected) in [
            // Within the thought, nobody looks for what closes the text, and nothing opens.
            (closes(CONTENT), end, r"<end>(?!\?)", true),
            (closes(CONTENT), end, "<end>|it", true),
            (opens(CALLS), call, r"<call(?P<name> \w+)?>|it", true),
            (closes(WHY), "</t>", "</t>|it", false),
            (closes(WHY), "</t>", r"\s*</t>", true),
            (closes(WHY), "</t>", r"[?]?</t>", false),
            // What follows is another text.
            (opens(WHY), "<t>", "<t>Is", false),
            (opens(CALLS), call, r"<call(?P<name>\s+\w+)?>", true),
            (opens(CALLS), call, r"<call (?P<name>\w+)?>", false),
            (opens(CALLS), call, "<call a>", false),
            (opens(CALLS), call, r"<call(?P<name> \w+)?>|es", false),
            // Nothing is left over behind the call, and `<end>` is no text all the same.
            (closes(CONTENT), end, "<stop>", false),
            (closes(CONTENT), end, "<end>|<stop>", true),
            (closes(CONTENT), end, r"<end>\s*", false),
            (closes(CONTENT), end, r"<end>|\n", false),
        ] {
            let [before, now] =
                [before, now].map(|pattern| Pattern::new(pattern).expect("it is a pattern"));
            let are_same = stretches.are_same(text, side, [Some(&before), Some(&now)]);
            assert_eq!(are_same, expected, "{side:?} {now:?}");
        }
        let call = Pattern::new(call).expect("it is a pattern");
        assert!(!stretches.are_same(text, opens(CALLS), [Some(&call), None]));
    }
}
