//! Texts that Jinja reads and minijinja does not, written as minijinja reads them.
//!
//! minijinja's parser takes a text, and no tokens. So the template is gone through token by token, and what would be refused
//! or mean something else there is spelled otherwise: the tag `{% generation %}`, strings with escapes of Python,
//! unary `+`, tuples without parentheses, and a variable named `in`. No line changes its number.

use std::ops::Range;

use minijinja::machinery::Token;

use super::tokens::{TokenError, tokens};
use super::{generation, literals};

/// The name of a variable that is called `in` where it is set. When the template has been compiled, it gets its own back.
pub(super) const IN: &str = "__in";

/// A name as it stands in the template.
pub(super) fn original_name(name: &str) -> &str {
    match name {
        IN => "in",
        name => name,
    }
}

/// A template with some of it spelled otherwise.
#[derive(Debug, Clone)]
pub(super) struct Respelled {
    pub(super) text: String,
    /// The places in the text and in the original at which each piece begins that is as it was.
    pub(super) seams: Vec<(usize, usize)>,
    /// Set if there was a tag `{% generation %}`.
    pub(super) marks_generation: bool,
}

/// The template as minijinja reads it, if that is another text.
///
/// # Errors
///
/// If a string can't be read. What else is wrong is found when the template is compiled.
pub(super) fn respelled(jinja: &str) -> Result<Option<Respelled>, TokenError> {
    let mut speller = Speller {
        jinja,
        edits: Vec::new(),
        marks_generation: false,
        before: Before::default(),
        tuple: None,
        depth: 0,
    };
    for token in tokens(jinja) {
        match token {
            Ok((token, place)) => speller.read(&token, place),
            Err(error) if error.place.is_some() => return Err(error),
            Err(_) => break,
        }
    }
    Ok(speller.finish())
}

struct Speller<'t> {
    jinja: &'t str,
    /// The places that are spelled otherwise, with their new spelling.
    edits: Vec<(Range<usize>, String)>,
    marks_generation: bool,
    before: Before<'t>,
    /// A list of expressions that may turn out to be a tuple.
    tuple: Option<Tuple>,
    /// The number of open brackets.
    depth: usize,
}

/// The part of a tag that has been read.
#[derive(Clone, Copy, Default)]
struct Before<'t> {
    /// The keyword of the tag; empty where something is printed, or before it has been read.
    keyword: &'t str,
    /// Set if the next token is the first one of a tag.
    is_tag_start: bool,
    /// Set if an operand has ended, so that an operator or the end may follow.
    is_operand: bool,
    /// Set if a name follows that is no variable: behind a dot, a bar, or `is`.
    is_name: bool,
    /// Set if that name is one of a test.
    is_test_next: bool,
    /// Set if the last token is the name of a test.
    is_test: bool,
    /// Set while names are being set: before `=`, or before the `in` of a loop.
    is_target: bool,
}

/// Expressions that may stand without parentheses around them.
struct Tuple {
    start: usize,
    /// Set if there has been a comma.
    is_tuple: bool,
}

impl<'t> Speller<'t> {
    fn read(&mut self, token: &Token<'t>, place: Range<usize>) {
        let before = self.before;
        self.before.is_tag_start = false;
        self.before.is_name = false;
        self.before.is_test = false;
        match token {
            Token::TemplateData(_) => {}
            Token::VariableStart | Token::BlockStart => {
                self.before = Before {
                    is_tag_start: matches!(token, Token::BlockStart),
                    ..Before::default()
                };
                self.depth = 0;
                self.tuple = matches!(token, Token::VariableStart).then(|| Tuple::at(place.end));
            }
            Token::VariableEnd | Token::BlockEnd => self.end_tuple(place.start),
            Token::Ident(name) => self.name(name, place, before),
            Token::Str(_) => self.before.is_operand = true,
            Token::String(text) => {
                self.string(text, place);
                self.before.is_operand = true;
            }
            Token::Int(_) | Token::Int128(_) | Token::Float(_) => self.before.is_operand = true,
            Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => {
                self.depth += 1;
                self.before.is_operand = false;
            }
            Token::ParenClose | Token::BracketClose | Token::BraceClose => {
                self.depth = self.depth.saturating_sub(1);
                self.before.is_operand = true;
            }
            Token::Dot | Token::Pipe => {
                self.before.is_operand = false;
                self.before.is_name = true;
                self.before.is_test_next = false;
            }
            // The name of a test is not followed by its argument then.
            Token::Plus | Token::Minus if before.is_test => {
                self.edits
                    .push((place.start..place.start, "() ".to_owned()));
                self.before.is_operand = false;
            }
            Token::Plus if !before.is_operand => self.edits.push((place, "--".to_owned())),
            Token::Comma => {
                if let (0, Some(tuple)) = (self.depth, &mut self.tuple) {
                    tuple.is_tuple = true;
                }
                self.before.is_operand = false;
            }
            Token::Assign => {
                self.before.is_target = false;
                self.before.is_operand = false;
            }
            _ => self.before.is_operand = false,
        }
    }

    fn name(&mut self, name: &'t str, place: Range<usize>, before: Before<'t>) {
        if before.is_tag_start {
            self.before.keyword = name;
            self.before.is_operand = false;
            self.before.is_target = matches!(name, "set" | "for");
            self.tuple = matches!(name, "if" | "elif").then(|| Tuple::at(place.end));
            if let Some(spelled) = generation::spelled(name) {
                self.marks_generation = true;
                self.edits.push((place, spelled));
            }
            return;
        }
        if before.is_name {
            // `is not` has its name still to come.
            self.before.is_name = name == "not";
            self.before.is_test = before.is_test_next && name != "not";
            self.before.is_test_next = before.is_test_next && name == "not";
            self.before.is_operand = true;
            return;
        }
        if before.is_target && !before.is_operand {
            if name == "in" {
                self.edits.push((place, IN.to_owned()));
            }
            self.before.is_operand = true;
            return;
        }
        match (name, before.is_operand) {
            ("if" | "recursive", true) if before.keyword == "for" && self.depth == 0 => {
                self.end_tuple(place.start);
                self.before.is_operand = false;
            }
            ("in", true) if before.keyword == "for" && self.depth == 0 && self.tuple.is_none() => {
                self.tuple = Some(Tuple::at(place.end));
                self.before.is_target = false;
                self.before.is_operand = false;
            }
            ("is", true) => {
                self.before.is_name = true;
                self.before.is_test_next = true;
            }
            ("and" | "or" | "in" | "if" | "else", true) | ("not", _) => {
                self.before.is_operand = false;
            }
            _ => self.before.is_operand = true,
        }
    }

    fn string(&mut self, text: &str, place: Range<usize>) {
        let written = &self.jinja[place.clone()];
        if literals::is_read_alike(&written[1..written.len() - 1]) {
            return;
        }
        // Lines go on to be counted as they are.
        let lines = written.matches('\n').count();
        let spelled = literals::spelled(text) + &"\n".repeat(lines);
        self.edits.push((place, spelled));
    }

    /// Puts parentheses around what turned out to be a tuple.
    fn end_tuple(&mut self, end: usize) {
        if let Some(Tuple {
            start,
            is_tuple: true,
        }) = self.tuple.take()
        {
            self.edits.push((start..start, "(".to_owned()));
            self.edits.push((end..end, ")".to_owned()));
        }
    }

    fn finish(mut self) -> Option<Respelled> {
        if self.edits.is_empty() {
            return None;
        }
        self.edits
            .sort_by_key(|(place, _)| (place.start, place.end));
        let mut text = String::with_capacity(self.jinja.len() + 8 * self.edits.len());
        let mut seams = Vec::with_capacity(self.edits.len());
        let mut copied = 0;
        for (place, spelled) in self.edits {
            text.push_str(&self.jinja[copied..place.start]);
            text.push_str(&spelled);
            copied = place.end;
            seams.push((text.len(), copied));
        }
        text.push_str(&self.jinja[copied..]);
        Some(Respelled {
            text,
            seams,
            marks_generation: self.marks_generation,
        })
    }
}

impl Tuple {
    fn at(start: usize) -> Tuple {
        Tuple {
            start,
            is_tuple: false,
        }
    }
}
