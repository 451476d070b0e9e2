//! Calls of all kinds that JSON Schema and tools allow: whether a response template gives back odd keys, names and values as
//! they were said.
//!
//! What is derived is tried on them in the end, and what it misreads is reported: often the format can't tell, as `<v>7</v>`
//! can't tell a text from a number where nothing is declared, or the language has no parser for what a chat template prints.

use crate::analysis::Findings;
use crate::analysis::assistant_turn::{AssistantTurn, ToolCall};
use crate::json;
use crate::response::{ResponseTemplate, Tools};
use crate::value::{Object, Value, object};

use super::sample::Sampling;
use super::trial::{Expected, TrialReader};

/// Keys of arguments.
const KEYS: [(&str, &str); 14] = [
    ("a key with a dash", "user-id"),
    ("a key with a dot", "filter.name"),
    ("a key with a blank", "due date"),
    ("a key with a colon", "x:y"),
    ("a key with a slash", "a/b"),
    ("a key with `$`", "$ref"),
    ("a key with `@`", "@type"),
    ("a key with brackets", "items[0]"),
    ("a key that begins with a digit", "9lives"),
    ("a key that begins with a low line", "_private"),
    ("a key with capitals", "userName"),
    ("a key of letters that are not ASCII", "ключ"),
    (
        "a key of 64 characters",
        "a_key_that_is_as_long_as_tool_servers_let_it_be_which_is_64_signs",
    ),
    ("a key of one letter", "q"),
];

/// Names of tools.
const NAMES: [(&str, &str); 9] = [
    ("a name with a dash", "read-tide"),
    ("a name with a dot", "harbour.read"),
    ("a name with a colon", "harbour:read"),
    ("a name with a slash", "harbour/read"),
    ("a name with low lines", "harbour__read_tide"),
    ("a name that begins with a digit", "3d_view"),
    ("a name with capitals", "readTide"),
    ("a name of letters that are not ASCII", "прилив"),
    (
        "a name of 64 characters",
        "a_name_that_is_as_long_as_tool_servers_let_it_be_which_is_64_char",
    ),
];

/// Values, each as JSON, with what a tool declares them to be.
const VALUES: [(&str, &str, &str); 31] = [
    (
        "a text with quotes",
        "string",
        r#""it's a \"so-called\" tide""#,
    ),
    (
        "a text of several lines",
        "string",
        r#""first\n\n  second\nthird""#,
    ),
    (
        "a text that ends with a line",
        "string",
        r#""first\nsecond\n""#,
    ),
    ("a text with blanks around it", "string", r#"" Brest ""#),
    ("an empty text", "string", r#""""#),
    ("a text with backslashes", "string", r#""C:\\new\\table""#),
    ("a text with markup", "string", r#""<b>fish</b> & chips""#),
    ("a text that is not ASCII", "string", r#""naïve → 水 🌊""#),
    (
        "a text with commas and brackets",
        "string",
        r#""a, b=(c), [d]: {e}""#,
    ),
    ("a text that looks like a number", "string", r#""7""#),
    ("a text that looks like a boolean", "string", r#""true""#),
    ("a text that looks like null", "string", r#""null""#),
    ("a text that looks like a list", "string", r#""[1, 2]""#),
    (
        "a text that looks like an object",
        "string",
        r#""{\"a\": 1}""#,
    ),
    (
        "a text that looks like an object of Python",
        "string",
        r#""{'a': 1}""#,
    ),
    ("an integer", "integer", "41"),
    ("a negative integer", "integer", "-7"),
    ("a number with a fraction", "number", "0.25"),
    ("a boolean", "boolean", "false"),
    ("null", "null", "null"),
    ("a list of texts", "array", r#"["north", "south east"]"#),
    (
        "a list of texts with quotes and lines",
        "array",
        r#"["it's", "a\nb"]"#,
    ),
    ("a list of numbers", "array", "[1, 2.5, -3]"),
    (
        "a list with booleans and null",
        "array",
        "[true, null, \"x\"]",
    ),
    ("a list of lists", "array", r#"[["a"], ["b", "c"]]"#),
    ("a list of objects", "array", r#"[{"a": 1}, {"a": "b"}]"#),
    ("an empty list", "array", "[]"),
    ("an object", "object", r#"{"language": "fr", "days": 3}"#),
    (
        "an object in an object",
        "object",
        r#"{"a": {"b": {"c": ["d"]}}}"#,
    ),
    (
        "an object with texts that look otherwise",
        "object",
        r#"{"n": "7", "b": "true"}"#,
    ),
    ("an empty object", "object", "{}"),
];

/// What a response template makes of a call of some kind, as the chat template writes it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CallKind {
    /// What is special about the call, as `a key with a dash`.
    pub kind: String,
    /// The part of the prompt that belongs to the turn.
    pub prefix: String,
    /// What the model would write.
    pub output: String,
    /// How the message differs from what was said, if it does.
    pub difference: Option<String>,
}

impl CallKind {
    /// For programs: an object of `kind`, `prefix`, `output`, and the `difference`, if there is one.
    pub fn to_value(&self) -> Value {
        let mut value = Object::from_iter([
            ("kind", &self.kind),
            ("prefix", &self.prefix),
            ("output", &self.output),
        ]);
        if let Some(difference) = &self.difference {
            value.insert("difference", difference);
        }
        value.into()
    }
}

/// A call that is tried, and the tool that it is of.
struct Probe {
    kind: &'static str,
    call: ToolCall,
    tool: Value,
}

/// What a response template makes of calls of all kinds. A kind that the chat template refuses or does not write is none.
pub(super) fn tried(
    template: &ResponseTemplate,
    field: &str,
    sampling: &mut Sampling<'_>,
    findings: &Findings,
) -> Vec<CallKind> {
    let mut tried = Vec::new();
    if findings.call_parts().is_none() {
        return tried;
    }
    for probe in probes() {
        let tools = Tools::from_value(&Value::from(vec![probe.tool]));
        let said = AssistantTurn::calls([probe.call]);
        let Some(sample) = sampling.sample_of(probe.kind, &said, &tools, findings) else {
            continue;
        };
        // A chat template may drop a key or print `True` for `true`: what it has not written, nobody can give back. A thought may
        // have been put before the call, where a prompt opens one.
        if sample.written.calls != said.calls {
            continue;
        }
        let reader = TrialReader::new(template, field, &tools);
        let written = Expected::Turn(&sample.written);
        let difference = reader.difference(&sample.prefilled, &sample.output, written);
        tried.push(CallKind {
            kind: probe.kind.to_owned(),
            difference: difference.map(|difference| difference.words),
            prefix: sample.prefilled,
            output: sample.output,
        });
    }
    tried
}

/// All calls that are tried.
fn probes() -> Vec<Probe> {
    let text = || ("string", Value::from("Brest"));
    let keys = KEYS.into_iter();
    let keys = keys.map(|(kind, key)| probe(kind, "read_tide", &[("at", text()), (key, text())]));
    let names = NAMES.into_iter();
    let names = names.map(|(kind, name)| probe(kind, name, &[("at", text())]));
    let values = VALUES.into_iter().map(|(kind, declared, value)| {
        let value = json::read(value).unwrap_or_default();
        // Between two others, so that a value that ends too late shows as well as one that begins too early.
        let arguments = [("at", text()), ("value", (declared, value)), ("to", text())];
        probe(kind, "read_tide", &arguments)
    });
    keys.chain(names).chain(values).collect()
}

/// A call of a tool with arguments of declared types.
fn probe(kind: &'static str, name: &str, arguments: &[(&str, (&str, Value))]) -> Probe {
    let declared = arguments.iter().map(|(key, (declared, _))| {
        let property = object! {"type": *declared, "description": "What it is"};
        (*key, Value::from(property))
    });
    let required: Value = arguments.iter().map(|(key, _)| *key).collect();
    let properties = Object::from_iter(declared);
    let parameters = object! {"type": "object", "properties": properties, "required": required};
    let function = object! {"name": name, "description": "Does it", "parameters": parameters};
    let said = arguments.iter();
    let said = said.map(|(key, (_, value))| ((*key).to_owned(), value.clone()));
    Probe {
        kind,
        call: ToolCall::new(name, said),
        tool: object! {"type": "function", "function": function}.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_another_and_has_a_value_of_its_declared_type() {
        let mut kinds: Vec<&str> = probes().iter().map(|probe| probe.kind).collect();
        let count = kinds.len();
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds.len(), count);
        for (kind, declared, value) in VALUES {
            let value = json::read(value).expect(kind);
            let is_declared = match declared {
                "string" => value.as_str().is_some(),
                "integer" | "number" => matches!(value, Value::Number(_)),
                "boolean" => matches!(value, Value::Bool(_)),
                "array" => matches!(value, Value::Array(_)),
                "object" => matches!(value, Value::Object(_)),
                "null" => value.is_null(),
                _ => false,
            };
            assert!(is_declared, "{kind}: {}", value.type_name());
        }
    }
}
