//! Follows the events of a parser, and makes the message out of them once more.

use std::ops::Range;

use unjinja::response::{Field, OpeningMatch};
use unjinja::{
    Object, OnMalformed, OwnedEvent, ParseError, ResponseParser, ResponseTemplate, Value,
};
use unjinja_fuzz::{same, same_result};

use super::case::Case;

pub struct Walk<'a> {
    case: &'a Case,
    template: &'a ResponseTemplate,
    /// The text since the anchor.
    text: &'a str,
    /// How far the events have come in it; only known if they say where they are.
    at: usize,
    open: Option<Region>,
    message: Object,
}

struct Region {
    field: String,
    text: String,
}

impl<'a> Walk<'a> {
    pub fn new(case: &'a Case, template: &'a ResponseTemplate, text: &'a str) -> Walk<'a> {
        Walk {
            case,
            template,
            text,
            at: 0,
            open: None,
            message: template.defaults().clone(),
        }
    }

    pub fn go(&mut self, events: &[OwnedEvent]) {
        events.iter().for_each(|event| self.step(event));
    }

    fn step(&mut self, event: &OwnedEvent) {
        match event {
            OwnedEvent::Open { field, opening } => {
                assert!(self.open.is_none(), "`{field}` opens in another region");
                let of_field = self.field(field);
                let is_implicit = of_field.open().is_none();
                assert_eq!(opening.is_some(), self.case.options.spans);
                if let Some(OpeningMatch { span, captures, .. }) = opening {
                    if is_implicit {
                        assert!(span.is_empty() && captures.is_empty());
                    }
                    self.pass(span);
                    let known = |text: &str| self.text.contains(text);
                    assert!(captures.iter().all(|capture| known(&capture.text)));
                }
                self.open = Some(Region {
                    field: field.clone(),
                    text: String::new(),
                });
            }
            OwnedEvent::Chunk { field, text, dirty } => {
                assert!(!text.is_empty());
                assert_eq!(*dirty, !self.field(field).content().streams());
                if self.case.options.spans {
                    assert!(self.text[self.at..].starts_with(text.as_str()));
                    self.at += text.len();
                }
                let region = self.open.as_mut().expect("text belongs to a region");
                assert_eq!(region.field, *field);
                region.text.push_str(text);
            }
            OwnedEvent::Close {
                field, value, span, ..
            } => {
                let region = self.close(field, span);
                self.check_value(field, &region.text, value);
                self.store(field, value.clone());
            }
            OwnedEvent::Malformed {
                field,
                raw,
                error,
                span,
                ..
            } => {
                assert_eq!(self.case.options.on_malformed, OnMalformed::Event);
                assert!(!error.is_empty());
                let region = self.close(field, span);
                assert_eq!(region.text, *raw);
            }
            other => panic!("what is this? {other:?}"),
        }
    }

    fn field(&self, name: &str) -> &'a Field {
        let field = self.template.field(name);
        field.unwrap_or_else(|| panic!("there is no field `{name}`"))
    }

    /// Goes on to where a delimiter lies, and past it.
    fn pass(&mut self, span: &Range<usize>) {
        assert!(self.at <= span.start && span.start <= span.end, "{span:?}");
        // Outside of regions, text is lost only if no field takes it or one closes on nothing.
        let implicit = self.template.implicit_field();
        if implicit.is_some_and(|field| field.close().is_none()) {
            assert_eq!(self.at, span.start);
        }
        assert!(self.text.get(span.clone()).is_some(), "{span:?}");
        self.at = span.end;
    }

    fn close(&mut self, field: &str, span: &Option<Range<usize>>) -> Region {
        let region = self.open.take().expect("only what is open is closed");
        assert_eq!(region.field, field);
        assert_eq!(span.is_some(), self.case.options.spans);
        if let Some(span) = span {
            assert_eq!(span.start, self.at);
            self.pass(span);
        }
        region
    }

    /// What a field holds that no transform or tool changes is what its parser makes of its text.
    fn check_value(&self, field: &str, text: &str, value: &Value) {
        let pointer = format!("/fields/{field}/transform");
        let transformed = self.template.as_value().pointer(&pointer).is_some();
        let cast = self.case.has_tools && matches!(value, Value::Array(_) | Value::Object(_));
        if transformed || cast {
            return;
        }
        let parsed = self.field(field).content().parse(text);
        let parsed = parsed.map_err(|error| error.to_string());
        assert!(
            same_result(&parsed, &Ok(value.clone())),
            "{:#?}\n`{field}` holds {value:?}, but {text:?} means {parsed:?}",
            self.case
        );
    }

    fn store(&mut self, name: &str, value: Value) {
        let field = self.field(name);
        let before = self.message.get_mut(name);
        match (before, field.join()) {
            (Some(Value::String(before)), Some(join)) => {
                let text = value.as_json_string().expect("`join` takes strings only");
                before.push(&join.into());
                before.push(text);
            }
            (Some(Value::Array(before)), None) if field.repeats() => before.push(value),
            (None, None) if field.repeats() => {
                self.message.insert(name, vec![value]);
            }
            _ => {
                self.message.insert(name, value);
            }
        }
    }

    /// Between two chunks, the parser says the same as its events.
    pub fn check_parser(&self, parser: &ResponseParser) {
        let open = self.open.as_ref().map(|region| region.field.as_str());
        assert_eq!(parser.open_field(), open, "{:#?}", self.case);
        let message = parser.message_so_far().clone().into();
        assert!(same(&message, &self.message.clone().into()));
    }

    /// At the end, nothing is open, and the message holds what has been closed.
    pub fn check_message(&mut self, message: &Object) {
        assert!(self.open.is_none(), "{:#?}", self.case);
        self.check_covered();
        let lacking = |field: &&Field| !self.message.contains_key(field.name());
        let mut missing = self.template.fields().iter().filter(lacking);
        assert!(missing.all(Field::optional));
        let defaults = self.template.defaults();
        let mut expected = self.message.clone();
        expected.retain(|key, value| defaults.get_json_string(key).is_some() || !value.is_empty());
        assert!(
            same(&message.clone().into(), &expected.into()),
            "{:#?}\ngives {message:?}",
            self.case
        );
    }

    fn check_covered(&self) {
        let implicit = self.template.implicit_field();
        if self.case.options.spans && implicit.is_some_and(|field| field.close().is_none()) {
            assert_eq!(self.at, self.text.len());
        }
    }

    /// An error is the kind of error that can have happened here.
    pub fn check_error(&self, error: &ParseError, in_prefix: bool) {
        assert!(!error.to_string().is_empty());
        match error {
            ParseError::Region { field, span, error } => {
                assert_eq!(self.case.options.on_malformed, OnMalformed::Fail);
                assert!(!error.to_string().is_empty());
                let text = self.text.get(span.clone());
                let text = text.expect("the span lies in the text");
                if !in_prefix {
                    let region = self.open.as_ref().expect("only regions are malformed");
                    assert_eq!((&region.field, region.text.as_str()), (field, text));
                }
            }
            ParseError::Missing { fields } => {
                assert!(!fields.is_empty() && !in_prefix);
                for name in fields {
                    assert!(!self.field(name).optional() && !self.message.contains_key(name));
                }
            }
            ParseError::Stuck { field, position } => {
                assert!(self.case.may_match_nothing, "{:#?}: {error}", self.case);
                assert!(self.field(field).open().is_some() && *position <= self.text.len());
            }
            ParseError::TooCostly { field, position } => {
                let field = self.field(field);
                let mut delimiters = field.open().into_iter().chain(field.close());
                assert!(delimiters.any(|delimiter| delimiter.is_chunk_dependent().is_none()));
                assert!(*position <= self.text.len());
            }
            other => panic!("{:#?}: {other}", self.case),
        }
    }
}
