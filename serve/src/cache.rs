//! What is made once for many requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Values by the text that they are made of. When there are too many, all are made anew.
#[derive(Debug)]
pub(crate) struct Cache<V> {
    most: usize,
    known: Mutex<HashMap<String, Arc<V>>>,
}

impl<V> Cache<V> {
    pub(crate) fn new(most: usize) -> Cache<V> {
        Cache {
            most,
            known: Mutex::default(),
        }
    }

    /// The value of a key. Others are not kept waiting while it is made.
    pub(crate) fn get(&self, key: String, make: impl FnOnce() -> V) -> Arc<V> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = known.get(&key) {
            return Arc::clone(value);
        }
        drop(known);
        let value = Arc::new(make());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= self.most {
            known.clear();
        }
        known.insert(key, Arc::clone(&value));
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_made_once_and_there_are_never_too_many() {
        let cache = Cache::new(2);
        let mut made = 0;
        for key in ["a", "a", "b", "c", "c"] {
            cache.get(key.to_owned(), || made += 1);
        }
        assert_eq!(made, 3);
        assert!(cache.known.lock().is_ok_and(|known| known.len() <= 2));
    }
}
