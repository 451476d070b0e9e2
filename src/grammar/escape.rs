//! What stands in a string: signs are escaped in it.

use super::builder::{Builder, class};
use super::expr::{CharClass, Chars, Expr, Member, Members, Repeat, SchemaNode};

/// The signs that can't stand between quotes as they are.
fn signs(quote: &str) -> impl Iterator<Item = char> {
    ['\\', '\n', '\r', '\t']
        .into_iter()
        .chain(quote.chars().next())
}

/// How a sign is escaped between quotes. In other quotes than JSON's, nothing is: response templates take a
/// text between them as it stands there.
fn escaped(sign: char, quote: &str) -> Option<String> {
    let letter = match sign {
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        sign => sign,
    };
    (quote == "\"").then(|| format!("\\{letter}"))
}

/// A text as it stands between quotes, if it can.
pub(super) fn text_within(text: &str, quote: &str) -> Option<String> {
    let mut out = String::new();
    for c in text.chars() {
        match signs(quote).any(|sign| sign == c) {
            true => out += &escaped(c, quote)?,
            false => out.push(c),
        }
    }
    Some(out)
}

/// The same as it stands within a string. Rules that it refers to get a second form.
pub(super) fn within_string(p: &Builder, expr: &Expr, quote: &str) -> Expr {
    let again = |expr: &Expr| within_string(p, expr, quote);
    match expr {
        Expr::Rule(name) => p.second_form(name, &format!("{name}-in-string"), again),
        Expr::Literal(text) => text_within(text, quote).map_or(Expr::NEVER, Expr::literal),
        Expr::Chars(chars) => {
            let unwritten = CharClass::ranges([('\0', '\x1f')]);
            let plain = chars.class.without(&CharClass::of(signs(quote)));
            let plain = plain.without(&unwritten);
            let mut all = Vec::new();
            if !plain.is_empty() {
                all.push(class(plain));
            }
            let written = signs(quote).filter(|sign| chars.class.contains(*sign));
            let written = written.filter_map(|sign| escaped(sign, quote));
            all.extend(written.map(Expr::literal));
            Expr::choice(all).repeat(chars.at_least, chars.at_most)
        }
        Expr::Sequence(all) => Expr::sequence(all.iter().map(again)),
        Expr::Choice(all) => Expr::choice(all.iter().map(again)),
        Expr::Repeat(repeat) => Expr::Repeat(Box::new(Repeat {
            item: again(&repeat.item),
            ..(**repeat).clone()
        })),
        // It is what is written that may not hold them.
        Expr::Without(without) => again(&without.item).without(without.others.iter().cloned()),
        Expr::Members(members) => {
            let all = members.members.iter().map(|member| Member {
                expr: again(&member.expr),
                ..member.clone()
            });
            Expr::Members(Box::new(Members {
                members: all.collect(),
                others: members.others.as_ref().map(again),
                separator: again(&members.separator),
            }))
        }
        Expr::Schema(node) => Expr::Schema(Box::new(SchemaNode {
            expr: again(&node.expr),
            notation: node.notation.escaped(quote),
            ..(**node).clone()
        })),
        Expr::Atomic(inner) => Expr::Atomic(Box::new(again(inner))),
        Expr::Tag(tag, inner) => again(inner).tagged(tag.clone()),
        Expr::Peek(inner) => Expr::Peek(Box::new(again(inner))),
        Expr::Negate(inner) => Expr::Negate(Box::new(again(inner))),
        // White space between the parts of JSON in a string is written without line breaks.
        Expr::Space => Expr::Chars(Chars {
            class: CharClass::of([' ']),
            at_least: 0,
            at_most: Some(1),
        }),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Grammar, takes};
    use super::*;

    #[test]
    fn signs_are_escaped_between_quotes_of_json_and_impossible_in_others() {
        for (text, in_json, in_others) in [
            ("Brest", Some("Brest"), Some("Brest")),
            ("say \"so\"", Some(r#"say \"so\""#), Some("say \"so\"")),
            ("it's", Some("it's"), None),
            ("a\nb\tc\r", Some(r"a\nb\tc\r"), None),
            (r"C:\new", Some(r"C:\\new"), None),
            ("水", Some("水"), Some("水")),
        ] {
            assert_eq!(text_within(text, "\"").as_deref(), in_json, "{text}");
            assert_eq!(text_within(text, "'").as_deref(), in_others, "{text}");
        }
    }

    #[test]
    fn what_stands_in_a_string_is_written_otherwise() {
        let digits: Expr = "12".into();
        let quoted = Expr::sequence(["{\"a\":".into(), Expr::Space, digits, "}".into()]);
        let line = class(CharClass::of(['\n', 'a'])).repeat(1, Some(2));
        let control = class(CharClass::of(['\u{1}', 'b']));
        for (expr, quote, fits, fails) in [
            (&quoted, "\"", r#"{\"a\":12}"#, r#"{"a":12}"#),
            // Between the parts, there is a blank at most.
            (&quoted, "\"", r#"{\"a\": 12}"#, "{\\\"a\\\":\n12}"),
            (&quoted, "'", r#"{"a": 12}"#, r#"{\"a\": 12}"#),
            (&line, "\"", r"a\n", "a\n"),
            (&line, "'", "a", r"\n"),
            // A control character has no escape here.
            (&control, "\"", "b", "\u{1}"),
        ] {
            let mut within = Expr::Empty;
            Grammar::build(|p| {
                within = within_string(p, expr, quote);
                Expr::Empty
            });
            assert!(takes(&within, fits), "{fits}");
            assert!(!takes(&within, fails), "{fails}");
        }
    }

    #[test]
    fn a_rule_gets_a_second_form_in_strings() {
        let grammar = Grammar::build(|p| {
            let rule = p.rule("quote", "\"");
            let within = within_string(p, &rule, "\"");
            within_string(p, &rule, "\"") + rule + within
        });
        assert!(grammar.parse(r#"\""\""#).is_ok());
        assert_eq!(grammar.rules.len(), 2);
    }
}
