//! Grammars as Lark, as llguidance reads it.
//!
//! llguidance takes a text apart into lexemes first, each as long as can be. So a text up to a delimiter is
//! one lexeme with the delimiter, or, at the end of all, one in which no delimiter stands.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::automaton::Text;
use super::beginnings::{self, Beginning};
use super::builder::{class, until};
use super::expr::{CharClass, Expr, Members, Repeat, Without};
use super::members::{self, AddRule as _};
use super::new_rules::NewRules;
use super::{Grammar, Rule, Written, regex, remainder, schema};
use crate::json;
use crate::markers;

impl Grammar {
    /// The grammar as Lark, as llguidance reads it. Values that a JSON Schema describes are `%json` there,
    /// which has the properties of an object in the order in which they are declared.
    ///
    /// ```
    /// use unjinja::grammar::Grammar;
    ///
    /// let grammar = Grammar::build(|p| p.literal("<a>") + p.until("</a>") + "</a>");
    /// let lark = grammar.to_lark();
    /// assert_eq!(lark.text.lines().next(), Some(r#"start: "<a>" text_1"#));
    /// ```
    pub fn to_lark(&self) -> Written {
        let mut grammar = self.untagged();
        let mut unheld = UnsupportedConstraints::default();
        grammar = grammar.with_each(|expr| expr.rewrite(&mut |one| up_to_texts(one, &mut unheld)));
        markers::dedup(&mut unheld.refused);
        grammar.warnings.extend(unheld.warnings());
        let mut writer = Lark::new(&grammar);
        let root = writer.expr(&grammar.root, "start");
        let mut lines = vec![format!("start: {root}")];
        // Only what is referred to is written: a rule without use may hold what is held elsewhere.
        while let Some((written, expr)) = writer.written.next_waiting() {
            let text = writer.expr(&expr, &written);
            lines.push(format!("{written}: {text}"));
        }
        lines.append(&mut writer.lines);
        let mut text = lines.join("\n");
        text.push('\n');
        Written {
            text,
            warnings: writer.written.warnings,
        }
    }
}

struct Lark<'g> {
    rules: &'g IndexMap<String, Rule>,
    lines: Vec<String>,
    /// The rules that were asked for.
    written: NewRules,
    /// The lexemes of texts, by what they consist of.
    texts: BTreeMap<Lexeme, String>,
    has_space: bool,
    /// The texts of which it was looked up what may begin in them and end behind them.
    looked_behind: Vec<Text>,
    /// How often what follows a text was written for each way to it.
    spread: usize,
    /// How many nodes may still be looked at or copied for what follows texts.
    work_left: usize,
}

/// A lexeme of more than a literal.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Lexeme {
    /// The expression for what comes first.
    regex: String,
    /// The expressions for what can't stand in the text behind that, if there is one.
    text: Option<Vec<String>>,
    /// The expression for the text, if it is not any.
    item: Option<String>,
    /// Whether the text may not be empty.
    is_some: bool,
    /// The expression for what comes last.
    end: String,
    /// Whether it is over with the first end there is.
    is_lazy: bool,
}

/// What follows a text is written for each way to it, so often in all: of many one after the other, there are
/// more ways than one could write.
const MAX_SPREAD: usize = 200;

/// It is looked up so often what may begin in a text and end behind it, and said of all else after that.
const MAX_LOOKS_BEHIND: usize = 50;

/// So many nodes are looked at or copied for what follows texts, and more for each node of the grammar: where a rule
/// stands amid itself, that can grow for ever.
const MAX_WORK: usize = 200_000;
const WORK_OF_NODE: usize = 20;

/// A rule that is made for what follows counts as so many nodes.
const COST_OF_RULE: usize = 500;

impl<'g> Lark<'g> {
    fn new(grammar: &'g Grammar) -> Lark<'g> {
        let rules = grammar.rules.values().map(|rule| rule.expr.size());
        let nodes = rules.sum::<usize>() + grammar.root.size();
        Lark {
            rules: &grammar.rules,
            lines: Vec::new(),
            written: NewRules::new(&["start", "space"], '_', &grammar.warnings),
            texts: BTreeMap::new(),
            has_space: false,
            looked_behind: Vec::new(),
            spread: 0,
            work_left: MAX_WORK + WORK_OF_NODE * nodes,
        }
    }

    fn rule(&mut self, name: &str) -> String {
        if let Some(written) = self.written.named(name) {
            return written;
        }
        let Some(rule) = self.rules.get(name) else {
            self.written.warn(format!("there is no rule `{name}`"));
            return "\"\"".to_owned();
        };
        let written = self.written.name(name);
        self.written.wait(written.clone(), rule.expr.clone());
        written
    }

    /// A node as the right side of a rule, or a part of one, in brackets if it needs any.
    fn expr(&mut self, expr: &Expr, name: &str) -> String {
        if let Expr::Atomic(inner) = expr
            && let Some(lexeme) = self.regular(inner)
        {
            return lexeme;
        }
        match expr {
            Expr::Empty | Expr::Start | Expr::End => "\"\"".to_owned(),
            Expr::Literal(text) => literal(text),
            Expr::Chars(chars) => {
                let class = slashed(&regex::class(&chars.class));
                match (chars.at_least, chars.at_most) {
                    (_, Some(0)) => "\"\"".to_owned(),
                    // No lexeme is empty.
                    (0, most) => format!("(/{class}{}/)?", regex::count(1, most)),
                    (least, most) => format!("/{class}{}/", regex::count(least, most)),
                }
            }
            Expr::Space => self.space(),
            Expr::Until(_) | Expr::Rest => self.sequence(std::slice::from_ref(expr), name),
            // No lexeme is empty.
            Expr::Without(one) => match self.some_without(one) {
                Some(lexeme) => format!("{lexeme}?"),
                None => {
                    let any = schema::any_of(&one.others).unwrap_or_default();
                    self.written
                        .warn(format!("texts may hold {any}: that is not kept out"));
                    self.expr(&one.item.clone().repeat(0, None), name)
                }
            },
            Expr::Sequence(all) => self.sequence(all, name),
            Expr::Choice(all) if all.is_empty() => {
                self.written
                    .warn("a choice of nothing is left out".to_owned());
                "\"\"".to_owned()
            }
            Expr::Choice(all) => self.choice(all, name),
            Expr::Repeat(repeat) => self.repeat(repeat, name),
            Expr::Members(members) => self.members(members, name),
            Expr::Peek(_) | Expr::Negate(_) => {
                self.written
                    .warn("looking ahead is not enforced: no such grammar can".to_owned());
                "\"\"".to_owned()
            }
            Expr::Rule(rule) => self.rule(rule),
            Expr::Schema(node) if node.is_json() => {
                // The engine reads the schema by itself, and knows no marker that may not stand in its strings.
                let kept_out = schema::kept_out_of_json(&node.expr, self.rules);
                if let Some(warning) = schema::beyond_schema(&node.name, &kept_out) {
                    self.written.warn(warning);
                }
                format!("%json {}", json::write(&schema::for_engines(&node.schema)))
            }
            Expr::Schema(node) => self.expr(&node.expr, &node.name),
            Expr::Atomic(inner) | Expr::Tag(_, inner) => self.expr(inner, name),
        }
    }

    fn choice(&mut self, all: &[Expr], name: &str) -> String {
        let ways = all.iter().flat_map(with_texts_apart);
        let all = &self.factored(&ways.collect::<Vec<_>>());
        let texts = all.iter().filter_map(|one| match first(one) {
            Expr::Until(delimiters) => Some(delimiters.as_slice()),
            _ => None,
        });
        let mut delimiters: Vec<String> = texts.flatten().cloned().collect();
        delimiters.retain(|delimiter| !delimiter.is_empty());
        delimiters.sort();
        delimiters.dedup();
        let parts: Vec<String> = all
            .iter()
            .map(|part| self.beside_text(part, &delimiters, name))
            .collect();
        format!("({})", parts.join(" | "))
    }

    /// The same ways where those that begin with the same marker, and one of them with a text behind it, are one up
    /// to there: what stands beside that text has to be seen.
    fn factored(&mut self, all: &[Expr]) -> Vec<Expr> {
        let marker = |one: &Expr| {
            let literal = one.first_literal()?;
            let piece = markers::first_piece(&literal)?;
            markers::is_marker(piece).then(|| piece.to_owned())
        };
        let mut ways: Vec<(Option<String>, Vec<&Expr>)> = Vec::new();
        for one in all {
            let marker = marker(one);
            match ways
                .iter_mut()
                .find(|(known, _)| marker.is_some() && *known == marker)
            {
                Some((_, group)) => group.push(one),
                None => ways.push((marker, vec![one])),
            }
        }
        let ways = ways.into_iter().flat_map(|(marker, group)| {
            let as_they_are = || group.iter().map(|one| (*one).clone()).collect::<Vec<_>>();
            let Some(marker) = marker.filter(|_| group.len() > 1) else {
                return as_they_are();
            };
            let behind: Vec<Expr> = group.iter().map(|one| self.behind(one, &marker)).collect();
            match behind
                .iter()
                .any(|one| matches!(first(one), Expr::Until(_)))
            {
                true => vec![Expr::sequence([
                    marker.as_str().into(),
                    Expr::choice(behind),
                ])],
                false => as_they_are(),
            }
        });
        ways.collect()
    }

    /// A node beside a text: up to what can't stand in that it is one lexeme, or the text would be the longer one.
    fn beside_text(&mut self, expr: &Expr, delimiters: &[String], name: &str) -> String {
        if delimiters.is_empty() || matches!(first(expr), Expr::Until(_) | Expr::Rest) {
            return self.expr(expr, name);
        }
        let mut ways = match self.beginnings(expr, delimiters) {
            Some(beginnings) => self.led(beginnings, None, name),
            None => {
                let mut ways = Vec::new();
                for delimiter in delimiters {
                    let after = self.behind(expr, delimiter);
                    if !after.is_never() {
                        let lexeme = self.lexeme(Lexeme {
                            end: regex::escape(delimiter),
                            is_lazy: true,
                            ..Lexeme::default()
                        });
                        ways.push(self.followed_by(lexeme, after, name));
                    }
                }
                ways
            }
        };
        if ways.is_empty() {
            return self.expr(expr, name);
        }
        if remainder::is_nullable(expr, self.rules) {
            ways.push("\"\"".to_owned());
        }
        ways.join(" | ")
    }

    /// What a node begins with up to one of these texts, if that is known.
    fn beginnings(&mut self, expr: &Expr, delimiters: &[String]) -> Option<Vec<Beginning>> {
        if self.work_left == 0 {
            return None;
        }
        let (beginnings, nodes) = beginnings::beginnings(expr, delimiters, self.rules);
        self.work(nodes);
        beginnings
    }

    /// Beginnings as lexemes, each with all that may follow; `text` is what can't stand in a text before them.
    fn led(
        &mut self,
        beginnings: Vec<Beginning>,
        text: Option<&[String]>,
        name: &str,
    ) -> Vec<String> {
        let mut all: Vec<(Lexeme, Vec<Expr>)> = Vec::new();
        for beginning in beginnings {
            let lexeme = match (beginning.text, text) {
                (Some(behind), _) => {
                    let end = behind.end.as_deref();
                    let others = behind
                        .delimiters
                        .iter()
                        .filter(|one| Some(one.as_str()) != end);
                    Lexeme {
                        regex: beginning.regex,
                        text: Some(escaped(others)),
                        end: end.map(regex::escape).unwrap_or_default(),
                        is_lazy: end.is_some(),
                        ..Lexeme::default()
                    }
                }
                (None, text) => Lexeme {
                    text: text.map(escaped),
                    end: beginning.regex,
                    is_lazy: true,
                    ..Lexeme::default()
                },
            };
            match all.iter_mut().find(|(known, _)| *known == lexeme) {
                Some((_, after)) => after.push(beginning.after),
                None => all.push((lexeme, vec![beginning.after])),
            }
        }
        let ways = all.into_iter().map(|(lexeme, after)| {
            let lexeme = self.lexeme(lexeme);
            self.followed_by(lexeme, Expr::choice(after), name)
        });
        ways.collect()
    }

    fn followed_by(&mut self, lexeme: String, after: Expr, name: &str) -> String {
        match after {
            Expr::Empty => lexeme,
            after => format!("{lexeme} {}", self.shared(after, name)),
        }
    }

    fn members(&mut self, all: &Members, name: &str) -> String {
        let lowered = members::lowered(all, name, &mut self.written);
        self.expr(&lowered, name)
    }

    fn repeat(&mut self, repeat: &Repeat, name: &str) -> String {
        let item = self.expr(&repeat.item, name);
        format!("({item}){}", regex::count(repeat.at_least, repeat.at_most))
    }

    fn space(&mut self) -> String {
        if !self.has_space {
            self.has_space = true;
            // No lexeme is empty: the `?` where it stands lets white space be missing.
            let most = super::gbnf::MAX_SPACE;
            self.lines
                .push(format!("space: /[ \\t\\r\\n]{{1,{most}}}/"));
        }
        "space?".to_owned()
    }

    fn sequence(&mut self, parts: &[Expr], name: &str) -> String {
        let mut texts = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let behind = &parts[at + 1..];
            let is_open = behind.iter().all(|part| *part == Expr::Space);
            // Only values of arguments have a schema.
            let is_value = matches!(part, Expr::Schema(_));
            let part = plain(part);
            if let Expr::Until(delimiters) = part
                && is_value
                && is_open
            {
                texts.push(self.open_value(delimiters));
                continue;
            }
            let is_followed = match part {
                Expr::Until(_) | Expr::Rest => true,
                Expr::Repeat(repeat) if (repeat.at_least, repeat.at_most) == (0, None) => {
                    behind.first().is_some_and(begins_with_text_at_times)
                }
                part => {
                    let has_text = ends_in_text_at_times(part) || may_be_text(part);
                    !behind.is_empty() && self.spread < MAX_SPREAD && has_text
                }
            };
            if !is_followed {
                self.warn_of_behind(&parts[at..]);
                texts.push(self.expr(part, name));
                continue;
            }
            let rest = || Expr::sequence(behind.iter().cloned());
            // Each of the ways gets a copy of what follows, and each copy has texts that do the same.
            let copies = part.children().len().max(1);
            self.work(copies * behind.iter().map(Expr::size).sum::<usize>());
            if self.work_left == 0 {
                self.warn_of_growth();
                return "\"\"".to_owned();
            }
            texts.push(match part {
                Expr::Until(delimiters) => self.text(delimiters, &rest(), name),
                Expr::Rest => self.text(&[], &rest(), name),
                Expr::Repeat(repeat) if (repeat.at_least, repeat.at_most) == (0, None) => {
                    self.work(COST_OF_RULE);
                    // Each time around, the text may come instead.
                    let again = self.written.new_name(&format!("{name}_again"));
                    let more = [repeat.item.clone(), Expr::Rule(again.clone())];
                    let ways = [Expr::sequence(more)].into_iter().chain(ways_of(&rest()));
                    self.written
                        .wait(again.clone(), Expr::Choice(ways.collect()));
                    again
                }
                part => {
                    self.spread += 1;
                    // What follows belongs to the lexeme of a text that comes last.
                    let rest = rest();
                    let ways = match part {
                        Expr::Choice(all) => all.clone(),
                        Expr::Repeat(optional) => vec![optional.item.clone(), Expr::Empty],
                        other => vec![other.clone()],
                    };
                    let ways = ways.into_iter();
                    let ways = ways.map(|one| Expr::sequence([one, rest.clone()]));
                    self.choice(&ways.collect::<Vec<_>>(), name)
                }
            });
            return texts.join(" ");
        }
        texts.join(" ")
    }

    /// Warns of what may begin in a text and end behind it: the text is a lexeme of its own.
    fn warn_of_behind(&mut self, parts: &[Expr]) {
        let Some((text, _)) = Text::first_of(parts) else {
            return;
        };
        if text.behind.is_empty() || self.looked_behind.contains(&text) {
            return;
        }
        let that_go_on = match self.looked_behind.len() < MAX_LOOKS_BEHIND {
            true => text.that_go_on(),
            false => text.others.clone(),
        };
        self.looked_behind.push(text.clone());
        if let Some(any) = schema::any_of(&that_go_on) {
            let behind = json::write(&text.behind.as_str().into());
            self.written.warn(format!(
                "{any} may begin in a text and end in {behind} behind it: that is not kept out"
            ));
        }
    }

    /// A text up to one of these, and what follows it.
    fn text(&mut self, delimiters: &[String], rest: &Expr, name: &str) -> String {
        let some = delimiters.iter().filter(|text| !text.is_empty());
        let delimiters = &some.cloned().collect::<Vec<_>>();
        // Of two texts in a row, no delimiter tells where the one ends: they are one.
        if let Some((next, behind)) = text_and_rest(rest) {
            let all_in =
                |one: &[String], other: &[String]| one.iter().all(|text| other.contains(text));
            if all_in(delimiters, next) {
                return self.text(delimiters, &behind, name);
            }
            if all_in(next, delimiters) {
                return self.text(next, &behind, name);
            }
        }
        let mut ways = Vec::new();
        if remainder::is_nullable(rest, self.rules) {
            ways.push(format!("{}?", self.text_to_the_end(delimiters)));
        }
        let mut found = false;
        for delimiter in delimiters {
            let after = self.behind(rest, delimiter);
            if after.is_never() {
                continue;
            }
            found = true;
            // The lexeme ends with this one, so only the others can be ruled out in it.
            let others = delimiters.iter().filter(|other| *other != delimiter);
            let lexeme = self.lexeme(Lexeme {
                text: Some(escaped(others)),
                end: regex::escape(delimiter),
                is_lazy: true,
                ..Lexeme::default()
            });
            ways.push(self.followed_by(lexeme, after, name));
        }
        // Words of the format may stand between a text and what ends it.
        if let Some(mut beginnings) = self.beginnings(rest, delimiters) {
            beginnings.retain(|beginning| beginning.has_words && beginning.text.is_none());
            found |= !beginnings.is_empty();
            ways.extend(self.led(beginnings, Some(delimiters), name));
        }
        if !found && ways.is_empty() {
            ways.push(match rest.first_literal() {
                Some(literal) => {
                    let after = self.behind(rest, &literal);
                    let lexeme = self.text_up_to(delimiters, &literal);
                    self.followed_by(lexeme, after, name)
                }
                None => {
                    let lexeme = self.text_to_the_end(delimiters);
                    format!("{lexeme}? {}", self.expr(rest, name))
                }
            });
        }
        match ways.len() {
            1 => ways.remove(0),
            _ => format!("({})", ways.join(" | ")),
        }
    }

    /// A text in which none of these stands. No lexeme is empty.
    fn text_to_the_end(&mut self, delimiters: &[String]) -> String {
        self.lexeme(Lexeme {
            text: Some(escaped(delimiters)),
            is_some: true,
            ..Lexeme::default()
        })
    }

    /// A text in which none of these stands, with the literal behind it that they begin with. The lexer can't go
    /// back to a literal in which the text would have ended: in the text none stands that goes on as one of these.
    fn text_up_to(&mut self, delimiters: &[String], literal: &str) -> String {
        let mut without: Vec<String> = Vec::new();
        for delimiter in delimiters {
            let next = delimiter
                .strip_prefix(literal)
                .and_then(|rest| rest.chars().next());
            let short = match next {
                Some(next) => format!("{literal}{next}"),
                None => delimiter.clone(),
            };
            if short != *delimiter {
                self.written.warn(format!(
                    "texts that end before {} do not have {} in them: nothing tells where they end",
                    json::write(&delimiter.as_str().into()),
                    json::write(&short.as_str().into()),
                ));
            }
            if !without.contains(&short) {
                without.push(short);
            }
        }
        self.lexeme(Lexeme {
            text: Some(escaped(&without)),
            end: regex::escape(literal),
            ..Lexeme::default()
        })
    }

    /// A value of an argument that nothing closes. What follows it is held elsewhere, and the lexer can't go back from the
    /// second sign of it on: the first does not stand in the value.
    fn open_value(&mut self, delimiters: &[String]) -> String {
        let first = |text: &String| text.chars().next().map(String::from);
        let mut signs: Vec<String> = delimiters.iter().filter_map(first).collect();
        markers::dedup(&mut signs);
        for sign in &signs {
            if !delimiters.contains(sign) {
                let sign = json::write(&sign.as_str().into());
                self.written.warn(format!(
                    "values that nothing closes do not have {sign} in them: no lexeme could end before what begins with it"
                ));
            }
        }
        let lexeme = self.text_to_the_end(&signs);
        format!("{lexeme}?")
    }

    /// What may stand behind a text that a node begins with.
    fn behind(&mut self, expr: &Expr, text: &str) -> Expr {
        let left = self.work_left;
        let (behind, nodes) = remainder::counted_behind(expr, text, self.rules, left);
        self.work(nodes + behind.size());
        if nodes >= left {
            self.warn_of_growth();
            return Expr::NEVER;
        }
        behind
    }

    fn work(&mut self, nodes: usize) {
        self.work_left = self.work_left.saturating_sub(nodes);
    }

    fn warn_of_growth(&mut self) {
        let words = "what follows a text has no end of forms, of which only some are held";
        self.written.warn(words.to_owned());
    }

    /// A node that may stand in several places, as a rule if it has parts. What follows within it is written when
    /// the rule is: where it grows for ever, rules would nest for ever.
    fn shared(&mut self, expr: Expr, name: &str) -> String {
        let parts = expr.children();
        if parts.is_empty() {
            return self.expr(&expr, name);
        }
        if self.work_left == 0 {
            self.warn_of_growth();
            return "\"\"".to_owned();
        }
        let sizes = parts.iter().map(|part| match part {
            Expr::Literal(text) => text.len(),
            _ => 1,
        });
        self.work(sizes.sum::<usize>());
        let rule = self.written.add(&format!("{name}_rest"), expr);
        self.expr(&rule, name)
    }

    /// Some items in which others do not stand, as one lexeme.
    fn some_without(&mut self, one: &Without) -> Option<String> {
        let regex = regex::of_regular(&one.item.clone().repeat(1, None))?;
        let others: Option<Vec<String>> = one.others.iter().map(regex::of_regular).collect();
        Some(self.lexeme(Lexeme {
            text: Some(others?),
            item: Some(regex),
            ..Lexeme::default()
        }))
    }

    /// What consists of characters alone: one lexeme. `None` if it does not.
    fn regular(&mut self, expr: &Expr) -> Option<String> {
        let regex = regex::of_regular(expr)?;
        let others = schema::kept_out(expr, self.rules);
        let others: Option<Vec<String>> = others.iter().map(regex::of_regular).collect();
        let others = others?;
        Some(match others.is_empty() {
            true => format!("/{}/", slashed(&regex)),
            false => self.lexeme(Lexeme {
                text: Some(others),
                item: Some(regex),
                ..Lexeme::default()
            }),
        })
    }

    /// The name of a lexeme.
    fn lexeme(&mut self, lexeme: Lexeme) -> String {
        if let Some(name) = self.texts.get(&lexeme) {
            return name.clone();
        }
        let number = self.texts.len() + 1;
        let name = self.written.free_name(&format!("text_{number}"));
        let lazy = if lexeme.is_lazy { "[lazy]" } else { "" };
        let count = if lexeme.is_some { "+" } else { "*" };
        let regex = |regex: &str| match regex.is_empty() {
            true => None,
            false => Some(format!("/{}/", slashed(regex))),
        };
        let text = lexeme.text.as_ref().map(|text| {
            let without = without(text);
            match &lexeme.item {
                Some(item) => format!("(/{}/{without})", slashed(item)),
                None => format!("(/(?s:.{count})/{without})"),
            }
        });
        let parts = [regex(&lexeme.regex), text, regex(&lexeme.end)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        self.lines.push(format!("{name}{lazy}: TEXT_{number}"));
        self.lines
            .push(format!("TEXT_{number}: {}", parts.join(" ")));
        self.texts.insert(lexeme, name.clone());
        name
    }
}

/// What is ruled out in texts, and lexemes hold otherwise.
#[derive(Default)]
struct UnsupportedConstraints {
    /// What they don't keep out.
    allowed: Vec<Expr>,
    /// What they keep out beyond it.
    refused: Vec<String>,
}

impl UnsupportedConstraints {
    fn allow(&mut self, other: &Expr) {
        if !self.allowed.contains(other) {
            self.allowed.push(other.clone());
        }
    }

    fn warnings(&self) -> impl Iterator<Item = String> {
        let allowed = schema::any_of(&self.allowed).map(|any| {
            format!("texts may hold {any}, which what reads the call takes for a marker: no lexeme keeps it out")
        });
        let refused = self.refused.iter().map(|before| {
            let before = json::write(&before.as_str().into());
            format!("texts do not have {before} with white space behind it in them: no lexeme could end before that")
        });
        allowed.into_iter().chain(refused)
    }
}

/// The expressions for texts.
fn escaped<'t>(texts: impl IntoIterator<Item = &'t String>) -> Vec<String> {
    let texts = texts.into_iter();
    texts.map(|text| regex::escape(text)).collect()
}

/// A text in which others do not stand as one up to those of them that are always the same: a lexeme can end before
/// these alone. The rest of the others is left out, and what a text does not begin with.
fn up_to_texts(expr: Expr, unheld: &mut UnsupportedConstraints) -> Expr {
    match expr {
        Expr::Without(one) if one.is_of_any() => {
            let mut texts = Vec::new();
            for other in &one.others {
                match (other, texts_up_to_space(other)) {
                    (Expr::Literal(text), _) => texts.push(text.clone()),
                    (_, Some((before, all))) => {
                        unheld.refused.push(before.to_owned());
                        texts.extend(all);
                    }
                    (_, None) => unheld.allow(other),
                }
            }
            until(texts)
        }
        Expr::Sequence(mut parts) => {
            while let Some(at) = begins_text(&parts) {
                let not_first = parts.remove(at);
                let Expr::Negate(not_first) = plain(&not_first) else {
                    continue;
                };
                match white_or_begun_by(not_first) {
                    // That one sign can be told: the answer is a lexeme whose first sign is another one.
                    Some(first) => parts[at] = begun_otherwise(&first, parts[at].clone()),
                    // More than one sign is not held here: a warning names it.
                    None => unheld.allow(not_first),
                }
            }
            Expr::sequence(parts)
        }
        other => other,
    }
}

/// The text before white space that stands in something, and what it begins with up to there and one sign more. Of `' --`
/// that is `' ` and `'-`, behind which a lexer could not go back.
fn texts_up_to_space(other: &Expr) -> Option<(&str, Vec<String>)> {
    let Expr::Sequence(parts) = other else {
        return None;
    };
    let [Expr::Literal(before), Expr::Space, Expr::Literal(behind)] = parts.as_slice() else {
        return None;
    };
    let next = " \t\r\n".chars().chain(behind.chars().next());
    let texts = next.map(|next| format!("{before}{next}"));
    Some((before, texts.collect()))
}

/// Where something is ruled out that a text behind it could begin with.
fn begins_text(parts: &[Expr]) -> Option<usize> {
    let pairs = { parts }.windows(2);
    let mut pairs = pairs.map(|pair| (plain(&pair[0]), plain(&pair[1])));
    pairs.position(|pair| matches!(pair, (Expr::Negate(_), Expr::Until(_) | Expr::Rest)))
}

/// White space and these characters, if this is white space and one of them.
fn white_or_begun_by(not_first: &Expr) -> Option<CharClass> {
    let Expr::Sequence(parts) = not_first else {
        return None;
    };
    match parts.as_slice() {
        [Expr::Space, Expr::Chars(chars)] if (chars.at_least, chars.at_most) == (1, Some(1)) => {
            Some(chars.class.or(&CharClass::of(" \t\r\n".chars())))
        }
        _ => None,
    }
}

/// A text that does not begin with white space and one of these characters.
fn begun_otherwise(first: &CharClass, text: Expr) -> Expr {
    let text = Expr::sequence([class(!first.clone()), text]);
    Expr::sequence([Expr::Space, text.optional()])
}

/// What takes the texts with one of these expressions in them from a lexeme.
fn without(others: &[String]) -> String {
    match others.is_empty() {
        true => String::new(),
        false => format!(" & ~/(?s:.*)({})(?s:.*)/", slashed(&others.join("|"))),
    }
}

/// A literal in pieces, since a lexer can't go back to where one of two has come that begin alike. White space is
/// one piece: where any may stand as well, the longest is taken.
fn literal(text: &str) -> String {
    let is_space = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
    let mut pieces: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match is_space(first) {
            true => rest.find(|c| !is_space(c)).unwrap_or(rest.len()),
            false => markers::first_piece(rest).map_or(rest.len(), str::len),
        };
        let (piece, after) = rest.split_at(length);
        pieces.push(piece);
        rest = after;
    }
    let pieces = pieces.iter().map(|piece| json::write(&(*piece).into()));
    pieces.collect::<Vec<_>>().join(" ")
}

/// A regular expression between slashes.
fn slashed(regex: &str) -> String {
    let mut out = String::new();
    let mut is_escaped = false;
    for c in regex.chars() {
        match c {
            // A slash would end the expression.
            '/' if !is_escaped => out.push_str("\\/"),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    out
}

/// The same without what tells nothing to a lexer.
fn plain(expr: &Expr) -> &Expr {
    match expr {
        Expr::Tag(_, inner) | Expr::Atomic(inner) => plain(inner),
        Expr::Schema(node) if !node.is_json() => plain(&node.expr),
        other => other,
    }
}

/// What comes first in a node.
fn first(expr: &Expr) -> &Expr {
    match plain(expr) {
        Expr::Sequence(all) => all.first().map_or(expr, first),
        other => other,
    }
}

/// What ends the text that a node begins with, and what follows that.
fn text_and_rest(expr: &Expr) -> Option<(&[String], Expr)> {
    match plain(expr) {
        Expr::Until(delimiters) => Some((delimiters, Expr::Empty)),
        Expr::Sequence(parts) => {
            let (first, others) = parts.split_first()?;
            let (delimiters, behind) = text_and_rest(first)?;
            let parts = [behind].into_iter().chain(others.iter().cloned());
            Some((delimiters, Expr::sequence(parts)))
        }
        _ => None,
    }
}

/// The ways of a node.
fn ways_of(expr: &Expr) -> Vec<Expr> {
    match plain(expr) {
        Expr::Choice(all) => all.clone(),
        Expr::Repeat(repeat) if is_optional(repeat) => vec![repeat.item.clone(), Expr::Empty],
        Expr::Sequence(parts) => match parts.split_first() {
            Some((first, rest)) => {
                let rest = || rest.iter().cloned();
                let ways = ways_of(first).into_iter();
                ways.map(|one| Expr::sequence([one].into_iter().chain(rest())))
                    .collect()
            }
            None => vec![Expr::Empty],
        },
        other => vec![other.clone()],
    }
}

/// A node with a text that may be missing as a way of its own, since what follows it stands beside it then. White space before a
/// text belongs to it.
fn with_texts_apart(expr: &Expr) -> Vec<Expr> {
    if begins_with_text_at_times(expr) {
        return ways_of(expr);
    }
    match plain(expr) {
        Expr::Sequence(parts) if parts[0] == Expr::Space => {
            let rest = Expr::sequence(parts[1..].iter().cloned());
            if !begins_with_text_at_times(&rest) {
                return vec![expr.clone()];
            }
            let ways = ways_of(&rest).into_iter();
            ways.map(|way| match first(&way) {
                Expr::Until(_) => way,
                _ => Expr::sequence([Expr::Space, way]),
            })
            .collect()
        }
        _ => vec![expr.clone()],
    }
}

fn is_optional(repeat: &Repeat) -> bool {
    (repeat.at_least, repeat.at_most) == (0, Some(1))
}

/// Whether a text may stand there, or nothing.
fn may_be_text(expr: &Expr) -> bool {
    matches!(plain(expr), Expr::Repeat(repeat) if is_optional(repeat) && begins_with_text_at_times(&repeat.item))
}

/// Whether one of the ways of a node begins with a text.
fn begins_with_text_at_times(expr: &Expr) -> bool {
    match plain(expr) {
        Expr::Until(_) => true,
        Expr::Choice(all) => all.iter().any(begins_with_text_at_times),
        Expr::Repeat(repeat) if is_optional(repeat) => begins_with_text_at_times(&repeat.item),
        Expr::Sequence(all) => all.first().is_some_and(begins_with_text_at_times),
        _ => false,
    }
}

/// Whether a node has several ways, and a text without an end of its own comes last in one of them.
fn ends_in_text_at_times(expr: &Expr) -> bool {
    match expr {
        Expr::Choice(all) => all.iter().any(ends_with_text),
        Expr::Repeat(repeat) => is_optional(repeat) && ends_with_text(&repeat.item),
        _ => false,
    }
}

/// Whether a text without an end of its own comes last: white space behind it may stand in it, too.
fn ends_with_text(expr: &Expr) -> bool {
    let is_white = |part: &&Expr| matches!(part, Expr::Literal(text) if text.trim().is_empty());
    match plain(expr) {
        Expr::Until(_) | Expr::Rest => true,
        Expr::Sequence(all) => {
            let last = all.iter().rev().find(|part| !is_white(part));
            last.is_some_and(ends_with_text)
        }
        Expr::Choice(all) => all.iter().any(ends_with_text),
        Expr::Repeat(_) => ends_in_text_at_times(expr),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Builder;
    use super::*;

    fn until(end: &str) -> Expr {
        Expr::Until(vec![end.to_owned()])
    }

    #[test]
    fn a_text_is_one_lexeme_with_what_ends_it() {
        for (make, expected) in [
            (
                (|p: &Builder| p.until("<a>") + "<a>") as fn(&Builder) -> Expr,
                "start: text_1\ntext_1[lazy]: TEXT_1\nTEXT_1: (/(?s:.*)/) /<a>/\n",
            ),
            // At the end of all, it is one in which no delimiter stands.
            (
                |p| p.until("<a>"),
                "start: text_1?\ntext_1: TEXT_1\nTEXT_1: (/(?s:.+)/ & ~/(?s:.*)(<a>)(?s:.*)/)\n",
            ),
            (
                |p| p.rest(),
                "start: text_1?\ntext_1: TEXT_1\nTEXT_1: (/(?s:.+)/)\n",
            ),
            // No lexeme is empty.
            (
                |p| p.chars("[a-c]", 0, 2).unwrap_or(Expr::Rest) + p.space(),
                "start: (/[a-c]{1,2}/)? space?\nspace: /[ \\t\\r\\n]{1,20}/\n",
            ),
            (
                |p| p.raw_schema(p.until(";"), "a", &true.into()) + ";",
                "start: text_1\ntext_1[lazy]: TEXT_1\nTEXT_1: (/(?s:.*)/) /;/\n",
            ),
            // The lexer can't go back to before the second sign of what ends a value.
            (
                |p| p.literal("=") + p.raw_schema(p.until("xy"), "a", &true.into()),
                "start: \"=\" text_1?\ntext_1: TEXT_1\nTEXT_1: (/(?s:.+)/ & ~/(?s:.*)(x)(?s:.*)/)\n",
            ),
            (|p| p.literal("a") | "b", "start: (\"a\" | \"b\")\n"),
            (|p| p.one_or_more("ab"), "start: (\"ab\")+\n"),
        ] {
            assert_eq!(Grammar::build(make).to_lark().text, expected);
        }
    }

    #[test]
    fn a_literal_is_cut_where_another_lexeme_may_end() {
        for (text, expected) in [
            ("<a><b>", r#""<a>" "<b>""#),
            ("so \n it", r#""so" " \n " "it""#),
            ("a/b\"", r#""a" "/" "b" "\"""#),
        ] {
            assert_eq!(literal(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_slash_ends_no_expression() {
        for (regex, expected) in [
            ("</a>", r"<\/a>"),
            (r"<\/a>", r"<\/a>"),
            (r"\\/", r"\\\/"),
            ("a\nb", r"a\nb"),
        ] {
            assert_eq!(slashed(regex), expected, "{regex}");
        }
        assert_eq!(without(&[]), "");
        let others = ["a/".to_owned(), "b".to_owned()];
        assert_eq!(without(&others), r" & ~/(?s:.*)(a\/|b)(?s:.*)/");
    }

    #[test]
    fn a_lexeme_ends_before_texts_alone() {
        let pattern = Expr::Sequence(vec!["'".into(), Expr::Space, "--".into()]);
        let found = texts_up_to_space(&pattern);
        let texts = ["' ", "'\t", "'\r", "'\n", "'-"]
            .map(str::to_owned)
            .to_vec();
        assert_eq!(found, Some(("'", texts)));
        assert_eq!(texts_up_to_space(&"'--".into()), None);
        let signs = class(CharClass::of("}]".chars()));
        let sign = Expr::Sequence(vec![Expr::Space, signs.clone()]);
        let found = white_or_begun_by(&sign).map(|found| regex::class(&found));
        assert_eq!(found.as_deref(), Some(r"[\t-\n\r \]\}]"));
        assert_eq!(white_or_begun_by(&signs), None);
        for (not_first, others, warnings) in [
            // A text that does not begin with a bracket is one whose first sign is another one.
            (sign, vec!["<a>".into()], vec![]),
            (
                "ab".into(),
                vec!["<a>".into()],
                vec![
                    "texts may hold `ab`, which what reads the call takes for a marker: no lexeme keeps it out",
                ],
            ),
        ] {
            let grammar = Grammar::build(|p| {
                p.negate(not_first) + super::super::builder::text_without(others)
            });
            assert_eq!(grammar.to_lark().warnings, warnings);
        }
    }

    #[test]
    fn nodes_may_begin_and_end_with_texts_at_times() {
        let optional = || until("<a>").optional();
        for (expr, begins, may_be, ends) in [
            (until("<a>"), true, false, false),
            (optional(), true, true, true),
            (Expr::choice([until("<a>"), "b".into()]), true, false, true),
            (Expr::choice(["a".into(), "b".into()]), false, false, false),
            (
                Expr::Sequence(vec![optional(), "b".into()]).optional(),
                true,
                true,
                false,
            ),
            (
                Expr::Sequence(vec!["b".into(), until("<a>"), "\n".into()]).optional(),
                false,
                false,
                true,
            ),
        ] {
            assert_eq!(begins_with_text_at_times(&expr), begins, "{expr:?}");
            assert_eq!(may_be_text(&expr), may_be, "{expr:?}");
            assert_eq!(ends_in_text_at_times(&expr), ends, "{expr:?}");
        }
    }

    #[test]
    fn a_text_that_may_be_missing_is_a_way_of_its_own() {
        let row = |parts: &[Expr]| Expr::Sequence(parts.to_vec());
        for (expr, expected) in [
            (
                row(&[until("<a>").optional(), "b".into()]),
                vec![row(&[until("<a>"), "b".into()]), "b".into()],
            ),
            // White space before a text belongs to it.
            (
                row(&[Expr::Space, until("<a>").optional(), "b".into()]),
                vec![
                    row(&[until("<a>"), "b".into()]),
                    row(&[Expr::Space, "b".into()]),
                ],
            ),
            (
                row(&[Expr::Space, "b".into()]),
                vec![row(&[Expr::Space, "b".into()])],
            ),
            ("b".into(), vec!["b".into()]),
        ] {
            assert_eq!(with_texts_apart(&expr), expected, "{expr:?}");
        }
    }

    #[test]
    fn what_a_text_has_behind_it_is_found_in_rows() {
        let inner = Expr::Sequence(vec![until("<a>"), "b".into()]);
        let row = Expr::Sequence(vec![inner.tagged(super::super::Tag::Content), "c".into()]);
        let found = text_and_rest(&row);
        let ends = ["<a>".to_owned()];
        assert_eq!(found, Some((&ends[..], Expr::literal("bc"))));
        assert_eq!(text_and_rest(&"b".into()), None);
        assert_eq!(first(&row), &until("<a>"));
    }
}
