//! Those from whom something has yet to come: connections without a request, and requests whose bodies come in. Where there is no room for
//! others, whoever has been coming for longest is sent away.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// All of them, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct Arrivals(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    begun: u64,
    all: BTreeMap<u64, Waiter>,
}

#[derive(Debug)]
struct Waiter {
    has_body: bool,
    sent_away: Arc<Notify>,
}

impl Arrivals {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the first away that began, whatever has yet to come; nobody if there is none.
    pub(crate) fn send_first_away(&self) -> bool {
        self.send_away(|_| true)
    }

    /// Sends the first away whose body comes in.
    pub(crate) fn send_first_body_away(&self) -> bool {
        self.send_away(|waiter| waiter.has_body)
    }

    fn send_away(&self, is_meant: impl Fn(&Waiter) -> bool) -> bool {
        let mut waiting = self.waiting();
        let mut meant = waiting.all.iter().filter(|(_, waiter)| is_meant(waiter));
        let Some(number) = meant.next().map(|(number, _)| *number) else {
            return false;
        };
        if let Some(waiter) = waiting.all.remove(&number) {
            waiter.sent_away.notify_one();
        }
        true
    }
}

/// A connection, which waits for a request unless it has one.
#[derive(Debug)]
pub(crate) struct Seat {
    arrivals: Arc<Arrivals>,
    /// The number that it has among those that wait.
    number: Mutex<u64>,
    sent_away: Arc<Notify>,
}

impl Seat {
    pub(crate) fn new(arrivals: &Arc<Arrivals>) -> Arc<Seat> {
        let seat = Seat {
            arrivals: Arc::clone(arrivals),
            number: Mutex::new(0),
            sent_away: Arc::default(),
        };
        seat.wait(false, &seat.sent_away);
        Arc::new(seat)
    }

    /// Comes to an end when the connection has to make room for another.
    pub(crate) async fn is_sent_away(&self) {
        self.sent_away.notified().await;
    }

    fn wait(&self, has_body: bool, sent_away: &Arc<Notify>) {
        let mut number = self.number.lock().unwrap_or_else(PoisonError::into_inner);
        let mut waiting = self.arrivals.waiting();
        waiting.all.remove(&number);
        waiting.begun += 1;
        *number = waiting.begun;
        let sent_away = Arc::clone(sent_away);
        let waiter = Waiter {
            has_body,
            sent_away,
        };
        waiting.all.insert(*number, waiter);
    }

    fn wait_no_longer(&self) {
        let number = self.number.lock().unwrap_or_else(PoisonError::into_inner);
        self.arrivals.waiting().all.remove(&number);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.wait_no_longer();
    }
}

/// A request of a connection, until it is answered.
#[derive(Debug)]
pub(crate) struct Arrival {
    seat: Arc<Seat>,
    sent_away: Arc<Notify>,
}

impl Arrival {
    /// A request whose body comes in.
    pub(crate) fn begin(seat: Arc<Seat>) -> Arrival {
        let sent_away = Arc::default();
        seat.wait(true, &sent_away);
        Arrival { seat, sent_away }
    }

    /// Comes to an end when the request has to make room for another.
    pub(crate) async fn is_sent_away(&self) {
        self.sent_away.notified().await;
    }

    /// All of it has come: it is not sent away any more.
    pub(crate) fn has_come(&self) {
        self.seat.wait_no_longer();
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        self.seat.wait(false, &self.seat.sent_away);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn whoever_began_first_goes_first_and_nobody_who_is_answered() {
        let arrivals = Arc::default();
        let [idle, slow, answered, quick] = [(); 4].map(|()| Seat::new(&arrivals));
        let slow = Arrival::begin(slow);
        let answered = Arrival::begin(answered);
        answered.has_come();
        let quick = Arrival::begin(quick);
        let has_gone = |one: &Arrival| one.is_sent_away().now_or_never().is_some();

        assert!(arrivals.send_first_body_away());
        assert!(has_gone(&slow) && !has_gone(&quick));
        assert!(arrivals.send_first_away());
        assert!(idle.is_sent_away().now_or_never().is_some());
        assert!(arrivals.send_first_body_away());
        assert!(has_gone(&quick) && !has_gone(&answered));
        assert!(!arrivals.send_first_away());

        // What has been answered waits for the next request.
        let seat = Arc::clone(&answered.seat);
        drop(answered);
        assert!(!arrivals.send_first_body_away());
        assert!(arrivals.send_first_away());
        assert!(seat.is_sent_away().now_or_never().is_some());
    }

    #[test]
    fn a_connection_that_has_ended_is_not_sent_away() {
        let arrivals = Arc::default();
        drop(Seat::new(&arrivals));
        let arrival = Arrival::begin(Seat::new(&arrivals));
        drop(arrival);
        assert!(!arrivals.send_first_away());
    }
}
