//! Numbers written by people and models: reading them the way Python's
//! `int(text)` and `float(text)` do, and writing floats the way its `repr`
//! does.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::value::Number;

/// Integers with more digits than this are refused, as Python does by default.
pub const MAX_INT_DIGITS: usize = 4300;

/// The code point of the zero of every run of ten decimal digits (category
/// Nd) in Unicode 14, which is the version Python 3.11 knows. Sorted, so that
/// it can be searched by halves.
const ZEROS: [u32; 66] = [
    0x0030, 0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6,
    0x0D66, 0x0DE6, 0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80,
    0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0,
    0xFF10, 0x104A0, 0x10D30, 0x11066, 0x110F0, 0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0,
    0x11650, 0x116C0, 0x11730, 0x118E0, 0x11950, 0x11C50, 0x11D50, 0x11DA0, 0x16A60, 0x16AC0,
    0x16B50, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6, 0x1E140, 0x1E2F0, 0x1E950, 0x1FBF0,
];

/// Reads an integer as `int(text)` does: white space around it, a sign,
/// single underscores between digits, and decimal digits of any script.
///
/// The separators U+001C to U+001F do not count as white space here: `int`
/// and `float` refuse them although `str.strip()` takes them away.
pub fn read_int(text: &str) -> Option<Number> {
    let (negative, body) = split_sign(text.trim());
    let digits = plain_digits(body)?;
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return Some(Number::Int(0));
    }
    let sign = if negative { "-" } else { "" };
    let canonical = format!("{sign}{significant}");
    Some(match canonical.parse() {
        Ok(small) => Number::Int(small),
        Err(_) => Number::BigInt(canonical),
    })
}

/// Reads a float as `float(text)` does: white space around it, underscores
/// between digits, digits of any script, and `inf`, `infinity` and `nan` in
/// any case. Too large is infinity, too small is zero.
pub fn read_float(text: &str) -> Option<f64> {
    ascii_number(text.trim())?.parse().ok()
}

/// The exact value of a float without a fraction, which may need more than
/// 64 bits. A fraction would be cut off; NaN and infinities stay floats.
pub fn int_of_float(float: f64) -> Number {
    // 2^63 itself is a float, the largest i64 is not: hence the half-open range.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if !float.is_finite() {
        Number::Float(float)
    } else if (-LIMIT..LIMIT).contains(&float) {
        Number::Int(float as i64)
    } else {
        // With a precision, all digits are exact; without one they would be
        // the shortest ones and zeros.
        Number::BigInt(format!("{float:.0}"))
    }
}

/// Appends what `float_repr` gives.
pub fn push_float(out: &mut String, float: f64) {
    if float.is_nan() {
        out.push_str("nan");
    } else if float.is_infinite() {
        out.push_str(if float > 0.0 { "inf" } else { "-inf" });
    } else if float == 0.0 || (1e-4..1e16).contains(&float.abs()) {
        push_positional(out, float);
    } else {
        push_exponential(out, float);
    }
}

/// `1000.0`: at least one digit stands after the point.
fn push_positional(out: &mut String, float: f64) {
    let start = out.len();
    // Writing to a String cannot fail.
    let _ = write!(out, "{float}");
    if float.fract() == 0.0 {
        out.push_str(".0");
    } else if may_be_a_tie(float, out.len() - start) {
        let decimals = decimals(&out[start..]);
        settle_tie(out, start, float, format!("{float:.decimals$}"));
    }
}

/// `1e+16`, `2.5e-07`: the exponent has a sign and at least two digits.
fn push_exponential(out: &mut String, float: f64) {
    let start = out.len();
    let _ = write!(out, "{float:e}");
    let Some(e) = out[start..].find('e').map(|e| start + e) else {
        return;
    };
    let exponent: i32 = out[e + 1..].parse().unwrap_or(0);
    out.truncate(e);
    if may_be_a_tie(float, e - start) {
        let decimals = decimals(&out[start..]);
        settle_tie(out, start, float, format!("{float:.decimals$e}"));
        out.truncate(e);
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    let _ = write!(out, "e{sign}{:02}", exponent.unsigned_abs());
}

/// The number of digits after the point.
fn decimals(number: &str) -> usize {
    number.find('.').map_or(0, |point| number.len() - point - 1)
}

/// Whether a float may lie exactly in the middle between two decimal numbers
/// that are both as short as can be, seeing how long the shortest one is.
///
/// Such a float has at most 18 digits, which must hold all powers of five of
/// its fraction, so the fraction has at most 25 bits. And decimals of up to
/// 15 digits lie too far apart for two of them to mean the same float. This
/// spares nearly all floats the exact look.
fn may_be_a_tie(float: f64, shortest: usize) -> bool {
    const TWO_TO_THE_25: f64 = 33_554_432.0;
    shortest > 15 && (float * TWO_TO_THE_25).fract() == 0.0
}

/// Between two shortest decimals that are equally close, Python takes the
/// even one, but Rust the greater one. Rounding to a given number of digits
/// takes the even one in Rust too. That result counts only if it still means
/// the same float: next to a power of two it may not.
fn settle_tie(out: &mut String, start: usize, float: f64, rounded: String) {
    if rounded.parse() == Ok(float) {
        out.truncate(start);
        out.push_str(&rounded);
    }
}

/// The sign taken off: true for a minus.
fn split_sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// The ASCII digits of an integer without sign, underscores taken out.
/// `None` if anything else is there, or too many digits, or none at all.
fn plain_digits(body: &str) -> Option<String> {
    let mut digits = String::new();
    let mut after_digit = false;
    for c in body.chars() {
        match digit_value(c) {
            Some(digit) => digits.push(char::from(b'0' + digit)),
            None if c == '_' && after_digit => {}
            None => return None,
        }
        after_digit = c != '_';
        // Checked while reading, so that an endless text costs nothing.
        if digits.len() > MAX_INT_DIGITS {
            return None;
        }
    }
    after_digit.then_some(digits)
}

/// The text with digits of all scripts turned into ASCII ones and underscores
/// between digits taken out. `None` if an underscore stands elsewhere.
fn ascii_number(text: &str) -> Option<Cow<'_, str>> {
    if text.bytes().all(|byte| byte.is_ascii() && byte != b'_') {
        return Some(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut after_digit = false;
    while let Some(c) = chars.next() {
        let digit = digit_value(c);
        match digit {
            Some(digit) => out.push(char::from(b'0' + digit)),
            None if c == '_' => {
                let before_digit = chars.peek().is_some_and(|&c| digit_value(c).is_some());
                if !(after_digit && before_digit) {
                    return None;
                }
            }
            None => out.push(c),
        }
        after_digit = digit.is_some();
    }
    Some(Cow::Owned(out))
}

/// The value of a decimal digit of any script.
fn digit_value(c: char) -> Option<u8> {
    if c.is_ascii() {
        return c.to_digit(10).map(|digit| digit as u8);
    }
    let code = u32::from(c);
    let run = ZEROS.partition_point(|&zero| zero <= code).checked_sub(1)?;
    let digit = code - ZEROS[run];
    (digit < 10).then_some(digit as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float_repr(float: f64) -> String {
        let mut text = String::new();
        push_float(&mut text, float);
        text
    }

    fn int(value: i64) -> Option<Number> {
        Some(Number::Int(value))
    }

    fn big(digits: &str) -> Option<Number> {
        Some(Number::BigInt(digits.to_owned()))
    }

    #[test]
    fn digit_table_is_sorted_and_complete() {
        assert!(ZEROS.windows(2).all(|pair| pair[0] + 10 <= pair[1]));
        assert_eq!(ZEROS.len(), 66);
        let digits = (char::MIN..=char::MAX).filter_map(digit_value);
        assert_eq!(digits.clone().count(), 660);
        // 66 runs of 0 + 1 + ... + 9.
        assert_eq!(digits.map(u32::from).sum::<u32>(), 66 * 45);
        // All but a few hundred of the characters Rust calls numeric are not Nd.
        let numeric = |zero: &u32| char::from_u32(*zero).is_some_and(char::is_numeric);
        assert!(ZEROS.iter().all(numeric));
    }

    #[test]
    fn reads_integers_as_python_does() {
        for (text, expected) in [
            ("0", int(0)),
            ("-0", int(0)),
            ("+0", int(0)),
            ("007", int(7)),
            ("0_0", int(0)),
            ("1_0", int(10)),
            (" 12\n", int(12)),
            ("\u{85}1", int(1)),
            ("\u{a0}1\u{3000}", int(1)),
            ("-\u{661}_\u{662}", int(-12)),
            ("\u{661}2", int(12)),
            ("\u{1d7d0}", int(2)),
            ("\u{1e955}", int(5)),
            ("9223372036854775807", int(i64::MAX)),
            ("-9223372036854775808", int(i64::MIN)),
            ("9223372036854775808", big("9223372036854775808")),
            ("-0009223372036854775809", big("-9223372036854775809")),
        ] {
            assert_eq!(read_int(text), expected, "{text:?}");
        }
    }

    #[test]
    fn refuses_other_integers() {
        for text in [
            "",
            "  ",
            "+",
            "-",
            "_1",
            "1_",
            "1__0",
            "+_1",
            "- 1",
            "--1",
            "+-1",
            "0x10",
            "1.",
            "1e5",
            "1 1",
            "\u{b2}",
            "1\0",
            "\u{1c}1",
            "\u{661}\u{1f}",
            "\u{180e}1",
            "\u{200b}1",
            "\u{feff}1",
        ] {
            assert_eq!(read_int(text), None, "{text:?}");
        }
    }

    #[test]
    fn integers_have_a_greatest_length() {
        let fits = "1".repeat(4300);
        assert_eq!(read_int(&fits), big(&fits));
        assert_eq!(read_int(&format!("-{fits}")), big(&format!("-{fits}")));
        assert_eq!(
            read_int(&format!("{}1", "1_".repeat(4299))),
            big(&"1".repeat(4300))
        );
        assert_eq!(read_int(&"1".repeat(4301)), None);
        assert_eq!(read_int(&"0".repeat(4301)), None);
        assert_eq!(read_int(&"0".repeat(4300)), int(0));
    }

    #[test]
    fn reads_floats_as_python_does() {
        for (text, expected) in [
            ("1", 1.0),
            ("1.", 1.0),
            (".5", 0.5),
            ("1.e5", 1e5),
            (".5e-3", 0.0005),
            ("1e+5", 1e5),
            ("1_0.0_1e1_0", 100_100_000_000.0),
            ("inf", f64::INFINITY),
            ("-INFINITY", f64::NEG_INFINITY),
            ("+Inf\u{2003}", f64::INFINITY),
            ("1e9999999999999999999999", f64::INFINITY),
            ("-1e9999999999999999999999", f64::NEG_INFINITY),
            ("1e-9999999999999999999999", 0.0),
            ("0e99999999999999999999", 0.0),
            ("\u{661}.\u{665}e\u{662}", 150.0),
            ("1e\u{665}", 1e5),
            ("\u{a0}\u{ff11}_\u{ff12}", 12.0),
        ] {
            assert_eq!(read_float(text), Some(expected), "{text:?}");
        }
        assert!(read_float("-0").is_some_and(|zero| zero == 0.0 && zero.is_sign_negative()));
        for text in ["nan", "+nan", "-NaN"] {
            assert!(read_float(text).is_some_and(f64::is_nan), "{text:?}");
        }
        assert_eq!(read_float(&"1".repeat(5000)), Some(f64::INFINITY));
    }

    #[test]
    fn refuses_other_floats() {
        for text in [
            "",
            " ",
            ".",
            "e5",
            ".e5",
            "1e",
            "1e+",
            "1e+-5",
            "1_.0",
            "1._0",
            "1e_5",
            "1_e5",
            "_1",
            "1_",
            "1__0",
            "infin",
            "in_f",
            "\u{131}nf",
            "nan(1)",
            "1.5.5",
            "0x1p3",
            "--1",
            "\u{66b}5",
            "\u{1c}1",
            "\u{1c}inf",
            "1\u{2003}1",
            "1\0",
            "\u{b2}",
        ] {
            assert_eq!(read_float(text), None, "{text:?}");
        }
    }

    #[test]
    fn integers_of_floats_are_exact() {
        for (float, expected) in [
            (0.0, int(0)),
            (-0.0, int(0)),
            (3.0, int(3)),
            (i64::MIN as f64, int(i64::MIN)),
            (-(i64::MIN as f64), big("9223372036854775808")),
            (1e30, big("1000000000000000019884624838656")),
            (-1e22, big("-10000000000000000000000")),
        ] {
            assert_eq!(Some(int_of_float(float)), expected, "{float}");
        }
        let Number::BigInt(digits) = int_of_float(f64::MAX) else {
            panic!("f64::MAX is big");
        };
        assert!(digits.starts_with("17976931348623157081452742373170435679807056752584"));
        assert!(digits.ends_with("4124858368") && digits.len() == 309);
    }

    #[test]
    fn floats_are_written_as_python_does() {
        for (float, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1000.0, "1000.0"),
            (0.1, "0.1"),
            (-1.5, "-1.5"),
            (1e15, "1000000000000000.0"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (1e16, "1e+16"),
            (1.2345e16, "1.2345e+16"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
            (1e22, "1e+22"),
            (-1e100, "-1e+100"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (0.00009999, "9.999e-05"),
            (2.5e-7, "2.5e-07"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            // Ties between two shortest forms go to the even digit.
            (2_851_573_401_598_305.0 / 4.0, "712893350399576.2"),
            (-7_195_514_062_442_205.0 / 4.0, "-1798878515610551.2"),
            (7_195_514_062_442_207.0 / 4.0, "1798878515610551.8"),
            (563_623_683_297_513.0 / 8.0, "70452960412189.12"),
            (1.0 + 0.5_f64.powi(17), "1.0000076293945312"),
            (1.0 + 3.0 * 0.5_f64.powi(17), "1.0000228881835938"),
            (0.5_f64.powi(24), "5.960464477539063e-08"),
            (0.5_f64.powi(25), "2.9802322387695312e-08"),
            (-3.0 * 0.5_f64.powi(25), "-8.940696716308594e-08"),
            (f64::NAN, "nan"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(float_repr(float), expected);
        }
    }
}
