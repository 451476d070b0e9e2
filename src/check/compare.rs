//! Whether two response templates, or schemas, read the same texts alike.

use crate::derive::Derivation;
use crate::profile::{Ported, Target};
use crate::response::{ResponseTemplate, Tools};
use crate::response_schema::without_empty;
use crate::value::{Object, Value};

use super::fixture::Fixture;
use super::reader::Reader;
use super::shrink::smallest;

/// So many of the diverging texts are shrunk to find the smallest one.
const MAX_SHRUNK: usize = 12;

/// A text that both are to read.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ComparisonInput {
    /// Where it comes from, for people.
    pub origin: String,
    /// The prompt.
    pub prefix: String,
    /// What the model writes.
    pub output: String,
    /// The tools of the prompt.
    pub tools: Tools,
    /// Whether it comes character by character, where messages are compared that targets hand on.
    pub by_character: bool,
}

/// How two response templates, or schemas, read some texts.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// The texts that they do not read alike.
    pub diverging: Vec<ComparisonInput>,
    /// The smallest text, a part of one of these, that they do not read alike.
    pub smallest: Option<Divergence>,
}

/// A text that two response templates, or schemas, do not read alike.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Divergence {
    /// The text.
    pub input: ComparisonInput,
    /// What the first makes of it.
    pub first: Result<Value, String>,
    /// What the second makes of it.
    pub second: Result<Value, String>,
}

impl Comparison {
    /// For programs: an object of how many texts the two have `parted` on, and of the `smallest`
    /// one, as [`Divergence::to_value`] gives it.
    pub fn to_value(&self) -> Value {
        Object::from_iter([
            ("parted", Value::from(self.diverging.len())),
            (
                "smallest",
                self.smallest.as_ref().map(Divergence::to_value).into(),
            ),
        ])
        .into()
    }
}

impl Divergence {
    /// For programs: an object of the `origin`, `prefix` and `output` of the text, whether it comes `by_character`, if it
    /// does, and of what the `first` and the `second` make of it: each an object of a `message` or an `error`.
    pub fn to_value(&self) -> Value {
        let mut out = Object::from_iter([
            ("origin", Value::from(&self.input.origin)),
            ("prefix", Value::from(&self.input.prefix)),
            ("output", Value::from(&self.input.output)),
        ]);
        if self.input.by_character {
            out.insert("by_character", true);
        }
        out.insert("first", outcome_object(&self.first));
        out.insert("second", outcome_object(&self.second));
        out.into()
    }
}

/// Lets two response templates, or response schemas, read the same texts, and looks for the smallest one
/// on which they diverge. They read a text alike if they make the same message of it, or can't parse it
/// both. A response template leaves out what is empty, so where only one of them is a schema, that makes no
/// difference.
///
/// ```
/// use unjinja::ResponseTemplate;
/// use unjinja::check::{ComparisonInput, compare};
///
/// let template = |close: &str| ResponseTemplate::from_json(&format!(
///     r#"{{"start_anchor": "<bot>", "fields": {{"content": {{"close": "{close}"}}}}}}"#));
/// let texts = [ComparisonInput::new("by hand", "", "A long text.<end>And more of it.")];
/// let comparison = compare(&template("<end>")?, &template("</s>")?, &texts);
/// let smallest = comparison.smallest.expect("they diverge");
/// assert_eq!(smallest.input.output, "<end>");
/// # Ok::<(), unjinja::TemplateError>(())
/// ```
pub fn compare(
    first: impl Into<Reader>,
    second: impl Into<Reader>,
    texts: &[ComparisonInput],
) -> Comparison {
    compare_pair(
        &Pair {
            first: Side::new(first.into(), None),
            second: Side::new(second.into(), None),
        },
        texts,
    )
}

/// The same of the messages that a target hands on: it reads them in its version of the language, where a region does not
/// parse, it does as the target does, calls that the target can't send are gone, and the field for reasoning has one name.
///
/// ```
/// use unjinja::ResponseTemplate;
/// use unjinja::check::{ComparisonInput, compare, compare_for};
///
/// let template = |name: &str| ResponseTemplate::from_json(&format!(
///     r#"{{"start_anchor": "<bot>", "fields": {{"{name}": {{"open": "[", "close": "]"}}}}}}"#));
/// let (first, second) = (template("thinking")?, template("reasoning_content")?);
/// let texts = [ComparisonInput::new("by hand", "", "[Hm.]")];
/// assert!(compare(&first, &second, &texts).smallest.is_some());
/// assert!(compare_for("trl".parse()?, &first, &second, &texts).smallest.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compare_for(
    target: Target,
    first: impl Into<Reader>,
    second: impl Into<Reader>,
    texts: &[ComparisonInput],
) -> Comparison {
    compare_between([target, target], first, second, texts)
}

/// The same where the messages of the first are those that one target hands on, and those of the second another one's: two
/// versions of a package, for one template.
///
/// ```
/// use unjinja::ResponseTemplate;
/// use unjinja::check::{ComparisonInput, compare_between};
///
/// let template = ResponseTemplate::from_json(r#"{"start_anchor": "<bot>", "fields": {"content": {
///     "open": "<x>", "close": "</x>", "content": "json", "content_args": {"unquoted_keys": true}}}}"#)?;
/// let texts = [ComparisonInput::new("by hand", "", "<x>{ a: 1}</x>")];
/// let versions = ["transformers@5.23".parse()?, "transformers@5.24".parse()?];
/// let comparison = compare_between(versions, &template, &template, &texts);
/// assert_eq!(comparison.diverging.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compare_between(
    [one, other]: [Target; 2],
    first: impl Into<Reader>,
    second: impl Into<Reader>,
    texts: &[ComparisonInput],
) -> Comparison {
    compare_pair(
        &Pair {
            first: Side::new(first.into(), Some(one)),
            second: Side::new(second.into(), Some(other)),
        },
        texts,
    )
}

fn compare_pair(pair: &Pair, texts: &[ComparisonInput]) -> Comparison {
    let differs = |text: &&ComparisonInput| pair.differs_on(text);
    let mut diverging: Vec<ComparisonInput> = texts.iter().filter(differs).cloned().collect();
    diverging.sort_by_key(|text| text.prefix.len() + text.output.len());
    let shrunk = diverging
        .iter()
        .take(MAX_SHRUNK)
        .map(|text| pair.shrunk(text));
    let smallest =
        shrunk.min_by_key(|text| (text.output.len() + text.prefix.len(), text.prefix.len()));
    Comparison {
        smallest: smallest.map(|text| pair.divergence(text)),
        diverging,
    }
}

/// Whether a template that was rewritten for somebody reads texts as before.
///
/// ```
/// use unjinja::ResponseTemplate;
/// use unjinja::check::PortTrial;
/// use unjinja::profile::port;
///
/// let template = ResponseTemplate::from_json(
///     r#"{"start_anchor": "<bot>", "fields": {"reasoning": {"open": "<think>", "close": "</think>"}}}"#,
/// )?;
/// let ported = port(&template, "vllm".parse()?)?;
/// let trial = PortTrial::of(&template, &ported);
/// assert!(trial.texts > 0 && trial.differing.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PortTrial {
    /// How many texts both have read; they are put together from markers.
    pub texts: usize,
    /// Those of which the messages differ by more than what was changed.
    pub differing: Vec<ComparisonInput>,
}

impl PortTrial {
    /// Lets a template, and what was made of it, read the same texts.
    pub fn of(template: &ResponseTemplate, ported: &Ported) -> PortTrial {
        let readers = [template, &ported.template].map(Reader::from);
        let texts = ComparisonInput::synthetic(&readers[0], &readers[1]);
        let differs = |text: &&ComparisonInput| {
            let [before, after] = readers
                .each_ref()
                .map(|reader| reader.read(&text.prefix, &text.output, &text.tools));
            match (before, after) {
                (Ok(Value::Object(before)), Ok(Value::Object(after))) => {
                    !ported.agree(before, after)
                }
                (Err(_), Err(_)) => false,
                _ => true,
            }
        };
        PortTrial {
            texts: texts.len(),
            differing: texts.iter().filter(differs).cloned().collect(),
        }
    }
}

struct Pair {
    first: Side,
    second: Side,
}

/// What reads texts, and what is made of their messages.
struct Side {
    /// Nothing, and why, where whoever's messages are compared refuses it.
    reader: Result<Reader, String>,
    /// Whose messages are compared, if not those of the language.
    target: Option<Target>,
}

impl Side {
    fn new(reader: Reader, target: Option<Target>) -> Side {
        let read = match target {
            Some(target) => reader.in_language(target.language()),
            None => Ok(reader),
        };
        Side {
            reader: read.map_err(|error| error.to_string()),
            target,
        }
    }

    fn outcome(&self, text: &ComparisonInput) -> Result<Value, String> {
        let reader = self.reader.as_ref().map_err(String::clone)?;
        match self.target {
            Some(target) => reader.read_for(target, text),
            None => reader.read(&text.prefix, &text.output, &text.tools),
        }
    }

    fn is_schema(&self) -> bool {
        matches!(self.reader, Ok(Reader::Schema(_)))
    }
}

impl Pair {
    fn outcomes(&self, text: &ComparisonInput) -> [Result<Value, String>; 2] {
        [&self.first, &self.second].map(|side| side.outcome(text))
    }

    fn differs_on(&self, text: &ComparisonInput) -> bool {
        match self.outcomes(text) {
            [Ok(first), Ok(second)] => match self.first.is_schema() == self.second.is_schema() {
                true => !first.total_eq(&second),
                false => !without_empty(&first).total_eq(&without_empty(&second)),
            },
            [Err(_), Err(_)] => false,
            _ => true,
        }
    }

    /// The text without whatever does not matter, the prompt first.
    fn shrunk(&self, text: &ComparisonInput) -> ComparisonInput {
        let mut text = text.clone();
        let prefix: Vec<char> = text.prefix.chars().collect();
        let prefix = smallest(&prefix, |prefix| {
            self.differs_on(&ComparisonInput {
                prefix: prefix.iter().collect(),
                ..text.clone()
            })
        });
        text.prefix = prefix.into_iter().collect();
        let output: Vec<char> = text.output.chars().collect();
        let output = smallest(&output, |output| {
            self.differs_on(&ComparisonInput {
                output: output.iter().collect(),
                ..text.clone()
            })
        });
        text.output = output.into_iter().collect();
        text
    }

    fn divergence(&self, text: ComparisonInput) -> Divergence {
        let [first, second] = self.outcomes(&text);
        Divergence {
            input: text,
            first,
            second,
        }
    }
}

/// What came of a text, for programs: its `message`, or the `error`.
fn outcome_object(outcome: &Result<Value, String>) -> Object {
    match outcome {
        Ok(message) => Object::from_iter([("message", message.clone())]),
        Err(error) => Object::from_iter([("error", error.as_str())]),
    }
}

impl ComparisonInput {
    /// A text without tools.
    pub fn new(origin: &str, prefix: &str, output: &str) -> ComparisonInput {
        ComparisonInput {
            origin: origin.to_owned(),
            prefix: prefix.to_owned(),
            output: output.to_owned(),
            tools: Tools::none(),
            by_character: false,
        }
    }

    /// The texts of a fixture's cases.
    pub fn of_fixture(fixture: &Fixture) -> Vec<ComparisonInput> {
        let cases = fixture.cases().iter();
        let texts = cases.map(|case| ComparisonInput {
            origin: format!("in {}: {}", fixture.path().display(), case.name),
            prefix: case.prefix.clone(),
            output: case.output.clone(),
            tools: case.tools.clone(),
            by_character: false,
        });
        texts.collect()
    }

    /// What a chat template renders, and what models do to it.
    pub fn of_derivation(derivation: &Derivation) -> Vec<ComparisonInput> {
        let text = |origin: &str, prefix: &str, output: &str| ComparisonInput {
            tools: derivation.tools.clone(),
            ..ComparisonInput::new(origin, prefix, output)
        };
        let rendered = derivation.proof.iter();
        let rendered = rendered.map(|row| {
            let origin = format!("rendered: {}", row.name);
            text(&origin, &row.prefix, &row.output)
        });
        let damaged = derivation.damaged.iter();
        let damaged = damaged.map(|damaged| {
            let origin = format!("damaged: {}", damaged.damage);
            text(&origin, &damaged.prefix, &damaged.output)
        });
        rendered.chain(damaged).collect()
    }
}
