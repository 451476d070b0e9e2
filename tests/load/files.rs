//! Files of text and of JSON.

use std::fs::File;

use proptest::prelude::*;

use unjinja::chat_template::{ModelId, Source};

use crate::load::support::{Folder, load};

#[test]
fn a_file_of_text_is_a_template() {
    for name in ["chat_template.jinja", "x.j2", "x", "x.txt"] {
        let text = "{ {{- messages -}} }\r\n\u{feff}";
        let folder = Folder::new(&[(name, text)]);
        let template = folder.load(name);
        assert_eq!(template.jinja, text);
        assert_eq!(template.name, folder.file(name).display().to_string());
        assert_eq!(template.origins.template.as_deref(), Some(name));
        assert_eq!((template.bos_token, template.eos_token), (None, None));
        assert!(template.special_tokens.is_empty() && template.variants.is_empty());
        assert_eq!(template.variant, None);
        assert_eq!(folder.load_variant(name, "default").jinja, text);
    }
}

#[test]
fn text_takes_tokens_from_the_configuration_beside_it() {
    let folder = Folder::new(&[
        ("mine.jinja", "mine"),
        (
            "tokenizer_config.json",
            r#"{"bos_token": "<s>", "chat_template": "theirs"}"#,
        ),
        (
            "special_tokens_map.json",
            r#"{"eos_token": {"content": "</s>"}}"#,
        ),
        ("additional_chat_templates/rag.jinja", "rag"),
    ]);
    for (name, source) in [
        ("mine.jinja", "mine"),
        ("additional_chat_templates/rag.jinja", "rag"),
    ] {
        let template = folder.load(name);
        assert_eq!(template.jinja, source);
        assert_eq!(template.bos_token.as_deref(), Some("<s>"));
        assert_eq!(template.eos_token.as_deref(), Some("</s>"));
        assert_eq!(
            template.origins.bos_token.as_deref(),
            Some("tokenizer_config.json")
        );
        assert_eq!(
            template.origins.eos_token.as_deref(),
            Some("special_tokens_map.json")
        );
        assert_eq!(template.special_tokens, ["<s>", "</s>"]);
        assert_eq!(
            template.origins.special_tokens.as_deref(),
            Some("tokenizer_config.json, special_tokens_map.json")
        );
    }
    // Other files alone are no sign of a model.
    let folder = Folder::new(&[("x.jinja", "x"), ("special_tokens_map.json", "broken")]);
    assert_eq!(folder.load("x.jinja").eos_token, None);
}

#[test]
fn json_says_what_the_tokens_are() {
    let config = r#"{
        "bos_token": null,
        "eos_token": {"__type": "AddedToken", "content": "<|end|>", "special": true},
        "pad_token": "<pad>",
        "add_bos_token": true,
        "added_tokens_decoder": {
            "10": {"content": "ten", "special": true},
            "9": {"content": "nine", "special": true},
            "8": {"content": "eight", "special": false},
            "7": {"content": "<|end|>", "special": true}
        },
        "additional_special_tokens": ["more", {"content": "nine"}, 7],
        "extra_special_tokens": {"image_token": "<image>"},
        "chat_template": "text",
        "response_template": {"fields": {}}
    }"#;
    let folder = Folder::new(&[
        ("tokenizer_config.json", config),
        ("special_tokens_map.json", r#"{"bos_token": "<s>"}"#),
    ]);
    let template = folder.load("tokenizer_config.json");
    assert_eq!(template.jinja, "text");
    assert_eq!((template.variant, template.variants), (None, vec![]));
    assert_eq!(template.bos_token, None, "null means that there is none");
    assert_eq!(template.eos_token.as_deref(), Some("<|end|>"));
    let special = ["<|end|>", "nine", "ten", "more", "<image>", "<pad>"];
    assert_eq!(template.special_tokens, special);
    let response = template
        .response_template
        .map(|template| template.to_string());
    assert_eq!(response.as_deref(), Some(r#"{"fields":{}}"#));
    let origins = template.origins;
    for origin in [
        origins.template,
        // That there is no such token is said there, too.
        origins.bos_token,
        origins.eos_token,
        origins.special_tokens,
        origins.response_template,
    ] {
        assert_eq!(origin.as_deref(), Some("tokenizer_config.json"));
    }
    let other = folder.write(
        "x.json",
        r#"{"chat_template": "x", "response_template": null}"#,
    );
    let template = load(&other, None).expect("loads");
    assert_eq!(
        template.origins.response_template.as_deref(),
        Some("tokenizer_config.json")
    );
}

#[test]
fn json_without_a_name_that_says_so() {
    let folder = Folder::new(&[
        ("config", r#"{"chat_template": "x"}"#),
        ("template", r#"{"role": "{{ role }}"}"#),
    ]);
    assert_eq!(folder.load("config").jinja, "x");
    assert_eq!(folder.load("template").jinja, r#"{"role": "{{ role }}"}"#);
}

#[test]
fn variants() {
    let list = r#"[{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]"#;
    let object = r#"{"tool_use": "t", "default": "d"}"#;
    for templates in [list, object] {
        let config = format!(r#"{{"chat_template": {templates}}}"#);
        let folder = Folder::new(&[("a.json", &config)]);
        let template = folder.load("a.json");
        assert_eq!(template.jinja, "d");
        assert_eq!(template.variant.as_deref(), Some("default"));
        assert_eq!(template.variants, ["tool_use", "default"]);
        assert_eq!(folder.load_variant("a.json", "tool_use").jinja, "t");
        assert_eq!(
            folder.error("a.json", Some("rag")),
            "DIR/a.json: there is no variant `rag` of the chat template: \
             there are `tool_use` and `default`"
        );
    }

    let folder = Folder::new(&[
        ("two.json", r#"{"chat_template": {"a": "1", "b/~": "2"}}"#),
        (
            "one.json",
            r#"{"chat_template": [{"name": "a", "template": "1"}]}"#,
        ),
        ("plain.json", r#"{"chat_template": "1"}"#),
        ("none.json", r#"{"chat_template": null}"#),
        ("empty.json", r#"{"chat_template": []}"#),
    ]);
    assert_eq!(
        folder.error("two.json", None),
        "DIR/two.json: there are several chat templates and none is called `default`: \
         ask for one of the variants `a` and `b/~`"
    );
    let template = folder.load("one.json");
    assert_eq!(
        (template.jinja.as_str(), template.variant.as_deref()),
        ("1", Some("a"))
    );
    assert_eq!(
        folder.error("one.json", Some("b")),
        "DIR/one.json: there is no variant `b` of the chat template: there is only `a`"
    );
    assert_eq!(
        folder.error("plain.json", Some("b")),
        "DIR/plain.json: there is no variant `b` of the chat template: \
         there is only one template, and it has no name; leave the variant out"
    );
    for name in ["none.json", "empty.json"] {
        assert_eq!(
            folder.error(name, None),
            format!(
                "DIR/{name}: there is no chat template in it: it has no `chat_template`: give the \
                 model's tokenizer_config.json, its chat_template.jinja, or its folder"
            )
        );
    }
    folder.write("chat_template.jinja", "x");
    assert_eq!(
        folder.error("none.json", Some("b")),
        "DIR/none.json: there is no chat template in it: \
         it has no `chat_template`, but a file beside it may: give the folder DIR"
    );
}

#[test]
fn json_that_is_not_what_it_should_be() {
    for (text, error) in [
        ("{\n  \"a\" 1}", "2:7: this is not JSON: expected `:`"),
        (
            "",
            " the file is empty: give a chat template, such as the chat_template.jinja of a model",
        ),
        ("[]", "1:1: expected an object, but this is an array"),
        (
            r#"{"chat_template": 1}"#,
            "1:19: `chat_template` is a number, and should be a string, a list or an object",
        ),
        (
            r#"{"chat_template": {"~/": 1}}"#,
            "1:26: a chat template should be a string, but this is a number",
        ),
        (
            r#"{"chat_template": [{"name": "x"}]}"#,
            "1:20: expected an object with `name` and `template`",
        ),
        (
            r#"{"chat_template": [{"name": [], "template": "x"}]}"#,
            "1:29: a name should be a string, but this is an array",
        ),
        (
            r#"{"chat_template": "\ud800"}"#,
            "1:19: a chat template can't hold half a surrogate pair: write `\\u` in pairs",
        ),
        (
            r#"{"chat_template": "x", "eos_token": 2}"#,
            "1:37: `eos_token` should be a string, an object with `content`, or null",
        ),
    ] {
        let folder = Folder::new(&[("x.json", text)]);
        assert_eq!(folder.error("x.json", None), format!("DIR/x.json:{error}"));
    }
}

#[test]
fn files_that_can_not_be_read() {
    let folder = Folder::new(&[]);
    assert!(
        folder
            .error("missing", None)
            .starts_with("DIR/missing: there is no such file")
    );
    folder.write("latin1.jinja", b"abc\xe4");
    assert_eq!(
        folder.error("latin1.jinja", None),
        "DIR/latin1.jinja: byte 3 is not valid UTF-8: save the text as UTF-8"
    );
    let large = File::create(folder.file("model.safetensors")).expect("made");
    large.set_len((64 << 20) + 1).expect("sparse");
    assert_eq!(
        folder.error("model.safetensors", None),
        "DIR/model.safetensors: the file is larger than 64 MiB, and can't be a chat template or \
         configuration: give a template, a JSON file, a GGUF file, or the model's folder"
    );
}

#[test]
fn names_of_sources() {
    let folder = Folder::new(&[("a/b", "")]);
    let path = folder.file("a/b");
    let parse = |text: &str| Source::parse(text).map_err(|error| error.to_string());
    assert_eq!(parse("-"), Ok(Source::Stdin));
    assert_eq!(parse(path.to_str().expect("UTF-8")), Ok(Source::Path(path)));
    // A path that exists wins.
    assert_eq!(
        parse("fixtures/right"),
        Ok(Source::Path("fixtures/right".into()))
    );
    let model: ModelId = "fixtures/toml@v1".parse().expect("a model");
    assert_eq!(parse("fixtures/toml@v1"), Ok(Source::Hub(model)));
    assert_eq!(
        parse("gpt2"),
        Err(
            "gpt2: there is no such file or folder, and it can't be a model on the hub, because it \
             has no `/`: give a path that exists, or a model as `org/name`"
                .to_owned()
        )
    );
    #[cfg(unix)]
    {
        let link = folder.file("link");
        std::os::unix::fs::symlink("nowhere", &link).expect("linked");
        assert_eq!(parse(link.to_str().expect("UTF-8")), Ok(Source::Path(link)));
    }
}

#[cfg(not(feature = "hub"))]
#[test]
fn models_need_a_feature() {
    let source = Source::parse("org/name@main").expect("a model");
    let result = unjinja::chat_template::ChatTemplate::load(
        &source,
        &unjinja::chat_template::LoadOptions::default(),
    );
    assert_eq!(
        result.expect_err("no hub").to_string(),
        "org/name@main: this unjinja was built without the `hub` feature and can't fetch models: \
         build it with the feature `hub`, or download the model and give its folder"
    );
}

proptest! {
    /// Nothing that stands in the files of a model makes loading panic.
    #[test]
    fn any_json(
        template in "[{}\\[\\]\":,a0\\\\ \u{e9}]{0,12}",
        tokens in "[{}\\[\\]\":,a0\\\\ \u{e9}]{0,20}",
    ) {
        let config = format!(r#"{{"chat_template": {template}, "eos_token": {tokens}}}"#);
        let tokenizer = format!(r#"{{"a": {template}, "added_tokens": {tokens}}}"#);
        let folder = Folder::new(&[("x.jinja", &template), ("tokenizer.json", &tokenizer)]);
        let _ = load(folder.path(), None);
        folder.write("chat_template.jinja", "x");
        let _ = load(folder.path(), None);
        folder.write("tokenizer_config.json", &config);
        for name in ["", "x.jinja", "tokenizer_config.json"] {
            let _ = load(&folder.file(name), None);
        }
    }
}
