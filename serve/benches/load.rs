//! The server under load, in a process of its own, between an engine and clients that are no work: what it adds to each token, how much
//! memory it takes, and what is left of it when clients vanish or send what is no request.
//!
//! `cargo bench --package unjinja-serve`; numbers behind `--` change how many streams, tokens, clients and requests there are.
//!
//! `-- compare NAME=COMMAND …` measures it beside other programs, each in its turn, as `serve/benches/compare` lists them.

use std::error::Error;
use std::io::BufRead;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{env, fs, io};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use unjinja::chat_template::ChatTemplate;
use unjinja_serve::{Config, Engine, serve};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const JINJA: &str = "{% for m in messages %}<{{ m.role }}>\
    {% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}\
    {% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}<end>{% endfor %}\
    {% if add_generation_prompt %}<assistant>{% endif %}";

/// Where clients ask.
const CHAT: &str = "/v1/chat/completions";

/// Other programs may take so long to start.
const TO_START: Duration = Duration::from_secs(60);

/// How many streams programs are compared with at once, and how many tokens each has.
const COMPARED: [usize; 2] = [32, 256];
const TOKENS: usize = 500;

/// Between two tokens of a stream.
const PACE: Duration = Duration::from_millis(20);

fn main() -> Outcome<()> {
    let arguments: Vec<String> = env::args()
        .skip(1)
        .filter(|text| text != "--bench")
        .collect();
    if let [role, upstream] = &arguments[..]
        && role == "serve"
    {
        let mut config = Config::new(upstream.as_str());
        config.engine = Engine::named("openai");
        config.template = Some(ChatTemplate::from_jinja(JINJA));
        config.listen = "127.0.0.1:0".to_owned();
        config.limits.requests = 4096;
        return Ok(serve(config, |address| println!("{address}"))?);
    }
    if let [role, servers @ ..] = &arguments[..]
        && role == "compare"
    {
        let runtime = tokio::runtime::Runtime::new()?;
        return runtime.block_on(compare(servers));
    }
    let numbers = arguments.iter().map(|text| text.parse::<usize>());
    let numbers: Vec<usize> = numbers.collect::<Result<_, _>>()?;
    let number = |at: usize, usual| numbers.get(at).copied().unwrap_or(usual);
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(run(
        (number(0, 256), number(1, 500)),
        number(2, 1000),
        number(3, 100_000),
    ))
}

/// The server in its process, which ends with this.
struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    fn start(upstream: SocketAddr) -> Outcome<Server> {
        let mut process = Command::new(env::current_exe()?)
            .args(["serve", &format!("http://{upstream}")])
            .stdout(Stdio::piped())
            .spawn()?;
        let output = process.stdout.take().ok_or("no output")?;
        let mut line = String::new();
        io::BufReader::new(output).read_line(&mut line)?;
        let address = line.trim().parse()?;
        Ok(Server { process, address })
    }

    /// Starts another program that takes requests at a port, and waits until it answers them.
    async fn start_other(command: &str, upstream: SocketAddr) -> Outcome<Server> {
        // The port is free until the program takes it.
        let port = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port();
        let command = command
            .replace("{upstream}", &format!("http://{upstream}"))
            .replace("{port}", &port.to_string());
        let mut words = command.split_whitespace();
        let mut process = Command::new(words.next().ok_or("an empty command")?);
        let process = process.args(words).stdout(Stdio::null()).spawn()?;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let mut server = Server { process, address };
        let begun = Instant::now();
        loop {
            match at_once(1, 2, Duration::ZERO, address, CHAT).await {
                Ok(_) => return Ok(server),
                Err(error) if begun.elapsed() > TO_START => {
                    return Err(format!("`{command}` does not answer: {error}").into());
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
            }
            if let Some(status) = server.process.try_wait()? {
                return Err(format!("`{command}` has ended: {status}").into());
            }
        }
    }

    /// What the system knows of its memory, in MiB.
    fn mebibytes(&self, key: &str) -> Option<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with(key))?;
        let kibibytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kibibytes / 1024.0)
    }

    /// How much memory it has, and has had at most; where the system does not tell, nothing.
    fn memory(&self) -> String {
        match (self.mebibytes("VmRSS:"), self.mebibytes("VmHWM:")) {
            (Some(now), Some(most)) => format!("{now:.1} MiB, {most:.1} at most"),
            _ => "unknown".to_owned(),
        }
    }

    /// How many seconds all its threads have been on a processor, in hundredths; where the system does not tell, nothing.
    fn processor_time(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id()));
        let stat = stat.unwrap_or_default();
        // The name may have blanks in it.
        let (_, behind) = stat.rsplit_once(')').unwrap_or_default();
        let ticks = behind.split_whitespace().skip(11).take(2);
        ticks
            .filter_map(|ticks| ticks.parse::<f64>().ok())
            .sum::<f64>()
            / 100.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _has_ended = self.process.kill();
        let _has_ended = self.process.wait();
    }
}

async fn run((streams, tokens): (usize, usize), vanishing: usize, malformed: usize) -> Outcome<()> {
    let upstream = Upstream::start().await?;
    let server = Server::start(upstream.address)?;
    println!("memory at first: {}", server.memory());

    for (name, address, path) in [
        ("the engine alone", upstream.address, "/v1/completions"),
        ("through the server", server.address, "/v1/chat/completions"),
    ] {
        let late = at_once(streams, tokens, PACE, address, path).await?;
        // All begin in the same instant, which takes them a while.
        for (which, first) in [("all", 0), ("those after the first second", 50)] {
            let mut late: Vec<u64> = late
                .iter()
                .flat_map(|stream| &stream[first.min(tokens - 1)..])
                .copied()
                .collect();
            late.sort_unstable();
            let at = |share: usize| late[(late.len() - 1) * share / 100] as f64 / 1000.0;
            println!(
                "{streams} streams of {tokens} tokens, one in {PACE:?} each, {name}, {which}: after {:.3} ms (median), {:.3} ms (99 of 100), {:.3} ms (last)",
                at(50),
                at(99),
                at(100)
            );
        }
        let begun = Instant::now();
        at_once(streams, tokens, Duration::ZERO, address, path).await?;
        let rate = (streams * tokens) as f64 / begun.elapsed().as_secs_f64();
        println!(
            "{streams} streams of {tokens} tokens as fast as can be, {name}: {rate:.0} tokens a second"
        );
    }
    println!("memory: {}", server.memory());

    let begun = Instant::now();
    vanish(vanishing, server.address).await?;
    while upstream.open.load(Relaxed) > 0 {
        if begun.elapsed() > Duration::from_secs(60) {
            return Err(format!(
                "{} requests are still open upstream",
                upstream.open.load(Relaxed)
            )
            .into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    println!(
        "{vanishing} clients have vanished, and all requests upstream have ended, {:.1} s after the first came",
        begun.elapsed().as_secs_f64()
    );
    println!("memory: {}", server.memory());

    let begun = Instant::now();
    let codes = send_malformed(malformed, server.address).await?;
    println!(
        "{malformed} malformed requests in {:.1} s: {codes:?}",
        begun.elapsed().as_secs_f64()
    );
    println!("memory: {}", server.memory());
    at_once(
        4,
        10,
        Duration::ZERO,
        server.address,
        "/v1/chat/completions",
    )
    .await?;
    Ok(())
}

/// What others cost that do the same, as a table: how late tokens come, and how long a processor works for one.
async fn compare(servers: &[String]) -> Outcome<()> {
    let load = || fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("load before: {}", load().trim());
    println!(
        "| between client and engine | streams | median | 99 of 100 | processor time a token | tokens a second at most | memory at most |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    let upstream = Upstream::start().await?;
    for streams in COMPARED {
        let path = "/v1/completions";
        let late = at_once(streams, TOKENS, PACE, upstream.address, path).await?;
        let [median, most] = lateness(late);
        println!("| nothing | {streams} | {median:.2} ms | {most:.2} ms | | | |");
    }
    for streams in COMPARED {
        let server = Server::start(upstream.address)?;
        print_row("unjinja serve", streams, &server).await?;
    }
    for server in servers {
        let (name, command) = server.split_once('=').ok_or("write NAME=COMMAND")?;
        for streams in COMPARED {
            let server = Server::start_other(command, upstream.address).await?;
            print_row(name, streams, &server).await?;
        }
    }
    println!("load after: {}", load().trim());
    Ok(())
}

/// Measures a server between the engine and so many clients.
async fn print_row(name: &str, streams: usize, server: &Server) -> Outcome<()> {
    let before = server.processor_time();
    let late = at_once(streams, TOKENS, PACE, server.address, CHAT).await?;
    let worked = server.processor_time() - before;
    let [median, most] = lateness(late);
    let count = (streams * TOKENS) as f64;
    let begun = Instant::now();
    at_once(streams, TOKENS, Duration::ZERO, server.address, CHAT).await?;
    println!(
        "| {name} | {streams} | {median:.2} ms | {most:.2} ms | {:.1} µs | {:.0} | {:.0} MiB |",
        worked * 1e6 / count,
        count / begun.elapsed().as_secs_f64(),
        server.mebibytes("VmHWM:").unwrap_or_default(),
    );
    Ok(())
}

/// How many milliseconds late tokens come, the median and 99 of 100, after the first second, in which all streams begin.
fn lateness(late: Vec<Vec<u64>>) -> [f64; 2] {
    let late = late
        .into_iter()
        .flat_map(|stream| stream.into_iter().skip(50));
    let mut late: Vec<u64> = late.collect();
    late.sort_unstable();
    let at = |share: usize| late[(late.len() - 1) * share / 100] as f64 / 1000.0;
    [at(50), at(99)]
}

/// An engine whose tokens are the times at which they are sent.
struct Upstream {
    address: SocketAddr,
    open: Arc<AtomicUsize>,
}

/// Microseconds since the first call.
fn now() -> u64 {
    static BEGIN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let begin = BEGIN.get_or_init(Instant::now);
    u64::try_from(begin.elapsed().as_micros()).unwrap_or(u64::MAX)
}

impl Upstream {
    async fn start() -> Outcome<Upstream> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let open = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&open);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let open = Arc::clone(&counted);
                open.fetch_add(1, Relaxed);
                tokio::spawn(async move {
                    // Whoever goes away has lost nothing.
                    let _gone = answer(stream).await;
                    open.fetch_sub(1, Relaxed);
                });
            }
        });
        Ok(Upstream { address, open })
    }
}

/// Reads a request to its end, and gives its head and its body.
async fn read_message(stream: &mut TcpStream) -> Outcome<(String, String)> {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Err("it has ended".into());
        }
        bytes.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .to_lowercase()
                .split_once("content-length: ")
                .and_then(|(_, rest)| rest.split("\r\n").next()?.trim().parse::<usize>().ok());
            if body.len() >= length.unwrap_or(0) {
                return Ok((head.to_owned(), body.to_owned()));
            }
        }
    }
}

/// Streams as many tokens as are wanted, at the pace that is. Both stand in the name of the model, which all hands pass on as it is.
async fn answer(mut stream: TcpStream) -> Outcome<()> {
    stream.set_nodelay(true)?;
    let (_, body) = read_message(&mut stream).await?;
    let wanted = || -> Option<(u64, u64)> {
        let (_, rest) = body.split_once("\"model\":")?;
        let (tokens, pace) = rest.split('"').nth(1)?.split_once('@')?;
        Some((tokens.parse().ok()?, pace.parse().ok()?))
    };
    let (tokens, pace) = wanted().unwrap_or((1, 0));
    stream
        .write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
        )
        .await?;
    let mut ticks = tokio::time::interval(Duration::from_micros(pace.max(1)));
    for token in 0..tokens {
        if pace > 0 {
            ticks.tick().await;
        }
        // The first third is a thought, whose markers are tokens of their own.
        if token == 0 {
            stream.write_all(piece("<think>").as_bytes()).await?;
        } else if token == tokens / 3 {
            stream.write_all(piece("</think>").as_bytes()).await?;
        }
        let token = piece(&format!("t{};", now()));
        stream.write_all(token.as_bytes()).await?;
    }
    stream.write_all(b"data: {\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n").await?;
    Ok(())
}

/// A piece of the output as an event.
fn piece(text: &str) -> String {
    format!(
        "data: {{\"choices\":[{{\"index\":0,\"text\":\"{text}\",\"finish_reason\":null}}]}}\n\n"
    )
}

fn request(path: &str, body: &str, connection: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: {connection}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn question(tokens: usize, pace: Duration) -> String {
    let pace = pace.as_micros();
    format!(
        "{{\"model\":\"{tokens}@{pace}\",\"messages\":[{{\"role\":\"user\",\"content\":\"Hi\"}}],\"prompt\":\"\",\"stream\":true,\"max_tokens\":{tokens}}}"
    )
}

/// Lets streams come at once, and gives for each token of each how many microseconds after it was sent it came.
async fn at_once(
    streams: usize,
    tokens: usize,
    pace: Duration,
    address: SocketAddr,
    path: &'static str,
) -> Outcome<Vec<Vec<u64>>> {
    let one = |_| tokio::spawn(take_all(tokens, pace, address, path));
    let all: Vec<_> = (0..streams).map(one).collect();
    let mut late = Vec::new();
    for one in all {
        late.push(one.await??);
    }
    Ok(late)
}

/// Takes a stream to its end.
async fn take_all(
    tokens: usize,
    pace: Duration,
    address: SocketAddr,
    path: &'static str,
) -> Outcome<Vec<u64>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let request = request(path, &question(tokens, pace), "close");
    stream.write_all(request.as_bytes()).await?;
    let mut late = Vec::with_capacity(tokens);
    let (mut text, mut events) = (String::new(), String::new());
    let (mut buffer, mut has_begun) = (vec![0; 16384], false);
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            break;
        }
        text.push_str(&String::from_utf8_lossy(&buffer[..count]));
        if !has_begun {
            let Some(end) = text.find("\r\n\r\n") else {
                continue;
            };
            // The size of the first chunk then stands between two line ends, as all others do.
            let is_chunked = text[..end].to_lowercase().contains("chunked");
            text.drain(..end + if is_chunked { 2 } else { 4 });
            has_begun = true;
        }
        // Chunks may cut tokens. Of what is sent, nothing has a carriage return in it.
        let mut from = 0;
        while let Some(at) = text[from..].find('\r').map(|at| from + at)
            && let Some(size) = text.get(at + 2..).and_then(|rest| rest.find("\r\n"))
        {
            events.push_str(&text[from..at]);
            from = at + 2 + size + 2;
        }
        let known = text[from..].find('\r').map_or(text.len(), |at| from + at);
        events.push_str(&text[from..known]);
        text.drain(..known);
        let whole = events.rfind('\n').map_or(0, |end| end + 1);
        // Several tokens may come in one event, where they were held back.
        for piece in events[..whole].split(';') {
            let stamp = piece
                .rsplit_once('t')
                .map(|(_, stamp)| stamp.parse::<u64>());
            if let Some(Ok(stamp)) = stamp {
                late.push(now().saturating_sub(stamp));
            }
        }
        events.drain(..whole);
    }
    match late.len() == tokens {
        true => Ok(late),
        false => Err(format!("{} of {tokens} tokens have come", late.len()).into()),
    }
}

/// Lets clients come, take a little, and go without a word.
async fn vanish(clients: usize, address: SocketAddr) -> Outcome<()> {
    let all: Vec<_> = (0..clients)
        .map(|_| tokio::spawn(take_a_little(address)))
        .collect();
    for one in all {
        one.await??;
    }
    Ok(())
}

async fn take_a_little(address: SocketAddr) -> Outcome<()> {
    let mut stream = TcpStream::connect(address).await?;
    let request = request("/v1/messages", &question(1_000_000, PACE), "close");
    stream.write_all(request.as_bytes()).await?;
    let mut buffer = [0; 512];
    match stream.read(&mut buffer).await? {
        0 => Err("a client was not answered".into()),
        _ => Ok(()),
    }
}

/// Numbers that look as if by chance.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most as u64).unwrap_or(0)
    }
}

/// Sends requests with bytes taken out, put in and replaced, and gives how often each code came. Some are requests all the same.
async fn send_malformed(requests: usize, address: SocketAddr) -> Outcome<Vec<(String, usize)>> {
    let workers = 16;
    let all: Vec<_> = (0..workers)
        .map(|worker| tokio::spawn(send_some(worker, requests / workers, address)))
        .collect();
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for one in all {
        for code in one.await?? {
            *counts.entry(code).or_default() += 1;
        }
    }
    match counts.keys().find(|code| code.starts_with('5')) {
        Some(code) => Err(format!("a malformed request was answered with {code}").into()),
        None => Ok(counts.into_iter().collect()),
    }
}

/// The codes of the answers to so many requests on one connection.
async fn send_some(worker: usize, requests: usize, address: SocketAddr) -> Outcome<Vec<String>> {
    const PATHS: [&str; 3] = ["/v1/chat/completions", "/v1/responses", "/v1/messages"];
    const BODIES: [&str; 2] = [
        r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"tool_choice":"auto","n":1}"#,
        r#"{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]}],"text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"}}},"tools":[{"type":"function","name":"f"}]}"#,
    ];
    let mut chance = Chance(0x9e37_79b9 + worker as u64);
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut codes = Vec::new();
    for _ in 0..requests {
        let mut body = BODIES[chance.below(BODIES.len())].as_bytes().to_vec();
        for _ in 0..=chance.below(4) {
            let at = chance.below(body.len());
            match chance.below(4) {
                0 => body.truncate(at + 1),
                1 => body[at] = u8::try_from(chance.below(256))?,
                2 => body.insert(at, b"{}[]\",:0"[chance.below(8)]),
                _ if body.len() > 1 => {
                    body.remove(at);
                }
                _ => {}
            }
        }
        let head = request(PATHS[chance.below(3)], "", "keep-alive");
        let head = head.replace("Length: 0", &format!("Length: {}", body.len()));
        stream.write_all(&[head.as_bytes(), &body].concat()).await?;
        let (head, _) = read_message(&mut stream).await?;
        codes.push(head.split(' ').nth(1).unwrap_or_default().to_owned());
    }
    Ok(codes)
}
