//! Target packages: what each that reads response templates accepts, beyond the language itself.
//!
//! There is one language of response templates, but an engine that serves models has to send fields, texts and
//! calls to its clients in its own form, and refuses templates for which it can't. A [`Profile`] describes
//! one such package: its rules, since which version they hold, and what it reads differently. All of
//! it is data, with the file of the package and the day on which it was examined. A [`Target`] is a profile
//! at one version; it has objections to a template, and [`port()`] rewrites the template for it.
//!
//! ```
//! use unjinja::ResponseTemplate;
//! use unjinja::profile::{Target, port};
//!
//! let template = ResponseTemplate::from_json(r#"{
//!     "start_anchor": "<bot>",
//!     "fields": {
//!         "reasoning_content": {"open": "<think>", "close": "</think>"},
//!         "content": {"close": "<end>"}
//!     }
//! }"#)?;
//! let target: Target = "vllm".parse()?;
//! let objections = target.objections(&template);
//! assert_eq!(objections[0].diagnostic.pointer, "/fields/reasoning_content");
//!
//! let ported = port(&template, target)?;
//! assert!(ported.template.field("thinking").is_some());
//! assert!(target.objections(&ported.template).is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod load;
mod port;
mod rule;
#[cfg(test)]
mod tests;
mod version;

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use thiserror::Error;

use crate::response::{Language, ResponseTemplate};
use crate::spelling::did_you_mean;
use crate::value::{Object, Value};

pub use port::{Change, Ported, joins_for, language_for, port, reasoning_for};
pub use rule::{Effect, Objection};
pub use version::Version;

use rule::Rule;

/// What is known of a package that reads response templates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    name: String,
    title: String,
    version: Version,
    since: Version,
    reasoning: String,
    chosen: String,
    malformed: Malformed,
    /// Since which version it has which version of the language; nothing for the library whose versions these are.
    languages: Vec<(Version, Language)>,
    rules: Vec<Rule>,
    readings: Vec<Reading>,
}

/// Where something about a package was found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceFile {
    /// The file in the package.
    pub file: String,
    /// The version of the package.
    pub version: Version,
    /// The day on which it was looked at, as year, month and day.
    pub date: String,
}

/// What a package does where the language leaves a choice, or otherwise than the language says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reading {
    /// What it is about, in a word, such as `numbers`.
    pub about: String,
    /// What the package does.
    pub says: String,
    /// Since which version it does so, if not always.
    pub since: Option<Version>,
    /// Where this was found.
    pub source: SourceFile,
}

/// What becomes of an output of which a region does not parse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// The parsing fails.
    Fail,
    /// The region is left out, and the message goes on.
    Drop,
    /// The whole output becomes the message's content.
    Text,
}

static PROFILES: LazyLock<Vec<Profile>> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "constants that the tests load")]
    let load = |text: &&str| load::profile(text).expect("the data of a profile");
    load::TEXTS.iter().map(load).collect()
});

impl Profile {
    /// All profiles there are.
    pub fn all() -> &'static [Profile] {
        &PROFILES
    }

    /// The profile of this name.
    pub fn named(name: &str) -> Option<&'static Profile> {
        Profile::all().iter().find(|profile| profile.name == name)
    }

    /// Its name, which is that of the package.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What people call the package.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The version of the package that was looked at.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The first version that reads response templates.
    pub fn since(&self) -> Version {
        self.since
    }

    /// The name that it gives to the field for reasoning.
    pub fn reasoning(&self) -> &str {
        &self.reasoning
    }

    /// How it is made to read a response template.
    pub fn chosen(&self) -> &str {
        &self.chosen
    }

    /// What becomes of an output of which a region does not parse.
    pub fn malformed(&self) -> Malformed {
        self.malformed
    }

    /// The version of the language that one of its versions has.
    fn language_at(&self, version: Version) -> Language {
        let known = match self.languages.as_slice() {
            [] => version.language(),
            languages => {
                let mut languages = languages.iter().rev();
                let known = languages.find(|(since, _)| *since <= version);
                known.map(|(_, language)| *language)
            }
        };
        known.unwrap_or(Language::V5_13)
    }

    /// What it reads otherwise, or where the language leaves a choice.
    pub fn readings(&self) -> &[Reading] {
        &self.readings
    }

    /// The fields that all profiles know which refuse others.
    pub(crate) fn fields_of_engines() -> Option<(&'static [String], Vec<&'static str>)> {
        let known = |profile: &'static Profile| {
            let rules = profile.rules.iter();
            let mut rules = rules.filter(|rule| rule.effect == Effect::Refused);
            rules.find_map(|rule| Some((rule.fields()?, profile.title())))
        };
        let mut known = Profile::all().iter().filter_map(known);
        let (fields, title) = known.next()?;
        let others = known.filter(|(other, _)| *other == fields);
        let titles = [title].into_iter().chain(others.map(|(_, title)| title));
        Some((fields, titles.collect()))
    }

    /// The versions with which it got another version of the language.
    fn language_turns(&self) -> Vec<Version> {
        match self.languages.as_slice() {
            [] => Language::all().map(Version::of_language).collect(),
            languages => languages.iter().map(|(since, _)| *since).collect(),
        }
    }

    /// The first version that takes a template, if the one that was looked at does.
    ///
    /// ```
    /// use unjinja::ResponseTemplate;
    /// use unjinja::profile::Profile;
    ///
    /// let template = ResponseTemplate::from_json(r#"{
    ///     "start_anchor": "<bot>",
    ///     "fields": {"content": {"open": "<say>", "close": "</say>", "repeats": true, "join": "\n"}}
    /// }"#)?;
    /// let transformers = Profile::named("transformers").expect("it is there");
    /// assert_eq!(transformers.takes_since(&template), "5.16".parse().ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn takes_since(&'static self, template: &ResponseTemplate) -> Option<Version> {
        let rules = self.rules.iter();
        let mut turns: Vec<Version> = rules
            .flat_map(|rule| [rule.since, rule.until].into_iter().flatten())
            .collect();
        turns.push(self.since);
        turns.extend(self.language_turns());
        turns.sort();
        turns.dedup();
        let mut taken = None;
        for version in turns.into_iter().rev() {
            let target = Target {
                profile: self,
                version,
            };
            let objections = target.objections(template);
            match objections.iter().any(|o| o.effect != Effect::Limits) {
                true => break,
                false => taken = Some(version),
            }
        }
        taken
    }

    /// For programs: an object of the `name`, `title`, `version`, `since`, `reasoning`, of the `language` that it has, and with which of its
    /// versions it got which (`languages`), of what makes it read templates (`chosen`), of its `rules` and its `readings`, each with its `source`.
    pub fn to_value(&self) -> Value {
        let version = |version: Option<Version>| -> Value {
            version.map(|version| version.to_string()).into()
        };
        let reading = |reading: &Reading| {
            Object::from_iter([
                ("about", Value::from(&reading.about)),
                ("says", Value::from(&reading.says)),
                ("since", version(reading.since)),
                ("source", reading.source.to_value()),
            ])
        };
        let turn = |since: Version| {
            Object::from_iter([
                ("since", since.to_string()),
                ("language", self.language_at(since).to_string()),
            ])
        };
        let rule = |rule: &Rule| {
            Object::from_iter([
                ("says", Value::from(rule.to_string())),
                ("since", version(rule.since)),
                ("until", version(rule.until)),
                ("otherwise", rule.effect.key().into()),
                ("why", rule.why.as_deref().into()),
                ("source", rule.source.to_value()),
            ])
        };
        Object::from_iter([
            ("name", Value::from(&self.name)),
            ("title", Value::from(&self.title)),
            ("version", self.version.to_string().into()),
            ("since", self.since.to_string().into()),
            (
                "language",
                self.language_at(self.version).to_string().into(),
            ),
            (
                "languages",
                self.language_turns().into_iter().map(turn).collect(),
            ),
            ("reasoning", Value::from(&self.reasoning)),
            ("chosen", Value::from(&self.chosen)),
            ("rules", self.rules.iter().map(rule).collect()),
            ("readings", self.readings.iter().map(reading).collect()),
        ])
        .into()
    }
}

/// In words: what it takes, what it reads otherwise, and where that was found.
impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (title, version, since) = (&self.title, self.version, self.since);
        writeln!(f, "{} ({title} {version})", self.name)?;
        writeln!(
            f,
            "  reads response templates since {since}: {}",
            self.chosen
        )?;
        let language = self.language_at(version);
        writeln!(f, "  has version {language} of the language")?;
        writeln!(f, "  calls reasoning `{}`", self.reasoning)?;
        for rule in &self.rules {
            let span = match (rule.since, rule.until) {
                (Some(since), _) => format!(", since {since}"),
                (None, Some(until)) => format!(", before {until}"),
                (None, None) => String::new(),
            };
            let otherwise = match &rule.why {
                Some(why) => why.clone(),
                None => "it refuses the template".to_owned(),
            };
            writeln!(f, "  {rule}{span}: otherwise {otherwise}")?;
            writeln!(f, "      {}", rule.source)?;
        }
        for reading in &self.readings {
            let since = match reading.since {
                Some(since) => format!(", since {since}"),
                None => String::new(),
            };
            writeln!(f, "  {}: {}{since}", reading.about, reading.says)?;
            writeln!(f, "      {}", reading.source)?;
        }
        Ok(())
    }
}

impl SourceFile {
    fn to_value(&self) -> Value {
        Object::from_iter([
            ("file", self.file.clone()),
            ("version", self.version.to_string()),
            ("date", self.date.clone()),
        ])
        .into()
    }
}

impl fmt::Display for SourceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of {}, looked at on {}",
            self.file, self.version, self.date
        )
    }
}

/// Whom a template is for: a package, at one version.
///
/// ```
/// use unjinja::profile::Target;
///
/// let target: Target = "transformers@5.15".parse()?;
/// assert_eq!(target.to_string(), "transformers 5.15.0");
/// assert_eq!(
///     "vlm".parse::<Target>().unwrap_err().to_string(),
///     "there is no profile `vlm`: did you mean `vllm`?",
/// );
/// # Ok::<(), unjinja::profile::UnknownTarget>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Target {
    /// The package.
    pub profile: &'static Profile,
    /// Its version. What is newer than the one that was looked at is taken to do the same.
    pub version: Version,
}

impl Target {
    /// All packages, each at the version that was looked at.
    pub fn all() -> Vec<Target> {
        let all = Profile::all().iter();
        all.map(|profile| Target {
            profile,
            version: profile.version,
        })
        .collect()
    }

    /// The first version of the library that has a version of the language.
    #[cfg(feature = "check")]
    pub(crate) fn of_language(profile: &'static Profile, language: Language) -> Target {
        Target {
            profile,
            version: Version::of_language(language),
        }
    }

    /// The version of the language that it has.
    ///
    /// ```
    /// use unjinja::profile::Target;
    /// use unjinja::response::Language;
    ///
    /// for (target, language) in [
    ///     ("transformers", Language::V5_24),
    ///     ("transformers@5.17", Language::V5_16),
    ///     ("vllm", Language::V5_20),
    /// ] {
    ///     assert_eq!(target.parse::<Target>()?.language(), language);
    /// }
    /// # Ok::<(), unjinja::profile::UnknownTarget>(())
    /// ```
    pub fn language(self) -> Language {
        self.profile.language_at(self.version)
    }

    /// What stands against a template: what its version of the language does not have, then the rules in their order.
    pub fn objections(self, template: &ResponseTemplate) -> Vec<Objection> {
        if self.version < self.profile.since {
            return vec![Objection::too_old(self)];
        }
        let faults = match template.in_language(self.language()) {
            Ok(_) => Vec::new(),
            Err(error) => error.faults,
        };
        let faults = faults.into_iter();
        let faults = faults.map(|fault| Objection::of_language(self, fault));
        let rules = self.profile.rules.iter();
        let objections = rules
            .filter(|rule| rule.holds_at(self.version))
            .flat_map(|rule| rule.objections(self, template.as_value()));
        faults.chain(objections).collect()
    }

    /// Whether it takes a template.
    ///
    /// ```
    /// use unjinja::ResponseTemplate;
    /// use unjinja::profile::Target;
    ///
    /// let template = ResponseTemplate::from_json(
    ///     r#"{"start_anchor": "<bot>", "fields": {"content": {}, "notes": {"open": "<note>"}}}"#,
    /// )?;
    /// for (target, verdict) in [
    ///     ("trl", "TRL 1.16.0 takes it; versions from 1.7.1 on do"),
    ///     ("vllm@0.32", "vLLM 0.32.0 refuses it"),
    /// ] {
    ///     assert_eq!(target.parse::<Target>()?.verdict(&template).to_string(), verdict);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verdict(self, template: &ResponseTemplate) -> Verdict {
        let objections = self.objections(template);
        let worst = objections.iter().map(|objection| objection.effect).max();
        let is_taken = worst.is_none_or(|effect| effect == Effect::Limits);
        Verdict {
            target: self,
            since: is_taken
                .then(|| self.profile.takes_since(template))
                .flatten(),
            worst,
        }
    }

    /// The message that is left when the package has read an output: calls that it can't send are gone,
    /// and the reasoning has one name.
    ///
    /// ```
    /// use unjinja::profile::Target;
    /// use unjinja::{Object, json};
    ///
    /// let message = json::read(r#"{"reasoning_content": "Hm.", "tool_calls": [{"name": "f"}]}"#)?;
    /// let target: Target = "vllm".parse()?;
    /// let handed_on = target.handed_on(message.into_object());
    /// assert_eq!(json::write(&handed_on.into()), r#"{"thinking":"Hm."}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn handed_on(self, message: Object) -> Object {
        let mut out = Object::new();
        for (key, value) in message {
            let is_reasoning = key.as_str().is_some_and(port::is_reasoning);
            match is_reasoning {
                true => out.insert(self.reasoning(), value),
                false => out.insert(key, value),
            };
        }
        if self.profile.malformed == Malformed::Drop
            && let Some(calls) = out.remove("tool_calls")
        {
            let calls = match calls {
                Value::Array(calls) => calls,
                call => vec![call],
            };
            let calls = calls.into_iter().flat_map(|call| match call {
                Value::Array(calls) => calls,
                call => vec![call],
            });
            let calls: Vec<Value> = calls.filter(rule::is_call).collect();
            if !calls.is_empty() {
                out.insert("tool_calls", calls);
            }
        }
        out
    }
}

/// Whether a package takes a template.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// The package.
    pub target: Target,
    /// The worst that becomes of the template; nothing, where it is taken as it is.
    pub worst: Option<Effect>,
    /// The first version of the package that takes it, if this one does.
    pub since: Option<Version>,
}

impl Verdict {
    /// Whether the template is taken, though part of it may have no effect.
    pub fn is_taken(&self) -> bool {
        self.worst.is_none_or(|effect| effect == Effect::Limits)
    }

    /// For programs: an object of the `name` of the profile, the `version`, what becomes of the template
    /// (`effect`: `null`, `limits`, `fails` or `refused`), and `since` when it is taken.
    pub fn to_value(&self) -> Value {
        Object::from_iter([
            ("name", Value::from(self.target.profile.name())),
            ("version", self.target.version.to_string().into()),
            ("effect", self.worst.map(Effect::key).into()),
            ("since", self.since.map(|since| since.to_string()).into()),
        ])
        .into()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = self.target;
        match self.worst {
            Some(Effect::Refused) => return write!(f, "{target} refuses it"),
            Some(Effect::Fails) => return write!(f, "{target} can't work with it"),
            Some(Effect::Limits) => write!(f, "{target} takes it, but makes no use of part of it")?,
            None => write!(f, "{target} takes it")?,
        }
        match self.since {
            Some(since) => write!(f, "; versions from {since} on do"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.profile.title, self.version)
    }
}

impl FromStr for Target {
    type Err = UnknownTarget;

    fn from_str(text: &str) -> Result<Target, UnknownTarget> {
        let (name, version) = match text.split_once('@') {
            Some((name, version)) => (name, Some(version.parse()?)),
            None => (text, None),
        };
        let profile = Profile::named(name).ok_or_else(|| {
            let names: Vec<&str> = Profile::all().iter().map(Profile::name).collect();
            UnknownTarget(format!(
                "there is no profile `{name}`: {}",
                did_you_mean(name, &names)
            ))
        })?;
        Ok(Target {
            profile,
            version: version.unwrap_or(profile.version),
        })
    }
}

/// There is no such package or version.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct UnknownTarget(pub(crate) String);
