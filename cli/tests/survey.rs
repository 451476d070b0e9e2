//! `unjinja survey` and `unjinja watch` as people run them.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use insta::assert_snapshot;
use unjinja::{Value, json};

use crate::habits::program::{CHAT_TEMPLATE, Folder, Outcome, finish};
use crate::support::root::root;

/// One with thoughts and calls.
const CALLS: &str = "{%- for m in messages -%}<|{{ m.role }}|>\
    {%- if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif -%}\
    {{ m.content or '' }}\
    {%- for call in m.tool_calls or [] -%}<call>{\"name\": \"{{ call.function.name }}\", \"arguments\": \
    {{ call.function.arguments | tojson }}}</call>{%- endfor -%}<|end|>{%- endfor -%}\
    {%- if add_generation_prompt -%}<|assistant|>{%- endif -%}";

/// The rows of JSON lines.
fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| json::read(line).unwrap()).collect()
}

fn text(row: &Value, key: &str) -> String {
    let value = row.get(key).unwrap_or(&Value::Null);
    value.as_str().unwrap_or_default().to_owned()
}

/// A folder of some templates, all of their kinds.
fn models() -> Folder {
    let place = Folder::new();
    place.write("models/calls.jinja", CALLS);
    place.write("models/copy.jinja", CALLS);
    // The same but for a comment.
    place.write("models/comment.jinja", format!("{{# calls #}}{CALLS}"));
    place.write("models/plain.jinja", CHAT_TEMPLATE);
    place.write("models/broken.jinja", "{% if %}");
    place.write(
        "models/hostile.jinja",
        "{% for a in range(99999) %}{% for b in range(99999) %}{{ b }}{% endfor %}{% endfor %}",
    );
    place.write(
        "models/org/tokenizer_config.json",
        json::write(
            &unjinja::Object::from_iter([
                (
                    "chat_template",
                    CHAT_TEMPLATE.replace("'<end>'", "eos_token").as_str(),
                ),
                ("eos_token", "</s>"),
            ])
            .into(),
        ),
    );
    place.write("models/empty/tokenizer_config.json", "{}");
    place.write("models/.hidden/a.jinja", CALLS);
    place.write("models/notes.txt", "no template");
    place
}

#[test]
fn a_table_has_a_row_for_each_kind() {
    let outcome = models().run("survey models");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_snapshot!(outcome.stdout);
}

#[test]
fn rows_stand_in_the_order_of_their_sources_and_equal_templates_are_surveyed_once() {
    let place = models();
    let outcome = place.run("survey models -o survey.jsonl --threads 3");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let rows = rows(&place.read("survey.jsonl"));
    let shown: Vec<String> = rows
        .iter()
        .map(|row| {
            let details = if row.get("details").is_some() {
                "with details"
            } else {
                ""
            };
            format!(
                "{} {} {}{details}",
                text(row, "source"),
                text(row, "standing"),
                text(row, "same_as")
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "models/broken.jinja failed with details",
            "models/calls.jinja proved with details",
            "models/comment.jinja proved with details",
            "models/copy.jinja proved models/calls.jinja",
            "models/empty unreadable ",
            "models/hostile.jinja failed with details",
            "models/org proved with details",
            "models/plain.jinja proved with details",
        ]
    );
    // What behaves alike is known to, though the texts differ.
    assert_eq!(text(&rows[1], "behaviour"), text(&rows[2], "behaviour"));
    assert_ne!(text(&rows[1], "text"), text(&rows[2], "text"));
    assert_ne!(text(&rows[1], "behaviour"), text(&rows[7], "behaviour"));
}

#[test]
fn a_survey_does_not_depend_on_threads() {
    let place = models();
    let survey = |threads: &str| {
        place
            .run(&format!("survey models -o - --threads {threads}"))
            .stdout
    };
    assert_eq!(survey("1"), survey("4"));
}

#[test]
fn lists_name_sources_models_templates_and_rows() {
    let place = models();
    let rows_before = place.run("survey models/calls.jinja -o -").stdout;
    place.write("rows.jsonl", &rows_before);
    let template = json::write(&CHAT_TEMPLATE.into());
    place.write(
        "list.jsonl",
        format!(
            "{{\"source\": \"models/plain.jinja\", \"base\": \"org/base\"}}\n\
             models/calls.jinja\n\n\
             {{\"name\": \"inline\", \"chat_template\": {template}}}\n\
             {{\"id\": \"org/none\", \"sha\": \"abc\"}}\n\
             {{\"size\": 1}}\n\
             {{\n"
        ),
    );
    let outcome = place.run("survey --offline rows.jsonl list.jsonl -o -");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let rows = rows(&outcome.stdout);
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(
        format!("{}\n", lines[0]),
        rows_before,
        "a row is taken as it is"
    );
    assert_eq!(text(&rows[1], "base"), "org/base");
    assert_eq!(text(&rows[2], "same_as"), "models/calls.jinja");
    assert_eq!(text(&rows[3], "source"), "inline");
    assert_eq!(text(&rows[3], "same_as"), "models/plain.jinja");
    assert_eq!(text(&rows[4], "source"), "org/none@abc");
    assert_eq!(text(&rows[4], "standing"), "unreadable");
    assert_eq!(text(&rows[5], "source"), "list.jsonl:6");
    assert!(
        text(&rows[5], "error").starts_with("expected a `source`"),
        "{}",
        lines[5]
    );
    assert!(
        text(&rows[6], "error").starts_with("this is not JSON"),
        "{}",
        lines[6]
    );
    assert_eq!(rows.len(), 7);
}

#[test]
fn a_listing_of_the_hub_is_a_list() {
    let place = models();
    let listing = r#" [{"id": "org/none", "sha": "abc", "likes": 3}, {"id": "org/other"}, "models/calls.jinja", 7]"#;
    place.write("listing.json", listing);
    let outcome = place.run("survey --offline listing.json models/plain.jinja -o -");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let rows = rows(&outcome.stdout);
    let sources: Vec<String> = rows.iter().map(|row| text(row, "source")).collect();
    let expected = [
        "org/none@abc",
        "org/other",
        "models/calls.jinja",
        "listing.json:1",
        "models/plain.jinja",
    ];
    assert_eq!(sources, expected);
    assert_eq!(
        text(&rows[3], "error"),
        "expected an object, or the name of a source"
    );
}

#[test]
fn what_can_not_be_surveyed_at_all_is_an_error() {
    let place = models();
    fs::create_dir(place.at("nothing")).unwrap();
    for (arguments, error) in [
        (
            "survey nothing",
            "nothing: there is no chat template in this folder or below it: files of them end in .jinja or .gguf, and folders of models have a tokenizer_config.json",
        ),
        (
            "survey none.jsonl",
            "none.jsonl: there is no such file: check the path",
        ),
        (
            "watch nothing models",
            "nothing: there is no chat template in this folder or below it: files of them end in .jinja or .gguf, and folders of models have a tokenizer_config.json",
        ),
    ] {
        assert_eq!(place.error(arguments), error);
    }
    assert!(
        place
            .error("survey no-such-thing")
            .starts_with("no-such-thing: ")
    );
    // What can't be read is a row of a survey; compared with another, there is nothing else to say of it.
    place.write("broken.json", "{");
    assert!(
        place
            .error("watch models broken.json")
            .starts_with("broken.json:1:2: this is not JSON")
    );
    place.write("list.txt", "models/calls.jinja\n");
    assert!(
        place
            .error("survey list.txt -o list.txt")
            .contains("this file is an input")
    );
    place.write("there.jsonl", "mine");
    assert!(
        place
            .error("survey list.txt -o there.jsonl")
            .contains("already exists")
    );
    assert_eq!(place.read("there.jsonl"), "mine");
}

/// Many templates, each of which takes its time.
fn many(count: usize) -> Folder {
    let place = Folder::new();
    for number in 0..count {
        let text = CALLS.replace("call>", &format!("call_{}>", number / 2));
        place.write(&format!("many/{number:03}.jinja"), text);
    }
    place
}

/// How many parts are whole of what an interrupted survey has left.
fn parts(place: &Folder, name: &str) -> usize {
    let state = fs::read_to_string(place.at(name).join("state.json")).unwrap_or_default();
    let state = json::read(&state).unwrap_or_default();
    let parts = state.get("parts").and_then(Value::as_array);
    parts.map_or(0, <[Value]>::len)
}

/// Starts a survey, and ends it when it has come further than the one before. Says whether it was ended so.
fn interrupted(place: &Folder, arguments: &str, partial: &str) -> bool {
    let mut command = place.command(arguments);
    let before = parts(place, partial);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while child.try_wait().unwrap().is_none() {
        if parts(place, partial) > before {
            child.kill().unwrap();
            child.wait().unwrap();
            return true;
        }
        sleep(Duration::from_millis(5));
    }
    false
}

#[test]
fn an_interrupted_survey_goes_on_and_is_the_same() {
    let place = many(200);
    let whole = place.run("survey many -o whole.jsonl -q");
    assert_eq!(whole.code, Some(0), "{whole:?}");
    let command = "survey many -o again.jsonl -q --threads 1";
    let mut ended = 0;
    while ended < 3 && interrupted(&place, command, "again.jsonl.partial") {
        ended += 1;
    }
    assert!(ended > 0, "the machine is quicker than this test");
    // The last of them may have written it, and been ended before it had removed its parts.
    if !place.at("again.jsonl").exists() {
        let last = place.run(command);
        assert_eq!(last.code, Some(0), "{last:?}");
        assert!(last.stderr.starts_with("resuming after "), "{last:?}");
        assert!(!place.at("again.jsonl.partial").exists());
    }
    assert_eq!(place.read("again.jsonl"), place.read("whole.jsonl"));
}

/// What has changed between two folders.
fn watch(place: &Folder, arguments: &str) -> Outcome {
    place.run(&format!("watch old new {arguments}"))
}

/// Two folders with changes of all kinds.
fn versions() -> Folder {
    let place = Folder::new();
    let with_end = |end: &str| CHAT_TEMPLATE.replace("<end>", end);
    for (name, old, new) in [
        ("same.jinja", CALLS.to_owned(), CALLS.to_owned()),
        (
            "comment.jinja",
            CALLS.to_owned(),
            format!("{{# better #}}{CALLS}"),
        ),
        ("end.jinja", with_end("<end>"), with_end("<stop>")),
        ("copy/end.jinja", with_end("<end>"), with_end("<stop>")),
        ("broken.jinja", CALLS.to_owned(), "{% if %}".to_owned()),
        (
            "system.jinja",
            CALLS.to_owned(),
            format!("<|system|>Be kind.<|end|>{CALLS}"),
        ),
        (
            "calls.jinja",
            CALLS.replace("m.tool_calls", "m.no_calls"),
            CALLS.to_owned(),
        ),
        ("gone.jinja", CALLS.to_owned(), String::new()),
        ("new.jinja", String::new(), CALLS.to_owned()),
    ] {
        for (folder, text) in [("old", old), ("new", new)] {
            if !text.is_empty() {
                place.write(&format!("{folder}/{name}"), text);
            }
        }
    }
    place
}

#[test]
fn what_has_changed_is_told_for_people_and_for_pull_requests() {
    let place = versions();
    let human = watch(&place, "");
    assert_eq!(human.code, Some(1), "{human:?}");
    assert_snapshot!("what_has_changed", human.stdout);
    assert_snapshot!(
        "what_has_changed_in_markdown",
        watch(&place, "--format markdown").stdout
    );
    let value = json::read(&watch(&place, "--format json").stdout).unwrap();
    let names = |kind: &str| {
        let entries = value.get(kind).unwrap().as_array().unwrap().iter();
        let names = entries.flat_map(|entry| entry.get("sources").unwrap().as_array().unwrap());
        names.map(|name| name.as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(names("text"), ["comment.jinja"]);
    assert_eq!(names("broken"), ["broken.jinja"]);
    assert_eq!(
        names("behaviour"),
        ["calls.jinja", "copy/end.jinja", "end.jinja", "system.jinja"]
    );
}

#[test]
fn what_changes_in_text_only_is_fine() {
    let place = versions();
    let file = |name: &str| place.run(&format!("watch old/{name} new/{name}"));
    assert_eq!(file("comment.jinja").code, Some(0));
    assert_eq!(file("same.jinja").code, Some(0));
    assert_eq!(file("end.jinja").code, Some(1));
    assert_eq!(place.run("watch old old").code, Some(0));
}

#[test]
fn surveys_are_compared_as_what_they_are_of() {
    let place = versions();
    for side in ["old", "new"] {
        let mut command = place.command(&format!("survey . -o ../{side}.jsonl -q"));
        command.current_dir(place.at(side));
        assert_eq!(finish(command, b"").code, Some(0));
    }
    let of_surveys = place.run("watch old.jsonl new.jsonl");
    assert_eq!(
        of_surveys.stdout.replace("./", ""),
        watch(&place, "").stdout
    );
    // What has come since is compared with what was surveyed.
    assert_eq!(place.run("watch new.jsonl new.jsonl").code, Some(0));
}

#[test]
fn a_patch_brings_response_templates_and_fixtures_to_what_is_derived_now() {
    let place = versions();
    place.write("nothing.jsonl", "");
    fs::create_dir(place.at("kept")).unwrap();
    let apply = |patch: &str| {
        let mut git = Command::new("git");
        git.args(["apply", patch])
            .current_dir(place.at("kept"))
            .stdin(Stdio::piped());
        let outcome = finish(git, b"");
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
    };
    if Command::new("git").arg("--version").output().is_err() {
        return println!("skipped: there is no git to apply patches with");
    }
    let first = place.run("watch nothing.jsonl old --patch first.patch");
    assert_eq!(first.code, Some(0), "{first:?}");
    apply("../first.patch");
    assert_eq!(place.run("check kept").code, Some(0));
    let second = watch(&place, "--patch second.patch");
    assert_eq!(second.code, Some(1), "{second:?}");
    apply("../second.patch");
    assert_eq!(place.run("check kept").code, Some(0));
    let derived = place.run("derive -q new/end.jinja").stdout;
    assert_eq!(place.read("kept/end.json"), derived);
    assert!(place.at("kept/new.fixture.yaml").is_file());
}

#[test]
fn models_are_compared_with_their_base() {
    let place = Folder::new();
    place.write("base.jinja", CALLS);
    place.write("quantized.jinja", CALLS);
    place.write("commented.jinja", format!("{{# a fork #}}{CALLS}"));
    place.write("other.jinja", CALLS.replace("<|end|>", "<|stop|>"));
    let line = |name: &str| format!("{{\"source\": \"{name}.jinja\", \"base\": \"base.jinja\"}}\n");
    let list = ["quantized", "commented", "other"].map(line).concat();
    place.write("list.jsonl", format!("base.jinja\n{list}"));
    let outcome = place.run("watch list.jsonl list.jsonl");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_snapshot!(outcome.stdout);
}

#[test]
fn a_page_is_made_of_the_rows() {
    let place = models();
    let outcome = place.run("survey models -q -o rows.jsonl --html page.html");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let page = place.read("page.html");
    // All sources are in it, and nothing is fetched from anywhere.
    for row in rows(&place.read("rows.jsonl")) {
        assert!(
            page.contains(&json::write(&text(&row, "source").into())),
            "{}",
            text(&row, "source")
        );
    }
    for outside in ["http:", "https:", "src=", "@import", "url("] {
        let page = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!page.contains(outside), "{outside}");
    }
    // A survey is a source of another one, which has the same page.
    let again = place.run("survey rows.jsonl -q -o again.jsonl --html again.html");
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(place.read("again.jsonl"), place.read("rows.jsonl"));
    assert_eq!(place.read("again.html"), page);
    place.write("mine.html", "mine");
    let error = place.error("survey models -q -o other.jsonl --html mine.html");
    assert!(
        error.starts_with("mine.html: the file already exists"),
        "{error}"
    );
}

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_is_a_feature() {
    let error = models().error("survey models -o rows.jsonl --parquet rows.parquet");
    assert!(
        error.starts_with("this program was built without Parquet"),
        "{error}"
    );
}

#[cfg(feature = "parquet")]
#[test]
fn rows_are_written_as_parquet() {
    use arrow_array::cast::AsArray;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    let place = models();
    let outcome = place.run("survey models -q -o rows.jsonl --parquet rows.parquet");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let file = fs::File::open(place.at("rows.parquet")).unwrap();
    let mut batches = ParquetRecordBatchReaderBuilder::try_new(file)
        .unwrap()
        .build()
        .unwrap();
    let batch = batches.next().unwrap().unwrap();
    let rows = rows(&place.read("rows.jsonl"));
    assert_eq!(batch.num_rows(), rows.len());
    for key in ["source", "standing", "same_as", "format"] {
        let column = batch.column_by_name(key).unwrap().as_string::<i32>();
        let texts: Vec<&str> = column.iter().map(Option::unwrap_or_default).collect();
        let expected: Vec<String> = rows.iter().map(|row| text(row, key)).collect();
        assert_eq!(texts, expected, "{key}");
    }
}

#[test]
fn the_board_is_what_a_survey_finds() {
    let place = Folder::new();
    let mut command = place.command("survey chat_templates -o -");
    command.current_dir(root());
    let outcome = finish(command, b"");
    let board = fs::read_to_string(root().join("docs/board/README.md")).unwrap();
    let mut left: Vec<&str> = board
        .lines()
        .filter(|line| line.starts_with("| ["))
        .collect();
    for row in rows(&outcome.stdout) {
        let number = |key: &str| row.get(key).map(json::write).unwrap_or_default();
        let (source, standing) = (text(&row, "source"), text(&row, "standing"));
        let start = format!(
            "](../../{source}) | {standing} | {}/{} | ",
            number("recovered"),
            number("renderings")
        );
        let lints = row.get("lints").and_then(Value::as_object).unwrap().iter();
        let lints = lints.map(|(code, count)| match json::write(count).as_str() {
            "1" => code.to_string_lossy().into_owned(),
            count => format!("{}×{count}", code.to_string_lossy()),
        });
        let end = format!("| {} |", lints.collect::<Vec<_>>().join(" "));
        let found = left
            .iter()
            .position(|line| line.contains(&start) && line.ends_with(&end));
        let found =
            found.unwrap_or_else(|| panic!("{source}: make the board anew with docs/board/make"));
        left.remove(found);
    }
    assert!(left.is_empty(), "these are gone: {left:?}");
}
