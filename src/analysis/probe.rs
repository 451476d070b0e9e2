//! Probe conversations, and the words in them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use foldhash::HashMap;
use jiff::civil::DateTime;

use crate::chat_template::{ChatTemplate, RenderError, RenderInput, Renderer};
use crate::json::{self, Style};
use crate::value::{Object, Value, object};

/// A conversation to be rendered.
#[derive(Debug, Clone, Default)]
pub(super) struct Probe {
    messages: Vec<Value>,
    tools: Tools,
    prompt: bool,
    variables: Object,
}

/// Tools that are offered, or none.
#[derive(Debug, Clone, Default)]
pub(super) struct Tools(Option<Rc<OfferedTools>>);

#[derive(Debug)]
struct OfferedTools {
    list: Value,
    /// The list as JSON.
    text: String,
}

impl Tools {
    pub(super) fn of(tools: impl IntoIterator<Item = Value>) -> Tools {
        let tools: Vec<Value> = tools.into_iter().collect();
        if tools.is_empty() {
            return Tools::default();
        }
        let list = tools.into();
        // Written once: it is a part of the key of each rendering.
        let text = json::write(&list);
        Tools(Some(Rc::new(OfferedTools { list, text })))
    }

    /// The tools one by one.
    pub(super) fn as_list(&self) -> &[Value] {
        let list = self.0.as_ref().and_then(|tools| tools.list.as_array());
        list.unwrap_or_default()
    }
}

/// A message with a text.
pub(crate) fn message(role: &str, content: &str) -> Value {
    object! {"role": role, "content": content}.into()
}

/// The message with another key.
pub(crate) fn with(message: Value, key: &str, value: impl Into<Value>) -> Value {
    match message {
        Value::Object(mut object) => {
            object.insert(key, value);
            object.into()
        }
        other => other,
    }
}

/// The message with a text as a list of parts, of which there is one.
pub(crate) fn in_parts(message: &Value) -> Value {
    let Some(text) = message.get("content").and_then(Value::as_str) else {
        return message.clone();
    };
    let part = object! {"type": "text", "text": text};
    with(message.clone(), "content", Value::from_iter([part]))
}

/// A call of a tool.
pub(crate) fn call(id: &str, name: &str, arguments: Value) -> Value {
    let function = object! {"name": name, "arguments": arguments};
    object! {"id": id, "type": "function", "function": function}.into()
}

/// What a tool answered to a call.
pub(crate) fn result(id: &str, name: &str, content: &str) -> Value {
    let answer = with(message("tool", content), "tool_call_id", id);
    with(answer, "name", name)
}

/// A tool with one parameter, which is a string.
pub(super) fn tool(name: &str, description: &str, parameter: &str) -> Value {
    let described = object! {"type": "string", "description": "What it is about"};
    let parameters = object! {
        "type": "object",
        "properties": object! {parameter: described},
        "required": Value::from_iter([parameter]),
    };
    let function = object! {"name": name, "description": description, "parameters": parameters};
    object! {"type": "function", "function": function}.into()
}

impl Probe {
    pub(super) fn of(messages: impl IntoIterator<Item = Value>) -> Probe {
        Probe {
            messages: messages.into_iter().collect(),
            ..Probe::default()
        }
    }

    pub(super) fn tools(mut self, tools: Tools) -> Probe {
        self.tools = tools;
        self
    }

    /// The conversation with the beginning of the assistant's turn at its end.
    pub(super) fn prompt(mut self) -> Probe {
        self.prompt = true;
        self
    }

    pub(super) fn variable(mut self, name: &str, value: impl Into<Value>) -> Probe {
        self.variables.insert(name, value);
        self
    }

    /// The messages exactly as they are, without the names for reasoning that the transformers
    /// library adds.
    pub(super) fn without_aliases(self) -> Probe {
        // What is given as a variable goes to the template as it is.
        let messages = self.messages.clone();
        self.variable("messages", messages)
    }
}

/// So many bytes of JSON most probes' messages take.
const ORDINARY_MESSAGES: usize = 1 << 10;

/// What a template is given with all conversations, and in which form.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    /// What all renderings have in common.
    pub(crate) base: RenderInput,
    /// What is given for tools where there are none.
    pub(crate) no_tools: Value,
    /// The roles in whose messages content is given as a list of parts.
    in_parts: Vec<&'static str>,
}

impl Setting {
    /// The setting of a template that could not be asked anything.
    pub(crate) fn plain(template: &ChatTemplate, base: &RenderInput) -> Setting {
        Setting {
            base: template.given(base),
            no_tools: Value::Null,
            in_parts: Vec::new(),
        }
    }

    /// The same with content as texts, unless users have to give it in parts.
    pub(crate) fn with_texts(&self) -> Setting {
        let mut setting = self.clone();
        if !setting.in_parts.contains(&"user") {
            setting.in_parts.clear();
        }
        setting
    }

    /// A message with content in the form in which the template takes it.
    pub(crate) fn in_form(&self, message: &Value) -> Value {
        let role = message.get("role").and_then(Value::as_str);
        match role.is_some_and(|role| self.in_parts.contains(&role)) {
            true => in_parts(message),
            false => message.clone(),
        }
    }

    /// What the template is given to write a conversation. `tools` is none where none are offered.
    pub(crate) fn input(
        &self,
        messages: Value,
        tools: Option<Value>,
        variables: &Object,
    ) -> RenderInput {
        let mut input = self.base.clone();
        input.variables.extend(variables.clone());
        input.messages = messages;
        input.tools = tools.unwrap_or_else(|| self.no_tools.clone());
        input
    }
}

/// Renders probes with a template.
pub(crate) struct Prober<'t> {
    renderer: Renderer<'t>,
    setting: Setting,
    /// Whether it is known what `bos_token` and `eos_token` are.
    known_tokens: [bool; 2],
    stem: String,
    words: Cell<usize>,
    /// The setting as JSON.
    given: String,
    /// The error of a rendering that took all that may be taken: others would, too.
    exhausted: RefCell<Option<RenderError>>,
    /// What has been rendered, by all that it was made of: the same is asked more than once.
    rendered: RefCell<HashMap<String, Result<String, RenderError>>>,
}

impl<'t> Prober<'t> {
    /// `base` holds what all renderings have in common: the tokens, and the time. Where it names no
    /// tokens, the template's own are taken.
    pub(super) fn new(template: &ChatTemplate, renderer: Renderer<'t>, base: &RenderInput) -> Self {
        let mut stem = String::from("zq");
        // A template may hold "zq": then a rendering with it shows nothing.
        while template.jinja.contains(&stem) {
            stem.push('q');
        }
        let base = template.given(base);
        let origins = &template.origins;
        let mut prober = Prober {
            renderer,
            known_tokens: [
                base.bos_token.is_some() || origins.bos_token.is_some(),
                base.eos_token.is_some() || origins.eos_token.is_some(),
            ],
            setting: Setting {
                base,
                no_tools: Value::Null,
                in_parts: Vec::new(),
            },
            stem,
            words: Cell::new(0),
            given: String::new(),
            exhausted: RefCell::default(),
            rendered: RefCell::default(),
        };
        prober.note_given();
        prober
    }

    /// Finds out how the template is to be asked a question. Some don't take it that there are no tools
    /// at all, but take an empty list of them; some want content as a list of parts.
    pub(super) fn try_question(&mut self) -> Result<(), RenderError> {
        let question = Probe::of([message("user", &self.word("question"))]);
        let ask = |prober: &Self| {
            let answer = prober.render(&question.clone().prompt());
            // A template may refuse to write prompts, and write conversations all the same.
            answer.or_else(|_| prober.render(&question)).map(|_| ())
        };
        let first = ask(self);
        let mut is_asked = first.is_ok();
        // `tools | length` takes no null, `'' + m.content[0].text` no text; the plainest change comes first.
        for (parts, no_tools) in [(false, true), (true, false), (true, true)] {
            if !is_asked {
                self.ask_with(no_tools, parts);
                is_asked = ask(self).is_ok();
            }
        }
        if !is_asked {
            self.ask_with(false, false);
            // The first refusal is about a plain question, as people ask it.
            return first;
        }
        self.try_parts();
        Ok(())
    }

    /// Gives no tools as an empty list from now on, or content of users as a list of parts.
    fn ask_with(&mut self, empty_list: bool, parts: bool) {
        self.setting.no_tools = match empty_list {
            true => Vec::new().into(),
            false => Value::Null,
        };
        self.setting.in_parts = match parts {
            true => vec!["user"],
            false => Vec::new(),
        };
        self.note_given();
    }

    /// Finds out in whose messages content has to be a list of parts, because its words are lost
    /// otherwise.
    fn try_parts(&mut self) {
        let word = |meaning| self.word(meaning);
        let (question, answer, name, done) = (
            word("question"),
            word("answer"),
            word("tool"),
            word("result"),
        );
        let asked = message("user", &question);
        // Nine letters and digits: some templates refuse any other id.
        let tool_call = call("zqid70001", &name, Object::new().into());
        let calling = with(message("assistant", ""), "tool_calls", vec![tool_call]);
        let answered = result("zqid70001", &name, &done);
        let told = word("system");
        let conversations = [
            ("user", vec![asked.clone()], question),
            (
                "system",
                vec![message("system", &told), asked.clone()],
                told,
            ),
            (
                "assistant",
                vec![asked.clone(), message("assistant", &answer)],
                answer,
            ),
            ("tool", vec![asked, calling, answered], done),
        ];
        for (role, messages, word) in conversations {
            let probe = Probe::of(messages);
            let holds =
                |prober: &Self| prober.render(&probe).is_ok_and(|text| text.contains(&word));
            // `{% for part in m.content if part.type == 'text' %}` finds no part in a text, and says nothing.
            if !self.setting.in_parts.contains(&role) && !holds(self) {
                self.setting.in_parts.push(role);
                self.note_given();
                // In neither form its words come out: the role is dropped, and nothing is to be changed for it.
                if !holds(self) {
                    self.setting.in_parts.pop();
                    self.note_given();
                }
            }
        }
    }

    /// Gives the template a variable from now on.
    pub(super) fn give(&mut self, name: &str, value: impl Into<Value>) -> Option<Value> {
        let before = self.setting.base.variables.insert(name, value);
        self.note_given();
        before
    }

    /// Gives the template a variable no more.
    pub(super) fn take_back(&mut self, name: &str) {
        self.setting.base.variables.remove(name);
        self.note_given();
    }

    /// Lets the template take another time for the current one, or that which it was given again.
    pub(super) fn set_now(&mut self, now: Option<DateTime>) -> Option<DateTime> {
        let before = std::mem::replace(&mut self.setting.base.now, now);
        self.note_given();
        before
    }

    fn note_given(&mut self) {
        let form = [
            self.setting.base.variables.clone().into(),
            self.setting.no_tools.clone(),
            self.setting.in_parts.iter().copied().collect(),
            self.setting.base.now.map(|now| now.to_string()).into(),
        ];
        self.given = json::write(&Vec::from(form).into());
    }

    /// Whether it is known what a variable is: it is given, or it is a token that the model does not
    /// have.
    pub(super) fn knows(&self, name: &str) -> bool {
        match name {
            "bos_token" if self.known_tokens[0] => true,
            "eos_token" if self.known_tokens[1] => true,
            name => self.setting.base.variables.contains_key(name),
        }
    }

    /// The token that ends a turn, if the template or the input names one.
    pub(super) fn eos_token(&self) -> Option<&str> {
        self.setting.base.eos_token.as_deref()
    }

    /// What the template is given with all probes, and in which form.
    pub(crate) fn setting(&self) -> &Setting {
        &self.setting
    }

    /// What all words begin with.
    pub(crate) fn stem(&self) -> &str {
        &self.stem
    }

    /// A word that occurs nowhere else.
    pub(crate) fn word(&self, meaning: &str) -> String {
        // Counted for each template alone: what is derived must not hang on what was derived before.
        let number = self.words.replace(self.words.get() + 1);
        // The number stands within, so that no word begins another.
        format!("{}{number:03}{meaning}", self.stem)
    }

    /// Whether words of probes stand in a text.
    pub(super) fn holds_words(&self, text: &str) -> bool {
        text.contains(&self.stem)
    }

    /// Messages with content in the form in which the template takes it.
    fn in_form(&self, messages: &[Value]) -> Value {
        let messages = messages.iter();
        messages
            .map(|message| self.setting.in_form(message))
            .collect()
    }

    pub(super) fn render(&self, probe: &Probe) -> Result<String, RenderError> {
        let key = self.key(probe);
        // What is found out in one file is asked again in others: the same prompts, the same plain turn.
        if let Some(known) = self.rendered.borrow().get(&key) {
            return known.clone();
        }
        let rendering = self.render_anew(&self.input(probe));
        self.rendered.borrow_mut().insert(key, rendering.clone());
        rendering
    }

    /// How many different probes have been rendered.
    pub(crate) fn renderings(&self) -> usize {
        self.rendered.borrow().len()
    }

    /// All in which renderings differ.
    fn key(&self, probe: &Probe) -> String {
        let tools = probe.tools.0.as_ref().map_or("", |tools| &tools.text);
        let mut key = String::with_capacity(self.given.len() + tools.len() + ORDINARY_MESSAGES);
        key.push_str(&self.given);
        key.push(match probe.prompt {
            true => '>',
            false => '.',
        });
        for message in &probe.messages {
            json::write_into(&mut key, message, &Style::COMPACT);
        }
        key.push_str(tools);
        // Most have none, and an empty object need not be written for each.
        if !probe.variables.is_empty() {
            key.push_str(&json::write(&probe.variables.clone().into()));
        }
        key
    }

    /// What the template is given for a probe.
    pub(super) fn input(&self, probe: &Probe) -> RenderInput {
        let messages = self.in_form(&probe.messages);
        let tools = probe.tools.0.as_ref().map(|tools| tools.list.clone());
        let mut input = self.setting.input(messages, tools, &probe.variables);
        // Messages given `without_aliases` take the form that the others take.
        if let Some(Value::Array(messages)) = input.variables.get("messages") {
            let messages = self.in_form(messages);
            input.variables.insert("messages", messages);
        }
        input.add_generation_prompt = probe.prompt;
        input
    }

    /// Returns why the template can't be asked any more: it took all that may be taken, and what it did not answer is not known.
    pub(crate) fn gave_up(&self) -> Result<(), RenderError> {
        match &*self.exhausted.borrow() {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    fn render_anew(&self, input: &RenderInput) -> Result<String, RenderError> {
        self.gave_up()?;
        match self.renderer.render_short(input) {
            Ok(rendering) => Ok(rendering.text),
            Err(error) => {
                if error.is_exhausted() {
                    self.exhausted.replace(Some(error.clone()));
                }
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_asked_in_the_plainest_form_that_they_take() {
        for (jinja, expected) in [
            (
                "{% for m in messages %}{{ m.content }}{% endfor %}",
                "null []",
            ),
            // No null has a length.
            (
                "{{ tools | length }}{% for m in messages %}{{ m.content }}{% endfor %}",
                "[] []",
            ),
            (
                "{% for m in messages %}{{ '' + m.content[0].text }}{% endfor %}",
                "null [\"user\", \"system\", \"assistant\", \"tool\"]",
            ),
            (
                "{{ tools | length }}{% for m in messages %}{{ '' + m.content[0].text }}{% endfor %}",
                "[] [\"user\", \"system\", \"assistant\", \"tool\"]",
            ),
            // It finds no part in a text, and says nothing.
            (
                "{% for m in messages %}{% if m.role == 'tool' %}{% for p in m.content if p.type == 'text' %}\
                 {{ p.text }}{% endfor %}{% else %}{{ m.content }}{% endif %}{% endfor %}",
                "null [\"tool\"]",
            ),
            // In neither form anything comes out of it.
            (
                "{% for m in messages %}{% if m.role != 'tool' %}{{ m.content }}{% endif %}{% endfor %}",
                "null []",
            ),
            ("{{ messages[0].content.no.no }}", "refused"),
        ] {
            let template = ChatTemplate::from_jinja(jinja);
            let prepared = template.prepare();
            let renderer = prepared.renderer().expect("it is valid");
            let mut prober = Prober::new(&template, renderer, &RenderInput::default());
            let found = match prober.try_question() {
                Ok(()) => {
                    let setting = prober.setting();
                    format!("{} {:?}", json::write(&setting.no_tools), setting.in_parts)
                }
                Err(_) => "refused".to_owned(),
            };
            assert_eq!(found, expected, "{jinja}");
        }
    }

    #[test]
    fn words_of_probes_stand_nowhere_in_the_template() {
        for (jinja, expected) in [("{{ 1 }}", "zq"), ("zq {{ 1 }}", "zqq"), ("zqqq", "zqqqq")] {
            let template = ChatTemplate::from_jinja(jinja);
            let prepared = template.prepare();
            let renderer = prepared.renderer().expect("it is valid");
            let prober = Prober::new(&template, renderer, &RenderInput::default());
            assert_eq!(prober.stem(), expected, "{jinja}");
            let [one, other] = [prober.word("name"), prober.word("name")];
            assert!(one != other && prober.holds_words(&one), "{jinja}");
        }
    }

    #[test]
    fn what_a_token_is_may_be_known_without_being_given() {
        let mut template = ChatTemplate::from_jinja("{{ 1 }}");
        template.eos_token = Some("</s>".to_owned());
        let base = RenderInput {
            variables: object! {"brief": true},
            ..RenderInput::default()
        };
        let prepared = template.prepare();
        let renderer = prepared.renderer().expect("it is valid");
        let prober = Prober::new(&template, renderer, &base);
        for (name, expected) in [
            ("eos_token", true),
            ("bos_token", false),
            ("brief", true),
            ("mull", false),
        ] {
            assert_eq!(prober.knows(name), expected, "{name}");
        }
    }

    #[test]
    fn texts_become_parts_and_parts_stay() {
        for (message, expected) in [
            (
                r#"{"role": "user", "content": "Hi"}"#,
                r#"{"role": "user", "content": [{"type": "text", "text": "Hi"}]}"#,
            ),
            (r#"{"content": []}"#, r#"{"content": []}"#),
            (r#"{"content": null}"#, r#"{"content": null}"#),
        ] {
            let message: Value = message.parse().expect("it is JSON");
            let expected: Value = expected.parse().expect("it is JSON");
            assert_eq!(in_parts(&message), expected);
        }
    }

    #[test]
    fn all_in_which_renderings_differ_is_in_their_keys() {
        let template = ChatTemplate::from_jinja("{{ messages | tojson }}{{ a }}{{ tools }}");
        let prepared = template.prepare();
        let renderer = prepared.renderer().expect("it is valid");
        let prober = Prober::new(&template, renderer, &RenderInput::default());
        let probe = || Probe::of([message("user", "Hi")]);
        let offered = || Tools::of([tool("f", "Finds", "k")]);
        for (other, expected) in [
            (probe(), 1),
            (probe().prompt(), 2),
            (probe().variable("a", 1), 3),
            (probe().tools(offered()), 4),
            (probe().tools(offered()), 4),
            (Probe::of([message("user", "Ho")]), 5),
        ] {
            prober.render(&other).expect("it renders");
            assert_eq!(prober.renderings(), expected);
        }
    }
}
