use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::super::glyphs::tests::texts;
use super::*;

/// All rows of a text, from its start.
fn all<'t>(rows: &Rows<'t>) -> Vec<Row<'t>> {
    successors(Some(rows.row_of(0)), |row| rows.next(row)).collect()
}

fn shown(glyphs: &[Placed]) -> String {
    let shown = glyphs.iter().map(|placed| placed.glyph.shown.as_ref());
    shown.collect()
}

#[test]
fn rows_end_where_lines_do_or_the_cells() {
    for (text, width, expected) in [
        ("", 5, &[""][..]),
        ("abc", 5, &["abc"]),
        ("abcdefg", 3, &["abc", "def", "g"]),
        ("ab\n\ncd\n", 5, &["ab⏎", "⏎", "cd⏎"]),
        // A line end needs a cell, as all else does.
        ("abc\nd", 3, &["abc", "⏎", "d"]),
        ("ab\r\nc", 9, &["ab␍⏎", "c"]),
        // Tabs.
        ("a\tb\tc", 9, &["a→  b→  c"]),
        ("abcd\te", 9, &["abcd→   e"]),
        ("abc\td", 9, &["abc→d"]),
        ("a\tb", 3, &["a→ ", "b"]),
        ("abc\td", 3, &["abc", "→  ", "d"]),
        // Nothing is cut at the edge.
        ("漢字漢", 5, &["漢字", "漢"]),
        ("a漢", 2, &["a", "漢"]),
        ("abe\u{301}e\u{301}", 3, &["abe\u{301}", "e\u{301}"]),
        ("abc\u{200b}d", 10, &["abc", r"\u{200b}d"]),
        // What fits no row at all.
        ("a漢\nb", 1, &["a", "…", "⏎", "b"]),
        ("a\u{200b}漢", 7, &["a…漢"]),
        ("a漢", 0, &["a", "…"]),
        // A mark does not go without what it stands on.
        ("ab\u{301}", 1, &["a", "b\u{301}"]),
    ] {
        let rows: Vec<String> = all(&Rows::new(text, width))
            .iter()
            .map(|row| shown(&row.glyphs))
            .collect();
        assert_eq!(rows, expected, "{text:?} {width}");
    }
}

#[test]
fn long_lines_fall_into_blocks() {
    let ends = |text: &str| -> Vec<usize> {
        let rows = all(&Rows::new(text, u16::MAX));
        rows.iter().map(|row| row.span.end).collect()
    };
    let plain = "x".repeat(3 * BLOCK);
    // The border comes between a base and its mark.
    let marked = format!("{}e\u{301}{}", "x".repeat(BLOCK - 1), "y".repeat(BLOCK));
    // And in the middle of a character.
    let wide = format!("{}漢{}", "x".repeat(BLOCK - 1), "y".repeat(BLOCK));
    for (text, expected) in [
        (&plain, [BLOCK, 2 * BLOCK, 3 * BLOCK]),
        (&marked, [BLOCK - 1, 2 * BLOCK, 2 * BLOCK + 2]),
        (&wide, [BLOCK - 1, 2 * BLOCK, 2 * BLOCK + 2]),
        // Blocks are counted from the line's start.
        (
            &format!("ab\n{}", "x".repeat(BLOCK + 1)),
            [3, BLOCK + 3, BLOCK + 4],
        ),
    ] {
        assert_eq!(ends(text), expected);
    }
}

#[test]
fn a_pane_is_filled_around_a_place() {
    let text = "0\n1\n2\n3\n4\n5\n6\n7\n8\n9";
    let at = |line: usize| 2 * line;
    for (offset, height, above, expected) in [
        (at(5), 3, 1, "456"),
        (at(5), 3, 0, "567"),
        (at(5), 3, 9, "345"),
        (at(5), 1, 9, "5"),
        (at(5), 0, 0, ""),
        // There is nothing before the start.
        (at(0), 3, 2, "012"),
        (at(1), 4, 2, "0123"),
        // And nothing after the end.
        (at(9), 3, 0, "789"),
        (at(8), 4, 1, "6789"),
        (usize::MAX, 2, 0, "89"),
        (at(5), 99, 2, "0123456789"),
    ] {
        let rows = Rows::new(text, 9).around(offset, height, above);
        let firsts: String = rows
            .iter()
            .map(|row| &text[row.span.start..][..1])
            .collect();
        assert_eq!(firsts, expected, "{offset} {height} {above}");
    }
}

#[test]
fn one_line_ends_with_an_ellipsis_if_it_is_cut() {
    for (text, width, expected) in [
        ("", 3, ""),
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("abcd", 1, "…"),
        ("abcd", 0, ""),
        ("a\nb", 3, "a⏎b"),
        ("漢字", 4, "漢字"),
        ("漢字漢", 4, "漢…"),
        ("漢字漢", 5, "漢字…"),
        ("a\u{200b}b", 8, "a…"),
        ("a\tb", 4, "a…"),
        ("a\tb", 5, "a→  b"),
    ] {
        assert_eq!(shown(&one_line(text, width)), expected, "{text:?} {width}");
    }
}

#[test]
fn a_long_text_takes_no_longer_than_the_rows_of_it() {
    let size = 1_000_000;
    for text in [
        "x".repeat(size),
        "\u{301}".repeat(size / 2),
        "a line\n".repeat(size / 7),
    ] {
        let rows = Rows::new(&text, 200);
        let start = Instant::now();
        for turn in 0..200 {
            assert_eq!(rows.around(size / 2 + turn, 60, 30).len(), 60);
            assert_eq!(shown(&one_line(&text, 200)).chars().last(), Some('…'));
        }
        assert!(start.elapsed() < Duration::from_secs(4));
    }
}

/// Texts with lines that are longer than a block.
fn long_texts() -> impl Strategy<Value = String> {
    (texts(), texts(), 0..2 * BLOCK, texts()).prop_map(|(before, repeated, size, after)| {
        let times = size / repeated.len().max(1);
        format!("{before}{}{after}", repeated.repeat(times))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_cover_the_text_and_keep_to_their_cells(text in long_texts(), width in 0..40_u16) {
        let mut end = 0;
        for row in all(&Rows::new(&text, width)) {
            prop_assert_eq!(row.span.start, end);
            let mut column = 0;
            for placed in &row.glyphs {
                prop_assert_eq!((placed.glyph.span.start, placed.column), (end, column));
                end = placed.glyph.span.end;
                column = placed.end();
            }
            prop_assert_eq!(row.span.end, end);
            prop_assert!(column <= width.max(1));
        }
        prop_assert_eq!(end, text.len());
    }

    #[test]
    fn one_line_covers_the_text_and_keeps_to_its_cells(text in texts(), width in 0..40_u16) {
        let (mut end, mut column) = (0, 0);
        for placed in one_line(&text, width) {
            prop_assert_eq!((placed.glyph.span.start, placed.column), (end, column));
            end = placed.glyph.span.end;
            column = placed.end();
        }
        prop_assert!(column <= width);
        prop_assert!(end == text.len() || width == 0);
    }

    #[test]
    fn rows_are_the_same_wherever_one_comes_from(text in long_texts(), width in 0..40_u16, at in any::<prop::sample::Index>()) {
        let rows = Rows::new(&text, width);
        let forth = all(&rows);
        let mut back: Vec<Row> = successors(forth.last().cloned(), |row| rows.previous(row)).collect();
        back.reverse();
        prop_assert_eq!(&back, &forth);
        let offset = at.index(text.len() + 1);
        let row = rows.row_of(offset);
        prop_assert!(row.span.contains(&offset) || offset == text.len());
        prop_assert!(forth.contains(&row));
    }

    #[test]
    fn panes_are_rows_in_a_row(text in long_texts(), width in 1..40_u16, at in any::<prop::sample::Index>(), height in 1..30_u16, above in 0..40_u16) {
        let rows = Rows::new(&text, width);
        let (all, offset) = (all(&rows), at.index(text.len() + 1));
        let pane = rows.around(offset, height, above);
        prop_assert_eq!(pane.len(), all.len().min(height.into()));
        let place = |row: &Row| all.iter().position(|other| other == row);
        let (first, row) = (place(&pane[0]), place(&rows.row_of(offset)));
        let (Some(first), Some(row)) = (first, row) else {
            return Err(TestCaseError::fail("a row of no text"));
        };
        prop_assert_eq!(&pane[..], &all[first..first + pane.len()]);
        prop_assert!((first..first + pane.len()).contains(&row));
        prop_assert!(row - first <= above.into() || first + pane.len() == all.len());
    }
}
