//! A text while it comes in.

use std::io::{ErrorKind, Read};
use std::sync::mpsc::Sender;
use std::time::Instant;

use super::message::Message;

/// How much is read at a time.
const BLOCK: usize = 64 << 10;

/// No more is read of a text that never ends.
const MOST: usize = 64 << 20;

/// Hands on a text while it comes in, until it ends. Bytes that are no UTF-8 are shown as U+FFFD: what
/// comes from a model should be looked at all the same.
///
/// ```
/// use std::sync::mpsc;
/// use unjinja_cli::tui::{Message, follow};
///
/// let (sender, receiver) = mpsc::channel();
/// follow(&b"so\xff far"[..], &sender);
/// let Ok(Message::Live(text, _)) = receiver.recv() else { panic!("it has come in") };
/// assert_eq!(text, "so\u{fffd} far");
/// assert!(matches!(receiver.recv(), Ok(Message::LiveEnded(None))));
/// ```
pub fn follow(mut source: impl Read, sender: &Sender<Message>) {
    let start = Instant::now();
    let mut block = vec![0; BLOCK];
    // The block begins with this many bytes of a character that is not complete.
    let mut kept = 0;
    let mut left = MOST;
    let error = loop {
        let read = match source.read(&mut block[kept..]) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => break Some(format!("standard input: {error}")),
        };
        let (text, rest) = decoded(&block[..kept + read], read == 0);
        let used = kept + read - rest;
        let Some(fewer) = left.checked_sub(text.len()) else {
            break Some(format!("standard input: only {} MiB are read", MOST >> 20));
        };
        left = fewer;
        let is_sent = text.is_empty() || sender.send(Message::Live(text, start.elapsed())).is_ok();
        if read == 0 || !is_sent {
            break None;
        }
        block.copy_within(used..used + rest, 0);
        kept = rest;
    };
    let _nobody_listens = sender.send(Message::LiveEnded(error));
}

/// The text of some bytes, and how many of them, at their end, may be the beginning of a character.
fn decoded(bytes: &[u8], is_end: bool) -> (String, usize) {
    let mut text = String::new();
    let mut rest = 0;
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        let invalid = chunk.invalid();
        let at_end = invalid.as_ptr_range().end == bytes.as_ptr_range().end;
        let may_go_on =
            std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
        match invalid {
            [] => {}
            _ if at_end && may_go_on && !is_end => rest = invalid.len(),
            _ => text.push(char::REPLACEMENT_CHARACTER),
        }
    }
    (text, rest)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// A source that gives away a few bytes at a time.
    struct Slow<'b>(&'b [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, block: &mut [u8]) -> std::io::Result<usize> {
            let taken = self.1.min(self.0.len()).min(block.len());
            block[..taken].copy_from_slice(&self.0[..taken]);
            self.0 = &self.0[taken..];
            Ok(taken)
        }
    }

    #[test]
    fn characters_are_put_together_and_other_bytes_are_shown() {
        for (bytes, expected) in [
            ("aé日😀\u{301}z".as_bytes(), "aé日😀\u{301}z"),
            (b"ab\xffcd", "ab\u{fffd}cd"),
            (b"\xe6\x97x", "\u{fffd}x"),
            (b"end\xe6\x97", "end\u{fffd}"),
            (b"", ""),
        ] {
            for step in 1..6 {
                let (sender, receiver) = mpsc::channel();
                follow(Slow(bytes, step), &sender);
                let texts = receiver.try_iter().filter_map(|message| match message {
                    Message::Live(text, _) => Some(text),
                    _ => None,
                });
                assert_eq!(texts.collect::<String>(), expected, "{bytes:?} by {step}");
            }
        }
    }
}
