//! Literals between which the assistant's turns lie, for trainers that look for turns by themselves.

use std::ops::Range;

use crate::analysis::conversations::conversations;
use crate::analysis::{TurnShape, analyze};
use crate::budget::Budget;
use crate::chat_template::{ChatTemplate, RenderInput};
use crate::value::{Object, Value};

use super::mask::{Covered, Marking, MaskError};
use super::spans::{HeaderSide, MaskPolicy};

/// So many characters a literal may have in front of what the model writes: a header, and what a prompt goes on with.
const MAX_START: usize = 200;

/// The literals between which turns of one role lie.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoleBoundary {
    /// The role.
    pub role: String,
    /// What stands before the model's text, or what it begins with.
    pub start: String,
    /// Whether the model writes that, too.
    pub include_start: bool,
    /// What the model's text ends with.
    pub end: String,
}

impl RoleBoundary {
    /// For programs: an object of the `role`, the `start` and the `end`, and of `include_start` if the model writes the start, too.
    pub fn to_value(&self) -> Value {
        let entries = [
            ("role", &self.role),
            ("start", &self.start),
            ("end", &self.end),
        ];
        let mut object: Object = entries.into_iter().collect();
        if self.include_start {
            object.insert("include_start", true);
        }
        object.into()
    }
}

/// The literals between which the assistant's turns lie, as axolotl's `role_boundaries` take them. What lies between them has to be
/// what a [`Marking`] marks, in all conversations that are rendered for the purpose.
///
/// ```
/// use unjinja::chat_template::{ChatTemplate, RenderInput};
/// use unjinja::conversation::role_boundaries;
///
/// let template = ChatTemplate::from_jinja(
///     "{% for m in messages %}{{ '<' + m.role + '>' + m.content + '<end>' }}{% endfor %}\
///      {% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}",
/// );
/// let boundaries = role_boundaries(&template, &RenderInput::default())?;
/// let [assistant] = boundaries.as_slice() else { unreachable!() };
/// assert_eq!((assistant.start.as_str(), assistant.end.as_str()), ("<assistant>", "<end>"));
/// # Ok::<(), unjinja::conversation::MaskError>(())
/// ```
///
/// # Errors
///
/// If there is no [marking](Marking::of), or if no two literals tell a turn: as where a turn ends with one marker or another.
pub fn role_boundaries(
    template: &ChatTemplate,
    base: &RenderInput,
) -> Result<Vec<RoleBoundary>, MaskError> {
    let policy = MaskPolicy {
        header: HeaderSide::Out,
        ..MaskPolicy::default()
    };
    let prepared = template.prepare_within(&Budget::of_question());
    let marking = Marking::within(template, &prepared, base, policy)?;
    let analysis = analyze(template, &prepared, base, &[])?;
    let renderer = marking.marked().renderer()?.within(prepared.budget());
    let inputs = conversations(&analysis.prober).into_iter();
    let renderings = inputs.filter_map(|conversation| {
        let rendering = renderer.render_short(&conversation.input).ok()?;
        Some((Covered::of(&rendering), rendering.text))
    });
    let renderings: Vec<(Covered, String)> = renderings.collect();
    let mut boundaries = Vec::new();
    for (covered, text) in &renderings {
        learn(&mut boundaries, &analysis.findings.turn, covered, text)
            .map_err(MaskError::NoBoundaries)?;
    }
    if boundaries.is_empty() {
        let why = "no turn has a header, and a marker that ends it";
        return Err(MaskError::NoBoundaries(why.to_owned()));
    }
    for (covered, text) in &renderings {
        let between = Covered(between(&boundaries, text));
        let (found, expected) = (between.places(text), covered.places(text));
        if found != expected {
            let same = found
                .iter()
                .zip(&expected)
                .take_while(|(one, other)| one == other);
            let at = same.count();
            let places = [found.get(at), expected.get(at)].into_iter().flatten();
            let at = places.min().copied().unwrap_or(text.len());
            return Err(MaskError::NoBoundaries(format!(
                "they would miss what a turn is behind {:?}",
                tail(&text[..at])
            )));
        }
    }
    Ok(boundaries)
}

/// Adds the literals around what the model has written of a text.
fn learn(
    boundaries: &mut Vec<RoleBoundary>,
    turn: &TurnShape,
    covered: &Covered,
    text: &str,
) -> Result<(), String> {
    let mut before = 0;
    for span in &covered.0 {
        let lead = &text[before..span.start];
        before = span.end;
        let written = text[span.clone()].trim_end();
        // A turn that goes on, or that nothing ends, is behind the same header as others.
        let ends = turn.ends.iter().map(|end| end.trim());
        let Some(end) = ends
            .filter(|end| !end.is_empty() && written.ends_with(end))
            .max_by_key(|end| end.len())
        else {
            continue;
        };
        let headers = turn.headers.iter().map(|header| header.trim_end());
        let headers = headers.filter(|header| !header.is_empty());
        // Some chat templates write a header where their prompts have none: then it is the model's.
        let own = headers
            .clone()
            .filter(|header| written.trim_start().starts_with(header))
            .max_by_key(|header| header.len());
        let place = headers.filter_map(|header| lead.rfind(header)).max();
        let start = own.or_else(|| Some(&lead[place?..]));
        let start = start.filter(|start| start.chars().count() <= MAX_START);
        let Some(start) = start else {
            return Err(format!("no header stands behind {:?}", tail(lead)));
        };
        match boundaries.iter().find(|known| known.start == start) {
            Some(known) if known.end != end => {
                return Err(format!(
                    "turns behind {start:?} end with {:?} and with {end:?}",
                    known.end
                ));
            }
            Some(_) => {}
            None => boundaries.push(RoleBoundary {
                role: "assistant".to_owned(),
                start: start.to_owned(),
                include_start: own.is_some(),
                end: end.to_owned(),
            }),
        }
    }
    Ok(())
}

/// What lies between boundaries, and the end that closes it. Where several begin, the longest counts; without an end, it goes on to that
/// of the text.
fn between(boundaries: &[RoleBoundary], text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..) {
        let places = boundaries
            .iter()
            .filter_map(|boundary| Some((rest.find(boundary.start.as_str())?, boundary)));
        let next = places
            .min_by_key(|(place, boundary)| (*place, std::cmp::Reverse(boundary.start.len())));
        let Some((place, boundary)) = next else {
            break;
        };
        let behind = at + place + boundary.start.len();
        let start = match boundary.include_start {
            true => at + place,
            false => behind,
        };
        let end = text[behind..].find(boundary.end.as_str());
        at = end.map_or(text.len(), |end| behind + end + boundary.end.len());
        found.push(start..at);
        if end.is_none() {
            break;
        }
    }
    found
}

/// The last of a text, for messages.
fn tail(text: &str) -> &str {
    let mut places = text.char_indices().rev().map(|(at, _)| at);
    text.get(places.nth(39).unwrap_or(0)..).unwrap_or(text)
}
