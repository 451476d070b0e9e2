//! The nodes of a grammar.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::{Add, BitOr, BitOrAssign, Shl};

use indexmap::IndexMap;
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::notation::Notation;
use super::{automaton, remainder};
use crate::value::Value;

/// Of the ways of a choice, so many nodes of each are looked at before they are compared.
const LOOKED_AT: usize = 16;

/// What a text may be.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Expr {
    /// Nothing.
    Empty,
    /// Nothing, at the start of the text.
    Start,
    /// Nothing, at the end of the text.
    End,
    /// A text that is always the same.
    Literal(String),
    /// Characters of a class.
    Chars(Chars),
    /// White space, or none.
    Space,
    /// Any text in which none of these stands.
    Until(Vec<String>),
    /// All the rest.
    Rest,
    /// One after the other.
    Sequence(Vec<Expr>),
    /// The first of several that fits. If there are none, nothing fits.
    Choice(Vec<Expr>),
    /// Several of a kind.
    Repeat(Box<Repeat>),
    /// Any number of a kind, in which none of some others stands.
    Without(Box<Without>),
    /// Each of several at most once, in any order.
    Members(Box<Members>),
    /// Nothing, where this follows.
    Peek(Box<Expr>),
    /// Nothing, where this does not follow.
    Negate(Box<Expr>),
    /// What the rule of this name says.
    Rule(String),
    /// A value that a JSON Schema describes.
    Schema(Box<SchemaNode>),
    /// The same, as one piece: as long as it is not whole, no tag in it is there.
    Atomic(Box<Expr>),
    /// The same, with a name for what it finds.
    Tag(Tag, Box<Expr>),
}

/// Characters of a class, so many of them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Chars {
    /// The characters.
    pub class: CharClass,
    /// How many there are at least.
    pub at_least: u32,
    /// How many there are at most, if there is a limit.
    pub at_most: Option<u32>,
}

/// Several of a kind.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Repeat {
    /// What is repeated.
    pub item: Expr,
    /// How many there are at least.
    pub at_least: u32,
    /// How many there are at most, if there is a limit.
    pub at_most: Option<u32>,
}

/// Any number of a kind, in which none of some others stands: what a string of JSON holds, where markers of the format
/// can't stand as they are.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Without {
    /// What is repeated.
    pub item: Expr,
    /// What does not stand there: nodes of characters alone.
    pub others: Vec<Expr>,
    /// The same as the other nodes say it, by looking ahead.
    pub expr: Expr,
}

impl Without {
    /// Whether it is any text in which the others do not stand.
    pub(super) fn is_of_any(&self) -> bool {
        let any = CharClass::any();
        self.item == super::builder::class(any)
    }
}

/// Each of several at most once, in any order.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Members {
    /// Those that have a name.
    pub members: Vec<Member>,
    /// What may stand among them as often as it likes.
    pub others: Option<Expr>,
    /// What stands between two.
    pub separator: Expr,
}

/// One of several that come in any order.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Member {
    /// What it is called in faults.
    pub name: String,
    /// What it is.
    pub expr: Expr,
    /// Whether it must be there.
    pub is_required: bool,
}

/// A value that a JSON Schema describes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SchemaNode {
    /// What the schema is called.
    pub name: String,
    /// The schema, with all that its references point to.
    pub schema: Value,
    /// How the value is written.
    pub(crate) notation: Notation,
    /// The same as the other nodes say it.
    pub expr: Expr,
}

impl SchemaNode {
    /// Whether the value is written as JSON, so that the schema says it all.
    pub fn is_json(&self) -> bool {
        self.notation.is_json()
    }
}

/// What a piece of a text is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Tag {
    /// What the model thinks.
    Reasoning,
    /// What the model says.
    Content,
    /// A call.
    Tool,
    /// What begins a call.
    ToolOpen,
    /// What ends a call.
    ToolClose,
    /// The id of a call.
    ToolId,
    /// The name of the tool that is called.
    ToolName,
    /// All arguments of a call, as JSON.
    ToolArgs,
    /// An argument of a call.
    ToolArg,
    /// What begins an argument.
    ToolArgOpen,
    /// What ends an argument.
    ToolArgClose,
    /// The name of an argument.
    ToolArgName,
    /// The value of an argument, a text as it is.
    ToolArgString,
    /// The value of an argument as JSON.
    ToolArgJson,
    /// Anything else.
    Other(String),
}

impl Expr {
    /// A text that is always the same.
    pub fn literal(text: impl Into<String>) -> Expr {
        match text.into() {
            text if text.is_empty() => Expr::Empty,
            text => Expr::Literal(text),
        }
    }

    /// One after the other.
    ///
    /// ```
    /// use unjinja::grammar::Expr;
    ///
    /// // Neighbouring literals are one, and text takes the white space around it.
    /// let parts = [Expr::literal("a"), Expr::literal("b"), Expr::Space, Expr::Rest];
    /// assert_eq!(Expr::sequence(parts), Expr::Sequence(vec![Expr::literal("ab"), Expr::Rest]));
    /// ```
    pub fn sequence(parts: impl IntoIterator<Item = Expr>) -> Expr {
        let mut all = Vec::new();
        for part in parts {
            match part {
                Expr::Sequence(parts) => parts.into_iter().for_each(|part| append(&mut all, part)),
                part => append(&mut all, part),
            }
        }
        if all.iter().any(Expr::is_never) {
            return Expr::NEVER;
        }
        match <[Expr; 1]>::try_from(all) {
            Ok([only]) => only,
            Err(all) if all.is_empty() => Expr::Empty,
            Err(all) => Expr::Sequence(all),
        }
    }

    /// The first of several that fits.
    pub fn choice(all: impl IntoIterator<Item = Expr>) -> Expr {
        let mut flat: Vec<Expr> = Vec::new();
        // There may be many, as of the values of an enumeration or the properties of an object.
        let mut known: HashMap<u64, Vec<usize>> = HashMap::new();
        for one in all {
            let several = match one {
                Expr::Choice(several) => several,
                one => vec![one],
            };
            for one in several {
                // The same twice would be two ways for one text.
                let alike = known.entry(one.look(LOOKED_AT)).or_default();
                if alike.iter().all(|at| flat[*at] != one) {
                    alike.push(flat.len());
                    flat.push(one);
                }
            }
        }
        match <[Expr; 1]>::try_from(flat) {
            Ok([only]) => only,
            Err(flat) => Expr::Choice(flat),
        }
    }

    /// This, so many times.
    pub fn repeat(self, at_least: u32, at_most: Option<u32>) -> Expr {
        match self {
            _ if at_most.is_some_and(|most| most < at_least) => Expr::NEVER,
            _ if at_most == Some(0) => Expr::Empty,
            Expr::Empty => Expr::Empty,
            Expr::Chars(Chars {
                class,
                at_least: 1,
                at_most: Some(1),
            }) => Expr::Chars(Chars {
                class,
                at_least,
                at_most,
            }),
            item if at_least == 1 && at_most == Some(1) => item,
            // What never fits can still be left out.
            item if item.is_never() && at_least == 0 => Expr::Empty,
            item if item.is_never() => Expr::NEVER,
            item => Expr::Repeat(Box::new(Repeat {
                item,
                at_least,
                at_most,
            })),
        }
    }

    /// This as often as one likes, where none of these stands in it. What may be nothing is left out of them. This is to be
    /// one character, or a few that stand for one, such as an escape: what may begin amid it is not looked for.
    ///
    /// ```
    /// use unjinja::grammar::Grammar;
    ///
    /// let grammar = Grammar::build(|p| {
    ///     let sign = p.choice(["<".into(), "a".into(), "b".into()]);
    ///     sign.without(["<a"]) + p.end()
    /// });
    /// assert!(grammar.parse("ab<b").is_ok());
    /// assert!(grammar.parse("ab<a").is_err());
    /// ```
    pub fn without<E: Into<Expr>>(self, others: impl IntoIterator<Item = E>) -> Expr {
        let is_some = |other: &Expr| !remainder::is_nullable(other, &IndexMap::new());
        let others = others.into_iter().map(Into::into).filter(is_some);
        let others = match Expr::choice(others) {
            Expr::Choice(all) if all.is_empty() => return self.repeat(0, None),
            Expr::Choice(mut all) => {
                // In one order, so that nodes that say the same are the same.
                all.sort_by_cached_key(Expr::example);
                all
            }
            one => vec![one],
        };
        let none = Expr::Negate(Box::new(Expr::choice(others.iter().cloned())));
        // What can't begin one of the others needs no look ahead.
        let firsts = automaton::first_characters(&others);
        let ways = match &self {
            Expr::Choice(all) => all.as_slice(),
            one => std::slice::from_ref(one),
        };
        let free = ways.iter().filter_map(|way| match way {
            Expr::Chars(chars) if chars.at_least == 1 => Some(Expr::Chars(Chars {
                class: chars.class.without(&firsts),
                at_least: 1,
                at_most: None,
            })),
            _ => None,
        });
        let careful = Expr::sequence([none, self.clone()]);
        let all: Vec<Expr> = free.chain([careful]).collect();
        Expr::Without(Box::new(Without {
            expr: Expr::choice(all).repeat(0, None),
            item: self,
            others,
        }))
    }

    /// This or nothing.
    pub fn optional(self) -> Expr {
        self.repeat(0, Some(1))
    }

    /// This, with a name for what it finds.
    pub fn tagged(self, tag: Tag) -> Expr {
        // With a name around it, nobody would see that nothing fits.
        match self.is_never() {
            true => Expr::NEVER,
            false => Expr::Tag(tag, Box::new(self)),
        }
    }

    /// What no text is.
    pub(crate) const NEVER: Expr = Expr::Choice(Vec::new());

    pub(crate) fn is_never(&self) -> bool {
        matches!(self, Expr::Choice(all) if all.is_empty())
    }

    /// The same without what tells only how a text is taken apart.
    pub(crate) fn bare(&self) -> &Expr {
        match self {
            Expr::Tag(_, inner) | Expr::Atomic(inner) => inner.bare(),
            other => other,
        }
    }

    /// Whether it is a text that takes the white space around it, too.
    fn takes_space(&self) -> bool {
        match self.bare() {
            Expr::Schema(node) if !node.is_json() => node.expr.takes_space(),
            Expr::Rest => true,
            // A text that ends at `\n\n` leaves white space to its end.
            Expr::Until(all) => all.iter().all(|text| !text.trim().is_empty()),
            Expr::Without(one) => one.is_of_any() && !one.others.iter().any(Expr::may_be_white),
            _ => false,
        }
    }

    /// Whether it may be white space alone, of literals and characters.
    fn may_be_white(&self) -> bool {
        match self.bare() {
            Expr::Literal(text) => text.trim().is_empty(),
            Expr::Chars(chars) => " \t\r\n".chars().any(|c| chars.class.contains(c)),
            Expr::Sequence(all) => all.iter().all(Expr::may_be_white),
            _ => true,
        }
    }

    /// The same with each node changed, those within others first.
    pub(super) fn rewrite(&self, change: &mut impl FnMut(Expr) -> Expr) -> Expr {
        let rewritten = match self {
            Expr::Tag(tag, inner) => inner.rewrite(change).tagged(tag.clone()),
            Expr::Atomic(inner) => Expr::Atomic(Box::new(inner.rewrite(change))),
            Expr::Sequence(all) => Expr::sequence(all.iter().map(|one| one.rewrite(change))),
            Expr::Choice(all) => Expr::choice(all.iter().map(|one| one.rewrite(change))),
            Expr::Repeat(repeat) => {
                let item = repeat.item.rewrite(change);
                item.repeat(repeat.at_least, repeat.at_most)
            }
            Expr::Without(without) => {
                // Made anew, since its `expr` has to say the same of the new item.
                let item = without.item.rewrite(change);
                item.without(without.others.iter().cloned())
            }
            Expr::Members(all) => {
                let members = all.members.iter().map(|member| Member {
                    expr: member.expr.rewrite(change),
                    ..member.clone()
                });
                Expr::Members(Box::new(Members {
                    members: members.collect(),
                    others: all.others.as_ref().map(|others| others.rewrite(change)),
                    separator: all.separator.rewrite(change),
                }))
            }
            Expr::Schema(node) => Expr::Schema(Box::new(SchemaNode {
                expr: node.expr.rewrite(change),
                ..(**node).clone()
            })),
            Expr::Peek(inner) => Expr::Peek(Box::new(inner.rewrite(change))),
            Expr::Negate(inner) => Expr::Negate(Box::new(inner.rewrite(change))),
            leaf => leaf.clone(),
        };
        change(rewritten)
    }

    /// The same without tags, and without what tells a text's start and end, which other languages know
    /// themselves.
    pub(super) fn untagged(&self) -> Expr {
        self.rewrite(&mut |expr| match expr {
            Expr::Start | Expr::End => Expr::Empty,
            Expr::Tag(_, inner) => *inner,
            // No lexeme is empty, so nothing is no way by itself: `"a" | ""` becomes `"a"?`.
            Expr::Choice(all) if all.contains(&Expr::Empty) => {
                let some = all.into_iter().filter(|one| *one != Expr::Empty);
                Expr::choice(some).optional()
            }
            other => other,
        })
    }

    /// A text like those that it is, of literals and characters: for people, and to have an order.
    pub(super) fn example(&self) -> String {
        match self.bare() {
            Expr::Literal(text) => text.clone(),
            Expr::Chars(chars) => {
                let has = |text: &str| text.chars().all(|c| chars.class.contains(c));
                let first = chars.class.iter().next().map(|(first, _)| first);
                match chars.at_least {
                    0 => String::new(),
                    // The first character of a class is mostly a control, which tells a person nothing.
                    _ if chars.at_most.is_none() && has("name") => "name".to_owned(),
                    _ if has("}") => "}".to_owned(),
                    _ => first.into_iter().collect(),
                }
            }
            Expr::Sequence(all) => all.iter().map(Expr::example).collect(),
            Expr::Choice(all) => all.first().map(Expr::example).unwrap_or_default(),
            Expr::Repeat(repeat) if repeat.at_least > 0 => repeat.item.example(),
            _ => String::new(),
        }
    }

    /// The literal that it begins with, if it always begins with the same.
    pub(super) fn first_literal(&self) -> Option<String> {
        match self.bare() {
            Expr::Literal(text) => Some(text.clone()),
            Expr::Sequence(all) => all.first()?.first_literal(),
            _ => None,
        }
    }

    /// A number that is the same for nodes that are the same, and hardly ever for others that differ in so many of their nodes.
    pub(super) fn look(&self, at_most: usize) -> u64 {
        let mut hasher = DefaultHasher::new();
        let mut nodes = vec![self];
        // A node may be as large as the grammar, and its first nodes mostly tell it from others.
        for _ in 0..at_most {
            let Some(node) = nodes.pop() else { break };
            std::mem::discriminant(node).hash(&mut hasher);
            match node {
                Expr::Literal(text) | Expr::Rule(text) => text.hash(&mut hasher),
                Expr::Until(all) => all.hash(&mut hasher),
                Expr::Without(without) => without.others.len().hash(&mut hasher),
                Expr::Chars(chars) => {
                    let first = chars.class.iter().next();
                    (first, chars.at_least, chars.at_most).hash(&mut hasher);
                }
                Expr::Repeat(repeat) => (repeat.at_least, repeat.at_most).hash(&mut hasher),
                Expr::Tag(tag, _) => tag.hash(&mut hasher),
                _ => {}
            }
            let children = node.children();
            children.len().hash(&mut hasher);
            nodes.extend(children);
        }
        hasher.finish()
    }

    /// How many nodes it has.
    pub(super) fn size(&self) -> usize {
        let (mut nodes, mut size) = (vec![self], 0);
        while let Some(node) = nodes.pop() {
            size += 1;
            nodes.extend(node.children());
        }
        size
    }

    /// The nodes right below it.
    pub(crate) fn children(&self) -> Vec<&Expr> {
        match self {
            Expr::Sequence(all) | Expr::Choice(all) => all.iter().collect(),
            Expr::Repeat(repeat) => vec![&repeat.item],
            Expr::Without(without) => vec![&without.item],
            Expr::Members(members) => {
                let named = members.members.iter().map(|member| &member.expr);
                let rest = members.others.iter().chain([&members.separator]);
                named.chain(rest).collect()
            }
            Expr::Schema(node) => vec![&node.expr],
            Expr::Peek(inner) | Expr::Negate(inner) | Expr::Atomic(inner) | Expr::Tag(_, inner) => {
                vec![inner]
            }
            _ => Vec::new(),
        }
    }
}

fn append(all: &mut Vec<Expr>, part: Expr) {
    match (all.last_mut(), part) {
        (_, Expr::Empty) => {}
        (Some(Expr::Literal(before)), Expr::Literal(text)) => before.push_str(&text),
        (Some(Expr::Space), Expr::Space) => {}
        // A text up to `<end>` has white space in it, too. Written beside it, either of the two could take it.
        (Some(before), Expr::Space) if before.takes_space() => {}
        (Some(before @ Expr::Space), part) if part.takes_space() => *before = part,
        (_, part) => all.push(part),
    }
}

impl From<&str> for Expr {
    fn from(text: &str) -> Expr {
        Expr::literal(text)
    }
}

impl From<String> for Expr {
    fn from(text: String) -> Expr {
        Expr::literal(text)
    }
}

/// One after the other.
impl<E: Into<Expr>> Add<E> for Expr {
    type Output = Expr;

    fn add(self, other: E) -> Expr {
        Expr::sequence([self, other.into()])
    }
}

impl Add<Expr> for &str {
    type Output = Expr;

    fn add(self, other: Expr) -> Expr {
        Expr::sequence([self.into(), other])
    }
}

/// One after the other, with white space between them.
impl<E: Into<Expr>> Shl<E> for Expr {
    type Output = Expr;

    fn shl(self, other: E) -> Expr {
        Expr::sequence([self, Expr::Space, other.into()])
    }
}

impl Shl<Expr> for &str {
    type Output = Expr;

    fn shl(self, other: Expr) -> Expr {
        Expr::sequence([self.into(), Expr::Space, other])
    }
}

/// One or the other.
impl<E: Into<Expr>> BitOr<E> for Expr {
    type Output = Expr;

    fn bitor(self, other: E) -> Expr {
        Expr::choice([self, other.into()])
    }
}

impl<E: Into<Expr>> BitOrAssign<E> for Expr {
    fn bitor_assign(&mut self, other: E) {
        *self = std::mem::replace(self, Expr::Empty) | other;
    }
}

/// A set of characters.
///
/// ```
/// use unjinja::grammar::CharClass;
///
/// let class: CharClass = "[a-f0-9]".parse()?;
/// assert!(class.contains('c') && !class.contains('x'));
/// assert!((!class).contains('x'));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CharClass(ClassUnicode);

impl CharClass {
    /// All characters.
    pub fn any() -> CharClass {
        !CharClass(ClassUnicode::empty())
    }

    /// These characters.
    pub fn of(chars: impl IntoIterator<Item = char>) -> CharClass {
        let ranges = chars.into_iter().map(|c| ClassUnicodeRange::new(c, c));
        CharClass(ClassUnicode::new(ranges))
    }

    pub(crate) fn ranges(ranges: impl IntoIterator<Item = (char, char)>) -> CharClass {
        let ranges = ranges.into_iter();
        let ranges = ranges.map(|(from, to)| ClassUnicodeRange::new(from, to));
        CharClass(ClassUnicode::new(ranges))
    }

    pub(crate) fn from_regex(class: ClassUnicode) -> CharClass {
        CharClass(class)
    }

    /// Those that are not in another class.
    pub fn without(&self, other: &CharClass) -> CharClass {
        let mut class = self.0.clone();
        class.difference(&other.0);
        CharClass(class)
    }

    /// Those that are in another class, too.
    pub(crate) fn or(&self, other: &CharClass) -> CharClass {
        let mut class = self.0.clone();
        class.union(&other.0);
        CharClass(class)
    }

    /// Those that are in both.
    pub fn and(&self, other: &CharClass) -> CharClass {
        let mut class = self.0.clone();
        class.intersect(&other.0);
        CharClass(class)
    }

    /// Whether a character is among them.
    pub fn contains(&self, c: char) -> bool {
        let ranges = self.0.ranges();
        let found = ranges.binary_search_by(|range| match () {
            () if range.end() < c => std::cmp::Ordering::Less,
            () if range.start() > c => std::cmp::Ordering::Greater,
            () => std::cmp::Ordering::Equal,
        });
        found.is_ok()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.ranges().is_empty()
    }

    /// The first and the last character of each range, in order.
    pub fn iter(&self) -> impl Iterator<Item = (char, char)> + '_ {
        self.0
            .ranges()
            .iter()
            .map(|range| (range.start(), range.end()))
    }
}

impl std::ops::Not for CharClass {
    type Output = CharClass;

    fn not(self) -> CharClass {
        let mut class = self.0;
        class.negate();
        CharClass(class)
    }
}

/// A text that is no class of characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAClass(String);

impl fmt::Display for NotAClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.0;
        write!(
            f,
            "`{text}` is not a class of characters: write it as `[a-z]`"
        )
    }
}

impl std::error::Error for NotAClass {}

/// A class as in a regular expression, such as `[a-zA-Z0-9_]` or `[^<]`.
impl std::str::FromStr for CharClass {
    type Err = NotAClass;

    fn from_str(text: &str) -> Result<CharClass, NotAClass> {
        use regex_syntax::hir::{Class, HirKind};
        let fault = || NotAClass(text.to_owned());
        let hir = regex_syntax::Parser::new()
            .parse(text)
            .map_err(|_| fault())?;
        match hir.into_kind() {
            HirKind::Class(Class::Unicode(class)) => Ok(CharClass(class)),
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).map_err(|_| fault())?;
                let mut chars = text.chars();
                match (chars.next(), chars.next()) {
                    (Some(c), None) => Ok(CharClass::of([c])),
                    _ => Err(fault()),
                }
            }
            _ => Err(fault()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until(text: &str) -> Expr {
        Expr::Until(vec![text.to_owned()])
    }

    fn chars(class: &str) -> Expr {
        let class = class.parse().expect("it is a class");
        Expr::Chars(Chars {
            class,
            at_least: 1,
            at_most: Some(1),
        })
    }

    #[test]
    fn neighbours_that_are_one_become_one() {
        for (parts, expected) in [
            (
                vec!["a".into(), Expr::Empty, "b".into()],
                Expr::literal("ab"),
            ),
            (vec![Expr::Space, Expr::Space], Expr::Space),
            // Either of the two could take the white space.
            (vec![Expr::Space, until("<a>"), Expr::Space], until("<a>")),
            (vec![Expr::Space, Expr::Rest], Expr::Rest),
            (
                vec![until("\n\n"), Expr::Space],
                Expr::Sequence(vec![until("\n\n"), Expr::Space]),
            ),
            (vec!["a".into(), Expr::NEVER], Expr::NEVER),
            (vec![], Expr::Empty),
        ] {
            let shown = format!("{parts:?}");
            assert_eq!(Expr::sequence(parts), expected, "{shown}");
        }
        let inner = Expr::sequence(["b".into(), Expr::Space]);
        let expected = Expr::Sequence(vec!["ab".into(), Expr::Space]);
        assert_eq!(Expr::sequence(["a".into(), inner]), expected);
    }

    #[test]
    fn the_same_is_one_way() {
        let choice = |all: &[&str]| Expr::choice(all.iter().map(|text| Expr::from(*text)));
        for (found, expected) in [
            (
                choice(&["a", "b", "a"]),
                Expr::Choice(vec!["a".into(), "b".into()]),
            ),
            (choice(&["a", "a"]), Expr::literal("a")),
            (choice(&[]), Expr::NEVER),
            (
                Expr::choice([choice(&["a", "b"]), choice(&["b", "c"])]),
                Expr::Choice(vec!["a".into(), "b".into(), "c".into()]),
            ),
        ] {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn repeats_are_as_plain_as_can_be() {
        let letters = |at_least, at_most| match chars("[ab]") {
            Expr::Chars(one) => Expr::Chars(Chars {
                at_least,
                at_most,
                ..one
            }),
            other => other,
        };
        for (found, expected) in [
            (chars("[ab]").repeat(2, None), letters(2, None)),
            (Expr::literal("a").repeat(1, Some(1)), Expr::literal("a")),
            (Expr::literal("a").repeat(0, Some(0)), Expr::Empty),
            (Expr::literal("a").repeat(3, Some(2)), Expr::NEVER),
            (Expr::Empty.repeat(0, None), Expr::Empty),
            // What never fits can still be left out.
            (Expr::NEVER.optional(), Expr::Empty),
            (Expr::NEVER.repeat(1, None), Expr::NEVER),
            (Expr::NEVER.tagged(Tag::Content), Expr::NEVER),
        ] {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn other_languages_know_start_and_end_themselves() {
        let tagged = Expr::literal("b").tagged(Tag::Content);
        let all = Expr::Sequence(vec![Expr::Start, "a".into(), tagged, Expr::End]);
        assert_eq!(all.untagged(), Expr::literal("ab"));
        let optional = Expr::choice(["a".into(), Expr::Empty]);
        assert_eq!(optional.untagged(), Expr::literal("a").optional());
    }

    #[test]
    fn an_example_tells_people_what_a_node_is() {
        for (expr, example, first) in [
            (Expr::literal("<a>"), "<a>", Some("<a>")),
            (Expr::from("a").tagged(Tag::Content), "a", Some("a")),
            (
                Expr::sequence(["<".into(), chars("[a-z]").repeat(1, None)]),
                "<name",
                Some("<"),
            ),
            (chars("[^a]"), "}", None),
            (chars("[b-d]"), "b", None),
            (chars("[b-d]").repeat(0, None), "", None),
            (Expr::choice(["a".into(), "b".into()]), "a", None),
            (
                Expr::sequence(["a".into(), Expr::Space]).repeat(2, None),
                "a",
                None,
            ),
            (Expr::Space, "", None),
        ] {
            assert_eq!(expr.example(), example, "{expr:?}");
            assert_eq!(expr.first_literal().as_deref(), first, "{expr:?}");
        }
    }

    #[test]
    fn nodes_that_look_alike_are_mostly_the_same() {
        let row = |text: &str| Expr::sequence([text.into(), Expr::Space, "b".into()]);
        assert_eq!(row("a").look(9), row("a").look(9));
        assert_ne!(row("a").look(9), row("c").look(9));
        // So far, they are the same.
        assert_eq!(row("a").look(1), row("c").look(1));
        assert_eq!(row("a").size(), 4);
    }

    #[test]
    fn classes_are_sets() {
        let class = |text: &str| text.parse::<CharClass>();
        let letters = class("[a-f]").expect("it is a class");
        let some = class("[d-z0]").expect("it is a class");
        for (c, without, and, or, not) in [
            ('a', true, false, true, false),
            ('d', false, true, true, false),
            ('0', false, false, true, true),
            ('!', false, false, false, true),
        ] {
            assert_eq!(letters.without(&some).contains(c), without, "{c}");
            assert_eq!(letters.and(&some).contains(c), and, "{c}");
            assert_eq!(letters.or(&some).contains(c), or, "{c}");
            assert_eq!((!letters.clone()).contains(c), not, "{c}");
        }
        assert_eq!(class("[x]"), Ok(CharClass::of(['x'])));
        for text in ["ab", "[a-", "a+", ""] {
            assert!(class(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_may_be_nothing_is_left_out_of_what_does_not_stand_in_a_text() {
        let any = || chars("[^\\x00]");
        let Expr::Without(one) = any().without(["b", "", "a"]) else {
            panic!("there are others");
        };
        assert_eq!(one.others, ["a".into(), "b".into()]);
        assert_eq!(any().without([""]), any().repeat(0, None));
    }
}
