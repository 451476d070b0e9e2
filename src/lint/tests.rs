//! Each page of a lint has an example of what is reported, and one of what is not; tables have
//! more of them.

use crate::json;
use crate::position::Position;

use super::*;

/// The blocks of a kind in a page.
fn blocks<'p>(page: &'p str, kind: &str) -> Vec<&'p str> {
    let fence = format!("```{kind}\n");
    let parts = page.split(fence.as_str()).skip(1);
    parts.filter_map(|part| part.split("```").next()).collect()
}

fn complaints(text: &str, options: LintOptions<'_>) -> Vec<Complaint> {
    let document = json::read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let pointer = ["/response_template", "/response_schema"].into_iter();
    let pointer = pointer
        .into_iter()
        .find(|at| document.pointer(at).is_some())
        .unwrap_or("");
    let text_of = TemplateText::new(text).at(pointer);
    let complaints = match pointer {
        "/response_schema" => lint_schema(text_of, &options.rulings),
        _ => {
            let template = ResponseTemplate::from_json_at(text, pointer);
            let template = template.unwrap_or_else(|error| panic!("{text}: {error}"));
            let options = options.document(text_of);
            lint(&template, &options).unwrap_or_else(|error| panic!("{error}"))
        }
    };
    let placed = complaints.iter().all(|c| c.diagnostic.position.is_some());
    assert!(placed, "{complaints:?}");
    complaints
}

/// The lints of which there are complaints.
fn lints(text: &str, chat_template: Option<&ChatTemplate>, target: Option<Target>) -> Vec<Lint> {
    let options = LintOptions::default()
        .chat_template(chat_template)
        .targets(target);
    let complaints = complaints(text, options).into_iter();
    let mut lints: Vec<Lint> = complaints.map(|complaint| complaint.lint).collect();
    lints.sort();
    lints.dedup();
    lints
}

/// What waits for more text in the newest version is taken at once by older ones.
#[test]
fn whether_a_pattern_depends_on_chunks_is_said_for_whom_the_template_is() {
    let template = |pattern: &str| {
        format!(
            r#"{{"start_anchor": "A:", "fields": {{"content": {{"close_pattern": {}}}}}}}"#,
            json::write(&pattern.into())
        )
    };
    let said = |pattern: &str, targets: &[&str]| {
        let targets = targets.iter().map(|target| target.parse::<Target>());
        let targets: Result<Vec<Target>, _> = targets.collect();
        let options = LintOptions::default().targets(targets.expect("they are known"));
        let complaints = complaints(&template(pattern), options).into_iter();
        let mut complaints = complaints.filter(|complaint| complaint.lint == Lint::DependsOnChunks);
        let message = complaints.next()?.diagnostic.message;
        Some(message.contains("before version 5.24 of the language"))
    };
    for (pattern, all, newest) in [
        ("<end>$", Some(true), None),
        ("<end>(?:</s>)?", Some(false), Some(false)),
        ("<end>\\s*", None, None),
    ] {
        assert_eq!(said(pattern, &[]), all, "{pattern}");
        assert_eq!(said(pattern, &["transformers@5.23"]), all, "{pattern}");
        assert_eq!(
            said(pattern, &["transformers@5.24", "vllm"]),
            all,
            "{pattern}"
        );
        assert_eq!(said(pattern, &["transformers@5.24"]), newest, "{pattern}");
    }
}

#[test]
fn each_page_shows_what_is_reported_and_what_is_not() {
    for &lint in Lint::all() {
        let page = lint.page();
        let jinja = blocks(page, "jinja");
        if lint.is_of_chat_templates() {
            let [reported, not_reported] = jinja[..] else {
                panic!("{}: two blocks of Jinja are needed", lint.code());
            };
            let [reported, not_reported] = [reported, not_reported].map(of_chat_template);
            // That takes a second template, and has an example of its own.
            let takes_two = lint == Lint::OtherTemplateBeside;
            assert!(
                reported.contains(&lint) || takes_two,
                "{}: {reported:?}",
                lint.code()
            );
            assert!(!not_reported.contains(&lint), "{}", lint.code());
            continue;
        }
        let chat_template = jinja
            .first()
            .map(|source| ChatTemplate::from_jinja(*source));
        let target = blocks(page, "text").first().map(|name| {
            let target = name.trim().parse::<Target>();
            target.unwrap_or_else(|error| panic!("{}: {error}", lint.code()))
        });
        let json = blocks(page, "json");
        let [reported, not_reported] = json[..] else {
            panic!("{}: two blocks of JSON are needed", lint.code());
        };
        // What other engines lack may be in any example, but is what one page is about.
        let found = |text: &str| {
            let found = lints(text, chat_template.as_ref(), target).into_iter();
            let found = found.filter(|&found| found == lint || found != Lint::NotPortable);
            found.collect::<Vec<Lint>>()
        };
        let shows = "the page's first example must show this fault alone, and the second none";
        assert_eq!(found(reported), [lint], "{}: {shows}", lint.code());
        assert_eq!(found(not_reported), [], "{}: {shows}", lint.code());
        let after = |title: &str| page.split(title).nth(1).unwrap_or_default();
        assert_eq!(blocks(after("## Reported"), "json").len(), 2);
        assert_eq!(blocks(after("## Not reported"), "json").len(), 1);
    }
}

/// The lints of which there are complaints about a chat template.
fn of_chat_template(jinja: &str) -> Vec<Lint> {
    let template = ChatTemplate::from_jinja(jinja);
    let complaints = lint_chat_template(&template, &LintOptions::default());
    let complaints = complaints.unwrap_or_else(|error| panic!("{jinja}: {error}"));
    let placed = complaints
        .iter()
        .all(|complaint| complaint.diagnostic.position.is_some());
    assert!(placed, "{complaints:?}");
    complaints.iter().map(|complaint| complaint.lint).collect()
}

/// Code and place of all complaints about fields, without those of portability.
fn reported(fields: &str, options: LintOptions<'_>) -> Vec<String> {
    let text = format!(r#"{{"start_anchor": "<bot>", "fields": {{{fields}}}}}"#);
    let reported = complaints(&text, options).into_iter();
    let reported = reported.filter(|complaint| complaint.lint != Lint::NotPortable);
    reported
        .map(|c| {
            format!(
                "{} {}",
                c.lint.code(),
                c.diagnostic.pointer.trim_start_matches("/fields/")
            )
        })
        .collect()
}

#[test]
fn delimiters_that_take_the_beginning_of_others_are_distinguished_from_those_that_do_not() {
    for (fields, expected) in [
        (
            r#""thinking": {"open": "<think>", "close_pattern": "</think>\\s*"},
               "tool_calls": {"open_pattern": "\\s*<call>", "close_pattern": "</call>\\s*"}"#,
            &[][..],
        ),
        (
            r#""thinking": {"open": "<think>", "close": "<end>"},
               "tool_calls": {"open": "<end><call>", "close": "</call>"}"#,
            &["U001 thinking/close"],
        ),
        (
            r#""thinking": {"open": "<think>", "close_pattern": "<end>(?!<call>)"},
               "tool_calls": {"open": "<end><call>", "close": "</call>"}"#,
            &["U011 thinking/close_pattern"],
        ),
        (
            r#""thinking": {"open": "<think>", "close_pattern": "<end>(?!<call>|<do>)"},
               "tool_calls": {"open": "<end><call>", "close": "</call>"}"#,
            &["U016 thinking/close_pattern"],
        ),
        (
            r#""thinking": {"open": "<think>", "close": "</think><call>"},
               "tool_calls": {"open": "<call>", "close": "</call>"}"#,
            &["U001 thinking/close"],
        ),
        (
            r#""thinking": {"open_pattern": "<think>\\s*", "close": "\n</think>"}"#,
            &["U001 thinking/open_pattern"],
        ),
        // Quotes of a kind open and close.
        (r#""thinking": {"open": "'''", "close": "'''\n"}"#, &[]),
        // The longer of two wins.
        (
            r#""thinking": {"open": "<a>", "close": "</a>"},
               "tool_calls": {"open": "<a><b>", "close": "</b>"}"#,
            &[],
        ),
        // Markers that share a bracket: no model writes one into the other.
        (
            r#""thinking": {"open": "<|a|>", "close": "<|b|>"},
               "tool_calls": {"open": ">>>", "close": "<<<"}"#,
            &[],
        ),
        // The same marker twice.
        (
            r#""thinking": {"open": "<a>", "close_pattern": "(?:<end>|</a>)\\s*"},
               "content": {"close_pattern": "<end>\\s*"}"#,
            &[],
        ),
    ] {
        assert_eq!(
            reported(fields, LintOptions::default()),
            expected,
            "{fields}"
        );
    }
}

#[test]
fn closes_within_values_are_distinguished_from_those_that_no_value_holds() {
    let body = r#""open": "<call>", "content""#;
    for (field, expected) in [
        (
            r#""json", "close": "</call>""#,
            &["U006 tool_calls/close"][..],
        ),
        (r#""json", "close": ["\n</call>", "}\n"]"#, &[]),
        // In a string, the quote has a backslash before it.
        (
            r#""json", "close_pattern": "\"\\}</call>""#,
            &["U006 tool_calls/close_pattern"],
        ),
        (r#""json", "close_pattern": "(?<!\\\\)\"\\}</call>""#, &[]),
        (
            r#""json", "close_pattern": "\\n</call>|(?=<call>)""#,
            &["U006 tool_calls/close_pattern"],
        ),
        (r#""json", "close": "<end>""#, &[]),
        (
            r#""json", "content_args": {"string_delims": [["<q>", "<q>"]]}, "close": "\n</call>""#,
            &["U006 tool_calls/close"],
        ),
        (
            r#""json", "content_args": {"unquoted_keys": true}, "close": "</call>""#,
            &["U006 tool_calls/close"],
        ),
        (
            r#""kv-lines", "close": "</call>""#,
            &["U006 tool_calls/close"],
        ),
        (r#""kv-lines", "close": "\n</call>""#, &[]),
        (
            r#""xml-inline", "close": "</call>",
            "content_args": {"tag_pattern": "<p=(?P<key>\\w+)>(?P<value>.*?)</p>"}"#,
            &["U006 tool_calls/close"],
        ),
        (
            r#""xml-inline", "close": "</call>",
            "content_args": {"tag_pattern": "<p=(?P<key>\\w+)>(?P<value>[^<]*)</p>"}"#,
            &[],
        ),
        (
            r#""xml-inline", "close": "</p></call>",
            "content_args": {"tag_pattern": "<p=(?P<key>\\w+)>(?P<value>.*?)</p>"}"#,
            &[],
        ),
        (r#""text", "close": "</call>""#, &[]),
        (r#""int", "close": "</call>""#, &[]),
    ] {
        let options = LintOptions {
            turn_ends: vec!["<end>".to_owned()],
            ..LintOptions::default()
        };
        let fields = format!(r#""tool_calls": {{{body}: {field}}}"#);
        assert_eq!(reported(&fields, options), expected, "{field}");
    }
}

#[test]
fn fields_that_never_open_and_literals_without_effect_are_found() {
    for (fields, expected) in [
        (
            r#""thinking": {"open": "<a>", "close": "</a>"},
               "tool_calls": {"open": ["<a>", "<b>"], "close": "</b>"}"#,
            &["U012 tool_calls/open/0"][..],
        ),
        (
            r#""thinking": {"open_pattern": "<[ab]>", "close": "</a>"},
               "tool_calls": {"open": ["<a>", "<b>"], "close": "</b>"}"#,
            &["U007 tool_calls/open"],
        ),
        (
            r#""thinking": {"open_pattern": "<\\w>", "close": "</a>"},
               "tool_calls": {"open_pattern": "<\\w>", "close": "</b>"}"#,
            &["U007 tool_calls/open_pattern"],
        ),
        // Only at the start, or only before something.
        (
            r#""thinking": {"open_pattern": "\\A<a>", "close": "</a>"},
               "tool_calls": {"open": "<a>", "close": "</b>"}"#,
            &[],
        ),
        (
            r#""thinking": {"open_pattern": "<a>(?=x)", "close": "</a>"},
               "tool_calls": {"open": "<a>", "close": "</b>"}"#,
            &[],
        ),
        (
            r#""thinking": {"open_pattern": "[^\\s\\S]", "close_pattern": "(?!)"}"#,
            &["U007 thinking/open_pattern", "U012 thinking/close_pattern"],
        ),
        (
            r#""thinking": {"open_pattern": "<a>\\s*", "close_pattern": "</a>\\s*"},
               "content": {"close": "<a>"}"#,
            &["U012 content/close"],
        ),
    ] {
        assert_eq!(
            reported(fields, LintOptions::default()),
            expected,
            "{fields}"
        );
    }
}

#[test]
fn tokens_that_end_a_turn_are_looked_for_in_the_text() {
    for (fields, ends, expected) in [
        (r#""content": {}"#, &[][..], &["U002 content"][..]),
        (r#""content": {}"#, &["<end>"], &["U002 content"]),
        (r#""content": {}"#, &["\n"], &[]),
        (
            r#""content": {"close_pattern": "<end>\\s*"}"#,
            &["<end>"],
            &[],
        ),
        (
            r#""content": {"close_pattern": "<end>\\s*"}"#,
            &["<end>", "</s>"],
            &["U002 content/close_pattern"],
        ),
        // Another field takes it.
        (
            r#""content": {}, "thinking": {"open": "<end>"}"#,
            &["<end>"],
            &[],
        ),
        (r#""content": {"open": "<a>"}"#, &["<end>"], &[]),
        (
            r#""content": {"repeats": true}"#,
            &["<end>"],
            &["U002 content"],
        ),
    ] {
        let options = LintOptions {
            turn_ends: ends.iter().map(|end| (*end).to_owned()).collect(),
            ..LintOptions::default()
        };
        assert_eq!(reported(fields, options), expected, "{fields} {ends:?}");
    }
}

#[test]
fn prompts_that_lack_the_anchor_are_named() {
    let chat_template = ChatTemplate::from_jinja(
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
         {% if add_generation_prompt %}\
         {% if messages[-1].role == 'tool' %}<again>{% else %}<assistant>{% endif %}{% endif %}",
    );
    for (anchor, expected) in [
        (r#"["<assistant>", "<again>"]"#, vec![]),
        (
            r#""<assistant>""#,
            vec![(
                Level::Warning,
                "prompts after a tool's answer don't have the anchor where the assistant's turn \
                 begins, so more of them than that turn is read as a part of the message",
            )],
        ),
        (
            r#""<bot>""#,
            vec![(
                Level::Error,
                "no prompt of the chat template has the anchor where the assistant's turn begins, \
                 so whole prompts are read as a part of the message",
            )],
        ),
    ] {
        let text = format!(
            r#"{{"start_anchor": {anchor}, "fields": {{"content": {{"close_pattern": "<end>\\s*"}}}}}}"#
        );
        let options = LintOptions {
            chat_template: Some(&chat_template),
            ..LintOptions::default()
        };
        let complaints = complaints(&text, options);
        let reported = complaints
            .iter()
            .map(|c| (c.level, c.diagnostic.message.as_str()));
        assert_eq!(reported.collect::<Vec<_>>(), expected, "{anchor}");
    }
}

#[test]
fn white_space_is_reported_only_where_it_replaces_text() {
    for (fields, expected) in [
        (
            r#""tool_calls": {"open": "<a>", "close": "</a>", "content": "int"},
               "content": {"close": "<end>"}"#,
            &["U013 content"][..],
        ),
        (
            r#""tool_calls": {"open": "<a>", "close": "</a>"},
               "content": {"close": "<end>", "repeats": true, "join": ""}"#,
            &[],
        ),
        (
            r#""tool_calls": {"open": "<a>", "close": "</a>"}, "content": {"open": "<b>"}"#,
            &[],
        ),
    ] {
        assert_eq!(
            reported(fields, LintOptions::default()),
            expected,
            "{fields}"
        );
    }
}

#[test]
fn patterns_of_tags_and_of_anchors_are_looked_at_too() {
    let text = r#"{
        "start_anchor_pattern": "(?:<bot>)?",
        "fields": {"tool_calls": {
            "open": "<call>", "close_pattern": "</call>\\s*", "content": "xml-inline",
            "content_args": {
                "tag_pattern": "<(?P<key>(?:\\w+ ?)+)>",
                "value_parser": {"name": "xml-inline", "args": {"tag_pattern": "(?P<key>\\w*)"}}
            }
        }}
    }"#;
    let reported = complaints(text, LintOptions::default()).into_iter();
    let reported: Vec<String> = reported
        .map(|c| format!("{} {}", c.lint.code(), c.diagnostic.pointer))
        .collect();
    let arguments = "/fields/tool_calls/content_args";
    assert_eq!(
        reported,
        [
            "U004 /start_anchor_pattern".to_owned(),
            format!("U005 {arguments}/tag_pattern"),
            format!("U004 {arguments}/value_parser/args/tag_pattern"),
        ]
    );
}

#[test]
fn places_are_those_of_the_document_that_the_template_stands_in() {
    let text = "{\n  \"eos_token\": \"<end>\",\n  \"response_template\": {\n    \
                \"start_anchor\": \"A:\",\n    \"fields\": {\"content\": {}}\n  }\n}";
    let pointer = "/response_template";
    let template =
        ResponseTemplate::from_json_at(text, pointer).unwrap_or_else(|error| panic!("{error}"));
    let options = LintOptions {
        document: Some(TemplateText::new(text).at(pointer)),
        ..LintOptions::default()
    };
    let complaints = lint(&template, &options).unwrap_or_else(|error| panic!("{error}"));
    let reported: Vec<_> = complaints
        .iter()
        .map(|c| &c.diagnostic)
        .map(|about| {
            (
                about.pointer.as_str(),
                about.position.map(Position::line_column),
            )
        })
        .collect();
    assert_eq!(
        reported,
        [("/response_template/fields/content", Some((5, 27)))]
    );
}

/// What engines really do with some patterns, as was tried out with each of them: JavaScript with the
/// flags `s` and `u`.
#[test]
fn constructs_are_reported_with_the_engines_that_lack_them() {
    for (pattern, lacking) in [
        (r"(?=<x>)", "Go's RE2 and Rust's `regex`"),
        (r"(?<=a|b)x", "Go's RE2 and Rust's `regex`"),
        (r"(?<=a|bc)x", "Python's `re`, Go's RE2 and Rust's `regex`"),
        (
            r"(?<=ab*)x",
            "Python's `re`, PCRE2, Go's RE2 and Rust's `regex`",
        ),
        (r"a{,3}b", "JavaScript, Go's RE2 and Rust's `regex`"),
        (r#"{"name""#, "JavaScript and Rust's `regex`"),
        (r"\<think\>", "JavaScript and Rust's `regex`"),
        (r"a\-b", "JavaScript"),
        (r"[&&]x", "Rust's `regex`"),
        (r"(?>a+)b", "JavaScript, Go's RE2 and Rust's `regex`"),
        (r"\p{L}+x", "Python's `re`"),
        (r"a\Z", "JavaScript, PCRE2, Go's RE2 and Rust's `regex`"),
        (r"(?P<a>x)", ""),
        (r"<\|end\|>\s*", ""),
        (r"\{\}\[\]\(\)\.\*\+\?\^\$\\\/", ""),
    ] {
        let template = format!(
            r#"{{"start_anchor": "<a>", "fields": {{
                "content": {{"close_pattern": {}, "transform": "{{a}}"}}}}}}"#,
            json::write(&pattern.into())
        );
        let template = template.replace(
            r#", "transform": "{a}""#,
            match pattern {
                r"(?P<a>x)" => r#", "transform": "{a}""#,
                _ => "",
            },
        );
        let template = ResponseTemplate::from_json(&template).expect(pattern);
        let complaints = lint(&template, &LintOptions::default()).expect("nothing is rendered");
        let complaints = complaints
            .iter()
            .filter(|complaint| complaint.lint == Lint::NotPortable);
        let reported: Vec<&str> = complaints
            .filter_map(|complaint| {
                let (_, engines) = complaint.diagnostic.message.rsplit_once("(not in ")?;
                engines.strip_suffix(')')
            })
            .collect();
        assert_eq!(reported.concat(), lacking, "{pattern}");
    }
}
