//! How the versions of the language read a template.

use crate::profile::{Profile, Target};
use crate::response::pattern::{Draft, drafts};
use crate::response::{Language, Parser, ResponseTemplate, TemplateError};

use super::compare::{ComparisonInput, Divergence, compare_between};

/// What versions read otherwise, as far as texts of a region show it.
const BODIES: [&str; 3] = ["{ a : 1}", "{a:\"b,c:d\"}", "[f(a=1)]"];

/// What a version of the language makes of a template.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct VersionReading {
    /// The version.
    pub language: Language,
    /// A text that it does not read as the newest does, if one was found; or why it refuses the template.
    pub reading: Result<Option<Divergence>, TemplateError>,
}

impl VersionReading {
    /// What each version makes of a template, the newest first. Typed arguments are not looked at.
    ///
    /// ```
    /// use unjinja::ResponseTemplate;
    /// use unjinja::check::VersionReading;
    ///
    /// let template = ResponseTemplate::from_json(r#"{"start_anchor": "<bot>", "fields": {"x": {
    ///     "open": "<x>", "close": "</x>", "content": "json", "content_args": {"unquoted_keys": true}}}}"#)?;
    /// let readings = VersionReading::all(&template);
    /// let parts = readings.iter().map(|version| version.reading.as_ref().is_ok_and(|found| found.is_some()));
    /// // 5.24 reads it otherwise than all before.
    /// assert!(parts.eq([false, true, true, true, true, true]));
    /// # Ok::<(), unjinja::TemplateError>(())
    /// ```
    pub fn all(template: &ResponseTemplate) -> Vec<VersionReading> {
        let mut texts = ComparisonInput::synthetic(template, template);
        texts.extend(ComparisonInput::telling_versions(template));
        let versions = Language::all().rev();
        versions
            .map(|language| VersionReading {
                language,
                reading: template
                    .in_language(language)
                    .map(|_| divergence(template, language, &texts)),
            })
            .collect()
    }
}

/// The smallest text that a version does not read as the newest does.
fn divergence(
    template: &ResponseTemplate,
    language: Language,
    texts: &[ComparisonInput],
) -> Option<Divergence> {
    let profile = Profile::named("transformers")?;
    let versions =
        [language, Language::default()].map(|language| Target::of_language(profile, language));
    compare_between(versions, template, template, texts).smallest
}

impl ComparisonInput {
    /// Texts on which versions of the language part if they do: what values may be written like, within markers of a
    /// template; and synthetic texts that come character by character, since versions wait for more text or don't.
    pub fn telling_versions(template: &ResponseTemplate) -> Vec<ComparisonInput> {
        let mut texts = Vec::new();
        for field in template.fields() {
            let first = |delimiter: Option<&crate::response::Delimiter>| {
                let examples = delimiter.map(|delimiter| delimiter.examples());
                examples.and_then(|examples| examples.first().map(|example| example.text.clone()))
            };
            let (open, close) = (first(field.open()), first(field.close()));
            let (open, close) = (open.unwrap_or_default(), close.unwrap_or_default());
            let mut bodies: Vec<String> = BODIES.map(str::to_owned).into();
            bodies.extend(twice_tagged(field.content()));
            for body in bodies {
                texts.push(telling(format!("{open}{body}{close}")));
            }
        }
        let waits = template.fields().iter().any(|field| {
            let delimiters = [field.open(), field.close()].into_iter().flatten();
            delimiters
                .into_iter()
                .any(|delimiter| delimiter.is_chunk_dependent() != Some(false))
        });
        if waits {
            let synthetic = ComparisonInput::synthetic(template, template).into_iter();
            texts.extend(synthetic.map(|text| ComparisonInput {
                by_character: true,
                ..text
            }));
        }
        texts
    }
}

fn telling(output: String) -> ComparisonInput {
    ComparisonInput::new("made up to tell versions apart", "", &output)
}

/// A tag with a list, and the same tag again.
fn twice_tagged(content: &crate::response::Content) -> Option<String> {
    let Parser::XmlInline(tags) = &content.parser else {
        return None;
    };
    let spelling = tags.spelling.as_str();
    drafts(spelling).iter().map(Draft::whole).find_map(|text| {
        let mut value = None;
        let searched = tags.pattern.for_each_match(&text, |found| {
            value = tags.value.and_then(|group| found.group(group));
            std::ops::ControlFlow::Break(())
        });
        let value = value.filter(|_| searched.is_ok())?;
        let (before, after) = (&text[..value.start], &text[value.end..]);
        Some(format!("{before}[1]{after}{before}2{after}"))
    })
}
