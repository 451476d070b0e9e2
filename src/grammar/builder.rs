//! Building a grammar by hand.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use indexmap::{IndexMap, IndexSet};

use super::expr::{CharClass, Chars, Expr, NotAClass, SchemaNode, Tag};
use super::limits::{Origin, Room, TooMuch};
use super::notation::{LineBreaks, Notation, Quotes};
use super::schema::SchemaRules;
use super::{Beyond, Grammar, Rule, other_keys, remainder};
use crate::value::Value;

/// Nodes of a schema that is written wherever it stands, instead of as a rule.
const MAX_SHORT: usize = 8;

/// Makes the nodes of a grammar, and keeps its rules.
#[derive(Debug)]
pub struct Builder {
    rules: RefCell<IndexMap<String, Rule>>,
    /// The number of rules that asked for a name.
    asked: RefCell<HashMap<String, usize>>,
    /// Rules of schemas, to be found again by what they look like.
    shared: RefCell<HashMap<u64, Vec<String>>>,
    notations: RefCell<Vec<Notation>>,
    warnings: RefCell<IndexSet<String>>,
    pub(super) room: Room,
}

/// A grammar by hand has any value in place of what is beyond a limit.
impl Default for Builder {
    fn default() -> Builder {
        Builder::new(Beyond::Loosen)
    }
}

impl Builder {
    pub(super) fn new(beyond: Beyond) -> Builder {
        Builder {
            rules: RefCell::default(),
            asked: RefCell::default(),
            shared: RefCell::default(),
            notations: RefCell::default(),
            warnings: RefCell::default(),
            room: Room::new(beyond),
        }
    }

    /// The grammar whose texts are those of a node.
    pub(super) fn finish(self, root: Expr) -> Grammar {
        Grammar {
            root,
            rules: self.rules.into_inner(),
            warnings: self.warnings.into_inner().into_iter().collect(),
        }
    }

    /// Nothing.
    pub fn eps(&self) -> Expr {
        Expr::Empty
    }

    /// Nothing, at the start of the text.
    pub fn start(&self) -> Expr {
        Expr::Start
    }

    /// Nothing, at the end of the text.
    pub fn end(&self) -> Expr {
        Expr::End
    }

    /// A text that is always the same.
    pub fn literal(&self, text: impl Into<String>) -> Expr {
        Expr::literal(text)
    }

    /// Any character.
    pub fn any(&self) -> Expr {
        class(CharClass::any())
    }

    /// One after the other.
    pub fn sequence(&self, parts: impl IntoIterator<Item = Expr>) -> Expr {
        Expr::sequence(parts)
    }

    /// The first of several that fits.
    pub fn choice(&self, all: impl IntoIterator<Item = Expr>) -> Expr {
        Expr::choice(all)
    }

    /// One or more.
    pub fn one_or_more(&self, item: impl Into<Expr>) -> Expr {
        item.into().repeat(1, None)
    }

    /// Any number, or none.
    pub fn zero_or_more(&self, item: impl Into<Expr>) -> Expr {
        item.into().repeat(0, None)
    }

    /// This or nothing.
    pub fn optional(&self, item: impl Into<Expr>) -> Expr {
        item.into().optional()
    }

    /// So many at least, and so many at most.
    pub fn repeat(
        &self,
        item: impl Into<Expr>,
        at_least: u32,
        at_most: impl Into<Option<u32>>,
    ) -> Expr {
        item.into().repeat(at_least, at_most.into())
    }

    /// Nothing, where this follows.
    pub fn peek(&self, item: impl Into<Expr>) -> Expr {
        Expr::Peek(Box::new(item.into()))
    }

    /// Nothing, where this does not follow. Before a text, GBNF and structural tags hold it as far as the text and a
    /// literal behind it go.
    pub fn negate(&self, item: impl Into<Expr>) -> Expr {
        Expr::Negate(Box::new(item.into()))
    }

    /// Characters of a class such as `[a-z]`.
    ///
    /// # Errors
    ///
    /// If the text is no class.
    pub fn chars(
        &self,
        class: &str,
        at_least: u32,
        at_most: impl Into<Option<u32>>,
    ) -> Result<Expr, NotAClass> {
        Ok(Expr::Chars(Chars {
            class: class.parse()?,
            at_least,
            at_most: at_most.into(),
        }))
    }

    /// White space, or none.
    pub fn space(&self) -> Expr {
        Expr::Space
    }

    /// Any text up to this one.
    pub fn until(&self, delimiter: impl Into<String>) -> Expr {
        until([delimiter.into()])
    }

    /// Any text up to one of these.
    pub fn until_one_of<S: Into<String>>(&self, delimiters: impl IntoIterator<Item = S>) -> Expr {
        until(delimiters.into_iter().map(Into::into))
    }

    /// All the rest.
    pub fn rest(&self) -> Expr {
        Expr::Rest
    }

    /// A JSON value.
    pub fn json(&self) -> Expr {
        self.json_rules(&Notation::json()).value()
    }

    /// A JSON object.
    pub fn json_object(&self) -> Expr {
        self.json_rules(&Notation::json()).part("object")
    }

    /// A JSON array.
    pub fn json_array(&self) -> Expr {
        self.json_rules(&Notation::json()).part("array")
    }

    /// A JSON string.
    pub fn json_string(&self) -> Expr {
        self.json_rules(&Notation::json()).part("string")
    }

    /// A JSON number.
    pub fn json_number(&self) -> Expr {
        self.json_rules(&Notation::json()).part("number")
    }

    /// `true` or `false`.
    pub fn json_bool(&self) -> Expr {
        Expr::choice(["true".into(), "false".into()])
    }

    /// `null`.
    pub fn json_null(&self) -> Expr {
        "null".into()
    }

    /// What stands in a JSON string, without the quotes.
    pub fn json_string_content(&self) -> Expr {
        character(&Quotes {
            open: "\"".to_owned(),
            close: "\"".to_owned(),
            escapes: true,
        })
        .repeat(0, None)
    }

    /// A member of a JSON object, with this key and this value.
    pub fn json_member(&self, key: &str, value: impl Into<Expr>) -> Expr {
        let key = crate::json::write(&Value::from(key));
        Expr::sequence([
            key.into(),
            Expr::Space,
            ":".into(),
            Expr::Space,
            value.into(),
        ])
    }

    /// What the rule of this name says, which may be made later.
    pub fn rule_ref(&self, name: impl Into<String>) -> Expr {
        Expr::Rule(name.into())
    }

    /// Makes a rule, and refers to it. If the name is taken for something else, it gets a number.
    pub fn rule(&self, name: impl Into<String>, expr: impl Into<Expr>) -> Expr {
        self.keep(name.into(), expr.into(), false)
    }

    /// Makes a rule that a lazy grammar begins with, and refers to it.
    pub fn trigger_rule(&self, name: impl Into<String>, expr: impl Into<Expr>) -> Expr {
        self.keep(name.into(), expr.into(), true)
    }

    /// A value that a JSON Schema describes, written as JSON.
    pub fn schema(&self, name: &str, schema: &Value) -> Expr {
        let schema = self.admitted(None, schema);
        let rules = SchemaRules::new(self, name, &schema, Notation::json());
        rules.node(&schema)
    }

    /// A text that a JSON Schema describes, written as it is, without quotes. What the schema does not
    /// say of it is as the node `text` has it.
    pub fn raw_schema(&self, text: impl Into<Expr>, name: &str, schema: &Value) -> Expr {
        let schema = self.admitted(None, schema);
        let mut rules = SchemaRules::new(self, name, &schema, Notation::json());
        let expr = rules.raw(&schema, text.into());
        Expr::Schema(Box::new(SchemaNode {
            name: name.to_owned(),
            schema,
            notation: Notation::text(LineBreaks::default()),
            expr,
        }))
    }

    /// The same, as one piece: as long as it is not whole, no tag in it is there.
    pub fn atomic(&self, expr: impl Into<Expr>) -> Expr {
        Expr::Atomic(Box::new(expr.into()))
    }

    /// The same, with a name for what it finds.
    pub fn tag(&self, name: impl Into<String>, expr: impl Into<Expr>) -> Expr {
        expr.into().tagged(Tag::Other(name.into()))
    }

    /// What the model thinks.
    pub fn reasoning(&self, expr: impl Into<Expr>) -> Expr {
        expr.into().tagged(Tag::Reasoning)
    }

    /// What the model says.
    pub fn content(&self, expr: impl Into<Expr>) -> Expr {
        expr.into().tagged(Tag::Content)
    }

    /// A whole call.
    pub fn tool(&self, expr: impl Into<Expr>) -> Expr {
        expr.into().tagged(Tag::Tool)
    }

    /// What begins a call.
    pub fn tool_open(&self, expr: impl Into<Expr>) -> Expr {
        expr.into().tagged(Tag::ToolOpen)
    }

    /// What ends a call.
    pub fn tool_close(&self, expr: impl Into<Expr>) -> Expr {
        expr.into().tagged(Tag::ToolClose)
    }

    /// The id of a call.
    pub fn tool_id(&self, expr: impl Into<Expr>) -> Expr {
        expr.into().tagged(Tag::ToolId)
    }

    /// The name of the tool that is called.
    pub fn tool_name(&self, expr: impl Into<Expr>) -> Expr {
        expr.into().tagged(Tag::ToolName)
    }

    /// All arguments of a call, as JSON.
    pub fn tool_args(&self, expr: impl Into<Expr>) -> Expr {
        expr.into().tagged(Tag::ToolArgs)
    }

    /// An argument, with its name and its value.
    pub fn tool_arg(&self, expr: impl Into<Expr>) -> Expr {
        expr.into().tagged(Tag::ToolArg)
    }

    /// What begins an argument.
    pub fn tool_arg_open(&self, expr: impl Into<Expr>) -> Expr {
        expr.into().tagged(Tag::ToolArgOpen)
    }

    /// What ends an argument.
    pub fn tool_arg_close(&self, expr: impl Into<Expr>) -> Expr {
        expr.into().tagged(Tag::ToolArgClose)
    }

    /// The name of an argument.
    pub fn tool_arg_name(&self, expr: impl Into<Expr>) -> Expr {
        expr.into().tagged(Tag::ToolArgName)
    }

    /// The value of an argument, a text as it is.
    pub fn tool_arg_string_value(&self, expr: impl Into<Expr>) -> Expr {
        expr.into().tagged(Tag::ToolArgString)
    }

    /// The value of an argument as JSON.
    pub fn tool_arg_json_value(&self, expr: impl Into<Expr>) -> Expr {
        expr.into().tagged(Tag::ToolArgJson)
    }

    /// A schema of a tool, or of an answer, as far as it is within the limits.
    pub(super) fn admitted(&self, tool: Option<&str>, schema: &Value) -> Value {
        let (schema, warnings) = self.room.admitted(tool, schema);
        warnings.into_iter().for_each(|warning| self.warn(warning));
        schema
    }

    /// Notes that a schema is beyond a limit.
    pub(super) fn note(&self, too_much: TooMuch) {
        if let Some(warning) = self.room.note(too_much) {
            self.warn(warning);
        }
    }

    pub(super) fn warn(&self, warning: String) {
        self.warnings.borrow_mut().insert(warning);
    }

    /// The text that stands in a rule that has not been made yet, for rules that contain themselves.
    pub(super) fn reserve(&self, name: &str, origin: Option<Origin>) -> String {
        let name = self.free_name(name);
        let rule = Rule {
            origin,
            ..Rule::new(Expr::Empty)
        };
        self.rules.borrow_mut().insert(name.clone(), rule);
        name
    }

    /// Those of some rules that lead back to themselves before they say anything, each of which is given another form.
    pub(super) fn break_circles(&self, names: &[String], other: impl Fn() -> Expr) -> Vec<String> {
        let mut broken = Vec::new();
        let mut done: HashSet<String> = HashSet::new();
        for name in names {
            // Each rule with those right below it that are still to be followed.
            let mut open: Vec<(String, Vec<String>)> = Vec::new();
            let mut next = Some(name.clone());
            loop {
                if let Some(name) = next.take().filter(|name| !done.contains(name)) {
                    if open.iter().any(|(outer, _)| *outer == name) {
                        self.define(&name, other());
                        broken.push(name);
                    } else {
                        let rules = self.rules.borrow();
                        let first = rules.get(&name).map(|rule| named_at_once(&rule.expr));
                        open.push((name, first.unwrap_or_default()));
                    }
                }
                match open.last_mut() {
                    None => break,
                    Some((_, left)) => next = left.pop(),
                }
                if next.is_none() {
                    done.extend(open.pop().map(|(name, _)| name));
                }
            }
        }
        broken
    }

    pub(super) fn define(&self, name: &str, expr: Expr) {
        if let Some(rule) = self.rules.borrow_mut().get_mut(name) {
            rule.expr = expr;
        }
    }

    /// What is left of a node behind a text; never if it does not begin with that.
    pub(super) fn behind(&self, expr: &Expr, text: &str) -> Expr {
        remainder::behind(expr, text, &self.rules.borrow())
    }

    /// A rule in another form, which is made once and under its own name.
    pub(super) fn second_form(
        &self,
        name: &str,
        form: &str,
        change: impl FnOnce(&Expr) -> Expr,
    ) -> Expr {
        let known = self.rules.borrow().contains_key(form);
        let first = self.rules.borrow().get(name).cloned();
        if let Some(first) = first.filter(|_| !known) {
            let form = self.reserve(form, first.origin.clone());
            self.define(&form, change(&first.expr));
        }
        Expr::Rule(form.to_owned())
    }

    fn keep(&self, name: String, expr: Expr, is_trigger: bool) -> Expr {
        // As a rule, it would look like something that can be written.
        if expr.is_never() {
            return expr;
        }
        let is = |rule: &Rule| rule.is_trigger == is_trigger && rule.expr == expr;
        if self.rules.borrow().get(&name).is_some_and(is) {
            return Expr::Rule(name);
        }
        let rule = Rule {
            is_trigger,
            ..Rule::new(expr)
        };
        self.insert(&name, rule)
    }

    fn insert(&self, name: &str, rule: Rule) -> Expr {
        let name = self.free_name(name);
        self.rules.borrow_mut().insert(name.clone(), rule);
        Expr::Rule(name)
    }

    /// The rule of a schema, which is the same for all that say the same. What is short is none.
    pub(super) fn shared(&self, name: &str, expr: Expr, origin: &Origin) -> Expr {
        if expr.size() <= MAX_SHORT {
            return expr;
        }
        let look = expr.look(usize::MAX);
        if let Some(names) = self.shared.borrow().get(&look) {
            let rules = self.rules.borrow();
            let is = |name: &&String| rules.get(*name).is_some_and(|rule| rule.expr == expr);
            if let Some(name) = names.iter().find(is) {
                return Expr::Rule(name.clone());
            }
        }
        let rule = Rule {
            origin: Some(origin.clone()),
            ..Rule::new(expr)
        };
        let made = self.insert(name, rule);
        if let Expr::Rule(name) = &made {
            let mut shared = self.shared.borrow_mut();
            shared.entry(look).or_default().push(name.clone());
        }
        made
    }

    /// A name that no rule has. Counted on from the last: of a thousand rules of one name, none has to try all numbers.
    fn free_name(&self, name: &str) -> String {
        let rules = self.rules.borrow();
        let mut asked = self.asked.borrow_mut();
        let number = asked.entry(name.to_owned()).or_default();
        loop {
            *number += 1;
            let free = match *number {
                1 => name.to_owned(),
                number => format!("{name}-{number}"),
            };
            if !rules.contains_key(&free) {
                return free;
            }
        }
    }

    /// The rules of JSON in a notation, which are made once.
    pub(super) fn json_rules(&self, notation: &Notation) -> JsonRules {
        let rules = JsonRules {
            prefix: match self.notation_number(notation) {
                0 => "json".to_owned(),
                at => format!("json{}", at + 1),
            },
        };
        let Expr::Rule(value) = rules.value() else {
            return rules;
        };
        if !self.rules.borrow().contains_key(&value) {
            rules.make(self, notation);
        }
        rules
    }

    /// The number of a notation.
    pub(super) fn notation_number(&self, notation: &Notation) -> usize {
        let mut notations = self.notations.borrow_mut();
        let known = notations.iter().position(|known| known == notation);
        known.unwrap_or_else(|| {
            notations.push(notation.clone());
            notations.len() - 1
        })
    }
}

/// The rules that a node may be nothing but.
fn named_at_once(expr: &Expr) -> Vec<String> {
    let mut names = Vec::new();
    let mut nodes = vec![expr];
    while let Some(node) = nodes.pop() {
        match node.bare() {
            Expr::Rule(name) => names.push(name.clone()),
            Expr::Choice(all) => nodes.extend(all),
            Expr::Schema(node) => nodes.push(&node.expr),
            _ => {}
        }
    }
    names
}

/// References to the rules of JSON in a notation.
pub(super) struct JsonRules {
    prefix: String,
}

impl JsonRules {
    pub(super) fn value(&self) -> Expr {
        self.part("value")
    }

    pub(super) fn part(&self, part: &str) -> Expr {
        Expr::Rule(format!("{}-{part}", self.prefix))
    }

    fn make(&self, p: &Builder, notation: &Notation) {
        let name = |part: &str| format!("{}-{part}", self.prefix);
        for part in ["value", "object", "array", "string", "number"] {
            p.reserve(&name(part), None);
        }
        p.define(&name("string"), any_string(notation));
        p.define(&name("number"), Expr::Atomic(Box::new(any_number())));
        let key = key(notation, self.part("string"));
        let member = Expr::sequence([key, notation.colon(), self.value()]);
        p.define(&name("object"), listed(notation, "{", member, "}"));
        p.define(&name("array"), listed(notation, "[", self.value(), "]"));
        let parts = ["object", "array", "string", "number"].map(|part| self.part(part));
        let words = [Some(true), Some(false), None].map(|word| notation.word(word).into());
        // Python's words within brackets are read by no response template.
        let words = words.into_iter().filter(|_| !notation.python_words);
        p.define(&name("value"), Expr::choice(parts.into_iter().chain(words)));
    }
}

/// A key of which nothing is known.
pub(super) fn key(notation: &Notation, string: Expr) -> Expr {
    match notation.bare_keys {
        true => class(other_keys::bare_key()).repeat(1, None),
        false => string,
    }
}

/// Items between brackets, with commas between them.
fn listed(notation: &Notation, open: &str, item: Expr, close: &str) -> Expr {
    let more = Expr::sequence([notation.comma(), item.clone()]);
    let items = Expr::sequence([item, more.repeat(0, None)]);
    Expr::sequence([
        open.into(),
        notation.gap(),
        Expr::sequence([items, notation.gap()]).optional(),
        close.into(),
    ])
}

/// A text without escapes, up to the quotes that end it.
pub(super) fn plain_text(notation: &Notation, quotes: &Quotes) -> Expr {
    let close = Expr::literal(quotes.close.as_str());
    text_without([close].into_iter().chain(notation.outside.iter().cloned()))
}

/// A string of which nothing is known.
pub(super) fn any_string(notation: &Notation) -> Expr {
    let strings = notation.strings.iter().map(|quotes| {
        let content = match quotes.escapes {
            true => character(quotes).without(notation.outside.iter().cloned()),
            false => plain_text(notation, quotes),
        };
        let parts = [
            quotes.open.as_str().into(),
            content,
            quotes.close.as_str().into(),
        ];
        Expr::sequence(parts)
    });
    Expr::Atomic(Box::new(Expr::choice(strings)))
}

/// A character of a string as it is written.
pub(super) fn character(quotes: &Quotes) -> Expr {
    let quote = quotes.close.chars().next().unwrap_or('"');
    // JSON has control characters in strings as escapes only.
    let mut plain = CharClass::any().without(&CharClass::ranges([('\0', '\x1f')]));
    plain = plain.without(&CharClass::of(['\\', quote]));
    if quote != '"' {
        // In other quotes than JSON's, response templates take a text as it stands there.
        return class(plain);
    }
    let any = [('0', '9'), ('a', 'f'), ('A', 'F')];
    let code = |first: &str, second: &[(char, char)]| {
        let hexadecimal = class(CharClass::ranges(any));
        let first = class(CharClass::of(first.chars()));
        let second = class(CharClass::ranges(second.iter().copied()));
        Expr::sequence(["u".into(), first, second, hexadecimal.repeat(2, Some(2))])
    };
    // Half of a pair stands for nothing by itself.
    let pair = [
        code("dD", &[('8', '9'), ('a', 'b'), ('A', 'B')]),
        "\\".into(),
        code("dD", &[('c', 'f'), ('C', 'F')]),
    ];
    let codes = Expr::choice([
        code("0123456789abcefABCEF", &any),
        code("dD", &[('0', '7')]),
        Expr::sequence(pair),
    ]);
    let escape = Expr::choice([class(CharClass::of("\"\\/bfnrt".chars())), codes]);
    Expr::choice([class(plain), Expr::sequence(["\\".into(), escape])])
}

/// A number of which nothing is known.
pub(super) fn any_number() -> Expr {
    let exponent = Expr::sequence([
        class(CharClass::of(['e', 'E'])),
        class(CharClass::of(['+', '-'])).optional(),
        // With more, a number is one that nothing can hold.
        class(CharClass::ranges([('0', '9')])).repeat(1, Some(2)),
    ]);
    Expr::sequence([
        any_integer(),
        Expr::sequence([".".into(), digits(1)]).optional(),
        exponent.optional(),
    ])
}

/// A whole number of which nothing is known.
pub(super) fn any_integer() -> Expr {
    Expr::sequence([Expr::from("-").optional(), natural()])
}

/// A whole number without a sign.
pub(super) fn natural() -> Expr {
    // JSON knows no `007`.
    let first = class(CharClass::ranges([('1', '9')]));
    Expr::choice(["0".into(), Expr::sequence([first, digits(0)])])
}

fn digits(at_least: u32) -> Expr {
    class(CharClass::ranges([('0', '9')])).repeat(at_least, None)
}

/// One character of a class.
pub(super) fn class(class: CharClass) -> Expr {
    Expr::Chars(Chars {
        class,
        at_least: 1,
        at_most: Some(1),
    })
}

/// Any text in which none of these stands.
pub(super) fn text_without(others: impl IntoIterator<Item = Expr>) -> Expr {
    let others: Vec<Expr> = others.into_iter().collect();
    let literals = others.iter().map(|other| match other {
        Expr::Literal(text) => Some(text.clone()),
        _ => None,
    });
    // All languages have a text up to literals; one without patterns takes an automaton, or a lexeme with a
    // complement.
    match literals.collect::<Option<Vec<String>>>() {
        Some(delimiters) => until(delimiters),
        None => class(CharClass::any()).without(others),
    }
}

/// Any text up to one of these.
pub(super) fn until(delimiters: impl IntoIterator<Item = String>) -> Expr {
    let mut all: Vec<String> = delimiters.into_iter().filter(|d| !d.is_empty()).collect();
    all.sort();
    all.dedup();
    // What begins with another one is found with that.
    let shorter = all.clone();
    all.retain(|text| {
        !shorter
            .iter()
            .any(|s| s != text && text.starts_with(s.as_str()))
    });
    match all.is_empty() {
        true => Expr::Rest,
        false => Expr::Until(all),
    }
}

#[cfg(test)]
mod tests {
    use super::super::takes;
    use super::*;

    #[test]
    fn what_begins_with_another_delimiter_is_found_with_that() {
        for (delimiters, expected) in [
            (
                vec!["<b>", "<a>", "<b>"],
                Expr::Until(vec!["<a>".into(), "<b>".into()]),
            ),
            (vec!["</a", "</a>", "<"], Expr::Until(vec!["<".into()])),
            (vec!["", "a"], Expr::Until(vec!["a".into()])),
            (vec![""], Expr::Rest),
            (vec![], Expr::Rest),
        ] {
            let found = until(delimiters.iter().map(|text| (*text).to_owned()));
            assert_eq!(found, expected, "{delimiters:?}");
        }
    }

    #[test]
    fn only_patterns_take_an_automaton() {
        let pattern = || Expr::sequence(["<".into(), Expr::Space, "a".into()]);
        let literals = text_without(["<a>".into(), "<b>".into()]);
        assert_eq!(literals, Expr::Until(vec!["<a>".into(), "<b>".into()]));
        let mixed = text_without(["<b>".into(), pattern()]);
        assert!(matches!(mixed, Expr::Without(_)));
        for (text, fits) in [("< b", true), ("< a", false), ("<b>", false), ("", true)] {
            assert_eq!(takes(&mixed, text), fits, "{text}");
        }
    }

    #[test]
    fn a_name_that_is_taken_for_something_else_gets_a_number() {
        let grammar = Grammar::build(|p| {
            let rules = [
                p.rule("a", "x"),
                p.rule("a", "x"),
                p.rule("a", "y"),
                p.rule("a", "z"),
            ];
            let names = ["a", "a", "a-2", "a-3"].map(|name| Expr::Rule(name.to_owned()));
            assert_eq!(rules, names);
            // As a rule, nobody would see that nothing fits.
            assert!(p.rule("never", Expr::NEVER).is_never());
            p.sequence(rules)
        });
        assert_eq!(grammar.rules.len(), 3);
    }

    #[test]
    fn numbers_and_characters_are_those_of_json() {
        let quotes = |close: &str| character(&Quotes::escaping(close));
        let (number, integer) = (any_number(), any_integer());
        let (in_json, in_others) = (quotes("\""), quotes("'"));
        for (expr, fits, fails) in [
            (
                &number,
                vec!["0", "-0", "12", "1.50", "1e5", "1E-09"],
                vec!["007", "1.", ".5", "+1", "1e", "1e100"],
            ),
            (
                &integer,
                vec!["0", "-12", "340"],
                vec!["01", "1.0", "1e5", "-"],
            ),
            (
                &in_json,
                vec!["a", "'", r"\n", r"\u0041", r"\uD83C\uDF0A", "水"],
                vec!["\"", "\\", "\n", "ab", r"\x", r"\u12", r"\uD83C", r"\uDF0A"],
            ),
            // In other quotes than JSON's, a text stands as it is.
            (&in_others, vec!["a", "\""], vec!["'", "\\", r"\n", "\n"]),
        ] {
            for text in fits {
                assert!(takes(expr, text), "{text}");
            }
            for text in fails {
                assert!(!takes(expr, text), "{text}");
            }
        }
    }

    #[test]
    fn each_notation_has_its_own_rules_and_makes_them_once() {
        let grammar = Grammar::build(|p| {
            let json = p.json_rules(&Notation::json()).value();
            let python = p.json_rules(&Notation::python()).value();
            assert_eq!(json, p.json_rules(&Notation::json()).value());
            assert_ne!(json, python);
            json + ";" + python
        });
        for (text, fits) in [
            (r#"{"a" : [1,null]};{'a': [1, 'b']}"#, true),
            (r#"{'a': 1};1"#, false),
            (r#"1;{"a": 1}"#, false),
            // No response template reads Python's words within brackets.
            (r#"1;[None]"#, false),
        ] {
            assert_eq!(grammar.parse(text).is_ok(), fits, "{text}");
        }
    }
}
