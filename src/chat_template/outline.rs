//! A template's text as blocks: which tags enclose what, and what writes text where.
//!
//! minijinja's own tree does not say where tags begin and end. To write something into a template that
//! stays as it is otherwise, just that is needed; so the tokens are gone through.

use std::ops::Range;

use minijinja::machinery::Token;

use super::render::literals;
use super::tags::{TemplatePart, parts};

/// The text of a template, in parts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    /// Text as it stands.
    Text(Text),
    /// `{{ … }}`
    Print(Print),
    /// A comment, or a tag that encloses nothing: `{% set a = b %}`.
    Tag(Tag),
    /// Tags with what they enclose.
    Block(Block),
}

/// Text between two tags.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Text {
    /// All that stands between the tags.
    pub(crate) range: Range<usize>,
    /// What of it is written.
    pub(crate) written: Range<usize>,
}

/// What is printed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Print {
    pub(crate) range: Range<usize>,
    /// The expression, or those that are put together by `+` and `~`.
    pub(crate) operands: Vec<Operand>,
}

/// A part of what is printed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Operand {
    pub(crate) range: Range<usize>,
    /// If it is a string that is written down: each character, with where it begins in the template.
    pub(crate) literal: Option<Vec<(usize, char)>>,
}

/// A tag that encloses nothing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tag {
    pub(crate) range: Range<usize>,
    pub(crate) keyword: String,
    /// The names that it sets.
    pub(crate) sets: Vec<String>,
}

/// Tags with what they enclose.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block {
    pub(crate) range: Range<usize>,
    pub(crate) keyword: String,
    /// The names that are set, from what stands in the first tag.
    pub(crate) sets: Vec<String>,
    /// What stands between one tag and the next.
    pub(crate) bodies: Vec<Vec<Node>>,
}

impl Node {
    pub(crate) fn range(&self) -> Range<usize> {
        match self {
            Node::Text(text) => text.range.clone(),
            Node::Print(print) => print.range.clone(),
            Node::Tag(tag) => tag.range.clone(),
            Node::Block(block) => block.range.clone(),
        }
    }
}

impl Block {
    /// Whether text that is written in it goes straight into what is rendered, and is not kept as a value.
    pub(crate) fn writes_through(&self) -> bool {
        matches!(self.keyword.as_str(), "if" | "for" | "with")
    }
}

/// How deeply blocks may nest; minijinja refuses to go deeper.
const MAX_DEPTH: usize = 150;

/// Reads the blocks of a template.
///
/// # Errors
///
/// Why it can't be read so, in words.
pub(crate) fn outline(jinja: &str) -> Result<Vec<Node>, String> {
    let flat = Scan::of(jinja)?;
    let mut parser = Parser {
        flat: flat.into_iter().peekable(),
        jinja,
    };
    let (nodes, end) = parser.body(0)?;
    match end {
        None => Ok(nodes),
        Some(tag) => Err(at_line(
            jinja,
            tag.range.start,
            "a block ends that has not begun",
        )),
    }
}

/// A sentence about a place of the template.
pub(crate) fn at_line(jinja: &str, place: usize, what: &str) -> String {
    let before = jinja.get(..place).unwrap_or(jinja);
    format!("line {}: {what}", before.matches('\n').count() + 1)
}

/// What stands in a template, one after the other.
enum Flat {
    Text(Text),
    Print(Print),
    Tag(Tag),
}

/// Cuts a template at its tags.
struct Scan<'t> {
    jinja: &'t str,
    flat: Vec<Flat>,
    /// Where the last tag has ended.
    end: usize,
    /// What of the text since then is written.
    written: Vec<Range<usize>>,
}

impl<'t> Scan<'t> {
    fn of(jinja: &'t str) -> Result<Vec<Flat>, String> {
        let mut scan = Scan {
            jinja,
            flat: Vec::new(),
            end: 0,
            written: Vec::new(),
        };
        for part in parts(jinja)? {
            match part {
                TemplatePart::Text(range) => scan.written.push(range),
                TemplatePart::Print(range, tokens) => {
                    scan.text_up_to(range.start)?;
                    scan.end = range.end;
                    let operands = operands(jinja, &tokens);
                    scan.flat.push(Flat::Print(Print { range, operands }));
                }
                TemplatePart::Tag(range, tokens) => {
                    scan.text_up_to(range.start)?;
                    scan.end = range.end;
                    scan.flat.push(Flat::Tag(tag(range, &tokens)));
                }
            }
        }
        scan.text_up_to(jinja.len())?;
        Ok(scan.flat)
    }

    /// Takes in what stands before a tag: text, and comments.
    fn text_up_to(&mut self, next: usize) -> Result<(), String> {
        let mut from = self.end;
        let gap = |from: usize| self.jinja.get(from..next).unwrap_or_default();
        while let Some(at) = gap(from).find("{#") {
            let comment = from + at;
            let length = gap(comment).find("#}").ok_or("a comment does not end")? + 2;
            self.flat.extend(text(from..comment, &self.written));
            self.flat.push(Flat::Tag(Tag {
                range: comment..comment + length,
                keyword: "#".to_owned(),
                sets: Vec::new(),
            }));
            from = comment + length;
        }
        if let Some(at) = gap(from).find("{%") {
            let what = "`{% raw %}` can't be looked into";
            return Err(at_line(self.jinja, from + at, what));
        }
        self.flat.extend(text(from..next, &self.written));
        self.written.clear();
        Ok(())
    }
}

fn text(range: Range<usize>, written: &[Range<usize>]) -> Option<Flat> {
    if range.is_empty() {
        return None;
    }
    let within = |piece: &&Range<usize>| piece.start >= range.start && piece.end <= range.end;
    let written = written.iter().find(within).cloned();
    let written = written.unwrap_or(range.end..range.end);
    Some(Flat::Text(Text { range, written }))
}

type Tokens<'t> = [(Token<'t>, Range<usize>)];

fn tag(range: Range<usize>, tokens: &Tokens<'_>) -> Tag {
    let keyword = match tokens.first() {
        Some((Token::Ident(keyword), _)) => *keyword,
        _ => "",
    };
    let is_call = |place: usize| matches!(tokens.get(place), Some((Token::Ident(_), _)));
    let sets = match keyword {
        "set" => {
            let target = tokens[1..]
                .iter()
                .take_while(|(token, _)| !matches!(token, Token::Assign | Token::Pipe));
            // What is set of a namespace stays.
            let target: Vec<&Token<'_>> = target.map(|(token, _)| token).collect();
            match target.iter().any(|token| matches!(token, Token::Dot)) {
                true => Vec::new(),
                false => names(target.into_iter()),
            }
        }
        "macro" if is_call(1) => names(tokens[1..2].iter().map(|(token, _)| token)),
        "import" | "from" => names(tokens[1..].iter().map(|(token, _)| token)),
        "for" => {
            let target = tokens[1..].iter().map(|(token, _)| token);
            names(target.take_while(|token| !matches!(token, Token::Ident("in"))))
        }
        _ => Vec::new(),
    };
    let is_inline_set = keyword == "set"
        && tokens
            .iter()
            .any(|(token, _)| matches!(token, Token::Assign));
    Tag {
        range,
        keyword: match is_inline_set {
            true => "set=".to_owned(),
            false => keyword.to_owned(),
        },
        sets,
    }
}

fn names<'a, 't: 'a>(tokens: impl Iterator<Item = &'a Token<'t>>) -> Vec<String> {
    let names = tokens.filter_map(|token| match token {
        Token::Ident(name) => Some((*name).to_owned()),
        _ => None,
    });
    names.collect()
}

/// The parts of an expression that are put together. If anything else is done in it, it is one part.
fn operands(jinja: &str, tokens: &Tokens<'_>) -> Vec<Operand> {
    let (Some((_, first)), Some((_, last))) = (tokens.first(), tokens.last()) else {
        return Vec::new();
    };
    let whole = |from: usize, to: usize| operand(jinja, &tokens[from..to]);
    let mut depth = 0usize;
    let mut cuts = Vec::new();
    for (index, (token, _)) in tokens.iter().enumerate() {
        match token {
            Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => depth += 1,
            Token::ParenClose | Token::BracketClose | Token::BraceClose => {
                depth = depth.saturating_sub(1);
            }
            // A sign stands at the beginning, or behind another operator.
            Token::Plus | Token::Tilde if depth == 0 && index > 0 => cuts.push(index),
            Token::Minus
            | Token::Mul
            | Token::Div
            | Token::FloorDiv
            | Token::Pow
            | Token::Mod
            | Token::Eq
            | Token::Ne
            | Token::Gt
            | Token::Gte
            | Token::Lt
            | Token::Lte
            | Token::Comma
            | Token::Ident("if" | "else" | "and" | "or" | "not" | "in" | "is")
                if depth == 0 =>
            {
                let range = first.start..last.end;
                return vec![Operand {
                    range,
                    literal: None,
                }];
            }
            _ => {}
        }
    }
    let mut operands = Vec::new();
    let mut from = 0;
    for cut in cuts.into_iter().chain([tokens.len()]) {
        if cut == from {
            let range = first.start..last.end;
            return vec![Operand {
                range,
                literal: None,
            }];
        }
        operands.push(whole(from, cut));
        from = cut + 1;
    }
    operands
}

fn operand(jinja: &str, tokens: &Tokens<'_>) -> Operand {
    let range = match (tokens.first(), tokens.last()) {
        (Some((_, first)), Some((_, last))) => first.start..last.end,
        _ => 0..0,
    };
    let literal = match tokens {
        [(Token::Str(_) | Token::String(_), _)] => characters(jinja, &range),
        _ => None,
    };
    Operand { range, literal }
}

/// Where each character of a string stands that is written down.
fn characters(jinja: &str, range: &Range<usize>) -> Option<Vec<(usize, char)>> {
    let start = range.start + 1;
    let written = jinja.get(start..range.end.checked_sub(1)?)?;
    let characters = literals::characters(written).ok()?.into_iter();
    Some(characters.map(|(at, c)| (start + at, c)).collect())
}

struct Parser<'t, I: Iterator<Item = Flat>> {
    flat: std::iter::Peekable<I>,
    jinja: &'t str,
}

impl<I: Iterator<Item = Flat>> Parser<'_, I> {
    /// What stands up to a tag that ends it, or goes on with something else.
    fn body(&mut self, depth: usize) -> Result<(Vec<Node>, Option<Tag>), String> {
        let mut nodes = Vec::new();
        while let Some(flat) = self.flat.next() {
            let tag = match flat {
                Flat::Text(text) => {
                    nodes.push(Node::Text(text));
                    continue;
                }
                Flat::Print(print) => {
                    nodes.push(Node::Print(print));
                    continue;
                }
                Flat::Tag(tag) => tag,
            };
            match tag.keyword.as_str() {
                "if" | "for" | "macro" | "call" | "filter" | "with" | "set" | "block"
                | "autoescape" | "generation" => {
                    if depth > MAX_DEPTH {
                        let what = "blocks nest too deeply";
                        return Err(at_line(self.jinja, tag.range.start, what));
                    }
                    nodes.push(Node::Block(self.block(tag, depth)?));
                }
                "elif" | "else" => return Ok((nodes, Some(tag))),
                keyword if keyword.starts_with("end") => return Ok((nodes, Some(tag))),
                _ => nodes.push(Node::Tag(tag)),
            }
        }
        Ok((nodes, None))
    }

    fn block(&mut self, first: Tag, depth: usize) -> Result<Block, String> {
        let mut bodies = Vec::new();
        let start = first.range.start;
        loop {
            let (body, end) = self.body(depth + 1)?;
            bodies.push(body);
            let end = end.ok_or_else(|| at_line(self.jinja, start, "a block does not end"))?;
            if end.keyword.starts_with("end") {
                return Ok(Block {
                    range: start..end.range.end,
                    keyword: first.keyword,
                    sets: first.sets,
                    bodies,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that stands in a template stands in one of the parts, in order.
    fn pieces(jinja: &str, nodes: &[Node], out: &mut Vec<String>) {
        for node in nodes {
            match node {
                Node::Text(text) => out.push(format!("text {:?}", &jinja[text.written.clone()])),
                Node::Print(print) => {
                    let operands = print.operands.iter();
                    let operands: Vec<&str> = operands
                        .map(|operand| &jinja[operand.range.clone()])
                        .collect();
                    out.push(format!("print {}", operands.join(" | ")));
                }
                Node::Tag(tag) => out.push(format!("{} {}", tag.keyword, tag.sets.join(","))),
                Node::Block(block) => {
                    out.push(format!("{} {{", block.keyword));
                    for body in &block.bodies {
                        pieces(jinja, body, out);
                        out.push("}".to_owned());
                    }
                }
            }
        }
    }

    #[test]
    fn a_template_is_cut_at_its_tags_and_its_expressions_at_their_operators() {
        for (jinja, expected) in [
            ("a {{- b -}} c", "text \"a\"; print b; text \"c\""),
            ("{{ 'a' + b ~ c | trim }}", "print 'a' | b | c | trim"),
            ("{{ a + b if c else d }}", "print a + b if c else d"),
            ("{{ (a + b) ~ f(c + d) }}", "print (a + b) | f(c + d)"),
            ("{{ a - b + c }}", "print a - b + c"),
            (
                "{% if a %}\nx{# no #}y\n  {% else %}{% set b = 1 %}{% endif %}",
                "if {; text \"x\"; # ; text \"y\\n\"; }; set= b; }",
            ),
            (
                "{% for a, b in c %}{% set d %}x{% endset %}{% endfor %}",
                "for {; set {; text \"x\"; }; }",
            ),
            ("{% set ns.a = 1 %}", "set= "),
        ] {
            let nodes = outline(jinja).unwrap();
            let mut found = Vec::new();
            pieces(jinja, &nodes, &mut found);
            assert_eq!(found.join("; "), expected, "{jinja}");
        }
    }

    #[test]
    fn each_character_of_a_string_has_its_place() {
        let jinja = r"{{ 'a\n\'\u00e9z' }}";
        let nodes = outline(jinja).unwrap();
        let Node::Print(print) = &nodes[0] else {
            panic!("{nodes:?}");
        };
        let literal = print.operands[0].literal.clone().unwrap();
        let found: Vec<(&str, char)> = literal
            .iter()
            .map(|(at, c)| (&jinja[*at..*at + 1], *c))
            .collect();
        assert_eq!(
            found,
            [
                ("a", 'a'),
                ("\\", '\n'),
                ("\\", '\''),
                ("\\", 'é'),
                ("z", 'z')
            ]
        );
    }
}
