//! The template that is looked at, and the patterns in it.

use crate::profile::Target;
use crate::response::pattern::Pattern;
use crate::response::{
    Content, Delimiter, DelimiterKind, Example, Inner, Parser, ResponseTemplate, Watch,
};
use crate::value::pointer_below;

use super::LintOptions;
use super::model::Model;

/// A template, and what is known beside it.
pub(super) struct Subject<'t> {
    pub(super) template: &'t ResponseTemplate,
    /// Where it stands in its document.
    pub(super) pointer: &'t str,
    pub(super) model: Option<Model>,
    /// Tokens that are known to end a turn.
    turn_ends: &'t [String],
    /// Whom the template is for.
    pub(super) targets: &'t [Target],
    /// Texts that show each delimiter, by its number.
    examples: Vec<Vec<Example>>,
}

/// A pattern, and the place where it is spelled.
pub(super) struct Site<'t> {
    pub(super) pointer: String,
    pub(super) part: PatternRole,
    pub(super) pattern: &'t Pattern,
    /// The regular expression, if it is one.
    pub(super) spelling: Option<&'t str>,
}

/// What a pattern is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatternRole {
    Anchor,
    Open,
    Close,
    /// It finds the tags in a region's text.
    Tag,
}

impl<'t> Subject<'t> {
    pub(super) fn new(
        template: &'t ResponseTemplate,
        pointer: &'t str,
        model: Option<Model>,
        options: &'t LintOptions<'_>,
    ) -> Subject<'t> {
        Subject {
            template,
            pointer,
            model,
            turn_ends: &options.turn_ends,
            targets: &options.targets,
            examples: template
                .inner
                .delimiters()
                .map(Delimiter::examples)
                .collect(),
        }
    }

    pub(super) fn inner(&self) -> &'t Inner {
        &self.template.inner
    }

    /// What ends a turn, as far as that is known; `None` if nothing is known at all.
    pub(super) fn ends(&self) -> Option<Vec<&str>> {
        let known = self.model.as_ref().map(|model| &model.ends);
        if known.is_none() && self.turn_ends.is_empty() {
            return None;
        }
        let mut ends: Vec<&str> = Vec::new();
        for end in known.into_iter().flatten().chain(self.turn_ends) {
            if !end.trim().is_empty() && !ends.contains(&end.as_str()) {
                ends.push(end);
            }
        }
        Some(ends)
    }

    /// Whether a text holds a token that models write as a token, and not in a string.
    pub(super) fn holds_token(&self, text: &str) -> bool {
        let tokens = self.model.iter().flat_map(|model| &model.tokens);
        let mut tokens = tokens.chain(self.turn_ends).map(|token| token.trim());
        tokens.any(|token| !token.is_empty() && text.contains(token))
    }

    /// Texts that show a delimiter.
    pub(super) fn examples(&self, watch: &Watch) -> &[Example] {
        &self.examples[watch.delimiter]
    }

    /// The pointer to the anchor.
    pub(super) fn anchor_pointer(&self) -> String {
        let key = match self.inner().anchor.literals() {
            Some(_) => "start_anchor",
            None => "start_anchor_pattern",
        };
        pointer_below(self.pointer, key)
    }

    /// The pointer to a field.
    pub(super) fn field_pointer(&self, field: usize) -> String {
        let fields = pointer_below(self.pointer, "fields");
        pointer_below(&fields, self.inner().fields[field].name())
    }

    /// The pointer to a delimiter.
    pub(super) fn delimiter_pointer(&self, watch: &Watch) -> String {
        let [literal, pattern] = match watch.kind {
            DelimiterKind::Open => ["open", "open_pattern"],
            DelimiterKind::Close => ["close", "close_pattern"],
        };
        let key = match self.inner().delimiter(watch).literals() {
            Some(_) => literal,
            None => pattern,
        };
        pointer_below(&self.field_pointer(watch.field), key)
    }

    /// What a delimiter does, in words.
    pub(super) fn describe(&self, watch: &Watch) -> String {
        let name = self.inner().fields[watch.field].name();
        match watch.kind {
            DelimiterKind::Open => format!("what opens `{name}`"),
            DelimiterKind::Close => format!("what closes `{name}`"),
        }
    }

    /// All delimiters of the fields, each once.
    pub(super) fn watched(&self) -> Vec<Watch> {
        let mut watched: Vec<Watch> = self.inner().watches.all().copied().collect();
        watched.sort_by_key(|watch| watch.delimiter);
        watched.dedup_by_key(|watch| watch.delimiter);
        watched
    }

    /// All patterns of the template.
    pub(super) fn sites(&self) -> Vec<Site<'t>> {
        let inner = self.inner();
        let mut sites = vec![Site {
            pointer: self.anchor_pointer(),
            part: PatternRole::Anchor,
            pattern: inner.anchor.compiled(),
            spelling: inner.anchor.pattern(),
        }];
        for watch in self.watched() {
            let delimiter = inner.delimiter(&watch);
            sites.push(Site {
                pointer: self.delimiter_pointer(&watch),
                part: match watch.kind {
                    DelimiterKind::Open => PatternRole::Open,
                    DelimiterKind::Close => PatternRole::Close,
                },
                pattern: delimiter.compiled(),
                spelling: delimiter.pattern(),
            });
        }
        for (index, field) in inner.fields.iter().enumerate() {
            let arguments = pointer_below(&self.field_pointer(index), "content_args");
            sites.extend(self.tag_sites(field.content(), arguments));
        }
        sites
    }

    /// The pattern that finds tags in the regions of a field, as it is spelled.
    pub(super) fn tag_spelling(&self, field: usize) -> Option<&'t str> {
        let arguments = pointer_below(&self.field_pointer(field), "content_args");
        self.spelled(&pointer_below(&arguments, "tag_pattern"))
    }

    fn spelled(&self, pointer: &str) -> Option<&'t str> {
        let relative = pointer.strip_prefix(self.pointer).unwrap_or(pointer);
        self.template.as_value().pointer(relative)?.as_str()
    }

    /// The patterns of a content parser and of those for its values.
    fn tag_sites(&self, content: &'t Content, arguments: String) -> Vec<Site<'t>> {
        let mut sites = Vec::new();
        let mut next = Some((content, arguments));
        while let Some((content, arguments)) = next {
            let value_parser = match &content.parser {
                Parser::XmlInline(tags) => {
                    let pointer = pointer_below(&arguments, "tag_pattern");
                    sites.push(Site {
                        spelling: self.spelled(&pointer),
                        part: PatternRole::Tag,
                        pattern: &tags.pattern,
                        pointer,
                    });
                    tags.value_parser.as_deref()
                }
                Parser::KvLines(lines) => lines.value_parser.as_deref(),
                Parser::Json(_) | Parser::PythonCalls => None,
                Parser::Text | Parser::Int | Parser::Float | Parser::Bool => None,
            };
            let below = pointer_below(&pointer_below(&arguments, "value_parser"), "args");
            next = value_parser.map(|parser| (parser, below));
        }
        sites
    }
}
