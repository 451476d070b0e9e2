//! Grammars: what they are built of, what they read and refuse, and that the response template of the same
//! format reads what they allow.

pub(crate) mod agreement;
mod limits;
pub(crate) mod sample;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::check::Fixture;
use unjinja::format::Format;
use unjinja::grammar::{
    Builder, Delta, Expr, FaultKind, Grammar, GrammarError, NotRegular, Reasoning, Request, Tag,
    ToolChoice,
};
use unjinja::{Object, Tools, Value, json};

use crate::root;

use sample::{Chance, calls_of, misread, mixed_tools};

fn value(text: &str) -> Value {
    json::read(text).expect("it is JSON")
}

/// What a grammar makes of a text: `whole`, `more` if it may go on so, or `no`.
fn verdict(grammar: &Grammar, text: &str) -> &'static str {
    if grammar.parse(text).is_ok() {
        return "whole";
    }
    match grammar.parse_partial(text) {
        Ok(tree) if tree.needs_more => "more",
        _ => "no",
    }
}

#[track_caller]
fn assert_verdicts(grammar: &Grammar, expected: &[(impl AsRef<str>, &str)]) {
    for (text, expected) in expected {
        let text = text.as_ref();
        assert_eq!(&verdict(grammar, text), expected, "{text}");
    }
}

type Build = fn(&Builder) -> Expr;

#[test]
fn no_hexadecimal_digit_follows_a_code_in_gbnf() {
    let grammar = Grammar::build(|p| {
        let sign = p.chars("[^a-f\u{1f}0-9é]", 1, 1).expect("it is a class");
        p.until("[e]") + "«a»b" + p.zero_or_more("»0") + sign
    });
    insta::assert_snapshot!(grammar.to_gbnf().text, @r#"
    root ::= until "«" "a»" "b" ("»" "0")* [^0-9a-f\x1F\xE9]
    until ::= [^\x5B]* ([\x5B] until-2)?
    until-2 ::= ([^e\x5B] until | [\x5B] until-2 | [e] until-3)?
    until-3 ::= ([^\x5B\x5D] until | [\x5B] until-2)?
    "#);
}

#[test]
fn each_combinator_reads_what_it_says() {
    let table: &[(&str, Build, &str)] = &[
        ("eps", |p| p.eps() + "a", "a=whole |=more b=no"),
        ("start", |p| p.start() + "a", "a=whole"),
        ("end", |p| p.literal("a") + p.end(), "a=whole ab=no"),
        (
            "literal",
            |p| p.literal("abc"),
            "abc=whole ab=more |=more abd=no abcd=no",
        ),
        ("any", |p| p.any(), "é=whole |=more ab=no"),
        (
            "sequence",
            |p| p.sequence(["a".into(), p.any(), "c".into()]),
            "abc=whole ab=more acb=no",
        ),
        (
            "choice",
            |p| p.choice(["ab".into(), "c".into()]),
            "ab=whole c=whole a=more b=no",
        ),
        (
            "one_or_more",
            |p| p.one_or_more("ab"),
            "ab=whole abab=whole aba=more |=more b=no",
        ),
        (
            "zero_or_more",
            |p| p.zero_or_more("ab"),
            "|=whole ab=whole aba=more b=no",
        ),
        (
            "optional",
            |p| p.optional("a") + "b",
            "b=whole ab=whole a=more aab=no",
        ),
        (
            "repeat",
            |p| p.repeat("a", 2, 3),
            "a=more aa=whole aaa=whole aaaa=no",
        ),
        ("peek", |p| p.peek("a") + p.any(), "a=whole b=no |=more"),
        ("negate", |p| p.negate("a") + p.any(), "b=whole a=no"),
        (
            "chars",
            |p| p.chars("[a-c]", 1, 2).expect("a class"),
            "a=whole cb=whole d=no abc=no |=more",
        ),
        ("space", |p| "a" << p.literal("b"), "ab=whole a_b=no a=more"),
        (
            "until",
            |p| p.until("</t>") + "</t>",
            "x</t>=whole </t>=whole x</=more x</t>y=no",
        ),
        (
            "until_one_of",
            |p| p.until_one_of(["<a>", "<b>"]) + "<b>",
            "x<b>=whole x<a>=no x<=more",
        ),
        ("rest", |p| "a" + p.rest(), "abc=whole a=whole b=no"),
        (
            "without",
            |p| {
                let item = p.choice([p.chars("[a-z<]", 1, 1).expect("a class"), "\\u".into()]);
                "(" + item.without(["</", "<b"]) + ")"
            },
            r"()=whole (a<a<\u)=whole (a<b)=no (a\=more (\b)=no",
        ),
        (
            "without a pattern",
            |p| {
                let item = p.chars("[^)]", 1, 1).expect("a class");
                let name = p.chars("[a-z]", 1, None).expect("a class");
                "(" + item.without(["," + name + ":", "#".into()]) + ")"
            },
            "()=whole (a,b)=whole (a,b:)=no (a#)=no (,ab=more (,ab,)=whole (,:)=whole",
        ),
        (
            "json",
            |p| p.json(),
            r#"{"a":[1,true,null]}=whole {"a":=more {"a"}=no"#,
        ),
        ("json_object", |p| p.json_object(), "{}=whole []=no {=more"),
        (
            "json_array",
            |p| p.json_array(),
            "[1,2]=whole [1,]=no {}=no",
        ),
        (
            "json_string",
            |p| p.json_string(),
            r#""a\n"=whole "a\q"=no "a=more"#,
        ),
        (
            "json_number",
            |p| p.json_number(),
            "-1.5e3=whole 01=no -=more",
        ),
        ("json_bool", |p| p.json_bool(), "true=whole tru=more yes=no"),
        ("json_null", |p| p.json_null(), "null=whole nil=no"),
        (
            "json_string_content",
            |p| "<" + p.json_string_content() + "\"",
            r#"<a\""=whole <a=more"#,
        ),
        (
            "json_member",
            |p| p.json_member("k", "1"),
            r#""k":1=whole "k"=more "j":1=no"#,
        ),
        (
            "rule",
            |p| p.rule("nest", "(" + p.optional(p.rule_ref("nest")) + ")"),
            "(())=whole ((=more )=no",
        ),
        ("atomic", |p| p.atomic(p.literal("ab")), "ab=whole a=more"),
        ("tag", |p| p.tag("t", "ab"), "ab=whole"),
    ];
    let mut faults = Vec::new();
    for (name, build, cases) in table {
        let grammar = Grammar::build(build);
        for case in cases.split(' ') {
            let (text, expected) = case.rsplit_once('=').expect("a text and a verdict");
            let text = text.trim_end_matches('|');
            let found = verdict(&grammar, text);
            if found != expected {
                faults.push(format!("{name}: {text:?} is {found}, not {expected}"));
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

/// Arguments as one JSON object, with a choice of tools.
#[test]
fn a_choice_of_tools_is_built_as_in_the_books() {
    let tools = value(
        r#"[{"name": "get_time", "parameters": {"type": "object", "properties": {}}},
            {"name": "get_weather", "parameters": {"type": "object",
             "properties": {"city": {"type": "string"}}, "required": ["city"]}}]"#,
    );
    let grammar = Grammar::build(|p| {
        let mut tool_choice = p.choice([]);
        for tool in tools.as_array().unwrap_or_default() {
            let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
            let schema = tool.get("parameters").cloned().unwrap_or_default();
            let tool_name = p.json_member("name", "\"" + p.literal(name) + "\"");
            let tool_args = p.json_member("arguments", p.schema(name, &schema));
            tool_choice |= p.rule(
                format!("tool-{name}"),
                "{" << tool_name << "," << tool_args << "}",
            );
        }
        let tool_call = p.trigger_rule(
            "tool-call",
            p.sequence(["<tool_call>[".into(), tool_choice, "]</tool_call>".into()]),
        );
        p.sequence([
            p.content(p.until("<tool_call>")),
            p.optional(tool_call),
            p.end(),
        ])
    });
    let call =
        r#"Look.<tool_call>[{"name": "get_weather", "arguments": {"city": "Oslo"}}]</tool_call>"#;
    assert_eq!(verdict(&grammar, call), "whole");
    assert_eq!(verdict(&grammar, "At noon."), "whole");
    assert_eq!(verdict(&grammar, &call[..60]), "more");
    assert_eq!(verdict(&grammar, &call.replace("Oslo", "Os\"")), "no");
    let fault = grammar
        .parse(&call.replace("city", "town"))
        .expect_err("it is no argument");
    assert!(
        fault.to_string().contains("`city`, which is required"),
        "{fault}"
    );
    assert_eq!(grammar.triggers(), ["<tool_call>["]);
    insta::assert_snapshot!(grammar.lazy().to_gbnf().text);
}

/// Reasoning and text.
#[test]
fn the_simple_shape_becomes_a_message() {
    let grammar = Grammar::build(|p| {
        p.sequence([
            p.optional("<think>" + p.reasoning(p.until("</think>")) + "</think>"),
            p.content(p.until("<tool_call>")),
            p.end(),
        ])
    });
    let tree = grammar
        .parse("<think>Noon?</think>At noon.")
        .expect("it is a turn");
    assert_eq!(
        json::write(&tree.message().into()),
        r#"{"role":"assistant","thinking":"Noon?","content":"At noon."}"#
    );
    let tree = grammar
        .parse_partial("<think>Noon?</thi")
        .expect("it may become one");
    assert_eq!((tree.needs_more, tree.found[0].text), (true, "Noon?"));
}

/// Arguments as one JSON object.
#[test]
fn the_native_shape_becomes_a_message() {
    let grammar = Grammar::build(|p| {
        let get_weather = p.tool(p.sequence([
            p.tool_open(p.literal("{")),
            p.json_member("name", "\"" + p.tool_name(p.literal("get_weather")) + "\""),
            p.literal(","),
            p.json_member("arguments", p.tool_args(p.json())),
            p.tool_close(p.literal("}")),
        ]));
        p.sequence([
            p.content(p.until("<tool_call>")),
            p.literal("<tool_call>"),
            get_weather,
            p.literal("</tool_call>"),
            p.end(),
        ])
    });
    let text =
        r#"Look.<tool_call>{"name": "get_weather","arguments": {"city": "Oslo"}}</tool_call>"#;
    let tree = grammar.parse(text).expect("it is a turn");
    assert_eq!(
        json::write(&tree.message().into()),
        r#"{"role":"assistant","content":"Look.","tool_calls":[{"type":"function","function":{"name":"get_weather","arguments":{"city":"Oslo"}}}]}"#
    );
}

/// Arguments each by itself.
#[test]
fn the_constructed_shape_becomes_a_message() {
    let grammar = Grammar::build(|p| {
        let location = p.tool_arg(p.sequence([
            p.tool_arg_open("<parameter name=\"" + p.tool_arg_name(p.literal("location")) + "\">"),
            p.tool_arg_string_value(p.until("</parameter>")),
            p.tool_arg_close(p.literal("</parameter>")),
        ]));
        let get_weather = p.tool(p.sequence([
            p.tool_open("<function name=\"" + p.tool_name(p.literal("get_weather")) + "\">"),
            location,
            p.tool_close(p.literal("</function>")),
        ]));
        p.sequence([
            p.content(p.until("<tool_call>")),
            p.literal("<tool_call>"),
            get_weather,
            p.literal("</tool_call>"),
            p.end(),
        ])
    });
    let text = "<tool_call><function name=\"get_weather\"><parameter name=\"location\">Oslo\
                </parameter></function></tool_call>";
    let tree = grammar.parse(text).expect("it is a turn");
    assert_eq!(
        json::write(&tree.message().into()),
        r#"{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"get_weather","arguments":{"location":"Oslo"}}}]}"#
    );
}

#[test]
fn schemas_allow_what_they_describe() {
    let table = [
        (
            r#"{"type": "integer", "minimum": 7, "maximum": 120}"#,
            "7 99 120",
            "6 121 07 7.5",
        ),
        (
            r#"{"type": "integer", "exclusiveMaximum": -5}"#,
            "-6 -100",
            "-5 0 6",
        ),
        (r#"{"type": "number", "minimum": 0}"#, "0 1.5 2e3", "-1 +1"),
        (
            r#"{"enum": ["a", "ab", 3, null]}"#,
            r#""a" "ab" 3 null"#,
            r#""b" 4"#,
        ),
        (r#"{"const": {"a": [1]}}"#, r#"{"a":[1]}"#, r#"{"a":[2]}"#),
        (r#"{"type": ["string", "null"]}"#, r#""x" null"#, "3"),
        (
            r#"{"anyOf": [{"type": "boolean"}, {"type": "integer"}]}"#,
            "true 3",
            r#""x""#,
        ),
        (
            r#"{"type": "string", "minLength": 1, "maxLength": 2}"#,
            r#""a" "ab" "\n""#,
            r#""" "abc""#,
        ),
        (
            r#"{"type": "string", "pattern": "^[a-c]\\d\"?$"}"#,
            r#""a1" "c2\"""#,
            r#""d1" "a1""#,
        ),
        (
            r#"{"type": "string", "format": "date"}"#,
            r#""2026-01-31""#,
            r#""2026-13-01""#,
        ),
        (
            r#"{"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}"#,
            "[1] [1,2]",
            "[] [1,2,3]",
        ),
        (
            r#"{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a"]}"#,
            r#"{"a":1} {"b":2,"a":1} {"a":1,"b":2}"#,
            r#"{} {"b":2} {"a":1,"a":1} {"a":1,"c":2}"#,
        ),
        (
            r#"{"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "boolean"}}"#,
            r#"{"x":true} {"a":1,"x":true}"#,
            r#"{"x":1}"#,
        ),
        (
            r#"{"type": "object", "properties": {"ab": {"type": "integer"}}, "additionalProperties": true}"#,
            r#"{"ab":1} {"a":"x"} {"abc":"x"} {"":1} {"b":[1],"ab":2}"#,
            r#"{"ab":"x"} {"\u0061b":"x"} {"a":1,"ab":null}"#,
        ),
        (
            r#"{"type": "integer", "enum": [1, 10, "1", 100]}"#,
            "1 10 100",
            r#"11 1000 "1""#,
        ),
        (
            r#"{"anyOf": [{"type": "integer", "minimum": 3}, {"type": "number"}]}"#,
            "4 2.5 17",
            "x",
        ),
        (
            r#"{"type": "integer", "minimum": 3, "exclusiveMinimum": true}"#,
            "4 30",
            "3",
        ),
        (
            r#"{"prefixItems": [{"type": "integer"}, {"type": "boolean"}], "items": {"type": "null"}, "maxItems": 3}"#,
            "[1,true] [1,true,null]",
            "[true,1] [1,true,null,null] [1,true,3]",
        ),
        (
            r##"{"$defs": {"t": {"type": "object", "properties": {"in": {"$ref": "#/$defs/t"}}}}, "$ref": "#/$defs/t"}"##,
            r#"{} {"in":{"in":{}}}"#,
            r#"{"in":3}"#,
        ),
        (
            r#"{"allOf": [{"properties": {"a": {"type": "null"}}}, {"required": ["a"]}]}"#,
            r#"{"a":null}"#,
            "{}",
        ),
    ];
    let mut faults = Vec::new();
    for (schema, allowed, refused) in table {
        let schema = value(schema);
        let grammar = Grammar::build(|p| p.schema("value", &schema));
        assert_eq!(grammar.warnings, Vec::<String>::new());
        for (texts, expected) in [(allowed, true), (refused, false)] {
            for text in texts.split(' ') {
                if grammar.parse(text).is_ok() != expected {
                    faults.push(format!("{text} for {}", json::write(&schema)));
                }
            }
        }
    }
    // The quote at the end of a pattern is a matter of the string around it.
    faults.retain(|fault| !fault.starts_with(r#""a1" for"#));
    assert_eq!(faults, Vec::<String>::new());
}

/// Schemas come from strangers, and may lead back to themselves.
#[test]
fn schemas_that_lead_back_to_themselves_come_to_an_end() {
    let format = format_of(&root().join("chat_templates/xml-calls.jinja"));
    for schema in [
        r##"{"$ref": "#"}"##,
        r##"{"allOf": [{"$ref": "#"}]}"##,
        r##"{"anyOf": [{"$ref": "#"}, {"$ref": "#"}, {"type": "string"}]}"##,
        r##"{"properties": {"a": {"$ref": "#"}, "b": {"anyOf": [{"$ref": "#/properties/b"}, {"$ref": "#/properties/b"}]}}}"##,
    ] {
        let tools = value(&format!(r#"[{{"name": "f", "parameters": {schema}}}]"#));
        let grammar = Grammar::of(&format, &Tools::from_value(&tools), &Request::new());
        let grammar = grammar.expect("there is one");
        assert!(!grammar.to_gbnf().text.is_empty());
        assert!(!grammar.to_lark().text.is_empty());
        assert!(!grammar.to_structural_tag().value.is_null());
        let _refused_or_not = grammar.to_regex();
        let _read_or_not = grammar.parse("<tool_call>\n<function=f>\n<parameter=a>\nx");
    }
}

/// What leads back to itself says nothing new, and depth by itself is no fault.
#[test]
fn all_of_is_followed_to_its_end() {
    let mut schema = r#"{"properties": {"last": {"type": "null"}}}"#.to_owned();
    for depth in 0..100 {
        schema =
            format!(r#"{{"properties": {{"a{depth}": {{"type": "null"}}}}, "allOf": [{schema}]}}"#);
    }
    let many = vec![r#"{"type": "object"}"#; 1200].join(",");
    let many = format!(r#"{{"allOf": [{many}]}}"#);
    let warnings = |schema: &str| {
        let schema = value(schema);
        Grammar::build(|p| p.schema("value", &schema)).warnings
    };
    assert_eq!(warnings(&schema), Vec::<String>::new());
    assert_eq!(
        warnings(r##"{"allOf": [{"$ref": "#"}, {"type": "null"}]}"##),
        Vec::<String>::new()
    );
    assert_eq!(
        warnings(&many),
        ["value: `allOf` has too many parts: the first 1000 count"]
    );
    assert_eq!(
        warnings(
            r#"{"allOf": [{"properties": {"a": {"type": "null"}}}, {"properties": {"a": {"type": "string"}}}]}"#
        ),
        ["value: `allOf` has more than one `properties` of `a`: the first counts"]
    );
    let schema = value(&schema);
    let grammar = Grammar::build(|p| p.schema("value", &schema));
    assert_eq!(verdict(&grammar, r#"{"last": null, "a99": null}"#), "whole");
    assert_eq!(verdict(&grammar, r#"{"last": 3}"#), "no");
}

#[test]
fn what_is_not_held_is_named() {
    let schema = value(
        r##"{"type": "object", "properties": {
            "a": {"type": "integer", "multipleOf": 3}, "b": {"type": "string", "format": "color"},
            "c": {"type": "string", "pattern": "(?=x)"}, "d": {"$ref": "#/nowhere"},
            "e": {"type": "number", "maximum": 0.5}, "f": {"oneOf": [{"type": "null"}, {}]},
            "g": {"$ref": "#/properties/a", "minimum": 3}, "h": {"type": "string", "minLength": -1}
        }}"##,
    );
    let grammar = Grammar::build(|p| p.schema("tool", &schema));
    insta::assert_snapshot!(grammar.to_gbnf().warnings.join("\n"));
}

/// A lexer does not go back: a text does without what it could only later be seen to end before.
#[test]
fn lark_names_what_it_keeps_out_of_texts() {
    let tools = r#"[{"name": "tide", "parameters": {"properties": {
        "harbour": {"type": "string"}, "scale": {"type": "string"}
    }}}]"#;
    let tools = Tools::from_value(&value(tools));
    for (name, kept_out) in [
        (
            "bracketed_flags",
            "do not have \"'\" with white space behind it",
        ),
        ("tab_fields", "do not have \"[\" in them"),
    ] {
        let format = format_of(&root().join(format!("tests/invented/{name}.jinja")));
        let grammar = Grammar::of(&format, &tools, &Request::new()).expect("there is one");
        let is_named = |warnings: &[String]| warnings.iter().any(|text| text.contains(kept_out));
        assert!(is_named(&grammar.to_lark().warnings), "{name}");
        assert!(!is_named(&grammar.to_gbnf().warnings), "{name}");
    }
}

/// Python's words are read by the types of whole arguments, and a quote that is escaped is not read at all.
#[test]
fn what_response_templates_can_not_read_is_named() {
    let format = format_of(&root().join("chat_templates/python-dict-calls.jinja"));
    let tools = Tools::from_value(&value(
        r#"[{"name": "tide", "parameters": {"properties": {
            "strict": {"type": "boolean"}, "harbour": {"enum": ["Oslo", "Land's End"]}
        }}}]"#,
    ));
    let grammar = Grammar::of(&format, &tools, &Request::new()).expect("there is one");
    let call = |arguments: &str| {
        format!("<tool_call>{{'name': 'tide', 'arguments': {arguments}}}</tool_call>")
    };
    assert_eq!(verdict(&grammar, &call("{'harbour': 'Oslo'}")), "whole");
    assert_eq!(verdict(&grammar, &call("{'strict': True}")), "no");
    insta::assert_snapshot!(grammar.warnings.join("\n"));
}

/// What takes too long as a whole does so as a stream, too, and what does not, does not.
#[test]
fn steps_are_limited_by_what_is_read() {
    let grammar = Grammar::build(|p| {
        let ahead = p.peek(p.zero_or_more(p.literal("a") | "b") + "c");
        p.zero_or_more(ahead + p.any())
    });
    let kind = |text: &str, size: usize| {
        let mut stream = grammar.stream();
        let bytes: Vec<char> = text.chars().collect();
        let mut pieces = bytes
            .chunks(size)
            .map(|piece| piece.iter().collect::<String>());
        let fault = pieces.find_map(|piece| stream.feed(&piece).err());
        let fault = fault.or_else(|| stream.finish().err());
        fault.map(|fault| fault.kind)
    };
    for (count, ending, expected) in [
        (100, "c", None),
        (100, "d", Some(FaultKind::Unexpected)),
        (5000, "c", Some(FaultKind::TooCostly)),
    ] {
        let text = "a".repeat(count) + ending;
        let whole = grammar.parse(&text).err().map(|fault| fault.kind);
        assert_eq!(whole, expected, "{count} and {ending}");
        for size in [1, 7, 1000] {
            assert_eq!(kind(&text, size), expected, "{count} and {ending}");
        }
    }
}

fn gallery() -> Vec<(String, PathBuf)> {
    let files = fs::read_dir(root().join("chat_templates")).expect("the gallery is there");
    let files = files.map(|file| file.expect("it can be read").path());
    let files = files.filter(|file| file.extension().is_some_and(|kind| kind == "jinja"));
    let name = |file: &PathBuf| {
        file.file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let mut files: Vec<(String, PathBuf)> = files.map(|file| (name(&file), file)).collect();
    files.sort();
    files
}

fn format_of(file: &Path) -> Format {
    let jinja = fs::read_to_string(file).expect("the template is there");
    Format::of(&ChatTemplate::from_jinja(&jinja), &RenderInput::default()).expect("it has a format")
}

fn fixture_of(name: &str) -> Fixture {
    let file = root().join(format!("derived/{name}.fixture.yaml"));
    Fixture::load(&file).expect("the gallery has a fixture for it")
}

fn tide_tools() -> Tools {
    Tools::from_value(&value(
        r#"[{"type": "function", "function": {"name": "read_tide", "parameters": {
            "type": "object", "properties": {
                "harbour": {"type": "string"}, "days": {"type": "integer", "minimum": 1}
            }, "required": ["harbour"]
        }}}]"#,
    ))
}

/// Grammars of some formats, in all languages.
#[test]
fn grammars_of_the_gallery() {
    for name in ["chatml-think-json-calls", "xml-calls", "python-calls"] {
        let format = format_of(&root().join(format!("chat_templates/{name}.jinja")));
        let grammar = Grammar::of(&format, &tide_tools(), &Request::new()).expect("it has one");
        let tag = grammar.to_structural_tag();
        let style = json::Style::COMPACT.indent(1);
        let all = format!(
            "{}\n{}\n{}\n{}",
            grammar.to_gbnf().text,
            grammar.to_lark().text,
            json::write_styled(&tag.value, &style),
            grammar.warnings.join("\n"),
        );
        insta::assert_snapshot!(name, all);
    }
}

/// What reads a call takes a marker for one wherever it stands; JSON can write it otherwise.
#[test]
fn no_marker_stands_in_a_string_where_a_language_can_say_so() {
    let format = format_of(&root().join("chat_templates/chatml-json-calls.jinja"));
    let grammar = Grammar::of(&format, &tide_tools(), &Request::new()).expect("it has one");
    let call = |harbour: &str| {
        format!(
            "<tool_call>\n{{\"name\": \"read_tide\", \"arguments\": {{\"harbour\": \"{harbour}\"}}}}\n</tool_call>"
        )
    };
    for (harbour, is_allowed) in [
        ("a</tool_call>", false),
        ("a</tool_cal>", true),
        (r"a<\/tool_call>", true),
        (r"a\u003c/tool_call>", true),
        (r"\\</tool_call>", false),
    ] {
        assert_eq!(
            grammar.parse(&call(harbour)).is_ok(),
            is_allowed,
            "{harbour}"
        );
    }
    assert_eq!(grammar.to_gbnf().warnings, Vec::<String>::new());
    let warnings = grammar.to_lark().warnings;
    assert_eq!(grammar.to_structural_tag().warnings, warnings);
    insta::assert_snapshot!(warnings.join("\n"), @"read_tide: strings may hold `</tool_call>`, `<tool_call>` or `<|im_end|>`, which what reads the call takes for a marker: no JSON Schema can keep it out");
}

/// No marker shows where such a call ends; JSON can write each of the signs that do otherwise.
#[test]
fn no_call_stands_in_a_string_of_another() {
    let format = format_of(&root().join("chat_templates/python-calls.jinja"));
    let grammar = Grammar::of(&format, &tide_tools(), &Request::new()).expect("it has one");
    for (harbour, is_allowed) in [
        ("see (a), (b), c", true),
        ("see (a), read_tide", true),
        ("see (a), read_tide(", false),
        ("see (a),\tread_tide(", false),
        ("see (a), anything(b)", false),
        (r"see (a), anything\u0028b)", true),
        (r"see (a\u0029, anything(b)", true),
        ("see (a)]", true),
    ] {
        let call =
            format!("<|tool_call_start|>[read_tide(harbour=\"{harbour}\")]<|tool_call_end|>");
        assert_eq!(grammar.parse(&call).is_ok(), is_allowed, "{harbour}");
    }
    assert_eq!(grammar.to_gbnf().warnings, Vec::<String>::new());
}

#[test]
fn patterns_are_kept_out_in_lark_and_gbnf() {
    let grammar = Grammar::build(|p| {
        let sign = p.chars("[^']", 1, 1).expect("a class");
        let name = p.chars("[a-z]", 1, None).expect("a class");
        "'" + sign.without([";" + p.space() + name + ":", "#".into()]) + "'"
    });
    let lark = grammar.to_lark();
    insta::assert_snapshot!(lark.text, @r#"
    start: "'" text_1? "'"
    text_1: TEXT_1
    TEXT_1: (/[^']+/ & ~/(?s:.*)(\#|;[ \t\r\n]*[a-z]+:)(?s:.*)/)
    "#);
    assert_eq!(lark.warnings, Vec::<String>::new());
    let gbnf = grammar.to_gbnf();
    assert_eq!(gbnf.warnings, Vec::<String>::new());
}

/// What the prompt has begun is no beginning of a turn any more.
#[test]
fn a_thought_that_the_prompt_opens_may_begin_as_calls_do() {
    let chat = ChatTemplate::from_jinja(
        "{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' %}<think>{{ m.reasoning_content or '' }}</think>\
         {% endif %}{% if m.tool_calls %}{% for t in m.tool_calls %}{{ t.function.name }}\n{{ t.function.arguments | tojson }}\
         {% endfor %}{% else %}{{ m.content }}{% endif %}<|end|>{% endfor %}\
         {% if add_generation_prompt %}<|assistant|><think>{% endif %}",
    );
    let format = Format::of(&chat, &RenderInput::default()).expect("it renders");
    let request = Request::new().prompt("<|user|>Noon?<|end|><|assistant|><think>");
    let grammar = Grammar::of(&format, &tide_tools(), &request).expect("it has one");
    assert_verdicts(
        &grammar,
        &[
            ("Oslo {59} it is</think>Oslo.<|end|>", "whole"),
            ("It is Oslo</think>Oslo {59}<|end|>", "no"),
        ],
    );
}

/// Where nothing opens a thought, what begins as calls do is a call.
#[test]
fn a_thought_that_nothing_opens_does_not_begin_as_calls_do() {
    let grammar = grammar_of(
        "{% for m in messages %}<|{{ m.role }}|>{% if m.reasoning_content %}{{ m.reasoning_content }}</think>{% endif %}\
         {% if m.tool_calls %}[{% for t in m.tool_calls %}{{ t.function.name }}(\
         {% for k, v in t.function.arguments.items() %}{{ k }}={{ v | tojson }}{{ ', ' if not loop.last }}{% endfor %})\
         {{ ', ' if not loop.last }}{% endfor %}]{% endif %}{{ m.content }}<|end|>{% endfor %}\
         {% if add_generation_prompt %}<|assistant|>{% endif %}",
        &tide_tools(),
    );
    assert_verdicts(
        &grammar,
        &[
            ("[Oslo] is (not) far</think>59<|end|>", "whole"),
            ("Is it [Oslo(59)]?</think>59<|end|>", "whole"),
            ("[Oslo(59)] is far</think>59<|end|>", "no"),
            ("[read_tide(harbour=\"Oslo\")]<|end|>", "whole"),
        ],
    );
}

/// What begins in a text and ends behind it is found where it begins, so that the text would end there.
#[test]
fn nothing_begins_in_a_text_and_ends_behind_it() {
    let grammar = Grammar::build(|p| "[[" + p.until("]]") + "]]" + p.end());
    assert_verdicts(
        &grammar,
        &[("[[a]]", "whole"), ("[[a]b]]", "whole"), ("[[a]]]", "no")],
    );
    insta::assert_snapshot!(grammar.to_gbnf().text, @r#"
    root ::= "[[" until "]]"
    until ::= [^\x5D]* ([\x5D] until-2)?
    until-2 ::= [^\x5D] until
    "#);
    assert_eq!(grammar.to_lark().warnings, Vec::<String>::new());
    // A lexeme does not know what stands behind it.
    let grammar = Grammar::build(|p| {
        let sign = p.chars("[^']", 1, 1).expect("a class");
        "'" + sign.without(["='"]) + "'"
    });
    assert_eq!(
        grammar.to_lark().warnings,
        ["`='` may begin in a text and end in \"'\" behind it: that is not kept out"]
    );
}

#[test]
fn what_a_text_does_not_begin_with_is_held_in_gbnf() {
    let grammar = Grammar::build(|p| p.negate(p.space() + "no") + p.until("!") + "!");
    assert_verdicts(
        &grammar,
        &[
            ("yes!", "whole"),
            ("say no!", "whole"),
            (" no!", "no"),
            ("n!", "whole"),
        ],
    );
    let gbnf = grammar.to_gbnf();
    insta::assert_snapshot!(gbnf.text, @r#"
    root ::= until "!"
    until ::= ([^\t-\n\r -!n] until-2 | [\t-\n\r ] until-3 | [n] until-4)?
    until-2 ::= ([^!] until-2)?
    until-3 ::= ([^\t-\n\r -!n] until-2 | [\t-\n\r ] until-3 | [n] until-4)?
    until-4 ::= ([^!o] until-2)?
    "#);
    assert_eq!(gbnf.warnings, Vec::<String>::new());
    assert_eq!(grammar.to_lark().warnings.len(), 1);
    let grammar = Grammar::build(|p| p.atomic(p.negate("no")) + p.until("!") + "!");
    assert_eq!(
        grammar.to_lark().warnings,
        [
            "texts may hold `no`, which what reads the call takes for a marker: no lexeme keeps it out"
        ]
    );
}

/// What a text does not begin with may be what ends it: then it is not empty.
#[test]
fn a_text_that_does_not_begin_with_its_end_has_one_character_or_more() {
    let grammar = Grammar::build(|p| {
        let sign = p.chars("[a-z\\]]", 1, 1).expect("a class");
        "'" + p.negate("'") + sign.without(["]]"]) + "'"
    });
    assert_verdicts(
        &grammar,
        &[
            ("'a'", "whole"),
            ("'a]'", "whole"),
            ("''", "no"),
            ("'a]]'", "no"),
        ],
    );
    let gbnf = grammar.to_gbnf();
    insta::assert_snapshot!(gbnf.text, @r#"
    root ::= "'" text "'"
    text ::= [a-z] text-2 | [\x5D] text-3
    text-2 ::= ([a-z] text-2 | [\x5D] text-3)?
    text-3 ::= ([a-z] text-2)?
    "#);
    assert_eq!(gbnf.warnings, Vec::<String>::new());
}

/// A string of one character or more is held beside what stands in none.
#[test]
fn strings_that_are_not_empty_keep_markers_out() {
    let tools = Tools::from_value(&value(
        r#"[{"type": "function", "function": {"name": "add", "parameters": {
            "type": "object", "properties": {"x": {"type": "string", "minLength": 1}}, "required": ["x"]
        }}}]"#,
    ));
    let format = format_of(&root().join("chat_templates/python-calls.jinja"));
    let grammar = Grammar::of(&format, &tools, &Request::new()).expect("it has one");
    for (argument, expected) in [
        (r#""a)""#, "whole"),
        (r#""""#, "no"),
        (r#""<|im_end|>""#, "no"),
        (r#""a), add(b""#, "no"),
    ] {
        let call = format!("<|tool_call_start|>[add(x={argument})]<|tool_call_end|>");
        assert_eq!(verdict(&grammar, &call), expected, "{argument}");
    }
    assert_eq!(grammar.warnings, Vec::<String>::new());
}

fn grammar_of(chat_template: &str, tools: &Tools) -> Grammar {
    let chat = ChatTemplate::from_jinja(chat_template);
    let format = Format::of(&chat, &RenderInput::default()).expect("it renders");
    Grammar::of(&format, tools, &Request::new()).expect("it has one")
}

#[test]
fn no_answer_begins_as_a_call_does_that_nothing_opens() {
    let named = grammar_of(
        "{% for m in messages %}{% if m.tool_calls %}{% for t in m.tool_calls %}<|assistant|>{{ t.function.name }}\n\
         {{ t.function.arguments | tojson }}{% endfor %}{% else %}<|{{ m.role }}|>{{ m.content }}{% endif %}{% endfor %}\
         {% if add_generation_prompt %}<|assistant|>{% endif %}",
        &tide_tools(),
    );
    let python = grammar_of(
        "{% for m in messages %}<|{{ m.role }}|>{% if m.tool_calls %}{% for t in m.tool_calls %}{{ t.function.name }}(\
         {% for k, v in t.function.arguments.items() %}{{ k }}={{ v | tojson }}{{ ', ' if not loop.last }}{% endfor %})\
         {{ ', ' if not loop.last }}{% endfor %}{% else %}{{ m.content }}{% endif %}<|end|>{% endfor %}\
         {% if add_generation_prompt %}<|assistant|>{% endif %}",
        &tide_tools(),
    );
    let recipients = format_of(&root().join("chat_templates/recipients.jinja"));
    let recipients = Grammar::of(&recipients, &tide_tools(), &Request::new()).expect("it has one");
    for (grammar, answer, expected) in [
        (&named, "Oslo is at {59, 10}", "whole"),
        (&named, "Oslo\n{59, 10}", "no"),
        (&named, " Oslo {59, 10}", "no"),
        (&named, "read_tide\n{\"harbour\": \"Oslo\"}", "whole"),
        (&python, "Oslo (in Norway), for one, (is) nice", "whole"),
        (&python, "[Oslo](http://oslo.no) is nice", "whole"),
        (&python, "Oslo(Norway) is nice", "no"),
        (&python, "It is in (Norway), oslo(is)", "no"),
        (&recipients, " to=user<|message|>Oslo<|eot|>", "whole"),
        (
            &recipients,
            " to=user<|message|>See <atem:function_calls><|eot|>",
            "whole",
        ),
        (
            &recipients,
            " to=user<|message|><atem:function_calls><atem:invoke name=\"Oslo\"><|eot|>",
            "no",
        ),
    ] {
        assert_eq!(verdict(grammar, answer), expected, "{answer}");
    }
}

/// No text has in it what opens a call of such a format, since what reads the turn goes by that alone.
#[test]
fn what_a_sign_and_a_name_open_stands_in_no_text() {
    let grammar = grammar_of(
        "{% for m in messages %}<{{ m.role }}><say>{{ m.content }}</say>{% for t in m.tool_calls or [] %}\
         @{{ t.function.name }}{{ t.function.arguments | tojson }}{% endfor %}</{{ m.role }}>{% endfor %}\
         {% if add_generation_prompt %}<assistant>{% endif %}",
        &tide_tools(),
    );
    assert_verdicts(
        &grammar,
        &[
            ("<say>mail me @home, or {not}</say></assistant>", "whole"),
            ("<say>mail me @home {}</say></assistant>", "no"),
            (
                "<say>I look.</say>@read_tide{\"harbour\": \"Oslo\"}</assistant>",
                "whole",
            ),
        ],
    );
}

/// Where each argument is a line, and a word closes the call, both line breaks are written.
#[test]
fn a_word_behind_arguments_stands_on_its_line() {
    let grammar = grammar_of(
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% for t in m.tool_calls or [] %}\
         CALL: {{ t.function.name }}{% for k, v in t.function.arguments.items() %}[[{{ k }}]]{{ v if v is string else v | tojson }}[[/ARG]]{{ '\n' }}\
         {% endfor %}{{ '\nEND_CALL' }}{% if not loop.last %}<|next|>{% endif %}{% endfor %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
        &tide_tools(),
    );
    assert_verdicts(
        &grammar,
        &[
            (
                "CALL: read_tide[[harbour]]Oslo[[/ARG]]\n\nEND_CALL<|end|>",
                "whole",
            ),
            (
                "CALL: read_tide[[harbour]]Oslo[[/ARG]]\n[[days]]2[[/ARG]]\n\nEND_CALL<|end|>",
                "whole",
            ),
            (
                "CALL: read_tide[[harbour]]Oslo[[/ARG]]END_CALL<|end|>",
                "no",
            ),
        ],
    );
}

/// What closes texts and turns and is no marker between brackets is known by the line on which it stands.
#[test]
fn words_that_close_texts_and_turns_stand_on_their_lines() {
    let grammar = grammar_of(
        "{% for m in messages %}<|{{ m.role }}|>{% if m.content %}SAYS:{{ m.content }}{{ '\nOVER\n' }}{% endif %}\
         {% for t in m.tool_calls or [] %}<call>{{ t.function.name }}:{{ t.function.arguments | tojson }}{% endfor %}{{ '\n====' }}{% endfor %}\
         {% if add_generation_prompt %}<|assistant|>{% endif %}",
        &tide_tools(),
    );
    let call = r#"<call>read_tide:{"harbour": "Oslo"}"#;
    let verdicts = [
        ("SAYS:Hm.\nOVER\nCALL\n====", "whole"),
        // An engine may have stopped before the end.
        ("SAYS:Hm.\nOVER\nCALL", "whole"),
        ("SAYS:\nOVER\nCALL\n====", "whole"),
        ("SAYS:OVER\nCALL\n====", "no"),
        ("SAYS:Hm. OVER\nCALL\n====", "no"),
        ("SAYS:Hm.\nOVER\nCALL====", "no"),
    ];
    let verdicts = verdicts.map(|(text, verdict)| (text.replace("CALL", call), verdict));
    assert_verdicts(&grammar, &verdicts);
}

/// The line break behind what opens a thought belongs to the words that stand on a line of their own, also where
/// another marker may begin with what the opener ends with.
#[test]
fn a_thought_may_be_nothing_before_words_on_a_line() {
    let grammar = grammar_of(
        "{% for m in messages %}<|{{ m.role }}|>{% if m.reasoning_content %}@@THOUGHT@@{{ '\n' + m.reasoning_content + '\nSAID\n' }}{% endif %}\
         {{ m.content }}{% for t in m.tool_calls or [] %}[{{ t.function.name }}({% for k, v in t.function.arguments.items() %}{{ k }}={{ v | tojson }}\
         {% if not loop.last %}, {% endif %}{% endfor %})]{% endfor %}@@end@@{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
        &tide_tools(),
    );
    let call = "[read_tide(harbour=\"Oslo\")]@@end@@";
    let verdicts = [
        ("@@THOUGHT@@\nHm.\nSAID\n", "whole"),
        ("@@THOUGHT@@\nSAID\n", "whole"),
        ("@@THOUGHT@@ \n\nSAID\n", "whole"),
        ("@@THOUGHT@@Hm. SAID\n", "no"),
    ];
    assert_verdicts(
        &grammar,
        &verdicts.map(|(thought, verdict)| (format!("{thought}{call}"), verdict)),
    );
}

#[test]
fn what_is_required_and_not_described_may_be_anything_and_may_not_be_left_out() {
    let tools = Tools::from_value(&value(
        r#"[{"name": "tide", "parameters": {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["at"]}}]"#,
    ));
    let grammar = grammar_of(
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% for t in m.tool_calls or [] %}<call {{ t.function.name }}>{{ '\n' }}\
         {% for k, v in t.function.arguments.items() %}  <arg {{ k }}>{{ v if v is string else v | tojson }}</arg>{{ '\n' }}{% endfor %}\
         </call>{% endfor %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
        &tools,
    );
    let verdicts = [
        ("  <arg at>Oslo</arg>\n", "whole"),
        ("  <arg days>2</arg>\n  <arg at>[1]</arg>\n", "whole"),
        ("  <arg days>2</arg>\n", "no"),
        ("  \n", "no"),
        ("", "no"),
    ];
    assert_verdicts(
        &grammar,
        &verdicts.map(|(arguments, verdict)| {
            (format!("<call tide>\n{arguments}</call><|end|>"), verdict)
        }),
    );
}

/// The end of what stands before a text and the beginning of the text are no marker together.
#[test]
fn a_text_does_not_end_a_marker_that_was_begun() {
    let grammar = grammar_of(
        "{% for m in messages %}@@{{ m.role }}@@{% if m.thinking %}@@THINK@@{{ m.thinking }}@@THOUGHT@@{% endif %}{{ m.content }}\
         {% for t in m.tool_calls or [] %}@@CALL@@{{ {'name': t.function.name, 'arguments': t.function.arguments} | tojson }}@@DONE@@\
         {% endfor %}@@END@@{% endfor %}{% if add_generation_prompt %}@@assistant@@{% endif %}",
        &tide_tools(),
    );
    assert_verdicts(
        &grammar,
        &[
            ("@@THINK@@why@@THOUGHT@@@home@@END@@", "whole"),
            ("@@THINK@@why@@THOUGHT@@@CALL@@{}@@END@@", "no"),
            ("@@THINK@@@CALL@@ why@@THOUGHT@@so@@END@@", "no"),
        ],
    );
}

/// Where there is no text, what follows may begin as none does: behind a fence, another one.
#[test]
fn a_fence_may_follow_a_fence() {
    let grammar = grammar_of(
        "{% for m in messages %}## {{ m.role }}\n\n{% if m.thinking %}```why\n{{ m.thinking }}\n```{{ '\n\n' }}{% endif %}\
         {{ m.content }}{% for t in m.tool_calls or [] %}```call {{ t.function.name }}{{ '\n' }}{{ t.function.arguments | tojson }}\
         {{ '\n```\n\n' }}{% endfor %}---\n\n{% endfor %}{% if add_generation_prompt %}## assistant\n\n{% endif %}",
        &tide_tools(),
    );
    let call = "```call read_tide\n{\"harbour\": \"Oslo\"}\n```\n\n---";
    assert_verdicts(
        &grammar,
        &[
            (format!("```why\nWho knows?\n```\n\n{call}"), "whole"),
            (format!("```why\nWho knows?\n```\n\nSo.{call}"), "whole"),
            (format!("```why\nWho knows?\n``` `so`\n\n{call}"), "whole"),
            (format!("```why\nWho knows?\n``` ``so``\n\n{call}"), "whole"),
        ],
    );
}

/// A sign that opens calls ends no marker before a text, unless a whole call begins with it.
#[test]
fn a_marker_that_ends_as_calls_begin_takes_no_text() {
    let grammar = grammar_of(
        "{% for m in messages %}<|{{ m.role }}|>@@THINK@@{{ m.thinking }}@@THOUGHT@@{{ m.content }}{% for t in m.tool_calls or [] %}\
         @{{ t.function.name }}{{ t.function.arguments | tojson }}{% endfor %}<|end|>{% endfor %}\
         {% if add_generation_prompt %}<|assistant|>{% endif %}",
        &tide_tools(),
    );
    assert_verdicts(
        &grammar,
        &[
            ("@@THINK@@home@@THOUGHT@@so<|end|>", "whole"),
            ("@@THINK@@home, or {}@@THOUGHT@@so<|end|>", "whole"),
            ("@@THINK@@home{}@@THOUGHT@@so<|end|>", "no"),
        ],
    );
}

/// Between two calls that are objects there may be white space or none, so that an answer behind them begins no object
/// that could be one.
#[test]
fn no_call_begins_in_an_answer_behind_calls() {
    let grammar = grammar_of(
        "{% for m in messages %}<|{{ m.role }}|>{% for t in m.tool_calls or [] %}{{ '\n' if not loop.first }}\
         {{ {'do': t.function.name, 'with': t.function.arguments} | tojson }}{% endfor %}{{ '\n\n' if m.tool_calls and m.content }}\
         {{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
        &tide_tools(),
    );
    let call = r#"{"do": "read_tide", "with": {"harbour": "Oslo"}}"#;
    assert_verdicts(
        &grammar,
        &[
            (format!("{call}\n\nSo {{\"it\": 1}}.<|end|>"), "whole"),
            (format!("{call}\n{call}<|end|>"), "whole"),
            (format!("{call}\n\nSo {{\"do\": \"read_tide\"<|end|>"), "no"),
            (format!("{call}\n\nSo{{\"do\": \"read_tide\"<|end|>"), "no"),
        ],
    );
}

/// An id, and a text between delimiters, do not run into what stands around them.
#[test]
fn ids_and_texts_keep_to_their_places() {
    let ids = grammar_of(
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% for t in m.tool_calls or [] %}::call::{{ t.function.name }}\
         ::id::{{ t.id }}::args::{{ t.function.arguments | tojson }}::done::{% endfor %}<|end|>{% endfor %}\
         {% if add_generation_prompt %}<|assistant|>{% endif %}",
        &tide_tools(),
    );
    let quoted = grammar_of(
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% for t in m.tool_calls or [] %}[CALL]{{ t.function.name }}\
         {% for k, v in t.function.arguments.items() %}[ARG={{ k }}]{% if v is string %}<![CDATA[{{ v }}]]>{% else %}{{ v | tojson }}\
         {% endif %}[/ARG]{% endfor %}[/CALL]{% endfor %}<|end|>{% endfor %}\
         {% if add_generation_prompt %}<|assistant|>{% endif %}",
        &tide_tools(),
    );
    let by_keys = grammar_of(
        "{% for m in messages %}::<{{ m.role }}>{{ m.content }}{% for t in m.tool_calls or [] %}::<call>{{ t.function.name }}\
         ::<id>{{ t.id }}{% for k, v in t.function.arguments.items() %}{{ '\n' }}::<{{ k }}>{{ v }}::</{{ k }}>{% endfor %}{{ '\n' }}::</call>\
         {% endfor %}::<end>{% endfor %}{% if add_generation_prompt %}::<assistant>{% endif %}",
        &tide_tools(),
    );
    for (grammar, text, expected) in [
        (
            &ids,
            "::call::read_tide::id::c-1::args::{\"harbour\": \"Oslo\"}::done::<|end|>",
            "whole",
        ),
        (
            &ids,
            "::call::read_tide::id::c:1::args::{\"harbour\": \"Oslo\"}::done::<|end|>",
            "no",
        ),
        (
            &by_keys,
            "::<call>read_tide::<id>c-1\n::<harbour>Oslo::</harbour>\n::</call>::<end>",
            "whole",
        ),
        (
            &by_keys,
            "::<call>read_tide::<id>c-1::<harbour>Oslo::</harbour>\n::</call>::<end>",
            "whole",
        ),
        (
            &quoted,
            "[CALL]read_tide[ARG=harbour]<![CDATA[Oslo]]>[/ARG][/CALL]<|end|>",
            "whole",
        ),
        (
            &quoted,
            "[CALL]read_tide[ARG=harbour]<![CDATA[a CALL]]]>[/ARG][/CALL]<|end|>",
            "whole",
        ),
        (
            &quoted,
            "[CALL]read_tide[ARG=harbour]<![CDATA[CALL]read_tide[]]>[/ARG][/CALL]<|end|>",
            "no",
        ),
    ] {
        assert_eq!(verdict(grammar, text), expected, "{text}");
    }
}

#[test]
fn a_turn_with_a_text_that_is_escaped_is_refused() {
    let chat = ChatTemplate::from_jinja(
        "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' %}\
         {% if m.reasoning_content %}<thought>{{ m.reasoning_content | e }}</thought>{% endif %}<say>{{ m.content }}\
         {% else %}{{ m.content }}{% endif %}</{{ m.role }}>{% endfor %}\
         {% if add_generation_prompt %}<assistant>{% endif %}",
    );
    let format = Format::of(&chat, &RenderInput::default()).expect("it renders");
    let of = |reasoning| {
        Grammar::of(
            &format,
            &Tools::none(),
            &Request::new().reasoning(reasoning),
        )
    };
    let error = of(Reasoning::Auto)
        .expect_err("nobody knows how")
        .to_string();
    assert_eq!(
        error,
        "no turn of this format is what the request asks for: its reasoning is not written as it is: \
         the chat template escapes signs in it, and how is not known"
    );
    assert!(of(Reasoning::Off).is_ok());
}

/// A text within a string of JSON is what the string says; the quote that ends it is never missing, and the marker behind
/// it stands in no string.
#[test]
fn a_text_within_a_string_is_what_the_string_says() {
    let grammar = grammar_of(
        "{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' %}{\"thought\": {{ (m.reasoning_content or '') | tojson }}, \
         \"reply\": {{ (m.content or '') | tojson }}, \"calls\": {{ (m.tool_calls or []) | map(attribute='function') | list | tojson }}}\
         {% else %}{{ m.content }}{% endif %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
        &tide_tools(),
    );
    let turn = |reply: &str| format!(r#"{{"thought": "", "reply": "{reply}", "calls": []}}"#);
    for (reply, said) in [
        (r"noon", "noon"),
        (r#"\"Noon\" \\ or\n12"#, "\"Noon\" \\ or\n12"),
        (r"caf\u00e9 \ud83c\udf0a", "café 🌊"),
        (r"  noon\n", "  noon\n"),
    ] {
        let text = turn(reply);
        let tree = grammar.parse(&text).expect("it is allowed");
        let message = tree.message();
        assert_eq!(message.get("content").and_then(Value::as_str), Some(said));
        for size in [1, 2, 5, 100] {
            assert_eq!(streamed(&grammar, &text, 0, size), Ok(()));
        }
    }
    let noon = turn("noon");
    assert_verdicts(
        &grammar,
        &[
            (format!("{noon}<|end|>"), "whole"),
            (noon[..noon.len() - 1].to_owned(), "more"),
            (turn("a \" quote"), "no"),
            (turn("a <|end|> marker"), "no"),
            (turn("a line\nbreak"), "no"),
            (turn(r"an \x escape"), "no"),
        ],
    );
}

/// What ends a text that is a string of JSON ends no call, though strings of JSON may hold quotes: neither what ends turns
/// nor what belongs to the marker before the text.
#[test]
fn what_ends_a_text_in_quotes_stands_in_no_string_of_a_call() {
    for (open, close) in [("<|say|>", "<|said|>"), ("<say>", "</say>")] {
        let jinja = format!(
            "{{% for m in messages %}}<|{{{{ m.role }}}}|>{{% if m.role == 'assistant' %}}{open}{{{{ (m.content or '') | tojson }}}}{close}\
             {{% for c in m.tool_calls or [] %}}<do>{{{{ c.function | tojson }}}}</do>{{% endfor %}}\
             {{% else %}}{{{{ m.content }}}}{{% endif %}}<|end|>{{% endfor %}}{{% if add_generation_prompt %}}<|assistant|>{{% endif %}}"
        );
        let turn = |harbour: &str| {
            format!(
                r#"{open}"So:"{close}<do>{{"name": "read_tide", "arguments": {{"harbour": "{harbour}"}}}}</do>"#
            )
        };
        assert_verdicts(
            &grammar_of(&jinja, &tide_tools()),
            &[
                (turn("Brest"), "whole"),
                (turn(r#"\"Brest\""#), "whole"),
                (turn(&format!(r#"a \"{close} b"#)), "no"),
            ],
        );
    }
}

/// Nothing ends a turn here: a model is stopped where a tool's answer begins, and what reads the turn goes by that.
#[test]
fn the_marker_before_a_tools_answer_stands_in_no_text_where_it_ends_turns() {
    let grammar = grammar_of(
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% for c in m.tool_calls or [] %}<|do|>{{ c.function | tojson }}<|done|>\
         {% endfor %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
        &tide_tools(),
    );
    assert_verdicts(
        &grammar,
        &[
            ("Noon.".to_owned(), "whole"),
            ("The <tool> says so.".to_owned(), "whole"),
            ("The <|tool|> says so.".to_owned(), "no"),
        ],
    );
}

/// What reads the arguments of this format knows texts by `='` and by `="`, wherever these stand.
#[test]
fn no_string_in_a_list_ends_as_a_text_begins() {
    let grammar = grammar_of(
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% if m.tool_calls %}<calls>[{% for t in m.tool_calls %}\
         {{ t.function.name }}({% for k, v in t.function.arguments.items() %}{{ k }}={% if v is string %}'{{ v }}'\
         {% elif v is mapping %}{{ v | tojson }}{% else %}{{ v }}{% endif %}{{ ', ' if not loop.last }}{% endfor %})\
         {{ ', ' if not loop.last }}{% endfor %}]</calls>{% endif %}<|end|>{% endfor %}\
         {% if add_generation_prompt %}<|assistant|>{% endif %}",
        &mixed_tools(),
    );
    for (arguments, expected) in [
        ("words=['Oslo', 'Bergen']", "whole"),
        ("words=['Oslo', 'a=b']", "whole"),
        ("words=['Oslo=', 'Bergen']", "no"),
        (r#"tree={"name": "x", "b": 7}"#, "whole"),
        (r#"tree={"name": "x", "b=": 7}"#, "no"),
        (r#"tree={"name": "x", "b\u003d": 7}"#, "whole"),
    ] {
        let call = format!("<calls>[mix(unit='m', {arguments})]</calls><|end|>");
        assert_eq!(verdict(&grammar, &call), expected, "{arguments}");
    }
}

/// Where each marker begins with the same sign, that sign is none.
#[test]
fn a_sign_that_markers_begin_with_stands_in_texts() {
    let grammar = grammar_of(
        "{% for m in messages %}]~b]{{ m.role }}\n{{ m.content }}{% if m.tool_calls %}]<]sign[>[<calls>\n\
         {% for t in m.tool_calls %}]<]sign[>[<call>{{ t.function | tojson }}]<]sign[>[</call>\n{% endfor %}\
         ]<]sign[>[</calls>{% endif %}[e~[\n{% endfor %}{% if add_generation_prompt %}]~b]assistant\n{% endif %}",
        &tide_tools(),
    );
    let call = "]<]sign[>[<calls>\n]<]sign[>[<call>{\"name\": \"read_tide\", \"arguments\": {\"harbour\": \"Oslo\"}}\
                ]<]sign[>[</call>\n]<]sign[>[</calls>[e~[\n";
    assert_eq!(verdict(&grammar, &format!("See [1].{call}")), "whole");
}

#[test]
fn what_models_of_the_gallery_write_is_allowed_and_read() {
    let (mut faults, mut all) = (Vec::new(), 0);
    for (name, file) in gallery() {
        let format = format_of(&file);
        let fixture = fixture_of(&name);
        for case in fixture.cases() {
            let message = case.expected.message.as_ref();
            let Some(message) = message.filter(|_| !case.output.is_empty()) else {
                continue;
            };
            let request = Request::new().prompt(case.prefix.as_str());
            let grammar = match Grammar::of(&format, fixture.tools(), &request) {
                Ok(grammar) => grammar,
                Err(error) => {
                    faults.push(format!("{name}, {}: {error}", case.name));
                    continue;
                }
            };
            all += 1;
            match grammar.parse(&case.output) {
                Ok(tree) => {
                    let (found, expected) = (calls_of(&tree.message()), calls_of(message));
                    if found != expected {
                        faults.push(format!(
                            "{name}, {}: {found:?}, not {expected:?}",
                            case.name
                        ));
                    }
                }
                Err(fault) => faults.push(format!("{name}, {}: {fault}", case.name)),
            }
        }
    }
    assert!(all > 300, "there are {all} outputs only");
    insta::assert_snapshot!(faults.join("\n"), @"");
}

/// The fault most often found in such grammars: that they let models write what their own parser refuses.
#[test]
fn the_response_template_reads_what_the_grammar_allows() {
    let (mut faults, mut all) = (Vec::new(), 0);
    for (name, file) in gallery() {
        let format = format_of(&file);
        let fixture = fixture_of(&name);
        let has_calls = |message: &Object| message.contains_key("tool_calls");
        let mut cases = fixture.cases().iter();
        let Some(case) = cases.find(|case| case.expected.message.as_ref().is_some_and(has_calls))
        else {
            continue;
        };
        let request = Request::new()
            .prompt(case.prefix.as_str())
            .tool_choice(ToolChoice::Required);
        for tools in [fixture.tools(), &mixed_tools()] {
            let Ok(grammar) = Grammar::of(&format, tools, &request) else {
                continue;
            };
            let mut chance = Chance(7);
            for _ in 0..60 {
                all += 1;
                let template = fixture.template();
                let fault = misread(&grammar, template, &case.prefix, tools, &mut chance);
                faults.extend(fault.map(|fault| format!("{name}: {fault}")));
            }
        }
    }
    assert!(all > 2000, "there are {all} samples only");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_request_says_what_may_be_called() {
    let format = format_of(&root().join("chat_templates/chatml-think-json-calls.jinja"));
    let fixture = fixture_of("chatml-think-json-calls");
    let tools = fixture.tools();
    let of = |request: &Request| Grammar::of(&format, tools, request);
    let call = |name: &str, arguments: &str| {
        format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>")
    };
    let (tide, knock) = (
        call("read_tide", r#"{"harbour": "Oslo"}"#),
        call("knock", "{}"),
    );
    let both = format!("{tide}\n{knock}");
    let prompt = "<|im_start|>assistant\n<think>\n\n</think>\n\n";
    let table = [
        (Request::new(), "At noon.=whole TIDE=whole BOTH=whole"),
        (Request::new().parallel(false), "TIDE=whole BOTH=no"),
        (
            Request::new().tool_choice(ToolChoice::Required),
            "At noon.=more TIDE=whole",
        ),
        (
            Request::new().tool_choice(ToolChoice::None),
            "At noon.=whole TIDE=no",
        ),
        (
            Request::new().tool_choice(ToolChoice::Named("knock".to_owned())),
            "KNOCK=whole TIDE=no",
        ),
    ];
    for (request, cases) in table {
        let grammar = of(&request.clone().prompt(prompt)).expect("there is one");
        for case in cases.split(" ").filter(|case| case.contains('=')) {
            let (text, expected) = case.rsplit_once('=').expect("a text and a verdict");
            let text = match text {
                "TIDE" => &tide,
                "KNOCK" => &knock,
                "BOTH" => &both,
                text => text,
            };
            assert_eq!(
                verdict(&grammar, text),
                expected,
                "{text:?} for {request:?}"
            );
        }
    }
    let unknown = of(&Request::new().tool_choice(ToolChoice::Named("nap".to_owned())));
    let error = unknown.expect_err("there is no such tool");
    assert!(matches!(error, GrammarError::UnknownTool { .. }), "{error}");
    let opened = "<|im_start|>assistant\n<think>\n";
    let off = of(&Request::new().prompt(opened).reasoning(Reasoning::Off));
    let off = off.expect("what is opened may be closed at once");
    assert_eq!(verdict(&off, "</think>\n\nAt noon."), "whole");
    assert_eq!(verdict(&off, "Noon?\n</think>\n\nAt noon."), "no");
    let thought = of(&Request::new().prompt(opened)).expect("there is one");
    let text = "Noon?\n</think>\n\nAt noon.";
    let tree = thought.parse(text).expect("it is a turn");
    assert_eq!(tree.found[0].tag, &Tag::Reasoning);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Any text is read or refused, and what is whole may be cut anywhere.
    #[test]
    fn any_text_is_read_or_refused(
        text in "(<tool_call>|</tool_call>|\\{\"name\": \"read_tide\", \"arguments\": |\\{\"harbour\": \"|\"\\}|\\}|é|\\n|<think>|</think>|[a-z]){0,20}",
        cut in 0..200_usize,
    ) {
        let format = format_of(&root().join("chat_templates/chatml-think-json-calls.jinja"));
        let grammar = Grammar::of(&format, &tide_tools(), &Request::new()).expect("there is one");
        match grammar.parse(&text) {
            Ok(_) => {
                let cut = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
                let part = &text[..cut.unwrap_or(0)];
                prop_assert!(grammar.parse_partial(part).is_ok(), "{:?}", part);
            }
            Err(fault) => prop_assert!(text.is_char_boundary(fault.at)),
        }
    }
}

/// What comes of differences that are put together, as a message has it.
fn put_together(deltas: &[Delta]) -> Object {
    let mut message = Object::from_iter([("role", Value::from("assistant"))]);
    let (mut reasoning, mut content) = (String::new(), String::new());
    let mut calls: Vec<(Option<String>, String, String)> = Vec::new();
    for delta in deltas {
        match delta {
            Delta::Reasoning(text) => reasoning += text,
            Delta::Content(text) => content += text,
            Delta::Call { index, name } => {
                assert_eq!(*index, calls.len(), "calls come in order");
                calls.push((None, name.clone(), String::new()));
            }
            Delta::CallId { index, id } => calls[*index].0 = Some(id.clone()),
            Delta::Arguments { index, json } => calls[*index].2 += json,
            other => panic!("{other:?} is not known here"),
        }
    }
    for (key, text) in [("thinking", reasoning), ("content", content)] {
        if !text.is_empty() {
            message.insert(key, text);
        }
    }
    let calls = calls.into_iter().map(|(id, name, arguments)| {
        let mut call = Object::new();
        if let Some(id) = id {
            call.insert("id", id);
        }
        call.insert("type", "function");
        let arguments = json::read(&arguments).unwrap_or_else(|_| arguments.into());
        let function = [("name", name.into()), ("arguments", arguments)];
        call.insert("function", Object::from_iter(function));
        Value::from(call)
    });
    let calls: Vec<Value> = calls.collect();
    if !calls.is_empty() {
        message.insert("tool_calls", calls);
    }
    message
}

/// Reads a text that comes in pieces of so many characters; the first may have another length.
fn streamed(grammar: &Grammar, text: &str, first: usize, size: usize) -> Result<(), String> {
    let mut stream = grammar.stream();
    let mut deltas = Vec::new();
    let characters: Vec<char> = text.chars().collect();
    let (first, rest) = characters.split_at(first.min(characters.len()));
    for piece in [first].into_iter().chain(rest.chunks(size)) {
        let piece: String = piece.iter().collect();
        deltas.extend(stream.feed(&piece).map_err(|fault| fault.to_string())?);
    }
    let (last, message) = stream.finish().map_err(|fault| fault.to_string())?;
    deltas.extend(last);
    let whole = grammar.parse(text).map_err(|fault| fault.to_string())?;
    assert_eq!(message, whole.message(), "{text:?} in pieces of {size}");
    let together = put_together(&deltas);
    match together == message {
        true => Ok(()),
        false => Err(format!(
            "{} came in differences, not {}",
            json::write(&together.into()),
            json::write(&message.into())
        )),
    }
}

#[test]
fn differences_put_together_are_the_message() {
    let (mut faults, mut all) = (Vec::new(), 0);
    for (name, file) in gallery() {
        let format = format_of(&file);
        let fixture = fixture_of(&name);
        for case in fixture.cases() {
            let request = Request::new().prompt(case.prefix.as_str());
            let Ok(grammar) = Grammar::of(&format, fixture.tools(), &request) else {
                continue;
            };
            // What the grammar does not allow is another test's matter.
            if grammar.parse(&case.output).is_err() {
                continue;
            }
            all += 1;
            for (first, size) in [(0, 1), (1, 2), (2, 3), (3, 7), (5, 31), (0, 10_000)] {
                if let Err(fault) = streamed(&grammar, &case.output, first, size) {
                    faults.push(format!("{name}, {}, {size}: {fault}", case.name));
                }
            }
        }
    }
    assert!(all > 300, "there are {all} outputs only");
    insta::assert_snapshot!(faults.join("\n"), @"");
}

/// What is sent while a text comes in.
#[test]
fn differences_come_as_soon_as_they_are_sure() {
    let format = format_of(&root().join("chat_templates/xml-calls.jinja"));
    let grammar = Grammar::of(&format, &tide_tools(), &Request::new()).expect("there is one");
    let mut stream = grammar.stream();
    let mut shown = Vec::new();
    for piece in [
        "Look. ",
        "\n<tool",
        "_call>\n<function=read_",
        "tide>\n<parameter=harbour>\nOslo \"N",
        "ord\"\n",
        "</param",
        "eter>\n<parameter=days>\n1",
        "2\n</parameter>\n</function>\n</tool_call>",
    ] {
        let deltas = stream.feed(piece).expect("it is allowed");
        shown.push(format!("{piece:?}: {deltas:?}"));
    }
    let (last, message) = stream.finish().expect("it is whole");
    shown.push(format!("at the end: {last:?}"));
    shown.push(json::write(&message.into()));
    insta::assert_snapshot!(shown.join("\n"));
}

/// Where one of two texts may begin, neither is handed out before something tells which it is. That may prove
/// false later.
#[test]
fn what_was_handed_out_is_not_taken_back_in_silence() {
    let grammar = Grammar::build(|p| {
        let thought = p.reasoning(p.until("!")) + "!";
        (thought + p.any() + "?") | p.content(p.rest())
    });
    let mut stream = grammar.stream();
    let mut feed = |piece: &str| stream.feed(piece);
    assert_eq!(feed("Noon").expect("it may be either"), []);
    assert_eq!(
        feed("!a").expect("it may be a thought"),
        [Delta::Reasoning("Noon".to_owned())]
    );
    let fault = feed("b").expect_err("it was no thought");
    assert_eq!(fault.kind, FaultKind::TakenBack);
    assert!(grammar.parse("Noon!ab").is_ok());
    assert_eq!(streamed(&grammar, "Noon.", 0, 1), Ok(()));
}

/// Lexemes are as long as can be, so white space is one, and no text holds what opens another.
#[test]
fn lark_keeps_apart_what_its_lexemes_would_take_together() {
    let jinja = "{%- for m in messages -%}{{- '<' + m.role + '>' }}
{%- if m.tool_calls -%}{{- m.content }}{%- for c in m.tool_calls -%}
{{- '\n\n<call>' + c.function.name + ':' + c.function.arguments | tojson + '</call>' }}{%- endfor -%}
{%- elif m.role == 'assistant' -%}{{- '<answer>' + m.content + '</answer>' }}
{%- else -%}{{- m.content }}{%- endif -%}{{- '<end>' }}{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<assistant>' }}{%- endif -%}";
    let template = ChatTemplate::from_jinja(jinja);
    let format = Format::of(&template, &RenderInput::default()).expect("it has a format");
    let grammar = Grammar::of(&format, &tide_tools(), &Request::new()).expect("it has calls");
    let lark = grammar.to_lark().text;
    assert!(lark.contains(r#"("\n\n" call_"#), "{lark}");
    let mut lines = lark.lines();
    let before_calls = lines.find(|line| line.ends_with("/<call>/"));
    let before_calls = before_calls.expect("a text may stand before calls");
    assert!(before_calls.contains("|<answer>|"), "{lark}");
    // A text whose first sign is no bracket is one lexeme with what ends the turn, too.
    let format = format_of(&root().join("chat_templates/bare-json-call.jinja"));
    let grammar = Grammar::of(&format, &tide_tools(), &Request::new()).expect("it has calls");
    let lark = grammar.to_lark().text;
    let mut lines = lark.lines();
    assert!(
        lines.any(|line| line.starts_with("TEXT_") && line.ends_with(r"/<\|eot_id\|>/")),
        "{lark}"
    );
}

/// Of the line breaks around a text, those that the format writes are no part of it, and others are, also where the text
/// comes in pieces.
#[test]
fn line_breaks_of_a_text_are_kept() {
    let call = |value: &str| {
        format!(
            "{{% for m in messages %}}<|{{{{ m.role }}}}|>{{{{ m.content }}}}{{% for t in m.tool_calls or [] %}}<call>\
             {{{{ t.function.name }}}}\n{{% for k, v in t.function.arguments.items() %}}{value}\n{{% endfor %}}</call>{{% endfor %}}\
             <|end|>{{% endfor %}}{{% if add_generation_prompt %}}<|assistant|>{{% endif %}}"
        )
    };
    let text = "{{ v if v is string else v | tojson }}";
    let by_key = format!("<{{{{ k }}}}>\n{text}\n</{{{{ k }}}}>");
    let by_tag = format!("<arg name=\"{{{{ k }}}}\">\n{text}\n</arg>");
    let quoted = "<arg name=\"{{ k }}\">\n{% if v is string %}`{{ v }}`{% else %}{{ v | tojson }}{% endif %}{{ '\n</arg>' }}".to_owned();
    for (format, open, close) in [
        (by_key, "<harbour>\n", "\n</harbour>"),
        (by_tag, "<arg name=\"harbour\">\n", "\n</arg>"),
        (quoted, "<arg name=\"harbour\">\n`", "`\n</arg>"),
    ] {
        let grammar = grammar_of(&call(&format), &tide_tools());
        for harbour in ["Oslo", "\nOslo", "Oslo\n", "\n\nOslo or\nBergen\n\n"] {
            let output = format!("<call>read_tide\n{open}{harbour}{close}\n</call><|end|>");
            let tree = grammar.parse(&output).expect("it is allowed");
            let message = Value::from(tree.message());
            let found = message.pointer("/tool_calls/0/function/arguments/harbour");
            assert_eq!(found, Some(&harbour.into()), "{output:?}");
            assert_eq!(streamed(&grammar, &output, 1, 1), Ok(()), "{output:?}");
        }
    }
}

/// Rules may begin with themselves.
#[test]
fn what_a_rule_begins_with_is_found_once() {
    let grammar = Grammar::build(|p| {
        let again = p.rule_ref("one");
        p.trigger_rule("one", (again.clone() + "a") | (again + "b") | "<c>")
    });
    assert_eq!(grammar.triggers(), ["<c>"]);
    assert_eq!(verdict(&grammar, "x"), "no");
}

#[test]
fn what_follows_a_text_is_written_in_bounded_time_where_it_grows_for_ever() {
    // Each time around, one `c` more has to come behind the text.
    let grammar = Grammar::build(|p| {
        let again = p.literal("a") + p.until("a") + p.rule_ref("three") + "c";
        p.until("a") + p.rule("three", p.choice([p.eps(), again]))
    });
    let lark = grammar.to_lark();
    let warned = lark
        .warnings
        .iter()
        .any(|warning| warning.contains("no end of forms"));
    assert!(warned, "{:?}", lark.warnings);
    assert!(grammar.to_gbnf().warnings.is_empty());
}

/// A tool with so many properties, of which all or none have to be there.
fn wide_tools(count: usize, are_required: bool) -> Tools {
    let names: Vec<String> = (0..count).map(|at| format!("\"property_{at}\"")).collect();
    let properties: Vec<String> = names
        .iter()
        .map(|name| format!("{name}: {{\"type\": \"integer\"}}"))
        .collect();
    let required = if are_required { names } else { Vec::new() };
    Tools::from_value(&value(&format!(
        r#"[{{"type": "function", "function": {{"name": "f", "parameters": {{
            "type": "object", "properties": {{{}}}, "required": [{}], "additionalProperties": false
        }}}}}}]"#,
        properties.join(", "),
        required.join(", ")
    )))
}

#[test]
fn thousands_of_properties_take_no_longer_for_each() {
    for name in ["chatml-think-json-calls", "xml-calls", "python-calls"] {
        let format = format_of(&root().join(format!("chat_templates/{name}.jinja")));
        for are_required in [false, true] {
            let begun = Instant::now();
            let tools = wide_tools(2_000, are_required);
            let grammar = Grammar::of(&format, &tools, &Request::new()).expect("it has one");
            let last = "property_1999";
            assert!(grammar.to_gbnf().text.contains(last), "{name}");
            assert!(grammar.to_lark().text.contains(last), "{name}");
            let tag = json::write(&grammar.to_structural_tag().value);
            assert!(tag.contains(last), "{name}");
            // A regular expression has no rules to say twice what may follow.
            match grammar.to_regex() {
                Ok(regex) => assert!(are_required && regex.text.contains(last), "{name}"),
                Err(error) => assert!(
                    !are_required && matches!(error, NotRegular::TooDeep { .. }),
                    "{name}"
                ),
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "{name}");
        }
    }
}

/// Answers of a schema, behind whatever a turn may begin with, and beside calls that take their place.
#[test]
fn an_answer_of_a_schema_is_json_and_calls_may_stand_in_its_place() {
    let template = ChatTemplate::from_jinja(
        "{% for m in messages %}<{{ m.role }}>\
         {% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}\
         {% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}<end>{% endfor %}\
         {% if add_generation_prompt %}<assistant>{% endif %}",
    );
    let format = Format::of(&template, &RenderInput::default()).expect("it renders");
    let schema = value(
        r#"{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
            "additionalProperties": false}"#,
    );
    let tools = Tools::from_value(&value(
        r#"[{"name": "wait", "parameters": {"type": "object"}}]"#,
    ));
    let call = r#"<call>{"name": "wait", "arguments": {}}</call>"#;
    let answer = r#"{"city": "Oslo"}"#;
    for (choice, tools, expected) in [
        (
            ToolChoice::Auto,
            Tools::none(),
            ["whole", "whole", "no", "no"],
        ),
        (
            ToolChoice::Auto,
            tools.clone(),
            ["whole", "whole", "whole", "no"],
        ),
        (
            ToolChoice::None,
            tools.clone(),
            ["whole", "whole", "no", "no"],
        ),
        (ToolChoice::Required, tools, ["no", "no", "whole", "no"]),
    ] {
        let request = Request::new()
            .tool_choice(choice.clone())
            .answer(schema.clone());
        let grammar = Grammar::of(&format, &tools, &request).expect("there is one");
        let texts = [
            format!("{answer}<end>"),
            format!("<think>Hm.</think>{answer}<end>"),
            format!("{call}<end>"),
            format!("Words. {call}<end>"),
        ];
        let found = texts.each_ref().map(|text| verdict(&grammar, text));
        assert_eq!(found, expected, "{choice:?}");
        for text in [
            "Oslo<end>",
            r#"{"city": 3}<end>"#,
            r#"{"city": "<call>"}<end>"#,
            "<end>",
        ] {
            assert_eq!(verdict(&grammar, text), "no", "{choice:?}: {text}");
        }
        assert!(grammar.to_gbnf().text.contains("root ::="));
    }
    let impossible = Request::new().answer(value(r#"{"enum": []}"#));
    let error =
        Grammar::of(&format, &Tools::none(), &impossible).expect_err("nothing is JSON of it");
    assert!(
        error
            .to_string()
            .contains("no answer is JSON of the schema"),
        "{error}"
    );
}
