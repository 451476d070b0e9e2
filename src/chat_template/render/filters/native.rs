//! The filters and tests that are as minijinja has them, but count what they do.

use std::borrow::Cow;

use minijinja::value::Rest;
use minijinja::{Environment, Error, State, Value, filters, tests};

use crate::chat_template::render::kinds::check_key;
use crate::chat_template::render::{budget, escape, items, operators, ordering, printing};

pub(super) fn add_to(environment: &mut Environment<'_>) {
    environment.add_filter("upper", |value: &Value| {
        cased(value, |text| text.to_uppercase())
    });
    environment.add_filter("lower", |value: &Value| {
        cased(value, |text| text.to_lowercase())
    });
    environment.add_filter("title", |value: &Value| {
        cased(value, |text| filters::title(Cow::Borrowed(text)))
    });
    environment.add_filter("safe", |value: &Value| {
        printing::str(value).map(Value::from_safe_string)
    });
    environment.add_filter("bool", Value::is_true);
    for (name, filter) in [
        ("split", Value::from_function(filters::split)),
        ("lines", Value::from_function(filters::lines)),
    ] {
        let counted = move |state: &mut State<'_, '_>, args: Rest<Value>| {
            args.iter().try_for_each(look_at)?;
            filter.call(state, &args)
        };
        environment.add_filter(name, counted);
    }
    for (name, filter) in [
        ("select", Value::from_function(filters::select)),
        ("reject", Value::from_function(filters::reject)),
        ("selectattr", Value::from_function(filters::selectattr)),
        ("rejectattr", Value::from_function(filters::rejectattr)),
    ] {
        let counted = move |state: &mut State<'_, '_>, mut args: Rest<Value>| {
            args.iter().try_for_each(look_at)?;
            if let Some(items) = args.first_mut().filter(|items| !items.is_undefined()) {
                *items = Value::from(items::collected_if_true(items)?);
            }
            filter.call(state, &args)
        };
        environment.add_filter(name, counted);
    }
    add_tests_to(environment);
}

fn add_tests_to(environment: &mut Environment<'_>) {
    environment.add_test("undefined", tests::is_undefined);
    environment.add_test("defined", tests::is_defined);
    environment.add_test("none", tests::is_none);
    environment.add_test("safe", tests::is_safe);
    environment.add_test("escaped", tests::is_safe);
    environment.add_test("boolean", tests::is_boolean);
    environment.add_test("number", tests::is_number);
    environment.add_test("integer", tests::is_integer);
    environment.add_test("int", tests::is_integer);
    environment.add_test("float", tests::is_float);
    environment.add_test("string", tests::is_string);
    environment.add_test("true", tests::is_true);
    environment.add_test("false", tests::is_false);
    environment.add_test("sameas", tests::is_sameas);
    environment.add_test("filter", |state: &State<'_, '_>, name: &Value| {
        check_key(name)?;
        let name = name.as_str();
        Ok::<bool, Error>(name.is_some_and(|name| tests::is_filter(state, name)))
    });
    environment.add_test("test", |state: &State<'_, '_>, name: &Value| {
        check_key(name)?;
        let name = name.as_str();
        Ok::<bool, Error>(name.is_some_and(|name| tests::is_test(state, name)))
    });
    environment.add_test("in", operators::contained);
    for name in ["eq", "equalto", "=="] {
        environment.add_test(name, ordering::equal);
    }
    for name in ["ne", "!="] {
        environment.add_test(name, |a: &Value, b: &Value| {
            ordering::equal(a, b).map(|equal| !equal)
        });
    }
    environment.add_test("startingwith", |text: &Value, start: &Value| {
        Ok::<bool, Error>(printing::str(text)?.starts_with(&printing::str(start)?))
    });
    environment.add_test("endingwith", |text: &Value, end: &Value| {
        Ok::<bool, Error>(printing::str(text)?.ends_with(&printing::str(end)?))
    });
    environment.add_test("lower", |value: &Value| {
        printing::str(value).map(|text| tests::is_lower(&Value::from(text)))
    });
    environment.add_test("upper", |value: &Value| {
        printing::str(value).map(|text| tests::is_upper(&Value::from(text)))
    });
}

/// Counts the characters of a text, or the items of a list.
fn look_at(value: &Value) -> Result<(), Error> {
    let characters = value.as_bytes().map(<[u8]>::len);
    budget::look(characters.or_else(|| value.len()).unwrap_or(1))
}

fn cased(value: &Value, change: impl Fn(&str) -> String) -> Result<Value, Error> {
    let text = printing::str(value)?;
    budget::change(text.len())?;
    let text = change(&text);
    Ok(escape::as_safe_as(value, Value::from(text)))
}
