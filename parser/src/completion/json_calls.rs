//! Calls that are written as JSON, while they are written.

use crate::json;
use crate::response::{Language, Tools};
use crate::value::Value;

use super::calls::{Plan, Source, arguments_text, id_of};
use super::json_walk::{JsonWalk, Step};
use super::region::{CallPieces, Known};

/// Follows the text of a region, and hands on the parts of its calls.
#[derive(Debug, Clone)]
pub(super) struct JsonCalls {
    plan: Plan,
    tools: Tools,
    language: Language,
    /// What the opening delimiter has said of each call.
    at_open: Known,
    walk: JsonWalk,
    /// The call that is being read.
    call: Known,
    has_begun: bool,
    doing: Doing,
    /// How many calls have begun.
    begun: usize,
    /// How many bytes of the arguments of the last one have been handed on, and whether these are all.
    sent: usize,
    is_complete: bool,
    /// Text that turns out not to be JSON may still be the arguments as it stands there.
    may_be_text: bool,
    /// Text that has to wait for the end of the region.
    held: String,
    waits: bool,
}

/// What happens with the text of the value that is being read.
#[derive(Debug, Clone)]
enum Doing {
    Nothing,
    /// It is handed on as arguments; they stand at this depth.
    Passing(usize),
    /// It is kept until its end, at this depth.
    Keeping {
        what: Kept,
        depth: usize,
        text: String,
    },
}

#[derive(Debug, Clone)]
enum Kept {
    Name,
    Id,
    /// Arguments that are no object.
    Arguments,
    /// An argument that is typed when all of it is there; the arguments stand at this depth.
    Argument {
        key: String,
        arguments: usize,
    },
}

impl JsonCalls {
    /// Follows a region with this plan, whose arguments have a path. If `may_be_text`, its value is the
    /// text without the white space around it where that is no JSON.
    pub(super) fn new(
        plan: Plan,
        at_open: Known,
        (tools, language): (&Tools, Language),
        may_be_text: bool,
    ) -> JsonCalls {
        let paths = [Some(&plan.name), plan.id.as_ref(), plan.arguments.as_ref()];
        let longest = paths.into_iter().flatten().map(|source| match source {
            Source::Path(path) => path.len(),
            _ => 0,
        });
        let keys_kept = usize::from(plan.each) + longest.max().unwrap_or(0) + 1;
        JsonCalls {
            walk: JsonWalk::new(keys_kept),
            tools: tools.clone(),
            language,
            call: at_open.clone(),
            at_open,
            has_begun: false,
            doing: Doing::Nothing,
            begun: 0,
            sent: 0,
            is_complete: false,
            may_be_text,
            held: String::new(),
            waits: false,
            plan,
        }
    }

    /// The region has opened: a single call may begin right there.
    pub(super) fn open(&mut self, out: &mut CallPieces) {
        if !self.plan.each {
            self.begin_if_known(out);
        }
    }

    /// Takes more of the text.
    pub(super) fn feed(&mut self, text: &str, out: &mut CallPieces) {
        if self.waits {
            if self.may_be_text {
                self.held.push_str(text);
            }
            return;
        }
        if !self.may_be_text {
            return self.follow(text, out);
        }
        // The white space at the end of what is no JSON is not part of it.
        let certain = text.trim_end_matches(crate::white_space::is_space).len();
        if certain == 0 {
            self.held.push_str(text);
            return;
        }
        let mut now = std::mem::take(&mut self.held);
        now.push_str(&text[..certain]);
        self.held.push_str(&text[certain..]);
        self.follow(&now, out);
    }

    /// The region has closed, and this is the value of its arguments: what is missing of those that
    /// have been begun.
    pub(super) fn close(&mut self, arguments: Option<&Value>, out: &mut CallPieces) {
        if self.sent == 0 {
            return self.hand_on(&arguments_text(arguments), out);
        }
        match arguments {
            Some(Value::String(text)) if self.may_be_text => {
                let text = text.to_string_lossy();
                self.hand_on(text.get(self.sent..).unwrap_or_default(), out);
            }
            _ => {
                self.may_be_text = false;
                if std::mem::take(&mut self.waits) {
                    self.walk.value_again();
                }
                let held = std::mem::take(&mut self.held);
                self.follow(&held, out);
            }
        }
    }

    /// How many calls have begun, and whether the last of them has all of its arguments.
    pub(super) fn progress(&self) -> (usize, bool) {
        (self.begun, self.is_complete)
    }

    fn follow(&mut self, text: &str, out: &mut CallPieces) {
        let (mut at, mut from) = (0, 0);
        while let Some(step) = self.walk.next(text, &mut at) {
            match step {
                Step::Starts(place) => {
                    self.take(&text[from..place], out);
                    from = place;
                    let first = text.as_bytes()[place];
                    self.value_starts(first, out);
                    if !self.waits {
                        self.walk.enter(first);
                    }
                }
                Step::Ends(place) => {
                    self.take(&text[from..place], out);
                    from = place;
                    self.value_ends(out);
                }
                Step::Broken(place) => {
                    self.take(&text[from..place], out);
                    from = place;
                    self.waits = true;
                }
            }
            if self.waits {
                self.hold(&text[from..]);
                return;
            }
        }
        self.take(&text[from..], out);
    }

    /// Keeps text for the end of the region, before what is held already.
    fn hold(&mut self, text: &str) {
        if self.may_be_text {
            self.held.insert_str(0, text);
        }
    }

    fn take(&mut self, text: &str, out: &mut CallPieces) {
        match &mut self.doing {
            Doing::Nothing => {}
            Doing::Passing(_) => self.hand_on(text, out),
            Doing::Keeping { text: kept, .. } => kept.push_str(text),
        }
    }

    fn hand_on(&mut self, text: &str, out: &mut CallPieces) {
        if let (false, Some(call)) = (text.is_empty(), self.begun.checked_sub(1)) {
            self.sent += text.len();
            out.arguments(call, text);
        }
    }

    fn is_at(&self, source: Option<&Source>) -> bool {
        let root = usize::from(self.plan.each);
        matches!(source, Some(Source::Path(path)) if self.walk.is_at(root, path))
    }

    fn value_starts(&mut self, first: u8, out: &mut CallPieces) {
        let depth = self.walk.depth();
        match self.doing {
            Doing::Keeping { .. } => return,
            Doing::Passing(arguments) => {
                return self.argument_starts(arguments, depth, first);
            }
            Doing::Nothing => {}
        }
        if depth == usize::from(self.plan.each) && (depth == 0 || self.walk.is_in_array()) {
            self.call_starts(out);
        } else if depth == 0 && first != b'[' {
            self.waits = true;
        }
        let keep = |what| Doing::Keeping {
            what,
            depth,
            text: String::new(),
        };
        if self.is_at(Some(&self.plan.name)) && self.call.name.is_none() {
            self.doing = keep(Kept::Name);
        } else if self.is_at(self.plan.id.as_ref()) && self.call.id.is_none() {
            self.doing = keep(Kept::Id);
        } else if self.is_at(self.plan.arguments.as_ref()) {
            match (self.has_begun, first) {
                // Whose they are is not known yet.
                (false, _) => self.waits = true,
                (true, _) if self.sent > 0 || self.is_complete => {}
                (true, b'{') => self.doing = Doing::Passing(depth),
                // What is no object may turn out to be text.
                (true, _) if self.may_be_text => self.waits = true,
                (true, _) => self.doing = keep(Kept::Arguments),
            }
        }
    }

    fn argument_starts(&mut self, arguments: usize, depth: usize, first: u8) {
        if !self.plan.is_typed || depth != arguments + 1 {
            return;
        }
        let (Some(key), Some(Some(name))) = (self.walk.key(), &self.call.name) else {
            return;
        };
        let cast = self.tools.argument_cast(name, &key.into(), self.language);
        if !cast.may_change(first) {
            return;
        }
        if self.may_be_text {
            // Text is not typed.
            self.waits = true;
            return;
        }
        self.doing = Doing::Keeping {
            what: Kept::Argument {
                key: key.to_owned(),
                arguments,
            },
            depth,
            text: String::new(),
        };
    }

    fn call_starts(&mut self, out: &mut CallPieces) {
        self.call = self.at_open.clone();
        self.has_begun = false;
        self.begin_if_known(out);
    }

    fn begin_if_known(&mut self, out: &mut CallPieces) {
        let (false, Some(name), Some(id)) = (self.has_begun, &self.call.name, &self.call.id) else {
            return;
        };
        let Some(name) = name else {
            // It is no call, and only the region's value can say which one comes next.
            self.waits = true;
            return;
        };
        // A single call may have been begun by what opened the region.
        if self.plan.each || self.begun == 0 {
            self.begun += 1;
            out.begin(name, id.clone());
        }
        self.has_begun = true;
        self.sent = 0;
        self.is_complete = false;
    }

    fn value_ends(&mut self, out: &mut CallPieces) {
        let depth = self.walk.depth();
        match std::mem::replace(&mut self.doing, Doing::Nothing) {
            // What follows may yet show that it is text.
            Doing::Passing(arguments) if arguments == depth => self.is_complete = !self.may_be_text,
            Doing::Keeping {
                what,
                depth: kept,
                text,
            } if kept == depth => self.kept_ends(what, &text, out),
            still => self.doing = still,
        }
        let is_call = depth == usize::from(self.plan.each) && self.has_begun;
        if is_call && self.sent == 0 && !self.is_complete {
            self.hand_on("{}", out);
            self.is_complete = true;
        }
    }

    fn kept_ends(&mut self, what: Kept, text: &str, out: &mut CallPieces) {
        let Ok(value) = json::read(text) else {
            self.waits = true;
            return;
        };
        match what {
            Kept::Name => {
                let name = value.as_json_string();
                self.call.name = Some(name.map(|name| name.to_string_lossy().into_owned()));
                self.begin_if_known(out);
            }
            Kept::Id => {
                self.call.id = Some(id_of(&value));
                self.begin_if_known(out);
            }
            Kept::Arguments => {
                self.hand_on(&arguments_text(Some(&value)), out);
                self.is_complete = true;
            }
            Kept::Argument { key, arguments } => {
                let name = self.call.name.iter().flatten().next();
                let name = name.map(String::as_str).unwrap_or_default();
                let mut typed = value.clone();
                let cast = self
                    .tools
                    .argument_cast(name, &key.as_str().into(), self.language);
                cast.apply(&mut typed);
                self.doing = Doing::Passing(arguments);
                match typed.total_eq(&value) {
                    true => self.hand_on(text, out),
                    false => self.hand_on(&json::write(&typed), out),
                }
            }
        }
    }
}
