//! The time that checks have taken, where there is a clock.

use std::time::{Duration, Instant};

use crate::chat_template::IS_BARE;

/// Measures the time since it was started. Where there is no clock, no time ever passes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stopwatch(Option<Instant>);

impl Stopwatch {
    pub(super) fn start() -> Stopwatch {
        Stopwatch((!IS_BARE).then(Instant::now))
    }

    pub(super) fn elapsed(self) -> Duration {
        self.0.map_or(Duration::ZERO, |start| start.elapsed())
    }
}
