//! The interfaces that clients speak. Each is a file that says what its requests mean, and how answers look in it; what happens in
//! between is the same for all.

mod chat;
mod messages;
mod responses;

use axum::http::StatusCode;
use unjinja::completion::Delta;
use unjinja::{Object, Value, json};

use crate::answer::{End, Reason};
use crate::fault::Fault;
use crate::request::{Members, Request};
use crate::upstream::Used;

/// An interface.
pub(crate) trait Api: Sync {
    /// Where it is served.
    fn path(&self) -> &'static str;

    /// What ids of its answers begin with.
    fn id_prefix(&self) -> &'static str;

    /// What a request means.
    fn read(&self, body: &Object) -> Result<Request, Fault>;

    /// How an answer to a request is written.
    fn writer(&self, head: Head, body: &Object) -> Box<dyn Writer>;

    /// A fault in its shape.
    fn fault(&self, fault: &Fault) -> Value;

    /// The code of a fault.
    fn status(&self, fault: &Fault) -> StatusCode {
        fault.status
    }
}

/// All of them.
pub(crate) static APIS: [&dyn Api; 3] = [&chat::Chat, &responses::Responses, &messages::Messages];

/// What an answer says of itself.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) created: i64,
    pub(crate) usage_in_stream: bool,
}

impl Head {
    /// The id without what tells the interface.
    pub(crate) fn bare_id(&self) -> &str {
        self.id
            .split_once(['-', '_'])
            .map_or(&*self.id, |(_, id)| id)
    }
}

/// What a stream sends.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    name: Option<&'static str>,
    data: String,
}

impl Event {
    /// One that has only data.
    fn data(data: impl Into<Value>) -> Event {
        let mut data = json::write(&data.into());
        // Some clients take them for ends of lines. They stand in strings alone, where they may be escaped.
        for (sign, escaped) in [
            ('\u{85}', "\\u0085"),
            ('\u{2028}', "\\u2028"),
            ('\u{2029}', "\\u2029"),
        ] {
            if data.contains(sign) {
                data = data.replace(sign, escaped);
            }
        }
        Event { name: None, data }
    }

    /// One whose name is the `type` in its data, too.
    fn named(name: &'static str, mut data: Object) -> Event {
        data.insert("type", name);
        Event {
            name: Some(name),
            ..Event::data(data)
        }
    }

    /// As it stands in the stream.
    pub(crate) fn write_to(&self, out: &mut String) {
        if let Some(name) = self.name {
            out.push_str("event: ");
            out.push_str(name);
            out.push('\n');
        }
        out.push_str("data: ");
        out.push_str(&self.data);
        out.push_str("\n\n");
    }
}

/// Writes an answer while it comes: as events, and in the end as a whole.
pub(crate) trait Writer: Send {
    /// Before anything has come.
    fn begin(&mut self, out: &mut Vec<Event>);

    /// What of a choice has come.
    fn add(&mut self, choice: usize, deltas: &[Delta], out: &mut Vec<Event>);

    /// A choice has ended.
    fn end(&mut self, choice: usize, end: End, out: &mut Vec<Event>);

    /// All have ended.
    fn close(&mut self, out: &mut Vec<Event>);

    /// The answer breaks off.
    fn fail(&mut self, fault: &Fault, out: &mut Vec<Event>);

    /// The answer, when all has ended.
    fn whole(&mut self) -> Value;
}

/// Refuses tools that are not the client's own functions, such as a service's search.
fn refuse_other_tools(tool: &Members<'_>) -> Result<(), Fault> {
    match tool.needed_text("type")? {
        "function" => Ok(()),
        kind => {
            let message =
                format!("`{kind}` is not a tool that can be called here: only functions are");
            Err(Fault::of(tool.own_path(), message))
        }
    }
}

/// What several choices have used: the prompt is the same for all.
fn used_by<'e>(ends: impl Iterator<Item = &'e End>) -> Used {
    ends.fold(Used::default(), |all, end| Used {
        prompt: all.prompt.or(end.used.prompt),
        completion: match (all.completion, end.used.completion) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        },
    })
}

/// What a client is told that can't be told in its interface.
fn is_cut(end: Option<&End>) -> bool {
    end.is_some_and(|end| end.reason == Reason::Length)
}
