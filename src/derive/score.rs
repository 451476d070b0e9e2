//! How good a draft is, counted in the texts that it recovers.

use std::cell::RefCell;
use std::fmt;

use foldhash::{HashMap, HashSet};

use crate::json;
use crate::markers::{reads_like_prose, unlikely_in_prose};
use crate::response::{Delimiter, ResponseTemplate, Tools};
use crate::value::{Object, Value};

use super::sample::Origin;
use super::search_input::SearchInput;
use super::trial::{self, Cut, Difference, Expected, MessagePart, PARTS, ReadCounter, TrialReader};

/// How many kinds of texts there are: those that the chat template wrote, or the model a message that is
/// known; synthetic ones, and outputs that mean nobody knows what; and damaged ones. A text of one kind counts more than all of the next.
pub(super) const KINDS: usize = 3;

/// The kind of damaged texts.
const DAMAGED: usize = KINDS - 1;

/// How many texts are recovered, of how many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// How many are recovered.
    pub recovered: usize,
    /// How many there are.
    pub total: usize,
}

impl Tally {
    /// For programs: an object of how many are `recovered`, and of the `total`.
    pub fn to_value(&self) -> Value {
        Object::from_iter([("recovered", self.recovered), ("total", self.total)]).into()
    }
}

/// As in `3/4`.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.recovered, self.total)
    }
}

/// How good a draft is; more is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Score {
    /// How many texts of each kind it recovers. Of damaged ones, one of which something is lost without a word weighs as much as two
    /// that are refused, or left as text.
    recovered: [usize; KINDS],
    /// How little it looks ahead, which holds text back.
    streams: isize,
    /// How short it is.
    simple: isize,
}

/// How good a draft is, and where it fails.
pub(super) struct Outcome {
    pub(super) score: Score,
    pub(super) failures: Failures,
    /// Of each distinct text, whether it is recovered.
    is_recovered: Vec<bool>,
}

/// In how many texts of each kind a draft misreads each part of the message.
#[derive(Default)]
pub(super) struct Failures([[usize; KINDS]; PARTS]);

impl Failures {
    fn add(&mut self, kind: usize, difference: &Difference) {
        for part in &difference.parts {
            self.0[*part as usize][kind] += 1;
        }
    }

    /// How many parts of renderings are misread.
    pub(super) fn in_rendered(&self) -> usize {
        self.0.iter().map(|kinds| kinds[0]).sum()
    }

    /// How many texts of each kind there are in which this part is misread.
    pub(super) fn of(&self, part: MessagePart) -> [usize; KINDS] {
        self.0[part as usize]
    }
}

/// A text that drafts are tried on.
struct Trial<'a> {
    kind: usize,
    prefilled: &'a str,
    output: &'a str,
    expected: Expected<'a>,
    tools: &'a Tools,
}

impl<'a> Trial<'a> {
    /// All texts, those that stand there more than once, too.
    fn all(search_input: &'a SearchInput) -> impl Iterator<Item = Trial<'a>> {
        let samples = search_input.samples.all.iter();
        let tools = &search_input.samples.tools;
        let whole = samples.map(|sample| Trial {
            kind: match sample.origin {
                Origin::Rendered => 0,
                Origin::Synthetic => 1,
            },
            prefilled: &sample.prefilled,
            output: &sample.output,
            expected: Expected::Turn(&sample.written),
            tools,
        });
        let outputs = search_input.outputs.iter().map(|output| Trial {
            // Where it is not known what was said, a draft may find nothing and leave nothing.
            kind: usize::from(output.said.is_none()),
            prefilled: &output.prefix,
            output: &output.text,
            expected: output.expected(),
            tools: &output.tools,
        });
        whole.chain(outputs).chain(Trial::damaged(search_input))
    }

    fn damaged(search_input: &'a SearchInput) -> impl Iterator<Item = Trial<'a>> {
        search_input.damaged.iter().map(|damaged| Trial {
            kind: DAMAGED,
            prefilled: &damaged.prefilled,
            output: &damaged.output,
            expected: Expected::Turn(&damaged.expected),
            tools: &search_input.samples.tools,
        })
    }
}

/// The texts that drafts are tried on.
pub(super) struct Trials<'a> {
    search_input: &'a SearchInput,
    reasoning_field: &'a str,
    /// Each text once, those that count more first.
    distinct: Vec<Trial<'a>>,
    /// How many of these there are of each kind.
    totals: [usize; KINDS],
    /// The places of these, those first at which drafts have failed last: there the next will fail.
    order: RefCell<Vec<usize>>,
    /// How many texts have been read.
    read: ReadCounter<'a>,
}

impl<'a> Trials<'a> {
    pub(super) fn new(search_input: &'a SearchInput, reasoning_field: &'a str) -> Trials<'a> {
        let mut distinct: Vec<Trial<'_>> = Trial::all(search_input).collect();
        // Many conversations end in the same text.
        let mut seen = HashSet::default();
        distinct.retain(|trial| seen.insert((trial.kind, trial.prefilled, trial.output)));
        distinct.sort_by_key(|trial| trial.kind);
        let mut totals = [0; KINDS];
        for trial in &distinct {
            totals[trial.kind] += 1;
        }
        let order = (0..distinct.len()).collect();
        Trials {
            search_input,
            reasoning_field,
            distinct,
            totals,
            order: RefCell::new(order),
            read: ReadCounter::new(&search_input.trying),
        }
    }

    /// How good a template is and where it fails, if it beats the score that there is; before each trial
    /// `goes_on` is asked whether to go on.
    ///
    /// What costs least comes first: a template that can't win, or that misreads whole texts, is not
    /// looked at any further.
    pub(super) fn score(
        &self,
        template: &ResponseTemplate,
        to_beat: Option<Score>,
        goes_on: impl Fn() -> bool,
    ) -> Option<Outcome> {
        let wins = |score: &Score| to_beat.is_none_or(|to_beat| *score > to_beat);
        let length = json::write(template.as_value()).len();
        let mut recovered = self.totals;
        recovered[DAMAGED] *= 2;
        let mut score = Score {
            recovered,
            // As if no pattern depended on pieces: a draft that does not win so can't win, and nothing more needs to
            // be known of it.
            streams: -patterns(template).count().cast_signed(),
            simple: -length.cast_signed(),
        };
        let difference = |trial: &Trial<'a>, cut| {
            let reader = TrialReader::new(template, self.reasoning_field, trial.tools);
            reader.difference_when(cut, trial.prefilled, trial.output, trial.expected)
        };
        let mut recovered = Vec::new();
        let mut is_recovered = vec![true; self.distinct.len()];
        let mut failures = Failures::default();
        let mut order = self.order.borrow_mut();
        for at in 0..order.len() {
            if !wins(&score) || !goes_on() {
                return None;
            }
            let place = order[at];
            let trial = &self.distinct[place];
            self.read.note(trial.prefilled, trial.output);
            match difference(trial, Cut::Whole) {
                None => recovered.push(place),
                Some(difference) => {
                    is_recovered[place] = false;
                    failures.add(trial.kind, &difference);
                    score.recovered[trial.kind] -= weight(trial, &difference);
                    order[..=at].rotate_right(1);
                }
            }
        }
        score.streams = streams(template);
        // Literals are found however a text is cut, so reading it in pieces would show nothing new.
        if !trial::depends_on_pieces(template) {
            recovered.clear();
        }
        for place in recovered {
            if !wins(&score) || !goes_on() {
                return None;
            }
            let trial = &self.distinct[place];
            self.read.note(trial.prefilled, trial.output);
            if let Some(difference) = difference(trial, Cut::Pieces) {
                is_recovered[place] = false;
                failures.add(trial.kind, &difference);
                score.recovered[trial.kind] -= weight(trial, &difference);
            }
        }
        wins(&score).then_some(Outcome {
            score,
            failures,
            is_recovered,
        })
    }

    /// Which of the damaged texts a template recovers, of which the outcome is known.
    pub(super) fn recovered_damage(
        &self,
        template: &ResponseTemplate,
        outcome: &Outcome,
    ) -> Vec<bool> {
        let distinct = self.distinct.iter().zip(&outcome.is_recovered);
        let distinct = distinct.filter(|(trial, _)| trial.kind == DAMAGED);
        let known: HashMap<(&str, &str), (&Trial<'_>, bool)> = distinct
            .map(|(trial, is_recovered)| ((trial.prefilled, trial.output), (trial, *is_recovered)))
            .collect();
        let all = Trial::damaged(self.search_input);
        all.map(|trial| match known.get(&(trial.prefilled, trial.output)) {
            Some((known, is_recovered)) if known.expected == trial.expected => *is_recovered,
            // The same text as another, of something else that was said.
            _ => self.is_recovered(&trial, template),
        })
        .collect()
    }

    /// What a template leaves around texts of the chat template's renderings that are all it misreads there.
    pub(super) fn around_texts(&self, template: &ResponseTemplate) -> Vec<String> {
        let (mut around, mut unsaid) = (Vec::new(), Vec::new());
        // Of renderings alone it is sure what was said, so the rest is the chat template's.
        for trial in self.distinct.iter().filter(|trial| trial.kind == 0) {
            let Expected::Turn(said) = trial.expected else {
                continue;
            };
            self.read.note(trial.prefilled, trial.output);
            let reader = TrialReader::new(template, self.reasoning_field, trial.tools);
            let read = reader.read(trial.prefilled, trial.output).ok();
            let read = read.filter(|read| {
                // Where a call is misread, too, what stands in the text may be a piece of that call.
                let difference = reader.difference_to(read, said);
                difference.is_some_and(|difference| difference.parts == [MessagePart::Content])
            });
            let text = read.as_ref().and_then(|read| read.content.as_deref());
            let said = said.content.as_deref().map(str::trim).unwrap_or_default();
            if let Some(text) = text.filter(|_| said.is_empty()) {
                unsaid.push(text.trim().to_owned());
                continue;
            }
            let split = text.and_then(|text| text.split_once(said));
            if let Some((before, behind)) = split {
                let (before, behind) = (before.trim(), behind.trim());
                // Words before a text may be dropped: they are looked for where texts begin, and nowhere else.
                around.extend((!before.is_empty()).then(|| before.to_owned()));
                // Words behind a text may as well be said.
                let is_marker = unlikely_in_prose(behind) && !reads_like_prose(behind);
                around.extend(is_marker.then(|| behind.to_owned()));
            }
        }
        // A template may have words of its own where nothing is said.
        unsaid.sort();
        // What is left in one conversation alone may be what was misread in that.
        let again = unsaid.windows(2).filter(|pair| pair[0] == pair[1]);
        let own = again.map(|pair| {
            let mut words = around
                .iter()
                .filter_map(|words| pair[0].strip_prefix(words.as_str()));
            words.next().unwrap_or(&pair[0]).trim().to_owned()
        });
        let own: Vec<String> = own.filter(|words| !words.is_empty()).collect();
        around.extend(own);
        // What others say in a prompt is another text in each conversation.
        let stem = self.search_input.samples.stem.as_str();
        around.retain(|text| !text.contains(stem));
        around
    }

    /// How many texts of each kind a template recovers, those that stand there more than once as
    /// often as they do. Before each text `goes_on` is asked whether to go on.
    pub(super) fn tally_while(
        &self,
        template: &ResponseTemplate,
        goes_on: impl Fn() -> bool,
    ) -> Option<[Tally; KINDS]> {
        let mut tallies = [Tally::default(); KINDS];
        for trial in Trial::all(self.search_input) {
            if !goes_on() {
                return None;
            }
            let tally = &mut tallies[trial.kind];
            tally.recovered += usize::from(self.is_recovered(&trial, template));
            tally.total += 1;
        }
        Some(tallies)
    }

    fn is_recovered(&self, trial: &Trial<'_>, template: &ResponseTemplate) -> bool {
        self.read.note(trial.prefilled, trial.output);
        let reader = TrialReader::new(template, self.reasoning_field, trial.tools);
        let difference = reader.difference(trial.prefilled, trial.output, trial.expected);
        difference.is_none()
    }

    /// How many texts have been read.
    pub(super) fn read(&self) -> usize {
        self.read.texts()
    }
}

/// The weight of a text that is misread.
fn weight(trial: &Trial<'_>, difference: &Difference) -> usize {
    1 + usize::from(trial.kind == DAMAGED && difference.loses)
}

/// The delimiters of a template that are patterns.
fn patterns(template: &ResponseTemplate) -> impl Iterator<Item = &Delimiter> {
    trial::delimiters(template).filter(|one| one.pattern().is_some())
}

/// How soon a template lets text out: literals before patterns, patterns before those that
/// look ahead.
fn streams(template: &ResponseTemplate) -> isize {
    let costs = patterns(template).map(|delimiter| match trial::may_depend_on_pieces(delimiter) {
        true => 10,
        false => 1,
    });
    -costs.sum::<isize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::invented;

    fn template(fields: &str) -> ResponseTemplate {
        let text =
            format!(r#"{{"version": 1, "start_anchor": "<assistant>", "fields": {fields}}}"#);
        let value = json::read(&text).expect("it is JSON");
        ResponseTemplate::from_value(&value).expect("it is a response template")
    }

    #[test]
    fn literals_let_text_out_before_patterns_and_these_before_those_that_depend_on_pieces() {
        for (fields, expected) in [
            (r#"{"content": {"close": ["<end>", "<stop>"]}}"#, 0),
            (r#"{"content": {"close_pattern": "<end>|<stop>"}}"#, -1),
            (r#"{"content": {"close_pattern": "<end>(?:bc)?"}}"#, -10),
            (
                r#"{"why": {"open_pattern": "<t>|<u>", "close": "</t>"}, "content": {"close_pattern": "<end>(?:bc)?"}}"#,
                -11,
            ),
        ] {
            assert_eq!(streams(&template(fields)), expected, "{fields}");
        }
    }

    #[test]
    fn no_number_of_lesser_texts_makes_up_for_a_greater_one() {
        let score = |recovered, streams, simple| Score {
            recovered,
            streams,
            simple,
        };
        for (better, worse) in [
            (score([2, 0, 0], -10, -90), score([1, 9, 9], 0, -1)),
            (score([2, 1, 0], -10, -90), score([2, 0, 9], 0, -1)),
            (score([2, 1, 1], -1, -90), score([2, 1, 1], -2, -1)),
            (score([2, 1, 1], -1, -80), score([2, 1, 1], -1, -90)),
        ] {
            assert!(better > worse, "{better:?} {worse:?}");
        }
    }

    #[test]
    fn what_stands_around_texts_is_seen_where_nothing_else_is_misread() {
        let plain = r#"{"content": {"close": "<end>"}}"#;
        let calls = r#"{"tool_calls": {"open": "<call>", "close": "</call>", "repeats": true, "content": "json",
            "transform": {"type": "function", "function": "{content}"}}, "content": {"close": "<end>"}}"#;
        let call =
            "{% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}";
        let silent =
            format!("{{% if not m.content %}}Musing.{{% endif %}}{{{{ m.content }}}}{call}");
        for (assistant, fields, expected) in [
            ("{{ m.content }}", plain, vec![]),
            ("<say>{{ m.content }}</say>", plain, vec!["<say>", "</say>"]),
            // What others say is another text in each conversation.
            ("{{ messages[0].content }}| {{ m.content }}", plain, vec![]),
            // Words behind a text may as well be said.
            ("So: {{ m.content }} Bye.", plain, vec!["So:"]),
            (&silent, calls, vec!["Musing."]),
            // Where calls are left in it, too, nobody knows what else stands there.
            (&silent, plain, vec![]),
        ] {
            let search_input = invented::search_input(assistant);
            let trials = Trials::new(&search_input, "thinking");
            let mut around = trials.around_texts(&template(fields));
            crate::markers::dedup(&mut around);
            assert_eq!(around, expected, "{assistant}");
        }
    }
}
