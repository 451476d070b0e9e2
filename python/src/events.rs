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

/// Lets work fill a buffer with events. Its room is kept for the next ones, unless it is large. Python may run anything while
/// objects are made of them, and take another buffer meanwhile.
#[inline]
pub(crate) fn with_buffer<T>(work: impl FnOnce(&mut EventBuffer) -> T) -> T {
    let mut buffer = BUFFER.take().unwrap_or_default();
    let done = work(&mut buffer);
    let texts = buffer.iter().map(|event| match event {
        Event::Chunk { text, .. } => text.len(),
        _ => 0,
    });
    // A short piece may let out a long text that was held back.
    if texts.sum::<usize>() <= KEPT {
        buffer.clear();
        BUFFER.set(Some(buffer));
    }
    done
}

/// A piece of text, and what it is in UTF-8.
pub(crate) type Piece<'p, 'py> = (&'p Bound<'py, PyString>, &'p str);

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

    /// A list of events, which may have come of this piece of text. So many regions have been closed before it.
    pub(crate) fn write<'py>(
        &self,
        py: Python<'py>,
        events: &EventBuffer,
        piece: Option<Piece<'_, 'py>>,
        mut closed: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        // Nearly all pieces make one.
        if events.len() == 1
            && let Some(event) = events.iter().next()
        {
            return PyList::new(py, [self.event(py, &event, piece, &mut closed)?]);
        }
        let list = PyList::empty(py);
        for event in events.iter() {
            list.append(self.event(py, &event, piece, &mut closed)?)?;
        }
        Ok(list)
    }

    /// The dict of an event, which is a copy of what is known of such events, with what is new in this one.
    #[inline]
    fn event<'py>(
        &self,
        py: Python<'py>,
        event: &Event<'_>,
        piece: Option<Piece<'_, 'py>>,
        closed: &mut usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Event::Chunk { field, text, dirty } = event else {
            return self.rare(py, event, closed);
        };
        let dict = self.known(py, EventKind::Chunk { dirty: *dirty }, field)?;
        let key = pyo3::intern!(py, "text");
        // Most chunks are all of the piece that they came in.
        match piece.filter(|(_, piece)| piece == text) {
            Some((piece, _)) => dict.set_item(key, piece)?,
            None => dict.set_item(key, text)?,
        }
        Ok(dict.into_any())
    }

    /// The dict of an event that is no chunk.
    #[inline(never)]
    fn rare<'py>(
        &self,
        py: Python<'py>,
        event: &Event<'_>,
        closed: &mut usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let key = pyo3::intern!(py, "value");
        match event {
            Event::Open {
                field,
                opening: None,
            } => Ok(self.known(py, EventKind::Open, field)?.into_any()),
            Event::Close {
                field,
                value,
                span: None,
                ..
            } => {
                let dict = self.known(py, EventKind::Close, field)?;
                let value = to_python(py, value)?;
                self.keep(field, &value, closed);
                dict.set_item(key, value)?;
                Ok(dict.into_any())
            }
            // Few have more.
            _ => {
                let dict = to_python(py, &event.to_value())?;
                if let Event::Close { field, .. } = event {
                    self.keep(field, &dict.get_item(key)?, closed);
                }
                Ok(dict)
            }
        }
    }

    /// A copy of what is known of such events of a field.
    #[inline]
    fn known<'py>(
        &self,
        py: Python<'py>,
        kind: EventKind,
        field: &str,
    ) -> PyResult<Bound<'py, PyDict>> {
        let Some(known) = self.number(field).and_then(|number| self.known.get(number)) else {
            return kind.dict(py, field);
        };
        let known = match kind {
            EventKind::Open => &known.open,
            EventKind::Chunk { dirty } => &known.chunks[usize::from(dirty)],
            EventKind::Close => &known.close,
        };
        let known = known.get_or_try_init(py, || kind.dict(py, field).map(Bound::unbind))?;
        known.bind(py).copy()
    }

    /// The number of a field.
    #[inline]
    fn number(&self, field: &str) -> Option<usize> {
        let mut fields = self.template.fields().iter();
        fields.position(|known| known.name() == field)
    }

    /// Keeps a value for the message.
    fn keep(&self, field: &str, value: &Bound<'_, PyAny>, closed: &mut usize) {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(field) = self.number(field) {
            values.push(ClosedValue {
                number: *closed,
                field,
                value: value.clone().unbind(),
            });
        }
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
