//! All that a chat template is, as JSON, so that it can be pickled.

use unjinja::chat_template::{ChatTemplate, Origins, RenderInput};
use unjinja::{Object, Value};

use crate::parser::object;

/// A template, and what all of its renderings have in common.
pub(crate) fn of(template: &ChatTemplate, base: &RenderInput) -> Value {
    let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
    let texts = |texts: &[String]| texts.iter().map(String::as_str).collect::<Value>();
    let value = |value: &Option<Value>| value.clone().unwrap_or_default();
    let origins = &template.origins;
    object([
        ("name", template.name.as_str().into()),
        ("jinja", template.jinja.as_str().into()),
        ("variant", text(&template.variant)),
        ("variants", texts(&template.variants)),
        ("bos_token", text(&template.bos_token)),
        ("eos_token", text(&template.eos_token)),
        ("special_tokens", texts(&template.special_tokens)),
        ("added_tokens", texts(&template.added_tokens)),
        ("response_template", value(&template.response_template)),
        ("response_schema", value(&template.response_schema)),
        (
            "origins",
            object([
                ("template", text(&origins.template)),
                ("bos_token", text(&origins.bos_token)),
                ("eos_token", text(&origins.eos_token)),
                ("special_tokens", text(&origins.special_tokens)),
                ("response_template", text(&origins.response_template)),
                ("response_schema", text(&origins.response_schema)),
            ]),
        ),
        ("now", text(&base.now.map(|now| now.to_string()))),
        ("variables", base.variables.clone().into()),
    ])
}

/// The same from such a value.
pub(crate) fn read(state: &Value) -> Option<(ChatTemplate, RenderInput)> {
    let text = |value: &Value, key: &str| match value.get(key)? {
        Value::Null => Some(None),
        value => Some(Some(value.as_str()?.to_owned())),
    };
    let texts = |key: &str| {
        let texts = state.get(key)?.as_array()?.iter();
        texts
            .map(|text| text.as_str().map(str::to_owned))
            .collect::<Option<Vec<String>>>()
    };
    let value = |key: &str| Some(Some(state.get(key)?.clone()).filter(|value| !value.is_null()));
    let mut template = ChatTemplate::from_jinja(text(state, "jinja")??);
    template.name = text(state, "name")??;
    template.variant = text(state, "variant")?;
    template.variants = texts("variants")?;
    template.bos_token = text(state, "bos_token")?;
    template.eos_token = text(state, "eos_token")?;
    template.special_tokens = texts("special_tokens")?;
    template.added_tokens = texts("added_tokens")?;
    template.response_template = value("response_template")?;
    template.response_schema = value("response_schema")?;
    let given = state.get("origins")?;
    let mut origins = Origins::default();
    origins.template = text(given, "template")?;
    origins.bos_token = text(given, "bos_token")?;
    origins.eos_token = text(given, "eos_token")?;
    origins.special_tokens = text(given, "special_tokens")?;
    origins.response_template = text(given, "response_template")?;
    origins.response_schema = text(given, "response_schema")?;
    template.origins = origins;
    let now = match text(state, "now")? {
        Some(now) => Some(now.parse().ok()?),
        None => None,
    };
    let variables: Object = state.get("variables")?.as_object()?.clone();
    let base = RenderInput {
        now,
        variables,
        ..RenderInput::default()
    };
    Some((template, base))
}
