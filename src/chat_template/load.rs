//! Loading from any source: which kind it is, and one file of text by itself.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::json::without_byte_order_mark;

use super::config::Config;
use super::error::LoadError;
use super::extras::Extras;
use super::options::LoadOptions;
use super::source::Source;
use super::template::ChatTemplate;
use super::text_file::{MAX_TEXT, file_name, read_limited, too_large};
use super::variant::Templates;
use super::{folder, gguf};

impl ChatTemplate {
    /// Loads a template from a file, a folder, a model on the hub, or standard input.
    ///
    /// - A file of text is a template by itself. The tokens come from a `tokenizer_config.json`
    ///   beside it, if there is one.
    /// - A JSON file holds the template under `chat_template`, as `tokenizer_config.json`,
    ///   `processor_config.json` and `chat_template.json` do.
    /// - A GGUF file has it in its metadata; the weights are never read, however large. Tokens that it does
    ///   not name come from beside it, too.
    /// - A folder holds some of these files, as models are published.
    /// - A model on the hub is such a folder, of which only the small files are fetched.
    ///
    /// ```
    /// use unjinja::chat_template::{ChatTemplate, LoadOptions, Source};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("tokenizer_config.json");
    /// std::fs::write(&path, r#"{"chat_template": [
    ///     {"name": "default", "template": "a"},
    ///     {"name": "tool_use", "template": "b"}
    /// ]}"#)?;
    ///
    /// let options = LoadOptions::default().variant("tool_use");
    /// let template = ChatTemplate::load(&Source::Path(path), &options)?;
    /// assert_eq!(template.jinja, "b");
    /// assert_eq!(template.variants, ["default", "tool_use"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the source can't be read, is not what it should be, holds no template, or holds several
    /// of which none is `default` and none was asked for. The error says where, why, and what can
    /// be done.
    pub fn load(source: &Source, options: &LoadOptions<'_>) -> Result<Self, LoadError> {
        // There is one at least: else there would be an error.
        Ok(load_source(source, options)?.swap_remove(0))
    }

    /// Loads all templates that a model has in the place where [`load`](Self::load) finds one, each
    /// text once.
    ///
    /// First comes the one that `load` gives; then its other variants; then those of files that are
    /// passed over because another comes first, as the template in a `tokenizer_config.json` is where
    /// there is a `chat_template.jinja`.
    ///
    /// ```
    /// use unjinja::chat_template::{ChatTemplate, LoadOptions, Source};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// std::fs::write(folder.join("chat_template.jinja"), "a")?;
    /// std::fs::write(folder.join("tokenizer_config.json"), r#"{"chat_template": "b"}"#)?;
    ///
    /// let source = Source::Path(folder.to_owned());
    /// let all = ChatTemplate::load_all(&source, &LoadOptions::default())?;
    /// let texts: Vec<&str> = all.iter().map(|template| template.jinja.as_str()).collect();
    /// assert_eq!(texts, ["a", "b"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`load`](Self::load).
    pub fn load_all(source: &Source, options: &LoadOptions<'_>) -> Result<Vec<Self>, LoadError> {
        let mut all = load_source(source, options)?;
        if let Source::Path(path) = source
            && !path.is_dir()
        {
            all.extend(beside_in_model(path, options));
        }
        Ok(folder::without_repeats(all))
    }

    /// Reads all templates that a file has whose content is at hand: a template, JSON that holds one, or a GGUF
    /// file, of which only the head is read. Nothing is taken from beside it, so this also works where there
    /// are no files. `name` is what errors and origins call it.
    ///
    /// ```
    /// use std::io::Cursor;
    ///
    /// use unjinja::chat_template::{ChatTemplate, LoadOptions};
    ///
    /// let content = Cursor::new(r#"{"chat_template": "a", "eos_token": "<end>"}"#);
    /// let name = "tokenizer_config.json";
    /// let all = ChatTemplate::read_all(name, content, &LoadOptions::default())?;
    /// assert_eq!(all[0].jinja, "a");
    /// assert_eq!(all[0].eos_token.as_deref(), Some("<end>"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`load`](Self::load).
    pub fn read_all(
        name: &str,
        mut content: impl Read + Seek,
        options: &LoadOptions<'_>,
    ) -> Result<Vec<Self>, LoadError> {
        let fail = |error| LoadError::Read {
            name: name.to_owned(),
            error,
        };
        let mut start = Vec::new();
        let magic = gguf::MAGIC.len() as u64;
        content
            .by_ref()
            .take(magic)
            .read_to_end(&mut start)
            .map_err(fail)?;
        let length = content.seek(SeekFrom::End(0)).map_err(fail)?;
        content.rewind().map_err(fail)?;
        if start == gguf::MAGIC {
            let (all, extras) = gguf::read(content, length, name, name, options)?;
            return Ok(folder::without_repeats(extras.with_all(name, all)));
        }
        let text = read_limited(name, content)?;
        let all = load_text(name.to_owned(), name.to_owned(), text, None, options)?;
        Ok(folder::without_repeats(all))
    }

    /// Loads the template that belongs to a response template in a file or folder: the one that the
    /// same file holds, or else the one of the folder that it stands in. Nothing if neither has one.
    ///
    /// # Errors
    ///
    /// As for [`load`](Self::load), but for there being no template.
    pub fn beside(path: &Path, options: &LoadOptions<'_>) -> Result<Option<Self>, LoadError> {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let places: &[&Path] = match path.is_dir() {
            true => &[path],
            false => &[path, folder],
        };
        for place in places {
            match Self::load(&Source::Path(place.to_path_buf()), options) {
                Err(LoadError::NoTemplate { .. }) => {}
                loaded => return loaded.map(Some),
            }
        }
        Ok(None)
    }
}

/// Loads what a source has, of which the first is the one to be used.
fn load_source(source: &Source, options: &LoadOptions<'_>) -> Result<Vec<ChatTemplate>, LoadError> {
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

impl Source {
    /// The files on this machine from which a template of this source may be loaded, with all that is taken
    /// from beside it: those that are there.
    ///
    /// ```
    /// use unjinja::chat_template::Source;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let [template, config] = ["chat_template.jinja", "tokenizer_config.json"];
    /// for file in [template, config, "weights.bin"] {
    ///     std::fs::write(folder.path().join(file), "{}")?;
    /// }
    /// let of_folder = Source::from(folder.path()).files();
    /// assert_eq!(of_folder, [template, config].map(|file| folder.path().join(file)));
    /// // The tokens come from the configuration beside it.
    /// let of_file = Source::from(folder.path().join(template)).files();
    /// assert_eq!(of_file, of_folder);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn files(&self) -> Vec<PathBuf> {
        let Self::Path(path) = self else {
            return Vec::new();
        };
        if path.is_dir() {
            return folder::files(path);
        }
        let mut files = vec![path.clone()];
        let folder = path.parent().unwrap_or(Path::new(""));
        files.extend(
            folder::files(folder)
                .into_iter()
                .filter(|file| file != path),
        );
        files
    }
}

fn load_file(path: &Path, options: &LoadOptions<'_>) -> Result<Vec<ChatTemplate>, LoadError> {
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

/// The templates of the model that a file belongs to, if its name is one that models give to such
/// files. Nobody has asked for them, so what is wrong with them is no reason to do nothing.
fn beside_in_model(path: &Path, options: &LoadOptions<'_>) -> Vec<ChatTemplate> {
    let Some(folder) = path.parent() else {
        return Vec::new();
    };
    let folder = match folder.ends_with(folder::VARIANTS_FOLDER) {
        true => folder.parent().unwrap_or(folder),
        false if folder::TEMPLATE_FILES.contains(&file_name(path).as_str()) => folder,
        false => return Vec::new(),
    };
    let folder = match folder == Path::new("") {
        true => Path::new("."),
        false => folder,
    };
    folder::load(folder, None, options).unwrap_or_default()
}

/// Loads from a text that is a template, or JSON that holds one.
fn load_text(
    name: String,
    origin: String,
    text: String,
    path: Option<&Path>,
    options: &LoadOptions<'_>,
) -> Result<Vec<ChatTemplate>, LoadError> {
    if text.trim().is_empty() {
        return Err(LoadError::Empty { name });
    }
    let variant = options.variant.as_deref();
    let mut extras = Extras::default();
    let is_json = path.is_some_and(|path| has_extension(path, "json"));
    let text = match parse_config(&name, &origin, text, is_json)? {
        Ok(config) => {
            let advice = || nothing_in_json(path);
            let all = config.templates()?.choose(variant, &name, advice)?;
            extras.take(&config)?;
            folder::take_beside(&mut extras, path)?;
            return Ok(extras.with_all(&name, all));
        }
        Err(text) => text,
    };
    let mut templates = Templates::default();
    templates.add(None, text, origin);
    let all = templates.choose(variant, &name, String::new)?;
    folder::take_beside(&mut extras, path)?;
    Ok(extras.with_all(&name, all))
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
    let inner = without_byte_order_mark(&text)
        .trim_start()
        .strip_prefix('{')
        .map(str::trim_start);
    if !inner.is_some_and(|inner| inner.starts_with('"'))
        || crate::json::read(without_byte_order_mark(&text)).is_err()
    {
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

fn has_extension(path: &Path, wanted: &str) -> bool {
    let extension = path.extension();
    extension.is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_stream(bytes: &[u8]) -> Result<Vec<ChatTemplate>, LoadError> {
        let text = read_limited("standard input", bytes)?;
        let name = || "standard input".to_owned();
        load_text(name(), name(), text, None, &LoadOptions::default())
    }

    #[test]
    fn streams_hold_templates_or_json() {
        for (text, jinja) in [
            ("{{ messages }}", "{{ messages }}"),
            (r#" { "chat_template": "x", "eos_token": "e" }"#, "x"),
            (r#"{"role": "{{ role }}"}"#, r#"{"role": "{{ role }}"}"#),
            (r#"{"role": {{ role }}}"#, r#"{"role": {{ role }}}"#),
        ] {
            let mut all = load_stream(text.as_bytes()).expect(text);
            assert_eq!(all.len(), 1, "{text}");
            let template = all.remove(0);
            assert_eq!(template.jinja, jinja);
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
