//! Texts that a grammar allows, and what a response template reads in them.

use unjinja::grammar::{Expr, Grammar};
use unjinja::{Object, ParserOptions, ResponseTemplate, Tools, Value, json, parse};

/// The calls of a message, without ids. JSON within a string is what some formats have for arguments.
pub fn calls_of(message: &Object) -> Vec<(Value, Value)> {
    let calls = message
        .get("tool_calls")
        .and_then(Value::as_array)
        .unwrap_or_default();
    let part = |call: &Value, key: &str| {
        let function = call.get("function").unwrap_or(call);
        function.get(key).cloned().unwrap_or_default()
    };
    let arguments = |call: &Value| {
        let arguments = part(call, "arguments");
        let read = arguments.as_str().and_then(|text| json::read(text).ok());
        read.unwrap_or(arguments)
    };
    let calls = calls.iter();
    calls
        .map(|call| (part(call, "name"), arguments(call)))
        .collect()
}

/// Whether values are the same, where a number is the same with and without a fraction.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(_), Value::Number(_)) => {
            let number = |value| json::write(value).parse::<f64>().expect("a number");
            number(one) == number(other)
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| {
                    other
                        .get_json_string(key)
                        .is_some_and(|other| same(value, other))
                })
        }
        (one, other) => one == other,
    }
}

fn same_calls(one: &[(Value, Value)], other: &[(Value, Value)]) -> bool {
    let pairs = || one.iter().zip(other);
    one.len() == other.len()
        && pairs().all(|(one, other)| one.0 == other.0 && same(&one.1, &other.1))
}

/// A row of numbers that looks like chance.
pub struct Chance(pub u64);

impl Chance {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count.max(1)
    }
}

/// Tools with arguments of all kinds of types.
pub fn mixed_tools() -> Tools {
    let tools = r##"[{"type": "function", "function": {"name": "mix", "parameters": {
        "type": "object",
        "properties": {
            "unit": {"type": "string", "enum": ["m", "km", "it's"]},
            "count": {"anyOf": [{"type": "string", "enum": ["many", "1 or 2"]}, {"type": "integer"}]},
            "ratio": {"anyOf": [{"type": "integer", "minimum": 3}, {"type": "number"}]},
            "level": {"type": "integer", "enum": [1, 10, 100]},
            "when": {"type": "string", "format": "date"},
            "flag": {"type": ["boolean", "null"]},
            "code": {"type": "string", "pattern": "^[A-Z]{2}[0-9]+$"},
            "list": {"type": "array", "items": {"type": ["integer", "null"]}, "maxItems": 3},
            "words": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
            "tree": {"type": "object", "properties": {
                "name": {"type": "string", "minLength": 1}, "open": {"type": "boolean"}
            }, "required": ["name"], "additionalProperties": {"type": "integer"}}
        },
        "required": ["unit"]
    }}}, {"type": "function", "function": {"name": "note", "parameters": {
        "type": "object",
        "properties": {"text": {"type": "string"}, "more": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": {"type": "string"}
    }}}]"##;
    Tools::from_value(&json::read(tools).expect("it is JSON"))
}

/// Texts that a careless reader would stumble over.
const TEXTS: [&str; 18] = [
    "High water",
    "noon",
    "a b",
    "é (7)",
    "7",
    "-3.50",
    "true",
    "None",
    "it's \"so\"",
    "if a < b, c = [d]: {e}",
    "C:\\new\\u0041",
    "one line\nand another",
    "f(x, y=1)]",
    "<b>bold</b>",
    "42 is \\n a number",
    "k='7', it='s",
    "aGlnaA==",
    "水",
];

/// Writes texts that a grammar allows.
struct Sampler<'a> {
    grammar: &'a Grammar,
    /// What the format itself writes.
    signs: Vec<&'a str>,
    /// Another text that the grammar allows.
    other: String,
    chance: &'a mut Chance,
}

impl Sampler<'_> {
    /// A text, now and then with something of the format in it, or with a piece of another turn.
    fn text(&mut self) -> String {
        let text = TEXTS[self.chance.below(TEXTS.len())];
        match self.chance.below(4) {
            0 if !self.signs.is_empty() => {
                let sign = self.signs[self.chance.below(self.signs.len())];
                format!("{text}{sign}{text}")
            }
            1 => {
                let before = ["", text][self.chance.below(2)];
                format!("{before}{}{text}", self.piece())
            }
            _ => text.to_owned(),
        }
    }

    /// A piece of another turn.
    fn piece(&mut self) -> String {
        let all: Vec<char> = self.other.chars().collect();
        let from = self.chance.below(all.len() + 1);
        let to = from + self.chance.below(all.len() + 1 - from);
        all[from..to].iter().collect()
    }

    /// A text in which others may not stand, with this behind it; escaped, if it can stand only so.
    fn write_text(&mut self, expr: &Expr, behind: &str, out: &mut String) {
        let text = self.text();
        let escaped = json::write(&Value::from(text.as_str()));
        let may_stand = Grammar::build(|p| expr.clone() + behind + p.end());
        let ways = [text.as_str(), &escaped[1..escaped.len() - 1]];
        let may_stand = |text: &&str| may_stand.parse(&format!("{text}{behind}")).is_ok();
        if let Some(text) = ways.into_iter().find(may_stand) {
            out.push_str(text);
        }
    }

    fn write_row(&mut self, row: &[Expr], depth: usize, out: &mut String) {
        for (at, part) in row.iter().enumerate() {
            match (part, row.get(at + 1)) {
                (Expr::Negate(_), Some(_)) => {
                    self.write_begun_otherwise(part, &row[at + 1..], depth, out);
                    return;
                }
                (_, Some(Expr::Literal(behind))) if is_text(part) => {
                    self.write_text(part, behind, out);
                }
                _ => self.write(part, depth, out),
            }
        }
    }

    /// A row that does not begin with what this rules out, if that is found soon.
    fn write_begun_otherwise(&mut self, not: &Expr, row: &[Expr], depth: usize, out: &mut String) {
        let may_begin = Grammar::build(|p| not.clone() + p.rest());
        for _ in 0..20 {
            let mut text = String::new();
            self.write_row(row, depth, &mut text);
            if may_begin.parse(&text).is_ok() {
                out.push_str(&text);
                return;
            }
        }
        self.write_row(row, depth, out);
    }

    fn write(&mut self, expr: &Expr, depth: usize, out: &mut String) {
        match expr {
            Expr::Literal(text) => out.push_str(text),
            Expr::Chars(chars) => {
                let liked: Vec<char> = "tide7A 'é=,])}<"
                    .chars()
                    .filter(|c| chars.class.contains(*c))
                    .collect();
                let first = chars.class.iter().next().map_or('?', |(first, _)| first);
                let most = chars
                    .at_most
                    .unwrap_or(chars.at_least + 3)
                    .min(chars.at_least + 3);
                let count =
                    chars.at_least + self.chance.below((most - chars.at_least + 1) as usize) as u32;
                for _ in 0..count {
                    out.push(*liked.get(self.chance.below(liked.len())).unwrap_or(&first));
                }
            }
            Expr::Until(delimiters) => {
                let text = self.text();
                // Nor may one begin in the text, and end in what follows it.
                let holds =
                    |end: &String| format!("{text}{end}").find(end.as_str()) < Some(text.len());
                if !delimiters.iter().any(holds) {
                    out.push_str(&text);
                }
            }
            Expr::Rest => out.push_str(&self.text()),
            Expr::Without(_) => self.write_text(expr, "", out),
            Expr::Space => out.push_str(["", " ", "\n"][self.chance.below(3)]),
            Expr::Sequence(all) => self.write_row(all, depth, out),
            Expr::Choice(all) => {
                // Deep down, what comes last nests least.
                let which = match depth > 12 {
                    true => all.len() - 1,
                    false => self.chance.below(all.len()),
                };
                if let Some(one) = all.get(which) {
                    self.write(one, depth + 1, out);
                }
            }
            Expr::Repeat(repeat) => {
                let more = repeat
                    .at_most
                    .map_or(2, |most| most - repeat.at_least)
                    .min(2);
                let more = if depth > 12 {
                    0
                } else {
                    self.chance.below(more as usize + 1)
                };
                for _ in 0..repeat.at_least as usize + more {
                    self.write(&repeat.item, depth + 1, out);
                }
            }
            Expr::Members(all) => {
                let mut left: Vec<_> = all.members.iter().collect();
                left.retain(|member| {
                    !can_never_be(&member.expr) && (member.is_required || self.chance.below(2) == 0)
                });
                let mut is_first = true;
                while !left.is_empty() {
                    if !std::mem::take(&mut is_first) {
                        self.write(&all.separator, depth, out);
                    }
                    let member = left.remove(self.chance.below(left.len()));
                    self.write(&member.expr, depth + 1, out);
                }
                if let Some(others) = all.others.as_ref().filter(|_| self.chance.below(2) == 0) {
                    if !is_first {
                        self.write(&all.separator, depth, out);
                    }
                    self.write(others, depth + 1, out);
                }
            }
            Expr::Rule(name) => {
                self.write(&self.grammar.rules[name.as_str()].expr, depth + 1, out);
            }
            Expr::Schema(node) => self.write(&node.expr, depth, out),
            Expr::Atomic(inner) | Expr::Tag(_, inner) => self.write(inner, depth, out),
            _ => {}
        }
    }
}

/// Collects what a format writes itself.
fn collect_signs<'e>(expr: &'e Expr, signs: &mut Vec<&'e str>) {
    match expr {
        Expr::Literal(text) if text.trim().chars().count() > 2 => signs.push(text),
        Expr::Sequence(all) | Expr::Choice(all) => {
            all.iter().for_each(|one| collect_signs(one, signs));
        }
        Expr::Repeat(repeat) => collect_signs(&repeat.item, signs),
        Expr::Members(all) => {
            collect_signs(&all.separator, signs);
            let members = all.members.iter().map(|member| &member.expr);
            members
                .chain(&all.others)
                .for_each(|one| collect_signs(one, signs));
        }
        Expr::Atomic(inner) | Expr::Tag(_, inner) => collect_signs(inner, signs),
        _ => {}
    }
}

/// Whether a node is a text in which others may not stand.
fn is_text(expr: &Expr) -> bool {
    match expr {
        Expr::Without(_) => true,
        Expr::Schema(node) => is_text(&node.expr),
        Expr::Atomic(inner) | Expr::Tag(_, inner) => is_text(inner),
        _ => false,
    }
}

/// Whether no text is what a node says.
fn can_never_be(expr: &Expr) -> bool {
    match expr {
        Expr::Choice(all) => all.is_empty(),
        Expr::Tag(_, inner) => can_never_be(inner),
        _ => false,
    }
}

/// Writes a text that a grammar allows, and says what is wrong if the response template does not read the same
/// calls in it as the grammar.
pub fn misread(
    grammar: &Grammar,
    template: &ResponseTemplate,
    prompt: &str,
    tools: &Tools,
    chance: &mut Chance,
) -> Option<String> {
    let mut signs = Vec::new();
    let rules = grammar.rules.values().map(|rule| &rule.expr);
    for expr in rules.chain([&grammar.root]) {
        collect_signs(expr, &mut signs);
    }
    let mut sampler = Sampler {
        grammar,
        signs,
        other: String::new(),
        chance,
    };
    let mut other = String::new();
    sampler.write(&grammar.root, 0, &mut other);
    sampler.other = other;
    let mut text = String::new();
    sampler.write(&grammar.root, 0, &mut text);
    let tree = match grammar.parse(&text) {
        Ok(tree) => tree,
        Err(fault) => return Some(format!("{text:?}: {fault}")),
    };
    let options = ParserOptions::default().tools(tools.clone());
    let expected = calls_of(&tree.message());
    match parse(template, prompt, &text, options) {
        Ok(message) if same_calls(&calls_of(&message), &expected) => None,
        Ok(message) => {
            let found = calls_of(&message);
            Some(format!("{text:?}: {found:?}, not {expected:?}"))
        }
        Err(error) => Some(format!("{text:?}: {error}")),
    }
}
