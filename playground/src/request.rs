//! What the page asks: members of a JSON object, by their names.

use jiff::civil::DateTime;
use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::check::{Case, Expected};
use unjinja::{Object, Remedy, Tools, Value};

/// A request, or a part of one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'r>(pub(crate) &'r Value);

impl<'r> Request<'r> {
    /// What stands under a key, unless that is nothing.
    pub(crate) fn get(self, key: &str) -> Option<&'r Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    pub(crate) fn text(self, key: &str) -> Result<&'r str, String> {
        let text = self.get(key).and_then(Value::as_str);
        text.ok_or_else(|| format!("`{key}` has to be a text"))
    }

    /// The text, or none where there is nothing.
    pub(crate) fn text_if(self, key: &str) -> Result<Option<&'r str>, String> {
        self.get(key).map(|_| self.text(key)).transpose()
    }

    pub(crate) fn number(self, key: &str) -> Result<usize, String> {
        let number = self.get(key).and_then(Value::as_number);
        let number = number.and_then(|number| usize::try_from(number.as_i64()?).ok());
        number.ok_or_else(|| format!("`{key}` has to be a whole number from 0 on"))
    }

    pub(crate) fn is(self, key: &str) -> bool {
        self.get(key).and_then(Value::as_bool) == Some(true)
    }

    /// The chat template under `chat_template`: an object as [`chat_template_value`] makes it.
    pub(crate) fn chat_template(self) -> Result<Option<ChatTemplate>, String> {
        let Some(given) = self.get("chat_template").map(Request) else {
            return Ok(None);
        };
        let mut template = ChatTemplate::from_jinja(given.text("jinja")?);
        if let Some(name) = given.text_if("name")? {
            template.name = name.to_owned();
        }
        template.bos_token = given.text_if("bos_token")?.map(str::to_owned);
        template.eos_token = given.text_if("eos_token")?.map(str::to_owned);
        template.special_tokens = texts(given.get("special_tokens"));
        template.added_tokens = texts(given.get("added_tokens"));
        Ok(Some(template))
    }

    /// What all renderings have in common: the page has a clock, and the module has none.
    pub(crate) fn base(self) -> Result<RenderInput, String> {
        let now = self.text_if("now")?.map(str::parse::<DateTime>);
        let variables = self.get("variables").and_then(Value::as_object);
        Ok(RenderInput {
            now: now.transpose().map_err(|error| format!("`now`: {error}"))?,
            variables: variables.cloned().unwrap_or_default(),
            ..RenderInput::default()
        })
    }

    /// A text with what is expected of it: an object as [`case_value`] makes it.
    pub(crate) fn case(self) -> Result<Case, String> {
        let given = Request(self.get("case").ok_or("there is no `case`")?);
        let mut expected = Expected::default();
        expected.message = given.get("message").and_then(Value::as_object).cloned();
        expected.error = given.text_if("error")?.map(str::to_owned);
        Ok(Case::new(
            given.text_if("name")?.unwrap_or("a text"),
            given.text_if("prefix")?.unwrap_or_default(),
            given.text("output")?,
            given.tools(),
            expected,
        ))
    }

    pub(crate) fn tools(self) -> Tools {
        self.get("tools")
            .map_or_else(Tools::none, Tools::from_value)
    }
}

fn texts(list: Option<&Value>) -> Vec<String> {
    let items = list.and_then(Value::as_array).unwrap_or_default().iter();
    let texts = items.filter_map(|item| item.as_str());
    texts.map(str::to_owned).collect()
}

/// A chat template for the page.
pub(crate) fn chat_template_value(template: &ChatTemplate) -> Value {
    let optional = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
    let list = |texts: &[String]| texts.iter().map(String::as_str).collect::<Value>();
    Object::from_iter([
        ("name", Value::from(&template.name)),
        ("variant", optional(&template.variant)),
        ("jinja", Value::from(&template.jinja)),
        ("bos_token", optional(&template.bos_token)),
        ("eos_token", optional(&template.eos_token)),
        ("special_tokens", list(&template.special_tokens)),
        ("added_tokens", list(&template.added_tokens)),
    ])
    .into()
}

/// A case for the page.
pub(crate) fn case_value(case: &Case) -> Value {
    let message = case.expected.message.clone();
    Object::from_iter([
        ("name", Value::from(&case.name)),
        ("prefix", Value::from(&case.prefix)),
        ("output", Value::from(&case.output)),
        ("tools", case.tools.as_value().clone()),
        ("message", message.map_or(Value::Null, Value::from)),
        (
            "error",
            case.expected
                .error
                .as_deref()
                .map_or(Value::Null, Value::from),
        ),
    ])
    .into()
}

/// What the page calls something that an error advises to make use of.
pub(crate) fn page_name(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::BosToken => "the field “Token that begins a text”",
        Remedy::EosToken => "the field “Token that ends a turn”",
        Remedy::Variable => "the field “Variables”",
        Remedy::Offline => "the program's `--offline`",
        Remedy::HubFeature => "the program, built with `--features hub`",
        Remedy::Update => "the program's `unjinja check --update`",
        Remedy::FirstFixture => "“Save as a fixture”",
        Remedy::Lint => "the faults below the editor",
        Remedy::Loosen => "`unjinja grammar --best-effort`",
    }
}
