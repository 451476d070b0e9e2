//! What a model writes, as it comes in.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use unjinja::Value;
use unjinja::completion::Ending;

use super::Engine;
use crate::fault::Fault;
use crate::held::Held;
use crate::values;
use crate::work::{Expected, Wanted, Work, is_large};

/// So much is read of an answer, in which each token has an event of its own.
const MAX_ANSWER: usize = 256 << 20;

/// So long may a line of it be: the last one of some engines says again what they were asked.
const MAX_LINE: usize = 64 << 20;

/// So much of a text goes on at once, so that others are not kept waiting by what comes behind it.
const PIECE: usize = 32 << 10;

/// A text that has come is in the parser, in the message and in what is written of it.
const COPIES: usize = 4;

/// How long an answer may go on that has said why it ends: what was used may follow.
const TO_CLOSE: Duration = Duration::from_secs(5);

/// How many tokens were read and written, as far as the upstream says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) prompt: Option<i64>,
    pub(crate) completion: Option<i64>,
}

/// An answer of the upstream.
#[derive(Debug)]
pub(crate) struct Reading {
    answer: reqwest::Response,
    engine: &'static Engine,
    /// Does the reading of large lines.
    work: Arc<Work>,
    /// Bytes that have come and are kept.
    held: Held,
    /// The length of the text that has come, in bytes.
    text: usize,
    /// Pieces of the text that come next.
    left: VecDeque<String>,
    /// Bytes that are no whole line yet.
    buffer: Vec<u8>,
    /// Where in them the next line begins.
    begins: usize,
    /// Up to where they hold no end of it.
    searched: usize,
    /// How many bytes have come.
    length: usize,
    /// Whether the event that is read says that something is wrong.
    is_error: bool,
    has_ended: bool,
    pub(crate) ending: Ending,
    /// The text that has stopped the model, if it is one of those that the client has named.
    pub(crate) stopped_by: Option<String>,
    pub(crate) used: Used,
}

impl Reading {
    pub(super) fn new(
        answer: reqwest::Response,
        engine: &'static Engine,
        held: Held,
        work: Arc<Work>,
    ) -> Reading {
        Reading {
            answer,
            engine,
            work,
            held,
            text: 0,
            left: VecDeque::new(),
            buffer: Vec::new(),
            begins: 0,
            searched: 0,
            length: 0,
            is_error: false,
            has_ended: false,
            ending: Ending::Stop,
            stopped_by: None,
            used: Used::default(),
        }
    }

    /// The next piece of text; none at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, Fault> {
        if let Some(piece) = self.left.pop_front() {
            // To read it takes as long as to read many small ones.
            tokio::task::yield_now().await;
            return Ok(Some(piece));
        }
        loop {
            while let Some(line) = self.line() {
                match self.data(&line)? {
                    Some("[DONE]") => return Ok(None),
                    Some(data) => {
                        let value = self.value(data).await?;
                        if let Some(text) = self.text(&value, data)? {
                            return Ok(Some(self.first_piece(text)));
                        }
                    }
                    None => {}
                }
            }
            let more = match self.has_ended {
                true => match tokio::time::timeout(TO_CLOSE, self.answer.chunk()).await {
                    Ok(Ok(more)) => more,
                    // All has come that counts.
                    Ok(Err(_)) | Err(_) => None,
                },
                false => {
                    let more = self.answer.chunk().await;
                    more.map_err(|error| Fault::unreachable(&error))?
                }
            };
            match more {
                Some(bytes) => self.take(&bytes)?,
                // The last line may lack its end.
                None if self.begins < self.buffer.len() => self.buffer.push(b'\n'),
                None if self.has_ended => return Ok(None),
                None => return Err(Fault::bad_gateway("the upstream stopped within its answer")),
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.length += bytes.len();
        if self.length > MAX_ANSWER {
            return Err(Fault::bad_gateway("the upstream's answer has no end"));
        }
        self.buffer.drain(..self.begins);
        self.searched -= self.begins;
        self.begins = 0;
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() > MAX_LINE {
            let message = format!("a line of the upstream's answer has more than {MAX_LINE} bytes");
            return Err(Fault::bad_gateway(message));
        }
        self.held.set(self.buffer.len() + COPIES * self.text)
    }

    /// The piece of a text that goes on first; the rest follows.
    fn first_piece(&mut self, text: String) -> String {
        self.text += text.len();
        if text.len() <= PIECE {
            return text;
        }
        let (first, mut rest) = text.split_at(text.floor_char_boundary(PIECE));
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(rest.floor_char_boundary(PIECE));
            self.left.push_back(piece.to_owned());
            rest = behind;
        }
        first.to_owned()
    }

    /// The JSON of a piece.
    async fn value(&self, data: &str) -> Result<Value, Fault> {
        let read = match is_large(data.len()) {
            true => {
                let data = data.to_owned();
                let read = move |_: &Wanted| values::read(&data);
                self.work.run(Expected::Long, read).await?
            }
            false => values::read(data),
        };
        read.map_err(|error| {
            Fault::bad_gateway(format!(
                "the upstream sends something other than JSON: {error}"
            ))
        })
    }

    /// The next whole line.
    fn line(&mut self) -> Option<String> {
        let rest = &self.buffer[self.searched..];
        let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
            self.searched = self.buffer.len();
            return None;
        };
        let line = &self.buffer[self.begins..self.searched + end];
        let line = String::from_utf8_lossy(line);
        // Events may begin with a mark that they are UTF-8.
        let line = line.trim_start_matches('\u{feff}').to_owned();
        self.searched += end + 1;
        self.begins = self.searched;
        Some(line)
    }

    /// The data in a line, if it has any.
    fn data<'l>(&mut self, line: &'l str) -> Result<Option<&'l str>, Fault> {
        let line = line.trim();
        // An empty line ends the event.
        self.is_error &= !line.is_empty();
        let failed = |error: &str| Err(Fault::of_upstream(StatusCode::BAD_GATEWAY, error));
        // An engine may answer with an object where events were asked for: no line of an event begins like one.
        let data = if !self.engine.sends_events || line.starts_with('{') {
            Some(line)
        } else if let Some(error) = line.strip_prefix("error:") {
            // As older versions of llama.cpp say it.
            return failed(error);
        } else if let Some(name) = line.strip_prefix("event:") {
            self.is_error = name.trim() == "error";
            None
        } else {
            line.strip_prefix("data:").map(str::trim)
        };
        match data.filter(|data| !data.is_empty()) {
            Some(error) if self.is_error => failed(error),
            data => Ok(data),
        }
    }

    /// The text in a piece; whatever else is in it is kept.
    fn text(&mut self, value: &Value, data: &str) -> Result<Option<String>, Fault> {
        if value.get("error").is_some_and(|error| !error.is_null()) {
            return Err(Fault::of_upstream(StatusCode::BAD_GATEWAY, data));
        }
        let piece = &self.engine.piece;
        let text_at = |pointer: &str| match value.pointer(pointer) {
            None | Some(Value::Null) => Ok(None),
            Some(text) => text.as_str().map(Some).ok_or_else(|| {
                let found = text.type_name();
                Fault::bad_gateway(format!(
                    "the upstream sends {found} at {pointer}, and not a text"
                ))
            }),
        };
        let count = |pointer: &str| value.pointer(pointer)?.as_number()?.as_i64();
        self.used.prompt = count(piece.prompt_tokens).or(self.used.prompt);
        self.used.completion = count(piece.completion_tokens).or(self.used.completion);
        // An empty one is none.
        if let Some(reason) = text_at(piece.reason)?.filter(|reason| !reason.is_empty()) {
            self.has_ended = true;
            if reason == piece.full {
                self.ending = Ending::Length;
            }
            // A number is the token that has ended the turn.
            let stopped_by = piece.stopped_by.and_then(|at| value.pointer(at)?.as_str());
            self.stopped_by = stopped_by
                .filter(|text| !text.is_empty())
                .map(str::to_owned);
        }
        Ok(text_at(piece.text)?
            .filter(|text| !text.is_empty())
            .map(str::to_owned))
    }
}
