//! Chat templates that are linted: which of the files given are such, and how what was found is shown.

use std::path::Path;

use crate::printing::Painted;
use unjinja::chat_template::{ChatTemplate, Source};
use unjinja::lint::{Demonstration, LintOptions, Rulings, lint_chat_template};
use unjinja::{Diagnostic, Position, Value, json};

use super::super::Failure;
use super::super::source::SourceOptions;
use super::{Finding, LookedAt};

/// What is looked at in what was given.
pub(super) struct Subjects {
    /// Whether there is a chat template.
    pub(super) chat: bool,
    /// Whether there is, or should be, a response template or a response schema.
    pub(super) response: bool,
}

impl Subjects {
    /// Finds out what was given. What can't be read is left to those who read it for the response template, and say
    /// what is wrong.
    pub(super) fn of(path: &Path, options: &SourceOptions) -> Subjects {
        let response = Subjects {
            chat: false,
            response: true,
        };
        let chat = Subjects {
            chat: true,
            response: false,
        };
        if path == Path::new("-") {
            return response;
        }
        let name = path.to_string_lossy();
        if !path.exists() {
            return match Source::parse(&name) {
                Ok(Source::Hub(_)) => chat,
                _ => response,
            };
        }
        let extension = path
            .extension()
            .and_then(|extension| extension.to_str())
            .unwrap_or_default();
        let is = |known: &[&str]| {
            known
                .iter()
                .any(|known| extension.eq_ignore_ascii_case(known))
        };
        if is_chat_template(path) {
            return chat;
        }
        let has_response = |template: &ChatTemplate| {
            template.response_template.is_some() || template.response_schema.is_some()
        };
        if path.is_dir() || is(&["json"]) {
            let file = match path.is_dir() {
                true => path.join("tokenizer_config.json"),
                false => path.to_owned(),
            };
            let text = super::super::input::read_text(&file).ok();
            let text = text.as_deref().map(json::without_byte_order_mark);
            let document = text.and_then(|text| json::read(text).ok());
            let holds = |key: &str| document.as_ref().is_some_and(|d| d.get(key).is_some());
            let is_template = document.is_some() && !path.is_dir() && !holds("chat_template");
            return match options.try_load(&name) {
                Some(template) if !is_template => Subjects {
                    chat: true,
                    response: has_response(&template)
                        || holds("response_template")
                        || holds("response_schema"),
                },
                _ => response,
            };
        }
        // Fixtures may hold Jinja, and are no templates.
        let text = match is(&["yaml", "yml"]) {
            true => None,
            false => super::super::input::read_text(path).ok(),
        };
        let is_jinja = |text: String| {
            let begins = text.trim_start();
            let is_json = begins.starts_with('{')
                && !["{{", "{%", "{#"].iter().any(|tag| begins.starts_with(tag));
            !is_json && ["{{", "{%"].iter().any(|tag| text.contains(tag))
        };
        match text.is_some_and(is_jinja) {
            true => chat,
            false => response,
        }
    }
}

/// Whether a file has a chat template and nothing else, by its name.
pub(super) fn is_chat_template(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| {
        let mut known = ["jinja", "jinja2", "j2", "gguf"].iter();
        known.any(|known| extension.eq_ignore_ascii_case(known))
    })
}

/// Looks at the chat template in what was given.
pub(super) fn look_at(
    path: &Path,
    options: &SourceOptions,
    rulings: &Rulings,
) -> Result<LookedAt, Failure> {
    let name = path.display().to_string();
    let template = options.load(&name)?;
    let file = file_of(path, &template);
    let others = others(path, &template, options);
    let options = LintOptions::default()
        .base(options.base())
        .rulings(rulings.clone())
        .others(others);
    let findings = match lint_chat_template(&template, &options) {
        Ok(complaints) => {
            let complaints = complaints.into_iter();
            let findings = complaints.map(|complaint| {
                let mut finding = Finding::of_complaint(&file.name, complaint);
                finding.source = Some(template.jinja.clone());
                finding.is_embedded = file.is_embedded;
                finding
            });
            findings.collect()
        }
        Err(error) => {
            let line = error.line().map(|line| Position {
                offset: 0,
                line,
                column: 1,
            });
            let message = format!("{}: {}", error.of_question(), error.message());
            let diagnostic = Diagnostic::new(message).at_position(line);
            let mut finding = Finding::without_lint(file.name, diagnostic, 1);
            finding.is_embedded = file.is_embedded;
            vec![finding]
        }
    };
    Ok(findings.into())
}

/// So many GGUF files of a folder are looked into.
const MAX_GGUF: usize = 8;

/// The templates in other files of the same model: those of a GGUF file's folder, or of a folder's GGUF files.
fn others(path: &Path, own: &ChatTemplate, options: &SourceOptions) -> Vec<ChatTemplate> {
    let is_gguf = |path: &Path| {
        path.extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("gguf"))
    };
    if is_gguf(path) {
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let names = ["chat_template.jinja", "tokenizer_config.json"];
        let files = names.map(|name| folder.unwrap_or(Path::new(".")).join(name));
        let mut files = files.iter().filter(|file| file.is_file());
        return files
            .find_map(|file| options.try_load(&file.to_string_lossy()))
            .into_iter()
            .collect();
    }
    let from_gguf = own
        .origins
        .template
        .as_deref()
        .is_some_and(|origin| origin.contains(".gguf"));
    let Ok(entries) = path.read_dir() else {
        return Vec::new();
    };
    let mut files: Vec<_> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|file| is_gguf(file))
        .collect();
    files.sort();
    files.truncate(if from_gguf { 0 } else { MAX_GGUF });
    files
        .iter()
        .filter_map(|file| options.try_load(&file.to_string_lossy()))
        .collect()
}

struct File {
    name: String,
    /// Whether the template is but a text in it, and has lines of its own.
    is_embedded: bool,
}

/// The file that a chat template stands in.
fn file_of(path: &Path, template: &ChatTemplate) -> File {
    let origin = template.origins.template.as_deref().unwrap_or_default();
    let is_text = |name: &str| !name.ends_with(".json") && !name.contains("gguf");
    let name = match path.is_dir() && !origin.is_empty() {
        true => path.join(origin).display().to_string(),
        false => path.display().to_string(),
    };
    File {
        is_embedded: !is_text(&name) || !is_text(origin),
        name,
    }
}

/// So many characters of a line are shown before the place, and behind it.
const AROUND: usize = 60;
/// So many lines of a rendering are shown before the one with the place.
const LINES_BEFORE: usize = 2;

/// Shows the place in the template.
pub(super) fn push_source(out: &mut Painted, source: &str, position: Position) {
    let Some(line) = source.lines().nth(position.line - 1) else {
        return;
    };
    let number = position.line.to_string();
    let margin = " ".repeat(number.len());
    let (shown, column) = around(line, position.column - 1);
    out.push(&format!(
        "  {margin} |\n  {number} | {shown}\n  {margin} | {}",
        " ".repeat(column)
    ));
    out.paint("^", "33");
    out.push("\n");
}

/// Shows a conversation, and what becomes of it.
pub(super) fn push_demonstration(out: &mut Painted, shown: &Demonstration) {
    out.push("  ");
    out.paint("with", "36");
    out.push(&format!(": {}\n", in_words(shown)));
    let (Some(text), Some(marked)) = (&shown.text, &shown.marked) else {
        return;
    };
    let before = &text[..marked.start];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let lines: Vec<&str> = before[..line_start].lines().collect();
    for line in &lines[lines.len().saturating_sub(LINES_BEFORE)..] {
        out.push(&format!("  > {}\n", around(line, 0).0));
    }
    let line = text[line_start..].lines().next().unwrap_or_default();
    let column = before[line_start..].chars().count();
    let (line, start) = around(line, column);
    let width = text[marked.clone()]
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .count();
    let width = width.min(line.chars().count().saturating_sub(start)).max(1);
    out.push(&format!("  > {line}\n    {}", " ".repeat(start)));
    out.paint(&"^".repeat(width), "33");
    out.push("\n");
}

/// A line around a column, and where that is in it.
fn around(line: &str, column: usize) -> (String, usize) {
    let skipped = column.saturating_sub(AROUND);
    let mut shown: String = line.chars().skip(skipped).take(2 * AROUND).collect();
    shown = shown.replace('\t', " ");
    let mut at = column - skipped;
    if skipped > 0 {
        shown.insert(0, '…');
        at += 1;
    }
    if line.chars().count() > skipped + 2 * AROUND {
        shown.push('…');
    }
    (shown, at)
}

/// A conversation in a line.
fn in_words(shown: &Demonstration) -> String {
    let messages = shown.messages.as_array().into_iter().flatten();
    let said = messages.map(|message| {
        let mut rest = message.clone().into_object();
        let role = rest.remove("role");
        let role = role
            .as_ref()
            .and_then(Value::as_str)
            .unwrap_or("nobody")
            .to_owned();
        let plain = match (rest.len(), rest.get("content").and_then(Value::as_str)) {
            (1, Some(_)) => rest.remove("content"),
            _ => None,
        };
        let said = plain.unwrap_or_else(|| rest.into());
        format!("{role} {}", json::write(&said))
    });
    let mut words = said.collect::<Vec<String>>().join(", ");
    if let Some(tools) = shown
        .tools
        .as_array()
        .filter(|_| messages_call_nothing(shown))
    {
        words += &format!("; tools {}", json::write(&tools.iter().cloned().collect()));
    }
    let variables = shown
        .variables
        .iter()
        .filter(|(name, _)| name.as_str() != Some("messages"));
    for (name, value) in variables {
        words += &format!("; {}={}", name.to_string_lossy(), json::write(value));
    }
    if shown.add_generation_prompt {
        words += "; add_generation_prompt";
    }
    words
}

/// Tools go without saying where they are called.
fn messages_call_nothing(shown: &Demonstration) -> bool {
    let messages = shown.messages.as_array().unwrap_or_default();
    messages
        .iter()
        .all(|message| message.get("tool_calls").is_none())
}
