//! Markers that consist of several parts, learned from renderings.
//!
//! In `<|open|>think<|sep|>…<|close|>think<|sep|>` no bracketed piece says by itself what begins or
//! ends: `<|open|>` stands before everything. What makes a marker is the piece together with the word
//! behind it, up to the piece that ends it. And where the same sign stands before every tag, as in
//! `::<call>…::</call>`, the sign and the tag are one marker. So is a word between two signs, as in
//! `#CALL#` or `◆CALL◇`, where the signs stand around words and nowhere else, and a line of words behind a sign, as `## Call`.
//!
//! [`Lexicon::mark`] puts such a marker in brackets that nobody writes, so that all that cuts texts
//! into [pieces] takes it for one. [`unmarked`] takes the brackets out again.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    UNIT_CLOSE, UNIT_OPEN, first_piece, is_marker, is_slot, is_symbol, is_untyped, pieces, says_end,
};

/// A marker of several parts is not longer than this many bytes.
const LONGEST: usize = 96;

/// How many different words have to stand behind a piece that only leads to a word.
const MIN_WORDS: usize = 2;

/// How many signs are tried.
const MAX_LEADS: usize = 64;

/// What the markers of a format begin with that consist of several parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Lexicon {
    /// The pieces behind which a word always stands, and then another piece that ends the marker.
    before_words: BTreeSet<String>,
    /// The signs that stand before every tag.
    before_tags: Vec<String>,
    /// The single signs that stand around words only, as in `#CALL#` and `(call)`: the one before the word, and the one behind it.
    around_words: BTreeMap<char, char>,
    /// The signs with which lines of words begin, as `##` in `## Call`, and which stand nowhere else.
    before_lines: BTreeSet<String>,
}

impl Lexicon {
    /// Learns from renderings in which all words of probes begin with `stem`.
    pub(crate) fn learn<'t>(texts: impl Iterator<Item = &'t str> + Clone, stem: &str) -> Lexicon {
        let cut: Vec<Vec<&str>> = texts.clone().map(|text| pieces(text).collect()).collect();
        Lexicon {
            before_words: before_words(&cut, stem),
            before_tags: before_tags(&cut, stem),
            around_words: around_words(texts.clone(), stem),
            before_lines: before_lines(texts, stem),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Lexicon::default()
    }

    /// The text with its markers of several parts in brackets that nobody writes.
    pub(crate) fn mark(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 16);
        let mut rest = text;
        while let Some(first) = first_piece(rest) {
            let begins_line = out.is_empty() || out.ends_with('\n');
            let line = begins_line.then(|| self.line(rest)).flatten();
            let length = line.or_else(|| self.unit(rest)).unwrap_or(0);
            let (piece, after) = rest.split_at(length.max(first.len()));
            if length == 0 {
                out.push_str(piece);
            } else {
                out.push(UNIT_OPEN);
                out.push_str(piece);
                out.push(UNIT_CLOSE);
            }
            rest = after;
        }
        out
    }

    /// The length of the line of words behind a sign with which a text begins.
    fn line(&self, text: &str) -> Option<usize> {
        let (sign, length) = line_of_words(text)?;
        self.before_lines.contains(sign).then_some(length)
    }

    /// The length of the marker of several parts with which a text begins.
    fn unit(&self, text: &str) -> Option<usize> {
        let mut leads = self.before_tags.iter();
        if let Some(lead) = leads.find(|lead| text.starts_with(lead.as_str())) {
            let tag = first_piece(&text[lead.len()..])?;
            return is_marker(tag).then_some(lead.len() + tag.len());
        }
        if let Some(between) = word_between_signs(text)
            && self.around_words.get(&between.open) == Some(&between.close)
        {
            return Some(between.length());
        }
        let first = first_piece(text)?;
        if !self.before_words.contains(first) {
            return None;
        }
        let (end, last) = end_of_words(pieces(text))?;
        // Where the next marker begins that leads to a word, this one has ended.
        Some(match self.before_words.contains(last) {
            true => end,
            false => end + last.len(),
        })
    }
}

/// The text without the brackets that nobody writes.
pub(crate) fn unmarked(text: &str) -> String {
    text.replace([UNIT_OPEN, UNIT_CLOSE], "")
}

/// Where the words end that follow the first of some pieces, and the marker that ends them, which has to stand on the
/// same line.
fn end_of_words<'t>(pieces: impl Iterator<Item = &'t str>) -> Option<(usize, &'t str)> {
    let mut end = 0;
    for (at, piece) in pieces.enumerate() {
        if at > 0 && is_marker(piece) {
            return (at > 1).then_some((end, piece));
        }
        end += piece.len();
        if at > 0 && (piece.contains('\n') || end > LONGEST) {
            return None;
        }
    }
    None
}

/// The pieces behind which a word always stands, and then a marker. Where one of them stands before
/// different words, another that leads to one word and the same marker is of its kind.
fn before_words(cut: &[Vec<&str>], stem: &str) -> BTreeSet<String> {
    let mut words: BTreeMap<&str, Option<LedWords>> = BTreeMap::new();
    for pieces in cut {
        for (at, piece) in pieces.iter().enumerate() {
            if is_marker(piece) && !piece.contains(stem) {
                let known = words
                    .entry(piece)
                    .or_insert_with(|| Some(LedWords::default()));
                match (led_word(&pieces[at..], stem), known.as_mut()) {
                    (Some((word, end)), Some(known)) => {
                        known.words.insert(word);
                        known.ends.insert(end);
                    }
                    _ => *known = None,
                }
            }
        }
    }
    words.retain(|_, led| led.is_some());
    let is_sure = |led: &&LedWords| led.words.len() >= MIN_WORDS;
    let sure = words.values().flatten().filter(is_sure);
    let ends: BTreeSet<&str> = sure.flat_map(|led| led.ends.iter().copied()).collect();
    let leads = words.into_iter().filter(|(piece, led)| {
        let led = led.as_ref();
        let is_of_kind = |led: &LedWords| led.ends.is_subset(&ends) && !ends.contains(piece);
        led.is_some_and(|led| led.words.len() >= MIN_WORDS || is_of_kind(led))
    });
    leads.map(|(piece, _)| piece.to_owned()).collect()
}

/// What stands behind a piece that leads to words.
#[derive(Default)]
struct LedWords<'t> {
    /// The words, each the first of its marker.
    words: BTreeSet<&'t str>,
    /// The pieces that end the markers.
    ends: BTreeSet<&'t str>,
}

/// The word behind the first of some pieces, and the piece that ends the marker.
fn led_word<'t>(pieces: &[&'t str], stem: &str) -> Option<(&'t str, &'t str)> {
    let word = *pieces.get(1)?;
    if !word.starts_with(char::is_alphabetic) || word.starts_with(stem) {
        return None;
    }
    let (_, end) = end_of_words(pieces.iter().copied())?;
    Some((word, end))
}

/// The signs that stand before every tag: of those that do, the ones before most tags, and of these the
/// longest.
fn before_tags(cut: &[Vec<&str>], stem: &str) -> Vec<String> {
    let mut tags_behind: BTreeMap<Vec<&str>, BTreeSet<&str>> = BTreeMap::new();
    for pieces in cut {
        let tags = (0..pieces.len()).filter(|at| is_marker(pieces[*at]));
        for at in tags {
            for start in signs_before(pieces, at, stem) {
                let lead = pieces[start..at].to_vec();
                tags_behind.entry(lead).or_default().insert(pieces[at]);
            }
        }
    }
    let is_own = |tag: &&&str| !tag.contains(stem);
    // The quotes and brackets that end a value belong to no marker.
    tags_behind.retain(|lead, _| !ends_value(lead));
    tags_behind.retain(|lead, tags| match tags.iter().filter(is_own).count() {
        0 | 1 => false,
        // A marker stands before two others by chance as well, as a colon does, but seldom before what
        // opens and what closes the same.
        2 => {
            has_pair(cut, tags)
                || (lead.len() > 1 && !lead.last().is_some_and(|sign| is_marker(sign)))
        }
        _ => true,
    });
    let mut leads: Vec<(Vec<&str>, BTreeSet<&str>)> = tags_behind.into_iter().collect();
    leads.sort_by_key(|(lead, tags)| std::cmp::Reverse((tags.len(), lead.len())));
    leads.truncate(MAX_LEADS);
    let found = leads
        .iter()
        .find(|(lead, tags)| stands_before_all(cut, lead, tags) && keeps_its_markers(cut, lead));
    found.map(|(lead, _)| lead.concat()).into_iter().collect()
}

/// Whether signs begin where a value of JSON or of a call as in Python ends.
fn ends_value(signs: &[&str]) -> bool {
    let ends_text = |sign: &&str| ["\"", "'", "}"].contains(sign);
    let is_bracket = |sign: &&str| ["]", ")"].contains(sign);
    signs.first().is_some_and(ends_text) || signs.iter().all(is_bracket)
}

/// The signs that stand alone around words, and nowhere else, and not around one word only.
fn around_words<'t>(texts: impl Iterator<Item = &'t str>, stem: &str) -> BTreeMap<char, char> {
    let mut around: BTreeMap<(char, char), BTreeSet<&str>> = BTreeMap::new();
    // What pieces begin with that are not between two signs.
    let mut strays: BTreeSet<char> = BTreeSet::new();
    for text in texts.filter(|text| text.contains(can_stand_around)) {
        let mut rest = text;
        while let Some(piece) = first_piece(rest) {
            let mut length = piece.len();
            let between = word_between_signs(rest).filter(|found| !found.word.contains(stem));
            match between {
                // A marker by itself says nothing of the sign alone.
                _ if is_named_run(piece) => {}
                Some(found) => {
                    length = found.length();
                    let words = around.entry((found.open, found.close)).or_default();
                    words.insert(found.word);
                }
                None => strays.extend(piece.chars().next()),
            }
            rest = &rest[length..];
        }
    }
    let mut pairs_of: BTreeMap<char, usize> = BTreeMap::new();
    for (open, close) in around.keys() {
        for sign in BTreeSet::from([open, close]) {
            *pairs_of.entry(*sign).or_default() += 1;
        }
    }
    let stands_elsewhere = |sign: &char| strays.contains(sign) || pairs_of[sign] > 1;
    around.retain(|(open, close), words| {
        words.len() >= MIN_WORDS && ![open, close].into_iter().any(stands_elsewhere)
    });
    around.into_keys().collect()
}

/// The signs that stand at the beginning of lines, before words and nowhere else, and not before one line only.
fn before_lines<'t>(texts: impl Iterator<Item = &'t str>, stem: &str) -> BTreeSet<String> {
    let mut lines: BTreeMap<&str, Option<BTreeSet<&str>>> = BTreeMap::new();
    for line in texts.flat_map(|text| text.split('\n')) {
        let own = line_of_words(line).filter(|_| !line.contains(stem));
        if let Some((sign, length)) = own {
            let known = lines.entry(sign).or_insert_with(|| Some(BTreeSet::new()));
            known.as_mut().map(|known| known.insert(&line[..length]));
        }
        let rest = &line[own.map_or(0, |(_, length)| length)..];
        for sign in pieces(rest).filter(|piece| is_line_sign(piece)) {
            lines.insert(sign, None);
        }
    }
    lines.retain(|_, words| words.as_ref().is_some_and(|words| words.len() >= MIN_WORDS));
    lines.into_keys().map(str::to_owned).collect()
}

/// The sign with which a line begins, and the length of it with the words behind it, up to a marker: the sign may
/// stand behind them, too.
pub(super) fn line_of_words(text: &str) -> Option<(&str, usize)> {
    let sign = first_piece(text).filter(|piece| is_line_sign(piece))?;
    let behind = &text[sign.len()..];
    let behind = behind[..behind.floor_char_boundary(LONGEST + 1)]
        .lines()
        .next()?;
    let own = pieces(behind).take_while(|piece| !is_marker(piece));
    let behind = behind[..own.map(str::len).sum()].trim_end();
    let words = behind.strip_prefix(' ')?;
    let words = words.strip_suffix(sign).unwrap_or(words);
    let length = sign.len() + behind.len();
    let is_line = length <= LONGEST && words.contains(char::is_alphabetic);
    (is_line && !pieces(words).any(is_line_sign)).then_some((sign, length))
}

/// Whether a piece is a sign with which lines begin: a single one is of lists, of quotes and of sums, but for that
/// of headings.
fn is_line_sign(piece: &str) -> bool {
    let mut signs = piece.chars();
    let first = signs.next();
    let is_sign = first
        .is_some_and(|first| first != '(' && (can_stand_around(first) || "->*".contains(first)));
    let is_run = signs.all(|c| Some(c) == first) && piece.chars().nth(1).is_some();
    is_sign && (is_run || piece == "#")
}

/// A word between two signs.
struct BetweenSigns<'t> {
    open: char,
    word: &'t str,
    close: char,
}

impl BetweenSigns<'_> {
    fn length(&self) -> usize {
        self.open.len_utf8() + self.word.len() + self.close.len_utf8()
    }
}

/// The word between the sign with which a text begins and the next of its kind, or the one that closes it.
fn word_between_signs(text: &str) -> Option<BetweenSigns<'_>> {
    let open = text.chars().next().filter(|sign| can_stand_around(*sign))?;
    let rest = &text[open.len_utf8()..];
    let belongs = |c: char| c.is_alphanumeric() || "_-/:.".contains(c);
    let end = rest.find(|c| !belongs(c)).filter(|end| *end <= LONGEST)?;
    let (word, behind) = rest.split_at(end);
    let is_word = word.contains(char::is_alphabetic);
    let close = behind.chars().next().filter(|close| closes(open, *close))?;
    // Of two signs, the second is a marker's own if a word follows. Of more, all but the first are if they stand around a
    // word themselves, as in `#END###DONE##`.
    let next = &behind[close.len_utf8()..];
    let is_single = next
        .strip_prefix(open)
        .is_none_or(|word| word.starts_with(belongs))
        || first_piece(next).is_some_and(is_named_run);
    (is_word && is_single).then_some(BetweenSigns { open, word, close })
}

/// Whether one sign may close what another opens around words. Two of them that differ are such as rarely stand around words: `A→B←C`
/// makes none, since they would have to do so always.
fn closes(open: char, close: char) -> bool {
    let is_rare = |sign: char| is_symbol(sign) || is_untyped(sign);
    match open {
        '(' => close == ')',
        _ => open == close || is_rare(open) && is_rare(close),
    }
}

/// Whether a piece is a marker whose name stands between two runs of a sign, as in `@@NAME@@`.
fn is_named_run(piece: &str) -> bool {
    is_marker(piece) && piece.starts_with(can_stand_around) && piece.contains(char::is_alphanumeric)
}

/// Whether a sign can stand around the word of a marker. Those that can't are of JSON, of tags, of paths and names, or
/// quote words and make them bold.
fn can_stand_around(c: char) -> bool {
    !c.is_alphanumeric()
        && !c.is_whitespace()
        && !is_slot(c)
        && !"{}[])<>\"',:;/\\._-*`".contains(c)
}

/// Whether one of the tags closes what another has opened before it in the same text. A header stands before
/// `</think>` where there was no thought, and before the `<think>` of a prompt: it belongs to neither.
fn has_pair(cut: &[Vec<&str>], tags: &BTreeSet<&str>) -> bool {
    let first_word = |tag: &&str| {
        let mut words = tag.split(|c: char| !c.is_alphanumeric());
        words.find(|word| !word.is_empty()).map(str::to_owned)
    };
    cut.iter().any(|pieces| {
        let mut opened = BTreeSet::new();
        let mut found = pieces.iter().filter(|piece| tags.contains(*piece));
        found.any(|tag| match (says_end(tag), first_word(tag)) {
            (true, Some(word)) => opened.contains(&word),
            (false, Some(word)) => {
                opened.insert(word);
                false
            }
            (_, None) => false,
        })
    })
}

/// Where signs begin that end where a tag begins.
fn signs_before(pieces: &[&str], tag: usize, stem: &str) -> Vec<usize> {
    let is_sign = |piece: &str| {
        let is_word = piece.starts_with(|c: char| c.is_alphanumeric() || c.is_whitespace());
        !is_word && !piece.contains(stem) && !piece.chars().any(is_slot)
    };
    let mut length = 0;
    let signs = (0..tag).rev().take_while(|at| {
        length += pieces[*at].len();
        is_sign(pieces[*at]) && length <= LONGEST
    });
    signs.collect()
}

/// Whether one of the tags stands behind every occurrence of a lead, and none of them elsewhere. Of
/// occurrences that overlap, as two do in `:::<tag>`, the last counts.
fn stands_before_all(cut: &[Vec<&str>], lead: &[&str], tags: &BTreeSet<&str>) -> bool {
    cut.iter().all(|pieces| {
        let ends = |at: usize| at <= pieces.len() && pieces[..at].ends_with(lead);
        (0..=pieces.len()).all(|at| {
            let is_tag = pieces.get(at).is_some_and(|piece| tags.contains(piece));
            is_tag == ends(at) || (!is_tag && (at + 1..at + lead.len()).any(ends))
        })
    })
}

/// Whether the markers within a lead stand nowhere else: a marker that quotes a value stands before
/// the end of a call as well, but not only there.
fn keeps_its_markers(cut: &[Vec<&str>], lead: &[&str]) -> bool {
    let mut markers = lead
        .iter()
        .enumerate()
        .filter(|(_, piece)| is_marker(piece));
    markers.all(|(at, marker)| {
        cut.iter().all(|pieces| {
            let mut places = (0..pieces.len()).filter(|place| pieces[*place] == *marker);
            places.all(|place| place >= at && pieces[place - at..].starts_with(lead))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(texts: &[&str]) -> Lexicon {
        Lexicon::learn(texts.iter().copied(), "zq")
    }

    fn marked(texts: &[&str], text: &str) -> String {
        let marked = learned(texts).mark(text);
        assert_eq!(unmarked(&marked), text);
        marked.replace(UNIT_OPEN, "{").replace(UNIT_CLOSE, "}")
    }

    #[test]
    fn a_piece_that_leads_to_words_makes_one_marker_with_them() {
        let texts = ["<|go|>think<|x|>zq1<|no|>think<|x|><|go|>say<|x|>zq2<|no|>say<|x|>"];
        let expected = "{<|go|>think<|x|>}zq1{<|no|>think<|x|>}{<|go|>say<|x|>}zq2{<|no|>say<|x|>}";
        assert_eq!(marked(&texts, texts[0]), expected);
    }

    #[test]
    fn a_piece_that_leads_to_one_word_only_is_of_a_kind_with_one_that_leads_to_more() {
        let texts = ["<|go|>think<|x|>zq1<|no|>think<|x|><|go|>say<|x|>zq2"];
        let expected = "{<|go|>think<|x|>}zq1{<|no|>think<|x|>}{<|go|>say<|x|>}zq2";
        assert_eq!(marked(&texts, texts[0]), expected);
    }

    #[test]
    fn a_sign_before_every_tag_makes_one_marker_with_it() {
        let texts = [")<#x#>(<call>)<#x#>(<zq1>zq2)<#x#>(</zq1>)<#x#>(</call>)<#x#>(<go>"];
        let expected =
            "{)<#x#>(<call>}{)<#x#>(<zq1>}zq2{)<#x#>(</zq1>}{)<#x#>(</call>}{)<#x#>(<go>}";
        assert_eq!(marked(&texts, texts[0]), expected);
    }

    #[test]
    fn a_sign_before_every_tag_may_be_any() {
        let texts = ["^|<call>^|<zq1>zq2^|</zq1>^|</call>^|<go>"];
        assert_eq!(
            marked(&texts, texts[0]),
            "{^|<call>}{^|<zq1>}zq2{^|</zq1>}{^|</call>}{^|<go>}"
        );
    }

    #[test]
    fn a_header_before_what_opens_and_what_closes_belongs_to_neither_unless_in_one_text() {
        let texts = ["<|go|></think>zq1<|no|>", "<|go|><think>"];
        assert!(learned(&texts).is_empty());
        let one = "^^<think>zq1^^</think>";
        assert_eq!(marked(&[one], one), "{^^<think>}zq1{^^</think>}");
    }

    #[test]
    fn a_sign_around_words_and_nowhere_else_makes_one_marker_with_each() {
        let texts = ["%CALL% zq1\n%ARGS%: {\"zq2\": 5}\n%/CALL%<end>"];
        let expected = "{%CALL%} zq1\n{%ARGS%}: {\"zq2\": 5}\n{%/CALL%}<end>";
        assert_eq!(marked(&texts, texts[0]), expected);
        // Models know a low line that is no underscore.
        let texts = ["▁call▁zq1▁args▁{\"zq2\": 5}▁/call▁<end>"];
        let expected = "{▁call▁}zq1{▁args▁}{\"zq2\": 5}{▁/call▁}<end>";
        assert_eq!(marked(&texts, texts[0]), expected);
        // Markers between two of the sign each are markers by themselves.
        let texts = ["%CALL% zq1\n%ARGS%: 5%/CALL%%%END%%"];
        let expected = "{%CALL%} zq1\n{%ARGS%}: 5{%/CALL%}%%END%%";
        assert_eq!(marked(&texts, texts[0]), expected);
        let texts = ["~call~ zq1\n~args~: 5~/call~<end>"];
        assert_eq!(
            marked(&texts, texts[0]),
            "{~call~} zq1\n{~args~}: 5{~/call~}<end>"
        );
        // So are words in parentheses, where no other texts stand in them.
        let texts = ["(call) zq1\n(args): {\"zq2\": 5}(/call)<end>"];
        let expected = "{(call)} zq1\n{(args)}: {\"zq2\": 5}{(/call)}<end>";
        assert_eq!(marked(&texts, texts[0]), expected);
        // The two may differ where nobody writes them around words.
        let texts = [
            "\u{e000}f:call\u{e001} zq1 \u{e000}args\u{e001}{\"zq2\": 5}\u{e000}/f:call\u{e001}◆over◇◆end◇",
        ];
        let expected = "{\u{e000}f:call\u{e001}} zq1 {\u{e000}args\u{e001}}{\"zq2\": 5}{\u{e000}/f:call\u{e001}}{◆over◇}{◆end◇}";
        assert_eq!(marked(&texts, texts[0]), expected);
        let elsewhere = [
            "◆call◇zq1◆args◇ 5 ◇ 3",
            "◆call◇zq1◆args◇zq2◇over◆zq3◇end◆",
            "\u{1c}A\u{1d}Tzq1\u{1c}U\u{1d}Czq2\u{1d}Fzq3",
            "(call) zq1 (args) f(zq2)",
            "(call) zq1 (args) f()",
            "(call) zq1 (args) a) b",
            "%CALL% zq1\n%ARGS% 5 % 3",
            "%CALL% zq1 %CALL%",
            "%zq1% %CALL% %ARGS%",
        ];
        for text in elsewhere {
            assert!(learned(&[text]).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_line_of_words_behind_a_sign_that_stands_nowhere_else_is_one_marker() {
        let texts = ["## Call\nzq1\n## With it\n{\"zq2\": 5}\n## /Call\n<end>"];
        let expected = "{## Call}\nzq1\n{## With it}\n{\"zq2\": 5}\n{## /Call}\n<end>";
        assert_eq!(marked(&texts, texts[0]), expected);
        let texts = [">> call\nzq1\n>> over\n"];
        assert_eq!(marked(&texts, texts[0]), "{>> call}\nzq1\n{>> over}\n");
        let texts = ["=== call ===\nzq1\n=== over ===\n"];
        let expected = "{=== call ===}\nzq1\n{=== over ===}\n";
        assert_eq!(marked(&texts, texts[0]), expected);
        let elsewhere = [
            "## Call\nzq1\n",
            "## Call\nzq1\n## With zq2\n",
            "## Call\nzq1 ## over\n## With\n",
            "##Call\nzq1\n##With\n",
        ];
        for text in elsewhere {
            assert!(learned(&[text]).is_empty(), "{text}");
        }
    }

    #[test]
    fn ordinary_markers_are_left_alone() {
        let texts = [
            "<think>zq1</think>zq2<call>{\"name\": \"zq3\"}</call><end>",
            "<call>zq1<key>zq2</key><value>zq3</value><key>zq4</key><value>5</value></call><end>",
            "<|im_start|>assistant\nzq1<|im_end|>\n<|im_start|>user\nzq2<|im_end|>\n",
        ];
        assert!(learned(&texts).is_empty());
    }

    #[test]
    fn a_lead_without_an_end_is_no_marker() {
        let texts = ["<|go|>think<|x|>zq1<|go|>say<|x|>zq2"];
        assert_eq!(marked(&texts, "<|go|>say\n<|x|>"), "<|go|>say\n<|x|>");
        assert_eq!(marked(&texts, "<|go|>"), "<|go|>");
        assert_eq!(marked(&texts, ""), "");
    }
}
