//! Formats for the tests of this room, put together by hand.

use crate::analysis::assistant_turn::AssistantTurn;
use crate::analysis::{CallShape, Certainty, ContentShape, Findings, ReasoningShape};
use crate::chat_template::ChatTemplate;
use crate::format::Node;

use super::options::DeriveOptions;
use super::sample::{Origin, Sample};
use super::search_input::SearchInput;

/// What is known of a format whose turns stand between `<assistant>` and `<end>`: what opens and closes a thought and a
/// text, both empty where it has none; what stands before all calls, a call as [`Node::row`] reads it, what separates two
/// calls, and what stands behind them all.
pub(super) fn findings(
    [open, close]: [&str; 2],
    [text_open, text_close]: [&str; 2],
    [section_open, call, separator, section_close]: [&str; 4],
) -> Findings {
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let mut findings = Findings::default();
    findings.turn.headers = vec!["<assistant>".to_owned()];
    findings.turn.ends = vec!["<end>".to_owned()];
    if !(open.is_empty() && close.is_empty()) {
        findings.reasoning = Some(ReasoningShape {
            keys: vec!["reasoning_content".to_owned()],
            open: some(open),
            close: some(close),
            certainty: Certainty::Seen,
            in_last_turn: true,
            in_past_turns: true,
            beside_calls: true,
            cut_from_content: false,
            opened_by_prompt: false,
            closed_by_prompt: false,
            variants: Vec::new(),
        });
    }
    findings.content = ContentShape {
        open: some(text_open),
        close: some(text_close).into_iter().collect(),
        ..ContentShape::default()
    };
    if !call.is_empty() {
        findings.calls = Some(CallShape {
            certainty: Certainty::Seen,
            section_open: section_open.into(),
            section_close: section_close.into(),
            several_in_brackets: false,
            node: Node::calls(call, separator),
        });
    }
    findings
}

/// The same with calls alone.
pub(super) fn with_calls(calls: [&str; 4]) -> Findings {
    findings([""; 2], [""; 2], calls)
}

/// The same with a list's brackets around several calls between `<calls>` and `</calls>`.
pub(super) fn with_calls_in_brackets(call: &str) -> Findings {
    let mut findings = with_calls(["<calls>", call, ", ", "</calls>"]);
    let shape = findings.calls.as_mut().expect("there are calls");
    shape.several_in_brackets = true;
    findings
}

/// A text that was rendered for what it says.
pub(super) fn sample(output: &str, written: AssistantTurn) -> Sample {
    Sample {
        name: "an invented one".into(),
        prefix: "<user>Hi<end><assistant>".to_owned(),
        prefilled: String::new(),
        header_of_prompt: None,
        output: output.to_owned(),
        tail: String::new(),
        intended: written.clone(),
        written,
        origin: Origin::Rendered,
        has_inferred_thought: false,
    }
}

/// What drafts are written from and tried on, of a chat template that writes the turns of the assistant, messages `m`, so.
pub(super) fn search_input(assistant: &str) -> SearchInput {
    let jinja = format!(
        "{{% for m in messages %}}<{{{{ m.role }}}}>{{% if m.role == 'assistant' %}}{assistant}\
         {{% else %}}{{{{ m.content }}}}{{% endif %}}<end>{{% endfor %}}\
         {{% if add_generation_prompt %}}<assistant>{{% endif %}}"
    );
    let template = ChatTemplate::from_jinja(&jinja);
    let prepared = template.prepare();
    let gathered = SearchInput::gather(&template, &prepared, &DeriveOptions::default());
    gathered.expect("it renders a question").0
}
