//! The operators that mean more in Python, or that could make a text explode.
//!
//! A compiled template is a list of instructions. The ones for `+`, `~`, `*` and `%`, and those
//! that write a list down, are replaced by calls of functions, and so are comparisons and slices;
//! and where a loop or a macro begins, the clock is looked at.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use minijinja::machinery::{CompiledTemplate, Instruction, Instructions};
use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, Value};

use super::lists::{CHANGING, List};
use super::{
    budget, dicts, escape, generators, globals, ordering, percent, python, slices, values,
};

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
    environment.add_function(ADD, add);
    environment.add_function(CONCAT, concat);
    environment.add_function(MULTIPLY, multiply);
    environment.add_function(REMAINDER, remainder);
    environment.add_function(LIST, |list: &Value| List::copy_of(list));
    environment.add_function(TICK, budget::tick);
    environment.add_function(METHOD, dicts::method_or_attribute);
    environment.add_function(ITEM, dicts::item_or_method);
    environment.add_function(ITERABLE, iterable);
    environment.add_function(GENERATOR, generators::Generator::of);
    environment.add_function(IN_FULL, in_full);
    environment.add_function(SLICE, slices::slice);
    environment.add_function(NEGATE, negate);
    environment.add_function(PRIVATE, |_: &Value, _: &Value| globals::refuse_private());
    environment.add_function(CONTAINED, contained);
    environment.add_function(UNPACKABLE, unpackable);
    environment.add_function(CYCLABLE, cyclable);
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
        // The closure is taken just before the arguments are told.
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

fn unsupported(operator: &str, left: &Value, right: &Value) -> Error {
    for operand in [left, right] {
        // minijinja's own error knows where the value came from.
        if let (true, Err(error)) = (operand.is_undefined(), operand.get_attr("")) {
            return error;
        }
    }
    Error::new(
        ErrorKind::InvalidOperation,
        format!(
            "`{operator}` can't take {} and {}",
            python::type_name(left),
            python::type_name(right)
        ),
    )
}

fn is_list(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable)
}

pub(super) fn add(left: &Value, right: &Value) -> Result<Value, Error> {
    if let (Some(a), Some(b)) = (left.as_str(), right.as_str()) {
        budget::spend(a.len() + b.len())?;
        if left.is_safe() || right.is_safe() {
            let both = [escape::escaped(left, a), escape::escaped(right, b)];
            return Ok(Value::from_safe_string(both.concat()));
        }
        return Ok(Value::from([a, b].concat()));
    }
    if is_list(left) && is_list(right) && left.is_tuple() == right.is_tuple() {
        let length = left.len().unwrap_or(0) + right.len().unwrap_or(0);
        budget::spend(length.saturating_mul(size_of::<Value>()))?;
        let items: Vec<Value> = left.try_iter()?.chain(right.try_iter()?).collect();
        return Ok(match left.is_tuple() {
            true => Value::from(minijinja::value::Tuple::from(items)),
            false => Value::from(items),
        });
    }
    numbers(left, right).map_or_else(
        || Err(unsupported("+", left, right)),
        |operands| match operands {
            Operands::Ints(a, b) => int(a.checked_add(b)),
            Operands::Floats(a, b) => Ok(Value::from(a + b)),
        },
    )
}

fn concat(left: &Value, right: &Value) -> Result<Value, Error> {
    let mut text = python::str(left);
    let right = python::str(right);
    budget::spend(text.len() + right.len())?;
    text.push_str(&right);
    Ok(Value::from(text))
}

fn multiply(left: &Value, right: &Value) -> Result<Value, Error> {
    let repeated = [(left, right), (right, left)];
    for (what, count) in repeated {
        let Some(count) = count.as_i64().filter(|_| count.is_integer()) else {
            continue;
        };
        let count = count.max(0) as usize;
        if let Some(text) = what.as_str() {
            budget::spend(text.len().saturating_mul(count))?;
            return Ok(escape::as_safe_as(what, Value::from(text.repeat(count))));
        }
        if is_list(what) {
            let size = what.len().unwrap_or(0).saturating_mul(size_of::<Value>());
            budget::spend(size.saturating_mul(count))?;
            let items: Vec<Value> = what.try_iter()?.collect();
            let all = std::iter::repeat_n(items, count).flatten();
            return Ok(match what.is_tuple() {
                true => Value::from(minijinja::value::Tuple::from(all.collect::<Vec<Value>>())),
                false => all.collect(),
            });
        }
    }
    numbers(left, right).map_or_else(
        || Err(unsupported("*", left, right)),
        |operands| match operands {
            Operands::Ints(a, b) => int(a.checked_mul(b)),
            Operands::Floats(a, b) => Ok(Value::from(a * b)),
        },
    )
}

fn remainder(left: &Value, right: &Value) -> Result<Value, Error> {
    if let Some(template) = left.as_str() {
        return percent::format(template, right);
    }
    match numbers(left, right) {
        Some(Operands::Ints(_, 0)) => Err(by_zero()),
        Some(Operands::Ints(a, b)) => {
            // Python's remainder has the sign of the divisor.
            int(a.checked_rem(b).map(|r| {
                if r != 0 && (r < 0) != (b < 0) {
                    r + b
                } else {
                    r
                }
            }))
        }
        Some(Operands::Floats(_, 0.0)) => Err(by_zero()),
        Some(Operands::Floats(a, b)) => {
            let r = a % b;
            let r = if r != 0.0 && (r < 0.0) != (b < 0.0) {
                r + b
            } else {
                r
            };
            Ok(Value::from(r))
        }
        None => Err(unsupported("%", left, right)),
    }
}

fn by_zero() -> Error {
    Error::new(ErrorKind::InvalidOperation, "division by zero")
}

/// What a loop goes through; none is nothing that it could, and a string has a length there.
fn iterable(value: &Value) -> Result<Value, Error> {
    if value.is_none() {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            "none can't be iterated",
        ));
    }
    unpackable(value)
}

/// A string as the list of its characters; everything else as it is.
fn unpackable(value: &Value) -> Result<Value, Error> {
    let Some(text) = value.as_str() else {
        return Ok(value.clone());
    };
    budget::spend(text.len().saturating_mul(size_of::<Value>()))?;
    Ok(text.chars().map(String::from).collect())
}

/// A list that has all its items at hand.
fn in_full(list: &Value) -> Result<Value, Error> {
    let length = list.len().unwrap_or(0);
    budget::spend(length.saturating_mul(size_of::<Value>()))?;
    Ok(list.try_iter()?.collect::<Vec<Value>>().into())
}

fn cyclable(count: usize) -> Result<(), Error> {
    match count {
        ..2 => Err(Error::new(
            ErrorKind::InvalidOperation,
            "there is nothing to cycle through",
        )),
        _ => Ok(()),
    }
}

fn negate(value: &Value) -> Result<Value, Error> {
    match numbers(&Value::from(0), value) {
        Some(Operands::Ints(_, n)) => int(n.checked_neg()),
        Some(Operands::Floats(_, n)) => Ok(Value::from(-n)),
        None => Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("{} can't be negated", python::type_name(value)),
        )),
    }
}

/// `item in container`
fn contained(item: &Value, container: &Value) -> Result<bool, Error> {
    budget::tick()?;
    if container.is_undefined() {
        return Ok(false);
    }
    if let Some(text) = container.as_str() {
        let wanted = "only strings can be in a string";
        let part = item
            .as_str()
            .ok_or_else(|| Error::new(ErrorKind::InvalidOperation, wanted))?;
        return Ok(text.contains(part));
    }
    match container.kind() {
        ValueKind::Map if !python::is_a(container, "Namespace") => {
            values::check_key(item)?;
            let found = container.as_object().and_then(|map| map.get_value(item));
            Ok(found.is_some())
        }
        ValueKind::Seq | ValueKind::Iterable => {
            for one in container.try_iter()? {
                if ordering::equal(&one, item)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("nothing can be in {}", python::type_name(container)),
        )),
    }
}

enum Operands {
    Ints(i128, i128),
    Floats(f64, f64),
}

/// Two numbers, where a truth value counts as one.
fn numbers(left: &Value, right: &Value) -> Option<Operands> {
    let is_number = |value: &Value| value.is_number() || value.kind() == ValueKind::Bool;
    if !is_number(left) || !is_number(right) {
        return None;
    }
    let int = |value: &Value| {
        let is_int = value.is_integer() || value.kind() == ValueKind::Bool;
        is_int.then(|| i128::try_from(value.clone()).ok()).flatten()
    };
    if let (Some(a), Some(b)) = (int(left), int(right)) {
        return Some(Operands::Ints(a, b));
    }
    let float = |value: &Value| f64::try_from(value.clone()).ok();
    Some(Operands::Floats(float(left)?, float(right)?))
}

fn int(result: Option<i128>) -> Result<Value, Error> {
    let too_large = || Error::new(ErrorKind::InvalidOperation, "the number is too large");
    let result = result.ok_or_else(too_large)?;
    Ok(match i64::try_from(result) {
        Ok(small) => Value::from(small),
        Err(_) => Value::from(result),
    })
}
