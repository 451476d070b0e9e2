//! What a schema's keys become.

use crate::diagnostic::Diagnostic;
use crate::response::pattern::{Node, Pattern, Syntax};
use crate::response_schema::substitution::{Piece, replacement};
use crate::value::{Object, Value, pointer_below as below};

use super::Way;
use super::calls::{self, Item};
use super::pattern::{
    Around, around, beginning, inside, is_optional, plain, sample, syntax, tail, without_end,
};

/// All that is known of a schema.
#[derive(Debug)]
pub(super) struct Plan {
    defaults: Object,
    pub(super) fields: Vec<Planned>,
    /// The pattern of the whole, if there is one.
    pub(super) root: Option<Syntax>,
    /// What ends the message: all that follows the last group.
    tail: Vec<Node>,
    /// Which of the fields takes the text that no other claims.
    implicit: Option<usize>,
}

/// A field that is to be.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) name: String,
    around: Around,
    /// The number of its group in the pattern of the whole.
    group: Option<usize>,
    kind: Kind,
    /// More patterns that open and close it, since they are rewritten to what does.
    also: Vec<(String, String)>,
    /// Its own pattern, if it has one.
    pub(super) own: Option<Syntax>,
}

#[derive(Debug)]
enum Kind {
    /// A text by this parser.
    Text(&'static str),
    List(Box<Item>),
}

impl Planned {
    /// Whether nothing has to stand before it.
    fn begins_anywhere(&self) -> bool {
        matches!(self.kind, Kind::Text(_))
            && is_optional(&self.around.before)
            && self.also.is_empty()
    }

    /// Texts that it may hold.
    pub(super) fn samples(&self) -> Vec<String> {
        match &self.kind {
            Kind::Text("text") => vec![
                "The kettle is on,\nand the tide is in.".into(),
                "two words".into(),
            ],
            Kind::Text("int") => vec!["12".into()],
            Kind::Text("float") => vec!["1.5".into()],
            Kind::Text("bool") => vec!["true".into()],
            Kind::Text(_) => vec![r#"{"a": [1, "b"]}"#.into()],
            Kind::List(item) => {
                let wrapped = |text: &String| {
                    let own = self.own.as_ref()?;
                    sample(&own.node, &|_| Some(text.clone()), true)
                };
                let items: Vec<String> = item.samples.iter().filter_map(wrapped).collect();
                let twice = items.first().map(|first| first.repeat(2));
                items.iter().cloned().chain(twice).collect()
            }
        }
    }

    /// Whether what it holds is a list, which its own pattern divides.
    pub(super) fn is_list(&self) -> bool {
        matches!(self.kind, Kind::List(_))
    }
}

/// Takes a schema apart. The error says all that has no counterpart.
pub(super) fn plan(schema: &Value) -> Result<Plan, Vec<Diagnostic>> {
    let mut faults = Vec::new();
    let mut refuse = |key: &str, message: &str| {
        faults.push(Diagnostic::new(message).at(below("", key)));
    };
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        refuse(
            "type",
            "a response template makes objects, and this is none",
        );
    }
    for key in ["x-parser", "x-regex-iterator", "x-regex-key-value"] {
        if schema.get(key).is_some() {
            refuse(
                key,
                "the message as a whole can't be read like this by a response template",
            );
        }
    }
    let root = schema
        .get("x-regex")
        .and_then(Value::as_str)
        .and_then(syntax);
    let mut plan = Plan {
        defaults: Object::new(),
        fields: Vec::new(),
        tail: match &root {
            Some(root) => {
                let names = &root.groups;
                let is_named = |index: usize| names.get(index).is_some_and(|name| !name.is_empty());
                tail(&root.node, &is_named)
            }
            None => Vec::new(),
        },
        root,
        implicit: None,
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    for (key, property) in properties.into_iter().flat_map(Object::iter) {
        let key = key.to_string_lossy();
        let pointer = below("/properties", &key);
        if let Some(value) = property.get("const") {
            plan.defaults.insert(&*key, value.clone());
            continue;
        }
        match plan.field(&key, property, &pointer) {
            Ok(field) => plan.fields.push(field),
            Err(fault) => faults.push(fault),
        }
    }
    if let Some(substitutions) = schema
        .get("x-regex-substitutions")
        .and_then(Value::as_array)
    {
        for (index, pair) in substitutions.iter().enumerate() {
            if !plan.rewrites(pair) {
                let pointer = below("/x-regex-substitutions", &index.to_string());
                let message = "this substitution has no counterpart: a response template reads the text as it is";
                faults.push(Diagnostic::new(message).at(pointer));
            }
        }
    }
    if let Err(fault) = plan.choose_implicit() {
        faults.push(fault);
    }
    if plan.fields.is_empty() && faults.is_empty() {
        faults.push(Diagnostic::new("it has no properties that are read").at("/properties"));
    }
    if faults.is_empty() {
        Ok(plan)
    } else {
        Err(faults)
    }
}

impl Plan {
    /// Of the fields that nothing has to stand before, the last one takes what no other claims. The others
    /// begin where what ends them is ahead.
    fn choose_implicit(&mut self) -> Result<(), Diagnostic> {
        let fields = self.fields.iter().enumerate();
        let anywhere = fields.filter(|(_, field)| field.begins_anywhere());
        let anywhere: Vec<(usize, &Planned)> = anywhere.collect();
        let last = anywhere.iter().max_by_key(|(_, field)| field.group);
        self.implicit = last.map(|(index, _)| *index);
        for (index, field) in anywhere {
            let is_ended = !without_end(&field.around.after).is_empty();
            if Some(index) != self.implicit && !(is_ended && field.group.is_some()) {
                let message =
                    "nothing marks where its text stands, and that holds for another property, too";
                return Err(Diagnostic::new(message).at(below("/properties", &field.name)));
            }
        }
        Ok(())
    }

    fn field(&self, key: &str, schema: &Value, pointer: &str) -> Result<Planned, Diagnostic> {
        let refuse = |key: &str, message: &str| {
            let pointer = if key.is_empty() {
                pointer.to_owned()
            } else {
                below(pointer, key)
            };
            Err(Diagnostic::new(message).at(pointer))
        };
        let group = self.root.as_ref();
        let group = group.and_then(|root| root.groups.iter().position(|name| name == key));
        let in_root = self.root.as_ref().and_then(|root| {
            let group = group?;
            let is_other = |index: usize| {
                index != group && root.groups.get(index).is_some_and(|name| !name.is_empty())
            };
            around(&root.node, group, &is_other)
        });
        let text = |key: &str| schema.get(key).and_then(Value::as_str);
        let list = text("x-regex-iterator");
        let own = list.or(text("x-regex")).and_then(syntax);
        if schema.get("x-regex-substitutions").is_some()
            || schema.get("x-regex-key-value").is_some()
        {
            return refuse(
                "",
                "a property with substitutions or pairs has no counterpart",
            );
        }
        if own.is_some() && list.is_none() && in_root.is_some() {
            return refuse(
                "x-regex",
                "a pattern inside of a group of another one has no counterpart",
            );
        }
        if list.is_some() && text("x-regex").is_some() {
            return refuse(
                "x-regex",
                "a pattern before the iterator has no counterpart",
            );
        }
        if list.is_some() {
            let items = schema
                .get("items")
                .cloned()
                .unwrap_or_else(|| Object::new().into());
            let item = calls::item(&items, &below(pointer, "items"))?;
            let Some(found) = own
                .as_ref()
                .and_then(|own| around(&own.node, 0, &|_| false))
            else {
                return refuse("x-regex-iterator", "this pattern has no counterpart");
            };
            let mut found = found;
            // Where the iterator finds all of an item, what stands around the group of the list counts.
            if is_optional(&found.before) && item.open.is_empty() {
                let body = own
                    .as_ref()
                    .and_then(calls::body)
                    .map(beginning)
                    .unwrap_or_default();
                if body.is_empty() {
                    return refuse("x-regex-iterator", "nothing certain begins what it finds");
                }
                let ahead = Node::Around {
                    behind: false,
                    negate: false,
                    node: Box::new(Node::Concat(body)),
                };
                found.before = in_root.map_or(Vec::new(), |around| around.before);
                found.before.push(ahead);
                found.after.clear();
            }
            return Ok(Planned {
                name: key.to_owned(),
                around: found,
                group,
                kind: Kind::List(Box::new(item)),
                also: Vec::new(),
                own,
            });
        }
        let parser = match (text("x-parser"), text("type")) {
            (None, None | Some("string" | "any")) => "text",
            (None, Some("integer")) => "int",
            (None, Some("number")) => "float",
            (None, Some("boolean")) => "bool",
            (Some("json"), _) if schema.get("x-parser-args").is_none() => "json",
            _ => return refuse("", "a property that is read like this has no counterpart"),
        };
        let found = match (&own, in_root) {
            (Some(own), _) => {
                let group = own.groups.iter().position(String::is_empty);
                match group.and_then(|group| around(&own.node, group, &|_| false)) {
                    Some(found) if own.groups.len() == 1 => found,
                    _ => return refuse("x-regex", "this pattern has no counterpart"),
                }
            }
            (None, Some(found)) => found,
            (None, None) => return refuse("", "nothing marks where its text stands"),
        };
        Ok(Planned {
            name: key.to_owned(),
            around: found,
            group,
            kind: Kind::Text(parser),
            also: Vec::new(),
            own,
        })
    }

    /// Takes a substitution for another way to write a field, if it is one: markers around one group that
    /// are rewritten to those of the field.
    fn rewrites(&mut self, pair: &Value) -> bool {
        let found = (|| {
            let [written, replaced, ..] = pair.as_array()? else {
                return None;
            };
            let parsed = syntax(written.as_str()?)?;
            let pieces = replacement(replaced.as_str()?, &parsed.groups).ok()?;
            let [Piece::Text(open), Piece::Group(1), Piece::Text(_)] = &pieces[..] else {
                return None;
            };
            let found = around(&parsed.node, 0, &|_| false)?;
            let opens = |field: &&mut Planned| {
                let before = plain(&field.around.before);
                let whole = Pattern::new(&format!("^(?:{before})$"));
                let is_found = |pattern: Pattern| {
                    let mut is_found = false;
                    let searched = pattern.for_each_match(open, |_| {
                        is_found = true;
                        std::ops::ControlFlow::Break(())
                    });
                    searched.is_ok() && is_found
                };
                !is_optional(&field.around.before) && whole.is_ok_and(is_found)
            };
            let field = self.fields.iter_mut().find(opens)?;
            field.also.push((plain(&found.before), plain(&found.after)));
            Some(())
        })();
        found.is_some()
    }

    /// The templates that may read as the schema does, the simplest first.
    pub(super) fn drafts(&self, way: Way) -> Vec<Value> {
        let texts = self
            .fields
            .iter()
            .filter(|field| matches!(field.kind, Kind::Text("text")));
        let texts = texts.count().min(4);
        let choices = 0..1_usize << (texts + 1);
        choices
            .map(|choice| self.draft(choice, way == Way::Exact))
            .collect()
    }

    /// The template with these choices: whether what follows the end is left out, and for each text whether
    /// white space around it is taken off. Where it is to be exact, what opens a field looks ahead as far as
    /// the schema does, and the end of the text counts.
    fn draft(&self, choice: usize, exact: bool) -> Value {
        let takes_rest = choice & 1 == 0;
        let mut stripped = choice >> 1;
        let cut = |nodes: &[Node]| match exact {
            true => nodes.to_vec(),
            false => without_end(nodes),
        };
        let ending = cut(&self.tail);
        let ending = match ending.is_empty() {
            true => String::new(),
            false => plain(&ending) + if takes_rest { ".*" } else { "" },
        };
        let gap = self
            .implicit
            .map_or(String::new(), |index| self.gap(&self.fields[index]));
        let mut fields = Object::new();
        for (index, field) in self.fields.iter().enumerate() {
            let is_implicit = self.implicit == Some(index);
            let mut made = Object::new();
            let close = plain(&without_end(&field.around.after));
            match &field.kind {
                Kind::Text(parser) => {
                    if !is_implicit {
                        let mut open = opening(&field.around);
                        if is_optional(&field.around.before) || (exact && !close.is_empty()) {
                            open.push_str(&format!("(?=.*?{close})"));
                        }
                        let opens = either(&open, field.also.iter().map(|(open, _)| open));
                        made.insert("open_pattern", opens);
                    }
                    let close = match is_implicit {
                        true if self.root.is_none() => plain(&cut(&field.around.after)),
                        true if self.is_last(field) => ending.clone(),
                        true if ending.is_empty() => String::new(),
                        true => {
                            let all = [&field.around.after[..], &self.tail].concat();
                            plain(&cut(&all)) + if takes_rest { ".*" } else { "" }
                        }
                        false => either(&close, field.also.iter().map(|(_, close)| close)),
                    };
                    if !close.is_empty() {
                        made.insert("close_pattern", close);
                    }
                    if *parser != "text" {
                        made.insert("content", *parser);
                    } else {
                        if stripped & 1 == 0 {
                            made.insert("content_args", Object::from_iter([("strip", false)]));
                        }
                        stripped >>= 1;
                    }
                }
                Kind::List(item) => {
                    let ahead = if exact {
                        self.rest_from(field)
                    } else {
                        String::new()
                    };
                    let open = gap.clone() + &ahead + &plain(&field.around.before) + &item.open;
                    made.insert("open_pattern", open);
                    let close = item.close.clone() + &close;
                    match (close.is_empty(), ending.is_empty()) {
                        (false, _) => made.insert("close_pattern", close + r"\s*"),
                        (true, false) => made.insert("close_pattern", ending.clone()),
                        (true, true) => None,
                    };
                    made.insert("repeats", true);
                    made.insert("content", item.content);
                    if !item.content_args.is_empty() {
                        made.insert("content_args", item.content_args.clone());
                    }
                    made.insert("transform", item.transform.clone());
                }
            }
            fields.insert(field.name.as_str(), made);
        }
        // A schema knows nothing of prompts, and reads what follows them.
        let mut template = Object::from_iter([("start_anchor_pattern", Value::from(r"\Z"))]);
        if !self.defaults.is_empty() {
            template.insert("defaults", self.defaults.clone());
        }
        template.insert("fields", fields);
        template.into()
    }

    /// Whether no other field has its group behind that of this one.
    fn is_last(&self, field: &Planned) -> bool {
        self.fields.iter().all(|other| other.group <= field.group)
    }

    /// What may stand between the field that takes all text and a list.
    fn gap(&self, field: &Planned) -> String {
        if self.is_last(field) {
            return String::new();
        }
        let optional = field.around.after.iter();
        let optional = optional.take_while(|node| matches!(node, Node::Repeat { min: 0, .. }));
        plain(&optional.cloned().collect::<Vec<Node>>())
    }

    /// That all of the text from here on is as the pattern of the whole wants it.
    fn rest_from(&self, list: &Planned) -> String {
        let inner = self.root.as_ref().zip(list.group);
        match inner.and_then(|(root, group)| inside(&root.node, group)) {
            Some(inner) => format!(
                "(?={}{})",
                plain(std::slice::from_ref(inner)),
                plain(&self.tail)
            ),
            None => String::new(),
        }
    }
}

/// What opens a field. If something may stand in place of its text that is no text of it, that belongs to
/// what opens it, up to what closes it.
fn opening(around: &Around) -> String {
    let Some((others, before, after)) = &around.instead else {
        return plain(&around.before);
    };
    let (outer, inner) = around.before.split_at(around.before.len() - before);
    let ahead = plain(&without_end(&around.after[*after..]));
    match ahead.is_empty() {
        true => plain(&around.before),
        false => {
            let others = plain(&[Node::Alternation(others.clone())]);
            format!("{}(?:{others}(?={ahead})|{})", plain(outer), plain(inner))
        }
    }
}

/// One of several patterns.
fn either<'p>(first: &'p str, others: impl Iterator<Item = &'p String>) -> String {
    let others: Vec<&str> = others.map(String::as_str).collect();
    match others.is_empty() {
        true => first.to_owned(),
        false => format!("(?:{first}|{})", others.join("|")),
    }
}

/// Whether a group of this name is in the pattern of the whole, and what is in it.
pub(super) fn group_of<'s>(root: &'s Syntax, name: &str) -> Option<(usize, &'s Node)> {
    let index = root.groups.iter().position(|group| group == name)?;
    Some((index, inside(&root.node, index)?))
}
