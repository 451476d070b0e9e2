//! What is answered where.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequest, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::future::try_join_all;
use unjinja::completion::CompletionOptions;
use unjinja::{Object, Value, json};

use crate::answer::{Answer, Choice, Watched};
use crate::api::{APIS, Api, Head};
use crate::explain::Begun;
use crate::fault::Fault;
use crate::guard;
use crate::model::{Model, Ready};
use crate::object::object;
use crate::request::Request as Asked;
use crate::server::Shared;
use crate::stream::{Open, events, whole};
use crate::upstream::Asked as Question;

/// All that is answered.
pub(crate) fn routes(shared: Arc<Shared>) -> Router {
    let mut routes = Router::new();
    for api in APIS {
        let answer = async move |State(shared): State<Arc<Shared>>, request: Request| {
            let answered = answer(&shared, api, request).await;
            let response = answered.unwrap_or_else(|fault| refusal(api, &fault));
            shared.metrics.count(api.path(), response.status());
            response
        };
        routes = routes.route(api.path(), post(answer));
    }
    routes
        .route("/health", get(healthy))
        .route("/metrics", get(metrics))
        .route("/v1/models", get(list))
        .fallback(async || {
            let paths = APIS.map(|api| api.path()).join(", ");
            let message = format!("there is nothing here: requests go to {paths}");
            refusal(APIS[0], &Fault::new(StatusCode::NOT_FOUND, message))
        })
        .method_not_allowed_fallback(async || {
            let message = "this method is not allowed: send requests with POST";
            let status = StatusCode::METHOD_NOT_ALLOWED;
            refusal(APIS[0], &Fault::new(status, message))
        })
        .layer(DefaultBodyLimit::max(shared.limits.body))
        .layer(from_fn_with_state(Arc::clone(&shared), guarded))
        .with_state(shared)
}

/// Lets through what may be answered.
async fn guarded(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    match shared.guard.refuse_pages(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(fault) => {
            let path = request.uri().path();
            let api = APIS.iter().find(|api| api.path() == path);
            refusal(*api.unwrap_or(&APIS[0]), &fault)
        }
    }
}

fn of_json(value: &Value) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (kind, json::write(value)).into_response()
}

fn refusal(api: &dyn Api, fault: &Fault) -> Response {
    let status = api.status(fault);
    let mut response = of_json(&api.fault(fault));
    *response.status_mut() = status;
    if fault.status == StatusCode::SERVICE_UNAVAILABLE {
        let soon = header::HeaderValue::from_static("1");
        response.headers_mut().insert(header::RETRY_AFTER, soon);
    }
    response
}

/// Whether requests can be answered.
async fn healthy(State(shared): State<Arc<Shared>>) -> Response {
    let is_there = shared.upstream.is_there().await;
    let (code, status) = match is_there {
        true => (StatusCode::OK, "ok"),
        false => (
            StatusCode::SERVICE_UNAVAILABLE,
            "the upstream does not answer",
        ),
    };
    let mut response = of_json(&object! {"status": status}.into());
    *response.status_mut() = code;
    response
}

async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    let kind = "text/plain; version=0.0.4";
    let text = shared.metrics.to_text();
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

/// The one model that there is.
async fn list(State(shared): State<Arc<Shared>>) -> Response {
    let model = object! {
        "id": shared.upstream.model.as_deref().unwrap_or(shared.model.name()),
        "object": "model",
        "created": 0,
        "owned_by": "unjinja",
    };
    of_json(&object! {"object": "list", "data": vec![model.into()]}.into())
}

/// A request that was read.
struct Understood {
    body: Object,
    request: Asked,
    ready: Ready,
}

/// Answers a request.
async fn answer(
    shared: &Arc<Shared>,
    api: &'static dyn Api,
    request: Request,
) -> Result<Response, Fault> {
    let headers = request.headers();
    guard::refuse_other_types(headers)?;
    let key = guard::key(headers);
    let Ok(room) = Arc::clone(&shared.room).try_acquire_owned() else {
        let message = format!(
            "{} requests are being answered, and there is no room for more",
            shared.limits.requests
        );
        return Err(Fault::new(StatusCode::SERVICE_UNAVAILABLE, message));
    };
    let open = Open::new(Arc::clone(shared), room);
    let bytes = body(shared, request).await?;
    // A client that goes away meanwhile does not end the work, and makes no room for another.
    let understanding = {
        let shared = Arc::clone(shared);
        tokio::task::spawn_blocking(move || (understand(&shared, api, &bytes), open))
    };
    let (understood, open) = understanding.await.map_err(|_| {
        Fault::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the request could not be read",
        )
    })?;
    let understood = understood?;
    if let Some(warning) = &understood.ready.warning {
        (shared.tell)(&format!("warning: {warning}"));
    }
    let head = head(shared, api, &understood.request);
    let choices = ask(shared, api, &understood, &head, key.as_ref()).await?;
    let writer = api.writer(head, &understood.body);
    let answer = Answer::new(choices);
    if !understood.request.stream {
        return Ok(of_json(&whole(answer, writer, open).await?));
    }
    let kind = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    Ok((kind, Body::from_stream(events(answer, writer, open))).into_response())
}

async fn body(shared: &Shared, request: Request) -> Result<Bytes, Fault> {
    let body = tokio::time::timeout(shared.limits.to_come_in, Bytes::from_request(request, &()));
    let body = body.await.map_err(|_| {
        let message = "the request takes too long to come in";
        Fault::new(StatusCode::REQUEST_TIMEOUT, message)
    })?;
    body.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let most = shared.limits.body;
            let message = format!("the request is larger than {most} bytes: see `--max-body`");
            Fault::new(StatusCode::PAYLOAD_TOO_LARGE, message)
        }
        status => Fault::new(status, error.body_text()),
    })
}

/// Reads a request, and makes it ready.
fn understand(shared: &Shared, api: &dyn Api, bytes: &[u8]) -> Result<Understood, Fault> {
    let text =
        std::str::from_utf8(bytes).map_err(|_| Fault::bad("the request is not valid UTF-8"))?;
    let value = json::read(text)
        .map_err(|error| Fault::bad(format!("the request is not JSON: {error}")))?;
    let Value::Object(body) = value else {
        let found = value.type_name();
        return Err(Fault::bad(format!("expected an object, found {found}")));
    };
    let request = api.read(&body)?;
    let engine = shared.upstream.engine;
    let ready = shared.model.ready(&request, engine, shared.holding)?;
    Ok(Understood {
        body,
        request,
        ready,
    })
}

/// What an answer says of itself.
fn head(shared: &Shared, api: &dyn Api, request: &Asked) -> Head {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let number = shared.answered.fetch_add(1, Relaxed);
    Head {
        id: format!("{}{:x}{number:04x}", api.id_prefix(), now.as_nanos()),
        model: request.model.clone(),
        created: i64::try_from(now.as_secs()).unwrap_or_default(),
        usage_in_stream: request.usage_in_stream,
    }
}

/// Asks the upstream for each choice.
async fn ask(
    shared: &Shared,
    api: &dyn Api,
    understood: &Understood,
    head: &Head,
    key: Option<&HeaderValue>,
) -> Result<Vec<Choice>, Fault> {
    let (request, ready) = (&understood.request, &understood.ready);
    let engine = shared.upstream.engine;
    // Where the engine begins texts with it, it would stand there twice.
    let begin = shared.model.bos_token().filter(|_| engine.adds_bos);
    let prompt = begin.and_then(|token| ready.prompt.strip_prefix(token));
    let prompt = prompt.unwrap_or(&ready.prompt);
    let one = async |index: usize| {
        let mut sampling = request.sampling.clone();
        // With the same seed, all would be the same.
        let seed = sampling
            .get("seed")
            .and_then(|seed| seed.as_number()?.as_i64());
        if let (Some(seed), Ok(index @ 1..)) = (seed, i64::try_from(index)) {
            sampling.insert("seed", seed.wrapping_add(index));
        }
        let question = Question {
            model: request.model.clone(),
            prompt: prompt.to_owned(),
            sampling,
            constraint: ready.constraint.clone(),
            preserved: shared.model.preserved.clone(),
        };
        let reading = shared.upstream.ask(&question, key).await?;
        let id = head.bare_id();
        let options = CompletionOptions::default()
            .unknown_tools(shared.unknown_tools)
            .id(match index {
                0 => id.to_owned(),
                index => format!("{id}_{index}"),
            });
        let completion = shared.model.completion(ready, options)?;
        let recorder = shared.recorder.as_ref();
        let watched = Watched {
            record: recorder
                .map(|recorder| recorder.begin(&head.id, &ready.prompt, ready.tools.as_list())),
            explanation: shared.explain.as_ref().map(|explain| {
                let template = &shared.model.response_template;
                let begun = Begun::new(&head.id, api.path(), &ready.prompt, template);
                let options = Model::parser_options(ready);
                explain.begin(&begun.choice(index).options(options))
            }),
        };
        let most = request.most_calls();
        Ok(Choice::new(index, reading, completion, most, watched))
    };
    try_join_all((0..request.choices).map(one)).await
}
