//! The filters and tests that chat templates have in Python.

mod html;
mod json;
mod keys;
mod lists;
mod map;
mod native;
mod numbers;
mod pretty;
mod tests;
mod text;

use minijinja::value::{Kwargs, Rest, ValueKind};
use minijinja::{Environment, Error, Value};

use super::arguments::Arguments;

pub(super) fn add_to(environment: &mut Environment<'_>) {
    native::add_to(environment);
    html::add_to(environment);
    json::add_to(environment);
    lists::add_to(environment);
    map::add_to(environment);
    numbers::add_to(environment);
    pretty::add_to(environment);
    tests::add_to(environment);
    text::add_to(environment);
    environment.add_filter("default", default);
    environment.add_filter("d", default);
    environment.add_filter("attr", attr);
}

fn default(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let args = Arguments::of_filter(args, named);
    let other = args.given(0, "default_value")?;
    let also_false = args.flag(1, "boolean")?;
    args.check(2)?;
    Ok(
        match value.is_undefined() || also_false && !value.is_true() {
            true => other.unwrap_or_else(|| Value::from("")),
            false => value.clone(),
        },
    )
}

/// An attribute, which the items of a mapping are not.
fn attr(value: &Value, name: &str) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Map | ValueKind::Undefined => Ok(Value::UNDEFINED),
        _ => value.get_attr(name),
    }
}
