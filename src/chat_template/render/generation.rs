//! The tag `{% generation %}`, which encloses what the model would write.
//!
//! minijinja has no tags of others. The tag is [spelled](super::spelling) as
//! a `{% call %}` of a function, which puts marks around the enclosed text; they are
//! taken out again when all is rendered, since only then it is known where the text stands.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::{Environment, Error, State, Value};

/// The function that the tag becomes.
const FUNCTION: &str = "__generation";

/// Characters that Unicode keeps free for a program's own use, and that no text holds.
const MARKS: [char; 2] = ['\u{fdd0}', '\u{fdd1}'];

/// The text that a tag becomes, given its keyword, if it is one of these.
pub(super) fn spelled(keyword: &str) -> Option<String> {
    match keyword {
        "generation" => Some(format!("call {FUNCTION}()")),
        "endgeneration" => Some("endcall".to_owned()),
        _ => None,
    }
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
