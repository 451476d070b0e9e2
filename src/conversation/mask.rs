//! The marking of a template, its proof, and the masks that it makes.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use crate::analysis::conversations::{ProbeConversation, conversations, in_parts};
use crate::analysis::{Findings, analyze};
use crate::budget::Budget;
use crate::chat_template::{
    ChatTemplate, PreparedTemplate, REASONING_KEYS, RenderError, RenderInput, Renderer, Rendering,
};
use crate::value::{Object, Value};

use super::borders::{Borders, ShownOfPrompts, Turn};
use super::labels::Sightings;
use super::proof::Proof;
use super::reader::{ConversationReader, Ending, NotAConversation};
use super::spans::{MaskPolicy, Spans};
use super::tag::tagged;
use super::trace::{Outline, Trace, prepare, trace};

/// Why there is no mask.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum MaskError {
    /// The template is not valid, or does not take the conversation.
    Render(RenderError),
    /// It can't be told where in the template the model's text begins and ends, or no tags can be written there.
    Untaggable(String),
    /// No literals tell where the assistant's turns lie.
    NoBoundaries(String),
    /// A text is not one that the template has written.
    NotAConversation(NotAConversation),
    /// What was read of a text is written otherwise from this character on, counted from 0.
    WrittenOtherwise(usize),
}

impl fmt::Display for MaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MaskError::Render(error) => error.fmt(f),
            MaskError::Untaggable(why) => write!(f, "tags can't be written: {why}"),
            MaskError::NoBoundaries(why) => {
                write!(f, "no literals tell where the assistant's turns lie: {why}")
            }
            MaskError::NotAConversation(error) => error.fmt(f),
            MaskError::WrittenOtherwise(at) => write!(
                f,
                "character {at}: from here on, the template writes what was read differently"
            ),
        }
    }
}

impl std::error::Error for MaskError {}

impl From<RenderError> for MaskError {
    fn from(error: RenderError) -> Self {
        MaskError::Render(error)
    }
}

/// What of a chat template's conversations the model writes.
#[derive(Debug, Clone)]
pub struct Marking {
    jinja: String,
    tagged: String,
    plain: PreparedTemplate,
    marked: PreparedTemplate,
    bos_token: Option<String>,
    eos_token: Option<String>,
    proof: MarkingProof,
    no_header_is_prompted: bool,
    /// What opens and closes thoughts, if the template has a marker that closes them.
    thought: Option<(String, String)>,
}

/// On how many conversations a marking was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct MarkingProof {
    /// Those that render to the same text with tags and without.
    pub same_text: usize,
    /// Those of which it is known what the model writes.
    pub known: usize,
    /// Those of them in which the tags enclose just that, white space aside.
    pub same_spans: usize,
    /// Those in which they also enclose more of what is written for the same messages, such as a header that
    /// the template writes again amid a turn: one can't be told from the other.
    pub with_more: usize,
}

/// A conversation with what of it the model writes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Masked {
    /// The text of the conversation.
    pub text: String,
    /// What of it the model writes.
    pub spans: Spans,
    /// What a training on these spans would miss.
    pub unmasked: Vec<Unmasked>,
}

/// What a mask lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unmasked {
    /// Nothing is the model's.
    Everything,
    /// The template does not write the text of an assistant's message: the number of the message, from 0.
    ContentDropped(usize),
    /// The template does not write the calls of an assistant's message.
    CallsDropped(usize),
    /// The template does not write the thought of an assistant's message.
    ThoughtDropped(usize),
    /// The template writes an assistant's message where it is not taken for the model's.
    Outside(usize),
    /// The template writes the message of another role within what is taken for the model's.
    Inside(usize),
}

impl fmt::Display for Unmasked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unmasked::Everything => f.write_str("nothing of the conversation is the model's"),
            Unmasked::ContentDropped(index) => {
                write!(f, "the template drops the text of messages[{index}]")
            }
            Unmasked::CallsDropped(index) => {
                write!(f, "the template drops the calls of messages[{index}]")
            }
            Unmasked::ThoughtDropped(index) => {
                write!(f, "the template drops the thought of messages[{index}]")
            }
            Unmasked::Outside(index) => write!(f, "messages[{index}] is not in the mask"),
            Unmasked::Inside(index) => write!(
                f,
                "messages[{index}] is in the mask, though it is not the assistant's"
            ),
        }
    }
}

/// Among so many loops around what is written for all roles, the one over the messages is looked for.
const MAX_LOOPS: usize = 3;

impl Marking {
    /// Finds out where a template writes what its model would write. `base` holds what all conversations have in
    /// common: the tokens, and the time.
    ///
    /// A template that has tags already is taken by its word.
    ///
    /// # Errors
    ///
    /// If the template is not valid or can't be asked a question, or if there is a place where no tags can be
    /// written.
    pub fn of(
        template: &ChatTemplate,
        base: &RenderInput,
        policy: MaskPolicy,
    ) -> Result<Marking, MaskError> {
        let prepared = template.prepare_within(&Budget::of_question());
        Marking::within(template, &prepared, base, policy)
    }

    /// The same for a template that is prepared, within its budget.
    pub(crate) fn within(
        template: &ChatTemplate,
        prepared: &PreparedTemplate,
        base: &RenderInput,
        policy: MaskPolicy,
    ) -> Result<Marking, MaskError> {
        prepared.renderer()?;
        let budget = prepared.budget();
        let tokens = template.given(base);
        let marking = |tagged: String, proof: MarkingProof, findings: Option<&Findings>| Marking {
            marked: ChatTemplate::from_jinja(tagged.as_str()).prepare(),
            tagged,
            jinja: template.jinja.clone(),
            plain: template.prepare(),
            bos_token: tokens.bos_token.clone(),
            eos_token: tokens.eos_token.clone(),
            proof,
            no_header_is_prompted: false,
            thought: findings.and_then(thought_markers),
        };
        if prepared.marks_generation() {
            let jinja = template.jinja.clone();
            let findings = analyze(template, prepared, base, &[]);
            let findings = findings.ok().map(|analysis| analysis.findings);
            return Ok(marking(jinja, MarkingProof::default(), findings.as_ref()));
        }
        let analysis = analyze(template, prepared, base, &[])?;
        let renderer = prepared.renderer()?;
        let probes = probes(&renderer, conversations(&analysis.prober));
        let probes = probes.map_err(MaskError::Untaggable)?;
        if !probes.iter().any(Probed::shows_assistant) {
            let why = "the template writes nothing of what the assistant says";
            return Err(MaskError::Untaggable(why.to_owned()));
        }
        let traced = traced(&template.jinja, &probes, budget);
        let (outline, traces) = traced.map_err(MaskError::Untaggable)?;
        let questions = probes
            .iter()
            .map(|probe| probe.conversation.before(1, false));
        let question = questions
            .filter_map(|input| renderer.render_short(&input).ok())
            .next();
        let turn = &analysis.findings.turn;
        let mut borders = Borders {
            outline: &outline,
            renderer: &renderer,
            policy,
            headers: &turn.headers,
            ends: &turn.ends,
            question: question.map_or(String::new(), |rendering| rendering.text),
            shown: ShownOfPrompts::default(),
        };
        let look = |borders: &Borders<'_>, kinds: &[ProbeVariant], seen: &mut ShownOfPrompts| {
            let looked_at = probes.iter().zip(&traces);
            let turns = looked_at.map(|(probe, trace)| match kinds.contains(&probe.kind) {
                true => borders.turns(&probe.conversation, trace, seen),
                false => None,
            });
            turns.collect::<Vec<Option<Vec<Turn>>>>()
        };
        // What plain turns show of prompts counts for all turns.
        let mut seen = ShownOfPrompts::default();
        look(&borders, &[ProbeVariant::Plain], &mut seen);
        borders.shown = seen;
        let kinds = [
            ProbeVariant::Plain,
            ProbeVariant::Parts,
            ProbeVariant::Switched,
        ];
        let known = look(&borders, &kinds, &mut seen);
        let labels = {
            let mut sightings = Sightings::new(&outline);
            for kind in [
                ProbeVariant::Plain,
                ProbeVariant::Parts,
                ProbeVariant::Switched,
            ] {
                for ((probe, trace), turns) in probes.iter().zip(&traces).zip(&known) {
                    if let (Some(turns), true) = (turns, probe.kind == kind) {
                        sightings.add(trace, turns);
                    }
                }
                sightings.close();
            }
            sightings.labels(&outline)
        };
        let mut refusal = None;
        for never_empty in [false, true] {
            for which in 0..MAX_LOOPS {
                let tried = tagged(&outline, &labels, which, never_empty)
                    .and_then(|tagged| Ok((proof(&tagged, &probes, &known, budget)?, tagged)));
                match tried {
                    // Around nothing, there need be no tags.
                    Ok(((_, true), _)) if !never_empty => break,
                    Ok(((proof, _), tagged)) => {
                        return Ok(Marking {
                            no_header_is_prompted: borders.shown.no_header_is_prompted(),
                            ..marking(tagged, proof, Some(&analysis.findings))
                        });
                    }
                    Err(why) => {
                        refusal.get_or_insert(why);
                    }
                }
            }
        }
        Err(MaskError::Untaggable(refusal.unwrap_or_default()))
    }

    /// The template with `{% generation %}` before what the model writes, and `{% endgeneration %}` behind it. Where
    /// the model's text begins or ends within an expression, that is cut in two; all else is as it was.
    pub fn tagged(&self) -> &str {
        &self.tagged
    }

    /// Whether the template had tags already.
    pub fn was_tagged(&self) -> bool {
        self.tagged == self.jinja
    }

    /// Whether no turn of the template goes on from the prompt for it, with variables as they are by default. Then
    /// [`HeaderSide::Auto`](super::HeaderSide::Auto) takes headers into the mask.
    pub fn no_header_is_prompted(&self) -> bool {
        self.no_header_is_prompted
    }

    /// On what the tags were tried.
    pub fn proof(&self) -> MarkingProof {
        self.proof
    }

    /// The template with tags, to be compiled.
    pub(super) fn marked(&self) -> &PreparedTemplate {
        &self.marked
    }

    /// A conversation with the tokens that the template was asked with, where it names none.
    pub(super) fn with_tokens(&self, input: &RenderInput) -> RenderInput {
        input.or_tokens(self.bos_token.as_deref(), self.eos_token.as_deref())
    }

    /// Renders a conversation, and tells what of it the model writes.
    ///
    /// # Errors
    ///
    /// If the template does not take the conversation.
    pub fn mask(&self, input: &RenderInput) -> Result<Masked, MaskError> {
        let input = self.with_tokens(input);
        let plain = self.plain.renderer()?.render(&input)?;
        let marked = self.marked.renderer()?;
        let rendering = marked.render(&input)?;
        if plain.text != rendering.text {
            return Err(MaskError::Untaggable(
                "with tags, this conversation renders differently".to_owned(),
            ));
        }
        let spans = Spans::of(rendering.generated);
        let mut unmasked = lacking(&marked, &input);
        unmasked.extend(self.thoughts_lost(&input, &rendering.text));
        if spans.is_empty() {
            unmasked.insert(0, Unmasked::Everything);
        }
        Ok(Masked {
            text: rendering.text,
            spans,
            unmasked,
        })
    }

    /// Reads a text, and tells what of it the model has written. A text that ends before its conversation does has
    /// a mask up to there.
    ///
    /// ```
    /// use unjinja::chat_template::{ChatTemplate, RenderInput};
    /// use unjinja::conversation::{ConversationReader, Marking, MaskPolicy};
    ///
    /// let template = ChatTemplate::from_jinja(
    ///     "{% for m in messages %}{{ '<' + m.role + '>' + m.content + '<end>' }}{% endfor %}\
    ///      {% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}",
    /// );
    /// let base = RenderInput::default();
    /// let marking = Marking::of(&template, &base, MaskPolicy::default())?;
    /// let reader = ConversationReader::new(&template, &base)?;
    /// for (text, written) in [
    ///     ("<user>Hi<end><assistant>Hello!<end>", "Hello!<end>"),
    ///     ("<user>Hi<end><assistant>Hel", "Hel"),
    /// ] {
    ///     let masked = marking.mask_text(&reader, text)?;
    ///     assert_eq!(masked.spans.texts(text).collect::<Vec<_>>(), [written]);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the template would not write such a text, or writes what was read in another way.
    pub fn mask_text(&self, reader: &ConversationReader, text: &str) -> Result<Masked, MaskError> {
        let read = reader.read(text).map_err(MaskError::NotAConversation)?;
        if read.ending == Ending::BeforeMessages {
            return Ok(Masked {
                text: text.to_owned(),
                spans: Spans::default(),
                unmasked: vec![Unmasked::Everything],
            });
        }
        let masked = self.mask(&reader.input(&read))?;
        let masked = match &read.proof {
            Proof::SameButTools { tools } => masked.with_other_tools(text, tools),
            _ => masked,
        };
        let shown = &text[..read.shown];
        let is_same = match read.goes_on() {
            // Where the template trims what is said, blanks at its end are not written until more follows.
            true => masked.text.starts_with(shown.trim_end()),
            false => masked.text == shown,
        };
        if !is_same {
            let pairs = masked.text.chars().zip(text.chars());
            let at = pairs.take_while(|(written, read)| written == read).count();
            return Err(MaskError::WrittenOtherwise(at));
        }
        let mut spans = masked.spans.up_to(shown.chars().count());
        if let Ending::Within(slot) = read.ending
            && let Some(part) = read.parts.last()
            && slot.is_assistant()
        {
            // The model is still writing. What it has written before in this turn is but for blanks next to it.
            let count = |text: &str| text.chars().count();
            let before = &text[..part.range.start];
            spans = spans.with(count(before.trim_end()), count(before)..count(text));
        }
        let mut unmasked = masked.unmasked;
        if spans.is_empty() && !unmasked.contains(&Unmasked::Everything) {
            unmasked.insert(0, Unmasked::Everything);
        }
        Ok(Masked {
            text: text.to_owned(),
            spans,
            unmasked,
        })
    }
}

impl Masked {
    /// The mask of a text that is the same but for the definitions of tools, of which nothing is the model's.
    fn with_other_tools(self, text: &str, tools: &Range<usize>) -> Masked {
        let behind = &text[tools.end..];
        let Some(at) = self.text[tools.start..].find(behind) else {
            return self;
        };
        let count = |text: &str| text.chars().count();
        let (from, to) = (
            count(&self.text[..tools.start + at]),
            count(&text[..tools.end]),
        );
        let rest = &self.text[tools.start + at..];
        let spans = self
            .spans
            .ranges()
            .iter()
            .map(|span| match span.start >= from {
                true => span.start - from + to..span.end - from + to,
                false => span.clone(),
            });
        Masked {
            text: format!("{}{rest}", &text[..tools.end]),
            spans: Spans::of(spans.collect()),
            unmasked: self.unmasked,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProbeVariant {
    Plain,
    /// Content is given as a list of parts.
    Parts,
    /// Thinking is switched.
    Switched,
}

/// A conversation that was rendered.
struct Probed {
    conversation: ProbeConversation,
    kind: ProbeVariant,
    text: String,
}

impl Probed {
    /// Whether something is there that the assistant has said.
    fn shows_assistant(&self) -> bool {
        let messages = self.conversation.messages.iter();
        let mut said = messages.filter(|message| message.is_assistant);
        said.any(|message| message.words.iter().any(|word| self.text.contains(word)))
    }
}

/// Renders conversations; also with content as parts, where that makes the same text. One that takes all there is
/// ends it: others would, too.
fn probes(
    renderer: &Renderer<'_>,
    conversations: Vec<ProbeConversation>,
) -> Result<Vec<Probed>, String> {
    let mut probes = Vec::new();
    for conversation in conversations {
        let text = match renderer.render_short(&conversation.input) {
            Ok(rendering) => rendering.text,
            Err(error) if error.is_exhausted() => return Err(error.to_string()),
            Err(_) => continue,
        };
        if conversation.is_plain {
            let parts = in_parts(&conversation);
            let rendering = renderer.render_short(&parts.input);
            if rendering.is_ok_and(|rendering| rendering.text == text) {
                probes.push(Probed {
                    conversation: parts,
                    kind: ProbeVariant::Parts,
                    text: text.clone(),
                });
            }
        }
        probes.push(Probed {
            kind: match conversation.is_plain {
                true => ProbeVariant::Plain,
                false => ProbeVariant::Switched,
            },
            conversation,
            text,
        });
    }
    Ok(probes)
}

/// Finds out what wrote each of the texts. Expressions are cut at their operators if that makes no difference.
fn traced(
    jinja: &str,
    probes: &[Probed],
    budget: &Budget,
) -> Result<(Outline, Vec<Trace>), String> {
    for joins in [true, false] {
        let outline = Outline::of(jinja, joins)?;
        let noting = prepare(&outline, budget);
        let Ok(renderer) = noting.renderer() else {
            continue;
        };
        let traces = probes.iter().map_while(|probe| {
            let trace = trace(&renderer, &probe.conversation.input).ok()?;
            (trace.text == probe.text).then_some(trace)
        });
        let traces: Vec<Trace> = traces.collect();
        if traces.len() == probes.len() {
            return Ok((outline, traces));
        }
    }
    Err("it can't be traced which part of the template writes what".to_owned())
}

/// Tries tags on all conversations; and says whether they enclose nothing where others speak.
fn proof(
    tagged: &str,
    probes: &[Probed],
    known: &[Option<Vec<Turn>>],
    budget: &Budget,
) -> Result<(MarkingProof, bool), String> {
    let prepared = ChatTemplate::from_jinja(tagged).prepare_within(budget);
    let renderer = prepared.renderer().map_err(|error| error.to_string())?;
    let mut proof = MarkingProof::default();
    let mut differs = None;
    let mut encloses_nothing = false;
    for (probe, turns) in probes.iter().zip(known) {
        let rendering = renderer.render_short(&probe.conversation.input);
        let rendering = rendering.map_err(|error| error.to_string())?;
        if rendering.text != probe.text {
            return Err("with tags, conversations render differently".to_owned());
        }
        proof.same_text += 1;
        let covered = Covered::of(&rendering);
        for message in &probe.conversation.messages {
            for word in &message.words {
                let Some(at) = rendering.text.find(word.as_str()) else {
                    continue;
                };
                let range = at..at + word.len();
                let is_right = match message.is_assistant {
                    true => covered.holds(&range),
                    false => !covered.touches(&range),
                };
                if !is_right {
                    return Err(wrong_side(
                        &rendering.text,
                        range.start,
                        message.is_assistant,
                    ));
                }
            }
        }
        if let (Some(turns), ProbeVariant::Plain) = (turns, probe.kind) {
            proof.known += 1;
            let spans = turns.iter().map(|turn| turn.span.clone()).collect();
            let spans = Covered(spans);
            let regions = turns.iter().map(|turn| turn.region.clone());
            let regions = Covered(regions.collect());
            let mut empty = rendering.generated.iter().filter(|range| range.is_empty());
            encloses_nothing |= empty.any(|range| {
                let mut places = rendering.text.char_indices().map(|(at, _)| at);
                let at = places.nth(range.start).unwrap_or(rendering.text.len());
                !regions.touches(&(at.saturating_sub(1)..at + 1))
            });
            let found = covered.places(&rendering.text);
            let expected = spans.places(&rendering.text);
            if found == expected {
                proof.same_spans += 1;
                continue;
            }
            let missing = expected
                .iter()
                .find(|place| found.binary_search(place).is_err());
            let beyond = found.iter().find(|place| {
                let place = **place..**place + 1;
                !spans.touches(&place) && !regions.touches(&place)
            });
            match missing.or(beyond) {
                None => proof.with_more += 1,
                Some(at) => {
                    let is_missing = missing.is_some();
                    differs.get_or_insert_with(|| wrong_side(&rendering.text, *at, is_missing));
                }
            }
        }
    }
    let agree = proof.same_spans + proof.with_more;
    match differs {
        // Whoever reads the reason sees where.
        Some(why) if MOST_DIFFERING * (proof.known - agree) > proof.known => Err(why),
        _ => Ok((proof, encloses_nothing)),
    }
}

/// One in so many conversations may be marked otherwise.
const MOST_DIFFERING: usize = 10;

fn wrong_side(text: &str, at: usize, is_missing: bool) -> String {
    let before: Vec<char> = text[..at].chars().rev().take(40).collect();
    let before: String = before.into_iter().rev().collect();
    match is_missing {
        true => format!("what the model writes after {before:?} would not be enclosed"),
        false => format!("what others write after {before:?} would be enclosed"),
    }
}

/// What tags enclose, in bytes: one range behind the other.
pub(super) struct Covered(pub(super) Vec<Range<usize>>);

impl Covered {
    pub(super) fn of(rendering: &Rendering) -> Covered {
        let spans = Spans::of(rendering.generated.clone());
        let text = &rendering.text;
        let mut places = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        let mut next = 0;
        let mut place = |number: usize| {
            if number >= next {
                let at = places.nth(number - next);
                next = number + 1;
                return at.unwrap_or(text.len());
            }
            0
        };
        let ranges = spans.ranges().iter();
        Covered(
            ranges
                .map(|span| place(span.start)..place(span.end))
                .collect(),
        )
    }

    fn holds(&self, range: &Range<usize>) -> bool {
        let span = self.first_behind(range.start);
        span.is_some_and(|span| span.start <= range.start && range.end <= span.end)
    }

    fn touches(&self, range: &Range<usize>) -> bool {
        let span = self.first_behind(range.start);
        span.is_some_and(|span| span.start < range.end)
    }

    /// The first range that ends behind a place.
    fn first_behind(&self, at: usize) -> Option<&Range<usize>> {
        let first = self.0.partition_point(|span| span.end <= at);
        self.0.get(first)
    }

    /// Where all that is covered begins, character by character, but for white space.
    pub(super) fn places(&self, text: &str) -> Vec<usize> {
        let spans = self.0.iter();
        let spans = spans.filter_map(|span| Some((span.start, text.get(span.clone())?)));
        let places = spans.flat_map(|(start, text)| {
            let places = text.char_indices().filter(|(_, c)| !c.is_whitespace());
            places.map(move |(at, _)| start + at)
        });
        places.collect()
    }
}

/// What the words of a conversation begin with that occur nowhere else.
const STEM: &str = "zqx";

/// What they end with.
const CONTENT: &str = "content";
const THOUGHT: &str = "thought";
const CALL: &str = "call";

/// A word that stands for a part of a message.
fn word(index: usize, part: &str) -> String {
    format!("{STEM}{index:05}{part}")
}

/// Where each such word first stands in a text.
fn places_of_words(text: &str) -> HashMap<&str, usize> {
    let mut places = HashMap::new();
    for (at, _) in text.match_indices(STEM) {
        let rest = &text[at + STEM.len()..];
        let number = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let mut parts = [CONTENT, THOUGHT, CALL].into_iter();
        if let Some(part) = parts.find(|part| rest[number..].starts_with(part)) {
            let end = at + STEM.len() + number + part.len();
            places.entry(&text[at..end]).or_insert(at);
        }
    }
    places
}

/// What of a conversation is not where it should be: all texts are words that occur nowhere else.
fn lacking(renderer: &Renderer<'_>, input: &RenderInput) -> Vec<Unmasked> {
    let Some(messages) = input.messages.as_array() else {
        return Vec::new();
    };
    let mut replaced = Vec::new();
    let mut words = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let mut message = message.clone();
        let is_assistant = message.get("role").and_then(Value::as_str) == Some("assistant");
        if let Some(object) = message.as_object_mut() {
            let content = object.get("content").and_then(Value::as_str);
            if content.is_some_and(|content| !content.trim().is_empty()) {
                let word = word(index, CONTENT);
                object.insert("content", word.as_str());
                words.push((index, is_assistant, Unmasked::ContentDropped(index), word));
            }
            let is_said = |thought: &Value| thought.as_str().is_some_and(|t| !t.trim().is_empty());
            let thoughts = REASONING_KEYS
                .iter()
                .filter(|key| object.get(key).is_some_and(is_said));
            let thoughts: Vec<&str> = thoughts.copied().collect();
            if is_assistant && !thoughts.is_empty() {
                let word = word(index, THOUGHT);
                for key in thoughts {
                    object.insert(key, word.as_str());
                }
                words.push((index, is_assistant, Unmasked::ThoughtDropped(index), word));
            }
            if let Some(Value::Array(calls)) = object.get_mut("tool_calls") {
                let word = word(index, CALL);
                let given = calls.iter_mut().map(|call| give(call, &word));
                let given = given.filter(|given| *given).count();
                if given > 0 {
                    words.push((index, is_assistant, Unmasked::CallsDropped(index), word));
                }
            }
        }
        replaced.push(message);
    }
    let input = RenderInput {
        messages: replaced.into(),
        ..input.clone()
    };
    // What does not take such words can't be looked at so.
    let Ok(rendering) = renderer.render(&input) else {
        return Vec::new();
    };
    let covered = Covered::of(&rendering);
    let places = places_of_words(&rendering.text);
    let found = words
        .into_iter()
        .filter_map(|(index, is_assistant, dropped, word)| {
            let Some(&at) = places.get(word.as_str()) else {
                return is_assistant.then_some(dropped);
            };
            let range = at..at + word.len();
            match is_assistant {
                true => (!covered.holds(&range)).then_some(Unmasked::Outside(index)),
                false => covered.touches(&range).then_some(Unmasked::Inside(index)),
            }
        });
    found.collect()
}

/// What opens and closes thoughts, if a marker closes them.
fn thought_markers(findings: &Findings) -> Option<(String, String)> {
    let reasoning = findings.reasoning.as_ref()?;
    let [open, close] =
        [&reasoning.open, &reasoning.close].map(|text| text.as_deref().unwrap_or("").trim());
    (!close.is_empty()).then(|| (open.to_owned(), close.to_owned()))
}

impl Marking {
    /// Thoughts that stand in the text of a message, between the template's own markers, and not in the rendering: some
    /// templates cut them off there.
    fn thoughts_lost(&self, input: &RenderInput, text: &str) -> Vec<Unmasked> {
        let Some((open, close)) = &self.thought else {
            return Vec::new();
        };
        let messages = input.messages.as_array().unwrap_or_default();
        let lost = messages.iter().enumerate().filter(|(_, message)| {
            let is_assistant = message.get("role").and_then(Value::as_str) == Some("assistant");
            let content = message.get("content").and_then(Value::as_str);
            let thought = content.and_then(|content| content.split_once(close.as_str()));
            let thought = thought.map(|(before, _)| match before.rsplit_once(open.as_str()) {
                Some((_, thought)) if !open.is_empty() => thought,
                _ => before,
            });
            is_assistant && thought.is_some_and(|thought| !text.contains(thought.trim()))
        });
        lost.map(|(index, _)| Unmasked::ThoughtDropped(index))
            .collect()
    }
}

/// Gives a call a word for its arguments.
fn give(call: &mut Value, word: &str) -> bool {
    let Some(call) = call.as_object_mut() else {
        return false;
    };
    let arguments = match call.get_mut("function") {
        Some(Value::Object(function)) => function.get_mut("arguments"),
        _ => call.get_mut("arguments"),
    };
    let Some(arguments) = arguments else {
        return false;
    };
    let given: Value = [("value", word)].into_iter().collect::<Object>().into();
    *arguments = match arguments {
        Value::String(_) => crate::json::write(&given).into(),
        _ => given,
    };
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_where_they_first_stand() {
        let text = "zqx<t>zqx00010thought</t>zqx00010contentEND zqx00010content zqx100000call";
        let places = places_of_words(text);
        assert_eq!(places.len(), 3);
        for (index, part) in [(10, THOUGHT), (10, CONTENT), (100_000, CALL)] {
            let word = word(index, part);
            assert_eq!(
                places.get(word.as_str()).copied(),
                text.find(&word),
                "{word}"
            );
        }
    }

    #[test]
    fn what_tags_enclose_is_found_by_its_place() {
        let covered = Covered(vec![2..4, 6..6, 8..12]);
        for (range, holds, touches) in [
            (0..2, false, false),
            (2..4, true, true),
            (3..5, false, true),
            (4..8, false, true),
            (7..8, false, false),
            (9..11, true, true),
            (11..13, false, true),
            (12..14, false, false),
        ] {
            let found = (covered.holds(&range), covered.touches(&range));
            assert_eq!(found, (holds, touches), "{range:?}");
        }
    }
}
