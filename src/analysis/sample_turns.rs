//! The turns that findings are made from.

use super::assistant_turn::AssistantTurn;
use super::call_probe::CallProbe;
use super::given::{is_left_open, words_beside, words_in_quotes};
use super::turn_prober::{PrecedingMessages, RenderedTurn, ThinkingMode, TurnProber};
use super::variables::ThinkingSwitch;
use crate::markers::{common_prefix, markers};
use crate::value::Value;

/// So many values of variables are tried, in case one of them switches thinking on, or off.
const MAX_SWITCHES: usize = 64;

/// The turns that findings are made from, and the words in them.
pub(super) struct SampleTurns {
    /// The word that is all the text.
    pub(super) word: String,
    /// The word that is all the reasoning.
    pub(super) thought: String,
    /// The text.
    pub(super) plain: AssistantTurn,
    /// Reasoning and the text.
    pub(super) thoughtful: AssistantTurn,
    /// A call, if the template is known to write calls.
    pub(super) call: Option<CallProbe>,
}

impl SampleTurns {
    pub(super) fn new(prober: &TurnProber<'_>) -> SampleTurns {
        let (word, thought) = (prober.word("content"), prober.word("thought"));
        let plain = AssistantTurn::content(&word);
        SampleTurns {
            thoughtful: plain.clone().with_reasoning(&thought),
            plain,
            word,
            thought,
            call: None,
        }
    }

    /// All of them, of which the first is the text alone.
    pub(super) fn all(&self) -> Vec<AssistantTurn> {
        let mut turns = vec![self.plain.clone(), self.thoughtful.clone()];
        if let Some(call) = &self.call {
            turns.push(call.one.clone());
            turns.push(self.thoughtful_call(call));
        }
        turns
    }

    /// The same, and what else may stand together: a text and a call, and several calls.
    pub(super) fn with_mixtures(&self) -> Vec<AssistantTurn> {
        let mut turns = self.all();
        if let Some(call) = &self.call {
            // A text and a call have a border that neither has alone.
            turns.push(call.one.clone().with_content(&self.word));
            turns.push(call.two());
        }
        turns
    }

    /// Whether text and reasoning are rendered somewhere, and none of their words come out anywhere.
    pub(super) fn drop_all_said(&self, prober: &TurnProber<'_>) -> bool {
        let words = [&self.word, &self.thought];
        let turns = [&self.plain, &self.thoughtful];
        let modes = PrecedingMessages::ALL
            .into_iter()
            .flat_map(|preceding| ThinkingMode::ALL.map(|mode| (preceding, mode)));
        let mut rendered = modes
            .flat_map(|(preceding, mode)| turns.map(|turn| prober.turn(preceding, turn, mode)))
            .flatten()
            .peekable();
        let says = |turn: RenderedTurn| words.iter().any(|word| turn.text().contains(*word));
        // A template that refuses all turns drops nothing: its error says why.
        rendered.peek().is_some() && !rendered.any(says)
    }

    /// Reasoning and a call.
    pub(super) fn thoughtful_call(&self, call: &CallProbe) -> AssistantTurn {
        call.one.clone().with_reasoning(&self.thought)
    }

    /// Finds the input form in which reasoning and text are both rendered, and says whether there
    /// is one.
    pub(super) fn renders_reasoning(&self, prober: &mut TurnProber<'_>) -> bool {
        let words = [self.thought.as_str(), &self.word];
        let found = prober.find_input_form(PrecedingMessages::Question, &self.thoughtful, &words);
        matches!(found, Ok(true))
    }

    /// Looks for a variable of these names that has to be true for reasoning to be rendered, or one of the words that the
    /// template compares it with, and keeps it as a switch.
    pub(super) fn show_reasoning(
        &self,
        prober: &mut TurnProber<'_>,
        (jinja, names): (&str, &[String]),
    ) -> bool {
        let open = names.iter().filter(|name| {
            let mut switches = prober.switches.iter();
            is_left_open(prober, name) && switches.all(|switch| switch.name != **name)
        });
        let open: Vec<&String> = open.collect();
        let words = open.iter().flat_map(|name| {
            let words = words_beside(jinja, name).into_iter();
            words.map(move |word| (*name, word.to_value()))
        });
        let values = open.iter().map(|name| (*name, true.into())).chain(words);
        let form = prober.input_form;
        for (name, on) in values.take(MAX_SWITCHES) {
            let name = name.clone();
            prober.switches.push(ThinkingSwitch {
                name,
                on: Some(on),
                off: false.into(),
            });
            if self.renders_reasoning(prober) && self.shows_thoughts_alone(prober) {
                return true;
            }
            prober.switches.pop();
            prober.input_form = form;
        }
        false
    }

    /// Looks for a word of the template, such as `none`, that takes reasoning out of turns and changes prompts if one of these
    /// variables is given as it, and keeps it as a switch, unless there is one.
    pub(super) fn hide_reasoning(
        &self,
        prober: &mut TurnProber<'_>,
        (jinja, names): (&str, &[String]),
    ) {
        let preceding = PrecedingMessages::Question;
        let prompt = |prober: &TurnProber<'_>| {
            let prompt = prober.prompt(preceding, ThinkingMode::Unset).ok()?;
            Some(prompt.tail().to_owned())
        };
        let Some(usual) = prompt(prober).filter(|_| prober.switches.is_empty()) else {
            return;
        };
        let hides = |prober: &TurnProber<'_>| {
            let turn = prober.turn(preceding, &self.thoughtful, ThinkingMode::Unset);
            let is_hidden = turn.is_ok_and(|turn| {
                turn.tail().contains(&self.word) && !turn.tail().contains(&self.thought)
            });
            is_hidden && prompt(prober).is_some_and(|prompt| prompt != usual)
        };
        let open = names.iter().filter(|name| is_left_open(prober, name));
        // `{% set level = effort | default('high') %}` hands it to another one, which is compared.
        let compared = open.filter(|name| !words_beside(jinja, name).is_empty());
        let words =
            compared.flat_map(|name| words_in_quotes(jinja).map(move |word| (name, word.into())));
        let words: Vec<(&String, Value)> = words.take(MAX_SWITCHES).collect();
        let mut words = words.into_iter();
        let off = words.find(|(name, word)| prober.given(name, word.clone(), hides));
        prober
            .switches
            .extend(off.map(|(name, off)| ThinkingSwitch {
                name: name.clone(),
                on: None,
                off,
            }));
    }

    /// Whether what is switched on shows thoughts between markers, and nothing else: `[{{ m | tojson }}]` shows whole messages.
    fn shows_thoughts_alone(&self, prober: &TurnProber<'_>) -> bool {
        let turn = |turn, mode| prober.turn(PrecedingMessages::Question, turn, mode);
        let plain = [ThinkingMode::On, ThinkingMode::Unset].map(|mode| turn(&self.plain, mode));
        let [Ok(on), Ok(unset)] = plain else {
            return false;
        };
        let Ok(thoughtful) = turn(&self.thoughtful, ThinkingMode::On) else {
            return false;
        };
        let Some((before, behind)) = thoughtful.tail().split_once(&self.thought) else {
            return false;
        };
        let before = &before[common_prefix(before, on.tail())..];
        let behind = behind.split(self.word.as_str()).next().unwrap_or_default();
        let has_marker = |text: &str| markers(text).next().is_some();
        on.tail() == unset.tail() && [before, behind].into_iter().any(has_marker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::{asked, template};

    #[test]
    fn templates_drop_all_that_is_said_whose_turns_say_it_nowhere() {
        for (assistant, expected) in [
            ("{{ m.content }}", false),
            ("", true),
            ("Yes.", true),
            ("{{ m.reasoning_content }}", false),
            // It says something behind a tool's answer only.
            ("{% if loop.index > 3 %}{{ m.content }}{% endif %}", false),
            // A template that refuses turns drops nothing: its error says why.
            ("{{ raise_exception('no') }}", false),
        ] {
            let drops = asked(&template(assistant), |prober| {
                SampleTurns::new(prober).drop_all_said(prober)
            });
            assert_eq!(drops, expected, "{assistant}");
        }
    }
}
