//! Texts with reasoning and calls that the chat template never writes, put together from findings.

use crate::analysis::assistant_turn::AssistantTurn;
use crate::analysis::{CallShape, Certainty, Findings};
use crate::json;
use crate::value::Object;

use super::conversations::{ANSWER, THOUGHT, tide_call};
use super::sample::{Origin, Sample};

/// Puts texts together with reasoning and calls, if the chat template never writes such.
pub(super) fn samples(findings: &Findings, rendered: &[Sample]) -> Vec<Sample> {
    let answer = rendered
        .iter()
        .find(|sample| sample.intended == AssistantTurn::content(ANSWER));
    let answer = answer.filter(|sample| sample.origin == Origin::Rendered);
    let mut samples = answer.map_or_else(Vec::new, |answer| beside(answer, findings, rendered));
    let known: Vec<&Sample> = rendered.iter().chain(&samples).collect();
    samples.extend(between_markers(&known, findings));
    samples
}

/// Puts a thought before an answer, and a call in its place.
fn beside(answer: &Sample, findings: &Findings, rendered: &[Sample]) -> Vec<Sample> {
    let mut samples = Vec::new();
    // What the chat template writes by itself need not be made up.
    let thinks = rendered
        .iter()
        .any(|sample| sample.written.reasoning.is_some());
    if let Some(shape) = findings.reasoning.as_ref().filter(|_| !thinks)
        && let Some(open) = &shape.open
    {
        let close = shape.close.as_deref().unwrap_or_default();
        samples.extend(thought_and_answer(answer, open, close));
    }
    if let Some(call) = findings.calls.as_ref().and_then(unseen_call) {
        let turn = AssistantTurn::calls([tide_call()]);
        let output = answer.output.replacen(ANSWER, &call, 1);
        samples.push(made_up("a call, made up", answer, output, turn));
    }
    samples
}

/// An answer with a thought before it, where the prompt lets the model think.
fn thought_and_answer(answer: &Sample, open: &str, close: &str) -> Option<Sample> {
    let turn = AssistantTurn::content(ANSWER).with_reasoning(THOUGHT);
    let name = "a thought and an answer, made up";
    // History may have an empty thought behind the same opener, and then the turn goes on with what closes it.
    let said = answer.output.trim_start().strip_prefix(close.trim());
    let said = said.filter(|_| !close.trim().is_empty());
    let said = said.map_or(answer.output.as_str(), str::trim_start);
    let thought = format!("{THOUGHT}\n{close}\n\n{said}");
    let closed = answer.prefilled.rfind(close.trim());
    let Some(closed) = closed.filter(|_| !close.trim().is_empty()) else {
        // Behind a prompt that opens the thought, the model goes on with it.
        let output = match answer.prefilled.contains(open.trim()) {
            true => thought,
            false => format!("{open}\n{thought}"),
        };
        return Some(Sample {
            has_inferred_thought: true,
            ..made_up(name, answer, output, turn)
        });
    };
    // Behind `<think></think>` of the prompt, which switches thinking off, no model thinks: the prompt that lets it
    // think ends before `</think>`. Where nothing opens the thought there, nobody knows how it begins.
    let begun = &answer.prefilled[..closed];
    let cut = answer.prefilled.len() - closed;
    begun.contains(open.trim()).then(|| Sample {
        prefix: answer.prefix[..answer.prefix.len() - cut].to_owned(),
        prefilled: begun.to_owned(),
        has_inferred_thought: true,
        ..made_up(name, answer, thought, turn)
    })
}

/// An answer behind a thought, with the markers around it that stand there, unless the chat template writes such.
fn between_markers(known: &[&Sample], findings: &Findings) -> Option<Sample> {
    let (close, opens) = findings.content.beside_reasoning.split_last()?;
    let turn = AssistantTurn::content(ANSWER).with_reasoning(THOUGHT);
    let is_seen = known
        .iter()
        .any(|sample| sample.output.contains(close.as_str()));
    let answer = known.iter().find(|sample| sample.written == turn)?;
    let words = opens.iter().map(String::as_str).chain([ANSWER, close]);
    let said = words.collect::<Vec<_>>().join("\n");
    let output = answer.output.replacen(ANSWER, &said, 1);
    let name = "an answer between markers, made up";
    (!is_seen).then(|| made_up(name, answer, output, turn))
}

/// A sample that the chat template does not write, behind the same prompt as another.
fn made_up(name: &'static str, like: &Sample, output: String, turn: AssistantTurn) -> Sample {
    Sample {
        name: name.into(),
        output,
        written: turn.clone(),
        intended: turn,
        tail: String::new(),
        origin: Origin::Synthetic,
        ..like.clone()
    }
}

/// A call as findings have it, if it was never seen.
fn unseen_call(shape: &CallShape) -> Option<String> {
    // What was seen is rendered, and tried as it is written.
    if shape.certainty == Certainty::Seen {
        return None;
    }
    let calls = shape.parts()?;
    let keys = calls.keys()?;
    let tide = tide_call();
    let mut call = Object::new();
    call.insert(*keys.name.first()?, tide.name);
    call.insert(*keys.arguments.first()?, tide.arguments);
    let call = json::write(&call.into());
    let call = if calls.is_array() {
        format!("[{call}]")
    } else {
        call
    };
    let open = calls.first_text();
    Some([open, "\n", &call, "\n", &calls.close].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::invented;

    #[test]
    fn what_is_never_rendered_is_put_together() {
        let answer = || invented::sample(&format!("{ANSWER}<end>"), AssistantTurn::content(ANSWER));
        let said = AssistantTurn::content(ANSWER).with_reasoning(THOUGHT);
        let thought = || invented::sample(&format!("<t>{THOUGHT}</t>{ANSWER}<end>"), said.clone());
        let tide = r#"{"name":"read_tide","arguments":{"harbour":"Brest","scale":"metres"}}"#;
        let made_up = format!("<t>\n{THOUGHT}\n</t>\n\n{ANSWER}<end>");
        let thinks = ["<t>", "</t>"];
        for (reasoning, call, certainty, rendered, expected) in [
            (thinks, "", Certainty::Seen, vec![answer()], vec![made_up]),
            // The chat template writes thoughts by itself.
            (
                thinks,
                "",
                Certainty::Seen,
                vec![answer(), thought()],
                vec![],
            ),
            // Of a thought that nothing opens, nobody knows how it begins.
            (["", "</t>"], "", Certainty::Seen, vec![answer()], vec![]),
            (
                [""; 2],
                "<call>OBJECT</call>",
                Certainty::Guessed,
                vec![answer()],
                vec![format!("<call>\n{tide}\n</call><end>")],
            ),
            (
                [""; 2],
                "LIST",
                Certainty::Guessed,
                vec![answer()],
                vec![format!("\n[{tide}]\n<end>")],
            ),
            (
                [""; 2],
                "<call>OBJECT</call>",
                Certainty::Seen,
                vec![answer()],
                vec![],
            ),
            (
                [""; 2],
                "<call>OBJECT</call>",
                Certainty::Guessed,
                vec![],
                vec![],
            ),
        ] {
            let mut findings = invented::findings(reasoning, [""; 2], ["", call, "", ""]);
            if let Some(calls) = &mut findings.calls {
                calls.certainty = certainty;
            }
            let found = samples(&findings, &rendered);
            let found: Vec<String> = found.into_iter().map(|sample| sample.output).collect();
            assert_eq!(found, expected, "{call}");
        }
    }

    #[test]
    fn thoughts_are_made_up_where_the_prompt_lets_a_model_think() {
        let findings = invented::findings(["<t>", "</t>"], [""; 2], [""; 4]);
        let thought = format!("{THOUGHT}\n</t>\n\n{ANSWER}<end>");
        for (prefilled, expected) in [
            ("", Some(("", format!("<t>\n{thought}")))),
            // A prompt may have opened it already.
            ("<t>\n\n", Some(("<t>\n\n", thought.clone()))),
            // A prompt that switches thinking off closes the thought, and another one leaves it open.
            ("<t>\n\n</t>\n\n", Some(("<t>\n\n", thought.clone()))),
            // Nobody knows how a thought begins behind a prompt that only closes one.
            ("</t>", None),
        ] {
            let answer = Sample {
                prefix: format!("<user>Hi<end><assistant>{prefilled}"),
                prefilled: prefilled.to_owned(),
                ..invented::sample(&format!("{ANSWER}<end>"), AssistantTurn::content(ANSWER))
            };
            let made_up = samples(&findings, &[answer]);
            let found = made_up
                .first()
                .map(|made| (made.prefilled.as_str(), made.output.clone()));
            assert_eq!(found, expected, "{prefilled:?}");
            for made in &made_up {
                assert!(
                    made.prefix
                        .ends_with(&format!("<assistant>{}", made.prefilled))
                );
            }
        }
    }
}
