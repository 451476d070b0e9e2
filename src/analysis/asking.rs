//! Asking for a turn of the assistant in every way a template may want to be asked.

use crate::chat_template::{ChatTemplate, PreparedTemplate, RenderError, RenderInput};
use crate::json;
use crate::value::{Object, Value};

use super::probe::{Probe, Prober, call, message, object, result, with};
use super::variables;

/// How long a turn may be to be worth looking at, in bytes: those of probes are a few words.
const MAX_TURN: usize = 1 << 14;

/// What the assistant says in a turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Said {
    pub(crate) reasoning: Option<String>,
    pub(crate) content: Option<String>,
    pub(crate) calls: Vec<Called>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Called {
    pub(crate) name: String,
    pub(crate) arguments: Object,
}

impl Said {
    pub(crate) fn content(text: &str) -> Said {
        Said {
            content: Some(text.to_owned()),
            ..Said::default()
        }
    }

    pub(crate) fn calls(calls: impl IntoIterator<Item = Called>) -> Said {
        Said {
            calls: calls.into_iter().collect(),
            ..Said::default()
        }
    }

    pub(crate) fn reasoning(mut self, text: &str) -> Said {
        self.reasoning = Some(text.to_owned());
        self
    }

    pub(crate) fn with_content(mut self, text: &str) -> Said {
        self.content = Some(text.to_owned());
        self
    }

    /// What was said as a message, with the reasoning in a field of this name.
    pub(crate) fn message(&self, reasoning_field: &str) -> Object {
        let mut message = Object::new();
        let texts = [
            (reasoning_field, &self.reasoning),
            ("content", &self.content),
        ];
        for (field, text) in texts {
            if let Some(text) = text {
                message.insert(field, text.as_str());
            }
        }
        if !self.calls.is_empty() {
            let calls = self.calls.iter().map(Called::to_value);
            message.insert("tool_calls", calls.collect::<Vec<Value>>());
        }
        message
    }
}

impl Called {
    pub(crate) fn new(name: &str, arguments: impl IntoIterator<Item = (String, Value)>) -> Called {
        Called {
            name: name.to_owned(),
            arguments: arguments.into_iter().collect(),
        }
    }

    fn to_value(&self) -> Value {
        let mut function = Object::new();
        function.insert("name", self.name.as_str());
        function.insert("arguments", self.arguments.clone());
        let pairs = [
            ("type", Value::from("function")),
            ("function", function.into()),
        ];
        pairs.into_iter().collect::<Object>().into()
    }
}

/// What comes before the assistant's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scene {
    /// A question.
    Question,
    /// A question, a call, and what the tool answered.
    AfterTool,
    /// A question, an answer, and another question.
    SecondQuestion,
}

/// Which way the variables are set that switch thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Unset,
    On,
    Off,
}

/// How a message without content says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bare {
    Empty,
    Null,
    Absent,
}

/// How reasoning is given to a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReasoningKey {
    /// Beside the content, under all the names that templates read.
    Field,
    /// As a part of the content, with its text under `thinking`.
    Part,
}

/// The shape of the ids of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ids {
    /// Nine letters and digits.
    Nine,
    /// With a prefix, as most services have them.
    Prefixed,
    /// `functions.NAME:INDEX`.
    Named,
}

impl Ids {
    pub(crate) fn id(self, name: &str, index: usize) -> String {
        match self {
            Ids::Nine => format!("zqid{:05}", 70_001 + index),
            Ids::Prefixed => format!("call_zqid{:05}", 70_001 + index),
            Ids::Named => format!("functions.{name}:{index}"),
        }
    }
}

/// The ways of asking that a template takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Manner {
    bare: Bare,
    arguments_as_text: bool,
    pub(crate) ids: Ids,
    /// Whether calls come out only when they have been answered.
    answered: bool,
    pub(crate) reasoning: ReasoningKey,
}

/// The assistant's turn as a template writes it.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    text: String,
    /// Where what comes before the turn ends: the last word of the message before it.
    pub(crate) start: usize,
    /// Where the tool's answer begins, if one had to be given.
    end: usize,
}

impl Turn {
    /// The whole rendering, up to the tool's answer if one had to be given.
    pub(crate) fn text(&self) -> &str {
        &self.text[..self.end]
    }

    /// All that follows the message before the turn.
    pub(crate) fn tail(&self) -> &str {
        &self.text[self.start..self.end]
    }
}

/// Renders turns of the assistant.
pub(crate) struct Asking<'t> {
    prober: Prober<'t>,
    manner: Manner,
    /// The variables that switch thinking.
    switches: Vec<String>,
    tools: Vec<Value>,
    words: SceneWords,
}

/// The words of the messages before the turn.
struct SceneWords {
    first: String,
    answer: String,
    question: String,
    tool: String,
    value: String,
    result: String,
    done: String,
    note: String,
}

impl<'t> Asking<'t> {
    /// Finds out how the template is to be asked a question at all.
    pub(crate) fn new(
        template: &ChatTemplate,
        prepared: &'t PreparedTemplate,
        base: RenderInput,
    ) -> Result<Asking<'t>, RenderError> {
        let mut prober = Prober::new(template, prepared.renderer()?, base);
        prober.try_question()?;
        let asked = Probe::of([message("user", &prober.word("asked"))]).prompt();
        let tells = |name: &str| {
            let with = |value: bool| prober.render(&asked.clone().variable(name, value)).ok();
            matches!((with(true), with(false)), (Some(on), Some(off)) if on != off)
        };
        let switches = variables::find(&prober, prepared.variables())
            .into_iter()
            // Some don't show at the end of a prompt, but in its instructions.
            .filter(|v| v.switch.is_some() || (v.name.contains("think") && tells(&v.name)))
            .map(|variable| variable.name)
            .collect();
        let word = |meaning| prober.word(meaning);
        let words = SceneWords {
            first: word("first"),
            answer: word("answer"),
            question: word("question"),
            tool: word("tool"),
            value: word("value"),
            result: word("result"),
            done: word("done"),
            note: word("note"),
        };
        Ok(Asking {
            prober,
            manner: Manner {
                bare: Bare::Empty,
                arguments_as_text: false,
                ids: Ids::Nine,
                answered: false,
                reasoning: ReasoningKey::Field,
            },
            switches,
            tools: Vec::new(),
            words,
        })
    }

    /// A word that occurs nowhere else.
    pub(crate) fn word(&self, meaning: &str) -> String {
        self.prober.word(meaning)
    }

    /// Whether words of probes have got into a finding.
    pub(crate) fn leaks(&self, finding: &Value) -> bool {
        json::write(finding).contains(self.prober.stem())
    }

    pub(crate) fn manner(&self) -> Manner {
        self.manner
    }

    /// Offers these tools from now on.
    pub(crate) fn offer(&mut self, tools: Vec<Value>) {
        self.tools = tools;
    }

    /// Looks for the manner in which all words of what is said come out, and keeps it. Gives the
    /// first refusal back if there is none.
    pub(crate) fn find_manner(
        &mut self,
        scene: Scene,
        said: &Said,
        words: &[&str],
    ) -> Result<bool, RenderError> {
        let mut refusal = None;
        let mut rendered = false;
        for manner in manners(said, self.manner) {
            let former = std::mem::replace(&mut self.manner, manner);
            match self.turn(scene, said, Mode::On) {
                Ok(turn) if self.holds(&turn, words) => return Ok(true),
                Ok(_) => rendered = true,
                Err(error) => {
                    refusal.get_or_insert(error);
                }
            }
            self.manner = former;
        }
        match refusal {
            Some(error) if !rendered => Err(error),
            _ => Ok(false),
        }
    }

    fn holds(&self, turn: &Turn, words: &[&str]) -> bool {
        let tail = turn.tail();
        words.iter().all(|word| tail.contains(word)) && !tail.contains(&self.words.note)
    }

    /// The prompt for a turn, and where what comes before the turn ends.
    pub(crate) fn prompt(&self, scene: Scene, mode: Mode) -> Result<Turn, RenderError> {
        let probe = self.probe(self.before(scene), mode).prompt();
        self.rendered(&probe, scene)
    }

    /// Under which names the template reads reasoning, when it gets only one of them at a time.
    pub(crate) fn reasoning_keys(&self, said: &Said, thought: &str) -> Vec<String> {
        if self.manner.reasoning == ReasoningKey::Part {
            return vec!["content".to_owned()];
        }
        let mut bare = said.clone();
        bare.reasoning = None;
        let reads = |key: &str| {
            let mut messages = self.before(Scene::Question);
            messages.push(with(self.message(&bare), key, thought));
            let probe = self.probe(messages, Mode::On).without_aliases();
            self.prober
                .render(&probe)
                .is_ok_and(|text| text.contains(thought))
        };
        let keys = ["reasoning_content", "thinking", "reasoning"].into_iter();
        keys.filter(|key| reads(key)).map(str::to_owned).collect()
    }

    /// The conversation before the turn, without the beginning of an answer.
    pub(crate) fn no_prompt(&self, scene: Scene, mode: Mode) -> Result<Turn, RenderError> {
        let probe = self.probe(self.before(scene), mode);
        self.rendered(&probe, scene)
    }

    /// A conversation that ends with what the assistant says.
    pub(crate) fn turn(&self, scene: Scene, said: &Said, mode: Mode) -> Result<Turn, RenderError> {
        let mut messages = self.before(scene);
        messages.push(self.message(said));
        let answered = self.manner.answered && !said.calls.is_empty();
        if answered {
            for (index, called) in said.calls.iter().enumerate() {
                let id = self.manner.ids.id(&called.name, index);
                messages.push(result(&id, &called.name, &self.words.done));
            }
        }
        let mut turn = self.rendered(&self.probe(messages, mode), scene)?;
        if answered && let Some(end) = turn.tail().find(&self.words.done) {
            turn.end = turn.start + end;
        }
        Ok(turn)
    }

    /// A conversation in which what the assistant says is followed by another question.
    pub(crate) fn past_turn(
        &self,
        scene: Scene,
        said: &Said,
        mode: Mode,
    ) -> Result<Turn, RenderError> {
        let mut messages = self.before(scene);
        messages.push(self.message(said));
        messages.push(message("user", &self.words.done));
        let mut turn = self.rendered(&self.probe(messages, mode), scene)?;
        if let Some(end) = turn.tail().find(&self.words.done) {
            turn.end = turn.start + end;
        }
        Ok(turn)
    }

    fn rendered(&self, probe: &Probe, scene: Scene) -> Result<Turn, RenderError> {
        let text = self.prober.render(probe)?;
        let word = match scene {
            Scene::AfterTool => &self.words.result,
            Scene::Question | Scene::SecondQuestion => &self.words.question,
        };
        let start = text.rfind(word).map_or(text.len(), |at| at + word.len());
        if text.len() - start > MAX_TURN {
            return Err(RenderError::given_up(format!(
                "a turn of a few words is written with more than {MAX_TURN} bytes"
            )));
        }
        Ok(Turn {
            end: text.len(),
            text,
            start,
        })
    }

    fn probe(&self, messages: Vec<Value>, mode: Mode) -> Probe {
        self.probe_with(messages, &self.tools, mode)
    }

    fn probe_with(&self, messages: Vec<Value>, tools: &[Value], mode: Mode) -> Probe {
        let mut probe = Probe::of(messages);
        if !tools.is_empty() {
            probe = probe.tools(tools.iter().cloned());
        }
        let value = match mode {
            Mode::Unset => return probe,
            Mode::On => true,
            Mode::Off => false,
        };
        for name in &self.switches {
            probe = probe.variable(name, value);
        }
        probe
    }

    /// The messages before the turn.
    fn before(&self, scene: Scene) -> Vec<Value> {
        let words = &self.words;
        let question = message("user", &words.question);
        match scene {
            Scene::Question => vec![question],
            Scene::SecondQuestion => vec![
                message("user", &words.first),
                message("assistant", &words.answer),
                question,
            ],
            Scene::AfterTool => {
                let key = String::from("key");
                let called = Called::new(&words.tool, [(key, words.value.as_str().into())]);
                let id = self.manner.ids.id(&called.name, 0);
                vec![
                    question,
                    self.message(&Said::calls([called])),
                    result(&id, &words.tool, &words.result),
                ]
            }
        }
    }

    /// The message as this template takes it.
    fn message(&self, said: &Said) -> Value {
        let mut turn = Object::new();
        turn.insert("role", "assistant");
        match (&said.content, self.manner.bare) {
            (Some(content), _) => {
                turn.insert("content", content.as_str());
            }
            (None, Bare::Empty) => {
                turn.insert("content", "");
            }
            (None, Bare::Null) => {
                turn.insert("content", Value::Null);
            }
            (None, Bare::Absent) => {}
        }
        let mut turn = Value::from(turn);
        if let Some(reasoning) = &said.reasoning {
            turn = self.with_reasoning(turn, reasoning, said.content.as_deref());
        }
        if !said.calls.is_empty() {
            let calls = said.calls.iter().enumerate();
            let calls: Vec<Value> = calls
                .map(|(index, called)| self.call(called, index))
                .collect();
            turn = with(turn, "tool_calls", calls);
        }
        turn
    }

    fn with_reasoning(&self, turn: Value, reasoning: &str, content: Option<&str>) -> Value {
        match self.manner.reasoning {
            ReasoningKey::Field => with(turn, "reasoning", reasoning),
            ReasoningKey::Part => {
                // A template that knows nothing of parts writes the note down with all the rest.
                let mut parts = vec![object([
                    ("type", "thinking".into()),
                    ("thinking", reasoning.into()),
                    ("note", self.words.note.as_str().into()),
                ])];
                parts.extend(
                    content.map(|text| object([("type", "text".into()), ("text", text.into())])),
                );
                with(turn, "content", parts)
            }
        }
    }

    fn call(&self, called: &Called, index: usize) -> Value {
        let arguments = Value::from(called.arguments.clone());
        let arguments = match self.manner.arguments_as_text {
            true => json::write(&arguments).into(),
            false => arguments,
        };
        let id = self.manner.ids.id(&called.name, index);
        call(&id, &called.name, arguments)
    }
}

/// The manners to be tried, the most common first. What is not asked for stays as it was found.
fn manners(said: &Said, found: Manner) -> Vec<Manner> {
    let reasoning = match said.reasoning {
        Some(_) => vec![ReasoningKey::Field, ReasoningKey::Part],
        None => vec![found.reasoning],
    };
    let bare = match said.content {
        Some(_) => vec![found.bare],
        None => vec![Bare::Empty, Bare::Null, Bare::Absent],
    };
    let (ids, texts, answers) = match said.calls.is_empty() {
        true => (
            vec![found.ids],
            vec![found.arguments_as_text],
            vec![found.answered],
        ),
        false => (
            vec![Ids::Nine, Ids::Prefixed, Ids::Named],
            vec![false, true],
            vec![false, true],
        ),
    };
    let mut manners = Vec::new();
    for &answered in &answers {
        for &ids in &ids {
            for &arguments_as_text in &texts {
                for &bare in &bare {
                    manners.extend(reasoning.iter().map(|&reasoning| Manner {
                        bare,
                        arguments_as_text,
                        ids,
                        answered,
                        reasoning,
                    }));
                }
            }
        }
    }
    manners
}
