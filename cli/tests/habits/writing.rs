//! Files that commands write.

use std::fs;

use crate::habits::program::{CHAT_TEMPLATE, Folder};

const THERE: &str =
    "the file already exists: choose another with `-o FILE`, or replace it with `--force`";
const SOURCE: &str = "this file is an input, so it is not replaced: choose another with `-o FILE`";

/// Each command that writes a file of its own, where FILE stands for that.
const COMMANDS: [(&str, &str); 5] = [
    ("derive -q chat.jinja -o FILE", "out.json"),
    ("new chat.jinja -o FILE", "out.fixture.yaml"),
    ("man -o pages", "pages/unjinja.1"),
    ("port template.json --for trl -o FILE", "out.json"),
    ("report chat.jinja -q -o FILE", "out.md"),
];

#[test]
fn what_is_there_is_replaced_by_force_only() {
    for (command, file) in COMMANDS {
        let place = Folder::new();
        let command = command.replace("FILE", file);
        assert_eq!(place.run(&command).code, Some(0), "{command}");
        let made = place.read(file);
        // The same once more is fine.
        assert_eq!(place.run(&command).code, Some(0), "{command}");
        place.write(file, "mine");
        assert_eq!(place.error(&command), format!("{file}: {THERE}"));
        assert_eq!(place.read(file), "mine");
        assert_eq!(
            place.run(&format!("{command} --force")).code,
            Some(0),
            "{command}"
        );
        assert_eq!(place.read(file), made);
    }
}

#[test]
fn nobody_is_asked_for_what_cannot_be_done() {
    let place = Folder::new();
    place.write("unjinja-report.md", "mine");
    let error = place.error("report chat.jinja");
    assert_eq!(error, format!("unjinja-report.md: {THERE}"));
    assert_eq!(place.read("unjinja-report.md"), "mine");
}

#[test]
fn no_source_is_replaced_whatever_it_is_called() {
    let place = Folder::new();
    let config = unjinja::Object::from_iter([("chat_template", CHAT_TEMPLATE)]);
    let config = unjinja::json::write(&config.into());
    place.write("tokenizer_config.json", &config);
    let model = r#"{"response_template": {"start_anchor": "<bot>", "fields": {"content": {}}}}"#;
    let schema = r#"{"response_schema": {"type": "object", "properties": {
        "content": {"type": "string", "x-regex": "^(.*)$"}}}}"#;
    for (folder, text) in [("model", model), ("schema", schema)] {
        fs::create_dir(place.at(folder)).unwrap();
        place.write(&format!("{folder}/tokenizer_config.json"), text);
    }
    fs::create_dir(place.at("deep")).unwrap();
    fs::hard_link(place.at("tokenizer_config.json"), place.at("hard.json")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("tokenizer_config.json", place.at("soft.json")).unwrap();
    for command in [
        "derive tokenizer_config.json -o tokenizer_config.json",
        "derive tokenizer_config.json -o ./tokenizer_config.json --force",
        "derive ./tokenizer_config.json -o deep/../tokenizer_config.json --force",
        "derive tokenizer_config.json -o hard.json --force",
        #[cfg(unix)]
        "derive tokenizer_config.json -o soft.json --force",
        #[cfg(unix)]
        "derive soft.json -o tokenizer_config.json --force",
        "derive . -o tokenizer_config.json --force",
        // The tokens come from there.
        "derive chat.jinja -o tokenizer_config.json --force",
        "new chat.jinja -o chat.jinja --force",
        "new chat.jinja --response-template template.json -o template.json --force",
        "port model --for trl -o model/tokenizer_config.json --force",
        "port model/ --for trl -o model/../model/tokenizer_config.json --force",
        "convert schema -q -o schema/tokenizer_config.json --force",
    ] {
        assert!(place.error(command).ends_with(SOURCE), "{command}");
    }
    assert_eq!(place.read("model/tokenizer_config.json"), model);
    assert_eq!(place.read("schema/tokenizer_config.json"), schema);
    assert_eq!(place.read("tokenizer_config.json"), config);
    assert_eq!(place.read("chat.jinja"), CHAT_TEMPLATE);
}

#[test]
fn a_dash_is_the_standard_output() {
    let place = Folder::new();
    let printed = place.run("derive -q chat.jinja").stdout;
    for output in ["-", "/dev/stdout"] {
        let run = |command: &str| place.run(&format!("{command} -o {output}"));
        assert_eq!(run("derive -q chat.jinja").stdout, printed);
        assert!(run("new chat.jinja").stdout.contains("cases:"));
        let pages = run("man").stdout;
        assert_eq!(
            pages.matches(".TH ").count(),
            pages.matches(".SH NAME").count()
        );
        assert!(pages.matches(".TH ").count() > 10);
        let both = run("derive -q chat.jinja ./chat.jinja").stdout;
        assert!(both.contains("\"./chat.jinja\": {"), "{both}");
    }
    assert!(!place.at("-").exists());
}

#[test]
fn folders_are_made() {
    let place = Folder::new();
    for (command, file) in [
        (
            "derive -q chat.jinja -o some/where/t.json",
            "some/where/t.json",
        ),
        ("derive -q chat.jinja -o single/", "single/chat.json"),
        (
            "new chat.jinja -o far/off.fixture.yaml",
            "far/off.fixture.yaml",
        ),
        ("man -o share/man/man1", "share/man/man1/unjinja-derive.1"),
    ] {
        assert_eq!(place.run(command).code, Some(0), "{command}");
        assert!(place.at(file).is_file(), "{command}");
    }
    place.write("other.jinja", CHAT_TEMPLATE);
    assert_eq!(
        place.run("derive -q chat.jinja other.jinja -o all").code,
        Some(0)
    );
    assert!(place.at("all/chat.json").is_file() && place.at("all/other.json").is_file());
    let error = place.error("derive -q chat.jinja other.jinja -o template.json");
    assert_eq!(
        error,
        "template.json: with several sources `-o` names a folder, and this is a file: choose another place"
    );
}
