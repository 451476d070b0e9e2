//! Jinja that not all engines have.

use std::collections::BTreeMap;

use crate::chat_template::program::{Program, StatementKind, What};
use crate::chat_template::{ChatTemplate, RenderError};
use crate::diagnostic::Diagnostic;
use crate::lint::{Complaint, Level, Lint, listed};
use crate::position::Position;

use super::blame::SourceRange;
use super::engines::{Engine, Feature, OTHERS, TRANSFORMERS};
use super::stage::Stage;
use super::{Fault, Report};

pub(super) fn check(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    let features = features(&stage.program, stage.marks_generation());
    for refusal in refusals(&features) {
        let level = refusal.level();
        report.add(
            Fault::new(
                Lint::RefusedByTransformers,
                refusal.message(),
                remedy(&refusal.what),
            )
            .level(level)
            .at(refusal.place),
        );
    }
    let mut lacking: BTreeMap<usize, (String, SourceRange, Vec<String>)> = BTreeMap::new();
    for Found { feature, place, .. } in &features {
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
                "avoid it if models are to run there",
            )
            .at(place),
        );
    }
}

/// Something that the transformers library refuses.
struct Refusal {
    what: String,
    place: SourceRange,
    /// Whether it is refused wherever it stands, and not only once it is come to.
    is_sure: bool,
}

impl Refusal {
    fn level(&self) -> Level {
        match self.is_sure {
            true => Level::Error,
            false => Level::Warning,
        }
    }

    fn message(&self) -> String {
        let engine = TRANSFORMERS.in_words();
        match self.is_sure {
            true => format!(
                "{engine} refuses the template: it does not have {}",
                self.what
            ),
            false => format!(
                "{engine} does not have {}, and fails where it is come to",
                self.what
            ),
        }
    }
}

/// What the transformers library refuses in a template, each once.
fn refusals(features: &[Found<'_>]) -> Vec<Refusal> {
    let mut refusals: Vec<Refusal> = Vec::new();
    for found in features
        .iter()
        .filter(|found| !TRANSFORMERS.has(found.feature))
    {
        let what = in_words(found.feature);
        match refusals.iter_mut().find(|known| known.what == what) {
            Some(known) => known.is_sure |= found.is_sure(),
            None => refusals.push(Refusal {
                what,
                place: found.place.clone(),
                is_sure: found.is_sure(),
            }),
        }
    }
    refusals
}

/// What the transformers library refuses in a chat template: [errors](Level::Error) are refused wherever they stand,
/// [warnings](Level::Warning) once they are come to. Nothing is rendered for it.
///
/// ```
/// use unjinja::chat_template::ChatTemplate;
/// use unjinja::lint::refused_by_transformers;
///
/// let template = ChatTemplate::from_jinja("{% set a = [] %}\n{% do a.append(1) %}");
/// let refused = refused_by_transformers(&template)?;
/// assert!(refused[0].diagnostic.message.contains("`{% do %}`"));
/// assert_eq!(refused[0].diagnostic.position.map(|at| at.line), Some(2));
/// # Ok::<(), unjinja::chat_template::RenderError>(())
/// ```
///
/// # Errors
///
/// If the template is not valid.
pub fn refused_by_transformers(template: &ChatTemplate) -> Result<Vec<Complaint>, RenderError> {
    let prepared = template.prepare();
    let program = prepared.program()?;
    let refusals = refusals(&features(&program, prepared.marks_generation()));
    let complaints = refusals.into_iter().map(|refusal| {
        let place = prepared.original_place(refusal.place.start);
        let diagnostic = Diagnostic::new(refusal.message()).with_remedy(remedy(&refusal.what));
        Complaint {
            lint: Lint::RefusedByTransformers,
            level: refusal.level(),
            diagnostic: diagnostic.at_position(Position::at(&template.jinja, place)),
            target: None,
            shown: None,
        }
    });
    Ok(complaints.collect())
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
            "find another way: there is only what Jinja 3.1 has, with `tojson`, `raise_exception` and `strftime_now`"
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

/// Something that a template makes use of.
struct Found<'p> {
    feature: Feature<'p>,
    place: SourceRange,
    /// Whether it stands under a condition.
    is_conditional: bool,
}

impl Found<'_> {
    /// Whether it is looked for when the template is compiled: Jinja does not look for filters and tests under
    /// conditions then, nor ever for functions and methods.
    fn is_sure(&self) -> bool {
        match self.feature {
            Feature::Tag(_) => true,
            Feature::Filter(_) | Feature::Test(_) => !self.is_conditional,
            _ => false,
        }
    }
}

/// What a template makes use of.
fn features(program: &Program, marks_generation: bool) -> Vec<Found<'_>> {
    let mut features = Vec::new();
    for statement in &program.statements {
        let mut around = program.around(statement);
        let under_condition =
            around.any(|block| program.statements[block.opened_by].kind == StatementKind::If);
        if let StatementKind::Tag(tag) = statement.kind {
            let is_generation = marks_generation && tag == "call" && {
                let mut uses = program.uses_of(statement).iter();
                uses.any(|used| matches!(&used.what, What::Function(name, _) if name == GENERATION))
            };
            features.push(Found {
                feature: Feature::Tag(if is_generation { "generation" } else { tag }),
                place: statement.place.clone(),
                is_conditional: under_condition,
            });
        }
        for used in program.uses_of(statement) {
            features.extend(
                features_of(program, &used.what)
                    .into_iter()
                    .map(|feature| Found {
                        feature,
                        place: used.place.clone(),
                        is_conditional: under_condition || used.is_chosen,
                    }),
            );
        }
    }
    features
}

fn features_of<'p>(program: &'p Program, what: &'p What) -> Vec<Feature<'p>> {
    match what {
        What::Filter(name, arguments) => {
            let named = arguments.named.iter().filter(|_| name == "tojson");
            let named = named.map(|name| Feature::ToJson(name));
            [Feature::Filter(name)].into_iter().chain(named).collect()
        }
        What::Test(name) => vec![Feature::Test(name)],
        // What loops have is no method of a value.
        What::Method(name, _) if matches!(name.as_str(), "cycle" | "changed") => Vec::new(),
        What::Method(name, _) if program.macros.contains(name) => Vec::new(),
        What::Method(name, _) => vec![Feature::Method(name)],
        What::Function(name, _)
            if name == GENERATION
                || program.macros.contains(name)
                || program.own_names.contains(name) =>
        {
            Vec::new()
        }
        What::Function(name, arguments) => {
            let formats = arguments.texts.iter().filter(|_| name == "strftime_now");
            let letters = formats.flat_map(|format| time_letters(format));
            let letters = letters.map(Feature::TimeFormat);
            [Feature::Function(name)]
                .into_iter()
                .chain(letters)
                .collect()
        }
        What::Variable(_) | What::Key(_) | What::Part | What::Slice | What::Comparison(_) => {
            Vec::new()
        }
    }
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
