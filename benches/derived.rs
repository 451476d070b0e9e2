//! How fast the response templates that `derive` writes read outputs: those of the gallery, in chunks of
//! four bytes, as tokens come in, and whole.
//!
//! `cargo bench --bench derived` prints the median and the slowest of all for messages of growing size,
//! and for one size a line for each template; `cargo bench --bench derived -- NAME`, the line of one.

mod gallery;
mod reading;

use gallery::{Subject, subjects};
use reading::Figures;

const SIZES: [usize; 3] = [16 << 10, 256 << 10, 4 << 20];

/// The size for which each template has a line.
const SHOWN: usize = 256 << 10;

/// Of each time, the least of so many is taken.
const RUNS: usize = 20;

fn figures(subject: &Subject, bytes: usize) -> Figures {
    Figures::of(
        &subject.template,
        &subject.prefix,
        &subject.message(bytes),
        RUNS,
    )
}

/// The figure in the middle, and the worst one.
fn median_and_worst(
    figures: &[Figures],
    of: impl Fn(&Figures) -> f64,
    is_time: bool,
) -> (f64, f64) {
    let mut values: Vec<f64> = figures.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    let worst = if is_time {
        values.last()
    } else {
        values.first()
    };
    (values[values.len() / 2], worst.copied().unwrap_or_default())
}

fn print(name: &str, bytes: usize, figures: Figures) {
    println!(
        "{name:<28}{:>6} KiB{:>14.1}{:>14.1}{:>12.0}",
        bytes >> 10,
        figures.four_bytes,
        figures.token,
        figures.whole
    );
}

fn main() {
    let wanted = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    println!(
        "{:<28}{:>10}{:>14}{:>14}{:>12}",
        "template", "message", "ns a chunk", "ns a token", "whole MB/s"
    );
    let subjects = subjects(concat!(env!("CARGO_MANIFEST_DIR"), "/../derived"));
    if let Some(wanted) = wanted {
        for subject in subjects.iter().filter(|subject| subject.name == wanted) {
            for bytes in SIZES {
                print(&subject.name, bytes, figures(subject, bytes));
            }
        }
        return;
    }
    for bytes in SIZES {
        let figures = subjects.iter().map(|subject| {
            let figures = figures(subject, bytes);
            if bytes == SHOWN {
                print(&subject.name, bytes, figures);
            }
            figures
        });
        let figures: Vec<Figures> = figures.collect();
        let four_bytes = median_and_worst(&figures, |f| f.four_bytes, true);
        let token = median_and_worst(&figures, |f| f.token, true);
        let whole = median_and_worst(&figures, |f| f.whole, false);
        let of = |pick: fn((f64, f64)) -> f64| Figures {
            four_bytes: pick(four_bytes),
            token: pick(token),
            whole: pick(whole),
        };
        print("the median", bytes, of(|pair| pair.0));
        print("the slowest", bytes, of(|pair| pair.1));
    }
}
