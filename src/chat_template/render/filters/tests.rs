//! The tests that mean something else in Python, or that minijinja lacks.

use minijinja::value::ValueKind;
use minijinja::{Environment, Error, Value};

use crate::chat_template::render::error::invalid;
use crate::chat_template::render::generators::Generator;
use crate::chat_template::render::kinds::{float, is_a, type_name};
use crate::chat_template::render::ordering;

pub(super) fn add_to(environment: &mut Environment<'_>) {
    environment.add_test("sequence", is_sequence);
    environment.add_test("iterable", is_iterable);
    environment.add_test("mapping", |value: &Value| {
        value.kind() == ValueKind::Map && !is_a(value, "Namespace")
    });
    environment.add_test("callable", is_callable);
    environment.add_test("odd", |value: &Value| {
        Ok::<_, Error>(remainder(value, 2)? == 1)
    });
    environment.add_test("even", |value: &Value| {
        Ok::<_, Error>(remainder(value, 2)? == 0)
    });
    environment.add_test("divisibleby", is_divisible_by);
    for name in ["lt", "lessthan", "<"] {
        environment.add_test(name, |a: &Value, b: &Value| {
            ordering::compare(a, b).map(|order| order.is_lt())
        });
    }
    for name in ["le", "<="] {
        environment.add_test(name, |a: &Value, b: &Value| {
            ordering::compare(a, b).map(|order| order.is_le())
        });
    }
    for name in ["gt", "greaterthan", ">"] {
        environment.add_test(name, |a: &Value, b: &Value| {
            ordering::compare(a, b).map(|order| order.is_gt())
        });
    }
    for name in ["ge", ">="] {
        environment.add_test(name, |a: &Value, b: &Value| {
            ordering::compare(a, b).map(|order| order.is_ge())
        });
    }
}

/// Whether it has a length and items: lists, and also strings and mappings.
fn is_sequence(value: &Value) -> bool {
    value.is_undefined()
        || matches!(
            value.kind(),
            ValueKind::Seq | ValueKind::String | ValueKind::Map
        )
}

fn is_iterable(value: &Value) -> bool {
    matches!(
        value.kind(),
        ValueKind::Undefined
            | ValueKind::String
            | ValueKind::Seq
            | ValueKind::Map
            | ValueKind::Iterable
    )
}

/// Functions and macros are; and undefined values, whose call is what fails.
fn is_callable(value: &Value) -> bool {
    let is_function = matches!(value.kind(), ValueKind::Plain | ValueKind::Undefined);
    is_function && !Generator::is(value) || is_a(value, "Macro")
}

/// The remainder of a division, for whole numbers.
fn remainder(value: &Value, divisor: i128) -> Result<i128, Error> {
    if let Ok(number) = f64::try_from(value.clone())
        && !value.is_integer()
        && value.kind() == ValueKind::Number
    {
        // Neither odd nor even, unless it is whole.
        return Ok(match number.fract() == 0.0 {
            true => number.rem_euclid(divisor as f64) as i128,
            false => -1,
        });
    }
    i128::try_from(value.clone())
        .map(|number| number.rem_euclid(divisor))
        .map_err(|_| invalid(format!("{} has no remainder", type_name(value))))
}

fn is_divisible_by(value: &Value, divisor: &Value) -> Result<bool, Error> {
    let (Some(a), Some(b)) = (float(value), float(divisor)) else {
        return Err(invalid("only numbers can be divided"));
    };
    if b == 0.0 {
        return Err(invalid("division by zero"));
    }
    match (
        i128::try_from(value.clone()),
        i128::try_from(divisor.clone()),
    ) {
        (Ok(a), Ok(b)) => Ok(a.checked_rem(b) == Some(0)),
        _ => Ok(a % b == 0.0),
    }
}
