//! What messages advise to make use of.

use std::fmt;

/// Something that the message of an error advises to make use of.
///
/// Each program has its own name for it: in the library it is a field or a function, on a command
/// line it is an option. Errors print with the names of the library. Those that know a remedy have
/// a method `explain`, which makes the same message with the names of the caller.
///
/// ```
/// use unjinja::chat_template::HubFault;
/// use unjinja::Remedy;
///
/// let fault = HubFault::NotCached { cache: "models".into() };
/// assert!(fault.to_string().ends_with("load it once without `offline` or HF_HUB_OFFLINE"));
///
/// let message = fault.explain(|remedy| match remedy {
///     Remedy::Offline => "the box `Work offline`",
///     other => other.name(),
/// });
/// assert!(message.ends_with("load it once without the box `Work offline` or HF_HUB_OFFLINE"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Remedy {
    /// To be offline, or not to be: [`LoadOptions::offline`](crate::chat_template::LoadOptions::offline).
    Offline,
    /// The feature of the library that models are fetched with.
    HubFeature,
    /// [`ChatTemplate::bos_token`](crate::chat_template::ChatTemplate::bos_token).
    BosToken,
    /// [`ChatTemplate::eos_token`](crate::chat_template::ChatTemplate::eos_token).
    EosToken,
    /// Further variables of the template:
    /// [`RenderInput::variables`](crate::chat_template::RenderInput::variables).
    Variable,
    /// To make what comes out the expectation of fixtures.
    Update,
    /// To begin with a first fixture: `check::FirstFixture`, with the feature `check`.
    FirstFixture,
    /// To look at a response template: [`lint`](crate::lint::lint()).
    Lint,
    /// To allow any value in place of a schema that is beyond a limit: `grammar::Request::beyond`, with the feature `grammar`.
    Loosen,
}

impl Remedy {
    /// The name in the library.
    pub fn name(self) -> &'static str {
        match self {
            Self::Offline => "`offline`",
            Self::HubFeature => "the feature `hub`",
            Self::BosToken => "`bos_token`",
            Self::EosToken => "`eos_token`",
            Self::Variable => "`variables`",
            Self::Update => "`update`",
            Self::FirstFixture => "`check::FirstFixture`",
            Self::Lint => "`lint::lint`",
            Self::Loosen => "`Beyond::Loosen`",
        }
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
