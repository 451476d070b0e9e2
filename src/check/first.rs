//! A first fixture, for a chat template or of one case.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::derive::{Derivation, ProofRow};
use crate::json;
use crate::response::{ParseError, ParserOptions, ResponseTemplate, Tools, parse};
use crate::value::{Object, Value};

use super::add::{entry, free_name};
use super::cuts::Cut;
use super::document::{Language, write_fixture};
use super::fixture::Case;

/// A fixture to begin with: of one case, or with a case for each conversation that a chat template
/// renders. Those of which it writes the same text share one, which names them all.
///
/// What such a case expects is what the response template makes of the text. Where it does not recover
/// what was said, the case expects what was said, and fails: it shows what is to be mended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FirstFixture {
    /// What stands before the cases. Its `response_template` or `derive` can be made another.
    pub head: Object,
    /// The cases.
    pub cases: Vec<Object>,
    /// What comes out of each.
    outcomes: Vec<Result<Object, ParseError>>,
}

impl FirstFixture {
    /// Makes one from what was derived.
    ///
    /// ```
    /// use unjinja::check::FirstFixture;
    /// use unjinja::chat_template::ChatTemplate;
    /// use unjinja::derive::{DeriveOptions, derive};
    ///
    /// let template = ChatTemplate::from_jinja(
    ///     "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
    ///      {% if add_generation_prompt %}<assistant>{% endif %}",
    /// );
    /// let derived = derive(&template, &DeriveOptions::default())?;
    /// let fixture = FirstFixture::new(&derived);
    /// let first = &fixture.to_yaml("begin here")[..];
    /// assert!(first.starts_with("# begin here\nresponse_template:\n"), "{first}");
    /// assert!(first.contains("    output: High water is at noon.<end>\n"), "{first}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(derivation: &Derivation) -> FirstFixture {
        FirstFixture::with_template(derivation, &derivation.template)
    }

    /// The same, for a response template that is there already.
    pub fn with_template(derivation: &Derivation, template: &ResponseTemplate) -> FirstFixture {
        let mut names = HashSet::new();
        let mut cases = Vec::new();
        let mut outcomes = Vec::new();
        for (row, others) in by_text(template, &derivation.proof) {
            let options = ParserOptions::default().tools(derivation.tools.clone());
            let outcome = parse(template, &row.prefix, &row.output, options);
            cases.push(case(template, row, &others, &outcome, &mut names));
            outcomes.push(outcome);
        }
        let mut head = Object::new();
        head.insert("response_template", template.as_value().clone());
        let has_calls = derivation
            .proof
            .iter()
            .any(|row| row.message.contains_key("tool_calls"));
        if has_calls {
            head.insert("tools", derivation.tools.as_list().to_vec());
        }
        FirstFixture {
            head,
            cases,
            outcomes,
        }
    }

    /// One with a single case, for a response template that is at hand. The tools of the case become
    /// those of the file.
    ///
    /// ```
    /// use std::path::Path;
    /// use unjinja::check::{Case, Expected, FirstFixture};
    /// use unjinja::{ResponseTemplate, Tools};
    ///
    /// let template = ResponseTemplate::from_json(
    ///     r#"{"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}}"#)?;
    /// let case = Case::new("a greeting", "", "Hello!<end>", Tools::none(), Expected::default());
    /// let mut fixture = FirstFixture::of_case(&template, &case).as_is();
    /// fixture.head.insert("response_template", "template.json");
    /// let text = fixture.to_text(Path::new("a.fixture.yaml"), "begin here");
    /// assert!(text.starts_with("# begin here\n"));
    /// assert!(text.ends_with("
    /// response_template: template.json
    /// cases:
    ///   - name: a greeting
    ///     output: Hello!<end>
    ///     message:
    ///       content: Hello!
    /// "));
    /// # Ok::<(), unjinja::TemplateError>(())
    /// ```
    pub fn of_case(template: &ResponseTemplate, case: &Case) -> FirstFixture {
        FirstFixture::of_cases(template, std::slice::from_ref(case))
    }

    /// The same with several cases. The tools of the first that has any become those of the file.
    pub fn of_cases(template: &ResponseTemplate, cases: &[Case]) -> FirstFixture {
        let mut head = Object::new();
        head.insert("response_template", template.as_value().clone());
        let mut tools = cases.iter().map(|case| &case.tools);
        let tools = tools.find(|tools| tools.names().next().is_some());
        if let Some(tools) = tools {
            head.insert("tools", tools.as_list().to_vec());
        }
        let none = Tools::none();
        let shared = tools.unwrap_or(&none);
        let outcome = |case: &Case| case.read(template, &Cut::whole()).outcome;
        FirstFixture {
            head,
            cases: cases.iter().map(|case| entry(case, shared)).collect(),
            outcomes: cases.iter().map(outcome).collect(),
        }
    }

    /// The same, in which every case expects what comes out, also where that is not what was said.
    pub fn as_is(mut self) -> FirstFixture {
        for (case, outcome) in self.cases.iter_mut().zip(&self.outcomes) {
            match outcome {
                Ok(message) => {
                    case.remove("error");
                    case.insert("message", message.clone());
                }
                Err(error) => {
                    case.remove("message");
                    case.insert("error", error.to_string());
                }
            }
        }
        self
    }

    /// The fixture as it is written into a file: as JSON if the file's name ends in `.json`, or else
    /// as YAML below a comment, for which JSON has no place.
    pub fn to_text(&self, path: &Path, comment: &str) -> String {
        match Language::of(path) {
            Language::Json => json::write_styled(&self.to_value(), &json::Style::pretty(2)) + "\n",
            Language::Yaml => self.to_yaml(comment),
        }
    }

    /// The fixture as YAML, below a comment.
    pub fn to_yaml(&self, comment: &str) -> String {
        write_fixture(comment, &self.head, &self.cases)
    }

    /// The fixture as a value.
    pub fn to_value(&self) -> Value {
        let mut fixture = self.head.clone();
        let cases = self.cases.iter().cloned().map(Value::from);
        fixture.insert("cases", cases.collect::<Vec<Value>>());
        fixture.into()
    }
}

/// The rows that differ in what matters of their texts, each with the names of the others that have
/// the same.
fn by_text<'d>(
    template: &ResponseTemplate,
    rows: &'d [ProofRow],
) -> Vec<(&'d ProofRow, Vec<&'d str>)> {
    let mut known: HashMap<(&str, &str), usize> = HashMap::new();
    let mut all: Vec<(&ProofRow, Vec<&str>)> = Vec::new();
    for row in rows {
        let text = (from_anchor(template, &row.prefix), row.output.as_str());
        let number = *known.entry(text).or_insert(all.len());
        match all.get_mut(number) {
            Some((first, others)) => {
                let name = row.name.as_str();
                if first.name != name && !others.contains(&name) {
                    others.push(name);
                }
            }
            None => all.push((row, Vec::new())),
        }
    }
    all
}

fn case(
    template: &ResponseTemplate,
    row: &ProofRow,
    others: &[&str],
    outcome: &Result<Object, ParseError>,
    names: &mut HashSet<String>,
) -> Object {
    let name = free_name(&row.name, |name| names.contains(name));
    names.insert(name.clone());
    let mut case = Object::new();
    case.insert("name", name);
    let mut description = Vec::new();
    if let Some(why) = row.recovery.difference() {
        description.push(format!("What was said does not come back: {why}"));
    }
    if !others.is_empty() {
        description.push(format!("The same is written for: {}", others.join("; ")));
    }
    if !description.is_empty() {
        case.insert("description", description.join("\n"));
    }
    case.insert("prefix", from_anchor(template, &row.prefix));
    case.insert("output", row.output.as_str());
    let is_recovered = row.recovery.is_recovered();
    let message = match outcome.as_ref().ok().filter(|_| is_recovered) {
        Some(message) => message.clone(),
        None => intended_message(template, row),
    };
    case.insert("message", message);
    case
}

/// What was said, with what every message of the template holds.
fn intended_message(template: &ResponseTemplate, row: &ProofRow) -> Object {
    let mut message = template.defaults().clone();
    for (key, value) in row.message.clone() {
        message.insert(key, value);
    }
    message
}

/// The prompt from its last anchor on, which is all of it that matters.
fn from_anchor<'p>(template: &ResponseTemplate, prefix: &'p str) -> &'p str {
    let mut start = 0;
    let searched = template
        .start_anchor()
        .compiled()
        .for_each_match(prefix, |found| {
            start = found.start;
            std::ops::ControlFlow::Continue(())
        });
    let shorter = &prefix[start..];
    let after_anchor = |prefix| template.after_anchor(prefix).ok().flatten();
    match searched.is_ok() && after_anchor(shorter) == after_anchor(prefix) {
        true => shorter,
        false => prefix,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Expected, Fixture};

    #[test]
    fn one_of_a_case_is_a_fixture_in_yaml_and_in_json() {
        let template =
            r#"{"start_anchor": "<bot>", "fields": {"n": {"open": "<n>", "content": "int"}}}"#;
        let template = ResponseTemplate::from_json(template).expect("a template");
        let tools = json::read(r#"[{"function": {"name": "wait"}}]"#).expect("JSON");
        let tools = Tools::from_value(&tools);
        for (output, as_is, expected) in [
            ("<n>1", false, ""),
            ("<n>1", true, "message"),
            ("<n>x", true, "error"),
        ] {
            let case = Case::new("a", "<bot>", output, tools.clone(), Expected::default());
            let first = FirstFixture::of_case(&template, &case);
            let first = if as_is { first.as_is() } else { first };
            for path in [Path::new("a.fixture.yaml"), Path::new("a.fixture.json")] {
                let fixture = Fixture::parse(path, first.to_text(path, "begin here"));
                let fixture = fixture.expect("a fixture");
                let read = &fixture.cases()[0];
                assert_eq!(fixture.template().as_value(), template.as_value());
                assert_eq!(read.tools.as_list(), tools.as_list());
                assert_eq!((&*read.prefix, &*read.output), ("<bot>", output));
                let keys = read.expectations.iter().map(|(key, _)| *key);
                assert_eq!(keys.collect::<String>(), expected);
                assert!(!as_is || read.check(&template, 0).is_empty());
            }
        }
    }
}
