//! Errors as exceptions of Python.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use unjinja::Remedy;

static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// Which exception an error is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ErrorKind {
    Template,
    Parse,
    Load,
    Render,
    Derive,
    Read,
    Mask,
    Bridge,
    Mend,
    Grammar,
    Convert,
    Internal,
}

impl ErrorKind {
    fn name(self) -> &'static str {
        match self {
            ErrorKind::Template => "TemplateError",
            ErrorKind::Parse => "ParseError",
            ErrorKind::Load => "LoadError",
            ErrorKind::Render => "RenderError",
            ErrorKind::Derive => "DeriveError",
            ErrorKind::Read => "ReadError",
            ErrorKind::Mask => "MaskError",
            ErrorKind::Bridge => "BridgeError",
            ErrorKind::Mend => "MendError",
            ErrorKind::Grammar => "GrammarError",
            ErrorKind::Convert => "ConvertError",
            ErrorKind::Internal => "InternalError",
        }
    }

    /// The exception with this text.
    pub(crate) fn exception(self, py: Python<'_>, text: impl ToString) -> PyErr {
        let class = MODULE
            .get_or_try_init(py, || Ok(py.import("unjinja._errors")?.unbind()))
            .and_then(|module| module.bind(py).getattr(self.name()));
        match class.and_then(|class| class.call1((text.to_string(),))) {
            Ok(exception) => PyErr::from_value(exception),
            Err(error) => error,
        }
    }
}

/// Does work while other threads of Python run. What panics there is an exception here.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let done = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    done.map_err(|panic| ErrorKind::Internal.exception(py, text_of(panic)))
}

/// Does work that is done before another thread could take over. What panics there is an exception here.
pub(crate) fn caught<T>(py: Python<'_>, work: impl FnOnce() -> T) -> PyResult<T> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.map_err(|panic| ErrorKind::Internal.exception(py, text_of(panic)))
}

/// How long Ctrl-C may have to wait.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

/// As much of the stack as the main thread of a program has.
const STACK: usize = 8 << 20;

/// Does work that may take seconds on a thread of its own, so that Ctrl-C is heard meanwhile. Then the work is left
/// alone: it has its limits, and nobody waits for what comes of it.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = mpsc::channel();
    let working = thread::Builder::new().stack_size(STACK).spawn(move || {
        let done = catch_unwind(AssertUnwindSafe(work));
        let _nobody_waits = sender.send(done.map_err(text_of));
    });
    working?;
    let receiver = Mutex::new(receiver);
    loop {
        let done = py.detach(|| {
            let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
            receiver.recv_timeout(SIGNALS_EVERY)
        });
        match done {
            Ok(done) => return done.map_err(|text| ErrorKind::Internal.exception(py, text)),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(ErrorKind::Internal.exception(py, text_of(Box::new(()))));
            }
        }
    }
}

fn text_of(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_else(|| "something went wrong inside of unjinja".to_owned())
}

/// What Python calls something that the message of an error advises to make use of.
pub(crate) fn argument_name(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::Offline => "`offline=True`",
        Remedy::HubFeature => "the feature `hub`",
        Remedy::BosToken => "`bos_token=`",
        Remedy::EosToken => "`eos_token=`",
        Remedy::Variable => "`variables=`",
        Remedy::Update => "`unjinja check --update`",
        Remedy::FirstFixture => "`unjinja new`",
        Remedy::Lint => "`unjinja.lint`",
        Remedy::Loosen => "`best_effort=True`",
    }
}
