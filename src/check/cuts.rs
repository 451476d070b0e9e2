//! The ways in which a text may arrive.

use std::fmt;

/// A way to cut a text into pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    how: How,
    /// The offsets of bytes where a new piece begins.
    at: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Whole,
    Bytes,
    Characters,
    /// By chance: which of the cuts it is.
    Random(usize),
}

/// How long the pieces of each random cut are, on the average.
const MEAN_LENGTHS: [u64; 5] = [2, 4, 12, 48, 256];

impl Cut {
    /// All at once.
    pub(super) fn whole() -> Cut {
        Cut {
            how: How::Whole,
            at: Vec::new(),
        }
    }

    /// All the ways in which a text is cut but for the whole: byte by byte, character by
    /// character, and by chance.
    pub(super) fn all(text: &str, name: &str, seed: u64) -> impl Iterator<Item = Cut> {
        // One at a time, since each takes more memory than the text.
        let plain = [How::Bytes, How::Characters].into_iter();
        let plain = plain.map(move |how| Cut {
            how,
            at: match how {
                How::Bytes => (1..text.len()).collect(),
                _ => text.char_indices().skip(1).map(|(at, _)| at).collect(),
            },
        });
        let random = (0..MEAN_LENGTHS.len()).map(move |index| Cut::random(text, name, seed, index));
        plain.chain(random)
    }

    /// How many ways there are, with the whole.
    pub const COUNT: usize = 3 + MEAN_LENGTHS.len();

    fn random(text: &str, name: &str, seed: u64, index: usize) -> Cut {
        // Each case has cuts of its own, which stay the same when others come or go.
        let named = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut chance = Chance(seed ^ named.wrapping_add(index as u64));
        let longest = 2 * MEAN_LENGTHS[index] - 1;
        let mut next = || 1 + (chance.next() % longest) as usize;
        let mut at = Vec::new();
        let mut place = next();
        while place < text.len() {
            at.push(place);
            place += next();
        }
        Cut {
            how: How::Random(index),
            at,
        }
    }

    /// The offsets of bytes where a new piece begins.
    pub fn places(&self) -> &[usize] {
        &self.at
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.how {
            How::Whole => f.write_str("whole"),
            How::Bytes => f.write_str("byte by byte"),
            How::Characters => f.write_str("character by character"),
            How::Random(index) => {
                write!(f, "in random pieces of {} bytes or so", MEAN_LENGTHS[index])
            }
        }
    }
}

/// The pieces of a text that is cut at some places. A character that is cut in two comes with its
/// last byte, as from whoever puts characters together; the pieces before may be empty.
pub(super) fn pieces<'t>(text: &'t str, places: &[usize]) -> impl Iterator<Item = &'t str> {
    let ends = places.iter().copied().chain([text.len()]);
    let mut start = 0;
    ends.map(move |end| {
        let end = text.floor_char_boundary(end).max(start);
        let piece = &text[start..end];
        start = end;
        piece
    })
}

/// Numbers by chance, the same ones for the same seed (SplitMix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_every_cut_make_up_the_text() {
        for text in ["", "a", "aé水😀z", &"long é ".repeat(200)] {
            for cut in Cut::all(text, "name", 7).chain([Cut::whole()]) {
                let pieces: Vec<&str> = pieces(text, &cut.at).collect();
                assert_eq!(pieces.concat(), text, "{cut}");
                assert_eq!(pieces.len(), cut.at.len() + 1, "{cut}");
            }
        }
    }

    #[test]
    fn characters_come_with_their_last_byte() {
        let cuts: Vec<Cut> = Cut::all("é水", "", 0).collect();
        let of = |cut: &Cut| {
            pieces("é水", &cut.at)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&cuts[0]), ["", "é", "", "", "水"]);
        assert_eq!(of(&cuts[1]), ["é", "水"]);
    }

    #[test]
    fn chance_goes_by_the_seed_and_the_name() {
        let text = "x".repeat(500);
        let all = |name, seed| Cut::all(&text, name, seed).collect::<Vec<Cut>>();
        assert_eq!(all("a", 1), all("a", 1));
        assert_ne!(all("a", 1), all("a", 2));
        assert_ne!(all("a", 1), all("b", 1));
        assert_eq!(all("a", 1).len() + 1, Cut::COUNT);
        for (cut, mean) in all("a", 1)[2..].iter().zip(MEAN_LENGTHS) {
            let pieces = cut.at.len() + 1;
            assert!(pieces as u64 >= 500 / (2 * mean), "{cut}: {pieces}");
        }
    }
}
