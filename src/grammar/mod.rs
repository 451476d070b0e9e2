//! What a model may write, given the tools of a request: as a constraint for engines, and as a strict
//! parser.
//!
//! A [`Grammar`] is made of a [`Format`](crate::format::Format) and tools, or by hand with a [`Builder`].
//! It is written out for engines as [GBNF](Grammar::to_gbnf), as [Lark](Grammar::to_lark), as a
//! [structural tag](Grammar::to_structural_tag), or as a [regular expression](Grammar::to_regex).
//!
//! ```
//! use unjinja::chat_template::{ChatTemplate, RenderInput};
//! use unjinja::format::Format;
//! use unjinja::grammar::{Grammar, Request, ToolChoice};
//! use unjinja::{Tools, json};
//!
//! let template = ChatTemplate::from_jinja(
//!     "{% for m in messages %}<{{ m.role }}>{{ m.content }}\
//!      {% for t in m.tool_calls %}<call>{{ t.function | tojson }}</call>{% endfor %}<end>{% endfor %}\
//!      {% if add_generation_prompt %}<assistant>{% endif %}",
//! );
//! let format = Format::of(&template, &RenderInput::default())?;
//! let tools = Tools::from_value(&json::read(r#"[{"name": "wait", "parameters": {
//!     "type": "object", "properties": {"seconds": {"type": "integer"}}, "required": ["seconds"]
//! }}]"#)?);
//! let request = Request::new().tool_choice(ToolChoice::Required);
//! let grammar = Grammar::of(&format, &tools, &request)?;
//! let gbnf = grammar.to_gbnf();
//! assert!(gbnf.text.contains(r#"call-wait ::= "<call>{""#), "{}", gbnf.text);
//! assert!(gbnf.warnings.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod automaton;
mod beginnings;
mod borders;
mod builder;
mod call;
mod escape;
mod expr;
mod gbnf;
mod integer_range;
mod lark;
mod limits;
mod machine;
mod members;
mod new_rules;
mod notation;
mod other_keys;
mod parse;
mod pattern;
mod regex;
mod remainder;
mod request;
mod schema;
mod stream;
mod structural_tag;
mod turn;
mod value;

use std::collections::HashSet;

use indexmap::IndexMap;

use crate::markers;

pub use builder::Builder;
pub use expr::{
    CharClass, Chars, Expr, Member, Members, NotAClass, Repeat, SchemaNode, Tag, Without,
};
pub use limits::{Limit, Place, TooMuch};
pub use parse::{Fault, FaultKind, Found, Tree};
pub use regex::NotRegular;
pub use request::{Beyond, GrammarError, Reasoning, Request, ToolChoice};
pub use stream::{Delta, Stream};
pub use structural_tag::StructuralTag;

/// What a model may write.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Grammar {
    /// What the whole text is.
    pub root: Expr,
    /// The rules that nodes refer to.
    pub rules: IndexMap<String, Rule>,
    /// What was asked for and is not enforced.
    pub warnings: Vec<String>,
}

/// A part of a grammar that has a name.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Rule {
    /// What it is.
    pub expr: Expr,
    /// Whether a lazy grammar begins with it.
    pub is_trigger: bool,
    /// The schema that it is made of, if it is of one.
    pub(crate) origin: Option<limits::Origin>,
}

impl Rule {
    fn new(expr: Expr) -> Rule {
        Rule {
            expr,
            is_trigger: false,
            origin: None,
        }
    }
}

/// A grammar in the language of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// The grammar.
    pub text: String,
    /// What the grammar says and the text does not hold, and what the grammar itself does not hold.
    pub warnings: Vec<String>,
}

impl Grammar {
    /// Builds a grammar by hand.
    ///
    /// ```
    /// use unjinja::grammar::Grammar;
    /// use unjinja::json;
    ///
    /// let schema = json::read(r#"{"type": "object", "properties": {"city": {"type": "string"}}}"#)?;
    /// let grammar = Grammar::build(|p| {
    ///     let name = p.json_member("name", "\"weather\"");
    ///     let arguments = p.json_member("arguments", p.schema("weather", &schema));
    ///     let call = p.trigger_rule("call", "<call>{" << name << "," << arguments << "}</call>");
    ///     p.until("<call>") + p.optional(call)
    /// });
    /// assert!(grammar.to_gbnf().text.starts_with("root ::= "));
    /// # Ok::<(), json::Error>(())
    /// ```
    pub fn build(make: impl FnOnce(&Builder) -> Expr) -> Grammar {
        let p = Builder::default();
        let root = make(&p);
        p.finish(root).reachable()
    }

    /// The same with nothing but what its trigger rules reach, for engines that constrain a text from
    /// where it first writes one of the [triggers](Self::triggers).
    pub fn lazy(&self) -> Grammar {
        let names = self.rules.iter();
        let names = names.filter(|(_, rule)| rule.is_trigger);
        let root = Expr::choice(names.map(|(name, _)| Expr::Rule(name.clone())));
        let lazy = Grammar {
            root,
            ..self.clone()
        };
        lazy.reachable()
    }

    /// The texts that begin what the trigger rules describe.
    pub fn triggers(&self) -> Vec<String> {
        let rules = self.rules.values().filter(|rule| rule.is_trigger);
        let mut all: Vec<String> = rules.flat_map(|rule| self.openers(&rule.expr)).collect();
        all.sort();
        all.dedup();
        all
    }

    /// The markers of the calls that a tokenizer has to leave whole: what trigger rules open and close
    /// calls with.
    pub fn preserved_tokens(&self) -> Vec<String> {
        let mut all = Vec::new();
        let lazy = self.lazy();
        let rules = lazy.rules.values().map(|rule| &rule.expr);
        let mut nodes: Vec<&Expr> = rules.chain([&lazy.root]).collect();
        while let Some(node) = nodes.pop() {
            match node {
                Expr::Literal(text) => {
                    let pieces = markers::pieces(text);
                    all.extend(
                        pieces
                            .filter(|piece| markers::is_token(piece))
                            .map(str::to_owned),
                    );
                }
                // Markers do not stand in values.
                Expr::Schema(_) => {}
                other => nodes.extend(other.children()),
            }
        }
        all.sort();
        all.dedup();
        all
    }

    /// The literals that a node begins with. Each rule is followed once: it may lead back to itself.
    fn openers(&self, expr: &Expr) -> Vec<String> {
        let mut openers = Vec::new();
        let mut followed: HashSet<&str> = HashSet::new();
        let mut nodes = vec![expr];
        while let Some(node) = nodes.pop() {
            match node {
                Expr::Literal(text) => openers.push(text.clone()),
                Expr::Rule(name) if followed.insert(name) => {
                    nodes.extend(self.rules.get(name).map(|rule| &rule.expr));
                }
                // White space may be missing, so an engine can't wait for it.
                Expr::Sequence(all) => nodes.extend(all.iter().find(|part| **part != Expr::Space)),
                Expr::Choice(all) => nodes.extend(all),
                Expr::Repeat(repeat) => nodes.push(&repeat.item),
                Expr::Schema(node) => nodes.push(&node.expr),
                Expr::Atomic(inner) | Expr::Tag(_, inner) => nodes.push(inner),
                _ => {}
            }
        }
        openers
    }

    /// The same without the names of what is found, so that neighbouring literals are one.
    fn untagged(&self) -> Grammar {
        self.with_each(Expr::untagged)
    }

    /// The same where its root and each of its rules are changed.
    fn with_each(&self, mut change: impl FnMut(&Expr) -> Expr) -> Grammar {
        let mut grammar = self.clone();
        for rule in grammar.rules.values_mut() {
            rule.expr = change(&rule.expr);
        }
        grammar.root = change(&grammar.root);
        grammar
    }

    /// The same without rules that nothing leads to.
    fn reachable(mut self) -> Grammar {
        let found: HashSet<String> = self.reached_by(&self.root);
        self.rules.retain(|name, _| found.contains(name));
        self
    }

    /// A node of it by itself, with the rules that it leads to.
    fn part(&self, root: &Expr) -> Grammar {
        let found = self.reached_by(root);
        let rules = self.rules.iter().filter(|(name, _)| found.contains(*name));
        Grammar {
            root: root.clone(),
            rules: rules
                .map(|(name, rule)| (name.clone(), rule.clone()))
                .collect(),
            warnings: Vec::new(),
        }
    }

    /// The names of the rules that a node leads to.
    fn reached_by(&self, root: &Expr) -> HashSet<String> {
        let mut found = HashSet::new();
        let mut nodes = vec![root];
        while let Some(node) = nodes.pop() {
            if let Expr::Rule(name) = node
                && found.insert(name.clone())
            {
                nodes.extend(self.rules.get(name).map(|rule| &rule.expr));
            }
            nodes.extend(node.children());
        }
        found
    }
}

/// Whether a text is what a node says, all of it.
#[cfg(test)]
fn takes(expr: &Expr, text: &str) -> bool {
    let grammar = Grammar::build(|_| Expr::sequence([expr.clone(), Expr::End]));
    grammar.parse(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_wait_for_what_calls_begin_with() {
        for (make, expected) in [
            (
                (|p: &Builder| p.trigger_rule("call", p.literal("<call>") + p.json()))
                    as fn(&Builder) -> Expr,
                vec!["<call>"],
            ),
            // White space may be missing, so nobody can wait for it.
            (
                |p| p.trigger_rule("call", p.space() + (p.literal("<b>") | "<a>") + "x"),
                vec!["<a>", "<b>"],
            ),
            (
                |p| {
                    p.trigger_rule(
                        "call",
                        p.tool(p.one_or_more(p.rule("one", p.literal("<c>") + p.any()))),
                    )
                },
                vec!["<c>"],
            ),
            // A rule that leads back to itself is followed once.
            (
                |p| p.trigger_rule("call", p.rule_ref("call") | "<d>"),
                vec!["<d>"],
            ),
            (|p| p.rule("call", "<call>"), vec![]),
        ] {
            assert_eq!(Grammar::build(make).triggers(), expected);
        }
    }

    #[test]
    fn only_what_leads_to_calls_is_in_a_lazy_grammar() {
        let grammar = Grammar::build(|p| {
            let name = p.rule("name", "read");
            let call = p.trigger_rule("call", "<call>" + name);
            p.rule("answer", p.until("<call>")) + call
        });
        let names = |grammar: &Grammar| grammar.rules.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&grammar), ["name", "call", "answer"]);
        assert_eq!(names(&grammar.lazy()), ["name", "call"]);
        assert_eq!(grammar.lazy().root, Expr::Rule("call".to_owned()));
    }

    #[test]
    fn tokens_are_preserved_that_stand_around_calls() {
        let grammar = Grammar::build(|p| {
            let schema = crate::json::read(r#"{"const": "<v>"}"#).expect("it is JSON");
            let arguments = p.schema("read", &schema);
            let call = p.trigger_rule("call", p.literal("<call>read {") + arguments + "}</call>");
            p.literal("<say>") + call
        });
        assert_eq!(grammar.preserved_tokens(), ["</call>", "<call>"]);
    }
}
