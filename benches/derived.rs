//! How fast the response templates that `derive` writes read outputs: those of the gallery, in chunks of
//! four bytes, as tokens come in, and whole.
//!
//! `cargo bench --bench derived` prints the median and the slowest of all for messages of growing size,
//! and for one size a line for each template; `cargo bench --bench derived -- NAME`, the line of one.

use std::path::Path;

use unjinja::check::{Case, Fixture, find};
use unjinja::{ParserOptions, ResponseTemplate, parse};

mod reading;

use reading::{Figures, prose};

const SIZES: [usize; 3] = [16 << 10, 256 << 10, 4 << 20];

/// The size for which each template has a line.
const SHOWN: usize = 256 << 10;

/// Of each time, the least of so many is taken.
const RUNS: usize = 20;

/// A template of the gallery, and a message for it.
struct Subject {
    name: String,
    template: ResponseTemplate,
    prefix: String,
    /// An output that has most in it.
    output: String,
    /// Those of its texts that can be longer.
    texts: Vec<String>,
}

impl Subject {
    /// A message of so many bytes: long texts stand in place of its own.
    fn message(&self, bytes: usize) -> String {
        let long = prose(bytes / self.texts.len().max(1));
        let texts = self.texts.iter();
        texts.fold(self.output.clone(), |output, text| {
            output.replacen(text, long.trim_end(), 1)
        })
    }

    fn figures(&self, bytes: usize) -> Figures {
        Figures::of(&self.template, &self.prefix, &self.message(bytes), RUNS)
    }
}

/// The thought and the text that a template reads out of an output, as far as they stand there.
fn texts(template: &ResponseTemplate, case: &Case) -> Vec<String> {
    let message = parse(
        template,
        &case.prefix,
        &case.output,
        ParserOptions::default(),
    );
    let message = message.unwrap_or_default();
    let values = ["thinking", "content"].map(|key| message.get(key).and_then(|text| text.as_str()));
    let texts = values.into_iter().flatten().map(str::to_owned);
    texts.filter(|text| case.output.contains(text)).collect()
}

/// The case of a fixture that has most in it.
fn subject(fixture: &Fixture, name: String) -> Option<Subject> {
    let template = fixture.template();
    let cases = fixture.cases().iter();
    let case = cases.max_by_key(|case| (texts(template, case).len(), case.output.len()))?;
    Some(Subject {
        name,
        template: template.clone(),
        prefix: case.prefix.clone(),
        output: case.output.clone(),
        texts: texts(template, case),
    })
}

fn subjects() -> Vec<Subject> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("derived");
    let paths = find(&[folder]);
    let subjects = paths.iter().filter_map(|path| {
        let fixture = Fixture::load(path).expect("the fixtures of the gallery load");
        let name = path.file_name()?.to_string_lossy();
        subject(&fixture, name.split('.').next()?.to_owned())
    });
    subjects.collect()
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
    let subjects = subjects();
    if let Some(wanted) = wanted {
        for subject in subjects.iter().filter(|subject| subject.name == wanted) {
            for bytes in SIZES {
                print(&subject.name, bytes, subject.figures(bytes));
            }
        }
        return;
    }
    for bytes in SIZES {
        let figures = subjects.iter().map(|subject| {
            let figures = subject.figures(bytes);
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
