//! Asking for a turn of the assistant in every form that a template may want to be asked in.

use std::ops::Deref;

use jiff::civil::DateTime;

use crate::chat_template::{
    ChatTemplate, OTHER_REASONING_KEYS, PreparedTemplate, REASONING_KEYS, RenderError, RenderInput,
};
use crate::format::Unescaped;
use crate::json;
use crate::value::Value;

use super::assistant_turn::{AssistantTurn, ToolCall};
use super::assumed::{self, AssumedVariable};
use super::input_form::{EmptyContent, InputForm, ReasoningForm};
use super::probe::{Probe, Prober, Tools, message, result, tool, with};
use super::variables::{self, ThinkingSwitch};
use crate::markers::lexicon::Lexicon;
use crate::markers::{common_prefix, is_word, pieces};

/// How long a turn may be to be worth looking at, in bytes: those of probes are a few words, and few templates write more than a kilobyte
/// around them.
const MAX_TURN: usize = 1 << 12;

/// What comes before the assistant's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PrecedingMessages {
    /// A question.
    Question,
    /// A question, a call, and what the tool answered.
    AfterTool,
    /// A question, an answer, and another question.
    SecondQuestion,
}

impl PrecedingMessages {
    // What a template writes before a turn may hang on each: a system's text within the first question, a tool's
    // answer within a user's turn.
    pub(crate) const ALL: [PrecedingMessages; 3] = [
        PrecedingMessages::Question,
        PrecedingMessages::SecondQuestion,
        PrecedingMessages::AfterTool,
    ];
}

/// Which way the variables are set that switch thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThinkingMode {
    Unset,
    On,
    Off,
}

impl ThinkingMode {
    pub(crate) const ALL: [ThinkingMode; 3] =
        [ThinkingMode::Unset, ThinkingMode::On, ThinkingMode::Off];
}

/// What stands behind the last value of a call.
pub(super) struct AnsweredCall {
    /// Where nothing follows upon the call.
    pub(super) behind: String,
    /// What stands between that and a tool's answer.
    pub(super) header_of_answer: String,
}

/// The assistant's turn as a template writes it.
#[derive(Debug, Clone)]
pub(crate) struct RenderedTurn {
    text: String,
    /// Where what comes before the turn ends: the last word of the message before it.
    pub(crate) start: usize,
    /// Where the tool's answer begins, if one had to be given.
    end: usize,
}

impl RenderedTurn {
    /// The whole rendering, up to the tool's answer if one had to be given.
    pub(crate) fn text(&self) -> &str {
        &self.text[..self.end]
    }

    /// All that follows the message before the turn.
    pub(crate) fn tail(&self) -> &str {
        &self.text[self.start..self.end]
    }

    /// The turn without the message that follows it, which begins with a word.
    fn cut_before(mut self, word: &str) -> RenderedTurn {
        if let Some(end) = self.tail().find(word) {
            self.end = self.start + end;
        }
        self
    }
}

/// Renders turns of the assistant, and whatever else a [`Prober`] renders.
pub(crate) struct TurnProber<'t> {
    prober: Prober<'t>,
    /// The form in which the template takes messages of the assistant.
    pub(super) input_form: InputForm,
    /// The variables that switch thinking.
    pub(super) switches: Vec<ThinkingSwitch>,
    /// The unusual names under which the template may read reasoning.
    other_reasoning_keys: Vec<&'static str>,
    tools: Tools,
    /// The variables that nobody gave, and what they were taken to be.
    pub(super) assumed: Vec<AssumedVariable>,
    words: SurroundingWords,
    /// What the markers begin with that consist of several parts.
    lexicon: Lexicon,
}

/// The words of the messages around the turn.
struct SurroundingWords {
    first: String,
    answer: String,
    question: String,
    tool: String,
    value: String,
    result: String,
    /// The word of the message that follows the turn.
    done: String,
    note: String,
}

impl SurroundingWords {
    fn new(prober: &Prober<'_>) -> SurroundingWords {
        let word = |meaning| prober.word(meaning);
        SurroundingWords {
            first: word("first"),
            answer: word("answer"),
            question: word("question"),
            tool: word("tool"),
            value: word("value"),
            result: word("result"),
            done: word("done"),
            note: word("note"),
        }
    }
}

/// Assumes the variables that are needed for a question, for an answer, and for a call.
fn assume(prober: &mut Prober<'_>, names: &[String]) -> Vec<AssumedVariable> {
    let word = |meaning| prober.word(meaning);
    let (question, answer, name) = (word("question"), word("answer"), word("tool"));
    let tool_call = ToolCall::new(&name, []);
    let question = message("user", &question);
    let form = InputForm::default();
    let call = form.message(&AssistantTurn::calls([tool_call]), "");
    let answer = message("assistant", &answer);
    let offered = tool(&name, "A tool for a probe", "key");
    let probes = [
        // A branch that only answers or calls take may read a variable of its own.
        Probe::of([question.clone()]).prompt(),
        Probe::of([question.clone(), answer]),
        Probe::of([question, call]).tools(Tools::of([offered])),
    ];
    let mut assumed = Vec::new();
    for probe in probes {
        assumed.extend(assumed::assume(prober, names, |prober| {
            prober.render(&probe)
        }));
    }
    assumed
}

impl<'t> Deref for TurnProber<'t> {
    type Target = Prober<'t>;

    fn deref(&self) -> &Prober<'t> {
        &self.prober
    }
}

impl<'t> TurnProber<'t> {
    /// Finds out how the template is to be asked a question at all.
    pub(crate) fn new(
        template: &ChatTemplate,
        prepared: &'t PreparedTemplate,
        base: &RenderInput,
    ) -> Result<TurnProber<'t>, RenderError> {
        let mut prober = Prober::new(template, prepared.renderer()?, base);
        let names = prepared.variables().iter().map(|(name, _)| name.clone());
        let names: Vec<String> = names.collect();
        let assumed = assume(&mut prober, &names);
        prober.try_question()?;
        let asked = Probe::of([message("user", &prober.word("asked"))]).prompt();
        let changes_prompt = |name: &str| {
            let with = |value: bool| prober.render(&asked.clone().variable(name, value)).ok();
            matches!((with(true), with(false)), (Some(on), Some(off)) if on != off)
        };
        let switches = variables::find(&prober, prepared.variables())
            .into_iter()
            // Some don't show at the end of a prompt, but in its instructions.
            .filter(|v| {
                // Any variable may change instructions, such as `{% if be_brief %}`: the name has to say that it is
                // about thinking.
                let is_named = v.name.contains("think") && changes_prompt(&v.name);
                // `{{ budget }}` in the instructions changes them as well, and is no switch: it shows whatever it is
                // given.
                v.switch.is_some() || (is_named && !variables::is_printed(&prober, &v.name))
            })
            .map(
                |variable| match variables::shows_numbers(&prober, &variable.name) {
                    // Given as true, a budget would be written `True`.
                    true => ThinkingSwitch {
                        name: variable.name,
                        on: None,
                        off: 0.into(),
                    },
                    false => ThinkingSwitch {
                        name: variable.name,
                        on: Some(true.into()),
                        off: false.into(),
                    },
                },
            )
            .collect();
        let words = SurroundingWords::new(&prober);
        Ok(TurnProber {
            prober,
            input_form: InputForm::default(),
            switches,
            other_reasoning_keys: named_in(&template.jinja),
            tools: Tools::default(),
            assumed,
            words,
            lexicon: Lexicon::default(),
        })
    }

    /// The variables that switch thinking.
    pub(crate) fn switches(&self) -> &[ThinkingSwitch] {
        &self.switches
    }

    /// The tools that are offered.
    pub(super) fn tools(&self) -> &[Value] {
        self.tools.as_list()
    }

    /// Renders a whole conversation.
    pub(super) fn conversation(
        &self,
        messages: Vec<Value>,
        mode: ThinkingMode,
        is_prompt: bool,
    ) -> Result<String, RenderError> {
        let probe = self.probe(messages, mode);
        let probe = match is_prompt {
            true => probe.prompt(),
            false => probe,
        };
        self.render(&probe)
    }

    /// Renders a whole conversation without setting the variables that switch thinking.
    pub(super) fn plain(&self, messages: &[Value]) -> Option<String> {
        let text = self.conversation(messages.to_vec(), ThinkingMode::Unset, false);
        text.ok()
    }

    /// What is found out while the template is given a variable that it is not given otherwise.
    pub(crate) fn given<T>(
        &mut self,
        name: &str,
        value: impl Into<Value>,
        find: impl FnOnce(&Self) -> T,
    ) -> T {
        let before = self.prober.give(name, value);
        let found = find(self);
        match before {
            Some(value) => drop(self.prober.give(name, value)),
            None => self.prober.take_back(name),
        }
        found
    }

    /// What is found out while the template takes another time for the current one.
    pub(super) fn at<T>(&mut self, now: DateTime, find: impl FnOnce(&Self) -> T) -> T {
        let before = self.prober.set_now(Some(now));
        let found = find(self);
        self.prober.set_now(before);
        found
    }

    /// What is found out while these tools are offered and no others.
    pub(super) fn offering<T>(&mut self, tools: &[Value], find: impl FnOnce(&Self) -> T) -> T {
        let other = Tools::of(tools.iter().cloned());
        let before = std::mem::replace(&mut self.tools, other);
        let found = find(self);
        self.tools = before;
        found
    }

    /// Whether words of probes have got into a finding.
    pub(crate) fn contains_probe_words(&self, finding: &Value) -> bool {
        self.holds_words(&json::write(finding))
    }

    /// Learns from turns, and from the prompts for them, which markers consist of several parts. From
    /// now on these are [marked](Lexicon::mark) in all that is rendered.
    pub(super) fn learn_markers(&mut self, turns: &[AssistantTurn]) {
        let mut texts = Vec::new();
        for preceding in PrecedingMessages::ALL {
            for mode in ThinkingMode::ALL {
                let rendered = turns.iter().map(|turn| self.turn(preceding, turn, mode));
                // A marker of several parts may stand in prompts alone, such as the one with which they open a
                // thought.
                let prompt = self.prompt(preceding, mode);
                texts.extend(rendered.chain([prompt]).filter_map(Result::ok));
            }
        }
        let tails = texts.iter().map(RenderedTurn::tail);
        self.lexicon = Lexicon::learn(tails, self.stem());
    }

    /// A text with the markers of several parts that were learned [marked](Lexicon::mark).
    pub(super) fn marked(&self, text: &str) -> String {
        self.lexicon.mark(text)
    }

    /// Renders markers that consist of several parts as they are from now on; gives what was learned of them.
    pub(super) fn forget_markers(&mut self) -> Lexicon {
        std::mem::take(&mut self.lexicon)
    }

    /// Offers these tools from now on.
    pub(crate) fn offer(&mut self, tools: Vec<Value>) {
        self.tools = Tools::of(tools);
    }

    /// Looks for the input form in which all words of a turn come out, and keeps it. Gives the
    /// first refusal back if no form is rendered.
    pub(crate) fn find_input_form(
        &mut self,
        preceding: PrecedingMessages,
        assistant: &AssistantTurn,
        words: &[&str],
    ) -> Result<bool, RenderError> {
        let mut refusal = None;
        let mut rendered = false;
        for form in self
            .input_form
            .alternatives(assistant, &self.other_reasoning_keys)
        {
            let former = std::mem::replace(&mut self.input_form, form);
            // With thinking off or unset, a template may leave out the thought that is looked for.
            match self.turn(preceding, assistant, ThinkingMode::On) {
                Ok(turn) if self.holds(&turn, words) => {
                    self.prefer_arguments_as_text(preceding, assistant, turn.tail());
                    self.prefer_no_content(preceding, assistant, turn.tail(), words);
                    return Ok(true);
                }
                // What is rendered without its words is dropped; only what is never rendered is refused.
                Ok(_) => rendered = true,
                Err(error) => {
                    refusal.get_or_insert(error);
                }
            }
            self.input_form = former;
        }
        match refusal {
            Some(error) if !rendered => Err(error),
            _ => Ok(false),
        }
    }

    /// Gives arguments as a text of JSON where the template writes the same call then, and only the signs differ around
    /// and within the arguments: an object is printed as Python prints it, or makes the template escape its own signs
    /// (`{&#34;name&#34;`). No model is trained to write either, but where all of a call is as Python prints it.
    fn prefer_arguments_as_text(
        &mut self,
        preceding: PrecedingMessages,
        assistant: &AssistantTurn,
        with_object: &str,
    ) {
        if assistant.calls.is_empty() || self.input_form.arguments_as_text {
            return;
        }
        self.input_form.arguments_as_text = true;
        let with_text = self.turn(preceding, assistant, ThinkingMode::On);
        // `{&#34;k&#34;: ...}`, `{'k': ...}` and `{"k": ...}` say the same.
        let signs = |text: &str| Unescaped::of(text).text().replace('\'', "\"");
        // `{"name": "f", "arguments": {'k': 'v'}}` mixes them by accident; `{'name': 'f', 'arguments': {'k': 'v'}}`
        // is a format of its own.
        let mixes_quotes = |text: &str| text.contains('\'') && text.contains('"');
        let is_plainer = with_text.is_ok_and(|with_text| {
            let with_text = with_text.tail();
            let says_the_same = with_text != with_object && signs(with_text) == signs(with_object);
            says_the_same && (mixes_quotes(with_object) || !mixes_quotes(with_text))
        });
        self.input_form.arguments_as_text = is_plainer;
    }

    /// Gives a message no content rather than an empty one where the template writes markers around an empty text: a model
    /// without anything to say leaves them out. What opens calls has to be the same as beside a text.
    fn prefer_no_content(
        &mut self,
        preceding: PrecedingMessages,
        assistant: &AssistantTurn,
        with_empty: &str,
        words: &[&str],
    ) {
        if assistant.content.is_some() || self.input_form.empty_content != EmptyContent::EmptyText {
            return;
        }
        // A line break less is no reason to ask otherwise; markers are.
        let size = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
        self.input_form.empty_content = EmptyContent::Null;
        let with_none = self.turn(preceding, assistant, ThinkingMode::On).ok();
        // `<from>bot<to>all<say>` around no text is left out by models; but `<say></say><do>` may be what opens
        // calls, whether there is a text or not.
        let noted = assistant.clone().with_content(&self.words.note);
        let beside = self.turn(preceding, &noted, ThinkingMode::On).ok();
        let opener = |turn: &RenderedTurn| {
            let first = words
                .iter()
                .filter_map(|word| turn.tail().find(word))
                .min()?;
            let before = pieces(turn.tail()[..first].trim_end());
            Some(before.last().map(str::to_owned))
        };
        let opens_alike = |turn: &RenderedTurn| {
            let alone = opener(turn).flatten();
            alone.is_none() || beside.as_ref().and_then(opener) == Some(alone)
        };
        let is_shorter = with_none.is_some_and(|turn| {
            let is_whole = self.holds(&turn, words) && opens_alike(&turn);
            is_whole && size(turn.tail()) < size(with_empty)
        });
        if !is_shorter {
            self.input_form.empty_content = EmptyContent::EmptyText;
        }
    }

    fn holds(&self, turn: &RenderedTurn, words: &[&str]) -> bool {
        let tail = turn.tail();
        // The note comes out where a list of parts is printed as it is: `[{'type': 'thinking', ...}]`.
        words.iter().all(|word| tail.contains(word)) && !tail.contains(&self.words.note)
    }

    /// The prompt for a turn, and where what comes before the turn ends.
    pub(crate) fn prompt(
        &self,
        preceding: PrecedingMessages,
        mode: ThinkingMode,
    ) -> Result<RenderedTurn, RenderError> {
        let probe = self.probe(self.before(preceding), mode).prompt();
        self.rendered(&probe, preceding)
    }

    /// A prompt in which no tools are offered.
    pub(super) fn prompt_without_tools(
        &self,
        preceding: PrecedingMessages,
        mode: ThinkingMode,
    ) -> Result<RenderedTurn, RenderError> {
        let probe = self.with_switches(Probe::of(self.before(preceding)).prompt(), mode);
        self.rendered(&probe, preceding)
    }

    /// The conversation before the turn, without the beginning of an answer.
    pub(crate) fn no_prompt(
        &self,
        preceding: PrecedingMessages,
        mode: ThinkingMode,
    ) -> Result<RenderedTurn, RenderError> {
        let probe = self.probe(self.before(preceding), mode);
        self.rendered(&probe, preceding)
    }

    /// A conversation that ends with the assistant's turn.
    pub(crate) fn turn(
        &self,
        preceding: PrecedingMessages,
        assistant: &AssistantTurn,
        mode: ThinkingMode,
    ) -> Result<RenderedTurn, RenderError> {
        // Some write a call only once it is answered; the answers are cut off again.
        let calls = match self.input_form.needs_answers {
            true => assistant.calls.as_slice(),
            false => &[],
        };
        let answers = calls.iter().enumerate().map(|(index, tool_call)| {
            let id = self.input_form.id_shape.id(&tool_call.name, index);
            result(&id, &tool_call.name, &self.words.done)
        });
        self.turn_before(preceding, assistant, mode, answers.collect())
    }

    /// The assistant's turn up to the messages that follow it, if there are any.
    fn turn_before(
        &self,
        preceding: PrecedingMessages,
        assistant: &AssistantTurn,
        mode: ThinkingMode,
        next: Vec<Value>,
    ) -> Result<RenderedTurn, RenderError> {
        let is_last = next.is_empty();
        let mut messages = self.before(preceding);
        messages.push(self.message(assistant));
        messages.extend(next);
        let turn = self.rendered(&self.probe(messages, mode), preceding)?;
        Ok(match is_last {
            true => turn,
            false => turn.cut_before(&self.words.done),
        })
    }

    /// A conversation in which the assistant's turn is followed by another question.
    pub(crate) fn past_turn(
        &self,
        preceding: PrecedingMessages,
        assistant: &AssistantTurn,
        mode: ThinkingMode,
    ) -> Result<RenderedTurn, RenderError> {
        let next = message("user", &self.words.done);
        self.turn_before(preceding, assistant, mode, vec![next])
    }

    /// A call, with and without a tool's answer to it.
    pub(super) fn answered_call(&self) -> Option<AnsweredCall> {
        let value = self.words.value.as_str();
        let mut messages = self.before(PrecedingMessages::AfterTool);
        let answered = self.plain(&messages);
        messages.pop();
        let called = self.plain(&messages);
        let (answered, called) = (self.marked(&answered?), self.marked(&called?));
        let (_, behind) = called.rsplit_once(value)?;
        let (before_answer, _) = answered.split_once(self.words.result.as_str())?;
        let (_, between) = before_answer.rsplit_once(value)?;
        Some(AnsweredCall {
            // What ends the turn of calls, as `<over>`, stands there with and without an answer.
            header_of_answer: between[common_prefix(between, behind)..].to_owned(),
            behind: behind.to_owned(),
        })
    }

    /// Under which names the template reads reasoning, when it gets only one of them at a time.
    pub(crate) fn reasoning_keys(&self, assistant: &AssistantTurn, thought: &str) -> Vec<String> {
        match self.input_form.reasoning {
            ReasoningForm::Part => return vec!["content".to_owned()],
            ReasoningForm::Named(key) => return vec![key.to_owned()],
            ReasoningForm::Field => {}
        }
        let mut bare = assistant.clone();
        bare.reasoning = None;
        let reads = |key: &&str| {
            let mut messages = self.before(PrecedingMessages::Question);
            messages.push(with(self.message(&bare), key, thought));
            // Under whichever name a thought is given, the renderer adds others: then each name would seem to be
            // read.
            let probe = self.probe(messages, ThinkingMode::On).without_aliases();
            self.render(&probe).is_ok_and(|text| text.contains(thought))
        };
        let keys = REASONING_KEYS.into_iter();
        keys.filter(reads).map(str::to_owned).collect()
    }

    fn rendered(
        &self,
        probe: &Probe,
        preceding: PrecedingMessages,
    ) -> Result<RenderedTurn, RenderError> {
        let text = self.render(probe)?;
        let text = match self.lexicon.is_empty() {
            true => text,
            false => self.marked(&text),
        };
        let start = self.end_of_message(&text, preceding);
        // `Hello<tools>[...]</tools><bot>`: what defines tools behind the question begins no turn.
        let start = start + self.tools_behind_message(&text[start..], preceding);
        if text.len() - start > MAX_TURN {
            return Err(RenderError::given_up(format!(
                "a turn of a few words is written with more than {MAX_TURN} bytes"
            )));
        }
        Ok(RenderedTurn {
            end: text.len(),
            text,
            start,
        })
    }

    /// Where the text of the message before the turn ends.
    fn end_of_message(&self, text: &str, preceding: PrecedingMessages) -> usize {
        let word = match preceding {
            PrecedingMessages::AfterTool => &self.words.result,
            PrecedingMessages::Question | PrecedingMessages::SecondQuestion => &self.words.question,
        };
        text.rfind(word).map_or(text.len(), |at| at + word.len())
    }

    /// How much of what follows the message before the turn defines the tools: some templates write
    /// them there.
    fn tools_behind_message(&self, tail: &str, preceding: PrecedingMessages) -> usize {
        let description = |tool: &Value| {
            let function = tool.get("function")?;
            Some(function.get("description")?.as_str()?.to_owned())
        };
        let mut descriptions = self.tools.as_list().iter().filter_map(description);
        // Definitions come with what they say. Without a description there, nothing has to be rendered for this.
        if !descriptions.any(|description| tail.contains(&description)) {
            return 0;
        }
        let without = Probe::of(self.before(preceding));
        let with = without.clone().tools(self.tools.clone());
        let [with, without] = [with, without].map(|probe| {
            let text = self.marked(&self.render(&probe).unwrap_or_default());
            text[self.end_of_message(&text, preceding)..].to_owned()
        });
        // What stands there without tools as well stands behind them.
        let added = with.strip_suffix(without.as_str());
        added.map_or(0, |added| common_prefix(added, tail))
    }

    fn probe(&self, messages: Vec<Value>, mode: ThinkingMode) -> Probe {
        self.with_switches(Probe::of(messages).tools(self.tools.clone()), mode)
    }

    fn with_switches(&self, probe: Probe, mode: ThinkingMode) -> Probe {
        let switched = self.switched(mode).into_iter();
        switched.fold(probe, |probe, (name, value)| probe.variable(&name, value))
    }

    /// The variables that switch thinking, set as a mode has them.
    pub(super) fn switched(&self, mode: ThinkingMode) -> Vec<(String, Value)> {
        let on = match mode {
            ThinkingMode::Unset => return Vec::new(),
            ThinkingMode::On => true,
            ThinkingMode::Off => false,
        };
        let switches = self.switches.iter();
        switches.filter_map(|switch| switch.switched(on)).collect()
    }

    /// The messages before the turn.
    fn before(&self, preceding: PrecedingMessages) -> Vec<Value> {
        let words = &self.words;
        let question = message("user", &words.question);
        match preceding {
            PrecedingMessages::Question => vec![question],
            PrecedingMessages::SecondQuestion => vec![
                message("user", &words.first),
                message("assistant", &words.answer),
                question,
            ],
            PrecedingMessages::AfterTool => {
                let key = String::from("key");
                let tool_call = ToolCall::new(&words.tool, [(key, words.value.as_str().into())]);
                let id = self.input_form.id_shape.id(&tool_call.name, 0);
                vec![
                    question,
                    self.message(&AssistantTurn::calls([tool_call])),
                    result(&id, &words.tool, &words.result),
                ]
            }
        }
    }

    /// The message in the form in which this template takes it.
    pub(super) fn message(&self, assistant: &AssistantTurn) -> Value {
        self.input_form.message(assistant, &self.words.note)
    }
}

/// The unusual names of reasoning that stand in a template where messages are read: as `.thought`, or in quotes.
fn named_in(jinja: &str) -> Vec<&'static str> {
    let is_read = |key: &&str| {
        let mut places = jinja.match_indices(key);
        places.any(|(at, _)| {
            let (before, behind) = (&jinja[..at], &jinja[at + key.len()..]);
            before.ends_with(['.', '"', '\'']) && !behind.starts_with(is_word)
        })
    };
    OTHER_REASONING_KEYS.into_iter().filter(is_read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::call_probe::{CallProbe, probe_tools};
    use crate::analysis::tests::{asked, template};

    #[test]
    fn variables_that_switch_thinking_show_in_the_turn_or_by_their_names() {
        for (jinja, expected) in [
            ("Q<bot>{% if mull %}<m>{% endif %}", "mull"),
            // It shows in the instructions only, and the name has to say that it is about thinking.
            ("{% if think_hard %}Think.{% endif %}Q<bot>", "think_hard"),
            ("{% if be_brief %}Be brief.{% endif %}Q<bot>", ""),
            // It shows whatever it is given.
            ("{{ thinking_budget }}Q<bot>", ""),
            ("Q<bot>{{ budget }}", ""),
            ("Q<bot>{% if think_hard %}{% endif %}", ""),
        ] {
            let jinja = jinja.replace('Q', "{{ messages[0].content }}");
            let switches = asked(&ChatTemplate::from_jinja(jinja.as_str()), |prober| {
                let names = prober.switches().iter().map(|switch| switch.name.as_str());
                names.collect::<Vec<_>>().join(" ")
            });
            assert_eq!(switches, expected, "{jinja}");
        }
    }

    #[test]
    fn definitions_of_tools_behind_the_question_begin_no_turn() {
        for (behind, expected) in [
            (
                "{% if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}<bot>",
                "<bot>",
            ),
            (
                "{% if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}",
                "",
            ),
            // Without what they say, these are no definitions.
            ("{% if tools %}<tools>{% endif %}<bot>", "<tools><bot>"),
            ("<bot>", "<bot>"),
        ] {
            let jinja = format!("<user>{{{{ messages[0].content }}}}{behind}");
            let tail = asked(&ChatTemplate::from_jinja(jinja), |prober| {
                let offered = probe_tools(prober);
                prober.offer(offered);
                let turn = prober.prompt(PrecedingMessages::Question, ThinkingMode::Unset);
                turn.expect("it renders").tail().to_owned()
            });
            assert_eq!(tail, expected, "{behind}");
        }
    }

    #[test]
    fn reasoning_is_read_under_each_key_by_itself() {
        for (assistant, expected) in [
            ("{{ m.reasoning_content }}", "reasoning_content"),
            ("{{ m.thinking or m.reasoning }}", "reasoning thinking"),
            ("{{ m.content }}", ""),
        ] {
            let keys = asked(&template(assistant), |prober| {
                let thought = prober.word("thought");
                let turn = AssistantTurn::content("Yes.").with_reasoning(&thought);
                let mut keys = prober.reasoning_keys(&turn, &thought);
                keys.sort();
                keys.join(" ")
            });
            assert_eq!(keys, expected, "{assistant}");
        }
    }

    #[test]
    fn calls_are_given_in_the_form_in_which_they_come_out_best() {
        const EACH: &str = "{% for c in m.tool_calls %}{% set f = c.function %}";
        for (assistant, expected) in [
            ("{{ m.content }}EACH{{ f | tojson }}DONE", ""),
            // An object is printed as Python prints it, amid a call that is JSON.
            (
                "EACH{\"name\": \"{{ f.name }}\", \"arguments\": {{ f.arguments }}}DONE",
                "text",
            ),
            // All of the call is as Python prints it.
            (
                "EACH{'name': '{{ f.name }}', 'arguments': {{ f.arguments }}}DONE",
                "",
            ),
            ("EACH{{ f.name }}{{ f.arguments + '' }}DONE", "text"),
            // The markers around an empty text are none that a model writes.
            (
                "{% if m.content is not none %}<say>{{ m.content }}</say>{% endif %}EACH{{ f | tojson }}DONE",
                "null",
            ),
            (
                "<say>{{ m.content or '' }}</say>EACH{{ f | tojson }}DONE",
                "",
            ),
            // What opens the call is another text then than it is beside a text.
            (
                "{% if m.content is not none %}<say>{{ m.content }}</say><do>{% endif %}\
                 EACH{{ f.name }} {{ f.arguments | tojson }}DONE",
                "",
            ),
            // A line break less is no reason to ask otherwise.
            (
                "{% if m.content is not none %}\n{{ m.content }}{% endif %}EACH{{ f | tojson }}DONE",
                "",
            ),
            (
                "{% if not m.content is defined %}EACH{{ f | tojson }}DONE{% endif %}",
                "absent",
            ),
            // The call comes out only when it is answered.
            (
                "{% if not loop.last %}EACH{{ f | tojson }}DONE{% endif %}",
                "answered",
            ),
            (
                "{{ raise_exception('ids!') if m.tool_calls and m.tool_calls[0].id | length == 9 }}EACH{{ f | tojson }}DONE",
                "prefixed",
            ),
        ] {
            let each = EACH.replace("m.tool_calls %}", "m.tool_calls or [] %}");
            let jinja = assistant
                .replace("EACH", &each)
                .replace("DONE", "{% endfor %}");
            let form = asked(&template(&jinja), |prober| {
                let call = CallProbe::find(prober).expect("it renders").is_some();
                assert!(call, "{assistant}");
                prober.input_form
            });
            let mut words = Vec::new();
            for (is, word) in [
                (form.arguments_as_text, "text"),
                (form.empty_content == EmptyContent::Null, "null"),
                (form.empty_content == EmptyContent::Absent, "absent"),
                (form.needs_answers, "answered"),
                (form.id_shape != InputForm::default().id_shape, "prefixed"),
            ] {
                words.extend(is.then_some(word));
            }
            assert_eq!(words.join(" "), expected, "{assistant}");
        }
    }

    #[test]
    fn reasoning_in_parts_has_to_come_out_without_their_note() {
        for (assistant, expected) in [
            ("{{ m.reasoning_content }}{{ m.content }}", "field"),
            (
                "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}\
                 {{ p.thinking if p.type == 'thinking' else p.text }}{% endfor %}{% endif %}",
                "part",
            ),
            // A list of parts is printed as it is.
            ("{{ m.content }}", "none"),
            ("{{ m.thought }}{{ m.content }}", "thought"),
            ("{{ m['rationale'] }}{{ m.content }}", "rationale"),
            ("{{ m.thoughts_of_others }}{{ m.content }}", "none"),
        ] {
            let found = asked(&template(assistant), |prober| {
                let turn = AssistantTurn::content("zqa").with_reasoning("zqt");
                let found =
                    prober.find_input_form(PrecedingMessages::Question, &turn, &["zqa", "zqt"]);
                match (found.expect("it renders"), prober.input_form.reasoning) {
                    (false, _) => "none",
                    (true, ReasoningForm::Field) => "field",
                    (true, ReasoningForm::Named(key)) => key,
                    (true, ReasoningForm::Part) => "part",
                }
            });
            assert_eq!(found, expected, "{assistant}");
        }
    }
}
