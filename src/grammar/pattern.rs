//! Regular expressions of JSON Schemas as nodes.

use regex_syntax::hir::{Class, Hir, HirKind, Look};

use super::builder::class;
use super::expr::{CharClass, Expr};

/// So often may a pattern repeat something: engines write each repeat out.
const MAX_REPEAT: u32 = 1000;

/// So deep may a pattern nest, and so long may it be.
const MAX_NESTING: u32 = 100;
const MAX_LENGTH: usize = 4_000;

/// So many ranges of characters may it have when each repeat is written out.
const MAX_RANGES: usize = 20_000;

/// The pattern of the strings of a format, if it is one that a pattern describes.
pub(super) fn of_format(format: &str) -> Option<&'static str> {
    Some(match format {
        "date" => r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$",
        "time" => {
            r"^([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
        }
        "date-time" => {
            r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
        }
        "uuid" => r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
        "ipv4" => {
            r"^((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])$"
        }
        "email" => r"^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)+$",
        _ => return None,
    })
}

/// The texts in which a pattern is found, or why a grammar can't hold them.
pub(super) fn expr(regex: &str) -> Result<Expr, String> {
    if regex.len() > MAX_LENGTH {
        return Err(format!("it is longer than {MAX_LENGTH} bytes"));
    }
    let mut parser = regex_syntax::ParserBuilder::new()
        .nest_limit(MAX_NESTING)
        .build();
    let hir = parser.parse(regex).map_err(|error| match error {
        regex_syntax::Error::Parse(error) => error.kind().to_string(),
        error => error.to_string(),
    })?;
    if ranges_of(&hir) > MAX_RANGES {
        return Err(format!(
            "it has more than {MAX_RANGES} characters when what it repeats is written out"
        ));
    }
    let parts = match hir.kind() {
        HirKind::Concat(parts) => parts.clone(),
        _ => vec![hir],
    };
    let is_look =
        |hir: Option<&Hir>, look| hir.is_some_and(|hir| *hir.kind() == HirKind::Look(look));
    let (starts, ends) = (
        is_look(parts.first(), Look::Start),
        is_look(parts.last(), Look::End),
    );
    let middle = &parts[usize::from(starts)..parts.len() - usize::from(ends)];
    let free = || class(CharClass::any()).repeat(0, None);
    let mut all = Vec::new();
    // Without `^`, JSON Schema finds a pattern anywhere in a text.
    if !starts {
        all.push(free());
    }
    for part in middle {
        all.push(node(part)?);
    }
    if !ends {
        all.push(free());
    }
    Ok(Expr::sequence(all))
}

/// The number of ranges of characters in a pattern when each repeat is written out.
fn ranges_of(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(Class::Unicode(set)) => set.ranges().len(),
        HirKind::Capture(capture) => ranges_of(&capture.sub),
        HirKind::Concat(all) | HirKind::Alternation(all) => all
            .iter()
            .fold(0, |sum, one| ranges_of(one).saturating_add(sum)),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1);
            ranges_of(&repetition.sub).saturating_mul(times as usize)
        }
        _ => 1,
    }
}

/// The number of ranges of characters in the nodes of a pattern.
pub(super) fn size(pattern: &Expr) -> usize {
    let (mut nodes, mut size) = (vec![pattern], 0);
    while let Some(node) = nodes.pop() {
        size += match node {
            Expr::Chars(chars) => chars.class.iter().count(),
            _ => 1,
        };
        nodes.extend(node.children());
    }
    size
}

/// Whether a text of a pattern may have a text of another node in it, as far as their characters tell.
pub(super) fn may_hold(pattern: &Expr, other: &Expr) -> bool {
    match other {
        Expr::Literal(text) => text.chars().all(|c| may_have(pattern, &CharClass::of([c]))),
        Expr::Chars(chars) => chars.at_least == 0 || may_have(pattern, &chars.class),
        Expr::Sequence(all) => all.iter().all(|part| may_hold(pattern, part)),
        // What is not looked into counts as held.
        _ => true,
    }
}

fn may_have(pattern: &Expr, class: &CharClass) -> bool {
    match pattern {
        Expr::Literal(text) => text.chars().any(|c| class.contains(c)),
        Expr::Chars(chars) => !chars.class.and(class).is_empty(),
        other => other
            .children()
            .into_iter()
            .any(|inner| may_have(inner, class)),
    }
}

fn node(hir: &Hir) -> Result<Expr, String> {
    Ok(match hir.kind() {
        HirKind::Empty => Expr::Empty,
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).map_err(|_| "it matches bytes")?;
            Expr::literal(text)
        }
        HirKind::Class(Class::Unicode(set)) => class(CharClass::from_regex(set.clone())),
        HirKind::Class(Class::Bytes(_)) => return Err("it matches bytes".to_owned()),
        HirKind::Look(_) => return Err("it looks around in its middle".to_owned()),
        HirKind::Capture(capture) => node(&capture.sub)?,
        HirKind::Concat(all) => {
            Expr::sequence(all.iter().map(node).collect::<Result<Vec<_>, _>>()?)
        }
        HirKind::Alternation(all) => {
            Expr::choice(all.iter().map(node).collect::<Result<Vec<_>, _>>()?)
        }
        HirKind::Repetition(repetition) => {
            let (least, most) = (repetition.min, repetition.max);
            if least.max(most.unwrap_or(0)) > MAX_REPEAT {
                return Err(format!("it repeats something more than {MAX_REPEAT} times"));
            }
            match most {
                Some(0) => Expr::Empty,
                most => node(&repetition.sub)?.repeat(least, most),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::regex::of_regular;
    use super::super::takes;
    use super::*;

    #[test]
    fn a_pattern_is_found_anywhere_unless_it_says_where() {
        for (regex, expected) in [
            ("^a$", "a"),
            ("a", r"[\s\S]*a[\s\S]*"),
            ("^a", r"a[\s\S]*"),
            ("a$", r"[\s\S]*a"),
            ("^$", ""),
            ("^(a|bc)$", "(?:a|bc)"),
            ("^[0-9]{2,3}$", "[0-9]{2,3}"),
            ("^(ab)?$", "(?:ab)?"),
            ("^a{0}b$", "b"),
        ] {
            let found = expr(regex).map(|expr| of_regular(&expr));
            assert_eq!(found, Ok(Some(expected.to_owned())), "{regex}");
        }
    }

    #[test]
    fn what_a_grammar_does_not_hold_is_refused_with_a_reason() {
        for (regex, reason) in [
            (r"^a\b", "it looks around in its middle"),
            ("^(a^b)$", "it looks around in its middle"),
            ("a{1001}", "it repeats something more than 1000 times"),
            (
                "a(?=b)",
                "look-around, including look-ahead and look-behind, is not supported",
            ),
            ("(a", "unclosed group"),
        ] {
            assert_eq!(expr(regex).err().as_deref(), Some(reason), "{regex}");
        }
    }

    #[test]
    fn formats_have_patterns() {
        for (format, fits, fails) in [
            ("date", "2024-02-29", "2024-13-01"),
            ("time", "23:59:60Z", "24:00:00Z"),
            ("time", "09:30:00.5+02:00", "09:30"),
            ("date-time", "2024-02-29T09:30:00Z", "2024-02-29 09:30:00Z"),
            (
                "uuid",
                "0f8fad5b-d9cb-469f-a165-70867728950e",
                "0f8fad5bd9cb469fa16570867728950e",
            ),
            ("ipv4", "192.168.0.255", "192.168.0.256"),
            ("email", "keeper@harbour.example", "keeper@harbour"),
        ] {
            let pattern = expr(of_format(format).expect(format)).expect(format);
            assert!(takes(&pattern, fits), "{fits}");
            assert!(!takes(&pattern, fails), "{fails}");
        }
        assert_eq!(of_format("hostname"), None);
    }

    #[test]
    fn characters_tell_what_a_text_may_hold() {
        let one = |text: &str| expr(text).expect(text);
        for (pattern, other, may) in [
            ("^[a-z]+$", "^ab$", true),
            ("^[a-z]+$", "^a1$", false),
            ("^[a-z]+$", "^a[0-9]*$", true),
            ("^[a-z]+$", "^a[0-9]$", false),
            ("^x(<|y)z$", "^<z$", true),
            // What is not looked into counts as held.
            ("^[a-z]+$", "^(12|345)$", true),
        ] {
            assert_eq!(
                may_hold(&one(pattern), &one(other)),
                may,
                "{pattern} {other}"
            );
        }
    }
}
