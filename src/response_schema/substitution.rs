//! Substitutions: what is written in place of matches, as Python's `re.sub` has it.

use std::ops::{ControlFlow, Range};

use crate::response::pattern::{Match, Pattern, TooCostly};

use super::budget::{Budget, Exhausted};

/// A pattern, and what is written in place of its matches.
#[derive(Debug)]
pub(super) struct Substitution {
    pub(super) pattern: Pattern,
    pub(super) replacement: Vec<Piece>,
}

/// A piece of what is written.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    /// What a group has matched, counted from 1; 0 is all of the match.
    Group(usize),
}

impl Substitution {
    /// The text with all matches replaced.
    pub(super) fn apply(&self, text: &str, budget: &mut Budget) -> Result<String, Fault> {
        let mut out = String::new();
        let mut copied = 0;
        let mut fault = None;
        let mut meter = budget.meter.clone();
        let searched = self
            .pattern
            .for_each_match_within(text, &mut meter, |found| {
                let written = self.written(text, &found, &mut out, copied, budget);
                copied = found.end;
                match written {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(exhausted) => {
                        fault = Some(exhausted);
                        ControlFlow::Break(())
                    }
                }
            });
        budget.meter = meter;
        searched.map_err(|TooCostly| Fault::TooCostly)?;
        if let Some(Exhausted) = fault {
            return Err(Fault::TooLarge);
        }
        let rest = &text[copied..];
        budget
            .make(rest.len())
            .map_err(|Exhausted| Fault::TooLarge)?;
        out.push_str(rest);
        Ok(out)
    }

    /// Writes the text from `copied` on to a match, and what stands in place of the match.
    fn written(
        &self,
        text: &str,
        found: &Match<'_>,
        out: &mut String,
        copied: usize,
        budget: &mut Budget,
    ) -> Result<(), Exhausted> {
        budget.make(found.start - copied)?;
        out.push_str(&text[copied..found.start]);
        for piece in &self.replacement {
            let piece = match piece {
                Piece::Text(text) => text,
                Piece::Group(group) => &text[self.group(found, *group)],
            };
            budget.make(piece.len())?;
            out.push_str(piece);
        }
        Ok(())
    }

    /// Where a group lies; a group that took no part is empty.
    fn group(&self, found: &Match<'_>, group: usize) -> Range<usize> {
        match group.checked_sub(1) {
            None => found.start..found.end,
            Some(index) => found.group(index).unwrap_or_default(),
        }
    }
}

/// Why a substitution could not be done.
pub(super) enum Fault {
    TooCostly,
    TooLarge,
}

/// Reads what is to be written, for a pattern with these groups. The error says what is wrong.
pub(super) fn replacement(written: &str, groups: &[String]) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = written;
    while let Some((before, after)) = rest.split_once('\\') {
        literal.push_str(before);
        let escape = escape(after)?;
        rest = escape.rest;
        let group = match escape.meaning {
            Meaning::Text(text) => {
                literal.push_str(&text);
                continue;
            }
            Meaning::Group(number) => number,
            Meaning::NamedGroup(name) => {
                let index = groups.iter().position(|group| *group == name);
                index.map(|index| index + 1).ok_or_else(|| {
                    format!("`\\g<{name}>` names a group that the pattern does not have")
                })?
            }
        };
        if group > groups.len() {
            let count = groups.len();
            return Err(format!(
                "it refers to group {group}, and the pattern has {count}"
            ));
        }
        if !literal.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut literal)));
        }
        pieces.push(Piece::Group(group));
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        pieces.push(Piece::Text(literal));
    }
    Ok(pieces)
}

struct Escape<'w> {
    meaning: Meaning,
    /// What follows it.
    rest: &'w str,
}

enum Meaning {
    Text(String),
    Group(usize),
    NamedGroup(String),
}

/// What an escape means, given what follows its backslash.
fn escape(after: &str) -> Result<Escape<'_>, String> {
    let mut chars = after.chars();
    let c = chars
        .next()
        .ok_or("it ends with a backslash: write `\\\\`")?;
    let rest = chars.as_str();
    let text = |text: String| Meaning::Text(text);
    if let Some(plain) = control(c) {
        return Ok(Escape {
            meaning: text(plain.into()),
            rest,
        });
    }
    match c {
        'g' => named(rest),
        '0' => {
            let digits = octal_digits(rest, 2);
            let meaning = text(octal(digits)?.into());
            let rest = &rest[digits.len()..];
            Ok(Escape { meaning, rest })
        }
        '1'..='9' => numbered(after),
        c if c.is_ascii_alphabetic() => Err(format!("it has the unknown escape `\\{c}`")),
        // The backslash stays.
        c => Ok(Escape {
            meaning: text(format!("\\{c}")),
            rest,
        }),
    }
}

fn control(c: char) -> Option<char> {
    Some(match c {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\\' => '\\',
        _ => return None,
    })
}

/// `<name>` or `<1>`, after `\g`.
fn named(after: &str) -> Result<Escape<'_>, String> {
    let inner = after
        .strip_prefix('<')
        .and_then(|name| name.split_once('>'));
    let (name, rest) = inner.ok_or("`\\g` is not followed by `<…>`, the name of a group")?;
    let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    let meaning = match is_number {
        true => Meaning::Group(name.parse().unwrap_or(usize::MAX)),
        false if name.is_empty() => return Err("`\\g<>` names no group".into()),
        false => Meaning::NamedGroup(name.to_owned()),
    };
    Ok(Escape { meaning, rest })
}

/// `\1`, `\12`, or a character by its three octal digits, as `\101`.
fn numbered(after: &str) -> Result<Escape<'_>, String> {
    let octal_number = octal_digits(after, 3);
    if octal_number.len() == 3 {
        return Ok(Escape {
            meaning: Meaning::Text(octal(octal_number)?.into()),
            rest: &after[3..],
        });
    }
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let length = after.bytes().take(2).take_while(is_digit).count();
    let (number, rest) = after.split_at(length);
    Ok(Escape {
        meaning: Meaning::Group(number.parse().unwrap_or(usize::MAX)),
        rest,
    })
}

fn octal_digits(text: &str, most: usize) -> &str {
    let is_octal = |byte: &u8| (b'0'..=b'7').contains(byte);
    &text[..text.bytes().take(most).take_while(is_octal).count()]
}

fn octal(digits: &str) -> Result<char, String> {
    let code = u32::from_str_radix(digits, 8).unwrap_or(0);
    match code <= 0o377 {
        true => Ok(char::from_u32(code).unwrap_or_default()),
        false => Err(format!("`\\{digits}` is above `\\377`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacements_are_read_as_python_reads_them() {
        let groups = ["".to_owned(), "name".to_owned()];
        let shown = |written: &str| match replacement(written, &groups) {
            Err(error) => format!("! {error}"),
            Ok(pieces) => pieces
                .iter()
                .map(|piece| match piece {
                    Piece::Text(text) => format!("{text:?}"),
                    Piece::Group(group) => group.to_string(),
                })
                .collect::<Vec<_>>()
                .join(" "),
        };
        for (written, expected) in [
            ("", ""),
            ("plain", "\"plain\""),
            (r"a\1b", "\"a\" 1 \"b\""),
            (r"\2\1", "2 1"),
            (r"\g<name>\g<0>\g<1>", "2 0 1"),
            (r"\n\t\\", "\"\\n\\t\\\\\""),
            (r"\b", "\"\\u{8}\""),
            (r"\0\01\012\0123", "\"\\0\\u{1}\\n\\n3\""),
            (r"\101\1011", "\"AA1\""),
            (r"\.\-\é", r#""\\.\\-\\é""#),
            (r"\3", "! it refers to group 3, and the pattern has 2"),
            (r"\18", "! it refers to group 18, and the pattern has 2"),
            (r"\777", r"! `\777` is above `\377`"),
            (r"\q", r"! it has the unknown escape `\q`"),
            (
                r"\g",
                r"! `\g` is not followed by `<…>`, the name of a group",
            ),
            (
                r"\g<1",
                r"! `\g` is not followed by `<…>`, the name of a group",
            ),
            (r"\g<>", r"! `\g<>` names no group"),
            (
                r"\g<x>",
                r"! `\g<x>` names a group that the pattern does not have",
            ),
            ("a\\", r"! it ends with a backslash: write `\\`"),
        ] {
            assert_eq!(shown(written), expected, "{written:?}");
        }
    }
}
