//! What response templates are tried on: texts that the chat template writes for messages that are
//! known.

use super::conversations::{ANSWER, Plan, THOUGHT, plans, tide, tools};
use crate::analysis::asking::{Asking, Called, Mode, Said, Scene};
use crate::analysis::{
    CallBody, CallShape, Certainty, Findings, Openings, Slot, TurnShape, markers, slotted,
};
use crate::chat_template::RenderError;
use crate::json;
use crate::response::Tools;
use crate::value::Object;

/// A text as a model would write it, and the message that it means.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    /// What the conversation is about.
    pub(super) name: &'static str,
    /// The prompt.
    pub(super) prefix: String,
    /// The part of the prompt that belongs to the turn.
    pub(super) begun: String,
    /// What the model writes.
    pub(super) output: String,
    /// What was said.
    pub(super) said: Said,
    /// What of it the chat template has written.
    pub(super) written: Said,
    /// Where it comes from.
    pub(super) origin: Origin,
}

/// Where a text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The chat template wrote it.
    Rendered,
    /// The chat template wrote it, and the prompt has taken the beginning of a marker.
    Cut,
    /// It was put together from findings, because the chat template never writes such a thing.
    MadeUp,
}

impl Sample {
    /// What the chat template has left out.
    pub(super) fn lost(&self) -> Vec<&'static str> {
        let mut lost = Vec::new();
        if self.said.reasoning != self.written.reasoning {
            lost.push("reasoning");
        }
        if self.said.content != self.written.content {
            lost.push("content");
        }
        if self.said.calls != self.written.calls {
            lost.push("calls");
        }
        lost
    }
}

/// The samples of a template, and the tools that they call.
pub(super) struct Samples {
    pub(super) all: Vec<Sample>,
    pub(super) tools: Tools,
    /// The markers that a prompt begins like, and what is left of them behind the prompt.
    pub(super) cut_markers: Vec<(String, String)>,
    /// Why some could not be rendered, with the name of the sample.
    pub(super) refused: Vec<(&'static str, RenderError)>,
}

impl Samples {
    /// Whether the chat template has written anything of what was said.
    pub(super) fn hold_something(&self) -> bool {
        self.all
            .iter()
            .any(|sample| sample.written != Said::default())
    }

    /// Why it has refused the first conversation that it refused.
    pub(super) fn refusal(&self) -> Option<RenderError> {
        self.refused.first().map(|(_, why)| why.clone())
    }
}

/// A sample, and the marker that the prompt has cut, with what is left of it.
type Taken = (Sample, Option<(String, String)>);

/// Renders all samples.
pub(super) fn take(asking: &mut Asking<'_>, openings: &Openings, findings: &Findings) -> Samples {
    let tools = tools();
    let offered = tools.as_array().unwrap_or_default().to_vec();
    let mut samples = Samples {
        all: Vec::new(),
        tools: Tools::from_value(&tools),
        cut_markers: Vec::new(),
        refused: Vec::new(),
    };
    asking.offer(offered.clone());
    let takes_tools = asking.prompt(Scene::Question, Mode::Unset).is_ok();
    for plan in plans() {
        asking.offer(if plan.tools && takes_tools {
            offered.clone()
        } else {
            Vec::new()
        });
        let modes: &[Mode] = match plan.said.reasoning {
            Some(_) => &[Mode::On, Mode::Unset],
            None => &[Mode::Off, Mode::Unset],
        };
        let mut refusal = None;
        let before = samples.all.len();
        for &mode in modes {
            match sample(asking, openings, findings, &plan, mode) {
                Ok(taken) => {
                    for (sample, cut) in taken {
                        samples.cut_markers.extend(cut);
                        let is_new = samples.all[before..].iter().all(|other: &Sample| {
                            (&other.prefix, &other.output) != (&sample.prefix, &sample.output)
                        });
                        if is_new {
                            samples.all.push(sample);
                        }
                    }
                }
                Err(why) => {
                    refusal.get_or_insert(why);
                }
            }
        }
        if let (Some(why), true) = (refusal, samples.all.len() == before) {
            samples.refused.push((plan.name, why));
        }
    }
    made_up(findings, &mut samples.all);
    samples.cut_markers.sort_unstable();
    samples.cut_markers.dedup();
    samples
}

fn sample(
    asking: &Asking<'_>,
    openings: &Openings,
    findings: &Findings,
    plan: &Plan,
    mode: Mode,
) -> Result<Vec<Taken>, RenderError> {
    let turn = asking.turn(plan.scene, &plan.said, mode)?;
    let full = turn.text();
    let prompt = asking.prompt(plan.scene, mode)?;
    let prompt = prompt.text();
    let make = |prefix: &str, output: &str, thought: Option<&str>, origin: Origin| {
        let output = one_turn(output, &plan.said, &findings.turn);
        let mut said = plan.said.clone();
        if said.reasoning.is_none() {
            said.reasoning = thought.map(str::to_owned);
        }
        Sample {
            name: plan.name,
            prefix: prefix.to_owned(),
            begun: findings.turn.begun(prefix).to_owned(),
            output: output.to_owned(),
            written: written(&said, output),
            said,
            origin,
        }
    };
    if let Some(output) = full.strip_prefix(prompt) {
        return Ok(vec![(make(prompt, output, None, Origin::Rendered), None)]);
    }
    if openings.differ(plan.scene, mode) {
        let body = openings.body(turn.tail(), plan.scene, mode);
        return Ok(vec![(make(prompt, body, None, Origin::Rendered), None)]);
    }
    let shared = shared_characters(prompt, full);
    if shared < turn.start {
        // Even what comes before the turn is written otherwise in a prompt.
        return Ok(vec![(
            make(prompt, turn.tail(), None, Origin::Rendered),
            None,
        )]);
    }
    let start = turn.start.min(shared);
    let seam = start + markers::boundary(&full[start..], shared - start);
    let rest = &prompt[seam..];
    let (open, close) = match &findings.reasoning {
        Some(shape) => (
            shape.open.as_deref().unwrap_or_default().trim(),
            shape.close.trim(),
        ),
        None => ("", ""),
    };
    // Where thoughts are written, the prompt must not have closed them.
    let thinks = plan
        .said
        .reasoning
        .as_ref()
        .is_some_and(|thought| full[seam..].contains(thought.as_str()));
    let at = |from: usize, origin| {
        if !open.is_empty() && rest.contains(open) && !rest.contains(close) {
            // The prompt begins to think, and history leaves it out.
            let thinks = format!("{THOUGHT}\n{close}\n\n{}", &full[from..]);
            make(prompt, &thinks, Some(THOUGHT), origin)
        } else if !close.is_empty() && rest.contains(close) && !thinks {
            make(prompt, &full[from..], None, origin)
        } else {
            make(&full[..from], &full[from..], None, origin)
        }
    };
    let mut samples = vec![(at(seam, Origin::Rendered), None)];
    let piece = markers::pieces(&full[seam..]).into_iter().next();
    if let Some(marker) = piece.filter(|piece| seam < shared && markers::is_marker(piece)) {
        let cut = (marker.to_owned(), marker[shared - seam..].to_owned());
        samples.push((at(shared, Origin::Cut), Some(cut)));
    }
    Ok(samples)
}

/// Puts texts together with reasoning and calls that the chat template never writes.
fn made_up(findings: &Findings, samples: &mut Vec<Sample>) {
    let thinks = samples
        .iter()
        .any(|sample| sample.written.reasoning.is_some());
    let answers = samples
        .iter()
        .find(|sample| sample.said == Said::content(ANSWER));
    let Some(answer) = answers
        .filter(|sample| sample.origin == Origin::Rendered)
        .cloned()
    else {
        return;
    };
    let mut make = |name, lead: &str, said: Said| {
        let output = match said.content {
            Some(_) => format!("{lead}{}", answer.output),
            None => answer.output.replacen(ANSWER, lead, 1),
        };
        samples.push(Sample {
            name,
            prefix: answer.prefix.clone(),
            begun: answer.begun.clone(),
            output,
            written: said.clone(),
            said,
            origin: Origin::MadeUp,
        });
    };
    let thought = match &findings.reasoning {
        Some(shape) if !thinks && shape.open.is_some() => {
            let open = shape.open.as_deref().unwrap_or_default();
            format!("{open}\n{THOUGHT}\n{}\n\n", shape.close)
        }
        _ => String::new(),
    };
    if !thought.is_empty() && !answer.prefix.ends_with(&thought) {
        let said = Said::content(ANSWER).reasoning(THOUGHT);
        make("a thought and an answer, made up", &thought, said);
    }
    let Some(call) = findings.calls.as_ref().and_then(written_call) else {
        return;
    };
    make("a call, made up", &call, Said::calls([tide()]));
}

/// A call as findings have it, if it was never seen.
fn written_call(shape: &CallShape) -> Option<String> {
    let (keys, list) = match &shape.body {
        CallBody::Object(keys, _) => (keys, false),
        CallBody::Array(keys, _) => (keys, true),
        _ => return None,
    };
    if shape.certainty == Certainty::Seen {
        return None;
    }
    let tide = tide();
    let mut call = Object::new();
    call.insert(keys.name.first()?.as_str(), tide.name);
    call.insert(keys.arguments.first()?.as_str(), tide.arguments);
    let call = json::write(&call.into());
    let call = if list { format!("[{call}]") } else { call };
    let open: String = shape
        .open
        .iter()
        .filter_map(|slot| match slot {
            Slot::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    Some(format!("{open}\n{call}\n{}", slotted(&shape.close)))
}

/// The output up to the end of the turn: some templates go on with what comes next.
fn one_turn<'a>(output: &'a str, said: &Said, turn: &TurnShape) -> &'a str {
    let texts = said
        .reasoning
        .iter()
        .chain(&said.content)
        .map(|text| text.trim());
    let names = said.calls.iter().map(|called| called.name.as_str());
    let last = texts
        .chain(names)
        .filter_map(|text| Some(output.rfind(text)? + text.len()))
        .max();
    let Some(last) = last else {
        return output;
    };
    let end = turn
        .ends
        .iter()
        .filter_map(|end| Some(last + output[last..].find(end.as_str())? + end.len()));
    let Some(end) = end.min() else {
        return output;
    };
    // Further markers and white space may belong to the end; words don't, nor what begins a turn.
    let rest = &output[end..];
    let goes_on = turn
        .headers
        .iter()
        .any(|header| rest.contains(header.trim()));
    let pieces = markers::pieces(rest);
    let belongs = |piece: &&str| markers::is_marker(piece) || piece.trim().is_empty();
    match pieces.iter().all(belongs) && !goes_on {
        true => output,
        false => &output[..end],
    }
}

/// How many bytes of two texts are the same from their beginnings.
fn shared_characters(a: &str, b: &str) -> usize {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b);
    same.map(|(a, _)| a.len_utf8()).sum()
}

/// What of a message comes out in a text.
fn written(said: &Said, output: &str) -> Said {
    let holds = |text: &&String| output.contains(text.trim());
    Said {
        reasoning: said.reasoning.as_ref().filter(holds).cloned(),
        content: said.content.as_ref().filter(holds).cloned(),
        calls: said
            .calls
            .iter()
            .filter(|called| is_called(called, output))
            .cloned()
            .collect(),
    }
}

/// Whether a call's name and all words of its arguments are in a text.
fn is_called(called: &Called, output: &str) -> bool {
    let mut words = vec![called.name.clone()];
    for (key, value) in called.arguments.iter() {
        words.push(key.to_string_lossy().into_owned());
        if let Some(text) = value.as_str() {
            let pieces = text.split(|c: char| !c.is_ascii_alphanumeric());
            words.extend(pieces.filter(|word| word.len() > 3).map(str::to_owned));
        }
    }
    words.iter().all(|word| output.contains(word.as_str()))
}
