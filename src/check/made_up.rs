//! Texts made of the markers of two response templates.

use crate::response::{Delimiter, ResponseTemplate};

use super::compare::Text;

/// So many markers are combined at the most: the texts are as many as the cubes of this.
const MAX_MARKERS: usize = 16;

/// What stands between markers: some of it can be read as a call.
const BODIES: [&str; 10] = [
    "w",
    "{\"name\": \"f\", \"arguments\": {\"a\": 1}}",
    "[{\"name\": \"f\", \"arguments\": {\"a\": \"b\"}}]",
    "\n w\n",
    "{name:\"f\",arguments:{a:1}}",
    "{'name': 'f', 'arguments': {}}",
    "a: 1\nb: c",
    "12",
    "true",
    "",
];

/// The white space that may stand behind a marker.
const SPACES: [&str; 4] = ["", " ", "\n", "\t"];

/// A call, which may stand between two markers while a third is tried.
const CALL: &str = BODIES[1];

impl Text {
    /// Texts in which up to three markers follow each other, out of those of two templates, and
    /// prompts that end with what either takes for the beginning of a message.
    pub fn made_up(first: &ResponseTemplate, second: &ResponseTemplate) -> Vec<Text> {
        let templates = [first, second];
        let fields = templates.iter().flat_map(|template| template.fields());
        let markers =
            examples(fields.flat_map(|field| field.open().into_iter().chain(field.close())));
        let anchors = examples(templates.iter().map(|template| template.start_anchor()));
        let mut outputs: Vec<String> = BODIES.map(str::to_owned).into();
        for a in &markers {
            for space in SPACES {
                outputs.extend([format!("w{a}{space}x"), format!("w{a}{space}")]);
                outputs.push(format!("w{space}{a}x"));
            }
            for b in &markers {
                outputs.extend(BODIES.iter().map(|body| format!("{a}{body}{b}x")));
                outputs.extend(SPACES.iter().map(|space| format!("w{a}w{b}{space}")));
                outputs.extend(markers.iter().map(|c| format!("{a}w{b}{CALL}{c}x")));
            }
        }
        let alone = outputs.iter().map(|output| text("", output));
        let mut texts: Vec<Text> = alone.collect();
        for anchor in &anchors {
            texts.push(text(&format!("u{anchor}"), "w"));
            for a in &markers {
                texts.push(text(&format!("u{anchor}"), &format!("{a}w")));
                texts.push(text(&format!("u{anchor}{a}"), "w"));
                texts.extend(
                    markers
                        .iter()
                        .map(|b| text(&format!("{anchor}{a}"), &format!("w{b}x"))),
                );
            }
        }
        texts
    }
}

fn text(prefix: &str, output: &str) -> Text {
    Text::new("made up of the markers of both", prefix, output)
}

/// What delimiters match, none twice.
fn examples<'t>(delimiters: impl Iterator<Item = &'t Delimiter>) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for example in delimiters.flat_map(Delimiter::examples) {
        if texts.len() < MAX_MARKERS && !texts.contains(&example.text) {
            texts.push(example.text);
        }
    }
    texts
}
