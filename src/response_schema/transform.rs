//! Transforms: JMESPath expressions, which reshape what a parser gives.
//!
//! The crate `jmespath` reads an expression. It is run here, on the library's own values: they keep
//! the order of keys and numbers of any size, and what is made is counted. Where JMESPath's
//! specification and Python's `jmespath` differ, the latter counts.

mod compare;
mod functions;
mod values;

use std::borrow::Cow;

use jmespath::Variable;
use jmespath::ast::{Ast, Comparator};

use crate::number;
use crate::value::{Number, Object, Value};

use super::budget::{Budget, Exhausted};

use compare::{compared, is_false};
use functions::Function;

/// So long an expression may be.
const MAX_LENGTH: usize = 4_000;
/// So many of its characters may be such that something stands in something else. Expressions are read
/// and run by functions that call themselves for each of these.
const MAX_NESTING: usize = 150;

/// A JMESPath expression.
#[derive(Debug)]
pub(super) struct Transform {
    pub(super) expression: Expression,
}

/// One expression. Parts that stand in each other are boxed.
#[derive(Debug)]
pub(super) enum Expression {
    Current,
    Literal(Value),
    Field(String),
    Index(i32),
    Slice {
        start: Option<i32>,
        stop: Option<i32>,
        step: i32,
    },
    /// What the second makes of what the first gives.
    Then(Box<Expression>, Box<Expression>),
    /// What the second makes of each item that the first gives, without nulls.
    Each(Box<Expression>, Box<Expression>),
    /// What the second gives, if the first holds.
    If(Box<Expression>, Box<Expression>),
    Values(Box<Expression>),
    Flatten(Box<Expression>),
    List(Vec<Expression>),
    Hash(Vec<(String, Expression)>),
    Not(Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
    Compare(Comparator, Box<Expression>, Box<Expression>),
    Call(&'static Function, Vec<Argument>),
}

/// An argument of a function.
#[derive(Debug)]
pub(super) enum Argument {
    Value(Expression),
    /// `&…`: the function evaluates it for each item.
    PerItem(Expression),
}

/// A value, or why there is none.
type Evaluated<'v> = Result<Cow<'v, Value>, String>;

impl Transform {
    /// Reads an expression. The error says what is wrong with it.
    pub(super) fn new(written: &str) -> Result<Transform, String> {
        if written.len() > MAX_LENGTH {
            return Err(format!("it is longer than {MAX_LENGTH} bytes"));
        }
        let nests = |byte: &u8| b"([{!&|.*?=<>".contains(byte);
        if written.bytes().filter(nests).count() > MAX_NESTING {
            return Err(format!(
                "it has more than {MAX_NESTING} brackets, dots and operators"
            ));
        }
        let ast = jmespath::parse(written).map_err(|error| {
            let (column, reason) = (error.column, &error.reason);
            format!("{reason}, at its character {column}")
        })?;
        let expression = Expression::of(ast)?;
        Ok(Transform { expression })
    }

    /// What it makes of a value. The error says why it makes nothing.
    pub(super) fn apply(&self, value: &Value, budget: &mut Budget) -> Result<Value, String> {
        let made = Evaluation { budget };
        made.run(&self.expression, value)
    }
}

impl Expression {
    fn of(ast: Ast) -> Result<Expression, String> {
        let boxed = |ast: Box<Ast>| Expression::of(*ast).map(Box::new);
        Ok(match ast {
            Ast::Identity { .. } => Expression::Current,
            Ast::Literal { value, .. } => Expression::Literal(literal(&value)?),
            Ast::Field { name, .. } => Expression::Field(name),
            Ast::Index { idx, .. } => Expression::Index(idx),
            Ast::Slice { step: 0, .. } => return Err("a slice can't have steps of 0".into()),
            Ast::Slice {
                start, stop, step, ..
            } => Expression::Slice { start, stop, step },
            Ast::Subexpr { lhs, rhs, .. } => Expression::Then(boxed(lhs)?, boxed(rhs)?),
            Ast::Projection { lhs, rhs, .. } => {
                Expression::each(boxed(lhs)?, Expression::of(*rhs)?)
            }
            Ast::Condition {
                predicate, then, ..
            } => Expression::If(boxed(predicate)?, boxed(then)?),
            Ast::ObjectValues { node, .. } => Expression::Values(boxed(node)?),
            Ast::Flatten { node, .. } => Expression::Flatten(boxed(node)?),
            Ast::MultiList { elements, .. } => {
                let elements = elements.into_iter().map(Expression::of);
                Expression::List(elements.collect::<Result<_, _>>()?)
            }
            Ast::MultiHash { elements, .. } => {
                let pairs = elements.into_iter();
                let pairs = pairs.map(|pair| Ok((pair.key, Expression::of(pair.value)?)));
                Expression::Hash(pairs.collect::<Result<_, String>>()?)
            }
            Ast::Not { node, .. } => Expression::Not(boxed(node)?),
            Ast::And { lhs, rhs, .. } => Expression::And(boxed(lhs)?, boxed(rhs)?),
            Ast::Or { lhs, rhs, .. } => Expression::Or(boxed(lhs)?, boxed(rhs)?),
            Ast::Comparison {
                comparator,
                lhs,
                rhs,
                ..
            } => Expression::Compare(comparator, boxed(lhs)?, boxed(rhs)?),
            Ast::Function { name, args, .. } => Expression::call(&name, args)?,
            Ast::Expref { .. } => {
                return Err("`&` stands only before an argument that a function evaluates".into());
            }
        })
    }

    /// A projection. In Python it ends with `.{…}`: what follows that is applied to the list, while the
    /// crate goes on with each item.
    fn each(items: Box<Expression>, each: Expression) -> Expression {
        let (condition, mut rest) = match each {
            Expression::If(condition, then) => (Some(condition), *then),
            each => (None, each),
        };
        let first = rest.first();
        let is_hash = matches!(first, Expression::Hash(_));
        let first = if is_hash { first } else { &mut rest };
        let each = Box::new(std::mem::replace(first, Expression::Current));
        let each = match condition {
            Some(condition) => Box::new(Expression::If(condition, each)),
            None => each,
        };
        *first = Expression::Each(items, each);
        rest
    }

    /// What is evaluated first of it, and all else goes on with.
    fn first(&mut self) -> &mut Expression {
        match self {
            Expression::Then(first, _) | Expression::Each(first, _) => first.first(),
            Expression::Values(first) | Expression::Flatten(first) => first.first(),
            other => other,
        }
    }

    fn call(name: &str, args: Vec<Ast>) -> Result<Expression, String> {
        let function = Function::named(name)?;
        let arguments = args.into_iter().map(|ast| match ast {
            Ast::Expref { ast, .. } => Expression::of(*ast).map(Argument::PerItem),
            value => Expression::of(value).map(Argument::Value),
        });
        let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
        function.check(&arguments)?;
        Ok(Expression::Call(function, arguments))
    }
}

/// A value that an expression holds.
fn literal(value: &Variable) -> Result<Value, String> {
    Ok(match value {
        Variable::Null => Value::Null,
        Variable::Bool(bool) => (*bool).into(),
        Variable::String(text) => text.into(),
        Variable::Number(number) => match number.to_string() {
            text if text.contains(['.', 'e', 'E']) => number.as_f64().unwrap_or(f64::NAN).into(),
            text => number::read_int(&text).map_or(Value::Null, Value::from),
        },
        Variable::Array(items) => {
            let items = items.iter().map(|item| literal(item));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Variable::Object(pairs) => {
            let pairs = pairs.iter().map(|(key, value)| Ok((key, literal(value)?)));
            pairs.collect::<Result<Object, String>>()?.into()
        }
        Variable::Expref(_) => return Err("an expression can't be a value".into()),
    })
}

/// Runs expressions, and counts what they make.
struct Evaluation<'b> {
    budget: &'b mut Budget,
}

impl Evaluation<'_> {
    fn run(mut self, expression: &Expression, value: &Value) -> Result<Value, String> {
        let made = self.value(expression, value)?;
        self.owned(made)
    }

    /// A value that can go into another: what is copied is counted.
    fn owned(&mut self, value: Cow<'_, Value>) -> Result<Value, String> {
        match value {
            Cow::Owned(value) => Ok(value),
            Cow::Borrowed(value) => {
                let counted = self.budget.make_copy(value);
                counted.map_err(|Exhausted| too_large())?;
                Ok(value.clone())
            }
        }
    }

    fn value<'v>(&mut self, expression: &'v Expression, value: &'v Value) -> Evaluated<'v> {
        // An expression may be evaluated for each item of a list, and again for each item of that.
        let counted = self.budget.read(0);
        counted.map_err(|Exhausted| too_large())?;
        match expression {
            Expression::Current => Ok(Cow::Borrowed(value)),
            Expression::Literal(literal) => Ok(Cow::Borrowed(literal)),
            Expression::Field(name) => Ok(some(value.get(name))),
            Expression::Index(index) => Ok(some(value.as_array().and_then(|items| {
                let from_end = usize::try_from(index.unsigned_abs()).ok()?;
                match index.is_negative() {
                    true => items.get(items.len().checked_sub(from_end)?),
                    false => items.get(from_end),
                }
            }))),
            Expression::Slice { start, stop, step } => {
                let Some(items) = value.as_array() else {
                    return Ok(null());
                };
                let picked = slice(items.len(), *start, *stop, *step);
                let picked: Vec<&Value> = picked.map(|index| &items[index]).collect();
                self.list(picked.into_iter().map(Cow::Borrowed))
            }
            Expression::Then(first, second) => match self.value(first, value)? {
                Cow::Borrowed(value) => self.value(second, value),
                Cow::Owned(value) => self.value_of_owned(second, &value),
            },
            Expression::Each(first, second) => {
                let base = self.value(first, value)?;
                let Some(items) = base.as_array() else {
                    return Ok(null());
                };
                let mut made = Vec::new();
                for item in items {
                    let value = self.value(second, item)?;
                    if !value.is_null() {
                        made.push(self.owned(value)?);
                    }
                }
                Ok(Cow::Owned(made.into()))
            }
            Expression::If(condition, then) => match is_false(&*self.value(condition, value)?) {
                true => Ok(null()),
                false => self.value(then, value),
            },
            Expression::Values(inner) => {
                let base = self.value(inner, value)?;
                match &*base {
                    Value::Object(object) => self.list(object.values().map(Cow::Borrowed)),
                    _ => Ok(null()),
                }
            }
            Expression::Flatten(inner) => {
                let base = self.value(inner, value)?;
                let Some(items) = base.as_array() else {
                    return Ok(null());
                };
                let flat = items.iter().flat_map(|item| match item {
                    Value::Array(inner) => inner.as_slice(),
                    other => std::slice::from_ref(other),
                });
                self.list(flat.map(Cow::Borrowed))
            }
            Expression::List(_) | Expression::Hash(_) if value.is_null() => Ok(null()),
            Expression::List(elements) => {
                let mut items = Vec::new();
                for element in elements {
                    let item = self.value(element, value)?;
                    items.push(self.owned(item)?);
                }
                Ok(Cow::Owned(items.into()))
            }
            Expression::Hash(pairs) => {
                let mut object = Object::new();
                for (key, element) in pairs {
                    let member = self.value(element, value)?;
                    let member = self.owned(member)?;
                    self.count(key.len())?;
                    object.insert(key.as_str(), member);
                }
                Ok(Cow::Owned(object.into()))
            }
            Expression::Not(inner) => {
                let inner = self.value(inner, value)?;
                Ok(Cow::Owned(is_false(&inner).into()))
            }
            Expression::And(first, second) => {
                let first = self.value(first, value)?;
                match is_false(&first) {
                    true => Ok(first),
                    false => self.value(second, value),
                }
            }
            Expression::Or(first, second) => {
                let first = self.value(first, value)?;
                match is_false(&first) {
                    true => self.value(second, value),
                    false => Ok(first),
                }
            }
            Expression::Compare(comparator, first, second) => {
                let (first, second) = (self.value(first, value)?, self.value(second, value)?);
                self.count(0)?;
                compared(comparator, &first, &second).map(Cow::Owned)
            }
            Expression::Call(function, arguments) => self.call(function, arguments, value),
        }
    }

    fn value_of_owned<'v>(&mut self, expression: &'v Expression, value: &Value) -> Evaluated<'v> {
        let made = self.value(expression, value)?;
        self.owned(made).map(Cow::Owned)
    }

    fn list<'v, 'i>(&mut self, items: impl Iterator<Item = Cow<'i, Value>>) -> Evaluated<'v> {
        let items = items.map(|item| self.owned(item));
        let items = items.collect::<Result<Vec<Value>, String>>()?;
        Ok(Cow::Owned(items.into()))
    }

    /// Counts bytes that are about to be made.
    fn count(&mut self, bytes: usize) -> Result<(), String> {
        self.budget.make(bytes).map_err(|Exhausted| too_large())
    }
}

fn too_large() -> String {
    "it makes many times as much of the text as there is".into()
}

fn null<'v>() -> Cow<'v, Value> {
    Cow::Owned(Value::Null)
}

fn some(value: Option<&Value>) -> Cow<'_, Value> {
    value.map_or_else(null, Cow::Borrowed)
}

/// The indices that a slice picks, as Python's `slice.indices` has them. The step is not 0.
fn slice(
    length: usize,
    start: Option<i32>,
    stop: Option<i32>,
    step: i32,
) -> impl Iterator<Item = usize> {
    let (length, step) = (length as i64, i64::from(step));
    let (lowest, highest) = match step > 0 {
        true => (0, length),
        false => (-1, length - 1),
    };
    let bound = |index: Option<i32>, otherwise| match index.map(i64::from) {
        None => otherwise,
        Some(index) if index < 0 => (index + length).max(lowest),
        Some(index) => index.min(highest),
    };
    let (first, last) = match step > 0 {
        true => (lowest, highest),
        false => (highest, lowest),
    };
    let (start, stop) = (bound(start, first), bound(stop, last));
    let is_inside = move |index: &i64| match step > 0 {
        true => *index < stop,
        false => *index > stop,
    };
    std::iter::successors(Some(start), move |index| index.checked_add(step))
        .take_while(is_inside)
        .filter_map(|index| usize::try_from(index).ok())
}

/// What `abs`, `ceil` and `floor` take a number for, exactly.
fn rounded(number: &Number, round: impl Fn(f64) -> f64) -> Option<Number> {
    match number {
        Number::Float(float) if !float.is_finite() => None,
        Number::Float(float) => Some(number::int_of_float(round(*float))),
        whole => Some(whole.clone()),
    }
}
