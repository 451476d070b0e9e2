//! How calls of tools are written.

use std::ops::Range;

use crate::json;
use crate::value::Value;

use super::arguments::{self, Quoting, Tagged};
use super::asking::{Asking, Called, Ids, Mode, Said, Scene};
use super::markers::{
    ID_SLOT, INDEX_SLOT, KEY_SLOT, NAME_SLOT, common_prefix, common_suffix, is_slot, markers,
};
use super::probe::{object, tool};
use super::statement::Certainty;
use super::turn::Openings;

/// How a call of a tool is written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallShape {
    /// How sure it is.
    pub certainty: Certainty,
    /// What opens a turn's calls.
    pub section_open: String,
    /// What closes them.
    pub section_close: String,
    /// What stands between two calls.
    pub separator: String,
    /// What opens a call, up to its body.
    pub open: Vec<Slot>,
    /// What a call consists of.
    pub body: CallBody,
    /// What closes a call; some formats name it or its id there.
    pub close: Vec<Slot>,
    /// Whether a turn may hold several calls.
    pub several: bool,
}

/// A part of what opens a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Slot {
    /// The same text for all calls.
    Text(String),
    /// The name of the tool.
    Name,
    /// The id of the call.
    Id,
    /// The number of the call.
    Index,
    /// The key of an argument.
    Key,
}

/// What a call consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallBody {
    /// A JSON object with the name and the arguments in it.
    Object(CallKeys, Dialect),
    /// One JSON array for all calls of a turn.
    Array(CallKeys, Dialect),
    /// A JSON object with the arguments; the name stands in what opens the call.
    Arguments(Dialect),
    /// Each argument in markers.
    Tagged(Tagged),
    /// Arguments as a Python call has them.
    Python,
}

/// Where in a JSON object the parts of a call are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallKeys {
    /// The keys that lead to the name.
    pub name: Vec<String>,
    /// The keys that lead to the arguments.
    pub arguments: Vec<String>,
    /// The keys that lead to the id.
    pub id: Option<Vec<String>>,
    /// All keys of the object, in their order.
    pub all: Vec<String>,
    /// Whether the arguments are a string that holds JSON.
    pub arguments_as_text: bool,
}

/// How far JSON is from being JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dialect {
    /// Whether keys go without quotes.
    pub unquoted_keys: bool,
    /// What stands around strings in place of quotes.
    pub string_delimiters: Option<(String, String)>,
    /// Whether literals are Python's.
    pub python_literals: bool,
}

impl Dialect {
    /// Whether it is JSON after all.
    pub fn is_json(&self) -> bool {
        *self == Dialect::default()
    }
}

/// The words of the probes for calls.
pub(super) struct Words {
    names: [String; 2],
    pub(super) keys: [String; 2],
    pub(super) values: [String; 2],
    number: i64,
}

impl Words {
    pub(super) fn new(asking: &Asking<'_>) -> Words {
        let word = |meaning| asking.word(meaning);
        Words {
            names: [word("name"), word("other")],
            keys: [word("key"), word("more")],
            values: [word("value"), word("third")],
            number: 918_273_645,
        }
    }

    /// Tools for the calls of the probes.
    fn tools(&self) -> Vec<Value> {
        let tools = self.names.iter().map(|name| {
            let mut tool = tool(name, "A tool for a probe", &self.keys[0]);
            let properties = tool
                .as_object_mut()
                .and_then(|tool| tool.get_mut("function")?.as_object_mut())
                .and_then(|function| function.get_mut("parameters")?.as_object_mut())
                .and_then(|parameters| parameters.get_mut("properties")?.as_object_mut());
            if let Some(properties) = properties {
                let kind = object([
                    ("type", "string".into()),
                    ("description", "What else it is about".into()),
                ]);
                properties.insert(self.keys[1].as_str(), kind);
            }
            tool
        });
        tools.collect()
    }

    fn call(&self, which: usize, arguments: &[(usize, Value)]) -> Called {
        let arguments = arguments.iter();
        let pairs = arguments.map(|(key, value)| (self.keys[*key].clone(), value.clone()));
        Called::new(&self.names[which], pairs)
    }

    fn string(&self, which: usize) -> Value {
        self.values[which].as_str().into()
    }
}

/// The renderings of probes for calls, from the end of the turn's header on, with slots in place
/// of names and ids.
pub(super) struct Samples {
    pub(super) words: Words,
    /// One call with one string.
    pub(super) one: String,
    /// The same with a number, and with a boolean.
    pub(super) number: Option<String>,
    boolean: Option<String>,
    /// No arguments.
    pub(super) empty: Option<String>,
    /// Two arguments.
    pub(super) pair: Option<String>,
    /// Two calls.
    two: Option<String>,
}

/// What is known of the turn around the calls.
pub(crate) struct Around<'a> {
    /// What stands between the message before a turn and the turn.
    pub(crate) openings: &'a Openings,
    /// What follows the content of a turn that comes last.
    pub(crate) after_content: &'a str,
    /// What closes reasoning.
    pub(crate) reasoning_close: Option<&'a str>,
}

/// Finds the manner in which the template writes calls, and gives what to ask it. An error is its
/// refusal.
pub(crate) fn ask(
    asking: &mut Asking<'_>,
) -> Result<Option<Question>, crate::chat_template::RenderError> {
    let words = Words::new(asking);
    asking.offer(words.tools());
    let one = Said::calls([words.call(0, &[(0, words.string(0))])]);
    let must = [&words.names[0], &words.keys[0], &words.values[0]].map(String::as_str);
    let mut found = asking.find_manner(Scene::Question, &one, &must);
    if !matches!(found, Ok(true)) {
        // Tools may be more than the template can take, or nothing to it.
        asking.offer(Vec::new());
        if matches!(asking.find_manner(Scene::Question, &one, &must), Ok(true)) {
            found = Ok(true);
        }
    }
    Ok(found?.then_some(Question { words, one }))
}

/// Turns with calls to show to people: one call, a call of another tool, and two.
pub(super) fn examples() -> [Said; 3] {
    let call = |name, key: &str, value: &str| Called::new(name, [(key.to_owned(), value.into())]);
    let (one, other) = (
        call("first_tool", "key", "value"),
        call("other_tool", "key", "value"),
    );
    [
        Said::calls([one.clone()]),
        Said::calls([other.clone()]),
        Said::calls([one, other]),
    ]
}

/// Tools that a template may describe.
pub(crate) fn tools(asking: &Asking<'_>) -> Vec<Value> {
    Words::new(asking).tools()
}

/// A turn with a call, which the template is known to write.
pub(crate) struct Question {
    words: Words,
    pub(crate) one: Said,
}

impl Question {
    /// A word of the call that stands as early in it as any.
    pub(crate) fn first_word<'a>(&'a self, text: &str) -> &'a str {
        let words = [
            &self.words.names[0],
            &self.words.keys[0],
            &self.words.values[0],
        ];
        let found = words
            .into_iter()
            .min_by_key(|word| text.find(word.as_str()).unwrap_or(usize::MAX));
        found.map_or("", String::as_str)
    }
}

/// How calls are written.
pub(crate) fn find(
    asking: &Asking<'_>,
    question: Question,
    around: &Around<'_>,
) -> Option<CallShape> {
    let samples = take_samples(asking, around.openings, question.words, &question.one)?;
    shape(&samples, around)
}

fn take_samples(
    asking: &Asking<'_>,
    openings: &Openings,
    words: Words,
    one: &Said,
) -> Option<Samples> {
    let ids = asking.manner().ids;
    let render = |said: &Said| {
        let in_mode = |mode| {
            let turn = asking.turn(Scene::Question, said, mode).ok()?;
            let body = openings.body(turn.tail(), Scene::Question, mode);
            Some(masked(body, &words, ids))
        };
        in_mode(Mode::Unset).or_else(|| in_mode(Mode::On))
    };
    let single = |arguments: &[(usize, Value)]| render(&Said::calls([words.call(0, arguments)]));
    let two = Said::calls([
        words.call(0, &[(0, words.string(0))]),
        words.call(1, &[(1, words.string(1))]),
    ]);
    let holds_both = |text: &String| words.values.iter().all(|value| text.contains(value));
    Some(Samples {
        one: render(one)?,
        number: single(&[(0, words.number.into())]),
        boolean: single(&[(0, true.into())]),
        empty: single(&[]),
        pair: single(&[(0, words.string(0)), (1, words.string(1))]).filter(holds_both),
        two: render(&two).filter(holds_both),
        words,
    })
}

/// The text with slots in place of names, ids and numbers of calls.
fn masked(text: &str, words: &Words, ids: Ids) -> String {
    let mut text = text.to_owned();
    if ids != Ids::Named {
        for index in 0..2 {
            text = text.replace(&ids.id("", index), &ID_SLOT.to_string());
        }
    }
    for name in &words.names {
        text = text.replace(name, &NAME_SLOT.to_string());
    }
    let [first, second] = &words.keys;
    let number = words.number.to_string();
    for (key, value) in [
        (first, &words.values[0]),
        (first, &number),
        (second, &words.values[1]),
    ] {
        // What closes an argument may name it once more.
        if let Some((before, after)) = text.split_once(value.as_str()) {
            let after = after.replace(key, &KEY_SLOT.to_string());
            text = format!("{before}{value}{after}");
        }
    }
    text
}

/// Slots as a text, in which characters for private use stand for what is not text.
pub(crate) fn slotted(slots: &[Slot]) -> String {
    let mut text = String::new();
    for slot in slots {
        match slot {
            Slot::Text(part) => text.push_str(part),
            Slot::Name => text.push(NAME_SLOT),
            Slot::Id => text.push(ID_SLOT),
            Slot::Index => text.push(INDEX_SLOT),
            Slot::Key => text.push(KEY_SLOT),
        }
    }
    text
}

/// Where an argument stands.
pub(super) struct Spot {
    pub(super) key: Range<usize>,
    pub(super) value: Range<usize>,
}

pub(super) fn spot(text: &str, key: &str, value: &str) -> Option<Spot> {
    let start = text.find(value)?;
    let at = text[..start].rfind(key)?;
    Some(Spot {
        key: at..at + key.len(),
        value: start..start + value.len(),
    })
}

impl Samples {
    fn spot(&self) -> Option<Spot> {
        spot(&self.one, &self.words.keys[0], &self.words.values[0])
    }

    pub(super) fn number_spot(&self) -> Option<(&str, Spot)> {
        let text = self.number.as_deref()?;
        let spot = spot(text, &self.words.keys[0], &self.words.number.to_string())?;
        Some((text, spot))
    }

    fn has_python_literals(&self) -> bool {
        let key = &self.words.keys[0];
        let after_key = self
            .boolean
            .as_deref()
            .and_then(|text| text.rsplit_once(key.as_str()));
        after_key.is_some_and(|(_, after)| after.contains("True"))
    }
}

/// A call in a text: where its body is.
struct Core {
    body: CallBody,
    range: Range<usize>,
}

fn shape(samples: &Samples, around: &Around<'_>) -> Option<CallShape> {
    let spot = samples.spot()?;
    let quoting = arguments::quoting(samples, &spot);
    let quoted = quoting
        .as_ref()
        .and_then(|quoting| quoted_core(samples, &spot, quoting));
    let core = match quoted {
        Some(core) => core,
        // No object holds them: values stand between markers, be they raw or JSON.
        None => {
            let (tagged, range) = arguments::tagged(samples, &spot, quoting.as_ref())?;
            Core {
                body: CallBody::Tagged(tagged),
                range,
            }
        }
    };
    let shape = with_surroundings(samples, core, around);
    // A name that stands elsewhere than before the arguments can't be captured.
    let needs_name = !matches!(shape.body, CallBody::Object(..) | CallBody::Array(..));
    (shape.open.contains(&Slot::Name) || !needs_name).then_some(shape)
}

fn quoted_core(samples: &Samples, spot: &Spot, quoting: &Quoting) -> Option<Core> {
    let text = samples.one.as_str();
    if quoting.is_python_call {
        let end = spot.value.end + quoting.close.len();
        return Some(Core {
            body: CallBody::Python,
            range: spot.key.start..end,
        });
    }
    let arguments = quoting.object_range(text, spot)?;
    let dialect = Dialect {
        unquoted_keys: !quoting.keys,
        string_delimiters: (!matches!(quoting.open.as_str(), "\"" | "\\\""))
            .then(|| (quoting.open.clone(), quoting.close.clone())),
        python_literals: samples.has_python_literals(),
    };
    for container in quoting.containers(text, &arguments) {
        let Some(keys) = call_keys(&text[container.clone()], quoting, &samples.words) else {
            continue;
        };
        let is_array = text[container.clone()].starts_with('[');
        let shared = || match samples.two.as_deref() {
            None => true,
            Some(two) => shares_container(two, quoting, &samples.words),
        };
        if !is_array {
            return Some(Core {
                body: CallBody::Object(keys, dialect),
                range: container,
            });
        }
        if shared() {
            return Some(Core {
                body: CallBody::Array(keys, dialect),
                range: container,
            });
        }
    }
    Some(Core {
        body: CallBody::Arguments(dialect),
        range: arguments,
    })
}

/// Whether two calls stand in one list.
fn shares_container(two: &str, quoting: &Quoting, words: &Words) -> bool {
    let Some(first) = spot(two, &words.keys[0], &words.values[0]) else {
        return false;
    };
    let Some(range) = quoting.object_range(two, &first) else {
        return false;
    };
    let lists = quoting.containers(two, &range);
    lists
        .into_iter()
        .any(|list| two[list.clone()].starts_with('[') && two[list].contains(&words.values[1]))
}

/// Where the parts of a call are in a JSON value, if it is a call or a list of them.
fn call_keys(text: &str, quoting: &Quoting, words: &Words) -> Option<CallKeys> {
    let value = json::read(&quoting.to_json(text)).ok()?;
    let call = match &value {
        Value::Array(calls) => calls.first()?,
        call => call,
    };
    let entries = call.as_object()?;
    let is = |slot: char| move |value: &Value| value.as_str().is_some_and(|s| s.contains(slot));
    let arguments = |value: &Value| match value {
        Value::Object(object) => object.contains_key(&words.keys[0]),
        Value::String(text) => text.to_string_lossy().contains(words.keys[0].as_str()),
        _ => false,
    };
    let arguments_path = path(call, &arguments)?;
    let found = arguments_path
        .iter()
        .try_fold(call, |value, key| value.get(key))?;
    Some(CallKeys {
        name: path(call, &is(NAME_SLOT))?,
        arguments_as_text: found.as_str().is_some(),
        arguments: arguments_path,
        id: path(call, &is(ID_SLOT)),
        all: entries
            .keys()
            .map(|key| key.to_string_lossy().into_owned())
            .collect(),
    })
}

/// The keys that lead to the first value of a kind.
fn path(value: &Value, is: &dyn Fn(&Value) -> bool) -> Option<Vec<String>> {
    for (key, inner) in value.as_object()?.iter() {
        let key = key.to_string_lossy().into_owned();
        if is(inner) {
            return Some(vec![key]);
        }
        if let Some(mut rest) = path(inner, is) {
            rest.insert(0, key);
            return Some(rest);
        }
    }
    None
}

/// Tells what stands around the calls from a turn with one and a turn with two.
fn with_surroundings(samples: &Samples, core: Core, around: &Around<'_>) -> CallShape {
    let before = numbered(&samples.one[..core.range.start]);
    let reasoning_end = around.reasoning_close.and_then(|close| {
        let at = before.rfind(close)?;
        Some(at + close.len())
    });
    let before = &before[reasoning_end.unwrap_or(0)..];
    let pair = match core.body {
        CallBody::Array(..) => None,
        _ => between_calls(samples, &core),
    };
    let after = match &pair {
        Some((_, after)) => after.clone(),
        None => numbered(&samples.one[core.range.end..]),
    };
    let turn_end = common_suffix(&after, around.after_content);
    let (open, close, separator) = match &pair {
        None => {
            let close = up_to_turn_end(&after[..after.len() - turn_end], around.after_content);
            (before.to_owned(), close.to_owned(), String::new())
        }
        Some((between, _)) => split_between(before, &after, between),
    };
    // White space before a call belongs to what stands there.
    let space = &open[..open.len() - open.trim_start().len()];
    let section_open = before[..before.len() - open.len().min(before.len())].to_owned() + space;
    let separator = if pair.is_some() {
        separator + space
    } else {
        separator
    };
    let open = open.trim_start();
    // So does white space after it.
    let close = close.trim_end().to_owned();
    let space = match &pair {
        Some((between, _)) => {
            let rest = between.get(close.len()..).unwrap_or_default();
            &rest[..rest.len() - rest.trim_start().len()]
        }
        None => "",
    };
    let separator = match separator.starts_with(space) {
        true => separator,
        false => format!("{space}{separator}"),
    };
    let rest = &after[close.len()..];
    let section_close = &rest[..rest.len().saturating_sub(turn_end)];
    CallShape {
        certainty: Certainty::Seen,
        section_open,
        section_close: section_close.to_owned(),
        separator,
        open: slots(open),
        body: core.body,
        close: slots(&close),
        several: samples.two.is_some(),
    }
}

/// What closes a call, without the markers that end any turn.
fn up_to_turn_end<'a>(after: &'a str, after_content: &str) -> &'a str {
    let ends = markers(after_content).filter_map(|marker| after.find(marker));
    &after[..ends.min().unwrap_or(after.len())]
}

/// The text with slots in place of the numbers of calls, which count from nought or one.
fn numbered(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let joins = |other: char| other.is_alphanumeric() || other == '_' || other == '.';
        let alone = !joins(before) && !chars.peek().is_some_and(|next| joins(*next));
        out.push(if matches!(c, '0'..='2') && alone {
            INDEX_SLOT
        } else {
            c
        });
        before = c;
    }
    out
}

/// What stands between the bodies of two calls, and after the second.
fn between_calls(samples: &Samples, core: &Core) -> Option<(String, String)> {
    let two = samples.two.as_deref()?;
    let words = &samples.words;
    let first = spot(two, &words.keys[0], &words.values[0])?;
    let second = spot(two, &words.keys[1], &words.values[1])?;
    // The bodies are as long as in the turn with one call, counted from key and value.
    let alone = samples.spot()?;
    let lead = alone.key.start - core.range.start;
    let trail = core.range.end - alone.value.end;
    let between = two.get(first.value.end + trail..second.key.start.checked_sub(lead)?)?;
    let after = two.get(second.value.end + trail..)?;
    Some((numbered(between), numbered(after)))
}

/// Splits what stands between two calls into what closes the first, what separates them, and what
/// opens the second.
fn split_between(before: &str, after: &str, between: &str) -> (String, String, String) {
    if between.trim().is_empty() {
        return (String::new(), String::new(), between.to_owned());
    }
    let mut open = common_suffix(before, between);
    let close = common_prefix(between, after).min(between.len());
    if open + close > between.len() {
        open = between.len() - close;
    }
    let separator = &between[close..between.len() - open];
    (
        between[between.len() - open..].to_owned(),
        between[..close].to_owned(),
        separator.to_owned(),
    )
}

pub(super) fn slots(text: &str) -> Vec<Slot> {
    let mut slots = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(is_slot) {
        if at > 0 {
            slots.push(Slot::Text(rest[..at].to_owned()));
        }
        let slot = rest[at..].chars().next().unwrap_or(NAME_SLOT);
        slots.push(match slot {
            ID_SLOT => Slot::Id,
            INDEX_SLOT => Slot::Index,
            KEY_SLOT => Slot::Key,
            _ => Slot::Name,
        });
        rest = &rest[at + slot.len_utf8()..];
    }
    if !rest.is_empty() {
        slots.push(Slot::Text(rest.to_owned()));
    }
    slots
}
