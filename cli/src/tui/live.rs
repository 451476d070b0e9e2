//! A text while it comes in.

use std::io::Read;
use std::sync::mpsc::Sender;
use std::time::Instant;

use crate::incoming::{Fault, Incoming};

use super::message::Message;

/// No more is read of a text that never ends.
const MOST: usize = 64 << 20;

/// Hands on a text while it comes in, until it ends. Bytes that are no UTF-8 are shown as U+FFFD: what
/// comes from a model should be looked at all the same. In the end the first of them is reported.
///
/// ```
/// use std::sync::mpsc;
/// use unjinja_cli::tui::{Message, follow};
///
/// let (sender, receiver) = mpsc::channel();
/// follow(&b"so\xff far"[..], &sender);
/// let Ok(Message::Live(text, _)) = receiver.recv() else { panic!("it has come in") };
/// assert_eq!(text, "so\u{fffd} far");
/// let Ok(Message::LiveEnded(Some(fault))) = receiver.recv() else { panic!("it has ended") };
/// assert!(fault.starts_with("standard input: byte 2 is not valid UTF-8"));
/// ```
pub fn follow(source: impl Read, sender: &Sender<Message>) {
    let start = Instant::now();
    let mut incoming = Incoming::new(source);
    let mut left = MOST;
    let mut fault = None;
    let error = loop {
        let piece = match incoming.next() {
            Ok(Some(piece)) => piece,
            Ok(None) => break None,
            Err(error) => break Some(format!("standard input: {error}")),
        };
        fault = fault.or(piece.fault);
        let Some(fewer) = left.checked_sub(piece.text.len()) else {
            break Some(format!("standard input: only {} MiB are read", MOST >> 20));
        };
        left = fewer;
        if sender
            .send(Message::Live(piece.text, start.elapsed()))
            .is_err()
        {
            break None;
        }
    };
    let not_utf8 = fault.map(|Fault { offset, .. }| {
        format!("standard input: byte {offset} is not valid UTF-8: it is shown as U+FFFD")
    });
    let _nobody_listens = sender.send(Message::LiveEnded(error.or(not_utf8)));
}
