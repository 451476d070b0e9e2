//! Any grammar, and any text, whole and in pieces: it is read or refused in the time that its length allows,
//! reading it in pieces comes to the same as reading it at once, and what was handed out while it came is
//! the message. The grammar is written out in all languages.

#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use unjinja::grammar::{Builder, Delta, Expr, FaultKind, Grammar, Stream};
use unjinja::{Value, json};

/// Texts that parts of grammars are made of, so that they meet.
const TEXTS: &[&str] = &[
    "a", "b", "ab", "<a>", "</a>", "<", "{", "\"", "\n", " ", "é", "1",
];

const CLASSES: &[&str] = &["[a-b]", "[^<]", "[0-9]", "[\\s\\S]", "[é\\n]"];

const SCHEMAS: &[&str] = &[
    r#"{"type": "integer", "minimum": 3}"#,
    r#"{"type": "string", "maxLength": 2}"#,
    r#"{"enum": ["a", 1, null]}"#,
    r#"{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "boolean"}}, "required": ["a"]}"#,
    r#"{"type": "array", "items": {"type": ["number", "null"]}}"#,
    r##"{"properties": {"a": {"$ref": "#"}}}"##,
];

const RULES: &[&str] = &["one", "two", "three"];

/// A grammar of any shape.
struct Maker<'p, 'u, 'd> {
    p: &'p Builder,
    u: &'u mut Unstructured<'d>,
    nodes: usize,
    /// How many repetitions stand around a node, and how many may.
    repeats: usize,
    may_nest: bool,
}

impl Maker<'_, '_, '_> {
    fn text(&mut self) -> Result<&'static str> {
        self.u.choose(TEXTS).copied()
    }

    fn many(&mut self, depth: usize) -> Result<Vec<Expr>> {
        let count = self.u.int_in_range(0..=3)?;
        (0..count).map(|_| self.node(depth)).collect()
    }

    fn repeated(&mut self, depth: usize) -> Result<Expr> {
        if self.repeats > 0 && !self.may_nest {
            return Ok(self.text()?.into());
        }
        self.repeats += 1;
        let inner = self.node(depth);
        self.repeats -= 1;
        inner
    }

    fn node(&mut self, depth: usize) -> Result<Expr> {
        let p = self.p;
        self.nodes += 1;
        let leaf = depth == 0 || self.nodes > 60;
        let depth = depth.saturating_sub(1);
        Ok(match self.u.int_in_range(0..=if leaf { 12 } else { 29 })? {
            0 => p.eps(),
            1 => p.start(),
            2 => p.end(),
            3 | 4 => self.text()?.into(),
            5 => p.any(),
            6 => {
                let class = *self.u.choose(CLASSES)?;
                let least = self.u.int_in_range(0..=2)?;
                let most = self.u.arbitrary::<bool>()?.then_some(least + 2);
                p.chars(class, least, most).expect("it is a class")
            }
            7 => p.space(),
            8 => p.until(self.text()?),
            9 => p.until_one_of([self.text()?, self.text()?]),
            10 => p.rest(),
            11 => match self.u.int_in_range(0..=6)? {
                0 => p.json(),
                1 => p.json_object(),
                2 => p.json_array(),
                3 => p.json_string(),
                4 => p.json_number(),
                5 => p.json_string_content(),
                _ => p.json_bool() | p.json_null(),
            },
            12 => p.rule_ref(*self.u.choose(RULES)?),
            13..=15 => p.sequence(self.many(depth)?),
            16 | 17 => p.choice(self.many(depth)?),
            18 => p.zero_or_more(self.repeated(depth)?),
            19 => p.one_or_more(self.repeated(depth)?),
            20 => p.optional(self.node(depth)?),
            21 => {
                let least = self.u.int_in_range(0..=2)?;
                let most = self.u.arbitrary::<bool>()?.then_some(least + 1);
                p.repeat(self.repeated(depth)?, least, most)
            }
            22 => p.peek(self.node(depth)?),
            23 => p.negate(self.node(depth)?),
            24 => {
                let (name, is_trigger) = (*self.u.choose(RULES)?, self.u.arbitrary()?);
                let node = self.node(depth)?;
                match is_trigger {
                    true => p.trigger_rule(name, node),
                    false => p.rule(name, node),
                }
            }
            25 => {
                let schema = json::read(*self.u.choose(SCHEMAS)?).expect("it is JSON");
                p.schema("schema", &schema)
            }
            26 => p.atomic(self.node(depth)?),
            27 => p.json_member("a", self.node(depth)?),
            28 => {
                let texts = [self.text()?, self.text()?].map(str::to_owned);
                self.repeated(depth)?.without(texts)
            }
            _ => {
                let which = self.u.int_in_range(0..=9)?;
                let inner = self.node(depth)?;
                match which {
                    0 => p.reasoning(inner),
                    1 => p.content(inner),
                    2 => p.tool(inner),
                    3 => p.tool_id(inner),
                    4 => p.tool_name(inner),
                    5 => p.tool_args(inner),
                    6 => p.tool_arg(inner),
                    7 => p.tool_arg_name(inner),
                    8 => p.tool_arg_string_value(inner),
                    _ => p.tool_arg_json_value(inner),
                }
            }
        })
    }
}

/// Feeds a text in pieces; the first fault ends it.
fn feed(
    mut stream: Stream<'_>,
    pieces: &[String],
) -> std::result::Result<(Vec<Delta>, Value), FaultKind> {
    let mut deltas = Vec::new();
    for piece in pieces {
        deltas.extend(stream.feed(piece).map_err(|fault| fault.kind)?);
    }
    let (last, message) = stream.finish().map_err(|fault| fault.kind)?;
    deltas.extend(last);
    Ok((deltas, message.into()))
}

/// The text of a kind that was handed out.
fn handed_out(deltas: &[Delta], key: &str) -> String {
    let texts = deltas.iter().filter_map(|delta| match (delta, key) {
        (Delta::Reasoning(text), "thinking") | (Delta::Content(text), "content") => {
            Some(text.as_str())
        }
        _ => None,
    });
    texts.collect()
}

fn run(u: &mut Unstructured<'_>) -> Result<()> {
    let may_nest = u.arbitrary()?;
    let mut root = Ok(Expr::from(""));
    let grammar = Grammar::build(|p| {
        let mut maker = Maker {
            p,
            u: &mut *u,
            nodes: 0,
            repeats: 0,
            may_nest,
        };
        root = maker.node(6);
        root.clone().unwrap_or_else(|_| p.eps())
    });
    root?;
    let mut pieces = Vec::new();
    for _ in 0..u.int_in_range(0..=12)? {
        let mut piece = String::new();
        for _ in 0..u.int_in_range(0..=6)? {
            piece += *u.choose(TEXTS)?;
        }
        // Some texts are long.
        let times = if u.ratio(1, 12)? { 500 } else { 1 };
        pieces.push(piece.repeat(times));
    }
    let text = pieces.concat();
    let whole = grammar.parse(&text);
    if let Err(fault) = &whole {
        assert!(text.is_char_boundary(fault.at) && fault.at <= text.len());
        assert!(!fault.to_string().is_empty());
    }
    let part = grammar.parse_partial(&text);
    if whole.is_ok() {
        assert!(part.is_ok(), "what is whole may also come in");
    }
    match (&whole, feed(grammar.stream(), &pieces)) {
        (Ok(tree), Ok((deltas, message))) => {
            assert_eq!(Value::from(tree.message()), message);
            for key in ["thinking", "content"] {
                let text = message.get(key).and_then(Value::as_str).unwrap_or_default();
                assert_eq!(handed_out(&deltas, key), text);
            }
        }
        // What was handed out may have been too early.
        (Ok(_), Err(kind)) => assert_eq!(kind, FaultKind::TakenBack),
        (Err(fault), Err(kind)) => {
            assert!(kind == FaultKind::TakenBack || kind == fault.kind);
        }
        (Err(fault), Ok(_)) => panic!("refused as a whole, and not in pieces: {fault}"),
    }
    let lazy = grammar.lazy();
    for grammar in [&grammar, &lazy] {
        assert!(grammar.to_gbnf().text.contains("root ::="));
        assert!(!grammar.to_lark().text.is_empty());
        assert!(!grammar.to_structural_tag().value.is_null());
        let _is_regular = grammar.to_regex();
    }
    assert!(grammar.triggers().is_sorted() && grammar.preserved_tokens().is_sorted());
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let _has_bytes_enough = run(&mut Unstructured::new(data));
});
