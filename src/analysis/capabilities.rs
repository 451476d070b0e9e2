//! What a chat template renders, refuses, or silently drops.

use crate::chat_template::{ChatTemplate, RenderError, RenderInput};
use crate::json;
use crate::value::{Object, Value};

use super::findings::with_tokens;
use super::probe::{Probe, Prober, call, message, object, result, tool, with};
use super::variables::{self, Variable};

/// What is asked of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Topic {
    /// A message of the system before the first user's.
    SystemMessage,
    /// The tools that are offered.
    Tools,
    /// Calls of tools in past turns of the assistant.
    ToolCalls,
    /// Several calls in one turn.
    ParallelCalls,
    /// A text beside calls.
    ContentBesideCalls,
    /// What tools have answered.
    ToolResults,
    /// The ids of calls.
    CallIds,
    /// The arguments of a call given as an object.
    ArgumentsAsObject,
    /// The arguments of a call given as a string of JSON.
    ArgumentsAsText,
    /// Reasoning in the turn that comes last.
    ReasoningInLastTurn,
    /// Reasoning in a turn that is followed by another question.
    ReasoningInPastTurns,
    /// Reasoning in a turn that calls a tool.
    ReasoningBesideCalls,
    /// The content of a message given as a list of parts.
    ContentParts,
    /// Several messages of the user in a row.
    UserTurnsInARow,
}

impl Topic {
    /// A name for programs.
    pub fn key(self) -> &'static str {
        match self {
            Topic::SystemMessage => "system_message",
            Topic::Tools => "tools",
            Topic::ToolCalls => "tool_calls",
            Topic::ParallelCalls => "parallel_calls",
            Topic::ContentBesideCalls => "content_beside_calls",
            Topic::ToolResults => "tool_results",
            Topic::CallIds => "call_ids",
            Topic::ArgumentsAsObject => "arguments_as_object",
            Topic::ArgumentsAsText => "arguments_as_text",
            Topic::ReasoningInLastTurn => "reasoning_in_last_turn",
            Topic::ReasoningInPastTurns => "reasoning_in_past_turns",
            Topic::ReasoningBesideCalls => "reasoning_beside_calls",
            Topic::ContentParts => "content_parts",
            Topic::UserTurnsInARow => "user_turns_in_a_row",
        }
    }
}

/// What a template does with something.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It comes out.
    Rendered,
    /// The template renders, but without it.
    Dropped,
    /// The template does not render with it, and says why.
    Refused(String),
}

impl Outcome {
    /// A name for programs.
    pub fn key(&self) -> &'static str {
        match self {
            Outcome::Rendered => "rendered",
            Outcome::Dropped => "dropped",
            Outcome::Refused(_) => "refused",
        }
    }
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// What was asked.
    pub topic: Topic,
    /// What the template does with it.
    pub outcome: Outcome,
    /// What else there is to say, such as where it comes out.
    pub note: Option<String>,
}

/// Whether a prompt begins the model's thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Thinking {
    /// The model has to begin it, if it thinks.
    LeftToTheModel,
    /// The prompt opens it: the output begins amid the thinking.
    Opened,
    /// The prompt opens it and closes it again: the model is not to think.
    Closed,
}

impl Thinking {
    /// A name for programs.
    pub fn key(self) -> &'static str {
        match self {
            Thinking::LeftToTheModel => "left to the model",
            Thinking::Opened => "opened",
            Thinking::Closed => "opened and closed",
        }
    }
}

/// What a prompt writes of the assistant's turn.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GenerationPrompt {
    /// What `add_generation_prompt` adds.
    pub text: String,
    /// What it does about thinking; `None` if the template renders no reasoning to tell by.
    pub thinking: Option<Thinking>,
}

/// What a chat template can do, found by rendering probes.
///
/// ```
/// use unjinja::{Capabilities, ChatTemplate, Outcome, RenderInput, Topic};
///
/// let template = ChatTemplate::from_jinja(
///     "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system!') }}\
///      {% endif %}{{ m.role }}: {{ m.content }}\n{% endfor %}\
///      {% if add_generation_prompt %}assistant:{% endif %}",
/// );
/// let can = Capabilities::of(&template, &RenderInput::default())?;
/// assert_eq!(can.outcome(Topic::UserTurnsInARow), Some(&Outcome::Rendered));
/// assert_eq!(can.outcome(Topic::Tools), Some(&Outcome::Dropped));
/// assert!(matches!(can.outcome(Topic::SystemMessage), Some(Outcome::Refused(_))));
/// assert_eq!(can.generation_prompt.map(|prompt| prompt.text).as_deref(), Some("assistant:"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// The answers, in the order of [`Topic`].
    pub answers: Vec<Answer>,
    /// The variables that the template reads beside the conversation.
    pub variables: Vec<Variable>,
    /// Whether it has `{% generation %}`, which tells what of a conversation the model wrote.
    pub marks_generation: bool,
    /// What a prompt writes of the assistant's turn; `None` if no prompt can be rendered.
    pub generation_prompt: Option<GenerationPrompt>,
}

impl Capabilities {
    /// Asks a template. `base` holds what all renderings have in common: tokens, the time, and
    /// variables; its messages and tools are not used.
    ///
    /// # Errors
    ///
    /// If the template is not valid, or does not even render a question of the user.
    pub fn of(template: &ChatTemplate, base: &RenderInput) -> Result<Capabilities, RenderError> {
        let prepared = template.prepare();
        let base = with_tokens(template, base);
        let mut prober = Prober::new(template, prepared.renderer()?, base);
        prober.try_question()?;
        Ok(Capabilities {
            answers: Asker { prober: &prober }.ask_all(),
            variables: variables::find(&prober, prepared.variables()),
            marks_generation: prepared.marks_generation(),
            generation_prompt: generation_prompt(&prober),
        })
    }

    /// What the template does with something.
    pub fn outcome(&self, topic: Topic) -> Option<&Outcome> {
        let answer = self.answers.iter().find(|answer| answer.topic == topic)?;
        Some(&answer.outcome)
    }

    /// All of it for programs.
    pub fn to_value(&self) -> Value {
        let mut answers = Object::new();
        for answer in &self.answers {
            let mut told = Object::new();
            told.insert("outcome", answer.outcome.key());
            if let Outcome::Refused(why) = &answer.outcome {
                told.insert("error", why.as_str());
            }
            if let Some(note) = &answer.note {
                told.insert("note", note.as_str());
            }
            answers.insert(answer.topic.key(), told);
        }
        let mut variables = Object::new();
        for variable in &self.variables {
            let told = variable.switch.as_ref().map_or(Value::Null, |switch| {
                object([
                    ("on", switch.on.as_str().into()),
                    ("off", switch.off.as_str().into()),
                    ("absent", switch.absent.as_str().into()),
                ])
            });
            variables.insert(variable.name.as_str(), told);
        }
        let prompt = self.generation_prompt.as_ref().map(|prompt| {
            let thinking = prompt.thinking.map_or(Value::Null, |t| t.key().into());
            object([
                ("text", prompt.text.as_str().into()),
                ("thinking", thinking),
            ])
        });
        object([
            ("capabilities", answers.into()),
            ("variables", variables.into()),
            ("marks_generation", self.marks_generation.into()),
            ("generation_prompt", prompt.unwrap_or_default()),
        ])
    }
}

/// Several ways to render a probe, of which the best counts: templates disagree on what they take.
struct Asker<'p, 't> {
    prober: &'p Prober<'t>,
}

/// Ids of calls as various models have them; some templates insist on one shape.
const ID_SHAPES: [fn(&str) -> String; 2] = [
    |word| format!("call_{word}"),
    // Nine letters and digits.
    |word| format!("{word:a<9}").chars().take(9).collect(),
];

impl Asker<'_, '_> {
    fn ask_all(&self) -> Vec<Answer> {
        vec![
            self.system_message(),
            self.tools(),
            self.tool_calls(),
            self.parallel_calls(),
            self.content_beside_calls(),
            self.tool_results(),
            self.call_ids(),
            self.arguments(Topic::ArgumentsAsObject, |object| object),
            self.arguments(Topic::ArgumentsAsText, |object| json::write(&object).into()),
            self.reasoning(Topic::ReasoningInLastTurn),
            self.reasoning(Topic::ReasoningInPastTurns),
            self.reasoning(Topic::ReasoningBesideCalls),
            self.content_parts(),
            self.user_turns_in_a_row(),
        ]
    }

    /// Renders the probes one after the other until in one of them all words come out.
    fn best(&self, probes: impl IntoIterator<Item = Probe>, words: &[&str]) -> (Outcome, String) {
        let mut best = (Outcome::Dropped, String::new());
        let mut rendered = false;
        for probe in probes {
            match self.prober.render(&probe) {
                Ok(text) if words.iter().all(|word| text.contains(word)) => {
                    return (Outcome::Rendered, text);
                }
                Ok(text) => {
                    best = (Outcome::Dropped, text);
                    rendered = true;
                }
                Err(error) if !rendered => {
                    best = (Outcome::Refused(error.message().to_owned()), String::new());
                }
                Err(_) => {}
            }
        }
        best
    }

    fn answer(&self, topic: Topic, probes: Vec<Probe>, words: &[&str]) -> Answer {
        Answer {
            topic,
            outcome: self.best(probes, words).0,
            note: None,
        }
    }

    fn word(&self, meaning: &str) -> String {
        self.prober.word(meaning)
    }

    fn question(&self) -> Value {
        message("user", &self.word("question"))
    }

    fn system_message(&self) -> Answer {
        let (word, asked) = (self.word("system"), self.word("asked"));
        let user = message("user", &asked);
        let probe = Probe::of([message("system", &word), user.clone()]).prompt();
        let (outcome, text) = self.best([probe], &[&word]);
        let alone = self.prober.render(&Probe::of([user]).prompt());
        let note = match (&outcome, alone) {
            (Outcome::Rendered, Ok(alone)) => placement(&text, &alone, &word, &asked),
            _ => None,
        };
        Answer {
            topic: Topic::SystemMessage,
            outcome,
            note: note.map(str::to_owned),
        }
    }

    fn tools(&self) -> Answer {
        let (name, about) = (self.word("tool"), self.word("about"));
        let offered = tool(&name, &about, &self.word("parameter"));
        let probe = Probe::of([self.question()]).tools([offered]).prompt();
        self.answer(Topic::Tools, vec![probe], &[&name, &about])
    }

    /// Conversations with calls: for each shape of ids, with the answer of the tool and without.
    fn with_calls(
        &self,
        names: &[&str],
        turn: impl Fn(Vec<Value>) -> Value,
        arguments: impl Fn(Value) -> Value,
    ) -> Vec<Probe> {
        let mut probes = Vec::new();
        for shape in ID_SHAPES {
            let id = |name: &str| shape(&format!("{name}id"));
            let calls = names.iter().map(|name| {
                let given = object([("key", format!("{name}value").into())]);
                call(&id(name), name, arguments(given))
            });
            let asked = [self.question(), turn(calls.collect())];
            let answers = names.iter().map(|name| result(&id(name), name, "done"));
            let tools = names.iter().map(|name| tool(name, "A tool", "key"));
            let tools: Vec<Value> = tools.collect();
            let answered = Probe::of(asked.clone().into_iter().chain(answers));
            probes.push(answered.tools(tools.clone()).prompt());
            probes.push(Probe::of(asked).tools(tools));
        }
        probes
    }

    fn tool_calls(&self) -> Answer {
        let name = self.word("tool");
        let turn = |calls| with(message("assistant", ""), "tool_calls", calls);
        let mut probes = self.with_calls(&[&name], turn, |object| object);
        probes.extend(self.with_calls(&[&name], turn, |object| json::write(&object).into()));
        self.answer(Topic::ToolCalls, probes, &[&format!("{name}value")])
    }

    fn parallel_calls(&self) -> Answer {
        let (first, second) = (self.word("first"), self.word("second"));
        let turn = |calls| with(message("assistant", ""), "tool_calls", calls);
        let names = [first.as_str(), &second];
        let mut probes = self.with_calls(&names, turn, |object| object);
        probes.extend(self.with_calls(&names, turn, |object| json::write(&object).into()));
        let values = [format!("{first}value"), format!("{second}value")];
        self.answer(Topic::ParallelCalls, probes, &[&values[0], &values[1]])
    }

    fn content_beside_calls(&self) -> Answer {
        let (name, content) = (self.word("tool"), self.word("content"));
        let turn = |calls| with(message("assistant", &content), "tool_calls", calls);
        let mut probes = self.with_calls(&[&name], turn, |object| object);
        probes.extend(self.with_calls(&[&name], turn, |object| json::write(&object).into()));
        let value = format!("{name}value");
        self.answer(Topic::ContentBesideCalls, probes, &[&content, &value])
    }

    fn tool_results(&self) -> Answer {
        let (name, answer) = (self.word("tool"), self.word("answer"));
        let probes = ID_SHAPES.map(|shape| {
            let id = shape(&name);
            let calls = vec![call(&id, &name, object([("key", "value".into())]))];
            let turn = with(message("assistant", ""), "tool_calls", calls);
            Probe::of([self.question(), turn, result(&id, &name, &answer)])
                .tools([tool(&name, "A tool", "key")])
                .prompt()
        });
        self.answer(Topic::ToolResults, probes.into(), &[&answer])
    }

    fn call_ids(&self) -> Answer {
        let name = self.word("t");
        let turn = |calls| with(message("assistant", ""), "tool_calls", calls);
        let mut outcome = Outcome::Dropped;
        for (index, shape) in ID_SHAPES.into_iter().enumerate() {
            let id = shape(&format!("{name}id"));
            let probes = self.with_calls(&[&name], turn, |object| object);
            let of_shape = probes.into_iter().skip(2 * index).take(2);
            match self.best(of_shape, &[&id]).0 {
                Outcome::Rendered => {
                    outcome = Outcome::Rendered;
                    break;
                }
                Outcome::Dropped => {}
                refused if index == 0 => outcome = refused,
                _ => {}
            }
        }
        Answer {
            topic: Topic::CallIds,
            outcome,
            note: None,
        }
    }

    fn arguments(&self, topic: Topic, form: impl Fn(Value) -> Value) -> Answer {
        let name = self.word("tool");
        let turn = |calls| with(message("assistant", ""), "tool_calls", calls);
        let probes = self.with_calls(&[&name], turn, form);
        let value = format!("{name}value");
        let (outcome, text) = self.best(probes, &[&value]);
        let escaped = outcome == Outcome::Rendered && text.contains("\\\"key\\\"");
        Answer {
            topic,
            outcome,
            note: escaped.then(|| "quoted a second time, as a string within JSON".to_owned()),
        }
    }

    fn reasoning(&self, topic: Topic) -> Answer {
        let word = self.word("thought");
        let keys: Vec<&str> = REASONING_KEYS
            .into_iter()
            .filter(|key| {
                let probes = self.with_reasoning(topic, key, &word);
                let probes = probes.into_iter().map(Probe::without_aliases);
                let (outcome, text) = self.best(probes, &[&word]);
                outcome == Outcome::Rendered && !prints_parts(&text, "thinking")
            })
            .collect();
        let probes = self.with_reasoning(topic, REASONING_KEYS[0], &word);
        let (mut outcome, _) = self.best(probes, &[&word]);
        if !keys.is_empty() {
            outcome = Outcome::Rendered;
        }
        let note = (!keys.is_empty()).then(|| format!("as `{}`", keys.join("`, `")));
        Answer {
            topic,
            outcome,
            note,
        }
    }

    fn with_reasoning(&self, topic: Topic, key: &str, word: &str) -> Vec<Probe> {
        let content = self.word("content");
        let turn = match key {
            "content: thinking" => with(
                message("assistant", ""),
                "content",
                vec![
                    object([("type", "thinking".into()), ("thinking", word.into())]),
                    object([("type", "text".into()), ("text", content.as_str().into())]),
                ],
            ),
            key => with(message("assistant", &content), key, word),
        };
        match topic {
            Topic::ReasoningInPastTurns => {
                let later = [self.question(), turn, self.question()];
                vec![Probe::of(later).prompt()]
            }
            Topic::ReasoningBesideCalls => {
                let name = self.word("tool");
                let calling = |calls: Vec<Value>| with(turn.clone(), "tool_calls", calls);
                self.with_calls(&[&name], calling, |object| object)
            }
            _ => vec![Probe::of([self.question(), turn])],
        }
    }

    fn content_parts(&self) -> Answer {
        let word = self.word("part");
        let part = object([("type", "text".into()), ("text", word.as_str().into())]);
        let user = with(message("user", ""), "content", vec![part]);
        let (outcome, text) = self.best([Probe::of([user]).prompt()], &[&word]);
        let printed = prints_parts(&text, "text");
        Answer {
            topic: Topic::ContentParts,
            note: (outcome == Outcome::Rendered && printed)
                .then(|| "the list is printed as it is, not its text".to_owned()),
            outcome,
        }
    }

    fn user_turns_in_a_row(&self) -> Answer {
        let (first, second) = (self.word("first"), self.word("second"));
        let turns = [message("user", &first), message("user", &second)];
        let probe = Probe::of(turns).prompt();
        self.answer(Topic::UserTurnsInARow, vec![probe], &[&first, &second])
    }
}

/// Where reasoning may stand in a message.
const REASONING_KEYS: [&str; 4] = [
    "reasoning_content",
    "thinking",
    "reasoning",
    "content: thinking",
];

/// Whether a list of parts is printed as it is: then its words come out, but nobody meant that.
fn prints_parts(text: &str, kind: &str) -> bool {
    let printed = [format!("'type': '{kind}'"), format!("\"type\": \"{kind}\"")];
    printed.iter().any(|printed| text.contains(printed))
}

/// Where the system's word comes out, compared to a rendering without it.
fn placement(text: &str, alone: &str, word: &str, asked: &str) -> Option<&'static str> {
    let system = text.find(word)?;
    let user = text.find(asked)?;
    if system > user {
        return Some("after the user's message");
    }
    let head = &alone[..alone.find(asked)?];
    let between = &text[system + word.len()..user];
    // If what stands right before the user's message stands there without a system, too, the
    // user's turn begins after the system's message.
    let shared = common_suffix(head, between);
    Some(match between[between.len() - shared..].trim().is_empty() {
        true => "within the user's turn",
        false => "before the user's turn",
    })
}

fn common_suffix(a: &str, b: &str) -> usize {
    let pairs = a.chars().rev().zip(b.chars().rev());
    pairs
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum()
}

fn generation_prompt(prober: &Prober<'_>) -> Option<GenerationPrompt> {
    let asked = message("user", &prober.word("asked"));
    let open = prober.render(&Probe::of([asked.clone()])).ok()?;
    let prompt = prober.render(&Probe::of([asked.clone()]).prompt()).ok()?;
    let common = common_prefix(&open, &prompt);
    Some(GenerationPrompt {
        text: prompt[common..].to_owned(),
        thinking: thinking(prober, &asked, &prompt),
    })
}

fn common_prefix(a: &str, b: &str) -> usize {
    let mut length = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    while !b.is_char_boundary(length) {
        length -= 1;
    }
    length
}

/// What a prompt does about thinking, told by what stands before a thought and after it in a turn
/// that is written out.
fn thinking(prober: &Prober<'_>, asked: &Value, prompt: &str) -> Option<Thinking> {
    let (thought, content) = (prober.word("thought"), prober.word("content"));
    let plain = message("assistant", &content);
    let thinking = with(plain, REASONING_KEYS[0], thought.as_str());
    let written = prober.render(&Probe::of([asked.clone(), thinking])).ok()?;
    let begins = written.find(&thought)?;
    let ends = begins + thought.len();
    let closing = written[ends..]
        .find(&content)
        .map(|at| &written[ends..ends + at])?;
    let before = &written[..begins];
    let shared = common_prefix(before, prompt);
    let (opening, extra) = (before[shared..].trim(), prompt[shared..].trim());
    if opening.is_empty() {
        // All that stands before the thought stands in the prompt already.
        return Some(match extra.is_empty() || !extra.contains(closing.trim()) {
            true => Thinking::Opened,
            false => Thinking::Closed,
        });
    }
    Some(Thinking::LeftToTheModel)
}
