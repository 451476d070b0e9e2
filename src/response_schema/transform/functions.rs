//! The functions of JMESPath, as Python's `jmespath` has them.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::json::{self, Style};
use crate::spelling::did_you_mean;
use crate::value::{JsonString, Object, Value};

use super::values::{
    absolute, bytes, bytes_of_keys, contains, extreme, length, number_of, reversed, sort, sum,
    to_number, type_name, whole,
};
use super::{Argument, Evaluated, Evaluation, Expression, null};

/// What is known of a function.
#[derive(Debug)]
pub(in crate::response_schema) struct Function {
    name: &'static str,
    kind: FunctionName,
    /// What its arguments have to be.
    parameters: &'static [Parameter],
    /// Whether the last of them may be given again and again.
    is_variadic: bool,
}

#[derive(Debug, Clone, Copy)]
enum FunctionName {
    Abs,
    Avg,
    Ceil,
    Contains,
    EndsWith,
    Floor,
    Join,
    Keys,
    Length,
    Map,
    Max,
    MaxBy,
    Merge,
    Min,
    MinBy,
    NotNull,
    Reverse,
    Sort,
    SortBy,
    StartsWith,
    Sum,
    ToArray,
    ToNumber,
    ToString,
    Type,
    Values,
}

/// What an argument has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parameter {
    Any,
    Number,
    String,
    Array,
    Object,
    ArrayOrString,
    Sized,
    Numbers,
    Strings,
    NumbersOrStrings,
    PerItem,
}

impl Parameter {
    fn name(self) -> &'static str {
        match self {
            Parameter::Any => "anything",
            Parameter::Number => "a number",
            Parameter::String => "a string",
            Parameter::Array => "an array",
            Parameter::Object => "an object",
            Parameter::ArrayOrString => "an array or a string",
            Parameter::Sized => "a string, an array or an object",
            Parameter::Numbers => "an array of numbers",
            Parameter::Strings => "an array of strings",
            Parameter::NumbersOrStrings => "an array of numbers, or of strings",
            Parameter::PerItem => "an expression `&…`",
        }
    }

    fn accepts(self, value: &Value) -> bool {
        let all =
            |is: fn(&Value) -> bool| value.as_array().is_some_and(|items| items.iter().all(is));
        let is_number = |value: &Value| matches!(value, Value::Number(_));
        let is_string = |value: &Value| matches!(value, Value::String(_));
        match self {
            Parameter::Any => true,
            Parameter::Number => is_number(value),
            Parameter::String => is_string(value),
            Parameter::Array => matches!(value, Value::Array(_)),
            Parameter::Object => matches!(value, Value::Object(_)),
            Parameter::ArrayOrString => matches!(value, Value::Array(_) | Value::String(_)),
            Parameter::Sized => {
                matches!(value, Value::Array(_) | Value::String(_) | Value::Object(_))
            }
            Parameter::Numbers => all(is_number),
            Parameter::Strings => all(is_string),
            Parameter::NumbersOrStrings => all(is_number) || all(is_string),
            Parameter::PerItem => false,
        }
    }
}

macro_rules! function {
    ($name:literal, $kind:ident, $($parameter:ident),+) => {
        Function {
            name: $name,
            kind: FunctionName::$kind,
            parameters: &[$(Parameter::$parameter),+],
            is_variadic: false,
        }
    };
    ($name:literal, $kind:ident, $parameter:ident ...) => {
        Function {
            name: $name,
            kind: FunctionName::$kind,
            parameters: &[Parameter::$parameter],
            is_variadic: true,
        }
    };
}

static FUNCTIONS: [Function; 26] = [
    function!("abs", Abs, Number),
    function!("avg", Avg, Numbers),
    function!("ceil", Ceil, Number),
    function!("contains", Contains, ArrayOrString, Any),
    function!("ends_with", EndsWith, String, String),
    function!("floor", Floor, Number),
    function!("join", Join, String, Strings),
    function!("keys", Keys, Object),
    function!("length", Length, Sized),
    function!("map", Map, PerItem, Array),
    function!("max", Max, NumbersOrStrings),
    function!("max_by", MaxBy, Array, PerItem),
    function!("merge", Merge, Object...),
    function!("min", Min, NumbersOrStrings),
    function!("min_by", MinBy, Array, PerItem),
    function!("not_null", NotNull, Any...),
    function!("reverse", Reverse, ArrayOrString),
    function!("sort", Sort, NumbersOrStrings),
    function!("sort_by", SortBy, Array, PerItem),
    function!("starts_with", StartsWith, String, String),
    function!("sum", Sum, Numbers),
    function!("to_array", ToArray, Any),
    function!("to_number", ToNumber, Any),
    function!("to_string", ToString, Any),
    function!("type", Type, Any),
    function!("values", Values, Object),
];

impl Function {
    pub(super) fn named(name: &str) -> Result<&'static Function, String> {
        let found = FUNCTIONS.iter().find(|function| function.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = FUNCTIONS.iter().map(|function| function.name).collect();
            format!(
                "there is no function `{name}`: {}",
                did_you_mean(name, &names)
            )
        })
    }

    /// What the argument at this place has to be.
    fn parameter(&self, index: usize) -> Parameter {
        let last = self.parameters.last().copied().unwrap_or(Parameter::Any);
        self.parameters.get(index).copied().unwrap_or(last)
    }

    /// Refuses arguments that can't be right, whatever the values.
    pub(super) fn check(&self, arguments: &[Argument]) -> Result<(), String> {
        let (name, wanted, given) = (self.name, self.parameters.len(), arguments.len());
        if given < wanted || (given > wanted && !self.is_variadic) {
            return Err(format!(
                "`{name}` takes {wanted} arguments, and {given} are given"
            ));
        }
        for (index, argument) in arguments.iter().enumerate() {
            let wanted = self.parameter(index);
            let is_per_item = matches!(argument, Argument::PerItem(_));
            if is_per_item != (wanted == Parameter::PerItem) {
                let (index, wanted) = (index + 1, wanted.name());
                return Err(format!("argument {index} of `{name}` has to be {wanted}"));
            }
        }
        Ok(())
    }
}

impl Evaluation<'_> {
    pub(super) fn call<'v>(
        &mut self,
        function: &Function,
        arguments: &'v [Argument],
        value: &'v Value,
    ) -> Evaluated<'v> {
        let mut values = Vec::new();
        let mut per_item = None;
        for (index, argument) in arguments.iter().enumerate() {
            match argument {
                Argument::PerItem(expression) => per_item = Some(expression),
                Argument::Value(expression) => {
                    let value = self.value(expression, value)?;
                    let wanted = function.parameter(index);
                    if !wanted.accepts(&value) {
                        let (name, found) = (function.name, value.type_name());
                        let (index, wanted) = (index + 1, wanted.name());
                        return Err(format!(
                            "argument {index} of `{name}` has to be {wanted}, but is {found}"
                        ));
                    }
                    values.push(value);
                }
            }
        }
        match per_item {
            Some(expression) => {
                let items = values.first().and_then(|value| value.as_array());
                self.by_item(function.kind, expression, items.unwrap_or_default())
                    .map(Cow::Owned)
            }
            None => self.of_values(function.kind, values),
        }
    }

    /// What a function gives that evaluates an expression for each item of a list.
    fn by_item(
        &mut self,
        kind: FunctionName,
        expression: &Expression,
        items: &[Value],
    ) -> Result<Value, String> {
        let mut keys = Vec::new();
        for item in items {
            let key = self.value(expression, item)?;
            keys.push(self.owned(key)?);
        }
        if let FunctionName::Map = kind {
            return Ok(keys.into());
        }
        let is_no_key = |key: &&Value| !matches!(key, Value::Number(_) | Value::String(_));
        if let Some(other) = keys.iter().find(is_no_key) {
            let found = other.type_name();
            return Err(format!(
                "items are ordered by numbers or strings, and not by {found}"
            ));
        }
        let mut keyed: Vec<(&Value, &Value)> = keys.iter().zip(items).collect();
        let picked = match kind {
            FunctionName::SortBy => {
                sort(&mut keyed, |(key, _)| key)?;
                let sorted = keyed.into_iter().map(|(_, item)| Cow::Borrowed(item));
                return self.list(sorted).map(Cow::into_owned);
            }
            FunctionName::MaxBy => extreme(keyed.into_iter(), |(key, _)| key, Ordering::Greater)?,
            _ => extreme(keyed.into_iter(), |(key, _)| key, Ordering::Less)?,
        };
        match picked {
            Some((_, item)) => self.owned(Cow::Borrowed(item)),
            None => Ok(Value::Null),
        }
    }

    fn of_values<'v>(&mut self, kind: FunctionName, values: Vec<Cow<'v, Value>>) -> Evaluated<'v> {
        let mut values = values.into_iter();
        if let FunctionName::NotNull = kind {
            return Ok(values.find(|value| !value.is_null()).unwrap_or_else(null));
        }
        if let FunctionName::Merge = kind {
            let mut merged = Object::new();
            for value in values {
                merged.extend(self.owned(value)?.into_object());
            }
            return Ok(Cow::Owned(merged.into()));
        }
        let Some(first) = values.next() else {
            return Ok(null());
        };
        let second = values.next().unwrap_or_else(null);
        let (first, second) = (&*first, &*second);
        let items = first.as_array().unwrap_or_default();
        let made: Value = match kind {
            FunctionName::Abs => {
                number_of(first).map_or(Value::Null, |number| absolute(number).into())
            }
            FunctionName::Ceil => return whole(first, f64::ceil),
            FunctionName::Floor => return whole(first, f64::floor),
            FunctionName::Sum => sum(items)?.into(),
            FunctionName::Avg if items.is_empty() => Value::Null,
            FunctionName::Avg => (sum(items)?.as_f64() / items.len() as f64).into(),
            FunctionName::Contains => contains(first, second)?.into(),
            FunctionName::StartsWith => bytes(first).starts_with(bytes(second)).into(),
            FunctionName::EndsWith => bytes(first).ends_with(bytes(second)).into(),
            FunctionName::Join => self.joined(first, second.as_array().unwrap_or_default())?,
            FunctionName::Keys => {
                let keys = first.as_object().into_iter().flat_map(Object::keys);
                let keys = keys.map(|key| Cow::Owned(Value::String(key.clone())));
                self.count(bytes_of_keys(first))?;
                return self.list(keys);
            }
            FunctionName::Values => {
                let values = first.as_object().into_iter().flat_map(Object::values);
                return self.list(values.map(Cow::Borrowed));
            }
            FunctionName::Length => length(first).into(),
            FunctionName::Max => {
                let largest = extreme(items.iter(), |item| item, Ordering::Greater)?;
                largest.cloned().unwrap_or_default()
            }
            FunctionName::Min => {
                let smallest = extreme(items.iter(), |item| item, Ordering::Less)?;
                smallest.cloned().unwrap_or_default()
            }
            FunctionName::Sort => {
                let mut sorted: Vec<&Value> = items.iter().collect();
                sort(&mut sorted, |item| item)?;
                return self.list(sorted.into_iter().map(Cow::Borrowed));
            }
            FunctionName::Reverse => match first {
                Value::String(text) => {
                    self.count(text.len())?;
                    reversed(text)
                }
                _ => return self.list(items.iter().rev().map(Cow::Borrowed)),
            },
            FunctionName::ToArray => match first {
                Value::Array(_) => self.owned(Cow::Borrowed(first))?,
                _ => Value::Array(vec![self.owned(Cow::Borrowed(first))?]),
            },
            FunctionName::ToNumber => to_number(first),
            FunctionName::ToString => match first {
                Value::String(_) => self.owned(Cow::Borrowed(first))?,
                _ => {
                    // Python writes each character beyond ASCII as an escape.
                    self.budget
                        .make_copy(first)
                        .map_err(|_| super::too_large())?;
                    let style = Style::COMPACT.ensure_ascii(true);
                    let text = json::write_styled(first, &style);
                    self.count(text.len())?;
                    text.into()
                }
            },
            FunctionName::Type => type_name(first).into(),
            FunctionName::Map
            | FunctionName::MaxBy
            | FunctionName::MinBy
            | FunctionName::SortBy => Value::Null,
            FunctionName::Merge | FunctionName::NotNull => Value::Null,
        };
        Ok(Cow::Owned(made))
    }

    fn joined(&mut self, separator: &Value, items: &[Value]) -> Result<Value, String> {
        let mut joined = JsonString::new();
        for (index, item) in items.iter().enumerate() {
            let separator = (index > 0).then_some(separator);
            for part in separator.into_iter().chain([item]) {
                if let Value::String(text) = part {
                    self.count(text.len())?;
                    joined.push(text);
                }
            }
        }
        Ok(Value::String(joined))
    }
}
