//! What `namespace` makes, and what sets its attributes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use minijinja::value::{Enumerator, Object};
use minijinja::{Error, Value};

use super::error::invalid;
use super::{budget, made};

/// Values by name that a template can change.
#[derive(Default)]
pub(super) struct Namespace(Mutex<BTreeMap<Arc<str>, Value>>);

impl Namespace {
    /// A namespace of what is given; names that are no strings can't be asked for.
    pub(super) fn of(pairs: Vec<(Value, Value)>) -> Result<Value, Error> {
        let namespace = Namespace::default();
        for (name, value) in pairs {
            if let Some(name) = name.as_str() {
                namespace.set(name, value)?;
            }
        }
        Ok(Value::from_object(namespace))
    }

    fn set(&self, name: &str, value: Value) -> Result<(), Error> {
        if name.starts_with('_') {
            return Err(invalid(
                "the names in a namespace can't begin with an underscore",
            ));
        }
        made::note(&value)?;
        budget::spend(name.len() + size_of::<Value>())?;
        self.values().insert(name.into(), value);
        Ok(())
    }

    fn values(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn empty(&self) {
        let values = std::mem::take(&mut *self.values());
        drop(values);
    }
}

/// A namespace may hold itself.
impl std::fmt::Debug for Namespace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Namespace").finish_non_exhaustive()
    }
}

impl Object for Namespace {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.values().get(key.as_str()?).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.values().keys().cloned().map(Value::from).collect())
    }
}

/// `{% set namespace.name = value %}`
pub(super) fn set(value: &Value, namespace: &Value, name: &str) -> Result<(), Error> {
    match namespace.downcast_object_ref::<Namespace>() {
        Some(namespace) => namespace.set(name, value.clone()),
        None => {
            // minijinja's own error knows where the value came from.
            namespace.get_attr(name)?;
            Err(invalid(format!(
                "only namespaces can be assigned to, not {}",
                super::kinds::type_name(namespace)
            )))
        }
    }
}
