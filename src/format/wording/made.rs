//! Definitions of tools, out of what stands in their wording.

use crate::value::{Object, Value, object};

use super::kinds::{Holds, Kinds, Members};
use super::path::Event;
use super::{ParameterKind, ToolKind, ToolParameters, WordingList, WordingSlot};

/// What is known of a tool, a parameter or a value.
#[derive(Debug, Clone, Default)]
struct Draft {
    name: Option<String>,
    description: Option<String>,
    value: Option<String>,
    /// The kinds that it can be of; `None` if nothing says so.
    kinds: Option<Vec<usize>>,
    members: Vec<Draft>,
    json: Vec<(Vec<String>, Value)>,
}

/// A list on the way.
struct Open<'w> {
    list: &'w WordingList,
    /// The members of the owner that it has named.
    named: Vec<usize>,
    member: Draft,
}

/// The definitions, and what the text leaves open. `None` if it contradicts itself.
pub(super) fn definitions(events: &[Event<'_>]) -> Option<(Vec<Value>, Vec<String>)> {
    let mut root = Draft::default();
    let mut open: Vec<Open<'_>> = Vec::new();
    for event in events {
        let member = match open.last_mut() {
            Some(open) => &mut open.member,
            None => &mut root,
        };
        match event {
            Event::Begins(list) => open.push(Open {
                list,
                named: Vec::new(),
                member: Draft::default(),
            }),
            Event::Slot(slot, text) => {
                let place = match slot {
                    WordingSlot::Name => &mut member.name,
                    WordingSlot::Description => &mut member.description,
                    WordingSlot::Value => &mut member.value,
                };
                set(place, text)?;
            }
            Event::Json(keys, value) => member.json.push((keys.to_vec(), value.clone())),
            Event::Ends { kinds, is_last } => {
                let mut last = open.pop()?;
                let mut member = std::mem::take(&mut last.member);
                member.kinds = Some(kinds.to_vec());
                let owner = match open.last_mut() {
                    Some(open) => &mut open.member,
                    None => &mut root,
                };
                let at = add(owner, member, &last)?;
                last.named.push(at);
                if !is_last {
                    open.push(last);
                } else if last.list.is_again {
                    for (number, member) in owner.members.iter_mut().enumerate() {
                        if !last.named.contains(&number) {
                            narrow(&mut member.kinds, &last.list.absent)?;
                        }
                    }
                }
            }
        }
    }
    let mut maker = Maker {
        kinds: &Kinds::all(),
        unsure: Vec::new(),
    };
    let tools = root.members.iter().map(|tool| maker.tool(tool));
    let tools = tools.collect::<Option<Vec<Value>>>()?;
    Some((tools, maker.unsure))
}

/// Sets a text. `None` if it is known to be another.
fn set(place: &mut Option<String>, text: &str) -> Option<()> {
    match place {
        Some(known) => (known == text).then_some(()),
        None => {
            *place = Some(text.to_owned());
            Some(())
        }
    }
}

/// Leaves the kinds that are among others. `None` if there are none.
fn narrow(kinds: &mut Option<Vec<usize>>, others: &[usize]) -> Option<()> {
    match kinds {
        Some(kinds) => {
            kinds.retain(|kind| others.contains(kind));
            (!kinds.is_empty()).then_some(())
        }
        None => {
            *kinds = Some(others.to_vec());
            Some(())
        }
    }
}

/// Adds a member to its owner, or what is said of it again to what is known. Its number, unless that
/// contradicts what is known.
fn add(owner: &mut Draft, member: Draft, open: &Open<'_>) -> Option<usize> {
    if !open.list.is_again {
        owner.members.push(member);
        return Some(owner.members.len() - 1);
    }
    let is_same = |known: &Draft| known.name.is_some() && known.name == member.name;
    let by_name = owner.members.iter().position(is_same);
    let next = open.named.last().map_or(0, |last| last + 1);
    let at = by_name.unwrap_or(next);
    let known = owner.members.get_mut(at)?;
    merge(known, member)?;
    Some(at)
}

fn merge(known: &mut Draft, other: Draft) -> Option<()> {
    for (place, text) in [
        (&mut known.name, other.name),
        (&mut known.description, other.description),
        (&mut known.value, other.value),
    ] {
        if let Some(text) = text {
            set(place, &text)?;
        }
    }
    if let Some(kinds) = other.kinds {
        narrow(&mut known.kinds, &kinds)?;
    }
    known.json.extend(other.json);
    if known.members.is_empty() {
        known.members = other.members;
        return Some(());
    }
    if other.members.is_empty() {
        return Some(());
    }
    if known.members.len() != other.members.len() {
        return None;
    }
    let pairs = known.members.iter_mut().zip(other.members);
    pairs
        .map(|(known, other)| merge(known, other))
        .collect::<Option<()>>()
}

/// Makes tools of what is known of them.
struct Maker<'k> {
    kinds: &'k Kinds,
    /// What the text leaves open.
    unsure: Vec<String>,
}

impl Maker<'_> {
    fn tool(&mut self, tool: &Draft) -> Option<Value> {
        let kinds = tool.kinds.as_ref()?.iter();
        let can_be: Vec<ToolKind> = kinds.map(|kind| self.kinds.tools[*kind]).collect();
        let kind = can_be.first()?;
        let hides = |parameters| can_be.iter().any(|kind| kind.parameters == parameters);
        if hides(ToolParameters::Some) && hides(ToolParameters::Empty) && tool.json.is_empty() {
            let name = tool.name.as_deref().unwrap_or_default();
            self.unsure
                .push(format!("nothing shows the parameters of `{name}`"));
        }
        let mut function = Object::new();
        if let Some(name) = &tool.name {
            function.insert("name", name.as_str());
        }
        if let Some(description) = &tool.description {
            function.insert("description", description.as_str());
        }
        let required = tool
            .json
            .iter()
            .find_map(|(keys, value)| match keys.as_slice() {
                [.., last] if last == "required" => value.as_array(),
                _ => None,
            });
        let (properties, names) = self.properties(&tool.members, required)?;
        let mut parameters = object! {"type": "object"};
        parameters.insert("properties", properties);
        if !names.is_empty() || kind.parameters == ToolParameters::NoneRequired {
            parameters.insert("required", names);
        }
        if kind.parameters != ToolParameters::Missing {
            function.insert("parameters", parameters);
        }
        for (keys, value) in &tool.json {
            put(&mut function, keys, value.clone());
        }
        function.get("name")?;
        Some(object! {"type": "function", "function": function}.into())
    }

    /// The schemas of parameters, and the names of those that are required.
    fn properties(
        &mut self,
        members: &[Draft],
        required: Option<&[Value]>,
    ) -> Option<(Object, Vec<Value>)> {
        let all = self.kinds;
        let (mut properties, mut names) = (Object::new(), Vec::new());
        for member in members {
            let name = member.name.as_deref()?;
            let kinds = member.kinds.as_ref()?.iter();
            let kinds = kinds.filter_map(|kind| all.parameters.get(*kind));
            let is_said =
                required.map(|names| names.iter().any(|known| known.as_str() == Some(name)));
            let fits = |kind: &&ParameterKind| is_said.is_none_or(|said| said == kind.is_required);
            let fitting: Vec<&ParameterKind> = kinds.filter(fits).collect();
            let kind = fitting.first()?;
            if kind.is_required {
                names.push(Value::from(name));
            }
            let inner = self.members(member, kind)?;
            let whole = |kind: &ParameterKind| {
                let mut schema = kind.schema(member.description.as_deref(), inner.clone());
                for (keys, value) in &member.json {
                    put(&mut schema, keys, value.clone());
                }
                schema
            };
            let schema = whole(kind);
            let same_members = |other: &&&ParameterKind| other.holds.key() == kind.holds.key();
            let mut others = fitting
                .iter()
                .filter(same_members)
                .map(|other| whole(other));
            let other = others.find(|other| *other != schema);
            if let Some(other) = other {
                let shown = |schema: &Object| crate::json::write(&schema.clone().into());
                self.unsure.push(format!(
                    "`{name}` is taken for {}, and could as well be {}",
                    shown(&schema),
                    shown(&other)
                ));
            }
            properties.insert(name, schema);
        }
        Some((properties, names))
    }

    /// The members of a parameter of a kind.
    fn members(&mut self, parameter: &Draft, kind: &ParameterKind) -> Option<Option<Members>> {
        Some(match kind.holds {
            Holds::Nothing => None,
            Holds::Values => {
                let values = parameter.members.iter();
                let values = values.map(|value| value.value.as_deref().map(Value::from));
                Some(Members::Values(values.collect::<Option<_>>()?))
            }
            Holds::Properties | Holds::OptionalProperties => {
                let (properties, names) = self.properties(&parameter.members, None)?;
                Some(Members::Properties(properties, names))
            }
        })
    }
}

/// Puts a value under keys, each within the one before.
fn put(object: &mut Object, keys: &[String], value: Value) {
    match keys {
        // It is all there is, in the order of its keys, but for texts that stand beside it.
        [] => {
            let inner = value.get("function").cloned().unwrap_or(value);
            let known = std::mem::replace(object, inner.into_object());
            for (key, value) in known {
                let is_text = ["name", "description"].contains(&key.to_string_lossy().as_ref());
                if is_text && object.get_json_string(&key).is_none() {
                    object.insert(key, value);
                }
            }
        }
        [key] => {
            object.insert(key.as_str(), value);
        }
        [key, rest @ ..] => {
            if object.get(key).and_then(Value::as_object).is_none() {
                object.insert(key.as_str(), Object::new());
            }
            if let Some(inner) = object.get_mut(key).and_then(Value::as_object_mut) {
                put(inner, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn what_is_said_twice_has_to_agree() {
        for (known, text, expected) in [
            (None, "a", Some("a")),
            (Some("a"), "a", Some("a")),
            (Some("a"), "b", None),
        ] {
            let mut place = known.map(str::to_owned);
            let found = set(&mut place, text).and(place);
            assert_eq!(found.as_deref(), expected, "{known:?} {text}");
        }
    }

    #[test]
    fn kinds_are_those_that_all_lists_allow() {
        for (known, others, expected) in [
            (None, &[1, 2][..], Some(vec![1, 2])),
            (Some(vec![1, 2, 3]), &[3, 2], Some(vec![2, 3])),
            (Some(vec![1]), &[2], None),
        ] {
            let mut kinds = known.clone();
            let found = narrow(&mut kinds, others).and(kinds);
            assert_eq!(found, expected, "{known:?} {others:?}");
        }
    }

    #[test]
    fn values_are_put_under_their_keys_and_keep_texts_beside_them() {
        for (object, keys, value, expected) in [
            (r#"{"a": 1}"#, &["b"][..], "2", r#"{"a": 1, "b": 2}"#),
            (r#"{"a": 1}"#, &["a", "b"], "2", r#"{"a": {"b": 2}}"#),
            (
                r#"{"a": {"c": 1}}"#,
                &["a", "b"],
                "2",
                r#"{"a": {"c": 1, "b": 2}}"#,
            ),
            // It is all there is, but for texts that it does not have.
            (
                r#"{"name": "f", "description": "D", "x": 1}"#,
                &[],
                r#"{"name": "g", "y": 2}"#,
                r#"{"name": "g", "y": 2, "description": "D"}"#,
            ),
            (
                r#"{"name": "f"}"#,
                &[],
                r#"{"function": {"y": 2}}"#,
                r#"{"y": 2, "name": "f"}"#,
            ),
        ] {
            let read = |text: &str| text.parse::<Value>().expect("it is JSON");
            let mut found = read(object).into_object();
            let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
            put(&mut found, &keys, read(value));
            // Written, since the order of the keys counts.
            let expected = json::write(&read(expected));
            assert_eq!(json::write(&found.into()), expected, "{object} {keys:?}");
        }
    }

    fn named(name: &str, kinds: &[usize]) -> Draft {
        Draft {
            name: Some(name.to_owned()),
            kinds: Some(kinds.to_vec()),
            ..Draft::default()
        }
    }

    #[test]
    fn what_is_said_of_a_member_again_is_added_to_what_is_known() {
        for (is_again, named_before, member, expected) in [
            (
                false,
                &[][..],
                named("c", &[1]),
                Some("2: a[1, 2] b[1, 2] c[1]"),
            ),
            (true, &[], named("b", &[2]), Some("1: a[1, 2] b[2]")),
            // Without a name, it is the next.
            (
                true,
                &[0],
                Draft {
                    kinds: Some(vec![1]),
                    ..Draft::default()
                },
                Some("1: a[1, 2] b[1]"),
            ),
            (true, &[1], Draft::default(), None),
            (true, &[], named("b", &[3]), None),
            (true, &[], named("c", &[1]), None),
        ] {
            let mut owner = Draft {
                members: vec![named("a", &[1, 2]), named("b", &[1, 2])],
                ..Draft::default()
            };
            let list = WordingList {
                is_again,
                entries: Vec::new(),
                absent: Vec::new(),
            };
            let open = Open {
                list: &list,
                named: named_before.to_vec(),
                member: Draft::default(),
            };
            let at = add(&mut owner, member, &open);
            let found = at.map(|at| {
                let members = owner.members.iter().map(|member| {
                    format!(
                        " {}{:?}",
                        member.name.as_deref().unwrap_or("?"),
                        member.kinds.as_deref().unwrap_or(&[])
                    )
                });
                format!("{at}:{}", members.collect::<String>())
            });
            assert_eq!(found.as_deref(), expected, "{is_again} {named_before:?}");
        }
    }

    #[test]
    fn what_a_text_leaves_open_is_told() {
        let kinds = Kinds::all();
        let text = kinds
            .parameters
            .iter()
            .position(ParameterKind::is_reference);
        let text = text.expect("there is one");
        let with = |members: Vec<Draft>, tool: Draft| Draft { members, ..tool };
        for (tool, made, unsure) in [
            (named("f", &[9]), Some(r#"{"name": "f"}"#), ""),
            (
                named("f", &[7]),
                Some(
                    r#"{"name": "f", "parameters": {"type": "object", "properties": {}, "required": []}}"#,
                ),
                "",
            ),
            // Tools with parameters and without are written alike.
            (
                named("f", &[1, 5]),
                Some(r#"{"name": "f", "parameters": {"type": "object", "properties": {}}}"#),
                "nothing shows the parameters of `f`",
            ),
            (
                with(vec![named("p", &[text])], named("f", &[1])),
                Some(
                    r#"{"name": "f", "parameters": {"type": "object", "properties": {"p": {"type": "string"}}, "required": ["p"]}}"#,
                ),
                "",
            ),
            // A string and a number of the same kind otherwise are written alike.
            (
                with(vec![named("p", &[text, text + 4])], named("f", &[1])),
                Some(
                    r#"{"name": "f", "parameters": {"type": "object", "properties": {"p": {"type": "string"}}, "required": ["p"]}}"#,
                ),
                r#"`p` is taken for {"type":"string"}, and could as well be {"type":"number"}"#,
            ),
            // The list of those that are required tells which of them it is.
            (
                Draft {
                    json: vec![(vec!["required".to_owned()], vec![Value::from("p")].into())],
                    ..with(vec![named("p", &[text - 2, text + 4])], named("f", &[1]))
                },
                Some(
                    r#"{"name": "f", "parameters": {"type": "object", "properties": {"p": {"type": "number"}}, "required": ["p"]}, "required": ["p"]}"#,
                ),
                "",
            ),
            (
                Draft {
                    name: None,
                    ..named("f", &[9])
                },
                None,
                "",
            ),
            (
                with(
                    vec![Draft {
                        name: None,
                        ..named("p", &[text])
                    }],
                    named("f", &[1]),
                ),
                None,
                "",
            ),
        ] {
            let mut maker = Maker {
                kinds: &kinds,
                unsure: Vec::new(),
            };
            let found = maker.tool(&tool);
            let found = found.map(|tool| tool.get("function").cloned().unwrap_or_default());
            let made = made.map(|made| made.parse::<Value>().expect("it is JSON"));
            assert_eq!(found, made, "{tool:?}");
            assert_eq!(maker.unsure.join("; "), unsure, "{tool:?}");
        }
    }
}
