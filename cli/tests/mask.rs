//! `unjinja mask` as people and programs see it.

#[path = "support/program.rs"]
mod program;

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use program::unjinja as unjinja_with;
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
