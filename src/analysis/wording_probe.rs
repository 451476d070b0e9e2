//! Tools of all kinds that a template may write in words, and where in a text their words stand.

use crate::format::{
    Dialect, Holds, Kinds, Members, ToolParameters, Unescaped, WordingPiece, WordingSlot,
};
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

/// Tools, with the words and values in them.
pub(super) struct Definition {
    pub(super) tools: Vec<Value>,
    parts: Vec<DefinitionPart>,
}

/// Something that a template may write of a definition.
struct DefinitionPart {
    place: Owner,
    piece: WordingPiece,
    value: Value,
}

/// What a part belongs to.
#[derive(Debug, Clone, Default)]
struct Owner {
    /// The number of its tool, that of the parameter within, and so on.
    path: Vec<usize>,
    /// The kinds of these.
    kinds: Vec<usize>,
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

    fn tool(&self, tool: &Defined, number: usize, parts: &mut Vec<DefinitionPart>) -> Value {
        let kind = self.tools[tool.kind];
        let path = Owner::default().member(number, tool.kind);
        let mut function = object! {"name": &tool.name};
        parts.push(DefinitionPart::word(&path, &tool.name, WordingSlot::Name));
        if kind.is_described {
            function.insert("description", tool.description.as_str());
            parts.push(DefinitionPart::word(
                &path,
                &tool.description,
                WordingSlot::Description,
            ));
        }
        if kind.parameters != ToolParameters::Missing {
            let (properties, required) = self.properties(&tool.members, &path, parts);
            let mut parameters = object! {"type": "object"};
            parts.push(DefinitionPart::json(
                &path,
                properties.clone(),
                &["parameters", "properties"],
            ));
            parameters.insert("properties", properties);
            // `"required": []` and no such key are two things: some templates write only the former.
            if !required.is_empty() || kind.parameters == ToolParameters::NoneRequired {
                parts.push(DefinitionPart::json(
                    &path,
                    required.clone(),
                    &["parameters", "required"],
                ));
                parameters.insert("required", required);
            }
            parts.push(DefinitionPart::json(
                &path,
                parameters.clone(),
                &["parameters"],
            ));
            function.insert("parameters", parameters);
        }
        parts.push(DefinitionPart::json(&path, function.clone(), &[]));
        let tool = object! {"type": "function", "function": function};
        parts.push(DefinitionPart::json(&path, tool.clone(), &[]));
        tool.into()
    }

    fn properties(
        &self,
        members: &[Defined],
        path: &Owner,
        parts: &mut Vec<DefinitionPart>,
    ) -> (Object, Vec<Value>) {
        let (mut properties, mut required) = (Object::new(), Vec::new());
        for (number, member) in members.iter().enumerate() {
            let kind = &self.parameters[member.kind];
            let path = path.member(number, member.kind);
            parts.push(DefinitionPart::word(&path, &member.name, WordingSlot::Name));
            let description = kind.is_described.then_some(member.description.as_str());
            if let Some(description) = description {
                parts.push(DefinitionPart::word(
                    &path,
                    description,
                    WordingSlot::Description,
                ));
            }
            if kind.is_required {
                required.push(Value::from(member.name.as_str()));
            }
            let inner = match kind.holds {
                Holds::Nothing => None,
                Holds::Values => {
                    let values = member.members.iter().enumerate().map(|(number, value)| {
                        let path = path.member(number, value.kind);
                        parts.push(DefinitionPart::word(&path, &value.name, WordingSlot::Value));
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
                parts.push(DefinitionPart::json(&path, value.clone(), &[key.as_ref()]));
            }
            parts.push(DefinitionPart::json(&path, schema.clone(), &[]));
            properties.insert(member.name.as_str(), schema);
        }
        (properties, required)
    }
}

impl Owner {
    fn member(&self, number: usize, kind: usize) -> Owner {
        Owner {
            path: [self.path.as_slice(), &[number]].concat(),
            kinds: [self.kinds.as_slice(), &[kind]].concat(),
        }
    }
}

impl DefinitionPart {
    fn word(place: &Owner, word: &str, slot: WordingSlot) -> DefinitionPart {
        DefinitionPart {
            place: place.clone(),
            piece: WordingPiece::Slot(slot),
            value: word.into(),
        }
    }

    fn json(place: &Owner, value: impl Into<Value>, keys: &[&str]) -> DefinitionPart {
        DefinitionPart {
            place: place.clone(),
            piece: WordingPiece::Json(keys.iter().map(|key| (*key).to_owned()).collect()),
            value: value.into(),
        }
    }

    /// The word that it is, if it is one.
    fn as_word(&self) -> Option<&str> {
        match self.piece {
            WordingPiece::Slot(_) => self.value.as_str(),
            _ => None,
        }
    }

    fn written(&self, start: usize, end: usize) -> Written {
        Written {
            path: self.place.path.clone(),
            kinds: self.place.kinds.clone(),
            piece: self.piece.clone(),
            start,
            end,
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
                // A value comes whole: the words in it are its own, and stand in no slot.
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
        self.parts.iter().find_map(|part| {
            let word = part.as_word()?;
            let is_there = text[start..].starts_with(word);
            is_there.then(|| part.written(start, start + word.len()))
        })
    }

    /// The part that a value is. Of several, the one that is nearest to what stands before.
    fn json(&self, value: &Value, last: &[usize], start: usize, end: usize) -> Option<Written> {
        let found = self.parts.iter();
        let found = found.filter(|part| part.as_word().is_none() && part.value == *value);
        // `{"type": "string"}` may be the schema of several parameters: of the one whose name stands before it.
        let near = |path: &[usize]| path.iter().zip(last).take_while(|(a, b)| a == b).count();
        let nearest = found.max_by_key(|part| {
            let path = &part.place.path;
            (near(path), usize::MAX - path.len())
        });
        Some(nearest?.written(start, end))
    }
}
