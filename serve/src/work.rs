//! Work that takes long, on threads on which nothing else waits: reading large JSON, rendering, making grammars.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use axum::http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::fault::Fault;

/// What is larger takes long, so that only a few such are worked on at once.
const LARGE: usize = 256 << 10;

/// One in so many of what is worked on may be large.
const SHARE_OF_LARGE: usize = 4;

/// Whether work on so many bytes is too much for a thread on which others wait.
pub(crate) fn is_large(bytes: usize) -> bool {
    bytes > LARGE
}

/// How much is worked on at once.
#[derive(Debug)]
pub(crate) struct Work {
    any: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

impl Work {
    pub(crate) fn new(most: usize) -> Work {
        Work {
            any: Arc::new(Semaphore::new(most)),
            large: Arc::new(Semaphore::new((most / SHARE_OF_LARGE).max(1))),
        }
    }

    /// Does work on so many bytes, as soon as there is room for it. When nobody waits for it any more, it does not begin, or ends early.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce(&Wanted) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let large = match is_large(bytes) {
            true => Some(room(&self.large).await?),
            false => None,
        };
        let any = room(&self.any).await?;
        let left = Arc::new(AtomicBool::new(false));
        let wanted = Wanted(Arc::clone(&left));
        let _leaving = Leaving(left);
        let done = tokio::task::spawn_blocking(move || {
            let done = work(&wanted);
            drop((any, large));
            done
        });
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
    async fn small_work_goes_past_large_work() {
        let work = Arc::new(Work::new(2));
        let (let_go, waits) = mpsc::channel::<()>();
        let large = work.run(LARGE + 1, move |_| waits.recv().is_ok());
        // Of what is large, one is worked on, and the other waits its turn.
        let other = work.run(LARGE + 1, |_| true);
        let small = async {
            let done = work.run(LARGE, |wanted| wanted.check().is_ok()).await;
            let_go.send(()).map(|()| done)
        };
        let (large, other, small) = tokio::join!(large, other, small);
        assert_eq!((large, other, small), (Ok(true), Ok(true), Ok(Ok(true))));
    }

    #[tokio::test]
    async fn work_ends_when_nobody_waits_for_it() {
        let work = Work::new(1);
        let (begin, has_begun) = tokio::sync::oneshot::channel();
        let (let_go, waits) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let running = work.run(1, move |wanted| {
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
        // What has not begun is not begun any more, and there is room for the next.
        assert_eq!(work.run(1, |_| 7).await, Ok(7));
    }
}
