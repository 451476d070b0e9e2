//! How long it takes to derive a response template, for each chat template of the gallery.
//!
//! `cargo bench --bench derive -- nothing` prints the summary alone.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use criterion::Criterion;
use unjinja::chat_template::ChatTemplate;
use unjinja::derive::{Derivation, DeriveOptions, derive};

/// The chat templates of the gallery, by name.
fn gallery() -> Vec<(String, ChatTemplate)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../chat_templates");
    let entries = fs::read_dir(folder).expect("the gallery is there");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let mut gallery: Vec<(String, ChatTemplate)> = paths
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "jinja")
        })
        .map(|path| {
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let source = fs::read_to_string(&path).expect("the template can be read");
            (name, ChatTemplate::from_jinja(source))
        })
        .collect();
    gallery.sort_by(|a, b| a.0.cmp(&b.0));
    gallery
}

/// The best of some runs.
fn time(template: &ChatTemplate) -> Duration {
    let run = || {
        let start = Instant::now();
        let derived = derive(black_box(template), &DeriveOptions::default());
        black_box(derived).expect("the gallery can be derived from");
        start.elapsed()
    };
    (0..5).map(|_| run()).min().unwrap_or_default()
}

/// The middle and the largest of some numbers.
fn spread(mut counts: Vec<usize>) -> String {
    counts.sort_unstable();
    format!(
        "{} to {}",
        counts[counts.len() / 2],
        counts[counts.len() - 1]
    )
}

fn main() {
    let gallery = gallery();
    let derivations: Vec<Derivation> = gallery
        .iter()
        .map(|(_, template)| {
            derive(template, &DeriveOptions::default()).expect("the gallery can be derived from")
        })
        .collect();
    let count = |of: fn(&Derivation) -> usize| spread(derivations.iter().map(of).collect());
    let mut times: Vec<(Duration, &str)> = gallery
        .iter()
        .map(|(name, template)| (time(template), name.as_str()))
        .collect();
    times.sort();
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    let (median, _) = times[times.len() / 2];
    let (slowest, name) = times[times.len() - 1];
    let all: Duration = times.iter().map(|(time, _)| *time).sum();
    println!(
        "| chat templates | median, ms | slowest, ms | all, ms | renderings | drafts | trials |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|");
    println!(
        "| {} | {:.1} | {:.1} ({name}) | {:.0} | {} | {} | {} |",
        times.len(),
        ms(median),
        ms(slowest),
        ms(all),
        count(|derivation| derivation.renderings),
        count(|derivation| derivation.drafts),
        count(|derivation| derivation.trials),
    );
    let mut criterion = Criterion::default().configure_from_args();
    for (name, template) in &gallery {
        criterion.bench_function(&format!("derive/{name}"), |bencher| {
            bencher.iter(|| derive(black_box(template), &DeriveOptions::default()));
        });
    }
    criterion.final_summary();
}
