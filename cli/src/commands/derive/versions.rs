//! Which versions take what was derived, and what is derived for others.

use unjinja::derive::Derivation;
use unjinja::profile::{Profile, Target};
use unjinja::response::Language;
use unjinja::{Object, Value, json};

use super::super::report;

/// What is derived for another version of the language, where that is another response template.
pub(super) struct Otherwise {
    language: Language,
    derivation: Derivation,
}

impl Otherwise {
    /// What `derive` makes for a version for which it may be something else.
    pub(super) fn find(
        derivation: &Derivation,
        derive: impl FnOnce(Language) -> Option<Derivation>,
    ) -> Option<Otherwise> {
        let language = derivation.other_language()?;
        let other = derive(language)?;
        (other.template != derivation.template).then_some(Otherwise {
            language,
            derivation: other,
        })
    }

    /// Whom to ask for.
    fn target(&self) -> String {
        format!("transformers@{}", self.language)
    }

    /// In words: the fields that are read otherwise, and what is recovered.
    pub(super) fn statement(&self, derivation: &Derivation) -> String {
        let fields = |derivation: &Derivation| -> Object {
            let fields = derivation.template.as_value().get("fields").cloned();
            fields.map(Value::into_object).unwrap_or_default()
        };
        let (own, other) = (fields(derivation), fields(&self.derivation));
        let differing = other.iter().filter_map(|(name, field)| {
            let name = name.to_string_lossy();
            let is_same = own.get(&name).is_some_and(|own| own.total_eq(field));
            (!is_same).then(|| {
                let content = field.get("content").and_then(Value::as_str);
                let parser = content.unwrap_or("text");
                (name.into_owned(), parser.to_owned(), field)
            })
        });
        let differing: Vec<(String, String, &Value)> = differing.collect();
        let names = differing.iter();
        let names = names.map(|(name, parser, _)| format!("`{name}` by `{parser}`"));
        let names: Vec<String> = names.collect();
        let (recovered, all) = (self.derivation.recovered(), self.derivation.proof.len());
        let mut out = String::new();
        let text = format!(
            "`--for {}` has {}: {recovered} of {all} renderings recovered",
            self.target(),
            names.join(", ")
        );
        report::line(&mut out, "otherwise", &text);
        // What takes the newer version is there to be read; what older ones need is long.
        for (_, _, field) in differing
            .iter()
            .filter(|_| derivation.language < self.language)
        {
            report::line(&mut out, "", &json::write(field));
        }
        out
    }

    /// For programs: whom it is `for`, the `template`, and whether it `is_whole`.
    pub(super) fn to_value(&self) -> Value {
        Object::from_iter([
            ("for", Value::from(self.target())),
            ("template", self.derivation.template.as_value().clone()),
            ("is_whole", self.derivation.is_whole().into()),
        ])
        .into()
    }
}

/// Which versions of all packages take what was derived, in words.
pub(super) fn taken_by(derivation: &Derivation) -> String {
    let template = &derivation.template;
    let (mut taken, mut refused) = (Vec::new(), Vec::new());
    for (profile, target) in Profile::all().iter().zip(Target::all()) {
        match profile.takes_since(template) {
            Some(since) => taken.push(format!("{} from {since} on", profile.title())),
            None => refused.push(target.to_string()),
        }
    }
    let text = match (taken.join(", "), refused.join(", ")) {
        (taken, refused) if refused.is_empty() => taken,
        (taken, refused) if taken.is_empty() => format!("not by {refused}"),
        (taken, refused) => format!("{taken}; not by {refused}"),
    };
    let mut out = String::new();
    report::line(&mut out, "taken by", &text);
    out
}
