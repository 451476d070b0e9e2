//! Response templates that someone writes: what is wrong with them, and what they make of texts.

use unjinja::check::FirstFixture;
use unjinja::lint::{Complaint, LintOptions, TemplateText, lint, lint_chat_template};
use unjinja::mend::{Fault, Outcome, mend};
use unjinja::{Diagnostic, Object, ResponseTemplate, Value, json};
use unjinja_replay::preview;

use crate::request::{Request, page_name};

/// So much of a message is shown in one line.
const SHOWN: usize = 400;

/// Loads a response template. The answer says whether it `loads`, and has all `faults` that it is refused for, or
/// else all complaints of the linter, each with the place where it begins and ends in the text, in units of UTF-16. Where
/// the chat template can't be asked, it says so in a `remark`.
pub(crate) fn check(request: &Request<'_>) -> Result<Value, String> {
    let text = request.text("template")?;
    let mut remark = Value::Null;
    let (loads, faults): (bool, Vec<Value>) = match ResponseTemplate::from_json(text) {
        Err(error) => {
            let faults = error.faults.iter();
            (false, faults.map(|fault| of_fault(text, fault)).collect())
        }
        Ok(template) => {
            let chat = request.chat_template()?;
            let alone = LintOptions::default()
                .document(TemplateText::new(text))
                .base(request.base()?);
            let beside = alone.clone().chat_template(chat.as_ref());
            let complaints = lint(&template, &beside).or_else(|error| {
                remark = error.to_string().into();
                lint(&template, &alone)
            });
            let complaints = complaints.map_err(|error| error.to_string())?;
            let complaints = complaints.iter();
            let complaints = complaints.map(|complaint| of_complaint(text, complaint));
            (true, complaints.collect())
        }
    };
    Ok(Object::from_iter([
        ("loads", Value::from(loads)),
        ("faults", faults.into()),
        ("remark", remark),
    ])
    .into())
}

/// Lints the chat template. The answer is a list of all complaints, each with the place where it begins and ends in the
/// Jinja, in units of UTF-16, and with the conversation that shows it.
pub(crate) fn lint_chat(request: &Request<'_>) -> Result<Value, String> {
    let template = request
        .chat_template()?
        .ok_or("there is no chat template")?;
    let options = LintOptions::default().base(request.base()?);
    let complaints = lint_chat_template(&template, &options).map_err(|error| error.to_string())?;
    let complaints = complaints.iter();
    Ok(complaints
        .map(|complaint| of_complaint(&template.jinja, complaint))
        .collect())
}

/// Mends the `faults` of the chat template that are named. The answer has its text as `jinja`, and the `outcomes`.
pub(crate) fn mend_chat(request: &Request<'_>) -> Result<Value, String> {
    let template = request
        .chat_template()?
        .ok_or("there is no chat template")?;
    let named = request.get("faults").and_then(Value::as_array);
    let named = named.ok_or("`faults`: expected a list of names")?.iter();
    let named = named.filter_map(Value::as_str).map(Fault::named);
    let faults = named.collect::<Result<Vec<_>, _>>();
    let faults = faults.map_err(|error| error.to_string())?.concat();
    let mended = mend(&template, &request.base()?, &faults).map_err(|error| error.to_string())?;
    let outcomes = mended.outcomes.iter().map(Outcome::to_value);
    Ok(Object::from_iter([
        ("jinja", Value::from(mended.jinja.as_str())),
        ("outcomes", outcomes.collect()),
    ])
    .into())
}

fn of_fault(text: &str, fault: &Diagnostic) -> Value {
    let mut out = Object::from_iter([("level", "error")]);
    out.extend(fault.to_value().into_object());
    placed(text, fault, out)
}

fn of_complaint(text: &str, complaint: &Complaint) -> Value {
    let out = complaint.to_value().into_object();
    placed(text, &complaint.diagnostic, out)
}

fn placed(text: &str, diagnostic: &Diagnostic, mut out: Object) -> Value {
    let position = diagnostic.position;
    let position = position.or_else(|| json::locate(text, &diagnostic.pointer));
    let start = position.map_or(0, |position| text.floor_char_boundary(position.offset));
    let end = start + length_of_value(&text[start..]);
    out.insert("from", utf16_length(&text[..start]));
    out.insert("to", utf16_length(&text[..end]));
    out.into()
}

/// How long the string or the word is that a text begins with; of an object or a list, its bracket.
fn length_of_value(text: &str) -> usize {
    let is_end = |(at, c): &(usize, char)| match text.starts_with('"') {
        true => *c == '"' && *at > 0 && !is_escaped(&text[..*at]),
        false => matches!(c, ',' | ']' | '}' | '{' | '[') || c.is_whitespace(),
    };
    let end = text.char_indices().find(is_end);
    match end {
        Some((at, _)) if text.starts_with('"') => at + 1,
        Some((0, c)) => c.len_utf8(),
        Some((at, _)) => at,
        None => text.len(),
    }
}

fn is_escaped(before: &str) -> bool {
    let backslashes = before.bytes().rev().take_while(|byte| *byte == b'\\');
    backslashes.count() % 2 == 1
}

fn utf16_length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Tries a text in every way in which it may be cut. The answer has the `failures`, in words.
pub(crate) fn try_case(request: &Request<'_>) -> Result<Value, String> {
    let template = loaded(request)?;
    let case = request.case()?;
    let failures = case.check(&template, 0);
    let failures = failures.iter().map(|failure| failure.explain(page_name));
    Ok(Object::from_iter([("failures", failures.collect::<Value>())]).into())
}

/// A fixture of a text and what comes out of it, as YAML.
pub(crate) fn fixture(request: &Request<'_>) -> Result<Value, String> {
    let template = loaded(request)?;
    let case = request.case()?;
    if case.expected.is_nothing() {
        return Err("a fixture needs what is expected: expect what comes out first".to_owned());
    }
    let fixture = FirstFixture::of_case(&template, &case);
    let message = case.expected.message.clone().unwrap_or_default();
    Ok(Object::from_iter([
        ("text", fixture.to_yaml("Check it with `unjinja check`.")),
        ("shows", preview(&message.into(), SHOWN)),
    ])
    .into())
}

pub(crate) fn loaded(request: &Request<'_>) -> Result<ResponseTemplate, String> {
    let template = ResponseTemplate::from_json(request.text("template")?);
    template.map_err(|error| error.to_string())
}
