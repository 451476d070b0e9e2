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

    /// An output that begins.
    pub(crate) fn begin(&self, id: &str, prompt: &str, tools: &[Value]) -> Record {
        Record {
            recorder: self.clone(),
            id: id.to_owned(),
            prompt: prompt.to_owned(),
            tools: tools.to_vec(),
            output: String::new(),
        }
    }
}

/// An output while it comes. One that does not come to its end is not kept.
pub(crate) struct Record {
    recorder: Recorder,
    id: String,
    prompt: String,
    tools: Vec<Value>,
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
            "id": self.id,
            "prefix": self.prompt,
            "text": self.output,
            "finish_reason": reason,
        };
        if !self.tools.is_empty() {
            line.insert("tools", self.tools);
        }
        let mut line = json::write(&line.into());
        line.push('\n');
        let file = self.recorder.file.lock();
        let mut file = file.unwrap_or_else(PoisonError::into_inner);
        let before = file.metadata().map(|file| file.len());
        if let Err(error) = file.write_all(line.as_bytes()) {
            (self.recorder.tell)(&format!("warning: an output is not recorded: {error}"));
            // A part of a line would spoil the next one. Where nothing can be taken back, a line of its own is the best.
            let taken_back = before.and_then(|before| file.set_len(before));
            if taken_back.is_err() {
                let _full = file.write_all(b"\n");
            }
        }
    }
}
