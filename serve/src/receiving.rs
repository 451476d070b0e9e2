//! Bodies of requests while they come in.

use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use futures_util::StreamExt;
use tokio::time::{Instant, timeout_at};

use crate::arrivals::{Arrival, Arrivals};
use crate::config::Limits;
use crate::fault::Fault;
use crate::held::{Held, Room};

/// A body has so much time, and for each KiB that has come a second more, as long as it has come in before `Limits::to_come_in`.
const TO_BEGIN: Duration = Duration::from_secs(10);

/// Bytes that are taken for a body whose length is told, before any of it has come.
const MAX_RESERVED: usize = 1 << 20;

/// Each byte of a body stands for so many: those of the prompt, and of what is sent upstream, are to have room when it has come in.
const COPIES: usize = 3;

/// Up to when a body has to go on that began at a time, and of which so much has come.
fn patience(begun: Instant, received: usize, to_come_in: Duration) -> Instant {
    let seconds = u64::try_from(received >> 10).unwrap_or(u64::MAX);
    let patience = TO_BEGIN.saturating_add(Duration::from_secs(seconds));
    begun + patience.min(to_come_in)
}

fn too_slow() -> Fault {
    let message = "the request takes too long to come in";
    Fault::new(StatusCode::REQUEST_TIMEOUT, message)
}

fn sent_away() -> Fault {
    Fault::overloaded(
        "the request takes long to come in, and there is no room for others: send it once more",
    )
}

/// The room for bodies, and those for whom there is none otherwise.
pub(crate) struct Receiving<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) arrivals: &'a Arrivals,
    pub(crate) room: &'a Room,
}

impl Receiving<'_> {
    /// The whole body of a request, which is held.
    pub(crate) async fn all(
        &self,
        body: Body,
        arrival: &Arrival,
        held: &mut Held,
    ) -> Result<Vec<u8>, Fault> {
        let begun = Instant::now();
        let told = hyper::body::Body::size_hint(&body).lower();
        let told = usize::try_from(told).unwrap_or(usize::MAX);
        let mut bytes = Vec::with_capacity(told.min(MAX_RESERVED));
        let mut body = body.into_data_stream();
        loop {
            let late = patience(begun, bytes.len(), self.limits.to_come_in);
            let more = tokio::select! {
                more = timeout_at(late, body.next()) => more.map_err(|_| too_slow())?,
                () = arrival.is_sent_away() => return Err(sent_away()),
            };
            let Some(more) = more else {
                return Ok(bytes);
            };
            let more = more.map_err(|error| {
                Fault::bad(format!("the request can't be read to its end: {error}"))
            })?;
            let most = self.limits.body;
            if bytes.len() + more.len() > most {
                let message = format!("the request is larger than {most} bytes: see `--max-body`");
                return Err(Fault::new(StatusCode::PAYLOAD_TOO_LARGE, message));
            }
            self.make_room(COPIES * more.len(), arrival, held).await?;
            bytes.extend_from_slice(&more);
        }
    }

    /// Sees to it that more is held, for which others may have to go.
    async fn make_room(
        &self,
        more: usize,
        arrival: &Arrival,
        held: &mut Held,
    ) -> Result<(), Fault> {
        loop {
            let mut freed = Box::pin(self.room.freed.notified());
            freed.as_mut().enable();
            let Err(full) = held.add(more) else {
                return Ok(());
            };
            if !self.arrivals.send_first_body_away() {
                return Err(full);
            }
            tokio::select! {
                () = freed => {}
                () = arrival.is_sent_away() => return Err(sent_away()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_goes_on_has_time_up_to_an_end() {
        let begun = Instant::now();
        let to_come_in = Duration::from_secs(60);
        for (received, seconds) in [
            (0, 10),
            (1023, 10),
            (1024, 11),
            (40 << 10, 50),
            (1 << 20, 60),
        ] {
            let late = patience(begun, received, to_come_in);
            assert_eq!(late - begun, Duration::from_secs(seconds), "{received}");
        }
    }
}
