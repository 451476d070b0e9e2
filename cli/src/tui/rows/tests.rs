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
        // Words stay together, and the space between them does not begin a row.
        ("to be or not", 5, &["to be ", "or ", "not"]),
        ("a longest word", 5, &["a lon", "gest ", "word"]),
        ("so  it", 2, &["so ", " ", "it"]),
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

/// Texts with lines that are longer than a block.
fn long_texts() -> impl Strategy<Value = String> {
    (texts(), texts(), 0..2 * BLOCK, texts()).prop_map(|(before, repeated, size, after)| {
        let times = size / repeated.len().max(1);
        format!("{before}{}{after}", repeated.repeat(times))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

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
            let hangs = row.glyphs.last().is_some_and(|last| last.glyph.shown == " ");
            prop_assert!(column <= width.max(1) + u16::from(hangs));
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
        let back = successors(forth.last().cloned(), |row| rows.rows_before(row, 1).pop());
        // Each step lays out a block, so not all of them are gone.
        let mut back: Vec<Row> = back.take(50).collect();
        back.reverse();
        prop_assert_eq!(&back[..], &forth[forth.len() - back.len()..]);
        let offset = at.index(text.len() + 1);
        let row = rows.row_of(offset);
        prop_assert!(row.span.contains(&offset) || offset == text.len());
        prop_assert!(forth.contains(&row));
    }

    #[test]
    fn rows_before_one_are_rows_in_a_row(text in long_texts(), width in 1..40_u16, at in any::<prop::sample::Index>(), count in 0..40_usize) {
        let rows = Rows::new(&text, width);
        let (all, row) = (all(&rows), rows.row_of(at.index(text.len() + 1)));
        let place = all.iter().position(|other| *other == row).unwrap_or(0);
        let before = rows.rows_before(&row, count);
        prop_assert_eq!(&before[..], &all[place.saturating_sub(count)..place]);
    }
}
