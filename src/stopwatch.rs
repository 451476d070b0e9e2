//! How long something has taken, where there is a clock.

use std::time::{Duration, Instant};

/// WebAssembly without a system has no clock, and no threads.
pub(crate) const IS_BARE: bool = cfg!(all(target_family = "wasm", target_os = "unknown"));

/// Measures what has passed since it was started, by the clock and of the processor's time. Where there is no clock, no time ever
/// passes: what is counted keeps its limits, and whoever runs the library there stops what takes too long.
///
/// Limits go by the time that the thread has been running, so that a machine which is busy with other things gives up no sooner.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch {
    start: Option<Instant>,
    running_at_start: Option<Duration>,
}

impl Stopwatch {
    pub(crate) fn start() -> Stopwatch {
        Stopwatch {
            start: (!IS_BARE).then(Instant::now),
            running_at_start: running(),
        }
    }

    /// The time by the clock.
    #[cfg(feature = "check")]
    pub(crate) fn elapsed(self) -> Duration {
        self.start.map_or(Duration::ZERO, |start| start.elapsed())
    }

    /// How long the thread has been running, if it is the one that has started this; by the clock where a system does not tell.
    pub(crate) fn spent(self) -> Duration {
        match (running(), self.running_at_start) {
            (Some(now), Some(start)) => now.saturating_sub(start),
            _ => self.start.map_or(Duration::ZERO, |start| start.elapsed()),
        }
    }

    /// Whether the thread has been running for longer. The clock is asked first, which is cheap: a thread never runs for longer than
    /// has passed.
    pub(crate) fn has_spent(self, limit: Duration) -> bool {
        let has_passed = self.start.is_some_and(|start| start.elapsed() > limit);
        has_passed && self.spent() > limit
    }
}

/// How long this thread has been running so far.
#[cfg(unix)]
fn running() -> Option<Duration> {
    use rustix::time::{ClockId, clock_gettime};
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).ok()
}

#[cfg(not(unix))]
fn running() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_thread_that_waits_spends_nothing() {
        let watch = Stopwatch::start();
        std::thread::sleep(Duration::from_millis(30));
        assert!(!watch.has_spent(Duration::from_millis(25)));
        while watch.spent() < Duration::from_millis(1) {
            std::hint::spin_loop();
        }
        assert!(watch.has_spent(Duration::from_micros(500)));
    }
}
