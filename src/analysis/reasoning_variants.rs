//! How reasoning is opened and closed where a variable has another value: `<think effort="low">`, or `<think_low>`.

use crate::markers::{VARIABLE_SLOT, closing_marker, markers};
use crate::value::Value;

use super::reasoning::ReasoningShape;
use super::sample_turns::SampleTurns;
use super::turn_prober::{PrecedingMessages, ThinkingMode, TurnProber};
use super::variables::is_given;

/// So many variants are tried on drafts at most.
const MAX_VARIANTS: usize = 6;

/// So many words of a template are given to each of its variables at most.
const MAX_WORDS: usize = 32;

/// Words with which variables are compared are short.
const LONGEST_WORD: usize = 16;

/// A word and a number that no template writes by itself.
const ANY_WORD: &str = "qxvaluezq";
const ANY_NUMBER: i64 = 817_263_549;

/// A value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Given {
    Word(String),
    Number(i64),
}

impl Given {
    fn to_value(&self) -> Value {
        match self {
            Given::Word(word) => word.as_str().into(),
            Given::Number(number) => (*number).into(),
        }
    }

    /// As it shows in a rendering.
    fn shown(&self) -> String {
        match self {
            Given::Word(word) => word.clone(),
            Given::Number(number) => number.to_string(),
        }
    }
}

/// How reasoning is opened and closed where a variable has a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReasoningVariant {
    /// The name of the variable.
    pub(crate) variable: String,
    given: Given,
    /// What opens it; a slot stands for any value.
    pub(crate) open: String,
    /// What closes it.
    pub(crate) close: Option<String>,
}

impl ReasoningVariant {
    /// The value of the variable.
    pub(crate) fn value(&self) -> Value {
        self.given.to_value()
    }

    /// A text of it with the value in place of the slot.
    pub(crate) fn filled(&self, text: &str) -> String {
        text.replace(VARIABLE_SLOT, &self.given.shown())
    }
}

/// How reasoning is opened and closed where the variables of these names have other values: any, or one of the words that
/// the template has in quotes.
pub(super) fn find(
    prober: &mut TurnProber<'_>,
    jinja: &str,
    names: &[String],
    turns: &SampleTurns,
    shape: &ReasoningShape,
) -> Vec<ReasoningVariant> {
    let Some(usual) = UsualTurn::of(prober, turns, shape) else {
        return Vec::new();
    };
    let may_vary =
        |name: &&String| !is_given(name) && !name.ends_with("_token") && !prober.knows(name);
    let names: Vec<&String> = names.iter().filter(may_vary).collect();
    let mut variants: Vec<ReasoningVariant> = Vec::new();
    for name in names {
        let mut vary = |given: Given| {
            let [open, close] =
                prober.given(name, given.to_value(), |prober| usual.varied(prober, turns))?;
            Some(ReasoningVariant {
                variable: name.clone(),
                given,
                open: open?,
                close,
            })
        };
        // Any value shows in `<think effort="low">`. Where the template calculates with it, no word will do.
        let any = [Given::Word(ANY_WORD.to_owned()), Given::Number(ANY_NUMBER)];
        let shows = any.into_iter().find_map(|given| {
            let mut variant = vary(given)?;
            let shown = variant.given.shown();
            let texts = [&mut variant.open].into_iter().chain(&mut variant.close);
            texts.for_each(|text| *text = text.replace(&shown, &VARIABLE_SLOT.to_string()));
            variant.open.contains(VARIABLE_SLOT).then_some(variant)
        });
        let found = match shows {
            Some(any) => vec![any],
            // None but `low` makes it `<think_low>`.
            None => words_in_quotes(jinja)
                .into_iter()
                .filter_map(|word| vary(Given::Word(word.to_owned())))
                .collect(),
        };
        for variant in found {
            let is_new = |other: &ReasoningVariant| {
                (&other.open, &other.close) != (&variant.open, &variant.close)
            };
            if variants.len() < MAX_VARIANTS && variants.iter().all(is_new) {
                variants.push(variant);
            }
        }
    }
    variants
}

/// A turn with a thought and a text where no variable is given.
struct UsualTurn<'a> {
    mode: ThinkingMode,
    /// What stands before what opens the thought.
    header: String,
    shape: &'a ReasoningShape,
}

impl<'a> UsualTurn<'a> {
    fn of(
        prober: &TurnProber<'_>,
        turns: &SampleTurns,
        shape: &'a ReasoningShape,
    ) -> Option<UsualTurn<'a>> {
        let open = shape.open.as_deref()?.trim();
        let mut modes = [ThinkingMode::Unset, ThinkingMode::On].into_iter();
        modes.find_map(|mode| {
            let [before, _] = around_thought(prober, turns, mode)?;
            let header = before.trim_end().strip_suffix(open)?;
            Some(UsualTurn {
                mode,
                header: header.to_owned(),
                shape,
            })
        })
    }

    /// What opens the thought and what closes it, if one of them is another now.
    fn varied(&self, prober: &TurnProber<'_>, turns: &SampleTurns) -> Option<[Option<String>; 2]> {
        let [before, behind] = around_thought(prober, turns, self.mode)?;
        let open = before.strip_prefix(self.header.as_str())?.trim().to_owned();
        let usual_close = self.shape.close.as_deref().map(str::trim);
        let close = match usual_close {
            Some(_) => Some(closing_marker(&behind)?),
            None => None,
        };
        let usual_open = self.shape.open.as_deref().map(str::trim);
        let is_usual = usual_open == Some(open.as_str()) && usual_close == close.as_deref();
        // Words may as well be said.
        let is_marked = markers(&open).next().is_some();
        (is_marked && !is_usual).then_some([Some(open), close])
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

/// The words that a template has in quotes, each once: one of them may be what it compares a variable with.
fn words_in_quotes(jinja: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for quote in ['\'', '"'] {
        let parts = jinja.split(quote);
        let is_word = |part: &&str| {
            let mut chars = part.chars();
            let is_short = (1..=LONGEST_WORD).contains(&part.len());
            is_short && chars.all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        };
        for word in parts.filter(is_word) {
            if found.len() < MAX_WORDS && !found.contains(&word) {
                found.push(word);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::{found, template};

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
        ] {
            let thought = "{{ m.reasoning_content }}";
            let jinja = assistant.replace('T', thought);
            let jinja =
                format!("{{% if m.reasoning_content %}}{jinja}{{% endif %}}{{{{ m.content }}}}");
            let shape = found(&template(&jinja)).reasoning.expect("it thinks");
            let texts = [shape.opens(), shape.closes()];
            let texts = texts.map(|texts| texts.join(" ").replace(VARIABLE_SLOT, "*"));
            assert_eq!(texts, [open, close], "{assistant}");
        }
    }

    #[test]
    fn words_in_quotes_are_short_and_each_is_taken_once() {
        let jinja =
            "{% if a == 'low' or b == \"two-fold\" or c in ['low', 'a b', ''] %}'s{% endif %}";
        assert_eq!(words_in_quotes(jinja), ["low", "two-fold"]);
    }
}
