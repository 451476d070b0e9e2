//! Answers on their way to clients.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use axum::body::Bytes;
use futures_util::stream::{self, Stream};
use tokio::sync::OwnedSemaphorePermit;
use unjinja::completion::Delta;
use unjinja::json;

use crate::answer::{Answer, AnswerPiece};
use crate::api::{Event, Writer};
use crate::arrivals::Arrival;
use crate::fault::Fault;
use crate::held::Held;
use crate::server::Shared;
use crate::work::{Expected, is_large};

/// When nothing has come for so long, a comment shows that the stream is alive.
const STILL_ALIVE: Duration = Duration::from_secs(15);

/// A request that is being answered. When its client goes away, this is dropped before its end.
pub(crate) struct Open {
    shared: Arc<Shared>,
    _arrival: Arrival,
    /// The bytes of the request.
    pub(crate) held: Held,
    places: OwnedSemaphorePermit,
    /// The length of the answer, in bytes.
    length: usize,
    has_begun: bool,
    has_ended: bool,
}

impl Open {
    /// A request that has come in, if there is room for it.
    pub(crate) fn new(shared: &Arc<Shared>, arrival: Arrival, held: Held) -> Result<Open, Fault> {
        let places = places(shared, 1)?;
        arrival.has_come();
        shared.metrics.open.fetch_add(1, Relaxed);
        Ok(Open {
            shared: Arc::clone(shared),
            _arrival: arrival,
            held,
            places,
            length: 0,
            has_begun: false,
            has_ended: false,
        })
    }

    /// Takes the place of so many answers.
    pub(crate) fn take_places(&mut self, answers: usize) -> Result<(), Fault> {
        let most = self.shared.limits.requests;
        if answers > most {
            let message = format!("there may be {most} at most: see `--max-requests`");
            return Err(Fault::of("n", message));
        }
        let more = answers.saturating_sub(self.places.num_permits());
        if more > 0 {
            self.places.merge(places(&self.shared, more)?);
        }
        Ok(())
    }

    fn broken_off(&mut self) {
        self.has_ended = true;
        self.shared.metrics.broken_off.fetch_add(1, Relaxed);
    }
}

/// Room for so many answers more.
fn places(shared: &Shared, answers: usize) -> Result<OwnedSemaphorePermit, Fault> {
    let room = Arc::clone(&shared.room);
    let places = room.try_acquire_many_owned(u32::try_from(answers).unwrap_or(u32::MAX));
    places.map_err(|_| {
        Fault::overloaded(format!(
            "of {} answers that may be given at once, there is no room for {answers} more",
            shared.limits.requests
        ))
    })
}

impl Drop for Open {
    fn drop(&mut self) {
        self.shared.metrics.open.fetch_sub(1, Relaxed);
        if self.has_begun && !self.has_ended {
            self.shared.metrics.clients_gone.fetch_add(1, Relaxed);
        }
    }
}

/// The length of a piece of an answer, in bytes.
fn length(delta: &Delta) -> usize {
    match delta {
        Delta::Content(text) | Delta::Reasoning(text) | Delta::Arguments { text, .. } => text.len(),
        Delta::Call { id, name, .. } => id.len() + name.len(),
        // What else there is comes in the end, whole.
        _ => 0,
    }
}

/// Takes what comes next, and writes it.
async fn take(
    answer: &mut Answer,
    writer: &mut dyn Writer,
    open: &mut Open,
    out: &mut Vec<Event>,
) -> Result<(), Fault> {
    // Where much has come at once, others have their turn in between.
    tokio::task::coop::consume_budget().await;
    match answer.next().await {
        Some(Ok(AnswerPiece::Deltas(choice, deltas))) => {
            open.length += deltas.iter().map(length).sum::<usize>();
            let pieces = u64::try_from(deltas.len()).unwrap_or_default();
            open.shared.metrics.pieces.fetch_add(pieces, Relaxed);
            writer.add(choice, &deltas, out);
        }
        Some(Ok(AnswerPiece::End(choice, end))) => writer.end(choice, *end, out),
        None => {
            open.has_ended = true;
            writer.close(out);
        }
        Some(Err(fault)) => return Err(fault),
    }
    Ok(())
}

/// The whole answer as JSON, with the request that it is the answer to.
pub(crate) async fn whole(
    mut answer: Answer,
    mut writer: Box<dyn Writer>,
    mut open: Open,
) -> Result<(Bytes, Open), Fault> {
    open.has_begun = true;
    while !open.has_ended {
        let mut unsent = Vec::new();
        let taken = take(&mut answer, &mut *writer, &mut open, &mut unsent).await;
        if let Err(fault) = taken {
            open.broken_off();
            return Err(fault);
        }
    }
    // It is held until the client has it.
    open.held.add(open.length)?;
    let length = open.length;
    let mut write = move || Bytes::from(json::write(&writer.whole()));
    let written = match is_large(length) {
        true => {
            let work = Arc::clone(&open.shared.work);
            work.run(Expected::Long, move |_| write()).await?
        }
        false => write(),
    };
    Ok((written, open))
}

/// What a stream is made of.
struct Streaming {
    answer: Answer,
    writer: Box<dyn Writer>,
    open: Open,
}

/// The events of an answer. When the client goes away they are dropped, and with them the requests upstream.
pub(crate) fn events(
    answer: Answer,
    writer: Box<dyn Writer>,
    open: Open,
) -> impl Stream<Item = Result<String, Infallible>> {
    let streaming = Streaming {
        answer,
        writer,
        open,
    };
    stream::unfold(streaming, |mut streaming| async {
        let text = streaming.next().await?;
        Some((Ok(text), streaming))
    })
}

impl Streaming {
    async fn next(&mut self) -> Option<String> {
        let mut events = Vec::new();
        if !self.open.has_begun {
            self.open.has_begun = true;
            self.writer.begin(&mut events);
        }
        while events.is_empty() && !self.open.has_ended {
            let taking = take(
                &mut self.answer,
                &mut *self.writer,
                &mut self.open,
                &mut events,
            );
            match tokio::time::timeout(STILL_ALIVE, taking).await {
                Ok(Ok(())) => {}
                Ok(Err(fault)) => {
                    self.open.broken_off();
                    self.writer.fail(&fault, &mut events);
                }
                Err(_) => return Some(": waiting\n\n".to_owned()),
            }
        }
        let mut text = String::new();
        for event in &events {
            event.write_to(&mut text);
        }
        (!text.is_empty()).then_some(text)
    }
}
