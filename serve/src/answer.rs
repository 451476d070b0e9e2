//! An answer while it comes: what each of its choices brings, in the order in which it comes.

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream, SelectAll};
use unjinja::completion::{Completion, CompletionMessage, Delta, Ending};

use crate::explain::Explanation;
use crate::fault::Fault;
use crate::record::Record;
use crate::upstream::{Reading, Used};

/// Why a choice has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The model was done.
    Stop,
    /// It has called tools.
    Calls,
    /// There was no room for more.
    Length,
    /// It has written a text that the client has named.
    StoppedBy(String),
}

impl Reason {
    /// The reason for people.
    fn words(&self) -> String {
        match self {
            Reason::Stop => "the model was done".to_owned(),
            Reason::Calls => "the model has called tools".to_owned(),
            Reason::Length => "there was no room for more".to_owned(),
            Reason::StoppedBy(text) => format!("the model has written {text:?}"),
        }
    }
}

/// What comes of a choice in the end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct End {
    pub(crate) message: CompletionMessage,
    /// The ids of calls that were cut off or could not be read, and are no part of the message.
    pub(crate) unfinished: Vec<String>,
    pub(crate) reason: Reason,
    pub(crate) used: Used,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AnswerPiece {
    Deltas(usize, Vec<Delta>),
    End(usize, Box<End>),
}

/// An answer of one or more choices.
pub(crate) struct Answer(SelectAll<BoxStream<'static, Result<AnswerPiece, Fault>>>);

impl Answer {
    pub(crate) fn new(choices: Vec<Choice>) -> Answer {
        Answer(stream::select_all(choices.into_iter().map(Choice::parts)))
    }

    /// What comes next; nothing when all choices have ended. When this is dropped, so are the requests upstream.
    pub(crate) async fn next(&mut self) -> Option<Result<AnswerPiece, Fault>> {
        self.0.next().await
    }
}

/// One of the answers to a request.
pub(crate) struct Choice {
    index: usize,
    reading: Reading,
    /// None when the output has ended.
    completion: Option<Completion>,
    calls: CallLimit,
    /// Deltas that come before anything is read, and those of the end.
    waiting: Vec<Delta>,
    end: Option<Box<End>>,
    watched: Watched,
}

/// Who looks on at a choice.
#[derive(Default)]
pub(crate) struct Watched {
    pub(crate) record: Option<Record>,
    pub(crate) explanation: Option<Box<dyn Explanation>>,
}

impl Choice {
    pub(crate) fn new(
        index: usize,
        reading: Reading,
        completion: Completion,
        most_calls: usize,
        mut watched: Watched,
    ) -> Choice {
        if let Some(explanation) = &mut watched.explanation {
            explanation.sent(completion.initial_deltas());
        }
        Choice {
            index,
            reading,
            waiting: completion.initial_deltas().to_vec(),
            completion: Some(completion),
            calls: CallLimit {
                most: most_calls,
                is_beyond: false,
            },
            end: None,
            watched,
        }
    }

    fn parts(self) -> BoxStream<'static, Result<AnswerPiece, Fault>> {
        let parts = stream::unfold(Some(self), |choice| async {
            let mut choice = choice?;
            match choice.next().await {
                Ok(Some(part)) => Some((Ok(part), Some(choice))),
                Ok(None) => None,
                Err(fault) => {
                    if let Some(explanation) = &mut choice.watched.explanation {
                        explanation.ended(&format!("broken off: {}", fault.message));
                    }
                    Some((Err(fault), None))
                }
            }
        });
        parts.boxed()
    }

    async fn next(&mut self) -> Result<Option<AnswerPiece>, Fault> {
        loop {
            if !self.waiting.is_empty() {
                let deltas = std::mem::take(&mut self.waiting);
                return Ok(Some(AnswerPiece::Deltas(self.index, deltas)));
            }
            if let Some(end) = self.end.take() {
                return Ok(Some(AnswerPiece::End(self.index, end)));
            }
            let Some(completion) = &mut self.completion else {
                return Ok(None);
            };
            let text = match self.calls.has_enough() {
                true => None,
                false => self.reading.next().await?,
            };
            let Some(text) = text else {
                self.finish()?;
                continue;
            };
            if let Some(record) = &mut self.watched.record {
                record.add(&text);
            }
            if let Some(explanation) = &mut self.watched.explanation {
                explanation.came(&text);
            }
            let deltas = completion.feed(&text);
            let mut deltas = deltas.map_err(|error| Fault::unreadable(&error))?;
            self.calls.apply(&mut deltas);
            if let Some(explanation) = &mut self.watched.explanation {
                explanation.sent(&deltas);
            }
            self.waiting = deltas;
        }
    }

    /// The output has ended.
    fn finish(&mut self) -> Result<(), Fault> {
        let Some(completion) = self.completion.take() else {
            return Ok(());
        };
        let ending = self.reading.ending;
        let finished = completion.finish(match self.calls.has_enough() {
            // A further call that has begun is cut off, and no text.
            true => Ending::Length,
            false => ending,
        });
        let finished = finished.map_err(|error| Fault::unreadable(&error))?;
        let mut deltas = finished.deltas;
        self.calls.apply(&mut deltas);
        self.waiting = deltas;
        let mut message = finished.message;
        message.tool_calls.truncate(self.calls.most);
        let reason = match (ending, self.reading.stopped_by.take()) {
            (Ending::Length, _) => Reason::Length,
            _ if !message.tool_calls.is_empty() => Reason::Calls,
            (_, Some(text)) => Reason::StoppedBy(text),
            _ => Reason::Stop,
        };
        if let Some(explanation) = &mut self.watched.explanation {
            explanation.sent(&self.waiting);
            explanation.ended(&reason.words());
        }
        if let Some(record) = self.watched.record.take() {
            // Where a client wants no further call, the rest has not been read.
            record.keep(ending == Ending::Length || self.calls.has_enough());
        }
        // Neither is a call that anybody should run.
        let unfinished = finished.unfinished.into_iter().chain(finished.withdrawn);
        let unfinished = unfinished.map(|call| call.id);
        self.end = Some(Box::new(End {
            message,
            unfinished: unfinished.collect(),
            reason,
            used: self.reading.used,
        }));
        Ok(())
    }
}

/// How many calls are handed out. What a grammar has not kept from being written goes no further.
#[derive(Debug)]
struct CallLimit {
    most: usize,
    is_beyond: bool,
}

impl CallLimit {
    /// Takes the calls away that are too many.
    fn apply(&mut self, deltas: &mut Vec<Delta>) {
        let most = self.most;
        let mut is_beyond = false;
        deltas.retain(|delta| match delta {
            Delta::Call { index, .. } | Delta::Arguments { index, .. } if *index >= most => {
                is_beyond = true;
                false
            }
            _ => true,
        });
        self.is_beyond |= is_beyond;
    }

    /// Whether nothing that follows is of use. Where no calls are wanted, an answer may still come.
    fn has_enough(&self) -> bool {
        self.is_beyond && self.most > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_are_too_many_go_no_further() {
        let call = |index| Delta::Call {
            index,
            id: "a".into(),
            name: "f".into(),
        };
        for (most, kept, enough) in [(usize::MAX, 3, false), (1, 2, true), (0, 1, false)] {
            let mut limit = CallLimit {
                most,
                is_beyond: false,
            };
            let mut deltas = vec![Delta::Content("x".into()), call(0), call(1)];
            limit.apply(&mut deltas);
            assert_eq!((deltas.len(), limit.has_enough()), (kept, enough), "{most}");
        }
    }
}
