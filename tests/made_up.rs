//! Formats that nobody has thought of: made up by chance, written as chat templates, derived, and
//! tried on conversations of the test's own.
//!
//! Which formats are made up depends on nothing but a seed. These variables of the environment
//! change what is tried:
//!
//! - `MADE_UP_FORMATS`: how many formats, 500 if not given;
//! - `MADE_UP_SEED`: another seed, other formats;
//! - `MADE_UP_ONLY`: the number of a single format, of which everything is printed;
//! - `MADE_UP_SHOW`: how many failing formats are shown, 5 if not given. Each is made as simple as
//!   it can be without losing its fault.
//!
//! ```console
//! $ MADE_UP_SEED=7 MADE_UP_FORMATS=5000 cargo test --test made_up -- --nocapture
//! ```
#![cfg(feature = "chat-template")]

#[path = "made_up/format.rs"]
mod format;
#[path = "made_up/jinja.rs"]
mod jinja;
#[path = "made_up/random.rs"]
mod random;
#[path = "made_up/simplify.rs"]
mod simplify;
#[path = "made_up/talk.rs"]
mod talk;
#[path = "made_up/trial.rs"]
mod trial;

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use trial::{Outcome, try_number};

/// What is asked for by a variable of the environment.
fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Tries formats on two threads, each taking the next when it is free.
fn try_all(seed: u64, count: u64) -> Vec<Outcome> {
    let next = AtomicU64::new(0);
    let work = || {
        let mut outcomes = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return outcomes;
            }
            outcomes.push(try_number(seed, number));
        }
    };
    let mut outcomes: Vec<Outcome> = thread::scope(|scope| {
        let workers = [scope.spawn(work), scope.spawn(work)];
        let done = workers.map(|worker| worker.join().expect("the test can write its formats"));
        done.into_iter().flatten().collect()
    });
    outcomes.sort_by_key(|outcome| outcome.number);
    outcomes
}

fn described(outcome: &Outcome) -> String {
    let mut text = format!(
        "== format {}\n{:#?}\n-- chat template\n{}\n-- response template\n{}\n",
        outcome.number, outcome.format, outcome.chat_template, outcome.derived
    );
    for wrong in outcome.wrong.iter().take(3) {
        let prompt = wrong.prompt.len();
        let tail = wrong.prompt.char_indices().map(|(at, _)| at);
        let tail = tail
            .rev()
            .nth(50)
            .map_or(&wrong.prompt[..], |at| &wrong.prompt[at..prompt]);
        let _ = writeln!(
            text,
            "-- {}: {}\n   prompt …{tail:?}\n   output {:?}",
            wrong.case, wrong.why, wrong.output
        );
    }
    text
}

#[test]
fn formats_that_nobody_has_thought_of() {
    let seed = asked("MADE_UP_SEED").unwrap_or(1);
    if let Some(number) = asked("MADE_UP_ONLY") {
        let outcome = try_number(seed, number);
        println!("{}", described(&outcome));
        return;
    }
    let count = asked("MADE_UP_FORMATS").unwrap_or(500);
    let outcomes = try_all(seed, count);
    let failing: Vec<&Outcome> = outcomes.iter().filter(|o| !o.wrong.is_empty()).collect();
    let messages: usize = outcomes.iter().map(|o| o.tried).sum();
    let lost: usize = failing.iter().map(|o| o.wrong.len()).sum();
    let good = outcomes.len() - failing.len();
    let mut report = format!(
        "{good} of {count} formats are recovered, that is {:.1} %; of {messages} messages, {lost} are not\n",
        100.0 * good as f64 / count as f64
    );
    for outcome in &failing {
        let wrong = &outcome.wrong[0];
        let _ = writeln!(
            report,
            "format {}: {}: {:.150}",
            outcome.number, wrong.case, wrong.why
        );
    }
    for outcome in failing
        .iter()
        .take(asked("MADE_UP_SHOW").unwrap_or(5) as usize)
    {
        let simple = simplify::simplified(seed, outcome);
        report.push_str(&described(&simple));
    }
    assert!(good as u64 * 100 >= count * 99, "{report}");
    println!("{report}");
}
