//! Outputs that are kept, one JSON object a line, in the form that the commands take.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use unjinja::{Value, json};

use crate::Tell;
use crate::object::object;

/// A file to which outputs are appended. Of requests, nothing is in it but the prompt and the tools.
#[derive(Clone)]
pub(crate) struct Recorder {
    file: Arc<Mutex<File>>,
    tell: Tell,
}

impl Recorder {
    /// The file at a path. What is in it stays.
    pub(crate) fn open(path: &Path, tell: Tell) -> io::Result<Recorder> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Recorder {
            file: Arc::new(Mutex::new(file)),
            tell,
        })
    }

    /// Begins to keep a request, which stands with each of its outputs.
    pub(crate) fn request(&self, id: &str, prompt: &Arc<str>, tools: &[Value]) -> Recorded {
        Recorded {
            recorder: self.clone(),
            id: id.to_owned(),
            prompt: Arc::clone(prompt),
            tools: tools.into(),
        }
    }
}

/// A request whose outputs are kept.
#[derive(Clone)]
pub(crate) struct Recorded {
    recorder: Recorder,
    id: String,
    prompt: Arc<str>,
    tools: Arc<[Value]>,
}

impl Recorded {
    /// An output that begins.
    pub(crate) fn begin(&self) -> Record {
        Record {
            request: self.clone(),
            output: String::new(),
        }
    }
}

/// An output while it comes. One that does not come to its end is not kept.
pub(crate) struct Record {
    request: Recorded,
    output: String,
}

impl Record {
    pub(crate) fn add(&mut self, text: &str) {
        self.output.push_str(text);
    }

    /// Appends the output, which may have been cut off. Whoever waits for an answer has it, whatever becomes of the file.
    pub(crate) fn keep(self, is_cut_off: bool) {
        let reason = match is_cut_off {
            true => "length",
            false => "stop",
        };
        let mut line = object! {
            "id": self.request.id,
            "prefix": &*self.request.prompt,
            "text": self.output,
            "finish_reason": reason,
        };
        if !self.request.tools.is_empty() {
            line.insert("tools", self.request.tools.to_vec());
        }
        let mut line = json::write(&line.into());
        line.push('\n');
        let recorder = &self.request.recorder;
        let file = recorder.file.lock();
        let mut file = file.unwrap_or_else(PoisonError::into_inner);
        let before = file.metadata().map(|file| file.len());
        if let Err(error) = file.write_all(line.as_bytes()) {
            (recorder.tell)(&format!("warning: an output is not recorded: {error}"));
            // A part of a line would spoil the next one. Where nothing can be taken back, a line of its own is the best.
            let taken_back = before.and_then(|before| file.set_len(before));
            if taken_back.is_err() {
                let _full = file.write_all(b"\n");
            }
        }
    }
}
