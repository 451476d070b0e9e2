//! Responses.

use unjinja::completion::Delta;
use unjinja::{Object, Value};

use super::{Api, Event, Head, Writer, is_cut, used_by};
use crate::answer::End;
use crate::blocks::{Block, Blocks, Step};
use crate::conversation::{Conversation, arguments, no_text, text_of};
use crate::fault::Fault;
use crate::object::object;
use crate::request::{Members, Request, ToolChoice, expected};

pub(super) struct Responses;

const TEXTS: [&str; 4] = ["input_text", "output_text", "text", "refusal"];

impl Api for Responses {
    fn path(&self) -> &'static str {
        "/v1/responses"
    }

    fn id_prefix(&self) -> &'static str {
        "resp_"
    }

    fn read(&self, body: &Object) -> Result<Request, Fault> {
        let members = Members::new(body, "");
        let kept = "nothing is kept here: send the whole conversation as `input`";
        members.refuse(&[
            ("previous_response_id", &[], kept),
            ("conversation", &[], kept),
            ("background", &[false.into()], "an answer is given at once"),
            ("prompt", &[], "there are no stored prompts: send `input`"),
            ("top_logprobs", &[0.into()], "there are none: the tokens of an output are not those of the message that is made of it"),
        ])?;
        let mut request = Request::new(members.text("model")?.unwrap_or_default());
        let mut conversation = Conversation::default();
        if let Some(text) = members.text("instructions")? {
            conversation.say("system", text);
        }
        input(&members, &mut conversation)?;
        request.messages = conversation.into_messages();
        request.tools = tools(&members)?;
        request.tool_choice = tool_choice(&members)?;
        request.parallel = members.bool("parallel_tool_calls")?.unwrap_or(true);
        if let Some(text) = members.object("text")? {
            request.schema = schema(&Members::new(text, "text"))?;
        }
        if let Some(reasoning) = members.object("reasoning")?
            && let Some(effort) = Members::new(reasoning, "reasoning").text("effort")?
        {
            request.think = Some(effort != "none");
            request.variables.insert("reasoning_effort", effort);
        }
        if let Some(variables) = members.object("chat_template_kwargs")? {
            request.variables.extend(variables.clone());
        }
        request.stream = members.bool("stream")?.unwrap_or(false);
        let sampling = ["temperature", "top_p", "top_k", "min_p", "seed", "stop"];
        members.copy(&sampling, &mut request.sampling);
        if let Some(limit) = members.count("max_output_tokens", 1)? {
            request.sampling.insert("max_tokens", limit);
        }
        Ok(request)
    }

    fn writer(&self, head: Head, body: &Object) -> Box<dyn Writer> {
        Box::new(ResponseWriter {
            head,
            said: said(body),
            blocks: Blocks::default(),
            end: None,
            sent: 0,
        })
    }

    fn fault(&self, fault: &Fault) -> Value {
        super::chat::Chat.fault(fault)
    }
}

fn input(members: &Members, conversation: &mut Conversation) -> Result<(), Fault> {
    let given = members.get("input");
    let given = given
        .ok_or_else(|| Fault::of("input", "expected a string or a list, and there is none"))?;
    if let Some(text) = given.as_str() {
        conversation.say("user", text);
        return Ok(());
    }
    let items = given.as_array();
    let items = items.filter(|items| !items.is_empty());
    let items = items.ok_or_else(|| expected("input", "a string or a list of items", given))?;
    for (index, item) in items.iter().enumerate() {
        let path = format!("input[{index}]");
        let item = Members::of(item, &path)?;
        match item.text("type")?.unwrap_or("message") {
            "message" => {
                let content = item.get("content").unwrap_or(&Value::Null);
                let text = text_of(content, &TEXTS, &item.path("content"))?;
                match item.needed_text("role")? {
                    "assistant" => conversation.answer(&text),
                    "developer" => conversation.say("system", &text),
                    role => conversation.say(role, &text),
                }
            }
            "reasoning" => {
                for key in ["content", "summary"] {
                    let parts = item.list(key)?.unwrap_or_default().iter();
                    let texts = parts.filter_map(|part| part.get("text")?.as_str());
                    let thought: String = texts.collect();
                    if !thought.is_empty() {
                        conversation.think(&thought);
                        break;
                    }
                }
            }
            "function_call" => {
                let text = item.text("arguments")?.unwrap_or_default();
                let (id, name) = (item.needed_text("call_id")?, item.needed_text("name")?);
                conversation.call(id, name, arguments(text));
            }
            "function_call_output" => {
                let output = item.get("output").unwrap_or(&Value::Null);
                let text = text_of(output, &TEXTS, &item.path("output"))?;
                conversation.result(item.needed_text("call_id")?, &text);
            }
            kind => return Err(no_text(&path, kind)),
        }
    }
    Ok(())
}

/// The tools as templates have them.
fn tools(members: &Members) -> Result<Vec<Value>, Fault> {
    let mut tools = Vec::new();
    for (index, tool) in members
        .list("tools")?
        .unwrap_or_default()
        .iter()
        .enumerate()
    {
        let path = format!("tools[{index}]");
        let tool = Members::of(tool, &path)?;
        let kind = tool.needed_text("type")?;
        if kind != "function" {
            let message =
                format!("`{kind}` is no tool that a model calls here: there are only functions");
            return Err(Fault::of(&path, message));
        }
        let mut function = object! {"name": tool.needed_text("name")?};
        tool.copy(&["description", "parameters", "strict"], &mut function);
        tools.push(object! {"type": "function", "function": function}.into());
    }
    Ok(tools)
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
            let name = choice.get("name").and_then(Value::as_str);
            let what = "auto, none, required or {\"type\": \"function\", \"name\": …}";
            let name = name.ok_or_else(|| expected("tool_choice", what, choice))?;
            Ok(ToolChoice::Named(name.to_owned()))
        }
    }
}

fn schema(text: &Members) -> Result<Option<(&'static str, Value)>, Fault> {
    let param = "text.format";
    let Some(format) = text.object("format")? else {
        return Ok(None);
    };
    let format = Members::new(format, param);
    match format.needed_text("type")? {
        "text" => Ok(None),
        "json_object" => Ok(Some((param, object! {"type": "object"}.into()))),
        "json_schema" => {
            let missing = || {
                Fault::of(
                    "text.format.schema",
                    "expected an object, and there is none",
                )
            };
            let schema = format.object("schema")?.ok_or_else(missing)?;
            Ok(Some((param, schema.clone().into())))
        }
        kind => {
            let message = format!("expected text, json_object or json_schema, found {kind}");
            Err(Fault::of("text.format.type", message))
        }
    }
}

/// What of a request stands in the response, as clients expect it.
fn said(body: &Object) -> Object {
    let mut said = object! {
        "instructions": Value::Null,
        "max_output_tokens": Value::Null,
        "metadata": Object::new(),
        "parallel_tool_calls": true,
        "previous_response_id": Value::Null,
        "reasoning": object! {"effort": Value::Null, "summary": Value::Null},
        "temperature": Value::Null,
        "text": object! {"format": object! {"type": "text"}},
        "tool_choice": "auto",
        "tools": Vec::new(),
        "top_p": Value::Null,
        "truncation": "disabled",
    };
    for (key, value) in said.iter_mut() {
        if let Some(given) = body
            .get(&key.to_string_lossy())
            .filter(|given| !given.is_null())
        {
            *value = given.clone();
        }
    }
    said.insert("store", false);
    said
}

struct ResponseWriter {
    head: Head,
    said: Object,
    blocks: Blocks,
    end: Option<End>,
    /// How many events there have been.
    sent: usize,
}

impl ResponseWriter {
    fn send(&mut self, name: &'static str, mut data: Object, out: &mut Vec<Event>) {
        data.insert("sequence_number", self.sent);
        self.sent += 1;
        out.push(Event::named(name, data));
    }

    fn item_id(&self, index: usize) -> String {
        let prefix = match self.blocks.all().get(index) {
            Some(Block::Thought(_)) => "rs",
            Some(Block::Call { .. }) => "fc",
            _ => "msg",
        };
        format!("{prefix}_{}_{index}", self.head.bare_id())
    }

    /// A block as an item; while it comes, it has nothing in it.
    fn item(&self, index: usize, status: &str) -> Value {
        let is_coming = status == "in_progress";
        let parts = |part: Object| match is_coming {
            true => Vec::new(),
            false => vec![part.into()],
        };
        let id = self.item_id(index);
        match self.blocks.all().get(index) {
            Some(Block::Thought(text)) => object! {
                "id": id, "type": "reasoning", "summary": Vec::new(),
                "content": parts(object! {"type": "reasoning_text", "text": text.as_str()}),
                "status": status,
            },
            Some(Block::Call {
                id: call_id,
                name,
                arguments,
            }) => object! {
                "id": id, "type": "function_call", "call_id": call_id.as_str(), "name": name.as_str(),
                "arguments": if is_coming { "" } else { arguments.as_str() }, "status": status,
            },
            Some(Block::Text(text)) => object! {
                "id": id, "type": "message", "role": "assistant", "content": parts(text_part(text)), "status": status,
            },
            None => Object::new(),
        }
        .into()
    }

    fn response(&self, status: &str, error: Option<Object>) -> Value {
        let is_cut = is_cut(self.end.as_ref());
        let mut response = object! {
            "id": self.head.id.as_str(),
            "object": "response",
            "created_at": self.head.created,
            "status": status,
            "model": self.head.model.as_str(),
            "error": error.map(Value::from),
            "incomplete_details": is_cut.then(|| Value::from(object! {"reason": "max_output_tokens"})),
        };
        response.extend(self.said.clone());
        let items = 0..self.blocks.all().len();
        let last = items.end.saturating_sub(1);
        let items = items.map(|index| {
            let is_whole = !is_cut || index < last;
            self.item(index, if is_whole { "completed" } else { "incomplete" })
        });
        let items: Vec<Value> = match status {
            "in_progress" => Vec::new(),
            _ => items.collect(),
        };
        response.insert("output", items);
        let used = used_by(self.end.iter());
        let usage = used
            .prompt
            .zip(used.completion)
            .map(|(prompt, completion)| {
                Value::from(object! {
                    "input_tokens": prompt,
                    "input_tokens_details": object! {"cached_tokens": 0},
                    "output_tokens": completion,
                    "output_tokens_details": object! {"reasoning_tokens": 0},
                    "total_tokens": prompt.saturating_add(completion),
                })
            });
        response.insert("usage", usage);
        response.into()
    }

    fn place(&self, index: usize) -> Object {
        object! {"item_id": self.item_id(index), "output_index": index}
    }

    fn step(&mut self, step: &Step, out: &mut Vec<Event>) {
        match step {
            Step::Open(index) => {
                let item = self.item(*index, "in_progress");
                let added = object! {"output_index": *index, "item": item};
                self.send("response.output_item.added", added, out);
                self.send_part("response.content_part.added", *index, "", out);
            }
            Step::More(index, text) => {
                let mut more = self.place(*index);
                more.insert("delta", text.as_str());
                let name = match self.blocks.all().get(*index) {
                    Some(Block::Call { .. }) => "response.function_call_arguments.delta",
                    Some(Block::Thought(_)) => {
                        more.insert("content_index", 0);
                        "response.reasoning_text.delta"
                    }
                    _ => {
                        more.insert("content_index", 0);
                        more.insert("logprobs", Vec::new());
                        "response.output_text.delta"
                    }
                };
                self.send(name, more, out);
            }
            Step::Close(index) => self.close_item(*index, out),
        }
    }

    /// The one part of a thought or a text.
    fn send_part(&mut self, name: &'static str, index: usize, text: &str, out: &mut Vec<Event>) {
        let part = match self.blocks.all().get(index) {
            Some(Block::Text(_)) => text_part(text),
            Some(Block::Thought(_)) => object! {"type": "reasoning_text", "text": text},
            _ => return,
        };
        let mut data = self.place(index);
        data.insert("content_index", 0);
        data.insert("part", part);
        self.send(name, data, out);
    }

    fn close_item(&mut self, index: usize, out: &mut Vec<Event>) {
        let mut done = self.place(index);
        let block = self.blocks.all().get(index).cloned();
        match &block {
            Some(Block::Call {
                name, arguments, ..
            }) => {
                done.insert("name", name.as_str());
                done.insert("arguments", arguments.as_str());
                self.send("response.function_call_arguments.done", done, out);
            }
            Some(Block::Thought(text)) => {
                done.insert("content_index", 0);
                done.insert("text", text.as_str());
                self.send("response.reasoning_text.done", done, out);
                self.send_part("response.content_part.done", index, text, out);
            }
            Some(Block::Text(text)) => {
                done.insert("content_index", 0);
                done.insert("text", text.as_str());
                done.insert("logprobs", Vec::new());
                self.send("response.output_text.done", done, out);
                self.send_part("response.content_part.done", index, text, out);
            }
            None => {}
        }
        // Only the last block can be cut off, and is closed when it is known.
        let status = match is_cut(self.end.as_ref()) {
            true => "incomplete",
            false => "completed",
        };
        let item = self.item(index, status);
        let done = object! {"output_index": index, "item": item};
        self.send("response.output_item.done", done, out);
    }

    /// The status of a response that has ended.
    fn status(&self) -> (&'static str, &'static str) {
        match is_cut(self.end.as_ref()) {
            true => ("incomplete", "response.incomplete"),
            false => ("completed", "response.completed"),
        }
    }
}

fn text_part(text: &str) -> Object {
    object! {"type": "output_text", "text": text, "annotations": Vec::new(), "logprobs": Vec::new()}
}

impl Writer for ResponseWriter {
    fn begin(&mut self, out: &mut Vec<Event>) {
        for name in ["response.created", "response.in_progress"] {
            let response = self.response("in_progress", None);
            self.send(name, object! {"response": response}, out);
        }
    }

    fn add(&mut self, _: usize, deltas: &[Delta], out: &mut Vec<Event>) {
        for delta in deltas {
            for step in self.blocks.add(delta) {
                self.step(&step, out);
            }
        }
    }

    fn end(&mut self, _: usize, end: End, out: &mut Vec<Event>) {
        let unfinished = end.unfinished.clone();
        self.end = Some(end);
        if let Some(step) = self.blocks.close() {
            self.step(&step, out);
        }
        self.blocks.drop_calls(unfinished.into_iter());
    }

    fn close(&mut self, out: &mut Vec<Event>) {
        let (status, name) = self.status();
        let response = self.response(status, None);
        self.send(name, object! {"response": response}, out);
    }

    fn fail(&mut self, fault: &Fault, out: &mut Vec<Event>) {
        let error = object! {"code": "server_error", "message": fault.message.as_str()};
        let response = self.response("failed", Some(error));
        self.send("response.failed", object! {"response": response}, out);
    }

    fn whole(&mut self) -> Value {
        self.response(self.status().0, None)
    }
}
