//! The expressions of a template, with where each part of them stands.
//!
//! minijinja's own tree knows places only roughly: a chain of attributes begins where its last link does. To replace
//! a part of an expression, and nothing else, the tokens are gone through.

use std::iter::Peekable;
use std::ops::Range;

use minijinja::machinery::Token;

use super::tags::{TemplatePart, parts};

/// A tag, or what is printed, with its expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Statement {
    /// From the opening delimiter to the closing one.
    pub(crate) range: Range<usize>,
    /// What begins the tag; empty if something is printed.
    pub(crate) keyword: String,
    /// The name that is set, if it is a single one.
    pub(crate) target: Option<String>,
    /// What is asked, printed, set, or looped over.
    pub(crate) expression: Option<Expression>,
    /// Which items a loop takes.
    pub(crate) filter: Option<Expression>,
}

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expression {
    pub(crate) range: Range<usize>,
    pub(crate) kind: ExpressionKind,
}

/// What kind of expression it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ExpressionKind {
    /// `a or b or c`
    Or(Vec<Expression>),
    /// `a and b and c`
    And(Vec<Expression>),
    /// `not a`
    Not(Box<Expression>),
    /// `value if condition else otherwise`
    Choice {
        value: Box<Expression>,
        condition: Box<Expression>,
        otherwise: Option<Box<Expression>>,
    },
    /// `(a)`
    Group(Box<Expression>),
    Name(String),
    Bool(bool),
    Text(String),
    /// `of.name`
    Attribute {
        of: Box<Expression>,
        name: String,
    },
    /// `of[…]`, with what stands between the brackets.
    Item {
        of: Box<Expression>,
        parts: Vec<Expression>,
    },
    /// `of(…)`
    Call {
        of: Box<Expression>,
        arguments: Vec<Expression>,
    },
    /// `of | name(…)`
    Filter {
        of: Box<Expression>,
        name: String,
        arguments: Vec<Expression>,
    },
    /// A comparison or a test: `a < b`, `a in b`, `a is defined`.
    Question(Vec<Expression>),
    /// Anything else, with what it consists of.
    Other(Vec<Expression>),
}

impl Expression {
    /// What it consists of.
    pub(crate) fn children(&self) -> Vec<&Expression> {
        match &self.kind {
            ExpressionKind::Or(all)
            | ExpressionKind::And(all)
            | ExpressionKind::Question(all)
            | ExpressionKind::Other(all) => all.iter().collect(),
            ExpressionKind::Not(inner) | ExpressionKind::Group(inner) => vec![inner],
            ExpressionKind::Choice {
                value,
                condition,
                otherwise,
            } => {
                let mut all: Vec<&Expression> = vec![value, condition];
                all.extend(otherwise.as_deref());
                all
            }
            ExpressionKind::Name(_) | ExpressionKind::Bool(_) | ExpressionKind::Text(_) => {
                Vec::new()
            }
            ExpressionKind::Attribute { of, .. } => vec![of],
            ExpressionKind::Item { of, parts: more }
            | ExpressionKind::Call {
                of,
                arguments: more,
            }
            | ExpressionKind::Filter {
                of,
                arguments: more,
                ..
            } => std::iter::once(&**of).chain(more).collect(),
        }
    }

    /// Calls a function with this expression and all that it consists of.
    pub(crate) fn visit<'e>(&'e self, visitor: &mut impl FnMut(&'e Expression)) {
        visitor(self);
        for child in self.children() {
            child.visit(visitor);
        }
    }
}

/// How deeply expressions may nest.
const MAX_DEPTH: usize = 100;

/// Reads the expressions of a template. One that can't be read is left out of its statement.
///
/// # Errors
///
/// If the template can't be cut into tokens.
pub(crate) fn statements(jinja: &str) -> Result<Vec<Statement>, String> {
    let mut statements = Vec::new();
    for part in parts(jinja)? {
        match part {
            TemplatePart::Text(_) => {}
            TemplatePart::Print(range, tokens) => {
                let mut statement = Statement::of(range, "");
                statement.expression = ExpressionReader::of(&tokens).whole();
                statements.push(statement);
            }
            TemplatePart::Tag(range, tokens) => statements.push(tag(range, &tokens)),
        }
    }
    Ok(statements)
}

impl Statement {
    fn of(range: Range<usize>, keyword: &str) -> Statement {
        Statement {
            range,
            keyword: keyword.to_owned(),
            target: None,
            expression: None,
            filter: None,
        }
    }
}

type Tokens<'t> = [(Token<'t>, Range<usize>)];

fn tag(range: Range<usize>, tokens: &Tokens<'_>) -> Statement {
    let Some((Token::Ident(keyword), _)) = tokens.first() else {
        return Statement::of(range, "");
    };
    let mut statement = Statement::of(range, keyword);
    let rest = &tokens[1..];
    let behind = |wanted: fn(&Token<'_>) -> bool| {
        let at = rest.iter().position(|(token, _)| wanted(token))?;
        Some(&rest[at + 1..])
    };
    match *keyword {
        "if" | "elif" | "do" => statement.expression = ExpressionReader::of(rest).whole(),
        "set" => {
            if let [(Token::Ident(name), _), (Token::Assign, _), ..] = rest {
                statement.target = Some((*name).to_owned());
            }
            let value = behind(|token| matches!(token, Token::Assign));
            statement.expression = value.and_then(|value| ExpressionReader::of(value).whole());
        }
        "for" => {
            if let Some(rest) = behind(|token| matches!(token, Token::Ident("in"))) {
                let mut reader = ExpressionReader::of(rest);
                // An `if` behind it chooses among the items.
                statement.expression = reader.or(0);
                if reader.skip_word("if") {
                    statement.filter = reader.or(0);
                }
            }
        }
        _ => {}
    }
    statement
}

fn is_comparison(token: &Token<'_>) -> bool {
    matches!(
        token,
        Token::Eq | Token::Ne | Token::Gt | Token::Gte | Token::Lt | Token::Lte
    )
}

fn is_arithmetic(token: &Token<'_>) -> bool {
    matches!(
        token,
        Token::Plus
            | Token::Minus
            | Token::Mul
            | Token::Div
            | Token::FloorDiv
            | Token::Mod
            | Token::Pow
            | Token::Tilde
    )
}

struct ExpressionReader<'r, 't> {
    tokens: Peekable<std::slice::Iter<'r, (Token<'t>, Range<usize>)>>,
    /// Where the last token has ended.
    end: usize,
}

impl<'r, 't> ExpressionReader<'r, 't> {
    fn of(tokens: &'r Tokens<'t>) -> Self {
        ExpressionReader {
            tokens: tokens.iter().peekable(),
            end: 0,
        }
    }

    fn whole(&mut self) -> Option<Expression> {
        let expression = self.choice(0)?;
        self.peek().is_none().then_some(expression)
    }

    fn peek(&mut self) -> Option<&'r Token<'t>> {
        self.tokens.peek().map(|(token, _)| token)
    }

    fn next(&mut self) -> Option<&'r (Token<'t>, Range<usize>)> {
        let next = self.tokens.next()?;
        self.end = next.1.end;
        Some(next)
    }

    fn start(&mut self) -> usize {
        self.tokens
            .peek()
            .map_or(self.end, |(_, range)| range.start)
    }

    fn skip(&mut self, wanted: impl Fn(&Token<'t>) -> bool) -> bool {
        let is_next = self.peek().is_some_and(wanted);
        if is_next {
            self.next();
        }
        is_next
    }

    fn skip_word(&mut self, word: &str) -> bool {
        self.skip(|token| matches!(token, Token::Ident(name) if *name == word))
    }

    fn made(&self, start: usize, kind: ExpressionKind) -> Expression {
        Expression {
            range: start..self.end,
            kind,
        }
    }

    fn choice(&mut self, depth: usize) -> Option<Expression> {
        if depth > MAX_DEPTH {
            return None;
        }
        let start = self.start();
        let mut expression = self.or(depth + 1)?;
        while self.skip_word("if") {
            let condition = Box::new(self.or(depth + 1)?);
            let otherwise = match self.skip_word("else") {
                true => Some(Box::new(self.choice(depth + 1)?)),
                false => None,
            };
            let value = Box::new(expression);
            expression = self.made(
                start,
                ExpressionKind::Choice {
                    value,
                    condition,
                    otherwise,
                },
            );
        }
        Some(expression)
    }

    fn or(&mut self, depth: usize) -> Option<Expression> {
        self.joined(depth, "or", ExpressionKind::Or, Self::and)
    }

    fn and(&mut self, depth: usize) -> Option<Expression> {
        self.joined(depth, "and", ExpressionKind::And, Self::not)
    }

    fn joined(
        &mut self,
        depth: usize,
        word: &str,
        kind: fn(Vec<Expression>) -> ExpressionKind,
        next: fn(&mut Self, usize) -> Option<Expression>,
    ) -> Option<Expression> {
        let start = self.start();
        let mut all = vec![next(self, depth)?];
        while self.skip_word(word) {
            all.push(next(self, depth)?);
        }
        match all.len() {
            1 => all.pop(),
            _ => Some(self.made(start, kind(all))),
        }
    }

    fn not(&mut self, depth: usize) -> Option<Expression> {
        if depth > MAX_DEPTH {
            return None;
        }
        let start = self.start();
        match self.skip_word("not") {
            true => {
                let inner = Box::new(self.not(depth + 1)?);
                Some(self.made(start, ExpressionKind::Not(inner)))
            }
            false => self.compared(depth),
        }
    }

    /// Comparisons and sums, which need not be told apart.
    fn compared(&mut self, depth: usize) -> Option<Expression> {
        let start = self.start();
        let mut all = vec![self.link(depth)?];
        let mut is_question = false;
        loop {
            let compares = self.skip(is_comparison)
                || self.skip_word("in")
                || (self.skip_word("not") && self.skip_word("in"));
            if !compares && !self.skip(is_arithmetic) {
                break;
            }
            is_question |= compares;
            all.push(self.link(depth)?);
        }
        match (all.len(), is_question) {
            (1, _) => all.pop(),
            (_, true) => Some(self.made(start, ExpressionKind::Question(all))),
            (_, false) => Some(self.made(start, ExpressionKind::Other(all))),
        }
    }

    /// A value with what is done with it: attributes, calls, filters, tests.
    fn link(&mut self, depth: usize) -> Option<Expression> {
        let start = self.start();
        if self.skip(|token| matches!(token, Token::Minus | Token::Plus)) {
            if depth > MAX_DEPTH {
                return None;
            }
            let inner = self.link(depth + 1)?;
            return Some(self.made(start, ExpressionKind::Other(vec![inner])));
        }
        let mut expression = self.primary(depth)?;
        loop {
            let of = Box::new(expression);
            let kind = match self.peek() {
                Some(Token::Dot) => {
                    self.next();
                    match self.next()? {
                        (Token::Ident(name), _) => ExpressionKind::Attribute {
                            of,
                            name: (*name).to_owned(),
                        },
                        _ => ExpressionKind::Item {
                            of,
                            parts: Vec::new(),
                        },
                    }
                }
                Some(Token::BracketOpen) => ExpressionKind::Item {
                    of,
                    parts: self.list(depth)?,
                },
                Some(Token::ParenOpen) => ExpressionKind::Call {
                    of,
                    arguments: self.list(depth)?,
                },
                Some(Token::Pipe) => {
                    self.next();
                    ExpressionKind::Filter {
                        of,
                        name: self.dotted()?,
                        arguments: match self.peek() {
                            Some(Token::ParenOpen) => self.list(depth)?,
                            _ => Vec::new(),
                        },
                    }
                }
                Some(Token::Ident("is")) => {
                    self.next();
                    self.skip_word("not");
                    self.dotted()?;
                    let mut all = vec![*of];
                    match self.peek() {
                        Some(Token::ParenOpen) => all.extend(self.list(depth)?),
                        Some(Token::Ident("and" | "or" | "else" | "is" | "if" | "in" | "not")) => {}
                        Some(
                            Token::Ident(_)
                            | Token::Str(_)
                            | Token::String(_)
                            | Token::Int(_)
                            | Token::Int128(_)
                            | Token::Float(_)
                            | Token::BracketOpen
                            | Token::BraceOpen,
                        ) => all.push(self.primary(depth)?),
                        _ => {}
                    }
                    ExpressionKind::Question(all)
                }
                _ => return Some(*of),
            };
            expression = self.made(start, kind);
        }
    }

    fn dotted(&mut self) -> Option<String> {
        let mut name = String::new();
        loop {
            let (Token::Ident(part), _) = self.next()? else {
                return None;
            };
            name.push_str(part);
            if !self.skip(|token| matches!(token, Token::Dot)) {
                return Some(name);
            }
            name.push('.');
        }
    }

    fn primary(&mut self, depth: usize) -> Option<Expression> {
        if depth > MAX_DEPTH {
            return None;
        }
        let start = self.start();
        let kind = match self.peek()? {
            Token::ParenOpen => {
                let mut inside = self.list(depth)?;
                match inside.len() {
                    1 => ExpressionKind::Group(Box::new(inside.pop()?)),
                    _ => ExpressionKind::Other(inside),
                }
            }
            Token::BracketOpen | Token::BraceOpen => ExpressionKind::Other(self.list(depth)?),
            _ => match &self.next()?.0 {
                Token::Ident("true" | "True") => ExpressionKind::Bool(true),
                Token::Ident("false" | "False") => ExpressionKind::Bool(false),
                Token::Ident(name) => ExpressionKind::Name((*name).to_owned()),
                Token::Str(text) => ExpressionKind::Text((*text).to_owned()),
                Token::String(text) => ExpressionKind::Text(text.to_string()),
                Token::Int(_) | Token::Int128(_) | Token::Float(_) => {
                    ExpressionKind::Other(Vec::new())
                }
                _ => return None,
            },
        };
        // Texts that stand side by side are one.
        let is_text = matches!(kind, ExpressionKind::Text(_));
        while is_text && self.skip(|token| matches!(token, Token::Str(_) | Token::String(_))) {}
        Some(self.made(start, kind))
    }

    /// What stands between brackets of any kind: items, keys, values, names of arguments.
    fn list(&mut self, depth: usize) -> Option<Vec<Expression>> {
        self.next();
        let mut items = Vec::new();
        loop {
            let is_sign = self.skip(|token| {
                matches!(
                    token,
                    Token::Comma | Token::Colon | Token::Assign | Token::Mul | Token::Pow
                )
            });
            if is_sign {
                continue;
            }
            let is_end = self.skip(|token| {
                matches!(
                    token,
                    Token::ParenClose | Token::BracketClose | Token::BraceClose
                )
            });
            if is_end {
                return Some(items);
            }
            items.push(self.choice(depth + 1)?);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each part of an expression that is none of the smallest, as it stands in the template.
    fn parts(jinja: &str) -> String {
        let statements = statements(jinja).unwrap();
        let mut parts = Vec::new();
        for statement in &statements {
            for expression in statement.expression.iter().chain(&statement.filter) {
                expression.visit(&mut |part| {
                    if !matches!(
                        part.kind,
                        ExpressionKind::Name(_) | ExpressionKind::Bool(_) | ExpressionKind::Text(_)
                    ) {
                        parts.push(&jinja[part.range.clone()]);
                    }
                });
            }
        }
        parts.join(" | ")
    }

    #[test]
    fn each_part_of_an_expression_has_its_place() {
        for (jinja, expected) in [
            ("{% if a and not b.c %}", "a and not b.c | not b.c | b.c"),
            (
                "{% elif x > ns.y or (a and b) %}",
                "x > ns.y or (a and b) | x > ns.y | ns.y | (a and b) | a and b",
            ),
            (
                "{{- a.split('x')[-1].strip() }}",
                "a.split('x')[-1].strip() | a.split('x')[-1].strip | a.split('x')[-1] | a.split('x') \
                 | a.split | -1 | 1",
            ),
            (
                "{% for m in ms if m.r != 'x' %}{{ a if b else c }}",
                "m.r != 'x' | m.r | a if b else c",
            ),
            (
                "{% set a = b | default(true) | tojson(indent=4) %}",
                "b | default(true) | tojson(indent=4) | b | default(true) | 4",
            ),
            (
                "{% if a is not defined and b is sameas c or d not in e %}",
                "a is not defined and b is sameas c or d not in e | a is not defined and b is sameas c \
                 | a is not defined | b is sameas c | d not in e",
            ),
            (
                "{{ [a, {'b': c}] ~ (d, e)[1:] }}",
                "[a, {'b': c}] ~ (d, e)[1:] | [a, {'b': c}] | {'b': c} | (d, e)[1:] | (d, e) | 1",
            ),
        ] {
            assert_eq!(parts(jinja), expected, "{jinja}");
        }
    }

    #[test]
    fn what_is_no_expression_is_left_out() {
        let deep = format!("{{{{ {}a{} }}}}", "(".repeat(500), ")".repeat(500));
        for jinja in ["{{ a b }}", "{{ }}", "{% if %}", "{{ (a }}", deep.as_str()] {
            let statements = statements(jinja).unwrap();
            assert!(statements.iter().all(|s| s.expression.is_none()), "{jinja}");
        }
    }
}
