//! Lines and columns of a text, of which many are asked for.

/// At every so many bytes, line and column are noted.
const STEP: usize = 256;

/// Knows the lines and columns of a text without counting from its beginning.
#[derive(Debug)]
pub(super) struct Places {
    /// Line and column, both from 1, at each step.
    marks: Vec<(usize, usize)>,
}

impl Places {
    pub(super) fn new(text: &str) -> Places {
        let mut place = (1, 1);
        let mut marks = Vec::with_capacity(text.len() / STEP + 1);
        for step in text.as_bytes().chunks(STEP) {
            marks.push(place);
            place = after(place, step);
        }
        // At the end, there is a place as well.
        marks.push(place);
        Places { marks }
    }

    /// Line and column of an offset into the text that this was made of.
    pub(super) fn position(&self, text: &str, offset: usize) -> (usize, usize) {
        let offset = text.floor_char_boundary(offset);
        let step = offset / STEP;
        after(self.marks[step], &text.as_bytes()[step * STEP..offset])
    }
}

/// The place behind some bytes. The first byte of a character counts for all of it.
fn after(place: (usize, usize), bytes: &[u8]) -> (usize, usize) {
    bytes.iter().fold(place, |(line, column), byte| match byte {
        b'\n' => (line + 1, 1),
        0x80..=0xbf => (line, column),
        _ => (line, column + 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::line_column;

    #[test]
    fn places_are_those_that_counting_finds() {
        let long = "long é line, 水, and more of it; ".repeat(40);
        for text in [
            "",
            "\n",
            "a\nb",
            &"é".repeat(300),
            &long,
            &"水\n\n".repeat(150),
            &"x".repeat(512),
        ] {
            let places = Places::new(text);
            for offset in 0..text.len() + 2 {
                let counted = line_column(text, offset);
                assert_eq!(places.position(text, offset), counted, "{text:?} {offset}");
            }
        }
    }
}
