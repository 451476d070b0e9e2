//! Anthropic's Messages.

use axum::http::StatusCode;
use unjinja::completion::Delta;
use unjinja::{Object, Value, json};

use super::{Api, Event, Head, Writer, used_by};
use crate::answer::{End, Reason};
use crate::blocks::{Block, Blocks, Step};
use crate::conversation::{Conversation, no_text, text_of};
use crate::fault::Fault;
use crate::object::object;
use crate::request::{Members, Request, ToolChoice, expected};

pub(super) struct Messages;

impl Api for Messages {
    fn path(&self) -> &'static str {
        "/v1/messages"
    }

    fn id_prefix(&self) -> &'static str {
        "msg_"
    }

    fn read(&self, body: &Object) -> Result<Request, Fault> {
        let members = Members::new(body, "");
        members.refuse(&[
            ("container", &[], "nothing is run here"),
            ("mcp_servers", &[vec![].into()], "no servers are asked here"),
        ])?;
        let mut request = Request::new(members.needed_text("model")?);
        let mut conversation = Conversation::default();
        if let Some(system) = members.get("system") {
            conversation.say("system", &text_of(system, &["text"], "system")?);
        }
        messages(&members, &mut conversation)?;
        request.messages = conversation.into_messages();
        request.tools = tools(&members)?;
        if let Some(choice) = members.object("tool_choice")? {
            let choice = Members::new(choice, "tool_choice");
            request.tool_choice = tool_choice(&choice)?;
            request.parallel = !choice.bool("disable_parallel_tool_use")?.unwrap_or(false);
        }
        request.schema = schema(&members)?;
        if let Some(thinking) = members.object("thinking")? {
            let kind = Members::new(thinking, "thinking").needed_text("type")?;
            request.think = Some(kind != "disabled");
        }
        if let Some(variables) = members.object("chat_template_kwargs")? {
            request.variables.extend(variables.clone());
        }
        request.stream = members.bool("stream")?.unwrap_or(false);
        let sampling = ["temperature", "top_p", "top_k", "min_p", "seed"];
        members.copy(&sampling, &mut request.sampling);
        if let Some(stop) = members
            .list("stop_sequences")?
            .filter(|stop| !stop.is_empty())
        {
            request.sampling.insert("stop", stop.to_vec());
        }
        let missing = || Fault::of("max_tokens", "expected a whole number, and there is none");
        let limit = members.count("max_tokens", 1)?.ok_or_else(missing)?;
        request.sampling.insert("max_tokens", limit);
        Ok(request)
    }

    fn writer(&self, head: Head, _: &Object) -> Box<dyn Writer> {
        Box::new(MessageWriter {
            head,
            blocks: Blocks::default(),
            end: None,
        })
    }

    fn fault(&self, fault: &Fault) -> Value {
        let kind = match fault.status.as_u16() {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            503 | 529 => "overloaded_error",
            400..500 => "invalid_request_error",
            _ => "api_error",
        };
        let error = object! {"type": kind, "message": fault.message.as_str()};
        object! {"type": "error", "error": error}.into()
    }

    fn status(&self, fault: &Fault) -> StatusCode {
        match fault.status {
            // This interface has a code of its own for it.
            StatusCode::SERVICE_UNAVAILABLE => StatusCode::from_u16(529).unwrap_or(fault.status),
            status => status,
        }
    }
}

fn messages(members: &Members, conversation: &mut Conversation) -> Result<(), Fault> {
    let messages = members.list("messages")?.unwrap_or_default();
    if messages.is_empty() {
        let message = "expected a list with at least one message";
        return Err(Fault::of("messages", message));
    }
    for (index, message) in messages.iter().enumerate() {
        let path = format!("messages[{index}]");
        let message = Members::of(message, &path)?;
        let content = message.get("content").unwrap_or(&Value::Null);
        let content_path = message.path("content");
        match (message.needed_text("role")?, content) {
            ("assistant", content) if content.as_str().is_some() => {
                conversation.answer(content.as_str().unwrap_or_default());
            }
            ("assistant", content) => said(content, &content_path, conversation)?,
            ("user", content) if content.as_str().is_some() => {
                conversation.say("user", content.as_str().unwrap_or_default());
            }
            ("user", content) => asked(content, &content_path, conversation)?,
            ("system", content) => {
                conversation.say("system", &text_of(content, &["text"], &content_path)?);
            }
            (role, _) => {
                let message = format!("expected user or assistant, found {role}");
                return Err(Fault::of(&format!("{path}.role"), message));
            }
        }
    }
    if conversation.is_answered() {
        let message =
            "the last one has to be the user's: answers can't be begun for the model here";
        return Err(Fault::of("messages", message));
    }
    Ok(())
}

/// The blocks of a content, each with the path by which faults name it.
fn blocks<'v>(content: &'v Value, path: &str) -> Result<Vec<(&'v Value, String)>, Fault> {
    let blocks = content.as_array();
    let blocks = blocks.ok_or_else(|| expected(path, "a string or a list of blocks", content))?;
    let blocks = blocks.iter().enumerate();
    Ok(blocks
        .map(|(index, block)| (block, format!("{path}[{index}]")))
        .collect())
}

/// What the model has said.
fn said(content: &Value, path: &str, conversation: &mut Conversation) -> Result<(), Fault> {
    for (block, path) in blocks(content, path)? {
        let block = Members::of(block, &path)?;
        match block.needed_text("type")? {
            "text" => conversation.answer(block.needed_text("text")?),
            "thinking" => conversation.think(block.needed_text("thinking")?),
            "redacted_thinking" => {}
            "tool_use" => {
                let input = block.object("input")?.cloned().unwrap_or_default();
                let (id, name) = (block.needed_text("id")?, block.needed_text("name")?);
                conversation.call(id, name, input.into());
            }
            kind => return Err(no_text(&path, kind)),
        }
    }
    Ok(())
}

/// What the user has said, and what tools have answered.
fn asked(content: &Value, path: &str, conversation: &mut Conversation) -> Result<(), Fault> {
    let mut text = String::new();
    for (block, path) in blocks(content, path)? {
        let block = Members::of(block, &path)?;
        match block.needed_text("type")? {
            "text" => text.push_str(block.needed_text("text")?),
            "tool_result" => {
                let empty = Value::from("");
                let content = block.get("content").unwrap_or(&empty);
                let result = text_of(content, &["text"], &block.path("content"))?;
                conversation.result(block.needed_text("tool_use_id")?, &result);
            }
            kind => return Err(no_text(&path, kind)),
        }
    }
    if !text.is_empty() {
        conversation.say("user", &text);
    }
    Ok(())
}

/// The tools as templates have them.
fn tools(members: &Members) -> Result<Vec<Value>, Fault> {
    members.each("tools", |tool| {
        let kind = tool.text("type")?.unwrap_or("custom");
        if kind != "custom" {
            let message = format!(
                "`{kind}` is not a tool that can be called here: only the client's own are"
            );
            return Err(Fault::of(tool.own_path(), message));
        }
        let mut function = object! {"name": tool.needed_text("name")?};
        tool.copy(&["description", "strict"], &mut function);
        if let Some(schema) = tool.object("input_schema")? {
            function.insert("parameters", schema.clone());
        }
        Ok(object! {"type": "function", "function": function}.into())
    })
}

fn tool_choice(choice: &Members) -> Result<ToolChoice, Fault> {
    match choice.needed_text("type")? {
        "auto" => Ok(ToolChoice::Auto),
        "any" => Ok(ToolChoice::Required),
        "none" => Ok(ToolChoice::None),
        "tool" => Ok(ToolChoice::Named(choice.needed_text("name")?.to_owned())),
        kind => {
            let message = format!("expected auto, any, none or tool, found {kind}");
            Err(Fault::of("tool_choice.type", message))
        }
    }
}

/// The schema that an answer is to have.
fn schema(members: &Members) -> Result<Option<(&'static str, Value)>, Fault> {
    let nested = members
        .object("output_config")?
        .and_then(|config| config.get("format"));
    let Some(format) = nested.or(members.get("output_format")) else {
        return Ok(None);
    };
    let param = "output_format";
    let format = Members::of(format, param)?;
    match format.needed_text("type")? {
        "json_schema" => {
            let missing = || {
                Fault::of(
                    "output_format.schema",
                    "expected an object, and there is none",
                )
            };
            let schema = format.object("schema")?.ok_or_else(missing)?;
            Ok(Some((param, schema.clone().into())))
        }
        kind => Err(Fault::of(
            param,
            format!("expected json_schema, found {kind}"),
        )),
    }
}

struct MessageWriter {
    head: Head,
    blocks: Blocks,
    end: Option<End>,
}

impl MessageWriter {
    /// The message with what has come of it.
    fn message(&self, content: Vec<Value>) -> Object {
        let (reason, stopped_by) = self.reason();
        object! {
            "id": self.head.id.as_str(),
            "type": "message",
            "role": "assistant",
            "model": self.head.model.as_str(),
            "content": content,
            "stop_reason": reason,
            "stop_sequence": stopped_by,
            "usage": self.usage(),
        }
    }

    fn reason(&self) -> (Option<&'static str>, Option<&str>) {
        match self.end.as_ref().map(|end| &end.reason) {
            None => (None, None),
            Some(Reason::Stop) => (Some("end_turn"), None),
            Some(Reason::Calls) => (Some("tool_use"), None),
            Some(Reason::Length) => (Some("max_tokens"), None),
            Some(Reason::StoppedBy(text)) => (Some("stop_sequence"), Some(text)),
        }
    }

    /// What was used, as far as it is known: there has to be a number.
    fn usage(&self) -> Object {
        let used = used_by(self.end.iter());
        object! {
            "input_tokens": used.prompt.unwrap_or(0),
            "output_tokens": used.completion.unwrap_or(0),
        }
    }

    fn step(&self, step: &Step, out: &mut Vec<Event>) {
        let (index, name, key, value) = match step {
            Step::Open(index) => {
                let block = self.blocks.all().get(*index).map(begun);
                (*index, "content_block_start", "content_block", block)
            }
            Step::More(index, text) => {
                let (kind, key) = match self.blocks.all().get(*index) {
                    Some(Block::Call { .. }) => ("input_json_delta", "partial_json"),
                    Some(Block::Thought(_)) => ("thinking_delta", "thinking"),
                    _ => ("text_delta", "text"),
                };
                let mut delta = object! {"type": kind};
                delta.insert(key, text.as_str());
                (*index, "content_block_delta", "delta", Some(delta))
            }
            Step::Close(index) => {
                let stop = object! {"index": *index};
                out.push(Event::named("content_block_stop", stop));
                return;
            }
        };
        let mut data = object! {"index": index};
        data.insert(key, value.map(Value::from));
        out.push(Event::named(name, data));
    }
}

/// A block that begins.
fn begun(block: &Block) -> Object {
    match block {
        Block::Thought(_) => object! {"type": "thinking", "thinking": "", "signature": ""},
        Block::Text(_) => object! {"type": "text", "text": ""},
        Block::Call { id, name, .. } => object! {
            "type": "tool_use", "id": id.as_str(), "name": name.as_str(), "input": Object::new(),
        },
    }
}

/// A block that has come to its end.
fn whole(block: &Block) -> Value {
    let mut object = begun(block);
    match block {
        Block::Thought(text) => object.insert("thinking", text.as_str()),
        Block::Text(text) => object.insert("text", text.as_str()),
        // Where a model has written a text in place of arguments, there is no other place for it.
        Block::Call { arguments, .. } => match json::read(arguments) {
            Ok(input @ Value::Object(_)) => object.insert("input", input),
            _ if arguments.is_empty() => None,
            _ => object.insert("input", object! {"arguments": arguments.as_str()}),
        },
    };
    object.into()
}

impl Writer for MessageWriter {
    fn begin(&mut self, out: &mut Vec<Event>) {
        let message = self.message(Vec::new());
        out.push(Event::named("message_start", object! {"message": message}));
    }

    fn add(&mut self, _: usize, deltas: &[Delta], out: &mut Vec<Event>) {
        for delta in deltas {
            for step in self.blocks.add(delta) {
                self.step(&step, out);
            }
        }
    }

    fn end(&mut self, _: usize, end: End, out: &mut Vec<Event>) {
        if let Some(step) = self.blocks.close() {
            self.step(&step, out);
        }
        self.blocks.drop_calls(end.unfinished.iter().cloned());
        self.end = Some(end);
    }

    fn close(&mut self, out: &mut Vec<Event>) {
        let (reason, stopped_by) = self.reason();
        let delta = object! {"stop_reason": reason, "stop_sequence": stopped_by};
        let last = object! {"delta": delta, "usage": self.usage()};
        out.push(Event::named("message_delta", last));
        out.push(Event::named("message_stop", Object::new()));
    }

    fn fail(&mut self, fault: &Fault, out: &mut Vec<Event>) {
        let Value::Object(error) = Messages.fault(fault) else {
            return;
        };
        out.push(Event::named("error", error));
    }

    fn whole(&mut self) -> Value {
        let content = self.blocks.all().iter().map(whole).collect();
        self.message(content).into()
    }
}
