//! What stands between a message and the turn of the assistant that follows it.

use super::assistant_turn::AssistantTurn;
use super::turn_prober::{PrecedingMessages, RenderedTurn, ThinkingMode, TurnProber};
use crate::markers::lexicon::unmarked;
use crate::markers::{self, common_prefix, from_last_marker, shared_end, solid_pieces, thinks};

/// What stands between the message before a turn and the turn, behind some messages and in a mode.
#[derive(Debug, Clone)]
struct TurnHeader {
    preceding: PrecedingMessages,
    mode: ThinkingMode,
    /// In a conversation that goes on with the turn.
    in_conversation: String,
    /// In a prompt. Some templates say more there.
    in_prompt: String,
    /// The last marker of the message before, or of what comes before that.
    before: Option<String>,
}

/// What stands before the turn behind all messages that the template can render.
#[derive(Debug, Clone, Default)]
pub(crate) struct TurnHeaders(Vec<TurnHeader>);

impl TurnHeaders {
    /// Finds what the prompt and the turns behind the same messages have in common. The first of the turns is
    /// one of text alone, which is the word.
    pub(crate) fn of(prober: &TurnProber<'_>, turns: &[AssistantTurn], word: &str) -> TurnHeaders {
        let mut headers = Vec::new();
        for preceding in PrecedingMessages::ALL {
            let modes = ThinkingMode::ALL.iter();
            let mut found: Vec<TurnHeader> = modes
                .filter_map(|&mode| TurnHeader::of(prober, turns, word, preceding, mode))
                .collect();
            // In this order: a header that is still blank would be no measure of where the others end.
            find_again(prober, &turns[0], word, &mut found);
            cut_to_shortest(&mut found);
            let before = prober.no_prompt(preceding, ThinkingMode::Unset);
            // `<end>\n` stands behind the question without a prompt, too: the modes have to share more than that.
            let before = before.map_or(0, |turn| turn.tail().len());
            cut_to_shared(&mut found, before);
            headers.extend(found);
        }
        TurnHeaders(headers)
    }

    /// What stands before a turn behind some messages and in a mode.
    pub(crate) fn header(&self, preceding: PrecedingMessages, mode: ThinkingMode) -> &str {
        let found = self.find(preceding, mode);
        found.map_or("", |header| header.in_conversation.as_str())
    }

    fn find(&self, preceding: PrecedingMessages, mode: ThinkingMode) -> Option<&TurnHeader> {
        let behind_these = || self.0.iter().filter(|header| header.preceding == preceding);
        let exact = behind_these().find(|header| header.mode == mode);
        // A mode in which the template renders nothing is taken to begin as the others do.
        exact.or_else(|| behind_these().next())
    }

    /// The turn itself, out of all that follows the message before it.
    pub(crate) fn body<'a>(
        &self,
        tail: &'a str,
        preceding: PrecedingMessages,
        mode: ThinkingMode,
    ) -> &'a str {
        let Some(header) = self.find(preceding, mode) else {
            return tail;
        };
        // A whole header may end amid a piece, as `▁go▁` does in `▁go▁▁think▁`. Where turns of text begin in another
        // way than prompts do, turns of calls may begin as prompts.
        let whole = [&header.in_conversation, &header.in_prompt];
        let mut whole = whole
            .into_iter()
            // An empty header begins every text.
            .filter(|header| !header.is_empty())
            .filter_map(|header| tail.strip_prefix(header.as_str()));
        if let Some(body) = whole.next() {
            return body;
        }
        match common_prefix(&header.in_conversation, tail) {
            // A prompt with `\n  [bot] ` and turns with `\n[bot]   ` share a line break, and have the same header.
            shared if tail[..shared].trim().is_empty() => {
                behind_ignoring_space(tail, &header.in_conversation).unwrap_or(&tail[shared..])
            }
            shared => &tail[shared..],
        }
    }

    /// A turn as the template writes it, from behind its header on.
    pub(super) fn turn(
        &self,
        prober: &TurnProber<'_>,
        preceding: PrecedingMessages,
        assistant: &AssistantTurn,
        mode: ThinkingMode,
    ) -> Option<String> {
        let turn = prober.turn(preceding, assistant, mode).ok()?;
        Some(self.body(turn.tail(), preceding, mode).to_owned())
    }

    /// The turn itself behind a prompt, which may have written a part of it with other white space.
    pub(crate) fn body_behind<'a>(
        &self,
        prompt: &RenderedTurn,
        tail: &'a str,
        preceding: PrecedingMessages,
        mode: ThinkingMode,
    ) -> &'a str {
        let body = self.body(tail, preceding, mode);
        let header = self.find(preceding, mode);
        let header = header.map_or("", |header| header.in_prompt.as_str());
        // `[bot] [/mull]` in a prompt may be `[bot]    [/mull]` in a turn: what is left of the turn begins behind it.
        let written = prompt.tail().strip_prefix(header).unwrap_or_default();
        behind_ignoring_space(body, written).unwrap_or(body)
    }

    /// Whether prompts say more before a turn than conversations do.
    pub(crate) fn differ(&self, preceding: PrecedingMessages, mode: ThinkingMode) -> bool {
        let mut behind_these = self.0.iter().filter(|header| header.preceding == preceding);
        behind_these.any(|header| header.mode == mode && header.in_conversation != header.in_prompt)
    }

    /// Takes what opens reasoning out of what stands before turns, unless it is no more than a part of a marker
    /// there, as `>` is of `<bot>`.
    pub(crate) fn shorten(&mut self, open: &str) {
        for header in &mut self.0 {
            for header in [&mut header.in_conversation, &mut header.in_prompt] {
                let bounds = markers::boundaries(header);
                // `>` opens a thought, and ends `<bot>`: cut there, the header would be `<bot`.
                let is_whole = |at: &usize| {
                    let mut ends = [*at, at + open.len()].into_iter();
                    ends.all(|end| bounds.binary_search(&end).is_ok())
                };
                let mut places = header.rmatch_indices(open).map(|(at, _)| at);
                if let Some(at) = places.find(is_whole) {
                    header.truncate(at);
                }
            }
        }
    }

    /// The same without the brackets around [markers that consist of several parts](crate::markers::lexicon).
    pub(super) fn unmarked(mut self) -> TurnHeaders {
        for header in &mut self.0 {
            let before = header.before.iter_mut();
            let texts = [&mut header.in_conversation, &mut header.in_prompt].into_iter();
            texts.chain(before).for_each(|text| *text = unmarked(text));
        }
        self
    }

    /// What prompts write of the turn after its header.
    pub(crate) fn prompt_remainders(
        &self,
        prober: &TurnProber<'_>,
        preceding: &[PrecedingMessages],
    ) -> Vec<String> {
        let headers = self.0.iter();
        let headers = headers.filter(|header| preceding.contains(&header.preceding));
        let remainders = headers.filter_map(|header| header.prompt_remainder(prober));
        let mut remainders: Vec<String> = remainders.collect();
        remainders.sort_unstable();
        remainders.dedup();
        remainders
    }

    /// What the prompt behind a question writes of the turn after its header, in a mode.
    pub(super) fn prompt_remainder(
        &self,
        prober: &TurnProber<'_>,
        mode: ThinkingMode,
    ) -> Option<String> {
        let header = self.find(PrecedingMessages::Question, mode)?;
        header.prompt_remainder(prober)
    }

    pub(crate) fn all_prompt_remainders(&self, prober: &TurnProber<'_>) -> Vec<String> {
        self.prompt_remainders(prober, &PrecedingMessages::ALL)
    }

    /// The shortest texts after which a turn begins, whatever messages come before.
    pub(crate) fn headers(&self, prober: &TurnProber<'_>) -> Vec<String> {
        let mut headers: Vec<String> = Vec::new();
        for header in &self.0 {
            let header = own_header(prober, header);
            if !header.is_empty() && !headers.contains(&header) {
                headers.push(header);
            }
        }
        // One that ends like another says no more than that.
        let all = headers.clone();
        headers.retain(|header| {
            let shorter = |other: &String| other != header && header.ends_with(other.as_str());
            !all.iter().any(shorter)
        });
        headers
    }

    /// The last markers before the places where conversations go on with other white space than prompts do: a model that
    /// is given a conversation up to there writes the rest of the header itself.
    pub(super) fn markers_before_space(&self) -> Vec<String> {
        self.0
            .iter()
            .filter_map(TurnHeader::marker_before_space)
            .collect()
    }

    /// The last markers before the words behind which conversations go on with other white space than prompts do, where
    /// nothing else stands between: a model that is given a conversation up to there writes the whole header itself.
    pub(super) fn markers_before_header(&self) -> Vec<String> {
        // Between the question and the seam stands no marker, so the one before the question has to tell the place:
        // `<user>`.
        let seams = self.0.iter().filter(|header| {
            let shared = header.shared();
            header.differs_in_space() && markers::markers(shared).next().is_none()
        });
        let mut before: Vec<String> = seams.filter_map(|header| header.before.clone()).collect();
        markers::dedup(&mut before);
        before
    }
}

impl TurnHeader {
    fn of(
        prober: &TurnProber<'_>,
        turns: &[AssistantTurn],
        word: &str,
        preceding: PrecedingMessages,
        mode: ThinkingMode,
    ) -> Option<TurnHeader> {
        let prompt = prober.prompt(preceding, mode).ok()?;
        let mut header = prompt.tail().to_owned();
        // After a tool's answer some templates begin one kind of turn and go on with another: the
        // text says where the turn begins.
        let turns = match preceding {
            PrecedingMessages::AfterTool => &turns[..1],
            PrecedingMessages::Question | PrecedingMessages::SecondQuestion => turns,
        };
        let rendered = turns.iter();
        let rendered: Vec<_> = rendered
            .map(|assistant| prober.turn(preceding, assistant, mode).ok())
            .collect();
        // Some templates begin the turn whether or not they are asked to.
        let before = prober.no_prompt(preceding, mode).ok();
        let before = before.filter(|turn| turn.tail() != prompt.tail());
        // "<end>\n" ends the message before; its line break may be the header's as well, and tells nothing.
        let before = before.map_or(0, |turn| turn.tail().trim_end().len());
        let says_more = |text: &str| text.get(before..).is_some_and(|own| !own.trim().is_empty());
        for (at, turn) in rendered.iter().flatten().enumerate() {
            let shared = common_prefix(&header, turn.tail());
            // Some templates write nothing before turns of calls alone: these do not show what a prompt begins.
            if at == 0 || says_more(&header[..shared]) || !says_more(&header) {
                header.truncate(shared);
            }
        }
        let before_turn = &prompt.text()[..prompt.start];
        let last_marker = markers::markers(before_turn).last().map(str::to_owned);
        let same = |header: String| TurnHeader {
            preceding,
            mode,
            in_prompt: header.clone(),
            in_conversation: header,
            before: last_marker.clone(),
        };
        // A prompt that says something else before the turn has only the end in common.
        let text = rendered
            .first()?
            .as_ref()
            .and_then(|turn| turn.tail().split_once(word));
        let Some((ahead, _)) = text else {
            return Some(same(header));
        };
        // `[ask] Hi [/ask]<bot>` in a prompt, `<ask>Hi</ask><bot>` in a conversation: they share `<bot>`.
        let end = shared_end(ahead, prompt.tail());
        // Some conversations have other white space before it than prompts do, and so not even the beginning in common.
        let start = prompt.tail().len() - end.len();
        let own = prompt.tail().get(before.max(start)..);
        let has_own_end = own.is_some_and(|own| !own.trim().is_empty());
        let covers_prompt = prompt.tail().len() - header.len() <= end.len();
        let begins_alike = covers_prompt && (says_more(&header) || !has_own_end);
        // A blank or a word that both happen to end with is no header.
        if begins_alike || markers::markers(end).next().is_none() {
            // Nothing is shared up to the first white space that differs: `\n<bot>` and ` <bot>`.
            if !says_more(&header)
                && let Some((in_prompt, in_conversation)) =
                    shared_ignoring_space(prompt.tail(), ahead)
                        .filter(|(header, _)| says_more(header))
            {
                return Some(TurnHeader {
                    preceding,
                    mode,
                    in_prompt: in_prompt.to_owned(),
                    in_conversation: in_conversation.to_owned(),
                    before: last_marker,
                });
            }
            return Some(same(header));
        }
        Some(TurnHeader {
            preceding,
            mode,
            // All of it up to the text: the two have no beginning in common that could be cut.
            in_conversation: ahead.to_owned(),
            in_prompt: prompt.tail().to_owned(),
            before: last_marker,
        })
    }
}

impl TurnHeader {
    /// What the prompt writes of the turn after it.
    fn prompt_remainder(&self, prober: &TurnProber<'_>) -> Option<String> {
        let prompt = prober.prompt(self.preceding, self.mode).ok()?;
        // Where no header says where the turn begins, what is written without a prompt belongs to the messages
        // before. Some templates begin to think whether or not they are asked to.
        let without = prober.no_prompt(self.preceding, self.mode).ok();
        let without = without.filter(|without| {
            let mut unasked = markers::markers(without.tail());
            self.in_prompt.trim().is_empty() && !unasked.any(thinks)
        });
        let before = without
            .as_ref()
            .map_or(self.in_prompt.as_str(), RenderedTurn::tail);
        let rest = prompt.tail().strip_prefix(before);
        rest.map(str::to_owned)
    }

    /// The last marker before the place where a conversation goes on with other white space than a prompt does.
    fn marker_before_space(&self) -> Option<String> {
        let marker = from_last_marker(self.shared()).filter(|_| self.differs_in_space());
        marker.map(str::to_owned)
    }

    /// Whether a conversation has other white space before the turn than a prompt has, and nothing else.
    fn differs_in_space(&self) -> bool {
        let (prompt, conversation) = (&self.in_prompt, &self.in_conversation);
        // White space may also stand within: `< bot >` in one, `<bot>` in the other.
        let solid = |text: &str| text.split_whitespace().collect::<String>();
        prompt != conversation && solid(prompt) == solid(conversation)
    }

    /// What a prompt and a conversation begin with in common.
    fn shared(&self) -> &str {
        &self.in_prompt[..common_prefix(&self.in_prompt, &self.in_conversation)]
    }
}

/// The beginning that two texts share but for white space, up to the last marker in it, as each has it; all of the second,
/// if the first has it and goes on with a marker: so a prompt has words before what it says more. `None` if neither is so.
fn shared_ignoring_space<'a, 'b>(a: &'a str, b: &'b str) -> Option<(&'a str, &'b str)> {
    let is_header = |behind: &str| {
        let piece = markers::first_piece(behind.trim_start());
        piece.is_some_and(markers::is_marker)
    };
    if let Some(behind) = behind_ignoring_space(a, b).filter(|behind| is_header(behind))
        && !b.trim().is_empty()
    {
        // The white space behind the words is theirs in both.
        let space = &b[b.trim_end().len()..];
        let rest = behind.strip_prefix(space);
        let end = rest.map_or(b.trim_end(), |_| b);
        return Some((&a[..a.len() - rest.unwrap_or(behind).len()], end));
    }
    let (mut in_a, mut in_b) = (solid_pieces(a), solid_pieces(b));
    let same = std::iter::from_fn(|| {
        let ((piece, end), (other, other_end)) = (in_a.next()?, in_b.next()?);
        (piece == other).then_some((piece, end, other_end))
    });
    // Words behind the last marker may belong to the turn.
    let markers = same.filter(|(piece, ..)| markers::is_marker(piece));
    let (_, end, other_end) = markers.last()?;
    Some((&a[..end], &b[..other_end]))
}

/// What stands in a text behind a header with which it begins but for white space.
fn behind_ignoring_space<'t>(text: &'t str, header: &str) -> Option<&'t str> {
    let mut own = solid_pieces(text);
    let mut end = None;
    for (piece, _) in solid_pieces(header) {
        let (_, other_end) = own.next().filter(|(other, _)| *other == piece)?;
        end = Some(other_end);
    }
    Some(&text[end?..])
}

/// Where a prompt says more before the header than a conversation does, and goes on behind it, the two have
/// neither their beginnings nor their ends in common. Then the header is the one of another mode.
fn find_again(
    prober: &TurnProber<'_>,
    plain: &AssistantTurn,
    word: &str,
    headers: &mut [TurnHeader],
) {
    let is_blank = |header: &TurnHeader| header.in_conversation.trim().is_empty();
    let known = headers.iter().map(|header| header.in_prompt.trim());
    let Some(known) = known.max_by_key(|known| known.len()).map(str::to_owned) else {
        return;
    };
    if known.is_empty() {
        return;
    }
    for header in headers.iter_mut().filter(|header| is_blank(header)) {
        let prompt = prober.prompt(header.preceding, header.mode);
        let turn = prober.turn(header.preceding, plain, header.mode);
        let (Ok(prompt), Ok(turn)) = (prompt, turn) else {
            continue;
        };
        let ahead = turn.tail().split_once(word).map_or("", |(ahead, _)| ahead);
        let up_to = |text: &str| Some(text[..text.rfind(&known)? + known.len()].to_owned());
        if let (Some(in_prompt), Some(in_conversation)) = (up_to(prompt.tail()), up_to(ahead)) {
            header.in_prompt = in_prompt;
            header.in_conversation = in_conversation;
        }
    }
}

/// Cuts the headers behind the same messages to what they have in common: where thinking is off, all turns
/// may begin with reasoning that is closed at once.
fn cut_to_shortest(headers: &mut [TurnHeader]) {
    // `<bot>` with thinking on and `<bot><think></think>` with it off: the empty thought is the turn's.
    let shortest = headers.iter().map(|header| header.in_conversation.as_str());
    let Some(shortest) = shortest
        .min_by_key(|header| header.len())
        .map(str::to_owned)
    else {
        return;
    };
    // A mode without a header says nothing of how long the header is in the others.
    if shortest.trim().is_empty() {
        return;
    }
    for header in headers {
        for header in [&mut header.in_conversation, &mut header.in_prompt] {
            let shortest = shortest.trim_start();
            let end = header.rfind(shortest).map(|at| at + shortest.len());
            // `[bot] [tag]` stands in `\n[bot]   [tag]` but for white space.
            let loosely = || Some(header.len() - behind_ignoring_space(header, shortest)?.len());
            if let Some(end) = end.or_else(loosely) {
                header.truncate(end);
            }
        }
    }
}

/// Cuts the headers behind the same messages to what they begin with in common, where this is more than the
/// message before has: what is another text in another mode belongs to the turn.
fn cut_to_shared(headers: &mut [TurnHeader], before: usize) {
    let Some(first) = headers.first() else {
        return;
    };
    // `<bot>\n<say>` in all prompts and `<bot><say>` in all conversations: no mode chooses here.
    let is_first = |header: &TurnHeader| {
        (&header.in_prompt, &header.in_conversation) == (&first.in_prompt, &first.in_conversation)
    };
    if first.differs_in_space() && headers.iter().all(is_first) {
        return;
    }
    // `<bot><think>` and `<bot><answer>`: what a mode chooses is a part of the turn.
    let mut shared = first.in_prompt.clone();
    for header in headers.iter() {
        for text in [&header.in_conversation, &header.in_prompt] {
            shared.truncate(common_prefix(&shared, text));
        }
    }
    if shared.len() <= before || shared[before..].trim().is_empty() {
        return;
    }
    for header in headers {
        header.in_conversation.truncate(shared.len());
        header.in_prompt.truncate(shared.len());
    }
}

/// The part of what stands before a turn that belongs to the turn and not to the message before.
fn own_header(prober: &TurnProber<'_>, header: &TurnHeader) -> String {
    // `<end>\n` stands there without a prompt, too, so it ends the message before.
    let before = prober
        .no_prompt(header.preceding, header.mode)
        .map(|turn| turn.tail().to_owned())
        .unwrap_or_default();
    let header = header.in_prompt.as_str();
    let own = header.strip_prefix(before.as_str());
    if let Some(own) = own.filter(|own| !own.trim().is_empty() && own.len() < header.len()) {
        return own.trim_start().to_owned();
    }
    // The turn begins where the message before it ends: with the last marker.
    let own = from_last_marker(header).unwrap_or_else(|| header.trim_start());
    own.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::{asked, found};
    use crate::chat_template::ChatTemplate;

    fn header(in_conversation: &str, in_prompt: &str) -> TurnHeader {
        TurnHeader {
            preceding: PrecedingMessages::Question,
            mode: ThinkingMode::On,
            in_conversation: in_conversation.to_owned(),
            in_prompt: in_prompt.to_owned(),
            before: Some("<user>".to_owned()),
        }
    }

    fn same<const N: usize>(texts: [&str; N]) -> [TurnHeader; N] {
        texts.map(|text| header(text, text))
    }

    #[test]
    fn headers_begin_alike_up_to_their_last_marker_whatever_their_white_space() {
        for (a, b, expected) in [
            ("\n<bot>", " <bot>", Some(("\n<bot>", " <bot>"))),
            (
                "[bot] [tag] x",
                "[bot]   [tag]",
                Some(("[bot] [tag]", "[bot]   [tag]")),
            ),
            // Words behind the last marker may belong to the turn.
            ("<bot> So", "<bot>\nSo", Some(("<bot>", "<bot>"))),
            // Words are a header where a marker stands behind them in a prompt.
            ("Bot: ", "Bot:\n", None),
            (
                "\n\nBot: <m></m>",
                "\nBot: ",
                Some(("\n\nBot: ", "\nBot: ")),
            ),
            ("Bot: So", "Bot:\n", None),
            ("Bot ", "Bot\n", None),
            ("<bot>", "<tag><bot>", None),
        ] {
            assert_eq!(shared_ignoring_space(a, b), expected, "{a:?} {b:?}");
        }
    }

    #[test]
    fn what_stands_behind_a_header_is_found_whatever_its_white_space() {
        for (text, header, expected) in [
            ("[bot]   [tag] x", "[bot] [tag]", Some(" x")),
            ("\n<bot>x", "<bot>\n", Some("x")),
            ("[bot] x", "[bot] [tag]", None),
            ("x", "\n", None),
        ] {
            assert_eq!(behind_ignoring_space(text, header), expected, "{text:?}");
        }
    }

    #[test]
    fn a_header_is_taken_from_its_last_marker_on() {
        for (text, expected) in [
            ("<end>\n<bot>\n", Some("<bot>\n")),
            ("<bot>Sir, ", Some("<bot>Sir, ")),
            ("Bot: ", None),
        ] {
            assert_eq!(from_last_marker(text), expected, "{text:?}");
        }
    }

    #[test]
    fn headers_of_all_modes_end_where_the_shortest_does() {
        for (texts, expected) in [
            (["<bot>", "<bot><m></m>"], ["<bot>", "<bot>"]),
            (
                ["<end>\n<bot>", "<bot><m></m>"],
                ["<end>\n<bot>", "<bot><m></m>"],
            ),
            (
                [" [bot] [tag]", "\n[bot]   [tag]<m>"],
                [" [bot] [tag]", "\n[bot]   [tag]"],
            ),
            // A mode without a header is no measure of the others.
            (["\n", "\n<bot>"], ["\n", "\n<bot>"]),
        ] {
            let mut headers = same(texts);
            cut_to_shortest(&mut headers);
            let found = headers.map(|header| header.in_conversation);
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn what_a_mode_chooses_belongs_to_the_turn() {
        for (texts, before, expected) in [
            (["<bot><m>", "<bot><a>"], 0, ["<bot>", "<bot>"]),
            (
                ["<end>\n<bot><m>", "<end>\n<bot>"],
                6,
                ["<end>\n<bot>", "<end>\n<bot>"],
            ),
            (["<bot>", "<tag>"], 6, ["<bot>", "<tag>"]),
            // What they share ends the message before.
            (
                ["<end>\n<m>", "<end>\n<a>"],
                6,
                ["<end>\n<m>", "<end>\n<a>"],
            ),
            (
                ["<end>\n<m>", "<end>\n<a>"],
                5,
                ["<end>\n<m>", "<end>\n<a>"],
            ),
        ] {
            let mut headers = same(texts);
            cut_to_shared(&mut headers, before);
            let found = headers.map(|header| header.in_prompt);
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn what_opens_a_thought_is_taken_out_of_headers_as_a_whole() {
        for (text, open, expected) in [
            ("<bot><m>", "<m>", "<bot>"),
            ("<m><bot><m>\n", "<m>", "<m><bot>"),
            ("<bot>", "<m>", "<bot>"),
            // `>` opens a thought, and ends `<bot>`.
            ("<bot>", ">", "<bot>"),
            ("<bot> > ", ">", "<bot> "),
        ] {
            let mut headers = TurnHeaders(same([text]).into());
            headers.shorten(open);
            assert_eq!(headers.0[0].in_prompt, expected, "{text} {open}");
        }
    }

    #[test]
    fn a_seam_is_where_conversations_go_on_with_other_white_space() {
        for (in_conversation, in_prompt, expected, before) in [
            ("<end><bot>\n", "<end><bot> ", &["<bot>"][..], &[][..]),
            // Nothing tells of such a place but the marker before the question.
            ("\nBot: ", " Bot: ", &[], &["<user>"]),
            ("<end><bot>", "<end><bot>", &[], &[]),
            ("<end><bot>", "<end><bot><m>", &[], &[]),
        ] {
            let headers = TurnHeaders(vec![header(in_conversation, in_prompt)]);
            assert_eq!(headers.markers_before_space(), expected, "{in_prompt}");
            assert_eq!(headers.markers_before_header(), before, "{in_prompt}");
        }
    }

    #[test]
    fn the_turn_itself_begins_behind_its_header() {
        for (in_conversation, in_prompt, tail, expected) in [
            ("<bot>", "<bot>", "<bot>Yes.", "Yes."),
            // Turns of calls may begin as prompts do.
            ("<bot><say>", "<bot>", "<bot><do>f", "<do>f"),
            // They share a line break, and have the same header.
            ("\n[bot]", "[bot]", "\n  [bot] Yes.", " Yes."),
            ("<bot>", "<bot>", "<tag>Yes.", "<tag>Yes."),
            ("", "", "<tag>Yes.", "<tag>Yes."),
            ("", "<bot>", "<bot>Yes.", "Yes."),
        ] {
            let headers = TurnHeaders(vec![header(in_conversation, in_prompt)]);
            let (preceding, mode) = (PrecedingMessages::Question, ThinkingMode::On);
            assert_eq!(headers.body(tail, preceding, mode), expected, "{tail:?}");
        }
    }

    #[test]
    fn headers_are_what_prompts_and_turns_share_behind_the_message_before() {
        for (turn, prompt, expected) in [
            ("<bot>{{ m.content }}", "<bot>", "<bot>"),
            ("<bot>{{ m.content }}", "<bot><m>", "<bot>"),
            ("\n\n<bot> {{ m.content }}", "\n\n<bot> ", "<bot> "),
            // Words that both happen to end with are no header: the turn begins where the message before it ends.
            ("So: {{ m.content }}", "Go on. So: ", "<end>"),
            ("Bot: {{ m.content }}", "Bot: ", "Bot: "),
            // What only a prompt says before its header belongs to it.
            ("<bot>{{ m.content }}", "Be brief.<bot>", "Be brief.<bot>"),
            ("{{ m.content }}", "", "<end>"),
        ] {
            let jinja = format!(
                "{{% for m in messages %}}{{% if m.role == 'assistant' %}}{turn}{{% else %}}\
                 <user>{{{{ m.content }}}}{{% endif %}}<end>{{% endfor %}}\
                 {{% if add_generation_prompt %}}{prompt}{{% endif %}}"
            );
            let headers = found(&ChatTemplate::from_jinja(jinja)).turn.headers;
            assert_eq!(headers.join("|"), expected, "{turn} {prompt}");
        }
    }

    #[test]
    fn where_a_prompt_says_more_before_and_behind_its_header_it_is_that_of_another_mode() {
        for (thinking, expected) in [
            ("Think hard.<bot><m>", "<bot>"),
            ("<bot><m>", "<bot>"),
            // It has nothing of the header.
            ("Think hard.<m>", ""),
        ] {
            let jinja = format!(
                "{{% for m in messages %}}{{{{ '<bot>' if m.role == 'assistant' else '<user>' }}}}\
                 {{{{ m.content }}}}{{% endfor %}}{{% if add_generation_prompt %}}\
                 {{% if think %}}{thinking}{{% else %}}<bot>{{% endif %}}{{% endif %}}"
            );
            let template = ChatTemplate::from_jinja(jinja);
            let found = asked(&template, |prober| {
                let word = prober.word("content");
                let turns = [AssistantTurn::content(&word)];
                let headers = TurnHeaders::of(prober, &turns, &word);
                let header = headers.header(PrecedingMessages::Question, ThinkingMode::On);
                header.to_owned()
            });
            assert_eq!(found, expected, "{thinking}");
        }
    }
}
