//! Python's mappings: the methods that minijinja-contrib lacks or has otherwise.

use minijinja::value::from_args;
use minijinja::{Error, Value};

use super::values::check_key;
use super::{budget, globals};

/// Calls a method of a mapping; `None` where minijinja-contrib has it as Python does.
pub(super) fn call_method(
    map: &Value,
    method: &str,
    args: &[Value],
) -> Result<Option<Value>, Error> {
    match method {
        // This one is only to see to it that the key may be one.
        "get" => {
            args.first().map_or(Ok(()), check_key)?;
            Ok(None)
        }
        "copy" => {
            let () = from_args(args)?;
            let length = map.len().unwrap_or(0);
            budget::spend(length.saturating_mul(2 * size_of::<Value>()))?;
            // A mapping never changes, so it is as good as its copy.
            Ok(Some(map.clone()))
        }
        "fromkeys" => globals::from_keys(args).map(Some),
        _ => Ok(None),
    }
}
