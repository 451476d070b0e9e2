//! The fields of a response template.

use crate::diagnostic::{Diagnostic, MemberPart};
use crate::response::delimiter::Delimiter;
use crate::response::language::Trait;
use crate::response::transform::Transform;
use crate::spelling::did_you_mean;
use crate::value::{Object, Value, pointer_below as below};

use super::super::Field;
use super::Loader;
use super::limits::MAX_FIELDS;

const FIELD_KEYS: &[&str] = &[
    "open",
    "open_pattern",
    "close",
    "close_pattern",
    "content",
    "content_args",
    "repeats",
    "join",
    "optional",
    "transform",
    "transform_each",
];

impl Loader<'_> {
    pub(super) fn fields(&mut self, fields: Option<&Value>, pointer: &str) -> Vec<Field> {
        let place = below(pointer, "fields");
        let remedy = || "name at least one, such as `\"content\": {}`";
        match fields {
            None => self.fault_with(pointer, "there are no `fields`", remedy()),
            Some(Value::Object(object)) if object.is_empty() => {
                self.fault_with(&place, "there are no fields", remedy());
            }
            Some(Value::Object(object)) => {
                let remedy = "let one field with `repeats` take what is alike";
                if self.refuse_more_than(MAX_FIELDS, (object.len(), "fields"), &place, remedy) {
                    return Vec::new();
                }
                return object
                    .iter()
                    .filter_map(|(name, field)| {
                        let name = name.to_string_lossy();
                        self.field(&name, field, &below(&place, &name))
                    })
                    .collect();
            }
            Some(other) => self.expected(&place, "an object of fields", other),
        }
        Vec::new()
    }

    pub(super) fn implicit(&mut self, fields: &[Field], pointer: &str) -> Option<usize> {
        let place_of = |name: &str| below(&below(pointer, "fields"), name);
        // A field that was refused may have meant to have an opening delimiter.
        let was_refused = |index: usize| self.faults.any_inside(&place_of(&fields[index].name));
        let lacking =
            (0..fields.len()).filter(|&index| fields[index].open.is_none() && !was_refused(index));
        let mut implicit = lacking.collect::<Vec<usize>>().into_iter();
        let first = implicit.next()?;
        for other in implicit {
            let name = &fields[other].name;
            let place = place_of(name);
            self.fault_with(
                &place,
                format!(
                    "`{name}` and `{}` both lack an opening delimiter",
                    fields[first].name
                ),
                "only one field can take the text that no other claims: give one of them `open`",
            );
        }
        Some(first)
    }

    fn field(&mut self, name: &str, value: &Value, pointer: &str) -> Option<Field> {
        let Some(object) = value.as_object() else {
            self.expected(pointer, "an object", value);
            return None;
        };
        self.refuse_unknown_keys(object, pointer, FIELD_KEYS);
        let open = self.delimiter(object, pointer, "open", "open_pattern");
        let close = self.delimiter(object, pointer, "close", "close_pattern");
        let content = self.content(object, pointer);
        let repeats = self.flag(object, pointer, "repeats", false);
        let optional = self.flag(object, pointer, "optional", true);
        let transform_each = self.flag(object, pointer, "transform_each", false);
        let join = self.join(object, pointer, repeats);
        let transform = self.transform(object, pointer);
        self.check_transform_use(object, pointer, &[&open, &close], transform_each);
        if let Some(transform) = transform.as_ref().filter(|_| !transform_each) {
            self.warn_of_undefined(transform, &below(pointer, "transform"), &[&open, &close]);
        }
        Some(Field {
            name: name.into(),
            open,
            close,
            content: content?,
            repeats,
            join,
            optional,
            transform,
            transform_each,
        })
    }

    pub(super) fn flag(
        &mut self,
        object: &Object,
        pointer: &str,
        key: &str,
        default: bool,
    ) -> bool {
        match object.get(key) {
            None => default,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                self.expected(&below(pointer, key), "true or false", other);
                default
            }
        }
    }

    fn join(&mut self, object: &Object, pointer: &str, repeats: bool) -> Option<String> {
        let value = object.get("join")?;
        let place = below(pointer, "join");
        if !self.has(Trait::Join, &place, "the key `join`") || value.is_null() {
            return None;
        }
        let Some(text) = value.as_str() else {
            self.expected(&place, "a string", value);
            return None;
        };
        if !repeats {
            self.fault_with(
                &place,
                "`join` joins repeated matches, and this field does not repeat",
                "add `\"repeats\": true`",
            );
        }
        Some(text.into())
    }

    fn transform(&mut self, object: &Object, pointer: &str) -> Option<Transform> {
        let value = object.get("transform").filter(|value| !value.is_null())?;
        match Transform::read(value, self.language) {
            Ok(transform) => Some(transform),
            Err(mixed) => {
                for keys in mixed {
                    let start = below(pointer, "transform");
                    let place = keys.iter().fold(start, |place, key| below(&place, key));
                    self.fault_with(
                        &place,
                        "this string mixes a placeholder with other text",
                        "let the placeholder be the whole string, as in \"{content}\"",
                    );
                }
                None
            }
        }
    }

    fn check_transform_use(
        &mut self,
        object: &Object,
        pointer: &str,
        delimiters: &[&Option<Delimiter>],
        each: bool,
    ) {
        if object.get("transform").is_some_and(|t| !t.is_null()) {
            return;
        }
        if each {
            self.fault_with(
                &below(pointer, "transform_each"),
                "there is no `transform` to apply to each element",
                "add `transform`, or leave `transform_each` out",
            );
        }
        let keys = ["open_pattern", "close_pattern"];
        for (key, delimiter) in keys.into_iter().zip(delimiters) {
            let names = delimiter.as_ref().map_or(&[][..], Delimiter::group_names);
            for name in names {
                self.fault_with(
                    &below(pointer, key),
                    format!("the group `{name}` is captured, but no `transform` uses it"),
                    format!(
                        "add a `transform` with \"{{{name}}}\", or write `(?:…)` instead of `(?P<{name}>…)`"
                    ),
                );
            }
        }
    }

    /// Warns of placeholders that nothing can fill in. They fail when the field first matches.
    fn warn_of_undefined(
        &mut self,
        transform: &Transform,
        pointer: &str,
        delimiters: &[&Option<Delimiter>],
    ) {
        let used = match self.language.has(Trait::ClosingGroups) {
            true => delimiters,
            false => &delimiters[..1],
        };
        let groups = used.iter().filter_map(|d| d.as_ref());
        let mut names: Vec<&str> = groups
            .flat_map(|d| d.group_names().iter().map(String::as_str))
            .collect();
        names.push("content");
        let placeholders: Vec<String> = names.iter().map(|name| format!("{{{name}}}")).collect();
        let placeholders: Vec<&str> = placeholders.iter().map(String::as_str).collect();
        for root in transform.roots() {
            if names.contains(&root) || self.warnings.is_full() {
                continue;
            }
            let placeholder = format!("{{{root}}}");
            let message = format!("nothing fills in the placeholder `{placeholder}`");
            let warning = Diagnostic::new(message)
                .at(pointer)
                .with_remedy(did_you_mean(&placeholder, &placeholders));
            self.warn(warning, MemberPart::Value);
        }
    }
}
