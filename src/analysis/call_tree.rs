//! The tree of a turn's calls, made of what was found of them.

use std::collections::BTreeMap;

use crate::format::{
    Dialect, Entry, Node, Repetition, Slot as TreeSlot, ValueForm, ValueType, ValueWriting,
};
use crate::json::{self, Style};
use crate::value::{Object, Value};

use super::assistant_turn::AssistantTurn;
use super::call_probe::CallWords;
use super::call_shape::{CallBody, CallKeys, CallShape, Slot, Tagged, slots_in};
use super::calls::numbered;
use super::markers::is_slot;

/// What stands between key and value is not longer than this many bytes.
const LONGEST: usize = 256;

/// How values of each type are written: for each text that stands between key and value, the types
/// before whose values it stands.
#[derive(Default)]
pub(super) struct WrittenValues {
    by_text: BTreeMap<String, Vec<ValueForm>>,
    unknown: Vec<ValueType>,
    /// What stands between two arguments, where nothing but that stands behind a value.
    separator: Option<String>,
}

impl WrittenValues {
    /// Asks for a call with a value of each type, where it is not the JSON of a whole object.
    pub(super) fn ask(
        words: &CallWords,
        shape: &CallShape,
        render: impl Fn(&AssistantTurn) -> Option<String>,
    ) -> WrittenValues {
        let mut values = WrittenValues::default();
        let wrapping = match &shape.body {
            CallBody::Tagged(tagged) => tagged.wrapping.as_ref(),
            CallBody::Python => None,
            _ => return values,
        };
        // Nothing but the value and a separator stands behind a key there.
        let is_bare = matches!(shape.body, CallBody::Python);
        let with = |value: Value| {
            let turn = AssistantTurn::calls([words.call(0, &[(0, value)])]);
            let text = render(&turn)?;
            // Some formats name the key behind the value, too.
            let (_, after_key) = text.split_once(words.keys[0].as_str())?;
            Some(after_key.to_owned())
        };
        for kind in ValueType::ALL {
            let found = match kind {
                ValueType::String => text_form(words, wrapping, is_bare, &with),
                _ => sample(kind).and_then(|value| plain_form(&value, &with(value.clone())?)),
            };
            match found {
                Some((between, writing)) => values.add(between, kind, writing),
                None => values.unknown.push(kind),
            }
        }
        if is_bare {
            let two = [(0, words.string(0)), (1, words.string(1))];
            let text = render(&AssistantTurn::calls([words.call(0, &two)]));
            values.separator = text.and_then(|text| separator(words, &text));
        }
        values
    }

    fn add(&mut self, between: String, kind: ValueType, writing: ValueWriting) {
        let forms = self.by_text.entry(between).or_default();
        match forms.iter_mut().find(|form| form.writing == writing) {
            Some(form) => form.types.push(kind),
            None => forms.push(ValueForm {
                types: vec![kind],
                writing,
            }),
        }
    }

    /// The types of which no value came out in a way that is known.
    pub(super) fn unknown(&self) -> impl Iterator<Item = ValueType> {
        self.unknown.clone().into_iter()
    }

    /// Each text that stands between key and value, and the forms of the values behind it.
    fn nodes(&self) -> impl Iterator<Item = (&str, Node)> {
        let texts = self.by_text.iter();
        texts.map(|(between, forms)| (between.as_str(), Node::Value(forms.clone())))
    }
}

/// What stands between two texts as arguments, without what stands around a text on both sides.
fn separator(words: &CallWords, text: &str) -> Option<String> {
    let (before, behind) = text.split_once(words.values[0].as_str())?;
    let (between, _) = behind.split_once(words.keys[1].as_str())?;
    let quote = before
        .chars()
        .next_back()
        .filter(|c| matches!(c, '"' | '\''));
    let between = quote.map_or(between, |quote| between.trim_start_matches(quote));
    Some(between.to_owned())
}

/// A value of a type, other than a text.
fn sample(kind: ValueType) -> Option<Value> {
    Some(match kind {
        ValueType::String => return None,
        ValueType::Integer => 918_273_645.into(),
        ValueType::Number => Value::from(7_613.25),
        ValueType::Boolean => true.into(),
        ValueType::Null => Value::Null,
        ValueType::Array => vec![Value::from("zqa"), true.into()].into(),
        ValueType::Object => Object::from_iter([("zqk", Value::from(true))]).into(),
    })
}

/// What stands before a value that is no text, and how the value is written.
fn plain_form(value: &Value, after_key: &str) -> Option<(String, ValueWriting)> {
    let as_json = [
        json::write(value),
        json::write_styled(value, &Style::PYTHON),
    ];
    let as_json = as_json.map(|text| (text, ValueWriting::Json(Dialect::default())));
    let with_literals = Dialect {
        python_literals: true,
        ..Dialect::default()
    };
    let in_python = [
        (python(value, '\''), ValueWriting::Python),
        (python(value, '"'), ValueWriting::Json(with_literals)),
    ];
    let found = as_json
        .into_iter()
        .chain(in_python)
        .filter_map(|(text, writing)| {
            // What stands before a value may name its type, as `null` does.
            let at = after_key.rfind(&text).filter(|at| *at <= LONGEST)?;
            Some((at, writing))
        });
    let (at, writing) = found.min_by_key(|(at, _)| *at)?;
    Some((after_key[..at].to_owned(), writing))
}

/// What stands before a text, and how the text is written. A text with signs in it that need escapes
/// shows it best.
fn text_form(
    words: &CallWords,
    wrapping: Option<&(String, String)>,
    is_bare: bool,
    with: &impl Fn(Value) -> Option<String>,
) -> Option<(String, ValueWriting)> {
    let (plain, awkward) = (words.string(0), Value::from(words.awkward().as_str()));
    let after_plain = with(plain)?;
    let (before, behind) = after_plain.split_once(words.values[0].as_str())?;
    if before.len() > LONGEST {
        return None;
    }
    let after_awkward = with(awkward.clone()).unwrap_or_default();
    // Without quotes: the probe of a plain text shows these.
    let (escaped, quoted) = (json::write(&awkward), python(&awkward, '\''));
    let escaped = [escaped.trim_matches('"'), quoted.trim_matches('\'')];
    if escaped.iter().any(|text| after_awkward.contains(text)) {
        let quote = before.chars().next_back()?;
        let between = before[..before.len() - quote.len_utf8()].to_owned();
        return match quote {
            '"' => Some((between, ValueWriting::Json(Dialect::default()))),
            '\'' => Some((between, ValueWriting::Python)),
            _ => None,
        };
    }
    if !after_awkward.is_empty() && !after_awkward.contains(&words.awkward()) {
        return None;
    }
    let Some((open, close)) = wrapping else {
        // Quotes without escapes in them are nothing but what stands around a text.
        let quotes = ['\'', '"'].into_iter();
        let mut quotes =
            quotes.filter(|quote| before.ends_with(*quote) && behind.starts_with(*quote));
        return Some(match quotes.next().filter(|_| is_bare) {
            Some(quote) => {
                let between = before[..before.len() - quote.len_utf8()].to_owned();
                let writing = ValueWriting::Wrapped {
                    open: quote.to_string(),
                    close: quote.to_string(),
                    always: true,
                };
                (between, writing)
            }
            None => (before.to_owned(), ValueWriting::Raw),
        });
    };
    let bare = before.strip_suffix(open.as_str());
    let writing = ValueWriting::Wrapped {
        open: open.clone(),
        close: close.clone(),
        always: bare.is_some(),
    };
    Some((bare.unwrap_or(before).to_owned(), writing))
}

/// A value as Python writes it in its code, with these quotes around texts.
fn python(value: &Value, quote: char) -> String {
    let quoted = |text: &str| {
        let text = text.replace('\\', "\\\\").replace('\n', "\\n");
        format!(
            "{quote}{}{quote}",
            text.replace(quote, &format!("\\{quote}"))
        )
    };
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| python(item, quote)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| {
                let key = quoted(&key.to_string_lossy());
                format!("{key}: {}", python(value, quote))
            });
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => quoted(&text.to_string_lossy()),
        other => json::write(other),
    }
}

/// The tree of a turn's calls, without what stands around all of them.
pub(super) fn of(shape: &CallShape, values: &WrittenValues) -> Node {
    let around = |body: Vec<Node>| {
        let nodes = [slots(&shape.open), body, slots(&shape.close)].concat();
        Node::Call(Box::new(Node::sequence(nodes)))
    };
    let at_most = (!shape.several).then_some(1);
    let each = |call: Node| {
        Node::Repetition(Box::new(Repetition {
            item: call,
            separator: Node::Sequence(Node::texts(&shape.separator)),
            at_least: 1,
            at_most,
        }))
    };
    match &shape.body {
        CallBody::Object(keys, dialect) => each(around(vec![object(keys, dialect)])),
        CallBody::Array(keys, dialect) => {
            let array = Node::Array(Box::new(Repetition {
                item: Node::Call(Box::new(object(keys, dialect))),
                separator: Node::Sequence(Vec::new()),
                at_least: 1,
                at_most,
            }));
            Node::sequence([slots(&shape.open), vec![array], slots(&shape.close)].concat())
        }
        CallBody::Arguments(dialect) => each(around(vec![Node::Arguments(dialect.clone())])),
        CallBody::Tagged(tagged) => each(around(vec![tagged_arguments(tagged, values)])),
        CallBody::Python => each(around(vec![python_arguments(values)])),
    }
}

/// Texts and slots as nodes.
fn slots(slots: &[Slot]) -> Vec<Node> {
    let nodes = slots.iter().flat_map(|slot| match slot {
        Slot::Text(text) => Node::texts(text),
        Slot::Name => vec![Node::Slot(TreeSlot::Name)],
        Slot::Id => vec![Node::Slot(TreeSlot::Id)],
        Slot::Index => vec![Node::Slot(TreeSlot::Index)],
        Slot::Key => vec![Node::Slot(TreeSlot::Key)],
    });
    nodes.collect()
}

/// A call as an object, with its parts under their keys.
fn object(keys: &CallKeys, dialect: &Dialect) -> Node {
    let object = json::read(&keys.object).unwrap_or_default();
    within(&object, &mut Vec::new(), keys, dialect)
}

fn within(value: &Value, path: &mut Vec<String>, keys: &CallKeys, dialect: &Dialect) -> Node {
    if *path == keys.arguments {
        let arguments = Node::Arguments(match keys.arguments_as_text {
            true => Dialect::default(),
            false => dialect.clone(),
        });
        return match keys.arguments_as_text {
            true => Node::JsonString(Box::new(arguments), dialect.clone()),
            false => arguments,
        };
    }
    match value {
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| {
                let key = key.to_string_lossy().into_owned();
                path.push(key.clone());
                let value = within(value, path, keys, dialect);
                path.pop();
                Entry { key, value }
            });
            Node::Object(entries.collect(), dialect.clone())
        }
        Value::String(text) if numbered(&text.to_string_lossy()).contains(is_slot) => {
            let text = slots(&slots_in(&numbered(&text.to_string_lossy())));
            Node::JsonString(Box::new(Node::sequence(text)), dialect.clone())
        }
        Value::Number(_) if numbered(&json::write(value)).starts_with(is_slot) => {
            Node::Slot(TreeSlot::Index)
        }
        other => Node::Constant(other.clone()),
    }
}

/// Arguments of which each stands between markers.
fn tagged_arguments(tagged: &Tagged, values: &WrittenValues) -> Node {
    let arguments = values.nodes().map(|(between, value)| {
        let mut nodes = Node::texts(&tagged.open);
        nodes.push(Node::Slot(TreeSlot::Key));
        nodes.extend(Node::texts(between));
        nodes.push(value);
        nodes.extend(slots(&tagged.close));
        Node::sequence(nodes)
    });
    arguments_of(Node::choice(arguments.collect()), &tagged.separator)
}

/// Arguments as a Python call has them.
fn python_arguments(values: &WrittenValues) -> Node {
    let arguments = values.nodes().map(|(between, value)| {
        let mut nodes = vec![Node::Slot(TreeSlot::Key)];
        nodes.extend(Node::texts(between));
        nodes.push(value);
        Node::sequence(nodes)
    });
    let separator = values.separator.as_deref().unwrap_or(", ");
    arguments_of(Node::choice(arguments.collect()), separator)
}

fn arguments_of(argument: Node, separator: &str) -> Node {
    Node::Repetition(Box::new(Repetition {
        item: Node::Argument(Box::new(argument)),
        separator: Node::Sequence(Node::texts(separator)),
        at_least: 0,
        at_most: None,
    }))
}
