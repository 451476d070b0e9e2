//! Lining up: renderings become rows of texts and slots, and the rows a [`Format`].
//!
//! Of a rendering it is known which words went in, so where they come out there are the slots of
//! reasoning and text. The calls are what the tree of a call reads from some place on up to where no
//! word is left; a call that it does not read is told, and never guessed at.

use crate::budget::Budget;
use crate::chat_template::{ChatTemplate, PreparedTemplate, RenderError, RenderInput};
use crate::format::{Format, FoundSlot, Node, NodeReader, Row, Slot, ValueType, Way};
use crate::markers::dedup;

use super::analyze::{Analysis, analyze};
use super::assistant_turn::AssistantTurn;
use super::call_parts::CallParts;
use super::call_probe::CallWords;
use super::call_shape::CallShape;
use super::evidence::{self, Evidence};
use super::findings::Findings;
use super::reasoning::ReasoningShape;
use super::turn_headers::TurnHeaders;
use super::turn_prober::{PrecedingMessages, ThinkingMode, TurnProber};

/// What stands before the first word of a call and belongs to it is not longer than this many bytes.
const MAX_OPENER: usize = 512;

impl Findings {
    /// The findings, the format that renderings show when they are lined up, and the renderings that show
    /// the findings: all from asking once.
    ///
    /// # Errors
    ///
    /// As [`of`](Self::of).
    pub fn with_format(
        template: &ChatTemplate,
        base: &RenderInput,
    ) -> Result<(Findings, Format, Vec<Evidence>), RenderError> {
        let prepared = template.prepare_within(&Budget::of_question());
        let mut analysis = analyze(template, &prepared, base, &[])?;
        let evidence = evidence::collect(&analysis.prober, &analysis.findings);
        let format = infer_format(&mut analysis);
        analysis.prober.gave_up()?;
        Ok((analysis.findings, format, evidence))
    }
}

impl Format {
    /// Finds out how the model of a chat template writes its turn. `base` holds what all renderings have
    /// in common.
    ///
    /// # Errors
    ///
    /// If the template is not valid, or does not even render a question of the user.
    pub fn of(template: &ChatTemplate, base: &RenderInput) -> Result<Format, RenderError> {
        let prepared = template.prepare_within(&Budget::of_question());
        Format::within(template, &prepared, base)
    }

    /// The same for a template that is prepared, within its budget.
    pub(crate) fn within(
        template: &ChatTemplate,
        prepared: &PreparedTemplate,
        base: &RenderInput,
    ) -> Result<Format, RenderError> {
        let mut analysis = analyze(template, prepared, base, &[])?;
        let format = infer_format(&mut analysis);
        analysis.prober.gave_up()?;
        Ok(format)
    }
}

/// The format that renderings show when they are lined up.
pub(crate) fn infer_format(analysis: &mut Analysis<'_>) -> Format {
    let prober = &mut analysis.prober;
    let words = CallWords::new(prober);
    prober.offer(words.tools());
    let (word, thought) = (prober.word("content"), prober.word("thought"));
    let mut rows = FormatInference {
        prober,
        headers: &analysis.headers,
        findings: &analysis.findings,
        calls: None,
        word,
        thought,
        ways: Vec::new(),
        escaped: Vec::new(),
        json_strings: Vec::new(),
        gaps: Vec::new(),
    };
    if let Some(shape) = &analysis.findings.calls {
        rows.calls = Some(with_known_values(shape.node.clone()));
        rows.gaps = gaps(shape);
    }
    rows.add_all(&words);
    rows.add_unseen();
    Format {
        begins_after: analysis.findings.turn.headers.clone(),
        prompts: analysis.findings.prompt_remainders.clone(),
        // Calls that stand in no way can't be written, so the format has none.
        calls: rows.calls.take().filter(|_| {
            rows.ways
                .iter()
                .any(|way| way.node.parts().contains(&Node::Calls))
        }),
        ways: rows.ways,
        escaped: rows.escaped,
        json_strings: rows.json_strings,
        gaps: rows.gaps,
        lexicon: analysis.lexicon.clone(),
        answer_marker: analysis.findings.turn.answer_marker.clone(),
    }
}

/// What is not known of how values are written.
fn gaps(shape: &CallShape) -> Vec<String> {
    let parts = shape.parts();
    let Some(arguments) = parts.as_ref().and_then(CallParts::single_arguments) else {
        return Vec::new();
    };
    let unknown = ValueType::ALL
        .into_iter()
        .filter(|kind| arguments.written(*kind).is_none());
    unknown
        .map(|kind| format!("how values of type {} are written", kind.key()))
        .collect()
}

/// The calls without ways of arguments of which it is not known how any value is written.
fn with_known_values(mut calls: Node) -> Node {
    calls.visit_mut(&mut |node| {
        if let Node::Argument(ways) = node {
            let known = ways.alternatives().iter();
            let known = known.filter(|way| !way.parts().contains(&Node::Value(Vec::new())));
            **ways = Node::choice(known.cloned().collect());
        }
    });
    calls
}

/// The rows of a template's renderings.
struct FormatInference<'a, 't> {
    prober: &'a mut TurnProber<'t>,
    headers: &'a TurnHeaders,
    findings: &'a Findings,
    /// The tree of a turn's calls.
    calls: Option<Node>,
    /// The word that is all the text.
    word: String,
    /// The word that is all the reasoning.
    thought: String,
    ways: Vec<Way>,
    /// The texts in which the template escapes signs.
    escaped: Vec<Slot>,
    /// Those that it writes as strings of JSON.
    json_strings: Vec<Slot>,
    gaps: Vec<String>,
}

impl FormatInference<'_, '_> {
    /// The rows of all kinds of turns, the plainest first.
    fn add_all(&mut self, words: &CallWords) {
        let plain = AssistantTurn::content(&self.word);
        // What may stand together is found by putting it together: a text may vanish beside calls, or move behind
        // them.
        let mut turns = vec![plain.clone(), plain.with_reasoning(&self.thought)];
        if self.calls.is_some() {
            let one = words.call(0, &[(0, words.string(0)), (1, words.string(1))]);
            let call = AssistantTurn::calls([one.clone()]);
            turns.push(call.clone());
            turns.push(call.clone().with_reasoning(&self.thought));
            turns.push(call.clone().with_content(&self.word));
            let all = call.with_content(&self.word);
            turns.push(all.with_reasoning(&self.thought));
            let parts = self.findings.call_parts();
            if let Some(parts) = parts.filter(|parts| parts.several) {
                let other = words.call(1, &[(1, words.string(1))]);
                let two = AssistantTurn::calls([one, other]);
                let two = [two.clone().with_content(&self.word), two];
                // In brackets, or counted, they are another row than one call is, behind a thought as well.
                let around = [&parts.section_open, &parts.section_close, &parts.separator];
                if parts.several_in_brackets || around.iter().any(|row| row.has_slots()) {
                    turns.extend(
                        two.iter()
                            .map(|turn| turn.clone().with_reasoning(&self.thought)),
                    );
                }
                turns.extend(two);
            }
        }
        self.find_escaped(Slot::Content, &turns);
        self.find_escaped(Slot::Reasoning, &turns);
        // A template may write its turns otherwise where tools are on offer.
        for offers in [true, false] {
            self.prober.offer(match offers {
                true => words.tools(),
                false => Vec::new(),
            });
            for turn in turns.iter().filter(|turn| offers || turn.calls.is_empty()) {
                for preceding in [PrecedingMessages::Question, PrecedingMessages::AfterTool] {
                    for mode in ThinkingMode::ALL {
                        self.add(turn, preceding, mode);
                    }
                }
            }
        }
    }

    /// Finds out whether a text is escaped, by a quote in it.
    fn find_escaped(&mut self, slot: Slot, turns: &[AssistantTurn]) {
        let word = match slot {
            Slot::Reasoning => self.thought.clone(),
            _ => self.word.clone(),
        };
        // A quote shows it: `"say": "a \"b\""` is a string of JSON, and `a &#34;b` is escaped without being one.
        let quoted = format!("{word}\"{word}");
        for turn in turns {
            let turn = match slot {
                Slot::Reasoning if turn.reasoning.is_some() => turn.clone().with_reasoning(&quoted),
                Slot::Content if turn.content.is_some() => turn.clone().with_content(&quoted),
                _ => continue,
            };
            let mode = ThinkingMode::Unset;
            let body = self
                .headers
                .turn(self.prober, PrecedingMessages::Question, &turn, mode);
            let body = body.unwrap_or_default();
            // The template may leave a text out of some turns.
            if body.contains(&word) {
                if !body.contains(&quoted) {
                    self.escaped.push(slot);
                }
                // A string of JSON can be read back; of other escapes it is only known that there are some.
                if body.contains(&format!("{word}\\\"{word}")) {
                    self.json_strings.push(slot);
                }
                return;
            }
        }
    }

    fn add(&mut self, turn: &AssistantTurn, preceding: PrecedingMessages, mode: ThinkingMode) {
        let Some(body) = self.headers.turn(self.prober, preceding, turn, mode) else {
            return;
        };
        if !self.prober.holds_words(&body) {
            // The template writes nothing of it.
            return;
        }
        let Some((nodes, end)) = self.turn_nodes(&body) else {
            let gap = "how calls are written in some renderings".to_owned();
            if !self.gaps.contains(&gap) {
                self.gaps.push(gap);
            }
            return;
        };
        self.keep(Way {
            node: Node::sequence(nodes),
            end,
            is_seen: true,
        });
    }

    /// Keeps a way, unless it is known.
    fn keep(&mut self, new: Way) {
        let is_same = |way: &Way| way.node == new.node && way.end == new.end;
        if !self.ways.iter().any(is_same) {
            self.ways.push(new);
        }
    }

    /// The texts and slots of a rendering, up to the end of the turn. `None` if it has calls that the
    /// tree of calls does not read.
    fn turn_nodes(&self, body: &str) -> Option<(Vec<Node>, Node)> {
        let mut nodes = Vec::new();
        let end;
        let mut rest = body;
        loop {
            let slots = [
                (&self.thought, Node::Slot(Slot::Reasoning)),
                (&self.word, Node::Slot(Slot::Content)),
            ];
            let found = slots
                .into_iter()
                .filter_map(|(word, slot)| Some((rest.find(word.as_str())?, word.len(), slot)));
            // A thought may stand behind the text that it is about: `<say>..</say><since>..</since>`.
            let first = found.min_by_key(|(at, ..)| *at);
            let before = &rest[..first.as_ref().map_or(rest.len(), |(at, ..)| *at)];
            // Words that are neither the text's nor the thought's are a call's: names, keys and values.
            let after_calls = match self.prober.holds_words(before) {
                true => Some(self.calls_in(before, &mut nodes)?),
                false => None,
            };
            let Some((at, length, slot)) = first else {
                let last = &rest[after_calls.unwrap_or(0)..];
                let (still, marker) = self.split_end(last);
                nodes.extend(Node::texts(still));
                end = Node::sequence(Node::texts(marker));
                break;
            };
            nodes.extend(Node::texts(&rest[after_calls.unwrap_or(0)..at]));
            nodes.push(slot);
            rest = &rest[at + length..];
        }
        Some((nodes, end))
    }

    /// Adds the calls of a text and what stands before them; gives where they end.
    fn calls_in(&self, text: &str, nodes: &mut Vec<Node>) -> Option<usize> {
        let calls = self.calls.as_ref()?;
        // A reading that stops behind the first of two calls would leave the second in the text.
        let is_end = |end: usize| !self.prober.holds_words(&text[end..]);
        let word = text.find(self.prober.stem())?;
        let (start, end, _) = calls_at(calls, self.prober, text, word, is_end)?;
        nodes.extend(Node::texts(&text[..start]));
        nodes.push(Node::Calls);
        Some(end)
    }

    /// What stands behind the last part of a turn, and the first marker of those that end turns, with what
    /// follows it but for words and the beginning of another turn.
    fn split_end<'b>(&self, rest: &'b str) -> (&'b str, &'b str) {
        let ends = self.findings.turn.ends.iter();
        let ends = ends.filter_map(|end| {
            let at = rest.find(end.as_str())?;
            Some((at, at + end.len()))
        });
        let (start, end) = ends.min().unwrap_or((rest.len(), rest.len()));
        // `<over>\n` ends a turn with its line break; in `<over>\n<bot>` the next turn has begun.
        match self.findings.turn.ends_with(&rest[end..]) {
            true => rest.split_at(start),
            false => (&rest[..start], &rest[start..end]),
        }
    }

    /// The ways that no rendering shows: reasoning that only prompts begin, and calls that are only
    /// described.
    fn add_unseen(&mut self) {
        let holds =
            |ways: &[Way], node: &Node| ways.iter().any(|way| way.node.parts().contains(node));
        let reasoning = Node::Slot(Slot::Reasoning);
        let shape = self.findings.calls.as_ref();
        let around = shape.map(|shape| [&shape.section_open, &shape.section_close].map(Row::split));
        let [open, close] = around.unwrap_or_default();
        if self.calls.is_some() && !holds(&self.ways, &Node::Calls) {
            for way in self.ways.clone() {
                let content = Node::Slot(Slot::Content);
                let nodes = way.node.parts();
                let Some(at) = nodes.iter().position(|node| *node == content) else {
                    continue;
                };
                let (before, after) = (&nodes[..at], &nodes[at + 1..]);
                let calls = [&open[..], &[Node::Calls], &close].concat();
                let gap = Node::Space("\n".to_owned());
                // Nobody has seen a turn with such calls: it may say something before them, or nothing.
                let alone = [before, &calls, after].concat();
                let beside = [before, &[content, gap], &calls, after].concat();
                for nodes in [alone, beside] {
                    self.keep(Way {
                        node: Node::Sequence(nodes),
                        end: way.end.clone(),
                        is_seen: false,
                    });
                }
            }
        }
        if let Some(shape) = &self.findings.reasoning
            && !holds(&self.ways, &reasoning)
        {
            for way in self.ways.clone() {
                self.keep(Way {
                    node: self.with_reasoning(&way.node, shape),
                    end: way.end,
                    is_seen: false,
                });
            }
        }
        for opener in self.openers_of_prompts() {
            for way in self.ways.clone() {
                let node = self.opened_by(&way.node, &opener);
                node.into_iter().for_each(|node| {
                    self.keep(Way {
                        node,
                        end: way.end.clone(),
                        is_seen: false,
                    });
                });
            }
        }
    }

    /// What opens thoughts in prompts where turns say less: `<think effort="low">` for `<think>`.
    fn openers_of_prompts(&self) -> Vec<String> {
        let Some(shape) = &self.findings.reasoning else {
            return Vec::new();
        };
        let prompts = self.findings.prompt_remainders.iter();
        let openers = prompts.filter_map(|rest| shape.opener_of(rest.trim()));
        let is_rendered = |opener: &&str| {
            let mut ways = self.ways.iter();
            ways.any(|way| Row::of(way.node.parts()).contains(*opener))
        };
        let mut openers: Vec<String> = openers
            .filter(|opener| !is_rendered(opener))
            .map(str::to_owned)
            .collect();
        dedup(&mut openers);
        openers
    }

    /// A turn with a thought, with this in place of what opens it.
    fn opened_by(&self, node: &Node, opener: &str) -> Option<Node> {
        let open = self.findings.reasoning.as_ref()?.open.as_deref()?.trim();
        let nodes = node.parts();
        let thought = nodes
            .iter()
            .position(|node| *node == Node::Slot(Slot::Reasoning))?;
        let before = &nodes[..thought];
        let at = before
            .iter()
            .rposition(|node| matches!(node, Node::Literal(text) if text.contains(open)))?;
        let mut all = nodes.to_vec();
        if let Node::Literal(text) = &mut all[at] {
            let start = text.rfind(open)?;
            text.replace_range(start..start + open.len(), opener);
        }
        Some(Node::Sequence(all))
    }

    /// A turn without reasoning with it before all else. Such a turn may begin with what opens it, as the prompt does, and
    /// close it at once, or begin with what closes it.
    fn with_reasoning(&self, node: &Node, shape: &ReasoningShape) -> Node {
        let nodes = node.parts();
        let text = |text: &Option<String>| text.as_deref().unwrap_or_default().trim().to_owned();
        let (open, close) = (text(&shape.open), text(&shape.close));
        let texts = nodes.iter().take_while(|node| node.is_text()).count();
        let (lead, rest) = nodes.split_at(texts);
        let lead = Row::of(lead);
        let behind = match lead.split_once(&close) {
            // `<think></think>` before a text has its closer already: with the thought put in, it must not stand
            // there twice.
            Some((_, behind)) if !close.is_empty() => behind.to_owned(),
            _ => format!("\n{}", lead.strip_prefix(&open).unwrap_or(&lead)),
        };
        let prompts = self.findings.prompt_remainders.iter();
        // `\n<think>` in a prompt: what stands before the opener stands there in the turn, too.
        let mut before = prompts
            .map(String::as_str)
            .chain([&*lead])
            .filter_map(|text| Some(text.split_once(&open)?.0));
        let before = before.next();
        let space = || Node::Space("\n".to_owned());
        let mut all = Node::texts(&format!("{}{open}", before.unwrap_or_default()));
        all.extend([space(), Node::Slot(Slot::Reasoning), space()]);
        all.extend(Node::texts(&format!("{close}{behind}")));
        all.extend_from_slice(rest);
        Node::Sequence(all)
    }
}

/// Where calls begin in a text of which a word stands at a place, where they end, and what stands in their slots. They never
/// end amid a word, though nothing may close their last value.
pub(super) fn calls_at<'t>(
    calls: &Node,
    prober: &TurnProber<'_>,
    text: &'t str,
    word: usize,
    is_end: impl Fn(usize) -> bool,
) -> Option<(usize, usize, Vec<FoundSlot<'t>>)> {
    let starts = text.char_indices().map(|(at, _)| at);
    // Every place before the word is tried: without a limit, long texts would take quadratic time.
    let starts = starts.skip_while(|at| at + MAX_OPENER < word);
    let mut starts = starts.take_while(|at| *at <= word);
    let calls = NodeReader::new(calls);
    let is_word = crate::markers::is_word;
    let is_end = |end: usize| {
        // ` --n=7` may be a whole argument that nothing closes, and `--n=78` must not be read up to its 7.
        let cuts_word = text[end..].starts_with(is_word) && text[..end].ends_with(is_word);
        !cuts_word && is_end(end)
    };
    starts.find_map(|start| {
        let (end, slots) = calls.read_at(text, start, |rest| is_end(text.len() - rest.len()))?;
        // What stands before a name must not be taken for a part of it.
        let mut names = slots.iter().filter(|found| found.slot == Slot::Name);
        let is_name = |name: &FoundSlot<'_>| name.text.starts_with(prober.stem());
        names.all(is_name).then_some((start, end, slots))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::template;

    const CALLS: &str = "{% for c in m.tool_calls %}<do>{{ c.function | tojson }}</do>{% endfor %}";

    #[test]
    fn turns_are_lined_up_as_rows_of_texts_and_slots() {
        // `T` stands for the thought, `C` for what is said, and `X` for calls.
        for (assistant, expected) in [
            ("C", &["CONTENT, `<end>`"][..]),
            (
                "{% if T %}<m>T</m>{% endif %}C",
                &[
                    "CONTENT, `<end>`",
                    "`<m>` REASONING `</m>` CONTENT, `<end>`",
                ],
            ),
            // A thought may stand behind the text that it is about.
            (
                "<say>C</say>{% if T %}<m>T</m>{% endif %}",
                &[
                    "`<say>` CONTENT `</say>`, `<end>`",
                    "`<say>` CONTENT `</say><m>` REASONING `</m>`, `<end>`",
                ],
            ),
            (
                "C{% if m.tool_calls %}{{ '\n' }}X{% endif %}",
                &[
                    "CONTENT, `<end>`",
                    "`⏎` CALLS, `<end>`",
                    "CONTENT `⏎` CALLS, `<end>`",
                ],
            ),
            // A template leaves a text out beside calls.
            (
                "{% if m.tool_calls %}X{% else %}C{% endif %}",
                &["CONTENT, `<end>`", "CALLS, `<end>`"],
            ),
        ] {
            let jinja = assistant.replace("if T", "if m.reasoning_content");
            let jinja = jinja.replace('T', "{{ m.reasoning_content }}");
            let jinja = jinja.replace('C', "{{ m.content }}").replace('X', CALLS);
            let format = Format::of(&template(&jinja), &RenderInput::default());
            let ways = format.expect("it renders a question").ways;
            let ways: Vec<String> = ways.iter().map(ToString::to_string).collect();
            assert_eq!(ways, expected, "{assistant}");
        }
    }

    #[test]
    fn calls_begin_and_end_with_whole_words() {
        let arguments = "{{ c.function.arguments | tojson }}";
        for (each, expected) in [
            // Nothing closes the last value.
            (
                "\ndo {{ c.function.name }}{% for k, v in c.function.arguments.items() %} --{{ k }}={{ v }}{% endfor %}",
                &["CONTENT, `<end>`", "CALLS, `<end>`"][..],
            ),
            // What stands before the first name is no part of it.
            (
                "{{ 'do:' if loop.first }}{{ c.function.name }}(ARGUMENTS)\n",
                &["CONTENT, `<end>`", "`do:` CALLS `⏎`, `<end>`"],
            ),
        ] {
            let each = each.replace("ARGUMENTS", arguments);
            let jinja = format!(
                "{{% for c in m.tool_calls %}}{each}{{% endfor %}}{{{{ m.content if not m.tool_calls }}}}"
            );
            let format = Format::of(&template(&jinja), &RenderInput::default());
            let ways = format.expect("it renders a question").ways;
            let ways: Vec<String> = ways.iter().map(ToString::to_string).collect();
            assert_eq!(ways, expected, "{each}");
        }
    }

    #[test]
    fn a_turn_ends_before_the_next_one_begins() {
        const ASKED: &str = "{% if add_generation_prompt %}<bot>{% endif %}";
        for (end, prompt, expected) in [
            ("<end>", ASKED, "CONTENT, `<end>`"),
            ("<end>{{ '\\n' }}", ASKED, "CONTENT, `<end>` `⏎`"),
            // The header of the next turn is written whether or not a prompt is asked for.
            ("<end>{{ '\\n' }}", "<bot>", "CONTENT, `<end>`"),
        ] {
            let jinja = format!(
                "{{% for m in messages %}}{{{{ '<bot>' if m.role == 'assistant' else '<user>' }}}}\
                 {{{{ m.content }}}}{end}{{% endfor %}}{prompt}"
            );
            let format = Format::of(&ChatTemplate::from_jinja(jinja), &RenderInput::default());
            let ways = format.expect("it renders a question").ways;
            assert_eq!(ways[0].to_string(), expected, "{end} {prompt}");
        }
    }

    #[test]
    fn what_no_rendering_shows_is_added_and_marked() {
        for (assistant, prompt, tokens, expected) in [
            // Only prompts begin it: a thought stands before what is said.
            (
                "C",
                "<mull>",
                "",
                &[
                    "CONTENT, `<end>`",
                    "`<mull>` `⏎` REASONING `⏎` `</mull>` `⏎` CONTENT, `<end>` (begun by prompts, never rendered)",
                ][..],
            ),
            // Turns that did not think begin with the empty markers: these don't stand there twice.
            (
                "<mull></mull>C",
                "{% if think %}<mull>{% endif %}",
                "",
                &[
                    "`<mull></mull>` CONTENT, `<end>`",
                    "`<mull>` `⏎` REASONING `⏎` `</mull>` CONTENT, `<end>` (begun by prompts, never rendered)",
                ],
            ),
            // What opens the thought stands before each text as well.
            (
                "<mull>C",
                "{% if think %}<mull>{% endif %}",
                "",
                &[
                    "`<mull>` CONTENT, `<end>`",
                    "`<mull>` `⏎` REASONING `⏎` `</mull>` `⏎` CONTENT, `<end>` (begun by prompts, never rendered)",
                ],
            ),
            // Names of tokens tell of calls, which stand alone or behind a text.
            (
                "C",
                "",
                "<call>",
                &[
                    "CONTENT, `<end>`",
                    "CALLS, `<end>` (begun by prompts, never rendered)",
                    "CONTENT `⏎` CALLS, `<end>` (begun by prompts, never rendered)",
                ],
            ),
        ] {
            let assistant = assistant.replace('C', "{{ m.content }}");
            let mut template = template(&assistant);
            template.jinja = template.jinja.replace(
                "<assistant>{% endif %}",
                &format!("<assistant>{prompt}{{% endif %}}"),
            );
            template
                .special_tokens
                .extend((!tokens.is_empty()).then(|| tokens.to_owned()));
            let format = Format::of(&template, &RenderInput::default());
            let ways = format.expect("it renders a question").ways;
            let ways: Vec<String> = ways.iter().map(ToString::to_string).collect();
            assert_eq!(ways, expected, "{assistant} {prompt} {tokens}");
        }
    }

    #[test]
    fn a_quote_shows_how_texts_are_escaped() {
        for (assistant, escaped, json) in [
            ("{{ m.content }}", "", ""),
            ("{{ m.content | tojson }}", "content", "content"),
            ("{{ m.content | e }}", "content", ""),
            (
                "{% if m.reasoning_content %}{\"m\": {{ m.reasoning_content | tojson }}}{% endif %}{{ m.content }}",
                "reasoning",
                "reasoning",
            ),
        ] {
            let format = Format::of(&template(assistant), &RenderInput::default());
            let format = format.expect("it renders a question");
            let keys = |slots: &[Slot]| {
                let keys: Vec<&str> = slots.iter().map(|slot| slot.key()).collect();
                keys.join(" ")
            };
            assert_eq!(keys(&format.escaped), escaped, "{assistant}");
            assert_eq!(keys(&format.json_strings), json, "{assistant}");
        }
    }

    #[test]
    fn what_is_not_known_of_calls_is_told() {
        let each = "{% for c in m.tool_calls %}<do {{ c.function.name }}>\
                    {% for k, v in c.function.arguments.items() %}<{{ k }}>V</>{% endfor %}</do>{% endfor %}";
        for (value, expected) in [
            ("{{ v | tojson }}", ""),
            ("{{ v }}", ""),
            (
                "{{ v if v is not float else '?' }}",
                "how values of type number are written",
            ),
            (
                "{{ v if v is not mapping else '?' }}",
                "how values of type object are written",
            ),
        ] {
            let jinja = format!("{{{{ m.content }}}}{}", each.replace('V', value));
            let format = Format::of(&template(&jinja), &RenderInput::default());
            let gaps = format.expect("it renders a question").gaps;
            assert_eq!(gaps.join(", "), expected, "{value}");
        }
    }
}
