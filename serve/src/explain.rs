//! What happens to answers, told while it happens.

use unjinja::completion::Delta;
use unjinja::{ParserOptions, ResponseTemplate};

/// Tells people what happens to answers.
pub trait Explain: Send + Sync {
    /// An answer begins. What is returned is told the rest of it; when that is dropped before the end, the client has gone.
    fn begin(&self, begun: &Begun<'_>) -> Box<dyn Explanation>;
}

/// An answer that begins.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Begun<'a> {
    /// The id that the client gets.
    pub id: &'a str,
    /// Which of several answers to the request it is.
    pub choice: usize,
    /// Where the request came in.
    pub path: &'a str,
    /// What the engine was asked to complete.
    pub prompt: &'a str,
    /// What the output is read with.
    pub template: &'a ResponseTemplate,
    /// How it is read.
    pub options: ParserOptions,
}

impl<'a> Begun<'a> {
    /// The first answer to a request, of this id, path and prompt, which is read with a template.
    pub fn new(
        id: &'a str,
        path: &'a str,
        prompt: &'a str,
        template: &'a ResponseTemplate,
    ) -> Begun<'a> {
        Begun {
            id,
            choice: 0,
            path,
            prompt,
            template,
            options: ParserOptions::default(),
        }
    }

    /// Sets which of several answers it is.
    pub fn choice(mut self, choice: usize) -> Begun<'a> {
        self.choice = choice;
        self
    }

    /// Sets how the output is read.
    pub fn options(mut self, options: ParserOptions) -> Begun<'a> {
        self.options = options;
        self
    }
}

/// Is told what happens to one answer.
pub trait Explanation: Send {
    /// A piece of the output has come.
    fn came(&mut self, text: &str);
    /// This was sent to the client, or kept for it where the answer is sent as a whole.
    fn sent(&mut self, deltas: &[Delta]);
    /// The answer has ended, and why.
    fn ended(&mut self, how: &str);
}
