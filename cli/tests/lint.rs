//! The linter: what it prints, how it ends, what it says of the gallery, and that it bears with
//! templates of any kind.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use proptest::prelude::*;
use unjinja::chat_template::ChatTemplate;
use unjinja::lint::{
    Level, LintOptions, Ruling, Rulings, Selector, TemplateText, lint, lint_chat_template,
};
use unjinja::profile::{Target, port};
use unjinja::{ResponseTemplate, Value, json};

use crate::support::root::root;

/// No template of a few kilobytes takes longer, not even in a debug build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// A folder of its own for one test, with these files.
fn folder(test: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("lint")
        .join(test);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
    folder
}

#[test]
fn without_templates_those_are_linted_that_the_fixtures_of_the_settings_name() {
    let chat = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
                {% if add_generation_prompt %}<assistant>{% endif %}";
    let fixture = |head: &str| {
        format!("{head}\ncases:\n  - {{name: a, output: Hi<end>, message: {{content: Hi}}}}\n")
    };
    let files = [
        ("unjinja.toml", "[check]\npaths = ['kept']\n".to_owned()),
        ("kept/chat.jinja", chat.to_owned()),
        ("kept/a.fixture.yaml", fixture("derive: chat.jinja")),
        ("kept/b.fixture.yaml", fixture("derive: ../kept/chat.jinja")),
        (
            "kept/c.fixture.yaml",
            fixture("response_template: template.json"),
        ),
        (
            "kept/template.json",
            r#"{"start_anchor": "<a>", "fields": {"text": {"close": "<end>"}}}"#.to_owned(),
        ),
        ("kept/unused.jinja", "{% if %}".to_owned()),
    ];
    let folder = folder("settings", &[]);
    fs::create_dir(folder.join("kept")).unwrap();
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
    let printed = unjinja_lint(&folder, "--format json");
    let named = |file: &str| printed.matches(&format!("{file}\"")).count();
    assert!(
        named("kept/chat.jinja") > 0 && named("kept/template.json") > 0,
        "{printed}"
    );
    assert!(!printed.contains("unused"), "{printed}");
    assert_eq!(
        unjinja_lint(&folder, "").matches("2 templates: ").count(),
        1
    );
    // A model's folder and the configuration in it are one, and have the name by which a pull request knows them.
    fs::create_dir(folder.join("model")).unwrap();
    let configuration = format!(
        r#"{{"chat_template": {}, "response_template": {{"start_anchor": "<a>", "fields": {{"text": {{"close": "<end>"}}}}}}}}"#,
        unjinja::json::write(&chat.into())
    );
    fs::write(folder.join("model/tokenizer_config.json"), configuration).unwrap();
    let of_model = "response_template: ../model\nchat_template: ../model/tokenizer_config.json";
    fs::write(folder.join("kept/m.fixture.yaml"), fixture(of_model)).unwrap();
    let in_all = unjinja_lint(&folder, "--format json");
    let alone = unjinja_lint(&folder, "model ./model --format json");
    let named = |printed: &str| printed.matches("\"model/tokenizer_config.json\"").count();
    assert!(named(&alone) > 0, "{alone}");
    assert_eq!(named(&in_all), named(&alone), "{in_all}\n{alone}");
    assert_eq!(alone.matches("./model/").count(), 0, "{alone}");
    // One that can't be read is told, and the others are looked at all the same.
    fs::write(folder.join("kept/d.fixture.yaml"), "cases: []").unwrap();
    let broken = unjinja_lint(&folder, "");
    assert!(
        broken.contains("d.fixture.yaml") && broken.contains("chat.jinja"),
        "{broken}"
    );
    fs::remove_file(folder.join("unjinja.toml")).unwrap();
    let nothing = unjinja_lint(&folder, "");
    assert!(
        nothing.contains("there is nothing to lint: name a template"),
        "{nothing}"
    );
}

/// What `unjinja lint` prints and says, and how it ends.
fn unjinja_lint(folder: &Path, arguments: &str) -> String {
    let out = Command::new(env!("CARGO_BIN_EXE_unjinja"))
        .arg("lint")
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .env_remove("GITHUB_WORKSPACE")
        .output()
        .unwrap();
    let [stdout, stderr] = [out.stdout, out.stderr].map(|text| String::from_utf8(text).unwrap());
    let printed: String = stderr.lines().map(|line| format!("! {line}\n")).collect();
    format!("{stdout}{printed}exit {}", out.status.code().unwrap())
}

const CALLS: &str = r#"{
  "start_anchor": "<assistant>",
  "fields": {
    "thinking": {"open": "<think>", "close_pattern": "</think>\\s*"},
    "tool_calls": {"open": "\n<call>", "close_pattern": "</call>\\s*", "content": "json"},
    "content": {"close_pattern": "<end>\\s*"}
  }
}
"#;

const CLEAN: &str = r#"{
  "start_anchor": "<assistant>",
  "fields": {"content": {"close_pattern": "<end>\\s*"}}
}
"#;

const STUCK: &str = r#"{"start_anchor": "A:", "fields": {"content": {"close_pattern": "\\s*"}}}"#;

const REFUSED: &str = r#"{"start_anchor": "A:", "fields": {"content": {"clsoe": "<end>"}}}"#;

#[test]
fn people_see_the_place_the_reason_and_the_remedy() {
    let folder = folder("people", &[("calls.json", CALLS)]);
    assert_snapshot!(unjinja_lint(&folder, "calls.json"));
}

#[test]
fn programs_get_a_list() {
    let folder = folder(
        "programs",
        &[("stuck.json", STUCK), ("refused.json", REFUSED)],
    );
    assert_snapshot!(unjinja_lint(
        &folder,
        "stuck.json refused.json --format json"
    ));
}

#[test]
fn github_gets_commands() {
    let folder = folder(
        "github",
        &[("calls.json", CALLS), ("refused.json", REFUSED)],
    );
    assert_snapshot!(unjinja_lint(
        &folder,
        "calls.json refused.json --format github"
    ));
}

#[test]
fn all_codes_are_listed() {
    assert_snapshot!(unjinja_lint(root(), "--list"));
}

#[test]
fn a_code_or_a_name_is_explained() {
    let explained = unjinja_lint(root(), "--explain U010");
    assert_eq!(explained, unjinja_lint(root(), "--explain unknown-field"));
    assert_snapshot!(explained);
    assert_snapshot!(unjinja_lint(root(), "--explain U999"), @r"
    ! error: there is no lint `U999`: `unjinja lint --list` lists them all
    exit 2
    ");
}

#[test]
fn the_exit_code_tells_the_worst() {
    let files = [
        ("calls.json", CALLS),
        ("clean.json", CLEAN),
        ("stuck.json", STUCK),
        ("refused.json", REFUSED),
    ];
    let folder = folder("codes", &files);
    for (arguments, code) in [
        ("clean.json", 0),
        ("calls.json", 0),
        ("calls.json --deny U001", 1),
        ("calls.json --deny delimiters-overlap,U010", 1),
        ("calls.json --deny U010", 0),
        ("calls.json --deny all", 1),
        ("calls.json --deny all --allow U001,close-in-body", 0),
        ("calls.json --allow U001,U006 --deny all", 0),
        ("calls.json --deny U001 --allow U001", 0),
        ("calls.json --allow U001 --deny U001", 1),
        ("calls.json --allow U001 --deny all,U001", 1),
        ("stuck.json", 1),
        ("stuck.json --allow U004", 0),
        ("stuck.json --allow all", 0),
        ("refused.json --allow all", 2),
        ("refused.json stuck.json clean.json", 2),
        ("missing.json clean.json", 2),
        ("clean.json --deny U999", 2),
        ("", 2),
    ] {
        let printed = unjinja_lint(&folder, arguments);
        assert!(
            printed.ends_with(&format!("exit {code}")),
            "{arguments}\n{printed}"
        );
    }
}

#[test]
fn what_can_not_be_read_does_not_keep_the_others_from_being_looked_at() {
    let folder = folder(
        "others",
        &[("refused.json", REFUSED), ("stuck.json", STUCK)],
    );
    assert_snapshot!(unjinja_lint(
        &folder,
        "missing.json refused.json stuck.json"
    ));
}

const JINJA: &str = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
                     {% if add_generation_prompt %}<assistant>{% endif %}";

/// What a folder's own chat template and tokens show needs no option.
#[test]
fn a_folder_is_read_with_its_chat_template() {
    let config = r#"{"eos_token": {"content": "</s>"}, "response_template":
        {"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}}}"#;
    let with = folder(
        "folder",
        &[
            ("tokenizer_config.json", config),
            ("chat_template.jinja", JINJA),
        ],
    );
    assert_snapshot!(unjinja_lint(&with, ". --allow U013"));
    let without = folder("tokens", &[("tokenizer_config.json", config)]);
    assert_snapshot!(unjinja_lint(&without, ". --allow U013"), @r#"
    ./tokenizer_config.json:2:67: warning: U002 end-in-text
      /response_template/fields/content/close: nothing takes "</s>" where the turn ends, so it stays in `content`
      help: close it with the tokens that end a turn, and the white space behind them: `"close_pattern": "<end>\\s*"`

    1 template: 0 errors, 1 warning
    exit 0
    "#);
}

#[test]
fn a_chat_template_that_renders_nothing_is_an_error() {
    let files = [("clean.json", CLEAN), ("broken.jinja", "{{ 1 / 0 }}")];
    let folder = folder("broken", &files);
    let printed = unjinja_lint(&folder, "clean.json --chat-template broken.jinja");
    assert!(
        printed.contains("not even a question can be rendered"),
        "{printed}"
    );
    assert!(printed.ends_with("exit 1"), "{printed}");
}

/// How often each lint is reported of what is derived for the gallery, with and without the chat
/// templates: notes alone, of what the formats are like.
#[test]
fn the_gallery_has_these() {
    let mut counts: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    let mut worse = Vec::new();
    let mut denied = Vec::new();
    for entry in fs::read_dir(root().join("derived")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let template = ResponseTemplate::from_json(&fs::read_to_string(&path).unwrap()).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let jinja = root().join("chat_templates").join(format!("{name}.jinja"));
        let chat_template = ChatTemplate::from_jinja(fs::read_to_string(jinja).unwrap());
        for (column, chat_template) in [None, Some(&chat_template)].into_iter().enumerate() {
            let options = LintOptions::default().chat_template(chat_template);
            // As docs/ci.md has it.
            let mut rulings = Rulings::default();
            rulings.add(Selector::All, Ruling::Deny);
            let as_in_ci = LintOptions::default()
                .chat_template(chat_template)
                .rulings(rulings);
            let refused = lint(&template, &as_in_ci).unwrap();
            let mut refused = refused
                .iter()
                .filter(|complaint| complaint.level == Level::Error);
            if let Some(complaint) = refused.next() {
                denied.push(format!("{name}: {}", complaint.lint.name()));
            }
            for complaint in lint(&template, &options).unwrap() {
                let lint = format!("{} {}", complaint.lint.code(), complaint.lint.name());
                counts.entry(lint).or_default()[column] += 1;
                if complaint.level != Level::Note {
                    worse.push(format!("{name}: {complaint}"));
                }
            }
        }
    }
    assert!(worse.is_empty(), "{}", worse.join("\n"));
    assert!(denied.is_empty(), "{}", denied.join("\n"));
    let line = |(lint, [alone, with]): (&String, &[usize; 2])| format!("{lint}: {alone}, {with}\n");
    assert_snapshot!(counts.iter().map(line).collect::<String>(), @"
    U003 holds-text-back: 1, 1
    U006 close-in-body: 32, 28
    U009 not-portable: 101, 101
    ");
}

/// What chat templates are told that come to nothing worse than notes.
const CHAT: &str = "{%- for m in messages %}
    {{- '<|' + m.role + '|>' + m.content }}
    {%- for call in m.tool_calls or [] %}
        {{- '<call>' + call.function | tojson + '</call>' }}
    {%- endfor %}
    {{- '<|end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|assistant|>' }}
{%- endif %}
";

#[test]
fn a_chat_template_is_shown_with_its_line_a_conversation_and_its_rendering() {
    let printed = CHAT.replace("+ m.content", "~ m.content");
    let folder = folder("chat", &[("chat_template.jinja", &printed)]);
    assert_snapshot!(unjinja_lint(&folder, "chat_template.jinja"));
    assert_snapshot!(unjinja_lint(
        &folder,
        "chat_template.jinja --format json --allow all --deny none-printed"
    ));
    assert_snapshot!(unjinja_lint(
        &folder,
        "chat_template.jinja --format github --allow parts-crash,J015,J016,J029,J002"
    ));
}

#[test]
fn the_exit_code_of_a_chat_template_tells_the_worst() {
    let printed = CHAT.replace("+ m.content", "~ m.content");
    let config = format!(
        r#"{{"chat_template": {}}}"#,
        json::write(&printed.as_str().into())
    );
    let toml = "[lint]\ndeny = [\"none-printed\"]\n";
    let folder = folder(
        "chat_codes",
        &[
            ("crashes.jinja", CHAT),
            ("prints.jinja", &printed),
            (
                "sound.jinja",
                &CHAT.replace("m.content", "(m.content or '')"),
            ),
            ("broken.jinja", "{% if %}"),
            ("tokenizer_config.json", &config),
            ("no_name", &printed),
        ],
    );
    for (arguments, code) in [
        ("crashes.jinja", 1),
        ("crashes.jinja --allow J004", 0),
        ("prints.jinja", 0),
        ("prints.jinja --deny J001", 1),
        ("prints.jinja --deny all", 1),
        ("sound.jinja --deny all", 0),
        ("broken.jinja", 1),
        ("tokenizer_config.json --deny none-printed", 1),
        (". --deny none-printed", 1),
        ("no_name --deny none-printed", 1),
        ("missing.jinja", 2),
    ] {
        let printed = unjinja_lint(&folder, arguments);
        assert!(
            printed.ends_with(&format!("exit {code}")),
            "{arguments}\n{printed}"
        );
    }
    fs::write(folder.join("unjinja.toml"), toml).unwrap();
    let printed = unjinja_lint(&folder, "prints.jinja");
    assert!(printed.ends_with("exit 1"), "{printed}");
}

#[test]
fn the_chat_templates_of_the_gallery_have_notes_alone() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut worse = Vec::new();
    for entry in fs::read_dir(root().join("chat_templates")).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_none_or(|extension| extension != "jinja")
        {
            continue;
        }
        let mut template = ChatTemplate::from_jinja(fs::read_to_string(&path).unwrap());
        template.bos_token = Some("<s>".to_owned());
        template.eos_token = Some("</s>".to_owned());
        for complaint in lint_chat_template(&template, &LintOptions::default()).unwrap() {
            let lint = format!("{} {}", complaint.lint.code(), complaint.lint.name());
            *counts.entry(lint).or_default() += 1;
            if complaint.level != Level::Note {
                worse.push(format!("{}: {complaint}", path.display()));
            }
        }
    }
    assert!(worse.is_empty(), "{}", worse.join("\n"));
    let line = |(lint, count): (&String, &usize)| format!("{lint}: {count}\n");
    assert_snapshot!(counts.iter().map(line).collect::<String>());
}

#[test]
fn chat_templates_that_never_end_are_borne_with() {
    let nested = format!("{}x{}", "{% if a %}".repeat(140), "{% endif %}".repeat(140));
    let chain = format!("{{{{ a{} }}}}", ".b".repeat(1_900));
    for jinja in [
        "{% for a in range(99999999) %}{% for b in range(99999999) %}x{% endfor %}{% endfor %}",
        "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}",
        "{% for m in messages %}{{ m.content * 9000000 }}{% endfor %}",
        "{{ messages[0].content }}{% for a in range(200) %}{% for b in range(200) %}{% if b %}{{ b }}{% endif %}{% endfor %}{% endfor %}",
        "{% if a %}{% elif b %}{% else %}",
        &nested,
        &chain,
        "{{ '\u{fdd0}\u{fdd1}' + messages[0].content }}",
        "{% generation %}{% generation %}{{ messages }}{% endgeneration %}{% endgeneration %}",
        "\r\n{{ messages[0].content }}\r{{ 1 / 0 if messages | length > 1 }}",
    ] {
        let began = Instant::now();
        let template = ChatTemplate::from_jinja(jinja);
        if let Ok(complaints) = lint_chat_template(&template, &LintOptions::default()) {
            assert!(
                complaints
                    .iter()
                    .all(|complaint| complaint.diagnostic.position.is_some())
            );
        }
        let short: String = jinja.chars().take(60).collect();
        assert!(began.elapsed() < 2 * PATIENCE, "{short}");
    }
}

/// Lints a template, if it is one.
fn bear_with(template: &Value) {
    let Ok(template) = ResponseTemplate::from_value(template) else {
        return;
    };
    let text = json::write(template.as_value());
    let options = LintOptions::default()
        .document(TemplateText::new(&text))
        .targets(Target::all());
    let began = Instant::now();
    let complaints = lint(&template, &options).expect("there is no chat template to be rendered");
    assert!(began.elapsed() < PATIENCE, "{text}");
    for complaint in complaints {
        assert!(complaint.diagnostic.position.is_some(), "{complaint}");
    }
    for target in Target::all() {
        // What is rewritten for somebody is as they want it, as far as it can be.
        let ported = port(&template, target).expect("what comes of it is a template");
        let again = port(&ported.template, target).expect("it is still one");
        assert!(again.changes.is_empty(), "{target}: {:?}", again.changes);
        assert_eq!(again.objections, ported.objections);
        assert!(ported.objections.len() <= target.objections(&template).len());
    }
}

#[test]
fn the_templates_of_the_engine_are_borne_with() {
    let mut count = 0;
    for entry in fs::read_dir(root().join("tests/engine")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for case in json::read(&text).unwrap().as_array().unwrap() {
            count += 1;
            bear_with(case.get("template").unwrap());
        }
    }
    assert!(count > 100);
}

fn field(open: &str, close: &str) -> Value {
    let text = |text: &str| json::write(&text.into());
    let (open, close) = (text(open), text(close));
    let template = format!(
        r#"{{"start_anchor_pattern": {open}, "fields": {{
            "thinking": {{"open_pattern": {open}, "close_pattern": {close}}},
            "tool_calls": {{"open_pattern": {close}, "close_pattern": {open}, "content": "json"}},
            "content": {{"close_pattern": {close}}}
        }}}}"#
    );
    json::read(&template).expect("it is JSON")
}

#[test]
fn patterns_that_are_hard_to_look_into_are_borne_with() {
    let sets: String = (0..1500)
        .map(|n| format!(r"[\u{:04x}-\u{:04x}]?", 0x100 + 3 * n, 0x101 + 3 * n))
        .collect();
    let crossing: Vec<String> = ('a'..='z').map(|c| format!("{c}.*[{c}m]")).collect();
    for pattern in [
        "(?:a{0,50}){0,50}",
        "(?:.{0,70}x{0,70})*y",
        "(?:(?:a|b|c|d|e|f)?){200}z",
        "(?:(?:(?:(?:a*)*)*)*)*b",
        "(?=(?:.*a){30})b",
        "(?<=(?:a|b)*c.*)\\s+(?=.*d.*e.*f)",
        "(?:<.*Q|<)",
        "[^<]{1,3000}<x>",
        r"(?:\b\w+\b\W*)+(?:\B.)*$",
        &format!("{}x{}", "(?:".repeat(200), ")*".repeat(200)),
        &format!("(?:{})*!", crossing.join("|")),
        &"(?:|a)".repeat(200),
        &sets,
    ] {
        let template = field(pattern, "(?:a+)+b");
        assert!(ResponseTemplate::from_value(&template).is_ok(), "{pattern}");
        bear_with(&template);
    }
    let many = (0..200).map(|n| format!(r#""f{n}": {{"open": "<{n}>", "close": "</{n}>"}}"#));
    let many = many.collect::<Vec<_>>().join(", ");
    let template = format!(r#"{{"start_anchor": "A:", "fields": {{{many}}}}}"#);
    bear_with(&json::read(&template).unwrap());
}

/// Patterns put together from pieces.
fn patterns() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-c<>/ ]{1,3}",
        prop::sample::select(vec![
            r"\s",
            "[^<]",
            ".",
            r"\b",
            "^",
            "$",
            r"\w",
            "[^\\s\\S]",
            r"\R"
        ])
        .prop_map(str::to_owned),
    ];
    piece.prop_recursive(5, 40, 4, |inner| {
        let kinds = vec!["", "?:", "?=", "?!", "?<=", "?<!", "?>"];
        let times = vec!["*", "+", "?", "{0,3}", "*?", "++", "{2}"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|all| all.concat()),
            prop::collection::vec(inner.clone(), 1..4)
                .prop_map(|all| format!("(?:{})", all.join("|"))),
            (inner.clone(), prop::sample::select(times)).prop_map(|(i, t)| format!("(?:{i}){t}")),
            (inner, prop::sample::select(kinds)).prop_map(|(i, kind)| format!("({kind}{i})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_patterns_are_borne_with(open in patterns(), close in patterns()) {
        bear_with(&field(&open, &close));
    }
}

#[test]
fn versions_that_read_a_template_otherwise_are_named_with_a_text() {
    let field = |content: &str| {
        format!(
            r#"{{"start_anchor": "A:", "fields": {{"x": {{"open": "<x>", "close": "</x>", {content}}}}}}}"#
        )
    };
    let keys = field(r#""content": "json", "content_args": {"unquoted_keys": true}"#);
    let calls = field(r#""content": "python-call-list""#);
    let folder = folder("versions", &[("keys.json", &keys), ("calls.json", &calls)]);
    let said = unjinja_lint(&folder, "keys.json calls.json --versions");
    for expected in [
        "keys.json: language 5.24: accepted; no text was found that is read differently",
        "keys.json: language 5.13 to 5.20: accepted, but \"<x>{a :1}</x>\" is read as an error",
        "calls.json: language 5.13 to 5.20: refused: /fields/x/content: the content parser `python-call-list`",
    ] {
        assert!(said.contains(expected), "{expected} is not in\n{said}");
    }
}
