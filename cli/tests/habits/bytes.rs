//! Outputs with bytes that are not UTF-8.

use insta::assert_snapshot;

use crate::habits::program::{Folder, Outcome};

fn shown(outcome: &Outcome) -> String {
    let told: String = outcome
        .stderr
        .lines()
        .map(|line| format!("! {line}\n"))
        .collect();
    format!("{}{told}exit {:?}", outcome.stdout, outcome.code)
}

#[test]
fn open_regions_close_and_the_message_comes_out() {
    let place = Folder::new();
    let arguments = "parse -t template.json --events";
    assert_snapshot!(shown(&place.run_with(arguments, b"<call>1</call>caf\xe9 and more")), @r#"
    {"type":"region_open","field":"calls"}
    {"type":"region_chunk","field":"calls","text":"1","dirty":true}
    {"type":"region_close","field":"calls","value":1}
    {"type":"region_open","field":"content"}
    {"type":"region_chunk","field":"content","text":"caf","dirty":false}
    {"type":"region_close","field":"content","value":"caf","at_end":true}
    {"type":"message","message":{"calls":[1],"content":"caf"}}
    ! error: standard input: byte 17 is not valid UTF-8: save the text as UTF-8, or read on with `--lossy`
    exit Some(2)
    "#);
    place.write("cut.txt", b"caf\xc3");
    assert_snapshot!(shown(&place.run("parse -t template.json cut.txt")), @r#"
    {
      "content": "caf"
    }
    ! error: cut.txt: byte 3 is not valid UTF-8: save the text as UTF-8, or read on with `--lossy`
    exit Some(2)
    "#);
}

#[test]
fn a_region_that_is_cut_within_its_value_is_reported_too() {
    let place = Folder::new();
    let outcome = place.run_with("parse -t template.json", b"<call>{\"a\": \"\xff\"}</call>");
    assert_eq!(outcome.code, Some(2));
    let errors: Vec<&str> = outcome.stderr.lines().collect();
    let [of_region, of_bytes] = errors.as_slice() else {
        panic!("{errors:?}");
    };
    assert!(of_region.starts_with("error: field `calls`"), "{of_region}");
    assert!(
        of_bytes.starts_with("error: standard input: byte 13 "),
        "{of_bytes}"
    );
}

#[test]
fn it_can_be_read_on() {
    let place = Folder::new();
    let arguments = "parse -t template.json --lossy";
    assert_snapshot!(shown(&place.run_with(arguments, b"caf\xe9, th\xe9<end>")), @r#"
    {
      "content": "caf�, th�"
    }
    ! warning: standard input: byte 3 is not valid UTF-8: it is read as U+FFFD, as are all that follow
    exit Some(0)
    "#);
    let line = b"{\"id\": 1, \"text\": \"caf\xe9\"}\n";
    let strict = place.run_with("parse -t template.json --jsonl -", line);
    assert_eq!((strict.code, strict.stdout.as_str()), (Some(2), ""));
    let lossy = place.run_with("parse -t template.json --lossy --jsonl -", line);
    assert_eq!(lossy.code, Some(0));
    assert!(
        lossy.stdout.contains(r#""message":{"content":"caf�"}"#),
        "{lossy:?}"
    );
}
