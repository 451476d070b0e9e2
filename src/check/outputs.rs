//! Outputs of a model, as a server records them: one JSON object a line. A response template reads them well where it can, where no
//! marker is left in what was said, where all of a call is read, and where calls name tools that were offered.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::analysis::Findings;
use crate::derive::ModelOutput;
use crate::diagnostic::{Diagnostic, Diagnostics, MemberPart};
use crate::json;
use crate::markers::{dedup, markers};
use crate::position::Position;
use crate::response::{
    Delimiter, Event, OnMalformed, OnUnread, ResponseParser, ResponseTemplate, Tools,
};
use crate::value::{Object, Value};

use super::add::free_name;
use super::case::Failure;
use super::files::read_text_up_to;
use super::fixture::{Case, Expected, FixtureError};
use super::run::{CheckOptions, Report, checked};

/// Files may be this large. They are logs, and no one writes them by hand.
const MAX_FILE: u64 = 256 << 20;

/// So many lines are reported that are no outputs.
const MAX_FAULTS: usize = 50;

/// Reads outputs from a file of JSON lines, each an object of the `text` (or `output`) and, where they are known, the `prefix`, the
/// `tools`, an `id`, which becomes the name, the `finish_reason`, which is `length` where the model had no room for more, and the
/// `message` that is expected. Other keys do not matter.
///
/// ```
/// use unjinja::check::outputs;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("outputs.jsonl");
/// std::fs::write(&path, r#"{"id": "a", "prefix": "<bot>", "text": "Hello!<end>"}"#)?;
/// let cases = outputs(&path)?;
/// assert_eq!((cases[0].name.as_str(), cases[0].output.as_str()), ("a", "Hello!<end>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the file can't be read, or a line is no output. All such lines are reported at once.
pub fn outputs(path: &Path) -> Result<Vec<Case>, FixtureError> {
    let fail = |faults| FixtureError::new(path, faults);
    let text = read_text_up_to(path, MAX_FILE).map_err(|fault| fail(vec![fault]))?;
    let mut faults = Diagnostics::up_to(MAX_FAULTS);
    let (mut cases, mut names) = (Vec::new(), HashSet::new());
    let mut position = Position::START;
    for line in text.split_inclusive('\n') {
        let case = match line.trim() {
            "" => None,
            _ => Some(case(line, position)),
        };
        match case {
            Some(Ok(mut case)) => {
                // Several answers to one request have the same id.
                case.name = free_name(&case.name, |name| names.contains(name));
                names.insert(case.name.clone());
                case.number = cases.len();
                cases.push(case);
            }
            Some(Err(fault)) => faults.add(fault, MemberPart::Value),
            None => {}
        }
        position = position.after(line.as_bytes());
    }
    match faults.is_empty() {
        true => Ok(cases),
        false => Err(fail(faults.placed_in(None))),
    }
}

/// The output that a line holds, which begins at a place.
fn case(line: &str, position: Position) -> Result<Case, Diagnostic> {
    let line = line.trim_end();
    let value = json::read(line).map_err(|error| {
        let behind = line.char_indices().nth(error.column().saturating_sub(1));
        let behind = behind.map_or(line.len(), |(at, _)| at);
        Diagnostic::new(format!("this is not JSON: {}", error.kind()))
            .at_position(position.after(&line.as_bytes()[..behind]))
            .with_remedy("write one JSON object on each line")
    })?;
    let output = ModelOutput::from_value(&value);
    let output = output.map_err(|why| Diagnostic::new(why).at_position(position))?;
    let name = match value.get("id") {
        Some(Value::String(id)) => id.to_string_lossy().into_owned(),
        Some(id @ Value::Number(_)) => json::write(id),
        _ => format!("line {}", position.line),
    };
    let tools = output.tools.as_ref();
    let tools = tools.map_or_else(Tools::none, Tools::from_value);
    let expected = Expected {
        message: output.message,
        ..Expected::default()
    };
    let prefix = output.prefix.unwrap_or_default();
    let mut case = Case::new(name, prefix, output.text, tools, expected);
    case.position = position;
    case.is_cut_off = output.is_cut_off;
    Ok(case)
}

/// A response template that reads outputs of which nobody has said what they mean, and the markers of its format.
#[derive(Debug, Clone)]
pub struct OutputReader {
    template: ResponseTemplate,
    markers: Vec<String>,
}

impl OutputReader {
    /// Reads with a response template. Its markers are those of its delimiters.
    pub fn new(template: &ResponseTemplate) -> OutputReader {
        let examples = template.inner.delimiters().flat_map(Delimiter::examples);
        let mut reader = OutputReader {
            template: template.clone(),
            markers: Vec::new(),
        };
        for example in examples {
            reader.add_markers(markers(example.matched()).map(str::to_owned));
        }
        reader
    }

    /// Adds the markers of a format as its chat template writes them.
    pub fn with_findings(mut self, findings: &Findings) -> OutputReader {
        self.add_markers(findings.markers().into_iter());
        self
    }

    pub(super) fn template(&self) -> &ResponseTemplate {
        &self.template
    }

    fn add_markers(&mut self, markers: impl Iterator<Item = String>) {
        self.markers.extend(markers);
        dedup(&mut self.markers);
    }

    /// All that shows that an output is not read well, or not as the case expects. It is read whole and in pieces, as
    /// [`Case::check`] reads it.
    ///
    /// ```
    /// use unjinja::check::{Case, Expected, OutputReader};
    /// use unjinja::{ResponseTemplate, Tools};
    ///
    /// let template = ResponseTemplate::from_json(r#"{
    ///     "start_anchor": "<bot>",
    ///     "fields": {"thinking": {"open": "<think>", "close": "</think>"}, "content": {"close": "<end>"}}
    /// }"#)?;
    /// let reader = OutputReader::new(&template);
    /// let failures = |output| {
    ///     reader.failures(&Case::new("a", "<bot>", output, Tools::none(), Expected::default()), 0)
    /// };
    /// assert!(failures("<think>Hm.</think>Yes.<end>").is_empty());
    /// // The prompt did not begin the thought, though the model went on as if it had.
    /// assert!(failures("Hm.</think>Yes.<end>")[0].headline().starts_with(r#""</think>" is left in `content`"#));
    /// # Ok::<(), unjinja::TemplateError>(())
    /// ```
    pub fn failures(&self, case: &Case, seed: u64) -> Vec<Failure> {
        let failures = case.check(&self.template, seed).into_iter();
        let failures = failures.flat_map(|failure| match failure {
            Failure::NothingExpected(trace) => match &trace.outcome {
                Ok(message) => self.signs(case, message),
                Err(error) => vec![Failure::NotParsed(error.clone())],
            },
            failure => vec![failure],
        });
        failures.collect()
    }

    /// What shows that a message is not what the model has said.
    fn signs(&self, case: &Case, message: &Object) -> Vec<Failure> {
        let texts = message.iter().filter_map(|(field, value)| {
            let text = value.as_str()?;
            let marker = self.markers.iter().find(|marker| text.contains(*marker))?;
            Some(Failure::MarkerLeft {
                field: field.to_string_lossy().into_owned(),
                marker: marker.clone(),
            })
        });
        let offered: HashSet<String> = (case.tools.names())
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        let calls = message.get("tool_calls").and_then(Value::as_array);
        let names = calls.unwrap_or_default().iter().map(|call| {
            let name = call.pointer("/function/name").and_then(Value::as_str);
            name.unwrap_or_default()
        });
        let unknown = names.filter(|name| !offered.is_empty() && !offered.contains(*name));
        let unknown = unknown.map(|name| Failure::UnknownTool(name.to_owned()));
        let unread = self.unread(case).into_iter().map(Failure::Unread);
        texts.chain(unknown).chain(unread).collect()
    }

    /// What of an output that can be parsed is read by nothing.
    fn unread(&self, case: &Case) -> Vec<String> {
        let options = (case.parser_options())
            .on_unread(OnUnread::Malformed)
            .on_malformed(OnMalformed::Event);
        let mut unread = Vec::new();
        let mut take = |event: Event<'_>| {
            // What is cut off is known to be.
            if let Event::Malformed {
                field,
                error,
                at_end,
                ..
            } = event
                && !(at_end && case.is_cut_off)
            {
                unread.push(format!("in `{field}`, {error}"));
            }
        };
        let begun = ResponseParser::new_with(&self.template, &case.prefix, options, &mut take);
        if let Ok(mut parser) = begun
            && parser.feed_with(&case.output, &mut take).is_ok()
        {
            // What else is wrong with the message is reported elsewhere.
            let _reported = parser.finalize_with(&mut take);
        }
        unread
    }
}

/// Checks whether recorded outputs are read well, each many times, as [`check`](super::check()) does with cases of fixtures.
///
/// ```
/// use unjinja::ResponseTemplate;
/// use unjinja::check::{CheckOptions, OutputReader, check_outputs};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("outputs.jsonl");
/// std::fs::write(&path, r#"{"text": "Hello!<end>"}
/// {"text": "Hello!<end>", "message": {"content": "Goodbye!"}}
/// "#)?;
/// let template = ResponseTemplate::from_json(
///     r#"{"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}}"#)?;
/// let report = check_outputs(&[path], &OutputReader::new(&template), &CheckOptions::default());
/// let failed: Vec<&str> = report.cases().filter(|(_, case)| !case.passed()).map(|(_, case)| case.name.as_str()).collect();
/// assert_eq!(failed, ["line 2"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_outputs(paths: &[PathBuf], reader: &OutputReader, options: &CheckOptions) -> Report {
    checked(paths, Some(reader), options)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = r#"{
        "start_anchor": "<bot>",
        "fields": {
            "tool_calls": {
                "open": "<call>", "close": "</call>", "repeats": true, "content": "json",
                "transform": {"type": "function", "function": "{content}"}
            },
            "content": {"close": "<end>"}
        }
    }"#;

    fn written(lines: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("outputs.jsonl");
        std::fs::write(&path, lines).expect("it can be written");
        (folder, path)
    }

    fn headlines(line: &str) -> Vec<String> {
        let (_folder, path) = written(line);
        let template = ResponseTemplate::from_json(TEMPLATE).expect("it is one");
        let reader = OutputReader::new(&template);
        let report = check_outputs(&[path], &reader, &CheckOptions::default());
        let mut cases = report.cases();
        let (_, case) = cases.next().expect("one output");
        assert!(cases.next().is_none());
        case.failures.iter().map(Failure::headline).collect()
    }

    #[test]
    fn what_is_read_well_passes_and_what_is_not_says_why() {
        let tools = r#""tools": [{"type": "function", "function": {"name": "f"}}]"#;
        let call = r#""text": "<call>{\"name\": \"f\", \"arguments\": {}}</call>""#;
        for line in [
            format!("{{{call}, {tools}}}"),
            // Nobody knows which tools there were.
            format!("{{{}}}", call.replace("\\\"f", "\\\"g")),
            // The model had no room for the rest.
            r#"{"text": "So.<call>{\"name\": \"f", "finish_reason": "length"}"#.to_owned(),
            // What was said is known, and has a marker in it.
            r#"{"text": "Write </call>.<end>", "message": {"content": "Write </call>."}}"#
                .to_owned(),
        ] {
            assert_eq!(headlines(&line), [""; 0], "{line}");
        }
        for (line, expected) in [
            (
                format!("{{{}, {tools}}}", call.replace("\\\"f", "\\\"g")),
                "a call names `g`, which is none of the tools",
            ),
            (
                r#"{"text": "So.<call>{\"name\": \"f"}"#.to_owned(),
                "the output can't be parsed",
            ),
            (
                r#"{"text": "Write </call>.<end>"}"#.to_owned(),
                "\"</call>\" is left in `content`",
            ),
            (
                r#"{"text": "Yes.<end>", "prefix": "<user>Well?"}"#.to_owned(),
                "the template's anchor is not in the prompt",
            ),
            (
                r#"{"text": "Yes.<end>", "message": {"content": "No."}}"#.to_owned(),
                "the message is not what was expected",
            ),
        ] {
            let found = headlines(&line);
            assert!(
                found.len() == 1 && found[0].starts_with(expected),
                "{line}: {found:?}"
            );
        }
    }

    #[test]
    fn what_nothing_reads_is_reported() {
        let template = ResponseTemplate::from_json(
            r#"{"start_anchor": "<bot>", "fields": {"tool_calls": {
                "open_pattern": "<call (?P<name>\\w+)>", "close": "</call>", "repeats": true,
                "content": "kv-lines", "transform": {"function": {"name": "{name}", "arguments": "{content}"}}}}}"#,
        );
        let reader = OutputReader::new(&template.expect("it is one"));
        for (output, is_cut_off, expected) in [
            (
                "<call f>\na: 1\nb 2</call>",
                false,
                Some("something is lost: in `tool_calls`, nothing reads \"b 2\" in it"),
            ),
            ("<call f>\na: 1\nb: 2</call>", false, None),
            ("<call f>\na: 1\nb 2", true, None),
        ] {
            let mut case = Case::new("a", "<bot>", output, Tools::none(), Expected::default());
            case.is_cut_off = is_cut_off;
            let failures = reader.failures(&case, 0);
            let found: Vec<String> = failures.iter().map(Failure::headline).collect();
            assert_eq!(
                found.len(),
                usize::from(expected.is_some()),
                "{output}: {found:?}"
            );
            assert!(
                found
                    .iter()
                    .all(|found| found.starts_with(expected.unwrap_or_default())),
                "{found:?}"
            );
        }
    }

    #[test]
    fn each_line_that_is_no_output_is_reported_with_its_place() {
        let (_folder, path) = written("{\"text\": \"a\"}\n\n{\"text\": }\n{\"text\": 3}\n{}\n");
        let error = outputs(&path).expect_err("it has faults");
        let places: Vec<_> = error.faults.iter().map(|fault| fault.position).collect();
        let places = places.into_iter().flatten().map(Position::line_column);
        assert_eq!(places.collect::<Vec<_>>(), [(3, 10), (4, 1), (5, 1)]);
    }

    #[test]
    fn several_answers_to_a_request_have_names_of_their_own() {
        let (_folder, path) = written("{\"id\": \"a\", \"text\": \"\"}\n".repeat(2).as_str());
        let cases = outputs(&path).expect("they are outputs");
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names, ["a", "a (2)"]);
    }
}
