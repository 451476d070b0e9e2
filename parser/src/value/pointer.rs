//! JSON pointers (RFC 6901).

use std::borrow::Cow;

/// The pointer to a key or an element below another pointer.
pub fn pointer_below(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// The steps of a JSON pointer, or `None` if it is none.
pub fn pointer_tokens(pointer: &str) -> Option<impl Iterator<Item = Cow<'_, str>>> {
    let well_formed = pointer.is_empty() || pointer.starts_with('/');
    well_formed.then(|| pointer.split('/').skip(1).map(unescape_token))
}

/// `~1` comes first: `~01` means `~1` and not `/`.
fn unescape_token(token: &str) -> Cow<'_, str> {
    if token.contains('~') {
        Cow::Owned(token.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(token)
    }
}

/// The place in an array that a step of a pointer means: digits only, no
/// leading zero.
pub fn pointer_index(token: &str) -> Option<usize> {
    let digits = token.bytes().all(|byte| byte.is_ascii_digit());
    let canonical = digits && (token == "0" || !token.starts_with('0'));
    canonical.then(|| token.parse().ok()).flatten()
}
