//! Answers on their way to clients.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use futures_util::stream::{self, Stream};
use tokio::sync::OwnedSemaphorePermit;
use unjinja::Value;

use crate::answer::{Answer, AnswerPiece};
use crate::api::{Event, Writer};
use crate::fault::Fault;
use crate::server::Shared;

/// When nothing has come for so long, a comment shows that the stream is alive.
const STILL_ALIVE: Duration = Duration::from_secs(15);

/// A request that is being answered. When its client goes away, this is dropped before its end.
pub(crate) struct Open {
    shared: Arc<Shared>,
    _room: OwnedSemaphorePermit,
    has_begun: bool,
    has_ended: bool,
}

impl Open {
    pub(crate) fn new(shared: Arc<Shared>, room: OwnedSemaphorePermit) -> Open {
        shared.metrics.open.fetch_add(1, Relaxed);
        Open {
            shared,
            _room: room,
            has_begun: false,
            has_ended: false,
        }
    }

    fn broken_off(&mut self) {
        self.has_ended = true;
        self.shared.metrics.broken_off.fetch_add(1, Relaxed);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.shared.metrics.open.fetch_sub(1, Relaxed);
        if self.has_begun && !self.has_ended {
            self.shared.metrics.clients_gone.fetch_add(1, Relaxed);
        }
    }
}

/// Takes what comes next, and writes it.
async fn take(
    answer: &mut Answer,
    writer: &mut dyn Writer,
    open: &mut Open,
    out: &mut Vec<Event>,
) -> Result<(), Fault> {
    match answer.next().await {
        Some(Ok(AnswerPiece::Deltas(choice, deltas))) => {
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

/// The whole answer.
pub(crate) async fn whole(
    mut answer: Answer,
    mut writer: Box<dyn Writer>,
    mut open: Open,
) -> Result<Value, Fault> {
    open.has_begun = true;
    while !open.has_ended {
        let mut unsent = Vec::new();
        let taken = take(&mut answer, &mut *writer, &mut open, &mut unsent).await;
        if let Err(fault) = taken {
            open.broken_off();
            return Err(fault);
        }
    }
    Ok(writer.whole())
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
