//! What a schema's keys say: which fields there are, and what stands around their texts.

use std::ops::ControlFlow;

use crate::diagnostic::Diagnostic;
use crate::response::pattern::{Node, Pattern, Syntax};
use crate::response_schema::substitution::{Piece, replacement};
use crate::value::{Object, Value};

use super::group_context::{
    GroupContext, around, beginning, inside, is_optional, syntax, tail, without_end,
};
use super::item::{Item, item};
use super::part::{Found, Subschema};
use super::sample::sample;
use super::write::plain;

/// All that is known of a schema.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) defaults: Object,
    pub(super) fields: Vec<Planned>,
    /// The pattern of the whole, if there is one.
    pub(super) root: Option<Syntax>,
    /// What ends the message: all that follows the last group.
    pub(super) tail: Vec<Node>,
    /// Which of the fields takes the text that no other claims.
    pub(super) implicit: Option<usize>,
}

/// A field that is to be.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) name: String,
    pub(super) around: GroupContext,
    /// Its group in the pattern of the whole.
    pub(super) group: Option<usize>,
    pub(super) kind: PlanKind,
    /// More patterns that open and close it, since they are rewritten to what does.
    pub(super) also: Vec<(String, String)>,
    /// Its own pattern, if it has one.
    pub(super) own: Option<Syntax>,
}

#[derive(Debug)]
pub(super) enum PlanKind {
    /// A text by this parser.
    Text(&'static str),
    List(Box<Item>),
}

/// Takes a schema apart. The error says all that has no counterpart.
pub(super) fn plan(schema: &Value) -> Result<Plan, Vec<Diagnostic>> {
    let whole = Subschema::whole(schema);
    let mut faults = beyond(&whole);
    let mut plan = Plan::of_pattern(whole.text("x-regex").and_then(syntax));
    for (key, property) in whole.properties() {
        if let Some(value) = property.constant() {
            plan.defaults.insert(key, value.clone());
            continue;
        }
        match plan.field(key, &property) {
            Ok(field) => plan.fields.push(field),
            Err(fault) => faults.push(fault),
        }
    }
    for (index, pair) in whole.list("x-regex-substitutions").iter().enumerate() {
        if plan.take_rewriting(pair).is_none() {
            let substitutions = whole.inner("x-regex-substitutions");
            let message =
                "this substitution has no counterpart: a response template reads the text as it is";
            faults.push(substitutions.refused_at(&index.to_string(), message));
        }
    }
    faults.extend(plan.choose_implicit(&whole).err());
    if plan.fields.is_empty() && faults.is_empty() {
        faults.push(whole.refused_at("properties", "it has no properties that are read"));
    }
    match faults.is_empty() {
        true => Ok(plan),
        false => Err(faults),
    }
}

/// What the whole has that no response template can do.
fn beyond(whole: &Subschema<'_>) -> Vec<Diagnostic> {
    let message = "the message as a whole can't be read like this by a response template";
    let keys = ["x-parser", "x-regex-iterator", "x-regex-key-value"].into_iter();
    let given = keys.filter(|key| whole.has(key));
    let mut faults: Vec<Diagnostic> = given.map(|key| whole.refused_at(key, message)).collect();
    if whole.text("type") != Some("object") {
        let message = "a response template makes objects, but this is not one";
        faults.push(whole.refused_at("type", message));
    }
    faults
}

impl Plan {
    fn of_pattern(root: Option<Syntax>) -> Plan {
        let tail = root.as_ref().map(|root| {
            let is_named = |index: usize| is_named(root, index);
            tail(&root.node, &is_named)
        });
        Plan {
            defaults: Object::new(),
            fields: Vec::new(),
            tail: tail.unwrap_or_default(),
            root,
            implicit: None,
        }
    }

    fn field(&self, name: String, part: &Subschema<'_>) -> Found<Planned> {
        if part.has("x-regex-substitutions") || part.has("x-regex-key-value") {
            return Err(part.refused("a property with substitutions or pairs has no counterpart"));
        }
        let groups = self.root.iter().flat_map(|root| &root.groups);
        let group = groups.into_iter().position(|group| *group == name);
        let in_root = self.around_group(group);
        let (around, kind, own) = match part.text("x-regex-iterator") {
            Some(iterator) => list(part, iterator, in_root)?,
            None => text(part, in_root)?,
        };
        Ok(Planned {
            name,
            around,
            group,
            kind,
            also: Vec::new(),
            own,
        })
    }

    /// What stands around a group in the pattern of the whole.
    fn around_group(&self, group: Option<usize>) -> Option<GroupContext> {
        let (root, group) = self.root.as_ref().zip(group)?;
        around(&root.node, group, &|index| {
            index != group && is_named(root, index)
        })
    }

    /// Takes a substitution for another way to write a field, if it is one: markers around one group that
    /// are rewritten to those of the field.
    fn take_rewriting(&mut self, pair: &Value) -> Option<()> {
        let [written, replaced, ..] = pair.as_array()? else {
            return None;
        };
        let parsed = syntax(written.as_str()?)?;
        let pieces = replacement(replaced.as_str()?, &parsed.groups).ok()?;
        let [Piece::Text(open), Piece::Group(1), Piece::Text(_)] = &pieces[..] else {
            return None;
        };
        let found = around(&parsed.node, 0, &|_| false)?;
        let field = self
            .fields
            .iter_mut()
            .find(|field| field.is_opened_by(open))?;
        field.also.push((plain(&found.before), plain(&found.after)));
        Some(())
    }

    /// Of the fields that nothing has to stand before, the last one takes what no other claims. The others
    /// begin where what ends them is ahead.
    fn choose_implicit(&mut self, whole: &Subschema<'_>) -> Found<()> {
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
                return Err(whole.inner("properties").refused_at(&field.name, message));
            }
        }
        Ok(())
    }
}

fn is_named(root: &Syntax, index: usize) -> bool {
    root.groups.get(index).is_some_and(|name| !name.is_empty())
}

type Reading = (GroupContext, PlanKind, Option<Syntax>);

/// How a list is read that an iterator finds.
fn list(part: &Subschema<'_>, iterator: &str, in_root: Option<GroupContext>) -> Found<Reading> {
    if part.has("x-regex") {
        let message = "a pattern before the iterator has no counterpart";
        return Err(part.refused_at("x-regex", message));
    }
    let refused = |message| part.refused_at("x-regex-iterator", message);
    let item = item(&part.inner("items"))?;
    let own = syntax(iterator).ok_or_else(|| refused("this pattern has no counterpart"))?;
    let found = around(&own.node, 0, &|_| false);
    let mut found = found.ok_or_else(|| refused("this pattern has no counterpart"))?;
    // Where the iterator finds all of an item, what stands around the group of the list counts.
    if is_optional(&found.before) && item.open.is_empty() {
        let begins = inside(&own.node, 0).map(beginning).unwrap_or_default();
        if begins.is_empty() {
            return Err(refused("nothing certain begins what it finds"));
        }
        found.before = in_root.map_or(Vec::new(), |around| around.before);
        found.before.push(Node::Around {
            behind: false,
            negate: false,
            node: Box::new(Node::Concat(begins)),
        });
        found.after.clear();
    }
    Ok((found, PlanKind::List(Box::new(item)), Some(own)))
}

/// How a text is read, or what a parser makes of one.
fn text(part: &Subschema<'_>, in_root: Option<GroupContext>) -> Found<Reading> {
    let refused = |message| part.refused_at("x-regex", message);
    let parser = match (part.text("x-parser"), part.text("type")) {
        (None, None | Some("string" | "any")) => "text",
        (None, Some("integer")) => "int",
        (None, Some("number")) => "float",
        (None, Some("boolean")) => "bool",
        (Some("json"), _) if !part.has("x-parser-args") => "json",
        _ => return Err(part.refused("a property that is read like this has no counterpart")),
    };
    let kind = PlanKind::Text(parser);
    let own = part.text("x-regex").and_then(syntax);
    match (own, in_root) {
        (Some(_), Some(_)) => Err(refused(
            "a pattern inside of a group of another one has no counterpart",
        )),
        (Some(own), None) => {
            let is_plain = own.groups.len() == 1 && own.groups[0].is_empty();
            let found = around(&own.node, 0, &|_| false).filter(|_| is_plain);
            let found = found.ok_or_else(|| refused("this pattern has no counterpart"))?;
            Ok((found, kind, Some(own)))
        }
        (None, Some(found)) => Ok((found, kind, None)),
        (None, None) => Err(part.refused("nothing marks where its text stands")),
    }
}

impl Planned {
    /// Whether nothing has to stand before it.
    fn begins_anywhere(&self) -> bool {
        !self.is_list() && is_optional(&self.around.before) && self.also.is_empty()
    }

    /// Whether a text holds what has to stand before it.
    fn is_opened_by(&self, text: &str) -> bool {
        if is_optional(&self.around.before) {
            return false;
        }
        let before = plain(&self.around.before);
        let mut is_found = false;
        let searched = Pattern::new(&format!("^(?:{before})$")).map(|whole| {
            whole.for_each_match(text, |_| {
                is_found = true;
                ControlFlow::Break(())
            })
        });
        matches!(searched, Ok(Ok(_))) && is_found
    }

    /// Whether what it holds is a list, which its own pattern divides.
    pub(super) fn is_list(&self) -> bool {
        matches!(self.kind, PlanKind::List(_))
    }

    /// Texts that it may hold.
    pub(super) fn samples(&self) -> Vec<String> {
        let texts: &[&str] = match &self.kind {
            PlanKind::Text("text") => &["The kettle is on,\nand the tide is in.", "two words"],
            PlanKind::Text("int") => &["12"],
            PlanKind::Text("float") => &["1.5"],
            PlanKind::Text("bool") => &["true"],
            PlanKind::Text(_) => &[r#"{"a": [1, "b"]}"#],
            PlanKind::List(item) => {
                let wrapped = |text: &String| {
                    let own = self.own.as_ref()?;
                    sample(&own.node, &|_| Some(text.clone()), true)
                };
                let items: Vec<String> = item.samples.iter().filter_map(wrapped).collect();
                let twice = items.first().map(|first| first.repeat(2));
                return items.into_iter().chain(twice).collect();
            }
        };
        texts.iter().map(|text| (*text).to_owned()).collect()
    }
}
