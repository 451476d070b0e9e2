//! `unjinja playground` serves the page that it was built with.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

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

#[test]
fn the_page_is_served_to_this_machine() {
    let mut served = Command::new(env!("CARGO_BIN_EXE_unjinja"))
        .args(["playground", "--no-open"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let stdout = served.stdout.take().expect("it prints");
    let _served = Served(served);
    let mut line = String::new();
    BufReader::new(stdout)
        .read_line(&mut line)
        .expect("an address");
    let address = line
        .trim()
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
