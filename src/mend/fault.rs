//! The faults that can be mended.

use std::fmt;
use std::str::FromStr;

/// A fault of a chat template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// What was rendered of a conversation is written otherwise once a tool has answered.
    Results,
    /// What was rendered of a conversation is written otherwise once the user goes on: thoughts are left out, or an
    /// empty place for them.
    Questions,
    /// The arguments of calls, or the definitions of tools, are encoded twice: they stand as a string within JSON.
    Json,
    /// The arguments of calls are refused, or written otherwise, when they are given as a text of JSON rather than as an
    /// object, or the other way round: often they are encoded twice.
    Arguments,
    /// A message without content is refused, or `None` is written in its place, when that is null or absent rather
    /// than an empty text.
    Content,
    /// The prompt is another one each minute or second, so nothing that was cached counts.
    Dates,
    /// Nothing in the template says what of a conversation the model writes.
    Generation,
}

impl Fault {
    /// All of them, in the order in which they are mended.
    pub const ALL: [Fault; 7] = [
        Fault::Results,
        Fault::Questions,
        Fault::Json,
        Fault::Arguments,
        Fault::Content,
        Fault::Dates,
        Fault::Generation,
    ];

    /// A name for programs.
    pub fn key(self) -> &'static str {
        match self {
            Fault::Results => "results",
            Fault::Questions => "questions",
            Fault::Json => "json",
            Fault::Arguments => "arguments",
            Fault::Content => "content",
            Fault::Dates => "dates",
            Fault::Generation => "generation",
        }
    }

    /// The faults that a name stands for: that of one, or `prefix` for [`Results`](Fault::Results) and
    /// [`Questions`](Fault::Questions).
    ///
    /// # Errors
    ///
    /// If nothing has this name.
    pub fn named(name: &str) -> Result<Vec<Fault>, UnknownFault> {
        match name {
            "prefix" => Ok(vec![Fault::Results, Fault::Questions]),
            name => Ok(vec![name.parse()?]),
        }
    }
}

/// Its [`key`](Self::key).
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

impl FromStr for Fault {
    type Err = UnknownFault;

    fn from_str(name: &str) -> Result<Fault, UnknownFault> {
        let known = Fault::ALL.into_iter().find(|fault| fault.key() == name);
        known.ok_or_else(|| UnknownFault(name.to_owned()))
    }
}

/// A name that no fault has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownFault(String);

impl fmt::Display for UnknownFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Fault::ALL.map(Fault::key).join(", ");
        let name = &self.0;
        write!(f, "there is no fault `{name}`: known are prefix, {known}")
    }
}

impl std::error::Error for UnknownFault {}
