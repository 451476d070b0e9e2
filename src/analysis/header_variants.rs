//! What stands before turns where something is given otherwise: `<bot effort=low>`, `<bot tools=0>`, or `<turn 4 bot>`.

use std::ops::Range;

use jiff::civil::{DateTime, date};

use crate::markers::{self, INDEX_SLOT, VARIABLE_SLOT, dedup, is_slot};

use super::call_probe::CallWords;
use super::given::{any_values, is_left_open, words_beside};
use super::turn_prober::{PrecedingMessages, ThinkingMode, TurnProber};

/// Times that differ in all that is shown of one, so that one of them differs from now.
fn other_times() -> [DateTime; 2] {
    [
        date(1957, 8, 9).at(4, 13, 36, 0),
        date(1984, 12, 27).at(15, 48, 52, 0),
    ]
}

/// The headers with slots where they vary: with the variables of these names, with the time, with the tools, or from turn to turn; and
/// others that stand there where a variable has one of the values that the template knows. None if nothing varies.
pub(super) fn find(
    prober: &mut TurnProber<'_>,
    headers: &[String],
    jinja: &str,
    names: &[String],
) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let tools = CallWords::new(prober).tools();
    for header in headers {
        let Some(usual) = UsualPrompt::before(prober, header) else {
            all.push(header.clone());
            continue;
        };
        let mut places: Vec<Range<usize>> = Vec::new();
        let mut others: Vec<String> = Vec::new();
        for name in names {
            if !is_left_open(prober, name) {
                continue;
            }
            match usual.shows(prober, name) {
                Some(place) => places.push(place),
                None => others.extend(usual.others(prober, name, jinja)),
            }
        }
        if jinja.contains("strftime_now") {
            for time in other_times() {
                places.extend(prober.at(time, |prober| usual.changed(prober)));
            }
        }
        for count in 0..=tools.len() {
            places.extend(prober.offering(&tools[..count], |prober| usual.changed(prober)));
        }
        all.push(with_slots(header, places));
        all.extend(others);
    }
    let mut varied = with_any_numbers(&all);
    dedup(&mut varied);
    let is_sure =
        |header: &String| !header.contains(is_slot) || ends_prompts(prober, headers, header);
    match varied != headers && varied.iter().all(is_sure) {
        true => varied,
        false => Vec::new(),
    }
}

/// A header with a slot in each of these places, of which those that overlap are one.
fn with_slots(header: &str, mut places: Vec<Range<usize>>) -> String {
    places.sort_unstable_by_key(|place| place.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for place in places {
        match merged.last_mut() {
            Some(last) if place.start <= last.end => last.end = last.end.max(place.end),
            _ => merged.push(place),
        }
    }
    let mut header = header.to_owned();
    for place in merged.into_iter().rev() {
        header.replace_range(place, &VARIABLE_SLOT.to_string());
    }
    header
}

/// Whether a header with slots, looked for in prompts, is found last where the last of the headers stands: nothing behind it looks
/// alike, such as `<think>` with `<bot>` for a header.
fn ends_prompts(prober: &TurnProber<'_>, headers: &[String], varied: &str) -> bool {
    let prompts = PrecedingMessages::ALL.into_iter().flat_map(|preceding| {
        let modes = ThinkingMode::ALL.into_iter();
        modes.filter_map(move |mode| prober.prompt(preceding, mode).ok())
    });
    let mut prompts = prompts.map(|prompt| prompt.tail().to_owned());
    prompts.all(|tail| {
        let ends = headers.iter().filter_map(|header| {
            let start = tail.rfind(header.as_str())?;
            Some(start + header.len())
        });
        // A prompt may end without a header, where the model writes it.
        ends.max()
            .is_none_or(|end| last_end(varied, &tail).is_none_or(|other| other <= end))
    })
}

/// Where the last place in a text ends that is a header with slots.
fn last_end(varied: &str, text: &str) -> Option<usize> {
    let mut parts = varied.split(is_slot);
    let first = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    let mut starts = text.rmatch_indices(first).map(|(at, _)| at + first.len());
    starts.find_map(|behind| {
        rest.iter().try_fold(behind, |at, part| {
            let line = text[at..].split('\n').next().unwrap_or_default();
            // A part may hold line breaks itself.
            let found = text[at..].find(part)?;
            (found <= line.len()).then_some(at + found + part.len())
        })
    })
}

/// A prompt that ends with a header, or with a thought that is begun behind it, where nothing is given otherwise.
struct UsualPrompt<'h> {
    header: &'h str,
    preceding: PrecedingMessages,
    tail: String,
    /// Where the header begins.
    start: usize,
}

impl<'h> UsualPrompt<'h> {
    fn before(prober: &TurnProber<'_>, header: &'h str) -> Option<UsualPrompt<'h>> {
        PrecedingMessages::ALL.into_iter().find_map(|preceding| {
            let prompt = prober.prompt(preceding, ThinkingMode::Unset).ok()?;
            let start = prompt.tail().rfind(header)?;
            Some(UsualPrompt {
                header,
                preceding,
                tail: prompt.tail().to_owned(),
                start,
            })
        })
    }

    /// The prompt as it is now, if it is another.
    fn now(&self, prober: &TurnProber<'_>) -> Option<String> {
        let prompt = prober.prompt(self.preceding, ThinkingMode::Unset).ok()?;
        let now = prompt.tail();
        (now != self.tail).then(|| now.to_owned())
    }

    /// The part of the header in which any value of a variable shows.
    fn shows(&self, prober: &mut TurnProber<'_>, name: &str) -> Option<Range<usize>> {
        any_values(prober).into_iter().find_map(|given| {
            let shown = given.shown();
            let now = prober.given(name, given.to_value(), |prober| self.now(prober))?;
            let (before, behind) = now.split_once(&shown)?;
            self.place(before, behind)
        })
    }

    /// The headers in its place where a variable has one of the values that the template compares it with.
    fn others(&self, prober: &mut TurnProber<'_>, name: &str, jinja: &str) -> Vec<String> {
        let words = words_beside(jinja, name).into_iter();
        let (before, behind) = self.tail.split_at(self.start);
        let behind = &behind[self.header.len()..];
        let others = words.filter_map(|given| {
            let now = prober.given(name, given.to_value(), |prober| self.now(prober))?;
            let other = now.strip_prefix(before)?.strip_suffix(behind)?;
            // What begins a thought is no part of a header.
            let is_alike = markers::markers(other).count() == markers::markers(self.header).count();
            (is_alike && other != self.header && !other.trim().is_empty()).then(|| other.to_owned())
        });
        others.collect()
    }

    /// The part of the header that is another now, in whole words.
    fn changed(&self, prober: &TurnProber<'_>) -> Option<Range<usize>> {
        let varied = differing(&self.tail, &self.now(prober)?);
        self.place(&self.tail[..varied.start], &self.tail[varied.end..])
    }

    /// The place in the header between what stands before it in the prompt and behind it.
    fn place(&self, before: &str, behind: &str) -> Option<Range<usize>> {
        let varied = self.tail.strip_prefix(before)?.strip_suffix(behind)?;
        let (from, to) = (before.len(), before.len() + varied.len());
        // A header that begins or ends with what varies would do so anywhere.
        let end = self.start + self.header.len();
        let is_within = self.start < from && to < end && !varied.contains('\n');
        is_within.then(|| from - self.start..to - self.start)
    }
}

/// How many bytes of two texts are the same.
fn shared(one: impl Iterator<Item = char>, other: impl Iterator<Item = char>) -> usize {
    let same = one.zip(other).take_while(|(one, other)| one == other);
    same.map(|(c, _)| c.len_utf8()).sum()
}

/// The part of a text that is another in a second one, in whole words: all of `16` in `<16 May>` beside `<17 May>`, and nothing in `<bot>`
/// beside `<bot again>`.
fn differing(usual: &str, now: &str) -> Range<usize> {
    let is_word = char::is_alphanumeric;
    let mut start = shared(usual.chars(), now.chars());
    if [usual, now]
        .iter()
        .any(|text| text[start..].starts_with(is_word))
    {
        start = usual[..start].trim_end_matches(is_word).len();
    }
    let rests = [usual, now].map(|text| &text[start..]);
    let [usual_rest, rest] = rests.map(|text| text.chars().rev());
    let same = shared(usual_rest, rest);
    let mut behind = &usual[usual.len() - same..];
    if rests
        .iter()
        .any(|text| text[..text.len() - same].ends_with(is_word))
    {
        behind = behind.trim_start_matches(is_word);
    }
    start..usual.len() - behind.len()
}

/// The headers, with slots for the numbers in which some of them differ. None begins or ends with one.
pub(crate) fn with_any_numbers(headers: &[String]) -> Vec<String> {
    let with_any = headers.iter().map(|header| {
        let form = without_numbers(header);
        let mut others = headers.iter().filter(|other| *other != header);
        let is_within = !form.starts_with(INDEX_SLOT) && !form.ends_with(INDEX_SLOT);
        match is_within && others.any(|other| without_numbers(other) == form) {
            true => form,
            false => header.clone(),
        }
    });
    with_any.collect()
}

/// A text with a slot in the place of each number.
pub(super) fn without_numbers(text: &str) -> String {
    let mut form = String::new();
    for c in text.chars() {
        match c.is_ascii_digit() {
            true if form.ends_with(INDEX_SLOT) => {}
            true => form.push(INDEX_SLOT),
            false => form.push(c),
        }
    }
    form
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::found;
    use crate::chat_template::ChatTemplate;

    #[test]
    fn a_header_varies_with_variables_with_the_time_and_from_turn_to_turn() {
        for (header, expected) in [
            // Any value shows.
            ("<bot n={{ effort | default('high') }}>", &["<bot n=*>"][..]),
            (
                "<bot n={{ effort | default('high') }} of={{ n | default(3) }}>",
                &["<bot n=* of=*>"],
            ),
            ("<bot><n:{{ effort | default('h') }}>", &["<bot><n:*>"]),
            // Nothing shows where nothing is given.
            ("<bot n={{ effort }}>", &["<bot n=*>"]),
            // None but a word that the template knows changes it.
            (
                "<bot {{ 'quick' if mode == 'fast' else 'slow' }}>",
                &["<bot slow>", "<bot quick>"],
            ),
            (
                "<bot{{ '_quick' if mode == 'fast' }}>",
                &["<bot>", "<bot_quick>"],
            ),
            // It begins a thought.
            ("<bot>{{ '<think>' if mode == 'slow' }}", &[]),
            // A slot would be found in `<think>`, too.
            (
                "<{{ name | default('bot') }}>{{ '<think>' if loop is not defined }}",
                &[],
            ),
            ("<bot {{ strftime_now('%d %b %Y') }}>", &["<bot *>"]),
            ("<bot n={{ (tools or []) | length }}>", &["<bot n=*>"]),
            ("<bot{{ ' with tools' if tools }}>", &["<bot*>"]),
            // What varies stands at its end, or nowhere.
            ("<bot>{{ effort | default('high') }}", &[]),
            ("<bot>", &[]),
        ] {
            let each = "{% for m in messages %}{% if m.role == 'assistant' %}HEADER{{ m.content }}<end>\
                        {% else %}<{{ m.role }}>{{ m.content }}<end>{% endif %}{% endfor %}\
                        {% if add_generation_prompt %}HEADER{% endif %}";
            let turn = found(&ChatTemplate::from_jinja(each.replace("HEADER", header))).turn;
            let varied = turn.varied_headers.iter();
            let varied: Vec<String> = varied.map(|header| header.replace(is_slot, "*")).collect();
            assert_eq!(varied, expected, "{header}");
        }
    }

    #[test]
    fn texts_differ_in_whole_words() {
        for (usual, now, expected) in [
            ("<16 May>", "<17 May>", "16"),
            ("<16 May>", "<16 June>", "May"),
            ("<bot n=0>", "<bot n=12>", "0"),
            ("<bot>", "<bot again>", ""),
            ("<bot again>", "<bot>", " again"),
            ("<bot>", "<both>", "bot"),
        ] {
            assert_eq!(&usual[differing(usual, now)], expected, "{usual} {now}");
        }
    }

    #[test]
    fn headers_that_differ_in_numbers_are_one() {
        for (headers, expected) in [
            (
                &["<turn 2 bot>", "<turn 14 bot>"][..],
                &["<turn * bot>"][..],
            ),
            (&["<v2 bot>", "<bot>"], &["<v2 bot>", "<bot>"]),
            (&["<v2 bot>"], &["<v2 bot>"]),
            // What ends with a number would end within it.
            (&["#2", "#4"], &["#2", "#4"]),
        ] {
            let headers: Vec<String> = headers.iter().map(|text| (*text).to_owned()).collect();
            let mut found = with_any_numbers(&headers);
            dedup(&mut found);
            let found: Vec<String> = found
                .iter()
                .map(|header| header.replace(is_slot, "*"))
                .collect();
            assert_eq!(found, expected, "{headers:?}");
        }
    }
}
