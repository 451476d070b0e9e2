//! Skipping what can't begin a match.

use super::program::{Inst, Pc, Program};
use super::syntax::Look;

/// Below this many bytes a plain loop beats setting up a vectorised search.
const SHORT: usize = 16;

/// The bytes at which a match can begin.
#[derive(Debug)]
pub(crate) struct Prefilter {
    table: Box<[bool; 256]>,
    /// The bytes at which a match can begin that begins with the text.
    at_start: Box<[bool; 256]>,
    /// The same bytes, if there are at most three.
    few: Vec<u8>,
}

impl Prefilter {
    pub(crate) fn new(program: &Program) -> Prefilter {
        let table = First::of(program, false);
        let few: Vec<u8> = (0..=255).filter(|&b| table[b as usize]).take(4).collect();
        Prefilter {
            at_start: match program.looks.text_start {
                true => First::of(program, true),
                false => table.clone(),
            },
            few: if few.len() <= 3 { few } else { Vec::new() },
            table,
        }
    }

    /// Whether a match may begin with the text, given its first byte.
    pub(crate) fn allows_at_start(&self, first: Option<&u8>) -> bool {
        first.is_none_or(|&byte| self.at_start[byte as usize])
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
        from + offset.unwrap_or(text.len())
    }
}

/// Collects the bytes that a program can begin with.
struct First<'p> {
    program: &'p Program,
    table: Box<[bool; 256]>,
    seen: Vec<bool>,
    /// Whether it begins with the text.
    at_start: bool,
}

impl First<'_> {
    /// The bytes that a program can begin with, at the start of the text or elsewhere.
    fn of(program: &Program, at_start: bool) -> Box<[bool; 256]> {
        let mut first = First {
            program,
            table: Box::new([false; 256]),
            seen: vec![false; program.insts.len()],
            at_start,
        };
        if first.follow(program.start) {
            first.table.fill(true);
        }
        first.table
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
                Inst::Set { set, .. } => add_set(&mut self.table, self.program, set),
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
                Inst::Around { next, .. } => stack.push(next),
            }
        }
        can_be_empty
    }

    /// Follows what comes after a look. The end of the text is asked for separately; `$` may stand
    /// before a newline.
    fn follow_look(&mut self, stack: &mut Vec<Pc>, look: Look, next: Pc) {
        match look {
            Look::TextStart if self.at_start => stack.push(next),
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
}

fn add_set(table: &mut [bool; 256], program: &Program, set: usize) {
    for byte in 0..128u8 {
        let class = program.alphabet.class_of_ascii(byte);
        table[byte as usize] |= program.alphabet.holds(set, class);
    }
    for lead in 0xc2..=0xf4u32 {
        let (first, last) = match lead {
            0xc2..=0xdf => ((lead & 0x1f) << 6, ((lead & 0x1f) << 6) | 0x3f),
            0xe0..=0xef => ((lead & 0x0f) << 12, ((lead & 0x0f) << 12) | 0xfff),
            _ => ((lead & 0x07) << 18, ((lead & 0x07) << 18) | 0x3_ffff),
        };
        table[lead as usize] |= program.alphabet.meets(set, first.max(128), last);
    }
}
