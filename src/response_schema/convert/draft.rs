//! Response templates that may read as the schema does.

use crate::response::pattern::Node;
use crate::value::{Object, Value};

use super::Way;
use super::group_context::{GroupContext, inside, is_optional, without_end};
use super::item::Item;
use super::plan::{Plan, PlanKind, Planned};
use super::write::plain;

/// For so many texts it is left open whether white space around them is taken off. Where there are more, it
/// stays.
const MAX_OPEN: usize = 4;

/// The templates that may read as the schema does, the simplest first.
pub(super) fn drafts(plan: &Plan, way: Way) -> Vec<Value> {
    let is_text = |field: &&Planned| matches!(field.kind, PlanKind::Text("text"));
    let texts = plan.fields.iter().filter(is_text).count();
    let open = if texts > MAX_OPEN { 0 } else { texts };
    let choices = 0..1_usize << (open + 1);
    let drafts = choices.map(|choice| Draft {
        plan,
        is_exact: way == Way::Exact,
        takes_rest: choice & 1 == 0,
        stripped: choice >> 1,
    });
    drafts.map(|draft| draft.template()).collect()
}

/// A template with these answers to what the schema leaves open.
struct Draft<'p> {
    plan: &'p Plan,
    /// Whether what opens a field looks ahead as far as the schema does, and the end of the text counts.
    is_exact: bool,
    /// Whether what follows the end is left out.
    takes_rest: bool,
    /// A bit for each text: whether white space around it is taken off.
    stripped: usize,
}

impl Draft<'_> {
    fn template(&self) -> Value {
        let mut fields = Object::new();
        let mut texts = 0;
        for (index, field) in self.plan.fields.iter().enumerate() {
            let made = match &field.kind {
                PlanKind::List(item) => self.list(field, item),
                PlanKind::Text(parser) => {
                    let mut made = match self.plan.implicit == Some(index) {
                        true => self.implicit_text(field),
                        false => self.marked_text(field),
                    };
                    match *parser {
                        "text" => {
                            if texts >= MAX_OPEN || self.stripped >> texts & 1 == 0 {
                                let keeps = Object::from_iter([("strip", false)]);
                                made.insert("content_args", keeps);
                            }
                            texts += 1;
                        }
                        parser => {
                            made.insert("content", parser);
                        }
                    }
                    made
                }
            };
            fields.insert(field.name.as_str(), made);
        }
        // A schema knows nothing of prompts, and reads what follows them.
        let mut template = Object::from_iter([("start_anchor_pattern", Value::from(r"\Z"))]);
        if !self.plan.defaults.is_empty() {
            template.insert("defaults", self.plan.defaults.clone());
        }
        template.insert("fields", fields);
        template.into()
    }

    /// The text that no other field claims.
    fn implicit_text(&self, field: &Planned) -> Object {
        let close = if self.plan.root.is_none() {
            plain(&self.cut(&field.around.after))
        } else if self.is_last(field) {
            self.ending(&[])
        } else if self.ending(&[]).is_empty() {
            String::new()
        } else {
            self.ending(&field.around.after)
        };
        let close = Some(close).filter(|close| !close.is_empty());
        close
            .map(|close| ("close_pattern", close))
            .into_iter()
            .collect()
    }

    /// A text between markers.
    fn marked_text(&self, field: &Planned) -> Object {
        let close = plain(&without_end(&field.around.after));
        let mut open = opening(&field.around);
        // Where the end of the text will do, nothing has to be ahead.
        let has_to_close = !close.is_empty() && close == plain(&field.around.after);
        if is_optional(&field.around.before) || (self.is_exact && has_to_close) {
            open.push_str(&format!("(?=.*?{close})"));
        }
        let open = either(&open, field.also.iter().map(|(open, _)| open));
        let close = either(&close, field.also.iter().map(|(_, close)| close));
        let mut made = Object::from_iter([("open_pattern", open)]);
        if !close.is_empty() {
            made.insert("close_pattern", close);
        }
        made
    }

    fn list(&self, field: &Planned, item: &Item) -> Object {
        let implicit = self.plan.implicit.map(|index| &self.plan.fields[index]);
        let gap = implicit.map_or(String::new(), |implicit| self.gap(implicit));
        let ahead = match self.is_exact {
            true => self.rest_from(field),
            false => String::new(),
        };
        let open = gap + &ahead + &plain(&field.around.before) + &item.open;
        let mut made = Object::from_iter([("open_pattern", Value::from(open))]);
        let close = item.close.clone() + &plain(&without_end(&field.around.after));
        let close = match close.is_empty() {
            true => self.ending(&[]),
            false => close + r"\s*",
        };
        if !close.is_empty() {
            made.insert("close_pattern", close);
        }
        made.insert("repeats", true);
        made.insert("content", item.content);
        if !item.content_args.is_empty() {
            made.insert("content_args", item.content_args.clone());
        }
        made.insert("transform", item.transform.clone());
        made
    }

    /// What ends the message, behind these.
    fn ending(&self, before: &[Node]) -> String {
        let nodes = self.cut(&[before, &self.plan.tail].concat());
        match nodes.is_empty() {
            true => String::new(),
            false => plain(&nodes) + if self.takes_rest { ".*" } else { "" },
        }
    }

    fn cut(&self, nodes: &[Node]) -> Vec<Node> {
        match self.is_exact {
            true => nodes.to_vec(),
            false => without_end(nodes),
        }
    }

    /// Whether no other field has its group behind that of this one.
    fn is_last(&self, field: &Planned) -> bool {
        let fields = &mut self.plan.fields.iter();
        fields.all(|other| other.group <= field.group)
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
        let inner = self.plan.root.as_ref().zip(list.group);
        match inner.and_then(|(root, group)| inside(&root.node, group)) {
            Some(inner) => format!(
                "(?={}{})",
                plain(std::slice::from_ref(inner)),
                plain(&self.plan.tail)
            ),
            None => String::new(),
        }
    }
}

/// What opens a field. If something may stand in place of its text that is no text of it, that belongs to
/// what opens it, up to what closes it.
fn opening(around: &GroupContext) -> String {
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
