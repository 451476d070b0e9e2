//! What stands around the texts of a turn, in all ways in which the format writes it.
//!
//! Findings name one marker that opens a text, and what closes it. This is for formats that have more of
//! them, or none: where `Remark: ` opens a text beside calls, and `Final Answer: ` any other; or where a thought is
//! a string of the JSON object that is the turn.

use crate::analysis::{CallParts, Findings};
use crate::format::{Format, Node, Row, Slot};
use crate::markers::{dedup, is_marker, pieces, shared_end, shared_start, unlikely_in_prose};

use super::trial::MessagePart;

/// What stands around the texts of a turn.
pub(super) struct Surroundings {
    pub(super) reasoning: Option<TextBounds>,
    /// `None` if nothing opens the text in some of the ways: it is what is left over.
    pub(super) content: Option<TextBounds>,
    /// What ends a turn.
    pub(super) ends: Vec<String>,
    /// What stands between the calls and the end of the turn.
    pub(super) behind_calls: String,
    /// Whether what opens calls begins with the quote that closes a text before them.
    pub(super) quote_opens_calls: bool,
}

/// A way with more parts is none that models write.
const MAX_PARTS: usize = 32;

/// What stands around one of these texts.
#[derive(Debug, Default)]
pub(super) struct TextBounds {
    /// What opens it. An empty one is the beginning of the turn.
    pub(super) opens: Vec<String>,
    /// Whether turns begin with it.
    pub(super) is_first: bool,
    /// What stands before that where another part does: what closes that one, and white space.
    pub(super) behind: Vec<String>,
    /// What closes it.
    pub(super) closes: Vec<String>,
    /// What closes it before another part, where nothing does, or nothing by itself.
    pub(super) ahead: Vec<SharedClose>,
    /// Whether it is written as a string of JSON.
    pub(super) is_json: bool,
}

/// The end of a text that another part shows.
#[derive(Debug, PartialEq)]
pub(super) struct SharedClose {
    /// What stands behind the text: white space, or a sign that may stand in it as well.
    pub(super) close: String,
    /// What opens the next part.
    pub(super) next: String,
}

/// One way in which a turn is written: parts, and the texts before each of them and behind the last.
struct TurnLayout {
    texts: Vec<String>,
    parts: Vec<MessagePart>,
    /// What ends the turn.
    end: String,
}

impl TurnLayout {
    fn new(node: &Node, end: &Node) -> TurnLayout {
        let mut texts = vec![String::new()];
        let mut parts = Vec::new();
        for node in node.parts().iter().chain(end.parts()) {
            parts.push(match node {
                Node::Slot(Slot::Reasoning) => MessagePart::Reasoning,
                Node::Slot(Slot::Content) => MessagePart::Content,
                Node::Calls => MessagePart::Calls,
                node => {
                    let last = texts.last_mut().expect("there is always a last text");
                    if let Node::Literal(text) | Node::Space(text) = node {
                        last.push_str(text);
                    }
                    continue;
                }
            });
            texts.push(String::new());
        }
        let end = Row::of(end.parts()).trim().to_owned();
        TurnLayout { texts, parts, end }
    }

    /// All that stands behind the last part.
    fn tail(&self) -> &str {
        self.texts.last().map_or("", |text| text.trim_end())
    }
}

impl Surroundings {
    /// What stands around the texts of a format. `None` if there is nothing by which one of them, or a call,
    /// begins or ends.
    pub(super) fn of(format: &Format, findings: &Findings) -> Option<Surroundings> {
        let calls = findings.call_parts();
        let thought = findings.reasoning.as_ref();
        let thought_close = thought.and_then(|shape| shape.close.as_deref());
        let rows = format.ways.iter();
        let rows: Vec<TurnLayout> = rows
            .map(|way| TurnLayout::new(&way.node, &way.end))
            .collect();
        // `{% for i in range(1000) %}<{{ i }}>…{% endfor %}` would make an alternative of each `<0>`, `<1>`, ….
        if rows.iter().any(|row| row.parts.len() > MAX_PARTS) {
            return None;
        }
        let head = calls.as_ref().map_or("", CallParts::first_text);
        let mut ways = Ways {
            rows,
            section: calls.as_ref().map_or("", |calls| calls.section_open.trim()),
            head: head.trim(),
            thought_close: thought_close
                .map(str::trim)
                .filter(|close| is_marker(close)),
            quoted: Vec::new(),
            ends: Vec::new(),
        };
        for slot in &format.json_strings {
            ways.take_quotes(match slot {
                Slot::Reasoning => MessagePart::Reasoning,
                _ => MessagePart::Content,
            });
        }
        let quote_opens_calls = ways.move_quote_out_of_calls();
        for row in &mut ways.rows {
            // From here on, a marker of several parts is one, and nothing cuts it.
            for text in row.texts.iter_mut().chain([&mut row.end]) {
                *text = format.lexicon.mark(text);
            }
        }
        ways.add_empty_reasoning();
        ways.ends = ways.ends_of_turns();
        let content = ways.around(MessagePart::Content).ok()?;
        Some(Surroundings {
            reasoning: ways.around(MessagePart::Reasoning).ok()?,
            content: content.filter(|around| !around.opens.contains(&String::new())),
            behind_calls: ways.behind_calls(),
            quote_opens_calls,
            ends: ways.ends,
        })
    }
}

/// The ways of a format, and how its calls begin.
struct Ways<'c> {
    rows: Vec<TurnLayout>,
    /// What opens all calls of a turn.
    section: &'c str,
    /// What opens a call.
    head: &'c str,
    /// The marker that is found to close reasoning.
    thought_close: Option<&'c str>,
    /// The parts that are strings of JSON.
    quoted: Vec<MessagePart>,
    /// What ends a turn.
    ends: Vec<String>,
}

impl Ways<'_> {
    /// Makes the quotes around a text a part of it, if it has them in all ways.
    fn take_quotes(&mut self, part: MessagePart) {
        let head = self.head;
        let is_quoted = |row: &TurnLayout, at: usize| {
            let (before, behind) = (&row.texts[at], &row.texts[at + 1]);
            // What opens calls may begin with the quote: `", "do": [`.
            let calls_follow =
                behind.is_empty() && row.parts.get(at + 1) == Some(&MessagePart::Calls);
            before.ends_with('"')
                && (behind.starts_with('"') || calls_follow && head.starts_with('"'))
        };
        let places = |row: &TurnLayout| {
            (0..row.parts.len())
                .filter(|at| row.parts[*at] == part)
                .collect::<Vec<_>>()
        };
        let all = self
            .rows
            .iter()
            .all(|row| places(row).into_iter().all(|at| is_quoted(row, at)));
        if !all {
            return;
        }
        self.quoted.push(part);
        for row in &mut self.rows {
            for at in places(row) {
                row.texts[at].pop();
                // Before calls that begin with it, it is taken from them.
                if !row.texts[at + 1].is_empty() {
                    row.texts[at + 1].remove(0);
                }
            }
        }
    }

    /// Where what opens calls begins with the quote that closes a string, takes it for a part of what stands before.
    fn move_quote_out_of_calls(&mut self) -> bool {
        let Some(head) = self
            .head
            .strip_prefix('"')
            .filter(|_| !self.quoted.is_empty())
        else {
            return false;
        };
        self.head = head.trim();
        for row in &mut self.rows {
            let Some(at) = row
                .parts
                .iter()
                .position(|part| *part == MessagePart::Calls)
            else {
                continue;
            };
            let before = at.checked_sub(1).map(|before| row.parts[before]);
            if before.is_none_or(|part| !self.quoted.contains(&part)) || !row.texts[at].is_empty() {
                row.texts[at].push('"');
            }
        }
        true
    }

    /// What all ways end with, from the first marker or word of it on; or else all that any way ends with. Where all
    /// end with the same part, what closes that may stand before the last marker.
    fn ends_of_turns(&self) -> Vec<String> {
        let tails: Vec<&str> = self.rows.iter().map(TurnLayout::tail).collect();
        let shared = tails
            .iter()
            .copied()
            .reduce(|shared, tail| shared_end(shared, tail));
        let own: Vec<&str> = pieces(shared.unwrap_or_default()).collect();
        let last = self.rows.first().map(|row| row.parts.last());
        let is_same = self.rows.iter().all(|row| Some(row.parts.last()) == last);
        let start = match is_same {
            true => own.iter().rposition(|piece| is_marker(piece)),
            // Where turns end with different parts, what closes these is not shared: all that is shared ends turns.
            false => own
                .iter()
                .position(|piece| is_marker(piece) || piece.contains(char::is_alphanumeric)),
        };
        let shared = own[start.unwrap_or(0)..].concat();
        // Words may end turns, behind a marker that closes the last part.
        // Where an engine stops at the word and cuts it off, `</a>` alone has to close a text in `<a>…</a>\nEND`.
        let end = self.rows.first().map_or("", |row| row.end.as_str());
        let is_shared = unlikely_in_prose(end) && self.rows.iter().all(|row| row.end == end);
        let shared = match is_shared && shared.trim_end().ends_with(end) {
            true => end.to_owned(),
            false => shared.trim().to_owned(),
        };
        let mut ends = match shared.is_empty() {
            true => tails.iter().map(|tail| tail.trim().to_owned()).collect(),
            false => vec![shared],
        };
        dedup(&mut ends);
        ends
    }

    /// What stands behind the last part of a turn and before its end.
    fn before_end<'r>(&self, row: &'r TurnLayout) -> &'r str {
        let tail = row.tail();
        let mut ends = self.ends.iter();
        let before = ends.find_map(|end| tail.strip_suffix(end.as_str()));
        before.unwrap_or(tail)
    }

    /// What stands between calls and the end of the turn in all ways that end with them.
    fn behind_calls(&self) -> String {
        let rows = self.rows.iter();
        let with_calls = rows.filter(|row| row.parts.last() == Some(&MessagePart::Calls));
        let mut behind: Vec<String> = with_calls
            .map(|row| self.before_end(row).trim().to_owned())
            .collect();
        dedup(&mut behind);
        // Where it is another text in some way, none of them closes calls for sure.
        match <[String; 1]>::try_from(behind) {
            Ok([only]) => only,
            Err(_) => String::new(),
        }
    }

    /// Where turns have no reasoning and begin as if they had, puts in an empty one.
    fn add_empty_reasoning(&mut self) {
        // Beside `<t>Why.</t>Yes.`, a turn `<t></t>Yes.` has a thought with nothing in it. Else `<t></t>` would open
        // the answer.
        let owned = |texts: Vec<&str>| texts.into_iter().map(str::to_owned).collect::<Vec<_>>();
        let opens = owned(self.starts(MessagePart::Reasoning));
        let closes = owned(self.closers(MessagePart::Reasoning));
        // As a string of JSON, a thought with nothing in it is `""`.
        let nothing = match self.quoted.contains(&MessagePart::Reasoning) {
            true => "\"\"",
            false => "",
        };
        let mut behind = closes;
        behind.extend(owned(vec![
            self.shared_behind(MessagePart::Reasoning),
            self.section,
            self.head,
        ]));
        dedup(&mut behind);
        let without = |row: &&mut TurnLayout| !row.parts.contains(&MessagePart::Reasoning);
        for row in self.rows.iter_mut().filter(without) {
            let first = row.texts[0].trim_start();
            let empty = opens.iter().filter_map(|open| {
                let rest = first.strip_prefix(open.as_str())?.trim_start();
                let rest = rest.strip_prefix(nothing)?;
                // Only if what follows may stand behind a thought was one meant here.
                let goes_on = behind.iter().any(|text| rest.starts_with(text.trim()));
                goes_on.then(|| (open.clone(), rest.to_owned()))
            });
            if let Some((open, rest)) = empty.min_by_key(|(_, rest)| rest.len()) {
                row.texts[0] = open;
                row.texts.insert(1, rest);
                row.parts.insert(0, MessagePart::Reasoning);
            }
        }
    }

    /// The parts of this kind, with the ways in which they stand and their numbers there.
    fn places(&self, part: MessagePart) -> impl Iterator<Item = (&TurnLayout, usize)> {
        self.rows.iter().flat_map(move |row| {
            let places = row.parts.iter().enumerate();
            let places = places.filter(move |(_, one)| **one == part);
            places.map(move |(at, _)| (row, at))
        })
    }

    /// What turns begin with before a part; before calls, what opens them all.
    fn starts(&self, part: MessagePart) -> Vec<&str> {
        if part == MessagePart::Calls {
            return vec![self.section];
        }
        let first = self.places(part).filter(|(_, at)| *at == 0);
        first.map(|(row, _)| row.texts[0].trim()).collect()
    }

    /// What closes a part before calls and at the end of turns.
    fn closers(&self, part: MessagePart) -> Vec<&str> {
        let closers = self.places(part).filter_map(|(row, at)| {
            let text = row.texts[at + 1].trim();
            match row.parts.get(at + 1) {
                Some(MessagePart::Calls) => {
                    Some(text.strip_suffix(self.section).unwrap_or(text).trim())
                }
                // What stands before another text may open that.
                Some(_) => None,
                None => Some(text),
            }
        });
        closers.filter(|close| !close.is_empty()).collect()
    }

    /// What all that stands behind a part begins with.
    fn shared_behind(&self, part: MessagePart) -> &str {
        let behind = self.places(part).map(|(row, at)| row.texts[at + 1].trim());
        let shared = behind.reduce(|shared, text| shared_start(shared, text));
        shared.unwrap_or_default().trim_end()
    }

    /// What stands around a text, if there is any.
    fn around(&self, part: MessagePart) -> Result<Option<TextBounds>, Inseparable> {
        let mut around = TextBounds {
            is_json: self.quoted.contains(&part),
            ..TextBounds::default()
        };
        for (row, at) in self.places(part) {
            self.add_open(row, at, &mut around);
            self.add_close(row, at, &mut around)?;
        }
        let begins_turn = around.opens.iter().any(String::is_empty);
        let is_there = !around.opens.is_empty();
        for texts in [&mut around.opens, &mut around.closes] {
            dedup(texts);
        }
        // What may open the next part is left to it.
        let opens_next = |close: &str| {
            let mut ahead = around.ahead.iter();
            ahead.any(|ahead| close.trim().starts_with(ahead.next.trim()))
        };
        around.closes.retain(|close| !opens_next(close));
        // The start of a turn has no text to be told by: what has one is tried before it.
        around.opens.extend(begins_turn.then(String::new));
        Ok(is_there.then_some(around))
    }

    /// Adds what opens a text in one place.
    fn add_open(&self, row: &TurnLayout, at: usize, around: &mut TextBounds) {
        let open = match at.checked_sub(1) {
            None => {
                around.is_first = true;
                row.texts[0].as_str()
            }
            Some(before) => {
                let (behind, open) = self.between(row, before);
                around.behind.push(behind.to_owned());
                open
            }
        };
        around.opens.push(open.trim().to_owned());
    }

    /// Adds what closes a text in one place.
    fn add_close(
        &self,
        row: &TurnLayout,
        at: usize,
        around: &mut TextBounds,
    ) -> Result<(), Inseparable> {
        if at + 1 == row.parts.len() {
            around.closes.push(self.last_close(row));
            return Ok(());
        }
        let (close, next) = self.between(row, at);
        let mut next = next.to_owned();
        // A sign that is common opens calls only where one of them begins.
        if row.parts[at + 1] == MessagePart::Calls && !unlikely_in_prose(&next) {
            next = format!("{} {}", next.trim_end(), self.head);
        }
        let is_blank = close.trim().is_empty();
        // In a string of JSON a quote has a backslash, so even a comma is clear behind one that has none.
        let is_clear = unlikely_in_prose(close) || around.is_json && !is_blank;
        match (is_clear, is_blank, next.trim().is_empty()) {
            // With nothing behind it that opens the next part, even a common sign is all that closes a text.
            (true, ..) | (_, false, true) => around.closes.push(close.trim_end().to_owned()),
            // `{{ thought }}{{ answer }}` can't be taken apart by anybody.
            (false, true, true) => return Err(Inseparable),
            // `~~` may stand in a text, and closes one only before `Answer:`.
            (false, _, false) => {
                let close = close.to_owned();
                let ahead = SharedClose { close, next };
                if !around.ahead.contains(&ahead) {
                    around.ahead.push(ahead);
                }
            }
        }
        Ok(())
    }

    /// What stands between a part of a way and the next, cut into what closes the first and what opens the
    /// second, with the white space between them in the first. It is cut before what opens the second at the
    /// beginning of turns; or else behind what is known to close the first; or else behind what everything behind
    /// that begins with.
    fn between<'r>(&self, row: &'r TurnLayout, at: usize) -> (&'r str, &'r str) {
        let (part, next) = (row.parts[at], row.parts[at + 1]);
        let whole = row.texts[at + 1].as_str();
        let text = whole.trim_end();
        let starts = self.starts(next);
        let ends_with = starts
            .iter()
            .filter(|start| !start.is_empty() && text.ends_with(**start));
        // Where `<a:` opens turns as well as `<a:b:`, the longer one opens the next part.
        if let Some(length) = ends_with.map(|start| start.len()).max() {
            return text.split_at(text.len() - length);
        }
        // It begins turns with nothing at all.
        if next == MessagePart::Calls || starts.contains(&"") {
            return (whole, "");
        }
        let lead = text.len() - text.trim_start().len();
        let closers = self.closers(part).into_iter();
        // With `<t></t><a>` in every turn, no way shows where the first marker ends: what closes thoughts is known
        // from elsewhere.
        let found = self
            .thought_close
            .filter(|_| part == MessagePart::Reasoning);
        let closers = closers
            .chain(found)
            .filter(|close| text[lead..].starts_with(close));
        let close = closers.max_by_key(|close| close.len());
        let close = close.unwrap_or_else(|| self.shared_behind(part));
        // A closer that takes all of it leaves nothing to open the next part: then all of it opens that.
        match text[lead..].len() > close.len() {
            true => text.split_at(lead + close.len()),
            false => text.split_at(lead),
        }
    }

    /// What closes the last part of a turn: what stands before the turn's end; or all up to there, if that is
    /// nothing, or a sign that may stand in a text.
    fn last_close(&self, row: &TurnLayout) -> String {
        let own = self.before_end(row);
        let is_json = row
            .parts
            .last()
            .is_some_and(|part| self.quoted.contains(part));
        match !own.trim().is_empty() && (is_json || unlikely_in_prose(own)) {
            true => own.to_owned(),
            false => row.tail().to_owned(),
        }
    }
}

/// Nothing separates a text from what follows.
struct Inseparable;

#[cfg(test)]
mod tests {
    use crate::chat_template::{ChatTemplate, RenderInput};

    use super::*;

    /// What stands around the texts of a format without calls.
    fn of(assistant: &str) -> Option<Surroundings> {
        of_turns(assistant, "<end>")
    }

    fn of_turns(assistant: &str, end: &str) -> Option<Surroundings> {
        let jinja = format!(
            "{{% for m in messages %}}<{{{{ m.role }}}}>{{% if m.role == 'assistant' %}}{assistant}\
             {{% else %}}{{{{ m.content }}}}{{% endif %}}{end}{{% endfor %}}\
             {{% if add_generation_prompt %}}<assistant>{{% endif %}}"
        );
        let chat = ChatTemplate::from_jinja(&jinja);
        let found = Findings::with_format(&chat, &RenderInput::default());
        let (findings, format, _) = found.expect("it renders a question");
        Surroundings::of(&format, &findings)
    }

    fn shown(around: Option<&TextBounds>) -> String {
        let Some(around) = around else {
            return "nothing".to_owned();
        };
        let ahead = around.ahead.iter();
        let ahead: Vec<String> = ahead
            .map(|ahead| format!("{}{}", ahead.close, ahead.next))
            .collect();
        let [opens, closes, ahead] =
            [&around.opens, &around.closes, &ahead].map(|texts| texts.join("|"));
        let quoted = if around.is_json { ", as JSON" } else { "" };
        format!("{opens} to [{closes}] before [{ahead}]{quoted}")
    }

    #[test]
    fn what_stands_between_texts_is_cut_in_two() {
        for (thought, text, expected) in [
            ("<t>R</t>", "C", ["<t> to [</t>] before []", "nothing"]),
            (
                "T: R\n",
                "A: C",
                ["T: to [] before [\nA:]", "A: to [<end>] before []"],
            ),
            (
                "T: R\n~~\n",
                "A: C",
                ["T: to [] before [\n~~\nA:]", "A: to [<end>] before []"],
            ),
            (
                "<a: R\n",
                "<a:b: C",
                ["<a: to [] before [\n<a:b:]", "<a:b: to [<end>] before []"],
            ),
            ("R<mid>", "C", [" to [<mid>] before []", "nothing"]),
        ] {
            let thought = thought.replace('R', "{{ m.reasoning_content }}");
            let text = text.replace('C', "{{ m.content }}");
            let assistant = format!("{{% if m.reasoning_content %}}{thought}{{% endif %}}{text}");
            let found = of(&assistant).expect("texts are separate");
            let found = [found.reasoning.as_ref(), found.content.as_ref()].map(shown);
            assert_eq!(found, expected, "{assistant}");
        }
    }

    #[test]
    fn quotes_of_json_belong_to_their_texts_and_what_closes_a_thought_opens_none() {
        for (assistant, expected) in [
            (
                "{{ '{\"t\": ' + (m.reasoning_content or '') | tojson + ', \"a\": ' + m.content | tojson + '}' }}",
                [
                    r#"{"t": to [] before [, "a":], as JSON"#,
                    r#", "a": to [}] before [], as JSON"#,
                ],
            ),
            (
                "<t>{{ m.reasoning_content }}</t><a>{{ m.content | tojson }}</a>",
                [
                    "<t> to [</t>] before []",
                    "<a> to [</a>] before [], as JSON",
                ],
            ),
        ] {
            let found = of(assistant).expect("texts are separate");
            let found = [found.reasoning.as_ref(), found.content.as_ref()].map(shown);
            assert_eq!(found, expected, "{assistant}");
        }
    }

    #[test]
    fn words_end_turns_behind_what_closes_their_last_part() {
        let found = of_turns("<a>{{ m.content | tojson }}</a>", "\nEND_MESSAGE\n");
        let found = found.expect("there is a text");
        assert_eq!(found.ends, ["END_MESSAGE"]);
        let expected = "<a> to [</a>] before [], as JSON";
        assert_eq!(shown(found.content.as_ref()), expected);
    }

    #[test]
    fn nothing_is_said_of_texts_that_touch_or_are_too_many() {
        let touching = "{{ m.reasoning_content }}{{ m.content }}";
        let many = "{% for i in range(100) %}<{{ i }}>{{ m.content }}{% endfor %}";
        for assistant in [touching, many] {
            assert!(of(assistant).is_none(), "{assistant}");
        }
    }
}
