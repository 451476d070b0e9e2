//! What is counted, as Prometheus reads it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use axum::http::StatusCode;

#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// By where they came in, and the code of their answers.
    answered: Mutex<BTreeMap<(&'static str, u16), u64>>,
    pub(crate) open: AtomicI64,
    pub(crate) clients_gone: AtomicU64,
    pub(crate) broken_off: AtomicU64,
    pub(crate) pieces: AtomicU64,
}

impl Metrics {
    pub(crate) fn count(&self, path: &'static str, status: StatusCode) {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        *answered.entry((path, status.as_u16())).or_default() += 1;
    }

    /// All of it, and how many bytes are held.
    pub(crate) fn to_text(&self, held: usize) -> String {
        let mut text = String::from(
            "# HELP unjinja_requests_total Requests, by the code of their answers.\n\
             # TYPE unjinja_requests_total counter\n",
        );
        let answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        for ((path, status), count) in answered.iter() {
            // Writing into a string can't fail.
            let _ = writeln!(
                text,
                "unjinja_requests_total{{path=\"{path}\",status=\"{status}\"}} {count}"
            );
        }
        let open = self.open.load(Relaxed).to_string();
        for (name, kind, help, value) in [
            (
                "unjinja_requests_open",
                "gauge",
                "Requests that are being answered.",
                open,
            ),
            (
                "unjinja_held_bytes",
                "gauge",
                "Bytes that requests and answers hold, each beyond its first 64 KiB.",
                held.to_string(),
            ),
            (
                "unjinja_clients_gone_total",
                "counter",
                "Answers whose clients went away before their end.",
                self.clients_gone.load(Relaxed).to_string(),
            ),
            (
                "unjinja_answers_broken_off_total",
                "counter",
                "Answers that broke off, since the upstream did, or an output could not be read.",
                self.broken_off.load(Relaxed).to_string(),
            ),
            (
                "unjinja_pieces_total",
                "counter",
                "Pieces of messages that were sent on.",
                self.pieces.load(Relaxed).to_string(),
            ),
        ] {
            let _ = writeln!(
                text,
                "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}"
            );
        }
        text
    }
}
