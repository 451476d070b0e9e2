//! What a template does step by step, each step with its place in the template.
//!
//! A template that is [made ready for it](super::PreparedTemplate::tracer) calls functions of this file between its
//! own instructions. They hand on what they are given, and take note of it.

use std::cell::RefCell;
use std::ops::Range;

use minijinja::machinery::{Instruction, Instructions};
use minijinja::{Environment, Error, Value};

use super::{budget, generation, printing};

const WRITES: &str = "__writes";
const WRITES_RAW: &str = "__writes_raw";
const MAKES: &str = "__makes";
const TESTS: &str = "__tests";

/// So many steps are kept of a rendering, and so many bytes of what they make.
const MAX_STEPS: usize = 100_000;
const MAX_BYTES: usize = 16 << 20;
/// How deep macros are looked into that call each other.
const MAX_NESTED: usize = 8;
/// So often each step is looked at, in the mean. What macros write that write nothing could be looked at without end.
const MAX_LOOKS: usize = 16;
/// A value that is longer is not kept.
const MAX_VALUE: usize = 1 << 16;

/// Something that a template did.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// The number of the [place](NotedSpans) where it did it.
    place: usize,
    pub(crate) act: Act,
}

/// What a template may do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Act {
    /// It wrote a text: into what is rendered, or into a value.
    Wrote(String),
    /// It read or made a text.
    Made(String),
    /// It looked whether something is so.
    Tested(bool),
}

/// Where in a template the instructions stand that are taken note of.
#[derive(Debug, Clone, Default)]
pub(super) struct NotedSpans(Vec<NotedSpan>);

#[derive(Debug, Clone)]
struct NotedSpan {
    range: Range<usize>,
    /// The macro or block whose text is kept that it stands in: what is written there goes into a value.
    kept_in: Option<usize>,
    /// The text that is written there, if it stands in the template.
    raw: Option<Range<usize>>,
}

thread_local! {
    static NOTED: RefCell<Option<Noted>> = const { RefCell::new(None) };
}

#[derive(Default)]
struct Noted {
    steps: Vec<Step>,
    bytes: usize,
    is_cut: bool,
}

/// What a template has done in a rendering.
#[derive(Debug, Clone, Default)]
pub(crate) struct Steps {
    all: Vec<Step>,
    places: Vec<NotedSpan>,
    /// Whether there were too many to be kept.
    is_cut: bool,
}

/// A text that was written, where in what is rendered, and by which steps.
#[derive(Debug, Clone)]
pub(crate) struct Writing {
    /// The step that wrote it, behind those that wrote what the macro returned in which it stands.
    pub(crate) steps: Vec<usize>,
    /// Where it stands in what is rendered.
    pub(crate) range: Range<usize>,
}

impl Steps {
    /// The steps in their order.
    pub(crate) fn all(&self) -> &[Step] {
        &self.all
    }

    /// Where in the template a step was done.
    pub(crate) fn place(&self, step: &Step) -> Range<usize> {
        self.places[step.place].range.clone()
    }

    /// What was written straight into what is rendered, each with its place there; nothing if that is not the
    /// whole of it.
    pub(crate) fn writings(&self, rendered: &str) -> Vec<Writing> {
        let mut writings: Vec<Writing> = Vec::new();
        let mut looks = self.all.len().saturating_mul(MAX_LOOKS);
        let mut end = 0;
        for (number, step) in self.all.iter().enumerate() {
            if let Act::Wrote(text) = &step.act
                && self.places[step.place].kept_in.is_none()
            {
                let start = end;
                end += text.len();
                if rendered.get(start..end) != Some(text.as_str()) {
                    return Vec::new();
                }
                let parts = self.parts(number, text, 0, &mut looks);
                let parts = parts.map(|(parts, _)| parts);
                let whole = || {
                    vec![Writing {
                        steps: Vec::new(),
                        range: 0..text.len(),
                    }]
                };
                writings.extend(parts.unwrap_or_else(whole).into_iter().map(|mut writing| {
                    writing.steps.insert(0, number);
                    let Range {
                        start: from,
                        end: to,
                    } = writing.range;
                    writing.range = start + from..start + to;
                    writing
                }));
            }
        }
        match end == rendered.len() && !self.is_cut {
            true => writings,
            false => Vec::new(),
        }
    }

    /// The steps that wrote what a call returned that is written by another step: those of a macro, and of those that it
    /// calls. Beside them, the first step that was looked at.
    ///
    /// ```text
    /// (outer "<")  (inner "a")  (outer "a")  (outer ">")  "<a>"
    /// ```
    ///
    /// Here the last step wrote what three of one macro wrote, the second of which wrote what one of another did.
    fn parts(
        &self,
        number: usize,
        text: &str,
        depth: usize,
        looks: &mut usize,
    ) -> Option<(Vec<Writing>, usize)> {
        let kept_in = |step: &Step| self.places[step.place].kept_in;
        let mut parts: Vec<Writing> = Vec::new();
        let mut body = None;
        let (mut start, mut at) = (text.len(), number);
        while start > 0 {
            at = at.checked_sub(1)?;
            *looks = looks.checked_sub(1)?;
            let step = &self.all[at];
            let Act::Wrote(part) = &step.act else {
                continue;
            };
            let own = kept_in(step).filter(|own| Some(*own) != kept_in(&self.all[number]))?;
            if *body.get_or_insert(own) != own {
                // It went into something that was kept, and not written.
                continue;
            }
            start = text[..start].strip_suffix(part.as_str())?.len();
            let nested = (depth < MAX_NESTED).then(|| self.parts(at, part, depth + 1, looks));
            let whole = Writing {
                steps: Vec::new(),
                range: 0..part.len(),
            };
            let (inner, first) = nested.flatten().unwrap_or((vec![whole], at));
            parts.extend(inner.into_iter().rev().map(|mut writing| {
                writing.steps.insert(0, at);
                writing.range = start + writing.range.start..start + writing.range.end;
                writing
            }));
            at = first;
        }
        parts.reverse();
        (!parts.is_empty()).then_some((parts, at))
    }
}

/// Adds the functions that take note.
pub(super) fn add_to(environment: &mut Environment<'_>, source: &str, places: &NotedSpans) {
    let raws: Vec<Option<String>> = places
        .0
        .iter()
        .map(|place| {
            let raw = place.raw.clone();
            raw.and_then(|raw| source.get(raw).map(str::to_owned))
        })
        .collect();
    environment.add_filter(WRITES_RAW, move |place: usize| {
        if let Some(Some(text)) = raws.get(place) {
            note(place, || Act::Wrote(text.clone()));
        }
    });
    environment.add_filter(
        WRITES,
        |value: &Value, place: usize| -> Result<Value, Error> {
            let text = printing::str(value)?;
            note(place, || Act::Wrote(generation::unmarked(text)));
            Ok(value.clone())
        },
    );
    environment.add_filter(
        MAKES,
        |value: &Value, place: usize| -> Result<Value, Error> {
            if let Some(text) = value.as_str().filter(|text| text.len() <= MAX_VALUE) {
                budget::spend(text.len())?;
                note(place, || Act::Made(text.to_owned()));
            }
            Ok(value.clone())
        },
    );
    environment.add_filter(TESTS, |value: &Value, place: usize| {
        note(place, || Act::Tested(value.is_true()));
        value.clone()
    });
}

fn note(place: usize, act: impl FnOnce() -> Act) {
    NOTED.with_borrow_mut(|noted| {
        let Some(noted) = noted else {
            return;
        };
        if noted.steps.len() >= MAX_STEPS || noted.bytes > MAX_BYTES {
            noted.is_cut = true;
            return;
        }
        let act = act();
        noted.bytes += match &act {
            Act::Wrote(text) | Act::Made(text) => text.len(),
            Act::Tested(_) => 0,
        };
        noted.steps.push(Step { place, act });
    });
}

/// Takes note of all steps that are done meanwhile.
pub(super) fn noting<T>(places: &NotedSpans, doing: impl FnOnce() -> T) -> (T, Steps) {
    NOTED.set(Some(Noted::default()));
    let done = doing();
    let noted = NOTED.take().unwrap_or_default();
    let steps = Steps {
        all: noted.steps,
        places: places.0.clone(),
        is_cut: noted.is_cut,
    };
    (done, steps)
}

/// What is to be called before and after an instruction of a program so that it is taken note of.
pub(super) struct NoteTaker<'p> {
    places: &'p mut NotedSpans,
    /// The captures in which the instruction stands that is looked at, the innermost last.
    captures: Vec<usize>,
    /// How many captures there have been.
    count: usize,
    /// Where the macros of the program end, by where they begin.
    macros: Vec<Range<u32>>,
}

impl<'p> NoteTaker<'p> {
    pub(super) fn new(places: &'p mut NotedSpans, program: &Instructions<'_>) -> NoteTaker<'p> {
        let all = (0..).map_while(|index| Some((index, program.get(index)?)));
        let macros = all.filter_map(|(index, instruction)| match instruction {
            Instruction::BuildMacro(_, start, _) => Some(*start..index),
            _ => None,
        });
        NoteTaker {
            macros: macros.collect(),
            places,
            captures: Vec::new(),
            count: 0,
        }
    }

    /// The instructions to be added before and after one of a program.
    pub(super) fn around<'s>(
        &mut self,
        program: &Instructions<'s>,
        index: u32,
    ) -> (Vec<Instruction<'s>>, Vec<Instruction<'s>>) {
        let Some(instruction) = program.get(index) else {
            return Default::default();
        };
        let span = program.get_span(index);
        let mut range = span.map_or(0..0, |span| {
            span.start_offset as usize..span.end_offset as usize
        });
        let mut raw = None;
        let (name, is_before) = match instruction {
            Instruction::BeginCapture(_) => {
                self.captures.push(self.count);
                self.count += 1;
                return Default::default();
            }
            Instruction::EndCapture => {
                self.captures.pop();
                return Default::default();
            }
            Instruction::EmitRaw(text) => {
                // It is a slice of the source.
                let start =
                    (text.as_ptr() as usize).wrapping_sub(program.source().as_ptr() as usize);
                range = start..start.saturating_add(text.len());
                raw = Some(range.clone());
                (WRITES_RAW, true)
            }
            Instruction::Emit => (WRITES, true),
            Instruction::JumpIfFalse(_) => (TESTS, true),
            Instruction::Add
            | Instruction::StringConcat
            | Instruction::Mul
            | Instruction::Rem
            | Instruction::Slice
            | Instruction::GetAttr(_)
            | Instruction::GetItem
            | Instruction::ApplyFilter(..)
            | Instruction::CallFunction(..)
            | Instruction::CallMethod(..)
            | Instruction::CallObject(_) => (MAKES, false),
            _ => return Default::default(),
        };
        // Even numbers are those of macros.
        let around = self.macros.iter().enumerate();
        let around = around.filter(|(_, body)| body.contains(&index));
        let macro_of = around.min_by_key(|(_, body)| body.len());
        let captured = self.captures.last().map(|capture| 2 * capture + 1);
        let kept_in = captured.or(macro_of.map(|(number, _)| 2 * number));
        self.places.0.push(NotedSpan {
            range,
            kept_in,
            raw,
        });
        let number = Instruction::LoadConst(Value::from(self.places.0.len() - 1));
        match (name, is_before) {
            (WRITES_RAW, _) => {
                let noted = vec![
                    number,
                    super::instructions::call(name, 1),
                    Instruction::DiscardTop,
                ];
                (noted, Vec::new())
            }
            (_, true) => (vec![number, super::instructions::call(name, 2)], Vec::new()),
            (_, false) => (Vec::new(), vec![number, super::instructions::call(name, 2)]),
        }
    }
}
