//! Cutting texts into pieces, so that no marker is ever cut in two.

pub(crate) mod lexicon;

use std::collections::HashSet;
use std::hash::Hash;

/// Brackets beyond ASCII, each before the one that closes it.
const BRACKETS: &str = "«»‹›◁▷◀▶〈〉〈〉《》「」『』【】〔〕〖〗〘〙〚〛⟦⟧⟨⟩⟪⟫⟬⟭⟮⟯❨❩❪❫❬❭❮❯❰❱❲❳❴❵⦃⦄⦅⦆⦇⦈⦉⦊⦋⦌⦑⦒⧼⧽⌈⌉⌊⌋⁅⁆＜＞［］（）｛｝\u{FDEB}\u{FDEC}";

/// A marker is not longer than this many bytes.
const LONGEST: usize = 96;

// Characters that Unicode keeps free for a program's own use, and that no text holds: templates have markers of characters for
// private use. A template that writes one of these all the same is misread, and no more.
/// Stands in a text where a slot has been taken out: the name of a call.
pub(crate) const NAME_SLOT: char = '\u{FDE6}';
pub(crate) const ID_SLOT: char = '\u{FDE7}';
pub(crate) const INDEX_SLOT: char = '\u{FDE8}';
pub(crate) const KEY_SLOT: char = '\u{FDE9}';
/// What a variable of the template shows.
pub(crate) const VARIABLE_SLOT: char = '\u{FDEA}';

/// Stand around a marker that consists of several parts, as [`lexicon`] finds them.
pub(crate) const UNIT_OPEN: char = '\u{FDEB}';
pub(crate) const UNIT_CLOSE: char = '\u{FDEC}';

/// The bracket that closes what this one opens.
pub(crate) fn closing_bracket(open: char) -> Option<char> {
    match open {
        '<' => return Some('>'),
        '[' => return Some(']'),
        '(' => return Some(')'),
        '{' => return Some('}'),
        _ if open.is_ascii() => return None,
        _ => {}
    }
    let mut brackets = BRACKETS.chars();
    while let (Some(own), close) = (brackets.next(), brackets.next()) {
        if own == open {
            return close;
        }
    }
    None
}

/// The bracket that closes what this one opens, if names of markers stand between such: round ones and curly
/// ones stand in code and in JSON.
fn marker_bracket(open: char) -> Option<char> {
    closing_bracket(open).filter(|_| !"({".contains(open))
}

pub(crate) fn is_slot(c: char) -> bool {
    matches!(
        c,
        NAME_SLOT | ID_SLOT | INDEX_SLOT | KEY_SLOT | VARIABLE_SLOT
    )
}

/// The pieces of a text: markers in brackets, words, runs of a sign, single characters.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let piece = first_piece(rest)?;
        rest = &rest[piece.len()..];
        Some(piece)
    })
}

/// The first of the pieces of a text.
pub(crate) fn first_piece(text: &str) -> Option<&str> {
    (!text.is_empty()).then(|| &text[..piece_length(text)])
}

fn piece_length(rest: &str) -> usize {
    let Some(first) = rest.chars().next() else {
        return 0;
    };
    if is_word(first) {
        return rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    }
    if first.is_whitespace() || is_slot(first) {
        return first.len_utf8();
    }
    if let Some(length) = bracketed(rest, first).or_else(|| between_runs(rest, first)) {
        return length;
    }
    match first {
        // Signs of JSON stand next to each other without belonging together.
        '{' | '}' | '[' | ']' | '(' | ')' | '"' | '\'' | ',' | ':' | ';' => first.len_utf8(),
        _ => rest.find(|c| c != first).unwrap_or(rest.len()),
    }
}

/// The length of a marker such as `@@NAME@@`, whose name stands between two runs of a sign.
fn between_runs(rest: &str, sign: char) -> Option<usize> {
    // These make words bold, or code, or belong to JSON.
    let common = "*_~`.{}[]()<>\"',:;".contains(sign);
    if common || is_word(sign) || sign.is_whitespace() || !sign.is_ascii() {
        return None;
    }
    let run = run_length(rest, sign);
    let name = &rest[run..];
    let belongs = |c: &char| is_word(*c) || matches!(c, '/' | '-' | ':') || is_slot(*c);
    let end: usize = name
        .chars()
        .take(LONGEST)
        .take_while(belongs)
        .map(char::len_utf8)
        .sum();
    let closes = run > 1 && run <= LONGEST && name[end..].starts_with(&rest[..run]);
    (end > 0 && closes).then_some(run + end + run)
}

/// How long the run of a sign is that begins here; of one that is longer than any marker, no more is looked at than shows that.
fn run_length(rest: &str, sign: char) -> usize {
    let run = rest.chars().take(LONGEST + 1).take_while(|c| *c == sign);
    run.map(char::len_utf8).sum()
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of a marker in brackets that begins here, also if a slot or the end cuts it short.
fn bracketed(rest: &str, first: char) -> Option<usize> {
    let (open, close) = (first, marker_bracket(first)?);
    if let Some(length) = doubled(rest, open, close) {
        return Some(length);
    }
    let mut letters = false;
    for (at, c) in rest.char_indices().skip(1) {
        if c == close {
            // `<|"|>` and `</>` have no letters, but are markers all the same.
            let has_signs = (open == '<' && at > 2) || &rest[first.len_utf8()..at] == "/";
            return (letters || has_signs).then_some(at + c.len_utf8());
        }
        let belongs = match open {
            // Brackets of this kind are also lists.
            '[' => {
                let is_bar = c == '|' && (at == 1 || rest[at + 1..].starts_with(']'));
                let is_slash = c == '/' && matches!(&rest[1..at], "" | "|");
                is_word(c) || c == ' ' || is_bar || is_slash || is_slot(c)
            }
            _ => c != open && c != '\n' && c != '{' && c != '}',
        };
        if !belongs || at > LONGEST {
            return None;
        }
        letters |= c.is_alphabetic();
    }
    (letters && open != '[').then_some(rest.len())
}

/// The length of a marker such as `<<NAME>>` or `[[NAME]]`.
fn doubled(rest: &str, open: char, close: char) -> Option<usize> {
    let run = run_length(rest, open);
    if run < 2 * open.len_utf8() || run > LONGEST {
        return None;
    }
    let name = &rest[run..];
    let belongs = |c: char| is_word(c) || is_slot(c) || "/=:- ".contains(c);
    let end = name
        .char_indices()
        .take(LONGEST + 1)
        .find(|(_, c)| !belongs(*c));
    let end = match end {
        Some((at, _)) => Some(at),
        None if name.chars().nth(LONGEST + 1).is_some() => return None,
        None => None,
    };
    let letters = name[..end.unwrap_or(name.len())].contains(char::is_alphabetic);
    if !letters || end.unwrap_or(name.len()) > LONGEST {
        return None;
    }
    let Some(end) = end else {
        // A slot or the end cuts it short.
        return Some(rest.len());
    };
    let count = run / open.len_utf8();
    let closing: usize = close.len_utf8() * count;
    let closes = name[end..]
        .chars()
        .take(count)
        .filter(|c| *c == close)
        .count()
        == count;
    closes.then_some(run + end + closing)
}

/// Runs of these signs are lines, lists and fences in what people and models write.
const MARKDOWN: &str = "`-=*_~.#";

/// What people and models write into fences.
const LANGUAGES: &[&str] = &[
    "", "json", "python", "py", "xml", "yaml", "text", "sh", "bash",
];

/// Whether a piece is a marker, and not just text between markers.
pub(crate) fn is_marker(piece: &str) -> bool {
    let Some(first) = piece.chars().next() else {
        return false;
    };
    let count = piece.chars().count();
    let bracketed = marker_bracket(first).is_some();
    let is_sign = !is_word(first) && !first.is_whitespace();
    let is_run = || is_sign && piece.chars().all(|c| c == first) && !MARKDOWN.contains(first);
    let has_name = || is_sign && piece.ends_with(first) && piece.contains(is_word);
    count > 2 && (bracketed || is_run() || has_name()) && !is_common(piece)
}

/// Whether a piece of several parts is such as people write as well: a word in parentheses, or a heading. It is not cut,
/// but a text may hold it.
fn is_common(piece: &str) -> bool {
    let parts = piece.strip_prefix(UNIT_OPEN).unwrap_or_default();
    parts.starts_with('(') || lexicon::line_of_words(parts).is_some()
}

/// Whether a piece of a text may be a token of its own.
pub(crate) fn is_token(piece: &str) -> bool {
    is_marker(piece) && !piece.contains(char::is_whitespace)
}

/// Whether a text is nothing but markers and white space.
pub(crate) fn are_markers(text: &str) -> bool {
    pieces(text).all(|piece| is_marker(piece) || piece.trim().is_empty())
}

/// Whether a text has something in it that can be distinguished from a model's prose and from JSON.
pub(crate) fn unlikely_in_prose(text: &str) -> bool {
    if text.contains(is_untyped) || pieces(text).any(is_marker) {
        return true;
    }
    // Where JSON begins there is nothing distinctive any more, and some fences are everywhere.
    let text = text.split(['{', '"', '\'']).next().unwrap_or_default();
    let fence = text.trim().strip_prefix("```");
    if fence.is_some_and(|language| LANGUAGES.contains(&language.trim())) {
        return false;
    }
    let letters = text.chars().filter(|c| c.is_alphanumeric()).count();
    let common = |c: char| "{}[]()\"',:;".contains(c) || MARKDOWN.contains(c);
    let signs = |c: &char| !c.is_alphanumeric() && !c.is_whitespace() && !common(*c);
    letters >= 4 || text.chars().filter(signs).count() >= 3
}

/// Whether nobody types a character: it is a control character of ASCII, or for private use.
pub(crate) fn is_untyped(c: char) -> bool {
    let is_private = matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..);
    is_private || c.is_ascii_control() && !c.is_whitespace()
}

/// Whether a text begins with a sign with which no word, no number, no value of JSON and no line of Markdown begins.
pub(crate) fn begins_with_rare_sign(text: &str) -> bool {
    let common = |c: char| is_word(c) || "{}[]()<>\"',:;".contains(c) || MARKDOWN.contains(c);
    text.starts_with(|c: char| !c.is_whitespace() && !common(c))
}

/// Whether a sign is a symbol, as `■` is, or a picture, and no sign of punctuation.
pub(crate) fn is_symbol(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// Whether a marker has nothing but a slot between its brackets, as `</NAME>` has.
pub(crate) fn is_wildcard_tag(marker: &str) -> bool {
    marker.contains(is_slot) && !marker.contains(|c: char| c.is_alphanumeric() && !is_slot(c))
}

/// Whether a text is one marker between brackets.
pub(crate) fn is_closed(text: &str) -> bool {
    let close = text.chars().next().and_then(closing_bracket);
    let is_whole = first_piece(text) == Some(text) && is_marker(text);
    is_whole && close.is_some() && text.chars().next_back() == close
}

/// Whether a marker is none that people write: `<result>` and `[Result]` are, `<|result|>` and `[RESULT]` aren't.
pub(crate) fn is_control(marker: &str) -> bool {
    let mut signs = marker.chars().map(|c| !c.is_alphanumeric() && c != '/');
    let has_two_signs = signs.by_ref().take(2).all(|is_sign| is_sign);
    has_two_signs
        || !marker.contains(char::is_lowercase)
        || !marker.starts_with(|c: char| c.is_ascii())
}

/// Whether a text is such as people write as well: words, and no sign of being a marker.
pub(crate) fn reads_like_prose(text: &str) -> bool {
    let has_marker = pieces(text).any(is_marker);
    !has_marker && !text.contains('_') && text.contains(char::is_lowercase)
}

/// Each of some markers that is closed by one of those behind it, with the first that does.
pub(crate) fn pairs<'t>(markers: &[&'t str]) -> impl Iterator<Item = (&'t str, &'t str)> {
    markers.iter().enumerate().filter_map(|(at, open)| {
        let close = markers[at + 1..]
            .iter()
            .find(|close| is_pair(open, close))?;
        Some((*open, *close))
    })
}

/// How many bytes two texts begin with alike, in whole characters.
pub(crate) fn same_start(a: &str, b: &str) -> usize {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b);
    same.map(|(a, _)| a.len_utf8()).sum()
}

/// How many bytes two texts end with alike, in whole characters.
pub(crate) fn same_end(a: &str, b: &str) -> usize {
    let same = a.chars().rev().zip(b.chars().rev());
    let same = same.take_while(|(a, b)| a == b);
    same.map(|(a, _)| a.len_utf8()).sum()
}

/// How many bytes of two texts are the same from their beginnings, in whole pieces.
pub(crate) fn common_prefix(a: &str, b: &str) -> usize {
    let same = pieces(a).zip(pieces(b));
    same.take_while(|(a, b)| a == b).map(|(a, _)| a.len()).sum()
}

/// How many bytes of two texts are the same up to their ends, in whole pieces.
pub(crate) fn common_suffix(a: &str, b: &str) -> usize {
    let [a, b] = [a, b].map(|text| pieces(text).collect::<Vec<_>>());
    let same = a.iter().rev().zip(b.iter().rev());
    same.take_while(|(a, b)| a == b).map(|(a, _)| a.len()).sum()
}

/// What two texts have in common at their ends, in whole pieces.
pub(crate) fn shared_end<'a>(a: &'a str, b: &str) -> &'a str {
    &a[a.len() - common_suffix(a, b)..]
}

/// What two texts have in common at their beginnings, in whole pieces.
pub(crate) fn shared_start<'a>(a: &'a str, b: &str) -> &'a str {
    &a[..common_prefix(a, b)]
}

/// Where the pieces of a text begin, and where it ends.
pub(crate) fn boundaries(text: &str) -> Vec<usize> {
    let ends = pieces(text).scan(0, |at, piece| {
        *at += piece.len();
        Some(*at)
    });
    std::iter::once(0).chain(ends).collect()
}

/// Where the piece begins in which a position lies, or the position if it lies between two.
pub(crate) fn boundary(text: &str, position: usize) -> usize {
    let mut at = 0;
    for piece in pieces(text) {
        if at + piece.len() > position {
            return at;
        }
        at += piece.len();
    }
    at.min(position)
}

/// The markers in a text.
pub(crate) fn markers(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).filter(|piece| is_marker(piece))
}

/// The markers of a text, if it has nothing else but white space; or else the text as one.
pub(crate) fn markers_or_whole(text: &str) -> Vec<&str> {
    let found: Vec<&str> = markers(text).collect();
    let length: usize = found.iter().map(|marker| marker.len()).sum();
    let solid = text.chars().filter(|c| !c.is_whitespace());
    match text.trim() {
        "" => Vec::new(),
        // Markers may have white space in them.
        _ if found
            .concat()
            .chars()
            .filter(|c| !c.is_whitespace())
            .eq(solid)
            && length > 0 =>
        {
            found
        }
        whole => vec![whole],
    }
}

/// A text that opens something, cut before the last of its markers, or before what begins as one and goes on with what
/// stands behind the text; nothing is cut off that is more than markers.
pub(crate) fn split_last_marker(text: &str) -> (&str, &str) {
    let pieces: Vec<&str> = pieces(text).collect();
    let is_last = |piece: &&str| is_marker(piece) || piece.starts_with('<');
    let Some(last) = pieces.iter().rposition(is_last) else {
        return ("", text);
    };
    let lead = &pieces[..last];
    let bare = |piece: &&str| is_marker(piece) || piece.trim().is_empty();
    if !lead.iter().all(bare) {
        return ("", text);
    }
    text.split_at(lead.iter().map(|piece| piece.len()).sum())
}

/// A text from its last marker on.
pub(crate) fn from_last_marker(text: &str) -> Option<&str> {
    let pieces: Vec<&str> = pieces(text).collect();
    let last = pieces.iter().rposition(|piece| is_marker(piece))?;
    let length: usize = pieces[last..].iter().map(|piece| piece.len()).sum();
    Some(&text[text.len() - length..])
}

/// The pieces of a text that are no white space, each with the place where it ends.
pub(crate) fn solid_pieces(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let ends = pieces(text).scan(0, |at, piece| {
        *at += piece.len();
        Some((piece, *at))
    });
    ends.filter(|(piece, _)| !piece.trim().is_empty())
}

/// What is left of a text behind the marker that it begins with, if it has others: what reads it may do without the first.
pub(crate) fn without_first(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let first = first_piece(text).filter(|piece| is_marker(piece))?;
    (markers(text).count() > 1).then(|| &text[first.len()..])
}

/// A text that closes something, cut behind its first marker.
pub(crate) fn split_close(close: &str) -> (&str, &str) {
    let pieces: Vec<&str> = pieces(close).collect();
    let Some(first) = pieces.iter().position(|piece| is_marker(piece)) else {
        return (close, "");
    };
    close.split_at(pieces[..=first].iter().map(|piece| piece.len()).sum())
}

/// What is left of a marker's name when brackets and what says "begin" or "end" are gone.
pub(crate) fn core(marker: &str) -> String {
    let words = marker.split(|c: char| !c.is_alphanumeric());
    let words = words.map(str::to_lowercase);
    words
        .filter(|word| {
            !matches!(
                word.as_str(),
                "" | "begin" | "start" | "end" | "stop" | "open" | "close" | "prefix" | "suffix"
            )
        })
        .collect::<Vec<_>>()
        .join("_")
}

/// Whether a marker's name says that reasoning is in it.
pub(crate) fn thinks(marker: &str) -> bool {
    let name = core(marker);
    ["think", "thought", "reason"]
        .iter()
        .any(|word| name.contains(word))
}

/// Whether one marker can close what the other opens.
pub(crate) fn is_pair(open: &str, close: &str) -> bool {
    let name = core(open);
    open != close && !name.is_empty() && name == core(close) && says_end(close) && !says_end(open)
}

/// Whether a marker says that something ends.
pub(crate) fn says_end(marker: &str) -> bool {
    let mut words = marker.split(|c: char| !c.is_alphanumeric());
    words.any(|word| matches!(word.to_lowercase().as_str(), "end" | "stop" | "close" | "suffix"))
        || marker.contains('/')
        // `<name|>` closes what `<|name>` opens.
        || (marker.ends_with("|>") && !marker.starts_with("<|"))
}

/// The marker that would close what another opens, made the way most are.
pub(crate) fn mirrored(open: &str) -> Option<String> {
    for (begin, end) in [
        ("begin", "end"),
        ("start", "end"),
        ("BEGIN", "END"),
        ("START", "END"),
    ] {
        if open.contains(begin) {
            return Some(open.replacen(begin, end, 1));
        }
    }
    let first = open.chars().next()?;
    if open.starts_with("<|") && !open.ends_with("|>") {
        return Some(format!(
            "<{}|>",
            open.trim_start_matches("<|").trim_end_matches('>')
        ));
    }
    marker_bracket(first)?;
    let name = open[first.len_utf8()..].trim_start_matches(['|', '｜']);
    let start = &open[..open.len() - name.len()];
    Some(format!("{start}/{name}"))
}

/// Drops what is empty, and all but the first of what is equal.
pub(crate) fn dedup<T: Clone + Default + Eq + Hash>(all: &mut Vec<T>) {
    let mut seen = HashSet::new();
    let nothing = T::default();
    all.retain(|one| *one != nothing && seen.insert(one.clone()));
}

/// What closes something, at the beginning of what follows it: a marker, or the words of a line.
pub(crate) fn closing_marker(after: &str) -> Option<String> {
    let after = after.trim_start();
    let first = first_piece(after)?;
    if is_marker(first) {
        return Some(first.to_owned());
    }
    let line = after.split('\n').next().unwrap_or_default();
    let marker = markers(line).next().and_then(|marker| line.find(marker));
    let words = line[..marker.unwrap_or(line.len())].trim();
    (!words.is_empty()).then(|| words.to_owned())
}
