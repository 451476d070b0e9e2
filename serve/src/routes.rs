//! What is answered where.

use std::sync::Arc;

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
use crate::api::{APIS, Api};
use crate::arrivals::{Arrival, Seat};
use crate::explain::Begun;
use crate::fault::Fault;
use crate::guard;
use crate::held::Held;
use crate::making::{Making, Step, Understood};
use crate::model::Model;
use crate::object::object;
use crate::pieces::Pieces;
use crate::receiving::Receiving;
use crate::record::Recorded;
use crate::server::Shared;
use crate::stream::{Open, events, whole};
use crate::work::{Expected, Wanted};

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
    let open = Open::new(shared, arrival, held)?;
    let expected = Expected::of(bytes.len());
    let for_work = Arc::clone(shared);
    let begin =
        move |wanted: &Wanted| Making::begin(&for_work, api, bytes, open, (expected, wanted));
    let mut step = shared.work.run(expected, begin).await??;
    let (mut understood, writer, open) = loop {
        match step {
            Step::Ready(understood, writer, open) => break (understood, writer, open),
            Step::Long(making) => {
                let go_on = move |wanted: &Wanted| making.go_on(Expected::Long, wanted);
                step = shared.work.run(Expected::Long, go_on).await??;
            }
        }
    };
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
        let options = CompletionOptions::default()
            .unknown_tools(shared.unknown_tools)
            .id(match index {
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
