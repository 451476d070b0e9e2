//! Limits of the schemas that grammars are made of, and what becomes of what is beyond them.
//!
//! What a client sends as tools is to cost as much as there is of it, and never more than an engine could make use of. All
//! limits count what is there or what is done, so the same request has the same answer everywhere.
//!
//! | limit | most | for whom |
//! |---|---|---|
//! | [`MAX_TOOLS`] | 5,000 | engines, which read a rule for each |
//! | [`MAX_VALUES`] | 100,000 | memory and time: a request of some megabytes, without its descriptions |
//! | [`MAX_DEPTH`] | 128 | the stacks of this program and of engines; JSON that a model writes is flatter |
//! | [`MAX_LISTED`] | 20,000 | engines, which keep each text of an `enum` as states |
//! | [`MAX_STEPS`] | 1,000,000 | time: what stands beside `anyOf` or in `allOf` is written again for each part, and patterns are larger than they look |
//!
//! What stands in a single value is not refused: counts, patterns and bounds that are too large are not enforced, which a warning
//! says. These limits stand where they are looked at: `MAX_COUNT` in `schema.rs`, those of patterns in `pattern.rs`.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;

use super::Beyond;
use crate::remedy::Remedy;
use crate::value::{Object, Value, pointer_below, pointer_tokens};

/// So many tools may be called in a request.
pub(super) const MAX_TOOLS: usize = 5_000;

/// So many values may stand in the schemas of a request, descriptions apart.
pub(super) const MAX_VALUES: usize = 100_000;

/// So deep may schemas, and values in them, stand in one another.
pub(super) const MAX_DEPTH: usize = 128;

/// So many values may an `enum` list.
pub(super) const MAX_LISTED: usize = 20_000;

/// So many steps may be taken: a schema is one, and so is each value that is copied, and each range of characters of a pattern.
pub(super) const MAX_STEPS: usize = 1_000_000;

/// So much of a pointer or a name stands in a message.
const MAX_SHOWN: usize = 2_000;

/// So much of a name do rules have that are named after it.
const MAX_NAME: usize = 64;

/// Keys that say nothing of values, and may be long.
const WORDS: [&str; 6] = [
    "description",
    "title",
    "default",
    "example",
    "examples",
    "$comment",
];

/// Keys of a schema under which schemas stand by name.
pub(super) const NAMED: [&str; 5] = [
    "properties",
    "$defs",
    "definitions",
    "patternProperties",
    "dependentSchemas",
];

/// Keys of a schema under which a list of schemas stands.
const LISTED: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];

/// A limit of the schemas that grammars are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// The number of tools.
    Tools,
    /// The number of values in the schemas.
    Values,
    /// The depth of schemas in one another.
    Depth,
    /// The number of values that an `enum` lists.
    Listed,
    /// The steps that writing them takes: what stands beside `anyOf` or in `allOf` is written again for each part, and what an
    /// argument refers to for each argument.
    Steps,
}

impl Limit {
    /// The most of it that there may be.
    pub fn most(self) -> usize {
        match self {
            Limit::Tools => MAX_TOOLS,
            Limit::Values => MAX_VALUES,
            Limit::Depth => MAX_DEPTH,
            Limit::Listed => MAX_LISTED,
            Limit::Steps => MAX_STEPS,
        }
    }

    /// A name for programs.
    pub fn key(self) -> &'static str {
        match self {
            Limit::Tools => "tools",
            Limit::Values => "values",
            Limit::Depth => "depth",
            Limit::Listed => "listed",
            Limit::Steps => "steps",
        }
    }

    /// The remedy.
    fn advice(self) -> &'static str {
        match self {
            Limit::Tools => "offer fewer tools",
            Limit::Values => "offer fewer tools, or smaller ones",
            Limit::Depth => "make the schema flatter",
            Limit::Listed => "list fewer values, or take a `pattern`",
            Limit::Steps => {
                "let less stand beside `anyOf` and in `allOf`, refer to less in each argument, or take shorter patterns"
            }
        }
    }
}

/// The limit in words, as the end of a sentence on what is beyond it.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.most();
        match self {
            Limit::Tools => write!(f, "there are more than {most} tools"),
            Limit::Values => write!(f, "the schemas have more than {most} values"),
            Limit::Depth => write!(f, "it is nested deeper than {most}"),
            Limit::Listed => write!(f, "it lists more than {most} values"),
            Limit::Steps => write!(f, "up to here, it takes more than {most} steps to write"),
        }
    }
}

/// A place in a schema of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Place {
    /// The tool whose `parameters` it is in. That of an answer is in none.
    pub tool: Option<String>,
    /// The JSON pointer to it; empty for all of the schema.
    pub pointer: String,
}

impl Place {
    pub(super) fn new(tool: Option<&str>, pointer: impl Into<String>) -> Place {
        Place {
            tool: tool.map(str::to_owned),
            pointer: pointer.into(),
        }
    }
}

/// The place in words, such as "`/properties/at` in the parameters of the tool `wait`".
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => {}
            pointer => write!(f, "`{}` in ", shortened(pointer))?,
        }
        match &self.tool {
            Some(tool) => write!(f, "the parameters of the tool `{}`", shortened(tool)),
            None => f.write_str("the schema"),
        }
    }
}

/// A text that may be as long as a request, as it stands in a message.
pub(super) fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// The beginning of a name, for what is named after it.
pub(super) fn short_name(name: &str) -> &str {
    let end = name.char_indices().nth(MAX_NAME).map(|(end, _)| end);
    &name[..end.unwrap_or(name.len())]
}

/// A place that is beyond a limit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TooMuch {
    /// The place of it.
    pub place: Place,
    /// The limit.
    pub limit: Limit,
}

impl TooMuch {
    /// The message, where a remedy has another name than in the library.
    pub fn explain(&self, name: impl Fn(Remedy) -> &'static str) -> String {
        let TooMuch { place, limit } = self;
        let advice = limit.advice();
        match limit {
            // There is no grammar that is looser than one of these tools.
            Limit::Tools => format!("{limit}: {advice}"),
            _ => format!(
                "{place}: {limit}: {advice}, or allow any value there with {}",
                name(Remedy::Loosen)
            ),
        }
    }

    /// The warning where any value is allowed instead.
    fn warning(&self) -> String {
        let TooMuch { place, limit } = self;
        format!("{place}: {limit}, so any value is allowed there")
    }
}

impl fmt::Display for TooMuch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.explain(Remedy::name))
    }
}

impl std::error::Error for TooMuch {}

/// The work that may still be done for the schemas of a request.
#[derive(Debug)]
pub(super) struct Room {
    beyond: Beyond,
    values: Cell<usize>,
    steps: Cell<usize>,
    refused: RefCell<Option<TooMuch>>,
}

impl Room {
    pub(super) fn new(beyond: Beyond) -> Room {
        Room {
            beyond,
            values: Cell::new(MAX_VALUES),
            steps: Cell::new(MAX_STEPS),
            refused: RefCell::new(None),
        }
    }

    /// The first place that was beyond a limit, unless any value may stand there.
    pub(super) fn refused(&self) -> Option<TooMuch> {
        self.refused.borrow().clone()
    }

    fn is_refused(&self) -> bool {
        self.refused.borrow().is_some()
    }

    /// Takes so many steps, if there are as many left. Where all is refused already, there are none.
    pub(super) fn take_steps(&self, count: usize) -> bool {
        !self.is_refused() && take(&self.steps, count)
    }

    /// Notes what is beyond a limit: its warning, if any value may stand there.
    pub(super) fn note(&self, too_much: TooMuch) -> Option<String> {
        match self.beyond {
            Beyond::Loosen => Some(too_much.warning()),
            Beyond::Refuse => {
                self.refused.borrow_mut().get_or_insert(too_much);
                None
            }
        }
    }

    /// A schema without words, and without what is beyond a limit: any value may stand there, or any object in place of the
    /// whole. With the warnings of that.
    pub(super) fn admitted(&self, tool: Option<&str>, schema: &Value) -> (Value, Vec<String>) {
        let mut copy = Copy {
            room: self,
            tool,
            path: Path::default(),
            depth: 0,
            warnings: Vec::new(),
        };
        let admitted = match copy.schema(schema) {
            Some(schema) => schema,
            None => Object::from_iter([("type", "object")]).into(),
        };
        (admitted, copy.warnings)
    }
}

/// The way to a place in a schema. A pointer is made of it only if it is asked for: keys may be long.
#[derive(Debug, Clone, Default)]
pub(super) struct Path(Option<Arc<Step>>);

#[derive(Debug)]
struct Step {
    above: Path,
    name: String,
}

impl Path {
    /// The path that a pointer says.
    pub(super) fn of(pointer: &str) -> Path {
        let steps = pointer_tokens(pointer).into_iter().flatten();
        steps.fold(Path::default(), |path, step| path.below(&step))
    }

    pub(super) fn below(&self, name: &str) -> Path {
        Path(Some(Arc::new(Step {
            above: self.clone(),
            name: name.to_owned(),
        })))
    }

    /// The steps, the last one first.
    pub(super) fn steps(&self) -> impl Iterator<Item = &str> {
        let mut path = self;
        std::iter::from_fn(move || {
            let step = path.0.as_ref()?;
            path = &step.above;
            Some(step.name.as_str())
        })
    }

    pub(super) fn pointer(&self) -> String {
        let mut steps: Vec<&str> = self.steps().collect();
        steps.reverse();
        let steps = steps.into_iter();
        steps.fold(String::new(), |pointer, step| pointer_below(&pointer, step))
    }
}

/// The schema that a rule is made of.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    tool: Option<Arc<str>>,
    path: Path,
}

impl Origin {
    pub(super) fn new(tool: Option<Arc<str>>, path: Path) -> Origin {
        Origin { tool, path }
    }

    pub(super) fn place(&self) -> Place {
        Place::new(self.tool.as_deref(), self.path.pointer())
    }
}

/// Rules that say the same are the same, whatever they are made of.
impl PartialEq for Origin {
    fn eq(&self, _: &Origin) -> bool {
        true
    }
}

fn take(left: &Cell<usize>, count: usize) -> bool {
    let less = left.get().checked_sub(count);
    left.set(less.unwrap_or(0));
    less.is_some()
}

/// Copies what is within the limits.
struct Copy<'a> {
    room: &'a Room,
    tool: Option<&'a str>,
    path: Path,
    /// In so many schemas.
    depth: usize,
    warnings: Vec<String>,
}

impl Copy<'_> {
    fn note(&mut self, limit: Limit) {
        let place = Place::new(self.tool, self.path.pointer());
        self.warnings
            .extend(self.room.note(TooMuch { place, limit }));
    }

    /// A schema; `None` if it is beyond a limit itself.
    fn schema(&mut self, schema: &Value) -> Option<Value> {
        let Value::Object(object) = schema else {
            return Some(schema.clone());
        };
        if self.room.is_refused() {
            return None;
        }
        let limit = match size_of_schema(object) {
            _ if self.depth == MAX_DEPTH => Some(Limit::Depth),
            Err(limit) => Some(limit),
            Ok(size) => (!take(&self.room.values, size)).then_some(Limit::Values),
        };
        if let Some(limit) = limit {
            self.note(limit);
            return None;
        }
        self.depth += 1;
        let mut copied = Object::new();
        for (key, value) in object {
            let key = key.to_string_lossy();
            if WORDS.contains(&&*key) {
                continue;
            }
            let above = self.path.clone();
            self.path = above.below(&key);
            let value = match value {
                Value::Object(all) if NAMED.contains(&&*key) => {
                    let all = all.iter().map(|(name, one)| {
                        let name = name.to_string_lossy();
                        (name.to_string(), self.below(&name, one))
                    });
                    Value::from(all.collect::<Object>())
                }
                Value::Array(all) if LISTED.contains(&&*key) || key == "items" => {
                    let all = all.iter().enumerate();
                    all.map(|(at, one)| self.below(&at.to_string(), one))
                        .collect()
                }
                Value::Object(_) if key != "const" => {
                    self.schema(value).unwrap_or(Value::Bool(true))
                }
                value => value.clone(),
            };
            self.path = above;
            copied.insert(&*key, value);
        }
        self.depth -= 1;
        Some(copied.into())
    }

    fn below(&mut self, step: &str, schema: &Value) -> Value {
        let above = self.path.clone();
        self.path = above.below(step);
        let copied = self.schema(schema);
        self.path = above;
        copied.unwrap_or(Value::Bool(true))
    }
}

/// The number of values of a schema without the schemas in it, each of which counts as one.
fn size_of_schema(schema: &Object) -> Result<usize, Limit> {
    let mut size = 1;
    for (key, value) in schema {
        let key = &*key.to_string_lossy();
        size += match value {
            _ if WORDS.contains(&key) => 0,
            Value::Object(all) if NAMED.contains(&key) => all.len(),
            Value::Array(all) if LISTED.contains(&key) || key == "items" => all.len(),
            Value::Array(all) if key == "enum" && all.len() > MAX_LISTED => {
                return Err(Limit::Listed);
            }
            Value::Object(_) if key != "const" => 1,
            // A pattern is larger once it is read.
            Value::String(text) if key == "pattern" => 20 + text.to_string_lossy().len() / 16,
            value => size_of(value)?,
        };
    }
    Ok(size)
}

/// The number of values in a value, if it is not too deep.
fn size_of(value: &Value) -> Result<usize, Limit> {
    let mut values = vec![(value, 0)];
    let mut size = 0;
    while let Some((value, depth)) = values.pop() {
        size += 1;
        match value {
            Value::Array(_) | Value::Object(_) if depth == MAX_DEPTH => return Err(Limit::Depth),
            Value::Array(all) => values.extend(all.iter().map(|one| (one, depth + 1))),
            Value::Object(all) => values.extend(all.iter().map(|(_, one)| (one, depth + 1))),
            _ => {}
        }
        if size + values.len() > MAX_VALUES {
            return Err(Limit::Values);
        }
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn read(text: &str) -> Value {
        json::read(text).expect("it is JSON")
    }

    #[test]
    fn a_schema_is_copied_without_words_and_up_to_the_limits() {
        let listed: Vec<String> = (0..=MAX_LISTED).map(|at| at.to_string()).collect();
        let listed = format!(r#"{{"enum": [{}]}}"#, listed.join(","));
        let deep = [r#"{"items":"#.repeat(MAX_DEPTH), "{}".to_owned()].concat();
        let deep = deep + &"}".repeat(MAX_DEPTH);
        let deepest = [r#"{"items":"#.repeat(MAX_DEPTH), "true".to_owned()].concat();
        let deepest = deepest + &"}".repeat(MAX_DEPTH);
        let pointer = "/items".repeat(MAX_DEPTH);
        let values = format!(r#"{{"x": [{}]}}"#, vec!["1"; MAX_VALUES].join(","));
        for (schema, expected, place) in [
            (
                r#"{"description": "a", "type": "null", "default": {"a": [1]}}"#.to_owned(),
                r#"{"type":"null"}"#.to_owned(),
                None,
            ),
            // A property may be called so.
            (
                r#"{"properties": {"description": {"title": "a"}}}"#.to_owned(),
                r#"{"properties":{"description":{}}}"#.to_owned(),
                None,
            ),
            (
                r#"{"const": {"title": "a"}, "enum": [{"default": 1}]}"#.to_owned(),
                r#"{"const":{"title":"a"},"enum":[{"default":1}]}"#.to_owned(),
                None,
            ),
            (deep, deepest, Some((pointer.as_str(), Limit::Depth))),
            (
                format!(r#"{{"anyOf": [{listed}, {{"not": 1}}]}}"#),
                r#"{"anyOf":[true,{"not":1}]}"#.to_owned(),
                Some(("/anyOf/0", Limit::Listed)),
            ),
            (
                format!(r#"{{"$defs": {{"a/b": {values}}}}}"#),
                r#"{"$defs":{"a/b":true}}"#.to_owned(),
                Some(("/$defs/a~1b", Limit::Values)),
            ),
            (
                values,
                r#"{"type":"object"}"#.to_owned(),
                Some(("", Limit::Values)),
            ),
        ] {
            let room = Room::new(Beyond::Loosen);
            let (admitted, warnings) = room.admitted(Some("f"), &read(&schema));
            assert_eq!(json::write(&admitted), expected);
            assert_eq!(warnings.len(), usize::from(place.is_some()));
            let room = Room::new(Beyond::Refuse);
            room.admitted(Some("f"), &read(&schema));
            let refused = room.refused();
            let found = refused.as_ref();
            let found = found.map(|found| (found.place.pointer.as_str(), found.limit));
            assert_eq!(found, place);
        }
    }

    #[test]
    fn steps_are_taken_while_there_are_any() {
        let room = Room::new(Beyond::Refuse);
        assert!(room.take_steps(MAX_STEPS - 1) && room.take_steps(1) && !room.take_steps(1));
        let room = Room::new(Beyond::Refuse);
        let (place, limit) = (Place::new(None, ""), Limit::Steps);
        assert_eq!(room.note(TooMuch { place, limit }), None);
        // Where there will be no grammar, nothing more is to be done.
        assert!(!room.take_steps(1));
    }

    #[test]
    fn messages_name_the_place_the_limit_and_a_remedy() {
        let deep = "/a".repeat(MAX_SHOWN);
        for (tool, pointer, limit, begin, end) in [
            (
                Some("f"),
                "/properties/a",
                Limit::Listed,
                "`/properties/a` in the parameters of the tool `f`: it lists more than 20000 values: list",
                ", or allow any value there with `Beyond::Loosen`",
            ),
            (
                None,
                "",
                Limit::Depth,
                "the schema: it is nested deeper than 128: make the schema flatter",
                "with `Beyond::Loosen`",
            ),
            (
                None,
                deep.as_str(),
                Limit::Values,
                "`/a/a",
                "with `Beyond::Loosen`",
            ),
            (
                None,
                "",
                Limit::Tools,
                "there are more than 5000 tools: ",
                "offer fewer tools",
            ),
        ] {
            let place = Place::new(tool, pointer);
            let message = TooMuch { place, limit }.to_string();
            assert!(message.starts_with(begin), "{message}");
            assert!(message.ends_with(end), "{message}");
            assert!(message.len() < MAX_SHOWN + 300, "{message}");
        }
    }

    #[test]
    fn a_path_is_a_pointer() {
        for pointer in ["", "/a", "/a/0/b~1c/~0"] {
            assert_eq!(Path::of(pointer).pointer(), pointer);
        }
        let path = Path::default().below("a").below("b");
        assert_eq!(path.steps().collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!(short_name(&"水".repeat(100)).chars().count(), MAX_NAME);
    }
}
