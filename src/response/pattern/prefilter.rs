//! Skipping what can't begin a match.

use super::program::{Inst, Pc, Program};
use super::syntax::Look;

/// Below this many bytes a plain loop beats setting up a vectorised search.
const SHORT: usize = 16;

/// The bytes at which a match can begin.
#[derive(Debug)]
pub(crate) struct Prefilter {
    table: Box<[bool; 256]>,
    /// The same bytes, if there are at most three.
    few: Vec<u8>,
}

impl Prefilter {
    pub(crate) fn new(program: &Program) -> Prefilter {
        let mut table = Box::new([false; 256]);
        let mut seen = vec![false; program.insts.len()];
        let mut stack = vec![program.start];
        let mut everywhere = false;
        while let Some(pc) = stack.pop() {
            if std::mem::replace(&mut seen[pc as usize], true) {
                continue;
            }
            match program.insts[pc as usize] {
                Inst::Set { set, .. } => add_set(&mut table, program, set),
                Inst::Match => everywhere = true,
                Inst::Split { first, second } => stack.extend([first, second]),
                Inst::Save { next, .. } | Inst::Again { next, .. } => stack.push(next),
                Inst::Look { look, next } => follow_look(&mut table, &mut stack, look, next),
                // What is looked for ahead may be what has yet to come.
                Inst::Around {
                    start,
                    behind: false,
                    next,
                    ..
                } => stack.extend([start, next]),
                Inst::Around { next, .. } => stack.push(next),
                // If it may be empty, its end says that a match can begin anywhere.
                Inst::Atomic { start, .. } => stack.push(start),
            }
        }
        if everywhere {
            table.fill(true);
        }
        let few: Vec<u8> = (0..=255).filter(|&b| table[b as usize]).take(4).collect();
        Prefilter {
            few: if few.len() <= 3 { few } else { Vec::new() },
            table,
        }
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

/// What can follow a look. The ends of the text are asked for separately, and nothing is skipped
/// at its start, so neither lets a match begin anywhere else; `$` may stand before a newline.
fn follow_look(table: &mut [bool; 256], stack: &mut Vec<Pc>, look: Look, next: Pc) {
    match look {
        Look::TextStart | Look::TextEnd => {}
        Look::TextEndOrFinalNewline => table[b'\n' as usize] = true,
        Look::LineStart
        | Look::LineEnd
        | Look::WordBoundary
        | Look::NotWordBoundary
        | Look::WordStart
        | Look::WordEnd => stack.push(next),
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
