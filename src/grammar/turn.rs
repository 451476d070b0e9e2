//! The turn of a format as a grammar, from where the prompt has left it.

use std::ops::Range;
use std::slice;

use crate::format::{Format, Node, Slot, Way};
use crate::markers::{self, first_piece};
use crate::response::Tools;
use crate::value::{Object, Value};

use super::automaton;
use super::borders::{
    around_calls, begun, first_marker, from_last, literal_head, longer_head, named_head, none_of,
    signed_head, unclear_calls,
};
use super::builder::{Builder, character, class, text_without};
use super::call::{CallRules, Declared, begins_with_marker, ends_with_argument, space};
use super::expr::{CharClass, Expr, SchemaNode, Tag};
use super::limits::{Limit, MAX_TOOLS, Place, TooMuch};
use super::notation::{LineBreaks, Notation, Quotes};
use super::schema::SchemaRules;
use super::{Grammar, GrammarError, Reasoning, Request, ToolChoice};

/// The grammar of a turn.
pub(super) fn grammar(
    format: &Format,
    tools: &Tools,
    request: &Request,
) -> Result<Grammar, GrammarError> {
    let p = Builder::new(request.beyond);
    let called = called_tools(&p, tools, &request.tool_choice)?;
    let answer = request.answer.as_ref();
    let answer = answer.map(|schema| p.admitted(None, schema));
    if let Some(too_much) = p.room.refused() {
        return Err(GrammarError::TooMuch(too_much));
    }
    let mut turn = Turn {
        p: &p,
        format,
        request,
        answer: answer.as_ref(),
        calls: Expr::NEVER,
        openers: Vec::new(),
        unclear_calls: Vec::new(),
        named_head: None,
        signed_head: None,
    };
    if let Some(node) = &format.calls {
        let outside = around_calls(format, node).into();
        turn.unclear_calls = unclear_calls(format, node);
        let rules = CallRules::new(&p, &called, request.parallel, &outside);
        turn.openers = rules.openers(node);
        match called.is_empty() {
            // Nobody answers a call that is written all the same. What has no marker may be a text.
            true => turn.openers.retain(|opener| begins_with_marker(opener)),
            false => turn.calls = rules.calls(node),
        }
        // Nobody answers calls of a turn that has none.
        if !turn.calls.is_never() && turn.has_calls_behind(begins_turn) {
            turn.named_head = named_head(node);
        }
        // Where a marker opens calls, `@read{` may be said.
        let is_marked = turn.openers.iter().any(|text| begins_with_marker(text));
        if !turn.calls.is_never() && !is_marked {
            turn.signed_head = signed_head(node);
        }
    }
    turn.check_calls(called.is_empty())?;
    let root = turn.root()?;
    if let Some(too_much) = p.room.refused() {
        return Err(GrammarError::TooMuch(too_much));
    }
    for gap in &format.gaps {
        p.warn(format!("it is not known {gap}"));
    }
    Ok(p.finish(root).reachable())
}

/// The tools that may be called.
fn called_tools(
    p: &Builder,
    tools: &Tools,
    choice: &ToolChoice,
) -> Result<Vec<Declared>, GrammarError> {
    let mut all = tools.declared();
    match choice {
        ToolChoice::None => all.clear(),
        ToolChoice::Auto | ToolChoice::Required => {}
        ToolChoice::Named(name) => {
            let known = all.iter().map(|(name, _)| name.clone()).collect();
            all.retain(|(known, _)| known == name);
            if all.is_empty() {
                let name = name.clone();
                return Err(GrammarError::UnknownTool { name, known });
            }
        }
    }
    if all.len() > MAX_TOOLS {
        let (place, limit) = (Place::new(None, ""), Limit::Tools);
        return Err(GrammarError::TooMuch(TooMuch { place, limit }));
    }
    let all = all.iter();
    let all = all.map(|(name, parameters)| Declared::admitted(p, name, parameters.as_ref()));
    Ok(all.collect())
}

/// What the turn is made of.
struct Turn<'a> {
    p: &'a Builder,
    format: &'a Format,
    request: &'a Request,
    /// The schema of answers, as far as it is within the limits.
    answer: Option<&'a Value>,
    /// The calls of a turn; never if there can be none.
    calls: Expr,
    /// What calls begin with.
    openers: Vec<String>,
    /// What shows where no marker does that calls begin or end.
    unclear_calls: Vec<Expr>,
    /// What calls begin with that may come first in a turn, and that nothing but their name opens.
    named_head: Option<Expr>,
    /// What calls begin with that nothing but a sign and their name opens.
    signed_head: Option<Expr>,
}

impl Turn<'_> {
    fn needs_calls(&self) -> bool {
        matches!(
            self.request.tool_choice,
            ToolChoice::Required | ToolChoice::Named(_)
        )
    }

    /// Sees to it that calls are known if they are asked for.
    fn check_calls(&self, has_no_tools: bool) -> Result<(), GrammarError> {
        let fail = |reason: &str| {
            Err(GrammarError::NoCalls {
                reason: reason.to_owned(),
            })
        };
        let has_calls = |way: &&Way| way.node.parts().contains(&Node::Calls);
        let mut with_calls = self.format.ways.iter().filter(has_calls);
        let is_seen = with_calls.any(|way| way.is_seen);
        match self.needs_calls() {
            _ if has_no_tools => match self.needs_calls() {
                true => fail("there are no tools"),
                false => Ok(()),
            },
            true if self.format.calls.is_none() => fail("its chat template renders none"),
            true if !is_seen => fail("its chat template only describes them, and renders none"),
            false if self.format.calls.is_some() && !is_seen => {
                self.p.warn(
                    "calls are only described, and never rendered: they may be written differently"
                        .to_owned(),
                );
                Ok(())
            }
            false if self.format.calls.is_none() => {
                let warning = "it is not known how this model writes calls: there are none";
                self.p.warn(warning.to_owned());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn root(&self) -> Result<Expr, GrammarError> {
        let begun = self.format.begun_by(&self.request.prompt);
        let ways = self.format.ways.iter();
        let mut left: Vec<Left<'_>> = ways.filter_map(|way| after_prompt(way, begun)).collect();
        // A prompt that leaves off in the middle of a marker has begun no text.
        if left.iter().any(|left| !left.is_in_text) {
            left.retain(|left| !left.is_in_text);
        }
        if left.is_empty() {
            return Err(GrammarError::Begun {
                begun: begun.to_owned(),
            });
        }
        let fail = |reason: &str| GrammarError::NoTurn {
            reason: reason.to_owned(),
        };
        let thinks = |left: &Left<'_>| left.nodes.contains(&Node::Slot(Slot::Reasoning));
        let mut kept = left;
        match self.request.reasoning {
            Reasoning::Auto => {}
            Reasoning::On => kept.retain(thinks),
            Reasoning::Off => kept.retain(|left| !thinks(left)),
        }
        if kept.is_empty() {
            return Err(fail(match self.request.reasoning {
                Reasoning::On => "reasoning is asked for, and no turn behind this prompt has any",
                _ => "no reasoning is asked for, and every turn behind this prompt has some",
            }));
        }
        kept.retain(|left| match left.nodes.contains(&Node::Calls) {
            true => !self.calls.is_never(),
            false => !self.needs_calls(),
        });
        if self.answer.is_some() {
            self.keep_answers(&mut kept)?;
        }
        if kept.is_empty() {
            return Err(fail("no turn behind this prompt has calls"));
        }
        let parts = kept.iter().flat_map(|left| &left.nodes);
        let slots = parts.filter_map(|node| match node {
            Node::Slot(slot) => Some(slot),
            _ => None,
        });
        let (escaped, strings) = (&self.format.escaped, &self.format.json_strings);
        let mut slots = slots.filter(|slot| escaped.contains(slot) && !strings.contains(slot));
        if let Some(slot) = slots.next() {
            return Err(fail(&format!(
                "its {} is not written as it is: the chat template escapes signs in it, and how is not known",
                slot.key()
            )));
        }
        let mut rows: Vec<TurnParts> = Vec::new();
        for (at, left) in kept.iter().enumerate() {
            let mut others = kept.iter().enumerate().filter(|(other, _)| *other != at);
            // Of two that are the same, the first is kept.
            // A turn without a thought is one whose thought is empty: the same text would fit twice.
            let is_covered = others
                .any(|(other, wider)| wider.covers(left) && (other < at || !left.covers(wider)));
            let row = self.turn_parts(left);
            if !is_covered && !row.parts.iter().any(Expr::is_never) {
                rows.push(row);
            }
        }
        match rows.is_empty() {
            true if self.answer.is_some() => {
                Err(fail("no answer is JSON of the schema that is asked for"))
            }
            true => Err(fail("the prompt has begun something else")),
            false => Ok(self.factored(rows)),
        }
    }

    /// Keeps the turns in which an answer of a schema may stand, or calls in place of one.
    fn keep_answers(&self, kept: &mut Vec<Left<'_>>) -> Result<(), GrammarError> {
        let fail = |reason: &str| GrammarError::NoTurn {
            reason: reason.to_owned(),
        };
        let content = Node::Slot(Slot::Content);
        kept.retain(|left| {
            let nodes = &left.nodes;
            match nodes.contains(&Node::Calls) {
                // Words beside calls are no answer.
                true => !nodes.contains(&content),
                false => nodes.contains(&content),
            }
        });
        if kept.is_empty() {
            return Err(fail("no turn behind this prompt has an answer"));
        }
        match self.format.json_strings.contains(&Slot::Content) {
            true => Err(fail(
                "an answer of a JSON Schema is asked for, and this format writes answers as strings of JSON",
            )),
            false => Ok(()),
        }
    }

    /// The parts of a turn one after the other.
    fn turn_parts(&self, left: &Left<'_>) -> TurnParts {
        let nodes = &left.nodes;
        let end = self.end(left);
        let split = self.section_starts(nodes);
        let mut parts = self.parts(left, 0..split);
        let calls_at = nodes.contains(&Node::Calls).then_some(parts.len());
        parts.extend(self.parts(left, split..nodes.len()));
        if let (Some(at), false) = (calls_at, left.in_calls.is_empty()) {
            parts[at] = self.p.behind(&parts[at], left.in_calls);
        }
        // A turn is taken for this one only if it is to its end.
        parts.extend([end, Expr::End]);
        TurnParts { parts, calls_at }
    }

    /// What ends a turn. An engine may have stopped before it, but not within a string that it closes: of `"}<|end|>`, only
    /// `<|end|>` may be missing.
    fn end(&self, left: &Left<'_>) -> Expr {
        let last = left
            .nodes
            .iter()
            .rfind(|node| !is_white(slice::from_ref(node)));
        let is_string =
            matches!(last, Some(Node::Slot(slot)) if self.format.json_strings.contains(slot));
        let Some((Node::Literal(text), rest)) = left.end.split_first().filter(|_| is_string) else {
            let end = Expr::sequence(left.end.iter().filter_map(text_node)).optional();
            return match line_before_end(left) {
                Some(line) => Expr::sequence([line.into(), end]).optional(),
                None => end,
            };
        };
        let marker = from_last(text);
        let (closing, marker) = match text.strip_suffix(marker) {
            Some(closing) if !closing.is_empty() => (closing, marker),
            _ => (text.as_str(), ""),
        };
        let rest = [Expr::from(marker)]
            .into_iter()
            .chain(rest.iter().filter_map(text_node));
        Expr::sequence([closing.into(), Expr::sequence(rest).optional()])
    }

    /// One of several rows; what several begin with is written once, so that what it is need not be settled
    /// before it comes.
    fn factored(&self, rows: Vec<TurnParts>) -> Expr {
        let (calls, mut rows): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|row| row.calls_at == Some(0));
        let mut groups = Vec::new();
        if !calls.is_empty() {
            let calls = calls.into_iter().map(|row| TurnParts {
                calls_at: None,
                ..row
            });
            let calls = self.factored(calls.collect());
            // A lazy grammar begins where calls do, so these are a rule by themselves.
            groups.push(self.p.trigger_rule("tool-calls", calls));
        }
        while !rows.is_empty() {
            let Some(head) = rows[0].parts.first().cloned() else {
                rows.remove(0);
                groups.push(Expr::Empty);
                continue;
            };
            let (same, others): (Vec<_>, Vec<_>) = rows
                .into_iter()
                .partition(|row| row.parts.first() == Some(&head));
            rows = others;
            let tails = same.into_iter().map(|row| TurnParts {
                parts: row.parts[1..].to_vec(),
                calls_at: row.calls_at.map(|at| at - 1),
            });
            let tails: Vec<TurnParts> = tails.collect();
            let is_end = tails.iter().all(|tail| tail.parts.is_empty());
            groups.push(match is_end {
                true => head,
                false => Expr::sequence([head, self.factored(tails)]),
            });
        }
        // Of several, the first that fits is taken: what may be nothing comes last.
        groups.sort_by_key(may_be_nothing);
        Expr::choice(groups)
    }

    /// A range of the nodes of a turn.
    fn parts(&self, left: &Left<'_>, range: Range<usize>) -> Vec<Expr> {
        let nodes = &left.nodes;
        let calls = nodes.iter().position(|node| *node == Node::Calls);
        let opening = self.section_starts(nodes)..calls.unwrap_or(0);
        let parts = range.map(|at| match &nodes[at] {
            Node::Literal(text) => text.as_str().into(),
            // What reads calls may take markers that always follow each other for one, and words are one with the marker
            // behind them.
            Node::Space(text)
                if is_between_literals(nodes, at)
                    && (opening.contains(&at) || is_behind_word(nodes, at)) =>
            {
                text.as_str().into()
            }
            // It stands with the text before it, or behind it.
            Node::Space(_) if self.words_on_next_line(nodes, at).is_some() => Expr::Empty,
            Node::Space(_) if self.takes_space_before(nodes, at + 1) => Expr::Empty,
            // It stands with the end of the turn.
            Node::Space(_) if at + 1 == nodes.len() && line_before_end(left).is_some() => {
                Expr::Empty
            }
            // White space behind a text that nothing closes is a part of it, so no other than is written may stand
            // there.
            Node::Space(text)
                if nodes[..at].last() == Some(&Node::Calls) && self.calls_end_with_text() =>
            {
                Expr::from(text.as_str()).optional()
            }
            Node::Space(text) => space(text, nodes[..at].last(), nodes.get(at + 1)),
            Node::Slot(slot) if self.format.json_strings.contains(slot) => {
                self.within_quotes(*slot)
            }
            Node::Slot(Slot::Reasoning) => self.with_line_break(left, at, self.thought(left, at)),
            Node::Slot(_) => self.with_line_break(left, at, self.answer(left, at)),
            Node::Calls => self.calls.clone(),
            // The ways of a turn have no other parts.
            _ => Expr::Empty,
        });
        match Expr::sequence(parts) {
            Expr::Sequence(parts) => parts,
            Expr::Empty => Vec::new(),
            one => vec![one],
        }
    }

    /// A text that is written as within a string of JSON, whose quotes stand around it. What ends a turn stands in none as it is.
    fn within_quotes(&self, slot: Slot) -> Expr {
        let ways = self.format.ways.iter();
        let ends = ways.filter_map(|way| text_of(way.end.parts()));
        let ends = ends.map(|text| from_last(text.trim()).to_owned());
        let ends = ends.chain(self.format.answer_marker.clone());
        // A quote in it is none of the string.
        let ends = ends.filter(|text| !text.is_empty() && !text.contains('"'));
        let ends: Vec<Expr> = ends.map(Expr::from).collect();
        let schema = Object::from_iter([("type", Value::from("string"))]);
        let text = Expr::Schema(Box::new(SchemaNode {
            name: slot.key().to_owned(),
            schema: schema.into(),
            notation: Notation::text(LineBreaks::default()).escaped("\""),
            expr: character(&Quotes::escaping("\"")).without(ends),
        }));
        text.tagged(match slot {
            Slot::Reasoning => Tag::Reasoning,
            _ => Tag::Content,
        })
    }

    fn thought(&self, left: &Left<'_>, at: usize) -> Expr {
        let closers = self.markers_after_reasoning();
        // A call or an answer may begin within reasoning that is never closed.
        let openers = self.openers_behind_texts();
        let ends = closers.chain(self.ends()).chain(openers);
        let ends: Vec<Expr> = ends.map(Expr::from).collect();
        // Where nothing opens a thought, a call could stand there instead.
        let is_first = is_white(&left.begun) && is_white(&left.nodes[..at]);
        let heads = self.signed_head.iter().chain(&self.unclear_calls);
        let heads = heads.filter(|_| is_first).cloned().collect();
        self.text(left, at, heads, ends).tagged(Tag::Reasoning)
    }

    fn answer(&self, left: &Left<'_>, at: usize) -> Expr {
        let before = &left.nodes[..at];
        let markers = self.markers();
        // What looks like a call is read as one. Where calls may follow, they begin with that.
        let is_behind_calls = before.contains(&Node::Calls);
        let calls = self.unclear_calls.iter();
        let calls = calls.filter(|_| is_behind_calls || !self.has_calls_behind_texts());
        let has_section = !self.section().trim().is_empty();
        let heads = self.signed_head.iter();
        let heads = heads.filter(|_| is_behind_calls || !has_section);
        // A pattern that begins with a marker is kept out with that.
        let is_new = |other: &&Expr| {
            let begin = other.first_literal().unwrap_or_default();
            !markers.iter().any(|marker| begin.starts_with(marker))
        };
        let unclear: Vec<Expr> = calls.chain(heads).filter(is_new).cloned().collect();
        let ends = markers.into_iter().map(Expr::from).chain(unclear);
        if let Some(schema) = self.answer {
            // What reads the turn takes the marker in `{"city": "<call>"}` for one, too.
            let notation = Notation::json().without(ends.collect());
            let rules = SchemaRules::new(self.p, "answer", schema, notation);
            return rules.node(schema).tagged(Tag::Content);
        }
        let text = self.text(left, at, Vec::new(), ends.collect());
        // At the start of a turn, its first sign distinguishes a call from a text. Nothing is no text there.
        let text = match self.bare_sign().filter(|_| is_white(before)) {
            Some(sign) => {
                let call = Expr::sequence([Expr::Space, class(CharClass::of([sign]))]);
                Expr::sequence([Expr::Negate(Box::new(call)), text]).optional()
            }
            None => text,
        };
        text.tagged(Tag::Content)
    }

    /// A text that begins at this node, holds none of these ends, and begins with none of these heads. Nor does it begin as a call,
    /// if one could stand there instead, or with the rest of what the text before it has begun.
    fn text(&self, left: &Left<'_>, at: usize, heads: Vec<Expr>, ends: Vec<Expr>) -> Expr {
        let before = &[left.begun.as_slice(), &left.nodes[..at]].concat();
        let literals = before
            .iter()
            .rev()
            .take_while(|node| text_node(node).is_some());
        let literals = before[before.len() - literals.count()..].iter();
        let opening = text_of(&literals.cloned().collect::<Vec<_>>()).unwrap_or_default();
        // `Oslo\n{59, 10}` is read as a call where nothing but its name opens one.
        let named = match &self.named_head {
            Some(named) if begins_turn(self.format, before) => Some(named.clone()),
            Some(named) => longer_head(named, &opening),
            None => None,
        };
        let calls = self
            .format
            .calls
            .as_ref()
            .filter(|_| !self.calls.is_never());
        let next = self.words_on_next_line(&left.nodes, at + 1);
        let ends: Vec<Expr> = ends.into_iter().chain(next.map(Expr::from)).collect();
        let mut others = ends.clone();
        others.extend(calls.and_then(literal_head));
        let text = text_without(ends);
        // The white space before the text may be missing.
        let mut openings = vec![opening.as_str(), opening.trim_end()];
        openings.dedup();
        // Behind `@@THOUGHT@@`, a text that begins with `@CALL@@` makes a marker together with that.
        let rests = openings.iter().flat_map(|opening| begun(&others, opening));
        // Most have a marker in them that stands in no such text. And signs alone are read as they stand, behind the
        // marker that has them at its end.
        let rests = rests.filter(|rest| {
            let example = rest.example();
            markers::unlikely_in_prose(&example) && !holds_end(&example, &text)
        });
        let heads = heads.into_iter().chain(named).chain(rests);
        let heads: Vec<Expr> = match self.takes_space_before(&left.nodes, at) {
            true => heads
                .map(|head| Expr::sequence([Expr::Space, head]))
                .collect(),
            false => heads.collect(),
        };
        match heads.is_empty() {
            true => text,
            // What follows may begin so where there is no text.
            false => Expr::sequence([none_of(heads), text]).optional(),
        }
    }

    /// Whether calls end with texts that are written as they are, so that white space behind them is a part of the text.
    fn calls_end_with_text(&self) -> bool {
        self.format.calls.as_ref().is_some_and(ends_with_argument)
    }

    /// A text together with the line break behind it, if it needs one; where there is no text, it may be missing.
    fn with_line_break(&self, left: &Left<'_>, at: usize, text: Expr) -> Expr {
        match (
            self.words_on_next_line(&left.nodes, at + 1),
            left.nodes.get(at + 1),
        ) {
            (Some(_), Some(Node::Space(space))) => {
                let line = Expr::sequence([text, space.as_str().into()]);
                let is_opened = !is_white(&left.begun) || !is_white(&left.nodes[..at]);
                // Behind what opens a text, what closes it is known by its line, too, as is what follows a thought.
                let is_thought = left.nodes[at] == Node::Slot(Slot::Reasoning);
                let is_closed = matches!(left.nodes.get(at + 2), Some(Node::Literal(close)) if self.closes_texts(close));
                match at > 0 && is_opened && (is_thought || is_closed) {
                    true => line,
                    false => line.optional(),
                }
            }
            _ => text,
        }
    }

    /// Whether a text begins with the white space before it: a line break in that may be the one that a text without
    /// anything in it ends with, as in `Thought:\nAction: …`.
    fn takes_space_before(&self, nodes: &[Node], at: usize) -> bool {
        // Behind a word, white space is needed.
        let is_behind_space = match &nodes[..at] {
            [before @ .., Node::Space(text)] => {
                space(text, before.last(), nodes.get(at)) == Expr::Space
            }
            _ => false,
        };
        is_behind_space && self.words_on_next_line(nodes, at + 1).is_some()
    }

    /// The line break at this node, and the words with which what follows a text begins behind it: what reads the turn
    /// knows words by the beginning of a line.
    fn words_on_next_line(&self, nodes: &[Node], at: usize) -> Option<String> {
        let Some(Node::Space(space)) = nodes.get(at).filter(|_| at > 0) else {
            return None;
        };
        let next = match nodes.get(at + 1)? {
            Node::Literal(text) => text.clone(),
            Node::Calls => super::borders::opener(self.format.calls.as_ref()?)?,
            _ => return None,
        };
        let is_known_anywhere = match (&nodes[at - 1], &nodes[at + 1]) {
            (Node::Slot(Slot::Content), Node::Literal(close)) if self.closes_texts(close) => {
                closes_anywhere(close)
            }
            // `<act>` is known wherever it stands, and `Action:` amid a line is a word.
            (Node::Slot(Slot::Content | Slot::Reasoning), _) => {
                begins_with_marker(&next) || markers::begins_with_rare_sign(&next)
            }
            _ => return None,
        };
        (space.contains('\n') && !is_known_anywhere).then(|| space.clone() + &next)
    }

    /// Whether this stands behind texts also where no call follows.
    fn closes_texts(&self, close: &str) -> bool {
        let without_calls = |way: &&Way| !way.node.parts().contains(&Node::Calls);
        let mut ways = self.format.ways.iter().filter(without_calls);
        ways.any(|way| {
            let nodes = way.node.parts().iter().chain(way.end.parts());
            let mut behind = nodes.skip_while(|node| **node != Node::Slot(Slot::Content));
            behind.next();
            let next = behind.find(|node| !matches!(node, Node::Space(_)));
            matches!(next, Some(Node::Literal(text)) if text == close)
        })
    }

    /// At which node the texts around the calls begin, if there are calls.
    fn section_starts(&self, nodes: &[Node]) -> usize {
        let Some(at) = nodes.iter().position(|node| *node == Node::Calls) else {
            return nodes.len();
        };
        let section = self.section();
        let mut starts = 0..=at;
        let start = starts.find(|start| text_of(&nodes[*start..at]).as_deref() == Some(&section));
        start.unwrap_or(at)
    }

    /// What stands between a text and the calls in all ways, as far as it is the same.
    fn section(&self) -> String {
        let ways = self.format.ways.iter();
        let texts = ways.filter_map(|way| {
            let nodes = way.node.parts();
            let at = nodes.iter().position(|node| *node == Node::Calls)?;
            let texts = nodes[..at].iter().rev().take_while(|node| node.is_text());
            let count = texts.count();
            Some(nodes[at - count..at].to_vec())
        });
        // Some ways have more before the calls, such as what closes a text.
        let common = texts.reduce(|one, other| {
            let pairs = one.iter().rev().zip(other.iter().rev());
            let same = pairs.take_while(|(a, b)| a == b).count();
            one[one.len() - same..].to_vec()
        });
        let nodes = common.unwrap_or_default();
        let nodes = &nodes[nodes
            .iter()
            .take_while(|node| matches!(node, Node::Space(_)))
            .count()..];
        text_of(nodes).unwrap_or_default()
    }

    /// Whether calls may stand behind nodes of which this is so.
    fn has_calls_behind(&self, is: impl Fn(&Format, &[Node]) -> bool) -> bool {
        self.format.ways.iter().any(|way| {
            let nodes = way.node.parts();
            let calls = nodes.iter().position(|node| *node == Node::Calls);
            calls.is_some_and(|at| is(self.format, &nodes[..at]))
        })
    }

    /// Whether calls may stand behind a text, which ends where they begin: of `<note>CONTENT</note>CALLS`, it has ended before.
    fn has_calls_behind_texts(&self) -> bool {
        self.has_calls_behind(|_, nodes| {
            nodes.contains(&Node::Slot(Slot::Content)) && !ends_with_closed_text(nodes)
        })
    }

    /// The sign that calls begin with where they have no marker, and may come first in a turn.
    fn bare_sign(&self) -> Option<char> {
        let may_come = !self.calls.is_never() && self.has_calls_behind(|_, nodes| is_white(nodes));
        let first = self.openers.first().filter(|_| may_come)?.chars().next()?;
        let is_marked = self
            .openers
            .iter()
            .any(|text| first_piece(text).is_some_and(markers::is_marker));
        // An answer may have such a bracket in it, but not begin with it.
        (matches!(first, '{' | '[') && !is_marked).then_some(first)
    }

    /// What calls begin with, and prose does not.
    fn distinctive_openers(&self) -> impl Iterator<Item = String> + '_ {
        let openers = self.openers.iter();
        let openers = openers.filter(|text| markers::unlikely_in_prose(text));
        openers.cloned()
    }

    /// What ends turns.
    fn ends(&self) -> impl Iterator<Item = String> + '_ {
        let ways = self.format.ways.iter();
        let ends = ways.filter_map(|way| first_marker(way.end.parts()));
        // Where nothing else ends a turn, a model is stopped where a tool's answer begins.
        ends.chain(self.format.answer_marker.clone())
    }

    /// What can't stand in a text, since it begins or ends another part of the turn.
    fn markers(&self) -> Vec<String> {
        let mut all: Vec<String> = self.ends().collect();
        for way in &self.format.ways {
            let nodes = way.node.parts();
            for (at, node) in nodes.iter().enumerate() {
                let is_thought = *node == Node::Slot(Slot::Reasoning);
                if is_thought || *node == Node::Slot(Slot::Content) {
                    all.extend(self.markers_after(&nodes[at + 1..]));
                }
                // What opens a thought would do so within an answer as well.
                if is_thought {
                    all.extend(first_marker(&nodes[..at]));
                }
                if *node == Node::Slot(Slot::Content) {
                    all.extend(last_marker(&nodes[..at]));
                }
                if *node == Node::Calls {
                    match last_marker(&nodes[..at]) {
                        // A single call may come without what stands around all of them.
                        Some(marker) => {
                            let own = self.distinctive_openers();
                            all.extend([marker].into_iter().chain(own));
                        }
                        // At the start of a turn, its first sign tells a call from a text.
                        None if self.bare_sign().is_some() => {
                            all.extend(self.distinctive_openers());
                        }
                        None => all.extend(self.openers.iter().cloned()),
                    }
                }
            }
        }
        all
    }

    /// The markers that calls and answers begin with.
    fn openers_behind_texts(&self) -> Vec<String> {
        let mut all: Vec<String> = self.openers.clone();
        for way in &self.format.ways {
            let nodes = way.node.parts();
            for (at, node) in nodes.iter().enumerate() {
                if matches!(node, Node::Calls | Node::Slot(Slot::Content))
                    && let Some(Node::Literal(text)) = nodes[..at]
                        .iter()
                        .rev()
                        .find(|node| !matches!(node, Node::Space(_)))
                {
                    let pieces: Vec<&str> = markers::pieces(text).collect();
                    let words = pieces.iter().rev();
                    let words = words.take_while(|piece| !markers::is_marker(piece));
                    // Words are one together, as in `first_marker`.
                    let last = pieces.len().saturating_sub(words.count().max(1));
                    all.push(pieces[last..].concat());
                    all.extend(last_marker(&nodes[..at]));
                }
            }
        }
        all.retain(|text| markers::unlikely_in_prose(text));
        all
    }

    /// What ends reasoning in any of the ways, since the first of them that comes decides which it is.
    fn markers_after_reasoning(&self) -> impl Iterator<Item = String> + '_ {
        self.format.ways.iter().flat_map(|way| {
            let nodes = way.node.parts();
            let at = nodes
                .iter()
                .position(|node| *node == Node::Slot(Slot::Reasoning));
            at.map_or_else(Vec::new, |at| self.markers_after(&nodes[at + 1..]))
        })
    }

    /// The first marker of what follows a text.
    fn markers_after(&self, nodes: &[Node]) -> Vec<String> {
        match nodes.iter().find(|node| !matches!(node, Node::Space(_))) {
            Some(Node::Calls) => self.openers.clone(),
            _ => first_marker(nodes).into_iter().collect(),
        }
    }
}

/// Whether a row ends with a text between two markers of one name.
fn ends_with_closed_text(nodes: &[Node]) -> bool {
    let solid = nodes.iter().filter(|node| !matches!(node, Node::Space(_)));
    let solid: Vec<&Node> = solid.collect();
    match solid.as_slice() {
        [
            ..,
            Node::Literal(open),
            Node::Slot(Slot::Content),
            Node::Literal(close),
        ] => markers::is_pair(open, close),
        _ => false,
    }
}

/// Whether a text has something in it that ends this one.
fn holds_end(text: &str, of: &Expr) -> bool {
    match of {
        Expr::Until(ends) => ends.iter().any(|end| text.contains(end.as_str())),
        Expr::Without(one) => automaton::stands_in(text, &one.others) == Some(true),
        _ => false,
    }
}

/// Whether what closes texts and turns is known wherever it stands, as `</say>` is: `==` amid a line may be a part of a text.
fn closes_anywhere(text: &str) -> bool {
    first_piece(text).is_some_and(markers::is_closed)
}

/// The line break between what closes calls or a text and what ends a turn, if what reads the turn may know that by its line.
fn line_before_end<'n>(left: &'n Left<'_>) -> Option<&'n str> {
    let ([.., before, Node::Space(space)], [Node::Literal(end), ..]) = (&left.nodes[..], left.end)
    else {
        return None;
    };
    // Behind a text that nothing closes, the line stands with the text.
    let is_closed = !matches!(before, Node::Slot(_));
    (is_closed && space.contains('\n') && !closes_anywhere(end)).then_some(space)
}

fn is_white(nodes: &[Node]) -> bool {
    nodes.iter().all(|node| matches!(node, Node::Space(_)))
}

/// Whether a turn begins behind these nodes, apart from its thoughts.
fn begins_turn(format: &Format, nodes: &[Node]) -> bool {
    let mut before = nodes.iter().rev();
    let Some(last) = before.find(|node| !matches!(node, Node::Space(_))) else {
        return true;
    };
    let Node::Literal(last) = last else {
        return false;
    };
    let solid = |way: &Way| {
        let nodes = way.node.parts().iter();
        nodes
            .filter(|node| !matches!(node, Node::Space(_)))
            .cloned()
            .collect::<Vec<_>>()
    };
    let closes = |row: &[Node]| match row {
        [
            Node::Slot(Slot::Reasoning),
            Node::Literal(close),
            Node::Slot(Slot::Content),
        ] => last.ends_with(close.as_str()),
        _ => false,
    };
    let mut ways = format.ways.iter();
    ways.any(|way| solid(way).windows(3).any(closes))
}

fn is_behind_word(nodes: &[Node], at: usize) -> bool {
    match nodes[..at].last() {
        Some(Node::Literal(text)) => text.ends_with(char::is_alphanumeric),
        _ => false,
    }
}

fn is_between_literals(nodes: &[Node], at: usize) -> bool {
    let is_literal = |node: Option<&Node>| matches!(node, Some(Node::Literal(_)));
    is_literal(nodes[..at].last()) && is_literal(nodes.get(at + 1))
}

/// The last marker of the texts that end a row of nodes.
fn last_marker(nodes: &[Node]) -> Option<String> {
    let texts = nodes.iter().rev();
    let mut texts = texts.take_while(|node| text_node(node).is_some());
    texts.find_map(|node| {
        let Node::Literal(text) = node else {
            return None;
        };
        let marker = markers::markers(text).last()?;
        Some(marker.to_owned())
    })
}

/// The text of nodes that are nothing else.
fn text_of(nodes: &[Node]) -> Option<String> {
    let texts = nodes.iter().map(|node| match node {
        Node::Literal(text) | Node::Space(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// A text or white space.
fn text_node(node: &Node) -> Option<Expr> {
    match node {
        Node::Literal(text) => Some(text.as_str().into()),
        Node::Space(_) => Some(Expr::Space),
        _ => None,
    }
}

fn may_be_nothing(expr: &Expr) -> bool {
    match expr.bare() {
        Expr::Empty | Expr::End | Expr::Space | Expr::Negate(_) => true,
        Expr::Until(_) | Expr::Rest | Expr::Without(_) => true,
        Expr::Sequence(all) => all.iter().all(may_be_nothing),
        Expr::Choice(all) => all.iter().any(may_be_nothing),
        Expr::Repeat(repeat) => repeat.at_least == 0,
        _ => false,
    }
}

/// A way to write a turn, part for part.
struct TurnParts {
    parts: Vec<Expr>,
    /// Where the texts around the calls begin, if there are calls.
    calls_at: Option<usize>,
}

/// What is left of a turn behind what a prompt has begun.
struct Left<'a> {
    nodes: Vec<Node>,
    /// What stands before that, which the prompt has written.
    begun: Vec<Node>,
    /// What ends the turn.
    end: &'a [Node],
    /// What the prompt has written of the calls, which come first.
    in_calls: &'a str,
    /// Whether the prompt has begun a text of the model.
    is_in_text: bool,
}

/// A piece of a turn, for comparing.
#[derive(Clone, Copy, PartialEq)]
enum Piece<'n> {
    Sign(char),
    Space,
    Part(&'n Node),
}

impl Left<'_> {
    fn pieces(&self) -> Vec<Piece<'_>> {
        let mut pieces = Vec::new();
        for node in self.nodes.iter().chain(self.end) {
            match node {
                Node::Literal(text) => pieces.extend(text.chars().map(Piece::Sign)),
                Node::Space(_) => pieces.push(Piece::Space),
                other => pieces.push(Piece::Part(other)),
            }
        }
        pieces
    }

    /// Whether every turn that is left of another one is one of this, since texts may be empty.
    fn covers(&self, other: &Left<'_>) -> bool {
        self.in_calls == other.in_calls
            && self.is_in_text == other.is_in_text
            && covers(&self.pieces(), &other.pieces())
    }
}

fn covers(wide: &[Piece<'_>], narrow: &[Piece<'_>]) -> bool {
    // For each place of the narrow one, whether the wide one may have come as far.
    let mut reached = vec![false; narrow.len() + 1];
    reached[0] = true;
    for piece in wide {
        let is_text = matches!(piece, Piece::Part(Node::Slot(_)));
        let mut next = vec![false; narrow.len() + 1];
        for at in 0..=narrow.len() {
            let may_stay = is_text || *piece == Piece::Space;
            let from_here = reached[at] && may_stay;
            next[at] |= from_here;
            let Some(found) = narrow.get(at) else {
                continue;
            };
            let takes = found == piece || (is_text && *found == Piece::Space);
            // A text takes any number of pieces, all else one.
            next[at + 1] |= takes && (reached[at] || (is_text && next[at]));
        }
        reached = next;
    }
    reached[narrow.len()]
}

/// What is left of a turn; `None` if the prompt did not begin this one.
fn after_prompt<'a>(way: &'a Way, begun: &'a str) -> Option<Left<'a>> {
    let nodes = way.node.parts();
    let left = |count: usize, rest: Vec<Node>| Left {
        nodes: rest,
        begun: nodes[..count].to_vec(),
        end: way.end.parts(),
        in_calls: "",
        is_in_text: false,
    };
    let mut rest = begun;
    for (at, node) in nodes.iter().enumerate() {
        if rest.trim().is_empty() {
            return Some(left(at, nodes[at..].to_vec()));
        }
        match node {
            Node::Space(_) => rest = rest.trim_start(),
            Node::Literal(text) => {
                let text = text.as_str();
                rest = rest.trim_start();
                match rest.strip_prefix(text) {
                    Some(after) => rest = after,
                    None => {
                        // The prompt may leave off in the middle of it.
                        let begun = rest.trim_end();
                        let tail = Node::Literal(text.strip_prefix(begun)?.to_owned());
                        let mut left = left(at, [vec![tail], nodes[at + 1..].to_vec()].concat());
                        left.begun.push(Node::Literal(begun.to_owned()));
                        return Some(left);
                    }
                }
            }
            Node::Slot(_) => {
                let mut next = nodes[at + 1..].iter().filter_map(|node| match node {
                    Node::Literal(text) => Some(text.as_str()),
                    _ => None,
                });
                // The prompt may have written but the first marker of what follows.
                let next = next.next().and_then(|next| {
                    let first = || rest.find(first_piece(next)?);
                    rest.find(next).or_else(first)
                });
                match next {
                    Some(found) => rest = &rest[found..],
                    None => {
                        // The text has begun before.
                        return Some(Left {
                            is_in_text: true,
                            ..left(at + 1, nodes[at..].to_vec())
                        });
                    }
                }
            }
            Node::Calls => {
                return Some(Left {
                    in_calls: rest.trim_start(),
                    ..left(at, nodes[at..].to_vec())
                });
            }
            _ => return None,
        }
    }
    rest.trim()
        .is_empty()
        .then(|| left(nodes.len(), Vec::new()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn way(turn: &str, end: &str) -> Way {
        Way {
            node: Node::row(turn),
            end: Node::row(end),
            is_seen: true,
        }
    }

    fn row(text: &str) -> Vec<Node> {
        Node::row(text).parts().to_vec()
    }

    #[test]
    fn a_prompt_may_have_begun_the_turn() {
        for (turn, begun, expected) in [
            (
                "<t>REASONING</t>CONTENT",
                "",
                Some(("<t>REASONING</t>CONTENT", false)),
            ),
            (
                "<t>REASONING</t>CONTENT",
                "<t>\n",
                Some(("REASONING</t>CONTENT", false)),
            ),
            // It may leave off in the middle of a marker.
            (
                "<t>REASONING</t>CONTENT",
                "<t",
                Some((">REASONING</t>CONTENT", false)),
            ),
            (
                "<t>REASONING</t>CONTENT",
                "<t>Hm",
                Some(("REASONING</t>CONTENT", true)),
            ),
            (
                "<t>REASONING</t>CONTENT",
                "<t>Hm</t>",
                Some(("CONTENT", false)),
            ),
            (
                "<t>REASONING</t><a>CONTENT",
                "<t>Hm</t><a",
                Some((">CONTENT", false)),
            ),
            ("<t>REASONING</t>CONTENT", "<call>", None),
            ("CONTENT", "So", Some(("CONTENT", true))),
        ] {
            let way = way(turn, "<end>");
            let found = after_prompt(&way, begun).map(|left| (left.nodes, left.is_in_text));
            let expected = expected.map(|(rest, is_in_text)| (row(rest), is_in_text));
            // A marker that is cut short is a literal, whatever it looks like.
            assert_eq!(found, expected, "{begun:?}");
        }
        let way = way("CALLS", "<end>");
        let left = after_prompt(&way, "\n<call>").expect("calls come first");
        assert_eq!(left.in_calls, "<call>");
    }

    #[test]
    fn a_turn_with_a_text_covers_one_without_it() {
        let ways = [
            "CONTENTCALLS",
            "CALLS",
            "\nCALLS",
            "<a>CALLS",
            "CONTENT<a>CALLS",
            "\nCONTENT\nCALLS",
        ];
        for (wide, narrow, expected) in [
            (0, 1, true),
            (1, 0, false),
            // A text takes the white space before what follows.
            (0, 2, true),
            (0, 5, true),
            (2, 1, true),
            (1, 2, false),
            // A text is no marker.
            (0, 3, false),
            (4, 3, true),
            (3, 3, true),
        ] {
            let [wide, narrow] = [wide, narrow].map(|at| way(ways[at], "<end>"));
            let left = |way| after_prompt(way, "").expect("nothing has begun");
            let (wide, narrow) = (left(&wide), left(&narrow));
            assert_eq!(
                wide.covers(&narrow),
                expected,
                "{:?} {:?}",
                wide.nodes,
                narrow.nodes
            );
        }
    }

    #[test]
    fn the_last_marker_stands_in_the_texts_at_the_end() {
        for (nodes, expected) in [
            ("<a>CONTENT<b>\n<c>so", Some("<c>")),
            ("<a>CONTENT<b>\nso", Some("<b>")),
            ("<a>CONTENT", None),
            ("so", None),
        ] {
            assert_eq!(last_marker(&row(nodes)).as_deref(), expected, "{nodes}");
        }
        assert_eq!(text_of(&row("<a>\nb")).as_deref(), Some("<a>\nb"));
        assert_eq!(text_of(&row("<a>CONTENT")), None);
    }

    #[test]
    fn words_hold_what_ends_their_text() {
        let pattern = Expr::sequence(["<".into(), Expr::Space, "a".into()]);
        let without = text_without([pattern, "<b>".into()]);
        for (text, of, expected) in [
            ("so <a>", Expr::Until(vec!["<a>".to_owned()]), true),
            ("so", Expr::Until(vec!["<a>".to_owned()]), false),
            ("< a", without.clone(), true),
            ("< b", without, false),
            ("so", Expr::Rest, false),
        ] {
            assert_eq!(holds_end(text, &of), expected, "{text}");
        }
    }

    #[test]
    fn what_may_be_nothing_is_tried_last() {
        for (expr, expected) in [
            (Expr::Rest.tagged(Tag::Content), true),
            (Expr::sequence([Expr::Space, Expr::End]), true),
            (Expr::from("a").optional(), true),
            (Expr::from("a").repeat(2, None), false),
            (Expr::choice(["a".into(), Expr::Empty]), true),
            (Expr::sequence(["a".into(), Expr::Rest]), false),
        ] {
            assert_eq!(may_be_nothing(&expr), expected, "{expr:?}");
        }
    }

    #[test]
    fn white_space_stands_between_texts_or_behind_words() {
        for (nodes, between, behind_word) in [
            ("<a>\n<b>", true, false),
            ("so\n<b>", true, true),
            ("so\nCALLS", false, true),
            ("CONTENT\n<b>", false, false),
        ] {
            let nodes = row(nodes);
            assert!(matches!(nodes[1], Node::Space(_)), "{nodes:?}");
            assert_eq!(is_between_literals(&nodes, 1), between, "{nodes:?}");
            assert_eq!(is_behind_word(&nodes, 1), behind_word, "{nodes:?}");
        }
    }

    #[test]
    fn a_text_between_two_markers_of_one_name_has_ended_behind_them() {
        for (nodes, expected) in [
            (&["<note>", "CONTENT", "</note>"][..], true),
            (&["<note>", "CONTENT", "\n", "</note>", "\n"], true),
            (&["<note>", "CONTENT", "</note><call>"], false),
            (&["<note>", "CONTENT"], false),
            (&["CONTENT", "</note>"], false),
        ] {
            let nodes: Vec<Node> = nodes.iter().flat_map(|text| row(text)).collect();
            assert_eq!(ends_with_closed_text(&nodes), expected, "{nodes:?}");
        }
    }

    #[test]
    fn tools_are_chosen_by_name() {
        let tools =
            Tools::from_json(r#"[{"name": "read"}, {"name": "knock"}]"#).expect("it is JSON");
        let named = |name: &str| ToolChoice::Named(name.to_owned());
        for (choice, expected) in [
            (ToolChoice::Auto, Some(vec!["read", "knock"])),
            (ToolChoice::Required, Some(vec!["read", "knock"])),
            (ToolChoice::None, Some(vec![])),
            (named("knock"), Some(vec!["knock"])),
            (named("tide"), None),
        ] {
            let found = called_tools(&Builder::default(), &tools, &choice).ok();
            let found = found.map(|all| all.into_iter().map(|tool| tool.name).collect::<Vec<_>>());
            let expected = expected.map(|all| all.into_iter().map(Arc::from).collect::<Vec<_>>());
            assert_eq!(found, expected, "{choice:?}");
        }
    }
}
