//! Whether a prompt is the beginning of the turn that it asks for, and whether turns end.

use crate::chat_template::program::{Statement, StatementKind};
use crate::lint::{Level, Lint};
use crate::markers::{boundary, common_prefix, is_pair, markers, pieces, same_end};

use super::blame;
use super::stage::Stage;
use super::talk::{Talk, WordKind};
use super::{Fault, Report};

pub(super) fn check(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    for shape in ["u", "uco"] {
        if stage.takes_calls || shape == "u" {
            ignored(stage, report, shape);
            kept(stage, report, shape);
        }
    }
    ended(stage, report);
    if stage.takes_calls {
        calls_ended(stage, report);
    }
}

/// What stands between a conversation and the words of the answer to it.
fn header(stage: &Stage<'_>, shape: &str) -> Option<(String, String)> {
    let asked = stage.text(&stage.talk(shape))?;
    let answered = stage.talk(&format!("{shape}t"));
    let text = stage.text(&answered)?;
    let word = answered.words.last()?.text.clone();
    let header = text.strip_prefix(asked.as_str())?;
    Some((header[..header.find(&word)?].to_owned(), asked))
}

fn ignored(stage: &Stage<'_>, report: &mut Report<'_, '_>, shape: &str) {
    let talk = stage.talk(shape).prompt();
    let Some((header, asked)) = header(stage, shape) else {
        return;
    };
    let Some(prompt) = stage.text(&talk) else {
        return;
    };
    if header.trim().is_empty() || prompt != asked {
        return;
    }
    // Some look first whether it is there at all.
    let reader = stage.readers(&["add_generation_prompt"]).last();
    let place = reader.map(|statement| statement.place.clone());
    let end = stage.source().trim_end().char_indices().last();
    let end = end.map_or(0, |(at, _)| at);
    report.add(
        Fault::new(
            Lint::PromptIgnored,
            format!("a prompt does not end with {header:?}, which begins the assistant's turn"),
            "end the template with `{% if add_generation_prompt %}`, what begins the turn, and `{% endif %}`; otherwise \
             the model has to begin it itself, or goes on with the user's",
        )
        .at(place.unwrap_or(end..end))
        .shown_by(&talk)
        .marked(prompt.len()..prompt.len()),
    );
}

/// The turn should begin with what the prompt ends with.
fn kept(stage: &Stage<'_>, report: &mut Report<'_, '_>, shape: &str) {
    let talk = stage.talk(shape).prompt();
    let Some(prompt) = stage.text(&talk) else {
        return;
    };
    let Some(asked) = stage.text(&stage.talk(shape)) else {
        return;
    };
    let mut turns = vec!["t", "r"];
    if stage.takes_calls {
        turns.extend(["c", "q"]);
    }
    let mut worst: Option<(usize, Talk, String)> = None;
    for turn in turns {
        let mut spoken = stage.talk(&format!("{shape}{turn}"));
        spoken.tools.clone_from(&talk.tools);
        let Some(text) = stage.text(&spoken) else {
            continue;
        };
        if let Some(rest) = text.strip_prefix(prompt.as_str()) {
            if turn == "t" && rest.starts_with(char::is_whitespace) {
                begins_with_space(stage, report, &talk, &spoken, &prompt, rest);
            }
            return;
        }
        let shared = common_prefix(&prompt, &text);
        if worst.as_ref().is_none_or(|(known, ..)| *known < shared) {
            worst = Some((shared, spoken, text));
        }
    }
    let Some((shared, spoken, text)) = worst else {
        return;
    };
    if shared < asked.len().min(prompt.len()) && shared + 1 < asked.len() {
        let what = if shape == "u" {
            "a question"
        } else {
            "a result"
        };
        question_changed(stage, report, what, [&talk, &spoken], shared);
        return;
    }
    let shown = |text: &str| {
        text.get(shared..)
            .unwrap_or_default()
            .chars()
            .take(24)
            .collect::<String>()
    };
    let (prompted, spoken_text) = (shown(&prompt), shown(&text));
    report.add(
        Fault::new(
            Lint::PromptNotKept,
            format!(
                "no turn begins with what its prompt ended with: behind {:?} comes {prompted:?} in the prompt, and \
                 {spoken_text:?} in the turn",
                tail(&prompt[..shared])
            ),
            "let the prompt be what the turn begins with, white space included: models continue from exactly that",
        )
        .level(level(stage, &prompted, &spoken_text))
        .at(blame::written(stage, &talk, shared.min(prompt.len().saturating_sub(1))))
        .shown_by(&spoken)
        .marked(shared..text.len().min(shared + spoken_text.len())),
    );
}

/// What was asked is rendered otherwise once it is answered.
fn question_changed(
    stage: &Stage<'_>,
    report: &mut Report<'_, '_>,
    what: &str,
    [talk, spoken]: [&Talk; 2],
    shared: usize,
) {
    let outcomes = [talk, spoken].map(|talk| stage.text(talk).unwrap_or_default());
    let [was, is] = outcomes.each_ref().map(|text| {
        let at = boundary(text, shared);
        text[at..].chars().take(24).collect::<String>()
    });
    let at = boundary(&outcomes[1], shared);
    report.add(
        Fault::new(
            Lint::PromptNotKept,
            format!("{what} is rendered otherwise once it is answered: {was:?} becomes {is:?}"),
            "write nothing in a turn that depends on what follows it, such as `loop.last`: the model answered another \
             prompt than training sees, and no cache holds",
        )
        .at(blame::parted(stage, talk, spoken, shared))
        .shown_by(spoken)
        .marked(at..at + is.len()),
    );
}

/// The turn goes on with white space that the model has to write first.
fn begins_with_space(
    stage: &Stage<'_>,
    report: &mut Report<'_, '_>,
    talk: &Talk,
    spoken: &Talk,
    prompt: &str,
    rest: &str,
) {
    let space = &rest[..rest.len() - rest.trim_start().len()];
    report.add(
        Fault::new(
            Lint::PromptNotKept,
            format!("turns go on with {space:?} where the prompt ends, so that models have to write it first"),
            "end the prompt with the white space that turns begin with, unless the model was trained so",
        )
        .level(Level::Note)
        .at(blame::written(stage, talk, prompt.len().saturating_sub(1)))
        .shown_by(spoken)
        .marked(prompt.len()..prompt.len() + space.len()),
    );
}

/// Prompts that open or close thoughts differ from turns in which there were none, and are meant to.
fn level(stage: &Stage<'_>, prompted: &str, spoken: &str) -> Level {
    let thinks = stage.thinks();
    let is_marker = prompted.trim_start().starts_with(['<', '['])
        || spoken.trim_start().starts_with(['<', '[']);
    match thinks && is_marker {
        true => Level::Note,
        false => Lint::PromptNotKept.level(),
    }
}

fn tail(text: &str) -> String {
    let count = text.chars().count();
    text.chars().skip(count.saturating_sub(24)).collect()
}

/// A turn should end with a marker, or nobody knows that it has ended.
fn ended(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    if stage.base().eos_token.is_none() && stage.reads_name("eos_token") {
        return;
    }
    let talk = stage.talk("utut");
    let Some(text) = stage.text(&talk) else {
        return;
    };
    let places: Option<Vec<usize>> = talk
        .words
        .iter()
        .map(|word| text.find(&word.text))
        .collect();
    let Some(&[question, answer, second, last]) = places.as_deref() else {
        return;
    };
    let lengths: Vec<usize> = talk.words.iter().map(|word| word.text.len()).collect();
    if !(question < answer && answer < second && second < last) {
        return;
    }
    let behind_answer = &text[answer + lengths[1]..second];
    let behind_last = &text[last + lengths[3]..];
    // What a question begins with; the rest of what stands before it ends the answer.
    let header = same_end(&text[..question], behind_answer);
    // No marker is cut in two.
    let cut = behind_answer.len() - header;
    let ends = pieces(behind_answer).scan(0, |end, piece| {
        *end += piece.len();
        Some(*end)
    });
    let cut = ends.filter(|end| *end >= cut).min().unwrap_or(cut);
    let end = match header {
        0 => behind_answer.trim(),
        _ => behind_answer[..cut].trim(),
    };
    let asked = stage.text(&stage.talk("u")).unwrap_or_default();
    let behind_question = asked
        .rsplit_once(&talk.words[0].text)
        .map_or("", |(_, behind)| behind);
    let ends_questions = !behind_question.trim().is_empty();
    if !behind_last.trim().is_empty() {
        return;
    }
    if !end.is_empty() {
        let around = condition_around(stage, &talk, answer + lengths[1]);
        let place = match around {
            Some((_, opener)) => Some(opener.place.clone()),
            None => blame::written(stage, &talk, last),
        };
        report.add(
            Fault::new(
                Lint::TurnNotEnded,
                format!("nothing ends the last answer, though {end:?} ends earlier ones"),
                "write the same behind the last of the assistant's turns: otherwise, training on whole conversations \
                 teaches the model not to stop there",
            )
            .level(Level::Note)
            .at(place)
            .shown_by(&talk)
            .marked(text.len()..text.len()),
        );
        return;
    }
    if !ends_questions {
        return;
    }
    report.add(
        Fault::new(
            Lint::TurnNotEnded,
            "nothing ends an answer, though questions have what ends them",
            "write the marker or `eos_token` behind each of the assistant's turns: a model learns from it when to stop",
        )
        .at(blame::written(stage, &talk, answer + lengths[1]))
        .shown_by(&talk)
        .marked(answer + lengths[1]..second),
    );
}

/// So should one with calls, where one with a text does.
fn calls_ended(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    let behind = |shape: &str, kind: WordKind, number: usize| -> Option<String> {
        let talk = stage.talk(shape);
        let text = stage.text(&talk)?;
        let word = talk.words_of(kind).nth(number)?;
        let at = text.rfind(&word.text)? + word.text.len();
        Some(text[at..].to_owned())
    };
    let (Some(text_end), Some(call_end), Some(between)) = (
        behind("ut", WordKind::Answer, 0),
        behind("uc", WordKind::Value, 0),
        behind("up", WordKind::Value, 0),
    ) else {
        return;
    };
    // What closes a call stands behind the first of two as well, and what closes all of them is the other half of a pair.
    let has_two = between.contains(&stage.writer.word("Value", 2));
    let talk = stage.talk("uc");
    let text = stage.text(&talk).unwrap_or_default();
    let closes_calls = || {
        let last = markers(call_end.trim_end()).last().unwrap_or_default();
        let is_last = call_end.trim_end().ends_with(last);
        is_last
            && !text_end.contains(last)
            && markers(&text[..text.len() - call_end.len()]).any(|open| is_pair(open, last))
    };
    let is_bare = has_two
        && !call_end.trim().is_empty()
        && (between.starts_with(call_end.trim_end()) || closes_calls());
    if !text_end.trim().is_empty() && !call_end.contains(text_end.trim()) && is_bare {
        let place = unwritten_end(stage, &talk, text_end.trim()).or_else(|| {
            let last = text.len().saturating_sub(1);
            blame::written(stage, &talk, last)
        });
        report.add(
            Fault::new(
                Lint::TurnNotEnded,
                format!("nothing ends a turn with a call, though {:?} ends one with a text", text_end.trim()),
                "write the same behind the calls: a model learns from it when to stop, and that a result comes next",
            )
            .at(place)
            .shown_by(&talk)
            .marked(text.len()..text.len()),
        );
    }
}

/// The condition that keeps what ends a turn with a text from ending one with a call, if it stands around nothing else.
fn unwritten_end(stage: &Stage<'_>, talk: &Talk, end: &str) -> Option<blame::SourceRange> {
    let ways = &stage.trace(talk).ways;
    // Once a result follows, it may be written.
    ["ut", "uco"].into_iter().find_map(|shape| {
        let ended = stage.talk(shape);
        let text = stage.text(&ended)?;
        let at = match shape {
            "ut" => text.len().checked_sub(1)?,
            _ => {
                let value = &ended.words_of(WordKind::Value).next()?.text;
                let result = text.find(&ended.words_of(WordKind::Result).next()?.text)?;
                let from = text[..result].rfind(value)? + value.len();
                from + text[from..result].find(end)?
            }
        };
        let (writer, opener) = condition_around(stage, &ended, at)?;
        (!blame::reaches(stage, ways, writer)).then(|| opener.place.clone())
    })
}

/// What wrote a place of a rendering, and the condition around it, if that stands around nothing that says anything.
fn condition_around<'s>(
    stage: &'s Stage<'_>,
    talk: &Talk,
    at: usize,
) -> Option<(&'s Statement, &'s Statement)> {
    let writer = stage
        .program
        .at(&blame::written_outside(stage, talk, at)?)?;
    let block = stage.program.around(writer).next()?;
    let opener = &stage.program.statements[block.opened_by];
    let body = stage.program.within(opener, block.branch);
    let says = body
        .iter()
        .any(|statement| stage.may_read(statement, &["content"]));
    (opener.kind == StatementKind::If && !says).then_some((writer, opener))
}
