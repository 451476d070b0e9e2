//! How commands report what they found.

use clap::ValueEnum;

use super::derive::Sibling;
use super::schema_comparison;
use crate::difference;
use crate::options::option_name;
use crate::printable;
use crate::printing::Painted;
use unjinja::analysis::{Certainty, Evidence, Findings};
use unjinja::chat_template::ChatTemplate;
use unjinja::derive::{DamageRow, Derivation, Recovery};
use unjinja::format::Format;
use unjinja::{Object, Value, json};

/// How much of a text is shown in a report.
const SHOWN: usize = 160;

/// How many texts are shown that the response schema reads otherwise.
const SHOWN_TRIALS: usize = 3;

/// How many lines are shown around those that differ.
const LINES_AROUND: usize = 3;

/// How a command prints what it found.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Lines for people
    Human,
    /// A JSON object
    Json,
}

/// The report on one derivation.
pub(crate) fn derivation(
    template: &ChatTemplate,
    derivation: &Derivation,
    siblings: &[Sibling],
) -> String {
    let mut out = match (&template.variant, siblings) {
        (Some(variant), [_, ..]) => format!("{}, variant `{variant}`\n", template.name),
        _ => format!("{}\n", template.name),
    };
    for token in &derivation.missing_tokens {
        if !derivation.findings.missing_tokens.contains(token) {
            line(&mut out, "missing", &token.explain(option_name));
        }
    }
    for sibling in siblings {
        line(&mut out, "beside", &sibling.statement());
    }
    out.push_str(&findings(&derivation.findings));
    let total = derivation.proof.len();
    line(
        &mut out,
        "proof",
        &format!(
            "{} of {total} renderings recovered, {} {} tried{}",
            derivation.recovered(),
            derivation.drafts,
            if derivation.drafts == 1 {
                "draft"
            } else {
                "drafts"
            },
            if derivation.ended_early {
                ", and more could be: trying them took all the work that it may"
            } else {
                ""
            }
        ),
    );
    if [
        derivation
            .findings
            .reasoning
            .as_ref()
            .map(|shape| shape.certainty),
        derivation
            .findings
            .calls
            .as_ref()
            .map(|shape| shape.certainty),
    ]
    .contains(&Some(Certainty::Guessed))
    {
        line(
            &mut out,
            "",
            "what is guessed is in no rendering, so nothing proves it",
        );
    }
    inferred(&mut out, derivation);
    for (lost, names) in lost(derivation) {
        line(
            &mut out,
            "",
            &format!("the chat template leaves out {lost}: {names}"),
        );
    }
    for row in &derivation.proof {
        if let Some(why) = row.recovery.difference() {
            let key = row.recovery.key();
            line(&mut out, "", &format!("{key}: {}: {why}", row.name));
            line(
                &mut out,
                "",
                &format!("  the prompt ends  {}", end_of(&row.prefix)),
            );
            line(
                &mut out,
                "",
                &format!("  the output is    {}", start_of(&row.output)),
            );
            if let Recovery::NotExpressible { other, .. } = &row.recovery {
                let other = json::write(&other.clone().into());
                line(
                    &mut out,
                    "",
                    &format!("  it also stands for {}", shortened(&other, false, true)),
                );
            } else {
                line(
                    &mut out,
                    "",
                    "  no other message was found that the chat template writes like this",
                );
            }
        }
    }
    out.push_str(&outputs(derivation));
    if !derivation.mentions.is_empty() {
        let recovered = derivation.recovered_mentions();
        let all = derivation.mentions.len();
        let text = format!("{recovered} of {all} texts that mention a marker recovered");
        line(&mut out, "mentions", &text);
    }
    for text in lost_by_manner(derivation) {
        line(&mut out, "", &text);
    }
    for (label, text) in call_kinds(derivation) {
        line(&mut out, label, &text);
    }
    let damage = derivation.damage();
    line(&mut out, "damaged", &damaged_texts(&damage));
    for row in damage.iter().filter(|row| row.recovered < row.total) {
        line(&mut out, "", &damage_row(row));
    }
    for (why, names) in refused(derivation) {
        line(&mut out, "refused", &format!("{names}: {why}"));
    }
    if let Some(comparison) = schema_comparison::of(template, derivation) {
        line(
            &mut out,
            "schema",
            &schema_comparison::statement(&comparison),
        );
        let texts = comparison.iter();
        let texts = texts.flat_map(|comparison| [&comparison.renderings, &comparison.own]);
        let parted = texts.flat_map(|trials| schema_comparison::parted(trials));
        for (trial, difference) in parted.take(SHOWN_TRIALS) {
            let output = start_of(&trial.text);
            line(&mut out, "", &format!("{difference}, on {output}"));
        }
    }
    out
}

/// The report on one derivation, for programs: what it is for, and what it is.
pub(crate) fn derivation_value(
    template: &ChatTemplate,
    derivation: &Derivation,
    siblings: &[Sibling],
) -> Value {
    let mut report = Object::from_iter([
        ("name", Value::from(&template.name)),
        (
            "variant",
            template.variant.as_deref().map_or(Value::Null, Value::from),
        ),
        ("beside", siblings.iter().map(Sibling::to_value).collect()),
    ]);
    report.extend(derivation.to_value().into_object());
    let comparison = schema_comparison::of(template, derivation);
    report.insert(
        "response_schema",
        comparison.as_ref().map(schema_comparison::to_value),
    );
    report.into()
}

/// What becomes of the outputs of the model that were given.
fn outputs(derivation: &Derivation) -> String {
    let mut out = String::new();
    let rows = &derivation.outputs;
    let misread = rows.iter().filter(|row| row.difference.is_some()).count();
    if !rows.is_empty() {
        let read = rows.len() - misread;
        line(
            &mut out,
            "outputs",
            &format!("{read} of {} outputs of the model read", rows.len()),
        );
    }
    for row in rows {
        if let Some(difference) = &row.difference {
            line(&mut out, "", &format!("misread: {difference}"));
            line(
                &mut out,
                "",
                &format!("  the output is    {}", start_of(&row.output)),
            );
        }
    }
    out
}

pub(crate) fn line(out: &mut String, label: &str, text: &str) {
    let line = format!("  {label:<10} {text}");
    out.push_str(line.trim_end());
    out.push('\n');
}

/// The names of the conversations of which the same is lost.
fn lost(derivation: &Derivation) -> Vec<(String, String)> {
    grouped(
        derivation
            .proof
            .iter()
            .filter_map(|row| match &row.recovery {
                Recovery::LostByTemplate(lost) => Some((lost.join(" and "), row.name.clone())),
                _ => None,
            }),
    )
}

/// The names of the conversations that are refused for the same reason.
fn refused(derivation: &Derivation) -> Vec<(String, String)> {
    grouped(derivation.refused.iter().map(|refused| {
        (
            one_line(&refused.explain(option_name)),
            refused.name.clone(),
        )
    }))
}

fn grouped(pairs: impl Iterator<Item = (String, String)>) -> Vec<(String, String)> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (key, name) in pairs {
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => groups.push((key, vec![name])),
        }
    }
    groups
        .into_iter()
        .map(|(key, names)| (key, names.join("; ")))
        .collect()
}

/// The markers that can't be mentioned, with the ways in which they can't.
fn lost_by_manner(derivation: &Derivation) -> Vec<String> {
    let lost = derivation.mentions.iter().filter(|text| !text.is_recovered);
    let mut markers: Vec<(&str, Vec<&str>)> = Vec::new();
    for text in lost {
        match markers
            .iter_mut()
            .find(|(marker, _)| *marker == text.marker)
        {
            Some((_, manners)) => manners.push(&text.manner),
            None => markers.push((&text.marker, vec![&text.manner])),
        }
    }
    let markers = markers.into_iter();
    let lines = markers.map(|(marker, manners)| format!("lost: `{marker}` {}", manners.join(", ")));
    lines.map(|text| one_line(&text)).collect()
}

/// What becomes of keys, names and values of all kinds in calls.
fn call_kinds(derivation: &Derivation) -> Vec<(&'static str, String)> {
    let kinds = &derivation.call_kinds;
    let misread = kinds.iter().filter(|kind| kind.difference.is_some());
    let misread: Vec<&str> = misread.map(|kind| kind.kind.as_str()).collect();
    if kinds.is_empty() {
        return Vec::new();
    }
    let read = kinds.len() - misread.len();
    let text = format!(
        "{read} of {} kinds of keys, names and values recovered",
        kinds.len()
    );
    let all = Some(("arguments", text));
    let misread = (!misread.is_empty()).then(|| ("", format!("misread: {}", misread.join("; "))));
    all.into_iter().chain(misread).collect()
}

/// Why each delimiter is there.
pub(crate) fn reasons(derivation: &Derivation) -> String {
    let mut out = String::new();
    for (at, reason) in derivation.reasons.iter().enumerate() {
        let label = if at == 0 { "delimiters" } else { "" };
        let does = if reason.opens { "opens" } else { "closes" };
        let head = format!(
            "`{}` {does} {}: {} texts",
            reason.delimiter, reason.field, reason.count
        );
        line(&mut out, label, &one_line(&head));
        for text in reason.texts.iter().take(MAX_TEXTS) {
            line(&mut out, "", &format!("  {}", one_line(text)));
        }
        if let Some(more) = reason
            .texts
            .len()
            .checked_sub(MAX_TEXTS)
            .filter(|more| *more > 0)
        {
            line(&mut out, "", &format!("  and {more} other kinds of texts"));
        }
    }
    out
}

/// How many kinds of texts are named that need a delimiter.
const MAX_TEXTS: usize = 3;

/// The counts of texts with damage that are read, refused and lost.
fn damaged_texts(rows: &[DamageRow]) -> String {
    let sum = |of: fn(&DamageRow) -> usize| rows.iter().map(of).sum::<usize>();
    let (recovered, lost, all) = (
        sum(|row| row.recovered),
        sum(|row| row.lost),
        sum(|row| row.total),
    );
    let refused = all - recovered - lost;
    format!(
        "{recovered} of {all} damaged texts recovered, {refused} refused or left as text, {lost} lost in silence"
    )
}

/// The counts of texts with one kind of damage that are read and lost.
fn damage_row(row: &DamageRow) -> String {
    let DamageRow {
        recovered,
        lost,
        total,
        damage,
        ..
    } = row;
    match lost {
        0 => format!("{recovered} of {total}: {damage}"),
        _ => format!("{recovered} of {total}, {lost} lost: {damage}"),
    }
}

/// The ways of a turn and its calls.
pub(crate) fn format(format: &Format) -> String {
    let mut out = String::new();
    let ways = format.ways.iter().map(ToString::to_string);
    let calls = format.calls.iter().map(|calls| format!("CALLS is {calls}"));
    for (at, text) in ways.chain(calls).enumerate() {
        let label = if at == 0 { "ways" } else { "" };
        line(&mut out, label, &text);
    }
    for slot in &format.escaped {
        line(&mut out, "escaped", &format!("signs in {slot}"));
    }
    for gap in &format.gaps {
        line(&mut out, "unknown", gap);
    }
    out
}

/// Reports what comes back of thoughts that are in no rendering.
fn inferred(out: &mut String, derivation: &Derivation) {
    let total = derivation.inferred.len();
    if total == 0 {
        return;
    }
    let recovered = derivation.recovered_inferred();
    let text = format!("{recovered} of {total} texts with a thought written in recovered");
    line(out, "inferred", &text);
    for row in &derivation.inferred {
        if let Some(why) = row.recovery.difference() {
            line(out, "", &format!("not recovered: {}: {why}", row.name));
        }
    }
}

/// The findings, one a line.
pub(crate) fn findings(findings: &Findings) -> String {
    let mut out = String::new();
    for token in &findings.missing_tokens {
        line(&mut out, "missing", &token.explain(option_name));
    }
    for variable in &findings.assumed {
        let (name, value) = (&variable.name, variable.value);
        let how = option_name(variable.remedy());
        let text = format!("`{name}` is not set, so `{value}` is assumed: set it with {how}");
        line(&mut out, "assumed", &text);
    }
    let mut before = None;
    for statement in findings.statements() {
        let label = match before == Some(statement.subject) {
            true => "",
            false => statement.subject.key(),
        };
        before = Some(statement.subject);
        let sure = match statement.certainty {
            Certainty::Seen => String::new(),
            other => format!("  ({})", other.key()),
        };
        line(
            &mut out,
            label,
            &format!("{}{sure}", one_line(&statement.text)),
        );
    }
    out
}

/// Two renderings a finding, in one: what only the first has in brackets, what only the second has
/// in braces.
pub(crate) fn evidence(all: &[&Evidence], out: &mut Painted) {
    for evidence in all {
        let (without, with) = (&evidence.without, &evidence.with);
        out.push(&format!("      {} / {}\n", without.title, with.title));
        out.indent("        ", |out| difference(&without.text, &with.text, out));
    }
}

fn difference(before: &str, after: &str, out: &mut Painted) {
    let (before, after) = (printable(before), printable(after));
    let changes = difference::words(&before, &after);
    for (at, change) in changes.iter().enumerate() {
        if change.is_equal() {
            let (first, last) = (at == 0, at + 1 == changes.len());
            out.push(&shortened(change.after, first, last));
            continue;
        }
        for (text, [open, close], colour) in [
            (change.before, ["[-", "-]"], "31"),
            (change.after, ["{+", "+}"], "32"),
        ] {
            if !text.is_empty() {
                out.paint(&format!("{open}{text}{close}"), colour);
            }
        }
    }
}

/// As much of a text that both renderings have as is needed around what differs.
fn shortened(text: &str, first: bool, last: bool) -> String {
    let from = |count: usize| text.char_indices().rev().nth(count).map_or(0, |(at, _)| at);
    let to = |count: usize| {
        text.char_indices()
            .nth(count)
            .map_or(text.len(), |(at, _)| at)
    };
    let mark = |is_cut: bool| if is_cut { "…" } else { "" };
    match (first, last) {
        (true, _) => format!("{}{}", mark(from(SHOWN) > 0), &text[from(SHOWN)..]),
        (_, true) => format!("{}{}", &text[..to(SHOWN)], mark(to(SHOWN) < text.len())),
        _ => text.to_owned(),
    }
}

/// A report of a derivation in colours, where they are wanted: its name, the labels, and what is not right.
pub(crate) fn coloured(report: &str) -> Painted {
    let mut out = Painted::for_errors();
    for (number, line) in report.lines().enumerate() {
        // Labels have so much room.
        let (label, text) = line.split_at_checked(12).unwrap_or((line, ""));
        let name = label.trim();
        if number == 0 {
            out.paint(line, "1");
        } else if name.is_empty() {
            let colour = if text.trim_start().starts_with("not ") {
                "31"
            } else {
                "0"
            };
            out.push(label);
            out.paint(text, colour);
        } else {
            let (before, behind) = label.split_once(name).unwrap_or((label, ""));
            out.push(before);
            out.paint(name, "36");
            out.push(behind);
            out.push(text);
        }
        out.push("\n");
    }
    out
}

/// The lines that differ, with some around them.
pub(crate) fn changed_lines(before: &str, after: &str, out: &mut Painted) {
    let changes = difference::lines(before, after);
    for (at, change) in changes.iter().enumerate() {
        if change.is_equal() {
            let (first, last) = (at == 0, at + 1 == changes.len());
            out.push(&lines_around(change.after, first, last));
        } else {
            painted_diff(&signed('-', change.before.split_inclusive('\n')), out);
            painted_diff(&signed('+', change.after.split_inclusive('\n')), out);
        }
    }
}

/// Those of the lines that both texts have which stand next to lines that differ.
fn lines_around(text: &str, first: bool, last: bool) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let head = if first { 0 } else { LINES_AROUND };
    let tail = if last { 0 } else { LINES_AROUND };
    if lines.len() <= head + tail {
        return signed(' ', lines);
    }
    // What is left out between two of them shows.
    let mark = if first || last { "" } else { " …\n" };
    let (head, tail) = (&lines[..head], &lines[lines.len() - tail..]);
    [
        signed(' ', head.iter().copied()),
        mark.to_owned(),
        signed(' ', tail.iter().copied()),
    ]
    .concat()
}

fn signed<'a>(sign: char, lines: impl IntoIterator<Item = &'a str>) -> String {
    let lines = lines.into_iter();
    lines.map(|line| format!("{sign}{line}")).collect()
}

/// A difference with colours, where they are wanted.
pub(crate) fn painted_diff(diff: &str, out: &mut Painted) {
    for line in diff.split_inclusive('\n') {
        let (text, end) = match line.strip_suffix('\n') {
            Some(text) => (text, "\n"),
            None => (line, ""),
        };
        match text.as_bytes().first() {
            Some(b'+') => out.paint(text, "32"),
            Some(b'-') => out.paint(text, "31"),
            _ => out.push(text),
        }
        out.push(end);
    }
}

/// One line for each source.
pub(crate) fn table<'a>(
    sources: impl Iterator<Item = (&'a str, Option<&'a Derivation>)>,
) -> String {
    let rows = sources.map(|(source, derivation)| {
        let source = source.to_owned();
        let Some(derivation) = derivation else {
            let none = || "-".to_owned();
            return [source, none(), none(), "failed".to_owned(), none()];
        };
        let findings = &derivation.findings;
        let damaged = derivation.damaged.iter();
        let recovered_damaged = damaged.filter(|text| text.is_recovered).count();
        let found = |certainty: Option<Certainty>| {
            certainty
                .map_or("-", |certainty| certainty.key())
                .to_owned()
        };
        [
            source,
            found(findings.reasoning.as_ref().map(|shape| shape.certainty)),
            found(findings.calls.as_ref().map(|shape| shape.certainty)),
            format!("{}/{}", derivation.recovered(), derivation.proof.len()),
            format!("{recovered_damaged}/{}", derivation.damaged.len()),
        ]
    });
    let titles = ["source", "reasoning", "calls", "recovered", "damaged"].map(str::to_owned);
    let all: Vec<[String; 5]> = std::iter::once(titles).chain(rows).collect();
    let width = |column: usize| {
        let widths = all.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..5).map(width).collect();
    let mut out = String::new();
    for row in &all {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        out.push_str(cells.join("  ").trim_end());
        out.push('\n');
    }
    out
}

/// How far many sources are.
pub(crate) fn progress(done: usize, count: usize) -> String {
    let width = 30;
    let filled = width * done / count.max(1);
    format!(
        "[{}{}] {done}/{count}",
        "#".repeat(filled),
        "-".repeat(width - filled)
    )
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// The end of a text, in quotes.
fn end_of(text: &str) -> String {
    let from = text
        .char_indices()
        .rev()
        .nth(SHOWN / 2)
        .map_or(0, |(at, _)| at);
    format!("{}{:?}", if from > 0 { "…" } else { "" }, &text[from..])
}

/// The start of a text, in quotes.
fn start_of(text: &str) -> String {
    let to = text
        .char_indices()
        .nth(SHOWN)
        .map_or(text.len(), |(at, _)| at);
    format!(
        "{:?}{}",
        &text[..to],
        if to < text.len() { "…" } else { "" }
    )
}
