//! What must not be handed on to strangers: tokens, paths, names and addresses.

use std::env;

/// Names that say nothing of a person, and that chat templates and systems are full of.
const EVERYBODY: [&str; 16] = [
    "user",
    "root",
    "admin",
    "ubuntu",
    "debian",
    "runner",
    "system",
    "assistant",
    "tool",
    "tools",
    "model",
    "developer",
    "function",
    "content",
    "name",
    "nobody",
];

/// What tokens of services begin with.
const TOKEN_STARTS: [&str; 14] = [
    "hf_",
    "api_org_",
    "sk-",
    "sk_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
    "eyJ",
];

/// A token of a service has no less characters than this.
const MIN_TOKEN: usize = 16;

/// A word of so many letters and digits of all kinds is a token, whatever it begins with.
const MIN_ANY_TOKEN: usize = 40;

/// Variables of the environment whose values are secrets have one of these in their names.
const SECRET_VARIABLES: [&str; 5] = ["TOKEN", "SECRET", "PASSWORD", "API_KEY", "CREDENTIAL"];

/// What is not to be handed on, beside what shows by itself.
#[derive(Debug, Default)]
pub(crate) struct Private {
    /// Texts, each with what stands in its place, the longest first.
    texts: Vec<(String, &'static str)>,
    /// Names of persons: words that are left out in any case of letters.
    names: Vec<String>,
}

/// A text without what is private, and how many places are blacked out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cleaned {
    pub(crate) text: String,
    pub(crate) places: usize,
}

impl Private {
    /// What the environment tells of who is here: homes, names, and the values of secrets.
    pub(crate) fn of_environment() -> Private {
        Private::of_variables(env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        }))
    }

    fn of_variables(variables: impl Iterator<Item = (String, String)>) -> Private {
        let mut private = Private::default();
        for (name, value) in variables {
            match name.as_str() {
                "HOME" | "USERPROFILE" | "PWD" => {
                    let last = value
                        .rsplit(['/', '\\'])
                        .next()
                        .unwrap_or_default()
                        .to_owned();
                    if name != "PWD" {
                        private.add_name(&last);
                    }
                    private.add(&value, "[path]");
                }
                "USER" | "USERNAME" | "LOGNAME" | "HOSTNAME" => private.add_name(&value),
                name if SECRET_VARIABLES.iter().any(|part| name.contains(part))
                    && value.len() >= MIN_TOKEN =>
                {
                    private.add(&value, "[token]");
                }
                _ => {}
            }
        }
        private
    }

    /// Leaves out a text, too. One that is too short says nothing.
    pub(crate) fn add(&mut self, text: &str, instead: &'static str) {
        if text.len() > 3 {
            self.texts.push((text.to_owned(), instead));
            self.texts
                .sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        }
    }

    fn add_name(&mut self, name: &str) {
        let is_common = EVERYBODY
            .iter()
            .any(|common| common.eq_ignore_ascii_case(name));
        if name.chars().count() > 2 && !is_common {
            self.names.push(name.to_lowercase());
        }
    }

    /// The text without any of it.
    pub(crate) fn without(&self, text: &str) -> Cleaned {
        let mut out = String::with_capacity(text.len());
        let mut places = 0;
        let mut at = 0;
        let mut before = None;
        // Before this no address begins: looking for one goes through all letters that it may begin with.
        let mut no_address = 0;
        while let Some(next) = text[at..].chars().next() {
            let rest = &text[at..];
            let may_be_address = at >= no_address && !before.is_some_and(is_word);
            let address = || {
                let found = may_be_address.then(|| address(rest))?;
                no_address = at + local_length(rest);
                found
            };
            match self.private_at(rest, before, address) {
                Some((length, instead)) => {
                    out.push_str(instead);
                    places += 1;
                    before = rest[..length].chars().next_back();
                    at += length;
                }
                None => {
                    out.push(next);
                    before = Some(next);
                    at += next.len_utf8();
                }
            }
        }
        Cleaned { text: out, places }
    }

    /// How long what begins here and is private is, and what stands in its place.
    fn private_at(
        &self,
        rest: &str,
        before: Option<char>,
        address: impl FnOnce() -> Option<usize>,
    ) -> Option<(usize, &'static str)> {
        let texts = self.texts.iter();
        let mut given = texts.filter(|(text, _)| rest.starts_with(text.as_str()));
        if let Some((text, instead)) = given.next() {
            let length = match *instead {
                // All of the path, not only where it begins.
                "[path]" => text.len() + path_length(&rest[text.len()..]),
                _ => text.len(),
            };
            return Some((length, instead));
        }
        if let Some(length) = path(rest, before) {
            return Some((length, "[path]"));
        }
        if let Some(length) = address() {
            return Some((length, "[address]"));
        }
        if !before.is_some_and(is_word) {
            let word = word(rest);
            if is_token(word) {
                return Some((word.len(), "[token]"));
            }
        }
        let length = self.name(rest, before)?;
        Some((length, "[name]"))
    }

    /// How long a name is that begins here. It may be a part of a word, between signs.
    fn name(&self, rest: &str, before: Option<char>) -> Option<usize> {
        if before.is_some_and(char::is_alphanumeric) || self.names.is_empty() {
            return None;
        }
        let end = rest.find(|c: char| !c.is_alphanumeric());
        let letters = &rest[..end.unwrap_or(rest.len())];
        let lower = letters.to_lowercase();
        let is_name = self.names.contains(&lower);
        is_name.then_some(letters.len())
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// The word at the start of a text.
fn word(text: &str) -> &str {
    let end = text.find(|c| !is_word(c));
    &text[..end.unwrap_or(text.len())]
}

fn is_token(word: &str) -> bool {
    let has = |kind: fn(&char) -> bool| word.chars().any(|c| kind(&c));
    let is_mixed =
        has(char::is_ascii_digit) && has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase);
    let is_of_service = TOKEN_STARTS.iter().any(|start| word.starts_with(start))
        && (has(char::is_ascii_digit) || is_mixed || word.len() >= 2 * MIN_TOKEN);
    let has_no_gap = !word.contains('_');
    word.len() >= MIN_TOKEN && is_of_service
        || word.len() >= MIN_ANY_TOKEN && is_mixed && has_no_gap
}

/// How long a path is that begins here: in somebody's home, or two folders deep from the root. Tags such as
/// `</end>`, and what follows a word, as in `and/or`, are none.
fn path(rest: &str, before: Option<char>) -> Option<usize> {
    let is_url = rest
        .get(..7)
        .is_some_and(|start| start.eq_ignore_ascii_case("file://"));
    if is_url && !before.is_some_and(is_word) {
        return Some(path_length(rest)).filter(|&length| length > 7);
    }
    let is_apart = before.is_none_or(|c| c.is_whitespace() || "\"'`([=:,;".contains(c));
    if !is_apart {
        return None;
    }
    let is_windows = rest.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
        && [":\\Users\\", ":\\\\Users\\", ":/Users/"]
            .iter()
            .any(|home| rest[1..].starts_with(home));
    if is_windows || rest.starts_with("~/") {
        return Some(path_length(rest)).filter(|&length| length > 2);
    }
    let inner = rest.strip_prefix('/')?;
    let first = word(inner);
    let second = inner[first.len()..].strip_prefix('/')?;
    let is_deep = !first.is_empty() && !word(second.trim_start_matches('.')).is_empty();
    is_deep.then(|| path_length(rest))
}

/// How far a path goes on.
fn path_length(text: &str) -> usize {
    let ends = |c: char| c.is_whitespace() || "\"'`<>|*?()[]{},;".contains(c);
    text.find(ends).unwrap_or(text.len())
}

/// How far what stands before the `@` of an address goes on.
fn local_length(text: &str) -> usize {
    let ends = |c: char| !(is_word(c) || c == '.' || c == '+');
    text.find(ends).unwrap_or(text.len())
}

/// How long an address of mail is that begins here.
fn address(rest: &str) -> Option<usize> {
    let local = local_length(rest);
    let domain = rest[local..].strip_prefix('@')?;
    let end = domain.find(|c: char| !is_word(c) && c != '.');
    let domain = domain[..end.unwrap_or(domain.len())].trim_end_matches('.');
    let (_, top) = domain.rsplit_once('.')?;
    let is_top = top.len() > 1 && top.chars().all(|c| c.is_ascii_alphabetic());
    is_top.then_some(local + 1 + domain.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Private {
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Private::of_variables(variables)
    }

    #[test]
    fn what_is_private_is_blacked_out_and_nothing_else() {
        let mut private = of(&[
            ("HOME", "/home/marguerite"),
            ("USER", "marguerite"),
            ("SOME_SERVICE_TOKEN", "a-secret-of-16-letters"),
            ("SHORT_TOKEN", "user"),
            ("LANG", "C.UTF-8"),
        ]);
        private.add("models/mine/chat.jinja", "[source]");
        for (text, expected) in [
            ("hf_abcdEFGH1234abcdEFGH1234", "[token]"),
            ("x='hf_abcdEFGH1234abcdEFGH1234' y", "x='[token]' y"),
            ("Bearer sk-proj-1234567890abcdef1234", "Bearer [token]"),
            ("a-secret-of-16-letters!", "[token]!"),
            ("models/mine/chat.jinja: line 3", "[source]: line 3"),
            ("/home/marguerite/models/x.jinja:3", "[path]"),
            ("see /home/someone/else, please", "see [path], please"),
            ("(C:\\Users\\someone\\x.json)", "([path])"),
            ("C:\\Users\\Zoë\\x.json", "[path]"),
            ("see C:/Users/Łukasz/x.json", "see [path]"),
            ("<file:///home/somebody/x>", "<[path]>"),
            ("at=file:///C:/Users/somebody/x", "at=[path]"),
            ("a file:// or afile://x", "a file:// or afile://x"),
            ("~/models/x", "[path]"),
            ("/mnt/data/models", "[path]"),
            ("open=/mnt/some/file", "open=[path]"),
            ("by Marguerite, for all", "by [name], for all"),
            ("marguerite-tuned_by_marguerite", "[name]-tuned_by_[name]"),
            ("x-a-secret-of-16-letters", "x-[token]"),
            ("marguerites", "marguerites"),
            ("write to some.one@example.org.", "write to [address]."),
            // What templates are full of.
            (
                "{% if m.role == 'user' %}</think>\\n",
                "{% if m.role == 'user' %}</think>\\n",
            ),
            ("and/or, yes/no/maybe", "and/or, yes/no/maybe"),
            (
                "<|start_header_id|>assistant<|end_header_id|>",
                "<|start_header_id|>assistant<|end_header_id|>",
            ),
            ("</a></b>/no_think", "</a></b>/no_think"),
            ("'n:\\nQuestion'", "'n:\\nQuestion'"),
            ("@name{x} a@b", "@name{x} a@b"),
            ("hf_transfer sk-learn", "hf_transfer sk-learn"),
            ("äöü/ß 🙂 hf_", "äöü/ß 🙂 hf_"),
            (
                "tool_call_argument_begin_of_a_very_long_name_2_X",
                "tool_call_argument_begin_of_a_very_long_name_2_X",
            ),
        ] {
            let cleaned = private.without(text);
            assert_eq!(cleaned.text, expected, "{text}");
            assert_eq!(cleaned.places > 0, text != expected, "{text}");
        }
    }

    #[test]
    fn long_runs_take_no_longer_for_each_letter() {
        let mut private = of(&[("USER", "marguerite")]);
        private.add("a-secret-of-16-letters", "[token]");
        for piece in ["a", "a.", "a.b@", ".marguerite+", "ab-", "/a", "äö_."] {
            let text = piece.repeat(1 << 18);
            let begun = std::time::Instant::now();
            let cleaned = private.without(&text);
            assert!(begun.elapsed().as_secs() < 10, "{piece}");
            let is_private = piece.contains("marguerite") || piece == "/a";
            assert_eq!(cleaned.places > 0, is_private, "{piece}");
        }
        // What follows something that is blacked out may be an address all the same.
        for (text, expected) in [
            (
                "a-secret-of-16-letters.some@example.org",
                "[token].[address]",
            ),
            ("a.marguerite+x@example.org", "[address]"),
            ("x@y z@example.org", "x@y [address]"),
        ] {
            assert_eq!(private.without(text).text, expected);
        }
    }

    #[test]
    fn names_that_everybody_has_stay() {
        let private = of(&[("HOME", "/home/admin"), ("USER", "user"), ("LOGNAME", "ab")]);
        let text = "user, admin and ab";
        assert_eq!(private.without(text).text, text);
        assert_eq!(private.without("in /home/admin/models").text, "in [path]");
    }

    #[test]
    fn all_that_is_in_the_gallery_stays_as_it_is() {
        let gallery = concat!(env!("CARGO_MANIFEST_DIR"), "/../chat_templates");
        let private = Private::default();
        for file in std::fs::read_dir(gallery).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            assert_eq!(private.without(&text).text, text);
        }
    }
}
