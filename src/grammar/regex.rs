//! Grammars as regular expressions.

use super::expr::{CharClass, Expr};
use super::limits::{Origin, Place};
use super::members::{self, AddRule};
use super::{Grammar, Written};

/// Longer expressions help nobody.
const MAX_LENGTH: usize = 1 << 20;

/// Rules that stand in one another deeper than this would make a longer one, and there is only so much room to go down.
const MAX_DEPTH: usize = 200;

/// Why a grammar is no regular expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotRegular {
    /// A rule contains itself.
    #[error(
        "{}the rule `{rule}` contains itself, which no regular expression can hold: declare what stands in \
         objects and lists, or take another language", at(.place)
    )]
    Recursive {
        /// Its name.
        rule: String,
        /// The schema that holds it, if one does.
        place: Option<Place>,
    },
    /// The expression would be very long: what is said once in a grammar stands there as often as it is meant.
    #[error(
        "{}the regular expression is longer than {MAX_LENGTH} bytes: take another language", at(.place)
    )]
    TooLong {
        /// The schema of which it is so first, if it is of one.
        place: Option<Place>,
    },
    /// Rules stand in one another very deep, as of many properties that need not be there.
    #[error(
        "{}rules stand in one another deeper than {MAX_DEPTH}: take another language", at(.place)
    )]
    TooDeep {
        /// The schema of which it is so, if it is of one.
        place: Option<Place>,
    },
}

impl NotRegular {
    /// The same with the schema in which it was found first.
    fn found_in(mut self, origin: &Origin) -> NotRegular {
        let (NotRegular::Recursive { place, .. }
        | NotRegular::TooLong { place }
        | NotRegular::TooDeep { place }) = &mut self;
        place.get_or_insert_with(|| origin.place());
        self
    }
}

fn at(place: &Option<Place>) -> String {
    let place = place.as_ref();
    place.map(|place| format!("{place}: ")).unwrap_or_default()
}

impl Grammar {
    /// The grammar as one regular expression, for the whole text. Its syntax is what regular expressions
    /// have in common.
    ///
    /// ```
    /// use unjinja::grammar::Grammar;
    ///
    /// let grammar = Grammar::build(|p| p.literal("a+") + p.optional("b"));
    /// assert_eq!(grammar.to_regex()?.text, r"a\+(?:b)?");
    /// # Ok::<(), unjinja::grammar::NotRegular>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a rule contains itself, as that of any JSON value does, or the expression would be very long.
    pub fn to_regex(&self) -> Result<Written, NotRegular> {
        let mut writer = Regex {
            grammar: self,
            made: Vec::new(),
            within: Vec::new(),
            warnings: self.warnings.clone(),
            length: 0,
        };
        let text = writer.expr(&self.root)?;
        Ok(Written {
            text,
            warnings: writer.warnings,
        })
    }
}

struct Regex<'g> {
    grammar: &'g Grammar,
    /// Rules that were made on the way.
    made: Vec<Expr>,
    /// The rules around a node.
    within: Vec<String>,
    warnings: Vec<String>,
    length: usize,
}

/// What rules are called that were made on the way: no other begins so.
const MADE: &str = "\0";

impl AddRule for Regex<'_> {
    fn add(&mut self, _: &str, expr: Expr) -> Expr {
        self.made.push(expr);
        Expr::Rule(format!("{MADE}{}", self.made.len() - 1))
    }

    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

impl Regex<'_> {
    fn expr(&mut self, expr: &Expr) -> Result<String, NotRegular> {
        let text = match expr {
            Expr::Empty | Expr::Start | Expr::End => String::new(),
            Expr::Literal(text) => escape(text),
            Expr::Chars(chars) => class(&chars.class) + &count(chars.at_least, chars.at_most),
            Expr::Space => format!("[ \\t\\r\\n]{{0,{}}}", super::gbnf::MAX_SPACE),
            Expr::Until(delimiters) => {
                // Without looking ahead it would take an automaton written out.
                let all = delimiters.iter().map(|text| escape(text));
                format!("(?:(?!{})[\\s\\S])*", all.collect::<Vec<_>>().join("|"))
            }
            Expr::Rest => "[\\s\\S]*".to_owned(),
            Expr::Without(without) => self.expr(&without.expr)?,
            Expr::Sequence(all) => {
                let mut text = String::new();
                for part in all {
                    let part_text = self.expr(part)?;
                    match part {
                        Expr::Choice(_) => text.push_str(&format!("(?:{part_text})")),
                        _ => text.push_str(&part_text),
                    }
                }
                text
            }
            Expr::Choice(all) => {
                let all: Result<Vec<String>, _> = all.iter().map(|one| self.expr(one)).collect();
                format!("(?:{})", all?.join("|"))
            }
            Expr::Repeat(repeat) => {
                let item = self.expr(&repeat.item)?;
                format!("(?:{item}){}", count(repeat.at_least, repeat.at_most))
            }
            Expr::Members(all) => {
                let lowered = members::lowered(all, "members", self);
                self.expr(&lowered)?
            }
            Expr::Peek(inner) => format!("(?={})", self.expr(inner)?),
            Expr::Negate(inner) => format!("(?!{})", self.expr(inner)?),
            Expr::Rule(name) => self.rule(name)?,
            Expr::Schema(node) => self.expr(&node.expr)?,
            Expr::Atomic(inner) | Expr::Tag(_, inner) => self.expr(inner)?,
        };
        // What is written counts, however often it is taken apart and put together again.
        self.length = self.length.saturating_add(text.len());
        match text.len() > MAX_LENGTH || self.length > 64 * MAX_LENGTH {
            true => Err(NotRegular::TooLong { place: None }),
            false => Ok(text),
        }
    }

    fn rule(&mut self, name: &str) -> Result<String, NotRegular> {
        if self.within.iter().any(|outer| outer == name) {
            return Err(NotRegular::Recursive {
                rule: name.to_owned(),
                place: None,
            });
        }
        if self.within.len() == MAX_DEPTH {
            return Err(NotRegular::TooDeep { place: None });
        }
        let made = name
            .strip_prefix(MADE)
            .and_then(|at| at.parse::<usize>().ok());
        let (expr, origin) = match made {
            Some(at) => (self.made.get(at).cloned(), None),
            None => {
                let rule = self.grammar.rules.get(name);
                (
                    rule.map(|rule| rule.expr.clone()),
                    rule.and_then(|rule| rule.origin.as_ref()),
                )
            }
        };
        self.within.push(name.to_owned());
        let text = self.expr(&expr.unwrap_or(Expr::Empty));
        self.within.pop();
        match (text, origin) {
            (Ok(text), _) => Ok(format!("(?:{text})")),
            (Err(error), Some(origin)) => Err(error.found_in(origin)),
            (Err(error), None) => Err(error),
        }
    }
}

/// How often something comes.
pub(super) fn count(at_least: u32, at_most: Option<u32>) -> String {
    match (at_least, at_most) {
        (1, Some(1)) => String::new(),
        (0, Some(1)) => "?".to_owned(),
        (0, None) => "*".to_owned(),
        (1, None) => "+".to_owned(),
        (least, None) => format!("{{{least},}}"),
        (least, Some(most)) if least == most => format!("{{{least}}}"),
        (least, Some(most)) => format!("{{{least},{most}}}"),
    }
}

/// The expression of a node that consists of literals and characters alone, but for what does not stand in it.
pub(super) fn of_regular(expr: &Expr) -> Option<String> {
    Some(match expr {
        Expr::Empty => String::new(),
        Expr::Literal(text) => escape(text),
        Expr::Space => "[ \\t\\r\\n]*".to_owned(),
        Expr::Chars(chars) => class(&chars.class) + &count(chars.at_least, chars.at_most),
        Expr::Sequence(all) => {
            let all: Option<Vec<String>> = all.iter().map(of_regular).collect();
            all?.concat()
        }
        Expr::Choice(all) => {
            let all: Option<Vec<String>> = all.iter().map(of_regular).collect();
            format!("(?:{})", all?.join("|"))
        }
        Expr::Repeat(repeat) => {
            let item = of_regular(&repeat.item)?;
            format!("(?:{item}){}", count(repeat.at_least, repeat.at_most))
        }
        // What does not stand in it is held beside the expression.
        Expr::Without(without) => format!("(?:{})*", of_regular(&without.item)?),
        Expr::Atomic(inner) | Expr::Tag(_, inner) => of_regular(inner)?,
        _ => return None,
    })
}

/// A text as a regular expression that matches it, and nothing else.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::new();
    text.chars().for_each(|c| in_class(&mut out, c));
    out
}

/// A class in brackets. Characters beyond ASCII stand as they are.
pub(super) fn class(class: &CharClass) -> String {
    let negated = !class.clone();
    let (sign, class) = match class.contains(char::MAX) {
        true => ("^", &negated),
        false => ("", class),
    };
    if class.is_empty() {
        return "[\\s\\S]".to_owned();
    }
    let mut out = format!("[{sign}");
    ranges(&mut out, class.iter(), in_class);
    out.push(']');
    out
}

/// The ranges of a class as they stand in brackets, with each character as a language writes it there.
pub(super) fn ranges(
    out: &mut String,
    ranges: impl Iterator<Item = (char, char)>,
    in_class: fn(&mut String, char),
) {
    for (from, to) in ranges {
        in_class(out, from);
        if from != to {
            out.push('-');
            in_class(out, to);
        }
    }
}

fn in_class(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        // Of other signs, some engines take an escape for something else.
        c if r"\.+*?()|[]{}^$#&-~".contains(c) => out.extend(['\\', c]),
        c if c.is_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
        c => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_as_short_as_can_be() {
        for (least, most, expected) in [
            (1, Some(1), ""),
            (0, Some(1), "?"),
            (0, None, "*"),
            (1, None, "+"),
            (2, None, "{2,}"),
            (2, Some(2), "{2}"),
            (0, Some(3), "{0,3}"),
            (0, Some(0), "{0}"),
        ] {
            assert_eq!(count(least, most), expected);
        }
    }

    #[test]
    fn texts_and_classes_mean_the_same_to_all_engines() {
        for (text, expected) in [
            ("a+b", r"a\+b"),
            ("<a>/\"", "<a>/\""),
            ("a\n\t\u{1}水", r"a\n\t\x01水"),
            ("--&&~~", r"\-\-\&\&\~\~"),
        ] {
            assert_eq!(escape(text), expected, "{text:?}");
        }
        for (found, expected) in [
            (CharClass::any(), r"[\s\S]"),
            (CharClass::of("abcx".chars()), "[a-cx]"),
            (!CharClass::of(['<', ']']), r"[^<\]]"),
            (CharClass::ranges([('a', 'a'), ('水', '水')]), "[a水]"),
        ] {
            assert_eq!(class(&found), expected);
        }
    }

    #[test]
    fn only_literals_and_characters_are_regular_by_themselves() {
        let row = || {
            Expr::sequence([
                "a".into(),
                Expr::Space,
                Expr::choice(["b".into(), "c".into()]),
            ])
        };
        for (expr, expected) in [
            (row(), Some(r"a[ \t\r\n]*(?:b|c)")),
            (
                row().repeat(0, Some(2)),
                Some(r"(?:a[ \t\r\n]*(?:b|c)){0,2}"),
            ),
            // What does not stand in it is held elsewhere.
            (Expr::literal("ab").without(["a"]), Some("(?:ab)*")),
            (Expr::Until(vec!["a".into()]), None),
            (Expr::sequence(["a".into(), Expr::Rule("b".into())]), None),
        ] {
            assert_eq!(of_regular(&expr).as_deref(), expected, "{expr:?}");
        }
    }

    #[test]
    fn rules_are_put_in_unless_they_contain_themselves() {
        let written = |make: fn(&super::super::Builder) -> Expr| {
            Grammar::build(make).to_regex().map(|written| written.text)
        };
        for (found, expected) in [
            (
                written(|p| p.literal("a") + p.rule("b", p.literal("b") | "c")),
                Ok("a(?:(?:b|c))".to_owned()),
            ),
            (
                written(|p| p.peek("a") + p.negate("b") + p.until("c")),
                Ok(r"(?=a)(?!b)(?:(?!c)[\s\S])*".to_owned()),
            ),
            (
                written(|p| p.rule("a", p.literal("a") + p.optional(p.rule_ref("a")))),
                Err(NotRegular::Recursive {
                    place: None,
                    rule: "a".to_owned(),
                }),
            ),
            (
                written(|p| {
                    let mut expr = p.literal("a".repeat(1000));
                    for _ in 0..12 {
                        expr = p.rule("twice", p.sequence([expr.clone(), Expr::Space, expr]));
                    }
                    expr
                }),
                Err(NotRegular::TooLong { place: None }),
            ),
        ] {
            assert_eq!(found, expected);
        }
    }
}
