//! What some filters make in Python: something that can be gone through, and nothing else.

use std::sync::Arc;

use minijinja::value::{Enumerator, Object, ObjectRepr};
use minijinja::{Error, Value};

use super::{items, made};

/// The items that a filter has let through or made.
#[derive(Debug)]
pub(super) struct Generator(Vec<Value>);

impl Generator {
    pub(super) fn of(items: &Value) -> Result<Value, Error> {
        made::noted(Generator::holding(items::collected(items)?))
    }

    pub(super) fn holding(items: Vec<Value>) -> Value {
        Value::from_object(Generator(items))
    }

    /// Whether a value is one.
    pub(super) fn is(value: &Value) -> bool {
        value.downcast_object_ref::<Generator>().is_some()
    }
}

impl Object for Generator {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Iterable
    }

    /// Even one without items: it is not known before it has been gone through.
    fn is_true(self: &Arc<Self>) -> bool {
        true
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let generator = self.clone();
        let items = (0..self.0.len()).map(move |index| generator.0[index].clone());
        Enumerator::Iter(Box::new(items))
    }
}
