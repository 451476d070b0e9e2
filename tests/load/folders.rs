//! Folders as models are published.

use crate::load::support::Folder;

const CONFIG: (&str, &str) = (
    "tokenizer_config.json",
    r#"{"chat_template": "tokenizer", "eos_token": "e"}"#,
);

#[test]
fn the_first_file_with_a_template_counts() {
    let mut files = vec![
        ("processor_config.json", r#"{"chat_template": "processor"}"#),
        CONFIG,
        ("chat_template.json", r#"{"chat_template": "json"}"#),
        ("chat_template.jinja", "jinja"),
    ];
    while let Some((name, _)) = files.last().copied() {
        let folder = Folder::new(&files);
        let template = folder.load("");
        let file = template.origins.template.as_deref();
        assert_eq!(file, Some(name));
        assert_eq!(template.name, folder.file(name).display().to_string());
        let source = template.jinja;
        assert!(name.contains(&source), "{name}: {source}");
        assert_eq!(template.eos_token.is_some(), files.contains(&CONFIG));
        files.pop();
    }
}

#[test]
fn further_templates_are_variants() {
    let mut files = vec![
        CONFIG,
        ("additional_chat_templates/tool_use.jinja", "t"),
        ("additional_chat_templates/rag.jinja", "r"),
        ("additional_chat_templates/notes.txt", "no template"),
    ];
    assert_eq!(
        Folder::new(&files).error("", None),
        "DIR: there are several chat templates and none is called `default`: \
         ask for one of the variants `rag` and `tool_use`"
    );
    files.push(("chat_template.jinja", "d"));
    let folder = Folder::new(&files);
    let template = folder.load("");
    assert_eq!(template.jinja, "d");
    assert_eq!(template.variants, ["default", "rag", "tool_use"]);
    assert_eq!(template.variant.as_deref(), Some("default"));
    let template = folder.load_variant("", "rag");
    assert_eq!(template.jinja, "r");
    let origin = "additional_chat_templates/rag.jinja";
    assert_eq!(template.origins.template.as_deref(), Some(origin));
    assert_eq!(template.name, folder.file(origin).display().to_string());
    assert_eq!(template.eos_token.as_deref(), Some("e"));
}

#[test]
fn tokens_come_from_the_first_file_that_says_them() {
    let tokenizer = r#"{"version": "1.0", "added_tokens": [
        {"id": 5, "content": "five", "special": true},
        {"id": 4, "content": "four", "special": false},
        {"id": 3, "content": "three", "special": true}
    ], "model": {"vocab": not looked at"#;
    let folder = Folder::new(&[
        ("chat_template.jinja", "x"),
        (
            "special_tokens_map.json",
            r#"{"bos_token": "b", "eos_token": {"content": "e"}}"#,
        ),
        ("tokenizer.json", tokenizer),
    ]);
    let template = folder.load("");
    assert_eq!(template.bos_token.as_deref(), Some("b"));
    assert_eq!(template.eos_token.as_deref(), Some("e"));
    assert_eq!(template.special_tokens, ["b", "e", "three", "five"]);
    let origins = "special_tokens_map.json, tokenizer.json";
    assert_eq!(template.origins.special_tokens.as_deref(), Some(origins));

    // Later files only add what is missing.
    folder.write(
        "tokenizer_config.json",
        r#"{"eos_token": "E", "extra_special_tokens": ["x"]}"#,
    );
    let template = folder.load("");
    assert_eq!(template.bos_token.as_deref(), Some("b"));
    assert_eq!(
        template.origins.bos_token.as_deref(),
        Some("special_tokens_map.json")
    );
    assert_eq!(template.eos_token.as_deref(), Some("E"));
    assert_eq!(template.special_tokens, ["x", "E", "b", "e"]);

    // What nobody needs may be broken.
    let complete = r#"{"bos_token": "b", "eos_token": "e", "added_tokens_decoder": {}}"#;
    folder.write("tokenizer_config.json", complete);
    folder.write("special_tokens_map.json", "broken");
    folder.write("processor_config.json", "broken");
    assert_eq!(folder.load("").special_tokens, ["b", "e"]);
}

#[test]
fn folders_without_a_template() {
    let folder = Folder::new(&[("config.json", "{}"), ("tokenizer_config.json", "{}")]);
    let none = "DIR: there is no chat template in it: none of chat_template.jinja, \
                chat_template.json, tokenizer_config.json, processor_config.json has one";
    assert_eq!(
        folder.error("", None),
        format!("{none}; take it from the folder of the instruct or chat version of the model")
    );
    folder.write("model.gguf", "");
    assert_eq!(
        folder.error("", Some("x")),
        format!("{none}; but there is model.gguf, which may have one: give that")
    );
    folder.write("tokenizer_config.json", "{]");
    assert_eq!(
        folder.error("", None),
        "DIR/tokenizer_config.json:1:2: this is not JSON: expected a key in double quotes"
    );
}
