//! Folders as models are published, and as the hub's cache keeps them.

use std::path::{Path, PathBuf};

use super::config::Config;
use super::error::LoadError;
use super::extras::Extras;
use super::options::LoadOptions;
use super::template::ChatTemplate;
use super::text_file::{file_name, is_there, read_text};
use super::variant::Templates;

pub(super) const TEMPLATE: &str = "chat_template.jinja";
pub(super) const VARIANTS_FOLDER: &str = "additional_chat_templates";
pub(super) const TOKENIZER_CONFIG: &str = "tokenizer_config.json";
pub(super) const TOKENS_MAP: &str = "special_tokens_map.json";
pub(super) const TOKENIZER: &str = "tokenizer.json";

/// JSON files that may hold templates. The first that does counts.
const CONFIGS: [&str; 3] = [
    "chat_template.json",
    TOKENIZER_CONFIG,
    "processor_config.json",
];

/// All the files that may hold templates. The first that does counts.
pub(super) const TEMPLATE_FILES: [&str; 4] = [TEMPLATE, CONFIGS[0], CONFIGS[1], CONFIGS[2]];

/// Loads all templates of a folder, of which the first is the one to be used, then its variants, then
/// those of files that are not looked at because another comes first. Messages about a template call
/// it by the file it stands in, unless the folder is `called` something.
pub(super) fn load(
    folder: &Path,
    called: Option<&str>,
    options: &LoadOptions<'_>,
) -> Result<Vec<ChatTemplate>, LoadError> {
    // So that a folder that can't be read is not just one without templates.
    let entries = list(folder)?;

    let mut extras = Extras::default();
    let mut templates = read_templates(folder)?;
    let mut passed_over = Vec::new();
    for file in CONFIGS {
        let config = Config::read_if_there(&folder.join(file));
        if !templates.is_empty() {
            // What is wrong with those that nobody needs is no reason to do nothing.
            let config = config.ok().flatten();
            passed_over.extend(config.and_then(|config| config.templates().ok()));
        } else if let Some(config) = config? {
            templates = config.templates()?;
            if !templates.is_empty() {
                extras.take_readers(&config);
            }
        }
    }

    let place = called.map_or_else(|| folder.display().to_string(), str::to_owned);
    let variant = options.variant.as_deref();
    let mut all = templates.choose(variant, &place, || nothing_here(&entries))?;
    // Those among which none is the default have yet to be asked for by their names.
    for templates in passed_over {
        all.extend(
            templates
                .choose(None, &place, String::new)
                .unwrap_or_default(),
        );
    }
    take_extras(&mut extras, folder)?;
    let all = all.into_iter().map(|chosen| {
        let name = match called {
            Some(name) => name.to_owned(),
            None => folder.join(&chosen.origin).display().to_string(),
        };
        extras.clone().with(name, chosen)
    });
    Ok(all.collect())
}

/// The templates, each text once.
pub(super) fn without_repeats(all: impl IntoIterator<Item = ChatTemplate>) -> Vec<ChatTemplate> {
    let mut distinct: Vec<ChatTemplate> = Vec::new();
    for template in all {
        if distinct.iter().all(|other| other.jinja != template.jinja) {
            distinct.push(template);
        }
    }
    distinct
}

/// The files of a folder that a template and what belongs to it may be loaded from, if they are there.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let named = TEMPLATE_FILES.into_iter().chain([TOKENS_MAP, TOKENIZER]);
    let named = named.map(|file| folder.join(file));
    let variants = list(&folder.join(VARIANTS_FOLDER)).unwrap_or_default();
    named
        .chain(variants)
        .filter(|path| path.is_file())
        .collect()
}

/// Takes tokens and response template from the configuration beside a file, if there is one.
pub(super) fn take_beside(extras: &mut Extras, path: Option<&Path>) -> Result<(), LoadError> {
    let Some(mut folder) = path.and_then(Path::parent) else {
        return Ok(());
    };
    if folder.ends_with(VARIANTS_FOLDER)
        && let Some(outer) = folder.parent()
    {
        folder = outer;
    }
    if is_there(&folder.join(TOKENIZER_CONFIG)) {
        take_extras(extras, folder)?;
    }
    Ok(())
}

/// Takes tokens and response template from the files in a folder.
pub(super) fn take_extras(extras: &mut Extras, folder: &Path) -> Result<(), LoadError> {
    take_small_extras(extras, folder)?;
    let tokenizer = folder.join(TOKENIZER);
    if extras.lacks_list() && is_there(&tokenizer) {
        extras.take_added_tokens(&tokenizer)?;
    }
    Ok(())
}

fn take_small_extras(extras: &mut Extras, folder: &Path) -> Result<(), LoadError> {
    if let Some(config) = Config::read_if_there(&folder.join(TOKENIZER_CONFIG))? {
        extras.take(&config)?;
    }
    if extras.lacks_tokens()
        && let Some(map) = Config::read_if_there(&folder.join(TOKENS_MAP))?
    {
        extras.take_tokens(&map)?;
    }
    Ok(())
}

/// Whether the special tokens in a folder are listed in `tokenizer.json` only, if at all.
#[cfg(feature = "hub")]
pub(super) fn needs_tokenizer(folder: &Path) -> Result<bool, LoadError> {
    let mut extras = Extras::default();
    take_small_extras(&mut extras, folder)?;
    Ok(extras.lacks_list())
}

/// Reads the templates that are files of their own.
fn read_templates(folder: &Path) -> Result<Templates, LoadError> {
    let mut templates = Templates::default();
    let main = folder.join(TEMPLATE);
    if is_there(&main) {
        templates.add(None, read_text(&main)?, TEMPLATE.to_owned());
    }
    let variants = folder.join(VARIANTS_FOLDER);
    if !variants.is_dir() {
        return Ok(templates);
    }
    for path in list(&variants)? {
        let file = file_name(&path);
        if let Some(name) = file.strip_suffix(".jinja")
            && path.is_file()
        {
            let origin = format!("{VARIANTS_FOLDER}/{file}");
            templates.add(Some(name.to_owned()), read_text(&path)?, origin);
        }
    }
    Ok(templates)
}

/// The paths in a folder, in the order of their names.
fn list(folder: &Path) -> Result<Vec<PathBuf>, LoadError> {
    let read = || {
        let entries = folder.read_dir()?.map(|entry| Ok(entry?.path()));
        entries.collect::<std::io::Result<Vec<_>>>()
    };
    let mut paths = read().map_err(|error| LoadError::Read {
        name: folder.display().to_string(),
        error,
    })?;
    paths.sort_unstable();
    Ok(paths)
}

/// What to do about a folder without a template.
fn nothing_here(entries: &[PathBuf]) -> String {
    let is_gguf = |path: &&PathBuf| {
        path.extension()
            .is_some_and(|extension| extension == "gguf")
    };
    let hint = match entries.iter().find(is_gguf) {
        Some(model) => format!(
            "but there is {}, which may have one: give that",
            file_name(model)
        ),
        None => "take it from the folder of the instruct or chat version of the model".to_owned(),
    };
    format!("none of {} has one; {hint}", TEMPLATE_FILES.join(", "))
}
