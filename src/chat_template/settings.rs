//! How the Hugging Face hub is to be asked.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How to ask the Hugging Face hub for models.
///
/// ```
/// use unjinja::chat_template::HubSettings;
///
/// let settings = HubSettings::from_env();
/// println!("models are kept in {}", settings.cache_dir.display());
///
/// // Nothing else of the environment is looked at, so these can be set at will.
/// let settings = HubSettings::new("/tmp/models").token("hf_…");
/// assert_eq!(settings.endpoint, "https://huggingface.co");
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HubSettings {
    /// The folder in which models are kept, in the layout Hugging Face's own tools use.
    pub cache_dir: PathBuf,
    /// The address of the hub.
    pub endpoint: String,
    /// What proves who asks. Private models need it.
    pub token: Option<String>,
    /// Never to ask the hub, only to look in the cache.
    pub offline: bool,
    /// How long to wait while nothing comes.
    pub timeout: Duration,
}

impl HubSettings {
    /// The hub everybody uses, without a token.
    pub fn new(cache_dir: impl Into<PathBuf>) -> Self {
        Self {
            cache_dir: cache_dir.into(),
            endpoint: "https://huggingface.co".to_owned(),
            token: None,
            offline: false,
            timeout: Duration::from_secs(30),
        }
    }

    /// Sets [`endpoint`](#structfield.endpoint).
    pub fn endpoint(mut self, address: impl Into<String>) -> Self {
        self.endpoint = address.into();
        self
    }

    /// Sets [`token`](#structfield.token).
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Sets [`offline`](#structfield.offline).
    pub fn offline(mut self, offline: bool) -> Self {
        self.offline = offline;
        self
    }

    /// Sets [`timeout`](#structfield.timeout).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The settings that the environment has, by the rules of Hugging Face's own tools:
    ///
    /// - The cache is in `HF_HUB_CACHE`, or in the folder `hub` of `HF_HOME`. That one is
    ///   `~/.cache/huggingface` unless set otherwise, or `$XDG_CACHE_HOME/huggingface`.
    /// - The address is `HF_ENDPOINT`.
    /// - The token is `HF_TOKEN`, or stands in the file `HF_TOKEN_PATH`, or in the file `token` of
    ///   `HF_HOME`, unless `HF_HUB_DISABLE_IMPLICIT_TOKEN` is on.
    /// - `HF_HUB_OFFLINE` and `TRANSFORMERS_OFFLINE` turn the network off.
    pub fn from_env() -> Self {
        let variable = |name: &str| env::var_os(name)?.into_string().ok();
        Self::from_variables(variable, env::home_dir().as_deref())
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>, home: Option<&Path>) -> Self {
        let text = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let path = |name: &str| text(name).map(|value| expand_home(&value, home));
        let is_on = |name: &str| text(name).is_some_and(|value| is_true(&value));

        let hf_home = path("HF_HOME").unwrap_or_else(|| {
            let cache = path("XDG_CACHE_HOME")
                .unwrap_or_else(|| home.unwrap_or_else(|| Path::new(".")).join(".cache"));
            cache.join("huggingface")
        });
        let cache_dir = path("HF_HUB_CACHE")
            .or_else(|| path("HUGGINGFACE_HUB_CACHE"))
            .unwrap_or_else(|| hf_home.join("hub"));

        let mut settings = Self::new(cache_dir);
        if let Some(endpoint) = text("HF_ENDPOINT") {
            settings.endpoint = endpoint.trim().trim_end_matches('/').to_owned();
        }
        if !is_on("HF_HUB_DISABLE_IMPLICIT_TOKEN") {
            let stored = path("HF_TOKEN_PATH").unwrap_or_else(|| hf_home.join("token"));
            settings.token = text("HF_TOKEN")
                .or_else(|| text("HUGGING_FACE_HUB_TOKEN"))
                .or_else(|| std::fs::read_to_string(stored).ok())
                .map(|token| token.trim().to_owned())
                .filter(|token| !token.is_empty());
        }
        settings.offline = is_on("HF_HUB_OFFLINE") || is_on("TRANSFORMERS_OFFLINE");
        settings
    }
}

/// Says whether there is a token, but not which.
impl fmt::Debug for HubSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubSettings")
            .field("cache_dir", &self.cache_dir)
            .field("endpoint", &self.endpoint)
            .field("token", &self.token.as_ref().map(|_| "…"))
            .field("offline", &self.offline)
            .field("timeout", &self.timeout)
            .finish()
    }
}

fn expand_home(value: &str, home: Option<&Path>) -> PathBuf {
    match (value.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(value),
    }
}

/// The words Hugging Face's tools take for yes.
fn is_true(value: &str) -> bool {
    ["1", "on", "yes", "true"]
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> HubSettings {
        let variable = |name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        HubSettings::from_variables(variable, Some(Path::new("/no-such-home")))
    }

    #[test]
    fn variables_mean_what_they_mean_to_hugging_face() {
        let plain = settings(&[]);
        assert_eq!(
            plain,
            HubSettings::new("/no-such-home/.cache/huggingface/hub")
        );

        for (variables, cache) in [
            (&[("HF_HOME", "/h")][..], "/h/hub"),
            (&[("HF_HOME", "~/h")], "/no-such-home/h/hub"),
            (&[("HF_HOME", "~")], "/no-such-home/hub"),
            (&[("HF_HOME", "")], "/no-such-home/.cache/huggingface/hub"),
            (&[("XDG_CACHE_HOME", "/x")], "/x/huggingface/hub"),
            (&[("XDG_CACHE_HOME", "/x"), ("HF_HOME", "/h")], "/h/hub"),
            (&[("HF_HUB_CACHE", "/c"), ("HF_HOME", "/h")], "/c"),
            (&[("HUGGINGFACE_HUB_CACHE", "/c")], "/c"),
        ] {
            assert_eq!(
                settings(variables).cache_dir,
                Path::new(cache),
                "{variables:?}"
            );
        }

        let mirror = settings(&[
            ("HF_ENDPOINT", "https://mirror.example/"),
            ("HF_TOKEN", " t\n"),
        ]);
        assert_eq!(mirror.endpoint, "https://mirror.example");
        assert_eq!(mirror.token.as_deref(), Some("t"));
        assert!(!format!("{mirror:?}").contains("\"t\""));

        let silent = settings(&[("HF_TOKEN", "t"), ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")]);
        assert_eq!(silent.token, None);

        for (value, offline) in [("1", true), ("True", true), ("0", false), ("", false)] {
            assert_eq!(settings(&[("HF_HUB_OFFLINE", value)]).offline, offline);
            assert_eq!(
                settings(&[("TRANSFORMERS_OFFLINE", value)]).offline,
                offline
            );
        }
    }

    #[test]
    fn the_token_may_stand_in_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("token");
        std::fs::write(&file, "from a file\n").expect("written");
        let path = file.to_str().expect("UTF-8");
        let home = folder.path().to_str().expect("UTF-8");
        for variables in [[("HF_TOKEN_PATH", path)], [("HF_HOME", home)]] {
            assert_eq!(settings(&variables).token.as_deref(), Some("from a file"));
        }
        let both = settings(&[("HF_HOME", home), ("HF_TOKEN", "t")]);
        assert_eq!(both.token.as_deref(), Some("t"));
    }
}
