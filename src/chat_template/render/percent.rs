//! Formatting with `%`.

use minijinja::value::ValueKind;
use minijinja::{Error, Value};

use super::error::invalid;
use super::{budget, items, printing};

/// `template % values`
pub(super) fn format(template: &str, values: &Value) -> Result<Value, Error> {
    budget::read(template.len())?;
    let mut rest = Operands::new(values)?;
    let mut out = String::new();
    let mut characters = template.chars().peekable();
    while let Some(c) = characters.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut spec = Spec::read(&mut characters)?;
        spec.take_sizes(&mut rest)?;
        let piece = spec.fill(&mut rest)?;
        budget::spend(piece.len())?;
        budget::limit(out.len() + piece.len())?;
        out.push_str(&piece);
    }
    rest.check_used()?;
    budget::spend(out.len())?;
    Ok(Value::from(out))
}

/// What stands to the right of `%`.
struct Operands<'v> {
    values: &'v Value,
    positional: Vec<Value>,
    used: usize,
}

impl<'v> Operands<'v> {
    fn new(values: &'v Value) -> Result<Operands<'v>, Error> {
        let positional = match values.is_tuple() {
            true => items::collected(values)?,
            false => vec![values.clone()],
        };
        Ok(Operands {
            values,
            positional,
            used: 0,
        })
    }

    fn next(&mut self) -> Result<Value, Error> {
        let value = self.positional.get(self.used).cloned();
        self.used += 1;
        value.ok_or_else(|| invalid("not enough values for the format"))
    }

    fn named(&mut self, name: &str) -> Result<Value, Error> {
        self.used = self.positional.len();
        if self.values.kind() != ValueKind::Map {
            return Err(invalid("the format needs a mapping"));
        }
        let value = self.values.get_attr(name)?;
        match value.is_undefined() {
            true => Err(invalid(format!("the mapping has no `{name}`"))),
            false => Ok(value),
        }
    }

    fn check_used(&self) -> Result<(), Error> {
        // Whatever could be asked for a name may go unused: mappings, and also lists and what is undefined.
        let has_items = matches!(
            self.values.kind(),
            ValueKind::Map | ValueKind::Seq | ValueKind::Undefined
        );
        let unused = self.used < self.positional.len() && (!has_items || self.values.is_tuple());
        match unused {
            true => Err(invalid("not all values were used by the format")),
            false => Ok(()),
        }
    }
}

/// One conversion, such as `%-5.2f`.
#[derive(Default)]
struct Spec {
    name: Option<String>,
    left: bool,
    zero: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    /// Whether width and precision are given as values.
    given: [bool; 2],
    width: usize,
    precision: Option<usize>,
    kind: char,
}

/// Widths and precisions beyond this are refused; Rust formats up to 65,535.
const MAX_WIDTH: usize = 50_000;

impl Spec {
    fn read(text: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Spec, Error> {
        let mut spec = Spec::default();
        if text.next_if_eq(&'(').is_some() {
            let name: String = text.by_ref().take_while(|&c| c != ')').collect();
            spec.name = Some(name);
        }
        while let Some(flag) = text.next_if(|c| "-0+ #".contains(*c)) {
            match flag {
                '-' => spec.left = true,
                '0' => spec.zero = true,
                '+' => spec.plus = true,
                ' ' => spec.space = true,
                _ => spec.alternate = true,
            }
        }
        spec.given[0] = text.next_if_eq(&'*').is_some();
        spec.width = number(text)?.unwrap_or(0);
        if text.next_if_eq(&'.').is_some() {
            spec.given[1] = text.next_if_eq(&'*').is_some();
            spec.precision = Some(number(text)?.unwrap_or(0));
        }
        // These stand for sizes in C, and for nothing in Python.
        let _ = text.next_if(|c| "hlL".contains(*c));
        spec.kind = text
            .next()
            .ok_or_else(|| invalid("the format ends within a conversion"))?;
        Ok(spec)
    }

    /// Takes the width and the precision that are given as values.
    fn take_sizes(&mut self, arguments: &mut Operands<'_>) -> Result<(), Error> {
        let mut size = || {
            let size = arguments.next()?.as_i64();
            let size = size.ok_or_else(|| invalid("`*` needs a whole number"))?;
            match usize::try_from(size.unsigned_abs()) {
                Ok(width) if width <= MAX_WIDTH => Ok((size < 0, width)),
                _ => Err(invalid("the width of a format is too large")),
            }
        };
        if self.given[0] {
            let (left, width) = size()?;
            self.left |= left;
            self.width = width;
        }
        if self.given[1] {
            let (negative, precision) = size()?;
            self.precision = Some(if negative { 0 } else { precision });
        }
        Ok(())
    }

    fn fill(&self, arguments: &mut Operands<'_>) -> Result<String, Error> {
        if self.kind == '%' {
            return Ok("%".to_owned());
        }
        let value = match &self.name {
            Some(name) => arguments.named(name)?,
            None => arguments.next()?,
        };
        let cut = |text: String| match self.precision {
            Some(precision) => text.chars().take(precision).collect(),
            None => text,
        };
        let text = match self.kind {
            's' => cut(printing::str(&value)?),
            'r' => cut(printing::repr(&value)?),
            'a' => cut(printing::ascii(&value)?),
            'c' => character(&value)?,
            'd' | 'i' | 'u' | 'x' | 'X' | 'o' => self.signed(&self.integer(&value)?),
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' => self.signed(&self.float(&value)?),
            other => return Err(invalid(format!("`%{other}` is not a conversion"))),
        };
        Ok(self.pad(text))
    }

    fn integer(&self, value: &Value) -> Result<String, Error> {
        let number = match i128::try_from(value.clone()) {
            Ok(number) => number,
            Err(_) => f64::try_from(value.clone())
                .map_err(|_| invalid(format!("`%{}` needs a number", self.kind)))?
                as i128,
        };
        let digits = number.unsigned_abs();
        let digits = match self.kind {
            'x' => format!("{digits:x}"),
            'X' => format!("{digits:X}"),
            'o' => format!("{digits:o}"),
            _ => digits.to_string(),
        };
        let least = self.precision.unwrap_or(0);
        let sign = if number < 0 { "-" } else { "" };
        let prefix = match self.kind {
            'x' if self.alternate => "0x",
            'X' if self.alternate => "0X",
            'o' if self.alternate => "0o",
            _ => "",
        };
        Ok(format!("{sign}{prefix}{digits:0>least$}"))
    }

    fn float(&self, value: &Value) -> Result<String, Error> {
        let number = f64::try_from(value.clone())
            .map_err(|_| invalid(format!("`%{}` needs a number", self.kind)))?;
        let precision = self.precision.unwrap_or(6);
        let text = match self.kind.to_ascii_lowercase() {
            _ if !number.is_finite() => number.to_string().to_lowercase(),
            'f' => format!("{number:.precision$}"),
            'e' => exponential(number, precision),
            _ => general(number, precision.max(1)),
        };
        Ok(match self.kind.is_ascii_uppercase() {
            true => text.to_uppercase(),
            false => text,
        })
    }

    fn signed(&self, text: &str) -> String {
        match text.starts_with('-') {
            false if self.plus => format!("+{text}"),
            false if self.space => format!(" {text}"),
            _ => text.to_owned(),
        }
    }

    fn pad(&self, text: String) -> String {
        let missing = self.width.saturating_sub(text.chars().count());
        if missing == 0 {
            return text;
        }
        if self.left {
            return text + &" ".repeat(missing);
        }
        if self.zero && !matches!(self.kind, 's' | 'r' | 'a' | 'c') {
            let digits = text.trim_start_matches(['+', '-', ' ']);
            let (sign, digits) = text.split_at(text.len() - digits.len());
            return [sign, &"0".repeat(missing), digits].concat();
        }
        " ".repeat(missing) + &text
    }
}

/// What `%c` writes: one character, or the one with this number.
fn character(value: &Value) -> Result<String, Error> {
    let numbered = value.as_i64().filter(|_| value.is_integer());
    let numbered = numbered.and_then(|code| u32::try_from(code).ok());
    let character = match value.as_str() {
        Some(text) if text.chars().count() == 1 => text.chars().next(),
        _ => numbered.and_then(char::from_u32),
    };
    let character = character.ok_or_else(|| invalid("`%c` needs a character"))?;
    Ok(character.to_string())
}

fn number(text: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Option<usize>, Error> {
    let mut number = None;
    while let Some(digit) = text.peek().and_then(|c| c.to_digit(10)) {
        text.next();
        let larger = number.unwrap_or(0) * 10 + digit as usize;
        if larger > MAX_WIDTH {
            return Err(invalid("the width of a format is too large"));
        }
        number = Some(larger);
    }
    Ok(number)
}

/// `1.500000e+00`
fn exponential(number: f64, precision: usize) -> String {
    let text = format!("{number:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// The shorter of both forms, without zeros at the end.
fn general(number: f64, precision: usize) -> String {
    let rounded = format!("{number:.*e}", precision - 1);
    let exponent: i32 = rounded
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok())
        .unwrap_or(0);
    let without_zeros = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if exponent < -4 || exponent >= precision as i32 {
        let text = exponential(number, precision - 1);
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
        return format!("{}e{exponent}", without_zeros(digits));
    }
    let decimals = (precision as i32 - 1 - exponent).max(0) as usize;
    without_zeros(&format!("{number:.decimals$}"))
}
