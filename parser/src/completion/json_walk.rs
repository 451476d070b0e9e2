//! Following JSON while it is written, without reading its values.

use memchr::memchr2;

use crate::json::MAX_DEPTH;

/// A walk over the text of one JSON value. It takes all that is JSON, and some that is not: scalars are
/// not looked into.
#[derive(Debug, Clone)]
pub(super) struct JsonWalk {
    /// The objects and arrays that are open.
    open: Vec<Container>,
    expects: Expects,
    /// Keys are kept of so many of the outermost containers.
    keys_kept: usize,
    /// The key that is being read, in quotes.
    key: Option<String>,
}

#[derive(Debug, Clone)]
struct Container {
    is_object: bool,
    /// The key of the member that is read, where it is kept.
    key: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expects {
    Value,
    /// A value, or the end of the array that has just begun.
    ValueOrEnd,
    Key,
    /// A key, or the end of the object that has just begun.
    KeyOrEnd,
    Colon,
    CommaOrEnd,
    /// More of a string.
    String {
        is_key: bool,
        is_escaped: bool,
    },
    /// More of a number or a word.
    Scalar,
    /// White space: the value has ended.
    Nothing,
}

/// What happens in the text, each at a byte of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// A value begins with the byte at this place.
    Starts(usize),
    /// A value has ended before this place.
    Ends(usize),
    /// This is not JSON.
    Broken(usize),
}

impl JsonWalk {
    pub(super) fn new(keys_kept: usize) -> JsonWalk {
        JsonWalk {
            open: Vec::new(),
            expects: Expects::Value,
            keys_kept,
            key: None,
        }
    }

    /// How many containers are open.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Whether the value that begins or has just ended stands at the end of these keys, in the
    /// containers from `root` on.
    pub(super) fn is_at(&self, root: usize, path: &[String]) -> bool {
        let inner = self.open.get(root..).unwrap_or_default();
        inner.len() == path.len()
            && inner.iter().zip(path).all(|(container, key)| {
                container.is_object && container.key.as_deref() == Some(key)
            })
    }

    /// Whether the outermost container is an array.
    pub(super) fn is_in_array(&self) -> bool {
        self.open.first().is_some_and(|first| !first.is_object)
    }

    /// The key of the value that begins, where it is kept.
    pub(super) fn key(&self) -> Option<&str> {
        self.open.last()?.key.as_deref()
    }

    /// Reads on from a place in the text to the next step; nothing if the text holds no more.
    pub(super) fn next(&mut self, text: &str, at: &mut usize) -> Option<Step> {
        let bytes = text.as_bytes();
        while *at < bytes.len() {
            let place = *at;
            match self.expects {
                Expects::String { is_key, is_escaped } => {
                    let length = match is_escaped {
                        true => Some(0),
                        false => memchr2(b'"', b'\\', &bytes[place..]),
                    };
                    let end = length.map_or(bytes.len(), |length| place + length + 1);
                    if let Some(key) = &mut self.key {
                        // An escaped character may be longer than a byte: the rest of it follows.
                        key.push_str(&text[place..text.ceil_char_boundary(end)]);
                    }
                    *at = text.ceil_char_boundary(end);
                    let Some(length) = length else {
                        break;
                    };
                    let is_end = !is_escaped && bytes[place + length] == b'"';
                    self.expects = Expects::String {
                        is_key,
                        is_escaped: !is_escaped && !is_end,
                    };
                    if is_end && is_key {
                        self.take_key();
                    } else if is_end {
                        return Some(self.ended(*at));
                    }
                }
                Expects::Scalar => {
                    let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']') || is_space(*byte);
                    let length = bytes[place..].iter().position(ends);
                    *at = length.map_or(bytes.len(), |length| place + length);
                    if length.is_some() {
                        return Some(self.ended(*at));
                    }
                }
                _ if is_space(bytes[place]) => *at += 1,
                expects => {
                    if let Some(step) = self.structure(expects, bytes[place], at) {
                        return Some(step);
                    }
                }
            }
        }
        None
    }

    /// A byte outside of strings and scalars.
    fn structure(&mut self, expects: Expects, byte: u8, at: &mut usize) -> Option<Step> {
        let place = *at;
        let closes = match byte {
            b'}' => Some(true),
            b']' => Some(false),
            _ => None,
        };
        match (expects, byte) {
            (Expects::KeyOrEnd | Expects::ValueOrEnd | Expects::CommaOrEnd, _)
                if closes.is_some()
                    && self.open.last().map(|container| container.is_object) == closes =>
            {
                self.open.pop();
                *at += 1;
                Some(self.ended(*at))
            }
            (Expects::Key | Expects::KeyOrEnd, b'"') => {
                let is_kept = self.open.len() <= self.keys_kept;
                self.key = is_kept.then(|| "\"".to_owned());
                self.expects = Expects::String {
                    is_key: true,
                    is_escaped: false,
                };
                *at += 1;
                None
            }
            (Expects::Colon, b':') => {
                self.expects = Expects::Value;
                *at += 1;
                None
            }
            (Expects::CommaOrEnd, b',') => {
                let in_object = self.open.last().is_some_and(|last| last.is_object);
                self.expects = if in_object {
                    Expects::Key
                } else {
                    Expects::Value
                };
                *at += 1;
                None
            }
            (Expects::Value | Expects::ValueOrEnd, _)
                if closes.is_none() && !matches!(byte, b',' | b':') =>
            {
                Some(self.begin(byte, at))
            }
            _ => Some(Step::Broken(place)),
        }
    }

    /// A value begins. Whoever looks at its place does so before the next step.
    fn begin(&mut self, byte: u8, at: &mut usize) -> Step {
        let place = *at;
        if matches!(byte, b'{' | b'[') && self.open.len() == MAX_DEPTH {
            return Step::Broken(place);
        }
        self.expects = match byte {
            b'"' => Expects::String {
                is_key: false,
                is_escaped: false,
            },
            b'{' => Expects::KeyOrEnd,
            b'[' => Expects::ValueOrEnd,
            _ => Expects::Scalar,
        };
        *at += match byte {
            b'"' | b'{' | b'[' => 1,
            _ => 0,
        };
        Step::Starts(place)
    }

    /// Goes into the container that has begun, when its place has been looked at.
    pub(super) fn enter(&mut self, byte: u8) {
        if matches!(byte, b'{' | b'[') {
            self.open.push(Container {
                is_object: byte == b'{',
                key: None,
            });
        }
    }

    /// Goes back to before the value whose beginning was the last step.
    pub(super) fn value_again(&mut self) {
        self.expects = Expects::Value;
    }

    fn ended(&mut self, at: usize) -> Step {
        self.expects = match self.open.is_empty() {
            true => Expects::Nothing,
            false => Expects::CommaOrEnd,
        };
        Step::Ends(at)
    }

    fn take_key(&mut self) {
        self.expects = Expects::Colon;
        let key = self.key.take().and_then(|key| crate::json::read(&key).ok());
        if let Some(container) = self.open.last_mut() {
            let key = key.as_ref().and_then(|key| key.as_json_string());
            container.key = key.map(|key| key.to_string_lossy().into_owned());
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
