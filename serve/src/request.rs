//! A request as all APIs mean it, and reading the members of a request.

use unjinja::{Object, Value};

use crate::fault::Fault;

pub(crate) use unjinja::grammar::ToolChoice;

/// What a client wants, whichever API it speaks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    /// The name of the model, as the client gives it.
    pub(crate) model: String,
    /// The conversation, as chat templates take it.
    pub(crate) messages: Vec<Value>,
    /// The tools, as chat templates take them.
    pub(crate) tools: Vec<Value>,
    pub(crate) tool_choice: ToolChoice,
    /// Whether more than one call may come.
    pub(crate) parallel: bool,
    /// The JSON Schema of the answer, with the part of the request that asks for it.
    pub(crate) schema: Option<(&'static str, Value)>,
    /// Whether the model is to think, if the client says so.
    pub(crate) think: Option<bool>,
    /// Further variables of the chat template.
    pub(crate) variables: Object,
    /// What is asked of sampling, by the names that completion endpoints have for it.
    pub(crate) sampling: Object,
    /// How many answers are wanted.
    pub(crate) choices: usize,
    pub(crate) stream: bool,
    /// Whether a stream is to end with what was used.
    pub(crate) usage_in_stream: bool,
}

impl Request {
    pub(crate) fn new(model: &str) -> Request {
        Request {
            model: model.to_owned(),
            messages: Vec::new(),
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            parallel: true,
            schema: None,
            think: None,
            variables: Object::new(),
            sampling: Object::new(),
            choices: 1,
            stream: false,
            usage_in_stream: false,
        }
    }

    /// Whether the answer has to be held to something that a prompt only asks for; then it is said what.
    pub(crate) fn demand(&self) -> Option<&'static str> {
        let is_strict = |tool: &Value| tool.pointer("/function/strict") == Some(&true.into());
        match &self.tool_choice {
            ToolChoice::Required | ToolChoice::Named(_) => Some("tool_choice"),
            ToolChoice::Auto if self.tools.iter().any(is_strict) => Some("tools"),
            _ => self.schema.as_ref().map(|(param, _)| *param),
        }
    }

    /// How many calls may be handed out.
    pub(crate) fn most_calls(&self) -> usize {
        match (&self.tool_choice, self.parallel) {
            (ToolChoice::None, _) if !self.tools.is_empty() => 0,
            (_, false) => 1,
            _ => usize::MAX,
        }
    }

    /// The tools that the prompt offers.
    pub(crate) fn offered(&self) -> &[Value] {
        match self.tool_choice {
            ToolChoice::None => &[],
            _ => &self.tools,
        }
    }
}

/// The members of a request or of a part of it, with the path by which faults name them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Members<'a> {
    object: &'a Object,
    path: &'a str,
}

impl<'a> Members<'a> {
    pub(crate) fn new(object: &'a Object, path: &'a str) -> Members<'a> {
        Members { object, path }
    }

    /// Those of a value that has to be an object.
    pub(crate) fn of(value: &'a Value, path: &'a str) -> Result<Members<'a>, Fault> {
        let object = value.as_object();
        let object = object.ok_or_else(|| expected(path, "an object", value))?;
        Ok(Members::new(object, path))
    }

    /// What faults call a member.
    pub(crate) fn path(&self, key: &str) -> String {
        match self.path {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        }
    }

    /// A member that is there and not null.
    pub(crate) fn get(&self, key: &str) -> Option<&'a Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    fn typed<T>(
        &self,
        key: &str,
        what: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let read = read(value).ok_or_else(|| expected(&self.path(key), what, value));
        read.map(Some)
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<&'a str>, Fault> {
        self.typed(key, "a string", Value::as_str)
    }

    /// A text that has to be there.
    pub(crate) fn needed_text(&self, key: &str) -> Result<&'a str, Fault> {
        let missing = || Fault::of(&self.path(key), "expected a string, and there is none");
        self.text(key)?.ok_or_else(missing)
    }

    pub(crate) fn bool(&self, key: &str) -> Result<Option<bool>, Fault> {
        self.typed(key, "true or false", Value::as_bool)
    }

    pub(crate) fn list(&self, key: &str) -> Result<Option<&'a [Value]>, Fault> {
        self.typed(key, "a list", Value::as_array)
    }

    /// What is read of each item of a list, which is an object with its own path; of none if there is no list.
    pub(crate) fn each<T>(
        &self,
        key: &str,
        mut read: impl FnMut(&Members<'_>) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        let items = self.list(key)?.unwrap_or_default().iter().enumerate();
        let read = items.map(|(index, item)| {
            let path = format!("{}[{index}]", self.path(key));
            read(&Members::of(item, &path)?)
        });
        read.collect()
    }

    /// What faults call the object itself.
    pub(crate) fn own_path(&self) -> &str {
        self.path
    }

    pub(crate) fn object(&self, key: &str) -> Result<Option<&'a Object>, Fault> {
        self.typed(key, "an object", Value::as_object)
    }

    /// A whole number that is not below this one.
    pub(crate) fn count(&self, key: &str, least: i64) -> Result<Option<i64>, Fault> {
        let what = format!("a whole number from {least} on");
        self.typed(key, &what, |value| {
            let number = value.as_number()?.as_i64()?;
            (number >= least).then_some(number)
        })
    }

    /// Takes over what completion endpoints know by the same names.
    pub(crate) fn copy(&self, keys: &[&str], to: &mut Object) {
        for &key in keys {
            if let Some(value) = self.get(key) {
                to.insert(key, value.clone());
            }
        }
    }

    /// Refuses what is not done here, unless it says what holds anyway.
    pub(crate) fn refuse(&self, refused: &[(&str, &[Value], &str)]) -> Result<(), Fault> {
        for (key, fine, why) in refused {
            if let Some(value) = self.get(key)
                && !fine.contains(value)
            {
                return Err(Fault::of(&self.path(key), why));
            }
        }
        Ok(())
    }
}

/// Another kind of value is there than the one that was expected.
pub(crate) fn expected(path: &str, what: &str, found: &Value) -> Fault {
    let found = match found {
        Value::Number(_) | Value::Bool(_) => unjinja::json::write(found),
        other => other.type_name().to_owned(),
    };
    Fault::of(path, format!("expected {what}, found {found}"))
}
