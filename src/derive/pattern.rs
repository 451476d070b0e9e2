//! Regular expressions as values, and the one place where they become texts.
//!
//! Engines of many languages read response templates. A [`Pattern`] is made of what all of them read alike, and of nothing else: there is
//! no `$`, which is the end of a line to some, no `\b`, and no way to write an expression by hand. Where brackets have to stand is
//! the matter of what makes a pattern: each is written in one way, so equal expressions are equal patterns.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter, Write};
use std::mem;
use std::ops::Add;
use std::rc::Rc;
use std::slice;

use crate::markers::lexicon::unmarked;
use crate::markers::{closing_bracket, is_slot};
use crate::value::Value;

/// A regular expression.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Pattern(Node);

// What a pattern is made of is shared: drafts are tried by the hundred, with the same patterns in them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
enum Node {
    #[default]
    Nothing,
    /// A text as it stands.
    Text(String),
    /// Characters of a set, one after the other.
    Chars(Set, Times),
    /// The start of the turn.
    Start,
    /// The end of the turn.
    End,
    /// One behind the other.
    Row(Rc<Vec<Pattern>>),
    /// One of several, the first that matches. Within a row and where it is repeated, it stands in a group.
    Choice(Rc<Vec<Pattern>>),
    Group(Group, Rc<Pattern>),
    /// A single sign, or a group.
    Repeated(Rc<Pattern>, Times),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Group {
    Plain,
    Named(&'static str),
    /// A look around, as it begins.
    Look(&'static str),
}

const AHEAD: Group = Group::Look("?=");
const NOT_AHEAD: Group = Group::Look("?!");
const BEHIND: Group = Group::Look("?<=");
const NOT_BEHIND: Group = Group::Look("?<!");

/// How often something stands there, as it is written behind it.
type Times = &'static str;

const ONCE: Times = "";
const MAYBE: Times = "?";
const SOME: Times = "+";
const MANY: Times = "*";
const FEW: Times = "*?";

/// The characters that are one of these, or none of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Set {
    is_negated: bool,
    members: Cow<'static, [Member]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Member {
    Sign(char),
    /// All of a kind, as it is written.
    Kind(&'static str),
}

/// White space, if there is any.
pub(super) const SPACE: Pattern = chars(&[Member::Kind("\\s")], MANY);
/// White space that has to be there.
pub(super) const SOME_SPACE: Pattern = chars(&[Member::Kind("\\s")], SOME);
/// A character within a line, or any where an engine is told so.
pub(super) const ANY: Pattern = chars(&[Member::Kind(".")], ONCE);
/// As much as is needed, be it nothing.
pub(super) const ANYTHING: Pattern = chars(&[Member::Kind(".")], FEW);
/// A character, whatever an engine is told.
pub(super) const ANY_OR_LINE_BREAK: Pattern =
    chars(&[Member::Kind("\\s"), Member::Kind("\\S")], ONCE);
/// A capital letter.
pub(super) const CAPITAL: Pattern = chars(&[Member::Kind("A-Z")], ONCE);
pub(super) const WORD: Pattern = chars(&[Member::Kind("\\w")], SOME);
pub(super) const NUMBER: Pattern = chars(&[Member::Kind("\\d")], SOME);
/// The start of the turn.
pub(super) const START: Pattern = Pattern(Node::Start);
/// The end of the turn.
pub(super) const END: Pattern = Pattern(Node::End);
/// What matches everywhere.
pub(super) const NOTHING: Pattern = Pattern(Node::Nothing);

const fn chars(members: &'static [Member], times: Times) -> Pattern {
    let set = Set {
        is_negated: false,
        members: Cow::Borrowed(members),
    };
    Pattern(Node::Chars(set, times))
}

/// The pattern that matches a text and nothing else.
pub(super) fn exact(text: &str) -> Pattern {
    let (own, last) = match text.strip_suffix(is_slot) {
        // What ids consist of says how long one is that nothing follows.
        Some(own) => (own, word_or(".:/+-").many()),
        None => (text, NOTHING),
    };
    // The value of any other does not matter.
    joined(own.split(is_slot).map(as_it_is), &no_space_nor("<>").few()) + last
}

/// The pattern that matches a text whatever white space there is in its place.
pub(super) fn ignoring_space(text: &str) -> Pattern {
    let mut out = NOTHING;
    let mut rest = text;
    while let Some(at) = rest.find(char::is_whitespace) {
        out = out + &rest[..at] + SPACE;
        rest = rest[at..].trim_start();
    }
    out + rest
}

/// One of these signs.
pub(super) fn one_of(signs: impl Into<String>) -> Pattern {
    set(false, &[], signs)
}

/// A character that is none of these signs.
pub(super) fn none_of(signs: impl Into<String>) -> Pattern {
    set(true, &[], signs)
}

/// A character that is neither white space nor one of these signs.
pub(super) fn no_space_nor(signs: impl Into<String>) -> Pattern {
    set(true, &[Member::Kind("\\s")], signs)
}

/// A character of words, or one of these signs.
pub(super) fn word_or(signs: impl Into<String>) -> Pattern {
    set(false, &[Member::Kind("\\w")], signs)
}

/// A letter from A to Z, or one of these signs.
pub(super) fn letter_or(signs: impl Into<String>) -> Pattern {
    set(false, &[Member::Kind("A-Za-z")], signs)
}

fn set(is_negated: bool, kinds: &[Member], signs: impl Into<String>) -> Pattern {
    let signs = signs.into();
    let signs = signs.chars().map(Member::Sign);
    let members = kinds.iter().copied().chain(signs).collect();
    let set = Set {
        is_negated,
        members,
    };
    Pattern(Node::Chars(set, ONCE))
}

/// A character that is no white space, and not the one that the text after it begins with.
pub(super) fn char_until(next: &str) -> Pattern {
    char_between(&[], &[next])
}

/// A character that is no white space, and none that one of the texts before ends with, unless
/// names have it, nor one that one of the texts after begins with.
pub(super) fn char_between(before: &[&str], after: &[&str]) -> Pattern {
    let last = |text: &&str| {
        let last = unmarked(text).chars().last();
        let last = last.filter(|c| !is_of_names(*c) && !c.is_whitespace() && !is_slot(*c));
        // With a bracket goes the one that closes it: behind `<`, `</why>f=` begins with no name.
        last.into_iter().chain(last.and_then(closing_bracket))
    };
    // Where white space ends it, what stands behind must not be taken for it either.
    let first = |text: &&str| {
        let text = unmarked(text);
        let first = text.chars().find(|c| !c.is_whitespace());
        first.filter(|c| text.starts_with(*c) || !c.is_alphanumeric())
    };
    let mut signs = String::new();
    let all = after.iter().filter_map(first);
    for c in all.chain(before.iter().flat_map(last)) {
        if !signs.contains(c) {
            signs.push(c);
        }
    }
    no_space_nor(signs.as_str())
}

/// Whether names of tools have this character.
pub(super) fn is_of_names(c: char) -> bool {
    c.is_alphanumeric() || "_-./".contains(c)
}

/// One of several, with brackets around them.
pub(super) fn any_of(patterns: impl IntoIterator<Item = Pattern>) -> Pattern {
    let all: Vec<Pattern> = patterns.into_iter().collect();
    match all.len() {
        1 => either(all),
        _ => either(all).grouped(),
    }
}

/// One of several, with brackets around them only where something stands beside them.
pub(super) fn either(patterns: impl IntoIterator<Item = Pattern>) -> Pattern {
    let all = patterns.into_iter().flat_map(|pattern| match pattern.0 {
        Node::Choice(all) => Rc::unwrap_or_clone(all),
        one => vec![Pattern(one)],
    });
    let mut all: Vec<Pattern> = all.collect();
    match all.len() {
        0 | 1 => all.pop().unwrap_or_default(),
        _ => Pattern(Node::Choice(Rc::new(all))),
    }
}

/// The place before something.
pub(super) fn ahead(pattern: Pattern) -> Pattern {
    pattern.within(AHEAD)
}

/// All places but those before something.
pub(super) fn not_ahead(pattern: Pattern) -> Pattern {
    pattern.within(NOT_AHEAD)
}

/// The place behind something.
pub(super) fn behind(pattern: Pattern) -> Pattern {
    pattern.within(BEHIND)
}

/// All places but those behind something.
pub(super) fn not_behind(pattern: Pattern) -> Pattern {
    pattern.within(NOT_BEHIND)
}

/// The place before one of several.
pub(super) fn before_any_of(patterns: impl IntoIterator<Item = Pattern>) -> Pattern {
    ahead(either(patterns))
}

/// What is captured under a name.
pub(super) fn named(name: &'static str, pattern: Pattern) -> Pattern {
    pattern.within(Group::Named(name))
}

/// Several, with the same between each two.
pub(super) fn joined(patterns: impl IntoIterator<Item = Pattern>, between: &Pattern) -> Pattern {
    let mut patterns = patterns.into_iter();
    let first = patterns.next().unwrap_or_default();
    let others = patterns.flat_map(|pattern| [between.clone(), pattern]);
    [first].into_iter().chain(others).collect()
}

/// How a pattern is made from another.
impl Pattern {
    pub(super) fn or_nothing(self) -> Pattern {
        self.repeated(MAYBE)
    }

    pub(super) fn some(self) -> Pattern {
        self.repeated(SOME)
    }

    pub(super) fn many(self) -> Pattern {
        self.repeated(MANY)
    }

    /// As few as will do.
    pub(super) fn few(self) -> Pattern {
        self.repeated(FEW)
    }

    fn repeated(self, times: Times) -> Pattern {
        let one = match &self.0 {
            Node::Chars(set, ONCE) => return Pattern(Node::Chars(set.clone(), times)),
            Node::Nothing => return NOTHING,
            Node::Group(..) => self,
            Node::Text(text) if text.chars().nth(1).is_none() => self,
            _ => self.grouped(),
        };
        Pattern(Node::Repeated(Rc::new(one), times))
    }

    /// The same, or nothing where this is not so.
    pub(super) fn when(self, is_so: bool) -> Pattern {
        if is_so { self } else { NOTHING }
    }

    fn grouped(self) -> Pattern {
        self.within(Group::Plain)
    }

    fn within(self, group: Group) -> Pattern {
        Pattern(Node::Group(group, Rc::new(self)))
    }

    /// The same, where the character that comes first is none of these signs either.
    pub(super) fn excluding(mut self, signs: impl Into<String>) -> Pattern {
        if let Some(set) = self.first_set() {
            let signs = signs.into();
            let signs = signs.chars().map(Member::Sign);
            set.members = signs.chain(set.members.iter().copied()).collect();
        }
        self
    }

    /// The same with these signs behind those of the set that comes first.
    pub(super) fn nor(mut self, signs: impl Into<String>) -> Pattern {
        if let Some(set) = self.first_set() {
            let signs = signs.into();
            let members = set.members.to_mut();
            members.extend(signs.chars().map(Member::Sign));
        }
        self
    }

    /// The same, where the character that comes first may be any white space but a line break.
    pub(super) fn with_blanks(mut self) -> Pattern {
        let members = self.first_set().into_iter();
        for member in members.flat_map(|set| set.members.to_mut()) {
            if *member == Member::Kind("\\s") {
                *member = Member::Sign('\n');
            }
        }
        self
    }

    fn first_set(&mut self) -> Option<&mut Set> {
        match &mut self.0 {
            Node::Chars(set, _) => Some(set),
            Node::Row(parts) => Rc::make_mut(parts).first_mut()?.first_set(),
            Node::Group(_, inner) | Node::Repeated(inner, _) => Rc::make_mut(inner).first_set(),
            _ => None,
        }
    }

    /// What follows this beginning of it.
    pub(super) fn without_start(&self, start: &Pattern) -> Option<Pattern> {
        let (before, behind) = around_row(self.parts(), start.parts())?;
        before.is_empty().then_some(behind)
    }

    /// What stands before this end of it.
    pub(super) fn without_end(&self, end: &Pattern) -> Option<Pattern> {
        let rest = self.parts().strip_suffix(end.parts())?;
        Some(rest.iter().cloned().collect())
    }

    /// The same without white space at its end.
    pub(super) fn trim_end(&self) -> Pattern {
        let rest = self.without_end(&SPACE);
        rest.map_or_else(|| self.clone(), |rest| rest.trim_end())
    }

    /// The same without white space at its beginning.
    pub(super) fn trim_start(&self) -> Pattern {
        let rest = self.without_start(&SPACE);
        rest.map_or_else(|| self.clone(), |rest| rest.trim_start())
    }

    /// The same with another in the first place where this part of it stands.
    pub(super) fn replaced(&self, part: &Pattern, other: &Pattern) -> Option<Pattern> {
        let parts = self.parts();
        let mut places = parts.iter().enumerate();
        places.find_map(|(at, own)| {
            let before = parts[..at].iter().cloned();
            if let Some((start, rest)) = around_row(&parts[at..], part.parts()) {
                return Some(before.chain([start, other.clone(), rest]).collect());
            }
            let mut own = own.clone();
            let mut children = own.children_mut().iter_mut();
            children.find_map(|child| {
                *child = child.replaced(part, other)?;
                Some(())
            })?;
            let behind = parts[at + 1..].iter().cloned();
            Some(before.chain([own]).chain(behind).collect())
        })
    }
}

/// What is asked of a pattern.
impl Pattern {
    pub(super) fn is_empty(&self) -> bool {
        self.parts().is_empty()
    }

    /// What stands in a row.
    fn parts(&self) -> &[Pattern] {
        match &self.0 {
            Node::Nothing => &[],
            Node::Row(parts) => parts,
            _ => slice::from_ref(self),
        }
    }

    /// What it is made of.
    fn children(&self) -> &[Pattern] {
        match &self.0 {
            Node::Row(parts) | Node::Choice(parts) => parts,
            Node::Group(_, inner) | Node::Repeated(inner, _) => slice::from_ref(inner),
            _ => &[],
        }
    }

    fn children_mut(&mut self) -> &mut [Pattern] {
        match &mut self.0 {
            Node::Row(parts) | Node::Choice(parts) => Rc::<Vec<_>>::make_mut(parts),
            Node::Group(_, inner) | Node::Repeated(inner, _) => {
                slice::from_mut(Rc::make_mut(inner))
            }
            _ => &mut [],
        }
    }

    /// The first of which something is so: this, or what it is made of.
    fn find(&self, is_so: &impl Fn(&Node) -> bool) -> Option<&Pattern> {
        match is_so(&self.0) {
            true => Some(self),
            false => self.children().iter().find_map(|child| child.find(is_so)),
        }
    }

    /// Whether this stands in it somewhere.
    pub(super) fn contains(&self, part: &Pattern) -> bool {
        let parts = self.parts();
        let mut places = (0..parts.len()).map(|at| &parts[at..]);
        let mut children = parts.iter().flat_map(Pattern::children);
        places.any(|parts| around_row(parts, part.parts()).is_some())
            || children.any(|child| child.contains(part))
    }

    /// The group that is captured under a name.
    pub(super) fn group(&self, name: &str) -> Option<&Pattern> {
        self.find(&|node| matches!(node, Node::Group(Group::Named(own), _) if *own == name))
    }

    /// Whether it looks at what stands before it, or behind it.
    pub(super) fn looks_around(&self) -> bool {
        let looks = |node: &Node| matches!(node, Node::Group(Group::Look(_), _));
        self.find(&looks).is_some()
    }

    /// Whether what it looks at may change as more text comes behind it: that nothing follows, or not what is meant.
    pub(super) fn looks_at_end(&self) -> bool {
        let looks = |node: &Node| matches!(node, Node::End | Node::Group(NOT_AHEAD, _));
        self.find(&looks).is_some()
    }

    /// Whether it looks ahead as far as it has to.
    pub(super) fn looks_far(&self) -> bool {
        let is_far = |inner: &Pattern| inner.parts().first() == Some(&ANYTHING);
        let looks = |node: &Node| matches!(node, Node::Group(AHEAD, inner) if is_far(inner));
        self.find(&looks).is_some()
    }

    /// Whether it ends with a look back as far as it has to.
    pub(super) fn looks_far_back(&self) -> bool {
        let is_far = |inner: &Pattern| inner.parts().last() == Some(&ANYTHING);
        let last = self.parts().last();
        last.is_some_and(|last| matches!(&last.0, Node::Group(BEHIND, inner) if is_far(inner)))
    }

    /// Whether white space comes first in it.
    pub(super) fn begins_with_space(&self) -> bool {
        match &self.0 {
            Node::Row(parts) | Node::Choice(parts) => {
                parts.first().is_some_and(Pattern::begins_with_space)
            }
            Node::Chars(set, _) => {
                let spaces = [Member::Kind("\\s"), Member::Sign(' ')];
                !set.is_negated && spaces.contains(&set.members[0])
            }
            _ => false,
        }
    }

    /// A text without which it matches nothing, the longest that is easily found: `</a>` of `</a>\s*|(?=</a>)` is
    /// not, since either alternative will do.
    pub(super) fn needed_text(&self) -> Option<&str> {
        match &self.0 {
            Node::Text(text) => Some(text),
            // What must not stand there is not needed.
            Node::Group(NOT_AHEAD | NOT_BEHIND, _) => None,
            Node::Row(_) | Node::Group(..) | Node::Repeated(_, SOME) => {
                let texts = self.children().iter().filter_map(Pattern::needed_text);
                texts.max_by_key(|text| text.len())
            }
            _ => None,
        }
    }
}

/// What stands before a row and behind it, if all begins with that row: texts at its ends may be parts of longer ones.
fn around_row(all: &[Pattern], row: &[Pattern]) -> Option<(Pattern, Pattern)> {
    let (own, rest) = all.split_at_checked(row.len())?;
    let (before, behind) = match (own, row) {
        ([], []) => ("", ""),
        ([own], [one]) => around(own, one, |own, one| own.split_once(one))?,
        ([first, own @ .., last], [start, within @ .., end]) if own == within => {
            let (before, _) = around(first, start, |own, one| Some((own.strip_suffix(one)?, "")))?;
            let (_, behind) = around(last, end, |own, one| Some(("", own.strip_prefix(one)?)))?;
            (before, behind)
        }
        _ => return None,
    };
    let behind = [as_it_is(behind)].into_iter().chain(rest.iter().cloned());
    Some((as_it_is(before), behind.collect()))
}

/// What stands before one of two and behind it in the other, as texts are cut. What is no text is equal.
fn around<'t>(
    own: &'t Pattern,
    one: &Pattern,
    cut: impl Fn(&'t str, &str) -> Option<(&'t str, &'t str)>,
) -> Option<(&'t str, &'t str)> {
    match (&own.0, &one.0) {
        (Node::Text(own), Node::Text(one)) => cut(own, one),
        _ => (own == one).then_some(("", "")),
    }
}

fn as_it_is(text: &str) -> Pattern {
    match text {
        "" => NOTHING,
        text => Pattern(Node::Text(text.to_owned())),
    }
}

/// A row of patterns.
impl FromIterator<Pattern> for Pattern {
    fn from_iter<I: IntoIterator<Item = Pattern>>(patterns: I) -> Pattern {
        let mut row: Vec<Pattern> = Vec::new();
        for pattern in patterns {
            match pattern.0 {
                Node::Nothing => {}
                Node::Row(parts) => {
                    let parts = Rc::unwrap_or_clone(parts).into_iter();
                    parts.for_each(|part| push(&mut row, part));
                }
                one => push(&mut row, Pattern(one)),
            }
        }
        if row.len() < 2 {
            return row.pop().unwrap_or_default();
        }
        for part in &mut row {
            if matches!(part.0, Node::Choice(_)) {
                *part = mem::take(part).grouped();
            }
        }
        Pattern(Node::Row(Rc::new(row)))
    }
}

/// Puts something behind a row. Of two texts side by side, one is made.
fn push(row: &mut Vec<Pattern>, part: Pattern) {
    match (row.last_mut(), part.0) {
        (Some(Pattern(Node::Text(before))), Node::Text(text)) => before.push_str(&text),
        (_, part) => row.push(Pattern(part)),
    }
}

impl<T: Into<Pattern>> Add<T> for Pattern {
    type Output = Pattern;

    fn add(self, behind: T) -> Pattern {
        [self, behind.into()].into_iter().collect()
    }
}

/// A text stands for itself.
impl From<&str> for Pattern {
    fn from(text: &str) -> Pattern {
        exact(text)
    }
}

impl From<&Pattern> for Pattern {
    fn from(pattern: &Pattern) -> Pattern {
        pattern.clone()
    }
}

impl From<Pattern> for Value {
    fn from(pattern: Pattern) -> Value {
        pattern.to_string().into()
    }
}

impl Display for Pattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Node::Text(text) => write_text(f, text),
            Node::Chars(set, times) => write!(f, "{set}{times}"),
            Node::Nothing => Ok(()),
            Node::Start => f.write_str("\\A"),
            Node::End => f.write_str("\\Z"),
            Node::Row(parts) => parts.iter().try_for_each(|part| part.fmt(f)),
            Node::Choice(all) => all.iter().enumerate().try_for_each(|(at, one)| {
                f.write_str(if at > 0 { "|" } else { "" })?;
                one.fmt(f)
            }),
            Node::Group(group, inner) => write!(f, "({group}{inner})"),
            Node::Repeated(inner, times) => write!(f, "{inner}{times}"),
        }
    }
}

impl Display for Group {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Group::Plain => f.write_str("?:"),
            Group::Named(name) => write!(f, "?P<{name}>"),
            Group::Look(look) => f.write_str(look),
        }
    }
}

impl Display for Set {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.is_negated, &*self.members) {
            // A range of signs is no kind by itself.
            (false, [Member::Kind(kind)]) if !kind.contains('-') => return f.write_str(kind),
            (false, _) => f.write_str("[")?,
            (true, _) => f.write_str("[^")?,
        }
        self.members.iter().try_for_each(|member| match member {
            // Engines may take `--`, `&&`, `~~` and `||` for operations on sets.
            Member::Sign(sign) => {
                let is_special = matches!(sign, '\\' | '[' | ']' | '^' | '-' | '&' | '~' | '|');
                write_sign(f, *sign, is_special)
            }
            Member::Kind(kind) => f.write_str(kind),
        })?;
        f.write_str("]")
    }
}

/// Writes a text, of which most is written as it is.
fn write_text(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    let mut rest = text;
    while let Some(at) = rest.find(|c| is_special(c) || matches!(c, '\n' | '\t' | '\r')) {
        f.write_str(&rest[..at])?;
        let mut behind = rest[at..].chars();
        behind
            .next()
            .map_or(Ok(()), |sign| write_sign(f, sign, is_special(sign)))?;
        rest = behind.as_str();
    }
    f.write_str(rest)
}

/// Writes a sign, with a backslash before it if it means something else.
fn write_sign(f: &mut Formatter<'_>, sign: char, is_special: bool) -> fmt::Result {
    match sign {
        '\n' => f.write_str("\\n"),
        '\t' => f.write_str("\\t"),
        '\r' => f.write_str("\\r"),
        sign => {
            f.write_str(if is_special { "\\" } else { "" })?;
            f.write_char(sign)
        }
    }
}

/// Whether a sign means something else in an expression. Some engines take an escaped `-` or `/` for something else outside of sets.
fn is_special(sign: char) -> bool {
    matches!(
        sign,
        '\\' | '.' | '^' | '$' | '*' | '+' | '?' | '{' | '}' | '[' | ']' | '|' | '(' | ')'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markers::{ID_SLOT, NAME_SLOT};

    /// Patterns are read most easily as they are written.
    impl PartialEq<&str> for Pattern {
        fn eq(&self, written: &&str) -> bool {
            let own = self.to_string();
            own == *written
        }
    }

    impl PartialEq<String> for Pattern {
        fn eq(&self, written: &String) -> bool {
            let own = self.to_string();
            own == *written
        }
    }

    #[test]
    fn needed_texts() {
        let tag = exact("</a>");
        let next = exact("<call>");
        let sign = || one_of("<>");
        for (pattern, needed, written) in [
            (tag.clone(), Some("</a>"), "</a>"),
            (exact("<|a|>") + SPACE, Some("<|a|>"), r"<\|a\|>\s*"),
            (START + SPACE + "<think>", Some("<think>"), r"\A\s*<think>"),
            (
                (exact("<s>") + SPACE).or_nothing()
                    + &next
                    + named("name", no_space_nor(">").some())
                    + ">",
                Some("<call>"),
                r"(?:<s>\s*)?<call>(?P<name>[^\s>]+)>",
            ),
            (either([tag.clone(), exact("</bcd>")]), None, r"</a>|</bcd>"),
            (
                any_of([tag.clone(), exact("</b>")]) + SPACE + "</call>",
                Some("</call>"),
                r"(?:</a>|</b>)\s*</call>",
            ),
            (
                any_of([tag.clone(), exact("</call>")]) + SPACE,
                None,
                r"(?:</a>|</call>)\s*",
            ),
            (
                not_behind(either([one_of(" `("), exact("</aaaaaaaa>")])) + ahead(next),
                Some("<call>"),
                r"(?<![ `(]|</aaaaaaaa>)(?=<call>)",
            ),
            (
                behind(exact(")")) + SPACE + "]<end>",
                Some("]<end>"),
                r"(?<=\))\s*\]<end>",
            ),
            (
                exact("<a") + exact("b").or_nothing() + exact("c").many() + ">",
                Some("<a"),
                r"<ab?c*>",
            ),
            (sign() + sign(), None, r"[<>][<>]"),
        ] {
            assert_eq!(pattern, written);
            assert_eq!(pattern.needed_text(), needed, "{written}");
        }
    }

    #[test]
    fn texts_become_expressions_of_themselves() {
        let tag = format!("<{NAME_SLOT}>");
        let id = format!("id:{ID_SLOT}");
        for (text, exactly, ignoring) in [
            ("<|a|>", r"<\|a\|>", r"<\|a\|>"),
            ("f(x)[0]", r"f\(x\)\[0\]", r"f\(x\)\[0\]"),
            // Some engines take an escaped `-` or `/` for something else.
            ("--a/b", "--a/b", "--a/b"),
            ("<a>\n\t<b> ", r"<a>\n\t<b> ", r"<a>\s*<b>\s*"),
            (" <a>", " <a>", r"\s*<a>"),
            // In a tag, what follows a slot ends it; at the end nothing does.
            (&tag, r"<[^\s<>]*?>", r"<[^\s<>]*?>"),
            (&id, r"id:[\w.:/+\-]*", r"id:[\w.:/+\-]*"),
        ] {
            assert_eq!(exact(text), exactly, "{text}");
            assert_eq!(ignoring_space(text), ignoring, "{text}");
        }
    }

    #[test]
    fn alternatives_are_grouped() {
        let [a, b] = ["a", "b"].map(exact);
        assert_eq!(any_of([either([a.clone(), b.clone()])]), "a|b");
        assert_eq!(any_of([a.clone(), b.clone()]), "(?:a|b)");
        assert_eq!(any_of([]), "(?:)");
        assert_eq!(before_any_of([a.clone()]), "(?=a)");
        assert_eq!(before_any_of([a.clone(), b.clone()]), "(?=a|b)");
        // Something stands beside them, or they are repeated.
        assert_eq!(either([a.clone(), b.clone()]) + "c", "(?:a|b)c");
        assert_eq!(either([a, b]).many(), "(?:a|b)*");
    }

    #[test]
    fn a_part_may_begin_and_end_within_texts() {
        let call = exact("<do><call>") + SPACE + ahead(SPACE + "{\"name\"");
        let brace = SPACE + "{";
        for (part, replaced) in [
            (exact("<call>"), Some(r#"<do>@\s*(?=\s*\{"name")"#)),
            (exact("<call>") + SPACE, Some(r#"<do>@(?=\s*\{"name")"#)),
            (brace, Some(r#"<do><call>\s*(?=@"name")"#)),
            (exact("<call>") + "{", None),
        ] {
            let found = call.replaced(&part, &exact("@"));
            assert_eq!(call.contains(&part), replaced.is_some(), "{part}");
            let found = found.map(|found| found.to_string());
            assert_eq!(found.as_deref(), replaced, "{part}");
        }
        let rest = call.without_start(&exact("<do>"));
        assert_eq!(rest.unwrap_or_default(), r#"<call>\s*(?=\s*\{"name")"#);
        assert_eq!(call.without_start(&exact("<call>")), None);
    }

    #[test]
    fn characters_between_texts_are_none_that_these_begin_and_end_with() {
        let slot = NAME_SLOT.to_string();
        for (before, after, expected) in [
            ("", "", r"[^\s]"),
            ("", ">", r"[^\s>]"),
            // Behind `<`, `</why>f=` begins with no name.
            ("<", "=", r"[^\s=<>]"),
            ("call:", "{", r"[^\s{:]"),
            // Tools have such names, as `read-tide`.
            ("-", "]", r"[^\s\]]"),
            ("", "\n@", r"[^\s@]"),
            // A word behind a blank may begin with a letter of the name.
            ("", " at", r"[^\s]"),
            ("", "at", r"[^\sa]"),
            // Signs of operations on sets.
            ("&", "^", r"[^\s\^\&]"),
            ("~", "||", r"[^\s\|\~]"),
            (&slot, "=", r"[^\s=]"),
        ] {
            let found = char_between(&[before], &[after]);
            assert_eq!(found, expected, "{before:?} {after:?}");
        }
    }
}
