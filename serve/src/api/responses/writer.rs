//! How responses look, whole and as events.

use unjinja::completion::Delta;
use unjinja::{Object, Value};

use crate::answer::End;
use crate::api::{Event, Head, Writer, is_cut, used_by};
use crate::blocks::{Block, Blocks, Step};
use crate::fault::Fault;
use crate::object::object;

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

pub(super) struct ResponseWriter {
    head: Head,
    said: Object,
    blocks: Blocks,
    end: Option<End>,
    /// How many events there have been.
    sent: usize,
}

impl ResponseWriter {
    /// What answers a request.
    pub(super) fn new(head: Head, body: &Object) -> ResponseWriter {
        ResponseWriter {
            head,
            said: said(body),
            blocks: Blocks::default(),
            end: None,
            sent: 0,
        }
    }

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
