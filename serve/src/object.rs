//! Objects written as they look.

/// An object with these members.
macro_rules! object {
    ($($key:literal: $value:expr),* $(,)?) => {{
        let mut object = unjinja::Object::new();
        $(object.insert($key, $value);)*
        object
    }};
}

pub(crate) use object;
