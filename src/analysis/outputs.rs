//! What outputs of the model show that its chat template never renders.
//!
//! An output whose message is known is a rendering of other words: where these stand is where a probe's
//! words would stand. Where no message is given, what stands in JSON behind a marker is taken for a call
//! if it looks like one.

use std::ops::Range;

use crate::chat_template::REASONING_KEYS;
use crate::format::Dialect;
use crate::value::{Object, Value};

use super::assistant_turn::{AssistantTurn, ToolCall};
use super::call_probe::CallWords;
use super::call_renderings::CallRenderings;
use super::reasoning_inference::ReasoningMarkers;
use super::turn_prober::TurnProber;
use crate::markers::{self, closing_marker, first_piece, is_marker, is_pair, pieces, thinks};

/// An output of a model, as evidence of how it writes its turns.
///
/// ```
/// use unjinja::derive::ModelOutput;
///
/// let line = r#"{"output": "<think>Hm.</think>Yes.", "message": {"thinking": "Hm.", "content": "Yes."}}"#;
/// let output = ModelOutput::from_value(&line.parse()?)?;
/// assert_eq!(output, {
///     let mut same = ModelOutput::new("<think>Hm.</think>Yes.");
///     same.message = output.message.clone();
///     same
/// });
/// assert!(output.message.is_some() && output.prefix.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ModelOutput {
    /// What the model has written.
    pub text: String,
    /// The prompt, if it is known.
    pub prefix: Option<String>,
    /// The message that the output means, if it is known.
    pub message: Option<Object>,
    /// The tools that were offered, a list as chat templates take it.
    pub tools: Option<Value>,
    /// Whether the model had no room for more: a call that the end cuts off is no fault then.
    pub is_cut_off: bool,
}

impl ModelOutput {
    /// An output of which nothing else is known.
    pub fn new(text: impl Into<String>) -> ModelOutput {
        ModelOutput {
            text: text.into(),
            prefix: None,
            message: None,
            tools: None,
            is_cut_off: false,
        }
    }

    /// Reads an object with the `output` (or `text`), and where they are known the `prefix`, the `message`,
    /// the `tools` and the `finish_reason`, which is `length` where the model had no room for more. Other
    /// keys do not matter.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in words.
    pub fn from_value(value: &Value) -> Result<ModelOutput, String> {
        let text = |key: &str| match value.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(text) => match text.as_str() {
                Some(text) => Ok(Some(text.to_owned())),
                None => Err(format!("`{key}` is {}, not a text", text.type_name())),
            },
        };
        let Some(output) = text("output")?.map_or_else(|| text("text"), |text| Ok(Some(text)))?
        else {
            return Err("there is no `output`: write the text of the model under it".to_owned());
        };
        let message = match value.get("message") {
            None | Some(Value::Null) => None,
            Some(Value::Object(message)) => Some(message.clone()),
            Some(other) => {
                return Err(format!("`message` is {}, not an object", other.type_name()));
            }
        };
        Ok(ModelOutput {
            text: output,
            prefix: text("prefix")?,
            message,
            tools: value.get("tools").filter(|tools| !tools.is_null()).cloned(),
            is_cut_off: text("finish_reason")?.as_deref() == Some("length"),
        })
    }

    /// What was said, if that is known. Reasoning stands in a field of this name, or of one that chat
    /// templates read.
    pub(crate) fn said(&self, reasoning_field: &str) -> Option<AssistantTurn> {
        let message = self.message.as_ref()?;
        let mut fields = vec![reasoning_field];
        fields.extend(REASONING_KEYS);
        Some(AssistantTurn::from_message(message, &fields))
    }
}

/// The markers of reasoning in outputs: what stands around a thought that is known; or a pair of markers
/// with such a name, of which the first begins the output or ends the prompt.
pub(super) fn reasoning(
    prober: &TurnProber<'_>,
    outputs: &[ModelOutput],
) -> Option<ReasoningMarkers> {
    outputs.iter().find_map(|output| {
        let text = prober.marked(&output.text);
        let prefix = prober.marked(output.prefix.as_deref().unwrap_or_default());
        let said = output.said("thinking");
        if let Some(thought) = said.as_ref().and_then(|said| said.reasoning.as_deref()) {
            let (before, after) = text.split_once(thought.trim())?;
            let open = last_marker(before).or_else(|| match before.trim().is_empty() {
                // `<bot>` may be all that a prompt ends with: only its name tells `<think>` from a header.
                true => last_marker(&prefix).filter(|marker| thinks(marker)),
                false => None,
            });
            return Some(ReasoningMarkers {
                open: open.map(str::to_owned),
                close: Some(closing_marker(after)?),
            });
        }
        // A thought that is known to be none is none.
        let first = first_piece(text.trim_start())?;
        let open = [Some(first), last_marker(&prefix)];
        // Behind the prompt's `<think>` the output begins with the thought itself.
        let mut opens = open.into_iter().flatten();
        let open = opens.find(|open| said.is_none() && is_marker(open) && thinks(open))?;
        let close = markers::markers(&text).find(|close| is_pair(open, close))?;
        Some(ReasoningMarkers::both(open, close))
    })
}

/// The marker that a text ends with.
fn last_marker(text: &str) -> Option<&str> {
    let last = pieces(text.trim_end()).last()?;
    is_marker(last).then_some(last)
}

/// The calls in outputs, with the words of probes in place of their own.
pub(super) fn calls<'a, 't>(
    prober: &TurnProber<'_>,
    outputs: &[ModelOutput],
) -> Option<CallRenderings<'a, 't>> {
    let words = CallWords::new(prober);
    let turns = outputs.iter().filter_map(|output| {
        let text = prober.marked(&output.text);
        match output.said("thinking") {
            Some(said) => {
                let said_before = [&said.reasoning, &said.content];
                // A text may name the tool before it is called: the call is looked for behind what is said.
                let ends = said_before.into_iter().flatten().filter_map(|said| {
                    let said = said.trim();
                    Some(text.find(said)? + said.len())
                });
                let start = ends.max().unwrap_or(0);
                in_words(&text[start..], &said.calls, &words)
            }
            None => {
                let (start, calls) = calls_that_show(&text)?;
                in_words(&text[start..], &calls, &words)
            }
        }
    });
    let (mut one, mut two) = (None, None);
    for (count, text) in turns {
        match count {
            1 => one.get_or_insert(text),
            _ => two.get_or_insert(text),
        };
    }
    Some(CallRenderings::of_texts(prober, words, one?, two))
}

/// A text with the words of probes in place of those of its calls, of which there are one or two; and how
/// many there are.
fn in_words(text: &str, calls: &[ToolCall], words: &CallWords) -> Option<(usize, String)> {
    // Probes have words for two calls.
    if !matches!(calls.len(), 1 | 2) {
        return None;
    }
    let mut out = String::new();
    let mut rest = text;
    for (index, call) in calls.iter().enumerate() {
        let (name, key, value) = (
            &words.names[index],
            &words.keys[index],
            &words.values[index],
        );
        let (arguments, written) = match arguments_range(rest, call) {
            // Arguments in JSON may be any: all of them are replaced at once.
            Some(range) => (range, words.string_argument(index)),
            None => raw_argument(rest, call, key, value)?,
        };
        let before = &rest[..arguments.start];
        match before.rfind(&call.name) {
            Some(at) => {
                let after = &before[at + call.name.len()..];
                out.push_str(&format!("{}{name}{after}{written}", &before[..at]));
                rest = &rest[arguments.end..];
            }
            // The name may stand behind the arguments: `{...}@f`.
            None => {
                let after = &rest[arguments.end..];
                let at = after.find(&call.name)?;
                out.push_str(&format!("{before}{written}{}{name}", &after[..at]));
                rest = &after[at + call.name.len()..];
            }
        }
    }
    // What closes a call may name it once more.
    let mut rest = rest.to_owned();
    for (call, name) in calls.iter().zip(&words.names) {
        rest = rest.replace(&call.name, name);
    }
    Some((calls.len(), out + &rest))
}

/// Where the arguments of a call stand as a JSON object.
fn arguments_range(text: &str, call: &ToolCall) -> Option<Range<usize>> {
    let starts = text.match_indices('{').take(MAX_STARTS);
    let arguments = Value::from(call.arguments.clone());
    let mut ranges = starts.filter_map(|(start, _)| {
        let (value, length) = Dialect::default().read_start(&text[start..])?;
        // An example of JSON in the text before holds other values.
        (value == arguments).then_some(start..start + length)
    });
    ranges.next()
}

/// Where the one argument of a call stands, from its key to its value, and how it is written with other
/// words.
fn raw_argument(
    text: &str,
    call: &ToolCall,
    key: &str,
    value: &str,
) -> Option<(Range<usize>, String)> {
    let mut arguments = call.arguments.iter();
    // Of several values that are no JSON it is not known where one ends and the next key begins.
    let (Some((own_key, own_value)), None) = (arguments.next(), arguments.next()) else {
        return None;
    };
    let (own_key, own_value) = (own_key.to_string_lossy(), own_value.as_str()?);
    let from = text.find(&call.name)? + call.name.len();
    let start = from + text[from..].find(&*own_key)?;
    let behind_key = start + own_key.len();
    let at = behind_key + text[behind_key..].find(own_value)?;
    let written = format!("{key}{}{value}", &text[behind_key..at]);
    Some((start..at + own_value.len(), written))
}

/// So many places in an output are looked at where something in JSON may begin.
const MAX_STARTS: usize = 64;

/// Calls that stand in JSON behind markers, and where the markers begin.
fn calls_that_show(text: &str) -> Option<(usize, Vec<ToolCall>)> {
    let starts = text.match_indices(['{', '[']).take(MAX_STARTS);
    starts
        .filter_map(|(start, _)| {
            let (value, _) = Dialect::default().read_start(&text[start..])?;
            let before = without_markers(&text[..start]);
            let whole = match &value {
                Value::Array(calls) => calls.iter().map(whole_call).collect(),
                call => whole_call(call).map(|call| vec![call]),
            };
            if let Some(calls) = whole.filter(|calls: &Vec<ToolCall>| !calls.is_empty()) {
                // `Write {"name": "f", "arguments": {}} so.` is an example, and no call.
                let has_marker = !text[before.len()..start].trim().is_empty();
                return has_marker.then_some((before.len(), calls));
            }
            // The name may stand before the arguments, with a marker before it.
            let is_of_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
            let behind_marker = before.trim_end_matches(is_of_name);
            let name = &before[behind_marker.len()..];
            let lead = without_markers(behind_marker);
            let has_marker = !behind_marker[lead.len()..].trim().is_empty();
            let arguments = value
                .as_object()
                .filter(|_| has_marker && !name.is_empty())?;
            let call = ToolCall::new(name, pairs(arguments));
            Some((lead.len(), vec![call]))
        })
        .next()
}

/// A text without the markers at its end, and the white space around them.
fn without_markers(text: &str) -> &str {
    let belongs = |piece: &&&str| is_marker(piece) || piece.trim().is_empty();
    let pieces: Vec<&str> = pieces(text).collect();
    let markers = pieces.iter().rev().take_while(belongs);
    let length: usize = markers.map(|piece| piece.len()).sum();
    &text[..text.len() - length]
}

fn pairs(arguments: &Object) -> impl Iterator<Item = (String, Value)> {
    let arguments = arguments.iter();
    arguments.map(|(key, value)| (key.to_string_lossy().into_owned(), value.clone()))
}

/// A call that is an object with a name and arguments.
fn whole_call(value: &Value) -> Option<ToolCall> {
    let object = value.as_object()?;
    let under = |words: &[&str]| {
        let mut pairs = object.iter();
        let found = pairs.find(|(key, _)| {
            let key = key.to_string_lossy();
            words.iter().any(|word| key.contains(word))
        });
        found.map(|(_, value)| value)
    };
    let name = under(&["name"])?.as_str()?;
    // `arguments`, `parameters`, `tool_input`: formats have names of their own for them.
    let arguments = under(&["arg", "param", "input"])?.as_object()?;
    Some(ToolCall::new(name, pairs(arguments)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::{asked, template, words};

    fn call(name: &str, arguments: &str) -> ToolCall {
        let arguments: Value = arguments.parse().expect("it is JSON");
        ToolCall::new(name, pairs(arguments.as_object().expect("it is an object")))
    }

    #[test]
    fn an_output_is_under_its_key_and_what_is_wrong_is_told() {
        for (value, expected) in [
            (r#"{"output": "a"}"#, Ok("a")),
            (r#"{"text": "a", "prefix": null, "id": 7}"#, Ok("a")),
            (r#"{"output": "a", "text": "b"}"#, Ok("a")),
            (
                r#"{"prefix": "a"}"#,
                Err("there is no `output`: write the text of the model under it"),
            ),
            (r#"{"output": 7}"#, Err("`output` is a number, not a text")),
            (
                r#"{"output": "a", "prefix": []}"#,
                Err("`prefix` is an array, not a text"),
            ),
            (
                r#"{"output": "a", "message": "b"}"#,
                Err("`message` is a string, not an object"),
            ),
        ] {
            let found = ModelOutput::from_value(&value.parse().expect("it is JSON"));
            let found = found.as_ref().map(|output| output.text.as_str());
            assert_eq!(found.map_err(String::as_str), expected, "{value}");
        }
    }

    #[test]
    fn the_words_of_probes_stand_in_place_of_those_of_calls() {
        let (f, g) = (call("f", r#"{"a": 1}"#), call("g", r#"{"b": "x"}"#));
        for (text, calls, expected) in [
            (
                r#"<do>f{"a":1}</do>"#,
                &[&f][..],
                Some(r#"<do>fa{"ka": "va"}</do>"#),
            ),
            // The name may stand behind, and once more where the call is closed.
            (r#"{"a": 1}@f"#, &[&f], Some(r#"{"ka": "va"}@fa"#)),
            ("<g b=x></g>", &[&g], Some("<fa ka=va></fa>")),
            (
                r#"f{"a":1}g{"b": "x"}"#,
                &[&f, &g],
                Some(r#"fa{"ka": "va"}fb{"kb": "vb"}"#),
            ),
            // An example of JSON before it holds other values.
            (
                r#"{"a": 2}f{"a": 1}"#,
                &[&f],
                Some(r#"{"a": 2}fa{"ka": "va"}"#),
            ),
            (r#"f{"a": 2}"#, &[&f], None),
            (r#"{"a": 1}"#, &[&f], None),
            ("no call", &[], None),
            (r#"f{"a":1}f{"a":1}f{"a":1}"#, &[&f, &f, &f], None),
        ] {
            let calls: Vec<ToolCall> = calls.iter().map(|call| (*call).clone()).collect();
            let found = in_words(text, &calls, &words());
            let found = found.as_ref().map(|(count, text)| {
                assert_eq!(*count, calls.len());
                text.as_str()
            });
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn json_behind_a_marker_is_a_call_if_it_looks_like_one() {
        for (text, expected) in [
            (
                r#"So.<do>{"name": "f", "arguments": {"a": 1}}"#,
                Some((3, r#"f{"a":1}"#)),
            ),
            (
                r#"<do>[{"tool_name": "f", "tool_input": {}}]"#,
                Some((0, "f{}")),
            ),
            (
                r#"<do>[{"name": "f", "args": {}}, {"name": "g", "args": {}}]"#,
                Some((0, "f{} g{}")),
            ),
            // The name may stand before the arguments, with a marker before it.
            (r#"So.<do>f.g-h{"a": 1}"#, Some((3, r#"f.g-h{"a":1}"#))),
            // An example in a text is no call, nor is what has no name.
            (r#"Write {"name": "f", "arguments": {}} so."#, None),
            (r#"Write f{"a": 1} so."#, None),
            (r#"<do>{"a": 1}"#, None),
            ("<do>[]", None),
            ("<do>", None),
        ] {
            let found = calls_that_show(text).map(|(start, calls)| {
                let calls = calls.into_iter();
                let calls =
                    calls.map(|call| call.name + &crate::json::write(&call.arguments.into()));
                (start, calls.collect::<Vec<_>>().join(" "))
            });
            let found = found
                .as_ref()
                .map(|(start, calls)| (*start, calls.as_str()));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn reasoning_shows_by_a_known_thought_or_by_the_name_of_its_markers() {
        let template = template("{{ m.content }}");
        for (output, expected) in [
            (
                r#"{"output": "<think>Hm.</think>Yes."}"#,
                Some(("<think>", "</think>")),
            ),
            (
                r#"{"output": "<m>Hm.</m>Yes.", "message": {"thinking": "Hm.", "content": "Yes."}}"#,
                Some(("<m>", "</m>")),
            ),
            // The prompt may have opened it; of any marker there, only the name tells.
            (
                r#"{"output": "Hm.</think>Yes.", "prefix": "<bot><think>\n"}"#,
                Some(("<think>", "</think>")),
            ),
            (
                r#"{"output": "Hm.</m>Yes.", "prefix": "<bot>", "message": {"thinking": "Hm."}}"#,
                Some(("", "</m>")),
            ),
            (
                r#"{"output": "Hm.</m>Yes.", "prefix": "<think>", "message": {"thinking": "Hm."}}"#,
                Some(("<think>", "</m>")),
            ),
            (r#"{"output": "<m>Hm.</m>Yes."}"#, None),
            (r#"{"output": "So: <think>Hm.</think>Yes."}"#, None),
            // A thought that is known to be none is none.
            (
                r#"{"output": "<think>Hm.</think>Yes.", "message": {"content": "Yes."}}"#,
                None,
            ),
        ] {
            let value = output.parse().expect("it is JSON");
            let outputs = [ModelOutput::from_value(&value).expect("it is an output")];
            let markers = asked(&template, |prober| reasoning(prober, &outputs));
            let found = markers.map(|markers| {
                let text = |marker: Option<String>| marker.unwrap_or_default();
                (text(markers.open), text(markers.close))
            });
            let found = found
                .as_ref()
                .map(|(open, close)| (open.as_str(), close.as_str()));
            assert_eq!(found, expected, "{output}");
        }
    }
}
