//! Events as dicts, and the message of the values that stand in them.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString};
use pyo3::{PyTraverseError, PyVisit};

use unjinja::{Event, EventBuffer, JsonString, Object, ResponseTemplate, Value};

use crate::values::{key_to_python, list_to_python, to_python};

thread_local! {
    /// A buffer for the events of one piece, with the room that those before it took.
    static BUFFER: Cell<Option<Box<EventBuffer>>> = const { Cell::new(None) };
}

/// As much text of events is kept room for.
const KEPT: usize = 1 << 12;

/// The events of one piece of text. Nearly all pieces bring one, a chunk that is all of the piece, which is not copied.
pub(crate) struct Events<'w> {
    writer: &'w EventsWriter,
    piece: &'w str,
    /// The first event, if it is a chunk that is all of the piece.
    whole: Option<WholeChunk>,
    /// The events behind that.
    rest: Option<Box<EventBuffer>>,
}

/// A chunk that is all of a piece.
#[derive(Clone, Copy)]
struct WholeChunk {
    /// The number of its field.
    field: usize,
    dirty: bool,
}

impl Events<'_> {
    /// Adds an event.
    #[inline]
    pub(crate) fn push(&mut self, event: Event<'_>) {
        if let Event::Chunk { field, text, dirty } = event
            && self.whole.is_none()
            && self.rest.is_none()
            && text == self.piece
        {
            let field = self.writer.number(field);
            self.whole = Some(WholeChunk { field, dirty });
        } else {
            self.push_behind(event);
        }
    }

    #[inline(never)]
    fn push_behind(&mut self, event: Event<'_>) {
        // Python may run anything while objects are made of the events, and take another buffer meanwhile.
        let rest = &mut self.rest;
        let rest = rest.get_or_insert_with(|| BUFFER.take().unwrap_or_default());
        rest.push(event);
    }
}

impl Drop for Events<'_> {
    fn drop(&mut self) {
        let Some(mut rest) = self.rest.take() else {
            return;
        };
        let texts = rest.iter().map(|event| match event {
            Event::Chunk { text, .. } => text.len(),
            _ => 0,
        });
        // A short piece may let out a long text that was held back.
        if texts.sum::<usize>() <= KEPT {
            rest.clear();
            BUFFER.set(Some(rest));
        }
    }
}

/// Makes dicts of the events of a parser.
pub(crate) struct EventsWriter {
    template: ResponseTemplate,
    /// What is known of the events of each of its fields.
    known: Vec<KnownEvents>,
    values: Mutex<Vec<ClosedValue>>,
}

/// Dicts of events without what is new in each: to copy one takes half as long as to make one.
struct KnownEvents {
    open: PyOnceLock<Py<PyDict>>,
    /// Those that are not dirty, and those that are.
    chunks: [PyOnceLock<Py<PyDict>>; 2],
    close: PyOnceLock<Py<PyDict>>,
}

/// The value of a region that has been closed.
struct ClosedValue {
    /// How many regions have been closed before.
    number: usize,
    /// The number of its field.
    field: usize,
    value: Py<PyAny>,
}

#[derive(Clone, Copy)]
enum EventKind {
    Open,
    Chunk { dirty: bool },
    Close,
}

impl EventsWriter {
    pub(crate) fn new(template: ResponseTemplate) -> EventsWriter {
        let known = template.fields().iter().map(|_| KnownEvents::new());
        EventsWriter {
            known: known.collect(),
            template,
            values: Mutex::default(),
        }
    }

    /// Room for the events of a piece of text, which is empty where they come of none.
    pub(crate) fn gather<'w>(&'w self, piece: &'w str) -> Events<'w> {
        Events {
            writer: self,
            piece,
            whole: None,
            rest: None,
        }
    }

    /// A list of the events of a piece, which is this object. So many regions have been closed before it.
    #[inline]
    pub(crate) fn write<'py>(
        &self,
        py: Python<'py>,
        events: &Events<'_>,
        object: Option<&Bound<'py, PyString>>,
        closed: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let list = match events.whole {
            Some(WholeChunk { field, dirty }) => {
                let dict = self.known(py, EventKind::Chunk { dirty }, field)?;
                let key = pyo3::intern!(py, "text");
                match object {
                    Some(object) => dict.set_item(key, object)?,
                    None => dict.set_item(key, events.piece)?,
                }
                PyList::new(py, [dict])?
            }
            None => PyList::empty(py),
        };
        if let Some(rest) = &events.rest {
            self.write_rest(&list, rest, closed)?;
        }
        Ok(list)
    }

    /// Writes the events behind the first.
    #[inline(never)]
    fn write_rest(
        &self,
        list: &Bound<'_, PyList>,
        rest: &EventBuffer,
        mut closed: usize,
    ) -> PyResult<()> {
        let py = list.py();
        for event in rest.iter() {
            list.append(self.event(py, &event, &mut closed)?)?;
        }
        Ok(())
    }

    /// The dict of an event, which is a copy of what is known of such events, with what is new in this one.
    fn event<'py>(
        &self,
        py: Python<'py>,
        event: &Event<'_>,
        closed: &mut usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let field = self.number(event.field());
        match event {
            Event::Chunk { text, dirty, .. } => {
                let dict = self.known(py, EventKind::Chunk { dirty: *dirty }, field)?;
                dict.set_item(pyo3::intern!(py, "text"), text)?;
                Ok(dict.into_any())
            }
            Event::Open { opening: None, .. } => {
                Ok(self.known(py, EventKind::Open, field)?.into_any())
            }
            Event::Close {
                value, span: None, ..
            } => {
                let dict = self.known(py, EventKind::Close, field)?;
                let value = to_python(py, value)?;
                self.keep(field, &value, closed);
                dict.set_item(pyo3::intern!(py, "value"), value)?;
                Ok(dict.into_any())
            }
            // Few have more.
            _ => {
                let dict = to_python(py, &event.to_value())?;
                if let Event::Close { .. } = event {
                    let value = dict.get_item(pyo3::intern!(py, "value"))?;
                    self.keep(field, &value, closed);
                }
                Ok(dict)
            }
        }
    }

    /// A copy of what is known of such events of a field, which has this number.
    #[inline]
    fn known<'py>(
        &self,
        py: Python<'py>,
        kind: EventKind,
        field: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let known = &self.known[field];
        let dict = match kind {
            EventKind::Open => &known.open,
            EventKind::Chunk { dirty } => &known.chunks[usize::from(dirty)],
            EventKind::Close => &known.close,
        };
        let name = self.template.fields()[field].name();
        let dict = dict.get_or_try_init(py, || kind.dict(py, name).map(Bound::unbind))?;
        dict.bind(py).copy()
    }

    /// The number of a field, which the template has.
    #[inline]
    fn number(&self, field: &str) -> usize {
        let mut fields = self.template.fields().iter();
        // Events have the names of the fields themselves, so mostly nothing has to be compared.
        let is_it = |name: &str| std::ptr::eq(name, field) || name == field;
        let number = fields.position(|known| is_it(known.name()));
        number.expect("events are of the template's fields")
    }

    /// Keeps a value for the message.
    fn keep(&self, field: usize, value: &Bound<'_, PyAny>, closed: &mut usize) {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        values.push(ClosedValue {
            number: *closed,
            field,
            value: value.clone().unbind(),
        });
        *closed += 1;
    }

    /// Shows the values to Python's garbage collector: a parser may have been put into one.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Whoever holds them is at work with them.
        let Ok(values) = self.values.try_lock() else {
            return Ok(());
        };
        values
            .iter()
            .try_for_each(|closed| visit.call(&closed.value))
    }

    /// Forgets the values.
    pub(crate) fn clear(&self) {
        let values = {
            let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *values)
        };
        // Not under the lock: what frees them may run Python, which may ask for them.
        drop(values);
    }

    /// The message, made of the values that stand in its events, as the other parser makes it. So many regions have been
    /// closed.
    pub(crate) fn message<'py>(
        &self,
        py: Python<'py>,
        message: &Object,
        closed: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let mut values = {
            let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *values)
        };
        // Some are missing where no list could be made of the events of a piece.
        if values.len() != closed {
            values.clear();
        }
        // Those of threads that share a parser may have come out of order.
        values.sort_by_key(|value| value.number);
        let dict = PyDict::new(py);
        for (key, value) in message.iter() {
            let made = self.made(py, key, value, &values)?;
            dict.set_item(key_to_python(py, key)?, made)?;
        }
        Ok(dict)
    }

    /// A value of the message: where the values of regions stand in it, these.
    fn made<'py>(
        &self,
        py: Python<'py>,
        key: &JsonString,
        value: &Value,
        values: &[ClosedValue],
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut fields = self.template.fields().iter().enumerate();
        let Some((number, field)) = fields.find(|(_, field)| *key == *field.name()) else {
            return to_python(py, value);
        };
        let mut own = values.iter().filter(|value| value.field == number);
        match value {
            _ if field.join().is_some() => to_python(py, value),
            Value::Array(all) if field.repeats() => {
                // Those of the defaults stand before them.
                let defaults = all.len().saturating_sub(own.clone().count());
                let list = list_to_python(py, &all[..defaults])?;
                own.try_for_each(|closed| list.append(&closed.value))?;
                Ok(list.into_any())
            }
            _ => match own.next_back() {
                Some(closed) => Ok(closed.value.bind(py).clone()),
                None => to_python(py, value),
            },
        }
    }
}

impl KnownEvents {
    const fn new() -> KnownEvents {
        KnownEvents {
            open: PyOnceLock::new(),
            chunks: [const { PyOnceLock::new() }; 2],
            close: PyOnceLock::new(),
        }
    }
}

impl EventKind {
    /// What all such events of a field have, in the order in which they have it.
    fn dict<'py>(self, py: Python<'py>, field: &str) -> PyResult<Bound<'py, PyDict>> {
        let kind = match self {
            EventKind::Open => pyo3::intern!(py, "region_open"),
            EventKind::Chunk { .. } => pyo3::intern!(py, "region_chunk"),
            EventKind::Close => pyo3::intern!(py, "region_close"),
        };
        let dict = PyDict::new(py);
        dict.set_item(pyo3::intern!(py, "type"), kind)?;
        dict.set_item(pyo3::intern!(py, "field"), field)?;
        if let EventKind::Chunk { dirty } = self {
            dict.set_item(pyo3::intern!(py, "text"), pyo3::intern!(py, ""))?;
            dict.set_item(pyo3::intern!(py, "dirty"), dirty)?;
        }
        Ok(dict)
    }
}
