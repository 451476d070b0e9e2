//! What errors advise, and that it helps.

use crate::habits::program::Folder;

#[test]
fn an_empty_file_is_called_so() {
    let place = Folder::new();
    place.write("empty.jinja", "\n");
    place.write("comment.jinja", "{# nothing #}");
    assert_eq!(
        place.error("derive empty.jinja"),
        "empty.jinja: the file is empty: give a chat template, such as the chat_template.jinja of a model"
    );
    assert!(
        place
            .error("derive comment.jinja")
            .contains("never rendered")
    );
    assert_eq!(place.run("derive chat.jinja").code, Some(0));
}

#[test]
fn a_time_is_shown_how_to_be_written() {
    let place = Folder::new();
    let error = place.error("derive chat.jinja --now yesterday");
    let told = "invalid value 'yesterday' for '--now <TIME>': this is not a time: write it as ";
    let time = error.strip_prefix(told).unwrap().lines().next().unwrap();
    assert_eq!(
        place.run(&format!("derive chat.jinja --now {time}")).code,
        Some(0)
    );
}

#[test]
fn a_template_that_is_not_valid_is_called_so() {
    let place = Folder::new();
    place.write("bad.jinja", "{% if %}");
    place.write("picky.jinja", "{{ raise_exception('no') }}");
    for command in [
        "derive X",
        "analyze X",
        "caps X",
        "read X",
        "mask X --tag",
        "lint template.json --chat-template X",
    ] {
        for (file, meaning) in [
            (
                "bad.jinja",
                "bad.jinja: this is not a valid chat template: unexpected end of block",
            ),
            (
                "picky.jinja",
                "picky.jinja: not even a question can be rendered: no",
            ),
        ] {
            let outcome = place.run(&command.replace('X', file));
            assert!(
                (outcome.stdout + &outcome.stderr).contains(meaning),
                "{command}"
            );
        }
    }
}

#[test]
fn a_byte_order_mark_is_not_in_the_way() {
    let place = Folder::new();
    let mark = "\u{feff}";
    place.write(
        "messages.json",
        format!("{mark}[{{\"role\": \"user\", \"content\": \"Hi\"}}]"),
    );
    place.write(
        "config.json",
        format!("{mark}{{\"chat_template\": \"{{{{ messages[0].content }}}}\"}}"),
    );
    place.write(
        "template.json",
        format!("{mark}{}", place.read("template.json")),
    );
    place.write(
        "lines.jsonl",
        format!("{mark}{{\"id\": 1, \"text\": \"Hi\"}}\n"),
    );
    assert_eq!(
        place.run("render config.json -m messages.json").stdout,
        "Hi"
    );
    for command in [
        "lint template.json",
        "check",
        "parse -t template.json --jsonl lines.jsonl",
    ] {
        assert_eq!(place.run(command).code, Some(0), "{command}");
    }
}

#[test]
fn a_mistake_in_the_settings_is_theirs() {
    let place = Folder::new();
    for (paths, told) in [
        (
            "none",
            "unjinja.toml: [check] paths: there is nothing at none: name an existing path, relative to the \
             folder of unjinja.toml",
        ),
        (
            "*.fixture.yaml",
            "unjinja.toml: [check] paths: there is nothing at *.fixture.yaml: patterns are not supported: \
             name a folder to check all fixtures in it",
        ),
    ] {
        place.write("unjinja.toml", format!("[check]\npaths = [\"{paths}\"]\n"));
        assert_eq!(place.error("check"), told);
    }
    place.write("unjinja.toml", "[check]\npaths = [\".\"]\n");
    assert_eq!(place.run("check").code, Some(0));
}

#[test]
fn a_fixture_is_not_taken_for_a_response_template() {
    let place = Folder::new();
    let told = "good.fixture.yaml: this is a fixture: check it with `unjinja check`, and give the response \
        template that it names here";
    assert_eq!(place.error("parse -t good.fixture.yaml"), told);
    let template = place.read("template.json");
    place.write(
        "out.fixture.json",
        format!("{{\"response_template\": {template}, \"cases\": []}}"),
    );
    assert_eq!(place.run("lint out.fixture.json").code, Some(0));
    let lint = place.run("lint good.fixture.yaml");
    assert_eq!(lint.code, Some(2));
    assert!(
        lint.stdout.contains("this is a fixture: check it with"),
        "{lint:?}"
    );
    assert_eq!(place.run("check good.fixture.yaml").code, Some(0));
    assert_eq!(place.run("lint template.json").code, Some(0));
}

#[test]
fn a_key_that_is_null_is_no_key() {
    let place = Folder::new();
    place.write(
        "config.json",
        r#"{"chat_template": null, "response_template": null}"#,
    );
    assert!(
        place
            .error("derive config.json")
            .contains("it has no `chat_template`")
    );
    assert!(
        place
            .error("parse -t config.json")
            .contains("has no `response_template`")
    );
    place.write("request.json", r#"{"messages": null}"#);
    let error = place.error("render chat.jinja -m request.json");
    assert_eq!(
        error,
        "request.json: expected a list of messages, found an object"
    );
}

/// What can't be looked at is not missing. Root may look at all there is, but not through a circle.
#[cfg(unix)]
#[test]
fn what_can_not_be_looked_at_is_not_called_missing() {
    let place = Folder::new();
    std::os::unix::fs::symlink("circle", place.at("circle")).unwrap();
    std::fs::create_dir(place.at("model")).unwrap();
    let config = place.at("model/tokenizer_config.json");
    std::os::unix::fs::symlink("tokenizer_config.json", config).unwrap();
    for command in [
        "derive circle/chat.jinja",
        "derive model",
        "parse -t model",
        "derive chat.jinja -o circle/x.json",
    ] {
        let error = place.error(command);
        assert!(
            error.contains("symbolic links") || error.contains("circle"),
            "{command}: {error}"
        );
        assert!(!error.contains("there is no"), "{command}: {error}");
    }
}
