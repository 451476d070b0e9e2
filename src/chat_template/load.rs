//! Loading from one file or standard input, and telling the kinds of sources apart.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::files::{ReadFault, read_all};

use super::ChatTemplate;
use super::config::{Config, Extras};
use super::error::LoadError;
use super::settings::HubSettings;
use super::source::Source;
use super::variant::Templates;
use super::{folder, gguf};

/// Texts may be this large. The largest files that are read, those of tokenizers, have half of it.
pub(super) const MAX_TEXT: u64 = 64 << 20;

/// How to load a chat template.
///
/// ```
/// use unjinja::{HubSettings, LoadOptions};
///
/// let mut options = LoadOptions::default();
/// options.variant = Some("tool_use".into());
/// options.offline = true;
/// options.hub = Some(HubSettings::new("/tmp/models"));
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct LoadOptions<'a> {
    /// The variant to load, where there are several templates. Without it, it is the one called
    /// `default`, or the only one there is.
    pub variant: Option<String>,
    /// Never to ask the hub, only to look in its cache.
    pub offline: bool,
    /// How to ask the hub. `None` means [`HubSettings::from_env`], which is looked at only if the
    /// source is a model on the hub.
    pub hub: Option<HubSettings>,
    /// Is called with a line for people whenever something is fetched, such as
    /// `org/name: fetching tokenizer_config.json (9 kB)`.
    pub on_progress: Option<&'a dyn Fn(&str)>,
}

impl fmt::Debug for LoadOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadOptions")
            .field("variant", &self.variant)
            .field("offline", &self.offline)
            .field("hub", &self.hub)
            .field("on_progress", &self.on_progress.map(|_| "…"))
            .finish()
    }
}

pub(super) fn load(source: &Source, options: &LoadOptions<'_>) -> Result<ChatTemplate, LoadError> {
    match source {
        Source::Stdin => {
            let name = "standard input";
            let text = read_limited(name, io::stdin().lock())?;
            load_text(name.to_owned(), name.to_owned(), text, None, options)
        }
        Source::Path(path) if path.is_dir() => folder::load(path, None, options),
        Source::Path(path) => load_file(path, options),
        #[cfg(feature = "hub")]
        Source::Hub(model) => super::hub::load(model, options),
        #[cfg(not(feature = "hub"))]
        Source::Hub(model) => Err(LoadError::Hub {
            model: model.clone(),
            fault: super::error::HubFault::NoFeature,
        }),
    }
}

fn load_file(path: &Path, options: &LoadOptions<'_>) -> Result<ChatTemplate, LoadError> {
    let name = path.display().to_string();
    let fail = |error| LoadError::Read {
        name: name.clone(),
        error,
    };
    let mut file = File::open(path).map_err(fail)?;
    let metadata = file.metadata().map_err(fail)?;

    // The first bytes say more than the name does. They may not be read twice from a pipe.
    let mut start = Vec::new();
    let magic = gguf::MAGIC.len() as u64;
    file.by_ref()
        .take(magic)
        .read_to_end(&mut start)
        .map_err(fail)?;
    if start == gguf::MAGIC || has_extension(path, "gguf") {
        return gguf::load(file, &metadata, path, options);
    }
    if metadata.len() > MAX_TEXT {
        return Err(too_large(&name));
    }
    let text = read_limited(&name, start.as_slice().chain(file))?;
    load_text(name, file_name(path), text, Some(path), options)
}

/// Loads from a text that is a template, or JSON that holds one.
fn load_text(
    name: String,
    origin: String,
    text: String,
    path: Option<&Path>,
    options: &LoadOptions<'_>,
) -> Result<ChatTemplate, LoadError> {
    let variant = options.variant.as_deref();
    let mut extras = Extras::default();
    let is_json = path.is_some_and(|path| has_extension(path, "json"));
    let text = match parse_config(&name, &origin, text, is_json)? {
        Ok(config) => {
            let nothing = || nothing_in_json(path);
            let chosen = config.templates()?.choose(variant, &name, nothing)?;
            extras.take(&config)?;
            take_neighbours(&mut extras, path)?;
            return Ok(extras.with(name, chosen));
        }
        Err(text) => text,
    };
    let mut templates = Templates::default();
    templates.add(None, text, origin);
    let chosen = templates.choose(variant, &name, String::new)?;
    take_neighbours(&mut extras, path)?;
    Ok(extras.with(name, chosen))
}

/// Reads JSON, or gives the text back if it is not meant to be JSON.
///
/// What has no name that says so is JSON if it is an object with a template: templates can begin
/// with a brace too.
fn parse_config(
    name: &str,
    origin: &str,
    text: String,
    is_json: bool,
) -> Result<Result<Config, String>, LoadError> {
    if is_json {
        return Config::parse(name.to_owned(), origin.to_owned(), text).map(Ok);
    }
    let inner = text.trim_start().strip_prefix('{').map(str::trim_start);
    if !inner.is_some_and(|inner| inner.starts_with('"')) || crate::json::read(&text).is_err() {
        return Ok(Err(text));
    }
    let config = Config::parse(name.to_owned(), origin.to_owned(), text)?;
    Ok(if config.has_template() {
        Ok(config)
    } else {
        Err(config.into_text())
    })
}

fn nothing_in_json(path: Option<&Path>) -> String {
    let beside = path.and_then(Path::parent).filter(|folder| {
        folder::TEMPLATE_FILES
            .iter()
            .any(|file| Some(folder.join(file).as_path()) != path && folder.join(file).is_file())
    });
    match beside {
        Some(folder) => format!(
            "it has no `chat_template`, but a file beside it may: give the folder {}",
            show_folder(folder)
        ),
        None => "it has no `chat_template`: give the model's tokenizer_config.json, its \
             chat_template.jinja, or its folder"
            .to_owned(),
    }
}

/// The parent of a file without a folder is written as nothing.
fn show_folder(folder: &Path) -> String {
    if folder.as_os_str().is_empty() {
        ".".to_owned()
    } else {
        folder.display().to_string()
    }
}

/// Takes what a `tokenizer_config.json` beside a file says, and what completes it.
fn take_neighbours(extras: &mut Extras, path: Option<&Path>) -> Result<(), LoadError> {
    let Some(mut folder) = path.and_then(Path::parent) else {
        return Ok(());
    };
    if folder.ends_with(folder::VARIANTS_FOLDER)
        && let Some(outer) = folder.parent()
    {
        folder = outer;
    }
    if folder.join(folder::TOKENIZER_CONFIG).is_file() {
        folder::take_extras(extras, folder)?;
    }
    Ok(())
}

/// The name of a file without its folders.
pub(super) fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    let extension = path.extension();
    extension.is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
}

/// Reads a whole file of text.
pub(super) fn read_text(path: &Path) -> Result<String, LoadError> {
    let name = path.display().to_string();
    let fail = |error| LoadError::Read {
        name: name.clone(),
        error,
    };
    let file = File::open(path).map_err(fail)?;
    if file.metadata().map_err(fail)?.len() > MAX_TEXT {
        return Err(too_large(&name));
    }
    read_limited(&name, file)
}

/// Reads all there is, which may be more than a file said it has.
fn read_limited(name: &str, source: impl Read) -> Result<String, LoadError> {
    let name = name.to_owned();
    read_all(source, MAX_TEXT).map_err(|fault| match fault {
        ReadFault::System(error) => LoadError::Read { name, error },
        ReadFault::TooLarge { limit } => LoadError::TooLarge { name, limit },
        ReadFault::NotUtf8 { position } => LoadError::NotUtf8 {
            name,
            offset: position.offset as u64,
        },
    })
}

pub(super) fn too_large(name: &str) -> LoadError {
    LoadError::TooLarge {
        name: name.to_owned(),
        limit: MAX_TEXT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_stream(bytes: &[u8]) -> Result<ChatTemplate, LoadError> {
        let text = read_limited("standard input", bytes)?;
        let name = || "standard input".to_owned();
        load_text(name(), name(), text, None, &LoadOptions::default())
    }

    #[test]
    fn streams_hold_templates_or_json() {
        for (text, source) in [
            ("{{ messages }}", "{{ messages }}"),
            (r#" { "chat_template": "x", "eos_token": "e" }"#, "x"),
            (r#"{"role": "{{ role }}"}"#, r#"{"role": "{{ role }}"}"#),
            (r#"{"role": {{ role }}}"#, r#"{"role": {{ role }}}"#),
            ("", ""),
        ] {
            let template = load_stream(text.as_bytes()).expect(text);
            assert_eq!(template.source, source);
            assert_eq!(template.name, "standard input");
            assert_eq!(template.origins.template.as_deref(), Some("standard input"));
            assert_eq!((template.variant, template.variants), (None, vec![]));
        }
        let error = load_stream(b"ab\xff").expect_err("not UTF-8").to_string();
        assert_eq!(
            error,
            "standard input: byte 2 is not valid UTF-8: save the text as UTF-8"
        );
        let error = read_limited("standard input", io::repeat(b'x')).expect_err("endless");
        assert!(matches!(error, LoadError::TooLarge { .. }), "{error}");
    }
}
