//! Skipping what can't begin a match.

use super::program::{Inst, Pc, Program};
use super::syntax::Look;

/// Below this many bytes a plain loop beats setting up a vectorised search.
const SHORT: usize = 16;

/// The bytes at which a match can begin.
///
/// Where white space may come first, as in `\s*</x>`, every blank would be such a byte. There, the bytes
/// that can follow it are looked for, and then the blanks before them; what is left are those at the end.
#[derive(Debug, Clone)]
pub(crate) struct Prefilter {
    table: Box<[bool; 256]>,
    /// The same bytes, if there are at most three.
    few: Vec<u8>,
    /// Whether blanks may stand before these bytes.
    after_blanks: bool,
    /// The bytes at which a match can begin that begins with the text.
    at_start: Box<[bool; 256]>,
}

impl Prefilter {
    pub(crate) fn new(program: &Program) -> Prefilter {
        let plain = First::of(program, Rule::Anywhere);
        let behind_blanks = First::behind_blanks(program).filter(|table| {
            // More bytes to look for would be worse than blanks.
            table.iter().filter(|&&is_first| is_first).count()
                <= plain.iter().filter(|&&is_first| is_first).count()
        });
        let at_start = match program.looks.text_start {
            true => First::of(program, Rule::AtStart),
            false => plain.clone(),
        };
        let after_blanks = behind_blanks.is_some();
        Prefilter::of(behind_blanks.unwrap_or(plain), after_blanks, at_start)
    }

    /// The places where any of several programs may find a match.
    pub(crate) fn any<'p>(all: impl Iterator<Item = &'p Prefilter>) -> Prefilter {
        let mut table = Box::new([false; 256]);
        let mut at_start = Box::new([false; 256]);
        let mut after_blanks = false;
        for one in all {
            after_blanks |= one.after_blanks;
            for byte in 0..256 {
                table[byte] |= one.table[byte];
                at_start[byte] |= one.at_start[byte];
            }
        }
        Prefilter::of(table, after_blanks, at_start)
    }

    fn of(table: Box<[bool; 256]>, after_blanks: bool, at_start: Box<[bool; 256]>) -> Prefilter {
        let few: Vec<u8> = (0..=255).filter(|&b| table[b as usize]).take(4).collect();
        Prefilter {
            few: if few.len() <= 3 { few } else { Vec::new() },
            table,
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
        let text = &bytes[from..end];
        let offset = if text.len() < SHORT {
            text.iter().position(|&b| self.table[b as usize])
        } else {
            match *self.few {
                [a] => memchr::memchr(a, text),
                [a, b] => memchr::memchr2(a, b, text),
                [a, b, c] => memchr::memchr3(a, b, c, text),
                _ => text.iter().position(|&b| self.table[b as usize]),
            }
        };
        let offset = offset.unwrap_or(text.len());
        if !self.after_blanks {
            return from + offset;
        }
        let blanks = text[..offset].iter().rev().take_while(|&&b| is_blank(b));
        from + offset - blanks.count()
    }
}

/// Whether a byte is white space by itself.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | 0x1c..=0x1f | b' ')
}

/// Where the bytes are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Anywhere,
    /// At the beginning of the text.
    AtStart,
    /// Anywhere, behind blanks that belong to the match.
    BehindBlanks,
}

/// Collects the bytes that a program can begin with.
struct First<'p> {
    program: &'p Program,
    rule: Rule,
    table: Box<[bool; 256]>,
    seen: Vec<bool>,
}

impl First<'_> {
    fn new(program: &Program, rule: Rule) -> First<'_> {
        First {
            program,
            rule,
            table: Box::new([false; 256]),
            seen: vec![false; program.insts.len()],
        }
    }

    /// The bytes that a program can begin with.
    fn of(program: &Program, rule: Rule) -> Box<[bool; 256]> {
        let mut first = First::new(program, rule);
        if first.follow(program.start) {
            first.table.fill(true);
        }
        first.table
    }

    /// The bytes that can come first behind blanks, or without any; nothing if it has no use to look
    /// for them, because a match may end before.
    fn behind_blanks(program: &Program) -> Option<Box<[bool; 256]>> {
        if program.needs_backtracking || program.looks.at_end {
            return None;
        }
        let mut first = First::new(program, Rule::BehindBlanks);
        let can_end = first.follow(program.start);
        (!can_end).then_some(first.table)
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
                Inst::Set { set, next } => {
                    if self.add_set(set) {
                        stack.push(next);
                    }
                }
                Inst::Match => can_be_empty = true,
                Inst::Split { first, second } => stack.extend([first, second]),
                Inst::Save { next, .. } | Inst::Again { next, .. } => stack.push(next),
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

    /// Adds the bytes that characters of a set begin with; says whether blanks among them are passed
    /// over.
    fn add_set(&mut self, set: usize) -> bool {
        let alphabet = &self.program.alphabet;
        let mut passes = false;
        for byte in 0..128u8 {
            if !alphabet.holds(set, alphabet.class_of_ascii(byte)) {
                continue;
            }
            match self.rule == Rule::BehindBlanks && is_blank(byte) {
                true => passes = true,
                false => self.table[byte as usize] = true,
            }
        }
        for lead in 0xc2..=0xf4u32 {
            let (first, last) = match lead {
                0xc2..=0xdf => ((lead & 0x1f) << 6, ((lead & 0x1f) << 6) | 0x3f),
                0xe0..=0xef => ((lead & 0x0f) << 12, ((lead & 0x0f) << 12) | 0xfff),
                _ => ((lead & 0x07) << 18, ((lead & 0x07) << 18) | 0x3_ffff),
            };
            self.table[lead as usize] |= alphabet.meets(set, first.max(128), last);
        }
        passes
    }
}
