//! What can go wrong while a chat template is loaded.

use std::io;
use std::time::Duration;

use thiserror::Error;

use crate::json;
use crate::position::Position;
use crate::remedy::Remedy;

use super::model_id::ModelId;

/// A chat template could not be loaded.
///
/// The message names the file and place, says what is wrong, and what can be done. It says all that
/// its cause would say, so that the error has no [`source`](std::error::Error::source) to be
/// printed below it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A name is neither a path that exists nor the id of a model.
    #[error(
        "{source_name}: there is no such file or folder, and it can't be a model on the hub, \
         because {not_a_model}: give a path that exists, or a model as `org/name`"
    )]
    NoSuchSource {
        /// The name.
        source_name: String,
        /// Why it can't be the id of a model.
        not_a_model: &'static str,
    },
    /// A file can't be read.
    #[error("{name}: {}", crate::files::refused(error))]
    Read {
        /// The file.
        name: String,
        /// What the system says.
        error: io::Error,
    },
    /// A file is too large to be what it should be.
    #[error(
        "{name}: the file is larger than {} MiB, and can't be a chat template or configuration: \
         give a template, a JSON file, a GGUF file, or the model's folder",
        limit >> 20
    )]
    TooLarge {
        /// The file.
        name: String,
        /// The largest size allowed, in bytes.
        limit: u64,
    },
    /// A file of text is not UTF-8.
    #[error("{name}: byte {offset} is not valid UTF-8: save the text as UTF-8")]
    NotUtf8 {
        /// The file.
        name: String,
        /// The first byte that is wrong, counted from 0.
        offset: u64,
    },
    /// A file is not JSON.
    #[error("{name}:{}:{}: this is not JSON: {}", error.line(), error.column(), error.kind())]
    NotJson {
        /// The file.
        name: String,
        /// What is wrong, and where.
        error: json::Error,
    },
    /// Something in a JSON file is not what it should be.
    #[error("{name}:{}:{}: {what}", position.line, position.column)]
    Malformed {
        /// The file.
        name: String,
        /// Where.
        position: Position,
        /// What is wrong, and what would be right.
        what: String,
    },
    /// There is nothing in a file.
    #[error(
        "{name}: the file is empty: give a chat template, such as the chat_template.jinja of a model"
    )]
    Empty {
        /// The file.
        name: String,
    },
    /// There is no chat template.
    #[error("{}", no_template(name, advice, *only_cached, Remedy::name))]
    NoTemplate {
        /// The file, folder or model.
        name: String,
        /// What was looked for, and what can be done.
        advice: String,
        /// Whether only the cache was looked at, though the hub may have more.
        only_cached: bool,
    },
    /// There are several templates, and none of them is the default.
    #[error(
        "{name}: there are several chat templates and none is called `default`: \
         ask for one of the variants {}",
        list(variants)
    )]
    ChooseVariant {
        /// The file, folder or model.
        name: String,
        /// The names of the templates.
        variants: Vec<String>,
    },
    /// There is no template of that name.
    #[error(
        "{name}: there is no variant `{variant}` of the chat template: {}",
        instead(variants)
    )]
    NoVariant {
        /// The file, folder or model.
        name: String,
        /// The name asked for.
        variant: String,
        /// The names of the templates; none if there is only one, without a name.
        variants: Vec<String>,
    },
    /// A GGUF file can't be read.
    #[error("{name}: byte {offset}: {fault}")]
    Gguf {
        /// The file.
        name: String,
        /// Where, in bytes from the start of the file.
        offset: u64,
        /// What is wrong.
        fault: GgufFault,
    },
    /// A model can't be had from the hub.
    #[error("{model}: {fault}")]
    Hub {
        /// The model.
        model: ModelId,
        /// What is wrong.
        fault: HubFault,
    },
}

impl LoadError {
    /// The message, with names of the caller for what it advises to make use of.
    pub fn explain(&self, words: impl Fn(Remedy) -> &'static str) -> String {
        match self {
            Self::NoTemplate {
                name,
                advice,
                only_cached,
            } => no_template(name, advice, *only_cached, words),
            Self::Hub { model, fault } => format!("{model}: {}", fault.explain(words)),
            other => other.to_string(),
        }
    }
}

/// What is wrong with a GGUF file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GgufFault {
    /// The file does not begin as GGUF files do.
    #[error("this is not a GGUF file, which begins with `GGUF`: check that it is complete")]
    NotGguf,
    /// Version 1, which nobody writes any more.
    #[error("this is GGUF version 1, which is too old: convert the model again")]
    TooOld,
    /// A version that is not known.
    #[error("this is GGUF version {0}, and only 2 and 3 can be read: look for a newer unjinja")]
    UnknownVersion(u32),
    /// The file ends before what it says it holds.
    #[error("{needed} bytes should follow, but only {left} do: the file is cut short or damaged")]
    CutShort {
        /// How many bytes should follow.
        needed: u64,
        /// How many do.
        left: u64,
    },
    /// A number of entries or a length that can't be right.
    #[error("{what} of {size} is more than the {limit} that are allowed: the file is damaged")]
    TooMuch {
        /// What it is the size of.
        what: &'static str,
        /// The size.
        size: u64,
        /// The largest allowed.
        limit: u64,
    },
    /// A type of value that is not known.
    #[error("there is no type of value {0}: the file is damaged, or newer than unjinja")]
    UnknownType(u32),
    /// A known key has a value of another type than it should.
    #[error("`{key}` should be {expected}: convert the model again")]
    WrongType {
        /// The key.
        key: String,
        /// What its value should be.
        expected: &'static str,
    },
    /// A text is not UTF-8.
    #[error("this is not valid UTF-8: the file is damaged")]
    NotUtf8,
    /// A file that can only be read from start to end.
    #[error("a GGUF file can't be read from a pipe: give the path of the file itself")]
    Pipe,
}

/// Why a model can't be had from the Hugging Face hub.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HubFault {
    /// unjinja was built without the hub.
    #[error("{}", no_feature(Remedy::name))]
    NoFeature,
    /// The model is not in the cache, and nothing else may be asked.
    #[error("{}", not_cached(cache, Remedy::name))]
    NotCached {
        /// The folder of the cache.
        cache: String,
    },
    /// There is no such model.
    #[error("{endpoint} has no such model: check the spelling")]
    NoModel {
        /// The hub that was asked.
        endpoint: String,
    },
    /// The model has no such revision.
    #[error(
        "{endpoint} has no revision `{revision}` of it: name a branch, tag or commit the model has"
    )]
    NoRevision {
        /// The hub that was asked.
        endpoint: String,
        /// The revision asked for.
        revision: String,
    },
    /// The hub wants to know who asks. It also does so for models that don't exist.
    #[error("{}", unauthorized(endpoint, *has_token))]
    Unauthorized {
        /// The hub that was asked.
        endpoint: String,
        /// Whether a token was sent.
        has_token: bool,
    },
    /// The hub knows who asks, but does not hand out the model.
    #[error(
        "{endpoint} does not let you have it: accept the model's conditions on its page, \
         and make sure that HF_TOKEN may read it"
    )]
    Forbidden {
        /// The hub that was asked.
        endpoint: String,
    },
    /// The hub was asked too often.
    #[error("{endpoint} was asked too often: try again later, or set HF_TOKEN")]
    RateLimited {
        /// The hub that was asked.
        endpoint: String,
    },
    /// The hub can't be reached.
    #[error("{}", no_connection(endpoint, cause, Remedy::name))]
    NoConnection {
        /// The hub.
        endpoint: String,
        /// What the system says.
        cause: String,
    },
    /// The hub does not answer.
    #[error("{endpoint} has not answered for {} seconds: try again later", after.as_secs())]
    NoAnswer {
        /// The hub.
        endpoint: String,
        /// How long nothing came.
        after: Duration,
    },
    /// Anything else.
    #[error("{endpoint}: {cause}: try again, or download the model and give its folder")]
    Other {
        /// The hub.
        endpoint: String,
        /// What went wrong.
        cause: String,
    },
}

impl HubFault {
    /// The message, with names of the caller for what it advises to make use of.
    pub fn explain(&self, words: impl Fn(Remedy) -> &'static str) -> String {
        match self {
            Self::NoFeature => no_feature(words),
            Self::NotCached { cache } => not_cached(cache, words),
            Self::NoConnection { endpoint, cause } => no_connection(endpoint, cause, words),
            other => other.to_string(),
        }
    }

    /// Whether the hub could not be asked, so that what the cache holds is the best there is.
    #[cfg(feature = "hub")]
    pub(super) fn is_outage(&self) -> bool {
        matches!(
            self,
            Self::NoConnection { .. } | Self::NoAnswer { .. } | Self::RateLimited { .. }
        )
    }
}

fn no_template(
    name: &str,
    advice: &str,
    only_cached: bool,
    words: impl Fn(Remedy) -> &'static str,
) -> String {
    let mut message = format!("{name}: there is no chat template in it: {advice}");
    if only_cached {
        message += &format!(
            "; only the cache was searched, so try again without {} or HF_HUB_OFFLINE",
            words(Remedy::Offline)
        );
    }
    message
}

fn no_feature(words: impl Fn(Remedy) -> &'static str) -> String {
    format!(
        "this unjinja was built without the `hub` feature and can't fetch models: build it with \
         {}, or download the model and give its folder",
        words(Remedy::HubFeature)
    )
}

fn not_cached(cache: &str, words: impl Fn(Remedy) -> &'static str) -> String {
    format!(
        "the model is not in the cache {cache}, and unjinja is offline: \
         load it once without {} or HF_HUB_OFFLINE",
        words(Remedy::Offline)
    )
}

fn no_connection(endpoint: &str, cause: &str, words: impl Fn(Remedy) -> &'static str) -> String {
    format!(
        "{endpoint} can't be reached ({cause}): check the network, HF_ENDPOINT and the proxy, \
         or use {} with a model that was loaded before",
        words(Remedy::Offline)
    )
}

fn unauthorized(endpoint: &str, has_token: bool) -> String {
    if has_token {
        format!(
            "{endpoint} does not accept the token: make sure that HF_TOKEN is right and not expired"
        )
    } else {
        format!(
            "{endpoint} has no such model, or it is a private one: check the spelling, \
             or set HF_TOKEN to a token that may read it"
        )
    }
}

/// `a`, `b` and `c`
fn list(names: &[String]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

fn instead(variants: &[String]) -> String {
    match variants {
        [] => "there is only one template, and it has no name; leave the variant out".to_owned(),
        [only] => format!("there is only `{only}`"),
        _ => format!("there are {}", list(variants)),
    }
}
