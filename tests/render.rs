//! What templates render to, by the rows in `tests/render/*.json`.
//!
//! A row has a `template`, maybe `variables`, and the `text` that comes of it or `"error": true`.
//! What rows expect is what the transformers library does, except in `differences.json`, where
//! they say under `python` what it does there, and why we don't. `generated` has the ranges of
//! characters that `{% generation %}` encloses.

use proptest::prelude::*;

use jiff::civil::{DateTime, date};
use unjinja::chat_template::{ChatTemplate, RenderError, RenderInput, Rendering};
use unjinja::{Value, json};

use crate::root;

const KEYS: [&str; 6] = [
    "template",
    "variables",
    "text",
    "error",
    "generated",
    "python",
];

fn now() -> DateTime {
    date(2024, 3, 7).at(9, 5, 3, 42_000)
}

fn render(template: &str, variables: Option<&Value>) -> Result<Rendering, RenderError> {
    let variables = variables.and_then(Value::as_object).cloned();
    let input = RenderInput {
        variables: variables.unwrap_or_default(),
        now: Some(now()),
        ..RenderInput::default()
    };
    ChatTemplate::from_jinja(template).render(&input)
}

/// What is wrong with a row, if anything.
fn fault(row: &Value, is_difference: bool) -> Option<String> {
    let object = row.as_object()?;
    if let Some((key, _)) = object
        .iter()
        .find(|(key, _)| !KEYS.iter().any(|known| *key == *known))
    {
        return Some(format!("there is no key {key:?}"));
    }
    if row.get("python").is_some() != is_difference {
        return Some("`python` belongs into differences.json, and nowhere else".to_owned());
    }
    let template = row.get("template").and_then(Value::as_str)?;
    let expected = row.get("text").and_then(Value::as_str);
    match (render(template, row.get("variables")), expected) {
        (Err(_), None) => None,
        (Err(error), Some(expected)) => {
            Some(format!("expected {expected:?}, and it failed: {error}"))
        }
        (Ok(rendering), None) => Some(format!("expected an error, got {:?}", rendering.text)),
        (Ok(rendering), Some(expected)) if rendering.text != expected => Some(format!(
            "expected {expected:?}\n       got {:?}",
            rendering.text
        )),
        (Ok(rendering), _) => wrong_ranges(row.get("generated"), &rendering),
    }
}

fn wrong_ranges(expected: Option<&Value>, rendering: &Rendering) -> Option<String> {
    let expected = json::write(expected?);
    let ranges = rendering.generated.iter();
    let pairs = ranges.map(|range| {
        vec![
            Value::from(range.start as i64),
            Value::from(range.end as i64),
        ]
        .into()
    });
    let got = json::write(&pairs.collect::<Vec<Value>>().into());
    (expected != got).then(|| format!("expected the ranges {expected}, got {got}"))
}

#[test]
fn templates_render_to_what_the_rows_say() {
    let directory = root().join("tests/render");
    let (mut count, mut failures) = (0, Vec::new());
    for entry in std::fs::read_dir(&directory).expect("the rows are there") {
        let path = entry.expect("the directory can be read").path();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let text = std::fs::read_to_string(&path).expect("a file of rows can be read");
        let Ok(Value::Array(rows)) = json::read(&text) else {
            panic!("{file} holds no rows");
        };
        for row in &rows {
            count += 1;
            if let Some(fault) = fault(row, file == "differences.json") {
                let template = row.get("template").and_then(Value::as_str).unwrap_or("?");
                failures.push(format!("{file}: {template:?}\n  {fault}"));
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {count} rows differ\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Templates that would take all the memory or all the time, if they were let.
const EXPLODING: &[&str] = &[
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
    "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(40) }}",
    "{% set a = [[1]] %}{% for x in a recursive %}{{ loop(a) }}{% endfor %}",
    "{% set ns = namespace(s='a') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
    "{% set ns = namespace(s='a') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
    "{% set ns = namespace(s='a') %}{% for i in range(99) %}{% set ns.s = ns.s * 9 %}{% endfor %}",
    "{% set ns = namespace(s='a') %}{% for i in range(99) %}{% set ns.s = ns.s.replace('a', 'aa') %}{% endfor %}",
    "{% set ns = namespace(s='a') %}{% for i in range(99) %}{% set ns.s = ns.s|replace('a', 'aa') %}{% endfor %}",
    "{% set ns = namespace(s='a') %}{% for i in range(99) %}{% set ns.s = ns.s|replace('', 'b') %}{% endfor %}",
    "{% set ns = namespace(s='a') %}{% for i in range(99) %}{% set ns.s = [ns.s, ns.s]|join %}{% endfor %}",
    "{% set ns = namespace(s='a') %}{% for i in range(99) %}{% set ns.s = ns.s.join([ns.s, ns.s]) %}{% endfor %}",
    "{% set ns = namespace(s='a') %}{% for i in range(99) %}{% set ns.s = '%s%s' % (ns.s, ns.s) %}{% endfor %}",
    "{% set ns = namespace(s='a') %}{% for i in range(99) %}{% set ns.s = '{}{}'.format(ns.s, ns.s) %}{% endfor %}",
    "{% set ns = namespace(s='<') %}{% for i in range(99) %}{% set ns.s = ns.s|string|e|string|forceescape %}{% endfor %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
    "{% set ns = namespace(s='a') %}{% for i in range(99) %}{% set ns.s %}{{ ns.s }}{{ ns.s }}{% endset %}{% endfor %}",
    "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
    "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = ns.l * 9 %}{% endfor %}",
    "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}",
    "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l|tojson }}",
    "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l ~ '' }}",
    "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l|pprint }}",
    "{% set ns = namespace(d={}) %}{% for i in range(99) %}{% set ns.d = dict(a=ns.d, b=ns.d) %}{% endfor %}{{ ns.d }}",
    "{% set l = [] %}{% for i in range(999) %}{% set _ = l.extend(l + [1]) %}{% endfor %}",
    "{% set a = namespace(l=[1]) %}{% set b = namespace(l=[1]) %}{% for i in range(99) %}{% set a.l = [a.l, a.l] %}{% set b.l = [b.l, b.l] %}{% endfor %}{{ a.l == b.l }}",
    "{% set a = namespace(l=[1]) %}{% set b = namespace(l=[1]) %}{% for i in range(90) %}{% set a.l = [a.l, a.l] %}{% set b.l = [b.l, b.l] %}{% endfor %}{{ a.l in [b.l] }}{{ a.l < b.l }}",
    "{{ '{:99999999}{0}'.format('a') }}",
    "{{ ('{0}' * 999999).format('a' * 999999) }}",
    "{{ ('%s' * 999999) % (['a' * 999999] * 999999) }}",
    "{{ 'a' * 99999999 }}{{ 'a' * 99999999 }}{{ 'a' * 99999999 }}{{ 'a' * 99999999 }}",
    "{{ [1] * 99999999 }}{{ ([1] * 99999999)|length }}",
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{% for a in range(99999) %}{% set x = range(99999) %}{% endfor %}",
    "{% for a in range(99999) %}{% set x = range(99999)|list|sort|sum %}{% endfor %}",
    "{{ 'a'|center(9999999999) }}",
    "{{ 'a'.rjust(9999999999) }}{{ 'a'.zfill(9999999999) }}",
    "{{ 'a'|indent(9999999999, true) }}",
    "{{ '%9999999999d' % 1 }}",
    "{{ '{:>9999999999}'.format(1) }}",
    "{{ messages|tojson(indent=9999999999) }}",
    "{{ range(9999999999) }}",
    "{{ range(7)|slice(9999999999) }}{{ range(7)|batch(9999999999, 1) }}",
];

#[test]
fn templates_that_explode_end_in_an_error() {
    let reasons = [
        "more than",
        "takes longer",
        "recursion limit",
        "too large",
        "up to",
        "at most",
        "too deeply",
    ];
    for template in EXPLODING {
        let error = render(template, None).expect_err(template);
        let is_known = reasons
            .iter()
            .any(|reason| error.message().contains(reason));
        assert!(is_known, "{template}: {error}");
    }
}

#[test]
fn deep_nesting_is_refused_or_rendered() {
    let wraps = [
        ("{{ ", "(", "1", ")", " }}"),
        ("{{ ", "[", "1", "]", " }}"),
        ("{{ ", "{1: ", "1", "}", " }}"),
        ("{{ ", "not ", "1", "", " }}"),
        ("{{ ", "-", "1", "", " }}"),
        ("{{ x", ".x", "", "", " }}"),
        ("{{ x", "[0]", "", "", " }}"),
        ("{{ x", "|list", "", "", " }}"),
        ("{{ 1", " + 1", "", "", " }}"),
        ("{{ 1", " ~ 1", "", "", " }}"),
        ("{{ 1", " if 1 else 1", "", "", " }}"),
        ("{{ 1", " ** 1", "", "", " }}"),
        ("", "{% if 1 %}", "a", "{% endif %}", ""),
        ("", "{% for x in [1] %}", "a", "{% endfor %}", ""),
        ("", "{% set x %}", "a", "{% endset %}", ""),
        ("{% if 1 %}", "{% elif 1 %}", "a", "", "{% endif %}"),
    ];
    for (start, open, middle, close, end) in wraps {
        for depth in [50, 1_000, 20_000] {
            let inner = [&open.repeat(depth), middle, &close.repeat(depth)].concat();
            let _ = render(&[start, &inner, end].concat(), None);
        }
    }
}

/// What templates of chance are made of.
const PIECES: &[&str] = &[
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "-",
    "+",
    "if",
    "for",
    "x",
    "in",
    "else",
    "endif",
    "endfor",
    "set",
    "endset",
    "macro",
    "endmacro",
    "call",
    "endcall",
    "generation",
    "endgeneration",
    "raw",
    "endraw",
    "loop",
    "recursive",
    "namespace()",
    "range(9)",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "'a'",
    "\"é\"",
    "1",
    "0",
    "-1",
    "1.5",
    "99999999999",
    ".",
    ",",
    ":",
    "|",
    "~",
    "*",
    "**",
    "/",
    "//",
    "%",
    "==",
    "<",
    "not",
    "and",
    "is",
    "none",
    "true",
    "=",
    "[1:-1:-1]",
    "[::0]",
    ".split()",
    ".format(1)",
    ".cycle()",
    "|tojson",
    "|sort",
    "|round(2)",
    "|int",
    "|slice(2)|list",
    "|groupby('a')",
    "is divisibleby 0",
    "\n",
    "\t",
    "\r\n",
    "\u{feff}",
    "\0",
    "😀",
    "break",
    "filter upper",
    "endfilter",
    "with",
    "endwith",
    "block b",
    "endblock",
    "import",
    "extends",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn templates_of_chance_never_panic(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..24),
    ) {
        let _ = render(&pieces.join(" "), None);
        let _ = render(&pieces.concat(), None);
    }

    #[test]
    fn expressions_of_chance_never_panic(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..9),
    ) {
        let _ = render(&format!("{{{{ {} }}}}", pieces.join(" ")), None);
    }
}

#[test]
fn truncated_templates_never_panic() {
    let template = "{% macro m(a, b='é') -%} {{ a[1:]|join(', ') }} {%- endmacro %}\
        {% for x in [1, 2] if x is odd %}{% generation %}{{ m('xyz') ~ 'a\\n' }}{% endgeneration %}\
        {% else %}{# no #}{% raw %}{{ }}{% endraw %}{% endfor %}{{ {'a': (1, 2)}|tojson(indent=2) }}";
    for end in (0..=template.len()).filter(|&end| template.is_char_boundary(end)) {
        let _ = render(&template[..end], None);
    }
}

/// What errors print as, with the caret below the place.
#[test]
fn errors_show_what_is_wrong_and_where() {
    for (template, expected) in [
        (
            "a\n{{ x.y.z }}",
            "`x` is undefined (line 2 of the template)\n   |\n 2 | {{ x.y.z }}\n   |    ^^^",
        ),
        (
            "{{ missing + 1 }}",
            "`missing` is undefined (line 1 of the template)\n   |\n 1 | {{ missing + 1 }}\n   |    ^^^^^^^^^^^",
        ),
        (
            "{{ 'é日' ~ ('a' + 1) }}",
            "`+` can't take a string and a number (line 1 of the template)\n   |\n \
             1 | {{ 'é日' ~ ('a' + 1) }}\n   |            ^^^^^^^",
        ),
        (
            "\t{{ 1 + 'a' }}",
            "`+` can't take a number and a string (line 1 of the template)\n   |\n \
             1 |  {{ 1 + 'a' }}\n   |     ^^^^^^^",
        ),
        (
            "{{ raise_exception('no') }}",
            "no (line 1 of the template)\n   |\n 1 | {{ raise_exception('no') }}\n   \
             |    ^^^^^^^^^^^^^^^^^^^^^",
        ),
        (
            "a\r\n\r\n{% if %}",
            "unexpected end of block (line 3 of the template)\n   |\n 3 | {% if %}\n   |       ^^",
        ),
        // What is spelled otherwise for minijinja is shown as it stands.
        (
            "{% generation %}{{ 'a' + 1 }}{% endgeneration %}",
            "`+` can't take a string and a number (line 1 of the template)\n   |\n \
             1 | {% generation %}{{ 'a' + 1 }}{% endgeneration %}\n   |                    ^^^^^^^",
        ),
        (
            "{{ '\\a\\/' ~ (+1 + 'a') }}",
            "`+` can't take a number and a string (line 1 of the template)\n   |\n \
             1 | {{ '\\a\\/' ~ (+1 + 'a') }}\n   |              ^^^^^^^^",
        ),
        (
            "{{ 1 }}\n{{ 'a\\N{BULLET}' }}",
            "the names of characters are not known here, as `\\N{BULLET}`; write the character itself, or \
             its number, as in `\\u2022` (line 2 of the template)\n   |\n \
             2 | {{ 'a\\N{BULLET}' }}\n   |      ^^^^^^^^^^",
        ),
        (
            "{% generation %}\n{{ 'a' + 1 }}{{ 1 }}\n{% endgeneration %}",
            "`+` can't take a string and a number (line 2 of the template)\n   |\n \
             2 | {{ 'a' + 1 }}{{ 1 }}\n   |    ^^^^^^^",
        ),
    ] {
        let error = render(template, None).expect_err(template);
        assert_eq!(error.to_string(), expected, "{template}");
        assert_eq!(error.is_raised(), expected.starts_with("no "));
    }
}
