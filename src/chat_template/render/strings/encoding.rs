//! Strings as bytes, and bytes as strings.

use minijinja::{Error, Value};

use crate::chat_template::render::arguments::Arguments;
use crate::chat_template::render::budget;
use crate::chat_template::render::error::invalid;

/// An encoding by one of its names.
enum Encoding {
    Utf8,
    /// The ones that have only the first so many characters.
    Bytes(u32),
}

fn encoding(name: Option<String>) -> Result<Encoding, Error> {
    let name = name.unwrap_or_else(|| "utf-8".to_owned()).to_lowercase();
    match name.replace('_', "-").as_str() {
        "utf-8" | "utf8" => Ok(Encoding::Utf8),
        "ascii" | "us-ascii" => Ok(Encoding::Bytes(0x80)),
        "latin-1" | "latin1" | "iso-8859-1" => Ok(Encoding::Bytes(0x100)),
        other => Err(invalid(format!("the encoding `{other}` is unknown"))),
    }
}

pub(super) fn encoded(text: &str, args: &[Value]) -> Result<Value, Error> {
    let args = Arguments::new(args)?;
    let encoding = encoding(args.string(0, "encoding")?)?;
    let errors = args
        .string(1, "errors")?
        .unwrap_or_else(|| "strict".to_owned());
    args.check(2)?;
    budget::spend(text.len())?;
    let Encoding::Bytes(most) = encoding else {
        return Ok(Value::from_bytes(text.as_bytes().to_vec()));
    };
    let mut bytes = Vec::new();
    for c in text.chars() {
        match (u32::from(c), errors.as_str()) {
            (code, _) if code < most => bytes.push(code as u8),
            (_, "ignore") => {}
            (_, "replace") => bytes.push(b'?'),
            _ => return Err(invalid(format!("{c:?} can't be encoded"))),
        }
    }
    Ok(Value::from_bytes(bytes))
}

/// Calls a method of bytes.
pub(in crate::chat_template::render) fn call_bytes_method(
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Option<Value>, Error> {
    if method != "decode" {
        return Ok(None);
    }
    let args = Arguments::new(args)?;
    let encoding = encoding(args.string(0, "encoding")?)?;
    args.check(1)?;
    let bytes = value.as_bytes().unwrap_or_default();
    budget::spend(bytes.len().saturating_mul(2))?;
    let text = match encoding {
        Encoding::Utf8 => std::str::from_utf8(bytes).ok().map(str::to_owned),
        Encoding::Bytes(most) => {
            let fit = bytes.iter().all(|&byte| u32::from(byte) < most);
            fit.then(|| bytes.iter().map(|&byte| char::from(byte)).collect())
        }
    };
    let text = text.ok_or_else(|| invalid("the bytes can't be decoded"))?;
    Ok(Some(Value::from(text)))
}
