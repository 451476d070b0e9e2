//! Skipping what can't begin a match.

use super::before_parts::BeforeParts;
use super::program::{Inst, Pc, Program, Reach};
use super::syntax::Look;
use crate::white_space::is_space;

/// Below this many bytes a plain loop beats setting up a vectorised search.
const SHORT: usize = 16;

/// The bytes at which a match can begin, and those that can come next.
///
/// Where white space may come first, as in `\s*</x>`, every blank would be such a byte, and every byte that
/// a blank beyond ASCII begins with. There, the bytes that can follow it are looked for, and then the blanks
/// before them; what is left are those at the end.
#[derive(Debug, Clone)]
pub struct Prefilter {
    first: Table,
    /// The same bytes, if there are at most three.
    few: Vec<u8>,
    second: Seconds,
    /// Whether blanks may stand before these bytes.
    after_blanks: bool,
    /// The bytes at which a match can begin that begins with the text.
    at_start: Table,
}

/// Some of all bytes.
type Table = Box<[bool; 256]>;

/// For each byte the buckets of the first bytes behind which it can come.
type Seconds = Box<[u8; 256]>;

/// So many buckets there are. Two first bytes that share one are taken to go on alike.
const BUCKETS: u32 = 8;

/// The bucket of a first byte, as a bit.
#[inline]
fn bucket(first: u8) -> u8 {
    1 << (u32::from(first) % BUCKETS)
}

impl Prefilter {
    /// A filter for what matches of the program begin with.
    pub fn new(program: &Program) -> Prefilter {
        Prefilter::with(program, None)
    }

    fn with<'p>(program: &'p Program, before_parts: Option<&'p BeforeParts<'p>>) -> Prefilter {
        let start = |rule| First {
            before_parts,
            ..First::new(program, rule)
        };
        let plain = start(Rule::Anywhere).followed(program.start);
        let behind_blanks = start(Rule::BehindBlanks).behind_blanks().filter(|first| {
            // More bytes to look for would be worse than blanks.
            count(&first.table) <= count(&plain.table)
        });
        let at_start = match program.looks.text_start {
            true => start(Rule::AtStart).followed(program.start).table,
            false => plain.table.clone(),
        };
        let after_blanks = behind_blanks.is_some();
        let first = behind_blanks.unwrap_or(plain);
        let second = first.second();
        Prefilter::of(first.table, second, after_blanks, at_start)
    }

    /// A filter for as long as no part of the program has begun that the text behind is held against: what
    /// matches begin with that the text before them allows, and what the parts begin with. There is none
    /// where it would pass over nothing more.
    pub fn before_parts(program: &Program) -> Option<Prefilter> {
        if program.needs_backtracking || program.reach != Reach::Everything {
            return None;
        }
        let plain = Prefilter::new(program);
        let allowed = Prefilter::with(program, Some(&BeforeParts::new(program)));
        let parts = Prefilter::for_parts(program);
        let filter = Prefilter::any([&allowed, &parts].into_iter());
        let is_less = count(&filter.first) < count(&plain.first)
            || (plain.after_blanks && !filter.after_blanks);
        is_less.then_some(filter)
    }

    /// A filter for what the parts begin with that the text behind a position is held against.
    pub fn for_parts(program: &Program) -> Prefilter {
        let parts = program.parts.iter().map(|part| {
            let first = First::new(program, Rule::AtStart).followed(part.start);
            let second = first.second();
            Prefilter::of(first.table.clone(), second, false, first.table)
        });
        let parts: Vec<Prefilter> = parts.collect();
        Prefilter::any(parts.iter())
    }

    /// The places where any of several filters finds something.
    pub fn any<'p>(all: impl Iterator<Item = &'p Prefilter>) -> Prefilter {
        let none = || Box::new([false; 256]);
        let (mut first, mut second, mut at_start) = (none(), Box::new([0; 256]), none());
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

    fn of(first: Table, second: Seconds, after_blanks: bool, at_start: Table) -> Prefilter {
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
    pub fn allows_at_start(&self, first: Option<&u8>) -> bool {
        first.is_none_or(|&byte| self.at_start[byte as usize])
    }

    /// Whether no match ends amid the blanks that it may begin with.
    pub fn skips_blanks(&self) -> bool {
        self.after_blanks
    }

    /// Whether no match begins in a text, however it goes on.
    #[inline]
    pub fn passes(&self, text: &str) -> bool {
        self.find(text, 0, text.len()) == text.len()
    }

    /// The first position from `from` on where a match may begin, or `end`.
    #[inline]
    pub fn find(&self, text: &str, from: usize, end: usize) -> usize {
        let bytes = &text.as_bytes()[..end];
        let mut at = from;
        loop {
            at += self.offset(&bytes[at..]);
            match bytes.get(at..at + 2) {
                Some(&[first, next]) if self.second[next as usize] & bucket(first) == 0 => at += 1,
                _ => break,
            }
        }
        if !self.after_blanks {
            return at;
        }
        from + text[from..at].trim_end_matches(is_space).len()
    }

    /// How many bytes stand before the first of those at which a match can begin.
    #[inline]
    fn offset(&self, bytes: &[u8]) -> usize {
        let offset = if bytes.len() < SHORT {
            bytes.iter().position(|&b| self.first[b as usize])
        } else {
            match *self.few {
                [a] => memchr::memchr(a, bytes),
                [a, b] => memchr::memchr2(a, b, bytes),
                [a, b, c] => memchr::memchr3(a, b, c, bytes),
                _ => bytes.iter().position(|&b| self.first[b as usize]),
            }
        };
        offset.unwrap_or(bytes.len())
    }
}

fn count(table: &Table) -> usize {
    table.iter().filter(|&&is_in| is_in).count()
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
    /// The sets that can take a character of one byte first, and where the program goes on behind it.
    next: Vec<(usize, Pc)>,
    /// Whether blanks have been passed over.
    has_blanks: bool,
    /// Where only that counts which can match though no part has begun before.
    before_parts: Option<&'p BeforeParts<'p>>,
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
            before_parts: None,
        }
    }

    /// The bytes that the program at `start`, or a part of one, can begin with.
    fn followed(mut self, start: Pc) -> First<'p> {
        if self.follow(start) {
            self.table.fill(true);
        }
        self
    }

    /// The bytes that can come first behind blanks, or without any; nothing if no blanks can come, or if
    /// a match may end before.
    fn behind_blanks(mut self) -> Option<First<'p>> {
        if self.program.needs_backtracking || self.program.looks.at_end {
            return None;
        }
        let can_end = self.follow(self.program.start);
        (self.has_blanks && !can_end).then_some(self)
    }

    /// The bytes that can come second.
    fn second(&self) -> Seconds {
        let is_full = count(&self.table) == 256;
        if self.program.needs_backtracking || is_full {
            return Box::new([u8::MAX; 256]);
        }
        let mut seconds = Box::new([0; 256]);
        for number in 0..BUCKETS as u8 {
            let of_bucket = || (number..128).step_by(BUCKETS as usize);
            let mut second = First::new(self.program, Rule::AtStart);
            let mut can_end = false;
            for &(set, next) in &self.next {
                if of_bucket().any(|byte| self.takes(set, byte)) {
                    can_end |= second.follow(next);
                }
            }
            for byte in 0..256 {
                if can_end || second.table[byte] {
                    seconds[byte] |= bucket(number);
                }
            }
        }
        for lead in (128..=255).filter(|&lead| self.table[lead as usize]) {
            for following in 0x80..0xc0 {
                seconds[following] |= bucket(lead);
            }
        }
        seconds
    }

    /// Whether a set holds the character of one byte, and it is not passed over.
    fn takes(&self, set: usize, byte: u8) -> bool {
        let alphabet = &self.program.alphabet;
        let is_passed_over = self.rule == Rule::BehindBlanks && is_space(byte.into());
        !is_passed_over && alphabet.holds(set, alphabet.class_of_ascii(byte))
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
                // What is referred to before anything has been taken is nothing.
                Inst::Save { next, .. } | Inst::Reference { next, .. } => stack.push(next),
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
    /// these are passed over: those beyond ASCII only if some of ASCII are.
    fn take(&mut self, stack: &mut Vec<Pc>, set: usize, next: Pc) {
        if self
            .before_parts
            .is_some_and(|parts| !parts.allows(set, next))
        {
            return;
        }
        let alphabet = &self.program.alphabet;
        let mut is_single = false;
        let mut passes_blanks = false;
        for byte in 0..128u8 {
            if !alphabet.holds(set, alphabet.class_of_ascii(byte)) {
                continue;
            }
            match self.rule == Rule::BehindBlanks && is_space(byte.into()) {
                true => passes_blanks = true,
                false => {
                    self.table[byte as usize] = true;
                    is_single = true;
                }
            }
        }
        if is_single {
            self.next.push((set, next));
        }
        if passes_blanks {
            stack.push(next);
            self.has_blanks = true;
        }
        if !alphabet.holds_beyond_ascii(set) {
            return;
        }
        let counts = |c| !(passes_blanks && is_space(c));
        for lead in 0xc2..=0xf4u32 {
            if self.table[lead as usize] {
                continue;
            }
            let (first, last) = match lead {
                0xc2..=0xdf => ((lead & 0x1f) << 6, ((lead & 0x1f) << 6) | 0x3f),
                0xe0..=0xef => ((lead & 0x0f) << 12, ((lead & 0x0f) << 12) | 0xfff),
                _ => ((lead & 0x07) << 18, ((lead & 0x07) << 18) | 0x3_ffff),
            };
            self.table[lead as usize] = alphabet.meets(set, first.max(128), last, counts);
        }
    }
}
