//! Values, events, templates and reports go through serde and come back.

use proptest::prelude::*;
use serde::de::value::{Error as DeError, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::{Deserialize, Serialize, forward_to_deserialize_any};

use unjinja::analysis::{Capabilities, Findings};
use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::check::{CheckOptions, ComparisonInput, EventTrace, check, compare};
use unjinja::derive::{Derivation, DeriveOptions};
use unjinja::lint::{LintOptions, TemplateText, lint};
use unjinja::{
    Diagnostic, JsonString, Number, Object, OwnedEvent, ParserOptions, Position, ResponseParser,
    ResponseTemplate, Tools, Value, json,
};

const TEMPLATE: &str = r#"{
    "start_anchor": "<bot>",
    "fields": {
        "thinking": {"open_pattern": "<think(?P<how>\\w*)>", "close": "</think>",
                     "transform": {"how": "{how}", "text": "{content}"}},
        "tool_calls": {"open": "<call>", "close": "</call>", "content": "json", "repeats": true,
                       "optional": true},
        "content": {"close_pattern": "<end>\\s*"}
    }
}"#;

fn template() -> ResponseTemplate {
    ResponseTemplate::from_json(TEMPLATE).expect("a template")
}

fn chat_template() -> ChatTemplate {
    ChatTemplate::from_jinja(
        "{% for m in messages %}<{{ m.role }}>\
         {% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}\
         {{ m.content }}<end>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}",
    )
}

fn there_and_back<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let text = serde_json::to_string(value).expect("it is serialized");
    serde_json::from_str(&text).expect("it is deserialized")
}

#[test]
fn values_are_written_as_json_has_them() {
    let big = "-170141183460469231731687303715884105728";
    for (text, expected) in [
        (
            r#"{"b": [], "a": {"c": null}}"#,
            r#"{"b":[],"a":{"c":null}}"#,
        ),
        (r#""half: \ud800""#, "\"half: \u{fffd}\""),
        (r#"{"\udc00": true}"#, "{\"\u{fffd}\":true}"),
        ("[1.0, 1, -0.0]", "[1.0,1,-0.0]"),
        ("[18446744073709551615]", "[18446744073709551615]"),
        (big, big),
        ("[NaN, -Infinity]", "[null,null]"),
    ] {
        let value = json::read(text).expect("it is JSON");
        assert_eq!(serde_json::to_string(&value).expect(text), expected);
    }
    let huge = Number::BigInt(format!("-{}", "9".repeat(40)));
    assert_eq!(
        serde_json::to_string(&huge)
            .expect_err("too large")
            .to_string(),
        "an integer of 40 digits has more than 128 bits, which serde can't hold: write it with \
         `unjinja::json::write`"
    );
}

#[test]
fn values_are_read() {
    for (text, expected) in [
        ("9223372036854775807", Number::Int(i64::MAX)),
        (
            "9223372036854775808",
            Number::BigInt("9223372036854775808".into()),
        ),
        ("1e3", Number::Float(1000.0)),
    ] {
        let number: Number = serde_json::from_str(text).expect(text);
        assert_eq!(number, expected);
        assert_eq!(
            serde_json::from_str::<Value>(text).expect(text),
            expected.into()
        );
    }
    let object: Object = serde_json::from_str(r#"{"b": 1, "a": 2, "b": 3}"#).expect("an object");
    assert_eq!(json::write(&object.into()), r#"{"b":3,"a":2}"#);
    let text: JsonString = serde_json::from_str(r#""\u00e9""#).expect("a string");
    assert_eq!(text, "é");
    for (int, expected) in [
        (i128::from(i64::MIN), "-9223372036854775808"),
        (1 << 100, "1267650600228229401496703205376"),
    ] {
        let deserializer = IntoDeserializer::<DeError>::into_deserializer(int);
        let value = Value::deserialize(deserializer).expect("a number");
        assert_eq!(value, json::read(expected).expect("a number"));
    }
}

#[test]
fn what_is_something_else_is_refused() {
    fn refusal<T: DeserializeOwned>(text: &str) -> String {
        match serde_json::from_str::<T>(text) {
            Ok(_) => panic!("{text} is accepted"),
            Err(error) => error.to_string(),
        }
    }
    assert_eq!(
        refusal::<Object>("[]"),
        "expected an object, found an array"
    );
    assert_eq!(
        refusal::<Number>("\"1\""),
        "expected a number, found a string"
    );
    assert_eq!(
        refusal::<Tools>("{}"),
        "expected a list of tools, found an object"
    );
    let template = r#"{"start_anchor": "A:", "fields": {"a": {"clsoe": 1, "content": "jsno"}}}"#;
    assert_eq!(refusal::<ResponseTemplate>(template).lines().count(), 2);
    for (event, expected) in [
        ("5", "expected an event, which is an object, found a number"),
        ("{}", "the event has no `type`: add it"),
        (
            r#"{"type": "region_opne"}"#,
            "/type: there are no events of the type `region_opne`: did you mean `region_open`?",
        ),
        (
            r#"{"type": "region_open"}"#,
            "the event has no `field`: add it",
        ),
        (
            r#"{"type": "region_close", "field": "a", "value": 1, "span": [2, 1]}"#,
            "/span: a span is `[START, END]`, in bytes",
        ),
        (
            r#"{"type": "region_open", "field": "a", "span": [1, 2], "captures": {"a/b": 1}}"#,
            "/captures/a~1b: expected a string, found a number",
        ),
        (
            r#"{"type": "region_chunk", "field": "a", "text": "b", "dirty": 0}"#,
            "/dirty: expected true or false, found a number",
        ),
    ] {
        assert_eq!(refusal::<OwnedEvent>(event), expected);
    }
}

/// Arrays in each other, as many as it says.
struct Nested(usize);

impl<'de> Deserializer<'de> for Nested {
    type Error = DeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        let inner = self.0.checked_sub(1).map(Nested);
        visitor.visit_seq(SeqDeserializer::new(inner.into_iter()))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

impl IntoDeserializer<'_, DeError> for Nested {
    type Deserializer = Nested;

    fn into_deserializer(self) -> Nested {
        self
    }
}

#[test]
fn nesting_has_the_limit_that_reading_has() {
    let deepest = json::MAX_DEPTH;
    let value = Value::deserialize(Nested(deepest - 1)).expect("not too deep");
    let text = "[".repeat(deepest) + &"]".repeat(deepest);
    assert_eq!(value, json::read(&text).expect("not too deep"));
    assert_eq!(
        serde_json::to_string(&value).expect("it is serialized"),
        text
    );
    let error = Value::deserialize(Nested(deepest)).expect_err("too deep");
    assert_eq!(error.to_string(), "too many nested arrays and objects");
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("JSON has no others", |float| float.is_finite())
            .prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Object::from_iter(members).into()),
        ]
    })
}

proptest! {
    #[test]
    fn values_come_back_unchanged(value in any_value()) {
        let text = serde_json::to_string(&value).expect("it is serialized");
        let back: Value = serde_json::from_str(&text).expect("it is deserialized");
        prop_assert!(back.total_eq(&value), "{back} {value}");
        // The order of keys, too.
        prop_assert_eq!(json::write(&back), json::write(&value));
        prop_assert_eq!(json::write(&json::read(&text).expect("it is read")), json::write(&value));
    }
}

#[test]
fn events_come_back() {
    let mut options = ParserOptions::default();
    options.spans = true;
    options.on_malformed = unjinja::OnMalformed::Event;
    let mut parser = ResponseParser::new(&template(), "", options).expect("a parser");
    let text = "<thinkhard>Hm.</think><call>{\"a\": [1]}</call><call>{</call>Hello!<end>";
    let mut events = parser.feed(text).expect("it is parsed");
    let (_, last) = parser.finalize().expect("it is parsed");
    events.extend(last);
    let has = |wanted: fn(&OwnedEvent) -> bool| events.iter().any(wanted);
    assert!(has(|event| matches!(event, OwnedEvent::Malformed { .. })));
    assert!(has(|event| matches!(event, OwnedEvent::Chunk { .. })));
    assert!(has(|event| matches!(event, OwnedEvent::Close { .. })));
    assert!(has(
        |event| matches!(event, OwnedEvent::Open { opening: Some(opening), .. } if !opening.captures.is_empty())
    ));
    for event in events {
        assert_eq!(there_and_back(&event), event);
        assert_written_alike(&event, &event.to_value());
        assert_written_alike(&event.as_event(), &event.to_value());
    }
    let plain = r#"{"type":"region_open","field":"content"}"#;
    let event: OwnedEvent = serde_json::from_str(plain).expect("an event");
    assert_eq!(
        serde_json::to_string(&event).expect("it is serialized"),
        plain
    );
}

#[test]
fn templates_and_tools_come_back() {
    assert_eq!(there_and_back(&template()), template());
    assert_written_alike(&template(), template().as_value());
    let list = json::read(r#"[{"function": {"name": "wait"}}]"#).expect("it is JSON");
    for tools in [Tools::none(), Tools::from_value(&list)] {
        assert_eq!(there_and_back(&tools), tools);
        assert_written_alike(&tools, tools.as_value());
    }
}

/// What is serialized is the JSON form.
fn assert_written_alike(report: &impl Serialize, value: &Value) {
    let text = serde_json::to_string(report).expect("it is serialized");
    let read = json::read(&text).expect("it is read");
    assert!(read.total_eq(value), "{text}\n{value}");
    assert_eq!(json::write(&read), json::write(value));
}

#[test]
fn findings_and_derivations_are_what_to_value_says() {
    let chat_template = chat_template();
    let base = RenderInput::default();
    let (findings, evidence) = Findings::with_evidence(&chat_template, &base).expect("findings");
    assert_written_alike(&findings, &findings.to_value());
    for evidence in evidence {
        assert_written_alike(&evidence, &evidence.to_value());
    }
    for statement in findings.statements() {
        assert_written_alike(&statement, &statement.to_value());
    }
    let capabilities = Capabilities::of(&chat_template, &base).expect("capabilities");
    assert_written_alike(&capabilities, &capabilities.to_value());

    let options = DeriveOptions::default();
    let derived = Derivation::with_candidates(&chat_template, &options);
    let (derivation, candidates) = derived.expect("a derivation");
    assert_written_alike(&derivation, &derivation.to_value());
    for candidate in candidates {
        assert_written_alike(&candidate, &candidate.to_value());
    }
    for row in &derivation.proof {
        assert_written_alike(row, &row.to_value());
        assert_written_alike(&row.recovery, &row.recovery.to_value());
    }
    for row in derivation.damage() {
        assert_written_alike(&row, &row.to_value());
    }
    for text in &derivation.damaged {
        assert_written_alike(text, &text.to_value());
    }
}

#[test]
fn a_derivation_reports_its_proof() {
    let derivation = unjinja::derive::derive(&chat_template(), &DeriveOptions::default());
    let derivation = derivation.expect("a derivation");
    let report = derivation.to_value();
    let keys = report.as_object().expect("an object").keys();
    let expected = [
        "template",
        "is_whole",
        "recovered",
        "missing_tokens",
        "findings",
        "proof",
        "inferred",
        "refused",
        "damage",
        "mentions",
        "call_kinds",
        "reasons",
        "outputs",
        "drafts",
        "ended_early",
        "renderings",
        "trials",
    ];
    assert_eq!(keys.collect::<Vec<_>>(), expected);
    assert_eq!(report.get("template"), Some(derivation.template.as_value()));
    let rows = report.get("proof").and_then(Value::as_array).expect("rows");
    assert_eq!(rows.len(), derivation.proof.len());
    let of_kind = |kind: &str| {
        let is_kind = |row: &&Value| row.pointer("/recovery/kind") == Some(&kind.into());
        rows.iter().find(is_kind).expect("a row")
    };
    let first = of_kind("recovered");
    for key in ["name", "prefix", "output"] {
        assert!(first.get(key).and_then(Value::as_str).is_some(), "{first}");
    }
    assert!(first.pointer("/message/content").is_some(), "{first}");
    let lost = of_kind("lost by the chat template").pointer("/recovery/lost");
    assert!(
        lost.and_then(Value::as_array)
            .is_some_and(|lost| !lost.is_empty())
    );
}

#[test]
fn complaints_and_diagnostics_are_what_to_value_says() {
    let options = LintOptions::default().document(TemplateText::new(TEMPLATE));
    let complaints = lint(&template(), &options).expect("complaints");
    assert!(!complaints.is_empty());
    for complaint in complaints {
        assert_written_alike(&complaint, &complaint.to_value());
        assert_written_alike(&complaint.diagnostic, &complaint.diagnostic.to_value());
    }
    let diagnostic = Diagnostic::new("wrong").at_position(Position::START);
    assert_eq!(
        serde_json::to_string(&diagnostic).expect("it is serialized"),
        r#"{"pointer":"","line":1,"column":1,"message":"wrong","remedy":null}"#
    );
    assert_eq!(
        serde_json::to_string(&Position::START).expect("it is serialized"),
        r#"{"offset":0,"line":1,"column":1}"#
    );
}

#[test]
fn reports_of_checks_are_what_to_value_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let [good, bad] = ["a.fixture.yaml", "b.fixture.yaml"].map(|name| folder.path().join(name));
    std::fs::write(
        &good,
        "response_template: {start_anchor: <bot>, fields: {content: {close_pattern: <end>|$}}}
cases:
  - {name: message, output: Hello!<end>, message: {content: Bye!}}
  - {name: error, output: Hello!<end>, error: lacks}
  - {name: nothing, output: Hello!<end>}
  - {name: events, output: Hello!, events: []}
",
    )
    .expect("it is written");
    std::fs::write(&bad, "cases: 5").expect("it is written");
    let report = check(&[good, bad], &CheckOptions::default());
    assert_written_alike(&report, &report.to_value());
    assert_eq!(report.to_value().get("unreadable"), Some(&1.into()));
    for file in &report.files {
        assert_written_alike(file, &file.to_value());
    }
    let mut traces: Vec<EventTrace> = Vec::new();
    for (_, case) in report.cases() {
        assert_written_alike(case, &case.to_value());
        for failure in &case.failures {
            assert_written_alike(failure, &failure.to_value());
            if let unjinja::check::Failure::Cut { whole, pieces, .. } = failure {
                traces.extend([whole.clone(), pieces.clone()]);
            }
        }
    }
    assert!(!traces.is_empty());
    for trace in traces {
        assert_written_alike(&trace, &trace.to_value());
    }
}

#[test]
fn comparisons_are_what_to_value_says() {
    let other = TEMPLATE.replace("<end>", "</s>");
    let other = ResponseTemplate::from_json(&other).expect("a template");
    let texts = [ComparisonInput::new(
        "by hand",
        "",
        "Hm.</think>Hello!<end>",
    )];
    for second in [&template(), &other] {
        let comparison = compare(&template(), second, &texts);
        assert_written_alike(&comparison, &comparison.to_value());
        if let Some(divergence) = &comparison.smallest {
            assert_written_alike(divergence, &divergence.to_value());
        }
    }
}
