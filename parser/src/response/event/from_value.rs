//! Reading events that were written as values.

use std::borrow::Cow;
use std::ops::Range;

use crate::diagnostic::Diagnostic;
use crate::spelling::did_you_mean;
use crate::value::{JsonString, Object, Value, pointer_below};

use super::{Capture, OpeningMatch, OwnedEvent};

/// Reads the object that [`Event::to_value`](crate::Event::to_value) makes. Other keys are passed over.
///
/// ```
/// use unjinja::{OwnedEvent, Value};
///
/// let value: Value = r#"{"type": "region_chunk", "field": "content", "text": "Hi", "dirty": false}"#
///     .parse()?;
/// let event = OwnedEvent::try_from(&value)?;
/// assert_eq!(event.to_value(), value);
///
/// let value: Value = r#"{"type": "region_chunk", "field": "content", "text": 5}"#.parse()?;
/// let error = OwnedEvent::try_from(&value).unwrap_err();
/// assert_eq!(error.to_string(), "/text: expected a string, found a number");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl TryFrom<&Value> for OwnedEvent {
    type Error = Diagnostic;

    fn try_from(value: &Value) -> Result<OwnedEvent, Diagnostic> {
        let Some(object) = value.as_object() else {
            return Err(unexpected("", "an event, which is an object", value));
        };
        let kind = text(object, "type")?;
        let field = text(object, "field");
        match kind.as_str() {
            "region_open" => Ok(OwnedEvent::Open {
                field: field?,
                opening: opening(object)?,
            }),
            "region_chunk" => Ok(OwnedEvent::Chunk {
                field: field?,
                text: text(object, "text")?,
                dirty: match member(object, "dirty")? {
                    Value::Bool(dirty) => *dirty,
                    other => return Err(unexpected("/dirty", "true or false", other)),
                },
            }),
            "region_close" => Ok(OwnedEvent::Close {
                field: field?,
                value: member(object, "value")?.clone(),
                span: span(object)?,
                at_end: false,
            }),
            "region_malformed" => Ok(OwnedEvent::Malformed {
                field: field?,
                raw: text(object, "raw")?,
                error: text(object, "error")?,
                span: span(object)?,
                at_end: false,
            }),
            other => Err(
                Diagnostic::new(format!("there are no events of the type `{other}`"))
                    .at("/type")
                    .with_remedy(did_you_mean(other, &TYPES)),
            ),
        }
    }
}

/// The types that events have as values.
const TYPES: [&str; 4] = [
    "region_open",
    "region_chunk",
    "region_close",
    "region_malformed",
];

fn unexpected(pointer: &str, expected: &str, found: &Value) -> Diagnostic {
    let found = found.type_name();
    Diagnostic::new(format!("expected {expected}, found {found}")).at(pointer)
}

fn member<'v>(event: &'v Object, key: &str) -> Result<&'v Value, Diagnostic> {
    let missing = || Diagnostic::new(format!("the event has no `{key}`")).with_remedy("add it");
    event.get(key).ok_or_else(missing)
}

fn text(event: &Object, key: &str) -> Result<String, Diagnostic> {
    text_of(member(event, key)?, || format!("/{key}"))
}

fn text_of(value: &Value, pointer: impl Fn() -> String) -> Result<String, Diagnostic> {
    match (value, value.as_str()) {
        (_, Some(text)) => Ok(text.to_owned()),
        (Value::String(_), None) => {
            Err(Diagnostic::new("the text holds half a character").at(pointer()))
        }
        _ => Err(unexpected(&pointer(), "a string", value)),
    }
}

fn span(event: &Object) -> Result<Option<Range<usize>>, Diagnostic> {
    let Some(value) = event.get("span") else {
        return Ok(None);
    };
    let bound = |value: &Value| usize::try_from(value.as_number()?.as_i64()?).ok();
    let bounds = match value.as_array() {
        Some([start, end]) => bound(start).zip(bound(end)),
        _ => None,
    };
    match bounds.filter(|(start, end)| start <= end) {
        Some((start, end)) => Ok(Some(start..end)),
        None => Err(Diagnostic::new("a span is `[START, END]`, in bytes").at("/span")),
    }
}

fn opening(event: &Object) -> Result<Option<OpeningMatch<'static>>, Diagnostic> {
    let Some(span) = span(event)? else {
        return Ok(None);
    };
    let captures = match member(event, "captures")? {
        Value::Object(captures) => captures,
        other => return Err(unexpected("/captures", "an object", other)),
    };
    let capture = |(name, value): (&JsonString, &Value)| {
        let name = name.to_string_lossy().into_owned();
        let text = text_of(value, || pointer_below("/captures", &name))?;
        Ok(Capture { name, text })
    };
    let captures: Result<Vec<Capture>, Diagnostic> = captures.iter().map(capture).collect();
    Ok(Some(OpeningMatch {
        span,
        captures: Cow::Owned(captures?),
    }))
}
