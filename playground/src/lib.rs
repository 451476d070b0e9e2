//! What the page of the playground asks of the library: requests and answers are JSON, and the border that they cross is that of
//! `capi/`. All of it can be tested without a browser, by [`Playground::answer`].
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod conversation;
mod derivation;
mod grammar;
mod open;
mod replay;
mod request;
mod template;

use replay::Replayed;
use request::Request;
use unjinja::{Value, json};

/// What is kept between requests: the text that is replayed.
#[derive(Debug, Default)]
pub struct Playground {
    replayed: Option<Replayed>,
}

impl Playground {
    /// Answers a request, which may be about the bytes of a file.
    ///
    /// # Errors
    ///
    /// Why there is no answer, in words for whoever uses the page.
    pub fn answer(&mut self, request: &str, file: &[u8]) -> Result<Value, String> {
        let request = json::read(request).map_err(|error| error.to_string())?;
        let request = &Request(&request);
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
