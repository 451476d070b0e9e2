//! Tools of all kinds that a template may write in words, and where in a text their words stand.

use crate::format::{
    Holds, Kinds, Members, ToolParameters, Unescaped, WordingPiece, WordingSlot, json_at,
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
pub(super) struct Owner {
    /// The number of its tool, that of the parameter within, and so on.
    pub(super) path: Vec<usize>,
    /// The kinds of these.
    pub(super) kinds: Vec<usize>,
}

/// A part in a text.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) place: Owner,
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
            place: self.place.clone(),
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
            let last = all
                .last()
                .map_or(&[][..], |last| last.place.path.as_slice());
            let found = match c {
                // A value comes whole: the words in it are its own, and stand in no slot.
                '{' | '[' => {
                    let value = json_at(text, plain.as_ref(), start);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Two tools with a parameter each, all strings, whose words are `zq0` and so on: the tool's name and description, and
    /// those of its parameter.
    fn definition(is_described: bool) -> Definition {
        let kinds = Kinds::all();
        let mut parameters = kinds.parameters.iter();
        let text = parameters.position(|kind| kind.is_reference());
        // Behind the described one stands the same without a description.
        let text = text.expect("there is one") + usize::from(!is_described);
        let parameter = Defined::of(text, Vec::new());
        let tool = Defined::of(0, vec![parameter]);
        let words: Vec<String> = (0..8).map(|number| format!("zq{number}")).collect();
        let definition = kinds.definition(&[tool.clone(), tool], &words);
        definition.expect("there are words enough")
    }

    #[test]
    fn words_and_values_are_found_where_they_stand() {
        let second = r#"{"type": "string", "description": "zq7"}"#;
        for (text, is_escaped, expected) in [
            (
                "zq0: zq1",
                false,
                Some("[0] Slot(Name), [0] Slot(Description)"),
            ),
            (
                "zq2: zq6",
                false,
                Some("[0, 0] Slot(Name), [1, 0] Slot(Name)"),
            ),
            // A value comes whole: the words in it stand in no slot.
            (second, false, Some("[1, 0] Json([])")),
            (
                r#"zq4 ["zq6"]"#,
                false,
                Some(r#"[1] Slot(Name), [1] Json(["parameters", "required"])"#),
            ),
            (
                "zq0 {&#34;type&#34;: 1} zq4",
                true,
                Some("[0] Slot(Name), [1] Slot(Name)"),
            ),
            (
                "zq6: \"zq7\"",
                false,
                Some("[1, 0] Slot(Name), [1, 0] Slot(Description)"),
            ),
            // Other words stand for something that is not understood, and other values for nothing.
            ("zq9", false, None),
            ("{\"a\": 1} [x] zq0", false, Some("[0] Slot(Name)")),
            ("", false, Some("")),
        ] {
            let found = definition(true)
                .written(text, "zq", is_escaped)
                .map(|parts| {
                    let parts = parts.iter();
                    let parts = parts.map(|part| format!("{:?} {:?}", part.place.path, part.piece));
                    parts.collect::<Vec<_>>().join(", ")
                });
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn of_equal_values_the_nearest_is_meant() {
        for (text, expected) in [
            (r#"zq2 {"type": "string"}"#, [0, 0]),
            (r#"zq6 {"type": "string"}"#, [1, 0]),
            (r#"zq4 {"type": "string"}"#, [1, 0]),
        ] {
            let parts = definition(false).written(text, "zq", false);
            let parts = parts.expect("all is understood");
            assert_eq!(parts[1].place.path, expected, "{text}");
        }
    }

    #[test]
    fn there_are_no_definitions_without_words_enough() {
        let kinds = Kinds::all();
        for (words, expected) in [(2, true), (1, false), (0, false)] {
            let words: Vec<String> = (0..words).map(|number| format!("zq{number}")).collect();
            let found = kinds.definition(&[Defined::of(8, Vec::new())], &words);
            assert_eq!(found.is_some(), expected, "{words:?}");
        }
    }

    #[test]
    fn tools_are_defined_as_their_kinds_say() {
        let kinds = Kinds::all();
        for (kind, expected) in [
            (
                4,
                r#"{"name": "a", "description": "b", "parameters": {"type": "object", "properties": {}}}"#,
            ),
            (
                5,
                r#"{"name": "a", "parameters": {"type": "object", "properties": {}}}"#,
            ),
            // An empty list and no list are two things.
            (
                7,
                r#"{"name": "a", "parameters": {"type": "object", "properties": {}, "required": []}}"#,
            ),
            (9, r#"{"name": "a"}"#),
        ] {
            let words = ["a", "b"].map(str::to_owned);
            let found = kinds.definition(&[Defined::of(kind, Vec::new())], &words);
            let tools = found.expect("there are words enough").tools;
            let function = tools[0].get("function").expect("it is a function");
            let expected: Value = expected.parse().expect("it is JSON");
            assert_eq!(*function, expected);
        }
    }
}
