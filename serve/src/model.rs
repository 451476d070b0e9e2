//! The model: how it is asked, what it may write, and how that is read.

use std::convert::Infallible;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use unjinja::analysis::Capabilities;
use unjinja::chat_template::{ChatTemplate, PreparedTemplate, RenderInput};
use unjinja::completion::{Completion, CompletionOptions};
use unjinja::derive::{DeriveOptions, derive};
use unjinja::format::Format;
use unjinja::grammar::{Beyond, Grammar, GrammarError, Request as Asked};
use unjinja::{
    Object, OnMalformed, OnUnread, ParserOptions, Remedy, ResponseTemplate, Tools, Value, json,
};

use crate::cache::Cache;
use crate::conversation::Form;
use crate::fault::Fault;
use crate::object::object;
use crate::request::Request;
use crate::upstream::{Constraint, Engine};
use crate::work::{Expected, Wanted};

/// So many bytes of formats and of grammars are kept.
const KEPT_FORMATS: usize = 16 << 20;
const KEPT_CONSTRAINTS: usize = 64 << 20;

/// So many bytes may the variables have that a request gives the template: the format of the model is found anew for each set of them.
const MAX_VARIABLES: usize = 64 << 10;

/// So many warnings are told, of so many bytes each: clients may be the cause of others without an end.
const MAX_TOLD: usize = 64;
const MAX_WARNING: usize = 2 << 10;

/// A chat template, and what follows from it.
pub(crate) struct Model {
    template: ChatTemplate,
    prepared: PreparedTemplate,
    /// How outputs are read.
    pub(crate) response_template: ResponseTemplate,
    /// What all renderings have in common.
    base: RenderInput,
    /// The variables that switch thinking.
    switches: Vec<String>,
    /// The special tokens that engines are to write out.
    pub(crate) preserved: Vec<String>,
    formats: Cache<Result<Format, String>>,
    constraints: Cache<Made>,
    /// What was said of grammars that there are not.
    told: Mutex<Vec<String>>,
}

/// How far answers are held to what is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holding {
    /// Whether grammars are sent.
    pub(crate) grammars: bool,
    /// Whether a request is answered that can't be held to what it asks.
    pub(crate) best_effort: bool,
}

/// A request made ready.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) prompt: Arc<str>,
    pub(crate) tools: Tools,
    pub(crate) constraint: Option<Value>,
    /// The reason why there is no constraint, though one would have been of use, or what it does not hold; said once.
    pub(crate) warning: Option<String>,
}

/// A grammar in the language of an engine.
#[derive(Debug)]
struct Made {
    constraint: Result<Value, String>,
    /// Parts that are not enforced, where that is let pass.
    warnings: Vec<String>,
}

/// The reason why a request has no constraint.
enum Unheld {
    /// There can be none, as far as is known.
    Because(String),
    /// The request is refused, or nobody waits for it.
    Fault(Fault),
    /// It takes longer than is expected.
    Late,
}

impl From<Fault> for Unheld {
    fn from(fault: Fault) -> Unheld {
        Unheld::Fault(fault)
    }
}

impl Model {
    /// A model with this chat template, and what is to be said of it. The response template is the one beside it, or else derived.
    pub(crate) fn new(
        template: ChatTemplate,
        base: RenderInput,
    ) -> Result<(Model, Option<String>), String> {
        let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", template.name);
        let mut warning = None;
        let response_template = match &template.response_template {
            Some(value) => ResponseTemplate::from_value(value).map_err(|error| wrong(&error))?,
            None => {
                let mut options = DeriveOptions::default();
                options.base = base.clone();
                let derived = derive(&template, &options).map_err(|error| wrong(&error))?;
                if !derived.is_whole() {
                    warning = Some(wrong(
                        &"not all turns are read back: `unjinja derive` says which",
                    ));
                }
                derived.template
            }
        };
        let model = Model {
            prepared: template.prepare(),
            response_template,
            preserved: Vec::new(),
            switches: switches(&template, &base),
            formats: Cache::new(KEPT_FORMATS),
            constraints: Cache::new(KEPT_CONSTRAINTS),
            told: Mutex::default(),
            base,
            template,
        };
        let format = model.format(&Object::new(), Expected::Long);
        let format = format.as_deref().and_then(|format| format.as_ref().ok());
        let preserved = format.map(Format::preserved_tokens);
        let preserved = preserved.unwrap_or_default();
        Ok((Model { preserved, ..model }, warning))
    }

    pub(crate) fn name(&self) -> &str {
        &self.template.name
    }

    /// The token that begins texts.
    pub(crate) fn bos_token(&self) -> Option<&str> {
        let base = self.base.bos_token.as_deref();
        base.or(self.template.bos_token.as_deref())
            .filter(|token| !token.is_empty())
    }

    /// Makes a request ready, without a constraint: this may take as long as a chat template may, and is no work for a thread that others
    /// wait for. What is in the prompt is in the request no longer.
    pub(crate) fn ready(&self, request: &mut Request, wanted: &Wanted) -> Result<Ready, Fault> {
        if json::write(&request.variables.clone().into()).len() > MAX_VARIABLES {
            let message = format!("they have more than {MAX_VARIABLES} bytes");
            return Err(Fault::of("chat_template_kwargs", message));
        }
        let prompt = self.prompt(request, wanted)?.into();
        request.messages = Vec::new();
        let tools = match request.offered() {
            [] => Tools::none(),
            tools => Tools::from_value(&tools.to_vec().into()),
        };
        Ok(Ready {
            prompt,
            tools,
            constraint: None,
            warning: None,
        })
    }

    /// Constrains the answer to a request that is otherwise ready, and says whether that is done. Where it takes longer than is expected, it
    /// is left for later.
    pub(crate) fn hold(
        &self,
        request: &Request,
        ready: &mut Ready,
        engine: &Engine,
        holding: Holding,
        doing: (Expected, &Wanted),
    ) -> Result<bool, Fault> {
        let demand = request.demand();
        if demand.is_none() && (request.tools.is_empty() || !holding.grammars) {
            return Ok(true);
        }
        let because = |why: String| Err(Unheld::Because(why));
        let constraint = match (holding.grammars, engine.constraint) {
            (true, Some((language, _))) => {
                self.constraint(request, ready, language, holding.best_effort, doing)
            }
            (false, Some(_)) => because("the server sends no grammars".to_owned()),
            (_, None) => because(format!("the engine `{}` takes no grammars", engine.name)),
        };
        match (constraint, demand) {
            (Ok((constraint, warnings)), _) => {
                ready.constraint = Some(constraint);
                ready.warning = self.first_told(warnings.join("; "));
            }
            (Err(Unheld::Fault(fault)), _) => return Err(fault),
            (Err(Unheld::Late), _) => return Ok(false),
            (Err(Unheld::Because(why)), Some(param)) if !holding.best_effort => {
                let remedy = "With `--best-effort`, the server passes the request on and does not enforce this";
                return Err(Fault::of(
                    param,
                    format!("this can't be enforced: {why}. {remedy}"),
                ));
            }
            (Err(Unheld::Because(why)), _) => {
                let warning = format!("answers are not constrained by a grammar: {why}");
                ready.warning = self.first_told(warning);
            }
        }
        Ok(true)
    }

    /// A warning, if it has not been told.
    fn first_told(&self, mut warning: String) -> Option<String> {
        warning.truncate(warning.floor_char_boundary(MAX_WARNING));
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if warning.is_empty() || told.contains(&warning) || told.len() >= MAX_TOLD {
            return None;
        }
        told.push(warning.clone());
        Some(warning)
    }

    /// How it is read what the model writes after the prompt.
    pub(crate) fn parser_options(ready: &Ready) -> ParserOptions {
        // Arguments may hold what ends a call or a turn, which no grammar keeps out of all of them. A call that is not what it should be is
        // no reason to withhold the rest: completions have it so.
        ParserOptions::default()
            .tools(ready.tools.clone())
            .body_aware_close(true)
            .on_malformed(OnMalformed::Event)
            .on_unread(OnUnread::Malformed)
    }

    /// Reads what the model writes after the prompt.
    pub(crate) fn completion(
        &self,
        ready: &Ready,
        options: CompletionOptions,
    ) -> Result<Completion, Fault> {
        let parser = Self::parser_options(ready);
        Completion::new(&self.response_template, &ready.prompt, parser, options)
            .map_err(|error| Fault::unreadable(&error))
    }

    /// The variables of a request. What a client says of thinking goes by the names that the template has for it.
    fn variables(&self, request: &Request) -> Object {
        let switches = self.switches.iter();
        let switched = switches.filter_map(|name| Some((name.as_str(), request.think?)));
        let mut variables = Object::from_iter(switched);
        variables.extend(request.variables.clone());
        variables
    }

    fn input(&self, variables: &Object) -> RenderInput {
        let mut input = self.template.given(&self.base);
        input.variables.extend(variables.clone());
        input
    }

    /// The prompt of a request. Templates want messages in one form or another, and refuse them in others: the plainest that they
    /// take is the one.
    fn prompt(&self, request: &Request, wanted: &Wanted) -> Result<String, Fault> {
        let fail = |error: &dyn std::fmt::Display| {
            Fault::of(
                "messages",
                format!("the chat template refuses them: {error}"),
            )
        };
        let renderer = self.prepared.renderer().map_err(|error| fail(&error))?;
        let mut refusal = None;
        let mut tried: Vec<Value> = Vec::new();
        for form in Form::ALL {
            let messages: Value = request
                .messages
                .iter()
                .map(|message| form.of(message))
                .collect();
            if tried.contains(&messages) {
                continue;
            }
            let input = RenderInput {
                messages: messages.clone(),
                tools: match request.offered() {
                    [] => Value::Null,
                    tools => tools.to_vec().into(),
                },
                add_generation_prompt: true,
                ..self.input(&self.variables(request))
            };
            match renderer.render(&input) {
                Ok(rendered) => return Ok(rendered.text),
                // In another form it would take as long.
                Err(error) if error.is_exhausted() => return Err(fail(&error)),
                Err(error) => refusal = refusal.or(Some(error)),
            }
            wanted.check()?;
            tried.push(messages);
        }
        Err(match refusal {
            Some(error) => fail(&error),
            None => Fault::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the messages have no form",
            ),
        })
    }

    /// The format of the model with some variables.
    fn format(
        &self,
        variables: &Object,
        expected: Expected,
    ) -> Option<Arc<Result<Format, String>>> {
        let key = json::write(&variables.clone().into());
        if expected == Expected::Short {
            return self.formats.find(&key);
        }
        let make = || {
            let format = Format::of(&self.template, &self.input(variables));
            Ok(format.map_err(|error| error.to_string()))
        };
        let made: Result<_, Infallible> = self.formats.get(&key, make, written_size);
        match made {
            Ok(format) => Some(format),
            Err(never) => match never {},
        }
    }

    /// What the output is held to, in a language.
    fn constraint(
        &self,
        request: &Request,
        ready: &Ready,
        language: Constraint,
        best_effort: bool,
        (expected, wanted): (Expected, &Wanted),
    ) -> Result<(Value, Vec<String>), Unheld> {
        let variables = self.variables(request);
        let format = self.format(&variables, expected).ok_or(Unheld::Late)?;
        wanted.check()?;
        let format = format.as_ref().as_ref();
        let format = format.map_err(|why| Unheld::Because(why.clone()))?;
        let begun = format.begun_by(&ready.prompt);
        if language == Constraint::Schema {
            let schema = schema_alone(request, begun).map_err(Unheld::Because)?;
            return Ok((schema, Vec::new()));
        }
        let schema = request.schema.as_ref().map(|(_, schema)| schema);
        // Only what the prompt has begun of the turn counts.
        let key = object! {
            "begun": begun,
            "variables": variables,
            "tools": request.tools.clone(),
            "choice": format!("{:?} {}", request.tool_choice, request.parallel),
            "schema": schema.cloned(),
        };
        let make = || {
            let mut asked = Asked::new()
                .tool_choice(request.tool_choice.clone())
                .parallel(request.parallel)
                .prompt(&*ready.prompt);
            asked.answer = schema.cloned();
            if best_effort {
                asked.beyond = Beyond::Loosen;
            }
            let tools = Tools::from_value(&request.tools.clone().into());
            let grammar = match Grammar::of(format, &tools, &asked) {
                Ok(grammar) => grammar,
                Err(GrammarError::TooMuch(beyond)) => {
                    let answer = request.schema.as_ref().map(|(param, _)| *param);
                    let param = match &beyond.place.tool {
                        None => answer.unwrap_or("tools"),
                        Some(_) => "tools",
                    };
                    return Err(Fault::of(param, beyond.explain(option_name)));
                }
                Err(error) => {
                    return Ok(Made {
                        constraint: Err(error.to_string()),
                        warnings: Vec::new(),
                    });
                }
            };
            wanted.check()?;
            Ok(Made {
                constraint: written(&grammar, language),
                warnings: match best_effort {
                    true => grammar.warnings,
                    false => Vec::new(),
                },
            })
        };
        let size = |made: &Made| {
            let constraint = made.constraint.as_ref();
            let texts = made.warnings.iter().map(String::len).sum::<usize>();
            texts + constraint.map_or_else(String::len, |value| json::write(value).len())
        };
        let key = json::write(&key.into());
        let made = match expected {
            Expected::Short => self.constraints.find(&key).ok_or(Unheld::Late)?,
            Expected::Long => self.constraints.get(&key, make, size)?,
        };
        let constraint = made.constraint.clone().map_err(Unheld::Because)?;
        Ok((constraint, made.warnings.clone()))
    }
}

/// The program's name for something that an error advises to make use of. Of the library's other advice, none is about requests.
fn option_name(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::Loosen => "`--best-effort`",
        other => other.name(),
    }
}

/// About how many bytes a format takes.
fn written_size(format: &Result<Format, String>) -> usize {
    struct Length(usize);
    impl Write for Length {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0 += text.len();
            Ok(())
        }
    }
    let mut length = Length(0);
    // Counting can't fail.
    let _ = write!(length, "{format:?}");
    length.0
}

/// The variables of a template that switch thinking, and show in its prompts.
fn switches(template: &ChatTemplate, base: &RenderInput) -> Vec<String> {
    let capabilities = Capabilities::of(template, base);
    let variables = capabilities.map(|found| found.variables);
    let variables = variables.unwrap_or_default().into_iter();
    let switches = variables.filter(|variable| {
        variable.switch.is_some() && variable.name.to_lowercase().contains("think")
    });
    switches.map(|variable| variable.name).collect()
}

/// A grammar in a language.
fn written(grammar: &Grammar, language: Constraint) -> Result<Value, String> {
    Ok(match language {
        Constraint::Gbnf => grammar.to_gbnf().text.into(),
        Constraint::StructuralTag => json::write(&grammar.to_structural_tag().value).into(),
        Constraint::ResponseFormat => grammar.to_structural_tag().value,
        Constraint::Regex => {
            let regex = grammar.to_regex().map_err(|error| error.to_string())?;
            object! {"type": "regex", "value": regex.text}.into()
        }
        Constraint::Schema => return Err("an engine that takes schemas takes no grammars".into()),
    })
}

/// The schema of an output that is nothing but an answer.
fn schema_alone(request: &Request, begun: &str) -> Result<Value, String> {
    let has_tools = !request.offered().is_empty();
    match &request.schema {
        None => Err("the engine takes JSON Schemas, and no grammars".to_owned()),
        Some(_) if has_tools => {
            Err("the engine takes JSON Schemas, which hold no calls beside an answer".to_owned())
        }
        Some(_) if !begun.trim().is_empty() => Err(format!(
            "the engine takes JSON Schemas, and the prompt has begun the turn with {begun:?}"
        )),
        Some((_, schema)) => Ok(schema.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::ToolChoice;

    const JINJA: &str = "{% for m in messages %}<{{ m.role }}>{{ m.content }}\
        {% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}<end>{% endfor %}\
        {% if add_generation_prompt %}<assistant>{% endif %}";

    fn tool() -> Value {
        json::read(
            r#"{"type": "function", "function": {"name": "wait", "parameters": {
                "type": "object", "properties": {"seconds": {"type": "integer"}}, "required": ["seconds"]}}}"#,
        )
        .expect("it is JSON")
    }

    /// A request with this choice, to an engine of this name.
    fn ready(choice: ToolChoice, engine: &str, best_effort: bool) -> Result<Ready, Fault> {
        let (model, warning) = Model::new(ChatTemplate::from_jinja(JINJA), RenderInput::default())
            .expect("it can be derived");
        assert_eq!(warning, None);
        let mut request = Request::new("m");
        request.messages = vec![object! {"role": "user", "content": "Wait."}.into()];
        request.tools = vec![tool()];
        request.tool_choice = choice;
        let engine = Engine::named(engine).expect("there is such an engine");
        let holding = Holding {
            grammars: true,
            best_effort,
        };
        let wanted = Wanted::always();
        let mut ready = model.ready(&mut request, &wanted)?;
        let mut hold = |expected| {
            let doing = (expected, &wanted);
            model.hold(&request, &mut ready, engine, holding, doing)
        };
        // What has yet to be found out takes long, and is known from then on.
        if engine.constraint.is_some() {
            assert_eq!(hold(Expected::Short), Ok(false));
        }
        assert!(hold(Expected::Long)?);
        assert_eq!(hold(Expected::Short), Ok(true));
        Ok(ready)
    }

    #[test]
    fn each_engine_gets_a_grammar_in_its_language() {
        for (engine, begins) in [
            ("llama.cpp", "\"root ::= "),
            ("vllm", "\"{\\\"type\\\":\\\"structural_tag\\\""),
            ("sglang", "{\"type\":\"structural_tag\""),
        ] {
            let ready = ready(ToolChoice::Required, engine, false).map_err(|fault| fault.message);
            let constraint = ready.expect(engine).constraint.expect(engine);
            let text = json::write(&constraint);
            assert!(text.starts_with(begins), "{engine}: {text}");
        }
    }

    #[test]
    fn what_can_not_be_held_is_refused_by_name_or_tried_if_that_is_wanted() {
        let refusal = ready(ToolChoice::Required, "mlx-lm", false).err();
        let refusal = refusal.expect("there is no grammar");
        assert_eq!(refusal.param.as_deref(), Some("tool_choice"));
        assert!(
            refusal.message.contains("`mlx-lm` takes no grammars"),
            "{}",
            refusal.message
        );
        assert!(ready(ToolChoice::Required, "mlx-lm", true).is_ok());
        assert!(ready(ToolChoice::Auto, "mlx-lm", false).is_ok());
    }

    #[test]
    fn an_unknown_tool_is_refused() {
        let refusal = ready(ToolChoice::Named("sleep".into()), "llama.cpp", false).err();
        let refusal = refusal.expect("there is no such tool");
        assert!(
            refusal.message.contains("the tools are `wait`"),
            "{}",
            refusal.message
        );
    }
}
