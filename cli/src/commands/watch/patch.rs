//! A patch that brings response templates and fixtures from one survey to the next.

use std::path::{Component, Path};

use similar::TextDiff;

use unjinja::check::{Case, Expected, FirstFixture, free_name};
use unjinja::{Object, ParserOptions, parse};

use super::super::Failure;
use super::super::output;
use super::difference::{Proof, template};
use super::report::Report;
use super::side::Side;

/// The patch, for `git apply` and `patch -p1`: two files for each template that behaves differently or is new.
pub(crate) fn of(report: &Report, old: &mut Side, new: &mut Side) -> Result<String, Failure> {
    let mut out = String::new();
    for (before, now) in report.patched() {
        let stem = stem(&new.rows[now].key);
        let before = match before {
            Some(before) => files(&old.row(before)?, &stem),
            None => Vec::new(),
        };
        let now = files(&new.row(now)?, &stem);
        for (path, text) in &now {
            let old = before.iter().find(|(known, _)| known == path);
            let (from, old) = match old {
                Some((_, old)) => (format!("a/{path}"), old.as_str()),
                None => ("/dev/null".to_owned(), ""),
            };
            if old == text {
                continue;
            }
            let difference = TextDiff::from_lines(old, text);
            let to = format!("b/{path}");
            out += &difference
                .unified_diff()
                .context_radius(3)
                .header(&from, &to)
                .to_string();
        }
    }
    Ok(out)
}

/// What the files of a source are called: its name without an ending, and without anything that leads elsewhere.
fn stem(key: &str) -> String {
    let path = Path::new(key);
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(part) => Some(part.to_string_lossy().into_owned()),
        _ => None,
    });
    let name = parts
        .collect::<Vec<_>>()
        .join("/")
        .replace(", variant ", ".")
        .replace(", number ", ".");
    let endings = [".jinja2", ".jinja", ".j2", ".gguf", ".json"];
    let stem = endings.iter().find_map(|ending| name.strip_suffix(ending));
    let stem = stem.unwrap_or(&name);
    // In a patch, the name of a file ends with its line.
    stem.chars()
        .map(|c| if c.is_control() { '_' } else { c })
        .collect()
}

/// The response template of a row, and the fixture of its renderings.
fn files(row: &Object, stem: &str) -> Vec<(String, String)> {
    let Some(template) = template(row) else {
        return Vec::new();
    };
    let proof = Proof::of(row);
    let mut cases: Vec<Case> = Vec::new();
    for rendered in &proof.rows {
        let is_same =
            |case: &Case| case.prefix == rendered.prompt && case.output == rendered.output;
        if cases.iter().any(is_same) {
            continue;
        }
        let options = ParserOptions::default().tools(proof.tools.clone());
        let mut expected = Expected::default();
        match parse(&template, &rendered.prompt, &rendered.output, options) {
            Ok(message) => expected.message = Some(message),
            Err(error) => expected.error = Some(error.to_string()),
        }
        let name = free_name(&rendered.name, |name| {
            cases.iter().any(|case| case.name == name)
        });
        let (prompt, output) = (&rendered.prompt, &rendered.output);
        cases.push(Case::new(
            name,
            prompt,
            output,
            proof.tools.clone(),
            expected,
        ));
    }
    let mut fixture = FirstFixture::of_cases(&template, &cases).as_is();
    let file = format!("{stem}.json");
    let name = file.rsplit('/').next().unwrap_or(&file);
    fixture.head.insert("response_template", name);
    let path = format!("{stem}.fixture.yaml");
    let comment = "Made by `unjinja watch`. Check it with `unjinja check`.";
    let text = fixture.to_text(Path::new(&path), comment);
    vec![(file, output::pretty(template.as_value())), (path, text)]
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn no_name_leads_out_of_the_folder() {
        for (key, expected) in [
            ("org/name", "org/name"),
            ("a/chat.jinja", "a/chat"),
            ("../../etc/a.jinja", "etc/a"),
            ("/etc/passwd", "etc/passwd"),
            ("org/name, variant tool_use", "org/name.tool_use"),
            ("a\nb.gguf", "a_b"),
        ] {
            assert_eq!(stem(key), expected);
        }
    }
}
