//! Reading outputs: response templates, the parser, completions.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyList, PyString};
use pyo3::{PyTraverseError, PyVisit};

use unjinja::completion::{Completion, CompletionOptions, Delta, Ending};
use unjinja::response::UnknownLanguage;
use unjinja::response_schema::ResponseSchema;
use unjinja::{
    Event, Object, OnMalformed, OnUnread, OwnedEvent, ParseError, ParserOptions, ResponseTemplate,
    Tools, Unfinished, UnknownTools, Value, json,
};

use crate::errors::{ErrorKind, caught, detached};
use crate::events::{Events, EventsWriter};
use crate::values::{from_python, is_same, list_to_python, object_to_python, to_python};

/// A response template that has been read: parsers that are given it need not read it again.
///
/// ``ResponseTemplate(template)`` takes a dict, or JSON text. What is wrong with it is a
/// ``TemplateError`` that names every fault with its place. With ``profile``, such as ``"transformers@5.23"``
/// or ``"vllm"``, it is read in the version of the language that this one has, else in the newest.
#[pyclass(frozen, name = "ResponseTemplate", module = "unjinja")]
pub(crate) struct PyTemplate(pub(crate) ResponseTemplate);

#[pymethods]
impl PyTemplate {
    #[new]
    #[pyo3(signature = (template, *, profile=None))]
    fn new(template: &Bound<'_, PyAny>, profile: Option<&str>) -> PyResult<PyTemplate> {
        let read = template_of(template)?;
        let Some(profile) = profile else {
            return Ok(PyTemplate(read));
        };
        let language = crate::profiles::target(profile)?.language();
        let fail = |error| ErrorKind::Template.exception(template.py(), error);
        read.in_language(language).map(PyTemplate).map_err(fail)
    }

    /// The version of the language that it is read in, as the first release of transformers that has it.
    #[getter]
    fn language(&self) -> String {
        self.0.language().to_string()
    }

    /// The template as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.0.as_value())
    }

    /// What the template holds that has no effect.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings().iter().map(ToString::to_string).collect()
    }

    /// For `pickle`.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String, String))> {
        let restore = py.get_type::<PyTemplate>().getattr("_restore")?;
        Ok((restore, (json::write(self.0.as_value()), self.language())))
    }

    /// The template that was pickled, in its version of the language.
    #[staticmethod]
    fn _restore(py: Python<'_>, template: &str, language: &str) -> PyResult<PyTemplate> {
        let fail =
            |error: &dyn std::fmt::Display| ErrorKind::Template.exception(py, error.to_string());
        let template = ResponseTemplate::from_json(template).map_err(|error| fail(&error))?;
        let language = language
            .parse()
            .map_err(|error: UnknownLanguage| fail(&error))?;
        template
            .in_language(language)
            .map(PyTemplate)
            .map_err(|error| fail(&error))
    }

    fn __eq__(&self, other: &PyTemplate) -> bool {
        self.0 == other.0
    }

    fn __repr__(&self) -> String {
        let fields: Vec<&str> = self.0.fields().iter().map(|field| field.name()).collect();
        format!("ResponseTemplate(fields={fields:?})")
    }
}

/// The response template that is given as what it was read into, as a dict, or as text.
pub(crate) fn template_of(template: &Bound<'_, PyAny>) -> PyResult<ResponseTemplate> {
    let py = template.py();
    if let Ok(known) = template.cast::<PyTemplate>() {
        return Ok(known.get().0.clone());
    }
    let fail = |error: unjinja::TemplateError| ErrorKind::Template.exception(py, error);
    if let Ok(text) = template.cast::<PyString>() {
        let text = text.to_cow()?;
        return ResponseTemplate::from_json(&text).map_err(fail);
    }
    // A derivation, or what was ported, has one.
    let inner = match template.is_exact_instance_of::<PyDict>() {
        true => None,
        false => template.getattr("template").ok(),
    };
    let inner = inner.filter(|inner| inner.is_instance_of::<PyDict>());
    let given = inner.as_ref().unwrap_or(template);
    if let Some(known) = recent(given) {
        return Ok(known);
    }
    let value =
        from_python(given).map_err(|error| match error.is_instance_of::<PyTypeError>(py) {
            true => {
                let text = format!("a response template: {}", error.value(py));
                ErrorKind::Template.exception(py, text)
            }
            false => error,
        })?;
    let read = ResponseTemplate::from_value(&value).map_err(fail)?;
    // What would not be found again is not kept.
    if is_same(read.as_value(), given) {
        let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
        recent.truncate(KEPT - 1);
        recent.insert(0, read.clone());
    }
    Ok(read)
}

/// The templates that have been read last: most programs give the same one again and again.
static RECENT: Mutex<Vec<ResponseTemplate>> = Mutex::new(Vec::new());

/// So many of them are kept.
const KEPT: usize = 16;

/// The template that has been read lately of what is given, if there is one.
fn recent(given: &Bound<'_, PyAny>) -> Option<ResponseTemplate> {
    // Not under the lock: what compares texts may let the collector run, and with it any code of Python.
    let known = {
        let recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
        recent.clone()
    };
    let mut known = known.into_iter();
    known.find(|template| is_same(template.as_value(), given))
}

/// The tools that are given, if there are any.
pub(crate) fn tools_of(tools: Option<&Bound<'_, PyAny>>) -> PyResult<Tools> {
    match tools {
        Some(tools) if tools.is_instance_of::<PyString>() => {
            Err(PyTypeError::new_err("`tools`: expected a list, found str"))
        }
        Some(tools) => {
            let read = from_python(tools).map_err(|error| {
                match error.is_instance_of::<PyTypeError>(tools.py()) {
                    true => PyTypeError::new_err(format!("`tools`: {}", error.value(tools.py()))),
                    false => error,
                }
            });
            Ok(Tools::from_value(&read?))
        }
        None => Ok(Tools::none()),
    }
}

/// The same where functions may be among them, which are described as the transformers library does.
fn described_tools_of(tools: Option<&Bound<'_, PyAny>>) -> PyResult<Tools> {
    let Some(tools) = tools else {
        return Ok(Tools::none());
    };
    let described = tools.py().import("unjinja._api")?.getattr("_tools")?;
    tools_of(Some(&described.call1((tools,))?))
}

/// The prompt, which has to be given.
fn prefix_of(prefix: Option<PyBackedStr>) -> PyResult<PyBackedStr> {
    prefix.ok_or_else(|| {
        PyValueError::new_err(
            "`prefix` is missing: give the prompt that came before the output, of which templates \
             often write the beginning of the message; or `prefix=\"\"`, if the output is all of it",
        )
    })
}

fn on_malformed(what: &str) -> PyResult<OnMalformed> {
    match what {
        "fail" => Ok(OnMalformed::Fail),
        "event" => Ok(OnMalformed::Event),
        "text" => Ok(OnMalformed::Text),
        other => Err(PyValueError::new_err(format!(
            "`on_malformed`: expected \"fail\", \"event\" or \"text\", found {other:?}"
        ))),
    }
}

fn on_unread(what: &str) -> PyResult<OnUnread> {
    match what {
        "pass" => Ok(OnUnread::Pass),
        "malformed" => Ok(OnUnread::Malformed),
        other => Err(PyValueError::new_err(format!(
            "`on_unread`: expected \"pass\" or \"malformed\", found {other:?}"
        ))),
    }
}

fn unknown_tools(what: &str) -> PyResult<UnknownTools> {
    match what {
        "keep" => Ok(UnknownTools::Keep),
        "text" => Ok(UnknownTools::Text),
        "drop" => Ok(UnknownTools::Drop),
        other => Err(PyValueError::new_err(format!(
            "`unknown_tools`: expected \"keep\", \"text\" or \"drop\", found {other:?}"
        ))),
    }
}

/// What is to be done with a call that is cut off.
fn unfinished(what: &str) -> PyResult<Unfinished> {
    match what {
        "keep" => Ok(Unfinished::Keep),
        "mark" => Ok(Unfinished::Mark),
        "drop" => Ok(Unfinished::Drop),
        other => Err(PyValueError::new_err(format!(
            "`unfinished`: expected \"keep\", \"mark\" or \"drop\", found {other:?}"
        ))),
    }
}

/// Parses a whole output at once, and returns the message.
#[pyfunction]
#[pyo3(signature = (text, response_template, *, prefix=None, tools=None))]
pub(crate) fn parse_response<'py>(
    py: Python<'py>,
    text: PyBackedStr,
    response_template: &Bound<'py, PyAny>,
    prefix: Option<PyBackedStr>,
    tools: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let template = template_of(response_template)?;
    let prefix = prefix_of(prefix)?;
    let options = ParserOptions::default().tools(tools_of(tools)?);
    let parsed = detached(py, || unjinja::parse(&template, &prefix, &text, options))?;
    let message = parsed.map_err(|error| ErrorKind::Parse.exception(py, error))?;
    object_to_python(py, &message)
}

/// Reads a text by a response schema, the older language, and returns what it means.
#[pyfunction]
pub(crate) fn parse_by_schema<'py>(
    py: Python<'py>,
    text: PyBackedStr,
    schema: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let schema = schema_of(schema)?;
    let read = detached(py, || schema.read(&text))?;
    to_python(
        py,
        &read.map_err(|error| ErrorKind::Parse.exception(py, error))?,
    )
}

/// The response schema that is given as a dict or as text.
pub(crate) fn schema_of(schema: &Bound<'_, PyAny>) -> PyResult<ResponseSchema> {
    let read = match schema.cast::<PyString>() {
        Ok(text) => ResponseSchema::from_json(&text.to_cow()?),
        Err(_) => ResponseSchema::from_value(&from_python(schema)?),
    };
    read.map_err(|error| ErrorKind::Template.exception(schema.py(), error))
}

/// Reads the output of a model while it is written, event by event.
///
/// It takes what the class of this name of the transformers library takes, and reports the same.
/// ``prefix`` is the prompt, whose part after the last anchor belongs to the message; ``prefix=""``
/// says that the output is the whole message.
///
/// Beyond that: ``on_malformed="event"`` makes an event of a region that can't be parsed, in place of an
/// error, and ``"text"`` puts its text behind the content as well; ``on_unread="malformed"`` takes a call for one that
/// can't be parsed if it holds something that nothing reads; ``unknown_tools="drop"`` leaves out calls of tools that are not
/// among ``tools``, and ``"text"`` gives them back as content; ``unfinished="mark"`` gives a call that the end of the output has cut off the key ``unfinished``, and ``"drop"``
/// leaves it out; ``calls_end_thoughts=True`` ends a thought that nothing closes where calls begin in it, if nothing else follows; ``spans=True`` tells where delimiters lie; ``body_aware_close=True`` ignores delimiters
/// inside of the strings of JSON.
///
/// Threads may share a parser: each ``feed`` is read as a whole, in the order in which they come. A parser
/// that has failed stays failed.
#[pyclass(
    frozen,
    subclass,
    dict,
    weakref,
    name = "ResponseParser",
    module = "unjinja"
)]
pub(crate) struct PyParser {
    state: Mutex<Reading>,
    writer: EventsWriter,
    /// What the prefix has written into the message. It is missing for as long as this object is being made: its memory is then nothing but
    /// zeros, which the collector may see already.
    #[pyo3(get)]
    initial_events: Option<Py<PyList>>,
}

/// Pieces of so many bytes are read before other threads of Python could take over.
const SHORT: usize = 1 << 12;

/// A parser at its place in the output.
struct Reading {
    parser: Result<unjinja::ResponseParser, Stopped>,
    /// How many regions have been closed.
    closed: usize,
}

/// Why a parser does not read on.
#[derive(Clone)]
enum Stopped {
    Ended,
    Failed(ParseError),
}

impl Stopped {
    fn exception(self, py: Python<'_>, class: &str) -> PyErr {
        match self {
            Stopped::Ended => PyRuntimeError::new_err(format!("{class} already finalized")),
            Stopped::Failed(error) => ErrorKind::Parse.exception(py, error),
        }
    }
}

#[pymethods]
impl PyParser {
    #[new]
    #[pyo3(signature = (response_template, prefix=None, *, tools=None, on_malformed="fail", on_unread="pass", unknown_tools="keep", unfinished="keep", calls_end_thoughts=false, spans=false, body_aware_close=false))]
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    fn new(
        py: Python<'_>,
        response_template: &Bound<'_, PyAny>,
        prefix: Option<PyBackedStr>,
        tools: Option<&Bound<'_, PyAny>>,
        on_malformed: &str,
        on_unread: &str,
        unknown_tools: &str,
        unfinished: &str,
        calls_end_thoughts: bool,
        spans: bool,
        body_aware_close: bool,
    ) -> PyResult<PyParser> {
        let template = template_of(response_template)?;
        let prefix = prefix_of(prefix)?;
        let options = ParserOptions::default()
            .tools(described_tools_of(tools)?)
            .on_malformed(self::on_malformed(on_malformed)?)
            .on_unread(self::on_unread(on_unread)?)
            .unknown_tools(self::unknown_tools(unknown_tools)?)
            .unfinished(self::unfinished(unfinished)?)
            .calls_end_thoughts(calls_end_thoughts)
            .spans(spans)
            .body_aware_close(body_aware_close);
        let parser = detached(py, || {
            unjinja::ResponseParser::new(&template, &prefix, options)
        })?;
        let parser = parser.map_err(|error| ErrorKind::Parse.exception(py, error))?;
        let writer = EventsWriter::new(template);
        let mut events = writer.gather("");
        let mut closed = 0;
        for event in parser.initial_events().iter().map(OwnedEvent::as_event) {
            closed += usize::from(is_close(&event));
            events.push(event);
        }
        let initial_events = writer.write(py, &events, None, 0)?;
        drop(events);
        Ok(PyParser {
            state: Mutex::new(Reading {
                parser: Ok(parser),
                closed,
            }),
            writer,
            initial_events: Some(initial_events.unbind()),
        })
    }

    /// Reads the next piece of the output, and returns the events in it.
    fn feed<'py>(&self, text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyList>> {
        let (py, piece) = (text.py(), text.to_str()?);
        let mut events = self.writer.gather(piece);
        let free = match piece.len() <= SHORT {
            true => self.state.try_lock().ok(),
            false => None,
        };
        let fed = match free {
            Some(mut state) => caught(py, || state.feed(piece, &mut events))?,
            None => detached(py, || self.reading().feed(piece, &mut events))?,
        };
        let closed = fed.map_err(|stopped| stopped.exception(py, "ResponseParser"))?;
        // What is a kind of text of its own is no part of an event.
        let object = text.is_exact_instance_of::<PyString>().then_some(text);
        self.writer.write(py, &events, object, closed)
    }

    /// Ends the output: what is still open is closed. Returns the message and the last events.
    fn finalize<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyList>)> {
        let mut events = self.writer.gather("");
        let ended = detached(py, || self.reading().finalize(&mut events))?;
        let (message, before, closed) =
            ended.map_err(|stopped| stopped.exception(py, "ResponseParser"))?;
        let last = self.writer.write(py, &events, None, before)?;
        Ok((self.writer.message(py, &message, closed)?, last))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Where Python makes a dict for the attributes of a new object, the collector may run before the object is filled.
        let Some(initial_events) = &self.initial_events else {
            return Ok(());
        };
        visit.call(initial_events)?;
        self.writer.traverse(&visit)
    }

    fn __clear__(&self) {
        self.writer.clear();
    }
}

impl PyParser {
    fn reading(&self) -> MutexGuard<'_, Reading> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reading {
    /// Reads a piece of the output. Returns how many regions have been closed before.
    fn feed(&mut self, text: &str, events: &mut Events<'_>) -> Result<usize, Stopped> {
        let Reading { parser, closed } = self;
        let parser = parser.as_mut().map_err(|stopped| stopped.clone())?;
        let before = *closed;
        let fed = parser.feed_with(text, |event| {
            *closed += usize::from(is_close(&event));
            events.push(event);
        });
        fed.map(|()| before).map_err(Stopped::Failed)
    }

    /// Ends the output. Returns the message, and how many regions had been closed before, and are now.
    fn finalize(&mut self, events: &mut Events<'_>) -> Result<(Object, usize, usize), Stopped> {
        let before = self.closed;
        let parser = std::mem::replace(&mut self.parser, Err(Stopped::Ended));
        let ended = parser.and_then(|parser| {
            let message = parser.finalize_with(|event| {
                self.closed += usize::from(is_close(&event));
                events.push(event);
            });
            message.map_err(Stopped::Failed)
        });
        // One that has failed stays failed, and is not ended.
        let message = ended.inspect_err(|stopped| self.parser = Err(stopped.clone()))?;
        Ok((message, before, self.closed))
    }
}

/// Whether an event closes a region.
fn is_close(event: &Event<'_>) -> bool {
    matches!(event, Event::Close { .. })
}

/// Turns an output into a chat completion while it is written: chunks as clients of servers expect them,
/// and the whole in the end.
///
/// ``reasoning`` is the key of the reasoning; a call to which the model gives no id has one made of ``id``.
#[pyclass(
    frozen,
    subclass,
    dict,
    weakref,
    name = "Completion",
    module = "unjinja"
)]
pub(crate) struct PyCompletion {
    state: Mutex<Option<Completion>>,
    malformed: Mutex<Vec<String>>,
    /// What is to be sent first: the role, and what the prefix has written into the message. It is missing for as long as this object is
    /// being made, as [`PyParser::initial_events`] is.
    #[pyo3(get)]
    initial_chunks: Option<Py<PyList>>,
}

#[pymethods]
impl PyCompletion {
    #[new]
    #[pyo3(signature = (response_template, prefix=None, *, tools=None, id="", model="", created=0, reasoning="reasoning_content", on_malformed="text", on_unread="malformed", unknown_tools="keep", unfinished="drop", body_aware_close=false))]
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    fn new(
        py: Python<'_>,
        response_template: &Bound<'_, PyAny>,
        prefix: Option<PyBackedStr>,
        tools: Option<&Bound<'_, PyAny>>,
        id: &str,
        model: &str,
        created: i64,
        reasoning: &str,
        on_malformed: &str,
        on_unread: &str,
        unknown_tools: &str,
        unfinished: &str,
        body_aware_close: bool,
    ) -> PyResult<PyCompletion> {
        let template = template_of(response_template)?;
        let prefix = prefix_of(prefix)?;
        let parser = ParserOptions::default()
            .tools(described_tools_of(tools)?)
            .body_aware_close(body_aware_close);
        let options = CompletionOptions::default()
            .id(id)
            .model(model)
            .created(created)
            .reasoning(reasoning)
            .on_malformed(self::on_malformed(on_malformed)?)
            .on_unread(self::on_unread(on_unread)?)
            .unknown_tools(self::unknown_tools(unknown_tools)?)
            .unfinished(self::unfinished(unfinished)?);
        let completion = detached(py, || Completion::new(&template, &prefix, parser, options))?;
        let completion = completion.map_err(|error| ErrorKind::Parse.exception(py, error))?;
        let initial = completion.initial_deltas().iter();
        let initial: Vec<Value> = initial.map(|delta| completion.chunk(delta)).collect();
        let initial_chunks = Some(list_to_python(py, &initial)?.unbind());
        Ok(PyCompletion {
            state: Mutex::new(Some(completion)),
            malformed: Mutex::default(),
            initial_chunks,
        })
    }

    /// Reads the next piece of the output, and returns the chunks that are to be sent.
    fn feed<'py>(&self, py: Python<'py>, text: PyBackedStr) -> PyResult<Bound<'py, PyList>> {
        let fed = detached(py, || {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let completion = state.as_mut().ok_or(Stopped::Ended)?;
            let mut deltas: Vec<Delta> = Vec::new();
            completion
                .feed_with(&text, |delta| deltas.push(delta.clone()))
                .map_err(Stopped::Failed)?;
            Ok(deltas
                .iter()
                .map(|delta| completion.chunk(delta))
                .collect::<Vec<Value>>())
        })?;
        let chunks = fed.map_err(|stopped: Stopped| stopped.exception(py, "Completion"))?;
        list_to_python(py, &chunks)
    }

    /// In the end, the fields with regions that could not be parsed, where ``on_malformed`` lets these pass, or with calls of
    /// unknown tools that are not kept.
    #[getter]
    fn malformed(&self) -> Vec<String> {
        let malformed = self
            .malformed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        malformed.clone()
    }

    /// Ends the output. Returns the last chunks, and the whole ``chat.completion``. ``cut_off`` says that
    /// there was no room for more.
    #[pyo3(signature = (*, cut_off=false))]
    fn finish<'py>(
        &self,
        py: Python<'py>,
        cut_off: bool,
    ) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyAny>)> {
        let ending = if cut_off {
            Ending::Length
        } else {
            Ending::Stop
        };
        let finished = detached(py, || {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let completion = state.take().ok_or(Stopped::Ended)?;
            completion.finish(ending).map_err(Stopped::Failed)
        })?;
        let finished = finished.map_err(|stopped| stopped.exception(py, "Completion"))?;
        let chunks = list_to_python(py, &finished.chunks())?;
        let mut malformed = self
            .malformed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        malformed.clone_from(&finished.malformed);
        Ok((chunks, to_python(py, &finished.to_value())?))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.initial_chunks)
    }

    /// Nothing is let go of: what stands in the list breaks the cycle.
    fn __clear__(&self) {}
}

/// An object of named values.
pub(crate) fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Object::from_iter(members).into()
}
