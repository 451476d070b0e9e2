//! What a template writes for the probes for calls, with slots in place of names and ids.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::value::Value;

use super::assistant_turn::AssistantTurn;
use super::call_probe::{CallProbe, CallWords};
use super::certainty::Certainty;
use super::input_form::IdShape;
use super::turn_headers::TurnHeaders;
use super::turn_prober::{PrecedingMessages, ThinkingMode, TurnProber};
use crate::markers::{ID_SLOT, INDEX_SLOT, KEY_SLOT, NAME_SLOT, dedup, is_word};

/// The renderings of probes for calls, from the end of the turn's header on, with slots in place
/// of names and ids.
pub(super) struct CallRenderings<'a, 't> {
    /// How sure it is that a model writes so.
    pub(super) certainty: Certainty,
    /// What renders more, if anything does.
    prober: Option<(&'a TurnProber<'t>, &'a TurnHeaders)>,
    pub(super) words: CallWords,
    /// One call with one string.
    pub(super) one_call: String,
    /// The same with a number.
    number: Option<String>,
    /// The same with a boolean.
    boolean: Option<String>,
    /// No arguments.
    pub(super) no_arguments: Option<String>,
    /// Two arguments.
    pub(super) two_arguments: Option<String>,
    /// Two calls.
    pub(super) two_calls: Option<String>,
    /// A text and the one call.
    with_text: Option<String>,
    /// The word that is all of that text.
    text: String,
    /// The words that have the number of a call at their ends.
    numbered: Vec<String>,
}

/// Where an argument stands.
pub(super) struct ArgumentSpan {
    pub(super) key: Range<usize>,
    pub(super) value: Range<usize>,
}

impl ArgumentSpan {
    pub(super) fn find(text: &str, key: &str, value: &str) -> Option<ArgumentSpan> {
        let start = text.find(value)?;
        let at = text[..start].rfind(key)?;
        Some(ArgumentSpan {
            key: at..at + key.len(),
            value: start..start + value.len(),
        })
    }
}

impl<'a, 't> CallRenderings<'a, 't> {
    pub(super) fn render(
        prober: &'a TurnProber<'t>,
        headers: &'a TurnHeaders,
        probe: CallProbe,
    ) -> Option<CallRenderings<'a, 't>> {
        let two = probe.two();
        let CallProbe { words, one } = probe;
        let id_shape = prober.input_form.id_shape;
        let text = prober.word("text");
        let render = |assistant: &AssistantTurn| {
            let body = body(prober, headers, assistant)?;
            Some(with_slots(&body, &words, id_shape))
        };
        let single = |arguments: &[(usize, Value)]| {
            render(&AssistantTurn::calls([words.call(0, arguments)]))
        };
        // Some templates write the first of two calls and drop the other: that shows nothing of two.
        let holds_both = |text: &String| words.values.iter().all(|value| text.contains(value));
        let mut renderings = CallRenderings {
            certainty: Certainty::Seen,
            prober: Some((prober, headers)),
            one_call: render(&one)?,
            number: single(&[(0, words.number.into())]),
            boolean: single(&[(0, true.into())]),
            no_arguments: single(&[]),
            two_arguments: single(&[(0, words.string(0)), (1, words.string(1))]).filter(holds_both),
            two_calls: render(&two).filter(holds_both),
            // Where a text beside calls is dropped, it shows nothing of what stands between them.
            with_text: render(&one.clone().with_content(&text)).filter(|turn| turn.contains(&text)),
            text,
            words,
            numbered: Vec::new(),
        };
        renderings.take_numbers_out();
        Some(renderings)
    }

    /// Puts slots in place of the numbers of calls at the ends of words, as in `<call_0>`.
    fn take_numbers_out(&mut self) {
        // `<call_0>` counts calls, `<arg1 k=` arguments.
        for two in [&self.two_calls, &self.two_arguments] {
            let two = two.as_deref().unwrap_or_default();
            self.numbered.extend(numbered_words(&self.one_call, two));
        }
        if self.numbered.is_empty() {
            return;
        }
        let others = [
            &mut self.number,
            &mut self.boolean,
            &mut self.no_arguments,
            &mut self.two_arguments,
            &mut self.two_calls,
            &mut self.with_text,
        ];
        let others = others.into_iter().flatten();
        for text in others.chain([&mut self.one_call]) {
            *text = without_numbers(text, &self.numbered);
        }
    }

    /// Turns with one call of one string, and with two, that the template has not rendered.
    pub(super) fn of_texts(
        prober: &TurnProber<'_>,
        words: CallWords,
        one_call: String,
        two_calls: Option<String>,
    ) -> CallRenderings<'a, 't> {
        let in_slots = |text: &str| with_slots(text, &words, prober.input_form.id_shape);
        // Of JSON it is known how other values are written.
        let string = words.string_argument(0);
        let with = |arguments: &str| {
            one_call
                .contains(&string)
                .then(|| in_slots(&one_call.replace(&string, arguments)))
        };
        let second = words.string_argument(1);
        let two = string.replace('}', ", ") + second.trim_start_matches('{');
        CallRenderings {
            certainty: Certainty::Observed,
            prober: None,
            number: with(&words.json_argument(0, &words.number.to_string())),
            boolean: with(&words.json_argument(0, "true")),
            // An output shows one call; what others would be is known where the arguments are JSON.
            no_arguments: with("{}"),
            two_arguments: with(&two),
            one_call: in_slots(&one_call),
            two_calls: two_calls.as_deref().map(in_slots),
            with_text: None,
            text: prober.word("text"),
            words,
            numbered: Vec::new(),
        }
    }

    /// A turn with a value as the argument of the one call; `None` if the template was not asked for calls.
    pub(super) fn with_argument(&self, value: Value) -> Option<String> {
        let (prober, headers) = self.prober?;
        let call = self.words.call(0, &[(0, value)]);
        let body = body(prober, headers, &AssistantTurn::calls([call]))?;
        Some(without_numbers(&body, &self.numbered))
    }

    /// Whether a turn may hold several calls. Few outputs say that it may not.
    pub(super) fn are_several(&self) -> bool {
        self.two_calls.is_some() || self.certainty == Certainty::Observed
    }

    /// What stands before a text beside the call, and what stands behind it.
    pub(super) fn around_text(&self) -> Option<(&str, &str)> {
        self.with_text.as_deref()?.split_once(self.text.as_str())
    }

    /// What stands between a text and the body of the call behind it, which begins so far before the key
    /// of its argument.
    pub(super) fn between_text_and_body(&self, lead: usize) -> Option<&str> {
        let (_, behind) = self.around_text()?;
        behind.get(..self.first_argument(behind)?.key.start.checked_sub(lead)?)
    }

    /// Where the argument of the one call stands.
    pub(super) fn string_span(&self) -> Option<ArgumentSpan> {
        self.first_argument(&self.one_call)
    }

    /// The call with a number, and where the number stands.
    pub(super) fn number_span(&self) -> Option<(&str, ArgumentSpan)> {
        let text = self.number.as_deref()?;
        let number = self.words.number.to_string();
        let span = ArgumentSpan::find(text, &self.words.keys[0], &number)?;
        Some((text, span))
    }

    /// Where the argument stands that the first call has.
    pub(super) fn first_argument(&self, text: &str) -> Option<ArgumentSpan> {
        ArgumentSpan::find(text, &self.words.keys[0], &self.words.values[0])
    }

    /// Where the argument stands that the second call has, or that stands second in one.
    pub(super) fn second_argument(&self, text: &str) -> Option<ArgumentSpan> {
        ArgumentSpan::find(text, &self.words.keys[1], &self.words.values[1])
    }

    pub(super) fn has_python_literals(&self) -> bool {
        let key = &self.words.keys[0];
        let after_key = self
            .boolean
            .as_deref()
            .and_then(|text| text.rsplit_once(key.as_str()));
        after_key.is_some_and(|(_, after)| after.contains("True"))
    }
}

/// A turn from behind its header on.
fn body(
    prober: &TurnProber<'_>,
    headers: &TurnHeaders,
    assistant: &AssistantTurn,
) -> Option<String> {
    let in_mode = |mode| headers.turn(prober, PrecedingMessages::Question, assistant, mode);
    // A template may take no call unless thinking is on.
    in_mode(ThinkingMode::Unset).or_else(|| in_mode(ThinkingMode::On))
}

/// The text with slots in place of names and ids of calls, and of keys that stand behind values.
fn with_slots(text: &str, words: &CallWords, id_shape: IdShape) -> String {
    let mut text = text.to_owned();
    // `functions.f:0` is a name and a number, which get slots of their own.
    if id_shape != IdShape::Named {
        for index in 0..2 {
            text = text.replace(&id_shape.id("", index), &ID_SLOT.to_string());
        }
    }
    for name in &words.names {
        // Also where it is named again, as in `</f>`.
        text = text.replace(name, &NAME_SLOT.to_string());
    }
    let [first, second] = &words.keys;
    let number = words.number.to_string();
    for (key, value) in [
        (first, &words.values[0]),
        (first, &number),
        (second, &words.values[1]),
    ] {
        // What closes an argument may name it once more.
        if let Some((before, after)) = text.split_once(value.as_str()) {
            let after = after.replace(key, &KEY_SLOT.to_string());
            text = format!("{before}{value}{after}");
        }
    }
    text
}

/// A number with more digits counts no calls of a turn.
const MAX_DIGITS: usize = 3;

/// The words, and where each begins, that end with a number by which calls may be counted, cut before it.
fn words_with_numbers(text: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    let mut end = 0;
    let words = text.split_inclusive(|c| !is_word(c));
    words.filter_map(move |word| {
        let at = end;
        end += word.len();
        let word = word.trim_end_matches(|c| !is_word(c));
        let (base, number) =
            word.split_at(word.trim_end_matches(|c: char| c.is_ascii_digit()).len());
        // `call_0` counts. A number by itself has no word to be known by, and is looked for elsewhere.
        let is_counted = base.ends_with(is_word) && (1..=MAX_DIGITS).contains(&number.len());
        is_counted.then_some((at, base, number))
    })
}

/// The words that have one number in a turn with one call, and the next one, too, in a turn with two.
fn numbered_words(one_call: &str, two_calls: &str) -> Vec<String> {
    let numbers = |text: &str, base: &str| {
        let all = words_with_numbers(text).filter(|(_, word, _)| *word == base);
        let numbers = all.filter_map(|(.., number)| number.parse::<u16>().ok());
        numbers
            .collect::<BTreeSet<u16>>()
            .into_iter()
            .collect::<Vec<u16>>()
    };
    let mut bases: Vec<String> = words_with_numbers(one_call)
        .map(|(_, base, _)| base.to_owned())
        .collect();
    dedup(&mut bases);
    // `<call_0>` and then `<call_0>` and `<call_1>` count; `<h1>` has the same number in both turns.
    bases.retain(|base| {
        matches!(
            (numbers(one_call, base).as_slice(), numbers(two_calls, base).as_slice()),
            ([only], [first, second]) if only == first && *second == first + 1
        )
    });
    bases
}

fn without_numbers(text: &str, numbered: &[String]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (at, base, number) in words_with_numbers(text) {
        if numbered.iter().any(|word| word == base) {
            let end = at + base.len();
            out.push_str(&text[from..end]);
            out.push(INDEX_SLOT);
            from = end + number.len();
        }
    }
    out + &text[from..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::words;

    #[test]
    fn words_with_numbers_that_count_on_from_one_call_to_two_are_numbered() {
        for (one, two, expected) in [
            ("<call_0>", "<call_0><call_1>", "call_"),
            ("<do1><by1>", "<do1><by1><do2><by1>", "do"),
            ("<call_0>", "<call_0><call_0>", ""),
            ("<call_0>", "<call_1><call_2>", ""),
            ("<call_0>", "<call_0><call_5>", ""),
            ("<h1><h2>", "<h1><h2><h3>", ""),
            // A number by itself has no word to be known by.
            ("<1>", "<1><2>", ""),
            ("<call_2024>", "<call_2024><call_2025>", ""),
            ("<call_0>", "", ""),
        ] {
            assert_eq!(numbered_words(one, two).join(" "), expected, "{two}");
        }
    }

    #[test]
    fn numbers_are_taken_out_of_the_ends_of_numbered_words_only() {
        let numbered = ["call_".to_owned()];
        for (text, expected) in [
            ("<call_0>", "<call_#>"),
            ("<call_12>x</call_12>", "<call_#>x</call_#>"),
            ("<h1>call_1", "<h1>call_#"),
            ("call_0x", "call_0x"),
            ("recall_0", "recall_0"),
        ] {
            let found = without_numbers(text, &numbered).replace(INDEX_SLOT, "#");
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn an_argument_is_the_last_key_before_its_value() {
        for (text, expected) in [
            ("<f k=v>", Some((3..4, 5..6))),
            // A name of an example may hold the key as well.
            ("k: {k: v}", Some((4..5, 7..8))),
            ("v=k", None),
            ("k=", None),
        ] {
            let found = ArgumentSpan::find(text, "k", "v");
            let found = found.map(|span| (span.key, span.value));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn names_ids_and_keys_behind_values_become_slots() {
        let words = words();
        let nine = IdShape::Nine;
        for (text, id_shape, expected) in [
            ("<fa ka=va></fa>", nine, "<N ka=va></N>"),
            // The key before a value shows where the argument begins, and one behind it closes it.
            ("<ka>va</ka>", nine, "<ka>va</K>"),
            ("<ka>77</ka><kb>vb</kb>", nine, "<ka>77</K><kb>vb</K>"),
            ("zqid70001 zqid70002 zqid70003", nine, "I I zqid70003"),
            ("call_zqid70001", nine, "call_I"),
            ("call_zqid70001", IdShape::Prefixed, "I"),
            // A name and a number get slots of their own.
            ("functions.fa:0", IdShape::Named, "functions.N:0"),
        ] {
            let found = with_slots(text, &words, id_shape);
            let found = found.replace(NAME_SLOT, "N").replace(ID_SLOT, "I");
            assert_eq!(found.replace(KEY_SLOT, "K"), expected, "{text}");
        }
    }
}
