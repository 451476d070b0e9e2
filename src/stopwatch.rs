//! How long something has taken, where there is a clock.

use std::time::{Duration, Instant};

/// WebAssembly without a system has no clock, and no threads.
pub(crate) const IS_BARE: bool = cfg!(all(target_family = "wasm", target_os = "unknown"));

/// Measures the time since it was started. Where there is no clock, no time ever passes: what is counted keeps
/// its limits, and whoever runs the library there stops what takes too long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(Option<Instant>);

impl Stopwatch {
    pub(crate) fn start() -> Stopwatch {
        Stopwatch((!IS_BARE).then(Instant::now))
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.map_or(Duration::ZERO, |start| start.elapsed())
    }
}
