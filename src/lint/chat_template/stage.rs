//! Where conversations are rendered: each once, and all within one budget.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use crate::analysis;
use crate::analysis::probe::Setting;
use crate::analysis::turn_prober::TurnProber;
use crate::chat_template::program::{Program, Statement, StatementKind, What};
use crate::chat_template::steps::{Act, Steps, Writing};
use crate::chat_template::{
    ChatTemplate, PreparedTemplate, REASONING_KEYS, RenderError, RenderInput, Renderer, Tracer,
};
use crate::json;
use crate::position::Position;
use crate::value::Value;

use super::talk::{Form, Talk, WordKind, Writer};

/// What a conversation renders to.
pub(super) type Outcome = Rc<Result<String, RenderError>>;

/// A template, with all that has been rendered of it.
pub(super) struct Stage<'t> {
    pub(super) template: &'t ChatTemplate,
    prepared: &'t PreparedTemplate,
    pub(super) program: Program,
    renderer: Renderer<'t>,
    tracer: Tracer<'t>,
    setting: Setting,
    /// The variables that switch thinking.
    pub(super) switches: Vec<String>,
    pub(super) writer: Writer,
    /// Whether calls are rendered in any form.
    pub(super) takes_calls: bool,
    outcomes: RefCell<HashMap<String, Outcome>>,
    traces: RefCell<HashMap<String, Rc<Traced>>>,
    gave_up: RefCell<Option<RenderError>>,
}

/// A rendering with the steps that were taken.
pub(super) struct Traced {
    pub(super) ways: Ways,
    pub(super) text: String,
    pub(super) steps: Steps,
    /// What was written by which step; nothing if that is not known.
    pub(super) writings: Vec<Writing>,
}

/// How often the conditions of statements went which way, by where these stand.
#[derive(Clone, Default)]
pub(super) struct Ways(HashMap<usize, [usize; 2]>);

impl Ways {
    /// Whether the condition of a statement ever went a way.
    pub(super) fn tested(&self, statement: &Statement, way: bool) -> bool {
        let ways = self.0.get(&statement.place.start);
        ways.is_some_and(|ways| ways[usize::from(way)] > 0)
    }

    /// Whether the condition of a statement went no way.
    pub(super) fn is_untested(&self, statement: &Statement) -> bool {
        let ways = self.0.get(&statement.place.start);
        ways.is_none_or(|ways| *ways == [0, 0])
    }

    /// Which they went more often than in another run; nothing if they all went as they do there.
    pub(super) fn beyond(&self, other: &Ways) -> Option<Ways> {
        let none = [0, 0];
        let mut is_any = false;
        let more = self.0.iter().map(|(place, ways)| {
            let others = other.0.get(place).unwrap_or(&none);
            let more = [0, 1].map(|way: usize| ways[way].saturating_sub(others[way]));
            is_any |= more != none;
            (*place, more)
        });
        let more = Ways(more.collect());
        is_any.then_some(more)
    }
}

impl<'t> Stage<'t> {
    /// If not even a question is rendered, there is an error beside it, and what can be read is left.
    pub(super) fn new(
        template: &'t ChatTemplate,
        prepared: &'t PreparedTemplate,
        base: &RenderInput,
    ) -> Result<(Stage<'t>, Option<RenderError>), RenderError> {
        let program = prepared.program()?;
        let (setting, switches, error) = match TurnProber::new(template, prepared, base) {
            Ok(prober) => (
                prober.setting().with_texts(),
                prober
                    .switches()
                    .iter()
                    .map(|switch| switch.name.clone())
                    .collect(),
                None,
            ),
            Err(error) => (Setting::plain(template, base), Vec::new(), Some(error)),
        };
        let mut stage = Stage {
            template,
            prepared,
            program,
            renderer: prepared.renderer()?,
            tracer: prepared.tracer()?,
            setting,
            switches,
            writer: Writer::new(&template.jinja),
            takes_calls: false,
            outcomes: RefCell::default(),
            traces: RefCell::default(),
            gave_up: RefCell::default(),
        };
        if error.is_none() {
            stage.find_form();
        }
        Ok((stage, error))
    }

    /// Finds out in which form calls are rendered.
    fn find_form(&mut self) {
        for form in Form::all() {
            self.writer.form = form;
            let is_rendered = ["uco", "uc"].into_iter().any(|shape| {
                let talk = self.writer.talk(shape);
                // Some make other letters of it: that is found out later.
                let holds = |text: &str| {
                    let lowered = text.to_lowercase();
                    let mut values = talk.words_of(WordKind::Value);
                    values.all(|word| lowered.contains(&word.text.to_lowercase()))
                };
                self.text(&talk).is_some_and(|text| holds(&text))
            });
            if is_rendered {
                self.takes_calls = true;
                return;
            }
        }
        self.writer.form = Form::COMMON;
    }

    pub(super) fn talk(&self, shape: &str) -> Talk {
        self.writer.talk(shape)
    }

    /// What the template is given to render a conversation.
    pub(super) fn input(&self, talk: &Talk) -> RenderInput {
        let messages = talk
            .messages
            .iter()
            .map(|message| self.setting.in_form(message));
        let tools = (!talk.tools.is_empty()).then(|| talk.tools.iter().cloned().collect());
        let mut input = self
            .setting
            .input(messages.collect(), tools, &talk.variables);
        input.add_generation_prompt = talk.prompt;
        input
    }

    /// Renders a conversation.
    pub(super) fn render(&self, talk: &Talk) -> Outcome {
        let input = self.input(talk);
        let key = key(&input);
        if let Some(known) = self.outcomes.borrow().get(&key) {
            return known.clone();
        }
        let outcome = Rc::new(self.render_input(&input));
        self.outcomes.borrow_mut().insert(key, outcome.clone());
        outcome
    }

    /// Renders what is given, whether it was rendered before or not.
    pub(super) fn render_input(&self, input: &RenderInput) -> Result<String, RenderError> {
        self.unless_given_up(|| Ok(self.renderer.render_short(input)?.text))
    }

    /// The text of a conversation, if it is rendered.
    pub(super) fn text(&self, talk: &Talk) -> Option<String> {
        self.render(talk).as_ref().as_ref().ok().cloned()
    }

    /// Renders a conversation with all steps.
    pub(super) fn trace(&self, talk: &Talk) -> Rc<Traced> {
        let input = self.input(talk);
        let key = key(&input);
        if let Some(known) = self.traces.borrow().get(&key) {
            return known.clone();
        }
        let mut steps = Steps::default();
        let text = self.unless_given_up(|| {
            let (rendering, taken) = self.tracer.render(&input);
            steps = taken;
            Ok(rendering?.text)
        });
        let text = text.unwrap_or_default();
        let mut ways = Ways::default();
        for step in steps.all() {
            if let Act::Tested(way) = step.act
                && let Some(statement) = self.program.at(&steps.place(step))
            {
                ways.0.entry(statement.place.start).or_default()[usize::from(way)] += 1;
            }
        }
        let traced = Rc::new(Traced {
            ways,
            writings: steps.writings(&text),
            steps,
            text,
        });
        self.traces.borrow_mut().insert(key, traced.clone());
        traced
    }

    fn unless_given_up(
        &self,
        render: impl FnOnce() -> Result<String, RenderError>,
    ) -> Result<String, RenderError> {
        if let Some(error) = &*self.gave_up.borrow() {
            return Err(error.clone());
        }
        let rendered = render();
        if let Err(error) = &rendered
            && error.is_exhausted()
        {
            self.gave_up.replace(Some(error.clone()));
        }
        rendered
    }

    /// Why it was not worth going on, if it was not.
    pub(super) fn gave_up(&self) -> Option<RenderError> {
        self.gave_up.borrow().clone()
    }

    /// The text of the template, as places in it go by it.
    pub(super) fn source(&self) -> &'t str {
        self.prepared.text()
    }

    /// What stands at a place of the template.
    pub(super) fn source_at(&self, place: &Range<usize>) -> &'t str {
        self.source().get(place.clone()).unwrap_or_default()
    }

    /// A place in the template's file.
    pub(super) fn position(&self, place: usize) -> Position {
        let source = self.source();
        let blanks = source.get(place..).unwrap_or_default();
        let place = place + (blanks.len() - blanks.trim_start().len());
        let mut left = self.prepared.original_place(place);
        let jinja = &self.template.jinja;
        if jinja.contains('\r') {
            // Line ends of two characters were made one.
            let mut offset = 0;
            for (at, c) in jinja.char_indices() {
                offset = at;
                if left == 0 {
                    break;
                }
                if c != '\r' || !jinja[at..].starts_with("\r\n") {
                    left = left.saturating_sub(c.len_utf8());
                }
            }
            left = offset;
        }
        Position::at(jinja, left)
    }

    /// The variables that the template reads beside the conversation.
    pub(super) fn variables(&self) -> impl Iterator<Item = String> {
        let names = self.prepared.variables().iter();
        let mut own: Vec<String> = names
            .filter(|(name, is_set)| !is_set && !analysis::is_given(name))
            .map(|(name, _)| name.clone())
            .collect();
        own.sort();
        own.into_iter()
    }

    /// Whether a statement stands in the branch of a role, or in none of a condition on roles.
    pub(super) fn stands_under(&self, statement: &Statement, role: &str) -> bool {
        let mut openers = self
            .program
            .around(statement)
            .filter(|block| block.branch == 0);
        let of_roles = openers.find(|block| {
            let opener = &self.program.statements[block.opened_by];
            opener.kind == StatementKind::If && self.reads(opener, &["role"])
        });
        of_roles.is_none_or(|block| {
            super::blame::compares(self, &self.program.statements[block.opened_by], role)
        })
    }

    /// Whether names and arguments of calls are read within a block that a statement opens.
    pub(super) fn encloses_calls(&self, statement: &Statement) -> bool {
        self.readers(&["arguments"]).any(|reader| {
            let mut around = self.program.around(reader);
            around.any(|block| block.opened_by == statement.number)
        })
    }

    /// Whether the template has `{% generation %}`.
    pub(super) fn marks_generation(&self) -> bool {
        self.prepared.marks_generation()
    }

    /// Whether a variable is set from words of the conversation.
    pub(super) fn holds_words(&self, name: &str) -> bool {
        self.program.statements.iter().any(|statement| {
            statement.kind == StatementKind::Set(name.to_owned())
                && self.reads(statement, &["content"])
        })
    }

    /// Where something failed. Of some operations, only the line is known.
    pub(super) fn place_of(&self, error: &RenderError) -> Option<Range<usize>> {
        let of_line = || {
            let before = self.source().split_inclusive('\n');
            let before = before.take(error.line()?.checked_sub(1)?);
            Some(before.map(str::len).sum())
        };
        let place = error.place().or_else(of_line)?;
        Some(place..(place + 1).min(self.source().len()).max(place))
    }

    /// Whether the template reads a variable or a key of this name.
    pub(super) fn reads_name(&self, name: &str) -> bool {
        self.readers(&[name]).next().is_some()
    }

    /// Whether the template reads a key of one of these names.
    pub(super) fn reads_keys(&self, names: &[&str]) -> bool {
        let mut uses = self.program.uses.iter();
        uses.any(|used| matches!(&used.what, What::Key(name) if names.contains(&name.as_str())))
    }

    /// Whether the template knows of thoughts.
    pub(super) fn thinks(&self) -> bool {
        self.reads_keys(&REASONING_KEYS)
            || !self.switches.is_empty()
            || self.source().contains("think")
    }

    /// What all renderings have in common.
    pub(super) fn base(&self) -> &RenderInput {
        &self.setting.base
    }

    /// The statements that read a variable or key of one of these names.
    pub(super) fn readers<'s>(&'s self, names: &'s [&str]) -> impl Iterator<Item = &'s Statement> {
        let all = self.program.statements.iter();
        all.filter(move |statement| self.reads(statement, names))
    }

    /// Whether a statement reads a variable or a key of one of these names, or calls a macro, which may.
    pub(super) fn may_read(&self, statement: &Statement, names: &[&str]) -> bool {
        let mut uses = self.program.uses_of(statement).iter();
        self.reads(statement, names)
            || uses.any(|used| match &used.what {
                What::Function(name, _) => self.program.macros.contains(name),
                _ => false,
            })
    }

    /// Whether a statement reads a variable or a key of one of these names.
    pub(super) fn reads(&self, statement: &Statement, names: &[&str]) -> bool {
        let uses = self.program.uses_of(statement);
        uses.iter().any(|used| match &used.what {
            What::Variable(name) | What::Key(name) => names.contains(&name.as_str()),
            _ => false,
        })
    }
}

/// All in which renderings differ.
fn key(input: &RenderInput) -> String {
    let parts = [
        input.messages.clone(),
        input.tools.clone(),
        input.variables.clone().into(),
        Value::from(input.add_generation_prompt),
    ];
    json::write(&Value::from(parts.to_vec()))
}
