//! A survey as one page of HTML, which people open from a file.
//!
//! What the table shows is JSON in the page. The details of formats are more than that by far: they are packed, several
//! together since they are alike, stand behind all else, and are unpacked by the browser when somebody asks for one.

use std::collections::HashMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use sha2::{Digest, Sha256};

use unjinja::lint::Lint;
use unjinja::{Object, Value, json};

/// So many formats are packed together.
const PACK: usize = 8;
/// Of so many turns that are recovered, the text is kept. Of those that are not, it always is.
const MAX_TEXTS: usize = 6;
/// So much of a text is kept, in characters.
const MAX_TEXT: usize = 2_000;

const HTML: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// What the page is made of.
#[derive(Default)]
pub(crate) struct Page {
    sources: Vec<Value>,
    templates: Vec<Value>,
    /// Where a template stands, by what it is known by.
    template_places: HashMap<String, usize>,
    formats: Vec<Value>,
    format_places: HashMap<String, usize>,
    targets: Vec<String>,
    topics: Vec<String>,
    /// The details of formats that wait for more to be packed with them.
    open: Vec<Value>,
    packs: Vec<String>,
}

impl Page {
    pub(crate) fn add(&mut self, row: &Object) {
        let text = |key: &str| row.get(key).and_then(Value::as_str);
        let source = text("source").unwrap_or_default();
        // What can't be read is known by its fault.
        let input = text("input").map_or_else(
            || format!("unreadable: {}", text("error").unwrap_or_default()),
            str::to_owned,
        );
        let template = match self.template_places.get(&input) {
            Some(&place) => place,
            None => self.add_template(input, row),
        };
        let variant = text("variant").filter(|variant| *variant != "default");
        let name = match variant {
            Some(variant) => format!("{source}, variant {variant}"),
            None => source.to_owned(),
        };
        self.sources.push(Value::from_iter([
            Value::from(name),
            template.into(),
            text("base").into(),
        ]));
    }

    fn add_template(&mut self, input: String, row: &Object) -> usize {
        let standing = row
            .get("standing")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let behaviour = row
            .get("behaviour")
            .and_then(Value::as_str)
            .unwrap_or(&input);
        let behaviour = format!("{behaviour} {standing}");
        let format = match self.format_places.get(&behaviour) {
            Some(&place) => place,
            None => self.add_format(behaviour, row),
        };
        let can = row.get("capabilities").and_then(Value::as_object);
        if let Some(can) = can.filter(|_| self.topics.is_empty()) {
            self.topics = can
                .keys()
                .map(|topic| topic.to_string_lossy().into_owned())
                .collect();
        }
        // In the order of the topics, a letter each.
        let can = can.map(|can| {
            let letters = can.values().map(|outcome| match outcome.as_str() {
                Some("rendered") => 'r',
                Some("dropped") => 'd',
                _ => 'x',
            });
            letters.collect::<String>()
        });
        let place = self.templates.len();
        self.template_places.insert(input, place);
        let lints = row.get("lints").cloned().unwrap_or_default();
        self.templates
            .push(Value::from_iter([Value::from(format), lints, can.into()]));
        place
    }

    fn add_format(&mut self, behaviour: String, row: &Object) -> usize {
        let place = self.formats.len();
        self.format_places.insert(behaviour, place);
        let targets = row.get("targets").and_then(Value::as_object);
        if let Some(targets) = targets.filter(|_| self.targets.is_empty()) {
            self.targets = targets
                .keys()
                .map(|name| name.to_string_lossy().into_owned())
                .collect();
        }
        let mut format = Object::from_iter([("id", (place + 1).to_string())]);
        for (key, name) in [
            ("standing", "standing"),
            ("error", "error"),
            ("recovered", "recovered"),
            ("renderings", "renderings"),
            ("format", "line"),
            ("reasoning", "reasoning"),
            ("calls", "calls"),
            ("arguments", "arguments"),
            ("markers", "markers"),
            ("targets", "targets"),
        ] {
            format.insert(name, row.get(key).cloned().unwrap_or_default());
        }
        let details = row.get("details").map(details);
        let at = details.map(|details| {
            let at = [self.packs.len(), self.open.len()];
            self.open.push(details);
            Value::from_iter(at)
        });
        if self.open.len() == PACK {
            self.pack();
        }
        format.insert("at", at);
        self.formats.push(format.into());
        place
    }

    fn pack(&mut self) {
        let text = json::write(&std::mem::take(&mut self.open).into());
        let mut packer = DeflateEncoder::new(Vec::new(), Compression::default());
        // A list in memory takes all that is written.
        let packed = packer
            .write_all(text.as_bytes())
            .and_then(|()| packer.finish());
        self.packs.push(base64(&packed.unwrap_or_default()));
    }

    /// Writes the page.
    pub(crate) fn write(mut self, out: &mut impl Write) -> std::io::Result<()> {
        if !self.open.is_empty() {
            self.pack();
        }
        let lints = Lint::all().iter();
        let lints: Object = lints.map(|lint| (lint.code(), lint.name())).collect();
        let data = Object::from_iter([
            ("version", Value::from(env!("CARGO_PKG_VERSION"))),
            ("sources", self.sources.into()),
            ("templates", self.templates.into()),
            ("formats", self.formats.into()),
            ("targets", Value::from_iter(self.targets)),
            ("topics", Value::from_iter(self.topics)),
            ("lints", lints.into()),
        ]);
        // Nothing in it ends the element that it stands in.
        let data = json::write(&data.into()).replace('<', "\\u003c");
        let (head, rest) = parted(HTML, "DATA");
        let (between, rest) = parted(rest, "SCRIPT");
        let (end, rest) = parted(rest, "DETAILS");
        let head = head
            .replace("SCRIPT-HASH", &hash(SCRIPT))
            .replace("STYLE-HASH", &hash(STYLE))
            .replace("STYLE", STYLE);
        for part in [&head, &data, between, SCRIPT, end] {
            out.write_all(part.as_bytes())?;
        }
        for (number, pack) in self.packs.iter().enumerate() {
            writeln!(
                out,
                "<script id=\"pack-{number}\" type=\"text/plain\">{pack}</script>"
            )?;
        }
        out.write_all(rest.as_bytes())
    }
}

/// What stands before the place of something in the page, and what behind it. The first that is named in capitals counts, but
/// for those in the head, which come before.
fn parted<'t>(text: &'t str, place: &str) -> (&'t str, &'t str) {
    let lined = format!(">{place}<");
    match text.find(&lined) {
        Some(at) => (&text[..at + 1], &text[at + 1 + place.len()..]),
        None => text.split_once(place).unwrap_or((text, "")),
    }
}

/// What a policy says of a script or style that may be in the page.
fn hash(text: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(text)))
}

/// Bytes in letters, as pages take them.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let mut bits = 0_u32;
        for at in 0..3 {
            bits = bits << 8 | u32::from(three.get(at).copied().unwrap_or_default());
        }
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize];
            out.push(if at <= three.len() {
                letter.into()
            } else {
                '='
            });
        }
    }
    out
}

/// What the page shows of the details of a row.
fn details(row: &Value) -> Value {
    let mut out = Object::new();
    for key in ["findings", "tree", "response_template", "reasons"] {
        out.insert(key, row.get(key).cloned().unwrap_or_default());
    }
    let list = |pointer: &str| {
        let list = row.pointer(pointer).and_then(Value::as_array);
        list.unwrap_or_default()
    };
    let mut texts = 0;
    let proof = list("/proof/rows").iter().map(|row| {
        let text = |key: &str| row.get(key).and_then(Value::as_str);
        let difference = text("difference");
        texts += 1;
        let output = text("output").filter(|_| difference.is_some() || texts <= MAX_TEXTS);
        let output = output.map(|output| super::table::clipped(output, MAX_TEXT));
        Value::from_iter([
            Value::from(text("name")),
            text("recovery").into(),
            output.into(),
            difference.into(),
        ])
    });
    let proof: Value = proof.collect();
    out.insert("proof", proof);
    let complaints = list("/complaints").iter().map(|complaint| {
        let kept = ["code", "line", "message"];
        let members = kept.map(|key| (key, complaint.get(key).cloned().unwrap_or_default()));
        Value::from(Object::from_iter(members))
    });
    out.insert("complaints", complaints.collect::<Value>());
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_in_letters() {
        for (bytes, expected) in [
            ("", ""),
            ("a", "YQ=="),
            ("ab", "YWI="),
            ("abc", "YWJj"),
            ("\u{fb}\u{ff}", "w7vDvw=="),
        ] {
            assert_eq!(base64(bytes.as_bytes()), expected);
        }
    }

    #[test]
    fn nothing_in_a_row_gets_out_of_its_place() {
        let mut page = Page::default();
        let row = r#"{"source": "</script><script>alert(1)</script>", "standing": "unreadable", "error": "<!--"}"#;
        let Ok(Value::Object(row)) = json::read(row) else {
            panic!("it is an object");
        };
        page.add(&row);
        let mut out = Vec::new();
        page.write(&mut out).expect("is written");
        let text = String::from_utf8(out).expect("is text");
        assert!(!text.contains("alert(1)</script>"));
        assert_eq!(
            text.matches("<script").count(),
            2,
            "the data, and the script"
        );
        assert!(text.contains(&hash(SCRIPT)) && text.contains(&hash(STYLE)));
    }
}
