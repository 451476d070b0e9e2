//! The names of calls and of their fields.

use crate::value::{JsonString, Value};

use super::RegionError;
use super::tools::Tools;

/// The name of the field that holds calls.
pub(crate) const CALLS: &str = "tool_calls";

/// The names of the fields that hold reasoning, in the templates of this world.
#[doc(hidden)]
pub const REASONING: [&str; 3] = ["thinking", "reasoning_content", "reasoning"];

/// The name that a call gives, if it gives one. A name of white space is none.
pub(super) fn name_of(call: &Value) -> Option<&JsonString> {
    let function = call.get("function").unwrap_or(call);
    let name = function.get("name")?.as_json_string()?;
    let is_blank = name.to_string_lossy().trim().is_empty();
    Some(name).filter(|_| !is_blank)
}

/// Returns what a call of a value lacks, if any does. Other keys in place of `arguments` are arguments that nobody reads.
pub(super) fn what_is_missing(value: &Value) -> Option<String> {
    if let Value::Array(calls) = value {
        return calls.iter().find_map(what_is_missing);
    }
    if name_of(value).is_none() {
        return Some("this is a call without a name".into());
    }
    let function = value.get("function").unwrap_or(value).as_object()?;
    if function.contains_key("arguments") {
        return None;
    }
    let holds =
        |value: &Value| matches!(value, Value::Object(_) | Value::Array(_)) && !value.is_empty();
    let (key, _) = function.iter().find(|(_, value)| holds(value))?;
    let key = key.to_string_lossy();
    Some(format!(
        "this is a call without `arguments`, and nothing reads `{key}`"
    ))
}

/// Returns whether a call is one of a tool that is not among those that were offered.
fn is_unknown(call: &Value, tools: &Tools) -> bool {
    name_of(call).is_some_and(|name| !tools.offers(name))
}

/// Refuses a value that has calls of tools that were not offered.
pub(super) fn check_offered(value: &Value, tools: &Tools) -> Result<(), RegionError> {
    match value {
        Value::Array(calls) => calls.iter().try_for_each(|call| check_offered(call, tools)),
        call if is_unknown(call, tools) => Err(unknown(call)),
        _ => Ok(()),
    }
}

/// Takes such calls out of a list; what is wrong if nothing is left.
pub(super) fn keep_offered(value: &mut Value, tools: &Tools) -> Result<(), RegionError> {
    let Value::Array(calls) = value else {
        return check_offered(value, tools);
    };
    let last = calls.iter().rposition(|call| is_unknown(call, tools));
    let error = last.map(|last| unknown(&calls[last]));
    calls.retain(|call| !is_unknown(call, tools));
    match error {
        Some(error) if calls.is_empty() => Err(error),
        _ => Ok(()),
    }
}

fn unknown(call: &Value) -> RegionError {
    let name = name_of(call).map(JsonString::to_string_lossy);
    let name = name.unwrap_or_default();
    RegionError::UnknownTool(format!("no tool `{name}` was offered"))
}
