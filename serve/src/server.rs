//! The server: made of what it is to be, it listens until it is told to end.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use unjinja::chat_template::ChatTemplate;
use unjinja::{UnknownTools, Value};

use crate::arrivals::{Arrivals, Seat};
use crate::config::{Config, Limits};
use crate::connection::Connection;
use crate::guard::Guard;
use crate::held::Room;
use crate::metrics::Metrics;
use crate::model::{Holding, Model};
use crate::object::object;
use crate::record::Recorder;
use crate::routes;
use crate::upstream::Upstream;
use crate::work::Work;
use crate::{ENGINES, Explain, Tell};

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address of the upstream is none.
    #[error("{0}")]
    Upstream(String),
    /// There is no chat template, or nothing can be made of it.
    #[error("{0}")]
    Model(String),
    /// Nothing can be recorded.
    #[error("{path}: {error}")]
    Record {
        /// The file.
        path: String,
        /// Why not.
        error: io::Error,
    },
    /// The address can't be listened at.
    #[error("can't listen at {address}: {error}: choose another with `--listen`")]
    Listen {
        /// The address.
        address: String,
        /// Why not.
        error: io::Error,
    },
    /// The system has no room for it.
    #[error("can't start: {0}")]
    System(#[from] io::Error),
}

/// So many files are open beside connections of requests.
const OTHER_FILES: usize = 64;

/// So many threads do other work than what requests need: they ask for names of hosts.
const OTHER_THREADS: usize = 8;

/// So much of a connection is held that has yet to be read, or taken by the client.
const MAX_BUFFER: usize = 64 << 10;

/// All that requests need.
pub(crate) struct Shared {
    pub(crate) model: Model,
    pub(crate) upstream: Upstream,
    pub(crate) holding: Holding,
    pub(crate) unknown_tools: UnknownTools,
    pub(crate) limits: Limits,
    pub(crate) guard: Guard,
    /// For so many answers.
    pub(crate) room: Arc<Semaphore>,
    /// For so many bytes of requests and answers.
    pub(crate) held: Arc<Room>,
    pub(crate) work: Arc<Work>,
    pub(crate) arrivals: Arc<Arrivals>,
    pub(crate) metrics: Metrics,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) explain: Option<Arc<dyn Explain>>,
    pub(crate) tell: Tell,
    pub(crate) answered: AtomicU64,
}

/// Serves until the process is told to end, by Ctrl-C or `SIGTERM`: what has begun is answered then, as far as there is time. `started`
/// is called with the address when requests are taken. The process may have as many files open then as the system lets it.
///
/// # Errors
///
/// If there is no server to begin with: the upstream does not tell what it is, nothing can be made of the chat template, or the address is
/// taken.
pub fn serve(config: Config, started: impl FnOnce(SocketAddr)) -> Result<(), ServeError> {
    let runtime = runtime(&config.limits)?;
    let served = runtime.block_on(async {
        let limits = config.limits.clone();
        let address = config.listen.clone();
        let listening = |error| ServeError::Listen { address, error };
        let listener = TcpListener::bind(&config.listen).await.map_err(listening)?;
        let shared = Arc::new(shared(config).await?);
        let tell = Arc::clone(&shared.tell);
        open_enough_files(&limits, &tell);
        started(listener.local_addr()?);
        accept(listener, shared, limits, &tell).await
    });
    // Nobody waits any more for what is still being read.
    runtime.shutdown_background();
    served
}

/// Raises the number of files that the process may have open, as far as the system lets it: many systems begin with a thousand, and
/// each request takes two.
fn open_enough_files(limits: &Limits, tell: &Tell) {
    let needed = u64::try_from(2 * limits.requests + OTHER_FILES).unwrap_or(u64::MAX);
    // Where there is no such limit, this fails.
    if let Ok(files) = rlimit::increase_nofile_limit(u64::MAX)
        && files < needed
    {
        tell(&format!(
            "warning: {files} files may be open at once, and {} requests need {needed}: raise the limit, as with `ulimit -n`, or lower `--max-requests`",
            limits.requests
        ));
    }
}

/// What a server of this configuration would be, as JSON.
///
/// # Errors
///
/// As [`serve`].
pub fn describe(config: Config) -> Result<Value, ServeError> {
    runtime(&config.limits)?.block_on(async {
        let listen = config.listen.clone();
        let upstream = config.upstream.clone();
        let shared = shared(config).await?;
        let limits = &shared.limits;
        let engine = shared.upstream.engine;
        let grammars = engine.constraint.filter(|_| shared.holding.grammars);
        let paths = crate::api::APIS.iter().map(|api| api.path().into());
        Ok(object! {
            "listen": listen,
            "upstream": upstream,
            "engine": engine.name,
            "engine_path": engine.path,
            "grammars": grammars.map(|(language, _)| format!("{language:?}")),
            "best_effort": shared.holding.best_effort,
            "model": shared.model.name(),
            "paths": paths.collect::<Vec<Value>>(),
            "preserved_tokens": shared.model.preserved.iter().map(|token| token.as_str().into()).collect::<Vec<Value>>(),
            "limits": object! {
                "body": limits.body,
                "requests": limits.requests,
                "work": limits.work,
                "held": limits.held,
                "silence_seconds": limits.engine_timeout.as_secs(),
            },
            "response_template": shared.model.response_template.as_value().clone(),
        }
        .into())
    })
}

fn runtime(limits: &Limits) -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(limits.work + OTHER_THREADS)
        // Values may be nested deeply, and are gone through one level a call.
        .thread_stack_size(16 << 20)
        .build()
}

async fn shared(config: Config) -> Result<Shared, ServeError> {
    let limits = config.limits;
    let work = Arc::new(Work::new(limits.work));
    let found = Upstream::find(
        &config.upstream,
        config.engine,
        config.upstream_model,
        limits.engine_timeout,
        Arc::clone(&work),
    );
    let upstream = found.await.map_err(ServeError::Upstream)?;
    let template = match config.template {
        Some(template) => template,
        None => template_of(&upstream).await?,
    };
    let base = config.base;
    let made = tokio::task::spawn_blocking(move || Model::new(template, base)).await;
    let made = made.map_err(io::Error::other)?;
    let (model, warning) = made.map_err(ServeError::Model)?;
    if let Some(warning) = warning {
        (config.tell)(&format!("warning: {warning}"));
    }
    let recorder = config.record.map(|path| {
        let open = Recorder::open(&path, Arc::clone(&config.tell));
        open.map_err(|error| ServeError::Record {
            path: path.display().to_string(),
            error,
        })
    });
    Ok(Shared {
        model,
        upstream,
        holding: Holding {
            grammars: config.grammars,
            best_effort: config.best_effort,
        },
        unknown_tools: config.unknown_tools,
        guard: Guard::new(&config.hosts),
        room: Arc::new(Semaphore::new(limits.requests)),
        held: Room::new(limits.held),
        work,
        arrivals: Arc::default(),
        limits,
        metrics: Metrics::default(),
        recorder: recorder.transpose()?,
        explain: config.explain,
        tell: config.tell,
        answered: AtomicU64::new(0),
    })
}

/// The chat template that the upstream tells.
async fn template_of(upstream: &Upstream) -> Result<ChatTemplate, ServeError> {
    let told = upstream.template().await.map_err(ServeError::Upstream)?;
    let Some([Some(jinja), bos_token, eos_token]) = told else {
        let telling = ENGINES.iter().filter(|engine| engine.template.is_some());
        let telling: Vec<&str> = telling.map(|engine| engine.name).collect();
        return Err(ServeError::Model(format!(
            "the upstream, which is taken for `{}`, reports no chat template, as {} does: give the model with `--model SOURCE`",
            upstream.engine.name,
            telling.join(", ")
        )));
    };
    let mut template = ChatTemplate::from_jinja(jinja);
    template.name = "the upstream's chat template".to_owned();
    template.bos_token = bos_token;
    template.eos_token = eos_token;
    Ok(template)
}

/// Takes connections, and answers what comes in on them.
async fn accept(
    listener: TcpListener,
    shared: Arc<Shared>,
    limits: Limits,
    tell: &Tell,
) -> Result<(), ServeError> {
    // More connections than requests: some wait for their next one.
    let room = Arc::new(Semaphore::new(2 * limits.requests + 64));
    let graceful = GracefulShutdown::new();
    let arrivals = Arc::clone(&shared.arrivals);
    let routes = TowerToHyperService::new(routes::routes(shared));
    let mut end = Box::pin(told_to_end()?);
    loop {
        let accepted = async {
            let accepted = listener.accept().await;
            // Whoever comes is let in before those from whom nothing has come.
            if room.available_permits() == 0 {
                arrivals.send_first_away();
            }
            (Arc::clone(&room).acquire_owned().await, accepted)
        };
        let (permit, stream) = tokio::select! {
            (permit, accepted) = accepted => match accepted {
                Ok((stream, _)) => (permit, stream),
                // Whoever came has gone again, or there are too many files open: others may have better luck.
                Err(_) => {
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                    continue;
                }
            },
            () = &mut end => break,
        };
        // Tokens are small, and are not to wait for each other.
        let _is_slower = stream.set_nodelay(true);
        let stream = TokioIo::new(Connection::new(stream, limits.client_timeout));
        let seat = Seat::new(&arrivals);
        let answered = {
            let (seat, routes) = (Arc::clone(&seat), routes.clone());
            service_fn(move |mut request: hyper::Request<Incoming>| {
                request.extensions_mut().insert(Arc::clone(&seat));
                routes.call(request)
            })
        };
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.client_timeout)
            .max_buf_size(MAX_BUFFER)
            .serve_connection(stream, answered);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // What goes wrong with a connection ends it, and nobody is there to be told.
            tokio::select! {
                _gone = connection => {}
                () = seat.is_sent_away() => {}
            }
            drop(permit);
        });
    }
    drop(listener);
    tell("stopping: running requests are answered; once more stops at once");
    let mut again = Box::pin(told_to_end()?);
    tokio::select! {
        () = graceful.shutdown() => {}
        () = tokio::time::sleep(limits.to_end) => tell("warning: some answers took too long, and are cut off"),
        () = &mut again => {}
    }
    Ok(())
}

/// Waits until the process is told to end.
fn told_to_end() -> io::Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        Ok(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        })
    }
    #[cfg(not(unix))]
    Ok(async {
        // Without it, the system ends the process.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
