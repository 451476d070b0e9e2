//! What instructions and special tokens say of what is never rendered.

use std::collections::HashSet;

use crate::format::{Dialect, Entry, Node, Row, Slot};
use crate::value::Value;

use super::call_shape::{CallShape, array_of, calls_of};
use super::certainty::Certainty;
use super::delimiters::Delimiters;
use super::probe::message;
use super::turn_prober::{PrecedingMessages, RenderedTurn, ThinkingMode, TurnProber};
use crate::markers::{self, core, is_pair, thinks};

/// Reasoning as instructions describe it: its markers, and other pairs of markers beside them.
pub(crate) struct DescribedReasoning {
    pub(crate) open: String,
    pub(crate) close: String,
    pub(crate) others: Vec<String>,
}

/// Looks for reasoning in what a prompt says when thinking is on and not when it is off, and in
/// what it always says if a marker's name leaves no doubt: with tools, and where none are offered.
pub(crate) fn reasoning(prober: &TurnProber<'_>) -> Option<DescribedReasoning> {
    let question = PrecedingMessages::Question;
    let offered = |mode| prober.prompt(question, mode).ok();
    let plain = |mode| prober.prompt_without_tools(question, mode).ok();
    let prompts = [ThinkingMode::On, ThinkingMode::Off].map(|mode| [offered(mode), plain(mode)]);
    let [on, off] = prompts.map(|prompts| prompts.into_iter().flatten().collect::<Vec<_>>());
    let system = [message("system", "Be kind."), message("user", "Hello!")];
    let system = prober.conversation(system.to_vec(), ThinkingMode::Off, true);
    // What stands around instructions there is about no thought.
    let off: String = off.iter().map(RenderedTurn::text).collect();
    let off = off + &system.unwrap_or_default();
    let mut on = on.iter();
    let found = on.find_map(|prompt| described_when_on(instructions(prompt), &off));
    let always = plain(ThinkingMode::Unset);
    let always = always.and_then(|prompt| described(instructions(&prompt), thinks, says_answer));
    match (found, always) {
        // What is said of an answer without tools is about the turn: beside tools, `<response>` may be what they answer.
        (Some(found), Some(always)) if found.open == always.open && found.others.is_empty() => {
            Some(always)
        }
        (found, always) => found.or(always),
    }
}

/// The reasoning that instructions with thinking on describe, beside what prompts say with thinking off.
fn described_when_on(instructions: &str, off: &str) -> Option<DescribedReasoning> {
    let is_new = |marker: &str| !off.contains(marker);
    // `<b>..</b>` may stand in any instructions. What is there only with thinking on, or says so, is about it.
    let is_of_thought = |marker: &str| is_new(marker) || thinks(marker);
    described(instructions, is_of_thought, is_new)
}

/// What stands before the question: what stands behind it is no instruction, is shown, and has been looked at.
fn instructions(prompt: &RenderedTurn) -> &str {
    let text = prompt.text().strip_suffix(prompt.tail());
    text.unwrap_or_default()
}

/// The reasoning that instructions describe, and what stands around an answer beside it, by what their openers are.
fn described(
    instructions: &str,
    is_of_thought: impl Fn(&str) -> bool,
    is_of_answer: impl Fn(&str) -> bool,
) -> Option<DescribedReasoning> {
    let found = different_markers(instructions);
    let pairs: Vec<(&str, &str)> = markers::pairs(&found).collect();
    let pair = pairs.iter().find(|(open, _)| is_of_thought(open));
    let pair = pair.map(|(open, close)| ((*open).to_owned(), (*close).to_owned()));
    let (open, close) = pair.or_else(|| {
        // `Think within <thought>.` What closes it need not be said.
        let open = found.iter().find(|marker| is_word_of_thought(marker))?;
        Some(((*open).to_owned(), markers::mirrored(open)?))
    })?;
    // `First <plan>..</plan>, then <reply>..</reply>`: what is new beside a thought stands around the answer.
    let others = pairs.iter();
    let others = others.filter(|(other, _)| *other != open && is_of_answer(other));
    Some(DescribedReasoning {
        others: others
            .flat_map(|(open, close)| [*open, *close])
            .map(str::to_owned)
            .collect(),
        open,
        close,
    })
}

/// Whether a marker is a word for thoughts between brackets. A token in bars, as `<|thought|>`, may switch thinking on, and
/// `<thinking_budget>` sets how much of it.
fn is_word_of_thought(marker: &str) -> bool {
    let signs = marker.chars().filter(|c| !c.is_alphabetic());
    thinks(marker) && signs.count() == 2
}

/// Whether a marker's name says that an answer is in it.
fn says_answer(marker: &str) -> bool {
    let name = core(marker);
    let words = [
        "answer", "response", "reply", "solution", "output", "result",
    ];
    let mut parts = name.split(|c: char| !c.is_alphanumeric());
    // `<tool_response>` and `<answer_name>` are about something else.
    let others = ["tool", "call", "function", "name", "id"];
    let is_other = parts.clone().any(|part| others.contains(&part));
    !is_other && parts.any(|part| words.contains(&part))
}

/// How many different markers of a text are looked at.
const MAX_MARKERS: usize = 200;

/// The different markers of a text, in order.
fn different_markers(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    let mut seen = HashSet::new();
    for marker in markers::markers(text) {
        if found.len() < MAX_MARKERS && seen.insert(marker) {
            found.push(marker);
        }
    }
    found
}

/// Calls as instructions show them, or as the names of special tokens suggest.
pub(crate) fn calls(
    prober: &mut TurnProber<'_>,
    tools: &[Value],
    source: &str,
    special_tokens: &[String],
) -> Option<CallShape> {
    let prompt = prober.offering(tools, |prober| {
        prober.prompt(PrecedingMessages::Question, ThinkingMode::Unset)
    });
    let prompt = prompt.ok();
    let instructions = prompt.as_ref().map_or("", |turn| turn.text());
    if let Some((open, close)) =
        markers::pairs(&different_markers(instructions)).find(|(open, _)| says_call(open))
    {
        let example = instructions.split_once(open).map_or("", |(_, rest)| rest);
        let example = examples(example, open, close)
            .into_iter()
            // `Write <call></call> as follows` mentions the markers before the example.
            .find(|text| text.contains('{'));
        return Some(shape(open, close, example.unwrap_or_default()));
    }
    let tokens = special_tokens.join("");
    let named = [tokens.as_str(), instructions, source]
        .into_iter()
        .find_map(|text| {
            let open = markers::markers(text)
                // Special tokens come in any order: `</call>` may be the first.
                .find(|marker| says_call(marker) && !markers::says_end(marker))?;
            let close = markers::markers(text).find(|close| is_pair(open, close));
            Some((open.to_owned(), close.unwrap_or_default().to_owned()))
        });
    let (open, close) = named?;
    Some(shape(&open, &close, "["))
}

/// Whether a marker's name says that a call is in it, and not what comes of one.
fn says_call(marker: &str) -> bool {
    let name = core(marker);
    let is = |words: &[&str]| words.iter().any(|word| name.contains(word));
    // `<call_result>` and `<call_id>` hold no call.
    is(&["call", "action"]) && !is(&["response", "result", "output", "id"])
}

/// What stands between pairs of markers.
fn examples<'t>(text: &'t str, open: &str, close: &str) -> Vec<&'t str> {
    text.split(open)
        .filter_map(|part| part.split_once(close))
        .map(|(inside, _)| inside)
        .collect()
}

/// A call in markers, with the keys of an example.
fn shape(open: &str, close: &str, example: &str) -> CallShape {
    let keys: Vec<&str> = quoted_keys(example);
    let find = |words: &[&str], otherwise: &str| {
        let found = keys
            .iter()
            .find(|key| words.iter().any(|word| key.contains(word)));
        found.map_or_else(|| otherwise.to_owned(), |key| (*key).to_owned())
    };
    let name = find(&["name"], "name");
    // `arguments`, `parameters`, `tool_input`: an example shows which of them.
    let arguments = find(&["arg", "param", "input"], "arguments");
    let entry = |key, value| Entry { key, value };
    let json = Dialect::default;
    let call = Node::Object(
        vec![
            entry(
                name,
                Node::JsonString(Box::new(Node::Slot(Slot::Name)), json()),
            ),
            entry(arguments, Node::Arguments(json())),
        ],
        json(),
    );
    let body = match example.trim_start().starts_with('[') {
        true => array_of(call),
        false => call,
    };
    let around = Delimiters {
        open: open.to_owned(),
        close: close.to_owned(),
        ..Delimiters::default()
    };
    CallShape {
        certainty: Certainty::Guessed,
        section_open: Row::default(),
        section_close: Row::default(),
        several_in_brackets: false,
        node: calls_of(&around, body, true),
    }
}

/// The words in quotes that a colon follows.
fn quoted_keys(text: &str) -> Vec<&str> {
    let parts: Vec<&str> = text.split('"').collect();
    let pairs = parts
        .iter()
        .skip(1)
        .step_by(2)
        .zip(parts.iter().skip(2).step_by(2));
    pairs
        .filter(|(_, after)| after.trim_start().starts_with(':'))
        .map(|(key, _)| *key)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::call_probe::probe_tools;
    use crate::analysis::tests::asked;
    use crate::chat_template::ChatTemplate;

    #[test]
    fn a_marker_of_a_call_names_it_and_nothing_that_comes_of_it() {
        for (marker, expected) in [
            ("<tool_call>", true),
            ("[ACTION]", true),
            ("<|begin_calls|>", true),
            ("<call_result>", false),
            ("<action output>", false),
            ("<call_id>", false),
            ("<tool>", false),
        ] {
            assert_eq!(says_call(marker), expected, "{marker}");
        }
    }

    #[test]
    fn keys_are_in_quotes_before_a_colon() {
        for (text, expected) in [
            (r#"{"name": "f", "args": {}}"#, "name args"),
            (r#"["name" :1]"#, "name"),
            (r#"say "name", "f""#, ""),
            (r#"name: f"#, ""),
        ] {
            assert_eq!(quoted_keys(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn examples_show_the_keys_of_a_call_and_whether_it_is_a_list() {
        for (example, expected) in [
            (
                "",
                "call(`<c>` {name: string(NAME), arguments: ARGUMENTS} `</c>`)+",
            ),
            (
                r#"{"tool_name": "f", "tool_input": {}}"#,
                "call(`<c>` {tool_name: string(NAME), tool_input: ARGUMENTS} `</c>`)+",
            ),
            (
                r#"{"id": 1, "name": "f", "parameters": {}}"#,
                "call(`<c>` {name: string(NAME), parameters: ARGUMENTS} `</c>`)+",
            ),
            (
                r#"[{"name": "f"}]"#,
                "`<c>` [call({name: string(NAME), arguments: ARGUMENTS})+] `</c>`",
            ),
        ] {
            let shape = shape("<c>", "</c>", example);
            assert_eq!(shape.node.to_string(), expected, "{example}");
        }
    }

    const MODES: &str = "{% if mull %}ON{% else %}OFF{% endif %}{{ messages[0].content }}<bot>\
                         {% if not mull %}</m>{% endif %}";

    #[test]
    fn instructions_tell_of_reasoning_with_thinking_on_or_by_its_name() {
        for (on, off, expected) in [
            ("First <plan>so</plan>.", "", "<plan> </plan>"),
            (
                "First <plan>so</plan>, then <reply>it</reply>.",
                "",
                "<plan> </plan> beside <reply> </reply>",
            ),
            // What is always there is about a thought only if it says so.
            ("<b>Be</b> kind.", "<b>Be</b> kind.", ""),
            (
                "<b>Be</b> kind, <thought>so</thought>.",
                "<b>Be</b> kind, <thought>so</thought>.",
                "<thought> </thought>",
            ),
            // What is always said of an answer beside it counts, too.
            (
                "First <thought>so</thought>, then <reply>it</reply>.",
                "First <thought>so</thought>, then <reply>it</reply>.",
                "<thought> </thought> beside <reply> </reply>",
            ),
            ("Think <plan>.", "", ""),
            // What closes a thought need not be said.
            (
                "Think within <thought>.",
                "Think within <thought>.",
                "<thought> </thought>",
            ),
            ("Say no </thought>.", "Say no </thought>.", ""),
            ("<|thought|>Be kind.", "<|thought|>Be kind.", ""),
            ("<thought_limit>9", "<thought_limit>9", ""),
            ("", "First <plan>so</plan>.", ""),
        ] {
            let jinja = MODES.replace("ON", on).replace("OFF", off);
            let described = asked(&ChatTemplate::from_jinja(jinja.as_str()), |prober| {
                reasoning(prober)
            });
            let text = described.map_or_else(String::new, |described| {
                let markers = format!("{} {}", described.open, described.close);
                match described.others.is_empty() {
                    true => markers,
                    false => format!("{markers} beside {}", described.others.join(" ")),
                }
            });
            assert_eq!(text, expected, "{on} {off}");
        }
    }

    #[test]
    fn instructions_may_tell_of_reasoning_where_no_tools_are_offered() {
        let tools = "{% if tools %}[Sys]{{ tools | tojson }}[/Sys]{% elif mull %}";
        let instructions = "[Sys]First <plan>so</plan>.[/Sys]";
        let jinja = MODES.replace("{% if mull %}ON", &format!("{tools}{instructions}"));
        let found = asked(&ChatTemplate::from_jinja(jinja.as_str()), |prober| {
            prober.offering(&probe_tools(prober), |prober| reasoning(prober))
        });
        assert_eq!(found.map(|found| found.open).as_deref(), Some("<plan>"));
    }

    #[test]
    fn instructions_and_tokens_tell_of_calls() {
        let json = "{name: string(NAME), arguments: ARGUMENTS}";
        for (instructions, tokens, expected) in [
            (
                r#"Write <call>{"name": "f", "args": {}}</call>."#,
                &[][..],
                "call(`<call>` {name: string(NAME), args: ARGUMENTS} `</call>`)+".to_owned(),
            ),
            // The markers are mentioned before the example.
            (
                r#"Write <call></call> so: <call>[{"name": "f"}]</call>."#,
                &[],
                format!("`<call>` [call({json})+] `</call>`"),
            ),
            // Names of tokens don't show what is in the calls: a list, as most have.
            (
                "",
                &["</call>", "<call>", "<call_result>"],
                format!("`<call>` [call({json})+] `</call>`"),
            ),
            (
                "",
                &["<|do_call|>"],
                format!("`<|do_call|>` [call({json})+]"),
            ),
            ("Call your mother.", &["<result>"], String::new()),
        ] {
            let jinja = format!(
                "{{% if tools %}}{instructions}{{% endif %}}{{{{ messages[0].content }}}}<bot>"
            );
            let tokens: Vec<String> = tokens.iter().map(|token| (*token).to_owned()).collect();
            let shape = asked(&ChatTemplate::from_jinja(jinja.as_str()), |prober| {
                let tools = probe_tools(prober);
                calls(prober, &tools, "", &tokens)
            });
            let shape = shape.map_or_else(String::new, |shape| shape.node.to_string());
            assert_eq!(shape, expected, "{instructions} {tokens:?}");
        }
    }
}
