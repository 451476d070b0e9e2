//! Grammars of what a model may write, given tools.

use unjinja::format::Format;
use unjinja::grammar::{Grammar, Request as GrammarRequest};
use unjinja::{Object, Value, json};

use crate::request::Request;

pub(crate) fn write(request: &Request<'_>) -> Result<Value, String> {
    let template = request
        .chat_template()?
        .ok_or("there is no chat template")?;
    let format = Format::of(&template, &request.base()?).map_err(|error| error.to_string())?;
    let asked = GrammarRequest::new();
    let grammar =
        Grammar::of(&format, &request.tools(), &asked).map_err(|error| error.to_string())?;
    let written = match request.text("format")? {
        "gbnf" => grammar.to_gbnf(),
        "lark" => grammar.to_lark(),
        "regex" => grammar.to_regex().map_err(|error| error.to_string())?,
        "structural-tag" => {
            let tag = grammar.to_structural_tag();
            let text = json::write_styled(&tag.value, &json::Style::pretty(2));
            return Ok(answer(text, &tag.warnings));
        }
        other => return Err(format!("no grammar is written as `{other}`")),
    };
    Ok(answer(written.text, &written.warnings))
}

fn answer(text: String, warnings: &[String]) -> Value {
    let warnings = warnings.iter().map(String::as_str);
    Object::from_iter([
        ("text", Value::from(text)),
        ("warnings", warnings.collect()),
    ])
    .into()
}
