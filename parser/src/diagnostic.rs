//! What is wrong with a document, and where.

use std::fmt;

use crate::json::Places;
use crate::position::Position;
use crate::value::{Value, object};

/// Something that is wrong with a document, or likely to hurt.
///
/// ```
/// use unjinja::{Diagnostic, Position};
///
/// let mut diagnostic = Diagnostic::new("unknown key `clsoe`")
///     .at("/fields/x/clsoe")
///     .with_remedy("did you mean `close`?");
/// assert_eq!(
///     diagnostic.to_string(),
///     "/fields/x/clsoe: unknown key `clsoe`: did you mean `close`?",
/// );
/// diagnostic.position = Some(Position { offset: 55, line: 1, column: 56 });
/// assert_eq!(
///     diagnostic.in_file("template.json").to_string(),
///     "template.json:1:56: /fields/x/clsoe: unknown key `clsoe`: did you mean `close`?",
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// JSON pointer to the value or the key it is about; empty if it is about the whole, or the
    /// position says it all.
    pub pointer: String,
    /// Its place in the document, if that is known.
    pub position: Option<Position>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

impl Diagnostic {
    /// A diagnostic that has no place yet.
    pub fn new(message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            pointer: String::new(),
            position: None,
            message: message.into(),
            remedy: None,
        }
    }

    /// The diagnostic, about what this JSON pointer names.
    pub fn at(mut self, pointer: impl Into<String>) -> Diagnostic {
        self.pointer = pointer.into();
        self
    }

    /// The diagnostic, about this place.
    pub fn at_position(mut self, position: impl Into<Option<Position>>) -> Diagnostic {
        self.position = position.into();
        self
    }

    /// The diagnostic, with what to do about it.
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Diagnostic {
        self.remedy = Some(remedy.into());
        self
    }

    /// The diagnostic as it is printed with the name of its file.
    pub fn in_file<F: fmt::Display>(&self, file: F) -> DiagnosticInFile<'_, F> {
        DiagnosticInFile {
            diagnostic: self,
            file,
        }
    }

    /// For programs: an object of `pointer`, `line`, `column`, `message` and `remedy`, with `null`
    /// for what is not known.
    ///
    /// ```
    /// use unjinja::Diagnostic;
    ///
    /// let diagnostic = Diagnostic::new("unknown key `clsoe`").at("/fields/x/clsoe");
    /// assert_eq!(
    ///     diagnostic.to_value().to_string(),
    ///     r#"{"pointer":"/fields/x/clsoe","line":null,"column":null,"message":"unknown key `clsoe`","remedy":null}"#,
    /// );
    /// ```
    pub fn to_value(&self) -> Value {
        let (line, column) = self.position.map(Position::line_column).unzip();
        object! {
            "pointer": &self.pointer,
            "line": line,
            "column": column,
            "message": &self.message,
            "remedy": self.remedy.as_deref(),
        }
        .into()
    }

    /// Writes what is wrong and the remedy, without any place.
    #[doc(hidden)]
    pub fn write_text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.remedy {
            Some(remedy) => write!(f, ": {remedy}"),
            None => Ok(()),
        }
    }

    /// Writes line and column, if they are known.
    #[doc(hidden)]
    pub fn write_position(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some(position) => write!(f, "{}:{}: ", position.line, position.column),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_position(f)?;
        if !self.pointer.is_empty() {
            write!(f, "{}: ", self.pointer)?;
        }
        self.write_text(f)
    }
}

impl std::error::Error for Diagnostic {}

/// A diagnostic that prints with the name of its file: see [`Diagnostic::in_file`].
#[derive(Debug, Clone)]
pub struct DiagnosticInFile<'d, F> {
    diagnostic: &'d Diagnostic,
    file: F,
}

impl<F: fmt::Display> fmt::Display for DiagnosticInFile<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = match self.diagnostic.position {
            Some(_) => ":",
            None => ": ",
        };
        write!(f, "{}{separator}{}", self.file, self.diagnostic)
    }
}

/// Writes diagnostics line by line, each with the name of the file if there is one.
#[doc(hidden)]
pub fn write_lines(
    f: &mut fmt::Formatter<'_>,
    diagnostics: &[Diagnostic],
    file: Option<&dyn fmt::Display>,
) -> fmt::Result {
    for (index, diagnostic) in diagnostics.iter().enumerate() {
        let line_break = if index > 0 { "\n" } else { "" };
        f.write_str(line_break)?;
        match file {
            Some(file) => write!(f, "{}", diagnostic.in_file(file))?,
            None => write!(f, "{diagnostic}")?,
        }
    }
    Ok(())
}

/// Collects what is wrong with a document, up to a limit: nobody reads a thousand of them.
#[derive(Debug)]
#[doc(hidden)]
pub struct Diagnostics {
    limit: usize,
    /// Each with what its pointer means.
    found: Vec<(Diagnostic, MemberPart)>,
    /// Whether there were more than the limit.
    has_more: bool,
}

/// What of an object's member a diagnostic is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum MemberPart {
    Key,
    Value,
}

impl Diagnostics {
    #[doc(hidden)]
    pub fn up_to(limit: usize) -> Diagnostics {
        Diagnostics {
            limit,
            found: Vec::new(),
            has_more: false,
        }
    }

    /// Adds one, unless the limit is reached.
    #[doc(hidden)]
    pub fn add(&mut self, diagnostic: Diagnostic, part: MemberPart) {
        match self.is_full() {
            true => self.has_more = true,
            false => self.found.push((diagnostic, part)),
        }
    }

    /// Whether what is added now is only counted as more.
    #[doc(hidden)]
    pub fn is_full(&self) -> bool {
        self.found.len() >= self.limit
    }

    /// Whether there are more than are kept.
    #[doc(hidden)]
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    #[doc(hidden)]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.found.len()
    }

    /// Whether any is about a part of what a pointer names.
    pub(crate) fn any_inside(&self, pointer: &str) -> bool {
        self.found.iter().any(|(diagnostic, _)| {
            let below = diagnostic.pointer.strip_prefix(pointer);
            below.is_some_and(|below| below.starts_with('/'))
        })
    }

    /// All of them in the order in which they stand in the document. Those without a position get
    /// the one that their pointer has in the JSON document, which is read once for all.
    #[doc(hidden)]
    pub fn placed_in(mut self, document: Option<&str>) -> Vec<Diagnostic> {
        if let Some(document) = document {
            place_in(
                document,
                self.found.iter_mut().map(|(found, part)| (found, *part)),
            );
        }
        let mut all: Vec<Diagnostic> = self.found.into_iter().map(|(found, _)| found).collect();
        all.sort_by_key(|diagnostic| diagnostic.position);
        if self.has_more {
            all.push(Diagnostic::new("there are more faults").with_remedy("mend these first"));
        }
        all
    }
}

/// Gives diagnostics without a position the one that their pointer has in a JSON document, which is
/// read once for all.
#[doc(hidden)]
pub fn place_in<'d>(
    document: &str,
    diagnostics: impl Iterator<Item = (&'d mut Diagnostic, MemberPart)>,
) {
    let unplaced: Vec<(&mut Diagnostic, MemberPart)> = diagnostics
        .filter(|(diagnostic, _)| diagnostic.position.is_none())
        .collect();
    if unplaced.is_empty() {
        return;
    }
    let pointers = unplaced
        .iter()
        .map(|(diagnostic, _)| diagnostic.pointer.as_str());
    let Some(places) = Places::of(document, pointers) else {
        return;
    };
    for (diagnostic, part) in unplaced {
        diagnostic.position = match part {
            MemberPart::Key => places.key(&diagnostic.pointer),
            MemberPart::Value => Some(places.nearest_value(&diagnostic.pointer)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diagnostics_are_placed_sorted_and_limited() {
        let text = "{\"a\": [1,\n  2], \"b\": {}}";
        let mut found = Diagnostics::up_to(4);
        for (pointer, part) in [
            ("/b", MemberPart::Key),
            ("/b/c", MemberPart::Value),
            ("/a/1", MemberPart::Value),
            ("/b/c", MemberPart::Key),
            ("/a", MemberPart::Value),
        ] {
            found.add(Diagnostic::new("wrong").at(pointer), part);
        }
        assert!(found.is_full() && found.any_inside("/a") && !found.any_inside("/a/1"));
        let placed = found.placed_in(Some(text));
        let printed: Vec<String> = placed.iter().map(Diagnostic::to_string).collect();
        assert_eq!(
            printed,
            [
                "/b/c: wrong",
                "2:3: /a/1: wrong",
                "2:7: /b: wrong",
                "2:12: /b/c: wrong",
                "there are more faults: mend these first",
            ]
        );
    }
}
