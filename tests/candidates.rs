//! The drafts that deriving has tried and not chosen, for chat templates of the gallery.
use std::fs;
use std::path::PathBuf;

use insta::assert_snapshot;
use unjinja::ResponseTemplate;
use unjinja::chat_template::ChatTemplate;
use unjinja::derive::{Candidate, Derivation, DeriveOptions, Tally, derive};

use crate::root;

fn folder() -> PathBuf {
    root().join("chat_templates")
}

fn template(name: &str) -> ChatTemplate {
    let path = folder().join(name).with_extension("jinja");
    ChatTemplate::from_jinja(fs::read_to_string(path).unwrap())
}

fn with_candidates(name: &str) -> (Derivation, Vec<Candidate>) {
    Derivation::with_candidates(&template(name), &DeriveOptions::default()).unwrap()
}

/// One line for each candidate.
fn summary(name: &str) -> String {
    let count = |tally: Tally| format!("{}/{}", tally.recovered, tally.total);
    let lines = with_candidates(name).1.into_iter().map(|candidate| {
        let what = match candidate.is_chosen {
            true => "chosen".to_owned(),
            false => candidate.differences.join("; "),
        };
        format!(
            "{:7} {:7} {:7} {what}\n",
            count(candidate.rendered),
            count(candidate.synthetic),
            count(candidate.damaged),
        )
    });
    lines.collect()
}

#[test]
fn the_one_that_was_chosen_comes_first_with_the_figures_of_its_proof() {
    let entries = fs::read_dir(folder()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut several = 0;
    for name in names.filter(|name| name.ends_with(".jinja")) {
        let (derivation, candidates) = with_candidates(&name);
        let [chosen, others @ ..] = candidates.as_slice() else {
            panic!("{name}: there is none");
        };
        assert!(chosen.is_chosen && chosen.differences.is_empty(), "{name}");
        assert_eq!(chosen.template, derivation.template, "{name}");
        let rendered = (chosen.rendered.recovered, chosen.rendered.total);
        let proven = (derivation.recovered(), derivation.proof.len());
        assert_eq!(rendered, proven, "{name}");
        let damaged = derivation.damage();
        let recovered = damaged.iter().map(|row| row.recovered).sum();
        let total = damaged.iter().map(|row| row.total).sum();
        let proven = (recovered, total);
        let damaged = (chosen.damaged.recovered, chosen.damaged.total);
        assert_eq!(damaged, proven, "{name}");
        assert!(others.iter().all(|other| !other.is_chosen), "{name}");
        several += usize::from(!others.is_empty());
    }
    assert!(several > 20, "only {several} have several drafts");
}

#[test]
fn candidates_are_few_and_different_and_valid_and_say_how_they_differ() {
    for name in ["fenced-json-calls", "action-list", "channels"] {
        let (derivation, candidates) = with_candidates(name);
        assert!((2..=24).contains(&candidates.len()), "{name}");
        // Each draft, and what two other leniences make of the one that was chosen.
        assert!(candidates.len() <= derivation.drafts + 2, "{name}");
        for (at, candidate) in candidates.iter().enumerate() {
            let loaded = ResponseTemplate::from_value(&candidate.template);
            assert!(loaded.is_ok(), "{name}: {:?}", loaded.err());
            for other in &candidates[..at] {
                assert_ne!(candidate.template, other.template, "{name}");
                assert_ne!(candidate.differences, other.differences, "{name}");
            }
        }
    }
}

#[test]
fn what_is_derived_is_the_same_with_candidates_and_without() {
    for name in ["bare-json-call", "channels", "python-dict-calls"] {
        let (derivation, _) = with_candidates(name);
        let alone = derive(&template(name), &DeriveOptions::default()).unwrap();
        assert_eq!(derivation.template, alone.template, "{name}");
        assert_eq!(derivation.proof, alone.proof, "{name}");
        assert_eq!(derivation.drafts, alone.drafts, "{name}");
    }
}

#[test]
fn what_recovers_more_comes_first_and_renderings_count_most() {
    assert_snapshot!(summary("recipient-lines"), @"
    18/18   0/0     25/25   chosen
    8/18    0/0     8/25    text is everything else
    ");
    assert_snapshot!(summary("channels"), @"
    15/15   0/0     99/99   chosen
    15/15   0/0     73/99   no damage is tolerated
    15/15   0/0     76/99   headers hold only what the format writes
    13/15   0/0     82/99   text is everything else
    13/15   0/0     70/99   text is everything else; headers hold only what the format writes
    ");
}

#[test]
fn what_does_as_well_is_told_apart_by_what_it_does() {
    assert_snapshot!(summary("bare-json-call"), @"
    15/15   0/0     38/46   chosen
    15/15   0/0     38/46   calls can't begin within a text
    15/15   0/0     30/46   a call's name and its arguments are read one by one
    15/15   0/0     30/46   no damage is tolerated
    ");
    assert_snapshot!(summary("json-lines-section"), @"
    18/18   0/0     78/85   chosen
    18/18   0/0     85/85   all damage is tolerated
    18/18   0/0     70/85   a call's name and its arguments are read one by one
    18/18   0/0     64/85   no damage is tolerated
    ");
}

#[test]
fn where_nothing_is_left_open_there_is_one_alone() {
    assert_snapshot!(summary("plain-turns"), @"16/16   0/0     24/24   chosen");
}

#[test]
fn what_can_not_be_derived_has_no_candidates() {
    let nothing = ChatTemplate::from_jinja("always the same");
    let error = Derivation::with_candidates(&nothing, &DeriveOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        derive(&nothing, &DeriveOptions::default())
            .unwrap_err()
            .to_string()
    );
}
