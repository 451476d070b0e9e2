//! Grammars as GBNF, the language of llama.cpp, which xgrammar reads, too.

use std::collections::{BTreeMap, BTreeSet};

use super::expr::{CharClass, Chars, Expr, Members, Repeat};
use super::members::{self, AddRule};
use super::{Grammar, Written};

/// So much white space may stand where some may: without a limit, models may write it for ever.
pub(super) const MAX_SPACE: u32 = 20;

impl Grammar {
    /// The grammar as GBNF, as llama.cpp and xgrammar read it.
    ///
    /// ```
    /// use unjinja::grammar::Grammar;
    ///
    /// let grammar = Grammar::build(|p| p.literal("<a>") + p.until("</a>") + "</a>");
    /// let gbnf = grammar.to_gbnf();
    /// assert_eq!(gbnf.text.lines().next(), Some(r#"root ::= "<a>" until "</a>""#));
    /// ```
    pub fn to_gbnf(&self) -> Written {
        let grammar = self.untagged();
        let mut writer = Gbnf::new(&grammar);
        let root = writer.expr(&grammar.root, "root", Place::Alone);
        writer.lines.insert(0, format!("root ::= {root}"));
        for (name, rule) in &grammar.rules {
            let written = writer.name_of(name);
            let text = writer.expr(&rule.expr, name, Place::Alone);
            writer.lines.push(format!("{written} ::= {text}"));
        }
        while let Some((name, expr)) = writer.waiting.pop() {
            let text = writer.expr(&expr, &name, Place::Alone);
            writer.lines.push(format!("{name} ::= {text}"));
        }
        let mut text = writer.lines.join("\n");
        text.push('\n');
        Written {
            text,
            warnings: writer.warnings,
        }
    }
}

/// Where a text stands in a rule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Alone,
    InSequence,
    Repeated,
}

struct Gbnf {
    lines: Vec<String>,
    /// The name in the text of each rule of the grammar.
    names: BTreeMap<String, String>,
    taken: BTreeSet<String>,
    /// Rules that were made on the way, and not written yet.
    waiting: Vec<(String, Expr)>,
    /// Those that were made, to be found again.
    made: Vec<(Expr, String)>,
    /// The rules of texts up to delimiters.
    untils: BTreeMap<Vec<String>, String>,
    has_space: bool,
    warnings: Vec<String>,
}

impl AddRule for Gbnf {
    fn add(&mut self, name: &str, expr: Expr) -> Expr {
        match &expr {
            Expr::Rule(_) | Expr::Empty => return expr,
            _ => {}
        }
        if let Some((_, name)) = self.made.iter().find(|(made, _)| *made == expr) {
            return Expr::Rule(name.clone());
        }
        let name = self.free_name(name);
        self.names.insert(name.clone(), name.clone());
        self.made.push((expr.clone(), name.clone()));
        self.waiting.push((name.clone(), expr));
        Expr::Rule(name)
    }

    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

impl Gbnf {
    fn new(grammar: &Grammar) -> Gbnf {
        let mut writer = Gbnf {
            lines: Vec::new(),
            names: BTreeMap::new(),
            taken: BTreeSet::from(["root".to_owned(), "space".to_owned()]),
            waiting: Vec::new(),
            made: Vec::new(),
            untils: BTreeMap::new(),
            has_space: false,
            warnings: grammar.warnings.clone(),
        };
        for name in grammar.rules.keys() {
            let written = writer.free_name(name);
            writer.names.insert(name.clone(), written);
        }
        writer
    }

    /// A name of letters, digits and hyphens that no other rule has.
    fn free_name(&mut self, name: &str) -> String {
        let mut clean: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        if !clean.starts_with(|c: char| c.is_ascii_alphabetic()) {
            clean.insert(0, 'r');
        }
        let mut names = (1..).map(|number| match number {
            1 => clean.clone(),
            number => format!("{clean}-{number}"),
        });
        let free = names.find(|name| !self.taken.contains(name));
        let free = free.unwrap_or(clean);
        self.taken.insert(free.clone());
        free
    }

    fn name_of(&self, name: &str) -> String {
        self.names.get(name).cloned().unwrap_or_default()
    }

    /// A node as the right side of a rule, or a part of one; `name` is that of the rule.
    fn expr(&mut self, expr: &Expr, name: &str, place: Place) -> String {
        match expr {
            Expr::Empty | Expr::Start | Expr::End => "\"\"".to_owned(),
            Expr::Literal(text) => literal(text),
            Expr::Chars(chars) => self.chars(chars),
            Expr::Space => self.space(),
            Expr::Until(delimiters) => self.until(delimiters),
            Expr::Rest => "[^\\x00]*".to_owned(),
            Expr::Sequence(all) => {
                let parts = all
                    .iter()
                    .map(|part| self.expr(part, name, Place::InSequence));
                let text = parts.collect::<Vec<_>>().join(" ");
                within(text, place == Place::Repeated)
            }
            Expr::Choice(all) if all.is_empty() => {
                self.warn("a choice of nothing is left out".to_owned());
                "\"\"".to_owned()
            }
            Expr::Choice(all) => {
                let parts = all.iter().map(|part| self.expr(part, name, Place::Alone));
                let text = parts.collect::<Vec<_>>().join(" | ");
                within(text, place != Place::Alone)
            }
            Expr::Repeat(repeat) => self.repeat(repeat, name),
            Expr::Members(members) => self.members(members, name, place),
            Expr::Peek(_) | Expr::Negate(_) => {
                self.warn("looking ahead is not held: no such grammar can".to_owned());
                "\"\"".to_owned()
            }
            Expr::Rule(rule) => match self.names.get(rule) {
                Some(name) => name.clone(),
                None => {
                    self.warn(format!("there is no rule `{rule}`"));
                    "\"\"".to_owned()
                }
            },
            Expr::Schema(node) => self.expr(&node.expr, &node.name, place),
            Expr::Atomic(inner) | Expr::Tag(_, inner) => self.expr(inner, name, place),
        }
    }

    fn members(&mut self, all: &Members, name: &str, place: Place) -> String {
        let lowered = members::lowered(all, name, self);
        self.expr(&lowered, name, place)
    }

    fn repeat(&mut self, repeat: &Repeat, name: &str) -> String {
        let count = count(repeat.at_least, repeat.at_most);
        let item = self.expr(&repeat.item, name, Place::Repeated);
        // What is repeated already needs brackets.
        let is_repeated = matches!(repeat.item.bare(), Expr::Repeat(_) | Expr::Chars(_));
        within(item, is_repeated) + &count
    }

    fn chars(&mut self, chars: &Chars) -> String {
        class(&chars.class) + &count(chars.at_least, chars.at_most)
    }

    fn space(&mut self) -> String {
        if !self.has_space {
            self.has_space = true;
            let line = format!("space ::= [ \\t\\r\\n]{{0,{MAX_SPACE}}}");
            self.lines.push(line);
        }
        "space".to_owned()
    }

    /// A text up to a delimiter: an automaton that knows how much of one has come, with a rule for each
    /// state.
    fn until(&mut self, delimiters: &[String]) -> String {
        if delimiters.iter().all(String::is_empty) {
            return "[^\\x00]*".to_owned();
        }
        if let Some(name) = self.untils.get(delimiters) {
            return name.clone();
        }
        let mut states: Vec<String> = Vec::new();
        for delimiter in delimiters {
            let ends = delimiter.char_indices().map(|(at, _)| at);
            states.extend(ends.map(|end| delimiter[..end].to_owned()));
        }
        states.sort();
        states.dedup();
        let names: Vec<String> = states.iter().map(|_| self.free_name("until")).collect();
        self.untils.insert(delimiters.to_vec(), names[0].clone());
        let alphabet: BTreeSet<char> = delimiters.iter().flat_map(|text| text.chars()).collect();
        for (at, state) in states.iter().enumerate() {
            let mut targets: BTreeMap<usize, BTreeSet<char>> = BTreeMap::new();
            let mut elsewhere: BTreeSet<char> = BTreeSet::new();
            for c in &alphabet {
                let text = format!("{state}{c}");
                if delimiters
                    .iter()
                    .any(|delimiter| text.ends_with(delimiter.as_str()))
                {
                    elsewhere.insert(*c);
                    continue;
                }
                let mut suffixes = text.char_indices().map(|(at, _)| &text[at..]);
                let target = suffixes.find_map(|suffix| {
                    states
                        .binary_search_by(|state| state.as_str().cmp(suffix))
                        .ok()
                });
                if let Some(target) = target.filter(|target| *target > 0) {
                    elsewhere.insert(*c);
                    targets.entry(target).or_default().insert(*c);
                }
            }
            let free = class(&!CharClass::of(elsewhere));
            let mut ways = Vec::new();
            if at > 0 {
                ways.push(format!("{free} {}", names[0]));
            }
            for (target, chars) in targets {
                ways.push(format!(
                    "{} {}",
                    class(&CharClass::of(chars)),
                    names[target]
                ));
            }
            let ways = ways.join(" | ");
            let name = &names[at];
            self.lines.push(match (at, ways.is_empty()) {
                (0, true) => format!("{name} ::= {free}*"),
                (0, false) => format!("{name} ::= {free}* ({ways})?"),
                _ => format!("{name} ::= ({ways})?"),
            });
        }
        names[0].clone()
    }
}

fn within(text: String, brackets: bool) -> String {
    match brackets {
        true => format!("({text})"),
        false => text,
    }
}

fn count(at_least: u32, at_most: Option<u32>) -> String {
    match (at_least, at_most) {
        (1, Some(1)) => String::new(),
        (0, Some(1)) => "?".to_owned(),
        (0, None) => "*".to_owned(),
        (1, None) => "+".to_owned(),
        (least, None) => format!("{{{least},}}"),
        (least, Some(most)) if least == most => format!("{{{least}}}"),
        (least, Some(most)) => format!("{{{least},{most}}}"),
    }
}

fn literal(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&code(c)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A class in brackets, with or without the sign of negation, whichever is shorter.
fn class(class: &CharClass) -> String {
    let negated = !class.clone();
    let (sign, class) =
        match negated.iter().count() < class.iter().count() || class.contains(char::MAX) {
            true => ("^", &negated),
            false => ("", class),
        };
    let mut out = format!("[{sign}");
    if class.is_empty() {
        // All characters but one that no text has.
        out.push_str("\\x00");
    }
    for (from, to) in class.iter() {
        in_class(&mut out, from);
        if from != to {
            out.push('-');
            in_class(&mut out, to);
        }
    }
    out.push(']');
    out
}

fn in_class(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\\' => out.push_str("\\\\"),
        '[' | ']' | '^' | '-' | '"' => out.push_str(&code(c)),
        c if c.is_control() || !c.is_ascii() => out.push_str(&code(c)),
        c => out.push(c),
    }
}

fn code(c: char) -> String {
    match u32::from(c) {
        code @ 0..=0xff => format!("\\x{code:02X}"),
        code @ 0x100..=0xffff => format!("\\u{code:04X}"),
        code => format!("\\U{code:08X}"),
    }
}
