//! Numbers, of which whole ones may have any size.

use std::fmt;

use crate::json;

/// A JSON number.
///
/// Whole numbers and floats are distinguished as in Python: `1` and `1.0` are
/// different values here.
#[derive(Clone, Debug, PartialEq)]
pub enum Number {
    /// A whole number of 64 bits.
    Int(i64),
    /// A whole number that needs more: its decimal digits, without leading
    /// zeros, after a `-` if it is negative. Never a number that fits `Int`.
    BigInt(String),
    /// A number with a fraction or an exponent. May be NaN or infinite, as
    /// Python reads and writes these.
    Float(f64),
}

impl Number {
    /// Whether both would be written alike, as [`Value::total_eq`](crate::Value::total_eq) has it.
    pub(crate) fn total_eq(&self, other: &Number) -> bool {
        match (self, other) {
            (Self::Float(a), Self::Float(b)) => {
                a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
            }
            (a, b) => a == b,
        }
    }

    /// The number if it is a whole one of 64 bits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(int) => Some(*int),
            _ => None,
        }
    }

    /// The number as a float; the closest one if it is a large whole number.
    pub fn as_f64(&self) -> f64 {
        match self {
            Self::Int(int) => *int as f64,
            Self::BigInt(digits) => digits.parse().unwrap_or(f64::NAN),
            Self::Float(float) => *float,
        }
    }

    /// Whether this is `Int` or `BigInt`.
    pub fn is_integer(&self) -> bool {
        !matches!(self, Self::Float(_))
    }
}

/// As in JSON.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        json::write_number(&mut out, self);
        f.pad(&out)
    }
}

macro_rules! number_from {
    ($($int:ty),*) => {$(
        impl From<$int> for Number {
            fn from(int: $int) -> Self {
                Self::Int(i64::from(int))
            }
        }
    )*};
}

number_from!(i8, i16, i32, i64, u8, u16, u32);

impl From<u64> for Number {
    fn from(int: u64) -> Self {
        i64::try_from(int).map_or_else(|_| Self::BigInt(int.to_string()), Self::Int)
    }
}

impl From<usize> for Number {
    fn from(int: usize) -> Self {
        i64::try_from(int).map_or_else(|_| Self::BigInt(int.to_string()), Self::Int)
    }
}

impl From<f64> for Number {
    fn from(float: f64) -> Self {
        Self::Float(float)
    }
}
