//! Signals that end a program, put off while something is written.

/// Does something during which signals do not end the program; one that came meanwhile ends it then.
#[cfg(unix)]
pub(crate) fn deferred<T>(work: impl FnOnce() -> T) -> T {
    use std::sync::atomic::Ordering;
    let Some(watch) = unix::WATCH.as_ref() else {
        return work();
    };
    watch.ends_at_once.store(false, Ordering::SeqCst);
    let result = work();
    watch.ends_at_once.store(true, Ordering::SeqCst);
    let signal = watch.came.load(Ordering::SeqCst);
    if signal != 0 {
        let _never_comes_back = signal_hook::low_level::emulate_default_handler(signal as i32);
    }
    result
}

/// Whether a signal came that is put off, so that what takes long should end.
#[cfg(unix)]
pub(crate) fn has_come() -> bool {
    use std::sync::atomic::Ordering;
    let watch = unix::WATCH.as_ref();
    watch.is_some_and(|watch| watch.came.load(Ordering::SeqCst) != 0)
}

#[cfg(not(unix))]
pub(crate) fn has_come() -> bool {
    false
}

#[cfg(not(unix))]
pub(crate) fn deferred<T>(work: impl FnOnce() -> T) -> T {
    work()
}

#[cfg(unix)]
mod unix {
    use std::io;
    use std::sync::atomic::{AtomicBool, AtomicUsize};
    use std::sync::{Arc, LazyLock};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag;

    /// What is known of signals, from the first time that something is written.
    pub(super) struct Watch {
        /// Whether a signal does what it does by itself.
        pub(super) ends_at_once: Arc<AtomicBool>,
        /// The signal that came.
        pub(super) came: Arc<AtomicUsize>,
    }

    /// Where signals can't be watched, they end the program at any time.
    pub(super) static WATCH: LazyLock<Option<Watch>> = LazyLock::new(|| watch().ok());

    fn watch() -> io::Result<Watch> {
        let watch = Watch {
            ends_at_once: Arc::new(AtomicBool::new(true)),
            came: Arc::default(),
        };
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            // What is registered first comes first.
            flag::register_usize(signal, Arc::clone(&watch.came), signal as usize)?;
            flag::register_conditional_default(signal, Arc::clone(&watch.ends_at_once))?;
        }
        Ok(watch)
    }
}
