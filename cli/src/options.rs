//! The options and commands of the program that errors of the library advise to use.

use unjinja::Remedy;

/// What the command line calls something that the message of an error advises to make use of.
pub fn option_name(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::Offline => "`--offline`",
        Remedy::HubFeature => "`--features hub`",
        Remedy::BosToken => "`--bos-token`",
        Remedy::EosToken => "`--eos-token`",
        Remedy::Variable => "`--var NAME=VALUE`",
        Remedy::Update => "`unjinja check --update`",
        Remedy::FirstFixture => "`unjinja new`",
        Remedy::Lint => "`unjinja lint`",
        Remedy::Loosen => "`--best-effort`",
    }
}
