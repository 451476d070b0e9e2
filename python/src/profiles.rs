//! Whom response templates are for.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use unjinja::Value;
use unjinja::profile::{Change, Objection, Target, port, reasoning_for};

use crate::errors::{ErrorKind, detached};
use crate::parser::{object, template_of};
use crate::values::{list_to_python, to_python};

/// The targets of these names, of which `all` means all of them.
pub(crate) fn targets(names: &[String]) -> PyResult<Vec<Target>> {
    let mut targets = Vec::new();
    for name in names {
        match name.as_str() {
            "all" => targets.extend(Target::all()),
            name => targets.push(target(name)?),
        }
    }
    Ok(targets)
}

pub(crate) fn target(name: &str) -> PyResult<Target> {
    name.parse()
        .map_err(|error| PyValueError::new_err(format!("`profile`: {error}")))
}

/// The name of the field for reasoning that suits all of these.
#[pyfunction]
pub(crate) fn reasoning_name(profiles: Vec<String>) -> PyResult<Option<&'static str>> {
    Ok(reasoning_for(&targets(&profiles)?))
}

/// Whether these take a template.
#[pyfunction]
pub(crate) fn verdicts<'py>(
    py: Python<'py>,
    template: &Bound<'py, PyAny>,
    profiles: Vec<String>,
) -> PyResult<Bound<'py, PyList>> {
    let template = template_of(template)?;
    let targets = targets(&profiles)?;
    let verdicts = detached(py, || {
        let verdicts = targets
            .iter()
            .map(|target| target.verdict(&template).to_value());
        verdicts.collect::<Vec<Value>>()
    })?;
    list_to_python(py, &verdicts)
}

/// A template rewritten for somebody: the `template`, the `changes`, and the `objections` that are left.
#[pyfunction]
pub(crate) fn port_template<'py>(
    py: Python<'py>,
    template: &Bound<'py, PyAny>,
    profile: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let template = template_of(template)?;
    let target = target(profile)?;
    let ported = detached(py, || port(&template, target))?;
    let ported = ported.map_err(|error| ErrorKind::Template.exception(py, error))?;
    let change = |change: &Change| {
        object([
            ("pointer", change.pointer.as_str().into()),
            ("says", change.says.as_str().into()),
        ])
    };
    let objection = |objection: &Objection| objection.diagnostic.to_value();
    let ported = object([
        ("template", ported.template.as_value().clone()),
        ("changes", ported.changes.iter().map(change).collect()),
        (
            "objections",
            ported.objections.iter().map(objection).collect(),
        ),
    ]);
    to_python(py, &ported)
}
