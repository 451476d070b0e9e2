//! What comes out changed: then what a model wrote is not what it reads later.

use crate::analysis::probe::with;
use crate::chat_template::program::{Statement, StatementKind, What};
use crate::lint::{Level, Lint};
use crate::value::{Object, Value};

use super::blame;
use super::stage::Stage;
use super::talk::Talk;
use super::{Fault, Report};

pub(super) fn check(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    texts(stage, report);
    if stage.takes_calls {
        arguments(stage, report);
    }
}

/// Texts of each speaker, with white space around and within.
fn texts(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    let mut cases = vec![
        ("u", 0, "a user's text"),
        ("ut", 1, "an answer"),
        ("utu", 1, "an answer of an earlier turn"),
        ("su", 0, "a system's text"),
    ];
    if stage.takes_calls {
        cases.push(("uco", 2, "a tool's result"));
    }
    for (shape, number, what) in cases {
        let plain = stage.talk(shape);
        let Some(word) = plain
            .words
            .iter()
            .find(|word| word.message == number)
            .map(|word| word.text.clone())
        else {
            continue;
        };
        if !stage
            .text(&plain)
            .is_some_and(|text| text.to_lowercase().contains(&word.to_lowercase()))
        {
            continue;
        }
        let talk_of = |said: &str| {
            plain
                .clone()
                .changed(number, |message| with(message, "content", said))
        };
        // What is quoted as JSON comes out otherwise, and is meant to.
        let said = format!("{word}: A  <b> & C\u{e9}\n\n\t- D {word}");
        let talk = talk_of(&said);
        let is_json =
            |text: &str| text.contains(&format!("{word}: A  <b> & C\u{e9}\\n\\n\\t- D {word}"));
        match stage.text(&talk) {
            Some(text) if !text.contains(&said) && !is_json(&text) => {
                let at = text.find(&word).unwrap_or_default();
                report.add(
                    Fault::new(
                        Lint::TextRewritten,
                        format!("{what} comes out changed: {said:?} is not in the rendering"),
                        "write texts as they are: a model should read its own words as it wrote them",
                    )
                    .level(Level::Warning)
                    .at(changing(stage, &talk, &word, &said))
                    .shown_by(&talk)
                    .marked(at..at + word.len()),
                );
                continue;
            }
            _ => {}
        }
        let long = format!("{word} {} end{word}", "and so on ".repeat(500));
        let talk = talk_of(&long);
        if stage
            .text(&talk)
            .is_some_and(|text| !text.contains(&format!("end{word}")))
        {
            report.add(
                Fault::new(
                    Lint::TextRewritten,
                    format!("{what} is cut off if it is long"),
                    "leave out `truncate` and slices such as `[:1000]`: who calls the template knows how much there is room for",
                )
                .level(Level::Warning)
                .at(changing(stage, &talk, &word, &long)),
            );
        }
        let padded = format!("\n  {word} \n\n");
        let talk = talk_of(&padded);
        let is_answer = number == 1;
        if is_answer && let Some(text) = stage.text(&talk).filter(|text| !text.contains(&padded)) {
            let at = text.find(&word).unwrap_or_default();
            report.add(
                Fault::new(
                    Lint::TextRewritten,
                    format!("white space around {what} is taken away"),
                    "what a model writes with white space is another text of tokens later: leave out `| trim` and \
                     `.strip()` where texts of the assistant are written",
                )
                .at(changing(stage, &talk, &word, &padded))
                .shown_by(&talk)
                .marked(at..at + word.len()),
            );
        }
    }
}

/// The first place that made something else of a text.
fn changing(stage: &Stage<'_>, talk: &Talk, word: &str, said: &str) -> Option<blame::SourceRange> {
    let lowered = word.to_lowercase();
    let holds = |text: &str| text.to_lowercase().contains(&lowered);
    let changed = blame::first(stage, talk, |text| holds(text) && !text.contains(said));
    changed.or_else(|| {
        let text = stage.text(talk)?;
        blame::written(stage, talk, text.to_lowercase().find(&lowered)?)
    })
}

/// Arguments with keys in an order of their own, and values of all kinds.
fn arguments(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    let writer = &stage.writer;
    let (late, early) = (writer.word("key", 8), writer.word("key", 7));
    let value = writer.word("Value", 3);
    let quoted = format!("{value} \"q\" \u{e9}\n");
    let entries = |entries: &[(&str, Value)]| -> Object {
        entries
            .iter()
            .map(|(key, value)| (*key, value.clone()))
            .collect()
    };
    let talk_of = |arguments: Object| {
        let call = writer.call(1, writer.arguments(arguments));
        stage
            .talk("uco")
            .changed(1, |turn| with(turn, "tool_calls", vec![call.clone()]))
    };
    let ordered = talk_of(entries(&[
        (&late, "Value4".into()),
        (&early, "Value5".into()),
    ]));
    let is_turned = |text: &str| {
        text.find(&late)
            .zip(text.find(&early))
            .is_some_and(|(late, early)| late > early)
    };
    if let Some(text) = stage.text(&ordered)
        && let (Some(first), Some(second)) = (text.find(&late), text.find(&early))
        && first > second
    {
        let sorting = sorting_loop(stage, &ordered, second);
        report.add(
            Fault::new(
                Lint::ArgumentsRewritten,
                "the arguments of a call come out in another order than they went in",
                "leave out `sort_keys`, `| dictsort` and `| sort`: models write arguments in the order of the tool, and read \
                 other tokens later",
            )
            // Some formats are sorted by a loop of their own, and their models trained so.
            .level(match &sorting {
                Some(_) => Level::Note,
                None => Lint::ArgumentsRewritten.level(),
            })
            .at(sorting
                .or_else(|| blame::first(stage, &ordered, is_turned))
                .or_else(|| blame::written(stage, &ordered, second)))
            .shown_by(&ordered)
            .marked(second..second + early.len()),
        );
    }
    let talk = talk_of(entries(&[(&late, quoted.as_str().into())]));
    let Some(text) = stage.text(&talk) else {
        return;
    };
    let Some(at) = text.find(&value) else {
        return;
    };
    let behind = &text[at + value.len()..];
    if behind.contains("\\u00e9") {
        report.add(
            Fault::new(
                Lint::ArgumentsRewritten,
                "signs beyond ASCII are escaped in arguments: `\\u00e9` for `\u{e9}`",
                "leave out `ensure_ascii=True`: models write letters as they are, and escapes take several tokens each",
            )
            .at(blame::origin(stage, &talk, "\\u00e9"))
            .shown_by(&talk)
            .marked(at..at + value.len()),
        );
    }
    let is_quoted = text[..at].ends_with('"');
    if is_quoted && behind.starts_with(" \"q\"") {
        report.add(
            Fault::new(
                Lint::ArgumentsRewritten,
                "a quote in an argument is written as it is within a string of JSON, which then ends too early",
                "write values with `| tojson`, not between quotes of the template",
            )
            .at(blame::written(stage, &talk, at))
            .shown_by(&talk)
            .marked(at..at + value.len()),
        );
    }
    let lines = format!("{value} \"q\" A\nend{value}");
    let talk = talk_of(entries(&[(&late, lines.as_str().into())]));
    let text = stage.text(&talk).unwrap_or_default();
    // In quotes, line ends are escaped, as quotes are, or as Python does.
    let escaped = format!("{value} \\\"q\\\" A");
    let (bare, after) = (format!("{value} \"q\" A"), lines.replace('\n', "\\n"));
    let in_quotes = |text: &str| {
        let at = text.find(&value);
        at.is_some_and(|at| text[..at].ends_with(['"', '\'']))
    };
    let is_so = |text: &str| {
        let is_escaped =
            text.contains(&after.replace('"', "\\\"")) || in_quotes(text) && text.contains(&after);
        (text.contains(&bare) || text.contains(&escaped)) && !text.contains(&lines) && !is_escaped
    };
    if is_so(&text) {
        let at = text.find(&value).unwrap_or_default();
        report.add(
            Fault::new(
                Lint::ArgumentsRewritten,
                "an argument of several lines comes out changed",
                "write texts as they are: the model should read its own arguments as it wrote them",
            )
            .at(blame::first(stage, &talk, is_so).or_else(|| blame::written(stage, &talk, at)))
            .shown_by(&talk)
            .marked(at..at + value.len()),
        );
    }
    let numbers = talk_of(entries(&[(&late, 1.5.into()), (&early, 1_234_567.into())]));
    if let Some(text) = stage.text(&numbers)
        && text.contains(&late)
        && !(text.contains("1.5") && text.contains("1234567"))
    {
        let at = text.find(&late).unwrap_or_default();
        report.add(
            Fault::new(
                Lint::ArgumentsRewritten,
                "numbers in arguments come out changed",
                "write values with `| tojson`, without `| int` or `| round`",
            )
            .at(blame::written(stage, &numbers, at))
            .shown_by(&numbers)
            .marked(at..at + late.len()),
        );
    }
}

/// The loop that sorts what it goes through, around what wrote a place of a rendering.
fn sorting_loop(stage: &Stage<'_>, talk: &Talk, at: usize) -> Option<blame::SourceRange> {
    let writer = stage.program.at(&blame::written(stage, talk, at)?)?;
    let mut loops = stage
        .program
        .around(writer)
        .map(|block| &stage.program.statements[block.opened_by]);
    let sorts =
        |what: &What| matches!(what, What::Filter(name, _) if name == "dictsort" || name == "sort");
    let is_sorting = |statement: &&Statement| {
        let mut uses = stage.program.uses_of(statement).iter();
        statement.kind == StatementKind::For && uses.any(|used| sorts(&used.what))
    };
    // Or that of a macro, whose text is put together with others.
    let in_macro = || {
        let all = stage.program.statements.iter();
        let mut kept = all.filter(|statement| {
            let mut around = stage.program.around(statement);
            around.next().is_some_and(|block| block.is_kept)
        });
        kept.find(is_sorting)
    };
    let sorting = loops.find(is_sorting).or_else(in_macro);
    sorting.map(|statement| statement.place.clone())
}
