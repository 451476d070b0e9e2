//! Grammars as Lark, as llguidance reads it.
//!
//! llguidance takes a text apart into lexemes first, each as long as can be. So a text up to a delimiter is
//! one lexeme with the delimiter, or, at the end of all, one in which no delimiter stands. Where something
//! else may stand in its place, it does not begin as that does.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::expr::{Expr, Members, Repeat};
use super::members::{self, AddRule as _};
use super::new_rules::NewRules;
use super::{Grammar, Rule, Written, regex, remainder, schema};
use crate::analysis::markers;
use crate::json;

impl Grammar {
    /// The grammar as Lark, as llguidance reads it. Values that a JSON Schema describes are `%json` there,
    /// which has the properties of an object in the order in which they are declared.
    ///
    /// ```
    /// use unjinja::grammar::Grammar;
    ///
    /// let grammar = Grammar::build(|p| p.literal("<a>") + p.until("</a>") + "</a>");
    /// let lark = grammar.to_lark();
    /// assert_eq!(lark.text.lines().next(), Some(r#"start: "<a>" text_1"#));
    /// ```
    pub fn to_lark(&self) -> Written {
        let grammar = self.untagged();
        let mut writer = Lark::new(&grammar);
        let root = writer.expr(&grammar.root, "start");
        let mut lines = vec![format!("start: {root}")];
        // Only what is referred to is written: a rule without use may hold what is held elsewhere.
        while let Some((written, expr)) = writer.written.next_waiting() {
            let text = writer.expr(&expr, &written);
            lines.push(format!("{written}: {text}"));
        }
        lines.append(&mut writer.lines);
        let mut text = lines.join("\n");
        text.push('\n');
        Written {
            text,
            warnings: writer.written.warnings,
        }
    }
}

struct Lark<'g> {
    rules: &'g IndexMap<String, Rule>,
    lines: Vec<String>,
    /// The rules that were asked for.
    written: NewRules,
    /// The lexemes of texts.
    texts: BTreeMap<Text, String>,
    /// What the next text can't begin with.
    heads: Vec<String>,
    has_space: bool,
    /// How often what follows a text was written for each way to it.
    spread: usize,
    /// How many nodes were looked at for what follows texts.
    followed: usize,
}

/// A text that is one lexeme.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Text {
    /// What can't stand in it.
    delimiters: Vec<String>,
    /// What it can't begin with.
    heads: Vec<String>,
    /// What ends it.
    end: Option<String>,
}

/// What follows a text is written for each way to it, so often in all: of many one after the other, there are
/// more ways than one could write.
const MAX_SPREAD: usize = 200;

/// So many nodes are looked at for what follows texts: where a rule stands amid itself, that can grow for ever.
const MAX_FOLLOWED: usize = 300_000;

impl<'g> Lark<'g> {
    fn new(grammar: &'g Grammar) -> Lark<'g> {
        Lark {
            rules: &grammar.rules,
            lines: Vec::new(),
            written: NewRules::new(&["start", "space"], '_', &grammar.warnings),
            texts: BTreeMap::new(),
            heads: Vec::new(),
            has_space: false,
            spread: 0,
            followed: 0,
        }
    }

    fn rule(&mut self, name: &str) -> String {
        if let Some(written) = self.written.named(name) {
            return written;
        }
        let Some(rule) = self.rules.get(name) else {
            self.written.warn(format!("there is no rule `{name}`"));
            return "\"\"".to_owned();
        };
        let written = self.written.name(name);
        self.written.wait(written.clone(), rule.expr.clone());
        written
    }

    /// A node as the right side of a rule, or a part of one, in brackets if it needs any.
    fn expr(&mut self, expr: &Expr, name: &str) -> String {
        if let Expr::Atomic(inner) = expr
            && let Some(regex) = regex::of_regular(inner)
        {
            return format!("/{}/", slashed(&regex));
        }
        match expr {
            Expr::Empty | Expr::Start | Expr::End => "\"\"".to_owned(),
            Expr::Literal(text) => literal(text),
            Expr::Chars(chars) => {
                let class = slashed(&regex::class(&chars.class));
                match (chars.at_least, chars.at_most) {
                    (_, Some(0)) => "\"\"".to_owned(),
                    // No lexeme is empty.
                    (0, most) => format!("(/{class}{}/)?", regex::count(1, most)),
                    (least, most) => format!("/{class}{}/", regex::count(least, most)),
                }
            }
            Expr::Space => self.space(),
            Expr::Until(_) | Expr::Rest => self.sequence(std::slice::from_ref(expr), name),
            Expr::Sequence(all) => self.sequence(all, name),
            Expr::Choice(all) if all.is_empty() => {
                self.written
                    .warn("a choice of nothing is left out".to_owned());
                "\"\"".to_owned()
            }
            Expr::Choice(all) => self.choice(all, name),
            Expr::Repeat(repeat) => self.repeat(repeat, name),
            Expr::Members(members) => self.members(members, name),
            Expr::Peek(_) | Expr::Negate(_) => {
                self.written
                    .warn("looking ahead is not held: no such grammar can".to_owned());
                "\"\"".to_owned()
            }
            Expr::Rule(rule) => self.rule(rule),
            Expr::Schema(node) if node.is_json() => {
                format!("%json {}", json::write(&schema::for_engines(&node.schema)))
            }
            Expr::Schema(node) => self.expr(&node.expr, &node.name),
            Expr::Atomic(inner) | Expr::Tag(_, inner) => self.expr(inner, name),
        }
    }

    fn choice(&mut self, all: &[Expr], name: &str) -> String {
        let texts = all.iter().filter_map(|one| match first(one) {
            Expr::Until(delimiters) => Some(delimiters.as_slice()),
            _ => None,
        });
        let mut delimiters: Vec<String> = texts.flatten().cloned().collect();
        delimiters.sort();
        delimiters.dedup();
        // A text that begins as another way does would be the longer lexeme.
        let heads = all.iter().filter_map(|one| head(one, self.rules));
        let is_own = |head: &&str| !delimiters.iter().any(|text| head.starts_with(text));
        let mut heads: Vec<String> = heads.filter(is_own).map(str::to_owned).collect();
        heads.sort();
        heads.dedup();
        let parts = all.iter().map(|part| {
            if matches!(first(part), Expr::Until(_)) {
                self.heads.clone_from(&heads);
            }
            self.beside_text(part, &delimiters, name)
        });
        format!("({})", parts.collect::<Vec<_>>().join(" | "))
    }

    /// A node beside a text: what can't stand in that is one lexeme, or the text would be the longer one.
    fn beside_text(&mut self, expr: &Expr, delimiters: &[String], name: &str) -> String {
        if matches!(first(expr), Expr::Until(_) | Expr::Rest) {
            return self.expr(expr, name);
        }
        let mut ways = Vec::new();
        for delimiter in delimiters {
            let mut after = self.behind(expr, delimiter);
            let mut lexeme = json::write(&delimiter.as_str().into());
            if let Expr::Sequence(parts) = expr
                && let Some((Expr::Space, rest)) = parts.split_first()
            {
                let rest = Expr::sequence(rest.iter().cloned());
                after = self.behind(&rest, delimiter);
                lexeme = self.spaced(delimiter);
            }
            match after {
                after if after.is_never() => {}
                Expr::Empty => ways.push(lexeme),
                after => ways.push(format!("{lexeme} {}", self.shared(after, name))),
            }
        }
        if ways.is_empty() {
            return self.expr(expr, name);
        }
        if remainder::is_nullable(expr, self.rules) {
            ways.push("\"\"".to_owned());
        }
        ways.join(" | ")
    }

    /// A literal with white space before it.
    fn spaced(&mut self, literal: &str) -> String {
        let key = Text {
            end: Some(literal.to_owned()),
            ..Text::default()
        };
        if let Some(name) = self.texts.get(&key) {
            return name.clone();
        }
        let number = self.texts.len() + 1;
        let name = self.written.free_name(&format!("text_{number}"));
        self.texts.insert(key, name.clone());
        let (most, literal) = (super::gbnf::MAX_SPACE, json::write(&literal.into()));
        self.lines.push(format!("{name}: TEXT_{number}"));
        self.lines.push(format!(
            "TEXT_{number}: /[ \\t\\r\\n]{{0,{most}}}/ {literal}"
        ));
        name
    }

    fn members(&mut self, all: &Members, name: &str) -> String {
        let lowered = members::lowered(all, name, &mut self.written);
        self.expr(&lowered, name)
    }

    fn repeat(&mut self, repeat: &Repeat, name: &str) -> String {
        let item = self.expr(&repeat.item, name);
        format!("({item}){}", regex::count(repeat.at_least, repeat.at_most))
    }

    fn space(&mut self) -> String {
        if !self.has_space {
            self.has_space = true;
            let most = super::gbnf::MAX_SPACE;
            self.lines
                .push(format!("space: /[ \\t\\r\\n]{{1,{most}}}/"));
        }
        "space?".to_owned()
    }

    fn sequence(&mut self, parts: &[Expr], name: &str) -> String {
        let mut texts = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let rest = || Expr::sequence(parts[at + 1..].iter().cloned());
            match plain(part) {
                Expr::Until(delimiters) => {
                    texts.push(self.text(delimiters, &rest(), name));
                    return texts.join(" ");
                }
                Expr::Rest => {
                    texts.push(self.text(&[], &rest(), name));
                    return texts.join(" ");
                }
                part if at + 1 < parts.len()
                    && self.spread < MAX_SPREAD
                    && ends_in_text_at_times(part) =>
                {
                    self.spread += 1;
                    // What follows belongs to the lexeme of a text that comes last.
                    let rest = rest();
                    let ways = match part {
                        Expr::Choice(all) => all.clone(),
                        Expr::Repeat(optional) => vec![optional.item.clone(), Expr::Empty],
                        other => vec![other.clone()],
                    };
                    let ways = ways.into_iter().map(|one| {
                        let both = Expr::sequence([one, rest.clone()]);
                        self.expr(&both, name)
                    });
                    texts.push(format!("({})", ways.collect::<Vec<_>>().join(" | ")));
                    return texts.join(" ");
                }
                _ => texts.push(self.expr(part, name)),
            }
        }
        texts.join(" ")
    }

    /// A text up to one of these, and what follows it.
    fn text(&mut self, delimiters: &[String], rest: &Expr, name: &str) -> String {
        let some = delimiters.iter().filter(|text| !text.is_empty());
        let delimiters = &some.cloned().collect::<Vec<_>>();
        let text = Text {
            delimiters: delimiters.clone(),
            heads: std::mem::take(&mut self.heads),
            end: None,
        };
        let ended = |end: &str| Text {
            end: Some(end.to_owned()),
            ..text.clone()
        };
        let mut ways = Vec::new();
        if remainder::is_nullable(rest, self.rules) {
            ways.push(format!("{}?", self.lexeme(text.clone())));
        }
        let mut found = false;
        for delimiter in delimiters {
            let after = self.behind(rest, delimiter);
            if after.is_never() {
                continue;
            }
            found = true;
            let lexeme = self.lexeme(ended(delimiter));
            ways.push(match after {
                Expr::Empty => lexeme,
                after => format!("{lexeme} {}", self.shared(after, name)),
            });
        }
        if !found && ways.is_empty() {
            // The delimiter is longer than the literal that follows.
            let lexeme = match rest.first_literal() {
                Some(literal) => {
                    let after = self.behind(rest, &literal);
                    let lexeme = self.lexeme_with(ended(&literal));
                    match after {
                        Expr::Empty => lexeme,
                        after => format!("{lexeme} {}", self.expr(&after, name)),
                    }
                }
                None => {
                    let lexeme = self.lexeme(text.clone());
                    format!("{lexeme}? {}", self.expr(rest, name))
                }
            };
            ways.push(lexeme);
        }
        match ways.len() {
            1 => ways.remove(0),
            _ => format!("({})", ways.join(" | ")),
        }
    }

    /// What may stand behind a text that a node begins with.
    fn behind(&mut self, expr: &Expr, text: &str) -> Expr {
        let left = MAX_FOLLOWED.saturating_sub(self.followed);
        let (behind, nodes) = remainder::counted_behind(expr, text, self.rules, left);
        self.followed += nodes;
        if nodes >= left {
            self.warn_of_growth();
            return Expr::NEVER;
        }
        behind
    }

    fn warn_of_growth(&mut self) {
        let words = "what follows a text has no end of forms, of which only some are held";
        self.written.warn(words.to_owned());
    }

    /// A node that may stand in several places, as a rule if it is long.
    fn shared(&mut self, expr: Expr, name: &str) -> String {
        match expr {
            Expr::Sequence(_) | Expr::Choice(_) if self.followed > MAX_FOLLOWED => {
                self.warn_of_growth();
                "\"\"".to_owned()
            }
            Expr::Sequence(ref parts) | Expr::Choice(ref parts) => {
                let sizes = parts.iter().map(|part| match part {
                    Expr::Literal(text) => text.len(),
                    _ => 1,
                });
                self.followed += sizes.sum::<usize>();
                let rule = self.written.add(&format!("{name}_rest"), expr);
                self.expr(&rule, name)
            }
            expr => self.expr(&expr, name),
        }
    }

    /// A text, with what ends it.
    fn lexeme(&mut self, text: Text) -> String {
        if let Some(name) = self.texts.get(&text) {
            return name.clone();
        }
        let number = self.texts.len() + 1;
        let name = self.written.free_name(&format!("text_{number}"));
        let end = text.end.as_ref();
        match end {
            None => self.lines.push(format!("{name}: TEXT_{number}")),
            Some(end) => {
                let end = json::write(&end.as_str().into());
                self.lines
                    .push(format!("{name}[lazy]: TEXT_{number} {end}"));
            }
        }
        let least = match end {
            Some(_) => "*",
            // No lexeme is empty.
            None => "+",
        };
        let others = text.delimiters.iter().filter(|other| Some(*other) != end);
        let without = without(others, &text.heads);
        self.lines
            .push(format!("TEXT_{number}: /(?s:.{least})/{without}"));
        self.texts.insert(text, name.clone());
        name
    }

    /// A text together with what ends it, which stands in the text, too.
    fn lexeme_with(&mut self, text: Text) -> String {
        if let Some(name) = self.texts.get(&text) {
            return name.clone();
        }
        let number = self.texts.len() + 1;
        let name = self.written.free_name(&format!("text_{number}"));
        let without = without(text.delimiters.iter(), &text.heads);
        let end = json::write(&text.end.as_deref().unwrap_or_default().into());
        self.lines.push(format!("{name}: TEXT_{number}"));
        self.lines
            .push(format!("TEXT_{number}: (/(?s:.*)/{without}) {end}"));
        self.texts.insert(text, name.clone());
        name
    }
}

/// What takes the texts with some delimiters in them from a lexeme, and those that begin with some heads.
fn without<'d>(delimiters: impl Iterator<Item = &'d String>, heads: &[String]) -> String {
    let any_of = |texts: Vec<&String>| {
        let texts = texts.iter().map(|text| slashed(&regex::escape(text)));
        texts.collect::<Vec<_>>().join("|")
    };
    let mut out = String::new();
    let delimiters = any_of(delimiters.collect());
    if !delimiters.is_empty() {
        out.push_str(&format!(" & ~/(?s:.*)({delimiters})(?s:.*)/"));
    }
    let heads = any_of(heads.iter().collect());
    if !heads.is_empty() {
        out.push_str(&format!(" & ~/({heads})(?s:.*)/"));
    }
    out
}

/// A literal in pieces, since a lexer can't go back to where one of two has come that begin alike.
fn literal(text: &str) -> String {
    let mut pieces: Vec<String> = Vec::new();
    let mut push = |part: &str| match pieces.last_mut() {
        // White space is one lexeme, as it is where any may stand.
        Some(last) if last.trim().is_empty() && part.trim().is_empty() => last.push_str(part),
        _ => pieces.push(part.to_owned()),
    };
    for piece in markers::pieces(text) {
        let mut rest = piece;
        while !markers::is_marker(piece) && !rest.is_empty() {
            let is_space = rest.starts_with(char::is_whitespace);
            let end = rest.find(|c: char| c.is_whitespace() != is_space);
            let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
            push(part);
            rest = after;
        }
        if !rest.is_empty() {
            push(rest);
        }
    }
    let pieces = pieces
        .iter()
        .map(|piece| json::write(&piece.as_str().into()));
    pieces.collect::<Vec<_>>().join(" ")
}

/// A regular expression between slashes.
fn slashed(regex: &str) -> String {
    let mut out = String::new();
    let mut is_escaped = false;
    for c in regex.chars() {
        match c {
            '/' if !is_escaped => out.push_str("\\/"),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    out
}

/// The same without what tells nothing to a lexer.
fn plain(expr: &Expr) -> &Expr {
    match expr {
        Expr::Tag(_, inner) | Expr::Atomic(inner) => plain(inner),
        Expr::Schema(node) if !node.is_json() => plain(&node.expr),
        other => other,
    }
}

/// What comes first in a node.
fn first(expr: &Expr) -> &Expr {
    match plain(expr) {
        Expr::Sequence(all) => all.first().map_or(expr, first),
        other => other,
    }
}

/// The literal that a node begins with.
fn head<'e>(expr: &'e Expr, rules: &'e IndexMap<String, Rule>) -> Option<&'e str> {
    let mut expr = expr;
    // A rule may begin with itself.
    for _ in 0..=rules.len() {
        match first(expr) {
            Expr::Literal(text) => {
                return Some(text)
                    .filter(|text| !text.trim().is_empty())
                    .map(String::as_str);
            }
            Expr::Rule(name) => expr = &rules.get(name)?.expr,
            _ => return None,
        }
    }
    None
}

/// Whether a node has several ways, and a text without an end of its own comes last in one of them.
fn ends_in_text_at_times(expr: &Expr) -> bool {
    match expr {
        Expr::Choice(all) => all.iter().any(ends_with_text),
        Expr::Repeat(repeat) => {
            (repeat.at_least, repeat.at_most) == (0, Some(1)) && ends_with_text(&repeat.item)
        }
        _ => false,
    }
}

/// Whether a text without an end of its own comes last.
fn ends_with_text(expr: &Expr) -> bool {
    match plain(expr) {
        Expr::Until(_) | Expr::Rest => true,
        Expr::Sequence(all) => all.last().is_some_and(ends_with_text),
        Expr::Choice(all) => all.iter().any(ends_with_text),
        _ => false,
    }
}
