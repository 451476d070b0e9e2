//! How a response template is to be derived.

use crate::analysis::ModelOutput;
use crate::chat_template::RenderInput;
use crate::response::Language;

/// How a response template is to be derived.
///
/// ```
/// use unjinja::derive::DeriveOptions;
///
/// let options = DeriveOptions::default()
///     .reasoning_field("reasoning_content")
///     .ids(true);
/// assert_eq!(options.reasoning_field, "reasoning_content");
/// assert!(options.ids && !options.guess_types);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DeriveOptions {
    /// What all renderings have in common: tokens, the time, variables.
    pub base: RenderInput,
    /// The field for reasoning.
    pub reasoning_field: String,
    /// Whether calls keep their ids.
    pub ids: bool,
    /// Whether values that the format writes raw are read as JSON where they are JSON.
    pub guess_types: bool,
    /// Outputs of the model. What the chat template never renders is looked for in them, and drafts are tried
    /// on them.
    pub outputs: Vec<ModelOutput>,
    /// Which damage delimiters tolerate.
    pub lenience: Lenience,
    /// The oldest version of the language that is to take the response template.
    pub language: Language,
    /// Whether several texts of an answer, as before a call and behind it, are joined, where all that is known of the format is read as without.
    /// Engines refuse that.
    pub joins: bool,
}

/// Which damages delimiters allow for: texts as models write them, which are sloppier than any chat template.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Lenience {
    /// None: texts are read as the chat template writes them.
    None,
    /// What can be read without losing an answer that mentions a marker.
    #[default]
    Usual,
    /// As much as possible, even if answers are lost to it.
    All,
}

impl Default for DeriveOptions {
    fn default() -> Self {
        DeriveOptions {
            base: RenderInput::default(),
            reasoning_field: "thinking".into(),
            ids: false,
            guess_types: false,
            outputs: Vec::new(),
            lenience: Lenience::default(),
            language: DeriveOptions::SERVED,
            joins: false,
        }
    }
}

impl DeriveOptions {
    /// The newest version of the language that all packages have of which there is a
    /// [profile](crate::profile::Profile), each at the version that was looked at.
    ///
    /// A response template that stands beside a chat template is read by whoever comes, the engines that serve the model
    /// too: what these refuse is of no use to most. So nothing newer is asked for, unless somebody says for whom it is.
    pub const SERVED: Language = Language::V5_20;

    /// Sets what all renderings have in common: tokens, the time, variables.
    pub fn base(mut self, base: RenderInput) -> DeriveOptions {
        self.base = base;
        self
    }

    /// Sets the field for reasoning.
    pub fn reasoning_field(mut self, name: impl Into<String>) -> DeriveOptions {
        self.reasoning_field = name.into();
        self
    }

    /// Sets whether calls keep their ids.
    pub fn ids(mut self, ids: bool) -> DeriveOptions {
        self.ids = ids;
        self
    }

    /// Sets the outputs of the model that are evidence of its format.
    ///
    /// ```
    /// use unjinja::chat_template::ChatTemplate;
    /// use unjinja::derive::{DeriveOptions, ModelOutput, derive};
    ///
    /// // Nothing here says how this model calls tools.
    /// let template = ChatTemplate::from_jinja(
    ///     "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
    ///      {% if add_generation_prompt %}<assistant>{% endif %}",
    /// );
    /// let output = ModelOutput::new("I look.<do>look_up[with]{\"word\": \"tide\"}</do><end>");
    /// let options = DeriveOptions::default().outputs(vec![output]);
    /// let derived = derive(&template, &options)?;
    /// let calls = derived.template.field("tool_calls").expect("calls are found");
    /// assert!(calls.open().is_some());
    /// assert!(derived.outputs[0].difference.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn outputs(mut self, outputs: Vec<ModelOutput>) -> DeriveOptions {
        self.outputs = outputs;
        self
    }

    /// Sets which damages delimiters allow for.
    pub fn lenience(mut self, lenience: Lenience) -> DeriveOptions {
        self.lenience = lenience;
        self
    }

    /// Sets the oldest version of the language that is to take the response template.
    ///
    /// ```
    /// use unjinja::chat_template::ChatTemplate;
    /// use unjinja::derive::{DeriveOptions, derive};
    /// use unjinja::response::Language;
    ///
    /// let template = ChatTemplate::from_jinja(
    ///     "{% for m in messages %}<{{ m.role }}>{{ m.content }}\
    ///      {% if m.tool_calls %}<call>[{% for c in m.tool_calls %}{{ c.function.name }}(\
    ///      {% for key, value in c.function.arguments.items() %}{{ key }}={{ value | tojson }}\
    ///      {{ '' if loop.last else ', ' }}{% endfor %}){{ '' if loop.last else ', ' }}\
    ///      {% endfor %}]</call>{% endif %}<end>{% endfor %}\
    ///      {% if add_generation_prompt %}<assistant>{% endif %}",
    /// );
    /// let content = |options: &DeriveOptions| {
    ///     let calls = derive(&template, options).expect("it can be derived").template;
    ///     let content = calls.as_value().pointer("/fields/tool_calls/content").cloned();
    ///     content.expect("calls are found")
    /// };
    /// let older = DeriveOptions::default();
    /// assert_eq!(content(&older), "xml-inline".into());
    /// assert_eq!(content(&older.language(Language::V5_24)), "python-call-list".into());
    /// ```
    pub fn language(mut self, language: Language) -> DeriveOptions {
        self.language = language;
        self
    }

    /// Sets whether several texts of an answer are joined.
    ///
    /// ```
    /// use unjinja::chat_template::ChatTemplate;
    /// use unjinja::derive::{DeriveOptions, derive};
    /// use unjinja::{ParserOptions, parse};
    ///
    /// let template = ChatTemplate::from_jinja(
    ///     "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls %}\
    ///      <call>{{ c.function | tojson }}</call>{% endfor %}<end>{% endfor %}\
    ///      {% if add_generation_prompt %}<assistant>{% endif %}",
    /// );
    /// let output = r#"Let me look.<call>{"name": "look", "arguments": {}}</call>There it is.<end>"#;
    /// for (joins, expected) in [(false, "There it is."), (true, "Let me look.\nThere it is.")] {
    ///     let derived = derive(&template, &DeriveOptions::default().joins(joins))?;
    ///     let message = parse(&derived.template, "<assistant>", output, ParserOptions::default())?;
    ///     assert_eq!(message.get("content").and_then(|text| text.as_str()), Some(expected));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn joins(mut self, joins: bool) -> DeriveOptions {
        self.joins = joins;
        self
    }

    /// Sets whether values that the format writes raw are read as JSON where they are JSON.
    pub fn guess_types(mut self, guess_types: bool) -> DeriveOptions {
        self.guess_types = guess_types;
        self
    }
}
