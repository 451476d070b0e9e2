//! What stands before turns where something is given otherwise: `<bot effort=low>`, or `<turn 4 bot>`.

use jiff::civil::{DateTime, date};

use crate::markers::VARIABLE_SLOT;

use super::reasoning_variants::{any_values, words_beside};
use super::turn_prober::{PrecedingMessages, ThinkingMode, TurnProber};
use super::variables::is_given;

/// A time that shares no number with today.
fn another_time() -> DateTime {
    date(1957, 8, 9).at(4, 13, 36, 0)
}

/// The headers with slots where they vary: with the variables of these names, with the time, or from turn to turn. None if none
/// does.
pub(super) fn find(
    prober: &mut TurnProber<'_>,
    headers: &[String],
    jinja: &str,
    names: &[String],
) -> Vec<String> {
    let slot = VARIABLE_SLOT.to_string();
    let varied = headers.iter().map(|header| {
        let Some(usual) = UsualPrompt::before(prober, header) else {
            return header.clone();
        };
        let mut places: Vec<(usize, usize)> = Vec::new();
        for name in names {
            if !is_given(name) && !name.ends_with("_token") && !prober.knows(name) {
                places.extend(usual.varied_by(prober, name, jinja));
            }
        }
        if jinja.contains("strftime_now") {
            let at = |prober: &TurnProber<'_>| usual.changed(prober, None);
            places.extend(prober.at(another_time(), at));
        }
        places.sort_unstable();
        let mut header = header.clone();
        let mut end = header.len();
        for (from, to) in places.into_iter().rev() {
            // Two variables that show in one place are in each other's way.
            if to <= end {
                header.replace_range(from..to, &slot);
                end = from;
            }
        }
        header
    });
    let mut varied: Vec<String> = varied.collect();
    varied = with_any_numbers(&varied);
    match varied.iter().any(|header| header.contains(VARIABLE_SLOT)) {
        true => varied,
        false => Vec::new(),
    }
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

    /// The part of the header that is another where a variable has another value.
    fn varied_by(
        &self,
        prober: &mut TurnProber<'_>,
        name: &str,
        jinja: &str,
    ) -> Option<(usize, usize)> {
        let mut given = any_values(prober);
        given.extend(words_beside(jinja, name));
        given.into_iter().find_map(|given| {
            let shown = given.shown();
            prober.given(name, given.to_value(), |prober| {
                self.changed(prober, Some(&shown))
            })
        })
    }

    /// The part of the header that is another now, and whole words of it. What is shown stands there, if it stands anywhere.
    fn changed(&self, prober: &TurnProber<'_>, shown: Option<&str>) -> Option<(usize, usize)> {
        let prompt = prober.prompt(self.preceding, ThinkingMode::Unset).ok()?;
        let (usual, now) = (self.tail.as_str(), prompt.tail());
        if usual == now {
            return None;
        }
        let place = shown.and_then(|shown| Some((now.find(shown)?, shown.len())));
        let (before, behind) = match place {
            Some((at, length)) => (&now[..at], &now[at + length..]),
            None => {
                let before = start_of_word(usual, shared(usual.chars(), now.chars()));
                let rest = [usual, now].map(|text| text[before..].chars().rev());
                let [usual_rest, rest] = rest;
                let behind = usual.len() - shared(usual_rest, rest);
                (&usual[..before], &usual[end_of_word(usual, behind)..])
            }
        };
        let varied = usual.strip_prefix(before)?.strip_suffix(behind)?;
        let (from, to) = (before.len(), before.len() + varied.len());
        // A header that ends with what varies would end anywhere.
        let end = self.start + self.header.len();
        let is_within = self.start < from && from < to && to < end;
        is_within.then(|| (from - self.start, to - self.start))
    }
}

/// How many bytes of two texts are the same.
fn shared(one: impl Iterator<Item = char>, other: impl Iterator<Item = char>) -> usize {
    let same = one.zip(other).take_while(|(one, other)| one == other);
    same.map(|(c, _)| c.len_utf8()).sum()
}

/// The beginning of the word that a text is cut in at a place, or the place itself.
fn start_of_word(text: &str, at: usize) -> usize {
    text[..at].trim_end_matches(char::is_alphanumeric).len()
}

/// The end of the word that a text is cut in at a place, or the place itself.
fn end_of_word(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    at + rest.len() - rest.trim_start_matches(char::is_alphanumeric).len()
}

/// The headers, with slots for the numbers in which some of them differ, each once.
fn with_any_numbers(headers: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for header in headers {
        let form = without_numbers(header);
        let mut others = headers.iter().filter(|other| *other != header);
        let header = match others.any(|other| without_numbers(other) == form) {
            true => form,
            false => header.clone(),
        };
        if !all.contains(&header) {
            all.push(header);
        }
    }
    all
}

/// A text with a slot in the place of each number.
fn without_numbers(text: &str) -> String {
    let mut form = String::new();
    for c in text.chars() {
        match c.is_ascii_digit() {
            true if form.ends_with(VARIABLE_SLOT) => {}
            true => form.push(VARIABLE_SLOT),
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
            // None but a word that the template knows changes it.
            (
                "<bot {{ 'quick' if mode == 'fast' else 'slow' }}>",
                &["<bot *>"],
            ),
            ("<bot {{ strftime_now('%d %b %Y') }}>", &["<bot *>"]),
            // What varies stands at its end, or nowhere.
            ("<bot>{{ effort | default('high') }}", &[]),
            ("<bot>", &[]),
        ] {
            let each = "{% for m in messages %}{% if m.role == 'assistant' %}HEADER{{ m.content }}<end>\
                        {% else %}<{{ m.role }}>{{ m.content }}<end>{% endif %}{% endfor %}\
                        {% if add_generation_prompt %}HEADER{% endif %}";
            let turn = found(&ChatTemplate::from_jinja(each.replace("HEADER", header))).turn;
            let varied = turn.varied_headers.iter();
            let varied: Vec<String> = varied
                .map(|header| header.replace(VARIABLE_SLOT, "*"))
                .collect();
            assert_eq!(varied, expected, "{header}");
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
        ] {
            let headers: Vec<String> = headers.iter().map(|text| (*text).to_owned()).collect();
            let found = with_any_numbers(&headers);
            let found: Vec<String> = found
                .iter()
                .map(|header| header.replace(VARIABLE_SLOT, "*"))
                .collect();
            assert_eq!(found, expected, "{headers:?}");
        }
    }
}
