//! What Python calls of unjinja. The package's own Python is in `unjinja/`.

mod bridge;
mod chat;
mod errors;
mod events;
mod parser;
mod profiles;
mod state;
mod values;

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use unjinja::Value;
use unjinja::check::CheckOptions;
use unjinja::response_schema::{Way, convert};

use errors::{ErrorKind, detached, interruptible};
use values::to_python;

/// Checks response templates against fixtures, and returns the report.
#[pyfunction]
#[pyo3(signature = (paths, *, filter=None, seed=None))]
fn check<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    filter: Option<String>,
    seed: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut options = CheckOptions::default();
    options.filter = filter;
    options.seed = seed.unwrap_or(options.seed);
    let found = unjinja::check::find(&paths);
    if found.is_empty() {
        return Err(PyValueError::new_err(
            "there is no fixture in `paths`: name files, or folders with files that end in `.fixture.yaml`",
        ));
    }
    let report = interruptible(py, move || unjinja::check::check(&found, &options))?;
    to_python(py, &report.explain_to_value(errors::argument_name))
}

/// The response template that reads as a response schema does, and what both make of texts that are made
/// of the schema's patterns.
#[pyfunction(name = "convert")]
fn convert_schema<'py>(
    py: Python<'py>,
    schema: &Bound<'py, PyAny>,
    streaming: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let schema = parser::schema_of(schema)?;
    let way = if streaming {
        Way::Streaming
    } else {
        Way::Exact
    };
    let converted = interruptible(py, move || convert(&schema, way))?;
    let converted = converted.map_err(|error| ErrorKind::Convert.exception(py, error))?;
    let parted = |damaged| Value::from(converted.parted(damaged).count());
    let made = parser::object([
        ("template", converted.template.as_value().clone()),
        ("trials", converted.trials.len().into()),
        ("differ", parted(false)),
        ("differ_damaged", parted(true)),
    ]);
    to_python(py, &made)
}

/// Runs the program with these arguments, and returns its exit code.
#[pyfunction]
fn run(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    detached(py, || unjinja_cli::run(arguments))
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<parser::PyTemplate>()?;
    module.add_class::<parser::PyParser>()?;
    module.add_class::<parser::PyCompletion>()?;
    module.add_class::<chat::PyChatTemplate>()?;
    module.add_class::<bridge::PyBridge>()?;
    module.add_function(wrap_pyfunction!(parser::parse_response, module)?)?;
    module.add_function(wrap_pyfunction!(parser::parse_by_schema, module)?)?;
    module.add_function(wrap_pyfunction!(chat::lint_template, module)?)?;
    module.add_function(wrap_pyfunction!(profiles::reasoning_name, module)?)?;
    module.add_function(wrap_pyfunction!(profiles::verdicts, module)?)?;
    module.add_function(wrap_pyfunction!(profiles::port_template, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(convert_schema, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)
}
