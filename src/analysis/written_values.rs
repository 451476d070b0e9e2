//! How values of each type are written in calls whose arguments stand between markers.

use std::ops::Range;

use crate::format::{Dialect, ValueForm, ValueType, ValueWriting};
use crate::json;
use crate::value::{Value, object};

use super::call_probe::CallWords;
use super::call_renderings::CallRenderings;
use super::certainty::Certainty;
use crate::markers::KEY_SLOT;

/// What stands between key and value is not longer than this many bytes.
const LONGEST: usize = 256;

/// What stands between values and behind keys in JSON.
const SIGNS: [[&str; 2]; 2] = [[", ", ": "], [",", ":"]];

/// The values that stand between the same texts.
pub(super) struct WrittenValues {
    /// What stands before the key, between key and value, and behind the value.
    pub(super) around: PairDelimiters,
    /// How the values are written, those of some types one way and those of others another.
    pub(super) forms: Vec<ValueForm>,
}

/// What stands around a key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PairDelimiters {
    pub(super) open: String,
    pub(super) between: String,
    pub(super) close: String,
}

/// How values of all types are written, if this stands around a text of one word, which is written so. Of types that
/// don't come out in a way that is known, nothing is told.
pub(super) fn find(
    renderings: &CallRenderings<'_, '_>,
    around: PairDelimiters,
    writing: ValueWriting,
) -> Vec<WrittenValues> {
    let words = &renderings.words;
    let with = |value: Value| {
        let text = renderings.with_argument(value)?;
        // Some formats name the key behind the value, too.
        let (before_key, after_key) = text.split_once(words.keys[0].as_str())?;
        Some((before_key.to_owned(), after_key.to_owned()))
    };
    let after_key = |value: Value| Some(with(value)?.1);
    let call = with(words.values[0].as_str().into())
        .and_then(|(before, after)| CallAround::of(words, &around, &before, &after));
    let mut values = Vec::new();
    let text = text_form(words, &writing, &after_key);
    // `<q>a<q>` around every text may stand around those in lists, too: `[<q>a<q>]`.
    let dialect = text.as_ref().and_then(|(_, writing)| match writing {
        ValueWriting::Wrapped {
            open,
            close,
            always: true,
        } => Some(nested(open, close, &after_key)),
        _ => None,
    });
    match text {
        Some((between, writing)) => {
            let around = PairDelimiters {
                between,
                ..around.clone()
            };
            add(&mut values, around, ValueType::String, writing);
        }
        // Where texts stand is known all the same.
        None if renderings.certainty == Certainty::Seen && writing == ValueWriting::Raw => values
            .push(WrittenValues {
                around: around.clone(),
                forms: Vec::new(),
            }),
        None => add(&mut values, around.clone(), ValueType::String, writing),
    }
    // Each type is asked for: `<str k>` and `<num k>` name it, and `True` shows whose literals there are.
    for kind in ValueType::ALL {
        let Some((value, (before, after))) =
            sample(kind).and_then(|value| Some((value.clone(), with(value)?)))
        else {
            continue;
        };
        let found = plain_form(&value, dialect.as_ref(), &around.between, &after);
        let Some((range, writing)) = found else {
            continue;
        };
        let own = call.as_ref();
        let own = own.and_then(|call| call.around(words, &before, &after[range.end..]));
        // Where more of the call has changed than this, an argument is taken to stand between what texts do.
        let (open, close) = own.unwrap_or_else(|| (around.open.clone(), around.close.clone()));
        let around = PairDelimiters {
            open,
            between: after[..range.start].to_owned(),
            close,
        };
        add(&mut values, around, kind, writing);
    }
    values
}

/// What stands around the one argument of a call.
struct CallAround {
    before: String,
    after: String,
}

impl CallAround {
    /// Takes what opens and closes an argument out of what stands before the key and behind it, where its value is
    /// one word.
    fn of(
        words: &CallWords,
        around: &PairDelimiters,
        before: &str,
        after: &str,
    ) -> Option<CallAround> {
        let (_, behind) = after.split_once(words.values[0].as_str())?;
        let close = around.close.replace(KEY_SLOT, &words.keys[0]);
        // Quotes stand around the value.
        let end = behind.find(close.as_str())? + close.len();
        Some(CallAround {
            before: before.strip_suffix(around.open.as_str())?.to_owned(),
            after: behind[end..].to_owned(),
        })
    }

    /// What opens an argument and what closes it, where this stands before the key and behind the value.
    fn around(&self, words: &CallWords, before: &str, behind: &str) -> Option<(String, String)> {
        let open = before.strip_prefix(self.before.as_str())?;
        let close = behind.strip_suffix(self.after.as_str())?;
        // `</k>` closes the argument `k`: another one is closed by its own key.
        let close = close.replace(words.keys[0].as_str(), &KEY_SLOT.to_string());
        Some((open.to_owned(), close))
    }
}

fn add(
    all: &mut Vec<WrittenValues>,
    around: PairDelimiters,
    kind: ValueType,
    writing: ValueWriting,
) {
    // Types that stand between the same markers share them: a reader can't tell them apart by these.
    let at = all.iter().position(|values| values.around == around);
    let at = at.unwrap_or_else(|| {
        all.push(WrittenValues {
            around,
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
        // Numbers that stand nowhere else, and have no place in a count of calls.
        ValueType::Integer => 918_273_645.into(),
        ValueType::Number => Value::from(7_613.25),
        ValueType::Boolean => true.into(),
        ValueType::Null => Value::Null,
        // A text shows what quotes a list has, a literal whose words it has.
        ValueType::Array => vec![Value::from("zqa"), true.into()].into(),
        ValueType::Object => object! {"zqk": true}.into(),
    })
}

/// Where a value stands that is no text, and how it is written.
///
/// What stands before a value may name its type, as `null` does, and so may what stands behind it: the value stands behind
/// such a sign as texts do. What stands around all texts may stand around those in lists and objects, too.
fn plain_form(
    value: &Value,
    dialect: Option<&Dialect>,
    between: &str,
    after_key: &str,
) -> Option<(Range<usize>, ValueWriting)> {
    let sign = between.trim_end_matches(['"', '\'']).chars().next_back();
    let (plain, python) = (Dialect::default(), Dialect::python());
    // `["a", True]`: quotes as in JSON and literals as in Python.
    let with_literals = Dialect {
        python_literals: true,
        ..Dialect::default()
    };
    let json = |dialect: &Dialect| ValueWriting::Json(dialect.clone());
    let known = [
        (&plain, json(&plain)),
        (&python, ValueWriting::Python),
        (&with_literals, json(&with_literals)),
    ];
    let own = dialect.map(|dialect| (dialect, json(dialect)));
    let texts = known.into_iter().chain(own).flat_map(|(dialect, writing)| {
        // `{"a":1}` and `{"a": 1}`: both are in use.
        SIGNS.map(|signs| (in_dialect(value, dialect, signs), writing.clone()))
    });
    let found = texts.filter_map(|(text, writing)| {
        let places = || after_key.match_indices(&text).map(|(at, _)| at);
        // `<arg k type=null>null</arg>`: the value is the second, behind the sign that texts stand behind.
        let alike = places().find(|at| after_key[..*at].chars().next_back() == sign);
        let at = alike.or_else(|| after_key.rfind(&text));
        // `true` may stand far behind, in another part of the turn: that is no value of this key.
        let at = at.filter(|at| *at <= LONGEST)?;
        Some((at..at + text.len(), writing))
    });
    found.min_by_key(|(range, _)| range.start)
}

/// What stands before a text, and how the text is written. A text with signs in it that need escapes
/// shows it best; `plain` is how one without is written.
fn text_form(
    words: &CallWords,
    plain: &ValueWriting,
    with: &impl Fn(Value) -> Option<String>,
) -> Option<(String, ValueWriting)> {
    let (word, special) = (words.values[0].as_str(), words.needs_escaping());
    let after_plain = with(word.into())?;
    let (before, behind) = after_plain.split_once(word)?;
    if before.len() > LONGEST {
        return None;
    }
    let after_special = with(special.as_str().into()).unwrap_or_default();
    if holds_escaped(&after_special, &special) {
        // The quote belongs to the value: `: "` before a text is `: ` before any value.
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
        // A quote with a backslash before it is JSON's, whatever becomes of line breaks.
        if after_quoted.contains(&format!("{first}\\\"{second}")) {
            let writing = ValueWriting::Json(Dialect::default());
            return Some((between.to_owned(), writing));
        }
    }
    if let ValueWriting::Wrapped { open, .. } = plain {
        let between = before.strip_suffix(open.as_str())?;
        return Some((between.to_owned(), plain.clone()));
    }
    let Some((before_special, behind_special)) = after_special.split_once(special.as_str()) else {
        // What is neither written as it is nor with escapes is not understood.
        return after_special
            .is_empty()
            .then(|| (before.to_owned(), ValueWriting::Raw));
    };
    let is_quoted = before.ends_with('"') && behind.starts_with('"');
    if let Some(between) = before.strip_suffix('"').filter(|_| is_quoted)
        // Where numbers have quotes as well, as in `k="7"`, these are the attribute's, and not the text's.
        && number_is_bare(with)
    {
        // Quotes of texts alone, but no escapes.
        return Some((between.to_owned(), wrapped("\"", "\"", true)));
    }
    let open = before_special.strip_prefix(before).unwrap_or_default();
    let close = behind_special.strip_suffix(behind).unwrap_or_default();
    // `<![CDATA[a < b]]>` stands around such texts only. What stands on one side is no wrapping.
    let writing = match open.is_empty() || close.is_empty() {
        true => ValueWriting::Raw,
        false => wrapped(open, close, false),
    };
    Some((before.to_owned(), writing))
}

fn wrapped(open: &str, close: &str, always: bool) -> ValueWriting {
    ValueWriting::Wrapped {
        open: open.to_owned(),
        close: close.to_owned(),
        always,
    }
}

/// Whether a text holds another with escapes. Quotes don't count: the probe of a plain text shows these.
fn holds_escaped(text: &str, special: &str) -> bool {
    let as_json = json::write(&Value::from(special));
    let in_python = special.replace('\\', "\\\\").replace('\n', "\\n");
    let in_python = in_python.replace('\'', "\\'");
    let escaped = [as_json.trim_matches('"'), in_python.trim_matches('\'')];
    escaped.iter().any(|escaped| text.contains(escaped))
}

/// Whether no quotes stand around a number.
fn number_is_bare(with: &impl Fn(Value) -> Option<String>) -> bool {
    let Some(number) = sample(ValueType::Integer) else {
        return false;
    };
    let after = with(number.clone()).unwrap_or_default();
    let before = after.split_once(&json::write(&number));
    before.is_some_and(|(before, _)| !before.ends_with('"'))
}

/// The dialect of lists and objects whose texts stand between these quotes: an object shows whether keys do, too.
fn nested(open: &str, close: &str, with: &impl Fn(Value) -> Option<String>) -> Dialect {
    let quoted = Dialect {
        string_delimiters: Some((open.to_owned(), close.to_owned())),
        ..Dialect::default()
    };
    let bare = Dialect {
        unquoted_keys: true,
        ..quoted.clone()
    };
    // `{k:<q>a<q>}`: where texts have quotes of their own, keys may have none.
    let is_bare = sample(ValueType::Object).is_some_and(|object| {
        let after = with(object.clone()).unwrap_or_default();
        let mut texts = SIGNS.iter().map(|signs| in_dialect(&object, &bare, *signs));
        texts.any(|text| after.contains(&text))
    });
    if is_bare { bare } else { quoted }
}

/// A value in a dialect of JSON, with these signs between values and behind keys.
fn in_dialect(value: &Value, dialect: &Dialect, signs: [&str; 2]) -> String {
    let quoted = |text: &str| match &dialect.string_delimiters {
        Some((open, close)) => format!("{open}{text}{close}"),
        None => json::write(&Value::from(text)),
    };
    let [comma, colon] = signs;
    match value {
        Value::Null if dialect.python_literals => "None".to_owned(),
        Value::Bool(true) if dialect.python_literals => "True".to_owned(),
        Value::Bool(false) if dialect.python_literals => "False".to_owned(),
        Value::Array(items) => {
            let items = items.iter().map(|item| in_dialect(item, dialect, signs));
            format!("[{}]", items.collect::<Vec<_>>().join(comma))
        }
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| {
                let key = key.to_string_lossy();
                let key = match dialect.unquoted_keys {
                    true => key.into_owned(),
                    false => quoted(&key),
                };
                format!("{key}{colon}{}", in_dialect(value, dialect, signs))
            });
            format!("{{{}}}", entries.collect::<Vec<_>>().join(comma))
        }
        Value::String(text) => quoted(&text.to_string_lossy()),
        other => json::write(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::words;

    fn quoted(open: &str, close: &str) -> Dialect {
        Dialect {
            string_delimiters: Some((open.to_owned(), close.to_owned())),
            ..Dialect::default()
        }
    }

    #[test]
    fn a_value_that_is_no_text_stands_behind_the_sign_that_texts_stand_behind() {
        let literals = Dialect {
            python_literals: true,
            ..Dialect::default()
        };
        let json = |dialect| Some(ValueWriting::Json(dialect));
        // The value stands between `^` and `^`.
        for (kind, between, marked, expected) in [
            (
                ValueType::Integer,
                ">",
                ">^918273645^</k>",
                json(Dialect::default()),
            ),
            (
                ValueType::Boolean,
                ">",
                ">^True^</k>",
                Some(ValueWriting::Python),
            ),
            (
                ValueType::Array,
                "=",
                "=^[\"zqa\",true]^",
                json(Dialect::default()),
            ),
            (
                ValueType::Array,
                "=",
                "=^['zqa', True]^",
                Some(ValueWriting::Python),
            ),
            // Quotes as in JSON and literals as in Python.
            (ValueType::Array, "=", "=^[\"zqa\", True]^", json(literals)),
            (
                ValueType::Array,
                "=<q>",
                "=^[<q>zqa<q>, true]^",
                json(quoted("<q>", "<q>")),
            ),
            // What stands before a value may name its type; quotes of texts are no sign of theirs.
            (
                ValueType::Null,
                ">",
                " type=null>^null^</k>",
                json(Dialect::default()),
            ),
            (
                ValueType::Null,
                ": \"",
                ": ^null^}",
                json(Dialect::default()),
            ),
            (
                ValueType::Null,
                ">",
                ">^null^</k type=null>",
                json(Dialect::default()),
            ),
            (ValueType::Boolean, ">", ">yes</k>", None),
        ] {
            let value = sample(kind).expect("it is no text");
            let dialect = quoted("<q>", "<q>");
            let found = plain_form(&value, Some(&dialect), between, &marked.replace('^', ""));
            let start = marked.find('^').unwrap_or(0);
            // The second `^` stands one behind the end of the value, since the first was there as well.
            let end = marked.rfind('^').map_or(0, |end| end - 1);
            let expected = expected.map(|writing| (start..end, writing));
            assert_eq!(found, expected, "{marked}");
        }
        // It stands far behind, in another part of the turn.
        let far = format!(">{}true", " ".repeat(LONGEST));
        assert_eq!(plain_form(&true.into(), None, ">", &far), None);
    }

    /// How texts are written by something that writes a value.
    fn form(plain: &ValueWriting, write: impl Fn(&Value) -> Option<String>) -> String {
        let words = words();
        let found = text_form(&words, plain, &|value| write(&value));
        found.map_or("nothing".to_owned(), |(between, writing)| {
            format!("{between} {writing:?}")
        })
    }

    #[test]
    fn a_text_with_signs_in_it_shows_how_texts_are_written() {
        let raw = ValueWriting::Raw;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let bare = |value: &Value| text(value).unwrap_or_else(|| json::write(value));
        let json = "Json(Dialect { unquoted_keys: false, string_delimiters: None, python_literals: false })";
        let found = form(&raw, |value| Some(format!(">{}<", bare(value))));
        assert_eq!(found, "> Raw");
        let found = form(&raw, |value| Some(format!(": {}}}", json::write(value))));
        assert_eq!(found, format!(":  {json}"));
        // Python's quotes, and its escapes.
        let found = form(&raw, |value| {
            Some(format!("='{}')", bare(value).replace('\n', "\\n")))
        });
        assert_eq!(found, "= Python");
        // Quotes of texts alone, and no escapes; but not where numbers have them, too.
        let found = form(&raw, |value| match text(value) {
            Some(text) => Some(format!("=\"{text}\">")),
            None => Some(format!("={}>", json::write(value))),
        });
        assert_eq!(
            found,
            "= Wrapped { open: \"\\\"\", close: \"\\\"\", always: true }"
        );
        let found = form(&raw, |value| Some(format!("=\"{}\">", bare(value))));
        assert_eq!(found, "=\" Raw");
        // A quote with a backslash is JSON's, whatever becomes of line breaks.
        let found = form(&raw, |value| {
            Some(format!(
                "=\"{}\">",
                bare(value).replace('"', "\\\"").replace('\n', " ")
            ))
        });
        assert_eq!(found, format!("= {json}"));
        // Texts with signs in them are wrapped, and no others; what stands on one side is no wrapping.
        let special = |value: &Value| text(value).is_some_and(|text| text.contains('<'));
        let found = form(&raw, |value| match special(value) {
            true => Some(format!("><![{}]]></k>", bare(value))),
            false => Some(format!(">{}</k>", bare(value))),
        });
        assert_eq!(
            found,
            "> Wrapped { open: \"<![\", close: \"]]>\", always: false }"
        );
        let found = form(&raw, |value| match special(value) {
            true => Some(format!(">\n{}</k>", bare(value))),
            false => Some(format!(">{}</k>", bare(value))),
        });
        assert_eq!(found, "> Raw");
        // What is neither written as it is nor with escapes is not understood; what is refused tells nothing.
        let found = form(&raw, |value| {
            Some(format!(">{}<", bare(value).replace('<', "&lt;")))
        });
        assert_eq!(found, "nothing");
        let found = form(&raw, |value| {
            (!special(value)).then(|| format!(">{}<", bare(value)))
        });
        assert_eq!(found, "> Raw");
        let found = form(&wrapped("<q>", "<q>", true), |value| {
            Some(format!(":<q>{}<q>", bare(value)))
        });
        assert_eq!(
            found,
            ": Wrapped { open: \"<q>\", close: \"<q>\", always: true }"
        );
    }

    #[test]
    fn keys_may_have_no_quotes_where_texts_have_their_own() {
        for (written, expected) in [
            (":{zqk:true}", true),
            (":{zqk: true}", true),
            (":{<q>zqk<q>:true}", false),
            (":{\"zqk\": true}", false),
        ] {
            let found = nested("<q>", "<q>", &|_| Some(written.to_owned()));
            assert_eq!(found.unquoted_keys, expected, "{written}");
        }
    }

    #[test]
    fn one_argument_is_taken_out_of_its_call() {
        let words = words();
        let close = format!("</{KEY_SLOT}>");
        for (before, behind, expected) in [
            ("<f><", "</ka></f>", Some(("<".to_owned(), close.clone()))),
            (
                "<f><num ",
                "</ka></f>",
                Some(("<num ".to_owned(), close.clone())),
            ),
            // More of the call has changed than what stands around the argument.
            ("<g><", "</ka></f>", None),
            ("<f><", "</ka></g>", None),
        ] {
            let around = PairDelimiters {
                open: "<".to_owned(),
                between: ">".to_owned(),
                close: close.clone(),
            };
            let call = CallAround::of(&words, &around, "<f><", ">va</ka></f>");
            let call = call.expect("it has the argument");
            assert_eq!(
                call.around(&words, before, behind),
                expected,
                "{before}{behind}"
            );
        }
    }
}
