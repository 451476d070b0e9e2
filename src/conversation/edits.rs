//! Changes to a template's text, and tags that leave the white space around them as it is.

use std::ops::Range;

/// Changes to be made to a text, all at once.
#[derive(Debug, Default)]
pub(super) struct Edits {
    edits: Vec<(Range<usize>, String)>,
}

impl Edits {
    /// Puts something at a place; after what was put there before.
    pub(super) fn insert(&mut self, at: usize, text: String) {
        self.edits.push((at..at, text));
    }

    /// Puts something in the place of something else.
    pub(super) fn replace(&mut self, range: Range<usize>, text: String) {
        self.edits.push((range, text));
    }

    /// The changed text.
    pub(super) fn apply(mut self, text: &str) -> String {
        // What is put before something stands before what takes its place.
        self.edits
            .sort_by_key(|(range, _)| (range.start, !range.is_empty()));
        let mut changed = String::with_capacity(text.len());
        let mut copied = 0;
        for (range, edit) in self.edits {
            changed.push_str(text.get(copied..range.start).unwrap_or_default());
            changed.push_str(&edit);
            copied = range.end.max(copied);
        }
        changed.push_str(text.get(copied..).unwrap_or_default());
        changed
    }
}

/// How the white space on both sides of a tag is treated, as the signs within its delimiters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Controls {
    pub(super) left: &'static str,
    pub(super) right: &'static str,
}

impl Controls {
    /// Those of a tag in front of another one, which treats the white space before it as that one did.
    pub(super) fn before_tag(jinja: &str, at: usize) -> Controls {
        let rest = &jinja[at..];
        let left = match rest.as_bytes().get(2) {
            Some(b'-') => "-",
            Some(b'+') => "+",
            // White space before what is printed stays.
            _ if rest.starts_with("{{") || rest.is_empty() => keep_before(jinja, at),
            _ => "",
        };
        Controls { left, right: "" }
    }

    /// Those of a tag right behind another one, which treats the white space behind it as that one did.
    pub(super) fn after_tag(jinja: &str, at: usize) -> Controls {
        let before = &jinja[..at];
        let sign = at
            .checked_sub(3)
            .and_then(|sign| jinja.as_bytes().get(sign));
        let right = match sign {
            Some(b'-') => "-",
            Some(b'+') if !before.ends_with("}}") => "+",
            _ if before.ends_with("%}") || before.ends_with("#}") => "",
            _ => keep_after(jinja, at),
        };
        Controls { left: "", right }
    }

    /// Those of a tag amid text.
    pub(super) fn in_text(jinja: &str, at: usize) -> Controls {
        Controls {
            left: keep_before(jinja, at),
            right: keep_after(jinja, at),
        }
    }

    /// A tag with these.
    pub(super) fn tag(self, what: &str) -> String {
        format!("{{%{} {what} {}%}}", self.left, self.right)
    }

    /// Something between two tags that write nothing.
    pub(super) fn around(self, what: &str) -> String {
        let open = Controls { right: "", ..self };
        let close = Controls { left: "", ..self };
        format!("{}{what}{}", open.tag("if true"), close.tag("endif"))
    }
}

/// Without this, spaces at the beginning of a line would go.
fn keep_before(jinja: &str, at: usize) -> &'static str {
    match jinja[..at].ends_with([' ', '\t']) {
        true => "+",
        false => "",
    }
}

/// Without this, the end of a line would go.
fn keep_after(jinja: &str, at: usize) -> &'static str {
    match jinja[at..].starts_with(['\n', '\r']) {
        true => "+",
        false => "",
    }
}

/// A text as a string of Jinja.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("'");
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\'' => out.push_str("\\'"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}
