//! Requests while they are made ready: read, rendered, given a grammar, and written for the upstream.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{SystemTime, UNIX_EPOCH};

use unjinja::Value;

use crate::api::{Api, Head, Writer};
use crate::fault::Fault;
use crate::model::Ready;
use crate::request::Request;
use crate::server::Shared;
use crate::stream::Open;
use crate::upstream::{Asked, Written};
use crate::values;
use crate::work::{Expected, Wanted};

/// A request that was read, and is not ready yet. A client that goes away meanwhile makes no room for another before the work has ended.
pub(crate) struct Making {
    shared: Arc<Shared>,
    open: Open,
    /// Its length, in bytes.
    length: usize,
    request: Request,
    ready: Ready,
    head: Head,
    writer: Box<dyn Writer>,
}

/// A request that is ready.
pub(crate) struct Understood {
    pub(crate) head: Head,
    pub(crate) ready: Ready,
    pub(crate) question: Written,
    pub(crate) stream: bool,
    pub(crate) choices: usize,
    pub(crate) most_calls: usize,
}

/// A request after a step of the work on it.
pub(crate) enum Step {
    /// It is ready, and it is known how its answer is written.
    Ready(Box<Understood>, Box<dyn Writer>, Open),
    /// The rest of the work takes long.
    Long(Box<Making>),
}

impl Making {
    /// Does the work that a body is, as long as somebody waits for it, and no longer than is expected.
    pub(crate) fn begin(
        shared: &Arc<Shared>,
        api: &dyn Api,
        bytes: Vec<u8>,
        open: Open,
        (expected, wanted): (Expected, &Wanted),
    ) -> Result<Step, Fault> {
        let length = bytes.len();
        let text =
            String::from_utf8(bytes).map_err(|_| Fault::bad("the request is not valid UTF-8"))?;
        let value = values::read(&text)
            .map_err(|error| Fault::bad(format!("the request is not JSON: {error}")))?;
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
        let ready = shared.model.ready(&mut request, wanted)?;
        wanted.check()?;
        let making = Box::new(Making {
            shared: Arc::clone(shared),
            open,
            length,
            request,
            ready,
            head,
            writer,
        });
        making.go_on(expected, wanted)
    }

    /// Does what is left, if that takes no longer than is expected.
    pub(crate) fn go_on(
        mut self: Box<Self>,
        expected: Expected,
        wanted: &Wanted,
    ) -> Result<Step, Fault> {
        let shared = Arc::clone(&self.shared);
        let engine = shared.upstream.engine;
        let doing = (expected, wanted);
        let model = &shared.model;
        if !model.hold(
            &self.request,
            &mut self.ready,
            engine,
            shared.holding,
            doing,
        )? {
            return Ok(Step::Long(self));
        }
        wanted.check()?;
        let Making {
            mut open,
            length,
            mut request,
            mut ready,
            head,
            writer,
            ..
        } = *self;
        // Where the engine begins texts with it, it would stand there twice.
        let begin = model.bos_token().filter(|_| engine.adds_bos);
        let prompt = begin.and_then(|token| ready.prompt.strip_prefix(token));
        let question = shared.upstream.question(Asked {
            model: &request.model,
            prompt: prompt.unwrap_or(&ready.prompt),
            sampling: std::mem::take(&mut request.sampling),
            constraint: ready.constraint.take(),
            preserved: &model.preserved,
            is_one_of_many: request.choices > 1,
        });
        open.take_places(request.choices)?;
        let tools_and_what_is_said_again = length;
        open.held
            .set(tools_and_what_is_said_again + ready.prompt.len() + question.size())?;
        let understood = Understood {
            head,
            ready,
            question,
            stream: request.stream,
            choices: request.choices,
            most_calls: request.most_calls(),
        };
        Ok(Step::Ready(Box::new(understood), writer, open))
    }
}

/// Makes what an answer says of itself.
fn head(shared: &Shared, api: &dyn Api, request: &Request) -> Head {
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
