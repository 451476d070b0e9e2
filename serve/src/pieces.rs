//! Bytes on their way, in pieces that several ways may share.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Bytes;
use hyper::body::{Body, Frame, SizeHint};

/// So much is handed on at once: the rest is not taken before whoever is at the other end has taken that.
const AT_ONCE: usize = 64 << 10;

/// A text of several pieces, and what is kept until it is on its way.
#[derive(Debug)]
pub(crate) struct Pieces<K> {
    left: VecDeque<Bytes>,
    _kept: K,
}

impl<K> Pieces<K> {
    pub(crate) fn new(pieces: impl IntoIterator<Item = Bytes>, kept: K) -> Pieces<K> {
        let pieces = pieces.into_iter().filter(|piece| !piece.is_empty());
        Pieces {
            left: pieces.collect(),
            _kept: kept,
        }
    }
}

impl<K: Unpin> Body for Pieces<K> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(mut piece) = self.left.pop_front() else {
            return Poll::Ready(None);
        };
        if piece.len() > AT_ONCE {
            let rest = piece.split_off(AT_ONCE);
            self.left.push_front(rest);
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        let lengths = self.left.iter().map(Bytes::len);
        SizeHint::with_exact(u64::try_from(lengths.sum::<usize>()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
impl<K> Pieces<K> {
    /// All of them.
    pub(crate) fn text(&self) -> String {
        let pieces = self.left.iter();
        pieces.map(|piece| String::from_utf8_lossy(piece)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    #[test]
    fn all_comes_in_its_order_and_how_much_is_known() {
        let pieces = ["a", "", "bc"].map(Bytes::from);
        let long = Bytes::from(vec![b'x'; AT_ONCE + 1]);
        let mut pieces = Pieces::new(pieces.into_iter().chain([long]), ());
        let mut context = Context::from_waker(Waker::noop());
        let mut lengths = Vec::new();
        assert_eq!(pieces.size_hint().exact(), Some(AT_ONCE as u64 + 4));
        while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut pieces).poll_frame(&mut context) {
            lengths.extend(frame.into_data().map(|data| data.len()));
        }
        assert_eq!(lengths, [1, 2, AT_ONCE, 1]);
        assert!(pieces.is_end_stream());
    }
}
