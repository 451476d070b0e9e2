use super::*;

fn class(pattern: &str) -> ClassUnicode {
    match parse(pattern).unwrap().node {
        Node::Class(class) => class,
        node => panic!("{pattern}: {node:?}"),
    }
}

fn node(pattern: &str) -> Node {
    parse(pattern).unwrap().node
}

fn repeat(pattern: &str, min: u32, max: Option<u32>, greed: Greed) -> Node {
    let node = Box::new(node(pattern));
    Node::Repeat {
        node,
        min,
        max,
        greed,
    }
}

/// Each pattern, what it matches out of some characters, and these characters.
#[test]
fn classes() {
    let table = [
        ("a", "a", "aAb"),
        ("(?i)a", "aA", "aAb"),
        ("(?i)k", "kK\u{212a}", "kK\u{212a}"),
        ("(?ai)k", "kK", "kK\u{212a}"),
        ("(?ai)é", "é", "éÉ"),
        ("(?i)i", "iIİ", "iIİı"),
        ("(?i)I", "iIı", "iIİı"),
        ("(?i)İ", "iİ", "iIİı"),
        ("(?i)[ı]", "Iı", "iIİı"),
        ("(?i)[h-j]", "iIİ", "iIİı"),
        ("(?i)[^a-k]", "x", "kK\u{212a}x"),
        (".", "a\n", "a\n"),
        ("(?-s).", "a\r", "a\n\r"),
        (r"\N", "N", "aN\n"),
        (r"\101", "A", "A1"),
        (r"\777", "\u{1ff}", "A\u{1ff}"),
        (r"\x41", "A", "Ax"),
        (r"\u0041", "A", "Au"),
        (r"\U00000041", "A", "AU"),
        (r"\ud800", "", "d8"),
        (r"[a-\ud800]", "b\u{d7ff}", "b\u{d7ff}\u{e000}"),
        (r"[\b]", "\u{8}", "b\u{8}"),
        (r"\h", " \t\u{a0}", " \t\u{a0}\n"),
        (r"\pL", "pL", "pL1"),
        (r"\p", "p", "pL1"),
        (r"\P", "P", "pP"),
        (r"\p{^Lu}", "a1", "aA1"),
        (r"\P{^Lu}", "A", "aA1"),
        (r"\p{L&}", "aAª", "aAª1"),
        (r"\p{IsGreek}", "α", "aα"),
        (r"\p{Script=Greek}", "α", "aα"),
        (r"\p{Upper=No}", "a1", "aA1"),
        (r"(?i)\p{Lu}", "aAǅ", "aAǅⅠª1"),
        (r"(?i)\p{Upper}", "aAǅⅠª", "aAǅⅠª1"),
        (r"(?i)\P{Lu}", "ª1", "aAª1"),
        (r"(?ai)\p{Lu}", "A", "aAÉ"),
        (r"(?a)\P{L}", "é1", "aé1"),
        (r"(?a)\w", "a", "aé"),
        (r"(?a)[^\w]", "é", "aé"),
        (r"(?a:\w)", "a", "aé"),
        (r"(?a:(?:\w))", "aé", "aé"),
        (r"(?a:(\w))", "a", "aé"),
        (r"(?a:[[:alpha:]])", "aé", "aé"),
        (r"\w(?a)", "a", "aé"),
        (r"(?a)(?u:\w)", "aé", "aé"),
        ("[[a]", "[a", "[a]:"),
        ("[]a]", "]a", "[a]"),
        ("[^]a]", "b", "ab]"),
        (r"[\w-z]", "az-", "az-!"),
        (r"[a-\d]", "a1-", "ab1-"),
        ("[a-]", "a-", "ab-"),
        ("[--a]", "-/_a", "-/_ab"),
        ("[a&&b]", "ab&", "abc&"),
        ("[[:alpha:]1]", "aé1", "aé12:"),
        ("[[:^alpha:]]", "1", "aé1"),
        ("[[:digit:]]", "1", "1٣"),
        (r"\p{digit}", "1٣", "1٣"),
        ("[[:alpha]", "[:alph", "[:alph]"),
        ("[[:punct:]]", "!$", "!$a"),
        ("(?x)[ a]", " a", " ab"),
        (r"(?x) \x 4 1 # comment", "A", "A4"),
        // Where case is ignored, a set holds what has a case that one of its members holds.
        (r"(?i)\p{Greek}", "μ", "μµx"),
        (r"(?i)[\p{Greek}]", "μ", "μµx"),
        (r"(?i)[\p{Greek}x]", "μµxX", "μµxXy"),
        (r"(?i)[^\p{Greek}x]", "y", "μµxXy"),
        (r"(?i)[\p{Lu}x]", "aAxX", "aAxXªǰ"),
        (r"(?i)[\P{Lu}1]", "ªǰ1", "aAªǰ1"),
        (r"(?ai)[\p{Lu}1]", "aA1", "aAéÉ1"),
        // Single characters that are alternatives are a set.
        (r"(?i)\p{Greek}|x", "μµxX", "μµxXy"),
        (r"(?i)(?:\p{Greek})|x", "μµxX", "μµxXy"),
        (r"(?ai)b|\p{Lu}", "aAbB", "aAbBéÉ"),
        (r"(?ai)[^b]|\P{Lu}", "aAcC1éÉ", "aAcC1bBéÉ"),
    ];
    for (pattern, expected, candidates) in table {
        let class = class(pattern);
        let is_in = |c: &char| class.iter().any(|r| r.start() <= *c && *c <= r.end());
        let found: String = candidates.chars().filter(is_in).collect();
        let sorted = |text: &str| {
            let mut all: Vec<char> = text.chars().collect();
            all.sort();
            all
        };
        assert_eq!(sorted(&found), sorted(expected), "{pattern}");
    }
}

#[test]
fn quantifiers() {
    let table = [
        ("a*", 0, None, Greed::Greedy),
        ("a+?", 1, None, Greed::Lazy),
        ("a?+", 0, Some(1), Greed::Possessive),
        ("a{2}", 2, Some(2), Greed::Greedy),
        ("a{2,}", 2, None, Greed::Greedy),
        ("a{,3}+", 0, Some(3), Greed::Possessive),
        ("a{2,3}?", 2, Some(3), Greed::Lazy),
        ("a{,}", 0, None, Greed::Greedy),
        ("a(?i)*", 0, None, Greed::Greedy),
        ("a(?#comment)+", 1, None, Greed::Greedy),
        ("(?x)a { 1 2 } #\n+", 12, Some(12), Greed::Possessive),
    ];
    for (pattern, min, max, greed) in table {
        assert_eq!(node(pattern), repeat("a", min, max, greed), "{pattern}");
    }
}

/// Patterns that mean the same.
#[test]
fn equals() {
    let table = [
        // Only single characters beside each other become a set, and only all with case or all without.
        (r"(?i)\p{Greek}|yy|x", r"(?i)(?:\p{Greek})|yy|(?:x)"),
        (r"(?i)\p{Greek}|[a-c]", r"(?i)[\p{Greek}]|(?:[a-c])"),
        (r"(?i)\p{Greek}|(?-i:x)", r"(?i:\p{Greek})|x"),
        ("a{}", r"a\{\}"),
        ("a{2", r"a\{2"),
        ("{a}", r"\{a\}"),
        ("a{x,3}", r"a\{x,3\}"),
        ("a{ 2 }", r"a\{ 2 \}"),
        ("a{1s}", r"a\{1s\}"),
        (r"\p{L", r"p\{L"),
        (r"\p{a/b}", r"p\{a/b\}"),
        (r"\g<a b>", "g<a b>"),
        (r"\N{a_}", r"N\{a_\}"),
        (r"\0000", r"\x000"),
        (r"\08", r"\x008"),
        (r"\1000", "@0"),
        ("[a-]b]", r"[a\-]b\]"),
        (r"(?x) a b # c", "ab"),
        ("a b(?x) c d", "a bcd"),
        ("(?:(?x) a ) b", "a b"),
        ("(?x)(?-x: a)", " a"),
        ("a(?i)b|c", "a[bB]|[cC]"),
        ("(a(?i)b)c", "(?:a[bB])c"),
        ("(?i)a(?-i:b)", "[aA]b"),
        ("(?V0)(?u)()", ""),
        ("(?#a)b", "b"),
        (r"\R", r"(?>\r\n|[\n-\r\x85\u2028\u2029])"),
        ("(?<n>a)", "(?P<n>a)"),
        ("|a", "(?:)|a"),
        (r"\Z", r"\z"),
        (r"(?m:^)^", r"(?m)^(?-m)^"),
    ];
    for (left, right) in table {
        assert_eq!(node(left), node(right), "{left}");
    }
}

#[test]
fn looks() {
    let table = [
        ("^", Look::TextStart),
        (r"\A", Look::TextStart),
        ("$", Look::TextEndOrFinalNewline),
        (r"\Z", Look::TextEnd),
        ("(?m)^", Look::LineStart),
        ("(?m)$", Look::LineEnd),
        (r"\b", Look::WordBoundary),
        (r"\B", Look::NotWordBoundary),
        (r"\m", Look::WordStart),
        (r"\M", Look::WordEnd),
    ];
    for (pattern, look) in table {
        assert_eq!(node(pattern), Node::Look(look), "{pattern}");
    }
    for (pattern, ascii) in [
        (r"\b", false),
        (r"(?a)\b", true),
        (r"\b(?a)", true),
        (r"(?a:\b)", true),
        (r"(?a:\m)", false),
        (r"(?a)(?u:\b)", false),
    ] {
        assert_eq!(parse(pattern).unwrap().ascii, ascii, "{pattern}");
    }
}

#[test]
fn groups() {
    let syntax = parse("(?P<b>(?<é_1>x))|(?<b>y)(z)").unwrap();
    assert_eq!(syntax.groups, ["b", "é_1"]);
    let around = |behind, negate| Node::Around {
        behind,
        negate,
        node: Box::new(node("a")),
    };
    assert_eq!(node("(?=a)"), around(false, false));
    assert_eq!(node("(?!a)"), around(false, true));
    assert_eq!(node("(?<=a)"), around(true, false));
    assert_eq!(node("(?<!a)"), around(true, true));
    assert_eq!(node("(?>a)"), Node::Atomic(Box::new(node("a"))));
}

#[test]
fn refusals() {
    let table = [
        ("a**", 2, "repetition of a repetition"),
        ("a*(?i)?", 6, "repetition of a repetition"),
        ("a{1,2}{3}", 6, "repetition of a repetition"),
        ("*", 0, "nothing to repeat"),
        ("(?i)*", 4, "nothing to repeat"),
        ("a|{2}", 2, "nothing to repeat"),
        ("a{3,2}", 1, "minimum above"),
        ("a{10001}", 1, "repeat count"),
        ("a{99999999999999999999}", 1, "repeat count"),
        ("éa{e<=1}", 3, "fuzzy"),
        ("a{e<=1", 1, "fuzzy"),
        ("(a", 0, "without its `)`"),
        ("é)", 2, "unbalanced"),
        ("[a", 0, "without its `]`"),
        ("[]", 0, "without its `]`"),
        ("[z-a]", 1, "range"),
        (r"[a\R]", 2, "escape"),
        (r"[\8]", 1, "escape"),
        (r"\y", 0, "escape"),
        ("\\", 0, "backslash"),
        (r"\x4", 0, "2 hexadecimal"),
        (r"\U00110000", 0, "10FFFF"),
        (r"(a)\2", 3, "group `2`, which is not closed"),
        (r"(a\1)", 2, "group `1`, which is not closed"),
        (r"(?P<n>a(?P=n))", 7, "group `n`, which is not closed"),
        (
            r"(?P<n>a)(?P<n>b(?P=n))",
            15,
            "group `n`, which is not closed",
        ),
        (r"\1(a)", 0, "group `1`, which is not closed"),
        (r"(?<n>a)\g<m>", 7, "group `m`, which is not closed"),
        ("(?P=n)", 0, "group `n`, which is not closed"),
        ("(?P=n", 0, "a reference without its `)`"),
        (r"(?i)(a)\1", 7, "where case is ignored"),
        (r"(a)(?<=\1)", 3, "within a lookbehind"),
        ("(?R)", 0, "recursive"),
        ("(?1)", 0, "recursive"),
        ("(?-1)", 0, "recursive"),
        ("(?&n)", 0, "recursive"),
        ("(?P>n)", 0, "recursive"),
        ("(?(1)a|b)", 0, "conditional"),
        ("(?|a)", 0, "branch reset"),
        (r"\L<a>", 0, "named list"),
        (r"\G", 0, r"\G"),
        (r"\K", 0, r"\K"),
        (r"\X", 0, r"\X"),
        (r"\N{DIGIT ONE}", 0, "named character"),
        ("(*FAIL)", 0, "verb"),
        ("(?V1)", 2, "V1"),
        ("(?r)", 2, "backwards"),
        ("(?e)", 2, "fuzzy"),
        ("(?b)", 2, "fuzzy"),
        ("(?p)", 2, "longest"),
        ("(?L)", 2, "locale"),
        ("(?w)", 2, "boundaries"),
        ("(?f)", 2, "folding"),
        ("(?i-)", 0, "no flags"),
        ("(?i-i)", 0, "on and off"),
        ("(?q)", 0, "unknown group"),
        ("(?", 0, "ends after"),
        ("(?au)", 0, "exclude"),
        ("(?<1>a)", 0, "group name"),
        ("(?P<n", 0, "group name"),
        ("(?#", 0, "comment"),
        (r"\p{foo}", 0, "property `foo`"),
        (r"[\p{sc=foo}]", 1, "property `sc=foo`"),
        (r"\p{IsLu}", 0, "property"),
        (r"\p{InGreek}", 0, "property"),
        (r"\p{Lu&}", 0, "property"),
        (r"\p{IsLetter}", 0, "property"),
        ("[[:foo:]]", 1, "property"),
        (r"\b(?a:\b)", 6, "word boundaries"),
    ];
    for (pattern, offset, message) in table {
        let error = parse(pattern).unwrap_err();
        assert_eq!(error.offset, offset, "{pattern}: {error}");
        assert!(error.to_string().contains(message), "{pattern}: {error}");
    }
}

#[test]
fn nesting() {
    let nested = |depth| "(".repeat(depth) + &")".repeat(depth);
    assert!(parse(&nested(NESTING_LIMIT)).is_ok());
    assert!(parse(&nested(NESTING_LIMIT + 1)).is_err());
    assert!(parse(&"(".repeat(1_000_000)).is_err());
    assert!(parse(&"[".repeat(1_000_000)).is_err());
}

#[test]
#[cfg(feature = "internals")]
fn what_other_engines_lack_is_noted_with_its_place() {
    use super::Construct::*;
    for (pattern, expected) in [
        (r"<a>\s*(?P<n>[^>]+)</a>.*?\d{2,3}", &[][..]),
        ("a(?=b)(?!c)", &[(Lookahead, 1), (Lookahead, 6)]),
        ("(?<=ab|cd)", &[(Lookbehind, 0)]),
        (
            "(?<=a+)(?<!a|bc)",
            &[(VariableLookbehind, 0), (BranchedLookbehind, 7)],
        ),
        ("(?>a)b++", &[(Atomic, 0), (Possessive, 6)]),
        ("a{,3}b{1001}", &[(NoMinimum, 1), (LargeCount, 6)]),
        ("(?<n>a)|(?P<n>b)", &[(ShortNamedGroup, 0), (SharedName, 8)]),
        (
            r"(?P<n>a)(b)(?P=n)\2\101",
            &[(Backreference, 11), (Backreference, 17), (Octal, 19)],
        ),
        ("(?i)a(?s)b", &[(LeadingFlags, 0), (FlagsAmid, 5)]),
        (
            "(?x: a )(?a:b)(?:c)",
            &[
                (ScopedFlags, 0),
                (VerboseFlag, 0),
                (ScopedFlags, 8),
                (AsciiFlag, 8),
            ],
        ),
        ("é(?#note)", &[(Comment, 2)]),
        (r"\pL[\P{Lu}]", &[(Property, 0), (Property, 4)]),
        ("[[:alpha:]]", &[(PosixClass, 1)]),
        ("[a&&b[]", &[(SetOperator, 2), (SetOperator, 5)]),
        (
            r"\A$\Z\z",
            &[(TextStart, 0), (Dollar, 2), (TextEnd, 3), (SmallTextEnd, 5)],
        ),
        (
            r"\m\M\R\h",
            &[(WordEdge, 0), (WordEdge, 2), (LineBreak, 4), (Blank, 6)],
        ),
        (
            r"\u0041\U00000041\101[\1]",
            &[
                (ShortCodePoint, 0),
                (LongCodePoint, 6),
                (Octal, 16),
                (Octal, 21),
            ],
        ),
        ("(?a)b", &[(LeadingFlags, 0), (AsciiFlag, 0)]),
    ] {
        assert_eq!(super::constructs(pattern), expected, "{pattern}");
    }
}
