//! The data of profiles, and a table of templates that are taken, refused and rewritten.

use crate::json;
use crate::response::ResponseTemplate;

use super::{Effect, Profile, Target, load, port};

fn template(fields: &str) -> ResponseTemplate {
    let text = match fields.starts_with('{') {
        true => fields.to_owned(),
        false => format!(r#"{{"start_anchor": "<bot>", "fields": {{{fields}}}}}"#),
    };
    ResponseTemplate::from_json(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn target(name: &str) -> Target {
    name.parse().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn all_data_loads_and_has_sources_with_their_day() {
    for text in load::TEXTS {
        let profile = load::profile(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert!(Profile::named(profile.name()).is_some());
        assert!(profile.since() <= profile.version());
        let readings = profile.readings.iter().map(|reading| &reading.source);
        for source in profile
            .rules
            .iter()
            .map(|rule| &rule.source)
            .chain(readings)
        {
            assert!(source.version <= profile.version(), "{source}");
            assert!(source.file.ends_with(".py"), "{source}");
            let digits = source.date.split('-').map(str::len);
            assert_eq!(digits.collect::<Vec<usize>>(), [4, 2, 2], "{source}");
        }
    }
    assert_eq!(Profile::all().len(), load::TEXTS.len());
}

#[test]
fn what_is_missing_unknown_or_wrong_in_the_data_is_an_error() {
    let [whole, ..] = load::TEXTS;
    for (from, to, error) in [
        (
            r#""rule": "call-by-call""#,
            r#""rule": "call-by-calls""#,
            "`call-by-calls` is no rule",
        ),
        (r#""names": ["#, r#""namez": ["#, "`names` is missing"),
        (
            r#""names": ["#,
            r#""namez": 1, "names": ["#,
            "`namez` is unknown",
        ),
        (
            r#""otherwise": "fails""#,
            r#""otherwise": "lost""#,
            "`lost` is no effect",
        ),
        (
            r#""source": "older-parsers""#,
            r#""source": "x""#,
            "there is no source `x`",
        ),
        (
            r#""until": "5.16.0""#,
            r#""until": "5.x""#,
            "`5.x` is no version: write it with digits and dots, such as 5.16",
        ),
    ] {
        let changed = whole.replacen(from, to, 1);
        assert_ne!(changed, whole, "{from}");
        assert_eq!(load::profile(&changed), Err(error.to_owned()));
    }
}

const CALLS: &str = r#""tool_calls": {"open": "<call>", "close": "</call>", "repeats": true,
    "content": "json", "transform": {"type": "function", "function": "{content}"}}"#;

/// What is said against templates: the pointer, and what becomes of the template.
#[test]
fn templates_are_taken_or_not() {
    let thinking = r#""thinking": {"open": "<think>", "close": "</think>"}"#;
    let renamed = thinking.replace("thinking", "reasoning_content");
    let flat = r#""tool_calls": {"open_pattern": "<(?P<n>\\w+)>", "close": "</call>", "repeats": true,
        "content": "json", "transform": {"name": "{n}", "arguments": "{content}"}}"#;
    let single = CALLS.replace(r#""repeats": true,"#, "");
    let each = flat.replace(r#""repeats": true,"#, r#""transform_each": true,"#);
    let dotted = CALLS.replace(r#""{content}"}"#, r#""{content.function}"}"#);
    let joined =
        r#""content": {"open": "<say>", "close": "</say>", "repeats": true, "join": "\n"}"#;
    let implicit =
        r#""thinking": {"close": "</think>"}, "content": {"open": "<say>", "close": "</say>"}"#;
    for (fields, expected) in [
        (thinking.to_owned(), &[][..]),
        (CALLS.to_owned(), &[]),
        (
            renamed,
            &[
                ("transformers@5.20", "/fields/reasoning_content", Effect::Limits),
                ("vllm", "/fields/reasoning_content", Effect::Refused),
                ("sglang", "/fields/reasoning_content", Effect::Refused),
            ],
        ),
        (
            r#"{"start_anchor": "<bot>", "defaults": {"role": "assistant", "x": 1}, "fields": {"content": {}}}"#.into(),
            &[
                ("vllm", "/defaults/x", Effect::Refused),
                ("sglang", "/defaults/x", Effect::Refused),
            ],
        ),
        (
            r#""content": {"content": "json"}"#.into(),
            &[
                ("transformers", "/fields/content/content", Effect::Limits),
                ("transformers@5.20", "/fields/content/content", Effect::Limits),
                ("vllm", "/fields/content/content", Effect::Refused),
                ("sglang", "/fields/content/content", Effect::Refused),
            ],
        ),
        (
            joined.to_owned(),
            &[
                ("transformers@5.15", "/fields/content/join", Effect::Refused),
                ("vllm", "/fields/content/join", Effect::Refused),
                ("sglang", "/fields/content/join", Effect::Refused),
            ],
        ),
        (
            r#""tool_calls": {"content": "json"}"#.into(),
            &[("sglang", "/fields/tool_calls", Effect::Refused)],
        ),
        (
            implicit.to_owned(),
            &[("sglang", "/fields/thinking", Effect::Refused)],
        ),
        (
            flat.to_owned(),
            &[
                ("transformers", "/fields/tool_calls/transform", Effect::Limits),
                ("transformers@5.20", "/fields/tool_calls/transform", Effect::Limits),
                ("vllm", "/fields/tool_calls/transform", Effect::Fails),
                ("sglang", "/fields/tool_calls/transform", Effect::Fails),
            ],
        ),
        (
            single,
            &[
                ("transformers", "/fields/tool_calls", Effect::Limits),
                ("transformers@5.20", "/fields/tool_calls", Effect::Limits),
                ("trl", "/fields/tool_calls", Effect::Fails),
            ],
        ),
        (
            each,
            &[
                ("transformers", "/fields/tool_calls/transform", Effect::Limits),
                ("transformers", "/fields/tool_calls/transform_each", Effect::Limits),
                ("vllm", "/fields/tool_calls/transform", Effect::Fails),
                ("sglang", "/fields/tool_calls/transform", Effect::Fails),
            ],
        ),
        (
            dotted,
            &[("transformers@5.15", "/fields/tool_calls/transform", Effect::Fails)],
        ),
        (
            r#""tool_calls": {"open": "<call>", "close": "</call>", "repeats": true}"#.into(),
            &[
                ("transformers", "/fields/tool_calls", Effect::Limits),
                ("vllm", "/fields/tool_calls", Effect::Fails),
                ("sglang", "/fields/tool_calls", Effect::Fails),
                ("trl", "/fields/tool_calls", Effect::Fails),
            ],
        ),
        (
            r#""tool_calls": {"open_pattern": "<(?P<n>\\w+)>", "close": "</call>", "repeats": true,
                "transform": {"function": {"name": "{n}"}}}"#
                .into(),
            &[
                ("transformers", "/fields/tool_calls/transform", Effect::Limits),
                ("vllm", "/fields/tool_calls/transform", Effect::Fails),
                ("sglang", "/fields/tool_calls/transform", Effect::Fails),
            ],
        ),
        (
            r#""analysis": {"open": "<a>", "close": "</a>"}"#.into(),
            &[
                ("transformers", "/fields/analysis", Effect::Limits),
                ("vllm", "/fields/analysis", Effect::Refused),
                ("sglang", "/fields/analysis", Effect::Refused),
            ],
        ),
    ] {
        let template = template(&fields);
        for name in ["transformers", "transformers@5.20", "transformers@5.15", "vllm", "sglang", "trl"] {
            let found = target(name).objections(&template).into_iter();
            let found: Vec<(String, Effect)> = found
                .map(|found| (found.diagnostic.pointer, found.effect))
                .collect();
            let expected = expected.iter().filter(|(target, ..)| *target == name);
            let expected: Vec<(String, Effect)> = expected
                .map(|&(_, pointer, effect)| (pointer.to_owned(), effect))
                .collect();
            // The table names versions where it matters.
            let is_told = !name.contains('@') || !expected.is_empty();
            assert!(!is_told || found == expected, "{name}: {fields}\n{found:?}");
        }
    }
}

#[test]
fn a_version_from_before_the_language_takes_nothing() {
    let template = template(CALLS);
    let found = target("transformers@5.12").objections(&template);
    assert_eq!(
        found[0].diagnostic.to_string(),
        "transformers 5.12.0 reads no response templates: use transformers 5.13.0 or newer"
    );
    let transformers = Profile::named("transformers").map(|profile| profile.takes_since(&template));
    assert_eq!(transformers, Some("5.13".parse().ok()));
}

/// What rewriting makes of fields, and what is left to be said.
#[test]
fn templates_are_rewritten() {
    for (name, fields, expected, left) in [
        (
            "vllm",
            r#""reasoning_content": {"open": "<t>", "close": "</t>", "transform": "{content}"}"#,
            r#""thinking":{"open":"<t>","close":"</t>"}"#,
            0,
        ),
        (
            "trl",
            r#""thinking": {"open": "<t>", "close": "</t>"}"#,
            r#""reasoning_content":{"open":"<t>","close":"</t>"}"#,
            0,
        ),
        (
            "transformers@5.20",
            r#""reasoning": {"open": "<t>", "close": "</t>"}"#,
            r#""thinking":{"open":"<t>","close":"</t>"}"#,
            0,
        ),
        (
            "sglang",
            r#""content": {"open": "<s>", "close": "</s>", "repeats": true, "join": "\n"}"#,
            r#""content":{"open":"<s>","close":"</s>","repeats":true}"#,
            0,
        ),
        (
            "sglang",
            r#""tool_calls": {"open_pattern": "<(?P<n>\\w+)>", "content": "json", "transform": {"name": "{n}", "arguments": "{content}", "id": "{n}"}}"#,
            r#""tool_calls":{"open_pattern":"<(?P<n>\\w+)>","content":"json","transform":{"type":"function","id":"{n}","function":{"name":"{n}","arguments":"{content}"}}}"#,
            0,
        ),
        (
            "trl",
            r#""tool_calls": {"open": "<c>", "content": "json", "transform": {"type": "function", "function": "{content}"}}"#,
            r#""tool_calls":{"open":"<c>","content":"json","transform":{"type":"function","function":"{content}"},"repeats":true}"#,
            0,
        ),
        // These can't be had.
        (
            "vllm",
            r#""thinking": {"open": "<t>", "close": "</t>", "transform": {"is": "{content}"}}"#,
            r#""thinking":{"open":"<t>","close":"</t>","transform":{"is":"{content}"}}"#,
            1,
        ),
        (
            "sglang",
            r#""tool_calls": {"content": "json"}"#,
            r#""tool_calls":{"content":"json"}"#,
            1,
        ),
        (
            "vllm",
            r#""thinking": {"open": "<a>"}, "reasoning_content": {"open": "<b>"}"#,
            r#""thinking":{"open":"<a>"},"reasoning_content":{"open":"<b>"}"#,
            1,
        ),
    ] {
        let ported =
            port(&template(fields), target(name)).unwrap_or_else(|error| panic!("{error}"));
        let written = json::write(ported.template.as_value());
        let expected = format!(r#"{{"start_anchor":"<bot>","fields":{{{expected}}}}}"#);
        assert_eq!(
            written,
            json::write(&json::read(&expected).unwrap_or_default()),
            "{name}"
        );
        assert_eq!(ported.objections.len(), left, "{name}: {written}");
    }
}

#[test]
fn what_is_rewritten_reads_the_same_but_for_what_was_changed() {
    use crate::response::{ParserOptions, parse};
    let calls = r#""tool_calls": {"open_pattern": "<(?P<n>\\w+)>", "close": "</c>", "content": "json",
        "transform": {"name": "{n}", "arguments": "{content}"}}"#;
    let source = format!(
        r#"{{"start_anchor": "<bot>", "defaults": {{"role": "assistant", "kind": "x", "content": ""}},
            "fields": {{
                "reasoning": {{"open": "[", "close": "]", "repeats": true, "join": "; "}}, {calls}, "content": {{}}
            }}}}"#
    );
    let before = template(&source);
    for name in ["vllm", "sglang", "transformers", "trl"] {
        let ported = port(&before, target(name)).unwrap_or_else(|error| panic!("{error}"));
        for text in [
            "",
            "Hi!",
            "[a][b]Hi!",
            "<f>{\"x\": 1}</c>",
            "[a]<f>{}</c><g>[2]</c>",
        ] {
            let read = |template: &ResponseTemplate| {
                let read = parse(template, "<bot>", text, ParserOptions::default());
                read.unwrap_or_else(|error| panic!("{error}"))
            };
            let (old, new) = (read(&before), read(&ported.template));
            assert!(
                ported.agree(old.clone(), new.clone()),
                "{name}: {text}\n{old:?}\n{new:?}"
            );
            // What no change explains is seen.
            let mut other = new;
            other.insert("content", "something else");
            assert!(!ported.agree(old, other), "{name}: {text}");
        }
    }
}

#[test]
fn a_newer_version_is_advised_only_where_it_helps() {
    let remedies = |fields: &str, name: &str| -> Vec<String> {
        let objections = target(name).objections(&template(fields));
        let remedies = objections.into_iter().map(|one| one.diagnostic.remedy);
        remedies.map(Option::unwrap_or_default).collect()
    };
    let known = r#""reasoning": {"open": "<t>", "close": "</t>"}"#;
    let unknown = r#""notes": {"open": "<t>", "close": "</t>"}"#;
    assert_eq!(
        remedies(known, "transformers@5.20"),
        ["call it `thinking`, or use transformers 5.21.0 or newer"]
    );
    assert_eq!(
        remedies(unknown, "transformers@5.20"),
        ["what it knows is `thinking`, `content`, `tool_calls`"]
    );
}

#[test]
fn a_template_is_taken_from_where_a_rule_ends_that_began_later() {
    let whole = load::TEXTS
        .iter()
        .find(|text| text.contains("\"until\": \"5.21.0\""));
    let mut text = whole.copied().unwrap_or_default().to_owned();
    for (from, to) in [
        (r#""since": "5.21.0", "#, ""),
        (
            r#""until": "5.21.0", "otherwise": "limits", "why""#,
            r#""until": "5.21.0", "otherwise": "fails", "why""#,
        ),
    ] {
        assert!(text.contains(from));
        text = text.replacen(from, to, 1);
    }
    let profile = load::profile(&text).unwrap_or_else(|error| panic!("{error}"));
    let profile: &'static Profile = Box::leak(Box::new(profile));
    let template = template(r#""reasoning": {"open": "<t>", "close": "</t>"}"#);
    assert_eq!(profile.takes_since(&template), "5.21".parse().ok());
}

#[test]
fn a_default_is_renamed_with_its_field() {
    use crate::response::{ParserOptions, parse};
    let before = template(
        r#"{"start_anchor": "<bot>", "defaults": {"role": "assistant", "reasoning": "", "content": ""},
            "fields": {"reasoning": {"open": "[", "close": "]"}, "content": {}}}"#,
    );
    let ported = port(&before, target("trl")).unwrap_or_else(|error| panic!("{error}"));
    let defaults = ported.template.as_value().get("defaults").map(json::write);
    assert_eq!(
        defaults.as_deref(),
        Some(r#"{"role":"assistant","reasoning_content":"","content":""}"#)
    );
    for text in ["Hi!", "[a]Hi!", ""] {
        let read = |template: &ResponseTemplate| {
            let read = parse(template, "<bot>", text, ParserOptions::default());
            read.unwrap_or_else(|error| panic!("{error}"))
        };
        let (old, new) = (read(&before), read(&ported.template));
        assert!(new.contains_key("reasoning_content") && !new.contains_key("reasoning"));
        assert!(ported.agree(old, new), "{text}");
    }
}
