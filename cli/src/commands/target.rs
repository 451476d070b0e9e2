//! `--for`: whom a response template is for.

use std::str::FromStr;

use unjinja::profile::{Profile, Target, UnknownTarget};

/// Whom a response template is for.
#[derive(Debug, clap::Args)]
pub(crate) struct TargetArgs {
    /// Target packages, separated by commas: transformers, vllm, sglang or trl, each with a version if it
    /// matters, as in transformers@5.15; or all
    #[arg(long = "for", value_name = "PROFILE", value_delimiter = ',')]
    targets: Vec<Asked>,
}

/// What one word of `--for` stands for.
#[derive(Debug, Clone)]
struct Asked(Vec<Target>);

impl FromStr for Asked {
    type Err = String;

    fn from_str(text: &str) -> Result<Asked, String> {
        match text {
            "all" => Ok(Asked(Target::all())),
            name => one(name).map(|target| Asked(vec![target])),
        }
    }
}

/// A single target.
pub(crate) fn one(text: &str) -> Result<Target, String> {
    text.parse()
        .map_err(|error: UnknownTarget| format!("{error} (`unjinja port --list` lists them all)"))
}

impl TargetArgs {
    /// Each once, in the order in which they were asked for.
    pub(crate) fn targets(&self) -> Vec<Target> {
        let mut targets = Vec::new();
        for target in self.targets.iter().flat_map(|asked| &asked.0) {
            if !targets.contains(target) {
                targets.push(*target);
            }
        }
        targets
    }
}

/// What is known of some profiles, or of all, for people.
pub(crate) fn list() -> String {
    let profiles: Vec<String> = Profile::all().iter().map(ToString::to_string).collect();
    profiles.join("\n")
}
