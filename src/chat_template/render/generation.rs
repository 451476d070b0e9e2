//! The tag `{% generation %}`, which encloses what the model would write.
//!
//! minijinja has no tags of others. The tag is found among the tokens of the template and
//! rewritten as a `{% call %}` of a function, which puts marks around the enclosed text; they are
//! taken out again when all is rendered, since only then it is known where the text stands.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, State, Value};

/// The function that the tag becomes.
const FUNCTION: &str = "__generation";

/// Characters that Unicode keeps free for a program's own use, and that no text holds.
const MARKS: [char; 2] = ['\u{fdd0}', '\u{fdd1}'];

/// A template with its tags rewritten.
pub(super) struct Rewritten {
    pub(super) text: String,
    /// Where in the text, and where in the original, each of its pieces begins that is as it was.
    pub(super) seams: Vec<(usize, usize)>,
}

/// The template with its tags rewritten, if it has any.
pub(super) fn rewrite(jinja: &str, syntax: &SyntaxConfig) -> Option<Rewritten> {
    let mut rewritten = String::new();
    let mut seams = Vec::new();
    let mut copied = 0;
    let mut after_block_start = false;
    for token in tokenize(jinja, false, syntax.clone()) {
        // What can't be tokenized is an error when the template is compiled.
        let (token, span) = token.ok()?;
        let replacement = match token {
            Token::Ident("generation") if after_block_start => Some(format!("call {FUNCTION}()")),
            Token::Ident("endgeneration") if after_block_start => Some("endcall".to_owned()),
            _ => None,
        };
        if let Some(replacement) = replacement {
            rewritten.push_str(&jinja[copied..span.start_offset as usize]);
            rewritten.push_str(&replacement);
            copied = span.end_offset as usize;
            seams.push((rewritten.len(), copied));
        }
        after_block_start = matches!(token, Token::BlockStart);
    }
    (copied > 0).then(|| Rewritten {
        text: rewritten + &jinja[copied..],
        seams,
    })
}

/// A text without marks.
pub(super) fn unmarked(text: String) -> String {
    match text.contains(MARKS) {
        true => text.replace(MARKS, ""),
        false => text,
    }
}

/// The marks of one rendering.
pub(super) struct Marks {
    used: Arc<AtomicUsize>,
}

impl Marks {
    pub(super) fn add_to(environment: &mut Environment<'_>) -> Marks {
        let used = Arc::new(AtomicUsize::new(0));
        let counter = used.clone();
        let mark = move |state: &mut State<'_, '_>, kwargs: minijinja::value::Kwargs| {
            let caller: Value = kwargs.get("caller")?;
            let text = caller.call(state, &[])?;
            counter.fetch_add(1, Ordering::Relaxed);
            let [open, close] = MARKS;
            Ok::<String, Error>(format!("{open}{text}{close}"))
        };
        environment.add_function(FUNCTION, mark);
        Marks { used }
    }

    /// The text without marks, and where they stood, in characters.
    pub(super) fn take_out(self, marked: String) -> (String, Vec<Range<usize>>) {
        if self.used.load(Ordering::Relaxed) == 0 {
            return (marked, Vec::new());
        }
        let mut text = String::with_capacity(marked.len());
        let mut generated = Vec::new();
        let mut open = Vec::new();
        let mut position = 0;
        for c in marked.chars() {
            if c == MARKS[0] {
                open.push(position);
            } else if c == MARKS[1] {
                generated.extend(open.pop().map(|start| start..position));
            } else {
                text.push(c);
                position += 1;
            }
        }
        (text, generated)
    }
}
