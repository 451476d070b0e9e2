//! How reasoning is opened and closed where a variable has another value: `<think effort="low">`, or `<think_low>`; or where another thought
//! stands elsewhere, if that is counted: `<think words="7">`; or in prompts, which may say more than turns.

use crate::markers::{VARIABLE_SLOT, closing_marker, first_piece, is_marker, is_slot, says_end};
use crate::value::Value;

use super::given::{Given, any_values, is_left_open, words_beside, words_in_quotes};
use super::header_variants::without_numbers;
use super::sample_turns::SampleTurns;
use super::turn_headers::TurnHeaders;
use super::turn_prober::{PrecedingMessages, ThinkingMode, TurnProber};

/// So many variants are tried on drafts at most.
pub(super) const MAX_VARIANTS: usize = 6;

/// Whether a text is another one with something in place of its slots.
pub(super) fn is_variant(text: &str, other: &str) -> bool {
    let mut texts: Vec<&str> = other.split(is_slot).collect();
    let behind = texts.pop().unwrap_or_default();
    let [before, between @ ..] = texts.as_slice() else {
        return text == other;
    };
    let rest = text.strip_prefix(before);
    let rest = rest.and_then(|rest| rest.strip_suffix(behind));
    let rest = rest.and_then(|rest| {
        let mut between = between.iter();
        between.try_fold(rest, |rest, text| Some(rest.split_once(text)?.1))
    });
    rest.is_some()
}

/// How reasoning is opened and closed where a variable has a value, where something is counted, or in prompts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReasoningVariant {
    /// The variable and its value, if it needs one.
    given: Option<(String, Given)>,
    /// What opens it; a slot stands for any value.
    pub(crate) open: String,
    /// What closes it.
    pub(crate) close: Option<String>,
}

impl ReasoningVariant {
    /// What opens it and closes it without a variable.
    pub(crate) fn without_variable(open: String, close: Option<String>) -> ReasoningVariant {
        ReasoningVariant {
            given: None,
            open,
            close,
        }
    }

    /// The name of the variable, if one is given.
    pub(crate) fn variable(&self) -> Option<&str> {
        let given = self.given.as_ref();
        given.map(|(name, _)| name.as_str())
    }

    /// What opens it and what closes it with the value of a variable in place of the slot, and that value.
    pub(crate) fn filled(&self) -> Option<(Value, String, Option<String>)> {
        let (_, given) = self.given.as_ref()?;
        let shown = given.shown();
        let filled = |text: &String| text.replace(VARIABLE_SLOT, &shown);
        Some((
            given.to_value(),
            filled(&self.open),
            self.close.as_ref().map(filled),
        ))
    }
}

/// How reasoning, which is opened and closed so, is where the variables of these names have other values: any, or one of the
/// words that the template has in quotes.
pub(super) fn find(
    prober: &mut TurnProber<'_>,
    headers: &TurnHeaders,
    turns: &SampleTurns,
    [open, close]: [Option<&str>; 2],
    (jinja, names): (&str, &[String]),
) -> Vec<ReasoningVariant> {
    let Some(usual) = UsualTurn::of(prober, headers, turns, close.is_some()) else {
        return Vec::new();
    };
    let usual_open = open.map_or("", str::trim);
    let mut variants: Vec<ReasoningVariant> = Vec::new();
    for name in names {
        if !is_left_open(prober, name) {
            continue;
        }
        for variant in variants_by(prober, jinja, name, |prober| usual.varied(prober, turns)) {
            // The usual one has to be known by what is found.
            let is_known = usual.open == usual_open || is_variant(usual_open, &variant.open);
            let is_new = |other: &ReasoningVariant| {
                (&other.open, &other.close) != (&variant.open, &variant.close)
            };
            if is_known && variants.len() < MAX_VARIANTS && variants.iter().all(is_new) {
                variants.push(variant);
            }
        }
    }
    if variants.is_empty() {
        let counted = usual.counted(prober, headers, turns);
        variants.extend(counted.filter(|variant| is_variant(usual_open, &variant.open)));
    }
    variants
}

/// How prompts open reasoning, which turns open and close so, where they say more in its opener: `<think effort="low">` for `<think>`.
pub(super) fn in_prompts(
    prober: &mut TurnProber<'_>,
    headers: &TurnHeaders,
    [open, close]: [&str; 2],
    (jinja, names): (&str, &[String]),
) -> Vec<ReasoningVariant> {
    let opener = |prober: &TurnProber<'_>| {
        // A switch that is off may show there, too.
        let modes = [ThinkingMode::Unset, ThinkingMode::On].into_iter();
        let mut remainders = modes.filter_map(|mode| headers.prompt_remainder(prober, mode));
        remainders.find_map(|rest| {
            let opener = first_piece(rest.trim()).filter(|opener| says_more(opener, open));
            opener.map(str::to_owned)
        })
    };
    let Some(usual) = opener(prober) else {
        return Vec::new();
    };
    let mut variants = Vec::new();
    for name in names {
        if variants.is_empty() && is_left_open(prober, name) {
            variants = variants_by(prober, jinja, name, |prober| {
                let other = opener(prober).filter(|other| *other != usual)?;
                Some((other, Some(close.to_owned())))
            });
        }
    }
    let is_known = |variant: &ReasoningVariant| is_variant(&usual, &variant.open);
    if !variants.iter().any(is_known) {
        variants.push(ReasoningVariant::without_variable(
            usual,
            Some(close.to_owned()),
        ));
    }
    variants
}

/// Whether a marker is another one with more in it behind its name, and opens something: `<think/>` does not.
fn says_more(marker: &str, other: &str) -> bool {
    let name = other.trim_end_matches(|c: char| !c.is_alphanumeric());
    let more = marker.strip_prefix(name).filter(|_| !name.is_empty());
    let is_attribute = more.is_some_and(|more| more.starts_with([' ', '\n', '\t', '=', ':']));
    is_attribute && is_marker(other) && is_marker(marker) && !says_end(marker)
}

/// How reasoning is opened and closed where one variable has other values.
fn variants_by(
    prober: &mut TurnProber<'_>,
    jinja: &str,
    name: &str,
    varied: impl Fn(&TurnProber<'_>) -> Option<(String, Option<String>)>,
) -> Vec<ReasoningVariant> {
    let any = any_values(prober);
    let mut vary = |given: Given| {
        let (open, close) = prober.given(name, given.to_value(), &varied)?;
        Some(ReasoningVariant {
            given: Some((name.to_owned(), given)),
            open,
            close,
        })
    };
    // Any value shows in `<think effort="low">`.
    let shows = any.into_iter().find_map(|given| {
        let shown = given.shown();
        let mut variant = vary(given)?;
        let texts = [&mut variant.open].into_iter().chain(&mut variant.close);
        texts.for_each(|text| *text = text.replace(&shown, &VARIABLE_SLOT.to_string()));
        variant.open.contains(VARIABLE_SLOT).then_some(variant)
    });
    match shows {
        Some(any) => vec![any],
        None if words_beside(jinja, name).is_empty() => Vec::new(),
        // None but `low` makes it `<think_low>`.
        None => words_in_quotes(jinja)
            .filter_map(|word| vary(Given::Word(word.to_owned())))
            .collect(),
    }
}

/// A turn with a thought and a text where no variable is given.
struct UsualTurn {
    mode: ThinkingMode,
    /// What stands before what opens the thought.
    header: String,
    open: String,
    close: Option<String>,
}

impl UsualTurn {
    fn of(
        prober: &TurnProber<'_>,
        headers: &TurnHeaders,
        turns: &SampleTurns,
        is_closed: bool,
    ) -> Option<UsualTurn> {
        // With thinking switched on, a variable that is also a switch would have the value of that.
        let modes = [ThinkingMode::Unset, ThinkingMode::On].into_iter();
        let mut found = modes.filter_map(|mode| {
            let [before, behind] = around_thought(prober, turns, mode)?;
            let open = headers.body(&before, PrecedingMessages::Question, mode);
            Some(UsualTurn {
                mode,
                header: before[..before.len() - open.len()].to_owned(),
                open: open.trim().to_owned(),
                close: is_closed.then(|| closing_marker(&behind)).flatten(),
            })
        });
        let is_opened = |turn: &UsualTurn| first_piece(&turn.open).is_some_and(is_marker);
        found.find(|turn| is_opened(turn) && !prober.holds_words(&turn.open))
    }

    /// What opens a longer thought in a turn that comes later, if it has other numbers.
    fn counted(
        &self,
        prober: &TurnProber<'_>,
        headers: &TurnHeaders,
        turns: &SampleTurns,
    ) -> Option<ReasoningVariant> {
        let form = without_numbers(&self.open);
        if form == self.open {
            return None;
        }
        let preceding = PrecedingMessages::SecondQuestion;
        let thought = format!("{} {}", turns.thought, prober.word("more"));
        let turn = turns.plain.clone().with_reasoning(&thought);
        let turn = prober.turn(preceding, &turn, self.mode).ok()?;
        let (before, behind) = turn.tail().split_once(&thought)?;
        let open = headers.body(before, preceding, self.mode).trim();
        let is_counted = open != self.open && without_numbers(open) == form;
        let is_closed_alike = self.close.is_none() || closing_marker(behind) == self.close;
        let closed = || self.close.clone();
        (is_counted && is_closed_alike).then(|| ReasoningVariant::without_variable(form, closed()))
    }

    /// What opens the thought and what closes it, if one of them is another now.
    fn varied(
        &self,
        prober: &TurnProber<'_>,
        turns: &SampleTurns,
    ) -> Option<(String, Option<String>)> {
        let [before, behind] = around_thought(prober, turns, self.mode)?;
        let open = before.strip_prefix(self.header.as_str())?.trim();
        let close = match &self.close {
            Some(_) => Some(closing_marker(&behind)?),
            None => None,
        };
        let is_usual = open == self.open && close == self.close;
        // Words may as well be said.
        let is_marked = first_piece(open).is_some_and(is_marker);
        (is_marked && !is_usual).then(|| (open.to_owned(), close))
    }
}

/// What stands before a thought in its turn and behind it, if it is written there.
fn around_thought(
    prober: &TurnProber<'_>,
    turns: &SampleTurns,
    mode: ThinkingMode,
) -> Option<[String; 2]> {
    let turn = prober.turn(PrecedingMessages::Question, &turns.thoughtful, mode);
    let turn = turn.ok()?;
    let (before, behind) = turn.tail().split_once(&turns.thought)?;
    Some([before.to_owned(), behind.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::{found, template};

    #[test]
    fn a_variant_has_something_in_place_of_each_slot() {
        for (text, other, expected) in [
            ("<m>", "<m>", true),
            ("<m 1>", "<m>", false),
            ("<m 1>", "<m *>", true),
            ("<m 1", "<m *>", false),
            ("<m 1 of 2>", "<m * of *>", true),
            ("<m 1, 2>", "<m * of *>", false),
            // What stands around slots stands there once.
            ("<m>", "<m*m>", false),
        ] {
            let other = other.replace('*', &VARIABLE_SLOT.to_string());
            assert_eq!(is_variant(text, &other), expected, "{text} {other}");
        }
    }

    #[test]
    fn what_opens_and_closes_thoughts_varies_with_variables() {
        for (assistant, open, close) in [
            // Any value shows.
            (
                "<m n=\"{{ effort | default('high') }}\">T</m>",
                "<m n=\"*\">",
                "</m>",
            ),
            // The template calculates with it.
            (
                "{% set n = budget if budget is defined else 300 %}<m n=\"{{ n + 0 }}\">T</m>",
                "<m n=\"*\">",
                "</m>",
            ),
            // It shows in what closes the thought as well.
            (
                "<m{{ n | default(1) }}>T</m{{ n | default(1) }}>",
                "<m*>",
                "</m*>",
            ),
            // None but a word that the template knows changes it.
            (
                "{% set t = 'glance' if effort == 'low' else 'mull' %}<{{ t }}>T</{{ t }}>",
                "<mull> <glance>",
                "</mull> </glance>",
            ),
            // Others are refused.
            (
                "{% set t = {'a': 'mull', 'b': 'ponder'}[effort | default('a')] %}<{{ t }}>T</{{ t }}>",
                "<mull> <ponder>",
                "</mull> </ponder>",
            ),
            // It changes what stands elsewhere.
            ("{{ mood | default('') }}<m>T</m>", "<m>", "</m>"),
            ("<m>T</m>{{ mood | default('') }}", "<m>", "</m>"),
            // Nothing but words opens it.
            (
                "{{ 'Hm' if mood == 'low' else 'Mull' }}: T</m>",
                "Mull:",
                "</m>",
            ),
            ("<m>T</m>", "<m>", "</m>"),
            // Words are counted, or turns.
            (
                "<m n=\"{{ m.reasoning_content.split() | length }}\">T</m>",
                "<m n=\"*\">",
                "</m>",
            ),
            ("<m{{ loop.index }}>T</m>", "<m*>", "</m>"),
            (
                "<m{{ loop.index }} n=\"{{ m.reasoning_content.split() | length }}\">T</m>",
                "<m* n=\"*\">",
                "</m>",
            ),
        ] {
            let thought = "{{ m.reasoning_content }}";
            let jinja = assistant.replace('T', thought);
            let jinja =
                format!("{{% if m.reasoning_content %}}{jinja}{{% endif %}}{{{{ m.content }}}}");
            let shape = found(&template(&jinja)).reasoning.expect("it thinks");
            let texts = [shape.opens(), shape.closes()];
            let texts = texts.map(|texts| texts.join(" ").replace(is_slot, "*"));
            assert_eq!(texts, [open, close], "{assistant}");
            let is_varied = !shape.varied_by().is_empty();
            let is_counted = assistant.contains("loop.index") || assistant.contains("length");
            let is_another = open.contains('*') || open.contains("> <");
            assert_eq!(is_varied, is_another && !is_counted, "{assistant}");
        }
    }

    #[test]
    fn prompts_may_say_more_in_what_opens_thoughts() {
        for (prompt, opens, is_begun) in [
            (
                "<m n=\"{{ effort | default('high') }}\">",
                "<m> <m n=\"*\">",
                true,
            ),
            ("<m n={{ budget | default(9) + 0 }}>", "<m> <m n=*>", true),
            // None but a word that the template knows changes it.
            (
                "<m n=\"{{ 'little' if effort == 'low' else 'much' }}\">",
                "<m> <m n=\"little\"> <m n=\"much\">",
                true,
            ),
            ("<m n=\"1\">", "<m> <m n=\"1\">", true),
            ("<m n=\"1\"></m>", "<m> <m n=\"1\">", false),
            // It has another name, or opens nothing.
            ("<mull>", "<m>", false),
            ("<m-off>", "<m>", false),
            ("<m-budget>9</m-budget>", "<m>", false),
            ("<m/>", "<m>", false),
            ("<m>", "<m>", true),
            ("", "<m>", false),
        ] {
            let jinja = format!(
                "{{% for m in messages %}}<{{{{ m.role }}}}>{{% if m.reasoning_content %}}<m>{{{{ m.reasoning_content }}}}</m>\
                 {{% endif %}}{{{{ m.content }}}}<end>{{% endfor %}}\
                 {{% if add_generation_prompt %}}<assistant>{prompt}{{% endif %}}"
            );
            let template = crate::chat_template::ChatTemplate::from_jinja(jinja);
            let shape = found(&template).reasoning.expect("it thinks");
            let found = shape.opens().join(" ").replace(is_slot, "*");
            assert_eq!(
                (found.as_str(), shape.opened_by_prompt),
                (opens, is_begun),
                "{prompt}"
            );
        }
    }
}
