//! The arguments of a call, each of which may be given by its place or by its name.

use minijinja::value::{Kwargs, Rest};
use minijinja::{Error, ErrorKind, Value};

/// The arguments of a call.
pub(super) struct Arguments {
    positional: Vec<Value>,
    named: Option<Kwargs>,
}

impl Arguments {
    /// The arguments of a method.
    pub(super) fn new(args: &[Value]) -> Result<Arguments, Error> {
        let (positional, named) = match args.split_last() {
            Some((last, others)) if last.is_kwargs() => {
                (others, Some(Kwargs::try_from(last.clone())?))
            }
            _ => (args, None),
        };
        Ok(Arguments {
            positional: positional.to_vec(),
            named,
        })
    }

    /// The arguments of a filter, which minijinja has sorted by how they are given.
    pub(super) fn of_filter(positional: Rest<Value>, named: Kwargs) -> Arguments {
        Arguments {
            positional: positional.0,
            named: Some(named),
        }
    }

    /// The argument with this place and name; none and undefined count as not given.
    pub(super) fn get(&self, place: usize, name: &str) -> Result<Option<Value>, Error> {
        let value = self.given(place, name)?;
        Ok(value.filter(|value| !value.is_none() && !value.is_undefined()))
    }

    /// The argument with this place and name, whatever it is.
    pub(super) fn given(&self, place: usize, name: &str) -> Result<Option<Value>, Error> {
        Ok(match (self.positional.get(place), &self.named) {
            (Some(value), _) => Some(value.clone()),
            (None, Some(named)) if named.has(name) => Some(named.get::<Value>(name)?),
            (None, _) => None,
        })
    }

    /// An argument that has to be there.
    pub(super) fn needed(&self, place: usize, name: &str) -> Result<Value, Error> {
        let missing = || Error::new(ErrorKind::MissingArgument, format!("`{name}` is missing"));
        self.given(place, name)?.ok_or_else(missing)
    }

    /// An argument that is a whole number.
    pub(super) fn integer(&self, place: usize, name: &str) -> Result<Option<i64>, Error> {
        let Some(value) = self.get(place, name)? else {
            return Ok(None);
        };
        // Truth values are numbers, too.
        let is_truth = value.kind() == minijinja::value::ValueKind::Bool;
        match value.as_i64() {
            _ if is_truth => Ok(Some(value.is_true().into())),
            Some(number) if value.is_integer() => Ok(Some(number)),
            _ => Err(self.wrong(name, "a whole number")),
        }
    }

    /// An argument that is true or false; it is false if it is not given.
    pub(super) fn flag(&self, place: usize, name: &str) -> Result<bool, Error> {
        Ok(self.get(place, name)?.is_some_and(|value| value.is_true()))
    }

    /// An argument that is a string.
    pub(super) fn string(&self, place: usize, name: &str) -> Result<Option<String>, Error> {
        let Some(value) = self.get(place, name)? else {
            return Ok(None);
        };
        match value.as_str() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(self.wrong(name, "a string")),
        }
    }

    fn wrong(&self, name: &str, what: &str) -> Error {
        Error::new(
            ErrorKind::InvalidOperation,
            format!("the argument `{name}` has to be {what}"),
        )
    }

    /// Sees to it that there are no more arguments than have been asked for.
    pub(super) fn check(&self, most: usize) -> Result<(), Error> {
        if self.positional.len() > most {
            return Err(Error::from(ErrorKind::TooManyArguments));
        }
        self.named.as_ref().map_or(Ok(()), Kwargs::assert_all_used)
    }
}
