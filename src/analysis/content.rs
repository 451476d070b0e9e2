//! How a turn's text is written.

use super::assistant_turn::AssistantTurn;
use super::reasoning::{ObservedReasoning, ReasoningContext, ReasoningShape};
use super::reasoning_inference::quoted;
use super::sample_turns::SampleTurns;
use super::turn_headers::TurnHeaders;
use super::turn_prober::{PrecedingMessages, ThinkingMode, TurnProber};
use crate::markers::lexicon::unmarked;
use crate::markers::{self, closing_marker, common_suffix, shared_end};

/// How many quoted texts of a template are looked at, and how many pairs of them tried, for markers that past turns lose.
// Each pair takes a rendering or two.
const MAX_TEXTS: usize = 100;
const MAX_PAIRS: usize = 20;

/// How the text of a turn is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContentShape {
    /// What opens it in every turn; `None` if it stands bare.
    pub open: Option<String>,
    /// What closes it, if something opens it.
    pub close: Vec<String>,
    /// Markers that stand around it only beside reasoning.
    pub beside_reasoning: Vec<String>,
    /// What opens it and what closes it only before calls.
    pub before_calls: Vec<String>,
}

impl ContentShape {
    /// The markers that stand around it in some company, for each: what opens it comes first.
    pub(crate) fn beside(&self) -> [&[String]; 2] {
        [&self.beside_reasoning, &self.before_calls]
    }

    /// Whether what closes it belongs to what opens it, as `</say>` does to `<say>`.
    pub(super) fn is_pair(&self) -> bool {
        let open = self.open.as_deref().map(str::trim).unwrap_or_default();
        let mut closes = self.close.iter();
        closes.any(|close| markers::is_pair(open, close))
    }

    /// What follows upon the marker that closes the content, if another one ends the turn.
    pub(super) fn behind_close<'t>(&self, after: &'t str) -> &'t str {
        let closes = |close: &&String| after.trim_start().starts_with(close.as_str());
        let close = self.close.iter().find(closes);
        let behind = close.and_then(|close| Some(after.split_once(close.as_str())?.1));
        // In `</part><over>`, `<over>` alone ends the turn, and `</part>` may close calls as well.
        let behind = behind.filter(|behind| markers::markers(behind).next().is_some());
        behind.unwrap_or(after)
    }
}

/// Looks at what stands around the content of a turn. Also gives what follows it in a turn that
/// comes last.
pub(super) fn find(
    prober: &mut TurnProber<'_>,
    headers: &TurnHeaders,
    turns: &SampleTurns,
    reasoning: Option<&ReasoningShape>,
    observed: &ObservedReasoning,
) -> (ContentShape, String) {
    let (mut before, after) = surroundings(prober, headers, turns, reasoning);
    if turns.call.is_some() {
        let others = |prober: &TurnProber<'_>| surroundings(prober, headers, turns, reasoning).0;
        // `<say>Bot: ` with tools, and `<say>` without: that opens both, and what follows it is dropped.
        let shorter = prober.offering(&[], others);
        let ends_with_marker = |text: &str| {
            markers::pieces(text.trim_end())
                .last()
                .is_some_and(markers::is_marker)
        };
        let shorter = shorter.filter(|other| ends_with_marker(other));
        before = before.map(|before| match shorter {
            Some(other) if before.starts_with(other.trim_end()) => other,
            _ => before,
        });
    }
    let open = before.map(|text| text.trim_start().to_owned());
    // A line break before each text opens nothing that a reader could look for.
    let open = open.filter(|text| !text.trim().is_empty());
    let header = headers.header(PrecedingMessages::Question, ThinkingMode::On);
    let context = observed.before_text.as_ref();
    let mut close = Vec::new();
    if let Some(open) = &open {
        close.extend(closing(open, &after));
        // Where every part of a turn has a header of its own, what ends one ends all.
        let parts = context.filter(|context| {
            let role = markers::markers(header).last();
            role.is_some_and(|role| context.after.contains(role))
        });
        let of_reasoning = parts.and(reasoning);
        close.extend(of_reasoning.and_then(|reasoning| reasoning.close.clone()));
    }
    let own = reasoning.and_then(|reasoning| reasoning.close.as_deref());
    let own = own.unwrap_or_default();
    let beside_reasoning = context.map_or_else(Vec::new, |context| {
        let mut around = markers_beside_reasoning(context, own, open.as_deref(), &after);
        // Where each part has a header, as in `<bot>think ..<over><bot>say ..`, that stands beside reasoning, too.
        around.retain(|marker| !header.contains(marker.as_str()) && !own.contains(marker.as_str()));
        around
    });
    let shape = ContentShape {
        open,
        close,
        beside_reasoning,
        before_calls: Vec::new(),
    };
    (shape, after)
}

/// The markers between which an answer stands that the template takes out of them in past turns, as
/// `content.split('<answer>')[-1].split('</answer>')[0]` does. What opens it may be what closes reasoning.
pub(super) fn cut_around(
    prober: &TurnProber<'_>,
    template_source: &str,
    reasoning: &ReasoningShape,
) -> Vec<String> {
    let template_source = prober.marked(template_source);
    // What begins a tool's answer holds none of the model.
    let before_answer = prober.answered_call().map(|call| call.header_of_answer);
    let before_answer = before_answer.unwrap_or_default();
    let texts = quoted(&template_source).into_iter();
    let texts = texts.filter(|text| markers::is_marker(text) && !before_answer.contains(text));
    let texts: Vec<&str> = texts.take(MAX_TEXTS).collect();
    let closes = texts.iter().filter(|close| markers::says_end(close));
    let pairs = closes.flat_map(|close| {
        let opens = texts.iter().filter(|open| markers::is_pair(open, close));
        opens.map(|open| [*open, *close])
    });
    let pairs = pairs.filter(|[open, _]| !reasoning.opens().contains(open));
    let mut pairs = pairs.take(MAX_PAIRS);
    let found = pairs.find(|[open, close]| takes_out(prober, open, close));
    let is_new = |marker: &&str| !reasoning.closes().contains(marker);
    let found = found.into_iter().flatten().filter(is_new);
    found.map(str::to_owned).collect()
}

/// Whether a template takes what stands between two markers out of the content of a past turn, and only because of these.
fn takes_out(prober: &TurnProber<'_>, open: &str, close: &str) -> bool {
    let words = ["before", "within", "after"].map(|word| prober.word(word));
    let [before, within, after] = &words;
    let kept = |open: &str, close: &str| {
        let content = format!("{before}{open}{within}{close}{after}");
        let assistant = AssistantTurn::content(&unmarked(&content));
        let turn = prober.past_turn(PrecedingMessages::Question, &assistant, ThinkingMode::Unset);
        let turn = turn.map(|turn| turn.tail().to_owned()).unwrap_or_default();
        [before, within, after].map(|word| turn.contains(word.as_str()))
    };
    kept(open, close) == [false, true, false] && kept(" ", " ") == [true; 3]
}

/// What closes the content: a marker or words. A single sign, which may stand in a text as well, does so with the marker
/// behind it, if that belongs to one of those that open the content, as in `<answer>"…"</answer>`.
fn closing(open: &str, after: &str) -> Option<String> {
    let close = closing_marker(after)?;
    let (_, rest) = after.split_once(&close)?;
    // `]]>` closes by itself; `"` may stand in any answer, and `"</answer>` does not.
    let pair = markers::markers(rest).next().filter(|marker| {
        let belongs = markers::markers(open).any(|open| markers::is_pair(open, marker));
        close.chars().count() == 1 && rest.starts_with(marker) && belongs
    });
    Some(close + pair.unwrap_or_default())
}

/// What stands before the content in all modes, if it is rendered at all, and after it in the first
/// mode in which it is.
fn surroundings(
    prober: &TurnProber<'_>,
    headers: &TurnHeaders,
    turns: &SampleTurns,
    reasoning: Option<&ReasoningShape>,
) -> (Option<String>, String) {
    let mut before: Option<String> = None;
    let mut after = String::new();
    for mode in ThinkingMode::ALL {
        let body = headers.turn(prober, PrecedingMessages::Question, &turns.plain, mode);
        let Some((ahead, rest)) = body
            .as_deref()
            .and_then(|body| body.split_once(&turns.word))
        else {
            continue;
        };
        let ahead = without_reasoning(ahead, reasoning);
        before = Some(match before {
            None => {
                after = rest.to_owned();
                ahead
            }
            // What opens a text in one mode only, as `<answer>` with thinking on, may be missing in others.
            Some(before) => shared_end(&before, &ahead).to_owned(),
        });
    }
    (before, after)
}

/// The markers between reasoning and content, and those behind content that stand there only
/// beside reasoning. `close` is what closes reasoning, `open` and `after` stand around any content.
fn markers_beside_reasoning(
    context: &ReasoningContext,
    close: &str,
    open: Option<&str>,
    after: &str,
) -> Vec<String> {
    let between = context
        .after
        .split_once(close)
        .map_or("", |(_, between)| between);
    // Words may stand between what opens the text and the text itself.
    let open_at = open.and_then(|open| between.rfind(open.trim_end()));
    let between = &between[..open_at.unwrap_or(between.len())];
    // What stands behind a text without a thought ends the text or the turn, and is known.
    let end = &context.end[..context.end.len() - common_suffix(&context.end, after)];
    let units = [between, end]
        .into_iter()
        .flat_map(markers::markers_or_whole);
    units.map(str::to_owned).collect()
}

/// What is left of the text before content when empty reasoning is taken out.
fn without_reasoning(text: &str, reasoning: Option<&ReasoningShape>) -> String {
    let Some(reasoning) = reasoning else {
        return text.to_owned();
    };
    if let Some(close) = &reasoning.close
        // `<think>\n\n</think>` opens no text: some write it in every turn that did not think.
        && let Some(at) = text.rfind(close.as_str())
    {
        return text[at + close.len()..].to_owned();
    }
    let open = reasoning.open.as_deref().map(str::trim);
    match open.and_then(|open| text.find(open)) {
        Some(at) => text[..at].to_owned(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::certainty::Certainty;
    use crate::analysis::tests::{found, template};

    #[test]
    fn what_closes_content_ends_no_turn_if_another_marker_does() {
        let shape = ContentShape {
            close: vec!["</part>".to_owned()],
            ..ContentShape::default()
        };
        for (after, expected) in [
            ("</part><over>", "<over>"),
            ("\n</part>\n<over>", "\n<over>"),
            // Nothing else ends the turn, and words are no marker.
            ("</part>\n", "</part>\n"),
            ("</part>Bye.", "</part>Bye."),
            ("<over></part>", "<over></part>"),
        ] {
            assert_eq!(shape.behind_close(after), expected, "{after}");
        }
    }

    #[test]
    fn a_sign_closes_content_with_the_marker_behind_it_that_belongs_to_its_opener() {
        for (open, after, expected) in [
            ("<answer>", "</answer><end>", Some("</answer>")),
            ("<answer>\"", "\"</answer><end>", Some("\"</answer>")),
            // A single sign, and the marker behind it is the turn's.
            ("\"", "\"<end>", Some("\"")),
            ("<answer><![CDATA[", "]]></answer>", Some("]]>")),
            ("Answer: ", "Over.\n<end>", Some("Over.")),
            ("<answer>", "\n", None),
        ] {
            assert_eq!(closing(open, after).as_deref(), expected, "{after}");
        }
    }

    #[test]
    fn empty_reasoning_is_no_opener_of_content() {
        let shape = |open: &str, close: &str| ReasoningShape {
            keys: Vec::new(),
            open: Some(open.to_owned()),
            close: (!close.is_empty()).then(|| close.to_owned()),
            certainty: Certainty::Seen,
            in_last_turn: true,
            in_past_turns: true,
            beside_calls: true,
            cut_from_content: false,
            opened_by_prompt: false,
            closed_by_prompt: false,
            variants: Vec::new(),
        };
        let (tags, line) = (shape("<m>\n", "</m>"), shape("Mull:", ""));
        for (text, reasoning, expected) in [
            ("<m>\n\n</m>\n<say>", Some(&tags), "\n<say>"),
            ("</m><say>", Some(&tags), "<say>"),
            ("<say>", Some(&tags), "<say>"),
            // What opens the thought comes last, and nothing closes it.
            ("<say><m>", Some(&tags), "<say>"),
            ("Say:\nMull: ", Some(&line), "Say:\n"),
            ("<m></m><say>", None, "<m></m><say>"),
        ] {
            assert_eq!(without_reasoning(text, reasoning), expected, "{text}");
        }
    }

    #[test]
    fn content_stands_bare_or_between_markers_of_its_own_and_others_in_some_company() {
        for (assistant, expected) in [
            ("{{ m.content }}", "bare"),
            ("<say>{{ m.content }}</say>", "<say> </say>"),
            ("\n\n{{ m.content }}", "bare"),
            (
                "<t>{{ m.reasoning_content }}</t><say>{{ m.content }}</say>",
                "<say> </say>",
            ),
            (
                "{% if m.reasoning_content %}<t>{{ m.reasoning_content }}</t><say>{% endif %}\
                 {{ m.content }}{% if m.reasoning_content %}</say>{% endif %}",
                "bare, beside reasoning <say> </say>",
            ),
            // Each part of a turn has the header of the turn.
            (
                "{% if m.reasoning_content %}think {{ m.reasoning_content }}<over><assistant>{% endif %}\
                 say {{ m.content }}",
                "say  <end> <over>",
            ),
            // What closes the thought stands beside it, and is the thought's.
            (
                "{% if m.reasoning_content %}<t>{{ m.reasoning_content }}</t>{% endif %}{{ m.content }}",
                "bare",
            ),
            // Before calls it stands between markers, with nothing in it as well.
            (
                "{% if m.tool_calls %}<note>{% endif %}{{ m.content }}{% if m.tool_calls %}</note>\
                 {% for c in m.tool_calls %}{{ c.function | tojson }}{% endfor %}{% endif %}",
                "bare, before calls <note> </note>",
            ),
            // Or where there is one.
            (
                "{% if m.tool_calls %}{{ '<note>' ~ m.content ~ '</note>' if m.content }}\
                 {% for c in m.tool_calls %}<call>{{ c.function | tojson }}</call>{% endfor %}\
                 {% else %}<say>{{ m.content }}</say>{% endif %}",
                "<say> </say>, before calls <note> </note>",
            ),
            // With tools, a name stands before it; or it stands between markers there alone, or behind another mode.
            (
                "<say>{{ 'Bot: ' if tools }}{{ m.content }}</say>\
                 {% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}",
                "<say> </say>",
            ),
            (
                "{{ '<say>' if tools }}{{ m.content }}\
                 {% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}",
                "<say> <end>",
            ),
            (
                "<to>{{ 'all' if tools else 'one' }}<say>{{ m.content }}\
                 {% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}",
                "<to>all<say> <end>",
            ),
            // `</note>` alone opens calls.
            (
                "{{ m.content }}{% if m.tool_calls %}</note>{% for c in m.tool_calls %}{{ c.function | tojson }}\
                 {% endfor %}{% endif %}",
                "bare",
            ),
        ] {
            let shape = found(&template(assistant)).content;
            let mut text = shape.open.map_or("bare".to_owned(), |open| open + " ");
            text += &shape.close.join(" ");
            if !shape.beside_reasoning.is_empty() {
                text += ", beside reasoning ";
                text += &shape.beside_reasoning.join(" ");
            }
            if !shape.before_calls.is_empty() {
                text += ", before calls ";
                text += &shape.before_calls.join(" ");
            }
            assert_eq!(text, expected, "{assistant}");
        }
    }
}
