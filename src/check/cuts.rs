//! The ways in which a text may arrive.

use std::fmt;
use std::iter::FusedIterator;
use std::slice;

/// A way to cut a text into pieces.
///
/// ```
/// use unjinja::check::Cut;
///
/// let text = "Call get_weather(\"Zürich\")";
/// let cut = Cut::tokens(text);
/// let pieces: Vec<&str> = cut.pieces(text).collect();
/// assert_eq!(pieces, ["Call", " get", "_", "weather", "(", "\"", "Zürich", "\"", ")"]);
/// assert_eq!(cut.to_string(), "token by token");
/// assert_eq!(Cut::bytes(text, 20).pieces(text).count(), 2);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    how: How,
    /// The offsets of bytes where a new piece begins.
    at: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Whole,
    Characters,
    Tokens,
    /// So many bytes each.
    Bytes(usize),
    /// By chance, so many bytes each on the average.
    Random(usize),
}

/// How long the pieces of each random cut are by which cases are checked, on the average.
const MEAN_LENGTHS: [usize; 5] = [2, 4, 12, 48, 256];

/// What is taken for a token has at most so many bytes of a word, or of one sign.
const LONGEST_TOKEN: usize = 12;

impl Cut {
    /// How many ways there are in which a case is checked, with the whole.
    pub const COUNT: usize = 3 + MEAN_LENGTHS.len();

    /// All at once.
    pub fn whole() -> Cut {
        Cut {
            how: How::Whole,
            at: Vec::new(),
        }
    }

    /// Character by character.
    pub fn characters(text: &str) -> Cut {
        Cut {
            how: How::Characters,
            at: text.char_indices().skip(1).map(|(at, _)| at).collect(),
        }
    }

    /// About as a model writes a text: a word with the white space before it, long words in parts,
    /// and each sign, or run of one sign, by itself. No model's own tokens are known here.
    pub fn tokens(text: &str) -> Cut {
        Cut {
            how: How::Tokens,
            at: Cut::token_places(text).collect(),
        }
    }

    /// The [`places`](Self::places) of [`tokens`](Self::tokens) one by one: a long text has too many to be
    /// listed for nothing.
    ///
    /// ```
    /// use unjinja::check::Cut;
    ///
    /// let text = "High water is at noon.";
    /// assert!(Cut::token_places(text).eq(Cut::tokens(text).places().iter().copied()));
    /// ```
    pub fn token_places(text: &str) -> impl Iterator<Item = usize> {
        let next = |at: &usize| Some(at + token_length(&text[*at..])).filter(|to| to < &text.len());
        std::iter::successors(Some(0), next).skip(1)
    }

    /// In pieces of so many bytes, at least one. It may cut characters in two: see
    /// [`pieces`](Self::pieces).
    pub fn bytes(text: &str, length: usize) -> Cut {
        let length = length.max(1);
        Cut {
            how: How::Bytes(length),
            at: (length..text.len()).step_by(length).collect(),
        }
    }

    /// In pieces by chance, of so many bytes on the average, at least one. The same seed cuts the
    /// same text alike.
    pub fn random(text: &str, mean: usize, seed: u64) -> Cut {
        let mean = mean.max(1);
        let mut random = SplitMix64(seed);
        let longest = (mean as u64).saturating_mul(2) - 1;
        let mut next = || 1 + (random.next() % longest) as usize;
        let mut at = Vec::new();
        let mut place = next();
        while place < text.len() {
            at.push(place);
            place = place.saturating_add(next());
        }
        Cut {
            how: How::Random(mean),
            at,
        }
    }

    /// All the ways in which a case's text is cut but for the whole: byte by byte, character by
    /// character, and by chance.
    pub(super) fn all(text: &str, name: &str, seed: u64) -> impl Iterator<Item = Cut> {
        // Each case has cuts of its own, which stay the same when others come or go.
        let named = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let random = MEAN_LENGTHS.into_iter().enumerate();
        let random = random.map(move |(index, mean)| {
            Cut::random(text, mean, seed ^ named.wrapping_add(index as u64))
        });
        // One at a time, since each takes more memory than the text.
        let plain = [|text| Cut::bytes(text, 1), Cut::characters];
        plain.into_iter().map(move |cut| cut(text)).chain(random)
    }

    /// The offsets of bytes where a new piece begins.
    pub fn places(&self) -> &[usize] {
        &self.at
    }

    /// The pieces of the text. A character that is cut in two comes with its last byte, as from
    /// whoever puts characters together; the pieces before may be empty.
    pub fn pieces<'c, 't>(&'c self, text: &'t str) -> Pieces<'c, 't> {
        pieces(text, &self.at)
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.how {
            How::Whole => f.write_str("whole"),
            How::Characters => f.write_str("character by character"),
            How::Tokens => f.write_str("token by token"),
            How::Bytes(1) => f.write_str("byte by byte"),
            How::Bytes(length) => write!(f, "in pieces of {length} bytes"),
            How::Random(mean) => write!(f, "in random pieces of {mean} bytes or so"),
        }
    }
}

/// The pieces of a text that is cut at some places, as [`Cut::pieces`] has them.
pub(super) fn pieces<'c, 't>(text: &'t str, places: &'c [usize]) -> Pieces<'c, 't> {
    Pieces {
        text,
        start: 0,
        places: Some(places.iter()),
    }
}

/// The pieces of a text: see [`Cut::pieces`].
#[derive(Debug, Clone)]
pub struct Pieces<'c, 't> {
    text: &'t str,
    /// Where the next piece starts.
    start: usize,
    /// Where the pieces end but for the last; nothing when that is out, too.
    places: Option<slice::Iter<'c, usize>>,
}

impl<'t> Iterator for Pieces<'_, 't> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let end = match self.places.as_mut()?.next() {
            Some(&place) => place,
            None => {
                self.places = None;
                self.text.len()
            }
        };
        let end = self.text.floor_char_boundary(end).max(self.start);
        let piece = &self.text[self.start..end];
        self.start = end;
        Some(piece)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.places.as_ref().map_or(0, |places| places.len() + 1);
        (count, Some(count))
    }
}

impl ExactSizeIterator for Pieces<'_, '_> {}

impl FusedIterator for Pieces<'_, '_> {}

/// How many bytes of a text belong to the token that it begins with.
fn token_length(text: &str) -> usize {
    let Some(first) = text.chars().next() else {
        return 0;
    };
    let space = match first.is_whitespace() {
        true => first.len_utf8(),
        false => 0,
    };
    let word = run_length(&text[space..], is_of_word);
    if word > 0 {
        return space + word;
    }
    let run = run_length(text, |c| c == first);
    // The last white space goes with the word.
    match text[run..].starts_with(is_of_word) {
        true => run - space,
        false => run,
    }
}

/// Whether a character is one of those that words are made of: a mark belongs to its letter. To look
/// it up would take most of the time of cutting a long text.
fn is_of_word(c: char) -> bool {
    match c {
        '\0'..='\u{7f}' => c.is_ascii_alphanumeric(),
        // Signs of Latin, general punctuation with its spaces, and signs of Chinese and Japanese.
        '\u{80}'..='\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' => false,
        _ => true,
    }
}

/// How many bytes of a text belong to the run of such characters that it begins with, up to as many
/// as a token may have.
fn run_length(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    let mut end = 0;
    for c in text.chars() {
        let next = end + c.len_utf8();
        if next > LONGEST_TOKEN || !belongs(c) {
            break;
        }
        end = next;
    }
    end
}

/// Numbers by chance, the same ones for the same seed (SplitMix64).
struct SplitMix64(u64);

impl SplitMix64 {
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
            let others = [
                Cut::whole(),
                Cut::tokens(text),
                Cut::bytes(text, 0),
                Cut::bytes(text, 3),
                Cut::bytes(text, usize::MAX),
                Cut::random(text, 0, 1),
                Cut::random(text, usize::MAX, 1),
            ];
            for cut in Cut::all(text, "name", 7).chain(others) {
                let pieces: Vec<&str> = cut.pieces(text).collect();
                assert_eq!(pieces.concat(), text, "{cut}");
                assert_eq!(pieces.len(), cut.at.len() + 1, "{cut}");
            }
        }
    }

    #[test]
    fn a_cut_of_another_text_cuts_where_it_can() {
        let cut = Cut::bytes("a longer text", 5);
        assert_eq!(
            cut.pieces("short 水").collect::<Vec<_>>(),
            ["short", " 水", ""]
        );
    }

    #[test]
    fn characters_come_with_their_last_byte() {
        let text = "é水";
        let pieces = |cut: Cut| cut.pieces(text).collect::<Vec<_>>();
        assert_eq!(pieces(Cut::bytes(text, 1)), ["", "é", "", "", "水"]);
        assert_eq!(pieces(Cut::bytes(text, 2)), ["é", "", "水"]);
        assert_eq!(pieces(Cut::characters(text)), ["é", "水"]);
    }

    #[test]
    fn tokens_are_words_and_signs() {
        for (text, expected) in [
            ("", vec![""]),
            (
                "It's 5 o'clock",
                vec!["It", "'", "s", " 5", " o", "'", "clock"],
            ),
            ("a\n\n  b  ", vec!["a", "\n\n", " ", " b", "  "]),
            ("a \n", vec!["a", " ", "\n"]),
            ("</x>{\"k\"", vec!["<", "/", "x", ">", "{", "\"", "k", "\""]),
            ("== ---------------", vec!["==", " ", "------------", "---"]),
            (" internationalization", vec![" internationa", "lization"]),
            ("水水水水水", vec!["水水水水", "水"]),
            ("x\u{301}y — 。", vec!["x\u{301}y", " ", "—", " ", "。"]),
        ] {
            let pieces: Vec<&str> = Cut::tokens(text).pieces(text).collect();
            assert_eq!(pieces, expected);
        }
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
            assert!(pieces >= 500 / (2 * mean), "{cut}: {pieces}");
        }
    }

    #[test]
    fn the_cuts_of_a_case_stay_the_same_for_good() {
        let places = |cut: Cut| cut.places().iter().take(4).copied().collect::<Vec<_>>();
        let text = "x".repeat(2000);
        let all = Cut::all(&text, "a greeting", 7).map(places);
        let expected = [
            [1, 2, 3, 4],
            [1, 2, 3, 4],
            [1, 3, 4, 7],
            [7, 11, 15, 22],
            [22, 28, 31, 42],
            [68, 115, 173, 176],
            [224, 569, 910, 1412],
        ];
        assert_eq!(all.collect::<Vec<_>>(), expected);
    }
}
