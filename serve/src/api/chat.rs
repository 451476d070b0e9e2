//! Chat Completions.

use std::collections::BTreeMap;

use unjinja::completion::Delta;
use unjinja::{Object, Value};

use super::{Api, Event, Head, Writer, refuse_other_tools, used_by};
use crate::answer::{End, Reason};
use crate::conversation::{arguments, text_of};
use crate::fault::Fault;
use crate::object::object;
use crate::request::{Members, Request, ToolChoice, expected};
use crate::upstream::Used;

pub(super) struct Chat;

/// The key of thoughts, as most engines have it.
const REASONING: &str = "reasoning_content";

/// The most answers that a request may ask for.
const MOST_CHOICES: i64 = 128;

/// What of a request is read here, or is for a service and not for a model; all else is for the upstream.
const READ: &[&str] = &[
    "model",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "chat_template_kwargs",
    "stream",
    "stream_options",
    "response_format",
    "n",
    "max_tokens",
    "max_completion_tokens",
    "reasoning_effort",
    "logprobs",
    "top_logprobs",
    "functions",
    "function_call",
    "modalities",
    "audio",
    "prediction",
    "store",
    "metadata",
    "user",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "verbosity",
];

impl Api for Chat {
    fn path(&self) -> &'static str {
        "/v1/chat/completions"
    }

    fn id_prefix(&self) -> &'static str {
        "chatcmpl-"
    }

    fn read(&self, body: &Object) -> Result<Request, Fault> {
        let members = Members::new(body, "");
        let no_logprobs = "there are none: the tokens of an output are not those of the message that is made of it";
        let text = Value::from("text");
        members.refuse(&[
            ("logprobs", &[false.into()], no_logprobs),
            ("top_logprobs", &[0.into()], no_logprobs),
            ("functions", &[], "write them as `tools`"),
            ("function_call", &[], "write it as `tool_choice`"),
            ("modalities", &[vec![text].into()], "there is only text"),
            ("audio", &[], "there is only text"),
            ("prediction", &[], "nothing is predicted"),
        ])?;
        let mut request = Request::new(members.text("model")?.unwrap_or_default());
        request.messages = messages(&members)?;
        request.tools = tools(&members)?;
        request.tool_choice = tool_choice(&members)?;
        request.parallel = members.bool("parallel_tool_calls")?.unwrap_or(true);
        request.schema = schema(&members)?;
        request.variables = members
            .object("chat_template_kwargs")?
            .cloned()
            .unwrap_or_default();
        if let Some(effort) = members.text("reasoning_effort")? {
            request.think = Some(effort != "none");
            request.variables.insert("reasoning_effort", effort);
        }
        let choices = members.count("n", 1)?.unwrap_or(1);
        if choices > MOST_CHOICES {
            let message = format!("there may be {MOST_CHOICES} at most");
            return Err(Fault::of("n", message));
        }
        request.choices = usize::try_from(choices).unwrap_or(1);
        request.stream = members.bool("stream")?.unwrap_or(false);
        if let Some(options) = members.object("stream_options")? {
            let options = Members::new(options, "stream_options");
            request.usage_in_stream = options.bool("include_usage")?.unwrap_or(false);
        }
        for key in ["best_of", "echo", "suffix"] {
            if body.get(key).is_some_and(|value| !value.is_null()) {
                let message = "is not passed on: an answer is what follows the prompt, once, and nothing else";
                return Err(Fault::of(key, message));
            }
        }
        for (key, value) in body.iter() {
            if !value.is_null() && !READ.contains(&&*key.to_string_lossy()) {
                request.sampling.insert(key.clone(), value.clone());
            }
        }
        let limit = members.count("max_completion_tokens", 1)?;
        if let Some(limit) = limit.or(members.count("max_tokens", 1)?) {
            request.sampling.insert("max_tokens", limit);
        }
        Ok(request)
    }

    fn writer(&self, head: Head, _: &Object) -> Box<dyn Writer> {
        Box::new(ChatWriter {
            head,
            ends: BTreeMap::new(),
        })
    }

    fn fault(&self, fault: &Fault) -> Value {
        let kind = match fault.status.is_client_error() {
            true => "invalid_request_error",
            false => "upstream_error",
        };
        let error = object! {
            "message": fault.message.as_str(),
            "type": fault.kind.clone().unwrap_or_else(|| kind.into()),
            "param": fault.param.as_deref(),
            "code": fault.code.clone(),
        };
        object! {"error": error}.into()
    }
}

/// The messages as templates have them: arguments as objects, lists of texts as one text, and one name for whoever sets the rules.
fn messages(members: &Members) -> Result<Vec<Value>, Fault> {
    let messages = members.list("messages")?.unwrap_or_default();
    if messages.is_empty() {
        let message = "expected a list with at least one message";
        return Err(Fault::of("messages", message));
    }
    let read = |(index, message): (usize, &Value)| {
        let path = format!("messages[{index}]");
        let role = Members::of(message, &path)?.needed_text("role")?;
        let mut message = message.as_object().cloned().unwrap_or_default();
        if role == "developer" {
            message.insert("role", "system");
        }
        if let Some(content) = message.get("content").filter(|content| !content.is_null()) {
            let types = ["text", "refusal"];
            let text = text_of(content, &types, &format!("{path}.content"))?;
            message.insert("content", text);
        }
        let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
        for call in calls.into_iter().flatten() {
            let call = call.as_object_mut();
            let function = call.and_then(|call| call.get_mut("function")?.as_object_mut());
            let given = function.and_then(|function| function.get_mut("arguments"));
            if let Some(given) = given
                && let Some(text) = given.as_str()
            {
                *given = arguments(text);
            }
        }
        Ok(message.into())
    };
    messages.iter().enumerate().map(read).collect()
}

fn tools(members: &Members) -> Result<Vec<Value>, Fault> {
    members.each("tools", |tool| {
        refuse_other_tools(tool)?;
        let path = tool.path("function");
        let missing = || Fault::of(&path, "expected an object, and there is none");
        let function = tool.object("function")?.ok_or_else(missing)?;
        Members::new(function, &path).needed_text("name").map(drop)
    })?;
    Ok(members.list("tools")?.unwrap_or_default().to_vec())
}

fn tool_choice(members: &Members) -> Result<ToolChoice, Fault> {
    let Some(choice) = members.get("tool_choice") else {
        return Ok(ToolChoice::Auto);
    };
    match choice.as_str() {
        Some("auto") => Ok(ToolChoice::Auto),
        Some("none") => Ok(ToolChoice::None),
        Some("required") => Ok(ToolChoice::Required),
        _ => {
            let name = choice.pointer("/function/name").and_then(Value::as_str);
            let what =
                "auto, none, required or {\"type\": \"function\", \"function\": {\"name\": …}}";
            let name = name.ok_or_else(|| expected("tool_choice", what, choice))?;
            Ok(ToolChoice::Named(name.to_owned()))
        }
    }
}

/// The schema that an answer is to have.
fn schema(members: &Members) -> Result<Option<(&'static str, Value)>, Fault> {
    let param = "response_format";
    let Some(format) = members.object(param)? else {
        return Ok(None);
    };
    let format = Members::new(format, param);
    match format.needed_text("type")? {
        "text" => Ok(None),
        "json_object" => Ok(Some((param, object! {"type": "object"}.into()))),
        "json_schema" => {
            let path = format.path("json_schema");
            let missing = || Fault::of(&path, "expected an object, and there is none");
            let inner = format.object("json_schema")?.ok_or_else(missing)?;
            let schema = Members::new(inner, &path).object("schema")?;
            let missing = || Fault::of(&path, "expected an object with a `schema`");
            Ok(Some((param, schema.ok_or_else(missing)?.clone().into())))
        }
        kind => {
            let what = "expected text, json_object or json_schema";
            Err(Fault::of(
                &format.path("type"),
                format!("{what}, found {kind}"),
            ))
        }
    }
}

struct ChatWriter {
    head: Head,
    ends: BTreeMap<usize, End>,
}

impl ChatWriter {
    fn object(&self, kind: &str, choices: Vec<Value>) -> Object {
        object! {
            "id": self.head.id.as_str(),
            "object": kind,
            "created": self.head.created,
            "model": self.head.model.as_str(),
            "choices": choices,
        }
    }

    fn chunk(&self, choice: usize, delta: Value, reason: Option<&str>) -> Event {
        let choice = object! {
            "index": choice,
            "delta": delta,
            "finish_reason": reason,
        };
        Event::data(self.object("chat.completion.chunk", vec![choice.into()]))
    }
}

impl Writer for ChatWriter {
    fn begin(&mut self, _: &mut Vec<Event>) {}

    fn add(&mut self, choice: usize, deltas: &[Delta], out: &mut Vec<Event>) {
        let chunks = deltas.iter();
        out.extend(chunks.map(|delta| self.chunk(choice, delta.to_value(REASONING), None)));
    }

    fn end(&mut self, choice: usize, end: End, out: &mut Vec<Event>) {
        let nothing = Object::new().into();
        out.push(self.chunk(choice, nothing, Some(reason(&end))));
        self.ends.insert(choice, end);
    }

    fn close(&mut self, out: &mut Vec<Event>) {
        if self.head.usage_in_stream
            && let Some(usage) = usage(used_by(self.ends.values()))
        {
            let mut last = self.object("chat.completion.chunk", Vec::new());
            last.insert("usage", usage);
            out.push(Event::data(last));
        }
        out.push(Event {
            name: None,
            data: "[DONE]".to_owned(),
        });
    }

    fn fail(&mut self, fault: &Fault, out: &mut Vec<Event>) {
        out.push(Event::data(Chat.fault(fault)));
    }

    fn whole(&mut self) -> Value {
        let choices = self.ends.iter().map(|(index, end)| {
            let choice = object! {
                "index": *index,
                "message": end.message.to_value(REASONING),
                "finish_reason": reason(end),
            };
            choice.into()
        });
        let mut whole = self.object("chat.completion", choices.collect());
        if let Some(usage) = usage(used_by(self.ends.values())) {
            whole.insert("usage", usage);
        }
        whole.into()
    }
}

fn reason(end: &End) -> &'static str {
    match end.reason {
        Reason::Stop | Reason::StoppedBy(_) => "stop",
        Reason::Calls => "tool_calls",
        Reason::Length => "length",
    }
}

/// What was used, if the upstream has said it.
fn usage(used: Used) -> Option<Object> {
    let (prompt, completion) = (used.prompt?, used.completion?);
    Some(object! {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt.saturating_add(completion),
    })
}
