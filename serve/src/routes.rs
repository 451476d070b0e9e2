//! What is answered where.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::future::try_join_all;
use unjinja::completion::CompletionOptions;
use unjinja::{Value, json};

use crate::answer::{Answer, Choice, Watched};
use crate::api::{APIS, Api, Head, Writer};
use crate::arrivals::{Arrival, Seat};
use crate::explain::Begun;
use crate::fault::Fault;
use crate::guard;
use crate::held::Held;
use crate::model::{Model, Ready};
use crate::object::object;
use crate::pieces::Pieces;
use crate::receiving::Receiving;
use crate::record::Recorded;
use crate::request::Request as Asked;
use crate::server::Shared;
use crate::stream::{Open, events, whole};
use crate::upstream::{Asked as Question, Written};
use crate::values;
use crate::work::Wanted;

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
    let text = shared.metrics.to_text(shared.held.taken());
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

/// A request that was read, and made ready.
struct Understood {
    head: Head,
    ready: Ready,
    question: Written,
    stream: bool,
    choices: usize,
    most_calls: usize,
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
    let seat = request.extensions().get::<Arc<Seat>>();
    let seat = seat.map_or_else(|| Seat::new(&shared.arrivals), Arc::clone);
    let arrival = Arrival::begin(seat);
    let mut held = Held::new(&shared.held);
    let receiving = Receiving {
        limits: &shared.limits,
        arrivals: &shared.arrivals,
        room: &shared.held,
    };
    let received = receiving.all(request.into_body(), &arrival, &mut held);
    let bytes = received.await?;
    // What comes in slowly takes nobody's place.
    let mut open = Open::new(shared, arrival, held)?;
    let length = bytes.len();
    let for_work = Arc::clone(shared);
    // A client that goes away meanwhile makes no room for another before the work has ended.
    let understanding = move |wanted: &Wanted| {
        let (understood, writer) = understand(&for_work, api, bytes, wanted)?;
        open.take_places(understood.choices)?;
        open.held.set(understood.size(length))?;
        Ok((understood, writer, open))
    };
    let (mut understood, writer, open) = shared.work.run(length, understanding).await??;
    if let Some(warning) = understood.ready.warning.take() {
        (shared.tell)(&format!("warning: {warning}"));
    }
    let choices = ask(shared, api, &understood, key.as_ref()).await?;
    let answer = Answer::new(choices);
    if !understood.stream {
        let (whole, open) = whole(answer, writer, open).await?;
        let kind = [(header::CONTENT_TYPE, "application/json")];
        return Ok((kind, Body::new(Pieces::new([whole], open))).into_response());
    }
    let kind = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    Ok((kind, Body::from_stream(events(answer, writer, open))).into_response())
}

impl Understood {
    /// About how much it holds, of a request of so many bytes.
    fn size(&self, length: usize) -> usize {
        let tools_and_what_is_said_again = length;
        tools_and_what_is_said_again + self.ready.prompt.len() + self.question.size()
    }
}

/// Reads a request, and makes it ready, as long as somebody waits for it.
fn understand(
    shared: &Shared,
    api: &dyn Api,
    bytes: Vec<u8>,
    wanted: &Wanted,
) -> Result<(Understood, Box<dyn Writer>), Fault> {
    let text =
        String::from_utf8(bytes).map_err(|_| Fault::bad("the request is not valid UTF-8"))?;
    let value = values::read(&text).map_err(|error| {
        Fault::bad(format!("the request is not JSON that can be read: {error}"))
    })?;
    drop(text);
    wanted.check()?;
    let Value::Object(body) = value else {
        let found = value.type_name();
        return Err(Fault::bad(format!("expected an object, found {found}")));
    };
    let mut request = api.read(&body)?;
    let head = head(shared, api, &request);
    let writer = api.writer(head.clone(), &body);
    drop(body);
    wanted.check()?;
    let engine = shared.upstream.engine;
    let mut ready = shared
        .model
        .ready(&mut request, engine, shared.holding, wanted)?;
    wanted.check()?;
    // Where the engine begins texts with it, it would stand there twice.
    let begin = shared.model.bos_token().filter(|_| engine.adds_bos);
    let prompt = begin.and_then(|token| ready.prompt.strip_prefix(token));
    let question = shared.upstream.question(Question {
        model: &request.model,
        prompt: prompt.unwrap_or(&ready.prompt),
        sampling: std::mem::take(&mut request.sampling),
        constraint: ready.constraint.take(),
        preserved: &shared.model.preserved,
        is_one_of_many: request.choices > 1,
    });
    let understood = Understood {
        head,
        ready,
        question,
        stream: request.stream,
        choices: request.choices,
        most_calls: request.most_calls(),
    };
    Ok((understood, writer))
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
    key: Option<&HeaderValue>,
) -> Result<Vec<Choice>, Fault> {
    let (head, ready) = (&understood.head, &understood.ready);
    let recorder = shared.recorder.as_ref();
    let recorded =
        recorder.map(|recorder| recorder.request(&head.id, &ready.prompt, ready.tools.as_list()));
    let one = async |index: usize| {
        let held = Held::new(&shared.held);
        let question = understood.question.of_choice(index);
        let reading = shared.upstream.ask(question, key, held).await?;
        let id = head.bare_id();
        let options = CompletionOptions::default().id(match index {
            0 => id.to_owned(),
            index => format!("{id}_{index}"),
        });
        let completion = shared.model.completion(ready, options)?;
        let watched = Watched {
            record: recorded.as_ref().map(Recorded::begin),
            explanation: shared.explain.as_ref().map(|explain| {
                let template = &shared.model.response_template;
                let begun = Begun::new(&head.id, api.path(), &ready.prompt, template);
                let options = Model::parser_options(ready);
                explain.begin(&begun.choice(index).options(options))
            }),
        };
        let most = understood.most_calls;
        Ok(Choice::new(index, reading, completion, most, watched))
    };
    try_join_all((0..understood.choices).map(one)).await
}
