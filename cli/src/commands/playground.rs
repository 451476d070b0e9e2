//! `unjinja playground`: serves the page that shows a format in a browser.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::Failure;
use crate::printing;

/// Open the playground in a browser: a page that derives, replays and mends, and sends nothing anywhere
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  Open it:
    unjinja playground

  Only serve it, at a certain port:
    unjinja playground --port 8080 --no-open

The page is part of the program. It is served to this machine alone, until Ctrl-C, and what you
open in it stays in the browser.

Exit codes:
  2  it can't listen at the port")]
pub(crate) struct Args {
    /// The port on 127.0.0.1 [default: one that is free]
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 0,
        hide_default_value = true
    )]
    port: u16,

    /// Only print the address
    #[arg(long)]
    no_open: bool,
}

/// The files of the page, by their names.
static PAGE: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// A request's line and its headers are no longer than this.
const LONGEST: u64 = 64 << 10;
/// A browser says at once what it wants: so long may a request take in all, however it comes in.
const PATIENCE: Duration = Duration::from_secs(10);
/// A page and its module are taken in so much time.
const PATIENCE_WITH_ANSWER: Duration = Duration::from_secs(60);
/// So many connections are answered at the same time; a browser opens six.
const MOST_AT_ONCE: usize = 32;

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let fail = |error: io::Error| {
        let port = args.port;
        Failure::Input(format!(
            "can't listen at port {port} of 127.0.0.1: {error}: choose another with `--port`"
        ))
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(fail)?;
    let port = listener.local_addr().map_err(fail)?.port();
    let address = format!("http://127.0.0.1:{port}/");
    printing::print(format!("{address}\n"))?;
    if !args.no_open {
        thread::spawn(move || open(&address));
    }
    let open = Arc::new(());
    for stream in listener.incoming().flatten() {
        // Whoever opens more than that is no browser, and is not answered.
        if Arc::strong_count(&open) > MOST_AT_ONCE {
            continue;
        }
        let counted = Arc::clone(&open);
        // A browser that goes away in between has lost nothing.
        thread::spawn(move || {
            answer(&stream, port).ok();
            drop(counted);
        });
    }
    Ok(())
}

/// Opens the address as the system opens addresses, and reports where that fails. This may last as long as the browser.
fn open(address: &str) {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let status = Command::new(program)
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    // What opens addresses on Windows fails even where it has opened them.
    let opened = status.is_ok_and(|status| status.success() || cfg!(windows));
    if !opened {
        printing::tell(format_args!(
            "no browser could be opened: open the address in one\n"
        ));
    }
}

/// A connection until a certain time, and no byte longer.
struct Until<'s>(&'s TcpStream, Instant);

impl Until<'_> {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.1.saturating_duration_since(Instant::now());
        match left.is_zero() {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => Ok(Some(left)),
        }
    }
}

impl Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.set_read_timeout(self.left()?)?;
        self.0.read(buffer)
    }
}

impl Write for Until<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set_write_timeout(self.left()?)?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Whether a request is for this machine. A page from elsewhere whose name leads here has asked for that name.
fn is_for_us(host: &str, port: u16) -> bool {
    ["127.0.0.1", "localhost"].iter().any(|name| {
        let rest = host.strip_prefix(name);
        rest.is_some_and(|rest| rest == format!(":{port}") || (rest.is_empty() && port == 80))
    })
}

/// Answers one request, and closes.
fn answer(stream: &TcpStream, port: u16) -> io::Result<()> {
    let begun = Instant::now();
    let coming = Until(stream, begun + PATIENCE);
    let mut lines = BufReader::new(coming.take(LONGEST)).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    let mut hosts = Vec::new();
    // What is not read before closing would make the answer fail.
    for line in lines {
        let line = line?;
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("host")
        {
            hosts.push(value.trim().to_ascii_lowercase());
        }
    }
    let mut words = request.split(' ');
    let (method, path) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let name = path
        .split('?')
        .next()
        .unwrap_or_default()
        .trim_start_matches('/');
    let name = if name.is_empty() { "index.html" } else { name };
    let file = PAGE.iter().find(|(known, _)| *known == name);
    let is_for_us = matches!(&hosts[..], [host] if is_for_us(host, port));
    let (status, kind, body) = match (method, file) {
        _ if !is_for_us => (
            "421 Misdirected Request",
            "text/plain",
            b"this is served at 127.0.0.1 alone\n".as_slice(),
        ),
        ("GET" | "HEAD", Some((name, body))) => ("200 OK", kind(name), *body),
        ("GET" | "HEAD", None) => (
            "404 Not Found",
            "text/plain",
            b"there is no such file\n".as_slice(),
        ),
        _ => (
            "405 Method Not Allowed",
            "text/plain",
            b"there is nothing to be done here\n".as_slice(),
        ),
    };
    let mut going = Until(stream, begun + PATIENCE_WITH_ANSWER);
    write!(
        going,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         X-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    if method != "HEAD" {
        going.write_all(body)?;
    }
    going.flush()
}

fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("wasm") => "application/wasm",
        _ => "application/octet-stream",
    }
}
