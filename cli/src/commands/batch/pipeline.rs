//! Work on many threads, whose results come in the order of what they were made of.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;

use crate::commands::Failure;

/// How many batches are in memory for each thread: that bounds what is held of a long input.
const BATCHES_PER_THREAD: usize = 4;

/// What the writer is given.
pub(crate) enum Step<T> {
    /// What came of the next batch.
    Next(T),
    /// Nothing is there yet, so that nobody should be kept waiting for what has been given.
    Idle,
}

/// Reads batches on one thread, works on them on as many as are asked for, and writes what comes of them on
/// this one, until nothing is left or the writer wants no more. A panic in the work is one of this thread.
pub(crate) fn run<In: Send, Out: Send>(
    threads: usize,
    mut read: impl FnMut() -> Result<Option<In>, Failure> + Send,
    work: impl Fn(In) -> Out + Sync,
    write: impl FnMut(Step<Out>) -> Result<ControlFlow<()>, Failure>,
) -> Result<(), Failure> {
    let window = threads * BATCHES_PER_THREAD;
    let (batch_sender, batches) = sync_channel::<(usize, In)>(window);
    let (answer_sender, answers) = sync_channel::<(usize, thread::Result<Out>)>(window);
    // A batch is read for a ticket, and the ticket comes back when its answers are written.
    let (ticket_sender, tickets) = sync_channel::<()>(window);
    for _ in 0..window {
        let _ = ticket_sender.send(());
    }
    let batches = Mutex::new(batches);
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            for number in 0.. {
                if tickets.recv().is_err() {
                    break;
                }
                let Some(batch) = read()? else {
                    break;
                };
                if batch_sender.send((number, batch)).is_err() {
                    break;
                }
            }
            Ok(())
        });
        for _ in 0..threads {
            let answer_sender = answer_sender.clone();
            let (batches, work) = (&batches, &work);
            scope.spawn(move || {
                while let Some((number, batch)) = next(batches) {
                    // An answer that never came would be waited for.
                    let answer = catch_unwind(AssertUnwindSafe(|| work(batch)));
                    if answer_sender.send((number, answer)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(answer_sender);
        let written = write_in_order(answers, write, || {
            // Nobody takes the ticket when all has been read.
            let _ = ticket_sender.send(());
        });
        drop(ticket_sender);
        let read = reader
            .join()
            .map_err(|_| Failure::Input("the input can't be read".into()))?;
        written?;
        read
    })
}

fn next<T>(batches: &Mutex<Receiver<T>>) -> Option<T> {
    batches.lock().ok()?.recv().ok()
}

fn write_in_order<Out>(
    answers: Receiver<(usize, thread::Result<Out>)>,
    mut write: impl FnMut(Step<Out>) -> Result<ControlFlow<()>, Failure>,
    mut is_written: impl FnMut(),
) -> Result<(), Failure> {
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    loop {
        let received = match answers.try_recv() {
            Ok(received) => Some(received),
            Err(TryRecvError::Disconnected) => None,
            Err(TryRecvError::Empty) => {
                if write(Step::Idle)?.is_break() {
                    return Ok(());
                }
                answers.recv().ok()
            }
        };
        let Some((number, answer)) = received else {
            return Ok(());
        };
        waiting.insert(number, answer);
        while let Some(answer) = waiting.remove(&next) {
            next += 1;
            let answer = answer.unwrap_or_else(|panic| resume_unwind(panic));
            if write(Step::Next(answer))?.is_break() {
                return Ok(());
            }
            is_written();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_in_the_work_ends_it() {
        let mut numbers = 0..1000;
        let mut written = Vec::new();
        let ended = catch_unwind(AssertUnwindSafe(|| {
            run(
                2,
                || Ok(numbers.next()),
                |number| {
                    assert_ne!(number, 20, "this one fails");
                    number
                },
                |step| {
                    if let Step::Next(number) = step {
                        written.push(number);
                    }
                    Ok(ControlFlow::Continue(()))
                },
            )
        }));
        assert!(ended.is_err());
        assert_eq!(written, (0..20).collect::<Vec<_>>());
    }
}
