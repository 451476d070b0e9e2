//! Response templates: what their loader says of them, and what their schema says.

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use unjinja::response::Language;
use unjinja::{Diagnostic, ResponseTemplate, Value, json};

use crate::root;
use crate::schema::changes::changed;
use crate::schema::{Rule, TEMPLATES, foreign};

/// What the loader says of templates that no schema can find anything wrong with.
pub(crate) const BEYOND_SCHEMAS: &[&str] = &[
    "the pattern can't have",
    "the pattern has no group `key`",
    "is captured, but no `transform` uses it",
    "both lack an opening delimiter",
    "this string mixes a placeholder with other text",
    "value parsers are nested too deeply",
];

fn rule() -> Rule {
    Rule::new(TEMPLATES, BEYOND_SCHEMAS.to_vec())
}

fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).expect("the file can be read");
    json::read(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The JSON files of a folder, in order.
fn json_files(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let mut files: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|kind| kind == "json"))
        .collect();
    assert!(!files.is_empty(), "{folder} has no JSON files");
    files.sort();
    files
}

#[test]
fn each_parser_and_each_version_of_the_language_is_documented() {
    let text = |path: &str| {
        let text = fs::read_to_string(root().join(path));
        text.unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    let schema = json::read(TEMPLATES).expect("the schema is JSON");
    let parsers = schema.pointer("/$defs/parser_name/enum");
    let parsers = parsers
        .and_then(Value::as_array)
        .expect("the schema has the names");
    let (page, dictionary) = (
        text("docs/response-templates.md"),
        text("fuzz/dict/template.dict"),
    );
    for parser in parsers.iter().filter_map(Value::as_str) {
        assert!(
            page.contains(&format!("`{parser}`")),
            "docs/response-templates.md lacks `{parser}`"
        );
        assert!(
            dictionary.contains(&format!("\\\"{parser}\\\"")),
            "fuzz/dict/template.dict lacks {parser}"
        );
    }
    let versions = text("COMPATIBILITY.md");
    for language in Language::all() {
        assert!(
            versions.contains(&format!("| {language} |")),
            "COMPATIBILITY.md lacks {language}"
        );
    }
}

/// The templates that people see, each with its name.
fn published() -> Vec<(String, Value)> {
    let mut files = json_files("derived");
    files.push(root().join("examples/template.json"));
    let named = |path: PathBuf| (path.display().to_string(), read(&path));
    files.into_iter().map(named).collect()
}

/// The templates of the engine's cases, each with its file and its name.
fn of_the_engine() -> Vec<(String, Value)> {
    let mut templates = Vec::new();
    for path in json_files("tests/engine") {
        let file = path.file_stem().unwrap_or_default().to_string_lossy();
        let cases = read(&path);
        for case in cases.as_array().expect("cases are a list") {
            let name = case.get("name").and_then(Value::as_str).unwrap_or("?");
            let template = case.get("template").expect("a case has a template");
            templates.push((format!("{file}: {name}"), template.clone()));
        }
    }
    templates
}

/// What the loader has against a template; nothing if it accepts it.
fn faults(template: &Value) -> Vec<Diagnostic> {
    match ResponseTemplate::from_value(template) {
        Ok(_) => Vec::new(),
        Err(error) => error.faults,
    }
}

#[test]
fn templates_that_load_are_accepted() {
    let rule = rule();
    let mut accepted = 0;
    for (name, template) in published().into_iter().chain(of_the_engine()) {
        if !faults(&template).is_empty() {
            continue;
        }
        let instance = foreign(&template).unwrap_or_else(|| panic!("{name} can't be UTF-8"));
        if let Err(error) = rule.validator.validate(&instance) {
            panic!("{name}: {}: {error}", error.instance_path());
        }
        accepted += 1;
    }
    assert!(accepted > 500, "only {accepted} templates were looked at");
}

/// Whatever the loader refuses, the schema refuses too, but for these.
#[test]
fn templates_that_only_the_loader_can_refuse() {
    let rule = rule();
    let mut only_loader = Vec::new();
    for (name, template) in of_the_engine() {
        let faults = faults(&template);
        if faults.is_empty() {
            continue;
        }
        rule.assert(&template, &faults);
        let instance = foreign(&template).unwrap_or_else(|| panic!("{name} can't be UTF-8"));
        if rule.validator.is_valid(&instance) {
            only_loader.push(name);
        }
    }
    assert_snapshot!(only_loader.join("\n"), @r"
    refused: an anchor pattern that is no pattern
    refused: two fields without an opening delimiter
    refused: three fields without an opening delimiter
    refused: a string that mixes a placeholder with text
    refused: several strings that mix placeholders with text
    refused: a placeholder in double braces
    refused: groups of the opening pattern without a transform
    refused: groups of the closing pattern without a transform
    refused: groups without a transform, where it is null
    refused: xml-inline with a pattern that is no pattern
    refused_patterns: a group that is not closed
    refused_patterns: a parenthesis that closes nothing
    refused_patterns: a set that is not closed
    refused_patterns: an asterisk with nothing to repeat
    refused_patterns: a repeat of a repeat
    refused_patterns: a range that goes backwards
    refused_patterns: a range of characters that goes backwards
    refused_patterns: a backslash at the end
    refused_patterns: a group name that is none
    refused_patterns: a group name without an end
    refused_patterns: an unknown group
    refused_patterns: an unknown escape
    refused_patterns: an unknown property
    refused_patterns: a short hexadecimal escape
    refused_patterns: a reference by number
    refused_patterns: a reference by name
    refused_patterns: a reference with \g
    refused_patterns: recursion
    refused_patterns: a call of a group
    refused_patterns: a conditional group
    refused_patterns: a branch reset
    refused_patterns: a verb
    refused_patterns: a search anchor
    refused_patterns: keeping what follows
    refused_patterns: a grapheme cluster
    refused_patterns: a named list
    refused_patterns: fuzzy matching
    refused_patterns: a named character
    refused_patterns: offsets count bytes
    refused_patterns: too many steps
    refused_patterns: flags that are not known
    refused_patterns: set operations with the flag for them
    refused_patterns: a locale flag
    refused_patterns: too many named groups
    refused_patterns: a closing pattern is refused in its own place
    refused_patterns: an anchor pattern is refused in its own place
    refused_patterns: a tag pattern is refused in its own place
    ");
}

/// Every key of the language, and one that is none.
const KEYS: &[&str] = &[
    "version",
    "defaults",
    "start_anchor",
    "start_anchor_pattern",
    "fields",
    "open",
    "open_pattern",
    "close",
    "close_pattern",
    "content",
    "content_args",
    "repeats",
    "join",
    "optional",
    "transform",
    "transform_each",
    "strip",
    "unquoted_keys",
    "string_delims",
    "allow_non_json",
    "tag_pattern",
    "value_parser",
    "merge_duplicates",
    "line_sep",
    "kv_sep",
    "name",
    "args",
    "unknown",
];

/// What any place of a template may be replaced by.
fn replacements() -> Vec<Value> {
    let text = r#"[
        null, true, false, 0, 1, 1.0, 2, "", "x", "json", "xml-inline", "kv-lines", "python-call-list", "int",
        "(?P<key>x)", [], [""], ["a", "b"], ["a", 1], [["a", "b"]], [["a"]], {}, {"x": {}},
        {"strip": 1}, {"string_delims": [["a", ""]]}, {"line_sep": ""}, {"merge_duplicates": 0},
        {"tag_pattern": "(?x)(?P<k ey>x)"}, {"tag_pattern": "(?<key>x)", "value_parser": null},
        {"name": "json", "args": {"unquoted_keys": 1}}, {"name": "xml-inline"}, {"name": null}
    ]"#;
    let values = json::read(text).expect("the replacements are JSON");
    values.as_array().expect("they are a list").to_vec()
}

/// A template in which everything is said that can be.
const FULL: &str = r#"{
    "version": 1,
    "defaults": {"role": "assistant"},
    "start_anchor": ["A:", "B:"],
    "fields": {
        "a": {
            "open_pattern": "<(?P<name>a)>",
            "close": ["</a>", "<end>"],
            "content": "json",
            "content_args": {
                "unquoted_keys": true,
                "string_delims": [["<q>", "</q>"]],
                "allow_non_json": true,
                "strip": false
            },
            "repeats": true,
            "join": ", ",
            "optional": false,
            "transform": {"name": "{name}"},
            "transform_each": true
        },
        "b": {
            "open": "<b>",
            "content": "xml-inline",
            "content_args": {
                "tag_pattern": "<(?P<key>\\w)>(?P<value>.)",
                "value_parser": {"name": "json", "args": {"string_delims": []}},
                "merge_duplicates": true
            }
        },
        "c": {
            "close_pattern": "</c>",
            "content": "kv-lines",
            "content_args": {
                "line_sep": ";",
                "kv_sep": "=",
                "strip": true,
                "value_parser": {"name": "text", "args": {"strip": false}}
            }
        }
    }
}"#;

#[test]
fn schema_and_loader_agree_on_every_change_of_a_template() {
    let rule = rule();
    let replacements = replacements();
    let full = json::read(FULL).expect("the template is JSON");
    assert!(faults(&full).is_empty(), "{:?}", faults(&full));
    let (mut accepted, mut refused) = (0, 0);
    for template in changed(&full, KEYS, &replacements) {
        let faults = faults(&template);
        rule.assert(&template, &faults);
        match faults.is_empty() {
            true => accepted += 1,
            false => refused += 1,
        }
    }
    assert!(accepted > 100 && refused > 100, "{accepted}, {refused}");
}

#[test]
fn only_the_loader_knows_how_deep_value_parsers_may_nest() {
    let nested = |depth: usize| {
        let (open, close) = (r#"{"value_parser":{"name":"kv-lines","args":"#, "}}");
        let args = format!("{}{{}}{}", open.repeat(depth), close.repeat(depth));
        let field = format!(r#"{{"content":"kv-lines","content_args":{args}}}"#);
        let template = format!(r#"{{"start_anchor":"A:","fields":{{"v":{field}}}}}"#);
        json::read(&template).expect("the template is JSON")
    };
    let rule = rule();
    for (depth, loads) in [(1, true), (16, true), (17, false), (40, false)] {
        let template = nested(depth);
        let faults = faults(&template);
        assert_eq!(faults.is_empty(), loads, "{depth}");
        rule.assert(&template, &faults);
        assert!(
            foreign(&template).is_some_and(|t| rule.validator.is_valid(&t)),
            "{depth}"
        );
    }
}
