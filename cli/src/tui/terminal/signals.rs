//! The signals that end programs, and those that stop them for a while.

#[cfg(unix)]
pub(super) use unix::Signals;

#[cfg(unix)]
mod unix {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use rustix::process::{Signal, kill_current_process_group};
    use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    use signal_hook::{SigId, flag, low_level};

    /// Whoever stops a program does so within this time. One without a shell is not stopped at all.
    const TO_BE_STOPPED: Duration = Duration::from_millis(200);

    /// Watches for signals as long as it is there.
    pub(in super::super) struct Signals {
        came: Arc<AtomicUsize>,
        was_continued: Arc<AtomicBool>,
        registered: Vec<SigId>,
    }

    impl Signals {
        pub(in super::super) fn watch() -> io::Result<Signals> {
            let mut signals = Signals {
                came: Arc::default(),
                was_continued: Arc::default(),
                registered: Vec::new(),
            };
            for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
                let came = Arc::clone(&signals.came);
                let id = flag::register_usize(signal, came, signal as usize)?;
                signals.registered.push(id);
            }
            let continued = Arc::clone(&signals.was_continued);
            let id = flag::register(SIGCONT, continued)?;
            signals.registered.push(id);
            Ok(signals)
        }

        pub(in super::super) fn none_came(&self) -> bool {
            self.came.load(Ordering::Relaxed) == 0
        }

        /// Does what the signal that came would have done.
        pub(in super::super) fn obey(&self) {
            let signal = self.came.load(Ordering::Relaxed);
            if signal != 0 {
                let _never_comes_back = low_level::emulate_default_handler(signal as i32);
            }
        }

        /// Whether the program was stopped, and has been continued since this was asked last.
        pub(in super::super) fn was_continued(&self) -> bool {
            self.was_continued.swap(false, Ordering::Relaxed)
        }

        /// Stops the program, with all that runs in the same pipe, until the shell continues it.
        pub(in super::super) fn suspend(&self) -> io::Result<()> {
            self.was_continued.store(false, Ordering::Relaxed);
            kill_current_process_group(Signal::TSTP)?;
            // The signal may reach another thread, a moment later.
            let start = Instant::now();
            while !self.was_continued() && start.elapsed() < TO_BE_STOPPED {
                thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        }
    }

    impl Drop for Signals {
        fn drop(&mut self) {
            for id in self.registered.drain(..) {
                low_level::unregister(id);
            }
        }
    }
}

/// There are none.
#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub(super) fn watch() -> std::io::Result<Signals> {
        Ok(Signals)
    }

    pub(super) fn none_came(&self) -> bool {
        true
    }

    pub(super) fn obey(&self) {}

    pub(super) fn was_continued(&self) -> bool {
        false
    }

    pub(super) fn suspend(&self) -> std::io::Result<()> {
        Ok(())
    }
}
