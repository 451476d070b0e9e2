//! `unjinja schema`: what editors complete and check files by.

use crate::printing;
use clap::ValueEnum;
use unjinja::ResponseTemplate;
use unjinja::check::Fixture;
use unjinja::format::Format;

use super::Failure;

/// Print a JSON Schema, with which editors complete and check what unjinja reads and writes
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  Into a file, and again whenever unjinja is updated:
    unjinja schema response-template > response-template.schema.json

  For response templates in VS Code, in its settings (.vscode/settings.json):
    \"json.schemas\": [{
      \"fileMatch\": [\"response_template*.json\"],
      \"url\": \"./response-template.schema.json\"
    }]

  For fixtures, as their first line:
    # yaml-language-server: $schema=fixture.schema.json

  Or for all of them, in the settings of VS Code, with its extension for YAML:
    \"yaml.schemas\": {\"./fixture.schema.json\": [\"*.fixture.yaml\", \"*.fixture.yml\"]}

A response template can't name its schema itself: `$schema` is not a key of the language, and is
refused. Hence the settings. The comment in fixtures works in all editors that use the YAML
language server; its path is relative to the file. In a JSON fixture, `$schema` does the same.

A schema can't check everything: for example, whether regular expressions are valid, whether their
groups are used, or whether files exist. Loading the file does.

Exit codes:
  0  the schema is printed
  2  wrong usage: no such schema")]
pub(crate) struct Args {
    /// What the schema describes
    #[arg(value_name = "WHAT")]
    what: What,
}

/// What there is a schema of.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum What {
    /// Response templates
    ResponseTemplate,
    /// Fixtures, in which response templates may stand
    Fixture,
    /// Formats, as `unjinja analyze --format json` writes them
    Format,
}

impl What {
    fn schema(self) -> &'static str {
        match self {
            What::ResponseTemplate => ResponseTemplate::JSON_SCHEMA,
            What::Fixture => Fixture::JSON_SCHEMA,
            What::Format => Format::JSON_SCHEMA,
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    printing::print(args.what.schema())
}
