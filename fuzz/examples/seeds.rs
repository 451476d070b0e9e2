//! Writes a few inputs for the targets to start from into `fuzz/corpus`.

use std::{fs, io, path::Path};

const TEMPLATES: &[&str] = &[
    r#"{"start_anchor": "<bot>", "defaults": {"role": "assistant"}, "fields": {
        "thinking": {"open": "<think>", "close": "</think>"},
        "tool_calls": {"open": ["<a>", "<b>"], "close_pattern": "</[ab]>|\\Z", "repeats": true,
            "content": "json", "content_args": {"unquoted_keys": true, "string_delims": [["<|", "|>"]]},
            "transform": {"type": "function", "function": "{content}"}},
        "content": {"close": "<end>"}}}"#,
    r#"{"version": 1, "start_anchor_pattern": "(?m)^bot:\\s*", "fields": {
        "tool_calls": {"open_pattern": "<call (?P<name>\\w+)>", "close": "</call>",
            "content": "xml-inline", "content_args": {
                "tag_pattern": "<p=(?P<key>\\w+)>(?P<value>.*?)</p>", "merge_duplicates": true,
                "value_parser": {"name": "json", "args": {"allow_non_json": true}}},
            "transform": {"name": "{name}", "arguments": ["{content}"]}},
        "content": {"repeats": true, "join": "\n", "optional": false}}}"#,
    r#"{"start_anchor": "A:", "fields": {
        "meta": {"open_pattern": "(?<!x)<m>(?=\\s)", "close_pattern": "(?>a|ab)c++|$",
            "content": "kv-lines", "content_args": {"line_sep": ";", "kv_sep": "=", "strip": false}},
        "list": {"open": "[", "content": "json", "transform_each": true, "transform": "{a.b}"}}}"#,
    r#"{"start_anchor": "A:", "start_anchor_pattern": "(", "fields": {
        "a": {"open": "", "clsoe": "x", "join": 1}, "b": {"open_pattern": "(?P<a>x", "content": "xml"},
        "c": {"content": "xml-inline"}, "d": [], "e": {"transform": {"x": ["{a} b"]}}}}"#,
];

const DOCUMENTS: &[&str] = &[
    r#" {"a/b": [1, -2.5e-3, "\u00e9\ud800\n"], "": {"x~": null}, "a": [true, [NaN, -Infinity]]} "#,
    "{a:1\u{1}0\u{2}2,\"b\":\"x\u{1}\"}",
    r#"{key:<|q|>say "hi", a:b<|q|>,other:{k:[12345678901234567890]}}"#,
];

/// The bytes that come before a document: plain JSON, keys without quotes, and a pair of markers.
const JSON_ARGS: &[&[u8]] = &[
    &[0, 0, 1, 0, 7],
    &[1, 0, 1, 0, 7],
    &[1, 0, 0, 1, 1, 0, 1, 7],
];

fn main() -> io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (index, template) in TEMPLATES.iter().enumerate() {
        write(&corpus, "template", index, template.as_bytes())?;
    }
    for (index, document) in DOCUMENTS.iter().enumerate() {
        for (number, args) in JSON_ARGS.iter().enumerate() {
            let input = [args, document.as_bytes()].concat();
            let index = JSON_ARGS.len() * index + number;
            write(&corpus, "content_json", index, &input)?;
        }
    }
    for (target, text) in [
        ("content_int", " -1_000\u{661} "),
        ("content_float", "-1_0.5e+3"),
        ("content_bool", " True\n"),
        ("content_text", " \u{1c} a b\u{3000}"),
    ] {
        write(&corpus, target, 0, &[&[1], text.as_bytes()].concat())?;
    }
    // These make their cases out of any bytes, but need many for a case worth trying.
    for target in ["feed", "content_xml_inline", "content_kv_lines"] {
        for index in 0..64 {
            write(&corpus, target, index, &random_bytes(index as u64))?;
        }
    }
    chat_templates(&corpus)?;
    fixtures(&corpus)
}

/// The chat templates of the tests: the rows of rendering, and those that would exhaust something.
fn chat_templates(corpus: &Path) -> io::Result<()> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests");
    let mut index = 0;
    let mut add = |template: &str| {
        for target in ["render", "derive"] {
            write(corpus, target, index, template.as_bytes())?;
        }
        index += 1;
        io::Result::Ok(())
    };
    for entry in fs::read_dir(tests.join("render"))? {
        let rows = fs::read_to_string(entry?.path())?;
        let rows = unjinja::json::read(&rows).map_err(io::Error::other)?;
        for row in rows.as_array().into_iter().flatten() {
            add(row
                .get("template")
                .and_then(|jinja| jinja.as_str())
                .unwrap_or_default())?;
        }
    }
    // Each is a text of its own, in a table of Rust.
    let attacks = fs::read_to_string(tests.join("attacks.rs"))?;
    for jinja in attacks
        .split('"')
        .filter(|text| text.contains("{%") || text.contains("{{"))
    {
        add(&format!(
            "{{% set ns = namespace(v=1) %}}{{% set v = ns.v %}}{jinja}"
        ))?;
    }
    Ok(())
}

/// The fixtures of the tests: right ones, and wrong ones of many kinds.
fn fixtures(corpus: &Path) -> io::Result<()> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests");
    let mut index = 0;
    for folder in [
        "check",
        "fixtures/right",
        "fixtures/failing",
        "fixtures/broken",
    ] {
        for entry in fs::read_dir(tests.join(folder))? {
            let path = entry?.path();
            if path.to_string_lossy().contains(".fixture.") {
                write(corpus, "fixture", index, &fs::read(&path)?)?;
                index += 1;
            }
        }
    }
    Ok(())
}

/// Some hundred bytes, the same ones whenever they are made (by xorshift).
fn random_bytes(seed: u64) -> Vec<u8> {
    let mut state = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let byte = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..100 + 20 * seed).map(byte).collect()
}

fn write(corpus: &Path, target: &str, index: usize, input: &[u8]) -> io::Result<()> {
    let directory = corpus.join(target);
    fs::create_dir_all(&directory)?;
    fs::write(directory.join(format!("seed-{index}")), input)
}
