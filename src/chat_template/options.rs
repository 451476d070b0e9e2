//! How a chat template is to be loaded.

use std::fmt;

use super::progress::Progress;
use super::settings::HubSettings;

/// How to load a chat template.
///
/// ```
/// use unjinja::chat_template::{HubSettings, LoadOptions};
///
/// let options = LoadOptions::default()
///     .variant("tool_use")
///     .offline(true)
///     .hub(HubSettings::new("/tmp/models"));
/// assert_eq!(options.variant.as_deref(), Some("tool_use"));
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
    /// Is called whenever something is fetched.
    pub on_progress: Option<&'a dyn Fn(&Progress)>,
}

impl<'a> LoadOptions<'a> {
    /// Sets [`variant`](#structfield.variant).
    pub fn variant(mut self, name: impl Into<String>) -> Self {
        self.variant = Some(name.into());
        self
    }

    /// Sets [`offline`](#structfield.offline).
    pub fn offline(mut self, offline: bool) -> Self {
        self.offline = offline;
        self
    }

    /// Sets [`hub`](#structfield.hub).
    pub fn hub(mut self, settings: HubSettings) -> Self {
        self.hub = Some(settings);
        self
    }

    /// Sets [`on_progress`](#structfield.on_progress).
    pub fn on_progress(mut self, listener: &'a dyn Fn(&Progress)) -> Self {
        self.on_progress = Some(listener);
        self
    }
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
