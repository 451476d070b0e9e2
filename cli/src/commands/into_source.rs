//! Changed chat templates: into the file that they came from, or as differences.

use crate::difference;
use unjinja::chat_template::{ChatTemplate, Source};
use unjinja::{Value, json};

use super::{Failure, input, output};

/// Puts a changed template in the place of the one that was read.
pub(crate) fn write(source: &str, template: &ChatTemplate, changed: &str) -> Result<(), Failure> {
    let nowhere = || {
        Failure::Input(format!(
            "{source}: `--write` needs a file or a folder to write into: use `-o FILE`"
        ))
    };
    let Ok(Source::Path(path)) = Source::parse(source) else {
        return Err(nowhere());
    };
    let origin = template.origins.template.as_deref().ok_or_else(nowhere)?;
    let path = match path.is_dir() {
        true => path.join(origin),
        false => path,
    };
    if path.extension().is_none_or(|extension| extension != "json") {
        // In a file of Jinja, the template is all there is.
        return match input::read_text(&path)? == template.jinja {
            true => output::change(&path, changed),
            false => Err(nowhere()),
        };
    }
    let text = input::read_text(&path)?;
    let wrong = |error: json::EditError| Failure::Input(format!("{}: {error}", path.display()));
    let present = json::get_key(&text, "chat_template").map_err(wrong)?;
    if present.as_ref().and_then(Value::as_str) != Some(template.jinja.as_str()) {
        return Err(Failure::Input(format!(
            "{}: `chat_template` is not this template alone: use `-o FILE`",
            path.display()
        )));
    }
    let edited = json::set_key(&text, "chat_template", &changed.into()).map_err(wrong)?;
    output::change(&path, &edited)
}

/// How many lines are shown around one that differs.
const CONTEXT: usize = 2;

/// The lines in which a changed template differs, as `diff -u` shows them.
pub(crate) fn difference(name: &str, before: &str, after: &str) -> String {
    let lines = |text: &str| text.matches('\n').count();
    let mut out = format!("--- {name}\n+++ {name}, mended\n");
    let changes = difference::lines(before, after);
    let (mut old, mut new) = (1, 1);
    for (index, change) in changes.iter().enumerate() {
        if !change.is_equal() {
            let context = |index: Option<usize>| index.and_then(|index| changes.get(index));
            let ahead = context(index.checked_sub(1)).map_or("", |change| change.after);
            let behind = context(Some(index + 1)).map_or("", |change| change.after);
            let ahead: Vec<&str> = ahead.split_inclusive('\n').collect();
            let ahead = &ahead[ahead.len().saturating_sub(CONTEXT)..];
            out.push_str(&format!(
                "@@ -{} +{} @@\n",
                old - ahead.len().min(old),
                new - ahead.len().min(new)
            ));
            let behind = behind.split_inclusive('\n').take(CONTEXT);
            let shown = (ahead.iter().map(|line| (' ', *line)))
                .chain(change.before.split_inclusive('\n').map(|line| ('-', line)))
                .chain(change.after.split_inclusive('\n').map(|line| ('+', line)))
                .chain(behind.map(|line| (' ', line)));
            for (sign, line) in shown {
                out.push(sign);
                out.push_str(line);
                if !line.ends_with('\n') {
                    out.push('\n');
                }
            }
        }
        old += lines(change.before);
        new += lines(change.after);
    }
    out
}
