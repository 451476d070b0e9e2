//! A server that gives structured answers where there is only a completion endpoint.
//!
//! ```console
//! $ unjinja-server SOURCE --upstream http://127.0.0.1:8000/v1 --listen 127.0.0.1:8080
//! ```
//!
//! SOURCE is whatever has the model's chat template in it, as for `unjinja derive`. The response template is the one
//! beside it, or else derived. A request to `/v1/chat/completions` is rendered to a prompt, the prompt goes
//! to `/completions` of the upstream, and what comes back is read while it is written: thoughts, text and calls become
//! `chat.completion.chunk`s, or, where nobody wants a stream, a `chat.completion`.
//!
//! It is for programs, and not for pages in a browser: what a page sends has an `Origin`, and is refused, as are requests
//! for names that the server is not known by. Names that it has beside addresses and `localhost` are given by `--host`.

#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::env;
use std::error::Error;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequest, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures_util::stream;

use unjinja::chat_template::{ChatTemplate, LoadOptions, PreparedTemplate, RenderInput, Source};
use unjinja::completion::{Completion, CompletionOptions, Ending, Finished};
use unjinja::derive::{DeriveOptions, derive};
use unjinja::{Object, OnMalformed, ParserOptions, ResponseTemplate, Tools, Value, json};

/// The largest request that is read.
const MAX_SIZE: usize = 64 << 20;

/// So much is read of an answer, in which each token has an event of its own.
const MAX_ANSWER: usize = 256 << 20;

/// So much is read of what the upstream says to be wrong.
const MAX_ERROR: usize = 64 << 10;

/// How long a request may take to come in.
const TO_COME_IN: Duration = Duration::from_secs(60);
/// How long it may take to reach the upstream.
const TO_CONNECT: Duration = Duration::from_secs(10);
/// How long the upstream may say nothing: first it reads the prompt, and others may come before.
const TO_SAY_MORE: Duration = Duration::from_secs(600);

/// What of a request is for this server, and not for the upstream.
const OURS: [&str; 12] = [
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "chat_template_kwargs",
    "stream",
    "stream_options",
    "response_format",
    "n",
    // A number there, and nothing but `false` here.
    "logprobs",
    "top_logprobs",
    "max_completion_tokens",
];

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let usage = "usage: unjinja-server SOURCE --upstream URL [--listen ADDRESS] [--host NAME]...";
    let (mut source, mut upstream) = (None, None);
    let mut hosts = vec!["localhost".to_owned()];
    let mut listen = "127.0.0.1:8080".to_owned();
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--upstream" => upstream = arguments.next(),
            "--listen" => listen = arguments.next().ok_or(usage)?,
            "--host" => hosts.push(arguments.next().ok_or(usage)?.to_ascii_lowercase()),
            _ => source = Some(argument),
        }
    }
    let model = Model::load(&source.ok_or(usage)?, &upstream.ok_or(usage)?, hosts)?;
    let routes = Router::new()
        .route("/v1/chat/completions", post(answer))
        .fallback(async || {
            Fault::new(
                StatusCode::NOT_FOUND,
                "there is only `POST /v1/chat/completions`",
            )
        })
        .layer(DefaultBodyLimit::max(MAX_SIZE))
        .with_state(Arc::new(model));
    let listener = tokio::net::TcpListener::bind(&listen).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, routes).await?;
    Ok(())
}

/// A model: how it is asked and read, and where it is.
struct Model {
    chat_template: PreparedTemplate,
    tokens: (Option<String>, Option<String>),
    response_template: ResponseTemplate,
    completions: String,
    /// The names that the server is known by.
    hosts: Vec<String>,
    client: reqwest::Client,
    answered: AtomicU64,
}

impl Model {
    fn load(source: &str, upstream: &str, hosts: Vec<String>) -> Result<Model, Box<dyn Error>> {
        let template = ChatTemplate::load(&Source::parse(source)?, &LoadOptions::default())?;
        let response_template = match &template.response_template {
            Some(value) => ResponseTemplate::from_value(value)?,
            None => {
                let derived = derive(&template, &DeriveOptions::default())?;
                if !derived.is_whole() {
                    eprintln!(
                        "warning: not all turns are read back: see `unjinja derive {source}`"
                    );
                }
                derived.template
            }
        };
        Ok(Model {
            chat_template: template.prepare(),
            tokens: (template.bos_token, template.eos_token),
            response_template,
            completions: format!("{}/completions", upstream.trim_end_matches('/')),
            hosts,
            // Where an upstream sends others, it may send what they say.
            client: reqwest::Client::builder()
                .redirect(reqwest::redirect::Policy::none())
                .connect_timeout(TO_CONNECT)
                .read_timeout(TO_SAY_MORE)
                .build()?,
            answered: AtomicU64::new(0),
        })
    }

    /// Refuses what a page in a browser could send without its reader's knowledge: pages may send texts anywhere, and read
    /// what comes back from whatever has their own name, which may be made to lead here.
    fn refuse_pages(&self, headers: &HeaderMap) -> Result<(), Fault> {
        let text =
            |name: header::HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let host = text(header::HOST).unwrap_or_default();
        if !self.is_known_by(host) {
            let message = format!("the server is not known by the name {host:?}: see `--host`");
            return Err(Fault::new(StatusCode::MISDIRECTED_REQUEST, message));
        }
        if headers.contains_key(header::ORIGIN) {
            let message = "this is for programs: pages in a browser are not answered";
            return Err(Fault::new(StatusCode::FORBIDDEN, message));
        }
        let kind = text(header::CONTENT_TYPE).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        match kind.eq_ignore_ascii_case("application/json") {
            true => Ok(()),
            false => Err(Fault::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "expected a request with `Content-Type: application/json`",
            )),
        }
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

    /// The prompt of a request.
    fn prompt(&self, request: &Object) -> Result<String, Fault> {
        let messages = request.get("messages").and_then(Value::as_array);
        let Some(messages) = messages.filter(|messages| !messages.is_empty()) else {
            return Err(Fault::bad(
                "`messages`: expected a list with at least one message",
            ));
        };
        let variables = match request.get("chat_template_kwargs") {
            None | Some(Value::Null) => Object::new(),
            Some(Value::Object(variables)) => variables.clone(),
            Some(_) => return Err(Fault::bad("`chat_template_kwargs`: expected an object")),
        };
        let (bos_token, eos_token) = self.tokens.clone();
        let input = RenderInput {
            messages: messages.iter().map(as_templates_have_it).collect(),
            tools: tools(request).cloned().unwrap_or_default(),
            add_generation_prompt: true,
            variables,
            bos_token,
            eos_token,
            ..RenderInput::default()
        };
        let rendered = self
            .chat_template
            .renderer()
            .and_then(|renderer| renderer.render(&input));
        match rendered {
            Ok(rendered) => Ok(rendered.text),
            Err(error) => Err(Fault::bad(format!(
                "the chat template refuses the messages: {error}"
            ))),
        }
    }

    /// Reads what the model writes after the prompt.
    fn completion(&self, request: &Object, prompt: &str) -> Result<Completion, Fault> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let number = self.answered.fetch_add(1, Ordering::Relaxed);
        let options = CompletionOptions::default()
            .id(format!("chatcmpl-{:x}-{number:x}", now.as_nanos()))
            .model(
                request
                    .get("model")
                    .and_then(Value::as_str)
                    .unwrap_or_default(),
            )
            .created(i64::try_from(now.as_secs()).unwrap_or_default());
        // A call that is not what it should be is no reason to withhold the rest.
        let parser = ParserOptions::default()
            .tools(tools(request).map_or_else(Tools::none, Tools::from_value))
            .on_malformed(OnMalformed::Event);
        Completion::new(&self.response_template, prompt, parser, options).map_err(Fault::unreadable)
    }

    /// Sends the prompt upstream, with all that the request says of sampling.
    async fn ask(
        &self,
        request: &Object,
        prompt: String,
        headers: &HeaderMap,
    ) -> Result<Upstream, Fault> {
        let mut asked = Object::new();
        for (key, value) in request.iter() {
            if !OURS.contains(&&*key.to_string_lossy()) {
                asked.insert(key.clone(), value.clone());
            }
        }
        let limit = request.get("max_completion_tokens");
        if let Some(limit) = limit.filter(|limit| !limit.is_null()) {
            asked.insert("max_tokens", limit.clone());
        }
        asked.insert("prompt", prompt);
        asked.insert("stream", true);
        asked.insert(
            "stream_options",
            Object::from_iter([("include_usage", true)]),
        );
        // The prompt has the tokens that begin it, and what ends thoughts and calls may be a special token.
        for (key, value) in [
            ("add_special_tokens", false),
            ("skip_special_tokens", false),
        ] {
            if !request.contains_key(key) {
                asked.insert(key, value);
            }
        }
        let mut post = self
            .client
            .post(&self.completions)
            .header(header::CONTENT_TYPE, "application/json")
            .body(json::write(&asked.into()));
        if let Some(key) = headers.get(header::AUTHORIZATION) {
            post = post.header(header::AUTHORIZATION, key);
        }
        let mut response = post.send().await.map_err(Fault::unreachable)?;
        if response.status().is_success() {
            return Ok(Upstream::new(response));
        }
        let status = response.status();
        let mut text = Vec::new();
        while let Some(bytes) = response.chunk().await.map_err(Fault::unreachable)? {
            let left = MAX_ERROR - text.len();
            text.extend(bytes.iter().take(left));
            if bytes.len() > left {
                break;
            }
        }
        let text = String::from_utf8_lossy(&text);
        // The client is not to go elsewhere, either.
        match status.is_client_error() || status.is_server_error() {
            true => Err(Fault::of_upstream(status, &text)),
            false => Err(Fault::bad_gateway(format!("the upstream answers {status}"))),
        }
    }
}

/// The tools that the model may call.
fn tools(request: &Object) -> Option<&Value> {
    let is_none = request.get("tool_choice").and_then(Value::as_str) == Some("none");
    request
        .get("tools")
        .filter(|tools| !tools.is_null() && !is_none)
}

/// A message as chat templates take it: arguments as objects, and a list of texts as one text.
fn as_templates_have_it(message: &Value) -> Value {
    let mut message = message.clone();
    let Some(members) = message.as_object_mut() else {
        return message;
    };
    for call in members
        .get_mut("tool_calls")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let function = call
            .as_object_mut()
            .and_then(|call| call.get_mut("function"));
        let arguments =
            function.and_then(|function| function.as_object_mut()?.get_mut("arguments"));
        if let Some(arguments) = arguments
            && let Some(Ok(object @ Value::Object(_))) = arguments.as_str().map(json::read)
        {
            *arguments = object;
        }
    }
    let parts = members.get("content").and_then(Value::as_array);
    let texts = parts.map(|parts| parts.iter().map(|part| part.get("text")?.as_str()));
    if let Some(text) = texts.and_then(|texts| texts.collect::<Option<String>>()) {
        members.insert("content", text);
    }
    message
}

/// Answers a request.
async fn answer(
    State(model): State<Arc<Model>>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Fault> {
    model.refuse_pages(&headers)?;
    let body = tokio::time::timeout(TO_COME_IN, Bytes::from_request(request, &()));
    let body = body.await.map_err(|_| {
        let message = "the request takes too long to come in";
        Fault::new(StatusCode::REQUEST_TIMEOUT, message)
    })?;
    let body = body.map_err(|error| Fault::new(error.status(), error.body_text()))?;
    let request = std::str::from_utf8(&body)
        .map_err(|_| Fault::bad("the request is not valid UTF-8"))
        .and_then(|text| {
            json::read(text)
                .map_err(|error| Fault::bad(format!("the request is not JSON: {error}")))
        })?;
    let Value::Object(request) = request else {
        return Err(Fault::bad("expected an object"));
    };
    refuse_what_needs_more(&request)?;
    let prompt = model.prompt(&request)?;
    let completion = model.completion(&request, &prompt)?;
    let upstream = model.ask(&request, prompt, &headers).await?;
    let wants_usage = request
        .get("stream_options")
        .and_then(|options| options.get("include_usage")?.as_bool());
    let answering = Answering {
        upstream,
        waiting: completion
            .initial_deltas()
            .iter()
            .map(|delta| completion.chunk(delta))
            .collect(),
        completion: Some(completion),
        wants_usage: wants_usage.unwrap_or(false),
    };
    if request.get("stream").and_then(Value::as_bool) != Some(true) {
        let whole = answering.whole().await?;
        return Ok((
            [(header::CONTENT_TYPE, "application/json")],
            json::write(&whole),
        )
            .into_response());
    }
    // When the client goes away the stream is dropped, and with it the request upstream.
    let events = stream::unfold(Some(answering), |answering| async {
        let mut answering = answering?;
        match answering.next().await {
            Ok(Some(chunk)) => Some((event(&json::write(&chunk)), Some(answering))),
            Ok(None) => Some((event("[DONE]"), None)),
            Err(fault) => Some((event(&json::write(&fault.to_value())), None)),
        }
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    Ok((headers, Body::from_stream(events)).into_response())
}

fn event(data: &str) -> Result<String, std::convert::Infallible> {
    Ok(format!("data: {data}\n\n"))
}

/// Refuses what a completion endpoint can't do by itself, which is better than not to do it.
fn refuse_what_needs_more(request: &Object) -> Result<(), Fault> {
    let is = |key: &str, fine: &[Value]| {
        let value = request.get(key).filter(|value| !value.is_null());
        value.is_none_or(|value| fine.contains(value))
    };
    let text = Object::from_iter([("type", "text")]);
    for (key, fine, what) in [
        ("n", vec![1.into()], "only one answer at a time"),
        (
            "tool_choice",
            vec!["auto".into(), "none".into()],
            "only `auto` and `none`",
        ),
        ("response_format", vec![text.into()], "only text"),
        ("logprobs", vec![false.into()], "there are none"),
    ] {
        if !is(key, &fine) {
            return Err(Fault::bad(format!("`{key}`: {what}")));
        }
    }
    match request.get("tools") {
        None | Some(Value::Null | Value::Array(_)) => Ok(()),
        Some(_) => Err(Fault::bad("`tools`: expected a list")),
    }
}

/// An answer while it comes in.
struct Answering {
    upstream: Upstream,
    /// Chunks that have not been sent yet.
    waiting: VecDeque<Value>,
    /// None when the output has ended.
    completion: Option<Completion>,
    wants_usage: bool,
}

impl Answering {
    /// The next chunk to be sent.
    async fn next(&mut self) -> Result<Option<Value>, Fault> {
        while self.waiting.is_empty() {
            let Some(completion) = &mut self.completion else {
                return Ok(None);
            };
            let text = self.upstream.next().await?;
            match text {
                Some(text) => {
                    let deltas = completion.feed(&text).map_err(Fault::unreadable)?;
                    self.waiting
                        .extend(deltas.iter().map(|delta| completion.chunk(delta)));
                }
                None => self.end()?,
            }
        }
        Ok(self.waiting.pop_front())
    }

    /// The upstream has ended.
    fn end(&mut self) -> Result<(), Fault> {
        let Some(completion) = self.completion.take() else {
            return Ok(());
        };
        let finished = completion
            .finish(self.upstream.ending)
            .map_err(Fault::unreadable)?;
        warn_of_malformed(&finished);
        self.waiting.extend(finished.chunks());
        if let Some(usage) = self.upstream.usage.take().filter(|_| self.wants_usage)
            && let Value::Object(mut last) = finished.to_value()
        {
            last.insert("object", "chat.completion.chunk");
            last.insert("choices", Vec::new());
            last.insert("usage", usage);
            self.waiting.push_back(last.into());
        }
        Ok(())
    }

    /// The whole answer at once.
    async fn whole(mut self) -> Result<Value, Fault> {
        let Some(mut completion) = self.completion.take() else {
            return Err(Fault::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the answer has ended",
            ));
        };
        while let Some(text) = self.upstream.next().await? {
            completion
                .feed_with(&text, |_| {})
                .map_err(Fault::unreadable)?;
        }
        let finished = completion
            .finish(self.upstream.ending)
            .map_err(Fault::unreadable)?;
        warn_of_malformed(&finished);
        let mut whole = finished.to_value();
        if let (Some(usage), Some(whole)) = (self.upstream.usage, whole.as_object_mut()) {
            whole.insert("usage", usage);
        }
        Ok(whole)
    }
}

/// Says what of an answer its client can't see to be wrong.
fn warn_of_malformed(finished: &Finished) {
    for field in &finished.malformed {
        eprintln!(
            "warning: a region of `{field}` could not be read, and stays as far as it was sent"
        );
    }
}

/// What the model writes, as it comes in.
struct Upstream {
    response: reqwest::Response,
    /// Bytes that are no whole line yet.
    buffer: Vec<u8>,
    /// So many of them hold no end of a line.
    searched: usize,
    /// How many bytes have come.
    length: usize,
    ending: Ending,
    usage: Option<Value>,
    has_ended: bool,
}

impl Upstream {
    fn new(response: reqwest::Response) -> Upstream {
        Upstream {
            response,
            buffer: Vec::new(),
            searched: 0,
            length: 0,
            ending: Ending::Stop,
            usage: None,
            has_ended: false,
        }
    }

    /// The next piece of text; none at the end.
    async fn next(&mut self) -> Result<Option<String>, Fault> {
        loop {
            if let Some(line) = self.line() {
                match line.strip_prefix("data:").map(str::trim) {
                    Some("[DONE]") => return Ok(None),
                    Some(data) => match self.text(data)? {
                        Some(text) => return Ok(Some(text)),
                        None => continue,
                    },
                    None => continue,
                }
            }
            if self.length > MAX_ANSWER {
                return Err(Fault::bad_gateway("the upstream's answer has no end"));
            }
            match self.response.chunk().await.map_err(Fault::unreachable)? {
                Some(bytes) => {
                    self.length += bytes.len();
                    self.buffer.extend_from_slice(&bytes);
                }
                None if self.has_ended => return Ok(None),
                None => return Err(Fault::bad_gateway("the upstream has ended amid its answer")),
            }
        }
    }

    /// Takes the next whole line out of the buffer.
    fn line(&mut self) -> Option<String> {
        let rest = &self.buffer[self.searched..];
        let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
            self.searched = self.buffer.len();
            return None;
        };
        let line: Vec<u8> = self.buffer.drain(..=self.searched + end).collect();
        self.searched = 0;
        Some(String::from_utf8_lossy(&line).into_owned())
    }

    /// The text in an event, and whatever else is in it.
    fn text(&mut self, data: &str) -> Result<Option<String>, Fault> {
        let event = json::read(data)
            .map_err(|error| Fault::bad_gateway(format!("the upstream sends no JSON: {error}")))?;
        if event.get("error").is_some_and(|error| !error.is_null()) {
            return Err(Fault::of_upstream(StatusCode::BAD_GATEWAY, data));
        }
        if let Some(usage) = event.get("usage").filter(|usage| !usage.is_null()) {
            self.usage = Some(usage.clone());
        }
        let Some(choice) = event.pointer("/choices/0") else {
            return Ok(None);
        };
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            self.has_ended = true;
            if reason == "length" {
                self.ending = Ending::Length;
            }
        }
        let text = choice.get("text").and_then(Value::as_str);
        Ok(text.filter(|text| !text.is_empty()).map(str::to_owned))
    }
}

/// What is wrong, in the shape that clients expect.
#[derive(Debug)]
struct Fault {
    status: StatusCode,
    /// What stands under `error`.
    error: Value,
}

impl Fault {
    fn new(status: StatusCode, message: impl Into<String>) -> Fault {
        let kind = match status.is_client_error() {
            true => "invalid_request_error",
            false => "upstream_error",
        };
        let error = Object::from_iter([
            ("message", Value::from(message.into())),
            ("type", kind.into()),
            ("param", Value::Null),
            ("code", Value::Null),
        ]);
        Fault {
            status,
            error: error.into(),
        }
    }

    fn bad(message: impl Into<String>) -> Fault {
        Fault::new(StatusCode::BAD_REQUEST, message)
    }

    fn bad_gateway(message: impl Into<String>) -> Fault {
        Fault::new(StatusCode::BAD_GATEWAY, message)
    }

    fn unreachable(error: reqwest::Error) -> Fault {
        let cause = error
            .source()
            .map_or_else(String::new, |cause| format!(": {cause}"));
        Fault::bad_gateway(format!("the upstream can't be reached: {error}{cause}"))
    }

    fn unreadable(error: unjinja::ParseError) -> Fault {
        Fault::bad_gateway(format!("the model's output can't be read: {error}"))
    }

    /// What the upstream says is wrong, in its own words.
    fn of_upstream(status: StatusCode, text: &str) -> Fault {
        let error = json::read(text)
            .ok()
            .and_then(|value| value.get("error").cloned());
        match error {
            Some(error @ Value::Object(_)) => Fault { status, error },
            Some(error) if error.as_str().is_some() => {
                Fault::new(status, error.as_str().unwrap_or_default())
            }
            _ => Fault::new(status, format!("the upstream answers {status}: {text}")),
        }
    }

    fn to_value(&self) -> Value {
        Object::from_iter([("error", self.error.clone())]).into()
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let body = json::write(&self.to_value());
        (
            self.status,
            [(header::CONTENT_TYPE, "application/json")],
            body,
        )
            .into_response()
    }
}
