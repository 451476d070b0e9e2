//! Where a model's reasoning stands, and what opens and closes it.

use crate::chat_template::ChatTemplate;

use super::assistant_turn::AssistantTurn;
use super::certainty::Certainty;
use super::hints;
use super::outputs::{self, ModelOutput};
use super::reasoning_inference::{ReasoningMarkers, cuts_off, infer};
use super::reasoning_variants::{ReasoningVariant, is_variant};
use super::sample_turns::SampleTurns;
use super::turn_headers::TurnHeaders;
use super::turn_prober::{PrecedingMessages, ThinkingMode, TurnProber};
use crate::markers::{self, closing_marker, common_prefix, is_pair, pieces, shared_start};

/// How reasoning is written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReasoningShape {
    /// The keys of a message under which the template reads it; `content` says that it is a part of
    /// the content.
    pub keys: Vec<String>,
    /// What opens it; `None` if the turn just begins with it.
    pub open: Option<String>,
    /// What closes it; `None` if it goes on up to what opens the next part of the turn.
    pub close: Option<String>,
    /// How sure it is.
    pub certainty: Certainty,
    /// Whether it is rendered in the turn that comes last.
    pub in_last_turn: bool,
    /// Whether it is rendered in turns that another question follows.
    pub in_past_turns: bool,
    /// Whether it is rendered beside calls.
    pub beside_calls: bool,
    /// Whether the template cuts it out of the content of past turns.
    pub cut_from_content: bool,
    /// Whether a prompt opens it.
    pub opened_by_prompt: bool,
    /// Whether a prompt opens it and closes it at once, to switch thinking off.
    pub closed_by_prompt: bool,
    /// How it is opened and closed where variables have other values, or other things are counted.
    pub(crate) variants: Vec<ReasoningVariant>,
}

impl ReasoningShape {
    /// The variables with whose values varies what opens it or what closes it.
    pub fn varied_by(&self) -> Vec<String> {
        let names = self.variants.iter().filter_map(ReasoningVariant::variable);
        let mut names = names.map(str::to_owned).collect();
        markers::dedup(&mut names);
        names
    }

    /// All that opens it. Where a variable shows in it, a slot stands for what it shows.
    pub(crate) fn opens(&self) -> Vec<&str> {
        let others = self.variants.iter().map(|variant| variant.open.as_str());
        with_variants(self.open.as_deref(), others)
    }

    /// Whether a text opens it.
    pub(crate) fn is_opened_by(&self, text: &str) -> bool {
        self.opens().iter().any(|open| is_variant(text, open))
    }

    /// What opens it, in one way or another, at the beginning of a text.
    pub(crate) fn opener_of<'t>(&self, text: &'t str) -> Option<&'t str> {
        let open = self.open.as_deref().map_or("", str::trim);
        match text.starts_with(open) && !open.is_empty() {
            true => Some(&text[..open.len()]),
            false => markers::first_piece(text).filter(|first| self.is_opened_by(first)),
        }
    }

    /// Whether a text begins with what opens it, and has nothing in it that closes it.
    pub(super) fn is_begun_by(&self, text: &str) -> bool {
        let is_open = self.opener_of(text).is_some();
        let closes = self.closes();
        let mut pieces = markers::pieces(text);
        let is_closed = closes.iter().any(|close| text.contains(close.trim()))
            || pieces.any(|piece| closes.iter().any(|close| is_variant(piece, close)));
        is_open && !is_closed
    }

    /// All that closes it.
    pub(crate) fn closes(&self) -> Vec<&str> {
        let others = self.variants.iter();
        let others = others.filter_map(|variant| variant.close.as_deref());
        with_variants(self.close.as_deref(), others)
    }
}

/// A text, unless it is one of its variants, and these, without white space around them.
fn with_variants<'t>(own: Option<&'t str>, others: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    let mut all: Vec<&str> = Vec::new();
    for text in others.map(str::trim) {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    let own = own.map(str::trim);
    if let Some(own) = own.filter(|own| !all.iter().any(|other| is_variant(own, other))) {
        all.insert(0, own);
    }
    all
}

/// What stands around reasoning in a rendering.
#[derive(Debug, Clone)]
pub(super) struct ReasoningContext {
    /// What stands before it in the turn, or between it and the content before it.
    pub(super) before: String,
    /// Whether the content stands before it.
    is_behind: bool,
    /// What stands between it and the content, or the call.
    pub(super) after: String,
    /// What stands after the content.
    pub(super) end: String,
}

impl ReasoningContext {
    /// Renders reasoning before something else, and cuts out what stands around it.
    fn of(
        prober: &TurnProber<'_>,
        headers: &TurnHeaders,
        assistant: &AssistantTurn,
        reasoning: &str,
        next: &str,
    ) -> Option<ReasoningContext> {
        // A switch that is off, or not set, may leave the thought out of the turn.
        for mode in [ThinkingMode::On, ThinkingMode::Unset] {
            let body = headers.turn(prober, PrecedingMessages::Question, assistant, mode);
            let Some((before, rest)) = body.as_deref().and_then(|body| body.split_once(reasoning))
            else {
                continue;
            };
            let (after, end) = rest.split_once(next).unwrap_or((rest, ""));
            // What comes before it may be just what it was thought to come before.
            let behind = before.rsplit_once(next).map(|(_, behind)| behind);
            return Some(ReasoningContext {
                before: behind.unwrap_or(before).to_owned(),
                is_behind: behind.is_some(),
                after: after.to_owned(),
                end: end.to_owned(),
            });
        }
        None
    }
}

/// Reasoning as renderings show it.
pub(super) struct ObservedReasoning {
    /// As it stands before a text.
    pub(super) before_text: Option<ReasoningContext>,
    /// As it stands before a call.
    before_call: Option<ReasoningContext>,
    /// What stands before a text without reasoning.
    before_plain: String,
    /// What stands behind it.
    behind_plain: String,
}

impl ObservedReasoning {
    /// Looks at the turns with reasoning. `before_text` says whether the template renders it there.
    pub(super) fn of(
        prober: &TurnProber<'_>,
        headers: &TurnHeaders,
        turns: &SampleTurns,
        before_text: bool,
    ) -> ObservedReasoning {
        let thought = turns.thought.as_str();
        let of_text =
            || ReasoningContext::of(prober, headers, &turns.thoughtful, thought, &turns.word);
        let of_call = |call| {
            let assistant = turns.thoughtful_call(call);
            let turn = prober.turn(PrecedingMessages::Question, &assistant, ThinkingMode::On);
            let next = call.first_word(turn.ok()?.tail());
            ReasoningContext::of(prober, headers, &assistant, thought, next)
        };
        let (before_plain, behind_plain) = around_plain(prober, headers, turns).unwrap_or_default();
        ObservedReasoning {
            before_text: before_text.then(of_text).flatten(),
            before_call: turns.call.as_ref().and_then(of_call),
            before_plain,
            behind_plain,
        }
    }

    /// Whether it was seen anywhere.
    fn any(&self) -> Option<&ReasoningContext> {
        self.before_text.as_ref().or(self.before_call.as_ref())
    }

    /// What opens it and what closes it.
    fn markers(
        &self,
        headers: &TurnHeaders,
        context: &ReasoningContext,
    ) -> Option<ReasoningMarkers> {
        let open = match context.is_behind {
            // What follows upon a text without reasoning closes the text.
            // In `<say>So.</say><since>It is.</since>`, `</say>` is the text's and `<since>` the thought's.
            true => &context.before[common_prefix(&context.before, &self.behind_plain)..],
            false => context.before.as_str(),
        };
        let open = open.trim_start();
        let open = (!open.trim().is_empty()).then(|| open.to_owned());
        // Before text and before a call it is closed alike.
        let both = self.before_text.as_ref().zip(self.before_call.as_ref());
        // `</think>\n\n` before a text and `</think><call>` before a call: what closes the thought is what both have.
        let shared = both.map(|(text, call)| shared_start(&text.after, &call.after));
        let close = match shared {
            Some(shared) if !shared.trim().is_empty() => closing_marker(shared),
            _ => closing_marker(self.without_content_opener(open.as_deref(), &context.after)),
        };
        // `<bot><think>` may begin every turn and every prompt: then the opener was taken for a part of the header.
        let by_close = || opener_in_header(headers, close.as_deref()?);
        let open = open.or_else(by_close);
        (open.is_some() || close.is_some()).then_some(ReasoningMarkers { open, close })
    }

    /// What stands between reasoning and a text, without what opens any text. Where a text without
    /// reasoning has its empty markers, these show nothing.
    fn without_content_opener<'t>(&self, open: Option<&str>, after: &'t str) -> &'t str {
        let plain = self.before_plain.trim();
        match open {
            // `</think><say>`: every text has `<say>` before it. But `<think></think>` before a plain text is no
            // opener of texts.
            Some(open) if !plain.contains(open.trim()) => {
                after.trim_end().strip_suffix(plain).unwrap_or(after)
            }
            _ => after,
        }
    }
}

/// What stands before a text without reasoning, and behind it.
fn around_plain(
    prober: &TurnProber<'_>,
    headers: &TurnHeaders,
    turns: &SampleTurns,
) -> Option<(String, String)> {
    let body = headers.turn(
        prober,
        PrecedingMessages::Question,
        &turns.plain,
        ThinkingMode::On,
    )?;
    let (before, behind) = body.split_once(&turns.word)?;
    Some((before.to_owned(), behind.to_owned()))
}

/// How reasoning is written, as far as renderings, prompts or instructions show it. What opens it
/// is taken out of the headers.
pub(super) fn find(
    prober: &TurnProber<'_>,
    template: &ChatTemplate,
    headers: &mut TurnHeaders,
    observed: &ObservedReasoning,
    turns: &SampleTurns,
    outputs: &[ModelOutput],
) -> Option<ReasoningShape> {
    let (ReasoningMarkers { open, close }, certainty) = match observed.any() {
        Some(context) => (observed.markers(headers, context)?, Certainty::Seen),
        // Outputs come before what a template or instructions only suggest.
        None => match outputs::reasoning(prober, outputs) {
            Some(markers) => (markers, Certainty::Observed),
            None => unseen_markers(prober, template, headers)?,
        },
    };
    if let Some(open) = open.as_deref() {
        // `<bot><think>` in prompts and conversations: the header ends before what opens the thought.
        headers.shorten(open.trim());
    }
    let remainders = headers.prompt_remainders(prober, &[PrecedingMessages::Question]);
    let opens = |rest: &String| {
        open.as_deref()
            .is_some_and(|open| rest.contains(open.trim()))
    };
    let closes = |rest: &String| {
        let close = close.as_deref();
        close.is_some_and(|close| rest.contains(close.trim()))
    };
    // Many templates drop thoughts as soon as another question follows.
    let past = prober.past_turn(
        PrecedingMessages::Question,
        &turns.thoughtful,
        ThinkingMode::On,
    );
    Some(ReasoningShape {
        certainty,
        keys: keys(prober, observed, turns),
        cut_from_content: close
            .as_deref()
            .is_some_and(|close| cuts_off(prober, close.trim())),
        in_last_turn: observed.before_text.is_some(),
        in_past_turns: past.is_ok_and(|turn| turn.tail().contains(&turns.thought)),
        beside_calls: observed.before_call.is_some(),
        // `<think>\n\n</think>` at the end of a prompt begins no thought: it switches thinking off.
        opened_by_prompt: remainders.iter().any(|rest| opens(rest) && !closes(rest)),
        closed_by_prompt: remainders.iter().any(closes),
        open,
        close,
        variants: Vec::new(),
    })
}

/// The markers of reasoning that no rendering shows.
fn unseen_markers(
    prober: &TurnProber<'_>,
    template: &ChatTemplate,
    headers: &TurnHeaders,
) -> Option<(ReasoningMarkers, Certainty)> {
    let remainders = headers.prompt_remainders(prober, &[PrecedingMessages::Question]);
    if let Some(markers) = infer(prober, &template.jinja, &remainders) {
        return Some((markers, Certainty::Inferred));
    }
    let described = hints::reasoning(prober)?;
    let markers = ReasoningMarkers::both(described.open, described.close);
    Some((markers, Certainty::Guessed))
}

/// The keys of a message under which the template reads reasoning.
fn keys(prober: &TurnProber<'_>, observed: &ObservedReasoning, turns: &SampleTurns) -> Vec<String> {
    if observed.before_text.is_some() {
        prober.reasoning_keys(&turns.thoughtful, &turns.thought)
    } else if observed.before_call.is_some() {
        let call = turns.call.as_ref().map(|call| call.one.clone());
        prober.reasoning_keys(&call.unwrap_or_default(), &turns.thought)
    } else {
        Vec::new()
    }
}

/// The marker that opens reasoning, if every turn and every prompt begins with it.
fn opener_in_header(headers: &TurnHeaders, close: &str) -> Option<String> {
    let header = headers.header(PrecedingMessages::Question, ThinkingMode::On);
    let closing = markers::markers(close).last()?;
    let pieces: Vec<&str> = pieces(header).collect();
    // By its name alone: `<bot>` before `</think>` opens no thought.
    let at = pieces.iter().rposition(|piece| is_pair(piece, closing))?;
    Some(pieces[at..].concat())
}

#[cfg(test)]
mod tests {
    use crate::analysis::tests::found;
    use crate::chat_template::ChatTemplate;

    #[test]
    fn reasoning_is_found_between_its_markers_wherever_it_stands() {
        const THOUGHT: &str = "{{ m.reasoning_content }}";
        // `T` stands for the thought, `C` for what is said, and `>|` for a thought that nothing closes.
        for (assistant, prompt, expected) in [
            ("<m>T</m>C", "", "<m> </m> last past"),
            ("{% if T %}<m>T</m>{% endif %}C", "", "<m> </m> last past"),
            (
                "{% if T and loop.last %}<m>T</m>{% endif %}C",
                "",
                "<m> </m> last",
            ),
            // The turn just begins with it; or goes on up to what opens the next part.
            ("T</m>C", "", " </m> last past"),
            (
                "{% if T %}Mull: T\n{% endif %}Say: C",
                "",
                "Mull:  >| last past",
            ),
            // What opens any text closes no thought.
            (
                "{% if T %}<m>T</m>{% endif %}<say>C</say>",
                "",
                "<m> </m> last past",
            ),
            // What closes it is what stands behind it before texts and before calls.
            (
                "{% if T %}Mull: T Enough. {% endif %}{% if m.tool_calls %}{{ m.tool_calls | tojson }}\
                 {% else %}{% if T %}So: {% endif %}C{% endif %}",
                "",
                "Mull:  Enough. last past",
            ),
            // It is written only where thinking is on.
            (
                "{% if T and think %}<m>T</m>{% endif %}C",
                "{% if not think %}<m></m>{% endif %}",
                "<m> </m> last past closed",
            ),
            // A variable of any name has to be true for that, or a word that the template compares it with.
            (
                "{% if T and shown | default(false) %}<m>T</m>{% endif %}C",
                "",
                "<m> </m> last past",
            ),
            (
                "{% if T and mode == 'slow' %}<m>T</m>{% endif %}C",
                "{% if mode == 'slow' %}<m>{% endif %}",
                "<m> </m> last past opened",
            ),
            // It shows whole messages, or the thought as a part of what is said.
            ("{% if shown %}[{{ m | tojson }}]{% endif %}C", "", "none"),
            ("{% if T and shown %}(Note: T) {% endif %}C", "", "none"),
            // It stands behind what was said; what closes the text is no part of its opener.
            (
                "<say>C</say>{% if T %}<m>T</m>{% endif %}",
                "",
                "<m> </m> last past",
            ),
            // Every turn and every prompt begins with what opens it.
            ("<m>T</m>C", "<m>", "<m> </m> last past opened"),
            (
                "<m>T</m>C",
                "{% if off %}<m></m>{% endif %}",
                "<m> </m> last past closed",
            ),
            // A template cuts it out of content, and writes it nowhere.
            (
                "{{ m.content.split('</mull>')[-1] }}",
                "",
                "<mull> </mull> inferred cut",
            ),
            ("C", "<mull>", "<mull> </mull> inferred opened"),
            ("C", "", "none"),
        ] {
            let assistant = assistant.replace("if T", "if m.reasoning_content");
            let assistant = assistant
                .replace('T', THOUGHT)
                .replace('C', "{{ m.content }}");
            let jinja = format!(
                "{{% for m in messages %}}{{% if m.role == 'assistant' %}}<bot>{assistant}{{% else %}}\
                 <user>{{{{ m.content }}}}{{% endif %}}<end>{{% endfor %}}\
                 {{% if add_generation_prompt %}}<bot>{prompt}{{% endif %}}"
            );
            let text = found(&ChatTemplate::from_jinja(jinja)).reasoning.map_or(
                "none".to_owned(),
                |shape| {
                    let close = shape.close.unwrap_or_else(|| ">|".to_owned());
                    let mut text = format!("{} {close}", shape.open.unwrap_or_default());
                    for (is, word) in [
                        (shape.certainty.key() != "seen", shape.certainty.key()),
                        (shape.in_last_turn, "last"),
                        (shape.in_past_turns, "past"),
                        (shape.cut_from_content, "cut"),
                        (shape.opened_by_prompt, "opened"),
                        (shape.closed_by_prompt, "closed"),
                    ] {
                        if is {
                            text = format!("{text} {word}");
                        }
                    }
                    text
                },
            );
            assert_eq!(text, expected, "{assistant} {prompt}");
        }
    }
}
