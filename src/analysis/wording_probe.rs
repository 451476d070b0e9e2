//! Tools of all kinds that a template may write in words, and where in a text their words stand.

use crate::format::{
    Dialect, Holds, ParameterKind, ToolKind, ToolParameters, WordingPiece, WordingSlot,
};
use crate::format::{Members, Unescaped};
use crate::value::{Object, Value, object};

/// What is defined: a tool, one of its parameters, or one of the values that are allowed for one.
#[derive(Debug, Clone, Default)]
pub(super) struct Defined {
    /// The number of its kind.
    pub(super) kind: usize,
    pub(super) members: Vec<Defined>,
    name: String,
    description: String,
}

/// The kinds of tools and parameters.
pub(super) struct Kinds {
    pub(super) tools: Vec<ToolKind>,
    pub(super) parameters: Vec<ParameterKind>,
}

/// Tools, with the words and values in them.
pub(super) struct Definition {
    pub(super) tools: Vec<Value>,
    parts: Vec<Part>,
}

/// Something that a template may write of a definition.
struct Part {
    place: Place,
    what: What,
}

/// What a part belongs to.
#[derive(Debug, Clone, Default)]
struct Place {
    /// The number of its tool, that of the parameter within, and so on.
    path: Vec<usize>,
    /// The kinds of these.
    kinds: Vec<usize>,
}

enum What {
    Word(String, WordingSlot),
    Json(Value, Vec<String>),
}

/// A part in a text.
#[derive(Debug, Clone)]
pub(super) struct Written {
    /// The number of its tool, that of the parameter within, and so on.
    pub(super) path: Vec<usize>,
    /// The kinds of these.
    pub(super) kinds: Vec<usize>,
    pub(super) piece: WordingPiece,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Defined {
    pub(super) fn of(kind: usize, members: Vec<Defined>) -> Defined {
        Defined {
            kind,
            members,
            ..Defined::default()
        }
    }

    fn give_words<'w>(&mut self, words: &mut impl Iterator<Item = &'w String>) -> Option<()> {
        self.name = words.next()?.clone();
        self.description = words.next()?.clone();
        let mut members = self.members.iter_mut();
        members.try_for_each(|member| member.give_words(words))
    }
}

impl Kinds {
    pub(super) fn all() -> Kinds {
        Kinds {
            tools: ToolKind::all(),
            parameters: ParameterKind::all(),
        }
    }

    /// Tools with words of these. `None` if there are too few.
    pub(super) fn definition(&self, tools: &[Defined], words: &[String]) -> Option<Definition> {
        let mut definition = Definition {
            tools: Vec::new(),
            parts: Vec::new(),
        };
        let mut words = words.iter();
        for (number, tool) in tools.iter().enumerate() {
            let mut tool = tool.clone();
            tool.give_words(&mut words)?;
            let tool = self.tool(&tool, number, &mut definition.parts);
            definition.tools.push(tool);
        }
        Some(definition)
    }

    fn tool(&self, tool: &Defined, number: usize, parts: &mut Vec<Part>) -> Value {
        let kind = self.tools[tool.kind];
        let path = Place::default().member(number, tool.kind);
        let mut function = object! {"name": &tool.name};
        parts.push(Part::word(&path, &tool.name, WordingSlot::Name));
        if kind.is_described {
            function.insert("description", tool.description.as_str());
            parts.push(Part::word(
                &path,
                &tool.description,
                WordingSlot::Description,
            ));
        }
        if kind.parameters != ToolParameters::Missing {
            let (properties, required) = self.properties(&tool.members, &path, parts);
            let mut parameters = object! {"type": "object"};
            parts.push(Part::json(
                &path,
                properties.clone(),
                &["parameters", "properties"],
            ));
            parameters.insert("properties", properties);
            if !required.is_empty() || kind.parameters == ToolParameters::NoneRequired {
                parts.push(Part::json(
                    &path,
                    required.clone(),
                    &["parameters", "required"],
                ));
                parameters.insert("required", required);
            }
            parts.push(Part::json(&path, parameters.clone(), &["parameters"]));
            function.insert("parameters", parameters);
        }
        parts.push(Part::json(&path, function.clone(), &[]));
        let tool = object! {"type": "function", "function": function};
        parts.push(Part::json(&path, tool.clone(), &[]));
        tool.into()
    }

    fn properties(
        &self,
        members: &[Defined],
        path: &Place,
        parts: &mut Vec<Part>,
    ) -> (Object, Vec<Value>) {
        let (mut properties, mut required) = (Object::new(), Vec::new());
        for (number, member) in members.iter().enumerate() {
            let kind = &self.parameters[member.kind];
            let path = path.member(number, member.kind);
            parts.push(Part::word(&path, &member.name, WordingSlot::Name));
            let description = kind.is_described.then_some(member.description.as_str());
            if let Some(description) = description {
                parts.push(Part::word(&path, description, WordingSlot::Description));
            }
            if kind.is_required {
                required.push(Value::from(member.name.as_str()));
            }
            let inner = match kind.holds {
                Holds::Nothing => None,
                Holds::Values => {
                    let values = member.members.iter().enumerate().map(|(number, value)| {
                        let path = path.member(number, value.kind);
                        parts.push(Part::word(&path, &value.name, WordingSlot::Value));
                        Value::from(value.name.as_str())
                    });
                    Some(Members::Values(values.collect()))
                }
                Holds::Properties | Holds::OptionalProperties => {
                    let (properties, required) = self.properties(&member.members, &path, parts);
                    Some(Members::Properties(properties, required))
                }
            };
            let schema = kind.schema(description, inner);
            for (key, value) in &schema {
                let key = key.to_string_lossy();
                parts.push(Part::json(&path, value.clone(), &[key.as_ref()]));
            }
            parts.push(Part::json(&path, schema.clone(), &[]));
            properties.insert(member.name.as_str(), schema);
        }
        (properties, required)
    }
}

impl Place {
    fn member(&self, number: usize, kind: usize) -> Place {
        Place {
            path: [self.path.as_slice(), &[number]].concat(),
            kinds: [self.kinds.as_slice(), &[kind]].concat(),
        }
    }
}

impl Part {
    fn word(place: &Place, word: &str, slot: WordingSlot) -> Part {
        Part {
            place: place.clone(),
            what: What::Word(word.to_owned(), slot),
        }
    }

    fn json(place: &Place, value: impl Into<Value>, keys: &[&str]) -> Part {
        Part {
            place: place.clone(),
            what: What::Json(
                value.into(),
                keys.iter().map(|key| (*key).to_owned()).collect(),
            ),
        }
    }
}

impl Definition {
    /// What stands in a text, in its order. `None` if words stand there that are not understood.
    pub(super) fn written(&self, text: &str, stem: &str, is_escaped: bool) -> Option<Vec<Written>> {
        let plain = is_escaped.then(|| Unescaped::of(text));
        let mut all: Vec<Written> = Vec::new();
        let mut from = 0;
        for (start, c) in text.char_indices() {
            if start < from {
                continue;
            }
            let last = all.last().map_or(&[][..], |last| last.path.as_slice());
            let found = match c {
                '{' | '[' => {
                    let value = match &plain {
                        Some(plain) => plain.read(start),
                        None => Dialect::default()
                            .read_start(&text[start..])
                            .map(|(value, length)| (value, start + length)),
                    };
                    value.and_then(|(value, end)| self.json(&value, last, start, end))
                }
                _ if text[start..].starts_with(stem) => Some(self.word(text, start)?),
                _ => None,
            };
            if let Some(found) = found {
                from = found.end;
                all.push(found);
            }
        }
        Some(all)
    }

    fn word(&self, text: &str, start: usize) -> Option<Written> {
        self.parts.iter().find_map(|part| match &part.what {
            What::Word(word, slot) => text[start..].starts_with(word.as_str()).then(|| Written {
                path: part.place.path.clone(),
                kinds: part.place.kinds.clone(),
                piece: WordingPiece::Slot(*slot),
                start,
                end: start + word.len(),
            }),
            What::Json(..) => None,
        })
    }

    /// The part that a value is. Of several, the one that is nearest to what stands before.
    fn json(&self, value: &Value, last: &[usize], start: usize, end: usize) -> Option<Written> {
        let found = self.parts.iter().filter_map(|part| match &part.what {
            What::Json(known, keys) if known == value => Some((&part.place, keys)),
            _ => None,
        });
        let near = |path: &[usize]| path.iter().zip(last).take_while(|(a, b)| a == b).count();
        let (place, keys) =
            found.max_by_key(|(place, _)| (near(&place.path), usize::MAX - place.path.len()))?;
        Some(Written {
            path: place.path.clone(),
            kinds: place.kinds.clone(),
            piece: WordingPiece::Json(keys.clone()),
            start,
            end,
        })
    }
}
