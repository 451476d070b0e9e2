//! Why each delimiter of what was derived is there.

use crate::value::{Object, Value};

/// One alternative of what opens or closes a field, and the texts that need it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reason {
    /// The field.
    pub field: String,
    /// Whether it opens the field, or closes it.
    pub opens: bool,
    /// The alternative: a literal, or an expression.
    pub delimiter: String,
    /// What the texts are that are misread without it, each kind once.
    pub texts: Vec<String>,
    /// How many texts are misread without it.
    pub count: usize,
}

impl Reason {
    /// For programs: an object of the `field`, whether it `opens` it, the `delimiter`, the `texts`, and their `count`.
    pub fn to_value(&self) -> Value {
        Object::from_iter([
            ("field", Value::from(&self.field)),
            ("opens", self.opens.into()),
            ("delimiter", Value::from(&self.delimiter)),
            ("texts", self.texts.iter().collect()),
            ("count", self.count.into()),
        ])
        .into()
    }
}
