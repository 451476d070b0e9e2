//! The parser of regular expressions, in the dialects of Python's third-party
//! `regex` module (version 0) and of its own module `re`: text patterns, "dot matches all" from the
//! start.
//!
//! What the module accepts but we cannot run (recursion, fuzzy matching, references to groups that may
//! still be open ...) is refused by name, so that no pattern quietly means less here.

mod class;
mod construct;
mod escape;
mod group;
mod quantifier;
mod reader;
mod single;
#[cfg(test)]
mod tests;

use crate::white_space::BLANKS;
use quantifier::Last;
use reader::PatternReader;
use regex_syntax::hir::ClassUnicode;
use single::Piece;
use std::fmt;

pub use construct::Construct;

/// How deeply groups may nest; the parser calls itself once per level.
const NESTING_LIMIT: usize = 250;

/// A pattern has and unrolls to at most this many steps; beyond that it is refused, since every
/// character of a text may have to be held against each of them.
pub const MAX_STEPS: usize = 10_000;

/// A pattern is too large.
pub fn too_many_steps() -> PatternError {
    PatternError {
        offset: 0,
        message: format!("more than {MAX_STEPS} steps when its repeats are unrolled"),
        remedy: Some("use fewer or smaller counted repeats such as `{1,100}`, or `*`".into()),
    }
}

/// Whose regular expressions a pattern is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Those of the third-party module `regex`. Only groups with names are kept.
    Regex,
    /// Those of Python's own module `re`. All groups are kept, by their numbers.
    Re,
}

/// A parsed pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Syntax {
    /// The pattern itself.
    pub node: Node,
    /// Whose regular expressions it is written in.
    pub dialect: Dialect,
    /// The names of the groups that are kept, in the order they first appear; empty for one without.
    pub groups: Vec<String>,
    /// Whether word boundaries look at ASCII words only.
    pub ascii: bool,
    /// What it has that other engines lack.
    pub constructs: Vec<construct::Located>,
    /// How many characters and sets it is made of.
    pub items: usize,
}

/// One piece of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// Matches the empty text.
    Empty,
    /// One character out of a set; an empty set never matches.
    Class(ClassUnicode),
    /// A condition on a position.
    Look(Look),
    /// One after the other.
    Concat(Vec<Node>),
    /// The first one that leads to a match.
    Alternation(Vec<Node>),
    /// A repetition.
    Repeat {
        node: Box<Node>,
        min: u32,
        max: Option<u32>,
        greed: Greed,
    },
    /// A group that is kept; `index` points into [`Syntax::groups`].
    Group { index: usize, node: Box<Node> },
    /// The text that a group has matched, which is closed before: `(?P=name)` or `\1`.
    Reference { index: usize },
    /// Once matched, never tried another way.
    Atomic(Box<Node>),
    /// Lookahead and lookbehind.
    Around {
        behind: bool,
        negate: bool,
        node: Box<Node>,
    },
}

impl Node {
    /// Whether it can match without taking a character.
    pub fn can_be_empty(&self) -> bool {
        match self {
            Node::Empty | Node::Look(_) | Node::Around { .. } | Node::Reference { .. } => true,
            Node::Class(_) => false,
            Node::Concat(nodes) => nodes.iter().all(Node::can_be_empty),
            Node::Alternation(nodes) => nodes.iter().any(Node::can_be_empty),
            Node::Repeat { node, min, .. } => *min == 0 || node.can_be_empty(),
            Node::Group { node, .. } | Node::Atomic(node) => node.can_be_empty(),
        }
    }

    /// Whether one way to match begins with any number of [blanks](BLANKS), as `\s*</x>` does.
    pub fn may_begin_with_blanks(&self) -> bool {
        match self {
            Node::Repeat {
                node, max: None, ..
            } => match &**node {
                Node::Class(class) => BLANKS.iter().all(|&blank| {
                    let mut ranges = class.iter();
                    ranges.any(|range| (range.start()..=range.end()).contains(&blank))
                }),
                _ => false,
            },
            Node::Concat(nodes) => nodes.first().is_some_and(Node::may_begin_with_blanks),
            Node::Alternation(nodes) => nodes.iter().any(Node::may_begin_with_blanks),
            Node::Group { node, .. } => node.may_begin_with_blanks(),
            _ => false,
        }
    }

    /// Whether this holds for it or for any that it is made of.
    pub fn any(&self, holds: &impl Fn(&Node) -> bool) -> bool {
        holds(self)
            || match self {
                Node::Empty | Node::Class(_) | Node::Look(_) | Node::Reference { .. } => false,
                Node::Concat(nodes) | Node::Alternation(nodes) => {
                    nodes.iter().any(|node| node.any(holds))
                }
                Node::Repeat { node, .. }
                | Node::Group { node, .. }
                | Node::Atomic(node)
                | Node::Around { node, .. } => node.any(holds),
            }
    }

    /// Whether it first tries to take as much as it can, wherever it has a choice, and whatever
    /// comes of it.
    pub fn is_greedy(&self) -> bool {
        match self {
            Node::Empty | Node::Class(_) => true,
            Node::Concat(nodes) => nodes.iter().all(Node::is_greedy),
            Node::Repeat { node, greed, .. } => {
                *greed == Greed::Greedy && matches!(**node, Node::Class(_))
            }
            _ => false,
        }
    }

    /// How many bytes it takes at the most, if there is a limit.
    pub fn max_bytes(&self) -> Option<usize> {
        match self {
            Node::Empty | Node::Look(_) | Node::Around { .. } => Some(0),
            Node::Reference { .. } => None,
            Node::Class(class) => {
                let last = class.ranges().last();
                Some(last.map_or(0, |range| range.end().len_utf8()))
            }
            Node::Concat(nodes) => nodes
                .iter()
                .try_fold(0_usize, |sum, node| sum.checked_add(node.max_bytes()?)),
            Node::Alternation(nodes) => nodes
                .iter()
                .try_fold(0, |most, node| Some(node.max_bytes()?.max(most))),
            Node::Repeat { node, max, .. } => match node.max_bytes()? {
                0 => Some(0),
                bytes => bytes.checked_mul((*max)? as usize),
            },
            Node::Group { node, .. } | Node::Atomic(node) => node.max_bytes(),
        }
    }
}

/// What a repetition prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greed {
    /// As many as possible, then fewer.
    Greedy,
    /// As few as possible, then more.
    Lazy,
    /// As many as possible, and nothing else.
    Possessive,
}

/// A condition on a position in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    TextStart,
    TextEnd,
    /// The end, or before a line feed that ends the text.
    TextEndOrFinalNewline,
    /// The start of the text or after a line feed.
    LineStart,
    /// The end of the text or before a line feed.
    LineEnd,
    WordBoundary,
    NotWordBoundary,
    WordStart,
    WordEnd,
}

/// Why a pattern was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// The byte offset in the pattern.
    pub offset: usize,
    /// What is wrong, naming the construct.
    pub message: String,
    /// What to write instead, where there is something.
    pub remedy: Option<String>,
}

impl PatternError {
    fn new(offset: usize, message: impl Into<String>) -> Self {
        PatternError {
            offset,
            message: message.into(),
            remedy: None,
        }
    }

    fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a pattern can't have {}, as at byte {}",
            self.message, self.offset
        )?;
        match &self.remedy {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for PatternError {}

type Result<T> = std::result::Result<T, PatternError>;

/// Parses a pattern of the `regex` module.
#[cfg(any(test, feature = "internals"))]
pub fn parse(pattern: &str) -> Result<Syntax> {
    parse_as(Dialect::Regex, pattern)
}

/// Parses a pattern of a dialect.
pub fn parse_as(dialect: Dialect, pattern: &str) -> Result<Syntax> {
    let (syntax, outcome) = Parser::run(dialect, pattern, Outcome::default())?;
    // `(?a)` outside all groups also counts for what stands before it; and a group without a name is kept if its number is
    // referred to further on.
    match outcome.ascii_seen || outcome.referred != 0 {
        true => Ok(Parser::run(dialect, pattern, outcome)?.0),
        false => Ok(syntax),
    }
}

/// What a pattern has that other engines lack, in the order of the places; nothing if it is not
/// valid.
#[cfg(feature = "internals")]
pub fn constructs(pattern: &str) -> Vec<construct::Located> {
    let mut constructs = match parse(pattern) {
        Ok(syntax) => syntax.constructs,
        Err(_) => Vec::new(),
    };
    constructs.sort_by_key(|&(_, offset)| offset);
    constructs
}

/// What is only known about a pattern once its end is reached.
#[derive(Clone, Copy, Default)]
struct Outcome {
    /// `(?a)` stands somewhere outside all groups.
    ascii_seen: bool,
    /// The groups without a name that are referred to by their numbers, as bits.
    referred: u128,
    /// `(?a)` is still on at the end. This decides all classes that are not
    /// under an `a` or `u` flag of their own, and all case folding.
    ascii: bool,
}

/// The flags that hold at a place in the pattern.
#[derive(Clone, Copy, Default)]
struct Flags {
    ignore_case: bool,
    multi_line: bool,
    dot_all: bool,
    verbose: bool,
    ascii: bool,
    unicode: bool,
}

/// A group that `\1` and its like may refer to.
#[derive(Clone, Copy)]
struct NumberedGroup {
    /// Its index among the groups that are kept, if it is one of them.
    kept: Option<usize>,
    /// Set once its `)` has been read, until it begins anew.
    is_closed: bool,
}

struct Parser<'p> {
    dialect: Dialect,
    reader: PatternReader<'p>,
    flags: Flags,
    depth: usize,
    /// Whether there was nothing but flags and comments so far.
    is_beginning: bool,
    groups: Vec<String>,
    /// All groups by their numbers, those that are not kept among them.
    numbered: Vec<NumberedGroup>,
    /// As in [`Outcome`].
    referred: u128,
    constructs: Vec<construct::Located>,
    /// How many items have been read, and members of sets.
    items: usize,
    /// What an earlier run found out.
    known: Outcome,
    ascii_seen: bool,
    /// The `a` and `u` flags outside all groups.
    global_ascii: bool,
    global_unicode: bool,
    /// The kind of word boundaries met so far: `Some(true)` is ASCII.
    word_kind: Option<bool>,
}

impl<'p> Parser<'p> {
    fn run(dialect: Dialect, pattern: &'p str, known: Outcome) -> Result<(Syntax, Outcome)> {
        let mut parser = Parser {
            dialect,
            reader: PatternReader::new(pattern),
            flags: Flags {
                dot_all: true,
                ascii: known.ascii_seen,
                ..Flags::default()
            },
            depth: 0,
            is_beginning: true,
            groups: Vec::new(),
            numbered: Vec::new(),
            referred: 0,
            constructs: Vec::new(),
            items: 0,
            known,
            ascii_seen: false,
            global_ascii: known.ascii_seen,
            global_unicode: false,
            word_kind: None,
        };
        let node = parser.alternation()?.into_node();
        if parser.reader.peek().is_some() {
            let offset = parser.reader.at();
            return Err(PatternError::new(offset, "an unbalanced parenthesis `)`")
                .remedy(r"write `\)` for a literal one"));
        }
        if parser.global_ascii && parser.global_unicode {
            let message = "the flags `(?a)` and `(?u)` exclude each other";
            return Err(PatternError::new(0, message));
        }
        let outcome = Outcome {
            ascii_seen: parser.ascii_seen,
            referred: parser.referred,
            ascii: parser.global_ascii,
        };
        let syntax = Syntax {
            node,
            dialect,
            groups: parser.groups,
            ascii: parser.word_kind.unwrap_or(known.ascii),
            constructs: parser.constructs,
            items: parser.items,
        };
        Ok((syntax, outcome))
    }

    /// Parses up to the end or to the `)` of the group we are in.
    fn alternation(&mut self) -> Result<Piece> {
        let mut branches = vec![self.sequence()?];
        while self.reader.eat('|') {
            self.is_beginning = false;
            branches.push(self.sequence()?);
        }
        Ok(Piece::any_of(branches))
    }

    /// Parses one branch of an alternation.
    fn sequence(&mut self) -> Result<Piece> {
        let mut items = Vec::new();
        let mut last = Last::Nothing;
        while let Some(c) = self.reader.peek() {
            if c == '|' || c == ')' {
                break;
            }
            if self.quantifier(&mut items, &mut last)? {
                continue;
            }
            // Flags and comments leave no item, so that `a(?i)*` repeats the `a`.
            if let Some(item) = self.item()? {
                self.is_beginning = false;
                last = Last::of(&item, c, self.dialect);
                items.push(item);
            }
        }
        Ok(match items.pop() {
            None => Node::Empty.into(),
            Some(only) if items.is_empty() => only,
            last => {
                let items = items.into_iter().chain(last);
                Node::Concat(items.map(Piece::into_node).collect()).into()
            }
        })
    }

    /// Parses one item that is not a quantifier.
    fn item(&mut self) -> Result<Option<Piece>> {
        let offset = self.reader.at();
        let Some(c) = self.reader.next() else {
            return Ok(None);
        };
        self.count_item()?;
        Ok(Some(match c {
            '(' => return self.group(offset),
            '[' => self.set(offset)?,
            '\\' => self.escape(offset)?,
            '.' if self.flags.dot_all => Node::Class(class::range(0, 0x10_FFFF)).into(),
            '.' => Node::Class(class::negated(class::one('\n'.into()))).into(),
            '^' if self.flags.multi_line => Node::Look(Look::LineStart).into(),
            '^' => Node::Look(Look::TextStart).into(),
            '$' if self.flags.multi_line => Node::Look(Look::LineEnd).into(),
            '$' => {
                self.note(Construct::Dollar, offset);
                Node::Look(Look::TextEndOrFinalNewline).into()
            }
            c => self.literal_piece(c.into()),
        }))
    }

    /// Counts an item or a member of a set: what is too large is refused before it takes memory.
    fn count_item(&mut self) -> Result<()> {
        self.items += 1;
        match self.items > MAX_STEPS {
            true => Err(too_many_steps()),
            false => Ok(()),
        }
    }

    fn note(&mut self, construct: Construct, offset: usize) {
        self.constructs.push((construct, offset));
    }

    fn literal_piece(&self, code: u32) -> Piece {
        Piece::Single(self.literal(code).into())
    }

    /// The class of a literal character, with its other cases if they count.
    fn literal(&self, code: u32) -> ClassUnicode {
        let mut class = class::one(code);
        self.fold(&mut class);
        class
    }

    fn fold(&self, class: &mut ClassUnicode) {
        if self.flags.ignore_case {
            class::fold(class, self.known.ascii);
        }
    }

    /// Whether classes such as `\w` are restricted to ASCII here.
    fn ascii_here(&self) -> bool {
        self.flags.ascii || (!self.flags.unicode && self.known.ascii)
    }

    /// A word boundary. Later stages know one kind of word per pattern.
    fn word_look(&mut self, offset: usize, look: Look) -> Result<Look> {
        let ascii = match look {
            // These two don't listen to the flags of their group.
            Look::WordStart | Look::WordEnd => self.known.ascii,
            _ => self.ascii_here(),
        };
        if *self.word_kind.get_or_insert(ascii) != ascii {
            let message = "word boundaries of ASCII and of Unicode words in one pattern";
            return Err(PatternError::new(offset, message)
                .remedy("put `(?a)` at the start of the pattern or remove the `a` flag"));
        }
        Ok(look)
    }
}
