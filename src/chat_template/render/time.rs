//! `strftime_now`

use jiff::civil::DateTime;
use jiff::fmt::strtime;
use minijinja::{Environment, Error, ErrorKind};

/// Adds the function that tells the current time, or the one that stands for it.
pub(super) fn add_to(environment: &mut Environment<'_>, now: Option<DateTime>) {
    environment.add_function("strftime_now", move |format: &str| {
        let now = now.unwrap_or_else(|| jiff::Zoned::now().datetime());
        strtime::format(format, now).map_err(|error| {
            Error::new(
                ErrorKind::InvalidOperation,
                format!("strftime_now can't format the time: {error}"),
            )
        })
    });
}
