//! How the text of regions becomes values: content parsers and their arguments.

use std::sync::OnceLock;

use crate::diagnostic::{Diagnostic, MemberPart};
use crate::response::content::{
    CONTENT_PARSERS, Content, ContentParser, JsonArgs, KvLinesArgs, XmlInlineArgs,
};
use crate::response::delimiter::Spelling;
use crate::response::language::Trait;
use crate::spelling::did_you_mean;
use crate::value::{Object, Value, pointer_below as below};

use super::Loader;

/// So many value parsers may stand in each other: each takes its share of the stack.
const MAX_VALUE_PARSERS: usize = 16;

impl Loader<'_> {
    pub(super) fn content(&mut self, object: &Object, pointer: &str) -> Option<Content> {
        let place = below(pointer, "content");
        let name = self.parser_name(object.get("content"), &place)?;
        let args = object.get("content_args");
        self.parser(name, &place, args, &below(pointer, "content_args"))
    }

    fn parser_name<'v>(&mut self, value: Option<&'v Value>, place: &str) -> Option<&'v str> {
        let Some(value) = value else {
            return Some("text");
        };
        if value.as_str().is_none() {
            self.expected(place, "the name of a content parser", value);
        }
        value.as_str()
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
                format!("nest at most {MAX_VALUE_PARSERS}"),
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
        let kind = ContentParser::named(name);
        if let Some(needed) = kind.and_then(|kind| kind.needs)
            && !self.has(needed, name_place, &format!("the content parser `{name}`"))
        {
            return None;
        }
        let Some(kind) = kind else {
            let names = CONTENT_PARSERS.each_ref().map(|parser| parser.name);
            self.fault_with(
                name_place,
                format!("there is no content parser `{name}`"),
                did_you_mean(name, &names),
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
            if !known.contains(&&*key) && !self.warnings.is_full() {
                let warning =
                    Diagnostic::new(format!("`{key}` has no effect on `{}`", parser.name))
                        .at(below(pointer, &key))
                        .with_remedy(did_you_mean(&key, known));
                self.warn(warning, MemberPart::Key);
            }
        }
    }

    pub(in crate::response) fn json_args(&mut self, args: &Object, pointer: &str) -> JsonArgs {
        JsonArgs {
            unquoted_keys: self.flag(args, pointer, "unquoted_keys", false),
            allow_non_json: self.flag(args, pointer, "allow_non_json", false),
            string_delims: self.string_delims(args, pointer),
            language: self.language,
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
                    "write `[\"open\", \"close\"]`",
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
                "write a regular expression with the groups `key` and `value`",
            );
            return None;
        };
        let Some(text) = value.as_str() else {
            self.expected(&place, "a regular expression as a string", value);
            return None;
        };
        let pattern = self.compiled(&place, &Spelling::Pattern(text.to_owned()))?;
        let group = |name| pattern.groups().iter().position(|group| group == name);
        let Some(key) = group("key") else {
            self.fault_with(
                &place,
                "the pattern has no group `key`",
                "name the part that becomes the key: `(?P<key>…)`",
            );
            return None;
        };
        Some(XmlInlineArgs {
            key,
            value: group("value"),
            spelling: text.to_owned(),
            pattern,
            value_parser,
            following: OnceLock::new(),
            head: OnceLock::new(),
            whole: OnceLock::new(),
            merge_duplicates,
            lists_are_values: self.language.has(Trait::ListsOfLists),
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
                format!("leave it out for the usual {default:?}"),
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
        let name = self.parser_name(object.get("name"), &name_place)?;
        let args_place = below(&place, "args");
        let content = self.parser(name, &name_place, object.get("args"), &args_place)?;
        Some(Box::new(content))
    }
}
