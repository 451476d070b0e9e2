use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::*;

fn shown(text: &str) -> Vec<String> {
    glyphs(text, 0).map(|glyph| glyph.shown.into()).collect()
}

/// The glyphs of all characters, each by itself.
fn all() -> impl Iterator<Item = (char, Glyph<'static>)> {
    ('\0'..=char::MAX).map(|c| {
        let text = c.to_string();
        let mut glyphs = glyphs(&text, 0);
        let glyph = glyphs.next().expect("there is a character");
        assert_eq!(glyphs.next(), None, "{c:?}");
        let shown = glyph.shown.into_owned();
        (c, Glyph::new(glyph.span, glyph.kind, shown))
    })
}

#[test]
fn texts_fall_into_what_is_seen_as_one() {
    for (text, expected) in [
        ("", &[][..]),
        ("a b", &["a", " ", "b"]),
        ("a\tb\r\n", &["a", "→", "b", "␍", "⏎"]),
        ("\0\u{1b}[0m\u{7f}", &["␀", "␛", "[", "0", "m", "␡"]),
        ("\u{1f}\u{80}\u{9b}", &["␟", r"\u{80}", r"\u{9b}"]),
        // Marks.
        ("e\u{301}o", &["e\u{301}", "o"]),
        ("का", &["का"]),
        ("\u{301}\u{302}a", &["◌\u{301}\u{302}", "a"]),
        ("\n\u{301}", &["⏎", "◌\u{301}"]),
        ("\u{200b}\u{301}", &[r"\u{200b}", "◌\u{301}"]),
        // Wide ones.
        ("漢字", &["漢", "字"]),
        // Of these, terminals make one picture or two.
        ("👍🏽", &["👍", r"\u{1f3fd}"]),
        ("🇩🇪", &[r"\u{1f1e9}", r"\u{1f1ea}"]),
        ("ｶﾞ", &["ｶ", "ﾞ"]),
        // From right to left.
        ("אב", &["א", "ב"]),
        ("a\u{202e}b\u{2069}", &["a", r"\u{202e}", "b", r"\u{2069}"]),
        // What can't be seen.
        ("👩\u{200d}🔬", &["👩", r"\u{200d}", "🔬"]),
        ("❤\u{fe0f}", &["❤", r"\u{fe0f}"]),
        ("a\u{ad}\u{feff}", &["a", r"\u{ad}", r"\u{feff}"]),
        ("\u{2060}\u{fff9}", &[r"\u{2060}", r"\u{fff9}"]),
        ("\u{2028}\u{2029}", &[r"\u{2028}", r"\u{2029}"]),
        ("\u{e0041}\u{e0001}", &[r"\u{e0041}", r"\u{e0001}"]),
        ("\u{3164}\u{34f}", &[r"\u{3164}", r"\u{34f}"]),
        // A vowel that would have to join the syllable before it.
        ("ᄒ\u{1161}", &["ᄒ", r"\u{1161}"]),
        // What nobody knows the width of.
        ("\u{e000}\u{ffff}", &[r"\u{e000}", r"\u{ffff}"]),
        ("\u{378}\u{10ffff}", &[r"\u{378}", r"\u{10ffff}"]),
    ] {
        assert_eq!(shown(text), expected, "{text:?}");
    }
}

#[test]
fn a_character_bears_four_marks() {
    let marks = |count| "\u{301}".repeat(count);
    for (text, expected) in [
        (
            format!("e{}a", marks(4)),
            vec![format!("e{}", marks(4)), "a".into()],
        ),
        (
            format!("e{}a\u{301}", marks(6)),
            vec![
                format!("e{}", marks(4)),
                r"\u{301}".into(),
                r"\u{301}".into(),
                "a\u{301}".into(),
            ],
        ),
        (marks(5), vec![format!("◌{}", marks(4)), r"\u{301}".into()]),
    ] {
        assert_eq!(shown(&text), expected, "{text:?}");
    }
}

#[test]
fn glyphs_tell_what_they_are_and_where() {
    let shown: Vec<_> = glyphs("漢\t\u{200b}\ne\u{301}", 10)
        .map(|glyph| (glyph.span, glyph.kind, glyph.width))
        .collect();
    let expected = [
        (10..13, GlyphKind::Plain, 2),
        (13..14, GlyphKind::Tab, 1),
        (14..17, GlyphKind::Escaped, 8),
        (17..18, GlyphKind::LineEnd, 1),
        (18..21, GlyphKind::Plain, 1),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn every_character_takes_cells_and_none_is_dangerous() {
    for (c, glyph) in all() {
        assert!(glyph.width > 0, "{c:?} {glyph:?}");
        assert!(!glyph.shown.contains(is_dangerous), "{c:?} {glyph:?}");
        if glyph.kind == GlyphKind::Plain {
            assert_eq!(glyph.shown, c.to_string());
        }
    }
}

#[test]
fn a_place_before_marks_is_that_of_what_they_stand_on() {
    let crowd = format!("ae{}", "\u{301}".repeat(6));
    for (text, at, expected) in [
        ("abc", 2, 2),
        ("abc", 9, 3),
        ("漢字", 4, 3),
        ("ae\u{301}\u{302}o", 3, 1),
        ("ae\u{301}\u{302}o", 4, 1),
        ("ae\u{301}\u{302}o", 6, 6),
        ("\u{301}\u{302}", 2, 0),
        ("a\n\u{301}\u{302}", 4, 2),
        ("a\u{200b}\u{301}", 4, 4),
        // Those on which no mark stands any more are parted.
        (&crowd, 8, 1),
        (&crowd, 10, 10),
        (&crowd, 12, 12),
    ] {
        assert_eq!(place_before(text, at), expected, "{text:?} {at}");
    }
}

/// A row of cells with something in each, into which a glyph is written.
fn drawn(glyph: &Glyph, draw: impl Fn(&mut Buffer)) -> (String, Vec<String>) {
    let area = Rect::new(0, 0, glyph.width + 4, 1);
    let mut buffer = Buffer::with_lines(["x".repeat(area.width.into())]);
    draw(&mut buffer);
    let symbols: Vec<String> = buffer
        .content
        .iter()
        .map(|cell| cell.symbol().into())
        .collect();
    let (first, last) = (2, 2 + usize::from(glyph.width));
    let others = [&symbols[..first], &symbols[last..]].concat();
    // Cells behind a wide symbol are blank, as it covers them.
    let mut shown = String::new();
    let mut column = first;
    while column < last {
        shown.push_str(&symbols[column]);
        column += usize::from(symbols[column].cell_width());
    }
    assert_eq!(column, last, "{glyph:?}");
    (shown, others)
}

fn assert_takes_its_cells(glyph: &Glyph) {
    let as_string = |buffer: &mut Buffer| {
        buffer.set_string(2, 0, &glyph.shown, Style::new());
    };
    let as_symbol = |buffer: &mut Buffer| {
        buffer[(2, 0)].set_symbol(&glyph.shown);
    };
    let others = vec!["x".to_owned(); 4];
    let expected = (glyph.shown.to_string(), others);
    assert_eq!(drawn(glyph, as_string), expected, "{glyph:?}");
    assert_eq!(drawn(glyph, as_symbol), expected, "{glyph:?}");
}

#[test]
fn every_character_takes_its_cells_alone_and_with_marks() {
    // Of ideographs and Korean syllables there are very many, and all are alike.
    let is_alike = |c: char| ('\u{3400}'..='\u{d7ff}').contains(&c) || c >= '\u{20000}';
    for c in ('\0'..=char::MAX).filter(|&c| !is_alike(c)) {
        if matches!(Sort::of(c), Sort::Shown | Sort::Mark) {
            let text: String = [c, 'e', c, '\u{301}'].into_iter().collect();
            glyphs(&text, 0).for_each(|glyph| assert_takes_its_cells(&glyph));
        }
    }
}

/// Texts of what is odd to show, more often than chance would bring it.
pub(in crate::tui) fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[ -~]{1,12}",
        1 => "\\PC{1,4}",
        1 => "[\\n\\r\\t\\x00-\\x1f\\x7f-\\x9f]{1,3}",
        1 => "\\p{M}{1,7}",
        1 => "[漢字かﾞ한👍🏽🇩🇪]{1,6}",
        1 => "[אבגلا\u{61c}\u{202e}\u{2066}]{1,6}",
        1 => "[\u{200b}-\u{200f}\u{feff}\u{fe0f}\u{ad}\u{e0041}\u{fff9}]{1,3}",
        1 => any::<String>(),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn glyphs_cover_the_text_and_are_safe(text in texts(), from in 0..1000_usize) {
        let mut end = from;
        for glyph in glyphs(&text, from) {
            prop_assert_eq!(glyph.span.start, end);
            prop_assert!(glyph.span.end > end);
            end = glyph.span.end;
            let sound_marks = glyph.shown.chars().filter(|c| "ﾞﾟ".contains(*c)).count();
            prop_assert_eq!(usize::from(glyph.width), glyph.shown.width() + sound_marks);
            for (index, c) in glyph.shown.chars().enumerate() {
                prop_assert!(!is_dangerous(c));
                let stands_on_another = index > 0 && Sort::of(c) == Sort::Mark;
                prop_assert!(stands_on_another || c.width().is_some_and(|width| width > 0) || "ﾞﾟ".contains(c));
            }
            let marks = glyph.shown.chars().filter(|&c| Sort::of(c) == Sort::Mark).count();
            prop_assert!(marks <= MARKS);
            assert_takes_its_cells(&glyph);
        }
        prop_assert_eq!(end, from + text.len());
    }

    #[test]
    fn what_follows_a_place_before_marks_is_cut_as_in_the_whole(text in texts(), at in 0..200_usize) {
        let place = place_before(&text, at);
        let cuts = |from: usize| glyphs(&text[from..], from).map(|glyph| glyph.span.start);
        let is_end = place == text.len();
        prop_assert!(place <= at && (is_end || cuts(0).any(|start| start == place)));
    }
}
