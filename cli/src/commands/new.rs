//! `unjinja new`: a first fixture for a chat template.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::options::option_name;
use crate::printing;
use unjinja::chat_template::{ChatTemplate, Source};
use unjinja::check::{FirstFixture, is_fixture};
use unjinja::derive::{Derivation, DeriveOptions, derive};

use super::output::{self, Output};
use super::source::SourceArgs;
use super::{Failure, input};

/// Write a first fixture for a chat template, ready to edit
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  A fixture with the response template in it, NAME.fixture.yaml in the current folder:
    unjinja new chat_template.jinja
    unjinja check

  For the response template that a model already has, which stays where it is:
    unjinja new model/ --response-template model/tokenizer_config.json -o model.fixture.yaml

  A fixture that derives the response template anew at every check:
    unjinja new chat_template.jinja --derive

The chat template renders conversations, and each becomes a case: what the model would write,
and the message that it means. Conversations with the same text share a case, which names them.
Other cases hold the prompts that the chat template writes, so that a change of it shows; `-o -`
leaves them out unless `--derive` is given, since a fixture names the chat template by its path.
Where the response template does not recover what was said, the case expects what was said, so
that it fails and shows what to fix; with `--as-is`, it expects what comes out.

Exit codes:
  0  the fixture is written
  2  nothing can be derived from the chat template, or the file already exists")]
pub(crate) struct Args {
    #[command(flatten)]
    source: SourceArgs,

    /// The file to write (`-` is standard output); as JSON if its name ends in .json
    /// [default: NAME.fixture.yaml]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Check the response template in this file instead of the derived one
    #[arg(long, value_name = "FILE", conflicts_with = "derive")]
    response_template: Option<PathBuf>,

    /// Name the chat template instead of a response template, which is then derived at every check
    #[arg(long)]
    derive: bool,

    /// Expect what comes out, even where it is not what was said
    #[arg(long)]
    as_is: bool,

    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let place = match &args.output {
        Some(path) => path.clone(),
        None => PathBuf::from(format!("{}.fixture.yaml", stem(&args.source.source))),
    };
    let output = args.output_of();
    output.check(&place)?;
    let template = args.source.load()?;
    let mut options = DeriveOptions::default();
    options.base = args.source.options.base();
    let derivation = derive(&template, &options)
        .map_err(|error| error.explain(option_name))
        .map_err(|error| Failure::Input(format!("{}: {error}", template.name)))?;
    let fixture = fixture(args, &derivation, &place)?;
    let fixture = args.with_prompts(fixture, (&template, &derivation), &place)?;
    let fixture = match args.as_is {
        true => fixture.as_is(),
        false => fixture,
    };
    let comment = format!(
        "Made by `unjinja new` from {}. Check it with `unjinja check`.",
        template.name
    );
    let text = fixture.to_text(&place, &comment);
    output.write(&place, &text)?;
    if output::is_stdout(&place) {
        return Ok(());
    }
    let is_found = is_fixture(&place);
    let (cases, place) = (fixture.cases.len(), place.display());
    printing::tell(format_args!(
        "{place}: {cases} cases; run `unjinja check {place}`\n"
    ));
    if !is_found {
        printing::tell(format_args!(
            "warning: `unjinja check` finds fixtures in a folder only if their names end in \
             .fixture.yaml or .fixture.json\n"
        ));
    }
    Ok(())
}

impl Args {
    /// The fixture, with the prompts that the chat template writes, if a fixture can name it.
    fn with_prompts(
        &self,
        mut fixture: FirstFixture,
        (template, derivation): (&ChatTemplate, &Derivation),
        place: &Path,
    ) -> Result<FirstFixture, Failure> {
        let options = &self.source.options;
        let source = Source::parse(&self.source.source);
        let (Ok(Source::Path(source)), None) = (source, options.beyond_fixtures()) else {
            return Ok(fixture);
        };
        // Nobody knows where the standard output goes, and so how the chat template is found from there.
        if output::is_stdout(place) && !self.derive {
            return Ok(fixture);
        }
        if !fixture.head.contains_key("derive") {
            fixture
                .head
                .insert("chat_template", relative(&source, place)?);
            if let Some(now) = options.now {
                fixture.head.insert("now", now.to_string());
            }
        }
        let fail = |error| Failure::Input(format!("{}: {error}", template.name));
        fixture
            .with_prompts(template, &options.base(), derivation)
            .map_err(fail)
    }

    /// How a file is written that is made of what is read.
    fn output_of(&self) -> Output {
        let mut output = Output::of_sources([self.source.source.as_str()], self.force);
        output.sources.extend(self.response_template.clone());
        output
    }
}

/// The fixture, with its response template as it was asked for.
fn fixture(args: &Args, derivation: &Derivation, place: &Path) -> Result<FirstFixture, Failure> {
    let Some(path) = &args.response_template else {
        let mut fixture = FirstFixture::new(derivation);
        if args.derive {
            let Ok(Source::Path(source)) = Source::parse(&args.source.source) else {
                return Err(Failure::Input(
                    "`--derive` needs a chat template in a file or a folder".into(),
                ));
            };
            if let Some(option) = args.source.options.beyond_fixtures() {
                return Err(Failure::Input(format!(
                    "`--derive` can't be combined with `{option}`, which a fixture has no key for: \
                     put it into a tokenizer_config.json beside the chat template"
                )));
            }
            fixture.head.remove("response_template");
            fixture.head.insert("derive", relative(&source, place)?);
            if let Some(now) = args.source.options.now {
                fixture.head.insert("now", now.to_string());
            }
        }
        return Ok(fixture);
    };
    let template = input::read_template(path)?;
    let mut fixture = FirstFixture::with_template(derivation, &template);
    fixture
        .head
        .insert("response_template", relative(path, place)?);
    Ok(fixture)
}

/// The name of what a source holds.
fn stem(source: &str) -> String {
    // A folder such as `.` has a name, too.
    let path = fs::canonicalize(source).unwrap_or_else(|_| PathBuf::from(source));
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    // The names of folders may have dots in them.
    let stem = name.map(|name| {
        let endings = [".jinja", ".json", ".gguf"];
        let stem = endings.iter().find_map(|ending| name.strip_suffix(ending));
        stem.map(str::to_owned).unwrap_or(name)
    });
    stem.filter(|stem| !stem.is_empty() && stem != "-")
        .unwrap_or_else(|| "first".into())
}

/// The path of a file as it is seen from the folder of another one.
fn relative(path: &Path, from: &Path) -> Result<String, Failure> {
    let absolute = |path: &Path| {
        std::path::absolute(path)
            .map_err(|error| Failure::Input(format!("{}: {error}", path.display())))
    };
    let (path, from) = (absolute(path)?, absolute(from)?);
    let folder = from.parent().unwrap_or(Path::new(""));
    let pairs = path.components().zip(folder.components());
    let shared = pairs.take_while(|(a, b)| a == b).count();
    let up = folder
        .components()
        .skip(shared)
        .map(|_| Component::ParentDir);
    let down = path.components().skip(shared);
    let relative: PathBuf = up.chain(down).collect();
    // Fixtures may be written on one system and checked on another.
    Ok(relative.to_string_lossy().replace('\\', "/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_reported_from_the_folder_of_the_fixture() {
        for (path, from, expected) in [
            ("a.json", "a.fixture.yaml", "a.json"),
            (
                "templates/a.jinja",
                "fixtures/deep/a.yaml",
                "../../templates/a.jinja",
            ),
            ("fixtures/a.json", "fixtures/a.yaml", "a.json"),
            ("a.json", "fixtures/a.yaml", "../a.json"),
        ] {
            assert_eq!(
                relative(Path::new(path), Path::new(from)).ok().as_deref(),
                Some(expected)
            );
        }
    }
}
