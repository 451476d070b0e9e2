//! Grammars as structural tags, as xgrammar reads them.

use std::collections::{HashMap, HashSet};

use crate::value::{Object, Value};

use super::automaton::Text;
use super::expr::{Expr, Member, Members, Repeat, SchemaNode};
use super::gbnf::Automata;
use super::{Grammar, gbnf, regex, schema};

/// A way in which xgrammar writes arguments, each between tags, by the schema of all of them.
struct Style {
    name: &'static str,
    before_key: &'static str,
    /// What stands between a key and its value, apart from white space.
    behind_key: &'static str,
    behind_value: &'static str,
}

/// The styles of `json_schema` in which texts stand as they are, and all else is JSON.
const STYLES: [Style; 3] = [
    Style {
        name: "qwen_xml",
        before_key: "<parameter=",
        behind_key: ">",
        behind_value: "</parameter>",
    },
    Style {
        name: "minimax_xml",
        before_key: "<parameter name=\"",
        behind_key: "\">",
        behind_value: "</parameter>",
    },
    Style {
        name: "glm_xml",
        before_key: "<arg_key>",
        behind_key: "</arg_key><arg_value>",
        behind_value: "</arg_value>",
    },
];

/// A grammar as a structural tag.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StructuralTag {
    /// What xgrammar, vLLM and SGLang take.
    pub value: Value,
    /// What the grammar says and the tag does not hold, and what the grammar itself does not hold.
    pub warnings: Vec<String>,
}

impl Grammar {
    /// The grammar as a structural tag, as xgrammar reads it. JSON is a `json_schema` there, which has the
    /// properties of an object in the order in which they are declared, and so are arguments between tags, if
    /// xgrammar has a style for them. What only a grammar can say is a `grammar`.
    ///
    /// ```
    /// use unjinja::grammar::Grammar;
    /// use unjinja::json;
    ///
    /// let grammar = Grammar::build(|p| p.literal("<a>") + p.until("</a>") + "</a>");
    /// assert_eq!(
    ///     json::write(&grammar.to_structural_tag().value),
    ///     r#"{"type":"structural_tag","format":{"type":"tag","begin":"<a>","content":{"type":"any_text","excludes":["</a>"]},"end":"</a>"}}"#,
    /// );
    /// ```
    pub fn to_structural_tag(&self) -> StructuralTag {
        let grammar = self.untagged();
        let mut writer = Writer {
            grammar: &grammar,
            unfolded: unfolded(&grammar),
            written: HashMap::new(),
            automata: Automata::default(),
            warnings: self.warnings.clone(),
        };
        let format = writer.node(&grammar.root);
        StructuralTag {
            value: object([("type", "structural_tag".into()), ("format", format)]),
            warnings: writer.warnings,
        }
    }
}

/// A tag, with what it begins with.
type Begun = (String, Value);

/// The rule of a schema that has more nodes than this, with all that it refers to, is a `grammar`: a structural tag has no rules, and
/// what is written twice in each of many levels would have no end.
const MAX_UNFOLDED: usize = 500;

struct Writer<'g> {
    grammar: &'g Grammar,
    /// The number of nodes of each rule with all that it refers to; `None` for those that lead back to themselves.
    unfolded: HashMap<&'g str, Option<usize>>,
    /// The texts of nodes that were written as grammars, to be found again by what they look like: calls stand in several places.
    written: HashMap<u64, Vec<(Expr, String)>>,
    automata: Automata,
    warnings: Vec<String>,
}

/// The number of nodes of each rule with all that it refers to; `None` for those that lead back to themselves.
fn unfolded(grammar: &Grammar) -> HashMap<&str, Option<usize>> {
    let mut found: HashMap<&str, Option<usize>> = HashMap::new();
    for circle in circles(grammar) {
        let below = |name: &str| {
            let rule = grammar.rules.get(name);
            rule.map(|rule| parts_of(&rule.expr)).unwrap_or_default()
        };
        let size = match circle.as_slice() {
            [only] => {
                let (nodes, names) = below(only);
                let sizes = names
                    .into_iter()
                    .map(|name| found.get(name).copied().flatten());
                let is_circle = below(only).1.contains(only);
                // What leads back to itself is a `grammar` by itself.
                let sum = sizes
                    .map(|size| size.unwrap_or(1))
                    .fold(nodes, usize::saturating_add);
                (!is_circle).then_some(sum)
            }
            _ => None,
        };
        found.extend(circle.into_iter().map(|name| (name, size)));
    }
    found
}

/// The number of nodes in a node, and the rules that it refers to; JSON is described by its schema.
fn parts_of(expr: &Expr) -> (usize, Vec<&str>) {
    let (mut size, mut names) = (0, Vec::new());
    let mut nodes = vec![expr];
    while let Some(node) = nodes.pop() {
        size += 1;
        match node {
            Expr::Rule(name) => names.push(name.as_str()),
            Expr::Schema(node) if node.is_json() => {}
            node => nodes.extend(node.children()),
        }
    }
    (size, names)
}

/// The rules in groups of which each leads to all others of its group; what a group leads to comes before it.
fn circles(grammar: &Grammar) -> Vec<Vec<&str>> {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut lowest: HashMap<&str, usize> = HashMap::new();
    let mut open: Vec<&str> = Vec::new();
    let mut is_open: HashSet<&str> = HashSet::new();
    let mut groups = Vec::new();
    for first in grammar.rules.keys() {
        let mut rows: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut next = (!numbers.contains_key(first.as_str())).then_some(first.as_str());
        loop {
            if let Some(name) = next.take() {
                let number = numbers.len();
                numbers.insert(name, number);
                lowest.insert(name, number);
                open.push(name);
                is_open.insert(name);
                let rule = grammar.rules.get(name);
                let below = rule.map(|rule| parts_of(&rule.expr).1);
                rows.push((name, below.unwrap_or_default()));
            }
            let Some((name, left)) = rows.last_mut() else {
                break;
            };
            let name = *name;
            let Some(below) = left.pop() else {
                rows.pop();
                let low = lowest[name];
                if let Some((outer, _)) = rows.last() {
                    let outer = lowest.entry(outer).or_insert(low);
                    *outer = low.min(*outer);
                }
                if low == numbers[name] {
                    let at = open.iter().rposition(|one| *one == name).unwrap_or(0);
                    let group = open.split_off(at);
                    group.iter().for_each(|one| {
                        is_open.remove(one);
                    });
                    groups.push(group);
                }
                continue;
            };
            match numbers.get(below) {
                None => next = Some(below),
                Some(number) if is_open.contains(below) => {
                    let low = lowest.entry(name).or_insert(*number);
                    *low = (*number).min(*low);
                }
                Some(_) => {}
            }
        }
    }
    groups
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Object::from_iter(entries).into()
}

fn text(text: &str) -> Value {
    object([("type", "const_string".into()), ("value", text.into())])
}

fn any_text(excludes: &[String]) -> Value {
    let mut value = Object::from_iter([("type", Value::from("any_text"))]);
    if !excludes.is_empty() {
        value.insert(
            "excludes",
            excludes.iter().map(String::as_str).collect::<Value>(),
        );
    }
    value.into()
}

fn of_all(kind: &str, elements: Vec<Value>) -> Value {
    object([("type", kind.into()), ("elements", elements.into())])
}

impl<'g> Writer<'g> {
    /// A node in the language of structural tags, as far as that has it.
    fn node(&mut self, expr: &Expr) -> Value {
        match expr {
            Expr::Empty | Expr::Start | Expr::End => text(""),
            Expr::Literal(literal) => text(literal),
            Expr::Chars(chars) => self
                .regex(regex::class(&chars.class) + &regex::count(chars.at_least, chars.at_most)),
            Expr::Space => self.regex(format!("[ \\t\\r\\n]{{0,{}}}", gbnf::MAX_SPACE)),
            Expr::Until(delimiters) => any_text(delimiters),
            Expr::Rest => any_text(&[]),
            Expr::Sequence(all) => self.sequence(all),
            Expr::Choice(all) => {
                let all = all.iter().map(|one| self.node(one)).collect();
                of_all("or", all)
            }
            Expr::Repeat(repeat) => self.repeat(repeat),
            Expr::Rule(name) => self.rule(name),
            Expr::Schema(node) if node.is_json() => {
                let kept_out = schema::kept_out_of_json(&node.expr, &self.grammar.rules);
                self.warn(schema::beyond_schema(&node.name, &kept_out));
                object([
                    ("type", "json_schema".into()),
                    ("json_schema", schema::for_engines(&node.schema)),
                ])
            }
            Expr::Schema(node) => self.node(&node.expr),
            Expr::Atomic(inner) | Expr::Tag(_, inner) => self.node(inner),
            Expr::Members(members) => match styled(members) {
                Some((schema, style)) => {
                    for member in &members.members {
                        let mut kept_out = schema::kept_out(&member.expr, &self.grammar.rules);
                        // The style keeps out what closes a value by itself.
                        kept_out.retain(|one| *one != Expr::literal(style.behind_value));
                        self.warn(schema::beyond_schema(&member.name, &kept_out));
                    }
                    schema
                }
                None => self.grammar(expr),
            },
            Expr::Peek(_) | Expr::Negate(_) | Expr::Without(_) => self.grammar(expr),
        }
    }

    fn regex(&self, pattern: String) -> Value {
        object([("type", "regex".into()), ("pattern", pattern.into())])
    }

    /// Literals around one thing are a tag.
    fn sequence(&mut self, all: &[Expr]) -> Value {
        if let [Expr::Literal(begin), content, end @ Expr::Literal(_)] = all
            // No tag says what must not begin in its text and end in its `end`.
            && text_of_grammar(&all[1..]).is_none()
        {
            return self.tag(begin, std::slice::from_ref(content), end);
        }
        let mut elements = Vec::new();
        let mut at = 0;
        while let Some(part) = all.get(at) {
            if let Expr::Until(delimiters) = part
                && let Some(tags) = self.triggered(delimiters, &all[at + 1..])
            {
                // What may follow the calls is in it already.
                elements.push(tags);
                break;
            }
            if let Some(count) = text_of_grammar(&all[at..]) {
                elements.push(self.grammar(&Expr::sequence(all[at..at + count].iter().cloned())));
                at += count;
                continue;
            }
            match all.get(at + 1).and_then(|next| self.tags(part, next)) {
                Some(tags) => {
                    elements.push(tags);
                    at += 2;
                }
                None => {
                    elements.push(self.node(part));
                    at += 1;
                }
            }
        }
        match <[Value; 1]>::try_from(elements) {
            Ok([only]) => only,
            Err(elements) => of_all("sequence", elements),
        }
    }

    /// A text, and a call that one of its delimiters triggers, or none, with what may follow both.
    fn triggered(&mut self, delimiters: &[String], behind: &[Expr]) -> Option<Value> {
        let mut ways = Vec::new();
        let may_be_nothing = self.ways(&Expr::sequence(behind.iter().cloned()), &mut ways)?;
        // What never varies ends the turn, and the rest are calls.
        let (ends, calls): (Vec<Expr>, Vec<Expr>) = ways.into_iter().partition(is_fixed);
        // Calls of several kinds would each have something else behind them.
        let [Expr::Sequence(parts)] = calls.as_slice() else {
            return None;
        };
        let (tags, rest) = self.first_tags(parts)?;
        // What is triggered may come or not, so a turn without it has to be one, too.
        if !may_be_nothing || !self.may_follow_text(rest, delimiters, &ends)? {
            return None;
        }
        let mut triggers: Vec<&String> = Vec::new();
        for (begin, _) in &tags {
            // A tag that no delimiter triggers could never begin.
            let trigger = delimiters.iter().find(|text| begin.starts_with(*text))?;
            if !triggers.contains(&trigger) {
                triggers.push(trigger);
            }
        }
        // What triggers a tag can't be excluded.
        let excludes = delimiters.iter().filter(|text| !triggers.contains(text));
        let texts = |texts: Vec<&String>| texts.into_iter().map(String::as_str).collect::<Value>();
        let triggered = object([
            ("type", "triggered_tags".into()),
            ("triggers", texts(triggers.clone())),
            (
                "tags",
                tags.into_iter()
                    .map(|(_, tag)| tag)
                    .collect::<Vec<_>>()
                    .into(),
            ),
            // Behind the first call no text may stand, and other calls are written as what follows.
            ("stop_after_first", true.into()),
            ("excludes", texts(excludes.collect())),
        ]);
        let mut elements = vec![triggered];
        elements.extend(rest.iter().map(|part| self.node(part)));
        Some(match <[Value; 1]>::try_from(elements) {
            Ok([only]) => only,
            Err(elements) => of_all("sequence", elements),
        })
    }

    /// What comes first of a row of parts, as tags with what each begins with, and the parts behind it.
    fn first_tags<'p>(&mut self, parts: &'p [Expr]) -> Option<(Vec<Begun>, &'p [Expr])> {
        let (first, rest) = parts.split_first()?;
        let Expr::Literal(begin) = first else {
            return Some((self.tag_list(first)?, rest));
        };
        let is_literal = |part: &Expr| matches!(part, Expr::Literal(_));
        let last = parts
            .iter()
            .rposition(is_literal)
            .filter(|last| *last > 0)?;
        let tag = self.tag(begin, &parts[1..last], &parts[last]);
        Some((vec![(begin.clone(), tag)], &parts[last + 1..]))
    }

    /// Whether parts that follow a call may as well follow the text before it, which is no other text then: more
    /// calls, and what ends the turn.
    fn may_follow_text(
        &self,
        parts: &[Expr],
        delimiters: &[String],
        ends: &[Expr],
    ) -> Option<bool> {
        let mut found = Vec::new();
        for part in parts {
            let Expr::Repeat(repeat) = part else {
                return Some(false);
            };
            let is_between =
                |text: &String| !delimiters.iter().any(|end| text.contains(end.as_str()));
            match (repeat.at_least, repeat.at_most, &repeat.item) {
                (0, Some(1), item) => {
                    self.ways(item, &mut found)?;
                }
                (0, None, Expr::Rule(_) | Expr::Choice(_)) => {}
                (0, None, Expr::Sequence(parts)) if matches!(parts.as_slice(), [Expr::Literal(text), _] if is_between(text)) =>
                    {}
                _ => return Some(false),
            }
        }
        // The turn has to end behind a call as it may end without one.
        Some(found == ends)
    }

    /// Literals around something.
    fn tag(&mut self, begin: &str, content: &[Expr], end: &Expr) -> Value {
        let with_end = content.iter().chain([end]).cloned().collect::<Vec<_>>();
        let last = with_end.len().saturating_sub(2);
        let (content, end) = match end {
            Expr::Literal(end) if text_of_grammar(&with_end[last..]).is_none() => {
                (content, end.as_str())
            }
            // Then the end belongs to the grammar that holds the text before it.
            Expr::Literal(_) => (with_end.as_slice(), ""),
            _ => (content, ""),
        };
        let content = Expr::sequence(content.iter().cloned());
        object([
            ("type", "tag".into()),
            ("begin", begin.into()),
            ("content", self.node(&content)),
            ("end", end.into()),
        ])
    }

    /// One of several that stand between literals each, as tags with what each begins with.
    fn tag_list(&mut self, expr: &Expr) -> Option<Vec<Begun>> {
        let grammar = self.grammar;
        let named = match expr {
            Expr::Rule(name) => &grammar.rules.get(name)?.expr,
            other => other,
        };
        let all = match named {
            Expr::Choice(all) => all.as_slice(),
            _ => std::slice::from_ref(expr),
        };
        all.iter()
            .map(|one| {
                let one = match one {
                    Expr::Rule(name) => &grammar.rules.get(name)?.expr,
                    other => other,
                };
                match one {
                    Expr::Sequence(parts) => match parts.as_slice() {
                        [Expr::Literal(begin), content @ .., end @ Expr::Literal(_)] => {
                            Some((begin.clone(), self.tag(begin, content, end)))
                        }
                        _ => None,
                    },
                    _ => None,
                }
            })
            .collect()
    }

    /// The ways that a node may go, without the white space that a text before it takes, and whether it may be
    /// nothing; `None` if that is not plain to see.
    fn ways(&self, expr: &Expr, ways: &mut Vec<Expr>) -> Option<bool> {
        match expr {
            Expr::Empty | Expr::Space => Some(true),
            Expr::Choice(all) => {
                let mut is_nothing = false;
                for one in all {
                    is_nothing |= self.ways(one, ways)?;
                }
                Some(is_nothing)
            }
            Expr::Repeat(repeat) if (repeat.at_least, repeat.at_most) == (0, Some(1)) => {
                self.ways(&repeat.item, ways)?;
                Some(true)
            }
            Expr::Rule(name) if !self.is_recursive(name) => {
                self.ways(&self.grammar.rules.get(name)?.expr, ways)
            }
            Expr::Sequence(parts) => {
                let white = parts.iter().take_while(|part| **part == Expr::Space);
                let parts = &parts[white.count()..];
                match parts {
                    [only] => self.ways(only, ways),
                    parts => {
                        ways.push(Expr::sequence(parts.iter().cloned()));
                        Some(false)
                    }
                }
            }
            Expr::Literal(_) => {
                ways.push(expr.clone());
                Some(false)
            }
            _ => None,
        }
    }

    /// Something, and more of the same with a literal between each, as tags with a separator.
    fn tags(&mut self, first: &Expr, more: &Expr) -> Option<Value> {
        let Expr::Repeat(repeat) = more else {
            return None;
        };
        if (repeat.at_least, repeat.at_most) != (0, None) {
            return None;
        }
        let separator = match &repeat.item {
            item if item == first => "",
            Expr::Sequence(parts) => match parts.as_slice() {
                [Expr::Literal(separator), again] if again == first => separator,
                _ => return None,
            },
            _ => return None,
        };
        let tags = self.tag_list(first)?.into_iter().map(|(_, tag)| tag);
        let tags: Vec<Value> = tags.collect();
        Some(object([
            ("type", "tags_with_separator".into()),
            ("tags", tags.into()),
            ("separator", separator.into()),
            ("at_least_one", true.into()),
        ]))
    }

    fn repeat(&mut self, repeat: &Repeat) -> Value {
        let content = self.node(&repeat.item);
        let kind = match (repeat.at_least, repeat.at_most) {
            (0, Some(1)) => "optional",
            (0, None) => "star",
            (1, None) => "plus",
            (least, most) => {
                return object([
                    ("type", "repeat".into()),
                    ("min", u64::from(least).into()),
                    (
                        "max",
                        most.map_or(Value::from(-1_i64), |most| u64::from(most).into()),
                    ),
                    ("content", content),
                ]);
            }
        };
        object([("type", kind.into()), ("content", content)])
    }

    fn rule(&mut self, name: &str) -> Value {
        let Some(rule) = self.grammar.rules.get(name) else {
            self.warnings.push(format!("there is no rule `{name}`"));
            return text("");
        };
        // A structural tag has no rules, so only a grammar can lead back to itself.
        let is_large = |size: usize| rule.origin.is_some() && size > MAX_UNFOLDED;
        match self.unfolded.get(name).copied().flatten() {
            Some(size) if !is_large(size) => self.node(&rule.expr),
            _ => self.grammar(&Expr::Rule(name.to_owned())),
        }
    }

    /// Whether a rule contains itself.
    fn is_recursive(&self, name: &str) -> bool {
        self.unfolded.get(name).is_some_and(Option::is_none)
    }

    fn warn(&mut self, warning: Option<String>) {
        let is_new = |warning: &String| !self.warnings.contains(warning);
        if let Some(warning) = warning.filter(is_new) {
            self.warnings.push(warning);
        }
    }

    /// A node that only a grammar can say.
    fn grammar(&mut self, expr: &Expr) -> Value {
        let object = |text: &str| object([("type", "grammar".into()), ("grammar", text.into())]);
        let look = expr.look(usize::MAX);
        let known = self.written.get(&look).into_iter().flatten();
        if let Some((_, text)) = { known }.find(|(known, _)| known == expr) {
            return object(text);
        }
        let written = self.grammar.part(expr).to_gbnf_with(&self.automata);
        for warning in written.warnings {
            self.warn(Some(warning));
        }
        let grammar = object(&written.text);
        let made = (expr.clone(), written.text);
        self.written.entry(look).or_default().push(made);
        grammar
    }
}

/// How many parts a text is that a row of parts begins with, if only a grammar can say what it does not begin with, or
/// that nothing begins in it and ends behind it.
fn text_of_grammar(parts: &[Expr]) -> Option<usize> {
    let (text, count) = Text::first_of(parts)?;
    let has_behind = !text.behind.is_empty();
    (has_behind || !text.not_first.is_empty()).then_some(count + usize::from(has_behind))
}

/// Arguments as a schema with the style in which they are written, if there is one.
fn styled(members: &Members) -> Option<(Value, &'static Style)> {
    // A style has the keys of its schema alone, and nothing but white space between arguments.
    if members.others.is_some() || !matches!(members.separator, Expr::Empty | Expr::Space) {
        return None;
    }
    STYLES.iter().find_map(|style| {
        let mut properties = Object::new();
        let mut required = Vec::new();
        for member in &members.members {
            properties.insert(member.name.as_str(), argument(member, style)?);
            if member.is_required {
                required.push(Value::from(member.name.as_str()));
            }
        }
        let schema = object([
            ("type", "object".into()),
            ("properties", properties.into()),
            ("required", required.into()),
            ("additionalProperties", false.into()),
        ]);
        let value = object([
            ("type", "json_schema".into()),
            ("json_schema", schema),
            ("style", style.name.into()),
        ]);
        Some((value, style))
    })
}

/// The schema of an argument that is written in a style.
fn argument(member: &Member, style: &Style) -> Option<Value> {
    let Expr::Sequence(parts) = &member.expr else {
        return None;
    };
    // The style says by itself where white space may stand.
    let parts: Vec<&Expr> = parts.iter().filter(|part| **part != Expr::Space).collect();
    let (close, parts) = parts.split_last()?;
    let (value, before) = parts.split_last()?;
    let before = before.iter().map(|part| match part {
        Expr::Literal(text) => Some(text.as_str()),
        _ => None,
    });
    let before: Option<String> = before.collect();
    let (open, behind) = (style.before_key, style.behind_key);
    let is_between = before? == format!("{open}{}{behind}", member.name)
        && **close == Expr::literal(style.behind_value);
    match value {
        Expr::Schema(node) if is_between && node.is_json() => of_json(node),
        // A text of which more is known may hold what ends it there.
        Expr::Schema(node) if is_between => match &node.expr {
            Expr::Until(ends) if ends.iter().any(|end| end == style.behind_value) => {
                Some(object([("type", "string".into())]))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The schema of a value that is JSON, if a style writes it as that: no string, which would stand there as it is,
/// and nothing that refers to another place of the schema.
fn of_json(node: &SchemaNode) -> Option<Value> {
    let schema = schema::for_engines(&node.schema);
    let types = schema::named_types(&schema, &schema);
    let is_json = !types.is_empty() && !types.iter().any(|kind| kind == "string");
    (is_json && !schema::refers(&schema)).then_some(schema)
}

/// Whether a node is texts and white space only.
fn is_fixed(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(_) | Expr::Space => true,
        Expr::Sequence(parts) => parts.iter().all(is_fixed),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Builder;
    use super::*;
    use crate::json;

    #[test]
    fn each_node_has_its_format() {
        let text = |value: &str| format!(r#"{{"type":"const_string","value":"{value}"}}"#);
        for (make, expected) in [
            (
                (|p: &Builder| p.literal("a")) as fn(&Builder) -> Expr,
                text("a"),
            ),
            (|p| p.eps(), text("")),
            (|p| p.rest(), r#"{"type":"any_text"}"#.to_owned()),
            (
                |p| p.until("<a>"),
                r#"{"type":"any_text","excludes":["<a>"]}"#.to_owned(),
            ),
            (
                |p| p.literal("a") | "b",
                format!(
                    r#"{{"type":"or","elements":[{},{}]}}"#,
                    text("a"),
                    text("b")
                ),
            ),
            (
                |p| p.optional("a"),
                format!(r#"{{"type":"optional","content":{}}}"#, text("a")),
            ),
            (
                |p| p.one_or_more("a"),
                format!(r#"{{"type":"plus","content":{}}}"#, text("a")),
            ),
            (
                |p| p.repeat("a", 2, None),
                format!(
                    r#"{{"type":"repeat","min":2,"max":-1,"content":{}}}"#,
                    text("a")
                ),
            ),
            (|p| p.rule("a", "b"), text("b")),
            // Literals around one thing are a tag.
            (
                |p| p.literal("<a>") + p.rest() + "</a>",
                r#"{"type":"tag","begin":"<a>","content":{"type":"any_text"},"end":"</a>"}"#
                    .to_owned(),
            ),
        ] {
            let tag = Grammar::build(make).to_structural_tag();
            let format = tag.value.get("format").expect("it has a format");
            assert_eq!(json::write(format), expected);
        }
    }

    #[test]
    fn what_leads_back_to_itself_is_a_grammar() {
        for (make, is_grammar) in [
            (
                (|p: &Builder| p.rule("a", p.literal("x") + p.optional(p.rule_ref("a"))))
                    as fn(&Builder) -> Expr,
                true,
            ),
            (|p| p.rule("a", p.literal("x")), false),
            (|p| p.negate("a") + p.until("b"), true),
        ] {
            let tag = Grammar::build(make).to_structural_tag();
            let kind = tag.value.pointer("/format/type").and_then(Value::as_str);
            assert_eq!(kind == Some("grammar"), is_grammar, "{:?}", tag.value);
        }
    }

    #[test]
    fn rules_are_unfolded_as_far_as_they_do_not_lead_back() {
        let grammar = Grammar::build(|p| {
            let leaf = p.rule("leaf", "x");
            let pair = p.rule("pair", p.one_or_more(leaf.clone()) + "," + leaf.clone());
            p.rule("one", p.optional(p.rule_ref("other")) + leaf);
            p.rule("other", p.literal("y") + p.rule_ref("one"));
            p.rule("self", p.literal("z") + p.optional(p.rule_ref("self")));
            pair + p.rule_ref("one") + p.rule_ref("self") + p.rule_ref("missing")
        });
        let found = unfolded(&grammar);
        for (name, size) in [
            ("leaf", Some(1)),
            // A sequence of a repeat of `leaf`, a literal, and `leaf`.
            ("pair", Some(7)),
            ("one", None),
            ("other", None),
            ("self", None),
        ] {
            assert_eq!(found.get(name), Some(&size), "{name}");
        }
    }

    #[test]
    fn calls_with_a_separator_are_tags() {
        for (separator, is_listed) in [("", true), ("\n", true)] {
            let grammar = Grammar::build(|p| {
                let call = p.rule("call", p.literal("<c>") + p.rest() + "</c>");
                call.clone() + p.zero_or_more(p.literal(separator) + call)
            });
            let tag = grammar.to_structural_tag();
            let kind = tag.value.pointer("/format/type").and_then(Value::as_str);
            assert_eq!(kind == Some("tags_with_separator"), is_listed);
            let found = tag
                .value
                .pointer("/format/separator")
                .and_then(Value::as_str);
            assert_eq!(found, Some(separator));
        }
    }

    #[test]
    fn arguments_have_the_style_in_which_they_are_written() {
        let schema = |text: &str| json::read(text).expect("it is JSON");
        let one = |p: &Builder, before: &str, key: &str, behind: &str, close: &str, kind: &str| {
            let value = match kind {
                "string" => p.raw_schema(
                    p.until("</parameter>"),
                    "a",
                    &schema(r#"{"type": "string"}"#),
                ),
                kind => p.schema("a", &schema(&format!(r#"{{"type": "{kind}"}}"#))),
            };
            let expr =
                Expr::sequence([format!("{before}{key}{behind}").into(), value, close.into()]);
            Member {
                name: key.to_owned(),
                expr,
                is_required: kind == "string",
            }
        };
        for (before, behind, close, kind, expected) in [
            (
                "<parameter=",
                ">",
                "</parameter>",
                "string",
                Some("qwen_xml"),
            ),
            (
                "<parameter=",
                ">",
                "</parameter>",
                "integer",
                Some("qwen_xml"),
            ),
            (
                "<parameter name=\"",
                "\">",
                "</parameter>",
                "string",
                Some("minimax_xml"),
            ),
            (
                "<arg_key>",
                "</arg_key><arg_value>",
                "</arg_value>",
                "integer",
                Some("glm_xml"),
            ),
            // No style has these.
            ("<p=", ">", "</p>", "string", None),
            ("<parameter=", ">", "</param>", "string", None),
        ] {
            let mut members = Members {
                members: Vec::new(),
                others: None,
                separator: Expr::Space,
            };
            Grammar::build(|p| {
                members
                    .members
                    .push(one(p, before, "at", behind, close, kind));
                Expr::Empty
            });
            let name = |members: &Members| styled(members).map(|(_, style)| style.name);
            assert_eq!(name(&members), expected, "{before}{behind} {kind}");
            // A style has nothing but white space between arguments, and the keys of its schema alone.
            members.separator = ",".into();
            assert_eq!(name(&members), None);
            members.separator = Expr::Space;
            members.others = Some(Expr::Rest);
            assert_eq!(name(&members), None);
        }
    }

    #[test]
    fn texts_and_white_space_never_vary() {
        for (expr, is) in [
            (Expr::literal("a"), true),
            (Expr::sequence(["a".into(), Expr::Space]), true),
            (Expr::sequence(["a".into(), Expr::Rest]), false),
            (Expr::Empty, false),
        ] {
            assert_eq!(is_fixed(&expr), is, "{expr:?}");
        }
    }
}
