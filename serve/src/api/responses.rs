//! Responses.

mod writer;

use unjinja::{Object, Value};

use super::{Api, Head, Writer, refuse_other_tools};
use crate::conversation::{Conversation, arguments, no_text, text_of};
use crate::fault::Fault;
use crate::object::object;
use crate::request::{Members, Request, ToolChoice, expected};
use writer::ResponseWriter;

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
        Box::new(ResponseWriter::new(head, body))
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
    members.each("tools", |tool| {
        refuse_other_tools(tool)?;
        let mut function = object! {"name": tool.needed_text("name")?};
        tool.copy(&["description", "parameters", "strict"], &mut function);
        Ok(object! {"type": "function", "function": function}.into())
    })
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
