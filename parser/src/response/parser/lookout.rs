//! A parser that only looks for delimiters.

use crate::response::ParseError;

use super::ResponseParser;
use super::options::OnMalformed;
use super::outlook::Outlook;

/// Reads on from where a parser is, and tells what is looked for; see [`ResponseParser::lookout`].
///
/// It makes no values, and forgets all text but for what delimiters ask for. So it takes hardly any room, however
/// long the text is that has been read, and may be kept for many places of a text.
#[derive(Debug, Clone)]
pub struct Lookout {
    parser: ResponseParser,
}

impl ResponseParser {
    /// A lookout at the place where the parser is. It goes on behind regions that can't be parsed, whatever the
    /// parser does.
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
    /// parser.feed("<think>Let me see.")?;
    /// let mut lookout = parser.lookout();
    /// lookout.feed("</th")?;
    /// assert_eq!(lookout.outlook().held_back, "</th");
    /// lookout.feed("ink>Hello")?;
    /// assert_eq!(lookout.outlook().field, Some("content"));
    /// // The parser has stayed where it was.
    /// assert_eq!(parser.outlook().field, Some("thinking"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lookout(&self) -> Lookout {
        let run = self.run.without_values(&self.template.inner);
        let mut lookout = Lookout {
            parser: ResponseParser {
                run,
                template: self.template.clone(),
                initial_events: Vec::new(),
            },
        };
        lookout.parser.run.options.on_malformed = OnMalformed::Event;
        lookout.parser.run.options.stripped_chunks = false;
        lookout
    }
}

impl Lookout {
    /// Reads the next piece of the output.
    ///
    /// # Errors
    ///
    /// If the search for a delimiter is too costly, where the parser gives the same error.
    pub fn feed(&mut self, chunk: &str) -> Result<(), ParseError> {
        self.parser.feed_with(chunk, |_| {})?;
        self.parser.run.forget_text();
        Ok(())
    }

    /// What is looked for at this place: the same as [`ResponseParser::outlook`].
    pub fn outlook(&mut self) -> Outlook<'_> {
        self.parser.outlook()
    }
}

#[cfg(test)]
mod tests {
    use crate::response::{ParserOptions, ResponseParser, ResponseTemplate};

    #[test]
    fn looks_for_the_same_as_the_parser_from_every_place() {
        let template = ResponseTemplate::from_json(
            r#"{"start_anchor": "<bot>", "fields": {
                "thinking": {"open": "<think>", "close": "</think>", "repeats": true, "join": " "},
                "tool_calls": {"open_pattern": "<call (?P<name>\\w+)>\\s*", "close": "</call>",
                    "repeats": true, "content": "json",
                    "transform": {"name": "{name}", "arguments": "{content}"}},
                "content": {"close_pattern": "\\s*(?:<end>|(?=<think>))"}}}"#,
        )
        .expect("a template");
        let text = "So. <think>Hm</thin</think> <call wait> {\"a\": \"</cal\"}</call>\
                    <think>a</think>Well <end> on<call go>{}</call>";
        for guards in [false, true] {
            let options = ParserOptions::default().body_aware_close(guards);
            let mut parser = ResponseParser::new(&template, "", options).expect("a parser");
            let mut lookouts = vec![parser.lookout()];
            for (at, letter) in text.char_indices() {
                let letter = &text[at..at + letter.len_utf8()];
                parser.feed(letter).expect("it can be parsed");
                for (from, lookout) in lookouts.iter_mut().enumerate() {
                    lookout.feed(letter).expect("it can be parsed");
                    assert_eq!(lookout.outlook(), parser.outlook(), "from {from}, at {at}");
                }
                lookouts.push(parser.lookout());
            }
        }
    }
}
