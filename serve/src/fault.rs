//! What goes wrong with a request, before any API has put it into its own shape.

use std::error::Error;

use axum::http::StatusCode;
use unjinja::{Value, json};

/// Why a request is not answered, or not to its end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    /// The part of the request that is meant.
    pub(crate) param: Option<String>,
    /// What the upstream calls it, if it is the upstream's.
    pub(crate) kind: Option<Value>,
    pub(crate) code: Option<Value>,
}

/// So much of a message is told, in bytes: it may quote what is as large as requests are.
const MAX_MESSAGE: usize = 64 << 10;

impl Fault {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Fault {
        let mut message = message.into();
        if message.len() > MAX_MESSAGE {
            message.truncate(message.floor_char_boundary(MAX_MESSAGE));
            message.push('…');
        }
        Fault {
            status,
            message,
            param: None,
            kind: None,
            code: None,
        }
    }

    /// A request that can't be answered.
    pub(crate) fn bad(message: impl Into<String>) -> Fault {
        Fault::new(StatusCode::BAD_REQUEST, message)
    }

    /// One that can't be answered because of this part.
    pub(crate) fn of(param: &str, message: impl std::fmt::Display) -> Fault {
        Fault {
            param: Some(param.to_owned()),
            ..Fault::bad(format!("`{param}`: {message}"))
        }
    }

    /// Something for which there is no room now.
    pub(crate) fn overloaded(message: impl Into<String>) -> Fault {
        Fault::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    pub(crate) fn bad_gateway(message: impl Into<String>) -> Fault {
        Fault::new(StatusCode::BAD_GATEWAY, message)
    }

    /// The upstream does not answer.
    pub(crate) fn unreachable(error: &reqwest::Error) -> Fault {
        let (status, what) = match error.is_timeout() {
            true => (StatusCode::GATEWAY_TIMEOUT, "takes too long"),
            false => (StatusCode::BAD_GATEWAY, "can't be reached"),
        };
        // The innermost cause says what it is, and the others where, which is known.
        let mut cause: &dyn Error = error;
        while let Some(next) = cause.source() {
            cause = next;
        }
        Fault::new(status, format!("the upstream {what}: {cause}"))
    }

    pub(crate) fn unreadable(error: &unjinja::ParseError) -> Fault {
        Fault::bad_gateway(format!("the model's output can't be read: {error}"))
    }

    /// What the upstream says is wrong, in its own words.
    pub(crate) fn of_upstream(status: StatusCode, text: &str) -> Fault {
        let error = json::read(text).ok();
        // Most put it under `error`; some answer with the error itself.
        let error = error
            .as_ref()
            .map(|value| value.get("error").unwrap_or(value));
        let message = |error: &Value| {
            let message = error.as_str().or_else(|| error.get("message")?.as_str());
            message.map(str::to_owned)
        };
        let Some((error, message)) = error.and_then(|error| Some((error, message(error)?))) else {
            return Fault::new(status, format!("the upstream answers {status}: {text}"));
        };
        let part = |key: &str| error.get(key).filter(|value| !value.is_null()).cloned();
        Fault {
            param: part("param").and_then(|param| param.as_str().map(str::to_owned)),
            kind: part("type"),
            code: part("code"),
            ..Fault::new(status, message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_upstreams_keep_their_words() {
        for (text, message, kind) in [
            (r#"{"error": "too long"}"#, "too long", None),
            (
                r#"{"error": {"message": "slow down", "type": "rate", "code": 7}}"#,
                "slow down",
                Some("rate"),
            ),
            (
                r#"{"object": "error", "message": "no such model"}"#,
                "no such model",
                None,
            ),
            (
                "<html>",
                "the upstream answers 400 Bad Request: <html>",
                None,
            ),
            (
                r#"{"error": {"detail": 1}}"#,
                r#"the upstream answers 400 Bad Request: {"error": {"detail": 1}}"#,
                None,
            ),
        ] {
            let fault = Fault::of_upstream(StatusCode::BAD_REQUEST, text);
            assert_eq!(fault.message, message);
            assert_eq!(fault.kind, kind.map(Value::from), "{text}");
        }
    }
}
