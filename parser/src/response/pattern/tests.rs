//! What both engines find, in texts that are whole and in texts that are still growing.
//!
//! Positions are written as `start..end` in bytes, and named groups behind their match.

use std::ops::ControlFlow;

use proptest::prelude::*;

use super::automaton::{Cache, Key};
use super::backtrack::Backtracker;
use super::*;

fn compiled(pattern: &str) -> Pattern {
    Pattern::new(pattern).unwrap_or_else(|error| panic!("{pattern:?}: {error}"))
}

fn written(pattern: &Pattern, start: usize, end: usize, bounds: &[usize]) -> String {
    let mut written = format!("{start}..{end}");
    for (index, name) in pattern.groups().iter().enumerate() {
        if let Some(range) = group(bounds, index)
            && !name.is_empty()
        {
            written.push_str(&format!(" {name}={}..{}", range.start, range.end));
        }
    }
    written
}

/// All matches in a text that is complete.
fn matches(pattern: &str, text: &str) -> Result<String, TooCostly> {
    let pattern = compiled(pattern);
    let mut found = Vec::new();
    pattern.for_each_match(text, |m| {
        found.push(written(&pattern, m.start, m.end, m.groups));
        ControlFlow::Continue(())
    })?;
    Ok(found.join(", "))
}

/// A match that may begin where the text ends is none that any text is held back for: the two
/// engines need not agree on it.
fn settled(verdict: Verdict, end: usize) -> Verdict {
    match verdict {
        Verdict::Partial { start } if start == end => Verdict::Nothing,
        other => other,
    }
}

/// A verdict as the tables have it: a match, the open end of a partial one, or a dash.
fn shown(verdict: Verdict) -> String {
    match verdict {
        Verdict::Found { start, end } => format!("{start}..{end}"),
        Verdict::Partial { start } => format!("{start}.."),
        Verdict::Nothing => "-".into(),
    }
}

#[test]
fn finds_what_the_reference_finds() {
    let mut wrong = Vec::new();
    for &(pattern, text, expected) in WHOLE {
        let actual = matches(pattern, text);
        if actual.as_deref() != Ok(expected) {
            wrong.push(format!(
                "{pattern:?} in {text:?}: {actual:?}, not {expected:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const WHOLE: &[(&str, &str, &str)] = &[
    (
        r#"(?P<x>a+)(?P=x)"#,
        "aaaaaxaab",
        "0..4 x=0..2, 6..8 x=6..7",
    ),
    (r#"(a|b)\1"#, "abba", "1..3"),
    (
        r#"(?P<k>\w+)=(?P=k)"#,
        "a=a ab=ab a=b bab=ab",
        "0..3 k=0..1, 4..9 k=4..6, 15..20 k=15..17",
    ),
    (
        r#"<(?P<key>\w+)>(?P<value>.*?)</(?P=key)>"#,
        "<a>1</b></a><b><a>2</a></b><c>3",
        "0..12 key=1..2 value=3..8, 12..27 key=13..14 value=15..23",
    ),
    (
        r#"<(\w+)>(?P<v>.*?)</\1>"#,
        "<a>1</a><é>2</é>",
        "0..8 v=3..4, 8..18 v=12..13",
    ),
    (r#"(a)(?P<y>b)\2\1"#, "abba abab", "0..4 y=1..2"),
    (r#"(?:(?P<x>a)|b)(?P=x)"#, "aabab", "0..2 x=0..1"),
    (
        r#"(?P<x>a*)b(?P=x)c"#,
        "aabaac abc bc",
        "0..6 x=0..2, 8..10 x=8..8, 11..13 x=11..11",
    ),
    (r#"(?:(?P<x>a|b)(?P=x))+"#, "aabbab", "0..4 x=2..3"),
    (r#"(?P<x>a*)*(?P=x)"#, "aaa", "0..3 x=3..3, 3..3 x=3..3"),
    (r#"(?=(?P<x>a+))a(?P=x)"#, "aaab", ""),
    (r#"(?>(?P<x>a+?))(?P=x)b"#, "aab", "0..3 x=0..1"),
    (
        r#"(?P<q>['\"]).*?(?P=q)"#,
        "'a\"b' \"c'd\"",
        "0..5 q=0..1, 6..11 q=6..7",
    ),
    (r#"(?P<x>ab)\g<x>\g<1>"#, "ababab", "0..6 x=0..2"),
    (
        r#"(?P<x>.)(?P<y>.)(?P=y)(?P=x)"#,
        "abba cddc",
        "0..4 x=0..1 y=1..2, 5..9 x=5..6 y=6..7",
    ),
    (
        r#"(?P<n>a)|(?P<n>b)(?P=n)"#,
        "abb",
        "0..1 n=0..1, 1..3 n=1..2",
    ),
    (
        r#"(?P<x>a)(?i:b)(?P=x)"#,
        "aBa aba",
        "0..3 x=0..1, 4..7 x=4..5",
    ),
    (r#"(?P<x>\w)(?!(?P=x))."#, "aab", "1..3 x=1..2"),
    (
        r#"(?:(?P<x>a|ab)(?P<y>c|bcd)(?P=y))"#,
        "abcdbcd acc",
        "0..7 x=0..1 y=1..4, 8..11 x=8..9 y=9..10",
    ),
    (r#"((a)b)\2\1"#, "abaab", "0..5"),
    (r#"(?P<x>a+)b(?P=x)+$"#, "aabaaaa\n", "0..7 x=0..2"),
    ("abc", "xabcabc", "1..4, 4..7"),
    ("a", "bbb", ""),
    ("", "", "0..0"),
    ("", "aé", "0..0, 1..1, 3..3"),
    ("a*", "baac", "0..0, 1..3, 3..3, 4..4"),
    ("a+?", "aaa", "0..1, 1..2, 2..3"),
    ("(?P<x>a*?)b", "aab", "0..3 x=0..2"),
    ("a|ab|abc", "abc", "0..1"),
    ("abc|ab|a", "abab", "0..2, 2..4"),
    ("(?:a|ab)(?:c|bcd)", "abcd", "0..4"),
    ("(?P<x>a|ab)(?P<y>c|bcd)", "abcd", "0..4 x=0..1 y=1..4"),
    ("(?P<x>a+)(?P<y>a*)", "aaa", "0..3 x=0..3 y=3..3"),
    ("(?P<x>a+?)(?P<y>a*)", "aaa", "0..3 x=0..1 y=1..3"),
    ("(?:(?P<x>a)|b)+", "abab", "0..4 x=2..3"),
    ("(?:(?P<x>a)|(?P<y>b))+", "ab", "0..2 x=0..1 y=1..2"),
    (
        "(?P<o>x(?P<i>y(?P<j>z)?))+",
        "xyxyz",
        "0..5 o=2..5 i=3..5 j=4..5",
    ),
    ("a{2}", "aaaaa", "0..2, 2..4"),
    ("a{2,3}", "aaaaaaa", "0..3, 3..6"),
    ("a{2,}?", "aaaaa", "0..2, 2..4"),
    ("a{0,2}b", "aaab", "1..4"),
    ("a{,2}b", "aaab", "1..4"),
    ("(?:ab){2,3}", "abababab", "0..6"),
    (
        r"(?P<k>\w+)=(?P<v>\w*)",
        "a=1 bé=日 c=",
        "0..3 k=0..1 v=2..3, 4..11 k=4..7 v=8..11, 12..14 k=12..13 v=14..14",
    ),
    (r"\d+", "a1٤b22", "1..4, 5..7"),
    (r"\w+", "été 日本-x_1", "0..5, 6..12, 13..16"),
    (r"\W+", "é-日 ", "2..3, 6..7"),
    (r"\s+", "a \u{a0}\u{2003}b\u{1f}", "1..7"),
    (".", "é\n", "0..2, 2..3"),
    ("(?-s:.+)", "ab\ncd", "0..2, 3..5"),
    ("[^a]", "ab\né", "1..2, 2..3, 3..5"),
    ("[a-cé]+", "xabéd", "1..5"),
    ("[]a]+", "x]a", "1..3"),
    ("[^]a]", "]ab", "2..3"),
    ("(?i)straße", "STRASSE Straße STRAẞE", "8..15, 16..24"),
    ("(?i)ÉTÉ", "été Été", "0..5, 6..11"),
    ("(?i)k", "kK\u{212a}", "0..1, 1..2, 2..5"),
    ("(?i)s", "sS\u{17f}", "0..1, 1..2, 2..4"),
    ("(?i)σ", "σςΣ", "0..2, 2..4, 4..6"),
    ("(?i)[a-c]+", "xAbC", "1..4"),
    ("(?i:a)b", "Ab AB", "0..2"),
    ("(?i)(?-i:a)b", "aB AB", "0..2"),
    ("^a", "aa\na", "0..1"),
    ("(?m)^a", "aa\na", "0..1, 3..4"),
    ("a$", "a\na\n", "2..3"),
    ("(?m)a$", "a\na\n", "0..1, 2..3"),
    ("$", "a\n", "1..1, 2..2"),
    ("$", "a", "1..1"),
    ("(?m)$", "a\n\nb", "1..1, 2..2, 4..4"),
    (r"\Z", "a\n", "2..2"),
    (r"\A", "ab", "0..0"),
    (r"a\Z", "a\na", "2..3"),
    ("(?P<x>a)$", "a\n", "0..1 x=0..1"),
    ("(?P<x>a$)", "a\n", "0..1 x=0..1"),
    (r"(?P<x>a$)\n", "a\n", "0..2 x=0..1"),
    (r"a$\n?", "a\n", "0..2"),
    (r"a$(?P<n>\n)", "a\n", "0..2 n=1..2"),
    (r"\n?$", "a\n\n", "1..2, 2..3, 3..3"),
    ("(?:a|$)+", "aa\n", "0..2, 2..2, 3..3"),
    (r"\b", "ab cd", "0..0, 2..2, 3..3, 5..5"),
    (r"\ba", "a ba a", "0..1, 5..6"),
    (r"a\b", "ab a", "3..4"),
    (r"\Ba\B", "bab a", "1..2"),
    (r"\B", "ab ", "1..1, 3..3"),
    (r"\bé", "é aé", "0..2"),
    ("(?:)*a", "a", "0..1"),
    ("(?:a*)*b", "aab", "0..3"),
    ("(?:a*)+", "aa", "0..2, 2..2"),
    ("(?:a?){3}b", "aab", "0..3"),
    ("(?:|a)+b", "aab", "0..3"),
    ("(?:a|b)*?c", "abc", "0..3"),
    ("(?P<x>(?:a|b)*?)(?P<y>b?)c", "abbc", "0..4 x=0..2 y=2..3"),
    (
        "(?P<x>a)?(?P<y>b)?c",
        "bc ac c",
        "0..2 y=0..1, 3..5 x=3..4, 6..7",
    ),
    ("(?P<x>a?)*b", "aab", "0..3 x=2..2"),
    ("(?P<x>a*)*b", "aab", "0..3 x=2..2"),
    ("(?P<x>a|b)*(?P<y>b)", "abb", "0..3 x=1..2 y=2..3"),
    ("x*", "axb", "0..0, 1..2, 2..2, 3..3"),
    ("(?P<x>)a", "ba", "1..2 x=1..1"),
    ("a(?=b)", "aab", "1..2"),
    ("a(?!b)", "abaa", "2..3, 3..4"),
    ("(?=(?P<x>a+))a", "aab", "0..1 x=0..2, 1..2 x=1..2"),
    ("(?<=a)b", "abbb", "1..2"),
    ("(?<!a)b", "abbb", "2..3, 3..4"),
    ("(?<=(?P<x>a+))b", "aab", "2..3 x=0..2"),
    ("(?<=é|ab)c", "écabcc", "2..3, 5..6"),
    (r"(?<=^|,)\w", "ab,cd", "0..1, 3..4"),
    ("a++b", "aab", "0..3"),
    ("a++a", "aaa", ""),
    ("(?>a|ab)c", "abc ac", "4..6"),
    ("(?>(?P<x>a+))b", "aab", "0..3 x=0..2"),
    ("a?+a", "aa a", "0..2"),
    ("a*+b", "aab", "0..3"),
    ("a{1,2}+a", "aaa", "0..3"),
    (r"\R", "a\r\nb\n\r", "1..3, 4..5, 5..6"),
    (r"\R\n", "\r\n\n", "0..3"),
    ("(?:ab)+c", "abaababc", "3..8"),
    ("😀+", "x😀😀é😀", "1..9, 11..15"),
    (
        "(?P<x>😀)(?P<y>[^😀]*)",
        "😀日a😀",
        "0..8 x=0..4 y=4..8, 8..12 x=8..12 y=12..12",
    ),
    (r"\p{Lu}\p{Ll}*", "Éa bC", "0..3, 5..6"),
    ("(?P<n>a)|(?P<n>b)", "ab", "0..1 n=0..1, 1..2 n=1..2"),
    (r"x(?:\b|.)*", "xab cd", "0..3"),
    ("x(?:(?=b)|.)*", "xaab", "0..3"),
    ("x(?:|a)*", "xaa", "0..1"),
    ("x(?:a*?|b)*", "xab", "0..1"),
    (r"x(?:a|\b)*b?", "xaab", "0..4"),
    (r"\m\w", "ab cd", "0..1, 3..4"),
    (r"\w\M", "ab cd", "1..2, 4..5"),
    (r"(?ia)b|\p{Lu}", "aé-B", "0..1, 4..5"),
    (r"(?!b{2}\n)", "bb\n", "1..1, 2..2, 3..3"),
    (r"b\B", "bb日b", "0..1, 1..2"),
];

#[test]
fn tells_what_may_still_grow_after_each_chunk() {
    let mut wrong = Vec::new();
    for &(pattern, chunks, expected) in GROWING {
        let compiled = compiled(pattern);
        let mut search = compiled.search();
        search.start(&Window::whole(""), 0);
        let mut text = String::new();
        let mut verdicts = Vec::new();
        let mut meter = Meter::new(0);
        for chunk in chunks {
            text.push_str(chunk);
            let window = Window::whole(&text);
            search
                .advance(&compiled, &window, window.end(), &mut meter)
                .expect("it takes few steps");
            verdicts.push(
                match search.verdict(&compiled, &window, false, &mut meter) {
                    Ok(verdict) => shown(settled(verdict, window.end())),
                    Err(TooCostly) => "too costly".into(),
                },
            );
        }
        let actual = verdicts.join(", ");
        if actual != expected {
            wrong.push(format!(
                "{pattern:?} in {chunks:?}: {actual:?}, not {expected:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A pattern, chunks, and the verdict after each of them.
const GROWING: &[(&str, &[&str], &str)] = &[
    (
        "abc",
        &["x", "a", "b", "d", "abc", "z"],
        "-, 1.., 1.., -, 4..7, 4..7",
    ),
    ("abc", &["ab", "ab", "c"], "0.., 2.., 2..5"),
    (
        r"<(?P<k>\w+)>.*?</(?P=k)>",
        &["x<ab>c", "</a", "c></", "ab", ">"],
        "1.., 1.., 1.., 1.., 1..16",
    ),
    (r"(?P<k>\w)-(?P=k)", &["a-", "b", "-b"], "0.., 2.., 2..5"),
    ("aab", &["aa", "a", "b"], "0.., 1.., 1..4"),
    ("a+", &["a", "a", "b"], "0..1, 0..2, 0..2"),
    ("a+?", &["a", "a"], "0..1, 0..1"),
    ("ab*c", &["a", "bb", "d"], "0.., 0.., -"),
    ("abc|d", &["ab", "d"], "0.., 2..3"),
    ("abcd|c", &["a", "b", "c", "d"], "0.., 0.., 2..3, 0..4"),
    ("a(?:bc)?", &["a", "b", "c"], "0..1, 0..1, 0..3"),
    ("a(?:bc)?", &["ab", "c"], "0..1, 0..3"),
    ("(?:ab)+c", &["aba", "b", "ab", "c"], "0.., 0.., 0.., 0..7"),
    ("<[a-z]+>", &["<a", "<b", "!", "<c>"], "0.., 2.., -, 5..8"),
    ("a.*b", &["xa", "b", "c", "b"], "1.., 1..3, 1..3, 1..5"),
    ("a.*?b", &["xa", "b", "b"], "1.., 1..3, 1..3"),
    ("a{2,3}", &["a", "a", "a", "a"], "0.., 0..2, 0..3, 0..3"),
    ("a$", &["a", "\n", "\n"], "0..1, 0..1, -"),
    ("a$", &["a", "b"], "0..1, -"),
    (r"a\Z", &["a", "\n", "a"], "0..1, -, 2..3"),
    (r"(?!b{2}\n)", &["bb", "\n"], "0..0, 1..1"),
    (r"x(?!b{2}\n)c", &["xbb", "\n"], "0.., -"),
    (r"(?!b{2}\n)c", &["b", "b", "c"], "-, -, 2..3"),
    (r"^(?!b{2}\n)c", &["b"], "-"),
    (r"(?=b{2}\n)[bc]", &["c", "b"], "-, 1.."),
    (r"b\B", &["b", "日"], "-, 0..1"),
    ("$", &["a", "b"], "1..1, 2..2"),
    ("$", &["a\n", "b"], "1..1, 3..3"),
    (r"\Z", &["a", "b"], "1..1, 2..2"),
    ("x|$", &["a", "x"], "1..1, 1..2"),
    ("^a", &["b", "a"], "-, -"),
    ("^ab", &["a", "b"], "0.., 0..2"),
    ("(?m)^ab", &["b", "\n", "a", "b"], "-, -, 2.., 2..4"),
    (r"\bab\b", &["a", "b", "c", " ab"], "0.., 0..2, -, 4..6"),
    (r"\bab\b", &["x", "ab"], "-, -"),
    (r"a\Bb", &["a", "b"], "-, 0..2"),
    (r"a\B.", &["a", "b"], "-, 0..2"),
    (r"a\b.", &["a", "-"], "0.., 0..2"),
    ("a(?=b)", &["a", "b"], "0.., 0..1"),
    ("a(?=b)", &["a", "c"], "0.., -"),
    ("a(?!b)", &["a", "b"], "0..1, -"),
    ("a(?!b)", &["a", "c"], "0..1, 0..1"),
    ("(?=ab)a", &["a", "b"], "0.., 0..1"),
    ("(?<=a)b", &["a", "b"], "-, 1..2"),
    ("(?<=a)bc", &["a", "b", "c"], "-, 1.., 1..3"),
    ("(?<!a)bc", &["a", "b", "c", "b"], "-, -, -, 3.."),
    ("a++b", &["a", "a", "b"], "0.., 0.., 0..3"),
    (
        "(?>a|ab)c",
        &["a", "b", "c", "a", "c"],
        "0.., -, -, 3.., 3..5",
    ),
    ("a(?!.*b)c", &["a", "c"], "0.., 0..2"),
    ("é日", &["é", "日"], "0.., 0..5"),
    ("[é日]+x", &["é", "日", "x"], "0.., 0.., 0..6"),
    ("(?i)ab", &["A", "B"], "0.., 0..2"),
    ("(?:a|b)*?c", &["ab", "c"], "0.., 0..3"),
    ("a\n$", &["a", "\n", "\n"], "0.., 0..2, 0..2"),
    ("a$\n", &["a", "\n", "b"], "0.., 0..2, -"),
    (r"\s*</v>", &["x ", " ", "<", "/v>"], "1.., 1.., 1.., 1..7"),
    ("(?:a$|b)+c", &["a", "bc"], "0.., 1..3"),
    ("(?:)", &["a"], "0..0"),
    ("[^a]b", &["a", "c", "b"], "-, 1.., 1..3"),
    (r"\R", &["a", "\r", "\n"], "-, 1..2, 1..3"),
    ("a{3}|ab", &["aa", "b"], "0.., 1..3"),
    ("ab|b", &["a", "x", "b"], "0.., -, 2..3"),
];

/// Patterns that both engines can run.
const EITHER: &[&str] = &[
    "ab",
    "a|ab",
    "ab|a",
    "a*",
    "a*?",
    "a+b",
    "a+?b?",
    "(?P<x>a*)(?P<y>b*)",
    "(?P<x>a*?)(?P<y>b+?)",
    "(?P<x>a|ab)(?P<y>b|ba)?",
    "(?:(?P<x>a)|(?P<y>b))+",
    "(?:(?P<x>a)|b)*?b",
    "(?P<x>a?)*b",
    "(?P<x>a*)+b",
    "(?P<x>(?P<y>a)|b)*a",
    "(?:|a)+b",
    "(?:a|)+b",
    "(?:a*|b)*",
    "(?:a*?b?)*?b",
    "(?:a?b?)+?",
    "(?:(?P<x>a)?(?P<y>b)?)+",
    "(?:(?P<x>)|a)*b",
    "(?P<x>a?)+?b",
    "a{2}",
    "a{1,2}b{0,2}",
    "a{2,}?b",
    "(?:ab){1,2}",
    "(?:a?){2,3}b",
    "(?P<x>a{0,2}){2}",
    "(?:ab)+a",
    "(?:ab|b)+?a",
    ".",
    ".*b",
    ".*?b",
    "a.*?b.",
    "[^a]+",
    "(?-s:.*)",
    "^a",
    "^a*b",
    "a^b",
    "(?m)^a",
    "(?m)^(?P<x>a*)",
    "a$",
    "$",
    "a*$",
    "a|$",
    "(?P<x>a$)",
    "(?P<x>a$)(?P<y>.?)",
    "a$.b",
    "a$.?",
    "(?:a$|b)+",
    "(?:a|$)+",
    "(?:$|b)*",
    "(?:a$|a.)b?",
    "b$|a.*",
    r"b\n?$",
    r"\n$",
    r"\n*$",
    r"$\n",
    "(?m)a$",
    "(?m)a$.b",
    "(?m)(?:^|a)b?$",
    r"a\Z",
    r"\Z",
    r"a*\Z|b",
    r"\A(?:a|b)",
    r"\b",
    r"\ba",
    r"a\b",
    r"\bab?\b",
    r"\B",
    r"\Ba",
    r"a\B.",
    r"a\b.",
    r"(?:\b|a)+b",
    r"(?P<x>\b)?a",
    r"\m.",
    r".\M",
    r"\w+",
    r"\W\w",
    r"\s*b",
    "(?i)A(?-i:b)",
    "a(?=b)",
    "a+(?=b)",
    "a*(?=b*)",
    "a*?(?=ab?)",
    "(?=ab)",
    "(?=a*)",
    "(?P<x>a)(?=(?P<y>b+)a?)",
    "(?P<x>a(?=b))",
    "(?:a(?=b)|b)",
    "(?:ab|a(?=ba))?",
    "a(?=b(?=a))",
    "a(?!b)",
    "a+(?!b)",
    "(?P<x>a*)(?!ba)",
    "(?P<x>a(?!aab))",
    "a(?!.*?b)",
    "ab?(?!.*aba)",
    "(?-s:a(?!.*?b))",
    "a(?!.*b)",
    "a(?![ab]*?b)",
    "a(?![ab]*b)",
    "a(?!b*a)",
    "a(?!b*?a)",
    "a(?!b*b\\n)",
    "(?-s:a(?!.*b))",
    "(?-s:a(?!.*a\\n))",
    "(?=a(?!.*?bb))",
    "b|a(?!b)",
    "(?:a(?!b)|b)",
    "a(?=$)",
    r"a(?=\n?$)",
    r"\A(?=.*?b)",
    r"(?=\s*b)",
    "ab|(?<!b)(?=a)",
    "(?<=a)b",
    "(?<!a)b",
    "(?<=a)",
    "(?<!a)",
    "(?<=ab|b)a",
    "(?<!ab|aa)b*",
    "(?<=a*)b",
    "(?<=^a?)b",
    r"(?<!\A)a",
    r"(?<=\ba)b",
    "(?<=b.*?)a",
    "(?<=(?:a|b)*b)a",
    "a(?<=b.*)(?=b)",
    "a(?=b)(?<=b.*)",
    "a*(?=b+a?)(?<!b.*)(?<=a)",
    "(?<=a)(?<!ba)b",
    "(?:(?<=a)b|(?<=b)a)+",
    "(?:(?<=a)b|.)*?b",
    "a(?=b(?<=aab))",
];

/// All texts of up to this many characters of an alphabet, or rather those of just this length:
/// every prefix of each is looked at anyway.
fn texts(alphabet: &[char], length: usize) -> Vec<String> {
    let mut texts = vec![String::new()];
    for _ in 0..length {
        texts = texts
            .iter()
            .flat_map(|text| alphabet.iter().map(move |c| format!("{text}{c}")))
            .collect();
    }
    texts
}

/// Where both engines come to different verdicts on any prefix of the text, searched from a
/// position on; the automaton sees only what follows that position, and what it may look back at.
fn disagreement(
    pattern: &Pattern,
    program: &Program,
    (automaton, backtracker): (&mut Search, &mut Backtracker),
    text: &str,
    from: usize,
) -> Option<String> {
    let first = pattern.reach().before(from, 0);
    let first = text.floor_char_boundary(first);
    let window = |end: usize| Window {
        text: &text[first..end],
        base: first,
        before: text[..first].chars().next_back(),
    };
    let prefilter = Prefilter::new(program);
    automaton.start(&window(from), from);
    let ends = text[from..].char_indices().map(|(at, _)| from + at);
    for end in ends.chain([text.len()]) {
        let whole = Window::whole(&text[..end]);
        let expected = backtracker
            .search(program, &prefilter, &whole, from, true, &mut Meter::new(0))
            .ok()
            .map(|verdict| settled(verdict, end));
        automaton
            .advance(pattern, &window(end), end, &mut Meter::new(0))
            .ok()?;
        let actual = automaton
            .verdict(pattern, &window(end), false, &mut Meter::new(0))
            .ok()
            .map(|verdict| settled(verdict, end));
        let place = || format!("in {:?} from {from}", &text[..end]);
        if actual != expected {
            return Some(format!("{}: {actual:?}, not {expected:?}", place()));
        }
        let Some(Verdict::Found { start, end }) = actual else {
            continue;
        };
        let expected = written(pattern, start, end, backtracker.groups());
        let actual = written(pattern, start, end, automaton.groups(pattern));
        if actual != expected {
            return Some(format!("{}: {actual}, not {expected}", place()));
        }
    }
    None
}

#[test]
fn both_engines_agree_while_a_text_grows() {
    let mut texts = [texts(&['a', 'b', '\n'], 5), texts(&['a', 'b'], 7)].concat();
    texts.extend(["éaébé", "a b-a", "ab\r\nab", "日a本b", "😀\n😀\n"].map(String::from));
    let mut wrong = Vec::new();
    for &spelled in EITHER {
        let pattern = compiled(spelled);
        assert!(matches!(pattern.engine, Engine::Automaton(_)), "{spelled}");
        let syntax = syntax::parse(spelled).expect("it has been compiled before");
        let program = Program::for_backtracker(&syntax).expect("it has been compiled before");
        let mut automaton = pattern.search();
        let mut backtracker = Backtracker::default();
        let first = texts.iter().find_map(|text| {
            let second = text.chars().next().map_or(0, char::len_utf8);
            [0, second].into_iter().find_map(|from| {
                let engines = (&mut automaton, &mut backtracker);
                disagreement(&pattern, &program, engines, text, from)
            })
        });
        wrong.extend(first.map(|why| format!("{spelled:?} {why}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn long_runs_are_read_as_they_are_character_by_character() {
    let runs = ["a", "b", "é", "ab", "\n", "x", "x日"].map(|run| run.repeat(150));
    let ends = ["", "ab", "b\n", "é\nba", "日"];
    let texts = |run: &String| ends.map(|end| [format!("a{run}{end}"), format!("{run}{end}{run}")]);
    let texts: Vec<String> = runs.iter().flat_map(texts).flatten().collect();
    let loops = [
        "a.*?b",
        "a[^b]*",
        "(?P<x>a.*)(?=é)",
        "a(?:\\n|[^é])*é",
        "(?<=b.*?)a[^x]*x",
    ];
    for &spelled in EITHER.iter().chain(&loops) {
        let pattern = compiled(spelled);
        for text in &texts {
            let read = |ends: Vec<usize>| {
                let (mut search, mut meter) = (pattern.search(), Meter::new(0));
                let window = Window::whole(text);
                search.start(&window, 0);
                for end in ends {
                    let read = search.advance(&pattern, &window, end, &mut meter);
                    read.expect("texts are short");
                }
                let verdict = search.verdict(&pattern, &window, true, &mut meter);
                match verdict.expect("texts are short") {
                    Verdict::Found { start, end } => {
                        written(&pattern, start, end, search.groups(&pattern))
                    }
                    other => format!("{other:?}"),
                }
            };
            let each = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            assert_eq!(
                read(vec![text.len()]),
                read(each.collect()),
                "{spelled} in {text}"
            );
        }
    }
}

#[test]
fn a_search_passes_over_what_no_match_begins_with() {
    for (spelled, text, expected) in [
        ("</x>", "a < b <x</x>", 8),
        // Where blanks may come first, they are found before what follows them.
        (r"\s*</x>", "a b < c \n</x>", 7),
        (r"\s*</x>", "日—カナ\u{3000}b \u{a0}\u{3000}\n</x>", 16),
        (r"\s*</x>", "カナ\u{3000}", 6),
        (r"[ \n\u3000ナ]*</x>", "カナ\u{3000}</x>", 0),
        (r"\u3000*</x>", "a \u{3000}</x>", 2),
    ] {
        let found = compiled(spelled).prefilter().find(text, 0, text.len());
        assert_eq!(found, expected, "{spelled} in {text}");
    }
}

/// Patterns of any kind, with looks around them or without.
fn any_pattern(around: bool) -> impl Strategy<Value = String> {
    let pieces = [
        "a",
        "b",
        "c",
        ".",
        "日",
        "\\n",
        "[ab]",
        "[^a]",
        "[b\\p{Lu}]",
        "\\p{Lu}",
        "\\P{Ll}",
        "\\w",
        "\\W",
        "\\s",
        "\\b",
        "\\B",
        "\\m",
        "\\M",
        "^",
        "(?m:^)",
        "$",
        "(?m:$)",
        "\\A",
        "\\Z",
    ]
    .map(String::from)
    .to_vec();
    let repeats = ["*", "+", "?", "{2}", "{1,2}", "*?", "+?", "??"];
    let looks = ["(?=", "(?!", "(?<=", "(?<!", "(?>"];
    let body = prop::sample::select(pieces).prop_recursive(4, 12, 3, move |inner| {
        let several = prop::collection::vec(inner.clone(), 2..4);
        let plain = prop_oneof![
            3 => several.clone().prop_map(|all| all.concat()),
            2 => several.prop_map(|all| format!("(?:{})", all.join("|"))),
            2 => (inner.clone(), prop::sample::select(repeats.to_vec()))
                .prop_map(|(node, repeat)| format!("(?:{node}){repeat}")),
            1 => inner.clone().prop_map(|node| format!("(?P<x>{node})")),
        ];
        let looking = (prop::sample::select(looks.to_vec()), inner)
            .prop_map(|(look, node)| format!("{look}{node})"));
        match around {
            true => prop_oneof![2 => plain, 1 => looking].boxed(),
            false => plain.boxed(),
        }
    });
    let flags = prop::sample::select(vec!["", "", "(?i)", "(?a)", "(?ia)"]);
    (flags, body).prop_map(|(flags, body)| format!("{flags}{body}"))
}

/// Texts of few characters, in pieces.
fn pieces() -> impl Strategy<Value = Vec<String>> {
    let character =
        prop::sample::select(vec!['a', 'b', 'b', 'B', 'c', '\n', '日', '\u{3000}', '-']);
    let piece = prop::collection::vec(character, 0..4);
    prop::collection::vec(piece.prop_map(String::from_iter), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, max_global_rejects: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// The backtracker, which looks at all of the text anew, is what the automaton is held to.
    #[test]
    fn any_automaton_finds_what_backtracking_finds(
        spelled in any_pattern(false),
        text in pieces().prop_map(|pieces| pieces.concat()),
    ) {
        let Ok(pattern) = Pattern::new(&spelled) else { return Ok(()) };
        prop_assert!(matches!(pattern.engine, Engine::Automaton(_)));
        let program = Program::for_backtracker(&syntax::parse(&spelled).expect("it has been compiled before"));
        let program = program.expect("it has been compiled before");
        let engines = (&mut pattern.search(), &mut Backtracker::default());
        prop_assert_eq!(disagreement(&pattern, &program, engines, &text, 0), None);
    }

    /// So it is where they look around, as far as automata can.
    #[test]
    fn any_automaton_sees_around_what_backtracking_sees(
        spelled in any_pattern(true),
        text in pieces().prop_map(|pieces| pieces.concat()),
        from in 0_usize..4,
    ) {
        let Ok(pattern) = Pattern::new(&spelled) else { return Ok(()) };
        prop_assume!(matches!(pattern.engine, Engine::Automaton(_)));
        let program = Program::for_backtracker(&syntax::parse(&spelled).expect("it has been compiled before"));
        let program = program.expect("it has been compiled before");
        let engines = (&mut pattern.search(), &mut Backtracker::default());
        let from = text.floor_char_boundary(from.min(text.len()));
        prop_assert_eq!(disagreement(&pattern, &program, engines, &text, from), None);
    }

    /// A search that goes on from chunk to chunk comes to what a new one comes to.
    #[test]
    fn a_search_in_pieces_finds_what_a_new_one_finds(spelled in any_pattern(true), pieces in pieces()) {
        let Ok(pattern) = Pattern::new(&spelled) else { return Ok(()) };
        let mut search = pattern.search();
        let mut text = String::new();
        search.start(&Window::whole(""), 0);
        for piece in pieces {
            text.push_str(&piece);
            prop_assert_eq!(
                read_to_end(&mut search, &pattern, &text),
                {
                    let mut anew = pattern.search();
                    anew.start(&Window::whole(&text), 0);
                    read_to_end(&mut anew, &pattern, &text)
                },
                "{:?}", text
            );
        }
    }
}

/// What a search says of a text that may go on: its verdict, with groups.
fn read_to_end(search: &mut Search, pattern: &Pattern, text: &str) -> Option<String> {
    let window = Window::whole(text);
    let meter = &mut Meter::new(text.len());
    search.advance(pattern, &window, window.end(), meter).ok()?;
    let verdict = search.verdict(pattern, &window, false, meter).ok()?;
    Some(match verdict {
        Verdict::Found { start, end } => written(pattern, start, end, search.groups(pattern)),
        other => shown(settled(other, text.len())),
    })
}

/// Has an automaton with a state for every choice of places in the last twelve characters.
const MANY_STATES: &str = "(?P<head>(?:a|b)*)a(?P<tail>(?:a|b){12})c";

/// Letters without a pattern to them.
fn letters(length: usize) -> String {
    let mut state = 0x9e37_79b9_u32;
    let mut letter = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        if state & 64 == 0 { 'a' } else { 'b' }
    };
    (0..length).map(|_| letter()).collect()
}

#[test]
fn an_automaton_that_has_outgrown_its_cache_still_finds_the_right_thing() {
    let body = letters(12_000);
    let Engine::Automaton(automaton) = compiled(MANY_STATES).engine else {
        panic!("an automaton can run it");
    };
    let program = &automaton.program;
    let mut cache = Cache::default();
    let mut state = cache.intern(program, Key::idle(program.before(None)));
    let mut emptied = false;
    for c in body.chars() {
        let known = cache.states();
        let (_, step) = cache.step(program, state, program.alphabet.class_of(c));
        state = cache.target(step);
        emptied |= cache.states() < known;
    }
    assert!(emptied, "the text does not fill the cache");

    let pattern = compiled(MANY_STATES);
    let fits = format!("{body}a{}", "b".repeat(12));
    let head = body.len();
    for (text, expected) in [
        (fits.clone(), format!("{}..", 0)),
        (
            format!("{fits}c"),
            format!(
                "0..{} head=0..{head} tail={}..{}",
                head + 14,
                head + 1,
                head + 13
            ),
        ),
        (format!("{body}b{}c", "b".repeat(12)), "-".into()),
        (format!("{body}b{}c{fits}c", "b".repeat(12)), {
            let start = head + 14;
            let (end, tail) = (start + head + 14, start + head + 1);
            format!(
                "{start}..{end} head={start}..{} tail={tail}..{}",
                start + head,
                tail + 12
            )
        }),
    ] {
        let window = Window::whole(&text);
        let mut search = pattern.search();
        search.start(&window, 0);
        // Chunks of all lengths: a search may stop wherever the cache has just been emptied.
        let mut at = 0;
        let mut meter = Meter::new(100 * text.len());
        for length in (1..).take_while(|length| length * (length - 1) / 2 < text.len()) {
            at = text.len().min(at + length);
            search
                .advance(&pattern, &window, at, &mut meter)
                .expect("it takes few steps");
        }
        let verdict = search
            .verdict(&pattern, &window, false, &mut meter)
            .expect("it takes few steps");
        let actual = match verdict {
            Verdict::Found { start, end } => written(&pattern, start, end, search.groups(&pattern)),
            other => shown(other),
        };
        assert_eq!(actual, expected);
    }
}

#[test]
fn searches_that_are_given_back_begin_anew() {
    for spelled in ["(?P<x>a+)b", "(?P<x>a+)b(?=c)"] {
        let pattern = compiled(spelled);
        for (text, expected) in [
            ("aabc", "0..3"),
            ("xaa", "1.."),
            ("xxx", "-"),
            ("xabc", "1..3"),
            ("", "-"),
        ] {
            let window = Window::whole(text);
            let mut search = pattern.search();
            search.start(&window, 0);
            let mut meter = Meter::new(0);
            search
                .advance(&pattern, &window, window.end(), &mut meter)
                .expect("it takes few steps");
            let verdict = search
                .verdict(&pattern, &window, false, &mut meter)
                .map(|verdict| shown(settled(verdict, window.end())));
            assert_eq!(verdict.as_deref(), Ok(expected), "{spelled:?} in {text:?}");
            pattern.give_back(search);
        }
    }
}

#[test]
fn lookaround_that_would_explode_ends_in_too_many_steps() {
    // Each look ahead reads to the end of the text from every place that the one around it does.
    let exploding = "(?:(?=(?:(?=a*)a)*)a)*b";
    let text = "a".repeat(300);
    assert_eq!(matches(exploding, &text), Err(TooCostly));
    // What is noted as failed is forgotten with each text that the group may have.
    let exploding = "(?P<x>a*)(?P<y>a*)(?P<z>a*)b(?P=x)(?P=y)(?P=z)";
    assert_eq!(matches(exploding, &text.repeat(3)), Err(TooCostly));
    let exploding = "(?:(?=(?:(?=a*)a)*)a)*b";
    let pattern = compiled(exploding);
    let window = Window::whole(&text);
    let mut search = pattern.search();
    search.start(&window, 0);
    assert_eq!(
        search.verdict(&pattern, &window, false, &mut Meter::new(0)),
        Err(TooCostly)
    );
}

#[test]
fn nested_repeats_beside_lookaround_do_not_explode() {
    let text = "a".repeat(2_000);
    for pattern in [
        "(?:(?:a*)*)*b(?!c)",
        "(?:a|a)*(?:a|aa)*b(?=c)",
        "(?:a*a*a*)*+b",
    ] {
        assert_eq!(matches(pattern, &text).as_deref(), Ok(""), "{pattern}");
    }
}

#[test]
fn repeats_beside_references_are_tried_once_for_each_text_of_the_group() {
    let text = "a".repeat(200);
    assert_eq!(
        matches("(?P<x>a)(?:(?:a*)*)*b(?P=x)", &text).as_deref(),
        Ok("")
    );
    assert_eq!(matches("(?:(?P<x>a*)*)*b(?P=x)", &text), Err(TooCostly));
}
