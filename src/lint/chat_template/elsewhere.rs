//! Jinja that not all engines have.

use std::collections::BTreeMap;

use crate::chat_template::program::{Kind, Program, What};
use crate::lint::{Lint, listed};

use super::blame::Place;
use super::engines::{Engine, Feature, OTHERS, TRANSFORMERS};
use super::stage::Stage;
use super::{Fault, Report};

pub(super) fn check(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    let features = features(&stage.program, stage.marks_generation());
    for (what, place) in refused(&features) {
        report.add(
            Fault::new(
                Lint::RefusedByTransformers,
                format!(
                    "{} does not have {what}, and refuses the template",
                    TRANSFORMERS.in_words()
                ),
                remedy(&what),
            )
            .at(place),
        );
    }
    let mut lacking: BTreeMap<usize, (String, Place, Vec<String>)> = BTreeMap::new();
    for (feature, place) in &features {
        if !TRANSFORMERS.has(*feature) {
            continue;
        }
        let without: Vec<String> = OTHERS
            .iter()
            .filter(|engine| !engine.has(*feature))
            .map(Engine::in_words)
            .collect();
        let what = in_words(*feature);
        let is_known = lacking.values().any(|(known, ..)| *known == what);
        if !without.is_empty() && !is_known {
            lacking.insert(place.start, (what, place.clone(), without));
        }
    }
    for (what, place, without) in lacking.into_values() {
        let does = match without.len() {
            1 => "does",
            _ => "do",
        };
        report.add(
            Fault::new(
                Lint::NotInAllEngines,
                format!("{} {does} not have {what}", listed(&without, "and")),
                "do without it, if models are to run there",
            )
            .at(place),
        );
    }
}

/// What the transformers library refuses in a template, each with its place.
pub(super) fn refused(features: &[(Feature<'_>, Place)]) -> Vec<(String, Place)> {
    let mut found: Vec<(String, Place)> = Vec::new();
    for (feature, place) in features {
        let what = in_words(*feature);
        if !TRANSFORMERS.has(*feature) && found.iter().all(|(known, _)| *known != what) {
            found.push((what, place.clone()));
        }
    }
    found
}

fn remedy(what: &str) -> &'static str {
    match what {
        "the tag `{% do %}`" => {
            "write `{% set _ = … %}`, and lists that grow as `{% set ns.list = ns.list + [item] %}`"
        }
        _ if what.starts_with("the method") => {
            "lists and objects can't be changed: write `ns.list + [item]`, or put together a new one"
        }
        _ => {
            "look for another way: only what Jinja 3.1 has is there, with `tojson`, `raise_exception` and `strftime_now`"
        }
    }
}

fn in_words(feature: Feature<'_>) -> String {
    match feature {
        Feature::Tag(name) => format!("the tag `{{% {name} %}}`"),
        Feature::Filter(name) => format!("the filter `{name}`"),
        Feature::Test(name) => format!("the test `{name}`"),
        Feature::Function(name) => format!("the function `{name}`"),
        Feature::Method(name) => format!("the method `{name}`"),
        Feature::ToJson(name) => format!("`tojson({name}=…)`"),
        Feature::TimeFormat(letter) => format!("`%{letter}` in formats of times"),
    }
}

/// What a template makes use of, each with its place.
pub(super) fn features(program: &Program, marks_generation: bool) -> Vec<(Feature<'_>, Place)> {
    let mut features = Vec::new();
    for statement in &program.statements {
        if let Kind::Tag(tag) = statement.kind {
            let is_generation = marks_generation && tag == "call" && {
                let mut uses = program.uses_of(statement).iter();
                uses.any(|used| matches!(&used.what, What::Function(name, _) if name == GENERATION))
            };
            let tag = if is_generation { "generation" } else { tag };
            features.push((Feature::Tag(tag), statement.place.clone()));
        }
        for used in program.uses_of(statement) {
            let place = &used.place;
            match &used.what {
                What::Filter(name, arguments) => {
                    features.push((Feature::Filter(name), place.clone()));
                    if name == "tojson" {
                        let named = arguments
                            .named
                            .iter()
                            .map(|name| (Feature::ToJson(name), place.clone()));
                        features.extend(named);
                    }
                }
                What::Test(name) => features.push((Feature::Test(name), place.clone())),
                What::Method(name, _) => {
                    // What loops have is no method of a value.
                    if !matches!(name.as_str(), "cycle" | "changed")
                        && !program.macros.contains(name)
                    {
                        features.push((Feature::Method(name), place.clone()));
                    }
                }
                What::Function(name, arguments) => {
                    let is_own = program.macros.contains(name) || program.own_names.contains(name);
                    if name != GENERATION && !is_own {
                        features.push((Feature::Function(name), place.clone()));
                    }
                    if name == "strftime_now" {
                        let letters = arguments
                            .texts
                            .iter()
                            .flat_map(|format| time_letters(format));
                        features.extend(
                            letters.map(|letter| (Feature::TimeFormat(letter), place.clone())),
                        );
                    }
                }
                What::Variable(_) | What::Key(_) | What::Part | What::Comparison(_) => {}
            }
        }
    }
    features
}

/// The function that `{% generation %}` is rewritten to call.
const GENERATION: &str = "__generation";

/// The letters behind the percent signs of a format, each once.
pub(super) fn time_letters(format: &str) -> Vec<char> {
    let mut letters = Vec::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c == '%' {
            let letter = chars
                .by_ref()
                .find(|c| !matches!(c, '-' | '_' | '0' | '^' | '#'));
            letters.extend(letter.filter(|letter| !letters.contains(letter)));
        }
    }
    letters
}
