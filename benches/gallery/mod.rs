//! The templates of the gallery, each with a message as long as one likes.

use unjinja::check::{Case, Fixture, find};
use unjinja::{ParserOptions, ResponseTemplate, parse};

use crate::reading::prose;

/// A template of the gallery, and a message for it.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) template: ResponseTemplate,
    pub(crate) prefix: String,
    /// An output that has most in it.
    output: String,
    /// Those of its texts that can be longer.
    texts: Vec<String>,
}

impl Subject {
    /// A message of so many bytes: long texts stand in place of its own.
    pub(crate) fn message(&self, bytes: usize) -> String {
        let long = prose(bytes / self.texts.len().max(1));
        let texts = self.texts.iter();
        texts.fold(self.output.clone(), |output, text| {
            output.replacen(text, long.trim_end(), 1)
        })
    }
}

/// The thought and the text that a template reads out of an output, as far as they stand there.
fn texts(template: &ResponseTemplate, case: &Case) -> Vec<String> {
    let message = parse(
        template,
        &case.prefix,
        &case.output,
        ParserOptions::default(),
    );
    let message = message.unwrap_or_default();
    let values = ["thinking", "content"].map(|key| message.get(key).and_then(|text| text.as_str()));
    let texts = values.into_iter().flatten().map(str::to_owned);
    texts.filter(|text| case.output.contains(text)).collect()
}

/// The case of a fixture that has most in it.
fn subject(fixture: &Fixture, name: String) -> Option<Subject> {
    let template = fixture.template();
    let cases = fixture.cases().iter();
    let case = cases.max_by_key(|case| (texts(template, case).len(), case.output.len()))?;
    Some(Subject {
        name,
        template: template.clone(),
        prefix: case.prefix.clone(),
        output: case.output.clone(),
        texts: texts(template, case),
    })
}

/// All of them, from their folder.
pub(crate) fn subjects(folder: &str) -> Vec<Subject> {
    let paths = find(&[folder.into()]);
    let subjects = paths.iter().filter_map(|path| {
        let fixture = Fixture::load(path).expect("the fixtures of the gallery load");
        let name = path.file_name()?.to_string_lossy();
        subject(&fixture, name.split('.').next()?.to_owned())
    });
    subjects.collect()
}
