//! What the benchmarks of reading share: texts, the ways in which they come in, and the times taken.

use std::hint::black_box;
use std::time::{Duration, Instant};

use unjinja::{ParserOptions, ResponseParser, ResponseTemplate, parse};

/// The lengths of the pieces that a model writes a text in, one after the other and over again.
const TOKENS: [usize; 16] = [4, 1, 5, 3, 7, 2, 4, 9, 3, 6, 1, 4, 12, 5, 3, 2];

/// So many chunks are timed together.
const STRETCH: usize = 4096;

/// How fast a text is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    /// Nanoseconds that a chunk of four bytes takes.
    pub(crate) four_bytes: f64,
    /// Nanoseconds that a token of one to twelve bytes takes.
    pub(crate) token: f64,
    /// Megabytes a second of the text in one piece.
    pub(crate) whole: f64,
}

impl Figures {
    /// Of a message, when each reading is timed so many times.
    pub(crate) fn of(template: &ResponseTemplate, prefix: &str, text: &str, runs: usize) -> Self {
        let of_chunks = |chunks: &[&str]| {
            let time = least_of_stretches(runs, template, prefix, chunks);
            time.as_nanos() as f64 / chunks.len() as f64
        };
        // One reading is quickly done, so there can be more.
        let whole = least(4 * runs, || {
            let message = parse(template, prefix, text, ParserOptions::default());
            black_box(message.expect("the message parses"));
        });
        Figures {
            four_bytes: of_chunks(&in_fours(text)),
            token: of_chunks(&in_tokens(text)),
            whole: text.len() as f64 / whole.as_secs_f64() / 1e6,
        }
    }
}

/// So many bytes of prose, with what prose has: lines, quotes, comparisons.
pub(crate) fn prose(bytes: usize) -> String {
    let lines = [
        "The caller asks for a summary, so the file has to be read before anything is said.\n",
        "If the count is < 10 it fits on a page; else \"more\" is shown, and the rest follows.\n",
        "Naïve splitting would cut the word in two — better to look for the next space.\n\n",
    ];
    let mut text: String = lines.iter().cycle().take(bytes / 60 + 1).copied().collect();
    text.truncate(text.floor_char_boundary(bytes));
    text
}

/// A text in pieces of four bytes.
pub(crate) fn in_fours(text: &str) -> Vec<&str> {
    in_pieces(text, &[4])
}

/// A text in pieces as long as tokens are.
pub(crate) fn in_tokens(text: &str) -> Vec<&str> {
    in_pieces(text, &TOKENS)
}

/// A text in pieces of these lengths, over and over again, or a little longer where a character would
/// be cut.
fn in_pieces<'t>(text: &'t str, lengths: &[usize]) -> Vec<&'t str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    for &length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(length));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Feeds all chunks and ends the message. Says of each stretch how long it took, of which the first makes the
/// parser and the last ends it.
pub(crate) fn stream_in_stretches(
    template: &ResponseTemplate,
    prefix: &str,
    chunks: &[&str],
    mut took: impl FnMut(Duration),
) {
    let mut start = Instant::now();
    let parser = ResponseParser::new(template, prefix, ParserOptions::default());
    let mut parser = parser.expect("the parser starts");
    for stretch in chunks.chunks(STRETCH) {
        for chunk in stretch {
            let fed = parser.feed_with(chunk, |event| {
                black_box(event);
            });
            fed.expect("the message parses");
        }
        took(start.elapsed());
        start = Instant::now();
    }
    black_box(parser.finalize_with(|_| {}).expect("the message parses"));
    took(start.elapsed());
}

/// The sum of the least times of several runs for each stretch of a message. A long message takes longer than
/// a busy machine leaves a program alone, so that no run of all of it is free of what others do.
fn least_of_stretches(
    runs: usize,
    template: &ResponseTemplate,
    prefix: &str,
    chunks: &[&str],
) -> Duration {
    let mut least = vec![Duration::MAX; chunks.len().div_ceil(STRETCH) + 1];
    for _ in 0..runs {
        let mut stretches = least.iter_mut();
        stream_in_stretches(template, prefix, chunks, |time| {
            if let Some(least) = stretches.next() {
                *least = time.min(*least);
            }
        });
    }
    least.iter().sum()
}

/// The least time of several runs: what is over it is the machine's doing.
pub(crate) fn least(runs: usize, mut run: impl FnMut()) -> Duration {
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..runs).map(time).min().unwrap_or_default()
}
