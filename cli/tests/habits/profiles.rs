//! Whom a response template is for: what is said is so for all commands, and what is advised helps.

use unjinja::{Value, json};

use crate::habits::program::Folder;

const FOREIGN: &str = r#"{
  "start_anchor": "<bot>",
  "defaults": {"role": "assistant", "kind": "x"},
  "fields": {
    "reasoning_content": {"open": "<think>", "close_pattern": "</think>\\s*"},
    "tool_calls": {"open_pattern": "<(?P<name>\\w+)>", "close": "</call>", "content": "json",
      "transform": {"name": "{name}", "arguments": "{content}"}},
    "content": {"close_pattern": "<end>\\s*"}
  }
}
"#;

/// A place with the template above, and one more of a format with reasoning.
fn place() -> Folder {
    let place = Folder::new();
    place.write("foreign.json", FOREIGN);
    place.write(
        "thinks.jinja",
        "{%- for m in messages %}{{ '<' + m.role + '>' }}\
         {%- if m.reasoning_content %}{{ '<think>' + m.reasoning_content + '</think>' }}{% endif %}\
         {{- m.content + '<end>' }}{%- endfor %}\
         {%- if add_generation_prompt %}{{ '<assistant>' }}{% endif %}",
    );
    place
}

#[test]
fn lint_says_who_takes_it_and_why_not() {
    let place = place();
    let outcome = place.run("lint foreign.json --for all --allow U006");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    insta::assert_snapshot!(outcome.stdout);
    // Without `--for` nobody in particular is asked.
    let outcome = place.run("lint foreign.json --allow U006");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(!outcome.stdout.contains("U017"), "{outcome:?}");
}

#[test]
fn programs_learn_who_does_not_take_it() {
    let place = place();
    let outcome = place.run("lint foreign.json --for vllm --format json");
    let found = json::read(&outcome.stdout).unwrap();
    let found = found.as_array().unwrap().iter();
    let text = |found: &Value, key: &str| found.get(key).and_then(Value::as_str).map(str::to_owned);
    let found: Vec<&Value> = found
        .filter(|found| text(found, "code").as_deref() == Some("U017"))
        .collect();
    assert!(!found.is_empty());
    for found in found {
        assert_eq!(text(found, "for").as_deref(), Some("vllm"), "{found:?}");
    }
}

#[test]
fn what_is_ported_is_taken() {
    let place = place();
    for target in ["vllm", "sglang", "trl", "transformers", "transformers@5.20"] {
        let refused = place.run(&format!("lint foreign.json --for {target} --deny U017"));
        assert_eq!(refused.code, Some(1), "{target}");
        let ported = place.run(&format!(
            "port foreign.json --for {target} -o {target}.json"
        ));
        assert_eq!(ported.code, Some(0), "{target}: {ported:?}");
        let told = ported.stderr.lines().last().unwrap();
        assert!(
            told.ends_with("texts are read alike, but for that"),
            "{told}"
        );
        let fine = place.run(&format!("lint {target}.json --for {target} --deny U017"));
        assert_eq!(fine.code, Some(0), "{target}: {fine:?}");
        // Once more there is nothing to do.
        let again = place.run(&format!("port {target}.json --for {target}"));
        assert_eq!(
            again.stderr,
            format!("{target}.json: nothing needs to change\n")
        );
        assert_eq!(again.stdout, place.read(&format!("{target}.json")));
    }
}

#[test]
fn what_cannot_be_ported_is_told() {
    let place = place();
    place.write(
        "odd.json",
        r#"{"start_anchor": "<bot>", "fields": {"content": {"content": "int"}}}"#,
    );
    let outcome = place.run("port odd.json --for sglang");
    assert_eq!(outcome.code, Some(1));
    insta::assert_snapshot!(outcome.stderr, @"
    odd.json: nothing needs to change
    odd.json: /fields/content/content: SGLang 0.5.23 refuses the template: `content` is not text as it stands there, but read by `int`: let `content` be `text`
    ");
    // `--allow` leaves that out of what lint says.
    let fine = place.run("lint odd.json --for sglang --allow not-suited");
    assert_eq!(fine.code, Some(0), "{fine:?}");
}

#[test]
fn diff_compares_what_is_handed_on() {
    let place = place();
    place.run("port foreign.json --for trl -o trl.json");
    place.run("port foreign.json --for vllm -o vllm.json");
    assert_eq!(place.run("diff vllm.json trl.json").code, Some(1));
    assert_eq!(
        place.run("diff vllm.json trl.json --for transformers").code,
        Some(1)
    );
    let error = place.error("diff vllm.json foreign.json --for vllm");
    let (what, remedy) = error.split_once('\n').unwrap();
    assert_eq!(
        what,
        "foreign.json: /fields/reasoning_content: vLLM 0.33.0 refuses the template: it knows no field \
         `reasoning_content`: call it `thinking`"
    );
    let command = remedy
        .split('`')
        .nth(1)
        .unwrap()
        .strip_prefix("unjinja ")
        .unwrap();
    let ported = place.run(&format!("{command} -o ported.json"));
    assert_eq!(ported.code, Some(0));
    assert_eq!(
        place.run("diff vllm.json ported.json --for vllm").code,
        Some(0)
    );
    // A name of the field makes no difference to those who take all of them.
    let renamed = place
        .read("vllm.json")
        .replace("\"thinking\"", "\"reasoning\"");
    place.write("renamed.json", renamed);
    assert_eq!(
        place
            .run("diff vllm.json renamed.json --for transformers")
            .code,
        Some(0)
    );
    assert_eq!(place.run("diff vllm.json renamed.json").code, Some(1));
}

#[test]
fn derive_takes_the_name_that_suits_all() {
    let place = place();
    for (options, name) in [
        ("", "thinking"),
        ("--for trl", "reasoning_content"),
        ("--for trl,vllm", "thinking"),
        ("--for transformers@5.20", "thinking"),
        ("--for all", "thinking"),
        ("--reasoning-field reasoning --for trl", "reasoning"),
    ] {
        let outcome = place.run(&format!("derive thinks.jinja {options}"));
        assert_eq!(outcome.code, Some(0), "{options}: {outcome:?}");
        let template = json::read(&outcome.stdout).unwrap();
        assert!(
            template.get("fields").unwrap().get(name).is_some(),
            "{options}"
        );
    }
    let outcome = place.run("derive thinks.jinja --reasoning-field reasoning --for vllm");
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.stderr.contains("vLLM 0.33.0 refuses it"),
        "{outcome:?}"
    );
    let report = place.run("derive thinks.jinja --for sglang --format json-report");
    let report = json::read(&report.stdout).unwrap();
    let verdict = &report.get("for").and_then(Value::as_array).unwrap()[0];
    assert_eq!(
        json::write(verdict),
        r#"{"name":"sglang","version":"0.5.23","effect":null,"since":"0.5.23"}"#
    );
}

#[test]
fn profiles_are_listed_with_their_sources() {
    let place = Folder::new();
    let people = place.run("port --list").stdout;
    let programs = json::read(&place.run("port --list --format json").stdout).unwrap();
    for profile in programs.as_array().unwrap() {
        let text = |value: &Value, key: &str| value.get(key).unwrap().as_str().unwrap().to_owned();
        assert!(people.contains(&format!(
            "\n  reads response templates since {}: ",
            text(profile, "since")
        )));
        for key in ["rules", "readings"] {
            for one in profile.get(key).unwrap().as_array().unwrap() {
                let source = one.get("source").unwrap();
                assert!(people.contains(&text(one, "says")));
                assert!(
                    people.contains(&text(source, "file"))
                        && people.contains(&text(source, "date"))
                );
            }
        }
    }
    for command in [
        "lint template.json",
        "port template.json",
        "diff template.json template.json",
        "derive chat.jinja",
    ] {
        let error = place.error(&format!("{command} --for vlm"));
        assert!(
            error.contains("did you mean `vllm`? (`unjinja port --list` lists them all)"),
            "{error}"
        );
    }
}
