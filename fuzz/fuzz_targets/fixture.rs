//! Any text is taken for a fixture, and for a response template to be linted: reading, checking and
//! updating come to an end, and a fixture that was updated has nothing to update any more.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use unjinja::check::{CheckOptions, Fixture};
use unjinja::lint::{LintOptions, lint};

fuzz_target!(|text: &str| {
    for path in ["nowhere/a.fixture.yaml", "nowhere/a.fixture.json"] {
        let path = Path::new(path);
        let Ok(fixture) = Fixture::parse(path, text.to_owned()) else {
            continue;
        };
        let complaints = lint(fixture.template(), &LintOptions::default());
        assert!(complaints.is_ok(), "nothing is rendered");
        let update = fixture.update(&CheckOptions::default());
        let updated = Fixture::parse(path, update.text).expect("it is still a fixture");
        assert_eq!(updated.cases().len(), fixture.cases().len());
        let again = updated.update(&CheckOptions::default());
        assert!(again.changes.is_empty());
        assert_eq!(again.left.len(), update.left.len());
    }
});
