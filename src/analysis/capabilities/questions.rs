//! The questions that a chat template is asked: each a conversation, and the words that have to
//! come out of it.

use std::slice::from_ref;

use crate::analysis::probe::{Probe, Prober, Tools, call, in_parts, message, result, tool, with};
use crate::chat_template::{OTHER_REASONING_KEYS, REASONING_KEYS};
use crate::json;
use crate::markers::same_end;
use crate::value::{Value, object};

use super::answer::{Answer, Outcome, Topic};

/// The questions that a template is asked. Each is asked in several ways, of which the best counts:
/// templates disagree on what they take.
pub(super) struct Questions<'p, 't> {
    prober: &'p Prober<'t>,
}

/// The shape of ids of calls as various models have them; some templates insist on one shape.
const ID_SHAPES: [fn(&str) -> String; 2] = [
    |word| format!("call_{word}"),
    // Nine letters and digits.
    |word| format!("{word:a<9}").chars().take(9).collect(),
];

/// How arguments are given.
type ArgumentForm = fn(Value) -> Value;

const AS_OBJECT: ArgumentForm = |object| object;
const AS_TEXT: ArgumentForm = |object| json::write(&object).into();
const ARGUMENT_FORMS: [ArgumentForm; 2] = [AS_OBJECT, AS_TEXT];

impl<'p, 't> Questions<'p, 't> {
    pub(super) fn new(prober: &'p Prober<'t>) -> Self {
        Questions { prober }
    }

    pub(super) fn ask_all(&self) -> Vec<Answer> {
        vec![
            self.system_message(),
            self.tools(),
            self.calls(Topic::ToolCalls, &["tool"], None),
            self.calls(Topic::ParallelCalls, &["first", "second"], None),
            self.calls(Topic::ContentBesideCalls, &["tool"], Some("content")),
            self.tool_results(),
            self.call_ids(),
            self.arguments(Topic::ArgumentsAsObject, AS_OBJECT),
            self.arguments(Topic::ArgumentsAsText, AS_TEXT),
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
                // Ids of nine letters may be refused and longer ones not: what one way renders is not refused.
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
        // What stands before a question in any case shows where its turn begins.
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
        let probe = Probe::of([self.question()])
            .tools(Tools::of([offered]))
            .prompt();
        // A template that lists names alone does not show tools to the model.
        self.answer(Topic::Tools, vec![probe], &[&name, &about])
    }

    /// Conversations with calls in a turn: for each form of arguments and each shape of ids, with the answer of the
    /// tool and without.
    fn with_calls(&self, names: &[String], turn: &Value, forms: &[ArgumentForm]) -> Vec<Probe> {
        let mut probes = Vec::new();
        for form in forms {
            for shape in ID_SHAPES {
                let id = |name: &str| shape(&format!("{name}id"));
                let calls = names.iter().map(|name| {
                    let given = object! {"key": format!("{name}value")};
                    call(&id(name), name, form(given.into()))
                });
                let calling = with(turn.clone(), "tool_calls", calls.collect::<Value>());
                let asked = [self.question(), calling];
                let answers = names.iter().map(|name| result(&id(name), name, "done"));
                let tools = names.iter().map(|name| tool(name, "A tool", "key"));
                let tools = Tools::of(tools);
                let answered = Probe::of(asked.clone().into_iter().chain(answers));
                // Some want each call to be answered, some a turn with calls to be the last.
                probes.push(answered.tools(tools.clone()).prompt());
                probes.push(Probe::of(asked).tools(tools));
            }
        }
        probes
    }

    /// Asks for calls with arguments in whichever form; what the words are to mean is given.
    fn calls(&self, topic: Topic, names: &[&str], content: Option<&str>) -> Answer {
        let names: Vec<String> = names.iter().map(|name| self.word(name)).collect();
        let content = content.map_or_else(String::new, |content| self.word(content));
        let probes = self.with_calls(&names, &message("assistant", &content), &ARGUMENT_FORMS);
        let values = names.iter().map(|name| format!("{name}value"));
        let words: Vec<String> = values.chain([content]).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.answer(topic, probes, &words)
    }

    fn tool_results(&self) -> Answer {
        let (name, answer) = (self.word("tool"), self.word("answer"));
        let probes = ID_SHAPES.map(|shape| {
            let id = shape(&name);
            let calls = vec![call(&id, &name, object! {"key": "value"}.into())];
            let turn = with(message("assistant", ""), "tool_calls", calls);
            Probe::of([self.question(), turn, result(&id, &name, &answer)])
                .tools(Tools::of([tool(&name, "A tool", "key")]))
                .prompt()
        });
        self.answer(Topic::ToolResults, probes.into(), &[&answer])
    }

    fn call_ids(&self) -> Answer {
        let name = self.word("t");
        let turn = message("assistant", "");
        let mut outcome = Outcome::Dropped;
        for (index, shape) in ID_SHAPES.into_iter().enumerate() {
            let id = shape(&format!("{name}id"));
            let probes = self.with_calls(from_ref(&name), &turn, &[AS_OBJECT]);
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

    fn arguments(&self, topic: Topic, form: ArgumentForm) -> Answer {
        let name = self.word("tool");
        let probes = self.with_calls(from_ref(&name), &message("assistant", ""), &[form]);
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
        let places: Vec<&str> = ReasoningPlace::all()
            .filter(|place| {
                let probes = self.with_reasoning(topic, *place, &word);
                // Otherwise each name would be rendered under another one.
                let probes = probes.into_iter().map(Probe::without_aliases);
                let (outcome, text) = self.best(probes, &[&word]);
                // `[{'type': 'thinking', ...}]` has the word in it, and no template meant that.
                outcome == Outcome::Rendered && !prints_parts(&text, "thinking")
            })
            .map(ReasoningPlace::name)
            .collect();
        // As people ask: here the renderer adds the other names.
        let most_common = ReasoningPlace::Key(REASONING_KEYS[0]);
        let probes = self.with_reasoning(topic, most_common, &word);
        let (mut outcome, _) = self.best(probes, &[&word]);
        if !places.is_empty() {
            outcome = Outcome::Rendered;
        }
        let note = (!places.is_empty()).then(|| format!("as `{}`", places.join("`, `")));
        Answer {
            topic,
            outcome,
            note,
        }
    }

    fn with_reasoning(&self, topic: Topic, place: ReasoningPlace, thought: &str) -> Vec<Probe> {
        let turn = place.message(thought, &self.word("content"));
        match topic {
            Topic::ReasoningInPastTurns => {
                // A thought is past as soon as another question follows.
                let later = [self.question(), turn, self.question()];
                vec![Probe::of(later).prompt()]
            }
            Topic::ReasoningBesideCalls => {
                let name = self.word("tool");
                self.with_calls(from_ref(&name), &turn, &[AS_OBJECT])
            }
            _ => vec![Probe::of([self.question(), turn])],
        }
    }

    fn content_parts(&self) -> Answer {
        let word = self.word("part");
        let user = in_parts(&message("user", &word));
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
#[derive(Clone, Copy)]
enum ReasoningPlace {
    /// Under a key of the message.
    Key(&'static str),
    /// In a part of the content.
    Part,
}

impl ReasoningPlace {
    fn all() -> impl Iterator<Item = ReasoningPlace> {
        let keys = REASONING_KEYS.into_iter().chain(OTHER_REASONING_KEYS);
        let keys = keys.map(ReasoningPlace::Key);
        keys.chain([ReasoningPlace::Part])
    }

    /// The place in words.
    fn name(self) -> &'static str {
        match self {
            ReasoningPlace::Key(key) => key,
            ReasoningPlace::Part => "content: thinking",
        }
    }

    /// A message with a thought there, and with content.
    fn message(self, thought: &str, content: &str) -> Value {
        match self {
            ReasoningPlace::Key(key) => with(message("assistant", content), key, thought),
            ReasoningPlace::Part => {
                let thinking = object! {"type": "thinking", "thinking": thought};
                let text = object! {"type": "text", "text": content};
                let parts = Value::from_iter([thinking, text]);
                with(message("assistant", ""), "content", parts)
            }
        }
    }
}

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
    let shared = same_end(head, between);
    Some(match between[between.len() - shared..].trim().is_empty() {
        true => "within the user's turn",
        false => "before the user's turn",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::capabilities::Capabilities;
    use crate::analysis::tests::template;
    use crate::chat_template::{ChatTemplate, RenderInput};

    #[test]
    fn lists_of_parts_that_are_printed_show_their_types() {
        for (text, expected) in [
            ("[{'type': 'text', 'text': 'Hi'}]", true),
            ("[{\"type\": \"text\", \"text\": \"Hi\"}]", true),
            ("[{'type': 'image'}]", false),
            ("Hi, text", false),
        ] {
            assert_eq!(prints_parts(text, "text"), expected, "{text}");
        }
    }

    #[test]
    fn a_system_s_message_stands_before_the_user_s_turn_or_in_it() {
        for (text, alone, expected) in [
            (
                "<system>S<user>U",
                "<user>U",
                Some("before the user's turn"),
            ),
            ("<user>S\n\nU", "<user>U", Some("within the user's turn")),
            ("<user>U\nS", "<user>U", Some("after the user's message")),
            // A line break before either begins no turn.
            ("Be: S\nU", "\nU", Some("within the user's turn")),
            ("<user>U", "<user>U", None),
        ] {
            assert_eq!(placement(text, alone, "S", "U"), expected, "{text}");
        }
    }

    fn asked(template: &ChatTemplate, topic: Topic) -> String {
        let can = Capabilities::of(template, &RenderInput::default());
        let can = can.expect("it renders a question");
        let answer = can.answers.iter().find(|answer| answer.topic == topic);
        let answer = answer.expect("all are asked");
        let outcome = match &answer.outcome {
            Outcome::Refused(why) => format!("refused: {why}"),
            outcome => outcome.key().to_owned(),
        };
        match &answer.note {
            Some(note) => format!("{outcome}, {note}"),
            None => outcome,
        }
    }

    #[test]
    fn what_comes_out_is_rendered_and_what_does_not_is_dropped_or_refused() {
        let calls = "{{ m.content }}{% for c in m.tool_calls %}";
        for (topic, assistant, expected) in [
            (Topic::ToolCalls, "{{ m.content }}", "dropped"),
            (
                Topic::ToolCalls,
                "X{{ c.function | tojson }}{% endfor %}",
                "rendered",
            ),
            // The name alone is no call.
            (
                Topic::ToolCalls,
                "X{{ c.function.name }}{% endfor %}",
                "dropped",
            ),
            (
                Topic::ToolCalls,
                "{{ raise_exception('no!') if m.tool_calls }}",
                "refused: no!",
            ),
            // What one shape of ids renders is not refused.
            (
                Topic::ToolCalls,
                "X{{ raise_exception('ids!') if c.id | length != 9 }}{{ c.function | tojson }}{% endfor %}",
                "rendered",
            ),
            (
                Topic::ToolCalls,
                "X{{ raise_exception('ids!') if c.id | length == 9 }}{% endfor %}",
                "dropped",
            ),
            (
                Topic::ParallelCalls,
                "X{{ c.function | tojson }}{% endfor %}",
                "rendered",
            ),
            (
                Topic::ParallelCalls,
                "{{ m.tool_calls[0].function | tojson if m.tool_calls }}",
                "dropped",
            ),
            (
                Topic::ContentBesideCalls,
                "X{{ c.function | tojson }}{% endfor %}",
                "rendered",
            ),
            (
                Topic::ContentBesideCalls,
                "{% if m.tool_calls %}{{ m.tool_calls | tojson }}{% else %}{{ m.content }}{% endif %}",
                "dropped",
            ),
            (Topic::CallIds, "X{{ c.id }}{% endfor %}", "rendered"),
            (
                Topic::CallIds,
                "X{{ c.function | tojson }}{% endfor %}",
                "dropped",
            ),
            (
                Topic::ArgumentsAsObject,
                "X{{ c.function.arguments + '' }}{% endfor %}",
                "refused: `+` can't take a mapping and a string",
            ),
            (
                Topic::ArgumentsAsText,
                "X{{ c.function.arguments + '' }}{% endfor %}",
                "rendered",
            ),
            (
                Topic::ArgumentsAsText,
                "X{{ c.function.arguments | tojson }}{% endfor %}",
                "rendered, quoted a second time, as a string within JSON",
            ),
            (
                Topic::ArgumentsAsObject,
                "X{{ c.function.arguments | tojson }}{% endfor %}",
                "rendered",
            ),
            (Topic::ReasoningInLastTurn, "{{ m.content }}", "dropped"),
            (
                Topic::ReasoningInLastTurn,
                "{{ m.thinking }}{{ m.content }}",
                "rendered, as `thinking`",
            ),
            // A thought is past as soon as another question follows.
            (
                Topic::ReasoningInPastTurns,
                "{{ m.reasoning_content if loop.last }}{{ m.content }}",
                "dropped",
            ),
            (
                Topic::ReasoningInPastTurns,
                "{{ m.reasoning_content }}{{ m.content }}",
                "rendered, as `reasoning_content`",
            ),
            (
                Topic::ReasoningBesideCalls,
                "{{ m.reasoning_content if not m.tool_calls }}{{ m.content }}",
                "dropped",
            ),
        ] {
            let found = asked(&template(&assistant.replace('X', calls)), topic);
            assert_eq!(found, expected, "{topic:?} {assistant}");
        }
    }

    #[test]
    fn what_stands_around_turns_is_asked_for_as_well() {
        for (topic, jinja, expected) in [
            (
                Topic::SystemMessage,
                "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}",
                "rendered, before the user's turn",
            ),
            (
                Topic::SystemMessage,
                "{% for m in messages if m.role != 'system' %}{{ m.content }}{% endfor %}",
                "dropped",
            ),
            (
                Topic::Tools,
                "{{ tools | tojson }}{{ messages[0].content }}",
                "rendered",
            ),
            // Names alone show no tools to the model.
            (
                Topic::Tools,
                "{% for t in tools or [] %}{{ t.function.name }}{% endfor %}{{ messages[0].content }}",
                "dropped",
            ),
            (
                Topic::ToolResults,
                "{% for m in messages %}{{ m.content }}{% endfor %}",
                "rendered",
            ),
            (
                Topic::ContentParts,
                "{% for m in messages %}{{ m.content }}{% endfor %}",
                "rendered, the list is printed as it is, not its text",
            ),
            (
                Topic::ContentParts,
                "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}\
                 {% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}{% endfor %}",
                "rendered",
            ),
            (
                Topic::UserTurnsInARow,
                "{{ messages[-1].content }}",
                "dropped",
            ),
            (
                Topic::UserTurnsInARow,
                "{% for m in messages %}{{ m.content }}{% endfor %}",
                "rendered",
            ),
        ] {
            let found = asked(&ChatTemplate::from_jinja(jinja), topic);
            assert_eq!(found, expected, "{topic:?} {jinja}");
        }
    }
}
