//! The entries of an object one by one, while its text is growing.

use std::ops::ControlFlow;

use crate::response::pattern::{Matches, Meter, TooCostly};
use crate::value::Value;

use super::xml_inline::too_costly;
use super::{Allowance, Content, ContentError, KvLinesArgs, Parser, XmlInlineArgs};

/// Reads the text of a region entry by entry: each as soon as no further text can change it.
///
/// Put into an object in their order, where of equal keys the last one wins, they are what
/// [`Content::parse`] makes of the whole text.
#[derive(Debug, Clone)]
pub struct Entries {
    text: String,
    walk: Walk,
    allowance: Allowance,
}

#[derive(Debug, Clone)]
enum Walk {
    Tags(Matches, Meter),
    /// The next line begins here, and no separator begins before the other place.
    Lines(usize, usize),
}

impl Entries {
    /// Nothing, if only the whole text says what its entries are.
    pub fn new(content: &Content) -> Option<Entries> {
        let walk = match &content.parser {
            // What comes again makes another value of what came before.
            Parser::XmlInline(args) if !args.merge_duplicates => {
                Walk::Tags(Matches::new(&args.pattern), Meter::new(0))
            }
            Parser::KvLines(_) => Walk::Lines(0, 0),
            _ => return None,
        };
        Some(Entries {
            text: String::new(),
            walk,
            allowance: Allowance::new(0),
        })
    }

    /// Takes more of the text, and hands over the entries that are certain now; in the end, the rest.
    pub fn read(
        &mut self,
        content: &Content,
        more: &str,
        is_last: bool,
        mut visit: impl FnMut(&str, Value),
    ) -> Result<(), ContentError> {
        self.text.push_str(more);
        self.allowance.allow(more.len());
        match (&content.parser, &mut self.walk) {
            (Parser::XmlInline(args), Walk::Tags(matches, meter)) => {
                meter.grow(more.len());
                let (text, allowance) = (&self.text, &mut self.allowance);
                read_tags(args, text, is_last, (matches, meter), allowance, visit)
            }
            (Parser::KvLines(args), Walk::Lines(from, searched)) => {
                while let Some(end) = line_end(args, &self.text, *from, searched, is_last) {
                    let line = &self.text[*from..end];
                    if let Some((key, value)) = args.entry(line, content, &mut self.allowance)? {
                        visit(key, value);
                    }
                    *from = end + args.line_sep.len();
                    *searched = *from;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn read_tags(
    args: &XmlInlineArgs,
    text: &str,
    is_last: bool,
    (matches, meter): (&mut Matches, &mut Meter),
    allowance: &mut Allowance,
    mut visit: impl FnMut(&str, Value),
) -> Result<(), ContentError> {
    let mut result = Ok(());
    let walked = matches.walk(&args.pattern, text, is_last, meter, |found| {
        match args.entry(text, found, allowance) {
            Ok((key, value)) => {
                visit(key, value);
                ControlFlow::Continue(())
            }
            Err(error) => {
                result = Err(error);
                ControlFlow::Break(())
            }
        }
    });
    walked.map_err(|TooCostly| too_costly())?;
    result
}

/// Where the next line ends, if that is known; the last line ends with the text.
fn line_end(
    args: &KvLinesArgs,
    text: &str,
    from: usize,
    searched: &mut usize,
    is_last: bool,
) -> Option<usize> {
    if from > text.len() {
        return None;
    }
    if let Some(at) = text[*searched..].find(args.line_sep.as_str()) {
        return Some(*searched + at);
    }
    let unfinished = text.len().saturating_sub(args.line_sep.len() - 1);
    *searched = text.floor_char_boundary(unfinished.max(from));
    is_last.then_some(text.len())
}
