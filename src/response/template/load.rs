//! Reading response templates, and refusing those that can't work.

use std::sync::Arc;

use crate::json;
use crate::response::content::{
    CONTENT_PARSERS, Content, ContentParser, JsonArgs, KvLinesArgs, XmlInlineArgs,
};
use crate::response::delimiter::Delimiter;
use crate::response::pattern::{Pattern, PatternError};
use crate::response::transform::Transform;
use crate::response::watch::watches;
use crate::spelling::did_you_mean;
use crate::value::{Number, Object, Value, pointer_below as below};

use super::{Fault, Field, Inner, ResponseTemplate, TemplateError};

const TEMPLATE_KEYS: &[&str] = &[
    "version",
    "defaults",
    "start_anchor",
    "start_anchor_pattern",
    "fields",
];

/// So many faults are reported at the most; each has to be looked up in the document.
const MAX_FAULTS: usize = 100;

/// So many value parsers may stand in each other: each takes its share of the stack.
const MAX_VALUE_PARSERS: usize = 16;

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

pub(super) fn from_json_at(text: &str, pointer: &str) -> Result<ResponseTemplate, TemplateError> {
    let document = json::read(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        only(Fault {
            pointer: String::new(),
            position: Some((line, column)),
            message: format!("this is not JSON: {}", error.kind()),
            remedy: None,
        })
    })?;
    let Some(value) = document.pointer(pointer) else {
        return Err(only(Fault {
            pointer: pointer.into(),
            position: None,
            message: "there is no response template here".into(),
            remedy: None,
        }));
    };
    Loader::default().load(value, pointer, Some(text))
}

/// Keys by which the configuration of a tokenizer is told.
const CONFIG_KEYS: [&str; 5] = [
    "tokenizer_class",
    "added_tokens_decoder",
    "chat_template",
    "bos_token",
    "eos_token",
];

pub(super) fn from_config(text: &str) -> Result<ResponseTemplate, TemplateError> {
    let pointer = find_in(text)?;
    // Some editors begin files with a mark that JSON has no place for.
    from_json_at(text.strip_prefix('\u{feff}').unwrap_or(text), pointer)
}

pub(super) fn find_in(text: &str) -> Result<&'static str, TemplateError> {
    let refused = |message: &str| {
        only(Fault {
            pointer: String::new(),
            position: None,
            message: message.into(),
            remedy: None,
        })
    };
    let document = json::read(text.strip_prefix('\u{feff}').unwrap_or(text)).ok();
    if document.is_none() && text.contains("{%") {
        return Err(refused(
            "this looks like a chat template, where a response template was expected",
        ));
    }
    let has = |key| document.as_ref().is_some_and(|d| d.get(key).is_some());
    let template = document.as_ref().and_then(|d| d.get("response_template"));
    if template.is_some_and(|template| !template.is_null()) {
        Ok("/response_template")
    } else if template.is_some() || CONFIG_KEYS.into_iter().any(has) {
        Err(refused(
            "this tokenizer configuration has no `response_template`",
        ))
    } else {
        Ok("")
    }
}

pub(super) fn from_value(value: &Value) -> Result<ResponseTemplate, TemplateError> {
    Loader::default().load(value, "", None)
}

fn only(fault: Fault) -> TemplateError {
    TemplateError {
        origin: None,
        faults: vec![fault],
    }
}

/// Reads a template piece by piece, and collects all that is wrong with it.
#[derive(Default)]
pub(in crate::response) struct Loader {
    faults: Vec<Finding>,
    /// Whether there are more than are reported.
    has_more: bool,
    warnings: Vec<Finding>,
}

/// A fault whose place in the document has yet to be looked up.
struct Finding {
    fault: Fault,
    at_key: bool,
}

impl Finding {
    fn placed_in(mut self, document: Option<&str>) -> Fault {
        let pointer = self.fault.pointer.as_str();
        let position = document.and_then(|text| match self.at_key {
            true => json::locate_key(text, pointer),
            false => json::locate_nearest(text, pointer),
        });
        self.fault.position = position.map(|p| (p.line, p.column));
        self.fault
    }
}

impl Loader {
    fn load(
        mut self,
        value: &Value,
        pointer: &str,
        document: Option<&str>,
    ) -> Result<ResponseTemplate, TemplateError> {
        let inner = self.template(value, pointer);
        let place = |findings: Vec<Finding>| -> Vec<Fault> {
            let placed = findings.into_iter().map(|f| f.placed_in(document));
            let mut faults: Vec<Fault> = placed.collect();
            faults.sort_by_key(|fault| fault.position);
            faults
        };
        match inner {
            Some(mut inner) if self.faults.is_empty() => {
                inner.warnings = place(self.warnings);
                Ok(ResponseTemplate {
                    inner: Arc::new(inner),
                })
            }
            _ => {
                let mut faults = place(self.faults);
                faults.extend(self.has_more.then(|| Fault {
                    pointer: String::new(),
                    position: None,
                    message: "there are more faults".into(),
                    remedy: Some("mend these first".into()),
                }));
                Err(TemplateError {
                    origin: None,
                    faults,
                })
            }
        }
    }

    /// Notes a fault, unless there are so many that nobody would read it.
    fn add_fault(&mut self, finding: Finding) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(finding);
        } else {
            self.has_more = true;
        }
    }

    fn fault(&mut self, pointer: &str, message: impl Into<String>) {
        self.fault_with(pointer, message, None);
    }

    fn fault_with(&mut self, pointer: &str, message: impl Into<String>, remedy: Option<String>) {
        self.add_fault(Finding {
            fault: Fault {
                pointer: pointer.into(),
                position: None,
                message: message.into(),
                remedy,
            },
            at_key: false,
        });
    }

    fn template(&mut self, value: &Value, pointer: &str) -> Option<Inner> {
        let Some(object) = value.as_object() else {
            self.fault_with(
                pointer,
                format!(
                    "a response template is an object, and this is {}",
                    value.type_name()
                ),
                Some("write `{\"start_anchor\": …, \"fields\": {…}}`".into()),
            );
            return None;
        };
        self.refuse_unknown_keys(object, pointer, TEMPLATE_KEYS);
        self.version(object.get("version"), pointer);
        let defaults = self.defaults(object.get("defaults"), pointer);
        let fields = self.fields(object.get("fields"), pointer);
        let anchor = self.delimiter(object, pointer, "start_anchor", "start_anchor_pattern");
        if !object.contains_key("start_anchor") && !object.contains_key("start_anchor_pattern") {
            self.fault_with(
                pointer,
                "there is no `start_anchor`",
                Some(
                    "give the text that begins the assistant's message in a prompt, \
                     or a `start_anchor_pattern`"
                        .into(),
                ),
            );
        }
        let implicit = self.implicit(&fields, pointer);
        Some(Inner {
            value: value.clone(),
            warnings: Vec::new(),
            defaults,
            watches: watches(&fields, implicit),
            looks_behind: fields
                .iter()
                .flat_map(|field| field.open.iter().chain(&field.close))
                .any(|delimiter| delimiter.compiled().looks_behind()),
            fields,
            implicit,
            anchor: anchor?,
        })
    }

    fn refuse_unknown_keys(&mut self, object: &Object, pointer: &str, known: &[&str]) {
        for key in object.keys() {
            let key = key.to_string_lossy();
            if !known.contains(&&*key) {
                self.add_fault(Finding {
                    fault: Fault {
                        pointer: below(pointer, &key),
                        position: None,
                        message: format!("unknown key `{key}`"),
                        remedy: Some(remedy_for(&key, known)),
                    },
                    at_key: true,
                });
            }
        }
    }

    fn version(&mut self, version: Option<&Value>, pointer: &str) {
        let known = match version {
            None | Some(Value::Number(Number::Int(1))) => true,
            Some(Value::Number(Number::Float(version))) => *version == 1.0,
            Some(_) => false,
        };
        if !known {
            self.fault_with(
                &below(pointer, "version"),
                "this version of the language is not known",
                Some("only version 1 is".into()),
            );
        }
    }

    fn defaults(&mut self, defaults: Option<&Value>, pointer: &str) -> Object {
        match defaults {
            None => Object::new(),
            Some(Value::Object(object)) => object.clone(),
            Some(other) => {
                self.expected(&below(pointer, "defaults"), "an object", other);
                Object::new()
            }
        }
    }

    fn expected(&mut self, pointer: &str, what: &str, found: &Value) {
        self.fault(
            pointer,
            format!("expected {what}, found {}", found.type_name()),
        );
    }

    fn fields(&mut self, fields: Option<&Value>, pointer: &str) -> Vec<Field> {
        let place = below(pointer, "fields");
        let remedy = || Some("name at least one, such as `\"content\": {}`".into());
        match fields {
            None => self.fault_with(pointer, "there are no `fields`", remedy()),
            Some(Value::Object(object)) if object.is_empty() => {
                self.fault_with(&place, "there are no fields", remedy());
            }
            Some(Value::Object(object)) => {
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

    fn implicit(&mut self, fields: &[Field], pointer: &str) -> Option<usize> {
        let place_of = |name: &str| below(&below(pointer, "fields"), name);
        // A field that was refused may have meant to have an opening delimiter.
        let was_refused = |faults: &[Finding], index: usize| {
            let inside = format!("{}/", place_of(&fields[index].name));
            faults.iter().any(|f| f.fault.pointer.starts_with(&inside))
        };
        let lacking = (0..fields.len())
            .filter(|&index| fields[index].open.is_none() && !was_refused(&self.faults, index));
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
                Some("only one field can take the text that no other claims: give one of them `open`".into()),
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

    fn flag(&mut self, object: &Object, pointer: &str, key: &str, default: bool) -> bool {
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
        let value = object.get("join").filter(|value| !value.is_null())?;
        let place = below(pointer, "join");
        let Some(text) = value.as_str() else {
            self.expected(&place, "a string", value);
            return None;
        };
        if !repeats {
            self.fault_with(
                &place,
                "`join` joins repeated matches, and this field does not repeat",
                Some("add `\"repeats\": true`".into()),
            );
        }
        Some(text.into())
    }

    fn transform(&mut self, object: &Object, pointer: &str) -> Option<Transform> {
        let value = object.get("transform").filter(|value| !value.is_null())?;
        match Transform::read(value) {
            Ok(transform) => Some(transform),
            Err(mixed) => {
                for keys in mixed {
                    let start = below(pointer, "transform");
                    let place = keys.iter().fold(start, |place, key| below(&place, key));
                    self.fault_with(
                        &place,
                        "this string mixes a placeholder with other text",
                        Some("let the placeholder be the whole string, as in \"{content}\"".into()),
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
                Some("add `transform`, or leave `transform_each` out".into()),
            );
        }
        let keys = ["open_pattern", "close_pattern"];
        for (key, delimiter) in keys.into_iter().zip(delimiters) {
            let names = delimiter.as_ref().map_or(&[][..], Delimiter::group_names);
            for name in names {
                self.fault_with(
                    &below(pointer, key),
                    format!("the group `{name}` is captured, but no `transform` uses it"),
                    Some(format!(
                        "add a `transform` with \"{{{name}}}\", or write `(?:…)` instead of `(?P<{name}>…)`"
                    )),
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
        let groups = delimiters.iter().filter_map(|d| d.as_ref());
        let mut names: Vec<&str> = groups
            .flat_map(|d| d.group_names().iter().map(String::as_str))
            .collect();
        names.push("content");
        let placeholders: Vec<String> = names.iter().map(|name| format!("{{{name}}}")).collect();
        let placeholders: Vec<&str> = placeholders.iter().map(String::as_str).collect();
        for root in transform.roots() {
            if !names.contains(&root) && self.warnings.len() < MAX_FAULTS {
                self.warnings.push(Finding {
                    fault: Fault {
                        pointer: pointer.into(),
                        position: None,
                        message: format!("nothing fills in the placeholder `{{{root}}}`"),
                        remedy: Some(did_you_mean(&format!("{{{root}}}"), &placeholders)),
                    },
                    at_key: false,
                });
            }
        }
    }

    /// Reads a delimiter that is spelled under one of two keys.
    fn delimiter(
        &mut self,
        object: &Object,
        pointer: &str,
        literal_key: &str,
        pattern_key: &str,
    ) -> Option<Delimiter> {
        match (object.get(literal_key), object.get(pattern_key)) {
            (None, None) => None,
            (Some(_), Some(_)) => {
                self.fault_with(
                    &below(pointer, pattern_key),
                    format!("`{literal_key}` and `{pattern_key}` exclude each other"),
                    Some("keep one of them".into()),
                );
                None
            }
            (Some(literals), None) => self.literals(literals, &below(pointer, literal_key)),
            (None, Some(pattern)) => {
                let place = below(pointer, pattern_key);
                let Some(text) = pattern.as_str() else {
                    self.expected(&place, "a regular expression as a string", pattern);
                    return None;
                };
                self.compiled(&place, Delimiter::from_pattern(text))
            }
        }
    }

    fn literals(&mut self, value: &Value, pointer: &str) -> Option<Delimiter> {
        let single = std::slice::from_ref(value);
        let (values, is_list) = match value {
            Value::Array(values) => (values.as_slice(), true),
            _ => (single, false),
        };
        if values.is_empty() {
            self.fault_with(
                pointer,
                "the list has no literal",
                Some("name at least one".into()),
            );
            return None;
        }
        let mut literals: Vec<String> = Vec::new();
        let faults = self.faults.len();
        for (index, value) in values.iter().enumerate() {
            let place = match is_list {
                true => below(pointer, &index.to_string()),
                false => pointer.to_owned(),
            };
            match value.as_str() {
                None => self.expected(&place, "a string", value),
                Some("") => self.fault_with(
                    &place,
                    "an empty literal would match everywhere",
                    Some("write the text that the model writes".into()),
                ),
                Some(literal) if literals.iter().any(|known| known == literal) => {}
                Some(literal) => literals.push(literal.into()),
            }
        }
        if self.faults.len() > faults {
            return None;
        }
        self.compiled(pointer, Delimiter::from_literals(literals))
    }

    fn compiled<T>(&mut self, pointer: &str, result: Result<T, PatternError>) -> Option<T> {
        match result {
            Ok(compiled) => Some(compiled),
            Err(error) => {
                let message = format!(
                    "the pattern can't have {}, as at its byte {}",
                    error.message, error.offset
                );
                self.fault_with(pointer, message, error.remedy);
                None
            }
        }
    }

    fn content(&mut self, object: &Object, pointer: &str) -> Option<Content> {
        let place = below(pointer, "content");
        let name = match object.get("content") {
            None => "text",
            Some(value) => match value.as_str() {
                Some(name) => name,
                None => {
                    self.expected(&place, "the name of a content parser", value);
                    return None;
                }
            },
        };
        let args = object.get("content_args");
        self.parser(name, &place, args, &below(pointer, "content_args"))
    }

    /// Reads a content parser with its arguments.
    fn parser(
        &mut self,
        name: &str,
        name_place: &str,
        args: Option<&Value>,
        place: &str,
    ) -> Option<Content> {
        if place.matches("/value_parser/").count() > MAX_VALUE_PARSERS {
            self.fault_with(
                place,
                "value parsers are nested too deeply here",
                Some(format!("nest at most {MAX_VALUE_PARSERS}")),
            );
            return None;
        }
        let empty = Object::new();
        let args = match args {
            None => &empty,
            Some(Value::Object(args)) => args,
            Some(other) => {
                self.expected(place, "an object", other);
                return None;
            }
        };
        let Some(kind) = ContentParser::named(name) else {
            self.fault_with(
                name_place,
                format!("there is no content parser `{name}`"),
                Some(did_you_mean(
                    name,
                    &CONTENT_PARSERS.each_ref().map(|p| p.name),
                )),
            );
            return None;
        };
        let parser = (kind.load)(self, args, place)?;
        self.warn_of_unused(args, place, kind);
        Some(Content {
            kind,
            parser,
            strip: self.flag(args, place, "strip", true),
        })
    }

    fn warn_of_unused(&mut self, args: &Object, pointer: &str, parser: &ContentParser) {
        let known = parser.arguments;
        for key in args.keys() {
            let key = key.to_string_lossy();
            if !known.contains(&&*key) {
                if self.warnings.len() >= MAX_FAULTS {
                    return;
                }
                self.warnings.push(Finding {
                    fault: Fault {
                        pointer: below(pointer, &key),
                        position: None,
                        message: format!("`{key}` has no effect on `{}`", parser.name),
                        remedy: Some(did_you_mean(&key, known)),
                    },
                    at_key: true,
                });
            }
        }
    }

    pub(in crate::response) fn json_args(&mut self, args: &Object, pointer: &str) -> JsonArgs {
        JsonArgs {
            unquoted_keys: self.flag(args, pointer, "unquoted_keys", false),
            allow_non_json: self.flag(args, pointer, "allow_non_json", false),
            string_delims: self.string_delims(args, pointer),
        }
    }

    fn string_delims(&mut self, args: &Object, pointer: &str) -> Vec<(String, String)> {
        let place = below(pointer, "string_delims");
        let pairs = match args.get("string_delims") {
            None => return Vec::new(),
            Some(Value::Array(pairs)) => pairs,
            Some(other) => {
                self.expected(&place, "a list of pairs", other);
                return Vec::new();
            }
        };
        let mut delims = Vec::new();
        for (index, pair) in pairs.iter().enumerate() {
            let strings = pair.as_array().map(|pair| {
                let texts = pair.iter().filter_map(Value::as_str);
                texts.filter(|text| !text.is_empty()).collect::<Vec<_>>()
            });
            match strings.as_deref() {
                Some([open, close]) if pair.as_array().is_some_and(|pair| pair.len() == 2) => {
                    delims.push((open.to_string(), close.to_string()));
                }
                _ => self.fault_with(
                    &below(&place, &index.to_string()),
                    "expected the two markers around a string",
                    Some("write `[\"open\", \"close\"]`".into()),
                ),
            }
        }
        delims
    }

    pub(in crate::response) fn xml_inline_args(
        &mut self,
        args: &Object,
        pointer: &str,
    ) -> Option<XmlInlineArgs> {
        let merge_duplicates = self.flag(args, pointer, "merge_duplicates", false);
        let value_parser = self.value_parser(args, pointer);
        let place = below(pointer, "tag_pattern");
        let Some(value) = args.get("tag_pattern") else {
            self.fault_with(
                pointer,
                "`xml-inline` needs a `tag_pattern`",
                Some("write a regular expression with the groups `key` and `value`".into()),
            );
            return None;
        };
        let Some(text) = value.as_str() else {
            self.expected(&place, "a regular expression as a string", value);
            return None;
        };
        let pattern = self.compiled(&place, Pattern::new(text))?;
        let group = |name| pattern.groups().iter().position(|group| group == name);
        let Some(key) = group("key") else {
            self.fault_with(
                &place,
                "the pattern has no group `key`",
                Some("name the part that becomes the key: `(?P<key>…)`".into()),
            );
            return None;
        };
        Some(XmlInlineArgs {
            key,
            value: group("value"),
            pattern,
            value_parser,
            merge_duplicates,
        })
    }

    pub(in crate::response) fn kv_lines_args(
        &mut self,
        args: &Object,
        pointer: &str,
    ) -> KvLinesArgs {
        KvLinesArgs {
            line_sep: self.separator(args, pointer, "line_sep", "\n"),
            kv_sep: self.separator(args, pointer, "kv_sep", ":"),
            value_parser: self.value_parser(args, pointer),
        }
    }

    fn separator(&mut self, args: &Object, pointer: &str, key: &str, default: &str) -> String {
        let Some(value) = args.get(key) else {
            return default.into();
        };
        match value.as_str() {
            Some("") => self.fault_with(
                &below(pointer, key),
                "a separator can't be empty",
                Some(format!("leave it out for the usual {default:?}")),
            ),
            Some(separator) => return separator.into(),
            None => self.expected(&below(pointer, key), "a string", value),
        }
        default.into()
    }

    fn value_parser(&mut self, args: &Object, pointer: &str) -> Option<Box<Content>> {
        let value = args.get("value_parser").filter(|value| !value.is_null())?;
        let place = below(pointer, "value_parser");
        let Some(object) = value.as_object() else {
            self.expected(&place, "an object with `name` and `args`", value);
            return None;
        };
        let name_place = below(&place, "name");
        let name = match object.get("name") {
            None => "text",
            Some(value) => match value.as_str() {
                Some(name) => name,
                None => {
                    self.expected(&name_place, "the name of a content parser", value);
                    return None;
                }
            },
        };
        let args_place = below(&place, "args");
        let content = self.parser(name, &name_place, object.get("args"), &args_place)?;
        Some(Box::new(content))
    }
}

/// Where an unknown key belongs, or what it may have been meant to be.
fn remedy_for(key: &str, known: &[&str]) -> String {
    let is_argument = CONTENT_PARSERS
        .iter()
        .any(|parser| parser.arguments.contains(&key));
    if is_argument && known.contains(&"content_args") {
        return "it belongs into `content_args`".into();
    }
    did_you_mean(key, known)
}
