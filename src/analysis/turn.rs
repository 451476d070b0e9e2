//! How the assistant's turn begins, and what ends it.

use crate::chat_template::RenderError;
use crate::format::after_headers;

use super::assistant_turn::AssistantTurn;
use super::turn_headers::TurnHeaders;
use super::turn_prober::{PrecedingMessages, RenderedTurn, ThinkingMode, TurnProber};
use crate::markers::{self, dedup, is_slot, shared_start};

/// How a turn of the assistant begins and ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnShape {
    /// The texts after which the assistant's turn begins: one, or several where it depends on what
    /// came before.
    pub headers: Vec<String>,
    /// The same with [slots](crate::markers::is_slot) where they vary, if one does: with a variable, the time, or from turn to turn.
    pub(crate) varied_headers: Vec<String>,
    /// The last markers before a message behind which a conversation goes on with other white space than a prompt does: a
    /// model that is given a conversation up to there writes the header itself.
    pub before_seams: Vec<String>,
    /// What stands before a tool's answer, if the turn goes on behind that without a header.
    pub(crate) answer_within: Option<String>,
    /// The markers that end a turn.
    pub ends: Vec<String>,
    /// The header of the next turn, with the white space before it, if it stands behind the last turn whether a
    /// prompt is asked for or not.
    pub next_header: Option<String>,
    /// The marker that a tool's answer begins with, if nothing ends a turn that comes last, or one with a call in it: a
    /// model is stopped there. It is one that nothing else begins or ends with, and no plain tag.
    pub answer_marker: Option<String>,
}

impl TurnShape {
    /// The [headers](Self::headers) with `…` in the place of what varies: with a variable, the time, or from turn to turn. None if
    /// none does.
    pub fn varied_headers(&self) -> Vec<String> {
        let varied = self.varied_headers.iter();
        let varied = varied.map(|header| header.replace(is_slot, "…"));
        varied.collect()
    }

    /// All with which a model's turn may end.
    pub(crate) fn all_ends(&self) -> impl Iterator<Item = &String> {
        self.ends.iter().chain(&self.answer_marker)
    }

    /// Whether what stands behind a marker that ends turns belongs to the end: other markers and white space
    /// do, and words don't, nor what begins a turn.
    pub(crate) fn ends_with(&self, rest: &str) -> bool {
        markers::are_markers(rest) && !self.goes_on(rest)
    }

    /// An output without what ends its turn, which may be several markers: `<end></s>`.
    pub(crate) fn without_ends<'t>(&self, output: &'t str) -> &'t str {
        let mut bare = output.trim_end();
        let cut = |text: &'t str| {
            let mut ends = self.ends.iter().map(|end| end.trim());
            ends.find_map(|end| text.strip_suffix(end).filter(|_| !end.is_empty()))
        };
        while let Some(rest) = cut(bare) {
            bare = rest.trim_end();
        }
        bare
    }

    /// Whether another turn begins in a text.
    pub(crate) fn goes_on(&self, rest: &str) -> bool {
        let mut headers = self.headers.iter().chain(&self.next_header);
        headers.any(|header| rest.contains(header.trim()))
    }

    /// The part of a prompt that stands after the last header: nothing, if that is none of the turn to come.
    pub(crate) fn prefilled<'p>(&self, prompt: &'p str) -> &'p str {
        // Behind the last header stands what a prompt has begun, such as `<think>`; where the model writes the header
        // itself, the last one is that of an earlier turn.
        let begun = after_headers(&self.headers, prompt);
        let mut before = self.before_seams.iter().chain(&self.answer_within);
        match before.any(|marker| begun.contains(marker.as_str())) {
            true => "",
            false => begun,
        }
    }
}

/// How turns begin and end. The markers that end one are found from the turn that comes last and from one in the past. What closes
/// content may be none of them, even if nothing else stands behind a turn.
pub(super) fn find(
    prober: &TurnProber<'_>,
    headers: &TurnHeaders,
    assistant: &AssistantTurn,
    word: &str,
    content_close: &[String],
    ends_no_turn: bool,
) -> TurnShape {
    let (seams, mut before_seams) = (
        headers.markers_before_space(),
        headers.markers_before_header(),
    );
    let mut headers = headers.headers(prober);
    let after = |turn: Result<RenderedTurn, RenderError>| {
        let turn = turn.ok();
        let behind = turn.as_ref().and_then(|turn| turn.tail().rsplit_once(word));
        behind.map_or_else(String::new, |(_, behind)| behind.to_owned())
    };
    let (preceding, mode) = (PrecedingMessages::Question, ThinkingMode::Unset);
    // `<end>\n` behind both ends the turn; `<user>` behind the past one is the next message.
    let last = after(prober.turn(preceding, assistant, mode));
    let past = after(prober.past_turn(preceding, assistant, mode));
    // What closes the content comes before what ends the turn, if anything else ends it.
    let close = content_close.iter().find(|close| {
        let rest = last.trim_start().strip_prefix(close.as_str());
        rest.is_some_and(|rest| ends_no_turn || !rest.trim().is_empty())
    });
    let beyond = |text: String| {
        let rest = close.and_then(|close| text.trim_start().strip_prefix(close.as_str()));
        rest.map_or_else(|| text.clone(), str::to_owned)
    };
    let (mut last, past) = (beyond(last), beyond(past));
    // `<over>\n\n## Keeper\n` behind the last turn: some write the header of a turn that nobody asked for.
    let next_header = headers.iter().find(|header| {
        let end = last.trim_end().strip_suffix(header.trim());
        // What stands behind both ends both.
        let is_next = |end: &str| !end.trim().is_empty() && !past.starts_with(last.trim_end());
        !header.trim().is_empty() && end.is_some_and(is_next)
    });
    let next_header = next_header.and_then(|header| {
        let end = last[..last.rfind(header.trim())?].trim_end().len();
        // With `<|says|>` for a header, `<|at|>bot` in `<over><|at|>bot<|says|>` belongs to the next turn as well.
        Some(last.split_off(start_of_words(&last[..end]).unwrap_or(end)))
    });
    if let Some(next) = next_header.as_deref().map(str::trim_start) {
        // A header that is always written shows as a whole only where no message stands before it.
        let ends_next = |header: &&mut String| next.trim_end().ends_with(header.trim());
        let has_next = |preceding: &PrecedingMessages| match prober.prompt(*preceding, mode) {
            Ok(prompt) => prompt.tail().contains(next.trim_end()),
            Err(_) => true,
        };
        // A header that stands only behind turns of the assistant would not be found in a prompt.
        if PrecedingMessages::ALL.iter().all(has_next) {
            headers
                .iter_mut()
                .filter(ends_next)
                .for_each(|header| next.clone_into(header));
        }
    }
    let mut ends: Vec<String> = ends(&last, &past).into_iter().map(str::to_owned).collect();
    // `<over><reply>` behind the last turn and `<reply>` behind a question: nobody had to ask for it, so it ends
    // turns.
    if next_header.is_none() {
        let before = prober.no_prompt(preceding, mode);
        let before = before.map_or_else(|_| String::new(), |turn| turn.tail().to_owned());
        let own = always_written(&last, &past, &before, &headers);
        ends.extend(own.into_iter().map(str::to_owned));
    }
    // A model may stop with it where no rendering has it.
    ends.extend(prober.eos_token().map(str::to_owned));
    dedup(&mut ends);
    // A seam begins with a marker, and an end of several signs before it: `<end>|` is the rest of `|<end>|`.
    let is_end = |seam: &String| {
        let mut ends = ends.iter().map(|end| end.trim());
        ends.any(|end| seam.contains(end) || end.ends_with(seam.trim()))
    };
    // Behind what ends the message before, a model that is given a conversation up to there writes the whole header.
    let of_ends = seams.iter().filter(|seam| ends.contains(seam));
    before_seams.extend(of_ends.cloned());
    dedup(&mut before_seams);
    headers.extend(seams.into_iter().filter(|seam| !is_end(seam)));
    dedup(&mut headers);
    TurnShape {
        headers,
        varied_headers: Vec::new(),
        before_seams,
        answer_within: None,
        ends,
        next_header,
        answer_marker: None,
    }
}

/// What stands before a tool's answer, if the turn that has called goes on behind that: `Found: …⏎` has no header behind it, and
/// questions have.
pub(super) fn answer_within_turn(
    prober: &TurnProber<'_>,
    assistant: &AssistantTurn,
    headers: &[String],
) -> Option<String> {
    let (answer, question) = (PrecedingMessages::AfterTool, PrecedingMessages::Question);
    let mode = ThinkingMode::Unset;
    let is_blank = |preceding| {
        let prompt = prober.prompt(preceding, mode).ok();
        prompt.map(|prompt| prompt.tail().trim().is_empty())
    };
    if !is_blank(answer)? || is_blank(question)? {
        return None;
    }
    let turn = prober.turn(answer, assistant, mode).ok()?;
    let mut headers = headers.iter().map(|header| header.trim());
    if headers.any(|header| turn.tail().contains(header)) {
        return None;
    }
    let before = prober.answered_call()?.header_of_answer;
    let before = before.trim();
    (!before.is_empty() && !prober.holds_words(before)).then(|| before.to_owned())
}

/// The markers of the last turn's end that a past one does not have, if what comes before a turn ends with them, too, prompt or
/// none, and they are no header: they begin the next turn, as every prompt does.
fn always_written<'t>(last: &'t str, past: &str, before: &str, headers: &[String]) -> Vec<&'t str> {
    // What a past turn ends with as well is known to end turns.
    let own = last[shared_start(last, past).len()..].trim();
    let holds_header = headers.iter().any(|header| own.contains(header.trim()));
    match before.trim_end().ends_with(own) && markers::are_markers(own) && !holds_header {
        true => markers::markers_or_whole(own),
        false => Vec::new(),
    }
}

/// Where the marker begins that stands before the first word of a text, if markers stand before that as well.
fn start_of_words(text: &str) -> Option<usize> {
    let pieces: Vec<&str> = markers::pieces(text).collect();
    let word = pieces
        .iter()
        .position(|piece| !markers::is_marker(piece) && !piece.trim().is_empty())?;
    let marker = pieces[..word]
        .iter()
        .rposition(|piece| markers::is_marker(piece))?;
    let start: usize = pieces[..marker].iter().map(|piece| piece.len()).sum();
    (!text[..start].trim().is_empty()).then_some(start)
}

/// The markers that end turns, of what stands behind one that comes last, and behind one in the past.
fn ends<'t>(last: &'t str, past: &'t str) -> Vec<&'t str> {
    let shared = shared_start(last, past);
    if !shared.trim().is_empty() {
        // Where words end turns, as in `Over and out.`, they do so as a whole.
        return markers::markers_or_whole(shared);
    }
    // Each ends in its own way; the past one perhaps where the next message begins.
    let own = [last, past].map(|tail| markers::markers(tail).next());
    let own: Vec<&str> = own.into_iter().flatten().collect();
    match own.is_empty() {
        true => markers::markers_or_whole(last),
        false => own,
    }
}

/// The marker that a tool's answer begins with, if nothing ends a turn that comes last, or one with a call in it, and
/// the marker is none that stands in answers of people and models, too.
pub(super) fn answer_marker(
    prober: &TurnProber<'_>,
    assistant: &AssistantTurn,
    word: &str,
    ends: &[String],
) -> Option<String> {
    // Of several markers the last one ends the turn: those before it may go with an answer alone.
    let last = ends
        .iter()
        .map(|end| markers::markers(end).last().unwrap_or(end));
    let is_ended = |behind: &str| last.clone().any(|end| behind.contains(end));
    let turn = prober.turn(PrecedingMessages::Question, assistant, ThinkingMode::Unset);
    let (_, behind) = turn.as_ref().ok()?.tail().rsplit_once(word)?;
    let call = prober.answered_call()?;
    // A text may be ended, and a call not: `[[do]]{...}[[/do]]` and then at once `[[found]]`.
    if is_ended(behind) && is_ended(&call.behind) {
        return None;
    }
    let first = markers::first_piece(call.header_of_answer.trim_start())?;
    // People write `[Found]` and `<found>`, and nobody types `<|found|>`.
    let is_alone = markers::is_marker(first) && markers::is_control(first);
    // `<|found NAME|>` is another text for each tool.
    (is_alone && !prober.holds_words(first)).then(|| first.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::found;
    use crate::chat_template::ChatTemplate;

    #[test]
    fn a_turn_may_end_with_several_markers() {
        let ends = ["<end>", "</s>"].map(str::to_owned).to_vec();
        let turn = TurnShape {
            ends,
            ..TurnShape::default()
        };
        for (output, expected) in [
            ("Yes.<end>\n</s>\n", "Yes."),
            ("Yes.</s><end>", "Yes."),
            ("Write <end> there.", "Write <end> there."),
            ("<end>", ""),
        ] {
            assert_eq!(turn.without_ends(output), expected, "{output}");
        }
    }

    fn shape() -> TurnShape {
        TurnShape {
            headers: vec!["\n<bot>\n".to_owned()],
            before_seams: vec!["<user>".to_owned()],
            next_header: Some("<|next|>".to_owned()),
            ..TurnShape::default()
        }
    }

    #[test]
    fn markers_behind_an_end_belong_to_it_and_words_and_headers_do_not() {
        for (rest, expected) in [
            ("", true),
            ("\n", true),
            ("</turn>\n", true),
            (" and so on", false),
            // A header is known whatever white space is around it.
            ("\n\n<bot>", false),
            ("</turn><|next|>", false),
        ] {
            assert_eq!(shape().ends_with(rest), expected, "{rest:?}");
        }
    }

    #[test]
    fn a_prompt_has_begun_what_stands_behind_its_last_header() {
        for (prompt, expected) in [
            ("<user>Hi\n<bot>\n<mull>", "<mull>"),
            ("<user>Hi\n<bot>\nYes.<end>\n<bot>\n", ""),
            // The last header is that of an earlier turn, and the model writes its own.
            ("<user>Hi\n<bot>\nYes.<end><user>So?", ""),
            ("So?", "So?"),
        ] {
            assert_eq!(shape().prefilled(prompt), expected, "{prompt:?}");
        }
    }

    #[test]
    fn what_stands_behind_past_and_last_turns_ends_them() {
        for (last, past, expected) in [
            ("<end>\n", "<end>\n<user>", "<end>"),
            ("</part><over>", "</part><over><user>", "</part> <over>"),
            // Where words end turns, they do so as a whole.
            ("Over and out.\n", "Over and out.\nUser: ", "Over and out."),
            ("<stop>", "<next><user>", "<stop> <next>"),
            ("", "<user>", "<user>"),
            ("Bye.", "", "Bye."),
            ("", "\nUser: ", ""),
        ] {
            assert_eq!(ends(last, past).join(" "), expected, "{last:?}");
        }
    }

    #[test]
    fn what_every_conversation_ends_with_ends_turns_unless_it_is_a_header() {
        let headers = ["<bot>".to_owned()];
        for (last, before, expected) in [
            ("<over><reply>", "<over><reply>\n", "<reply>"),
            ("<over><reply>", "<over>", ""),
            ("<over><bot>", "<over><bot>", ""),
            // Words are what somebody says.
            ("<over>Reply:", "<over>Reply:", ""),
            ("<over>", "<over>", ""),
        ] {
            let found = always_written(last, "<over><user>", before, &headers);
            assert_eq!(found.join(" "), expected, "{last}");
        }
    }

    #[test]
    fn the_marker_before_words_begins_the_next_turn() {
        for (text, expected) in [
            ("<over><|at|>bot", Some(6)),
            ("<over>\n<|at|>bot", Some(7)),
            ("<|at|>bot", None),
            ("bot<|at|>bot", None),
            ("<over><|at|>", None),
        ] {
            assert_eq!(start_of_words(text), expected, "{text}");
        }
    }

    #[test]
    fn what_closes_a_text_ends_no_turn_unless_calls_may_stand_within() {
        let call = "{% for c in m.tool_calls %}<do>{{ c.function | tojson }}</do>{% endfor %}";
        for (turn, expected) in [
            ("<say>{{ m.content }}</say>".to_owned(), "<|ask|>"),
            ("{{ m.content }}</say>".to_owned(), "</say>"),
            (format!("<say>{{{{ m.content }}}}{call}</say>"), "</say>"),
        ] {
            let jinja = format!(
                "{{% for m in messages %}}{{% if m.role == 'assistant' %}}<|bot|>{turn}\
                 {{% else %}}<|ask|>{{{{ m.content }}}}{{% endif %}}{{% endfor %}}\
                 {{% if add_generation_prompt %}}<|bot|>{{% endif %}}"
            );
            let shape = found(&ChatTemplate::from_jinja(jinja)).turn;
            assert_eq!(shape.ends.join(" "), expected, "{turn}");
        }
    }

    #[test]
    fn a_marker_before_answers_ends_turns_that_nothing_else_ends() {
        for (answer, end, expected) in [
            ("<|found|>", "", Some("<|found|>")),
            ("<|found|>", "<|over|>", None),
            // A text is ended, and a call is not.
            (
                "<|found|>",
                "{% if m.content %}<|over|>{% endif %}",
                Some("<|found|>"),
            ),
            // People write such a tag as well.
            ("<found>", "", None),
            ("Found: ", "", None),
            // Calls begin with it, too, and each tool has another.
            ("<|do|>", "", None),
            ("<|found {{ m.name }}|>", "", None),
        ] {
            let jinja = format!(
                "{{% for m in messages %}}{{% if m.role == 'tool' %}}{answer}{{{{ m.content }}}}\
                 {{% elif m.role == 'user' %}}<|ask|>{{{{ m.content }}}}{{% else %}}<|bot|>\
                 {{{{ m.content }}}}{{% for c in m.tool_calls %}}<|do|>{{{{ c.function | tojson }}}}\
                 {{% endfor %}}{end}{{% endif %}}{{% endfor %}}\
                 {{% if add_generation_prompt %}}<|bot|>{{% endif %}}"
            );
            let turn = found(&ChatTemplate::from_jinja(jinja)).turn;
            assert_eq!(turn.answer_marker.as_deref(), expected, "{answer} {end}");
        }
    }
}
