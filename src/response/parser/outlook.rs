//! What a parser waits for.

use crate::response::delimiter::Delimiter;
use crate::response::pattern::{Meter, Verdict, Window};
use crate::response::watch::Kind;

use super::ResponseParser;

/// What a parser waits for while text comes in: see [`ResponseParser::outlook`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Outlook<'p> {
    /// The field that the next text belongs to, unless a delimiter comes.
    pub field: Option<&'p str>,
    /// How many bytes of the text since the anchor have been dealt with.
    pub position: usize,
    /// The text behind that, which is held back because it may be a part of a delimiter.
    pub held_back: &'p str,
    /// The delimiters that are looked for.
    pub awaited: Vec<Awaited<'p>>,
}

/// A delimiter that is looked for.
#[derive(Debug)]
#[non_exhaustive]
pub struct Awaited<'p> {
    /// The field that it opens or closes.
    pub field: &'p str,
    /// Whether it opens the field, or closes it.
    pub opens: bool,
    /// The delimiter.
    pub delimiter: &'p Delimiter,
    /// The text that may be its beginning, or all of it, if there is any.
    pub begun: Option<&'p str>,
}

impl ResponseParser {
    /// What the parser waits for: which delimiters it looks for, and how far each of them has come.
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
    /// let begun = outlook.awaited.iter().find_map(|awaited| awaited.begun.map(|_| awaited.field));
    /// assert_eq!(begun, Some("thinking"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn outlook(&mut self) -> Outlook<'_> {
        let inner = &*self.template.inner;
        let run = &mut self.run;
        let window = Window {
            text: &run.held,
            base: run.held_from,
            before: run.before,
        };
        // Looking costs the parser nothing of what it may spend.
        let mut meter = Meter::new(window.text.len());
        let watches = inner.watches(run.current).iter();
        let awaited = watches.map(|watch| {
            let delimiter = inner.delimiter(watch);
            let search = &mut run.searches[watch.delimiter];
            let is_idle = !run.armed || search.is_idle() || !search.has_read(&window);
            let verdict = match is_idle {
                true => Ok(Verdict::Nothing),
                false => search.verdict(delimiter.compiled(), &window, false, &mut meter),
            };
            let begun = match verdict {
                Ok(Verdict::Found { start, .. } | Verdict::Partial { start }) => Some(start),
                _ => None,
            };
            let begun = begun.filter(|start| (run.position..window.end()).contains(start));
            Awaited {
                field: &inner.fields[watch.field].name,
                opens: watch.kind == Kind::Open,
                delimiter,
                begun: begun.map(|start| window.slice(start, window.end())),
            }
        });
        Outlook {
            field: run.current.map(|field| inner.fields[field].name.as_str()),
            position: run.position,
            awaited: awaited.collect(),
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
        let awaited = outlook.awaited.iter().map(|awaited| {
            let verb = if awaited.opens { "opens" } else { "closes" };
            let begun = awaited.begun.map(|begun| format!(" {begun:?}"));
            format!("{} {verb}{}", awaited.field, begun.unwrap_or_default())
        });
        let awaited: Vec<String> = awaited.collect();
        let field = outlook.field.unwrap_or("-");
        format!("{field}|{}: {}", outlook.held_back, awaited.join(", "))
    }

    #[test]
    fn it_is_told_what_may_come() {
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
