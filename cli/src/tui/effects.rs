//! Doing what the workbench wants to be done, but for what needs the terminal.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::thread;

use unjinja::check::{Case, FirstFixture, Fixture, is_fixture};
use unjinja::files::read_text;

use crate::files::write_whole;
use crate::options::option_name;
use unjinja::{ResponseTemplate, json};

use super::loaded::OpenError;
use super::message::{Done, Doubt, Effect, FileChange, Keep, Kept, Message};
use super::target::{MAX_FILE, Target, written};

/// What a new fixture begins with.
const COMMENT: &str = "Made by `unjinja tui`. Check it with `unjinja check`.";

/// Does what the workbench wants to be done, and reports what came of it. What takes long is done
/// beside it.
#[derive(Debug, Clone)]
pub struct EffectRunner {
    target: Arc<Target>,
    sender: Sender<Message>,
    /// Which loading is the last one: samples are not tried with any before.
    generation: Arc<AtomicU64>,
    /// How often something was loaded: what takes longer than the next time comes too late.
    loadings: Arc<AtomicU64>,
}

impl EffectRunner {
    /// One that sends what happens to a channel.
    pub fn new(target: Target, sender: Sender<Message>) -> EffectRunner {
        EffectRunner {
            target: Arc::new(target),
            sender,
            generation: Arc::default(),
            loadings: Arc::default(),
        }
    }

    /// Does something. What needs the terminal, such as editing a file and quitting, is given
    /// back.
    #[must_use]
    pub fn perform(&self, effect: Effect) -> Option<Effect> {
        match effect {
            Effect::Judge {
                generation,
                template,
                cases,
            } => {
                self.generation.store(generation, Ordering::Relaxed);
                let runner = self.clone();
                thread::spawn(move || runner.judge(generation, &template, cases));
            }
            Effect::Load { template } => {
                let number = self.loadings.fetch_add(1, Ordering::Relaxed) + 1;
                let runner = self.clone();
                thread::spawn(move || runner.load(number, template.as_deref()));
            }
            Effect::Keep(keep) => {
                let message = kept(&keep);
                self.send(match message {
                    Ok(Ok(done)) => Message::Kept(keep, done),
                    Ok(Err(doubt)) => Message::Unconfirmed(keep, doubt),
                    Err(error) => Message::Failed(error),
                });
            }
            Effect::Edit(..)
            | Effect::Copy(_)
            | Effect::Suspend
            | Effect::Redraw
            | Effect::Quit => {
                return Some(effect);
            }
        }
        None
    }

    fn judge(&self, generation: u64, template: &ResponseTemplate, cases: Vec<(usize, Case)>) {
        for (sample, case) in cases {
            if self.generation.load(Ordering::Relaxed) != generation {
                return;
            }
            self.send(match caught(|| case.check(template, 0)) {
                Ok(failures) => Message::Judged {
                    generation,
                    sample,
                    failures,
                },
                Err(why) => Message::NotJudged {
                    generation,
                    sample,
                    why,
                },
            });
        }
    }

    fn load(&self, number: u64, adopted: Option<&Path>) {
        let message = match caught(|| self.target.load(adopted)) {
            Ok(Ok(loaded)) => Message::Loaded(Box::new(loaded)),
            Ok(Err(trouble)) => Message::NotLoaded(trouble),
            Err(why) => Message::NotLoaded(OpenError::plain(why)),
        };
        if self.loadings.load(Ordering::Relaxed) == number {
            self.send(message);
        }
    }

    fn send(&self, message: Message) {
        // When nobody listens any more, all is over.
        let _nobody_listens = self.sender.send(message);
    }
}

/// What comes of some work, or what it panicked with. Nobody is to wait for what never comes.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        let text = text.unwrap_or("it does not tell why");
        format!("unjinja has a fault, and panicked: {text}")
    })
}

/// Keeps something in a file. Tells what was done, or why the person has to be asked before.
fn kept(keep: &Keep) -> Result<Result<Done, Doubt>, String> {
    let path = &keep.path;
    let is_there = path.symlink_metadata().is_ok();
    if !is_there && !keep.is_confirmed && !missing_folders(path).is_empty() {
        return Ok(Err(Doubt::NoFolder));
    }
    let done = match &keep.what {
        Kept::Template { .. } if is_there && Fixture::load(path).is_ok() => Err(format!(
            "{}: this is a fixture, which a response template is not to replace: name another file",
            path.display()
        )),
        Kept::Template { .. } if is_there && !keep.is_confirmed => return Ok(Err(Doubt::IsThere)),
        Kept::Template { template, .. } => {
            write(path, &template_text(path, template)?)?;
            let words = format!("the response template is written to {}", path.display());
            Ok(Done::new(words))
        }
        Kept::Case { case, template } => match is_there {
            true => add_case(path, case),
            false => first_case(path, case, template),
        },
        Kept::Expectation { case } => update_case(path, case),
        Kept::Undone { change, .. } => undo(change),
    };
    done.map(Ok)
}

/// The folders that would have to be made for a file, the outermost first.
fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let folders = path.ancestors().skip(1);
    let missing = folders.take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Makes a fixture with a case.
fn first_case(path: &Path, case: &Case, template: &ResponseTemplate) -> Result<Done, String> {
    let folders = missing_folders(path);
    let after = FirstFixture::of_case(template, case).to_text(path, COMMENT);
    write(path, &after)?;
    Ok(Done {
        words: saved(path, case),
        change: Some(FileChange {
            path: path.to_owned(),
            before: None,
            after,
            folders,
        }),
    })
}

/// Adds a case to a fixture.
fn add_case(path: &Path, case: &Case) -> Result<Done, String> {
    let fixture = Fixture::load(path).map_err(|error| error.explained(option_name).to_string())?;
    let mut case = case.clone();
    case.name = fixture.free_name(&case.name);
    let text = fixture
        .with_case(&case)
        .map_err(|error| error.to_string())?;
    let change = change(path, &text)?;
    let remark = match case.check(fixture.template(), 0).is_empty() {
        true => "",
        false => ", where it fails: the fixture has another response template",
    };
    Ok(Done {
        words: format!("{}{remark}", saved(path, &case)),
        change: Some(change),
    })
}

/// Writes another text into a file that is there.
fn change(path: &Path, text: &str) -> Result<FileChange, String> {
    let before = read_text(path, MAX_FILE).map_err(|error| error.to_string())?;
    write(path, text)?;
    Ok(FileChange {
        path: path.to_owned(),
        before: Some(before),
        after: text.to_owned(),
        folders: Vec::new(),
    })
}

/// Takes a change of a file back.
fn undo(change: &FileChange) -> Result<Done, String> {
    let path = change.path.display();
    let now = read_text(&change.path, MAX_FILE).map_err(|error| error.to_string())?;
    if now != change.after {
        return Err(format!(
            "{path} has been changed since then: nothing was undone"
        ));
    }
    if let Some(before) = &change.before {
        write(&change.path, before)?;
        return Ok(Done::new(format!("{path} is again what it was before")));
    }
    fs::remove_file(&change.path).map_err(|error| format!("{path}: {error}"))?;
    for folder in change.folders.iter().rev() {
        // Somebody else may have put something into it.
        let _only_if_empty = fs::remove_dir(folder);
    }
    Ok(Done::new(format!(
        "{path} is removed, as it was not there before"
    )))
}

fn saved(path: &Path, case: &Case) -> String {
    let remark = match is_fixture(path) {
        true => "",
        false => "; `unjinja check` finds fixtures by names that end in .fixture.yaml",
    };
    format!(
        "`{}` is saved in {}; `u` takes it back{remark}",
        case.name,
        path.display()
    )
}

/// Makes what comes out of a fixture's case what is expected of it.
fn update_case(path: &Path, case: &str) -> Result<Done, String> {
    let fixture = Fixture::load(path).map_err(|error| error.explained(option_name).to_string())?;
    let update = fixture
        .update_case(case)
        .ok_or_else(|| format!("{}: no case is called `{case}` any more", path.display()))?;
    if let Some(left) = update.left.first() {
        return Err(format!(
            "{}: `{}` of `{case}` can't be changed where it stands: it is written elsewhere, too",
            path.display(),
            left.key
        ));
    }
    if update.changes.is_empty() {
        return Ok(Done::new(format!(
            "`{case}` expects what comes out already"
        )));
    }
    let change = change(path, &update.text)?;
    let words = format!(
        "`{case}` expects what comes out now, in {}; `u` takes it back",
        path.display()
    );
    Ok(Done {
        words,
        change: Some(change),
    })
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    match write_whole(path, text) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// What a file is to hold: the template, or what is there with the template in it, where that is the
/// configuration of a tokenizer.
fn template_text(path: &Path, template: &ResponseTemplate) -> Result<String, String> {
    let alone = || written(template.as_value());
    if path.symlink_metadata().is_err() {
        return Ok(alone());
    }
    let text = read_text(path, MAX_FILE).map_err(|error| error.to_string())?;
    let is_config = path
        .file_name()
        .is_some_and(|name| name == "tokenizer_config.json")
        || ResponseTemplate::find_in(&text) == Ok("/response_template");
    match is_config {
        true => json::set_key(&text, "response_template", template.as_value())
            .map_err(|error| format!("{}: {error}", path.display())),
        false => Ok(alone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_panics_tells_why() {
        let words = |result: Result<(), String>| result.unwrap_err();
        assert!(words(caught(|| panic!("at once"))).ends_with("panicked: at once"));
        assert!(words(caught(|| panic!("{} times", 2))).ends_with("panicked: 2 times"));
        assert_eq!(caught(|| 3), Ok(3));
    }
}
