//! What a server is to be.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use unjinja::UnknownTools;
use unjinja::chat_template::{ChatTemplate, RenderInput};

use crate::{Engine, Explain, Tell};

/// What a server is to be.
///
/// ```
/// use unjinja_serve::Config;
///
/// let config = Config::new("http://127.0.0.1:8000/v1");
/// assert_eq!(config.listen, "127.0.0.1:8787");
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Config {
    /// The address of the engine.
    pub upstream: String,
    /// Which engine it is; without it, the engine is asked.
    pub engine: Option<&'static Engine>,
    /// The name that the model has there; without it, the one that clients give is passed on.
    pub upstream_model: Option<String>,
    /// The model's chat template; without it, the engine is asked.
    pub template: Option<ChatTemplate>,
    /// What all prompts have in common.
    pub base: RenderInput,
    /// Where to listen.
    pub listen: String,
    /// Names that the server is known by, beside addresses and `localhost`.
    pub hosts: Vec<String>,
    /// Whether grammars are sent to engines that take them.
    pub grammars: bool,
    /// Whether requests are answered though no answer can be held to what they ask.
    pub best_effort: bool,
    /// What becomes of calls of tools that a request does not offer.
    pub unknown_tools: UnknownTools,
    /// What is too much, and too long.
    pub limits: Limits,
    /// A file to which outputs are appended.
    pub record: Option<PathBuf>,
    /// Who is told all that happens to answers.
    pub explain: Option<Arc<dyn Explain>>,
    /// Where people are told something.
    pub tell: Tell,
}

/// What is too much, and too long.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// So many bytes may a request have.
    pub body: usize,
    /// So many answers are given at once.
    pub requests: usize,
    /// So many requests are made ready at once: read, rendered, and given a grammar. Of large ones, and of grammars that are not known, it is an
    /// eighth of that.
    pub work: usize,
    /// So many bytes may requests and answers hold at once, each beyond its first 64 KiB.
    pub held: usize,
    /// In this time the headers of a request have to come in, and a client has to take what it is sent.
    pub client_timeout: Duration,
    /// In this time a request has to come in.
    pub to_come_in: Duration,
    /// So long may the upstream say nothing: first it reads the prompt, and others may come before.
    pub engine_timeout: Duration,
    /// So long may answers go on when the server is to end.
    pub to_end: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body: 32 << 20,
            requests: 1024,
            work: 16,
            held: 1 << 30,
            client_timeout: Duration::from_secs(30),
            to_come_in: Duration::from_secs(60),
            engine_timeout: Duration::from_secs(600),
            to_end: Duration::from_secs(30),
        }
    }
}

impl Config {
    /// A server on this machine alone, in front of the engine at an address, which tells what it is and what its model is.
    pub fn new(upstream: impl Into<String>) -> Config {
        Config {
            upstream: upstream.into(),
            engine: None,
            upstream_model: None,
            template: None,
            base: RenderInput::default(),
            listen: "127.0.0.1:8787".to_owned(),
            hosts: Vec::new(),
            grammars: true,
            best_effort: false,
            unknown_tools: UnknownTools::Keep,
            limits: Limits::default(),
            record: None,
            explain: None,
            tell: Arc::new(|line| eprintln!("{line}")),
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("upstream", &self.upstream)
            .field("engine", &self.engine.map(|engine| engine.name))
            .field("listen", &self.listen)
            .finish_non_exhaustive()
    }
}
