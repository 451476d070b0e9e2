//! Messages and tools, out of what stands in the slots of a conversation.

use std::collections::VecDeque;
use std::ops::Range;

use crate::analysis::ConversationShape;
use crate::analysis::assistant_turn::{AssistantTurn, ToolCall};
use crate::analysis::input_form::{IdShape, InputForm};
use crate::analysis::probe::{message, result, with};
use crate::format::{ConversationFormat, ConversationSlot, Slot, unescaped};
use crate::value::{Object, Value};

use super::arguments::{ReadCall, Writings};
use super::path::{Path, Stop};

/// What a conversation may have been made of, where its text leaves that open.
#[derive(Debug, Clone, Copy)]
pub(super) struct Variation {
    pub(super) form: InputForm,
    /// Whether a system's message that stands later in the text was the first.
    pub(super) system_first: bool,
    /// Whether definitions stand under `function`.
    pub(super) wraps_tools: bool,
    /// Whether ids that the text does not show are counted anew in each message.
    pub(super) counts_anew: bool,
}

impl Variation {
    /// The most common one.
    pub(super) fn usual(shape: &ConversationShape) -> Variation {
        Variation {
            form: shape.form,
            system_first: true,
            wraps_tools: true,
            counts_anew: false,
        }
    }
}

/// What a conversation was made of.
#[derive(Debug, Clone, Default)]
pub(super) struct Made {
    pub(super) messages: Vec<Value>,
    pub(super) tools: Vec<Value>,
    /// For each slot, the number of its message.
    pub(super) numbers: Vec<Option<usize>>,
    /// What the text leaves open of the tools, in words.
    pub(super) unsure: Vec<String>,
}

/// A message on the way to be one.
#[derive(Debug, Clone)]
struct Draft {
    says: Says,
    /// The slots that it consists of.
    stops: Range<usize>,
}

#[derive(Debug, Clone)]
enum Says {
    Text(&'static str, String),
    Assistant(AssistantTurn, Vec<Shown>),
    Result {
        id: Option<String>,
        name: Option<String>,
        text: String,
    },
}

/// What else the text shows of a call.
#[derive(Debug, Clone)]
struct Shown {
    id: Option<String>,
    /// The arguments as they are written, if that is JSON.
    arguments: Option<String>,
}

/// Tools of which all may be written more than once, as with every question.
fn once(mut tools: Vec<Value>) -> Vec<Value> {
    let count = tools.len();
    let repeats = |length: &usize| {
        count.is_multiple_of(*length)
            && tools
                .chunks(*length)
                .all(|chunk| *chunk == tools[..*length])
    };
    let length = (1..=count).find(repeats);
    tools.truncate(length.unwrap_or(0));
    tools
}

/// Messages and tools out of a path. `None` if calls can't be read.
pub(super) fn make(
    shape: &ConversationShape,
    path: &Path<'_>,
    text: &str,
    variation: Variation,
) -> Option<Made> {
    let (mut tools, mut unsure) = (Vec::new(), Vec::new());
    for stop in &path.stops {
        tools.extend(definitions(
            &shape.format,
            stop,
            text,
            variation.wraps_tools,
        ));
        if let (ConversationSlot::ToolText, Some(wording)) = (stop.slot, &shape.format.wording)
            && let Some((read, open)) = wording.read(&text[stop.range.clone()])
        {
            tools.extend(read);
            unsure.extend(open);
        }
    }
    let tools = once(tools);
    let writings = Writings::of(shape.format.turn.calls.as_ref());
    let mut drafts: Vec<Draft> = Vec::new();
    for (number, stop) in path.stops.iter().enumerate() {
        let said = &text[stop.range.clone()];
        let says = match stop.slot {
            ConversationSlot::Tool | ConversationSlot::ToolList | ConversationSlot::ToolText => {
                continue;
            }
            ConversationSlot::System => Says::Text("system", said.to_owned()),
            ConversationSlot::User => Says::Text("user", said.to_owned()),
            ConversationSlot::Result => Says::Result {
                id: stop.id.or(stop.id_behind).map(str::to_owned),
                name: stop.name.map(str::to_owned),
                text: plain(said, shape.format.escapes_results),
            },
            slot => {
                let calls = match slot {
                    // Calls that are still being written are not known.
                    ConversationSlot::Calls if stop.calls.is_empty() => Vec::new(),
                    ConversationSlot::Calls => writings.calls(&stop.calls, &tools)?,
                    _ => Vec::new(),
                };
                let goes_on = stop.is_within
                    && matches!(
                        drafts.last(),
                        Some(Draft {
                            says: Says::Assistant(..),
                            ..
                        })
                    );
                if !goes_on {
                    drafts.push(Draft {
                        says: Says::Assistant(AssistantTurn::default(), Vec::new()),
                        stops: number..number,
                    });
                }
                if let Some(draft) = drafts.last_mut() {
                    draft.stops.end = number + 1;
                    if let Says::Assistant(turn, shown) = &mut draft.says {
                        let strings = &shape.format.turn.json_strings;
                        let of_turn = match slot {
                            ConversationSlot::Reasoning => Some(Slot::Reasoning),
                            ConversationSlot::Content => Some(Slot::Content),
                            _ => None,
                        };
                        let said = plain(said, of_turn.is_some_and(|slot| strings.contains(&slot)));
                        add(turn, shown, slot, said, calls);
                    }
                }
                continue;
            }
        };
        drafts.push(Draft {
            says,
            stops: number..number + 1,
        });
    }
    if variation.system_first {
        // The others keep their order.
        drafts.sort_by_key(|draft| !matches!(draft.says, Says::Text("system", _)));
    }
    let mut numbers = vec![None; path.stops.len()];
    for (number, draft) in drafts.iter().enumerate() {
        numbers[draft.stops.clone()].fill(Some(number));
    }
    Some(Made {
        messages: written(shape, drafts, variation),
        tools,
        numbers,
        unsure,
    })
}

/// A text as it was before the template wrote it as a string of JSON, if it does.
fn plain(written: &str, is_json: bool) -> String {
    let text = is_json.then(|| unescaped(written)).flatten();
    text.unwrap_or_else(|| written.to_owned())
}

fn add(
    turn: &mut AssistantTurn,
    shown: &mut Vec<Shown>,
    slot: ConversationSlot,
    said: String,
    calls: Vec<ReadCall>,
) {
    match slot {
        ConversationSlot::Reasoning => turn.reasoning = Some(said),
        ConversationSlot::Content => turn.content = Some(said),
        _ => {
            for call in calls {
                shown.push(Shown {
                    id: call.id,
                    arguments: call.written,
                });
                turn.calls.push(ToolCall {
                    name: call.name,
                    arguments: call.arguments,
                });
            }
        }
    }
}

/// The messages as a template takes them. Ids that the text does not show are synthetic.
fn written(shape: &ConversationShape, mut drafts: Vec<Draft>, variation: Variation) -> Vec<Value> {
    let form = variation.form;
    give_ids(&mut drafts, variation);
    let messages = drafts.into_iter().map(|draft| {
        let message = match draft.says {
            Says::Text(role, text) => message(role, &text),
            Says::Result { id, name, text } => {
                let (id, name) = (id.unwrap_or_default(), name.unwrap_or_default());
                let mut message = result(&id, &name, &text);
                if name.is_empty()
                    && let Value::Object(object) = &mut message
                {
                    object.remove("name");
                }
                message
            }
            Says::Assistant(turn, shown) => assistant(shape, &turn, shown, form),
        };
        shape.setting.in_form(&message)
    });
    messages.collect()
}

fn assistant(
    shape: &ConversationShape,
    turn: &AssistantTurn,
    shown: Vec<Shown>,
    form: InputForm,
) -> Value {
    let mut message = form.message_for_reading(turn, shape.reasoning_key);
    let calls = message
        .as_object_mut()
        .and_then(|message| message.get_mut("tool_calls")?.as_array_mut());
    for (call, shown) in calls.into_iter().flatten().zip(shown) {
        if let Some(id) = shown.id {
            *call = with(std::mem::take(call), "id", id);
        }
        // A text of JSON may have been written in any style.
        let function = call
            .as_object_mut()
            .and_then(|call| call.get_mut("function")?.as_object_mut());
        if let (Some(function), Some(arguments), true) =
            (function, shown.arguments, form.arguments_as_text)
        {
            function.insert("arguments", arguments);
        }
    }
    message
}

/// Gives each call an id, and each result that of the call that it answers, with its name.
fn give_ids(drafts: &mut [Draft], variation: Variation) {
    let form = variation.form;
    let mut known: VecDeque<(usize, usize)> = VecDeque::new();
    let mut count = 0;
    for number in 0..drafts.len() {
        let (before, rest) = drafts.split_at_mut(number);
        match &mut rest[0].says {
            Says::Text(..) => {}
            Says::Assistant(turn, _) => {
                known.clear();
                count = match variation.counts_anew {
                    true => 0,
                    false => count,
                };
                known.extend((0..turn.calls.len()).map(|call| (number, call)));
            }
            Says::Result { id, name, .. } => {
                let fits = |place: &(usize, usize)| {
                    let Says::Assistant(turn, shown) = &before[place.0].says else {
                        return false;
                    };
                    let (call, call_id) = (&turn.calls[place.1], &shown[place.1].id);
                    let same_id = id.is_none() || call_id.is_none() || id == call_id;
                    same_id && name.as_ref().is_none_or(|name| *name == call.name)
                };
                let Some(at) = known.iter().position(fits) else {
                    id.get_or_insert_with(|| made_up(form.id_shape, "", count));
                    count += 1;
                    continue;
                };
                let Some(place) = known.remove(at) else {
                    continue;
                };
                if let Says::Assistant(turn, shown) = &mut before[place.0].says {
                    let call_name = &turn.calls[place.1].name;
                    name.get_or_insert_with(|| call_name.clone());
                    let call_id = shown[place.1].id.get_or_insert_with(|| {
                        count += 1;
                        id.clone()
                            .unwrap_or_else(|| made_up(form.id_shape, call_name, count - 1))
                    });
                    id.get_or_insert_with(|| call_id.clone());
                }
            }
        }
    }
    for draft in drafts {
        if let Says::Assistant(turn, shown) = &mut draft.says {
            if variation.counts_anew {
                count = shown.iter().filter(|shown| shown.id.is_some()).count();
            }
            for (call, shown) in turn.calls.iter().zip(shown) {
                shown.id.get_or_insert_with(|| {
                    count += 1;
                    made_up(form.id_shape, &call.name, count - 1)
                });
            }
        }
    }
}

/// An id of a shape that the template takes.
fn made_up(shape: IdShape, name: &str, number: usize) -> String {
    match shape {
        IdShape::Nine => format!("call{number:05}"),
        IdShape::Prefixed => format!("call_{number:05}"),
        IdShape::Named => format!("functions.{name}:{number}"),
    }
}

/// The definitions that a slot holds.
fn definitions(
    format: &ConversationFormat,
    stop: &Stop<'_>,
    text: &str,
    wraps: bool,
) -> Vec<Value> {
    let is_definition = matches!(
        stop.slot,
        ConversationSlot::Tool | ConversationSlot::ToolList
    );
    if !is_definition {
        return Vec::new();
    }
    let read = format.definitions.read_start(&text[stop.range.clone()]);
    let all = match read.map(|(value, _)| value) {
        Some(Value::Array(items)) => items,
        Some(item) => vec![item],
        None => Vec::new(),
    };
    let all = all.into_iter().map(|item| {
        let item = without_nulls(item);
        let item = match (stop.name, item) {
            (Some(name), Value::Object(rest)) => {
                let mut named = Object::from_iter([("name", Value::from(name))]);
                named.extend(rest);
                named.into()
            }
            (_, item) => item,
        };
        match wraps && item.get("function").is_none() {
            true => {
                Object::from_iter([("type", Value::from("function")), ("function", item)]).into()
            }
            false => item,
        }
    });
    all.collect()
}

/// A definition without the keys that the template has written though it had no value for them.
fn without_nulls(mut item: Value) -> Value {
    if let Value::Object(object) = &mut item {
        object.retain(|_, value| !value.is_null());
    }
    item
}
