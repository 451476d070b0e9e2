//! Where calls stand in the values of regions, and where their parts come from in the text.

use crate::json;
use crate::response::Field;
use crate::response::{Capture, Transform};
use crate::value::{Object, Value};

/// A call of a value.
#[derive(Debug)]
pub(super) struct Call<'v> {
    pub(super) name: String,
    pub(super) id: Option<String>,
    pub(super) arguments: Option<&'v Value>,
}

/// The calls of the value of a region: it may be one, or a list of them. What is no call is passed over.
pub(super) fn calls_of(value: &Value) -> Vec<Call<'_>> {
    match value {
        Value::Array(values) => values.iter().flat_map(calls_of).collect(),
        Value::Object(call) => call_of(call).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn call_of(call: &Object) -> Option<Call<'_>> {
    let function = match call.get("function") {
        Some(function) => function.as_object()?,
        None => call,
    };
    Some(Call {
        name: text_of(function.get("name")?)?,
        id: call.get("id").and_then(id_of),
        arguments: function.get("arguments"),
    })
}

fn text_of(value: &Value) -> Option<String> {
    let text = value.as_json_string()?;
    Some(text.to_string_lossy().into_owned())
}

/// An id, which some models write as a number.
pub(super) fn id_of(value: &Value) -> Option<String> {
    match value {
        Value::String(id) if !id.is_empty() => Some(id.to_string_lossy().into_owned()),
        Value::Number(_) => Some(json::write(value)),
        _ => None,
    }
}

/// The arguments of a call as clients take them, which is text.
pub(super) fn arguments_text(arguments: Option<&Value>) -> String {
    match arguments {
        None => "{}".into(),
        Some(Value::String(text)) => text.to_string_lossy().into_owned(),
        Some(value) => json::write(value),
    }
}

/// Where a part of a call comes from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// The transform says it itself.
    Literal(Value),
    /// A group of the opening delimiter.
    Capture(String),
    /// These keys lead to it in the value of the text, or in each element of it.
    Path(Vec<String>),
}

/// Where the parts of a field's calls come from, if its transform says so.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// Whether the value of the text is a list of calls.
    pub(super) each: bool,
    /// Whether the arguments are typed by the tools, as those of functions are.
    pub(super) is_typed: bool,
    pub(super) name: Source,
    pub(super) id: Option<Source>,
    pub(super) arguments: Option<Source>,
}

impl Plan {
    pub(super) fn of(field: &Field) -> Option<Plan> {
        let transform = field.transform.as_ref()?;
        let Transform::Object(_) = transform else {
            return None;
        };
        let find = |keys: &[&str]| source(transform, keys, field);
        let is_typed = find(&["function"])? != Found::Nothing;
        let base: &[&str] = if is_typed { &["function"] } else { &[] };
        let part = |key| find(&[base, &[key]].concat());
        let plan = Plan {
            each: field.transform_each,
            is_typed,
            name: part("name")?.some()?,
            id: find(&["id"])?.some(),
            arguments: part("arguments")?.some(),
        };
        plan.is_disjoint().then_some(plan)
    }

    /// Whether no part of a call lies within another one.
    fn is_disjoint(&self) -> bool {
        let sources = [Some(&self.name), self.id.as_ref(), self.arguments.as_ref()];
        let paths: Vec<&Vec<String>> = sources
            .into_iter()
            .flatten()
            .filter_map(|source| match source {
                Source::Path(path) => Some(path),
                _ => None,
            })
            .collect();
        let is_prefix = |a: usize, b: usize| a != b && paths[b].starts_with(paths[a]);
        !(0..paths.len()).any(|a| (0..paths.len()).any(|b| is_prefix(a, b)))
    }
}

/// What a transform has at the end of some keys.
#[derive(Debug, PartialEq)]
enum Found {
    Nothing,
    Some(Source),
    /// An object that the transform makes.
    Object,
}

impl Found {
    fn some(self) -> Option<Source> {
        match self {
            Found::Some(source) => Some(source),
            Found::Nothing | Found::Object => None,
        }
    }
}

/// What stands at the end of some keys; nothing if only the whole region can say.
fn source(transform: &Transform, keys: &[&str], field: &Field) -> Option<Found> {
    match transform {
        Transform::Object(entries) => {
            let Some((key, rest)) = keys.split_first() else {
                return Some(Found::Object);
            };
            let entry = entries
                .iter()
                .rev()
                .find(|(name, _)| name.as_str() == Some(key));
            match entry {
                Some((_, transform)) => source(transform, rest, field),
                None => Some(Found::Nothing),
            }
        }
        Transform::Literal(value) => {
            let found = keys.iter().try_fold(value, |value, key| value.get(key));
            Some(found.map_or(Found::Nothing, |value| {
                Found::Some(Source::Literal(value.clone()))
            }))
        }
        Transform::Placeholder(root, path) => placeholder(root, path, keys, field).map(Found::Some),
        Transform::Array(_) => None,
    }
}

fn placeholder(root: &str, path: &[String], keys: &[&str], field: &Field) -> Option<Source> {
    let is_group = |delimiter: Option<&crate::response::Delimiter>| {
        delimiter.is_some_and(|delimiter| delimiter.compiled().groups().iter().any(|g| g == root))
    };
    let (opens, closes) = (is_group(field.open()), is_group(field.close()));
    let further = path.iter().map(String::as_str).chain(keys.iter().copied());
    let further = further.map(str::to_owned);
    match (field.transform_each, root) {
        (false, "content") => Some(Source::Path(further.collect())),
        // An element's own key goes before a group, and which it is only the element can say.
        (true, _) if !opens && !closes => Some(Source::Path(
            [root.to_owned()].into_iter().chain(further).collect(),
        )),
        (false, _) if opens && !closes && path.is_empty() && keys.is_empty() => {
            Some(Source::Capture(root.to_owned()))
        }
        _ => None,
    }
}

impl Source {
    /// The value, if it is known when the region opens.
    pub(super) fn at_open(&self, captures: &[Capture]) -> Option<Value> {
        match self {
            Source::Literal(value) => Some(value.clone()),
            Source::Capture(name) => {
                let capture = captures
                    .iter()
                    .rev()
                    .find(|capture| capture.name == *name)?;
                Some(capture.text.as_str().into())
            }
            Source::Path(_) => None,
        }
    }
}
