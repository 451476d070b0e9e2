//! Work that takes long, on threads on which nothing else waits: reading large JSON, rendering, making grammars.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::fault::Fault;

/// Work on more bytes than this is expected to take long.
const LARGE: usize = 256 << 10;

/// Work that has taken so long makes room for other work that may be done sooner.
const SHORT: Duration = Duration::from_millis(50);

/// Of all that is worked on at once, so much may have begun just now, and so much be expected to take long.
const SHARE_OF_NEW: usize = 2;
const SHARE_OF_LONG: usize = 8;

/// Tells work on so many bytes that is too much for a thread on which others wait.
pub(crate) fn is_large(bytes: usize) -> bool {
    bytes > LARGE
}

/// The time that work is expected to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    Short,
    Long,
}

impl Expected {
    /// That of reading so many bytes.
    pub(crate) fn of(bytes: usize) -> Expected {
        match is_large(bytes) {
            true => Expected::Long,
            false => Expected::Short,
        }
    }
}

/// Room for work. Short work does not wait for long work, as far as that is known beforehand or shows in time.
#[derive(Debug)]
pub(crate) struct Work {
    any: Arc<Semaphore>,
    new: Arc<Semaphore>,
    long: Arc<Semaphore>,
}

impl Work {
    pub(crate) fn new(most: usize) -> Work {
        let share = |of: usize| Arc::new(Semaphore::new((most / of).max(1)));
        Work {
            any: share(1),
            new: share(SHARE_OF_NEW),
            long: share(SHARE_OF_LONG),
        }
    }

    /// Does work as soon as there is room for it. When nobody waits for it any more, it does not begin, or ends early.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        expected: Expected,
        work: impl FnOnce(&Wanted) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let first = match expected {
            Expected::Short => room(&self.new).await?,
            Expected::Long => room(&self.long).await?,
        };
        let any = room(&self.any).await?;
        let left = Arc::new(AtomicBool::new(false));
        let wanted = Wanted(Arc::clone(&left));
        let _leaving = Leaving(left);
        let first = Arc::new(Mutex::new(Some(first)));
        let of_work = Arc::clone(&first);
        let mut done = tokio::task::spawn_blocking(move || {
            let done = work(&wanted);
            drop((any, of_work));
            done
        });
        if expected == Expected::Short {
            tokio::select! {
                done = &mut done => return done.map_err(|_| failed()),
                () = tokio::time::sleep(SHORT) => {}
            }
            drop(first.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
        done.await.map_err(|_| failed())
    }
}

async fn room(semaphore: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Fault> {
    let permit = Arc::clone(semaphore).acquire_owned().await;
    permit.map_err(|_| failed())
}

fn failed() -> Fault {
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    Fault::new(status, "the request could not be read")
}

/// Tells work whether somebody still waits for it.
#[derive(Debug)]
pub(crate) struct Wanted(Arc<AtomicBool>);

impl Wanted {
    /// Ends work for which nobody waits; nobody is told, either.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        match self.0.load(Relaxed) {
            true => Err(Fault::bad("the client has gone")),
            false => Ok(()),
        }
    }
}

/// Somebody who waits for work, until this is dropped.
struct Leaving(Arc<AtomicBool>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[cfg(test)]
impl Wanted {
    /// Work for which somebody waits.
    pub(crate) fn always() -> Wanted {
        Wanted(Arc::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[tokio::test]
    async fn what_is_short_goes_past_what_is_long() {
        for expected in [Expected::Long, Expected::Short] {
            let work = Work::new(2);
            let (let_go, waits) = mpsc::channel::<()>();
            let long = work.run(expected, move |_| waits.recv().is_ok());
            // One of its kind is worked on, and the next waits its turn, unless it shows that the first takes long.
            let short = async {
                let short = |wanted: &Wanted| wanted.check().is_ok();
                let done = work.run(Expected::Short, short).await;
                let_go.send(()).map(|()| done)
            };
            let (long, short) = tokio::join!(long, short);
            assert_eq!((long, short), (Ok(true), Ok(Ok(true))), "{expected:?}");
        }
    }

    #[tokio::test]
    async fn work_ends_when_nobody_waits_for_it() {
        let work = Work::new(1);
        let (begin, has_begun) = tokio::sync::oneshot::channel();
        let (let_go, waits) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let running = work.run(Expected::Long, move |wanted| {
            let _has_begun = begin.send(());
            let _was_let_go = waits.recv();
            tell.send(wanted.check().is_err())
        });
        tokio::select! {
            _ = running => panic!("it waits"),
            begun = has_begun => assert!(begun.is_ok()),
        }
        assert!(let_go.send(()).is_ok());
        assert_eq!(told.recv(), Ok(true));
        // There is room for the next.
        assert_eq!(work.run(Expected::Long, |_| 7).await, Ok(7));
    }
}
