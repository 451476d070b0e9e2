//! Constructs of the dialect that not every engine of regular expressions has.

use super::Node;

/// A construct that some other engines lack, or read otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Construct {
    /// `(?=…)` and `(?!…)`.
    Lookahead,
    /// `(?<=…)` and `(?<!…)` over texts of one length.
    Lookbehind,
    /// The same over alternatives, each of which has a length of its own.
    BranchedLookbehind,
    /// The same over texts of several lengths.
    VariableLookbehind,
    /// `(?>…)`.
    Atomic,
    /// `a*+` and its like.
    Possessive,
    /// `{,3}`.
    NoMinimum,
    /// A count above a thousand.
    LargeCount,
    /// `(?<name>…)`, without the `P`.
    ShortNamedGroup,
    /// A name that several groups have.
    SharedName,
    /// `(?P=name)` or `\1`.
    Backreference,
    /// `(?i)` at the start.
    LeadingFlags,
    /// `(?i)` amid the pattern.
    FlagsAmid,
    /// `(?i:…)`.
    ScopedFlags,
    /// The flag `a`.
    AsciiFlag,
    /// The flag `x`.
    VerboseFlag,
    /// `(?#…)`.
    Comment,
    /// `\p{…}`.
    Property,
    /// `[[:alpha:]]`.
    PosixClass,
    /// What means an operation on sets elsewhere: `&&`, `~~` or `[` in a set.
    SetOperator,
    /// `\A`.
    TextStart,
    /// `\Z`.
    TextEnd,
    /// `\z`.
    SmallTextEnd,
    /// `$`, before a newline that ends the text.
    Dollar,
    /// `\m` and `\M`.
    WordEdge,
    /// `\R`.
    LineBreak,
    /// `\h`.
    Blank,
    /// `\u0041`.
    ShortCodePoint,
    /// `\U00000041`.
    LongCodePoint,
    /// `\101`.
    Octal,
    /// `{` where it begins no count.
    LiteralBrace,
    /// `\<` or `\>`.
    EscapedAngle,
    /// A backslash before a sign that needs none, such as `\-` or `\"`.
    NeedlessEscape,
}

/// A construct, and the byte of the pattern where it stands.
pub type Located = (Construct, usize);

impl Node {
    /// Whether each of its alternatives takes the same number of characters always.
    pub(super) fn has_fixed_branches(&self) -> bool {
        match self {
            Node::Alternation(nodes) => nodes.iter().all(|node| node.width().is_some()),
            node => node.width().is_some(),
        }
    }

    /// How many characters it takes, if that is always the same number.
    pub(super) fn width(&self) -> Option<usize> {
        match self {
            Node::Empty | Node::Look(_) | Node::Around { .. } => Some(0),
            Node::Class(_) => Some(1),
            Node::Reference { .. } => None,
            Node::Concat(nodes) => nodes
                .iter()
                .try_fold(0usize, |sum, node| sum.checked_add(node.width()?)),
            Node::Alternation(nodes) => {
                let mut widths = nodes.iter().map(Node::width);
                let first = widths.next()??;
                widths.all(|width| width == Some(first)).then_some(first)
            }
            Node::Repeat { node, min, max, .. } => match (node.width()?, max) {
                (0, _) => Some(0),
                (width, Some(max)) if max == min => width.checked_mul(*max as usize),
                _ => None,
            },
            Node::Group { node, .. } | Node::Atomic(node) => node.width(),
        }
    }
}
