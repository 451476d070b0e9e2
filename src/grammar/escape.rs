//! What stands in a string: signs are escaped in it.

use super::builder::{Builder, class};
use super::expr::{CharClass, Chars, Expr, Member, Members, Repeat, SchemaNode};

/// The signs that have to be escaped between quotes, each with its escape.
fn escapes(quote: &str) -> Vec<(char, String)> {
    let mut all = vec![
        ('\\', "\\\\".to_owned()),
        ('\n', "\\n".to_owned()),
        ('\r', "\\r".to_owned()),
        ('\t', "\\t".to_owned()),
    ];
    all.extend(
        quote
            .chars()
            .next()
            .map(|quote| (quote, format!("\\{quote}"))),
    );
    all
}

/// The same as it stands within a string. Rules that it refers to get a second form.
pub(super) fn within_string(p: &Builder, expr: &Expr, quote: &str) -> Expr {
    let again = |expr: &Expr| within_string(p, expr, quote);
    match expr {
        Expr::Rule(name) => p.second_form(name, &format!("{name}-in-string"), again),
        Expr::Literal(text) => {
            let escapes = escapes(quote);
            let written = text.chars().map(|c| {
                let escape = escapes.iter().find(|(sign, _)| *sign == c);
                escape.map_or_else(|| c.to_string(), |(_, escape)| escape.clone())
            });
            Expr::literal(written.collect::<String>())
        }
        Expr::Chars(chars) => {
            let escapes = escapes(quote);
            let signs = CharClass::of(escapes.iter().map(|(sign, _)| *sign));
            let unwritten = CharClass::ranges([('\0', '\x1f')]);
            let plain = chars.class.without(&signs).without(&unwritten);
            let mut all = Vec::new();
            if !plain.is_empty() {
                all.push(class(plain));
            }
            let written = escapes
                .iter()
                .filter(|(sign, _)| chars.class.contains(*sign));
            all.extend(written.map(|(_, escape)| Expr::literal(escape.as_str())));
            Expr::choice(all).repeat(chars.at_least, chars.at_most)
        }
        Expr::Sequence(all) => Expr::sequence(all.iter().map(again)),
        Expr::Choice(all) => Expr::choice(all.iter().map(again)),
        Expr::Repeat(repeat) => Expr::Repeat(Box::new(Repeat {
            item: again(&repeat.item),
            ..(**repeat).clone()
        })),
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
