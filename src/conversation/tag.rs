//! Writing tags into a template around what the model writes.

use std::ops::Range;

use crate::chat_template::outline::{Block, Node, Print, Text, at_line};

use super::edits::{Controls, Edits, quoted};
use super::labels::{Label, PieceAuthor};
use super::trace::Outline;

const OPEN: &str = "generation";
const CLOSE: &str = "endgeneration";

/// The template with tags.
///
/// `which` chooses among the names of the loops around something that is written for all roles: it is asked for the
/// role of the message that has this name. With `never_empty`, tags stand within blocks that may write nothing, and not
/// around them.
///
/// # Errors
///
/// Where tags can't be written, and why.
pub(super) fn tagged(
    outline: &Outline,
    labels: &[Label],
    which: usize,
    never_empty: bool,
) -> Result<String, String> {
    for (piece, label) in outline.pieces.iter().zip(labels) {
        if label.kind == PieceAuthor::Unclear {
            let what =
                "what is printed here is partly the model's, and it can't be told which part";
            return Err(at_line(&outline.jinja, piece.range.start, what));
        }
    }
    let mut writer = Writer {
        outline,
        labels,
        which,
        never_empty,
        edits: Edits::default(),
    };
    writer.list(&outline.nodes, &[]);
    Ok(writer.edits.apply(&outline.jinja))
}

/// What a part of a template writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cover {
    /// What the model writes, and nothing else.
    Inside,
    /// Nothing of it.
    Outside,
    /// Nothing at all, as far as is known.
    Nothing,
    /// Some of it.
    Mixed,
}

/// A part of a list of nodes that tags may stand around.
struct Unit<'n> {
    cover: Cover,
    place: UnitOrigin<'n>,
}

#[derive(Clone, Copy)]
enum UnitOrigin<'n> {
    Node(&'n Node),
    /// A part of the text, by number.
    Text(usize, usize),
    /// A part of what is printed, by number.
    Print(usize, usize),
}

/// Something printed that is cut into parts.
struct CutPrint<'n> {
    print: &'n Print,
    parts: Vec<PrintPart>,
}

struct PrintPart {
    source: String,
    cover: Cover,
    is_shared: bool,
    /// What is printed for others in its place, if it is shared.
    original: String,
    before: String,
    after: String,
}

/// Text that is cut into parts.
struct CutText<'n> {
    text: &'n Text,
    parts: Vec<TextPart>,
}

struct TextPart {
    range: Range<usize>,
    cover: Cover,
    is_shared: bool,
}

struct Writer<'a> {
    outline: &'a Outline,
    labels: &'a [Label],
    which: usize,
    never_empty: bool,
    edits: Edits,
}

impl<'a> Writer<'a> {
    fn jinja(&self) -> &'a str {
        &self.outline.jinja
    }

    fn label(&self, start: usize) -> Option<(&'a Label, usize)> {
        let number = self.outline.number(start)?;
        Some((&self.labels[number], number))
    }

    /// Asks whether a message is the assistant's.
    fn condition(&self, number: usize) -> String {
        let names = &self.outline.pieces[number].loop_names;
        // What stands in no loop stands behind the last message.
        let name = names.get(self.which).or(names.first());
        let name = name.map_or("messages[-1]", String::as_str);
        format!("{name}['role'] == 'assistant'")
    }

    /// Writes tags into a list of nodes. `after` is what comes after it and may read what was set in it.
    fn list(&mut self, nodes: &'a [Node], after: &[Range<usize>]) {
        let mut prints: Vec<CutPrint<'a>> = Vec::new();
        let mut texts: Vec<CutText<'a>> = Vec::new();
        let mut units: Vec<Unit<'a>> = Vec::new();
        for node in nodes {
            self.collect_units(node, &mut units, &mut prints, &mut texts);
        }
        let end = nodes.last().map_or(0, |node| node.range().end);
        let behind = |from: usize| -> Vec<Range<usize>> {
            std::iter::once(from..end.max(from))
                .chain(after.iter().cloned())
                .collect()
        };
        let runs = self.runs(&mut units, &texts, &prints, &behind);
        for run in runs {
            let (first, last) = (units[run.start].place, units[run.end - 1].place);
            self.put(Edge::Open, first, &mut prints, &texts);
            self.put(Edge::Close, last, &mut prints, &texts);
        }
        for unit in &units {
            if let (Cover::Mixed, UnitOrigin::Node(Node::Block(block))) = (unit.cover, unit.place) {
                let after = match block.keyword.as_str() {
                    // What is set in a loop is gone behind it.
                    "for" | "with" => Vec::new(),
                    _ => behind(block.range.end),
                };
                for body in &block.bodies {
                    self.list(body, &after);
                }
            }
        }
        for print in &prints {
            self.write_print(print);
        }
        for text in &texts {
            self.write_text(text);
        }
    }

    fn collect_units(
        &self,
        node: &'a Node,
        units: &mut Vec<Unit<'a>>,
        prints: &mut Vec<CutPrint<'a>>,
        texts: &mut Vec<CutText<'a>>,
    ) {
        match node {
            Node::Text(text) => {
                let parts = self.text_parts(text);
                if let [part] = parts.as_slice()
                    && !part.is_shared
                {
                    let cover = part.cover;
                    units.push(Unit {
                        cover,
                        place: UnitOrigin::Node(node),
                    });
                } else if parts.is_empty() {
                    let cover = Cover::Nothing;
                    units.push(Unit {
                        cover,
                        place: UnitOrigin::Node(node),
                    });
                } else {
                    let number = texts.len();
                    units.extend(parts.iter().enumerate().map(|(index, part)| Unit {
                        cover: part.cover,
                        place: UnitOrigin::Text(number, index),
                    }));
                    texts.push(CutText { text, parts });
                }
            }
            Node::Print(print) => {
                let parts = self.print_parts(print);
                if let [part] = parts.as_slice()
                    && !part.is_shared
                {
                    let cover = part.cover;
                    units.push(Unit {
                        cover,
                        place: UnitOrigin::Node(node),
                    });
                } else {
                    let number = prints.len();
                    units.extend(parts.iter().enumerate().map(|(index, part)| Unit {
                        cover: part.cover,
                        place: UnitOrigin::Print(number, index),
                    }));
                    prints.push(CutPrint { print, parts });
                }
            }
            Node::Tag(_) | Node::Block(_) => units.push(Unit {
                cover: self.cover(node),
                place: UnitOrigin::Node(node),
            }),
        }
    }

    /// What a node writes.
    fn cover(&self, node: &Node) -> Cover {
        let all = match node {
            Node::Text(text) => {
                let parts = self.text_parts(text);
                parts
                    .iter()
                    .map(|part| cover_of(part.cover, part.is_shared))
                    .collect()
            }
            Node::Print(print) => {
                let parts = self.print_parts(print);
                parts
                    .iter()
                    .map(|part| cover_of(part.cover, part.is_shared))
                    .collect()
            }
            // What jumps out of a loop can't be enclosed without it.
            Node::Tag(tag) if matches!(tag.keyword.as_str(), "break" | "continue") => {
                vec![Cover::Outside]
            }
            Node::Tag(_) => Vec::new(),
            Node::Block(block) if block.writes_through() => {
                let nodes = block.bodies.iter().flatten();
                let nodes = nodes.filter(|node| !(block.keyword == "for" && is_jump(node)));
                nodes.map(|node| self.cover(node)).collect()
            }
            Node::Block(_) => Vec::new(),
        };
        let mut covers = all.into_iter().filter(|cover| *cover != Cover::Nothing);
        match covers.next() {
            None => Cover::Nothing,
            Some(first) if covers.all(|cover| cover == first) => first,
            Some(_) => Cover::Mixed,
        }
    }

    fn text_parts(&self, text: &Text) -> Vec<TextPart> {
        let Some((label, number)) = self.label(text.range.start) else {
            return Vec::new();
        };
        let written = text.written.clone();
        let whole = |cover, is_shared| {
            vec![TextPart {
                range: written.clone(),
                cover,
                is_shared,
            }]
        };
        let piece = &self.outline.pieces[number];
        match (&label.kind, &piece.literal) {
            (PieceAuthor::Inside, _) => whole(Cover::Inside, label.is_shared),
            (PieceAuthor::Part(part), Some(characters)) => {
                let place = |index: usize| characters.get(index).map_or(written.end, |(at, _)| *at);
                let (start, end) = (place(part.start), place(part.end));
                let parts = [
                    (written.start..start, Cover::Outside),
                    (start..end, Cover::Inside),
                    (end..written.end, Cover::Outside),
                ];
                let parts = parts.into_iter().filter(|(range, _)| !range.is_empty());
                let parts = parts.map(|(range, cover)| TextPart {
                    range,
                    cover,
                    is_shared: label.is_shared && cover == Cover::Inside,
                });
                parts.collect()
            }
            (PieceAuthor::Unseen, _) => whole(Cover::Nothing, false),
            _ => whole(Cover::Outside, false),
        }
    }

    /// The parts of what is printed, those together that are alike.
    fn print_parts(&self, print: &Print) -> Vec<PrintPart> {
        let jinja = self.jinja();
        let mut parts: Vec<PrintPart> = Vec::new();
        let mut former_end = None;
        for operand in &print.operands {
            let source = &jinja[operand.range.clone()];
            let operator = former_end.map_or("", |end: usize| &jinja[end..operand.range.start]);
            former_end = Some(operand.range.end);
            let Some((label, _)) = self.label(operand.range.start) else {
                continue;
            };
            let part = |source: String, cover: Cover, original: String| PrintPart {
                source,
                cover,
                is_shared: label.is_shared && cover == Cover::Inside,
                original,
                before: String::new(),
                after: String::new(),
            };
            let own = || source.to_owned();
            let new = match (&label.kind, &operand.literal) {
                (PieceAuthor::Inside, _) => vec![part(own(), Cover::Inside, own())],
                (PieceAuthor::Part(range), Some(characters)) => {
                    let inner = operand.range.end - 1;
                    let place = |index: usize| characters.get(index).map_or(inner, |(at, _)| *at);
                    let quote = &source[..1];
                    let cuts = [
                        (operand.range.start + 1, place(range.start), Cover::Outside),
                        (place(range.start), place(range.end), Cover::Inside),
                        (place(range.end), inner, Cover::Outside),
                    ];
                    let cuts = cuts.into_iter().filter(|(start, end, _)| start < end);
                    let cuts = cuts.map(|(start, end, cover)| {
                        let source = format!("{quote}{}{quote}", &jinja[start..end]);
                        part(source.clone(), cover, source)
                    });
                    cuts.collect()
                }
                (PieceAuthor::Behind { header, tail }, _) => behind(source, header, *tail)
                    .into_iter()
                    .enumerate()
                    .map(|(index, (text, is_inside))| {
                        let cover = match is_inside {
                            true => Cover::Inside,
                            false => Cover::Outside,
                        };
                        let mut part =
                            part(text, cover, if index == 0 { own() } else { String::new() });
                        part.is_shared = label.is_shared;
                        part
                    })
                    .collect(),
                (PieceAuthor::Unseen, _) => vec![part(own(), Cover::Nothing, own())],
                _ => vec![part(own(), Cover::Outside, own())],
            };
            for (index, new) in new.into_iter().enumerate() {
                match parts.last_mut() {
                    Some(last) if index == 0 && !is_cut(label) && goes_with(last, &new) => {
                        if last.cover == Cover::Nothing {
                            (last.cover, last.is_shared) = (new.cover, new.is_shared);
                        }
                        last.source.push_str(operator);
                        last.source.push_str(&new.source);
                        last.original.push_str(operator);
                        last.original.push_str(&new.original);
                    }
                    _ => parts.push(new),
                }
            }
        }
        parts
    }

    /// The stretches of units that tags go around.
    fn runs(
        &self,
        units: &mut [Unit<'a>],
        texts: &[CutText<'a>],
        prints: &[CutPrint<'a>],
        behind: &dyn Fn(usize) -> Vec<Range<usize>>,
    ) -> Vec<Range<usize>> {
        loop {
            let mut runs: Vec<Range<usize>> = Vec::new();
            let mut run: Option<Range<usize>> = None;
            for (index, unit) in units.iter().enumerate() {
                let is_shared = match unit.place {
                    UnitOrigin::Print(number, part) => prints[number].parts[part].is_shared,
                    UnitOrigin::Text(number, part) => texts[number].parts[part].is_shared,
                    UnitOrigin::Node(_) => false,
                };
                match unit.cover {
                    // These have tags of their own.
                    _ if is_shared => runs.extend(run.take()),
                    Cover::Inside => {
                        let start = run.map_or(index, |run| run.start);
                        run = Some(start..index + 1);
                    }
                    Cover::Nothing => {}
                    Cover::Outside | Cover::Mixed => runs.extend(run.take()),
                }
            }
            runs.extend(run.take());
            // Tags keep what is set between them to themselves.
            let mut is_done = true;
            for run in &runs {
                let writes = |unit: &Unit<'_>| {
                    let is_block = matches!(unit.place, UnitOrigin::Node(Node::Block(_)));
                    unit.cover == Cover::Inside && !is_block
                };
                if self.never_empty && !units[run.clone()].iter().any(writes) {
                    for unit in &mut units[run.clone()] {
                        if unit.cover == Cover::Inside {
                            unit.cover = Cover::Mixed;
                        }
                    }
                    is_done = false;
                    continue;
                }
                let end = match units[run.end - 1].place {
                    UnitOrigin::Node(node) => node.range().end,
                    UnitOrigin::Text(number, _) => texts[number].text.range.end,
                    UnitOrigin::Print(number, _) => prints[number].print.range.end,
                };
                let read_behind = behind(end);
                let jinja = self.jinja();
                let is_read = |name: &String| {
                    let mut places = read_behind.iter();
                    places.any(|range| names(&jinja[range.clone()], name))
                };
                for unit in &mut units[run.clone()] {
                    let UnitOrigin::Node(node) = unit.place else {
                        continue;
                    };
                    if sets(node).iter().any(is_read) {
                        unit.cover = match node {
                            Node::Block(block) if block.writes_through() => Cover::Mixed,
                            _ => Cover::Outside,
                        };
                        is_done = false;
                    }
                }
            }
            if is_done {
                return runs;
            }
        }
    }

    /// Puts one end of a tag to a place.
    fn put(
        &mut self,
        edge: Edge,
        place: UnitOrigin<'a>,
        prints: &mut [CutPrint<'a>],
        texts: &[CutText<'a>],
    ) {
        let jinja = self.jinja();
        let (at, controls) = match place {
            UnitOrigin::Node(node @ Node::Text(_)) => {
                let at = edge.of(&node.range());
                (at, edge.within(jinja, at))
            }
            UnitOrigin::Node(node) => {
                let at = edge.of(&node.range());
                (at, edge.around(jinja, at))
            }
            UnitOrigin::Text(number, part) => {
                let text = &texts[number];
                match edge.is_outermost(part, text.parts.len()) {
                    true => {
                        let at = edge.of(&text.text.range);
                        (at, edge.within(jinja, at))
                    }
                    false => {
                        let at = edge.of(&text.parts[part].range);
                        (at, Controls::in_text(jinja, at))
                    }
                }
            }
            UnitOrigin::Print(number, part) => {
                let print = &mut prints[number];
                let controls = match edge.is_outermost(part, print.parts.len()) {
                    true => edge.around(jinja, edge.of(&print.print.range)),
                    false => BARE,
                };
                let part = &mut print.parts[part];
                match edge {
                    Edge::Open => part.before.push_str(&controls.tag(OPEN)),
                    Edge::Close => part.after.push_str(&controls.tag(CLOSE)),
                }
                return;
            }
        };
        let tag = match edge {
            Edge::Open => OPEN,
            Edge::Close => CLOSE,
        };
        self.edits.insert(at, controls.tag(tag));
    }

    /// Writes what is printed part by part.
    fn write_print(&mut self, cut: &CutPrint<'a>) {
        let jinja = self.jinja();
        let range = cut.print.range.clone();
        let whole = &jinja[range.clone()];
        let sign = |at: usize| match whole.as_bytes().get(at) {
            Some(b'-') => "-",
            Some(b'+') => "+",
            _ => "",
        };
        let (left, right) = (sign(2), sign(whole.len().saturating_sub(3)));
        let right = if right == "-" { right } else { "" };
        let condition = cut.print.operands.iter().find_map(|operand| {
            let (label, number) = self.label(operand.range.start)?;
            label.is_shared.then(|| self.condition(number))
        });
        let condition = condition.unwrap_or_default();
        let last = cut.parts.len() - 1;
        let mut out = String::new();
        let mut index = 0;
        while index <= last {
            let shared = cut.parts[index..]
                .iter()
                .take_while(|part| part.is_shared)
                .count();
            if shared > 0 {
                let outer = Controls {
                    left: match index {
                        0 => Controls::before_tag(jinja, range.start).left,
                        _ => "",
                    },
                    right: match index + shared > last {
                        true => Controls::after_tag(jinja, range.end).right,
                        false => "",
                    },
                };
                let parts = &cut.parts[index..index + shared];
                let own = parts.iter().map(|part| {
                    let printed = format!("{{{{ {} }}}}", part.source);
                    match part.cover {
                        Cover::Inside => {
                            format!("{}{printed}{}", BARE.tag(OPEN), BARE.tag(CLOSE))
                        }
                        _ => printed,
                    }
                });
                let own: String = own.collect();
                let others = parts.iter().filter(|part| !part.original.is_empty());
                let others = others.map(|part| format!("{{{{ {} }}}}", part.original));
                let others: String = others.collect();
                out.push_str(&chosen(outer, &condition, &own, &others));
                index += shared;
                continue;
            }
            let part = &cut.parts[index];
            let left = if index == 0 { left } else { "" };
            let right = if index == last { right } else { "" };
            out.push_str(&part.before);
            out.push_str(&format!("{{{{{left} {} {right}}}}}", part.source));
            out.push_str(&part.after);
            index += 1;
        }
        self.edits.replace(range, out);
    }

    /// Writes the parts of a text for the assistant that are written for others, too.
    fn write_text(&mut self, cut: &CutText<'a>) {
        let jinja = self.jinja();
        let Some((_, number)) = self.label(cut.text.range.start) else {
            return;
        };
        let condition = self.condition(number);
        let last = cut.parts.len() - 1;
        for (index, part) in cut.parts.iter().enumerate() {
            if !part.is_shared {
                continue;
            }
            let start = match index {
                0 => cut.text.range.start,
                _ => part.range.start,
            };
            let end = match index == last {
                true => cut.text.range.end,
                false => part.range.end,
            };
            let controls = Controls {
                left: match index {
                    0 => "",
                    _ => Controls::in_text(jinja, start).left,
                },
                right: match index == last {
                    true => "",
                    false => Controls::in_text(jinja, end).right,
                },
            };
            let printed = format!("{{{{ {} }}}}", quoted(&jinja[part.range.clone()]));
            let own = format!("{}{printed}{}", BARE.tag(OPEN), BARE.tag(CLOSE));
            self.edits
                .replace(start..end, chosen(controls, &condition, &own, &printed));
        }
    }
}

/// The end of what is enclosed at which a tag is put.
#[derive(Debug, Clone, Copy)]
enum Edge {
    Open,
    Close,
}

impl Edge {
    /// Where it is in a range.
    fn of(self, range: &Range<usize>) -> usize {
        match self {
            Edge::Open => range.start,
            Edge::Close => range.end,
        }
    }

    /// Whether it is that of the whole, for one of so many parts.
    fn is_outermost(self, part: usize, count: usize) -> bool {
        match self {
            Edge::Open => part == 0,
            Edge::Close => part + 1 == count,
        }
    }

    /// The signs of a tag that is put around another one of the template.
    fn around(self, jinja: &str, at: usize) -> Controls {
        match self {
            Edge::Open => Controls::before_tag(jinja, at),
            Edge::Close => Controls::after_tag(jinja, at),
        }
    }

    /// The signs of a tag that is put within another one of the template.
    fn within(self, jinja: &str, at: usize) -> Controls {
        match self {
            Edge::Open => Controls::after_tag(jinja, at),
            Edge::Close => Controls::before_tag(jinja, at),
        }
    }
}

const BARE: Controls = Controls {
    left: "",
    right: "",
};

fn cover_of(cover: Cover, is_shared: bool) -> Cover {
    match is_shared {
        true => Cover::Mixed,
        false => cover,
    }
}

/// Whether two parts may be printed as one.
fn goes_with(former: &PrintPart, next: &PrintPart) -> bool {
    former.cover == Cover::Nothing
        || next.cover == Cover::Nothing
        || former.cover == next.cover && former.is_shared == next.is_shared
}

fn is_cut(label: &Label) -> bool {
    matches!(label.kind, PieceAuthor::Behind { .. })
}

fn is_jump(node: &Node) -> bool {
    matches!(node, Node::Tag(tag) if matches!(tag.keyword.as_str(), "break" | "continue"))
}

/// Writes one thing for the assistant and another for others.
fn chosen(outer: Controls, condition: &str, own: &str, others: &str) -> String {
    let open = Controls { right: "", ..outer };
    let close = Controls { left: "", ..outer };
    format!(
        "{}{own}{}{others}{}",
        open.tag(&format!("if {condition}")),
        BARE.tag("else"),
        close.tag("endif")
    )
}

/// What a value has behind a text, as expressions; and what it has around that.
fn behind(source: &str, header: &str, tail: usize) -> Vec<(String, bool)> {
    let mut parts = Vec::new();
    let mut rest = format!("({source})");
    if !header.is_empty() {
        let header = quoted(header);
        parts.push((format!("{rest}.split({header}, 1)[0] + {header}"), false));
        rest = format!("{rest}.split({header}, 1)[1]");
    }
    match tail {
        0 => parts.push((rest, true)),
        _ => {
            parts.push((format!("{rest}[:-{tail}]"), true));
            parts.push((format!("{rest}[-{tail}:]"), false));
        }
    }
    parts
}

/// The names that are set in a node and can be read behind it.
fn sets(node: &Node) -> Vec<String> {
    match node {
        Node::Tag(tag) => tag.sets.clone(),
        Node::Block(Block { keyword, sets, .. }) if keyword == "set" || keyword == "macro" => {
            sets.clone()
        }
        Node::Block(block) if block.keyword == "if" => {
            block.bodies.iter().flatten().flat_map(sets_of).collect()
        }
        Node::Block(_) | Node::Text(_) | Node::Print(_) => Vec::new(),
    }
}

fn sets_of(node: &Node) -> Vec<String> {
    sets(node)
}

/// Whether a name stands in a text of Jinja, as the name of a variable.
fn names(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        let is_quoted = before.is_some_and(|c| c == '\'' || c == '"') && before == after;
        !before.is_some_and(|c| is_part(c) || c == '.') && !after.is_some_and(is_part) && !is_quoted
    })
}
