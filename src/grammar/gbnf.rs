//! Grammars as GBNF, the language of llama.cpp, which xgrammar reads, too.

use std::cell::RefCell;
use std::rc::Rc;

use super::automaton::Text;
use super::expr::{CharClass, Chars, Expr, Members, Repeat};
use super::members::{self, AddRule as _};
use super::new_rules::NewRules;
use super::regex::{count, ranges};
use super::{Grammar, Written, builder};
use crate::format::shown;

/// So much white space may stand where some may: without a limit, models may write it for ever.
pub(super) const MAX_SPACE: u32 = 20;

impl Grammar {
    /// The grammar as GBNF, as llama.cpp and xgrammar read it.
    ///
    /// ```
    /// use unjinja::grammar::Grammar;
    ///
    /// let grammar = Grammar::build(|p| p.literal("<a>") + p.until("</a>") + "</a>");
    /// let gbnf = grammar.to_gbnf();
    /// assert_eq!(gbnf.text.lines().next(), Some(r#"root ::= "<a>" until "</a>""#));
    /// ```
    pub fn to_gbnf(&self) -> Written {
        self.to_gbnf_with(&Automata::default())
    }

    /// The same where automata are known from other grammars, or will be known to them.
    pub(super) fn to_gbnf_with(&self, automata: &Automata) -> Written {
        let grammar = self.untagged();
        let mut writer = Gbnf::new(&grammar, automata);
        let root = writer.expr(&grammar.root, "root", Precedence::Alone);
        writer.lines.insert(0, format!("root ::= {root}"));
        for (name, rule) in &grammar.rules {
            let written = writer.rules.named(name).unwrap_or_default();
            let text = writer.expr(&rule.expr, name, Precedence::Alone);
            writer.lines.push(format!("{written} ::= {text}"));
        }
        while let Some((name, expr)) = writer.rules.next_waiting() {
            let text = writer.expr(&expr, &name, Precedence::Alone);
            writer.lines.push(format!("{name} ::= {text}"));
        }
        let mut text = writer.lines.join("\n");
        text.push('\n');
        Written {
            text,
            warnings: writer.rules.warnings,
        }
    }
}

/// Where a text stands in a rule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    Alone,
    InSequence,
    Repeated,
}

/// Automata of texts, for several grammars with the same texts: to make one takes longer than all the rest.
#[derive(Default)]
pub(super) struct Automata {
    known: RefCell<Vec<(Text, Option<Automaton>)>>,
}

/// The states of a text, the first of which is where it begins.
type Automaton = Rc<[Place]>;

/// A state as it is written, apart from names.
struct Place {
    /// The class of what leads back to the first state, if this is the first.
    again: Option<String>,
    /// The class of each other way, and to which state it leads.
    ways: Vec<(String, usize)>,
    may_end: bool,
}

impl Automata {
    /// The states of a text, if it has not too many.
    fn of(&self, text: &Text) -> Option<Automaton> {
        let mut all = self.known.borrow_mut();
        if let Some((_, known)) = all.iter().find(|(known, _)| known == text) {
            return known.clone();
        }
        let places = text.states().map(|states| {
            let places = states.iter().enumerate().map(|(at, state)| {
                let ways = state.ways.iter();
                let (again, ways): (Vec<_>, Vec<_>) = ways
                    .map(|(chars, target)| (class(chars), *target))
                    .partition(|(_, target)| at == 0 && *target == 0);
                Place {
                    again: again.into_iter().next().map(|(class, _)| class),
                    ways,
                    may_end: state.may_end,
                }
            });
            places.collect::<Automaton>()
        });
        all.push((text.clone(), places.clone()));
        places
    }
}

struct Gbnf<'a> {
    lines: Vec<String>,
    rules: NewRules,
    /// The rules of texts in which others do not stand.
    texts: Vec<(Text, String)>,
    automata: &'a Automata,
    has_space: bool,
}

impl Gbnf<'_> {
    fn new<'a>(grammar: &Grammar, automata: &'a Automata) -> Gbnf<'a> {
        let mut rules = NewRules::new(&["root", "space"], '-', &grammar.warnings);
        // Before a rule that is made on the way can take one of their names.
        for name in grammar.rules.keys() {
            rules.name(name);
        }
        Gbnf {
            lines: Vec::new(),
            rules,
            texts: Vec::new(),
            automata,
            has_space: false,
        }
    }

    /// A node as the right side of a rule, or a part of one; `name` is that of the rule.
    fn expr(&mut self, expr: &Expr, name: &str, place: Precedence) -> String {
        match expr {
            Expr::Empty | Expr::Start | Expr::End => "\"\"".to_owned(),
            Expr::Literal(text) => literal(text, place),
            Expr::Chars(chars) => self.chars(chars),
            Expr::Space => self.space(),
            Expr::Rest => "[^\\x00]*".to_owned(),
            Expr::Until(_) | Expr::Without(_) => self.sequence(std::slice::from_ref(expr), name),
            Expr::Sequence(all) => within(self.sequence(all, name), place == Precedence::Repeated),
            Expr::Choice(all) if all.is_empty() => {
                self.rules
                    .warn("a choice of nothing is left out".to_owned());
                "\"\"".to_owned()
            }
            Expr::Choice(all) => {
                let parts = all
                    .iter()
                    .map(|part| self.expr(part, name, Precedence::Alone));
                let text = parts.collect::<Vec<_>>().join(" | ");
                within(text, place != Precedence::Alone)
            }
            Expr::Repeat(repeat) => self.repeat(repeat, name),
            Expr::Members(members) => self.members(members, name, place),
            Expr::Peek(_) | Expr::Negate(_) => {
                self.warn_of_looking_ahead();
                "\"\"".to_owned()
            }
            Expr::Rule(rule) => match self.rules.named(rule) {
                Some(name) => name,
                None => {
                    self.rules.warn(format!("there is no rule `{rule}`"));
                    "\"\"".to_owned()
                }
            },
            Expr::Schema(node) => self.expr(&node.expr, &node.name, place),
            Expr::Atomic(inner) | Expr::Tag(_, inner) => self.expr(inner, name, place),
        }
    }

    fn members(&mut self, all: &Members, name: &str, place: Precedence) -> String {
        let lowered = members::lowered(all, name, &mut self.rules);
        self.expr(&lowered, name, place)
    }

    fn repeat(&mut self, repeat: &Repeat, name: &str) -> String {
        let count = count(repeat.at_least, repeat.at_most);
        let item = self.expr(&repeat.item, name, Precedence::Repeated);
        // What is repeated already needs brackets.
        let is_repeated = matches!(repeat.item.bare(), Expr::Repeat(_) | Expr::Chars(_));
        within(item, is_repeated) + &count
    }

    fn chars(&mut self, chars: &Chars) -> String {
        class(&chars.class) + &count(chars.at_least, chars.at_most)
    }

    fn space(&mut self) -> String {
        if !self.has_space {
            self.has_space = true;
            let line = format!("space ::= [ \\t\\r\\n]{{0,{MAX_SPACE}}}");
            self.lines.push(line);
        }
        "space".to_owned()
    }

    fn warn_of_looking_ahead(&mut self) {
        let words = "looking ahead is not enforced: no such grammar can";
        self.rules.warn(words.to_owned());
    }

    fn sequence(&mut self, parts: &[Expr], name: &str) -> String {
        let mut written = Vec::new();
        let mut at = 0;
        while let Some(part) = parts.get(at) {
            let (part, count) = match Text::first_of(&parts[at..]) {
                Some((text, count)) => (self.text(text), count),
                None => (self.expr(part, name, Precedence::InSequence), 1),
            };
            written.push(part);
            at += count;
        }
        written.join(" ")
    }

    /// A text in which others do not stand: a rule for each state of its automaton.
    fn text(&mut self, mut text: Text) -> String {
        if let Some((_, name)) = self.texts.iter().find(|(known, _)| *known == text) {
            return name.clone();
        }
        let is_of_any = text.item == builder::class(CharClass::any());
        let name = if is_of_any { "until" } else { "text" };
        let Some(states) = self.automata.of(&text) else {
            if !text.not_first.is_empty() {
                // Better what the text begins with is not held than nothing of what it may hold.
                text.not_first.clear();
                self.warn_of_looking_ahead();
                return self.text(text);
            }
            let others = text.others.iter().map(|other| shown(&other.example()));
            let others = others.collect::<Vec<_>>().join(" and ");
            self.rules.warn(format!(
                "that {others} do not stand in a text is not enforced"
            ));
            return self.expr(&text.item.repeat(0, None), name, Precedence::InSequence);
        };
        let names: Vec<String> = states.iter().map(|_| self.rules.free_name(name)).collect();
        self.texts.push((text, names[0].clone()));
        for (at, state) in states.iter().enumerate() {
            let again = state.again.iter().map(|free| format!("{free}*"));
            let ways = state.ways.iter();
            let ways = ways.map(|(class, target)| format!("{class} {}", names[*target]));
            let ways = ways.collect::<Vec<_>>().join(" | ");
            let ways = match (state.may_end, ways.is_empty()) {
                (true, false) => Some(format!("({ways})?")),
                (false, false) => Some(ways),
                (_, true) => None,
            };
            let parts: Vec<String> = again.chain(ways).collect();
            let text = match parts.is_empty() {
                true => "\"\"".to_owned(),
                false => parts.join(" "),
            };
            self.lines.push(format!("{} ::= {text}", names[at]));
        }
        names[0].clone()
    }
}

fn within(text: String, brackets: bool) -> String {
    match brackets {
        true => format!("({text})"),
        false => text,
    }
}

fn literal(text: &str, place: Precedence) -> String {
    let mut out = String::from("\"");
    let (mut before, mut parts) = (None, 1);
    for c in text.chars() {
        if before.is_some_and(is_coded) && c.is_ascii_hexdigit() {
            out.push_str("\" \"");
            parts += 1;
        }
        before = Some(c);
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&code(c)),
            c => out.push(c),
        }
    }
    out.push('"');
    within(out, parts > 1 && place == Precedence::Repeated)
}

/// Whether xgrammar, when it writes down what it has read, writes a character as `\x` with its code. It reads
/// that again with all hexadecimal digits that follow: `"«b"` becomes `"\xabb"`, another character. So none may
/// follow.
fn is_coded(c: char) -> bool {
    let is_escaped_by_letter = matches!(c, '\n' | '\r' | '\t');
    matches!(c, '\0'..='\x1f' | '\x7f'..='\u{ff}') && !is_escaped_by_letter
}

/// A class in brackets, with or without the sign of negation, whichever is shorter.
fn class(class: &CharClass) -> String {
    let negated = !class.clone();
    let (sign, class) =
        match negated.iter().count() < class.iter().count() || class.contains(char::MAX) {
            true => ("^", &negated),
            false => ("", class),
        };
    let mut out = format!("[{sign}");
    if class.is_empty() {
        // All characters but one that no text has.
        out.push_str("\\x00");
    }
    // What may be read as another digit of a code stands before all codes (see `is_coded`).
    let (digits, others): (Vec<_>, Vec<_>) =
        class.iter().partition(|(from, _)| from.is_ascii_hexdigit());
    ranges(&mut out, digits.into_iter().chain(others), in_class);
    out.push(']');
    out
}

fn in_class(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\\' => out.push_str("\\\\"),
        '[' | ']' | '^' | '-' | '"' => out.push_str(&code(c)),
        c if c.is_control() || !c.is_ascii() => out.push_str(&code(c)),
        c => out.push(c),
    }
}

fn code(c: char) -> String {
    match u32::from(c) {
        code @ 0..=0xff => format!("\\x{code:02X}"),
        code @ 0x100..=0xffff => format!("\\u{code:04X}"),
        code => format!("\\U{code:08X}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Builder;
    use super::*;

    #[test]
    fn each_node_is_written_with_brackets_where_it_needs_some() {
        for (make, root) in [
            (
                (|p: &Builder| p.literal("a\"\n")) as fn(&Builder) -> Expr,
                r#""a\"\n""#,
            ),
            (|p| p.eps(), r#""""#),
            (
                |p| (p.literal("a") | "b") + p.space() + "c",
                r#"("a" | "b") space "c""#,
            ),
            (|p| p.literal("a") | "b", r#""a" | "b""#),
            (
                |p| p.optional(p.literal("a") + p.space()),
                r#"("a" space)?"#,
            ),
            (|p| p.one_or_more(p.optional(p.literal("a"))), r#"("a"?)+"#),
            (|p| p.repeat("ab", 2, 3), r#""ab"{2,3}"#),
            (|p| p.rest(), r"[^\x00]*"),
            (|p| p.until("<a>") + "<a>", r#"until "<a>""#),
        ] {
            let written = Grammar::build(make).to_gbnf();
            let found = written.text.lines().next();
            assert_eq!(found, Some(format!("root ::= {root}").as_str()));
            assert_eq!(written.warnings, [""; 0]);
        }
    }

    #[test]
    fn what_is_not_held_is_said() {
        for (make, warning) in [
            (
                (|p: &Builder| p.peek("a") + "a") as fn(&Builder) -> Expr,
                "looking ahead is not enforced: no such grammar can",
            ),
            (|p| p.rule_ref("b"), "there is no rule `b`"),
            (
                // A rule may be any text, of which nothing is known.
                |p| p.rule("a", "x").without(["x"]),
                "that `x` do not stand in a text is not enforced",
            ),
        ] {
            assert_eq!(Grammar::build(make).to_gbnf().warnings, [warning]);
        }
    }

    #[test]
    fn no_digit_follows_a_code() {
        for (text, place, expected) in [
            ("a\tb", Precedence::Alone, r#""a\tb""#),
            ("«b", Precedence::Alone, r#""«" "b""#),
            ("«b", Precedence::Repeated, r#"("«" "b")"#),
            ("«x", Precedence::Repeated, r#""«x""#),
            ("\u{1}", Precedence::Alone, r#""\x01""#),
            ("水b", Precedence::Alone, r#""水b""#),
        ] {
            assert_eq!(literal(text, place), expected, "{text:?}");
        }
        for (found, expected) in [
            (CharClass::any(), r"[^\x00]"),
            (CharClass::of("«b".chars()), r"[b\xAB]"),
            (CharClass::of("a-]^".chars()), r"[a\x2D\x5D-\x5E]"),
            (CharClass::of(['水', '🌊']), r"[\u6C34\U0001F30A]"),
            (!CharClass::of(['<']), "[^<]"),
        ] {
            assert_eq!(class(&found), expected);
        }
    }
}
