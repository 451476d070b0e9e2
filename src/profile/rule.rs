//! The rules of profiles, and what they have against a template.

use std::fmt;

use crate::diagnostic::Diagnostic;
use crate::value::{Object, Value, pointer_below};

use super::{SourceFile, Target, Version};

/// Something that a package asks of templates, beyond the language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) check: Check,
    /// What becomes of templates that are otherwise.
    pub(super) effect: Effect,
    /// What that means, where the template is not refused.
    pub(super) why: Option<String>,
    /// The first version that asks for it.
    pub(super) since: Option<Version>,
    /// The first version that does not ask for it any more.
    pub(super) until: Option<Version>,
    pub(super) source: SourceFile,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Check {
    /// There are no other fields.
    Fields(Vec<String>),
    /// There are no other defaults.
    Defaults(Vec<String>),
    /// What these fields hold is text as it stands there: by one of these parsers, without these keys.
    Text {
        names: Vec<String>,
        parsers: Vec<String>,
        without: Vec<String>,
    },
    /// The field has an opening delimiter, at least where another field has one.
    Opener {
        field: String,
        where_opened: Option<String>,
    },
    /// A call is an object of `function`, with `name` and `arguments`; or of these two, if it may be flat; or
    /// without arguments, if it may be bare.
    CallShape { flat: bool, bare: bool },
    /// `tool_calls` becomes a list.
    CallsInList,
    /// A region holds one call.
    CallByCall,
    /// Placeholders have no dots.
    PlainPlaceholders,
}

/// What becomes of a template that is not as a package wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Effect {
    /// It is taken, but part of it has no effect somewhere.
    Limits,
    /// It is taken, but what it is there for does not work.
    Fails,
    /// It is refused.
    Refused,
}

impl Effect {
    /// A name for programs.
    pub fn key(self) -> &'static str {
        match self {
            Effect::Limits => "limits",
            Effect::Fails => "fails",
            Effect::Refused => "refused",
        }
    }
}

/// What a package has against a template.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Objection {
    /// The package.
    pub target: Target,
    /// What becomes of the template.
    pub effect: Effect,
    /// What of the template it is about, and what is wrong with it. The pointer is that within the template.
    pub diagnostic: Diagnostic,
}

impl Objection {
    /// The version of the language that the package has takes no such template.
    pub(super) fn of_language(target: Target, mut fault: Diagnostic) -> Objection {
        fault.message = format!("{target} refuses the template: {}", fault.message);
        Objection {
            target,
            effect: Effect::Refused,
            diagnostic: fault,
        }
    }

    /// The package is older than its first version that reads templates.
    pub(super) fn too_old(target: Target) -> Objection {
        let (title, since) = (target.profile.title(), target.profile.since());
        let diagnostic = Diagnostic::new(format!("{target} reads no response templates"));
        Objection {
            target,
            effect: Effect::Refused,
            diagnostic: diagnostic.with_remedy(format!("use {title} {since} or newer")),
        }
    }
}

/// A fault of a template: where it is, what it is, and what can be done.
struct Fault {
    pointer: String,
    what: String,
    remedy: String,
}

impl Fault {
    fn new(pointer: String, what: impl Into<String>, remedy: impl Into<String>) -> Fault {
        Fault {
            pointer,
            what: what.into(),
            remedy: remedy.into(),
        }
    }
}

impl Rule {
    pub(super) fn holds_at(&self, version: Version) -> bool {
        self.since.is_none_or(|since| since <= version)
            && self.until.is_none_or(|until| version < until)
    }

    /// The only fields that it allows, if it is about that.
    pub(super) fn fields(&self) -> Option<&[String]> {
        match &self.check {
            Check::Fields(names) => Some(names),
            _ => None,
        }
    }

    /// What it has against a template, as the template stands in JSON.
    pub(super) fn objections(&self, target: Target, template: &Value) -> Vec<Objection> {
        let objection = |fault: Fault| {
            let message = match &self.why {
                None => format!("{target} refuses the template: {}", fault.what),
                Some(why) => format!("{target} takes the template, but {why}: {}", fault.what),
            };
            // A newer version helps if it does not object to the same for another reason.
            let helps = |until: &Version| {
                let mut rules = target.profile.rules.iter();
                !rules.any(|rule| {
                    rule.holds_at(*until)
                        && rule
                            .check
                            .faults(template, target.reasoning())
                            .iter()
                            .any(|other| other.pointer == fault.pointer)
                })
            };
            let remedy = match self.until.filter(helps) {
                Some(until) => format!(
                    "{}, or use {} {until} or newer",
                    fault.remedy,
                    target.profile.title()
                ),
                None => fault.remedy,
            };
            Objection {
                target,
                effect: self.effect,
                diagnostic: Diagnostic::new(message)
                    .at(fault.pointer)
                    .with_remedy(remedy),
            }
        };
        let faults = self.check.faults(template, target.reasoning());
        faults.into_iter().map(objection).collect()
    }
}

/// What is asked, in words.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.check {
            Check::Fields(names) => write!(f, "fields are {}", listed(names)),
            Check::Defaults(names) => write!(f, "defaults are {}", listed(names)),
            Check::Text {
                names,
                parsers,
                without,
            } => {
                write!(f, "{} are read as {}", listed(names), listed(parsers))?;
                match without.as_slice() {
                    [] => Ok(()),
                    without => write!(f, ", without {}", listed(without)),
                }
            }
            Check::Opener {
                field,
                where_opened,
            } => {
                write!(f, "`{field}` has `open` or `open_pattern`")?;
                match where_opened {
                    Some(other) => write!(f, " where `{other}` has"),
                    None => Ok(()),
                }
            }
            Check::CallShape { flat, bare } => {
                f.write_str("a call is an object of `function`, with `name` and ")?;
                f.write_str(if *bare {
                    "maybe `arguments`"
                } else {
                    "`arguments`"
                })?;
                f.write_str(if *flat { ", or of these two" } else { "" })
            }
            Check::CallsInList => f.write_str("`tool_calls` becomes a list"),
            Check::CallByCall => f.write_str("a region of `tool_calls` holds one call"),
            Check::PlainPlaceholders => f.write_str("placeholders have no dots in them"),
        }
    }
}

/// Names in backquotes.
fn listed(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

impl Check {
    fn faults(&self, template: &Value, reasoning: &str) -> Vec<Fault> {
        let of_fields = |fault: &dyn Fn(&str, &Object) -> Option<Fault>| -> Vec<Fault> {
            let fields = fields(template).filter_map(|(name, field)| fault(name, field));
            fields.collect()
        };
        match self {
            Check::Fields(known) => of_fields(&|name, _| {
                let is_known = known.iter().any(|known| known == name);
                (!is_known).then(|| {
                    let remedy = match super::port::is_reasoning(name) {
                        true => format!("call it `{reasoning}`"),
                        false => format!("what it knows is {}", listed(known)),
                    };
                    Fault::new(
                        pointer_to(name),
                        format!("it knows no field `{name}`"),
                        remedy,
                    )
                })
            }),
            Check::Defaults(known) => {
                let defaults = template.get("defaults").and_then(Value::as_object);
                let keys = defaults.into_iter().flat_map(Object::keys);
                let keys = keys.map(|key| key.to_string_lossy());
                let unknown = keys.filter(|key| !known.iter().any(|known| known == key));
                let fault = |key: std::borrow::Cow<'_, str>| {
                    Fault::new(
                        pointer_below("/defaults", &key),
                        format!("it knows no default `{key}`"),
                        "leave the default out",
                    )
                };
                unknown.map(fault).collect()
            }
            Check::Text {
                names,
                parsers,
                without,
            } => of_fields(&|name, field| {
                let is_text = names.iter().any(|text| text == name);
                let parser = parser_of(field);
                let pointer = pointer_to(name);
                if !is_text {
                    return None;
                }
                if !parsers.iter().any(|known| known == parser) {
                    return Some(Fault::new(
                        pointer_below(&pointer, "content"),
                        format!("`{name}` is not text as it stands there, but read by `{parser}`"),
                        format!("let `content` be {}", listed(parsers)),
                    ));
                }
                let key = without.iter().find(|key| field.contains_key(key))?;
                Some(Fault::new(
                    pointer_below(&pointer, key),
                    format!("`{name}` is not text as it stands there, but has `{key}`"),
                    format!("leave `{key}` out"),
                ))
            }),
            Check::Opener {
                field: asked,
                where_opened,
            } => of_fields(&|name, field| {
                let beside = where_opened.as_ref().map(|other| {
                    fields(template).any(|(name, field)| name == other && is_opened(field))
                });
                let asks = name == asked && beside.unwrap_or(true);
                (asks && !is_opened(field)).then(|| {
                    let beside = match where_opened {
                        Some(other) => format!(", and `{other}` has one"),
                        None => String::new(),
                    };
                    Fault::new(
                        pointer_to(name),
                        format!("`{name}` has no opening delimiter{beside}"),
                        "give it `open` or `open_pattern`",
                    )
                })
            }),
            Check::CallShape { flat, bare } => of_fields(&|name, field| {
                let is_other = name == CALLS
                    && call_shape(field).is_some_and(|shape| !shape.is_fine(*flat, *bare));
                is_other.then(|| {
                    let (key, pointer) = ("transform", pointer_to(name));
                    let pointer = match field.contains_key(key) {
                        true => pointer_below(&pointer, key),
                        false => pointer,
                    };
                    Fault::new(
                        pointer,
                        "a call does not become an object of `function` with `name` and `arguments`",
                        "let `transform` be {\"type\": \"function\", \"function\": {\"name\": …, \
                         \"arguments\": …}}",
                    )
                })
            }),
            Check::CallsInList => of_fields(&|name, field| {
                let repeats = field.get("repeats").and_then(Value::as_bool);
                let is_single = name == CALLS
                    && repeats != Some(true)
                    && call_shape(field).is_some()
                    && !is_each(field);
                is_single.then(|| {
                    Fault::new(
                        pointer_to(name),
                        "a call does not become the item of a list",
                        "set `repeats` to true",
                    )
                })
            }),
            Check::CallByCall => of_fields(&|name, field| {
                (name == CALLS && is_each(field)).then(|| {
                    Fault::new(
                        pointer_below(&pointer_to(name), "transform_each"),
                        "a region holds a list of calls",
                        "read whole outputs, where the format writes its calls as one list",
                    )
                })
            }),
            Check::PlainPlaceholders => of_fields(&|name, field| {
                let dotted = dotted_placeholder(field.get("transform")?)?;
                Some(Fault::new(
                    pointer_below(&pointer_to(name), "transform"),
                    format!("`{dotted}` goes into a value, which it does not know"),
                    "take the whole value",
                ))
            }),
        }
    }
}

/// The field of calls.
pub(super) const CALLS: &str = "tool_calls";

/// The fields of a template, each with its name. A name that is no text can't be one that is known.
fn fields(template: &Value) -> impl Iterator<Item = (&str, &Object)> {
    let fields = template.get("fields").and_then(Value::as_object);
    let fields = fields.into_iter().flat_map(Object::iter);
    fields
        .filter_map(|(name, field)| Some((name.as_str().unwrap_or("\u{fffd}"), field.as_object()?)))
}

fn pointer_to(field: &str) -> String {
    pointer_below("/fields", field)
}

/// The content parser of a field.
fn parser_of(field: &Object) -> &str {
    field
        .get("content")
        .and_then(Value::as_str)
        .unwrap_or("text")
}

fn is_opened(field: &Object) -> bool {
    field.contains_key("open") || field.contains_key("open_pattern")
}

/// Whether a region holds a list, of which each item is transformed.
pub(super) fn is_each(field: &Object) -> bool {
    field.get("transform_each").and_then(Value::as_bool) == Some(true)
}

/// What a call becomes, as far as the template shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallShape {
    /// An object of `function`, with a name, and maybe with arguments.
    Nested { arguments: bool },
    /// An object of a name, and maybe of arguments.
    Flat { arguments: bool },
    /// Something else.
    Other,
}

impl CallShape {
    fn is_fine(self, flat: bool, bare: bool) -> bool {
        match self {
            CallShape::Nested { arguments } => arguments || bare,
            CallShape::Flat { arguments } => flat && (arguments || bare),
            CallShape::Other => false,
        }
    }
}

/// What a call becomes; `None` where only the text shows it.
pub(super) fn call_shape(field: &Object) -> Option<CallShape> {
    let transform = match field.get("transform") {
        Some(Value::Object(transform)) => transform,
        Some(Value::String(_)) => return None,
        Some(_) => return Some(CallShape::Other),
        None => {
            let is_plain = ["text", "int", "float", "bool"].contains(&parser_of(field));
            return is_plain.then_some(CallShape::Other);
        }
    };
    let has = |object: &Object, key| {
        object
            .get(key)
            .is_some_and(|value: &Value| !value.is_null())
    };
    Some(match transform.get("function") {
        Some(Value::Object(function)) if has(function, "name") => CallShape::Nested {
            arguments: has(function, "arguments"),
        },
        // Whether there are arguments, only the text shows.
        Some(Value::String(_)) => CallShape::Nested { arguments: true },
        None if has(transform, "name") => CallShape::Flat {
            arguments: has(transform, "arguments"),
        },
        _ => CallShape::Other,
    })
}

/// Whether a value is a call that can be sent to clients.
pub(super) fn is_call(value: &Value) -> bool {
    let function = value.get("function");
    let name = function.and_then(|function| function.get("name"));
    let arguments = function.and_then(|function| function.get("arguments"));
    name.and_then(Value::as_str)
        .is_some_and(|name| !name.is_empty())
        && arguments.is_some_and(|arguments| !arguments.is_null())
}

/// A placeholder with a dot, anywhere in a transform.
fn dotted_placeholder(transform: &Value) -> Option<&str> {
    let mut open = vec![transform];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(object) => open.extend(object.values()),
            Value::Array(items) => open.extend(items),
            _ => {}
        }
        let text = value.as_str().unwrap_or_default();
        let inner = text
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'));
        if inner.is_some_and(|path| path.contains('.')) {
            return Some(text);
        }
    }
    None
}
