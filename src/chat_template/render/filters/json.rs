//! `tojson` and `from_json`

use minijinja::value::{Kwargs, Rest};
use minijinja::{Environment, Error, Value};

use crate::chat_template::render::arguments::Arguments;
use crate::chat_template::render::error::invalid;
use crate::chat_template::render::values::{to_template, write_json};
use crate::chat_template::render::{budget, printing};
use crate::json::{self, Style};

pub(super) fn add_to(environment: &mut Environment<'_>) {
    environment.add_filter("tojson", to_json);
    environment.add_filter("from_json", from_json);
}

/// `tojson`, with the arguments of Python's `json.dumps`.
fn to_json(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let args = Arguments::of_filter(args, named);
    let mut style = Style::PYTHON
        .ensure_ascii(args.flag(0, "ensure_ascii")?)
        .indent(json_indent(&args)?)
        .sort_keys(args.flag(3, "sort_keys")?);
    if style.indent.is_some() {
        style.item_separator = ",".into();
    }
    if let Some(separators) = args.get(2, "separators")? {
        let both: Vec<Value> = separators.try_iter()?.collect();
        let [item, key] = both.as_slice() else {
            return Err(invalid("`separators` takes two strings"));
        };
        style.item_separator = printing::str(item)?.into();
        style.key_separator = printing::str(key)?.into();
    }
    args.check(4)?;
    write_json(value, &style).map(Value::from)
}

/// Spaces of indentation; more are refused.
const MAX_INDENT: i64 = 1_000;

/// How many spaces a level is indented by: a number, or a string of spaces.
fn json_indent(args: &Arguments) -> Result<Option<usize>, Error> {
    if let Some(spaces) = args
        .get(1, "indent")?
        .filter(|indent| indent.as_str().is_some())
    {
        let spaces = printing::str(&spaces)?;
        return match spaces.bytes().all(|byte| byte == b' ') {
            true => Ok(Some(spaces.len())),
            false => Err(invalid("JSON is indented by spaces only")),
        };
    }
    match args.integer(1, "indent")? {
        None => Ok(None),
        Some(count @ ..=MAX_INDENT) => Ok(Some(count.max(0) as usize)),
        Some(_) => Err(invalid(format!(
            "`indent` takes a number up to {MAX_INDENT}"
        ))),
    }
}

/// What `json.loads` reads; not a filter of Python's Jinja, but one that some engines have.
fn from_json(text: &str) -> Result<Value, Error> {
    // Few bytes may already be a value.
    budget::look(text.len())?;
    json::read(text)
        .map(|value| to_template(&value))
        .map_err(|error| invalid(format!("this is not JSON: {error}")))
}
