//! What response templates are tried on: texts that the chat template writes for messages that are
//! known.

use std::borrow::Cow;

use crate::analysis::assistant_turn::{AssistantTurn, ToolCall};
use crate::analysis::turn_prober::{PrecedingMessages, RenderedTurn, ThinkingMode, TurnProber};
use crate::analysis::{
    Analysis, Findings, ReasoningVariant, TurnHeaders, TurnShape, advice, infer_format,
};
use crate::chat_template::RenderError;
use crate::json;
use crate::markers;
use crate::remedy::Remedy;
use crate::response::Tools;
use crate::value::{Value, object};

use super::conversations::{ANSWER, Conversation, THOUGHT, conversations, tools};
use super::surroundings::Surroundings;

/// A text as a model would write it, and the message that it means.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    /// What the conversation is about.
    pub(super) name: Cow<'static, str>,
    /// The prompt.
    pub(super) prefix: String,
    /// The part of the prompt that belongs to the turn.
    pub(super) prefilled: String,
    /// What the turn begins behind in the prompt, if conversations have less of it there.
    pub(super) header_of_prompt: Option<String>,
    /// What the model writes.
    pub(super) output: String,
    /// What the chat template writes behind the turn.
    pub(super) tail: String,
    /// What the chat template was given.
    pub(super) intended: AssistantTurn,
    /// What of it the chat template has written.
    pub(super) written: AssistantTurn,
    /// Where it comes from.
    pub(super) origin: Origin,
    /// Set if its thought was written in, as a model writes one behind the prompt.
    pub(super) has_inferred_thought: bool,
}

/// Where a text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The chat template wrote it.
    Rendered,
    /// It was put together from findings, because the chat template never writes such a thing.
    Synthetic,
}

impl Sample {
    /// What the chat template has left out.
    pub(super) fn lost(&self) -> Vec<&'static str> {
        let mut lost = Vec::new();
        if self.intended.reasoning != self.written.reasoning {
            lost.push("reasoning");
        }
        if self.intended.content != self.written.content {
            lost.push("content");
        }
        if self.intended.calls != self.written.calls {
            lost.push("calls");
        }
        lost
    }
}

/// A conversation that the chat template refuses to render.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedConversation {
    /// What the conversation is about.
    pub name: String,
    /// Why it is refused.
    pub error: RenderError,
}

impl RefusedConversation {
    /// Why it is refused, with names of the caller for what may be made use of.
    pub fn explain(&self, words: impl Fn(Remedy) -> &'static str) -> String {
        let why = self.error.message().to_owned();
        match advice::advice(&self.error, words) {
            Some(advice) => format!("{why}: {advice}"),
            None => why,
        }
    }

    /// For programs: an object of the `name` of the conversation, and the `error`.
    pub fn to_value(&self) -> Value {
        object! {"name": &self.name, "error": self.error.message()}.into()
    }
}

/// The samples of a template, and the tools that they call.
pub(super) struct Samples {
    pub(super) all: Vec<Sample>,
    pub(super) tools: Tools,
    pub(super) refused: Vec<RefusedConversation>,
    /// What all words begin with that stand in prompts for what others say.
    pub(super) stem: String,
}

impl Samples {
    /// Whether the chat template has written anything of what it was given. What was put together from findings
    /// holds all that was said, whatever the chat template does.
    pub(super) fn have_written_turn(&self) -> bool {
        let nothing = AssistantTurn::default();
        let is_rendered = |sample: &&Sample| sample.origin == Origin::Rendered;
        let mut rendered = self.all.iter().filter(is_rendered);
        rendered.any(|sample| sample.written != nothing)
    }

    /// Why it has refused the first conversation that it refused.
    pub(super) fn refusal(&self) -> Option<&RenderError> {
        self.refused.first().map(|refused| &refused.error)
    }
}

/// Renders samples with one chat template.
pub(super) struct Sampling<'t> {
    analysis: Analysis<'t>,
    tools: Tools,
    takes_tools: bool,
}

impl<'t> Sampling<'t> {
    pub(super) fn new(mut analysis: Analysis<'t>) -> Sampling<'t> {
        let tools = tools();
        let prober = &mut analysis.prober;
        prober.offer(tools.as_list().to_vec());
        // Some chat templates fail upon any tools, and are asked without.
        let question = prober.prompt(PrecedingMessages::Question, ThinkingMode::Unset);
        Sampling {
            takes_tools: question.is_ok(),
            analysis,
            tools,
        }
    }

    /// How many different conversations have been rendered, with those of the analysis.
    pub(super) fn renderings(&self) -> usize {
        self.analysis.prober.renderings()
    }

    /// What stands around the texts of a turn, in all ways in which it is rendered.
    pub(super) fn surroundings(&mut self, findings: &Findings) -> Option<Surroundings> {
        Surroundings::of(&infer_format(&mut self.analysis), findings)
    }

    /// Renders all samples.
    pub(super) fn render(&mut self, findings: &Findings) -> Samples {
        let mut samples = Samples {
            all: Vec::new(),
            tools: self.tools.clone(),
            refused: Vec::new(),
            stem: self.analysis.prober.stem().to_owned(),
        };
        let tools = self.tools.clone();
        for conversation in conversations() {
            let before = samples.all.len();
            self.sampler(&conversation, &tools, findings)
                .add_to(&mut samples);
            if conversation.turn.reasoning.is_some() && !conversation.has_tools {
                let loses_thought = |sample: &Sample| sample.written.reasoning.is_none();
                if samples.all[before..].iter().all(loses_thought) {
                    samples
                        .all
                        .extend(self.thoughts_with_tools(conversation, findings));
                }
            }
        }
        samples
    }

    /// The samples of a thought that some chat templates write only where they are given tools.
    fn thoughts_with_tools(
        &mut self,
        mut conversation: Conversation,
        findings: &Findings,
    ) -> Vec<Sample> {
        let mut samples = Samples {
            all: Vec::new(),
            tools: self.tools.clone(),
            refused: Vec::new(),
            stem: String::new(),
        };
        conversation.has_tools = true;
        conversation.name += ", with tools at hand";
        self.sampler(&conversation, &samples.tools.clone(), findings)
            .add_to(&mut samples);
        samples.all.retain(|sample| sample.lost().is_empty());
        samples.all
    }

    /// Renders samples with thoughts that are opened and closed as they are where variables have other values.
    pub(super) fn render_varied(&mut self, findings: &Findings) -> Vec<Sample> {
        let mut samples = Samples {
            all: Vec::new(),
            tools: self.tools.clone(),
            refused: Vec::new(),
            stem: String::new(),
        };
        let shape = findings.reasoning.as_ref();
        for variant in shape.map_or(&[][..], |shape| &shape.variants) {
            let (Some(name), Some((value, open, close))) = (variant.variable(), variant.filled())
            else {
                continue;
            };
            let mut findings = findings.clone();
            if let Some(shape) = &mut findings.reasoning {
                // Prompts may open it so, and turns as ever.
                let usual = shape.open.replace(open);
                let closed = shape.close.clone();
                shape
                    .variants
                    .extend(usual.map(|open| ReasoningVariant::without_variable(open, closed)));
                shape.close = close;
            }
            let conversations = conversations().into_iter();
            for mut conversation in conversations.filter(|one| one.turn.reasoning.is_some()) {
                conversation.name += ", with a variable given";
                self.offer_for(&conversation, &samples.tools);
                let Analysis {
                    prober, headers, ..
                } = &mut self.analysis;
                prober.given(name, value.clone(), |prober| {
                    let sampler = Sampler {
                        prober,
                        headers,
                        findings: &findings,
                        conversation: &conversation,
                    };
                    sampler.add_to(&mut samples);
                });
            }
        }
        samples.all
    }

    /// The sample of something else that is said upon a question, with other tools at hand; `None` if the chat template refuses it.
    pub(super) fn sample_of(
        &mut self,
        name: &'static str,
        said: &AssistantTurn,
        tools: &Tools,
        findings: &Findings,
    ) -> Option<Sample> {
        let conversation = Conversation {
            name: name.into(),
            preceding: PrecedingMessages::Question,
            turn: said.clone(),
            has_tools: true,
        };
        let sampler = self.sampler(&conversation, tools, findings);
        let mut modes = [ThinkingMode::Off, ThinkingMode::Unset].into_iter();
        modes.find_map(|mode| sampler.sample_in(mode).ok())
    }

    /// Whether the chat template writes the very text of a sample, behind the same prompt, when
    /// something else is said in its turn, and leaves nothing of that out.
    pub(super) fn writes_the_same(
        &mut self,
        sample: &Sample,
        said: &AssistantTurn,
        findings: &Findings,
    ) -> bool {
        let mut all = conversations().into_iter();
        let Some(mut conversation) = all.find(|one| one.name == sample.name) else {
            return false;
        };
        conversation.turn = said.clone();
        let tools = self.tools.clone();
        let sampler = self.sampler(&conversation, &tools, findings);
        ThinkingMode::ALL.into_iter().any(|mode| {
            let rendered = sampler.sample_in(mode).ok();
            rendered.is_some_and(|other| {
                other.written == *said
                    && (&other.prefix, &other.output) == (&sample.prefix, &sample.output)
            })
        })
    }

    /// Offers the tools of a conversation.
    fn offer_for(&mut self, conversation: &Conversation, tools: &Tools) {
        let offers = conversation.has_tools && self.takes_tools;
        self.analysis.prober.offer(match offers {
            true => tools.as_list().to_vec(),
            false => Vec::new(),
        });
    }

    fn sampler<'a>(
        &'a mut self,
        conversation: &'a Conversation,
        tools: &Tools,
        findings: &'a Findings,
    ) -> Sampler<'a, 't> {
        self.offer_for(conversation, tools);
        Sampler {
            prober: &self.analysis.prober,
            headers: &self.analysis.headers,
            findings,
            conversation,
        }
    }
}

/// Makes the samples of one conversation.
struct Sampler<'a, 't> {
    prober: &'a TurnProber<'t>,
    headers: &'a TurnHeaders,
    findings: &'a Findings,
    conversation: &'a Conversation,
}

impl Sampler<'_, '_> {
    /// Adds the samples in all modes that suit the conversation, or why there are none.
    fn add_to(&self, samples: &mut Samples) {
        let modes = match self.conversation.turn.reasoning {
            // With thinking switched off nobody thinks, and switched on, a turn without a thought is none that is
            // expected.
            Some(_) => [ThinkingMode::On, ThinkingMode::Unset],
            None => [ThinkingMode::Off, ThinkingMode::Unset],
        };
        let mut refusal = None;
        let before = samples.all.len();
        for mode in modes {
            // Without a switch for thinking, both modes write the same.
            match self.sample_in(mode) {
                Ok(sample) => {
                    let is_new = samples.all[before..].iter().all(|other| {
                        (&other.prefix, &other.output) != (&sample.prefix, &sample.output)
                    });
                    if is_new {
                        samples.all.push(sample);
                        samples.all.extend(self.sample_of_history(mode));
                        samples.all.extend(self.sample_without_prompt(mode));
                    }
                }
                Err(error) => {
                    refusal.get_or_insert(error);
                }
            }
        }
        // What is refused in one mode and rendered in the other is not refused.
        if let (Some(error), true) = (refusal, samples.all.len() == before) {
            samples.refused.push(RefusedConversation {
                name: self.conversation.name.to_string(),
                error,
            });
        }
    }

    fn sample_in(&self, mode: ThinkingMode) -> Result<Sample, RenderError> {
        let Conversation {
            preceding, turn, ..
        } = self.conversation;
        let turn = self.prober.turn(*preceding, turn, mode)?;
        let full = turn.text();
        let rendered_prompt = self.prober.prompt(*preceding, mode)?;
        let prompt = rendered_prompt.text();
        if let Some(output) = full.strip_prefix(prompt) {
            return Ok(self.sample(prompt, output, None));
        }
        // A prompt may say more before the turn than a conversation does: then the one does not begin the other.
        if self.headers.differ(*preceding, mode) {
            let output = self
                .headers
                .body_behind(&rendered_prompt, turn.tail(), *preceding, mode);
            let rest = self.findings.turn.prefilled(prompt);
            let thinking = self.begun_in_prompt(prompt, rest, output);
            return Ok(thinking.unwrap_or_else(|| self.sample(prompt, output, None)));
        }
        let shared = markers::same_start(prompt, full);
        if shared < turn.start {
            // Even what comes before the turn is written otherwise in a prompt.
            return Ok(self.sample(prompt, turn.tail(), None));
        }
        // The turn goes another way than its prompt, but never from amid a marker.
        let start = turn.start.min(shared);
        let seam = start + markers::boundary(&full[start..], shared - start);
        let seam = start + self.not_amid_reasoning_marker(&prompt[start..], seam - start);
        Ok(self.sample_at_seam(prompt, full, seam, mode))
    }

    /// The sample of a turn behind a tool's answer that a conversation begins otherwise than its prompt does, with the turn's header in
    /// its output: a prompt may go on with `</result><end><bot>`, and a conversation with `</result>\n<end><bot>`.
    fn sample_of_history(&self, mode: ThinkingMode) -> Option<Sample> {
        let Conversation {
            preceding, turn, ..
        } = self.conversation;
        if *preceding != PrecedingMessages::AfterTool || !self.headers.differ(*preceding, mode) {
            return None;
        }
        let turn = self.prober.turn(*preceding, turn, mode).ok()?;
        let prompt = self.prober.prompt(*preceding, mode).ok()?;
        let (prefix, output) = split_at_seam(&turn, prompt.text())?;
        if turn.text().starts_with(prompt.text()) {
            return None;
        }
        let mut headers = self
            .findings
            .turn
            .headers
            .iter()
            .map(|header| header.trim());
        headers
            .any(|header| !header.is_empty() && output.contains(header))
            .then(|| Sample {
                origin: Origin::Synthetic,
                ..self.sample(prefix, output, None)
            })
    }

    /// The sample of a thought that a conversation opens otherwise than its prompt does, with its own opener in its output: prompts may
    /// end with `<think effort="low">`, and turns begin with `<think>`.
    fn sample_without_prompt(&self, mode: ThinkingMode) -> Option<Sample> {
        let Conversation {
            preceding, turn, ..
        } = self.conversation;
        turn.reasoning.as_ref()?;
        let turn = self.prober.turn(*preceding, turn, mode).ok()?;
        let prompt = self.prober.prompt(*preceding, mode).ok()?;
        let (prefix, output) = split_at_seam(&turn, prompt.text())?;
        let shape = self.findings.reasoning.as_ref()?;
        let begun = shape.opener_of(prompt.text()[prefix.len()..].trim_start())?;
        let is_other = shape.opener_of(output.trim_start())? != begun;
        is_other.then(|| Sample {
            origin: Origin::Synthetic,
            ..self.sample(prefix, output, None)
        })
    }

    /// A place in the part of a prompt that belongs to the turn; or the beginning of what opens or closes reasoning
    /// there, if it lies within that: a turn may begin in the same way, as `[call NAME]` does where `[think]` opens
    /// reasoning.
    fn not_amid_reasoning_marker(&self, prompt: &str, place: usize) -> usize {
        let reasoning = self.findings.reasoning.iter();
        let markers = reasoning.flat_map(|shape| shape.open.iter().chain(&shape.close));
        let markers = markers.map(|marker| marker.trim());
        let around = markers
            .filter(|marker| !marker.is_empty())
            .filter_map(|marker| {
                let mut places = prompt.match_indices(marker).map(|(at, _)| at);
                places.find(|at| (at + 1..at + marker.len()).contains(&place))
            });
        around.min().unwrap_or(place)
    }

    /// The sample of a turn that goes another way than its prompt from a place on. The prompt may open
    /// reasoning behind it, or close it.
    fn sample_at_seam(&self, prompt: &str, full: &str, seam: usize, mode: ThinkingMode) -> Sample {
        let rest = &prompt[seam..];
        let [open, close] = self.thought_markers();
        let is_closed = !close.is_empty() && rest.contains(close);
        if let Some(thinking) = self.begun_in_prompt(prompt, rest, &full[seam..]) {
            thinking
        } else if is_closed && !self.has_thought(&full[seam..]) {
            // `<bot><think></think>` in a prompt, and `<bot>\n<think></think>` in a turn.
            let again = self.behind_empty_thought(&full[seam..], close);
            self.sample(prompt, again.unwrap_or(&full[seam..]), None)
        } else {
            // A turn that a conversation begins in no way at all follows what begins one in the prompt.
            let headers = &mut self.findings.turn.headers.iter();
            let begins = headers.any(|header| rest.contains(header.trim()));
            let mut about_thoughts = [open, close].into_iter().filter(|text| !text.is_empty());
            let is_of_thought = about_thoughts.any(|text| rest.contains(text));
            if begins {
                return self.sample(prompt, &full[seam..], None);
            }
            match self
                .header_of_prompt(prompt, mode)
                .filter(|_| !is_of_thought)
            {
                Some(header) => Sample {
                    prefilled: String::new(),
                    header_of_prompt: Some(header),
                    ..self.sample(prompt, &full[seam..], None)
                },
                None => self.sample(&full[..seam], &full[seam..], None),
            }
        }
    }

    /// The markers that open and close thoughts, without white space; empty where they are not known.
    fn thought_markers(&self) -> [&str; 2] {
        let shape = self.findings.reasoning.as_ref();
        let open = shape.and_then(|shape| shape.open.as_deref());
        let close = shape.and_then(|shape| shape.close.as_deref());
        [open, close].map(|marker| marker.unwrap_or_default().trim())
    }

    /// Tells if the thought of the conversation is in a text.
    fn has_thought(&self, text: &str) -> bool {
        let thought = self.conversation.turn.reasoning.as_ref();
        thought.is_some_and(|thought| text.contains(thought.as_str()))
    }

    /// The sample of a turn whose prompt has begun to think, and has not ended. `rest` is what the prompt has of the turn, and `body`
    /// what history has behind the header.
    fn begun_in_prompt(&self, prompt: &str, rest: &str, body: &str) -> Option<Sample> {
        let [open, close] = self.thought_markers();
        // Where thoughts are written, the prompt must not have closed them.
        let is_closed = !close.is_empty() && rest.contains(close);
        let is_opened =
            !open.is_empty() && rest.contains(open) || self.behind_opener(rest).is_some();
        if !is_opened || is_closed {
            return None;
        }
        let begun = body.trim_start();
        if self.has_thought(body) {
            // `<bot>\n<think>` in a prompt, and `<bot><think>` in a turn.
            let thought = self.behind_opener(begun);
            return Some(self.sample(prompt, thought.unwrap_or(body), None));
        }
        // The prompt begins to think, and history leaves it out. Some turns begin with what closes thoughts, as if a prompt had opened
        // them, or with an empty thought.
        let empty = || self.behind_empty_thought(begun, close);
        let behind = begun.strip_prefix(close).filter(|_| !close.is_empty());
        let behind = behind.or_else(empty).map(str::trim_start);
        let thinking = format!("{THOUGHT}\n{close}\n\n{}", behind.unwrap_or(body));
        Some(self.sample(prompt, &thinking, Some(THOUGHT)))
    }

    /// What the turn begins behind, if prompts say more there than conversations do, and these have nothing in its place: `<bot>` comes
    /// before the answer, and `<bot><sep>` ends the prompt.
    fn header_of_prompt(&self, prompt: &str, mode: ThinkingMode) -> Option<String> {
        let answer = AssistantTurn::content(ANSWER);
        let turn = self
            .prober
            .turn(self.conversation.preceding, &answer, mode)
            .ok()?;
        let shared = markers::same_start(prompt, turn.text());
        let is_within = (turn.start..prompt.len()).contains(&shared);
        if !is_within || !turn.text()[shared..].trim_start().starts_with(ANSWER) {
            return None;
        }
        let headers = self.findings.turn.headers.iter();
        let headers = headers.filter(|header| !header.trim().is_empty());
        let starts = headers.filter_map(|header| {
            let before = prompt[..shared].trim_end().strip_suffix(header.trim())?;
            Some(before.len())
        });
        let header = &prompt[starts.min()?..];
        // What is another in each conversation, such as the question once more, is no header.
        (!header.contains(self.prober.stem())).then(|| header.to_owned())
    }

    /// What follows upon what opens the thought with which a text begins, in one way or another.
    fn behind_opener<'t>(&self, text: &'t str) -> Option<&'t str> {
        let text = text.trim_start();
        let shape = self.findings.reasoning.as_ref()?;
        Some(&text[shape.opener_of(text)?.len()..])
    }

    /// What follows the empty thought with which a text begins.
    fn behind_empty_thought<'t>(&self, text: &'t str, close: &str) -> Option<&'t str> {
        self.behind_opener(text)?.trim_start().strip_prefix(close)
    }

    /// The sample with this prompt and output. `thought` is what was added to the output.
    fn sample(&self, prefix: &str, output: &str, thought: Option<&str>) -> Sample {
        let turn_shape = &self.findings.turn;
        let (output, tail) = one_turn(output, &self.conversation.turn, turn_shape);
        let mut intended = self.conversation.turn.clone();
        if intended.reasoning.is_none() {
            intended.reasoning = thought.map(str::to_owned);
        }
        Sample {
            name: self.conversation.name.clone(),
            prefix: prefix.to_owned(),
            prefilled: turn_shape.prefilled(prefix).to_owned(),
            header_of_prompt: None,
            output: output.to_owned(),
            tail: tail.to_owned(),
            written: written(&intended, output),
            intended,
            origin: Origin::Rendered,
            has_inferred_thought: thought.is_some(),
        }
    }
}

/// A turn from the place on where it goes another way than its prompt, and what comes before that, if that place is in the turn. It is
/// never amid a marker.
fn split_at_seam<'t>(turn: &'t RenderedTurn, prompt: &str) -> Option<(&'t str, &'t str)> {
    let (full, start) = (turn.text(), turn.start);
    let shared = markers::same_start(prompt, full).checked_sub(start)?;
    Some(full.split_at(start + markers::boundary(&full[start..], shared)))
}

/// The output up to the marker that ends the turn, or up to the next header, and the rest: some templates go on with what comes
/// next.
fn one_turn<'a>(output: &'a str, intended: &AssistantTurn, turn: &TurnShape) -> (&'a str, &'a str) {
    let texts = intended
        .reasoning
        .iter()
        .chain(&intended.content)
        .map(|text| text.trim());
    let words: Vec<String> = intended.calls.iter().flat_map(call_words).collect();
    // What ends a turn may be said in it, too, so it is looked for behind the last of what was said.
    let last = texts
        .chain(words.iter().map(String::as_str))
        .filter_map(|text| Some(output.rfind(text)? + text.len()))
        .max();
    let Some(last) = last else {
        return (output, "");
    };
    let end = turn
        .ends
        .iter()
        .filter_map(|end| Some((last + output[last..].find(end.as_str())? + end.len(), end)));
    let Some((end, marker)) = end.min() else {
        return (output, "");
    };
    // Of words, and of signs with words, a part alone may have been found.
    let is_ended = markers::are_markers(marker) || turn.goes_on(&output[last..]);
    match is_ended && !turn.ends_with(&output[end..]) {
        true => output.split_at(end),
        false => (output, ""),
    }
}

/// What of a message comes out in a text.
fn written(intended: &AssistantTurn, output: &str) -> AssistantTurn {
    let holds = |text: &&String| {
        // In JSON, a line break in a text comes out as `\n`.
        let json = json::write(&text.trim().into());
        let escaped = &json[1..json.len() - 1];
        output.contains(text.trim()) || output.contains(escaped)
    };
    AssistantTurn {
        reasoning: intended.reasoning.as_ref().filter(holds).cloned(),
        content: intended.content.as_ref().filter(holds).cloned(),
        calls: intended
            .calls
            .iter()
            .filter(|call| is_written(call, output))
            .cloned()
            .collect(),
    }
}

/// Whether a call's name and all words of its arguments are in a text.
fn is_written(call: &ToolCall, output: &str) -> bool {
    call_words(call)
        .iter()
        .all(|word| output.contains(word.as_str()))
}

/// A call's name, its keys, and the longer words of its texts.
fn call_words(call: &ToolCall) -> Vec<String> {
    let mut words = vec![call.name.clone()];
    for (key, value) in call.arguments.iter() {
        words.push(key.to_string_lossy().into_owned());
        if let Some(text) = value.as_str() {
            // Quotes and signs of a text may be escaped in any way; its longer words stay as they are.
            let pieces = text.split(|c: char| !c.is_ascii_alphanumeric());
            words.extend(pieces.filter(|word| word.len() > 3).map(str::to_owned));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_goes_up_to_its_end_behind_all_that_was_said() {
        let turn = |end: &str| TurnShape {
            headers: vec!["<assistant>".to_owned()],
            ends: vec![end.to_owned()],
            ..TurnShape::default()
        };
        for (end, output, said, expected) in [
            ("<end>", "Yes.<end>", "Yes.", ("Yes.<end>", "")),
            // Other markers belong to the end.
            (
                "<end>",
                "Yes.<end>\n<sep>",
                "Yes.",
                ("Yes.<end>\n<sep>", ""),
            ),
            (
                "<end>",
                "Yes.<end>\n<assistant>",
                "Yes.",
                ("Yes.<end>", "\n<assistant>"),
            ),
            (
                "<end>",
                "Yes.<end>And so on",
                "Yes.",
                ("Yes.<end>", "And so on"),
            ),
            (
                "<end>",
                "Put <end> last.<end>So",
                "Put <end> last.",
                ("Put <end> last.<end>", "So"),
            ),
            // Nothing of what was said came out, so nothing tells what stands there.
            ("<end>", "No.<end>So", "Yes.", ("No.<end>So", "")),
            // A word ends turns only if another one begins behind it.
            ("END", "Yes.\nEND so", "Yes.", ("Yes.\nEND so", "")),
            (
                "END",
                "Yes.\nEND\n<assistant>",
                "Yes.",
                ("Yes.\nEND", "\n<assistant>"),
            ),
        ] {
            let said = AssistantTurn::content(said);
            assert_eq!(one_turn(output, &said, &turn(end)), expected, "{output}");
        }
    }

    #[test]
    fn a_call_is_there_with_its_name_its_keys_and_its_longer_words() {
        let call = ToolCall::new(
            "read",
            [
                ("at".to_owned(), "It isn't 'Brest'".into()),
                ("days".to_owned(), 3.into()),
            ],
        );
        assert_eq!(call_words(&call), ["read", "at", "Brest", "days"]);
        for (output, is_there) in [
            (
                r#"{"read": {"at": "It isn\u0027t \u0027Brest\u0027", "days": 3}}"#,
                true,
            ),
            ("read(at=Brest)", false),
            ("at Brest, days", false),
        ] {
            assert_eq!(is_written(&call, output), is_there, "{output}");
        }
    }

    #[test]
    fn a_text_is_written_as_it_is_or_as_json() {
        let intended = AssistantTurn::content("So:\n\"Yes.\"\n").with_reasoning("Hm.");
        for (output, reasoning, content) in [
            ("Hm.\nSo:\n\"Yes.\"", true, true),
            (r#"{"say": "So:\n\"Yes.\""}"#, false, true),
            ("Hm. So: \"Yes.\"", true, false),
            ("", false, false),
        ] {
            let found = written(&intended, output);
            let found = (found.reasoning.is_some(), found.content.is_some());
            assert_eq!(found, (reasoning, content), "{output}");
        }
    }
}
