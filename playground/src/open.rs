//! Which kind of file it is, and what it holds.

use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use unjinja::chat_template::{ChatTemplate, LoadOptions};
use unjinja::check::Fixture;
use unjinja::{Object, ResponseTemplate, Value, json};

use crate::request::{Request, case_value, chat_template_value, page_name};

/// What was opened, as far as there is such.
#[derive(Default)]
struct Opened {
    kind: &'static str,
    chat_templates: Vec<ChatTemplate>,
    response_template: Option<String>,
    cases: Vec<Value>,
    fixture: Option<String>,
}

/// Opens a file by its content. Of a GGUF file only the beginning need be given, and `length`, which is that of
/// all of it; if it is too little, the answer is the error `more`.
pub(crate) fn open(request: &Request<'_>, file: &[u8]) -> Result<Value, String> {
    let name = request.text("name")?;
    let opened = if file.starts_with(b"GGUF") {
        let length = request.number("length")?;
        Opened {
            kind: "gguf",
            chat_templates: of_gguf(name, file, length)?,
            ..Opened::default()
        }
    } else {
        let text = std::str::from_utf8(file).map_err(|error| {
            let at = error.valid_up_to();
            format!("{name}: byte {at} is not valid UTF-8: save the text as UTF-8")
        })?;
        of_text(name, json::without_byte_order_mark(text))?
    };
    let templates = opened.chat_templates.iter().map(chat_template_value);
    let optional = |text: Option<String>| text.map_or(Value::Null, Value::from);
    Ok(Object::from_iter([
        ("kind", Value::from(opened.kind)),
        ("chat_templates", templates.collect()),
        ("response_template", optional(opened.response_template)),
        ("cases", opened.cases.into()),
        ("fixture", optional(opened.fixture)),
    ])
    .into())
}

fn of_text(name: &str, text: &str) -> Result<Opened, String> {
    if text.trim().is_empty() {
        return Err(format!("{name}: there is nothing in it"));
    }
    let is_named_json = name.to_ascii_lowercase().ends_with(".json");
    match json::read(text) {
        Ok(value) if value.as_object().is_some() => of_json(name, text, &value),
        Ok(_) if is_named_json => Err(format!("{name}: {NOTHING_IN_JSON}")),
        Err(error) if is_named_json => Err(format!("{name}: {error}")),
        _ if is_yaml(name, text) => of_fixture(name, text),
        _ => Ok(Opened {
            kind: "chat template",
            chat_templates: loaded(name, text.as_bytes())?,
            ..Opened::default()
        }),
    }
}

const NOTHING_IN_JSON: &str = "it is none of what can be opened: a `tokenizer_config.json` has a \
    `chat_template`, a response template has `fields`, and a fixture has `cases`";

fn of_json(name: &str, text: &str, value: &Value) -> Result<Opened, String> {
    let present = |key: &str| value.get(key).is_some_and(|value| !value.is_null());
    if present("cases") {
        return of_fixture(name, text);
    }
    if present("chat_template") || present("response_template") {
        let chat_templates = match present("chat_template") {
            true => loaded(name, text.as_bytes())?,
            false => Vec::new(),
        };
        let own = value.get("response_template").filter(|own| !own.is_null());
        return Ok(Opened {
            kind: "configuration",
            chat_templates,
            response_template: own.map(pretty),
            ..Opened::default()
        });
    }
    match present("fields") {
        true => Ok(Opened {
            kind: "response template",
            response_template: Some(text.to_owned()),
            ..Opened::default()
        }),
        false => Err(format!("{name}: {NOTHING_IN_JSON}")),
    }
}

/// A fixture has its cases under a key of their own.
fn is_yaml(name: &str, text: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with(".yaml")
        || name.ends_with(".yml")
        || text.lines().any(|line| line.starts_with("cases:"))
}

fn of_fixture(name: &str, text: &str) -> Result<Opened, String> {
    let fixture = Fixture::parse(Path::new(name), text.to_owned())
        .map_err(|error| error.explained(page_name).to_string())?;
    Ok(Opened {
        kind: "fixture",
        response_template: Some(pretty(fixture.template().as_value())),
        cases: fixture.cases().iter().map(case_value).collect(),
        fixture: Some(text.to_owned()),
        ..Opened::default()
    })
}

fn loaded(name: &str, content: &[u8]) -> Result<Vec<ChatTemplate>, String> {
    ChatTemplate::read_all(name, Cursor::new(content), &LoadOptions::default())
        .map_err(|error| error.explain(page_name))
}

fn of_gguf(name: &str, head: &[u8], length: usize) -> Result<Vec<ChatTemplate>, String> {
    let mut head = Head {
        bytes: head,
        length: length as u64,
        position: 0,
        lacks: false,
    };
    let read = ChatTemplate::read_all(name, &mut head, &LoadOptions::default());
    match head.lacks {
        true => Err("more".to_owned()),
        false => read.map_err(|error| error.explain(page_name)),
    }
}

/// The beginning of a file.
struct Head<'f> {
    bytes: &'f [u8],
    /// How long all of it is.
    length: u64,
    position: u64,
    /// Whether something was to be read that is not there.
    lacks: bool,
}

impl Read for Head<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let start = usize::try_from(self.position).unwrap_or(usize::MAX);
        let rest = self.bytes.get(start..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.position += count as u64;
        self.lacks |= count == 0 && !buffer.is_empty() && self.position < self.length;
        Ok(count)
    }
}

impl Seek for Head<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

/// A response template as the program prints it.
pub(crate) fn printed(template: &ResponseTemplate) -> String {
    pretty(template.as_value())
}

fn pretty(value: &Value) -> String {
    json::write_styled(value, &json::Style::pretty(2)) + "\n"
}
