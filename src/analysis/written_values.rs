//! How values of each type are written in calls whose arguments stand between markers.

use crate::format::{Dialect, ValueForm, ValueType, ValueWriting};
use crate::json::{self, Style};
use crate::value::{Object, Value};

use super::call_probe::CallWords;
use super::call_renderings::CallRenderings;
use super::certainty::Certainty;

/// What stands between key and value is not longer than this many bytes.
const LONGEST: usize = 256;

/// The values behind a text that stands between key and value.
pub(super) struct WrittenValues {
    /// What stands between key and value.
    pub(super) between: String,
    /// How the values are written, those of some types one way and those of others another.
    pub(super) forms: Vec<ValueForm>,
}

/// How values of all types are written, if a text of one word is written so behind this text. Of types that
/// don't come out in a way that is known, nothing is told.
pub(super) fn find(
    renderings: &CallRenderings<'_, '_>,
    between: &str,
    writing: ValueWriting,
) -> Vec<WrittenValues> {
    let words = &renderings.words;
    let with = |value: Value| {
        let text = renderings.with_argument(value)?;
        // Some formats name the key behind the value, too.
        let (_, after_key) = text.split_once(words.keys[0].as_str())?;
        Some(after_key.to_owned())
    };
    let mut values = Vec::new();
    match text_form(words, &writing, &with) {
        Some((between, writing)) => add(&mut values, between, ValueType::String, writing),
        // Where texts stand is known all the same.
        None if renderings.certainty == Certainty::Seen && writing == ValueWriting::Raw => values
            .push(WrittenValues {
                between: between.to_owned(),
                forms: Vec::new(),
            }),
        None => add(&mut values, between.to_owned(), ValueType::String, writing),
    }
    for kind in ValueType::ALL {
        let value = sample(kind);
        let form = value.and_then(|value| plain_form(&value, &with(value.clone())?));
        if let Some((between, writing)) = form {
            add(&mut values, between, kind, writing);
        }
    }
    values
}

fn add(all: &mut Vec<WrittenValues>, between: String, kind: ValueType, writing: ValueWriting) {
    let at = all.iter().position(|values| values.between == between);
    let at = at.unwrap_or_else(|| {
        all.push(WrittenValues {
            between,
            forms: Vec::new(),
        });
        all.len() - 1
    });
    let forms = &mut all[at].forms;
    match forms.iter_mut().find(|form| form.writing == writing) {
        Some(form) => form.types.push(kind),
        None => forms.push(ValueForm {
            types: vec![kind],
            writing,
        }),
    }
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
/// shows it best; `plain` is how one without is written.
fn text_form(
    words: &CallWords,
    plain: &ValueWriting,
    with: &impl Fn(Value) -> Option<String>,
) -> Option<(String, ValueWriting)> {
    let (word, awkward) = (words.values[0].as_str(), words.awkward());
    let after_plain = with(word.into())?;
    let (before, behind) = after_plain.split_once(word)?;
    if before.len() > LONGEST {
        return None;
    }
    let after_awkward = with(awkward.as_str().into()).unwrap_or_default();
    // Without quotes: the probe of a plain text shows these.
    let as_value = Value::from(awkward.as_str());
    let (escaped, quoted) = (json::write(&as_value), python(&as_value, '\''));
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
    // A text of several lines may be written otherwise than one of one line.
    if let Some(between) = before.strip_suffix('"') {
        let [first, second] = &words.values;
        let after_quoted = with(format!("{first}\"{second}").into()).unwrap_or_default();
        if after_quoted.contains(&format!("{first}\\\"{second}")) {
            let writing = ValueWriting::Json(Dialect::default());
            return Some((between.to_owned(), writing));
        }
    }
    if let ValueWriting::Wrapped { open, .. } = plain {
        let between = before.strip_suffix(open.as_str())?;
        return Some((between.to_owned(), plain.clone()));
    }
    let Some((before_awkward, behind_awkward)) = after_awkward.split_once(awkward.as_str()) else {
        // What is neither written as it is nor with escapes is not understood.
        return after_awkward
            .is_empty()
            .then(|| (before.to_owned(), ValueWriting::Raw));
    };
    let open = before_awkward.strip_prefix(before).unwrap_or_default();
    let close = behind_awkward.strip_suffix(behind).unwrap_or_default();
    let is_wrapped = !open.trim().is_empty() && !close.trim().is_empty();
    let writing = match is_wrapped {
        true => ValueWriting::Wrapped {
            open: open.to_owned(),
            close: close.to_owned(),
            always: false,
        },
        false => ValueWriting::Raw,
    };
    Some((before.to_owned(), writing))
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
