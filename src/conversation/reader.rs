//! Reading texts with what is known of a template.

use std::fmt;
use std::ops::Range;

use crate::analysis::ConversationShape;
use crate::budget::Budget;
use crate::chat_template::{ChatTemplate, PreparedTemplate, RenderError, RenderInput};
use crate::format::{ConversationFormat, ConversationSlot};
use crate::markers::{first_piece, is_marker};
use crate::value::{Object, Value};

use super::path::{Outcome, Path, Search, opener};
use super::proof::{self, Proof, settle};

/// Reads the conversations that a chat template has written.
#[derive(Debug)]
pub struct ConversationReader {
    prepared: PreparedTemplate,
    shape: ConversationShape,
    proves: bool,
}

/// A conversation that was read.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Conversation {
    /// The list of messages, as the template takes them.
    pub messages: Value,
    /// The list of tools; null if the text shows none.
    pub tools: Value,
    /// The variables that the text shows to have been switched.
    pub variables: Object,
    /// How the text ends.
    pub ending: Ending,
    /// What stands where in the text.
    pub parts: Vec<ConversationPart>,
    /// Whether what was read renders to the same text again.
    pub proof: Proof,
    /// What else is to be said of the reading.
    pub remarks: Vec<String>,
    /// What stands in for messages behind the end of the text, where the template writes the others as if they were there.
    /// What these say does not show.
    next: Vec<Value>,
    /// Whether the last message is begun, and the one that stands in for it is written like that.
    replaces_last: bool,
    /// Up to where the messages show the text: calls that are still being written are in none.
    pub(super) shown: usize,
}

impl Conversation {
    /// Whether the text is only the beginning of what its messages render to.
    pub(super) fn goes_on(&self) -> bool {
        self.ending.is_open() || !self.next.is_empty()
    }

    /// As JSON: an object of `messages` and `tools`, of `variables` if there are any, and of what is `open` at the
    /// end of the text, as [`Ending::key`] names it.
    pub fn to_value(&self) -> Object {
        let mut value = Object::from_iter([
            ("messages", self.messages.clone()),
            ("tools", self.tools.clone()),
        ]);
        if !self.variables.is_empty() {
            value.insert("variables", self.variables.clone());
        }
        if let Some(open) = self.ending.key() {
            value.insert("open", open);
        }
        value
    }

    /// What the proof has against the reading of this text; nothing if all is well, or was not tried.
    pub fn objection(&self, text: &str) -> Option<String> {
        match &self.proof {
            Proof::Differs { at, rendered } => {
                let start = |text: &str| -> String { text.chars().take(SHOWN).collect() };
                Some(format!(
                    "character {}: what was read renders to another text: to {:?} instead of {:?}",
                    characters(text, *at),
                    start(rendered),
                    start(&text[*at..]),
                ))
            }
            Proof::Refused(error) => Some(format!(
                "what was read can't be proved: the chat template does not render it: {error}"
            )),
            Proof::SameButTools { tools } => Some(format!(
                "{}; all else renders to the same text again",
                unread(text, tools)
            )),
            Proof::Same | Proof::NotTried => None,
        }
    }
}

/// So much of a text is shown in messages, in characters.
const SHOWN: usize = 30;

/// A part of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversationPart {
    /// What it is.
    pub slot: ConversationSlot,
    /// The number of its message; `None` for definitions of tools.
    pub message: Option<usize>,
    /// Where it stands in the text, in bytes.
    pub range: Range<usize>,
}

/// How the text of a conversation ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// With a message that is complete.
    Message,
    /// With the beginning of the assistant's turn, as a prompt does.
    Prompt,
    /// Amid a slot, which may go on.
    Within(ConversationSlot),
    /// Behind a slot, amid what the template writes there.
    Behind(ConversationSlot),
    /// Before anything was said.
    BeforeMessages,
}

impl Ending {
    /// Whether the conversation is to go on.
    pub fn is_open(self) -> bool {
        self != Ending::Message
    }

    /// A name for what is open.
    pub fn key(self) -> Option<&'static str> {
        match self {
            Ending::Message => None,
            Ending::Prompt => Some("prompt"),
            Ending::Within(slot) => Some(slot.key()),
            Ending::Behind(_) => Some("marker"),
            Ending::BeforeMessages => Some("beginning"),
        }
    }
}

/// Why a text is no conversation that a template has written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotAConversation {
    /// The byte at which the text departs from all that the template writes.
    pub at: usize,
    /// The same in characters.
    pub character: usize,
    /// What could have stood there, in words.
    pub expected: Vec<String>,
    /// What stands there, or the beginning of it.
    pub found: String,
}

impl fmt::Display for NotAConversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expected = match self.expected.as_slice() {
            [] => "nothing that is known".to_owned(),
            [one] => one.clone(),
            [one, other] => format!("{one} or {other}"),
            [one, ..] => format!("{one} or others"),
        };
        match self.found.is_empty() {
            true => write!(f, "the text ends where {expected} were expected"),
            false => write!(
                f,
                "character {}: the template does not write {:?} here; expected {expected}",
                self.character, self.found
            ),
        }
    }
}

impl std::error::Error for NotAConversation {}

impl ConversationReader {
    /// Finds out how a template writes conversations. `base` holds what all of them have in common: tokens,
    /// the time, and variables; its messages and tools are not used.
    ///
    /// # Errors
    ///
    /// If the template is not valid, or does not even render a question of the user.
    pub fn new(
        template: &ChatTemplate,
        base: &RenderInput,
    ) -> Result<ConversationReader, RenderError> {
        Ok(ConversationReader {
            prepared: template.prepare(),
            shape: ConversationShape::of(template, base)?,
            proves: true,
        })
    }

    /// Without the proof, which takes longer than reading. What the text leaves open is then what is most
    /// common.
    #[must_use]
    pub fn without_proof(mut self) -> ConversationReader {
        self.proves = false;
        self
    }

    /// How the template writes conversations.
    ///
    /// ```
    /// use unjinja::chat_template::{ChatTemplate, RenderInput};
    /// use unjinja::conversation::ConversationReader;
    /// use unjinja::format::ConversationSlot;
    ///
    /// let template = ChatTemplate::from_jinja(
    ///     "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
    ///      {% if add_generation_prompt %}<assistant>{% endif %}",
    /// );
    /// let reader = ConversationReader::new(&template, &RenderInput::default())?;
    /// let mut passages = reader.format().passages.iter();
    /// let answers = passages.find(|passage| {
    ///     (passage.from, passage.to) == (Some(ConversationSlot::User), Some(ConversationSlot::Content))
    /// });
    /// assert_eq!(answers.map(ToString::to_string).as_deref(), Some("`<end><assistant>`"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn format(&self) -> &ConversationFormat {
        &self.shape.format
    }

    /// What the template is given to write a conversation that was read. Where definitions of tools were not read
    /// back, others stand in for them.
    ///
    /// ```
    /// use unjinja::chat_template::{ChatTemplate, RenderInput};
    /// use unjinja::conversation::ConversationReader;
    ///
    /// let template = ChatTemplate::from_jinja(
    ///     "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
    ///      {% if add_generation_prompt %}<assistant>{% endif %}",
    /// );
    /// let reader = ConversationReader::new(&template, &RenderInput::default())?;
    /// let read = reader.read("<user>Hi<end><assistant>")?;
    /// assert_eq!(template.render(&reader.input(&read))?.text, "<user>Hi<end><assistant>");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn input(&self, read: &Conversation) -> RenderInput {
        let tools = match read.proof {
            Proof::SameButTools { .. } => &self.shape.stand_in_tools,
            _ => &read.tools,
        };
        let mut messages = read.messages.clone();
        if let Value::Array(messages) = &mut messages {
            if read.replaces_last {
                messages.pop();
            }
            messages.extend(read.next.clone());
        }
        let given = (messages, tools.clone());
        let is_prompt = read.ending == Ending::Prompt;
        proof::input(&self.shape, given, &read.variables, is_prompt)
    }

    /// Reads a text.
    ///
    /// ```
    /// use unjinja::chat_template::{ChatTemplate, RenderInput};
    /// use unjinja::conversation::{ConversationReader, Ending};
    /// use unjinja::format::ConversationSlot;
    ///
    /// let template = ChatTemplate::from_jinja(
    ///     "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
    ///      {% if add_generation_prompt %}<assistant>{% endif %}",
    /// );
    /// let reader = ConversationReader::new(&template, &RenderInput::default())?;
    ///
    /// // An answer that is still being written.
    /// let text = "<user>Hi<end><assistant>Hel";
    /// let read = reader.read(text)?;
    /// assert_eq!(read.ending, Ending::Within(ConversationSlot::Content));
    /// let parts: Vec<_> = read.parts.iter().map(|part| &text[part.range.clone()]).collect();
    /// assert_eq!(parts, ["Hi", "Hel"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the template would not write such a text for any conversation.
    pub fn read(&self, text: &str) -> Result<Conversation, NotAConversation> {
        let mut remarks = Vec::new();
        let (path, is_open) = self.path(text, false, &mut remarks)?;
        let mut read = self.settled(text, &path, is_open, remarks)?;
        if self.proves && self.has_ties() {
            let (other, is_open) = self.path(text, true, &mut Vec::new())?;
            let slots = |path: &Path<'_>| -> Vec<_> {
                path.stops
                    .iter()
                    .map(|stop| (stop.slot, stop.range.clone()))
                    .collect()
            };
            if slots(&other) != slots(&path) {
                self.compare(text, &mut read, (&other, is_open))?;
            }
        }
        Ok(read)
    }

    /// Says that there is another reading, or takes it if it is proved and the first is not.
    fn compare(
        &self,
        text: &str,
        read: &mut Conversation,
        (path, is_open): (&Path<'_>, bool),
    ) -> Result<(), NotAConversation> {
        let other = self.settled(text, path, is_open, Vec::new())?;
        match (read.proof.holds(), other.proof.holds()) {
            (true, true) => {
                let differs = read.parts.iter().zip(&other.parts).find(|(a, b)| a != b);
                let at = differs.map_or(0, |(part, _)| part.range.start);
                let slot =
                    |part: Option<&ConversationPart>| part.map_or("", |part| part.slot.key());
                let (here, there) = (
                    slot(differs.map(|(part, _)| part)),
                    slot(differs.map(|(_, part)| part)),
                );
                read.remarks.push(format!(
                    "character {}: there are two readings: the text is taken for {here}, and could as well be \
                     {there}",
                    characters(text, at),
                ));
            }
            (false, true) => *read = other,
            _ => {}
        }
        Ok(())
    }

    /// Whether the same passage leads to texts of several roles.
    fn has_ties(&self) -> bool {
        let passages = &self.shape.format.passages;
        let to_user = passages
            .iter()
            .filter(|passage| passage.to == Some(ConversationSlot::User));
        let mut to_user = to_user;
        to_user.any(|user| {
            passages.iter().any(|other| {
                let roles = [ConversationSlot::System, ConversationSlot::Result];
                other.to.is_some_and(|to| roles.contains(&to))
                    && (other.from, &other.pieces) == (user.from, &user.pieces)
            })
        })
    }

    /// The slots of a text, and whether the last of them is open.
    fn path<'t>(
        &self,
        text: &'t str,
        is_plain: bool,
        remarks: &mut Vec<String>,
    ) -> Result<(Path<'t>, bool), NotAConversation> {
        let search = Search::new(&self.shape.format, text, is_plain);
        let strict = search.run(true);
        if let Outcome::Whole(path) = strict {
            return Ok((path, false));
        }
        match (search.run(false), strict) {
            (Outcome::Whole(path), Outcome::Departs(departure)) => {
                remarks.push(format!(
                    "character {}: a text contains what ends messages; if that was not intended, expected {}",
                    characters(text, departure.at),
                    departure.expected.join(" or "),
                ));
                Ok((path, false))
            }
            (_, Outcome::Open(path)) => Ok((path, true)),
            (_, Outcome::Departs(departure)) => {
                Err(not_a_conversation(text, departure.at, departure.expected))
            }
            (_, Outcome::Whole(path)) => Ok((path, false)),
        }
    }

    /// Says where a text of the assistant has in it what begins calls.
    fn calls_in_texts(&self, text: &str, path: &Path<'_>) -> Vec<String> {
        let calls = self.shape.format.turn.calls.as_ref();
        let opener = calls.map(opener).unwrap_or_default();
        let Some(marker) = first_piece(opener.trim_start()).filter(|first| is_marker(first)) else {
            return Vec::new();
        };
        let texts = [ConversationSlot::Content, ConversationSlot::Reasoning];
        let stops = path.stops.iter().filter(|stop| texts.contains(&stop.slot));
        let found = stops.filter_map(|stop| {
            let at = stop.range.start + text[stop.range.clone()].find(marker)?;
            Some(format!(
                "character {}: {marker} begins calls, and was read as {}: the template does not write a call as it \
                 stands here",
                characters(text, at),
                stop.slot.key(),
            ))
        });
        found.collect()
    }

    fn settled(
        &self,
        text: &str,
        path: &Path<'_>,
        is_open: bool,
        mut remarks: Vec<String>,
    ) -> Result<Conversation, NotAConversation> {
        let renderer = match self.proves {
            true => self
                .prepared
                .renderer()
                .ok()
                .map(|renderer| renderer.within(&Budget::of_text(text))),
            false => None,
        };
        let settled = settle(&self.shape, renderer.as_ref(), path, text, is_open);
        let Some(settled) = settled else {
            let calls = path
                .stops
                .iter()
                .find(|stop| stop.slot == ConversationSlot::Calls);
            let at = calls.map_or(0, |stop| stop.range.start);
            return Err(not_a_conversation(text, at, vec!["calls".to_owned()]));
        };
        if let Some(tools) = path.unread_tools() {
            if settled.made.tools.is_empty() && !settled.proof.holds() {
                remarks.push(unread(text, &tools));
            }
            remarks.extend(settled.made.unsure.iter().map(|open| {
                format!(
                    "character {}: of the tools, {open}",
                    characters(text, tools.start)
                )
            }));
        }
        remarks.extend(self.calls_in_texts(text, path));
        let parts = path.stops.iter().zip(&settled.made.numbers);
        let parts = parts.map(|(stop, message)| ConversationPart {
            slot: stop.slot,
            message: *message,
            range: stop.range.clone(),
        });
        Ok(Conversation {
            messages: settled.made.messages.into(),
            tools: match settled.made.tools.is_empty() {
                true => Value::Null,
                false => settled.made.tools.into(),
            },
            variables: settled.variables,
            ending: match (is_open, path.is_prompt, path.stops.last()) {
                (true, _, Some(stop)) if path.is_cut => Ending::Behind(stop.slot),
                (true, _, Some(stop)) => Ending::Within(stop.slot),
                (true, _, None) => Ending::BeforeMessages,
                (false, true, _) => Ending::Prompt,
                (false, false, _) => Ending::Message,
            },
            parts: parts.collect(),
            proof: settled.proof,
            remarks,
            next: settled.next,
            replaces_last: settled.replaces_last,
            shown: settled.shown,
        })
    }
}

/// Says that definitions of tools are not read back.
fn unread(text: &str, tools: &Range<usize>) -> String {
    format!(
        "characters {} to {}: the template writes definitions of tools in words of its own, which are not read \
         back",
        characters(text, tools.start),
        characters(text, tools.end),
    )
}

fn not_a_conversation(text: &str, at: usize, expected: Vec<String>) -> NotAConversation {
    NotAConversation {
        at,
        character: characters(text, at),
        expected,
        found: text[at..].chars().take(SHOWN).collect(),
    }
}

/// How many characters stand before a byte.
fn characters(text: &str, at: usize) -> usize {
    text[..at].chars().count()
}
