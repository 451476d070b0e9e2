//! Python's strings: the methods that templates use and that minijinja-contrib lacks or has
//! otherwise.

mod case;
mod encoding;
mod format;
mod lines;
mod parts;
mod replace;
mod search;
mod width;

use minijinja::value::from_args;
use minijinja::{Error, Value};

use super::characters::{is_identifier, is_printable};
use crate::white_space::is_space;

pub(super) use case::capitalized;
pub(super) use encoding::call_bytes_method;
pub(super) use format::check_format;
pub(super) use lines::lines;
pub(super) use parts::trim;
pub(super) use replace::replaced;

use case::{is_title, swapped, titled};
use encoding::encoded;
use lines::split_lines;
use parts::{joined, nonempty, partition, rsplit, split};
use replace::{translated, translation};
use search::{begins_or_ends, found};
use width::{centered, expanded, padded, zero_filled};

/// Calls a method of a string; `None` where minijinja-contrib has it as Python does.
pub(super) fn call_method(
    text: &str,
    method: &str,
    args: &[Value],
) -> Result<Option<Value>, Error> {
    let result = match method {
        "strip" => trim(text, args, true, true)?,
        "lstrip" => trim(text, args, true, false)?,
        "rstrip" => trim(text, args, false, true)?,
        "split" => split(text, args)?,
        "rsplit" => rsplit(text, args)?,
        "partition" => {
            let (separator,) = from_args::<(&str,)>(args)?;
            partition(
                text,
                text.split_once(nonempty(separator)?),
                separator,
                false,
            )
        }
        "rpartition" => {
            let (separator,) = from_args::<(&str,)>(args)?;
            partition(
                text,
                text.rsplit_once(nonempty(separator)?),
                separator,
                true,
            )
        }
        "removeprefix" => {
            let (prefix,) = from_args::<(&str,)>(args)?;
            Value::from(text.strip_prefix(prefix).unwrap_or(text))
        }
        "removesuffix" => {
            let (suffix,) = from_args::<(&str,)>(args)?;
            Value::from(text.strip_suffix(suffix).unwrap_or(text))
        }
        "replace" => {
            let (old, new, count) = from_args::<(&str, &str, Option<i64>)>(args)?;
            replaced(text, old, new, count)?
        }
        "ljust" => padded(text, args, |missing| (0, missing))?,
        "rjust" => padded(text, args, |missing| (missing, 0))?,
        "center" => centered(text, args)?,
        "zfill" => zero_filled(text, args)?,
        "capitalize" => capitalized(text).into(),
        "title" => titled(text).into(),
        "swapcase" => swapped(text).into(),
        "casefold" => Value::from(text.replace(['ß', 'ẞ'], "ss").to_lowercase()),
        "splitlines" => split_lines(text, args)?,
        "startswith" | "endswith" => Value::from(begins_or_ends(text, method, args)?),
        "find" | "rfind" | "index" | "rindex" | "count" => found(text, method, args)?,
        "isspace" => Value::from(!text.is_empty() && text.chars().all(is_space)),
        "translate" => translated(text, args)?,
        "maketrans" => translation(args)?,
        "isdecimal" | "isdigit" | "isnumeric" => {
            let all = !text.is_empty() && text.chars().all(char::is_numeric);
            Value::from(all)
        }
        "istitle" => Value::from(is_title(text)),
        "isidentifier" => Value::from(is_identifier(text)),
        "isprintable" => Value::from(text.chars().all(is_printable)),
        "expandtabs" => expanded(text, args)?,
        "encode" => encoded(text, args)?,
        "join" => return joined(text, args).map(Some),
        _ => return Ok(None),
    };
    Ok(Some(result))
}
