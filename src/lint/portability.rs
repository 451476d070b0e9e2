//! What other engines of regular expressions lack.

use crate::response::pattern::{Construct, constructs};

use super::subject::Subject;
use super::{Complaints, Lint, listed};

const PYTHON: &str = "Python's `re`";
const JAVASCRIPT: &str = "JavaScript";
const PCRE: &str = "PCRE2";
const RE2: &str = "Go's RE2";
const RUST: &str = "Rust's `regex`";

/// What a construct is called, and the engines that lack it or read it otherwise.
fn lacking(construct: Construct) -> (&'static str, &'static [&'static str]) {
    use Construct as C;
    match construct {
        C::Lookahead => ("lookahead", &[RE2, RUST]),
        C::Lookbehind => ("lookbehind", &[RE2, RUST]),
        C::BranchedLookbehind => (
            "lookbehind over alternatives of several lengths",
            &[PYTHON, RE2, RUST],
        ),
        C::VariableLookbehind => (
            "lookbehind over texts of several lengths",
            &[PYTHON, PCRE, RE2, RUST],
        ),
        C::Atomic => ("an atomic group", &[JAVASCRIPT, RE2, RUST]),
        C::Possessive => ("a possessive repeat", &[JAVASCRIPT, RE2, RUST]),
        C::NoMinimum => (
            "a repeat without a minimum, `{,n}`",
            &[JAVASCRIPT, RE2, RUST],
        ),
        C::LargeCount => ("a repeat of more than 1000 times", &[RE2]),
        C::ShortNamedGroup => ("a group named by `(?<…>…)`", &[PYTHON]),
        C::SharedName => (
            "several groups of one name",
            &[PYTHON, JAVASCRIPT, PCRE, RE2, RUST],
        ),
        C::Backreference => ("a reference to what a group has matched", &[RE2, RUST]),
        C::LeadingFlags => ("flags in the pattern", &[JAVASCRIPT]),
        C::FlagsAmid => ("flags amid the pattern", &[PYTHON, JAVASCRIPT]),
        C::ScopedFlags => ("flags for a group", &[JAVASCRIPT]),
        C::AsciiFlag => ("the flag `a`", &[JAVASCRIPT, PCRE, RE2, RUST]),
        C::VerboseFlag => ("the flag `x`", &[JAVASCRIPT, RE2]),
        C::Comment => ("a comment `(?#…)`", &[JAVASCRIPT, RE2, RUST]),
        C::Property => (r"a property `\p{…}`", &[PYTHON]),
        C::PosixClass => ("a class `[:…:]`", &[PYTHON, JAVASCRIPT]),
        C::SetOperator => ("`[`, `&&` or `~~` in a set", &[RUST]),
        C::TextStart => (r"`\A`", &[JAVASCRIPT]),
        C::TextEnd => (r"`\Z` for the very end", &[JAVASCRIPT, PCRE, RE2, RUST]),
        C::SmallTextEnd => (r"`\z`", &[PYTHON, JAVASCRIPT]),
        C::Dollar => (
            "`$` before a newline that ends the text",
            &[JAVASCRIPT, RE2, RUST],
        ),
        C::WordEdge => (r"`\m` or `\M`", &[PYTHON, JAVASCRIPT, PCRE, RE2, RUST]),
        C::LineBreak => (r"`\R`", &[PYTHON, JAVASCRIPT, RE2, RUST]),
        C::Blank => (r"`\h`", &[PYTHON, JAVASCRIPT, RE2, RUST]),
        C::ShortCodePoint => (r"`\u0000`", &[PCRE, RE2]),
        C::LongCodePoint => (r"`\U00000000`", &[JAVASCRIPT, PCRE, RE2]),
        C::Octal => ("a character by its octal number", &[JAVASCRIPT, RUST]),
        C::LiteralBrace => ("`{` without a backslash", &[JAVASCRIPT, RUST]),
        C::EscapedAngle => (r"`\<` or `\>`", &[JAVASCRIPT, RUST]),
        C::NeedlessEscape => ("a backslash before what needs none", &[JAVASCRIPT]),
    }
}

pub(super) fn check(subject: &Subject<'_>, complaints: &mut Complaints) {
    for site in subject.sites() {
        let mut found: Vec<(Construct, usize)> = Vec::new();
        for (construct, offset) in constructs(site.spelling.unwrap_or_default()) {
            if !found.iter().any(|(known, _)| *known == construct) {
                found.push((construct, offset));
            }
        }
        if found.is_empty() {
            continue;
        }
        let parts = found.iter().map(|&(construct, offset)| {
            let (name, engines) = lacking(construct);
            let engines: Vec<String> = engines.iter().map(|&engine| engine.to_owned()).collect();
            format!(
                "{name} at byte {offset} (not in {})",
                listed(&engines, "and")
            )
        });
        complaints.add(
            Lint::NotPortable,
            &site.pointer,
            format!("not all engines have what is in the pattern: {}", listed(&parts.collect::<Vec<_>>(), "and")),
            "write it with what all engines have, or allow this if those that lack it need not read \
             the template",
        );
    }
}
