//! The characters of a program, sorted into classes that it does not distinguish.
//!
//! An automaton over all of Unicode would be huge; one over the handful of classes that a pattern
//! distinguishes is tiny. Two characters share a class when every set of the program holds either
//! both of them or neither.

use foldhash::HashMap;
use regex_syntax::hir::ClassUnicode;

/// Index of a class of characters.
pub type Class = u16;

/// Which class each character belongs to, and which sets hold which classes.
#[derive(Debug)]
pub struct Alphabet {
    ascii: [Class; 128],
    /// First code point of every run of characters that share a class, in ascending order.
    starts: Vec<u32>,
    /// The class of each of those runs.
    classes: Vec<Class>,
    /// For each class, one bit a set.
    members: Vec<Box<[u64]>>,
    /// Of each set, whether it holds anything but ASCII.
    beyond_ascii: Vec<bool>,
}

impl Alphabet {
    /// Sorts all characters by their membership in `sets`; `None` if there are more classes than
    /// can be numbered.
    pub fn new(sets: &[ClassUnicode]) -> Option<Alphabet> {
        let mut starts: Vec<u32> = vec![0];
        for range in sets.iter().flat_map(ClassUnicode::ranges) {
            starts.push(range.start().into());
            starts.push(u32::from(range.end()) + 1);
        }
        starts.sort_unstable();
        starts.dedup();
        let words = sets.len().div_ceil(64).max(1);
        let mut runs: Vec<Box<[u64]>> = vec![vec![0; words].into_boxed_slice(); starts.len()];
        for (set, class) in sets.iter().enumerate() {
            for range in class.ranges() {
                let first = starts.partition_point(|&s| s < u32::from(range.start()));
                let last = starts.partition_point(|&s| s <= u32::from(range.end()));
                for run in &mut runs[first..last] {
                    run[set / 64] |= 1 << (set % 64);
                }
            }
        }
        let mut known: HashMap<Box<[u64]>, Class> = HashMap::default();
        let mut members = Vec::new();
        let classes: Vec<Class> = runs
            .into_iter()
            .map(|run| {
                *known.entry(run).or_insert_with_key(|run| {
                    members.push(run.clone());
                    (members.len() - 1) as Class
                })
            })
            .collect();
        if members.len() > usize::from(Class::MAX) {
            return None;
        }
        let ends = sets.iter().map(|set| set.ranges().last());
        let beyond_ascii = ends.map(|last| last.is_some_and(|last| !last.end().is_ascii()));
        let mut alphabet = Alphabet {
            beyond_ascii: beyond_ascii.collect(),
            ascii: [0; 128],
            starts,
            classes,
            members,
        };
        for byte in 0..128u8 {
            alphabet.ascii[byte as usize] = alphabet.search(byte.into());
        }
        Some(alphabet)
    }

    /// How many classes there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// The class of an ASCII byte.
    #[inline(always)]
    pub fn class_of_ascii(&self, byte: u8) -> Class {
        self.ascii[(byte & 127) as usize]
    }

    /// The class of any character.
    #[inline]
    pub fn class_of(&self, c: char) -> Class {
        if c.is_ascii() {
            self.ascii[c as usize]
        } else {
            self.search(c)
        }
    }

    /// The ASCII bytes that belong to some of the classes, unless other characters do, too.
    pub fn ascii_of(&self, is_in: &[bool]) -> Option<Box<[u8]>> {
        let ends = self.starts.iter().skip(1).copied().chain([u32::MAX]);
        let mut beyond = self.classes.iter().zip(ends).filter(|&(_, end)| end > 128);
        if beyond.any(|(&class, _)| is_in[class as usize]) {
            return None;
        }
        let bytes = (0..128).filter(|&byte| is_in[self.class_of_ascii(byte) as usize]);
        Some(bytes.collect())
    }

    /// Whether the set holds the characters of a class.
    #[inline]
    pub fn holds(&self, set: usize, class: Class) -> bool {
        self.members[class as usize][set / 64] >> (set % 64) & 1 == 1
    }

    /// Whether the set holds anything but ASCII.
    pub fn holds_beyond_ascii(&self, set: usize) -> bool {
        self.beyond_ascii[set]
    }

    /// One class for each way in which some of the sets hold characters: what goes by these sets alone treats all
    /// others like one of them.
    pub fn distinguished_by(&self, sets: impl Iterator<Item = usize>) -> Vec<Class> {
        let mut mask = vec![0; self.members.first().map_or(0, |words| words.len())];
        for set in sets {
            mask[set / 64] |= 1 << (set % 64);
        }
        let is_like = |one: &[u64], other: &[u64]| {
            let mut words = one.iter().zip(other).zip(&mask);
            words.all(|((one, other), mask)| (one ^ other) & mask == 0)
        };
        let mut distinct: Vec<Class> = Vec::new();
        for (class, members) in self.members.iter().enumerate() {
            let mut known = distinct.iter().map(|&known| &self.members[known as usize]);
            if !known.any(|known| is_like(known, members)) {
                distinct.push(class as Class);
            }
        }
        distinct
    }

    /// Whether the set holds any character that counts between two code points, both included.
    pub fn meets(&self, set: usize, first: u32, last: u32, counts: impl Fn(char) -> bool) -> bool {
        let from = self.starts.partition_point(|&s| s <= first) - 1;
        let to = self.starts.partition_point(|&s| s <= last);
        let mut runs = (from..to).filter(|&run| self.holds(set, self.classes[run]));
        runs.any(|run| {
            let start = self.starts[run].max(first);
            let end = self
                .starts
                .get(run + 1)
                .map_or(last, |next| last.min(next - 1));
            (start..=end).filter_map(char::from_u32).any(&counts)
        })
    }

    /// A character of a class, a plain one if there is any.
    #[cfg(feature = "internals")]
    pub fn member(&self, class: Class) -> Option<char> {
        let plain = ('a'..='z').chain('!'..='~').chain([' ', '\n', '\t']);
        let first = self.classes.iter().position(|&other| other == class);
        let start = || char::from_u32(self.starts[first?]);
        plain
            .into_iter()
            .find(|&c| self.class_of(c) == class)
            .or_else(start)
    }

    fn search(&self, c: char) -> Class {
        self.classes[self.starts.partition_point(|&s| s <= u32::from(c)) - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex_syntax::hir::ClassUnicodeRange;

    #[test]
    fn characters_that_no_set_distinguishes_share_a_class() {
        let set = |ranges: &[(char, char)]| {
            ClassUnicode::new(ranges.iter().map(|&(a, b)| ClassUnicodeRange::new(a, b)))
        };
        let alphabet = Alphabet::new(&[set(&[('a', 'z')]), set(&[('m', 'm'), ('é', 'ü')])]);
        let alphabet = alphabet.expect("there are few classes");
        assert_eq!(alphabet.len(), 4);
        assert_eq!(alphabet.class_of('b'), alphabet.class_of('z'));
        assert_ne!(alphabet.class_of('b'), alphabet.class_of('m'));
        assert_eq!(alphabet.class_of('A'), alphabet.class_of('\u{10ffff}'));
        for (sets, count) in [(&[][..], 1), (&[0], 2), (&[1], 2), (&[0, 1], 4)] {
            let distinct = alphabet.distinguished_by(sets.iter().copied());
            assert_eq!(distinct.len(), count, "{sets:?}");
        }
        for (set, c, held) in [
            (0, 'm', true),
            (1, 'm', true),
            (1, 'ö', true),
            (0, 'ö', false),
        ] {
            assert_eq!(alphabet.holds(set, alphabet.class_of(c)), held, "{set} {c}");
        }
    }
}
