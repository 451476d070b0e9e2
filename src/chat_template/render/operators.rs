//! The operators that mean more in Python, or that could make a text explode.
//!
//! A compiled template is a list of instructions. The ones for `+`, `~`, `*` and `%`, and those
//! that write a list down, are replaced by calls of functions; and where a loop or a macro begins,
//! the clock is looked at.

use std::collections::HashSet;

use minijinja::machinery::{CompiledTemplate, Instruction, Instructions};
use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, Value};

use super::lists::{CHANGING, List};
use super::{budget, escape, generators, percent, python};

const ADD: &str = "__add";
const CONCAT: &str = "__concat";
const MULTIPLY: &str = "__multiply";
const REMAINDER: &str = "__remainder";
const LIST: &str = "__list";
const TICK: &str = "__tick";
const ITERABLE: &str = "__iterable";
const GENERATOR: &str = "__generator";
const SLICED: &str = "__sliced";

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
    environment.add_function(ITERABLE, iterable);
    environment.add_function(GENERATOR, generators::Generator::of);
    environment.add_function(SLICED, sliced);
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

/// The same program with its instructions replaced, and its jumps led to the same places.
fn rebuilt<'s>(
    old: &Instructions<'s>,
    macro_starts: &HashSet<u32>,
    changes_lists: bool,
) -> Instructions<'s> {
    let mut pieces: Vec<Vec<Instruction<'s>>> = Vec::new();
    for (index, instruction) in (0..).zip(instructions(old)) {
        let mut piece = Vec::new();
        if macro_starts.contains(&index) {
            piece.extend(tick());
        }
        piece.extend(replacement(instruction, changes_lists));
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
        Instruction::BuildList(_) if changes_lists => as_list(old),
        Instruction::LoadConst(value)
            if changes_lists && value.kind() == ValueKind::Seq && !value.is_tuple() =>
        {
            as_list(old)
        }
        Instruction::PushLoop(_) => vec![unary(ITERABLE), old.clone()],
        Instruction::Slice => vec![old.clone(), unary(SLICED)],
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
    if left.is_undefined() || right.is_undefined() {
        return Error::new(
            ErrorKind::UndefinedError,
            format!("an operand of `{operator}` is undefined"),
        );
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

fn add(left: &Value, right: &Value) -> Result<Value, Error> {
    if let (Some(a), Some(b)) = (left.as_str(), right.as_str()) {
        budget::spend(a.len() + b.len())?;
        if left.is_safe() || right.is_safe() {
            let both = [escape::escaped(left, a), escape::escaped(right, b)];
            return Ok(Value::from_safe_string(both.concat()));
        }
        return Ok(Value::from([a, b].concat()));
    }
    if is_list(left) && is_list(right) && left.is_tuple() == right.is_tuple() {
        let items: Vec<Value> = left.try_iter()?.chain(right.try_iter()?).collect();
        budget::spend(items.len() * size_of::<Value>())?;
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
            return Ok(Value::from(text.repeat(count)));
        }
        if is_list(what) {
            let items: Vec<Value> = what.try_iter()?.collect();
            let size = items.len() * size_of::<Value>();
            budget::spend(size.saturating_mul(count))?;
            let all = std::iter::repeat_n(items, count).flatten();
            return Ok(all.collect());
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
        Some(Operands::Floats(_, b)) if b == 0.0 => Err(by_zero()),
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

/// What a loop goes through; none is nothing that it could.
fn iterable(value: &Value) -> Result<Value, Error> {
    match value.is_none() {
        true => Err(Error::new(
            ErrorKind::InvalidOperation,
            "none can't be iterated",
        )),
        false => Ok(value.clone()),
    }
}

/// A part of a list, which is a list of its own.
fn sliced(part: &Value) -> Result<Value, Error> {
    if part.kind() != ValueKind::Iterable {
        return Ok(part.clone());
    }
    let items: Vec<Value> = part.try_iter()?.collect();
    budget::spend(items.len() * size_of::<Value>())?;
    Ok(Value::from(items))
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
