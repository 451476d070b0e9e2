//! Formats as a maker of models might invent them, most of them in templates by somebody who had not read the derivation:
//! what is derived of them recovers, and what not.

#[cfg(feature = "grammar")]
#[path = "grammar/agreement.rs"]
mod agreement;
#[cfg(feature = "grammar")]
#[path = "grammar/sample.rs"]
mod sample;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use unjinja::chat_template::ChatTemplate;
use unjinja::derive::{DeriveOptions, derive};

fn templates() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/invented");
    let files = fs::read_dir(folder).expect("it is there");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    files
}

fn chat_template(path: &Path) -> ChatTemplate {
    let jinja = fs::read_to_string(path).expect("it is a text");
    let mut template = ChatTemplate::from_jinja(jinja);
    template.bos_token = Some("<s>".to_owned());
    template.eos_token = Some("</s>".to_owned());
    template
}

#[test]
fn invented_formats_are_recovered_as_far_as_is_known() {
    let mut table = String::new();
    for path in templates() {
        let name = path.file_stem().expect("a name").to_string_lossy();
        let template = chat_template(&path);
        match derive(&template, &DeriveOptions::default()) {
            Ok(derived) => {
                let (recovered, all) = (derived.recovered(), derived.proof.len());
                let _ = writeln!(table, "{name}: {recovered} of {all}");
                for row in derived
                    .proof
                    .iter()
                    .filter(|row| !row.recovery.is_recovered())
                {
                    let difference = row.recovery.difference().unwrap_or_default();
                    let _ = writeln!(table, "    {}: {difference}", row.name);
                }
            }
            Err(error) => {
                let _ = writeln!(table, "{name}: {error}");
            }
        }
    }
    insta::assert_snapshot!(table);
}

/// What grammars of these formats allow, the derived templates read into the same calls.
#[cfg(feature = "grammar")]
#[test]
fn what_grammars_of_invented_formats_allow_is_read() {
    let tools = [sample::mixed_tools()];
    let (mut faults, mut all) = (Vec::new(), 0);
    for path in templates() {
        let name = path.file_stem().expect("a name").to_string_lossy();
        let (samples, wrong) = agreement::try_template(&chat_template(&path), &tools, 7);
        all += samples;
        faults.extend(wrong.into_iter().map(|fault| format!("{name}: {fault}")));
    }
    assert!(all > 1000, "there are {all} samples only");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
