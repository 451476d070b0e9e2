//! Who is answered: programs, and no pages in a browser.

use std::net::{IpAddr, Ipv6Addr};

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::fault::Fault;

/// The names that the server is known by, beside addresses and `localhost`.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    hosts: Vec<String>,
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> &str {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default()
}

impl Guard {
    pub(crate) fn new(hosts: &[String]) -> Guard {
        let hosts = hosts.iter().map(|host| host.to_ascii_lowercase());
        Guard {
            hosts: hosts.chain(["localhost".to_owned()]).collect(),
        }
    }

    /// Refuses what a page in a browser could send without its reader's knowledge: pages may send texts anywhere, and read
    /// what comes back from whatever has their own name, which may be made to lead here.
    pub(crate) fn refuse_pages(&self, headers: &HeaderMap) -> Result<(), Fault> {
        let host = text(headers, header::HOST);
        if !self.is_known_by(host) {
            let message = format!("the server does not answer to the name {host:?}: see `--host`");
            return Err(Fault::new(StatusCode::MISDIRECTED_REQUEST, message));
        }
        if headers.contains_key(header::ORIGIN) {
            let message = "this is for programs: requests from web pages are refused";
            return Err(Fault::new(StatusCode::FORBIDDEN, message));
        }
        Ok(())
    }

    /// Nobody can make an address lead elsewhere.
    fn is_known_by(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let bracketed = name
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'));
        bracketed.is_some_and(|name| name.parse::<Ipv6Addr>().is_ok())
            || name.parse::<IpAddr>().is_ok()
            || self.hosts.contains(&name.to_ascii_lowercase())
    }
}

/// Refuses what is not declared to be JSON, as forms of pages are not.
pub(crate) fn refuse_other_types(headers: &HeaderMap) -> Result<(), Fault> {
    let kind = text(headers, header::CONTENT_TYPE);
    let kind = kind.split(';').next().unwrap_or_default().trim();
    match kind.eq_ignore_ascii_case("application/json") {
        true => Ok(()),
        false => Err(Fault::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "expected a request with `Content-Type: application/json`",
        )),
    }
}

/// The key of whoever asks, as upstreams take it.
pub(crate) fn key(headers: &HeaderMap) -> Option<HeaderValue> {
    if let Some(key) = headers.get(header::AUTHORIZATION) {
        let mut key = key.clone();
        key.set_sensitive(true);
        return Some(key);
    }
    let key = headers.get("x-api-key")?.as_bytes();
    let mut key = HeaderValue::from_bytes(&[b"Bearer ", key].concat()).ok()?;
    key.set_sensitive(true);
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_may_lead_anywhere_is_not_the_servers() {
        let guard = Guard::new(&["Models.example".to_owned()]);
        for (host, is_known) in [
            ("localhost:8080", true),
            ("127.0.0.1", true),
            ("[::1]:80", true),
            ("models.example:8080", true),
            ("rebound.example", false),
            ("127.0.0.1.rebound.example:80", false),
            ("", false),
        ] {
            assert_eq!(guard.is_known_by(host), is_known, "{host}");
        }
    }

    #[test]
    fn both_ways_to_give_a_key_are_one_upstream() {
        let headers = |name, value| {
            let pair = (
                header::HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
            HeaderMap::from_iter([pair])
        };
        for headers in [
            headers("authorization", "Bearer k"),
            headers("x-api-key", "k"),
        ] {
            let key = key(&headers).expect("there is a key");
            assert_eq!(key, "Bearer k");
            assert_eq!(format!("{key:?}"), "Sensitive");
        }
        assert_eq!(key(&HeaderMap::new()), None);
    }
}
