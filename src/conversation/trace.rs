//! Which part of a template wrote which part of a text.
//!
//! A copy of the template notes it as it is rendered: before whatever it writes it puts characters that no text
//! holds, and that say what comes; and before each turn of a loop. They are taken out again.

use std::collections::HashMap;
use std::ops::Range;

use crate::budget::Budget;
use crate::chat_template::outline::{Node, Operand, outline};
use crate::chat_template::{ChatTemplate, PreparedTemplate, RenderError, RenderInput, Renderer};

use super::edits::{Controls, Edits};

/// Something that writes text.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    /// Where it stands in the template.
    pub(crate) range: Range<usize>,
    /// If what it writes stands in the template: each character, with its place.
    pub(crate) literal: Option<Vec<(usize, char)>>,
    /// The names of the loops around it, the innermost first.
    pub(crate) loop_names: Vec<String>,
}

/// A template, with all that writes text straight into what is rendered.
#[derive(Debug, Clone)]
pub(crate) struct Outline {
    pub(crate) jinja: String,
    pub(crate) nodes: Vec<Node>,
    pub(crate) pieces: Vec<Piece>,
    /// The pieces, by where their [nodes or operands](key) begin.
    numbers: HashMap<usize, usize>,
}

impl Outline {
    /// `joins` says whether expressions are cut at their operators.
    pub(crate) fn of(jinja: &str, joins: bool) -> Result<Outline, String> {
        let mut nodes = outline(jinja)?;
        if !joins {
            nodes.iter_mut().for_each(join);
        }
        let mut outline = Outline {
            jinja: jinja.to_owned(),
            nodes: Vec::new(),
            pieces: Vec::new(),
            numbers: HashMap::new(),
        };
        outline.collect(&nodes, &mut Vec::new());
        outline.nodes = nodes;
        Ok(outline)
    }

    /// The number of the piece that begins at a place.
    pub(crate) fn number(&self, start: usize) -> Option<usize> {
        self.numbers.get(&start).copied()
    }

    fn collect(&mut self, nodes: &[Node], loops: &mut Vec<String>) {
        for node in nodes {
            match node {
                Node::Text(text) if text.written.is_empty() => {}
                Node::Text(text) => {
                    let written = &self.jinja[text.written.clone()];
                    let places = written.char_indices();
                    let places = places.map(|(at, c)| (text.written.start + at, c));
                    // Line ends of two characters become one.
                    let literal = (!written.contains('\r')).then(|| places.collect());
                    self.add(text.range.start, text.written.clone(), literal, loops);
                }
                Node::Print(print) => {
                    for operand in &print.operands {
                        let start = operand.range.start;
                        self.add(start, operand.range.clone(), operand.literal.clone(), loops);
                    }
                }
                Node::Block(block) if block.writes_through() => {
                    let outside = loops.len();
                    if block.keyword == "for" {
                        loops.extend(block.sets.iter().cloned());
                    }
                    for body in &block.bodies {
                        self.collect(body, loops);
                    }
                    loops.truncate(outside);
                }
                Node::Block(_) | Node::Tag(_) => {}
            }
        }
    }

    fn add(
        &mut self,
        start: usize,
        range: Range<usize>,
        literal: Option<Vec<(usize, char)>>,
        loops: &[String],
    ) {
        self.numbers.insert(start, self.pieces.len());
        self.pieces.push(Piece {
            range,
            literal,
            loop_names: loops.iter().rev().cloned().collect(),
        });
    }

    /// The copy of the template that notes what it writes.
    fn noting(&self) -> String {
        let mut edits = Edits::default();
        self.note(&self.nodes, &mut edits);
        edits.apply(&self.jinja)
    }

    fn note(&self, nodes: &[Node], edits: &mut Edits) {
        let jinja = &self.jinja;
        for node in nodes {
            match node {
                Node::Text(text) => {
                    if let Some(number) = self.number(text.range.start) {
                        let at = text.range.start;
                        let mark = mark(WRITES, number);
                        edits.insert(at, Controls::after_tag(jinja, at).around(&mark));
                    }
                }
                Node::Print(print) => {
                    let printed = print.operands.iter().map(|operand| {
                        let number = self.number(operand.range.start).unwrap_or_default();
                        let source = &jinja[operand.range.clone()];
                        format!("{}{{{{ {source} }}}}", mark(WRITES, number))
                    });
                    let printed: String = printed.collect();
                    let controls = Controls {
                        left: Controls::before_tag(jinja, print.range.start).left,
                        right: Controls::after_tag(jinja, print.range.end).right,
                    };
                    if !printed.is_empty() {
                        edits.replace(print.range.clone(), controls.around(&printed));
                    }
                }
                Node::Block(block) if block.writes_through() => {
                    let start = block.range.start;
                    let is_loop = block.keyword == "for";
                    let body = block.bodies.first().and_then(|body| body.first());
                    if is_loop && let Some(first) = body {
                        let at = first.range().start;
                        let controls = match first {
                            Node::Text(_) => Controls::after_tag(jinja, at),
                            _ => Controls::before_tag(jinja, at),
                        };
                        edits.insert(at, controls.around(&mark(TURNS, start)));
                    }
                    for body in &block.bodies {
                        self.note(body, edits);
                    }
                    if is_loop {
                        let at = block.range.end;
                        let controls = Controls::after_tag(jinja, at);
                        edits.insert(at, controls.around(&mark(ENDS, start)));
                    }
                }
                Node::Block(_) | Node::Tag(_) => {}
            }
        }
    }
}

/// Takes an expression as a whole.
fn join(node: &mut Node) {
    match node {
        Node::Print(print) => {
            let ends = (print.operands.first(), print.operands.last());
            if let (Some(first), Some(last)) = ends
                && print.operands.len() > 1
            {
                let range = first.range.start..last.range.end;
                print.operands = vec![Operand {
                    range,
                    literal: None,
                }];
            }
        }
        Node::Block(block) => block.bodies.iter_mut().flatten().for_each(join),
        Node::Text(_) | Node::Tag(_) => {}
    }
}

// Characters that Unicode keeps free for a program's own use, and that no text holds.
/// A piece is about to write.
const WRITES: char = '\u{fdd2}';
/// A loop is about to turn.
const TURNS: char = '\u{fdd3}';
/// A loop has ended.
const ENDS: char = '\u{fdd4}';
/// A number has ended.
const STOP: char = '\u{fdd5}';
/// The first of sixteen digits.
const ZERO: u32 = 0xfdd6;

fn mark(kind: char, mut number: usize) -> String {
    let mut digits = Vec::new();
    while number > 0 {
        digits.extend(char::from_u32(ZERO + (number % 16) as u32));
        number /= 16;
    }
    let digits: String = digits.into_iter().rev().collect();
    format!("{{{{ '{kind}{digits}{STOP}' }}}}")
}

/// Something that a piece has written.
#[derive(Debug, Clone)]
pub(crate) struct Writing {
    /// The number of the piece.
    pub(crate) piece: usize,
    pub(crate) range: Range<usize>,
}

/// What has been rendered, and what wrote it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trace {
    pub(crate) text: String,
    pub(crate) writings: Vec<Writing>,
    /// What was written in each turn of each loop, in the order in which they began.
    pub(crate) turns: Vec<Range<usize>>,
}

impl Trace {
    /// Takes the notes out of what the copy of a template has written.
    pub(crate) fn of(noted: &str) -> Trace {
        let mut trace = Trace::default();
        let mut open: Vec<(usize, usize)> = Vec::new();
        let mut chars = noted.chars();
        while let Some(c) = chars.next() {
            if !matches!(c, WRITES | TURNS | ENDS) {
                trace.text.push(c);
                continue;
            }
            let digits = chars.by_ref().take_while(|c| *c != STOP);
            let number = digits.fold(0usize, |number, digit| {
                let digit = (digit as u32).saturating_sub(ZERO) as usize;
                number.saturating_mul(16).saturating_add(digit)
            });
            let here = trace.text.len();
            if let Some(last) = trace.writings.last_mut()
                && last.range.end == usize::MAX
            {
                last.range.end = here;
            }
            if c == WRITES {
                trace.writings.push(Writing {
                    piece: number,
                    range: here..usize::MAX,
                });
                continue;
            }
            // A turn ends where the next begins, and with it all that it encloses.
            if let Some(at) = open.iter().position(|(name, _)| *name == number) {
                for (_, turn) in open.drain(at..) {
                    trace.turns[turn].end = here;
                }
            }
            if c == TURNS {
                open.push((number, trace.turns.len()));
                trace.turns.push(here..usize::MAX);
            }
        }
        let end = trace.text.len();
        for range in trace.writings.iter_mut().map(|writing| &mut writing.range) {
            range.end = range.end.min(end);
        }
        for range in &mut trace.turns {
            range.end = range.end.min(end);
        }
        trace
    }
}

/// The copy of a template that notes what it writes, ready to be compiled.
pub(crate) fn prepare(outline: &Outline, budget: &Budget) -> PreparedTemplate {
    ChatTemplate::from_jinja(outline.noting()).prepare_within(budget)
}

/// Renders a conversation with such a copy.
pub(super) fn trace(noting: &Renderer<'_>, input: &RenderInput) -> Result<Trace, RenderError> {
    Ok(Trace::of(&noting.render_noted(input)?.text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn what_wrote_a_text_is_known_and_the_text_is_the_same() {
        for jinja in [
            "a{% for m in messages %}<{{ m.role }}> {{- m.content ~ '!' + 'x' }}\n{% endfor %}\nz",
            "  {% for m in messages -%}\n  {{ m.role }}\n  {%- endfor %}\n  z",
            "{% for m in messages %}\n  {% if m.role %}\n  {{ m.role }}\n\n  {% endif %}\n{% endfor %}",
            "{% macro a(m) %}<{{ m.role }}>{% endmacro %}{% for m in messages %}{{ a(m) }}{% endfor %}",
        ] {
            let template = ChatTemplate::from_jinja(jinja);
            let messages = r#"[{"role": "user", "content": "A"}, {"role": "b", "content": "C"}]"#;
            let input = RenderInput {
                messages: json::read(messages).unwrap(),
                ..RenderInput::default()
            };
            let outline = Outline::of(jinja, true).unwrap();
            let noting = prepare(&outline, &Budget::unlimited());
            let trace = trace(&noting.renderer().unwrap(), &input).unwrap();
            assert_eq!(trace.text, template.render(&input).unwrap().text, "{jinja}");
            let written: String = trace
                .writings
                .iter()
                .map(|w| &trace.text[w.range.clone()])
                .collect();
            assert_eq!(written, trace.text, "{jinja}");
            for writing in &trace.writings {
                if let Some(literal) = &outline.pieces[writing.piece].literal {
                    let literal: String = literal.iter().map(|(_, c)| *c).collect();
                    assert_eq!(trace.text[writing.range.clone()], literal, "{jinja}");
                }
            }
        }
    }
}
