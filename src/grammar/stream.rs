//! What a turn has more than before, while its text comes in.

use super::expr::Tag;
use super::machine::{Machine, Mark, State};
use super::notation::{LineBreaks, Notation};
use super::parse::{Fault, FaultKind, Tree};
use super::{Grammar, value};
use crate::json;
use crate::value::{Object, Value};

/// What a turn has more than before. All differences put together are the message of the whole text, whose
/// arguments are handed out as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta {
    /// The model has thought this.
    Reasoning(String),
    /// The model has said this.
    Content(String),
    /// A call has begun.
    Call {
        /// Which of the turn's calls it is, from 0.
        index: usize,
        /// The name of the tool.
        name: String,
    },
    /// A call has an id.
    CallId {
        /// Which of the turn's calls it is, from 0.
        index: usize,
        /// The id.
        id: String,
    },
    /// The arguments of a call have come so much further.
    Arguments {
        /// Which of the turn's calls it is, from 0.
        index: usize,
        /// The next piece of the JSON that they are.
        json: String,
    },
}

impl Delta {
    /// For programs: an object of `type`, and of what is new.
    ///
    /// ```
    /// use unjinja::grammar::Delta;
    /// use unjinja::json;
    ///
    /// let delta = Delta::Call { index: 0, name: "wait".into() };
    /// assert_eq!(json::write(&delta.to_value()), r#"{"type":"call","index":0,"name":"wait"}"#);
    /// ```
    pub fn to_value(&self) -> Value {
        let (kind, index, key, text) = match self {
            Delta::Reasoning(text) => ("reasoning", None, "text", text),
            Delta::Content(text) => ("content", None, "text", text),
            Delta::Call { index, name } => ("call", Some(*index), "name", name),
            Delta::CallId { index, id } => ("call_id", Some(*index), "id", id),
            Delta::Arguments { index, json } => ("arguments", Some(*index), "json", json),
        };
        let mut value = Object::from_iter([("type", Value::from(kind))]);
        if let Some(index) = index {
            value.insert("index", index);
        }
        value.insert(key, text.as_str());
        value.into()
    }
}

/// Reads a text by a grammar while it comes in, and tells what is new in the message.
///
/// Nothing is read twice: the time for all pieces of a text is that for the text.
///
/// ```
/// use unjinja::grammar::{Delta, Grammar};
///
/// let grammar = Grammar::build(|p| {
///     let name = p.json_member("name", "\"" + p.tool_name("wait") + "\"");
///     let arguments = p.json_member("arguments", p.tool_args(p.json()));
///     let call = p.tool("{" << name << "," << arguments << "}");
///     p.content(p.until("<call>")) + "<call>" + call + "</call>"
/// });
/// let mut stream = grammar.stream();
/// assert_eq!(stream.feed("Wait.<ca")?, [Delta::Content("Wait.".into())]);
/// assert_eq!(
///     stream.feed(r#"ll>{"name": "wait", "arguments": {"s""#)?,
///     [
///         Delta::Call { index: 0, name: "wait".into() },
///         Delta::Arguments { index: 0, json: r#"{"s""#.into() },
///     ]
/// );
/// stream.feed(": 3}}</call>")?;
/// let (_, message) = stream.finish()?;
/// assert!(message.contains_key("tool_calls"));
/// # Ok::<(), unjinja::grammar::Fault>(())
/// ```
#[derive(Debug)]
pub struct Stream<'g> {
    machine: Machine<'g>,
    text: String,
    reader: MarkReader<'g>,
    fault: Option<Fault>,
}

impl Grammar {
    /// Reads a text while it comes in.
    pub fn stream(&self) -> Stream<'_> {
        Stream {
            machine: Machine::new(self),
            text: String::new(),
            reader: MarkReader::default(),
            fault: None,
        }
    }
}

impl Stream<'_> {
    /// Reads the next piece of the text.
    ///
    /// # Errors
    ///
    /// If no text that begins so is what the grammar says. What is fed after that is not read.
    pub fn feed(&mut self, piece: &str) -> Result<Vec<Delta>, Fault> {
        self.text.push_str(piece);
        self.read(false).map(|(_, deltas)| deltas)
    }

    /// Reads the end of the text: the last differences, and the whole message.
    ///
    /// # Errors
    ///
    /// If the text is not what the grammar says.
    pub fn finish(mut self) -> Result<(Vec<Delta>, Object), Fault> {
        let (state, deltas) = self.read(true)?;
        let message = Tree::of(&self.machine, &self.text, state).message();
        Ok((deltas, message))
    }

    /// All of the text that has come.
    pub fn text(&self) -> &str {
        &self.text
    }

    fn read(&mut self, is_ended: bool) -> Result<(State, Vec<Delta>), Fault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let read = self.machine.run(&self.text, is_ended).and_then(|state| {
            let unchanged = self.machine.unchanged_marks();
            let marks = &self.machine.marks()[..self.machine.sure_marks()];
            let end = match state {
                State::More(end) => end,
                State::Whole => self.text.len(),
            };
            let settled = match is_ended {
                true => marks.len(),
                false => settled(&self.machine, marks, self.reader.read, end),
            };
            let deltas = (self.reader).read(&marks[..settled], unchanged, &self.text, end);
            deltas.map(|deltas| (state, deltas)).ok_or(Fault {
                at: end,
                kind: FaultKind::TakenBack,
                expected: Vec::new(),
            })
        });
        self.fault = read.as_ref().err().cloned();
        read
    }
}

/// How many marks are settled, when the text is read up to a place: what opens may do so in vain until
/// something of it is handed out; and where a tag closes, another one may be longer, until something follows.
fn settled(machine: &Machine<'_>, marks: &[Mark<'_>], known: usize, end: usize) -> usize {
    let is_settled = |index: usize| match marks[index] {
        Mark::Open { tag, at, .. } => {
            // `Noon` may be a thought that `!` ends, or an answer without one: nothing of it is handed out before
            // that is told.
            at < end && is_handed_out_in_part(tag) && !machine.may_be_other_text(index)
        }
        Mark::Close { tag, at } => at < end && (is_handed_out_in_part(tag) || is_handed_out(tag)),
    };
    let last = (known..marks.len()).rfind(|index| is_settled(*index));
    last.map_or(known.min(marks.len()), |last| last + 1)
}

fn is_handed_out_in_part(tag: &Tag) -> bool {
    matches!(
        tag,
        Tag::Reasoning | Tag::Content | Tag::ToolArgs | Tag::ToolArgString
    )
}

fn is_handed_out(tag: &Tag) -> bool {
    matches!(tag, Tag::Tool | Tag::ToolName | Tag::ToolArgJson)
}

/// Makes differences of the marks that a machine sets.
#[derive(Debug, Default)]
struct MarkReader<'g> {
    /// So many marks are read.
    read: usize,
    /// The tags that are open, and where they began.
    open: Vec<Open<'g>>,
    /// Up to where the text of the innermost one is handed out.
    at: usize,
    reasoning: Trimmed,
    content: Trimmed,
    calls: usize,
    call: Call,
}

#[derive(Debug, Clone, Copy)]
struct Open<'g> {
    tag: &'g Tag,
    start: usize,
    notation: Option<&'g Notation>,
    /// What comes of its text.
    role: Role,
}

/// What comes of the text of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Reasoning,
    Content,
    Call,
    Id,
    Name,
    /// All arguments, as JSON.
    Json,
    /// All arguments in another notation, or the value of one.
    Value,
    Argument,
    Key,
    /// The value of an argument that is a text.
    Text,
    /// A part of something whose text is handed out.
    Part,
    Nothing,
}

/// The call that is being read.
#[derive(Debug, Default)]
struct Call {
    is_named: bool,
    /// An id that came before the name.
    id: Option<String>,
    has_id: bool,
    /// Whether its arguments stand as one piece.
    has_whole: bool,
    arguments: usize,
    /// The key of the argument that is being read, as JSON.
    key: Option<String>,
    has_value: bool,
    /// A value that came before its key, as JSON.
    value: Option<String>,
    text: Lines,
}

/// A text without the white space at its start and its end.
#[derive(Debug, Default)]
struct Trimmed {
    has_begun: bool,
    /// White space that belongs to it if more follows.
    held: String,
}

impl Trimmed {
    fn add(&mut self, piece: &str) -> String {
        let kept = piece.trim_end();
        let white = &piece[kept.len()..];
        if kept.is_empty() {
            if self.has_begun {
                self.held.push_str(white);
            }
            return String::new();
        }
        let kept = match self.has_begun {
            true => kept,
            false => kept.trim_start(),
        };
        self.has_begun = true;
        let mut text = std::mem::take(&mut self.held);
        text.push_str(kept);
        self.held.push_str(white);
        text
    }
}

/// A text without the line breaks that belong to its markers.
#[derive(Debug, Default)]
struct Lines {
    has_begun: bool,
    holds_break: bool,
}

impl Lines {
    fn add(&mut self, piece: &str, breaks: LineBreaks) -> String {
        if piece.is_empty() {
            return String::new();
        }
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let piece = match is_first && breaks.first {
            true => piece.strip_prefix('\n').unwrap_or(piece),
            false => piece,
        };
        if piece.is_empty() {
            return String::new();
        }
        let mut text = String::new();
        if std::mem::take(&mut self.holds_break) {
            text.push('\n');
        }
        let kept = piece.strip_suffix('\n').filter(|_| breaks.last);
        self.holds_break = kept.is_some();
        text + kept.unwrap_or(piece)
    }
}

impl<'g> MarkReader<'g> {
    /// What is new; `None` if something that was handed out is otherwise now.
    fn read(
        &mut self,
        marks: &[Mark<'g>],
        unchanged: usize,
        text: &str,
        end: usize,
    ) -> Option<Vec<Delta>> {
        let mut deltas = Vec::new();
        // What the marks before have told is with the caller already.
        if unchanged.min(marks.len()) < self.read {
            return None;
        }
        for mark in &marks[self.read..] {
            match *mark {
                Mark::Open { tag, at, notation } => {
                    let role = self.role(tag, notation);
                    let start = at;
                    let open = Open {
                        tag,
                        start,
                        notation,
                        role,
                    };
                    if role != Role::Part {
                        self.begin(&open, &mut deltas);
                        self.at = at;
                    }
                    self.open.push(open);
                }
                Mark::Close { at, .. } => {
                    self.hand_out(text, at, &mut deltas)?;
                    if let Some(open) = self.open.pop() {
                        self.end(&open, &text[open.start..at], &mut deltas);
                    }
                }
            }
        }
        self.read = marks.len();
        self.hand_out(text, end, &mut deltas)?;
        deltas.retain(|delta| match delta {
            Delta::Reasoning(text) | Delta::Content(text) => !text.is_empty(),
            Delta::Arguments { json, .. } => !json.is_empty(),
            _ => true,
        });
        Some(joined(deltas))
    }

    /// What comes of the text of a tag that opens here.
    fn role(&self, tag: &Tag, notation: Option<&Notation>) -> Role {
        let Some(outermost) = self.open.first() else {
            return match tag {
                Tag::Reasoning => Role::Reasoning,
                Tag::Content => Role::Content,
                Tag::Tool => Role::Call,
                _ => Role::Nothing,
            };
        };
        let is_within = |role: Role| self.open.iter().any(|open| open.role == role);
        if !matches!(outermost.role, Role::Call | Role::Nothing)
            || [Role::Json, Role::Value, Role::Text]
                .into_iter()
                .any(is_within)
        {
            return Role::Part;
        }
        let call = &self.call;
        match tag {
            _ if outermost.role == Role::Nothing => Role::Nothing,
            // Of what comes twice, the first counts, as in the tree of the whole text: it has been handed out.
            Tag::ToolId if !call.has_id => Role::Id,
            Tag::ToolName if !call.is_named => Role::Name,
            Tag::ToolArgs if call.arguments > 0 || call.has_whole => Role::Nothing,
            Tag::ToolArgs if notation.is_none_or(Notation::is_json) => Role::Json,
            Tag::ToolArgs => Role::Value,
            Tag::ToolArg if !call.has_whole && !is_within(Role::Argument) => Role::Argument,
            Tag::ToolArgName if is_within(Role::Argument) && call.key.is_none() => Role::Key,
            Tag::ToolArgJson | Tag::ToolArgString
                if !is_within(Role::Argument) || call.has_value =>
            {
                Role::Nothing
            }
            // What looks like JSON may turn out to be a text.
            Tag::ToolArgJson => Role::Value,
            Tag::ToolArgString => Role::Text,
            _ => Role::Nothing,
        }
    }

    fn begin(&mut self, open: &Open<'g>, deltas: &mut Vec<Delta>) {
        match open.role {
            Role::Call => {
                self.calls += 1;
                self.call = Call::default();
            }
            Role::Argument => {
                self.call.key = None;
                self.call.has_value = false;
                self.call.value = None;
                self.call.text = Lines::default();
            }
            Role::Json | Role::Value if *open.tag == Tag::ToolArgs => self.call.has_whole = true,
            Role::Json | Role::Value | Role::Text => {
                self.call.has_value = true;
                // A key may stand behind its value, which waits for it then.
                if self.call.key.is_some() {
                    self.add_key(deltas);
                }
                if open.role == Role::Text {
                    self.add_value("\"", deltas);
                }
            }
            _ => {}
        }
    }

    fn add_key(&mut self, deltas: &mut Vec<Delta>) {
        let call = &mut self.call;
        let sign = match call.arguments {
            0 => '{',
            _ => ',',
        };
        call.arguments += 1;
        let key = call.key.clone().unwrap_or_default();
        self.arguments(format!("{sign}{key}:"), deltas);
    }

    /// Hands out a piece of a value, or keeps it until its key has come.
    fn add_value(&mut self, json: &str, deltas: &mut Vec<Delta>) {
        match self.call.key {
            None if !self.call.has_whole => {
                self.call.value.get_or_insert_default().push_str(json);
            }
            _ => self.arguments(json.to_owned(), deltas),
        }
    }

    fn end(&mut self, open: &Open<'g>, text: &str, deltas: &mut Vec<Delta>) {
        let index = self.calls.saturating_sub(1);
        match open.role {
            Role::Name => {
                self.call.is_named = true;
                let name = text.to_owned();
                deltas.push(Delta::Call { index, name });
                let id = self.call.id.take().into_iter();
                deltas.extend(id.map(|id| Delta::CallId { index, id }));
            }
            // For those who put differences together, a name begins a call: an id before that has to wait.
            Role::Id => {
                self.call.has_id = true;
                let id = text.to_owned();
                match self.call.is_named {
                    true => deltas.push(Delta::CallId { index, id }),
                    false => self.call.id = Some(id),
                }
            }
            Role::Key => self.call.key = Some(json::write(&text.into())),
            Role::Value => {
                let json = Notation::json();
                let value = value::read(text, open.notation.unwrap_or(&json));
                let value = value.unwrap_or_else(|| text.into());
                self.add_value(&json::write(&value), deltas);
            }
            Role::Text => self.add_value("\"", deltas),
            Role::Argument if self.call.key.is_some() => {
                if let Some(value) = self.call.value.take() {
                    self.add_key(deltas);
                    self.arguments(value, deltas);
                }
            }
            Role::Call if !self.call.has_whole => {
                let end = match self.call.arguments {
                    // Nothing came for its arguments, and readers expect JSON.
                    0 => "{}",
                    _ => "}",
                };
                self.arguments(end.to_owned(), deltas);
            }
            _ => {}
        }
    }

    /// Hands out the text of the innermost tag up to a place; `None` if more of it is handed out already.
    fn hand_out(&mut self, text: &str, end: usize, deltas: &mut Vec<Delta>) -> Option<()> {
        let mut open = self.open.iter().rev();
        let Some(open) = open.find(|open| open.role != Role::Part).copied() else {
            return Some(());
        };
        let piece = |reader: &Self| text.get(reader.at..end);
        let is_within_quotes = open
            .notation
            .is_some_and(|notation| notation.within.is_some());
        match open.role {
            Role::Reasoning | Role::Content if is_within_quotes => {
                // White space in a string was said.
                let (said, length) = value::said_by(piece(self)?);
                deltas.push(match open.role {
                    Role::Reasoning => Delta::Reasoning(said),
                    _ => Delta::Content(said),
                });
                // Half an escape says nothing, and is left for the next piece.
                self.at += length;
                return Some(());
            }
            Role::Reasoning => deltas.push(Delta::Reasoning(self.reasoning.add(piece(self)?))),
            Role::Content => deltas.push(Delta::Content(self.content.add(piece(self)?))),
            Role::Json => self.add_value(piece(self)?, deltas),
            Role::Text => {
                let breaks = open.notation.map(|notation| notation.line_breaks);
                let piece = piece(self)?;
                let piece = self.call.text.add(piece, breaks.unwrap_or_default());
                // Its quotes are added where the text begins and ends.
                let json = json::write(&piece.into());
                self.add_value(&json[1..json.len() - 1], deltas);
            }
            _ => return Some(()),
        }
        self.at = end;
        Some(())
    }

    fn arguments(&self, json: String, deltas: &mut Vec<Delta>) {
        let index = self.calls.saturating_sub(1);
        deltas.push(Delta::Arguments { index, json });
    }
}

/// The same with what is new in one part of the message as one difference.
fn joined(deltas: Vec<Delta>) -> Vec<Delta> {
    let mut all: Vec<Delta> = Vec::new();
    for delta in deltas {
        match (all.last_mut(), delta) {
            (Some(Delta::Reasoning(text)), Delta::Reasoning(more))
            | (Some(Delta::Content(text)), Delta::Content(more)) => text.push_str(&more),
            (
                Some(Delta::Arguments { index, json }),
                Delta::Arguments {
                    index: next,
                    json: more,
                },
            ) if *index == next => json.push_str(&more),
            (_, delta) => all.push(delta),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_waits_for_more_of_its_text() {
        for (pieces, expected) in [
            (vec![" a", "b ", "c ", "\n"], vec!["a", "b", " c", ""]),
            (vec![" ", "\n", "a"], vec!["", "", "a"]),
            (vec!["a\n", "\n", "b"], vec!["a", "", "\n\nb"]),
        ] {
            let mut trimmed = Trimmed::default();
            let found: Vec<String> = pieces.iter().map(|piece| trimmed.add(piece)).collect();
            assert_eq!(found, expected, "{pieces:?}");
        }
    }

    #[test]
    fn line_breaks_of_markers_are_left_out_of_pieces() {
        let (none, both) = (
            LineBreaks::default(),
            LineBreaks {
                first: true,
                last: true,
            },
        );
        for (pieces, breaks, expected) in [
            (vec!["\na\n"], none, vec!["\na\n"]),
            (vec!["\na\n"], both, vec!["a"]),
            (vec!["\n", "a", "\n", "b"], both, vec!["", "a", "", "\nb"]),
            (vec!["", "\n\na"], both, vec!["", "\na"]),
            (vec!["a\n\n", ""], both, vec!["a\n", ""]),
            (vec!["a", "\n"], none, vec!["a", "\n"]),
        ] {
            let mut lines = Lines::default();
            let found: Vec<String> = pieces
                .iter()
                .map(|piece| lines.add(piece, breaks))
                .collect();
            assert_eq!(found, expected, "{pieces:?}");
        }
    }

    #[test]
    fn what_is_new_in_one_part_is_one_difference() {
        let content = |text: &str| Delta::Content(text.to_owned());
        let arguments = |index, json: &str| Delta::Arguments {
            index,
            json: json.to_owned(),
        };
        for (deltas, expected) in [
            (vec![content("a"), content("b")], vec![content("ab")]),
            (
                vec![arguments(0, "{"), arguments(0, "}"), arguments(1, "{}")],
                vec![arguments(0, "{}"), arguments(1, "{}")],
            ),
            (
                vec![content("a"), Delta::Reasoning("b".to_owned()), content("c")],
                vec![content("a"), Delta::Reasoning("b".to_owned()), content("c")],
            ),
        ] {
            assert_eq!(joined(deltas), expected);
        }
    }

    #[test]
    fn arguments_are_handed_out_as_json() {
        let grammar = Grammar::build(|p| {
            let key = p.tool_arg_name(p.literal("at") | "to");
            let value = p.tool_arg_string_value(p.until(";"));
            let argument = p.tool_arg(key + "=" + value) + ";";
            let name = p.tool_name(p.literal("read"));
            let id = p.optional(p.tool_id(p.literal("#1")));
            p.tool(id + name + "(" + p.zero_or_more(argument) + ")")
        });
        for (text, expected) in [
            ("read()", "read {}"),
            ("read(at=a\"b;to=c;)", r#"read {"at":"a\"b","to":"c"}"#),
            // A name begins a call: an id before it has to wait.
            ("#1read()", "read #1 {}"),
        ] {
            for size in [1, 3, 99] {
                let mut stream = grammar.stream();
                let mut all = Vec::new();
                let chars: Vec<char> = text.chars().collect();
                for piece in chars.chunks(size) {
                    let piece: String = piece.iter().collect();
                    all.extend(stream.feed(&piece).expect(text));
                }
                all.extend(stream.finish().expect(text).0);
                let found: String = all
                    .into_iter()
                    .map(|delta| match delta {
                        Delta::Call { name, .. } => format!("{name} "),
                        Delta::CallId { id, .. } => format!("{id} "),
                        Delta::Arguments { json, .. } => json,
                        other => panic!("{other:?} is no part of a call"),
                    })
                    .collect();
                assert_eq!(found, expected, "{size}");
            }
        }
    }
}
