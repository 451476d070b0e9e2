//! What a node begins with, up to the first delimiter of a text.
//!
//! A lexer takes the longest lexeme that may stand at a place. Beside a text, that is the text, unless what else
//! may stand there is one lexeme up to what no text has in it.

use std::cmp::Reverse;

use indexmap::IndexMap;

use super::Rule;
use super::expr::Expr;
use super::gbnf::MAX_SPACE;
use super::regex;

/// Rules within rules are followed so deep, and a beginning has so many parts.
const MAX_DEPTH: usize = 48;

/// So many nodes are looked at for the beginnings of one.
const MAX_STEPS: usize = 20_000;

/// A beginning of a node.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Beginning {
    /// The expression for its fixed part.
    pub(super) regex: String,
    /// The text behind that part, if there is one.
    pub(super) text: Option<TextBehind>,
    /// Whether it is more than white space and what it ends in.
    pub(super) has_words: bool,
    /// What may follow.
    pub(super) after: Expr,
}

/// A text that a beginning ends in.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TextBehind {
    pub(super) delimiters: Vec<String>,
    /// The delimiter that ends it; none at the end of all.
    pub(super) end: Option<String>,
}

/// All beginnings of a node up to one of these texts, and with a text behind a fixed part up to what ends that,
/// with how many nodes were looked at. `None` if one of them is not known so far.
pub(super) fn beginnings(
    expr: &Expr,
    delimiters: &[String],
    rules: &IndexMap<String, Rule>,
) -> (Option<Vec<Beginning>>, usize) {
    let mut finder = Finder {
        rules,
        delimiters,
        steps: MAX_STEPS,
        found: Vec::new(),
    };
    let is_known = finder.from(expr, &Begun::default(), 0).is_some();
    let nodes = MAX_STEPS - finder.steps;
    (is_known.then_some(finder.found), nodes)
}

/// What has come of a beginning.
#[derive(Debug, Clone, Default)]
struct Begun {
    regex: String,
    /// The text since the last white space that may vary.
    tail: String,
    has_words: bool,
}

/// What a node begins with.
enum Head<'e> {
    Nothing,
    Literal(&'e str),
    Space,
    Until(&'e [String]),
}

struct Finder<'r> {
    rules: &'r IndexMap<String, Rule>,
    delimiters: &'r [String],
    steps: usize,
    found: Vec<Beginning>,
}

impl<'r> Finder<'r> {
    fn from(&mut self, expr: &Expr, begun: &Begun, depth: usize) -> Option<()> {
        let mut heads = Vec::new();
        self.heads(expr, depth, &mut heads)?;
        for (head, rest) in heads {
            match head {
                Head::Nothing if begun.regex.is_empty() => {}
                // What is over before a delimiter comes would be the shorter lexeme, and the text beside it be taken.
                Head::Nothing => return None,
                Head::Space => {
                    let mut begun = begun.clone();
                    begun.regex += &format!("[ \\t\\r\\n]{{0,{MAX_SPACE}}}");
                    begun.tail.clear();
                    self.from(&rest, &begun, depth + 1)?;
                }
                Head::Literal(text) => self.literal(text, rest, begun, depth)?,
                Head::Until(delimiters) if begun.has_words => {
                    self.text(delimiters, &rest, begun);
                }
                // Where both are texts, nothing tells a lexer which it is.
                Head::Until(_) => return None,
            }
        }
        Some(())
    }

    fn literal(&mut self, text: &str, rest: Expr, begun: &Begun, depth: usize) -> Option<()> {
        let tail = format!("{}{text}", begun.tail);
        let ends = self.delimiters.iter().filter_map(|delimiter| {
            let at = tail.find(delimiter.as_str())?;
            let end = (at + delimiter.len()).checked_sub(begun.tail.len())?;
            (end > 0).then_some((end, Reverse(delimiter.len())))
        });
        // Of two that end at the same place, the longer one has begun before the other.
        if let Some((end, Reverse(length))) = ends.min() {
            let (own, behind) = text.split_at(end);
            self.found.push(Beginning {
                regex: format!("{}{}", begun.regex, regex::escape(own)),
                text: None,
                has_words: begun.has_words || end + begun.tail.len() > length,
                after: Expr::sequence([behind.into(), rest]),
            });
            return Some(());
        }
        let begun = Begun {
            regex: format!("{}{}", begun.regex, regex::escape(text)),
            tail,
            has_words: true,
        };
        self.from(&rest, &begun, depth + 1)
    }

    fn text(&mut self, delimiters: &[String], rest: &Expr, begun: &Begun) {
        let mut add = |end: Option<&String>, after: Expr| {
            self.found.push(Beginning {
                regex: begun.regex.clone(),
                text: Some(TextBehind {
                    delimiters: delimiters.to_vec(),
                    end: end.cloned(),
                }),
                has_words: true,
                after,
            });
        };
        if super::remainder::is_nullable(rest, self.rules) {
            add(None, Expr::Empty);
        }
        for delimiter in delimiters {
            let after = super::remainder::behind(rest, delimiter, self.rules);
            if !after.is_never() {
                add(Some(delimiter), after);
            }
        }
    }

    /// What a node begins with, each with what follows. `None` if it is something else.
    fn heads<'e>(
        &mut self,
        expr: &'e Expr,
        depth: usize,
        out: &mut Vec<(Head<'e>, Expr)>,
    ) -> Option<()>
    where
        'r: 'e,
    {
        self.steps = self.steps.checked_sub(1)?;
        if depth > MAX_DEPTH {
            return None;
        }
        match expr {
            Expr::Empty | Expr::Start | Expr::End | Expr::Peek(_) | Expr::Negate(_) => {
                out.push((Head::Nothing, Expr::Empty));
            }
            Expr::Literal(text) if text.is_empty() => out.push((Head::Nothing, Expr::Empty)),
            Expr::Literal(text) => out.push((Head::Literal(text), Expr::Empty)),
            Expr::Space => out.push((Head::Space, Expr::Empty)),
            Expr::Until(delimiters) => out.push((Head::Until(delimiters), Expr::Empty)),
            Expr::Sequence(parts) => self.row(parts, depth, out)?,
            Expr::Choice(all) => {
                for one in all {
                    self.heads(one, depth + 1, out)?;
                }
            }
            Expr::Repeat(repeat) => {
                if repeat.at_least == 0 {
                    out.push((Head::Nothing, Expr::Empty));
                }
                if repeat.at_most == Some(0) {
                    return Some(());
                }
                let again = repeat.item.clone().repeat(
                    repeat.at_least.saturating_sub(1),
                    repeat.at_most.map(|most| most - 1),
                );
                let mut own = Vec::new();
                self.heads(&repeat.item, depth + 1, &mut own)?;
                for (head, rest) in own {
                    out.push((head, Expr::sequence([rest, again.clone()])));
                }
            }
            Expr::Rule(name) => self.heads(&self.rules.get(name)?.expr, depth + 1, out)?,
            Expr::Tag(_, inner) | Expr::Atomic(inner) => self.heads(inner, depth + 1, out)?,
            Expr::Schema(node) if !node.is_json() => self.heads(&node.expr, depth + 1, out)?,
            _ => return None,
        }
        Some(())
    }

    /// The same for a sequence.
    fn row<'e>(
        &mut self,
        parts: &'e [Expr],
        depth: usize,
        out: &mut Vec<(Head<'e>, Expr)>,
    ) -> Option<()>
    where
        'r: 'e,
    {
        let Some((first, others)) = parts.split_first() else {
            out.push((Head::Nothing, Expr::Empty));
            return Some(());
        };
        let mut own = Vec::new();
        self.heads(first, depth + 1, &mut own)?;
        for (head, rest) in own {
            match head {
                Head::Nothing => self.row(others, depth + 1, out)?,
                head => {
                    self.steps = self.steps.checked_sub(others.len())?;
                    let parts = [rest].into_iter().chain(others.iter().cloned());
                    out.push((head, Expr::sequence(parts)));
                }
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Builder, Grammar};
    use super::*;

    /// The beginnings of a node up to these delimiters: the expression of each, with what ends a text behind it.
    fn of(make: fn(&Builder) -> Expr, delimiters: &[&str]) -> Option<Vec<String>> {
        let grammar = Grammar::build(make);
        let delimiters: Vec<String> = delimiters.iter().map(|text| (*text).to_owned()).collect();
        let (found, _) = beginnings(&grammar.root, &delimiters, &grammar.rules);
        let found = found?.into_iter().map(|one| {
            let text = one
                .text
                .map(|text| format!(" text {}", text.end.unwrap_or_default()));
            let words = if one.has_words { "" } else { " alone" };
            format!("{}{}{words}", one.regex, text.unwrap_or_default())
        });
        Some(found.collect())
    }

    #[test]
    fn a_beginning_goes_up_to_the_first_delimiter() {
        for (make, delimiters, expected) in [
            (
                (|p: &Builder| p.literal("<a>b")) as fn(&Builder) -> Expr,
                &["<a>"][..],
                Some(vec!["<a> alone"]),
            ),
            (|p| p.literal("So: <a>b"), &["<a>"], Some(vec!["So: <a>"])),
            (
                |p| p.literal("x<a>") | p.literal("y<b>"),
                &["<a>", "<b>"],
                Some(vec!["x<a>", "y<b>"]),
            ),
            (
                |p| p.space() + "<a>",
                &["<a>"],
                Some(vec![r"[ \t\r\n]{0,20}<a> alone"]),
            ),
            // What is over before a delimiter comes would be the shorter lexeme.
            (|p| p.literal("So"), &["<a>"], None),
            (
                |p| p.optional("So") + "<a>",
                &["<a>"],
                Some(vec!["<a> alone", "So<a>"]),
            ),
            // Where both are texts, nothing tells a lexer which it is.
            (|p| p.until("<a>") + "<a>", &["<a>"], None),
            (
                |p| p.literal("So") + p.until("<b>") + "<b>",
                &["<a>"],
                Some(vec!["So text <b>"]),
            ),
            // Of two that end at the same place, the longer one has begun before the other.
            (
                |p| p.literal("<<a>"),
                &["<a>", "<<a>"],
                Some(vec!["<<a> alone"]),
            ),
            (
                |p| p.rule("a", (p.literal("x") + p.rule_ref("a")) | "<a>"),
                &["<a>"],
                None,
            ),
            (|p| p.any() + "<a>", &["<a>"], None),
        ] {
            let expected: Option<Vec<String>> =
                expected.map(|all| all.into_iter().map(str::to_owned).collect());
            assert_eq!(of(make, delimiters), expected, "{delimiters:?}");
        }
    }
}
