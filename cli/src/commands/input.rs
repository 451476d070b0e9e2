//! Files and streams that commands read.

use std::io::{self, Read};
use std::path::Path;

use unjinja::{ResponseTemplate, TemplateError, Tools, Value, files, json};

use super::Failure;

/// Files that are read whole may be this large; templates and prompts are far smaller.
const MAX_FILE: u64 = 256 << 20;

/// How much is read from a stream at a time.
const BLOCK: usize = 64 << 10;

/// Reads a whole file of text; `-` is standard input.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    let read = match path == Path::new("-") {
        true => files::read_all(io::stdin(), MAX_FILE)
            .map_err(|fault| format!("standard input: {fault}")),
        false => files::read_text(path, MAX_FILE).map_err(|error| error.to_string()),
    };
    read.map_err(Failure::Input)
}

/// Reads a file of JSON, which must not be empty.
fn read_json_text(path: &Path) -> Result<String, Failure> {
    let text = read_text(path)?;
    if text.trim().is_empty() {
        return Err(Failure::Input(format!(
            "{}: the file is empty, and JSON was expected",
            path.display()
        )));
    }
    Ok(json::without_byte_order_mark(&text).to_owned())
}

/// A list that a file holds, or that stands in a whole request as it goes to a server.
pub(crate) fn list(value: &Value, path: &Path, what: &str) -> Result<Value, Failure> {
    let list = value.get(what).unwrap_or(value);
    match list.as_array() {
        Some(_) => Ok(list.clone()),
        None => Err(Failure::Input(format!(
            "{}: expected a list of {what}, found {}",
            path.display(),
            list.type_name()
        ))),
    }
}

/// Reads a JSON file.
pub(crate) fn read_json(path: &Path) -> Result<Value, Failure> {
    let text = read_json_text(path)?;
    json::read(&text).map_err(|error| {
        Failure::Input(format!(
            "{}:{}:{}: this is not JSON: {}",
            path.display(),
            error.line(),
            error.column(),
            error.kind()
        ))
    })
}

/// Reads the tools that a prompt offered.
pub(crate) fn read_tools(path: &Path) -> Result<Tools, Failure> {
    let value = read_json(path)?;
    let list = list(&value, path, "tools")?;
    let tools = Tools::from_value(&list);
    if tools.names().next().is_none() {
        super::print_error(format_args!(
            "warning: {}: no tool is recognised; write each as {{\"function\": {{\"name\": …, \"parameters\": …}}}}\n",
            path.display()
        ));
    }
    Ok(tools)
}

/// A JSON document that holds a response template.
pub(crate) struct TemplateDocument {
    /// What messages call it.
    pub(crate) name: String,
    pub(crate) text: String,
    /// Where in it the template stands.
    pub(crate) pointer: &'static str,
    /// The token that ends a turn, if it stands beside the template.
    pub(crate) eos_token: Option<String>,
}

impl TemplateDocument {
    /// Finds a response template in a file of its own, in a tokenizer's configuration, or in a
    /// model's folder.
    pub(crate) fn find(path: &Path) -> Result<TemplateDocument, Failure> {
        let in_folder = path.join("tokenizer_config.json");
        if path.is_dir() && !in_folder.exists() {
            return Err(Failure::Input(format!(
                "{}: there is no tokenizer_config.json in this folder: name the file of the \
                 response template",
                path.display()
            )));
        }
        let path = if path.is_dir() { &in_folder } else { path };
        let text = read_json_text(path)?;
        let name = path.display().to_string();
        let pointer = ResponseTemplate::find_in(&text)
            .map_err(|error| Failure::Input(error.in_file(name.as_str()).to_string()))?;
        let document = json::read(&text).ok();
        let eos_token = document.as_ref().and_then(|d| d.get("eos_token"));
        let eos_token = eos_token.and_then(|token| token.get("content").unwrap_or(token).as_str());
        Ok(TemplateDocument {
            eos_token: eos_token.map(str::to_owned),
            name,
            text,
            pointer,
        })
    }

    pub(crate) fn template(&self) -> Result<ResponseTemplate, TemplateError> {
        ResponseTemplate::from_json_at(&self.text, self.pointer)
    }
}

/// Reads a response template, or one that stands in a tokenizer's configuration, and says what of
/// it has no effect.
pub(crate) fn read_template(path: &Path) -> Result<ResponseTemplate, Failure> {
    let document = TemplateDocument::find(path)?;
    let name = &document.name;
    let template = document
        .template()
        .map_err(|error| Failure::Input(error.in_file(name.as_str()).to_string()))?;
    for warning in template.warnings() {
        super::print_error(format_args!("warning: {name}:{warning}\n"));
    }
    Ok(template)
}

/// Reads text as it comes in, and hands it on at once, piece by piece; a character that comes in
/// two pieces is put together.
pub(crate) fn read_stream(
    name: &str,
    mut source: impl Read,
    mut take: impl FnMut(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut block = vec![0; BLOCK];
    // The block begins with this many bytes of a character that is not complete.
    let mut kept = 0;
    let mut offset = 0;
    loop {
        let read = match source.read(&mut block[kept..]) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::Input(format!("{name}: {error}"))),
        };
        let bytes = &block[..kept + read];
        let (text, rest) = match std::str::from_utf8(bytes) {
            Ok(text) => (text, 0),
            Err(error) => {
                let valid = error.valid_up_to();
                let text = std::str::from_utf8(&bytes[..valid]).unwrap_or_default();
                if error.error_len().is_some() || read == 0 {
                    take(text)?;
                    return Err(Failure::Input(not_utf8(name, offset + valid)));
                }
                (text, bytes.len() - valid)
            }
        };
        if !text.is_empty() {
            take(text)?;
        }
        if read == 0 {
            return Ok(());
        }
        let (start, end) = (text.len(), text.len() + rest);
        offset += start;
        block.copy_within(start..end, 0);
        kept = rest;
    }
}

fn not_utf8(name: &str, offset: usize) -> String {
    format!("{name}: byte {offset} is not valid UTF-8: save the text as UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source that gives away a few bytes at a time.
    struct Slow<'b>(&'b [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
            let taken = self.1.min(self.0.len()).min(block.len());
            block[..taken].copy_from_slice(&self.0[..taken]);
            self.0 = &self.0[taken..];
            Ok(taken)
        }
    }

    fn read(bytes: &[u8], step: usize) -> Result<String, String> {
        let mut text = String::new();
        let result = read_stream("input", Slow(bytes, step), |piece| {
            text.push_str(piece);
            Ok(())
        });
        result.map(|()| text).map_err(|failure| failure.to_string())
    }

    #[test]
    fn characters_cut_in_two_are_put_together() {
        let text = "aé日😀\u{301}z";
        for step in 1..8 {
            assert_eq!(read(text.as_bytes(), step).as_deref(), Ok(text), "{step}");
        }
    }

    #[test]
    fn bytes_that_are_no_character_are_refused_with_their_offset() {
        for (bytes, offset) in [
            (&b"ab\xffcd"[..], 2),
            (b"\xc3\xa9\xe6\x97", 2),
            (b"abc\xe6\x97x", 3),
        ] {
            for step in 1..4 {
                let expected =
                    format!("input: byte {offset} is not valid UTF-8: save the text as UTF-8");
                assert_eq!(read(bytes, step), Err(expected), "{bytes:?} by {step}");
            }
        }
    }
}
