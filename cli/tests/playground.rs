//! `unjinja playground` serves the page that it was built with.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The program, until the test is over.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        // If it has ended by itself, there is nothing left to end.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// The head of the answer, and its body.
fn ask(address: &str, request: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "{request}\r\nHost: {address}\r\n\r\n").expect("it takes requests");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it answers");
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let body = answer.split_off(end.expect("there is a head") + 4);
    (String::from_utf8(answer).expect("it is text"), body)
}

/// Starts the program, and reads the address that it prints.
fn serve(command: &mut Command) -> (Served, String) {
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let stdout = child.stdout.take().expect("it prints");
    let served = Served(child);
    let mut line = String::new();
    BufReader::new(stdout)
        .read_line(&mut line)
        .expect("an address");
    (served, line.trim().to_owned())
}

fn playground() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unjinja"));
    command.arg("playground");
    command
}

#[test]
fn the_page_is_served_to_this_machine() {
    let (_served, address) = serve(playground().arg("--no-open"));
    let address = address
        .strip_prefix("http://")
        .and_then(|rest| rest.strip_suffix('/'));
    let address = address.expect("it is an address");
    assert!(address.starts_with("127.0.0.1:"), "{address}");

    for (request, status, kind, start) in [
        (
            "GET / HTTP/1.1",
            "200 OK",
            "text/html",
            b"<!doctype html>".as_slice(),
        ),
        (
            "GET /?from=here HTTP/1.1",
            "200 OK",
            "text/html",
            b"<!doctype html>",
        ),
        (
            "GET /module.wasm HTTP/1.1",
            "200 OK",
            "application/wasm",
            b"\0asm",
        ),
        (
            "HEAD /module.wasm HTTP/1.1",
            "200 OK",
            "application/wasm",
            b"",
        ),
        (
            "GET /../Cargo.toml HTTP/1.1",
            "404 Not Found",
            "text/plain",
            b"there is no such file",
        ),
        (
            "POST / HTTP/1.1",
            "405 Method Not Allowed",
            "text/plain",
            b"there is nothing",
        ),
        (
            "nonsense",
            "405 Method Not Allowed",
            "text/plain",
            b"there is nothing",
        ),
    ] {
        let (head, body) = ask(address, request);
        assert!(
            head.starts_with(&format!("HTTP/1.1 {status}\r\n")),
            "{request}: {head}"
        );
        assert!(
            head.contains(&format!("Content-Type: {kind}")),
            "{request}: {head}"
        );
        assert!(body.starts_with(start), "{request}");
        assert!(!start.is_empty() || body.is_empty(), "{request}");
    }
}

#[test]
fn a_page_from_elsewhere_does_not_read_it() {
    let (_served, address) = serve(playground().arg("--no-open"));
    let address = address.trim_start_matches("http://").trim_end_matches('/');
    let port = address.rsplit_once(':').expect("a port").1;
    let here = format!("localhost:{port}");
    let other_port = "127.0.0.1:1".to_owned();
    let elsewhere = format!("rebound.example:{port}");
    for (hosts, status) in [
        (vec![&here], "200"),
        (vec![&elsewhere], "421"),
        (vec![&other_port], "421"),
        (vec![&here, &elsewhere], "421"),
        (vec![], "421"),
    ] {
        let mut stream = TcpStream::connect(address).expect("it listens");
        let lines: String = hosts
            .iter()
            .map(|host| format!("HOST: {host}\r\n"))
            .collect();
        write!(stream, "GET / HTTP/1.1\r\n{lines}\r\n").expect("it takes requests");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let start = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&start), "{hosts:?}: {answer}");
    }
}

#[test]
fn a_request_has_its_time_however_it_comes_in() {
    let (_served, address) = serve(playground().arg("--no-open"));
    let address = address.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).expect("it listens");
    let begun = Instant::now();
    // A byte a second, which no timeout for a single read would end.
    while stream.write_all(b"x").is_ok() {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "it still listens"
        );
        thread::sleep(Duration::from_secs(1));
    }
}

#[test]
fn only_so_many_are_answered_at_the_same_time() {
    let (_served, address) = serve(playground().arg("--no-open"));
    let address = address.trim_start_matches("http://").trim_end_matches('/');
    let connect = |_| {
        let stream = TcpStream::connect(address).expect("it listens");
        let timeout = Some(Duration::from_secs(2));
        stream.set_read_timeout(timeout).expect("it can be set");
        stream
    };
    let waiting: Vec<TcpStream> = (0..100).map(connect).collect();
    let is_closed = |mut stream: &TcpStream| matches!(stream.read(&mut [0]), Ok(0));
    let closed = waiting
        .iter()
        .skip(50)
        .take(10)
        .filter(|one| is_closed(one));
    assert_eq!(closed.count(), 10);
    drop(waiting);
    let answered = (0..100).any(|_| {
        thread::sleep(Duration::from_millis(50));
        let mut stream = connect(0);
        write!(stream, "GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").ok();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).is_ok() && answer.starts_with(b"HTTP/1.1 200 OK")
    });
    assert!(answered, "it answers again");
}

/// A folder with a stand-in for what opens addresses on this system.
#[cfg(target_os = "linux")]
fn opener(script: Option<&str>) -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().expect("a folder");
    if let Some(script) = script {
        let path = folder.path().join("xdg-open");
        std::fs::write(&path, script).expect("it can be written");
        let runs = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, runs).expect("it can be made to run");
    }
    folder
}

#[test]
#[cfg(target_os = "linux")]
fn the_address_is_opened_as_the_system_opens_addresses() {
    let folder = opener(Some(
        "#!/bin/sh\nprintf %s \"$1\" > \"$0.part\" && /bin/mv \"$0.part\" \"$0.opened\"\n",
    ));
    let (_served, address) = serve(playground().env("PATH", folder.path()));
    let opened = folder.path().join("xdg-open.opened");
    let deadline = Instant::now() + Duration::from_secs(60);
    while !opened.exists() {
        assert!(Instant::now() < deadline, "nothing was opened");
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(std::fs::read_to_string(opened).expect("text"), address);
}

#[test]
#[cfg(target_os = "linux")]
fn where_no_browser_can_be_opened_it_says_so_and_serves_the_page() {
    for script in [None, Some("#!/bin/sh\nexit 3\n")] {
        let folder = opener(script);
        let mut command = playground();
        command.env("PATH", folder.path()).stderr(Stdio::piped());
        let (mut served, address) = serve(&mut command);
        let stderr = served.0.stderr.take().expect("it reports");
        let mut line = String::new();
        BufReader::new(stderr).read_line(&mut line).expect("text");
        assert!(line.contains("no browser could be opened"), "{line}");
        let address = address.trim_start_matches("http://").trim_end_matches('/');
        let (head, _) = ask(address, "GET / HTTP/1.1");
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    }
}
