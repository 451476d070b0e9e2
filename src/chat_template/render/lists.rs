//! Lists that a template makes and then changes.
//!
//! minijinja's lists never change, and the sandbox of the reference refuses to change any. Some
//! templates do append to lists of their own all the same, and other engines let them. Here, the
//! lists that a template writes down can be changed, as in Python; those that are given to it
//! can't.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use minijinja::value::{Enumerator, Object, ObjectRepr, from_args};
use minijinja::{Error, ErrorKind, State, Value};

use super::error::invalid;
use super::{budget, items, made, ordering};

/// The methods that change a list.
pub(super) const CHANGING: [&str; 8] = [
    "append", "extend", "insert", "pop", "remove", "clear", "reverse", "sort",
];

/// A list that can be changed.
pub(super) struct List(Mutex<Vec<Value>>);

/// A list may hold itself.
impl std::fmt::Debug for List {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("List").finish_non_exhaustive()
    }
}

impl List {
    /// A list of the items of another one, and so for the lists in it.
    pub(super) fn copy_of(list: &Value) -> Result<Value, Error> {
        made::note(list)?;
        let items = items::collected(list)?.into_iter();
        let items = items.map(|item| match is_plain_list(&item) {
            true => List::copy_of(&item),
            false => Ok(item),
        });
        let items = items.collect::<Result<Vec<Value>, Error>>()?;
        made::noted(Value::from_object(List(Mutex::new(items))))
    }

    /// The items of now, whatever becomes of the list meanwhile.
    fn copied(&self) -> Result<Vec<Value>, Error> {
        let items = self.items();
        budget::spend_items(items.len())?;
        Ok(items.clone())
    }

    pub(super) fn empty(&self) {
        let items = std::mem::take(&mut *self.items());
        drop(items);
    }

    fn items(&self) -> MutexGuard<'_, Vec<Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_plain_list(value: &Value) -> bool {
    value.kind() == minijinja::value::ValueKind::Seq
        && !value.is_tuple()
        && value.downcast_object_ref::<List>().is_none()
}

impl Object for List {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.items().get(key.as_usize()?).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.items().len())
    }

    fn call_method(
        self: &Arc<Self>,
        _state: &mut State<'_, '_>,
        method: &str,
        args: &[Value],
    ) -> Result<Value, Error> {
        budget::look(1)?;
        match method {
            "append" => {
                let (item,) = from_args::<(Value,)>(args)?;
                made::note(&item)?;
                budget::spend_items(1)?;
                budget::limit(self.items().len() * size_of::<Value>())?;
                self.items().push(item);
            }
            "extend" => {
                let (more,) = from_args::<(Value,)>(args)?;
                let more = items::collected(&more)?;
                more.iter().try_for_each(made::note)?;
                budget::limit((self.items().len() + more.len()) * size_of::<Value>())?;
                self.items().extend(more);
            }
            "insert" => {
                let (index, item) = from_args::<(i64, Value)>(args)?;
                made::note(&item)?;
                let mut items = self.items();
                // All behind it are moved.
                budget::spend_items(items.len() + 1)?;
                let at = bounded(index, items.len());
                items.insert(at, item);
            }
            "pop" => {
                let (index,) = from_args::<(Option<i64>,)>(args)?;
                return self.pop(index.unwrap_or(-1));
            }
            "remove" => {
                let (item,) = from_args::<(Value,)>(args)?;
                // The list may hold itself: it can't be kept from being read meanwhile.
                let items = self.copied()?;
                for (at, known) in items.iter().enumerate() {
                    if ordering::equal(known, &item)? {
                        self.items().remove(at);
                        return Ok(Value::from(()));
                    }
                }
                return Err(invalid("list.remove: there is no such item in the list"));
            }
            "clear" => {
                let () = from_args(args)?;
                self.items().clear();
            }
            "reverse" => {
                let () = from_args(args)?;
                budget::look(self.items().len())?;
                self.items().reverse();
            }
            "sort" => {
                let () = from_args(args)?;
                let items = self.copied()?;
                let keyed = items.into_iter().map(|item| (item.clone(), item)).collect();
                let sorted = ordering::sorted(keyed, false)?;
                *self.items() = sorted.into_iter().map(|(_, item)| item).collect();
            }
            _ => {
                let list = Value::from_dyn_object(self.clone());
                let unknown = || Error::from(ErrorKind::UnknownMethod);
                return call_method(&list, method, args)?.ok_or_else(unknown);
            }
        }
        Ok(Value::from(()))
    }
}

/// Calls a method that leaves a list as it is; `None` where minijinja-contrib has it.
pub(super) fn call_method(
    list: &Value,
    method: &str,
    args: &[Value],
) -> Result<Option<Value>, Error> {
    Ok(Some(match method {
        "index" => {
            let (item, start, stop) = from_args::<(Value, Option<i64>, Option<i64>)>(args)?;
            let length = list.len().unwrap_or(0);
            let start = bounded(start.unwrap_or(0), length);
            let stop = bounded(stop.unwrap_or(length as i64), length);
            budget::look(stop)?;
            for (index, known) in list.try_iter()?.take(stop).enumerate().skip(start) {
                if ordering::equal(&known, &item)? {
                    return Ok(Some(Value::from(index)));
                }
            }
            return Err(invalid("the list has no such item"));
        }
        "count" => {
            let (item,) = from_args::<(Value,)>(args)?;
            let mut count = 0;
            for known in list.try_iter()? {
                count += usize::from(ordering::equal(&known, &item)?);
            }
            Value::from(count)
        }
        "copy" if !list.is_tuple() => {
            let () = from_args(args)?;
            Value::from(items::collected(list)?)
        }
        _ => return Ok(None),
    }))
}

impl List {
    fn pop(&self, index: i64) -> Result<Value, Error> {
        let mut items = self.items();
        budget::look(if index == -1 { 1 } else { items.len() })?;
        let length = items.len() as i64;
        let at = if index < 0 { index + length } else { index };
        if items.is_empty() || at < 0 || at >= length {
            return Err(invalid("list.pop: there is no such item in the list"));
        }
        Ok(items.remove(at as usize))
    }
}

fn bounded(index: i64, length: usize) -> usize {
    let from_end = if index < 0 {
        index + length as i64
    } else {
        index
    };
    from_end.clamp(0, length as i64) as usize
}
