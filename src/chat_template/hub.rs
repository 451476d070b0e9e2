//! Models on the Hugging Face hub.
//!
//! What the cache has is used without asking the hub, if it is sure to be all there is. Else the
//! hub is asked for the commit and its files, and the small ones among them are fetched.

use std::error::Error;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;

use hf_hub::progress::{ProgressEvent, ProgressHandler};
use hf_hub::repository::{RepoTreeEntry, RepoTypeModel};
use hf_hub::{HFClient, HFError, HFRepositorySync};

use super::cache::{CachedModel, Snapshot, is_commit};
use super::error::{HubFault, LoadError};
use super::folder;
use super::model_id::ModelId;
use super::options::LoadOptions;
use super::progress::Progress;
use super::settings::HubSettings;
use super::template::ChatTemplate;
use super::text_file::{MAX_TEXT, too_large};

/// The files that are fetched if they are there, in this order. They have a few kilobytes.
const FILES: [&str; 5] = [
    folder::TEMPLATE,
    "chat_template.json",
    folder::TOKENIZER_CONFIG,
    folder::TOKENS_MAP,
    "processor_config.json",
];

pub(super) fn load(
    model: &ModelId,
    options: &LoadOptions<'_>,
) -> Result<Vec<ChatTemplate>, LoadError> {
    let settings = options.hub.clone().unwrap_or_else(HubSettings::from_env);
    let cached = CachedModel::new(&settings.cache_dir, model);
    let snapshot = cached.snapshot();
    let name = model.to_string();
    let load = |folder: PathBuf| folder::load(&folder, Some(&name), options);

    if options.offline || settings.offline {
        let Some(snapshot) = snapshot else {
            let cache = settings.cache_dir.display().to_string();
            return Err(fail(model, HubFault::NotCached { cache }));
        };
        return load(snapshot.folder).map_err(while_offline);
    }
    if let Some(snapshot) = &snapshot
        && is_settled(snapshot, options.variant.is_some())
    {
        return load(snapshot.folder.clone());
    }
    let error = match fetch(model, settings, cached, options.on_progress) {
        Ok(fetched) => return load(fetched.folder),
        Err(error) => error,
    };
    // What the cache has is better than nothing.
    if let LoadError::Hub { fault, .. } = &error
        && fault.is_outage()
        && let Some(snapshot) = snapshot
        && let Ok(templates) = load(snapshot.folder)
    {
        if let Some(listener) = options.on_progress {
            listener(&Progress::FallingBack { error });
        }
        return Ok(templates);
    }
    Err(error)
}

/// Whether asking the hub would add nothing to what the cache has.
fn is_settled(snapshot: &Snapshot, wants_variant: bool) -> bool {
    let has_all = FILES.iter().all(|file| snapshot.knows(file));
    // Others put files into the cache too, and don't look for all of these.
    let has_enough =
        snapshot.has(folder::TEMPLATE) && snapshot.has(folder::TOKENIZER_CONFIG) && !wants_variant;
    let has_tokens = || {
        snapshot.knows(folder::TOKENIZER)
            || !folder::needs_tokenizer(&snapshot.folder).unwrap_or(true)
    };
    (has_all || has_enough) && has_tokens()
}

/// The cache may lack what the hub has.
fn while_offline(error: LoadError) -> LoadError {
    match error {
        LoadError::NoTemplate { name, advice, .. } => LoadError::NoTemplate {
            name,
            advice,
            only_cached: true,
        },
        other => other,
    }
}

/// What the thread that fetches reports.
enum Report {
    /// Bytes keep coming.
    Alive,
    /// It does something that people may want to know.
    Progress(Progress),
    /// It has finished.
    Done(Result<Snapshot, LoadError>),
}

/// Fetches on a thread of its own. So a hub that never answers does not stop the caller for
/// ever, and callers may run in an asynchronous runtime.
fn fetch(
    model: &ModelId,
    settings: HubSettings,
    cached: CachedModel,
    on_progress: Option<&dyn Fn(&Progress)>,
) -> Result<Snapshot, LoadError> {
    let endpoint = settings.endpoint.clone();
    let timeout = settings.timeout;
    let (reports, received) = mpsc::channel();
    let job = Job {
        model: model.clone(),
        settings,
        cached,
        reports: reports.clone(),
    };
    let work = move || {
        let result = job.run();
        // Nobody waits any more if it took too long.
        let _ = reports.send(Report::Done(result));
    };
    let thread = thread::Builder::new().name("unjinja-hub".to_owned());
    let other = |cause: String| {
        let endpoint = endpoint.clone();
        fail(model, HubFault::Other { endpoint, cause })
    };
    thread
        .spawn(work)
        .map_err(|error| other(error.to_string()))?;
    loop {
        match received.recv_timeout(timeout) {
            Ok(Report::Alive) => {}
            Ok(Report::Progress(progress)) => {
                if let Some(listener) = on_progress {
                    listener(&progress);
                }
            }
            Ok(Report::Done(result)) => return result,
            Err(RecvTimeoutError::Timeout) => {
                let after = timeout;
                return Err(fail(model, HubFault::NoAnswer { endpoint, after }));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(other("fetching stopped unexpectedly".to_owned()));
            }
        }
    }
}

fn fail(model: &ModelId, fault: HubFault) -> LoadError {
    let model = model.clone();
    LoadError::Hub { model, fault }
}

/// What the thread that fetches has to do.
struct Job {
    model: ModelId,
    settings: HubSettings,
    cached: CachedModel,
    reports: Sender<Report>,
}

type Repository = HFRepositorySync<RepoTypeModel>;

/// A file of the model, and its size in bytes.
type Entry = (String, u64);

impl Job {
    fn run(&self) -> Result<Snapshot, LoadError> {
        self.report(Progress::Asking {
            model: self.model.clone(),
            endpoint: self.settings.endpoint.clone(),
        });
        let repository = self.repository().map_err(|error| self.explain(error))?;
        let commit = self.commit(&repository)?;
        let snapshot = self.cached.snapshot_of(&commit);
        let entries = self.entries(&repository, &commit)?;

        let wanted = |path: &str| FILES.contains(&path) || is_variant(path);
        for (path, size) in entries.iter().filter(|(path, _)| wanted(path)) {
            self.fetch_file(&repository, &snapshot, &commit, path, *size)?;
        }
        if snapshot.folder.is_dir() && folder::needs_tokenizer(&snapshot.folder)? {
            let tokenizer = entries.iter().find(|(path, _)| path == folder::TOKENIZER);
            if let Some((path, size)) = tokenizer {
                self.fetch_file(&repository, &snapshot, &commit, path, *size)?;
            }
        }
        self.finish(&snapshot, &commit, &entries)?;
        Ok(snapshot)
    }

    fn report(&self, progress: Progress) {
        let _ = self.reports.send(Report::Progress(progress));
    }

    fn repository(&self) -> Result<Repository, HFError> {
        // Without one, the client would look for a token by itself. One that can't be sent is
        // not sent.
        const NO_TOKEN: &str = "\n";
        let token = self.settings.token.as_deref().unwrap_or(NO_TOKEN);
        let client = HFClient::builder()
            .endpoint(&self.settings.endpoint)
            .token(token)
            .cache_dir(&self.settings.cache_dir)
            .user_agent(concat!("unjinja/", env!("CARGO_PKG_VERSION")))
            .retry_max_attempts(2)
            .build_sync()?;
        let (org, name) = hf_hub::split_id(self.model.repo());
        Ok(client.model(org, name))
    }

    /// The commit that the revision is now.
    fn commit(&self, repository: &Repository) -> Result<String, LoadError> {
        let revision = self.model.revision().map(str::to_owned);
        let request = repository.info().maybe_revision(revision);
        let info = request
            .expand(vec!["sha".to_owned()])
            .send()
            .map_err(|error| self.explain(error))?;
        info.sha
            .filter(|sha| is_commit(sha))
            .ok_or_else(|| self.other("it does not say which commit that is".to_owned()))
    }

    /// The files at the top of the model, and its further templates.
    fn entries(&self, repository: &Repository, commit: &str) -> Result<Vec<Entry>, LoadError> {
        let list = |folder: Option<String>| {
            let request = repository.list_tree().revision(commit);
            let entries = request.maybe_path_in_repo(folder).send();
            let _ = self.reports.send(Report::Alive);
            entries.map_err(|error| self.explain(error))
        };
        let mut files = Vec::new();
        let mut has_variants = false;
        for entry in list(None)? {
            match entry {
                RepoTreeEntry::File { path, size, .. } => files.push((path, size)),
                RepoTreeEntry::Directory { path, .. } => {
                    has_variants |= path == folder::VARIANTS_FOLDER;
                }
            }
        }
        if has_variants {
            for entry in list(Some(folder::VARIANTS_FOLDER.to_owned()))? {
                if let RepoTreeEntry::File { path, size, .. } = entry {
                    files.push((path, size));
                }
            }
        }
        Ok(files)
    }

    fn fetch_file(
        &self,
        repository: &Repository,
        snapshot: &Snapshot,
        commit: &str,
        path: &str,
        size: u64,
    ) -> Result<(), LoadError> {
        if snapshot.has(path) {
            return Ok(());
        }
        if size > MAX_TEXT {
            return Err(too_large(&format!("{}: {path}", self.model)));
        }
        self.report(Progress::Fetching {
            model: self.model.clone(),
            path: path.to_owned(),
            size,
        });
        let file = repository
            .download_file()
            .filename(path)
            .revision(commit)
            .progress(Heartbeat(self.reports.clone()))
            .send()
            .map_err(|error| self.explain(error))?;

        // The client takes whatever the hub sends, even the page of an error.
        let fetched = file.metadata().map(|metadata| metadata.len()).unwrap_or(0);
        if fetched != size {
            if let Ok(blob) = file.canonicalize() {
                let _ = std::fs::remove_file(blob);
            }
            let _ = std::fs::remove_file(&file);
            return Err(self.other(format!(
                "{path} should have {size} bytes, but {fetched} came"
            )));
        }
        Ok(())
    }

    /// Notes what is known now, so that the hub need not be asked again.
    fn finish(
        &self,
        snapshot: &Snapshot,
        commit: &str,
        entries: &[Entry],
    ) -> Result<(), LoadError> {
        let note = || {
            // The folder of a model without any of the files.
            std::fs::create_dir_all(&snapshot.folder)?;
            for file in FILES.iter().copied().chain([folder::TOKENIZER]) {
                if !entries.iter().any(|(path, _)| path == file) {
                    snapshot.set_absent(file)?;
                }
            }
            self.cached.set_commit(commit)
        };
        note().map_err(|error| LoadError::Read {
            name: self.settings.cache_dir.display().to_string(),
            error,
        })
    }

    fn other(&self, cause: String) -> LoadError {
        let endpoint = self.settings.endpoint.clone();
        fail(&self.model, HubFault::Other { endpoint, cause })
    }

    /// The client's error as one of ours.
    fn explain(&self, error: HFError) -> LoadError {
        let endpoint = self.settings.endpoint.clone();
        let cause = innermost(&error);
        let fault = match error {
            HFError::AuthRequired { .. } => HubFault::Unauthorized {
                endpoint,
                has_token: self.settings.token.is_some(),
            },
            HFError::Forbidden { .. } => HubFault::Forbidden { endpoint },
            HFError::RateLimited { .. } => HubFault::RateLimited { endpoint },
            HFError::RepoNotFound { .. } => HubFault::NoModel { endpoint },
            HFError::RevisionNotFound {
                revision, context, ..
            } => {
                let code = context.and_then(|context| context.error_code);
                if code.as_deref() == Some("RepoNotFound") {
                    HubFault::NoModel { endpoint }
                } else {
                    HubFault::NoRevision { endpoint, revision }
                }
            }
            HFError::Request { source, .. } if !source.is_decode() => {
                HubFault::NoConnection { endpoint, cause }
            }
            HFError::Request { .. } | HFError::Json(_) => {
                return self.other(format!(
                    "this does not answer like a hub, so check HF_ENDPOINT \
                     ({cause})"
                ));
            }
            HFError::Http { context } if context.status.is_server_error() => {
                let cause = context.status.to_string();
                HubFault::NoConnection { endpoint, cause }
            }
            HFError::Io(error) => {
                let name = self.settings.cache_dir.display().to_string();
                return LoadError::Read { name, error };
            }
            other => HubFault::Other {
                endpoint,
                cause: other.to_string(),
            },
        };
        fail(&self.model, fault)
    }
}

/// Reports that bytes keep coming.
struct Heartbeat(Sender<Report>);

impl ProgressHandler for Heartbeat {
    fn on_progress(&self, _event: &ProgressEvent) {
        let _ = self.0.send(Report::Alive);
    }
}

/// Whether a path is that of a further template. The hub is not trusted to send paths that
/// stay in their folder.
fn is_variant(path: &str) -> bool {
    let file = path
        .strip_prefix(folder::VARIANTS_FOLDER)
        .and_then(|rest| rest.strip_prefix('/'));
    file.and_then(|file| file.strip_suffix(".jinja"))
        .is_some_and(|name| !name.is_empty() && !name.contains(['/', '\\', '\0', ':']))
}

/// The cause of the cause, which says most.
fn innermost(error: &dyn Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
