//! The instructions of a compiled template that are replaced.
//!
//! minijinja can be given filters and functions, but not operators. So the instructions for
//! operators, comparisons and slices, and those that write a list down, become calls of functions;
//! what calls return is taken note of; and where a loop or a macro begins, it is noted how many instructions have been run.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use minijinja::machinery::{CompiledTemplate, Instruction, Instructions};
use minijinja::value::ValueKind;
use minijinja::{Environment, Value};

use super::kinds::check_key;
use super::lists::{CHANGING, List};
use super::spelling::{self, original_name};
use super::steps::{NoteTaker, NotedSpans};
use super::{budget, dicts, generators, made, namespaces, operators, ordering, slices};

const ADD: &str = "__add";
const CONCAT: &str = "__concat";
const MULTIPLY: &str = "__multiply";
const REMAINDER: &str = "__remainder";
const LIST: &str = "__list";
const MADE: &str = "__made";
const MAPPING: &str = "__mapping";
const MADE_ELSEWHERE: &str = "__made_elsewhere";
const RUN: &str = "__run";
const METHOD: &str = "__method";
const ITEM: &str = "__item";
const KEY: &str = "__key";
const ITERABLE: &str = "__iterable";
const GENERATOR: &str = "__generator";
const IN_FULL: &str = "__in_full";
const SET: &str = "__set";
const SLICE: &str = "__slice";
const NEGATE: &str = "__negate";
const CONTAINED: &str = "__contained";
const UNPACKABLE: &str = "__unpackable";
const SPREAD: &str = "__spread";
const NAMED: &str = "__named";
const COMPARED: &str = "__compared";
const CYCLABLE: &str = "__cyclable";
const EQUAL: &str = "__equal";
const UNEQUAL: &str = "__unequal";
const LESS: &str = "__less";
const LESS_OR_EQUAL: &str = "__less_or_equal";
const GREATER: &str = "__greater";
const GREATER_OR_EQUAL: &str = "__greater_or_equal";

/// Filters that make nothing that holds anything else, or nothing new.
const PLAIN_FILTERS: [&str; 22] = [
    "trim",
    "tojson",
    "upper",
    "lower",
    "title",
    "string",
    "join",
    "length",
    "count",
    "replace",
    "indent",
    "capitalize",
    "int",
    "float",
    "abs",
    "round",
    "escape",
    "e",
    "safe",
    "default",
    "d",
    "first",
];

/// Methods that make nothing that holds anything else, or nothing new.
const PLAIN_METHODS: [&str; 15] = [
    "strip",
    "lstrip",
    "rstrip",
    "startswith",
    "endswith",
    "replace",
    "upper",
    "lower",
    "title",
    "capitalize",
    "join",
    "format",
    "find",
    "count",
    "get",
];

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

/// Those of them that find nothing in what is none, false, or zero.
const LENIENT: [&str; 5] = ["map", "select", "reject", "selectattr", "rejectattr"];

/// Raw text longer than this is written by way of the formatter, which counts it.
const SHORT_TEXT: usize = 32;

/// Adds the functions that are called in place of instructions.
pub(super) fn add_to(environment: &mut Environment<'_>) {
    environment.add_filter(ADD, operators::add);
    environment.add_filter(CONCAT, operators::concat);
    environment.add_filter(MULTIPLY, operators::multiply);
    environment.add_filter(REMAINDER, operators::remainder);
    environment.add_filter(LIST, List::copy_of);
    environment.add_filter(MADE, made::written_down);
    environment.add_filter(MAPPING, dicts::of_list);
    environment.add_filter(MADE_ELSEWHERE, |value: &Value| made::noted(value.clone()));
    environment.add_filter(RUN, budget::note_run);
    environment.add_filter(METHOD, dicts::method_or_attribute);
    environment.add_filter(ITEM, dicts::item_or_method);
    environment.add_filter(KEY, |key: &Value| check_key(key).map(|()| key.clone()));
    environment.add_filter(ITERABLE, operators::iterable);
    environment.add_filter(GENERATOR, generators::Generator::of);
    environment.add_filter(IN_FULL, operators::in_full);
    environment.add_filter(SET, namespaces::set);
    environment.add_filter(SLICE, slices::slice);
    environment.add_filter(NEGATE, operators::negate);
    environment.add_filter(CONTAINED, operators::contained);
    environment.add_filter(UNPACKABLE, operators::unpackable);
    environment.add_filter(SPREAD, operators::spread);
    environment.add_filter(NAMED, operators::named);
    environment.add_filter(COMPARED, operators::compared);
    environment.add_filter(CYCLABLE, operators::cyclable);
    let order = |accept: fn(Ordering) -> bool| {
        move |left: &Value, right: &Value| {
            let order = ordering::compare(left, right)?;
            Ok(accept(order) && !ordering::is_nan(left) && !ordering::is_nan(right))
        }
    };
    environment.add_filter(EQUAL, ordering::equal);
    environment.add_filter(UNEQUAL, |left: &Value, right: &Value| {
        ordering::equal(left, right).map(|equal| !equal)
    });
    environment.add_filter(LESS, order(Ordering::is_lt));
    environment.add_filter(LESS_OR_EQUAL, order(Ordering::is_le));
    environment.add_filter(GREATER, order(Ordering::is_gt));
    environment.add_filter(GREATER_OR_EQUAL, order(Ordering::is_ge));
}

/// Replaces the instructions of a template; takes note of what it does, if places are given for that.
pub(super) fn replace<'s>(
    compiled: &mut CompiledTemplate<'s>,
    mut places: Option<&mut NotedSpans>,
) {
    let all = || std::iter::once(&compiled.instructions).chain(compiled.blocks.values());
    let changes_lists = all().any(changes_lists);
    let macros: Vec<HashSet<u32>> = all().map(macro_starts).collect();
    let mut macros = macros.into_iter();
    let mut next = || macros.next().unwrap_or_default();
    let mut rebuild = |old: &Instructions<'s>| {
        let places = places.as_deref_mut();
        let note_taker = places.map(|places| NoteTaker::new(places, old));
        rebuilt(old, &next(), changes_lists, note_taker)
    };
    compiled.instructions = rebuild(&compiled.instructions);
    for block in compiled.blocks.values_mut() {
        *block = rebuild(block);
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
        Instruction::StoreLocal(name) => Some(original_name(name)),
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

/// Before which instructions the names are to be enclosed that a macro sets attributes of, or slices.
///
/// minijinja sees to it that a macro knows the names that it reads, but not the namespaces that it
/// only writes to, and not the values that it only reads slices of.
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
        let mut names: Vec<Instruction<'s>> = Vec::new();
        let body = || (*start..index).filter_map(|at| all.get(at).zip(Some(all.get(at + 1))));
        let slices = body().any(|(instruction, _)| matches!(instruction, Instruction::Slice));
        for (instruction, next) in body() {
            match (instruction, next) {
                (Instruction::Lookup(name), Some(Instruction::SetAttr(_))) => {
                    names.push(Instruction::Enclose(name));
                }
                // Nor does it look at what is sliced.
                (Instruction::Lookup(name), _) if slices => {
                    names.push(Instruction::Enclose(name));
                }
                _ => {}
            }
        }
        assigned.extend(closure.map(|closure| (closure, names)));
    }
    assigned
}

/// The same program with its instructions replaced, and its jumps led to the same places.
fn rebuilt<'s>(
    old: &Instructions<'s>,
    macro_starts: &HashSet<u32>,
    changes_lists: bool,
    mut note_taker: Option<NoteTaker<'_>>,
) -> Instructions<'s> {
    let mut pieces: Vec<Vec<Instruction<'s>>> = Vec::new();
    let mut assigned = assigned_in_macros(old);
    for (index, instruction) in (0..).zip(instructions(old)) {
        let mut piece = Vec::new();
        piece.extend(assigned.remove(&index).into_iter().flatten());
        if macro_starts.contains(&index) {
            piece.extend(note_run());
        }
        let notes = note_taker.as_mut().map(|taker| taker.around(old, index));
        let (before, after) = notes.unwrap_or_default();
        piece.extend(before);
        let previous = index.checked_sub(1).and_then(|before| old.get(before));
        piece.extend(match (previous, instruction) {
            (Some(Instruction::LoadConst(key)), Instruction::GetItem) if names_method(key) => {
                vec![call(ITEM, 2)]
            }
            (Some(Instruction::LoadConst(_)), Instruction::GetItem) => vec![instruction.clone()],
            _ => replacement(instruction, changes_lists),
        });
        piece.extend(after);
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

/// Calls one of our functions.
///
/// They are filters, which no variable of the template can stand in front of.
pub(super) fn call<'s>(name: &'s str, arguments: u16) -> Instruction<'s> {
    // Filters that are not looked up more often than others have this number.
    const UNNUMBERED: u8 = !0;
    Instruction::ApplyFilter(name, Some(arguments), UNNUMBERED)
}

fn note_run<'s>() -> [Instruction<'s>; 2] {
    [call(RUN, 0), Instruction::DiscardTop]
}

fn replacement<'s>(old: &Instruction<'s>, changes_lists: bool) -> Vec<Instruction<'s>> {
    let binary = |name| vec![call(name, 2)];
    let unary = |name| call(name, 1);
    let made = |old: &Instruction<'s>| {
        let note = if changes_lists { LIST } else { MADE };
        vec![old.clone(), unary(note)]
    };
    match old {
        Instruction::StoreLocal(spelling::IN) => {
            vec![Instruction::StoreLocal(original_name(spelling::IN))]
        }
        Instruction::Lookup(spelling::IN) => vec![Instruction::Lookup(original_name(spelling::IN))],
        Instruction::Enclose(spelling::IN) => {
            vec![Instruction::Enclose(original_name(spelling::IN))]
        }
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
        // minijinja compares; what it is given is counted before.
        Instruction::CompareAndPreserve(_) => {
            vec![call(COMPARED, 2), Instruction::UnpackList(2), old.clone()]
        }
        Instruction::Neg => vec![unary(NEGATE)],
        Instruction::GetItem => vec![unary(KEY), old.clone()],
        Instruction::GetAttr(name) if dicts::METHODS.contains(name) => {
            vec![Instruction::LoadConst(Value::from(*name)), call(METHOD, 2)]
        }
        Instruction::SetAttr(name) => vec![
            Instruction::LoadConst(Value::from(*name)),
            call(SET, 3),
            Instruction::DiscardTop,
        ],
        Instruction::UnpackList(_) => vec![unary(UNPACKABLE), old.clone()],
        Instruction::UnpackLists(count) => vec![
            Instruction::BuildList(Some(*count)),
            unary(SPREAD),
            Instruction::UnpackLists(1),
        ],
        Instruction::MergeKwargs(count) => vec![
            Instruction::BuildList(Some(*count)),
            unary(NAMED),
            Instruction::UnpackList(*count),
            old.clone(),
        ],
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
        Instruction::BuildList(_) => made(old),
        Instruction::BuildTuple(_) => vec![old.clone(), unary(MADE)],
        Instruction::BuildMap(count) => {
            vec![Instruction::BuildList(Some(2 * count)), unary(MAPPING)]
        }
        Instruction::LoadConst(value)
            if changes_lists && value.kind() == ValueKind::Seq && !value.is_tuple() =>
        {
            made(old)
        }
        Instruction::PushLoop(_) => vec![unary(ITERABLE), old.clone()],
        Instruction::Slice => vec![call(SLICE, 4)],
        Instruction::ApplyFilter(name, count, _) if GENERATING.contains(name) => {
            let is_checked = *count == Some(1) && !LENIENT.contains(name);
            let check = is_checked.then(|| unary(ITERABLE));
            check
                .into_iter()
                .chain([old.clone(), unary(GENERATOR)])
                .collect()
        }
        Instruction::ApplyFilter(name, ..) if !PLAIN_FILTERS.contains(name) => {
            vec![old.clone(), unary(MADE_ELSEWHERE)]
        }
        Instruction::CallMethod(name, _) if !PLAIN_METHODS.contains(name) => {
            vec![old.clone(), unary(MADE_ELSEWHERE)]
        }
        Instruction::CallFunction(..) | Instruction::CallObject(_) => {
            vec![old.clone(), unary(MADE_ELSEWHERE)]
        }
        Instruction::Iterate(_) => std::iter::once(old.clone()).chain(note_run()).collect(),
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
