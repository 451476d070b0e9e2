//! What a chat template makes of conversations, as cases of a first fixture.

use crate::analysis::Capabilities;
use crate::chat_template::{ChatTemplate, REASONING_KEYS, RenderError, RenderInput};
use crate::derive::Derivation;
use crate::json;
use crate::value::{Object, Value, object};

use super::first::FirstFixture;

/// Conversations, each with its name: a letter a message, for one of the user (`u`), of the system (`s`), of the assistant with a
/// text (`a`), with a thought as well (`t`), or with a call (`c`), and for a result (`r`). One that ends with the assistant's message
/// is whole; of all others it is the prompt.
const CONVERSATIONS: [(&str, &str); 6] = [
    ("the prompt for a question", "u"),
    ("the prompt for a question below a system message", "su"),
    ("the prompt for a second question", "uau"),
    ("the prompt for a question after a thought", "utu"),
    ("a whole conversation", "uaua"),
    ("a whole conversation with thoughts", "utut"),
];

/// The same, with tools at hand.
const WITH_TOOLS: [(&str, &str); 4] = [
    ("the prompt for a question, with tools", "u"),
    ("the prompt after a result", "ucr"),
    ("the prompt for a question after a result", "ucrau"),
    ("a whole conversation with a call", "sucrt"),
];

impl FirstFixture {
    /// The same, with a case for each of some conversations that holds what the chat template makes of it: prompts for a question, with
    /// tools at hand, after a result, with each variable that switches something, and conversations of several turns. So whoever
    /// changes the chat template sees what else changes. Those that it refuses are left out.
    ///
    /// The fixture has to [name the chat template](Self::head), under `chat_template` or `derive`.
    ///
    /// # Errors
    ///
    /// If the template is not valid, or does not even render a question.
    ///
    /// ```
    /// use unjinja::chat_template::{ChatTemplate, RenderInput};
    /// use unjinja::check::FirstFixture;
    /// use unjinja::derive::{DeriveOptions, derive};
    ///
    /// let template = ChatTemplate::from_jinja(
    ///     "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
    ///      {% if add_generation_prompt %}<assistant>{% endif %}",
    /// );
    /// let derived = derive(&template, &DeriveOptions::default())?;
    /// let fixture = FirstFixture::new(&derived);
    /// let fixture = fixture.with_prompts(&template, &RenderInput::default(), &derived)?;
    /// let prompt = fixture.cases.iter().find(|case| case.contains_key("prompt"));
    /// let renders = prompt.and_then(|case| case.get("renders"));
    /// assert_eq!(renders, Some(&"<user>When is high water?<end><assistant>".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_prompts(
        mut self,
        template: &ChatTemplate,
        base: &RenderInput,
        derivation: &Derivation,
    ) -> Result<FirstFixture, RenderError> {
        let writer = Writer {
            template,
            base,
            thought: thought_key(derivation),
            // One is enough to see how they are written.
            tool: self
                .head
                .get("tools")
                .and_then(Value::as_array)
                .and_then(|tools| tools.first())
                .cloned(),
        };
        let switched = Capabilities::of(template, base)?.variables.into_iter();
        let switched = switched.filter(|variable| variable.switch.is_some());
        for (name, shape) in CONVERSATIONS {
            self.cases.extend(writer.case(name, shape, false, None));
        }
        for variable in switched {
            for value in [true, false] {
                let name = format!("the prompt for a question, with {}={value}", variable.name);
                let variable = Some((variable.name.as_str(), value));
                self.cases.extend(writer.case(&name, "u", false, variable));
            }
        }
        let with_tools = WITH_TOOLS.iter().filter(|_| writer.tool.is_some());
        for (name, shape) in with_tools {
            self.cases.extend(writer.case(name, shape, true, None));
        }
        Ok(self)
    }
}

/// The key under which the template reads thoughts.
fn thought_key(derivation: &Derivation) -> &str {
    let reasoning = derivation.findings.reasoning.as_ref();
    let keys = reasoning.map_or(&[][..], |reasoning| &reasoning.keys);
    let key = keys.iter().find(|key| *key != "content");
    key.map_or(REASONING_KEYS[0], String::as_str)
}

/// Writes cases.
struct Writer<'a> {
    template: &'a ChatTemplate,
    base: &'a RenderInput,
    thought: &'a str,
    /// A tool of the file, if it has some.
    tool: Option<Value>,
}

impl Writer<'_> {
    /// The case of a conversation, if the template renders it: some take arguments as an object, and some as text.
    fn case(
        &self,
        name: &str,
        shape: &str,
        has_tools: bool,
        variable: Option<(&str, bool)>,
    ) -> Option<Object> {
        let is_prompt = !shape.ends_with(['a', 't', 'c']);
        let tool = self.tool.iter().filter(|_| has_tools);
        let tools: Vec<Value> = tool.cloned().collect();
        let tools = if has_tools {
            Value::from(tools)
        } else {
            Value::Null
        };
        let mut given = RenderInput {
            tools: tools.clone(),
            add_generation_prompt: is_prompt,
            ..self.base.clone()
        };
        let variable: Option<Object> = variable.map(|variable| [variable].into_iter().collect());
        given.variables.extend(variable.clone().unwrap_or_default());
        let (messages, rendered) = [false, true].into_iter().find_map(|as_text| {
            let messages = self.messages(shape, as_text);
            given.messages = messages.clone();
            let rendered = self.template.render(&given).ok()?;
            Some((messages, rendered.text))
        })?;
        let mut case = Object::from_iter([("name", name)]);
        case.insert(if is_prompt { "prompt" } else { "conversation" }, messages);
        if self.tool.is_some() {
            case.insert("tools", tools);
        }
        if let Some(variable) = variable {
            case.insert("variables", variable);
        }
        case.insert("renders", rendered);
        Some(case)
    }

    fn messages(&self, shape: &str, as_text: bool) -> Value {
        let mut asked = 0;
        let messages = shape.chars().map(|letter| match letter {
            's' => message("system", "You know the harbour."),
            'u' => {
                asked += 1;
                message(
                    "user",
                    if asked == 1 {
                        "When is high water?"
                    } else {
                        "And tomorrow?"
                    },
                )
            }
            'a' => message("assistant", if asked > 1 { "At one." } else { "At noon." }),
            't' => {
                let mut said = message("assistant", if asked > 1 { "At one." } else { "At noon." });
                said.insert(self.thought, "The table of the tides tells.");
                said
            }
            'c' => {
                let mut call = message("assistant", "");
                call.insert("tool_calls", vec![self.call(as_text)]);
                call
            }
            _ => {
                let mut result = message("tool", "12:04");
                result.insert("tool_call_id", ID);
                result.insert("name", self.tool_name());
                result
            }
        });
        messages.map(Value::from).collect()
    }

    fn tool_name(&self) -> &str {
        let tool = self.tool.as_ref();
        let name = tool.and_then(|tool| tool.pointer("/function/name")?.as_str());
        name.unwrap_or_default()
    }

    /// A call of the tool, with all that it requires.
    fn call(&self, as_text: bool) -> Value {
        let tool = self.tool.as_ref();
        let required = tool.and_then(|tool| tool.pointer("/function/parameters/required"));
        let required = required.and_then(Value::as_array).unwrap_or_default();
        let required = required.iter().filter_map(Value::as_str);
        let arguments = Object::from_iter(required.map(|name| (name, "Brest")));
        let arguments = match as_text {
            true => json::write(&arguments.into()).into(),
            false => Value::from(arguments),
        };
        let function = object! {"name": self.tool_name(), "arguments": arguments};
        object! {"id": ID, "type": "function", "function": function}.into()
    }
}

/// The id of a call, as short as some templates ask for.
const ID: &str = "call00001";

fn message(role: &str, content: &str) -> Object {
    Object::from_iter([("role", role), ("content", content)])
}
