//! Rendering chat templates as the transformers library does.
//!
//! minijinja parses and runs the templates. What Python does otherwise is supplied here, each in
//! one place. From the bottom up, each using only those before it:
//!
//! - [`budget`], [`made`], [`chains`] and [`constants`] see to it that any template comes to an end;
//! - [`characters`], [`kinds`] and [`items`] say what values are, and [`printing`] how they print;
//! - [`ordering`], [`slices`], [`percent`] and [`operators`] calculate with them;
//! - [`strings`], [`dicts`], [`lists`] and [`namespaces`] have their [`methods`];
//! - [`filters`] and [`globals`] have the filters, tests and functions;
//! - [`literals`] reads strings that are written down, and [`tokens`] cuts a template into tokens;
//! - [`generation`] has the one tag of its own, [`spelling`] spells for minijinja what its parser does not read, and
//!   [`instructions`] replaces those of its instructions that mean more in Python;
//! - [`program`] says what stands in a template, and [`steps`] what it does while it renders.

mod arguments;
mod budget;
mod chains;
mod characters;
mod constants;
mod dicts;
mod error;
mod escape;
mod filters;
mod generation;
mod generators;
mod globals;
mod groups;
mod input;
mod instructions;
mod items;
mod kinds;
mod lists;
pub(crate) mod literals;
mod made;
mod methods;
mod namespaces;
mod operators;
mod ordering;
mod percent;
mod printing;
pub(crate) mod program;
mod slices;
mod spelling;
pub(crate) mod steps;
mod strings;
mod time;
pub(crate) mod tokens;
mod values;

use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use minijinja::machinery::{CompiledTemplate, TemplateConfig, make_string_output};
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment};

use crate::budget::{BYTES_COMPILED_IN_A_STEP, Budget};
use crate::value::Value;

pub use error::RenderError;
pub use input::RenderInput;
pub(crate) use input::{OTHER_REASONING_KEYS, REASONING_KEYS};
use program::Program;
use spelling::Respelled;
use steps::{NotedSpans, Steps};

/// Set where there is no system: WebAssembly without one has no clock, and no threads.
pub(crate) const IS_BARE: bool = cfg!(all(target_family = "wasm", target_os = "unknown"));

/// Bytes of a text that is worth looking at, where a few short messages are rendered: there are dozens of such texts,
/// they are compared piece by piece, and all are kept.
const SHORT_TEXT: usize = 1 << 18;

/// Bytes of such a text with notes of what has written it.
const NOTED_TEXT: usize = 1 << 20;

/// What a template has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendering {
    /// The text.
    pub text: String,
    /// The ranges of characters that `{% generation %}` encloses: what the model would write.
    pub generated: Vec<Range<usize>>,
}

/// A template's text, made ready to be compiled.
///
/// It stands apart from the [`Renderer`] because that borrows from it.
#[derive(Debug, Clone)]
pub struct PreparedTemplate {
    original: String,
    /// The same as minijinja reads it, if that is another text; or why it can't be read.
    respelled: Result<Option<Respelled>, RenderError>,
    variables: OnceLock<Vec<(String, bool)>>,
    budget: Budget,
}

impl PreparedTemplate {
    pub(super) fn new(jinja: &str, budget: Budget) -> PreparedTemplate {
        // Jinja has one kind of line end.
        let original = jinja.replace("\r\n", "\n").replace('\r', "\n");
        // What is too long is refused when it is compiled.
        let respelled = match original.len() <= chains::MAX_TEMPLATE {
            true => spelling::respelled(&original),
            false => Ok(None),
        };
        let respelled = respelled.map_err(|error| RenderError::of_token(error, &original));
        PreparedTemplate {
            original,
            respelled,
            variables: OnceLock::new(),
            budget,
        }
    }

    /// The work that may still be done with it.
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    fn respelled(&self) -> Option<&Respelled> {
        self.respelled.as_ref().ok()?.as_ref()
    }

    /// The text that is compiled, by which places go.
    pub(crate) fn text(&self) -> &str {
        self.respelled()
            .map_or(&self.original, |respelled| &respelled.text)
    }

    fn error(&self, error: &minijinja::Error) -> RenderError {
        RenderError::new(error, &self.original, |place| self.original_place(place))
    }

    /// Whether the template has `{% generation %}`, and so says what of a conversation a model
    /// would write.
    pub fn marks_generation(&self) -> bool {
        self.respelled()
            .is_some_and(|respelled| respelled.marks_generation)
    }

    /// The names that the template may read from outside, in no particular order, each with
    /// whether it also sets them itself somewhere.
    pub(crate) fn variables(&self) -> &[(String, bool)] {
        self.variables.get_or_init(|| self.find_variables())
    }

    fn find_variables(&self) -> Vec<(String, bool)> {
        // What is refused has none.
        if self.compiled().is_err() {
            return Vec::new();
        }
        let found = chains::guarded(self.text(), &config(), || {
            let mut environment = Environment::empty();
            environment.set_syntax(syntax());
            let template = environment.template_from_str(self.text())?;
            let compiled = minijinja::machinery::get_compiled_template(&template);
            let set = instructions::names_set(&compiled.instructions);
            let mut names = template.undeclared_variables(false);
            let read_before = instructions::names_read_before_set(&compiled.instructions);
            names.extend(read_before.into_iter().map(str::to_owned));
            let names = names.into_iter().map(|name| {
                let is_set = set.contains(&name.as_str());
                (name, is_set)
            });
            Ok(names.collect())
        });
        found.unwrap_or_default()
    }

    /// What stands in the template, statement by statement.
    pub(crate) fn program(&self) -> Result<Program, RenderError> {
        // What is too long is refused before it is parsed.
        self.compiled()?;
        chains::parsed(NAME, self.text(), &config(), Program::of)
            .map_err(|error| self.error(&error))
    }

    /// Where a place stands in the template as it was given, if its lines end in line feeds.
    pub(crate) fn original_place(&self, place: usize) -> usize {
        let seams = self.respelled().map_or(&[][..], |all| &all.seams);
        let next = seams.partition_point(|(text, _)| *text <= place);
        let (text, original) = match next.checked_sub(1) {
            Some(before) => seams[before],
            None => (0, 0),
        };
        // What is spelled otherwise may be longer than it was.
        let end = seams.get(next).map_or(self.original.len(), |next| next.1);
        (original + (place - text)).min(end)
    }

    /// The same as [`renderer`](Self::renderer), for renderings with all steps.
    pub(crate) fn tracer(&self) -> Result<Tracer<'_>, RenderError> {
        let mut places = NotedSpans::default();
        let renderer = Renderer::new(self, Some(&mut places))?;
        Ok(Tracer { renderer, places })
    }

    fn compiled(&self) -> Result<CompiledTemplate<'_>, RenderError> {
        if let Err(error) = &self.respelled {
            return Err(error.clone());
        }
        chains::compiled(NAME, self.text(), &config()).map_err(|error| self.error(&error))
    }

    /// Compiles the template.
    ///
    /// # Errors
    ///
    /// If it is not valid Jinja.
    pub fn renderer(&self) -> Result<Renderer<'_>, RenderError> {
        Renderer::new(self, None)
    }
}

fn config() -> TemplateConfig {
    TemplateConfig {
        syntax_config: syntax(),
        default_auto_escape: Arc::new(|_| AutoEscape::None),
    }
}

/// A compiled template, to be rendered again and again; see
/// [`ChatTemplate::prepare`](crate::chat_template::ChatTemplate::prepare).
pub struct Renderer<'t> {
    environment: Environment<'t>,
    compiled: CompiledTemplate<'t>,
    prepared: &'t PreparedTemplate,
    budget: Budget,
    /// The tools of the rendering before, as templates have them: mostly they are the same again.
    tools: Mutex<(Value, minijinja::Value)>,
}

impl std::fmt::Debug for Renderer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Renderer")
            .field("template", &self.prepared.original)
            .finish_non_exhaustive()
    }
}

/// A compiled template that says what it does.
pub(crate) struct Tracer<'t> {
    renderer: Renderer<'t>,
    places: NotedSpans,
}

impl Tracer<'_> {
    /// Renders a conversation, and gives all steps that were taken, be it up to an error.
    pub(crate) fn render(&self, input: &RenderInput) -> (Result<Rendering, RenderError>, Steps) {
        steps::noting(&self.places, || self.renderer.render_short(input))
    }
}

/// The name under which errors know the template.
const NAME: &str = "chat template";

/// White space around tags goes as the transformers library has it.
pub(super) fn syntax() -> SyntaxConfig {
    let mut builder = SyntaxConfig::builder();
    builder.trim_blocks(true).lstrip_blocks(true);
    // Only delimiters can be refused, and these are the ordinary ones.
    builder.build().unwrap_or_default()
}

/// All that every template can use.
static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    // Without minijinja's own filters and tests, which count nothing.
    let mut environment = Environment::empty();
    environment.set_syntax(syntax());
    // So that errors name the expression that is undefined.
    environment.set_debug(true);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_recursion_limit(budget::MAX_RECURSION);
    environment.set_formatter(printing::format);
    environment.set_unknown_method_callback(methods::call);
    filters::add_to(&mut environment);
    globals::add_to(&mut environment);
    instructions::add_to(&mut environment);
    environment
});

impl<'t> Renderer<'t> {
    /// `places` are filled in where it is to be noted what the template does.
    fn new(
        prepared: &'t PreparedTemplate,
        mut places: Option<&mut NotedSpans>,
    ) -> Result<Renderer<'t>, RenderError> {
        prepared
            .budget
            .spend(prepared.text().len() as u64 / BYTES_COMPILED_IN_A_STEP);
        let mut compiled = prepared.compiled()?;
        instructions::replace(&mut compiled, places.as_deref_mut());
        let mut environment = ENVIRONMENT.clone();
        if let Some(places) = places {
            steps::add_to(&mut environment, prepared.text(), places);
        }
        Ok(Renderer {
            environment,
            compiled,
            prepared,
            budget: prepared.budget.clone(),
            tools: Mutex::new((Value::Null, values::to_template(&Value::Null))),
        })
    }

    /// The work that may still be done by rendering.
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The same for renderings that draw from another budget.
    pub(crate) fn within(self, budget: &Budget) -> Renderer<'t> {
        Renderer {
            budget: budget.clone(),
            ..self
        }
    }

    /// Renders a conversation.
    pub fn render(&self, input: &RenderInput) -> Result<Rendering, RenderError> {
        if self.budget.is_spent() {
            return Err(RenderError::given_up(budget::NOTHING_LEFT));
        }
        let _spending = budget::Spending::begin(input::size(input), &self.budget);
        let mut environment = self.environment.clone();
        environment.set_fuel(Some(budget::max_steps()));
        time::add_to(&mut environment, input.now);
        let marks = self
            .prepared
            .marks_generation()
            .then(|| generation::Marks::add_to(&mut environment));
        let root = input::context(input, self.tools(&input.tools));
        let mut text = String::new();
        self.run(&environment, root, &mut text)
            .map_err(|error| self.prepared.error(&error))?;
        Ok(match marks {
            Some(marks) => {
                let (text, generated) = marks.take_out(text);
                Rendering { text, generated }
            }
            None => Rendering {
                text,
                generated: Vec::new(),
            },
        })
    }

    /// Renders a few short messages; a text that is much longer than these is given up.
    pub(crate) fn render_short(&self, input: &RenderInput) -> Result<Rendering, RenderError> {
        self.render_up_to(SHORT_TEXT, input)
    }

    /// The same with a template that notes what it writes.
    pub(crate) fn render_noted(&self, input: &RenderInput) -> Result<Rendering, RenderError> {
        self.render_up_to(NOTED_TEXT, input)
    }

    fn render_up_to(&self, most: usize, input: &RenderInput) -> Result<Rendering, RenderError> {
        let rendering = self.render(input)?;
        match rendering.text.len() > most {
            true => Err(RenderError::given_up(format!(
                "the rendering of a few short messages is longer than {most} bytes"
            ))),
            false => Ok(rendering),
        }
    }

    /// The tools as templates have them.
    fn tools(&self, tools: &Value) -> minijinja::Value {
        let mut known = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.0.shares_all_with(tools) {
            *known = (tools.clone(), values::to_template(tools));
        }
        known.1.clone()
    }

    fn run(
        &self,
        environment: &Environment<'t>,
        root: minijinja::Value,
        text: &mut String,
    ) -> Result<(), minijinja::Error> {
        let mut output = make_string_output(text);
        let (_, state) = minijinja::machinery::eval(
            environment,
            &self.compiled.instructions,
            root,
            &self.compiled.blocks,
            &mut output,
            AutoEscape::None,
        )?;
        budget::note_run(&state);
        Ok(())
    }
}
