//! Repetition: `*`, `+`, `?`, `{2,3}`, and how they differ from fuzzy matching.

use super::single::Piece;
use super::{Construct, Dialect, Greed, Node, Parser, PatternError, PatternReader, Result};

/// Repetitions are unrolled later, so the counts must stay reasonable.
const COUNT_LIMIT: u32 = 10_000;

/// What a quantifier would apply to.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Last {
    Nothing,
    Item,
    Repeated,
}

impl Last {
    /// What an item is to a quantifier, given its first character: `re` repeats no condition on a
    /// position that does not stand in a group.
    pub(super) fn of(item: &Piece, first: char, dialect: Dialect) -> Last {
        match item {
            Piece::Node(Node::Look(_)) if dialect == Dialect::Re && first != '(' => Last::Nothing,
            _ => Last::Item,
        }
    }
}

impl Parser<'_> {
    /// Parses a quantifier, if one comes next, and applies it to the last item.
    pub(super) fn quantifier(&mut self, items: &mut Vec<Piece>, last: &mut Last) -> Result<bool> {
        self.reader.peek();
        let offset = self.reader.at();
        let Some((min, max)) = self.counts(offset)? else {
            return Ok(false);
        };
        if *last == Last::Repeated {
            return Err(PatternError::new(offset, "a repetition of a repetition")
                .remedy("put the inner one into a group: `(?:...)`"));
        }
        let item = match items.pop() {
            Some(item) if *last == Last::Item => item,
            _ => {
                return Err(
                    PatternError::new(offset, "a quantifier with nothing to repeat")
                        .remedy(r"escape it with `\` for a literal character"),
                );
            }
        };
        let greed = if self.reader.eat('?') {
            Greed::Lazy
        } else if self.reader.eat('+') {
            self.note(Construct::Possessive, offset);
            Greed::Possessive
        } else {
            Greed::Greedy
        };
        let repeat = Node::Repeat {
            node: Box::new(item.into_node()),
            min,
            max,
            greed,
        };
        items.push(repeat.into());
        *last = Last::Repeated;
        Ok(true)
    }

    /// The counts of the quantifier that comes next, if one does.
    fn counts(&mut self, offset: usize) -> Result<Option<(u32, Option<u32>)>> {
        let counts = match self.reader.raw_peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => return self.braces(offset),
            _ => return Ok(None),
        };
        self.reader.next();
        Ok(Some(counts))
    }

    /// `{2}`, `{2,}`, `{,3}`, `{2,3}`; any other brace is a literal one.
    fn braces(&mut self, offset: usize) -> Result<Option<(u32, Option<u32>)>> {
        let before = self.reader.at();
        self.reader.next();
        let low = self.reader.digits(10, usize::MAX);
        let comma = self.reader.eat(',');
        let high = if comma {
            self.reader.digits(10, usize::MAX)
        } else {
            low.clone()
        };
        if (comma || !low.is_empty()) && self.reader.eat('}') {
            let min = count(&low, offset)?.unwrap_or(0);
            let max = count(&high, offset)?;
            if max.is_some_and(|max| max < min) {
                let message = "a repetition with a minimum above its maximum";
                return Err(PatternError::new(offset, message));
            }
            if low.is_empty() {
                self.note(Construct::NoMinimum, offset);
            }
            if min.max(max.unwrap_or(0)) > 1000 {
                self.note(Construct::LargeCount, offset);
            }
            return Ok(Some((min, max)));
        }
        self.reader.go_back(before);
        if self.dialect == Dialect::Regex && is_fuzzy(self.reader.clone()) {
            return Err(PatternError::new(offset, "fuzzy matching `{...}`")
                .remedy(r"write `\{` for a literal brace"));
        }
        self.note(Construct::LiteralBrace, offset);
        Ok(None)
    }
}

fn count(digits: &str, offset: usize) -> Result<Option<u32>> {
    if digits.is_empty() {
        return Ok(None);
    }
    match digits.parse() {
        Ok(count) if count <= COUNT_LIMIT => Ok(Some(count)),
        _ => {
            let message = format!("a repeat count above {COUNT_LIMIT}");
            Err(PatternError::new(offset, message).remedy("write a smaller one, or `*`"))
        }
    }
}

/// How far one item of a fuzzy constraint could be read.
enum Item {
    /// It is none, so that the brace is a literal one.
    None,
    /// Complete; others may follow after a comma.
    Complete,
    /// Enough to know that the module takes it as fuzzy, or as a mistake.
    Certain,
}

/// Whether the brace at the reader starts a fuzzy constraint (or a broken one,
/// which the module refuses as well).
fn is_fuzzy(mut reader: PatternReader<'_>) -> bool {
    reader.next();
    loop {
        match fuzzy_item(&mut reader) {
            Item::None => return false,
            Item::Certain => return true,
            Item::Complete => {
                if !reader.eat(',') {
                    return true;
                }
            }
        }
    }
}

/// One of `e`, `e<=2`, `1<=e<=2` or `2i+1d<=4`.
fn fuzzy_item(reader: &mut PatternReader<'_>) -> Item {
    let first_count = reader.digits(10, usize::MAX);
    let bounded_below = !first_count.is_empty() && eat_less(reader);
    let Some(kind) = eat_kind(reader) else {
        return Item::None;
    };
    if first_count.is_empty() {
        if !eat_less(reader) {
            return Item::Complete;
        }
        return if reader.digits(10, usize::MAX).is_empty() {
            Item::Certain
        } else {
            Item::Complete
        };
    }
    if !bounded_below {
        let mut kinds = vec![kind];
        while reader.eat('+') {
            reader.digits(10, usize::MAX);
            match eat_kind(reader) {
                None => return Item::None,
                Some(kind) if kinds.contains(&kind) => return Item::Certain,
                Some(kind) => kinds.push(kind),
            }
        }
        return if eat_less(reader) {
            Item::Certain
        } else {
            Item::None
        };
    }
    if !eat_less(reader) {
        return Item::None;
    }
    if reader.digits(10, usize::MAX).is_empty() {
        Item::Certain
    } else {
        Item::Complete
    }
}

fn eat_less(reader: &mut PatternReader<'_>) -> bool {
    let found = reader.eat('<');
    if found {
        reader.eat('=');
    }
    found
}

/// The letter of a kind of error: deletion, insertion, substitution or any.
fn eat_kind(reader: &mut PatternReader<'_>) -> Option<char> {
    "deis".chars().find(|&kind| reader.eat(kind))
}
