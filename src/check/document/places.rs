//! Lines and columns of many places in a text.

use std::ops::Range;

/// So many bytes are counted at a time.
const BLOCK: usize = 1024;

/// Knows where lines begin and how many characters there are, so that to ask for a place costs the
/// same in a text of any length, even if it is all on one line.
#[derive(Debug)]
pub(super) struct Places {
    /// Where each line begins.
    lines: Vec<usize>,
    /// How many characters begin before each block.
    characters: Vec<usize>,
}

impl Places {
    pub(super) fn new(text: &str) -> Places {
        let breaks = memchr::memchr_iter(b'\n', text.as_bytes());
        let lines = [0].into_iter().chain(breaks.map(|at| at + 1)).collect();
        let mut before = 0;
        let characters = text.as_bytes().chunks(BLOCK).map(|block| {
            let begun = before;
            before += beginnings(block);
            begun
        });
        Places {
            lines,
            characters: characters.collect(),
        }
    }

    /// Line and column, both from 1, of an offset in the text.
    pub(super) fn position(&self, text: &str, offset: usize) -> (usize, usize) {
        let offset = text.floor_char_boundary(offset);
        let line = self.lines.partition_point(|&start| start <= offset);
        let column = self.count(text, self.lines[line - 1]..offset) + 1;
        (line, column)
    }

    /// How many characters a range has.
    fn count(&self, text: &str, range: Range<usize>) -> usize {
        let before = |offset: usize| match self.characters.get(offset / BLOCK) {
            Some(count) => count + beginnings(&text.as_bytes()[offset / BLOCK * BLOCK..offset]),
            None => self.characters.last().map_or(0, |count| {
                count + beginnings(&text.as_bytes()[(self.characters.len() - 1) * BLOCK..])
            }),
        };
        before(range.end) - before(range.start)
    }
}

/// How many characters begin among some bytes.
fn beginnings(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::line_column;

    #[test]
    fn every_place_is_where_counting_finds_it() {
        for text in [
            "",
            "\n",
            "é\r\n水\n\nz",
            &"é水x".repeat(700),
            &"ab\né\n".repeat(500),
        ] {
            let places = Places::new(text);
            for offset in 0..=text.len() + 2 {
                assert_eq!(
                    places.position(text, offset),
                    line_column(text, offset),
                    "{offset}"
                );
            }
        }
    }
}
