//! Response schemas, the older language, where nothing else is there to read with.

use super::{Complaint, Complaints, Lint, Rulings, TemplateText};

/// Reports that a response schema is ignored by newer readers. The document is one without a response
/// template: where there is one, the schema serves older readers and hurts nobody.
///
/// ```
/// use unjinja::lint::{Lint, Rulings, TemplateText, lint_schema};
///
/// let config = r#"{"response_schema": {"type": "object", "x-regex": "(?P<content>.*)"}}"#;
/// let document = TemplateText::new(config).at("/response_schema");
/// let complaints = lint_schema(document, &Rulings::default());
/// assert_eq!(complaints[0].lint, Lint::SchemaIgnored);
/// assert!(complaints[0].to_string().starts_with("1:21: warning: U015 schema-ignored"));
/// ```
pub fn lint_schema(document: TemplateText<'_>, rulings: &Rulings) -> Vec<Complaint> {
    let mut complaints = Complaints::default();
    complaints.add(
        Lint::SchemaIgnored,
        document.pointer,
        "from 5.15 on, the transformers library ignores a response schema without a word, and there is no \
         response template for it",
        "write the response template that reads the same, with `unjinja convert`, or with \
         `response_schema::convert` of the library",
    );
    complaints.ruled(rulings, Some(document))
}
