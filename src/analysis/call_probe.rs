//! The calls that a template is asked to write, the words in them, and the tools that they call.

use crate::chat_template::RenderError;
use crate::value::{Object, Value, object};

use super::assistant_turn::{AssistantTurn, ToolCall};
use super::turn_prober::{PrecedingMessages, TurnProber};

/// The words of the probes for calls.
pub(super) struct CallWords {
    pub(super) names: [String; 2],
    pub(super) keys: [String; 2],
    pub(super) values: [String; 2],
    pub(super) number: i64,
}

impl CallWords {
    pub(super) fn new(prober: &TurnProber<'_>) -> CallWords {
        let word = |meaning| prober.word(meaning);
        CallWords {
            names: [word("name"), word("other")],
            keys: [word("key"), word("more")],
            values: [word("value"), word("third")],
            // No template writes it by itself.
            number: 918_273_645,
        }
    }

    /// Tools for the calls of the probes.
    pub(super) fn tools(&self) -> Vec<Value> {
        let tools = self.names.iter().map(|name| {
            let [key, other] = &self.keys;
            let properties = object! {
                (key.as_str()): described("string", "What it is about"),
                (other.as_str()): described("string", "What else it is about"),
            };
            let parameters = object! {
                "type": "object",
                "properties": properties,
                "required": Value::from_iter([key]),
            };
            let about = "A tool for a probe";
            function(object! {"name": name, "description": about, "parameters": parameters})
        });
        tools.collect()
    }

    /// Tools that are written otherwise than those of the probes wherever that can be.
    pub(super) fn other_tools(&self) -> [Vec<Value>; 5] {
        let none = object! {
            "type": "object",
            "properties": Object::new(),
            "required": Vec::new(),
        };
        let some = object! {
            "type": "object",
            "properties": object! {
                "number": described("integer", "As it is"),
                "whether": object! {"type": "boolean"},
            },
        };
        let strict = object! {
            "type": "object",
            "properties": object! {
                "some": object! {"type": "array", "items": described("string", "As it is")},
            },
            "required": Value::from_iter(["some"]),
        };
        let described = |name: &str, parameters: Object| {
            let about = "Does something else";
            function(object! {"name": name, "description": about, "parameters": parameters})
        };
        let mut own = self.tools();
        own.push(described("nothing", none));
        // One that a template refuses tells nothing, so each is by itself.
        [
            own,
            vec![
                described("something", some.clone()),
                described("number", some.clone()),
            ],
            vec![described("all", strict)],
            vec![function(object! {"name": "plain", "parameters": some})],
            vec![function(object! {"name": "bare", "description": "Does it"})],
        ]
    }

    /// A call of one of the tools; each argument is the number of a key, and a value.
    pub(super) fn call(&self, which: usize, arguments: &[(usize, Value)]) -> ToolCall {
        let arguments = arguments.iter();
        let pairs = arguments.map(|(key, value)| (self.keys[*key].clone(), value.clone()));
        ToolCall::new(&self.names[which], pairs)
    }

    /// A string that has signs in it that markers have.
    pub(super) fn needs_escaping(&self) -> String {
        // JSON escapes a line break, XML `<` and `&`; some formats wrap such texts, or put them on lines of their
        // own.
        format!("{}\n<a & b>\n{}", self.values[0], self.values[1])
    }

    /// The arguments of one of the calls as JSON.
    pub(super) fn json_argument(&self, which: usize, value: &str) -> String {
        format!("{{\"{}\": {value}}}", self.keys[which])
    }

    /// The same with a string.
    pub(super) fn string_argument(&self, which: usize) -> String {
        self.json_argument(which, &format!("\"{}\"", self.values[which]))
    }

    pub(super) fn string(&self, which: usize) -> Value {
        self.values[which].as_str().into()
    }
}

/// A turn with a call, which the template is known to write.
pub(super) struct CallProbe {
    pub(super) words: CallWords,
    pub(super) one: AssistantTurn,
}

impl CallProbe {
    /// Finds the input form in which the template writes calls, and keeps it. An error is the
    /// template's refusal.
    pub(super) fn find(prober: &mut TurnProber<'_>) -> Result<Option<CallProbe>, RenderError> {
        let words = CallWords::new(prober);
        prober.offer(words.tools());
        let one = AssistantTurn::calls([words.call(0, &[(0, words.string(0))])]);
        // Some templates print the name and drop the arguments: that is no call yet.
        let must = [&words.names[0], &words.keys[0], &words.values[0]].map(String::as_str);
        let mut found = prober.find_input_form(PrecedingMessages::Question, &one, &must);
        if !matches!(found, Ok(true)) {
            // Tools may be more than the template can take, or nothing to it.
            prober.offer(Vec::new());
            if matches!(
                prober.find_input_form(PrecedingMessages::Question, &one, &must),
                Ok(true)
            ) {
                found = Ok(true);
            }
        }
        Ok(found?.then_some(CallProbe { words, one }))
    }

    /// A turn with two calls.
    pub(super) fn two(&self) -> AssistantTurn {
        let words = &self.words;
        // Two tools with an argument each: what belongs to which call is known by its words.
        let calls = [0, 1].map(|which| words.call(which, &[(which, words.string(which))]));
        AssistantTurn::calls(calls)
    }

    /// A word of the call that stands as early in a text as any.
    pub(super) fn first_word(&self, text: &str) -> &str {
        let words = [
            &self.words.names[0],
            &self.words.keys[0],
            &self.words.values[0],
        ];
        // A name may stand behind the arguments: `{...}@f`.
        let found = words
            .into_iter()
            .min_by_key(|word| text.find(word.as_str()).unwrap_or(usize::MAX));
        found.map_or("", String::as_str)
    }
}

/// The schema of a type.
fn described(kind: &str, description: &str) -> Object {
    object! {"type": kind, "description": description}
}

fn function(function: Object) -> Value {
    object! {"type": "function", "function": function}.into()
}

/// Tools that a template may describe.
pub(crate) fn probe_tools(prober: &TurnProber<'_>) -> Vec<Value> {
    CallWords::new(prober).tools()
}

/// Turns with calls to show to people: one call, a call of another tool, and two.
pub(super) fn example_turns() -> [AssistantTurn; 3] {
    let call = |name, key: &str, value: &str| ToolCall::new(name, [(key.to_owned(), value.into())]);
    let (one, other) = (
        call("first_tool", "key", "value"),
        call("other_tool", "key", "value"),
    );
    [
        AssistantTurn::calls([one.clone()]),
        AssistantTurn::calls([other.clone()]),
        AssistantTurn::calls([one, other]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::{asked, template};

    #[test]
    fn a_call_is_written_with_its_name_its_key_and_its_value() {
        for (assistant, expected) in [
            ("{{ m.tool_calls | tojson }}", "name first"),
            (
                "{% for c in m.tool_calls %}{{ c.function.arguments | tojson }}@{{ c.function.name }}{% endfor %}",
                "key first",
            ),
            (
                "{% for c in m.tool_calls %}{% for k, v in c.function.arguments.items() %}{{ v }} is {{ k }}\
                 {% endfor %} of {{ c.function.name }}{% endfor %}",
                "value first",
            ),
            // Some print the name and drop the arguments: that is no call yet.
            (
                "{% for c in m.tool_calls %}{{ c.function.name }}{% endfor %}",
                "none",
            ),
            ("{{ m.content }}", "none"),
            (
                "{{ raise_exception('no calls!') if m.tool_calls }}",
                "no calls!",
            ),
            // Tools are more than it can take, and calls are not.
            (
                "{{ raise_exception('no tools!') if tools }}{{ m.tool_calls | tojson }}",
                "name first",
            ),
        ] {
            let found = asked(&template(assistant), |prober| {
                let call = match CallProbe::find(prober) {
                    Ok(Some(call)) => call,
                    Ok(None) => return "none".to_owned(),
                    Err(error) => return error.message().to_owned(),
                };
                let turn = prober.turn(
                    PrecedingMessages::Question,
                    &call.one,
                    crate::analysis::turn_prober::ThinkingMode::On,
                );
                let turn = turn.expect("it is known to be written");
                let first = call.first_word(turn.tail());
                let words = &call.words;
                let known = [
                    ("name", &words.names[0]),
                    ("key", &words.keys[0]),
                    ("value", &words.values[0]),
                ];
                let known = known.iter().find(|(_, word)| *word == first);
                format!("{} first", known.expect("it is one of them").0)
            });
            assert_eq!(found, expected, "{assistant}");
        }
    }
}
