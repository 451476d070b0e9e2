//! Where definitions of tools stand in a rendering, and whether they are values there.

use std::ops::Range;

use crate::format::{ConversationSlot, Definitions, Dialect, Node, Unescaped, Wording, json_at};
use crate::markers::{same_end, same_start};
use crate::value::Value;

use super::call_probe::CallWords;
use super::conversations::LabeledConversation;
use super::turn_prober::{ThinkingMode, TurnProber};
use super::wording;

/// How definitions of tools are written, if they are values.
pub(super) fn values(
    prober: &TurnProber<'_>,
    question: &LabeledConversation,
    calls: Option<&Node>,
) -> Option<Definitions> {
    let text = prober.plain(&question.messages)?;
    // `{{ tools }}` prints them as Python does; and a format with quotes of its own for calls may have them here as
    // well.
    let mut known = vec![Dialect::default(), Dialect::python()];
    if let Some(calls) = calls {
        calls.visit(&mut |node| match node {
            Node::Arguments(dialect) | Node::Object(_, dialect) => known.push(dialect.clone()),
            _ => {}
        });
    }
    let mut forms = known.into_iter().flat_map(|dialect| {
        // `"type": "STRING"` is `"string"` in capitals, and nothing is lost.
        [false, true].map(|has_capital_types| Definitions {
            dialect: dialect.clone(),
            has_capital_types,
        })
    });
    forms.find(|form| values_in(&text, 0, form, prober.tools()).is_some())
}

/// How definitions of tools are written in words of the template's own.
pub(super) fn wording(
    prober: &mut TurnProber<'_>,
    question: &LabeledConversation,
    words: &CallWords,
) -> Option<Wording> {
    let text = prober.plain(&question.messages)?;
    let way = (ThinkingMode::Unset, false);
    let (start, end) = tool_text(prober, words, (&text, question), way)?;
    wording::find(prober, &question.messages, (&text[..start], &text[end..]))
}

/// The definitions of tools as values in a text.
pub(super) fn values_in(
    gap: &str,
    offset: usize,
    form: &Definitions,
    tools: &[Value],
) -> Option<Vec<(ConversationSlot, Range<usize>)>> {
    let mut found = Vec::new();
    let mut from = 0;
    for (at, _) in gap.char_indices().filter(|(_, c)| "[{".contains(*c)) {
        if at < from {
            continue;
        }
        let Some((value, length)) = form.read_start(&gap[at..]) else {
            continue;
        };
        let slot = match &value {
            Value::Array(items) => {
                let all = items.len() == tools.len();
                let are = items
                    .iter()
                    .zip(tools)
                    .all(|(item, tool)| defines(item, tool));
                // A list of other things, such as roles, defines no tools.
                (all && are).then_some(ConversationSlot::ToolList)
            }
            item => {
                let tool = tools.get(found.len())?;
                defines(item, tool).then_some(ConversationSlot::Tool)
            }
        };
        let Some(slot) = slot else {
            continue;
        };
        found.push((slot, offset + at..offset + at + length));
        from = at + length;
        if slot == ConversationSlot::ToolList || found.len() == tools.len() {
            return Some(found);
        }
    }
    None
}

/// The part of a text that is another one with other tools. What else stands there is always the same.
pub(super) fn tool_text(
    prober: &mut TurnProber<'_>,
    words: &CallWords,
    (text, script): (&str, &LabeledConversation),
    (mode, is_prompt): (ThinkingMode, bool),
) -> Option<(usize, usize)> {
    let (mut start, mut end) = (text.len(), 0);
    // What differs with other tools is theirs. Each set differs in other places, so all of them together show the
    // whole.
    for tools in words.other_tools() {
        let other = prober.offering(&tools, |prober| {
            prober.conversation(script.messages.clone(), mode, is_prompt)
        });
        if let Ok(other) = other {
            start = start.min(same_start(text, &other));
            end = end.max(text.len() - same_end(text, &other));
        }
    }
    // Words of probes begin alike.
    let word = text[..end].find(words.names[0].as_str())?;
    let start = start.min(word);
    // And what they end with may be alike, too.
    let rest = &text[end..];
    let cut = match text[..end].ends_with(char::is_alphanumeric) {
        true => rest.find(|c: char| !c.is_alphanumeric()),
        false => Some(0),
    };
    let end = end + cut.unwrap_or(rest.len());
    // `{"type": "object", ...}` begins alike for all tools: what is cut amid a value is taken whole.
    let (start, end) = widened(text, (start, end), prober.tools());
    (start < end).then_some((start, end))
}

/// A part of a text, and what stands around it of values in it that are a part of tools.
fn widened(text: &str, part: (usize, usize), tools: &[Value]) -> (usize, usize) {
    let plain = Unescaped::of(text);
    let (mut start, mut end) = part;
    for (at, _) in text[..part.1].match_indices(['{', '[']) {
        let values = [None, Some(&plain)].map(|plain| json_at(text, plain, at));
        for (value, behind) in values.into_iter().flatten() {
            // A value within the part, or apart from it, changes nothing.
            let is_cut = behind > part.0 && (at < part.0 || behind > part.1);
            if is_cut && tools.iter().any(|tool| holds(tool, &value)) {
                start = start.min(at);
                end = end.max(behind);
            }
        }
    }
    (start, end)
}

/// Whether a value is another one, or a part of it.
fn holds(value: &Value, part: &Value) -> bool {
    value == part
        || match value {
            Value::Array(items) => items.iter().any(|item| holds(item, part)),
            Value::Object(entries) => entries.values().any(|entry| holds(entry, part)),
            _ => false,
        }
}

/// Whether a value is the definition of a tool, or what stands in it under `function`, or that without the
/// name, which then stands before it; and what else the template writes.
fn defines(value: &Value, tool: &Value) -> bool {
    let function = |value: &Value| value.get("function").unwrap_or(value).clone();
    let (value, tool) = (function(value), function(tool));
    // `## f` and then `{"parameters": ...}`: the name may stand before.
    let is_named = match value.get("name") {
        None => value.get("parameters").is_some(),
        name => name == tool.get("name"),
    };
    is_named && value.get("parameters") == tool.get("parameters")
}

/// Whether the values that a text is, if it is any, have the descriptions of tools, or none.
pub(super) fn are_described(text: &str, form: &Definitions, tools: &[Value]) -> bool {
    let described = |value: &Value| {
        let function = value.get("function").unwrap_or(value);
        let known = function.get("description");
        // `{"description": "Tool: finds it"}`: a template may make its own text of it, and that can't be undone.
        known.is_none_or(|known| {
            let mut tools = tools.iter();
            tools.any(|tool| tool.pointer("/function/description") == Some(known))
        })
    };
    match form.read_start(text) {
        Some((Value::Array(values), _)) => values.iter().all(described),
        Some((value, _)) => described(&value),
        None => true,
    }
}

/// Whether a text holds the description of one of the tools.
pub(super) fn hold_descriptions(text: &str, tools: &[Value]) -> bool {
    let descriptions = tools
        .iter()
        .filter_map(|tool| tool.pointer("/function/description"));
    let mut descriptions = descriptions.filter_map(Value::as_str);
    descriptions.any(|description| text.contains(description))
}

#[cfg(test)]
mod tests {
    use super::*;

    const F: &str = r#"{"type": "function", "function": {"name": "f", "description": "Finds", "parameters": {"type": "object"}}}"#;
    const G: &str = r#"{"type": "function", "function": {"name": "g", "parameters": {"type": "object", "x": 1}}}"#;

    fn tools() -> Vec<Value> {
        [F, G].map(|tool| tool.parse().expect("it is JSON")).into()
    }

    #[test]
    fn definitions_are_a_list_or_one_value_for_each_tool() {
        let inner = |tool: &str| {
            let tool: Value = tool.parse().expect("it is JSON");
            crate::json::write(tool.get("function").expect("it has one"))
        };
        for (text, expected) in [
            (format!("Tools: [{F}, {G}]."), vec!["[L]"]),
            (format!("{F}\n{G}"), vec!["T", "T"]),
            (format!("{}\n{}", inner(F), inner(G)), vec!["T", "T"]),
            // The name may stand before what else there is.
            (
                "f: {\"parameters\": {\"type\": \"object\"}} g: {\"parameters\": {\"type\": \"object\", \"x\": 1}}"
                    .to_owned(),
                vec!["T", "T"],
            ),
            // A list of other things, such as roles, defines no tools.
            (format!("[\"user\"] {F} {{}} {G}"), vec!["T", "T"]),
            (format!("[{G}, {F}]"), vec![]),
            (format!("[{F}]"), vec![]),
            (F.to_owned(), vec![]),
            ("f, g".to_owned(), vec![]),
        ] {
            let found = values_in(&text, 0, &Definitions::default(), &tools());
            let found = found.unwrap_or_default().into_iter().map(|(slot, range)| {
                assert!(text[range].starts_with(['{', '[']));
                match slot {
                    ConversationSlot::ToolList => "[L]",
                    _ => "T",
                }
            });
            assert_eq!(found.collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn a_value_defines_a_tool_by_its_name_and_its_parameters() {
        let tool: Value = F.parse().expect("it is JSON");
        for (value, expected) in [
            (r#"{"name": "f", "parameters": {"type": "object"}}"#, true),
            (
                r#"{"function": {"name": "f", "parameters": {"type": "object"}, "strict": true}}"#,
                true,
            ),
            (r#"{"parameters": {"type": "object"}}"#, true),
            (r#"{"name": "g", "parameters": {"type": "object"}}"#, false),
            (r#"{"name": "f", "parameters": {}}"#, false),
            (r#"{"name": "f"}"#, false),
            ("{}", false),
            ("7", false),
        ] {
            let value: Value = value.parse().expect("it is JSON");
            assert_eq!(defines(&value, &tool), expected, "{value}");
        }
        // Without parameters, the name alone tells.
        let bare: Value = r#"{"function": {"name": "f"}}"#.parse().expect("it is JSON");
        for (value, expected) in [(r#"{"name": "f"}"#, true), ("{}", false)] {
            let value: Value = value.parse().expect("it is JSON");
            assert_eq!(defines(&value, &bare), expected, "{value}");
        }
    }

    #[test]
    fn descriptions_in_values_are_those_of_tools_or_none() {
        for (text, expected) in [
            (F, true),
            (r#"{"name": "f"}"#, true),
            (r#"[{"name": "f"}, {"description": "Finds"}]"#, true),
            // The template makes its own text of it, and that can't be undone.
            (r#"{"name": "f", "description": "Tool: Finds"}"#, false),
            (r#"[{"name": "f"}, {"description": "finds"}]"#, false),
            ("Finds", true),
        ] {
            let found = are_described(text, &Definitions::default(), &tools());
            assert_eq!(found, expected, "{text}");
        }
        for (text, expected) in [("It Finds.", true), ("It finds.", false), ("", false)] {
            assert_eq!(hold_descriptions(text, &tools()), expected, "{text}");
        }
    }

    #[test]
    fn values_of_tools_that_are_cut_are_taken_whole() {
        // `|` stands where the part begins and ends, `^` where it does then.
        for (text, expected) in [
            (r#"p: {"type": "obj|ect"}|."#, r#"p: ^{"type": "object"}^."#),
            (r#"p: {"type": |"object"|}."#, r#"p: ^{"type": "object"}^."#),
            (
                r#"p: {&#34;type&#34;: |&#34;object&#34;|}."#,
                r#"p: ^{&#34;type&#34;: &#34;object&#34;}^."#,
            ),
            // A value within the part, or apart from it, changes nothing, nor does one of no tool.
            (r#"|p: {"type": "object"}.|"#, r#"^p: {"type": "object"}.^"#),
            (r#"{"type": "object"} |p|."#, r#"{"type": "object"} ^p^."#),
            (r#"p: {"kind": |"object"|}."#, r#"p: {"kind": ^"object"^}."#),
        ] {
            let mut parts = text.split('|');
            let mut part = || parts.next().expect("there are three");
            let (before, within, after) = (part(), part(), part());
            let whole = format!("{before}{within}{after}");
            let part = (before.len(), before.len() + within.len());
            let (start, end) = widened(&whole, part, &tools());
            let found = format!(
                "{}^{}^{}",
                &whole[..start],
                &whole[start..end],
                &whole[end..]
            );
            assert_eq!(found, expected, "{text}");
        }
    }
}
