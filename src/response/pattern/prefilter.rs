//! Skipping what can't begin a match.

use super::program::{Inst, Pc, Program};
use super::syntax::Look;

/// Below this many bytes a plain loop beats setting up a vectorised search.
const SHORT: usize = 16;

/// The bytes at which a match can begin, and those that can come next.
///
/// Where white space may come first, as in `\s*</x>`, every blank would be such a byte. There, the bytes
/// that can follow it are looked for, and then the blanks before them; what is left are those at the end.
#[derive(Debug, Clone)]
pub(crate) struct Prefilter {
    first: Table,
    /// The same bytes, if there are at most three.
    few: Vec<u8>,
    second: Table,
    /// Whether blanks may stand before these bytes.
    after_blanks: bool,
    /// The bytes at which a match can begin that begins with the text.
    at_start: Table,
}

/// Some of all bytes.
type Table = Box<[bool; 256]>;

impl Prefilter {
    /// A filter for what matches of the program begin with.
    pub(crate) fn new(program: &Program) -> Prefilter {
        let plain = First::of(program, program.start, Rule::Anywhere);
        let behind_blanks = First::behind_blanks(program).filter(|first| {
            // More bytes to look for would be worse than blanks.
            count(&first.table) <= count(&plain.table)
        });
        let at_start = match program.looks.text_start {
            true => First::of(program, program.start, Rule::AtStart).table,
            false => plain.table.clone(),
        };
        let after_blanks = behind_blanks.is_some();
        let first = behind_blanks.unwrap_or(plain);
        let second = first.second();
        Prefilter::of(first.table, second, after_blanks, at_start)
    }

    /// A filter for what the parts begin with that the text behind a position is held against.
    pub(crate) fn for_parts(program: &Program) -> Prefilter {
        let parts = program.parts.iter().map(|part| {
            let first = First::of(program, part.start, Rule::AtStart);
            let second = first.second();
            Prefilter::of(first.table.clone(), second, false, first.table)
        });
        let parts: Vec<Prefilter> = parts.collect();
        Prefilter::any(parts.iter())
    }

    /// The places where any of several filters finds something.
    pub(crate) fn any<'p>(all: impl Iterator<Item = &'p Prefilter>) -> Prefilter {
        let none = || Box::new([false; 256]);
        let (mut first, mut second, mut at_start) = (none(), none(), none());
        let mut after_blanks = false;
        for one in all {
            after_blanks |= one.after_blanks;
            for byte in 0..256 {
                first[byte] |= one.first[byte];
                second[byte] |= one.second[byte];
                at_start[byte] |= one.at_start[byte];
            }
        }
        Prefilter::of(first, second, after_blanks, at_start)
    }

    fn of(first: Table, second: Table, after_blanks: bool, at_start: Table) -> Prefilter {
        let few: Vec<u8> = (0..=255).filter(|&b| first[b as usize]).take(4).collect();
        Prefilter {
            few: if few.len() <= 3 { few } else { Vec::new() },
            first,
            second,
            after_blanks,
            at_start,
        }
    }

    /// Whether a match may begin with the text, given its first byte.
    pub(crate) fn allows_at_start(&self, first: Option<&u8>) -> bool {
        first.is_none_or(|&byte| self.at_start[byte as usize])
    }

    /// Whether no match begins in a text, however it goes on.
    #[inline]
    pub(crate) fn passes(&self, text: &[u8]) -> bool {
        self.find(text, 0, text.len()) == text.len()
    }

    /// The first position from `from` on where a match may begin, or `end`.
    #[inline]
    pub(crate) fn find(&self, bytes: &[u8], from: usize, end: usize) -> usize {
        let bytes = &bytes[..end];
        let mut at = from;
        loop {
            at += self.offset(&bytes[at..]);
            match bytes.get(at + 1) {
                Some(&next) if !self.second[next as usize] => at += 1,
                _ => break,
            }
        }
        if !self.after_blanks {
            return at;
        }
        let blanks = bytes[from..at].iter().rev().take_while(|&&b| is_blank(b));
        at - blanks.count()
    }

    /// How many bytes stand before the first of those at which a match can begin.
    #[inline]
    fn offset(&self, text: &[u8]) -> usize {
        let offset = if text.len() < SHORT {
            text.iter().position(|&b| self.first[b as usize])
        } else {
            match *self.few {
                [a] => memchr::memchr(a, text),
                [a, b] => memchr::memchr2(a, b, text),
                [a, b, c] => memchr::memchr3(a, b, c, text),
                _ => text.iter().position(|&b| self.first[b as usize]),
            }
        };
        offset.unwrap_or(text.len())
    }
}

fn count(table: &Table) -> usize {
    table.iter().filter(|&&is_in| is_in).count()
}

/// Whether a byte is white space by itself.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | 0x1c..=0x1f | b' ')
}

/// Where the bytes are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Anywhere,
    /// Anywhere, the beginning of the text included.
    AtStart,
    /// Anywhere, behind blanks that belong to the match.
    BehindBlanks,
}

/// Collects the bytes that a program can begin with.
struct First<'p> {
    program: &'p Program,
    rule: Rule,
    table: Table,
    seen: Vec<bool>,
    /// Where the program goes on behind a character of one byte.
    next: Vec<Pc>,
    /// Whether blanks have been passed over.
    has_blanks: bool,
}

impl<'p> First<'p> {
    fn new(program: &'p Program, rule: Rule) -> First<'p> {
        First {
            program,
            rule,
            table: Box::new([false; 256]),
            seen: vec![false; program.insts.len()],
            next: Vec::new(),
            has_blanks: false,
        }
    }

    /// The bytes that a program, or a part of one, can begin with.
    fn of(program: &Program, start: Pc, rule: Rule) -> First<'_> {
        let mut first = First::new(program, rule);
        if first.follow(start) {
            first.table.fill(true);
        }
        first
    }

    /// The bytes that can come first behind blanks, or without any; nothing if no blanks can come, or if
    /// a match may end before.
    fn behind_blanks(program: &Program) -> Option<First<'_>> {
        if program.needs_backtracking || program.looks.at_end {
            return None;
        }
        let mut first = First::new(program, Rule::BehindBlanks);
        let can_end = first.follow(program.start);
        (first.has_blanks && !can_end).then_some(first)
    }

    /// The bytes that can come second.
    fn second(&self) -> Table {
        let is_full = count(&self.table) == 256;
        if self.program.needs_backtracking || is_full {
            return Box::new([true; 256]);
        }
        let mut second = First::new(self.program, Rule::AtStart);
        let can_end = self.next.iter().any(|&next| second.follow(next));
        if can_end {
            second.table.fill(true);
        }
        if (128..256).any(|lead| self.table[lead]) {
            second.table[0x80..0xc0].fill(true);
        }
        second.table
    }

    /// Adds the bytes that the program at `start`, or a part of one, can take first. Says whether it
    /// can match without taking any.
    ///
    /// Where something is looked for ahead, a match begins with what is looked for and with what
    /// comes next, so either will do. What must not stand there says nothing: then it is what comes
    /// next. This is not only quicker. A text that ends where a look ahead wants more is held back,
    /// but need not be if what comes next can't begin there.
    fn follow(&mut self, start: Pc) -> bool {
        let mut stack = vec![start];
        let mut can_be_empty = false;
        while let Some(pc) = stack.pop() {
            if std::mem::replace(&mut self.seen[pc as usize], true) {
                continue;
            }
            match self.program.insts[pc as usize] {
                Inst::Set { set, next } => self.take(&mut stack, set, next),
                Inst::Match => can_be_empty = true,
                Inst::Split { first, second } => stack.extend([first, second]),
                Inst::Save { next, .. } => stack.push(next),
                Inst::Again { split, next } => stack.extend([split, next]),
                Inst::Look { look, next } => self.follow_look(&mut stack, look, next),
                Inst::Around {
                    start,
                    behind: false,
                    negate: false,
                    next,
                }
                | Inst::Atomic { start, next } => {
                    if self.follow(start) {
                        stack.push(next);
                    }
                }
                Inst::Around { next, .. } | Inst::Behind { next, .. } => stack.push(next),
                Inst::Fail => {}
            }
        }
        can_be_empty
    }

    /// Follows what comes after a look. The end of the text is asked for separately; `$` may stand
    /// before a newline.
    fn follow_look(&mut self, stack: &mut Vec<Pc>, look: Look, next: Pc) {
        match look {
            Look::TextStart if self.rule == Rule::AtStart => stack.push(next),
            Look::TextStart | Look::TextEnd => {}
            Look::TextEndOrFinalNewline => self.table[b'\n' as usize] = true,
            Look::LineStart
            | Look::LineEnd
            | Look::WordBoundary
            | Look::NotWordBoundary
            | Look::WordStart
            | Look::WordEnd => stack.push(next),
        }
    }

    /// Adds the bytes that characters of a set begin with, and follows what comes behind blanks, where
    /// these are passed over.
    fn take(&mut self, stack: &mut Vec<Pc>, set: usize, next: Pc) {
        let alphabet = &self.program.alphabet;
        let mut is_single = false;
        for byte in 0..128u8 {
            if !alphabet.holds(set, alphabet.class_of_ascii(byte)) {
                continue;
            }
            match self.rule == Rule::BehindBlanks && is_blank(byte) {
                true => {
                    stack.push(next);
                    self.has_blanks = true;
                }
                false => {
                    self.table[byte as usize] = true;
                    is_single = true;
                }
            }
        }
        if is_single {
            self.next.push(next);
        }
        for lead in 0xc2..=0xf4u32 {
            let (first, last) = match lead {
                0xc2..=0xdf => ((lead & 0x1f) << 6, ((lead & 0x1f) << 6) | 0x3f),
                0xe0..=0xef => ((lead & 0x0f) << 12, ((lead & 0x0f) << 12) | 0xfff),
                _ => ((lead & 0x07) << 18, ((lead & 0x07) << 18) | 0x3_ffff),
            };
            self.table[lead as usize] |= alphabet.meets(set, first.max(128), last);
        }
    }
}
