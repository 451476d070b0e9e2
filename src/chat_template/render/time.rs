//! `strftime_now`

use jiff::civil::DateTime;
use jiff::fmt::strtime;
use minijinja::value::{Kwargs, Rest};
use minijinja::{Environment, Error, Value};

use super::arguments::Arguments;
use super::error::invalid;
use super::{IS_BARE, budget};

/// Adds the function that returns the current time, or the one that stands for it.
pub(super) fn add_to(environment: &mut Environment<'_>, now: Option<DateTime>) {
    environment.add_function("strftime_now", move |args: Rest<Value>, named: Kwargs| {
        let args = Arguments::of_filter(args, named);
        let format = args.string(0, "format")?;
        args.check(1)?;
        let format =
            format.ok_or_else(|| invalid("strftime_now takes the form of the time".to_owned()))?;
        let clock = || (!IS_BARE).then(|| jiff::Zoned::now().datetime());
        let Some(now) = now.or_else(clock) else {
            return Err(invalid(
                "strftime_now finds no clock here: give the time".to_owned(),
            ));
        };
        formatted(&format, now)
    });
}

/// `strftime` of the C library with the locale that Python begins with.
fn formatted(format: &str, now: DateTime) -> Result<String, Error> {
    let mut out = String::new();
    let mut rest = format;
    while let Some((before, directive)) = rest.split_once('%') {
        out.push_str(before);
        let length = directive_length(directive);
        let (directive, after) = directive.split_at(length);
        let piece = written(directive, now)?;
        budget::spend(piece.len())?;
        budget::limit(out.len() + piece.len())?;
        out.push_str(&piece);
        rest = after;
    }
    Ok(out + rest)
}

/// How long a directive is, without its percent sign: flags, a width, and a letter.
fn directive_length(text: &str) -> usize {
    let flags = text.trim_start_matches(['-', '_', '0', '^', '#']);
    let width = flags.trim_start_matches(|c: char| c.is_ascii_digit());
    // These ask for other forms of digits, which the plain locale has not.
    let modified = width.strip_prefix(['E', 'O']).unwrap_or(width);
    let letter = modified.chars().next().map_or(0, char::len_utf8);
    text.len() - modified.len() + letter
}

/// Widths beyond this are refused.
const MAX_WIDTH: usize = 1_000;

fn written(directive: &str, now: DateTime) -> Result<String, Error> {
    let Some(letter) = directive.chars().next_back() else {
        return Ok("%".to_owned());
    };
    let options: String = directive
        .chars()
        .filter(|c| *c != letter && !matches!(c, 'E' | 'O'))
        .collect();
    let width = options.trim_start_matches(['-', '_', '0', '^', '#']);
    if !width.is_empty() && width.parse().unwrap_or(usize::MAX) > MAX_WIDTH {
        return Err(invalid("the width in strftime_now is too large".to_owned()));
    }
    let format = match letter {
        'c' => "%a %b %e %H:%M:%S %Y".to_owned(),
        'x' => "%m/%d/%y".to_owned(),
        'X' => "%H:%M:%S".to_owned(),
        'r' => "%I:%M:%S %p".to_owned(),
        // A time that belongs to no zone.
        'Z' | 'z' => return Ok(String::new()),
        'a' | 'A' | 'b' | 'B' | 'h' | 'p' if options.starts_with('#') => {
            format!("%^{}", letter)
        }
        'a' | 'A' | 'b' | 'B' | 'C' | 'd' | 'D' | 'e' | 'f' | 'F' | 'g' | 'G' | 'h' | 'H' | 'I'
        | 'j' | 'k' | 'l' | 'm' | 'M' | 'n' | 'p' | 'P' | 'R' | 's' | 'S' | 't' | 'T' | 'u'
        | 'U' | 'V' | 'w' | 'W' | 'y' | 'Y' | '%' => format!("%{options}{letter}"),
        // What is no directive stays as it is.
        _ => return Ok(format!("%{directive}")),
    };
    strtime::format(&format, now)
        .map_err(|error| invalid(format!("strftime_now can't format the time: {error}")))
}
