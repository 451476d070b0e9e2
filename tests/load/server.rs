//! A hub of our own, on this machine.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

pub(crate) const MAIN: &str = "0123456789abcdef0123456789abcdef01234567";

/// What the hub has, and how it behaves.
#[derive(Default)]
pub(crate) struct Shelf {
    /// Files by commit and path.
    pub(crate) files: BTreeMap<(String, String), String>,
    /// Commits by revision.
    pub(crate) revisions: BTreeMap<String, String>,
    /// Answers every request with this status and these headers.
    pub(crate) refusal: Option<(u16, &'static str)>,
    /// Answers this instead of the content of every file.
    pub(crate) garbage: Option<&'static str>,
    /// Never answers.
    pub(crate) is_silent: bool,
    /// Further paths that are listed, but not there.
    pub(crate) lies: Vec<&'static str>,
}

impl Shelf {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let mut shelf = Self::default();
        shelf.revisions.insert("main".into(), MAIN.into());
        for (path, text) in files {
            shelf.put(MAIN, path, text);
        }
        shelf
    }

    pub(crate) fn put(&mut self, commit: &str, path: &str, text: &str) {
        let place = (commit.to_owned(), path.to_owned());
        self.files.insert(place, text.to_owned());
    }

    /// The status, the headers and the body of an answer.
    fn answer(&self, target: &str) -> (u16, String, String) {
        if let Some((status, headers)) = self.refusal {
            return (status, headers.to_owned(), "{}".to_owned());
        }
        let missing = |code| (404, format!("X-Error-Code: {code}\r\n"), String::new());
        let target = target.split('?').next().unwrap_or_default();
        let target = target.replace("%2F", "/");
        if let Some(rest) = target.strip_prefix("/api/models/org/name") {
            if let Some(rest) = rest.strip_prefix("/tree/") {
                return (200, String::new(), self.tree(rest));
            }
            let revision = rest.strip_prefix("/revision/").unwrap_or("main");
            return match self.revisions.get(revision) {
                Some(commit) => {
                    let body = format!(r#"{{"id": "org/name", "sha": "{commit}"}}"#);
                    (200, String::new(), body)
                }
                None => missing("RevisionNotFound"),
            };
        }
        let file = target.strip_prefix("/org/name/resolve/");
        let Some((commit, path)) = file.and_then(|file| file.split_once('/')) else {
            return missing("RepoNotFound");
        };
        let Some(text) = self.files.get(&(commit.to_owned(), path.to_owned())) else {
            return missing("EntryNotFound");
        };
        let etag: u64 = text
            .bytes()
            .fold(7, |sum, byte| sum * 31 % 1_000_003 + u64::from(byte));
        let headers = format!("ETag: \"{etag:040x}\"\r\nX-Repo-Commit: {commit}\r\n");
        (200, headers, self.garbage.unwrap_or(text).to_owned())
    }

    /// The files of a commit, or of one of its folders.
    fn tree(&self, place: &str) -> String {
        let (commit, folder) = place.split_once('/').unwrap_or((place, ""));
        let mut entries = Vec::new();
        let mut folders = Vec::new();
        let size = |text: &str| text.len();
        let files = self.files.iter().filter(|((of, _), _)| of == commit);
        let files = files.map(|((_, path), text)| (path.as_str(), size(text)));
        for (path, size) in files.chain(self.lies.iter().map(|path| (*path, 1))) {
            let (parent, _) = path.split_once('/').unwrap_or(("", path));
            if parent == folder {
                entries.push(format!(
                    r#"{{"type": "file", "oid": "0", "size": {size}, "path": "{path}"}}"#
                ));
            } else if folder.is_empty() && !folders.contains(&parent) {
                folders.push(parent);
                entries.push(format!(
                    r#"{{"type": "directory", "oid": "0", "path": "{parent}"}}"#
                ));
            }
        }
        format!("[{}]", entries.join(","))
    }
}

/// The hub, which stops when this goes away.
pub(crate) struct Server {
    address: SocketAddr,
    shelf: Arc<Mutex<Shelf>>,
    requests: Arc<Mutex<Vec<String>>>,
    stops: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn new(shelf: Shelf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let shelf = Arc::new(Mutex::new(shelf));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let stops = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let (shelf, requests, stops) = (shelf.clone(), requests.clone(), stops.clone());
            move || {
                // Those that get no answer stay open.
                let mut silent = Vec::new();
                for stream in listener.incoming().flatten() {
                    if stops.load(Ordering::SeqCst) {
                        return;
                    }
                    silent.extend(serve(stream, &shelf, &requests));
                }
            }
        });
        Self {
            address,
            shelf,
            requests,
            stops,
            thread: Some(thread),
        }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Shelf)) {
        change(&mut self.shelf.lock().expect("no panic"));
    }

    /// The requests since this was asked last: method, path, and token.
    pub(crate) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.requests.lock().expect("no panic"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Answers one request. Gives the connection back if it is to get no answer.
fn serve(
    mut stream: TcpStream,
    shelf: &Mutex<Shelf>,
    requests: &Mutex<Vec<String>>,
) -> Option<TcpStream> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let first = lines.next()?.ok()?;
    let mut parts = first.split(' ');
    let (method, target) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    let mut token = String::new();
    for line in lines {
        let line = line.ok()?;
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("authorization")
        {
            token = format!(" {}", value.trim());
        }
    }
    requests
        .lock()
        .ok()?
        .push(format!("{method} {target}{token}"));
    let shelf = shelf.lock().ok()?;
    if shelf.is_silent {
        return Some(stream);
    }
    let (status, headers, body) = shelf.answer(&target);
    let length = body.len();
    let body = if method == "HEAD" { "" } else { &body };
    let _ = write!(
        stream,
        "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    );
    None
}
