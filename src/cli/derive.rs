//! `unjinja derive`: from a chat template to a response template.

use std::io::{self, Write};

use unjinja::{DeriveOptions, RenderInput, derive, json};

use super::Failure;
use super::source::SourceArgs;

/// Work out the response template of a chat template
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    source: SourceArgs,
    #[arg(long)]
    format: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let template = args.source.load()?;
    let mut options = DeriveOptions::default();
    options.base = RenderInput {
        now: args.source.now,
        ..RenderInput::default()
    };
    let derivation = derive(&template, &options).map_err(|e| Failure::Input(e.to_string()))?;
    let mut text = String::new();
    json::write_into(&mut text, &derivation.template, &json::Style::pretty(2));
    text.push('\n');
    io::stdout()
        .lock()
        .write_all(text.as_bytes())
        .map_err(Failure::printing)?;
    for row in &derivation.proof {
        if let Some(wrong) = &row.wrong {
            eprintln!(
                "WRONG {}: {wrong}\n   prefix …{:?}\n   output {:?}",
                row.name,
                row.prefix
                    .chars()
                    .rev()
                    .take(60)
                    .collect::<Vec<_>>()
                    .into_iter()
                    .rev()
                    .collect::<String>(),
                row.output
            );
        }
    }
    for (name, why) in &derivation.refused {
        eprintln!("refused {name}: {why}");
    }
    for (how, ok, n) in &derivation.damage {
        eprintln!("damage {ok}/{n} {how}");
    }
    eprintln!("drafts {}", derivation.drafts);
    Ok(())
}
