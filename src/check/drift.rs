//! What a chat template writes otherwise than it did when a response template was made for it.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::derive::Derivation;
use crate::markers::{dedup, markers, unlikely_in_prose};
use crate::response::ResponseTemplate;
use crate::value::Value;

use super::compare::ComparisonInput;

/// What of a response template no rendering of the chat template needs any more, and what the renderings have that the response template
/// does not know: a sentence each. So it shows what has changed in the chat template, where the one that is derived
/// now reads texts otherwise.
///
/// ```
/// use unjinja::ResponseTemplate;
/// use unjinja::chat_template::ChatTemplate;
/// use unjinja::check::drift;
/// use unjinja::derive::{DeriveOptions, derive};
///
/// let there = ResponseTemplate::from_json(
///     r#"{"start_anchor": "<assistant>", "fields": {
///         "thinking": {"open": "<think>", "close": "</think>"},
///         "content": {"close": "<stop>"}
///     }}"#)?;
/// let template = ChatTemplate::from_jinja(
///     "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
///      {% if add_generation_prompt %}<assistant>{% endif %}",
/// );
/// let derived = derive(&template, &DeriveOptions::default())?;
/// assert_eq!(drift(&there, &derived), [
///     "no rendering has `thinking` any more",
///     "`<stop>` closed `content`, and is in no rendering; `<end>` closes it now",
/// ]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn drift(there: &ResponseTemplate, derivation: &Derivation) -> Vec<String> {
    let rows = &derivation.proof;
    let fields = rows.iter().flat_map(|row| row.message.keys());
    let renderings = Renderings {
        prompts: rows.iter().map(|row| row.prefix.as_str()).collect(),
        outputs: rows.iter().map(|row| row.output.as_str()).collect(),
        fields: fields.map(|name| name.to_string_lossy()).collect(),
    };
    changes(there, &derivation.template, &renderings)
}

/// The same for a response template that was derived before, from the texts that the chat template rendered then.
pub fn drift_on(
    there: &ResponseTemplate,
    derived: &ResponseTemplate,
    rendered: &[ComparisonInput],
) -> Vec<String> {
    let fields = derived.fields().iter();
    let renderings = Renderings {
        prompts: rendered.iter().map(|text| text.prefix.as_str()).collect(),
        outputs: rendered.iter().map(|text| text.output.as_str()).collect(),
        fields: fields.map(|field| field.name().into()).collect(),
    };
    changes(there, derived, &renderings)
}

/// What a chat template has rendered.
struct Renderings<'r> {
    prompts: Vec<&'r str>,
    outputs: Vec<&'r str>,
    /// The fields of the messages.
    fields: HashSet<Cow<'r, str>>,
}

impl Renderings<'_> {
    fn have(&self, marker: &str) -> bool {
        let mut texts = self.outputs.iter().chain(&self.prompts);
        texts.any(|text| text.contains(marker))
    }
}

fn changes(
    there: &ResponseTemplate,
    derived: &ResponseTemplate,
    renderings: &Renderings<'_>,
) -> Vec<String> {
    let mut changes = anchors(there, derived, renderings);
    for field in there.fields() {
        let name = field.name();
        if derived.field(name).is_none() && !renderings.fields.contains(name) {
            changes.push(format!("no rendering has `{name}` any more"));
            continue;
        }
        for (part, verb, now) in [("open", "opened", "opens"), ("close", "closed", "closes")] {
            let old = marker_texts(there, name, part);
            let new = marker_texts(derived, name, part);
            let is_gone = |marker: &&String| !new.contains(marker) && !renderings.have(marker);
            let gone: Vec<&String> = old.iter().filter(is_gone).collect();
            let came: Vec<&String> = new.iter().filter(|marker| !old.contains(marker)).collect();
            if gone.is_empty() {
                continue;
            }
            let mut change = format!("{} {verb} `{name}`, and is in no rendering", listed(&gone));
            if !came.is_empty() {
                change.push_str(&format!("; {} {now} it now", listed(&came)));
            }
            changes.push(change);
        }
    }
    let known = |name: &str| there.field(name).is_some();
    let new = derived.fields().iter().filter(|field| !known(field.name()));
    changes.extend(new.map(|field| format!("renderings have `{}`, which is new", field.name())));
    changes
}

/// What a turn begins after, if that is another text now.
fn anchors(
    there: &ResponseTemplate,
    derived: &ResponseTemplate,
    renderings: &Renderings<'_>,
) -> Vec<String> {
    let texts = |template: &ResponseTemplate| {
        let anchor = template.as_value().get("start_anchor").cloned();
        texts_of(anchor.as_ref())
    };
    let (old, new) = (texts(there), texts(derived));
    let is_gone = |anchor: &&String| {
        let mut prompts = renderings.prompts.iter();
        !prompts.any(|prompt| prompt.contains(*anchor))
    };
    let gone: Vec<&String> = old.iter().filter(is_gone).collect();
    match gone.is_empty() || new.is_empty() {
        true => Vec::new(),
        false => {
            let new: Vec<&String> = new.iter().collect();
            vec![format!(
                "turns began after {}, which is in no prompt; they begin after {} now",
                listed(&gone),
                listed(&new)
            )]
        }
    }
}

/// The markers in what opens or closes a field, be it literal or an expression.
fn marker_texts(template: &ResponseTemplate, field: &str, part: &str) -> Vec<String> {
    let fields = template.as_value().get("fields");
    let Some(field) = fields.and_then(|fields| fields.get(field)) else {
        return Vec::new();
    };
    let mut texts = texts_of(field.get(part));
    let expressions = texts_of(field.get(&format!("{part}_pattern")));
    texts.extend(expressions.iter().map(|expression| as_text(expression)));
    let mut found: Vec<String> = texts
        .iter()
        .flat_map(|text| markers(text))
        .filter(|marker| unlikely_in_prose(marker))
        .map(str::to_owned)
        .collect();
    dedup(&mut found);
    found
}

/// A text, or the texts of a list.
fn texts_of(value: Option<&Value>) -> Vec<String> {
    let Some(value) = value else {
        return Vec::new();
    };
    let one = std::slice::from_ref(value);
    let all = value.as_array().unwrap_or(one).iter();
    all.filter_map(|text| text.as_str().map(str::to_owned))
        .collect()
}

/// An expression without what is no text in it, as far as markers are concerned: `<\|end\|>\s*` is `<|end|> `.
fn as_text(expression: &str) -> String {
    let mut text = String::new();
    let mut chars = expression.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c) if c.is_ascii_alphanumeric() => text.push(' '),
                Some(c) => text.push(c),
                None => {}
            },
            // What stands within brackets, and what repeats, is no text.
            '(' | ')' | '[' | ']' | '?' | '*' | '+' | '.' | '^' | '$' => text.push(' '),
            '|' => text.push(' '),
            c => text.push(c),
        }
    }
    text
}

fn listed(markers: &[&String]) -> String {
    let quoted: Vec<String> = markers
        .iter()
        .map(|marker| format!("`{}`", marker.replace('\n', "⏎")))
        .collect();
    quoted.join(", ")
}
