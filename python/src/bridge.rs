//! What a chat template writes between one turn of the model and the next.

use pyo3::prelude::*;

use unjinja::conversation::{Bridge, MaskError};

use crate::chat::{PyChatTemplate, named, question};
use crate::errors::{ErrorKind, detached, interruptible};

/// What is to be put behind a prompt and the output that followed it.
#[pyclass(frozen, name = "Bridge", module = "unjinja", subclass)]
pub(crate) struct PyBridge {
    template: PyChatTemplate,
    bridge: Bridge,
}

#[pymethods]
impl PyBridge {
    #[new]
    fn new(py: Python<'_>, template: &PyChatTemplate) -> PyResult<PyBridge> {
        let (jinja, base) = template.cloned();
        let found = interruptible(py, move || {
            Bridge::of(&jinja, &base).map_err(|error| match error {
                MaskError::Render(error) => question(&jinja, &error),
                error => named(&jinja, error),
            })
        })?;
        Ok(PyBridge {
            template: template.clone(),
            bridge: found.map_err(|error| ErrorKind::Bridge.exception(py, error))?,
        })
    }

    #[pyo3(signature = (messages, output, *, tools=None, add_generation_prompt=true))]
    fn text(
        &self,
        py: Python<'_>,
        messages: &Bound<'_, PyAny>,
        output: &str,
        tools: Option<&Bound<'_, PyAny>>,
        add_generation_prompt: bool,
    ) -> PyResult<String> {
        let input = self
            .template
            .input(messages, tools, add_generation_prompt)?;
        let written = detached(py, || {
            let writer = self.bridge.writer().map_err(|error| error.to_string())?;
            let written = writer.text(&input, output);
            written.map_err(|error| error.to_string())
        })?;
        written.map_err(|error| {
            let (template, _) = self.template.cloned();
            ErrorKind::Bridge.exception(py, named(&template, error))
        })
    }
}
