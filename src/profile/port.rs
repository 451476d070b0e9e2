//! Rewriting a template for those who want it otherwise.

use crate::completion::REASONING;
use crate::response::{Language, ResponseTemplate, TemplateError};
use crate::value::{JsonString, Object, Value, object, pointer_below};

use super::rule::{CALLS, CallShape, Check, call_shape, is_each};
use super::{Effect, Objection, Target};

/// Whether a field of this name is for reasoning.
pub(super) fn is_reasoning(name: &str) -> bool {
    REASONING.contains(&name)
}

/// A template that was rewritten for a target.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Ported {
    /// The template as the target wants it, as far as that can be had.
    pub template: ResponseTemplate,
    /// What is otherwise than it was.
    pub changes: Vec<Change>,
    /// What the target has against it all the same.
    pub objections: Vec<Objection>,
}

/// Something that is otherwise in a template that was rewritten.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// The JSON pointer to what is otherwise, as it was before.
    pub pointer: String,
    /// What is otherwise, for people.
    pub says: String,
    kind: ChangeEffect,
}

/// What a change does to messages.
#[derive(Debug, Clone, PartialEq)]
enum ChangeEffect {
    Renamed {
        from: String,
        to: String,
    },
    NoDefault {
        key: JsonString,
        value: Value,
    },
    NoJoin {
        field: String,
        join: String,
    },
    Wrapped,
    Repeats,
    /// Nothing.
    Same,
}

/// Rewrites a template for a target: names of fields, defaults, what texts must not have, and the shape of calls.
/// What can't be rewritten is left as it is, and stays among the [objections](Ported::objections).
///
/// # Errors
///
/// If what comes of it is no valid template. No template is known of which that is so.
pub fn port(template: &ResponseTemplate, target: Target) -> Result<Ported, TemplateError> {
    let mut value = template.as_value().clone();
    let mut changes = Vec::new();
    if let Value::Object(document) = &mut value {
        let holds = |rule: &&super::Rule| rule.holds_at(target.version);
        let renamed = Renaming::of(document, target.reasoning());
        for rule in target.profile.rules.iter().filter(holds) {
            match &rule.check {
                Check::Defaults(known) => leave_out_defaults(document, known, &mut changes),
                Check::Text { names, without, .. } => {
                    leave_out_of_texts(document, names, without, renamed, &mut changes);
                }
                Check::CallShape { flat: false, .. } => wrap_calls(document, &mut changes),
                Check::CallsInList => list_calls(document, &mut changes),
                _ => {}
            }
        }
        if let Some(renaming) = renamed {
            renaming.rename(document, &mut changes);
        }
    }
    let template = ResponseTemplate::from_value(&value)?;
    Ok(Ported {
        objections: target.objections(&template),
        template,
        changes,
    })
}

impl Target {
    /// The name that it gives to the field for reasoning.
    ///
    /// ```
    /// use unjinja::profile::Target;
    ///
    /// for (target, name) in [
    ///     ("vllm", "thinking"),
    ///     ("transformers", "reasoning_content"),
    ///     ("transformers@5.20", "thinking"),
    /// ] {
    ///     assert_eq!(target.parse::<Target>()?.reasoning(), name);
    /// }
    /// # Ok::<(), unjinja::profile::UnknownTarget>(())
    /// ```
    pub fn reasoning(self) -> &'static str {
        reasoning_for(&[self]).unwrap_or(&self.profile.reasoning)
    }

    fn knows_field(self, name: &str) -> bool {
        let rules = self.profile.rules.iter();
        let rules = rules.filter(|rule| rule.holds_at(self.version));
        let mut known = rules.filter_map(super::Rule::fields);
        known.all(|fields| fields.iter().any(|field| field == name))
    }
}

/// The name for the field for reasoning that suits all of some targets: the first one's own, if it does.
///
/// ```
/// use unjinja::profile::{Target, reasoning_for};
///
/// let targets: [Target; 2] = ["transformers".parse()?, "vllm".parse()?];
/// assert_eq!(reasoning_for(&targets), Some("thinking"));
/// # Ok::<(), unjinja::profile::UnknownTarget>(())
/// ```
pub fn reasoning_for(targets: &[Target]) -> Option<&'static str> {
    let own = targets
        .iter()
        .map(|target| target.profile.reasoning.as_str());
    let suits = |name: &&str| targets.iter().all(|target| target.knows_field(name));
    own.chain(REASONING).find(suits)
}

/// The newest version of the language that all of some targets have; none if there are none.
///
/// ```
/// use unjinja::profile::{Target, language_for};
/// use unjinja::response::Language;
///
/// let targets: [Target; 2] = ["transformers@5.24".parse()?, "vllm@0.33".parse()?];
/// assert_eq!(language_for(&targets), Some(Language::V5_20));
/// # Ok::<(), unjinja::profile::UnknownTarget>(())
/// ```
pub fn language_for(targets: &[Target]) -> Option<Language> {
    targets.iter().map(|target| target.language()).min()
}

/// Returns whether all of some targets take a content of several texts that are joined; not if there are none.
///
/// ```
/// use unjinja::profile::{Target, joins_for};
///
/// let targets: [Target; 2] = ["transformers@5.16".parse()?, "vllm@0.33".parse()?];
/// assert!(joins_for(&targets[..1]));
/// assert!(!joins_for(&targets));
/// assert!(!joins_for(&["transformers@5.15".parse()?]));
/// assert!(!joins_for(&[]));
/// # Ok::<(), unjinja::profile::UnknownTarget>(())
/// ```
pub fn joins_for(targets: &[Target]) -> bool {
    let joined = object! {"repeats": true, "join": ""};
    let document = object! {"start_anchor": "<bot>", "fields": object! {"content": joined}};
    let template = ResponseTemplate::from_value(Value::from(document));
    let all_take = |template| {
        let mut objections = targets
            .iter()
            .flat_map(|target| target.objections(&template));
        objections.all(|objection| objection.effect == Effect::Limits)
    };
    !targets.is_empty() && template.is_ok_and(all_take)
}

impl Ported {
    /// Whether two messages are alike but for what was changed: that of the template as it was, and that of
    /// the one that was made of it.
    ///
    /// ```
    /// use unjinja::profile::{Target, port};
    /// use unjinja::{ParserOptions, ResponseTemplate, parse};
    ///
    /// let template = ResponseTemplate::from_json(r#"{
    ///     "start_anchor": "<bot>",
    ///     "fields": {"reasoning": {"open": "<think>", "close": "</think>"}}
    /// }"#)?;
    /// let ported = port(&template, "sglang".parse()?)?;
    /// let read = |template| parse(template, "<bot>", "<think>Hm.</think>", ParserOptions::default());
    /// assert!(ported.agree(read(&template)?, read(&ported.template)?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn agree(&self, mut before: Object, mut after: Object) -> bool {
        for change in &self.changes {
            change.align(&mut before, &mut after);
        }
        before.len() == after.len()
            && before.iter().all(|(key, value)| {
                let other = after.get_json_string(key);
                other.is_some_and(|other| other.total_eq(value))
            })
    }
}

impl Change {
    fn new(pointer: impl Into<String>, says: impl Into<String>, kind: ChangeEffect) -> Change {
        Change {
            pointer: pointer.into(),
            says: says.into(),
            kind,
        }
    }

    /// Makes what differs by the change alike in both messages.
    fn align(&self, before: &mut Object, after: &mut Object) {
        match &self.kind {
            ChangeEffect::Renamed { from, to } => {
                if let Some(value) = before.remove(from) {
                    before.insert(to.as_str(), value);
                }
            }
            ChangeEffect::NoDefault { key, value } => {
                let is_default = |message: &Object| {
                    let held = message.get_json_string(key);
                    held.is_none_or(|held| held.total_eq(value))
                };
                if is_default(before) && is_default(after) {
                    let is_other = |held: &JsonString| held != key;
                    before.retain(|held, _| is_other(held));
                    after.retain(|held, _| is_other(held));
                }
            }
            ChangeEffect::NoJoin { field, join } => {
                if let Some(Value::Array(texts)) = after.get(field) {
                    let texts: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
                    let joined = texts.join(join);
                    // A joined text is left out where nothing is in it.
                    match joined.is_empty() && !before.contains_key(field) {
                        true => after.remove(field),
                        false => after.insert(field.as_str(), joined),
                    };
                }
            }
            ChangeEffect::Wrapped => {
                let calls = before.get_mut(CALLS).map(|calls| match calls {
                    Value::Array(calls) => calls.as_mut_slice(),
                    call => std::slice::from_mut(call),
                });
                for call in calls.into_iter().flatten() {
                    if let Value::Object(object) = call {
                        *call = wrapped(object).into();
                    }
                }
            }
            ChangeEffect::Repeats => {
                if let Some(call) = before.remove(CALLS) {
                    before.insert(CALLS, vec![call]);
                }
                // Of several, the last one counted.
                if let Some(calls) = after.get_mut(CALLS).and_then(Value::as_array_mut)
                    && calls.len() > 1
                {
                    calls.drain(..calls.len() - 1);
                }
            }
            ChangeEffect::Same => {}
        }
    }
}

/// The fields of a template.
fn fields_of(document: &mut Object) -> Option<&mut Object> {
    document.get_mut("fields").and_then(Value::as_object_mut)
}

fn leave_out_defaults(document: &mut Object, known: &[String], changes: &mut Vec<Change>) {
    let Some(defaults) = document.get_mut("defaults").and_then(Value::as_object_mut) else {
        return;
    };
    defaults.retain(|key, value| {
        let is_known = known.iter().any(|known| key.as_str() == Some(known));
        if !is_known {
            let name = key.to_string_lossy();
            changes.push(Change::new(
                pointer_below("/defaults", &name),
                format!(
                    "the default `{name}` is left out: messages have no such key unless it is read"
                ),
                ChangeEffect::NoDefault {
                    key: key.clone(),
                    value: value.clone(),
                },
            ));
        }
        is_known
    });
}

fn leave_out_of_texts(
    document: &mut Object,
    names: &[String],
    without: &[String],
    renamed: Option<Renaming>,
    changes: &mut Vec<Change>,
) {
    let is_left_out = |key: &str| without.iter().any(|without| without == key);
    for new_name in names {
        // It still has the name that it had.
        let name = match renamed {
            Some(Renaming { from, to }) if new_name == to => from,
            _ => new_name.as_str(),
        };
        let field = fields_of(document).and_then(|fields| fields.get_mut(name));
        let Some(field) = field.and_then(Value::as_object_mut) else {
            continue;
        };
        let pointer = |key| pointer_below(&pointer_below("/fields", name), key);
        let does_nothing = field.get("transform").and_then(Value::as_str) == Some("{content}");
        if is_left_out("transform") && does_nothing && !is_each(field) {
            field.remove("transform");
            changes.push(Change::new(
                pointer("transform"),
                "the transform is left out: it changes nothing",
                ChangeEffect::Same,
            ));
        }
        let join = field.get("join").and_then(Value::as_str).map(str::to_owned);
        if let Some(join) = join.filter(|_| is_left_out("join")) {
            field.remove("join");
            let between = match join.is_empty() {
                true => String::new(),
                false => format!(", without {join:?} between them"),
            };
            changes.push(Change::new(
                pointer("join"),
                format!(
                    "`join` is left out: the texts of several regions follow each other{between}"
                ),
                ChangeEffect::NoJoin {
                    field: new_name.clone(),
                    join,
                },
            ));
        }
    }
}

/// A flat call, or a transform to one, with name and arguments below `function`.
fn wrapped(flat: &Object) -> Object {
    let mut out = Object::from_iter([("type", "function")]);
    let mut function = Object::new();
    for (key, value) in flat {
        match key.as_str() {
            Some("name" | "arguments") => function.insert(key.clone(), value.clone()),
            _ => out.insert(key.clone(), value.clone()),
        };
    }
    out.insert("function", function);
    out
}

fn wrap_calls(document: &mut Object, changes: &mut Vec<Change>) {
    let calls = fields_of(document).and_then(|fields| fields.get_mut(CALLS));
    let Some(field) = calls.and_then(Value::as_object_mut) else {
        return;
    };
    if !matches!(call_shape(field), Some(CallShape::Flat { .. })) {
        return;
    }
    if let Some(transform) = field.get_mut("transform")
        && let Value::Object(flat) = transform
    {
        *transform = wrapped(flat).into();
        changes.push(Change::new(
            format!("/fields/{CALLS}/transform"),
            "name and arguments of a call stand below `function`",
            ChangeEffect::Wrapped,
        ));
    }
}

fn list_calls(document: &mut Object, changes: &mut Vec<Change>) {
    let calls = fields_of(document).and_then(|fields| fields.get_mut(CALLS));
    let Some(field) = calls.and_then(Value::as_object_mut) else {
        return;
    };
    let repeats = field.get("repeats").and_then(Value::as_bool);
    if repeats == Some(true) || is_each(field) || call_shape(field).is_none() {
        return;
    }
    field.insert("repeats", true);
    changes.push(Change::new(
        format!("/fields/{CALLS}"),
        "calls become a list, also where there is only one",
        ChangeEffect::Repeats,
    ));
}

/// The field for reasoning gets another name.
#[derive(Debug, Clone, Copy)]
struct Renaming {
    from: &'static str,
    to: &'static str,
}

impl Renaming {
    /// Gives a key the new name, where it stands.
    fn rename_key(self, object: &mut Object) {
        let renamed = object.iter().map(|(name, value)| {
            let name = match name.as_str() == Some(self.from) {
                true => JsonString::from(self.to),
                false => name.clone(),
            };
            (name, value.clone())
        });
        *object = renamed.collect();
    }

    /// If the name is wanted, and free.
    fn of(document: &Object, to: &'static str) -> Option<Renaming> {
        let fields = document.get("fields")?.as_object()?;
        let is_there = |name: &&str| fields.contains_key(name);
        let from = REASONING.into_iter().find(is_there)?;
        (!is_there(&to)).then_some(Renaming { from, to })
    }

    fn rename(self, document: &mut Object, changes: &mut Vec<Change>) {
        let Some(fields) = fields_of(document) else {
            return;
        };
        self.rename_key(fields);
        let defaults = document.get_mut("defaults").and_then(Value::as_object_mut);
        if let Some(defaults) = defaults.filter(|defaults| defaults.contains_key(self.from)) {
            // One of the new name would never have been the field's.
            defaults.remove(self.to);
            self.rename_key(defaults);
        }
        changes.push(Change::new(
            pointer_below("/fields", self.from),
            format!("the field `{}` is called `{}`", self.from, self.to),
            ChangeEffect::Renamed {
                from: self.from.to_owned(),
                to: self.to.to_owned(),
            },
        ));
    }
}
