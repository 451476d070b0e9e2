//! What a template has made: how deeply it nests, and how it is freed.
//!
//! A value that holds others is freed, hashed, compared and printed by functions that call themselves
//! for what it holds, most of them minijinja's. So how deeply it nests is looked at when it is made.
//! And all that is made is kept until the rendering ends, and is then freed from the last to the first:
//! whatever a value holds was made before it and is still kept, so that nothing is freed in turn. Lists
//! and namespaces that change may hold what was made later; they are emptied before.

use std::cell::RefCell;
use std::sync::Arc;

use foldhash::HashMap;
use indexmap::IndexMap;
use minijinja::value::{DynObject, ObjectRepr, Tuple};
use minijinja::{Error, ErrorKind, Value};

use super::budget;
use super::generators::Generator;
use super::groups::Group;
use super::lists::List;
use super::namespaces::Namespace;

/// How deeply values may nest.
pub(super) const MAX_DEPTH: usize = 250;

/// What keeping a value takes, in bytes.
const KEPT: usize = 512;

#[derive(Default)]
struct Made {
    /// How deeply the values nest that are kept, by their addresses.
    depths: HashMap<usize, usize>,
    kept: Vec<Value>,
}

thread_local! {
    static MADE: RefCell<Made> = RefCell::default();
}

/// Where a value that holds others lies in memory, if it is one of the kinds that templates make.
fn address(value: &Value) -> Option<usize> {
    fn of<T: 'static>(value: &Value) -> Option<usize> {
        let object = value.downcast_object_ref::<T>()?;
        Some(std::ptr::from_ref(object).addr())
    }
    of::<Vec<Value>>(value)
        .or_else(|| of::<IndexMap<Value, Value>>(value))
        .or_else(|| of::<Tuple>(value))
        .or_else(|| of::<List>(value))
        .or_else(|| of::<Generator>(value))
        .or_else(|| of::<Namespace>(value))
        .or_else(|| of::<Group>(value))
}

/// Takes note of a value that a template has made, and refuses it if it nests too deeply.
pub(super) fn note(value: &Value) -> Result<(), Error> {
    match value.as_object() {
        Some(_) => depth(value, 0).map(|_| ()),
        None => Ok(()),
    }
}

/// The same value, taken note of.
pub(super) fn noted(value: Value) -> Result<Value, Error> {
    note(&value)?;
    Ok(value)
}

/// A list or a tuple that the template has written down.
pub(super) fn written_down(list: &Value) -> Result<Value, Error> {
    budget::spend_items(list.len().unwrap_or(0))?;
    noted(list.clone())
}

/// How deeply a value nests, of which it is known already that it lies so deep within another.
fn depth(value: &Value, within: usize) -> Result<usize, Error> {
    let Some(object) = value.as_object() else {
        return Ok(0);
    };
    let address = address(value);
    let known = address.and_then(|at| MADE.with_borrow(|made| made.depths.get(&at).copied()));
    if let Some(known) = known {
        return Ok(known);
    }
    if within > MAX_DEPTH {
        return Err(too_deep());
    }
    let mut deepest = 0;
    for_each_part(object, address.is_some(), |part| {
        deepest = deepest.max(depth(part, within + 1)?);
        Ok(())
    })?;
    if deepest >= MAX_DEPTH {
        return Err(too_deep());
    }
    budget::spend(KEPT)?;
    MADE.with_borrow_mut(|made| {
        if let Some(address) = address {
            made.depths.insert(address, deepest + 1);
        }
        made.kept.push(value.clone());
    });
    Ok(deepest + 1)
}

/// Goes through what a value holds.
fn for_each_part(
    object: &DynObject,
    has_address: bool,
    mut look: impl FnMut(&Value) -> Result<(), Error>,
) -> Result<(), Error> {
    // Almost all are such lists and maps, which can be gone through without a clone of each value.
    if let Some(list) = object.downcast_ref::<Vec<Value>>() {
        return list.iter().try_for_each(look);
    }
    if let Some(map) = object.downcast_ref::<IndexMap<Value, Value>>() {
        let mut parts = map.iter().flat_map(|(key, item)| [key, item]);
        return parts.try_for_each(look);
    }
    match object.repr() {
        ObjectRepr::Map if has_address => {
            for (key, item) in object.try_iter_pairs().into_iter().flatten() {
                look(&key)?;
                look(&item)?;
            }
        }
        ObjectRepr::Seq | ObjectRepr::Iterable => {
            for item in object.try_iter().into_iter().flatten() {
                if !has_address {
                    // What makes its items when it is gone through.
                    budget::look(1)?;
                }
                look(&item)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn too_deep() -> Error {
    let detail = format!("the template nests values too deeply, in more than {MAX_DEPTH} others");
    Error::new(ErrorKind::InvalidOperation, detail)
}

/// Frees all that was made.
pub(super) fn free() {
    let mut made = MADE.take();
    for value in &made.kept {
        let lists: Option<Arc<List>> = value.downcast_object();
        lists.inspect(|list| list.empty());
        let namespaces: Option<Arc<Namespace>> = value.downcast_object();
        namespaces.inspect(|namespace| namespace.empty());
    }
    while made.kept.pop().is_some() {}
}
