//! What a derived template makes of the chat template's own renderings, and of damaged ones.

use crate::analysis::assistant_turn::AssistantTurn;
use crate::response::{ResponseTemplate, Tools};
use crate::value::{Object, Value, object};

use super::damage::Damaged;
use super::sample::{Origin, Sample, Sampling};
use super::search_input::SearchInput;
use super::trial::{Difference, Expected, TrialReader};

/// What a response template makes of a rendering.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ProofRow {
    /// What the conversation is about.
    pub name: String,
    /// The prompt.
    pub prefix: String,
    /// What the model would write.
    pub output: String,
    /// What was said, as far as the chat template has written it, as a message.
    pub message: Object,
    /// All that the chat template was given, as a message.
    pub given: Object,
    /// What came back of it.
    pub recovery: Recovery,
}

/// What came back of what was said in a turn.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Recovery {
    /// All of it.
    Whole,
    /// All that the chat template has written: it has left these out.
    LostByTemplate(Vec<String>),
    /// Not all that was written, and how the message differs. None of the drafts that were tried
    /// has done better; another response template may.
    NotRecovered(String),
    /// Not all that was written, and no response template can recover it without losing something else:
    /// the chat template writes the very same text behind the same prompt where another message was
    /// meant.
    NotExpressible {
        /// How the message differs.
        difference: String,
        /// The other message that the text stands for.
        other: Object,
    },
}

impl ProofRow {
    /// For programs: an object of `name`, `prefix`, `output`, `message` and `recovery`, which is
    /// what [`Recovery::to_value`] gives.
    pub fn to_value(&self) -> Value {
        Object::from_iter([
            ("name", Value::from(&self.name)),
            ("prefix", Value::from(&self.prefix)),
            ("output", Value::from(&self.output)),
            ("message", self.message.clone().into()),
            ("recovery", self.recovery.to_value()),
        ])
        .into()
    }
}

impl Recovery {
    /// Whether all that was written came back.
    pub fn is_recovered(&self) -> bool {
        match self {
            Recovery::Whole | Recovery::LostByTemplate(_) => true,
            Recovery::NotRecovered(_) | Recovery::NotExpressible { .. } => false,
        }
    }

    /// How the message differs from what was said, if not all that was written came back.
    pub fn difference(&self) -> Option<&str> {
        match self {
            Recovery::Whole | Recovery::LostByTemplate(_) => None,
            Recovery::NotRecovered(difference) | Recovery::NotExpressible { difference, .. } => {
                Some(difference)
            }
        }
    }

    /// A name for programs.
    pub fn key(&self) -> &'static str {
        match self {
            Recovery::Whole => "recovered",
            Recovery::LostByTemplate(_) => "lost by the chat template",
            Recovery::NotRecovered(_) => "not recovered",
            Recovery::NotExpressible { .. } => "not expressible",
        }
    }

    /// For programs: an object of `kind`, which is the [`key`](Self::key), and of what was `lost`
    /// or how the message differs, the `difference`. Where another message has the same text, it is
    /// the `other`.
    pub fn to_value(&self) -> Value {
        let mut out = Object::from_iter([("kind", self.key())]);
        match self {
            Recovery::Whole => None,
            Recovery::LostByTemplate(lost) => out.insert("lost", lost.iter().collect::<Value>()),
            Recovery::NotRecovered(difference) => out.insert("difference", difference),
            Recovery::NotExpressible { difference, other } => {
                out.insert("difference", difference);
                out.insert("other", other.clone())
            }
        };
        out.into()
    }
}

/// What a response template makes of a damaged rendering.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DamagedText {
    /// What was done to it.
    pub damage: String,
    /// The part of the prompt that belongs to the turn.
    pub prefix: String,
    /// What the model would write.
    pub output: String,
    /// What is left of what was said, as a message.
    pub message: Object,
    /// Whether all of that came back.
    pub is_recovered: bool,
    /// Whether something of it is lost without a word: it is neither refused nor left in another part of the message, or a call is
    /// made that nobody has written.
    pub is_lost: bool,
}

/// How many texts with one kind of damage are recovered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DamageRow {
    /// What was done to the texts.
    pub damage: String,
    /// How many are recovered.
    pub recovered: usize,
    /// Of how many something is lost without a word. All others are refused, or left as text.
    pub lost: usize,
    /// How many there are.
    pub total: usize,
}

impl DamagedText {
    /// For programs: an object of `damage`, `prefix`, `output` and `message`, and whether it is `recovered`, or `lost`.
    pub fn to_value(&self) -> Value {
        Object::from_iter([
            ("damage", Value::from(&self.damage)),
            ("prefix", Value::from(&self.prefix)),
            ("output", Value::from(&self.output)),
            ("message", self.message.clone().into()),
            ("recovered", self.is_recovered.into()),
            ("lost", self.is_lost.into()),
        ])
        .into()
    }
}

impl DamageRow {
    /// For programs: an object of `damage`, and of how many texts are `recovered`, how many `lost`, of a `total`.
    pub fn to_value(&self) -> Value {
        let (recovered, lost, total) = (self.recovered, self.lost, self.total);
        object! {"damage": &self.damage, "recovered": recovered, "lost": lost, "total": total}
            .into()
    }
}

/// Tries a template on those samples that count.
pub(super) fn rows(
    template: &ResponseTemplate,
    field: &str,
    search_input: &SearchInput,
    sampling: &mut Sampling<'_>,
    counts: impl Fn(&Sample) -> bool,
) -> Vec<ProofRow> {
    let samples = &search_input.samples;
    let reader = TrialReader::new(template, field, &samples.tools);
    let counted = samples.all.iter().filter(|sample| counts(sample));
    let rows = counted.map(|sample| {
        let written = Expected::Turn(&sample.written);
        // With the whole prompt, as whoever reads outputs has it: the anchor has to be found, too.
        let difference = reader.difference(&sample.prefix, &sample.output, written);
        let read = || reader.read(&sample.prefix, &sample.output).ok();
        let lost = sample.lost();
        ProofRow {
            name: sample.name.to_string(),
            prefix: sample.prefix.clone(),
            output: sample.output.clone(),
            message: sample.written.to_message(field),
            given: sample.intended.to_message(field),
            recovery: match difference {
                Some(Difference { words, .. }) => {
                    match other_meaning(sample, read(), search_input, sampling) {
                        Some(other) => Recovery::NotExpressible {
                            difference: words,
                            other: other.to_message(field),
                        },
                        None => Recovery::NotRecovered(words),
                    }
                }
                None if lost.is_empty() => Recovery::Whole,
                None => Recovery::LostByTemplate(lost.into_iter().map(str::to_owned).collect()),
            },
        }
    });
    rows.collect()
}

/// Something else that a text stands for: what came back of it, if the chat template writes the same
/// text for that; or what was said in another conversation.
fn other_meaning(
    sample: &Sample,
    read: Option<AssistantTurn>,
    search_input: &SearchInput,
    sampling: &mut Sampling<'_>,
) -> Option<AssistantTurn> {
    let findings = &search_input.findings;
    let others = search_input.samples.all.iter();
    let others = others.filter(|other| {
        other.origin == Origin::Rendered
            && (&other.prefix, &other.output) == (&sample.prefix, &sample.output)
    });
    let mut others = others.map(|other| &other.written);
    let other = others.find(|other| **other != sample.written).cloned();
    other.or_else(|| {
        read.filter(|read| {
            *read != sample.written
                && has_texts_of(read, &sample.written)
                && has_types_of(read, &sample.written)
                && sampling.writes_the_same(sample, read, findings)
        })
    })
}

/// Whether a reading has all calls of what was said, and no text that was not said. A text with markers
/// in it can always be said: that a call is left in it proves nothing.
fn has_texts_of(read: &AssistantTurn, said: &AssistantTurn) -> bool {
    let texts = |turn: &AssistantTurn| -> Vec<String> {
        let texts = turn.reasoning.iter().chain(&turn.content);
        texts.map(|text| text.trim().to_owned()).collect()
    };
    let said_texts = texts(said);
    read.calls.len() == said.calls.len() && texts(read).iter().all(|text| said_texts.contains(text))
}

/// Whether the arguments of calls have the types that they have in what was said: what is of another
/// type does not suit the tool, so nobody says it.
fn has_types_of(read: &AssistantTurn, said: &AssistantTurn) -> bool {
    read.calls.iter().all(|call| {
        let mut same = said.calls.iter().filter(|said| said.name == call.name);
        same.any(|said| {
            call.arguments.iter().all(|(key, value)| {
                let said = said.arguments.get(&key.to_string_lossy());
                said.is_some_and(|said| said.type_name() == value.type_name())
            })
        })
    })
}

/// Which of another template's renderings this one misreads, though that one reads them.
pub(super) fn failures_on<'r>(
    template: &ResponseTemplate,
    field: &str,
    tools: &Tools,
    rows: &'r [ProofRow],
) -> Vec<&'r ProofRow> {
    let reader = TrialReader::new(template, field, tools);
    let read_by_its_own = rows.iter().filter(|row| row.recovery.is_recovered());
    let misread = read_by_its_own.filter(|row| {
        let meant = reader.turn(&row.message);
        let difference = reader.difference(&row.prefix, &row.output, Expected::Turn(&meant));
        difference.is_some()
    });
    misread.collect()
}

/// What a template makes of damaged renderings.
pub(super) fn damaged_texts(
    template: &ResponseTemplate,
    field: &str,
    search_input: &SearchInput,
    is_recovered: &[bool],
) -> Vec<DamagedText> {
    let reader = TrialReader::new(template, field, &search_input.samples.tools);
    let is_lost = |text: &Damaged| {
        let expected = Expected::Turn(&text.expected);
        let difference = reader.difference(&text.prefilled, &text.output, expected);
        difference.is_some_and(|difference| difference.loses)
    };
    let texts = search_input.damaged.iter().zip(is_recovered);
    texts
        .map(|(text, is_recovered)| DamagedText {
            is_lost: !is_recovered && is_lost(text),
            damage: text.damage.to_owned(),
            prefix: text.prefilled.clone(),
            output: text.output.clone(),
            message: text.expected.to_message(field),
            is_recovered: *is_recovered,
        })
        .collect()
}

/// The texts counted by what was done to them.
pub(super) fn damage_rows(texts: &[DamagedText]) -> Vec<DamageRow> {
    let mut rows: Vec<DamageRow> = Vec::new();
    for text in texts {
        let at = rows.iter().position(|row| row.damage == text.damage);
        let at = at.unwrap_or_else(|| {
            rows.push(DamageRow {
                damage: text.damage.clone(),
                recovered: 0,
                lost: 0,
                total: 0,
            });
            rows.len() - 1
        });
        rows[at].recovered += usize::from(text.is_recovered);
        rows[at].lost += usize::from(text.is_lost);
        rows[at].total += 1;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::assistant_turn::ToolCall;

    fn call(value: impl Into<Value>) -> AssistantTurn {
        AssistantTurn::calls([ToolCall::new("read", [("at".to_owned(), value.into())])])
    }

    #[test]
    fn a_reading_is_another_meaning_only_with_all_calls_and_no_other_text() {
        let said = call("Brest").with_content("Look.").with_reasoning("Hm.");
        for (read, has_texts) in [
            (said.clone(), true),
            // A thought that is written as an answer is: nothing tells which it was.
            (call("Brest").with_content("Hm."), true),
            (call("Brest").with_content(" Look. "), true),
            (call("Brest").with_content("Hm. Look."), false),
            // A call that is left in a text can always be said there.
            (AssistantTurn::content("Look."), false),
        ] {
            assert_eq!(has_texts_of(&read, &said), has_texts, "{read:?}");
        }
    }

    #[test]
    fn nobody_says_a_value_of_another_type_than_the_tool_takes() {
        for (read, said, has_types) in [
            (call("7"), call("Brest"), true),
            (call(7), call(8), true),
            (call(7), call("7"), false),
            (AssistantTurn::content("7"), call("7"), true),
        ] {
            assert_eq!(has_types_of(&read, &said), has_types, "{read:?}");
        }
        let other = AssistantTurn::calls([ToolCall::new("knock", [])]);
        assert!(!has_types_of(&other, &call("7")));
    }

    #[test]
    fn only_what_the_chat_template_left_out_may_be_missing() {
        let difference = || "content is \"\"".to_owned();
        for (recovery, is_recovered, words) in [
            (Recovery::Whole, true, None),
            (
                Recovery::LostByTemplate(vec!["reasoning".to_owned()]),
                true,
                None,
            ),
            (
                Recovery::NotRecovered(difference()),
                false,
                Some("content is \"\""),
            ),
            (
                Recovery::NotExpressible {
                    difference: difference(),
                    other: Object::new(),
                },
                false,
                Some("content is \"\""),
            ),
        ] {
            assert_eq!(recovery.is_recovered(), is_recovered, "{recovery:?}");
            assert_eq!(recovery.difference(), words, "{recovery:?}");
        }
    }

    #[test]
    fn damaged_texts_are_counted_by_kind_in_their_order() {
        let text = |damage: &str, is_recovered, is_lost| DamagedText {
            damage: damage.to_owned(),
            prefix: String::new(),
            output: String::new(),
            message: Object::new(),
            is_recovered,
            is_lost,
        };
        let texts = [
            text("cut", true, false),
            text("added", false, true),
            text("cut", false, false),
        ];
        let rows = damage_rows(&texts);
        let rows: Vec<_> = rows
            .iter()
            .map(|row| (row.damage.as_str(), row.recovered, row.lost, row.total))
            .collect();
        assert_eq!(rows, [("cut", 1, 0, 2), ("added", 0, 1, 1)]);
    }
}
