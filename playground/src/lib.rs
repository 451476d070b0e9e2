//! The library as a WebAssembly module. The page writes a request into the module's memory, calls [`answer`], and
//! reads the answer from there: both are JSON. Nothing else crosses the border, so there is no generated glue,
//! and all that the module does can be tested without a browser, by [`Playground::answer`].
//!
//! | exported | what it does |
//! |---|---|
//! | `request_room(length)` | where the request is to be written |
//! | `file_room(length)` | where the bytes of a file are to be written, which the request is about |
//! | `answer()` | answers the request; gives the length of the answer |
//! | `answer_start()` | where the answer stands |
#![deny(unsafe_code)]
#![warn(missing_docs)]

mod conversation;
mod derivation;
mod grammar;
mod open;
mod replay;
mod request;
mod template;

use std::cell::RefCell;

use replay::Replayed;
use request::Request;
use unjinja::{Object, Value, json};

/// What the module keeps between requests: the text that is replayed.
#[derive(Debug, Default)]
pub struct Playground {
    replayed: Option<Replayed>,
}

impl Playground {
    /// Answers a request. The answer is an object with the key `ok` or the key `error`.
    pub fn answer(&mut self, request: &str, file: &[u8]) -> String {
        let answer = json::read(request)
            .map_err(|error| error.to_string())
            .and_then(|request| self.answered(&Request(&request), file));
        let answer = match answer {
            Ok(value) => Object::from_iter([("ok", value)]),
            Err(error) => Object::from_iter([("error", error)]),
        };
        json::write(&answer.into())
    }

    fn answered(&mut self, request: &Request<'_>, file: &[u8]) -> Result<Value, String> {
        match request.text("do")? {
            "open" => open::open(request, file),
            "derive" => derivation::derive(request),
            "evidence" => derivation::evidence(request),
            "check" => template::check(request),
            "lint" => template::lint_chat(request),
            "mend" => template::mend_chat(request),
            "try" => template::try_case(request),
            "fixture" => template::fixture(request),
            "render" => conversation::render(request),
            "grammar" => grammar::write(request),
            "replay" => {
                let replayed = self.replayed.insert(replay::begin(request)?);
                Ok(replay::overview(replayed))
            }
            "read" => self.with_replayed(|replayed| replay::read_on(replayed, request)),
            "outcome" => self.with_replayed(|replayed| replay::outcome(replayed)),
            "look" => self.with_replayed(|replayed| replay::look(replayed, request)),
            other => Err(format!("there is no request `{other}`")),
        }
    }

    fn with_replayed(
        &mut self,
        act: impl FnOnce(&mut Replayed) -> Result<Value, String>,
    ) -> Result<Value, String> {
        let replayed = self.replayed.as_mut();
        act(replayed.ok_or("no text is replayed")?)
    }
}

#[derive(Default)]
struct Border {
    request: Vec<u8>,
    file: Vec<u8>,
    answer: String,
    playground: Playground,
}

thread_local! {
    static BORDER: RefCell<Border> = RefCell::default();
}

/// Makes room for a request of so many bytes.
#[allow(
    unsafe_code,
    reason = "to be exported, a function needs a name that no other has"
)]
#[unsafe(no_mangle)]
pub extern "C" fn request_room(length: usize) -> *mut u8 {
    BORDER.with_borrow_mut(|border| room(&mut border.request, length))
}

/// Makes room for a file of so many bytes.
#[allow(
    unsafe_code,
    reason = "to be exported, a function needs a name that no other has"
)]
#[unsafe(no_mangle)]
pub extern "C" fn file_room(length: usize) -> *mut u8 {
    BORDER.with_borrow_mut(|border| room(&mut border.file, length))
}

/// Answers the request, and gives the length of the answer in bytes.
#[allow(
    unsafe_code,
    reason = "to be exported, a function needs a name that no other has"
)]
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    BORDER.with_borrow_mut(|border| {
        let request = String::from_utf8_lossy(&border.request);
        border.answer = border.playground.answer(&request, &border.file);
        border.file = Vec::new();
        border.answer.len()
    })
}

/// Where the answer stands.
#[allow(
    unsafe_code,
    reason = "to be exported, a function needs a name that no other has"
)]
#[unsafe(no_mangle)]
pub extern "C" fn answer_start() -> *const u8 {
    BORDER.with_borrow(|border| border.answer.as_ptr())
}

fn room(buffer: &mut Vec<u8>, length: usize) -> *mut u8 {
    buffer.clear();
    buffer.resize(length, 0);
    buffer.as_mut_ptr()
}
