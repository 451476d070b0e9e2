//! Conversations to be rendered: who speaks, and with which words.

use crate::analysis::input_form::{EmptyContent, IdShape};
use crate::analysis::probe::{call, message, result, with};
use crate::chat_template::REASONING_KEYS;
use crate::json;
use crate::value::{Object, Value, object};

/// A conversation.
#[derive(Debug, Clone, Default)]
pub(super) struct Talk {
    pub(super) messages: Vec<Value>,
    pub(super) tools: Vec<Value>,
    pub(super) variables: Object,
    /// Whether the assistant is to speak next.
    pub(super) prompt: bool,
    /// The words in it.
    pub(super) words: Vec<Word>,
}

/// A word of a conversation. It occurs nowhere else.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) kind: WordKind,
    /// The number of the message that it stands in.
    pub(super) message: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordKind {
    System,
    Question,
    Answer,
    Thought,
    /// The name of the tool that is called.
    Name,
    /// The value of an argument.
    Value,
    Id,
    Result,
}

impl Talk {
    pub(super) fn prompt(mut self) -> Talk {
        self.prompt = true;
        self
    }

    pub(super) fn with_variable(mut self, name: &str, value: impl Into<Value>) -> Talk {
        self.variables.insert(name, value);
        self
    }

    /// The conversation without its last message.
    pub(super) fn before_last(&self) -> Talk {
        let mut talk = self.clone();
        talk.messages.pop();
        let count = talk.messages.len();
        talk.words.retain(|word| word.message < count);
        talk
    }

    /// The conversation with one of its messages changed.
    pub(super) fn changed(mut self, number: usize, change: impl FnOnce(Value) -> Value) -> Talk {
        if let Some(message) = self.messages.get_mut(number) {
            *message = change(std::mem::take(message));
        }
        self
    }

    /// The words of a kind.
    pub(super) fn words_of(&self, kind: WordKind) -> impl Iterator<Item = &Word> {
        self.words.iter().filter(move |word| word.kind == kind)
    }
}

/// In which form a template takes calls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Form {
    pub(super) ids: IdShape,
    pub(super) arguments_as_text: bool,
    pub(super) empty_content: EmptyContent,
}

impl Form {
    /// The one in which most are asked.
    pub(super) const COMMON: Form = Form {
        ids: IdShape::Nine,
        arguments_as_text: false,
        empty_content: EmptyContent::EmptyText,
    };

    /// All of them, the most common first.
    pub(super) fn all() -> impl Iterator<Item = Form> {
        let contents = [
            EmptyContent::EmptyText,
            EmptyContent::Null,
            EmptyContent::Absent,
        ];
        let shapes = [IdShape::Nine, IdShape::Prefixed, IdShape::Named];
        contents.into_iter().flat_map(move |empty_content| {
            shapes.into_iter().flat_map(move |ids| {
                [false, true].map(|arguments_as_text| Form {
                    ids,
                    arguments_as_text,
                    empty_content,
                })
            })
        })
    }
}

/// Makes conversations.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    /// What each word ends with, so that none stands in the template.
    suffix: String,
    pub(super) form: Form,
}

impl Writer {
    pub(super) fn new(jinja: &str) -> Writer {
        const STEMS: [&str; 10] = [
            "Instruction",
            "Question",
            "Answer",
            "Thought",
            "lookup",
            "Value",
            "Result",
            "key",
            "Description",
            "Meaning",
        ];
        let mut suffix = String::new();
        while STEMS
            .iter()
            .any(|stem| (1..9).any(|n| jinja.contains(&format!("{stem}{n}{suffix}"))))
        {
            suffix.push('z');
        }
        Writer {
            suffix,
            form: Form::COMMON,
        }
    }

    pub(super) fn word(&self, stem: &str, number: usize) -> String {
        format!("{stem}{number}{}", self.suffix)
    }

    pub(super) fn id(&self, number: usize) -> String {
        self.form.ids.id(&self.word("lookup", number), number)
    }

    /// A tool, which takes a text.
    pub(super) fn tool(&self, number: usize) -> Value {
        self.described_tool(number, "")
    }

    /// The same with descriptions that end with some signs.
    pub(super) fn described_tool(&self, number: usize, signs: &str) -> Value {
        let described = |stem: &str| format!("{}{signs}", self.word(stem, number));
        let meaning = object! {"type": "string", "description": described("Meaning")};
        let key = self.word("key", number);
        let properties = Object::from_iter([(key.as_str(), meaning)]);
        let parameters = object! {
            "type": "object",
            "properties": properties,
            "required": Value::from_iter([key.as_str()]),
        };
        let function = object! {
            "name": self.word("lookup", number),
            "description": described("Description"),
            "parameters": parameters,
        };
        object! {"type": "function", "function": function}.into()
    }

    /// The arguments of a call in their form.
    pub(super) fn arguments(&self, arguments: Object) -> Value {
        match self.form.arguments_as_text {
            true => json::write_styled(&arguments.into(), &json::Style::PYTHON.ensure_ascii(false))
                .into(),
            false => arguments.into(),
        }
    }

    /// A call of a tool with such arguments.
    pub(super) fn call(&self, number: usize, arguments: Value) -> Value {
        call(&self.id(number), &self.word("lookup", number), arguments)
    }

    fn named_call(&self, number: usize) -> Value {
        let (key, value) = (self.word("key", number), self.word("Value", number));
        let arguments = Object::from_iter([(key.as_str(), value.as_str())]);
        self.call(number, self.arguments(arguments))
    }

    /// A conversation of these messages, each a letter: `s` for a system's, `u` for a user's, `o` for what tools
    /// have answered to all calls; and of the assistant `t` for text, `r` for a thought and text, `c` for a call,
    /// `k` for text and a call, `q` for a thought and a call, `b` for all three, `p` for two calls. Tools are
    /// offered where any is called.
    pub(super) fn talk(&self, shape: &str) -> Talk {
        let mut talk = Talk::default();
        let mut counts = [0usize; 5];
        let mut open = 1..1;
        for (number, letter) in shape.chars().enumerate() {
            let words = &mut talk.words;
            let mut note = |kind: WordKind, text: &str| {
                words.push(Word {
                    text: text.to_owned(),
                    kind,
                    message: number,
                });
            };
            let mut say = |kind: WordKind, stem: &str, count: usize| {
                let text = self.word(stem, count);
                note(kind, &text);
                text
            };
            let mut next = |index: usize| {
                counts[index] += 1;
                counts[index]
            };
            match letter {
                's' => {
                    let text = say(WordKind::System, "Instruction", next(0));
                    talk.messages.push(message("system", &text));
                }
                'u' => {
                    let text = say(WordKind::Question, "Question", next(1));
                    talk.messages.push(message("user", &text));
                }
                'o' => {
                    for call in open.clone() {
                        let text = say(WordKind::Result, "Result", call);
                        let answer = result(&self.id(call), &self.word("lookup", call), &text);
                        talk.messages.push(answer);
                    }
                }
                letter => {
                    let content = "trkb"
                        .contains(letter)
                        .then(|| say(WordKind::Answer, "Answer", next(2)));
                    let thought = "rqb"
                        .contains(letter)
                        .then(|| say(WordKind::Thought, "Thought", next(3)));
                    let count = match letter {
                        'c' | 'k' | 'q' | 'b' => 1,
                        'p' => 2,
                        _ => 0,
                    };
                    open = open.end..open.end + count;
                    for call in open.clone() {
                        say(WordKind::Name, "lookup", call);
                        say(WordKind::Value, "Value", call);
                    }
                    for call in open.clone() {
                        note(WordKind::Id, &self.id(call));
                    }
                    let calls = open.clone().map(|call| self.named_call(call));
                    let said = self.turn(content.as_deref(), thought.as_deref(), calls.collect());
                    talk.messages.push(said);
                }
            }
        }
        let offered = (1..open.end).map(|number| self.tool(number));
        talk.tools = offered.collect();
        talk
    }

    /// A message of the assistant.
    pub(super) fn turn(
        &self,
        content: Option<&str>,
        thought: Option<&str>,
        calls: Vec<Value>,
    ) -> Value {
        let mut turn = Value::from(object! {"role": "assistant"});
        let content = match (content, self.form.empty_content) {
            (Some(content), _) => Some(content.into()),
            (None, EmptyContent::EmptyText) => Some("".into()),
            (None, EmptyContent::Null) => Some(Value::Null),
            (None, EmptyContent::Absent) => None,
        };
        if let Some(content) = content {
            turn = with(turn, "content", content);
        }
        if let Some(thought) = thought {
            turn = with(turn, REASONING_KEYS[0], thought);
        }
        match calls.is_empty() {
            true => turn,
            false => with(turn, "tool_calls", calls),
        }
    }
}
