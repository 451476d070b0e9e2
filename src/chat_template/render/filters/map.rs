//! `map`

use minijinja::value::{Kwargs, Rest};
use minijinja::{Environment, Error, State, Value};

use crate::chat_template::render::error::invalid;
use crate::chat_template::render::{budget, items};

use super::keys::attribute;

pub(super) fn add_to(environment: &mut Environment<'_>) {
    environment.add_filter("map", map);
}

/// The items as a filter changes them, or an attribute of each.
fn map(
    state: &mut State<'_, '_>,
    value: &Value,
    args: Rest<Value>,
    named: Kwargs,
) -> Result<Value, Error> {
    let items = items::collected_if_true(value)?;
    let Some((filter, rest)) = args.split_first() else {
        return attributes(items, &named);
    };
    let filter = filter
        .as_str()
        .ok_or_else(|| invalid("`map` takes the name of a filter"))?;
    let has_names = named.args().next().is_some();
    let mut call: Vec<Value> = std::iter::once(Value::UNDEFINED)
        .chain(rest.to_vec())
        .collect();
    if has_names {
        call.push(named.into());
    }
    let mut mapped = Vec::new();
    for item in items {
        budget::look(1)?;
        call[0] = item;
        mapped.push(state.apply_filter(filter, &call)?);
    }
    Ok(Value::from(mapped))
}

fn attributes(items: Vec<Value>, named: &Kwargs) -> Result<Value, Error> {
    let path = named.get::<Value>("attribute")?;
    let default = named.get::<Option<Value>>("default")?;
    let has_default = named.has("default");
    named.assert_all_used()?;
    let found = items.into_iter().map(|item| {
        let found = attribute(&item, &path)?;
        Ok(match found.is_undefined() && has_default {
            true => default.clone().unwrap_or_else(|| Value::from(())),
            false => found,
        })
    });
    Ok(Value::from(found.collect::<Result<Vec<Value>, Error>>()?))
}
