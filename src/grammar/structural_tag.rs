//! Grammars as structural tags, as xgrammar reads them.

use crate::value::{Object, Value};

use super::expr::{Expr, Repeat};
use super::{Grammar, gbnf, regex, schema};

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
    /// properties of an object in the order in which they are declared; what only a grammar can say is a
    /// `grammar`.
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
            within: Vec::new(),
            warnings: self.warnings.clone(),
        };
        let format = writer.node(&grammar.root);
        StructuralTag {
            value: object([("type", "structural_tag".into()), ("format", format)]),
            warnings: writer.warnings,
        }
    }
}

struct Writer<'g> {
    grammar: &'g Grammar,
    /// The rules around a node.
    within: Vec<String>,
    warnings: Vec<String>,
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

impl Writer<'_> {
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
            Expr::Schema(node) if node.is_json() => object([
                ("type", "json_schema".into()),
                ("json_schema", schema::for_engines(&node.schema)),
            ]),
            Expr::Schema(node) => self.node(&node.expr),
            Expr::Atomic(inner) | Expr::Tag(_, inner) => self.node(inner),
            Expr::Members(_) | Expr::Peek(_) | Expr::Negate(_) => self.grammar(expr),
        }
    }

    fn regex(&self, pattern: String) -> Value {
        object([("type", "regex".into()), ("pattern", pattern.into())])
    }

    /// Literals around one thing are a tag.
    fn sequence(&mut self, all: &[Expr]) -> Value {
        if let [Expr::Literal(begin), content, Expr::Literal(end)] = all {
            return object([
                ("type", "tag".into()),
                ("begin", begin.as_str().into()),
                ("content", self.node(content)),
                ("end", end.as_str().into()),
            ]);
        }
        let mut elements = Vec::new();
        let mut at = 0;
        while let Some(part) = all.get(at) {
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
        let all = match first {
            Expr::Choice(all) => all.as_slice(),
            one => std::slice::from_ref(one),
        };
        let rules = &self.grammar.rules;
        let parts: Option<Vec<&[Expr]>> = all
            .iter()
            .map(|one| {
                let expr = match one {
                    Expr::Rule(name) => &rules.get(name)?.expr,
                    other => other,
                };
                match expr {
                    Expr::Sequence(parts) => Some(parts.as_slice()),
                    _ => None,
                }
            })
            .collect();
        let tags: Option<Vec<Value>> = parts?
            .into_iter()
            .map(|parts| match parts {
                [Expr::Literal(begin), content @ .., Expr::Literal(end)] => Some(object([
                    ("type", "tag".into()),
                    ("begin", begin.as_str().into()),
                    (
                        "content",
                        self.node(&Expr::sequence(content.iter().cloned())),
                    ),
                    ("end", end.as_str().into()),
                ])),
                _ => None,
            })
            .collect();
        Some(object([
            ("type", "tags_with_separator".into()),
            ("tags", tags?.into()),
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
        if self.within.iter().any(|outer| outer == name) || self.is_recursive(name) {
            return self.grammar(&Expr::Rule(name.to_owned()));
        }
        self.within.push(name.to_owned());
        let value = self.node(&rule.expr);
        self.within.pop();
        value
    }

    /// Whether a rule contains itself.
    fn is_recursive(&self, name: &str) -> bool {
        let mut seen: Vec<&str> = Vec::new();
        let mut nodes: Vec<&Expr> = self
            .grammar
            .rules
            .get(name)
            .map(|rule| &rule.expr)
            .into_iter()
            .collect();
        while let Some(node) = nodes.pop() {
            match node {
                Expr::Rule(inner) if inner == name => return true,
                Expr::Rule(inner) if !seen.contains(&inner.as_str()) => {
                    seen.push(inner);
                    nodes.extend(self.grammar.rules.get(inner).map(|rule| &rule.expr));
                }
                // JSON is described by its schema.
                Expr::Schema(node) if node.is_json() => {}
                node => nodes.extend(node.children()),
            }
        }
        false
    }

    /// A node that only a grammar can say.
    fn grammar(&mut self, expr: &Expr) -> Value {
        let written = self.grammar.part(expr).to_gbnf();
        for warning in written.warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        object([("type", "grammar".into()), ("grammar", written.text.into())])
    }
}
