//! The field for calls, and how the body of a call becomes a name and arguments.

use crate::analysis::{CallBody, CallKeys, Slot, Tagged};
use crate::derive::regex::{any_of, char_until, exact, loose};
use crate::format::Dialect;
use crate::value::{Object, Value};

use super::call_texts::literal_open;
use super::drafter::Drafter;

impl Drafter<'_> {
    /// The field for calls.
    pub(super) fn calls(&self) -> Option<Object> {
        let shape = self.findings.calls.as_ref()?;
        let mut field = Object::new();
        match literal_open(shape) {
            Some(open) => field.insert("open", open),
            None => field.insert("open_pattern", self.open_pattern(shape)),
        };
        self.close_calls(shape, &mut field);
        let is_array = matches!(shape.body, CallBody::Array(..));
        if !is_array {
            field.insert("repeats", true);
        }
        let with_id = self.captures_id(shape);
        match &shape.body {
            CallBody::Object(keys, dialect) => {
                json_content(&mut field, dialect);
                if let Some(transform) = self.transform(keys, "content.") {
                    field.insert("transform", transform);
                }
            }
            CallBody::Array(keys, dialect) => {
                json_content(&mut field, dialect);
                if let Some(transform) = self.transform(keys, "") {
                    field.insert("transform", transform);
                    field.insert("transform_each", true);
                }
            }
            CallBody::Arguments(dialect) => {
                json_content(&mut field, dialect);
                field.insert("transform", call_of("{name}", "{content}", with_id));
            }
            CallBody::Tagged(tagged) => {
                field.insert("content", "xml-inline");
                field.insert("content_args", self.tagged(tagged));
                field.insert("transform", call_of("{name}", "{content}", with_id));
            }
            CallBody::Python => {
                field.insert("content", "xml-inline");
                field.insert("content_args", python_arguments());
                field.insert("transform", call_of("{name}", "{content}", with_id));
            }
        }
        Some(field)
    }

    /// The shape of a call whose parts are under keys, unless it is in shape already.
    fn transform(&self, keys: &CallKeys, root: &str) -> Option<Value> {
        let is = |path: &[String], names: &[&str]| {
            path.iter().map(String::as_str).eq(names.iter().copied())
        };
        let has_only = |names: &[&str]| keys.all.iter().all(|key| names.contains(&key.as_str()));
        let nested = is(&keys.name, &["function", "name"])
            && is(&keys.arguments, &["function", "arguments"]);
        let keeps_id = keys.id.as_deref().is_some_and(|id| is(id, &["id"]));
        if nested
            && keys.all.iter().any(|key| key == "type")
            && has_only(&["type", "function", "id"])
            && (self.options.ids || !keeps_id)
        {
            return None;
        }
        let with_id = self.options.ids && keys.id.is_some();
        if !root.is_empty()
            && !with_id
            && is(&keys.name, &["name"])
            && is(&keys.arguments, &["arguments"])
            && has_only(&["name", "arguments"])
        {
            let call = [("type", "function"), ("function", "{content}")];
            return Some(Object::from_iter(call).into());
        }
        let place = |path: &[String]| format!("{{{root}{}}}", path.join("."));
        let function = Object::from_iter([
            ("name", place(&keys.name)),
            ("arguments", place(&keys.arguments)),
        ]);
        let mut call = Object::from_iter([("type", "function")]);
        if let (true, Some(id)) = (self.options.ids, &keys.id) {
            call.insert("id", place(id));
        }
        call.insert("function", function);
        Some(call.into())
    }

    fn tagged(&self, tagged: &Tagged) -> Object {
        let mut between = variants(&tagged.between);
        let mut wrapping_end = String::new();
        if let Some((open, close)) = &tagged.wrapping {
            between.push_str(&format!("(?:{})?", exact(open)));
            wrapping_end = format!("(?:{})?", exact(close));
        }
        let key = match tagged.between[0].chars().next() {
            // Between quotes a key may have white space in it.
            Some(quote @ ('"' | '\'')) => format!("[^{quote}]"),
            _ => char_until(&tagged.between[0]),
        };
        let value = match tagged.close.is_empty() {
            // Only a separator shows where a value ends.
            true => match tagged.separator.trim().chars().next() {
                Some(stop) => format!("(?P<value>[^{}\\n]*)", exact(&stop.to_string())),
                None => "(?P<value>[^\\n]*)".to_owned(),
            },
            false => {
                let slots = tagged.close.iter().enumerate();
                let close = slots.map(|(at, slot)| match slot {
                    Slot::Text(text) if at == 0 => after_value(text.trim_end()),
                    Slot::Text(text) => loose(text.trim_end()),
                    _ => format!("{key}+"),
                });
                let close = close.collect::<String>();
                let separator = match tagged.separator.trim() {
                    "" => String::new(),
                    separator => format!("(?:{})?\\s*", loose(separator)),
                };
                // A value may hold elements, too: the last closer before the next key is its own.
                let ahead = match tagged.close.contains(&Slot::Key) {
                    true => format!(
                        "(?=\\s*{separator}(?:{}\\w|\\Z))",
                        loose(tagged.open.trim_start())
                    ),
                    false => String::new(),
                };
                format!("(?P<value>.*?){wrapping_end}{close}{ahead}")
            }
        };
        let open = tagged.open.trim();
        let separator = match tagged.separator.trim() {
            // It must not be taken for what opens an argument.
            separator if !open.is_empty() && separator.starts_with(open) => {
                format!("(?:{})?\\s*", loose(separator))
            }
            _ => String::new(),
        };
        let pattern = format!(
            "{separator}{}(?P<key>{key}+){between}{value}",
            loose(tagged.open.trim_start()),
        );
        let mut arguments = Object::from_iter([("tag_pattern", pattern)]);
        if self.options.guess_types || tagged.json_values {
            arguments.insert("value_parser", json_or_text());
        }
        arguments
    }
}

/// One of several texts, of which only the middle differs.
fn variants(texts: &[String]) -> String {
    let [first, second] = texts else {
        return texts
            .first()
            .map_or_else(String::new, |text| before_value(text));
    };
    let start = first
        .chars()
        .zip(second.chars())
        .take_while(|(a, b)| a == b);
    let start: usize = start.map(|(a, _)| a.len_utf8()).sum();
    // Words are not cut.
    let start = first[..start].trim_end_matches(char::is_alphanumeric).len();
    let (a, b) = (&first[start..], &second[start..]);
    let end = a
        .chars()
        .rev()
        .zip(b.chars().rev())
        .take_while(|(a, b)| a == b);
    let end: usize = end.map(|(a, _)| a.len_utf8()).sum();
    let end = a[a.len() - end..]
        .trim_start_matches(char::is_alphanumeric)
        .len();
    let middles = [&a[..a.len() - end], &b[..b.len() - end]];
    let is_word = |text: &&str| !text.is_empty() && text.chars().all(char::is_alphanumeric);
    let middle = match middles.iter().all(is_word) {
        // A word that names the value's type: there are more types than two.
        true => "\\w+".to_owned(),
        false => any_of(&middles.map(exact)),
    };
    let (lead, trail) = (loose(&first[..start]), before_value(&a[a.len() - end..]));
    format!("{lead}{middle}{trail}")
}

/// White space after a marker and before a value: what the format writes is not the value's.
fn before_value(text: &str) -> String {
    let marker = text.trim_end();
    let space = &text[marker.len()..];
    format!("{}{}", loose(marker), optional(space))
}

/// White space after a value and before a marker.
fn after_value(text: &str) -> String {
    let marker = text.trim_start();
    let space = &text[..text.len() - marker.len()];
    format!("{}{}", optional(space), loose(marker))
}

fn optional(space: &str) -> String {
    match space.chars().count() {
        0 => String::new(),
        1 => format!("{}?", exact(space)),
        _ => format!("(?:{})?", exact(space)),
    }
}

fn json_content(field: &mut Object, dialect: &Dialect) {
    field.insert("content", "json");
    let mut arguments = Object::new();
    if dialect.unquoted_keys {
        arguments.insert("unquoted_keys", true);
    }
    if let Some((open, close)) = &dialect.string_delimiters {
        let pair: Value = vec![open.as_str().into(), close.as_str().into()].into();
        arguments.insert("string_delims", vec![pair]);
    }
    if !arguments.is_empty() {
        field.insert("content_args", arguments);
    }
}

fn json_or_text() -> Object {
    let mut parser = Object::from_iter([("name", "json")]);
    parser.insert("args", Object::from_iter([("allow_non_json", true)]));
    parser
}

/// Arguments as Python writes them.
///
/// A string in single quotes with no quote and no backslash in it is captured from the sign before it
/// on, as in `='7'`, which is what the value parser knows strings by: `7` would be a number. Another
/// goes on to the quote that the next key or the end follows, since models don't escape quotes. Then
/// there are strings in double quotes, which are JSON, and whatever else goes on to the next key.
fn python_arguments() -> Object {
    let end = r"\s*(?:,\s*\w+\s*=|\Z)";
    let plain = format!("='[^'\\\\]*'(?={end})");
    let single = format!(r"(?<=')(?:[^\\]|\\.)*?(?='{end})");
    let double = r#""(?:[^"\\]|\\.)*""#;
    let other = format!("(?!=).*?(?={end})");
    let pattern =
        format!("(?P<key>\\w+)(?:(?==')|\\s*=\\s*'?)(?P<value>{plain}|{single}|{double}|{other})");
    let mut arguments = Object::from_iter([("tag_pattern", pattern)]);
    let mut parser = Object::from_iter([("name", "json")]);
    let mut own = Object::from_iter([("allow_non_json", true)]);
    let quotes: Value = vec!["='".into(), "'".into()].into();
    own.insert("string_delims", vec![quotes]);
    parser.insert("args", own);
    arguments.insert("value_parser", parser);
    arguments
}

fn call_of(name: &str, arguments: &str, with_id: bool) -> Object {
    let function = Object::from_iter([("name", name), ("arguments", arguments)]);
    let mut call = Object::from_iter([("type", "function")]);
    if with_id {
        call.insert("id", "{id}");
    }
    call.insert("function", function);
    call
}
