//! What models do to the texts that they should write.

use std::ops::Range;

use crate::analysis::assistant_turn::AssistantTurn;
use crate::analysis::{CallParts, Findings};
use crate::format::{Node, Slot};
use crate::markers::{self, unlikely_in_prose};

use super::conversations::tide_call;
use super::sample::Sample;

/// A damaged text, and what it still means.
#[derive(Debug, Clone)]
pub(super) struct Damaged {
    /// What was done to it.
    pub(super) damage: &'static str,
    pub(super) prefilled: String,
    pub(super) output: String,
    pub(super) expected: AssistantTurn,
}

/// Damages samples in all ways that leave no doubt about what was meant.
pub(super) fn all(findings: &Findings, samples: &[Sample]) -> Vec<Damaged> {
    let mut damaged = Vec::new();
    let calls = findings.call_parts();
    let begun = begun_thought(findings, samples);
    for sample in samples {
        let mut mutator = Mutator {
            findings,
            calls: calls.as_ref(),
            begun,
            sample,
            damaged: &mut damaged,
        };
        // `<call>\n{…}\n</call>` is written without its line breaks, or `<think>` with one behind it.
        mutator.white_space();
        mutator.openers();
        mutator.name_prefix();
        mutator.section();
        // Engines cut off what they have stopped at, and models leave out what closes.
        mutator.ends();
        mutator.last_value();
        mutator.tag_that_closes_itself();
        mutator.between_calls();
        // Models say something before and behind calls, whatever the chat template keeps of it.
        mutator.text_before_calls();
        mutator.token_before_calls();
        mutator.type_of_call();
        mutator.text_between_calls();
        mutator.text_behind_calls();
        mutator.cut_text();
        // Between a name and its arguments, models leave out markers or add words.
        mutator.header();
        mutator.text_alone();
        mutator.header_written();
        mutator.header_left_to_the_model();
        // A format may end answers in several ways, and an engine stops at any of them.
        mutator.other_ends();
        mutator.other_end_of_call();
        mutator.no_id();
        mutator.reasoning();
        mutator.begun_reasoning();
    }
    damaged
}

/// What a prompt writes that opens a thought.
fn begun_thought<'a>(findings: &Findings, samples: &'a [Sample]) -> Option<&'a str> {
    let shape = findings.reasoning.as_ref();
    let shape = shape.filter(|shape| shape.opened_by_prompt)?;
    let begins = |prefilled: &&str| {
        let last = markers::pieces(prefilled.trim_end()).last();
        let open = shape.open.as_deref().map_or("", str::trim);
        let is_open = !open.is_empty() && prefilled.trim_end().ends_with(open);
        is_open || last.is_some_and(|last| shape.is_opened_by(last))
    };
    let mut prefilled = samples.iter().map(|sample| sample.prefilled.as_str());
    prefilled.find(begins)
}

struct Mutator<'a, 'd> {
    findings: &'a Findings,
    calls: Option<&'a CallParts<'a>>,
    /// What a prompt writes that opens a thought.
    begun: Option<&'a str>,
    sample: &'a Sample,
    damaged: &'d mut Vec<Damaged>,
}

impl<'a> Mutator<'a, '_> {
    fn put(&mut self, damage: &'static str, output: String) {
        self.put_as(damage, output, self.sample.written.clone());
    }

    fn put_as(&mut self, damage: &'static str, output: String, expected: AssistantTurn) {
        if output != self.sample.output {
            self.damaged.push(Damaged {
                damage,
                prefilled: self.sample.prefilled.clone(),
                output,
                expected,
            });
        }
    }

    /// The sample without what ends its turn.
    fn bare(&self) -> &'a str {
        self.findings.turn.without_ends(&self.sample.output)
    }

    /// White space is lost around markers, or added.
    fn white_space(&mut self) {
        let sample = self.sample;
        if sample.written.calls.is_empty() && sample.written.reasoning.is_none() {
            return;
        }
        let (mut lost, mut added) = (sample.output.clone(), sample.output.clone());
        for text in self.structure() {
            lost = lost.replace(&text, &closed_up(&text));
            if markers::markers(&text).count() == 1 && markers::is_marker(text.trim()) {
                added = added.replace(text.trim(), &format!("{}\n", text.trim()));
            }
        }
        self.put("white space lost", lost);
        if sample.written.calls.len() < 2 {
            self.put("white space added", added);
        }
    }

    /// The texts of the format that have white space at their ends, or might have.
    fn structure(&self) -> Vec<String> {
        let mut texts = Vec::new();
        if let Some(shape) = &self.findings.reasoning {
            texts.extend(shape.open.clone());
            texts.extend(shape.close.clone());
        }
        if let Some(calls) = self.calls {
            texts.push(calls.section_open.to_string());
            texts.push(calls.section_close.to_string());
            if calls.open.nodes().len() == 1 {
                texts.extend([calls.first_text(), &calls.close].map(str::to_owned));
            }
        }
        // They are replaced wherever they stand: signs such as `: ` would be changed in what is said, too.
        texts.retain(|text| markers::markers(text).next().is_some());
        texts
    }

    /// What opens a turn's calls is left out, or the first of several markers that open a call.
    fn openers(&mut self) {
        let Some(calls) = self.calls else { return };
        // `replacen` takes the first one away, and the second call would still be opened as it should.
        if self.sample.written.calls.len() != 1 {
            return;
        }
        let section = calls.section_open.trim();
        let mut own = markers::markers(calls.first_text());
        let Some(first) = own.next() else { return };
        if !section.is_empty() {
            let output = self.sample.output.replacen(section, "", 1);
            self.put("the section's opener left out", output);
        }
        if own.next().is_some() && calls.open.has_slots() {
            let output = self.sample.output.replacen(first, "", 1);
            self.put("a call's first marker left out", output);
        }
    }

    /// What stands before each name is left out.
    fn name_prefix(&mut self) {
        let (Some(calls), [call]) = (self.calls, self.sample.written.calls.as_slice()) else {
            return;
        };
        if let Some(prefix) = calls.name_prefix() {
            let named = format!("{prefix}{}", call.name);
            let output = self.sample.output.replacen(&named, &call.name, 1);
            self.put("what stands before a name left out", output);
            if calls.has_marker_behind_name() {
                let output = self.sample.output.replacen(&named, &format!(" {named}"), 1);
                self.put("a blank before a name", output);
            }
        }
    }

    /// Nothing is called between what opens calls and what closes them, or something is said before the first.
    fn section(&mut self) {
        let Some(calls) = self.calls else { return };
        let Some([open, close]) = calls.section_markers() else {
            return;
        };
        let Sample {
            output, written, ..
        } = self.sample;
        match written.calls.as_slice() {
            _ if written.reasoning.is_some() => {}
            [] if written.content.is_some() && self.findings.content.open.is_none() => {
                let output = format!("{}\n{open}{close}", self.bare());
                self.put("no call between what opens and closes calls", output);
            }
            // One call says it as well as ten, and none of them is a reason to read texts otherwise.
            [call]
                if *call == tide_call()
                    && markers::markers(calls.first_text()).next().is_some() =>
            {
                let output = output.replacen(open, &format!("{open} Now then. "), 1);
                self.put("words behind what opens the calls", output);
            }
            _ => {}
        }
    }

    /// The end is missing: the marker of the turn's end, or all that follows the last call.
    fn ends(&mut self) {
        let output = self.sample.output.trim_end();
        let bare = self.bare();
        self.put("the turn's end missing", bare.to_owned());
        let Some(calls) = self.calls else { return };
        let written = &self.sample.written;
        if written.calls.len() == 1 && written.content.is_none() {
            // As this turn ends, which has calls.
            let end = match output[bare.len()..].trim() {
                "" => self.findings.turn.ends.first().map(String::as_str),
                own => Some(own),
            };
            let mut cuts = cut_short(calls, bare);
            // One call says it as well as ten of what is left of the end.
            if written.calls[0] != tide_call() {
                cuts.truncate(1);
            }
            for cut in cuts {
                self.put("a call's end missing", cut.to_owned());
                if let Some(end) = end {
                    self.put("a call's end missing", format!("{cut}{end}"));
                }
            }
            if let Some(output) = without_own_end(calls, bare) {
                let end = end.unwrap_or_default();
                self.put("a call's end missing", output + end);
            }
        }
    }

    /// The last value is not closed.
    fn last_value(&mut self) {
        let (Some(calls), [_]) = (self.calls, self.sample.written.calls.as_slice()) else {
            return;
        };
        let arguments = calls.single_arguments();
        let Some(arguments) = arguments.filter(|arguments| !arguments.in_python) else {
            return;
        };
        let close = arguments.close();
        // What closes a call may be the same.
        let is_told = unlikely_in_prose(close) && !calls.close.contains(close.trim());
        if let (Some(at), true) = (self.sample.output.rfind(close), is_told) {
            let (before, behind) = self.sample.output.split_at(at);
            let output = format!("{before}{}", &behind[close.len()..]);
            self.put("the last value not closed", output);
        }
    }

    /// `<call name="NAME">` has no arguments behind it, and closes itself: `<call name="NAME"/>`.
    fn tag_that_closes_itself(&mut self) {
        let Some((calls, tag)) = self
            .calls
            .and_then(|calls| Some((calls, calls.unclosed_tag()?)))
        else {
            return;
        };
        let written = &self.sample.written.calls;
        let is_only = |name: &str| written.iter().filter(|other| other.name == name).count() == 1;
        let mut without = written.iter().filter(|call| call.arguments.is_empty());
        let call = without.find(|call| is_only(&call.name));
        let Some(call) = call.filter(|_| !calls.close.trim().is_empty()) else {
            return;
        };
        let named = format!("{}{}", call.name, tag.last_text().unwrap_or_default());
        let output = &self.sample.output;
        let begun = output.find(&named).map(|at| at + named.len());
        let ended = begun.and_then(|at| {
            let close = calls.close.trim();
            output[at..].find(close).map(|end| at + end + close.len())
        });
        if let (Some(begun), Some(ended)) = (begun, ended) {
            let output = format!("{}/>{}", &output[..begun], &output[ended..]);
            self.put("a tag that closes itself", output);
        }
    }

    /// A second call follows without what should stand between them.
    fn between_calls(&mut self) {
        let Some(calls) = self.calls else { return };
        let close = &calls.close;
        if self.sample.written.calls.len() < 2 {
            return;
        }
        // In `[f(), g()]`, models put each call on a line of its own.
        if calls.is_list() {
            let written = [&**close, &calls.separator].concat();
            let changed = [close, calls.separator.trim(), "\n"].concat();
            let output = self.sample.output.replace(&written, &changed);
            self.put("a line break between two calls", output);
        }
        let end = own_end(calls, close);
        if !has_own_end(end) {
            return;
        }
        let brackets = close.trim().strip_suffix(end).unwrap_or_default();
        let output = self.sample.output.replacen(close.trim(), brackets, 1);
        self.put("a call's end missing before the next", output);
        // Where nothing opens a call, what separates it from the one before is all that tells where it begins.
        if !calls.separator.is_empty() && !calls.open.is_empty() {
            let joined = [&**close, &calls.separator].concat();
            let output = self.sample.output.replace(&joined, close);
            self.put("nothing between two calls", output);
        }
    }

    /// A text stands between two calls that have markers of their own; it is the last that counts.
    fn text_between_calls(&mut self) {
        let written = &self.sample.written;
        let (Some(calls), [_, second]) = (self.calls, written.calls.as_slice()) else {
            return;
        };
        let text = calls.first_text();
        let has_marker = markers::markers(text).next().is_some();
        // Nothing but a marker shows where such a text ends; and where `<say>` opens texts, one without it is another
        // damage.
        if written.content.is_some() || self.findings.content.open.is_some() || !has_marker {
            return;
        }
        let output = &self.sample.output;
        let name = output.rfind(&second.name);
        let Some(at) = name.and_then(|name| output[..name].rfind(text.trim())) else {
            return;
        };
        let mut output = output.clone();
        output.insert_str(at, "And now this.\n");
        let expected = written.clone().with_content("And now this.");
        self.put_as("a text between two calls", output, expected);
    }

    /// A text stands behind the calls; it is the last that counts.
    fn text_behind_calls(&mut self) {
        let sample = self.sample;
        let written = &sample.written;
        // Of two texts the last counts, so one that is there would be lost by any template.
        if written.calls.len() != 1
            || written.content.is_some()
            || self.findings.content.open.is_some()
        {
            return;
        }
        let output = format!("{}\nThat is what I ask.", self.bare());
        let expected = written.clone().with_content("That is what I ask.");
        self.put_as("a text behind the calls", output, expected);
    }

    /// The text is cut off.
    fn cut_text(&mut self) {
        let written = &self.sample.written;
        let Some(content) = written
            .content
            .as_deref()
            .filter(|_| written.calls.is_empty())
        else {
            return;
        };
        let output = &self.sample.output;
        let words = content.match_indices(' ').map(|(at, _)| at);
        let Some(half) = words.take(2).last() else {
            return;
        };
        if let Some(at) = output.find(content) {
            let expected = written.clone().with_content(&content[..half]);
            self.put_as(
                "cut off amid text",
                output[..at + half].to_owned(),
                expected,
            );
        }
    }

    /// A text stands before the calls, though the template would not write one.
    fn text_before_calls(&mut self) {
        let sample = self.sample;
        let written = &sample.written;
        if written.calls.is_empty()
            || written.content.is_some()
            || self.findings.content.open.is_some()
        {
            return;
        }
        let Some(at) = self.calls_start(&sample.output) else {
            return;
        };
        let mut output = sample.output.clone();
        output.insert_str(at, "Let us see.\n");
        let expected = written.clone().with_content("Let us see.");
        self.put_as("a text before the calls", output, expected);
    }

    /// A token that the template never writes says that calls follow, which nothing else opens.
    fn token_before_calls(&mut self) {
        let sample = self.sample;
        let is_bare = self.calls.is_some_and(CallParts::is_bare_object);
        let written = &sample.written;
        let calls_alone = written.content.is_none() && written.reasoning.is_none();
        if is_bare && calls_alone && sample.output.trim_start().starts_with('{') {
            // Some models write such a token, which no chat template has: as a text, it would stand before the call.
            let output = format!("<|json_call|>{}", sample.output);
            self.put("a token before the calls", output);
        }
    }

    /// An object that is a call begins with its type, as interfaces have it.
    fn type_of_call(&mut self) {
        let calls = self.calls.filter(|calls| calls.is_bare_object());
        let keys = calls.and_then(CallParts::keys);
        let Some(first) = keys.and_then(|keys| keys.all.first().copied()) else {
            return;
        };
        let (own, typed) = (
            format!("{{\"{first}\":"),
            format!("{{\"type\": \"function\", \"{first}\":"),
        );
        let sample = self.sample;
        if first != "type" && sample.written.calls.len() == 1 {
            let output = sample.output.replacen(&own, &typed, 1);
            self.put("the type of a call in its object", output);
        }
    }

    /// An answer stands without the markers around texts.
    fn text_alone(&mut self) {
        let shape = &self.findings.content;
        let written = &self.sample.written;
        let (Some(open), Some(content)) = (&shape.open, &written.content) else {
            return;
        };
        let is_marker = markers::is_closed(open.trim());
        let around = self.sample.output.split_once(content.as_str());
        let (Some((before, after)), true) = (around, is_marker && written.calls.is_empty()) else {
            return;
        };
        let Some(before) = before.trim_end().strip_suffix(open.trim()) else {
            return;
        };
        let closed = |close: &String| after.trim_start().strip_prefix(close.trim());
        let after = shape.close.iter().find_map(closed).unwrap_or(after);
        let output = format!("{before}{content}{after}");
        self.put("a text without its markers", output);
    }

    /// The turn's header stands in front of an answer, where a turn may begin without it: then a prompt may lack it, too.
    fn header_written(&mut self) {
        let written = &self.sample.written;
        let headers = &self.findings.turn.headers;
        // A header of words, as `Assistant:`, may as well be said: an answer that begins with it has lost nothing.
        let Some(header) = headers.iter().find(|header| {
            markers::markers(header).next().is_some() && !markers::reads_like_prose(header.trim())
        }) else {
            return;
        };
        let is_other = |other: &String| !other.contains(header.trim());
        let is_answer = written.calls.is_empty() && written.reasoning.is_none();
        if headers.iter().any(is_other) && is_answer && written.content.is_some() {
            let output = format!("{header}{}", self.sample.output);
            self.put("the turn's header written again", output);
        }
    }

    /// The model writes the turn's header itself, where but for white space a conversation without it is as one with it.
    fn header_left_to_the_model(&mut self) {
        let turn = &self.findings.turn;
        // Only where a conversation goes on with other white space than its prompt may a model write the header
        // itself.
        let header = turn
            .headers
            .first()
            .filter(|_| !turn.before_seams.is_empty());
        let Some(header) = header else { return };
        let Sample {
            prefilled, output, ..
        } = self.sample;
        self.damaged.push(Damaged {
            damage: "the turn's header left to the model",
            prefilled: String::new(),
            output: format!("{header}{prefilled}{output}"),
            expected: self.sample.written.clone(),
        });
    }

    /// An answer, or a turn with a call, ends with another of the markers that end one, as engines have a token for it.
    fn other_ends(&mut self) {
        let Sample {
            output, written, ..
        } = self.sample;
        let (damage, own, bare) = match (written.calls.as_slice(), &written.content) {
            ([], Some(content)) => {
                let Some((before, _)) = output.split_once(content.as_str()) else {
                    return;
                };
                let own = self.findings.content.close.as_slice();
                (
                    "another end of an answer",
                    own,
                    format!("{before}{content}"),
                )
            }
            ([_], None) => {
                let bare = self.bare().to_owned();
                ("another end of a turn with a call", &[][..], bare)
            }
            _ => return,
        };
        let ends = self.findings.turn.all_ends().chain(own);
        for end in ends
            .map(|end| end.trim())
            .filter(|end| !output.contains(end))
        {
            self.put(damage, format!("{bare}{end}"));
        }
    }

    /// A call ends the turn with what ends an answer.
    fn other_end_of_call(&mut self) {
        let (Some(calls), [_]) = (self.calls, self.sample.written.calls.as_slice()) else {
            return;
        };
        let close = calls.close.trim();
        let output = self.sample.output.trim_end();
        let Some(before) = output.strip_suffix(close).filter(|_| has_own_end(close)) else {
            return;
        };
        for end in &self.findings.content.close {
            if end.trim() != close && unlikely_in_prose(end) {
                self.put("a call ends as an answer does", format!("{before}{end}"));
            }
        }
    }

    /// A call lacks its id, which has a marker of its own.
    fn no_id(&mut self) {
        let (Some(calls), [call]) = (self.calls, self.sample.written.calls.as_slice()) else {
            return;
        };
        let [
            _,
            Node::Slot(Slot::Name),
            Node::Literal(own),
            Node::Slot(Slot::Id),
            Node::Literal(next),
            ..,
        ] = calls.open.nodes()
        else {
            return;
        };
        let output = &self.sample.output;
        let Some((before, rest)) = output.split_once(&format!("{}{own}", call.name)) else {
            return;
        };
        if let Some((_, after)) = rest
            .split_once(next.as_str())
            .filter(|_| markers::is_closed(own.trim()))
        {
            let output = format!("{before}{}{next}{after}", call.name);
            self.put("an id left out", output);
        }
    }

    /// Where the calls begin in a text, if a marker shows it.
    fn calls_start(&self, output: &str) -> Option<usize> {
        let calls = self.calls?;
        let openers = [&*calls.section_open, calls.first_text()].into_iter();
        // A brace or a bracket may stand anywhere before the calls, so no place can be told by it.
        let openers = openers.filter(|head| markers::markers(head).next().is_some());
        openers.filter_map(|head| output.find(head.trim())).min()
    }

    /// What stands between a name and the arguments is shortened to its last marker.
    fn header(&mut self) {
        let Some(calls) = self.calls else { return };
        let Some(text) = calls.open.last_text() else {
            return;
        };
        let Some(last) = markers::markers(text).last() else {
            return;
        };
        if markers::markers(text).count() > 1 {
            let output = self.sample.output.replace(text, last);
            self.put("a call's header shortened", output);
            let (before, _) = text.split_at(text.rfind(last).unwrap_or(0));
            let output = self
                .sample
                .output
                .replace(text, &format!("{before} text{last}"));
            self.put("a call's header with more in it", output);
            let open = self.findings.content.open.as_deref().map(str::trim);
            if let Some((open, word)) = open.and_then(|open| Some((open, open.strip_suffix(last)?)))
            {
                // As the type of what is said: `<|to|>user <|type|>json<|say|>{}`.
                let more = format!("{word} <|type|>json{last}");
                let output = self.sample.output.replace(open, &more);
                self.put("an answer's header with more in it", output);
            }
        }
    }

    /// The prompt has opened a thought, and the model calls at once, or answers with a text that has markers of its own.
    fn begun_reasoning(&mut self) {
        let (Some(begun), written) = (self.begun, &self.sample.written) else {
            return;
        };
        let output = &self.sample.output;
        let text = self.findings.content.open.as_deref().map(str::trim);
        let start = match (written.calls.as_slice(), &written.content) {
            ([], Some(_)) => {
                let text = text.filter(|text| markers::markers(text).next().is_some());
                text.and_then(|text| output.find(text))
            }
            ([_, ..], None) => self.calls_start(output),
            _ => None,
        };
        if let Some(start) = start {
            self.damaged.push(Damaged {
                damage: "neither a thought nor its end",
                prefilled: begun.to_owned(),
                output: output[start..].to_owned(),
                expected: AssistantTurn {
                    reasoning: None,
                    ..written.clone()
                },
            });
        }
    }

    /// Reasoning is cut off, left out, or not closed before a call, or it speaks of calls.
    fn reasoning(&mut self) {
        let (Some(shape), Some(thought)) =
            (&self.findings.reasoning, &self.sample.written.reasoning)
        else {
            return;
        };
        let Some(start) = self.sample.output.find(thought.as_str()) else {
            return;
        };
        let span = start..start + thought.len();
        // Where nothing opens a thought, one that is cut off before `</think>` is an answer like any other.
        if let Some(open) = &shape.open {
            self.cut_reasoning(&span);
            self.no_reasoning(&span, open);
            self.text_in_reasoning(&span);
        }
        self.calls_in_reasoning(&span, shape.open.is_some());
    }

    /// The text is cut off amid reasoning, or the turn ends there.
    fn cut_reasoning(&mut self, span: &Range<usize>) {
        let output = &self.sample.output;
        let thought = &output[span.clone()];
        let half = thought.char_indices().nth(thought.chars().count() / 2);
        let half = span.start + half.map_or(0, |(at, _)| at);
        let expected = AssistantTurn::default().with_reasoning(&output[span.start..half]);
        let cut = output[..half].to_owned();
        self.put_as("cut off amid reasoning", cut, expected);
        if let Some(turn_end) = self.findings.turn.ends.first() {
            let expected = AssistantTurn::default().with_reasoning(thought);
            let output = format!("{}{turn_end}", &output[..span.end]);
            self.put_as("the turn ends amid reasoning", output, expected);
        }
    }

    /// Reasoning that the prompt has opened is empty.
    fn no_reasoning(&mut self, span: &Range<usize>, open: &str) {
        let prefilled = self.findings.turn.prefilled(&self.sample.prefix);
        if !prefilled.contains(open.trim()) {
            return;
        }
        let expected = AssistantTurn {
            reasoning: None,
            ..self.sample.written.clone()
        };
        let output = &self.sample.output;
        let output = format!(
            "{}{}",
            &output[..span.start],
            output[span.end..].trim_start()
        );
        self.put_as("reasoning left out", output, expected);
    }

    /// Reasoning is not closed before a text that has markers of its own.
    fn text_in_reasoning(&mut self, span: &Range<usize>) {
        let open = self.findings.content.open.as_deref().map(str::trim);
        let written = &self.sample.written;
        // Words that open an answer, as `Answer:`, may as well be thought.
        let Some(open) = open.filter(|open| markers::is_closed(open)) else {
            return;
        };
        let rest = &self.sample.output[span.end..];
        if let (Some(at), true) = (rest.find(open), written.calls.is_empty()) {
            let output = format!("{}\n{}", &self.sample.output[..span.end], &rest[at..]);
            self.put("reasoning not closed before a text", output);
        }
    }

    /// Reasoning is not closed before the calls, or the calls stand in it as well.
    fn calls_in_reasoning(&mut self, span: &Range<usize>, is_opened: bool) {
        let output = &self.sample.output;
        let (thought, rest) = (&output[span.clone()], &output[span.end..]);
        let Some(start) = self.calls_start(rest) else {
            return;
        };
        let calls = &rest[start..];
        // Of a text between the thought and the calls, nobody could tell where it begins.
        if is_opened && self.sample.written.content.is_none() {
            let output = format!("{}\n{calls}", &output[..span.end]);
            self.put("reasoning not closed before a call", output);
        }
        // A call within reasoning that is closed afterwards belongs to it.
        let inner = format!("{thought} {} so I do.", calls.trim_end());
        // The end of a turn ends it wherever it stands, also in a thought.
        let ends = self.findings.turn.ends.iter();
        let inner = ends.fold(inner, |text, end| text.replace(end.as_str(), ""));
        let expected = self.sample.written.clone().with_reasoning(&inner);
        let output = format!("{}{inner}{rest}", &output[..span.start]);
        self.put_as("a call within reasoning", output, expected);
    }
}

/// A turn that ends with a call, without all that closes it, or without the last markers of that: `{}</a></b>` ends as `{}` and as `{}</a>`.
fn cut_short<'t>(calls: &CallParts<'_>, bare: &'t str) -> Vec<&'t str> {
    let section = calls.section_close.trim();
    let head = bare.strip_suffix(section).unwrap_or(bare).trim_end();
    let Some(head) = head.strip_suffix(calls.close.trim()) else {
        return Vec::new();
    };
    let end = own_end(calls, &bare[head.len()..]);
    if markers::markers(end).next().is_none() && end.len() < 3 {
        return Vec::new();
    }
    let mut at = bare.len() - end.len();
    let mut cuts = vec![bare[..at].trim_end()];
    for piece in markers::pieces(end) {
        if markers::is_marker(piece) {
            cuts.push(bare[..at].trim_end());
        }
        at += piece.len();
    }
    cuts.dedup();
    cuts
}

/// A turn that ends with a call that is closed by what closes all calls alone: of `{}</call></calls>`, `{}</calls>`.
fn without_own_end(calls: &CallParts<'_>, bare: &str) -> Option<String> {
    let section = calls.section_close.trim();
    let head = bare.strip_suffix(section)?.trim_end();
    let end = own_end(calls, &calls.close);
    let is_told = has_own_end(end) && unlikely_in_prose(section);
    let head = head.strip_suffix(end).filter(|_| is_told)?;
    Some(format!("{}{section}", head.trim_end()))
}

/// What closes a call, without the brackets of its own that it begins with: these are written, or the call would be cut off.
fn own_end<'t>(calls: &CallParts<'_>, close: &'t str) -> &'t str {
    let has_brackets = calls.has_brackets();
    let is_bracket = |c: char| c.is_whitespace() || has_brackets && "}])\"'".contains(c);
    match markers::pieces(close.trim()).next() {
        Some(first) if markers::is_marker(first) => close.trim(),
        _ => close.trim_start_matches(is_bracket).trim_end(),
    }
}

/// Whether what closes a call is more than brackets and signs that its arguments have as well.
fn has_own_end(close: &str) -> bool {
    // Without its last `}` or `)]` a call is cut off: nobody can say whether its arguments were over.
    markers::markers(close).next().is_some() || close.trim().len() > 3
}

/// A text of the format without the white space at its ends, and between two of its markers.
fn closed_up(text: &str) -> String {
    let mut closed = String::new();
    let mut is_behind_marker = true;
    let mut space = String::new();
    for piece in markers::pieces(text) {
        if piece.trim().is_empty() {
            space.push_str(piece);
            continue;
        }
        let is_marker = markers::is_marker(piece);
        if !(is_behind_marker && is_marker) {
            closed.push_str(&space);
        }
        space.clear();
        closed.push_str(piece);
        is_behind_marker = is_marker;
    }
    closed.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::assistant_turn::ToolCall;
    use crate::derive::invented;

    const NO_CALLS: [&str; 4] = [""; 4];
    const JSON_CALL: [&str; 4] = ["", "<c>ARGUMENTS</c>", "\n", ""];

    /// What comes of an output by a damage.
    fn damaged(
        findings: &Findings,
        output: &str,
        said: &AssistantTurn,
        damage: &str,
    ) -> Vec<String> {
        let sample = invented::sample(output, said.clone());
        let all = all(findings, &[sample]).into_iter();
        let found = all.filter(|one| one.damage == damage);
        found.map(|one| one.output).collect()
    }

    fn calls(count: usize) -> AssistantTurn {
        let names = ["read", "knock"].into_iter().cycle();
        AssistantTurn::calls(names.take(count).map(|name| ToolCall::new(name, [])))
    }

    #[test]
    fn calls_are_damaged_where_no_doubt_is_left() {
        let lines = [
            "<calls>\n",
            "<call>\nARGUMENTS\n</call>",
            "\n",
            "\n</calls>",
        ];
        let in_lines = "<calls>\n<call>\n{}\n</call>\n</calls><end>";
        let two_in_lines = "<calls>\n<call>\n{}\n</call>\n<call>\n{}\n</call>\n</calls><end>";
        let two = "<c>{}</c>\n<c>{}</c><end>";
        let listed = ["[", "NAME(«KEY=QUOTED·, »)", ", ", "]"];
        let headed = ["", "<c>NAME<to><args>ARGUMENTS</c>", "", ""];
        let with_id = ["", "<c>NAME<id>ID<args>ARGUMENTS</c>", "", ""];
        let object = ["", "OBJECT", "", ""];
        for (format, output, count, damage, expected) in [
            (
                lines,
                in_lines,
                1,
                "white space lost",
                vec!["<calls><call>{}</call></calls><end>"],
            ),
            (
                [
                    "<calls>\n<list>\n",
                    "ARGUMENTS",
                    "",
                    " \n</list> <by>me</calls>",
                ],
                "<calls>\n<list>\n{} \n</list> <by>me</calls><end>",
                1,
                "white space lost",
                vec!["<calls><list>{}</list><by>me</calls><end>"],
            ),
            (
                lines,
                in_lines,
                1,
                "white space added",
                vec!["<calls>\n\n<call>\n\n{}\n</call>\n\n</calls>\n<end>"],
            ),
            (lines, two_in_lines, 2, "white space added", vec![]),
            (
                lines,
                in_lines,
                1,
                "the section's opener left out",
                vec!["\n<call>\n{}\n</call>\n</calls><end>"],
            ),
            (
                JSON_CALL,
                "<c>{}</c><end>",
                1,
                "the section's opener left out",
                vec![],
            ),
            (
                ["", "<do><with>NAMEARGUMENTS</do>", "", ""],
                "<do><with>read{}</do><end>",
                1,
                "a call's first marker left out",
                vec!["<with>read{}</do><end>"],
            ),
            // The second call would still be opened as it should.
            (
                ["", "<do><with>NAMEARGUMENTS</do>", "", ""],
                "<do><with>read{}</do><do><with>knock{}</do><end>",
                2,
                "a call's first marker left out",
                vec![],
            ),
            (
                JSON_CALL,
                "<c>{}</c><end>",
                1,
                "a call's end missing",
                vec!["<c>{}", "<c>{}<end>"],
            ),
            (
                lines,
                in_lines,
                1,
                "a call's end missing",
                vec![
                    "<calls>\n<call>\n{}",
                    "<calls>\n<call>\n{}<end>",
                    "<calls>\n<call>\n{}</calls><end>",
                ],
            ),
            // Without its bracket a call is cut off.
            (listed, "[read()]<end>", 1, "a call's end missing", vec![]),
            (
                JSON_CALL,
                two,
                2,
                "a call's end missing before the next",
                vec!["<c>{}\n<c>{}</c><end>"],
            ),
            (
                JSON_CALL,
                two,
                2,
                "nothing between two calls",
                vec!["<c>{}</c><c>{}</c><end>"],
            ),
            (
                listed,
                "[read(), knock()]<end>",
                2,
                "a line break between two calls",
                vec!["[read(),\nknock()]<end>"],
            ),
            (
                listed,
                "[read(), knock()]<end>",
                2,
                "nothing between two calls",
                vec![],
            ),
            (
                JSON_CALL,
                "<c>{}</c><end>",
                1,
                "a text before the calls",
                vec!["Let us see.\n<c>{}</c><end>"],
            ),
            (
                ["", "<c>tools.NAMEARGUMENTS</c>", "", ""],
                "<c>tools.read{}</c><end>",
                1,
                "what stands before a name left out",
                vec!["<c>read{}</c><end>"],
            ),
            (
                ["", "<c=NAME>«<a=KEY>RAW</a>»</c>", "", ""],
                "<c=read><a=x>1</a><a=y>2</a></c><end>",
                1,
                "the last value not closed",
                vec!["<c=read><a=x>1</a><a=y>2</c><end>"],
            ),
            // What is left of `</></>` may close either.
            (
                ["", "<c=NAME>«<a=KEY>RAW</>»</>", "", ""],
                "<c=read><a=x>1</></><end>",
                1,
                "the last value not closed",
                vec![],
            ),
            (
                object,
                "{\"name\": \"read\"}<end>",
                1,
                "the type of a call in its object",
                vec!["{\"type\": \"function\", \"name\": \"read\"}<end>"],
            ),
            // What opens a call tells it from a text, whatever stands in it.
            (
                ["", "<c>OBJECT</c>", "", ""],
                "<c>{\"name\": \"read\"}</c><end>",
                1,
                "the type of a call in its object",
                vec![],
            ),
            (
                ["", "<c n=\"NAME\">«<a=KEY>RAW</a>»</c>", "", ""],
                "<c n=\"read\"></c><end>",
                1,
                "a tag that closes itself",
                vec!["<c n=\"read\"/><end>"],
            ),
            // A brace may stand in any text.
            (object, "{}<end>", 1, "a text before the calls", vec![]),
            (
                object,
                "{}<end>",
                1,
                "a token before the calls",
                vec!["<|json_call|>{}<end>"],
            ),
            (
                JSON_CALL,
                "<c>{}</c><end>",
                1,
                "a token before the calls",
                vec![],
            ),
            (
                ["", "<c>NAMEARGUMENTS</c>", "", ""],
                "<c>read{}</c><c>knock{}</c><end>",
                2,
                "a text between two calls",
                vec!["<c>read{}</c>And now this.\n<c>knock{}</c><end>"],
            ),
            (
                listed,
                "[read(), knock()]<end>",
                2,
                "a text between two calls",
                vec![],
            ),
            (
                JSON_CALL,
                "<c>{}</c><end>",
                1,
                "a text behind the calls",
                vec!["<c>{}</c>\nThat is what I ask."],
            ),
            (JSON_CALL, two, 2, "a text behind the calls", vec![]),
            (
                headed,
                "<c>read<to><args>{}</c><end>",
                1,
                "a call's header shortened",
                vec!["<c>read<args>{}</c><end>"],
            ),
            (
                headed,
                "<c>read<to><args>{}</c><end>",
                1,
                "a call's header with more in it",
                vec!["<c>read<to> text<args>{}</c><end>"],
            ),
            (
                JSON_CALL,
                "<c>{}</c><end>",
                1,
                "a call's header shortened",
                vec![],
            ),
            (
                with_id,
                "<c>read<id>x1<args>{}</c><end>",
                1,
                "an id left out",
                vec!["<c>read<args>{}</c><end>"],
            ),
            // Nothing but a sign stands before this one.
            (
                ["", "<c>NAME:ID<args>ARGUMENTS</c>", "", ""],
                "<c>read:x1<args>{}</c><end>",
                1,
                "an id left out",
                vec![],
            ),
        ] {
            let findings = invented::with_calls(format);
            let found = damaged(&findings, output, &calls(count), damage);
            assert_eq!(found, expected, "{damage}: {output}");
        }
    }

    #[test]
    fn texts_are_damaged_where_no_doubt_is_left() {
        let plain = invented::with_calls(NO_CALLS);
        let marked = invented::findings([""; 2], ["<say>", "</say>"], NO_CALLS);
        let headed = invented::findings([""; 2], ["Answer: ", ""], NO_CALLS);
        let mut several = plain.clone();
        several.turn.headers.push("<again>".to_owned());
        several.turn.ends.push("<stop>".to_owned());
        let mut seam = plain.clone();
        seam.turn.before_seams = vec!["<done>".to_owned()];
        for (findings, output, damage, expected) in [
            (
                &plain,
                "High water soon.<end>",
                "the turn's end missing",
                vec!["High water soon."],
            ),
            (
                &plain,
                "High water soon.<end>",
                "cut off amid text",
                vec!["High water"],
            ),
            (
                &marked,
                "<say>High water soon.</say><end>",
                "cut off amid text",
                vec!["<say>High water"],
            ),
            (
                &marked,
                "<say>High water soon.</say><end>",
                "a text without its markers",
                vec!["High water soon.<end>"],
            ),
            // Without it, the text would be one in which nothing is missing.
            (
                &headed,
                "Answer: High water soon.<end>",
                "a text without its markers",
                vec![],
            ),
            (
                &several,
                "High water soon.<end>",
                "another end of an answer",
                vec!["High water soon.<stop>"],
            ),
            (
                &plain,
                "High water soon.<end>",
                "another end of an answer",
                vec![],
            ),
            (
                &several,
                "High water soon.<end>",
                "the turn's header written again",
                vec!["<assistant>High water soon.<end>"],
            ),
            (
                &plain,
                "High water soon.<end>",
                "the turn's header written again",
                vec![],
            ),
            (
                &seam,
                "High water soon.<end>",
                "the turn's header left to the model",
                vec!["<assistant>High water soon.<end>"],
            ),
            (
                &plain,
                "High water soon.<end>",
                "the turn's header left to the model",
                vec![],
            ),
            (&plain, "High water soon.<end>", "white space lost", vec![]),
        ] {
            let said = AssistantTurn::content("High water soon.");
            let found = damaged(findings, output, &said, damage);
            assert_eq!(found, expected, "{damage}: {output}");
        }
        let word = damaged(
            &plain,
            "Yes.<end>",
            &AssistantTurn::content("Yes."),
            "cut off amid text",
        );
        assert_eq!(word, Vec::<String>::new());
    }

    #[test]
    fn thoughts_are_damaged_where_something_opens_them() {
        let opened = invented::findings(["<t>", "</t>"], [""; 2], JSON_CALL);
        let marked = invented::findings(["<t>", "</t>"], ["<say>", ""], NO_CALLS);
        let bare = invented::findings(["", "</t>"], [""; 2], JSON_CALL);
        let answer = AssistantTurn::content("Yes.").with_reasoning("They ask.");
        let call = calls(1).with_reasoning("They ask.");
        for (findings, output, said, damage, expected) in [
            (
                &opened,
                "<t>They ask.</t>Yes.<end>",
                &answer,
                "cut off amid reasoning",
                vec!["<t>They"],
            ),
            // Cut off before `</t>`, it would be an answer like any other.
            (
                &bare,
                "They ask.</t>Yes.<end>",
                &answer,
                "cut off amid reasoning",
                vec![],
            ),
            (
                &opened,
                "<t>They ask.</t>Yes.<end>",
                &answer,
                "the turn ends amid reasoning",
                vec!["<t>They ask.<end>"],
            ),
            (
                &marked,
                "<t>They ask.</t><say>Yes.<end>",
                &answer,
                "reasoning not closed before a text",
                vec!["<t>They ask.\n<say>Yes.<end>"],
            ),
            (
                &opened,
                "<t>They ask.</t>Yes.<end>",
                &answer,
                "reasoning not closed before a text",
                vec![],
            ),
            (
                &opened,
                "<t>They ask.</t><c>{}</c><end>",
                &call,
                "reasoning not closed before a call",
                vec!["<t>They ask.\n<c>{}</c><end>"],
            ),
            (
                &bare,
                "They ask.</t><c>{}</c><end>",
                &call,
                "reasoning not closed before a call",
                vec![],
            ),
            // The end of a turn ends it in a thought as well.
            (
                &bare,
                "They ask.</t><c>{}</c><end>",
                &call,
                "a call within reasoning",
                vec!["They ask. <c>{}</c> so I do.</t><c>{}</c><end>"],
            ),
        ] {
            let found = damaged(findings, output, said, damage);
            assert_eq!(found, expected, "{damage}: {output}");
        }
        let mut sample = invented::sample("They ask.</t>Yes.<end>", answer);
        sample.prefix = "<assistant><t>".to_owned();
        let all = all(&opened, &[sample]);
        let empty = all.iter().find(|one| one.damage == "reasoning left out");
        let empty = empty.map(|one| (one.output.as_str(), one.expected.reasoning.as_deref()));
        assert_eq!(empty, Some(("</t>Yes.<end>", None)));
    }

    #[test]
    fn calls_are_opened_for_nothing_and_end_as_answers_do() {
        let sections = ["<calls>", "<c>ARGUMENTS</c>", "", "</calls>"];
        let sections = invented::with_calls(sections);
        let marked = invented::findings([""; 2], ["<say>", "</say>"], JSON_CALL);
        let mut answered = invented::with_calls(JSON_CALL);
        answered.turn.ends = vec!["<end>".to_owned(), "<stop>".to_owned()];
        answered.turn.answer_marker = Some("<result>".to_owned());
        let said = AssistantTurn::default().with_content("Yes.");
        let tide = AssistantTurn::calls([tide_call()]);
        for (findings, output, said, damage, expected) in [
            (
                &sections,
                "Yes.<end>",
                &said,
                "no call between what opens and closes calls",
                vec!["Yes.\n<calls></calls>"],
            ),
            (
                &sections,
                "<calls><c>{}</c></calls><end>",
                &tide,
                "words behind what opens the calls",
                vec!["<calls> Now then. <c>{}</c></calls><end>"],
            ),
            (
                &marked,
                "<c>{}</c>",
                &tide,
                "a call ends as an answer does",
                vec!["<c>{}</say>"],
            ),
            // The end of the turn stands behind it.
            (
                &marked,
                "<c>{}</c><end>",
                &tide,
                "a call ends as an answer does",
                vec![],
            ),
            (
                &answered,
                "<c>{}</c><end>",
                &tide,
                "another end of a turn with a call",
                vec!["<c>{}</c><stop>", "<c>{}</c><result>"],
            ),
            (
                &answered,
                "Yes.<end>",
                &said,
                "another end of a turn with a call",
                vec![],
            ),
        ] {
            let found = damaged(findings, output, said, damage);
            assert_eq!(found, expected, "{damage}: {output}");
        }
    }

    #[test]
    fn a_model_may_not_go_on_with_a_thought_that_the_prompt_has_begun() {
        let mut findings = invented::findings(["<t>", "</t>"], ["<say>", ""], JSON_CALL);
        let shape = findings.reasoning.as_mut().expect("it thinks");
        shape.opened_by_prompt = true;
        let thought = AssistantTurn::default().with_reasoning("They ask.");
        let answer = thought.with_content("Yes.");
        let mut begun = invented::sample("They ask.</t><say>Yes.<end>", answer);
        begun.prefilled = "<t>".to_owned();
        let call = invented::sample("<c>{}</c><end>", calls(1));
        let all = all(&findings, &[begun, call]).into_iter();
        let found = all.filter(|one| one.damage == "neither a thought nor its end");
        let found: Vec<_> = found
            .map(|one| (one.prefilled, one.output, one.expected.reasoning))
            .collect();
        let texts = ["<say>Yes.<end>", "<c>{}</c><end>"];
        assert_eq!(
            found,
            texts.map(|text| ("<t>".to_owned(), text.to_owned(), None))
        );
    }

    #[test]
    fn brackets_are_no_end_of_a_call() {
        for (close, has_end) in [
            ("</c>", true),
            ("\n}</c>", true),
            ("}", false),
            (")]", false),
            ("\n  }\n", false),
            ("} OK", true),
        ] {
            assert_eq!(has_own_end(close), has_end, "{close:?}");
        }
    }

    #[test]
    fn a_call_is_cut_short_behind_its_own_brackets() {
        let cut = |calls, bare: &str| {
            let findings = invented::with_calls(calls);
            let parts = findings.call_parts().expect("there are calls");
            let cuts = cut_short(&parts, bare).into_iter().map(str::to_owned);
            cuts.collect::<Vec<_>>()
        };
        let none: [&str; 0] = [];
        assert_eq!(cut(JSON_CALL, "<c>{}</c>"), ["<c>{}"]);
        let parts = ["", "<c><a>ARGUMENTS</a>\n</c>", "\n", ""];
        assert_eq!(
            cut(parts, "<c><a>{}</a>\n</c>"),
            ["<c><a>{}", "<c><a>{}</a>"]
        );
        let own = ["", "<c>{\"NAME\": ARGUMENTS}</c>", "\n", ""];
        assert_eq!(cut(own, "<c>{\"read\": {}}</c>"), ["<c>{\"read\": {}}"]);
        let listed = ["<calls>[", "NAME(«KEY=QUOTED·, »)", ", ", "]</calls>"];
        assert_eq!(cut(listed, "<calls>[read()]</calls>"), ["<calls>[read()]"]);
        // Brackets alone are never left out.
        let listed = ["[", "NAME(«KEY=QUOTED·, »)", ", ", "]"];
        assert_eq!(cut(listed, "[read()]"), none);
    }
}
