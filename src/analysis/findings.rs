//! All that is known of a format, complete enough to write any kind of parser from.

use crate::chat_template::{ChatTemplate, PreparedTemplate, RenderError, RenderInput};

use super::asking::{Asking, Mode, Said, Scene};
use super::calls::{self, Around, CallShape, Question};
use super::content::{self, ContentShape};
use super::evidence::Evidence;
use super::hints;
use super::markers;
use super::reasoning::{self, Found, ReasoningShape};
use super::statement::{self, Certainty};
use super::turn::{self, Openings, TurnShape};

/// How a model writes its turn, as far as its chat template tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Findings {
    /// Where a turn begins and ends.
    pub turn: TurnShape,
    /// How reasoning is written.
    pub reasoning: Option<ReasoningShape>,
    /// How text is written.
    pub content: ContentShape,
    /// How calls of tools are written.
    pub calls: Option<CallShape>,
    /// Why no calls were rendered, in the template's words.
    pub calls_refused: Option<String>,
    /// What prompts write of the turn itself.
    pub prompt_remainders: Vec<String>,
}

impl Findings {
    /// Asks a template. `base` holds what all renderings have in common: tokens, the time, and
    /// variables; its messages and tools are not used.
    ///
    /// ```
    /// use unjinja::{ChatTemplate, Findings, RenderInput};
    ///
    /// let template = ChatTemplate::from_jinja(
    ///     "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
    ///      {% if add_generation_prompt %}<assistant>{% endif %}",
    /// );
    /// let found = Findings::of(&template, &RenderInput::default())?;
    /// assert_eq!(found.turn.headers, ["<assistant>"]);
    /// assert_eq!(found.turn.ends, ["<end>"]);
    /// assert!(found.reasoning.is_none() && found.calls.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the template is not valid, or does not even render a question of the user.
    pub fn of(template: &ChatTemplate, base: &RenderInput) -> Result<Findings, RenderError> {
        let prepared = template.prepare();
        Ok(analyze(template, &prepared, with_tokens(template, base))?.findings)
    }

    /// The findings, and the renderings that show them.
    ///
    /// # Errors
    ///
    /// As [`of`](Self::of).
    pub fn with_evidence(
        template: &ChatTemplate,
        base: &RenderInput,
    ) -> Result<(Findings, Vec<Evidence>), RenderError> {
        let prepared = template.prepare();
        let analysis = analyze(template, &prepared, with_tokens(template, base))?;
        let evidence = analysis.evidence();
        Ok((analysis.findings, evidence))
    }
}

/// The input with the template's own tokens where it names none.
pub(crate) fn with_tokens(template: &ChatTemplate, base: &RenderInput) -> RenderInput {
    RenderInput {
        bos_token: base
            .bos_token
            .clone()
            .or_else(|| template.bos_token.clone()),
        eos_token: base
            .eos_token
            .clone()
            .or_else(|| template.eos_token.clone()),
        ..base.clone()
    }
}

/// Findings, and the template they were made of, ready to be asked more.
pub(crate) struct Analysis<'t> {
    pub(crate) asking: Asking<'t>,
    pub(crate) openings: Openings,
    pub(crate) findings: Findings,
}

/// What is said in the turns that findings are made from.
struct Sayings {
    /// The word that is all the text.
    word: String,
    /// The word that is all the reasoning.
    thought: String,
    plain: Said,
    thoughtful: Said,
}

impl Sayings {
    fn new(asking: &Asking<'_>) -> Sayings {
        let (word, thought) = (asking.word("content"), asking.word("thought"));
        let plain = Said::content(&word);
        Sayings {
            thoughtful: plain.clone().reasoning(&thought),
            plain,
            word,
            thought,
        }
    }
}

/// Finds out how a model writes its turn.
pub(crate) fn analyze<'t>(
    template: &ChatTemplate,
    prepared: &'t PreparedTemplate,
    base: RenderInput,
) -> Result<Analysis<'t>, RenderError> {
    let eos = base.eos_token.clone();
    let mut asking = Asking::new(template, prepared, base)?;
    let sayings = Sayings::new(&asking);
    let (question, calls_refused) = match calls::ask(&mut asking) {
        Ok(question) => (question, None),
        Err(refusal) => (None, Some(refusal.message().to_owned())),
    };
    let words = [sayings.thought.as_str(), &sayings.word];
    let thinks = asking.find_manner(Scene::Question, &sayings.thoughtful, &words);
    let mut openings = Openings::of(&asking, &turns(&sayings, question.as_ref()), &sayings.word);
    let beside_text = matches!(thinks, Ok(true))
        .then(|| beside_text(&asking, &openings, &sayings))
        .flatten();
    let beside_calls = question
        .as_ref()
        .and_then(|question| beside_calls(&asking, &openings, &sayings, question));
    let reasoning = reasoning_shape(
        &asking,
        template,
        &mut openings,
        beside_text.as_ref(),
        beside_calls.as_ref(),
        &sayings,
        question.as_ref(),
    );
    // What holds a word of a probe has been misunderstood.
    let reasoning = reasoning.filter(|shape| !asking.leaks(&statement::reasoning_value(shape)));
    let (mut content, after_content) = content::find(
        &asking,
        &openings,
        &sayings.plain,
        &sayings.word,
        reasoning.as_ref(),
        beside_text.as_ref(),
    );
    let is_seen = |shape: &ReasoningShape| shape.certainty == Certainty::Seen;
    if !reasoning.as_ref().is_none_or(is_seen)
        && let Some(told) = hints::reasoning(&asking)
    {
        content.beside_reasoning.extend(told.others);
    }
    let around = Around {
        openings: &openings,
        after_content: &after_content,
        reasoning_close: reasoning.as_ref().map(|reasoning| reasoning.close.as_str()),
    };
    let (calls, not_understood) = call_shape(&mut asking, template, question, &around);
    let mut ends = turn::ends(&asking, &sayings.plain, &sayings.word, &content.close);
    ends.extend(eos);
    turn::dedup(&mut ends);
    let findings = Findings {
        turn: TurnShape {
            headers: openings.headers(&asking),
            ends,
        },
        prompt_remainders: openings.all_prompt_remainders(&asking),
        reasoning,
        content,
        calls,
        calls_refused: calls_refused.or(not_understood),
    };
    Ok(Analysis {
        asking,
        openings,
        findings,
    })
}

/// The turns by which it is told where a turn begins.
fn turns(sayings: &Sayings, question: Option<&Question>) -> Vec<Said> {
    let mut turns = vec![sayings.plain.clone(), sayings.thoughtful.clone()];
    if let Some(question) = question {
        turns.push(question.one.clone());
        turns.push(question.one.clone().reasoning(&sayings.thought));
    }
    turns
}

/// Reasoning as it stands before text.
fn beside_text(asking: &Asking<'_>, openings: &Openings, sayings: &Sayings) -> Option<Found> {
    reasoning::look(
        asking,
        openings,
        &sayings.thoughtful,
        &sayings.thought,
        &sayings.word,
    )
}

/// Reasoning as it stands before a call.
fn beside_calls(
    asking: &Asking<'_>,
    openings: &Openings,
    sayings: &Sayings,
    question: &Question,
) -> Option<Found> {
    let said = question.one.clone().reasoning(&sayings.thought);
    let turn = asking.turn(Scene::Question, &said, Mode::On).ok()?;
    let next = question.first_word(turn.tail()).to_owned();
    reasoning::look(asking, openings, &said, &sayings.thought, &next)
}

/// How calls are written, or that they can't be understood.
fn call_shape(
    asking: &mut Asking<'_>,
    template: &ChatTemplate,
    question: Option<Question>,
    around: &Around<'_>,
) -> (Option<CallShape>, Option<String>) {
    let Some(question) = question else {
        let tools = calls::tools(asking);
        let hinted = hints::calls(asking, tools, &template.jinja, &template.special_tokens);
        return (hinted, None);
    };
    let found = calls::find(asking, question, around);
    match found.filter(|shape| !asking.leaks(&statement::calls_value(shape))) {
        Some(shape) => (Some(shape), None),
        None => (
            None,
            Some("calls are rendered, but not in a way that is understood".to_owned()),
        ),
    }
}

fn reasoning_shape(
    asking: &Asking<'_>,
    template: &ChatTemplate,
    openings: &mut Openings,
    beside_text: Option<&Found>,
    beside_calls: Option<&Found>,
    sayings: &Sayings,
    question: Option<&Question>,
) -> Option<ReasoningShape> {
    let seen = beside_text.or(beside_calls);
    let (open, close, certainty) = match seen {
        Some(found) => {
            // Before text and before a call it is closed alike.
            let both = beside_text.zip(beside_calls);
            let shared = both.map(|(text, calls)| turn::shared_start(&text.after, &calls.after));
            let shared = shared.filter(|shared| !shared.trim().is_empty());
            let close = reasoning::closing_marker(shared.unwrap_or(&found.after))?;
            let open = found.before.trim_start();
            let open = (!open.trim().is_empty()).then(|| open.to_owned());
            let open = open.or_else(|| opener_in_header(openings, &close));
            (open, close, Certainty::Seen)
        }
        None => {
            let remainders = openings.prompt_remainders(asking, &[Scene::Question]);
            match reasoning::infer(asking, &template.jinja, &remainders) {
                Some((open, close)) => (open, close, Certainty::Inferred),
                None => {
                    let told = hints::reasoning(asking)?;
                    (Some(told.open), told.close, Certainty::Guessed)
                }
            }
        }
    };
    if let Some(open) = open.as_deref() {
        openings.shorten(open.trim());
    }
    let remainders = openings.prompt_remainders(asking, &[Scene::Question]);
    let opens = |rest: &String| {
        open.as_deref()
            .is_some_and(|open| rest.contains(open.trim()))
    };
    let closes = |rest: &String| rest.contains(close.trim());
    let past = asking.past_turn(Scene::Question, &sayings.thoughtful, Mode::On);
    let mut keys = Vec::new();
    if beside_text.is_some() {
        keys = asking.reasoning_keys(&sayings.thoughtful, &sayings.thought);
    } else if beside_calls.is_some() {
        let said = question
            .map(|question| question.one.clone())
            .unwrap_or_default();
        keys = asking.reasoning_keys(&said, &sayings.thought);
    }
    Some(ReasoningShape {
        certainty,
        keys,
        cut_from_content: reasoning::cuts_off(asking, close.trim()),
        in_last_turn: beside_text.is_some(),
        in_past_turns: past.is_ok_and(|turn| turn.tail().contains(&sayings.thought)),
        beside_calls: beside_calls.is_some(),
        opened_by_prompt: remainders.iter().any(|rest| opens(rest) && !closes(rest)),
        closed_by_prompt: remainders.iter().any(closes),
        open,
        close,
    })
}

/// The marker that opens reasoning, if every turn and every prompt begins with it.
fn opener_in_header(openings: &Openings, close: &str) -> Option<String> {
    let header = openings.header(Scene::Question, Mode::On);
    let closing = markers::markers(close).last()?;
    let pieces = markers::pieces(header);
    let at = pieces
        .iter()
        .rposition(|piece| markers::is_pair(piece, closing))?;
    Some(pieces[at..].concat())
}
