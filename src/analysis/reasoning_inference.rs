//! The markers of reasoning that is never rendered.

use super::assistant_turn::AssistantTurn;
use super::turn_prober::{PrecedingMessages, ThinkingMode, TurnProber};
use crate::markers::lexicon::unmarked;
use crate::markers::{self, core, is_pair, mirrored, thinks};

/// How many different markers of a template are looked at.
// Each may cost three renderings.
const MAX_MARKERS: usize = 300;

/// What opens and closes reasoning.
pub(super) struct ReasoningMarkers {
    pub(super) open: Option<String>,
    pub(super) close: Option<String>,
}

impl ReasoningMarkers {
    pub(super) fn both(open: impl Into<String>, close: impl Into<String>) -> ReasoningMarkers {
        ReasoningMarkers {
            open: Some(open.into()),
            close: Some(close.into()),
        }
    }
}

/// Infers the markers from what a prompt opens, or from what the template cuts out of the content
/// of past turns. `remainders` is what prompts write of the turn after its header.
pub(super) fn infer(
    prober: &TurnProber<'_>,
    template_source: &str,
    remainders: &[String],
) -> Option<ReasoningMarkers> {
    let remainders: Vec<&str> = remainders.iter().map(|rest| behind_role(rest)).collect();
    // `<think>\n\n</think>` in one prompt; or `<think>` in one and `<think></think>` in another.
    let in_one = remainders.iter().find_map(|rest| pair_in(rest));
    if let Some(pair) = in_one.or_else(|| closed_in_another(&remainders)) {
        return Some(pair);
    }
    // Prompts have brackets around markers of several parts, so what is compared with them needs the same.
    let template_source = prober.marked(template_source);
    let mut known: Vec<&str> = markers::markers(&template_source).collect();
    // A marker stands in a source many times, and is tried once.
    known.sort_unstable();
    known.dedup();
    known.truncate(MAX_MARKERS);
    let last_marker = |rest: &&str| markers::markers(rest).last().map(str::to_owned);
    let marker = remainders.iter().find_map(last_marker);
    if let Some(marker) = &marker
        && let Some(pair) = with_counterpart(prober, marker, &known)
    {
        return Some(pair);
    }
    let mut openers = remainders.iter().map(|rest| rest.trim());
    if let Some(open) = openers.find(|rest| !rest.is_empty()) {
        // The prompt opens it with words, or with several markers; what closes it shows when content holds that.
        // Where the prompt opens it with one marker, all other single ones have been tried above.
        let is_alike = |text: &&str| {
            // `: ` and `\n` stand in any template.
            text.len() > 2
                && *text != open
                && (marker.is_none() || markers::markers(text).nth(1).is_some())
        };
        let texts = quoted(&template_source).into_iter().filter(is_alike);
        let mut texts = texts.take(MAX_MARKERS);
        if let Some(close) = texts.find(|text| cuts_off(prober, text)) {
            return Some(ReasoningMarkers::both(open, close));
        }
        // Most tokens in bars or in capitals that a prompt ends with open no thought, as `<|say|>` and `[SEP]`: what closes one is made
        // up only where the name leaves no doubt.
        let is_token = |marker: &String| {
            let is_small = |c: char| c.is_lowercase();
            let is_capital = marker.contains(char::is_uppercase) && !marker.contains(is_small);
            marker.contains(['|', '｜']) || marker.starts_with('[') && is_capital
        };
        let marker = marker.filter(|marker| !is_token(marker) || thinks(marker))?;
        let close = mirrored(&marker)?;
        return Some(ReasoningMarkers::both(marker, close));
    }
    known
        .iter()
        .find_map(|close| cut_marker(prober, close, &known))
}

/// What stands behind the name of who speaks, with the markers around it: `<role>assistant</role>`, or
/// `<start>assistant`.
fn behind_role(rest: &str) -> &str {
    let solid: Vec<(&str, usize)> = markers::solid_pieces(rest).collect();
    let is_role = |pair: &[(&str, usize)]| {
        let (open, name) = (pair[0].0, pair[1].0.to_lowercase());
        // `<think>model` would be a thought that begins with this word.
        markers::is_marker(open) && !thinks(open) && (name == "assistant" || name == "model")
    };
    let Some(open) = solid.windows(2).rposition(is_role) else {
        return rest;
    };
    let closes = |(close, _): &&(&str, usize)| {
        let names = [core(solid[open].0), core(close)];
        // `<start>assistant<end>`: markers that say no more than this belong together, though they have no name.
        is_pair(solid[open].0, close) || (markers::is_marker(close) && names == ["", ""])
    };
    let close = solid.get(open + 2).filter(closes);
    let (_, end) = close.unwrap_or(&solid[open + 1]);
    &rest[*end..]
}

/// Two markers of a text, of which the second closes what the first opens.
fn pair_in(rest: &str) -> Option<ReasoningMarkers> {
    let found: Vec<&str> = markers::markers(rest).take(MAX_MARKERS).collect();
    let (open, close) = markers::pairs(&found).next()?;
    Some(ReasoningMarkers::both(open, close))
}

/// The marker with which one prompt ends, and the one with which another goes on and ends.
fn closed_in_another(remainders: &[&str]) -> Option<ReasoningMarkers> {
    remainders.iter().find_map(|opened| {
        let open = markers::markers_or_whole(opened).pop()?;
        let closed = remainders.iter().find_map(|rest| {
            // The second prompt says all that the first does, and closes it: so the first has opened something.
            let rest = rest.trim().strip_prefix(opened.trim())?;
            Some(markers::markers_or_whole(rest)).filter(|units| units.len() == 1)
        })?;
        Some(ReasoningMarkers::both(open, closed.concat()))
    })
}

/// The marker with which a prompt ends, and the one that belongs to it.
fn with_counterpart(
    prober: &TurnProber<'_>,
    marker: &str,
    known: &[&str],
) -> Option<ReasoningMarkers> {
    if markers::says_end(marker) {
        // A prompt may end with `</think>`, so that the turn begins with the answer.
        let open = known.iter().find(|other| is_pair(other, marker));
        return Some(ReasoningMarkers {
            open: open.map(|open| (*open).to_owned()),
            close: Some(marker.to_owned()),
        });
    }
    let named = known.iter().find(|close| is_pair(marker, close));
    let says_end = |close: &&&str| markers::says_end(close);
    let cuts = |close: &&&str| **close != marker && cuts_off(prober, close);
    let close = named
        // Where no name belongs to it: a template that cuts thoughts out of past turns knows what closes them.
        .or_else(|| known.iter().filter(says_end).find(cuts))
        .or_else(|| known.iter().find(cuts));
    Some(ReasoningMarkers::both(marker, *close?))
}

/// The marker up to which the template cuts content off, and the one that belongs to it.
fn cut_marker(prober: &TurnProber<'_>, close: &str, known: &[&str]) -> Option<ReasoningMarkers> {
    if !markers::says_end(close) || !cuts_off(prober, close) {
        return None;
    }
    let open = known.iter().find(|open| is_pair(open, close));
    // The opener may stand nowhere: `content.split('</mull>')` is all that such a template needs.
    let open = open.map_or_else(|| close.replacen('/', "", 1), |open| (*open).to_owned());
    Some(ReasoningMarkers::both(open, close))
}

/// The texts that stand in quotes in the source of a template, each once.
pub(super) fn quoted(source: &str) -> Vec<&str> {
    let mut texts: Vec<&str> = Vec::new();
    for quote in ['\'', '"'] {
        let parts = source
            .split('\n')
            // Line by line: one apostrophe in a comment would turn all that follows inside out.
            .flat_map(|line| line.split(quote).skip(1).step_by(2));
        texts.extend(parts.map(|text| {
            text.trim()
                // In the source, a line break in quotes is written as an escape.
                .trim_end_matches("\\n")
                .trim_start_matches("\\n")
        }));
    }
    texts.sort_unstable();
    texts.dedup();
    texts
}

/// Whether a template drops what stands before a marker in the content of a past turn, and only
/// because of the marker.
pub(super) fn cuts_off(prober: &TurnProber<'_>, marker: &str) -> bool {
    let (before, after) = (prober.word("before"), prober.word("after"));
    // A template gets its content without brackets around markers.
    let marker = &unmarked(marker);
    let keeps = |between: &str, word: &str| {
        let assistant = AssistantTurn::content(&format!("{before}{between}{after}"));
        let turn = prober.past_turn(PrecedingMessages::Question, &assistant, ThinkingMode::Unset);
        turn.is_ok_and(|turn| turn.tail().contains(word))
    };
    // A template that drops past answers altogether does not do so because of the marker.
    keeps(marker, &after) && !keeps(marker, &before) && keeps(" ", &before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::{asked, template};

    fn shown(markers: Option<ReasoningMarkers>) -> String {
        let text = |marker: Option<String>| marker.unwrap_or_default();
        markers.map_or_else(String::new, |markers| {
            format!("{} {}", text(markers.open), text(markers.close))
        })
    }

    #[test]
    fn who_speaks_is_no_part_of_what_a_prompt_opens() {
        for (rest, expected) in [
            ("<role>assistant</role><mull>", "<mull>"),
            ("<start>assistant\n<mull>", "\n<mull>"),
            // Markers that say no more than this belong together, though they have no name.
            ("<start>assistant<end>\n", "\n"),
            ("<start>Model<mull>", "<mull>"),
            // It would be a thought that begins with this word.
            ("<think>model", "<think>model"),
            ("assistant: <mull>", "assistant: <mull>"),
            ("<start>user<mull>", "<start>user<mull>"),
        ] {
            assert_eq!(behind_role(rest), expected, "{rest:?}");
        }
    }

    #[test]
    fn one_prompt_or_two_show_what_closes_a_thought() {
        for (remainders, expected) in [
            (&["<m>\n\n</m>"][..], "<m> </m>"),
            (&["<m>", "<m>\n\n</m>"], "<m> </m>"),
            // No name belongs to it, and the second prompt says all that the first does.
            (&["<mull>", "<mull><say>"], "<mull> <say>"),
            (&["Mull:", "Mull: Enough."], "Mull: Enough."),
            (&["<mull>", "<say>"], ""),
            (&["<mull>", "<mull><no><say>"], ""),
            (&["<mull>", "<mull>"], ""),
            (&[""], ""),
        ] {
            let in_one = remainders.iter().find_map(|rest| pair_in(rest));
            let found = in_one.or_else(|| closed_in_another(remainders));
            assert_eq!(shown(found), expected, "{remainders:?}");
        }
    }

    #[test]
    fn texts_in_quotes_are_read_line_by_line() {
        for (source, expected) in [
            ("{{ 'abc' + \"def\" }}", "abc def"),
            ("{{ '\\nabc\\n' }}", "abc"),
            // An apostrophe turns what follows on its line inside out, and no other line.
            ("{# don't #}\n{{ 'abc' }}", "abc t #}"),
            ("{{ ': ' + 'ab' + '\\n' }}", " : ab"),
            ("{{ 'abc' }}{{ 'abc' }}", "abc"),
        ] {
            assert_eq!(quoted(source).join(" "), expected, "{source}");
        }
    }

    #[test]
    fn content_is_cut_off_because_of_a_marker_and_in_past_turns() {
        for (assistant, marker, expected) in [
            ("{{ m.content.split('</m>')[-1] }}", "</m>", true),
            ("{{ m.content.split('</m>')[-1] }}", "</n>", false),
            ("{{ m.content.split('</m>')[0] }}", "</m>", false),
            ("{{ m.content }}", "</m>", false),
            // Past answers are dropped altogether, and a single word is kept of each.
            (
                "{% if loop.last %}{{ m.content }}{% endif %}",
                "</m>",
                false,
            ),
            ("{{ m.content[-12:] }}", "</m>", false),
            ("{{ m.content if '</m>' not in m.content }}", "</m>", false),
        ] {
            let found = asked(&template(assistant), |prober| cuts_off(prober, marker));
            assert_eq!(found, expected, "{assistant} {marker}");
        }
    }

    #[test]
    fn markers_are_inferred_from_prompts_and_from_what_is_cut() {
        let cuts = |close: &str| format!("{{{{ m.content.split('{close}')[-1] }}}}");
        for (assistant, remainder, expected) in [
            // The marker that belongs to the prompt's stands in the source.
            (
                "{{ m.content }}{# </mull> #}".to_owned(),
                "<mull>",
                "<mull> </mull>",
            ),
            // A prompt ends with what closes a thought, so that the turn begins with the answer.
            (
                "{{ m.content }}{# <mull> #}".to_owned(),
                "</mull>",
                "<mull> </mull>",
            ),
            ("{{ m.content }}".to_owned(), "</mull>", " </mull>"),
            // No name belongs to it, and the template cuts content off there.
            (cuts("</so>"), "<mull>", "<mull> </so>"),
            (cuts("Enough."), "Mull:", "Mull: Enough."),
            // Of several, the one that says that something ends.
            (
                "{{ m.content.split('<a>')[-1].split('<stop>')[-1] }}".to_owned(),
                "<mull>",
                "<mull> <stop>",
            ),
            // What closes it is made up, but not for a token whose name does not say that it thinks.
            ("{{ m.content }}".to_owned(), "<mull>", "<mull> </mull>"),
            ("{{ m.content }}".to_owned(), "<|mull|>", ""),
            ("{{ m.content }}".to_owned(), "[SEP]", ""),
            ("{{ m.content }}".to_owned(), "[思考]", "[思考] [/思考]"),
            (
                "{{ m.content }}".to_owned(),
                "<|think|>",
                "<|think|> <|/think|>",
            ),
            ("{{ m.content }}".to_owned(), "Mull:", ""),
            // Prompts open nothing, and the template cuts thoughts out of past turns.
            (cuts("</mull>"), "", "<mull> </mull>"),
            (cuts("<mull>"), "", ""),
            ("{{ m.content }}".to_owned(), "", ""),
        ] {
            let template = template(&assistant);
            let found = asked(&template, |prober| {
                infer(prober, &template.jinja, &[remainder.to_owned()])
            });
            assert_eq!(shown(found), expected, "{assistant} {remainder}");
        }
    }
}
