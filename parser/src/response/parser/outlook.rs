//! What a parser looks for.

use crate::response::delimiter::Delimiter;
use crate::response::pattern::{Meter, Verdict};
use crate::response::watch::DelimiterKind;

use super::ResponseParser;

/// What a parser looks for while text comes in: see [`ResponseParser::outlook`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outlook<'p> {
    /// The field that the next text belongs to, unless a delimiter comes.
    pub field: Option<&'p str>,
    /// How many bytes of the text since the anchor have been dealt with.
    pub position: usize,
    /// The text behind that, which is held back because it may be a part of a delimiter.
    pub held_back: &'p str,
    /// The delimiters that are looked for.
    pub watched: Vec<WatchedDelimiter<'p>>,
}

/// A delimiter that is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchedDelimiter<'p> {
    /// The field that it opens or closes.
    pub field: &'p str,
    /// Whether it opens the field, or closes it.
    pub opens: bool,
    /// The delimiter.
    pub delimiter: &'p Delimiter,
    /// The text at the end that may be its beginning, or all of it, if there is any.
    pub partial: Option<&'p str>,
    /// Whether that is a delimiter already, which may only become longer.
    pub is_found: bool,
}

impl ResponseParser {
    /// What the parser looks for: the delimiters on watch, and how much of each may have come.
    ///
    /// It takes as long as a look at the text that is held back.
    ///
    /// ```
    /// use unjinja::{ParserOptions, ResponseParser, ResponseTemplate};
    ///
    /// let template = ResponseTemplate::from_json(r#"{
    ///     "start_anchor": "<bot>",
    ///     "fields": {
    ///         "thinking": {"open": "<think>", "close": "</think>"},
    ///         "content": {"close": "<end>"}
    ///     }
    /// }"#)?;
    /// let mut parser = ResponseParser::new(&template, "", ParserOptions::default())?;
    /// parser.feed("Let me see. <th")?;
    /// let outlook = parser.outlook();
    /// assert_eq!((outlook.field, outlook.held_back), (Some("content"), "<th"));
    /// let partial = outlook.watched.iter().find(|delimiter| delimiter.partial.is_some());
    /// assert_eq!(partial.map(|delimiter| delimiter.field), Some("thinking"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn outlook(&mut self) -> Outlook<'_> {
        let inner = &*self.template.inner;
        let run = &mut self.run;
        run.search_held(inner);
        let window = run.held.window();
        // Looking costs the parser nothing of what it may spend.
        let mut meter = Meter::new(window.text.len());
        let field = run.place.field();
        let watches = inner.watches(field).iter();
        let watched = watches.map(|watch| {
            let delimiter = inner.delimiter(watch);
            let search = &mut run.searches.each[watch.delimiter];
            let is_idle =
                !run.searches.are_started || search.is_idle() || !search.has_read(&window);
            let verdict = match is_idle {
                true => Ok(Verdict::Nothing),
                false => search.verdict(delimiter.compiled(), &window, false, &mut meter),
            };
            let (start, is_found) = match verdict {
                Ok(Verdict::Found { start, .. }) => (Some(start), true),
                Ok(Verdict::Partial { start }) => (Some(start), false),
                _ => (None, false),
            };
            let start = start.filter(|start| (run.position..window.end()).contains(start));
            WatchedDelimiter {
                field: &inner.fields[watch.field].name,
                opens: watch.kind == DelimiterKind::Open,
                delimiter,
                partial: start.map(|start| window.slice(start, window.end())),
                is_found: is_found && start.is_some(),
            }
        });
        Outlook {
            field: field.map(|field| inner.fields[field].name.as_str()),
            position: run.position,
            watched: watched.collect(),
            held_back: window.slice(run.position, window.end()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::response::{ParserOptions, ResponseParser, ResponseTemplate};

    /// What stands before the bar has been dealt with, what follows is held back; then each
    /// delimiter that is looked for, with what may be its beginning.
    fn outlook(fed: &[&str]) -> String {
        let template = ResponseTemplate::from_json(
            r#"{"start_anchor": "<bot>", "fields": {
                "thinking": {"open": "<think>", "close": "</think>"},
                "tool_calls": {"open_pattern": "<call (?P<name>\\w+)>\\s*", "close": "</call>",
                    "repeats": true, "content": "json",
                    "transform": {"name": "{name}", "arguments": "{content}"}},
                "content": {"close_pattern": "\\s*(?:<end>|(?=<think>))"}}}"#,
        )
        .expect("a template");
        let mut parser =
            ResponseParser::new(&template, "", ParserOptions::default()).expect("a parser");
        for piece in fed {
            parser.feed(piece).expect("it can be parsed");
        }
        let text = fed.concat();
        let outlook = parser.outlook();
        assert_eq!(&text[outlook.position..], outlook.held_back);
        let watched = outlook.watched.iter().map(|watched| {
            let verb = if watched.opens { "opens" } else { "closes" };
            let partial = watched.partial.map(|partial| format!(" {partial:?}"));
            format!("{} {verb}{}", watched.field, partial.unwrap_or_default())
        });
        let watched: Vec<String> = watched.collect();
        let field = outlook.field.unwrap_or("-");
        format!("{field}|{}: {}", outlook.held_back, watched.join(", "))
    }

    #[test]
    fn shows_what_may_come() {
        for (fed, expected) in [
            (
                &[][..],
                "content|: thinking opens, tool_calls opens, content closes",
            ),
            (
                &["Hm."],
                "content|: thinking opens, tool_calls opens, content closes",
            ),
            (
                &["Hm. <"],
                "content| <: thinking opens \"<\", tool_calls opens \"<\", content closes \" <\"",
            ),
            (
                &["Hm", ". ", "\n"],
                "content| \n: thinking opens, tool_calls opens, content closes \" \\n\"",
            ),
            (
                &["Hm.", " ", "<", "t"],
                "content| <t: thinking opens \"<t\", tool_calls opens, content closes \" <t\"",
            ),
            (
                &["<call wait> \n"],
                "content|<call wait> \n: thinking opens, tool_calls opens \"<call wait> \\n\", \
                 content closes \" \\n\"",
            ),
            (&["<call wait>{"], "tool_calls|: tool_calls closes"),
            (
                &["<call wait>{}</", "c"],
                "tool_calls|</c: tool_calls closes \"</c\"",
            ),
            (&["<think>Why? </th", "is"], "thinking|: thinking closes"),
        ] {
            assert_eq!(outlook(fed), expected, "{fed:?}");
        }
    }
}
