//! The order in which all that findings hold is found out: each answer stands on those before.

use crate::budget::Budget;
use crate::chat_template::{ChatTemplate, PreparedTemplate, RenderError, RenderInput};

use super::call_probe::{CallProbe, probe_tools};
use super::call_renderings::CallRenderings;
use super::calls::{self, CallSurroundings, FoundCalls};
use super::certainty::Certainty;
use super::content;
use super::evidence::{self, Evidence};
use super::findings::Findings;
use super::findings_value::{calls_value, reasoning_value};
use super::header_variants;
use super::hints;
use super::missing_tokens;
use super::outputs::{self, ModelOutput};
use super::reasoning::{self, ObservedReasoning, ReasoningShape};
use super::reasoning_variants;
use super::sample_turns::SampleTurns;
use super::turn;
use super::turn_headers::TurnHeaders;
use super::turn_prober::{PrecedingMessages, TurnProber};
use crate::markers;
use crate::markers::lexicon::{Lexicon, unmarked};

impl Findings {
    /// Asks a template. `base` holds what all renderings have in common: tokens, the time, and
    /// variables; its messages and tools are not used.
    ///
    /// ```
    /// use unjinja::analysis::Findings;
    /// use unjinja::chat_template::{ChatTemplate, RenderInput};
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
        let prepared = template.prepare_within(&Budget::of_question());
        Ok(analyze(template, &prepared, base, &[])?.findings)
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
        let prepared = template.prepare_within(&Budget::of_question());
        let analysis = analyze(template, &prepared, base, &[])?;
        let evidence = evidence::collect(&analysis.prober, &analysis.findings);
        Ok((analysis.findings, evidence))
    }
}

/// Findings, and the template they were made of, ready to be asked more.
pub(crate) struct Analysis<'t> {
    pub(crate) prober: TurnProber<'t>,
    pub(crate) headers: TurnHeaders,
    pub(crate) findings: Findings,
    /// The same with the brackets around [markers that consist of several parts](crate::markers::lexicon).
    pub(crate) marked: Findings,
    /// What these markers begin with.
    pub(crate) lexicon: Lexicon,
}

/// Adds how reasoning is opened and closed where variables have other values, or where prompts say more than turns.
fn add_variants(
    shape: &mut ReasoningShape,
    prober: &mut TurnProber<'_>,
    headers: &TurnHeaders,
    turns: &SampleTurns,
    source: (&str, &[String]),
) {
    let markers = [shape.open.as_deref(), shape.close.as_deref()];
    let mut variants = reasoning_variants::find(prober, headers, turns, markers, source);
    if let [Some(open), Some(close)] = markers.map(|marker| marker.map(str::trim)) {
        variants.extend(reasoning_variants::in_prompts(
            prober,
            headers,
            [open, close],
            source,
        ));
    }
    variants.truncate(reasoning_variants::MAX_VARIANTS);
    shape.variants = variants;
    let remainders = headers.prompt_remainders(prober, &[PrecedingMessages::Question]);
    shape.opened_by_prompt |= remainders.iter().any(|rest| shape.is_begun_by(rest.trim()));
}

/// Finds out how a model writes its turn. What is never rendered may be found in its outputs.
pub(crate) fn analyze<'t>(
    template: &ChatTemplate,
    prepared: &'t PreparedTemplate,
    base: &RenderInput,
    outputs: &[ModelOutput],
) -> Result<Analysis<'t>, RenderError> {
    let mut prober = TurnProber::new(template, prepared, base)?;
    let mut turns = SampleTurns::new(&prober);
    let mut calls_refused = None;
    match CallProbe::find(&mut prober) {
        Ok(call) => turns.call = call,
        Err(refusal) => calls_refused = Some(refusal.message().to_owned()),
    }
    // After calls: what form they need is known, and stays.
    let names = prepared.variables().iter().map(|(name, _)| name.clone());
    let names: Vec<String> = names.collect();
    let source = (template.jinja.as_str(), names.as_slice());
    let renders_reasoning =
        turns.renders_reasoning(&mut prober) || turns.show_reasoning(&mut prober, source);
    if renders_reasoning {
        turns.hide_reasoning(&mut prober, source);
    }
    // A marker may stand only between a text and a call, or between two calls.
    prober.learn_markers(&turns.with_mixtures());
    let drops_all_said = turns.call.is_none() && turns.drop_all_said(&prober);
    let mut headers = TurnHeaders::of(&prober, &turns.all(), &turns.word);
    let observed = ObservedReasoning::of(&prober, &headers, &turns, renders_reasoning);
    let reasoning = reasoning::find(&prober, template, &mut headers, &observed, &turns, outputs);
    // What holds a word of a probe has been misunderstood.
    let reasoning = reasoning.filter(|shape| !prober.contains_probe_words(&reasoning_value(shape)));
    let reasoning = reasoning.map(|mut shape| {
        add_variants(&mut shape, &mut prober, &headers, &turns, source);
        shape
    });
    let (mut content, after_content) =
        content::find(&mut prober, &headers, &turns, reasoning.as_ref(), &observed);
    let is_unseen = reasoning
        .as_ref()
        .is_some_and(|shape| shape.certainty != Certainty::Seen);
    // Where the thought is only described, so is what stands around the answer beside it.
    if is_unseen
        && content.open.is_none()
        && let Some(described) = hints::reasoning(&prober)
    {
        content.beside_reasoning.extend(described.others);
    }
    if let Some(reasoning) = &reasoning
        && content.open.is_none()
        && content.beside_reasoning.is_empty()
    {
        content.beside_reasoning = content::cut_around(&prober, &template.jinja, reasoning);
    }
    let missing_tokens = missing_tokens::find(&mut prober, &names, &turns, &content.close);
    let surroundings = CallSurroundings {
        headers: &headers,
        // What closes texts may close calls as well, and then it ends no turn.
        after_content: content.behind_close(&after_content),
        reasoning: reasoning.as_ref(),
        text_open: content.open.as_deref(),
    };
    let call = turns.call.take();
    let (found, not_understood) = found_calls(&mut prober, template, call, &surroundings, outputs);
    let (calls, before_calls) = found.map(|found| (found.shape, found.around_text)).unzip();
    content.before_calls = before_calls.unwrap_or_default();
    // `</say>` closes what `<say>` has opened, and no turn; but calls may stand between the two.
    let ends_no_turn = calls.is_none() && content.is_pair();
    let turn = turn::find(
        &prober,
        &headers,
        &turns.plain,
        &turns.word,
        &content.close,
        ends_no_turn,
    );
    let closes = content.close.iter().chain(&turn.ends);
    let signs = closes.filter(|close| !markers::is_closed(&unmarked(close)));
    let behind_line_breaks = signs.filter(|close| stands_behind_line_break(close, &after_content));
    let mut marked = Findings {
        behind_line_breaks: behind_line_breaks.cloned().collect(),
        turn,
        prompt_remainders: headers.all_prompt_remainders(&prober),
        reasoning,
        content,
        calls,
        calls_refused: calls_refused.or(not_understood),
        assumed: prober.assumed.clone(),
        missing_tokens,
        drops_all_said,
    };
    let answer_marker = turn::answer_marker(&prober, &turns.plain, &turns.word, &marked.turn.ends);
    let known = marked.markers();
    // Where a tool's answer begins with `[[do]]` as calls do, a turn that calls would end at once.
    marked.turn.answer_marker = answer_marker.filter(|marker| !known.contains(marker));
    marked.turn.answer_within =
        turn::answer_within_turn(&prober, &turns.plain, &marked.turn.headers);
    // Last, since it takes the most renderings.
    marked.turn.varied_headers =
        header_variants::find(&mut prober, &marked.turn.headers, &template.jinja, &names);
    // What was not asked is not known, and no finding says that it is not there.
    prober.gave_up()?;
    // What is rendered from here on is tried and shown, and has no brackets in it that no text holds.
    let lexicon = prober.forget_markers();
    Ok(Analysis {
        prober,
        headers: headers.unmarked(),
        findings: marked.unmarked(),
        marked,
        lexicon,
    })
}

/// Whether a line break stands before a marker where it first is in a text.
fn stands_behind_line_break(marker: &str, text: &str) -> bool {
    let before = text.split_once(marker).map(|(before, _)| before);
    before.is_some_and(|before| before.trim_end_matches([' ', '\t']).ends_with('\n'))
}

/// How calls are written; or why they are not understood.
fn found_calls(
    prober: &mut TurnProber<'_>,
    template: &ChatTemplate,
    call: Option<CallProbe>,
    surroundings: &CallSurroundings<'_>,
    outputs: &[ModelOutput],
) -> (Option<FoundCalls>, Option<String>) {
    let understood = |prober: &TurnProber<'_>, renderings: Option<CallRenderings<'_, '_>>| {
        let found = calls::find(&renderings?, surroundings);
        found.filter(|found| !prober.contains_probe_words(&calls_value(&found.shape)))
    };
    let Some(call) = call else {
        if let Some(found) = understood(prober, outputs::calls(prober, outputs)) {
            return (Some(found), None);
        }
        let tools = probe_tools(prober);
        // Last, since instructions may describe what no model writes.
        let hinted = hints::calls(prober, &tools, &template.jinja, &template.special_tokens);
        return (
            hinted.map(|shape| FoundCalls {
                shape,
                around_text: Vec::new(),
            }),
            None,
        );
    };
    let renderings = CallRenderings::render(prober, surroundings.headers, call);
    match understood(prober, renderings) {
        Some(found) => (Some(found), None),
        None => (
            None,
            // Hints are no help here: what is rendered is not what they say.
            Some("calls are rendered, but not in a way that is understood".to_owned()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::tests::{found, template};
    use crate::chat_template::ChatTemplate;

    #[test]
    fn calls_are_found_or_told_why_not() {
        for (assistant, tokens, expected) in [
            (
                "{{ m.content }}{{ m.tool_calls | tojson if m.tool_calls }}",
                "",
                "seen",
            ),
            // The template's own words come before hints.
            (
                "{{ m.content }}{{ raise_exception('no calls!') if m.tool_calls }}",
                "",
                "none: no calls!",
            ),
            // They are rendered, and their name comes out nowhere that is understood.
            (
                "{{ m.content }}{% for c in m.tool_calls %}{{ c.function.arguments | tojson }}\
                 {{ c.function.name | upper }}{{ c.function.name[:4] }}{% endfor %}",
                "",
                "none",
            ),
            (
                "{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name | list | join('-') }}\
                 {{ c.function.name }}{{ c.function.arguments.values() | list }}{{ c.function.arguments.keys() | list }}{% endfor %}",
                "<call>",
                "none: calls are rendered, but not in a way that is understood",
            ),
            ("{{ m.content }}", "<call>", "guessed"),
            ("{{ m.content }}", "", "none"),
        ] {
            let mut template = template(assistant);
            template
                .special_tokens
                .extend((!tokens.is_empty()).then(|| tokens.to_owned()));
            let findings = found(&template);
            let found = match (findings.calls, findings.calls_refused) {
                (Some(calls), None) => calls.certainty.key().to_owned(),
                (None, None) => "none".to_owned(),
                (_, Some(why)) => format!("none: {why}"),
            };
            assert_eq!(found, expected, "{assistant}");
        }
    }

    #[test]
    fn signs_that_end_turns_and_texts_may_have_a_line_break_before_them() {
        for (assistant, expected) in [
            ("{{ m.content }}\n=====\n", &["====="][..]),
            ("{{ m.content }} ===== ", &[]),
            // A model may write it in the same line, and nobody says it by chance.
            ("<say>{{ m.content }}\n</say>", &[]),
            ("{{ m.content }}\n<|over|>", &[]),
        ] {
            let messages = format!(
                "{{% for m in messages %}}{{% if m.role == 'assistant' %}}<bot>{assistant}{{% else %}}\
                                    <user>{{{{ m.content }}}}{{% endif %}}{{% endfor %}}{{{{ '<bot>' if add_generation_prompt }}}}"
            );
            let findings = found(&ChatTemplate::from_jinja(messages));
            assert_eq!(findings.behind_line_breaks, expected, "{assistant}");
        }
    }
}
