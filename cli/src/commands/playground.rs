//! `unjinja playground`: serves the page that shows a format in a browser.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::Failure;
use crate::printing;

/// Open the playground in a browser: a page that derives, replays and mends, and sends nothing anywhere
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  Open it:
    unjinja playground

  Only serve it, at a port of your choice:
    unjinja playground --port 8080 --no-open

The page is part of the program. It is served to this machine alone, until Ctrl-C, and what is opened in
it stays in the browser.

Exit codes:
  2  the port can't be listened at")]
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
/// A browser says at once what it wants.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let fail = |error: io::Error| {
        let port = args.port;
        Failure::Input(format!(
            "can't listen at port {port} of 127.0.0.1: {error}: choose another with `--port`"
        ))
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(fail)?;
    let address = format!("http://{}/", listener.local_addr().map_err(fail)?);
    printing::print(format!("{address}\n"))?;
    if !args.no_open {
        thread::spawn(move || open(&address));
    }
    for stream in listener.incoming().flatten() {
        // A browser that goes away in between has lost nothing.
        thread::spawn(move || answer(stream).ok());
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

/// Answers one request, and closes.
fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut lines = BufReader::new((&stream).take(LONGEST)).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    // What is not read before closing would make the answer fail.
    for line in lines {
        if line?.is_empty() {
            break;
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
    let (status, kind, body) = match (method, file) {
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
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         X-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    if method != "HEAD" {
        stream.write_all(body)?;
    }
    stream.flush()
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
