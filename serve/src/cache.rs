//! What is made once for many requests.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of an entry besides its value.
const EACH: usize = 128;

/// Values by the text that they are made of, up to so many bytes. The one goes first that was not asked for the longest.
#[derive(Debug)]
pub(crate) struct Cache<V> {
    most: usize,
    /// Texts may be large, and are told apart by numbers that nobody can foresee.
    hashers: [RandomState; 2],
    known: Mutex<Known<V>>,
}

#[derive(Debug)]
struct Known<V> {
    entries: HashMap<[u64; 2], Entry<V>>,
    bytes: usize,
    /// Counts what was asked for.
    asked: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: Arc<V>,
    bytes: usize,
    /// When it was asked for last.
    asked: u64,
}

impl<V> Cache<V> {
    pub(crate) fn new(most: usize) -> Cache<V> {
        Cache {
            most,
            hashers: [RandomState::new(), RandomState::new()],
            known: Mutex::new(Known {
                entries: HashMap::new(),
                bytes: 0,
                asked: 0,
            }),
        }
    }

    /// The value of a text, whose size is asked for when it is made. Others are not kept waiting meanwhile.
    pub(crate) fn get<E>(
        &self,
        text: &str,
        make: impl FnOnce() -> Result<V, E>,
        size: impl FnOnce(&V) -> usize,
    ) -> Result<Arc<V>, E> {
        let key = self.key(text);
        if let Some(value) = self.known().get(key) {
            return Ok(value);
        }
        let value = Arc::new(make()?);
        let bytes = size(&value).saturating_add(EACH);
        // A value that would take the place of most others is made anew each time.
        if bytes <= self.most / 4 {
            self.known().put(key, Arc::clone(&value), bytes, self.most);
        }
        Ok(value)
    }

    /// The value of a text, if it is made.
    pub(crate) fn find(&self, text: &str) -> Option<Arc<V>> {
        self.known().get(self.key(text))
    }

    fn key(&self, text: &str) -> [u64; 2] {
        self.hashers.each_ref().map(|hasher| hasher.hash_one(text))
    }

    fn known(&self) -> MutexGuard<'_, Known<V>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> Known<V> {
    fn get(&mut self, key: [u64; 2]) -> Option<Arc<V>> {
        self.asked += 1;
        let entry = self.entries.get_mut(&key)?;
        entry.asked = self.asked;
        Some(Arc::clone(&entry.value))
    }

    fn put(&mut self, key: [u64; 2], value: Arc<V>, bytes: usize, most: usize) {
        self.remove(key);
        while self.bytes + bytes > most {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.asked);
            let Some(oldest) = oldest.map(|(key, _)| *key) else {
                break;
            };
            self.remove(oldest);
        }
        let asked = self.asked;
        let entry = Entry {
            value,
            bytes,
            asked,
        };
        self.entries.insert(key, entry);
        self.bytes += bytes;
    }

    fn remove(&mut self, key: [u64; 2]) {
        if let Some(entry) = self.entries.remove(&key) {
            self.bytes -= entry.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts whose values are made, where values are as large as these numbers.
    fn made<'t>(cache: &Cache<()>, asked: &[(&'t str, usize)]) -> Vec<&'t str> {
        let mut made = Vec::new();
        for (text, bytes) in asked {
            let make = || {
                made.push(*text);
                Ok::<(), ()>(())
            };
            assert!(cache.get(text, make, |()| *bytes - EACH).is_ok());
        }
        made
    }

    #[test]
    fn what_was_not_asked_for_the_longest_goes_first() {
        let cache = Cache::new(1000);
        let all = [("a", 250), ("b", 250), ("c", 250), ("d", 250)];
        assert_eq!(made(&cache, &all), ["a", "b", "c", "d"]);
        assert_eq!(
            made(&cache, &[("a", 250), ("e", 250), ("a", 250), ("b", 250)]),
            ["e", "b"]
        );
        assert_eq!(cache.known().bytes, 1000);
    }

    #[test]
    fn what_is_large_or_fails_is_not_kept() {
        let cache = Cache::new(1000);
        let asked = [("a", 200), ("large", 251), ("large", 251), ("a", 200)];
        assert_eq!(made(&cache, &asked), ["a", "large", "large"]);
        assert_eq!(cache.get("b", || Err(7), |()| 0), Err(7));
        assert_eq!(cache.known().bytes, 200);
    }
}
