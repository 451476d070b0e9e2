//! Keys that are not declared: any but those that are.

use std::collections::BTreeMap;

use super::automaton;
use super::builder::{character, class};
use super::expr::{CharClass, Expr};
use super::notation::Notation;

/// A key of an object other than these, as it is written.
pub(super) fn in_object(notation: &Notation, declared: &[String]) -> Expr {
    if notation.bare_keys {
        return bare(&bare_key(), declared);
    }
    let outside = &notation.outside;
    let ways = notation.strings.iter().map(|quotes| {
        let (first, rest) = match quotes.escapes {
            true => (plain(&quotes.close), character(quotes)),
            false => {
                let sign = quotes.close.chars().next();
                let all = CharClass::any().without(&CharClass::of(sign));
                (all.clone(), class(all))
            }
        };
        // Nor does what ends or begins another part of the turn stand in a key.
        let first = first.without(&automaton::first_characters(outside));
        let rest = rest.without(outside.iter().cloned());
        // What can't be written can't be met, either.
        let declared = declared.iter().filter_map(|key| {
            let written = Notation::quoted(key, quotes)?;
            let written = written.strip_prefix(&quotes.open)?;
            Some(written.strip_suffix(&quotes.close)?.to_owned())
        });
        let declared: Vec<String> = declared.collect();
        let close = Expr::from(quotes.close.as_str());
        let keys = Keys {
            begins: &first,
            first: &first,
            rest: &rest,
            close: &close,
        };
        let declared = declared.iter().map(String::as_str).collect();
        Expr::sequence([quotes.open.as_str().into(), keys.other(declared, 0)])
    });
    Expr::Atomic(Box::new(Expr::choice(ways)))
}

/// A key without quotes, of these characters, other than these.
fn bare(all: &CharClass, declared: &[String]) -> Expr {
    let rest = class(all.clone()).repeat(0, Some(MAX_BARE - 1));
    without_quotes(all, all, &rest, declared)
}

/// A key without quotes that is a name, which begins with no digit, or of several with a dot or a dash between them; other
/// than these.
pub(super) fn named(declared: &[String]) -> Expr {
    let (begins, all) = (
        // The parser for calls of Python reads no key that begins with a digit.
        bare_key().without(&CharClass::ranges([('0', '9')])),
        bare_key(),
    );
    let sign = class(CharClass::of(['.', '-'])).repeat(0, Some(1));
    let rest = Expr::sequence([sign, class(all.clone())]).repeat(0, Some(MAX_BARE / 2));
    without_quotes(&begins, &all, &rest, declared)
}

fn without_quotes(begins: &CharClass, first: &CharClass, rest: &Expr, declared: &[String]) -> Expr {
    let keys = Keys {
        begins,
        first,
        rest,
        close: &Expr::Empty,
    };
    // No key is nothing at all.
    let declared = declared.iter().map(String::as_str).chain([""]).collect();
    Expr::Atomic(Box::new(keys.other(declared, 0)))
}

/// What a key without quotes may consist of, so that it is found.
pub(super) fn bare_key() -> CharClass {
    CharClass::ranges([('0', '9'), ('a', 'z'), ('A', 'Z'), ('_', '_')])
}

/// The characters that stand in a string as they are.
fn plain(close: &str) -> CharClass {
    let unwritten = CharClass::ranges([('\0', '\x1f')]);
    let signs = CharClass::of(close.chars().take(1).chain(['\\']));
    CharClass::any().without(&unwritten).without(&signs)
}

/// Keys without quotes are so long.
const MAX_BARE: u32 = 128;

/// Keys are compared so far. What begins like a longer one is not enforced for another key.
pub(super) const MAX_COMPARED: usize = 64;

struct Keys<'k> {
    /// What a key may begin with.
    begins: &'k CharClass,
    /// What a key may go on with where it differs. It is not escaped, since that may be another way to
    /// write the same.
    first: &'k CharClass,
    /// What may stand behind that.
    rest: &'k Expr,
    close: &'k Expr,
}

impl Keys<'_> {
    /// A text other than these, of which so many characters have come.
    fn other(&self, declared: Vec<&str>, come: usize) -> Expr {
        if come == MAX_COMPARED {
            return Expr::NEVER;
        }
        let may_end = !declared.contains(&"");
        let mut next: BTreeMap<char, Vec<&str>> = BTreeMap::new();
        for key in declared {
            let mut chars = key.chars();
            if let Some(first) = chars.next() {
                next.entry(first).or_default().push(chars.as_str());
            }
        }
        let first = if come == 0 { self.begins } else { self.first };
        let differs = first.without(&CharClass::of(next.keys().copied()));
        let mut ways = Vec::new();
        if !differs.is_empty() {
            let (rest, close) = (self.rest.clone(), self.close.clone());
            ways.push(Expr::sequence([class(differs), rest, close]));
        }
        for (first, rest) in next {
            let rest = self.other(rest, come + 1);
            ways.push(Expr::sequence([Expr::literal(first), rest]));
        }
        if may_end {
            ways.push(self.close.clone());
        }
        Expr::choice(ways.into_iter().filter(|way| !way.is_never()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::takes;
    use super::*;
    use crate::format::Dialect;

    fn declared() -> Vec<String> {
        ["at", "at2", "b\"c"].map(str::to_owned).to_vec()
    }

    #[test]
    fn a_key_in_quotes_is_any_but_those_that_are_declared() {
        let key = in_object(&Notation::json(), &declared());
        for (text, is_other) in [
            (r#""at""#, false),
            (r#""at2""#, false),
            (r#""b\"c""#, false),
            (r#""a""#, true),
            (r#""at3""#, true),
            (r#""at22""#, true),
            (r#""b\"d""#, true),
            (r#""""#, true),
            (r#""水 \n""#, true),
            // It is another way to write a key that is declared.
            (r#""\u0061t""#, false),
            ("at3", false),
            (r#""a"b""#, false),
        ] {
            assert_eq!(takes(&key, text), is_other, "{text}");
        }
    }

    #[test]
    fn nothing_stands_in_a_key_that_ends_a_part_of_the_turn() {
        let outside: Arc<[Expr]> = Arc::new(["<end>".into()]);
        let key = in_object(&Notation::json().without(outside), &declared());
        for (text, is_other) in [
            (r#""x<en""#, true),
            (r#""x<end>""#, false),
            // Where a key differs from those that are declared, no such text can be said to begin.
            (r#""<x""#, false),
        ] {
            assert_eq!(takes(&key, text), is_other, "{text}");
        }
    }

    #[test]
    fn a_key_without_quotes_is_a_word() {
        let dialect = Dialect {
            unquoted_keys: true,
            ..Dialect::default()
        };
        let bare = in_object(&Notation::of(&dialect), &declared());
        let named = named(&declared());
        for (text, is_bare, is_named) in [
            ("at", false, false),
            ("a", true, true),
            ("at3", true, true),
            ("to", true, true),
            ("", false, false),
            ("due date", false, false),
            // The parser for calls of Python reads no such key.
            ("9a", true, false),
            ("x-at", false, true),
            ("x.at", false, true),
            ("x--at", false, false),
            ("x-", false, false),
        ] {
            assert_eq!(takes(&bare, text), is_bare, "{text}");
            assert_eq!(takes(&named, text), is_named, "{text}");
        }
    }
}
