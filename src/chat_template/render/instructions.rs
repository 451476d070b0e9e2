//! The instructions of a compiled template that are replaced.
//!
//! minijinja can be given filters and functions, but not operators. So the instructions for
//! operators, comparisons and slices, and those that write a list down, become calls of functions;
//! and where a loop or a macro begins, the clock is looked at.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use minijinja::machinery::{CompiledTemplate, Instruction, Instructions};
use minijinja::value::ValueKind;
use minijinja::{Environment, Value};

use super::lists::{CHANGING, List};
use super::{budget, dicts, generators, globals, operators, ordering, slices};

const ADD: &str = "__add";
const CONCAT: &str = "__concat";
const MULTIPLY: &str = "__multiply";
const REMAINDER: &str = "__remainder";
const LIST: &str = "__list";
const TICK: &str = "__tick";
const METHOD: &str = "__method";
const ITEM: &str = "__item";
const ITERABLE: &str = "__iterable";
const GENERATOR: &str = "__generator";
const IN_FULL: &str = "__in_full";
const PRIVATE: &str = "__private";
const SLICE: &str = "__slice";
const NEGATE: &str = "__negate";
const CONTAINED: &str = "__contained";
const UNPACKABLE: &str = "__unpackable";
const CYCLABLE: &str = "__cyclable";
const EQUAL: &str = "__equal";
const UNEQUAL: &str = "__unequal";
const LESS: &str = "__less";
const LESS_OR_EQUAL: &str = "__less_or_equal";
const GREATER: &str = "__greater";
const GREATER_OR_EQUAL: &str = "__greater_or_equal";

/// The filters that make generators in Python.
const GENERATING: [&str; 8] = [
    "map",
    "select",
    "reject",
    "selectattr",
    "rejectattr",
    "unique",
    "batch",
    "slice",
];

/// Raw text longer than this is written by way of the formatter, which counts it.
const SHORT_TEXT: usize = 64;

/// Replaces the instructions, and adds the functions that they call.
pub(super) fn replace(compiled: &mut CompiledTemplate<'_>, environment: &mut Environment<'_>) {
    environment.add_function(ADD, operators::add);
    environment.add_function(CONCAT, operators::concat);
    environment.add_function(MULTIPLY, operators::multiply);
    environment.add_function(REMAINDER, operators::remainder);
    environment.add_function(LIST, |list: &Value| List::copy_of(list));
    environment.add_function(TICK, budget::tick);
    environment.add_function(METHOD, dicts::method_or_attribute);
    environment.add_function(ITEM, dicts::item_or_method);
    environment.add_function(ITERABLE, operators::iterable);
    environment.add_function(GENERATOR, generators::Generator::of);
    environment.add_function(IN_FULL, operators::in_full);
    environment.add_function(SLICE, slices::slice);
    environment.add_function(NEGATE, operators::negate);
    environment.add_function(PRIVATE, |_: &Value, _: &Value| globals::refuse_private());
    environment.add_function(CONTAINED, operators::contained);
    environment.add_function(UNPACKABLE, operators::unpackable);
    environment.add_function(CYCLABLE, operators::cyclable);
    let order = |accept: fn(Ordering) -> bool| {
        move |left: &Value, right: &Value| {
            let order = ordering::compare(left, right)?;
            Ok(accept(order) && !ordering::is_nan(left) && !ordering::is_nan(right))
        }
    };
    environment.add_function(EQUAL, ordering::equal);
    environment.add_function(UNEQUAL, |left: &Value, right: &Value| {
        ordering::equal(left, right).map(|equal| !equal)
    });
    environment.add_function(LESS, order(Ordering::is_lt));
    environment.add_function(LESS_OR_EQUAL, order(Ordering::is_le));
    environment.add_function(GREATER, order(Ordering::is_gt));
    environment.add_function(GREATER_OR_EQUAL, order(Ordering::is_ge));
    let all = || std::iter::once(&compiled.instructions).chain(compiled.blocks.values());
    let changes_lists = all().any(changes_lists);
    let macros: Vec<HashSet<u32>> = all().map(macro_starts).collect();
    let mut macros = macros.into_iter();
    let mut next = || macros.next().unwrap_or_default();
    compiled.instructions = rebuilt(&compiled.instructions, &next(), changes_lists);
    for block in compiled.blocks.values_mut() {
        *block = rebuilt(block, &next(), changes_lists);
    }
}

fn instructions<'i, 's>(
    instructions: &'i Instructions<'s>,
) -> impl Iterator<Item = &'i Instruction<'s>> {
    (0..).map_while(|index| instructions.get(index))
}

/// The names that a program sets.
pub(super) fn names_set<'s>(all: &Instructions<'s>) -> HashSet<&'s str> {
    let names = instructions(all).filter_map(|instruction| match instruction {
        Instruction::StoreLocal(name) => Some(*name),
        _ => None,
    });
    names.collect()
}

/// The names that a program looks up before it sets them, as `x = x | default(1)` does.
pub(super) fn names_read_before_set<'s>(all: &Instructions<'s>) -> HashSet<&'s str> {
    let mut set = HashSet::new();
    let mut read_before = HashSet::new();
    for instruction in instructions(all) {
        match instruction {
            Instruction::Lookup(name) if !set.contains(name) => {
                read_before.insert(*name);
            }
            Instruction::StoreLocal(name) => {
                set.insert(*name);
            }
            _ => {}
        }
    }
    read_before.retain(|name| set.contains(name));
    read_before
}

fn changes_lists(all: &Instructions<'_>) -> bool {
    instructions(all).any(|instruction| match instruction {
        Instruction::CallMethod(name, _) => CHANGING.contains(name),
        _ => false,
    })
}

fn macro_starts(all: &Instructions<'_>) -> HashSet<u32> {
    let starts = instructions(all).filter_map(|instruction| match instruction {
        Instruction::BuildMacro(_, start, _) => Some(*start),
        _ => None,
    });
    starts.collect()
}

/// Before which instructions the names are to be enclosed that a macro sets attributes of.
///
/// minijinja sees to it that a macro knows the names that it reads, but not the namespaces that it
/// only writes to.
fn assigned_in_macros<'s>(all: &Instructions<'s>) -> HashMap<u32, Vec<Instruction<'s>>> {
    let mut assigned = HashMap::new();
    for (index, instruction) in (0..).zip(instructions(all)) {
        let Instruction::BuildMacro(_, start, _) = instruction else {
            continue;
        };
        // The closure is taken just before the arguments are named.
        let closure = (0..index)
            .rev()
            .find(|&at| matches!(all.get(at), Some(Instruction::GetClosure)));
        let body = (*start..index).filter_map(|at| match (all.get(at), all.get(at + 1)) {
            (Some(Instruction::Lookup(name)), Some(Instruction::SetAttr(_))) => {
                Some(Instruction::Enclose(name))
            }
            _ => None,
        });
        assigned.extend(closure.map(|closure| (closure, body.collect())));
    }
    assigned
}

/// The same program with its instructions replaced, and its jumps led to the same places.
fn rebuilt<'s>(
    old: &Instructions<'s>,
    macro_starts: &HashSet<u32>,
    changes_lists: bool,
) -> Instructions<'s> {
    let mut pieces: Vec<Vec<Instruction<'s>>> = Vec::new();
    let mut assigned = assigned_in_macros(old);
    for (index, instruction) in (0..).zip(instructions(old)) {
        let mut piece = Vec::new();
        piece.extend(assigned.remove(&index).into_iter().flatten());
        if macro_starts.contains(&index) {
            piece.extend(tick());
        }
        let previous = index.checked_sub(1).and_then(|before| old.get(before));
        piece.extend(match (previous, instruction) {
            (Some(Instruction::LoadConst(key)), Instruction::GetItem) if names_method(key) => {
                vec![Instruction::CallFunction(ITEM, Some(2))]
            }
            _ => replacement(instruction, changes_lists),
        });
        pieces.push(piece);
    }
    let mut starts = Vec::new();
    let mut length = 0;
    for piece in &pieces {
        starts.push(length);
        length += piece.len() as u32;
    }
    let place = |old: u32| starts.get(old as usize).copied().unwrap_or(length);
    let mut new = Instructions::new(old.name(), old.source());
    for (index, piece) in (0..).zip(pieces) {
        for instruction in piece {
            let instruction = led_to(instruction, &place);
            match (old.get_span(index), old.get_line(index)) {
                (Some(span), _) => new.add_with_span(instruction, span),
                (None, Some(line)) => new.add_with_line(instruction, line as u16),
                (None, None) => new.add(instruction),
            };
        }
    }
    new
}

/// Whether a key is also the name of a method that mappings have.
fn names_method(key: &Value) -> bool {
    key.as_str()
        .is_some_and(|key| dicts::METHODS.contains(&key))
}

fn tick<'s>() -> [Instruction<'s>; 2] {
    [
        Instruction::CallFunction(TICK, Some(0)),
        Instruction::DiscardTop,
    ]
}

fn replacement<'s>(old: &Instruction<'s>, changes_lists: bool) -> Vec<Instruction<'s>> {
    let binary = |name| vec![Instruction::CallFunction(name, Some(2))];
    let unary = |name| Instruction::CallFunction(name, Some(1));
    let as_list = |old: &Instruction<'s>| vec![old.clone(), unary(LIST)];
    match old {
        Instruction::Add => binary(ADD),
        Instruction::StringConcat => binary(CONCAT),
        Instruction::Mul => binary(MULTIPLY),
        Instruction::Rem => binary(REMAINDER),
        Instruction::Eq => binary(EQUAL),
        Instruction::Ne => binary(UNEQUAL),
        Instruction::Lt => binary(LESS),
        Instruction::Lte => binary(LESS_OR_EQUAL),
        Instruction::Gt => binary(GREATER),
        Instruction::Gte => binary(GREATER_OR_EQUAL),
        Instruction::In => binary(CONTAINED),
        Instruction::Neg => vec![unary(NEGATE)],
        Instruction::GetAttr(name) if dicts::METHODS.contains(name) => vec![
            Instruction::LoadConst(Value::from(*name)),
            Instruction::CallFunction(METHOD, Some(2)),
        ],
        Instruction::SetAttr(name) if name.starts_with('_') => {
            vec![
                Instruction::CallFunction(PRIVATE, Some(2)),
                Instruction::DiscardTop,
            ]
        }
        Instruction::UnpackList(_) => vec![unary(UNPACKABLE), old.clone()],
        // What has been calculated when the template was compiled may be a list that is not there
        // yet.
        Instruction::LoadConst(value) if value.kind() == ValueKind::Iterable => {
            let list = changes_lists.then(|| unary(LIST));
            let full = [old.clone(), unary(IN_FULL)];
            full.into_iter().chain(list).collect()
        }
        // minijinja panics where `loop.cycle` has nothing to choose from.
        Instruction::CallMethod("cycle", Some(1)) => {
            vec![
                Instruction::LoadConst(Value::from(1)),
                unary(CYCLABLE),
                old.clone(),
            ]
        }
        Instruction::CallMethod("cycle", None) => vec![
            Instruction::DupTop,
            unary(CYCLABLE),
            Instruction::DiscardTop,
            old.clone(),
        ],
        Instruction::BuildList(_) if changes_lists => as_list(old),
        Instruction::LoadConst(value)
            if changes_lists && value.kind() == ValueKind::Seq && !value.is_tuple() =>
        {
            as_list(old)
        }
        Instruction::PushLoop(_) => vec![unary(ITERABLE), old.clone()],
        Instruction::Slice => vec![Instruction::CallFunction(SLICE, Some(4))],
        Instruction::ApplyFilter(name, count, _) if GENERATING.contains(name) => {
            let is_checked = *count == Some(1);
            let check = is_checked.then(|| unary(ITERABLE));
            check
                .into_iter()
                .chain([old.clone(), unary(GENERATOR)])
                .collect()
        }
        Instruction::Iterate(_) => std::iter::once(old.clone()).chain(tick()).collect(),
        Instruction::EmitRaw(text) if text.len() > SHORT_TEXT => {
            vec![
                Instruction::LoadConst(Value::from(*text)),
                Instruction::Emit,
            ]
        }
        other => vec![other.clone()],
    }
}

fn led_to<'s>(instruction: Instruction<'s>, place: &impl Fn(u32) -> u32) -> Instruction<'s> {
    match instruction {
        Instruction::Jump(to) => Instruction::Jump(place(to)),
        Instruction::JumpIfFalse(to) => Instruction::JumpIfFalse(place(to)),
        Instruction::JumpIfFalseOrPop(to) => Instruction::JumpIfFalseOrPop(place(to)),
        Instruction::JumpIfTrueOrPop(to) => Instruction::JumpIfTrueOrPop(place(to)),
        Instruction::Iterate(to) => Instruction::Iterate(place(to)),
        Instruction::BuildMacro(name, start, flags) => {
            Instruction::BuildMacro(name, place(start), flags)
        }
        other => other,
    }
}
