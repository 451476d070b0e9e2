//! Variables of chat templates, wherever one is rendered.

use crate::habits::program::{CHAT_TEMPLATE, Folder};

#[test]
fn every_command_that_renders_takes_them() {
    let place = Folder::new();
    let wanting = "{% if style is not defined or style.kind != 'plain' %}{{ raise_exception('which style?') }}\
        {% endif %}";
    place.write("wanting.jinja", format!("{wanting}{CHAT_TEMPLATE}"));
    place.write("messages.json", r#"[{"role": "user", "content": "Hi"}]"#);
    place.write(
        "outputs.jsonl",
        r#"{"prefix": "<assistant>", "text": "Hi<end>"}"#,
    );
    for (command, without) in [
        ("derive -q wanting.jinja", 2),
        ("analyze wanting.jinja", 1),
        ("caps wanting.jinja", 1),
        ("new wanting.jinja -o -", 2),
        ("check -t wanting.jinja outputs.jsonl", 2),
        ("render wanting.jinja -m messages.json", 1),
        ("lint template.json --chat-template wanting.jinja", 1),
        (
            "diff template.json template.json --chat-template wanting.jinja",
            2,
        ),
    ] {
        let outcome = place.run(command);
        assert_eq!(outcome.code, Some(without), "{command}: {outcome:?}");
        let all = outcome.stdout + &outcome.stderr;
        assert!(all.contains("which style?"), "{command}: {all}");
        let outcome = place.run(&format!("{command} --var style={{\"kind\":\"plain\"}}"));
        let all = outcome.stdout + &outcome.stderr;
        assert!(!all.contains("which style?"), "{command}: {all}");
        // What the linter has to say is another matter.
        let has_worked = outcome.code == Some(0) || command.starts_with("lint");
        assert!(has_worked, "{command}: {all}");
    }
}

#[test]
fn one_without_a_value_is_refused() {
    let place = Folder::new();
    let error = place.error("derive chat.jinja --var thinking");
    assert!(
        error.starts_with(
            "invalid value 'thinking' for '--var <NAME=VALUE>': write it as NAME=VALUE"
        ),
        "{error}"
    );
}

#[test]
fn a_fixture_has_no_key_for_them() {
    let place = Folder::new();
    let error = place.error("new chat.jinja --derive --var a=1");
    assert!(
        error.starts_with("`--derive` can't be combined with `--var`"),
        "{error}"
    );
}
