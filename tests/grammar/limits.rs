//! Limits of schemas: what is written is as large as what is asked for, and what is beyond a limit is told with its place.

use unjinja::format::Format;
use unjinja::grammar::{Beyond, Grammar, GrammarError, Limit, Request};
use unjinja::{Tools, json};

use crate::root;

use super::format_of;

/// Calls as JSON, with arguments between tags, and in a notation that no engine knows.
const FORMATS: [&str; 3] = ["chatml-json-calls", "xml-calls", "python-dict-calls"];

fn formats() -> Vec<Format> {
    let file = |name| root().join(format!("chat_templates/{name}.jinja"));
    FORMATS.map(|name| format_of(&file(name))).into()
}

/// A tool `f` whose parameters are an object with these members of its schema.
fn tool(members: &str) -> Tools {
    let tools = format!(r#"[{{"name": "f", "parameters": {{"type": "object", {members}}}}}]"#);
    Tools::from_value(&json::read(&tools).expect("it is JSON"))
}

/// A tool with an argument `x` of this schema.
fn argument(schema: &str) -> Tools {
    tool(&format!(
        r#""properties": {{"x": {schema}}}, "required": ["x"]"#
    ))
}

/// A schema within so many others.
fn nested(open: &str, close: &str, depth: usize) -> String {
    [
        open.repeat(depth),
        r#"{"type": "boolean"}"#.to_owned(),
        close.repeat(depth),
    ]
    .concat()
}

/// Schemas by name, put together of some for each number.
fn many(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect::<Vec<_>>().join(", ")
}

/// The length of a grammar in each language, as far as it can be written: GBNF, Lark, a structural tag.
fn lengths(grammar: &Grammar) -> [usize; 3] {
    [
        grammar.to_gbnf().text.len(),
        grammar.to_lark().text.len(),
        json::write(&grammar.to_structural_tag().value).len(),
    ]
}

/// Levels of nesting are written once each, whatever they stand in.
#[test]
fn a_grammar_grows_with_the_depth_of_its_schema() {
    let in_object = (r#"{"type": "object", "properties": {"a": "#, "}}");
    let in_any = (
        r#"{"anyOf": [{"type": "null"}, {"type": "array", "items": "#,
        "}]}",
    );
    let in_first = (
        r#"{"type": "array", "prefixItems": ["#,
        r#"], "items": {"type": "null"}}"#,
    );
    let in_others = (r#"{"type": "object", "additionalProperties": "#, "}");
    let in_list = (r#"{"type": "array", "items": "#, "}");
    for (open, close) in [in_list, in_object, in_any, in_first, in_others] {
        for (name, format) in FORMATS.iter().zip(formats()) {
            let [few, some, more] = [10, 20, 60].map(|depth| {
                let tools = argument(&nested(open, close, depth));
                let grammar = Grammar::of(&format, &tools, &Request::new());
                lengths(&grammar.expect("it is within the limits"))
            });
            for language in 0..3 {
                // Names have more digits where there are more rules.
                let of_level = (some[language] - few[language]) as f64 / 10.0;
                let of_next = (more[language] - some[language]) as f64 / 40.0;
                assert!(
                    of_next < 1.2 * of_level + 10.0,
                    "{open} of {name} in language {language}: {few:?} {some:?} {more:?}"
                );
            }
        }
    }
}

/// Definitions that many refer to are written once.
#[test]
fn what_is_referred_to_is_shared() {
    // Written out, this has 2^40 leaves.
    let pairs = many(40, |at| {
        let next = format!(r##"{{"$ref": "#/$defs/d{}"}}"##, at + 1);
        format!(
            r#""d{at}": {{"type": "object", "properties": {{"a": {next}, "b": {next}}}, "required": ["a", "b"]}}"#
        )
    });
    let tools = tool(&format!(
        r##""properties": {{"x": {{"$ref": "#/$defs/d0"}}}}, "$defs": {{{pairs}, "d40": {{"type": "boolean"}}}}"##
    ));
    for format in formats() {
        let grammar = Grammar::of(&format, &tools, &Request::new()).expect("it is shared");
        let lengths = lengths(&grammar);
        assert!(lengths.iter().all(|length| *length < 60_000), "{lengths:?}");
    }
    // Two tools that take the same have it once.
    let schema = r#"{"type": "object", "properties": {"a": {"type": "integer", "minimum": 17}}}"#;
    let one = |name: &str| {
        format!(r#"{{"name": "{name}", "parameters": {{"properties": {{"x": {schema}}}}}}}"#)
    };
    let tools = format!("[{}, {}]", one("f"), one("g"));
    let tools = Tools::from_value(&json::read(&tools).expect("it is JSON"));
    let grammar = Grammar::of(&formats()[0], &tools, &Request::new()).expect("it has one");
    let gbnf = grammar.to_gbnf().text;
    assert_eq!(gbnf.matches(r#""\"a\"""#).count(), 1, "{gbnf}");
}

/// The outcome of a schema: a grammar, or the limit that it is beyond.
type Expected = Option<(Limit, &'static str)>;

/// Schemas that are to take all there is, as an argument `x` or as whole parameters.
fn hostile() -> Vec<(&'static str, Tools, Expected)> {
    let deep = nested(r#"{"items": "#, "}", 480);
    let listed = many(30_000, |at| format!("\"v{at}\""));
    let wide = many(60_000, |at| format!("\"k{at}\": true"));
    let keys = many(2_000, |at| format!("\"k{at}\": {{\"type\": \"null\"}}"));
    let asked = many(2_000, |at| format!("{{\"required\": [\"k{at}\"]}}"));
    let chain = many(3_000, |at| {
        format!(
            r##""d{at}": {{"items": {{"$ref": "#/$defs/d{}"}}}}"##,
            at + 1
        )
    });
    let ways = many(20, |at| {
        format!(r#"{{"properties": {{"p{at}": {{"type": "null"}}}}}}"#)
    });
    let crossed = many(20, |_| format!(r#"{{"anyOf": [{ways}]}}"#));
    let patterns = many(3_000, |at| {
        format!(r#""p{at}": {{"type": "string", "pattern": "^{at}\\p{{L}}{{1,20}}$"}}"#)
    });
    let letters = r"\\p{L}".repeat(300);
    let string = |members: &str| argument(&format!(r#"{{"type": "string", {members}}}"#));
    let pattern = |regex: &str| string(&format!(r#""pattern": "{regex}""#));
    let parameters = Some((Limit::Values, ""));
    vec![
        (
            "deep lists",
            argument(&deep),
            Some((Limit::Depth, "/properties/x/items/items/")),
        ),
        (
            "deep definitions",
            tool(&format!(r#""$defs": {{"a": {deep}}}"#)),
            Some((Limit::Depth, "/$defs/a/items/")),
        ),
        (
            "a deep constant",
            argument(&format!(r#"{{"const": {}}}"#, nested("[", "]", 300))),
            Some((Limit::Depth, "/properties/x")),
        ),
        (
            "a long enumeration",
            argument(&format!(r#"{{"enum": [{listed}]}}"#)),
            Some((Limit::Listed, "/properties/x")),
        ),
        (
            "many properties",
            argument(&format!(
                r#"{{"properties": {{{wide}}}, "items": [{wide_list}]}}"#,
                wide_list = many(60_000, |_| "1".to_owned())
            )),
            Some((Limit::Values, "/properties/x")),
        ),
        (
            "many arguments",
            tool(&format!(
                r#""properties": {{{wide}}}, "required": [{}]"#,
                many(60_000, |at| format!("\"k{at}\""))
            )),
            parameters,
        ),
        (
            "many beside variants",
            argument(&format!(
                r#"{{"properties": {{{keys}}}, "anyOf": [{asked}]}}"#
            )),
            Some((Limit::Steps, "/properties/x")),
        ),
        (
            "large patterns",
            tool(&format!(r#""properties": {{{patterns}}}"#)),
            Some((Limit::Steps, "/properties/p")),
        ),
        (
            "a reference to itself",
            argument(r##"{"$ref": "#/properties/x"}"##),
            None,
        ),
        ("a reference to all", argument(r##"{"$ref": "#"}"##), None),
        (
            "references in a circle",
            tool(
                r##""properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {
            "a": {"anyOf": [{"$ref": "#/$defs/b"}, {"type": "integer"}]}, "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "string"}]}}"##,
            ),
            None,
        ),
        (
            "a row of references",
            tool(&format!(
                r##""properties": {{"x": {{"$ref": "#/$defs/d0"}}}}, "$defs": {{{chain}, "d3000": true}}"##
            )),
            None,
        ),
        (
            "parts that hold themselves",
            tool(
                r##""properties": {"x": {"$ref": "#/$defs/n"}}, "$defs": {
            "n": {"type": "object", "properties": {"next": {"allOf": [{"$ref": "#/$defs/n"}]}}}}"##,
            ),
            None,
        ),
        (
            "parts that are themselves",
            tool(
                r##""properties": {"x": {"allOf": [{"$ref": "#/$defs/n"}]}}, "$defs": {
            "n": {"anyOf": [{"allOf": [{"$ref": "#/$defs/n"}]}, {"allOf": [{"$ref": "#/$defs/n"}, {"title": "b"}]}]}}"##,
            ),
            None,
        ),
        (
            "parts of variants",
            argument(&format!(r#"{{"allOf": [{crossed}]}}"#)),
            None,
        ),
        (
            "a long text",
            string(r#""minLength": 1000000000, "maxLength": 9999999999"#),
            None,
        ),
        (
            "a long list",
            argument(r#"{"type": "array", "minItems": 1000000000, "items": {"type": "null"}}"#),
            None,
        ),
        (
            "many digits",
            argument(r#"{"type": "integer", "minimum": -999999999999999999, "maximum": 1e300}"#),
            None,
        ),
        (
            "more digits",
            argument(r#"{"type": "integer", "maximum": 123456789012345678901234567890}"#),
            None,
        ),
        ("a pattern that repeats", pattern("^a{1000000000}$"), None),
        (
            "a pattern of repeats",
            pattern("^(((a{1000}){1000}){1000}){1000}$"),
            None,
        ),
        ("a pattern of stars", pattern("(((a*)*)*b)*c?"), None),
        ("a pattern of letters", pattern(&letters), None),
        (
            "a deep pattern",
            pattern(&["(".repeat(300), ")".repeat(300)].join("a")),
            None,
        ),
        ("a long pattern", pattern(&"ab?".repeat(50_000)), None),
        ("a broken pattern", pattern("(["), None),
        (
            "odd schemas",
            tool(
                r#""properties": {"a": null, "b": 5, "c": {"type": 5}, "d": {"type": []}, "e": {"enum": []},
            "f": {"items": [{"type": "string"}]}, "g": {"properties": []}, "h": {"required": "x"}, "i": {"$ref": 7},
            "j": {"anyOf": []}, "k": {"allOf": []}, "l": {"type": "array", "items": false}, "m": {"minLength": -1},
            "n": {"minLength": 5, "maxLength": 2}, "o": {"const": {"a": [1]}}, "p": {"not": {}}, "q": {"properties": 1},
            "r": {"$defs": 1}, "s": {"enum": {}}, "": {"x-y": {"z": [{}]}}}"#,
            ),
            None,
        ),
    ]
}

/// Each language ends in an answer or in an error with the place; with any value in place of what is beyond, in an answer.
#[test]
fn hostile_schemas_end_in_an_answer_or_are_refused_with_their_place() {
    for (what, tools, expected) in hostile() {
        for (name, format) in FORMATS.iter().zip(formats()) {
            let found = Grammar::of(&format, &tools, &Request::new());
            match (&found, expected) {
                (Ok(_), None) => {}
                (Err(GrammarError::TooMuch(error)), Some((limit, pointer))) => {
                    assert_eq!(error.limit, limit, "{what} of {name}");
                    assert_eq!(error.place.tool.as_deref(), Some("f"), "{what} of {name}");
                    let found = &error.place.pointer;
                    assert!(found.starts_with(pointer), "{what} of {name}: {found}");
                    assert!(error.to_string().contains("`Beyond::Loosen`"), "{error}");
                }
                // Where each argument is written by itself, less is written again.
                (Ok(_), Some((Limit::Steps, _))) if *name == "xml-calls" => {}
                _ => panic!("{what} of {name}: {:?}", found.err()),
            }
            let request = Request::new().beyond(Beyond::Loosen);
            let grammar = Grammar::of(&format, &tools, &request);
            let grammar = grammar.unwrap_or_else(|error| panic!("{what} of {name}: {error}"));
            if found.is_err() {
                let is_named = |warning: &String| warning.contains("so any value is allowed there");
                assert!(grammar.warnings.iter().any(is_named), "{what} of {name}");
            }
            assert!(grammar.to_gbnf().text.starts_with("root ::="), "{what}");
            assert!(grammar.to_lark().text.starts_with("start:"), "{what}");
            assert!(!grammar.to_structural_tag().value.is_null(), "{what}");
            let _is_regular_or_not = grammar.to_regex();
        }
    }
}

#[test]
fn any_value_may_stand_where_a_schema_is_beyond_a_limit_and_the_rest_is_held() {
    let deep = nested(r#"{"type": "array", "items": "#, "}", 200);
    let tools = tool(&format!(
        r#""properties": {{"x": {deep}, "n": {{"type": "integer"}}}}, "required": ["x", "n"]"#
    ));
    let request = Request::new().beyond(Beyond::Loosen);
    let grammar = Grammar::of(&formats()[0], &tools, &request).expect("it is loosened");
    let call = |arguments: &str| {
        format!("<tool_call>\n{{\"name\": \"f\", \"arguments\": {arguments}}}\n</tool_call>")
    };
    let deepest = ["[".repeat(128), "{\"a\": 1}".to_owned(), "]".repeat(128)].concat();
    for (arguments, is_allowed) in [
        (r#"{"x": [[true]], "n": 1}"#.to_owned(), false),
        (format!(r#"{{"x": {deepest}, "n": 1}}"#), true),
        (format!(r#"{{"x": {deepest}, "n": "1"}}"#), false),
    ] {
        let text = call(&arguments);
        let found = grammar.parse(&text);
        assert_eq!(found.is_ok(), is_allowed, "{arguments}: {found:?}");
    }
    // What engines read themselves is as loose.
    let tag = json::write(&grammar.to_structural_tag().value);
    let lists = tag.matches(r#""type":"array""#).count();
    assert!(lists > 0 && lists.is_multiple_of(127), "{lists}: {tag}");
}

/// Expressions that would be too long are told with the schema that makes them so.
#[test]
fn what_makes_an_expression_long_is_named() {
    let tools = argument(&nested(r#"{"type": "array", "items": "#, "}", 40));
    let grammar = Grammar::of(&formats()[0], &tools, &Request::new()).expect("it has one");
    let error = grammar.to_regex().expect_err("each level is written twice");
    let error = error.to_string();
    assert!(error.starts_with("`/properties/x/items/"), "{error}");
    assert!(
        error.contains("in the parameters of the tool `f`"),
        "{error}"
    );
}

#[test]
fn too_many_tools_are_refused_in_any_case() {
    let tools = many(5_001, |at| format!(r#"{{"name": "t{at}"}}"#));
    let tools = Tools::from_value(&json::read(&format!("[{tools}]")).expect("it is JSON"));
    for beyond in [Beyond::Refuse, Beyond::Loosen] {
        let request = Request::new().beyond(beyond);
        let error = Grammar::of(&formats()[0], &tools, &request).expect_err("they are too many");
        assert_eq!(
            error.to_string(),
            "there are more than 5000 tools: offer fewer tools"
        );
    }
}

/// The schema of an answer is no tool's.
#[test]
fn an_answer_has_limits_too() {
    let schema = json::read(&nested(r#"{"items": "#, "}", 200)).expect("it is JSON");
    let request = Request::new().answer(schema);
    let error = Grammar::of(&formats()[0], &Tools::none(), &request).expect_err("it is too deep");
    let GrammarError::TooMuch(error) = error else {
        panic!("{error}");
    };
    assert_eq!((error.limit, error.place.tool), (Limit::Depth, None));
}
