//! Whole numbers between two bounds, digit by digit.

use super::builder::{class, natural};
use super::expr::{CharClass, Expr};
use crate::json;
use crate::value::{Object, Value};

/// The least and the greatest number that a schema allows, or the key whose value is no whole number.
pub(super) fn bounds(schema: &Object) -> Result<(Option<i64>, Option<i64>), &'static str> {
    let is_true = |key: &str| schema.get(key).and_then(Value::as_bool) == Some(true);
    let bound = |key: &'static str, shift: i64| match schema.get(key) {
        // In older schemas, it says how the other bound is meant.
        None | Some(Value::Bool(_)) => Ok(None),
        Some(value) => {
            let text = json::write(value);
            let text = text.strip_suffix(".0").unwrap_or(&text);
            let number: i64 = text.parse().map_err(|_| key)?;
            number.checked_add(shift).map(Some).ok_or(key)
        }
    };
    let least = bound("minimum", i64::from(is_true("exclusiveMinimum")))?
        .max(bound("exclusiveMinimum", 1)?);
    let most = match (
        bound("maximum", -i64::from(is_true("exclusiveMaximum")))?,
        bound("exclusiveMaximum", -1)?,
    ) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    Ok((least, most))
}

/// A whole number between these, both of which belong to it.
pub(super) fn expr(least: Option<i64>, most: Option<i64>) -> Expr {
    let mut all = Vec::new();
    if least.is_none_or(|least| least < 0) {
        // -1 is the greatest, -least the one that is farthest away.
        let nearest = most.filter(|most| *most < 0).map_or(1, i64::unsigned_abs);
        let farthest = least.map(i64::unsigned_abs);
        all.push(Expr::sequence(["-".into(), magnitude(nearest, farthest)]));
    }
    if most.is_none_or(|most| most >= 0) {
        let nearest = least.map_or(0, |least| least.max(0).unsigned_abs());
        all.push(magnitude(nearest, most.map(i64::unsigned_abs)));
    }
    Expr::choice(all.into_iter().filter(|one| !one.is_never()))
}

/// A number without a sign.
fn magnitude(least: u64, most: Option<u64>) -> Expr {
    let Some(most) = most else {
        return match least {
            0 => natural(),
            least => {
                let length = least.to_string().len();
                let same = same_length(least, 10_u64.saturating_pow(length as u32) - 1);
                let longer = [digit(1, 9), digit(0, 9).repeat(length as u32, None)];
                Expr::choice([Expr::sequence(longer), same])
            }
        };
    };
    if least > most {
        return Expr::NEVER;
    }
    let mut all = Vec::new();
    let mut from = least;
    loop {
        let length = from.to_string().len() as u32;
        let greatest = 10_u64.checked_pow(length).map_or(u64::MAX, |next| next - 1);
        all.push(same_length(from, greatest.min(most)));
        if greatest >= most {
            // The longest first, for of several the first that fits is taken.
            all.reverse();
            return Expr::choice(all);
        }
        from = greatest + 1;
    }
}

/// A number between two that have as many digits.
fn same_length(least: u64, most: u64) -> Expr {
    let (least, most) = (least.to_string(), most.to_string());
    between(least.as_bytes(), most.as_bytes())
}

fn between(least: &[u8], most: &[u8]) -> Expr {
    let (Some((&low, low_rest)), Some((&high, high_rest))) =
        (least.split_first(), most.split_first())
    else {
        return Expr::Empty;
    };
    let (low, high) = (low - b'0', high - b'0');
    if low == high {
        return Expr::sequence([digit(low, low), between(low_rest, high_rest)]);
    }
    // 123 to 456 is 123 to 199, 200 to 399, and 400 to 456.
    let nines = vec![b'9'; low_rest.len()];
    let noughts = vec![b'0'; low_rest.len()];
    let is_from_nought = low_rest == noughts;
    let is_to_nine = high_rest == nines;
    let mut all = Vec::new();
    let from = match is_from_nought {
        true => low,
        false => {
            all.push(Expr::sequence([digit(low, low), between(low_rest, &nines)]));
            low + 1
        }
    };
    let to = match is_to_nine {
        true => high,
        false => high - 1,
    };
    if from <= to {
        let rest = digit(0, 9).repeat(low_rest.len() as u32, Some(low_rest.len() as u32));
        let rest = match low_rest.is_empty() {
            true => Expr::Empty,
            false => rest,
        };
        all.push(Expr::sequence([digit(from, to), rest]));
    }
    if !is_to_nine {
        let part = [digit(high, high), between(&noughts, high_rest)];
        all.push(Expr::sequence(part));
    }
    Expr::choice(all)
}

fn digit(from: u8, to: u8) -> Expr {
    let character = |digit: u8| char::from(b'0' + digit);
    match from == to {
        true => character(from).to_string().into(),
        false => class(CharClass::ranges([(character(from), character(to))])),
    }
}

#[cfg(test)]
mod tests {
    use super::super::takes;
    use super::*;

    #[test]
    fn bounds_are_whole_numbers_that_belong_to_the_range() {
        for (schema, expected) in [
            ("{}", Ok((None, None))),
            (r#"{"minimum": 1, "maximum": 9}"#, Ok((Some(1), Some(9)))),
            (r#"{"minimum": 1.0}"#, Ok((Some(1), None))),
            (
                r#"{"exclusiveMinimum": 1, "exclusiveMaximum": 9}"#,
                Ok((Some(2), Some(8))),
            ),
            // Of two bounds, the narrower one counts.
            (
                r#"{"minimum": 5, "exclusiveMinimum": 1}"#,
                Ok((Some(5), None)),
            ),
            (
                r#"{"maximum": 5, "exclusiveMaximum": 3}"#,
                Ok((None, Some(2))),
            ),
            // As older schemas say it.
            (
                r#"{"minimum": 1, "exclusiveMinimum": true}"#,
                Ok((Some(2), None)),
            ),
            (
                r#"{"maximum": 9, "exclusiveMaximum": true}"#,
                Ok((None, Some(8))),
            ),
            (
                r#"{"maximum": 9, "exclusiveMaximum": false}"#,
                Ok((None, Some(9))),
            ),
            (r#"{"minimum": 1.5}"#, Err("minimum")),
            (r#"{"maximum": "9"}"#, Err("maximum")),
            (
                r#"{"exclusiveMinimum": 9223372036854775807}"#,
                Err("exclusiveMinimum"),
            ),
        ] {
            let value = json::read(schema).expect("it is JSON");
            let object = value.as_object().expect("it is an object");
            assert_eq!(bounds(object), expected, "{schema}");
        }
    }

    #[test]
    fn exactly_the_numbers_between_bounds_fit() {
        for (least, most) in [
            (None, None),
            (Some(0), None),
            (Some(7), None),
            (Some(10), None),
            (Some(-3), None),
            (None, Some(12)),
            (None, Some(-7)),
            (Some(3), Some(3)),
            (Some(-12), Some(-3)),
            (Some(-1), Some(109)),
            (Some(17), Some(112)),
            (Some(5), Some(2)),
        ] {
            let range = expr(least, most);
            for number in -130..=130 {
                let is_within = least.is_none_or(|least| least <= number)
                    && most.is_none_or(|most| number <= most);
                let text = number.to_string();
                assert_eq!(
                    takes(&range, &text),
                    is_within,
                    "{number} of {least:?} to {most:?}"
                );
            }
            for text in ["007", "1.0", "-", "", "+1"] {
                assert!(!takes(&range, text), "{text} of {least:?} to {most:?}");
            }
        }
        assert!(takes(&expr(Some(7), None), "99999999999999999999"));
        let widest = expr(Some(i64::MIN), Some(i64::MAX));
        assert!(takes(&widest, &i64::MIN.to_string()));
        assert!(!takes(&widest, "9223372036854775808"));
    }
}
