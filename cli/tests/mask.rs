//! `unjinja mask` as people and programs see it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::program::unjinja as unjinja_with;
use insta::assert_snapshot;
use unjinja::json;

const CHAT_TEMPLATE: &str =
    "{%- for m in messages %}{{ '<' + m.role + '>' + m.content + '<end>\\n' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<assistant>' }}{% endif %}
";

const TALK: &str =
    r#"[{"role": "user", "content": "Höh?"}, {"role": "assistant", "content": "Ja."}]"#;

/// A folder of its own for one test, with a chat template by itself, one in a configuration, and a conversation.
fn scratch(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("mask")
        .join(test);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(folder.join("model")).unwrap();
    fs::write(folder.join("chat.jinja"), CHAT_TEMPLATE).unwrap();
    fs::write(folder.join("talk.json"), TALK).unwrap();
    let config = format!(
        "{{\n  \"chat_template\": {},\n  \"eos_token\": \"<end>\"\n}}\n",
        json::write(&CHAT_TEMPLATE.into())
    );
    fs::write(folder.join("model/tokenizer_config.json"), config).unwrap();
    folder
}

fn unjinja(folder: &Path, arguments: &str) -> String {
    unjinja_with(folder, arguments, "")
}

#[test]
fn people_see_the_spans_in_the_text() {
    let folder = scratch("people");
    assert_snapshot!(unjinja(&folder, "mask chat.jinja -m talk.json"));
}

#[test]
fn a_text_is_read_first() {
    let folder = scratch("text");
    let text = unjinja(&folder, "render chat.jinja -m talk.json");
    let text = text.trim_end_matches("exit 0");
    let masked = unjinja_with(&folder, "mask chat.jinja --text -", text);
    assert_eq!(masked, unjinja(&folder, "mask chat.jinja -m talk.json"));
    assert_snapshot!(unjinja_with(
        &folder,
        "mask chat.jinja --text -",
        "no conversation"
    ));
}

#[test]
fn programs_get_them_in_characters() {
    let folder = scratch("programs");
    assert_snapshot!(unjinja(
        &folder,
        "mask chat.jinja -m talk.json --format json --ending out"
    ));
}

#[test]
fn each_line_of_a_batch_has_its_answer() {
    let folder = scratch("batch");
    let batch = format!(
        "{{\"id\": 1, \"messages\": {TALK}}}\n{{\"id\": 2, \"messages\": [{{\"role\": \"user\"}}]}}\n{{\"id\": 3}}\n"
    );
    assert_snapshot!(unjinja_with(&folder, "mask chat.jinja --jsonl -", &batch));
}

#[test]
fn an_empty_mask_is_told() {
    let folder = scratch("empty");
    fs::write(
        folder.join("asked.json"),
        r#"[{"role": "user", "content": "Hi"}]"#,
    )
    .unwrap();
    assert_snapshot!(unjinja(&folder, "mask chat.jinja -m asked.json"));
}

#[test]
fn tags_are_printed_with_what_they_were_tried_on() {
    let folder = scratch("tag");
    assert_snapshot!(unjinja(&folder, "mask chat.jinja --tag"));
}

#[test]
fn boundaries_are_literals_that_find_what_the_mask_has() {
    let folder = scratch("boundaries");
    assert_snapshot!(unjinja(&folder, "mask chat.jinja --boundaries"), @r#"
    role_boundaries:
      - role: assistant
        start: "<assistant>"
        end: "<end>"
    exit 0
    "#);
    // Two markers end a turn, and no literal is both.
    let two = format!(
        "{CHAT_TEMPLATE}{{% if not add_generation_prompt %}}{{{{ '<stop>' }}}}{{% endif %}}"
    );
    fs::write(folder.join("two.jinja"), two).unwrap();
    let said = unjinja(&folder, "mask two.jinja --boundaries");
    assert!(said.contains("end with"), "{said}");
    assert!(said.ends_with("exit 1"), "{said}");
}

#[test]
fn where_no_tags_can_be_written_nothing_is() {
    let folder = scratch("untaggable");
    let collecting = "{% set all = namespace(text='') %}{% for m in messages %}\
        {% set all.text = all.text + '<' + m.role + '>' + m.content + '<end>' %}{% endfor %}\n\
        {{ all.text }}{% if add_generation_prompt %}<assistant>{% endif %}";
    fs::write(folder.join("chat.jinja"), collecting).unwrap();
    assert_snapshot!(unjinja(&folder, "mask chat.jinja --tag --write"));
    assert_eq!(
        fs::read_to_string(folder.join("chat.jinja")).unwrap(),
        collecting
    );
}

#[test]
fn tags_go_into_the_file_that_the_template_came_from() {
    let folder = scratch("write");
    let printed = unjinja(&folder, "mask chat.jinja --tag -o tagged.jinja");
    assert!(printed.ends_with("exit 0"), "{printed}");
    let tagged = fs::read_to_string(folder.join("tagged.jinja")).unwrap();
    assert!(tagged.contains("{% generation %}"));
    for (source, file) in [
        ("chat.jinja", "chat.jinja"),
        ("model", "model/tokenizer_config.json"),
    ] {
        let before = fs::read_to_string(folder.join(file)).unwrap();
        let said = unjinja(&folder, &format!("mask {source} --tag --write"));
        assert!(said.ends_with("exit 0"), "{said}");
        let after = fs::read_to_string(folder.join(file)).unwrap();
        let expected = match file.ends_with(".json") {
            true => before.replace(
                &json::write(&CHAT_TEMPLATE.into()),
                &json::write(&tagged.as_str().into()),
            ),
            false => tagged.clone(),
        };
        assert_eq!(after, expected, "{source}");
    }
    // What is there already is not replaced unasked.
    fs::write(folder.join("other.jinja"), "other").unwrap();
    let refused = unjinja(&folder, "mask chat.jinja --tag -o other.jinja");
    assert!(refused.ends_with("exit 2"), "{refused}");
    assert_eq!(
        fs::read_to_string(folder.join("other.jinja")).unwrap(),
        "other"
    );
}

/// Cuts a text into `<user>` and the like, `<assistant`, `>J`, and single characters. Of its own, it would keep two
/// tokens, and put one before them.
#[cfg(feature = "tokenizers")]
const TOKENIZER: &str = r#"{
    "version": "1.0",
    "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
    "padding": null,
    "added_tokens": [
        {"id": 1, "content": "<end>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
            "special": true}
    ],
    "normalizer": null,
    "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(?s)<assistant|<[a-z]+>|>J|."},
        "behavior": "Isolated", "invert": false},
    "post_processor": {"type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<end>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {"<end>": {"id": "<end>", "ids": [1], "tokens": ["<end>"]}}},
    "decoder": null,
    "model": {"type": "WordLevel", "unk_token": "?",
        "vocab": {"?": 0, "<end>": 1, "<user>": 2, "H": 3, "ö": 4, "h": 5, "\n": 6, "<assistant": 7, ">J": 8, "a": 9,
            ".": 10}}
}"#;

#[cfg(feature = "tokenizers")]
#[test]
fn tokens_are_masked_and_those_across_a_border_are_told() {
    let folder = scratch("tokens");
    fs::write(folder.join("tokenizer.json"), TOKENIZER).unwrap();
    for (name, arguments) in [
        (
            "people",
            "mask chat.jinja -m talk.json --tokens tokenizer.json",
        ),
        (
            "programs",
            "mask chat.jinja -m talk.json --tokens tokenizer.json --format json",
        ),
        (
            "not_a_tokenizer",
            "mask chat.jinja -m talk.json --tokens talk.json",
        ),
        ("missing", "mask chat.jinja -m talk.json --tokens none.json"),
    ] {
        assert_snapshot!(format!("tokens_{name}"), unjinja(&folder, arguments));
    }
    let batch = format!("{{\"id\": 1, \"messages\": {TALK}}}\n");
    let arguments = "mask chat.jinja --jsonl - --tokens tokenizer.json";
    assert_snapshot!("tokens_batch", unjinja_with(&folder, arguments, &batch));
}

#[cfg(not(feature = "tokenizers"))]
#[test]
fn without_the_feature_it_is_said_how_to_get_tokens() {
    let folder = scratch("no_tokens");
    let said = unjinja(
        &folder,
        "mask chat.jinja -m talk.json --tokens tokenizer.json",
    );
    assert_eq!(
        said,
        "! error: --tokens: this program was built without tokenizers: build it with `cargo install --path cli --features tokenizers`\nexit 2"
    );
}
