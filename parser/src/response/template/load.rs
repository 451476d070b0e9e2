//! Reading response templates, and refusing those that can't work.

mod contents;
mod delimiters;
mod document;
mod fields;
mod limits;

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics, MemberPart};
use crate::response::content::CONTENT_PARSERS;
use crate::response::language::{Language, Trait};
use crate::response::watch::Watches;
use crate::spelling::did_you_mean;
use crate::value::{Number, Object, Value, pointer_below as below};

use super::{Inner, ResponseTemplate, TemplateError};

pub use limits::Patterns;
use limits::Steps;

#[cfg(feature = "internals")]
pub use document::schema_in;
pub(super) use document::{find_in, from_config, from_json_at};

const TEMPLATE_KEYS: &[&str] = &[
    "version",
    "defaults",
    "start_anchor",
    "start_anchor_pattern",
    "fields",
];

/// So many faults are reported at the most.
const MAX_FAULTS: usize = 100;

pub(super) fn from_value(
    value: &Value,
    language: Language,
) -> Result<ResponseTemplate, TemplateError> {
    load(value, "", None, &mut Patterns::default(), language)
}

/// Reads a template that may have patterns in common with others.
#[cfg(feature = "internals")]
pub(super) fn with_patterns(
    value: &Value,
    patterns: &mut Patterns,
) -> Result<ResponseTemplate, TemplateError> {
    load(value, "", None, patterns, Language::default())
}

/// Reads a template that stands at a pointer in a JSON document, if it stands in one.
fn load(
    value: &Value,
    pointer: &str,
    document: Option<&str>,
    patterns: &mut Patterns,
    language: Language,
) -> Result<ResponseTemplate, TemplateError> {
    let mut loader = Loader {
        faults: Diagnostics::up_to(MAX_FAULTS),
        warnings: Diagnostics::up_to(MAX_FAULTS),
        steps: Steps::default(),
        patterns,
        language,
    };
    match loader.template(value, pointer) {
        Some(mut inner) if loader.faults.is_empty() => {
            inner.warnings = loader.warnings.placed_in(document);
            Ok(ResponseTemplate {
                inner: Arc::new(inner),
            })
        }
        _ => Err(TemplateError {
            origin: None,
            faults: loader.faults.placed_in(document),
        }),
    }
}

/// Reads a template piece by piece, and collects all that is wrong with it.
pub(in crate::response) struct Loader<'p> {
    faults: Diagnostics,
    warnings: Diagnostics,
    steps: Steps,
    patterns: &'p mut Patterns,
    /// Whom it is read as.
    language: Language,
}

impl Loader<'_> {
    fn fault(&mut self, pointer: &str, message: impl Into<String>) {
        let fault = Diagnostic::new(message).at(pointer);
        self.faults.add(fault, MemberPart::Value);
    }

    fn fault_with(&mut self, pointer: &str, message: impl Into<String>, remedy: impl Into<String>) {
        let fault = Diagnostic::new(message).at(pointer).with_remedy(remedy);
        self.faults.add(fault, MemberPart::Value);
    }

    /// Adds a warning. Of too many, the last are left out.
    fn warn(&mut self, warning: Diagnostic, part: MemberPart) {
        if !self.warnings.is_full() {
            self.warnings.add(warning, part);
        }
    }

    fn expected(&mut self, pointer: &str, what: &str, found: &Value) {
        let message = format!("expected {what}, found {}", found.type_name());
        self.fault(pointer, message);
    }

    fn refuse_unknown_keys(&mut self, object: &Object, pointer: &str, known: &[&str]) {
        for key in object.keys() {
            let key = key.to_string_lossy();
            if !known.contains(&&*key) && !self.faults.has_more() {
                let fault = Diagnostic::new(format!("unknown key `{key}`"))
                    .at(below(pointer, &key))
                    .with_remedy(remedy_for(&key, known));
                self.faults.add(fault, MemberPart::Key);
            }
        }
    }

    /// Whether the language has something. Where it does not, that is a fault.
    fn has(&mut self, what: Trait, pointer: &str, says: &str) -> bool {
        let has = self.language.has(what);
        if !has {
            let (since, read) = (what.since(), self.language);
            self.fault_with(
                pointer,
                format!("{says} is not in version {read} of the language"),
                format!("read it with transformers {since} or newer, or do without it"),
            );
        }
        has
    }

    fn template(&mut self, value: &Value, pointer: &str) -> Option<Inner> {
        let Some(object) = value.as_object() else {
            self.fault_with(
                pointer,
                format!(
                    "a response template is an object, but this is {}",
                    value.type_name()
                ),
                "write `{\"start_anchor\": …, \"fields\": {…}}`",
            );
            return None;
        };
        if object.get("response_template").is_some() && object.get("fields").is_none() {
            self.fault_with(
                pointer,
                "this is a configuration that has a response template",
                "give the value of `response_template` alone",
            );
            return None;
        }
        self.refuse_unknown_keys(object, pointer, TEMPLATE_KEYS);
        self.version(object.get("version"), pointer);
        let defaults = self.defaults(object.get("defaults"), pointer);
        let fields = self.fields(object.get("fields"), pointer);
        let anchor = self.anchor(object, pointer);
        let implicit = match self.steps.are_too_many() {
            // Fields may lack what opens them because it was not compiled.
            true => None,
            false => self.implicit(&fields, pointer),
        };
        Some(Inner {
            value: value.clone(),
            language: self.language,
            warnings: Vec::new(),
            defaults,
            watches: Watches::new(&fields, implicit),
            reach: fields
                .iter()
                .flat_map(|field| field.open.iter().chain(&field.close))
                .map(|delimiter| delimiter.compiled().reach())
                .max()
                .unwrap_or_default(),
            fields,
            implicit,
            anchor: anchor?,
        })
    }

    fn version(&mut self, version: Option<&Value>, pointer: &str) {
        let known = match version {
            None | Some(Value::Number(Number::Int(1))) => true,
            Some(Value::Number(Number::Float(version))) => *version == 1.0,
            Some(_) => false,
        };
        if !known {
            self.fault_with(
                &below(pointer, "version"),
                "this version of the language is not known",
                "only version 1 is",
            );
        }
    }

    fn defaults(&mut self, defaults: Option<&Value>, pointer: &str) -> Object {
        match defaults {
            None => Object::new(),
            Some(Value::Object(object)) => object.clone(),
            Some(other) => {
                self.expected(&below(pointer, "defaults"), "an object", other);
                Object::new()
            }
        }
    }
}

/// Where an unknown key belongs, or what it may have been meant to be.
fn remedy_for(key: &str, known: &[&str]) -> String {
    let is_argument = CONTENT_PARSERS
        .iter()
        .any(|parser| parser.arguments.contains(&key));
    if is_argument && known.contains(&"content_args") {
        return "it belongs in `content_args`".into();
    }
    did_you_mean(key, known)
}
