//! JSON Schemas as nodes.
//!
//! What a grammar can't hold of a schema is named in a warning. Where a schema says nothing of further
//! properties, there are none: models are offered what is declared.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use super::builder::{Builder, any_integer, any_number, any_string, character, key, plain_text};
use super::escape::within_string;
use indexmap::IndexMap;

use super::Rule;
use super::expr::{Expr, Member, Members, SchemaNode};
use super::limits::{Limit, NAMED, Origin, Path, TooMuch, short_name, shortened};
use super::notation::Notation;
use super::{automaton, integer_range, other_keys, pattern};
use crate::format::shown;
use crate::json;
use crate::value::{Object, Value, pointer_tokens};

/// Keys of a schema that no grammar holds here.
const BEYOND: [&str; 17] = [
    "not",
    "if",
    "patternProperties",
    "propertyNames",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "minProperties",
    "maxProperties",
    "uniqueItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "multipleOf",
    "unevaluatedProperties",
    "$dynamicRef",
    "$recursiveRef",
];

/// Keys of a schema that say nothing of values.
const ANNOTATIONS: [&str; 14] = [
    "$schema",
    "$id",
    "$anchor",
    "$comment",
    "$defs",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$ref",
];

/// Longer repeats are not counted: engines write each one out.
const MAX_COUNT: u64 = 1000;

/// References are followed so deep, if they lead to nothing else.
const MAX_REFERENCES: usize = 32;

/// So many schemas within one are looked at for their types: they may refer to themselves.
const MAX_LOOKS: usize = 1000;

/// Writes the nodes of a schema.
///
/// Each schema that is more than a word is a rule, which is the same for all that say the same. So what a list holds is not
/// written twice, and what many refer to is written once. What `$ref` leads to, and what `allOf` makes of its parts, waits until
/// the rest is written: it may hold itself, and a row of references takes no stack.
pub(super) struct SchemaRules<'b> {
    p: &'b Builder,
    /// What rules are named after.
    name: String,
    tool: Option<Arc<str>>,
    root: &'b Value,
    notation: Notation,
    /// The place of the schema that is being written.
    path: Path,
    /// The names after which the path is that of another value.
    above: usize,
    known: Known,
    waiting: VecDeque<Waiting<'b>>,
    /// In so many brackets.
    depth: usize,
}

/// The rules of what references point to, and of what `allOf` makes of its parts, for all schemas that have the same definitions.
/// Each stands under what it is made of, in a notation, outside or within brackets: Python's words stand in none.
pub(super) type Known = Rc<RefCell<HashMap<(usize, bool, String), Expr>>>;

/// A rule that is not written yet.
struct Waiting<'b> {
    rule: String,
    schema: Cow<'b, Value>,
    path: Path,
    is_within: bool,
}

impl<'b> SchemaRules<'b> {
    pub(super) fn new(
        p: &'b Builder,
        name: &str,
        root: &'b Value,
        notation: Notation,
    ) -> SchemaRules<'b> {
        SchemaRules {
            p,
            name: name.to_owned(),
            tool: None,
            root,
            notation,
            path: Path::default(),
            above: 0,
            known: Known::default(),
            waiting: VecDeque::new(),
            depth: 0,
        }
    }

    /// The same for a part of the parameters of a tool, whose schemas have these rules.
    pub(super) fn of_tool(self, tool: &Arc<str>, path: Path, known: &Known) -> SchemaRules<'b> {
        SchemaRules {
            tool: Some(Arc::clone(tool)),
            above: path.steps().count(),
            path,
            known: Rc::clone(known),
            ..self
        }
    }

    fn warn(&self, what: &str) {
        self.p.warn(format!("{}: {what}", shortened(&self.name)));
    }

    /// A value that a schema describes, together with that.
    pub(super) fn node(mut self, schema: &Value) -> Expr {
        let expr = self.value(schema);
        // As a schema, it would look like something that can be written.
        if expr.is_never() {
            return expr;
        }
        Expr::Schema(Box::new(SchemaNode {
            name: short_name(&self.name).to_owned(),
            schema: schema.clone(),
            notation: self.notation,
            expr,
        }))
    }

    /// A value that a schema describes.
    fn value(&mut self, schema: &Value) -> Expr {
        let expr = self.inner(schema);
        let mut made = Vec::new();
        while let Some(waiting) = self.waiting.pop_front() {
            self.path = waiting.path;
            self.depth = usize::from(waiting.is_within);
            let expr = self.inner(&waiting.schema);
            self.p.define(&waiting.rule, expr);
            made.push(waiting.rule);
        }
        for rule in self.p.break_circles(&made, || self.any()) {
            self.warn(&format!(
                "the schema of `{rule}` leads back to itself before it says anything: any value is allowed"
            ));
        }
        expr
    }

    /// Takes steps for what is to be done; if there are not so many, that is noted.
    fn may_take(&self, steps: usize) -> bool {
        let may = self.p.room.take_steps(steps);
        if !may {
            let place = self.origin().place();
            let limit = Limit::Steps;
            self.p.note(TooMuch { place, limit });
        }
        may
    }

    fn origin(&self) -> Origin {
        Origin::new(self.tool.clone(), self.path.clone())
    }

    /// The value of a schema within the one that is being written, as a rule if it is more than a word.
    fn below(&mut self, steps: &[&str], schema: &Value) -> Expr {
        let above = self.path.clone();
        let path = steps.iter();
        self.path = path.fold(above.clone(), |path, step| path.below(step));
        let expr = self.inner(schema);
        let rule = self.p.shared(&self.rule_name(), expr, &self.origin());
        self.path = above;
        rule
    }

    /// The name of the rule of the schema that is being written: after the key that it stands under.
    fn rule_name(&self) -> String {
        let own = self.path.steps().count() - self.above;
        let steps: Vec<&str> = self.path.steps().take(own).collect();
        let key = steps.windows(2).find(|pair| NAMED.contains(&pair[1]));
        let name = short_name(&self.name);
        let name = match key {
            Some(pair) => format!("{name}-{}", short_name(pair[0])),
            None => name.to_owned(),
        };
        match steps.first() {
            Some(step) if ["items", "prefixItems"].contains(step) => format!("{name}-item"),
            _ => format!("{name}-value"),
        }
    }

    /// The value of the schema that is being written.
    fn inner(&mut self, schema: &Value) -> Expr {
        let schema = match schema {
            Value::Bool(true) => return self.any(),
            Value::Bool(false) => return Expr::NEVER,
            Value::Object(schema) => schema,
            _ => {
                self.warn("what is not a schema allows any value");
                return self.any();
            }
        };
        let listed = schema.get("enum").and_then(Value::as_array);
        if !self.may_take(1 + listed.map_or(0, <[Value]>::len)) {
            return self.any();
        }
        self.warn_of_beyond(schema);
        // Older drafts of JSON Schema take nothing that stands beside `$ref`, newer ones take both. Here the
        // reference alone counts.
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            for (key, _) in schema {
                let key = key.to_string_lossy();
                if !ANNOTATIONS.contains(&key.as_ref()) && !BEYOND.contains(&key.as_ref()) {
                    self.warn(&format!(
                        "`{}` beside `$ref` is not enforced",
                        shortened(&key)
                    ));
                }
            }
            return self.reference(reference);
        }
        if let Some(value) = schema.get("const") {
            return self.constant(value);
        }
        if let Some(values) = listed {
            // `{"type": "string", "enum": [1, "a"]}` allows `"a"` alone.
            let types = types_of(schema);
            let is_of_type =
                |value: &&Value| types.is_empty() || types.iter().any(|kind| is_of(value, kind));
            let mut values: Vec<&Value> = values.iter().filter(is_of_type).collect();
            // Of `1` and `10`, the first would fit `10` and leave a `0`.
            values.sort_by_cached_key(|value| std::cmp::Reverse(digits_of(value)));
            return Expr::choice(values.into_iter().map(|value| self.constant(value)));
        }
        if let Some((key, _)) = variants_of(schema) {
            if schema.contains_key("oneOf") {
                self.warn("`oneOf` is enforced as `anyOf`: more than one may fit");
            }
            if !self.may_take(cost_of_variants(schema)) {
                return self.any();
            }
            let variants = variants(schema).unwrap_or_default().into_iter().enumerate();
            let mut variants: Vec<(usize, Value)> = variants.collect();
            variants.sort_by_cached_key(|(_, one)| number_rank(self.root, one));
            let all = variants
                .iter()
                .map(|(at, one)| self.below(&[key, &at.to_string()], one));
            return Expr::choice(all.collect::<Vec<_>>());
        }
        if let Some(all) = schema.get("allOf").and_then(Value::as_array) {
            return match self.merged(schema, all) {
                Some(merged) if has_schemas(&merged) => {
                    let (name, path) = (self.rule_name(), self.path.clone());
                    self.waits(&json::write(&merged), &name, path, Cow::Owned(merged))
                }
                Some(merged) => self.inner(&merged),
                None => self.any(),
            };
        }
        let mut types = types_of(schema);
        if types.is_empty() {
            return self.any();
        }
        if types.iter().any(|kind| kind == "number") {
            // A whole number is a number already, and of several the first that fits is taken.
            types.retain(|kind| kind != "integer");
        }
        let all: Vec<Expr> = types
            .iter()
            .map(|kind| self.of_type(kind, schema))
            .collect();
        Expr::choice(all)
    }

    fn warn_of_beyond(&self, schema: &Object) {
        for key in BEYOND {
            // `"uniqueItems": false` asks for nothing.
            if schema.contains_key(key) && !matches!(schema.get(key), Some(Value::Bool(false))) {
                self.warn(&format!("`{key}` is not enforced"));
            }
        }
    }

    fn of_type(&mut self, kind: &str, schema: &Object) -> Expr {
        match kind {
            "string" => self.string(schema),
            "integer" => self.integer(schema),
            "number" => self.number(schema),
            "boolean" => {
                let is_within = self.depth > 0;
                Expr::choice([Some(true), Some(false)].map(|word| self.word(word, is_within)))
            }
            "null" => self.word(None, self.depth > 0),
            "array" | "object" => {
                self.depth += 1;
                let expr = match kind {
                    "array" => self.array(schema),
                    _ => self.object(schema),
                };
                self.depth -= 1;
                expr
            }
            other => {
                let other = shortened(other);
                self.warn(&format!("the type `{other}` is not known: any value is"));
                self.any()
            }
        }
    }

    /// A word for true, false or nothing. Those of Python are read by their types, which response templates
    /// know of whole arguments only.
    fn word(&self, word: Option<bool>, is_within: bool) -> Expr {
        let written = self.notation.word(word);
        if is_within && self.notation.python_words {
            self.warn(&format!(
                "`{written}` can't be written within brackets: no response template reads it there"
            ));
            return Expr::NEVER;
        }
        written.into()
    }

    fn any(&self) -> Expr {
        self.p.json_rules(&self.notation).value()
    }

    fn reference(&mut self, reference: &str) -> Expr {
        let Some(target) = resolve(self.root, reference) else {
            self.warn(&format!(
                "`$ref` to `{}` leads nowhere: any value is allowed",
                shortened(reference)
            ));
            return self.any();
        };
        if *follow(self.root, target) == Value::Bool(false) {
            return Expr::NEVER;
        }
        let last = reference.rsplit('/').next().unwrap_or(reference);
        let name = format!("{}-{}", short_name(&self.name), short_name(last));
        let path = Path::of(reference.trim_start_matches('#'));
        self.waits(reference, &name, path, Cow::Borrowed(target))
    }

    /// The rule of a schema that may hold itself. It is known before it is made.
    fn waits(&mut self, key: &str, name: &str, path: Path, schema: Cow<'b, Value>) -> Expr {
        let is_within = self.depth > 0;
        let notation = self.p.notation_number(&self.notation);
        let key = (notation, is_within, key.to_owned());
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        let origin = Origin::new(self.tool.clone(), path.clone());
        let rule = self.p.reserve(name, Some(origin));
        let expr = Expr::Rule(rule.clone());
        self.known.borrow_mut().insert(key, expr.clone());
        self.waiting.push_back(Waiting {
            rule,
            schema,
            path,
            is_within,
        });
        expr
    }

    /// A schema together with those of its `allOf`, if that takes no more steps than there are.
    fn merged(&self, schema: &Object, all: &[Value]) -> Option<Value> {
        if !self.may_take(size_of_object(schema)) {
            return None;
        }
        let mut merged = schema.clone();
        merged.remove("allOf");
        let mut waiting: Vec<&Value> = all.iter().rev().collect();
        let mut seen: HashSet<*const Object> = HashSet::new();
        while let Some(part) = waiting.pop() {
            // What leads back to a part says nothing new.
            let part = follow(self.root, part).as_object();
            let Some(part) = part.filter(|part| seen.insert(std::ptr::from_ref(*part))) else {
                continue;
            };
            if seen.len() > MAX_LOOKS {
                self.warn(&format!(
                    "`allOf` has too many parts: the first {MAX_LOOKS} count"
                ));
                break;
            }
            if !self.may_take(size_of_object(part)) {
                return None;
            }
            if let Some(Value::Array(all)) = part.get("allOf") {
                // They come in the order in which they stand: of two that say otherwise, the first counts.
                waiting.extend(all.iter().rev());
            }
            for (key, value) in part {
                let key = key.to_string_lossy();
                if key != "allOf" {
                    self.merge(&mut merged, &key, value);
                }
            }
        }
        Some(merged.into())
    }

    /// Adds what a part of `allOf` says under a key.
    fn merge(&self, merged: &mut Object, key: &str, value: &Value) {
        let warn_of_first = |of: &str| {
            self.warn(&format!(
                "`allOf` has more than one `{}`{of}: the first counts",
                shortened(key)
            ));
        };
        match (merged.get_mut(key), value) {
            // `properties` of several parts are those of one object.
            (Some(Value::Object(known)), Value::Object(more)) => {
                for (name, value) in more {
                    let name = name.to_string_lossy();
                    match known.get(&name) {
                        None => {
                            known.insert(name.as_ref(), value.clone());
                        }
                        Some(first) if first != value => {
                            warn_of_first(&format!(" of `{}`", shortened(&name)));
                        }
                        Some(_) => {}
                    }
                }
            }
            // Each of the parts may ask for keys, and all of them have to be there.
            (Some(Value::Array(known)), Value::Array(more)) if key == "required" => {
                let names: HashSet<&str> = known.iter().filter_map(Value::as_str).collect();
                let is_new =
                    |name: &&Value| !name.as_str().is_some_and(|name| names.contains(name));
                let more: Vec<Value> = more.iter().filter(is_new).cloned().collect();
                known.extend(more);
            }
            (Some(known), value) if known != value => warn_of_first(""),
            (Some(_), _) => {}
            (None, value) => {
                merged.insert(key, value.clone());
            }
        }
    }

    /// A value that is known.
    pub(super) fn constant(&self, value: &Value) -> Expr {
        self.known(value, self.depth > 0)
    }

    fn known(&self, value: &Value, is_within: bool) -> Expr {
        let (comma, gap) = (|| self.notation.comma(), || self.notation.gap());
        let listed = |open: &str, items: Vec<Expr>, close: &str| {
            let mut parts = vec![open.into(), gap()];
            for (at, item) in items.into_iter().enumerate() {
                if at > 0 {
                    parts.push(comma());
                }
                parts.push(item);
            }
            parts.extend([gap(), close.into()]);
            Expr::sequence(parts)
        };
        match value {
            Value::Null => self.word(None, is_within),
            Value::Bool(is) => self.word(Some(*is), is_within),
            Value::String(text) => self.quoted(&text.to_string_lossy()),
            Value::Number(_) => json::write(value).into(),
            Value::Array(items) => {
                let items = items.iter().map(|item| self.known(item, true)).collect();
                listed("[", items, "]")
            }
            Value::Object(entries) => {
                let entries = entries.iter().map(|(key, value)| {
                    let key = self.key(&key.to_string_lossy());
                    self.member(key, self.known(value, true))
                });
                listed("{", entries.collect(), "}")
            }
        }
    }

    /// A key with its value.
    fn member(&self, key: Expr, value: Expr) -> Expr {
        Expr::sequence([key, self.notation.colon(), value])
    }

    fn key(&self, key: &str) -> Expr {
        let is_word = || key.chars().all(|c| c.is_alphanumeric() || c == '_');
        match self.notation.bare_keys {
            // `{a b: 1}` could not be read back: a key without quotes is one word.
            true if key.is_empty() || !is_word() => {
                let key = shortened(key);
                self.warn(&format!("the key {key:?} can't be written without quotes"));
                Expr::NEVER
            }
            true => key.into(),
            false => self.quoted(key),
        }
    }

    fn quoted(&self, text: &str) -> Expr {
        let strings = self.notation.strings.iter();
        let outside = &self.notation.outside;
        // Where it can't be said, it counts as standing there: better not written than read otherwise.
        let can_stand = |text: &String| automaton::stands_in(text, outside) == Some(false);
        let written = strings.filter_map(|quotes| Notation::quoted(text, quotes));
        let mut written = written.filter(can_stand);
        match written.next() {
            Some(text) => text.into(),
            None => {
                let text = shortened(text);
                self.warn(&format!(
                    "{text:?} can't be written in the strings of this format"
                ));
                Expr::NEVER
            }
        }
    }

    fn string(&mut self, schema: &Object) -> Expr {
        if let Some(pattern) = self.pattern_of(schema) {
            self.warn_of_markers(&pattern, "that fit a pattern");
            let strings = self.notation.strings.clone().into_iter().map(|quotes| {
                let content = match quotes.escapes {
                    true => within_string(self.p, &pattern, &quotes.close),
                    false => pattern.clone(),
                };
                let (open, close) = (quotes.open.as_str(), quotes.close.as_str());
                Expr::Atomic(Box::new(Expr::sequence([
                    open.into(),
                    content,
                    close.into(),
                ])))
            });
            return Expr::choice(strings);
        }
        let (least, most) = self.lengths(schema, "minLength", "maxLength");
        if least == 0 && most.is_none() {
            return match self.notation.is_json() {
                true => self.p.json_rules(&self.notation).part("string"),
                false => any_string(&self.notation),
            };
        }
        let strings: Vec<Expr> = self
            .notation
            .strings
            .iter()
            .map(|quotes| {
                let content = character(quotes);
                // `minLength: 1` is common, and needs no count: so markers can be kept out all the same.
                let is_some =
                    least == 1 && most.is_none() && !self.could_stand(&content).is_empty();
                let content = match quotes.escapes {
                    // A string of one character or more does not begin with what ends it.
                    true if is_some => {
                        let close = Expr::literal(quotes.close.as_str());
                        let text = content.without(self.notation.outside.iter().cloned());
                        Expr::sequence([Expr::Negate(Box::new(close)), text])
                    }
                    true => {
                        // What is counted is no automaton, which is what keeps markers out.
                        self.warn_of_markers(&content, "of a limited length");
                        content.repeat(least, most)
                    }
                    false => {
                        self.warn(
                            "the length of strings that are written as they are is not enforced",
                        );
                        plain_text(&self.notation, quotes)
                    }
                };
                Expr::sequence([
                    quotes.open.as_str().into(),
                    content,
                    quotes.close.as_str().into(),
                ])
            })
            .collect();
        Expr::choice(strings)
    }

    /// What could stand in strings of this, and is to be kept out of them.
    fn could_stand(&self, content: &Expr) -> Vec<Expr> {
        let outside = self.notation.outside.iter();
        let could_stand = outside.filter(|other| pattern::may_hold(content, other));
        could_stand.cloned().collect()
    }

    /// Warns of markers that are not kept out of strings, if they could stand there.
    fn warn_of_markers(&self, content: &Expr, which: &str) {
        let could_stand = self.could_stand(content);
        if let Some(any) = any_of(&could_stand) {
            self.warn(&format!(
                "strings {which} may hold {any}, which what reads the call takes for a marker"
            ));
        }
    }

    /// The pattern that a string fits by its `pattern` or `format`, if a grammar can hold it.
    fn pattern_of(&self, schema: &Object) -> Option<Expr> {
        let (regex, what) = match (schema.get("pattern"), schema.get("format")) {
            (Some(Value::String(regex)), _) => (regex.to_string_lossy().into_owned(), "pattern"),
            (_, Some(Value::String(format))) => {
                let format = format.to_string_lossy();
                match pattern::of_format(&format) {
                    Some(regex) => (regex.to_owned(), "format"),
                    None => {
                        let format = shortened(&format);
                        self.warn(&format!("`format: {format}` is not enforced"));
                        return None;
                    }
                }
            }
            _ => return None,
        };
        if schema.contains_key("minLength") || schema.contains_key("maxLength") {
            self.warn(&format!("beside `{what}`, the length is not enforced"));
        }
        match pattern::expr(&regex) {
            Ok(expr) => self.may_take(pattern::size(&expr)).then_some(expr),
            Err(reason) => {
                let regex = shortened(&regex);
                self.warn(&format!("the pattern `{regex}` is not enforced: {reason}"));
                None
            }
        }
    }

    fn lengths(&self, schema: &Object, least: &str, most: &str) -> (u32, Option<u32>) {
        let number = |key: &str| {
            // `3.0` is a count as well as `3`.
            let text = json::write(schema.get(key)?);
            let Ok(count) = text.strip_suffix(".0").unwrap_or(&text).parse::<u64>() else {
                self.warn(&format!("`{key}` is not enforced: it is not a count"));
                return None;
            };
            if count > MAX_COUNT {
                self.warn(&format!(
                    "`{key}` of {count} is not enforced: it is too large"
                ));
                return None;
            }
            u32::try_from(count).ok()
        };
        (number(least).unwrap_or(0), number(most))
    }

    fn integer(&self, schema: &Object) -> Expr {
        match integer_range::bounds(schema) {
            Ok((None, None)) => Expr::Atomic(Box::new(any_integer())),
            Ok((least, most)) => Expr::Atomic(Box::new(integer_range::expr(least, most))),
            Err(key) => {
                self.warn(&format!(
                    "`{key}` is not enforced: it is not a whole number of up to 18 digits"
                ));
                Expr::Atomic(Box::new(any_integer()))
            }
        }
    }

    fn number(&self, schema: &Object) -> Expr {
        let keys = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
        let positive = ["minimum", "exclusiveMinimum"].iter().any(|key| {
            let number = schema.get(key).map(json::write);
            number.is_some_and(|text| !text.starts_with('-') && text.starts_with(char::is_numeric))
        });
        for key in keys.iter().filter(|key| schema.contains_key(key)) {
            // The sign is all that is held of bounds, and of `minimum: 0` that is everything.
            let is_zero = schema
                .get(key)
                .is_some_and(|value| json::write(value) == "0");
            if !(positive && *key == "minimum" && is_zero) {
                self.warn(&format!(
                    "`{key}` of a number that may have a fraction is not enforced"
                ));
            }
        }
        let number = any_number();
        let number = match (number, positive) {
            // Without the sign.
            (Expr::Sequence(mut parts), true) => {
                parts.remove(0);
                Expr::sequence(parts)
            }
            (number, _) => number,
        };
        Expr::Atomic(Box::new(number))
    }

    fn array(&mut self, schema: &Object) -> Expr {
        let prefix = schema.get("prefixItems").and_then(Value::as_array);
        let items = match schema.get("items") {
            Some(items) => self.below(&["items"], items),
            None => self.any(),
        };
        let (least, most) = self.lengths(schema, "minItems", "maxItems");
        let comma = self.notation.comma();
        let comma = || comma.clone();
        let inner = match prefix.filter(|prefix| !prefix.is_empty()) {
            // All of the first items have to be there, as far as there may be so many.
            Some(prefix) => {
                let mut parts = Vec::new();
                let count = most
                    .map_or(usize::MAX, |most| most as usize)
                    .min(prefix.len());
                for (at, item) in prefix[..count].iter().enumerate() {
                    if at > 0 {
                        parts.push(comma());
                    }
                    parts.push(self.below(&["prefixItems", &at.to_string()], item));
                }
                let count = u32::try_from(prefix.len()).unwrap_or(u32::MAX);
                let more = Expr::sequence([comma(), items]);
                let most = most.map(|most| most.saturating_sub(count));
                parts.push(more.repeat(least.saturating_sub(count), most));
                Expr::sequence(parts)
            }
            // With nothing that could stand in it, a list is empty.
            None if most == Some(0) || items.is_never() => Expr::Empty,
            None => {
                let more = Expr::sequence([comma(), items.clone()]);
                let more = more.repeat(least.saturating_sub(1), most.map(|most| most - 1));
                let some = Expr::sequence([items, more]);
                match least {
                    0 => some.optional(),
                    _ => some,
                }
            }
        };
        let gap = || self.notation.gap();
        Expr::sequence(["[".into(), gap(), inner, gap(), "]".into()])
    }

    fn object(&mut self, schema: &Object) -> Expr {
        let members = self.members(schema);
        let Some(members) = members else {
            return self.p.json_rules(&self.notation).part("object");
        };
        let has_none = members.members.is_empty() && members.others.is_none();
        let inner = match has_none {
            true => Expr::Empty,
            false => Expr::Members(Box::new(members)),
        };
        let gap = || self.notation.gap();
        Expr::sequence(["{".into(), gap(), inner, gap(), "}".into()])
    }

    /// The members of an object, unless nothing is known of them.
    fn members(&mut self, schema: &Object) -> Option<Members> {
        let properties = schema.get("properties").and_then(Value::as_object);
        let additional = schema.get("additionalProperties");
        let others = match additional {
            Some(Value::Bool(false)) => None,
            None if properties.is_some() => None,
            None | Some(Value::Bool(true)) if properties.is_none() => return None,
            None | Some(Value::Bool(true)) => Some(self.any()),
            Some(schema) => Some(self.below(&["additionalProperties"], schema)),
        };
        let required = required(schema);
        let is_required: HashSet<&str> = required.iter().map(String::as_str).collect();
        let empty = Object::new();
        let mut members: Vec<Member> = Vec::new();
        for (key, property) in properties.unwrap_or(&empty) {
            let key = key.to_string_lossy().into_owned();
            let value = self.below(&["properties", &key], property);
            let is_required = is_required.contains(key.as_str());
            let expr = match value.is_never() {
                true => Expr::NEVER,
                false => self.member(self.key(&key), value),
            };
            members.push(Member {
                name: key,
                expr,
                is_required,
            });
        }
        // A key that is required and not described has any value, and may not be left out.
        for name in required.iter().cloned() {
            if properties.is_none_or(|all| !all.contains_key(&name)) {
                let value = others.clone().unwrap_or_else(|| self.any());
                members.push(Member {
                    expr: self.member(self.key(&name), value),
                    name,
                    is_required: true,
                });
            }
        }
        let declared: Vec<String> = members.iter().map(|member| member.name.clone()).collect();
        let key = match declared.is_empty() {
            true => {
                let string = self.p.json_rules(&self.notation).part("string");
                key(&self.notation, string)
            }
            false if others.is_none() || !self.may_take(self.cost_of_keys(&declared)) => {
                Expr::NEVER
            }
            false => other_keys::in_object(&self.notation, &declared),
        };
        Some(Members {
            members,
            others: others
                .filter(|others| !others.is_never())
                .map(|others| self.member(key, others)),
            separator: self.notation.comma(),
        })
    }

    /// The steps that it takes to see to it that a key is none of these.
    fn cost_of_keys(&self, declared: &[String]) -> usize {
        let signs = declared
            .iter()
            .map(|key| key.len().min(other_keys::MAX_COMPARED));
        signs.sum::<usize>() * (1 + self.notation.outside.len())
    }

    /// A text that a schema describes, written as it is; `text` is any text.
    pub(super) fn raw(&mut self, schema: &Value, text: Expr) -> Expr {
        self.raw_within(schema, text, &mut { MAX_LOOKS })
    }

    fn raw_within(&mut self, schema: &Value, text: Expr, looks: &mut usize) -> Expr {
        if !may_look(looks) {
            return text;
        }
        let schema = follow(self.root, schema);
        let Some(object) = schema.as_object() else {
            return text;
        };
        if let Some(all) = object.get("allOf").and_then(Value::as_array) {
            return match self.merged(object, all) {
                Some(merged) => self.raw_within(&merged, text, looks),
                None => text,
            };
        }
        self.warn_of_beyond(object);
        if variants_of(object).is_some() {
            if !self.may_take(cost_of_variants(object)) {
                return text;
            }
            let all: Vec<Expr> = variants(object)
                .unwrap_or_default()
                .iter()
                .map(|one| self.raw_within(one, text.clone(), looks))
                .collect();
            return Expr::choice(all);
        }
        let constants = match (object.get("const"), object.get("enum")) {
            (Some(value), _) => Some(std::slice::from_ref(value)),
            (None, Some(Value::Array(values))) => Some(values.as_slice()),
            _ => None,
        };
        if let Some(values) = constants {
            let texts = values.iter().filter_map(Value::as_json_string);
            let mut texts: Vec<_> = texts.map(|text| text.to_string_lossy()).collect();
            let ends = ends_of(&text);
            texts.retain(|value| {
                let holds_end = automaton::stands_in(value, &ends) != Some(false);
                if holds_end {
                    let value = shortened(value);
                    self.warn(&format!(
                        "{value:?} can't be written: it holds what ends a text"
                    ));
                }
                !holds_end
            });
            // Of several, the first that fits is taken.
            texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
            return Expr::choice(texts.into_iter().map(Expr::literal));
        }
        if let Some(pattern) = self.pattern_of(object) {
            let mut ends = ends_of(&text).into_iter();
            if !ends.any(|end| pattern::may_hold(&pattern, &end)) {
                return Expr::Atomic(Box::new(pattern));
            }
            let key = match object.contains_key("pattern") {
                true => "pattern",
                false => "format",
            };
            self.warn(&format!(
                "a `{key}` is not enforced where its texts may hold what ends them"
            ));
            return text;
        }
        for key in ["minLength", "maxLength"] {
            if object.contains_key(key) {
                self.warn(&format!(
                    "`{key}` is not enforced where texts are written as they are"
                ));
            }
        }
        text
    }
}

/// Whether a value is of a type.
fn is_of(value: &Value, kind: &str) -> bool {
    match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(_) => {
            kind == "number" || (kind == "integer" && json::write(value).parse::<i128>().is_ok())
        }
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    }
}

/// What a schema in place of a node does not say: that these do not stand in its strings.
pub(super) fn beyond_schema(name: &str, others: &[Expr]) -> Option<String> {
    let any = any_of(others)?;
    Some(format!(
        "{name}: strings may hold {any}, which what reads the call takes for a marker: no JSON Schema can keep it out"
    ))
}

/// Nodes of characters as alternatives, in words; `None` if there are none.
pub(super) fn any_of(all: &[Expr]) -> Option<String> {
    let (last, others) = all.split_last()?;
    let last = shown(&last.example());
    if others.is_empty() {
        return Some(last);
    }
    let others: Vec<String> = others.iter().map(|one| shown(&one.example())).collect();
    Some(format!("{} or {last}", others.join(", ")))
}

/// What does not stand in the texts of a node.
pub(super) fn kept_out(expr: &Expr, rules: &IndexMap<String, Rule>) -> Vec<Expr> {
    // Most texts of a grammar hold all the same markers out.
    let mut lists: Vec<&[Expr]> = Vec::new();
    let mut all: Vec<Expr> = Vec::new();
    let mut seen: HashSet<&str> = HashSet::new();
    let mut nodes = vec![expr];
    while let Some(node) = nodes.pop() {
        match node {
            Expr::Rule(name) if seen.insert(name) => {
                nodes.extend(rules.get(name).map(|rule| &rule.expr));
            }
            Expr::Without(one) if !lists.contains(&one.others.as_slice()) => {
                lists.push(&one.others);
            }
            Expr::Until(ends) => all.extend(ends.iter().map(Expr::literal)),
            _ => {}
        }
        nodes.extend(node.children());
    }
    all.extend(lists.concat());
    all.sort_by_cached_key(Expr::example);
    all.dedup();
    all
}

/// The same for a value of JSON: what has a quote or a line break in it stands in no string as it is.
pub(super) fn kept_out_of_json(expr: &Expr, rules: &IndexMap<String, Rule>) -> Vec<Expr> {
    let is_unwritten = |c: char| c == '"' || c.is_control();
    let mut all = kept_out(expr, rules);
    all.retain(|other| !other.example().contains(is_unwritten));
    all
}

/// How many signs a number is written with. Nothing ends a number, so that of several the longest has to
/// come first.
fn digits_of(value: &Value) -> usize {
    match value {
        Value::Number(_) => json::write(value).len(),
        _ => 0,
    }
}

/// Which of several schemas comes first: of those of numbers, the one whose numbers may be longer.
fn number_rank(root: &Value, schema: &Value) -> (u8, std::cmp::Reverse<usize>) {
    let Some(object) = follow(root, schema).as_object() else {
        return (0, std::cmp::Reverse(0));
    };
    let digits = |key: &str| object.get(key).map_or(0, digits_of);
    let types = types_of(object);
    let is = |kind: &str| types.iter().any(|one| one == kind);
    let rank = match object.get("const") {
        _ if is("number") => 0,
        Some(Value::Number(_)) => 2,
        _ => u8::from(is("integer")),
    };
    let least = digits("minimum").max(digits("exclusiveMinimum"));
    (rank, std::cmp::Reverse(least.max(digits("const"))))
}

/// What ends a text that is written as it is.
fn ends_of(text: &Expr) -> Vec<Expr> {
    match text {
        Expr::Until(ends) => ends.iter().map(Expr::literal).collect(),
        Expr::Without(one) => one.others.clone(),
        _ => Vec::new(),
    }
}

/// The names of the properties that must be there.
pub(super) fn required(schema: &Object) -> Vec<String> {
    let names = schema.get("required").and_then(Value::as_array);
    let names = names.unwrap_or_default().iter();
    let mut all: Vec<String> = names
        .filter_map(|name| Some(name.as_json_string()?.to_string_lossy().into_owned()))
        .collect();
    keep_first(&mut all);
    all
}

/// Drops all but the first of texts that are equal.
fn keep_first(texts: &mut Vec<String>) {
    let mut seen = HashSet::new();
    texts.retain(|text| seen.insert(text.clone()));
}

/// Tells if a schema has others in it that may lead back to it.
fn has_schemas(schema: &Value) -> bool {
    let keys = [
        "properties",
        "items",
        "prefixItems",
        "additionalProperties",
        "anyOf",
        "oneOf",
    ];
    keys.iter().any(|key| schema.get(key).is_some())
}

/// The number of these values, those in others included.
fn size_of<'v>(values: impl Iterator<Item = &'v Value>) -> usize {
    let mut values: Vec<&Value> = values.collect();
    let mut size = 0;
    while let Some(value) = values.pop() {
        size += 1;
        match value {
            Value::Array(all) => values.extend(all),
            Value::Object(all) => values.extend(all.iter().map(|(_, value)| value)),
            _ => {}
        }
    }
    size
}

fn size_of_object(object: &Object) -> usize {
    size_of(object.iter().map(|(_, value)| value))
}

/// The schemas of which one fits, and the key that they stand under.
fn variants_of(schema: &Object) -> Option<(&'static str, &[Value])> {
    ["anyOf", "oneOf"]
        .into_iter()
        .find_map(|key| Some((key, schema.get(key)?.as_array()?)))
}

/// The keys beside variants that say something of values. In `{"type": "object", "anyOf": [{"required": ["a"]}, …]}`, the type
/// is that of each variant.
fn beside_variants<'s>(
    schema: &'s Object,
    key: &'s str,
) -> impl Iterator<Item = (Cow<'s, str>, &'s Value)> {
    let all = schema.iter();
    let all = all.map(|(key, value)| (key.to_string_lossy(), value));
    all.filter(move |(name, _)| {
        let says_nothing = [
            "description",
            "title",
            "default",
            "examples",
            "$defs",
            "definitions",
        ];
        name != key && !says_nothing.contains(&&**name)
    })
}

/// The steps that it takes to write each variant together with what stands beside all of them.
fn cost_of_variants(schema: &Object) -> usize {
    let Some((key, all)) = variants_of(schema) else {
        return 0;
    };
    let beside = size_of(beside_variants(schema, key).map(|(_, value)| value));
    all.len().saturating_mul(beside)
}

/// The schemas of which one fits: each together with what stands beside them.
fn variants(schema: &Object) -> Option<Vec<Value>> {
    let (key, all) = variants_of(schema)?;
    let beside = beside_variants(schema, key);
    let beside: Object = beside
        .map(|(key, value)| (key.into_owned(), value.clone()))
        .collect();
    let with = |one: &Value| match one {
        Value::Object(one) => {
            let mut both = beside.clone();
            both.extend(one.clone());
            Value::from(both)
        }
        other => other.clone(),
    };
    Some(all.iter().map(with).collect())
}

/// Keys that tell the type of a value where `type` is left out.
const TELLING: [(&str, &str); 10] = [
    ("properties", "object"),
    ("required", "object"),
    ("additionalProperties", "object"),
    ("items", "array"),
    ("prefixItems", "array"),
    ("pattern", "string"),
    ("minLength", "string"),
    ("maxLength", "string"),
    ("minimum", "number"),
    ("maximum", "number"),
];

/// The types of values that a schema names.
#[derive(Debug, Clone, Default)]
struct TypeWords {
    /// The types under `type`, if there is that key.
    named: Option<Vec<String>>,
    /// The first of the other keys that tell the type.
    telling: Option<usize>,
    nullable: Option<bool>,
}

impl TypeWords {
    fn of(schema: &Object) -> TypeWords {
        let lower = |text: &str| text.to_ascii_lowercase();
        let named = schema.get("type").map(|named| match named {
            // Some schemas say `STRING` for `string`.
            Value::String(one) => vec![lower(&one.to_string_lossy())],
            Value::Array(all) => all.iter().filter_map(Value::as_str).map(lower).collect(),
            _ => Vec::new(),
        });
        TypeWords {
            named,
            telling: TELLING.iter().position(|(key, _)| schema.contains_key(key)),
            nullable: schema
                .get("nullable")
                .map(|value| value.as_bool() == Some(true)),
        }
    }

    /// The same of a variant, beside which this stands.
    fn beside(self, outer: &TypeWords) -> TypeWords {
        TypeWords {
            named: self.named.or_else(|| outer.named.clone()),
            telling: match (self.telling, outer.telling) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            },
            nullable: self.nullable.or(outer.nullable),
        }
    }

    /// The types; none if any.
    fn types(self) -> Vec<String> {
        let mut types = self.named.unwrap_or_default();
        // People leave out the type where another key tells it.
        if let (true, Some(telling)) = (types.is_empty(), self.telling) {
            types.push(TELLING[telling].1.to_owned());
        }
        // As OpenAPI says it.
        if !types.is_empty() && self.nullable == Some(true) {
            types.push("null".to_owned());
        }
        keep_first(&mut types);
        types
    }
}

/// The types that a schema allows; none if any.
fn types_of(schema: &Object) -> Vec<String> {
    TypeWords::of(schema).types()
}

/// What a reference of a schema points to.
fn resolve<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    match reference.strip_prefix('#')? {
        "" => Some(root),
        pointer => root.pointer(pointer),
    }
}

/// The schema behind references.
pub(super) fn follow<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let mut schema = schema;
    for _ in 0..MAX_REFERENCES {
        let reference = schema.get("$ref").and_then(Value::as_str);
        match reference.and_then(|reference| resolve(root, reference)) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

/// A schema without the values that are of none of these types, which are named as JSON Schema does;
/// `None` if nothing is left. What takes more steps than there are has all values of these types.
pub(super) fn restricted(
    root: &Value,
    schema: &Value,
    types: &[&str],
    may_take: &impl Fn(usize) -> bool,
) -> Option<Value> {
    restricted_within(root, schema, types, &mut { MAX_LOOKS }, may_take)
}

/// Takes one of the looks that are left, if there is one.
fn may_look(looks: &mut usize) -> bool {
    let left = looks.checked_sub(1);
    *looks = left.unwrap_or(0);
    left.is_some()
}

fn restricted_within(
    root: &Value,
    schema: &Value,
    types: &[&str],
    looks: &mut usize,
    may_take: &impl Fn(usize) -> bool,
) -> Option<Value> {
    if !may_look(looks) {
        return None;
    }
    let schema = follow(root, schema);
    let all = || {
        let named: Vec<Value> = types.iter().map(|kind| Value::from(*kind)).collect();
        Value::from(Object::from_iter([("type", Value::from(named))]))
    };
    let Some(object) = schema.as_object() else {
        // `true` allows values of all of these types.
        return (*schema != Value::Bool(false)).then(all);
    };
    if !may_take(size_of_object(object).saturating_add(cost_of_variants(object))) {
        return Some(all());
    }
    let is_of_type = |value: &Value| types.iter().any(|kind| is_of(value, kind));
    let mut kept = object.clone();
    if let Some(value) = object.get("const") {
        return is_of_type(value).then(|| schema.clone());
    }
    if let Some(Value::Array(values)) = object.get("enum") {
        let values: Vec<Value> = values.iter().filter(|v| is_of_type(v)).cloned().collect();
        let is_some = !values.is_empty();
        kept.insert("enum", values);
        return is_some.then(|| kept.into());
    }
    if let Some(all) = variants(object) {
        let all = all
            .iter()
            .filter_map(|one| restricted_within(root, one, types, looks, may_take));
        let all: Vec<Value> = all.collect();
        let is_some = !all.is_empty();
        let only = Object::from_iter([("anyOf", Value::from(all))]);
        return is_some.then(|| only.into());
    }
    let declared = types_of(object);
    let mut left: Vec<Value> = Vec::new();
    for kind in types {
        let fits = declared.is_empty()
            || declared.iter().any(|declared| {
                declared == kind
                    // Whole numbers are numbers, and stand for them where no other are written so.
                    || (declared == "number" && *kind == "integer" && !types.contains(&"number"))
            });
        if fits {
            left.push((*kind).into());
        }
    }
    // A whole number is a number already.
    let has_numbers = left.iter().any(|kind| kind.as_str() == Some("number"));
    left.retain(|kind| !(has_numbers && kind.as_str() == Some("integer")));
    let is_some = !left.is_empty();
    kept.insert("type", left);
    is_some.then(|| kept.into())
}

/// The types that a schema names, none if it allows any.
pub(super) fn named_types(root: &Value, schema: &Value) -> Vec<String> {
    let mut types = Vec::new();
    let mut looks = MAX_LOOKS;
    let mut waiting = vec![(schema, TypeWords::default())];
    while let Some((schema, outer)) = waiting.pop() {
        // What stands beside a reference does not count.
        let outer = match schema.get("$ref") {
            Some(_) => TypeWords::default(),
            None => outer,
        };
        let object = follow(root, schema).as_object();
        let Some(object) = object.filter(|_| may_look(&mut looks)) else {
            continue;
        };
        let words = TypeWords::of(object).beside(&outer);
        match variants_of(object) {
            // The first is to be the next.
            Some((_, all)) => {
                let all = all.iter().take(looks).collect::<Vec<_>>();
                waiting.extend(all.into_iter().rev().map(|one| (one, words.clone())));
            }
            None => types.extend(words.types()),
        }
    }
    types
}

/// Tells if a schema brings definitions of its own.
pub(super) fn defines(schema: &Value) -> bool {
    ["$defs", "definitions"]
        .iter()
        .any(|key| schema.get(key).is_some())
}

/// A schema together with the definitions that it refers to, and how many values it has then: by itself, a part of a schema
/// would lose what its `#/$defs/…` points to.
pub(super) fn with_definitions(root: &Value, schema: Value) -> (Value, usize) {
    let mut size = size_of(std::iter::once(&schema));
    let Value::Object(mut schema) = schema else {
        return (schema, size);
    };
    let mut waiting: Vec<&str> = references(schema.iter().map(|(_, value)| value));
    waiting.extend(schema.get("$ref").and_then(Value::as_str));
    let mut used: HashSet<String> = HashSet::new();
    while let Some(reference) = waiting.pop() {
        let mut steps = reference.strip_prefix('#').and_then(pointer_tokens);
        let steps = steps.as_mut().map(|steps| [steps.next(), steps.next()]);
        let Some([Some(key), Some(name)]) = steps else {
            continue;
        };
        let is_new = used.insert(format!("{key}/{name}"));
        let definition = root.get(&key).and_then(|all| all.get(&name));
        if let Some(definition) = definition.filter(|_| is_new) {
            size += size_of(std::iter::once(definition));
            waiting.extend(references(std::iter::once(definition)));
        }
    }
    for key in ["$defs", "definitions"] {
        let Some(Value::Object(all)) = root.get(key).filter(|_| !schema.contains_key(key)) else {
            continue;
        };
        let all = all.iter().map(|(name, one)| (name.to_string_lossy(), one));
        let all = all.filter(|(name, _)| used.contains(&format!("{key}/{name}")));
        let all: Object = all
            .map(|(name, one)| (name.into_owned(), one.clone()))
            .collect();
        if !all.is_empty() {
            schema.insert(key, all);
        }
    }
    (schema.into(), size)
}

/// The references of these.
fn references<'v>(values: impl Iterator<Item = &'v Value>) -> Vec<&'v str> {
    let mut values: Vec<&Value> = values.collect();
    let mut all = Vec::new();
    while let Some(value) = values.pop() {
        match value {
            Value::Array(more) => values.extend(more),
            Value::Object(more) => {
                all.extend(more.get("$ref").and_then(Value::as_str));
                values.extend(more.iter().map(|(_, value)| value));
            }
            _ => {}
        }
    }
    all
}

/// Tells if a schema refers to another one.
pub(super) fn refers(schema: &Value) -> bool {
    !references(std::iter::once(schema)).is_empty()
}

/// A schema for engines that read schemas themselves: without what is not enforced, and without what says
/// nothing of values; closed where it declares properties, as the nodes of it are.
pub(super) fn for_engines(schema: &Value) -> Value {
    let Value::Object(object) = schema else {
        return schema.clone();
    };
    let mut kept = Object::new();
    let of_values = |value: &Value| match value {
        Value::Object(all) => {
            let all = all.iter();
            let all = all.map(|(key, one)| (key.to_string_lossy().into_owned(), for_engines(one)));
            Value::from(all.collect::<Object>())
        }
        Value::Array(all) => all.iter().map(for_engines).collect(),
        other => other.clone(),
    };
    for (key, value) in object {
        let key = key.to_string_lossy();
        let is_held = |is_one: bool| is_one.then(|| value.clone());
        let value = match key.as_ref() {
            "properties" | "$defs" | "definitions" | "anyOf" | "allOf" | "prefixItems" => {
                Some(of_values(value))
            }
            // More than one may fit.
            "oneOf" => {
                kept.insert("anyOf", of_values(value));
                None
            }
            "items" | "additionalProperties" => Some(for_engines(value)),
            "format" => is_held(
                value
                    .as_str()
                    .is_some_and(|name| pattern::of_format(name).is_some()),
            ),
            "pattern" => is_held(
                value
                    .as_str()
                    .is_some_and(|regex| pattern::expr(regex).is_ok()),
            ),
            "type" | "enum" | "const" | "required" | "$ref" | "minLength" | "maxLength"
            | "minItems" | "maxItems" | "minimum" | "maximum" | "exclusiveMinimum"
            | "exclusiveMaximum" => Some(value.clone()),
            _ => None,
        };
        if let Some(value) = value {
            kept.insert(key.as_ref(), value);
        }
    }
    if kept.contains_key("properties") && !kept.contains_key("additionalProperties") {
        kept.insert("additionalProperties", false);
    }
    // Engines read `type` alone, so what `nullable` or capitals say is written there.
    let types = types_of(object);
    match types.as_slice() {
        [] => {}
        [one] => {
            kept.insert("type", one.as_str());
        }
        several => {
            kept.insert(
                "type",
                several.iter().map(String::as_str).collect::<Value>(),
            );
        }
    }
    kept.into()
}

#[cfg(test)]
mod tests {
    use super::super::Grammar;
    use super::*;

    fn read(text: &str) -> Value {
        json::read(text).expect("it is JSON")
    }

    fn object(text: &str) -> Object {
        read(text).as_object().expect("it is an object").clone()
    }

    #[test]
    fn the_types_of_a_schema_are_told_by_its_other_keys_as_well() {
        for (schema, expected) in [
            (r#"{"type": "string"}"#, vec!["string"]),
            // Some schemas say `STRING` for `string`.
            (r#"{"type": "STRING"}"#, vec!["string"]),
            (
                r#"{"type": ["integer", "null", "integer"]}"#,
                vec!["integer", "null"],
            ),
            (r#"{"properties": {}}"#, vec!["object"]),
            (r#"{"items": {}}"#, vec!["array"]),
            (r#"{"maxLength": 3}"#, vec!["string"]),
            (r#"{"minimum": 3}"#, vec!["number"]),
            // As OpenAPI says it.
            (
                r#"{"type": "string", "nullable": true}"#,
                vec!["string", "null"],
            ),
            (r#"{"nullable": true}"#, vec![]),
            (r#"{"description": "any"}"#, vec![]),
        ] {
            assert_eq!(types_of(&object(schema)), expected, "{schema}");
        }
    }

    #[test]
    fn a_value_is_of_a_type() {
        for (value, kind, expected) in [
            ("1", "integer", true),
            ("1", "number", true),
            ("1.0", "integer", false),
            ("1.5", "number", true),
            ("\"1\"", "integer", false),
            ("null", "null", true),
            ("false", "boolean", true),
            ("[]", "array", true),
            ("{}", "object", true),
            ("{}", "array", false),
        ] {
            assert_eq!(is_of(&read(value), kind), expected, "{value} {kind}");
        }
    }

    #[test]
    fn what_stands_beside_variants_belongs_to_each() {
        for (schema, expected) in [
            (r#"{"type": "object"}"#, None),
            (
                r#"{"type": "string", "description": "x", "anyOf": [{"minLength": 1}, true]}"#,
                Some(r#"[{"type":"string","minLength":1},true]"#),
            ),
            (
                r#"{"oneOf": [{"type": "null"}]}"#,
                Some(r#"[{"type":"null"}]"#),
            ),
            (r#"{"anyOf": "no list"}"#, None),
        ] {
            let found = variants(&object(schema)).map(|all| json::write(&all.into()));
            assert_eq!(found.as_deref(), expected, "{schema}");
        }
    }

    #[test]
    fn a_schema_is_restricted_to_some_types() {
        let root = read(r#"{"$defs": {"a": {"type": ["string", "integer"]}}}"#);
        for (schema, types, expected) in [
            (
                r#"{"type": ["string", "integer"]}"#,
                &["string"][..],
                Some(r#"{"type":["string"]}"#),
            ),
            (r#"{"type": "integer"}"#, &["string"], None),
            (
                r#"{"type": "number"}"#,
                &["integer"],
                Some(r#"{"type":["integer"]}"#),
            ),
            // A whole number is a number already.
            (
                r#"{"type": "number"}"#,
                &["integer", "number"],
                Some(r#"{"type":["number"]}"#),
            ),
            ("{}", &["integer", "number"], Some(r#"{"type":["number"]}"#)),
            ("true", &["string"], Some(r#"{"type":["string"]}"#)),
            ("false", &["string"], None),
            (
                r#"{"enum": [1, "a"]}"#,
                &["string"],
                Some(r#"{"enum":["a"]}"#),
            ),
            (r#"{"enum": [1]}"#, &["string"], None),
            (r#"{"const": 1}"#, &["string"], None),
            (r#"{"const": "a"}"#, &["string"], Some(r#"{"const":"a"}"#)),
            (
                r#"{"anyOf": [{"type": "string"}, {"type": "null"}]}"#,
                &["string"],
                Some(r#"{"anyOf":[{"type":["string"]}]}"#),
            ),
            (
                r##"{"$ref": "#/$defs/a"}"##,
                &["integer"],
                Some(r#"{"type":["integer"]}"#),
            ),
        ] {
            let found = restricted(&root, &read(schema), types, &|_| true);
            let found = found.as_ref().map(json::write);
            assert_eq!(found.as_deref(), expected, "{schema}");
        }
        let schema = read(r##"{"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}"##);
        assert_eq!(named_types(&root, &schema), ["string", "integer", "null"]);
    }

    #[test]
    fn references_lead_to_what_they_point_to() {
        let root = read(
            r##"{"a": {"$ref": "#/b"}, "b": {"type": "null"}, "c": {"$ref": "#/c"}, "d": {"$ref": "x"}}"##,
        );
        for (key, expected) in [
            ("a", r#"{"type":"null"}"#),
            ("b", r#"{"type":"null"}"#),
            ("c", r##"{"$ref":"#/c"}"##),
            ("d", r#"{"$ref":"x"}"#),
        ] {
            let schema = root.get(key).expect(key);
            assert_eq!(json::write(follow(&root, schema)), expected, "{key}");
        }
        assert!(refers(&root) && !refers(&read(r#"[{"type": "null"}]"#)));
    }

    #[test]
    fn engines_are_given_what_they_are_to_hold() {
        for (schema, expected) in [
            (
                r#"{"type": "STRING", "format": "date", "description": "x", "not": {}}"#,
                r#"{"type":"string","format":"date"}"#,
            ),
            (
                r#"{"type": "string", "format": "hostname"}"#,
                r#"{"type":"string"}"#,
            ),
            (
                r#"{"type": "string", "pattern": "a(?=b)"}"#,
                r#"{"type":"string"}"#,
            ),
            (
                r#"{"type": "string", "pattern": "^a$"}"#,
                r#"{"type":"string","pattern":"^a$"}"#,
            ),
            // What declares properties has no others.
            (
                r#"{"properties": {"a": {"title": "A", "type": "null"}}}"#,
                r#"{"properties":{"a":{"type":"null"}},"additionalProperties":false,"type":"object"}"#,
            ),
            (
                r#"{"properties": {}, "additionalProperties": true}"#,
                r#"{"properties":{},"additionalProperties":true,"type":"object"}"#,
            ),
            (
                r#"{"oneOf": [{"type": "null"}]}"#,
                r#"{"anyOf":[{"type":"null"}]}"#,
            ),
            (
                r#"{"type": "string", "nullable": true}"#,
                r#"{"type":["string","null"]}"#,
            ),
        ] {
            assert_eq!(
                json::write(&for_engines(&read(schema))),
                expected,
                "{schema}"
            );
        }
    }

    #[test]
    fn of_numbers_the_longer_ones_come_first() {
        let root = Value::Null;
        let mut schemas = [
            r#"{"const": 1}"#,
            r#"{"type": "integer"}"#,
            r#"{"type": "integer", "minimum": 100}"#,
            r#"{"const": 100}"#,
            r#"{"type": "number"}"#,
        ]
        .map(|text| (text, read(text)));
        schemas.sort_by_key(|(_, schema)| number_rank(&root, schema));
        let expected = [
            r#"{"type": "number"}"#,
            r#"{"type": "integer", "minimum": 100}"#,
            r#"{"type": "integer"}"#,
            r#"{"const": 100}"#,
            r#"{"const": 1}"#,
        ];
        assert_eq!(schemas.map(|(text, _)| text), expected);
    }

    #[test]
    fn alternatives_are_listed_in_words() {
        for (texts, expected) in [
            (&[][..], None),
            (&["<a>"], Some("`<a>`")),
            (&["<a>", "<b>", "<c>"], Some("`<a>`, `<b>` or `<c>`")),
        ] {
            let all: Vec<Expr> = texts.iter().map(|text| Expr::from(*text)).collect();
            assert_eq!(any_of(&all).as_deref(), expected);
        }
    }

    #[test]
    fn what_is_kept_out_of_strings_is_found() {
        let grammar = Grammar::build(|p| {
            let string = super::super::builder::class(super::super::CharClass::any());
            let rule = p.rule("string", string.without(["<a>", "\"<b>", "<c>\n"]));
            rule + p.until("<d>")
        });
        let texts = |all: Vec<Expr>| all.iter().map(Expr::example).collect::<Vec<_>>();
        let (root, rules) = (&grammar.root, &grammar.rules);
        assert_eq!(
            texts(kept_out(root, rules)),
            ["\"<b>", "<a>", "<c>\n", "<d>"]
        );
        // Neither stands in a string of JSON as it is.
        assert_eq!(texts(kept_out_of_json(root, rules)), ["<a>", "<d>"]);
    }

    #[test]
    fn what_a_grammar_does_not_hold_of_a_schema_is_said() {
        for (schema, expected) in [
            (r#"{"type": "string"}"#, vec![]),
            (r#"{"type": "array", "uniqueItems": false}"#, vec![]),
            (
                r#"{"type": "array", "uniqueItems": true}"#,
                vec!["a: `uniqueItems` is not enforced"],
            ),
            (
                r#"{"type": "tide"}"#,
                vec!["a: the type `tide` is not known: any value is"],
            ),
            (r#"{"type": "number", "minimum": 0}"#, vec![]),
            (
                r#"{"type": "number", "maximum": 5}"#,
                vec!["a: `maximum` of a number that may have a fraction is not enforced"],
            ),
            (
                r#"{"type": "string", "minLength": 5000}"#,
                vec!["a: `minLength` of 5000 is not enforced: it is too large"],
            ),
            (
                r#"{"type": "string", "maxLength": -1}"#,
                vec!["a: `maxLength` is not enforced: it is not a count"],
            ),
            (
                r#"{"type": "string", "format": "hostname"}"#,
                vec!["a: `format: hostname` is not enforced"],
            ),
            (
                r#"{"oneOf": [{"type": "null"}, {"type": "string"}]}"#,
                vec!["a: `oneOf` is enforced as `anyOf`: more than one may fit"],
            ),
            (
                r##"{"$ref": "#/x"}"##,
                vec!["a: `$ref` to `#/x` leads nowhere: any value is allowed"],
            ),
            (
                r#"{"allOf": [{"type": "string"}, {"type": "null"}]}"#,
                vec!["a: `allOf` has more than one `type`: the first counts"],
            ),
        ] {
            let grammar = Grammar::build(|p| p.schema("a", &read(schema)));
            assert_eq!(grammar.warnings, expected, "{schema}");
        }
    }

    #[test]
    fn a_text_as_it_is_holds_what_its_schema_lists() {
        for (schema, fits, fails, warnings) in [
            (
                r#"{"enum": ["a", "ab"]}"#,
                vec!["a;", "ab;"],
                vec!["b;", ";"],
                0,
            ),
            // It holds what ends a text.
            (r#"{"enum": ["a", "b;"]}"#, vec!["a;"], vec!["b;;"], 1),
            (
                r#"{"pattern": "^[a-c]+$"}"#,
                vec!["abc;"],
                vec!["d;", ";"],
                0,
            ),
            (r#"{"pattern": "^[a-c;]+$"}"#, vec!["abc;", "d;"], vec![], 1),
            (
                r#"{"type": "string", "maxLength": 1}"#,
                vec!["abc;"],
                vec![],
                1,
            ),
            (r#"{"type": "string"}"#, vec!["abc;", ";"], vec!["a"], 0),
        ] {
            let grammar =
                Grammar::build(|p| p.raw_schema(p.until(";"), "a", &read(schema)) + ";" + p.end());
            for text in fits {
                assert!(grammar.parse(text).is_ok(), "{text} of {schema}");
            }
            for text in fails {
                assert!(grammar.parse(text).is_err(), "{text} of {schema}");
            }
            assert_eq!(grammar.warnings.len(), warnings, "{schema}");
        }
    }
}
