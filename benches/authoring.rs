//! How long it takes to lint a chat template, and how many turns a second a bridge leads to the next, for the chat
//! templates of the gallery.
//!
//! `cargo bench --bench authoring -- nothing` prints the summary alone.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use criterion::Criterion;
use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::conversation::{Bridge, BridgeWriter};
use unjinja::json;
use unjinja::lint::{LintOptions, lint_chat_template};

/// The chat templates of the gallery, by name.
fn gallery() -> Vec<(String, ChatTemplate)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../chat_templates");
    let entries = fs::read_dir(folder).expect("the gallery is there");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let templates = paths.filter(|path| path.extension().is_some_and(|end| end == "jinja"));
    let mut gallery: Vec<(String, ChatTemplate)> = templates
        .map(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let jinja = fs::read_to_string(&path).expect("the template can be read");
            (name.into_owned(), ChatTemplate::from_jinja(jinja))
        })
        .collect();
    gallery.sort_by(|a, b| a.0.cmp(&b.0));
    gallery
}

/// Two turns, and the question behind them.
fn conversation() -> RenderInput {
    let messages = r#"[
        {"role": "user", "content": "What is four times four?"},
        {"role": "assistant", "content": "Sixteen."},
        {"role": "user", "content": "And five times five?"},
        {"role": "assistant", "content": "It is twenty-five."},
        {"role": "user", "content": "And six times six?"}
    ]"#;
    RenderInput {
        messages: json::read(messages).expect("it is JSON"),
        add_generation_prompt: true,
        ..RenderInput::default()
    }
}

fn bridged(writer: &BridgeWriter<'_>, conversation: &RenderInput) {
    let text = writer.text(black_box(conversation), "It is twenty-five.");
    black_box(text).ok();
}

/// The best of some runs.
fn best(mut run: impl FnMut()) -> Duration {
    let times = (0..7).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed()
    });
    times.min().unwrap_or_default()
}

fn main() {
    let gallery = gallery();
    let conversation = conversation();
    let mut linting: Vec<Duration> = Vec::new();
    let mut bridging: Vec<(Duration, &str)> = Vec::new();
    for (name, template) in &gallery {
        linting.push(best(|| {
            black_box(lint_chat_template(template, &LintOptions::default())).ok();
        }));
        let Ok(bridge) = Bridge::of(template, &RenderInput::default()) else {
            continue;
        };
        let writer = bridge.writer().expect("the template is valid");
        const TURNS: u32 = 200;
        let many = || (0..TURNS).for_each(|_| bridged(&writer, &conversation));
        bridging.push((best(many) / TURNS, name));
    }
    linting.sort();
    bridging.sort();
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    let a_second = |time: Duration| 1.0 / time.as_secs_f64().max(1e-9);
    let (longest, slowest) = bridging[bridging.len() - 1];
    println!(
        "| chat templates | lint, median, ms | slowest, ms | turns a second, median | slowest | of |"
    );
    println!("|---:|---:|---:|---:|---:|---|");
    println!(
        "| {} | {:.1} | {:.1} | {:.0} | {:.0} | `{slowest}` |",
        gallery.len(),
        ms(linting[linting.len() / 2]),
        ms(linting[linting.len() - 1]),
        a_second(bridging[bridging.len() / 2].0),
        a_second(longest),
    );
    let mut criterion = Criterion::default().configure_from_args();
    for (name, template) in &gallery {
        criterion.bench_function(&format!("lint/{name}"), |bencher| {
            bencher.iter(|| lint_chat_template(black_box(template), &LintOptions::default()));
        });
    }
    criterion.final_summary();
}
